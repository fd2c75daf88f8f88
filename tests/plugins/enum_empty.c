/* SPDX-License-Identifier: MIT */
/* A choice between nothing. */
#include "tests/plugins/minimal.h"

static void spoil(void) {
  second.type = FC_ENUM;
}
