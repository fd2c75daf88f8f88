/* SPDX-License-Identifier: MIT */
/* Needs a function that nobody has; found out when it is loaded, not in the middle of a run. */
#include "tests/plugins/minimal.h"

uint32_t nowhere_to_be_found(void);

static void spoil(void) {
  op.flags = nowhere_to_be_found();
}
