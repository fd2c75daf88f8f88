/* SPDX-License-Identifier: MIT */
/*
 * budget.h - limits of memory and processors: of the machine, of the process's address space, and of its
 * control groups (of a container, of a service), by version 2 or 1 of the kernel's files.
 *
 * A chain or a file header can ask for any amount, and Linux grants more than it has: instead of an
 * allocation failing, some process is killed later. So there is a limit below that.
 */
#ifndef FC_CORE_BUDGET_H
#define FC_CORE_BUDGET_H

#include <glib.h>

G_BEGIN_DECLS

/* In bytes, for the buffers of chains: nine tenths of the smallest of the machine's memory, the memory limit
 * of control groups and the address space (`ulimit -v`). */
gsize fc_budget_default(void);

/* How many threads half of the process's address space has room for, each with a stack and a malloc arena.
 * At least one. */
int fc_budget_threads(void);

/* What control groups allow: bytes of memory, G_MAXSIZE without a limit; processors by CPU time, rounded up,
 * G_MAXINT without one. `root` is prepended to /proc and /sys: "", or a folder of a test. */
gsize fc_groups_memory(const char *root);
int fc_groups_processors(const char *root);

G_END_DECLS

#endif
