/* SPDX-License-Identifier: MIT */
/* report.h - what the runs measured: a table for a person, JSON for a program. */
#ifndef FC_CLI_REPORT_H
#define FC_CLI_REPORT_H

#include "cli/json.h"
#include "core/contract/filterchain.h"

#include <stdio.h>

/* One input and where it goes. */
typedef struct outcome {
  const char *input;        /* borrowed; NULL where the chain makes its signal */
  const char *label;        /* for messages: the input, or the operator that makes the signal; borrowed */
  char *output;             /* NULL when there is none */
  char *in_path, *out_path; /* without the options behind them; NULL where there is none */
} outcome;

void outcome_free(outcome *o);

/* Of a batch: how many files, how fast, and which took longest. */
#define SLOWEST_MOST 10
typedef struct totals {
  gint64 done, failed, resumed, bytes;
  double seconds;
  struct {
    char *input;
    double seconds;
  } slowest[SLOWEST_MOST]; /* the slowest first; NULL at the end */
} totals;

/* One that is done. */
void totals_add(totals *t, const char *input, double seconds);
void totals_clear(totals *t);

/* A table a measuring stage: a row a value, a column a channel. `name` heads it, or NULL. */
void report_print(FILE *to, const fc_result *result, const char *name);

/* What became of the files as a JSON document, a file at a time: with what was measured, why it failed, or
 * both; with neither it was passed through. report_end is json_end's text; `t` may be NULL. */
json report_begin(void);
void report_add(json *j, const outcome *o, const fc_result *result, const GError *why);
char *report_end(json *j, const totals *t);

/* Writes a whole file, or leaves what was there: beside the target under another name,
 * and renamed. What is no regular file (/dev/stdout) is written to as it is; "-" is
 * standard output. */
gboolean report_write(const char *path, const char *text, GError **error);

#endif
