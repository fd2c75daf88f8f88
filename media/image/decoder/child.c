/* SPDX-License-Identifier: MIT */
/*
 * child.c - confines the process in which decoders run.
 *
 * It allocates the memory that decoding may need, closes every descriptor except one, limits its processor
 * time, and gives up all system calls except read, write and exit. Decoders use malloc: its heap is grown
 * once, before the filter is installed, by a block that is freed again but not returned to the system; only
 * pages that are touched cost memory. Beyond that brk and mmap fail, and so does malloc.
 */
#include "media/image/decoder/child.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <malloc.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <unistd.h>

/* From this size on a heap uses huge pages: all of a decoder's memory for a large picture is touched. */
#define LARGE ((gsize)32 << 20)

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

/* A filter is tried before strict mode: a process that already runs under a filter, as in most containers,
 * cannot enter strict mode. */
static gboolean confine(void) {
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0) return FALSE;
#ifdef ARCHITECTURE
#define ALLOW(call)                                                                                          \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)
/* A failing brk returns the old break; 0 is lower than any requested break, so malloc treats it as a
 * failure. */
#define REFUSE(call, answer)                                                                                 \
  BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, (call), 0, 1), BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | (answer))
  struct sock_filter filter[] = {
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
      BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, ARCHITECTURE, 1, 0),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
      BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
      ALLOW(SYS_read),
      ALLOW(SYS_write),
      ALLOW(SYS_exit),
      ALLOW(SYS_rt_sigreturn),
      REFUSE(SYS_brk, 0),
      REFUSE(SYS_mmap, ENOMEM),
      BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_KILL),
  };
#undef ALLOW
#undef REFUSE
  struct sock_fprog program = {G_N_ELEMENTS(filter), filter};
  if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) == 0) return TRUE;
#endif
  return prctl(PR_SET_SECCOMP, SECCOMP_MODE_STRICT, 0, 0, 0) == 0;
}

/* Makes malloc allocate this much from the system now, and keep it when it is freed. FALSE: there is not
 * enough. */
static gboolean reserve(gsize heap) {
#ifdef __GLIBC__
  if (FC_SANITIZED) return TRUE;
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, -1);
  mallopt(M_TOP_PAD, 0);
  mallopt(M_PERTURB, 0); /* otherwise, with $MALLOC_PERTURB_, free would touch the whole block */
#endif
  void *volatile block = malloc(heap); /* volatile, or the compiler removes both calls */
#ifdef MADV_HUGEPAGE
  const gsize page = 4096, at = ((gsize)block + page - 1) / page * page;
  if (block && heap >= LARGE) madvise((void *)at, (heap - page) / page * page, MADV_HUGEPAGE);
#endif
  free(block);
  return block != NULL;
}

static gboolean enter_sandbox(const fc_child_limits *limits) {
  prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  fc_close_descriptors(limits->kept, limits->descriptors);
  limit(RLIMIT_CORE, 0);
  limit(RLIMIT_FSIZE, 0);
  limit(RLIMIT_CPU, (rlim_t)limits->seconds);
  return FC_SANITIZED || confine();
}

gboolean fc_child_confine(const fc_child_limits *limits, fc_decode_report *report) {
  if (!reserve(limits->heap)) return fc_decode_fail(report, FC_CORRUPTED, "out of memory");
  return enter_sandbox(limits) || fc_decode_fail(report, FC_CORRUPTED, "no sandbox");
}

void fc_child_end(void) {
  /* Strict mode allows only this exit; a sanitizer's thread would survive it. */
  for (;;) syscall(FC_SANITIZED ? SYS_exit_group : SYS_exit, 0);
}
