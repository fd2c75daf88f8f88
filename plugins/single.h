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
#define BACKENDS(cpu, cuda) FC_BACKENDS(cpu, cuda)
#else
#define BACKENDS(cpu, cuda) FC_BACKENDS(cpu)
#endif

/* The version is the project's, from the build. */
#define SINGLE_OPERATOR_PLUGIN(name, op)                                                                     \
  FC_PLUGIN(name, FC_VERSION, "the filterchain authors", "MIT", "", &(op))

#endif
