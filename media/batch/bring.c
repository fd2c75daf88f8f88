/* SPDX-License-Identifier: MIT */
/*
 * bring.c - brings the inputs of a batch to the executor one after the other: files of the list as they are,
 * members of archives with their content. Nothing is read ahead of what the executor asks for, so that memory
 * does not grow with the batch.
 */
#include "media/batch/batch.h"

#include "core/context/chain.h"
#include "media/file/formats.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <string.h>

/* ---- folders ------------------------------------------------------------------ */

/* With those above it, which are remembered if they were made, so that empty ones can go again. */
static gboolean make_folder(fc_batch *b, const char *path, GError **error) {
  if (!*path || g_hash_table_contains(b->folders, path)) return TRUE;
  if (!g_file_test(path, G_FILE_TEST_IS_DIR)) {
    g_autofree char *above = g_path_get_dirname(path);
    if (strcmp(above, path) != 0 && strcmp(above, ".") != 0 && !make_folder(b, above, error)) return FALSE;
    if (g_mkdir(path, 0777) == 0)
      g_ptr_array_add(b->made, g_strdup(path));
    else if (errno != EEXIST || !g_file_test(path, G_FILE_TEST_IS_DIR))
      return fc_fail(error, FC_IO, "%s: the folder cannot be created: %s", path, g_strerror(errno));
  } else if (b->spec.resume)
    fc_output_sweep(path);
  g_hash_table_add(b->folders, g_strdup(path));
  return TRUE;
}

gboolean fc_batch_need_folder(fc_batch *b, const char *path, GError **error) {
  g_autofree char *folder = g_path_get_dirname(path);
  return make_folder(b, folder, error);
}

/* ---- one of them ----------------------------------------------------------------- */

static gboolean is_ours(const fc_batch *b, gint64 index) {
  return b->spec.parts <= 1 || index % b->spec.parts == b->spec.part;
}

/* A file that takes its place where the archive or the list has told that it comes to nothing. */
static fc_task *failed_task(gint64 index, const char *input, GError *why) {
  fc_task *task = g_new0(fc_task, 1);
  task->index = index, task->input = g_strdup(input), task->why = why;
  return task;
}

/* Puts a folder there, and reports what was there before: then FALSE. */
static gboolean is_wanted(fc_batch *b, const fc_task *task, GError **error) {
  if (b->target != FC_TO_FILES || !task->output || !b->folders) return TRUE; /* the last: a preview */
  g_autofree char *path = task->pass ? g_strdup(task->output) : fc_file_split(task->output, FALSE, NULL);
  if (!fc_batch_need_folder(b, path, error)) return TRUE;
  if (b->written && !g_hash_table_add(b->written, g_strdup(path)))
    return fc_fail(error, FC_INVALID, "%s: another member was written to %s already", task->input, path),
           TRUE;
  if (!b->spec.resume || !fc_record_has(b->record, path)) return TRUE;
  b->resumed++;
  return FALSE;
}

static fc_task *checked(fc_batch *b, fc_task *task) {
  if (is_wanted(b, task, &task->why)) return task;
  fc_task_free(task);
  return NULL;
}

static fc_task *task_of(fc_batch *b, const fc_named *named, const char *options, gboolean found,
                        gboolean pass) {
  fc_task *task = g_new0(fc_task, 1);
  task->index = named->index;
  task->random_name = g_strdup(named->path + named->root);
  task->pass = pass;
  task->output = fc_batch_output(b, named, found, pass);
  task->keep = b->target == FC_TO_SHARDS || b->target == FC_TO_ARRAY;
  if (b->target == FC_TO_ARRAY) task->format = g_strdup("npy");
  return task;
}

/* ---- members ------------------------------------------------------------------------ */

static gboolean is_media(const char *path) {
  const fc_file_format *format = fc_format_by_extension(path);
  return format && format->open && format->open != fc_raw_open;
}

static void end_archive(fc_batch *b) {
  if (b->tar) b->inputs.skipped += fc_tar_skipped(b->tar);
  g_clear_pointer(&b->tar, fc_tar_free);
  if (b->key) b->index++;
  g_clear_pointer(&b->tar_name, g_free);
  g_clear_pointer(&b->key, g_free);
}

/* A member begins a sample where its key is not the last one's. */
static void count_member(fc_batch *b, const char *path) {
  g_autofree char *key = g_strndup(path, fc_tar_key(path));
  if (g_strcmp0(key, b->key) == 0) return;
  if (b->key) b->index++;
  g_free(b->key);
  b->key = g_steal_pointer(&key);
}

static fc_task *member_task(fc_batch *b, const char *path) {
  const fc_named named = {.path = path, .index = b->index};
  const gboolean pass = !is_media(path);
  fc_task *task = task_of(b, &named, b->tar_entry->options, TRUE, pass);
  g_autofree char *name = g_strconcat(b->tar_name, "/", path, NULL);
  task->input = pass ? g_strdup(name) : fc_file_join(name, b->tar_entry->options);
  return checked(b, task);
}

/* The next one of this part of the batch; NULL: the archive has ended. One that cannot be held in memory
 * fails alone; an archive that is damaged has no more members that could be found. */
static fc_task *next_member(fc_batch *b) {
  const gint64 most = (gint64)MIN(b->chain->context->max_memory / 4, (gsize)G_MAXINT64);
  for (;;) {
    g_autofree char *path = NULL;
    GError *why = NULL;
    gint64 size;
    const int got = fc_tar_next(b->tar, &path, &size, &why);
    if (got == 0 && !fc_tar_members(b->tar))
      fc_context_log(b->chain->context, FC_LOG_WARNING, "%s: is an archive without members", b->tar_name);
    if (got == 0) return end_archive(b), NULL;
    if (got < 0) {
      fc_task *task = failed_task(b->index, b->tar_name, why);
      end_archive(b);
      return task;
    }
    count_member(b, path);
    if (!is_ours(b, b->index) || b->index < b->first) continue;
    if (b->target == FC_TO_ARRAY && !is_media(path)) continue;
    fc_task *task = member_task(b, path);
    if (!task) continue;
    if (task->why) return task; /* it has no place; those behind it may have */
    task->content = fc_tar_content(b->tar, most, &task->why);
    if (task->content) task->bytes = size; /* else it is what a header says, which may be anything */
    if (task->content || g_error_matches(task->why, FC_ERROR, FC_UNSUPPORTED)) return task;
    fc_task *last = failed_task(b->index, b->tar_name, g_steal_pointer(&task->why));
    fc_task_free(task);
    end_archive(b);
    return last;
  }
}

/* ---- the list ------------------------------------------------------------------------- */

static fc_task *open_archive(fc_batch *b, const fc_entry *entry) {
  GError *why = NULL;
  fc_input *input =
      b->stream ? g_steal_pointer(&b->stream) : fc_input_open(entry->path, b->options.cancel, &why);
  b->tar = input ? fc_tar_open(input, &why) : NULL;
  b->tar_name = fc_display_name(entry->path, "standard input");
  b->tar_entry = entry;
  if (b->tar) return NULL;
  fc_task *task = failed_task(b->index++, b->tar_name, why);
  end_archive(b);
  return task;
}

static fc_task *listed_task(fc_batch *b, const fc_entry *entry, gint64 index) {
  const fc_named named = {.path = entry->path, .root = entry->root, .index = index};
  fc_task *task = task_of(b, &named, entry->options, entry->found, FALSE);
  task->input = fc_entry_text(entry);
  return checked(b, task);
}

void fc_batch_rewind(fc_batch *b) {
  end_archive(b);
  b->entry = 0, b->index = 0;
}

fc_task *fc_batch_bring(void *batch) {
  fc_batch *b = batch;
  for (fc_task *task = NULL;;) {
    if (b->tar && (task = next_member(b))) return task;
    if (b->tar) continue;
    if (b->entry == b->inputs.entries->len) return NULL;
    const fc_entry *entry = &g_array_index(b->inputs.entries, fc_entry, b->entry++);
    if (fc_batch_is_archive(b, entry->path)) {
      if ((task = open_archive(b, entry))) return task;
      continue;
    }
    const gint64 index = b->index++;
    if (!is_ours(b, index) || index < b->first) continue;
    if ((task = listed_task(b, entry, index))) return task;
  }
}
