/* SPDX-License-Identifier: MIT */
/* cpu.h - the CPU as a runner; see runner.h. */
#ifndef FC_CORE_CPU_H
#define FC_CORE_CPU_H

#include "core/context/context.h"

G_BEGIN_DECLS

/* `threads` 0: one per core. Memory and threads belong to the context; threads are taken by the first loop
 * that needs them. */
fc_runner *fc_cpu_runner_new(int threads, fc_context *context);

G_END_DECLS

#endif
