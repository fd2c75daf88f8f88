/* SPDX-License-Identifier: MIT */
/*
 * harness.h - all cases of one operator on one backend. Everything is made from the descriptor: a new
 * operator is covered without further tests.
 */
#ifndef FC_CHECK_HARNESS_H
#define FC_CHECK_HARNESS_H

#include <glib.h>

#include "check/case.h"

#define HARNESS_CURRENT 256

typedef struct harness_options {
  guint64 seed;
  double seconds;   /* per operator and backend; every wish is tried, however long that takes */
  guint64 cases;    /* limit if not 0; exact number if `seconds` is 0 */
  double tolerance; /* relative; 0: the defaults */
  gint64 only;      /* only this case, if not negative */
  gboolean verbose;
  FILE *log;                                                        /* NULL: standard output */
  case_end (*run)(const test_case *c, char **sentence, verdict *v); /* NULL: case_run */
  const char *test; /* its name, for running a case again; NULL: none */
  gboolean few;     /* not every wish, example and combination */
  char *current; /* HARNESS_CURRENT bytes, or NULL: how to run the current case again, in case it crashes */
} harness_options;

typedef struct harness_tally {
  guint64 ran, refused, too_large;
  guint combinations, covered; /* of kind, element types and layout */
  guint failures;              /* failed cases; the search stops after a few */
  verdict first;               /* the first failure */
  char again[HARNESS_CURRENT]; /* the options that run the case again */
} harness_tally;

/* Prints what ran, what was refused and why, and the failures with the command to repeat them. */
void harness_run(const fc_operator *op, const fc_backend *backend, const test_device *device,
                 const harness_options *options, harness_tally *tally);

/* Prints a line about the operator: kinds, element types, backends. */
void harness_describe(const fc_operator *op);

#endif
