/* SPDX-License-Identifier: MIT */
/* archive.c - see archive.h. */
#include "core/prebuilt/archive.h"

#include <string.h>

/* Key, SHA-256 of the code in hexadecimal, code. */
#define ENTRY   "(ssay)"
#define ENTRIES "a" ENTRY

static char *digest_of(GBytes *code) {
  return g_compute_checksum_for_bytes(G_CHECKSUM_SHA256, code);
}

/* The code of an entry, which keeps the file's content in memory; NULL: damaged. */
static GBytes *code_of(GVariant *entry, const char *digest) {
  g_autoptr(GVariant) bytes = g_variant_get_child_value(entry, 2);
  GBytes *code = g_variant_get_data_as_bytes(bytes);
  g_autofree char *is = digest_of(code);
  if (g_bytes_get_size(code) == 0 || strcmp(is, digest) != 0) g_clear_pointer(&code, g_bytes_unref);
  return code;
}

GBytes *fc_archive_find(const char *path, const char *key) {
  char *content;
  gsize size;
  if (!g_file_get_contents(path, &content, &size, NULL)) return NULL;
  g_autoptr(GBytes) all = g_bytes_new_take(content, size);
  g_autoptr(GVariant) entries =
      g_variant_ref_sink(g_variant_new_from_bytes(G_VARIANT_TYPE(ENTRIES), all, FALSE));
  GBytes *code = NULL;
  for (gsize i = 0; !code && i < g_variant_n_children(entries); i++) {
    const char *name, *digest;
    g_autoptr(GVariant) entry = g_variant_get_child_value(entries, i);
    g_variant_get_child(entry, 0, "&s", &name), g_variant_get_child(entry, 1, "&s", &digest);
    if (strcmp(name, key) == 0) code = code_of(entry, digest);
  }
  return code;
}

gboolean fc_archive_write(const char *path, GHashTable *codes, GError **error) {
  GVariantBuilder builder;
  g_autoptr(GList) keys = g_list_sort(g_hash_table_get_keys(codes), (GCompareFunc)strcmp);
  g_variant_builder_init(&builder, G_VARIANT_TYPE(ENTRIES));
  for (const GList *k = keys; k; k = k->next) {
    GBytes *code = g_hash_table_lookup(codes, k->data);
    g_autofree char *digest = digest_of(code);
    g_variant_builder_add(&builder, "(ss@ay)", k->data, digest,
                          g_variant_new_from_bytes(G_VARIANT_TYPE("ay"), code, TRUE));
  }
  g_autoptr(GVariant) entries = g_variant_ref_sink(g_variant_builder_end(&builder));
  return g_file_set_contents(path, g_variant_get_data(entries), (gssize)g_variant_get_size(entries), error);
}
