/* SPDX-License-Identifier: MIT */
/*
 * winstat_cpu.c - winstat over whole views with the loops of one instruction set: set-up, memory, and
 * processing row by row; see winstat_walk.h.
 *
 * Row by row, pieces slide along the row and then, kept in a ring, across rows: at most 17 vector operations
 * a cell and field along x and 5 along y, in cache. Packed interleaved channels are processed together as one
 * row of cells, others channel by channel.
 */
#include <math.h>
#include <string.h>

#include "filters/base/codes.h"
#include "filters/base/simd.h"
#include "filters/winstat/winstat_walk.h"

/* Output cells of a strip: its buffers fit the second-level cache. */
#define STRIP_CELLS 2048
/* A strip is up to four windows wide, so that overlap costs little, but not wider than this for that
 * reason alone; and never narrower than the window. */
#define STRIP_CELLS_MAX 32768
/* Limit of cells in the ring buffer of a field, and the narrowest strip that this may lead to. */
#define RING_CELLS        131072
#define RING_CELLS_NARROW 64
/* Output cells of a strip of tiles; at least the window's width. */
#define TILE_CELLS 2048
/* The rows that a window reads in tiles are kept if they take at most this: they are read from memory
 * once, and with up to about 60 rows they then stay in the second-level cache. */
#define RING_BYTES (4 * 1024 * 1024)
/* Larger outputs are written past the cache: see conv2d_strips.c. */
#define STREAM_BYTES (16 * 1024 * 1024)

/* ---- set-up ----------------------------------------------------------- */

static void use(fc_winstat_walk *k, int field, fc_winstat_op op, fc_winstat_type type) {
  static const int64_t sizes[FC_WINSTAT_TYPES] = {4, 8, 4, 8};
  static const int32_t planes[FC_WINSTAT_OPS] = {1, 1, 1, 3, 4};
  k->field[field] = (fc_winstat_field){1, planes[op], sizes[type], k->k->join[op][type]};
  k->type[field] = type;
}

/* The sums that the statistics of integers need: in 32 bits if a window's total fits. */
static void use_codes(fc_winstat_walk *k, unsigned stats) {
  const int dtype = k->in->dtype;
  const double area = (double)k->window[0] * (double)k->window[1], limit = (double)fc_codes_limit(dtype);
  const unsigned spread = 1u << FC_WINSTAT_VAR | 1u << FC_WINSTAT_STD;
  if (stats & (spread | 1u << FC_WINSTAT_SUM | 1u << FC_WINSTAT_MEAN))
    use(k, FC_WALK_SUM, FC_WINSTAT_ADD, area * limit < 0x1p31 ? FC_WINSTAT_I32 : FC_WINSTAT_I64);
  if (stats & (spread | 1u << FC_WINSTAT_SUMSQ | 1u << FC_WINSTAT_RMS)) {
    use(k, FC_WALK_SQUARES, FC_WINSTAT_ADD, area * limit * limit < 0x1p32 ? FC_WINSTAT_I32 : FC_WINSTAT_I64);
    if (dtype == FC_I32) use(k, FC_WALK_SQUARES_HIGH, FC_WINSTAT_ADD, FC_WINSTAT_I64);
  }
  if (stats & 1u << FC_WINSTAT_MIN) use(k, FC_WALK_LEAST, FC_WINSTAT_LEAST, FC_WINSTAT_I32);
  if (stats & 1u << FC_WINSTAT_MAX) use(k, FC_WALK_MOST, FC_WINSTAT_MOST, FC_WINSTAT_I32);
}

static void use_values(fc_winstat_walk *k, unsigned stats) {
  fc_winstat_type type = k->w->compute == FC_F64 ? FC_WINSTAT_F64 : FC_WINSTAT_F32;
  if (stats & (1u << FC_WINSTAT_SUM | 1u << FC_WINSTAT_MEAN)) use(k, FC_WALK_SUM, FC_WINSTAT_ADD, type);
  if (stats & (1u << FC_WINSTAT_SUMSQ | 1u << FC_WINSTAT_RMS)) use(k, FC_WALK_SQUARES, FC_WINSTAT_ADD, type);
  if (stats & (1u << FC_WINSTAT_VAR | 1u << FC_WINSTAT_STD))
    use(k, FC_WALK_SPREAD, k->w->shrink ? FC_WINSTAT_VARY_N : FC_WINSTAT_VARY, type);
  if (stats & 1u << FC_WINSTAT_MIN) use(k, FC_WALK_LEAST, FC_WINSTAT_LEAST, type);
  if (stats & 1u << FC_WINSTAT_MAX) use(k, FC_WALK_MOST, FC_WINSTAT_MOST, type);
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Positions in a strip. */
static int64_t strip_columns(const fc_winstat_walk *k) {
  const int64_t wx = k->window[0], wy = k->window[1], lanes = k->lanes;
  int64_t columns = larger(STRIP_CELLS / lanes, 1);
  if (wx > 1) columns = larger(larger(columns, wx), smaller(4 * wx, STRIP_CELLS_MAX / lanes));
  if (wy > 1) {
    int64_t cached = RING_CELLS / smaller(wy, RING_CELLS) / lanes;
    columns = smaller(columns, larger(larger(cached, RING_CELLS_NARROW / lanes), wx));
  }
  return larger(smaller(columns, k->in->shape[FC_AXIS_X]), 1);
}

/* The same for tiles, whose memory hardly depends on the window. */
static int64_t tile_columns(const fc_winstat_walk *k) {
  const int64_t wx = k->window[0], lanes = k->lanes;
  return larger(smaller(larger(TILE_CELLS / lanes, wx), k->in->shape[FC_AXIS_X]), 1);
}

static void walk_init(fc_winstat_walk *k, const fc_winstat *w, const fc_view *in, int packed) {
  memset(k, 0, sizeof *k);
  k->w = w, k->in = in;
  k->k = FC_ISA_PICK(fc_winstat_kernels, w->isa);
  k->codes = !fc_dtype_is_float(in->dtype);
  k->result = k->codes ? FC_F64 : w->compute;
  for (int a = 0; a < 2; a++) k->window[a] = w->before[a] + 1 + w->after[a];
  unsigned stats = 0;
  for (int s = 0; s < w->n_stats; s++) stats |= 1u << w->stat[s];
  if (k->codes)
    use_codes(k, stats);
  else
    use_values(k, stats);
  k->lanes = packed ? larger(in->shape[FC_AXIS_C], 1) : 1;
  k->tiled = fc_winstat_tiles_can(k);
  k->columns = k->tiled ? tile_columns(k) : strip_columns(k);
}

/* ---- memory ----------------------------------------------------------- */

/* Allocates pieces of the scratch; only counts if there is none yet. */
typedef struct bump {
  char *memory;
  size_t used;
} bump;

static void *take(bump *b, int64_t bytes) {
  void *p = b->memory ? b->memory + b->used : NULL;
  b->used += ((size_t)bytes + 63) / 64 * 64;
  return p;
}

static fc_winstat_row take_row(bump *b, int64_t cells, int64_t size, int planes) {
  int64_t pitch = (cells * size + 63) / 64 * 64;
  return (fc_winstat_row){take(b, pitch * planes), pitch};
}

/* A column's memory for rows of `cells` pieces. */
static void take_column(fc_winstat_column *c, bump *b, int64_t window, int64_t cells, int64_t size,
                        int planes) {
  c->window = window, c->cells = cells;
  c->pitch = (cells * size + 63) / 64 * 64;
  c->row_bytes = c->pitch * planes;
  c->ring = take(b, c->row_bytes * window);
  if (window == 1) return;
  fc_winstat_row *rows[] = {&c->run, &c->whole, &c->prefix, &c->joined};
  for (int i = 0; i < 4; i++) *rows[i] = take_row(b, cells, size, planes);
}

/* For the largest field: they are processed in turn. */
static void take_ladder(fc_winstat_walk *k, bump *b, int64_t size, int planes) {
  fc_winstat_ladder *l = &k->ladder;
  const int64_t wx = k->window[0], lanes = k->lanes, cells = (k->columns + wx - 1) * lanes;
  l->window = wx, l->lanes = lanes;
  if (wx == 1) return;
  for (int i = 0; i < 2; i++) l->level[i] = take_row(b, cells, size, planes);
  if (wx < 2 * FC_WINSTAT_FAR) return;
  take_column(&l->far, b, wx / FC_WINSTAT_FAR, FC_WINSTAT_FAR * lanes, size, planes);
  l->far.samples = FC_WINSTAT_FAR;
}

/* What row by row needs. */
static void take_rows(fc_winstat_walk *k, bump *b, int64_t size, int planes) {
  take_ladder(k, b, size, planes);
  for (int i = 0; i < FC_WALK_FIELDS; i++)
    if (k->field[i].used) {
      take_column(&k->column[i], b, k->window[1], k->columns * k->lanes, k->field[i].size,
                  k->field[i].planes);
      k->column[i].samples = (double)k->window[0];
    }
}

static void take_box(fc_winstat_box *box, bump *b, int64_t window, int64_t cells, int64_t size) {
  fc_winstat_box_init(box, window);
  for (int i = 0; i < 2; i++) box->head_sum[i] = take(b, cells * size);
  box->base = take(b, cells * size);
  box->total = take(b, cells * size);
  box->cells = cells;
  if (box->middle > 0) take_column(&box->blocks, b, box->middle, cells, size, 1);
}

/* Bytes from row to row of a tile: an odd number of cache lines, so that rows use different cache sets. */
static int64_t row_pitch(int64_t cells, int64_t size) {
  return ((cells * size + 63) / 64 | 1) * 64;
}

static void take_ring(fc_winstat_ring *ring, bump *b, const fc_winstat_box *down, int64_t pitch) {
  /* The block in which the windows begin, and the blocks in which they end. */
  const int64_t all = 1 + down->middle + 1 + (down->head > 0);
  const int64_t block = down->block * pitch;
  ring->kept = all <= 3 || all * block <= RING_BYTES;
  ring->blocks = ring->kept ? all : 3;
  /* Wide strips keep at least as much as narrow ones, whose rows are kept. */
  ring->rows = take(b, ring->kept ? all * block : larger(3 * block, RING_BYTES));
}

/* Memory for tiles; `size` is that of the largest field. */
static void take_tiles(fc_winstat_walk *k, bump *b, int64_t size) {
  fc_winstat_tiles *t = &k->tiles;
  const int64_t row = (k->columns + k->window[0] - 1) * k->lanes;
  t->pitch = row_pitch(row, size);
  for (int i = 0; i < FC_WALK_FIELDS; i++)
    if (k->field[i].used) {
      take_box(&t->down[i], b, k->window[1], row, k->field[i].size);
      take_ring(&t->ring[i], b, &t->down[i], t->pitch);
      t->tile[i] = take(b, t->pitch * FC_WINSTAT_TILE);
    }
  if (k->window[0] == 1) return;
  t->lines = take(b, t->pitch * FC_WINSTAT_TILE);
  take_box(&t->along, b, k->window[0], FC_WINSTAT_TILE * k->lanes, size);
}

static void take_memory(fc_winstat_walk *k, bump *b) {
  const int64_t cells = k->columns * k->lanes, real = (int64_t)fc_dtype_size(k->result);
  const int64_t row = (k->columns + k->window[0] - 1) * k->lanes;
  int64_t size = 4;
  int planes = 1;
  for (int i = 0; i < FC_WALK_FIELDS; i++)
    if (k->field[i].used)
      size = larger(size, k->field[i].size), planes = (int)larger(planes, k->field[i].planes);
  k->base = take(b, row * 8);
  k->start = take_row(b, row, size, planes);
  if (k->tiled)
    take_tiles(k, b, size);
  else
    take_rows(k, b, size, planes);
  k->across = take(b, cells * real);
  k->counts = take(b, cells * real);
  k->sum = take(b, k->codes ? cells * 8 : 0);
  k->squares = take(b, k->codes ? cells * 8 : 0);
  k->spread = take(b, k->codes ? cells * 8 : 0);
  k->stat = take(b, cells * real);
  k->lane = take(b, k->columns * real);
  k->line = take(b, cells * real * k->w->n_stats);
}

size_t fc_winstat_cpu_scratch(const fc_winstat *w, const fc_view *in) {
  size_t most = 0;
  for (int packed = 0; packed < 2; packed++) {
    fc_winstat_walk k;
    bump b = {NULL, 0};
    walk_init(&k, w, in, packed);
    take_memory(&k, &b);
    if (b.used > most) most = b.used;
  }
  return most;
}

/* ---- the walk --------------------------------------------------------- */

/* Adds input row y (relative to the view); stores the output row that it completes. */
static void step(fc_winstat_walk *k, int64_t y, int64_t first) {
  fc_winstat_row rows[FC_WALK_FIELDS] = {{0}};
  int ready = 0;
  fc_winstat_load_row(k, y);
  for (int i = 0; i < FC_WALK_FIELDS; i++) {
    const fc_winstat_field *f = &k->field[i];
    if (!f->used) continue;
    int64_t row = k->in->origin[FC_AXIS_Y] + y;
    fc_winstat_row_slide(f, &k->ladder, fc_winstat_column_slot(&k->column[i], row),
                         fc_winstat_start_row(k, i), k->count,
                         k->in->origin[FC_AXIS_X] + k->x - k->w->before[0]);
    ready = fc_winstat_column_push(f, &k->column[i], row, k->in->origin[FC_AXIS_Y] + first, &rows[i]);
  }
  if (ready) fc_winstat_emit(k, rows, y - k->w->after[1]);
}

static void walk_strip(fc_winstat_walk *k) {
  const int64_t first = -k->w->before[1], end = k->in->shape[FC_AXIS_Y] + k->w->after[1];
  for (int i = 0; i < FC_WALK_FIELDS; i++) k->column[i].cells = k->count * k->lanes;
  for (int64_t y = first; y < end; y++) step(k, y, first);
}

/* Whether the signal, of which `out` may be a small part, is too large for the cache, and laid out so that
 * vectors can be stored past it. */
static int is_large(const fc_view *out) {
  int64_t size = (int64_t)fc_dtype_size(out->dtype), bytes = size * out->shape[FC_AXIS_N];
  for (int a = FC_AXIS_Y; a <= FC_AXIS_C; a++) bytes *= larger(out->shape[a], out->extent[a]);
  return bytes > STREAM_BYTES && (uintptr_t)out->data % (size_t)size == 0;
}

fc_status fc_winstat_cpu(const fc_winstat *w, const fc_view *in, const fc_view *out, void *scratch,
                         uint32_t *notes) {
  fc_winstat_walk k;
  bump b = {scratch, 0};
  if (fc_view_count(out) == 0) return FC_OK;
  walk_init(&k, w, in, fc_winstat_is_packed(in));
  k.out = out, k.notes = notes, k.stream = is_large(out);
  take_memory(&k, &b);
  for (k.n = 0; k.n < in->shape[FC_AXIS_N]; k.n++)
    for (k.c = 0; k.c < in->shape[FC_AXIS_C]; k.c += k.lanes)
      for (k.x = 0; k.x < in->shape[FC_AXIS_X]; k.x += k.columns) {
        k.count = smaller(k.columns, in->shape[FC_AXIS_X] - k.x);
        fc_winstat_count_across(&k);
        if (k.tiled)
          fc_winstat_tiles_strip(&k);
        else
          walk_strip(&k);
      }
  if (k.stream) FC_STREAM_END();
  return FC_OK;
}
