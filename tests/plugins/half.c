/* SPDX-License-Identifier: MIT */
/* Two operators, of which one is not fit. The other works. */
#include "tests/plugins/minimal.h"

static fc_operator unfit;
static const fc_operator *both[] = {&unfit, &op};

static void spoil(void) {
  unfit = op;
  unfit.name = "other_half";
  unfit.kinds = 0;
  plugin.n_operators = 2;
  plugin.operators = both;
}
