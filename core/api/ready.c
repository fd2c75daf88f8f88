/* SPDX-License-Identifier: MIT */
/* ready.c - see ready.h. */
#include "core/api/ready.h"

/* Runs kept for later: enough for a few shapes in turn. */
#define READY_MOST 4

typedef struct ready {
  GBytes *key;
  fc_run *run;
  gboolean pinned;
} ready;

static void free_ready(gpointer data) {
  ready *r = data;
  fc_run_free(r->run);
  g_bytes_unref(r->key);
  g_free(r);
}

static gboolean find(const fc_chain *chain, GBytes *key, guint *index) {
  for (guint i = 0; key && i < chain->ready->len; i++)
    if (g_bytes_equal(((ready *)g_ptr_array_index(chain->ready, i))->key, key)) {
      *index = i;
      return TRUE;
    }
  return FALSE;
}

/* Pinned runs stay in the list, so that they are not evicted. */
fc_run *fc_ready_take(fc_chain *chain, GBytes *key) {
  guint i;
  if (!find(chain, key, &i)) return NULL;
  ready *r = g_ptr_array_index(chain->ready, i);
  if (r->pinned) return r->run;
  g_ptr_array_steal_index(chain->ready, i);
  fc_run *run = r->run;
  g_bytes_unref(r->key);
  g_free(r);
  return run;
}

static void trim(fc_chain *chain) {
  guint loose = 0;
  for (guint i = 0; i < chain->ready->len; i++)
    loose += !((ready *)g_ptr_array_index(chain->ready, i))->pinned;
  for (guint i = 0; i < chain->ready->len && loose > READY_MOST;) {
    if (((ready *)g_ptr_array_index(chain->ready, i))->pinned)
      i++;
    else
      g_ptr_array_remove_index(chain->ready, i), loose--;
  }
}

static void add(fc_chain *chain, GBytes *key, fc_run *run, gboolean pinned) {
  guint i;
  if (!key) {
    fc_run_free(run);
    return;
  }
  if (find(chain, key, &i)) {
    ready *there = g_ptr_array_index(chain->ready, i);
    there->pinned |= pinned; /* it was pinned, so it never left the list */
    return;
  }
  ready *r = g_new0(ready, 1);
  *r = (ready){g_bytes_ref(key), run, pinned};
  g_ptr_array_set_free_func(chain->ready, free_ready);
  g_ptr_array_add(chain->ready, r);
  trim(chain);
}

void fc_ready_keep(fc_chain *chain, GBytes *key, fc_run *run) {
  add(chain, key, run, FALSE);
}

void fc_ready_pin(fc_chain *chain, GBytes *key, fc_run *run) {
  add(chain, key, run, TRUE);
}

gboolean fc_ready_check(fc_chain *chain, GError **error) {
  for (guint i = 0; i < chain->ready->len; i++)
    if (!fc_run_check(((ready *)g_ptr_array_index(chain->ready, i))->run, "output", error)) return FALSE;
  return TRUE;
}
