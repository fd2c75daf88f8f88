/* SPDX-License-Identifier: MIT */
/*
 * dct_fft.c - processes blocks in lanes, as many at a time as fill a vector, more if they are short.
 *
 * Type II: the even values in order, then the odd ones backwards, are a real signal whose spectrum V gives
 * X[k] = 2 Re(w^k V[k]) and X[n-k] = -2 Im(w^k V[k]), w = exp(-pi i / 2n). Type III is the inverse, times 2n.
 */
#include <math.h>
#include <string.h>

#include "filters/base/blocks.h"
#include "filters/fourier/dct_fft.h"
#include "filters/fourier/fft_kernels.h"
#include "filters/base/integers.h"
#include "filters/fourier/stft_kernels.h"
#include "filters/base/turn.h"

/* Short blocks are processed together until a plane has this many values. */
#define TILE_VALUES 2048

int fc_dct_fft_is_second(const fc_dct *d) {
  return (d->type == 2) != (d->inverse != 0);
}

/* ---- the plan ------------------------------------------------------------------- */

static int64_t pairs_at(void) {
  return fc_align64((int64_t)sizeof(fc_dct_fft));
}

static int64_t real_at(int64_t n, int compute) {
  return fc_align64(pairs_at() + (n / 2 + 1) * 2 * (int64_t)fc_dtype_size(compute));
}

size_t fc_dct_fft_bytes(int64_t n, int compute) {
  size_t real = fc_rfft_bytes(n, compute);
  return real ? (size_t)real_at(n, compute) + real : 0;
}

double fc_dct_fft_weight(const fc_dct *d, int64_t k) {
  double n = (double)d->size;
  if (d->orthonormal) return sqrt(k == 0 ? 0.25 / n : 0.5 / n) * (k == 0 && !fc_dct_fft_is_second(d) ? 2 : 1);
  return d->inverse ? 0.5 / n : 1;
}

static void set_pair(const fc_dct_fft *plan, int64_t k) {
  double c, s,
      w = fc_dct_fft_weight(&plan->dct, k) * (fc_dct_fft_is_second(&plan->dct) ? 2 : (double)plan->dct.size);
  void *pairs = (char *)plan + plan->pairs;
  fc_turn(k, 4 * plan->dct.size, &c, &s);
  if (plan->compute == FC_F64)
    ((double *)pairs)[2 * k] = w * c, ((double *)pairs)[2 * k + 1] = w * s;
  else
    ((float *)pairs)[2 * k] = (float)(w * c), ((float *)pairs)[2 * k + 1] = (float)(w * s);
}

fc_status fc_dct_fft_init(fc_dct_fft *plan, const fc_dct *dct, int compute, int isa, int axis, int64_t rows,
                          int64_t cols) {
  int64_t n = dct->size;
  if (fc_dct_fft_bytes(n, compute) == 0 || axis < 0 || axis >= FC_AXES) return FC_INVALID;
  if (rows < 1 || rows > n || cols < 1 || cols > n) return FC_INVALID;
  *plan = (fc_dct_fft){*dct, compute, isa, axis, rows, cols, pairs_at(), real_at(n, compute), NULL};
  for (int64_t k = 0; k <= n / 2; k++) set_pair(plan, k);
  return fc_rfft_init((fc_rfft *)(void *)((char *)plan + plan->real), n, compute, isa);
}

/* ---- scratch -------------------------------------------------------------------- */

typedef struct tile {
  const fc_dct_fft *plan;
  const fc_rfft *real;
  const fc_stft_kernels *k;
  const fc_fft_kernels *f;
  uint32_t *notes;
  int64_t lanes, size, row; /* of a row of lanes in bytes */
  char *values;             /* n rows: values or coefficients in order */
  char *x, *re, *im;        /* n rows in the order of the spectrum's signal, and its spectrum */
  char *turned, *taint, *rest;
  int64_t bytes;
} tile;

static int64_t most_lanes(const fc_dct_fft *plan, const fc_rfft *real) {
  int64_t lanes = fc_rfft_lanes(real), together = TILE_VALUES / (lanes * plan->dct.size);
  return lanes * (together > 1 ? together : 1);
}

/* At most as many lanes as there are lines: a single line must not be transformed for idle lanes too. */
static tile tile_of(const fc_dct_fft *plan, int64_t lines, char *scratch) {
  tile t = {.plan = plan, .real = (const fc_rfft *)(const void *)((const char *)plan + plan->real)};
  t.k = fc_stft_kernels_of(plan->isa, plan->compute);
  t.f = fc_fft_kernels_of(plan->isa, plan->compute);
  t.lanes = fc_smaller(most_lanes(plan, t.real), lines);
  t.size = (int64_t)fc_dtype_size(plan->compute);
  t.row = t.lanes * t.size;
  int64_t plane = fc_align64(plan->dct.size * t.row), bins = fc_align64((plan->dct.size / 2 + 1) * t.row);
  t.values = scratch;
  t.x = t.values + plane;
  t.re = t.x + plane;
  t.im = t.re + bins;
  t.turned = t.im + bins;
  t.taint = t.turned + plane;
  t.rest = t.taint + fc_align64(t.row);
  t.bytes = t.rest - scratch + (int64_t)fc_rfft_scratch(t.real, t.lanes);
  return t;
}

size_t fc_dct_fft_scratch(const fc_dct_fft *plan) {
  return (size_t)tile_of(plan, INT64_MAX, fc_nowhere()).bytes;
}

/* ---- the transform ---------------------------------------------------------------- */

/* The row of value i in the signal that the spectrum is taken of. */
static int64_t place(int64_t i, int64_t n) {
  return i % 2 == 0 ? i / 2 : n - 1 - i / 2;
}

/* Whether any lane has non-finite values; t->taint says which. */
static int tainted(const tile *t) {
  int any = 0;
  memset(t->taint, 0, (size_t)t->row);
  t->k->taint(t->taint, t->values, t->plan->cols, t->lanes);
  for (int64_t l = 0; l < t->lanes; l++)
    any |= isnan(t->size == 8 ? ((double *)t->taint)[l] : (double)((float *)t->taint)[l]) != 0;
  return any;
}

/* From `cols` rows of values to n rows of results, in place. */
static void transform(const tile *t) {
  const fc_dct_fft *plan = t->plan;
  int64_t n = plan->dct.size;
  const void *pairs = (const char *)plan + plan->pairs;
  fc_planes z = {t->re, t->im};
  int bad = tainted(t);
  memset(t->values + plan->cols * t->row, 0, (size_t)((n - plan->cols) * t->row));
  if (fc_dct_fft_is_second(&plan->dct)) {
    for (int64_t i = 0; i < n; i++)
      memcpy(t->x + place(i, n) * t->row, t->values + i * t->row, (size_t)t->row);
    fc_rfft_forward(t->real, t->x, t->re, t->im, t->lanes, t->rest);
    t->f->to_cosines(t->values, z, pairs, n, t->lanes);
  } else {
    t->f->from_cosines(z, t->values, pairs, n, t->lanes);
    fc_rfft_inverse(t->real, t->re, t->im, t->x, t->lanes, t->rest);
    for (int64_t i = 0; i < n; i++)
      memcpy(t->values + i * t->row, t->x + place(i, n) * t->row, (size_t)t->row);
  }
  if (bad) t->k->spread(t->values, t->taint, n, t->lanes);
}

/* ---- along: lanes are blocks of the axis -------------------------------------------- */

typedef struct run {
  tile t;
  const fc_view *in, *out;
  fc_blocks b;
} run;

/* Copies blocks [first, first + count), numbered through all lines, to or from t.turned, line by line. */
static void move_blocks(const run *r, int64_t first, int64_t count, int storing) {
  const tile *t = &r->t;
  const fc_dct_fft *plan = t->plan;
  for (int64_t l = 0, stretch; l < count; l += stretch) {
    int64_t line = (first + l) / r->b.each, block = (first + l) % r->b.each;
    stretch = fc_smaller(r->b.each - block, count - l);
    if (storing)
      fc_store(fc_line_at(&r->b, r->out, r->out, line) + block * r->b.out_block, r->b.out_step,
               t->turned + l * plan->rows * t->size, plan->compute, stretch * plan->rows, r->out->kind,
               r->out->dtype, t->notes);
    else
      fc_load(t->turned + l * plan->cols * t->size, plan->compute,
              fc_line_at(&r->b, r->in, r->out, line) + block * r->b.in_block, r->b.in_step,
              stretch * plan->cols, r->in->kind, r->in->dtype);
  }
}

static void along(const run *r) {
  const tile *t = &r->t;
  const fc_dct_fft *plan = t->plan;
  int64_t total = r->b.lines * r->b.each;
  for (int64_t first = 0; first < total; first += t->lanes) {
    int64_t count = fc_smaller(t->lanes, total - first);
    move_blocks(r, first, count, 0);
    t->k->gather(t->values, t->turned, plan->cols, NULL, plan->cols, count, t->lanes);
    transform(t);
    t->k->scatter(t->turned, t->values, plan->rows, count, t->lanes);
    move_blocks(r, first, count, 1);
  }
}

/* ---- across: lanes are neighbouring positions ------------------------------------------ */

/* The blocks of `count` positions that lie in_next, out_next bytes apart. */
static void across_tile(const run *r, const char *from, int64_t in_next, char *to, int64_t out_next,
                        int64_t count) {
  const tile *t = &r->t;
  for (int64_t b = 0; b < r->b.each; b++, from += r->b.in_block, to += r->b.out_block) {
    if (count < t->lanes) memset(t->values, 0, (size_t)(t->plan->cols * t->row));
    for (int64_t i = 0; i < t->plan->cols; i++)
      fc_load(t->values + i * t->row, t->plan->compute, from + i * r->b.in_step, in_next, count, r->in->kind,
              r->in->dtype);
    transform(t);
    for (int64_t i = 0; i < t->plan->rows; i++)
      fc_store(to + i * r->b.out_step, out_next, t->values + i * t->row, t->plan->compute, count,
               r->out->kind, r->out->dtype, t->notes);
  }
}

/* Along Y, N, or separate channels: positions along X, with the channels if they are contiguous. */
static void across(const run *r) {
  const fc_view *in = r->in, *out = r->out;
  int axis = r->t.plan->axis, one_run = axis != FC_AXIS_C && fc_is_one_run(in) && fc_is_one_run(out);
  int next = one_run ? FC_AXIS_C : FC_AXIS_X;
  int64_t length = out->shape[FC_AXIS_X] * (one_run ? out->shape[FC_AXIS_C] : 1), count[FC_AXES],
          at[FC_AXES] = {0};
  for (int a = 0; a < FC_AXES; a++)
    count[a] = a == axis || a == FC_AXIS_X || (a == FC_AXIS_C && one_run) ? 1 : out->shape[a];
  for (at[0] = 0; at[0] < count[0]; at[0]++)
    for (at[1] = 0; at[1] < count[1]; at[1]++)
      for (at[3] = 0; at[3] < count[3]; at[3]++)
        for (int64_t i = 0; i < length; i += r->t.lanes)
          across_tile(r, (char *)fc_view_at(in, at[0], at[1], 0, at[3]) + i * in->stride[next],
                      in->stride[next],
                      (char *)fc_view_at(out, at[0], at[1], 0, at[3]) + i * out->stride[next],
                      out->stride[next], fc_smaller(r->t.lanes, length - i));
}

fc_status fc_dct_fft_check(const fc_dct_fft *plan, const fc_view *in, const fc_view *out) {
  if (out->shape[plan->axis] % plan->rows != 0) return FC_INVALID;
  for (int a = 0; a < FC_AXES; a++)
    if (a != plan->axis && out->shape[a] != in->shape[a]) return FC_INVALID;
  return FC_OK;
}

fc_status fc_dct_fft_cpu(const fc_dct_fft *plan, const fc_view *in, const fc_view *out, void *scratch,
                         uint32_t *notes) {
  fc_status status = fc_dct_fft_check(plan, in, out);
  if (status != FC_OK || fc_view_count(out) == 0) return status;
  run r = {.in = in, .out = out, .b = fc_blocks_of(plan->axis, plan->rows, plan->cols, in, out)};
  int dense = in->stride[plan->axis] == (int64_t)fc_dtype_size(in->dtype);
  int by_blocks = plan->axis == FC_AXIS_X || (plan->axis == FC_AXIS_C && dense);
  r.t = tile_of(plan, r.b.lines * (by_blocks ? r.b.each : 1), scratch);
  r.t.notes = notes;
  (by_blocks ? along : across)(&r);
  return FC_OK;
}

static fc_status apply(const void *self, const fc_view *in, const fc_view *out, void *scratch,
                       uint32_t *notes) {
  return fc_dct_fft_cpu(self, in, out, scratch, notes);
}

fc_pass fc_dct_fft_pass(const fc_dct_fft *plan) {
  return (fc_pass){plan->rows, plan->cols, plan, fc_dct_fft_scratch(plan), apply};
}

/* ---- when --------------------------------------------------------------------------- */

static int64_t largest_prime(int64_t n) {
  int64_t p = 2;
  for (; p * p <= n; p++)
    while (n % p == 0 && n > p) n /= p;
  return n;
}

/*
 * Measured with AVX-512, one core, ns a value by matrix | by Fourier transform: n = 32 0.74 | 0.87, 40 1.12 |
 * 0.95, 48 1.03 | 1.02, 64 1.3 | 1.0, 96 1.9 | 1.4, 256 4.9 | 1.4, 1024 39 | 2.0; with large primes 31 0.84 |
 * 1.9; by convolution 129 2.9 | 5.1, 211 4.5 | 5.0, 257 5.3 | 5.0, 509 14 | 10. f64 is twice that, both ways.
 * A radix costs in proportion to its size, and odd lengths need a complex transform.
 */
int fc_dct_fft_pays(int64_t n) {
  int64_t p = largest_prime(n);
  if (p > FC_FFT_LARGEST_PRIME) return n >= 512;
  return n >= (n % 2 ? 2 : 1) * (32 + 3 * p);
}

/*
 * On a GPU: a row of the table is whether a launch takes a length, and its predicted time. Measured on an
 * H200, us for 16 Mi f32 by transform | by matrix: along X 20 139 | 186, 24 137 | 116, 48 138 | 122, 96 144 |
 * 125, 128 49 | 125, 256 143 | 189, 512 146 | 328, 2048 134 | 1139; with primes of 7 to 31 448 196 | 361, 352
 * 224 | 268, 520 233 | 423, 272 291 | 264, 310 569 | 345, 403 1024 | 464; by convolution 257 657 | 339, 509
 * 505 | 477, 1021 616 | 865; along Y, where each row of blocks is a product, 24 142 | 842, 96 163 | 318, 310
 * 629 | 349, 257 969 | 378, 509 726 | 403, 1021 877 | 779. By the matrix's tiled product of other chips there
 * (sm_90 has a faster one) 97 596, 257 823, 1021 2599. Up to 16 a thread multiplies a block in its registers,
 * and along two axes in one kernel.
 */
typedef struct candidate {
  int (*takes)(int64_t n, int compute, int alone, int major);
  double (*cost)(int64_t n, int major);
} candidate;

static int takes_blocks(int64_t n, int compute, int alone, int major) {
  (void)major;
  return (n == 8 && alone) || n == 32 || n == 64 || (n == 128 && compute == FC_F32);
}

static double cost_of_blocks(int64_t n, int major) {
  (void)n, (void)major;
  return 45;
}

static int takes_lines(int64_t n, int compute, int alone, int major) {
  (void)compute, (void)alone;
  const int64_t p = largest_prime(n);
  if (p <= 5) return n > 16;
  return n >= (p > 19 && major == 9 ? 768 : 256);
}

/* Of primes whose butterflies fit into registers, of others, and by butterflies of many or convolution. */
static double cost_of_lines(int64_t n, int major) {
  (void)major;
  const int64_t p = largest_prime(n);
  return p <= 5 ? 145 : p <= 19 ? 140 + 8 * (double)p : 600;
}

static int takes_matrix(int64_t n, int compute, int alone, int major) {
  (void)n, (void)compute, (void)alone, (void)major;
  return 1;
}

static double cost_of_matrix(int64_t n, int major) {
  if (n <= 16) return 45;
  return major == 9 ? 60 + 0.53 * (double)n : 100 + 2.5 * (double)n;
}

static const candidate candidates[] = {
    [FC_DCT_BLOCKS] = {takes_blocks, cost_of_blocks},
    [FC_DCT_LINES] = {takes_lines, cost_of_lines},
    [FC_DCT_MATRIX] = {takes_matrix, cost_of_matrix},
};

fc_dct_choice fc_dct_choose(int64_t n, int compute, int alone, int major) {
  fc_dct_choice c = {.launch = FC_DCT_BLOCKS};
  while (!candidates[c.launch].takes(n, compute, alone, major)) c.launch++;
  c.us = candidates[c.launch].cost(n, major);
  return c;
}
