#pragma once

#include <cstdint>
#include <limits>

namespace hmor {

/// What a rig does at the moment; told in everything it sends.
enum class RigState : std::uint8_t {
  idle = 0,     ///< no session; holds where it stands
  live = 1,     ///< follows the commands of its owner
  holding = 2,  ///< commands are missing; holds the last one
  ramping = 3,  ///< the lease is over, the owner has lost the rig; on its way to rest
  off = 4,      ///< at rest without power; the next session switches it on
};

/// How long commands may be missing, in ns.
struct Patience {
  std::int64_t hold = 0;   ///< after this silence: holding
  std::int64_t lease = 0;  ///< after this silence: ramping; before the first command nothing moved, and nothing will
  std::int64_t ramp = 0;   ///< this long to rest, then off
  std::int64_t claim = 30'000'000'000;  ///< a session without a first command is over after this
};

/// The watchdog of a rig: from the times of its commands to its state. Time is given, so that any clock will do.
///
///   idle, off --claim--> live --silence > hold--> holding --silence > lease--> ramping --ramp--> off
///   holding --command--> live      live, holding --release--> idle, or ramping when asked to go to rest
class Watchdog {
 public:
  explicit Watchdog(const Patience& patience) noexcept : patience_(patience) {}

  // In the loop. `now` in ns.
  void claim(std::int64_t now) noexcept { set(RigState::live, now), last_ = now, moved_ = false; }
  /// A command came. False when it must not be obeyed.
  bool feed(std::int64_t now) noexcept {
    if (!owned()) return false;
    if (state_ == RigState::holding) set(RigState::live, now);
    last_ = now;
    return moved_ = true;
  }
  void release(bool to_rest, std::int64_t now) noexcept {
    if (owned()) set(to_rest && moved_ ? RigState::ramping : RigState::idle, now);
  }
  /// The state at `now`.
  RigState look(std::int64_t now) noexcept {
    if (now < due()) return state_;
    if (state_ == RigState::ramping) set(RigState::off, now);
    else if (!moved_) set(RigState::idle, now);
    else if (state_ == RigState::live && now - last_ < patience_.lease) set(RigState::holding, now);
    else set(RigState::ramping, now);
    return state_;
  }
  /// When the state changes if nothing comes.
  std::int64_t due() const noexcept {
    switch (state_) {
      case RigState::live: return last_ + (moved_ ? patience_.hold : patience_.claim);
      case RigState::holding: return last_ + patience_.lease;
      case RigState::ramping: return since_ + patience_.ramp;
      default: return std::numeric_limits<std::int64_t>::max();
    }
  }

  RigState state() const noexcept { return state_; }
  std::int64_t since() const noexcept { return since_; }
  /// Somebody's commands are obeyed.
  bool owned() const noexcept { return state_ == RigState::live || state_ == RigState::holding; }
  /// Nobody else may have it.
  bool taken() const noexcept { return owned() || state_ == RigState::ramping; }
  std::int64_t lease_ns() const noexcept { return patience_.lease; }
  double ramp_ns() const noexcept { return static_cast<double>(patience_.ramp); }

 private:
  void set(RigState state, std::int64_t now) noexcept { state_ = state, since_ = now; }

  Patience patience_;
  RigState state_ = RigState::idle;
  std::int64_t last_ = 0, since_ = 0;
  bool moved_ = false;
};

}  // namespace hmor
