#include <array>

#include "bindings.hpp"
#include "control/adaptive_compensation.hpp"
#include "mpc/adaptive_mpc.hpp"
#include "control/extrapolator.hpp"
#include "control/kalman.hpp"
#include "control/model_based.hpp"
#include "mpc/move_qp.hpp"
#include "mpc/mpc.hpp"
#include "control/pi_lead.hpp"
#include "mpc/tracking_mpc.hpp"

namespace hmor {

namespace {

nb::tuple solve_moves(MoveQp& qp, const Array1& f, const Array1& lower, const Array1& upper) {
  const std::size_t n = static_cast<std::size_t>(qp.size());
  if (f.size() != n || lower.size() != 2 * n || upper.size() != 2 * n)
    throw std::invalid_argument("f must have n, lower and upper 2n numbers.");
  const QpResult result = qp.solve(f.data(), lower.data(), upper.data());
  return nb::make_tuple(to_numpy(qp.solution(), {n}), result.status, result.iterations);
}

/// Rows b0 b1 b2 a1 a2.
std::vector<Filter::Section> to_sections(const Array2& rows) {
  if (rows.shape(0) > 0 && rows.shape(1) != 5) throw std::invalid_argument("sections must have 5 columns.");
  std::vector<Filter::Section> sections(rows.shape(0));
  for (std::size_t i = 0; i < sections.size(); ++i)
    for (std::size_t j = 0; j < 5; ++j) sections[i][j] = rows(i, j);
  return sections;
}

/// Rows of `per_input`: move weight, lower and upper bound, least and most move of each input.
Horizon to_horizon(int prediction, int control, const Array1& output_weight, const Array2& per_input, bool preview,
                   int max_iterations) {
  if (per_input.shape(0) != 5) throw std::invalid_argument("per_input must have 5 rows.");
  const auto row = [&](std::size_t i) {
    const double* first = per_input.data() + i * per_input.shape(1);
    return std::vector<double>(first, first + per_input.shape(1));
  };
  return {prediction, control, to_vector(output_weight), row(0), row(1), row(2), row(3), row(4), preview, max_iterations};
}

}  // namespace

void bind_control(nb::module_& m) {
  nb::enum_<QpStatus>(m, "QpStatus", "What a solve gave; anything but optimal returns the hold fallback.", nb::is_arithmetic())
      .value("optimal", QpStatus::optimal)
      .value("iteration_limit", QpStatus::iteration_limit)
      .value("infeasible", QpStatus::infeasible)
      .value("not_finite", QpStatus::not_finite);

  nb::class_<MoveQp>(m, "MoveQp", "min 1/2 x'Hx + f'x with bounds on the moves x and on their running sums.")
      .def(nb::init<int, int, int>(), "channels"_a, "moves"_a, "max_iterations"_a = 0)
      .def(
          "set_hessian",
          [](MoveQp& qp, const Array2& h) {
            if (static_cast<int>(h.shape(0)) != qp.size() || static_cast<int>(h.shape(1)) != qp.size())
              throw std::invalid_argument("h must be n x n.");
            return qp.set_hessian(to_matrix(h));
          },
          "h"_a, "Take the Hessian (n, n); False when it is not positive definite.")
      .def("solve", &solve_moves, "f"_a, "lower"_a, "upper"_a, "Return (moves, status, iterations).",
           nb::sig("def solve(self, f: NDArray[numpy.float64], lower: NDArray[numpy.float64], "
                   "upper: NDArray[numpy.float64]) -> tuple[NDArray[numpy.float64], QpStatus, int]"))
      .def("reset", &MoveQp::reset, "Forget the active set of the last solve.")
      .def_prop_ro("size", &MoveQp::size)
      .def_prop_ro("max_iterations", &MoveQp::max_iterations)
      .def_prop_ro("multipliers",
                   [](const MoveQp& qp) {
                     std::vector<double> out(2 * static_cast<std::size_t>(qp.size()));
                     qp.multipliers(out.data());
                     return to_numpy(out.data(), {out.size()});
                   },
                   nb::rv_policy::move)
      .def(
          "time_solves",
          [](MoveQp& qp, const Array2& f, const Array1& lower, const Array1& upper) {
            const std::size_t n = static_cast<std::size_t>(qp.size());
            if (f.shape(1) != n || lower.size() != 2 * n || upper.size() != 2 * n)
              throw std::invalid_argument("f must have n, lower and upper 2n numbers.");
            long iterations = 0;
            for (std::size_t i = 0; i < f.shape(0); ++i)
              iterations += qp.solve(f.data() + i * n, lower.data(), upper.data()).iterations;
            return iterations;
          },
          "f"_a, "lower"_a, "upper"_a, "Solve for each row of f (k, n) in C++; the sum of the iterations.");

  nb::class_<Extrapolator, Block>(m, "Extrapolator")
      .def(
          "__init__",
          [](Extrapolator* self, int order, int spacing, const Array1& leads, int channels) {
            new (self) Extrapolator(order, spacing, to_vector(leads), channels);
          },
          "order"_a, "spacing"_a, "leads"_a, "channels"_a)
      .def_static(
          "weights",
          [](int order, double theta) {
            const std::vector<double> w = Extrapolator::weights(order, theta);
            return to_numpy(w.data(), {w.size()});
          },
          "order"_a, "theta"_a, "Lagrange weights of the newest and the older points, theta spacings ahead.");

  nb::class_<KalmanFilter, Block>(m, "KalmanFilter")
      .def(
          "__init__",
          [](KalmanFilter* self, const Array2& a, const Array2& b, const Array2& c, const Array2& gain, double period) {
            new (self) KalmanFilter(to_matrix(a), to_matrix(b), to_matrix(c), to_matrix(gain), period);
          },
          "a"_a, "b"_a, "c"_a, "gain"_a, "period"_a);

  nb::class_<Mpc, Block>(m, "Mpc")
      .def(
          "__init__",
          [](Mpc* self, const Array2& a, const Array2& b, const Array2& c, const Array2& gain, int prediction,
             int control, const Array1& output_weight, const Array2& per_input, bool preview, int max_iterations,
             double period) {
            new (self) Mpc(to_matrix(a), to_matrix(b), to_matrix(c), to_matrix(gain),
                           to_horizon(prediction, control, output_weight, per_input, preview, max_iterations), period);
          },
          "a"_a, "b"_a, "c"_a, "gain"_a, "prediction"_a, "control"_a, "output_weight"_a, "per_input"_a, "preview"_a,
          "max_iterations"_a, "period"_a)
      .def_prop_ro("hessian", [](const Mpc& mpc) { return to_numpy(mpc.hessian()); }, nb::rv_policy::move)
      .def_prop_ro(
          "gains", [](const Mpc& mpc) { return to_numpy(mpc.gains()); }, nb::rv_policy::move,
          "K with the moves without constraints = K [x; reference; last command].")
      .def_prop_ro(
          "gram", [](const Mpc& mpc) { return to_numpy(mpc.gram()); }, nb::rv_policy::move,
          "Gram matrix of the normals of all bounds in the metric of the inverse Hessian.");

  nb::class_<TrackingMpc, Block>(m, "TrackingMpc")
      .def(
          "__init__",
          [](TrackingMpc* self, const Array2& a, const Array2& b, const Array2& c, const Array2& gain, int prediction,
             int control, const Array1& output_weight, const Array2& per_input, bool, int max_iterations, double period,
             int order, int spacing, const Array1& leads) {
            new (self) TrackingMpc(to_matrix(a), to_matrix(b), to_matrix(c), to_matrix(gain),
                                   to_horizon(prediction, control, output_weight, per_input, true, max_iterations),
                                   period, order, spacing, to_vector(leads));
          },
          "a"_a, "b"_a, "c"_a, "gain"_a, "prediction"_a, "control"_a, "output_weight"_a, "per_input"_a, "preview"_a,
          "max_iterations"_a, "period"_a, "order"_a, "spacing"_a, "leads"_a)
      .def(
          "__init__",
          [](TrackingMpc* self, const Array2& a, const Array2& b, const Array2& c, const Array2& gain, int prediction,
             int control, const Array1& output_weight, const Array2& per_input, bool, int max_iterations, double period,
             const Array2& change) {
            new (self) TrackingMpc(to_matrix(a), to_matrix(b), to_matrix(c), to_matrix(gain),
                                   to_horizon(prediction, control, output_weight, per_input, true, max_iterations),
                                   period, to_matrix(change));
          },
          "a"_a, "b"_a, "c"_a, "gain"_a, "prediction"_a, "control"_a, "output_weight"_a, "per_input"_a, "preview"_a,
          "max_iterations"_a, "period"_a, "change"_a)
      .def_prop_ro(
          "gains", [](const TrackingMpc& mpc) { return to_numpy(mpc.gains()); }, nb::rv_policy::move,
          "K with the moves without constraints = K [x; q; last command], references = preview_map q.")
      .def_prop_ro("hessian", [](const TrackingMpc& mpc) { return to_numpy(mpc.hessian()); }, nb::rv_policy::move)
      .def_prop_ro(
          "gram", [](const TrackingMpc& mpc) { return to_numpy(mpc.gram()); }, nb::rv_policy::move,
          "Gram matrix of the normals of all bounds in the metric of the inverse Hessian.")
      .def_prop_ro(
          "preview_map", [](const TrackingMpc& mpc) { return to_numpy(mpc.preview()); }, nb::rv_policy::move,
          "R (P p, n_q): references of all steps from q, the targets kept and the numerical state.");

  nb::class_<AdaptiveMpc, Block>(m, "AdaptiveMpc")
      .def(
          "__init__",
          [](AdaptiveMpc* self, int poles, int zeros, const Array2& per_parameter, double forgetting, double covariance,
             double covariance_cap, double parameter_noise, double excitation, double pole_radius, int prediction,
             int control, const Array1& output_weight, const Array2& per_input, bool preview, int max_iterations,
             double process_variance, double disturbance_gain, double noise_variance, double largest_age, double period) {
            if (per_parameter.shape(0) != 4) throw std::invalid_argument("per_parameter must have 4 rows.");
            const auto row = [&](std::size_t i) {
              const double* first = per_parameter.data() + i * per_parameter.shape(1);
              return std::vector<double>(first, first + per_parameter.shape(1));
            };
            const ArxRules rules{row(0),         row(1),          row(2),     row(3),     forgetting, covariance,
                                 covariance_cap, parameter_noise, excitation, pole_radius};
            new (self) AdaptiveMpc(poles, zeros, rules,
                                   to_horizon(prediction, control, output_weight, per_input, preview, max_iterations),
                                   process_variance, disturbance_gain, noise_variance, largest_age, period);
          },
          "poles"_a, "zeros"_a, "per_parameter"_a, "forgetting"_a, "covariance"_a, "covariance_cap"_a,
          "parameter_noise"_a, "excitation"_a, "pole_radius"_a, "prediction"_a, "control"_a, "output_weight"_a,
          "per_input"_a, "preview"_a, "max_iterations"_a, "process_variance"_a, "disturbance_gain"_a,
          "noise_variance"_a, "largest_age"_a, "period"_a)
      .def_prop_ro(
          "gain",
          [](const AdaptiveMpc& mpc) { return to_numpy(mpc.gain(), {static_cast<std::size_t>(mpc.n_state())}); },
          nb::rv_policy::move, "Kalman gain M of the last step.")
      .def_prop_ro(
          "settled", [](const AdaptiveMpc& mpc) { return to_numpy(mpc.settled()); }, nb::rv_policy::move,
          "Covariance of the state every run starts with.");

  nb::class_<PiLead, Block>(m, "PiLead")
      .def(nb::init<double, double, double, double, double, double, double, double>(), "kp"_a, "ki"_a, "b0"_a, "b1"_a,
           "a1"_a, "lower"_a, "upper"_a, "period"_a);

  nb::class_<ModelBasedCompensator, Block>(m, "ModelBasedCompensator")
      .def(
          "__init__",
          [](ModelBasedCompensator* self, const Array2& inverse, const Array2& a, const Array2& b, const Array2& c, double d,
             double rate, double largest, double margin, double b0, double b1, double a1, double period) {
            new (self) ModelBasedCompensator(to_sections(inverse), to_matrix(a), to_matrix(b), to_matrix(c), d,
                                  {rate, largest, margin, b0, b1, a1}, period);
          },
          "inverse"_a, "a"_a, "b"_a, "c"_a, "d"_a, "rate"_a, "largest"_a, "margin"_a, "b0"_a, "b1"_a, "a1"_a, "period"_a);

  nb::class_<AdaptiveCompensation, Block>(m, "AdaptiveCompensation")
      .def(
          "__init__",
          [](AdaptiveCompensation* self, const Array2& coefficients, const Array2& low_pass, double period) {
            if (coefficients.shape(0) != 2 || coefficients.shape(1) != 4)
              throw std::invalid_argument("coefficients must be 2 x 4.");
            std::array<AdaptiveCompensation::Coefficient, 2> two;
            for (std::size_t i = 0; i < 2; ++i)
              two[i] = {coefficients(i, 0), coefficients(i, 1), coefficients(i, 2), coefficients(i, 3)};
            new (self) AdaptiveCompensation(two, to_sections(low_pass), period);
          },
          "coefficients"_a, "low_pass"_a, "period"_a);
}

}  // namespace hmor
