/* SPDX-License-Identifier: MIT */
/*
 * exec.c - see exec.h.
 *
 * Slots are used in turn, so reader, compute and writer each walk round the ring by
 * themselves and only wait for the slot ahead to come into the state they want. On
 * the CPU a slot's input buffer is where the reader puts the samples and its output
 * buffer is where the writer takes them; on a GPU both have a pinned twin, in which rows lie as in most
 * files, one right after another, so that these are read and written there without a copy.
 */
#include "core/run/exec.h"

#include "core/device/cpu.h"
#include "core/base/error.h"
#include "core/run/fit.h"
#include "core/run/memory.h"
#include "core/base/patience.h"
#include "core/base/progress.h"
#include "core/run/work.h"

#include <pthread.h>
#include <string.h>

enum slot_state { FREE, FILLED, COMPUTED, END };

typedef struct slot {
  enum slot_state state;
  fc_chunk *chunk;
  fc_buffer in, out;           /* in the memory of the device */
  fc_buffer host_in, host_out; /* pinned twins; unused on the CPU */
  fc_buffer result;            /* where the chunk's last link ended up */
  fc_measures measures;
  guint64 key;
  gboolean plain; /* compute without a graph: the stages refuse capture */
} slot;

typedef struct run {
  fc_plan *plan;
  fc_runner *runner;
  fc_work work;
  fc_source *source;
  fc_sink *sink;
  const fc_options *options;
  fc_trace *trace;
  fc_result *result;
  slot slots[FC_SLOTS];
  int threads; /* as in the options, or fewer that fit into memory */

  pthread_mutex_t mutex;
  pthread_cond_t changed;
  gboolean stop; /* guarded by mutex */
  GError *error; /* the first one; guarded by mutex */

  /* The reader's: */
  fc_chunker *chunker;
  gint64 read_to; /* position of the source's next element */
  gint64 frame;   /* that it lies in, of a batch that goes by rows */
  slot *previous; /* where the elements before it lie */
  gint64 number;

  /* The writer's: */
  gint64 *collected; /* a stage: blocks up to this position were handed to collect */
  gint64 collecting; /* the frame that they are of, of a batch that goes by rows */
  gint64 written;
} run;

/* ---- the ring --------------------------------------------------------- */

static void fail_run(run *r, GError *error) {
  pthread_mutex_lock(&r->mutex);
  if (!r->error)
    r->error = error;
  else
    g_error_free(error);
  r->stop = TRUE;
  pthread_cond_broadcast(&r->changed);
  pthread_mutex_unlock(&r->mutex);
}

static void set_state(run *r, slot *s, enum slot_state state) {
  pthread_mutex_lock(&r->mutex);
  s->state = state;
  pthread_cond_broadcast(&r->changed);
  pthread_mutex_unlock(&r->mutex);
}

/* Waits until the slot is in that state or at the end; FALSE when the run stops. */
static gboolean wait_state(run *r, slot *s, enum slot_state state) {
  pthread_mutex_lock(&r->mutex);
  while (!r->stop && s->state != state && s->state != END) fc_cond_wait(&r->changed, &r->mutex);
  gboolean go = !r->stop;
  pthread_mutex_unlock(&r->mutex);
  return go;
}

/* Waits until no slot but `mine` is in use: before the plan may change. */
static gboolean wait_idle(run *r, slot *mine) {
  pthread_mutex_lock(&r->mutex);
  for (;;) {
    gboolean busy = FALSE;
    for (guint i = 0; i < FC_SLOTS; i++) busy |= &r->slots[i] != mine && r->slots[i].state != FREE;
    if (r->stop || !busy) break;
    fc_cond_wait(&r->changed, &r->mutex);
  }
  gboolean go = !r->stop;
  pthread_mutex_unlock(&r->mutex);
  return go;
}

/* ---- reading ---------------------------------------------------------- */

static gboolean on_gpu(const run *r) {
  return r->runner->device != FC_HOST;
}
static fc_buffer *input_of(run *r, slot *s) {
  return on_gpu(r) ? &s->host_in : &s->in;
}
static fc_buffer *output_of(run *r, slot *s) {
  return on_gpu(r) ? &s->host_out : &s->result;
}

static gint64 bytes_of(const fc_view *v) {
  return fc_view_count(v) * (gint64)fc_dtype_size(v->dtype);
}

/* A view of [range) on the cut axis of link 0 in a slot's input buffer. */
static fc_view input_view(run *r, slot *s, fc_range range) {
  fc_range what[FC_AXES];
  memcpy(what, s->chunk->links[0].made, sizeof what);
  what[r->plan->cut] = range;
  return fc_buffer_view(input_of(r, s), what, &r->plan->links[0]);
}

/* Of a long stretch of sound that no chunk looks at; a chunk may be a few samples. */
static gboolean skip_sound(run *r, gint64 position, GError **error) {
  gint64 got = fc_source_skip(r->source, position - r->read_to, error);
  r->read_to += MAX(got, 0);
  return got >= 0;
}

/* Reads elements that no chunk looks at into the front of the slot's buffer. */
static gboolean skip_to(run *r, slot *s, gint64 position, GError **error) {
  fc_range made = s->chunk->links[0].made[r->plan->cut];
  const fc_format *f = &r->source->format;
  gboolean far = position - r->read_to > 2 * MAX(fc_range_length(made), 1);
  if (far && f->kind == FC_AUDIO && f->layout == FC_INTERLEAVED) return skip_sound(r, position, error);
  while (r->read_to < position) {
    gint64 step = MIN(position - r->read_to, MAX(fc_range_length(made), 1));
    fc_view into = input_view(r, s, (fc_range){made.lo, made.lo + step});
    gint64 got = r->source->read(r->source, &into, error);
    if (got < 0) return FALSE;
    if (got == 0) break;
    r->read_to += got;
  }
  return TRUE;
}

/* To the beginning of the chunk's frame: the rest of the one before is of no use. */
static gboolean next_frame(run *r, slot *s, GError **error) {
  if (s->chunk->frame == r->frame) return TRUE;
  if (!skip_to(r, s, r->plan->links[0].extent[r->plan->cut], error)) return FALSE;
  r->read_to = 0, r->frame = s->chunk->frame;
  return TRUE;
}

/* Fills the slot with the chunk's input; what the last chunk had too is copied from
 * there. Sets *end when the source ended before the chunk did. */
static gboolean fill_input(run *r, slot *s, gboolean *end, GError **error) {
  const fc_chunk_link *link = &s->chunk->links[0];
  fc_range made = link->made[r->plan->cut];
  *end = FALSE;
  fc_buffer_hold(input_of(r, s), on_gpu(r) ? link->made : link->held, link->view[FC_AXIS_X].lo);
  if (fc_range_empty(made)) return TRUE;
  if (!next_frame(r, s, error)) return FALSE;
  if (made.lo < r->read_to && r->previous && r->previous != s) {
    fc_range had = r->previous->chunk->links[0].made[r->plan->cut];
    fc_range both = {made.lo, MIN(made.hi, r->read_to)};
    if (both.lo < had.lo || both.hi > had.hi)
      return fc_fail(error, FC_FATAL, "the demand of a chunk ran backwards");
    fc_view to = input_view(r, s, both), from = input_view(r, r->previous, both);
    fc_view_copy(&to, &from);
  }
  if (!skip_to(r, s, made.lo, error)) return FALSE;
  gint64 start = fc_trace_now(r->trace), from = r->read_to;
  while (r->read_to < made.hi) {
    fc_view into = input_view(r, s, (fc_range){r->read_to, made.hi});
    gint64 got = r->source->read(r->source, &into, error);
    if (got < 0) return FALSE;
    if (got == 0) {
      *end = TRUE;
      break;
    }
    r->read_to += got;
  }
  fc_view all = input_view(r, s, (fc_range){MIN(from, r->read_to), r->read_to});
  fc_trace_add(r->trace, FC_TRACK_READER, "read", start, r->number, bytes_of(&all));
  return TRUE;
}

/* The signal has turned out to end at read_to: plans the chunk in hand again. */
static gboolean learn_end(run *r, slot *s, gboolean *more, GError **error) {
  if (r->source->format.extent[r->plan->cut] >= 0)
    return fc_fail(error, FC_IO, "%s: ends after %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT, r->source->name,
                   r->read_to, r->source->format.extent[r->plan->cut]);
  if (!wait_idle(r, s)) {
    *more = FALSE;
    return TRUE;
  }
  if (!fc_plan_set_extent(r->plan, r->read_to, error)) return FALSE;
  fc_range held[FC_AXES], made = s->chunk->links[0].made[r->plan->cut];
  memcpy(held, s->chunk->links[0].held, sizeof held);
  *more = fc_chunker_next(r->chunker, s->chunk);
  if (!*more) return TRUE;
  /* The samples stay where they were read to; the new demand is a part of the old. */
  fc_chunk_link *link = &s->chunk->links[0];
  fc_range *now = &link->made[r->plan->cut];
  if (!fc_range_empty(*now) && (now->lo < made.lo || now->hi > r->read_to))
    return fc_fail(error, FC_FATAL, "the demand of the last chunk ran backwards");
  *now = (fc_range){MIN(made.lo, r->read_to), MIN(MAX(made.lo, r->read_to), made.hi)};
  for (int a = 0; a < FC_AXES; a++) link->held[a] = held[a];
  return TRUE;
}

/*
 * The source moves forward only, but demand near an end does not: a border mirrors
 * elements further in than the next chunk looks. So the window on the source is made
 * to move forward: what was read stays as long as its beginning is of use, and the past
 * that a chunk keeps for the sake of later ones ends where the last window began.
 */
static void keep_to_window(run *r, slot *s) {
  if (!r->previous) return;
  fc_range *made = &s->chunk->links[0].made[r->plan->cut];
  fc_range kept = r->previous->chunk->links[0].made[r->plan->cut];
  if (fc_range_empty(*made)) return;
  if (made->lo < kept.lo) made->lo = MIN(kept.lo, s->chunk->needed);
  if (made->lo < kept.hi) made->hi = MAX(made->hi, kept.hi);
  fc_range *held = &s->chunk->links[0].held[r->plan->cut];
  *held = fc_range_hull(*held, *made);
}

/* Plans and reads the next chunk; FALSE at the end or on failure. */
static gboolean read_chunk(run *r, slot *s, GError **error) {
  gboolean end, more = fc_chunker_next(r->chunker, s->chunk);
  if (!more) return FALSE;
  if (s->chunk->frame != r->frame) r->previous = NULL;
  keep_to_window(r, s);
  if (!fill_input(r, s, &end, error)) return FALSE;
  if (end && (!learn_end(r, s, &more, error) || !more)) return FALSE;
  fc_chunker_commit(r->chunker, s->chunk);
  s->key = s->plain ? 0 : fc_chunk_key(r->plan, s->chunk);
  if (!fc_range_empty(s->chunk->links[0].made[r->plan->cut])) r->previous = s;
  r->number++;
  return TRUE;
}

static gpointer read_all(gpointer data) {
  run *r = data;
  for (guint i = 0;; i = (i + 1) % FC_SLOTS) {
    slot *s = &r->slots[i];
    GError *error = NULL;
    if (!wait_state(r, s, FREE)) break;
    if (!r->runner->wait_upload(r->runner, i, &error) || !read_chunk(r, s, &error)) {
      if (error) fail_run(r, error);
      set_state(r, s, END);
      break;
    }
    set_state(r, s, FILLED);
  }
  return NULL;
}

/* ---- computing -------------------------------------------------------- */

typedef struct enqueueing {
  run *run;
  slot *slot;
} enqueueing;

static gboolean enqueue(void *data, GError **error) {
  enqueueing *e = data;
  return fc_work_enqueue(&e->run->work, e->slot->chunk, &e->slot->in, &e->slot->out, &e->slot->measures,
                         error);
}

static gboolean upload(run *r, slot *s, guint index, GError **error) {
  const fc_chunk_link *link = &s->chunk->links[0];
  fc_buffer_hold(&s->in, link->held, link->view[FC_AXIS_X].lo);
  fc_view to = fc_buffer_view(&s->in, link->made, &r->plan->links[0]);
  fc_view from = fc_buffer_view(&s->host_in, link->made, &r->plan->links[0]);
  if (fc_view_count(&to) == 0) return TRUE;
  gint64 start = fc_trace_now(r->trace);
  gboolean ok = r->runner->upload(r->runner, index, &to, &from, error);
  fc_trace_add(r->trace, FC_TRACK_COMPUTE, "upload", start, r->work.chunks, bytes_of(&to));
  r->result->bytes_up += bytes_of(&to);
  return ok;
}

/* What is delivered of a chunk's last link. */
static void delivered(const run *r, const fc_chunk *chunk, fc_range what[FC_AXES]) {
  memcpy(what, chunk->links[chunk->last].made, sizeof(fc_range) * FC_AXES);
  what[r->plan->cut] = chunk->deliver;
}

static gboolean download(run *r, slot *s, guint index, GError **error) {
  if (s->chunk->last != r->plan->n || !r->sink) return r->runner->finish(r->runner, error);
  fc_range what[FC_AXES];
  delivered(r, s->chunk, what);
  const fc_format *format = &r->plan->links[r->plan->n];
  fc_buffer_hold(&s->host_out, what, what[FC_AXIS_X].lo);
  fc_view to = fc_buffer_view(&s->host_out, what, format);
  fc_view from = fc_buffer_view(&s->result, what, format);
  gint64 start = fc_trace_now(r->trace);
  gboolean ok = r->runner->download(r->runner, index, &to, &from, error);
  fc_trace_add(r->trace, FC_TRACK_COMPUTE, "download", start, r->work.chunks, bytes_of(&to));
  r->result->bytes_down += bytes_of(&to);
  return ok;
}

static gboolean compute_chunk(run *r, guint index, GError **error) {
  slot *s = &r->slots[index];
  enqueueing e = {r, s};
  gint64 start = fc_trace_now(r->trace);
  if (on_gpu(r) && !upload(r, s, index, error)) return FALSE;
  if (!r->runner->compute(r->runner, index, s->key, enqueue, &e, error)) return FALSE;
  /* A replayed graph has not pointed the buffers; where they lie follows from the chunk alone. */
  fc_work_point(&r->work, s->chunk, &s->in, &s->out);
  s->result = *fc_work_link(&r->work, s->chunk->last);
  if (on_gpu(r) && !download(r, s, index, error)) return FALSE;
  fc_trace_add(r->trace, FC_TRACK_COMPUTE, "chunk", start, r->work.chunks, -1);
  r->work.chunks++;
  return TRUE;
}

static gboolean report_progress(run *r, gint64 done, gint64 *last, GError **error) {
  gint64 total = r->plan->links[r->plan->n].extent[r->plan->cut];
  if (total >= 0) total *= fc_plan_frames(r->plan);
  return !fc_cancelled(r->options, error) && fc_tell_progress(r->options, done, total, last, error);
}

static void compute_all(run *r) {
  gint64 last = 0, done = 0;
  for (guint i = 0;; i = (i + 1) % FC_SLOTS) {
    slot *s = &r->slots[i];
    GError *error = NULL;
    if (!wait_state(r, s, FILLED) || s->state == END) break;
    if (s->chunk->last == r->plan->n)
      done = s->chunk->deliver.hi + s->chunk->frame * r->plan->links[r->plan->n].extent[r->plan->cut];
    if (!compute_chunk(r, i, &error) || !report_progress(r, done, &last, &error)) {
      fail_run(r, error);
      break;
    }
    set_state(r, s, COMPUTED);
  }
}

/* ---- writing ---------------------------------------------------------- */

/* Hands the blocks of the chunk that are new to the operator, in order. */
static gboolean collect(run *r, slot *s, guint stage, GError **error) {
  fc_plan_stage *ps = &r->plan->stages[stage];
  const fc_format *format = &r->plan->links[stage + 1];
  const fc_range *made = s->chunk->links[stage + 1].made;
  int axis = fc_measured_axis(format);
  if (s->chunk->frame != r->collecting) memset(r->collected, 0, sizeof *r->collected * r->plan->n);
  r->collecting = s->chunk->frame;
  gint64 align = ps->reach[axis].align, first = 0, count = fc_measure_blocks(ps, format, made);
  fc_range frames = made[FC_AXIS_N];
  if (axis == (int)r->plan->cut) {
    first = (MAX(r->collected[stage], made[axis].lo) - made[axis].lo) / align;
    r->collected[stage] = MAX(r->collected[stage], made[axis].lo + count * align);
  } else {
    frames.lo = MAX(frames.lo, r->collected[stage]);
    r->collected[stage] = MAX(r->collected[stage], frames.hi);
  }
  for (gint64 n = frames.lo; n < frames.hi && first < count; n++) {
    const char *blocks =
        (const char *)s->measures.blocks[stage] + (n - made[FC_AXIS_N].lo) * s->measures.strides[stage];
    fc_status status = ps->op->collect(&ps->stage->host.base, ps->stage->self,
                                       blocks + first * (gint64)ps->measure_bytes, count - first);
    if (!fc_stage_host_check(&ps->stage->host, ps->name, "measuring", status, error)) return FALSE;
  }
  return TRUE;
}

/* Of the file that a trouble with values is about. */
static const char *name_of(const run *r) {
  return r->sink ? r->sink->name : r->source->name;
}

static gboolean write_chunk(run *r, guint index, GError **error) {
  slot *s = &r->slots[index];
  if (!r->runner->wait_download(r->runner, index, error)) return FALSE;
  if (!fc_work_check_notes(&r->work, name_of(r), error)) return FALSE;
  for (guint i = 0; i < s->chunk->last; i++)
    if (r->plan->stages[i].measure_bytes && !collect(r, s, i, error)) return FALSE;
  fc_trace_memory(r->trace);
  if (s->chunk->last != r->plan->n || !r->sink) return TRUE;
  fc_range what[FC_AXES];
  delivered(r, s->chunk, what);
  fc_view view = fc_buffer_view(output_of(r, s), what, &r->plan->links[r->plan->n]);
  gint64 start = fc_trace_now(r->trace);
  gboolean ok = r->sink->write(r->sink, &view, error);
  fc_trace_add(r->trace, FC_TRACK_WRITER, "write", start, r->written, bytes_of(&view));
  r->written++;
  return ok;
}

static gpointer write_all(gpointer data) {
  run *r = data;
  for (guint i = 0;; i = (i + 1) % FC_SLOTS) {
    slot *s = &r->slots[i];
    GError *error = NULL;
    if (!wait_state(r, s, COMPUTED) || s->state == END) break;
    if (!write_chunk(r, i, &error)) {
      fail_run(r, error);
      break;
    }
    set_state(r, s, FREE);
  }
  return NULL;
}

/* ---- a run ------------------------------------------------------------ */

static gboolean init_buffer(run *r, fc_buffer *b, guint link, GError **error) {
  return fc_work_buffer(r->plan, r->runner, link, FALSE, b, error);
}

static gboolean init_slots(run *r, guint count, GError **error) {
  guint root = fc_plan_output_root(r->plan); /* 0: the output stays in the input's memory */
  gboolean plain = on_gpu(r) && !fc_work_capturable(&r->work);
  for (guint i = 0; i < count; i++) {
    slot *s = &r->slots[i];
    s->plain = plain;
    s->chunk = fc_chunk_new(r->plan);
    if (!init_buffer(r, &s->in, 0, error)) return FALSE;
    if (root > 0 && !init_buffer(r, &s->out, root, error)) return FALSE;
    if (on_gpu(r) && (!fc_work_twin(r->plan, r->runner, 0, &s->host_in, error) ||
                      !fc_work_twin(r->plan, r->runner, r->plan->n, &s->host_out, error)))
      return FALSE;
    if (!fc_measures_init(&s->measures, &r->work, error)) return FALSE;
  }
  return TRUE;
}

/* Pinned memory is made ready while the device starts. */
static fc_runner *make_device_runner(const fc_plan *plan, GError **error) {
  fc_arena *arena = fc_arena_new(fc_plan_pinned_bytes(plan));
  fc_runner *runner = fc_cuda_runner_new(plan->device, NULL, error);
  if (runner && runner->adopt_host && arena)
    runner->adopt_host(runner, arena);
  else
    fc_arena_free(arena);
  return runner;
}

static fc_runner *make_runner(fc_plan *plan, int threads, GError **error) {
  if (plan->device == FC_HOST) return fc_cpu_runner_new(threads, plan->chain->context->frames);
  return make_device_runner(plan, error);
}

static void clear_run(run *r) {
  for (guint i = 0; i < FC_SLOTS; i++) {
    fc_measures_clear(&r->slots[i].measures, &r->work);
    fc_chunk_free(r->slots[i].chunk);
  }
  if (r->runner) r->runner->free(r->runner); /* before the workspace: it waits for the device */
  fc_work_clear(&r->work);
  fc_chunker_free(r->chunker);
  g_free(r->collected);
  pthread_mutex_destroy(&r->mutex);
  pthread_cond_destroy(&r->changed);
}

static gboolean init_run(run *r, guint halvings, GError **error) {
  r->threads = r->options->threads;
  if (!fc_plan_choose_chunk(r->plan, r->options, halvings, error)) return FALSE;
  if (!fc_plan_fit(r->plan, &r->threads, error)) return FALSE;
  if (r->threads != r->options->threads)
    fc_context_log(r->plan->chain->context, FC_LOG_INFO,
                   "%s: memory is short: on %d thread%s (--max-memory and `ulimit -v` set limits)",
                   r->source->name, r->threads, r->threads == 1 ? "" : "s");
  r->runner = make_runner(r->plan, r->threads, error);
  if (!r->runner) return FALSE;
  if (r->trace && r->runner->watch) r->runner->watch(r->runner, r->trace);
  if (!fc_work_init(&r->work, r->plan, r->runner, r->threads, r->trace, error)) return FALSE;
  if (!init_slots(r, fc_plan_slots(r->plan), error)) return FALSE;
  r->chunker = fc_chunker_new(r->plan);
  r->collected = g_new0(gint64, r->plan->n + 1);
  return TRUE;
}

/* One chunk after another in this thread: no thread costs more than it brings. */
static gboolean run_single(run *r, GError **error) {
  gint64 last = 0;
  while (read_chunk(r, &r->slots[0], error)) {
    if (!compute_chunk(r, 0, error) || !write_chunk(r, 0, error)) return FALSE;
    if (!report_progress(r, r->slots[0].chunk->deliver.hi, &last, error)) return FALSE;
  }
  return *error == NULL;
}

static gboolean run_threads(run *r, GError **error) {
  GThread *reader = g_thread_try_new("fc-reader", read_all, r, error);
  if (!reader) return FALSE;
  GThread *writer = g_thread_try_new("fc-writer", write_all, r, error);
  if (writer)
    compute_all(r);
  else
    fail_run(r, g_error_copy(*error)), g_clear_error(error);
  g_thread_join(reader);
  if (writer) g_thread_join(writer);
  if (r->error) g_propagate_error(error, g_steal_pointer(&r->error));
  return *error == NULL;
}

static void take_measurement(const fc_measurement *value, void *data) {
  GArray *all = data;
  fc_measured m = {0,
                   NULL,
                   g_strdup(value->name),
                   g_strdup(value->unit ? value->unit : ""),
                   g_strdup(value->exact),
                   value->channel,
                   value->value};
  g_array_append_val(all, m);
}

static gboolean report(run *r, GError **error) {
  GArray *all = g_array_new(FALSE, FALSE, sizeof(fc_measured));
  gboolean ok = TRUE;
  for (guint i = 0; ok && i < r->plan->n; i++) {
    fc_plan_stage *ps = &r->plan->stages[i];
    if (!ps->op || !ps->op->report) continue;
    guint from = all->len;
    ps->stage->host.measured = take_measurement, ps->stage->host.measured_data = all;
    fc_status status = ps->op->report(&ps->stage->host.base, ps->stage->self);
    ps->stage->host.measured = NULL;
    ok = fc_stage_host_check(&ps->stage->host, ps->name, "reporting", status, error);
    for (guint m = from; m < all->len; m++) {
      g_array_index(all, fc_measured, m).stage = (guint)(ps->stage - r->plan->chain->stages);
      g_array_index(all, fc_measured, m).operator_name = ps->name;
    }
  }
  r->result->n_measured = all->len;
  r->result->measured = (fc_measured *)g_array_free(all, FALSE);
  return ok;
}

static void reset(const fc_plan *plan) {
  for (guint i = 0; i < plan->n; i++)
    if (plan->stages[i].op && plan->stages[i].op->reset)
      plan->stages[i].op->reset(plan->stages[i].stage->self);
}

static gboolean finish(run *r, GError **error) {
  if (!r->runner->finish(r->runner, error) || !fc_work_check_notes(&r->work, name_of(r), error)) return FALSE;
  /* A source that still has data where a known extent ends is the source's affair. */
  fc_work_warn_clipped(&r->work, name_of(r));
  r->result->in = r->plan->links[0], r->result->out = r->plan->links[r->plan->n];
  r->result->chunks = r->work.chunks;
  r->result->bytes_up += r->work.bytes_up, r->result->bytes_down += r->work.bytes_down;
  return report(r, error);
}

static gboolean begin_sink(run *r, GError **error) {
  if (!r->sink) return TRUE;
  fc_format format = r->plan->links[r->plan->n];
  /* Until the end is known, any extent that the chain tells is an upper bound. */
  if (r->plan->links[0].extent[r->plan->cut] < 0) format.extent[r->plan->cut] = FC_UNKNOWN;
  r->sink->adrift = !fc_plan_lead(r->plan, &r->sink->lead);
  return r->sink->begin(r->sink, &format, error);
}

/* `began`: something may have been read. */
static gboolean attempt(run *r, guint halvings, gboolean *began, GError **error) {
  pthread_mutex_init(&r->mutex, NULL);
  fc_cond_init(&r->changed);
  GError *why = NULL;
  gboolean ok = *began = init_run(r, halvings, &why);
  if (ok) {
    g_free(r->result->device);
    r->result->device = g_strdup(r->runner->description);
    reset(r->plan);
    r->source->by_rows = r->plan->cut == FC_AXIS_Y;
    if (r->sink) r->sink->by_rows = r->source->by_rows;
    ok = begin_sink(r, &why);
    if (ok) ok = r->slots[1].chunk ? run_threads(r, &why) : run_single(r, &why);
    if (ok) ok = finish(r, &why);
  }
  clear_run(r);
  if (why) g_propagate_error(error, why);
  return ok;
}

/* How often a chunk may be halved. What is left of a device's after that would keep it waiting
 * for launches, when the CPU has memory of its own. */
#define HALVINGS        40
#define HALVINGS_DEVICE 8

static gboolean may_halve(const fc_plan *plan, guint halvings, const GError *why) {
  guint most = plan->device == FC_HOST ? HALVINGS : HALVINGS_DEVICE;
  return g_error_matches(why, FC_ERROR, FC_NO_MEMORY) && !plan->whole && plan->chunk > 1 && halvings < most;
}

/* By the limit that the user knows of, or by what there was of a device's memory. */
static void tell_if_shortened(const fc_plan *plan, const char *name, gboolean halved,
                              const fc_result *result) {
  gboolean by_device = halved && plan->device != FC_HOST;
  if (plan->chunk < plan->freely)
    fc_context_log(plan->chain->context, by_device ? FC_LOG_WARNING : FC_LOG_INFO,
                   "%s: memory was short on %s: worked on %" G_GINT64_FORMAT
                   " %s at a time instead of %" G_GINT64_FORMAT "%s",
                   name, result->device, plan->chunk, fc_plan_unit(plan, plan->chunk), plan->freely,
                   by_device ? "" : " (--max-memory sets the limit)");
}

gboolean fc_execute(fc_plan *plan, fc_source *source, fc_sink *sink, const fc_options *options,
                    fc_trace *trace, fc_result *result, GError **error) {
  fc_context *context = plan->chain->context;
  for (guint halvings = 0;;) {
    run r = {
        .plan = plan, .source = source, .sink = sink, .options = options, .trace = trace, .result = result};
    gboolean began;
    GError *why = NULL;
    gboolean ok = attempt(&r, halvings, &began, &why);
    if (ok) tell_if_shortened(plan, source->name, halvings > 0, result);
    if (ok) return TRUE;
    if (!began && may_halve(plan, halvings, why)) {
      fc_context_log(context, FC_LOG_INFO, "%s: trying again with smaller chunks", why->message);
      /* Smaller than what the plan came to by itself. */
      do halvings++;
      while (plan->freely >> halvings >= plan->chunk);
    } else if (!began && fc_plan_may_leave_device(plan, why)) {
      fc_context_log(context, FC_LOG_WARNING, "%s: the GPU failed (%s): going on with the CPU", source->name,
                     why->message);
      fc_plan_leave_device(plan, why);
      halvings = 0;
    } else {
      g_propagate_error(error, why);
      return FALSE;
    }
    g_error_free(why);
  }
}
