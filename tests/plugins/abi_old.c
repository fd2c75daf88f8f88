/* SPDX-License-Identifier: MIT */
/* Made for another version of the contract, behind the right symbol. */
#include "tests/plugins/minimal.h"

static void spoil(void) {
  plugin.abi = 0;
}
