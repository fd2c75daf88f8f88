/* SPDX-License-Identifier: MIT */
/*
 * scanner.h - checks an unknown plugin file in a child process, because opening a shared object runs its
 * constructors.
 *
 * The child is a small program of ours (scan_main.c, filterchain-scan); it opens the file, calls the entry,
 * checks the descriptor and answers through a pipe. A separate program, spawned, rather than a plain fork:
 * that is safe with any threads and locks in the caller.
 */
#ifndef FC_CORE_SCANNER_H
#define FC_CORE_SCANNER_H

#include "core/base/error.h"

G_BEGIN_DECLS

/* Time limit of the child, in milliseconds. */
#define FC_SCAN_TIMEOUT_MS 5000
/* Maximum length of a line of its answer, on FC_CHILD_ANSWERS. */
#define FC_SCAN_ANSWER_LONGEST 1024

/* TRUE when the file may be opened here; FALSE with the end of a sentence about it: "crashed while being
 * opened (signal 11)". The code is FC_INVALID if the file's content is invalid, and FC_IO if it could not
 * be loaded or did not answer, which may have other causes. `helper` is the program to run. */
gboolean fc_scan_plugin(const char *helper, const char *path, GError **error);

G_END_DECLS

#endif
