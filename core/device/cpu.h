/* SPDX-License-Identifier: MIT */
/* cpu.h - the CPU as a runner; see runner.h. */
#ifndef FC_CORE_CPU_H
#define FC_CORE_CPU_H

#include "core/context/context.h"

G_BEGIN_DECLS

/* `threads` 0 is one a core. Memory and threads are the context's; those are taken at the first loop that
 * wants them. */
fc_runner *fc_cpu_runner_new(int threads, fc_context *context);

G_END_DECLS

#endif
