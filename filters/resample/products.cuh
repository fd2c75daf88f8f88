// SPDX-License-Identifier: MIT
//
// products.cuh - what along.cu and strips.cu share: the plan of an image as groups of outputs, tables of the
// weights as products want them, what kernels know of views, and grids of blocks that are resident at a time.
// Both passes are products of matrices of bytes by the units for them, which are exact in any order, so the
// bits are those of resample_math.h.
//
// Weights, and values between the passes, are two bytes each; of a weight the lower one is signed, and the
// upper one rounded. No filter's weights have absolute values that add up to more than 1.6, so that values
// fit 16 bits. `Elements` are samples of a row, channels interleaved; positions are in the signal.
#ifndef FC_FILTERS_RESAMPLE_PRODUCTS_CUH
#define FC_FILTERS_RESAMPLE_PRODUCTS_CUH

#include "filters/gpu/copy_async.cuh"
#include "filters/gpu/cuda.cuh"
#include "filters/resample/matrix_bytes.cuh"
#include "filters/resample/products.h"
#include "filters/resample/weights.cuh"

namespace {

constexpr int64_t SHARED = 226 << 10;                      // bytes of a block
constexpr int PRODUCT_TABLE_WARPS = 4, PRODUCT_MOST = 192; // taps
constexpr int ROWS_MOST = 512;                             // that a group of outputs reads
static_assert(FC_RESAMPLE_SHIFT(0) == 8, "the first pass takes whole bytes off");

// ---- kernels ------------------------------------------------------------------

// Weights of an axis for groups of adjacent outputs, as the lanes of a warp hold them in products.
struct product_axis {
  uint4 *codes;
  int2 *range;   // of a group: its first input, and where the last one's window ends; elements or rows
  int32_t steps; // of 32 inputs, of a group
  int32_t tiles; // of 16 elements, of a strip
  int32_t count; // outputs of the view: pixels or rows
  int32_t channels;
  int64_t from; // position of the first output
};

// The window of an output by its number in the view.
__device__ __forceinline__ int window_of(const fc_resample_axis &a, const product_axis &b, int k,
                                         int *first) {
  int64_t at;
  const int taps = static_cast<int>(fc_resample_window(&a, b.from + k, &at));
  *first = static_cast<int>(at);
  return taps;
}

// Lower byte, signed, and upper one, rounded.
__device__ __forceinline__ void put_code(uint4 *lower, uint4 *upper, int low, int high, int w) {
  reinterpret_cast<unsigned char *>(lower)[low] = static_cast<unsigned char>(w & 0xff);
  reinterpret_cast<unsigned char *>(upper)[high] = static_cast<unsigned char>((w + 128) >> 8);
}

// A warp per output column and row. Tables: how the weights of a pixel's elements, and of a row, are stored.
template <typename Tables>
__global__ void __launch_bounds__(32 * PRODUCT_TABLE_WARPS)
    resample_product_tables(fc_resample_axis x, fc_resample_axis y, product_axis tx, product_axis ty) {
  __shared__ int16_t weights[PRODUCT_TABLE_WARPS][PRODUCT_MOST];
  const int warp = static_cast<int>(threadIdx.x) / 32;
  const int64_t i = blockIdx.x * static_cast<int64_t>(PRODUCT_TABLE_WARPS) + warp;
  if (i >= static_cast<int64_t>(tx.count) + ty.count) return;
  const bool across = i < tx.count;
  const fc_resample_axis a = across ? x : y;
  const product_axis t = across ? tx : ty;
  const int k = static_cast<int>(across ? i : i - tx.count);
  int first;
  const int taps = window_of(a, t, k, &first);
  fc_put_codes(a, t.from + k, first, taps, fc_norm_of(a, t.from + k, first, taps), weights[warp]);
  __syncwarp();
  if (across)
    Tables::put_columns(a, t, k, first, taps, weights[warp]);
  else
    Tables::put_row(a, t, k, first, taps, weights[warp]);
}

// The weights of 16 outputs for 32 inputs, as the left side of a product.
struct product_left {
  uint32_t low[4], high[4];
  __device__ __forceinline__ void load(const uint4 *codes) {
    const uint4 l = codes[0], h = codes[32];
    low[0] = l.x, low[1] = l.y, low[2] = l.z, low[3] = l.w;
    high[0] = h.x, high[1] = h.y, high[2] = h.z, high[3] = h.w;
  }
};

__device__ __forceinline__ fc_matrix_sums sums_of(int32_t with) {
  fc_matrix_sums s;
#pragma unroll
  for (int i = 0; i < 4; i++) s.of[i] = with;
  return s;
}

// ---- plans ----------------------------------------------------------------------

struct product_plan {
  fc_resample_axis x, y;
  int64_t channels, planes, by_n; // interleaved; planes of all frames, of a frame
};

int64_t up_to(int64_t v, int64_t multiple) {
  return (v + multiple - 1) / multiple * multiple;
}

// The most inputs that `count` adjacent outputs read: windows end less than half an input beyond the filter's
// support.
int64_t inputs_of(const fc_resample_axis &a, int64_t count) {
  const double reach = a.filter == FC_RESAMPLE_AREA ? a.scale + 2 : 2 * a.support + 1;
  const int64_t most = static_cast<int64_t>(static_cast<double>(count - 1) * a.scale + reach + 1e-3);
  return most < a.in ? most : a.in;
}

// Of shapes and extents, for so many interleaved channels. False: other types, or too large.
bool plan_views(const fc_resample *r, const fc_view *in, const fc_view *out, int64_t channels,
                product_plan *p) {
  p->x = fc_resample_axis_of(r, in->extent[FC_AXIS_X], out->extent[FC_AXIS_X]);
  p->y = fc_resample_axis_of(r, in->extent[FC_AXIS_Y], out->extent[FC_AXIS_Y]);
  if (r->filter == FC_RESAMPLE_NEAREST || !fc_resample_by_codes(r, in->dtype, &p->x, &p->y)) return false;
  const int64_t all = out->shape[FC_AXIS_C];
  p->channels = channels, p->by_n = channels == all ? 1 : all, p->planes = out->shape[FC_AXIS_N] * p->by_n;
  return out->shape[FC_AXIS_X] * channels <= INT32_MAX / 2 &&
         in->extent[FC_AXIS_X] <= INT32_MAX / 2 / channels &&
         out->shape[FC_AXIS_Y] * p->planes <= INT32_MAX / 2 && p->x.most <= PRODUCT_MOST &&
         p->y.most <= PRODUCT_MOST;
}

// The most scratch that plans need, which depend on whether channels are interleaved.
template <typename Plan>
int64_t most_scratch(const fc_resample *r, const fc_view *in, const fc_view *out,
                     bool (*plan_of)(const fc_resample *, const fc_view *, const fc_view *, int64_t, Plan *),
                     int64_t (*scratch_of)(const Plan &)) {
  int64_t most = 0;
  for (int64_t channels : {int64_t{1}, out->shape[FC_AXIS_C]}) {
    Plan p;
    if (plan_of(r, in, out, channels, &p) && scratch_of(p) > most) most = scratch_of(p);
  }
  return most;
}

// How many channels are interleaved, where elements of a row are adjacent: all, or each is by itself; 0: they
// are not, or rows of a group are 2 GB apart.
int64_t channels_of_rows(const fc_view *in, const fc_view *out) {
  const bool whole = fc_dev_is_interleaved(in) && fc_dev_is_interleaved(out);
  const int64_t row = in->stride[FC_AXIS_Y] < 0 ? -in->stride[FC_AXIS_Y] : in->stride[FC_AXIS_Y];
  if (row > INT32_MAX / ROWS_MOST) return 0;
  if (whole) return out->shape[FC_AXIS_C];
  return in->stride[FC_AXIS_X] == 1 && out->stride[FC_AXIS_X] == 1 ? 1 : 0;
}

// Whether all rows of the signal begin at multiples of 16 bytes.
bool is_aligned(const product_plan &p, const fc_view *in) {
  const int64_t first =
      static_cast<int64_t>(reinterpret_cast<uintptr_t>(in->data)) - in->origin[FC_AXIS_X] * p.channels;
  const int64_t apart =
      (p.planes > p.by_n ? in->stride[FC_AXIS_N] : 0) | (p.by_n > 1 ? in->stride[FC_AXIS_C] : 0);
  return (first | in->stride[FC_AXIS_Y] | apart) % 16 == 0;
}

// Of the groups of an axis, whose weights take so many bytes from `at` on.
product_axis product_axis_of(char **at, int64_t bytes, int64_t steps, int64_t channels, const fc_view *out,
                             int axis) {
  product_axis a;
  a.codes = reinterpret_cast<uint4 *>(*at), *at += bytes;
  a.steps = static_cast<int32_t>(steps), a.tiles = 1;
  a.count = static_cast<int32_t>(out->shape[axis]), a.channels = static_cast<int32_t>(channels);
  a.from = out->origin[axis];
  return a;
}

// What kernels know of views.
template <typename Job> void set_views(Job &j, const product_plan &p, const fc_view *in, const fc_view *out) {
  const int64_t x = in->origin[FC_AXIS_X], y = in->origin[FC_AXIS_Y];
  j.in_row = in->stride[FC_AXIS_Y], j.in_n = in->stride[FC_AXIS_N], j.in_c = in->stride[FC_AXIS_C];
  j.out_row = out->stride[FC_AXIS_Y], j.out_n = out->stride[FC_AXIS_N], j.out_c = out->stride[FC_AXIS_C];
  j.in = static_cast<const char *>(in->data) - y * j.in_row - x * p.channels;
  j.out = static_cast<char *>(out->data);
  // Inputs beside the view are readable as far as windows go, within the signal.
  const int64_t halo = fc_resample_halo_of(&p.x), end = x + in->shape[FC_AXIS_X] + halo;
  j.low = static_cast<int32_t>((x > halo ? x - halo : 0) * p.channels);
  j.high = static_cast<int32_t>((end < p.x.in ? end : p.x.in) * p.channels);
  j.planes = static_cast<int32_t>(p.planes), j.by_n = static_cast<int32_t>(p.by_n);
  j.width = static_cast<int32_t>(out->shape[FC_AXIS_X] * p.channels);
  j.height = static_cast<int32_t>(out->shape[FC_AXIS_Y]);
}

// Multiprocessors of the device; 0: the kernel was not compiled for units that multiply bytes.
template <typename K> int64_t processors_for(K kernel) {
  int device = 0, count = 0;
  cudaFuncAttributes about;
  if (cudaFuncGetAttributes(&about, kernel) != cudaSuccess || cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&count, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    return fc_forget_error();
  return about.ptxVersion >= 80 ? count : 0;
}

template <typename Tables>
fc_status launch_tables(const product_plan &p, const product_axis &x, const product_axis &y, void *stream) {
  const int64_t outputs = static_cast<int64_t>(x.count) + y.count;
  return fc_launch(resample_product_tables<Tables>, dim3(fc_blocks(outputs, PRODUCT_TABLE_WARPS, INT32_MAX)),
                   dim3(32 * PRODUCT_TABLE_WARPS), 0, stream, p.x, p.y, x, y);
}

// Blocks that share a column of a grid, where `across` columns need so many each and `resident` blocks run at
// a time.
int64_t blocks_down(int64_t resident, int64_t across, int64_t needed) {
  int64_t high = resident / across;
  high = high < 1 ? 1 : high > needed ? needed : high;
  return high < 65535 ? high : 65535;
}

} // namespace

#endif
