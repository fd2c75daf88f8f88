/* SPDX-License-Identifier: MIT */
/* Does not say who it is. */
#include "tests/plugins/minimal.h"

static void spoil(void) {
  plugin.id = 0;
}
