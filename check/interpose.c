/* SPDX-License-Identifier: MIT */
/*
 * interpose.c - malloc and related functions, to count an operator's allocations. A program's own definitions
 * take precedence over the C library's, for plugins too; glibc offers its functions under other names. Not
 * used with sanitizers, whose allocators see more, and with other C libraries.
 */
#include "check/watch.h"

#include <errno.h>
#include <stdint.h>

#if defined(__has_feature)
#define HAS_FEATURE(x) __has_feature(x)
#else
#define HAS_FEATURE(x) 0
#endif

#include <features.h>
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__) &&                 \
    !HAS_FEATURE(address_sanitizer) && !HAS_FEATURE(thread_sanitizer) && !HAS_FEATURE(memory_sanitizer)

#define SEEN __attribute__((visibility("default")))

void *__libc_malloc(size_t bytes);
void *__libc_calloc(size_t n, size_t bytes);
void *__libc_realloc(void *memory, size_t bytes);
void *__libc_memalign(size_t align, size_t bytes);
void __libc_free(void *memory);

SEEN void *malloc(size_t bytes);
SEEN void *calloc(size_t n, size_t bytes);
SEEN void *realloc(void *memory, size_t bytes);
SEEN void *memalign(size_t align, size_t bytes);
SEEN void *aligned_alloc(size_t align, size_t bytes);
SEEN int posix_memalign(void **memory, size_t align, size_t bytes);
SEEN void free(void *memory);

static void *told(void *memory, size_t bytes, const char *function) {
  watch_allocated(memory, bytes, function);
  return memory;
}

void *malloc(size_t bytes) {
  return told(__libc_malloc(bytes), bytes, "malloc");
}

void *calloc(size_t n, size_t bytes) {
  return told(__libc_calloc(n, bytes), n * bytes, "calloc");
}

void *realloc(void *memory, size_t bytes) {
  watch_freed(memory);
  return told(__libc_realloc(memory, bytes), bytes, "realloc");
}

void *memalign(size_t align, size_t bytes) {
  return told(__libc_memalign(align, bytes), bytes, "memalign");
}

void *aligned_alloc(size_t align, size_t bytes) {
  return told(__libc_memalign(align, bytes), bytes, "aligned_alloc");
}

int posix_memalign(void **memory, size_t align, size_t bytes) {
  if (align % sizeof(void *) || align == 0 || (align & (align - 1))) return EINVAL;
  void *taken = __libc_memalign(align, bytes);
  if (!taken) return ENOMEM;
  *memory = told(taken, bytes, "posix_memalign");
  return 0;
}

void free(void *memory) {
  watch_freed(memory);
  __libc_free(memory);
}

__attribute__((constructor)) static void begin(void) {
  watch_can_see();
}

#else

/* C does not allow an empty file. */
extern int nothing_is_interposed;

#endif
