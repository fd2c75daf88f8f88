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
