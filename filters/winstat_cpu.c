/* SPDX-License-Identifier: MIT */
/*
 * winstat_cpu.c - winstat over whole views with the loops of one instruction set.
 *
 * The output is walked in strips of some thousand cells. Each input row of a strip is
 * loaded once, becomes rows of single-sample pieces (a *field* for each quantity that
 * the statistics need), which slide along the row and then, kept in a ring, across
 * rows; the joined pieces become statistics and are stored. Packed interleaved
 * channels go together as one row of cells, anything else channel by channel.
 *
 * At most 17 vector operations a cell and field along x and 5 along y, in cache.
 */
#include <math.h>
#include <string.h>

#include "filters/codes.h"
#include "filters/winstat.h"
#include "filters/winstat_math.h"
#include "filters/winstat_slide.h"

/* Output cells of a strip: its buffers stay in the second-level cache. */
#define STRIP_CELLS 2048
/* A strip is up to four windows wide, so that overlap costs little, but no wider than
 * this for that reason; and never narrower than the window. */
#define STRIP_CELLS_MAX 32768
/* Cells in the ring of a field, and the narrowest strip that this may lead to. */
#define RING_CELLS        131072
#define RING_CELLS_NARROW 64

enum { SUM, SQUARES, SQUARES_HIGH, SPREAD, LEAST, MOST, FIELDS };

typedef struct walk {
  const fc_winstat *w;
  const fc_view *in, *out;
  uint32_t *notes;
  const fc_winstat_kernels *k;
  fc_winstat_field field[FIELDS];
  fc_winstat_column column[FIELDS];
  fc_winstat_ladder ladder;
  int codes;              /* integer input: rows are int32 codes, results doubles */
  int result;             /* FC_F32 or FC_F64: type of finished rows */
  int64_t window[2];      /* x, y */
  int64_t lanes, columns; /* of a strip: cells of a position, positions */

  void *base;                     /* a row of the input: values or codes */
  fc_winstat_row start;           /* its pieces, where they are not the row itself */
  void *across, *counts;          /* samples of a window in x, and in all, cell by cell */
  int64_t counted;                /* rows that `counts` stands for; 0 is none */
  double *sum, *squares, *spread; /* of integers, as real values */
  void *stat, *lane, *line;       /* one statistic; one channel of it; all interleaved */

  /* Where the walk is. */
  int64_t n, c;           /* frame, first channel */
  int64_t x, count;       /* strip: positions of the output */
  fc_winstat_span inside; /* positions of the input row in the signal, relative to its start */
} walk;

/* ---- set-up ----------------------------------------------------------- */

static void use(walk *k, int field, fc_winstat_op op, fc_winstat_type type) {
  static const int64_t sizes[FC_WINSTAT_TYPES] = {4, 8, 4, 8};
  static const int32_t planes[FC_WINSTAT_OPS] = {1, 1, 1, 3, 4};
  k->field[field] = (fc_winstat_field){1, planes[op], sizes[type], k->k->join[op][type]};
}

/* Which sums the statistics of integers need: in 32 bits where a window's total fits. */
static void use_codes(walk *k, unsigned stats) {
  const int dtype = k->in->dtype;
  const double area = (double)k->window[0] * (double)k->window[1], limit = (double)fc_codes_limit(dtype);
  const unsigned spread = 1u << FC_WINSTAT_VAR | 1u << FC_WINSTAT_STD;
  if (stats & (spread | 1u << FC_WINSTAT_SUM | 1u << FC_WINSTAT_MEAN))
    use(k, SUM, FC_WINSTAT_ADD, area * limit < 0x1p31 ? FC_WINSTAT_I32 : FC_WINSTAT_I64);
  if (stats & (spread | 1u << FC_WINSTAT_SUMSQ | 1u << FC_WINSTAT_RMS)) {
    use(k, SQUARES, FC_WINSTAT_ADD, area * limit * limit < 0x1p32 ? FC_WINSTAT_I32 : FC_WINSTAT_I64);
    if (dtype == FC_I32) use(k, SQUARES_HIGH, FC_WINSTAT_ADD, FC_WINSTAT_I64);
  }
  if (stats & 1u << FC_WINSTAT_MIN) use(k, LEAST, FC_WINSTAT_LEAST, FC_WINSTAT_I32);
  if (stats & 1u << FC_WINSTAT_MAX) use(k, MOST, FC_WINSTAT_MOST, FC_WINSTAT_I32);
}

static void use_values(walk *k, unsigned stats) {
  fc_winstat_type type = k->w->compute == FC_F64 ? FC_WINSTAT_F64 : FC_WINSTAT_F32;
  if (stats & (1u << FC_WINSTAT_SUM | 1u << FC_WINSTAT_MEAN)) use(k, SUM, FC_WINSTAT_ADD, type);
  if (stats & (1u << FC_WINSTAT_SUMSQ | 1u << FC_WINSTAT_RMS)) use(k, SQUARES, FC_WINSTAT_ADD, type);
  if (stats & (1u << FC_WINSTAT_VAR | 1u << FC_WINSTAT_STD))
    use(k, SPREAD, k->w->shrink ? FC_WINSTAT_VARY_N : FC_WINSTAT_VARY, type);
  if (stats & 1u << FC_WINSTAT_MIN) use(k, LEAST, FC_WINSTAT_LEAST, type);
  if (stats & 1u << FC_WINSTAT_MAX) use(k, MOST, FC_WINSTAT_MOST, type);
}

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Positions of a strip. */
static int64_t strip_columns(const walk *k) {
  const int64_t wx = k->window[0], wy = k->window[1], lanes = k->lanes;
  int64_t columns = larger(STRIP_CELLS / lanes, 1);
  if (wx > 1) columns = larger(larger(columns, wx), smaller(4 * wx, STRIP_CELLS_MAX / lanes));
  if (wy > 1) {
    int64_t cached = RING_CELLS / smaller(wy, RING_CELLS) / lanes;
    columns = smaller(columns, larger(larger(cached, RING_CELLS_NARROW / lanes), wx));
  }
  return larger(smaller(columns, k->in->shape[FC_AXIS_X]), 1);
}

/* Are the channels of a position adjacent, and positions too? Then a row is one run of cells. */
static int is_packed(const fc_view *v) {
  int64_t size = (int64_t)fc_dtype_size(v->dtype), channels = v->shape[FC_AXIS_C];
  return v->stride[FC_AXIS_X] == size * channels && (channels == 1 || v->stride[FC_AXIS_C] == size);
}

static void walk_init(walk *k, const fc_winstat *w, const fc_view *in, int packed) {
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
  k->columns = strip_columns(k);
}

/* ---- memory ----------------------------------------------------------- */

/* Hands out pieces of the scratch; only counts when there is none yet. */
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

/* For the largest of the fields: they take turns. */
static void take_ladder(walk *k, bump *b, int64_t size, int planes) {
  fc_winstat_ladder *l = &k->ladder;
  const int64_t wx = k->window[0], lanes = k->lanes, cells = (k->columns + wx - 1) * lanes;
  l->window = wx, l->lanes = lanes;
  if (wx == 1) return;
  for (int i = 0; i < 2; i++) l->level[i] = take_row(b, cells, size, planes);
  if (wx < 2 * FC_WINSTAT_FAR) return;
  take_column(&l->far, b, wx / FC_WINSTAT_FAR, FC_WINSTAT_FAR * lanes, size, planes);
  l->far.samples = FC_WINSTAT_FAR;
}

static void take_memory(walk *k, bump *b) {
  const int64_t cells = k->columns * k->lanes, real = (int64_t)fc_dtype_size(k->result);
  const int64_t row = (k->columns + k->window[0] - 1) * k->lanes;
  int64_t size = 4;
  int planes = 1;
  for (int i = 0; i < FIELDS; i++)
    if (k->field[i].used)
      size = larger(size, k->field[i].size), planes = (int)larger(planes, k->field[i].planes);
  k->base = take(b, row * 8);
  k->start = take_row(b, row, size, planes);
  take_ladder(k, b, size, planes);
  for (int i = 0; i < FIELDS; i++)
    if (k->field[i].used) {
      take_column(&k->column[i], b, k->window[1], cells, k->field[i].size, k->field[i].planes);
      k->column[i].samples = (double)k->window[0];
    }
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
    walk k;
    bump b = {NULL, 0};
    walk_init(&k, w, in, packed);
    take_memory(&k, &b);
    if (b.used > most) most = b.used;
  }
  return most;
}

/* ---- from a row of the input to pieces -------------------------------- */

/* The strip's input row, or what of it is in the signal, with zeros around. */
static void load_row(walk *k, int64_t y) {
  const fc_view *v = k->in;
  const int64_t size = k->codes ? 4 : (int64_t)fc_dtype_size(k->result), lanes = k->lanes;
  const int64_t length = k->count + k->window[0] - 1, x = k->x - k->w->before[0];
  fc_winstat_span s = k->inside;
  int64_t cells = (s.hi - s.lo) * lanes, ahead = s.lo * lanes;
  int64_t stride = lanes > 1 ? (int64_t)fc_dtype_size(v->dtype) : v->stride[FC_AXIS_X];
  char *to = (char *)k->base + ahead * size;
  memset(k->base, 0, (size_t)(ahead * size));
  memset(to + cells * size, 0, (size_t)((length * lanes - ahead - cells) * size));
  if (cells == 0) return;
  const void *from = fc_view_at(v, k->n, y, x + s.lo, k->c);
  if (k->codes)
    fc_codes_load((int32_t *)to, from, stride, cells, v->kind, v->dtype);
  else
    fc_load(to, k->result, from, stride, cells, v->kind, v->dtype);
}

/* Real or integer constant over a stretch of cells. */
static void fill(const walk *k, void *cells, int64_t from, int64_t to, double value) {
  for (int64_t i = from; i < to; i++) {
    if (k->codes)
      ((int32_t *)cells)[i] = (int32_t)value;
    else if (k->result == FC_F64)
      ((double *)cells)[i] = value;
    else
      ((float *)cells)[i] = (float)value;
  }
}

/* The row with what never wins in place of what is outside. */
static fc_winstat_row start_extreme(walk *k, const fc_winstat_field *f, int64_t cells, int sign) {
  fc_winstat_row row = {k->base, 0};
  if (!k->w->shrink) return row;
  double never = sign * (double)INFINITY;
  if (k->codes) never = sign > 0 ? INT32_MAX : INT32_MIN;
  memcpy(k->start.cells, k->base, (size_t)(cells * f->size));
  fill(k, k->start.cells, 0, k->inside.lo * k->lanes, never);
  fill(k, k->start.cells, k->inside.hi * k->lanes, cells, never);
  return k->start;
}

/* Single samples: mean p + 0, no deviation - unless p is infinite or NaN, then NaN. */
static fc_winstat_row start_spread(walk *k, const fc_winstat_field *f, int64_t cells) {
  fc_winstat_row to = k->start;
  memcpy(to.cells, k->base, (size_t)(cells * f->size));
  memset(to.cells + to.pitch, 0, (size_t)(cells * f->size));
  char *m = to.cells + 2 * to.pitch, *n = to.cells + 3 * to.pitch;
  if (k->result == FC_F64)
    for (int64_t i = 0; i < cells; i++) ((double *)m)[i] = ((double *)k->base)[i] - ((double *)k->base)[i];
  else
    for (int64_t i = 0; i < cells; i++) ((float *)m)[i] = ((float *)k->base)[i] - ((float *)k->base)[i];
  if (f->planes < 4) return to;
  fill(k, n, 0, k->inside.lo * k->lanes, 0);
  fill(k, n, k->inside.lo * k->lanes, k->inside.hi * k->lanes, 1);
  fill(k, n, k->inside.hi * k->lanes, cells, 0);
  return to;
}

static fc_winstat_row start_squares(walk *k, const fc_winstat_field *f, int64_t cells, int high) {
  void *to = k->start.cells;
  if (!k->codes && k->result == FC_F64)
    k->k->square_f64(to, k->base, cells);
  else if (!k->codes)
    k->k->square_f32(to, k->base, cells);
  else if (f->size == 4)
    k->k->square_i32(to, k->base, cells);
  else
    k->k->square_i64(to, k->base, cells,
                     high                          ? FC_WINSTAT_HIGH
                     : k->field[SQUARES_HIGH].used ? FC_WINSTAT_LOW
                                                   : FC_WINSTAT_WHOLE);
  return k->start;
}

/* The loaded row as single-sample pieces of a field. */
static fc_winstat_row start_row(walk *k, int i) {
  const fc_winstat_field *f = &k->field[i];
  int64_t cells = (k->count + k->window[0] - 1) * k->lanes;
  switch (i) {
  case SQUARES:
  case SQUARES_HIGH: return start_squares(k, f, cells, i == SQUARES_HIGH);
  case SPREAD: return start_spread(k, f, cells);
  case LEAST: return start_extreme(k, f, cells, 1);
  case MOST: return start_extreme(k, f, cells, -1);
  default: break;
  }
  if (!k->codes || f->size == 4) return (fc_winstat_row){k->base, 0};
  k->k->widen_i64((int64_t *)k->start.cells, k->base, cells);
  return k->start;
}

/* ---- from joined pieces to the output --------------------------------- */

/* How many samples the windows of this output row hold, for every cell. */
static void count_samples(walk *k, int64_t y) {
  fc_winstat_span rows = {0, k->window[1]};
  if (k->w->shrink) rows = fc_winstat_inside(k->in, FC_AXIS_Y, y - k->w->before[1], y + k->w->after[1] + 1);
  int64_t high = rows.hi - rows.lo, cells = k->count * k->lanes;
  if (k->counted == high) return;
  k->counted = high;
  for (int64_t i = 0; i < cells; i++) {
    if (k->result == FC_F64)
      ((double *)k->counts)[i] = ((double *)k->across)[i] * (double)high;
    else
      ((float *)k->counts)[i] = ((float *)k->across)[i] * (float)high;
  }
}

/* The same along x, once a strip. */
static void count_across(walk *k) {
  for (int64_t i = 0; i < k->count; i++) {
    fc_winstat_span s = {0, k->window[0]};
    int64_t x = k->x + i;
    if (k->w->shrink) s = fc_winstat_inside(k->in, FC_AXIS_X, x - k->w->before[0], x + k->w->after[0] + 1);
    for (int64_t j = i * k->lanes; j < (i + 1) * k->lanes; j++) {
      if (k->result == FC_F64)
        ((double *)k->across)[j] = (double)(s.hi - s.lo);
      else
        ((float *)k->across)[j] = (float)(s.hi - s.lo);
    }
  }
  k->counted = 0;
}

/* Totals of integers in one cell. */
static fc_uint128 squares_at(const walk *k, const fc_winstat_row *rows, int64_t i) {
  if (k->field[SQUARES].size == 4) return ((const uint32_t *)rows[SQUARES].cells)[i];
  fc_uint128 low = ((const uint64_t *)rows[SQUARES].cells)[i];
  if (!k->field[SQUARES_HIGH].used) return low;
  return ((fc_uint128)((const uint64_t *)rows[SQUARES_HIGH].cells)[i] << 32) + low;
}

static int64_t sum_at(const walk *k, const fc_winstat_row *rows, int64_t i) {
  return k->field[SUM].size == 4 ? ((const int32_t *)rows[SUM].cells)[i]
                                 : ((const int64_t *)rows[SUM].cells)[i];
}

/* Squared deviations of integers: in doubles while these hold everything exactly, in
 * 128-bit integers otherwise. */
static void spread_of_codes(walk *k, const fc_winstat_row *rows, int64_t cells, double scale) {
  const double area = (double)k->window[0] * (double)k->window[1];
  const double limit = (double)fc_codes_limit(k->in->dtype), *n = k->counts;
  if (area * area * limit * limit < 0x1p53) {
    k->k->spread_f64(k->spread, k->sum, k->squares, n, cells);
    return;
  }
  for (int64_t i = 0; i < cells; i++)
    k->spread[i] =
        fc_winstat_spread((uint64_t)n[i], sum_at(k, rows, i), squares_at(k, rows, i)) * scale * scale;
}

/* Totals of integers become real values; exact but for the one rounding to double. */
static void totals_of_codes(walk *k, const fc_winstat_row *rows, int64_t cells) {
  const double scale = fc_scaling_of(k->in->kind, k->in->dtype).scale;
  const void *sum = rows[SUM].cells, *squares = rows[SQUARES].cells;
  if (k->field[SUM].used && k->field[SUM].size == 4)
    k->k->double_i32(k->sum, sum, cells, scale);
  else if (k->field[SUM].used)
    k->k->double_i64(k->sum, sum, cells, scale);
  if (!k->field[SQUARES].used) return;
  if (k->field[SQUARES_HIGH].used)
    for (int64_t i = 0; i < cells; i++)
      k->squares[i] = fc_winstat_double_of(squares_at(k, rows, i)) * scale * scale;
  else if (k->field[SQUARES].size == 4)
    k->k->double_u32(k->squares, squares, cells, scale * scale);
  else
    k->k->double_u64(k->squares, squares, cells, scale * scale);
  if (k->field[SUM].used) spread_of_codes(k, rows, cells, scale);
}

static void ratio(const walk *k, void *to, const void *from, int64_t cells) {
  if (k->result == FC_F64)
    k->k->ratio_f64(to, from, k->counts, cells);
  else
    k->k->ratio_f32(to, from, k->counts, cells);
}

static void root(const walk *k, void *to, const void *from, int64_t cells) {
  if (k->result == FC_F64)
    k->k->root_f64(to, from, k->counts, cells);
  else
    k->k->root_f32(to, from, k->counts, cells);
}

/* The row of totals that a statistic is made of, in the result's type. */
static const void *totals_for(const walk *k, const fc_winstat_row *rows, int stat) {
  switch (stat) {
  case FC_WINSTAT_SUM:
  case FC_WINSTAT_MEAN: return k->codes ? (const void *)k->sum : rows[SUM].cells;
  case FC_WINSTAT_SUMSQ:
  case FC_WINSTAT_RMS: return k->codes ? (const void *)k->squares : rows[SQUARES].cells;
  case FC_WINSTAT_MIN: return rows[LEAST].cells;
  case FC_WINSTAT_MAX: return rows[MOST].cells;
  default: return k->codes ? (const void *)k->spread : rows[SPREAD].cells + 2 * rows[SPREAD].pitch;
  }
}

/* One statistic of the row: in k->stat or where its totals are. */
static const void *finish(walk *k, const fc_winstat_row *rows, int stat, int64_t cells) {
  const void *totals = totals_for(k, rows, stat);
  switch (stat) {
  case FC_WINSTAT_MEAN:
  case FC_WINSTAT_VAR: ratio(k, k->stat, totals, cells); return k->stat;
  case FC_WINSTAT_STD:
  case FC_WINSTAT_RMS: root(k, k->stat, totals, cells); return k->stat;
  case FC_WINSTAT_MIN:
  case FC_WINSTAT_MAX:
    if (!k->codes) return totals;
    k->k->double_i32(k->stat, totals, cells, fc_scaling_of(k->in->kind, k->in->dtype).scale);
    return k->stat;
  default: return totals;
  }
}

/* to[i * to_step] = from[i * from_step] */
static void spread_out(const walk *k, void *to, int64_t to_step, const void *from, int64_t from_step,
                       int64_t count) {
  if (k->result == FC_F64)
    for (int64_t i = 0; i < count; i++) ((double *)to)[i * to_step] = ((const double *)from)[i * from_step];
  else
    for (int64_t i = 0; i < count; i++) ((float *)to)[i * to_step] = ((const float *)from)[i * from_step];
}

/* Interleaves or stores one statistic of the row. */
static void deliver(walk *k, int s, const void *stat, int64_t y, int whole) {
  const fc_view *out = k->out;
  const int64_t real = (int64_t)fc_dtype_size(k->result), channels = k->in->shape[FC_AXIS_C];
  const int64_t per_position = k->lanes * k->w->n_stats;
  for (int64_t j = 0; j < k->lanes; j++) {
    const char *from = (const char *)stat + j * real;
    if (whole) {
      spread_out(k, (char *)k->line + (s * k->lanes + j) * real, per_position, from, k->lanes, k->count);
      continue;
    }
    if (k->lanes > 1) spread_out(k, k->lane, 1, from, k->lanes, k->count);
    fc_store(fc_view_at(out, k->n, y, k->x, s * channels + k->c + j), out->stride[FC_AXIS_X],
             k->lanes > 1 ? k->lane : from, k->result, k->count, out->kind, out->dtype, k->notes);
  }
}

/* All statistics of an output row of the strip. */
static void emit(walk *k, const fc_winstat_row *rows, int64_t y) {
  const fc_view *out = k->out;
  const int64_t cells = k->count * k->lanes, size = (int64_t)fc_dtype_size(out->dtype);
  /* The strip has all channels and the output interleaves them: one run of stores. */
  int whole = k->lanes == k->in->shape[FC_AXIS_C] && is_packed(out), n = k->w->n_stats;
  const void *line = k->line;
  count_samples(k, y);
  if (k->codes) totals_of_codes(k, rows, cells);
  for (int s = 0; s < n; s++) {
    const void *stat = finish(k, rows, k->w->stat[s], cells);
    if (whole && n == 1)
      line = stat;
    else
      deliver(k, s, stat, y, whole);
  }
  if (whole)
    fc_store(fc_view_at(out, k->n, y, k->x, 0), size, line, k->result, cells * n, out->kind, out->dtype,
             k->notes);
}

/* ---- the walk --------------------------------------------------------- */

/* Takes input row y (relative to the view) in; emits the output row it completes. */
static void step(walk *k, int64_t y, int64_t first) {
  const int64_t length = k->count + k->window[0] - 1;
  fc_winstat_row rows[FIELDS] = {{0}};
  int ready = 0;
  k->inside = (fc_winstat_span){0, length};
  if (k->w->shrink) {
    int64_t x = k->x - k->w->before[0];
    fc_winstat_span s = fc_winstat_inside(k->in, FC_AXIS_X, x, x + length);
    fc_winstat_span row = fc_winstat_inside(k->in, FC_AXIS_Y, y, y + 1);
    k->inside =
        row.lo < row.hi && s.lo < s.hi ? (fc_winstat_span){s.lo - x, s.hi - x} : (fc_winstat_span){0, 0};
  }
  load_row(k, y);
  for (int i = 0; i < FIELDS; i++) {
    const fc_winstat_field *f = &k->field[i];
    if (!f->used) continue;
    int64_t row = k->in->origin[FC_AXIS_Y] + y;
    fc_winstat_row_slide(f, &k->ladder, fc_winstat_column_slot(&k->column[i], row), start_row(k, i), k->count,
                         k->in->origin[FC_AXIS_X] + k->x - k->w->before[0]);
    ready = fc_winstat_column_push(f, &k->column[i], row, k->in->origin[FC_AXIS_Y] + first, &rows[i]);
  }
  if (ready) emit(k, rows, y - k->w->after[1]);
}

static void walk_strip(walk *k) {
  const int64_t first = -k->w->before[1], end = k->in->shape[FC_AXIS_Y] + k->w->after[1];
  for (int i = 0; i < FIELDS; i++) k->column[i].cells = k->count * k->lanes;
  count_across(k);
  for (int64_t y = first; y < end; y++) step(k, y, first);
}

fc_status fc_winstat_cpu(const fc_winstat *w, const fc_view *in, const fc_view *out, void *scratch,
                         uint32_t *notes) {
  walk k;
  bump b = {scratch, 0};
  if (fc_view_count(out) == 0) return FC_OK;
  walk_init(&k, w, in, is_packed(in));
  k.out = out, k.notes = notes;
  take_memory(&k, &b);
  for (k.n = 0; k.n < in->shape[FC_AXIS_N]; k.n++)
    for (k.c = 0; k.c < in->shape[FC_AXIS_C]; k.c += k.lanes)
      for (k.x = 0; k.x < in->shape[FC_AXIS_X]; k.x += k.columns) {
        k.count = smaller(k.columns, in->shape[FC_AXIS_X] - k.x);
        walk_strip(&k);
      }
  return FC_OK;
}
