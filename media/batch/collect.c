/* SPDX-License-Identifier: MIT */
/* collect.c - see collect.h. */
#include "media/batch/collect.h"

#include "media/batch/names.h"
#include "media/batch/stack.h"
#include "media/batch/tar.h"

#include <string.h>

typedef struct member {
  char *path;
  GBytes *bytes;
} member;

struct fc_collect {
  char *pattern;
  unsigned flags;
  fc_stack *stack;   /* of an array; otherwise archives are written */
  fc_output *output; /* the current archive; NULL: none is open */
  gint64 number, step, items_most, bytes_most;
  gint64 items, failed; /* in the current archive */
  fc_record *record;
  GPtrArray *sample; /* of member: those of the current sample */
  gint64 index;      /* its number; -1: there is none */
  gboolean bad;      /* one of them has failed */
};

static void member_free(member *m) {
  g_free(m->path);
  g_bytes_unref(m->bytes);
  g_free(m);
}

/* ---- archives ---------------------------------------------------------------- */

static gboolean begin_shard(fc_collect *c, GError **error) {
  const fc_named named = {.shard = c->number};
  g_autofree char *path = fc_pattern_fill(c->pattern, &named);
  c->output = fc_output_open(path, c->flags, error);
  return c->output != NULL;
}

/* `next`: the first sample after it. */
static gboolean end_shard(fc_collect *c, gint64 next, GError **error) {
  if (!c->output) return TRUE;
  if (!fc_tar_put_end(c->output, error) || !fc_output_commit(c->output, error)) return FALSE;
  const fc_record_shard shard = {c->number, next, c->failed, fc_output_size(c->output)};
  fc_output_free(g_steal_pointer(&c->output));
  c->number += c->step;
  c->items = c->failed = 0;
  return !c->record || fc_record_add(c->record, &shard, error);
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
  const gint64 size = sample_size(c), held = c->output ? fc_output_size(c->output) : 0;
  const gboolean full = (c->items_most && c->items + 1 > c->items_most) ||
                        (c->bytes_most && c->items && held + size + 1024 > c->bytes_most);
  if (c->index < 0) return TRUE;
  c->failed += c->bad;
  if (!c->bad && full) {
    if (!end_shard(c, c->index, error)) return FALSE;
  }
  if (!c->bad && !c->output && !begin_shard(c, error)) return FALSE;
  for (guint i = 0; !c->bad && i < c->sample->len; i++) {
    const member *m = c->sample->pdata[i];
    if (!fc_tar_put(c->output, m->path, m->bytes, error)) return FALSE;
  }
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
  member *m = g_new(member, 1);
  *m = (member){g_strdup(path), g_bytes_ref(bytes)};
  g_ptr_array_add(c->sample, m);
  return TRUE;
}

/* ---- both ---------------------------------------------------------------------- */

fc_collect *fc_collect_shards(const char *pattern, unsigned flags, gint64 first, gint64 step, gint64 items,
                              gint64 bytes, fc_record *record) {
  fc_collect *c = g_new0(fc_collect, 1);
  const gint64 there = record ? (gint64)record->shards->len : 0;
  c->pattern = g_strdup(pattern), c->flags = flags;
  c->number = first + there * step, c->step = step;
  c->items_most = items, c->bytes_most = bytes;
  c->record = record;
  c->sample = g_ptr_array_new_with_free_func((GDestroyNotify)member_free);
  c->index = -1;
  return c;
}

fc_collect *fc_collect_array(const char *path, unsigned flags) {
  fc_collect *c = g_new0(fc_collect, 1);
  c->stack = fc_stack_new(path, flags);
  return c;
}

void fc_collect_free(fc_collect *c) {
  if (!c) return;
  fc_output_free(c->output);
  fc_stack_free(c->stack);
  if (c->sample) g_ptr_array_unref(c->sample);
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
  if (strcmp(c->pattern, "-") == 0 && !c->output && !begin_shard(c, error)) return FALSE;
  return end_shard(c, next, error);
}
