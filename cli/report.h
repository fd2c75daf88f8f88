/* SPDX-License-Identifier: MIT */
/* report.h - what the runs measured: a table for a person, JSON for a program. */
#ifndef FC_CLI_REPORT_H
#define FC_CLI_REPORT_H

#include "core/contract/filterchain.h"

#include <stdio.h>

/* One input and what became of it. */
typedef struct outcome {
  const char *input; /* borrowed; NULL where the chain makes its signal */
  const char *label; /* for messages: the input, or the operator that makes the signal; borrowed */
  char *output;      /* NULL when there is none */
  fc_result *result; /* NULL when it failed */
  GError *error;     /* NULL when it did not */
  char *in_path, *out_path; /* without the options behind them; NULL where there is none */
} outcome;

void outcome_free(outcome *o);

/* A table a measuring stage: a row a value, a column a channel. `name` heads it, or NULL. */
void report_print(FILE *to, const fc_result *result, const char *name);

/* The outcomes as a JSON document; g_free. */
char *report_json(const GPtrArray *outcomes);

/* Writes a whole file, or leaves what was there: beside the target under another name,
 * and renamed. What is no regular file (/dev/stdout) is written to as it is; "-" is
 * standard output. */
gboolean report_write(const char *path, const char *text, GError **error);

#endif
