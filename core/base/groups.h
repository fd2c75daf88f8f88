/* SPDX-License-Identifier: MIT */
/*
 * groups.h - what the control groups of the process (a container's, a service's) let it have, by version 2 or
 * 1 of the kernel's files. What cannot be read is no limit.
 */
#ifndef FC_CORE_GROUPS_H
#define FC_CORE_GROUPS_H

#include <glib.h>

G_BEGIN_DECLS

/* `root` is put ahead of /proc and /sys: "", or a folder of a test's. */

/* Bytes of memory; G_MAXSIZE: any. */
gsize fc_groups_memory(const char *root);
/* Processors whose whole time it may use, a part of one counted as one; G_MAXINT: any. */
int fc_groups_processors(const char *root);

G_END_DECLS

#endif
