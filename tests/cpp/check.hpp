#pragma once

#include <cmath>
#include <cstdio>
#include <cstdlib>

/// Ends the test program with a message when the condition does not hold.
#define CHECK(condition)                                                             \
  do {                                                                               \
    if (!(condition)) {                                                              \
      std::fprintf(stderr, "%s:%d: %s does not hold\n", __FILE__, __LINE__, #condition); \
      std::exit(1);                                                                  \
    }                                                                                \
  } while (false)

/// The same for two numbers within an absolute tolerance.
#define CHECK_NEAR(a, b, tolerance)                                                                        \
  do {                                                                                                     \
    const double a_ = (a), b_ = (b);                                                                       \
    if (!(std::fabs(a_ - b_) <= (tolerance))) {                                                            \
      std::fprintf(stderr, "%s:%d: %s = %.17g, %s = %.17g\n", __FILE__, __LINE__, #a, a_, #b, b_);         \
      std::exit(1);                                                                                        \
    }                                                                                                      \
  } while (false)

/// The same for a statement that must throw.
#define CHECK_THROWS(statement)                                                             \
  do {                                                                                      \
    bool thrown_ = false;                                                                   \
    try {                                                                                   \
      statement;                                                                            \
    } catch (const std::exception&) {                                                       \
      thrown_ = true;                                                                       \
    }                                                                                       \
    if (!thrown_) {                                                                         \
      std::fprintf(stderr, "%s:%d: %s must throw\n", __FILE__, __LINE__, #statement);       \
      std::exit(1);                                                                         \
    }                                                                                       \
  } while (false)
