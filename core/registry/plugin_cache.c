/* SPDX-License-Identifier: MIT */
/*
 * plugin_cache.c - see plugin_cache.h. The file is a serialised GVariant: who wrote it, and an entry a plugin
 * file. It holds nothing that is run or opened.
 */
#include "core/registry/plugin_cache.h"

#include "core/base/private_files.h"

#include <string.h>
#include <sys/stat.h>

#define FILE_NAME "plugins"
/* Version of the file's layout; files of another version are ignored. */
#define LAYOUT 1
/* Who wrote it, and for each file: path, size, mtime, ctime, inode, operators. */
#define ENTRY_TYPE "(ayxxxtas)"
#define CACHE_TYPE "(aya" ENTRY_TYPE ")"
/* Thousands of plugins; a file beyond that is none of ours. */
#define LARGEST (1 << 20)
/* Clocks of file systems tick at 100 Hz or faster: a file may change again within the tick in which it was
 * read, and show the same times. */
#define TICK_NS (100 * 1000000LL)

typedef struct entry {
  fc_plugin_mark mark;
  GStrv names; /* operators that it defines */
} entry;

struct fc_plugin_cache {
  char *folder; /* NULL: not stored */
  char *writer; /* identifies the program that checked the plugins */
  GHashTable *entries;
  gboolean dirty;
};

/* ---- entries ----------------------------------------------------------- */

static void free_entry(gpointer data) {
  entry *e = data;
  g_strfreev(e->names);
  g_free(e);
}

static void add_entry(fc_plugin_cache *cache, const char *path, const fc_plugin_mark *mark, GStrv names) {
  entry *e = g_new(entry, 1);
  e->mark = *mark;
  e->names = names;
  g_hash_table_insert(cache->entries, g_strdup(path), e);
}

fc_plugin_mark fc_plugin_mark_of(const char *path) {
  struct stat st;
  if (stat(path, &st) != 0) return (fc_plugin_mark){.size = -1};
  fc_plugin_mark mark = {.size = st.st_size, .inode = st.st_ino};
  mark.modified = (gint64)st.st_mtim.tv_sec * 1000000000 + st.st_mtim.tv_nsec;
  mark.changed = (gint64)st.st_ctim.tv_sec * 1000000000 + st.st_ctim.tv_nsec;
  mark.settled = g_get_real_time() * 1000 - mark.changed > TICK_NS;
  return mark;
}

static gboolean is_same(const fc_plugin_mark *a, const fc_plugin_mark *b) {
  return a->size == b->size && a->modified == b->modified && a->changed == b->changed && a->inode == b->inode;
}

static gboolean is_current(const char *path, const entry *e) {
  fc_plugin_mark now = fc_plugin_mark_of(path);
  return now.size >= 0 && is_same(&e->mark, &now); /* an entry without a file counts as missing */
}

gboolean fc_plugin_cache_lacks(const fc_plugin_cache *cache, const char *path, const char *name) {
  const entry *e = g_hash_table_lookup(cache->entries, path);
  return e && !g_strv_contains((const char *const *)e->names, name) && is_current(path, e);
}

static GStrv names_of(const fc_plugin *plugin) {
  guint n = plugin ? plugin->n_operators : 0;
  GStrv names = g_new0(char *, n + 1);
  for (guint i = 0; i < n; i++) names[i] = g_strdup(plugin->operators[i]->name);
  return names;
}

static gboolean holds(const entry *e, const fc_plugin_mark *mark, GStrv names) {
  return e && is_same(&e->mark, mark) &&
         g_strv_equal((const char *const *)e->names, (const char *const *)names);
}

void fc_plugin_cache_note(fc_plugin_cache *cache, const char *path, const fc_plugin_mark *mark,
                          const fc_plugin *plugin) {
  GStrv names = names_of(plugin);
  if (!mark->settled || mark->size < 0 || holds(g_hash_table_lookup(cache->entries, path), mark, names)) {
    g_strfreev(names);
    return;
  }
  add_entry(cache, path, mark, names);
  cache->dirty = TRUE;
}

void fc_plugin_cache_forget(fc_plugin_cache *cache, const char *path) {
  if (g_hash_table_remove(cache->entries, path)) cache->dirty = TRUE;
}

/* ---- reading ------------------------------------------------------------ */

static void take_entries(fc_plugin_cache *cache, GVariant *tree) {
  const char *writer, *path;
  GVariantIter *iter;
  fc_plugin_mark mark = {.settled = TRUE};
  GStrv names;
  g_variant_get(tree, "(^&aya" ENTRY_TYPE ")", &writer, &iter);
  while (strcmp(writer, cache->writer) == 0 &&
         g_variant_iter_next(iter, "(^&ayxxxt^as)", &path, &mark.size, &mark.modified, &mark.changed,
                             &mark.inode, &names))
    add_entry(cache, path, &mark, names);
  g_variant_iter_free(iter);
}

static void load(fc_plugin_cache *cache) {
  g_autoptr(GBytes) bytes = fc_private_read(cache->folder, FILE_NAME, LARGEST);
  if (!bytes) return;
  g_autoptr(GVariant) tree =
      g_variant_ref_sink(g_variant_new_from_bytes(G_VARIANT_TYPE(CACHE_TYPE), bytes, FALSE));
  if (g_variant_is_normal_form(tree)) take_entries(cache, tree);
}

/* ---- writing ------------------------------------------------------------ */

/* Files that are gone or have changed. */
static gboolean is_outdated(gpointer path, gpointer value, gpointer unused) {
  return !is_current(path, value);
}

static GVariant *tree_of(const fc_plugin_cache *cache) {
  GHashTableIter iter;
  gpointer path, value;
  GVariantBuilder list;
  g_variant_builder_init(&list, G_VARIANT_TYPE("a" ENTRY_TYPE));
  g_hash_table_iter_init(&iter, cache->entries);
  while (g_hash_table_iter_next(&iter, &path, &value)) {
    const entry *e = value;
    g_variant_builder_add(&list, "(^ayxxxt^as)", path, e->mark.size, e->mark.modified, e->mark.changed,
                          e->mark.inode, e->names);
  }
  return g_variant_ref_sink(g_variant_new("(^aya" ENTRY_TYPE ")", cache->writer, &list));
}

void fc_plugin_cache_save(fc_plugin_cache *cache) {
  if (!cache->dirty) return;
  cache->dirty = FALSE; /* if it cannot be written now, that is not tried again */
  if (!cache->folder) return;
  g_hash_table_foreach_remove(cache->entries, is_outdated, NULL);
  g_autoptr(GVariant) tree = tree_of(cache);
  gsize size = g_variant_get_size(tree);
  if (size <= LARGEST) fc_private_write(cache->folder, 2, FILE_NAME, g_variant_get_data(tree), size);
}

/* ---- as a whole ---------------------------------------------------------- */

/* The scanner's program contains the checks: another version may decide differently. */
static char *writer_of(const char *helper) {
  fc_plugin_mark mark = fc_plugin_mark_of(helper);
  return g_strdup_printf("filterchain %s, plugin ABI %d, layout %d, scanner of %" G_GINT64_FORMAT
                         " bytes at %" G_GINT64_FORMAT,
                         FC_VERSION, FC_PLUGIN_ABI, LAYOUT, mark.size, mark.modified);
}

fc_plugin_cache *fc_plugin_cache_open(const char *folder, const char *helper) {
  fc_plugin_cache *cache = g_new0(fc_plugin_cache, 1);
  cache->folder = g_strdup(folder);
  cache->writer = writer_of(helper);
  cache->entries = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_entry);
  if (folder) load(cache);
  return cache;
}

void fc_plugin_cache_free(fc_plugin_cache *cache) {
  if (!cache) return;
  g_hash_table_unref(cache->entries);
  g_free(cache->writer);
  g_free(cache->folder);
  g_free(cache);
}
