/* SPDX-License-Identifier: MIT */
/*
 * single.h - the end of each of our own plugins: one operator, which gives the plugin its
 * name, and the entry that hands it out.
 */
#ifndef FC_PLUGINS_SINGLE_H
#define FC_PLUGINS_SINGLE_H

#include "core/contract/fc_helpers.h"

/* The backends of an operator, the second of them where CUDA is built. */
#if FC_HAVE_CUDA
#define BACKENDS(cpu, cuda) FC_STATIC_LIST(fc_backend, &(cpu), &(cuda), NULL)
#else
#define BACKENDS(cpu, cuda) FC_STATIC_LIST(fc_backend, &(cpu), NULL)
#endif

/* The version is the project's, from the build. */
#define SINGLE_OPERATOR_PLUGIN(name, op)                                                                     \
  static const fc_operator *const operators[] = {&(op)};                                                     \
  static const fc_plugin plugin = {                                                                          \
      .size = sizeof(fc_plugin),                                                                             \
      .abi = FC_PLUGIN_ABI,                                                                                  \
      .id = name,                                                                                            \
      .version = FC_VERSION,                                                                                 \
      .author = "the filterchain authors",                                                                   \
      .license = "MIT",                                                                                      \
      .url = "",                                                                                             \
      .n_operators = 1,                                                                                      \
      .operators = operators,                                                                                \
  };                                                                                                         \
  const fc_plugin *fc_plugin_entry_v1(void) {                                                                \
    return &plugin;                                                                                          \
  }

#endif
