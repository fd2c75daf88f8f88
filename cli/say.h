/* SPDX-License-Identifier: MIT */
/*
 * say.h - everything that the command writes to stderr: one line a message, and under
 * them a progress bar that comes and goes. Callable from any thread.
 */
#ifndef FC_CLI_SAY_H
#define FC_CLI_SAY_H

#include "core/contract/filterchain.h"

/* Exit statuses; a signal N adds 128 + N. */
typedef enum exit_status {
  EXIT_DONE = 0,    /* done and complete */
  EXIT_FAILED = 1,  /* data or I/O */
  EXIT_USAGE = 2,   /* the command line or the chain is wrong */
  EXIT_PARTIAL = 3, /* part of a batch failed */
  EXIT_SIGNAL = 128
} exit_status;

/* Warnings and what else is not an error are swallowed when quiet. */
void say_set_quiet(gboolean quiet);

/* "filterchain: MESSAGE", on one line whatever the message holds. */
void say_error(const char *format, ...) G_GNUC_PRINTF(1, 2);
void say_note(const char *format, ...) G_GNUC_PRINTF(1, 2);
/* The same of a line that is no repetition of the one before. */
void say_once(const char *text);

/* Says what an error about the command line or the chain says, and returns its status. */
exit_status say_gerror(const GError *error);

/* A line as it is, for machines. */
void say_raw(const char *line);

/* Replaces the bar on the terminal's last line; NULL takes it away. */
void say_bar(const char *text);

#endif
