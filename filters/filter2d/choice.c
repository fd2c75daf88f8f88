/* SPDX-License-Identifier: MIT */
/* choice.c - see choice.h. */
#include "filters/filter2d/choice.h"

#include <math.h>

#include "filters/filter2d/conv2d_strips.h"

enum {
  DIGIT_EDGES = 122, /* margin where the border is made: a thread has one byte of it, or of a word */
  QUADS_ALIGNED = 5, /* rows of windows for which, of aligned rows, sepconv/quads_bytes.cu is no faster */
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
  c.digits = in->dtype == FC_U8 && out->dtype == FC_U8 && is_plain(in) && is_plain(out);
  return c;
}

static double magnitude(const void *taps, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += fabs((double)((const float *)taps)[i]);
  return sum;
}

int fc_sepconv_in_floats(int64_t nx, int64_t ny, const int64_t extent[FC_AXES]) {
  const int64_t channels = extent[FC_AXIS_C], columns = extent[FC_AXIS_X] * channels,
                rows = extent[FC_AXIS_Y];
  return nx <= FC_SEPCONV_TAPS && ny <= FC_SEPCONV_TAPS &&
         (columns <= FC_FLOATS_MOST || columns == channels || (rows >= 0 && rows <= FC_FEW_ROWS));
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
  c.digits = c.digits && op->compute == FC_F32 && op->rank == 1 && suits_digits(op) &&
             !fc_sepconv_in_floats(op->nx, op->ny, in->extent);
  return c;
}

fc_case2d fc_conv2d_case(const fc_conv2d *op, const fc_view *in, const fc_edges *edges, const fc_view *out) {
  fc_case2d c = case_of(op->compute, op->nx, op->ny, in, edges, out);
  c.digits = c.digits && op->compute == FC_F32 && op->nx == op->ny && op->nx <= FC_CONV2D_TAPS_BYTES &&
             suits_bytes(op);
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

static int fits_digits(const fc_case2d *c) {
  return c->digits && c->nx <= FC_DIGIT_TAPS && c->ny <= FC_SEPCONV_TAPS &&
         !(c->edges && c->margin > DIGIT_EDGES);
}

/* Masks for which a thread of a composed kernel has too few registers, in images of a band and more. */
static int is_banded(int64_t nx, int64_t ny, int64_t step, int64_t columns) {
  return nx == ny && nx % 2 == 1 && nx >= FC_BAND_TAPS && nx <= FC_SEPCONV_TAPS && (step == 1 || step == 3) &&
         columns > FC_BAND_WIDTH;
}

static int takes_floats(const fc_case2d *c) {
  return are_floats(c) && is_banded(c->nx, c->ny, c->step, c->columns);
}

/* Windows of which words serve two products each. */
static int takes_quads_bytes(const fc_case2d *c) {
  if (!fits_digits(c) || c->ny > FC_QUADS_DOWN) return 0;
  const int ragged = c->in_apart % 4 != 0 || ((c->out_apart | c->out_low) & 3) != 0 || c->columns % 4 != 0;
  return FC_QUADS_OUTPUTS + c->margin + (ragged ? 0 : c->in_low % 4) <= FC_QUADS_WINDOW &&
         (ragged || c->ny > QUADS_ALIGNED);
}

static int takes_bytes(const fc_case2d *c) {
  if (c->separable) return fits_digits(c) && !is_one_wide(c);
  return c->digits && is_square(c, FC_CONV2D_TAPS_BYTES) && !is_one_wide(c) && c->step != 2 &&
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
    {FC_KERNEL2D_FLOATS, takes_floats}, /* 31 taps 0.67 of copy, a row of the table; composed 0.57 */
    {FC_KERNEL2D_QUADS_BYTES, takes_quads_bytes}, /* odd widths by 7 taps 1.23; bytes 1.54 */
    {FC_KERNEL2D_BYTES, takes_bytes}, /* u8 RGB 0.78, 0.63, 0.35 of copy by 3, 7, 15 taps, of the table */
    {FC_KERNEL2D_MARCH, takes_march}, /* other types and sizes, several terms; f32 0.56 to 0.68 of copy */
};
static const choice conv2d_choices[] = {
    {FC_KERNEL2D_BYTES, takes_bytes}, /* 3 x 3 0.61 of copy, a row of the table; composed 0.56 */
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

/* Of f32, 16384 x 16384 by separable masks of 3, 7, 15, 23 taps 569, 583, 572, 637 us, composed 539, 539,
 * 583, 643, and by 31 755 for 892; by 3 x 3, 7 x 7, 15 x 15 580, 594, 2342, composed 542, 596, 2276; where
 * rows begin anywhere, of several channels, or narrow, composed ones won by up to 1.5. */
int fc_filter2d_is_quick(const fc_signal2d *s) {
  const int64_t channels = s->extent[FC_AXIS_C], columns = s->extent[FC_AXIS_X] * channels,
                rows = s->extent[FC_AXIS_Y];
  const int floats = s->in_dtype == FC_F32 && s->out_dtype == FC_F32,
            bytes = s->in_dtype == FC_U8 && s->out_dtype == FC_U8, square = s->nx == s->ny && s->nx % 2 == 1;
  if (bytes && s->separable) return !fc_sepconv_in_floats(s->nx, s->ny, s->extent);
  if (rows == 1 || columns == channels) return 0; /* filters/gpu/few.cuh */
  if (bytes) return square && s->nx <= FC_CONV2D_TAPS_BYTES && channels != 2 && columns >= 2 * FC_BAND_WIDTH;
  return floats && s->separable && !(rows > 0 && rows <= FC_FEW_ROWS) &&
         is_banded(s->nx, s->ny, channels, s->extent[FC_AXIS_X]);
}
