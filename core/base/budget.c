/* SPDX-License-Identifier: MIT */
/*
 * budget.c - see budget.h. A limit that cannot be read counts as no limit.
 */
#include "core/base/budget.h"

#include "core/base/groups.h"

#include <sys/resource.h>
#include <unistd.h>

static gsize machine_memory(void) {
  long pages = sysconf(_SC_PHYS_PAGES), size = sysconf(_SC_PAGESIZE);
  return pages > 0 && size > 0 ? (gsize)pages * (gsize)size : G_MAXSIZE;
}

static gsize address_space(void) {
  struct rlimit limit;
  if (getrlimit(RLIMIT_AS, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return G_MAXSIZE;
  return (gsize)limit.rlim_cur;
}

/* Address space that malloc reserves for a thread's arena. */
#define ARENA ((gsize)64 << 20)
#define STACK ((gsize)8 << 20) /* assumed where the stack has no limit */

int fc_budget_threads(void) {
  gsize space = address_space();
  struct rlimit limit;
  gboolean known = getrlimit(RLIMIT_STACK, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY;
  gsize each = ARENA + (known ? MIN((gsize)limit.rlim_cur, G_MAXSIZE / 2) : STACK);
  return space == G_MAXSIZE ? G_MAXINT : (int)CLAMP(space / 2 / each, 1, G_MAXINT);
}

gsize fc_budget_default(void) {
  return MIN(machine_memory(), MIN(address_space(), fc_groups_memory(""))) / 10 * 9;
}
