/* SPDX-License-Identifier: MIT */
/*
 * single.h - the end of each of our plugins: one operator, whose name is the plugin's, and the entry
 * function.
 */
#ifndef FC_PLUGINS_SINGLE_H
#define FC_PLUGINS_SINGLE_H

#include "core/contract/fc_helpers.h"
#include "plugins/state.h"

/* The backends of an operator, the second of them only in a build with CUDA. */
#if FC_HAVE_CUDA
#define BACKENDS(cpu, cuda) FC_BACKENDS(cpu, cuda)
#else
#define BACKENDS(cpu, cuda) FC_BACKENDS(cpu)
#endif

/* `joined_operator`, whose instances do what several stages do (fc_linear.made in plugin.h), with further
 * members. Pixels have up to so many channels where not all matrices can be joined. */
#define JOINED_OPERATOR(of, does, ...)                                                                       \
  static const fc_operator joined_operator = {                                                               \
      .size = sizeof(fc_operator), .name = of, .summary = does, __VA_ARGS__};
#define JOINED_CHANNELS 64

/* The version is the project's, from the build. */
#define SINGLE_OPERATOR_PLUGIN(name, op)                                                                     \
  FC_PLUGIN(name, FC_VERSION, "the filterchain authors", "MIT", "", &(op))

#endif
