/* SPDX-License-Identifier: MIT */
/*
 * test_kernel_cache.c - where compiled kernels come from: a compiler that crashes, hangs or answers nonsense,
 * the cache of what was compiled, and the archive of kernels built ahead. Needs neither a GPU nor NVRTC.
 *
 * The program is its own false compiler: started with "false:..." in place of a library it plays the child.
 */
#include <fcntl.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "core/base/child.h"
#include "core/base/error.h"
#include "core/device/jit.h"
#include "core/device/kernel_cache.h"
#include "core/prebuilt/archive.h"

static const char *self;

/* ---- false compilers ----------------------------------------------------------------- */

static int play(const char *part) {
  char some[4096];
  if (strcmp(part, "deaf") != 0)
    while (read(0, some, sizeof some) > 0) {
    }
  if (strcmp(part, "crash") == 0) raise(SIGKILL); /* a sanitizer would take another signal for its own */
  if (strcmp(part, "hang") == 0) pause();
  if (strcmp(part, "hang after closing") == 0) close(FC_CHILD_ANSWERS), pause();
  const char *answer = strcmp(part, "nonsense") == 0   ? "42\n"
                       : strcmp(part, "cut off") == 0  ? "cubin 100\nabc"
                       : strcmp(part, "too long") == 0 ? "cubin 2\nabc"
                       : strcmp(part, "empty") == 0    ? "cubin 0\n"
                       : strcmp(part, "negative") == 0 ? "cubin -3\nabc"
                       : strcmp(part, "good") == 0     ? "cubin 3\nabc"
                                                       : "";
  return write(FC_CHILD_ANSWERS, answer, strlen(answer)) < 0;
}

static void test_false_compilers(void) {
  enum { SHORT = 500, LONG = 60000 }; /* ms */
  static const struct {
    const char *compiler, *message;
    int timeout;
  } cases[] = {{"false:crash", "crashed (signal 9"},
               {"false:hang", "took longer than 0.5 s", SHORT},
               {"false:hang after closing", "took longer than 0.5 s", SHORT},
               {"false:nonsense", "without an answer"},
               {"false:cut off", "without an answer"},
               {"false:too long", "without an answer"},
               {"false:empty", "without an answer"},
               {"false:negative", "without an answer"},
               {"false:silent", "without an answer"},
               {"false:deaf", "without an answer"}};
  g_autofree char *text = g_strnfill(1 << 20, ' ');
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GError) error = NULL;
    const gint64 begin = g_get_monotonic_time();
    const int timeout = cases[i].timeout ? cases[i].timeout : LONG;
    g_assert_null(fc_jit_compile(self, cases[i].compiler, 9, 0, text, timeout, NULL, &error));
    g_assert_error(error, FC_ERROR, FC_IO);
    g_assert_nonnull(strstr(error->message, cases[i].message));
    g_assert_cmpint(g_get_monotonic_time() - begin, <, LONG * G_TIME_SPAN_MILLISECOND);
  }
  g_autoptr(GBytes) code = fc_jit_compile(self, "false:good", 9, 0, text, LONG, NULL, NULL);
  g_assert_true(code && g_bytes_get_size(code) == 3);
  g_autoptr(GError) missing = NULL, none = NULL, library = NULL;
  g_assert_null(fc_jit_compile("/nowhere/filterchain-jit", "false:good", 9, 0, text, LONG, NULL, &missing));
  g_assert_error(missing, FC_ERROR, FC_IO);
  g_assert_null(fc_jit_compile(self, NULL, 9, 0, text, LONG, NULL, &none));
  g_assert_error(none, FC_ERROR, FC_UNSUPPORTED);
  g_assert_null(fc_jit_compile(FILTERCHAIN_JIT, "/nowhere/libnvrtc.so", 9, 0, text, LONG, NULL, &library));
  g_assert_error(library, FC_ERROR, FC_UNSUPPORTED);
}

/* ---- the cache --------------------------------------------------------------------------- */

#define KEY "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"

static char *folder_new(void) {
  char *folder = g_build_filename(g_get_tmp_dir(), "filterchain-kernels-XXXXXX", NULL);
  g_assert_nonnull(g_mkdtemp(folder));
  return folder;
}

static void folder_free(char *folder) {
  GDir *dir = g_dir_open(folder, 0, NULL);
  const char *name;
  while (dir && (name = g_dir_read_name(dir)) != NULL) {
    g_autofree char *path = g_build_filename(folder, name, NULL);
    (void)g_unlink(path);
  }
  if (dir) g_dir_close(dir);
  (void)g_rmdir(folder);
  g_free(folder);
}

static gboolean is_there(const char *folder, const char *key) {
  GBytes *code = fc_kernel_cache_read(folder, key);
  if (code) g_bytes_unref(code);
  return code != NULL;
}

static GBytes *some_code(guint n) {
  guint8 *bytes = g_malloc(n);
  for (guint i = 0; i < n; i++) bytes[i] = (guint8)(i * 7 + 3);
  return g_bytes_new_take(bytes, n);
}

static void test_cache(void) {
  char *folder = folder_new();
  g_autoptr(GBytes) code = some_code(1000);
  g_assert_false(is_there(folder, KEY));
  fc_kernel_cache_write(folder, KEY, code);
  g_autoptr(GBytes) back = fc_kernel_cache_read(folder, KEY);
  g_assert_true(back && g_bytes_equal(back, code));
  g_assert_false(is_there(folder, "../" KEY));
  g_assert_false(is_there(NULL, KEY));
  fc_kernel_cache_write(NULL, KEY, code);
  fc_kernel_cache_write(folder, "../evil", code);
  g_autofree char *path = g_build_filename(folder, KEY, NULL), *link = g_build_filename(folder, "link", NULL);
  g_assert_cmpint(g_chmod(path, 0666), ==, 0); /* others could have written it */
  g_assert_false(is_there(folder, KEY));
  g_assert_cmpint(g_chmod(path, 0600), ==, 0);
  g_assert_true(is_there(folder, KEY));
  g_assert_cmpint(g_chmod(folder, 0777), ==, 0);
  g_assert_false(is_there(folder, KEY));
  g_assert_cmpint(g_chmod(folder, 0700), ==, 0);
  g_assert_cmpint(g_rename(path, link), ==, 0);
  g_assert_cmpint(symlink(link, path), ==, 0);
  g_assert_false(is_there(folder, KEY));
  g_assert_cmpint(g_unlink(path), ==, 0);
  g_assert_cmpint(mkfifo(path, 0600), ==, 0);
  g_assert_false(is_there(folder, KEY));
  fc_kernel_cache_write(folder, KEY, code);
  g_assert_true(is_there(folder, KEY));
  fc_kernel_cache_forget(folder, KEY);
  g_assert_false(is_there(folder, KEY));
  folder_free(folder);
}

/* Bits turned, bytes cut off, put in, and files of anything: never code that was not written. */
static void test_damage(void) {
  char *folder = folder_new();
  g_autoptr(GBytes) code = some_code(500);
  g_autofree char *path = g_build_filename(folder, KEY, NULL), *right = NULL;
  gsize n;
  fc_kernel_cache_write(folder, KEY, code);
  g_assert_true(g_file_get_contents(path, &right, &n, NULL));
  for (guint i = 0; i < 3000; i++) {
    gsize length = n;
    g_autofree char *bytes = g_malloc(2 * n);
    memcpy(bytes, right, n);
    switch (g_test_rand_int_range(0, 4)) {
    case 0: bytes[g_test_rand_int_range(0, (int)n)] ^= (char)(1 << g_test_rand_int_range(0, 8)); break;
    case 1: length = (gsize)g_test_rand_int_range(0, (int)n); break;
    case 2:
      length = n + (gsize)g_test_rand_int_range(1, (int)n);
      memset(bytes + n, g_test_rand_int_range(0, 256), length - n);
      break;
    default:
      length = (gsize)g_test_rand_int_range(0, (int)(2 * n));
      for (gsize b = 0; b < length; b++) bytes[b] = (char)g_test_rand_int_range(0, 256);
    }
    int fd = open(path, O_WRONLY | O_TRUNC);
    g_assert_true(fd >= 0 && write(fd, bytes, length) == (gssize)length && close(fd) == 0);
    g_assert_false(is_there(folder, KEY));
  }
  /* Another's code under this key. */
  g_autofree char *other = g_strdup(KEY), *moved = NULL;
  other[0] = 'f', moved = g_build_filename(folder, other, NULL);
  fc_kernel_cache_write(folder, KEY, code);
  g_assert_cmpint(g_rename(path, moved), ==, 0);
  g_assert_false(is_there(folder, other));
  folder_free(folder);
}

static guint entries_of(const char *folder) {
  GDir *dir = g_dir_open(folder, 0, NULL);
  guint n = 0;
  while (g_dir_read_name(dir)) n++;
  g_dir_close(dir);
  return n;
}

/* Above the limit the oldest go, and those in use stay. */
static void test_room(void) {
  char *folder = folder_new();
  g_autoptr(GBytes) code = some_code(100);
  for (int i = 0; i < 9; i++) { /* 8 MB each, of which nothing is on disk */
    g_autofree char *name =
        g_strdup_printf("%s%d", "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde", i);
    g_autofree char *path = g_build_filename(folder, name, NULL);
    struct timespec times[2] = {{1000 + i, 0}, {1000 + i, 0}};
    int fd = open(path, O_WRONLY | O_CREAT, 0600);
    g_assert_true(fd >= 0 && ftruncate(fd, 8 << 20) == 0 && futimens(fd, times) == 0 && close(fd) == 0);
  }
  fc_kernel_cache_write(folder, KEY, code);
  g_assert_true(is_there(folder, KEY));
  g_assert_cmpuint(entries_of(folder), ==, 8); /* seven of 8 MB and the new one */
  g_autofree char *oldest =
      g_build_filename(folder, "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcde0", NULL);
  g_assert_false(g_file_test(oldest, G_FILE_TEST_EXISTS));
  folder_free(folder);
}

/* Where nothing can be written, or not all of it, nothing is there, and nothing is left behind. */
static void test_unwritable(void) {
  char *folder = folder_new();
  g_autoptr(GBytes) code = some_code(100000);
  g_autofree char *file = g_build_filename(folder, "file", NULL),
                  *deep = g_build_filename(folder, "a", "b", "c", "d", NULL);
  g_assert_true(g_file_set_contents(file, "", 0, NULL));
  fc_kernel_cache_write(file, KEY, code);
  fc_kernel_cache_write(deep, KEY, code);
  g_assert_false(is_there(file, KEY) || is_there(deep, KEY));
  g_assert_cmpuint(entries_of(folder), ==, 1);
  struct rlimit was, little;
  g_assert_cmpint(getrlimit(RLIMIT_FSIZE, &was), ==, 0);
  little = was, little.rlim_cur = 1000; /* as a disk that is full then */
  signal(SIGXFSZ, SIG_IGN);
  g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &little), ==, 0);
  fc_kernel_cache_write(folder, KEY, code);
  g_assert_cmpint(setrlimit(RLIMIT_FSIZE, &was), ==, 0);
  g_assert_false(is_there(folder, KEY));
  g_assert_cmpuint(entries_of(folder), ==, 1);
  folder_free(folder);
}

/* Processes that write at once: each reads something whole. */
static void test_writers(void) {
  enum { WRITERS = 4, TURNS = 100 };
  char *folder = folder_new();
  pid_t pids[WRITERS];
  for (guint w = 0; w < WRITERS; w++) {
    if ((pids[w] = fork()) != 0) continue;
    g_autoptr(GBytes) code = some_code(1000 * (w + 1));
    gboolean whole = TRUE;
    for (guint i = 0; i < TURNS && whole; i++) {
      fc_kernel_cache_write(folder, KEY, code);
      g_autoptr(GBytes) got = fc_kernel_cache_read(folder, KEY);
      const gsize n = got ? g_bytes_get_size(got) : 0;
      g_autoptr(GBytes) as = some_code((guint)n);
      whole = n >= 1000 && n % 1000 == 0 && g_bytes_equal(got, as);
    }
    _exit(!whole);
  }
  for (guint w = 0; w < WRITERS; w++) {
    int status = -1;
    g_assert_true(waitpid(pids[w], &status, 0) == pids[w] && status == 0);
  }
  g_assert_cmpuint(entries_of(folder), ==, 1);
  folder_free(folder);
}

static void test_keys(void) {
  g_autofree char *a = fc_kernel_cache_key("nvrtc 1", 9, 0, "text"),
                  *same = fc_kernel_cache_key("nvrtc 1", 9, 0, "text");
  g_autofree char *text = fc_kernel_cache_key("nvrtc 1", 9, 0, "texts"),
                  *chip = fc_kernel_cache_key("nvrtc 1", 8, 0, "text");
  g_autofree char *compiler = fc_kernel_cache_key("nvrtc 2", 9, 0, "text");
  g_assert_cmpstr(a, ==, same);
  g_assert_cmpstr(a, !=, text);
  g_assert_cmpstr(a, !=, chip);
  g_assert_cmpstr(a, !=, compiler);
}

static void test_made_once(void) {
  char *folder = folder_new();
  fc_kernel_origin origin = FC_KERNEL_PREBUILT;
  fc_kernel_maker by = {self, "false:good", folder, NULL, NULL};
  g_assert_null(fc_kernel_make(&by, 9, 0, "text", FALSE, &origin, NULL));
  g_autoptr(GBytes) first = fc_kernel_make(&by, 9, 0, "text", TRUE, &origin, NULL);
  g_assert_true(first && origin == FC_KERNEL_COMPILED);
  /* The key is the same whoever compiles: now nobody has to. */
  by.helper = "/nowhere/filterchain-jit";
  g_autoptr(GBytes) second = fc_kernel_make(&by, 9, 0, "text", TRUE, &origin, NULL);
  g_assert_true(second && origin == FC_KERNEL_CACHED && g_bytes_equal(first, second));
  g_assert_null(fc_kernel_make(&by, 9, 0, "texts", TRUE, &origin, NULL));
  g_assert_true(fc_kernel_forget(&by, 9, 0, "text"));
  g_assert_false(fc_kernel_forget(&by, 9, 0, "text"));
  g_assert_null(fc_kernel_make(&by, 9, 0, "text", FALSE, &origin, NULL));
  folder_free(folder);
}

/* An archive for sm_80 with "text" and, under its own key, what the compiler is. */
static char *archive_new(const char *folder, const char *code) {
  char *path = g_build_filename(folder, "kernels-sm_80", NULL);
  g_autoptr(GHashTable) codes =
      g_hash_table_new_full(g_str_hash, g_str_equal, g_free, (GDestroyNotify)g_bytes_unref);
  g_hash_table_insert(codes, fc_kernel_prebuilt_key(8, 0, "text"), g_bytes_new(code, strlen(code)));
  g_hash_table_insert(codes, g_strdup("compiler"), g_bytes_new("nvrtc", 6));
  g_assert_true(fc_archive_write(path, codes, NULL));
  return path;
}

/* Kernels built ahead come first, serve later chips of the same major number, and need no compiler and no
 * cache. */
static void test_prebuilt(void) {
  char *folder = folder_new();
  fc_kernel_origin origin = FC_KERNEL_COMPILED;
  g_autofree char *path = archive_new(folder, "code ahead"),
                  *prebuilt = g_build_filename(folder, "kernels-", NULL);
  fc_kernel_maker by = {"/nowhere/filterchain-jit", NULL, NULL, prebuilt, NULL};
  for (int minor = 0; minor <= 9; minor += 3) {
    g_autoptr(GBytes) code = fc_kernel_make(&by, 8, minor, "text", FALSE, &origin, NULL);
    g_assert_nonnull(code);
    g_assert_cmpmem(g_bytes_get_data(code, NULL), g_bytes_get_size(code), "code ahead", 10);
    g_assert_cmpint(origin, ==, FC_KERNEL_PREBUILT);
  }
  g_assert_null(fc_kernel_make(&by, 8, 0, "texts", FALSE, &origin, NULL));
  g_assert_null(fc_kernel_make(&by, 7, 5, "text", FALSE, &origin, NULL));
  g_assert_null(fc_kernel_make(&by, 9, 0, "text", FALSE, &origin, NULL));
  /* What is not there is compiled, and cached. */
  by.helper = self, by.compiler = "false:good", by.folder = folder;
  for (int again = 0; again < 2; again++) {
    g_autoptr(GBytes) code = fc_kernel_make(&by, 8, 0, "texts", TRUE, &origin, NULL);
    g_assert_true(code && origin == (again ? FC_KERNEL_CACHED : FC_KERNEL_COMPILED));
  }
  folder_free(folder);
}

/* Every damage to an archive - a byte changed, an end missing - leaves each code right, or not found. */
static void test_damaged_archive(void) {
  char *folder = folder_new();
  g_autofree char *path = archive_new(folder, "code ahead"), *content = NULL,
                  *key = fc_kernel_prebuilt_key(8, 0, "text");
  gsize size;
  guint found = 0;
  g_assert_true(g_file_get_contents(path, &content, &size, NULL));
  for (gsize i = 0; i < 2 * size; i++) {
    if (i < size) content[i] ^= 0x41;
    g_assert_true(g_file_set_contents(path, content, (gssize)(i < size ? size : i - size), NULL));
    if (i < size) content[i] ^= 0x41;
    g_autoptr(GBytes) code = fc_archive_find(path, key);
    if (code) g_assert_cmpmem(g_bytes_get_data(code, NULL), g_bytes_get_size(code), "code ahead", 10);
    found += code != NULL;
  }
  g_assert_cmpuint(found, <, size);
  folder_free(folder);
}

int main(int argc, char **argv) {
  if (argc == 2 && g_str_has_prefix(argv[1], "false:")) return play(argv[1] + strlen("false:"));
  g_test_init(&argc, &argv, NULL);
  self = argv[0];
  g_test_add_func("/kernels/false compilers", test_false_compilers);
  g_test_add_func("/kernels/cache", test_cache);
  g_test_add_func("/kernels/damaged", test_damage);
  g_test_add_func("/kernels/full", test_room);
  g_test_add_func("/kernels/unwritable", test_unwritable);
  g_test_add_func("/kernels/several writers", test_writers);
  g_test_add_func("/kernels/keys", test_keys);
  g_test_add_func("/kernels/made once", test_made_once);
  g_test_add_func("/kernels/prebuilt", test_prebuilt);
  g_test_add_func("/kernels/damaged archive", test_damaged_archive);
  return g_test_run();
}
