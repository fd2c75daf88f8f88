/* SPDX-License-Identifier: MIT */
/* A type of parameter that this host does not know. */
#include "tests/plugins/minimal.h"

static void spoil(void) {
  second.type = 99;
}
