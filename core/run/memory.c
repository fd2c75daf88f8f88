/* SPDX-License-Identifier: MIT */
/*
 * memory.c - see memory.h.
 */
#include "core/run/memory.h"

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/base/pool.h"

#include <stdlib.h>
#include <string.h>

/* ---- copies ----------------------------------------------------------- */

/* One thread copies about 10 GB/s, a fifth of what a device can transfer in both directions: several
 * threads copy if each gets at least this many bytes. */
#define COPY_THREADS 4
#define COPY_BYTES   ((gint64)1 << 20)

/* The context's threads, taken by the first copy that is worth it. */
typedef struct helpers {
  fc_context *context;
  fc_pool *crew;
} helpers;

typedef struct sharing {
  fc_view to, from;
  int axis;
  gint64 each;
} sharing;

static fc_view share_of(const sharing *s, const fc_view *all, guint index) {
  fc_view v = *all;
  gint64 first = index * s->each;
  v.data = (char *)v.data + first * v.stride[s->axis];
  v.shape[s->axis] = MIN(s->each, v.shape[s->axis] - first);
  return v;
}

static void copy_share(guint index, guint worker, void *data) {
  const sharing *s = data;
  fc_view to = share_of(s, &s->to, index), from = share_of(s, &s->from, index);
  fc_view_copy(&to, &from);
}

/* Divides the longest of the axes whose neighbours are not contiguous, or X, among the threads. */
static void copy_shared(helpers *h, const fc_view *to, const fc_view *from) {
  sharing s = {*to, *from, FC_AXIS_X, 0};
  const int threads = MIN(COPY_THREADS, fc_processors());
  for (int a = FC_AXIS_N; a <= FC_AXIS_Y; a++)
    if (to->shape[a] > 1 && (s.axis == FC_AXIS_X || to->shape[a] > to->shape[s.axis])) s.axis = a;
  const gint64 shares = CLAMP(fc_view_bytes(to) / COPY_BYTES, 1, threads);
  s.each = MAX(fc_scale_ceil(to->shape[s.axis], 1, shares), 1);
  if (shares == 1) {
    fc_view_copy(to, from);
    return;
  }
  if (!h->crew) h->crew = fc_context_take_crew(h->context, threads);
  fc_pool_run(h->crew, (guint)fc_scale_ceil(to->shape[s.axis], 1, s.each), copy_share, &s);
}

/* ---- source ----------------------------------------------------------- */

typedef struct memory_source {
  fc_source base;
  fc_view view;
  gint64 position;
  helpers helpers;
  void *owned;
  gsize counted; /* bytes of it, in the context's pool */
} memory_source;

/* The rest of a view from a position on; by rows, positions count the rows of all frames, and the rest
 * ends with the current frame. */
static fc_view rest_of(const fc_view *all, fc_axis axis, gint64 position) {
  fc_view v = *all;
  if (axis == FC_AXIS_Y) {
    gint64 rows = MAX(v.shape[FC_AXIS_Y], 1), frame = MIN(position / rows, v.shape[FC_AXIS_N]);
    v.data = (char *)v.data + frame * v.stride[FC_AXIS_N];
    v.shape[FC_AXIS_N] = MIN(v.shape[FC_AXIS_N] - frame, 1);
    position -= frame * rows;
  }
  v.data = (char *)v.data + position * v.stride[axis];
  v.shape[axis] = v.shape[FC_AXIS_N] > 0 ? v.shape[axis] - position : 0;
  return v;
}

static gint64 read_memory(fc_source *source, const fc_view *into, GError **error) {
  memory_source *me = (memory_source *)source;
  fc_axis axis = fc_source_axis(source);
  fc_view to = *into, from = rest_of(&me->view, axis, me->position);
  gint64 count = MIN(into->shape[axis], from.shape[axis]);
  to.shape[axis] = from.shape[axis] = count;
  copy_shared(&me->helpers, &to, &from);
  me->position += count;
  return count;
}

static gboolean seek_memory(fc_source *source, gint64 position, GError **error) {
  ((memory_source *)source)->position = position;
  return TRUE;
}

static void free_memory_source(fc_source *source) {
  memory_source *me = (memory_source *)source;
  fc_context_give_crew(me->helpers.context, me->helpers.crew);
  free(me->owned);
  fc_frame_pool_give(me->helpers.context->frames, me->counted);
  g_free(source->name);
  g_free(me);
}

fc_source *fc_memory_source_new(fc_context *context, const fc_view *view) {
  memory_source *me = g_new0(memory_source, 1);
  me->view = *view;
  me->helpers.context = context;
  fc_format_of_view(view, &me->base.format);
  me->base.name = g_strdup("memory");
  me->base.can_rows = view->kind != FC_AUDIO;
  me->base.read = read_memory, me->base.seek = seek_memory;
  me->base.free = free_memory_source;
  return &me->base;
}

/* ---- loading ---------------------------------------------------------- */

#define LOAD_FIRST (1 << 16)

gint64 fc_element_bytes(const fc_format *f, fc_axis axis) {
  gint64 bytes = (gint64)fc_dtype_size(f->dtype);
  for (int a = 0; a < FC_AXES; a++)
    if (a != (int)axis) bytes *= MAX(f->extent[a], 1);
  return bytes;
}

fc_view fc_dense_view(const fc_format *f, void *data, fc_axis axis, gint64 from, gint64 count) {
  fc_buffer b = {.device = FC_HOST, .memory = data};
  gint64 capacity[FC_AXES];
  fc_range what[FC_AXES];
  for (int a = 0; a < FC_AXES; a++) {
    capacity[a] = a == (int)axis ? from + count : f->extent[a];
    what[a] = (fc_range){a == (int)axis ? from : 0, capacity[a]};
    b.held[a] = (fc_range){0, capacity[a]};
  }
  fc_format interleaved = *f;
  interleaved.layout = FC_INTERLEAVED;
  fc_buffer_pack(&b, &interleaved, capacity);
  return fc_buffer_view(&b, what, f);
}

/* Samples being loaded. */
typedef struct loading {
  fc_frame_pool *pool;
  void *data;
  gsize frame; /* bytes of one frame */
  gint64 have, room;
} loading;

/* Makes room for this many frames; FALSE, with nothing changed, when there is no memory. */
static gboolean make_room(loading *l, gint64 room) {
  gsize more = l->frame * (gsize)(room - l->room);
  if (room > G_MAXINT64 / (gint64)l->frame || !fc_frame_pool_take(l->pool, more)) return FALSE;
  void *data = realloc(l->data, l->frame * (gsize)room);
  if (!data) {
    fc_frame_pool_give(l->pool, more);
    return FALSE;
  }
  l->data = data, l->room = room;
  return TRUE;
}

static gboolean load_all(fc_source *source, fc_axis axis, loading *l, GError **error) {
  const gint64 known = source->format.extent[axis];
  for (gint64 got = 1; got > 0; l->have += got) {
    if (l->have == known) return TRUE;
    gint64 room = known >= 0 ? known : l->room ? 2 * l->room : LOAD_FIRST;
    if (l->have == l->room && !make_room(l, room))
      return fc_fail(error, FC_NO_MEMORY,
                     "%s: a stage needs the whole signal at once, and it does not fit in memory",
                     source->name);
    fc_view into = fc_dense_view(&source->format, l->data, axis, l->have, l->room - l->have);
    got = source->read(source, &into, error);
    if (got < 0) return FALSE;
  }
  return TRUE;
}

fc_source *fc_source_load(fc_context *context, fc_source *source, GError **error) {
  const fc_format *f = &source->format;
  const fc_axis axis = fc_stream_axis(f->kind);
  loading l = {.pool = context->frames, .frame = (gsize)fc_element_bytes(f, axis)};
  if (!load_all(source, axis, &l, error)) {
    fc_frame_pool_give(l.pool, l.frame * (gsize)l.room);
    free(l.data);
    source->free(source);
    return NULL;
  }
  fc_view all = fc_dense_view(f, l.data, axis, 0, l.have);
  memory_source *me = (memory_source *)fc_memory_source_new(context, &all);
  me->owned = l.data, me->counted = l.frame * (gsize)l.room;
  me->base.format = *f;
  me->base.format.layout = FC_INTERLEAVED;
  me->base.format.extent[axis] = l.have;
  g_free(me->base.name);
  me->base.name = g_strdup(source->name);
  source->free(source);
  return &me->base;
}

/* Frame by frame (in sound: moment by moment): channels come from where the border maps them, or are all
 * border. */
static void copy_mapped(const fc_view *to, const fc_view *from, int border, const void *code) {
  const gsize size = fc_dtype_size(to->dtype);
  const gint64 *shape = to->shape, *origin = to->origin;
  for (gint64 i = 0; i < shape[0] * shape[1] * shape[2]; i++) {
    const gint64 at[3] = {i / (shape[1] * shape[2]), i / shape[2] % shape[1], i % shape[2]};
    gint64 p[3];
    for (int a = 0; a < 3; a++) p[a] = fc_border_map(border, origin[a] + at[a], from->shape[a]);
    const gboolean inside = p[0] >= 0 && p[1] >= 0 && p[2] >= 0;
    for (gint64 c = 0; c < shape[3]; c++) {
      const gint64 q = fc_border_map(border, origin[3] + c, from->shape[3]);
      memcpy(fc_view_at(to, at[0], at[1], at[2], c),
             inside && q >= 0 ? fc_view_at(from, p[0], p[1], p[2], q) : code, size);
    }
  }
}

gboolean fc_memory_source_copy(fc_source *source, const fc_view *to, int border, const void *code,
                               GError **error) {
  const memory_source *me = (const memory_source *)source;
  if (source->read != read_memory)
    return fc_fail(error, FC_FATAL, "%s: not held in memory, and looked at out of order", source->name);
  fc_view from = me->view;
  gboolean inside = TRUE;
  for (int a = 0; a < FC_AXES; a++)
    inside = inside && to->origin[a] >= 0 && to->origin[a] + to->shape[a] <= from.shape[a];
  if (!inside) {
    copy_mapped(to, &me->view, border, code);
    return TRUE;
  }
  for (int a = 0; a < FC_AXES; a++) {
    from.data = (char *)from.data + to->origin[a] * from.stride[a];
    from.shape[a] = to->shape[a];
  }
  fc_view_copy(to, &from);
  return TRUE;
}

/* Bytes read at a time to be dropped. */
#define SKIP_BYTES (1 << 20)

gint64 fc_source_skip(fc_source *source, gint64 count, GError **error) {
  const fc_format *f = &source->format;
  gint64 frame = fc_element_bytes(f, FC_AXIS_X), done = 0, got = 1;
  gint64 piece = CLAMP(SKIP_BYTES / frame, 1, MAX(count, 1));
  g_autofree void *memory = g_try_malloc((gsize)(piece * frame) + 1);
  if (!memory) {
    fc_fail(error, FC_NO_MEMORY, "%s: no memory to read it", source->name);
    return -1;
  }
  while (done < count && got > 0) {
    fc_view into = fc_dense_view(f, memory, FC_AXIS_X, 0, MIN(piece, count - done));
    got = source->read(source, &into, error);
    done += MAX(got, 0);
  }
  return got < 0 ? -1 : done;
}

/* ---- sink ------------------------------------------------------------- */

typedef struct memory_sink {
  fc_sink base;
  fc_view view;
  gint64 position;
  helpers helpers;
} memory_sink;

static gboolean accept_memory(fc_sink *sink, fc_format *format, GError **error) {
  format->dtype = ((memory_sink *)sink)->view.dtype;
  return TRUE;
}

static gboolean write_memory(fc_sink *sink, const fc_view *from, GError **error) {
  memory_sink *me = (memory_sink *)sink;
  fc_axis axis = fc_sink_axis(sink, me->view.kind);
  fc_view to = rest_of(&me->view, axis, me->position);
  if (from->shape[axis] > to.shape[axis]) return fc_fail(error, FC_INVALID, "the output view is too short");
  to.shape[axis] = from->shape[axis];
  copy_shared(&me->helpers, &to, from);
  me->position += from->shape[axis];
  return TRUE;
}

static void free_memory_sink(fc_sink *sink) {
  const helpers *h = &((memory_sink *)sink)->helpers;
  fc_context_give_crew(h->context, h->crew);
  g_free(sink->name);
  g_free(sink);
}

fc_sink *fc_memory_sink_new(fc_context *context, const fc_view *view) {
  memory_sink *me = g_new0(memory_sink, 1);
  me->view = *view;
  me->helpers.context = context;
  me->base = (fc_sink){.name = g_strdup("memory"),
                       .can_rows = view->kind != FC_AUDIO,
                       .accept = accept_memory,
                       .write = write_memory,
                       .free = free_memory_sink};
  return &me->base;
}
