/* SPDX-License-Identifier: MIT */
/* cuts.c - see cuts.h. */
#include "filters/winstat/rows/cuts.h"

#include "filters/base/integers.h"
#include "filters/winstat/box/cuts.h"

enum {
  RUN = 16, /* samples of a segment */
  THREADS = FC_LINE_THREADS,
  GROUP = FC_LINE_GROUP, /* tiles are anchored at these */
  TILE = THREADS * RUN
};

static int64_t modulo(int64_t a, int64_t b) {
  return (a % b + b) % b;
}

static int32_t up_to(int32_t v, int32_t multiple) {
  return (v + multiple - 1) / multiple * multiple;
}

/* ---- bytes ------------------------------------------------------------------------------- */

/* Number of channels processed together: those of pixels without gaps; 1: each channel is processed alone. */
static int channels_of(const fc_view *in, const fc_view *out) {
  const int64_t channels = in->shape[FC_AXIS_C];
  if (channels > 4) return 1;
  for (int k = 0; k < 2; k++) {
    const fc_view *v = k ? out : in;
    if (v->stride[FC_AXIS_C] != 1 || v->stride[FC_AXIS_X] != channels) return 1;
  }
  return (int)channels;
}

static int32_t skew_of(const fc_view *out, int channels, int64_t frames) {
  const int64_t plane = channels > 1 || out->shape[FC_AXIS_C] == 1 ? 0 : out->stride[FC_AXIS_C];
  if (channels == 1 && out->stride[FC_AXIS_X] != 1) return 0;
  return fc_byte_skew(out->data, out->stride[FC_AXIS_Y], plane, frames > 1 ? out->stride[FC_AXIS_N] : 0);
}

fc_line_bytes_cut fc_line_bytes_cut_of(const fc_winstat *w, const fc_view *in, const fc_view *out,
                                       int64_t *frames) {
  const int64_t rows = in->shape[FC_AXIS_Y];
  const int joined = in->shape[FC_AXIS_N] == 1 || (in->stride[FC_AXIS_N] == rows * in->stride[FC_AXIS_Y] &&
                                                   out->stride[FC_AXIS_N] == rows * out->stride[FC_AXIS_Y]);
  fc_line_bytes_cut c = {.channels = channels_of(in, out)};
  *frames = joined ? 1 : in->shape[FC_AXIS_N];
  c.rows = (int32_t)(joined ? rows * in->shape[FC_AXIS_N] : rows);
  const int32_t chunk = FC_LINE_BYTES_CHUNK(c.channels),
                window = (int32_t)(w->before[0] + w->after[0] + 1) * c.channels,
                bytes = (int32_t)in->shape[FC_AXIS_X] * c.channels + skew_of(out, c.channels, *frames);
  c.far = window / chunk, c.rest = window % chunk;
  const int32_t all = (bytes + chunk - 1) / chunk, most = FC_LINE_BYTES_THREADS - c.far;
  c.pieces = (all + most - 1) / most;
  c.made = (all + c.pieces - 1) / c.pieces;
  c.each = c.pieces > 1 ? 1 : FC_LINE_BYTES_THREADS / (c.made + c.far);
  if (c.each > c.rows) c.each = c.rows;
  c.groups = (c.rows + c.each - 1) / c.each;
  return c;
}

/* Mirrored and repeated signals have a period, of which any part has the same sum; beyond the ends of others
 * is one value. */
int fc_line_bytes_fold_of(const fc_winstat *w, int border, int64_t columns, fc_line_bytes_fold *fold) {
  const int64_t before = w->before[0], after = w->after[0], all = before + after + 1;
  const int mirrors = border == FC_BORDER_REFLECT || border == FC_BORDER_REFLECT101,
            fills = border == FC_BORDER_REPLICATE || border == FC_BORDER_ZERO || border == FC_BORDER_CONSTANT;
  if (w->shrink || columns < 2 || all < 2 * columns || !(mirrors || fills || border == FC_BORDER_WRAP))
    return 0;
  if (fills) {
    const int64_t b = fc_smaller(before, columns - 1), a = fc_smaller(after, columns - 1);
    *fold = (fc_line_bytes_fold){(int32_t)b, (int32_t)a, 0, (int32_t)(before - b), (int32_t)(after - a)};
    return b + a < before + after;
  }
  const int twice = border == FC_BORDER_REFLECT101;
  const int64_t period = mirrors ? 2 * (columns - twice) : columns, left = (all - 1) % period + 1,
                times = (all - left) / period, b = before % period;
  *fold = (fc_line_bytes_fold){(int32_t)b, (int32_t)(left - 1 - b), (int32_t)(mirrors ? 2 * times : times),
                               (int32_t)(twice ? -times : 0), (int32_t)(twice ? -times : 0)};
  return times > 0;
}

/* ---- floats: groups of segments ------------------------------------------------------------ */

fc_line_groups fc_line_groups_of(int64_t window) {
  fc_line_groups g = {.segments = (int32_t)((window - 1) / RUN)};
  while (g.bits < 5 && 2 << g.bits <= g.segments) g.bits++;
  g.u = g.segments >> g.bits, g.v = g.segments & ((1 << g.bits) - 1);
  g.pieces = g.segments > FC_LINE_NEAR ? 2 : 1;
  return g;
}

fc_line_tiles fc_line_tiles_of(const fc_line *l, int64_t lines) {
  enum {
    BLOCKS = 4096,
    TILES = 16
  }; /* of a launch before a block is given a second tile; of a block, at most */
  fc_line_tiles t = {.first = -l->before - modulo(l->origin - l->before, GROUP * RUN)};
  const int64_t tiles = (l->columns - l->before - t.first + TILE - 1) / TILE, spare = lines * tiles / BLOCKS;
  int64_t each = fc_line_groups_of(l->window).pieces == 2 ? 4 * l->window / TILE + 1 : TILES;
  each = fc_smaller(fc_smaller(each, spare), tiles);
  t.tiles = (int32_t)(each < 1 ? 1 : each);
  t.stretches = (tiles + t.tiles - 1) / t.tiles;
  return t;
}

int64_t fc_line_ring_bytes(const fc_line_groups *g, int quantities) {
  const int64_t sums = g->u + 1 + 2 * FC_RING_WARPS;
  return 4 * ((FC_RING_SLOTS + FC_RING_ROOMS * FC_RING_WARPS) * GROUP * RUN +
              quantities * (FC_RING_SLOTS * GROUP + sums));
}

/* ---- floats: short_lines -------------------------------------------------------------------- */

/* Segments per line, in whole groups. Where threads go down rows, padded until a thread's step from row to
 * row is a multiple of 128 words: the swizzle of short_word repeats after 128 words, so that the step is a
 * constant. */
static int32_t segments_of(const fc_short_cut *c, int32_t lanes) {
  const int32_t size = 1 << c->bits, abreast = THREADS >> lanes, even = abreast >= 8 ? 1 : 8 / abreast;
  int32_t whole = up_to(c->each + c->segments + 1, size);
  while (!c->along && whole * c->channels % even != 0) whole += size;
  return whole;
}

static int32_t rows_of(const fc_short_cut *c, int32_t whole, int32_t lanes) {
  enum { SEGMENTS = 384, WORDS = 6500 }; /* of a tile, so that eight blocks fit, unless one row needs more */
  const int32_t abreast = c->along ? 1 : THREADS >> lanes;
  int32_t rows = c->pieces > 1 ? 1 : SEGMENTS / (c->channels * c->each);
  const int32_t room = WORDS / (c->quantities * c->channels * whole * RUN);
  if (rows > room) rows = room;
  if (rows > c->lines) rows = (int32_t)c->lines;
  if (rows < 1) rows = 1;
  return rows > abreast ? rows / abreast * abreast : rows;
}

/* log2 of the number of threads per row: few enough that most have work. The first word of each start costs
 * about three times as much as the words that follow down the rows. */
static int32_t lanes_of(const fc_short_cut *c, int32_t columns) {
  const int32_t inside = columns * c->channels, beyond = c->reach * c->channels;
  int32_t best = 7;
  double least = 0;
  for (int32_t lanes = 7; lanes >= 2; lanes--) {
    const int32_t rows = rows_of(c, segments_of(c, lanes), lanes), each = 1 << lanes,
                  abreast = THREADS / each;
    const double turns = (inside + each - 1) / each + 2 * ((beyond + each - 1) / each),
                 cost = turns * (3 + (rows + abreast - 1) / abreast) / rows;
    if (lanes == 7 || cost < 0.95 * least) least = cost, best = lanes;
  }
  return best;
}

static void cut_rows(fc_short_cut *c) {
  enum { SEGMENTS = 384, ALONG = 512 }; /* of a block; columns from which on threads go along rows */
  const int32_t size = 1 << c->bits, segments = up_to((c->columns - c->x + RUN - 1) / RUN, size);
  const int32_t pieces = (int32_t)(((int64_t)segments * c->channels + SEGMENTS - 1) / SEGMENTS);
  c->each = up_to((segments + pieces - 1) / pieces, size);
  c->pieces = (segments + c->each - 1) / c->each;
  const int32_t columns = c->columns < c->each * RUN ? c->columns : c->each * RUN;
  c->along = columns >= ALONG || c->pieces > 1;
  c->lanes = c->along ? 7 : lanes_of(c, columns);
  c->whole = segments_of(c, c->lanes), c->rows = rows_of(c, c->whole, c->lanes);
  c->scan = c->segments < 2 ? 0 : up_to(c->rows * c->channels * c->whole, GROUP);
  c->totals = c->scan >> c->bits;
  c->words = c->rows * c->channels * c->whole * RUN;
  if (c->words < c->scan * RUN) c->words = c->scan * RUN;
}

fc_short_cut fc_short_cut_of(const fc_line *l, int channels, int quantities, int64_t lines) {
  const fc_line_groups g = fc_line_groups_of(l->window);
  fc_short_cut c = {.channels = channels, .quantities = quantities, .lines = lines};
  c.columns = (int32_t)l->columns, c.reach = (int32_t)l->window - 1;
  c.segments = g.segments, c.bits = g.bits;
  c.x = -(int32_t)modulo(l->origin - l->before, RUN << g.bits);
  cut_rows(&c);
  return c;
}

int64_t fc_short_bytes(const fc_short_cut *c) {
  return 4 * c->quantities * ((int64_t)c->words + c->scan + c->totals);
}
