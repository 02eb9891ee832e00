#pragma once

#include "engine/block.hpp"
#include "engine/health.hpp"

namespace hmor {

/// A block that learns while it runs. While the monitor of its loop fades a command in, limits or holds it or takes it to
/// rest, the plant does not get what this block commands: it goes on with what it has learnt.
class LearningBlock : public Block {
 public:
  using Block::Block;
  void attach(Health& health) noexcept override { health_ = &health; }
  void detach(const Health& health) noexcept override {
    if (health_ == &health) health_ = nullptr;
  }

 protected:
  /// In the loop, once a step. Whether the plant got every command since the last step.
  bool learns() noexcept {
    const std::int64_t strayed = health_ == nullptr ? 0 : health_->strayed, before = seen_;
    seen_ = strayed;
    return strayed == before;
  }
  /// To be called in reset().
  void learns_anew() noexcept { seen_ = 0; }

 private:
  const Health* health_ = nullptr;
  std::int64_t seen_ = 0;  // of `strayed`
};

}  // namespace hmor
