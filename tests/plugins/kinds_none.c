/* SPDX-License-Identifier: MIT */
/* Takes nothing. */
#include "tests/plugins/minimal.h"

static void spoil(void) {
  op.kinds = 0;
}
