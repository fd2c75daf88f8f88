/* SPDX-License-Identifier: MIT */
/*
 * kernel.h - loads, launches and unloads the machine code of a composed kernel on the current CUDA device.
 * Only in a build with CUDA; the driver is reached through the runtime, so that the program also starts where
 * there is no driver.
 */
#ifndef FC_CORE_KERNEL_H
#define FC_CORE_KERNEL_H

#include "core/compose/compose.h"

G_BEGIN_DECLS

typedef struct fc_kernel fc_kernel;

/* Copies the code to the device; 0.2 to 0.5 ms. FC_UNSUPPORTED where the driver refuses it (damaged cache,
 * other chip). Not during a stream's capture. */
fc_kernel *fc_kernel_load(GBytes *code, GError **error);

/* Not while a launch is in progress; NULL is allowed. */
void fc_kernel_unload(fc_kernel *kernel);

/* Enqueues `composed`, whose text the kernel was compiled from, on `stream` (a cudaStream_t); can be
 * captured. */
fc_status fc_kernel_launch(const fc_kernel *kernel, const fc_composed *composed, void *stream);

/* Blocks that a multiprocessor runs at a time; 0: not known. */
guint fc_kernel_resident(const fc_kernel *kernel);

/* Compute capability and multiprocessors of the current device, for fc_jit_compile and fc_compose_map. */
fc_status fc_kernel_device(int *major, int *minor, guint *processors);

G_END_DECLS

#endif
