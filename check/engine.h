/* SPDX-License-Identifier: MIT */
/*
 * engine.h - runs an operator through the library, as users do: the bits must be the same from one thread and
 * from several, in chunks, in a session, and on a device from a kernel composed at run time and from its own.
 */
#ifndef FC_CHECK_ENGINE_H
#define FC_CHECK_ENGINE_H

#include "check/harness.h"

/* Runs examples and random stages of the operator "plugin id/name" of the plugin file. `device` is "cpu" or
 * "cuda". FALSE with a verdict; `ran` counts stages. */
gboolean engine_run(const char *path, const fc_plugin *plugin, const fc_operator *op, const char *device,
                    const harness_options *options, guint64 *ran, verdict *v);

#endif
