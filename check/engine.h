/* SPDX-License-Identifier: MIT */
/*
 * engine.h - an operator run by the library, as users run it: the same bits from one thread as from several,
 * in chunks, in a session, and on a device from a kernel composed at run time as from its own.
 */
#ifndef FC_CHECK_ENGINE_H
#define FC_CHECK_ENGINE_H

#include "check/harness.h"

/* Runs examples and random stages of the operator "plugin id/name" of the plugin file. `device` is "cpu" or
 * "cuda". FALSE with a verdict; `ran` counts stages. */
gboolean engine_run(const char *path, const fc_plugin *plugin, const fc_operator *op, const char *device,
                    const harness_options *options, guint64 *ran, verdict *v);

#endif
