/* SPDX-License-Identifier: MIT */
/*
 * budget.c - see budget.h. What cannot be read is no limit.
 */
#include "core/budget.h"

#include "core/groups.h"

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

gsize fc_budget_default(void) {
  return MIN(machine_memory(), MIN(address_space(), fc_groups_memory(""))) / 10 * 9;
}
