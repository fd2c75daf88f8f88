/* SPDX-License-Identifier: MIT */
/* Two parameters of one name. */
#include "tests/plugins/minimal.h"

static void spoil(void) {
  second.name = "amount";
}
