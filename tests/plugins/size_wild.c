/* SPDX-License-Identifier: MIT */
/* A size that no struct has: uninitialised memory, or something else behind the symbol. */
#include "tests/plugins/minimal.h"

static void spoil(void) {
  plugin.size = 0xfffffff0u;
}
