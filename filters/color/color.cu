// SPDX-License-Identifier: MIT
//
// color.cu - color.h on a CUDA device: a thread per pixel, with the functions of color.inc. Not tuned, since
// chains are fused into kernels of their own.
#include "filters/base/power.h"
#include "filters/color/color.h"
#include "filters/gpu/cuda.cuh"

namespace {

constexpr int THREADS = 256;

template <typename real> __device__ __forceinline__ real fc_at_least(real v, real low) {
  return v < low ? low : v;
}
template <typename real> __device__ __forceinline__ real fc_at_most(real v, real high) {
  return v > high ? high : v;
}
template <typename real> struct shared {
#define FC_SHARED_CODE(...) __VA_ARGS__
#define FC_DEVICE           static __device__ __forceinline__
#include "filters/color/color.inc"
#undef FC_DEVICE
#undef FC_SHARED_CODE
};

template <typename F> struct conversion {
  int from, to, n_in, n_out, extra;
  F n[FC_COLOR_NUMBERS];
};

template <typename F>
__global__ void __launch_bounds__(THREADS)
    color_pixels(conversion<F> c, fc_dev_view in, fc_dev_view out, fc_dev_map<F> load, fc_dev_map<F> store,
                 uint32_t *notes) {
  const int64_t width = out.shape[FC_AXIS_X], rows = out.shape[FC_AXIS_Y];
  const int64_t count = out.shape[FC_AXIS_N] * rows * width;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * THREADS) {
    const int64_t x = i % width, line = i / width, y = line % rows, f = line / rows;
    F v[3] = {F(0), F(0), F(0)}, rgb[3] = {F(0), F(0), F(0)}, made[3] = {F(0), F(0), F(0)};
#pragma unroll
    for (int k = 0; k < 3; k++)
      if (k < c.n_in) v[k] = fc_dev_load_any<F>(in.at(f, y, x, k), in.dtype, load);
    shared<F>::fc_color_decode(v, rgb, c.n, c.from);
    shared<F>::fc_color_encode(rgb, made, c.n, c.to);
#pragma unroll
    for (int k = 0; k < 3; k++)
      if (k < c.n_out) fc_dev_store_any<F>(out.at(f, y, x, k), out.dtype, made[k], store, notes);
    if (c.extra)
      fc_dev_store_any<F>(out.at(f, y, x, c.n_out), out.dtype,
                          fc_dev_load_any<F>(in.at(f, y, x, c.n_in), in.dtype, load), store, notes);
  }
}

} // namespace

fc_status fc_color_cuda(const fc_color_conversion *c, const fc_view *in, const fc_view *out, void *stream,
                        uint32_t *notes) {
  const int n_in = fc_space_channels(c->from), n_out = fc_space_channels(c->to);
  const int64_t count = out->shape[FC_AXIS_N] * out->shape[FC_AXIS_Y] * out->shape[FC_AXIS_X];
  if (fc_view_count(out) == 0) return FC_OK;
  if (in->shape[FC_AXIS_C] != n_in + c->extra || out->shape[FC_AXIS_C] != n_out + c->extra)
    return FC_UNSUPPORTED;
  return fc_dispatch_compute(c->compute, [&](auto f) {
    using F = decltype(f);
    conversion<F> work = {c->from, c->to, n_in, n_out, c->extra, {}};
    for (int i = 0; i < FC_COLOR_NUMBERS; i++) work.n[i] = static_cast<F>(c->numbers[i]);
    return fc_launch(color_pixels<F>, dim3(fc_blocks(count, THREADS, 1 << 16)), dim3(THREADS), 0, stream,
                     work, fc_dev_view_of(in), fc_dev_view_of(out), fc_dev_map_of<F>(in->kind, in->dtype),
                     fc_dev_map_of<F>(out->kind, out->dtype), notes);
  });
}
