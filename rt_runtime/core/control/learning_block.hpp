#pragma once

#include "engine/block.hpp"
#include "engine/health.hpp"
#include "safety/monitor.hpp"

namespace hmor {

/// A block that learns while it runs. While the monitor of its loop holds the test or takes it to rest, the plant does not
/// get what this block commands: it goes on with what it has learnt.
class LearningBlock : public Block {
 public:
  using Block::Block;
  void attach(Health& health) noexcept override { health_ = &health; }
  void detach(const Health& health) noexcept override {
    if (health_ == &health) health_ = nullptr;
  }

 protected:
  /// In the loop. False from the tick after the one in which the monitor began to hold, ramp down or trip.
  bool learns() const noexcept {
    return health_ == nullptr || !health_->guarded || health_->state < static_cast<int>(State::holding);
  }

 private:
  const Health* health_ = nullptr;
};

}  // namespace hmor
