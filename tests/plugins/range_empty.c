/* SPDX-License-Identifier: MIT */
/* A range that nothing lies in. */
#include "tests/plugins/minimal.h"

static void spoil(void) {
  limits.min = 11;
}
