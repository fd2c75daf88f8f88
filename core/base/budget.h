/* SPDX-License-Identifier: MIT */
/*
 * budget.h - how much memory the buffers of chains may take when nobody says.
 *
 * A chain and a header can ask for any amount, and Linux hands out more than there is: what comes
 * then is not a refusal but the end of some process. So there is a limit ahead of it.
 */
#ifndef FC_CORE_BUDGET_H
#define FC_CORE_BUDGET_H

#include <glib.h>

G_BEGIN_DECLS

/* Bytes: nine tenths of the machine's memory, of what the control group of the process (a container's,
 * a service's) may have, or of its address space (`ulimit -v`), whichever is least. */
gsize fc_budget_default(void);

/* How many threads the address space of the process has room for beside that: half of it, at a stack and an
 * arena of malloc's each. At least one. */
int fc_budget_threads(void);

G_END_DECLS

#endif
