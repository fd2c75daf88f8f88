/* SPDX-License-Identifier: MIT */
/*
 * kernel_cache.h - composed kernels, compiled once for all runs: $XDG_CACHE_HOME/filterchain/kernels/KEY.
 *
 * KEY is the SHA-256 of everything that the machine code depends on: the text, the headers that it includes,
 * the compiler's options, the chip and which compiler it is. So what changes has another key, and no entry is
 * ever stale. A file is a digest, the key and the code (12 to 40 KB).
 *
 * What is read is run on the device, so it counts only where nobody but this user can have written it
 * (core/base/private_files.h). Anything else - missing, cut off, damaged, of another layout - is no entry,
 * and nothing here fails. Above FC_KERNEL_CACHE_MOST bytes the oldest go. FILTERCHAIN_NO_CACHE=1 does
 * without.
 */
#ifndef FC_CORE_KERNEL_CACHE_H
#define FC_CORE_KERNEL_CACHE_H

#include "core/device/jit.h"

G_BEGIN_DECLS

#define FC_KERNEL_CACHE_MOST ((goffset)64 << 20)

/* g_free. `identity` is fc_jit_identity's. */
char *fc_kernel_cache_key(const char *identity, int major, int minor, const char *text);

/* NULL: it is not there. A `folder` of NULL holds nothing. */
GBytes *fc_kernel_cache_read(const char *folder, const char *key);
void fc_kernel_cache_write(const char *folder, const char *key, GBytes *code);
void fc_kernel_cache_forget(const char *folder, const char *key);

/* What makes kernels. `compiler` is as fc_jit_find_compiler has it: entries made by a compiler that is gone
 * are out of reach. */
typedef struct fc_kernel_maker {
  const char *helper, *compiler, *folder; /* the last two may be NULL: there is none */
  const gint *stop;                       /* of jit.h; may be NULL */
} fc_kernel_maker;

/*
 * The machine code of a text: out of the cache, which `hit` tells, or compiled (jit.h, whose errors are
 * handed on) and put there. Where not to `compile`, NULL without an error: it is not in the cache. Any
 * thread.
 */
GBytes *fc_kernel_make(const fc_kernel_maker *by, int major, int minor, const char *text, gboolean compile,
                       gboolean *hit, GError **error);
/* Of code that a driver refused. */
void fc_kernel_forget(const fc_kernel_maker *by, int major, int minor, const char *text);

G_END_DECLS

#endif
