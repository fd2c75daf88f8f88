/* SPDX-License-Identifier: MIT */
/* command.h - the commands of the program, in one table (main.c). */
#ifndef FC_CLI_COMMAND_H
#define FC_CLI_COMMAND_H

#include "cli/args.h"
#include "cli/say.h"

typedef struct command {
  const char *name;    /* NULL for filtering itself, which has no command name */
  const char *usage;   /* what follows "filterchain " */
  const char *summary; /* for help */
  command_set options;
  const char *help; /* below the options, or NULL */
  exit_status (*run)(const arguments *a);
  const char *program; /* instead of `run`: another program of ours, which gets the arguments unchanged */
} command;

/* Ends with an entry without `usage`. */
extern const command commands[];

exit_status run_command(const arguments *a);
exit_status list_command(const arguments *a);
exit_status inspect_command(const arguments *a);
exit_status formats_command(const arguments *a);
exit_status design_command(const arguments *a);
exit_status completion_command(const arguments *a);
exit_status new_command(const arguments *a);
exit_status plot_command(const arguments *a);

/* The library that reads this format, and its version, or "none"; g_free. */
char *formats_reader(const char *name);

/* A context with the log and the plugin folders given by the options; `a` must outlive it. */
fc_context *command_context(const arguments *a);

#endif
