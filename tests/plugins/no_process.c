/* SPDX-License-Identifier: MIT */
/* A backend that does nothing. */
#include "tests/plugins/minimal.h"

static void spoil(void) {
  cpu.process = 0;
}
