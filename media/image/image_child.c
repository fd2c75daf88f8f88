/* SPDX-License-Identifier: MIT */
/*
 * image_child.c - the process in which stb_image runs, from its beginning to its end.
 *
 * It closes every descriptor, limits its processor time and memory, and gives up all
 * system calls but writing one byte and exiting. Calls only what is async-signal-safe, so
 * that it may be a fork of a process with threads; stb_image's memory is the arena, so it
 * needs no allocator.
 */
#include "media/image/image_child.h"

#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

static void limit(int what, rlim_t most) {
  struct rlimit limits = {most, most};
  setrlimit((__rlimit_resource_t)what, &limits);
}

void fc_close_descriptors(int kept, long most) {
  if (kept > 0) dup2(kept, 0);
  unsigned first = kept >= 0;
#ifdef SYS_close_range
  if (syscall(SYS_close_range, first, ~0u, 0) == 0) return;
#endif
  for (long fd = first; fd < most; fd++) close((int)fd);
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

static gboolean enter_sandbox(const fc_decode_task *task) {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  fc_close_descriptors(task->word, task->descriptors);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_CPU, (rlim_t)task->seconds);
  if (FC_SANITIZED) return TRUE;
  if (task->address_space) limit(RLIMIT_AS, task->address_space);
  return confine();
}

static void say(fc_decode_report *report, const char *reason) {
  size_t length = 0;
  for (; reason[length] && length < sizeof report->reason - 1; length++)
    report->reason[length] = reason[length];
  report->reason[length] = 0;
}

void fc_decode_child(const fc_decode_task *task) {
  fc_decode_report *report = task->shared;
  char *arena = (char *)task->shared + FC_DECODE_REPORT_SIZE;
  if (enter_sandbox(task)) {
    fc_stb_result result;
    fc_stb_decode(arena, task->shared_size - FC_DECODE_REPORT_SIZE, task->file, task->size, task->pixels,
                  task->cut, &result);
    report->width = result.width;
    report->height = result.height;
    report->channels = result.channels;
    report->bits = result.bits;
    report->pixels_at = result.pixels ? (char *)result.pixels - (char *)task->shared : 0;
    if (result.reason) say(report, result.reason);
  } else
    say(report, "no sandbox");
  report->done = 1;
  if (write(0, "", 1) < 0) report->done = 1; /* the parent sees the pipe closed as well */
  /* Strict mode knows only this exit; a sanitizer's own thread would outlive it. */
  for (;;) syscall(FC_SANITIZED ? SYS_exit_group : SYS_exit, 0);
}

gsize fc_address_space(gsize *resident) {
  unsigned long pages = 0, held = 0;
  FILE *statm = fopen("/proc/self/statm", "re");
  if (!statm) return 0;
  if (fscanf(statm, "%lu %lu", &pages, &held) != 2) pages = held = 0;
  fclose(statm);
  if (resident) *resident = held * (gsize)sysconf(_SC_PAGESIZE);
  return pages ? pages * (gsize)sysconf(_SC_PAGESIZE) + ((gsize)64 << 20) : 0;
}
