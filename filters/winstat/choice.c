/* SPDX-License-Identifier: MIT */
/* choice.c - see choice.h. */
#include "filters/winstat/choice.h"

#include "filters/winstat/box/cuts.h"
#include "filters/winstat/rows/cuts.h"

#define BIT(stat) (1u << FC_WINSTAT_##stat)
#define PLAIN     (BIT(SUM) | BIT(MEAN))
#define SQUARED   (BIT(SUMSQ) | BIT(RMS))
#define SPREADS   (BIT(VAR) | BIT(STD))
#define EXTREMES  (BIT(MIN) | BIT(MAX))

enum { RUN = FC_WINSTAT_RUN };

/* A case, and what it says of the statistics for which no earlier kernel was found. */
typedef struct pick {
  const fc_winstat_case *c;
  const fc_winstat *w;
  const fc_view *in, *out;
  const fc_edges *edges;
  int64_t across, tall; /* the window */
  unsigned left;        /* their bits */
  int totals;           /* number of those of sums and squares */
  unsigned strips;      /* bits of those that strips.cu can make */
} pick;

/* Whether so many blocks with so much memory each fit a multiprocessor. Registers are bounded for that by the
 * kernels. */
static int fits(const pick *k, int64_t bytes, int blocks) {
  const fc_winstat_chip *chip = &k->c->chip;
  const int64_t granule = 128, each = (bytes + chip->reserved + granule - 1) / granule * granule;
  return bytes <= chip->block && blocks * each <= chip->all;
}

/* ---- deviations and roots ------------------------------------------------------------------- */

/* Layout and size of images for strips of words; `rows` of them at least. */
static int suits_words(const pick *k, int64_t rows) {
  const int step = fc_winstat_side_by_side(k->in);
  const int64_t most = 1 << 28;
  return k->in->shape[FC_AXIS_Y] >= rows && step > 0 && fc_winstat_side_by_side(k->out) == step &&
         (step == 1 || k->w->n_stats == 1) && k->in->shape[FC_AXIS_X] * step <= most &&
         k->in->shape[FC_AXIS_Y] <= most && k->in->shape[FC_AXIS_C] <= most;
}

static int runs_of(const pick *k, fc_peak_row row) {
  const int step = fc_winstat_side_by_side(k->in);
  return fc_peak_runs(row, step, k->across, fc_peak_skew(k->w, k->in, step));
}

static int takes_deviation(const pick *k, int which) {
  enum { ROWS = 8, MOST = 64 }; /* of a step; of a window */
  (void)which;
  return k->in->dtype == FC_U8 && suits_words(k, ROWS) && k->in->kind == k->out->kind && !k->w->shrink &&
         k->across <= MOST && k->tall <= MOST && runs_of(k, fc_deviation_row()) > 0 &&
         fits(k, fc_deviation_bytes(k->tall), 1);
}

/* A step has as many rows as a segment; signals of few would leave most of it unused. A single row is folded
 * into several. */
static int takes_spread(const pick *k, int which) {
  enum { MOST = FC_WINSTAT_SPREAD_MOST };
  const int64_t rows = k->in->extent[FC_AXIS_Y];
  (void)which;
  return k->in->dtype == FC_F32 && k->w->compute == FC_F32 && !k->w->shrink && k->across <= MOST &&
         k->tall <= MOST && (rows == FC_UNKNOWN || rows == 1 || rows >= RUN / 2);
}

/* ---- extremes --------------------------------------------------------------------------------- */

/* Whether samples are compared as they are stored, and results stored the same way. */
static int is_compared(const pick *k) {
  return k->in->dtype == k->out->dtype && k->in->dtype != FC_I32 && k->in->dtype != FC_F64 &&
         (k->in->dtype != FC_F32 || k->w->compute == FC_F32);
}

static int takes_peak(const pick *k, int which) {
  (void)which;
  return is_compared(k) && suits_words(k, RUN / 2) && k->across <= FC_WINSTAT_ROW_BLOCK + 1 &&
         k->tall <= FC_WINSTAT_ROW_BLOCK + 1 && runs_of(k, fc_peak_row_of(k->in->dtype)) > 0 &&
         fits(k, fc_peak_bytes(k->in->dtype, k->tall), 1);
}

/* ---- boxes -------------------------------------------------------------------------------------- */

/* The statistics that strips.cu makes. Decided by the window and the type of samples alone: by the largest
 * memory that any view needs, with both quantities at once, and a constant for all chips, so that the order
 * in which floats are added depends neither on the view nor on the chip nor on what else is asked for. */
static unsigned strips_of(const pick *k) {
  const fc_winstat *w = k->w;
  const int dtype = k->in->dtype;
  if (k->across > FC_STRIPS_COLUMNS || k->tall > FC_STRIPS_ROWS || k->across == 1) return 0;
  /* Rows of floats have kernels that are faster; single columns have kernels of their own. */
  if (k->tall == 1 && dtype == FC_F32) return 0;
  if (dtype == FC_I32 || dtype == FC_F64 || (dtype == FC_F32 && w->compute != FC_F32)) return 0;
  int listed = 0;
  for (int i = 0; i < w->n_stats; i++) listed += (PLAIN | SQUARED) >> w->stat[i] & 1;
  if (listed > FC_STRIPS_LISTED || !fc_strips_fit(k->across, k->tall)) return 0;
  if (dtype == FC_F32) return PLAIN | SQUARED;
  const int64_t size = fc_winstat_magnitude(dtype), area = k->across * k->tall;
  return (area <= INT32_MAX / size ? PLAIN : 0) |
         (dtype == FC_U8 && area <= UINT32_MAX / (size * size) ? SQUARED : 0);
}

/* In columns and rows of the image; of a single column they are exchanged. */
static int takes_sums(const pick *k, int which) {
  const int turned = k->c->turned;
  return fc_winstat_is_box_of_floats(k->w->stat[which], k->in->dtype, k->w->compute,
                                     turned ? k->tall : k->across, turned ? k->across : k->tall);
}

static int takes_strips(const pick *k, int which) {
  return !k->c->whole && k->strips >> k->w->stat[which] & 1;
}

/* ---- rows of floats ------------------------------------------------------------------------------- */

static fc_line line_of(const pick *k) {
  return (fc_line){k->in->shape[FC_AXIS_X], k->in->origin[FC_AXIS_X], k->w->before[0], k->across};
}

static int64_t lines_of(const pick *k) {
  return k->in->shape[FC_AXIS_N] * k->in->shape[FC_AXIS_Y] * k->in->shape[FC_AXIS_C];
}

/* At most one statistic is a sum or mean and at most one is of squares, and 32 bits can number all columns
 * and rows. The number of these two, or 0. */
static int quantities_of(const pick *k) {
  const int64_t lines = lines_of(k);
  int sums = 0, squares = 0;
  for (int i = 0; i < k->w->n_stats; i++) {
    const unsigned bit = k->left & 1u << k->w->stat[i];
    sums += (bit & PLAIN) != 0, squares += (bit & SQUARED) != 0;
  }
  const fc_line l = line_of(k);
  const fc_line_tiles t = fc_line_tiles_of(&l, lines);
  const fc_winstat_span x = fc_winstat_read(k->w, k->in, NULL, 0, FC_AXIS_X);
  return sums <= 1 && squares <= 1 && k->in->shape[FC_AXIS_X] < 1 << 30 && x.hi < 1 << 30 &&
                 lines <= INT32_MAX / t.stretches
             ? sums + squares
             : 0;
}

/* Whether elements are floats, and 32 bits can number the words of a row. */
static int suits_short(const fc_view *v, int64_t columns) {
  const int64_t size = sizeof(float), most = 1 << 12; /* words from column to column, at most */
  for (int a = 0; a < FC_AXES; a++)
    if (v->stride[a] % size != 0) return 0;
  return v->dtype == FC_F32 && (uintptr_t)v->data % sizeof(float) == 0 && v->stride[FC_AXIS_X] > 0 &&
         v->stride[FC_AXIS_X] <= most * size && columns * (v->stride[FC_AXIS_X] / size) < INT32_MAX / 2 &&
         v->stride[FC_AXIS_C] / size < INT32_MAX;
}

/* Whether all rows are equally far apart, across frames too. */
static int follow(const pick *k) {
  const int64_t frames = k->in->shape[FC_AXIS_N], rows = k->in->shape[FC_AXIS_Y];
  return frames == 1 || (k->in->stride[FC_AXIS_N] == rows * k->in->stride[FC_AXIS_Y] &&
                         k->out->stride[FC_AXIS_N] == rows * k->out->stride[FC_AXIS_Y]);
}

static int is_interleaved(const pick *k) {
  const int64_t channels = k->in->shape[FC_AXIS_C];
  return channels > 1 && channels <= FC_SHORT_CHANNELS && k->in->stride[FC_AXIS_C] == sizeof(float);
}

/* Rows, with so many quantities. */
static int fits_short(const pick *k, int quantities) {
  const fc_line l = line_of(k);
  const int64_t channels = k->in->shape[FC_AXIS_C], frames = k->in->shape[FC_AXIS_N],
                rows = k->in->shape[FC_AXIS_Y], columns = k->in->shape[FC_AXIS_X];
  if (fc_line_groups_of(k->across).pieces > 1 || frames * rows > INT32_MAX / 2 / channels ||
      !suits_short(k->in, columns) || !suits_short(k->out, columns))
    return 0;
  const int together = is_interleaved(k);
  const fc_short_cut c =
      fc_short_cut_of(&l, together ? (int)channels : 1, quantities, follow(k) ? frames * rows : rows);
  const int64_t planes = channels / c.channels * (frames * rows / c.lines);
  return (c.lines + c.rows - 1) / c.rows * planes <= INT32_MAX / c.pieces && fits(k, fc_short_bytes(&c), 1);
}

static int is_row(const pick *k) {
  return fc_dtype_is_float(k->in->dtype) && k->w->compute == FC_F32 && k->tall == 1 &&
         k->across <= FC_WINSTAT_SLIDE_MAX;
}

/* Short rows, where windows are longer than a group still shorter ones; channels that are interleaved, and
 * results that are. */
static int is_short(const pick *k) {
  enum { COLUMNS = 2048, IN_LONG = 400 };
  const int64_t channels = k->in->shape[FC_AXIS_C], size = sizeof(float);
  return is_row(k) &&
         (is_interleaved(k) || (k->totals * channels > 1 && k->out->stride[FC_AXIS_X] != size) ||
          k->in->shape[FC_AXIS_X] <= (fc_line_groups_of(k->across).bits < 5 ? COLUMNS : IN_LONG));
}

static int takes_short(const pick *k, int which) {
  (void)which;
  if (!is_short(k)) return 0;
  const int quantities = quantities_of(k);
  return quantities > 0 && fits_short(k, quantities);
}

/* Images of a single column whose windows span few segments, so that each holds its one sample and the border
 * only. */
static int takes_single(const pick *k, int which) {
  const fc_winstat_span x = fc_winstat_read(k->w, k->in, NULL, 0, FC_AXIS_X);
  (void)which;
  return k->in->shape[FC_AXIS_X] == 1 && is_row(k) && fc_line_groups_of(k->across).segments < 2 &&
         (k->edges || (x.lo == 0 && x.hi == 1)) && follow(k) && quantities_of(k) > 0 &&
         suits_short(k->in, 1) && suits_short(k->out, 1) && lines_of(k) <= INT32_MAX / 2;
}

/* Samples and results are adjacent floats. */
static int takes_lines(const pick *k, int which) {
  const int64_t size = sizeof(float);
  const fc_view *in = k->in;
  (void)which;
  return is_row(k) && in->dtype == FC_F32 && in->stride[FC_AXIS_X] == size && (uintptr_t)in->data % 4 == 0 &&
         in->stride[FC_AXIS_Y] % size == 0 && in->stride[FC_AXIS_N] % size == 0 &&
         in->stride[FC_AXIS_C] % size == 0 && k->out->dtype == FC_F32 && k->out->stride[FC_AXIS_X] == size &&
         quantities_of(k) > 0;
}

static int takes_ring(const pick *k, int which) {
  const fc_line_groups g = fc_line_groups_of(k->across);
  return g.bits == 5 && takes_lines(k, which) && fits(k, fc_line_ring_bytes(&g, quantities_of(k)), 2);
}

static int takes_runs(const pick *k, int which) {
  (void)which;
  return is_row(k);
}

/* ---- the table ---------------------------------------------------------------------------------------- */

static const struct {
  fc_winstat_kernel kernel;
  unsigned stats;
  int (*takes)(const pick *k, int which);
} choices[] = {
    /* Of copy on an H200, by 15 x 15 unless said otherwise; times of 16384^2, of bytes of 134 MB. */
    {FC_WINSTAT_BY_DEVIATION, SPREADS, takes_deviation},   /* 0.067; general ones 0.009 */
    {FC_WINSTAT_BY_SPREAD, SPREADS, takes_spread},         /* 0.43; general ones 0.033 */
    {FC_WINSTAT_BY_PEAK, EXTREMES, takes_peak},            /* 0.26, to 257 */
    {FC_WINSTAT_BY_SUMS, PLAIN | SQUARED, takes_sums},     /* what is not composed */
    {FC_WINSTAT_BY_STRIPS, PLAIN | SQUARED, takes_strips}, /* 63 x 17 0.37 */
    {FC_WINSTAT_BY_SINGLE, PLAIN | SQUARED, takes_single}, /* 1.44 times the aligned time; rows 59 */
    {FC_WINSTAT_BY_SHORT, PLAIN | SQUARED, takes_short},   /* stereo 0.21; row_runs 0.88 */
    {FC_WINSTAT_BY_RING, PLAIN | SQUARED, takes_ring},     /* of 1000 0.841 ms; line_march 0.943 */
    {FC_WINSTAT_BY_LINES, PLAIN | SQUARED, takes_lines},   /* of 15 0.877 ms; row_runs 1.09 */
    {FC_WINSTAT_BY_RUNS, PLAIN | SQUARED, takes_runs},
};

static pick pick_of(const fc_winstat_case *c) {
  pick k = {.c = c, .w = c->w, .in = c->in, .out = c->out, .edges = c->edges};
  k.across = fc_winstat_across(c->w), k.tall = fc_winstat_tall(c->w);
  return k;
}

/* The statistics without a kernel so far. */
static void count_left(pick *k, const fc_winstat_kernel *kernel, unsigned strips) {
  k->left = k->strips = 0, k->totals = 0;
  for (int i = 0; i < k->w->n_stats; i++) {
    const unsigned bit = 1u << k->w->stat[i];
    if (kernel[i] != FC_WINSTAT_BY_ANY) continue;
    k->left |= bit, k->totals += (bit & (PLAIN | SQUARED)) != 0;
    k->strips |= bit & strips;
  }
}

static int is_whole(const fc_view *in) {
  for (int a = FC_AXIS_Y; a <= FC_AXIS_X; a++)
    if (in->origin[a] != 0 || in->shape[a] != in->extent[a]) return 0;
  return 1;
}

void fc_winstat_choose(const fc_winstat_case *c, fc_winstat_kernel kernel[FC_WINSTAT_STATS]) {
  pick k = pick_of(c);
  const unsigned strips = strips_of(&k);
  int some = 0; /* that the host has to make the border for */
  for (int i = 0; i < c->w->n_stats; i++) kernel[i] = FC_WINSTAT_BY_ANY;
  for (unsigned row = 0; row < sizeof choices / sizeof *choices; row++) {
    count_left(&k, kernel, strips);
    for (int i = 0; i < c->w->n_stats; i++)
      if (kernel[i] == FC_WINSTAT_BY_ANY && choices[row].stats >> c->w->stat[i] & 1 &&
          choices[row].takes(&k, i))
        kernel[i] = choices[row].kernel;
  }
  for (int i = 0; i < c->w->n_stats; i++) some |= c->whole && kernel[i] == FC_WINSTAT_BY_ANY;
  for (int i = 0; i < c->w->n_stats; i++)
    if (some || (c->whole && !is_whole(c->in))) kernel[i] = FC_WINSTAT_BY_HOST;
}

int fc_winstat_stands(const fc_winstat *w, const fc_view *in) {
  return in->extent[FC_AXIS_X] == 1 && in->extent[FC_AXIS_Y] != 1 &&
         (w->before[1] + w->after[1] > 0 || w->before[0] + w->after[0] == 0);
}

fc_winstat fc_winstat_turned(const fc_winstat *w) {
  fc_winstat t = *w;
  t.before[0] = w->before[1], t.before[1] = w->before[0];
  t.after[0] = w->after[1], t.after[1] = w->after[0];
  return t;
}

fc_view fc_winstat_turned_view(const fc_view *v) {
  fc_view t = *v;
  int64_t *const of[] = {t.shape, t.stride, t.origin, t.extent};
  for (size_t i = 0; i < sizeof of / sizeof *of; i++) {
    const int64_t columns = of[i][FC_AXIS_X];
    of[i][FC_AXIS_X] = of[i][FC_AXIS_Y], of[i][FC_AXIS_Y] = columns;
  }
  return t;
}
