#pragma once

// Include in exactly one file of a test program: counts every heap allocation of the program.

#include <atomic>
#include <cstddef>

inline std::atomic<long> allocations{0};

#if defined(HMOR_SANITIZE)
// The sanitizers bring their own malloc; there the program only looks for memory errors.
constexpr bool counting = false;
#else
constexpr bool counting = true;

extern "C" {
void* __libc_malloc(std::size_t size);
void* __libc_calloc(std::size_t count, std::size_t size);
void* __libc_realloc(void* old, std::size_t size);
void* __libc_memalign(std::size_t alignment, std::size_t size);

void* malloc(std::size_t size) {
  ++allocations;
  return __libc_malloc(size);
}
void* calloc(std::size_t count, std::size_t size) {
  ++allocations;
  return __libc_calloc(count, size);
}
void* realloc(void* old, std::size_t size) {
  ++allocations;
  return __libc_realloc(old, size);
}
void* aligned_alloc(std::size_t alignment, std::size_t size) {
  ++allocations;
  return __libc_memalign(alignment, size);
}
}
#endif
