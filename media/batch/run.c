/* SPDX-License-Identifier: MIT */
/*
 * run.c - runs a batch: writes the record, gives the executor the tasks of bring.c, reports and collects
 * results in order, and removes folders that were created but stayed empty.
 */
#include "media/batch/batch.h"

#include "core/context/chain.h"

#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define PIECE 65536 /* bytes */

/* ---- the record ----------------------------------------------------------------- */

static void add_text(GChecksum *sum, const char *text) {
  g_checksum_update(sum, (const guchar *)(text ? text : ""), (gssize)(text ? strlen(text) + 1 : 1));
}

static void add_number(GChecksum *sum, gint64 value) {
  g_autofree char *text = g_strdup_printf("%" G_GINT64_FORMAT, value);
  add_text(sum, text);
}

/* By its content, read in pieces: a further input may be long. */
static void add_file(GChecksum *sum, const char *path) {
  FILE *file = fopen(path, "re");
  g_autofree guchar *piece = g_malloc(PIECE);
  for (gsize got; file && (got = fread(piece, 1, PIECE, file)) > 0;)
    g_checksum_update(sum, piece, (gssize)got);
  if (file) fclose(file);
}

/* Hashes tables, and further inputs of stages: one may have been edited since. */
static void add_files(GChecksum *sum, const fc_chain *chain) {
  g_autofree const char **files = fc_chain_files(chain);
  for (guint i = 0; files[i]; i++) add_file(sum, files[i]);
  for (guint i = 0; i < chain->n; i++)
    for (guint k = 0; k < chain->stages[i].n_inputs; k++) {
      const char *input = chain->stages[i].inputs[k].path;
      g_autofree char *path = input ? fc_file_split(input, TRUE, NULL) : NULL;
      if (path) add_file(sum, path);
    }
}

/* Hashes everything that outputs depend on, except the inputs' content. If a sample's number is part of a
 * name, or determines its archive, the list of inputs too. */
static char *id_of(const fc_batch *b) {
  g_autoptr(GChecksum) sum = g_checksum_new(G_CHECKSUM_SHA256);
  const fc_options *o = &b->options;
  const fc_batch_spec *s = &b->spec;
  const gint64 numbers[] = {o->precision,     o->allow_truncated, s->part,      s->parts,
                            s->shard_items,   s->shard_bytes,     s->recursive, (gint64)o->seed,
                            (gint64)o->epoch, o->decode};
  add_text(sum, fc_version());
  for (guint i = 0; s->stages && s->stages[i]; i++) add_text(sum, s->stages[i]);
  add_files(sum, b->chain);
  add_text(sum, s->output);
  add_text(sum, o->out_format);
  add_text(sum, o->in_format);
  add_text(sum, o->in_raw);
  for (guint i = 0; i < G_N_ELEMENTS(numbers); i++) add_number(sum, numbers[i]);
  const gboolean numbered = b->target == FC_TO_SHARDS || fc_pattern_has(b->pattern, "index");
  for (guint i = 0; numbered && i < b->inputs.entries->len; i++)
    add_text(sum, g_array_index(b->inputs.entries, fc_entry, i).path);
  return g_strdup(g_checksum_get_string(sum));
}

/* Beside the outputs, one for each form of output and each shard of the batch. */
static char *record_path(const fc_batch *b) {
  g_autofree char *folder = b->folder ? g_strdup(b->pattern) : fc_pattern_folder(b->pattern);
  g_autofree char *what = g_strdup_printf("%s %" G_GINT64_FORMAT "/%" G_GINT64_FORMAT, b->spec.output,
                                          b->spec.part, b->spec.parts);
  g_autofree char *hash = g_compute_checksum_for_string(G_CHECKSUM_SHA256, what, -1);
  g_autofree char *name = g_strdup_printf(".filterchain-batch-%.12s", hash);
  return *folder ? g_build_filename(folder, name, NULL) : g_steal_pointer(&name);
}

/* Files that are named individually leave no record beside their outputs, unless --resume is given. */
static gboolean wants_record(const fc_batch *b) {
  if (b->target != FC_TO_FILES && b->target != FC_TO_SHARDS) return FALSE;
  if (strcmp(b->pattern, "-") == 0) return FALSE;
  return b->spec.resume || b->spec.parts || b->inputs.searched || b->archives || b->target == FC_TO_SHARDS;
}

static gboolean open_record(fc_batch *b, GError **error) {
  if (!wants_record(b)) return TRUE;
  g_autofree char *path = record_path(b), *id = id_of(b),
                  *stages = b->spec.stages ? g_strjoinv(" -p ", (char **)b->spec.stages) : g_strdup("");
  g_autofree char *chain = g_strdup_printf("%s%s -o %s", *stages ? "-p " : "", stages, b->spec.output);
  if (!fc_batch_need_folder(b, path, error)) return FALSE;
  b->record = fc_record_open(path, id, chain, b->spec.resume, error);
  if (b->record && b->spec.resume && !b->record->resumed)
    fc_context_log(b->chain->context, FC_LOG_INFO,
                   "%s: there is no record of this batch: it starts from the beginning", path);
  return b->record != NULL;
}

/* ---- archives that are there ------------------------------------------------------- */

/* The archives, from the first one on, that are both in the record and on the disk. */
static gboolean find_shards(fc_batch *b, gint64 *failed, GError **error) {
  GArray *shards = b->record->shards;
  guint n = 0;
  for (; n < shards->len; n++) {
    const fc_record_shard *shard = &g_array_index(shards, fc_record_shard, n);
    const fc_named named = {.shard = shard->number};
    g_autofree char *path = fc_pattern_fill(b->pattern, &named);
    struct stat info;
    if (stat(path, &info) != 0 || info.st_size != shard->bytes) break;
    b->first = shard->next;
    *failed += shard->failed;
  }
  b->resumed = b->spec.parts > 1 ? (b->first + b->spec.parts - 1 - b->spec.part) / b->spec.parts : b->first;
  return !b->record->resumed || fc_record_cut(b->record, n, error);
}

static gboolean open_collect(fc_batch *b, gint64 *failed, GError **error) {
  const fc_batch_spec *s = &b->spec;
  const unsigned flags =
      (b->options.no_clobber ? FC_OUTPUT_NO_CLOBBER : 0) | (b->options.sync ? FC_OUTPUT_SYNC : 0);
  if (b->target == FC_TO_ARRAY) b->collect = fc_collect_array(b->pattern, flags);
  if (b->target != FC_TO_SHARDS) return TRUE;
  if (b->record && !find_shards(b, failed, error)) return FALSE;
  b->collect = fc_collect_shards(b->pattern, flags, s->part, MAX(s->parts, 1), s->shard_items, s->shard_bytes,
                                 b->chain->context->max_memory / 8, b->record);
  return TRUE;
}

/* ---- what comes back ------------------------------------------------------------------ */

/* Copies a member that is not media to a file. */
static void write_passed(fc_batch *b, fc_task *task) {
  gsize size;
  const void *data = g_bytes_get_data(task->content, &size);
  const unsigned flags =
      (b->options.no_clobber ? FC_OUTPUT_NO_CLOBBER : 0) | (b->options.sync ? FC_OUTPUT_SYNC : 0);
  g_autoptr(fc_output) output = fc_output_open(task->output, flags, &task->why);
  if (output && fc_output_write(output, data, size, &task->why)) fc_output_commit(output, &task->why);
}

/* An error in one row fails only that row; others end the batch. */
static void collect(fc_batch *b, fc_task *task) {
  GError *why = NULL;
  g_autofree char *path = task->output ? fc_file_split(task->output, FALSE, NULL) : NULL;
  GBytes *bytes = task->why ? NULL : task->pass ? task->content : task->made;
  const char *name = b->target == FC_TO_ARRAY ? task->input : task->pass ? task->output : path;
  if (fc_collect_add(b->collect, task->index, name, bytes, &why)) return;
  if (g_error_matches(why, FC_ERROR, FC_UNSUPPORTED) && !task->why) {
    if (b->target == FC_TO_SHARDS) g_prefix_error(&why, "%s: ", task->input);
    task->why = why;
  } else
    b->error = why;
}

static gint64 size_of(const fc_task *task) {
  struct stat info;
  if (task->bytes) return task->bytes;
  g_autofree char *path = fc_file_split(task->input, TRUE, NULL);
  return stat(path, &info) == 0 ? (gint64)info.st_size : 0;
}

static gboolean is_done(fc_task *task, void *data) {
  fc_batch *b = data;
  const gboolean was_failed = task->why != NULL;
  if (b->error && !task->why) /* tasks in progress when the batch had to end are dropped */
    task->why = g_error_copy(b->error);
  else if (b->collect && !b->error)
    collect(b, task);
  else if (task->pass && !task->why && task->output)
    write_passed(b, task);
  if (!was_failed && task->why && task->result) g_clear_pointer(&task->result, fc_result_free);
  const fc_batch_file file = {.size = sizeof file,
                              .index = task->index,
                              .input = task->input,
                              .output = task->output,
                              .bytes = size_of(task),
                              .result = task->result,
                              .why = task->why};
  return b->done(&file, b->data) && !b->error;
}

/* ---- all of it ---------------------------------------------------------------------------- */

static gboolean is_stopped(const fc_batch *b) {
  return b->options.cancel && g_atomic_int_get(b->options.cancel);
}

static gint64 run(fc_batch *b, GError **error) {
  gint64 before = 0;
  if (!fc_tasks_check(b->chain, &b->options, error)) return -1;
  if (!open_record(b, error) || !open_collect(b, &before, error)) return -1;
  if (b->collect && !fc_batch_need_folder(b, b->pattern, error)) return -1;
  const gint64 most = fc_batch_count(b);
  const fc_tasks tasks = {fc_batch_bring, is_done, b, most < 0 ? 0 : MAX(most, 1)};
  const gint64 failed = fc_chain_run_tasks(b->chain, &tasks, &b->options, error);
  if (failed < 0) return -1;
  if (b->collect && !b->error && !is_stopped(b)) fc_collect_end(b->collect, b->index, &b->error);
  if (!b->error) return before + failed;
  g_propagate_error(error, g_steal_pointer(&b->error));
  return -1;
}

gint64 fc_batch_run(fc_batch *b, fc_batch_fn done, void *data, GError **error) {
  b->done = done, b->data = data;
  b->folders = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  b->made = g_ptr_array_new_with_free_func(g_free);
  if (b->archives) b->written = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  const gint64 failed = run(b, error);
  g_clear_pointer(&b->collect, fc_collect_free);
  for (guint i = b->made->len; i-- > 0;) g_rmdir(b->made->pdata[i]); /* those that are not empty stay */
  g_clear_pointer(&b->made, g_ptr_array_unref);
  g_clear_pointer(&b->folders, g_hash_table_unref);
  g_clear_pointer(&b->written, g_hash_table_unref);
  return failed;
}
