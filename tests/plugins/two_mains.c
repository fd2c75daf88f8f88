/* SPDX-License-Identifier: MIT */
/* Two parameters that a bare value would belong to. */
#include "tests/plugins/minimal.h"

static void spoil(void) {
  second.flags = FC_PARAM_MAIN;
}
