/* SPDX-License-Identifier: MIT */
/*
 * scanner.h - looks at an unknown plugin file in a child process, because opening a
 * shared object runs its constructors.
 *
 * The child is a small program of ours (core/scan_main.c, filterchain-scan), found
 * beside the library or in its folder; it opens the file, calls the entry, checks the
 * descriptor and answers through a pipe. fork + exec (posix_spawn) works whatever
 * threads the caller has. Costs about 2 ms a file.
 */
#ifndef FC_CORE_SCANNER_H
#define FC_CORE_SCANNER_H

#include "core/error.h"

G_BEGIN_DECLS

/* The child's time to answer, in milliseconds. */
#define FC_SCAN_TIMEOUT_MS 5000

/* TRUE when the file may be opened here; FALSE with one sentence why not ("crashed
 * while being opened (signal 11)"). `helper` is the program to run. */
gboolean fc_scan_plugin(const char *helper, const char *path, GError **error);

G_END_DECLS

#endif
