/* SPDX-License-Identifier: MIT */
#include "cli/signals.h"

#include "cli/say.h"

#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { GRACE_SECONDS = 2 };
/* Workers that may end the process in the same moment: each needs a handler of its own, see is_first. */
enum { EXITS_AT_ONCE = 64 };

static volatile sig_atomic_t received;
static int cancel; /* set by the handler alone, and only ever to 1 */

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

static pid_t guarded; /* this process, while a run is under way; else 0 */

/* "filterchain: NAME: WHAT", by a single write that a handler may make. */
static void tell_end(const char *name, const char *what) {
  char line[256] = "filterchain: ";
  g_strlcat(line, name, sizeof line);
  g_strlcat(line, ": ", sizeof line);
  g_strlcat(line, what, sizeof line);
  g_strlcat(line, "\n", sizeof line);
  if (write(STDERR_FILENO, line, strlen(line)) < 0) return; /* nobody is there to be told */
}

/* Several workers may end the process at once, and the C library lets the later ones pass by a handler that
 * is running: the first does what is to be done, the others wait here for the end. */
static gboolean is_first(void) {
  static int taken;
  return __atomic_exchange_n(&taken, 1, __ATOMIC_ACQ_REL) == 0;
}

static void on_exit_within(void) {
  if (!guarded || guarded != getpid()) return; /* or a child's that ends, as a decoder */
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

/* An operator that crashes, or GLib, which aborts when a few bytes cannot be had: the process
 * ends as it would have, but for the temporaries. */
static void on_crash(int number) {
  static _Thread_local gboolean within; // the handler crashes itself
  while (!within && !is_first()) pause();
  const char *name = within ? NULL : fc_running_operator();
  within = TRUE;
  for (unsigned i = 0; name && i < sizeof crashes / sizeof *crashes; i++)
    if (crashes[i].number == number) tell_end(name, crashes[i].what);
  fc_output_remove_all();
  signal(number, SIG_DFL);
  raise(number); // held back until this handler returns
}

static void handle_crash(int number) {
  struct sigaction before, action = {0};
  if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_DFL) return; // a sanitizer's
  action.sa_handler = on_crash;
  action.sa_flags = SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
}

/* For a thread whose own is used up, as by an operator with endless recursion. Those of the library have
 * theirs; this is for the one that calls. */
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
  action.sa_flags = SA_RESTART; // libraries do not expect a short read
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
}

void signals_install(void) {
  handle(SIGALRM, on_alarm);
  handle(SIGINT, on_signal);
  handle(SIGTERM, on_signal);
  handle(SIGHUP, on_signal);
  handle(SIGPIPE, on_signal);
  signal(SIGXFSZ, SIG_IGN); // a write beyond the limit then fails, as on a full disk
}

const int *signals_cancel(void) {
  return &cancel;
}

int signals_received(void) {
  return received;
}
