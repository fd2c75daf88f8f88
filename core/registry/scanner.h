/* SPDX-License-Identifier: MIT */
/*
 * scanner.h - looks at an unknown plugin file in a child process, because opening a
 * shared object runs its constructors.
 *
 * The child is a small program of ours (scan_main.c, filterchain-scan); it opens the
 * file, calls the entry, checks the descriptor and answers through a pipe. A program
 * of its own, spawned, rather than a plain fork: that is safe whatever threads and
 * locks the caller has.
 */
#ifndef FC_CORE_SCANNER_H
#define FC_CORE_SCANNER_H

#include "core/base/error.h"

G_BEGIN_DECLS

/* The child's time to answer, in milliseconds. */
#define FC_SCAN_TIMEOUT_MS 5000
/* The longest line that it answers, on FC_CHILD_ANSWERS. */
#define FC_SCAN_ANSWER_LONGEST 1024

/* TRUE when the file may be opened here; FALSE with the end of a sentence about it:
 * "crashed while being opened (signal 11)". The code is FC_INVALID where the file is unfit by what
 * it says of itself, and FC_IO where it could not be loaded or did not answer, which may be due to what is
 * around it. `helper` is the program to run. */
gboolean fc_scan_plugin(const char *helper, const char *path, GError **error);

G_END_DECLS

#endif
