/* SPDX-License-Identifier: MIT */
/* Runs nowhere. */
#include "tests/plugins/minimal.h"

static void spoil(void) {
  backends[0] = 0;
}
