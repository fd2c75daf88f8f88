/* SPDX-License-Identifier: MIT */
/*
 * suite.h - the tests of a plugin file: which there are, and each in a process of its own with a time limit,
 * so that a crash, a hang or an exit is that test's failure and no more.
 */
#ifndef FC_CHECK_SUITE_H
#define FC_CHECK_SUITE_H

#include "check/harness.h"

typedef struct check_options {
  harness_options harness;
  const char *op, *backend, *test; /* only these; NULL: all */
  double timeout;                  /* seconds, of each test */
  gboolean in_process;             /* for a debugger: no processes, no time limit */
  gboolean keep_going;             /* also behind a test that failed */
} check_options;

typedef enum check_status {
  CHECK_PASSED,
  CHECK_FAILED,
  CHECK_SKIPPED,
  CHECK_EXCLUDED,
  CHECK_STATUSES
} check_status;

/* What came of one test. `op` and `backend` are NULL where it is of the whole file, or of the whole operator.
 */
typedef struct check_outcome {
  const char *path, *op, *backend, *test;
  check_status status;
  fault_kind fault;  /* of a failure */
  const char *text;  /* what is wrong; why it was skipped or excluded; what was looked at */
  const char *again; /* options that run what failed again; "" */
} check_outcome;

typedef void (*check_report)(const check_outcome *o, void *data);

/* All tests of a file, in order, each told of as it ends; whether it has the operator that was asked for. */
gboolean check_file(const char *path, const check_options *options, check_report report, void *data);

/* The names of all tests, with what each looks at; ends with NULL. */
typedef struct check_test {
  const char *name, *summary;
} check_test;
extern const check_test check_tests[];

#endif
