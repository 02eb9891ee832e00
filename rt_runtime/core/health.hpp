#pragma once

#include <cstdint>

namespace hmor {

/// What the loop and its monitor tell each other. One writer per field, all of it inside the loop's thread.
///
/// A loop with a monitor is guarded: it does not end at a value that is not finite or a fault, because the actuator
/// still needs commands; the monitor takes the command to rest and says when the loop may end.
struct Health {
  // Written by the loop and its pacer.
  double asked = 0.0;  ///< 0 go on, 1 come to rest (end of the test, signal, operator), 2 trip (overruns)
  double late = 0.0;   ///< ticks in a row that missed their deadline
  double lost = 0.0;   ///< frames the record dropped so far
  int broken = -1;     ///< index of the first block with a fault or a value that is not finite
  bool not_finite = false;  ///< which of the two
  int port = 0;             ///< the output that was not finite, and its value
  double value = 0.0;

  // Written by the monitor.
  bool guarded = false;
  bool done = false;     ///< the command is at rest (or held after a trip); the loop may end
  bool tripped = false;
  int state = 0;
  std::int64_t way_to_rest = 0;  ///< ticks a stop takes at most
};

}  // namespace hmor
