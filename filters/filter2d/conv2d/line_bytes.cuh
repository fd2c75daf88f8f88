// SPDX-License-Identifier: MIT
//
// line_bytes.cuh - loads and stores for u8 images of one row on a CUDA device, and those one pixel wide
// without gaps, which have the same memory layout (line.cuh). Blocks process several bands, each copied while
// the one before is summed. A thread's columns are independent of other rows, so they begin at multiples of 8
// bytes of the output. Internal to filters/.
#ifndef FC_FILTERS_CONV2D_LINE_BYTES_CUH
#define FC_FILTERS_CONV2D_LINE_BYTES_CUH

#include "filters/filter2d/conv2d/bytes.cuh"
#include "filters/filter2d/conv2d/line.cuh"

constexpr int FC_LINE_WIDTH = 8 * FC_BYTE_COLUMNS * FC_BAND_THREADS; // of a band

struct fc_byte_lines {
  fc_band b;
  uint32_t bands; // of all lines
};

// A band begins at a multiple of 8 bytes of the output, up to 7 columns before the line's first.
[[maybe_unused]] __device__ __forceinline__ fc_band_way fc_line_band(const fc_byte_lines &l, uint32_t band) {
  fc_band_way way = fc_band_of_width<1, FC_LINE_WIDTH>(l.b, band, l.bands);
  const int back = static_cast<int>(reinterpret_cast<uintptr_t>(way.out) % FC_BYTE_COLUMNS);
  way.in -= back, way.out -= back, way.x -= back;
  way.lo += back, way.hi += back, way.width = min(way.width + back, FC_LINE_WIDTH);
  return way;
}

// Starts to copy a row of windows at `first`, keeping its alignment to 16 bytes, which is returned: whole
// pieces of 16 where readable, otherwise bytes. By `all` threads; this is number `own`.
[[maybe_unused]] __device__ __forceinline__ int
fc_line_fetch(const fc_band &b, const fc_band_way &way, const char *first, char *line, int own, int all) {
  const int n = way.width + b.margin, shift = static_cast<int>(reinterpret_cast<uintptr_t>(first) % 16);
  int begin = way.lo <= -shift ? -shift : (way.lo + shift + 15) / 16 * 16 - shift;
  int end = min((n + shift + 15) / 16, (way.hi + shift) / 16) * 16 - shift;
  if (end < begin) begin = end = n;
  line += shift;
  for (int j = begin + 16 * own; j < end; j += 16 * all) fc_copy_words(line + j, first + j);
  const int head = max(begin, 0), tail = max(n - end, 0);
  for (int i = own; i < head + tail; i += all) {
    const int j = i < head ? i : i - head + end;
    const int from = j >= way.lo && j < way.hi ? j : fc_band_element(b.edges, way.x, j);
    line[j] = from == FC_BAND_CONSTANT ? static_cast<char>(b.edges.code) : first[from];
  }
  return shift;
}

// The same for a line's band.
[[maybe_unused]] __device__ __forceinline__ int fc_line_fetch_band(const fc_band &b, const fc_band_way &way,
                                                                   char *line) {
  const int shift = fc_line_fetch(b, way, way.in + b.edges.up * b.in_row, line, threadIdx.x, FC_BAND_THREADS);
  fc_commit_copies();
  return shift;
}

// Calls f(way, line) for each of a block's bands, by all threads; `line` is the address in shared memory of
// the first window's first byte. `rooms` has fc_line_bytes() bytes.
template <typename Fn>
[[maybe_unused]] __device__ __forceinline__ void fc_line_each(const fc_byte_lines &l, char *rooms, Fn f) {
  const fc_band &b = l.b;
  fc_band_way way = fc_line_band(l, blockIdx.x);
  int shift = fc_line_fetch_band(b, way, rooms);
#pragma unroll 1
  for (uint32_t band = blockIdx.x, turn = 0; band < l.bands; band += gridDim.x, turn ^= 1) {
    const fc_band_way next = fc_line_band(l, min(band + gridDim.x, l.bands - 1));
    __syncthreads(); // all have finished with the buffer
    const int next_shift = fc_line_fetch_band(b, next, rooms + (turn ^ 1) * b.pitch);
    fc_await_copies<1>();
    __syncthreads();
    f(way, fc_shared_address(rooms + turn * b.pitch) + shift);
    way = next, shift = next_shift;
  }
  fc_await_copies();
}

// Filters all bands: sum(at, p) returns the bytes of the 8 columns at p, whose first window begins at `at`.
template <typename Fn>
[[maybe_unused]] __device__ __forceinline__ void fc_line_filter(const fc_byte_lines &l, char *rooms, Fn sum) {
  const int columns = static_cast<int>(l.b.columns);
  fc_line_each(l, rooms, [&](const fc_band_way &way, uint32_t line) {
#pragma unroll 1
    for (int i = FC_BYTE_COLUMNS * threadIdx.x; i < way.width; i += FC_BYTE_COLUMNS * FC_BAND_THREADS) {
      const fc_byte_place p = fc_byte_place_of(i + way.x + l.b.edges.left, columns);
      const fc_byte_codes c = sum(line + i, p);
      if (p.whole)
        *reinterpret_cast<uint2 *>(way.out + i) = make_uint2(c.word[0], c.word[1]);
      else
        fc_byte_store_some(way.out + i, c, p.column, columns);
    }
  });
}

// ---- launching -------------------------------------------------------------

// Shared memory used by all blocks.
static inline int fc_line_bytes(const fc_byte_lines &l) {
  return 2 * l.b.pitch;
}

// False if there is not enough of it.
static inline bool fc_line_plan(const fc_march &line, fc_byte_lines *l) {
  l->b = fc_band_of(line, 1, 0);
  l->b.bands = (line.columns + FC_BYTE_COLUMNS - 1 + FC_LINE_WIDTH - 1) / FC_LINE_WIDTH; // those before, too
  l->b.rows = 1, l->b.segments = 1;
  l->b.pitch = (FC_LINE_WIDTH + l->b.margin + 3 * 16) / 16 * 16;
  const int64_t bands = line.images * line.planes * l->b.bands;
  l->bands = static_cast<uint32_t>(bands);
  return bands <= INT32_MAX && line.columns <= INT32_MAX / 4;
}

// Launches as many blocks as can run at a time, with `bytes` of additional shared memory. `taps` begins with
// the lines.
template <typename Taps>
static inline fc_status fc_line_launch(void (*kernel)(const Taps), const Taps &taps, int bytes,
                                       cudaStream_t stream) {
  const fc_byte_lines &l = taps.lines;
  bytes += fc_line_bytes(l);
  const int64_t resident = fc_band_resident(reinterpret_cast<const void *>(kernel), bytes);
  if (resident == 0) return FC_UNSUPPORTED;
  const unsigned blocks = static_cast<unsigned>(l.bands < resident ? l.bands : resident);
  kernel<<<blocks, FC_BAND_THREADS, bytes, stream>>>(taps);
  return fc_launch_status();
}

#endif
