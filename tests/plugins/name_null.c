/* SPDX-License-Identifier: MIT */
/* An operator without a name. */
#include "tests/plugins/minimal.h"

static void spoil(void) {
  op.name = 0;
}
