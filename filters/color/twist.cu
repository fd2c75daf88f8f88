// SPDX-License-Identifier: MIT
//
// twist.cu - twist.h on a CUDA device: a thread per pixel.
#include "filters/color/twist.h"
#include "filters/gpu/cuda.cuh"

namespace {

constexpr int THREADS = 256;

template <typename F> struct numbers {
  int colors, extra;
  F matrix[3][3], offset, white;
};

template <typename F>
__global__ void __launch_bounds__(THREADS) twist(numbers<F> t, fc_dev_view in, fc_dev_view out,
                                                 fc_dev_map<F> load, fc_dev_map<F> store, uint32_t *notes) {
  const int64_t width = out.shape[FC_AXIS_X], count = out.shape[FC_AXIS_Y] * width;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * THREADS) {
    const int64_t x = i % width, y = i / width;
    F v[3] = {F(0), F(0), F(0)};
#pragma unroll
    for (int k = 0; k < 3; k++)
      if (k < t.colors) v[k] = fc_dev_load_any<F>(in.at(0, y, x, k), in.dtype, load);
#pragma unroll
    for (int k = 0; k < 3; k++) {
      if (k >= t.colors) break;
      F sum = t.matrix[k][0] * v[0];
      if (t.colors == 3) sum = sum + t.matrix[k][1] * v[1] + t.matrix[k][2] * v[2];
      sum = sum + t.offset;
      sum = sum < F(0) ? F(0) : sum;
      sum = sum > t.white ? t.white : sum;
      fc_dev_store_any<F>(out.at(0, y, x, k), out.dtype, sum, store, notes);
    }
    for (int k = t.colors; k < t.colors + t.extra; k++)
      fc_dev_store_any<F>(out.at(0, y, x, k), out.dtype,
                          fc_dev_load_any<F>(in.at(0, y, x, k), in.dtype, load), store, notes);
  }
}

} // namespace

fc_status fc_twist_cuda(const fc_twist *t, const fc_view *in, const fc_view *out, void *stream,
                        uint32_t *notes) {
  if (fc_view_count(out) == 0) return FC_OK;
  if (out->shape[FC_AXIS_C] != t->colors + t->extra) return FC_UNSUPPORTED;
  return fc_dispatch_compute(t->compute, [&](auto f) {
    using F = decltype(f);
    numbers<F> n = {t->colors, t->extra, {}, static_cast<F>(t->offset), static_cast<F>(t->white)};
    for (int i = 0; i < 9; i++) n.matrix[i / 3][i % 3] = static_cast<F>(t->matrix[i / 3][i % 3]);
    const int64_t count = out->shape[FC_AXIS_Y] * out->shape[FC_AXIS_X];
    return fc_launch(twist<F>, dim3(fc_blocks(count, THREADS, 1 << 16)), dim3(THREADS), 0, stream, n,
                     fc_dev_view_of(in), fc_dev_view_of(out), fc_dev_map_of<F>(in->kind, in->dtype),
                     fc_dev_map_of<F>(out->kind, out->dtype), notes);
  });
}
