/* SPDX-License-Identifier: MIT */
/* A hole in the list of parameters. */
#include "tests/plugins/minimal.h"

static void spoil(void) {
  params[1] = 0;
}
