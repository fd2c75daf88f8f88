/* SPDX-License-Identifier: MIT */
/*
 * case.h - one case: an operator with parameters on one signal, one backend against the
 * reference.
 */
#ifndef FC_TESTS_OPS_CASE_H
#define FC_TESTS_OPS_CASE_H

#include "tests/ops/layout.h"
#include "tests/ops/stage.h"
#include "tests/ops/trial.h"

typedef struct test_case {
  const fc_operator *op;
  const fc_backend *backend;
  const test_device *device;
  char who[80];                      /* "conv1d on cpu" */
  char *text;                        /* the stage */
  fc_format in;                      /* with its extents and layout */
  fc_format others[MOST_INPUTS - 1]; /* of the inputs that the arguments name */
  int wanted, compute;               /* element types */
  fill fill;
  int layout_in, layout_out;
  guint64 seed; /* of everything random that is left */
} test_case;

typedef enum case_end {
  CASE_RAN,
  CASE_REFUSED,
  CASE_TOO_LARGE, /* for the time that a case should take */
  CASE_FAILED
} case_end;

/* `sentence` is set to why it was refused; g_free. */
case_end case_run(const test_case *c, char **sentence, verdict *v);

/* "conv1d:mask='[1,2]' on cpu: audio u8 -> f32, ..." in full; g_free. */
char *case_describe(const test_case *c);

#endif
