/* SPDX-License-Identifier: MIT */
/*
 * test_child.c - the process in which images are decoded, with a decoder that a file has taken
 * over: whatever it tries but decoding ends it. The decoder is defined here, so that the
 * linker does not take the real one out of the engine's archive.
 */
#include "media/image/decoder/child.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define SHARED 4096
#define HEAP   ((gsize)8 << 20)
#define SECRET 77 /* a descriptor of the process that forks */

static void decode_well(void) {}

static void open_file(void) {
  syscall(SYS_openat, AT_FDCWD, "/dev/null", O_RDONLY, 0);
}

static void make_file(void) {
  syscall(SYS_openat, AT_FDCWD, "/tmp/filterchain-escaped", O_CREAT | O_WRONLY, 0600);
}

static void connect_out(void) {
  syscall(SYS_socket, AF_INET, SOCK_STREAM, 0);
}

static void fork_again(void) {
  syscall(SYS_clone, SIGCHLD, 0, 0, 0, 0);
}

static void run_program(void) {
  char *const none[] = {NULL};
  syscall(SYS_execve, "/bin/true", none, none);
}

static void kill_parent(void) {
  syscall(SYS_kill, syscall(SYS_getppid), SIGKILL);
}

/* Refused, as there being none; what malloc was given beforehand it has. */
static void take_memory(void) {
  void *more =
      (void *)syscall(SYS_mmap, NULL, 1 << 20, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char *given = malloc(HEAP / 2);
  if (!given || (!FC_SANITIZED && (more != MAP_FAILED || malloc(2 * HEAP)))) __builtin_trap();
  memset(given, 1, HEAP / 2);
}

/* Likewise read. */
static void read_secret(void) {
  char byte;
  if (read(SECRET, &byte, 1) != -1 || read(0, &byte, 1) != -1) __builtin_trap();
}

static void say_and_run_on(void) {
  if (write(0, "", 1) != 1) __builtin_trap();
  for (volatile guint i = 0;; i++) continue;
}

static void run_on(void) {
  for (volatile guint i = 0;; i++) continue;
}

/* write may be called, but there is nothing left to write into. */
static void write_secret(void) {
  if (write(SECRET, "secret", 6) != -1 || write(2, "secret", 6) != -1) __builtin_trap();
}

typedef struct attempt {
  const char *name;
  void (*make)(void);
  gboolean harmless;
} attempt;

static const attempt attempts[] = {
    {"nothing", decode_well, TRUE},
    {"write-elsewhere", write_secret, TRUE},
    {"open-a-file", open_file, FALSE},
    {"make-a-file", make_file, FALSE},
    {"connect", connect_out, FALSE},
    {"fork", fork_again, FALSE},
    {"run-a-program", run_program, FALSE},
    {"kill-the-parent", kill_parent, FALSE},
    {"take-memory", take_memory, TRUE},
    {"read-elsewhere", read_secret, TRUE},
    {"run-on", run_on, FALSE},
};

static const attempt *current;

void fc_decode(const fc_decode_task *task, fc_decode_report *report) {
  current->make();
  fc_decode_fail(report, FC_CORRUPTED, "as was asked");
}

gboolean fc_decode_fail(fc_decode_report *report, fc_damage damage, const char *reason) {
  g_strlcpy(report->reason, reason, sizeof report->reason);
  return FALSE;
}

static G_NORETURN void decode_and_end(const fc_child_limits *limits, fc_decode_report *report) {
  const fc_decode_task task = {.file = (const guint8 *)""};
  if (fc_child_confine(limits, report)) fc_decode(&task, report);
  report->done = 1;
  fc_child_end();
}

/* How a child ended that makes the attempt. */
static int run_child(fc_decode_report *report) {
  const fc_child_limits limits = {.heap = HEAP, .seconds = 1, .kept = -1, .descriptors = 1024};
  pid_t pid = fork();
  if (pid == 0) {
    sigset_t all;
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, NULL);
    decode_and_end(&limits, report);
  }
  int status = 0;
  g_assert_cmpint(waitpid(pid, &status, 0), ==, pid);
  return status;
}

static void test_attempt(gconstpointer data) {
  current = data;
  if (FC_SANITIZED && !current->harmless) {
    g_test_skip("a sanitizer's runtime needs system calls");
    return;
  }
  fc_decode_report *report = mmap(NULL, SHARED, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  g_assert_true(report != MAP_FAILED);
  int between[2];
  g_assert_cmpint(pipe(between), ==, 0);
  g_assert_cmpint(dup2(between[1], SECRET), ==, SECRET);
  int status = run_child(report);
  if (current->harmless) {
    g_assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    g_assert_cmpstr(report->reason, ==, "as was asked");
  } else {
    g_assert_true(WIFSIGNALED(status));
    g_assert_cmpint(report->done, ==, 0);
  }
  close(SECRET);
  close(between[1]);
  char byte;
  g_assert_cmpint(read(between[0], &byte, 1), ==, 0); /* nothing was sent */
  close(between[0]);
  munmap(report, SHARED);
}

/* The process that forked it is killed: nobody would collect it, or stop it sooner than its limits do. */
static void test_orphan(void) {
  enum { SECONDS = 50 }; /* for the end, which comes at once but on a busy machine */
  static const attempt endless = {"orphan", say_and_run_on, FALSE};
  int between[2];
  char byte;
  fc_decode_report *report = mmap(NULL, SHARED, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  g_assert_cmpint(pipe2(between, O_CLOEXEC), ==, 0);
  current = &endless;
  pid_t parent = fork();
  if (parent == 0) {
    const fc_child_limits limits = {
        .heap = HEAP, .seconds = 2 * SECONDS, .kept = between[1], .descriptors = 1024};
    if (fork() == 0) decode_and_end(&limits, report);
    close(between[1]);
    for (;;) pause();
  }
  close(between[1]);
  g_assert_cmpint(read(between[0], &byte, 1), ==, 1); /* it is at work */
  g_assert_cmpint(kill(parent, SIGKILL), ==, 0);
  g_assert_cmpint(waitpid(parent, NULL, 0), ==, parent);
  struct pollfd end = {between[0], POLLIN, 0};
  g_assert_cmpint(poll(&end, 1, SECONDS * 1000), ==, 1);
  g_assert_cmpint(read(between[0], &byte, 1), ==, 0);
  close(between[0]);
  munmap(report, SHARED);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  for (gsize i = 0; i < G_N_ELEMENTS(attempts); i++) {
    g_autofree char *name = g_strconcat("/media/child/", attempts[i].name, NULL);
    g_test_add_data_func(name, &attempts[i], test_attempt);
  }
  g_test_add_func("/media/child/orphan", test_orphan);
  return g_test_run();
}
