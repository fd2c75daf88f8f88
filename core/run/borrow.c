/* SPDX-License-Identifier: MIT */
/* borrow.c - see borrow.h. */
#include "core/run/borrow.h"

#include "core/base/error.h"

#include <string.h>

/* Cost of a row of a margin on the CPU, however short, in bytes copied: its data are not in the cache, and
 * operators are slow on short rows. */
#define MARGIN_ROW 2048
/* On a device a margin takes several launches in sequence: it must save copying this many bytes of input. */
#define MARGIN_WORTH ((gint64)24 << 20)
/* On a device, parts begin at multiples of this many elements along X, for wide loads and stores. */
#define MARGIN_GRAIN 64

G_STATIC_ASSERT(FC_PARTS == 1 + FC_LANES); /* the margins run in lanes beside the inside */

/* The caller's memory as the buffer of a link that holds the whole view. */
static fc_buffer lent(const fc_view *v, gboolean whole) {
  fc_buffer b = {.memory = v->data, .dtype = v->dtype, .kind = v->kind, .device = v->device};
  for (int a = 0; a < FC_AXES; a++) {
    const gint64 from = whole ? 0 : v->origin[a];
    b.stride[a] = v->stride[a];
    b.held[a] = (fc_range){from, from + v->shape[a]};
  }
  return b;
}

/* A part of a view, by position relative to its first element. */
static fc_view part_of(const fc_view *all, const fc_range what[FC_AXES]) {
  fc_view part = *all;
  for (int a = 0; a < FC_AXES; a++) {
    part.data = (char *)part.data + what[a].lo * all->stride[a];
    part.origin[a] = what[a].lo;
    part.shape[a] = fc_range_length(what[a]);
  }
  return part;
}

/* ---- parts ----------------------------------------------------------------------- */

/* Whether the first stage can read the caller's memory in place, except for its margins, which must cost
 * less than copying everything. Returns the number of parts then, else 0. */
static guint cut(const fc_borrow *b, const fc_workspace *w, const fc_slot *slot, fc_part parts[FC_PARTS]) {
  const fc_plan *plan = slot->states->plan;
  const fc_plan_stage *first = &plan->stages[0];
  const fc_chunk_link *in = &slot->chunk->links[0], *out = &slot->chunk->links[1];
  const gint64 size = (gint64)fc_dtype_size(plan->links[0].dtype);
  const gboolean device = w->runner->device != FC_HOST;
  const gboolean last = plan->n == 1; /* our own buffers have a cache line at 0 */
  fc_lines lines =
      device ? (fc_lines){MARGIN_GRAIN, 0}
             : fc_lines_of(last ? b->out->data : NULL,
                           last ? b->out->stride[FC_AXIS_X] : (gint64)fc_dtype_size(plan->links[1].dtype));
  /* A stage that passes its input through would have a later stage's border written into that input. */
  guint n = first->passthrough || first->n_sides || first->carry_bytes || first->measure_bytes
                ? 0
                : fc_parts_cut(first, &plan->links[0], out->made, lines, parts);
  gint64 all = fc_ranges_count(in->made) * size, copy = fc_ranges_count(in->held) * size, margins = 0,
         rows = 0;
  for (guint i = 1; i < n; i++) {
    const fc_range *held = parts[i].held;
    margins += fc_ranges_count(held) * size;
    rows += MARGIN_ROW * fc_range_length(held[FC_AXIS_N]) * fc_range_length(held[FC_AXIS_Y]);
  }
  if (!device) return margins + rows < copy ? n : 0;
  return n > 1 && margins <= all / 2 && all >= (n - 1) * MARGIN_WORTH ? n : 0;
}

/* Grows memory to at least this size. Not while the caller's stream is captured. */
static gboolean grow(fc_workspace *w, void **memory, gsize *have, gsize bytes, GError **error) {
  if (bytes <= *have) return TRUE;
  const fc_driver *driver = w->context->driver;
  if (w->runner->device != FC_HOST && driver->captures(w->runner->device, w->runner->stream))
    return fc_fail(
        error, FC_INVALID,
        "the stream is being captured, where no memory can be taken for a border: run the chain on "
        "it once before, with views that lie like these");
  /* The old block is freed with the workspace, since work that uses it may be in progress. */
  void *more = fc_workspace_alloc(w, bytes, FALSE, "a border", error);
  if (!more) return FALSE;
  *memory = more, *have = bytes;
  return TRUE;
}

/* Lays out a buffer that spans `held` in the room's memory. */
static gboolean lay_out(fc_workspace *w, fc_room *room, const fc_format *format, const fc_range held[FC_AXES],
                        gint64 aligned, fc_buffer *b, GError **error) {
  gint64 capacity[FC_AXES];
  for (int a = 0; a < FC_AXES; a++) capacity[a] = fc_range_length(held[a]);
  memset(b, 0, sizeof *b);
  b->device = w->runner->device;
  if (!fc_buffer_layout(b, format, capacity))
    return fc_fail(error, FC_NO_MEMORY, "a border is too large to be addressed");
  if (!grow(w, &room->memory, &room->bytes, b->bytes, error)) return FALSE;
  b->memory = room->memory;
  fc_buffer_hold(b, held, aligned);
  return TRUE;
}

/* Copies the caller's input at `made` into the room, whose buffer spans `held`. */
static gboolean load(fc_borrow *b, fc_workspace *w, const fc_slot *slot, fc_room *room,
                     const fc_range made[FC_AXES], const fc_range held[FC_AXES], gint64 aligned,
                     fc_buffer *to, GError **error) {
  const fc_format *format = &slot->states->plan->links[0];
  if (!lay_out(w, room, format, held, aligned, to, error)) return FALSE;
  fc_view there = fc_buffer_view(to, made, format), here = part_of(b->in, made);
  const gint64 start = fc_trace_now(w->trace);
  if (fc_view_count(&there) && !w->runner->copy(w->runner, &there, &here, NULL, error)) return FALSE;
  fc_trace_add(w->trace, FC_TRACK_COMPUTE, "copy", start, slot->number, fc_view_bytes(&there));
  return TRUE;
}

static gboolean run_margin(fc_borrow *b, fc_workspace *w, fc_slot *slot, guint i, const fc_part *p,
                           const fc_view *out, GError **error) {
  const fc_plan *plan = slot->states->plan;
  const fc_plan_stage *first = &plan->stages[0];
  fc_room *room = &b->rooms[i];
  fc_buffer buffer;
  if (!load(b, w, slot, room, p->real, p->held, p->view[FC_AXIS_X].lo, &buffer, error)) return FALSE;
  fc_view real = fc_buffer_view(&buffer, p->real, &plan->links[0]);
  if (first->border != FC_BORDER_NONE &&
      !w->runner->fill_border(w->runner, &real, p->virt, first->border, &first->border_code, error))
    return FALSE;
  fc_view in = fc_buffer_view(&buffer, p->view, &plan->links[0]);
  if (w->runner->device != FC_HOST) {
    gsize bytes = fc_state_scratch(plan, 0, &slot->states->stages[0], &in, out);
    if (!grow(w, &room->scratch, &room->scratch_bytes, bytes, error)) return FALSE;
  }
  return fc_workspace_run(w, slot, 0, &in, out, room->scratch, error);
}

/* Runs the first stage part by part. Margins run concurrently with the end of the inside, and with each
 * other, where there are lanes: they are too small to fill a device. */
static gboolean run_parts(fc_borrow *b, fc_workspace *w, fc_slot *slot, const fc_part *parts, guint n,
                          GError **error) {
  const fc_plan *plan = slot->states->plan;
  const gboolean lanes = w->runner->fork && n > 1;
  const gint64 start = fc_trace_now(w->trace);
  fc_view in = fc_buffer_view(&slot->in, parts[0].view, &plan->links[0]);
  fc_view out = fc_buffer_view(&w->links[1], parts[0].out, &plan->links[1]);
  if (lanes && !w->runner->fork(w->runner, n - 1, error)) return FALSE;
  gboolean ok = fc_workspace_run(w, slot, 0, &in, &out, NULL, error);
  for (guint i = 1; i < n && ok; i++) {
    if (lanes) w->runner->aside(w->runner, i);
    out = fc_buffer_view(&w->links[1], parts[i].out, &plan->links[1]);
    ok = run_margin(b, w, slot, i, &parts[i], &out, error);
  }
  if (lanes) {
    w->runner->aside(w->runner, 0);
    /* Always joined; the first failure is reported. */
    ok = w->runner->join(w->runner, ok ? error : NULL) && ok;
  }
  fc_trace_add(w->trace, FC_TRACK_COMPUTE, plan->stages[0].name, start, slot->number, -1);
  return ok;
}

/* ---- a chunk ------------------------------------------------------------------------ */

/* Whether the first stage reads nothing beyond the caller's memory. */
static gboolean needs_no_room(const fc_slot *slot) {
  const fc_range *held = slot->chunk->links[0].held;
  const fc_backend *backend = slot->states->stages[0].backend;
  if (backend && (backend->flags & FC_BACKEND_INSIDE) &&
      slot->states->plan->stages[0].border == FC_BORDER_NONE)
    return TRUE;
  for (int a = 0; a < FC_AXES; a++)
    if (held[a].lo < 0 || held[a].hi > slot->states->plan->links[0].extent[a]) return FALSE;
  return TRUE;
}

/* The caller's memory as the last stage's output, if the stage makes exactly what is delivered. */
static gboolean write_in_place(const fc_borrow *b, fc_slot *slot) {
  const fc_plan *plan = slot->states->plan;
  const fc_chunk_link *last = &slot->chunk->links[plan->n];
  if (!fc_range_same(last->made[plan->cut], slot->chunk->deliver) || fc_plan_output_root(plan) != plan->n)
    return FALSE;
  fc_view part = part_of(b->out, last->made);
  slot->out = lent(&part, FALSE);
  return TRUE;
}

static gboolean run_stages(fc_borrow *b, fc_workspace *w, fc_slot *slot, GError **error) {
  const fc_plan *plan = slot->states->plan;
  const fc_chunk_link *link = &slot->chunk->links[0];
  fc_part parts[FC_PARTS];
  slot->in = lent(b->in, TRUE);
  fc_workspace_point(w, slot);
  if (needs_no_room(slot)) return fc_workspace_stages(w, slot, 0, error);
  guint fused;
  if (!fc_workspace_run_fused(w, slot, 0, &fused, error)) return FALSE;
  if (fused) return fc_workspace_stages(w, slot, fused, error);
  if (fc_workspace_may_make_border(w, slot, 0) && !plan->stages[0].passthrough) {
    gboolean done = FALSE;
    fc_view in = fc_buffer_view(&slot->in, link->view, &plan->links[0]);
    fc_view out = fc_buffer_view(&w->links[1], slot->chunk->links[1].made, &plan->links[1]);
    if (fc_view_count(&out) == 0) return TRUE; /* no operator is called for an empty output */
    if (!fc_workspace_run_edges(w, slot, 0, &in, &out, &done, error)) return FALSE;
    if (done) return fc_workspace_stages(w, slot, 1, error);
  }
  guint n = cut(b, w, slot, parts);
  if (n) return run_parts(b, w, slot, parts, n, error) && fc_workspace_stages(w, slot, 1, error);
  if (!load(b, w, slot, &b->rooms[0], link->made, link->held, link->view[FC_AXIS_X].lo, &slot->in, error))
    return FALSE;
  fc_workspace_point(w, slot);
  return fc_workspace_stages(w, slot, 0, error);
}

gboolean fc_borrow_run(fc_borrow *b, fc_workspace *w, fc_slot *slot, GError **error) {
  const fc_plan *plan = slot->states->plan;
  if (plan->n == 0) return w->runner->copy(w->runner, b->out, b->in, NULL, error);
  const fc_buffer own = slot->out;
  const gboolean ends = slot->chunk->last == plan->n; /* otherwise the chunk is run only for a measurement */
  const gboolean in_place = ends && write_in_place(b, slot);
  gboolean ok = run_stages(b, w, slot, error);
  if (ok && ends && !in_place) {
    fc_range what[FC_AXES];
    memcpy(what, slot->chunk->links[plan->n].made, sizeof what);
    what[plan->cut] = slot->chunk->deliver;
    fc_view from = fc_buffer_view(&w->links[plan->n], what, &plan->links[plan->n]),
            to = part_of(b->out, what);
    ok = fc_view_count(&to) == 0 || w->runner->copy(w->runner, &to, &from, NULL, error);
  }
  slot->out = own;
  return ok;
}
