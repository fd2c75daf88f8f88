/* SPDX-License-Identifier: MIT */
/*
 * groups.h - limits of memory and processors that control groups (of a container, of a service) set for this
 * process, by version 2 or 1 of the kernel's files. A limit that cannot be read counts as no limit.
 */
#ifndef FC_CORE_GROUPS_H
#define FC_CORE_GROUPS_H

#include <glib.h>

G_BEGIN_DECLS

/* `root` is prepended to /proc and /sys: "", or a folder of a test. */

/* Bytes of memory; G_MAXSIZE: no limit. */
gsize fc_groups_memory(const char *root);
/* Processors by CPU time, rounded up; G_MAXINT: no limit. */
int fc_groups_processors(const char *root);

G_END_DECLS

#endif
