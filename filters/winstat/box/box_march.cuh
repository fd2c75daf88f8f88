// SPDX-License-Identifier: MIT
//
// box_march.cuh - sums and means in windows of rows and columns, of floats or of integers whose sums are
// exact in floats, as results of their own type.
//
// The same as strips.cu, to the bit, with fewer instructions. A block of threads marches down a strip of 256
// columns of sums, of one channel. A warp has two rows of each 16: it copies their samples - by 16 bytes if
// they are contiguous, else one by one - and replaces them by the sums along x, 16 columns per lane; after a
// barrier, the only one in 16 rows, each thread computes the sums along y of one column. Shared memory is a
// ring of the blocks of 16 rows that a window covers, plus the one being loaded.
#ifndef FC_FILTERS_WINSTAT_BOX_MARCH_CUH
#define FC_FILTERS_WINSTAT_BOX_MARCH_CUH

#include "filters/winstat/box/box_sums.cuh"

namespace winstat {

constexpr int BOX_PITCH = BOX_THREADS + BOX_SEGMENTS * RUN; // words of a row
constexpr int BOX_SLOT = RUN * BOX_PITCH;                   // of a block of rows

// Skew: like samples, outputs begin with a segment, `before` samples later, so that the sums for a strip's
// first outputs are not those of its first samples, and its last 16 sums are not all needed.
struct box_args {
  const char *in;                                                    // row 0, sample 0 of the first strip
  char *out;                                                         // row 0, column 0
  int64_t row_in, row_out, plane_in, plane_out, frame_in, frame_out; // bytes
  int32_t columns, rows, x0, y0; // x0, y0: at most 0, position of the first strip
  int32_t lo[2], hi[2];          // readable samples of the first strip's row, and rows
  int32_t seen[2];               // the same including everything that windows cover
  ends edges;                    // the value beyond, if there is nothing to read
  int32_t strips, splits, blocks, planes;
  int32_t pixels, skew, before, slots, wide; // wide: samples per row
  extent16 x, y;
  // the row after the last that windows cover; and whether rows beyond the ends are all zeros
  int32_t last, zeros;
  int32_t mean, shrink;
  float area, over;
  int32_t step_in, step_out; // distance in bytes of samples, and of results
  int32_t bias;              // of integers
  float outside;             // the border's constant, as a sample of the sums
  fc_dev_map<float> store;
  uint32_t *notes;
  int32_t dtype;
};

// ---- samples into shared memory -----------------------------------------------------

// A row whose samples lo .. hi - 1 are readable, by 16 threads.
inline __device__ __noinline__ void box_copy_ends(const box_args &a, const float *from, float *row, int lo,
                                                  int hi) {
  const int strip = a.lo[0] - lo, seen[2] = {a.seen[0] - strip, a.seen[1] - strip};
  copy_with_ends<BOX_RUNS>(
      threadIdx.x % BOX_RUNS, a.wide, lo, hi, true, seen,
      [&](int i) { fc_copy_words(row + box_word(i), from + i); },
      [&](int i) {
        int source = i >= lo && i < hi ? i - lo : -1;
        if (source < 0 && a.edges.on) source = border_source(a.edges.border, i - lo, hi - lo);
        if (source >= 0)
          fc_copy_word(row + box_word(i), from + lo + source);
        else
          row[box_word(i)] = a.outside;
      });
}

__device__ __forceinline__ void box_copy(const box_args &a, const char *from, float *row, int lo, int hi) {
  if (lo <= 0 && hi >= a.wide) {
    const int first = 4 * (threadIdx.x % BOX_RUNS);
    float *even = row + box_word(first), *odd = row + box_word(first + 4 * BOX_RUNS);
#pragma unroll
    for (int i = 0; i < (BOX_PITCH + 4 * BOX_RUNS - 1) / (4 * BOX_RUNS); i++)
      if (i * 4 * BOX_RUNS + 4 * BOX_RUNS <= BOX_THREADS || first + i * 4 * BOX_RUNS < a.wide)
        fc_copy_words((i % 2 ? odd : even) + i / 2 * 8 * BOX_RUNS,
                      from + 16 * (threadIdx.x % BOX_RUNS + i * BOX_RUNS));
    return;
  }
  box_copy_ends(a, reinterpret_cast<const float *>(from), row, lo, hi);
}

// One sample: floats may arrive only at fc_await_copies.
__device__ __forceinline__ void box_take(const box_args &, const float *from, float *to) {
  fc_copy_word(to, from);
}
template <typename T> __device__ __forceinline__ void box_take(const box_args &a, const T *from, float *to) {
  *to = static_cast<float>(static_cast<int32_t>(*from) - a.bias);
}

// Like box_copy_ends, for samples that are `step_in` bytes apart, by a warp.
template <typename T>
__device__ __noinline__ void box_each_ends(const box_args &a, const char *from, float *row, int lo, int hi) {
  const int strip = a.lo[0] - lo, end = a.seen[1] - strip < a.wide ? a.seen[1] - strip : a.wide;
  int i = a.seen[0] - strip > 0 ? a.seen[0] - strip : 0;
#pragma unroll 1
  for (i += threadIdx.x % 32; i < end; i += 32) {
    int source = i >= lo && i < hi ? i - lo : -1;
    if (source < 0 && a.edges.on) source = border_source(a.edges.border, i - lo, hi - lo);
    if (source >= 0)
      box_take(a, reinterpret_cast<const T *>(from + static_cast<int64_t>(lo + source) * a.step_in),
               row + box_word(i));
    else
      row[box_word(i)] = a.outside;
  }
}

template <typename T>
__device__ __forceinline__ void box_copy_each(const box_args &a, const char *from, float *row, int lo,
                                              int hi) {
  if (lo > 0 || hi < a.wide) {
    box_each_ends<T>(a, from, row, lo, hi);
    return;
  }
  const int lane = threadIdx.x % 32, step = 32 * a.step_in;
  from += lane * a.step_in;
#pragma unroll
  for (int i = 0; i < BOX_PITCH / 32; i++, from += step)
    if (32 * i + 32 <= BOX_THREADS || lane + 32 * i < a.wide)
      box_take(a, reinterpret_cast<const T *>(from), row + 32 * i + (lane ^ i % 4 << 2));
}

// ---- how samples lie ------------------------------------------------------------------

// Properties of a layout: whether samples are integers, of any type whose sums are made here; threads of a
// warp that copy a row; rows in shared memory; the address of the sums of word i; and how a thread of 16 that
// share a row computes the sums.
template <bool HALVES, bool CODES> struct box_lines {
  static constexpr bool halves = HALVES, codes = CODES; // of warps: one row each
  static constexpr int pitch = BOX_PITCH, channels = 1;
  static __device__ __forceinline__ int word(int i) { return box_word(i); }

  static __device__ __forceinline__ void sum(const box_args &a, float *row, int lane, bool idle) {
    const int run = lane * RUN;
    float v[RUN];
    if (!idle) box_row(v, row, run, a.x);
    __syncwarp();
    if (idle) return;
#pragma unroll
    for (int k = 0; k < RUN / 4; k++)
      *reinterpret_cast<float4 *>(row + box_word(run + 4 * k)) =
          make_float4(v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3]);
  }
};

// Contiguous words aligned to 16 bytes.
struct box_quads : box_lines<true, false> {
  static __device__ __forceinline__ void copy(const box_args &a, const char *from, float *row, int lo,
                                              int hi) {
    box_copy(a, from, row, lo, hi);
  }
};

// Samples at any distance `step_in`.
template <bool CODES> struct box_words : box_lines<false, CODES> {
  static __device__ __forceinline__ void copy(const box_args &a, const char *from, float *row, int lo,
                                              int hi) {
    if constexpr (CODES)
      with_code(a.dtype, [&](auto code) { box_copy_each<decltype(code)>(a, from, row, lo, hi); });
    else
      box_copy_each<float>(a, from, row, lo, hi);
  }
};

// A row of the border's constant, or one that is not used, by the threads that copy it.
template <class L> __device__ __noinline__ void box_fill(const box_args &a, float *row) {
  const float v = a.outside;
  const int count = L::halves ? BOX_RUNS : 32;
  for (int i = 4 * (static_cast<int>(threadIdx.x) % count); i < a.wide * L::channels; i += 4 * count)
    *reinterpret_cast<float4 *>(row + L::word(i)) = make_float4(v, v, v, v);
}

// The address of row y of samples, relative to sample 0.
template <class L>
__device__ __forceinline__ void box_row_copy(const box_args &a, const char *from, float *row, int y, int lo,
                                             int hi) {
  int source = y;
  if (y >= a.last) return;
  if (y < a.lo[1] || y >= a.hi[1]) source = a.edges.on ? border_source(a.edges.border, y, a.rows) : -1;
  if (source < 0 && (y < a.lo[1] || y >= a.hi[1])) {
    box_fill<L>(a, row);
    return;
  }
  L::copy(a, from + (source - y) * a.row_in, row, lo, hi);
}

// Converts sums of windows that shrink to means: for column x, and rows y .. y + RUN - 1.
__device__ __forceinline__ void box_shrunk(const box_args &a, float (&v)[RUN], int x, int y) {
  const int from = x - a.x0 + a.skew, to = from + a.x.reach + 1;
  const int columns = (to < a.hi[0] ? to : a.hi[0]) - (from > a.lo[0] ? from : a.lo[0]);
#pragma unroll
  for (int k = 0; k < RUN; k++) {
    const int up = y + k - a.before, down = up + a.y.reach + 1;
    const int rows = (down < a.hi[1] ? down : a.hi[1]) - (up > a.lo[1] ? up : a.lo[1]);
    const float n = static_cast<float>(columns * rows);
    v[k] = mean_of(v[k], n, 1 / n);
  }
}

// Whether no windows shrink, for all columns of a strip from x on, and rows y .. y + RUN - 1.
__device__ __forceinline__ bool box_whole(const box_args &a, int x, int y) {
  const int from = x - a.x0 + a.skew;
  return from >= a.lo[0] && from + BOX_THREADS + a.x.reach <= a.hi[0] && y - a.before >= a.lo[1] &&
         y + RUN - a.before + a.y.reach <= a.hi[1];
}

// ---- the march ----------------------------------------------------------------------

template <class L>
__global__ void __launch_bounds__(BOX_THREADS, 3) box_march(const __grid_constant__ box_args a) {
  constexpr int C = L::channels, SLOT = RUN * L::pitch;
  extern __shared__ __align__(16) float memory[];
  unsigned i = blockIdx.x;
  unsigned plane = 0;
  if (!L::halves) plane = i % a.planes, i /= a.planes; // interleaved channels are read together
  const int strip = static_cast<int>(i % a.strips) * a.pixels;
  i /= a.strips;
  const int first = static_cast<int>(i % a.splits) * a.blocks;
  i /= a.splits;
  if (L::halves) plane = i % a.planes, i /= a.planes;
  const int64_t frame = i;
  const int row = threadIdx.x / BOX_RUNS;
  // Rows of samples begin `before` those of outputs. A thread copies for one row, or for both of its warp.
  const int copied = L::halves ? row : static_cast<int>(threadIdx.x) / 32 * 2;
  int y = a.y0 + first * RUN - a.before + copied;
  const char *from =
      a.in + frame * a.frame_in + plane * a.plane_in + strip * static_cast<int64_t>(a.step_in) + y * a.row_in;
  const int lo = a.lo[0] - strip, hi = a.hi[0] - strip;
  const int all = (a.rows - a.y0 + RUN - 1) / RUN, blocks = all - first < a.blocks ? all - first : a.blocks;
  const int end = blocks + a.y.warm;
  auto copy = [&](int slot) {
    float *here = memory + slot * SLOT + copied * L::pitch;
#pragma unroll
    for (int k = 0; k < (L::halves ? 1 : 2); k++)
      box_row_copy<L>(a, from + k * a.row_in, here + k * L::pitch, y + k, lo, hi);
    y += RUN, from += RUN * a.row_in;
  };
  // The thread's column of outputs, of one channel.
  const int column = static_cast<int>(threadIdx.x) / C, channel = static_cast<int>(threadIdx.x) - column * C,
            x = a.x0 + strip + column;
  const bool live = column < a.pixels && x >= 0 && x < a.columns;
  const box_ring<L::pitch> ring = {memory + L::word((static_cast<int>(threadIdx.x) + a.skew) % BOX_THREADS),
                                   a.slots};
  float *totals = memory + a.slots * SLOT + threadIdx.x;
  int at = a.y0 + first * RUN;
  char *to = a.out + frame * a.frame_out + plane * a.plane_out + x * static_cast<int64_t>(a.step_out) +
             at * a.row_out + channel * static_cast<int>(sizeof(float));
  copy(0), fc_commit_copies();
  for (int block = 0, slot = 0; block < end; block++, slot = ring.after(slot, 1)) {
    fc_await_copies();
    __syncwarp();
    const int own = a.y0 + (first + block) * RUN - a.before + row;
    L::sum(a, memory + slot * SLOT + row * L::pitch, static_cast<int>(threadIdx.x) % BOX_RUNS,
           own >= a.last || (a.zeros && (own < a.lo[1] || own >= a.hi[1])));
    __syncthreads();
    if (block + 1 < end) copy(ring.after(slot, 1)), fc_commit_copies();
    if (!live) continue;
    float v[RUN];
    if (a.y.segments > 1) {
      const float *sums = ring.at(slot);
#pragma unroll
      for (int k = 0; k < RUN; k++) v[k] = sums[k * L::pitch];
      totals[slot * BOX_THREADS] = sum16(v);
    }
    if (block < a.y.warm) continue;
    box_column<L::halves>(v, a.y, ring, ring.after(slot, a.slots - a.y.warm), totals);
    if (L::codes) {
#pragma unroll
      for (int k = 0; k < RUN; k++) v[k] = times(v[k], a.store.scale);
    }
    if (a.mean && a.shrink && !box_whole(a, a.x0 + strip, at)) {
      box_shrunk(a, v, x, at);
    } else if (a.mean) {
#pragma unroll
      for (int k = 0; k < RUN; k++) v[k] = mean_of(v[k], a.area, a.over);
    }
    if constexpr (L::codes) {
      with_code(a.dtype, [&](auto code) {
#pragma unroll
        for (int k = 0; k < RUN; k++)
          if (at + k >= 0 && at + k < a.rows)
            fc_dev_store<float, decltype(code)>(to + k * a.row_out, v[k], a.store, a.notes);
      });
    } else if (at >= 0 && at + RUN <= a.rows) {
#pragma unroll
      for (int k = 0; k < RUN; k++) fc_dev_store<float, float>(to + k * a.row_out, v[k], a.store, a.notes);
    } else {
#pragma unroll
      for (int k = 0; k < RUN; k++)
        if (at + k >= 0 && at + k < a.rows)
          fc_dev_store<float, float>(to + k * a.row_out, v[k], a.store, a.notes);
    }
    at += RUN, to += RUN * a.row_out;
  }
}

} // namespace winstat

#endif
