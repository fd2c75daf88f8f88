// SPDX-License-Identifier: MIT
//
// sharpen.cu - sharpen.h on a CUDA device: sepconv into scratch, then a thread per element.
#include "filters/gpu/cuda.cuh"
#include "filters/local/sharpen.h"

namespace {

constexpr int THREADS = 256;

template <typename F>
__global__ void __launch_bounds__(THREADS)
    sharpen(fc_dev_view in, const F *blurred, fc_dev_view out, F amount, F threshold, fc_dev_map<F> load,
            fc_dev_map<F> store, uint32_t *notes) {
  const int64_t channels = out.shape[FC_AXIS_C], row = out.shape[FC_AXIS_X] * channels;
  const int64_t rows = out.shape[FC_AXIS_Y], lines = out.shape[FC_AXIS_N] * rows;
  for (int64_t line = blockIdx.y; line < lines; line += gridDim.y)
    for (int64_t i = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x; i < row;
         i += static_cast<int64_t>(gridDim.x) * THREADS) {
      const int64_t n = line / rows, y = line % rows, x = i / channels, c = i % channels;
      const F v = fc_dev_load_any<F>(in.at(n, y, x, c), in.dtype, load), d = v - blurred[line * row + i];
      const F made = d > threshold || d < -threshold ? v + amount * d : v;
      fc_dev_store_any<F>(out.at(n, y, x, c), out.dtype, made, store, notes);
    }
}

} // namespace

size_t fc_sharpen_cuda_scratch(const fc_sharpen *s, const fc_view *out) {
  return fc_sharpen_blurred_bytes(s, out) + fc_sepconv_cuda_scratch(&s->blur, out);
}

fc_status fc_sharpen_cuda(const fc_sharpen *s, const fc_view *in, const fc_view *out, void *scratch,
                          void *stream, uint32_t *notes) {
  const fc_view blurred = fc_sharpen_blurred(s, out, scratch);
  void *sums = static_cast<char *>(scratch) + fc_sharpen_blurred_bytes(s, out);
  if (fc_view_count(out) == 0) return FC_OK;
  const fc_status status = fc_sepconv_cuda(&s->blur, in, &blurred, sums, stream, nullptr);
  if (status != FC_OK) return status;
  const int64_t row = out->shape[FC_AXIS_X] * out->shape[FC_AXIS_C];
  const dim3 grid(fc_blocks(row, THREADS, 1 << 20),
                  fc_blocks(out->shape[FC_AXIS_N] * out->shape[FC_AXIS_Y], 1, 65535));
  return fc_dispatch_compute(s->blur.compute, [&](auto f) {
    using F = decltype(f);
    return fc_launch(sharpen<F>, grid, dim3(THREADS), 0, stream, fc_dev_view_of(in),
                     static_cast<const F *>(scratch), fc_dev_view_of(out), static_cast<F>(s->amount),
                     static_cast<F>(s->threshold), fc_dev_map_of<F>(in->kind, in->dtype),
                     fc_dev_map_of<F>(out->kind, out->dtype), notes);
  });
}
