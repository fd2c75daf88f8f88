/* SPDX-License-Identifier: MIT */
/*
 * alone.c - see alone.h.
 */
#include "core/plan/chunk.h" /* first: its parameters have names that are types below */

#include "tests/engine/alone.h"

#include "check/layout.h"

#include <string.h>

typedef struct walk {
  const graph *g;
  const built *b;
  fc_plan *plan;
  source link; /* what the next stage is given */
  GPtrArray *measured;
  verdict v;
} walk;

static manner plainly(void) {
  return (manner){
      .layout_in = LAYOUT_INTERLEAVED, .layout_out = LAYOUT_INTERLEAVED, .poison = 0x5a, .seed = 1};
}

/* The same values in another element type. */
static source cast(const source *from, const fc_format *to) {
  source made = {.format = *to, .size = fc_dtype_size(to->dtype), .count = from->count};
  made.codes = g_malloc0((gsize)made.count * made.size + 1);
  for (gint64 i = 0; i < made.count; i++) {
    const double value =
        element_value(from->codes + (gsize)i * from->size, from->format.kind, from->format.dtype);
    element_store(made.codes + (gsize)i * made.size, to->kind, to->dtype, value);
  }
  return made;
}

static void replace_link(walk *w, source with) {
  g_free(w->link.codes);
  w->link = with;
}

/* What operators that draw numbers are told by the chain's own hosts. */
static const fc_random *told;

static const void *extension(const fc_host *base, const char *name) {
  (void)base;
  return strcmp(name, FC_RANDOM) == 0 ? told : NULL;
}

/* The measuring pass of an operator that needs one; then it is asked and prepared again. */
static gboolean first_pass(walk *w, trial *t, const source *signals, const fc_format *ins) {
  if (!(t->op->flags & FC_OP_TWO_PASSES)) return TRUE;
  const fc_two_passes *passes = t->op->extension(t->op, FC_TWO_PASSES);
  if (FC_HAS(passes, wanted) && passes->wanted && !passes->wanted(t->self)) return TRUE;
  const manner how = plainly();
  result r;
  const gboolean ran = trial_run(t, signals, &how, &r, &w->v);
  result_free(&r);
  if (!ran) return FALSE;
  passes->begin(t->self, 1);
  if (t->backend->release) t->backend->release(&t->host.base, t->state);
  t->prepared = FALSE;
  const fc_format out = t->out;
  return trial_resize(t, ins, out.dtype, &w->v) == RAN && trial_prepare(t, &w->v) == RAN;
}

static GArray *report_of(walk *w, trial *t) {
  const fc_status status = t->op->report(&t->host.base, t->self);
  if (status != FC_OK) blame(&w->v, FAULT_STATUS, "%s: report: %s", t->who, t->host.sentence);
  return host_take_measured(&t->host);
}

static gboolean run_operator(walk *w, guint s) {
  const fc_plan_stage *ps = &w->plan->stages[s];
  const fc_format *out = &w->plan->links[s + 1];
  fc_format ins[MOST_INPUTS] = {w->plan->links[s]};
  source signals[MOST_INPUTS] = {w->link};
  const manner how = plainly();
  trial t;
  result r = {NULL};
  for (guint k = 0; k < ps->n_sides; k++) {
    ins[1 + k] = w->plan->sides[ps->side + k].format;
    signals[1 + k] = cast(&w->b->sides[ps->side + k], &ins[1 + k]);
  }
  gboolean ok = trial_begin(&t, ps->op, backend_of(ps->op, FC_KIND_HOST), device_cpu(), ps->name,
                            ps->stage->args, ins, out->dtype, w->plan->compute, &w->v) == RAN;
  if (ok && (t.out.dtype != out->dtype || memcmp(t.out.extent, out->extent, sizeof out->extent)))
    ok = blame(&w->v, FAULT_CONTRACT, "%s: other terms than in the plan", ps->name);
  t.out = *out;
  told = &ps->stage->host.random;
  t.host.base.extension = extension;
  ok = ok && trial_prepare(&t, &w->v) == RAN && first_pass(w, &t, signals, ins) &&
       trial_run(&t, signals, &how, &r, &w->v);
  if (ok && !r.measured && ps->op->report) r.measured = report_of(w, &t); /* of the pass before */
  if (r.measured) g_ptr_array_add(w->measured, r.measured);
  trial_finish(&t, &w->v);
  for (guint k = 0; k < ps->n_sides; k++) g_free(signals[1 + k].codes);
  if (ok)
    replace_link(
        w, (source){.format = *out, .size = fc_dtype_size(out->dtype), .count = r.count, .codes = r.codes});
  else
    g_free(r.codes);
  return ok;
}

/* With a chunk all of a plan, as of a file; else its formats alone, and every operator does all at once. */
static fc_plan *plan_of(const graph *g, const built *b, gint64 chunk, GError **error) {
  g_autofree const fc_format **sides = g_new0(const fc_format *, b->n_sides + 1);
  g_autofree fc_format *formats = g_new0(fc_format, b->n_sides + 1);
  for (guint k = 0; k < b->n_sides; k++) {
    formats[k] = b->sides[k].format, sides[k] = &formats[k];
    formats[k].rate = 0; /* a view tells none */
  }
  const fc_stage *first = b->chain->n ? &b->chain->stages[0] : NULL;
  fc_options o = graph_options(g);
  o.device = "cpu", o.chunk = chunk;
  const fc_plan_query query = {.in = first && first->op->flags & FC_OP_GENERATOR ? NULL : &g->in,
                               .sides = sides,
                               .wanted = g->wanted,
                               .rows = TRUE,
                               .seeks = chunk != 0,
                               .borrowed = chunk == 0,
                               .options = &o};
  return chunk ? fc_plan_new(b->chain, &query, error) : fc_plan_formats(b->chain, &query, error);
}

gboolean alone_run(const graph *g, const built *b, const source *signal, alone *made, char **why) {
  g_autoptr(GError) error = NULL;
  walk w = {.g = g, .b = b, .plan = plan_of(g, b, 0, &error)};
  *made = (alone){.codes = NULL};
  if (!w.plan) {
    *why = g_strdup(error->message);
    return FALSE;
  }
  gboolean ok = TRUE;
  const fc_options o = graph_options(g);
  fc_chain_tell_random(b->chain, &o);
  w.measured = g_ptr_array_new_with_free_func((GDestroyNotify)g_array_unref);
  w.link = cast(signal, &signal->format);
  for (guint s = 0; ok && s < w.plan->n; s++)
    if (w.plan->stages[s].op)
      ok = run_operator(&w, s);
    else
      replace_link(&w, cast(&w.link, &w.plan->links[s + 1]));
  *made = (alone){.out = w.plan->links[w.plan->n], .codes = w.link.codes, .measured = w.measured};
  for (guint l = 0; l <= w.plan->n; l++)
    made->empty |=
        !(l == 0 && w.plan->n && w.plan->stages[0].generator) && format_bytes(&w.plan->links[l]) == 0;
  fc_plan_unref(w.plan);
  if (!ok) *why = g_strdup(w.v.text[0] ? w.v.text : "refused");
  if (!ok) alone_clear(made);
  return ok;
}

void alone_clear(alone *made) {
  if (made->measured) g_ptr_array_unref(made->measured);
  g_free(made->codes);
  *made = (alone){.codes = NULL};
}

/* ---- room ------------------------------------------------------------------------------------------- */

static gboolean has_room(const fc_plan *plan, const fc_chunk *chunk, char **why) {
  for (guint l = 0; l <= chunk->last; l++) {
    gint64 capacity[FC_AXES];
    if (l > 0 && plan->stages[l - 1].passthrough) continue; /* it lies in the memory of another */
    fc_plan_capacity(plan, l, capacity);
    for (int a = 0; a < FC_AXES && !(l == 0 && plan->n && plan->stages[0].generator); a++) {
      const gint64 held = fc_range_length(chunk->links[l].held[a]);
      if (held <= capacity[a]) continue;
      *why = g_strdup_printf("link %u holds %" G_GINT64_FORMAT " on axis %c, with room for %" G_GINT64_FORMAT,
                             l, held, "NYXC"[a], capacity[a]);
      return FALSE;
    }
  }
  return TRUE;
}

gboolean alone_has_room(const graph *g, const built *b, gint64 chunk, char **why) {
  g_autoptr(fc_plan) plan = plan_of(g, b, chunk, NULL);
  if (!plan) return TRUE; /* the run says why */
  fc_chunker *chunker = fc_chunker_new(plan);
  fc_chunk *one = fc_chunk_new(plan);
  gboolean ok = TRUE;
  while (ok && fc_chunker_next(chunker, one)) {
    ok = has_room(plan, one, why);
    fc_chunker_commit(chunker, one);
  }
  fc_chunk_free(one);
  fc_chunker_free(chunker);
  return ok;
}

/* ---- how much it takes ---------------------------------------------------------------------------- */

#define MOST_ELEMENTS 3e4 /* of an output */
#define MOST_LOOKED   3e5 /* elements of an input with its border */
#define MOST_WORK     5e6 /* elements looked at, for all of an output */

/* What one need comes to: elements with the border, and elements looked at by each of the output. */
static void count_need(const fc_format *in, const fc_format *out, const fc_reach *reach, double *all,
                       double *each) {
  *all = *each = 1;
  for (int a = 0; a < FC_AXES; a++) {
    const fc_reach *r = &reach[a];
    const double extent = (double)in->extent[a], halo = (double)r->before + (double)r->after;
    *all *= fc_reach_is_whole(r)
                ? extent
                : (double)out->extent[a] * (double)r->num / (double)r->den + MAX(halo, 0) + 1;
    *each *= fc_reach_is_whole(r) ? extent : MAX(halo, 0) + (double)MAX(r->num / r->den, 1);
  }
}

static gboolean is_quick(const fc_plan *plan, guint s) {
  const fc_plan_stage *ps = &plan->stages[s];
  const fc_format *out = &plan->links[s + 1];
  double made = 1, all, each;
  for (int a = 0; a < FC_AXES; a++) made *= (double)out->extent[a];
  if (made > MOST_ELEMENTS) return FALSE;
  for (guint k = 0; k <= ps->n_sides && !ps->generator; k++) {
    const fc_plan_side *side = k ? &plan->sides[ps->side + k - 1] : NULL;
    count_need(side ? &side->format : &plan->links[s], out, side ? side->reach : ps->reach, &all, &each);
    if (all > MOST_LOOKED || made * each > MOST_WORK) return FALSE;
  }
  return TRUE;
}

gboolean alone_is_quick(const graph *g, const built *b) {
  g_autoptr(fc_plan) plan = plan_of(g, b, 0, NULL);
  gboolean quick = plan != NULL;
  for (guint s = 0; quick && s < plan->n; s++) quick = is_quick(plan, s);
  return quick;
}
