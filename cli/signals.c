/* SPDX-License-Identifier: MIT */
#include "cli/signals.h"

#include "cli/say.h"

#include <signal.h>
#include <unistd.h>

enum { GRACE_SECONDS = 2 };

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

/* A plugin that crashes, or GLib, which aborts when a few bytes cannot be had: the process
 * ends as it would have, but for the temporaries. */
static void on_crash(int number) {
  fc_output_remove_all();
  raise(number); // the default again, held back until this handler returns
}

static void handle_crash(int number) {
  struct sigaction before, action = {0};
  if (sigaction(number, NULL, &before) == 0 && before.sa_handler != SIG_DFL) return; // a sanitizer's
  action.sa_handler = on_crash;
  action.sa_flags = (int)SA_RESETHAND;
  sigemptyset(&action.sa_mask);
  sigaction(number, &action, NULL);
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
  static const int crashes[] = {SIGABRT, SIGTRAP, SIGSEGV, SIGBUS, SIGILL, SIGFPE};
  for (unsigned i = 0; i < sizeof crashes / sizeof *crashes; i++) handle_crash(crashes[i]);
  signal(SIGXFSZ, SIG_IGN); // a write beyond the limit then fails, as on a full disk
}

const int *signals_cancel(void) {
  return &cancel;
}

int signals_received(void) {
  return received;
}
