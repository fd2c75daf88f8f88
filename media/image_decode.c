/* SPDX-License-Identifier: MIT */
/*
 * image_decode.c - stb_image in a child process that can do nothing but decode.
 *
 * The child is a copy of this process (the file lies in its memory) which closes every
 * descriptor, limits its processor time and memory, and gives up all system calls but
 * writing one byte and exiting. Pixels come back in memory shared with it; nothing in
 * there is believed before it is checked, and not before the child is gone. Between
 * fork and exit the child calls only what is async-signal-safe, so the parent may have
 * threads, and stb_image's memory is the arena, so it needs no allocator.
 *
 * One child an image. For batches, fc_image_decode is the place for a pool of children
 * that are handed files through shared memory.
 */
#include "media/image.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <pthread.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

/* A sanitizer's runtime makes system calls and maps memory of its own. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer) || __has_feature(memory_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

/* Seconds of processor time: so many, and one more for each 2^23 pixels. The clock may
 * run three times as long, for machines that are busy. */
#define SECONDS      10
#define PIXELS_A_SEC ((gint64)1 << 23)
#define PATIENCE     3

/* What the child says, at the start of the shared memory. */
typedef struct decode_report {
  gint32 done; /* it has come to the end, well or not */
  gint32 width, height, channels, bits;
  gint64 pixels_at; /* offset from the start of the shared memory; 0: failed */
  char reason[64];
} decode_report;

/* Where the arena begins, aligned for anything. */
#define REPORT_SIZE 256

typedef struct decode_job {
  const char *name;
  const guint8 *file;
  gsize size;
  gint64 pixels;
  gboolean cut;
  int seconds;
  gsize address_space; /* what the process has mapped; 0: not known */
  void *shared;
  gsize shared_size;
  int done[2]; /* a pipe: the child writes one byte, or closes it by dying */
  long descriptors;
} decode_job;

/* ---- the child --------------------------------------------------------- */

static void limit(int what, rlim_t most) {
  struct rlimit limits = {most, most};
  setrlimit((__rlimit_resource_t)what, &limits);
}

/* All but `kept`, which becomes descriptor 0. */
static void close_descriptors(int kept, long most) {
  if (kept != 0) dup2(kept, 0);
#ifdef SYS_close_range
  if (syscall(SYS_close_range, 1u, ~0u, 0) == 0) return;
#endif
  for (long fd = 1; fd < most; fd++) close((int)fd);
}

#if defined(__x86_64__)
#define ARCHITECTURE AUDIT_ARCH_X86_64
#elif defined(__aarch64__)
#define ARCHITECTURE AUDIT_ARCH_AARCH64
#endif

/* A filter rather than strict mode first: a process that already runs under a filter,
 * as all do in most containers, may not enter strict mode. */
static gboolean confine(void) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return FALSE;
#ifdef ARCHITECTURE
#define ALLOW(call)                                                                                          \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(SYS_write),
      ALLOW(SYS_exit),
      ALLOW(SYS_rt_sigreturn),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
  };
#undef ALLOW
  struct sock_fprog program = {G_N_ELEMENTS(filter), filter};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0) return TRUE;
#endif
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0;
}

static gboolean enter_sandbox(const decode_job *job) {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  close_descriptors(job->done[1], job->descriptors);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_CPU, (rlim_t)job->seconds);
  if (SANITIZED) return TRUE;
  if (job->address_space) limit(RLIMIT_AS, job->address_space);
  return confine();
}

static void say(decode_report *report, const char *reason) {
  size_t length = 0;
  for (; reason[length] && length < sizeof report->reason - 1; length++)
    report->reason[length] = reason[length];
  report->reason[length] = 0;
}

static G_NORETURN void child(const decode_job *job) {
  decode_report *report = job->shared;
  char *arena = (char *)job->shared + REPORT_SIZE;
  if (enter_sandbox(job)) {
    fc_stb_result result;
    fc_stb_decode(arena, job->shared_size - REPORT_SIZE, job->file, job->size, job->pixels, job->cut,
                  &result);
    report->width = result.width;
    report->height = result.height;
    report->channels = result.channels;
    report->bits = result.bits;
    report->pixels_at = result.pixels ? (char *)result.pixels - (char *)job->shared : 0;
    if (result.reason) say(report, result.reason);
  } else
    say(report, "no sandbox");
  report->done = 1;
  if (write(0, "", 1) < 0) report->done = 1; /* the parent sees the pipe closed as well */
  /* Strict mode knows only this exit; a sanitizer's own thread would outlive it. */
  for (;;) syscall(SANITIZED ? SYS_exit_group : SYS_exit, 0);
}

/* ---- the parent -------------------------------------------------------- */

/* No handler of the parent's runs in the child: all signals stay blocked there. */
static pid_t start(decode_job *job) {
  sigset_t all, before;
  sigfillset(&all);
  pthread_sigmask(SIG_SETMASK, &all, &before);
  pid_t pid = fork();
  if (pid == 0) child(job);
  int problem = errno;
  pthread_sigmask(SIG_SETMASK, &before, NULL);
  errno = problem;
  return pid;
}

/* TRUE when the child has said that it is done, or has died. */
static gboolean wait_for_word(const decode_job *job) {
  gint64 end = g_get_monotonic_time() + (gint64)job->seconds * PATIENCE * G_USEC_PER_SEC;
  for (;;) {
    gint64 left = end - g_get_monotonic_time();
    if (left <= 0) return FALSE;
    struct pollfd poll_fd = {job->done[0], POLLIN, 0};
    if (poll(&poll_fd, 1, (int)(left / 1000) + 1) > 0) return TRUE;
  }
}

/* The child's end; status 0 also where somebody else has collected it. */
static int collect(pid_t pid, gboolean in_time) {
  if (!in_time) kill(pid, SIGKILL);
  int status = 0;
  while (waitpid(pid, &status, 0) < 0)
    if (errno != EINTR) return 0;
  return status;
}

static gboolean fail_child(const decode_job *job, int status, gboolean in_time, GError **error) {
  if (!in_time || (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL))
    return fc_fail(error, FC_IO, "%s: decoding was stopped at the limit of %d s of processor time", job->name,
                   job->seconds);
  if (WIFSIGNALED(status))
    return fc_fail(error, FC_IO, "%s: the decoder crashed on it (%s) and was contained; the file is damaged",
                   job->name, g_strsignal(WTERMSIG(status)));
  return fc_fail(error, FC_IO, "%s: the decoder ended without a word; the file is damaged", job->name);
}

gboolean fc_image_take_report(const char *name, const void *shared, gsize shared_size,
                              const fc_image_check *check, fc_picture *picture, GError **error) {
  decode_report said;
  memcpy(&said, shared, sizeof said);
  said.reason[sizeof said.reason - 1] = 0;
  if (!said.pixels_at) {
    for (char *c = said.reason; *c; c++)
      if (!g_ascii_isprint(*c)) *c = '?';
    return fc_fail(error, FC_IO, "%s: cannot be decoded: %s", name, said.reason);
  }
  gboolean sane = said.width == check->width && said.height == check->height && said.channels >= 1 &&
                  said.channels <= 4 && (said.bits == 8 || said.bits == 16) &&
                  said.pixels_at >= REPORT_SIZE && said.pixels_at % 16 == 0 &&
                  (guint64)said.pixels_at <= shared_size;
  guint64 bytes =
      sane ? (guint64)check->width * (guint64)check->height * (guint64)(said.channels * said.bits / 8) : 0;
  if (!sane || bytes > shared_size - (guint64)said.pixels_at)
    return fc_fail(error, FC_IO, "%s: what its header says and what it holds differ", name);
  *picture = (fc_picture){.width = said.width,
                          .height = said.height,
                          .channels = said.channels,
                          .dtype = said.bits == 16 ? FC_U16 : FC_U8,
                          .pixels = (const char *)shared + said.pixels_at};
  return TRUE;
}

static gboolean run(decode_job *job, const fc_image_check *check, fc_picture *picture, GError **error) {
  if (pipe2(job->done, O_CLOEXEC) != 0)
    return fc_fail(error, FC_IO, "%s: no pipe to the decoder: %s", job->name, g_strerror(errno));
  pid_t pid = start(job);
  int problem = errno;
  close(job->done[1]);
  gboolean in_time = pid > 0 && wait_for_word(job);
  int status = pid > 0 ? collect(pid, in_time) : 0;
  close(job->done[0]);
  if (pid < 0)
    return fc_fail(error, FC_NO_MEMORY, "%s: no process for the decoder: %s", job->name, g_strerror(problem));
  if (!in_time || !((decode_report *)job->shared)->done) return fail_child(job, status, in_time, error);
  return fc_image_take_report(job->name, job->shared, job->shared_size, check, picture, error);
}

/* What is mapped, with room for the stack to grow. 0 where it cannot be told. */
static gsize address_space(void) {
  unsigned long pages = 0;
  FILE *statm = fopen("/proc/self/statm", "re");
  if (!statm) return 0;
  if (fscanf(statm, "%lu", &pages) != 1) pages = 0;
  fclose(statm);
  return pages ? pages * (gsize)sysconf(_SC_PAGESIZE) + ((gsize)64 << 20) : 0;
}

/* For the largest that stb_image takes: PNG of 16 bits and 4 channels, interlaced, needs
 * three images of 8 bytes a pixel and the file twice (which is as large as an image when
 * it was mended); progressive JPEG, rounded up to blocks, less. Only what is touched
 * costs memory. */
static gsize arena_for(const decode_job *job, const fc_image_check *check) {
  return REPORT_SIZE + 2 * job->size +
         (job->cut ? 64 : 32) * (gsize)(check->width + 64) * (gsize)(check->height + 64) + ((gsize)16 << 20);
}

gboolean fc_image_decode(const char *name, const guint8 *file, gsize size, const fc_image_check *check,
                         fc_picture *picture, GError **error) {
  decode_job job = {
      .name = name, .file = file, .size = size, .pixels = check->width * check->height, .cut = check->cut};
  job.seconds = (int)(SECONDS + job.pixels / PIXELS_A_SEC) * (SANITIZED ? 4 : 1);
  job.descriptors = sysconf(_SC_OPEN_MAX);
  job.shared_size = arena_for(&job, check);
  job.shared =
      mmap(NULL, job.shared_size, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
  if (job.shared == MAP_FAILED)
    return fc_fail(error, FC_NO_MEMORY,
                   "%s: no memory to decode %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT " pixels", name,
                   check->width, check->height);
  job.address_space = address_space();
  if (!run(&job, check, picture, error)) {
    munmap(job.shared, job.shared_size);
    return FALSE;
  }
  picture->arena = job.shared;
  picture->arena_size = job.shared_size;
  return TRUE;
}

void fc_picture_clear(fc_picture *picture) {
  if (picture->arena) munmap(picture->arena, picture->arena_size);
  memset(picture, 0, sizeof *picture);
}
