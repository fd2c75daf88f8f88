// SPDX-License-Identifier: MIT
//
// conv2d_band.cuh - the fastest way to lay a 2-D filter out on a CUDA device: a block
// marches down a band of 512 or 1024 elements, 4 or 8 a thread, and keeps the sums of all rows that the
// window touches in registers, as the warps of conv2d_march.cuh do. What differs is how rows
// come: a block copies each row of its band at once, word by word and two or three batches
// ahead, so that the addresses cost next to nothing, little is read twice, and 30 to 50 KB
// are under way to a multiprocessor. Internal to filters/, for the types that are worth it.
//
// For rows of adjacent elements, as fc_march_plan takes them: an interleaved row of C
// channels is one row whose taps lie `step` = C apart.
#ifndef FC_FILTERS_CONV2D_BAND_CUH
#define FC_FILTERS_CONV2D_BAND_CUH

#include "filters/conv2d_march.cuh"

#define FC_BAND_THREADS 128
#define FC_BAND_WIDTH   512 // elements: 4 a thread. A band is one such group, or two

// What a kernel is told; strides in bytes.
struct fc_band {
  const char *in; // from the first element of the first window on
  char *out;
  int64_t in_image, in_plane, in_row, out_image, out_plane, out_row;
  int64_t planes, height, columns;
  int64_t bands, segments, rows; // rows of a segment, which is one block's way down
  int32_t margin, pitch;         // words from row to row in shared memory
  int32_t rows_down;             // of a window
  bool wide;                     // outputs can be stored 4 (f32) or 2 (u8) at a time
  bool ragged;                   // rows of bytes that begin at different places in a word
  fc_dev_map<float> in_map, out_map;
  uint32_t *notes;
};

// One block's way.
struct fc_band_way {
  const char *in; // first element of the first row of windows
  char *out;      // first output
  int count;      // rows of output
  int width;      // of output in a row, less in the last band
};

template <int SIZE, int GROUPS> __device__ __forceinline__ fc_band_way fc_band_begin(const fc_band &b) {
  constexpr int WIDTH = GROUPS * FC_BAND_WIDTH;
  int64_t w = blockIdx.x;
  const int64_t e = w % b.bands * WIDTH, left = b.columns - e;
  w /= b.bands;
  const int64_t y = w % b.segments * b.rows;
  w /= b.segments;
  const int64_t plane = w % b.planes, image = w / b.planes;
  fc_band_way way;
  way.in = b.in + image * b.in_image + plane * b.in_plane + y * b.in_row + e * SIZE;
  way.out = b.out + image * b.out_image + plane * b.out_plane + y * b.out_row + e * SIZE;
  way.count = static_cast<int>(b.height - y < b.rows ? b.height - y : b.rows);
  way.width = left < WIDTH ? static_cast<int>(left) : WIDTH;
  return way;
}

// The ring of batches in shared memory, and where the next row comes from. A whole row of a
// band is FULL words a thread, and the margin.
template <int BATCH, int STAGES, int FULL> struct fc_band_ring {
  const char *from; // the next row to be copied
  int left;         // rows to be copied
  uint32_t *ring;
  int next, now;

  __device__ __forceinline__ fc_band_ring(const char *in, int rows, uint32_t *memory)
      : from(in), left(rows), ring(memory), next(0), now(0) {}

  // Begins to copy a batch of rows of `bytes` bytes. The words that they lie in are copied:
  // the first and last may hold up to 3 bytes that are not the view's.
  __device__ __forceinline__ void fetch(const fc_band &b, int bytes) {
    uint32_t *to = ring + next * BATCH * b.pitch + threadIdx.x;
    const bool whole = !b.ragged && left >= BATCH;
    const int shift = static_cast<int>(reinterpret_cast<uintptr_t>(from) & 3);
    const int words = (shift + bytes + 3) / 4, more = words - FULL * FC_BAND_THREADS;
    if (whole && more >= 0) {
      const uint32_t *row = reinterpret_cast<const uint32_t *>(from - shift) + threadIdx.x;
      const bool last = static_cast<int>(threadIdx.x) < more;
#pragma unroll
      for (int u = 0; u < BATCH; u++) {
#pragma unroll
        for (int i = 0; i < FULL; i++)
          __pipeline_memcpy_async(to + i * FC_BAND_THREADS, row + i * FC_BAND_THREADS, 4);
        if (last) __pipeline_memcpy_async(to + FULL * FC_BAND_THREADS, row + FULL * FC_BAND_THREADS, 4);
        row = reinterpret_cast<const uint32_t *>(reinterpret_cast<const char *>(row) + b.in_row);
        to += b.pitch;
      }
    } else {
      fetch_any(b, bytes, to);
    }
    __pipeline_commit();
    from += BATCH * b.in_row;
    left -= BATCH;
    if (++next == STAGES) next = 0;
  }

  __device__ __forceinline__ void fetch_any(const fc_band &b, int bytes, uint32_t *to) const {
#pragma unroll 1
    for (int u = 0; u < BATCH && u < left; u++, to += b.pitch) {
      const char *row = from + u * b.in_row;
      const int shift = static_cast<int>(reinterpret_cast<uintptr_t>(row) & 3),
                words = (shift + bytes + 3) / 4;
      const uint32_t *at = reinterpret_cast<const uint32_t *>(row - shift);
#pragma unroll 1
      for (int i = threadIdx.x; i < words; i += FC_BAND_THREADS)
        __pipeline_memcpy_async(to + i - threadIdx.x, at + i, 4);
    }
  }

  __device__ __forceinline__ void start(const fc_band &b, int bytes) {
#pragma unroll 1
    for (int s = 0; s < STAGES - 1; s++) fetch(b, bytes);
  }

  // The batch that comes next, once it is there for all threads; another is begun.
  __device__ __forceinline__ const uint32_t *turn(const fc_band &b, int bytes) {
    __pipeline_wait_prior(STAGES - 2);
    __syncthreads();
    fetch(b, bytes);
    const uint32_t *batch = ring + now * BATCH * b.pitch;
    if (++now == STAGES) now = 0;
    return batch;
  }
};

// Stores a thread's 4 adjacent sums of the group of columns from `group` on. `room` has 128
// floats of the warp's own.
__device__ __forceinline__ void fc_band_store(const fc_band &b, const fc_band_way &way, char *to, int group,
                                              float4 v, float *room) {
  const int lane = threadIdx.x % 32, i = 4 * threadIdx.x, left = way.width - group;
  float *row = reinterpret_cast<float *>(to) + group;
  if (b.wide && i + 4 <= left) {
    *reinterpret_cast<float4 *>(row + i) = v;
  } else if (b.wide) {
    if (i < left) row[i] = v.x;
    if (i + 1 < left) row[i + 1] = v.y;
    if (i + 2 < left) row[i + 2] = v.z;
  } else { // by adjacent lanes
    const int first = i - 3 * lane;
    __syncwarp();
    *reinterpret_cast<float4 *>(room + 4 * lane) = v;
    __syncwarp();
#pragma unroll
    for (int p = 0; p < 4; p++)
      if (first + 32 * p < left) row[first + 32 * p] = room[32 * p + lane];
  }
}

// ---- launching -------------------------------------------------------------

static inline fc_band fc_band_of(const fc_march &m, int groups) {
  fc_band b = {};
  b.in = m.in, b.out = m.out;
  b.in_image = m.in_image, b.in_plane = m.in_plane, b.in_row = m.in_row;
  b.out_image = m.out_image, b.out_plane = m.out_plane, b.out_row = m.out_row;
  b.planes = m.planes, b.height = m.height, b.columns = m.columns;
  b.bands = (m.columns + groups * FC_BAND_WIDTH - 1) / (groups * FC_BAND_WIDTH);
  b.margin = m.margin;
  b.in_map = m.in_map, b.out_map = m.out_map, b.notes = m.notes;
  return b;
}

// Launches `kernel` with `bytes` of shared memory, which may be more than a kernel has
// without asking, and as many segments as fill the device.
template <typename Taps>
static inline fc_status fc_band_launch(void (*kernel)(const fc_band, const Taps), fc_band b,
                                       const fc_march &m, const Taps &taps, int bytes, int64_t ny,
                                       cudaStream_t stream) {
  int device = 0, processors = 1, blocks = 1;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  if (!fc_allow_shared(kernel, bytes)) {
    cudaGetLastError();
    return FC_UNSUPPORTED;
  }
  if (cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, FC_BAND_THREADS, bytes) != cudaSuccess ||
      blocks < 1) {
    cudaGetLastError();
    return FC_UNSUPPORTED;
  }
  fc_march way = m;
  way.strips = b.bands;
  fc_march_segment(&way, static_cast<int64_t>(processors) * blocks, ny);
  b.rows = way.rows, b.segments = way.segments;
  const int64_t grid = m.images * b.planes * b.bands * b.segments;
  if (grid > INT32_MAX || b.rows > INT32_MAX / 2) return FC_UNSUPPORTED;
  kernel<<<static_cast<unsigned>(grid), FC_BAND_THREADS, bytes, stream>>>(b, taps);
  return fc_launch_status();
}

#endif
