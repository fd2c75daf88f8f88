/* SPDX-License-Identifier: MIT */
/*
 * passes.c - runs the two passes over pieces one block high and so narrow that intermediate values stay in
 * the cache.
 */
#include "filters/base/integers.h"
#include "filters/base/passes.h"

/* Elements between the passes: 256 KiB of f32. A single pair of blocks may need more. */
#define PIECE_ELEMENTS (64 * 1024)

/* Elements between the passes for one pair of blocks, of all channels. */
static int64_t pair_elements(const fc_passes *p, const fc_view *out) {
  return p->y.cols * p->x.rows * out->shape[FC_AXIS_C];
}

static int64_t piece_bytes(const fc_passes *p, const fc_view *out) {
  int64_t whole = p->y.cols * out->shape[FC_AXIS_X] * out->shape[FC_AXIS_C];
  int64_t elements = fc_smaller(whole, fc_larger(PIECE_ELEMENTS, pair_elements(p, out)));
  return (elements * (int64_t)fc_dtype_size(p->compute) + 63) / 64 * 64;
}

size_t fc_passes_scratch(const fc_passes *p, const fc_view *out) {
  return (size_t)piece_bytes(p, out) + (p->x.scratch > p->y.scratch ? p->x.scratch : p->y.scratch);
}

/* `shape[axis]` elements of a view from `first` on. */
static fc_view part(fc_view v, int axis, int64_t first, int64_t count) {
  v.data = (char *)v.data + first * v.stride[axis];
  v.shape[axis] = count;
  return v;
}

/* The intermediate values, `rows` high: dense, with interleaved channels if those of `out` are. */
static fc_view middle(int compute, const fc_view *out, int64_t rows, void *memory) {
  fc_view v = *out;
  int64_t size = (int64_t)fc_dtype_size(compute);
  v.dtype = compute;
  v.data = memory;
  v.shape[FC_AXIS_Y] = rows;
  int planar = out->stride[FC_AXIS_C] > out->stride[FC_AXIS_X];
  v.stride[FC_AXIS_C] = planar ? v.shape[FC_AXIS_Y] * v.shape[FC_AXIS_X] * size : size;
  v.stride[FC_AXIS_X] = planar ? size : v.shape[FC_AXIS_C] * size;
  v.stride[FC_AXIS_Y] = v.shape[FC_AXIS_X] * v.stride[FC_AXIS_X];
  v.stride[FC_AXIS_N] = v.shape[FC_AXIS_Y] * v.shape[FC_AXIS_X] * v.shape[FC_AXIS_C] * size;
  return v;
}

static fc_status run_piece(const fc_passes *p, const fc_view *in, const fc_view *out, void *scratch,
                           uint32_t *notes) {
  fc_view between = middle(p->compute, out, p->y.cols, scratch);
  void *rest = (char *)scratch + piece_bytes(p, out);
  fc_status status = p->x.run(p->x.self, in, &between, rest, NULL);
  return status == FC_OK ? p->y.run(p->y.self, &between, out, rest, notes) : status;
}

static fc_status run_band(const fc_passes *p, const fc_view *in, const fc_view *out, void *scratch,
                          uint32_t *notes) {
  int64_t blocks = out->shape[FC_AXIS_X] / p->x.rows;
  int64_t most = fc_larger(PIECE_ELEMENTS / fc_larger(pair_elements(p, out), 1), 1);
  for (int64_t b = 0; b < blocks; b += most) {
    int64_t count = fc_smaller(most, blocks - b);
    fc_view to = part(*out, FC_AXIS_X, b * p->x.rows, count * p->x.rows);
    fc_view from = part(*in, FC_AXIS_X, b * p->x.cols, count * p->x.cols);
    fc_status status = run_piece(p, &from, &to, scratch, notes);
    if (status != FC_OK) return status;
  }
  return FC_OK;
}

static int is_whole(const fc_view *out, int64_t rows_x, int64_t rows_y) {
  return rows_x > 0 && rows_y > 0 && out->shape[FC_AXIS_X] % rows_x == 0 &&
         out->shape[FC_AXIS_Y] % rows_y == 0;
}

fc_status fc_passes_run(const fc_passes *p, const fc_view *in, const fc_view *out, void *scratch,
                        uint32_t *notes) {
  if (!is_whole(out, p->x.rows, p->y.rows)) return FC_INVALID;
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++)
    for (int64_t b = 0; b < out->shape[FC_AXIS_Y] / p->y.rows; b++) {
      fc_view to = part(*out, FC_AXIS_N, n, 1), from = part(*in, FC_AXIS_N, n, 1);
      to = part(to, FC_AXIS_Y, b * p->y.rows, p->y.rows);
      from = part(from, FC_AXIS_Y, b * p->y.cols, p->y.cols);
      fc_status status = run_band(p, &from, &to, scratch, notes);
      if (status != FC_OK) return status;
    }
  return FC_OK;
}

/* ---- on a device ------------------------------------------------------------------ */

static fc_view device_middle(const fc_device_passes *p, const fc_view *out, void *memory) {
  return middle(p->compute, out, out->shape[FC_AXIS_Y] / p->y.rows * p->y.cols, memory);
}

static int64_t device_middle_bytes(const fc_view *v) {
  return (v->stride[FC_AXIS_N] * v->shape[FC_AXIS_N] + 255) / 256 * 256;
}

size_t fc_device_passes_scratch(const fc_device_passes *p, const fc_view *out) {
  fc_view between = device_middle(p, out, NULL);
  const size_t x = p->x.scratch(p->x.self, &between), y = p->y.scratch(p->y.self, out);
  return (size_t)device_middle_bytes(&between) + (x > y ? x : y);
}

fc_status fc_device_passes_run(const fc_device_passes *p, const fc_view *in, const fc_view *out,
                               void *scratch, uint32_t *notes, void *stream) {
  if (!is_whole(out, p->x.rows, p->y.rows)) return FC_INVALID;
  fc_view between = device_middle(p, out, scratch);
  void *rest = (char *)scratch + device_middle_bytes(&between);
  fc_status status = p->x.run(p->x.self, in, &between, rest, NULL, stream);
  return status == FC_OK ? p->y.run(p->y.self, &between, out, rest, notes, stream) : status;
}
