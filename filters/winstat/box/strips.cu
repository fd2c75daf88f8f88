// SPDX-License-Identifier: MIT
//
// strips.cu - sums and sums of squares in windows of up to FC_STRIPS_COLUMNS x FC_STRIPS_ROWS, in one kernel
// for both axes: of floats in single precision, and of integers whose sums fit 32 bits; of integers also
// along rows alone.
#include "filters/winstat/samples.cuh"
#include "filters/winstat/slide16.cuh"
#include "filters/winstat/box/cuts.h"
#include "filters/winstat/launch.cuh"

#include <type_traits>

// Window sums of 32 bits: kernel.
//
// A block of threads owns a strip of columns and moves down it, 16 rows per step:
//
//  1. samples are copied into shared memory (if they need no conversion, those of the next step are copied
//     while the current ones are used);
//  2. each thread computes the sums along x of 16 adjacent columns of a row. They stay in shared memory for
//     as many blocks of rows as a window is high;
//  3. each thread computes the sums along y of one column and writes the results.
//
// Interleaved channels share a strip. A long row (sound has only one) is folded: cut into rows that follow
// each other in memory, so that windows may read past the end of such a row into the next.

namespace winstat {

constexpr int STRIP_THREADS = 256;                        // at most; a thread per column
constexpr int WIDEST = STRIP_THREADS + FC_STRIPS_COLUMNS; // samples per row and channel of a tile, at most

// Arguments of a launch. Rows and columns are those of the folded view: row y begins `fold` columns after row
// y - 1.
struct strip_args {
  fc_dev_view in, out;
  int64_t row_in, row_out; // bytes between rows
  int64_t columns, rows;   // columns of the view; rows of the folded view
  int64_t width;           // columns per row of the folded view, from x0 on
  int64_t fold;
  int64_t x0, y0;       // start of the first strip, <= 0, a multiple of RUN in the signal
  int32_t skew;         // samples at the start of a strip's first segment that no window needs
  int32_t words;        // samples are adjacent words and are copied without conversion
  int64_t lo[2], hi[2]; // readable columns and rows: lo .. hi - 1
  int64_t before[2];
  extent16 x, y;
  int64_t strips, splits, planes, blocks; // blocks: blocks of rows per split
  int32_t channels, pixels, runs;         // channels and columns of a strip; runs of sums
  int32_t pitch, plane, held, slots;      // words: row of samples, one channel of it, row of sums
  int32_t stages;                         // tiles of samples: 2 to copy one while the other is used
  int32_t shrink, exact;                  // exact: integers small enough for statistics in float
  int32_t n_stats, slot[FC_STRIPS_LISTED], stat[FC_STRIPS_LISTED];
  int32_t area, bias;
  float over; // 1 / area
  double scale;
  fc_dev_map<float> store;
  fc_dev_map<double> store_exact;
  uint32_t *notes;
  int32_t squares; // of integers, which are loaded as such
};

// The strip that a block of threads processes.
struct strip {
  int64_t n, c, x;  // frame, first channel, first column from x0
  int64_t block;    // first block of output rows
  int blocks;       // and how many
  const char *from; // sample 0 of row 0 of its tiles
  int64_t first;    // column of that sample
  int lo, hi;       // readable samples of a row, unless rows are folded
};

// The readable part from .. to - 1 of a tile's row that begins at column `first`.
__device__ __forceinline__ void limit(const strip_args &a, int64_t first, int &from, int &to) {
  const int64_t lo = a.lo[0] - first, hi = a.hi[0] - first;
  from = static_cast<int>(lo < 0 ? 0 : lo > a.plane ? a.plane : lo);
  to = static_cast<int>(hi < from ? from : hi > a.plane ? a.plane : hi);
}

__device__ __forceinline__ strip strip_of(const strip_args &a, int64_t i) {
  strip s;
  s.x = i % a.strips * a.pixels, i /= a.strips;
  s.block = i % a.splits * a.blocks, i /= a.splits;
  s.c = i % a.planes, s.n = i / a.planes;
  const int64_t all = (a.rows - a.y0 + RUN - 1) / RUN;
  s.blocks = static_cast<int>(all - s.block < a.blocks ? all - s.block : a.blocks);
  s.first = a.x0 + s.x - a.before[0] - a.skew;
  s.from = a.in.at(s.n, 0, s.first, s.c);
  limit(a, s.first, s.lo, s.hi);
  return s;
}

// ---- samples into shared memory ----------------------------------------------

// A row of a tile: where sample 0 is, and which samples may be read: lo .. hi - 1.
struct tile_row {
  const char *from;
  int lo, hi;
};

__device__ __forceinline__ tile_row row_of(const strip_args &a, const strip &s, int64_t y) {
  tile_row r = {s.from + y * a.row_in, s.lo, s.hi};
  if (a.fold)
    limit(a, s.first + y * a.fold, r.lo, r.hi);
  else if (y < a.lo[1] || y >= a.hi[1])
    r.hi = r.lo;
  return r;
}

// Threads that share a row of a tile.
constexpr int ABREAST = 16;

__device__ __forceinline__ void copy_edge(uint32_t *to, const uint32_t *from, const tile_row &r, int i,
                                          int count) {
  for (int k = i; k < i + count; k++)
    if (k >= r.lo && k < r.hi)
      fc_copy_word(to + k, from + k);
    else
      to[k] = 0;
}

// Starts to copy samples that are words; writes zeros where nothing can be read.
__device__ __noinline__ void copy_row(uint32_t *to, const tile_row &r, int count, int lane) {
  const uint32_t *from = reinterpret_cast<const uint32_t *>(r.from);
  if (reinterpret_cast<uintptr_t>(from) % 16 == 0) {
    for (int i = lane * 4; i < count; i += ABREAST * 4)
      if (i >= r.lo && i + 4 <= r.hi)
        fc_copy_words(to + i, from + i);
      else
        copy_edge(to, from, r, i, 4);
  } else {
#pragma unroll 4
    for (int i = lane; i < count; i += ABREAST) copy_edge(to, from, r, i, 1);
  }
}

__device__ __forceinline__ uint32_t word_of(const strip_args &, float v) {
  return __float_as_uint(v);
}
template <typename T> __device__ __forceinline__ uint32_t word_of(const strip_args &a, T code) {
  const int32_t v = static_cast<int32_t>(code) - a.bias;
  return static_cast<uint32_t>(a.squares ? v * v : v);
}

// Loads samples, widens them and separates channels; a thread has BATCH loads under way at once.
template <typename T>
__device__ __forceinline__ void load_row_of(const strip_args &a, uint32_t *to, const tile_row &r, int lane) {
  constexpr int BATCH = 5;
  const int64_t step = a.in.stride[FC_AXIS_X];
  const unsigned length = r.hi - r.lo;
  for (int c = 0; c < a.channels; c++, to += a.plane) {
    const char *from = r.from + c * a.in.stride[FC_AXIS_C];
    for (int base = lane; base < a.plane; base += ABREAST * BATCH) {
      uint32_t v[BATCH];
#pragma unroll
      for (int k = 0; k < BATCH; k++) {
        const int x = base + ABREAST * k;
        v[k] = 0;
        if (static_cast<unsigned>(x - r.lo) < length)
          v[k] = word_of(a, *reinterpret_cast<const T *>(from + x * step));
      }
#pragma unroll
      for (int k = 0; k < BATCH; k++)
        if (base + ABREAST * k < a.plane) to[base + ABREAST * k] = v[k];
    }
  }
}

// Of floats, or of integers of any of the types whose sums are made here.
__device__ __forceinline__ void load_row(const strip_args &a, uint32_t *to, const tile_row &r, int lane,
                                         float) {
  load_row_of<float>(a, to, r, lane);
}
__device__ __forceinline__ void load_row(const strip_args &a, uint32_t *to, const tile_row &r, int lane,
                                         int32_t) {
  switch (a.in.dtype) {
  case FC_U8: load_row_of<uint8_t>(a, to, r, lane); break;
  case FC_I16: load_row_of<int16_t>(a, to, r, lane); break;
  default: load_row_of<uint16_t>(a, to, r, lane); break;
  }
}

// What one thread copies of tiles that need no conversion: its row of the strip's first tile begins at
// `from`; rows of the blocks first .. last - 1 can be read as a whole.
struct feed {
  const char *from;
  int first, last; // blocks of rows
};

__device__ __forceinline__ int clamped(int64_t v) {
  return static_cast<int>(v < 0 ? 0 : v > INT32_MAX ? INT32_MAX : v);
}

__device__ __forceinline__ feed feed_of(const strip_args &a, const strip &s) {
  const int lane = threadIdx.x % ABREAST;
  const int64_t y = a.y0 + s.block * RUN - a.before[1];
  feed f = {s.from + (y + threadIdx.x / ABREAST) * a.row_in + lane * 16, 0, 0};
  if (!a.words || a.fold || s.lo > 0 || s.hi < a.plane || blockDim.x < RUN * ABREAST ||
      reinterpret_cast<uintptr_t>(s.from) % 16 != 0 || a.row_in % 16 != 0)
    return f;
  f.first = clamped(a.lo[1] - y + RUN - 1) / RUN, f.last = clamped(a.hi[1] - y) / RUN;
  return f;
}

// Copies the tile of block `block` of rows, counted from the strip's first.
template <typename V>
__device__ __forceinline__ void load_tile(const strip_args &a, const strip &s, const feed &f, int block,
                                          uint32_t *tile) {
  const int lane = threadIdx.x % ABREAST, row = threadIdx.x / ABREAST;
  if (std::is_same<V, float>::value && block >= f.first && block < f.last) {
    uint32_t *to = tile + row * a.pitch + 4 * lane;
    const char *from = f.from + block * (RUN * a.row_in);
#pragma unroll
    for (int i = 0; i < WIDEST / (4 * ABREAST); i++)
      if (4 * (lane + i * ABREAST) < a.plane) fc_copy_words(to + i * 4 * ABREAST, from + i * 16 * ABREAST);
    return;
  }
  const int64_t y = a.y0 + (s.block + block) * RUN - a.before[1];
#pragma unroll 1
  for (int k = row; k < RUN; k += blockDim.x / ABREAST) {
    const tile_row r = row_of(a, s, y + k);
    if (std::is_same<V, float>::value && a.words)
      copy_row(tile + k * a.pitch, r, a.plane, lane);
    else
      load_row(a, tile + k * a.pitch, r, lane, V(0));
  }
}

// ---- words ------------------------------------------------------------------------

template <typename V> __device__ __forceinline__ V sample_of(uint32_t bits);
template <> __device__ __forceinline__ float sample_of(uint32_t bits) {
  return __uint_as_float(bits);
}
template <> __device__ __forceinline__ int32_t sample_of(uint32_t bits) {
  return static_cast<int32_t>(bits);
}
__device__ __forceinline__ uint32_t bits_of(float v) {
  return __float_as_uint(v);
}
__device__ __forceinline__ uint32_t bits_of(int32_t v) {
  return static_cast<uint32_t>(v);
}

// ---- sums along x --------------------------------------------------------------

// The quantity to add up of N samples from `from` on; N and the address are multiples of four.
template <typename V, typename K, int N>
__device__ __forceinline__ void read_run(typename K::word (&v)[N], const uint32_t *from) {
#pragma unroll
  for (int k = 0; k < N / 4; k++) {
    const uint4 q = reinterpret_cast<const uint4 *>(from)[k];
    v[4 * k] = K::of(sample_of<V>(q.x)), v[4 * k + 1] = K::of(sample_of<V>(q.y));
    v[4 * k + 2] = K::of(sample_of<V>(q.z)), v[4 * k + 3] = K::of(sample_of<V>(q.w));
  }
}

// Totals of all segments of a tile, for windows that contain whole segments: [row][channel][segment].
template <typename V, typename K>
__device__ void total_segments(const strip_args &a, const uint32_t *tile, typename K::word *totals) {
  const int each = a.plane / RUN, count = RUN * a.channels * each;
  for (int i = threadIdx.x; i < count; i += blockDim.x) {
    const int row = i % RUN, rest = i / RUN, c = rest / each, segment = rest - c * each;
    typename K::word v[RUN];
    read_run<V, K>(v, tile + row * a.pitch + c * a.plane + segment * RUN);
    totals[(row * a.channels + c) * each + segment] = sum16(v);
  }
  __syncthreads();
}

template <typename V, typename K, int PART>
__device__ __forceinline__ void sum_tail(typename K::word (&v)[RUN], typename K::word core,
                                         const uint32_t *lead) {
  typename K::word x[(PART + RUN + 2) / 4 * 4];
  read_run<V, K>(x, lead);
  add_ends<PART>(v, core, x);
}

// Windows longer than a segment, that at `from` being the first; `core`: sum of the segments between the
// first and the last.
template <typename V, typename K>
__device__ __forceinline__ void sum_long(typename K::word (&v)[RUN], const uint32_t *from,
                                         typename K::word core, const extent16 &w) {
  read_run<V, K>(v, from);
  suffixes(v);
  const uint32_t *lead = from + w.segments * RUN;
  const int count = w.rest + 1;
#pragma unroll
  for (int k = 0; k < RUN; k += 4)
    if (k + 4 <= count) {
      typename K::word x[4];
      read_run<V, K>(x, lead);
      core = plus(plus(plus(plus(core, x[0]), x[1]), x[2]), x[3]);
      lead += 4;
    }
  switch (count % 4) {
  case 0: sum_tail<V, K, 0>(v, core, lead); break;
  case 1: sum_tail<V, K, 1>(v, core, lead); break;
  case 2: sum_tail<V, K, 2>(v, core, lead); break;
  default: sum_tail<V, K, 3>(v, core, lead); break;
  }
}

// Windows of up to a segment.
template <typename V, typename K> struct short_run {
  template <int W>
  static __device__ __forceinline__ void run(typename K::word (&v)[RUN], const uint32_t *const &from) {
    typename K::word x[(RUN + W + 2) / 4 * 4];
    read_run<V, K>(x, from);
    slide_short<W>(v, x);
  }
};

// The windows along x: each thread computes those of 16 columns of a row. sums[] has `held` words a row, one
// channel after another.
template <typename V, typename K>
__device__ __forceinline__ void sum_rows(const strip_args &a, const uint32_t *tile, typename K::word *totals,
                                         typename K::word *sums) {
  typedef typename K::word W;
  if (a.x.segments > 1) total_segments<V, K>(a, tile, totals);
  const int row = threadIdx.x % RUN, run = threadIdx.x / RUN, c = a.channels == 1 ? 0 : run / a.runs;
  if (run >= a.channels * a.runs) return;
  const int segment = run - c * a.runs;
  const uint32_t *from = tile + row * a.pitch + c * a.plane + segment * RUN;
  W v[RUN];
  if (a.x.segments == 0) {
    with_window<short_run<V, K>>(a.x.reach + 1, v, from);
  } else {
    W between = W(0);
    if (a.x.segments > 1) {
      const W *mine = totals + (row * a.channels + c) * (a.plane / RUN) + segment;
      between = mine[1];
      for (int k = 2; k < a.x.segments; k++) between = plus(between, mine[k]);
    }
    sum_long<V, K>(v, from, between, a.x);
  }
  uint4 *to = reinterpret_cast<uint4 *>(sums + row * a.held + run * RUN);
#pragma unroll
  for (int k = 0; k < RUN / 4; k++)
    to[k] =
        make_uint4(bits_of(v[4 * k]), bits_of(v[4 * k + 1]), bits_of(v[4 * k + 2]), bits_of(v[4 * k + 3]));
}

// ---- sums along y, and out -------------------------------------------------------

// The ring slot `by` blocks after `slot`, 0 <= by <= slots.
__device__ __forceinline__ int slot_after(const strip_args &a, int slot, int by) {
  return slot + by < a.slots ? slot + by : slot + by - a.slots;
}

// Reads the sums of a thread's column in N rows, `pitch` words apart.
template <int AT = 0, int COUNT = RUN, typename W, int N>
__device__ __forceinline__ void read_column(W (&v)[N], const W *from, int pitch) {
#pragma unroll
  for (int k = 0; k < COUNT; k++) v[AT + k] = from[k * pitch];
}

// Windows higher than a segment. `from`: the sums of the segment that the first window begins in; far[0]:
// those of the segment that it ends in; far[1]: those of the next one; `core`: the segments between.
template <typename W>
__device__ __forceinline__ void sum_tall(W (&v)[RUN], const W *from, const W *const (&far)[2], W core,
                                         int rest, int pitch) {
  read_column(v, from, pitch);
  suffixes(v);
#pragma unroll
  for (int k = 0; k < RUN; k++)
    if (k <= rest) core = plus(core, far[0][k * pitch]);
  const W *here = far[0] + (rest + 1) * pitch, *beyond = far[1] + (rest + 1 - RUN) * pitch;
#pragma unroll
  for (int k = 0; k < RUN; k++) {
    v[k] = plus(v[k], core);
    if (k + 1 < RUN) core = plus(core, (rest + 1 + k < RUN ? here : beyond)[k * pitch]);
  }
}

// Windows of at most a segment, from the blocks `from` and `next`.
template <typename W> struct short_column {
  template <int ROWS>
  static __device__ __forceinline__ void run(W (&v)[RUN], const W *const &from, const W *const &next,
                                             const int32_t &pitch) {
    W x[RUN + ROWS - 1];
    read_column(x, from, pitch);
    read_column<RUN, ROWS - 1>(x, next, pitch);
    slide_short<ROWS>(v, x);
  }
};

// v: the sums of the windows that begin in the block of rows in ring slot `slot`.
template <typename W>
__device__ __forceinline__ void sum_column(W (&v)[RUN], const strip_args &a, const W *sums, const W *totals,
                                           int slot, int column) {
  const int block = RUN * a.held;
  const W *from = sums + slot * block + column;
  if (a.y.segments == 0) {
    const W *next = sums + slot_after(a, slot, 1) * block + column;
    with_window<short_column<W>>(a.y.reach + 1, v, from, next, a.held);
    return;
  }
  W core = W(0);
  const int far = slot_after(a, slot, a.y.segments);
  if (a.y.segments > 1) {
    int at = slot_after(a, slot, 1);
    core = totals[at * a.held + column];
    for (int k = 2; k < a.y.segments; k++) {
      at = slot_after(a, at, 1);
      core = plus(core, totals[at * a.held + column]);
    }
  }
  // If windows end with a block, the second does not exist and is not read.
  const W *const ends[2] = {sums + far * block + column, sums + slot_after(a, far, 1) * block + column};
  sum_tall(v, from, ends, core, a.y.rest, a.held);
}

__device__ __forceinline__ float stat_value(float sum, int which, float n) {
  return which == FC_WINSTAT_SUM || which == FC_WINSTAT_SUMSQ ? sum
         : which == FC_WINSTAT_MEAN                           ? mean_of(sum, n, 1.0f / n)
                                                              : root(sum / n);
}
__device__ __forceinline__ double stat_exact(const strip_args &a, int32_t sum, int which, double n) {
  const double scaled = (a.squares ? static_cast<double>(static_cast<uint32_t>(sum)) : sum) * a.scale;
  switch (which) {
  case FC_WINSTAT_SUM: return scaled;
  case FC_WINSTAT_MEAN: return scaled / n;
  case FC_WINSTAT_SUMSQ: return scaled * a.scale;
  default: return sqrt(scaled * a.scale / n);
  }
}

// One statistic in a column, of the rows from .. to - 1. `whole`: of all rows, and all windows have the same
// area.
struct column_out {
  char *at;
  int from, to, which;
  bool whole;
};

// Stores the results v in the rows of a block.
template <typename T>
__device__ __forceinline__ void store_whole(const strip_args &a, char *to, float (&v)[RUN], int which) {
  const float n = static_cast<float>(a.area);
  if (which == FC_WINSTAT_MEAN) {
#pragma unroll
    for (int k = 0; k < RUN; k++) v[k] = mean_of(v[k], n, a.over);
  } else if (which == FC_WINSTAT_RMS) {
#pragma unroll
    for (int k = 0; k < RUN; k++) v[k] = root(v[k] / n);
  }
#pragma unroll
  for (int k = 0; k < RUN; k++, to += a.row_out) fc_dev_store<float, T>(to, v[k], a.store, a.notes);
}

__device__ __forceinline__ void store_one(const strip_args &a, char *to, float v, int which, int32_t n) {
  fc_dev_store_any<float>(to, a.out.dtype, stat_value(v, which, static_cast<float>(n)), a.store, a.notes);
}
template <typename W>
__device__ __forceinline__ void store_one(const strip_args &a, char *to, W v, int which, int32_t n) {
  fc_dev_store_any<double>(to, a.out.dtype, stat_exact(a, v, which, n), a.store_exact, a.notes);
}

// Number of samples of from .. from + window - 1 that lie within lo .. hi - 1.
__device__ __forceinline__ int64_t count_inside(int64_t from, int64_t window, int64_t lo, int64_t hi) {
  const int64_t to = from + window;
  return (to < hi ? to : hi) - (from > lo ? from : lo);
}

// Samples in the window of column x, row y.
__device__ __forceinline__ int32_t count_at(const strip_args &a, int64_t x, int64_t y) {
  if (!a.shrink) return a.area;
  const int64_t columns = count_inside(x - a.before[0], a.x.reach + 1, a.lo[0], a.hi[0]);
  return static_cast<int32_t>(columns *
                              (a.fold ? 1 : count_inside(y - a.before[1], a.y.reach + 1, a.lo[1], a.hi[1])));
}

// The rare cases (incomplete blocks, shrunk windows), one row after another from a copy in local memory, to
// save registers in the common case. x is the column in row 0 of the folded view, y the first row.
template <typename W>
__device__ __noinline__ void store_slowly(const strip_args &a, const column_out &o, const W (&v)[RUN],
                                          int64_t x, int64_t y) {
#pragma unroll 1
  for (int k = o.from; k < o.to; k++)
    store_one(a, o.at + k * a.row_out, v[k], o.which, count_at(a, x + (y + k) * a.fold, y + k));
}
template <typename W>
__device__ __forceinline__ void store_copies(const strip_args &a, const column_out &o, const W (&v)[RUN],
                                             int64_t x, int64_t y) {
  W copy[RUN];
#pragma unroll
  for (int k = 0; k < RUN; k++) copy[k] = v[k];
  store_slowly(a, o, copy, x, y);
}

__device__ __forceinline__ void store_stat(const strip_args &a, const column_out &o, const float (&v)[RUN],
                                           int64_t x, int64_t y) {
  if (!o.whole || a.out.dtype != FC_F32) {
    store_copies(a, o, v, x, y);
    return;
  }
  float values[RUN];
#pragma unroll
  for (int k = 0; k < RUN; k++) values[k] = v[k];
  store_whole<float>(a, o.at, values, o.which);
}
// Statistics of integers are computed in double, unless float is known to give the same result.
template <typename W>
__device__ __forceinline__ void store_stat(const strip_args &a, const column_out &o, const W (&v)[RUN],
                                           int64_t x, int64_t y) {
  if (!o.whole || !a.exact || (o.which != FC_WINSTAT_SUM && o.which != FC_WINSTAT_MEAN) ||
      a.out.dtype == FC_I32 || a.out.dtype == FC_F64) {
    store_copies(a, o, v, x, y);
    return;
  }
  const float scale = static_cast<float>(a.scale);
  float scaled[RUN];
#pragma unroll
  for (int k = 0; k < RUN; k++) scaled[k] = static_cast<float>(v[k]) * scale;
  switch (a.out.dtype) {
  case FC_U8: store_whole<uint8_t>(a, o.at, scaled, o.which); break;
  case FC_I16: store_whole<int16_t>(a, o.at, scaled, o.which); break;
  case FC_U16: store_whole<uint16_t>(a, o.at, scaled, o.which); break;
  default: store_whole<float>(a, o.at, scaled, o.which); break;
  }
}

// The column that a thread computes: pixel x of the strip, channel c, and the position of its sums.
struct column {
  int x, c, at;
  bool live;
  char *to; // row 0 of the first statistic
};
__device__ __forceinline__ column column_of(const strip_args &a, const strip &s) {
  column k;
  k.x = static_cast<int>(threadIdx.x) / a.channels, k.c = static_cast<int>(threadIdx.x) - k.x * a.channels;
  k.at = k.c * a.runs * RUN + k.x + a.skew;
  const int64_t x = a.x0 + s.x + k.x;
  k.live = k.x < a.pixels && s.x + k.x < a.width && (a.fold || (x >= 0 && x < a.columns));
  k.to = a.out.at(s.n, 0, a.x0 + s.x + k.x, s.c + k.c);
  return k;
}

// Which of a column's rows y .. y + RUN - 1 are outputs, and whether all their windows are whole. Only the
// first and the last row of a folded view have columns outside the view.
__device__ __forceinline__ column_out rows_of(const strip_args &a, int64_t x, int64_t y) {
  column_out o = {nullptr, 0, RUN, 0, false};
  if (!a.shrink && !a.fold && y >= 0 && y + RUN <= a.rows && x >= 0 && x < a.columns) {
    o.whole = true;
    return o;
  }
  if (y < 0) o.from = static_cast<int>(-y);
  if (y + RUN > a.rows) o.to = static_cast<int>(a.rows - y);
  if (x + (y + o.from) * a.fold < 0) o.from++;
  if (o.to > o.from && x + (y + o.to - 1) * a.fold >= a.columns) o.to--;
  o.whole = o.from == 0 && o.to == RUN;
  if (!a.shrink || !o.whole) return o;
  const int64_t first = x + y * a.fold - a.before[0],
                last = x + (y + RUN - 1) * a.fold - a.before[0] + a.x.reach;
  o.whole = first >= a.lo[0] && last < a.hi[0] &&
            (a.fold || (y - a.before[1] >= a.lo[1] && y + RUN - 1 - a.before[1] + a.y.reach < a.hi[1]));
  return o;
}

// The statistics of one quantity in windows that begin in block `block` of rows, whose sums are in ring slot
// `slot`.
template <typename W>
__device__ __forceinline__ void write_block(const strip_args &a, const strip &s, const column &place,
                                            const W *sums, const W *totals, int block, int slot,
                                            bool squares) {
  const int64_t y = a.y0 + (s.block + block) * RUN, at = a.x0 + s.x + place.x; // x in row 0 when folded
  W v[RUN];
  sum_column(v, a, sums, totals, slot, place.at);
  column_out o = rows_of(a, at, y);
  for (int i = 0; i < a.n_stats; i++) {
    o.which = a.stat[i];
    if ((o.which == FC_WINSTAT_SUMSQ || o.which == FC_WINSTAT_RMS) != squares) continue;
    o.at = place.to + a.slot[i] * a.planes * a.channels * a.out.stride[FC_AXIS_C] + y * a.row_out;
    store_stat(a, o, v, at, y);
  }
}

// ---- the march -------------------------------------------------------------------

// One quantity (sums or sums of squares) of a tile: its shared memory, and the work for block `block` of
// rows.
template <typename V, typename K> struct quantity {
  typedef typename K::word W;
  W *sums, *totals, *segments;

  __device__ __forceinline__ void place(const strip_args &a, void *memory) {
    sums = static_cast<W *>(memory);
    totals = sums + a.slots * RUN * a.held;
    segments = totals + (a.y.segments > 1 ? a.slots * a.held : 0);
  }

  __device__ __forceinline__ void take(const strip_args &a, const uint32_t *tile, int slot) {
    sum_rows<V, K>(a, tile, segments, sums + slot * RUN * a.held);
  }

  // `slot` is the slot that was filled last; in a full ring the next one holds the oldest block, in which
  // windows begin now.
  __device__ __forceinline__ void give(const strip_args &a, const strip &s, const column &own, int block,
                                       int slot, bool squares) {
    if (!own.live) return;
    if (a.y.segments > 1) {
      W v[RUN];
      read_column(v, sums + slot * RUN * a.held + own.at, a.held);
      totals[slot * a.held + own.at] = sum16(v);
    }
    if (block >= a.y.warm)
      write_block(a, s, own, sums, totals, block - a.y.warm, slot_after(a, slot, 1), squares);
  }
};

// SQUARES: of squares, or of what is in shared memory, which are samples of type V, or squares of integers.
// With two tiles, the samples of the next step are copied while those of the current one are used.
template <typename V, bool SQUARES>
__global__ void __launch_bounds__(STRIP_THREADS, 2) strip_march(const __grid_constant__ strip_args a) {
  extern __shared__ __align__(16) unsigned char memory[];
  uint32_t *tiles = reinterpret_cast<uint32_t *>(memory);
  const int tile = RUN * a.pitch + RUN;
  quantity<V, typename std::conditional<SQUARES, squared<V>, plain<V>>::type> sums;
  sums.place(a, tiles + a.stages * tile);
  const strip s = strip_of(a, blockIdx.x);
  const column own = column_of(a, s);
  const feed f = feed_of(a, s);
  const int end = s.blocks + a.y.warm;
  const bool ahead = a.stages == 2;
  if (ahead) load_tile<V>(a, s, f, 0, tiles), fc_commit_copies();
  for (int block = 0, slot = 0; block < end; block++, slot = slot_after(a, slot, 1)) {
    uint32_t *now = tiles + (ahead ? block % 2 * tile : 0);
    if (!ahead) load_tile<V>(a, s, f, block, now);
    fc_await_copies();
    __syncthreads();
    if (ahead && block + 1 < end)
      load_tile<V>(a, s, f, block + 1, tiles + (block + 1) % 2 * tile), fc_commit_copies();
    sums.take(a, now, slot);
    __syncthreads();
    sums.give(a, s, own, block, slot, std::is_same<V, float>::value ? SQUARES : a.squares);
  }
}

} // namespace winstat

namespace winstat {

// ---- arguments -------------------------------------------------------------

constexpr int SMALL = STRIP_THREADS / 2;
constexpr unsigned PLAIN = 1u << FC_WINSTAT_SUM | 1u << FC_WINSTAT_MEAN,
                   SQUARED = 1u << FC_WINSTAT_SUMSQ | 1u << FC_WINSTAT_RMS;
constexpr int CHANNELS = 4;       // interleaved channels in a strip, at most
constexpr int THREADS_LEAST = 32; // where there is little shared memory

// The layout of shared memory for strips of so many interleaved channels, and as many columns as threads.
// Returns the bytes.
static int64_t size_strips(strip_args *a, int channels, int threads) {
  fc_strip_cut c = {};
  c.across = a->x.reach + 1, c.tall = a->y.reach + 1, c.channels = channels, c.threads = threads;
  c.skew = a->skew, c.stages = a->stages;
  fc_strips_cut(&c);
  a->channels = channels, a->runs = c.runs, a->pixels = c.pixels, a->plane = c.plane;
  a->pitch = c.pitch, a->held = c.held, a->slots = c.slots;
  return fc_strips_bytes(&c, 1);
}

// ---- launching -----------------------------------------------------------------

// Number of splits of a strip along y: enough to keep the device busy to the end, but few, since each split
// computes the rows of its first window again.
static void split_strips(strip_args *a, int64_t strips, int64_t resident) {
  const int64_t all = (a->rows - a->y0 + RUN - 1) / RUN;
  int64_t best = INT64_MAX;
  for (int64_t splits = 1; splits <= all && splits <= 256; splits++) {
    const int64_t blocks = (all + splits - 1) / splits, real = (all + blocks - 1) / blocks;
    const int64_t cost = (strips * real + resident - 1) / resident * (blocks + a->y.warm + 1);
    if (cost < best) best = cost, a->blocks = blocks, a->splits = real;
  }
}

// Rows, columns and folding. A single row is folded into rows of `strips` strips each.
static void fold_rows(strip_args *a, const fc_view *in, const fc_view *out) {
  a->columns = in->shape[FC_AXIS_X], a->rows = in->shape[FC_AXIS_Y];
  a->row_in = in->stride[FC_AXIS_Y], a->row_out = out->stride[FC_AXIS_Y];
  a->fold = 0, a->width = a->columns - a->x0;
  if (a->rows == 1 && a->y.reach == 0) {
    const int64_t tiles = a->width / (RUN * a->pixels), strips = tiles / 8 < 1    ? 1
                                                                 : tiles / 8 > 64 ? 64
                                                                                  : tiles / 8;
    a->fold = strips * a->pixels, a->rows = (a->width + a->fold - 1) / a->fold, a->width = a->fold;
    a->row_in = a->fold * in->stride[FC_AXIS_X], a->row_out = a->fold * out->stride[FC_AXIS_X];
    a->y0 = 0;
  }
  a->strips = (a->width + a->pixels - 1) / a->pixels;
}

template <typename K> static int resident_of(K kernel, int threads, int64_t bytes) {
  int each = 0;
  if (!fc_allow_shared(kernel, bytes) ||
      cudaOccupancyMaxActiveBlocksPerMultiprocessor(&each, kernel, threads, static_cast<size_t>(bytes)) !=
          cudaSuccess)
    return 0;
  return each;
}

template <typename V, bool SQUARES>
static fc_status launch(strip_args a, const fc_view *in, const fc_view *out, cudaStream_t stream) {
  const auto kernel = strip_march<V, SQUARES>;
  int channels = a.channels, threads = 0, each = 0, device = 0, processors = 1;
  a.stages = a.words ? 2 : 1;
  for (int t = SMALL; t <= STRIP_THREADS; t *= 2) { // prefers large blocks of equal occupancy
    const int64_t bytes = size_strips(&a, channels, t);
    const int more = bytes <= INT32_MAX ? resident_of(kernel, t, bytes) : 0;
    if (more * t >= each * threads && more > 0) threads = t, each = more;
  }
  if (each == 0) { // little shared memory: one channel and one warp per block
    a.planes *= channels, channels = 1, a.stages = 1, threads = THREADS_LEAST;
    each = resident_of(kernel, threads, size_strips(&a, channels, threads));
  }
  cudaGetLastError(); // clears the error of a size that was refused
  if (each == 0 || cudaGetDevice(&device) != cudaSuccess ||
      cudaDeviceGetAttribute(&processors, cudaDevAttrMultiProcessorCount, device) != cudaSuccess)
    return FC_DEVICE;
  const int64_t bytes = size_strips(&a, channels, threads);
  if (resident_of(kernel, threads, bytes) == 0) return FC_DEVICE;
  fold_rows(&a, in, out);
  const int64_t strips = a.strips * a.planes * in->shape[FC_AXIS_N];
  split_strips(&a, strips, static_cast<int64_t>(processors) * each);
  if (strips * a.splits > INT32_MAX) return FC_UNSUPPORTED;
  kernel<<<static_cast<unsigned>(strips * a.splits), threads, bytes, stream>>>(a);
  return fc_launch_status();
}

// A kernel for sums, and one for squares: one for both took as long to compile as two, and few ask for both.
template <typename V>
static fc_status launch_each(strip_args a, unsigned mask, const fc_view *in, const fc_view *out,
                             cudaStream_t stream) {
  constexpr bool FLOATS = std::is_same<V, float>::value;
  const fc_status status = mask & PLAIN ? launch<V, false>(a, in, out, stream) : FC_OK;
  a.squares = !FLOATS;
  return status == FC_OK && (mask & SQUARED) ? launch<V, FLOATS>(a, in, out, stream) : status;
}

static strip_args args_of(const fc_winstat *w, const fc_view *in, const fc_view *out, unsigned mask,
                          uint32_t *notes) {
  static const int axes[2] = {FC_AXIS_X, FC_AXIS_Y};
  strip_args a = {};
  const int64_t channels = in->shape[FC_AXIS_C], size = static_cast<int64_t>(fc_dtype_size(in->dtype));
  a.in = fc_dev_view_of(in), a.out = fc_dev_view_of(out), a.notes = notes;
  const bool together =
      channels <= CHANNELS && in->stride[FC_AXIS_C] == size && in->stride[FC_AXIS_X] == channels * size;
  a.channels = together ? static_cast<int32_t>(channels) : 1, a.planes = together ? 1 : channels;
  int64_t origin[2];
  for (int i = 0; i < 2; i++) {
    const fc_winstat_span s = fc_winstat_read(w, in, nullptr, i, axes[i]);
    a.before[i] = w->before[i], origin[i] = in->origin[axes[i]];
    a.lo[i] = s.lo, a.hi[i] = s.hi;
  }
  a.x = extent16_of(w->before[0] + w->after[0] + 1), a.y = extent16_of(w->before[1] + w->after[1] + 1);
  a.x0 = -floor_mod(origin[0], RUN), a.y0 = -floor_mod(origin[1], RUN);
  const int64_t area = fc_winstat_across(w) * fc_winstat_tall(w);
  a.skew = in->dtype == FC_F32 ? static_cast<int32_t>(floor_mod(-w->before[0], RUN)) : 0;
  a.area = static_cast<int32_t>(area), a.over = 1.0f / static_cast<float>(area), a.shrink = w->shrink;
  a.exact = in->dtype != FC_F32 && area * fc_winstat_magnitude(in->dtype) < 1 << 23;
  const fc_scaling scaling = fc_scaling_of(in->kind, in->dtype);
  a.bias = static_cast<int32_t>(scaling.bias), a.scale = scaling.scale;
  a.store = fc_dev_map_of<float>(out->kind, out->dtype),
  a.store_exact = fc_dev_map_of<double>(out->kind, out->dtype);
  for (int i = 0; i < w->n_stats; i++)
    if (mask & 1u << w->stat[i]) a.stat[a.n_stats] = w->stat[i], a.slot[a.n_stats++] = i;
  return a;
}

fc_status run_strips(const call &c, unsigned mask) {
  const fc_view *in = c.in, *out = c.out;
  strip_args a = args_of(c.w, in, out, mask, c.notes);
  if (in->dtype != FC_F32) return launch_each<int32_t>(a, mask, in, out, c.stream);
  a.words = in->stride[FC_AXIS_X] == sizeof(float) && a.channels == 1 && in->stride[FC_AXIS_Y] % 4 == 0 &&
            in->stride[FC_AXIS_N] % 4 == 0 && in->stride[FC_AXIS_C] % 4 == 0 &&
            reinterpret_cast<uintptr_t>(in->data) % 4 == 0;
  return launch_each<float>(a, mask, in, out, c.stream);
}

} // namespace winstat
