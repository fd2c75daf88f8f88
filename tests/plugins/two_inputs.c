/* SPDX-License-Identifier: MIT */
/* Needs what version 1 cannot do. */
#include "tests/plugins/minimal.h"

static void spoil(void) {
  op.n_in = 2;
}
