/* SPDX-License-Identifier: MIT */
/*
 * interpose.c - malloc and its kin, so that an operator's allocations are seen. A program's own definitions
 * are found ahead of the C library's, by plugins too; glibc offers its own under other names (strdup,
 * reallocarray and the like call these). Left out under sanitizers, whose allocators see more, and with other
 * C libraries.
 */
#include "check/watch.h"

#include <dlfcn.h>
#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

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
void *__libc_valloc(size_t bytes);
void *__libc_pvalloc(size_t bytes);
void __libc_free(void *memory);

SEEN void *malloc(size_t bytes);
SEEN void *calloc(size_t n, size_t bytes);
SEEN void *realloc(void *memory, size_t bytes);
SEEN void *memalign(size_t align, size_t bytes);
SEEN void *aligned_alloc(size_t align, size_t bytes);
SEEN int posix_memalign(void **memory, size_t align, size_t bytes);
SEEN void *valloc(size_t bytes);
SEEN void *pvalloc(size_t bytes);
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

void *valloc(size_t bytes) {
  return told(__libc_valloc(bytes), bytes, "valloc");
}

void *pvalloc(size_t bytes) {
  return told(__libc_pvalloc(bytes), bytes, "pvalloc");
}

void free(void *memory) {
  watch_freed(memory);
  __libc_free(memory);
}

/* Pages that the C library takes for itself do not come by here. Its header would make one name of the two.
 */
#if __SIZEOF_POINTER__ == 8
SEEN void *mmap(void *at, size_t bytes, int protection, int flags, int file, int64_t offset);
SEEN void *mmap64(void *at, size_t bytes, int protection, int flags, int file, int64_t offset);
SEEN int munmap(void *memory, size_t bytes);

void *mmap(void *at, size_t bytes, int protection, int flags, int file, int64_t offset) {
  void *memory = (void *)syscall(SYS_mmap, at, bytes, protection, flags, file, offset);
  return memory == (void *)-1 ? memory : told(memory, bytes, "mmap");
}

void *mmap64(void *at, size_t bytes, int protection, int flags, int file, int64_t offset) {
  return mmap(at, bytes, protection, flags, file, offset);
}

int munmap(void *memory, size_t bytes) {
  watch_freed(memory);
  return (int)syscall(SYS_munmap, memory, bytes);
}
#endif

#if FC_HAVE_CUDA

/* ---- memory of a device ------------------------------------------------------------
 * The CUDA runtime may be part of the plugin, out of sight, but it looks up the driver's functions by dlsym
 * and cuGetProcAddress. Those that take and free memory are answered with our own, which call them. Arguments
 * that a function does not have do no harm. */

typedef int (*driver_take)(void **memory, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d);
typedef int (*driver_free)(void *memory, uintptr_t stream);
typedef int (*driver_ask)(const char *name, void **function, int version, uint64_t flags, int *found);

#define TAKES(name, bytes)                                                                                   \
  static void *real_##name;                                                                                  \
  static int told_##name(void **memory, uintptr_t a, uintptr_t b, uintptr_t c, uintptr_t d) {                \
    driver_take take;                                                                                        \
    memcpy(&take, &real_##name, sizeof take);                                                                \
    const int status = take(memory, a, b, c, d);                                                             \
    if (status == 0) told(*memory, bytes, #name);                                                            \
    return status;                                                                                           \
  }
#define FREES(name)                                                                                          \
  static void *real_##name;                                                                                  \
  static int told_##name(void *memory, uintptr_t stream) {                                                   \
    driver_free give;                                                                                        \
    memcpy(&give, &real_##name, sizeof give);                                                                \
    watch_freed(memory);                                                                                     \
    return give(memory, stream);                                                                             \
  }
TAKES(cuMemAlloc, a)
TAKES(cuMemAllocManaged, a)
TAKES(cuMemAllocHost, a)
TAKES(cuMemHostAlloc, a)
TAKES(cuMemAllocAsync, a)
TAKES(cuMemAllocFromPoolAsync, a)
TAKES(cuMemAllocPitch, b *c)
FREES(cuMemFree)
FREES(cuMemFreeHost)
FREES(cuMemFreeAsync)

/* cuGetProcAddress of several versions. */
static void *real_asks[3];

static void *replaced(const char *name, void *found);

static int ask_on(int which, const char *name, void **function, int version, uint64_t flags, int *found) {
  driver_ask ask;
  memcpy(&ask, &real_asks[which], sizeof ask);
  const int status = ask(name, function, version, flags, found);
  if (status == 0 && function) *function = replaced(name, *function);
  return status;
}

#define ASKS(which)                                                                                          \
  static int told_ask_##which(const char *name, void **function, int version, uint64_t flags, int *found) {  \
    return ask_on(which, name, function, version, flags, found);                                             \
  }
ASKS(0)
ASKS(1)
ASKS(2)

#define DRIVER(name)                                                                                         \
  { #name, (void *)told_##name, &real_##name }
static const struct driver_function {
  const char *name;
  void *ours, **real;
} driver_functions[] = {{"cuGetProcAddress", (void *)told_ask_0, &real_asks[0]},
                        {"cuGetProcAddress", (void *)told_ask_1, &real_asks[1]},
                        {"cuGetProcAddress", (void *)told_ask_2, &real_asks[2]},
                        DRIVER(cuMemAlloc),
                        DRIVER(cuMemAllocManaged),
                        DRIVER(cuMemAllocHost),
                        DRIVER(cuMemHostAlloc),
                        DRIVER(cuMemAllocAsync),
                        DRIVER(cuMemAllocFromPoolAsync),
                        DRIVER(cuMemAllocPitch),
                        DRIVER(cuMemFree),
                        DRIVER(cuMemFreeHost),
                        DRIVER(cuMemFreeAsync)};

/* Ours for what was found under a name, or "NAME_v2"; itself where it is not one of these, or there are more
 * versions than we have functions for. */
static void *replaced(const char *name, void *found) {
  for (size_t i = 0; found && i < sizeof driver_functions / sizeof *driver_functions; i++) {
    const struct driver_function *f = &driver_functions[i];
    const size_t length = strlen(f->name);
    if (strncmp(name, f->name, length) != 0 || (name[length] && strncmp(name + length, "_v", 2) != 0))
      continue;
    if (!*f->real) *f->real = found;
    if (*f->real == found) return f->ours;
  }
  return found;
}

/* RTLD_NEXT counts from the caller: so the C library's is jumped to, where the compiler does. */
SEEN void *dlsym(void *handle, const char *name);

void *dlsym(void *handle, const char *name) {
  static void *(*real)(void *, const char *);
  static const char *const versions[] = {"GLIBC_2.34", "GLIBC_2.17", "GLIBC_2.2.5"};
  for (size_t i = 0; !real && i < sizeof versions / sizeof *versions; i++) {
    void *symbol = dlvsym(RTLD_NEXT, "dlsym", versions[i]);
    memcpy(&real, &symbol, sizeof real);
  }
  if (strncmp(name, "cu", 2) != 0) return real(handle, name);
  return replaced(name, real(handle, name));
}

#endif

__attribute__((constructor)) static void begin(void) {
  watch_can_see();
}

#else

/* C does not allow an empty file. */
extern int nothing_is_interposed;

#endif
