/* SPDX-License-Identifier: MIT */
/* Never returns from being loaded. */
#include "tests/plugins/minimal.h"

#include <unistd.h>

__attribute__((constructor)) static void at_load(void) {
  while (1) pause();
}

static void spoil(void) {}
