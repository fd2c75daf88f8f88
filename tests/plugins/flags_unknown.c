/* SPDX-License-Identifier: MIT */
/* A promise or demand that this host does not understand. */
#include "tests/plugins/minimal.h"

static void spoil(void) {
  op.flags |= 1u << 12;
}
