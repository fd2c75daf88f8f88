/* SPDX-License-Identifier: MIT */
/*
 * kernel_cache.c - see kernel_cache.h.
 */
#include "core/device/kernel_cache.h"

#include "core/base/private_files.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <string.h>
#include <sys/stat.h>

#define LAYOUT "filterchain kernel 1\n"
/* Both sums in hexadecimal, each followed by a newline. */
enum { DIGEST = 64, HEAD = sizeof LAYOUT - 1 + 2 * (DIGEST + 1), LARGEST = 16 << 20 };

/* ---- where it lies ----------------------------------------------------------- */

char *fc_kernel_cache_folder(void) {
  return fc_private_folder("kernels");
}

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
  return strlen(name) == DIGEST && strspn(name, "0123456789abcdef") == DIGEST;
}

/* ---- reading ---------------------------------------------------------------------- */

static char *head_of(const char *key, const guint8 *code, gsize n) {
  g_autofree char *digest = g_compute_checksum_for_data(G_CHECKSUM_SHA256, code, n);
  return g_strconcat(LAYOUT, key, "\n", digest, "\n", NULL);
}

GBytes *fc_kernel_cache_read(const char *folder, const char *key) {
  g_autoptr(GBytes) all = folder && is_key(key) ? fc_private_read(folder, key, HEAD + 1, LARGEST) : NULL;
  if (!all) return NULL;
  gsize n;
  const guint8 *bytes = g_bytes_get_data(all, &n);
  g_autofree char *head = head_of(key, bytes + HEAD, n - HEAD), *path = g_build_filename(folder, key, NULL);
  if (memcmp(head, bytes, HEAD) != 0) return NULL;
  /* mark it as used: the oldest entries are removed first */
  (void)utimensat(AT_FDCWD, path, NULL, AT_SYMLINK_NOFOLLOW);
  return g_bytes_new_from_bytes(all, HEAD, n - HEAD);
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
                   left = strlen(name) > DIGEST && name[DIGEST] == '.'; /* GLib's temporary file */
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
  if (!folder || !is_key(key) || n == 0 || n > LARGEST - HEAD) return;
  g_autofree char *head = head_of(key, bytes, n);
  g_autoptr(GByteArray) all = g_byte_array_new();
  g_byte_array_append(all, (const guint8 *)head, HEAD);
  g_byte_array_append(all, bytes, (guint)n);
  if (fc_private_write(folder, 3, key, all->data, all->len)) make_room(folder);
}

void fc_kernel_cache_forget(const char *folder, const char *key) {
  if (!folder || !is_key(key) || !fc_private_is_ours(folder)) return;
  g_autofree char *path = g_build_filename(folder, key, NULL);
  (void)g_unlink(path);
}

/* ---- read or compile ---------------------------------------------------------------- */

static char *key_of(const fc_kernel_maker *by, int major, int minor, const char *text) {
  g_autofree char *identity = by->compiler ? fc_jit_identity(by->compiler) : g_strdup("");
  return fc_kernel_cache_key(identity, major, minor, text);
}

GBytes *fc_kernel_make(const fc_kernel_maker *by, int major, int minor, const char *text, gboolean compile,
                       gboolean *hit, GError **error) {
  g_autofree char *key = key_of(by, major, minor, text);
  GBytes *code = by->compiler ? fc_kernel_cache_read(by->folder, key) : NULL;
  *hit = code != NULL;
  if (code || !compile) return code;
  code = fc_jit_compile(by->helper, by->compiler, major, minor, text, 0, by->stop, error);
  if (code) fc_kernel_cache_write(by->folder, key, code);
  return code;
}

void fc_kernel_forget(const fc_kernel_maker *by, int major, int minor, const char *text) {
  g_autofree char *key = key_of(by, major, minor, text);
  fc_kernel_cache_forget(by->folder, key);
}
