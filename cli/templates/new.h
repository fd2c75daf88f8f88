/* SPDX-License-Identifier: MIT */
/*
 * new.h - the texts that `filterchain new` writes, from cli/templates.
 *
 * @NAME@ is the operator, @UPPER@ the same in capitals, @LANG@ "c" or "cpp", @EXT@ its files' ending, @YEAR@
 * this year. Lines from "@if WORD" or "@if !WORD" to "@end" are kept if WORD - c, cxx, cuda - applies, or
 * does not.
 */
#ifndef FC_CLI_NEW_H
#define FC_CLI_NEW_H

typedef struct new_template {
  const char *name, *text;
} new_template;

/* Ends with a NULL name. */
extern const new_template new_templates[];

#endif
