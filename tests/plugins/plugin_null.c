/* SPDX-License-Identifier: MIT */
/* Describes nothing. */
#include "core/plugin.h"

const fc_plugin *fc_plugin_entry_v1(void) {
  return 0;
}
