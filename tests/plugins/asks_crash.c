/* SPDX-License-Identifier: MIT */
/* Crashes in its entry. */
#include "tests/plugins/minimal.h"

#include <signal.h>

static void spoil(void) {
  raise(SIGSEGV);
}
