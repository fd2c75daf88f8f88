// SPDX-License-Identifier: MIT
//
// histogram.cu - histogram.h on a CUDA device: a block of threads per block of the signal, which clears its
// counters and increments them by atomics. Counts are integers, so the order of additions does not change
// the result.
#include "filters/gpu/cuda.cuh"
#include "filters/histogram/histogram.h"

namespace {

constexpr int THREADS = 256;

__global__ void __launch_bounds__(THREADS)
    count(fc_histogram h, fc_dev_view in, fc_dev_map<double> load, char *to, int64_t stride, int64_t blocks) {
  const int64_t channels = in.shape[FC_AXIS_C], each = h.bins + FC_HISTOGRAM_EXTRA;
  const int64_t bytes = static_cast<int64_t>(fc_histogram_bytes(h.bins, channels)), length = in.shape[h.axis];
  for (int64_t b = blockIdx.x; b < blocks * in.shape[FC_AXIS_N]; b += gridDim.x) {
    const int64_t n = b / blocks, at = b % blocks * h.align;
    char *block = to + n * stride + b % blocks * bytes;
    unsigned long long *counts = reinterpret_cast<unsigned long long *>(block + sizeof(fc_histogram_head));
    for (int64_t i = threadIdx.x; i < channels * each; i += THREADS) counts[i] = 0;
    if (threadIdx.x == 0)
      *reinterpret_cast<fc_histogram_head *>(block) = {static_cast<uint32_t>(channels), 0};
    __syncthreads();
    const int64_t part = length - at < h.align ? length - at : h.align;
    const int64_t width = h.axis == FC_AXIS_X ? part : in.shape[FC_AXIS_X];
    const int64_t height = h.axis == FC_AXIS_X ? in.shape[FC_AXIS_Y] : part;
    const int64_t x0 = h.axis == FC_AXIS_X ? at : 0, y0 = h.axis == FC_AXIS_X ? 0 : at;
    for (int64_t i = threadIdx.x; i < width * height * channels; i += THREADS) {
      const int64_t c = i % channels, x = i / channels % width, y = i / channels / width;
      const double v = fc_dev_load_any<double>(in.at(n, y0 + y, x0 + x, c), in.dtype, load);
      atomicAdd(&counts[c * each + fc_histogram_place(&h, v)], 1ull);
    }
    __syncthreads();
  }
}

} // namespace

fc_status fc_histogram_cuda(const fc_histogram *h, const fc_view *in, void *to, int64_t stride,
                            void *stream) {
  if (fc_view_count(in) == 0) return FC_OK;
  const int64_t blocks = (in->shape[h->axis] + h->align - 1) / h->align;
  return fc_launch(count, dim3(fc_blocks(blocks * in->shape[FC_AXIS_N], 1, 65535)), dim3(THREADS), 0, stream,
                   *h, fc_dev_view_of(in), fc_dev_map_of<double>(in->kind, in->dtype),
                   static_cast<char *>(to), stride, blocks);
}
