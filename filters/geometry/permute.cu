// SPDX-License-Identifier: MIT
//
// permute.cu - copies with axes exchanged on a CUDA device. A block processes a tile of 32 by 32 pixels:
// stores are contiguous, and strided loads use whole cache lines, as the tile's other rows read the rest of
// them.
#include "filters/geometry/permute.h"
#include "filters/gpu/cuda.cuh"

namespace {

constexpr int TILE = 32, ROWS = 8; // columns and rows of a tile; rows of threads

// Two axes that form tiles, `u` the one along which outputs are adjacent, and two outer axes.
struct walk {
  int64_t count[FC_AXES], to[FC_AXES], from[FC_AXES]; // per axis, in the order u, v, w, n
  int64_t tiles_u, tiles_v;
};

template <typename E>
__global__ void __launch_bounds__(TILE *ROWS) permute_tiles(const char *in, char *out, walk w) {
  const int64_t all = w.tiles_u * w.tiles_v * w.count[2] * w.count[3];
  for (int64_t i = blockIdx.x; i < all; i += gridDim.x) {
    const int64_t tile = i % (w.tiles_u * w.tiles_v), rest = i / (w.tiles_u * w.tiles_v);
    const int64_t outer = rest % w.count[2], n = rest / w.count[2];
    const char *from = in + outer * w.from[2] + n * w.from[3];
    char *to = out + outer * w.to[2] + n * w.to[3];
    const int64_t u = tile % w.tiles_u * TILE + threadIdx.x;
    if (u >= w.count[0]) continue;
    for (int k = threadIdx.y; k < TILE; k += ROWS) {
      const int64_t v = tile / w.tiles_u * TILE + k;
      if (v < w.count[1])
        *reinterpret_cast<E *>(to + u * w.to[0] + v * w.to[1]) =
            *reinterpret_cast<const E *>(from + u * w.from[0] + v * w.from[1]);
    }
  }
}

int64_t size_of(int64_t step) {
  return step < 0 ? -step : step;
}

// Chooses u as the axis along which outputs are adjacent, and v as the one along which inputs are.
walk walk_of(const fc_view *seen, const fc_view *out) {
  int order[FC_AXES] = {FC_AXIS_X, FC_AXIS_Y, FC_AXIS_C, FC_AXIS_N};
  auto swap = [&](int a, int b) {
    const int kept = order[a];
    order[a] = order[b], order[b] = kept;
  };
  for (int a = 1; a < 3; a++)
    if (out->shape[order[a]] > 1 && size_of(out->stride[order[a]]) < size_of(out->stride[order[0]]) &&
        out->shape[order[a]] >= TILE)
      swap(0, a);
  if (out->shape[order[2]] > 1 && size_of(seen->stride[order[2]]) < size_of(seen->stride[order[1]]) &&
      out->shape[order[2]] >= TILE)
    swap(1, 2);
  walk w;
  for (int a = 0; a < FC_AXES; a++) {
    w.count[a] = out->shape[order[a]];
    w.to[a] = out->stride[order[a]], w.from[a] = seen->stride[order[a]];
  }
  w.tiles_u = (w.count[0] + TILE - 1) / TILE, w.tiles_v = (w.count[1] + TILE - 1) / TILE;
  return w;
}

template <typename E> fc_status launch_permute(const fc_view *seen, const fc_view *out, void *stream) {
  const walk w = walk_of(seen, out);
  const unsigned blocks = fc_blocks(w.tiles_u * w.tiles_v * w.count[2] * w.count[3], 1, 1 << 30);
  return fc_launch(permute_tiles<E>, dim3(blocks), dim3(TILE, ROWS), 0, stream,
                   static_cast<const char *>(seen->data), static_cast<char *>(out->data), w);
}

} // namespace

extern "C" fc_status fc_permute_cuda(const fc_permute *p, const fc_view *in, const fc_view *out,
                                     void *stream) {
  if (fc_view_count(out) == 0) return FC_OK;
  const fc_view seen = fc_permute_view(p, in, out);
  switch (fc_dtype_size(out->dtype)) {
  case 1: return launch_permute<uint8_t>(&seen, out, stream);
  case 2: return launch_permute<uint16_t>(&seen, out, stream);
  case 4: return launch_permute<uint32_t>(&seen, out, stream);
  default: return launch_permute<uint64_t>(&seen, out, stream);
  }
}
