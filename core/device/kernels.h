/* SPDX-License-Identifier: MIT */
/*
 * kernels.h - the composed kernels of a context: built ahead (core/prebuilt), found on disk (kernel_cache.h)
 * or compiled (jit.h) by background threads, loaded onto their devices, and kept until the context is freed.
 * Of each the origin is logged for -v.
 *
 * Nobody waits unless asked to: a run that finds no kernel yet executes its stages one by one. The reason is
 * logged for -v: of each text that has errors, and once if a device refuses the code, or there is no NVRTC.
 */
#ifndef FC_CORE_KERNELS_H
#define FC_CORE_KERNELS_H

#include "core/context/context.h"
#include "core/compose/compose.h"

G_BEGIN_DECLS

/* A possible kernel: of one text, on one device. */
typedef struct fc_made fc_made;

/* The entry for this text and device, always the same one; lives as long as the context. `name` is for
 * messages. Any thread. */
fc_made *fc_kernels_find(fc_context *context, gint32 device, const char *name, const char *text);

/* The kernel for fc_runner.launch; NULL: not available (yet). Any thread. */
void *fc_made_kernel(const fc_made *made);

/* Starts to look for it on disk and, with `compile`, to compile it if it is not there, unless that was
 * done before. `wait`: until that has ended. Any thread; not with a lock held that others need. */
void fc_made_want(fc_made *made, gboolean compile, gboolean wait);

/* Counts bytes that went through memory because the kernel was missing. TRUE once compiling it is worth
 * the time. Any thread. */
gboolean fc_made_missed(fc_made *made, gint64 bytes);

/* Whether this context's driver can load kernels; whether one of this text is built ahead or in the cache,
 * for any kind of chip; whether there is a compiler. No device is touched. */
gboolean fc_kernels_possible(const fc_context *context);
gboolean fc_kernels_have(fc_context *context, const char *text);
gboolean fc_kernels_can_compile(fc_context *context);

/* The number of kernels loaded so far: when it changes, a captured graph may be out of date. */
guint fc_kernels_loaded(fc_context *context);

/* Replaces the child's program, the compiler and the kernels built ahead that would be found; for tests,
 * before the first request. */
void fc_kernels_set_compiler(fc_context *context, const char *helper, const char *compiler,
                             const char *prebuilt);

G_END_DECLS

#endif
