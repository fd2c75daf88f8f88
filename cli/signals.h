/* SPDX-License-Identifier: MIT */
/*
 * signals.h - stops the command cleanly. The first SIGINT, SIGTERM, SIGHUP or SIGPIPE asks the run to stop,
 * which unwinds and removes its temporary files; a second one, or two seconds without the run ending (it may
 * be waiting for standard input), removes the temporary files and ends the process at once. A crash prints
 * the name of the running operator, removes the temporary files, and then ends the process as usual. Writing
 * beyond the limit on a file's size is an ordinary error, not a signal.
 */
#ifndef FC_CLI_SIGNALS_H
#define FC_CLI_SIGNALS_H

/* Installs the handlers, except for signals that the parent process has set to be ignored. */
void signals_install(void);

/* Between these calls an operator that ends the process, as by exit(0), fails the run: its name is
 * printed, temporary files are removed, and the status is 1. Crashes are reported from the first call on.
 * Not nested. */
void signals_guard(void);
void signals_unguard(void);

/* For fc_options.cancel: non-zero after a signal. */
const int *signals_cancel(void);

/* The first signal received, or 0. */
int signals_received(void);

#endif
