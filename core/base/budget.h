/* SPDX-License-Identifier: MIT */
/*
 * budget.h - the default limit of memory for the buffers of chains.
 *
 * A chain or a file header can ask for any amount, and Linux grants more than it has: instead of an
 * allocation failing, some process is killed later. So there is a limit below that.
 */
#ifndef FC_CORE_BUDGET_H
#define FC_CORE_BUDGET_H

#include <glib.h>

G_BEGIN_DECLS

/* In bytes: nine tenths of the smallest of the machine's memory, the memory limit of the process's control
 * group (a container's, a service's) and its address space (`ulimit -v`). */
gsize fc_budget_default(void);

/* How many threads half of the process's address space has room for, each with a stack and a malloc arena.
 * At least one. */
int fc_budget_threads(void);

G_END_DECLS

#endif
