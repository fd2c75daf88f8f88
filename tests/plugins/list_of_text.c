/* SPDX-License-Identifier: MIT */
/* A list of what cannot be listed. */
#include "tests/plugins/minimal.h"

static void spoil(void) {
  second.type = FC_STRING, second.flags = FC_PARAM_LIST;
}
