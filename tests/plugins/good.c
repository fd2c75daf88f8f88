/* SPDX-License-Identifier: MIT */
/* Nothing wrong. */
#include "tests/plugins/minimal.h"

static void spoil(void) {}
