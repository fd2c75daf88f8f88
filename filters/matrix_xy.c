/* SPDX-License-Identifier: MIT */
/*
 * matrix_xy.c - the two passes over pieces one block high and as wide as keeps what
 * lies between them in the cache.
 */
#include "filters/matrix_xy.h"

/* Elements between the passes: 256 KiB of f32. A single pair of blocks may need more. */
#define PIECE_ELEMENTS (64 * 1024)

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Elements between the passes for one pair of blocks, of all channels. */
static int64_t pair_elements(const fc_matrix_xy *m, const fc_view *out) {
  return m->y.cols * m->x.rows * out->shape[FC_AXIS_C];
}

static int64_t piece_bytes(const fc_matrix_xy *m, const fc_view *out) {
  int64_t whole = m->y.cols * out->shape[FC_AXIS_X] * out->shape[FC_AXIS_C];
  int64_t elements = smaller(whole, larger(PIECE_ELEMENTS, pair_elements(m, out)));
  return (elements * (int64_t)fc_dtype_size(m->x.compute) + 63) / 64 * 64;
}

size_t fc_matrix_xy_scratch(const fc_matrix_xy *m, const fc_view *in, const fc_view *out) {
  (void)in;
  size_t x = fc_matrix_scratch(&m->x), y = fc_matrix_scratch(&m->y);
  return (size_t)piece_bytes(m, out) + (x > y ? x : y);
}

/* `shape[axis]` elements of a view from `first` on. */
static fc_view part(fc_view v, int axis, int64_t first, int64_t count) {
  v.data = (char *)v.data + first * v.stride[axis];
  v.shape[axis] = count;
  return v;
}

/* What lies between the passes: dense, its channels interleaved if those of `out` are. */
static fc_view middle(const fc_matrix_xy *m, const fc_view *out, void *memory) {
  fc_view v = *out;
  int64_t size = (int64_t)fc_dtype_size(m->x.compute);
  v.dtype = m->x.compute;
  v.data = memory;
  v.shape[FC_AXIS_Y] = m->y.cols;
  int planar = out->stride[FC_AXIS_C] > out->stride[FC_AXIS_X];
  v.stride[FC_AXIS_C] = planar ? v.shape[FC_AXIS_Y] * v.shape[FC_AXIS_X] * size : size;
  v.stride[FC_AXIS_X] = planar ? size : v.shape[FC_AXIS_C] * size;
  v.stride[FC_AXIS_Y] = v.shape[FC_AXIS_X] * v.stride[FC_AXIS_X];
  v.stride[FC_AXIS_N] = 0;
  return v;
}

typedef fc_status pass_fn(const fc_matrix *m, const fc_view *in, const fc_view *out, void *scratch,
                          uint32_t *notes);

static fc_status reference_pass(const fc_matrix *m, const fc_view *in, const fc_view *out, void *scratch,
                                uint32_t *notes) {
  (void)scratch;
  return fc_matrix_ref(m, in, out, notes);
}

static fc_status run_piece(const fc_matrix_xy *m, const fc_view *in, const fc_view *out, void *scratch,
                           uint32_t *notes, pass_fn *pass) {
  fc_view between = middle(m, out, scratch);
  void *rest = (char *)scratch + piece_bytes(m, out);
  fc_status status = pass(&m->x, in, &between, rest, NULL);
  return status == FC_OK ? pass(&m->y, &between, out, rest, notes) : status;
}

static fc_status run_band(const fc_matrix_xy *m, const fc_view *in, const fc_view *out, void *scratch,
                          uint32_t *notes, pass_fn *pass) {
  int64_t blocks = out->shape[FC_AXIS_X] / m->x.rows;
  int64_t most = larger(PIECE_ELEMENTS / larger(pair_elements(m, out), 1), 1);
  for (int64_t b = 0; b < blocks; b += most) {
    int64_t count = smaller(most, blocks - b);
    fc_view to = part(*out, FC_AXIS_X, b * m->x.rows, count * m->x.rows);
    fc_view from = part(*in, FC_AXIS_X, b * m->x.cols, count * m->x.cols);
    fc_status status = run_piece(m, &from, &to, scratch, notes, pass);
    if (status != FC_OK) return status;
  }
  return FC_OK;
}

static fc_status run(const fc_matrix_xy *m, const fc_view *in, const fc_view *out, void *scratch,
                     uint32_t *notes, pass_fn *pass) {
  if (m->x.rows < 1 || m->y.rows < 1) return FC_INVALID;
  if (out->shape[FC_AXIS_X] % m->x.rows != 0 || out->shape[FC_AXIS_Y] % m->y.rows != 0) return FC_INVALID;
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++)
    for (int64_t b = 0; b < out->shape[FC_AXIS_Y] / m->y.rows; b++) {
      fc_view to = part(*out, FC_AXIS_N, n, 1), from = part(*in, FC_AXIS_N, n, 1);
      to = part(to, FC_AXIS_Y, b * m->y.rows, m->y.rows);
      from = part(from, FC_AXIS_Y, b * m->y.cols, m->y.cols);
      fc_status status = run_band(m, &from, &to, scratch, notes, pass);
      if (status != FC_OK) return status;
    }
  return FC_OK;
}

fc_status fc_matrix_xy_ref(const fc_matrix_xy *m, const fc_view *in, const fc_view *out, void *scratch,
                           uint32_t *notes) {
  return run(m, in, out, scratch, notes, reference_pass);
}

fc_status fc_matrix_xy_cpu(const fc_matrix_xy *m, const fc_view *in, const fc_view *out, void *scratch,
                           uint32_t *notes) {
  return run(m, in, out, scratch, notes, fc_matrix_cpu);
}
