/* SPDX-License-Identifier: MIT */
/*
 * conv2d_strips.c - divides an image into strips; the ring buffer of converted rows, and the blocks.
 *
 * Cost in addition to the blocks: each element of the input is converted (W + margin) / W times, margin being
 * the window's width less one, and again where strips meet.
 */
#include "filters/filter2d/conv2d_strips.h"
#include "filters/base/samples.h"
#include "filters/base/simd.h"

/* The rows of a strip together: about half of the smallest L2 cache, 512 KiB. */
#define STRIP_BYTES (256 * 1024)
/* In narrower strips the ends of rows would dominate. */
#define STRIP_LEAST 512
/* Larger outputs are written past the cache, into which they would not fit anyway: that avoids reading
 * them first, a third of the traffic. 3 x 3 taps on 4096 x 4096 f32: 12.5 ms, then 9.0. */
#define STREAM_BYTES (16 * 1024 * 1024)

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Rows of larger windows that are a multiple of a page apart would fall into the same sets of the
 * first-level cache: they are copied. */
#define ROWS_MEETING 16
#define PAGE         4096
/* Rows that are prefetched before they are loaded. */
#define ROWS_AHEAD 3

/* Rows of input that a full block reads. */
static int64_t ring_rows(const fc_strips *s) {
  return s->ny + FC_STRIP_ROWS - 1;
}

/* Output elements across a strip. At least the margin, so that at most half of what a strip reads is
 * margin. */
static int64_t strip_width(const fc_strips *s, int64_t step, int64_t columns) {
  int64_t fits = STRIP_BYTES / (int64_t)fc_dtype_size(s->compute) / ring_rows(s) / 64 * 64;
  return least(columns, most(most(fits, STRIP_LEAST), (s->nx - 1) * step));
}

/* Bytes from one buffered row to the next: an odd number of cache lines, so that rows use different cache
 * sets. */
static int64_t row_pitch(const fc_strips *s, int64_t elements) {
  int64_t lines = (elements * (int64_t)fc_dtype_size(s->compute) + 63) / 64;
  return (lines | 1) * 64;
}

/* The scratch memory: pointers to the rows of a block, the ring, the rows of output
 * that must be converted, and what the block needs. */
typedef struct buffers {
  size_t ring, to, work, total; /* offsets */
  int64_t ring_pitch, to_pitch;
} buffers;

static buffers buffers_of(const fc_strips *s, int64_t step, int64_t columns) {
  int64_t width = strip_width(s, step, columns);
  buffers b;
  b.ring_pitch = row_pitch(s, width + (s->nx - 1) * step);
  b.to_pitch = row_pitch(s, width);
  b.ring = ((size_t)(ring_rows(s) + FC_STRIP_ROWS) * sizeof(void *) + 63) / 64 * 64;
  b.to = b.ring + (size_t)(ring_rows(s) * b.ring_pitch);
  b.work = b.to + (size_t)(FC_STRIP_ROWS * b.to_pitch);
  b.total = b.work + (s->work ? s->work(s->op, step) : 0);
  return b;
}

size_t fc_strips_scratch(const fc_strips *s, const fc_view *out) {
  int64_t channels = out->shape[FC_AXIS_C];
  return buffers_of(s, channels, out->shape[FC_AXIS_X] * channels).total;
}

/* One strip of one image (or channel): the address of its element (0, 0), in rows of `columns` elements
 * `stride` bytes apart. */
typedef struct side {
  char *data;
  int64_t row, stride; /* bytes */
  int32_t kind, dtype;
  int dense;  /* rows of the compute type */
  int direct; /* dense and of the compute type, or of bytes that the block accepts: used in place */
  int bytes;
} side;

typedef struct strip {
  side in, out; /* in: from the window's first element on */
  int64_t height, width, step;
  int stream;
  char *scratch;
  buffers b;
} strip;

/* Rows of a block that are read in place, and those of the next block. */
static void point_rows(const strip *t, int64_t y, int64_t count, const void **rows) {
  for (int64_t q = 0; q < count; q++) rows[q] = t->in.data + (y + q) * t->in.row;
}

/* Converts rows [*loaded, y + count) into the ring buffer and sets the pointers to all rows. */
static void ring_advance(const fc_strips *s, const strip *t, int64_t y, int64_t count, int64_t *loaded,
                         const void **rows) {
  int64_t slots = ring_rows(s), elements = t->width + (s->nx - 1) * t->step;
  char *ring = t->scratch + t->b.ring;
  for (; *loaded < y + count; ++*loaded) {
    const char *row = t->in.data + *loaded * t->in.row;
    char *slot = ring + *loaded % slots * t->b.ring_pitch;
    if (t->in.dense)
      fc_copy_asking(slot, row, elements * t->in.stride, ROWS_AHEAD * t->in.row);
    else
      fc_load(slot, s->compute, row, t->in.stride, elements, t->in.kind, t->in.dtype);
  }
  for (int64_t q = 0; q < count; q++) rows[q] = ring + (y + q) % slots * t->b.ring_pitch;
  for (int64_t q = 0; q < FC_STRIP_ROWS; q++) rows[count + q] = rows[count - 1];
}

static void strip_run(const fc_strips *s, const strip *t, uint32_t *notes) {
  const void **rows = (const void **)(void *)t->scratch;
  void *to[FC_STRIP_ROWS];
  int64_t loaded = 0;
  for (int64_t y = 0; y < t->height; y += FC_STRIP_ROWS) {
    int64_t count = least(FC_STRIP_ROWS, t->height - y);
    if (t->in.direct)
      point_rows(t, y, count + s->ny - 1 + FC_STRIP_ROWS, rows);
    else
      ring_advance(s, t, y, count + s->ny - 1, &loaded, rows);
    for (int64_t r = 0; r < count; r++)
      to[r] = t->out.direct ? t->out.data + (y + r) * t->out.row : t->scratch + t->b.to + r * t->b.to_pitch;
    fc_strip_block block = {rows,
                            to,
                            count,
                            t->width,
                            t->step,
                            t->stream && t->out.direct,
                            t->scratch + t->b.work,
                            t->in.bytes,
                            t->out.bytes,
                            t->out.kind,
                            notes};
    s->block(s->op, &block);
    for (int64_t r = 0; !t->out.direct && r < count; r++)
      fc_store(t->out.data + (y + r) * t->out.row, t->out.stride, to[r], s->compute, t->width, t->out.kind,
               t->out.dtype, notes);
  }
}

static side side_of(const fc_strips *s, const fc_view *v, int joined, int bytes) {
  side d = {(char *)v->data, v->stride[FC_AXIS_Y], v->stride[FC_AXIS_X], v->kind, v->dtype, 0, 0, 0};
  fc_scaling map = fc_scaling_of(v->kind, v->dtype);
  if (joined) d.stride = (int64_t)fc_dtype_size(v->dtype);
  d.dense = v->dtype == s->compute && d.stride == (int64_t)fc_dtype_size(v->dtype);
  d.direct = d.dense;
  if (s->ny > ROWS_MEETING && d.row % PAGE == 0) d.direct = 0;
  d.bytes = bytes && v->dtype == FC_U8 && d.stride == 1 && map.scale == 1 && map.bias == 0;
  d.direct |= d.bytes;
  return d;
}

/* Whether the signal, of which `out` may be a small part, is too large for the cache. */
static int is_large(const fc_view *out) {
  int64_t bytes = (int64_t)fc_dtype_size(out->dtype) * out->shape[FC_AXIS_N];
  for (int a = FC_AXIS_Y; a <= FC_AXIS_C; a++) bytes *= most(out->shape[a], out->extent[a]);
  return bytes > STREAM_BYTES;
}

/* All strips of one image, or of one channel of it, from the given corners on. */
static void image_run(const fc_strips *s, strip t, char *in, char *out, int64_t columns, uint32_t *notes) {
  int64_t width = strip_width(s, t.step, columns);
  t.b = buffers_of(s, t.step, columns);
  for (int64_t x = 0; x < columns; x += width) {
    t.width = least(width, columns - x);
    t.in.data = in + x * t.in.stride;
    t.out.data = out + x * t.out.stride;
    strip_run(s, &t, notes);
  }
}

void fc_strips_run(const fc_strips *s, const fc_view *in, const fc_view *out, void *scratch,
                   uint32_t *notes) {
  int joined = fc_rows_joined(in) && fc_rows_joined(out);
  int64_t channels = out->shape[FC_AXIS_C], planes = joined ? channels > 0 : channels;
  strip t = {
      side_of(s, in, joined, s->rows_u8), side_of(s, out, joined, s->to_u8), .height = out->shape[FC_AXIS_Y],
      .step = joined ? channels : 1,      .stream = is_large(out),           .scratch = (char *)scratch};
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++)
    for (int64_t c = 0; c < planes; c++)
      image_run(s, t, (char *)fc_view_at(in, n, -(s->ny / 2), -(s->nx / 2), c),
                (char *)fc_view_at(out, n, 0, 0, c), out->shape[FC_AXIS_X] * t.step, notes);
  if (t.stream) FC_STREAM_END();
}
