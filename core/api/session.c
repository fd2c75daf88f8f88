/* SPDX-License-Identifier: MIT */
/*
 * session.c - a chain on a signal that comes and goes in pieces: the executor is run step by step between an
 * input queue and an output queue. See filterchain.h.
 */
#include "core/base/error.h"
#include "core/api/passes.h"
#include "core/api/ends.h"
#include "core/run/memory.h"
#include "core/run/result.h"
#include "core/run/states.h"

#include <stdlib.h>
#include <string.h>

/* A queue in host memory, counted in elements along time. */
typedef struct queue {
  fc_format format;
  fc_axis axis;
  gint64 frame; /* bytes of one element along time */
  char *data;
  gint64 begin, end, room; /* in elements: the queued ones are [begin, end) of data */
  gint64 moved;            /* elements that have passed through */
} queue;

struct fc_session {
  fc_chain *chain;
  fc_options options;
  char *device, *random_name;
  fc_opened *opened;
  fc_plan *plan;
  fc_run *run;
  fc_result *result;
  queue in, out;
  fc_source source;
  fc_sink sink;
  fc_ends ends;
  gint64 pushed, latency;
  gboolean drained, failed, reported;
};

/* ---- queues --------------------------------------------------------------------- */

static void init_queue(queue *q, const fc_format *format) {
  q->format = *format;
  q->format.layout = FC_INTERLEAVED;
  q->axis = fc_stream_axis(format->kind);
  q->frame = fc_element_bytes(format, q->axis);
}

static gboolean make_room(queue *q, gint64 count, GError **error) {
  if (q->end + count <= q->room) return TRUE;
  if (q->begin > 0) {
    memmove(q->data, q->data + q->begin * q->frame, (gsize)((q->end - q->begin) * q->frame));
    q->end -= q->begin, q->begin = 0;
  }
  if (q->end + count <= q->room) return TRUE;
  gint64 room = MAX(q->end + count, 2 * q->room);
  void *data = room < G_MAXINT64 / MAX(q->frame, 1) ? realloc(q->data, (gsize)(room * q->frame) + 64) : NULL;
  if (!data) return fc_fail(error, FC_NO_MEMORY, "not enough memory for what waits in a session");
  q->data = data, q->room = room;
  return TRUE;
}

static gint64 take(queue *q, const fc_view *into) {
  fc_view to = *into;
  gint64 count = MIN(into->shape[q->axis], q->end - q->begin);
  to.shape[q->axis] = count;
  fc_view from = fc_dense_view(&q->format, q->data, q->axis, q->begin, count);
  if (fc_view_count(&to) > 0) fc_view_copy(&to, &from);
  q->begin += count, q->moved += count;
  if (q->begin == q->end) q->begin = q->end = 0;
  return count;
}

static gboolean put(queue *q, const fc_view *from, GError **error) {
  const gint64 count = from->shape[q->axis];
  if (!make_room(q, count, error)) return FALSE;
  fc_view to = fc_dense_view(&q->format, q->data, q->axis, q->end, count);
  if (fc_view_count(&to) > 0) fc_view_copy(&to, from);
  q->end += count;
  return TRUE;
}

/* ---- ends ------------------------------------------------------------------------- */

static fc_session *of_source(fc_source *source) {
  return (fc_session *)((char *)source - G_STRUCT_OFFSET(fc_session, source));
}

static fc_session *of_sink(fc_sink *sink) {
  return (fc_session *)((char *)sink - G_STRUCT_OFFSET(fc_session, sink));
}

static gint64 read_queue(fc_source *source, const fc_view *into, GError **error) {
  return take(&of_source(source)->in, into);
}

static gboolean write_queue(fc_sink *sink, const fc_view *from, GError **error) {
  return put(&of_sink(sink)->out, from, error);
}

/* ---- a session ---------------------------------------------------------------------- */

static gboolean start(fc_session *s, const fc_format *in, int dtype, GError **error) {
  fc_format format = {0};
  memcpy(&format, in, MIN(in->size, sizeof format));
  format.size = sizeof format, format.layout = FC_INTERLEAVED;
  format.extent[fc_stream_axis(format.kind)] = FC_UNKNOWN;
  if (!fc_passes_check(s->chain, 0, FALSE, "a session", error)) return FALSE;
  s->opened = fc_opened_formats(s->chain, &format, dtype, &s->options, error);
  s->plan = s->opened ? fc_opened_plan(s->opened, TRUE, error) : NULL;
  if (!s->plan) return FALSE;
  for (guint i = 0; i < s->plan->n && s->plan->whole; i++)
    if (fc_plan_is_whole(s->plan, i))
      return fc_fail(error, FC_UNSUPPORTED,
                     "%s: it needs the whole signal at once, which a session does not have",
                     s->plan->stages[i].name);
  if (s->plan->n && s->plan->stages[0].generator)
    return fc_fail(error, FC_UNSUPPORTED, "%s: it takes no signal, so there is nothing to push",
                   s->plan->stages[0].name);
  /* One chunk at a time, in the caller's thread. */
  fc_plan *one = fc_plan_with_chunk(s->plan, s->plan->chunk, 1, 0);
  fc_plan_unref(s->plan);
  s->plan = fc_plan_fit(one, error);
  fc_plan_unref(one);
  if (!s->plan) return FALSE;
  init_queue(&s->in, &s->plan->links[0]);
  init_queue(&s->out, &s->plan->links[s->plan->n]);
  s->latency = fc_plan_ahead(s->plan);
  s->source = (fc_source){.format = s->plan->links[0], .name = (char *)"the session", .read = read_queue};
  s->sink = (fc_sink){.name = (char *)"the session", .write = write_queue};
  if (!fc_opened_ends(s->opened, s->plan, &s->ends, error)) return FALSE;
  s->ends.source = &s->source, s->ends.sink = &s->sink, s->ends.name = s->sink.name;
  s->run = fc_run_new(s->plan, NULL, error);
  return s->run && fc_run_begin(s->run, &s->ends, &s->options, error);
}

fc_session *fc_session_new(fc_chain *chain, const fc_format *in, int out_dtype, const fc_options *options,
                           GError **error) {
  fc_session *s = g_new0(fc_session, 1);
  s->chain = chain;
  s->options = fc_full_options(options);
  s->device = g_strdup(s->options.device);
  s->random_name = g_strdup(s->options.random_name);
  s->options.random_name = s->random_name;
  s->options.device = s->device, s->options.trace = NULL, s->options.progress = NULL;
  if (start(s, in, out_dtype, error)) return s;
  fc_session_free(s);
  return NULL;
}

const fc_format *fc_session_format(const fc_session *s) {
  return &s->plan->links[s->plan->n];
}

gint64 fc_session_latency(const fc_session *s) {
  return s->latency;
}

static gboolean may_go_on(const fc_session *s, GError **error) {
  if (s->failed) return fc_fail(error, FC_INVALID, "the session has failed before");
  return TRUE;
}

/* Checks a caller's view and copies it to one of the library's size; its elements must match the queue's.
 * Origin and extent are not looked at, since pieces follow each other. */
static gboolean check_piece(const queue *q, const fc_view *view, const char *which, fc_view *full,
                            GError **error) {
  const fc_format *f = &q->format;
  memset(full, 0, sizeof *full);
  memcpy(full, view, MIN(view->size, sizeof *full));
  memset(full->origin, 0, sizeof full->origin);
  memset(full->extent, 0, sizeof full->extent);
  if (!fc_check_view(full, full, which, FALSE, error)) return FALSE;
  for (int a = 0; a < FC_AXES; a++)
    if (a != (int)q->axis && full->shape[a] != f->extent[a])
      return fc_fail(error, FC_INVALID,
                     "the %s view has %" G_GINT64_FORMAT " on axis %c, and the session %" G_GINT64_FORMAT,
                     which, full->shape[a], "NYXC"[a], f -> extent[a]);
  if (full->dtype == f->dtype && full->kind == f->kind) return TRUE;
  return fc_fail(error, FC_INVALID, "the %s view is of another kind or element type than the session", which);
}

gboolean fc_session_push(fc_session *s, const fc_view *samples, GError **error) {
  fc_view full;
  if (!may_go_on(s, error)) return FALSE;
  if (s->drained)
    return fc_fail(error, FC_INVALID, "the session was drained: nothing can be pushed any more");
  if (!check_piece(&s->in, samples, "pushed", &full, error) || !put(&s->in, &full, error)) return FALSE;
  s->pushed += full.shape[s->in.axis];
  s->failed = !fc_run_step(s->run, s->pushed, FALSE, error);
  return !s->failed;
}

gint64 fc_session_pull(fc_session *s, const fc_view *into, GError **error) {
  fc_view full;
  if (!may_go_on(s, error) || !check_piece(&s->out, into, "pulled", &full, error)) return -1;
  return take(&s->out, &full);
}

gboolean fc_session_drain(fc_session *s, GError **error) {
  if (!may_go_on(s, error) || s->drained) return !s->failed;
  s->drained = TRUE;
  s->failed = !fc_run_step(s->run, s->pushed, TRUE, error);
  return !s->failed;
}

const fc_result *fc_session_result(fc_session *s, GError **error) {
  if (!may_go_on(s, error)) return NULL;
  if (!s->drained) {
    fc_fail(error, FC_INVALID, "measurements of a session are complete after it was drained");
    return NULL;
  }
  if (!s->reported) {
    fc_result_free(s->result);
    s->result = fc_result_new();
    s->reported = fc_run_report(s->run, s->result, error);
  }
  return s->reported ? s->result : NULL;
}

void fc_session_free(fc_session *s) {
  if (!s) return;
  fc_run_free(s->run);
  fc_plan_unref(s->plan);
  fc_opened_free(s->opened);
  fc_result_free(s->result);
  free(s->in.data);
  free(s->out.data);
  g_free(s->device);
  g_free(s->random_name);
  g_free(s);
}
