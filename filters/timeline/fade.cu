// SPDX-License-Identifier: MIT
//
// fade.cu - fade.h on a CUDA device: a thread per element of the output, neighbouring threads at
// neighbouring elements if channels are interleaved; limited by memory bandwidth.
#include "filters/gpu/cuda.cuh"
#include "filters/timeline/fade_math.h"

namespace {

constexpr int THREADS = 256;

template <typename F>
__global__ void __launch_bounds__(THREADS)
    fade_elements(fc_dev_view in, fc_dev_view out, fc_fade fade, int64_t origin, int64_t extent,
                  fc_dev_map<F> load, fc_dev_map<F> store, uint32_t *notes) {
  const int64_t channels = out.shape[FC_AXIS_C], row = out.shape[FC_AXIS_T] * channels;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x; i < row;
       i += static_cast<int64_t>(gridDim.x) * THREADS) {
    int64_t t = i, c = 0;
    if (channels > 1) t = i / channels, c = i % channels;
    F value = fc_dev_load_any<F>(in.at(0, 0, t, c), in.dtype, load);
    if (origin + t < fade.in || (extent >= 0 && origin + t >= extent - fade.out))
      value *= static_cast<F>(fc_fade_factor(&fade, origin + t, extent));
    fc_dev_store_any<F>(out.at(0, 0, t, c), out.dtype, value, store, notes);
  }
}

} // namespace

fc_status fc_fade_cuda(const fc_fade *fade, const fc_view *in, const fc_view *out, void *stream,
                       uint32_t *notes) {
  if (fc_view_count(out) == 0) return FC_OK;
  const dim3 grid(fc_blocks(out->shape[FC_AXIS_T] * out->shape[FC_AXIS_C], THREADS, 1 << 16));
  return fc_dispatch_compute(fade->compute, [&](auto f) {
    using F = decltype(f);
    return fc_launch(fade_elements<F>, grid, dim3(THREADS), 0, stream, fc_dev_view_of(in),
                     fc_dev_view_of(out), *fade, out->origin[FC_AXIS_T], out->extent[FC_AXIS_T],
                     fc_dev_map_of<F>(in->kind, in->dtype), fc_dev_map_of<F>(out->kind, out->dtype), notes);
  });
}
