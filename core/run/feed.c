/* SPDX-License-Identifier: MIT */
/* feed.c - see feed.h. */
#include "core/run/feed.h"

#include "core/base/error.h"
#include "core/run/memory.h"

#include <stdlib.h>
#include <string.h>

static const fc_format *format_of(const fc_feed *feed, const fc_plan *plan) {
  return feed->side < 0 ? &plan->links[0] : &plan->sides[feed->side].format;
}

static fc_chunk_link *link_of(const fc_feed *feed, fc_slot *slot) {
  return feed->side < 0 ? &slot->chunk->links[0] : &slot->chunk->sides[feed->side];
}

/* The destination of the samples: host memory. */
static fc_buffer *buffer_of(const fc_feed *feed, fc_slot *slot) {
  const gboolean device = slot->states->plan->n_devices != 0;
  if (feed->side < 0) return device ? &slot->host_in : &slot->in;
  return device ? &slot->host_sides[feed->side] : &slot->sides[feed->side];
}

/* How many elements before the next one a chunk may still read. */
static gint64 looks_back(const fc_feed *feed, const fc_plan *plan) {
  if (feed->side >= 0) return fc_plan_side_span(plan, (guint)feed->side);
  if (plan->turned) return 0; /* what is looked at again is read again */
  /* A plan that needs all of it at once has one chunk, or some that each do. */
  if (plan->whole) return plan->measures || plan->carries ? plan->links[0].extent[plan->cut] : 0;
  return fc_plan_span(plan, 0);
}

gboolean fc_feed_init(fc_feed *feed, fc_source *source, int side, const fc_plan *plan, fc_trace *trace,
                      GError **error) {
  *feed = (fc_feed){.source = source, .side = side, .trace = trace, .axis = fc_source_axis(source)};
  const fc_format *format = format_of(feed, plan);
  gint64 capacity[FC_AXES];
  for (int a = 0; a < FC_AXES; a++) capacity[a] = MAX(format->extent[a], 1);
  if (feed->axis == FC_AXIS_Y) capacity[FC_AXIS_N] = 1;
  gint64 extent = format->extent[feed->axis], back = looks_back(feed, plan);
  capacity[feed->axis] = extent >= 0 ? MIN(back, extent) : back;
  if (capacity[feed->axis] == 0) return TRUE;
  if (!fc_buffer_pack(&feed->tail, format, capacity) || !(feed->memory = malloc(feed->tail.bytes)))
    return fc_fail(error, FC_NO_MEMORY, "%s: not enough memory for what is looked at twice (%.1f MB)",
                   source->name, (double)feed->tail.bytes / 1e6);
  feed->tail.memory = feed->memory, feed->tail.device = FC_HOST;
  return TRUE;
}

void fc_feed_clear(fc_feed *feed) {
  free(feed->memory);
  memset(feed, 0, sizeof *feed);
}

static fc_view part_of(const fc_feed *feed, fc_slot *slot, fc_range range) {
  fc_range what[FC_AXES];
  memcpy(what, link_of(feed, slot)->made, sizeof what);
  what[feed->axis] = range;
  return fc_buffer_view(buffer_of(feed, slot), what, format_of(feed, slot->states->plan));
}

/* ---- reading ------------------------------------------------------------------- */

/* Reads elements that no chunk needs into the front of the slot's buffer. */
static gboolean skip_to(fc_feed *feed, fc_slot *slot, gint64 position, GError **error) {
  fc_range made = link_of(feed, slot)->made[feed->axis];
  const fc_format *f = &feed->source->format;
  const gint64 room = MAX(fc_range_length(made), 1);
  if (position - feed->read_to > 2 * room && f->kind == FC_AUDIO && f->layout == FC_INTERLEAVED) {
    gint64 got = fc_source_skip(feed->source, position - feed->read_to, error);
    feed->read_to += MAX(got, 0);
    return got >= 0;
  }
  while (feed->read_to < position) {
    fc_view into = part_of(feed, slot, (fc_range){made.lo, made.lo + MIN(position - feed->read_to, room)});
    gint64 got = feed->source->read(feed->source, &into, error);
    if (got < 0) return FALSE;
    if (got == 0) break;
    feed->read_to += got;
  }
  return TRUE;
}

/* The first of what is kept of the past. */
static gint64 kept_from(const fc_feed *feed) {
  return feed->memory ? feed->tail.held[feed->axis].lo : feed->read_to;
}

/*
 * The source only moves forward, but near an end the first element needed does not: a border mirrors elements
 * further inside than where the next chunk begins. So the chunk's past, part of which is kept for later
 * chunks, begins no earlier than what is available.
 */
static gboolean restore_tail(fc_feed *feed, fc_slot *slot, GError **error) {
  fc_range *made = &link_of(feed, slot)->made[feed->axis];
  if (fc_range_empty(*made) || made->lo >= feed->read_to) return TRUE;
  if (kept_from(feed) > link_of(feed, slot)->needed && kept_from(feed) > made->lo)
    return fc_fail(error, FC_FATAL, "%s: the demand of a chunk ran backwards", feed->source->name);
  made->lo = MAX(made->lo, kept_from(feed));
  fc_range both = {made->lo, MIN(made->hi, feed->read_to)};
  if (fc_range_empty(both)) return TRUE;
  fc_range what[FC_AXES];
  memcpy(what, feed->tail.held, sizeof what);
  what[feed->axis] = both;
  fc_view to = part_of(feed, slot, both),
          from = fc_buffer_view(&feed->tail, what, format_of(feed, slot->states->plan));
  memcpy(from.shape, to.shape, sizeof from.shape);
  fc_view_copy(&to, &from);
  return TRUE;
}

/* Keeps the end of what has been read: from the slot, after what was kept before. */
static void keep_tail(fc_feed *feed, fc_slot *slot) {
  const fc_range made = link_of(feed, slot)->made[feed->axis];
  if (!feed->memory || feed->read_to > made.hi || fc_range_empty(made)) return;
  const fc_format *format = format_of(feed, slot->states->plan);
  const gint64 most = feed->tail.capacity[feed->axis];
  fc_range what[FC_AXES];
  memcpy(what, link_of(feed, slot)->made, sizeof what);
  what[feed->axis] = (fc_range){MAX(MIN(made.lo, feed->read_to), feed->read_to - most), feed->read_to};
  fc_buffer_hold(&feed->tail, what, what[FC_AXIS_X].lo);
  feed->tail.lead = 0;
  fc_view to = fc_buffer_view(&feed->tail, what, format), from = part_of(feed, slot, what[feed->axis]);
  if (fc_view_count(&to) > 0) fc_view_copy(&to, &from);
}

/* Goes to the beginning of the chunk's frame; the rest of the previous frame is not needed. */
static gboolean next_frame(fc_feed *feed, fc_slot *slot, GError **error) {
  if (feed->axis != FC_AXIS_Y || slot->chunk->frame == feed->frame) return TRUE;
  if (!skip_to(feed, slot, format_of(feed, slot->states->plan)->extent[FC_AXIS_Y], error)) return FALSE;
  feed->read_to = 0, feed->frame = slot->chunk->frame;
  for (int a = 0; a < FC_AXES; a++) feed->tail.held[a] = (fc_range){0, 0};
  return TRUE;
}

static gboolean read_rest(fc_feed *feed, fc_slot *slot, GError **error) {
  const fc_range made = link_of(feed, slot)->made[feed->axis];
  const gint64 start = fc_trace_now(feed->trace), from = feed->read_to;
  while (feed->read_to < made.hi) {
    fc_view into = part_of(feed, slot, (fc_range){feed->read_to, made.hi});
    gint64 got = feed->source->read(feed->source, &into, error);
    if (got < 0) return FALSE;
    if (got == 0) {
      feed->ended = TRUE;
      break;
    }
    feed->read_to += got;
  }
  fc_view all = part_of(feed, slot, (fc_range){MIN(from, feed->read_to), feed->read_to});
  fc_trace_add(feed->trace, FC_TRACK_READER, "read", start, slot->number, fc_view_bytes(&all));
  if (!feed->ended || feed->source->format.extent[feed->axis] < 0) return TRUE;
  return fc_fail(error, FC_IO, "%s: ends after %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT, feed->source->name,
                 feed->read_to, feed->source->format.extent[feed->axis]);
}

/* A further input in memory, with random access. */
static gboolean fill_random(fc_feed *feed, fc_slot *slot, GError **error) {
  const fc_chunk_link *link = link_of(feed, slot);
  const fc_plan_side *side = &slot->states->plan->sides[feed->side];
  fc_view to = fc_buffer_view(buffer_of(feed, slot), link->made, &side->format);
  return fc_view_count(&to) == 0 ||
         fc_memory_source_copy(feed->source, &to, side->border, &side->border_code, error);
}

gboolean fc_feed_fill(fc_feed *feed, fc_slot *slot, GError **error) {
  const fc_plan *plan = slot->states->plan;
  fc_chunk_link *link = link_of(feed, slot);
  const gboolean twin = feed->side < 0 && plan->n_devices;
  fc_buffer_hold(buffer_of(feed, slot), twin ? link->made : link->held, link->view[FC_AXIS_X].lo);
  if (feed->side >= 0 && plan->sides[feed->side].random) return fill_random(feed, slot, error);
  if (fc_range_empty(link->made[feed->axis])) return TRUE;
  if (feed->side < 0 && plan->turned) {
    feed->read_to = link->made[feed->axis].lo;
    return feed->source->seek(feed->source, feed->read_to, error) && read_rest(feed, slot, error);
  }
  if (!next_frame(feed, slot, error) || !restore_tail(feed, slot, error) ||
      !skip_to(feed, slot, link->made[feed->axis].lo, error))
    return FALSE;
  const gint64 was = feed->read_to;
  if (!read_rest(feed, slot, error)) return FALSE;
  if (feed->read_to > was) keep_tail(feed, slot);
  return TRUE;
}

gboolean fc_feed_recut(fc_feed *feed, fc_slot *slot, const fc_chunk_link *was, GError **error) {
  fc_chunk_link *link = link_of(feed, slot);
  const fc_range made = was->made[feed->axis];
  fc_range *now = &link->made[feed->axis];
  if (!fc_range_empty(*now) && (link->needed < made.lo || now->hi > feed->read_to))
    return fc_fail(error, FC_FATAL, "%s: the demand of the last chunk ran backwards", feed->source->name);
  now->lo = MIN(made.lo, feed->read_to);
  now->hi = MAX(MIN(made.hi, feed->read_to), now->lo);
  memcpy(link->held, was->held, sizeof link->held);
  return TRUE;
}

/* ---- casts ----------------------------------------------------------------------- */

typedef struct cast_source {
  fc_source base;
  fc_source *inner;
  void *memory; /* for elements of the inner source's type */
  gsize bytes;
} cast_source;

static gint64 read_cast(fc_source *source, const fc_view *into, GError **error) {
  cast_source *me = (cast_source *)source;
  me->inner->by_rows = source->by_rows;
  const gsize size = fc_dtype_size(me->inner->format.dtype);
  const gsize bytes = (gsize)MAX(fc_view_count(into), 1) * size;
  if (bytes > me->bytes) {
    void *memory = realloc(me->memory, bytes);
    if (!memory) {
      fc_fail(error, FC_NO_MEMORY, "%s: not enough memory to read it (%.1f MB)", source->name,
              (double)bytes / 1e6);
      return -1;
    }
    me->memory = memory, me->bytes = bytes;
  }
  fc_view from = *into;
  from.dtype = me->inner->format.dtype, from.data = me->memory;
  from.stride[FC_AXIS_C] = (gint64)size;
  from.stride[FC_AXIS_X] = from.stride[FC_AXIS_C] * into->shape[FC_AXIS_C];
  from.stride[FC_AXIS_Y] = from.stride[FC_AXIS_X] * into->shape[FC_AXIS_X];
  from.stride[FC_AXIS_N] = from.stride[FC_AXIS_Y] * into->shape[FC_AXIS_Y];
  gint64 got = me->inner->read(me->inner, &from, error);
  if (got <= 0) return got;
  fc_view to = *into;
  const fc_axis axis = fc_source_axis(source);
  to.shape[axis] = from.shape[axis] = got;
  fc_view_convert(&to, &from, NULL);
  return got;
}

static gboolean seek_cast(fc_source *source, gint64 position, GError **error) {
  cast_source *me = (cast_source *)source;
  return me->inner->seek(me->inner, position, error);
}

static void free_cast(fc_source *source) {
  cast_source *me = (cast_source *)source;
  me->inner->free(me->inner);
  free(me->memory);
  g_free(source->name);
  g_free(me);
}

fc_source *fc_source_cast(fc_source *source, int dtype, gboolean gaps) {
  if (source->format.dtype == dtype && !gaps) return source;
  cast_source *me = g_new0(cast_source, 1);
  me->inner = source;
  me->base.format = source->format;
  me->base.format.dtype = dtype;
  me->base.format.layout = FC_INTERLEAVED;
  me->base.name = g_strdup(source->name);
  me->base.can_rows = source->can_rows, me->base.by_rows = source->by_rows;
  me->base.read = read_cast, me->base.seek = source->seek ? seek_cast : NULL;
  me->base.free = free_cast;
  return &me->base;
}
