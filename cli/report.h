/* SPDX-License-Identifier: MIT */
/* report.h - prints the measurements of runs: a table for a person, JSON for a program. */
#ifndef FC_CLI_REPORT_H
#define FC_CLI_REPORT_H

#include "cli/json.h"
#include "core/contract/filterchain.h"

#include <stdio.h>

/* One input and its output. */
typedef struct outcome {
  const char *input;        /* borrowed; NULL if the chain generates its signal */
  const char *label;        /* for messages: the input, or the operator that generates the signal; borrowed */
  char *output;             /* NULL when there is none */
  char *in_path, *out_path; /* without options; NULL if there is none */
} outcome;

void outcome_free(outcome *o);

/* For a batch: the number of files, the speed, and the slowest files. */
#define SLOWEST_MOST 10
typedef struct totals {
  gint64 done, failed, failed_earlier, resumed, skipped, bytes; /* failed: also in an earlier run */
  double seconds;
  struct {
    char *input;
    double seconds;
  } slowest[SLOWEST_MOST]; /* the slowest first; NULL at the end */
} totals;

/* Adds a completed file. */
void totals_add(totals *t, const char *input, double seconds);
void totals_clear(totals *t);

/* Prints a table for each measuring stage: a row per value, a column per channel. `name` is its title, or
 * NULL. */
void report_print(FILE *to, const fc_result *result, const char *name);

/* A JSON document of the results, file by file: with measurements, an error, or both; with neither the
 * file was skipped. report_end returns json_end's text; `t` may be NULL. */
json report_begin(void);
void report_add(json *j, const outcome *o, const fc_result *result, const GError *why);
char *report_end(json *j, const totals *t);

/* What has been moved out of memory of a long report: the text ahead of the rest. */
typedef struct spill {
  FILE *file;    /* or NULL */
  gboolean full; /* nothing more is moved: the file has no room, or none could be made */
} spill;

/* Of a report that has become long, moves the text to a file without a name, which is made when it is first
 * needed: the memory of a batch does not grow with its files. */
void report_spill(json *j, spill *to);

/* Writes a file atomically: under a temporary name, then renamed. Files that are not regular (/dev/stdout)
 * are written directly; "-" is standard output. */
gboolean report_write(const char *path, const char *text, gsize size, GError **error);

#endif
