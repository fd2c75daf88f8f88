/* SPDX-License-Identifier: MIT */
/*
 * device_run.c - a chain on device memory and a stream of the caller's: see exec.h.
 *
 * A first stage that looks beyond its input needs a border, for which the caller's memory has
 * no room. Some operators make it themselves (FC_BACKEND_EDGES). For others small inputs are copied to where
 * there is room. Of large ones only the rims are, as
 * much as their part of the output looks at, and the inside is filtered where it lies: what an
 * element of the output comes to does not depend on how the output is cut. Memory for that is taken when the
 * run is made; for operators that make their border when they first refuse to, with views that they cannot do
 * with.
 */
#include "core/base/error.h"
#include "core/run/exec.h"
#include "core/plan/parts.h"
#include "core/run/work.h"

#include <string.h>

/* A rim takes some launches, one after another: it must save copying so many bytes of input. */
#define RIM_WORTH ((gint64)24 << 20)
/* Parts begin at multiples of so many elements along X, for the sake of wide loads and stores. */
#define RIM_GRAIN 64

G_STATIC_ASSERT(FC_PARTS == 1 + FC_LANES); /* the rims run in lanes beside the inside */

typedef struct part {
  fc_part cut;
  fc_buffer room; /* of a rim; of the inside no memory */
  void *scratch;  /* of a rim; NULL: it takes none */
} part;

struct fc_device_run {
  fc_plan *plan;
  fc_runner *runner;
  fc_work work;
  fc_chunk *chunk;
  fc_buffer room; /* for the whole input with its border; else no memory */
  guint n_parts;  /* of the first stage's work; 0: it is done in one */
  part parts[FC_PARTS];
  gboolean edges; /* the first stage may make its border itself */
  gboolean roomy; /* what it takes to make it for it is there: room, or parts */
  gboolean used;
  const fc_view *in, *out; /* of the call */
};

/* ---- parts ------------------------------------------------------------ */

/* The inside first: while it runs the rims are enqueued. */
static void cut_into_parts(fc_device_run *r) {
  fc_part cuts[FC_PARTS];
  r->n_parts = fc_parts_cut(&r->plan->stages[0], &r->plan->links[0], r->chunk->links[1].made,
                            (fc_lines){RIM_GRAIN, 0}, cuts);
  for (guint i = 0; i < r->n_parts; i++) r->parts[i].cut = cuts[i];
}

/* Whether the inside is worth it: copies of the rims' input are short beside one of all. */
static gboolean pays(const fc_device_run *r) {
  const fc_format *format = &r->plan->links[0];
  const gint64 size = (gint64)fc_dtype_size(format->dtype);
  gint64 all = fc_ranges_count(r->chunk->links[0].made), rims = 0;
  for (guint i = 1; i < r->n_parts; i++) rims += fc_ranges_count(r->parts[i].cut.held);
  return r->n_parts > 1 && rims <= all / 2 && all * size >= (r->n_parts - 1) * RIM_WORTH;
}

static gboolean no_memory(const fc_device_run *r, gsize bytes, GError **error) {
  return fc_fail(error, FC_NO_MEMORY, "%s: not enough memory for a border (%.1f MB)", r->runner->description,
                 (double)bytes / 1e6);
}

static gboolean make_rims(fc_device_run *r, GError **error) {
  for (guint i = 1; i < r->n_parts; i++) {
    part *p = &r->parts[i];
    gint64 capacity[FC_AXES];
    if (p->room.memory) continue; /* since a call that failed later */
    for (int a = 0; a < FC_AXES; a++) capacity[a] = fc_range_length(p->cut.held[a]);
    if (!fc_buffer_layout(&p->room, &r->plan->links[0], capacity))
      return fc_fail(error, FC_NO_MEMORY, "a border is too large to be addressed");
    p->room.device = r->runner->device;
    p->room.memory = r->runner->alloc(r->runner, p->room.bytes);
    if (!p->room.memory) return no_memory(r, p->room.bytes, error);
    fc_buffer_hold(&p->room, p->cut.held, p->cut.view[FC_AXIS_X].lo);
  }
  return TRUE;
}

/* The views of a part, once fc_work_point has been called. */
static fc_view part_in(fc_device_run *r, guint i, const fc_buffer *input) {
  return fc_buffer_view(i ? &r->parts[i].room : input, r->parts[i].cut.view, &r->plan->links[0]);
}

static fc_view part_out(fc_device_run *r, guint i) {
  return fc_buffer_view(fc_work_link(&r->work, 1), r->parts[i].cut.out, &r->plan->links[1]);
}

/* Scratch for the rims, each its own: they run at the same time. */
static gboolean make_scratch(fc_device_run *r, GError **error) {
  fc_buffer nowhere = {.dtype = r->plan->links[1].dtype, .kind = r->plan->links[1].kind};
  fc_buffer_layout(&nowhere, &r->plan->links[1], r->plan->links[1].extent);
  fc_buffer_hold(&nowhere, r->chunk->links[1].made, 0);
  for (guint i = 1; i < r->n_parts; i++) {
    fc_view in = part_in(r, i, NULL), out = fc_buffer_view(&nowhere, r->parts[i].cut.out, &r->plan->links[1]);
    gsize bytes = fc_work_scratch(&r->work, 0, &in, &out);
    if (bytes == 0 || r->parts[i].scratch) continue;
    r->parts[i].scratch = r->runner->alloc(r->runner, bytes);
    if (!r->parts[i].scratch) return no_memory(r, bytes, error);
  }
  return TRUE;
}

/* Copies what a rim looks at to where there is room, and makes its border there. */
static gboolean fill_rim(fc_device_run *r, part *p, const fc_buffer *input, GError **error) {
  const fc_plan_stage *ps = &r->plan->stages[0];
  const fc_format *format = &r->plan->links[0];
  fc_view to = fc_buffer_view(&p->room, p->cut.real, format),
          from = fc_buffer_view(input, p->cut.real, format);
  if (!r->runner->copy(r->runner, &to, &from, NULL, error)) return FALSE;
  if (ps->border == FC_BORDER_NONE) return TRUE;
  return r->runner->fill_border(r->runner, &to, p->cut.virt, ps->border, &ps->border_code, error);
}

static gboolean enqueue_rim(fc_device_run *r, guint i, const fc_buffer *input, GError **error) {
  part *p = &r->parts[i];
  if (!fill_rim(r, p, input, error)) return FALSE;
  fc_view in = part_in(r, i, input), out = part_out(r, i);
  return fc_work_run(&r->work, 0, &in, &out, p->scratch, error);
}

/* The rims run beside the end of the inside, and each other: they are too small to fill a device. */
static gboolean enqueue_parts(fc_device_run *r, fc_buffer *input, fc_buffer *output, GError **error) {
  fc_work_point(&r->work, r->chunk, input, output);
  fc_view in = part_in(r, 0, input), out = part_out(r, 0);
  if (!fc_cuda_fork(r->runner, r->n_parts - 1, error)) return FALSE;
  gboolean ok = fc_work_run(&r->work, 0, &in, &out, NULL, error);
  for (guint i = 1; i < r->n_parts && ok; i++) {
    fc_cuda_aside(r->runner, i);
    ok = enqueue_rim(r, i, input, error);
  }
  fc_cuda_aside(r->runner, 0);
  /* In any case; the first failure is the one that is told. */
  ok = fc_cuda_join(r->runner, ok ? error : NULL) && ok;
  return ok && fc_work_enqueue_after(&r->work, r->chunk, 1, NULL, error);
}

/* ---- operators that make the border themselves --------------------------- */

static gboolean may_make_border(const fc_device_run *r) {
  const fc_plan_stage *ps = &r->plan->stages[0];
  /* Of one that passes its input through the caller's memory would be the next stage's, which may need a
   * border. */
  return fc_work_may_make_border(&r->work, 0, r->chunk) && !ps->passthrough;
}

/* Nothing is enqueued where `done` is FALSE after it. */
static gboolean enqueue_edges(fc_device_run *r, fc_buffer *input, fc_buffer *output, gboolean *done,
                              GError **error) {
  fc_work_point(&r->work, r->chunk, input, output);
  fc_view in = fc_buffer_view(input, r->chunk->links[0].view, &r->plan->links[0]);
  fc_view out = fc_buffer_view(fc_work_link(&r->work, 1), r->chunk->links[1].made, &r->plan->links[1]);
  if (fc_view_count(&out) == 0) return TRUE; /* no operator is called for nothing */
  return fc_work_run_edges(&r->work, 0, &in, &out, done, error) &&
         (!*done || fc_work_enqueue_after(&r->work, r->chunk, 1, NULL, error));
}

/* ---- calls ------------------------------------------------------------ */

static void borrow(fc_buffer *b, const fc_view *view) {
  memset(b, 0, sizeof *b);
  b->memory = view->data, b->dtype = view->dtype, b->kind = view->kind, b->device = view->device;
  for (int a = 0; a < FC_AXES; a++) {
    b->stride[a] = view->stride[a];
    b->held[a] = (fc_range){0, view->shape[a]};
  }
}

/* TRUE when the first stage looks at nothing beyond the caller's memory. */
static gboolean needs_no_room(const fc_plan *plan, const fc_chunk *chunk) {
  for (int a = 0; a < FC_AXES; a++)
    if (chunk->links[0].held[a].lo < 0 || chunk->links[0].held[a].hi > plan->links[0].extent[a]) return FALSE;
  return TRUE;
}

static gboolean copy_in(fc_device_run *r, GError **error) {
  fc_buffer_hold(&r->room, r->chunk->links[0].held, 0);
  fc_view to = fc_buffer_view(&r->room, r->chunk->links[0].made, &r->plan->links[0]);
  return r->runner->copy(r->runner, &to, r->in, NULL, error);
}

static gboolean make_room(fc_device_run *r, GError **error) {
  cut_into_parts(r);
  if (pays(r))
    r->roomy = make_rims(r, error) && make_scratch(r, error);
  else
    r->n_parts = 0, r->roomy = fc_work_buffer(r->plan, r->runner, 0, FALSE, &r->room, error);
  return r->roomy;
}

/* For the first views that an operator refuses to make its border of. */
static gboolean make_room_late(fc_device_run *r, GError **error) {
  if (fc_cuda_captures(r->runner->device, r->runner->stream))
    return fc_fail(
        error, FC_INVALID,
        "the stream is being captured, where no memory can be taken for a border: run the chain on "
        "it once before, with views that lie like these");
  return make_room(r, error);
}

/* With the first stage's border made for it, if it has any. */
static gboolean enqueue_border(fc_device_run *r, fc_buffer *input, fc_buffer *output, GError **error) {
  if (!r->roomy && !make_room_late(r, error)) return FALSE;
  if (r->n_parts) return enqueue_parts(r, input, output, error);
  if (!r->room.memory) return fc_work_enqueue(&r->work, r->chunk, input, output, NULL, error);
  if (!copy_in(r, error)) return FALSE;
  fc_buffer room = r->room;
  return fc_work_enqueue(&r->work, r->chunk, &room, output, NULL, error);
}

/* Everything that the stream is given, so that the runner knows where it ends. */
static gboolean enqueue_borrowed(void *data, GError **error) {
  fc_device_run *r = data;
  const fc_plan *plan = r->plan;
  if (plan->n == 0) return r->runner->copy(r->runner, r->out, r->in, NULL, error);
  fc_buffer input, output;
  borrow(&input, r->in), borrow(&output, r->out);
  gboolean done = FALSE;
  if (r->edges && !enqueue_edges(r, &input, &output, &done, error)) return FALSE;
  if (!done && !enqueue_border(r, &input, &output, error)) return FALSE;
  /* A last stage that passes its input through has left it where it was. */
  fc_buffer *last = fc_work_link(&r->work, plan->n);
  if (last->memory == output.memory) return TRUE;
  fc_view from = fc_buffer_view(last, r->chunk->links[plan->n].made, &plan->links[plan->n]);
  return r->runner->copy(r->runner, r->out, &from, NULL, error);
}

static gboolean prepare_border(fc_device_run *r, GError **error) {
  r->roomy = r->plan->n == 0 || needs_no_room(r->plan, r->chunk);
  r->edges = !r->roomy && may_make_border(r);
  return r->roomy || r->edges || make_room(r, error);
}

static gboolean plan_chunk(fc_device_run *r) {
  fc_chunker *chunker = fc_chunker_new(r->plan);
  gboolean any = fc_chunker_next(chunker, r->chunk);
  fc_chunker_free(chunker);
  return any;
}

fc_device_run *fc_device_run_new(fc_plan *plan, fc_runner *runner, GError **error) {
  fc_device_run *r = g_new0(fc_device_run, 1);
  r->plan = plan, r->runner = runner, r->chunk = fc_chunk_new(plan);
  plan->chunk = MAX(plan->links[plan->n].extent[plan->cut], 1);
  gboolean ok = fc_work_init_borrowed(&r->work, plan, runner, error);
  if (ok && plan_chunk(r))
    ok = prepare_border(r, error);
  else
    r->chunk->last = G_MAXUINT; /* nothing to do */
  if (ok) return r;
  fc_device_run_free(r);
  return NULL;
}

const fc_plan *fc_device_run_plan(const fc_device_run *r) {
  return r->plan;
}

gboolean fc_device_run_enqueue(fc_device_run *r, const fc_view *in, const fc_view *out, GError **error) {
  if (r->chunk->last == G_MAXUINT) return TRUE;
  /* The buffers are those of the call before. */
  if (r->used && !fc_cuda_rejoin(r->runner, error)) return FALSE;
  r->in = in, r->out = out;
  gboolean ok = r->runner->compute(r->runner, 0, 0, enqueue_borrowed, r, error);
  r->used = TRUE;
  return ok;
}

void fc_device_run_free(fc_device_run *r) {
  if (!r) return;
  fc_work_clear(&r->work);
  fc_chunk_free(r->chunk);
  r->runner->free(r->runner);
  fc_plan_free(r->plan);
  g_free(r);
}
