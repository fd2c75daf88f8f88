/* SPDX-License-Identifier: MIT */
/* A summary that would break every list it stands in. */
#include "tests/plugins/minimal.h"

static void spoil(void) {
  op.summary = "two\nlines";
}
