/* SPDX-License-Identifier: MIT */
/* Describes nothing. */
#include "core/contract/plugin.h"

const fc_plugin *fc_plugin_entry_v1(void) {
  return 0;
}
