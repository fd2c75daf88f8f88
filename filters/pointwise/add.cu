// SPDX-License-Identifier: MIT
//
// add.cu - add.h on a CUDA device: one thread per element of the output. With interleaved channels
// neighbouring threads take neighbouring elements. Bound by memory.
#include "filters/gpu/cuda.cuh"
#include "filters/pointwise/add.h"

namespace {

constexpr int THREADS = 256;

__device__ __forceinline__ float sum_of(float x, float factor, float y) {
  return __fadd_rn(x, __fmul_rn(factor, y));
}
__device__ __forceinline__ double sum_of(double x, double factor, double y) {
  return __dadd_rn(x, __dmul_rn(factor, y));
}

template <typename F>
__global__ void __launch_bounds__(THREADS)
    add_elements(fc_dev_view a, fc_dev_view b, fc_dev_view out, F factor, fc_dev_map<F> load_a,
                 fc_dev_map<F> load_b, fc_dev_map<F> store, uint32_t *notes) {
  const int64_t channels = out.shape[FC_AXIS_C], row = out.shape[FC_AXIS_X] * channels;
  const int64_t rows = out.shape[FC_AXIS_N] * out.shape[FC_AXIS_Y];
  for (int64_t r = blockIdx.y; r < rows; r += gridDim.y) {
    const int64_t n = r / out.shape[FC_AXIS_Y], y = r % out.shape[FC_AXIS_Y];
    for (int64_t i = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x; i < row;
         i += static_cast<int64_t>(gridDim.x) * THREADS) {
      int64_t x = i, c = 0;
      if (channels > 1) x = i / channels, c = i % channels;
      const F first = fc_dev_load_any<F>(a.at(n, y, x, c), a.dtype, load_a);
      const F second = fc_dev_load_any<F>(b.at(n, y, x, c), b.dtype, load_b);
      fc_dev_store_any<F>(out.at(n, y, x, c), out.dtype, sum_of(first, factor, second), store, notes);
    }
  }
}

} // namespace

fc_status fc_add_cuda(const fc_add *add, const fc_view *a, const fc_view *b, const fc_view *out, void *stream,
                      uint32_t *notes) {
  if (fc_view_count(out) == 0) return FC_OK;
  const int64_t row = out->shape[FC_AXIS_X] * out->shape[FC_AXIS_C];
  const int64_t rows = out->shape[FC_AXIS_N] * out->shape[FC_AXIS_Y];
  const dim3 grid(fc_blocks(row, THREADS, 1 << 16), fc_blocks(rows, 1, 65535));
  return fc_dispatch_compute(add->compute, [&](auto f) {
    using F = decltype(f);
    return fc_launch(add_elements<F>, grid, dim3(THREADS), 0, stream, fc_dev_view_of(a), fc_dev_view_of(b),
                     fc_dev_view_of(out), static_cast<F>(add->factor), fc_dev_map_of<F>(a->kind, a->dtype),
                     fc_dev_map_of<F>(b->kind, b->dtype), fc_dev_map_of<F>(out->kind, out->dtype), notes);
  });
}
