/* SPDX-License-Identifier: MIT */
/* Ends the process while it is being loaded - with success, which must not pass for one. */
#include "tests/plugins/minimal.h"

#include <stdlib.h>

__attribute__((constructor)) static void at_load(void) {
  exit(0);
}

static void spoil(void) {}
