// SPDX-License-Identifier: MIT
//
// noise.cu - noise.h on a CUDA device: a thread per four columns of a channel, which share one draw of
// random words.
#include "filters/generate/noise_math.h"
#include "filters/gpu/cuda.cuh"

namespace {

constexpr int THREADS = 256;

template <typename F>
__global__ void __launch_bounds__(THREADS)
    add_noise(fc_noise noise, fc_dev_view in, fc_dev_view out, int64_t origin_y, int64_t origin_x,
              int64_t origin_c, fc_dev_map<F> load, fc_dev_map<F> store, uint32_t *notes) {
  const int64_t width = out.shape[FC_AXIS_X], channels = out.shape[FC_AXIS_C];
  const int64_t first = origin_x >> 2, draws = ((origin_x + width + 3) >> 2) - first;
  const int64_t count = out.shape[FC_AXIS_Y] * draws * channels;
  for (int64_t i = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x; i < count;
       i += static_cast<int64_t>(gridDim.x) * THREADS) {
    const int64_t c = i % channels, d = i / channels % draws, y = i / channels / draws,
                  channel = origin_c + c;
    const bool plain = channel >= noise.colors;
    const uint64_t row = fc_noise_row(origin_y + y, noise.shared ? 0 : channel);
    const int64_t begin = 4 * (first + d) - origin_x;
    for (int64_t x = begin < 0 ? 0 : begin; x < begin + 4 && x < width; x++) {
      F v = fc_dev_load_any<F>(in.at(0, y, x, c), in.dtype, load);
      if (!plain)
        v += static_cast<F>(fc_noise_at(noise.key, row, origin_x + x, noise.even)) *
             static_cast<F>(noise.deviation);
      fc_dev_store_any<F>(out.at(0, y, x, c), out.dtype, v, store, notes);
    }
  }
}

} // namespace

fc_status fc_noise_cuda(const fc_noise *noise, const fc_view *in, const fc_view *out, void *stream,
                        uint32_t *notes) {
  if (fc_view_count(out) == 0) return FC_OK;
  return fc_dispatch_compute(noise->compute, [&](auto f) {
    using F = decltype(f);
    return fc_launch(add_noise<F>, dim3(fc_blocks(fc_view_count(out), 4 * THREADS, 1 << 16)), dim3(THREADS),
                     0, stream, *noise, fc_dev_view_of(in), fc_dev_view_of(out), out->origin[FC_AXIS_Y],
                     out->origin[FC_AXIS_X], out->origin[FC_AXIS_C], fc_dev_map_of<F>(in->kind, in->dtype),
                     fc_dev_map_of<F>(out->kind, out->dtype), notes);
  });
}
