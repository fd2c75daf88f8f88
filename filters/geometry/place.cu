// SPDX-License-Identifier: MIT
//
// place.cu - a signal inserted into a larger one on a CUDA device: a thread per element of the output,
// neighbouring threads at neighbouring elements if channels are interleaved; limited by memory bandwidth.
#include "filters/geometry/place.h"
#include "filters/gpu/cuda.cuh"

namespace {

constexpr int THREADS = 256;

// The input's bounds; an unknown extent is taken as a very large one.
struct bounds {
  int64_t origin_y, origin_x, height, width;
};

template <typename E>
__global__ void __launch_bounds__(THREADS)
    place_elements(fc_dev_view in, fc_dev_view out, fc_place p, bounds b) {
  const int64_t channels = out.shape[FC_AXIS_C], row = out.shape[FC_AXIS_X] * channels;
  const int64_t rows = out.shape[FC_AXIS_N] * out.shape[FC_AXIS_Y];
  for (int64_t r = blockIdx.y; r < rows; r += gridDim.y) {
    const int64_t n = r / out.shape[FC_AXIS_Y], y = r % out.shape[FC_AXIS_Y], from_y = y - p.down;
    const bool inside_y = from_y + b.origin_y >= 0 && from_y + b.origin_y < b.height;
    for (int64_t i = blockIdx.x * static_cast<int64_t>(THREADS) + threadIdx.x; i < row;
         i += static_cast<int64_t>(gridDim.x) * THREADS) {
      int64_t x = i, c = 0;
      if (channels > 1) x = i / channels, c = i % channels;
      const int64_t from_x = x - p.right;
      const bool inside = inside_y && from_x + b.origin_x >= 0 && from_x + b.origin_x < b.width;
      E code = static_cast<E>(p.codes[p.n_codes > 1 ? c : 0]);
      if (inside) code = *reinterpret_cast<const E *>(in.at(n, from_y, from_x, c));
      *reinterpret_cast<E *>(out.at(n, y, x, c)) = code;
    }
  }
}

template <typename E>
fc_status launch_place(const fc_place *p, const fc_view *in, const fc_view *out, void *stream) {
  const int64_t height = in->extent[FC_AXIS_Y], width = in->extent[FC_AXIS_X];
  const bounds b = {out->origin[FC_AXIS_Y], out->origin[FC_AXIS_X], height < 0 ? INT64_MAX : height,
                    width < 0 ? INT64_MAX : width};
  const dim3 grid(fc_blocks(out->shape[FC_AXIS_X] * out->shape[FC_AXIS_C], THREADS, 1 << 20),
                  fc_blocks(out->shape[FC_AXIS_N] * out->shape[FC_AXIS_Y], 1, 65535));
  return fc_launch(place_elements<E>, grid, dim3(THREADS), 0, stream, fc_dev_view_of(in), fc_dev_view_of(out),
                   *p, b);
}

} // namespace

extern "C" fc_status fc_place_cuda(const fc_place *p, const fc_view *in, const fc_view *out, void *stream) {
  if (fc_view_count(out) == 0) return FC_OK;
  switch (fc_dtype_size(out->dtype)) {
  case 1: return launch_place<uint8_t>(p, in, out, stream);
  case 2: return launch_place<uint16_t>(p, in, out, stream);
  case 4: return launch_place<uint32_t>(p, in, out, stream);
  default: return launch_place<uint64_t>(p, in, out, stream);
  }
}
