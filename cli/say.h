/* SPDX-License-Identifier: MIT */
/*
 * say.h - everything that the command writes to stderr: one line per message, with a progress bar below them
 * at times. Callable from any thread.
 */
#ifndef FC_CLI_SAY_H
#define FC_CLI_SAY_H

#include "core/contract/filterchain.h"

/* Exit statuses; a signal N adds 128 + N. */
typedef enum exit_status {
  EXIT_DONE = 0,    /* completed */
  EXIT_FAILED = 1,  /* data or I/O */
  EXIT_USAGE = 2,   /* the command line or the chain is wrong */
  EXIT_PARTIAL = 3, /* part of a batch failed */
  EXIT_SIGNAL = 128
} exit_status;

/* Suppresses warnings and information. */
void say_set_quiet(gboolean quiet);

/* "filterchain: MESSAGE", always on one line. */
void say_error(const char *format, ...) G_GNUC_PRINTF(1, 2);
void say_note(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* The same of a line that is no repetition of the one before. */
void say_once(const char *text);

/* Sets an error about the command line or the chain, and returns FALSE. */
gboolean refuse(GError **error, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* Prints such an error, and returns its status. */
exit_status say_gerror(const GError *error);

/* Prints a line unchanged, for programs. */
void say_raw(const char *line);

/* Replaces the bar on the terminal's last line; NULL removes it. */
void say_bar(const char *text);

#endif
