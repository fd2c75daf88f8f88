/* SPDX-License-Identifier: MIT */
/* choice.c - see choice.h. */
#include "filters/filter2d/choice.h"

#include <math.h>

#include "filters/filter2d/conv2d_strips.h"

enum {
  DIGIT_EDGES = 122,   /* margin where the border is made: a thread has one byte of it, or of a word */
  QUADS_ALIGNED = 5,   /* rows of windows for which, of aligned rows, sepconv/quads_bytes.cu is no faster */
  NARROW_FLOATS = 128, /* columns beyond which narrow.cu is slower, of floats of sepconv */
  /* columns beyond which bands are faster; of masks of at most 7 rows SHORT, of long ones FC_BAND_WIDTH */
  WAYS_BYTES_MOST = 768,
  WAYS_BYTES_SHORT = 1023
};

/* ---- the case ---------------------------------------------------------------------- */

static int32_t low_bits(int64_t v) {
  return (int32_t)(v & 15);
}

/* The bits that distances from row to row have in common, of channels as planes too. */
static int32_t apart(const fc_view *v, int joined) {
  return low_bits((v->shape[FC_AXIS_N] > 1 ? v->stride[FC_AXIS_N] : 0) |
                  (!joined && v->shape[FC_AXIS_C] > 1 ? v->stride[FC_AXIS_C] : 0) | v->stride[FC_AXIS_Y]);
}

/* Whether codes are values. */
static int is_plain(const fc_view *v) {
  const fc_scaling s = fc_scaling_of(v->kind, v->dtype);
  return s.scale == 1 && s.bias == 0;
}

static fc_case2d case_of(int compute, int64_t nx, int64_t ny, const fc_view *in, const fc_edges *edges,
                         const fc_view *out) {
  const int joined = fc_rows_joined(in) && fc_rows_joined(out);
  const int64_t channels = out->shape[FC_AXIS_C], step = joined ? channels : 1;
  const int64_t in_size = (int64_t)fc_dtype_size(in->dtype), out_size = (int64_t)fc_dtype_size(out->dtype);
  fc_case2d c = {.compute = compute, .in_dtype = in->dtype, .out_dtype = out->dtype, .nx = nx, .ny = ny};
  c.rank = 1, c.edges = edges != NULL;
  c.adjacent = (joined || (in->stride[FC_AXIS_X] == in_size && out->stride[FC_AXIS_X] == out_size)) &&
               in->dtype != FC_F64 && step <= FC_MARCH_STEP && (nx - 1) * step <= FC_MARCH_MARGIN &&
               nx <= FC_MARCH_MARGIN;
  for (int a = FC_AXIS_Y; edges && a <= FC_AXIS_X; a++) /* the views must end where the signal does */
    c.adjacent &= in->origin[a] == 0 && in->shape[a] == in->extent[a] && in->shape[a] == out->shape[a];
  if (!c.adjacent) return c;
  c.step = (int32_t)step, c.margin = (nx - 1) * step;
  c.columns = out->shape[FC_AXIS_X] * step, c.height = out->shape[FC_AXIS_Y];
  c.in_low = low_bits((intptr_t)fc_view_at(in, 0, -(ny / 2), -(nx / 2), 0)), c.in_apart = apart(in, joined);
  c.out_low = low_bits((intptr_t)out->data), c.out_apart = apart(out, joined);
  c.dense = in->stride[FC_AXIS_Y] == c.columns * in_size && out->stride[FC_AXIS_Y] == c.columns * out_size;
  c.digits = in->dtype == FC_U8 && out->dtype == FC_U8 && is_plain(in) && is_plain(out);
  return c;
}

static double magnitude(const void *taps, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += fabs((double)((const float *)taps)[i]);
  return sum;
}

/* Whether the numbers suit integers of 24 bits and the rounding of the store; not if one is not a number. */
static int suits_digits(const fc_sepconv *op) {
  const double x = magnitude(op->x, op->nx), y = magnitude(op->y, op->ny);
  return x >= 0x1p-40 && x <= 0x1p40 && y <= 0x1p40 && 255 * x * y < 0x1p21;
}

/* Whether sums are integers of 16 bits, and none is subnormal. */
static int suits_bytes(const fc_conv2d *op) {
  const float *taps = op->mask;
  for (int64_t i = 0; i < op->nx * op->ny; i++)
    if (taps[i] != 0 && !(fabsf(taps[i]) >= 0x1p-60f)) return 0;
  return magnitude(taps, op->nx * op->ny) <= 32000 / 255.0;
}

fc_case2d fc_sepconv_case(const fc_sepconv *op, const fc_view *in, const fc_edges *edges,
                          const fc_view *out) {
  fc_case2d c = case_of(op->compute, op->nx, op->ny, in, edges, out);
  c.separable = 1, c.rank = op->rank;
  c.digits = c.digits && op->compute == FC_F32 && op->rank == 1 && suits_digits(op);
  return c;
}

fc_case2d fc_conv2d_case(const fc_conv2d *op, const fc_view *in, const fc_edges *edges, const fc_view *out) {
  fc_case2d c = case_of(op->compute, op->nx, op->ny, in, edges, out);
  c.digits =
      c.digits && op->compute == FC_F32 && op->nx == op->ny && op->nx <= FC_CONV2D_TAPS && suits_bytes(op);
  return c;
}

/* ---- predicates ------------------------------------------------------------------------ */

static int is_square(const fc_case2d *c, int64_t most) {
  return c->nx == c->ny && c->nx % 2 == 1 && c->nx >= 3 && c->nx <= most;
}

/* A band or a strip would occupy one thread of a block: 238 to 1132 times the aligned time a byte. */
static int is_one_wide(const fc_case2d *c) {
  return c->columns == c->step;
}

static int are_floats(const fc_case2d *c) {
  return c->in_dtype == FC_F32 && c->out_dtype == FC_F32 && c->rank == 1;
}

/* Not images so low that many rows would be summed twice. */
static int is_tall(const fc_case2d *c) {
  return 5 * (c->height + c->ny - 1) <= 8 * c->height && c->height >= c->ny / 2 &&
         c->columns <= INT32_MAX / 4 && c->height <= INT32_MAX / 4;
}

/* Blocks of a few threads more or less, and bands of a row: those of which most threads have outputs. */
fc_ways_sharing fc_ways_share(int64_t columns, int64_t step, int64_t margin) {
  const int64_t pixels = columns / step;
  fc_ways_sharing best = {0};
  for (int64_t threads = 64; threads <= FC_WAYS_THREADS; threads += 32) {
    const int64_t least = (columns + 4 * threads - 1) / (4 * threads);
    for (int64_t bands = least; bands < least + 3; bands++) {
      const int64_t quads = ((pixels + bands - 1) / bands + 3) / 4, lanes = quads * step,
                    together = threads / lanes;
      const double beside = 8 + 0.2 * (double)margin,
                   outputs = (double)(columns * together) / (double)(4 * bands * threads),
                   worth = outputs * (double)(4 * lanes) / ((double)(4 * lanes) + beside);
      if (worth > best.worth) best = (fc_ways_sharing){bands, (int)quads, (int)together, (int)threads, worth};
    }
  }
  best.bands = best.quads ? (pixels + 4 * best.quads - 1) / (4 * best.quads) : 0;
  return best;
}

/* Where bands have no kernel or a slow one, because windows are wide or many threads have no columns. */
static int takes_ways(const fc_case2d *c) {
  if (!are_floats(c) || !is_square(c, FC_SEPCONV_TAPS) || is_one_wide(c) || !is_tall(c)) return 0;
  const fc_ways_sharing s = fc_ways_share(c->columns, c->step, c->margin);
  if (s.threads == 0) return 0;
  if (c->step == 2 || c->step == 4 || (c->step == 3 && c->nx > 15)) return 1;
  return c->columns <= FC_BAND_WIDTH && (double)c->columns < 0.8 * FC_BAND_WIDTH * s.worth;
}

int fc_case2d_digits(const fc_case2d *c) {
  return c->digits && c->nx <= FC_DIGIT_TAPS && c->ny <= FC_SEPCONV_TAPS;
}

static int fits_digits(const fc_case2d *c) {
  return fc_case2d_digits(c) && !(c->edges && c->margin > DIGIT_EDGES);
}

static int takes_ways_bytes(const fc_case2d *c) {
  return fits_digits(c) && !is_one_wide(c) && is_tall(c) && c->in_apart % 4 == 0 &&
         c->columns <= (c->ny <= 7    ? WAYS_BYTES_SHORT
                        : c->ny <= 15 ? WAYS_BYTES_MOST
                                      : FC_BAND_WIDTH);
}

/* Rows too short for bands; a single column is a line. */
static int takes_narrow(const fc_case2d *c) {
  const int64_t taps = c->separable ? FC_NARROW_TAPS : FC_CONV2D_TAPS,
                most = c->separable && are_floats(c) ? NARROW_FLOATS : FC_NARROW_COLUMNS;
  return c->rank == 1 && c->columns <= most && !is_one_wide(c) && c->nx <= taps && c->ny <= taps;
}

static int takes_narrow_bytes(const fc_case2d *c) {
  return c->digits && is_square(c, FC_CONV2D_TAPS_LOW) && c->step % 2 == 1 &&
         c->columns <= FC_NARROW_COLUMNS && !is_one_wide(c);
}

/* One row, or one column that lies like a row. */
static int is_line(const fc_case2d *c) {
  return c->edges &&
         (c->height == 1 || (is_one_wide(c) && c->dense && (c->ny - 1) * c->step <= FC_MARCH_MARGIN));
}

static int takes_line(const fc_case2d *c) {
  return is_line(c) && are_floats(c) && is_square(c, c->separable ? FC_SEPCONV_TAPS : FC_CONV2D_TAPS) &&
         c->step % 2 == 1;
}

static int takes_line_bytes(const fc_case2d *c) {
  return is_line(c) &&
         (c->separable ? fits_digits(c) : c->digits && is_square(c, FC_CONV2D_TAPS_LOW) && c->step % 2 == 1);
}

int fc_case2d_is_thin(int64_t height, int64_t ny) {
  return height <= FC_THIN_ROWS && height < ny && ny <= FC_MARCH_MARGIN;
}

/* Fewer rows than a window has, or fewer columns of a line. */
static int takes_thin(const fc_case2d *c) {
  if (!c->edges || !are_floats(c) || c->step % 2 == 0) return 0;
  return fc_case2d_is_thin(c->height, c->ny) || (is_line(c) && c->height > 1 && c->nx > 1);
}

static int takes_thin_bytes(const fc_case2d *c) {
  return c->edges && c->height <= FC_THIN_ROWS && fits_digits(c);
}

static int takes_floats(const fc_case2d *c) {
  if (!are_floats(c) || is_one_wide(c)) return 0;
  if (c->separable) return is_square(c, FC_SEPCONV_TAPS) && (c->step == 1 || c->step == 3);
  return is_square(c, c->step == 4 ? FC_CONV2D_TAPS_FOUR : FC_CONV2D_TAPS) && c->step != 2;
}

/* Windows of which words serve two products each. */
static int takes_quads_bytes(const fc_case2d *c) {
  if (!fits_digits(c) || c->ny > FC_QUADS_DOWN) return 0;
  const int ragged = c->in_apart % 4 != 0 || ((c->out_apart | c->out_low) & 3) != 0 || c->columns % 4 != 0;
  return FC_QUADS_OUTPUTS + c->margin + (ragged ? 0 : c->in_low % 4) <= FC_QUADS_WINDOW &&
         (ragged || c->ny > QUADS_ALIGNED);
}

static int takes_bytes(const fc_case2d *c) {
  if (c->separable) return fits_digits(c);
  return c->digits && is_square(c, FC_CONV2D_TAPS_LOW) && !is_one_wide(c) && c->step != 2 &&
         c->columns <= INT32_MAX / 4;
}

static int takes_march(const fc_case2d *c) {
  return !c->edges && !is_one_wide(c) && c->ny <= FC_SEPCONV_TAPS;
}

/* ---- the tables -------------------------------------------------------------------------- */

typedef struct choice {
  fc_kernel2d kernel;
  int (*takes)(const fc_case2d *c); /* of adjacent elements, in f32 */
} choice;

/* Times a byte, of the aligned case's, unless said otherwise; H200. */
static const choice sepconv_choices[] = {
    {FC_KERNEL2D_WAYS, takes_ways},             /* f32 RGBA by 31 taps 1.45; bands 3.24; not composed */
    {FC_KERNEL2D_WAYS_BYTES, takes_ways_bytes}, /* u8 100 wide 1.75; bands 4.4 */
    {FC_KERNEL2D_NARROW, takes_narrow},         /* f32 32 x 32 by 31 taps 0.28 of copy; composed 0.02 */
    {FC_KERNEL2D_LINE, takes_line}, /* one row by 7, 31 taps 0.88, 0.59 of copy; composed 0.23, 0.02 */
    {FC_KERNEL2D_LINE_BYTES, takes_line_bytes}, /* 1.2; bands as many times as a window has rows */
    {FC_KERNEL2D_THIN, takes_thin},             /* 8 rows by 31 taps 0.43 of copy; composed 0.09 */
    {FC_KERNEL2D_THIN_BYTES, takes_thin_bytes}, /* 1.3; bands 2.4 */
    {FC_KERNEL2D_FLOATS, takes_floats}, /* 0.87, 0.88, 0.67 of copy by 7, 15, 31 taps, rows of the table */
    {FC_KERNEL2D_QUADS_BYTES, takes_quads_bytes}, /* odd widths by 7 taps 1.23; bytes 1.54 */
    {FC_KERNEL2D_BYTES, takes_bytes}, /* u8 RGB 0.78, 0.63, 0.35 of copy by 3, 7, 15 taps, of the table */
    {FC_KERNEL2D_MARCH, takes_march}, /* several terms */
};
static const choice conv2d_choices[] = {
    {FC_KERNEL2D_NARROW_BYTES,
     takes_narrow_bytes},               /* 32 x 32 of u8 0.38 of copy by 3 x 3; not composed; bands 3.3 */
    {FC_KERNEL2D_NARROW, takes_narrow}, /* 32 x 32 of f32 0.65, 0.49 of copy by 3, 7; composed 0.44, none */
    {FC_KERNEL2D_LINE, takes_line},     /* one row by 3, 7 0.89, 0.68 of copy; composed 0.42, 0.12 */
    {FC_KERNEL2D_LINE_BYTES, takes_line_bytes}, /* 0.52, 0.21; composed 0.17, 0.03 */
    {FC_KERNEL2D_FLOATS, takes_floats}, /* 0.88, 0.84 of copy by 3, 7, 0.77 of peak by 15, of the table */
    {FC_KERNEL2D_BYTES,
     takes_bytes}, /* 0.64, 0.21 by 3, 7, of the table; composed 0.50, 0.19, by 15 as fast */
};

fc_kernel2d fc_case2d_choose(const fc_case2d *c, fc_kernel2d from) {
  const choice *all = c->separable ? sepconv_choices : conv2d_choices;
  const int count =
      c->separable ? (int)(sizeof sepconv_choices / sizeof *all) : (int)(sizeof conv2d_choices / sizeof *all);
  for (int i = 0; i < count && c->adjacent && c->compute == FC_F32; i++)
    if (all[i].kernel >= from && all[i].takes(c)) return all[i].kernel;
  return c->edges ? FC_KERNEL2D_HOST : FC_KERNEL2D_TILES;
}

/* ---- or composed ------------------------------------------------------------------------- */

/* Of f32, 31 taps of separable masks 0.50 of copy for 0.36, 7 square ones 0.73 for 0.69; RGBA by 7 taps 0.65
 * for 0.81, and square ones from 9 on have no kernel, as dense masks have none on two channels; 100 wide by
 * 3 x 3 0.63 for 0.79; separable ones of up to 7 taps in many narrow images, 32 x 32 0.68 for 0.80, RGBA 24 x
 * 24 0.48 for 0.83, 45 x 45 by 7 0.41 for 0.61, but by 15 32 x 32 0.36 for 0.33. Dense masks on bytes 0.64
 * for 0.50 (3 x 3), 0.61 ms for 0.69 (7 x 7), 2.85 for 2.63 (15 x 15). Of 16 bits, 0.12 for 0.37 (7 taps,
 * RGB). */
int fc_filter2d_is_quick(const fc_signal2d *s) {
  enum { RGBA_LONG = 15, SMALL = 64, NARROW = 128, NARROW_LONG = 9 };
  const int64_t columns = s->extent[FC_AXIS_X] * s->extent[FC_AXIS_C];
  const int floats = s->in_dtype == FC_F32 && s->out_dtype == FC_F32,
            bytes = s->in_dtype == FC_U8 && s->out_dtype == FC_U8, flat = s->extent[FC_AXIS_Y] == 1;
  if (s->nx != s->ny || s->nx % 2 == 0 || !(floats || bytes)) return 0;
  if (!s->separable && s->nx > FC_CONV2D_TAPS) return 0;
  if (!s->separable && columns > FC_NARROW_COLUMNS &&
      (s->extent[FC_AXIS_C] == 2 || (bytes && s->nx > FC_CONV2D_TAPS_LOW)))
    return 0;
  if (bytes || flat) return 1;
  if (s->extent[FC_AXIS_C] == 4 && columns > FC_NARROW_COLUMNS)
    return s->separable ? s->nx >= RGBA_LONG : s->nx <= FC_CONV2D_TAPS_FOUR;
  if (s->separable && columns > 0 && columns <= NARROW && s->extent[FC_AXIS_N] > 1)
    return s->nx >= NARROW_LONG;
  return s->separable || s->nx > 3 || columns <= SMALL || columns > FC_NARROW_COLUMNS;
}
