#pragma once

#include <algorithm>
#include <cmath>
#include <vector>

#include "engine/block.hpp"
#include "net/mailbox.hpp"

namespace hmor {

/// A path through targets that a slower program sends now and then, T ticks apart when it is in time.
///
///   correct   a cubic from where the command stands, with its speed, to the target and its mean speed
///   settle    at the target until |position - target| <= tolerance, at most `settle` ticks; then position and force are
///             posted as the answer to this target
///   predict   the parabola through the last three targets goes on for `predict` of the interval, then the
///             command slows down to a stop within as long, and holds until the next target comes
///
/// A target that comes after `elapsed` ticks of prediction has max(T - elapsed, T / 5) ticks left. Inputs: position (n),
/// force (n). Outputs: command (n), phase (an index of hold, correct, settle, predict), number of targets reached.
class TargetPath final : public Block {
 public:
  enum Phase { hold, correct, settle, predict };

  /// Outside the loop. `targets` (n numbers each) and `answers` (2 n + 1: number of the target, position, force) must
  /// outlive the block.
  TargetPath(Mailbox& targets, Mailbox& answers, int ticks, double predicted, double tolerance, int most_settle,
             double period)
      : Block(2 * targets.size(), targets.size() + 2, 5 * targets.size(), period),
        targets_(targets), answers_(answers), n_(static_cast<std::size_t>(targets.size())), ticks_(ticks),
        predicted_(predicted), tolerance_(tolerance), most_settle_(most_settle),
        command_(n_), speed_(n_), from_(n_), from_speed_(n_), target_(n_), one_(n_), two_(n_), answer_(2 * n_ + 1), next_(n_) {
    if (targets.size() < 1 || answers.size() != 2 * targets.size() + 1 || ticks < 1 || !(predicted >= 0.0) ||
        predicted > 1.0 || !(tolerance >= 0.0) || most_settle < 0)
      throw std::invalid_argument("mailboxes, ticks and shares of TargetPath do not fit.");
    reset();
  }

  void step(double, const double* in, double* out) noexcept override {
    if (phase_ == hold || phase_ == predict) take_target();
    move();
    if (phase_ == settle) answer(in);
    std::copy(command_.begin(), command_.end(), out);
    out[n_] = phase_;
    out[n_ + 1] = static_cast<double>(reached_);
  }
  void reset() noexcept override {
    for (std::vector<double>* v : {&command_, &speed_, &from_, &from_speed_, &target_, &one_, &two_})
      std::fill(v->begin(), v->end(), 0.0);
    phase_ = hold;
    k_ = left_ = 0;
    reached_ = known_ = 0;
  }
  bool external() const noexcept override { return true; }

 private:
  void take_target() noexcept {
    const std::uint64_t number = targets_.read(next_.data());
    if (number == 0 || number == taken_) return;
    taken_ = number;
    const int elapsed = phase_ == predict ? std::min(k_, ticks_) : 0;
    two_ = one_;
    one_ = target_;
    target_ = next_;
    left_ = std::max(ticks_ - elapsed, (ticks_ + 4) / 5);
    from_ = command_;
    from_speed_ = speed_;
    k_ = 0;
    phase_ = correct;
  }
  void move() noexcept {
    if (phase_ == correct) {
      const double s = static_cast<double>(++k_) / left_;
      for (std::size_t i = 0; i < n_; ++i) {
        const double end_speed = (target_[i] - one_[i]) / ticks_, way = target_[i] - from_[i];
        const double a = from_speed_[i] * left_, b = end_speed * left_;
        place(i, from_[i] + s * (a + s * (3.0 * way - 2.0 * a - b + s * (a + b - 2.0 * way))));
      }
      if (k_ >= left_) {
        command_ = target_;
        phase_ = settle;
        k_ = 0;
      }
    } else if (phase_ == predict) {
      extrapolate();
    } else {
      std::fill(speed_.begin(), speed_.end(), 0.0);
    }
  }
  void extrapolate() noexcept {
    ++k_;
    const double s = static_cast<double>(k_) / ticks_;
    if (s <= predicted_ && known_ >= 2) {
      const double w0 = known_ >= 3 ? 0.5 * (s + 1.0) * (s + 2.0) : 1.0 + s;
      const double w1 = known_ >= 3 ? -s * (s + 2.0) : -s, w2 = known_ >= 3 ? 0.5 * s * (s + 1.0) : 0.0;
      for (std::size_t i = 0; i < n_; ++i) place(i, w0 * target_[i] + w1 * one_[i] + w2 * two_[i]);
    } else {
      const double brake = 1.0 - 1.0 / std::max(1.0, 0.25 * predicted_ * ticks_);
      for (std::size_t i = 0; i < n_; ++i) {
        speed_[i] *= brake;
        command_[i] += speed_[i];
      }
      if (s > 2.0 * predicted_ || known_ < 2) phase_ = hold;
    }
  }
  void place(std::size_t i, double to) noexcept {
    speed_[i] = to - command_[i];
    command_[i] = to;
  }
  void answer(const double* in) noexcept {
    bool there = true;
    for (std::size_t i = 0; i < n_; ++i) there &= std::fabs(in[i] - target_[i]) <= tolerance_;
    if (!there && k_++ < most_settle_) return;
    ++reached_;
    if (known_ < 3) ++known_;
    answer_[0] = static_cast<double>(taken_);
    std::copy(in, in + 2 * n_, answer_.begin() + 1);
    answers_.post(answer_.data());
    phase_ = predict;
    k_ = 0;
  }

  Mailbox& targets_;
  Mailbox& answers_;
  std::size_t n_;
  int ticks_;
  double predicted_, tolerance_;
  int most_settle_;
  std::vector<double> command_, speed_, from_, from_speed_;
  std::vector<double> target_, one_, two_;  // the last three targets
  std::vector<double> answer_, next_;
  Phase phase_ = hold;
  int k_ = 0, left_ = 0;
  std::uint64_t taken_ = 0;
  std::int64_t reached_ = 0, known_ = 0;
};

}  // namespace hmor
