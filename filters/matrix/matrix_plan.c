/* SPDX-License-Identifier: MIT */
/*
 * matrix_plan.c - the choice of a kernel for a matrix on a GPU, and the products and the scratch memory of a
 * large one.
 */
#include "filters/matrix/matrix_plan.h"
#include "filters/base/integers.h"

/* ---- which kernel ----------------------------------------------------------------- */

#define COPIES 4.3e6 /* bytes in a microsecond on an H200 */

typedef struct candidate {
  int (*takes)(const fc_matrix *m, const fc_view *in, const fc_view *out);
  double (*cost)(const fc_matrix *m, const fc_view *in, const fc_view *out);
} candidate;

static double bytes_of(const fc_view *v) {
  return (double)fc_view_count(v) * (double)fc_dtype_size(v->dtype);
}

/* Pixels whose samples, and rows whose pixels, are adjacent. */
static int is_dense(const fc_view *v) {
  const int64_t size = (int64_t)fc_dtype_size(v->dtype);
  return (v->stride[FC_AXIS_C] == size || v->shape[FC_AXIS_C] == 1) &&
         v->stride[FC_AXIS_X] == v->shape[FC_AXIS_C] * size;
}

/* 0.99 of copy, composed 0.95. Others are left to blocks where they cannot be composed. */
static int is_three(int64_t rows, int64_t cols, int in_dtype, int out_dtype) {
  return rows == 3 && cols == 3 && in_dtype == FC_F32 && out_dtype == FC_F32;
}

static int takes_pixels(const fc_matrix *m, const fc_view *in, const fc_view *out) {
  return m->compute == FC_F32 && m->axis == FC_AXIS_C && is_three(m->rows, m->cols, in->dtype, out->dtype) &&
         in->shape[FC_AXIS_C] == m->cols && out->shape[FC_AXIS_C] == m->rows && in->kind == out->kind &&
         is_dense(in) && is_dense(out);
}

int fc_matrix_is_quick(int compute, int64_t rows, int64_t cols, int in_dtype, int out_dtype) {
  return in_dtype == out_dtype &&
         (compute != FC_F32 || rows > 4 || cols > 4 || is_three(rows, cols, in_dtype, out_dtype));
}

static double cost_of_pixels(const fc_matrix *m, const fc_view *in, const fc_view *out) {
  (void)m;
  return (bytes_of(in) + bytes_of(out)) / (0.99 * COPIES);
}

static int is_within(const fc_matrix *m, int64_t side) {
  return m->rows <= side && m->cols <= side;
}

static int takes_4(const fc_matrix *m, const fc_view *in, const fc_view *out) {
  (void)in, (void)out;
  return is_within(m, 4);
}
static int takes_8(const fc_matrix *m, const fc_view *in, const fc_view *out) {
  (void)in, (void)out;
  return is_within(m, 8);
}
static int takes_16(const fc_matrix *m, const fc_view *in, const fc_view *out) {
  (void)in, (void)out;
  return is_within(m, 16);
}

static double cost_of_blocks(const fc_matrix *m, const fc_view *in, const fc_view *out) {
  (void)m;
  return (bytes_of(in) + bytes_of(out)) / (0.85 * COPIES);
}

static int takes_all(const fc_matrix *m, const fc_view *in, const fc_view *out) {
  (void)m, (void)in, (void)out;
  return 1;
}

/* The products on an H200, and a pass for each conversion. */
static double cost_of_products(const fc_matrix *m, const fc_view *in, const fc_view *out) {
  static const fc_gemm_chip h200 = {9, 132};
  const double size = (double)fc_dtype_size(m->compute);
  fc_gemm g = {.type = m->compute, .m = m->rows, .n = fc_view_count(out) / m->rows, .k = m->cols, .alpha = 1};
  g.a_row = g.c_col = g.b_row = 1, g.a_col = m->pitch, g.b_col = m->cols, g.c_row = g.n;
  g = fc_gemm_by_rows(&g);
  double us = fc_gemm_choose(&g, &h200, FC_GEMM_THIN).us;
  if (in->dtype != m->compute) us += (bytes_of(in) + (double)fc_view_count(in) * size) / (0.75 * COPIES);
  if (out->dtype != m->compute) us += (bytes_of(out) + (double)fc_view_count(out) * size) / (0.75 * COPIES);
  return us;
}

static const candidate candidates[] = {
    [FC_MATRIX_PIXELS] = {takes_pixels, cost_of_pixels},  [FC_MATRIX_BLOCKS_4] = {takes_4, cost_of_blocks},
    [FC_MATRIX_BLOCKS_8] = {takes_8, cost_of_blocks},     [FC_MATRIX_BLOCKS_16] = {takes_16, cost_of_blocks},
    [FC_MATRIX_PRODUCTS] = {takes_all, cost_of_products},
};

fc_matrix_choice fc_matrix_choose(const fc_matrix *m, const fc_view *in, const fc_view *out,
                                  fc_matrix_launch first) {
  fc_matrix_choice c = {.launch = first};
  while (c.launch < FC_MATRIX_PRODUCTS && !candidates[c.launch].takes(m, in, out)) c.launch++;
  c.us = candidates[c.launch].cost(m, in, out);
  return c;
}

/* ---- scratch memory ------------------------------------------------------------------ */

static int is_large(const fc_matrix *m) {
  return !is_within(m, 16);
}

/* Lines of the copies that are not blocks themselves begin at multiples of 16 bytes, as the copy engine of
 * sm_90 wants them, if they are so long that this is at most a fourth more. */
static int64_t padded(int64_t length, int64_t size) {
  return length < 16 ? length : fc_round_up(length, 16 / size);
}

static int64_t staged_bytes(const fc_matrix *m, int64_t elements) {
  return fc_round_up((elements + elements / 4) * (int64_t)fc_dtype_size(m->compute), 256);
}

static int64_t positions_of(const fc_matrix *m, const fc_view *out) {
  return fc_view_count(out) / m->rows;
}

fc_matrix_layout fc_matrix_layout_of(const fc_matrix *m, const fc_view *out, int64_t piece) {
  fc_matrix_layout l = {0};
  if (!is_large(m)) return l;
  l.positions = fc_smaller(positions_of(m, out), fc_larger(piece / fc_larger(m->rows, m->cols), 1));
  l.to = (size_t)staged_bytes(m, l.positions * m->cols);
  l.work = l.to;
  if (out->dtype != m->compute) l.work += (size_t)staged_bytes(m, l.positions * m->rows);
  l.bytes =
      l.work + (size_t)fc_round_up(
                   (int64_t)fc_gemm_work_most(m->compute, m->rows, l.positions, m->cols, m->split), 256);
  return l;
}

size_t fc_matrix_device_scratch(const fc_matrix *m, const fc_view *out) {
  return fc_matrix_layout_of(m, out, FC_MATRIX_PIECE).bytes;
}

/* A view of this shape and kind in scratch memory, of the compute type. The matrix's axis is never between
 * others, so that blocks are multiplied in long rows: X is the fastest if it is that axis. */
static fc_view staged(const fc_matrix *m, const fc_view *like, void *memory) {
  static const int by_pixels[] = {FC_AXIS_C, FC_AXIS_X, FC_AXIS_Y, FC_AXIS_N},
                   by_planes[] = {FC_AXIS_X, FC_AXIS_Y, FC_AXIS_C, FC_AXIS_N};
  const int *order = m->axis == FC_AXIS_X ? by_planes : by_pixels;
  const int64_t size = (int64_t)fc_dtype_size(m->compute);
  fc_view v = *like;
  v.dtype = m->compute, v.data = memory;
  int64_t length = 1;
  for (int i = 0; i < FC_AXES; i++) {
    const int a = order[i];
    v.stride[a] = length * size;
    length *= v.shape[a];
    if (a == (m->axis == FC_AXIS_C ? FC_AXIS_C : FC_AXIS_X) && m->axis != FC_AXIS_X)
      length = padded(length, size);
  }
  return v;
}

/* ---- pieces -------------------------------------------------------------------------- */

static int64_t along(const fc_matrix *m, const fc_view *out, int axis) {
  return axis == m->axis ? out->shape[axis] / m->rows : out->shape[axis];
}

/* Whether the products of all positions can be computed where the views lie. */
static int in_place(const fc_matrix *m, const fc_view *in, const fc_view *out) {
  if (in->dtype != m->compute || out->dtype != m->compute || m->split) return 0;
  const fc_matrix_products p = fc_matrix_products_of(m, in, out);
  for (int d = 0; d < FC_AXES; d++)
    if (p.size[d] > 1 && p.in[d] % 16 != 0) return 0;
  return fc_gemm_padded_scratch(&p.first) == 0;
}

fc_matrix_pieces fc_matrix_pieces_of(const fc_matrix *m, const fc_view *in, const fc_view *out,
                                     int64_t piece) {
  static const int order[] = {FC_AXIS_C, FC_AXIS_X, FC_AXIS_Y, FC_AXIS_N};
  fc_matrix_pieces p = {.layout = fc_matrix_layout_of(m, out, piece), .count = 1};
  int64_t room = in_place(m, in, out) ? INT64_MAX : p.layout.positions;
  for (int i = 0; i < FC_AXES; i++) {
    const int a = order[i];
    const int64_t all = along(m, out, a);
    p.take[a] = fc_smaller(all, fc_larger(room, 1));
    p.number[a] = (all + p.take[a] - 1) / p.take[a];
    room /= p.take[a];
    p.count *= p.number[a];
  }
  return p;
}

fc_matrix_piece fc_matrix_piece_of(const fc_matrix *m, const fc_matrix_pieces *p, int64_t index,
                                   const fc_view *in, const fc_view *out, void *scratch) {
  fc_matrix_piece piece = {.in = *in, .out = *out};
  for (int a = 0; a < FC_AXES; a++) {
    const int64_t first = index % p->number[a] * p->take[a],
                  count = fc_smaller(p->take[a], along(m, out, a) - first);
    const int64_t to = a == m->axis ? m->rows : 1, from = a == m->axis ? m->cols : 1;
    index /= p->number[a];
    piece.in.data = (char *)piece.in.data + first * from * in->stride[a];
    piece.out.data = (char *)piece.out.data + first * to * out->stride[a];
    piece.in.shape[a] = count * from, piece.out.shape[a] = count * to;
  }
  piece.converts_in = in->dtype != m->compute, piece.converts_out = out->dtype != m->compute;
  piece.from = piece.converts_in ? staged(m, &piece.in, scratch) : piece.in;
  piece.to = piece.converts_out ? staged(m, &piece.out, (char *)scratch + p->layout.to) : piece.out;
  return piece;
}

/* ---- products ------------------------------------------------------------------------- */

static int64_t magnitude(int64_t v) {
  return v < 0 ? -v : v;
}

/* Dimensions by distance in the input, the smallest first. */
static void sort(fc_matrix_products *p) {
  for (int i = 0; i < FC_AXES; i++)
    for (int j = i; j > 0 && magnitude(p->in[j]) < magnitude(p->in[j - 1]); j--) {
      const int64_t size = p->size[j], in = p->in[j], out = p->out[j];
      p->size[j] = p->size[j - 1], p->in[j] = p->in[j - 1], p->out[j] = p->out[j - 1];
      p->size[j - 1] = size, p->in[j - 1] = in, p->out[j - 1] = out;
    }
}

fc_matrix_products fc_matrix_products_of(const fc_matrix *m, const fc_view *in, const fc_view *out) {
  const int64_t size = (int64_t)fc_dtype_size(m->compute);
  fc_matrix_products p = {.count = 1};
  for (int a = 0; a < FC_AXES; a++) {
    const int blocks = a == m->axis;
    p.size[a] = along(m, out, a);
    p.in[a] = in->stride[a] * (blocks ? m->cols : 1), p.out[a] = out->stride[a] * (blocks ? m->rows : 1);
  }
  sort(&p);
  int most = 0;
  for (int d = 1; d < FC_AXES; d++) { /* merges dimensions that are contiguous with the largest */
    if (p.in[d] == p.in[most] * p.size[most] && p.out[d] == p.out[most] * p.size[most])
      p.size[most] *= p.size[d], p.size[d] = 1;
    else if (p.size[d] > p.size[most])
      most = d;
  }
  fc_gemm *g = &p.first;
  *g = (fc_gemm){.type = m->compute, .m = m->rows, .n = p.size[most], .k = m->cols, .alpha = 1};
  g->a = m->matrix, g->a_row = 1, g->a_col = m->pitch;
  g->b = in->data, g->b_row = in->stride[m->axis] / size, g->b_col = p.in[most] / size;
  g->c = out->data, g->c_row = out->stride[m->axis] / size, g->c_col = p.out[most] / size;
  if (m->offset) g->beta = 1, g->d = m->offset, g->d_row = 1;
  p.size[most] = 1;
  for (int d = 0; d < FC_AXES; d++) p.count *= p.size[d];
  return p;
}

fc_gemm fc_matrix_product_at(const fc_matrix_products *p, int64_t index) {
  fc_gemm g = p->first;
  for (int d = 0; d < FC_AXES; d++) {
    const int64_t i = index % p->size[d];
    index /= p->size[d];
    g.b = (const char *)g.b + i * p->in[d], g.c = (char *)g.c + i * p->out[d];
  }
  return g;
}
