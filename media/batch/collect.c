/* SPDX-License-Identifier: MIT */
/* collect.c - see collect.h. */
#include "media/batch/collect.h"

#include "media/batch/names.h"
#include "media/batch/stack.h"
#include "media/batch/tar.h"

#include <string.h>

/* Archives that are written at a time, by a thread each: one writes 1.3 to 2.6 GB/s into memory, and images
 * decoded on a GPU make 7 GB/s of tensors. They are put in place in order. */
#define WRITERS 8

typedef struct member {
  char *path;
  GBytes *bytes;
} member;

/* An archive that is being written. */
typedef struct writer {
  fc_collect *collect;
  fc_output *output; /* the thread's, while it runs */
  GThread *thread;   /* NULL: none could be started, and the caller writes */
  gint64 number, next, failed, size;
  GQueue members; /* of member; this and the fields below are guarded by the collect's mutex */
  gboolean ended, dropped;
  GError *error;
} writer;

struct fc_collect {
  char *pattern;
  unsigned flags;
  fc_stack *stack; /* of an array; otherwise archives are written */
  writer *open;    /* the current archive, or NULL */
  GQueue closed;   /* of writer: archives that are complete, oldest first, and not in place yet */
  GMutex mutex;
  GCond changed;
  gsize waiting, waiting_most; /* bytes of members that are not written yet; guarded by mutex */
  gint64 number, step, items_most, bytes_most;
  gint64 items, failed; /* in the current archive */
  fc_record *record;
  GPtrArray *sample; /* of member: those of the current sample */
  gint64 index;      /* its number; -1: there is none */
  gboolean bad;      /* one of them has failed */
};

static void member_free(member *m) {
  if (!m) return;
  g_free(m->path);
  g_clear_pointer(&m->bytes, g_bytes_unref);
  g_free(m);
}

/* ---- a thread for each archive ------------------------------------------------ */

static gpointer write_members(gpointer data) {
  writer *w = data;
  fc_collect *c = w->collect;
  g_mutex_lock(&c->mutex);
  for (;;) {
    member *m = g_queue_pop_head(&w->members);
    if (!m && w->ended) break;
    if (!m) {
      g_cond_wait(&c->changed, &c->mutex);
      continue;
    }
    const gsize size = g_bytes_get_size(m->bytes);
    GError *error = NULL;
    const gboolean failed = w->error || w->dropped;
    g_mutex_unlock(&c->mutex);
    if (!failed) fc_tar_put(w->output, m->path, m->bytes, &error);
    member_free(m);
    g_mutex_lock(&c->mutex);
    if (error) w->error = error;
    c->waiting -= size;
    g_cond_broadcast(&c->changed);
  }
  g_mutex_unlock(&c->mutex);
  return NULL;
}

/* Takes the member over. */
static gboolean write_member(fc_collect *c, member *m, GError **error) {
  writer *w = c->open;
  const gsize size = g_bytes_get_size(m->bytes);
  w->size += fc_tar_size(m->path, (gint64)size);
  if (!w->thread) {
    const gboolean ok = fc_tar_put(w->output, m->path, m->bytes, error);
    member_free(m);
    return ok;
  }
  g_mutex_lock(&c->mutex);
  while (c->waiting && c->waiting + size > c->waiting_most) g_cond_wait(&c->changed, &c->mutex);
  const gboolean ok = !w->error;
  if (!ok) g_propagate_error(error, g_error_copy(w->error));
  if (ok) g_queue_push_tail(&w->members, m), c->waiting += size;
  g_cond_broadcast(&c->changed);
  g_mutex_unlock(&c->mutex);
  if (!ok) member_free(m);
  return ok;
}

/* Waits for its thread. */
static void join_writer(writer *w) {
  fc_collect *c = w->collect;
  g_mutex_lock(&c->mutex);
  w->ended = TRUE;
  g_cond_broadcast(&c->changed);
  g_mutex_unlock(&c->mutex);
  if (w->thread) g_thread_join(g_steal_pointer(&w->thread));
}

static void free_writer(writer *w) {
  if (!w) return;
  g_mutex_lock(&w->collect->mutex);
  w->dropped = TRUE;
  g_mutex_unlock(&w->collect->mutex);
  join_writer(w);
  fc_output_free(w->output);
  g_clear_error(&w->error);
  g_free(w);
}

/* ---- archives ---------------------------------------------------------------- */

static gboolean begin_shard(fc_collect *c, GError **error) {
  const fc_named named = {.shard = c->number};
  g_autofree char *path = fc_pattern_fill(c->pattern, &named);
  fc_output *output = fc_output_open(path, c->flags, error);
  if (!output) return FALSE;
  c->open = g_new0(writer, 1);
  *c->open = (writer){.collect = c, .output = output, .number = c->number};
  c->open->thread = g_thread_try_new("archive", write_members, c->open, NULL);
  return TRUE;
}

/* Puts the oldest archive in place. */
static gboolean finish_shard(fc_collect *c, GError **error) {
  writer *w = g_queue_pop_head(&c->closed);
  join_writer(w);
  gboolean ok = !w->error;
  if (!ok) g_propagate_error(error, g_steal_pointer(&w->error));
  ok = ok && fc_tar_put_end(w->output, error) && fc_output_commit(w->output, error);
  const fc_record_shard shard = {w->number, w->next, w->failed, ok ? fc_output_size(w->output) : 0};
  free_writer(w);
  return ok && (!c->record || fc_record_add(c->record, &shard, error));
}

/* `next`: the first sample after it. */
static gboolean end_shard(fc_collect *c, gint64 next, GError **error) {
  if (!c->open) return TRUE;
  c->open->next = next, c->open->failed = c->failed;
  g_queue_push_tail(&c->closed, g_steal_pointer(&c->open));
  c->number += c->step;
  c->items = c->failed = 0;
  return g_queue_get_length(&c->closed) < WRITERS || finish_shard(c, error);
}

static gint64 sample_size(const fc_collect *c) {
  gint64 size = 0;
  for (guint i = 0; i < c->sample->len; i++) {
    const member *m = c->sample->pdata[i];
    size += fc_tar_size(m->path, (gint64)g_bytes_get_size(m->bytes));
  }
  return size;
}

/* The current sample is complete: adds it to the current archive, or to the next one. */
static gboolean end_sample(fc_collect *c, GError **error) {
  const gint64 size = sample_size(c), held = c->open ? c->open->size : 0;
  const gboolean full = (c->items_most && c->items + 1 > c->items_most) ||
                        (c->bytes_most && c->items && held + size + 1024 > c->bytes_most);
  if (c->index < 0) return TRUE;
  c->failed += c->bad;
  if (!c->bad && full) {
    if (!end_shard(c, c->index, error)) return FALSE;
  }
  if (!c->bad && !c->open && !begin_shard(c, error)) return FALSE;
  for (guint i = 0; !c->bad && i < c->sample->len; i++)
    if (!write_member(c, g_steal_pointer(&c->sample->pdata[i]), error)) return FALSE;
  c->items += !c->bad;
  c->bad = FALSE;
  c->index = -1;
  g_ptr_array_set_size(c->sample, 0);
  return TRUE;
}

static gboolean add_member(fc_collect *c, gint64 index, const char *path, GBytes *bytes, GError **error) {
  if (index != c->index && !end_sample(c, error)) return FALSE;
  c->index = index;
  c->bad |= bytes == NULL;
  if (!bytes) return TRUE;
  for (guint i = 0; i < c->sample->len; i++)
    if (strcmp(((const member *)c->sample->pdata[i])->path, path) == 0) {
      c->bad = TRUE;
      return fc_fail(error, FC_UNSUPPORTED, "%s: two members of one sample have this name", path);
    }
  member *m = g_new(member, 1);
  *m = (member){g_strdup(path), g_bytes_ref(bytes)};
  g_ptr_array_add(c->sample, m);
  return TRUE;
}

/* ---- both ---------------------------------------------------------------------- */

fc_collect *fc_collect_shards(const char *pattern, unsigned flags, gint64 first, gint64 step, gint64 items,
                              gint64 bytes, gsize waiting, fc_record *record) {
  fc_collect *c = g_new0(fc_collect, 1);
  const gint64 there = record ? (gint64)record->shards->len : 0;
  c->pattern = g_strdup(pattern), c->flags = flags;
  c->number = first + there * step, c->step = step;
  c->items_most = items, c->bytes_most = bytes;
  c->record = record;
  c->waiting_most = waiting;
  c->sample = g_ptr_array_new_with_free_func((GDestroyNotify)member_free);
  c->index = -1;
  g_mutex_init(&c->mutex), g_cond_init(&c->changed);
  return c;
}

fc_collect *fc_collect_array(const char *path, unsigned flags) {
  fc_collect *c = g_new0(fc_collect, 1);
  c->stack = fc_stack_new(path, flags);
  g_mutex_init(&c->mutex), g_cond_init(&c->changed);
  return c;
}

void fc_collect_free(fc_collect *c) {
  if (!c) return;
  free_writer(c->open);
  g_queue_clear_full(&c->closed, (GDestroyNotify)free_writer);
  fc_stack_free(c->stack);
  if (c->sample) g_ptr_array_unref(c->sample);
  g_mutex_clear(&c->mutex);
  g_cond_clear(&c->changed);
  g_free(c->pattern);
  g_free(c);
}

gboolean fc_collect_add(fc_collect *c, gint64 index, const char *path, GBytes *bytes, GError **error) {
  return c->stack ? fc_stack_add(c->stack, path, bytes, error) : add_member(c, index, path, bytes, error);
}

gboolean fc_collect_end(fc_collect *c, gint64 next, GError **error) {
  if (c->stack) return fc_stack_end(c->stack, error);
  if (!end_sample(c, error)) return FALSE;
  /* The reader of a pipe gets an archive even if it is empty. */
  if (strcmp(c->pattern, "-") == 0 && !c->open && !begin_shard(c, error)) return FALSE;
  gboolean ok = end_shard(c, next, error);
  while (ok && c->closed.head) ok = finish_shard(c, error);
  return ok;
}
