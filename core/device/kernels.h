/* SPDX-License-Identifier: MIT */
/*
 * kernels.h - the composed kernels of a context: found on disk (kernel_cache.h) or compiled (jit.h) by
 * threads of their own, loaded onto their devices, and kept until the context goes.
 *
 * Nobody waits unless asked to: a caller that finds no kernel yet runs its stages one by one. A text that
 * cannot be compiled, a device that refuses the code, a machine without NVRTC: the reason is told once, for
 * -v.
 */
#ifndef FC_CORE_KERNELS_H
#define FC_CORE_KERNELS_H

#include "core/context/context.h"
#include "core/device/compose.h"

G_BEGIN_DECLS

/* A kernel that there may be: of one text, on one device. */
typedef struct fc_made fc_made;

/* The same for the same text and device; lives as long as the context. Any thread. */
fc_made *fc_kernels_find(fc_context *context, gint32 device, const char *text);

/* What fc_runner.launch takes; NULL: not there (yet). Any thread. */
void *fc_made_kernel(const fc_made *made);

/* Has it looked for on disk, and compiled where it is not there, or both left alone that were done before.
 * `wait`: until that has come to an end. Any thread; not under a lock that others need. */
void fc_made_want(fc_made *made, gboolean compile, gboolean wait);

/* So many bytes went through memory for want of it. TRUE once that is what compiling it is worth, whoever's
 * they were. Any thread. */
gboolean fc_made_missed(fc_made *made, gint64 bytes);

/* How many kernels have been loaded so far: where that has changed, work may be done by others than before.
 */
guint fc_kernels_loaded(fc_context *context);

/* The child's program and the compiler instead of those found; for tests, before the first wish. */
void fc_kernels_set_compiler(fc_context *context, const char *helper, const char *compiler);

G_END_DECLS

#endif
