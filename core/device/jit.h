/* SPDX-License-Identifier: MIT */
/*
 * jit.h - CUDA text to machine code by NVRTC, in a child process: filterchain-jit (jit_main.c).
 *
 * In a child, because NVRTC calls setrlimit for its whole process, takes 110 MB, may crash on a plugin's
 * text, and does not finish compiling some texts. NVRTC must be installed: it is part of the CUDA Toolkit, of
 * PyTorch and of Debian's libnvrtc. Only the child loads it; the parent only looks for its file. No device is
 * needed. A kernel whose registers leave too little room for others is compiled again, with a bound.
 */
#ifndef FC_CORE_JIT_H
#define FC_CORE_JIT_H

#include "core/compose/compose.h"

G_BEGIN_DECLS

/* Limit on the child's time for a text, in milliseconds; usually it takes less than half a second. */
#define FC_JIT_TIMEOUT_MS 20000

/* The newest libnvrtc found: $FILTERCHAIN_NVRTC, else in $LD_LIBRARY_PATH, $CUDA_PATH, $CUDA_HOME and the
 * usual folders of CUDA and distributions. NULL: none. g_free. */
char *fc_jit_find_compiler(void);

/* Identifies the compiler in this file, for cache keys: its real path, size and time. g_free. */
char *fc_jit_identity(const char *compiler);

/*
 * Compiles `text` for compute capability major.minor; the machine code (a cubin), or NULL: FC_INVALID with
 * the compiler's message where the text is wrong, FC_UNSUPPORTED where the compiler is missing or does not
 * know the chip, FC_IO where it crashed or took too long. `helper` is the child's program; `timeout_ms` 0 is
 * the default; `stop`, read atomically, ends it early (FC_IO), or NULL. Any thread; several can run at once
 * without slowing each other.
 */
GBytes *fc_jit_compile(const char *helper, const char *compiler, int major, int minor, const char *text,
                       int timeout_ms, const gint *stop, GError **error);

/* Compiler options, ends with NULL; the chip's option is added. Also part of cache keys. */
extern const char *const fc_jit_options[];

/* ---- between parent and child ------------------------------------------------ */

/* The child reads from descriptor 0 and answers on FC_CHILD_ANSWERS. Parts in both directions: a kind, a
 * length in decimal, a newline and that many bytes. */
#define FC_JIT_LONGEST (64 << 20) /* limit of a part */

G_END_DECLS

#endif
