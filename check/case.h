/* SPDX-License-Identifier: MIT */
/*
 * case.h - one case: an operator with parameters on one signal, on one backend, compared with the reference.
 */
#ifndef FC_CHECK_CASE_H
#define FC_CHECK_CASE_H

#include "check/layout.h"
#include "check/stage.h"
#include "check/trial.h"

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
  double tolerance; /* 0: the default */
  guint64 seed;     /* of all other random choices */
} test_case;

typedef enum case_end {
  CASE_RAN,
  CASE_REFUSED,
  CASE_TOO_LARGE, /* to keep the time of a case within limits */
  CASE_FAILED
} case_end;

/* `sentence` is set to the reason of a refusal; g_free. */
case_end case_run(const test_case *c, char **sentence, verdict *v);

/* The ingredients of a case: arguments, formats, signals. */
typedef struct case_setting {
  const test_case *c;
  fc_args *args;
  fc_format ins[MOST_INPUTS]; /* those of the case, in order */
  source signals[MOST_INPUTS];
  dice d;
} case_setting;

/* FALSE: the arguments are refused. Otherwise call case_clear. */
gboolean case_set(case_setting *s, const test_case *c, char **sentence);
/* Creates and prepares an instance: CASE_RAN, or why not. trial_finish in either case. */
case_end case_start(case_setting *s, trial *t, char **sentence, verdict *v);
/* Makes the signals, once. */
void case_fill(case_setting *s, const trial *t);
void case_clear(case_setting *s);

/* The whole case in words: "conv1d:mask='[1,2]' on cpu: audio u8 -> f32, ..."; g_free. */
char *case_describe(const test_case *c);

#endif
