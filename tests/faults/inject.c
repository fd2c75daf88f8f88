/* SPDX-License-Identifier: MIT */
/*
 * inject.c - a library to be preloaded, in which one call fails: the FAULT_AT-th (from
 * 1) of the kind FAULT_CALL, in the program FAULT_PROGRAM and the processes that it
 * forks. The file FAULT_MARK, eight bytes long, gets the number of calls that there
 * were and whether one failed: it is mapped, so that a process that may make no more
 * system calls can still say so.
 *
 * FAULT_CALL: write, sync, rename, malloc, thread, open, truncate, map, fork, close (which is a
 * write, too), large (an allocation of more than what the program works in whatever the data), read,
 * other (what is asked or set of a descriptor or path). Or plain: a file system that knows neither links,
 * nor ways of renaming, nor files without a name, whatever the number.
 */
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <malloc.h>
#include <pthread.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <unistd.h>

enum kind {
  NONE,
  WRITE,
  SYNC,
  RENAME,
  MALLOC,
  THREAD,
  OPEN,
  TRUNCATE,
  MAP,
  FORK,
  LARGE,
  CLOSE,
  READ,
  OTHER,
  PLAIN
};

#define LARGE_FROM ((size_t)300 << 10)

typedef struct mark {
  uint32_t calls, failed;
} mark;

static enum kind wanted;
static uint32_t fault_at;
static mark *said;

/* Whether this call is the one. */
static int fails(enum kind kind, int problem) {
  if (kind != wanted) return 0;
  if (__atomic_add_fetch(&said->calls, 1, __ATOMIC_RELAXED) != fault_at) return 0;
  said->failed = 1;
  errno = problem;
  return 1;
}

/* Whether this is what a plain file system does not know. */
static int lacks(int asked, int problem) {
  if (wanted != PLAIN || !asked) return 0;
  __atomic_add_fetch(&said->calls, 1, __ATOMIC_RELAXED);
  errno = problem;
  return 1;
}

static enum kind kind_named(const char *name) {
  static const char *const names[] = {"",       "write", "sync",     "rename", "malloc",
                                      "thread", "open",  "truncate", "map",    "fork",
                                      "large",  "close", "read",     "other",  "plain"};
  for (int i = 1; i <= PLAIN; i++)
    if (strcmp(names[i], name) == 0) return (enum kind)i;
  return NONE;
}

/* Before main, and after the libraries' own constructors have had their memory. */
__attribute__((constructor)) static void arm(void) {
  const char *call = getenv("FAULT_CALL"), *at = getenv("FAULT_AT"), *path = getenv("FAULT_MARK");
  const char *program = getenv("FAULT_PROGRAM");
  if (!call || !at || !path || !program || strcmp(program_invocation_short_name, program) != 0) return;
  int fd = open(path, O_RDWR | O_CLOEXEC);
  if (fd < 0) _exit(99);
  said = mmap(NULL, sizeof *said, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  close(fd);
  if (said == MAP_FAILED) _exit(99);
  fault_at = (uint32_t)strtoul(at, NULL, 10);
  wanted = kind_named(call);
  if (wanted == NONE) _exit(99);
}

/* ---- calls ------------------------------------------------------------------- */

#define EXPORT     __attribute__((visibility("default")))
#define NEXT(name) ((__typeof__(&name))dlsym(RTLD_NEXT, #name))
#define WRITE_FAULTS(type, name, parameters, arguments)                                                      \
  EXPORT type name parameters {                                                                              \
    return fails(WRITE, ENOSPC) ? -1 : NEXT(name) arguments;                                                 \
  }

WRITE_FAULTS(ssize_t, write, (int fd, const void *from, size_t size), (fd, from, size))
WRITE_FAULTS(ssize_t, pwrite, (int fd, const void *from, size_t size, off_t at), (fd, from, size, at))

EXPORT ssize_t read(int fd, void *to, size_t size) {
  return fails(READ, EIO) ? -1 : NEXT(read)(fd, to, size);
}

EXPORT ssize_t pread(int fd, void *to, size_t size, off_t at) {
  return fails(READ, EIO) ? -1 : NEXT(pread)(fd, to, size, at);
}

EXPORT int close(int fd) {
  return fails(WRITE, ENOSPC) || fails(CLOSE, EIO) ? -1 : NEXT(close)(fd);
}

EXPORT int fsync(int fd) {
  return fails(SYNC, EIO) ? -1 : NEXT(fsync)(fd);
}

EXPORT int rename(const char *from, const char *to) {
  return fails(RENAME, EIO) ? -1 : NEXT(rename)(from, to);
}

int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags);
EXPORT int renameat2(int from_dir, const char *from, int to_dir, const char *to, unsigned flags) {
  if (lacks(flags != 0, EINVAL)) return -1;
  return fails(RENAME, EIO) ? -1 : NEXT(renameat2)(from_dir, from, to_dir, to, flags);
}

EXPORT int ftruncate(int fd, off_t size) {
  return fails(TRUNCATE, EIO) ? -1 : NEXT(ftruncate)(fd, size);
}

/* A seek of ours, and one of a library that was built for files of 2 GiB. */
EXPORT off_t lseek(int fd, off_t offset, int whence) {
  return fails(OTHER, EIO) ? -1 : NEXT(lseek)(fd, offset, whence);
}

long lseek_of_libraries(int fd, long offset, int whence) __asm__("lseek");
EXPORT long lseek_of_libraries(int fd, long offset, int whence) {
  return (long)lseek(fd, offset, whence);
}

EXPORT int fstat(int fd, struct stat *info) {
  return fails(OTHER, EIO) ? -1 : NEXT(fstat)(fd, info);
}

EXPORT int fcntl(int fd, int command, ...) {
  va_list ap;
  va_start(ap, command);
  void *argument = va_arg(ap, void *);
  va_end(ap);
  return fails(OTHER, EMFILE) ? -1 : NEXT(fcntl)(fd, command, argument);
}

EXPORT int pipe2(int fds[2], int flags) {
  return fails(OTHER, EMFILE) ? -1 : NEXT(pipe2)(fds, flags);
}

EXPORT int memfd_create(const char *name, unsigned flags) {
  return fails(OTHER, EMFILE) ? -1 : NEXT(memfd_create)(name, flags);
}

EXPORT int posix_fallocate(int fd, off_t offset, off_t size) {
  return fails(OTHER, ENOSPC) ? ENOSPC : NEXT(posix_fallocate)(fd, offset, size);
}

EXPORT int fchmod(int fd, mode_t mode) {
  return fails(OTHER, EPERM) ? -1 : NEXT(fchmod)(fd, mode);
}

EXPORT int fchown(int fd, uid_t owner, gid_t group) {
  return fails(OTHER, EPERM) ? -1 : NEXT(fchown)(fd, owner, group);
}

EXPORT int link(const char *from, const char *to) {
  return lacks(1, EPERM) || fails(OTHER, EPERM) ? -1 : NEXT(link)(from, to);
}

EXPORT int open(const char *path, int flags, ...) {
  va_list ap;
  va_start(ap, flags);
  mode_t mode = flags & (O_CREAT | O_TMPFILE) ? va_arg(ap, mode_t) : 0;
  va_end(ap);
  if (lacks((flags & O_TMPFILE) == O_TMPFILE, EOPNOTSUPP)) return -1;
  return fails(OPEN, EMFILE) ? -1 : NEXT(open)(path, flags, mode);
}

EXPORT void *mmap(void *at, size_t size, int protection, int flags, int fd, off_t offset) {
  return fails(MAP, ENOMEM) ? MAP_FAILED : NEXT(mmap)(at, size, protection, flags, fd, offset);
}

EXPORT pid_t fork(void) {
  return fails(FORK, EAGAIN) ? -1 : NEXT(fork)();
}

EXPORT int posix_spawn(pid_t *pid, const char *path, const posix_spawn_file_actions_t *actions,
                       const posix_spawnattr_t *attributes, char *const argv[], char *const environment[]) {
  return fails(FORK, EAGAIN) ? EAGAIN : NEXT(posix_spawn)(pid, path, actions, attributes, argv, environment);
}

EXPORT int pthread_create(pthread_t *thread, const pthread_attr_t *attributes, void *(*start)(void *),
                          void *argument) {
  if (fails(THREAD, EAGAIN)) return EAGAIN;
  return NEXT(pthread_create)(thread, attributes, start, argument);
}

/* ---- memory ------------------------------------------------------------------- */

/* The allocator behind us. Of the C library by names that want no dlsym, which takes memory itself;
 * or, FAULT_SANITIZED, of a sanitizer's runtime that is preloaded after us and must know every
 * block: what dlsym asks for on the way there it then does without. */
#ifdef FAULT_SANITIZED
static void *(*next_malloc)(size_t), *(*next_calloc)(size_t, size_t), *(*next_realloc)(void *, size_t);
static void *(*next_aligned)(size_t, size_t);

static int found(void) {
  static int looking; /* the first allocations are made by one thread; a thread-local needs the runtime */
  if (next_aligned) return 1;
  if (looking) return 0;
  looking = 1;
  next_malloc = NEXT(malloc), next_calloc = NEXT(calloc), next_realloc = NEXT(realloc);
  next_aligned = NEXT(memalign);
  looking = 0;
  return next_aligned != NULL;
}
#else
extern void *__libc_malloc(size_t size);
extern void *__libc_calloc(size_t count, size_t size);
extern void *__libc_realloc(void *memory, size_t size);
extern void *__libc_memalign(size_t alignment, size_t size);
#define next_malloc  __libc_malloc
#define next_calloc  __libc_calloc
#define next_realloc __libc_realloc
#define next_aligned __libc_memalign
#define found()      1
#endif

static int refused(size_t size) {
  return fails(MALLOC, ENOMEM) || (size >= LARGE_FROM && fails(LARGE, ENOMEM));
}

#define ALLOCATION(name, bytes, parameters, arguments)                                                       \
  EXPORT void *name parameters {                                                                             \
    return refused(bytes) || !found() ? NULL : next_##name arguments;                                        \
  }

ALLOCATION(malloc, size, (size_t size), (size))
ALLOCATION(calloc, count *size, (size_t count, size_t size), (count, size))
ALLOCATION(realloc, size, (void *memory, size_t size), (memory, size))

EXPORT void *aligned_alloc(size_t alignment, size_t size) {
  return refused(size) || !found() ? NULL : next_aligned(alignment, size);
}

EXPORT int posix_memalign(void **memory, size_t alignment, size_t size) {
  *memory = aligned_alloc(alignment, size);
  return *memory ? 0 : ENOMEM;
}
