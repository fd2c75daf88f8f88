/* SPDX-License-Identifier: MIT */
/*
 * chunk.c - see chunk.h.
 */
#include "core/plan/chunk.h"

#include <string.h>

enum phase { START, BEFORE, MAIN, AFTER, DONE };

struct fc_chunker {
  fc_plan *plan;
  enum phase phase;
  gint64 frame; /* in a batch that is cut by rows; each frame goes through all phases */
  gint64 next;  /* position of the next chunk within the phase */
  guint stage;  /* BEFORE and AFTER: the measuring stage of the phase */
  gint64
      /* per stage: its output on the cut axis has been measured, or made with carried state, up to here */
      *covered;
  fc_range *seen; /* per stage: what of its output on the cut axis has been made */
  gint64 *before; /* per stage: it is run up to here before the ordinary chunks */
};

fc_chunker *fc_chunker_new(fc_plan *plan) {
  fc_chunker *c = g_new0(fc_chunker, 1);
  c->plan = fc_plan_ref(plan);
  c->covered = g_new0(gint64, plan->n + 1);
  c->seen = g_new0(fc_range, plan->n + 1);
  c->before = g_new0(gint64, plan->n + 1);
  c->phase = plan->measures || plan->carries ? START : MAIN;
  return c;
}

void fc_chunker_free(fc_chunker *c) {
  if (!c) return;
  fc_plan_unref(c->plan);
  g_free(c->covered);
  g_free(c->seen);
  g_free(c->before);
  g_free(c);
}

void fc_chunker_replan(fc_chunker *c, fc_plan *plan) {
  fc_plan_ref(plan);
  fc_plan_unref(c->plan);
  c->plan = plan;
}

fc_chunk *fc_chunk_new(const fc_plan *plan) {
  fc_chunk *chunk = g_new0(fc_chunk, 1);
  chunk->links = g_new0(fc_chunk_link, plan->n + 1);
  chunk->sides = g_new0(fc_chunk_link, MAX(plan->n_sides, 1));
  return chunk;
}

void fc_chunk_free(fc_chunk *chunk) {
  if (!chunk) return;
  g_free(chunk->links);
  g_free(chunk->sides);
  g_free(chunk);
}

static void set_span(fc_chunk_link *link, int axis, fc_span span) {
  link->made[axis] = span.real;
  link->view[axis] = span.view;
  link->virt[axis] = span.virt;
  link->held[axis] = span.held;
}

/*
 * The output range that a stage makes when `want` of it is wanted: whole blocks; a measuring stage also makes
 * what later stages skip; a stage with carried state continues where it stopped, and earlier output is kept.
 */
static fc_range widen(const fc_plan *plan, const gint64 *covered, guint s, int a, fc_range want,
                      fc_chunk_link *out) {
  const fc_plan_stage *ps = &plan->stages[s];
  const gint64 extent = plan->links[s + 1].extent[a];
  const gboolean cut = a == (int)plan->cut;
  if (cut && (ps->measure_bytes || ps->carry_bytes) && !fc_range_empty(want))
    want.lo = MIN(want.lo, covered[s]);
  if (fc_plan_shows_all(plan, s, a)) want = (fc_range){0, extent};
  fc_range made = fc_reach_align(&ps->reach[a], want, extent);
  if (cut) out->fresh = made.lo;
  if (!cut || !ps->carry_bytes || fc_range_empty(made)) return made;
  /* The past is kept from the first position that is read, which need not be the start of a block. */
  made.lo = MAX((covered[s] == G_MAXINT64 ? made.lo : want.lo) - fc_plan_past(plan, s), 0);
  if (covered[s] != G_MAXINT64) out->fresh = CLAMP(covered[s], made.lo, made.hi);
  return made;
}

/* What of `now` has not been seen. Chunks go one way along a link, so it lies at one end. */
static fc_range unseen(fc_range seen, fc_range now) {
  if (fc_range_empty(seen)) return now;
  if (now.hi > seen.hi) return (fc_range){MAX(now.lo, seen.hi), now.hi};
  return (fc_range){now.lo, MAX(now.lo, MIN(now.hi, seen.lo))};
}

/* A source moves forwards only. Where borders mirror, an earlier element may be needed again at the end: some
 * elements before those of the chunk are kept. */
static void keep_before(fc_chunk_link *link, int cut, gint64 slack) {
  link->needed = link->made[cut].lo;
  if (!fc_range_empty(link->made[cut])) link->made[cut].lo = MAX(link->made[cut].lo - slack, 0);
}

/* Demand of one stage: from what its output must be to what its inputs must offer. */
static void demand_stage(const fc_chunker *c, guint s, fc_chunk *chunk) {
  const fc_plan *plan = c->plan;
  const fc_plan_stage *ps = &plan->stages[s];
  fc_chunk_link *in = &chunk->links[s], *out = &chunk->links[s + 1];
  for (int a = 0; a < FC_AXES; a++) {
    gint64 extent = plan->links[s + 1].extent[a];
    gboolean cut = a == (int)plan->cut;
    fc_range now = out->made[a] = widen(plan, c->covered, s, a, out->made[a], out);
    if (cut) now.lo = out->fresh, out->first = unseen(c->seen[s], now);
    if (cut && !(now.lo > 0 && (extent < 0 || now.hi < extent))) chunk->interior = FALSE;
    if (cut && ps->turned) now = fc_range_turned(now, extent);
    if (ps->generator) {
      set_span(in, a, (fc_span){{0, 0}, {0, 0}, {0, 0}, {0, 0}});
    } else if (ps->part == FC_PART_MAKE) { /* nothing, once all has been seen */
      const gint64 end = cut ? plan->links[s].extent[a] : 0;
      set_span(in, a, (fc_span){{end, end}, {end, end}, {end, end}, {end, end}});
    } else
      set_span(in, a, fc_reach_need(&ps->reach[a], ps->border, now, plan->links[s].extent[a]));
    for (guint k = ps->side; k < ps->side + ps->n_sides; k++) {
      const fc_plan_side *side = &plan->sides[k];
      fc_chunk_link *link = &chunk->sides[k];
      set_span(link, a, fc_reach_need(&side->reach[a], side->border, now, side->format.extent[a]));
      if (side->random) { /* copied with its border from memory */
        link->made[a] = link->held[a] = link->virt[a];
        continue;
      }
      if (cut) keep_before(link, a, plan->reflects ? fc_plan_side_span(plan, k) : 0);
      if (!cut && !(a == FC_AXIS_N && plan->cut == FC_AXIS_Y))
        link->made[a] = fc_range_hull(link->made[a], (fc_range){0, side->format.extent[a]});
      link->held[a] = fc_range_hull(link->held[a], link->made[a]);
    }
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
  last->fresh = chunk->deliver.lo;
  chunk->frame = c->frame, chunk->interior = TRUE;
  if (plan->cut == FC_AXIS_Y) last->made[FC_AXIS_N] = (fc_range){c->frame, c->frame + 1};
  memset(chunk->sides, 0, plan->n_sides * sizeof *chunk->sides); /* stages after `last` read nothing */
  for (guint s = chunk->last; s-- > 0;) demand_stage(c, s, chunk);
  /* The source delivers whole frames, and some more of the past is kept; or the whole signal. */
  fc_chunk_link *first = &chunk->links[0];
  memcpy(chunk->looked, first->made, sizeof chunk->looked);
  keep_before(first, plan->cut, plan->slack);
  for (int a = 0; a < FC_AXES && !(plan->n && plan->stages[0].generator); a++) {
    if (a == FC_AXIS_N && plan->cut == FC_AXIS_Y)
      first->made[a] = (fc_range){c->frame, c->frame + 1};
    else if (a != (int)plan->cut)
      first->made[a] = (fc_range){0, plan->links[0].extent[a]};
    else if (plan->whole)
      first->made[a] = (fc_range){0, plan->links[0].extent[a]};
  }
  first->fresh = first->made[plan->cut].lo;
  for (guint l = 0; l <= chunk->last; l++)
    for (int a = 0; a < FC_AXES; a++)
      chunk->links[l].held[a] = fc_range_hull(chunk->links[l].held[a], chunk->links[l].made[a]);
  /* A stage that passes frames through writes nothing: its input and output are the same buffer. */
  for (guint s = chunk->last; s-- > 0;) {
    if (!plan->stages[s].passthrough) continue;
    for (int a = 0; a < FC_AXES; a++) {
      fc_range both = fc_range_hull(chunk->links[s].held[a], chunk->links[s + 1].held[a]);
      chunk->links[s].held[a] = chunk->links[s + 1].held[a] = both;
    }
  }
  /* ... and once more forwards, for several such stages in a row. */
  for (guint s = 0; s < chunk->last; s++)
    if (plan->stages[s].passthrough)
      memcpy(chunk->links[s + 1].held, chunk->links[s].held, sizeof chunk->links[s].held);
}

gboolean fc_plan_looks_at(fc_plan *plan, fc_range ranges[FC_AXES]) {
  const gint64 extent = plan->links[plan->n].extent[plan->cut];
  if (plan->measures || plan->carries || extent < 0) return FALSE;
  fc_chunker *c = fc_chunker_new(plan);
  fc_chunk *chunk = fc_chunk_new(plan);
  chunk->last = plan->n, chunk->deliver = (fc_range){0, extent};
  demand(c, chunk);
  memcpy(ranges, chunk->looked, sizeof chunk->looked);
  fc_chunk_free(chunk);
  fc_chunker_free(c);
  return TRUE;
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

/* The first element of stage s's output that a phase ending at link `last` reads. */
static gint64 first_seen(fc_chunker *c, fc_chunk *chunk, guint s, guint last) {
  const fc_plan *plan = c->plan;
  c->next = 0;
  if (!plan_stretch(c, chunk, last, plan->links[last].extent[plan->cut])) return 0;
  return chunk->links[s + 1].fresh;
}

/*
 * How far each measuring stage must be run before the ordinary chunks begin. From the last stage to the
 * first: the phase of a later stage also gives earlier stages their signal, from where it begins.
 */
static void plan_before(fc_chunker *c, fc_chunk *chunk) {
  const fc_plan *plan = c->plan;
  guint last = plan->n;
  for (guint s = 0; s < plan->n; s++) c->covered[s] = G_MAXINT64; /* no continuation of earlier output yet */
  for (guint s = plan->n; s-- > 0;) {
    if (!plan->stages[s].measure_bytes && !plan->stages[s].carry_bytes) continue;
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
    /* The signal may have ended before that. */
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
    memset(c->seen, 0, sizeof *c->seen * c->plan->n);
    c->phase = c->plan->measures || c->plan->carries ? START : MAIN;
  }
  return TRUE;
}

/* How many elements of the last link can be made from `have` elements of the first. */
static gint64 makes(const fc_plan *plan, gint64 have) {
  for (guint s = 0; s < plan->n; s++) {
    const fc_reach *r = &plan->stages[s].reach[plan->cut];
    if (fc_reach_is_whole(r)) return 0;
    /* Output o reads up to input ceil((o + 1) * num / den) + after. */
    have = fc_scale_floor(MAX(have - r->after, 0), r->den, r->num);
    have = have / r->align * r->align;
    const gint64 extent = plan->links[s + 1].extent[plan->cut];
    if (extent >= 0) have = MIN(have, extent);
  }
  return have;
}

gboolean fc_chunker_within(fc_chunker *c, fc_chunk *chunk, gint64 have) {
  fc_plan *plan = c->plan;
  const gint64 most = makes(plan, have);
  /* to get past START, and BEFORE if there is one */
  if (c->phase != MAIN && !fc_chunker_next(c, chunk)) return FALSE;
  if (c->phase != MAIN) return chunk->links[0].made[plan->cut].hi <= have;
  if (c->next >= most) return FALSE;
  return plan_stretch(c, chunk, plan->n, most) && chunk->links[0].made[plan->cut].hi <= have;
}

void fc_chunker_commit(fc_chunker *c, const fc_chunk *chunk) {
  for (guint s = 0; s < chunk->last; s++) {
    const fc_range made = chunk->links[s + 1].made[c->plan->cut];
    if (c->plan->stages[s].measure_bytes || c->plan->stages[s].carry_bytes)
      c->covered[s] = MAX(c->covered[s], made.hi);
    c->seen[s] = fc_range_hull(c->seen[s], made);
  }
  c->next = chunk->deliver.hi;
}

static guint64 mix(guint64 hash, gint64 value) {
  hash ^= (guint64)value + G_GUINT64_CONSTANT(0x9e3779b97f4a7c15) + (hash << 6) + (hash >> 2);
  return hash * G_GUINT64_CONSTANT(0xff51afd7ed558ccd);
}

guint64 fc_chunk_key(const fc_plan *plan, const fc_chunk *chunk) {
  gboolean images = plan->cut == FC_AXIS_N && plan->n_sides == 0; /* usually no stage reads along N */
  for (guint s = 0; s < plan->n; s++) {
    const fc_reach *r = &plan->stages[s].reach[FC_AXIS_N];
    images = images && !r->before && !r->after && !plan->stages[s].carry_bytes;
  }
  if (chunk->last != plan->n || plan->n == 0 || !(images || chunk->interior)) return 0;
  guint64 hash = 1;
  for (guint l = 0; l <= plan->n; l++) {
    const fc_chunk_link *link = &chunk->links[l];
    for (int a = 0; a < FC_AXES; a++) {
      gint64 base = a == (int)plan->cut || a == FC_AXIS_N ? link->held[a].lo : 0;
      const fc_range all[] = {link->made[a],
                              link->held[a],
                              link->view[a],
                              link->virt[a],
                              {a == (int)plan->cut ? link->fresh : base, base}};
      for (guint i = 0; i < G_N_ELEMENTS(all); i++) hash = mix(mix(hash, all[i].lo - base), all[i].hi - base);
    }
  }
  for (guint k = 0; k < plan->n_sides; k++) {
    const fc_chunk_link *side = &chunk->sides[k];
    for (int a = 0; a < FC_AXES; a++) {
      gint64 base = a == (int)plan->cut && !plan->sides[k].random ? side->held[a].lo : 0;
      const fc_range all[] = {side->made[a], side->held[a], side->view[a], side->virt[a]};
      for (guint i = 0; i < G_N_ELEMENTS(all); i++) hash = mix(mix(hash, all[i].lo - base), all[i].hi - base);
      /* If the signal extends beyond the end of a side, a border at that end belongs to another chunk. */
      const gint64 extent = plan->sides[k].format.extent[a];
      if (a == (int)plan->cut && (side->virt[a].lo < 0 || (extent >= 0 && side->virt[a].hi > extent)))
        return 0;
    }
  }
  return hash ? hash : 1;
}
