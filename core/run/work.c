/* SPDX-License-Identifier: MIT */
/*
 * work.c - see work.h. On the CPU a stage's output is cut into tiles that the workers
 * share out; an operator is a pure function of its view, so where the cuts lie does
 * not show in the result.
 */
#include "core/run/work.h"

#include "core/device/cpu.h"
#include "core/base/error.h"

#include <string.h>

/* Tiles for each worker, so that one that is held up does not hold up all; and the
 * least output elements that are worth waking a worker for. */
#define TILES_EACH 2
#define TILE_LEAST 8192

/* ---- the shape of the work -------------------------------------------- */

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

/* Never decreases when `shape` grows, so that scratch for the longest serves all. */
static gint64 tile_length(const gint64 shape[FC_AXES], int axis, gint64 align, int workers) {
  gint64 length = MAX(shape[axis], 1), across = 1;
  for (int a = 0; a < FC_AXES; a++)
    if (a != axis) across *= MAX(shape[a], 1);
  gint64 tile = fc_scale_ceil(length, 1, workers > 1 ? (gint64)workers * TILES_EACH : 1);
  tile = MAX(tile, fc_scale_ceil(TILE_LEAST, 1, across));
  tile = fc_scale_ceil(tile, 1, align) * align;
  return tile;
}

static gboolean on_cpu(const fc_plan *plan, guint s) {
  return plan->device == FC_HOST || plan->stages[s].on_host;
}

static const fc_backend *backend_of(const fc_plan *plan, guint s) {
  const fc_operator *op = plan->stages[s].op;
  if (!op) return NULL;
  return fc_backend_for(op, on_cpu(plan, s) ? FC_KIND_HOST : FC_KIND_CUDA);
}

static fc_runner *cpu_of(fc_work *w) {
  return w->helper ? w->helper : w->runner;
}

/* What is not a function of its view alone is run in one piece. */
static int workers_of(const fc_plan_stage *ps, int threads) {
  return threads;
}

/* ---- making a workspace ----------------------------------------------- */

/* `host`: in host memory that a device's lanes copy from and to. */
static gboolean no_memory(const fc_plan *plan, const fc_runner *runner, gboolean host, const char *what,
                          gsize bytes, GError **error) {
  gboolean gpu = runner->device != FC_HOST;
  const fc_context *context = plan->chain->context;
  gsize room = fc_frame_pool_room(context->frames);
  if (!gpu && bytes > room)
    return fc_fail(
        error, FC_NO_MEMORY,
        "%s takes %.1f MB of memory, and of the limit of %.1f MB (--max-memory sets it) %.1f MB are "
        "left",
        what, (double)bytes / 1e6, (double)context->max_memory / 1e6, (double)room / 1e6);
  return fc_fail(error, FC_NO_MEMORY, "%s%snot enough %smemory for %s (%.1f MB)",
                 gpu ? runner->description : "", gpu ? ": " : "", gpu && host ? "pinned host " : "", what,
                 (double)bytes / 1e6);
}

static gsize scratch_of(const fc_plan *plan, guint s, const void *state, const fc_view *in,
                        const fc_view *out) {
  const fc_backend *backend = backend_of(plan, s);
  if (!backend || !backend->scratch) return 0;
  const fc_view *ins[1] = {in};
  fc_job job = {.size = sizeof job, .compute = plan->compute, .n_in = 1, .in = ins, .out = out};
  return (backend->scratch(state, &job) + 255) / 256 * 256;
}

gsize fc_work_scratch(fc_work *w, guint s, const fc_view *in, const fc_view *out) {
  return scratch_of(w->plan, s, w->stages[s].state, in, out);
}

/* The views of the largest call there can be, for asking how much scratch it takes. */
static gsize largest_scratch(const fc_plan *plan, guint s, const fc_work_stage *ws) {
  const fc_backend *backend = backend_of(plan, s);
  if (!backend || !backend->scratch) return 0;
  const fc_plan_stage *ps = &plan->stages[s];
  const fc_format *formats[2] = {&plan->links[s], &plan->links[s + 1]};
  fc_view views[2];
  gint64 capacity[FC_AXES];
  fc_plan_capacity(plan, s + 1, capacity);
  for (int i = 0; i < 2; i++) {
    fc_buffer b = {0};
    gint64 shape[FC_AXES];
    for (int a = 0; a < FC_AXES; a++) {
      const fc_reach *r = &ps->reach[a];
      gint64 out = on_cpu(plan, s) && a == ws->tile_axis ? MIN(ws->tile, MAX(capacity[a], 1)) : capacity[a];
      gint64 in = r->before == FC_WHOLE || r->after == FC_WHOLE ? MAX(formats[0]->extent[a], 0)
                                                                : fc_scale_ceil(out, r->num, r->den) + 1;
      shape[a] = i ? out : in;
    }
    fc_buffer_layout(&b, formats[i], shape);
    fc_range all[FC_AXES];
    for (int a = 0; a < FC_AXES; a++) all[a] = (fc_range){0, shape[a]};
    fc_buffer_hold(&b, all, 0);
    views[i] = fc_buffer_view(&b, all, formats[i]);
  }
  return scratch_of(plan, s, ws->state, &views[0], &views[1]);
}

static gboolean init_buffer(fc_buffer *b, const fc_plan *plan, guint link) {
  gint64 capacity[FC_AXES];
  fc_plan_capacity(plan, link, capacity);
  return fc_buffer_layout(b, &plan->links[link], capacity);
}

void *fc_work_memory(const fc_plan *plan, fc_runner *runner, gsize bytes, GError **error) {
  void *memory = runner->alloc(runner, bytes);
  if (!memory) no_memory(plan, runner, FALSE, "a chunk", bytes, error);
  return memory;
}

static gboolean give_memory(const fc_plan *plan, fc_runner *runner, gboolean host, fc_buffer *b,
                            GError **error) {
  b->device = host ? FC_HOST : runner->device;
  b->memory = (host ? runner->alloc_host : runner->alloc)(runner, b->bytes);
  return b->memory || no_memory(plan, runner, host, "a chunk", b->bytes, error);
}

static gboolean too_large(GError **error) {
  return fc_fail(error, FC_NO_MEMORY, "a chunk is too large to be addressed");
}

gboolean fc_work_buffer(const fc_plan *plan, fc_runner *runner, guint link, gboolean host, fc_buffer *b,
                        GError **error) {
  return init_buffer(b, plan, link) ? give_memory(plan, runner, host, b, error) : too_large(error);
}

gboolean fc_work_twin(const fc_plan *plan, fc_runner *runner, guint link, fc_buffer *b, GError **error) {
  const fc_format *format = &plan->links[link];
  gint64 capacity[FC_AXES];
  fc_plan_capacity(plan, link, capacity);
  for (int a = plan->cut == FC_AXIS_Y ? FC_AXIS_Y : FC_AXIS_N; a < FC_AXES; a++)
    if (a != (int)plan->cut) capacity[a] = format->extent[a];
  return fc_buffer_pack(b, format, capacity) ? give_memory(plan, runner, TRUE, b, error) : too_large(error);
}

/* For so many threads on the CPU. */
static gboolean prepare_stage(fc_plan *plan, guint s, int threads, fc_work_stage *ws, GError **error) {
  fc_plan_stage *ps = &plan->stages[s];
  int device = on_cpu(plan, s) ? FC_HOST : plan->device;
  if (ps->op && !fc_stage_prepare(ps->stage, backend_of(plan, s), device, plan->compute, &plan->links[s],
                                  &plan->links[s + 1], &ws->state, error))
    return FALSE;
  gint64 capacity[FC_AXES];
  fc_plan_capacity(plan, s + 1, capacity);
  ws->tile_axis = choose_tile_axis(ps, &plan->links[s + 1], capacity);
  ws->tile = tile_length(capacity, ws->tile_axis, ps->reach[ws->tile_axis].align, workers_of(ps, threads));
  ws->scratch = largest_scratch(plan, s, ws);
  return TRUE;
}

double fc_work_need(fc_plan *plan, int threads, guint *widest, GError **error) {
  gsize most = 0;
  for (guint s = 0; s < plan->n; s++) {
    fc_work_stage ws = {0};
    if (!on_cpu(plan, s)) continue;
    if (!prepare_stage(plan, s, threads, &ws, error)) return -1;
    if (ws.scratch > most) most = ws.scratch, *widest = s;
  }
  return (double)most * threads;
}

static gboolean init_stage(fc_work *w, guint s, GError **error) {
  fc_plan *plan = w->plan;
  fc_plan_stage *ps = &plan->stages[s];
  fc_work_stage *ws = &w->stages[s];
  return prepare_stage(plan, s, cpu_of(w)->threads, ws, error) &&
         (!ps->on_host || (fc_work_buffer(plan, w->runner, s, TRUE, &ws->bounce_in, error) &&
                           fc_work_buffer(plan, w->runner, s + 1, TRUE, &ws->bounce_out, error)));
}

static gboolean init_links(fc_work *w, GError **error) {
  guint root = fc_plan_output_root(w->plan);
  for (guint l = 1; l < w->plan->n; l++) {
    if (w->plan->stages[l - 1].passthrough || l == root) continue;
    if (!fc_work_buffer(w->plan, w->runner, l, FALSE, &w->links[l], error)) return FALSE;
  }
  return TRUE;
}

static gboolean init_scratch(fc_work *w, GError **error) {
  gsize cpu = 0, device = 0;
  for (guint s = 0; s < w->plan->n; s++) {
    if (on_cpu(w->plan, s))
      cpu = MAX(cpu, w->stages[s].scratch);
    else
      device = MAX(device, w->stages[s].scratch);
  }
  if (cpu) {
    cpu *= (gsize)cpu_of(w)->threads;
    w->host_scratch = cpu_of(w)->alloc(cpu_of(w), cpu);
    if (!w->host_scratch) return no_memory(w->plan, cpu_of(w), FALSE, "scratch", cpu, error);
  }
  if (device) {
    w->scratch = w->runner->alloc(w->runner, device);
    if (!w->scratch) return no_memory(w->plan, w->runner, FALSE, "scratch", device, error);
  }
  return TRUE;
}

static void begin(fc_work *w, fc_plan *plan, fc_runner *runner, fc_trace *trace) {
  memset(w, 0, sizeof *w);
  fc_chain_drop_device_run(plan->chain);
  w->plan = plan, w->runner = runner, w->trace = trace;
  w->stages = g_new0(fc_work_stage, plan->n);
  w->links = g_new0(fc_buffer, plan->n + 1);
}

static gboolean complete(fc_work *w, guint32 *notes, GError **error) {
  if (!notes) return no_memory(w->plan, w->runner, TRUE, "notes", FC_NOTES * sizeof(guint32), error);
  for (guint s = 0; s < w->plan->n; s++) {
    w->stages[s].notes = notes + FC_NOTES * s;
    if (!init_stage(w, s, error)) return FALSE;
  }
  return init_links(w, error) && init_scratch(w, error);
}

static gsize notes_bytes(const fc_plan *plan) {
  return FC_NOTES * sizeof(guint32) * MAX(plan->n, 1);
}

gboolean fc_work_init(fc_work *w, fc_plan *plan, fc_runner *runner, int threads, fc_trace *trace,
                      GError **error) {
  begin(w, plan, runner, trace);
  gboolean leaves = FALSE;
  for (guint s = 0; s < plan->n; s++) leaves |= plan->stages[s].on_host;
  if (leaves) w->helper = fc_cpu_runner_new(threads, plan->chain->context->frames);
  return complete(w, runner->alloc_host(runner, notes_bytes(plan)), error);
}

gboolean fc_work_init_borrowed(fc_work *w, fc_plan *plan, fc_runner *runner, GError **error) {
  begin(w, plan, runner, NULL);
  return complete(w, runner->alloc(runner, notes_bytes(plan)), error);
}

void fc_work_clear(fc_work *w) {
  /* What came from the runner goes with it. */
  if (w->helper) w->helper->free(w->helper);
  g_free(w->stages);
  g_free(w->links);
  memset(w, 0, sizeof *w);
}

gboolean fc_measures_init(fc_measures *m, fc_work *w, GError **error) {
  m->blocks = g_new0(void *, w->plan->n);
  m->strides = g_new0(gint64, w->plan->n);
  for (guint s = 0; s < w->plan->n; s++) {
    const fc_plan_stage *ps = &w->plan->stages[s];
    if (!ps->measure_bytes) continue;
    const fc_format *format = &w->plan->links[s + 1];
    gint64 capacity[FC_AXES];
    fc_plan_capacity(w->plan, s + 1, capacity);
    fc_range made[FC_AXES];
    for (int a = 0; a < FC_AXES; a++) made[a] = (fc_range){0, capacity[a]};
    m->strides[s] = (fc_measure_blocks(ps, format, made) + 1) * (gint64)ps->measure_bytes;
    gsize bytes = (gsize)(m->strides[s] * MAX(capacity[FC_AXIS_N], 1));
    m->blocks[s] = w->runner->alloc_host(w->runner, bytes);
    if (!m->blocks[s]) return no_memory(w->plan, w->runner, TRUE, "measurements", bytes, error);
  }
  return TRUE;
}

void fc_measures_clear(fc_measures *m, fc_work *w) {
  g_free(m->blocks);
  g_free(m->strides);
}

/* ---- running ---------------------------------------------------------- */

typedef struct call {
  fc_work *work;
  guint stage;
  fc_view in, out;       /* of the whole stage */
  void *scratch;         /* on a device: NULL is the workspace's */
  const fc_edges *edges; /* on a device: the border that the operator is to make itself; else NULL */
  gboolean refused;      /* it did not */
  void *measure;
  gint64 measure_stride;
  gint64 tiles, tile;
  gint status; /* atomic: the first failure */
} call;

static fc_view sub_view(const fc_view *v, int axis, gint64 lo, gint64 hi) {
  fc_view sub = *v;
  sub.data = (char *)v->data + (lo - v->origin[axis]) * v->stride[axis];
  sub.origin[axis] = lo;
  sub.shape[axis] = hi - lo;
  return sub;
}

static void run_tile(guint index, guint worker, void *data) {
  call *c = data;
  if (g_atomic_int_get(&c->status) != FC_OK) return;
  fc_work *w = c->work;
  const fc_plan_stage *ps = &w->plan->stages[c->stage];
  const fc_work_stage *ws = &w->stages[c->stage];
  int axis = ws->tile_axis;
  const fc_reach *r = &ps->reach[axis];
  gint64 lo = c->out.origin[axis] + index * c->tile, end = c->out.origin[axis] + c->out.shape[axis];
  gint64 hi = MIN(lo + c->tile, end);
  fc_view out = sub_view(&c->out, axis, lo, hi), in = c->in;
  if (r->before != FC_WHOLE && r->after != FC_WHOLE)
    in = sub_view(&c->in, axis, fc_scale_floor(lo, r->num, r->den), fc_scale_ceil(hi, r->num, r->den));
  if (!ps->op) {
    fc_view_convert(&out, &in, ws->notes);
    return;
  }
  char *measure = c->measure;
  if (measure) measure += (lo - c->out.origin[axis]) / r->align * (gint64)ps->measure_bytes;
  const fc_view *ins[1] = {&in};
  char *scratch = ws->scratch ? (char *)w->host_scratch + (gsize)worker * ws->scratch : NULL;
  fc_job job = {.size = sizeof job,
                .compute = w->plan->compute,
                .n_in = 1,
                .in = ins,
                .out = &out,
                .scratch = scratch,
                .scratch_bytes = ws->scratch,
                .measure = measure,
                .measure_stride = c->measure_stride,
                .notes = ws->notes};
  fc_status status = backend_of(w->plan, c->stage)->process(&ps->stage->host.base, ws->state, &job);
  if (status != FC_OK) g_atomic_int_compare_and_exchange(&c->status, FC_OK, (gint)status);
}

static gboolean run_on_cpu(call *c, GError **error) {
  fc_work *w = c->work;
  fc_plan_stage *ps = &w->plan->stages[c->stage];
  int axis = w->stages[c->stage].tile_axis;
  c->tile = MIN(w->stages[c->stage].tile,
                tile_length(c->out.shape, axis, ps->reach[axis].align, workers_of(ps, cpu_of(w)->threads)));
  c->tiles = fc_scale_ceil(c->out.shape[axis], 1, c->tile);
  cpu_of(w)->parallel(cpu_of(w), (guint)c->tiles, run_tile, c);
  if (!ps->op) return TRUE;
  return fc_stage_host_check(&ps->stage->host, ps->name, "processing", (fc_status)c->status, error);
}

static gboolean run_on_device(call *c, GError **error) {
  fc_work *w = c->work;
  fc_plan_stage *ps = &w->plan->stages[c->stage];
  fc_work_stage *ws = &w->stages[c->stage];
  if (!ps->op) return w->runner->copy(w->runner, &c->out, &c->in, ws->notes, error);
  const fc_view *ins[1] = {&c->in};
  fc_job job = {.size = sizeof job,
                .compute = w->plan->compute,
                .n_in = 1,
                .in = ins,
                .out = &c->out,
                .stream = w->runner->stream,
                .scratch = c->scratch ? c->scratch : w->scratch,
                .scratch_bytes = ws->scratch,
                .measure = c->measure,
                .measure_stride = c->measure_stride,
                .notes = ws->notes,
                .edges = c->edges};
  fc_status status = backend_of(w->plan, c->stage)->process(&ps->stage->host.base, ws->state, &job);
  c->refused = c->edges && status == FC_UNSUPPORTED;
  /* What it may have said in refusing is not the reason of anything that fails later. */
  if (c->refused) status = FC_OK;
  return fc_stage_host_check_on(&ps->stage->host, ps->name, w->plan->device, "processing", status, error);
}

static gint64 view_bytes(const fc_view *v) {
  return fc_view_count(v) * (gint64)fc_dtype_size(v->dtype);
}

/* Brings the input down, runs on the CPU, and takes the output up again. */
static gboolean run_off_device(call *c, const fc_chunk *chunk, GError **error) {
  fc_work *w = c->work;
  fc_work_stage *ws = &w->stages[c->stage];
  const fc_chunk_link *in = &chunk->links[c->stage], *out = &chunk->links[c->stage + 1];
  fc_format *formats = &w->plan->links[c->stage];
  fc_view device_in = fc_buffer_view(&w->links[c->stage], in->held, &formats[0]), device_out = c->out;
  fc_buffer_hold(&ws->bounce_in, in->held, in->view[FC_AXIS_X].lo);
  fc_buffer_hold(&ws->bounce_out, out->held, out->made[FC_AXIS_X].lo);
  fc_view host_in = fc_buffer_view(&ws->bounce_in, in->held, &formats[0]);
  gint64 start = fc_trace_now(w->trace);
  if (!w->runner->copy(w->runner, &host_in, &device_in, NULL, error) || !w->runner->finish(w->runner, error))
    return FALSE;
  fc_trace_add(w->trace, FC_TRACK_COMPUTE, "download", start, w->chunks, view_bytes(&host_in));
  w->bytes_down += view_bytes(&host_in);
  c->in = fc_buffer_view(&ws->bounce_in, in->view, &formats[0]);
  c->out = fc_buffer_view(&ws->bounce_out, out->made, &formats[1]);
  if (!run_on_cpu(c, error)) return FALSE;
  start = fc_trace_now(w->trace);
  w->bytes_up += view_bytes(&c->out);
  if (!w->runner->copy(w->runner, &device_out, &c->out, NULL, error) || !w->runner->finish(w->runner, error))
    return FALSE;
  fc_trace_add(w->trace, FC_TRACK_COMPUTE, "upload", start, w->chunks, view_bytes(&c->out));
  return TRUE;
}

/* ---- borders ---------------------------------------------------------- */

/* Does the stage look beyond the ends of its input, at what is to be made there? */
static gboolean wants_border(const fc_work *w, guint s, const fc_chunk *chunk) {
  const fc_range *virt = chunk->links[s].virt;
  if (w->plan->stages[s].border == FC_BORDER_NONE) return FALSE;
  for (int a = 0; a < FC_AXES; a++) {
    gint64 extent = w->plan->links[s].extent[a];
    if (virt[a].lo < 0 || (extent >= 0 && virt[a].hi > extent)) return TRUE;
  }
  return FALSE;
}

static gboolean fill_border(fc_work *w, guint s, const fc_chunk *chunk, GError **error) {
  const fc_plan_stage *ps = &w->plan->stages[s];
  const fc_chunk_link *link = &chunk->links[s];
  fc_view view = fc_buffer_view(&w->links[s], link->made, &w->plan->links[s]);
  return w->runner->fill_border(w->runner, &view, link->virt, ps->border, &ps->border_code, error);
}

gboolean fc_work_may_make_border(const fc_work *w, guint s, const fc_chunk *chunk) {
  const fc_plan_stage *ps = &w->plan->stages[s];
  if (!ps->op || on_cpu(w->plan, s) || !(backend_of(w->plan, s)->flags & FC_BACKEND_EDGES) ||
      ps->measure_bytes)
    return FALSE;
  for (int a = 0; a < FC_AXES; a++)
    if (!fc_range_same(chunk->links[s].view[a], (fc_range){0, w->plan->links[s].extent[a]})) return FALSE;
  return TRUE;
}

/* Nothing has been enqueued where `done` is FALSE after it. */
static gboolean run_edges(call *c, gboolean *done, GError **error) {
  const fc_plan_stage *ps = &c->work->plan->stages[c->stage];
  const fc_edges edges = {sizeof edges, ps->border, ps->border_code};
  c->edges = &edges;
  gboolean ok = run_on_device(c, error);
  c->edges = NULL;
  *done = !c->refused;
  return ok;
}

/* ---- stages, one after another ---------------------------------------- */

static gboolean run_call(call *c, const fc_chunk *chunk, GError **error) {
  fc_work *w = c->work;
  if (wants_border(w, c->stage, chunk)) {
    gboolean may = fc_work_may_make_border(w, c->stage, chunk), done = FALSE;
    gboolean ok = !may || run_edges(c, &done, error);
    if (!ok || done) return ok;
    if (!fill_border(w, c->stage, chunk, error)) return FALSE;
  }
  return w->plan->stages[c->stage].on_host ? run_off_device(c, chunk, error)
         : w->plan->device == FC_HOST      ? run_on_cpu(c, error)
                                           : run_on_device(c, error);
}

static gboolean run_stage(fc_work *w, guint s, const fc_chunk *chunk, const fc_measures *measures,
                          GError **error) {
  const fc_plan_stage *ps = &w->plan->stages[s];
  call c = {.work = w, .stage = s};
  c.in = fc_buffer_view(&w->links[s], chunk->links[s].view, &w->plan->links[s]);
  c.out = fc_buffer_view(&w->links[s + 1], chunk->links[s + 1].made, &w->plan->links[s + 1]);
  if (fc_view_count(&c.out) == 0) return TRUE;
  if (measures && ps->measure_bytes) c.measure = measures->blocks[s], c.measure_stride = measures->strides[s];
  gint64 start = fc_trace_now(w->trace);
  gboolean ok = run_call(&c, chunk, error);
  fc_trace_add(w->trace, FC_TRACK_COMPUTE, ps->name, start, w->chunks, -1);
  return ok;
}

fc_buffer *fc_work_link(fc_work *w, guint link) {
  return &w->links[link];
}

void fc_work_point(fc_work *w, const fc_chunk *chunk, fc_buffer *in, fc_buffer *out) {
  guint root = fc_plan_output_root(w->plan);
  w->links[0] = *in;
  for (guint l = 1; l <= chunk->last; l++) {
    const fc_chunk_link *link = &chunk->links[l];
    if (w->plan->stages[l - 1].passthrough) {
      w->links[l] = w->links[l - 1]; /* the same memory */
      continue;
    }
    if (l == root) w->links[l] = *out;
    gint64 aligned = l < chunk->last ? link->view[FC_AXIS_X].lo : link->made[FC_AXIS_X].lo;
    fc_buffer_hold(&w->links[l], link->held, aligned);
  }
}

gboolean fc_work_enqueue_after(fc_work *w, const fc_chunk *chunk, guint stages, const fc_measures *measures,
                               GError **error) {
  for (guint s = stages; s < chunk->last; s++)
    if (!run_stage(w, s, chunk, measures, error)) return FALSE;
  return TRUE;
}

gboolean fc_work_enqueue(fc_work *w, const fc_chunk *chunk, fc_buffer *in, fc_buffer *out,
                         const fc_measures *measures, GError **error) {
  fc_work_point(w, chunk, in, out);
  return fc_work_enqueue_after(w, chunk, 0, measures, error);
}

gboolean fc_work_run(fc_work *w, guint stage, const fc_view *in, const fc_view *out, void *scratch,
                     GError **error) {
  call c = {.work = w, .stage = stage, .in = *in, .out = *out, .scratch = scratch};
  return w->plan->device == FC_HOST ? run_on_cpu(&c, error) : run_on_device(&c, error);
}

gboolean fc_work_run_edges(fc_work *w, guint stage, const fc_view *in, const fc_view *out, gboolean *done,
                           GError **error) {
  call c = {.work = w, .stage = stage, .in = *in, .out = *out};
  return run_edges(&c, done, error);
}

gboolean fc_work_capturable(const fc_work *w) {
  for (guint s = 0; s < w->plan->n; s++) {
    const fc_plan_stage *ps = &w->plan->stages[s];
    if (ps->on_host) return FALSE;
    if (ps->op && !(backend_of(w->plan, s)->flags & FC_BACKEND_GRAPH)) return FALSE;
  }
  return TRUE;
}

/* ---- notes ------------------------------------------------------------ */

gboolean fc_work_check_notes(fc_work *w, const char *name, GError **error) {
  for (guint s = 0; s < w->plan->n; s++)
    if (g_atomic_int_get((gint *)&w->stages[s].notes[FC_NOTE_NAN]))
      return fc_fail(error, FC_IO,
                     "%s: %s: a value that is not a number (NaN) was to become %s: mend the input or write "
                     "floating point",
                     name, w->plan->stages[s].name, fc_dtype_name(w->plan->links[s + 1].dtype));
  return TRUE;
}

/* The stage whose noise may be what was clipped at this one: itself, or the one before a conversion; or -1.
 */
static int noise_at(const fc_plan *plan, int stage) {
  for (int s = stage; s >= 0 && s >= stage - 1; s--)
    if (plan->stages[s].op && plan->stages[s].op->flags & FC_OP_NOISE) return s;
  return -1;
}

/* Integers that are stored as such cannot exceed their range by themselves; code values of more bits can. */
static gboolean only_noise(const fc_plan *plan, int stage) {
  int noise = noise_at(plan, stage);
  if (noise < 0) return FALSE;
  const fc_format *in = &plan->links[noise], *out = &plan->links[stage + 1];
  return !fc_dtype_is_float(in->dtype) && (in->dtype == out->dtype || in->kind == FC_AUDIO);
}

static int first_clipped(fc_work *w) {
  for (guint s = 0; s < w->plan->n; s++)
    if (w->stages[s].notes && g_atomic_int_get((gint *)&w->stages[s].notes[FC_NOTE_CLIPPED]) &&
        !only_noise(w->plan, (int)s))
      return (int)s;
  return -1;
}

gboolean fc_work_warn_clipped(fc_work *w, const char *name) {
  int clipped = first_clipped(w);
  if (clipped < 0) return FALSE;
  const fc_plan_stage *ps = &w->plan->stages[clipped];
  fc_context_log(w->plan->chain->context, FC_LOG_WARNING,
                 "%s: %s: some values exceeded the range of %s and were clipped: lower the gain, or write "
                 "floating point%s",
                 name, ps->name, fc_dtype_name(w->plan->links[clipped + 1].dtype),
                 noise_at(w->plan, clipped) < 0
                     ? ""
                     : " (nothing is amiss where they touch its ends, and the noise leads beyond)");
  return TRUE;
}
