// SPDX-License-Identifier: MIT
//
// winstat_box_march.cuh - sums and means of floats in windows of rows and columns, where nothing is in the
// way: planes of words that lie side by side, results that are floats.
//
// What winstat_strips.cuh does, to the bit, with fewer instructions. A block of threads marches down a strip
// of 256 columns of sums. A warp has two rows of each 16: it copies their samples, and puts the sums along x
// of 16 columns a lane in their place; after a barrier, the only one in 16 rows, a thread a column makes the
// sums along y. Shared memory is a ring of as many blocks of 16 rows as a window sees, and the one that is on
// its way.
#ifndef FC_FILTERS_WINSTAT_BOX_MARCH_CUH
#define FC_FILTERS_WINSTAT_BOX_MARCH_CUH

#include "filters/winstat_samples.cuh"
#include "filters/winstat_slide16.cuh"

namespace winstat {

constexpr int BOX_THREADS = 256, BOX_RUNS = BOX_THREADS / RUN;
constexpr int BOX_SEGMENTS = 2; // that windows see along x beyond the one that they begin in
constexpr int BOX_PITCH = BOX_THREADS + BOX_SEGMENTS * RUN; // words of a row
constexpr int BOX_SLOT = RUN * BOX_PITCH;                   // of a block of rows

// Skew: outputs begin with a segment as samples do, `before` samples apart, so that the sums of a strip's
// first outputs are not those of its first samples, and its last 16 sums are not all wanted.
struct box_args {
  const char *in;                                                    // row 0, sample 0 of the first strip
  char *out;                                                         // row 0, column 0
  int64_t row_in, row_out, plane_in, plane_out, frame_in, frame_out; // bytes
  int32_t columns, rows, x0, y0;                                     // x0, y0: at most 0, the first strip's
  int32_t lo[2], hi[2]; // samples of the first strip's row that may be read, and rows
  int32_t seen[2];      // and samples that windows see
  ends edges;           // what stands beyond, if that is not there to be read
  int32_t strips, splits, blocks, planes;
  int32_t pixels, skew, before, slots, wide; // wide: samples of a row
  extent16 x, y;
  int32_t mean, shrink;
  float area, over;
};

// Where word i of a row is: quarters of segments change places so that eight lanes, a segment each, meet no
// bank twice.
__device__ __forceinline__ int box_word(int i) {
  return i ^ (i >> 5 & 3) << 2;
}

// ---- samples into shared memory -----------------------------------------------------

// A row of which samples lo .. hi - 1 can be read, by 16 threads.
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
          row[box_word(i)] = __uint_as_float(static_cast<uint32_t>(a.edges.code));
      });
}

// A row that is nothing but the border's constant, or that nobody looks at.
inline __device__ __noinline__ void box_fill(const box_args &a, float *row) {
  const float v = __uint_as_float(static_cast<uint32_t>(a.edges.code));
  for (int i = 4 * (threadIdx.x % BOX_RUNS); i < a.wide; i += 4 * BOX_RUNS)
    *reinterpret_cast<float4 *>(row + box_word(i)) = make_float4(v, v, v, v);
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

// ---- sums along x -------------------------------------------------------------------

// Samples from the beginning of a segment on.
template <int N> __device__ __forceinline__ void box_segments(float (&x)[N], const float *row, int from) {
  const float *first = row + box_word(from), *second = row + box_word(from + RUN);
  const int turn = from >> 5 & 3, turned = (from + RUN) >> 5 & 3;
#pragma unroll
  for (int k = 0; k < N; k += 4) {
    const int which = k / 4 % 4;
    const float4 q = *reinterpret_cast<const float4 *>(k < RUN ? first + ((which ^ turn) - turn) * 4
                                                               : second + ((which ^ turned) - turned) * 4);
    x[k] = q.x, x[k + 1] = q.y, x[k + 2] = q.z, x[k + 3] = q.w;
  }
}

struct box_run {
  template <int W>
  static __device__ __forceinline__ void run(float (&v)[RUN], const float *const &row, const int &from) {
    float x[(RUN + W + 2) / 4 * 4];
    box_segments(x, row, from);
    slide_short<W>(v, x);
  }
};

// v: suffixes. The first window ends with sample W - 1 from `lead` on; `core`: what lies between.
struct box_tail {
  template <int W>
  static __device__ __forceinline__ void run(float (&v)[RUN], const float &core, const float *const &row,
                                             const int &lead) {
    float x[(RUN + W + 2) / 4 * 4];
    box_segments(x, row, lead);
    add_ends<W>(v, core, x);
  }
};

__device__ __forceinline__ void box_long(float (&v)[RUN], const float *row, int from, const extent16 &w) {
  float core = 0;
#pragma unroll 1
  for (int k = 1; k < w.segments; k++) {
    float x[RUN];
    box_segments(x, row, from + k * RUN);
    core = k == 1 ? sum16(x) : plus(core, sum16(x));
  }
  box_segments(v, row, from);
  suffixes(v);
  const int lead = from + w.segments * RUN;
  with_window<box_tail>(w.rest + 1, v, core, row, lead);
}

__device__ __forceinline__ void box_row(float (&v)[RUN], const float *row, int from, const extent16 &w) {
  if (w.segments == 0)
    with_window<box_run>(w.reach + 1, v, row, from);
  else
    box_long(v, row, from, w);
}

// ---- sums along y -------------------------------------------------------------------

// Of a column: `now` and `next` are where blocks of rows have it.
struct box_column_run {
  template <int W>
  static __device__ __forceinline__ void run(float (&v)[RUN], const float *const &now,
                                             const float *const &next) {
    float x[RUN + W - 1];
#pragma unroll
    for (int k = 0; k < RUN + W - 1; k++) x[k] = k < RUN ? now[k * BOX_PITCH] : next[(k - RUN) * BOX_PITCH];
    slide_short<W>(v, x);
  }
};

// v: suffixes. The first window ends with row W - 1 of the block `far`, to which the block `beyond` is next.
struct box_column_tail {
  template <int W>
  static __device__ __forceinline__ void run(float (&v)[RUN], const float &core, const float *const &far,
                                             const float *const &beyond) {
    float x[RUN + W - 1];
#pragma unroll
    for (int k = 0; k < RUN + W - 1; k++) x[k] = k < RUN ? far[k * BOX_PITCH] : beyond[(k - RUN) * BOX_PITCH];
    add_ends<W>(v, core, x);
  }
};

// The ring: where a block of rows has a thread's column.
struct box_ring {
  const float *column;
  int slots;
  __device__ __forceinline__ int after(int slot, int by) const {
    return slot + by < slots ? slot + by : slot + by - slots;
  }
  __device__ __forceinline__ const float *at(int slot) const { return column + slot * BOX_SLOT; }
};

// The windows that begin in the block in `slot`.
__device__ __forceinline__ void box_column(float (&v)[RUN], const box_args &a, const box_ring &r, int slot,
                                           const float *totals) {
  const float *now = r.at(slot), *next = r.at(r.after(slot, 1));
  if (a.y.segments == 0) {
    with_window<box_column_run>(a.y.reach + 1, v, now, next);
    return;
  }
  float core = 0;
  for (int k = 1; k < a.y.segments; k++) {
    const float total = totals[r.after(slot, k) * BOX_THREADS];
    core = k == 1 ? total : plus(core, total);
  }
#pragma unroll
  for (int k = 0; k < RUN; k++) v[k] = now[k * BOX_PITCH];
  suffixes(v);
  const int end = r.after(slot, a.y.segments);
  const float *far = r.at(end), *beyond = r.at(r.after(end, 1));
  with_window<box_column_tail>(a.y.rest + 1, v, core, far, beyond);
}

// Sums of windows that shrink become means: of column x, and rows y .. y + RUN - 1.
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

// Whether the windows of all columns of a strip from x on, and of rows y .. y + RUN - 1, are whole.
__device__ __forceinline__ bool box_whole(const box_args &a, int x, int y) {
  const int from = x - a.x0 + a.skew;
  return from >= a.lo[0] && from + BOX_THREADS + a.x.reach <= a.hi[0] && y - a.before >= a.lo[1] &&
         y + RUN - a.before + a.y.reach <= a.hi[1];
}

// ---- the march ----------------------------------------------------------------------

__global__ void __launch_bounds__(BOX_THREADS, 3) box_march(const __grid_constant__ box_args a) {
  extern __shared__ __align__(16) float memory[];
  unsigned i = blockIdx.x;
  const int strip = static_cast<int>(i % a.strips) * a.pixels;
  i /= a.strips;
  const int first = static_cast<int>(i % a.splits) * a.blocks;
  i /= a.splits;
  const int64_t plane = i % a.planes, frame = i / a.planes;
  const int row = threadIdx.x / BOX_RUNS, run = threadIdx.x % BOX_RUNS * RUN;
  // Rows of samples begin `before` ahead of those of outputs.
  int y = a.y0 + first * RUN - a.before + row;
  const char *from = a.in + frame * a.frame_in + plane * a.plane_in +
                     strip * static_cast<int64_t>(sizeof(float)) + y * a.row_in;
  const int lo = a.lo[0] - strip, hi = a.hi[0] - strip;
  const int all = (a.rows - a.y0 + RUN - 1) / RUN, blocks = all - first < a.blocks ? all - first : a.blocks;
  const int end = blocks + a.y.warm;
  auto copy = [&](int slot) {
    float *here = memory + slot * BOX_SLOT + row * BOX_PITCH;
    if (y >= a.lo[1] && y < a.hi[1]) {
      box_copy(a, from, here, lo, hi);
    } else {
      const int source = a.edges.on ? border_source(a.edges.border, y, a.rows) : -1;
      if (source >= 0)
        box_copy(a, from + (source - y) * a.row_in, here, lo, hi);
      else
        box_fill(a, here);
    }
    y += RUN, from += RUN * a.row_in;
  };
  // The thread's column of outputs.
  const int x = a.x0 + strip + static_cast<int>(threadIdx.x);
  const bool live = static_cast<int>(threadIdx.x) < a.pixels && x >= 0 && x < a.columns;
  const box_ring ring = {memory + box_word((threadIdx.x + a.skew) % BOX_THREADS), a.slots};
  float *totals = memory + a.slots * BOX_SLOT + threadIdx.x;
  int at = a.y0 + first * RUN;
  char *to = a.out + frame * a.frame_out + plane * a.plane_out + x * static_cast<int64_t>(sizeof(float)) +
             at * a.row_out;
  copy(0), fc_commit_copies();
  for (int block = 0, slot = 0; block < end; block++, slot = ring.after(slot, 1)) {
    fc_await_copies();
    __syncwarp();
    float v[RUN];
    float *here = memory + slot * BOX_SLOT + row * BOX_PITCH;
    box_row(v, here, run, a.x);
    __syncwarp();
#pragma unroll
    for (int k = 0; k < RUN / 4; k++)
      *reinterpret_cast<float4 *>(here + box_word(run + 4 * k)) =
          make_float4(v[4 * k], v[4 * k + 1], v[4 * k + 2], v[4 * k + 3]);
    __syncthreads();
    if (block + 1 < end) copy(ring.after(slot, 1)), fc_commit_copies();
    if (!live) continue;
    if (a.y.segments > 1) {
      const float *column = ring.at(slot);
#pragma unroll
      for (int k = 0; k < RUN; k++) v[k] = column[k * BOX_PITCH];
      totals[slot * BOX_THREADS] = sum16(v);
    }
    if (block < a.y.warm) continue;
    box_column(v, a, ring, ring.after(slot, a.slots - a.y.warm), totals);
    if (a.mean && a.shrink && !box_whole(a, a.x0 + strip, at)) {
      box_shrunk(a, v, x, at);
    } else if (a.mean) {
#pragma unroll
      for (int k = 0; k < RUN; k++) v[k] = mean_of(v[k], a.area, a.over);
    }
    if (at >= 0 && at + RUN <= a.rows) {
#pragma unroll
      for (int k = 0; k < RUN; k++) *reinterpret_cast<float *>(to + k * a.row_out) = v[k];
    } else {
#pragma unroll
      for (int k = 0; k < RUN; k++)
        if (at + k >= 0 && at + k < a.rows) *reinterpret_cast<float *>(to + k * a.row_out) = v[k];
    }
    at += RUN, to += RUN * a.row_out;
  }
}

} // namespace winstat

#endif
