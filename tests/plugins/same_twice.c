/* SPDX-License-Identifier: MIT */
/* Two operators of one name in one plugin. */
#include "tests/plugins/minimal.h"

static const fc_operator *both[] = {&op, &op};

static void spoil(void) {
  plugin.n_operators = 2;
  plugin.operators = both;
}
