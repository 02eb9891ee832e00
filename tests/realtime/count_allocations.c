/* Preloaded into the interpreter: counts heap allocations, read with allocation_count(). */
#include <stddef.h>

void *__libc_malloc(size_t size);
void *__libc_calloc(size_t count, size_t size);
void *__libc_realloc(void *old, size_t size);

static volatile long count;

long allocation_count(void) { return count; }
void *malloc(size_t size) { __sync_fetch_and_add(&count, 1); return __libc_malloc(size); }
void *calloc(size_t n, size_t size) { __sync_fetch_and_add(&count, 1); return __libc_calloc(n, size); }
void *realloc(void *old, size_t size) { __sync_fetch_and_add(&count, 1); return __libc_realloc(old, size); }
