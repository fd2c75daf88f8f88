/* SPDX-License-Identifier: MIT */
/*
 * completion.h - completion scripts: the tables that those for several shells share, from the options of the
 * command, the descriptors of the operators there are now, the file formats, and what `check` says of itself.
 */
#ifndef FC_CLI_COMPLETION_H
#define FC_CLI_COMPLETION_H

#include "cli/command.h"

/* How a shell writes a table from keys to words that blanks separate. */
typedef struct complete_form {
  const char *open, *opened;       /* around the table's name */
  const char *row, *value, *ended; /* ahead of a key, of its words, and behind them */
  const char *close;
} complete_form;

/* Four tables: _filterchain_params has for an operator what may follow a ':' of a stage - "border=zero" for
 * each choice, "taps=" for the rest, and bare values of the main parameter, "@sine" for a choice, "@" for a
 * file; _filterchain_in and _filterchain_out for the ending of a file's name the options behind it; and
 * _filterchain_values for an option, "--progress", its values. */
void complete_tables(const complete_form *form, const fc_operator *const *operators);
/* Assignments of all options, all commands, and the options of check, as shells write them. */
void complete_lists(void);
/* The options of check and bench, by their help, separated by blanks; g_free. */
char *complete_program_options(const char *program);
/* The values of an option that are known, separated by blanks; NULL: any. g_free. */
char *complete_choices(const option *o);
/* Those of an option of check, likewise. */
char *complete_check_choices(const char *name);

/* The scripts; `operators` ends with NULL. */
void complete_bash(const fc_operator *const *operators);
void complete_zsh(const fc_operator *const *operators);
void complete_fish(const fc_operator *const *operators);

#endif
