/* SPDX-License-Identifier: MIT */
/*
 * complete.h - completion scripts: code shared by the shells.
 */
#ifndef FC_CLI_COMPLETE_H
#define FC_CLI_COMPLETE_H

#include "cli/command.h"

/* Prints what may follow a ':' in a stage, each with the prefix `ahead`: "border=zero" for each choice,
 * "taps=" for other parameters; first bare values of the main parameter, "@sine" for a choice, "@" for a
 * file. */
void complete_params(const fc_operator *op, const char *ahead);
/* Prints all options and commands as shell assignments. */
void complete_lists(void);
/* The known values of an option, separated by blanks; NULL: any. g_free. */
char *complete_choices(const option *o);

/* The scripts; `operators` ends with NULL. */
void complete_zsh(const fc_operator *const *operators);
void complete_fish(const fc_operator *const *operators);

#endif
