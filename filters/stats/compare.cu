// SPDX-License-Identifier: MIT
//
// compare.cu - compare.h on a CUDA device. A block of threads compares one block of a channel. Each thread
// takes every THREADS-th element and the window around it; the sums of the threads are added in a fixed tree,
// so that the result does not depend on timing.
#include "filters/gpu/cuda.cuh"
#include "filters/stats/compare_math.h"

namespace {

constexpr int THREADS = 256;
constexpr int TAPS = FC_COMPARE_TAPS, HALO = FC_COMPARE_HALO;

__constant__ double weights[TAPS] = FC_COMPARE_WEIGHTS;

// A view, with the arguments that depend on it.
struct side {
  fc_dev_view view;
  fc_dev_map<double> map;

  __device__ __forceinline__ double at(int64_t n, int64_t y, int64_t x, int64_t c) const {
    return fc_dev_load_any<double>(view.at(n, y, x, c), view.dtype, map);
  }
};

struct setting {
  side a, b;
  double c1, c2;
  int kind, head_kind, head_dtype;
  int64_t align, origin_y, extent_y, frame_bytes, block_bytes;
  char *blocks;
};

__device__ __forceinline__ void add(fc_compare_part &sum, const fc_compare_part &part) {
  sum.count += part.count, sum.bad += part.bad;
  sum.squares += part.squares, sum.signal += part.signal;
  sum.largest = fmax(sum.largest, part.largest);
  sum.similarity += part.similarity, sum.windows += part.windows;
}

__device__ void add_pair(const setting &s, int64_t n, int64_t y, int64_t x, int64_t c,
                         fc_compare_part &part) {
  const double a = s.a.at(n, y, x, c), b = s.b.at(n, y, x, c), d = a - b;
  if (!isfinite(d) || !isfinite(b)) {
    part.bad++;
    return;
  }
  part.count++;
  part.squares += d * d, part.signal += b * b;
  part.largest = fmax(part.largest, fabs(d));
}

__device__ void add_window(const setting &s, int64_t n, int64_t y, int64_t x, int64_t c,
                           fc_compare_part &part) {
  fc_compare_sums sums = {0, 0, 0, 0, 0};
  for (int j = 0; j < TAPS; j++) {
    fc_compare_sums row = {0, 0, 0, 0, 0};
    for (int i = 0; i < TAPS; i++) {
      const double a = s.a.at(n, y + j - HALO, x + i - HALO, c), b = s.b.at(n, y + j - HALO, x + i - HALO, c);
      const double g = weights[i];
      row.a += g * a, row.b += g * b, row.aa += g * (a * a), row.bb += g * (b * b), row.ab += g * (a * b);
    }
    const double g = weights[j];
    sums.a += g * row.a, sums.b += g * row.b, sums.aa += g * row.aa, sums.bb += g * row.bb,
        sums.ab += g * row.ab;
  }
  const double similarity = fc_compare_similarity(&sums, s.c1, s.c2);
  if (!isfinite(similarity)) return;
  part.similarity += similarity, part.windows++;
}

// Merges the parts of all threads; thread 0 has the result.
__device__ void reduce(fc_compare_part *parts) {
  for (int half = THREADS / 2; half > 0; half /= 2) {
    __syncthreads();
    if (threadIdx.x < half) add(parts[threadIdx.x], parts[threadIdx.x + half]);
  }
  __syncthreads();
}

__global__ void __launch_bounds__(THREADS) compare_blocks(setting s) {
  __shared__ fc_compare_part parts[THREADS];
  const int64_t block = blockIdx.x, c = blockIdx.y;
  const int64_t *shape = s.a.view.shape;
  const fc_compare_area area = fc_compare_area_of(s.kind, shape, s.align, block);
  for (int64_t n = blockIdx.z; n < shape[FC_AXIS_N]; n += gridDim.z) {
    fc_compare_part mine = {};
    for (int64_t i = threadIdx.x; i < area.rows * area.columns; i += THREADS) {
      const int64_t y = area.y + i / area.columns, x = area.x + i % area.columns, at = s.origin_y + y;
      add_pair(s, n, y, x, c, mine);
      if (s.c1 > 0 && s.kind != FC_AUDIO && at >= HALO && at < s.extent_y - HALO && x >= HALO &&
          x < shape[FC_AXIS_X] - HALO)
        add_window(s, n, y, x, c, mine);
    }
    parts[threadIdx.x] = mine;
    reduce(parts);
    if (threadIdx.x == 0) {
      char *to = s.blocks + n * s.frame_bytes + block * s.block_bytes;
      if (c == 0) {
        const fc_compare_block head = {static_cast<uint32_t>(shape[FC_AXIS_C]), s.head_kind, s.head_dtype, 0};
        *reinterpret_cast<fc_compare_block *>(to) = head;
      }
      reinterpret_cast<fc_compare_part *>(to + sizeof(fc_compare_block))[c] = parts[0];
    }
    __syncthreads();
  }
}

} // namespace

fc_status fc_compare_cuda(const fc_compare *c, const fc_view *a, const fc_view *b, void *blocks,
                          int64_t frame_bytes, void *stream) {
  const int64_t align = fc_compare_align(a->kind);
  const int64_t along = a->shape[a->kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_Y], channels = a->shape[FC_AXIS_C];
  if (along == 0 || channels == 0 || a->shape[FC_AXIS_N] == 0) return FC_OK;
  if (channels > 65535) return FC_UNSUPPORTED;
  const setting s = {{fc_dev_view_of(a), fc_dev_map_of<double>(a->kind, a->dtype)},
                     {fc_dev_view_of(b), fc_dev_map_of<double>(b->kind, b->dtype)},
                     c->c1,
                     c->c2,
                     a->kind,
                     b->kind,
                     b->dtype,
                     align,
                     a->origin[FC_AXIS_Y],
                     a->extent[FC_AXIS_Y],
                     frame_bytes,
                     static_cast<int64_t>(fc_compare_block_bytes(channels)),
                     static_cast<char *>(blocks)};
  const dim3 grid(fc_blocks(along, align, INT32_MAX), static_cast<unsigned>(channels),
                  fc_blocks(a->shape[FC_AXIS_N], 1, 65535));
  return fc_launch(compare_blocks, grid, dim3(THREADS), 0, stream, s);
}
