/* SPDX-License-Identifier: MIT */
/* cpu.h - the CPU as a runner; see runner.h. */
#ifndef FC_CORE_CPU_H
#define FC_CORE_CPU_H

#include "core/base/frame.h"
#include "core/device/runner.h"

G_BEGIN_DECLS

/* `threads` 0 is one a core. Takes a reference of `frames`. Starts no thread yet. */
fc_runner *fc_cpu_runner_new(int threads, fc_frame_pool *frames);

G_END_DECLS

#endif
