/* SPDX-License-Identifier: MIT */
/*
 * test_groups.c - limits of control groups, read from files made up as the kernel and container engines have
 * them, of both versions.
 */
#include "core/base/budget.h"

#include <glib/gstdio.h>
#include <string.h>

typedef struct file {
  const char *path, *text;
} file;

/* A folder with such files in the places of /proc and /sys. */
static char *make_root(const file *files) {
  char *root = g_dir_make_tmp("filterchain-groups-XXXXXX", NULL);
  g_assert_nonnull(root);
  for (; files->path; files++) {
    g_autofree char *path = g_build_filename(root, files->path, NULL), *folder = g_path_get_dirname(path);
    g_assert_cmpint(g_mkdir_with_parents(folder, 0700), ==, 0);
    g_assert_true(g_file_set_contents(path, files->text, -1, NULL));
  }
  return root;
}

/* Files first, then the folders that they have left empty, up to the root's own. */
static void remove_root(char *root, const file *files) {
  for (const file *f = files; f->path; f++) {
    g_autofree char *path = g_build_filename(root, f->path, NULL);
    g_assert_cmpint(g_remove(path), ==, 0);
  }
  for (const file *f = files; f->path; f++)
    for (char *path = g_build_filename(root, f->path, NULL), *folder;; path = folder) {
      folder = g_path_get_dirname(path);
      g_free(path);
      if (g_rmdir(folder) == 0 && strlen(folder) > strlen(root)) continue;
      g_free(folder);
      break;
    }
  g_assert_false(g_file_test(root, G_FILE_TEST_EXISTS));
  g_free(root);
}

static void expect(const file *files, int processors, gsize memory) {
  char *root = make_root(files);
  g_assert_cmpint(fc_groups_processors(root), ==, processors);
  g_assert_cmpuint(fc_groups_memory(root), ==, memory);
  remove_root(root, files);
}

#define V2 "sys/fs/cgroup/"

/* A container's own view: its group is the top of the mount. */
static void test_container(void) {
  const file whole[] = {
      {"proc/self/cgroup", "0::/\n"}, {V2 "cpu.max", "200000 100000\n"}, {V2 "memory.max", "1048576\n"}, {0}};
  const file part[] = {
      {"proc/self/cgroup", "0::/\n"}, {V2 "cpu.max", "250000 100000\n"}, {V2 "memory.max", "max\n"}, {0}};
  const file little[] = {{"proc/self/cgroup", "0::/\n"}, {V2 "cpu.max", "1000 100000\n"}, {0}};
  expect(whole, 2, 1048576);
  expect(part, 3, G_MAXSIZE);
  expect(little, 1, G_MAXSIZE);
}

/* A service: the least of its group and those it lies in counts. A name of the host's that is not there is
 * none. */
static void test_nested(void) {
  const file nested[] = {{"proc/self/cgroup", "0::/a/b:c\n"}, {V2 "a/b:c/cpu.max", "800000 100000\n"},
                         {V2 "a/b:c/memory.max", "5000\n"},   {V2 "a/cpu.max", "400000 100000\n"},
                         {V2 "a/memory.max", "6000\n"},       {0}};
  const file hosts[] = {{"proc/self/cgroup", "0::/docker/0123\n"}, {V2 "cpu.max", "300000 100000\n"}, {0}};
  expect(nested, 4, 5000);
  expect(hosts, 3, G_MAXSIZE);
}

/* Version 1, alone and beside an empty version 2; controllers that share a folder, and others in between. */
static void test_first_version(void) {
  const file quota[] = {{"proc/self/cgroup", "5:cpuset:/x\n4:cpu,cpuacct:/x\n3:memory:/x\n0::/x\n"},
                        {V2 "cpu/x/cpu.cfs_quota_us", "150000\n"},
                        {V2 "cpu/x/cpu.cfs_period_us", "50000\n"},
                        {V2 "memory/x/memory.limit_in_bytes", "70000\n"},
                        {V2 "memory/memory.limit_in_bytes", "9223372036854771712\n"},
                        {0}};
  const file none[] = {{"proc/self/cgroup", "4:cpuacct,cpu:/\n3:memory:/\n"},
                       {V2 "cpu/cpu.cfs_quota_us", "-1\n"},
                       {V2 "cpu/cpu.cfs_period_us", "100000\n"},
                       {V2 "memory/memory.limit_in_bytes", "9223372036854771712\n"},
                       {0}};
  expect(quota, 3, 70000);
  expect(none, G_MAXINT, G_MAXSIZE);
}

/* What is missing or makes no sense is no limit. */
static void test_nonsense(void) {
  const file files[] = {{"proc/self/cgroup", "nothing\n0:\n0::/\n"},
                        {V2 "cpu.max", "max 100000\n"},
                        {V2 "memory.max", "\n"},
                        {0}};
  const file zeros[] = {{"proc/self/cgroup", "0::/"}, {V2 "cpu.max", "0 0\n"}, {0}};
  const file single[] = {{"proc/self/cgroup", "0::/\n"}, {V2 "cpu.max", "100000\n"}, {0}};
  expect(files, G_MAXINT, G_MAXSIZE);
  expect(zeros, G_MAXINT, G_MAXSIZE);
  expect(single, G_MAXINT, G_MAXSIZE);
  g_assert_cmpint(fc_groups_processors("/nowhere/at/all"), ==, G_MAXINT);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/groups/container", test_container);
  g_test_add_func("/groups/nested", test_nested);
  g_test_add_func("/groups/first version", test_first_version);
  g_test_add_func("/groups/nonsense", test_nonsense);
  return g_test_run();
}
