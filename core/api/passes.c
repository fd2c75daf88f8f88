/* SPDX-License-Identifier: MIT */
/* passes.c - see passes.h. */
#include "core/api/passes.h"

#include "core/base/error.h"

guint fc_passes_count(const fc_chain *chain) {
  guint n = 0;
  for (guint i = 0; i < chain->n; i++) n += fc_stage_passes(&chain->stages[i]) != NULL;
  return n;
}

gboolean fc_passes_check(const fc_chain *chain, guint from, gboolean again, const char *what,
                         GError **error) {
  for (guint i = from; i < chain->n && !again; i++)
    if (fc_stage_passes(&chain->stages[i]))
      return fc_fail(error, FC_INVALID, "%s: it reads its input twice, which %s does not allow: name a file",
                     chain->stages[i].op->name, what);
  return TRUE;
}

/* With times in the arguments there is one instance per sample rate; instances made later begin with pass
 * 0. */
static void begin(fc_chain *chain, guint stage, int pass) {
  fc_stage *s = &chain->stages[stage];
  const fc_two_passes *passes = fc_stage_passes(s);
  if (!passes) return;
  fc_enter_operator(s->op->name);
  if (!fc_stage_is_timed(s)) passes->begin(s->self, pass);
  for (guint i = 0; s->instances && i < s->instances->len; i++)
    passes->begin(((const fc_instance *)g_ptr_array_index(s->instances, i))->self, pass);
  fc_enter_operator(NULL);
}

/* Prepared states belong to the pass they were made in. */
static void begin_all(fc_chain *chain) {
  for (guint i = 0; i < chain->n; i++) begin(chain, i, 0);
  fc_chain_forget(chain);
}

gboolean fc_passes_measure(fc_chain *chain, fc_passes_fn run, void *data, GError **error) {
  const guint n = chain->n;
  gboolean ok = TRUE;
  if (!fc_passes_count(chain)) return TRUE;
  begin_all(chain);
  for (guint i = 0; run && i < n && ok; i++) {
    if (!fc_stage_passes(&chain->stages[i])) continue;
    chain->n = i + 1;
    ok = run(data, error);
    chain->n = n;
    fc_chain_forget(chain);
    if (ok) begin(chain, i, 1);
  }
  return ok;
}
