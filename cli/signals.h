/* SPDX-License-Identifier: MIT */
/*
 * signals.h - stopping in good order. The first SIGINT, SIGTERM, SIGHUP or SIGPIPE asks
 * the run to stop, which unwinds and removes its temporaries; a second one, or two
 * seconds without the run having come to its end (it may be waiting for standard
 * input), removes the temporaries and ends the process at once. A crash names the operator that ran,
 * removes the temporaries too, and then is what it was. Writing beyond the
 * limit on a file's size is an error like any other, and no signal.
 */
#ifndef FC_CLI_SIGNALS_H
#define FC_CLI_SIGNALS_H

/* Installs the handlers that stop, except for signals that whoever started us has ignored. */
void signals_install(void);

/* Between these an operator that ends the process, as by exit(0), fails the run: a line names it, the
 * temporaries are removed, and the status is 1; from the first on a crash is told. They do not nest. */
void signals_guard(void);
void signals_unguard(void);

/* For fc_options.cancel: non-zero once a signal has come. */
const int *signals_cancel(void);

/* The first signal that came, or 0. */
int signals_received(void);

#endif
