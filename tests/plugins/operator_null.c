/* SPDX-License-Identifier: MIT */
/* A hole in the list of operators. */
#include "tests/plugins/minimal.h"

static void spoil(void) {
  operators[0] = 0;
}
