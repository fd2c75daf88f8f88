/* SPDX-License-Identifier: MIT */
/* A preset that its own range forbids. */
#include "tests/plugins/minimal.h"

static void spoil(void) {
  amount.preset = "11";
}
