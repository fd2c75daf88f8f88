/* SPDX-License-Identifier: MIT */
/*
 * suite.h - the tests of a plugin file, each in its own process with a time limit, so that a crash, a hang or
 * an exit fails only that test.
 */
#ifndef FC_CHECK_SUITE_H
#define FC_CHECK_SUITE_H

#include "check/harness.h"

typedef struct check_options {
  harness_options harness;
  const char *op, *backend, *test; /* only these; NULL: all */
  double timeout;                  /* seconds per test */
  gboolean in_process;             /* for a debugger: no processes, no time limit */
  gboolean keep_going;             /* continue after a failed test */
} check_options;

typedef enum check_status {
  CHECK_PASSED,
  CHECK_FAILED,
  CHECK_SKIPPED,
  CHECK_EXCLUDED,
  CHECK_STATUSES
} check_status;

/* The outcome of one test. `op` and `backend` are NULL if it concerns the whole file or the whole
 * operator. */
typedef struct check_outcome {
  const char *path, *op, *backend, *test;
  check_status status;
  fault_kind fault;  /* of a failure */
  const char *text;  /* what is wrong; why it was skipped or excluded; what was tested */
  const char *again; /* options that repeat the failure; "" */
} check_outcome;

typedef void (*check_report)(const check_outcome *o, void *data);

/* All tests of a file, in order, each told of as it ends; whether it has the operator that was asked for. */
gboolean check_file(const char *path, const check_options *options, check_report report, void *data);

/* The names of all tests, with what each tests; ends with NULL. */
typedef struct check_test {
  const char *name, *summary;
} check_test;
extern const check_test check_tests[];
gboolean check_is_test(const char *name);

#endif
