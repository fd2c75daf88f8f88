/* SPDX-License-Identifier: MIT */
/* A plugin of the next ABI: all that this host may see of it is the symbol's name. */
__attribute__((visibility("default"))) const void *fc_plugin_entry_v2(void);

const void *fc_plugin_entry_v2(void) {
  static const unsigned struct_of_another_layout[64] = {2};
  return struct_of_another_layout;
}
