/* SPDX-License-Identifier: MIT */
/* run.c - see run.h. */
#include "core/run/run.h"

#include "core/base/error.h"
#include "core/base/patience.h"
#include "core/device/kernels.h"
#include "core/run/borrow.h"
#include "core/run/feed.h"
#include "core/run/notes.h"
#include "core/run/result.h"

#include <string.h>

struct fc_run {
  fc_plan *plan;
  gboolean used, broken;
  guint n_workspaces, n_slots; /* n_slots is per workspace */
  fc_states **states;          /* one per device */
  fc_workspace *workspaces;
  fc_borrow *borrows; /* one per workspace */
  fc_carry *carries;  /* one per stage */

  /* Of the current run: */
  const fc_ends *ends;
  const fc_options *options;
  fc_trace *trace;
  fc_result *result;
  fc_plan *now;           /* the plan, or one derived from it that knows where the signal ends */
  fc_states **now_states; /* its states */
  fc_chunker *chunker;
  fc_feed feed, *sides;
  gint64 *collected; /* per stage: blocks up to this position were passed to collect */
  gint64 collecting; /* their frame, in a batch that is cut by rows */
  GThread *caller;
  gint64 told; /* when progress was reported last; used by the caller's thread only */

  pthread_mutex_t reading; /* held by the worker that cuts and reads the next chunk */
  gint64 number;           /* its number; this and the fields below are guarded by reading */
  gint64 have;             /* of a session: elements pushed so far; else negative */
  gboolean over;           /* the end was reached, or reading failed: the source is not read again */
  gint64 *entered;         /* per workspace: chunks read for it */

  pthread_mutex_t mutex;
  pthread_cond_t changed;
  gboolean stop;    /* this and the fields below are guarded by mutex */
  GError *error;    /* the first one */
  gint64 *computed; /* per workspace: chunks computed */
  gint64 released;  /* chunks that were released */
  gint64 done;      /* elements of the output that were released */
  gint64 total;     /* total of these; negative: not known yet */
};

typedef struct worker {
  guint workspace;
  fc_workspace *w;
  fc_slot *slot;
  gint64 turn; /* number of its chunk among those of the workspace */
} worker;

/* ---- turns ------------------------------------------------------------------------ */

static void fail(fc_run *r, GError *error) {
  pthread_mutex_lock(&r->mutex);
  if (!r->error)
    r->error = error;
  else
    g_clear_error(&error);
  r->stop = TRUE;
  pthread_cond_broadcast(&r->changed);
  pthread_mutex_unlock(&r->mutex);
}

static gboolean stopped(fc_run *r) {
  pthread_mutex_lock(&r->mutex);
  gboolean stop = r->stop;
  pthread_mutex_unlock(&r->mutex);
  return stop;
}

/* Waits until the counter has this value; FALSE when the run stops. */
static gboolean await(fc_run *r, const gint64 *counter, gint64 value) {
  pthread_mutex_lock(&r->mutex);
  while (!r->stop && *counter != value) fc_cond_wait(&r->changed, &r->mutex);
  gboolean go = !r->stop;
  pthread_mutex_unlock(&r->mutex);
  return go;
}

static void advance(fc_run *r, gint64 *counter) {
  pthread_mutex_lock(&r->mutex);
  (*counter)++;
  pthread_cond_broadcast(&r->changed);
  pthread_mutex_unlock(&r->mutex);
}

static gboolean take_turn(void *data, guint stage, gint64 number, gboolean begin) {
  fc_run *r = data;
  if (begin) return await(r, &r->carries[stage].turn, number);
  advance(r, &r->carries[stage].turn);
  return TRUE;
}

static gboolean on_device(const fc_run *r) {
  return r->plan->n_devices != 0;
}

/* ---- acquire -------------------------------------------------------------------------- */

/* The plan's prepared states for a workspace's device. */
static fc_states *states_for(const fc_run *r, guint workspace) {
  return r->now_states[on_device(r) ? workspace : 0];
}

static void give_states(fc_run *r, worker *me) {
  fc_states *states = states_for(r, me->workspace);
  if (me->slot->states == states) return;
  fc_states_unref(me->slot->states);
  me->slot->states = fc_states_ref(states);
}

/* The link by which progress is told. */
static guint told_link(const fc_plan *plan) {
  return plan->surveyed ? plan->surveyed : plan->n;
}

/* By which chunks are cut from now on; takes it and its states over. */
static void set_plan(fc_run *r, fc_plan *plan, fc_states *const *states) {
  const gint64 extent = plan->links[told_link(plan)].extent[plan->cut];
  r->now = plan;
  memcpy(r->now_states, states, MAX(plan->n_devices, 1) * sizeof *states);
  pthread_mutex_lock(&r->mutex);
  r->total = extent < 0 ? extent : extent * fc_plan_frames(plan);
  pthread_mutex_unlock(&r->mutex);
}

static void clear_plan(fc_plan *plan, fc_states **states) {
  for (guint d = 0; plan && d < MAX(plan->n_devices, 1); d++) {
    fc_states_unref(states[d]);
    states[d] = NULL;
  }
  fc_plan_unref(plan);
}

/* From now on uses a plan that knows where an input ends; `side` as in fc_plan_with_extent. Chunks in
 * progress keep the old one. */
static gboolean replan(fc_run *r, int side, gint64 extent, GError **error) {
  const guint n = MAX(r->plan->n_devices, 1);
  fc_plan *plan = fc_plan_with_extent(r->now, side, extent, error);
  g_autofree fc_states **states = g_new0(fc_states *, n);
  gboolean ok = plan != NULL;
  for (guint d = 0; d < n && ok; d++) ok = (states[d] = fc_states_new(plan, d, r->states[d], error)) != NULL;
  if (!ok) {
    clear_plan(plan, states);
    return FALSE;
  }
  clear_plan(r->now, r->now_states);
  fc_chunker_replan(r->chunker, plan);
  set_plan(r, plan, states);
  return TRUE;
}

static gboolean next_chunk(fc_run *r, fc_chunk *chunk) {
  return r->have >= 0 ? fc_chunker_within(r->chunker, chunk, r->have) : fc_chunker_next(r->chunker, chunk);
}

static fc_feed *feed_of(fc_run *r, int side) {
  return side < 0 ? &r->feed : &r->sides[side];
}

/* The end of an input has been found while reading: cuts the current chunk again. */
static gboolean learn_end(fc_run *r, worker *me, int ended, gboolean *more, GError **error) {
  fc_chunk *chunk = me->slot->chunk;
  const fc_chunk_link first = chunk->links[0];
  g_autofree fc_chunk_link *sides = g_memdup2(chunk->sides, MAX(r->plan->n_sides, 1) * sizeof *sides);
  if (!replan(r, ended, feed_of(r, ended)->read_to, error)) return FALSE;
  give_states(r, me);
  *more = next_chunk(r, chunk);
  for (int k = r->ends->source ? -1 : 0; *more && k <= ended; k++)
    if ((k < 0 || !r->plan->sides[k].random) &&
        !fc_feed_recut(feed_of(r, k), me->slot, k < 0 ? &first : &sides[k], error))
      return FALSE;
  return TRUE;
}

static gboolean read_input(fc_run *r, worker *me, int side, gboolean *more, GError **error) {
  fc_feed *feed = feed_of(r, side);
  if (!fc_feed_fill(feed, me->slot, error)) return FALSE;
  return !feed->ended || fc_plan_extent(r->now, side) >= 0 || learn_end(r, me, side, more, error);
}

/* Inputs in memory come last, when the chunk does not change any more. */
static gboolean read_inputs(fc_run *r, worker *me, gboolean *more, GError **error) {
  const int n = (int)r->plan->n_sides;
  if (r->ends->source && !read_input(r, me, -1, more, error)) return FALSE;
  for (int random = FALSE; random <= TRUE; random++)
    for (int k = 0; *more && k < n; k++)
      if (r->plan->sides[k].random == random && !read_input(r, me, k, more, error)) return FALSE;
  return TRUE;
}

/* FALSE: there is no chunk, or none yet, or an error. */
static gboolean acquire_chunk(fc_run *r, worker *me, GError **error) {
  fc_slot *slot = me->slot;
  give_states(r, me);
  gboolean more = next_chunk(r, slot->chunk);
  slot->number = r->number;
  if (!more || !read_inputs(r, me, &more, error) || !more) return FALSE;
  fc_chunker_commit(r->chunker, slot->chunk);
  slot->key = on_device(r) && !me->w->plain ? fc_chunk_key(slot->states->plan, slot->chunk) : 0;
  /* When another kernel has been loaded, graphs are captured again. */
  if (slot->key) slot->key += (guint64)fc_kernels_loaded(me->w->context) << 32;
  me->turn = r->entered[me->workspace]++;
  r->number++;
  return TRUE;
}

gboolean fc_run_cancelled(const fc_options *options, GError **error) {
  if (!options->cancel || !g_atomic_int_get(options->cancel)) return FALSE;
  fc_fail(error, FC_IO, "interrupted");
  return TRUE;
}

static gboolean acquire(fc_run *r, worker *me, GError **error) {
  pthread_mutex_lock(&r->reading);
  gboolean ok =
      !r->over && !stopped(r) && !fc_run_cancelled(r->options, error) && acquire_chunk(r, me, error);
  r->over = !ok;
  pthread_mutex_unlock(&r->reading);
  return ok;
}

/* ---- stages ------------------------------------------------------------------------------ */

typedef struct enqueueing {
  fc_run *run;
  worker *me;
} enqueueing;

static gboolean enqueue(void *data, GError **error) {
  enqueueing *e = data;
  if (e->run->plan->borrowed)
    return fc_borrow_run(&e->run->borrows[e->me->workspace], e->me->w, e->me->slot, error);
  fc_workspace_point(e->me->w, e->me->slot);
  return fc_workspace_stages(e->me->w, e->me->slot, 0, error);
}

static gboolean upload_one(fc_run *r, worker *me, fc_buffer *device, fc_buffer *host,
                           const fc_chunk_link *link, const fc_format *format, GError **error) {
  fc_buffer_hold(device, link->held, link->view[FC_AXIS_X].lo);
  fc_view to = fc_buffer_view(device, link->made, format), from = fc_buffer_view(host, link->made, format);
  if (fc_view_count(&to) == 0) return TRUE;
  const gint64 start = fc_trace_now(r->trace);
  gboolean ok = me->w->runner->upload(me->w->runner, me->slot->index, &to, &from, error);
  fc_trace_add(r->trace, FC_TRACK_COMPUTE, "upload", start, me->slot->number, fc_view_bytes(&to));
  me->w->bytes_up += fc_view_bytes(&to);
  return ok;
}

static gboolean upload(fc_run *r, worker *me, GError **error) {
  fc_slot *slot = me->slot;
  const fc_plan *plan = slot->states->plan;
  if (r->ends->source &&
      !upload_one(r, me, &slot->in, &slot->host_in, &slot->chunk->links[0], &plan->links[0], error))
    return FALSE;
  for (guint k = 0; k < plan->n_sides; k++)
    if (!upload_one(r, me, &slot->sides[k], &slot->host_sides[k], &slot->chunk->sides[k],
                    &plan->sides[k].format, error))
      return FALSE;
  return TRUE;
}

/* The part of a chunk's last link that is delivered. */
static void delivered(const fc_plan *plan, const fc_chunk *chunk, fc_range what[FC_AXES]) {
  memcpy(what, chunk->links[chunk->last].made, sizeof(fc_range) * FC_AXES);
  what[plan->cut] = chunk->deliver;
}

static gboolean delivers(const fc_run *r, const fc_slot *slot) {
  return r->ends->sink && slot->chunk->last == r->plan->n;
}

static gboolean download(fc_run *r, worker *me, GError **error) {
  fc_slot *slot = me->slot;
  const fc_plan *plan = slot->states->plan;
  fc_range what[FC_AXES];
  delivered(plan, slot->chunk, what);
  const fc_format *format = &plan->links[plan->n];
  fc_buffer_hold(&slot->host_out, what, what[FC_AXIS_X].lo);
  fc_view to = fc_buffer_view(&slot->host_out, what, format),
          from = fc_buffer_view(&slot->result, what, format);
  const gint64 start = fc_trace_now(r->trace);
  gboolean ok = me->w->runner->download(me->w->runner, slot->index, &to, &from, error);
  fc_trace_add(r->trace, FC_TRACK_COMPUTE, "download", start, slot->number, fc_view_bytes(&to));
  me->w->bytes_down += fc_view_bytes(&to);
  return ok;
}

static gboolean compute(fc_run *r, worker *me, GError **error) {
  fc_slot *slot = me->slot;
  fc_runner *runner = me->w->runner;
  enqueueing e = {r, me};
  const gint64 start = fc_trace_now(r->trace);
  if (on_device(r) && !upload(r, me, error)) return FALSE;
  if (!runner->compute(runner, slot->index, slot->key, enqueue, &e, error)) return FALSE;
  fc_workspace_passed(slot);
  if (!r->plan->borrowed) {
    /* A replayed graph has not set the buffers; their positions follow from the chunk. */
    fc_workspace_point(me->w, slot);
    slot->result = me->w->links[slot->chunk->last];
    if (on_device(r) && delivers(r, slot) && !download(r, me, error)) return FALSE;
  }
  fc_trace_add(r->trace, FC_TRACK_COMPUTE, "chunk", start, slot->number, -1);
  return TRUE;
}

/* ---- release --------------------------------------------------------------------------------- */

/* Passes the new blocks of the chunk to the operator, in order. */
static gboolean collect(fc_run *r, const fc_slot *slot, guint stage, GError **error) {
  const fc_plan *plan = slot->states->plan;
  const fc_plan_stage *ps = &plan->stages[stage];
  const fc_format *format = &plan->links[stage + 1];
  const fc_chunk_link *link = &slot->chunk->links[stage + 1];
  const int axis = fc_measured_axis(format);
  fc_range made[FC_AXES];
  memcpy(made, link->made, sizeof made);
  if (ps->carry_bytes) made[plan->cut].lo = link->fresh; /* the rest is kept past output */
  if (slot->chunk->frame != r->collecting) memset(r->collected, 0, sizeof *r->collected * plan->n);
  r->collecting = slot->chunk->frame;
  gint64 align = ps->reach[axis].align, first = 0, count = fc_measure_blocks(ps, format, made);
  fc_range frames = made[FC_AXIS_N];
  if (axis == (int)plan->cut) {
    first = (MAX(r->collected[stage], made[axis].lo) - made[axis].lo) / align;
    r->collected[stage] = MAX(r->collected[stage], made[axis].lo + count * align);
  } else {
    frames.lo = MAX(frames.lo, r->collected[stage]);
    r->collected[stage] = MAX(r->collected[stage], frames.hi);
  }
  for (gint64 n = frames.lo; n < frames.hi && first < count; n++) {
    const char *blocks =
        (const char *)slot->measured[stage] + (n - made[FC_AXIS_N].lo) * slot->measured_strides[stage];
    fc_status status =
        FC_CALLED(ps->name, ps->op->collect(&ps->stage->host.base, ps->self,
                                            blocks + first * (gint64)ps->measure_bytes, count - first));
    if (!fc_stage_host_check(&ps->stage->host, ps->name, "measuring", status, error)) return FALSE;
  }
  return TRUE;
}

static gboolean release_chunk(fc_run *r, worker *me, GError **error) {
  fc_slot *slot = me->slot;
  const fc_plan *plan = slot->states->plan;
  if (!fc_notes_check(me->w, r->ends->name, error)) return FALSE;
  for (guint i = 0; i < slot->chunk->last; i++)
    if (plan->stages[i].measure_bytes && !collect(r, slot, i, error)) return FALSE;
  fc_trace_memory(r->trace);
  if (slot->chunk->last == told_link(plan)) {
    gint64 done = slot->chunk->deliver.hi +
                  slot->chunk->frame * MAX(plan->links[slot->chunk->last].extent[plan->cut], 0);
    pthread_mutex_lock(&r->mutex);
    r->done = plan->borrowed ? r->done + fc_range_length(slot->chunk->deliver) : MAX(r->done, done);
    pthread_mutex_unlock(&r->mutex);
  }
  if (!delivers(r, slot)) return TRUE;
  fc_range what[FC_AXES];
  delivered(plan, slot->chunk, what);
  fc_view view = fc_buffer_view(on_device(r) ? &slot->host_out : &slot->result, what, &plan->links[plan->n]);
  const gint64 start = fc_trace_now(r->trace);
  gboolean ok = r->ends->sink->write(r->ends->sink, &view, error);
  fc_trace_add(r->trace, FC_TRACK_WRITER, "write", start, slot->number, fc_view_bytes(&view));
  return ok;
}

#define PROGRESS_INTERVAL (G_TIME_SPAN_SECOND / 10)

/* Progress is reported from the caller's thread only; all workers obey a request to stop. */
static gboolean report_progress(fc_run *r, GError **error) {
  const fc_options *o = r->options;
  if (fc_run_cancelled(o, error)) return FALSE;
  const gint64 now = o->progress && g_thread_self() == r->caller ? g_get_monotonic_time() : r->told;
  if (now - r->told < PROGRESS_INTERVAL) return TRUE;
  r->told = now;
  pthread_mutex_lock(&r->mutex);
  gint64 done = r->done, total = r->total < 0 ? FC_UNKNOWN : r->total;
  pthread_mutex_unlock(&r->mutex);
  return o->progress(done, total, o->progress_data) || fc_fail(error, FC_IO, "stopped");
}

/* ---- workers -------------------------------------------------------------------------------------- */

static gboolean one_chunk(fc_run *r, worker *me, GError **error) {
  if (!await(r, &r->computed[me->workspace], me->turn)) return FALSE;
  /* What is made of a survey is made when all of it has been collected. */
  if (r->plan->surveyed && me->slot->chunk->last > r->plan->surveyed &&
      !await(r, &r->released, me->slot->number))
    return FALSE;
  if (!compute(r, me, error)) return FALSE;
  advance(r, &r->computed[me->workspace]);
  if (on_device(r) && !me->w->runner->wait(me->w->runner, me->slot->index, error)) return FALSE;
  /* The order does not matter for output that stays in place. */
  const gboolean ordered = r->ends->sink || r->plan->measures;
  if (ordered && !await(r, &r->released, me->slot->number)) return FALSE;
  if (!release_chunk(r, me, error)) return FALSE;
  if (ordered) advance(r, &r->released);
  return report_progress(r, error);
}

static worker worker_of(fc_run *r, guint index) {
  worker me = {.workspace = index % r->n_workspaces};
  me.w = &r->workspaces[me.workspace];
  me.slot = &me.w->slots[index / r->n_workspaces];
  return me;
}

static void work(guint index, guint thread, void *data) {
  fc_run *r = data;
  worker me = worker_of(r, index);
  GError *error = NULL;
  while (acquire(r, &me, &error) && one_chunk(r, &me, &error)) continue;
  if (error) fail(r, error);
}

/* ---- making and freeing runs -------------------------------------------------------------------------- */

fc_plan *fc_run_plan(fc_run *r) {
  return r->plan;
}

static fc_lease *lease_for(const fc_run *r, guint workspace, void *stream, GError **error) {
  fc_context *context = r->plan->chain->context;
  if (!on_device(r)) return fc_lease_new_cpu(context, fc_plan_width(r->plan));
  return fc_lease_new(context, r->plan->devices[workspace], stream, fc_plan_pinned_bytes(r->plan), error);
}

static gboolean init(fc_run *r, void *stream, GError **error) {
  const guint devices = MAX(r->plan->n_devices, 1);
  for (guint d = 0; d < devices; d++)
    if (!(r->states[d] = fc_states_new(r->plan, d, NULL, error))) return FALSE;
  for (guint i = 0; i < r->n_workspaces; i++) {
    fc_lease *lease = lease_for(r, i, stream, error);
    if (!lease ||
        !fc_workspace_init(&r->workspaces[i], lease, r->states[on_device(r) ? i : 0], stream != NULL, error))
      return FALSE;
    r->workspaces[i].carries = r->carries;
    if (r->n_workspaces > 1) r->workspaces[i].turn = take_turn, r->workspaces[i].turn_data = r;
  }
  return !r->plan->carries || fc_carries_init(&r->workspaces[0], r->carries, error);
}

fc_run *fc_run_new(fc_plan *plan, void *stream, GError **error) {
  fc_run *r = g_new0(fc_run, 1);
  r->plan = fc_plan_ref(plan);
  r->n_workspaces = fc_plan_workspaces(plan), r->n_slots = fc_plan_slots(plan);
  r->states = g_new0(fc_states *, MAX(plan->n_devices, 1));
  r->now_states = g_new0(fc_states *, MAX(plan->n_devices, 1));
  r->workspaces = g_new0(fc_workspace, r->n_workspaces);
  r->borrows = g_new0(fc_borrow, r->n_workspaces);
  r->carries = g_new0(fc_carry, plan->n + 1);
  r->sides = g_new0(fc_feed, plan->n_sides + 1);
  r->collected = g_new0(gint64, plan->n + 1);
  r->entered = g_new0(gint64, r->n_workspaces);
  r->computed = g_new0(gint64, r->n_workspaces);
  pthread_mutex_init(&r->reading, NULL);
  pthread_mutex_init(&r->mutex, NULL);
  fc_cond_init(&r->changed);
  if (init(r, stream, error)) return r;
  r->broken = TRUE;
  fc_run_free(r);
  return NULL;
}

static void end(fc_run *r) {
  clear_plan(r->now, r->now_states);
  r->now = NULL;
  fc_chunker_free(r->chunker);
  r->chunker = NULL;
  fc_feed_clear(&r->feed);
  for (guint k = 0; k < r->plan->n_sides; k++) fc_feed_clear(&r->sides[k]);
  g_clear_error(&r->error);
}

void fc_run_free(gpointer data) {
  fc_run *r = data;
  if (!r) return;
  end(r);
  for (guint i = 0; i < r->n_workspaces; i++)
    fc_workspace_clear(&r->workspaces[i], r->broken && on_device(r));
  for (guint d = 0; d < MAX(r->plan->n_devices, 1); d++) fc_states_unref(r->states[d]);
  pthread_mutex_destroy(&r->reading);
  pthread_mutex_destroy(&r->mutex);
  pthread_cond_destroy(&r->changed);
  g_free(r->states);
  g_free(r->now_states);
  g_free(r->workspaces);
  g_free(r->borrows);
  g_free(r->carries);
  g_free(r->sides);
  g_free(r->collected);
  g_free(r->entered);
  g_free(r->computed);
  fc_plan_unref(r->plan);
  g_free(r);
}

/* ---- running ----------------------------------------------------------------------------------------------
 */

static void reset_operators(const fc_plan *plan, const fc_options *options) {
  if (options) fc_chain_tell_random(plan->chain, options);
  for (guint i = 0; i < plan->n; i++) {
    const fc_operator *op = plan->stages[i].op;
    if (!op) continue;
    fc_stage *stage = plan->stages[i].stage;
    g_atomic_pointer_set(&stage->host.cancel, options ? options->cancel : NULL);
    fc_enter_operator(op->name);
    if (op->reset) op->reset(plan->stages[i].self);
    fc_enter_operator(NULL);
  }
}

static gboolean reset_carries(void *data, GError **error) {
  return fc_carries_reset(&((fc_run *)data)->workspaces[0], error);
}

static gboolean begin_sink(fc_run *r, GError **error) {
  fc_sink *sink = r->ends->sink;
  if (!sink) return TRUE;
  fc_format format = r->plan->links[r->plan->n];
  sink->by_rows = r->plan->cut == FC_AXIS_Y;
  /* Until the end is known, an extent given by the chain is only an upper bound. */
  if (r->ends->source && r->plan->links[0].extent[r->plan->cut] < 0) format.extent[r->plan->cut] = FC_UNKNOWN;
  sink->unrelated = !fc_plan_lead(r->plan, &sink->lead);
  return !sink->begin || sink->begin(sink, &format, error);
}

static gboolean init_feeds(fc_run *r, GError **error) {
  const gboolean rows = r->plan->cut == FC_AXIS_Y;
  if (r->ends->source) {
    r->ends->source->by_rows = rows;
    if (!fc_feed_init(&r->feed, r->ends->source, -1, r->plan, r->trace, error)) return FALSE;
  }
  for (guint k = 0; k < r->plan->n_sides; k++) {
    r->ends->sides[k]->by_rows = rows && !r->plan->sides[k].random;
    if (!fc_feed_init(&r->sides[k], r->ends->sides[k], (int)k, r->plan, r->trace, error)) return FALSE;
  }
  return TRUE;
}

gboolean fc_run_begin(fc_run *r, const fc_ends *ends, const fc_options *options, GError **error) {
  r->ends = ends, r->options = options;
  r->caller = g_thread_self();
  for (guint d = 0; d < MAX(r->plan->n_devices, 1); d++) fc_states_ref(r->states[d]);
  set_plan(r, fc_plan_ref(r->plan), r->states);
  r->have = -1;
  r->chunker = fc_chunker_new(r->plan);
  r->number = r->released = r->done = r->collecting = r->told = 0;
  r->stop = r->over = FALSE;
  memset(r->collected, 0, sizeof *r->collected * r->plan->n);
  for (guint i = 0; i < r->n_workspaces; i++) {
    fc_workspace *w = &r->workspaces[i];
    r->entered[i] = r->computed[i] = 0;
    w->trace = r->trace, w->bytes_up = w->bytes_down = 0;
    fc_notes_begin(w);
    r->borrows[i].in = ends->in, r->borrows[i].out = ends->out;
    if (r->trace && w->runner->watch) w->runner->watch(w->runner, r->trace);
  }
  reset_operators(r->plan, options);
  fc_runner *first = r->workspaces[0].runner;
  const gboolean ok = (!r->plan->carries || first->compute(first, 0, 0, reset_carries, r, error)) &&
                      init_feeds(r, error) && begin_sink(r, error);
  r->broken = !ok && on_device(r);
  return ok;
}

gboolean fc_run_step(fc_run *r, gint64 have, gboolean ended, GError **error) {
  worker me = worker_of(r, 0);
  GError *why = NULL;
  if (ended && !replan(r, -1, have, error)) return FALSE;
  r->have = ended ? -1 : have;
  while (acquire_chunk(r, &me, &why) && one_chunk(r, &me, &why)) continue;
  r->broken = why && on_device(r);
  if (why) g_propagate_error(error, why);
  return !why;
}

static void run_workers(fc_run *r) {
  fc_context *context = r->plan->chain->context;
  const guint n = r->n_workspaces * r->n_slots;
  if (n == 1) {
    work(0, 0, r);
    return;
  }
  fc_pool *crew = fc_context_take_crew(context, (int)n);
  fc_pool_run(crew, n, work, r);
  fc_context_give_crew(context, crew);
}

static gboolean finish(fc_run *r, fc_result *result, GError **error) {
  gboolean ok = TRUE;
  for (guint i = 0; i < r->n_workspaces && ok; i++) {
    fc_workspace *w = &r->workspaces[i];
    ok = w->runner->finish(w->runner, error) && fc_notes_check(w, r->ends->name, error);
    result->bytes_up += w->bytes_up, result->bytes_down += w->bytes_down;
  }
  g_autofree char *clipped = ok ? fc_notes_clipped(r->workspaces, r->n_workspaces, r->now) : NULL;
  if (clipped) fc_result_set_clipped(result, r->ends->name, clipped);
  result->chunks = r->number;
  return ok && fc_run_report(r, result, error);
}

/* Returns idle threads after a run. */
static void rest(fc_run *r) {
  for (guint i = 0; i < r->n_workspaces; i++) {
    fc_workspace *w = &r->workspaces[i];
    w->trace = NULL;
    if (w->runner->rest) w->runner->rest(w->runner);
    if (w->helper) fc_lease_runner(w->helper)->rest(fc_lease_runner(w->helper));
  }
  reset_operators(r->plan, NULL);
}

gboolean fc_run_execute(fc_run *r, const fc_ends *ends, const fc_options *options, fc_trace *trace,
                        fc_result *result, gboolean *began, GError **error) {
  GError *why = NULL;
  r->trace = trace;
  gboolean ok = *began = fc_run_begin(r, ends, options, &why);
  if (ok) {
    run_workers(r);
    why = g_steal_pointer(&r->error);
    ok = !why && finish(r, result, &why);
  }
  r->broken = !ok && on_device(r);
  end(r);
  if (ok) rest(r);
  r->trace = NULL;
  if (why) g_propagate_error(error, why);
  return ok;
}

static void take_measurement(const fc_measurement *value, void *data) {
  fc_result_add(data, value);
}

static char *description_of(const fc_run *r) {
  if (!on_device(r))
    return g_strdup_printf("cpu (%d thread%s)", r->plan->threads, r->plan->threads == 1 ? "" : "s");
  GString *all = g_string_new(NULL);
  for (guint i = 0; i < r->n_workspaces; i++)
    g_string_append_printf(all, "%s%s", i ? ", " : "", r->workspaces[i].runner->description);
  return g_string_free(all, FALSE);
}

gboolean fc_run_report(fc_run *r, fc_result *result, GError **error) {
  g_autofree char *device = description_of(r);
  fc_result_set_device(result, device);
  fc_result_set_reason(result, r->plan->reason);
  fc_result_set_formats(result, &r->now->links[0], &r->now->links[r->plan->n]);
  for (guint i = 0; i < r->plan->n; i++) {
    const fc_plan_stage *ps = &r->plan->stages[i];
    if (!ps->op || !ps->op->report) continue;
    fc_result_stage(result, (guint)(ps->stage - r->plan->chain->stages), ps->name);
    ps->stage->host.measured = take_measurement, ps->stage->host.measured_data = result;
    fc_status status = FC_CALLED(ps->name, ps->op->report(&ps->stage->host.base, ps->self));
    ps->stage->host.measured = NULL;
    if (!fc_stage_host_check(&ps->stage->host, ps->name, "reporting", status, error)) return FALSE;
  }
  return TRUE;
}

/* ---- on the caller's stream ------------------------------------------- */

static gboolean enqueue_borrowed(void *data, GError **error) {
  fc_run *r = data;
  if (r->plan->carries && !fc_carries_reset(&r->workspaces[0], error)) return FALSE;
  return fc_borrow_run(&r->borrows[0], &r->workspaces[0], &r->workspaces[0].slots[0], error);
}

gboolean fc_run_enqueue(fc_run *r, const fc_view *in, const fc_view *out, GError **error) {
  fc_runner *runner = r->workspaces[0].runner;
  if (!r->used) { /* one chunk, the same for every call */
    fc_chunker *chunker = fc_chunker_new(r->plan);
    if (!fc_chunker_next(chunker, r->workspaces[0].slots[0].chunk))
      r->workspaces[0].slots[0].chunk->last = G_MAXUINT;
    fc_chunker_free(chunker);
  }
  if (r->workspaces[0].slots[0].chunk->last == G_MAXUINT) return TRUE; /* nothing to do */
  /* The buffers are those of the previous call. */
  if (r->used && !runner->rejoin(runner, error)) return FALSE;
  r->borrows[0].in = in, r->borrows[0].out = out;
  r->used = TRUE;
  if (!runner->compute(runner, 0, 0, enqueue_borrowed, r, error)) return FALSE;
  fc_workspace_passed(&r->workspaces[0].slots[0]);
  return TRUE;
}

gboolean fc_run_check(fc_run *r, const char *name, GError **error) {
  return fc_notes_check(&r->workspaces[0], name, error);
}

gboolean fc_run_clips(const fc_run *r) {
  g_autofree char *clipped = fc_notes_clipped(r->workspaces, 1, r->plan);
  return clipped != NULL;
}
