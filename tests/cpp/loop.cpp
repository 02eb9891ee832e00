// The loop itself: order, decimation, gathered and own inputs, stopping at values that are not finite and at faults.

#include "engine/loop.hpp"

#include <limits>

#include "blocks/gain.hpp"
#include "check.hpp"

using namespace hmor;

namespace {

/// Counts up; gives infinity, or a fault, in its third step.
class Counter final : public Block {
 public:
  explicit Counter(bool infinite = false, bool faulty = false) : Block(0, 1), infinite_(infinite), faulty_(faulty) {}
  void step(double, const double*, double* out) noexcept override {
    out[0] = ++count_ == 3 && infinite_ ? std::numeric_limits<double>::infinity() : count_;
    if (count_ == 3 && faulty_) fault_ = 5;
  }
  void reset() noexcept override { count_ = fault_ = 0; }

 private:
  bool infinite_, faulty_;
  int count_ = 0;
};

}  // namespace

int main() {
  {
    Counter slow;
    Gain twice(Matrix::from_rows(std::vector<double>{2.0, 1.0}.data(), 1, 2), {0.5});  // 2 count + own last value + 0.5
    Loop loop(0.1, {0.0, 0.0});
    loop.add(slow, {}, 0, 3);
    loop.add(twice, {0, 1}, 1, 1);
    loop.record({0, 1}, 2, 10);
    loop.reset();
    CHECK(loop.run(4) == Stop::finished);
    CHECK(loop.bus()[0] == 2.0);                            // stepped in ticks 0 and 3
    CHECK_NEAR(loop.bus()[1], 2.5 + 2.5 + 2.5 + 4.5, 0.0);  // sums up its own last value
    CHECK(loop.recorder().frames() == 2);                   // ticks 0 and 2
    CHECK(loop.recorder().data()[1] == 2.5);
    CHECK(loop.recorder().data()[3] == 7.5);
    loop.reset();
    CHECK(loop.tick() == 0 && loop.bus()[1] == 0.0 && loop.recorder().frames() == 0);
  }
  {
    Counter bad(true);
    Loop loop(0.1, {0.0});
    loop.add(bad, {}, 0, 1);
    loop.record({0}, 1, 10);
    loop.reset();
    CHECK(loop.run(10) == Stop::not_finite);
    CHECK(loop.tick() == 3 && loop.stopped_by() == 0 && loop.recorder().frames() == 3);
  }
  {
    Counter faulty(false, true);
    Loop loop(0.1, {0.0});
    loop.add(faulty, {}, 0, 1);
    loop.reset();
    CHECK(loop.run(10) == Stop::fault);
    CHECK(loop.tick() == 3 && faulty.fault() == 5);
  }
  {
    Counter counter;
    Loop loop(0.1, {0.0});
    loop.add(counter, {}, 0, 1);
    loop.reset();
    loop.ask_to_stop();
    CHECK(loop.run(10) == Stop::asked);
    CHECK(loop.tick() == 1);
  }
  {
    Counter counter;
    Gain gain(Matrix(1, 1), {0.0});
    Loop loop(0.1, {0.0});
    CHECK_THROWS(loop.add(counter, {}, 1, 1));
    CHECK_THROWS(loop.add(counter, {}, 0, 0));
    CHECK_THROWS(loop.add(gain, {3}, 0, 1));
    CHECK_THROWS(loop.record({2}, 1, 1));
    CHECK_THROWS(Loop(0.0, {}));
  }
}
