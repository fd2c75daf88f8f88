// SPDX-License-Identifier: MIT
//
// winstat_spread.cuh - variances and standard deviations of floats, in windows of up to SPREAD_MOST columns
// and rows.
//
// All is relative to samples of the window itself, so that a large common offset costs no digits. The R
// windows of a column that begin in a block of R rows, R the largest power of two up to 16 that is no longer
// than a window, all hold the last of these rows: sums and sums of squares are of distances from that sample,
// and give each window's mean - the sample and a distance - and variance. Along x the same is done with the
// means of columns, relative to that of the last column of a run of R: the variance of a window is the mean
// of those of its columns, and the variance of their means. So nothing is added up that is not in the window,
// nothing is subtracted from a sum again, and the order depends on the window and the position in the signal
// alone.
//
// A block of threads marches down a strip as that of winstat_extremes.cuh does: a thread a column of samples,
// which it copies itself, then a lane 16 columns of a row.
#ifndef FC_FILTERS_WINSTAT_SPREAD_CUH
#define FC_FILTERS_WINSTAT_SPREAD_CUH

#include <type_traits>

#include "filters/copy_async.cuh"
#include "filters/winstat_extremes.cuh"
#include "filters/winstat_samples.cuh"

namespace winstat {

constexpr int SPREAD_ROWS = 16; // of a step of the march, and columns of a lane
constexpr int SPREAD_MOST = 33;

// RUNS: of 16 columns in a strip.
template <int RUNS> struct spread_room {
  static constexpr int THREADS = (RUNS + 2) * SPREAD_ROWS, STEP = SPREAD_ROWS * THREADS;
  static constexpr int APART = RUNS + 2, ROW = SPREAD_ROWS * APART + RUNS, PLANE = SPREAD_ROWS * ROW;
  static constexpr int ROWS = 32 / RUNS; // of a warp
  static __device__ __forceinline__ int at(int column) {
    return column % SPREAD_ROWS * APART + column / SPREAD_ROWS;
  }
};

// Of longer windows: the suffixes of the first 16 samples have so much of each, and the rest.
struct spread_shares {
  float share[SPREAD_ROWS], weight[SPREAD_ROWS];
};

struct spread_args {
  const char *in;                                  // row 0, column 0
  char *out;                                       // the same
  int64_t step_in, row_in, plane_in, frame_in;     // bytes
  int64_t step_out, row_out, plane_out, frame_out; // the same
  int32_t columns, rows, x0, y0;                   // x0, y0: at most 0, where runs begin
  int32_t before[2], window[2];
  extent16 x, y;        // windows
  int32_t lo[2], hi[2]; // columns and rows that may be read
  ends edges;           // what stands beyond, if that is not there to be read
  int32_t strips, splits, blocks, planes, warm, slots;
  int32_t root, dtype;
  float over[2]; // 1 / window
  spread_shares shares[2];
  fc_dev_map<float> store;
  uint32_t *notes;
};

// ---- samples into shared memory -----------------------------------------------------

// Where a thread's column comes from: `from` is its row 0, null for the border's constant.
struct spread_column {
  const char *from;
  bool seen;
};

inline __device__ spread_column spread_column_of(const spread_args &a, const char *plane, int x, int end) {
  int source = x;
  if (x < a.lo[0] || x >= a.hi[0]) source = a.edges.on ? border_source(a.edges.border, x, a.columns) : -1;
  const bool none = (x < a.lo[0] || x >= a.hi[0]) && source < 0;
  return {none ? nullptr : plane + source * a.step_in, x < end && (!none || a.edges.on)};
}

// Row y where some may not be read.
inline __device__ __noinline__ void spread_copy_ends(const spread_args &a, const spread_column &c, int y,
                                                     int pitch, float *to) {
  const float constant = __uint_as_float(static_cast<uint32_t>(a.edges.code));
#pragma unroll 1
  for (int k = 0; k < SPREAD_ROWS; k++, to += pitch) {
    int row = y + k;
    bool there = c.from && row >= a.lo[1] && row < a.hi[1];
    if (c.from && !there && a.edges.on) {
      row = border_source(a.edges.border, row, a.rows);
      there = row >= 0;
    }
    if (there)
      fc_copy_word(to, c.from + row * a.row_in);
    else
      *to = constant;
  }
}

template <int PITCH>
__device__ __forceinline__ void spread_copy(const spread_args &a, const spread_column &c, int y, float *to) {
  if (!c.seen) return;
  if (c.from && y >= a.lo[1] && y + SPREAD_ROWS <= a.hi[1]) {
    const char *at = c.from + y * a.row_in;
#pragma unroll
    for (int k = 0; k < SPREAD_ROWS; k++, at += a.row_in) fc_copy_word(to + k * PITCH, at);
    return;
  }
  spread_copy_ends(a, c, y, PITCH, to);
}

// Where block number `slot` of a thread's column is, up to that many again.
template <int STEP> struct spread_ring {
  const float *column;
  int slots;
  __device__ __forceinline__ const float *at(int slot) const {
    while (slot >= slots) slot -= slots;
    return column + slot * STEP;
  }
};

// ---- sixteen windows ----------------------------------------------------------------

// The mean of some distances, and the sum of their squared deviations from it.
struct moments {
  float mean, squares;
  // One more, the n-th (Welford 1962); and one that has squared deviations itself.
  __device__ __forceinline__ void add(float distance, float n) {
    const float d = plus(distance, -mean);
    mean = __fmaf_rn(d, 1 / n, mean), squares = __fmaf_rn(times(d, (n - 1) / n), d, squares);
  }
  __device__ __forceinline__ void add(float distance, float more, float n) {
    add(distance, n), squares = plus(squares, more);
  }
  // Of two of which the second has `share` of all, and share * (1 - share) of n is `weight` (Chan, Golub,
  // LeVeque 1983).
  static __device__ __forceinline__ moments join(const moments &a, const moments &b, float share,
                                                 float weight) {
    const float d = plus(b.mean, -a.mean);
    return {__fmaf_rn(d, share, a.mean), __fmaf_rn(times(d, weight), d, plus(a.squares, b.squares))};
  }
};

// The distance of a sample from another of its window.
__device__ __forceinline__ void add_sample(moments *m, float own, float v, float n) {
  m->add(plus(v, -own), n);
}

// A column of a window: its mean is own + mean.
struct column_moments {
  float own, mean, variance;
};
__device__ __forceinline__ void add_sample(moments *m, const column_moments &own, const column_moments &v,
                                           float n) {
  m->add(plus(plus(v.own, -own.own), plus(v.mean, -own.mean)), v.variance, n);
}

// Sixteen windows of W samples, from at(0) on, in blocks of W: all windows that begin in one hold its last
// sample. put(k, that sample, moments).
template <int W, class At, class Put> __device__ __forceinline__ void spread_short(At at, Put put) {
#pragma unroll
  for (int block = 0; block < SPREAD_ROWS; block += W) {
    const auto own = at(block + W - 1);
    moments suffix[W], prefix = {0, 0};
#pragma unroll
    for (int k = W - 1; k >= 0; k--) {
      suffix[k] = k + 1 < W ? suffix[k + 1 < W ? k + 1 : k] : moments{0, 0};
      add_sample(&suffix[k], own, at(block + k), static_cast<float>(W - k));
    }
#pragma unroll
    for (int k = 0; k < W; k++) {
      if (block + k >= SPREAD_ROWS) continue;
      const float n = static_cast<float>(k), share = n / static_cast<float>(W);
      if (k > 0) add_sample(&prefix, own, at(block + W + k - 1), n);
      put(block + k, own, k > 0 ? moments::join(suffix[k], prefix, share, n * (1 - share)) : suffix[k]);
    }
  }
}

// Of longer ones, relative to the last of the first 16 samples: between these and tail(0) lies `core`, of
// CORE samples, and the first ends with tail(PART - 1).
template <int CORE, int PART, class At, class Tail, class Put>
__device__ __forceinline__ void spread_long(const spread_shares &s, moments core, At at, Tail tail, Put put) {
  const auto own = at(SPREAD_ROWS - 1);
  moments suffix[SPREAD_ROWS];
#pragma unroll
  for (int k = SPREAD_ROWS - 1; k >= 0; k--) {
    suffix[k] = k + 1 < SPREAD_ROWS ? suffix[k + 1 < SPREAD_ROWS ? k + 1 : k] : moments{0, 0};
    add_sample(&suffix[k], own, at(k), static_cast<float>(SPREAD_ROWS - k));
  }
#pragma unroll
  for (int k = 0; k < PART; k++) add_sample(&core, own, tail(k), static_cast<float>(CORE + k + 1));
#pragma unroll
  for (int k = 0; k < SPREAD_ROWS; k++) {
    put(k, own, moments::join(suffix[k], core, s.share[k], s.weight[k]));
    if (k + 1 < SPREAD_ROWS) add_sample(&core, own, tail(PART + k), static_cast<float>(CORE + PART + k + 1));
  }
}

// All windows that begin in 16 samples: at(s, k) is sample k, up to 31, from the s-th segment of 16 on.
template <class At, class Put>
__device__ __forceinline__ void spread_sixteen(const extent16 &w, const spread_shares &s, At at, Put put) {
  auto first = [&](int k) { return at(0, k); };
  if (w.segments == 0) {
    with_number(w.reach + 1, [&](auto n) { spread_short<decltype(n)::value>(first, put); });
  } else if (w.segments == 1) {
    auto tail = [&](int k) { return at(1, k); };
    with_number(w.rest + 1, [&](auto n) {
      spread_long<0, decltype(n)::value>(s, moments{0, 0}, first, tail, put);
    });
  } else { // 33 samples, the most
    const auto own = first(SPREAD_ROWS - 1);
    moments core = {0, 0};
#pragma unroll
    for (int k = 0; k < SPREAD_ROWS; k++) add_sample(&core, own, at(1, k), static_cast<float>(k + 1));
    spread_long<SPREAD_ROWS, 1>(
        s, core, first, [&](int k) { return at(2, k); }, put);
  }
}

// ---- the march ----------------------------------------------------------------------

__device__ __forceinline__ void spread_store(const spread_args &a, char *to, float v) {
  if (a.root) v = root(v);
  if (a.dtype == FC_F32)
    *reinterpret_cast<float *>(to) = v;
  else
    fc_dev_store_any<float>(to, a.dtype, v, a.store, a.notes);
}

template <int RUNS>
__global__ void __launch_bounds__(spread_room<RUNS>::THREADS)
    spread_march(const __grid_constant__ spread_args a) {
  typedef spread_room<RUNS> room;
  constexpr int PITCH = room::THREADS, STEP = room::STEP, WIDE = RUNS * SPREAD_ROWS;
  extern __shared__ __align__(16) float samples[];
  float *const mid = samples + a.slots * STEP;
  unsigned i = blockIdx.x;
  const int x = a.x0 + static_cast<int>(i % a.strips) * WIDE; // column of the first output
  i /= a.strips;
  const int first = static_cast<int>(i % a.splits) * a.blocks;
  i /= a.splits;
  const int64_t plane = i % a.planes, frame = i / a.planes;
  const char *const in = a.in + frame * a.frame_in + plane * a.plane_in;
  const int all = (a.rows - a.y0 + SPREAD_ROWS - 1) / SPREAD_ROWS;
  const int blocks = all - first < a.blocks ? all - first : a.blocks, end = blocks + a.warm;
  // The thread's column of samples.
  const int thread = threadIdx.x, last = x + WIDE < a.columns ? x + WIDE : a.columns;
  const spread_column source =
      spread_column_of(a, in, x - a.before[0] + thread, last - a.before[0] + a.window[0] - 1);
  float *const column = samples + thread, *const place = mid + room::at(thread);
  // The lane's windows along x.
  const int lane = thread % 32, mine = thread / 32 * room::ROWS + lane / RUNS;
  float *const line = mid + mine * room::ROW + lane % RUNS;
  int row = a.y0 + first * SPREAD_ROWS, y = row - a.before[1];
  const spread_ring<STEP> ring = {column, a.slots};
  spread_copy<PITCH>(a, source, y, column), fc_commit_copies();
  for (int block = 0, slot = 0; block < end; block++) {
    const int next = slot + 1 < a.slots ? slot + 1 : 0;
    y += SPREAD_ROWS;
    if (block + 1 < end) spread_copy<PITCH>(a, source, y, column + next * STEP);
    fc_commit_copies();
    fc_await_copies<1>();
    const int begun = slot >= a.warm ? slot - a.warm : slot - a.warm + a.slots;
    slot = next;
    if (block < a.warm) continue;
    __syncthreads(); // all have stored what was there
    if (source.seen) {
      const float *const block_of[4] = {ring.at(begun), ring.at(begun + 1), ring.at(begun + 2),
                                        ring.at(begun + 3)};
      spread_sixteen(
          a.y, a.shares[1],
          [&](int s, int k) {
            const float *const now = s == 0 ? block_of[0] : s == 1 ? block_of[1] : block_of[2];
            const float *const next = s == 0 ? block_of[1] : s == 1 ? block_of[2] : block_of[3];
            return k < SPREAD_ROWS ? now[k * PITCH] : next[(k - SPREAD_ROWS) * PITCH];
          },
          [&](int k, float own, const moments &m) {
            float *const to = place + k * room::ROW;
            // Infinities have no variance.
            to[0] = own, to[room::PLANE] = m.mean;
            to[2 * room::PLANE] = __fmaf_rn(m.squares, a.over[1], plus(m.mean, -m.mean));
          });
    }
    __syncthreads();
    if (mine < SPREAD_ROWS) { // the same for a warp
      float v[SPREAD_ROWS];
      spread_sixteen(
          a.x, a.shares[0],
          [&](int s, int k) {
            const float *from = line + s + k % SPREAD_ROWS * room::APART + k / SPREAD_ROWS;
            return column_moments{from[0], from[room::PLANE], from[2 * room::PLANE]};
          },
          [&](int k, const column_moments &, const moments &m) { v[k] = times(m.squares, a.over[0]); });
      __syncwarp();
#pragma unroll
      for (int k = 0; k < SPREAD_ROWS; k++) line[k * room::APART] = v[k];
      __syncwarp();
#pragma unroll 1
      for (int g = 0; g < room::ROWS; g++) {
        const int own = thread / 32 * room::ROWS + g, to_y = row + own;
        if (to_y < 0 || to_y >= a.rows) continue;
        char *const to = a.out + frame * a.frame_out + plane * a.plane_out + to_y * a.row_out;
        const float *const from = mid + own * room::ROW + room::at(lane);
#pragma unroll
        for (int t = 0; t < WIDE / 32; t++) {
          const int to_x = x + t * 32 + lane;
          if (to_x >= 0 && to_x < a.columns) spread_store(a, to + to_x * a.step_out, from[2 * t]);
        }
      }
    }
    row += SPREAD_ROWS;
  }
}

} // namespace winstat

#endif
