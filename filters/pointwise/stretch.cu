// SPDX-License-Identifier: MIT
//
// stretch.cu - frames mapped onto a range by their own least and greatest value, on a CUDA device: finds the
// ranges with atomics on keys that sort like the values (a minimum does not depend on their order), turns
// them into maps, and applies those with fc_pointwise_cuda.
#include "filters/gpu/cuda.cuh"
#include "filters/base/lines.h"
#include "filters/pointwise/pointwise.h"
#include "filters/pointwise/stretch.h"

namespace {

constexpr int THREADS = 256;

typedef unsigned long long key;

// A key that, compared as an unsigned number, sorts like the double.
__device__ __forceinline__ key key_of(double v) {
  const key bits = static_cast<key>(__double_as_longlong(v));
  return bits >> 63 ? ~bits : bits | 1ull << 63;
}

__device__ __forceinline__ double value_of(key k) {
  return __longlong_as_double(static_cast<long long>(k >> 63 ? k & ~(1ull << 63) : ~k));
}

template <typename F> struct limits;
template <> struct limits<float> { static constexpr double most = 0x1p126; };
template <> struct limits<double> { static constexpr double most = 0x1p1022; };

// Two keys a frame: least and greatest.
template <typename F> __global__ void stretch_start(key *keys, int64_t frames) {
  const int64_t f = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x;
  if (f >= frames) return;
  keys[2 * f] = key_of(limits<F>::most);
  keys[2 * f + 1] = key_of(-limits<F>::most);
}

template <typename F> __device__ __forceinline__ void widen(F v, F &low, F &high) {
  const F most = static_cast<F>(limits<F>::most);
  if (!(v >= -most && v <= most)) return;
  if (v < low) low = v;
  if (v > high) high = v;
}

// Least and greatest value of all lanes; every lane takes part.
template <typename F> __device__ __forceinline__ void widen_by_warp(F &low, F &high) {
  for (int offset = 16; offset > 0; offset /= 2) {
    const F other_low = __shfl_xor_sync(0xffffffffu, low, offset);
    const F other_high = __shfl_xor_sync(0xffffffffu, high, offset);
    if (other_low < low) low = other_low;
    if (other_high > high) high = other_high;
  }
}

template <typename F, typename T>
__global__ void __launch_bounds__(THREADS)
    stretch_find(fc_dev_view in, fc_lines lines, fc_dev_map<F> map, key *keys) {
  const int64_t count = lines.rows * lines.channels;
  for (int64_t n = blockIdx.y; n < lines.frames; n += gridDim.y) {
    F low = static_cast<F>(limits<F>::most), high = -low;
    for (int64_t line = blockIdx.x; line < count; line += gridDim.x) {
      const char *from = in.at(n, line / lines.channels, 0, line % lines.channels);
      for (int64_t i = threadIdx.x; i < lines.length; i += THREADS)
        widen(fc_dev_load<F, T>(from + i * lines.in_step, map), low, high);
    }
    widen_by_warp(low, high);
    if (threadIdx.x % 32 == 0) {
      atomicMin(&keys[2 * n], key_of(static_cast<double>(low)));
      atomicMax(&keys[2 * n + 1], key_of(static_cast<double>(high)));
    }
  }
}

// See map_of in stretch.c.
template <typename F> __global__ void stretch_finish(const key *keys, int64_t frames, double span, F *maps) {
  const int64_t f = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x;
  if (f >= frames) return;
  const double low = value_of(keys[2 * f]), high = value_of(keys[2 * f + 1]);
  maps[2 * f] = static_cast<F>(low <= high ? __dadd_rn(low, 0.0) : 0.0);
  const double factor = low < high ? __ddiv_rn(span, __dsub_rn(high, low)) : 0.0;
  maps[2 * f + 1] = static_cast<F>(factor > static_cast<double>(limits<F>::most) ? 0.0 : factor);
}

template <typename F, typename T>
fc_status stretch(const fc_stretch *s, const fc_view *in, const fc_view *out, char *scratch,
                  cudaStream_t stream, uint32_t *notes) {
  const fc_lines lines = fc_lines_of(in, out, 1);
  const int64_t frames = lines.frames;
  if (frames == 0 || fc_view_count(out) == 0) return FC_OK;
  F *maps = reinterpret_cast<F *>(scratch);
  key *keys = reinterpret_cast<key *>(scratch + (frames * 2 * sizeof(F) + 63) / 64 * 64);
  const unsigned blocks = fc_blocks(frames, THREADS, INT32_MAX);
  const dim3 grid(fc_blocks(lines.rows * lines.channels, 1, 1024), fc_blocks(frames, 1, 65535));
  stretch_start<F><<<blocks, THREADS, 0, stream>>>(keys, frames);
  stretch_find<F, T>
      <<<grid, THREADS, 0, stream>>>(fc_dev_view_of(in), lines, fc_dev_map_of<F>(in->kind, in->dtype), keys);
  stretch_finish<F><<<blocks, THREADS, 0, stream>>>(keys, frames, s->span, maps);
  const fc_status status = fc_launch_status();
  if (status != FC_OK) return status;
  fc_pointwise p = {};
  p.form = FC_POINTWISE_MAP, p.compute = s->compute, p.to = s->low, p.frames = maps;
  return fc_pointwise_cuda(&p, in, out, stream, notes);
}

} // namespace

extern "C" fc_status fc_stretch_cuda(const fc_stretch *s, const fc_view *in, const fc_view *out,
                                     void *scratch, void *stream, uint32_t *notes) {
  return fc_dispatch_compute(s->compute, [&](auto f) {
    using F = decltype(f);
    return fc_dispatch_dtype(in->dtype, [&](auto t) {
      return stretch<F, decltype(t)>(s, in, out, static_cast<char *>(scratch),
                                     static_cast<cudaStream_t>(stream), notes);
    });
  });
}
