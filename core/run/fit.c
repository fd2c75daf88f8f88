/* SPDX-License-Identifier: MIT */
/* fit.c - see fit.h. Preparing is done once, see chain.h: to ask again about smaller chunks costs little. */
#include "core/run/fit.h"

#include "core/base/error.h"
#include "core/base/pool.h"
#include "core/run/work.h"

typedef struct fit {
  fc_plan *plan;
  double room;
  double need;  /* with the plan's chunk */
  guint widest; /* the stage that works in the most */
} fit;

/* FALSE when a stage cannot be prepared. */
static gboolean ask(fit *f, int threads, GError **error) {
  double scratch = fc_work_need(f->plan, threads, &f->widest, error);
  if (scratch < 0) return FALSE;
  f->plan->scratch = scratch;
  f->need = fc_plan_host_bytes(f->plan) + scratch;
  return TRUE;
}

static gboolean fits(const fit *f) {
  return f->need <= f->room;
}

/* Smaller chunks with so many threads, until they fit or save too little; but for one thread any that fits
 * will do. */
static gboolean try_chunks(fit *f, int threads, GError **error) {
  double was = G_MAXDOUBLE;
  if (!ask(f, threads, error)) return FALSE;
  while (!fits(f) && f->plan->chunk > 1 && !f->plan->whole) {
    if (threads > 1 && f->need > was * (1 - FC_LEAST_WORTH_SAVING)) break;
    was = f->need;
    f->plan->chunk /= 2;
    if (!ask(f, threads, error)) return FALSE;
  }
  return TRUE;
}

static gboolean fail(const fit *f, GError **error) {
  const double most = (double)f->plan->chain->context->max_memory;
  g_autofree char *takes = fc_size_for_message(f->need), *limit = fc_size_for_message(most),
                  *room = fc_size_for_message(f->room), *scratch = fc_size_for_message(f->plan->scratch);
  g_autofree char *left = f->room < most ? g_strdup_printf(", of which %s are left", room) : g_strdup("");
  return fc_fail(
      error, FC_NO_MEMORY,
      "this would take %s of memory and the limit is %s (--max-memory sets it)%s: %s works in %s%s", takes,
      limit, left, f->plan->stages[f->widest].name, scratch,
      f->plan->whole ? ", and a stage needs the whole signal at once" : "");
}

gboolean fc_plan_fit(fc_plan *plan, int *threads, GError **error) {
  fit f = {.plan = plan, .room = (double)fc_frame_pool_room(plan->chain->context->frames)};
  gint64 wanted = plan->chunk;
  const int asked = *threads > 0 ? *threads : fc_processors(), all = fc_pool_size(*threads);
  fc_chain_drop_device_run(plan->chain);
  for (int some = all;; some /= 2) {
    plan->chunk = wanted;
    if (!try_chunks(&f, some, error)) return FALSE;
    if (!fits(&f) && some > 1) continue;
    if (some < asked) *threads = some;
    break;
  }
  /* Without scratch it is buffers that do not fit, which the plan has judged by the whole limit. */
  return fits(&f) || plan->scratch == 0 || fail(&f, error);
}
