/* SPDX-License-Identifier: MIT */
/*
 * complete.h - completion scripts: what those for several shells share.
 */
#ifndef FC_CLI_COMPLETE_H
#define FC_CLI_COMPLETE_H

#include "cli/command.h"

/* What may follow a ':' of a stage, each with `ahead` before it: "border=zero" for each choice, "taps=" for
 * the rest; first bare values of the main parameter, "@sine" for a choice, "@" for a file. */
void complete_params(const fc_operator *op, const char *ahead);
/* Assignments of all options and all commands, as shells write them. */
void complete_lists(void);
/* The values of an option that are known, apart by blanks; NULL: any. g_free. */
char *complete_choices(const option *o);

/* The scripts; `operators` ends with NULL. */
void complete_zsh(const fc_operator *const *operators);
void complete_fish(const fc_operator *const *operators);

#endif
