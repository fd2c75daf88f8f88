/* SPDX-License-Identifier: MIT */
/*
 * parallel.c - see parallel.h. Workers share the plan, the prepared states of the stages
 * (which are read only) and the chunker; chunks are handed out in order under a lock. A
 * chunk's result does not depend on how the signal is cut, so neither does it on who
 * makes it.
 */
#include "core/run/parallel.h"

#include "core/device/cpu.h"
#include "core/base/error.h"
#include "core/plan/parts.h"
#include "core/base/pool.h"
#include "core/base/progress.h"
#include "core/run/work.h"

#include <pthread.h>
#include <string.h>

/* A row of a rim, however short, takes as long as copying so many bytes: it comes from memory late, and
 * operators like long ones. */
#define RIM_ROW 2048

typedef struct worker {
  fc_runner *runner; /* of one thread: its memory, and loops that it runs itself */
  fc_work work;
  fc_chunk *chunk;
  guint n_parts; /* of the first stage's work on the chunk; 0: it is given a copy of its whole input */
  fc_part parts[FC_PARTS];
  void *room; /* for a copy with its border */
  fc_buffer out;
} worker;

typedef struct run {
  fc_plan *plan;
  const fc_view *in, *out;
  const fc_options *options;
  fc_trace *trace;
  fc_result *result;
  fc_runner *crew;
  worker *workers;
  GThread *caller;
  gboolean single; /* memory is too short for more workers than one */
  gsize room;      /* bytes of a worker's copies of the input */
  fc_lines lines;  /* of the first stage's output */
  gint64 reported; /* the caller's alone: when progress was told */

  pthread_mutex_t mutex;
  fc_chunker *chunker; /* guarded by mutex, as is what follows */
  gint64 chunks, done;
  GError *error; /* the first one */
} run;

/* ---- chunks ----------------------------------------------------------- */

static void fail_run(run *r, GError *error) {
  pthread_mutex_lock(&r->mutex);
  if (!r->error)
    r->error = error;
  else
    g_error_free(error);
  pthread_mutex_unlock(&r->mutex);
}

/* The next chunk into the worker's; FALSE when there is none, or after a failure. */
static gboolean take_chunk(run *r, worker *w) {
  pthread_mutex_lock(&r->mutex);
  gboolean more = !r->error && fc_chunker_next(r->chunker, w->chunk);
  if (more) {
    fc_chunker_commit(r->chunker, w->chunk);
    w->work.chunks = r->chunks++;
  }
  pthread_mutex_unlock(&r->mutex);
  return more;
}

/* Some of a view, by position: views of whole signals begin at 0. */
static fc_view part_of(const fc_view *whole, const fc_range what[FC_AXES]) {
  fc_view part = *whole;
  for (int a = 0; a < FC_AXES; a++) {
    part.data = (char *)part.data + what[a].lo * whole->stride[a];
    part.origin[a] = what[a].lo;
    part.shape[a] = fc_range_length(what[a]);
  }
  return part;
}

/* Whether a chunk's first stage reads the caller's memory where it lies, but for its rims: these must take
 * less than a copy of all. */
static guint cut_into_parts(const run *r, const fc_chunk *chunk, fc_part parts[FC_PARTS]) {
  const fc_plan *plan = r->plan;
  const fc_plan_stage *first = &plan->stages[0];
  const fc_chunk_link *in = &chunk->links[0], *out = &chunk->links[1];
  const gint64 size = (gint64)fc_dtype_size(plan->links[0].dtype), copy = fc_ranges_count(in->held) * size;
  /* What passes its input through would have a later stage's border made in it. */
  guint n = first->passthrough ? 0 : fc_parts_cut(first, &plan->links[0], out->made, r->lines, parts);
  gint64 rims = 0;
  for (guint i = 1; i < n; i++) {
    const fc_range *held = parts[i].held;
    rims += fc_ranges_count(held) * size +
            RIM_ROW * fc_range_length(held[FC_AXIS_N]) * fc_range_length(held[FC_AXIS_Y]);
  }
  return rims < copy ? n : 0;
}

/* Room for a stretch of the input: laid out anew each time, as rims are of all shapes. */
static gboolean lay_out(const fc_plan *plan, const fc_range held[FC_AXES], fc_buffer *b) {
  gint64 capacity[FC_AXES];
  for (int a = 0; a < FC_AXES; a++) capacity[a] = fc_range_length(held[a]);
  memset(b, 0, sizeof *b);
  b->device = FC_HOST;
  return fc_buffer_layout(b, &plan->links[0], capacity);
}

/* Copies of the caller's input what is at `made` into the worker's room for `held`. */
static fc_view load(const run *r, worker *w, const fc_range made[FC_AXES], const fc_range held[FC_AXES],
                    gint64 aligned, fc_buffer *b) {
  lay_out(r->plan, held, b);
  b->memory = w->room;
  fc_buffer_hold(b, held, aligned);
  fc_view to = fc_buffer_view(b, made, &r->plan->links[0]), from = part_of(r->in, made);
  gint64 start = fc_trace_now(r->trace);
  fc_view_copy(&to, &from);
  fc_trace_add(r->trace, FC_TRACK_COMPUTE, "copy", start, w->work.chunks,
               fc_view_count(&to) * (gint64)fc_dtype_size(to.dtype));
  return to;
}

/* A rim's input, with its border. */
static fc_view load_rim(const run *r, worker *w, const fc_part *rim) {
  const fc_plan_stage *first = &r->plan->stages[0];
  fc_buffer b;
  fc_view real = load(r, w, rim->real, rim->held, rim->view[FC_AXIS_X].lo, &b);
  fc_view_fill_border(&real, rim->virt, first->border, &first->border_code);
  return fc_buffer_view(&b, rim->view, &r->plan->links[0]);
}

/* The caller's memory as a link that holds all of a part of it. */
static fc_buffer borrow(const fc_view *part) {
  fc_buffer b = {.memory = part->data, .dtype = part->dtype, .kind = part->kind, .device = FC_HOST};
  for (int a = 0; a < FC_AXES; a++) {
    b.stride[a] = part->stride[a];
    b.held[a] = (fc_range){part->origin[a], part->origin[a] + part->shape[a]};
  }
  return b;
}

/* The caller's memory as the last stage's output, where it makes just what is delivered. */
static gboolean write_in_place(run *r, worker *w, fc_buffer *out) {
  const fc_chunk_link *last = &w->chunk->links[r->plan->n];
  fc_range deliver = w->chunk->deliver, made = last->made[r->plan->cut];
  if (made.lo != deliver.lo || made.hi != deliver.hi) return FALSE;
  if (fc_plan_output_root(r->plan) != r->plan->n) return FALSE;
  fc_view part = part_of(r->out, last->made);
  *out = borrow(&part);
  return TRUE;
}

static void deliver(run *r, worker *w) {
  fc_range what[FC_AXES];
  memcpy(what, w->chunk->links[r->plan->n].made, sizeof what);
  what[r->plan->cut] = w->chunk->deliver;
  fc_view from = fc_buffer_view(fc_work_link(&w->work, r->plan->n), what, &r->plan->links[r->plan->n]);
  fc_view to = part_of(r->out, what);
  if (fc_view_count(&to) > 0) fc_view_copy(&to, &from);
}

/* The first stage on a copy of all that the chunk looks at, then the others. */
static gboolean run_copied(run *r, worker *w, fc_buffer *out, GError **error) {
  const fc_chunk_link *link = &w->chunk->links[0];
  fc_buffer in;
  load(r, w, link->made, link->held, link->view[FC_AXIS_X].lo, &in);
  return fc_work_enqueue(&w->work, w->chunk, &in, out, NULL, error);
}

/* The first stage part by part, then the others. */
static gboolean run_parts(run *r, worker *w, fc_buffer *out, GError **error) {
  const fc_plan *plan = r->plan;
  const fc_format *formats = plan->links;
  fc_buffer whole = borrow(r->in);
  gint64 start = fc_trace_now(r->trace);
  for (int a = 0; a < FC_AXES; a++) whole.held[a] = (fc_range){0, formats[0].extent[a]};
  fc_work_point(&w->work, w->chunk, &whole, out);
  for (guint i = 0; i < w->n_parts; i++) {
    const fc_part *p = &w->parts[i];
    fc_view in = i ? load_rim(r, w, p) : fc_buffer_view(&whole, p->view, &formats[0]);
    fc_view made = fc_buffer_view(fc_work_link(&w->work, 1), p->out, &formats[1]);
    if (!fc_work_run(&w->work, 0, &in, &made, NULL, error)) return FALSE;
  }
  fc_trace_add(r->trace, FC_TRACK_COMPUTE, plan->stages[0].name, start, w->work.chunks, -1);
  return fc_work_enqueue_after(&w->work, w->chunk, 1, NULL, error);
}

static gboolean run_chunk(run *r, worker *w, GError **error) {
  fc_buffer out = w->out;
  gint64 start = fc_trace_now(r->trace);
  gboolean in_place = write_in_place(r, w, &out);
  w->n_parts = cut_into_parts(r, w->chunk, w->parts);
  if (!(w->n_parts ? run_parts : run_copied)(r, w, &out, error)) return FALSE;
  if (!fc_work_check_notes(&w->work, "output", error)) return FALSE;
  if (!in_place) deliver(r, w);
  fc_trace_add(r->trace, FC_TRACK_COMPUTE, "chunk", start, w->work.chunks, -1);
  return TRUE;
}

/* Progress is told from the caller's thread only; whoever notices a request to stop obeys. */
static gboolean report(run *r, worker *w, GError **error) {
  pthread_mutex_lock(&r->mutex);
  gint64 done = r->done += fc_range_length(w->chunk->deliver);
  pthread_mutex_unlock(&r->mutex);
  if (fc_cancelled(r->options, error)) return FALSE;
  if (g_thread_self() != r->caller) return TRUE;
  return fc_tell_progress(r->options, done, r->plan->links[r->plan->n].extent[r->plan->cut], &r->reported,
                          error);
}

static void work(guint index, guint number, void *data) {
  run *r = data;
  worker *w = &r->workers[number];
  GError *error = NULL;
  if (take_chunk(r, w) && (!run_chunk(r, w, &error) || !report(r, w, &error))) fail_run(r, error);
}

/* ---- a run ------------------------------------------------------------ */

/* What any chunk needs at a time for copies of its input. */
static gboolean find_room(run *r, GError **error) {
  fc_chunker *chunker = fc_chunker_new(r->plan);
  fc_chunk *chunk = fc_chunk_new(r->plan);
  gboolean ok = TRUE, cancelled = FALSE;
  while (ok && !(cancelled = fc_cancelled(r->options, error)) && fc_chunker_next(chunker, chunk)) {
    fc_part parts[FC_PARTS];
    guint n = cut_into_parts(r, chunk, parts);
    for (guint i = n > 0; ok && i < MAX(n, 1); i++) {
      fc_buffer b;
      ok = lay_out(r->plan, n ? parts[i].held : chunk->links[0].held, &b);
      r->room = MAX(r->room, b.bytes);
    }
    fc_chunker_commit(chunker, chunk);
  }
  fc_chunk_free(chunk);
  fc_chunker_free(chunker);
  if (cancelled) return FALSE;
  return ok || fc_fail(error, FC_NO_MEMORY, "a chunk is too large to be addressed");
}

static gboolean make_room(run *r, worker *w, GError **error) {
  if (r->room == 0) return TRUE;
  w->room = fc_work_memory(r->plan, w->runner, r->room, error);
  return w->room != NULL;
}

static gboolean init_worker(run *r, worker *w, GError **error) {
  guint root = fc_plan_output_root(r->plan);
  w->chunk = fc_chunk_new(r->plan);
  w->runner = fc_cpu_runner_new(1, r->plan->chain->context->frames);
  if (!fc_work_init(&w->work, r->plan, w->runner, 1, r->trace, error)) return FALSE;
  if (!make_room(r, w, error)) return FALSE;
  return root == 0 || fc_work_buffer(r->plan, w->runner, root, FALSE, &w->out, error);
}

static void clear_worker(worker *w) {
  if (w->runner) w->runner->free(w->runner);
  fc_work_clear(&w->work);
  fc_chunk_free(w->chunk);
}

/* Output elements that are worth a worker's while. */
#define CHUNK_LEAST 16384

static int most_threads(const run *r) {
  if (r->single) return 1;
  return fc_pool_size(r->options->threads);
}

/* Beside a halo of more than one in so many elements a chunk had better be the only one of its worker. */
#define HALO_SMALL 8

/* Enough chunks that no worker waits long for another at the end, but none for nothing. */
static void share_out(const run *r) {
  fc_plan *plan = r->plan;
  const fc_format *out = &plan->links[plan->n];
  gint64 total = out->extent[plan->cut], across = 1, align = 1, halo = 0;
  if (r->options->chunk > 0) return;
  for (guint s = 0; s < plan->n; s++) {
    const fc_reach *reach = &plan->stages[s].reach[plan->cut];
    align = MAX(align, reach->align), halo += MAX(reach->before, 0) + MAX(reach->after, 0);
  }
  for (int a = 0; a < FC_AXES; a++)
    if (a != (int)plan->cut) across *= MAX(out->extent[a], 1);
  gint64 share = MAX(fc_scale_ceil(total, 1, 2 * most_threads(r)), CHUNK_LEAST / across);
  if (share / HALO_SMALL < halo) share = MAX(share, fc_scale_ceil(total, 1, most_threads(r)));
  share = fc_scale_ceil(share, 1, align) * align;
  plan->chunk = MAX(MIN(plan->chunk, share), 1);
  /* As many for each worker, so that none is alone with a last short one. */
  gint64 round = plan->chunk * most_threads(r), rounds = (total + round / 2) / MAX(round, 1);
  if (rounds < 1 || (rounds == 1 && total > round + round / HALO_SMALL)) return;
  plan->chunk = fc_scale_ceil(fc_scale_ceil(total, 1, rounds * most_threads(r)), 1, align) * align;
}

static gboolean run_all(run *r, guint halvings, GError **error) {
  fc_plan *plan = r->plan;
  if (!fc_plan_choose_chunk(plan, r->options, halvings, error)) return FALSE;
  share_out(r);
  gint64 chunks = fc_scale_ceil(plan->links[plan->n].extent[plan->cut], 1, MAX(plan->chunk, 1));
  gint64 threads = CLAMP(chunks, 1, most_threads(r));
  r->crew = fc_cpu_runner_new((int)threads, plan->chain->context->frames);
  r->workers = g_new0(worker, (gsize)r->crew->threads);
  /* Buffers of ours have a line at 0. */
  r->lines = plan->n == 1 ? fc_lines_of(r->out->data, r->out->stride[FC_AXIS_X])
                          : fc_lines_of(NULL, (gint64)fc_dtype_size(plan->links[1].dtype));
  if (!find_room(r, error)) return FALSE;
  for (int i = 0; i < r->crew->threads; i++)
    if (!init_worker(r, &r->workers[i], error)) return FALSE;
  r->chunker = fc_chunker_new(plan);
  for (gint64 i = 0; i < chunks && !r->error; i += G_MAXINT)
    r->crew->parallel(r->crew, (guint)MIN(chunks - i, G_MAXINT), work, r);
  if (r->error) g_propagate_error(error, g_steal_pointer(&r->error));
  return *error == NULL;
}

static void tell(run *r) {
  r->result->device = g_strdup(r->crew->description);
  r->result->in = r->plan->links[0], r->result->out = r->plan->links[r->plan->n];
  r->result->chunks = r->chunks;
  for (int i = 0; i < r->crew->threads; i++)
    if (fc_work_warn_clipped(&r->workers[i].work, "output")) return;
}

static gboolean attempt(run *r, guint halvings, GError **error) {
  GError *why = NULL;
  pthread_mutex_init(&r->mutex, NULL);
  gboolean ok = run_all(r, halvings, &why);
  if (ok) tell(r);
  for (int i = 0; r->workers && i < r->crew->threads; i++) clear_worker(&r->workers[i]);
  g_free(r->workers);
  if (r->crew) r->crew->free(r->crew);
  fc_chunker_free(r->chunker);
  pthread_mutex_destroy(&r->mutex);
  if (why) g_propagate_error(error, why);
  return ok;
}

/* What a run was tried with that found no memory. */
typedef struct attempts {
  guint halvings;
  gint64 chunk; /* of the last one */
  gboolean single;
} attempts;

/* Smaller chunks, and when they get no smaller (they hold whole blocks) a single worker. */
static gboolean ask_for_less(const fc_plan *plan, attempts *tried) {
  gboolean smaller = plan->chunk > 1 && plan->chunk < tried->chunk;
  if (!smaller && tried->single) return FALSE;
  tried->halvings += smaller, tried->single |= !smaller;
  tried->chunk = plan->chunk;
  return TRUE;
}

gboolean fc_execute_parallel(fc_plan *plan, const fc_view *in, const fc_view *out, const fc_options *options,
                             fc_trace *trace, fc_result *result, GError **error) {
  attempts tried = {0, G_MAXINT64, FALSE};
  for (;;) {
    run r = {.plan = plan, .in = in, .out = out, .options = options, .trace = trace, .result = result};
    GError *why = NULL;
    r.caller = g_thread_self(), r.single = tried.single;
    if (attempt(&r, tried.halvings, &why)) return TRUE;
    if (!g_error_matches(why, FC_ERROR, FC_NO_MEMORY) || r.chunks > 0 || !ask_for_less(plan, &tried)) {
      g_propagate_error(error, why);
      return FALSE;
    }
    g_error_free(why);
  }
}
