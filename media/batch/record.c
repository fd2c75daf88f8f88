/* SPDX-License-Identifier: MIT */
/* record.c - see record.h. An incomplete last line, left by a kill, is ignored. */
#include "media/batch/record.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

#define FIRST "filterchain batch 1\n"

static gboolean fail(const fc_record *record, GError **error) {
  return fc_fail(error, FC_IO, "%s: the record for --resume cannot be written: %s", record->path,
                 g_strerror(errno));
}

/* Writes all or fails. */
static gboolean write_text(const fc_record *record, const char *text, GError **error) {
  g_autofree char *beside = g_strconcat(record->path, ".new", NULL);
  FILE *file = fopen(beside, "we");
  if (!file) return fail(record, error);
  const gboolean written = fputs(text, file) >= 0;
  if (fclose(file) == 0 && written && rename(beside, record->path) == 0) return TRUE;
  return fail(record, error);
}

/* The value after a word at the beginning of a line; NULL if the word differs. */
static const char *value_of(const char *line, const char *word) {
  const gsize length = strlen(word);
  return strncmp(line, word, length) == 0 && line[length] == ' ' ? line + length + 1 : NULL;
}

/* Reads the lines; FALSE if the record is of another batch. `was` is set to its chain. */
static gboolean take_up(fc_record *record, const char *text, const char *id, char **was) {
  g_auto(GStrv) lines = g_strsplit(text, "\n", -1);
  gboolean same = FALSE;
  for (guint i = 1; lines[0] && lines[i] && lines[i + 1]; i++) { /* the last one is incomplete */
    fc_record_shard shard;
    const char *value;
    if ((value = value_of(lines[i], "id"))) same = strcmp(value, id) == 0;
    if ((value = value_of(lines[i], "chain"))) g_free(*was), *was = g_strdup(value);
    if (sscanf(lines[i],
               "shard %" G_GINT64_FORMAT " next %" G_GINT64_FORMAT " failed %" G_GINT64_FORMAT
               " bytes %" G_GINT64_FORMAT,
               &shard.number, &shard.next, &shard.failed, &shard.bytes) == 4)
      g_array_append_val(record->shards, shard);
  }
  return same;
}

static char *text_of(const fc_record *record, const char *id, const char *chain) {
  GString *text = g_string_new(FIRST);
  g_string_append_printf(text, "id %s\nchain %s\n", id, chain);
  for (guint i = 0; i < record->shards->len; i++) {
    const fc_record_shard *s = &g_array_index(record->shards, fc_record_shard, i);
    g_string_append_printf(text,
                           "shard %" G_GINT64_FORMAT " next %" G_GINT64_FORMAT " failed %" G_GINT64_FORMAT
                           " bytes %" G_GINT64_FORMAT "\n",
                           s->number, s->next, s->failed, s->bytes);
  }
  return g_string_free(text, FALSE);
}

static gboolean open_record(fc_record *record, const char *id, const char *chain, gboolean resume,
                            GError **error) {
  struct stat info;
  g_autofree char *before = NULL, *was = NULL;
  if (resume && g_file_get_contents(record->path, &before, NULL, NULL) && g_str_has_prefix(before, FIRST)) {
    record->resumed = TRUE;
    if (!take_up(record, before, id, &was))
      return fc_fail(error, FC_INVALID,
                     "%s: belongs to another batch (%s): name another output, or leave out --resume to start "
                     "from the beginning",
                     record->path, was ? was : "of another version");
  }
  g_autofree char *text = text_of(record, id, chain);
  if (!record->resumed && !write_text(record, text, error)) return FALSE;
  if (stat(record->path, &info) != 0) return fail(record, error);
  record->begun = info.st_mtim;
  return TRUE;
}

fc_record *fc_record_open(const char *path, const char *id, const char *chain, gboolean resume,
                          GError **error) {
  fc_record *record = g_new0(fc_record, 1);
  g_autofree char *line = g_strdelimit(g_strdup(chain), "\n", ' ');
  record->path = g_strdup(path);
  record->shards = g_array_new(FALSE, FALSE, sizeof(fc_record_shard));
  if (open_record(record, id, line, resume, error)) return record;
  fc_record_free(record);
  return NULL;
}

void fc_record_free(fc_record *record) {
  if (!record) return;
  g_array_unref(record->shards);
  g_free(record->path);
  g_free(record);
}

gboolean fc_record_has(const fc_record *record, const char *output) {
  struct stat info;
  if (!record->resumed || stat(output, &info) != 0 || !S_ISREG(info.st_mode)) return FALSE;
  return info.st_mtim.tv_sec > record->begun.tv_sec ||
         (info.st_mtim.tv_sec == record->begun.tv_sec && info.st_mtim.tv_nsec >= record->begun.tv_nsec);
}

gboolean fc_record_add(fc_record *record, const fc_record_shard *shard, GError **error) {
  FILE *file = fopen(record->path, "ae");
  if (!file) return fail(record, error);
  fprintf(file,
          "shard %" G_GINT64_FORMAT " next %" G_GINT64_FORMAT " failed %" G_GINT64_FORMAT
          " bytes %" G_GINT64_FORMAT "\n",
          shard->number, shard->next, shard->failed, shard->bytes);
  g_array_append_val(record->shards, *shard);
  return fclose(file) == 0 || fail(record, error);
}

gboolean fc_record_cut(fc_record *record, guint n, GError **error) {
  g_autofree char *before = NULL;
  if (!g_file_get_contents(record->path, &before, NULL, NULL)) return fail(record, error);
  g_array_set_size(record->shards, MIN(n, record->shards->len));
  const char *id = strstr(before, "\nid "), *chain = strstr(before, "\nchain ");
  if (!id || !chain) return TRUE;
  g_autofree char *id_line = g_strndup(id + 4, strcspn(id + 4, "\n")),
                  *chain_line = g_strndup(chain + 7, strcspn(chain + 7, "\n"));
  g_autofree char *text = text_of(record, id_line, chain_line);
  return write_text(record, text, error);
}
