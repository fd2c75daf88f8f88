// SPDX-License-Identifier: MIT
//
// ways.cuh - blocks that march down several parts of an image (ways) at a time, each of some columns and
// rows: for images narrower than the bands of band.cuh, and others for which a band of 512 adjacent elements
// is unsuitable. Internal to filters/.
#ifndef FC_FILTERS_SEPCONV_WAYS_CUH
#define FC_FILTERS_SEPCONV_WAYS_CUH

#include "filters/filter2d/sepconv/band.cuh"

// f32 to f32 for images of interleaved channels and for narrow ones, one term, with the same number of taps
// in both directions; and u8 to u8 for narrow images. The bits are those of the other kernels (band.cuh).
fc_status fc_sepconv_ways(const fc_sepconv *op, const fc_march &m, cudaStream_t stream);
fc_status fc_sepconv_ways_bytes(const fc_sepconv *op, const fc_march &m, cudaStream_t stream);

// Kernel arguments; strides in bytes.
struct fc_ways {
  const char *in; // from the first element of the first window on
  char *out;
  int64_t in_image, in_plane, in_row, out_image, out_plane, out_row;
  uint32_t planes, segments, bands, count; // count: ways of a band, of all images
  int32_t rows, height;                    // of a way and of an image
  int32_t columns, band, margin;           // outputs per row, per row of a way, and the margin
  int32_t together;                        // ways of a block
  int32_t row; // distance in shared memory, in words, of rows of all ways together
  fc_band_edges edges;
  uint32_t *notes;
};

// One way.
struct fc_way {
  const char *in; // first element of the first row of windows
  char *out;      // first output
  int count;      // rows of outputs; 0: none
  int width;      // elements of a row of them
  int y;          // where in the signal the first row of windows begins
};

template <int SIZE>
__device__ __forceinline__ fc_way fc_way_of(const fc_ways &b, uint32_t number, uint32_t band) {
  if (number >= b.count) return {nullptr, nullptr, 0, 0, 0};
  const int64_t e = static_cast<int64_t>(band) * b.band,
                y = static_cast<int64_t>(number % b.segments) * b.rows;
  number /= b.segments;
  const int64_t plane = number % b.planes, image = number / b.planes;
  fc_way w;
  w.in = b.in + image * b.in_image + plane * b.in_plane + y * b.in_row + SIZE * e;
  w.out = b.out + image * b.out_image + plane * b.out_plane + y * b.out_row + SIZE * e;
  w.count = min(b.height - static_cast<int>(y), b.rows);
  w.width = min(b.columns - static_cast<int>(e), b.band);
  w.y = static_cast<int>(y) - b.edges.up;
  return w;
}

// The source of each element of a row of windows.
__device__ __forceinline__ void fc_way_elements(const fc_ways &b, uint32_t band, int *list) {
  const int x = static_cast<int>(band) * b.band - b.edges.left;
  for (int j = threadIdx.x; j < b.band + b.margin; j += blockDim.x)
    list[j] = b.edges.on ? fc_band_element(b.edges, x, j) : j;
}

// ---- launching -------------------------------------------------------------

// Of bands of so many elements.
static inline fc_ways fc_ways_of(const fc_march &m, int64_t bands, int band, int together) {
  fc_ways b = {};
  b.in = m.in, b.out = m.out, b.notes = m.notes;
  b.in_image = m.in_image, b.in_plane = m.in_plane, b.in_row = m.in_row;
  b.out_image = m.out_image, b.out_plane = m.out_plane, b.out_row = m.out_row;
  b.planes = static_cast<uint32_t>(m.planes), b.bands = static_cast<uint32_t>(bands);
  b.height = static_cast<int32_t>(m.height), b.columns = static_cast<int32_t>(m.columns);
  b.band = band, b.margin = m.margin, b.together = together;
  b.edges = {m.edges.on, m.edges.border, m.edges.code, m.up, m.left, 0, 0, m.step};
  b.edges.height = b.height, b.edges.pixels = b.columns / m.step;
  return b;
}

// Launches `kernel` with `bytes` of shared memory, cutting ways so that they fill the device. `b` is the
// first part of Ways.
template <typename Ways, typename Taps>
static inline fc_status fc_ways_launch(void (*kernel)(const Ways, const Taps), Ways b, const fc_march &m,
                                       const Taps &taps, int threads, int bytes, int64_t ny,
                                       cudaStream_t stream) {
  int device = 0, processors = 1, blocks = 0;
  cudaGetDevice(&device);
  cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device);
  if (!fc_allow_shared(reinterpret_cast<const void *>(kernel), bytes) ||
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&blocks, kernel, threads, static_cast<size_t>(bytes)) !=
          cudaSuccess ||
      blocks == 0) {
    cudaGetLastError();
    return FC_UNSUPPORTED;
  }
  fc_march cut = m;
  cut.strips = b.all.bands;
  fc_march_segment(&cut, static_cast<int64_t>(processors) * blocks * b.all.together, ny);
  const int64_t count = m.images * m.planes * cut.segments,
                grid = (count + b.all.together - 1) / b.all.together * b.all.bands;
  if (grid > INT32_MAX || count > INT32_MAX / 2) return FC_UNSUPPORTED;
  b.all.rows = static_cast<int32_t>(cut.rows), b.all.segments = static_cast<uint32_t>(cut.segments);
  b.all.count = static_cast<uint32_t>(count);
  kernel<<<static_cast<unsigned>(grid), static_cast<unsigned>(threads), static_cast<size_t>(bytes), stream>>>(
      b, taps);
  return fc_launch_status();
}

#endif
