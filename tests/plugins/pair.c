/* SPDX-License-Identifier: MIT */
/* Two operators, one of which good.c defines too. */
#include "tests/plugins/minimal.h"

static fc_operator twin;
static const fc_operator *both[] = {&op, &twin};

static void spoil(void) {
  twin = op;
  twin.name = "good";
  plugin.n_operators = 2;
  plugin.operators = both;
}
