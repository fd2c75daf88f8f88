/* SPDX-License-Identifier: MIT */
/* Crashes while it is being loaded. */
#include "tests/plugins/minimal.h"

#include <signal.h>

__attribute__((constructor)) static void at_load(void) {
  raise(SIGSEGV);
}

static void spoil(void) {}
