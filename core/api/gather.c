/* SPDX-License-Identifier: MIT */
/* gather.c - see gather.h. */
#include "core/api/gather.h"

#include "core/api/ends.h"
#include "core/api/ready.h"
#include "core/base/error.h"
#include "core/device/lease.h"
#include "core/run/memory.h"
#include "core/run/result.h"

#include <string.h>

/* The links of a piece together: enough for 64 images of a megapixel. */
#define BYTES_MOST ((gint64)512 << 20)
/* Formats that are collected at a time; a further one ends the piece with the most frames. */
#define PIECES 4
/* Frames in each half of the pinned memory: while one half is copied the other is filled or read. Pinning
 * memory for whole pieces would take longer than the images: of 64 megapixels 16 workers would pin 3 GB, one
 * after the other. */
#define HALF 4

/* A task that was opened. */
typedef struct item {
  fc_task *task;
  fc_options options;
  fc_opened *opened;
  fc_plan *plan;    /* of it by itself */
  gboolean decoded; /* by the device */
} item;

typedef struct piece {
  GBytes *key;
  guint n, most;
  item *items[FC_GATHER_MOST];
} piece;

/* Memory that is kept from piece to piece. */
typedef struct room {
  void *memory;
  gsize bytes;
} room;

/* Where the time of a worker goes, for -v: the longest is what binds, or waiting for other workers if all are
 * short. Decoding on the GPU includes the start of the decoder, and waiting for one. */
enum { OPENING, PREPARING, READING, DECODING, DEVICE, WRITING, STEPS };

struct fc_gather {
  fc_chain *chain;
  pthread_mutex_t *first;
  char *decoder; /* its name, once it is known */
  gboolean off;  /* a piece could not be run, so that no other is tried */
  fc_lease *lease;
  gint32 device;
  room in, host_in, out, host_out;
  piece pieces[PIECES];
  gint64 time[STEPS], images, runs; /* microseconds */
};

/* The time since `start` was spent on a step; returns now. */
static gint64 spent(fc_gather *g, int step, gint64 start) {
  const gint64 now = g_get_monotonic_time();
  g->time[step] += now - start;
  return now;
}

/* ---- one by one ---------------------------------------------------------------- */

static void free_item(item *it) {
  fc_opened_free(it->opened);
  fc_plan_unref(it->plan);
  g_free(it);
}

static void run_alone(fc_gather *g, item *it) {
  fc_task *task = it->task;
  if (!task->why)
    fc_opened_run(g_steal_pointer(&it->opened), g->chain, task->input, task->output, &it->options,
                  &task->result, &task->why);
  free_item(it);
}

void fc_task_set_options(fc_task *task, fc_options *options) {
  if (task->format) options->out_format = task->format;
  if (task->random_name) options->random_name = task->random_name;
  options->in_bytes = task->content;
  options->out_bytes = task->keep ? &task->made : NULL;
}

static item *open_item(fc_gather *g, fc_task *task, const fc_options *options) {
  item *it = g_new0(item, 1);
  it->task = task, it->options = *options;
  const gint64 start = g_get_monotonic_time();
  fc_task_set_options(task, &it->options);
  it->opened = fc_opened_new(g->chain, &(fc_between){.input = task->input, .output = task->output},
                             &it->options, &task->why);
  it->plan = it->opened ? fc_opened_plan(it->opened, TRUE, &task->why) : NULL;
  spent(g, OPENING, start);
  return it;
}

/* ---- what can be gathered -------------------------------------------------------- */

static gboolean frames_apart(const fc_plan *plan) {
  for (guint s = 0; s < plan->n; s++) {
    const fc_reach *r = &plan->stages[s].reach[FC_AXIS_N];
    if (r->before || r->after || r->num != r->den || (plan->stages[s].on_host && !plan->stages[s].composed))
      return FALSE;
  }
  for (guint l = 0; l <= plan->n; l++)
    if (plan->links[l].extent[FC_AXIS_N] != 1 || plan->links[l].kind == FC_AUDIO) return FALSE;
  return TRUE;
}

static gboolean suits(const fc_gather *g, const item *it) {
  const fc_plan *p = it->plan;
  const fc_opened *o = it->opened;
  return !g->off && p && p->n_devices == 1 && p->n && !p->n_sides && !p->measures && !p->carries &&
         o->source && o->sink && !it->options.trace && it->options.latency <= 0 &&
         !(it->options.followers && it->options.followers[0]) && frames_apart(p);
}

static guint frames_most(const fc_gather *g, const fc_plan *plan) {
  const gint64 limit = MIN(BYTES_MOST, (gint64)(g->chain->context->max_memory / 32));
  gint64 bytes = 1;
  for (guint l = 0; l <= plan->n; l++) bytes += fc_element_bytes(&plan->links[l], FC_AXIS_N);
  return (guint)CLAMP(limit / bytes, 1, FC_GATHER_MOST);
}

/* ---- a run ------------------------------------------------------------------------- */

static gboolean reserve(fc_gather *g, room *r, gint64 bytes, gboolean host, GError **error) {
  if ((gsize)bytes <= r->bytes) return TRUE;
  fc_lease_release(g->lease, r->memory);
  r->memory = fc_lease_alloc(g->lease, (gsize)bytes, host);
  r->bytes = r->memory ? (gsize)bytes : 0;
  return r->memory || fc_fail(error, FC_NO_MEMORY, "%s: not enough memory for images together (%.1f MB)",
                              fc_lease_runner(g->lease)->description, (double)bytes / 1e6);
}

static void drop_lease(fc_gather *g, gboolean broken) {
  room *const rooms[] = {&g->in, &g->host_in, &g->out, &g->host_out};
  for (guint i = 0; g->lease && i < G_N_ELEMENTS(rooms); i++) {
    fc_lease_release(g->lease, rooms[i]->memory);
    *rooms[i] = (room){NULL, 0};
  }
  fc_lease_return(g_steal_pointer(&g->lease), broken);
}

static fc_format together(const fc_format *one, guint n) {
  fc_format all = *one;
  all.extent[FC_AXIS_N] = n;
  return all;
}

static fc_view frame_of(const fc_view *all, guint i) {
  fc_view frame = *all;
  frame.data = fc_view_at(all, i, 0, 0, 0);
  frame.shape[FC_AXIS_N] = frame.extent[FC_AXIS_N] = 1;
  return frame;
}

typedef struct views {
  fc_view in, out;
} views;

static gboolean reserve_halves(fc_gather *g, room *r, const fc_view *frames, GError **error) {
  return reserve(g, r, frames->stride[FC_AXIS_N] * MIN(frames->shape[FC_AXIS_N], 2 * HALF), TRUE, error);
}

/* Frame `i` of those that pass through the pinned memory, whose shape and strides are those of `frame`. */
static fc_view pinned(const room *r, const fc_view *frames, guint i) {
  fc_view frame = frame_of(frames, 0);
  frame.device = FC_HOST;
  frame.data = (char *)r->memory + frames->stride[FC_AXIS_N] * (i % (2 * HALF));
  return frame;
}

/* The lanes' slot of its half. Slot 0 is the chain's. */
static guint slot_of(guint i) {
  return 1 + i / HALF % 2;
}

static gboolean lay_out(fc_gather *g, const piece *p, views *v, GError **error) {
  const fc_plan *plan = p->items[0]->plan;
  const fc_format in = together(&plan->links[0], p->n), out = together(&plan->links[plan->n], p->n);
  const gint64 in_bytes = fc_element_bytes(&in, FC_AXIS_N) * p->n,
               out_bytes = fc_element_bytes(&out, FC_AXIS_N) * p->n;
  if (g->lease && g->device != plan->devices[0]) drop_lease(g, FALSE);
  g->device = plan->devices[0];
  if (!g->lease && !(g->lease = fc_lease_new(g->chain->context, g->device, NULL, 0, error))) return FALSE;
  if (!reserve(g, &g->in, in_bytes, FALSE, error) || !reserve(g, &g->out, out_bytes, FALSE, error))
    return FALSE;
  v->in = fc_dense_view(&in, g->in.memory, FC_AXIS_N, 0, p->n);
  v->out = fc_dense_view(&out, g->out.memory, FC_AXIS_N, 0, p->n);
  v->in.device = v->out.device = g->device;
  return reserve_halves(g, &g->host_out, &v->out, error);
}

/* The chain's run for frames together, on the stream of the lease: kept from piece to piece. */
static fc_run *run_for(fc_gather *g, const piece *p, const views *v, GBytes **key, GError **error) {
  const fc_opened *one = p->items[0]->opened;
  void *stream = fc_lease_runner(g->lease)->stream;
  GByteArray *text = g_byte_array_new();
  g_byte_array_append(text, g_bytes_get_data(p->key, NULL), (guint)g_bytes_get_size(p->key));
  g_byte_array_append(text, (const guint8 *)&p->n, sizeof p->n);
  g_byte_array_append(text, (const guint8 *)&stream, sizeof stream);
  *key = g_byte_array_free_to_bytes(text);
  fc_run *run = fc_ready_take(g->chain, *key);
  if (run) return run;
  fc_opened all = {.chain = g->chain, .options = one->options, .in = &v->in, .out = &v->out};
  all.format = together(&one->format, p->n);
  all.query = one->query;
  all.query.in = &all.format, all.query.sides = NULL, all.query.side_names = NULL;
  all.query.files = FALSE, all.query.borrowed = TRUE, all.query.device = g->device;
  g_autoptr(fc_plan) plan = fc_opened_plan(&all, TRUE, error);
  for (int a = 0; plan && a < FC_AXES; a++)
    if (plan->links[plan->n].extent[a] != v->out.shape[a])
      return fc_fail(error, FC_UNSUPPORTED, "the chain makes something else of images together"), NULL;
  return plan ? fc_run_new(plan, stream, error) : NULL;
}

typedef struct decoding {
  fc_gather *gather;
  const piece *piece;
  const views *views;
  struct fc_device_decoder *busy;
} decoding;

static gboolean decode(void *data, GError **error) {
  decoding *d = data;
  fc_context *context = d->gather->chain->context;
  fc_source *sources[FC_GATHER_MOST];
  fc_view frames[FC_GATHER_MOST];
  gboolean done[FC_GATHER_MOST] = {FALSE};
  for (guint i = 0; i < d->piece->n; i++) {
    sources[i] = d->piece->items[i]->opened->source;
    frames[i] = frame_of(&d->views->in, i);
  }
  d->busy =
      context->media->decode(context, d->piece->items[0]->options.decode,
                             fc_lease_runner(d->gather->lease)->stream, sources, frames, d->piece->n, done);
  for (guint i = 0; i < d->piece->n; i++) d->piece->items[i]->decoded = done[i];
  return TRUE;
}

static gboolean nothing(void *data, GError **error) {
  return TRUE;
}

/* A half is free again when what follows its uploads on the compute lane is done. */
static gboolean end_half(fc_runner *runner, guint slot, GError **error) {
  return runner->compute(runner, slot, 0, nothing, NULL, error);
}

/* What is left to be decoded on the host is uploaded while the next ones are decoded. */
static gboolean bring_frames(fc_gather *g, piece *p, const views *v, GError **error) {
  fc_runner *runner = fc_lease_runner(g->lease);
  guint n = 0;
  for (guint i = 0; i < p->n; i++) {
    item *it = p->items[i];
    if (it->decoded) continue;
    const gboolean first = n % HALF == 0;
    if (n == 0 && !reserve_halves(g, &g->host_in, &v->in, error)) return FALSE;
    if (first && n >= 2 * HALF && !runner->wait(runner, slot_of(n), error)) return FALSE;
    const fc_view there = frame_of(&v->in, i), frame = pinned(&g->host_in, &v->in, n);
    fc_ends ends;
    if (fc_run_cancelled(&it->options, error)) return FALSE;
    if (!fc_opened_ends(it->opened, it->plan, &ends, &it->task->why) ||
        ends.source->read(ends.source, &frame, &it->task->why) < 1) {
      if (!it->task->why) fc_fail(&it->task->why, FC_IO, "%s: holds no image", ends.source->name);
      memset(frame.data, 0, (gsize)fc_view_bytes(&frame));
    }
    if (!runner->upload(runner, slot_of(n), &there, &frame, error)) return FALSE;
    n++;
    if (n % HALF == 0 && !end_half(runner, slot_of(n - 1), error)) return FALSE;
  }
  return n % HALF == 0 || end_half(runner, slot_of(n - 1), error);
}

/* After a failure nothing may use the memory either. */
static gboolean bring(fc_gather *g, piece *p, const views *v, GError **error) {
  fc_runner *runner = fc_lease_runner(g->lease);
  if (bring_frames(g, p, v, error)) return TRUE;
  for (guint half = 0; half < 2; half++)
    if (end_half(runner, slot_of(half * HALF), NULL)) runner->wait(runner, slot_of(half * HALF), NULL);
  return FALSE;
}

typedef struct enqueueing {
  fc_run *run;
  const views *views;
} enqueueing;

static gboolean enqueue(void *data, GError **error) {
  const enqueueing *e = data;
  return fc_run_enqueue(e->run, &e->views->in, &e->views->out, error);
}

/* Whether the outputs are those of runs one by one, and nothing is to be said of them. */
static gboolean check(const fc_gather *g, fc_run *run, GError **error) {
  if (!fc_run_check(run, "output", error)) return FALSE;
  if (fc_run_clips(run)) return fc_fail(error, FC_UNSUPPORTED, "values were clipped");
  for (guint s = 0; s < g->chain->n; s++)
    if (g_atomic_int_get(&g->chain->stages[s].host.draws))
      return fc_fail(error, FC_UNSUPPORTED, "a stage draws random numbers");
  return TRUE;
}

static gboolean compute(fc_gather *g, piece *p, const views *v, fc_run *run, GError **error) {
  fc_runner *runner = fc_lease_runner(g->lease);
  const fc_media *media = g->chain->context->media;
  decoding d = {g, p, v, NULL};
  enqueueing e = {run, v};
  gboolean ok = TRUE;
  gint64 start = g_get_monotonic_time();
  if (p->items[0]->options.decode != FC_DECODE_CPU && media->decode)
    ok = runner->compute(runner, 0, 0, decode, &d, error);
  start = spent(g, DECODING, start);
  ok = ok && bring(g, p, v, error);
  start = spent(g, READING, start);
  ok = ok && runner->compute(runner, 0, 0, enqueue, &e, error);
  /* Waited for in any case: nothing may use the memory afterwards. */
  ok = runner->wait(runner, 0, ok ? error : NULL) && ok;
  if (d.busy) media->decoded(g->chain->context, d.busy);
  spent(g, DEVICE, start);
  return ok && check(g, run, error);
}

/* ---- the outputs ----------------------------------------------------------------------- */

static fc_result *result_of(const fc_gather *g, const item *it, const views *v, double seconds) {
  fc_result *r = fc_result_new();
  const fc_plan *plan = it->plan;
  fc_result_set_device(r, fc_lease_runner(g->lease)->description);
  fc_result_set_reason(r, plan->reason);
  fc_result_set_formats(r, &plan->links[0], &plan->links[plan->n]);
  if (it->decoded) fc_result_set_decoder(r, g->decoder);
  const fc_view in = frame_of(&v->in, 0), out = frame_of(&v->out, 0);
  r->seconds = seconds, r->chunks = 1;
  r->bytes_up = it->decoded ? 0 : fc_view_bytes(&in), r->bytes_down = fc_view_bytes(&out);
  return r;
}

static gboolean put(const item *it, const fc_view *frame, GError **error) {
  fc_sink *sink = it->opened->sink;
  sink->unrelated = !fc_plan_lead(it->plan, &sink->lead);
  return (!sink->begin || sink->begin(sink, &it->plan->links[it->plan->n], error)) &&
         sink->write(sink, frame, error) && (!sink->commit || sink->commit(sink, error));
}

/* Half `first` to `end` of the frames. */
static gboolean fetch(fc_gather *g, const views *v, guint first, guint end, GError **error) {
  fc_runner *runner = fc_lease_runner(g->lease);
  fc_view from = frame_of(&v->out, first), to = pinned(&g->host_out, &v->out, first);
  from.shape[FC_AXIS_N] = from.extent[FC_AXIS_N] = to.shape[FC_AXIS_N] = to.extent[FC_AXIS_N] = end - first;
  return first >= end || runner->download(runner, slot_of(first), &to, &from, error);
}

/* Frames of which the output is in place are taken out of the piece. `start`: of the run. */
static gboolean leave(fc_gather *g, piece *p, const views *v, gint64 start, GError **error) {
  fc_runner *runner = fc_lease_runner(g->lease);
  gint64 now = g_get_monotonic_time();
  const double seconds = (double)(now - start) / 1e6 / p->n; /* each one's share */
  gboolean ok = fetch(g, v, 0, MIN(HALF, p->n), error);
  for (guint i = 0; i < p->n && ok; i++) {
    if (i % HALF == 0) {
      ok = fetch(g, v, i + HALF, MIN(i + 2 * HALF, p->n), error);
      ok = runner->wait(runner, slot_of(i), ok ? error : NULL) && ok;
      now = spent(g, DEVICE, now);
      if (!ok) break;
    }
    item *it = p->items[i];
    const fc_view frame = pinned(&g->host_out, &v->out, i);
    if (!it->task->why && put(it, &frame, &it->task->why)) it->task->result = result_of(g, it, v, seconds);
    free_item(it);
    p->items[i] = NULL;
    g->images++;
    now = spent(g, WRITING, now);
  }
  g->runs++;
  /* Nothing may use the memory after a failure. */
  for (guint half = 0; half < 2 && !ok; half++) runner->wait(runner, slot_of(half * HALF), NULL);
  return ok;
}

static gboolean run_together(fc_gather *g, piece *p, GError **error) {
  const gint64 start = g_get_monotonic_time();
  g_autoptr(GBytes) key = NULL;
  const gboolean first = g->lease == NULL;
  views v;
  if (first) pthread_mutex_lock(g->first);
  fc_run *run = lay_out(g, p, &v, error) ? run_for(g, p, &v, &key, error) : NULL;
  if (first) pthread_mutex_unlock(g->first);
  spent(g, PREPARING, start);
  if (!run) return FALSE;
  if (!compute(g, p, &v, run, error)) {
    fc_run_free(run);
    return FALSE;
  }
  fc_ready_keep(g->chain, key, run);
  const fc_media *media = g->chain->context->media;
  const item *one = p->items[0];
  if (one->options.decode != FC_DECODE_CPU && media->decoder && !g->decoder)
    g->decoder = media->decoder(g->chain->context, NULL);
  fc_context_log(g->chain->context, FC_LOG_INFO, "running on the GPU: %s: %u images together%s",
                 one->plan->reason, p->n, one->decoded ? ", decoded there" : "");
  return leave(g, p, &v, start, error);
}

/* ---- pieces -------------------------------------------------------------------------- */

/* Runs what was collected. After a failure each image is read again, and runs by itself. */
static void end_piece(fc_gather *g, piece *p) {
  g_autoptr(GError) error = NULL;
  const gboolean worth = p->n > 1 || (p->n == 1 && p->items[0]->options.decode != FC_DECODE_CPU);
  gboolean done = worth && !g->off && run_together(g, p, &error);
  if (error) {
    guint left = 0;
    while (!p->items[left]) left++;
    fc_context_log(g->chain->context, FC_LOG_INFO, "%s: images are processed one by one: %s",
                   p->items[left]->opened->source->name, error->message);
    g->off = TRUE;
    drop_lease(g, g_error_matches(error, FC_ERROR, FC_DEVICE));
  }
  for (guint i = 0; !done && i < p->n; i++) {
    if (!p->items[i]) continue;
    if (error) fc_opened_free(g_steal_pointer(&p->items[i]->opened));
    run_alone(g, p->items[i]);
  }
  g_clear_pointer(&p->key, g_bytes_unref);
  p->n = 0;
}

/* The piece for a key: the one that has it, an empty one, or the fullest, which is run. */
static piece *piece_for(fc_gather *g, GBytes *key) {
  piece *best = &g->pieces[0];
  for (guint i = 0; i < PIECES; i++) {
    piece *p = &g->pieces[i];
    if (p->n && g_bytes_equal(p->key, key)) return p;
    if (best->n && (!p->n || p->n > best->n)) best = p;
  }
  if (best->n) end_piece(g, best);
  return best;
}

static void add(fc_gather *g, item *it) {
  g_autoptr(GBytes) key = suits(g, it) ? fc_opened_key(it->opened) : NULL;
  if (!key) {
    run_alone(g, it);
    return;
  }
  piece *p = piece_for(g, key);
  if (!p->n) p->key = g_bytes_ref(key), p->most = frames_most(g, it->plan);
  p->items[p->n++] = it;
  if (p->n >= p->most) end_piece(g, p);
}

void fc_gather_run(fc_gather *g, fc_task *const *tasks, guint n, const fc_options *options) {
  for (guint i = 0; i < n; i++)
    if (!tasks[i]->pass && !tasks[i]->why) add(g, open_item(g, tasks[i], options));
  for (guint i = 0; i < PIECES; i++)
    if (g->pieces[i].n) end_piece(g, &g->pieces[i]);
}

fc_gather *fc_gather_new(fc_chain *chain, pthread_mutex_t *first) {
  fc_gather *g = g_new0(fc_gather, 1);
  g->chain = chain, g->first = first;
  return g;
}

void fc_gather_free(fc_gather *g) {
  if (!g) return;
  if (g->runs)
    fc_context_log(
        g->chain->context, FC_LOG_INFO,
        "a worker: %" G_GINT64_FORMAT " images in %" G_GINT64_FORMAT
        " runs: %.2f s opening, %.2f s preparing runs, %.2f s decoding on the CPU, %.2f s on the GPU, "
        "%.2f s on the device, %.2f s encoding",
        g->images, g->runs, (double)g->time[OPENING] / 1e6, (double)g->time[PREPARING] / 1e6,
        (double)g->time[READING] / 1e6, (double)g->time[DECODING] / 1e6, (double)g->time[DEVICE] / 1e6,
        (double)g->time[WRITING] / 1e6);
  drop_lease(g, FALSE);
  g_free(g->decoder);
  g_free(g);
}
