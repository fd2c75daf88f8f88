// SPDX-License-Identifier: MIT
//
// spread.cuh - variances and standard deviations of floats, in windows of up to SPREAD_MOST columns and rows.
//
// The variance of a window is the mean of those of its columns, and the variance of their means: down columns
// and then along rows by moments.cuh, so the order depends only on the window and the position in the signal.
//
// A block of threads marches down strips, 16 rows per step; it has one of a wide image, or several narrow
// images, or pieces of one, side by side: cells. A row of its shared memory is cut into planes of segments of
// 16 pixels: of a channel of a cell, which is a strip of an image from some row to another. Each thread has a
// column of samples, in the order of memory, which it copies itself; then each lane has the windows that
// begin in one segment. A long row is treated as several consecutive rows.
#ifndef FC_FILTERS_WINSTAT_SPREAD_CUH
#define FC_FILTERS_WINSTAT_SPREAD_CUH

#include "filters/gpu/copy_async.cuh"
#include "filters/gpu/moments.cuh"
#include "filters/gpu/sample_words.cuh"
#include "filters/winstat/box/extremes.cuh"
#include "filters/winstat/winstat.h"

namespace winstat {

constexpr int SPREAD_ROWS = 16; // of a step of the march, and columns per lane
constexpr int SPREAD_MOST = FC_WINSTAT_SPREAD_MOST;
static_assert(SPREAD_MOST == FC_MOMENTS_MOST, "composed kernels have this order for the same windows");

// For 16 rows: a distance for 16 pixels such that neither lanes with 16 pixels each nor those with one often
// use the same bank. LANES: per row.
struct spread_room {
  static constexpr int SEGMENTS = 10, LANES = 8, THREADS = SEGMENTS * SPREAD_ROWS;
  static constexpr int ROW = SPREAD_ROWS * SEGMENTS + LANES, STEP = SPREAD_ROWS * ROW;
  static constexpr int ROWS = 32 / LANES; // per warp
};

// ---- cells ---------------------------------------------------------------------------

struct cell_args {
  peak_args p;                 // runs: segments of a plane in which windows begin
  int32_t cells, plane;        // per block; segments per plane
  int32_t x0, y0;              // at most 0, start of the segments
  int64_t units;               // pieces of images
  int64_t follow, all;         // distance of rows in elements if they are contiguous, else 0; total
  int64_t pixel_in, pixel_out; // bytes from one to the next
  int32_t channel_in, channel_out;
};

// The position of a thread: element `element` of a row of the cell, which is `channel` of `pixel`, from the
// first sample that windows cover; x, y and `pixels` are of the cell's outputs, which are made in `blocks`
// steps.
struct cell_spot {
  int cell, element, channel, pixel;
  int x, y, pixels, blocks;
  int64_t in, out; // bytes, of the image
  bool live;
};

// `wide`: elements of a row of a cell.
__device__ __forceinline__ cell_spot cell_spot_of(const cell_args &c, int wide) {
  const peak_args &a = c.p;
  cell_spot s;
  const int first = static_cast<int>(threadIdx.x), strip = static_cast<int>(blockIdx.x % a.strips);
  s.cell = first / wide, s.element = first - s.cell * wide;
  s.pixel = s.element / a.step, s.channel = s.element - s.pixel * a.step;
  // Threads without a cell repeat the first.
  const int64_t unit =
      static_cast<int64_t>(blockIdx.x / a.strips) * c.cells + (s.cell < c.cells ? s.cell : 0);
  const int64_t image = unit / a.splits, frame = image / a.planes, plane = image - frame * a.planes;
  const int split = static_cast<int>(unit - image * a.splits) * a.blocks;
  const int most = a.runs * PEAK_ROWS, all = (a.rows - c.y0 + PEAK_ROWS - 1) / PEAK_ROWS - split;
  s.x = c.x0 + strip * most, s.y = c.y0 + split * PEAK_ROWS;
  s.pixels = a.columns - s.x < most ? a.columns - s.x : most;
  s.blocks = c.cells > 1 || all > a.blocks ? a.blocks : all;
  s.in = frame * a.frame_in + plane * a.plane_in, s.out = frame * a.frame_out + plane * a.plane_out;
  s.live = s.cell < c.cells && unit < c.units;
  return s;
}

// ---- arguments -----------------------------------------------------------------------

// If in windows of `rows` rows all but one, number `at`, are the constant; else rows is 0. Samples are added
// by Welford's steps, first the suffix of the window's first 16 rows and then those after these: step n is
// the first of either with other samples than the constant (whose distance from itself is 0), and the last.
struct spread_alone {
  int32_t rows, real[2], first[2], last[2];            // `real`: the step of that row, or 0
  int32_t own;                                         // all values are relative to that row
  float over[SPREAD_MOST + 1], share[SPREAD_MOST + 1]; // 1 / n and (n - 1) / n
};

struct spread_args {
  cell_args c;
  int32_t root, dtype;
  int32_t times;    // how often a window covers each sample along x
  float over[2];    // 1 / window
  float over_times; // and of that
  fc_moments_shares shares[2];
  spread_alone alone;
  fc_dev_map<float> store;
  uint32_t *notes;
};

// ---- samples into shared memory -----------------------------------------------------

// A thread's column: rows first .. last - 1 of it are `row_in` apart from `from` on. Others are taken from
// pixel `x` of `plane`.
struct spread_column {
  const char *plane, *from; // row 0
  int x, first, last;
  bool seen, filled; // filled: with the constant, which is stored there from the beginning
};

inline __device__ spread_column spread_column_of(const cell_args &c, const cell_spot &s) {
  const peak_args &a = c.p;
  const int x = s.x - a.before[0] + s.pixel;
  const int left = s.x + s.pixels - a.before[0] + a.window[0] - 1;
  spread_column column = {a.in + s.in + s.channel * c.channel_in, nullptr, x, a.lo[1], a.hi[1], false, false};
  column.seen = s.live && x < left;
  int source = x;
  if (c.follow) {
    const int64_t pixels = c.follow / a.step, from = -floor_div(x - a.lo[0], pixels),
                  to = floor_div(a.hi[0] - 1 - static_cast<int64_t>(x), pixels) + 1;
    if (from > column.first) column.first = static_cast<int>(from);
    if (to < column.last) column.last = static_cast<int>(to);
  } else if (x < a.lo[0] || x >= a.hi[0]) {
    source = a.edges.on ? border_source(a.edges.border, x, a.columns) : -1;
    column.filled = source < 0;
  }
  column.from = column.plane + (column.filled ? 0 : source) * c.pixel_in;
  return column;
}

// The source of row or column `at`, if lo .. hi - 1 are readable, or -1 for the constant; `lo` may be less.
inline __device__ int spread_source(const ends &edges, int at, int extent) {
  return edges.border == FC_BORDER_REPLICATE ? (at < 0 ? 0 : extent - 1)
                                             : border_source(edges.border, at, extent);
}

// Sixteen rows, some of which may be unreadable.
inline __device__ __noinline__ void spread_copy_ends(const cell_args &c, const spread_column &s, int y,
                                                     float *to) {
  const peak_args &a = c.p;
  const float constant = __uint_as_float(static_cast<uint32_t>(a.edges.code));
#pragma unroll 4
  for (int k = 0; k < SPREAD_ROWS; k++, to += spread_room::ROW) {
    const int row = y + k;
    int source = row;
    if (row < s.first || row >= s.last)
      source = c.follow || !a.edges.on ? -1 : spread_source(a.edges, row, a.rows);
    if (c.follow && (row < s.first || row >= s.last) && row >= 0 && row < a.rows) {
      // Before the first of consecutive rows, or after the end of the last.
      const int64_t pixels = c.follow / a.step, all = c.all / a.step, x = s.x + row * pixels;
      const int64_t from = a.edges.on ? border_source(a.edges.border, x, all) : -1;
      if (from >= 0) {
        fc_copy_word(to, s.plane + from * c.pixel_in);
        continue;
      }
    }
    if (source >= 0 || (row >= s.first && row < s.last))
      fc_copy_word(to, s.from + source * a.row_in);
    else
      *to = constant;
  }
}

__device__ __forceinline__ void spread_copy(const cell_args &c, const spread_column &s, int y, float *to) {
  if (!s.seen || s.filled) return;
  if (y >= s.first && y + SPREAD_ROWS <= s.last) {
    const char *at = s.from + y * c.p.row_in;
#pragma unroll
    for (int k = 0; k < SPREAD_ROWS; k++, at += c.p.row_in) fc_copy_word(to + k * spread_room::ROW, at);
    return;
  }
  spread_copy_ends(c, s, y, to);
}

// ---- sixteen windows ----------------------------------------------------------------

// A column of a window: its mean is own + mean.
struct column_moments {
  float own, mean, variance;
};
__device__ __forceinline__ void fc_moments_add(fc_moments *m, const column_moments &own,
                                               const column_moments &v, float n) {
  m->add(plus(plus(v.own, -own.own), plus(v.mean, -own.mean)), v.variance, n);
}

// All windows that begin in 16 samples: at(s, k) is sample k, up to 31, from the s-th segment of 16 on.
template <class At, class Put>
__device__ __forceinline__ void spread_sixteen(const extent16 &w, const fc_moments_shares &s, At at,
                                               Put put) {
  auto first = [&](int k) { return at(0, k); };
  if (w.segments == 0) {
    with_number(w.reach + 1, [&](auto n) { fc_moments_short<decltype(n)::value>(first, put); });
  } else if (w.segments == 1) {
    auto tail = [&](int k) { return at(1, k); };
    with_number(w.rest + 1, [&](auto n) {
      fc_moments_long<0, decltype(n)::value>(s, fc_moments{0, 0}, first, tail, put);
    });
  } else { // 33 samples, the most
    fc_moments_most(
        s, first, [&](int k) { return at(1, k); }, [&](int k) { return at(2, k); }, put);
  }
}

// The result of spread_sixteen for columns in which all samples except one, v[k], are the constant.
template <int ROWS, class Put>
__device__ __forceinline__ void spread_column_alone(const spread_args &d, const float (&v)[ROWS], Put put) {
  const spread_alone &a = d.alone;
  const float constant = __uint_as_float(static_cast<uint32_t>(d.c.p.edges.code));
  fc_moments m[2][ROWS];
#pragma unroll
  for (int part = 0; part < 2; part++) {
#pragma unroll
    for (int k = 0; k < ROWS; k++) m[part][k] = {0, 0};
#pragma unroll 1
    for (int n = a.first[part]; n <= a.last[part]; n++) {
      const float over = a.over[n], share = a.share[n];
      const bool real = n == a.real[part];
#pragma unroll
      for (int k = 0; k < ROWS; k++)
        m[part][k].step(plus(real ? v[k] : constant, -(a.own ? v[k] : constant)), over, share);
    }
  }
#pragma unroll
  for (int k = 0; k < ROWS; k++)
    put(k, a.rows > SPREAD_ROWS
               ? fc_moments::join(m[0][k], m[1][k], d.shares[1].share[0], d.shares[1].weight[0])
               : m[0][k]);
}

// ---- the march ----------------------------------------------------------------------

// A thread's column of results: rows first .. last - 1.
struct spread_result {
  char *to; // row 0
  int first, last;
};

inline __device__ spread_result spread_result_of(const cell_args &c, const cell_spot &s) {
  const peak_args &a = c.p;
  const int x = s.x + s.pixel;
  spread_result r = {a.out + s.out + x * c.pixel_out + s.channel * c.channel_out, x < 0, a.rows};
  if (!s.live || s.pixel >= s.pixels || (x < 0 && !c.follow)) r.last = 0;
  if (c.follow && x + (a.rows - 1) * (c.follow / a.step) >= c.all / a.step) r.last--;
  return r;
}

// The variance of a window that covers `times` equal columns, in the order of spread_sixteen.
inline __device__ __noinline__ float spread_again(const spread_args &a, float v) {
  float first = v, rest = v;
  for (int k = 1; k < a.times && k < SPREAD_ROWS; k++) first = plus(first, v);
  for (int k = SPREAD_ROWS + 1; k < a.times; k++) rest = plus(rest, v);
  return times(a.times > SPREAD_ROWS ? plus(first, rest) : first, a.over_times);
}

// One result of any type.
inline __device__ __noinline__ void spread_store_any(const spread_args &a, char *to, float v) {
  if (a.times > 1) v = spread_again(a, v);
  if (a.root) v = fc_moments_root(v);
  fc_dev_store_any<float>(to, a.dtype, v, a.store, a.notes);
}

// Rows [first, last) of a column's sixteen, of the first or last ones of an image or of an image of few: a
// call for each took most of the time of images of 8 rows.
inline __device__ __noinline__ void spread_store_some(const spread_args &a, char *to, const float *from,
                                                      int first, int last) {
  const int64_t apart = a.c.p.row_out;
  if (a.dtype == FC_F32 && a.times == 1) {
#pragma unroll
    for (int k = 0; k < SPREAD_ROWS; k++, to += apart) {
      if (k < first || k >= last) continue;
      const float v = from[k * spread_room::ROW];
      *reinterpret_cast<float *>(to) = a.root ? fc_moments_root(v) : v;
    }
    return;
  }
#pragma unroll 1
  for (int k = 0; k < SPREAD_ROWS; k++, to += apart)
    if (k >= first && k < last) spread_store_any(a, to, from[k * spread_room::ROW]);
}

// Sixteen rows of one column as codes.
template <typename T>
__device__ __forceinline__ void spread_store_codes(const spread_args &a, char *to,
                                                   const float (&v)[SPREAD_ROWS]) {
  fc_dev_noted noted = {false, false};
#pragma unroll
  for (int k = 0; k < SPREAD_ROWS; k++, to += a.c.p.row_out)
    *reinterpret_cast<T *>(to) = fc_value_code<T>(v[k], a.store, noted);
  noted.tell(a.notes);
}

// Sixteen rows from `row` on.
__device__ __forceinline__ void spread_store(const spread_args &a, const spread_result &r, const float *from,
                                             int row) {
  const int first = r.first - row, last = r.last - row;
  const int64_t apart = a.c.p.row_out;
  char *to = r.to + row * apart;
  if (a.dtype <= FC_F32 && a.dtype != FC_I32 && a.times == 1 && first <= 0 && last >= SPREAD_ROWS) {
    float v[SPREAD_ROWS];
#pragma unroll
    for (int k = 0; k < SPREAD_ROWS; k++) v[k] = from[k * spread_room::ROW];
    if (a.root) {
#pragma unroll
      for (int k = 0; k < SPREAD_ROWS; k++) v[k] = fc_moments_root(v[k]);
    }
    if (a.dtype == FC_U8) return spread_store_codes<uint8_t>(a, to, v);
    if (a.dtype == FC_I16) return spread_store_codes<int16_t>(a, to, v);
    if (a.dtype == FC_U16) return spread_store_codes<uint16_t>(a, to, v);
#pragma unroll
    for (int k = 0; k < SPREAD_ROWS; k++, to += apart) *reinterpret_cast<float *>(to) = v[k];
    return;
  }
  spread_store_some(a, to, from, first, last);
}

__global__ void __launch_bounds__(spread_room::THREADS, 4)
    spread_march(const __grid_constant__ spread_args d) {
  typedef spread_room room;
  constexpr int ROW = room::ROW, STEP = room::STEP, ROWS = SPREAD_ROWS;
  extern __shared__ __align__(16) float samples[];
  const cell_args &c = d.c;
  const peak_args &a = c.p;
  float *const means = samples + a.slots * STEP; // behind them a row of the constant, of `alone`
  // The thread's column.
  const cell_spot s = cell_spot_of(c, c.plane * ROWS * a.step);
  const spread_column source = spread_column_of(c, s);
  const spread_result result = spread_result_of(c, s);
  const int place =
      s.pixel % ROWS * room::SEGMENTS + s.pixel / ROWS + (s.cell * a.step + s.channel) * c.plane;
  // The lane's windows along x, and the row that all windows along y of its row contain.
  const int thread = threadIdx.x, lane = thread % room::LANES, mine = thread / room::LANES,
            plane_of_lane = lane / a.runs;
  const int begins = mine * ROW + plane_of_lane * c.plane + lane - plane_of_lane * a.runs;
  const bool live = mine < ROWS && plane_of_lane < c.cells * a.step;
  const int held = a.window[1] <= ROWS ? mine / a.window[1] * a.window[1] + a.window[1] - 1 : ROWS - 1;
  int y = s.y, slot = 0; // of the block in which windows begin
  auto after = [&](int by) { return slot + by < a.slots ? slot + by : slot + by - a.slots; };
  if (source.seen && source.filled)
    for (int k = 0; k < a.slots * ROWS; k++)
      samples[k * ROW + place] = __uint_as_float(static_cast<uint32_t>(a.edges.code));
  if (d.alone.rows > 0)
    for (int k = threadIdx.x; k < ROW; k += room::THREADS)
      means[2 * STEP + k] = __uint_as_float(static_cast<uint32_t>(a.edges.code));
  for (int n = 0; n <= a.y.warm; n++)
    spread_copy(c, source, y - a.before[1] + n * ROWS, samples + n * STEP + place);
  fc_commit_copies();
#pragma unroll 1
  for (int block = 0; block < s.blocks; block++, y += ROWS) {
    fc_await_copies<0>();
    __syncthreads(); // the last results have been stored
    if (block > 0) spread_store(d, result, means + place, y - ROWS);
    if (block + 1 < s.blocks)
      spread_copy(c, source, y - a.before[1] + (a.y.warm + 1) * ROWS,
                  samples + after(a.y.warm + 1) * STEP + place);
    fc_commit_copies();
    if (source.seen) {
      // Infinities have no variance.
      auto put = [&](int k, const fc_moments &m) {
        float *const to = means + place + k * ROW;
        to[0] = m.mean, to[STEP] = __fmaf_rn(m.squares, d.over[1], plus(m.mean, -m.mean));
      };
      const float *const block_of[4] = {samples + slot * STEP + place, samples + after(1) * STEP + place,
                                        samples + after(2) * STEP + place,
                                        samples + after(a.slots > 3 ? 3 : 2) * STEP + place};
      if (d.alone.rows > 0) {
        constexpr int HALF = ROWS / 2;
#pragma unroll 1
        for (int half = 0; half < ROWS; half += HALF) {
          float v[HALF];
#pragma unroll
          for (int k = 0; k < HALF; k++) v[k] = block_of[0][(half + k) * ROW];
          spread_column_alone(d, v, [&](int k, const fc_moments &m) { put(half + k, m); });
        }
      } else {
        spread_sixteen(
            a.y, d.shares[1],
            [&](int s, int k) {
              const float *const now = s == 0 ? block_of[0] : s == 1 ? block_of[1] : block_of[2];
              const float *const next = s == 0 ? block_of[1] : s == 1 ? block_of[2] : block_of[3];
              return k < ROWS ? now[k * ROW] : next[(k - ROWS) * ROW];
            },
            [&](int k, float, const fc_moments &m) { put(k, m); });
      }
    }
    __syncthreads();
    float v[ROWS], *const line = means + begins;
    if (live) {
      const float *const own = d.alone.rows > 0 && !d.alone.own ? means + 2 * STEP + begins - mine * ROW
                                                                : samples + after(held / ROWS) * STEP +
                                                                      begins + (held % ROWS - mine) * ROW;
      spread_sixteen(
          a.x, d.shares[0],
          [&](int s, int k) {
            const int at = s + k % ROWS * room::SEGMENTS + k / ROWS;
            return column_moments{own[at], line[at], line[STEP + at]};
          },
          [&](int k, const column_moments &, const fc_moments &m) { v[k] = times(m.squares, d.over[0]); });
    }
    __syncwarp();
    if (live) {
#pragma unroll
      for (int k = 0; k < ROWS; k++) line[k * room::SEGMENTS] = v[k];
    }
    slot = after(1);
  }
  __syncthreads();
  spread_store(d, result, means + place, y - ROWS);
}

} // namespace winstat

#endif
