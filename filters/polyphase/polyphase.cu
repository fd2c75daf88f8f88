// SPDX-License-Identifier: MIT
//
// polyphase.cu - polyphase.h on a CUDA device: a warp per output, all its channels, and a lane per every
// 32nd tap, so that loads of taps and samples are adjacent; the lanes' sums are added pairwise. Limited by
// reading the table, which stays in the second-level cache.
#include "filters/gpu/cuda.cuh"
#include "filters/polyphase/polyphase.h"

namespace {

constexpr int THREADS = 256, WARPS = THREADS / 32;

struct shape {
  int64_t up, down, taps, before, phases;
};

__device__ __forceinline__ float multiply_add(float a, float b, float c) {
  return __fmaf_rn(a, b, c);
}
__device__ __forceinline__ double multiply_add(double a, double b, double c) {
  return __fma_rn(a, b, c);
}

// Returns floor(o * down / up), and the remainder in units of 1/up as `fraction`.
__device__ __forceinline__ int64_t position(const shape &s, int64_t o, int64_t &fraction) {
  const int64_t rounds = o / s.up, t = o % s.up * s.down, whole = t / s.up;
  fraction = t - whole * s.up;
  return rounds * s.down + whole;
}

template <typename F>
__global__ void __launch_bounds__(THREADS)
    polyphase_outputs(fc_dev_view in, fc_dev_view out, shape s, const F *table, int64_t origin,
                      fc_dev_map<F> load, fc_dev_map<F> store, uint32_t *notes) {
  const int lane = static_cast<int>(threadIdx.x) % 32;
  const int64_t length = out.shape[FC_AXIS_T], warps = static_cast<int64_t>(gridDim.x) * WARPS;
  int64_t fraction;
  const int64_t first = position(s, origin, fraction);
  for (int64_t o = blockIdx.x * static_cast<int64_t>(WARPS) + threadIdx.x / 32; o < length; o += warps) {
    const int64_t from = position(s, origin + o, fraction) - first - s.before;
    const bool mixed = s.phases != s.up;
    const int64_t scaled = fraction * s.phases, row = mixed ? scaled / s.up : fraction;
    const F weight = mixed ? static_cast<F>(scaled - row * s.up) / static_cast<F>(s.up) : F(0);
    const F *const taps = table + row * s.taps;
    for (int64_t c = 0; c < out.shape[FC_AXIS_C]; c++) {
      F sum = 0;
      for (int64_t j = lane; j < s.taps; j += 32) {
        F tap = taps[j];
        if (mixed) tap = multiply_add(weight, taps[s.taps + j] - tap, tap);
        sum = multiply_add(tap, fc_dev_load_any<F>(in.at(0, 0, from + j, c), in.dtype, load), sum);
      }
      for (int apart = 16; apart > 0; apart /= 2) sum += __shfl_down_sync(0xffffffffu, sum, apart);
      if (lane == 0) fc_dev_store_any<F>(out.at(0, 0, o, c), out.dtype, sum, store, notes);
    }
  }
}

} // namespace

fc_status fc_polyphase_cuda(const fc_polyphase *r, const fc_view *in, const fc_view *out, void *stream,
                            uint32_t *notes) {
  if (fc_view_count(out) == 0) return FC_OK;
  if (out->shape[FC_AXIS_N] != 1 || out->shape[FC_AXIS_Y] != 1) return FC_UNSUPPORTED;
  const shape s = {r->up, r->down, r->taps, r->before, r->phases};
  const dim3 grid(fc_blocks(out->shape[FC_AXIS_T], WARPS, 1 << 16));
  return fc_dispatch_compute(r->compute, [&](auto f) {
    using F = decltype(f);
    return fc_launch(polyphase_outputs<F>, grid, dim3(THREADS), 0, stream, fc_dev_view_of(in),
                     fc_dev_view_of(out), s, static_cast<const F *>(r->device_table), out->origin[FC_AXIS_T],
                     fc_dev_map_of<F>(in->kind, in->dtype), fc_dev_map_of<F>(out->kind, out->dtype), notes);
  });
}
