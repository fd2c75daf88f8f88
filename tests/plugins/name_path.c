/* SPDX-License-Identifier: MIT */
/* A name that would lead out of a folder. */
#include "tests/plugins/minimal.h"

static void spoil(void) {
  op.name = "../name_path";
}
