/* SPDX-License-Identifier: MIT */
/* Announces an operator and has none. */
#include "tests/plugins/minimal.h"

static void spoil(void) {
  plugin.operators = 0;
}
