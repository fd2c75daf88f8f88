/* SPDX-License-Identifier: MIT */
/*
 * What is remembered of plugin files from run to run: that it saves opening them, that it
 * changes no answer, and that nothing that may happen to the file it is kept in matters.
 * $FIXTURES is the folder of the fixtures, $SCAN_PROGRAM the scanner's.
 */
#include "core/base/private_files.h"
#include "core/registry/plugin_cache.h"
#include "core/registry/registry.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static const char *fixtures, *scan_program;

/* Folders of a test: of plugins, and of the cache. */
typedef struct place {
  char *root, *plugins, *cache, *cache_file, *log;
} place;

static void remove_tree(const char *path) {
  struct stat st;
  GDir *dir = lstat(path, &st) == 0 && S_ISDIR(st.st_mode) ? g_dir_open(path, 0, NULL) : NULL;
  for (const char *name = dir ? g_dir_read_name(dir) : NULL; name; name = g_dir_read_name(dir)) {
    g_autofree char *inner = g_build_filename(path, name, NULL);
    remove_tree(inner);
  }
  if (dir) g_dir_close(dir);
  g_assert_cmpint(g_remove(path), ==, 0);
}

/* A copy of a fixture. */
static void put(const char *fixture, const char *dir, const char *name) {
  g_autofree char *file = g_strconcat(fixture, ".so", NULL), *from = g_build_filename(fixtures, file, NULL);
  g_autofree char *to = g_build_filename(dir, name, NULL), *data = NULL;
  gsize size;
  g_assert_true(g_file_get_contents(from, &data, &size, NULL));
  g_assert_true(g_file_set_contents(to, data, (gssize)size, NULL));
}

/* Until a file just written is one whose changes show. */
static void settle(void) {
  g_usleep(150 * 1000);
}

static void set_up(place *p, gconstpointer unused) {
  p->root = g_dir_make_tmp("fc-cache-XXXXXX", NULL);
  p->plugins = g_build_filename(p->root, "plugins", NULL);
  p->cache = g_build_filename(p->root, "home", "filterchain", NULL);
  p->cache_file = g_build_filename(p->cache, "plugins", NULL);
  p->log = g_build_filename(p->root, "log", NULL);
  g_assert_cmpint(g_mkdir(p->plugins, 0700), ==, 0);
  put("watched_unfit", p->plugins, "0.so");
  put("watched_a", p->plugins, "1.so");
  put("watched_b", p->plugins, "2.so");
  put("watched_c", p->plugins, "3.so");
  g_setenv("FIXTURE_LOG", p->log, TRUE);
  settle();
}

static void tear_down(place *p, gconstpointer unused) {
  remove_tree(p->root);
  g_free(p->root);
  g_free(p->plugins);
  g_free(p->cache);
  g_free(p->cache_file);
  g_free(p->log);
}

static fc_registry *new_registry(const place *p, const char *cache) {
  fc_registry *r = fc_registry_new();
  fc_registry_set_home(r, "/nonexistent", scan_program);
  fc_registry_set_cache(r, cache);
  fc_registry_add_dir(r, p->plugins);
  return r;
}

/* The name of the file that defines an operator, in a registry of its own; NULL: none. g_free. */
static char *file_of(const place *p, const char *cache, const char *name) {
  g_autoptr(fc_registry) r = new_registry(p, cache);
  const char *path = NULL;
  const fc_operator *op = fc_registry_find(r, name, NULL);
  return op && fc_registry_plugin_of(r, op, &path) ? g_path_get_basename(path) : NULL;
}

static gint compare(gconstpointer a, gconstpointer b) {
  return strcmp(*(char *const *)a, *(char *const *)b);
}

/* The last letters of the watched fixtures that a look-up loads, in order: "abct" are all; g_free. */
static char *opened_by(const place *p, const char *cache, const char *name, const char *expected_file) {
  g_autofree char *text = NULL, *file = NULL;
  g_remove(p->log);
  file = file_of(p, cache, name);
  g_assert_cmpstr(file, ==, expected_file);
  if (!g_file_get_contents(p->log, &text, NULL, NULL)) return g_strdup("");
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  guint n = g_strv_length(lines);
  qsort(lines, n, sizeof *lines, compare);
  GString *letters = g_string_new(NULL);
  for (guint i = 0; i < n; i++)
    if (*lines[i] && (i == 0 || strcmp(lines[i], lines[i - 1]) != 0))
      g_string_append_c(letters, lines[i][strlen(lines[i]) - 1]);
  return g_string_free(letters, FALSE);
}

static void expect_opened(const place *p, const char *letters, const char *name, const char *file) {
  g_autofree char *opened = opened_by(p, p->cache, name, file);
  g_assert_cmpstr(opened, ==, letters);
}

static void fill(const place *p) {
  expect_opened(p, "abct", "watched_c", "3.so");
  g_assert_true(g_file_test(p->cache_file, G_FILE_TEST_IS_REGULAR));
}

/* ---- what it is for -------------------------------------------------------- */

static void test_warm(place *p, gconstpointer unused) {
  fill(p);
  expect_opened(p, "c", "watched_c", "3.so");
  expect_opened(p, "a", "watched_a", "1.so");
  expect_opened(p, "abct", "watched_x", NULL); /* that there is none is not taken from the cache */
  g_autofree char *without = opened_by(p, NULL, "watched_c", "3.so");
  g_assert_cmpstr(without, ==, "abct");
}

static void test_modes(place *p, gconstpointer unused) {
  mode_t before = umask(0);
  fill(p);
  umask(before);
  struct stat st;
  g_assert_true(stat(p->cache_file, &st) == 0 && (st.st_mode & 07777) == 0600);
  g_assert_true(stat(p->cache, &st) == 0 && (st.st_mode & 07777) == 0700);
  GDir *dir = g_dir_open(p->cache, 0, NULL);
  g_assert_cmpstr(g_dir_read_name(dir), ==, "plugins"); /* and no temporary file */
  g_assert_null(g_dir_read_name(dir));
  g_dir_close(dir);
}

static void test_unchanged_is_not_written(place *p, gconstpointer unused) {
  struct stat before, after;
  fill(p);
  g_assert_cmpint(stat(p->cache_file, &before), ==, 0);
  expect_opened(p, "c", "watched_c", "3.so");
  g_assert_cmpint(stat(p->cache_file, &after), ==, 0);
  g_assert_true(before.st_ino == after.st_ino && before.st_mtim.tv_nsec == after.st_mtim.tv_nsec);
}

static void test_switched_off(void) {
  static const struct {
    const char *value;
    gboolean off;
  } values[] = {{"1", TRUE}, {"yes", TRUE}, {"0", FALSE}, {"", FALSE}};
  for (gsize i = 0; i < G_N_ELEMENTS(values); i++) {
    g_setenv("FILTERCHAIN_NO_CACHE", values[i].value, TRUE);
    g_autofree char *folder = fc_private_folder(NULL);
    g_assert_true((folder == NULL) == values[i].off);
  }
  g_unsetenv("FILTERCHAIN_NO_CACHE");
}

/* ---- when it is out of date ------------------------------------------------- */

static void change_size(const char *path) {
  int fd = open(path, O_WRONLY | O_APPEND);
  struct stat st;
  g_assert_cmpint(fstat(fd, &st), ==, 0);
  struct timespec times[] = {st.st_atim, st.st_mtim};
  g_assert_cmpint(write(fd, "", 1), ==, 1);
  g_assert_cmpint(futimens(fd, times), ==, 0);
  close(fd);
}

static void change_time(const char *path) {
  struct timespec times[] = {{.tv_nsec = UTIME_OMIT}, {.tv_sec = 1000000000, .tv_nsec = 1}};
  g_assert_cmpint(utimensat(AT_FDCWD, path, times, 0), ==, 0);
}

/* The same content written over itself, the time of modification as it was. */
static void change_content(const char *path) {
  struct stat st;
  int fd = open(path, O_RDWR);
  char byte;
  g_assert_cmpint(fstat(fd, &st), ==, 0);
  struct timespec times[] = {st.st_atim, st.st_mtim};
  g_assert_true(pread(fd, &byte, 1, 100) == 1 && pwrite(fd, &byte, 1, 100) == 1);
  g_assert_cmpint(futimens(fd, times), ==, 0);
  close(fd);
}

/* Another file of the same size and times in its place. */
static void change_inode(const char *path) {
  g_autofree char *other = g_strconcat(path, ".new", NULL), *data = NULL;
  struct stat st;
  gsize size;
  g_assert_cmpint(stat(path, &st), ==, 0);
  g_assert_true(g_file_get_contents(path, &data, &size, NULL));
  g_assert_true(g_file_set_contents(other, data, (gssize)size, NULL));
  struct timespec times[] = {st.st_atim, st.st_mtim};
  g_assert_cmpint(utimensat(AT_FDCWD, other, times, 0), ==, 0);
  g_assert_cmpint(rename(other, path), ==, 0);
}

static void test_stale(place *p, gconstpointer unused) {
  void (*const changes[])(const char *) = {change_size, change_time, change_content, change_inode};
  g_autofree char *path = g_build_filename(p->plugins, "1.so", NULL);
  fill(p);
  for (gsize i = 0; i < G_N_ELEMENTS(changes); i++) {
    changes[i](path);
    settle();
    expect_opened(p, "ac", "watched_c", "3.so"); /* just the one is looked at anew */
    expect_opened(p, "c", "watched_c", "3.so");
  }
  /* What now comes first counts. (This process holds what it has loaded by its path, so it is
   * the one that was never fit to be.) */
  put("watched_c", p->plugins, "0.so");
  settle();
  expect_opened(p, "c", "watched_c", "0.so");
  path[strlen(path) - 4] = '0';
  g_assert_cmpint(g_remove(path), ==, 0);
  expect_opened(p, "c", "watched_c", "3.so");
}

/* A file as young as its clock's tick might change unseen, and is not remembered. */
static void test_young(place *p, gconstpointer unused) {
  g_autofree char *path = g_build_filename(p->plugins, "2.so", NULL);
  g_autoptr(fc_plugin_cache) cache = fc_plugin_cache_open(NULL, scan_program);
  fc_plugin_mark mark = {.settled = TRUE};
  for (int i = 0; i < 50 && mark.settled; i++) { /* a machine that is busy may let it grow old in between */
    change_time(path);
    mark = fc_plugin_mark_of(path);
  }
  g_assert_false(mark.settled);
  fc_plugin_cache_note(cache, path, &mark, NULL);
  g_assert_false(fc_plugin_cache_lacks(cache, path, "watched_x"));
  settle();
  mark = fc_plugin_mark_of(path);
  fc_plugin_cache_note(cache, path, &mark, NULL);
  g_assert_true(fc_plugin_cache_lacks(cache, path, "watched_x"));
}

/* Another scanner may judge otherwise. */
static void test_other_writer(place *p, gconstpointer unused) {
  g_autofree char *path = g_build_filename(p->plugins, "1.so", NULL);
  fill(p);
  g_autoptr(fc_plugin_cache) ours = fc_plugin_cache_open(p->cache, scan_program);
  g_assert_true(fc_plugin_cache_lacks(ours, path, "watched_c"));
  g_autoptr(fc_plugin_cache) other = fc_plugin_cache_open(p->cache, path);
  g_assert_false(fc_plugin_cache_lacks(other, path, "watched_c"));
}

/* ---- when it is damaged ------------------------------------------------------ */

/* Whether the cache, as it lies there, is one: knows anything of 1.so. */
static gboolean is_believed(const place *p) {
  g_autofree char *path = g_build_filename(p->plugins, "1.so", NULL);
  g_autoptr(fc_plugin_cache) cache = fc_plugin_cache_open(p->cache, scan_program);
  return fc_plugin_cache_lacks(cache, path, "watched_c");
}

/* In place, as it need not be atomic here. */
static void overwrite(const place *p, const void *data, gsize size) {
  int fd = open(p->cache_file, O_WRONLY | O_TRUNC | O_CREAT, 0600);
  g_assert_cmpint(write(fd, data, size), ==, (gssize)size);
  close(fd);
}

static void test_damaged(place *p, gconstpointer unused) {
  g_autofree char *data = NULL;
  gsize size;
  fill(p);
  g_assert_true(g_file_get_contents(p->cache_file, &data, &size, NULL));
  for (gsize cut = 0; cut < size; cut++) {
    overwrite(p, data, cut);
    g_assert_false(is_believed(p));
  }
  for (gsize i = 0; i < size * 8; i++) {
    data[i / 8] ^= (char)(1 << i % 8);
    overwrite(p, data, size);
    g_assert_false(is_believed(p));
    data[i / 8] ^= (char)(1 << i % 8);
  }
  overwrite(p, data, size);
  g_assert_true(is_believed(p));
  /* It is written anew where it was of no use. */
  overwrite(p, data, size / 2);
  expect_opened(p, "abct", "watched_c", "3.so");
  expect_opened(p, "c", "watched_c", "3.so");
}

static void seal(guint8 *data, gsize size) {
  gsize length = 32;
  GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
  g_checksum_update(sum, data + length, (gssize)(size - length));
  g_checksum_get_digest(sum, data, &length);
  g_checksum_free(sum);
}

/* Damage that the digest does not show: whatever is made of it, the answer is right. */
static void test_forged(place *p, gconstpointer unused) {
  g_autofree char *data = NULL;
  gsize size;
  fill(p);
  g_assert_true(g_file_get_contents(p->cache_file, &data, &size, NULL));
  for (int trial = 0; trial < 5000; trial++) {
    g_autofree guint8 *forged = g_malloc(size);
    gsize kept = (gsize)g_test_rand_int_range(33, (gint)size + 1);
    memcpy(forged, data, size);
    for (int i = g_test_rand_int_range(1, 5); i > 0; i--)
      forged[g_test_rand_int_range(32, (gint)size)] = (guint8)g_test_rand_int_range(0, 256);
    if (trial % 2) kept = size;
    seal(forged, kept);
    overwrite(p, forged, kept);
    is_believed(p);
    if (trial % 100) continue;
    g_autofree char *file = file_of(p, p->cache, "watched_c");
    g_assert_cmpstr(file, ==, "3.so");
  }
}

/* An entry that is wrong for whatever reason makes no operator disappear. */
static void test_wrong_entry(place *p, gconstpointer unused) {
  fill(p);
  g_autofree char *path = g_build_filename(p->plugins, "3.so", NULL);
  g_autoptr(fc_plugin_cache) cache = fc_plugin_cache_open(p->cache, scan_program);
  fc_plugin_mark mark = fc_plugin_mark_of(path);
  fc_plugin_cache_note(cache, path, &mark, NULL);
  fc_plugin_cache_save(cache);
  expect_opened(p, "abct", "watched_c", "3.so");
  expect_opened(p, "c", "watched_c", "3.so"); /* and is repaired */
}

/* ---- whose it is -------------------------------------------------------------- */

static void test_open_to_others(place *p, gconstpointer unused) {
  static const mode_t modes[] = {0620, 0602, 0666};
  fill(p);
  for (gsize i = 0; i < G_N_ELEMENTS(modes); i++) {
    g_assert_cmpint(chmod(p->cache_file, modes[i]), ==, 0);
    g_assert_false(is_believed(p));
    g_assert_cmpint(chmod(p->cache_file, 0600), ==, 0);
    g_assert_true(is_believed(p));
    g_assert_cmpint(chmod(p->cache, 0700 | modes[i]), ==, 0);
    g_assert_false(is_believed(p));
    g_assert_cmpint(chmod(p->cache, 0700), ==, 0);
  }
  g_assert_true(is_believed(p));
}

static void test_others(place *p, gconstpointer unused) {
  if (geteuid() != 0) {
    g_test_skip("only a superuser can give files away");
    return;
  }
  g_autofree char *moved = g_strconcat(p->cache, ".moved", NULL);
  fill(p);
  const char *const paths[] = {p->cache_file, p->cache};
  for (gsize i = 0; i < G_N_ELEMENTS(paths); i++) {
    g_assert_cmpint(chown(paths[i], 12345, 12345), ==, 0);
    g_assert_false(is_believed(p));
    g_assert_cmpint(chown(paths[i], 0, 0), ==, 0);
    g_assert_true(is_believed(p));
  }
  /* A link in the folder's place: our own is followed, another's is not. */
  g_assert_cmpint(rename(p->cache, moved), ==, 0);
  g_assert_cmpint(symlink(moved, p->cache), ==, 0);
  g_assert_true(is_believed(p));
  g_assert_cmpint(lchown(p->cache, 12345, 12345), ==, 0);
  g_assert_false(is_believed(p));
  /* Nothing is left in a folder of another's. */
  g_autofree char *home = g_build_filename(p->root, "theirs", NULL), *within = NULL;
  g_assert_true(g_mkdir(home, 0700) == 0 && chown(home, 12345, 12345) == 0);
  within = g_build_filename(home, "filterchain", NULL);
  g_autofree char *file = file_of(p, within, "watched_c");
  g_assert_cmpstr(file, ==, "3.so");
  g_assert_false(g_file_test(within, G_FILE_TEST_EXISTS));
}

/* A link, a pipe, a folder or gigabytes where the file should be. */
static void test_no_file(place *p, gconstpointer unused) {
  g_autofree char *moved = g_strconcat(p->cache_file, ".moved", NULL);
  fill(p);
  g_assert_cmpint(truncate(p->cache_file, (off_t)1 << 33), ==, 0);
  g_assert_false(is_believed(p));
  expect_opened(p, "abct", "watched_c", "3.so");
  g_assert_cmpint(rename(p->cache_file, moved), ==, 0);
  g_assert_cmpint(symlink(moved, p->cache_file), ==, 0);
  g_assert_false(is_believed(p));
  g_assert_cmpint(g_remove(p->cache_file), ==, 0);
  g_assert_cmpint(mkfifo(p->cache_file, 0600), ==, 0);
  g_assert_false(is_believed(p));
  g_assert_cmpint(g_remove(p->cache_file), ==, 0);
  g_assert_cmpint(g_mkdir(p->cache_file, 0700), ==, 0);
  expect_opened(p, "abct", "watched_c", "3.so");
}

/* No place to write to: everything works, as without a cache. */
static void test_unwritable(place *p, gconstpointer unused) {
  g_autofree char *in_a_file = g_build_filename(p->plugins, "1.so", "filterchain", NULL);
  g_autofree char *closed = g_build_filename(p->root, "closed", NULL);
  g_autofree char *in_closed = g_build_filename(closed, "filterchain", NULL);
  g_assert_cmpint(g_mkdir(closed, 0500), ==, 0);
  const char *const folders[] = {"/proc/filterchain", in_a_file, in_closed};
  for (gsize i = 0; i < G_N_ELEMENTS(folders); i++) {
    if (folders[i] == in_closed && geteuid() == 0) continue; /* nothing is closed to a superuser */
    for (int run = 0; run < 2; run++) {
      g_autofree char *opened = opened_by(p, folders[i], "watched_c", "3.so");
      g_assert_cmpstr(opened, ==, "abct");
    }
  }
}

/* ---- the answers -------------------------------------------------------------- */

/* A file that was accepted and since crashes, for a reason that does not lie in it. */
static void test_crashes_since(place *p, gconstpointer unused) {
  fill(p);
  put("watched_c", p->plugins, "4.so");
  g_setenv("FIXTURE_CRASHES", "watched_c", TRUE);
  expect_opened(p, "abct", "watched_c", NULL);
  expect_opened(p, "b", "watched_b", "2.so");
  g_unsetenv("FIXTURE_CRASHES");
  expect_opened(p, "c", "watched_c", "3.so"); /* it was not remembered */
  g_setenv("FIXTURE_CRASHES", "watched_a", TRUE);
  expect_opened(p, "c", "watched_c", "3.so"); /* nor is it opened for nothing */
  g_unsetenv("FIXTURE_CRASHES");
}

/* Whose definition counts, of every name, without a cache, with a cold and with a warm one. */
static void test_shadowing(place *p, gconstpointer unused) {
  static const char *const names[] = {"good", "pair", "older", "watched_a", "watched_c", "newer", "none"};
  static const char *const fixture_of[] = {"pair", "good", "watched_a", "watched_c", "two_mains", "older"};
  static const char *const files[] = {"aaa.so", "good.so", "pair.so", "watched_a.so", "zzz.so"};
  for (int layout = 0; layout < 20; layout++) {
    /* Under a new name, as this process holds what it has loaded by its path. */
    g_free(p->plugins);
    p->plugins = g_strdup_printf("%s/layout%d", p->root, layout);
    g_assert_cmpint(g_mkdir(p->plugins, 0700), ==, 0);
    for (gsize i = 0; i < G_N_ELEMENTS(files); i++)
      if (g_test_rand_int_range(0, 4))
        put(fixture_of[g_test_rand_int_range(0, G_N_ELEMENTS(fixture_of))], p->plugins, files[i]);
    settle();
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
      g_autofree char *without = file_of(p, NULL, names[i]);
      for (int run = 0; run < 2; run++) {
        g_autofree char *with = file_of(p, p->cache, names[i]);
        g_assert_cmpstr(with, ==, without);
      }
    }
  }
}

static gpointer write_often(gpointer data) {
  const place *p = data;
  g_autofree char *path = g_build_filename(p->plugins, "1.so", NULL);
  fc_plugin_mark mark = fc_plugin_mark_of(path);
  for (int i = 0; i < 300; i++) {
    g_autoptr(fc_plugin_cache) cache = fc_plugin_cache_open(p->cache, scan_program);
    fc_plugin_cache_forget(cache, path);
    fc_plugin_cache_note(cache, path, &mark, NULL);
    fc_plugin_cache_save(cache);
  }
  return NULL;
}

/* Every reader sees a whole cache while others replace it. */
static void test_at_once(place *p, gconstpointer unused) {
  fill(p);
  GThread *threads[3];
  for (gsize i = 0; i < G_N_ELEMENTS(threads); i++) threads[i] = g_thread_new("write", write_often, p);
  for (int i = 0; i < 1000; i++) g_assert_true(is_believed(p));
  for (gsize i = 0; i < G_N_ELEMENTS(threads); i++) g_thread_join(threads[i]);
  g_assert_true(is_believed(p));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  fixtures = g_getenv("FIXTURES");
  scan_program = g_getenv("SCAN_PROGRAM");
  g_assert_true(fixtures && scan_program);
  g_unsetenv("FILTERCHAIN_PLUGIN_PATH");
  g_test_add_func("/plugin-cache/switched-off", test_switched_off);
  static const struct {
    const char *name;
    void (*run)(place *p, gconstpointer unused);
  } tests[] = {
      {"warm", test_warm},
      {"modes", test_modes},
      {"unchanged-is-not-written", test_unchanged_is_not_written},
      {"stale", test_stale},
      {"young", test_young},
      {"other-writer", test_other_writer},
      {"damaged", test_damaged},
      {"forged", test_forged},
      {"wrong-entry", test_wrong_entry},
      {"open-to-others", test_open_to_others},
      {"others", test_others},
      {"no-file", test_no_file},
      {"unwritable", test_unwritable},
      {"crashes-since", test_crashes_since},
      {"shadowing", test_shadowing},
      {"at-once", test_at_once},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(tests); i++) {
    g_autofree char *name = g_strconcat("/plugin-cache/", tests[i].name, NULL);
    g_test_add(name, place, NULL, set_up, tests[i].run, tear_down);
  }
  return g_test_run();
}
