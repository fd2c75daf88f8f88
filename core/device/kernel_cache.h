/* SPDX-License-Identifier: MIT */
/*
 * kernel_cache.h - composed kernels, compiled once for all runs: $XDG_CACHE_HOME/filterchain/kernels/KEY.
 *
 * KEY is the SHA-256 of everything that the machine code depends on: the text, the headers that it includes,
 * the compiler's options, the chip and which compiler it is. So what changes has another key, and no entry is
 * ever stale. A file is a digest, the key and the code (12 to 40 KB).
 *
 * The code is run on the device, so a file is used only if nobody but this user can have written it
 * (core/base/private_files.h). Anything else - missing, truncated, damaged, of another layout - counts as
 * missing; no error is reported. Above FC_KERNEL_CACHE_MOST bytes the oldest entries are removed.
 * FILTERCHAIN_NO_CACHE=1 turns the cache off.
 */
#ifndef FC_CORE_KERNEL_CACHE_H
#define FC_CORE_KERNEL_CACHE_H

#include "core/device/jit.h"

G_BEGIN_DECLS

#define FC_KERNEL_CACHE_MOST ((goffset)64 << 20)

/* g_free. `identity` is fc_jit_identity's. */
char *fc_kernel_cache_key(const char *identity, int major, int minor, const char *text);

/* NULL: not in the cache. A `folder` of NULL is an empty cache. */
GBytes *fc_kernel_cache_read(const char *folder, const char *key);
void fc_kernel_cache_write(const char *folder, const char *key, GBytes *code);
gboolean fc_kernel_cache_forget(const char *folder, const char *key);

/* What makes kernels. `compiler` is from fc_jit_find_compiler: entries made by a compiler that is no
 * longer installed are not used. */
typedef struct fc_kernel_maker {
  const char *helper, *compiler, *folder; /* the last two may be NULL: none */
  const char *prebuilt;                   /* archives of kernels built ahead, without "sm_90"; NULL: none */
  const gint *stop;                       /* as in jit.h; may be NULL */
} fc_kernel_maker;

typedef enum fc_kernel_origin { FC_KERNEL_COMPILED, FC_KERNEL_CACHED, FC_KERNEL_PREBUILT } fc_kernel_origin;

/* The key of a kernel built ahead (core/prebuilt): the compiler is the build's, whichever that was. g_free.
 */
char *fc_kernel_prebuilt_key(int major, int minor, const char *text);

/*
 * The machine code of a text: built ahead, from the cache, or compiled (jit.h, whose errors are returned)
 * and stored there; `origin` says which. Without `compile`, NULL without an error if there is none yet. Any
 * thread.
 */
GBytes *fc_kernel_make(const fc_kernel_maker *by, int major, int minor, const char *text, gboolean compile,
                       fc_kernel_origin *origin, GError **error);
/* Removes code that a driver refused from the cache; FALSE: it is still there. */
gboolean fc_kernel_forget(const fc_kernel_maker *by, int major, int minor, const char *text);

G_END_DECLS

#endif
