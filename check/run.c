/* SPDX-License-Identifier: MIT */
/*
 * run.c - runs process on the whole output or on pieces of it; see trial.h.
 *
 * What a piece may read, write and use as scratch is in blocks of exactly that size, so that any other access
 * is noticed: a changed band or gap, or a result that depends on the pattern around the input.
 */
#include "check/layout.h"
#include "check/trial.h"
#include "check/watch.h"

#include <stdlib.h>
#include <string.h>

#define MOST_PIECES 16

/* Samples in guarded memory. */
typedef struct buffer {
  block memory;
  char *first; /* on the device: the element at holds[].lo */
  range holds[FC_AXES];
  int64_t stride[FC_AXES];
} buffer;

/* The part of one input that a piece reads. */
typedef struct part {
  range view[FC_AXES], readable[FC_AXES]; /* in positions of the signal */
  buffer own;                             /* unless shared */
  buffer *from;
  fc_view in_view;
} part;

typedef struct piece {
  range out[FC_AXES]; /* part of the output, in positions */
  part ins[MOST_INPUTS];
  buffer own_out; /* unless shared */
  buffer *to;
  block scratch, measure;
  int64_t measure_lead, measure_stride; /* bytes */
  size_t scratch_bytes;
  fc_view out_view;
  fc_status status;
} piece;

typedef struct running {
  trial *t;
  const source *signals; /* of the inputs */
  const manner *how;
  result *r;
  verdict *v;
  dice d;
  guint count;
  piece pieces[MOST_PIECES];
  buffer ins[MOST_INPUTS], out; /* shared */
  block notes, carry;
  unsigned char *partials; /* partial results of every block of the signal */
  const char *device_error;
} running;

static int64_t length(range r) {
  return r.hi > r.lo ? r.hi - r.lo : 0;
}

/* ---- the inputs of a piece ------------------------------------------------------- */

static int64_t floor_scaled(int64_t a, int64_t num, int64_t den) {
  return a * num / den; /* positions are never negative */
}

static int64_t ceil_scaled(int64_t a, int64_t num, int64_t den) {
  return (a * num + den - 1) / den;
}

static void need_of(const trial *t, guint k, const range out[FC_AXES], part *p) {
  for (int a = 0; a < FC_AXES; a++) {
    const fc_reach *r = &t->needs[k].reach[a];
    if (r->before == FC_WHOLE || r->after == FC_WHOLE) {
      p->view[a] = p->readable[a] = (range){0, t->ins[k].extent[a]};
      continue;
    }
    p->view[a] = (range){floor_scaled(out[a].lo, r->num, r->den), ceil_scaled(out[a].hi, r->num, r->den)};
    if (length(out[a]) == 0) p->view[a].hi = p->view[a].lo;
    p->readable[a] = (range){p->view[a].lo - r->before, p->view[a].hi + r->after};
    if (length(out[a]) == 0) p->readable[a] = p->view[a];
    if (t->needs[k].border != FC_BORDER_NONE || !(t->backend->flags & FC_BACKEND_INSIDE)) continue;
    p->readable[a].lo = MAX(p->readable[a].lo, MIN(p->view[a].lo, 0));
    p->readable[a].hi = MIN(p->readable[a].hi, MAX(p->view[a].hi, t->ins[k].extent[a]));
  }
}

/* ---- cutting --------------------------------------------------------------------- */

static gint compare_positions(gconstpointer a, gconstpointer b) {
  gint64 x = *(const gint64 *)a, y = *(const gint64 *)b;
  return (x > y) - (x < y);
}

/* The ends of the pieces along one axis, in ascending order: at most `most` of them. Cuts near the ends of
 * the signal are frequent. */
static GArray *ends_of(running *run, int64_t extent, int64_t align, int64_t most) {
  GArray *ends = g_array_new(FALSE, FALSE, sizeof(gint64));
  gint64 blocks = (extent + align - 1) / align;
  for (gint64 i = 1; i < most && blocks > 1; i++) {
    gint64 at = dice_chance(&run->d, 30) ? (dice_chance(&run->d, 50) ? 1 : blocks - 1)
                                         : dice_int(&run->d, 1, blocks - 1);
    at *= align;
    g_array_append_val(ends, at);
  }
  g_array_append_val(ends, extent);
  g_array_sort(ends, compare_positions);
  for (guint i = 1; i < ends->len;)
    if (g_array_index(ends, gint64, i) == g_array_index(ends, gint64, i - 1))
      g_array_remove_index(ends, i);
    else
      i++;
  return ends;
}

static int measured_axis(const trial *t) {
  return t->out.kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_Y;
}

/* How many pieces an axis may have: measured blocks are never cut. */
static void parts_of(running *run, int64_t parts[FC_AXES]) {
  const trial *t = run->t;
  gboolean cut = run->how->cut;
  int axis = t->out.kind == FC_AUDIO || t->out.extent[FC_AXIS_Y] <= 1 ? FC_AXIS_X : FC_AXIS_Y;
  if (t->measure_bytes) axis = measured_axis(t);
  for (int a = 0; a < FC_AXES; a++) parts[a] = 1;
  if (!cut) return;
  if (t->carry_bytes) { /* in order along time */
    parts[trial_time(t)] = dice_int(&run->d, 2, 8);
    return;
  }
  parts[FC_AXIS_N] = dice_int(&run->d, 1, 2);
  parts[axis] = dice_int(&run->d, 2, 4);
  if (axis == FC_AXIS_Y && !t->measure_bytes) parts[FC_AXIS_X] = dice_int(&run->d, 1, 2);
}

static void cut(running *run) {
  GArray *ends[FC_AXES];
  int64_t parts[FC_AXES];
  guint i[FC_AXES];
  parts_of(run, parts);
  for (int a = 0; a < FC_AXES; a++)
    ends[a] = ends_of(run, run->t->out.extent[a], run->t->needs[0].reach[a].align, parts[a]);
  for (i[0] = 0; i[0] < ends[0]->len; i[0]++)
    for (i[1] = 0; i[1] < ends[1]->len; i[1]++)
      for (i[2] = 0; i[2] < ends[2]->len; i[2]++) {
        piece *p = &run->pieces[run->count++];
        i[3] = 0;
        for (int a = 0; a < FC_AXES; a++)
          p->out[a] = (range){i[a] ? g_array_index(ends[a], gint64, i[a] - 1) : 0,
                              g_array_index(ends[a], gint64, i[a])};
        for (guint k = 0; k < run->t->n_in; k++) need_of(run->t, k, p->out, &p->ins[k]);
      }
  for (int a = 0; a < FC_AXES; a++) g_array_free(ends[a], TRUE);
}

/* ---- buffers --------------------------------------------------------------------- */

static void note_error(running *run, const char *error) {
  if (error && !run->device_error) run->device_error = error;
}

static buffer buffer_new(running *run, const range holds[FC_AXES], int dtype, int layout, const char *what) {
  buffer b = {.first = NULL};
  int64_t shape[FC_AXES], size = (int64_t)fc_dtype_size(dtype), lead = 0;
  for (int a = 0; a < FC_AXES; a++) b.holds[a] = holds[a], shape[a] = length(holds[a]);
  const test_device *device = run->t->host.device;
  if (layout != LAYOUT_ENGINE && dice_chance(&run->d, 60)) lead = size * dice_int(&run->d, 0, 16);
  if (!device->band) lead = 0;
  int64_t bytes = layout_strides(layout, shape, size, &run->d, b.stride);
  b.memory = block_new_samples(device, (size_t)(lead + bytes), run->how->poison, what);
  b.first = (char *)block_data(&b.memory) + lead;
  return b;
}

static void buffer_free(buffer *b) {
  block_free(&b->memory);
}

/* Without a chosen border the surroundings keep the pattern. */
static buffer input_new(running *run, guint k, const range readable[FC_AXES]) {
  const fc_need *need = &run->t->needs[k];
  buffer b = buffer_new(run, readable, run->t->ins[k].dtype, run->how->layout_in,
                        k ? "a further input and its halo" : "the input and its halo");
  source_write(&run->signals[k], readable, need->border == FC_BORDER_UNSET ? FC_BORDER_NONE : need->border,
               need->border_value, block_twin(&b.memory, b.first), b.stride);
  note_error(run, block_send(&b.memory));
  return b;
}

/* A layout that the operator accepts. */
static int output_layout(const running *run) {
  static const int other[LAYOUT_COUNT] = {LAYOUT_PLANAR, LAYOUT_INTERLEAVED, LAYOUT_PLANES,
                                          LAYOUT_ROWS,   LAYOUT_PLANES,      LAYOUT_PLANAR};
  int l = run->how->layout_out;
  return layout_is_planar(l) == (run->t->out.layout == FC_PLANAR) ? l : other[l];
}

static buffer output_new(running *run, const range out[FC_AXES]) {
  buffer b = buffer_new(run, out, run->t->out.dtype, output_layout(run), "the output");
  note_error(run, block_send(&b.memory));
  return b;
}

static fc_view view_of(const buffer *b, const range what[FC_AXES], const fc_format *format, int32_t id) {
  fc_view v = {sizeof v, format->dtype, format->kind, id, b->first, {0}, {0}, {0}, {0}};
  for (int a = 0; a < FC_AXES; a++) {
    v.shape[a] = length(what[a]);
    v.stride[a] = b->stride[a];
    v.origin[a] = what[a].lo;
    v.extent[a] = format->extent[a];
    v.data = (char *)v.data + (what[a].lo - b->holds[a].lo) * b->stride[a];
  }
  return v;
}

/* ---- preparing a piece ----------------------------------------------------------- */

static gboolean same_memory(const running *run) {
  return (run->t->op->flags & FC_OP_PASSTHROUGH) != 0;
}

/* The hull of what any piece reads. */
static void hull(running *run, guint k, range all[FC_AXES]) {
  for (int a = 0; a < FC_AXES; a++) {
    all[a] = (range){0, 0};
    for (guint i = 0; i < run->count; i++) {
      range one = run->pieces[i].ins[k].readable[a];
      if (length(one) == 0) continue;
      if (length(all[a]) == 0) all[a] = one;
      all[a].lo = MIN(all[a].lo, one.lo), all[a].hi = MAX(all[a].hi, one.hi);
    }
  }
}

static void share(running *run) {
  range all[FC_AXES], whole[FC_AXES];
  for (guint k = 0; k < run->t->n_in; k++) {
    hull(run, k, all);
    run->ins[k] = input_new(run, k, all);
  }
  for (int a = 0; a < FC_AXES; a++) whole[a] = (range){0, run->t->out.extent[a]};
  if (!same_memory(run)) run->out = output_new(run, whole);
}

static int64_t blocks_of(const trial *t, range r) {
  const int64_t align = t->needs[0].reach[measured_axis(t)].align;
  return (length(r) + align - 1) / align;
}

static void ready_measure(running *run, piece *p) {
  int64_t each = (int64_t)run->t->measure_bytes;
  p->measure_stride = (blocks_of(run->t, p->out[measured_axis(run->t)]) + dice_int(&run->d, 0, 1)) * each;
  p->measure_lead = dice_int(&run->d, 0, 1) * each;
  size_t bytes = (size_t)(p->measure_lead + p->measure_stride * length(p->out[FC_AXIS_N]));
  p->measure = block_new(run->t->host.device, bytes, run->how->poison, "the measurements");
  note_error(run, block_send(&p->measure));
}

static fc_job job_of(const running *run, const piece *p, const fc_view *const *ins, const fc_view *out) {
  fc_job job = {.size = sizeof job, .compute = run->t->compute, .n_in = run->t->n_in, .in = ins, .out = out};
  job.scratch = p->scratch_bytes ? block_data(&p->scratch) : NULL;
  job.scratch_bytes = p->scratch_bytes;
  if (run->t->measure_bytes) {
    job.measure = (char *)block_data(&p->measure) + p->measure_lead;
    job.measure_stride = p->measure_stride;
  }
  if (run->t->carry_bytes) job.carry = block_data(&run->carry);
  job.notes = block_data(&run->notes);
  return job;
}

/* scratch is called with views without data, as the planner does. */
static size_t scratch_of(const running *run, const piece *p) {
  if (!run->t->backend->scratch) return 0;
  fc_view views[MOST_INPUTS], out = p->out_view;
  const fc_view *ins[MOST_INPUTS];
  for (guint k = 0; k < MOST_INPUTS; k++)
    views[k] = p->ins[k].in_view, views[k].data = NULL, ins[k] = &views[k];
  out.data = NULL;
  fc_job job = job_of(run, p, ins, &out);
  return run->t->backend->scratch(run->t->state, &job);
}

static void ready(running *run, piece *p) {
  const trial *t = run->t;
  int32_t id = t->host.device->id;
  for (guint k = 0; k < t->n_in; k++) {
    part *in = &p->ins[k];
    if (!run->how->shared) in->own = input_new(run, k, in->readable);
    in->from = run->how->shared ? &run->ins[k] : &in->own;
    in->in_view = view_of(in->from, in->view, &t->ins[k], id);
  }
  if (!run->how->shared && !same_memory(run)) p->own_out = output_new(run, p->out);
  p->to = same_memory(run) ? p->ins[0].from : run->how->shared ? &run->out : &p->own_out;
  p->out_view = view_of(p->to, p->out, &t->out, id);
  if (run->how->open && p->ins[0].readable[FC_AXIS_X].hi < t->ins[0].extent[FC_AXIS_X])
    p->ins[0].in_view.extent[FC_AXIS_X] = p->out_view.extent[FC_AXIS_X] = FC_UNKNOWN;
  if (t->measure_bytes) ready_measure(run, p);
  p->scratch_bytes = scratch_of(run, p);
  p->scratch = block_new(t->host.device, p->scratch_bytes, run->how->poison, "the scratch");
  note_error(run, block_send(&p->scratch));
}

/* ---- processing ------------------------------------------------------------------ */

static void process(const running *run, piece *p, void *stream, watch_phase phase) {
  const fc_view *ins[MOST_INPUTS];
  for (guint k = 0; k < MOST_INPUTS; k++) ins[k] = &p->ins[k].in_view;
  fc_job job = job_of(run, p, ins, &p->out_view);
  job.stream = stream;
  const watch_phase was = watch_enter(phase);
  p->status = run->t->backend->process(&run->t->host.base, run->t->state, &job);
  watch_enter(was);
}

typedef struct worker {
  running *run;
  guint first, step;
  const char *error;
} worker;

/* Releases a delayed stream after a while, since an operator that waits for it would wait without end. */
typedef struct keeper {
  const test_device *device;
  void *held;
  GMutex mutex;
  GCond done;
  gboolean returned, late;
} keeper;

#define PATIENCE (10 * G_TIME_SPAN_SECOND)      /* a machine may be busy */
#define SETTLED  (50 * G_TIME_SPAN_MILLISECOND) /* by then another stream would have completed its work */

static gpointer keep(gpointer data) {
  keeper *k = data;
  const gint64 end = g_get_monotonic_time() + PATIENCE;
  g_mutex_lock(&k->mutex);
  while (!k->returned && !k->late) k->late = !g_cond_wait_until(&k->done, &k->mutex, end);
  if (k->late) k->device->let_go(k->held);
  g_mutex_unlock(&k->mutex);
  return NULL;
}

/* Runs one piece while its stream is held: nothing may be written until the stream is released. */
static void process_held(running *run, piece *p, void *stream) {
  const test_device *device = run->t->host.device;
  keeper k = {.device = device, .held = device->hold(stream)};
  const char *error = NULL;
  g_mutex_init(&k.mutex);
  g_cond_init(&k.done);
  GThread *thread = g_thread_new("keeper", keep, &k);
  process(run, p, stream, WATCH_PROCESS);
  g_mutex_lock(&k.mutex);
  k.returned = TRUE;
  g_cond_signal(&k.done);
  g_mutex_unlock(&k.mutex);
  g_thread_join(thread);
  if (k.late) {
    blame(run->v, FAULT_SYNC,
          "%s: process did not return while its stream was held back: it waits for the device", run->t->who);
  } else {
    g_usleep((gulong)SETTLED);
    if (!same_memory(run) && !block_unchanged(&p->own_out.memory, &error))
      blame(run->v, FAULT_STREAM,
            "%s: the output was written while the job's stream was held back: work goes to another stream",
            run->t->who);
    note_error(run, error);
    device->let_go(k.held);
  }
  g_mutex_clear(&k.mutex);
  g_cond_clear(&k.done);
}

static gpointer work(gpointer data) {
  worker *w = data;
  const test_device *device = w->run->t->host.device;
  void *stream = device->stream_new();
  for (guint i = w->first; i < w->run->count; i += w->step) {
    if (w->run->how->twice) process(w->run, &w->run->pieces[i], stream, WATCH_CALL);
    if (w->run->how->held && device->hold)
      process_held(w->run, &w->run->pieces[i], stream);
    else
      process(w->run, &w->run->pieces[i], stream, WATCH_PROCESS);
  }
  w->error = device->finish(stream);
  device->stream_free(stream);
  return NULL;
}

static void process_all(running *run) {
  guint step = run->how->threads && run->count > 1 && !run->t->carry_bytes ? 2 : 1;
  worker workers[2] = {{run, 0, step, NULL}, {run, 1, step, NULL}};
  GThread *other = step > 1 ? g_thread_new("second", work, &workers[1]) : NULL;
  work(&workers[0]);
  if (other) g_thread_join(other);
  note_error(run, workers[0].error);
  note_error(run, workers[1].error);
}

/* ---- after a run ----------------------------------------------------------------- */

static gboolean intact(running *run, block *b, const char *what) {
  note_error(run, block_fetch(b));
  if (block_bands_intact(b)) return TRUE;
  return blame(run->v, FAULT_BAND, "%s: wrote beyond %s", run->t->who, what);
}

/* Copies the elements out of a fetched buffer, and replaces them by the pattern. */
static void take(running *run, const buffer *b) {
  const gint64 *e = run->t->out.extent;
  gsize size = fc_dtype_size(run->t->out.dtype);
  gint64 at[FC_AXES];
  for (at[0] = b->holds[0].lo; at[0] < b->holds[0].hi; at[0]++)
    for (at[1] = b->holds[1].lo; at[1] < b->holds[1].hi; at[1]++)
      for (at[2] = b->holds[2].lo; at[2] < b->holds[2].hi; at[2]++)
        for (at[3] = b->holds[3].lo; at[3] < b->holds[3].hi; at[3]++) {
          char *twin = block_twin(&b->memory, b->first);
          for (int a = 0; a < FC_AXES; a++) twin += (at[a] - b->holds[a].lo) * b->stride[a];
          gint64 index = ((at[0] * e[1] + at[1]) * e[2] + at[2]) * e[3] + at[3];
          memcpy(run->r->codes + (gsize)index * size, twin, size);
          memset(twin, b->memory.pattern, size);
        }
}

static gboolean take_output(running *run, buffer *b) {
  if (!intact(run, &b->memory, "the output")) return FALSE;
  take(run, b);
  const unsigned char *mirror = block_mirror(&b->memory);
  for (gsize i = 0; i < b->memory.bytes; i++)
    if (mirror[i] != b->memory.pattern)
      return blame(run->v, FAULT_BAND, "%s: wrote between the output's elements", run->t->who);
  return TRUE;
}

static gboolean check_input(running *run, const buffer *b) {
  const char *error = NULL;
  gboolean same = block_unchanged(&b->memory, &error);
  note_error(run, error);
  return same || blame(run->v, FAULT_INPUT, "%s: changed its input", run->t->who);
}

static gboolean take_result(running *run, buffer *out) {
  if (!(run->t->op->flags & FC_OP_PASSTHROUGH)) return take_output(run, out);
  memcpy(run->r->codes, run->signals->codes, (gsize)run->signals->count * run->signals->size);
  return TRUE;
}

/* Copies the piece's partial results to their place in the signal. */
static gboolean take_measure(running *run, piece *p) {
  const trial *t = run->t;
  if (!intact(run, &p->measure, "the measurements")) return FALSE;
  int axis = measured_axis(t);
  gint64 each = (gint64)t->measure_bytes, blocks = blocks_of(t, p->out[axis]);
  gint64 total = blocks_of(t, (range){0, t->out.extent[axis]}),
         first = p->out[axis].lo / t->needs[0].reach[axis].align;
  for (gint64 n = 0; n < length(p->out[FC_AXIS_N]); n++)
    memcpy(run->partials + ((p->out[FC_AXIS_N].lo + n) * total + first) * each,
           block_mirror(&p->measure) + p->measure_lead + n * p->measure_stride, (gsize)(blocks * each));
  return TRUE;
}

static gboolean take_piece(running *run, piece *p) {
  if (p->status != FC_OK)
    return blame(run->v, FAULT_STATUS, "%s: process returned %d: %s", run->t->who, (int)p->status,
                 run->t->host.sentence);
  if (!intact(run, &p->scratch, "the scratch")) return FALSE;
  if (run->t->measure_bytes && !take_measure(run, p)) return FALSE;
  if (run->how->shared) return TRUE;
  for (guint k = 0; k < run->t->n_in; k++)
    if (!check_input(run, &p->ins[k].own)) return FALSE;
  return take_result(run, &p->own_out);
}

/* Passes the partial results to collect in order, a few at a time. */
static gboolean measure(running *run) {
  trial *t = run->t;
  gint64 each = (gint64)t->measure_bytes;
  gint64 blocks = blocks_of(t, (range){0, t->out.extent[measured_axis(t)]});
  gboolean empty = run->r->count == 0;
  fc_status status = FC_OK;
  const watch_phase was = watch_enter(WATCH_CALL);
  if (t->op->reset) t->op->reset(t->self);
  for (gint64 n = 0; n < t->out.extent[FC_AXIS_N] && !empty; n++)
    for (gint64 i = 0, count; i < blocks && status == FC_OK; i += count) {
      count = dice_int(&run->d, 1, blocks - i);
      status = t->op->collect(&t->host.base, t->self, run->partials + (n * blocks + i) * each, count);
    }
  g_array_unref(host_take_measured(&t->host));
  /* Whether measurements are within the user's limits is not tested here. */
  if (status == FC_OK) status = t->op->report(&t->host.base, t->self);
  if (status == FC_INVALID || status == FC_IO) status = FC_OK;
  watch_enter(was);
  if (status != FC_OK)
    return blame(run->v, FAULT_STATUS, "%s: collect or report returned %d: %s", t->who, (int)status,
                 t->host.sentence);
  run->r->measured = host_take_measured(&t->host);
  return TRUE;
}

static gboolean finish(running *run) {
  for (guint i = 0; i < run->count; i++)
    if (!take_piece(run, &run->pieces[i])) return FALSE;
  for (guint k = 0; k < run->t->n_in && run->how->shared; k++)
    if (!check_input(run, &run->ins[k])) return FALSE;
  if (run->how->shared && !take_result(run, &run->out)) return FALSE;
  if (!intact(run, &run->notes, "the notes") || !intact(run, &run->carry, "the carried state")) return FALSE;
  memcpy(run->r->notes, block_mirror(&run->notes), sizeof run->r->notes);
  return !run->t->measure_bytes || measure(run);
}

static void clear(running *run) {
  for (guint i = 0; i < run->count; i++) {
    piece *p = &run->pieces[i];
    block_free(&p->scratch);
    block_free(&p->measure);
    for (guint k = 0; k < MOST_INPUTS; k++) buffer_free(&p->ins[k].own);
    buffer_free(&p->own_out);
  }
  for (guint k = 0; k < MOST_INPUTS; k++) buffer_free(&run->ins[k]);
  buffer_free(&run->out);
  block_free(&run->notes);
  block_free(&run->carry);
  g_free(run->partials);
}

gboolean trial_run(trial *t, const source *signals, const manner *how, result *r, verdict *v) {
  running *run = g_new0(running, 1);
  run->t = t, run->signals = signals, run->how = how, run->r = r, run->v = v;
  run->d = dice_of(how->seed, "run", 0);
  memset(r, 0, sizeof *r);
  r->count = 1;
  for (int a = 0; a < FC_AXES; a++) r->count *= t->out.extent[a];
  r->codes = g_malloc0((gsize)r->count * fc_dtype_size(t->out.dtype) + 1);
  cut(run);
  r->pieces = run->count;
  if (how->shared) share(run);
  run->notes = block_new(t->host.device, FC_NOTES * sizeof(guint32), how->poison, "the notes");
  memset(block_mirror(&run->notes), 0, run->notes.bytes);
  note_error(run, block_send(&run->notes));
  run->carry = block_new(t->host.device, t->carry_bytes, how->poison, "the carried state");
  memset(block_mirror(&run->carry), 0, run->carry.bytes);
  note_error(run, block_send(&run->carry));
  if (t->measure_bytes) {
    gint64 blocks = blocks_of(t, (range){0, t->out.extent[measured_axis(t)]});
    run->partials = g_malloc0((gsize)(blocks * t->out.extent[FC_AXIS_N]) * t->measure_bytes + 1);
  }
  for (guint i = 0; i < run->count; i++) ready(run, &run->pieces[i]);
  process_all(run);
  gboolean ok = !run->device_error && finish(run);
  if (v->fault != FAULT_NONE) ok = FALSE; /* recorded while it was enqueued */
  if (run->device_error) {
    v->fault = FAULT_NONE; /* what was read from a failed device means nothing */
    ok = blame(v, FAULT_DEVICE, "%s: %s", t->who, run->device_error);
  }
  clear(run);
  g_free(run);
  return ok;
}

void result_free(result *r) {
  g_free(r->codes);
  if (r->measured) g_array_unref(r->measured);
  memset(r, 0, sizeof *r);
}
