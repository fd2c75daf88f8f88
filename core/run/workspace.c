/* SPDX-License-Identifier: MIT */
/*
 * workspace.c - see workspace.h. On the CPU a stage's output is cut into tiles that threads share; an
 * operator is a pure function of its view, so the result does not depend on the cuts.
 */
#include "core/run/workspace.h"

#include "core/base/error.h"
#include "core/run/notes.h"

#include <string.h>

/* ---- memory ------------------------------------------------------------------- */

/* `host`: in host memory that a device's lanes copy from and to. */
static gboolean no_memory(const fc_workspace *w, gboolean host, const char *what, gsize bytes,
                          GError **error) {
  const fc_runner *runner = w->runner;
  gboolean gpu = runner->device != FC_HOST;
  gsize room = fc_frame_pool_room(w->context->frames);
  if (!gpu && bytes > room)
    return fc_fail(
        error, FC_NO_MEMORY,
        "%s takes %.1f MB of memory, and of the limit of %.1f MB (--max-memory changes it) %.1f MB are "
        "left",
        what, (double)bytes / 1e6, (double)w->context->max_memory / 1e6, (double)room / 1e6);
  return fc_fail(error, FC_NO_MEMORY, "%s%snot enough %smemory for %s (%.1f MB)",
                 gpu ? runner->description : "", gpu ? ": " : "", gpu && host ? "pinned host " : "", what,
                 (double)bytes / 1e6);
}

void *fc_workspace_alloc(fc_workspace *w, gsize bytes, gboolean host, const char *what, GError **error) {
  void *memory = fc_lease_alloc(w->lease, bytes, host);
  if (memory)
    g_ptr_array_add(w->memory, memory);
  else
    no_memory(w, host, what, bytes, error);
  return memory;
}

/* A buffer for the longest range of a link. */
static gboolean new_buffer(fc_workspace *w, const fc_format *format, const gint64 capacity[FC_AXES],
                           gboolean host, gboolean packed, fc_buffer *b, GError **error) {
  if (!(packed ? fc_buffer_pack : fc_buffer_layout)(b, format, capacity))
    return fc_fail(error, FC_NO_MEMORY, "a chunk is too large to be addressed");
  b->device = host ? FC_HOST : w->runner->device;
  b->memory = fc_workspace_alloc(w, b->bytes, host, "a chunk", error);
  return b->memory != NULL;
}

static gboolean link_buffer(fc_workspace *w, guint link, gboolean host, fc_buffer *b, GError **error) {
  const fc_plan *plan = w->states->plan;
  gint64 capacity[FC_AXES];
  fc_plan_capacity(plan, link, capacity);
  return new_buffer(w, &plan->links[link], capacity, host, FALSE, b, error);
}

/* A host copy of what is transferred to or from a device: without borders and without gaps between rows. */
static gboolean twin(fc_workspace *w, guint link, fc_buffer *b, GError **error) {
  const fc_plan *plan = w->states->plan;
  const fc_format *format = &plan->links[link];
  gint64 capacity[FC_AXES];
  fc_plan_capacity(plan, link, capacity);
  for (int a = plan->cut == FC_AXIS_Y ? FC_AXIS_Y : FC_AXIS_N; a < FC_AXES; a++)
    if (a != (int)plan->cut) capacity[a] = format->extent[a];
  return new_buffer(w, format, capacity, TRUE, TRUE, b, error);
}

/* ---- slots ----------------------------------------------------------------------- */

static gboolean has_source(const fc_plan *plan) {
  return plan->n == 0 || !plan->stages[0].generator;
}

static gboolean init_measured(fc_workspace *w, fc_slot *slot, GError **error) {
  const fc_plan *plan = w->states->plan;
  slot->measured = g_new0(void *, plan->n + 1);
  slot->measured_strides = g_new0(gint64, plan->n + 1);
  for (guint s = 0; s < plan->n; s++) {
    const fc_plan_stage *ps = &plan->stages[s];
    if (!ps->measure_bytes) continue;
    gint64 capacity[FC_AXES];
    fc_range made[FC_AXES];
    fc_plan_capacity(plan, s + 1, capacity);
    for (int a = 0; a < FC_AXES; a++) made[a] = (fc_range){0, capacity[a]};
    slot->measured_strides[s] =
        (fc_measure_blocks(ps, &plan->links[s + 1], made) + 1) * (gint64)ps->measure_bytes;
    gsize bytes = (gsize)(slot->measured_strides[s] * MAX(capacity[FC_AXIS_N], 1));
    slot->measured[s] = fc_workspace_alloc(w, bytes, TRUE, "measurements", error);
    if (!slot->measured[s]) return FALSE;
    memset(slot->measured[s], 0, bytes); /* where there is nothing to be measured, nothing is written */
  }
  return TRUE;
}

static gboolean init_sides(fc_workspace *w, fc_slot *slot, GError **error) {
  const fc_plan *plan = w->states->plan;
  slot->sides = g_new0(fc_buffer, plan->n_sides + 1);
  slot->host_sides = g_new0(fc_buffer, plan->n_sides + 1);
  for (guint k = 0; k < plan->n_sides; k++) {
    const fc_format *format = &plan->sides[k].format;
    gint64 capacity[FC_AXES];
    fc_plan_side_capacity(plan, k, capacity);
    if (!new_buffer(w, format, capacity, FALSE, FALSE, &slot->sides[k], error)) return FALSE;
    if (plan->n_devices && !new_buffer(w, format, capacity, TRUE, FALSE, &slot->host_sides[k], error))
      return FALSE;
  }
  return TRUE;
}

static gboolean init_slot(fc_workspace *w, guint index, gboolean borrowed, GError **error) {
  const fc_plan *plan = w->states->plan;
  const guint root = fc_plan_output_root(plan); /* 0: the output stays in the input's memory */
  fc_slot *slot = &w->slots[index];
  slot->index = index;
  slot->states = fc_states_ref(w->states);
  slot->chunk = fc_chunk_new(plan);
  if (!init_sides(w, slot, error) || !init_measured(w, slot, error)) return FALSE;
  const gboolean device = plan->n_devices != 0;
  if (!plan->borrowed && has_source(plan) &&
      (!link_buffer(w, 0, FALSE, &slot->in, error) || (device && !twin(w, 0, &slot->host_in, error))))
    return FALSE;
  /* With borrowed memory a chunk may end at an earlier stage than the one that writes the output. */
  if (root > 0 && !borrowed && !link_buffer(w, root, FALSE, &slot->out, error)) return FALSE;
  return !device || borrowed || twin(w, plan->n, &slot->host_out, error);
}

static void clear_slot(fc_slot *slot) {
  fc_chunk_free(slot->chunk);
  fc_states_unref(slot->states);
  g_free(slot->sides);
  g_free(slot->host_sides);
  g_free(slot->measured);
  g_free(slot->measured_strides);
}

/* ---- making a workspace ------------------------------------------------------------ */

static gboolean init_links(fc_workspace *w, GError **error) {
  const fc_plan *plan = w->states->plan;
  guint root = fc_plan_output_root(plan);
  for (guint l = 1; l < plan->n; l++) {
    if (plan->stages[l - 1].passthrough || l == root) continue;
    if (!link_buffer(w, l, FALSE, &w->links[l], error)) return FALSE;
  }
  for (guint s = 0; s < plan->n; s++)
    if (plan->stages[s].on_host && !fc_plan_stays(plan) &&
        (!link_buffer(w, s, TRUE, &w->bounce_in[s], error) ||
         !link_buffer(w, s + 1, TRUE, &w->bounce_out[s], error)))
      return FALSE;
  return TRUE;
}

static gboolean init_scratch(fc_workspace *w, GError **error) {
  const fc_plan *plan = w->states->plan;
  gsize cpu = 0, device = 0;
  for (guint s = 0; s < plan->n; s++) {
    gsize *most = fc_plan_on_host(plan, s) ? &cpu : &device;
    if (plan->stages[s].on_host && fc_plan_stays(plan)) continue;
    *most = MAX(*most, w->states->stages[s].scratch);
  }
  if (device && !(w->scratch = fc_workspace_alloc(w, device, FALSE, "scratch", error))) return FALSE;
  if (!cpu) return TRUE;
  fc_lease *lease = w->helper ? w->helper : w->lease;
  cpu *= (gsize)fc_lease_runner(lease)->threads;
  w->host_scratch = fc_lease_alloc(lease, cpu, FALSE);
  if (w->host_scratch && !w->helper) g_ptr_array_add(w->memory, w->host_scratch);
  return w->host_scratch || no_memory(w, FALSE, "scratch", cpu, error);
}

/* Whether every stage's work can be captured in a graph. */
static gboolean is_capturable(const fc_states *states) {
  for (guint s = 0; s < states->plan->n; s++) {
    if (states->plan->stages[s].on_host) return FALSE;
    if (states->stages[s].backend && !(states->stages[s].backend->flags & FC_BACKEND_GRAPH)) return FALSE;
  }
  return TRUE;
}

gboolean fc_workspace_init(fc_workspace *w, fc_lease *lease, fc_states *states, gboolean borrowed,
                           GError **error) {
  const fc_plan *plan = states->plan;
  gboolean leaves = FALSE;
  memset(w, 0, sizeof *w);
  w->context = plan->chain->context;
  w->lease = lease, w->runner = fc_lease_runner(lease);
  w->states = fc_states_ref(states);
  w->memory = g_ptr_array_new();
  w->links = g_new0(fc_buffer, plan->n + 1);
  w->bounce_in = g_new0(fc_buffer, plan->n + 1);
  w->bounce_out = g_new0(fc_buffer, plan->n + 1);
  w->plain = plan->n_devices && !is_capturable(states);
  for (guint s = 0; s < plan->n && !fc_plan_stays(plan); s++) leaves |= plan->stages[s].on_host;
  if (leaves) w->helper = fc_lease_new_cpu(w->context, plan->threads);
  w->notes = fc_workspace_alloc(w, FC_COUNTED_WORDS * sizeof(guint32) * (plan->n + 1), TRUE, "notes", error);
  w->stored = g_new0(gint64, plan->n + 1);
  if (!w->notes || !init_links(w, error) || !init_scratch(w, error)) return FALSE;
  w->n_slots = fc_plan_slots(plan);
  for (guint i = 0; i < w->n_slots; i++)
    if (!init_slot(w, i, borrowed, error)) return FALSE;
  return TRUE;
}

void fc_workspace_clear(fc_workspace *w, gboolean broken) {
  for (guint i = 0; i < FC_SLOTS; i++)
    if (w->slots[i].chunk) clear_slot(&w->slots[i]);
  if (w->helper) fc_lease_release(w->helper, w->host_scratch);
  fc_lease_return(w->helper, FALSE);
  for (guint i = 0; w->memory && i < w->memory->len; i++)
    fc_lease_release(w->lease, g_ptr_array_index(w->memory, i));
  if (w->memory) g_ptr_array_free(w->memory, TRUE);
  fc_lease_return(w->lease, broken);
  fc_states_unref(w->states);
  g_free(w->links);
  g_free(w->stored);
  g_free(w->bounce_in);
  g_free(w->bounce_out);
  memset(w, 0, sizeof *w);
}

/* ---- carried state -------------------------------------------------------------------- */

gboolean fc_carries_init(fc_workspace *w, fc_carry *carries, GError **error) {
  const fc_plan *plan = w->states->plan;
  for (guint s = 0; s < plan->n; s++) {
    const guint64 bytes = plan->stages[s].carry_bytes;
    if (!bytes) continue;
    /* A stage on the host keeps its state there. */
    carries[s].state = fc_workspace_alloc(w, bytes, plan->stages[s].on_host, "carried state", error);
    if (!carries[s].state) return FALSE;
    if (!fc_plan_on_host(plan, s)) {
      g_autofree void *zeros = g_try_malloc0(bytes);
      carries[s].zeros = fc_workspace_alloc(w, bytes, FALSE, "carried state", error);
      if (!zeros || !carries[s].zeros)
        return zeros ? FALSE : no_memory(w, FALSE, "carried state", bytes, error);
      if (!w->context->driver->upload(w->runner->device, carries[s].zeros, zeros, bytes, error)) return FALSE;
    }
    gint64 capacity[FC_AXES];
    fc_plan_capacity(plan, s + 1, capacity);
    if (!plan->whole) capacity[plan->cut] = MIN(capacity[plan->cut], 2 * fc_plan_past(plan, s));
    if (!new_buffer(w, &plan->links[s + 1], capacity, FALSE, FALSE, &carries[s].tail, error)) return FALSE;
  }
  return TRUE;
}

/* Bytes as a view of one row. */
static fc_view bytes_view(void *memory, gint64 bytes, gint32 device) {
  return (fc_view){.size = sizeof(fc_view),
                   .dtype = FC_U8,
                   .kind = FC_ARRAY,
                   .device = device,
                   .data = memory,
                   .shape = {1, 1, bytes, 1},
                   .stride = {bytes, bytes, 1, 1},
                   .extent = {1, 1, bytes, 1}};
}

gboolean fc_carries_reset(fc_workspace *w, GError **error) {
  const fc_plan *plan = w->states->plan;
  for (guint s = 0; s < plan->n; s++) {
    fc_carry *carry = &w->carries[s];
    const gint64 bytes = (gint64)plan->stages[s].carry_bytes;
    carry->done = 0, carry->turn = 0;
    for (int a = 0; a < FC_AXES; a++) carry->tail.held[a] = (fc_range){0, 0};
    if (!carry->state) continue;
    if (!carry->zeros) {
      memset(carry->state, 0, (gsize)bytes);
      continue;
    }
    fc_view to = bytes_view(carry->state, bytes, w->runner->device),
            from = bytes_view(carry->zeros, bytes, w->runner->device);
    if (!w->runner->copy(w->runner, &to, &from, NULL, error)) return FALSE;
  }
  return TRUE;
}

static gboolean copy_range(fc_workspace *w, const fc_buffer *to, const fc_buffer *from,
                           const fc_range what[FC_AXES], const fc_format *format, GError **error) {
  fc_view t = fc_buffer_view(to, what, format), f = fc_buffer_view(from, what, format);
  return fc_view_count(&t) == 0 || w->runner->copy(w->runner, &t, &f, NULL, error);
}

/* Before the stage: puts the kept end of its previous output before what it will make. */
static gboolean restore_tail(fc_workspace *w, const fc_slot *slot, guint s, GError **error) {
  const fc_plan *plan = slot->states->plan;
  const fc_carry *carry = &w->carries[s];
  const fc_chunk_link *out = &slot->chunk->links[s + 1];
  fc_range what[FC_AXES], *along = &what[plan->cut];
  if (fc_range_empty(out->made[plan->cut])) return TRUE;
  memcpy(what, out->made, sizeof what);
  *along =
      (fc_range){MAX(out->made[plan->cut].lo, carry->tail.held[plan->cut].lo), MIN(out->fresh, carry->done)};
  if (along->lo > out->made[plan->cut].lo + fc_plan_past(plan, s) || along->hi < out->fresh)
    return fc_fail(error, FC_FATAL, "the demand of a chunk ran backwards");
  return fc_range_empty(*along) ||
         copy_range(w, &w->links[s + 1], &carry->tail, what, &plan->links[s + 1], error);
}

/* After it: keeps the end of its output for the next chunk. */
static gboolean keep_tail(fc_workspace *w, const fc_slot *slot, guint s, GError **error) {
  const fc_plan *plan = slot->states->plan;
  fc_carry *carry = &w->carries[s];
  fc_range what[FC_AXES];
  memcpy(what, slot->chunk->links[s + 1].made, sizeof what);
  if (what[plan->cut].hi <= carry->done) return TRUE;
  carry->done = what[plan->cut].hi;
  what[plan->cut].lo = MAX(what[plan->cut].lo, carry->done - carry->tail.capacity[plan->cut]);
  fc_buffer_hold(&carry->tail, what, what[FC_AXIS_X].lo);
  return copy_range(w, &carry->tail, &w->links[s + 1], what, &plan->links[s + 1], error);
}

/* ---- one stage ---------------------------------------------------------------------------- */

typedef struct call {
  fc_workspace *work;
  fc_slot *slot;
  const fc_plan *plan;
  const fc_plan_stage *ps;
  const fc_state *state;
  guint stage;
  fc_view in, out, sides[FC_INPUTS_MOST]; /* of the whole stage */
  void *scratch;                          /* on a device; NULL: the workspace's own */
  const fc_edges *edges; /* on a device: the border that the operator makes itself; else NULL */
  gboolean refused;      /* the operator refused to make it */
  void *measure, *carry;
  gint64 measure_stride;
  gint64 tiles, tile;
  fc_range first; /* on the CPU: what of the output is counted, on the cut axis */
  gint status;    /* atomic: the first failure */
} call;

/* Whether the run is to stop; for a stage without an operator only the next one knows. */
static gboolean is_cancelled(const call *c) {
  const fc_host *host = c->ps->op ? &c->ps->stage->host.base : NULL;
  return host && host->cancelled(host);
}

static fc_runner *cpu_of(fc_workspace *w) {
  return w->helper ? fc_lease_runner(w->helper) : w->runner;
}

static guint n_inputs(const call *c) {
  return c->ps->generator ? 0 : 1 + c->ps->n_sides;
}

static fc_view sub_view(const fc_view *v, int axis, gint64 lo, gint64 hi) {
  fc_view sub = *v;
  sub.data = (char *)v->data + (lo - v->origin[axis]) * v->stride[axis];
  sub.origin[axis] = lo;
  sub.shape[axis] = hi - lo;
  return sub;
}

/* The part of an input that a range of output needs. */
static fc_view input_of(const fc_view *in, const fc_reach *r, int axis, gint64 lo, gint64 hi) {
  if (fc_reach_is_whole(r)) return *in;
  return sub_view(in, axis, fc_scale_floor(lo, r->num, r->den), fc_scale_ceil(hi, r->num, r->den));
}

static fc_job job_of(const call *c, const fc_view *const *in, const fc_view *out, guint32 *notes) {
  return (fc_job){.size = sizeof(fc_job),
                  .compute = c->plan->compute,
                  .n_in = n_inputs(c),
                  .in = in,
                  .out = out,
                  .scratch_bytes = c->state->scratch,
                  .measure = c->measure,
                  .measure_stride = c->measure_stride,
                  .carry = c->carry,
                  .notes = notes};
}

/* What is made by one call. */
typedef struct piece {
  fc_view out, in, sides[FC_INPUTS_MOST];
} piece;

static void narrow(const call *c, piece *p, int axis, gint64 lo, gint64 hi) {
  fc_range from = {lo, hi};
  p->out = sub_view(&p->out, axis, lo, hi);
  if (c->ps->turned && axis == (int)c->plan->cut) from = fc_range_turned(from, c->out.extent[axis]);
  if (!c->ps->generator) p->in = input_of(&p->in, &c->ps->reach[axis], axis, from.lo, from.hi);
  for (guint k = 0; k < c->ps->n_sides; k++)
    p->sides[k] = input_of(&p->sides[k], &c->plan->sides[c->ps->side + k].reach[axis], axis, lo, hi);
}

/* ---- edges of joined stages ---------------------------------------------------------- */

static gboolean copy_edges(void *data, const fc_view *to, const fc_view *from, guint32 *notes,
                           GError **error) {
  fc_runner *runner = data;
  return runner->copy(runner, to, from, notes, error);
}

static gboolean sum_edges(void *data, const fc_linear_sum *sum, GError **error) {
  fc_runner *runner = data;
  return runner->sum(runner, sum, error);
}

/* Makes the outputs near the ends of the signal, where the stages that one stands for read their borders. The
 * runner is a device's, or the CPU's; `scratch` is the stage's. */
static gboolean make_edges(const call *c, fc_runner *runner, const fc_view *in, const fc_view *out,
                           void *scratch, guint32 *notes, GError **error) {
  if (!c->ps->made || !fc_linear_has_edges(c->ps->made->steps)) return TRUE;
  const fc_linear_device device = {copy_edges, sum_edges, runner, runner->device,
                                   c->state->prepared->numbers};
  return fc_linear_make_edges(c->ps->made->steps, &device, in, out, scratch, notes, error);
}

/* Leaves the edges out of a piece, as far as the grid of the operator allows: what it would clip there, and
 * note, nobody gets. */
static void leave_edges(const call *c, piece *p) {
  if (!c->ps->made || !fc_linear_has_edges(c->ps->made->steps)) return;
  for (int a = FC_AXIS_Y; a <= FC_AXIS_X; a++) {
    const gint64 lo = p->out.origin[a], hi = lo + p->out.shape[a], align = c->ps->reach[a].align;
    const fc_range inside = fc_linear_inside(c->ps->made->steps, &p->out, a);
    const gint64 from = MAX(fc_scale_floor(inside.lo, 1, align) * align, lo),
                 to = MIN(fc_scale_ceil(inside.hi, 1, align) * align, hi);
    narrow(c, p, a, from, fc_range_empty(inside) ? from : to);
  }
}

static fc_status run_piece(const call *c, const piece *all, guint thread, guint32 *notes) {
  if (!c->ps->op) {
    fc_view_convert(&all->out, &all->in, notes);
    return FC_OK;
  }
  piece part = *all;
  const piece *p = &part;
  leave_edges(c, &part);
  const int axis = c->state->tile_axis;
  const fc_view *ins[1 + FC_INPUTS_MOST] = {&p->in};
  for (guint k = 0; k < c->ps->n_sides; k++) ins[1 + k] = &p->sides[k];
  fc_job job = job_of(c, ins, &p->out, notes);
  if (job.measure)
    job.measure = (char *)job.measure + (p->out.origin[axis] - c->out.origin[axis]) /
                                            c->ps->reach[axis].align * (gint64)c->ps->measure_bytes;
  if (c->state->scratch) job.scratch = (char *)c->work->host_scratch + (gsize)thread * c->state->scratch;
  fc_status status = FC_OK;
  if (fc_view_count(&p->out) > 0)
    status = FC_CALLED(c->ps->name,
                       c->state->backend->process(&c->ps->stage->host.base, c->state->prepared->state, &job));
  if (status != FC_OK) return status;
  return make_edges(c, cpu_of(c->work), &all->in, &all->out, job.scratch, notes, NULL) ? FC_OK : FC_FATAL;
}

/* Values that another chunk has made too are made by a call of their own, whose notes nobody reads: clipped
 * ones are counted once. */
static void run_tile(guint index, guint thread, void *data) {
  call *c = data;
  if (g_atomic_int_get(&c->status) != FC_OK || is_cancelled(c)) return;
  const int axis = c->state->tile_axis, cut = (int)c->plan->cut;
  const gint64 lo = c->out.origin[axis] + index * c->tile, end = c->out.origin[axis] + c->out.shape[axis];
  piece tile = {.out = c->out, .in = c->in};
  memcpy(tile.sides, c->sides, sizeof *c->sides * c->ps->n_sides);
  narrow(c, &tile, axis, lo, MIN(lo + c->tile, end));
  const gint64 from = tile.out.origin[cut], to = from + tile.out.shape[cut];
  const gint64 ends[] = {from, CLAMP(c->first.lo, from, to), CLAMP(c->first.hi, from, to), to};
  for (guint i = 0; i < 3; i++) {
    piece part = tile;
    guint32 unread[FC_COUNTED_WORDS] = {0};
    if (ends[i] == ends[i + 1]) continue;
    if (ends[i + 1] - ends[i] < to - from) narrow(c, &part, cut, ends[i], ends[i + 1]);
    fc_status status = run_piece(c, &part, thread, i == 1 ? fc_notes_to(c->work, c->stage) : unread);
    if (status != FC_OK) g_atomic_int_compare_and_exchange(&c->status, FC_OK, (gint)status);
  }
}

/* The part of the output that is counted on the cut axis: all, where nothing can be clipped, or counted. */
static fc_range counted_part(const call *c) {
  const int cut = (int)c->plan->cut;
  const fc_range all = {c->out.origin[cut], c->out.origin[cut] + c->out.shape[cut]},
                 first = c->slot->chunk->links[c->stage + 1].first;
  if (!fc_notes_count(c->plan, c->stage) || fc_dtype_is_float(c->out.dtype) || c->ps->passthrough ||
      c->ps->measure_bytes)
    return all;
  return (fc_range){CLAMP(first.lo, all.lo, all.hi), CLAMP(first.hi, all.lo, all.hi)};
}

static gboolean run_on_cpu(call *c, GError **error) {
  fc_runner *cpu = cpu_of(c->work);
  const int axis = c->state->tile_axis;
  c->tile =
      MIN(c->state->tile, fc_tile_length(c->out.shape, axis, &c->ps->reach[axis], c->ps->work, cpu->threads));
  if (c->carry) c->tile = MAX(c->out.shape[axis], 1);
  c->tiles = fc_scale_ceil(c->out.shape[axis], 1, c->tile);
  c->first = counted_part(c);
  cpu->parallel(cpu, (guint)c->tiles, run_tile, c);
  __atomic_fetch_add(&c->work->stored[c->stage],
                     fc_view_count(&c->out) / MAX(c->out.shape[c->plan->cut], 1) * fc_range_length(c->first),
                     __ATOMIC_RELAXED);
  if (!c->ps->op) return TRUE;
  if (is_cancelled(c)) return fc_fail(error, FC_IO, "interrupted");
  return fc_stage_host_check(&c->ps->stage->host, c->ps->name, "processing", (fc_status)c->status, error);
}

static gboolean run_on_device(call *c, GError **error) {
  fc_workspace *w = c->work;
  if (!c->ps->op) return w->runner->copy(w->runner, &c->out, &c->in, fc_notes_to(w, c->stage), error);
  const fc_view *ins[1 + FC_INPUTS_MOST] = {&c->in};
  for (guint k = 0; k < c->ps->n_sides; k++) ins[1 + k] = &c->sides[k];
  fc_job job = job_of(c, ins, &c->out, fc_notes_to(w, c->stage));
  job.stream = w->runner->stream;
  job.scratch = c->scratch ? c->scratch : w->scratch;
  job.edges = c->edges;
  fc_status status = FC_CALLED(
      c->ps->name, c->state->backend->process(&c->ps->stage->host.base, c->state->prepared->state, &job));
  c->refused = c->edges && status == FC_UNSUPPORTED;
  /* The message of a refusal must not become the reason of a later failure. */
  if (c->refused) status = FC_OK;
  return fc_stage_host_check_on(&c->ps->stage->host, c->ps->name, w->runner->device, "processing", status,
                                error) &&
         (c->refused || make_edges(c, w->runner, &c->in, &c->out, job.scratch, job.notes, error));
}

/* The new part of a chunk's range of a link. */
static void fresh_part(const call *c, fc_range what[FC_AXES]) {
  const fc_chunk_link *out = &c->slot->chunk->links[c->stage + 1];
  memcpy(what, out->made, sizeof out->made);
  what[c->plan->cut].lo = out->fresh;
}

/* The caller's memory is not copied to the host: that would make the caller's stream wait. */
static gboolean no_kernel(const call *c, GError **error) {
  return fc_fail(
      error, FC_UNSUPPORTED,
      "%s: has no CUDA version, and no kernel could be composed of its device function for this memory: that "
      "takes NVRTC, for a window also rows without gaps and at most 4 channels side by side (-v says why)",
      c->ps->name);
}

/* Copies the inputs to the host, runs on the CPU, and copies the output to the device - except for a stage
 * that only measures, whose output is its input. */
static gboolean run_off_device(call *c, GError **error) {
  if (fc_plan_stays(c->plan)) return no_kernel(c, error);
  fc_workspace *w = c->work;
  fc_buffer *from = &w->bounce_in[c->stage], *to = &w->bounce_out[c->stage];
  const fc_chunk_link *in = &c->slot->chunk->links[c->stage];
  const fc_format *formats = &c->plan->links[c->stage];
  fc_view device_in = fc_buffer_view(&w->links[c->stage], in->virt, &formats[0]), device_out = c->out;
  fc_range what[FC_AXES];
  fresh_part(c, what);
  /* What the stage reads and makes; links that share memory may hold more than there is room for here. */
  fc_buffer_hold(from, in->virt, in->view[FC_AXIS_X].lo);
  fc_buffer_hold(to, what, what[FC_AXIS_X].lo);
  fc_view host_in = fc_buffer_view(from, in->virt, &formats[0]);
  gint64 start = fc_trace_now(w->trace);
  if ((!c->ps->generator && !w->runner->copy(w->runner, &host_in, &device_in, NULL, error)) ||
      !w->runner->finish(w->runner, error))
    return FALSE;
  fc_trace_add(w->trace, FC_TRACK_COMPUTE, "download", start, c->slot->number, fc_view_bytes(&host_in));
  w->bytes_down += fc_view_bytes(&host_in);
  c->in = fc_buffer_view(from, in->view, &formats[0]);
  /* Data of its sides are still in pinned memory; borders were made on the device. */
  for (guint k = 0; k < c->ps->n_sides; k++) {
    const guint side = c->ps->side + k;
    const fc_format *format = &c->plan->sides[side].format;
    const fc_chunk_link *link = &c->slot->chunk->sides[side];
    fc_buffer *host = &c->slot->host_sides[side];
    fc_view there = fc_buffer_view(&c->slot->sides[side], link->held, format),
            here = fc_buffer_view(host, link->held, format);
    if (fc_view_count(&here) &&
        (!w->runner->copy(w->runner, &here, &there, NULL, error) || !w->runner->finish(w->runner, error)))
      return FALSE;
    c->sides[k] = fc_buffer_view(host, link->view, format);
  }
  c->out = fc_buffer_view(c->ps->passthrough ? from : to, what, &formats[1]);
  if (!run_on_cpu(c, error)) return FALSE;
  if (c->ps->passthrough) return TRUE;
  start = fc_trace_now(w->trace);
  w->bytes_up += fc_view_bytes(&c->out);
  if (!w->runner->copy(w->runner, &device_out, &c->out, NULL, error) || !w->runner->finish(w->runner, error))
    return FALSE;
  fc_trace_add(w->trace, FC_TRACK_COMPUTE, "upload", start, c->slot->number, fc_view_bytes(&c->out));
  return TRUE;
}

/* ---- borders ------------------------------------------------------------------------ */

/* Whether it reads beyond the ends of an input, where a border must be made. */
static gboolean wants_border(int border, const fc_chunk_link *link, const fc_format *f) {
  if (border == FC_BORDER_NONE) return FALSE;
  for (int a = 0; a < FC_AXES; a++)
    if (link->virt[a].lo < 0 || (f->extent[a] >= 0 && link->virt[a].hi > f->extent[a])) return TRUE;
  return FALSE;
}

static gboolean fill_sides(call *c, GError **error) {
  fc_runner *runner = c->work->runner;
  for (guint k = c->ps->side; k < c->ps->side + c->ps->n_sides; k++) {
    const fc_plan_side *side = &c->plan->sides[k];
    const fc_chunk_link *link = &c->slot->chunk->sides[k];
    if (side->random || !wants_border(side->border, link, &side->format)) continue;
    fc_view view = fc_buffer_view(&c->slot->sides[k], link->made, &side->format);
    if (!runner->fill_border(runner, &view, link->virt, side->border, &side->border_code, error))
      return FALSE;
  }
  return TRUE;
}

static gboolean fill_border(call *c, GError **error) {
  fc_runner *runner = c->work->runner;
  const fc_chunk_link *link = &c->slot->chunk->links[c->stage];
  fc_view view = fc_buffer_view(&c->work->links[c->stage], link->made, &c->plan->links[c->stage]);
  return runner->fill_border(runner, &view, link->virt, c->ps->border, &c->ps->border_code, error);
}

gboolean fc_workspace_may_make_border(const fc_workspace *w, const fc_slot *slot, guint s) {
  const fc_plan *plan = slot->states->plan;
  const fc_plan_stage *ps = &plan->stages[s];
  if (!ps->op || fc_plan_on_host(plan, s) || ps->n_sides || ps->measure_bytes || ps->carry_bytes ||
      !(slot->states->stages[s].backend->flags & FC_BACKEND_EDGES))
    return FALSE;
  for (int a = 0; a < FC_AXES; a++)
    if (!fc_range_same(slot->chunk->links[s].view[a], (fc_range){0, plan->links[s].extent[a]})) return FALSE;
  return TRUE;
}

/* If `done` is FALSE afterwards, nothing has been enqueued that writes outputs. */
static gboolean run_edges(call *c, gboolean *done, GError **error) {
  const fc_edges edges = {sizeof edges, c->ps->border, c->ps->border_code};
  c->edges = &edges;
  gboolean ok = run_on_device(c, error);
  c->edges = NULL;
  *done = !c->refused;
  return ok;
}

/* ---- stages, one after another -------------------------------------------------------- */

static call call_of(fc_workspace *w, fc_slot *slot, guint s) {
  const fc_plan *plan = slot->states->plan;
  return (call){.work = w,
                .slot = slot,
                .plan = plan,
                .ps = &plan->stages[s],
                .state = &slot->states->stages[s],
                .stage = s};
}

static gboolean run_call(call *c, GError **error) {
  fc_workspace *w = c->work;
  if (!fill_sides(c, error)) return FALSE;
  if (!c->ps->generator &&
      wants_border(c->ps->border, &c->slot->chunk->links[c->stage], &c->plan->links[c->stage])) {
    gboolean may = fc_workspace_may_make_border(w, c->slot, c->stage), done = FALSE;
    gboolean ok = !may || run_edges(c, &done, error);
    if (!ok || done) return ok;
    if (!fill_border(c, error)) return FALSE;
  }
  return c->plan->n_devices == 0 ? run_on_cpu(c, error)
         : c->ps->on_host        ? run_off_device(c, error)
                                 : run_on_device(c, error);
}

static gboolean run_fresh(call *c, GError **error) {
  fc_workspace *w = c->work;
  fc_slot *slot = c->slot;
  fc_range what[FC_AXES];
  fresh_part(c, what);
  c->in = fc_buffer_view(&w->links[c->stage], slot->chunk->links[c->stage].view, &c->plan->links[c->stage]);
  c->out = fc_buffer_view(&w->links[c->stage + 1], what, &c->plan->links[c->stage + 1]);
  if (fc_view_count(&c->out) == 0) return TRUE;
  for (guint k = 0; k < c->ps->n_sides; k++)
    c->sides[k] = fc_buffer_view(&slot->sides[c->ps->side + k], slot->chunk->sides[c->ps->side + k].view,
                                 &c->plan->sides[c->ps->side + k].format);
  if (c->ps->measure_bytes)
    c->measure = slot->measured[c->stage], c->measure_stride = slot->measured_strides[c->stage];
  gint64 start = fc_trace_now(w->trace);
  gboolean ok = run_call(c, error);
  fc_trace_add(w->trace, FC_TRACK_COMPUTE, c->ps->name, start, slot->number, -1);
  return ok;
}

/* Chunks take turns at a stage that carries state, in the order in which they were read. */
static gboolean run_carrying(call *c, GError **error) {
  fc_workspace *w = c->work;
  if (w->turn && !w->turn(w->turn_data, c->stage, c->slot->number, TRUE)) return FALSE; /* the run stops */
  c->carry = w->carries[c->stage].state;
  gboolean ok = restore_tail(w, c->slot, c->stage, error) && run_fresh(c, error) &&
                keep_tail(w, c->slot, c->stage, error);
  if (w->turn) w->turn(w->turn_data, c->stage, c->slot->number, FALSE);
  return ok;
}

/* The part of link s that a kernel of the stages from s on gets: the same positions as its outputs,
 * shifted if the first stage is a crop; for a window everything available. */
static fc_view fused_input(const fc_workspace *w, const fc_slot *slot, guint s, const fc_range to[FC_AXES]) {
  const fc_plan *plan = slot->states->plan;
  const fc_chunk_link *in = &slot->chunk->links[s];
  fc_range from[FC_AXES];
  gboolean window = FALSE;
  for (guint i = 0; i < plan->stages[s].fused; i++)
    window |= (plan->stages[s + i].function->flags & FC_FUNCTION_WINDOW) != 0;
  for (int a = FC_AXIS_N; a < FC_AXIS_C; a++) {
    const gint64 shift = plan->stages[s].reach[a].after;
    from[a] = window ? in->made[a] : (fc_range){to[a].lo + shift, to[a].hi + shift};
  }
  from[FC_AXIS_C] = in->view[FC_AXIS_C];
  return fc_buffer_view(&w->links[s], from, &plan->links[s]);
}

gboolean fc_workspace_run_fused(fc_workspace *w, fc_slot *slot, guint s, guint *stages, GError **error) {
  const fc_plan *plan = slot->states->plan;
  fc_fused *fused = slot->states->stages[s].fused;
  const guint end = s + plan->stages[s].fused, through = plan->stages[s].through ? 1 : 0;
  *stages = 0;
  if (!fused || end + through > slot->chunk->last) return TRUE;
  const call last = call_of(w, slot, end + through - 1);
  fc_range to[FC_AXES];
  fresh_part(&last, to);
  fc_view out = fc_buffer_view(&w->links[end + through], to, &plan->links[end + through]);
  if (through) {
    const fc_range exchanged[FC_AXES] = {to[0], to[1], to[2], to[3]};
    fc_plan_unexchange(plan, end, exchanged, to), out = fc_plan_unexchanged(plan, end, &out);
    /* Of a part of the channels there is no kernel. */
    if (fc_range_length(to[FC_AXIS_C]) != plan->links[end].extent[FC_AXIS_C]) return TRUE;
  }
  fc_view in = fused_input(w, slot, s, to);
  gboolean done = fc_view_count(&out) == 0;
  const gint64 start = fc_trace_now(w->trace);
  guint32 *notes = fc_notes_to(w, fc_plan_noting(plan, s));
  if (!done && (!fc_fused_run(fused, w->runner, &in, &out, notes, &done, error) ||
                (done && !make_edges(&last, w->runner, &in, &out, w->scratch, notes, error))))
    return FALSE;
  if (done) fc_trace_add(w->trace, FC_TRACK_COMPUTE, fc_fused_name(fused), start, slot->number, -1);
  *stages = done ? end + through - s : 0;
  return TRUE;
}

void fc_workspace_passed(const fc_slot *slot) {
  for (guint s = 0; s < slot->chunk->last; s++) {
    const fc_range *made = slot->chunk->links[s + 1].made;
    gint64 elements = 1;
    for (int a = FC_AXIS_N; a < FC_AXIS_C; a++) elements *= fc_range_length(made[a]);
    if (slot->states->stages[s].fused) fc_fused_passed(slot->states->stages[s].fused, elements);
  }
}

gboolean fc_workspace_stages(fc_workspace *w, fc_slot *slot, guint first, GError **error) {
  const fc_plan *plan = slot->states->plan;
  for (guint s = first, fused; s < slot->chunk->last; s += MAX(fused, 1)) {
    if (!fc_workspace_run_fused(w, slot, s, &fused, error)) return FALSE;
    if (fused) continue;
    call c = call_of(w, slot, s);
    if (!(plan->stages[s].carry_bytes ? run_carrying : run_fresh)(&c, error)) return FALSE;
  }
  /* A chunk that ends before these stages lets the next one pass. */
  for (guint s = slot->chunk->last; s < plan->n; s++) {
    if (!plan->stages[s].carry_bytes || !w->turn) continue;
    if (!w->turn(w->turn_data, s, slot->number, TRUE)) return FALSE;
    w->turn(w->turn_data, s, slot->number, FALSE);
  }
  return TRUE;
}

gboolean fc_workspace_run(fc_workspace *w, fc_slot *slot, guint stage, const fc_view *in, const fc_view *out,
                          void *scratch, GError **error) {
  call c = call_of(w, slot, stage);
  c.in = *in, c.out = *out, c.scratch = scratch;
  return c.plan->n_devices == 0 ? run_on_cpu(&c, error)
         : c.ps->on_host        ? no_kernel(&c, error)
                                : run_on_device(&c, error);
}

gboolean fc_workspace_run_edges(fc_workspace *w, fc_slot *slot, guint stage, const fc_view *in,
                                const fc_view *out, gboolean *done, GError **error) {
  call c = call_of(w, slot, stage);
  c.in = *in, c.out = *out;
  return run_edges(&c, done, error);
}

void fc_workspace_point(fc_workspace *w, fc_slot *slot) {
  const fc_plan *plan = slot->states->plan;
  const guint root = fc_plan_output_root(plan);
  w->links[0] = slot->in;
  for (guint l = 1; l <= slot->chunk->last; l++) {
    const fc_chunk_link *link = &slot->chunk->links[l];
    if (plan->stages[l - 1].passthrough) {
      w->links[l] = w->links[l - 1]; /* the same memory */
      continue;
    }
    if (l == root) w->links[l] = slot->out;
    gint64 aligned = l < slot->chunk->last ? link->view[FC_AXIS_X].lo : link->made[FC_AXIS_X].lo;
    fc_buffer_hold(&w->links[l], link->held, aligned);
  }
}
