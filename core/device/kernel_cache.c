/* SPDX-License-Identifier: MIT */
/*
 * kernel_cache.c - see kernel_cache.h.
 */
#include "core/device/kernel_cache.h"

#include "core/base/private_files.h"
#include "core/prebuilt/archive.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

/* Of what keys are made of: another is another cache. */
#define LAYOUT "filterchain kernel 2"
/* A key, in hexadecimal; a file holds its own, and the code. */
enum { KEY = 64, LARGEST = 16 << 20 };

/* ---- keys ------------------------------------------------------------------------ */

/* A string with its terminating zero, so that adjacent strings cannot be confused. */
static void add(GChecksum *sum, const char *text) {
  g_checksum_update(sum, (const guchar *)text, (gssize)strlen(text) + 1);
}

char *fc_kernel_cache_key(const char *identity, int major, int minor, const char *text) {
  GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
  g_autofree char *chip = g_strdup_printf("sm_%d%d", major, minor);
  add(sum, LAYOUT), add(sum, identity), add(sum, chip);
  for (guint i = 0; fc_jit_options[i]; i++) add(sum, fc_jit_options[i]);
  for (const fc_compose_header *h = fc_compose_headers; h->name; h++) add(sum, h->name), add(sum, h->text);
  add(sum, text);
  char *key = g_strdup(g_checksum_get_string(sum));
  g_checksum_free(sum);
  return key;
}

static gboolean is_key(const char *name) {
  return strlen(name) == KEY && strspn(name, "0123456789abcdef") == KEY;
}

/* ---- reading ---------------------------------------------------------------------- */

GBytes *fc_kernel_cache_read(const char *folder, const char *key) {
  g_autoptr(GBytes) all = folder && is_key(key) ? fc_private_read(folder, key, LARGEST) : NULL;
  gsize n;
  const guint8 *bytes = all ? g_bytes_get_data(all, &n) : NULL;
  if (!bytes || n <= KEY || memcmp(bytes, key, KEY) != 0) return NULL;
  g_autofree char *path = g_build_filename(folder, key, NULL);
  (void)utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW); /* it is in use: the oldest go first */
  return g_bytes_new_from_bytes(all, KEY, n - KEY);
}

/* ---- writing ---------------------------------------------------------------------- */

typedef struct entry {
  char *path;
  goffset size;
  gint64 used;
} entry;

static void free_entry(gpointer data) {
  entry *e = data;
  g_free(e->path);
  g_free(e);
}

static int by_age(gconstpointer a, gconstpointer b) {
  const entry *x = *(const entry *const *)a, *y = *(const entry *const *)b;
  return (x->used > y->used) - (x->used < y->used);
}

/* Removes the oldest entries until the limit is met, and temporary files of processes that died while
 * writing. */
static void make_room(const char *folder) {
  g_autoptr(GDir) dir = g_dir_open(folder, 0, NULL);
  g_autoptr(GPtrArray) entries = g_ptr_array_new_with_free_func(free_entry);
  goffset total = 0;
  const char *name;
  while (dir && (name = g_dir_read_name(dir)) != NULL) {
    struct stat st;
    g_autofree char *path = g_build_filename(folder, name, NULL);
    const gboolean ours = is_key(name),
                   left = strlen(name) > KEY && name[KEY] == '.'; /* GLib's temporary file */
    if ((!ours && !left) || lstat(path, &st) != 0 || !S_ISREG(st.st_mode)) continue;
    if (left && g_get_real_time() / G_USEC_PER_SEC - st.st_mtime < 3600) continue;
    entry *e = g_new(entry, 1);
    *e = (entry){g_steal_pointer(&path), st.st_size, left ? 0 : (gint64)st.st_mtime};
    total += e->size;
    g_ptr_array_add(entries, e);
  }
  g_ptr_array_sort(entries, by_age);
  for (guint i = 0; i < entries->len; i++) {
    const entry *e = g_ptr_array_index(entries, i);
    if (total <= FC_KERNEL_CACHE_MOST && e->used != 0) break;
    if (g_unlink(e->path) == 0) total -= e->size;
  }
}

void fc_kernel_cache_write(const char *folder, const char *key, GBytes *code) {
  gsize n;
  const guint8 *bytes = g_bytes_get_data(code, &n);
  if (!folder || !is_key(key) || n == 0 || n > LARGEST - KEY) return;
  g_autoptr(GByteArray) all = g_byte_array_new();
  g_byte_array_append(all, (const guint8 *)key, KEY);
  g_byte_array_append(all, bytes, (guint)n);
  if (fc_private_write(folder, 3, key, all->data, all->len)) make_room(folder);
}

gboolean fc_kernel_cache_forget(const char *folder, const char *key) {
  if (!folder || !is_key(key) || !fc_private_is_ours(folder)) return FALSE;
  g_autofree char *path = g_build_filename(folder, key, NULL);
  return g_unlink(path) == 0;
}

/* ---- found or compiled ---------------------------------------------------------------- */

static char *key_of(const fc_kernel_maker *by, int major, int minor, const char *text) {
  g_autofree char *identity = by->compiler ? fc_jit_identity(by->compiler) : g_strdup("");
  return fc_kernel_cache_key(identity, major, minor, text);
}

char *fc_kernel_prebuilt_key(int major, int minor, const char *text) {
  return fc_kernel_cache_key("built ahead", major, minor, text);
}

/* Code for a chip also runs on later ones with the same major number. */
static GBytes *find_prebuilt(const char *prebuilt, int major, int minor, const char *text) {
  GBytes *code = NULL;
  for (int m = minor; prebuilt && !code && m >= 0; m--) {
    g_autofree char *path = g_strdup_printf("%ssm_%d%d", prebuilt, major, m);
    g_autofree char *key =
        g_file_test(path, G_FILE_TEST_EXISTS) ? fc_kernel_prebuilt_key(major, m, text) : NULL;
    code = key ? fc_archive_find(path, key) : NULL;
  }
  return code;
}

GBytes *fc_kernel_make(const fc_kernel_maker *by, int major, int minor, const char *text, gboolean compile,
                       fc_kernel_origin *origin, GError **error) {
  GBytes *code = find_prebuilt(by->prebuilt, major, minor, text);
  *origin = FC_KERNEL_PREBUILT;
  if (code) return code;
  g_autofree char *key = key_of(by, major, minor, text);
  *origin = FC_KERNEL_CACHED;
  if (by->compiler) code = fc_kernel_cache_read(by->folder, key);
  if (code || !compile) return code;
  *origin = FC_KERNEL_COMPILED;
  code = fc_jit_compile(by->helper, by->compiler, major, minor, text, 0, by->stop, error);
  if (code) fc_kernel_cache_write(by->folder, key, code);
  return code;
}

gboolean fc_kernel_forget(const fc_kernel_maker *by, int major, int minor, const char *text) {
  g_autofree char *key = key_of(by, major, minor, text);
  return fc_kernel_cache_forget(by->folder, key);
}
