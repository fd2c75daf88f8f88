/* SPDX-License-Identifier: MIT */
/*
 * budget.c - see budget.h. What cannot be read is no limit.
 */
#include "core/budget.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
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

/* The number in a file of the kernel's, which says "max" where there is none. */
static gsize number_in(const char *path) {
  char text[64] = "";
  FILE *file = fopen(path, "re");
  if (!file) return G_MAXSIZE;
  gboolean any = fgets(text, sizeof text, file) && text[0] >= '0' && text[0] <= '9';
  fclose(file);
  return any ? (gsize)g_ascii_strtoull(text, NULL, 10) : G_MAXSIZE;
}

/* The least limit of a control group and those it lies in. Within a container its name may be the host's,
 * but the group of the container is what the root shows. */
static gsize group_limit(const char *root, char *group, const char *file) {
  gsize least = G_MAXSIZE;
  for (;;) {
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s%s/%s", root, group, file);
    if (length > 0 && length < (int)sizeof path) least = MIN(least, number_in(path));
    char *slash = strrchr(group, '/');
    if (!slash) return least;
    *slash = '\0';
  }
}

/* Lines are NUMBER:CONTROLLERS:GROUP; number 0 without controllers is version 2. */
static gsize control_groups(void) {
  gsize least = G_MAXSIZE;
  char line[PATH_MAX];
  FILE *file = fopen("/proc/self/cgroup", "re");
  if (!file) return least;
  while (fgets(line, sizeof line, file)) {
    line[strcspn(line, "\n")] = '\0';
    char *memory = strstr(line, ":memory:");
    gsize limit = G_MAXSIZE;
    if (strncmp(line, "0::", 3) == 0)
      limit = group_limit("/sys/fs/cgroup", line + 3, "memory.max");
    else if (memory)
      limit = group_limit("/sys/fs/cgroup/memory", memory + strlen(":memory:"), "memory.limit_in_bytes");
    least = MIN(least, limit);
  }
  fclose(file);
  return least;
}

gsize fc_budget_default(void) {
  return MIN(machine_memory(), MIN(address_space(), control_groups())) / 10 * 9;
}
