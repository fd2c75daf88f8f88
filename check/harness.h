/* SPDX-License-Identifier: MIT */
/*
 * harness.h - all the cases of one operator on one backend. Everything is made from the
 * descriptor: a new operator is covered by existing.
 */
#ifndef FC_CHECK_HARNESS_H
#define FC_CHECK_HARNESS_H

#include <glib.h>

#include "check/case.h"

#define HARNESS_CURRENT 256

typedef struct harness_options {
  guint64 seed;
  double seconds;   /* an operator and backend; every wish is tried whatever that takes */
  guint64 cases;    /* no more than that, if not 0; exactly as many where `seconds` is 0 */
  double tolerance; /* relative; 0: the usual ones */
  gint64 only;      /* just this case, if not negative */
  gboolean verbose;
  FILE *log;                                                        /* NULL: standard output */
  case_end (*run)(const test_case *c, char **sentence, verdict *v); /* NULL: case_run */
  const char *test; /* its name, for how to run a case again; NULL: none */
  gboolean few;     /* not every wish, example and combination */
  char *current;    /* HARNESS_CURRENT bytes, or NULL: how to run the case in hand again, should it crash */
} harness_options;

typedef struct harness_tally {
  guint64 ran, refused, too_large;
  guint combinations, covered; /* of kind, element types and layout */
  guint failures;              /* cases; no more than a few are looked for */
  verdict first;               /* the first failure */
  char again[HARNESS_CURRENT]; /* the options that run it again */
} harness_tally;

/* Prints what ran, what was refused and why, and what failed with how to run it again. */
void harness_run(const fc_operator *op, const fc_backend *backend, const test_device *device,
                 const harness_options *options, harness_tally *tally);

/* A line about the operator: kinds, element types, backends. */
void harness_describe(const fc_operator *op);

#endif
