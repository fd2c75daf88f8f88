/* SPDX-License-Identifier: MIT */
/* states.c - see states.h. */
#include "core/run/states.h"

#include "core/base/error.h"

#include <string.h>

/* Tiles per thread, so that one delayed thread does not delay all; and the minimum of output elements per
 * tile: waking a thread costs as much as TILE_LIGHT elements with no work, and an element with work of 5
 * takes twice as long to make as to move. */
#define TILES_EACH 2
#define TILE_LEAST 8192
#define TILE_WORK  5e8
#define HALO_WORTH 4
#define TILE_LIGHT 24000.0

int fc_measured_axis(const fc_format *f) {
  return f->kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_Y;
}

gint64 fc_measure_blocks(const fc_plan_stage *ps, const fc_format *format, const fc_range made[FC_AXES]) {
  int axis = fc_measured_axis(format);
  return fc_scale_ceil(fc_range_length(made[axis]), 1, ps->reach[axis].align);
}

static int choose_tile_axis(const fc_plan_stage *ps, const fc_format *out, const gint64 capacity[FC_AXES]) {
  if (ps->measure_bytes) return fc_measured_axis(out);
  return out->kind == FC_AUDIO || capacity[FC_AXIS_Y] <= 1 ? FC_AXIS_X : FC_AXIS_Y;
}

/* Output elements for which waking a thread pays. */
static gint64 worth_waking(double work) {
  return work > 0 ? MAX((gint64)(TILE_LIGHT / (1 + work / 5)), TILE_LEAST) : TILE_LEAST;
}

/* Rows of a tile that takes some hundredths of a second, since a run that is to stop does so between tiles;
 * but with fewer than HALO_WORTH times the rows that neighbouring tiles look at too, too much would be
 * computed twice. */
static gint64 soon_done(const fc_reach *reach, double work, gint64 across) {
  if (fc_reach_is_whole(reach) || work <= 0) return G_MAXINT64;
  return MAX((gint64)(TILE_WORK / work) / across, HALO_WORTH * (reach->before + reach->after)) + 1;
}

gint64 fc_tile_length(const gint64 shape[FC_AXES], int axis, const fc_reach *reach, double work,
                      int threads) {
  gint64 length = MAX(shape[axis], 1), across = 1;
  for (int a = 0; a < FC_AXES; a++)
    if (a != axis) across *= MAX(shape[a], 1);
  gint64 tile = fc_scale_ceil(length, 1, threads > 1 ? (gint64)threads * TILES_EACH : 1);
  tile = MIN(tile, soon_done(reach, work, across));
  tile = MAX(tile, fc_scale_ceil(worth_waking(work), 1, across));
  return fc_scale_ceil(tile, 1, reach->align) * reach->align;
}

/* ---- scratch ------------------------------------------------------------------ */

static void input_shape(const fc_reach reach[FC_AXES], const fc_format *in, const gint64 out[FC_AXES],
                        gint64 shape[FC_AXES]) {
  for (int a = 0; a < FC_AXES; a++)
    shape[a] = fc_reach_is_whole(&reach[a]) ? MAX(in->extent[a], 0)
                                            : fc_scale_ceil(out[a], reach[a].num, reach[a].den) + 1;
}

gsize fc_state_scratch(const fc_plan *plan, guint s, const fc_state *state, const fc_view *in,
                       const fc_view *out) {
  const fc_plan_stage *ps = &plan->stages[s];
  const gsize edges = ps->made ? fc_linear_scratch(ps->made->steps, out->shape) : 0;
  if (!state->backend || !state->backend->scratch) return edges;
  fc_view sides[FC_INPUTS_MOST];
  const fc_view *ins[1 + FC_INPUTS_MOST] = {in};
  for (guint k = 0; k < ps->n_sides; k++) {
    const fc_plan_side *side = &plan->sides[ps->side + k];
    gint64 shape[FC_AXES];
    input_shape(side->reach, &side->format, out->shape, shape);
    sides[k] = fc_shaped_view(&side->format, shape);
    ins[1 + k] = &sides[k];
  }
  fc_job job = {.size = sizeof job,
                .compute = plan->compute,
                .n_in = ps->generator ? 0 : 1 + ps->n_sides,
                .in = ins,
                .out = out};
  fc_enter_operator(ps->name);
  const gsize bytes = state->backend->scratch(state->prepared->state, &job);
  fc_enter_operator(NULL);
  return (MAX(bytes, edges) + 255) / 256 * 256;
}

/* Scratch for the largest possible call. */
static gsize largest_scratch(const fc_plan *plan, guint s, const fc_state *state) {
  gint64 out[FC_AXES], in[FC_AXES];
  fc_plan_capacity(plan, s + 1, out);
  if (fc_plan_on_host(plan, s)) {
    int axis = state->tile_axis;
    out[axis] = MIN(state->tile, MAX(out[axis], 1));
  }
  input_shape(plan->stages[s].reach, &plan->links[s], out, in);
  fc_view in_view = fc_shaped_view(&plan->links[s], in), out_view = fc_shaped_view(&plan->links[s + 1], out);
  return fc_state_scratch(plan, s, state, &in_view, &out_view);
}

/* ---- states ---------------------------------------------------------------------- */

/* How the stage's output is cut into tiles on the CPU. By a later plan no longer ones: of fewer frames more
 * rows would be worth a thread, and scratch is there for those of the first. */
static void choose_tiles(fc_state *state, const fc_plan *plan, guint s, const fc_state *first) {
  const fc_plan_stage *ps = &plan->stages[s];
  gint64 capacity[FC_AXES];
  fc_plan_capacity(plan, s + 1, capacity);
  const int axis = state->tile_axis =
      first ? first->tile_axis : choose_tile_axis(ps, &plan->links[s + 1], capacity);
  const fc_reach *reach = &ps->reach[axis];
  /* What carries state is run in one piece. */
  state->tile = fc_tile_length(capacity, axis, reach, ps->work, ps->carry_bytes ? 1 : fc_plan_width(plan));
  if (first) state->tile = MIN(state->tile, fc_scale_floor(first->tile, 1, reach->align) * reach->align);
}

static gboolean prepare(fc_states *states, guint s, guint device, const fc_state *first, GError **error) {
  fc_plan *plan = states->plan;
  fc_plan_stage *ps = &plan->stages[s];
  fc_state *state = &states->stages[s];
  const gboolean host = fc_plan_on_host(plan, s);
  if (ps->op) {
    const fc_format *in[1 + FC_INPUTS_MOST] = {&plan->links[s]};
    for (guint k = 0; k < ps->n_sides; k++) in[1 + k] = &plan->sides[ps->side + k].format;
    state->backend = fc_backend_for(ps->op, host ? FC_KIND_HOST : FC_KIND_CUDA);
    state->prepared = fc_stage_prepare(
        ps->stage, ps->joined, ps->made, state->backend, host ? FC_HOST : plan->devices[device],
        plan->compute, ps->generator ? 0 : 1 + ps->n_sides, ps->any_size, in, &plan->links[s + 1], error);
    if (!state->prepared) return FALSE;
  }
  choose_tiles(state, plan, s, first);
  state->scratch = largest_scratch(plan, s, state);
  return TRUE;
}

/* The kernel of the stages from s on, which have been prepared. */
static void fuse(fc_states *states, guint s, guint device) {
  const fc_plan *plan = states->plan;
  fc_state *first = &states->stages[s];
  first->fused = plan->stages[s].fused ? fc_fused_new(plan, s, device) : NULL;
  for (guint i = 0; first->fused && i < plan->stages[s].fused; i++) {
    if (!plan->stages[s + i].op ||
        fc_fused_bind(first->fused, i, &plan->stages[s + i], first[i].prepared->state))
      continue;
    fc_fused_free(first->fused);
    first->fused = NULL;
  }
}

fc_states *fc_states_new(fc_plan *plan, guint device, const fc_states *first, GError **error) {
  fc_states *states = g_new0(fc_states, 1);
  states->references = 1;
  states->plan = fc_plan_ref(plan);
  states->stages = g_new0(fc_state, MAX(plan->n, 1));
  for (guint s = 0; s < plan->n; s++)
    if (!prepare(states, s, device, first ? &first->stages[s] : NULL, error)) {
      fc_states_unref(states);
      return NULL;
    }
  for (guint s = 0; s < plan->n; s++) fuse(states, s, device);
  return states;
}

fc_states *fc_states_ref(fc_states *states) {
  g_atomic_int_inc(&states->references);
  return states;
}

void fc_states_unref(fc_states *states) {
  if (!states || !g_atomic_int_dec_and_test(&states->references)) return;
  for (guint s = 0; s < states->plan->n; s++) {
    if (states->stages[s].prepared)
      fc_prepared_unref(states->plan->stages[s].stage, states->stages[s].prepared);
    fc_fused_free(states->stages[s].fused);
  }
  g_free(states->stages);
  fc_plan_unref(states->plan);
  g_free(states);
}

/* ---- fitting into memory -------------------------------------------------------------- */

/* Scratch of all threads on the CPU. */
static gboolean scratch_of(fc_plan *plan, double *bytes, guint *widest, GError **error) {
  fc_states *states = fc_states_new(plan, 0, NULL, error);
  gsize most = 0;
  if (!states) return FALSE;
  for (guint s = 0; s < plan->n; s++)
    if (fc_plan_on_host(plan, s) && states->stages[s].scratch > most)
      most = states->stages[s].scratch, *widest = s;
  *bytes = (double)most * plan->threads;
  fc_states_unref(states);
  return TRUE;
}

static gboolean no_room(const fc_plan *plan, double need, double room, guint widest, GError **error) {
  const double most = (double)plan->chain->context->max_memory;
  g_autofree char *takes = fc_size_for_message(need), *limit = fc_size_for_message(most),
                  *rest = fc_size_for_message(room), *scratch = fc_size_for_message(plan->scratch);
  g_autofree char *left = room < most ? g_strdup_printf(", of which %s are left", rest) : g_strdup("");
  return fc_fail(error, FC_NO_MEMORY,
                 "this needs %s of memory, and the limit is %s (--max-memory changes it)%s: %s works in %s%s",
                 takes, limit, left, plan->stages[widest].name, scratch,
                 plan->whole ? ", and a stage needs the whole signal at once" : "");
}

fc_plan *fc_plan_fit(fc_plan *wanted, GError **error) {
  const double room = (double)fc_frame_pool_room(wanted->chain->context->frames);
  fc_plan *plan = fc_plan_ref(wanted);
  double was = G_MAXDOUBLE;
  for (;;) {
    double scratch = 0;
    guint widest = 0;
    if (!scratch_of(plan, &scratch, &widest, error)) break;
    fc_plan *with = fc_plan_with_chunk(plan, plan->chunk, plan->threads, scratch);
    fc_plan_unref(plan);
    plan = with;
    double need = fc_plan_host_bytes(plan) + scratch;
    /* the buffers alone were checked against the whole limit */
    if (need <= room || scratch == 0) return plan;
    /* Smaller chunks as long as that saves memory, then fewer threads with the original chunks. */
    const gboolean saves = need <= was * (1 - FC_LEAST_WORTH_SAVING) || plan->threads == 1;
    gint64 chunk = fc_plan_half(plan);
    int threads = plan->threads;
    was = need;
    if (!saves || plan->whole || chunk < 1) {
      if (threads == 1) {
        no_room(plan, need, room, widest, error);
        break;
      }
      chunk = wanted->chunk, threads /= 2, was = G_MAXDOUBLE;
    }
    with = fc_plan_with_chunk(plan, chunk, threads, 0);
    fc_plan_unref(plan);
    plan = with;
  }
  fc_plan_unref(plan);
  return NULL;
}
