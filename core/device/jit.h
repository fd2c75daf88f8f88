/* SPDX-License-Identifier: MIT */
/*
 * jit.h - CUDA text to machine code by NVRTC, in a child process: filterchain-jit (jit_main.c).
 *
 * A child, because NVRTC calls setrlimit for its whole process, takes 110 MB of it, and may crash on what a
 * plugin wrote; and because some texts never finish compiling. NVRTC is the user's: part of the CUDA Toolkit,
 * of PyTorch and of Debian's libnvrtc. It is loaded by the child alone; here only its file is looked for. No
 * device is needed.
 */
#ifndef FC_CORE_JIT_H
#define FC_CORE_JIT_H

#include "core/device/compose.h"

G_BEGIN_DECLS

/* The child's time for a text, in milliseconds; half a second is much. */
#define FC_JIT_TIMEOUT_MS 20000

/* The newest libnvrtc there is: $FILTERCHAIN_NVRTC, else in $LD_LIBRARY_PATH, $CUDA_PATH, $CUDA_HOME and
 * where CUDA and distributions put it. NULL: none. g_free. */
char *fc_jit_find_compiler(void);

/* What the compiler in this file is, for keys of what it makes: its real path, size and time. g_free. */
char *fc_jit_identity(const char *compiler);

/*
 * Compiles `text` for compute capability major.minor; the machine code (a cubin), or NULL: FC_INVALID with
 * what the compiler said where the text is at fault, FC_UNSUPPORTED where there is no such compiler or it
 * does not know the chip, FC_IO where it crashed or took too long. `helper` is the child's program;
 * `timeout_ms` 0 is the usual one; `stop`, read atomically, ends it early (FC_IO), or NULL. Any thread;
 * several at once are as fast as one.
 */
GBytes *fc_jit_compile(const char *helper, const char *compiler, int major, int minor, const char *text,
                       int timeout_ms, const gint *stop, GError **error);

/* The options that a text is compiled with, ends with NULL; the chip's comes besides. Part of keys too. */
extern const char *const fc_jit_options[];

/* ---- between parent and child ------------------------------------------------ */

/* The child reads on descriptor 0 and answers on FC_CHILD_ANSWERS; both ways a kind, a length in decimal, a
 * newline and so many bytes. */
#define FC_JIT_LONGEST (64 << 20) /* of a part */

G_END_DECLS

#endif
