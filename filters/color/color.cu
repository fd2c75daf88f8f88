// SPDX-License-Identifier: MIT
//
// color.cu - color.h on a CUDA device: a thread per pixel, with the functions of color.inc. Not tuned, since
// chains are fused into kernels of their own; but for Lab of bytes, whose light is a table.
#include "filters/base/power.h"
#include "filters/color/color.h"
#include "filters/color/lab_bytes.h"
#include "filters/gpu/cuda.cuh"
#include "filters/gpu/pixel_tiles.cuh"

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

// ---- Lab of bytes --------------------------------------------------------------

constexpr int LAB_THREADS = FC_TILE_WARPS * FC_TILE_LANES;

// Not inlined, as it is rarely wanted. `light` is from 0 to 1.
__device__ __noinline__ uint32_t careful_lab(const double *light, uint32_t codes) {
  return fc_lab_careful(light[codes & 255], light[codes >> 8 & 255], light[codes >> 16]);
}

template <int C> struct lab_tiles {
  const float *light; // of each code, from 0 to 255, in shared memory
  const double *wide; // from 0 to 1

  // What is beyond a row is written nowhere, and no code is clipped.
  __device__ __forceinline__ void fill(unsigned char *, int, int) const {}

  static __device__ __forceinline__ uint32_t colours(const uint32_t (&x)[4 * C], int pixel) {
    const int at = pixel * C; // bytes that are known when this is unrolled
    return __funnelshift_r(x[at / 4], at / 4 + 1 < 4 * C ? x[at / 4 + 1] : 0, at % 4 * 8) & 0xffffff;
  }

  __device__ __forceinline__ void make(uint32_t (&y)[4 * C], const uint32_t (&x)[4 * C]) const {
#pragma unroll
    for (int i = 0; i < 4 * C; i++) y[i] = C == 4 ? x[i] & 0xff000000u : 0; // alpha stays
#pragma unroll
    for (int p = 0; p < 16; p++) {
      const uint32_t codes = colours(x, p);
      int doubt;
      uint32_t made = fc_lab_close(light[codes & 255], light[codes >> 8 & 255], light[codes >> 16], &doubt);
      if (doubt) made = careful_lab(wide, codes);
      const int at = p * C;
      y[at / 4] |= made << at % 4 * 8;
      if (at % 4 > 1) y[at / 4 + 1] |= made >> (32 - at % 4 * 8);
    }
  }
};

template <int C>
__global__ void __launch_bounds__(LAB_THREADS) lab_of_bytes(fc_pixel_runs r, conversion<float> c) {
  __shared__ float light[256];
  __shared__ double wide[256];
  if (threadIdx.x < 256) {
    const float code = static_cast<float>(threadIdx.x), codes[3] = {code, code, code};
    float made[3];
    shared<float>::fc_color_to_linear(codes, made, c.n);
    light[threadIdx.x] = made[0];
    wide[threadIdx.x] = shared<float>::fc_color_to_light(static_cast<double>(code / c.n[4]));
  }
  __syncthreads();
  lab_tiles<C> work;
  work.light = light, work.wide = wide;
  fc_tile_each<C, C>(r, 1, work);
}

// Alpha, if there is any, as it is.
fc_status launch_lab(const fc_color_conversion *c, const conversion<float> &work, const fc_view *in,
                     const fc_view *out, void *stream) {
  if (!fc_color_is_lab_of_bytes(c, in, out) || !fc_is_dense(in) || !fc_is_dense(out)) return FC_UNSUPPORTED;
  const fc_pixel_runs r = fc_pixel_runs_of(in, out);
  if (!fc_tiles_fit(r)) return FC_UNSUPPORTED;
  return fc_launch(c->extra ? lab_of_bytes<4> : lab_of_bytes<3>, dim3(fc_tile_blocks(r, 4)),
                   dim3(LAB_THREADS), 0, stream, r, work);
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
    if constexpr (sizeof(F) == sizeof(float)) {
      const fc_status status = launch_lab(c, work, in, out, stream);
      if (status != FC_UNSUPPORTED) return status;
    }
    return fc_launch(color_pixels<F>, dim3(fc_blocks(count, THREADS, 1 << 16)), dim3(THREADS), 0, stream,
                     work, fc_dev_view_of(in), fc_dev_view_of(out), fc_dev_map_of<F>(in->kind, in->dtype),
                     fc_dev_map_of<F>(out->kind, out->dtype), notes);
  });
}
