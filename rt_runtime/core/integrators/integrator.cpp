#include "integrators/integrator.hpp"

#include <algorithm>

namespace hmor {

Integrator::Integrator(Equations model, int n_in, int n_out, std::vector<double> initial, std::vector<double> parameters,
                       double period, int substeps, Hold hold, Update update, std::vector<int> fresh)
    : Block(n_in, n_out, static_cast<int>(initial.size()), period),
      x_(initial.size() + 1),
      model_(model),
      initial_(std::move(initial)),
      p_(std::move(parameters)),
      k_(initial_.size() + 1),
      scratch_(n_out + 1),
      from_(n_in + 1),
      slope_(n_in + 1),
      between_(n_in + std::max(model.n_held, 0) + 1),
      fresh_(std::move(fresh)),
      substeps_(substeps),
      h_(period / substeps),
      hold_(hold),
      update_(update) {
  if (model_.f == nullptr) throw std::invalid_argument("the right-hand side of an integrator must not be null.");
  if (model_.n_held < 0 || (model_.held == nullptr) != (model_.n_held == 0))
    throw std::invalid_argument("what an integrator holds must have a function and a number of results.");
  if (substeps < 1) throw std::invalid_argument("substeps of an integrator must be at least 1.");
  if (!(period > 0.0)) throw std::invalid_argument("period of an integrator must be positive.");
  if (hold == Hold::first && update == Update::end)
    throw std::invalid_argument("hold 'first' of an integrator needs update 'start'.");
  for (int i : fresh_)
    if (i < 0 || i >= n_in) throw std::invalid_argument("a fresh input of an integrator must be one of its inputs.");
  p_.push_back(0.0);  // so that f always gets a valid pointer
  reset();
}

void Integrator::reset() noexcept {
  std::copy(initial_.begin(), initial_.end(), x_.begin());
  std::fill(from_.begin(), from_.end(), 0.0);
  started_ = false;
  fault_ = 0;
}

}  // namespace hmor
