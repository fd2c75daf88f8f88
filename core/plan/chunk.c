/* SPDX-License-Identifier: MIT */
/*
 * chunk.c - see chunk.h.
 */
#include "core/plan/chunk.h"

#include <string.h>

enum phase { START, BEFORE, MAIN, AFTER, DONE };

struct fc_chunker {
  const fc_plan *plan;
  enum phase phase;
  gint64 frame;    /* of a batch that goes by rows; each goes through all phases */
  gint64 next;     /* position of the next chunk within the phase */
  guint stage;     /* BEFORE and AFTER: the measuring stage of the phase */
  gint64 *covered; /* a stage: its output on the cut axis is measured up to here */
  gint64 *before;  /* a stage: up to here it is run ahead of the ordinary chunks */
};

fc_chunker *fc_chunker_new(const fc_plan *plan) {
  fc_chunker *c = g_new0(fc_chunker, 1);
  c->plan = plan;
  c->covered = g_new0(gint64, plan->n + 1);
  c->before = g_new0(gint64, plan->n + 1);
  c->phase = plan->measures ? START : MAIN;
  return c;
}

void fc_chunker_free(fc_chunker *c) {
  if (!c) return;
  g_free(c->covered);
  g_free(c->before);
  g_free(c);
}

fc_chunk *fc_chunk_new(const fc_plan *plan) {
  fc_chunk *chunk = g_new0(fc_chunk, 1);
  chunk->links = g_new0(fc_chunk_link, plan->n + 1);
  return chunk;
}

void fc_chunk_free(fc_chunk *chunk) {
  if (!chunk) return;
  g_free(chunk->links);
  g_free(chunk);
}

/* Demand of one stage: from what its output must be to what its input must offer. */
static void demand_stage(const fc_plan *plan, const gint64 *covered, guint s, fc_chunk *chunk) {
  const fc_plan_stage *ps = &plan->stages[s];
  fc_chunk_link *in = &chunk->links[s], *out = &chunk->links[s + 1];
  for (int a = 0; a < FC_AXES; a++) {
    gint64 extent = plan->links[s + 1].extent[a];
    fc_range want = out->made[a];
    gboolean cut = a == (int)plan->cut;
    if (cut && ps->measure_bytes && !fc_range_empty(want)) want.lo = MIN(want.lo, covered[s]);
    /* Along the others a chunk shows it all there is. */
    if (!cut && ps->measure_bytes && a != FC_AXIS_N) want = (fc_range){0, extent};
    out->made[a] = fc_reach_align(&ps->reach[a], want, extent);
    if (cut && !(out->made[a].lo > 0 && (extent < 0 || out->made[a].hi < extent))) chunk->interior = FALSE;
    fc_span need = fc_reach_need(&ps->reach[a], ps->border, out->made[a], plan->links[s].extent[a]);
    in->made[a] = need.real;
    in->view[a] = need.view;
    in->virt[a] = need.virt;
    in->held[a] = need.held;
  }
}

static void demand(const fc_chunker *c, fc_chunk *chunk) {
  const fc_plan *plan = c->plan;
  fc_chunk_link *last = &chunk->links[chunk->last];
  for (int a = 0; a < FC_AXES; a++) {
    last->made[a] = (fc_range){0, plan->links[chunk->last].extent[a]};
    last->view[a] = last->virt[a] = last->held[a] = (fc_range){0, 0};
  }
  last->made[plan->cut] = chunk->deliver;
  chunk->frame = c->frame, chunk->interior = TRUE;
  if (plan->cut == FC_AXIS_Y) last->made[FC_AXIS_N] = (fc_range){c->frame, c->frame + 1};
  for (guint s = chunk->last; s-- > 0;) demand_stage(plan, c->covered, s, chunk);
  /* The source delivers whole frames, and keeps a little more of the past; or all of it. */
  fc_chunk_link *first = &chunk->links[0];
  chunk->needed = first->made[plan->cut].lo;
  for (int a = 0; a < FC_AXES; a++) {
    if (a == FC_AXIS_N && plan->cut == FC_AXIS_Y)
      first->made[a] = (fc_range){c->frame, c->frame + 1};
    else if (a != (int)plan->cut)
      first->made[a] = (fc_range){0, plan->links[0].extent[a]};
    else if (plan->whole)
      first->made[a] = (fc_range){0, plan->links[0].extent[a]};
    else if (!fc_range_empty(first->made[a]))
      first->made[a].lo = MAX(first->made[a].lo - plan->slack, 0);
  }
  for (guint l = 0; l <= chunk->last; l++)
    for (int a = 0; a < FC_AXES; a++)
      chunk->links[l].held[a] = fc_range_hull(chunk->links[l].held[a], chunk->links[l].made[a]);
  /* A stage that passes frames through writes nothing: both its links are one buffer. */
  for (guint s = chunk->last; s-- > 0;) {
    if (!plan->stages[s].passthrough) continue;
    for (int a = 0; a < FC_AXES; a++) {
      fc_range both = fc_range_hull(chunk->links[s].held[a], chunk->links[s + 1].held[a]);
      chunk->links[s].held[a] = chunk->links[s + 1].held[a] = both;
    }
  }
  /* ... and the same again forwards, for several of them in a row. */
  for (guint s = 0; s < chunk->last; s++)
    if (plan->stages[s].passthrough)
      memcpy(chunk->links[s + 1].held, chunk->links[s].held, sizeof chunk->links[s].held);
}

/* Plans the next stretch of link `last`, no further than `end`. */
static gboolean plan_stretch(fc_chunker *c, fc_chunk *chunk, guint last, gint64 end) {
  if (end >= 0 && c->next >= end) return FALSE;
  chunk->last = last;
  chunk->deliver = (fc_range){c->next, c->next + fc_plan_stretch(c->plan, last)};
  if (end >= 0) chunk->deliver.hi = MIN(chunk->deliver.hi, end);
  demand(c, chunk);
  return TRUE;
}

/* Where a phase that ends at link `last` begins to look at the output of stage s. */
static gint64 first_seen(fc_chunker *c, fc_chunk *chunk, guint s, guint last) {
  const fc_plan *plan = c->plan;
  c->next = 0;
  if (!plan_stretch(c, chunk, last, plan->links[last].extent[plan->cut])) return 0;
  return chunk->links[s + 1].made[plan->cut].lo;
}

/*
 * How far each measuring stage must be run before the ordinary chunks begin. From the
 * last stage to the first: the phase of a later stage shows earlier ones their signal
 * too, from where it begins.
 */
static void plan_before(fc_chunker *c, fc_chunk *chunk) {
  const fc_plan *plan = c->plan;
  guint last = plan->n;
  for (guint s = 0; s < plan->n; s++) c->covered[s] = G_MAXINT64; /* no stretching back yet */
  for (guint s = plan->n; s-- > 0;) {
    if (!plan->stages[s].measure_bytes) continue;
    c->before[s] = first_seen(c, chunk, s, last);
    if (c->before[s] > 0) last = s + 1;
  }
  for (guint s = 0; s < plan->n; s++) c->covered[s] = 0;
  c->next = 0;
  c->stage = 0;
}

static gboolean next_before(fc_chunker *c, fc_chunk *chunk) {
  for (; c->stage < c->plan->n; c->stage++, c->next = 0) {
    if (c->before[c->stage] == 0) continue;
    c->next = MAX(c->next, c->covered[c->stage]);
    /* The signal may have turned out to end before that. */
    gint64 extent = c->plan->links[c->stage + 1].extent[c->plan->cut], end = c->before[c->stage];
    if (plan_stretch(c, chunk, c->stage + 1, extent >= 0 ? MIN(end, extent) : end)) return TRUE;
  }
  return FALSE;
}

static gboolean next_after(fc_chunker *c, fc_chunk *chunk) {
  const fc_plan *plan = c->plan;
  for (;; c->stage--) {
    if (plan->stages[c->stage].measure_bytes) {
      c->next = c->covered[c->stage];
      if (plan_stretch(c, chunk, c->stage + 1, plan->links[c->stage + 1].extent[plan->cut])) return TRUE;
    }
    if (c->stage == 0) return FALSE;
  }
}

static gboolean next_in_frame(fc_chunker *c, fc_chunk *chunk) {
  const fc_plan *plan = c->plan;
  if (c->phase == START) {
    plan_before(c, chunk);
    c->phase = BEFORE;
  }
  if (c->phase == BEFORE) {
    if (next_before(c, chunk)) return TRUE;
    c->phase = MAIN;
    c->next = 0;
  }
  if (c->phase == MAIN) {
    if (plan_stretch(c, chunk, plan->n, plan->links[plan->n].extent[plan->cut])) return TRUE;
    c->phase = plan->measures && plan->n ? AFTER : DONE;
    c->stage = plan->n - 1;
  }
  if (c->phase == AFTER) {
    if (next_after(c, chunk)) return TRUE;
    c->phase = DONE;
  }
  return FALSE;
}

gboolean fc_chunker_next(fc_chunker *c, fc_chunk *chunk) {
  while (!next_in_frame(c, chunk)) {
    if (c->frame + 1 >= fc_plan_frames(c->plan)) return FALSE;
    c->frame++, c->next = 0;
    memset(c->covered, 0, sizeof *c->covered * c->plan->n);
    c->phase = c->plan->measures ? START : MAIN;
  }
  return TRUE;
}

void fc_chunker_commit(fc_chunker *c, const fc_chunk *chunk) {
  for (guint s = 0; s < chunk->last; s++)
    if (c->plan->stages[s].measure_bytes)
      c->covered[s] = MAX(c->covered[s], chunk->links[s + 1].made[c->plan->cut].hi);
  c->next = chunk->deliver.hi;
}

static guint64 mix(guint64 hash, gint64 value) {
  hash ^= (guint64)value + G_GUINT64_CONSTANT(0x9e3779b97f4a7c15) + (hash << 6) + (hash >> 2);
  return hash * G_GUINT64_CONSTANT(0xff51afd7ed558ccd);
}

guint64 fc_chunk_key(const fc_plan *plan, const fc_chunk *chunk) {
  gboolean images = plan->cut == FC_AXIS_N; /* no stage looks along N */
  if (chunk->last != plan->n || plan->n == 0 || !(images || chunk->interior)) return 0;
  guint64 hash = 1;
  for (guint l = 0; l <= plan->n; l++) {
    const fc_chunk_link *link = &chunk->links[l];
    for (int a = 0; a < FC_AXES; a++) {
      gint64 base = a == (int)plan->cut || a == FC_AXIS_N ? link->held[a].lo : 0;
      const fc_range all[] = {link->made[a], link->held[a], link->view[a], link->virt[a]};
      for (guint i = 0; i < G_N_ELEMENTS(all); i++) hash = mix(mix(hash, all[i].lo - base), all[i].hi - base);
    }
  }
  return hash ? hash : 1;
}
