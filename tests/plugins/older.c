/* SPDX-License-Identifier: MIT */
/* Built against an earlier minor version, whose structs were shorter. What lies behind
 * them is not theirs: poison, which a host that ignores sizes would follow. Works. */
#include "tests/plugins/minimal.h"

#include <stddef.h>

static void spoil(void) {
  op.size = offsetof(fc_operator, reset);
  memset((char *)&op + op.size, 0xa5, sizeof op - op.size);
  amount.size = offsetof(fc_param, limits);
  memset((char *)&amount + amount.size, 0xa5, sizeof amount - amount.size);
}
