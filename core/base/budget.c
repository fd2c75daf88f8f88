/* SPDX-License-Identifier: MIT */
/*
 * budget.c - see budget.h. A limit that cannot be read counts as no limit.
 */
#include "core/base/budget.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* ---- control groups --------------------------------------------------- */

/* The limit given in one group's folder; INFINITY where there is none. */
typedef double limit_fn(const char *folder);

/* Reads up to two numbers from a file and returns how many. The kernel writes "max" or -1 where there is
 * no limit. */
static int numbers_in(const char *folder, const char *file, double numbers[2]) {
  char path[PATH_MAX], text[64] = "";
  int length = snprintf(path, sizeof path, "%s/%s", folder, file);
  FILE *stream = length > 0 && length < (int)sizeof path ? fopen(path, "re") : NULL;
  if (!stream) return 0;
  const char *line = fgets(text, sizeof text, stream);
  fclose(stream);
  return line ? MAX(sscanf(line, "%lf %lf", &numbers[0], &numbers[1]), 0) : 0;
}

static double amount(const char *folder, const char *file) {
  double n[2];
  return numbers_in(folder, file, n) > 0 && n[0] >= 0 ? n[0] : (double)INFINITY;
}

/* Processors: quota per period, both in microseconds. */
static double share(double quota, double period) {
  return quota > 0 && period > 0 ? quota / period : (double)INFINITY;
}

static double memory_v2(const char *folder) {
  return amount(folder, "memory.max");
}
static double memory_v1(const char *folder) {
  return amount(folder, "memory.limit_in_bytes");
}
static double processors_v2(const char *folder) {
  double n[2];
  return numbers_in(folder, "cpu.max", n) == 2 ? share(n[0], n[1]) : (double)INFINITY;
}
static double processors_v1(const char *folder) {
  double quota[2], period[2];
  if (!numbers_in(folder, "cpu.cfs_quota_us", quota) || !numbers_in(folder, "cpu.cfs_period_us", period))
    return (double)INFINITY;
  return share(quota[0], period[0]);
}

/* The smallest limit of a group and its parents, which bind it too. Within a container the group's name may
 * be the host's, but the container's own group is at the root of the mount. */
static double least_above(const char *root, const char *mount, char *group, limit_fn *limit) {
  double least = (double)INFINITY;
  for (;;) {
    char folder[PATH_MAX];
    int length = snprintf(folder, sizeof folder, "%s/sys/fs/cgroup%s%s", root, mount, group);
    if (length > 0 && length < (int)sizeof folder) least = fmin(least, limit(folder));
    char *slash = strrchr(group, '/');
    if (!slash) return least;
    *slash = '\0';
  }
}

static gboolean names(const char *controllers, const char *controller) {
  g_auto(GStrv) list = g_strsplit(controllers, ",", -1);
  return g_strv_contains((const char *const *)list, controller);
}

/* Lines are NUMBER:CONTROLLERS:GROUP; number 0 without controllers is version 2. */
static double limit_of(const char *root, const char *controller, limit_fn *v2, limit_fn *v1) {
  g_autofree char *mount = g_strconcat("/", controller, NULL), *text = NULL;
  g_autofree char *path = g_strconcat(root, "/proc/self/cgroup", NULL);
  double least = (double)INFINITY;
  if (!g_file_get_contents(path, &text, NULL, NULL)) return least;
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  for (char **line = lines; *line; line++) {
    g_auto(GStrv) field = g_strsplit(*line, ":", 3);
    if (g_strv_length(field) < 3) continue;
    if (strcmp(field[0], "0") == 0 && !*field[1])
      least = fmin(least, least_above(root, "", field[2], v2));
    else if (names(field[1], controller))
      least = fmin(least, least_above(root, mount, field[2], v1));
  }
  return least;
}

gsize fc_groups_memory(const char *root) {
  double bytes = limit_of(root, "memory", memory_v2, memory_v1);
  return bytes < 0x1p62 ? (gsize)bytes : G_MAXSIZE; /* version 1 writes a number near 2^63 for "no limit" */
}

int fc_groups_processors(const char *root) {
  double count = ceil(limit_of(root, "cpu", processors_v2, processors_v1));
  return count < G_MAXINT ? MAX((int)count, 1) : G_MAXINT;
}

/* ---- of this process -------------------------------------------------- */

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
