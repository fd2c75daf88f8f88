/* SPDX-License-Identifier: MIT */
#include "cli/signals.h"

#include "cli/say.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GRACE_SECONDS = 2 };
/* Threads that may call exit at the same moment: each needs a registered handler, see is_first. */
enum { EXITS_AT_ONCE = 64 };

static volatile sig_atomic_t received;
static int cancel; /* set to 1 by the handler, never cleared */

static void leave_at_once(void) {
  fc_output_remove_all();
  _exit(EXIT_SIGNAL + received);
}

static void on_signal(int number) {
  if (received) leave_at_once();
  received = number;
  __atomic_store_n(&cancel, 1, __ATOMIC_RELAXED);
  alarm(GRACE_SECONDS);
}

static void on_alarm(int number) {
  if (received) leave_at_once();
}

/* ---- operators that end the process --------------------------------------- */

static pid_t guarded; /* this process while a run is in progress; else 0 */

/* "filterchain: NAME: WHAT", with a single write, which is safe in a handler. */
static void tell_end(const char *name, const char *what) {
  char line[256] = "filterchain: ";
  g_strlcat(line, name, sizeof line);
  g_strlcat(line, ": ", sizeof line);
  g_strlcat(line, what, sizeof line);
  g_strlcat(line, "\n", sizeof line);
  if (write(STDERR_FILENO, line, strlen(line)) < 0) return; /* there is nowhere to report to */
}

/* Several threads may call exit at once, and in the C library a second exit continues while a handler of
 * the first still runs: the first does the work, the others wait here for the end of the process. */
static gboolean is_first(void) {
  static int taken;
  return __atomic_exchange_n(&taken, 1, __ATOMIC_ACQ_REL) == 0;
}

static void on_exit_within(void) {
  if (!guarded || guarded != getpid()) return; /* or a child process, such as a decoder, ends */
  while (!is_first()) pause();
  const char *name = fc_running_operator();
  tell_end(name ? name : "run",
           name ? "the operator ended the process" : "an operator or a library ended the process");
  fc_output_remove_all();
  _exit(EXIT_FAILED);
}

/* ---- crashes --------------------------------------------------------------- */

static const struct {
  int number;
  const char *what;
} crashes[] = {{SIGABRT, "crashed (SIGABRT)"}, {SIGTRAP, "crashed (SIGTRAP)"}, {SIGSEGV, "crashed (SIGSEGV)"},
               {SIGBUS, "crashed (SIGBUS)"},   {SIGILL, "crashed (SIGILL)"},   {SIGFPE, "crashed (SIGFPE)"}};

/* An operator crashes, or GLib aborts because a few bytes cannot be allocated: the process ends as it
 * would have, but without leaving temporary files. */
static void on_crash(int number) {
  static _Thread_local gboolean within; // for a crash in the handler
  while (!within && !is_first()) pause();
  const char *name = within ? NULL : fc_running_operator();
  within = TRUE;
  for (unsigned i = 0; name && i < sizeof crashes / sizeof *crashes; i++)
    if (crashes[i].number == number) tell_end(name, crashes[i].what);
  fc_output_remove_all();
  signal(number, SIG_DFL);
  raise(number); // delivered when this handler returns
}

static void handle_crash(int number) {
  struct sigaction before, action = {0};
  if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_DFL) return; // a sanitizer's handler
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
}

/* For a thread whose stack is used up, as by endless recursion in an operator. Threads of the library have
 * such a stack; this is for the calling thread. */
static void give_signal_stack(void) {
  static char memory[128 * 1024];
  stack_t before = {0};
  const stack_t stack = {.ss_sp = memory, .ss_size = sizeof memory};
  if (sigaltstack(NULL, &before) == 0 && before.ss_flags & SS_DISABLE) sigaltstack(&stack, NULL);
}

void signals_guard(void) {
  static gboolean installed;
  give_signal_stack();
  for (int i = 0; i < EXITS_AT_ONCE && !installed; i++) {
    atexit(on_exit_within);
    at_quick_exit(on_exit_within);
  }
  installed = TRUE;
  guarded = getpid();
  for (unsigned i = 0; i < sizeof crashes / sizeof *crashes; i++) handle_crash(crashes[i].number);
}

void signals_unguard(void) {
  guarded = 0;
}

static void handle(int number, void (*handler)(int)) {
  struct sigaction before, action = {0};
  if (sigaction(number, NULL, &before) == 0 && before.sa_handler == SIG_IGN) return; // nohup
  action.sa_handler = handler;
  action.sa_flags = SA_RESTART; // libraries do not handle short reads
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
}

void signals_install(void) {
  handle(SIGALRM, on_alarm);
  handle(SIGINT, on_signal);
  handle(SIGTERM, on_signal);
  handle(SIGHUP, on_signal);
  handle(SIGPIPE, on_signal);
  signal(SIGXFSZ, SIG_IGN); // writing beyond the limit then fails with an error, as on a full disk
}

const int *signals_cancel(void) {
  return &cancel;
}

int signals_received(void) {
  return received;
}
