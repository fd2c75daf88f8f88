// SPDX-License-Identifier: MIT
//
// products.cuh - what along.cu and bands.cu share: the plan of an image as groups of outputs, what kernels
// know of views, and grids of blocks that are resident at a time.
#ifndef FC_FILTERS_RESAMPLE_PRODUCTS_CUH
#define FC_FILTERS_RESAMPLE_PRODUCTS_CUH

#include "filters/gpu/cuda.cuh"
#include "filters/resample/products.h"

namespace {

constexpr int GROUP_X = 8, GROUP_Y = 16; // outputs of a product: elements, rows
// Added to values between the passes, and what sums of the passes begin with: half of the last place, too.
constexpr int32_t BIAS = 1 << 15;
constexpr int32_t FIRST_BIAS = (1 << (FC_RESAMPLE_SHIFT(0) - 1)) + BIAS * (1 << FC_RESAMPLE_SHIFT(0));
constexpr int32_t LAST_BIAS = (1 << (FC_RESAMPLE_SHIFT(1) - 1)) - BIAS * (1 << FC_RESAMPLE_WEIGHT_BITS);

struct product_plan {
  fc_resample_axis x, y;
  int64_t channels, planes, by_n; // interleaved; planes of all frames, of a frame
  int64_t groups_x, groups_y;     // of the view
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
bool plan_groups(const fc_resample *r, const fc_view *in, const fc_view *out, int64_t channels,
                 product_plan *p) {
  p->x = fc_resample_axis_of(r, in->extent[FC_AXIS_X], out->extent[FC_AXIS_X]);
  p->y = fc_resample_axis_of(r, in->extent[FC_AXIS_Y], out->extent[FC_AXIS_Y]);
  if (r->filter == FC_RESAMPLE_NEAREST || !fc_resample_by_codes(r, in->dtype, &p->x, &p->y)) return false;
  const int64_t all = out->shape[FC_AXIS_C];
  p->channels = channels, p->by_n = channels == all ? 1 : all, p->planes = out->shape[FC_AXIS_N] * p->by_n;
  const int64_t width = out->shape[FC_AXIS_X] * channels, height = out->shape[FC_AXIS_Y];
  p->groups_x = up_to(width, GROUP_X) / GROUP_X, p->groups_y = up_to(height, GROUP_Y) / GROUP_Y;
  return width <= INT32_MAX / 2 && in->extent[FC_AXIS_X] <= INT32_MAX / 2 / channels &&
         height * p->planes <= INT32_MAX / 2;
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
// are not, or so many rows are 2 GB apart.
int64_t channels_of_rows(const fc_view *in, const fc_view *out, int64_t rows) {
  const bool whole = fc_dev_is_interleaved(in) && fc_dev_is_interleaved(out);
  const int64_t row = in->stride[FC_AXIS_Y] < 0 ? -in->stride[FC_AXIS_Y] : in->stride[FC_AXIS_Y];
  if (row > INT32_MAX / rows) return 0;
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

// Blocks that share a column of a grid, where `across` columns need so many each and `resident` blocks run at
// a time.
int64_t blocks_down(int64_t resident, int64_t across, int64_t needed) {
  int64_t high = resident / across;
  high = high < 1 ? 1 : high > needed ? needed : high;
  return high < 65535 ? high : 65535;
}

} // namespace

#endif
