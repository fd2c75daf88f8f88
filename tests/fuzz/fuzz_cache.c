/* SPDX-License-Identifier: MIT */
/*
 * fuzz_cache.c - the plugin cache from a file that says anything. The first byte of the input
 * tells what the rest is:
 *
 *   bit 0   the entries, behind the right writer: what a cache of ours looks like
 *   bit 1   (else) the file as it is; otherwise all that its digest is made of
 *   bit 2   one more entry is noted, and the whole written and read back
 *
 * Whatever was believed: a file that is not there lacks nothing, and what is noted is known.
 */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "core/registry/plugin_cache.h"

#define ENTRIES_TYPE "a(ayxxxtas)" /* of the file, see plugin_cache.c */
#define DIGEST       32
#define SCANNER      "/nonexistent/scanner"

static char *folder, *file, *plugin;

static void remove_folder(void) {
  g_remove(file);
  g_remove(plugin);
  g_remove(folder);
  g_free(folder);
  g_free(file);
  g_free(plugin);
}

/* In memory where there is such a place, as each input is a file. */
static void make_folder(void) {
  gboolean memory = g_access("/dev/shm", W_OK) == 0;
  folder = g_build_filename(memory ? "/dev/shm" : g_get_tmp_dir(), "filterchain-cache-XXXXXX", NULL);
  g_assert_nonnull(g_mkdtemp(folder));
  file = g_build_filename(folder, "plugins", NULL);
  plugin = g_build_filename(folder, "plugin.so", NULL);
  g_assert_true(g_file_set_contents(plugin, "none", 4, NULL));
  atexit(remove_folder);
  while (!fc_plugin_mark_of(plugin).settled) g_usleep(10000);
}

static void digest_of(const guint8 *data, gsize size, guint8 *digest) {
  gsize length = DIGEST;
  GChecksum *sum = g_checksum_new(G_CHECKSUM_SHA256);
  g_checksum_update(sum, data, (gssize)size);
  g_checksum_get_digest(sum, digest, &length);
  g_checksum_free(sum);
}

/* What the cache wrote itself, to know how it calls itself. */
static const char *our_writer(void) {
  static char *writer;
  if (writer) return writer;
  fc_plugin_mark mark = fc_plugin_mark_of(plugin);
  g_autoptr(fc_plugin_cache) cache = fc_plugin_cache_open(folder, SCANNER);
  g_autofree char *data = NULL;
  gsize size;
  fc_plugin_cache_note(cache, plugin, &mark, NULL);
  fc_plugin_cache_save(cache);
  g_assert_true(g_file_get_contents(file, &data, &size, NULL));
  return writer = g_strndup(data + DIGEST, size - DIGEST);
}

/* The file, from its entries in serialised form. */
static GVariant *tree_of(const guint8 *data, gsize size) {
  g_autofree guint8 *copy = g_memdup2(data, size);
  g_autoptr(GBytes) bytes = g_bytes_new(copy, size);
  GVariant *entries = g_variant_new_from_bytes(G_VARIANT_TYPE(ENTRIES_TYPE), bytes, FALSE);
  return g_variant_ref_sink(g_variant_new("(^ay@" ENTRIES_TYPE ")", our_writer(), entries));
}

static void write_file(guint8 mode, const guint8 *data, gsize size) {
  g_autoptr(GByteArray) content = g_byte_array_new();
  gboolean sealed = (mode & 1) || !(mode & 2);
  if (sealed) g_byte_array_set_size(content, DIGEST);
  if (mode & 1) {
    g_autoptr(GVariant) tree = tree_of(data, size);
    g_byte_array_set_size(content, DIGEST + (guint)g_variant_get_size(tree));
    g_variant_store(tree, content->data + DIGEST);
  } else if (size)
    g_byte_array_append(content, data, (guint)size);
  if (sealed) digest_of(content->data + DIGEST, content->len - DIGEST, content->data);
  int fd = open(file, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
  g_assert_cmpint(write(fd, content->data, content->len), ==, (gssize)content->len);
  close(fd);
}

/* What is not there is searched for, and so is a file that is known to have the operator. */
static void ask(const fc_plugin_cache *cache) {
  static const char *const paths[] = {"", "a", "/nonexistent/a.so", "/plugins/b.so", "/proc/self"};
  static const char *const names[] = {"", "gain", "conv1d", "\xff"};
  for (gsize p = 0; p < G_N_ELEMENTS(paths); p++)
    for (gsize n = 0; n < G_N_ELEMENTS(names); n++) {
      gboolean lacks = fc_plugin_cache_lacks(cache, paths[p], names[n]);
      if (lacks) g_assert_true(g_file_test(paths[p], G_FILE_TEST_EXISTS));
    }
}

static void read_back(fc_plugin_cache *cache) {
  fc_plugin_mark mark = fc_plugin_mark_of(plugin);
  fc_plugin_cache_forget(cache, plugin);
  fc_plugin_cache_note(cache, plugin, &mark, NULL);
  g_assert_true(fc_plugin_cache_lacks(cache, plugin, "gain"));
  fc_plugin_cache_save(cache);
  g_autoptr(fc_plugin_cache) again = fc_plugin_cache_open(folder, SCANNER);
  g_assert_true(fc_plugin_cache_lacks(again, plugin, "gain"));
  ask(again);
}

int LLVMFuzzerTestOneInput(const guint8 *data, gsize size) {
  if (!folder) make_folder();
  if (size < 1) return 0;
  write_file(data[0], data + 1, size - 1);
  g_autoptr(fc_plugin_cache) cache = fc_plugin_cache_open(folder, SCANNER);
  ask(cache);
  if (data[0] & 4) read_back(cache);
  return 0;
}
