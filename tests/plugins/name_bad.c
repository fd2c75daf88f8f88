/* SPDX-License-Identifier: MIT */
/* A name that could not be typed as others are. */
#include "tests/plugins/minimal.h"

static void spoil(void) {
  op.name = "Name-Bad";
}
