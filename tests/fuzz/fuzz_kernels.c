/* SPDX-License-Identifier: MIT */
/*
 * fuzz_kernels.c - the cache of composed kernels from a file that says anything: what is run on a device is
 * nothing but what was written there. The first byte of the input tells what the rest is:
 *
 *   bit 0   the file as it is; otherwise the code of an entry that the cache writes itself
 *   bit 1   (else) of that file a byte is changed: the rest's first three tell where and to what
 */
#include "tests/fuzz/fuzz.h"

#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/device/kernel_cache.h"

static char *folder, *file, *key;

static void remove_folder(void) {
  g_remove(file);
  g_remove(folder);
  g_free(folder);
  g_free(file);
  g_free(key);
}

static void make_folder(void) {
  gboolean memory = g_access("/dev/shm", W_OK) == 0;
  folder = g_build_filename(memory ? "/dev/shm" : g_get_tmp_dir(), "filterchain-kernels-XXXXXX", NULL);
  g_assert_nonnull(g_mkdtemp(folder));
  key = fc_kernel_cache_key("a compiler", 9, 0, "a text");
  file = g_build_filename(folder, key, NULL);
  atexit(remove_folder);
}

/* Is the entry that the cache gives what the cache would write for it? */
static void check_honest(const char *written, gsize size) {
  g_autoptr(GBytes) code = fc_kernel_cache_read(folder, key);
  g_autofree char *again = NULL;
  gsize n;
  if (!code) return;
  g_remove(file);
  fc_kernel_cache_write(folder, key, code);
  g_assert_true(g_file_get_contents(file, &again, &n, NULL));
  g_assert_cmpmem(again, n, written, size);
}

int LLVMFuzzerTestOneInput(const guint8 *data, gsize size) {
  if (!folder) make_folder();
  if (size < 5) return 0;
  g_remove(file);
  if (data[0] & 1) {
    g_assert_true(g_file_set_contents_full(file, (const char *)data + 1, (gssize)size - 1,
                                           G_FILE_SET_CONTENTS_NONE, 0600, NULL));
    check_honest((const char *)data + 1, size - 1);
    return 0;
  }
  g_autoptr(GBytes) code = g_bytes_new(data + 4, size - 4);
  g_autofree char *content = NULL;
  gsize n;
  fc_kernel_cache_write(folder, key, code);
  g_autoptr(GBytes) read = fc_kernel_cache_read(folder, key);
  g_assert_true(read && g_bytes_equal(read, code));
  g_assert_true(g_file_get_contents(file, &content, &n, NULL));
  const gsize at = (data[1] | data[2] << 8) % n;
  const gboolean changed = (data[0] & 2) && content[at] != (char)data[3];
  if (!changed) return 0;
  content[at] = (char)data[3];
  g_assert_true(g_file_set_contents_full(file, content, (gssize)n, G_FILE_SET_CONTENTS_NONE, 0600, NULL));
  g_autoptr(GBytes) damaged = fc_kernel_cache_read(folder, key);
  g_assert_null(damaged);
  return 0;
}
