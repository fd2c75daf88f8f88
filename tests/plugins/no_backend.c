/* SPDX-License-Identifier: MIT */
/* Runs nowhere. */
#include "tests/plugins/minimal.h"

static void spoil(void) {
  op.cpu = 0;
}
