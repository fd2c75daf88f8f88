/* SPDX-License-Identifier: MIT */
/* Made for the next major version. */
__attribute__((visibility("default"))) const void *fc_plugin_entry_v2(void);

const void *fc_plugin_entry_v2(void) {
  return 0;
}
