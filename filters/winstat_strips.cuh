// SPDX-License-Identifier: MIT
//
// winstat_strips.cuh - sums of 32 bits in windows, in one kernel for both axes.
//
// A block of threads owns a strip of columns and marches down it, 16 rows at a time: samples come into shared
// memory (the next rows while these are worked on, where they are copied as they lie), a thread
// a run of 16 columns of a row makes the sums along x, which stay in shared memory for as
// many blocks of rows as a window is high, and a thread a column makes those along y and writes
// them. Of pixels the channels that lie side by side share a strip. A long row - sound has but one - is
// folded into rows that are read beyond their ends.
#ifndef FC_FILTERS_WINSTAT_STRIPS_CUH
#define FC_FILTERS_WINSTAT_STRIPS_CUH

#include "filters/winstat_samples.cuh"
#include "filters/winstat_slide16.cuh"

namespace winstat {

constexpr int STRIP_THREADS = 256; // at most; as many columns

// One launch: strips[] = across, down, planes and frames. Rows and columns are those of the fold: row y
// begins `fold` columns after row y - 1.
struct strip_args {
  fc_dev_view in, out;
  int64_t row_in, row_out; // bytes from row to row
  int64_t columns, rows;   // of the view; of the fold
  int64_t width;           // columns of a row of the fold, from x0 on
  int64_t fold;
  int64_t x0, y0;       // the first strip's, at most 0 and at multiples of RUN in the signal
  int64_t lo[2], hi[2]; // what may be read
  int64_t before[2];
  extent16 x, y;
  int64_t strips, splits, planes, blocks; // blocks of rows a split
  int32_t channels, pixels;               // of a strip side by side
  int32_t pitch, plane, held, slots;      // words: of a row of samples, of a channel of it, of a row of sums
  int32_t stages;                         // tiles of samples: 2 where they come while others are used
  int32_t shrink, exact;                  // exact: integers small enough for statistics in float
  int32_t n_stats, slot[4], stat[4];
  int32_t area, bias;
  double scale;
  fc_dev_map<float> store;
  fc_dev_map<double> store_exact;
  uint32_t *notes;
};

// Where a block of threads is.
struct strip {
  int64_t n, c, x; // frame, first channel, first column from x0
  int64_t block;   // first block of output rows
  int blocks;      // and how many
};

__device__ __forceinline__ strip strip_of(const strip_args &a, int64_t i) {
  strip s;
  s.x = i % a.strips * a.pixels, i /= a.strips;
  s.block = i % a.splits * a.blocks, i /= a.splits;
  s.c = i % a.planes, s.n = i / a.planes;
  const int64_t all = (a.rows - a.y0 + RUN - 1) / RUN;
  s.blocks = static_cast<int>(all - s.block < a.blocks ? all - s.block : a.blocks);
  return s;
}

// ---- samples into shared memory ----------------------------------------------

__device__ __forceinline__ void copy_word(void *shared, const void *global) {
#if __CUDA_ARCH__ < 800
  *static_cast<uint32_t *>(shared) = *static_cast<const uint32_t *>(global);
#else
  asm volatile("cp.async.ca.shared.global [%0], [%1], 4;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(shared))),
               "l"(global)
               : "memory");
#endif
}
__device__ __forceinline__ void copy_words(void *shared, const void *global) {
#if __CUDA_ARCH__ < 800
  *static_cast<uint4 *>(shared) = *static_cast<const uint4 *>(global);
#else
  asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(
                   static_cast<unsigned>(__cvta_generic_to_shared(shared))),
               "l"(global)
               : "memory");
#endif
}
__device__ __forceinline__ void commit_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.commit_group;" ::: "memory");
#endif
}
__device__ __forceinline__ void await_copies() {
#if __CUDA_ARCH__ >= 800
  asm volatile("cp.async.wait_group 0;" ::: "memory");
#endif
}

// A row of a tile: where sample 0 is, and samples lo .. hi - 1 of `count` that may be read.
struct tile_row {
  const char *from;
  int count, lo, hi;
};

__device__ __forceinline__ tile_row row_of(const strip_args &a, const strip &s, int64_t y) {
  tile_row r;
  const int64_t x = a.x0 + s.x - a.before[0], first = x + y * a.fold;
  r.from = a.in.at(s.n, 0, x, s.c) + y * a.row_in;
  const int64_t left = a.width - s.x;
  r.count = static_cast<int>(left < a.pixels ? left : a.pixels) + a.x.reach;
  int64_t lo = a.lo[0] - first, hi = a.hi[0] - first;
  if (!a.fold && (y < a.lo[1] || y >= a.hi[1])) hi = lo;
  r.lo = static_cast<int>(lo < 0 ? 0 : lo > r.count ? r.count : lo);
  r.hi = static_cast<int>(hi < r.lo ? r.lo : hi > r.count ? r.count : hi);
  return r;
}

// Begins to copy samples that are words; zeros where there is nothing to read.
__device__ __forceinline__ void copy_row(uint32_t *to, const tile_row &r, int lane) {
  const bool aligned = reinterpret_cast<uintptr_t>(r.from) % 16 == 0;
  const int step = aligned ? 4 : 1;
  for (int i = lane * step; i < r.count; i += 32 * step) {
    const char *from = r.from + i * static_cast<int64_t>(sizeof(float));
    if (aligned && i >= r.lo && i + 4 <= r.hi) {
      copy_words(to + i, from);
      continue;
    }
    for (int k = 0; k < step; k++)
      if (i + k >= r.lo && i + k < r.hi)
        copy_word(to + i + k, from + k * sizeof(float));
      else
        to[i + k] = 0;
  }
}

__device__ __forceinline__ uint32_t word_of(float v, int32_t) {
  return __float_as_uint(v);
}
template <typename T> __device__ __forceinline__ uint32_t word_of(T code, int32_t bias) {
  return static_cast<uint32_t>(static_cast<int32_t>(code) - bias);
}

// Loads, widens and takes channels apart, BATCH samples of a thread together.
template <typename T>
__device__ __forceinline__ void load_row(const strip_args &a, uint32_t *to, const tile_row &r, int lane) {
  constexpr int BATCH = 10;
  const int channels = a.channels, count = r.count * channels;
  const unsigned magic = (65536 + channels - 1) / channels; // exact for what a tile holds
  const int64_t step_x = a.in.stride[FC_AXIS_X], step_c = a.in.stride[FC_AXIS_C];
  for (int base = lane; base < count; base += 32 * BATCH) {
    T v[BATCH];
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
      const int e = base + 32 * k, x = channels == 1 ? e : static_cast<int>(e * magic >> 16);
      v[k] = T(0);
      if (x >= r.lo && x < r.hi)
        v[k] = *reinterpret_cast<const T *>(r.from + x * step_x + (e - x * channels) * step_c);
    }
#pragma unroll
    for (int k = 0; k < BATCH; k++) {
      const int e = base + 32 * k, x = channels == 1 ? e : static_cast<int>(e * magic >> 16);
      if (e < count) to[(e - x * channels) * a.plane + x] = x >= r.lo && x < r.hi ? word_of(v[k], a.bias) : 0;
    }
  }
}

// The tile of block `block` of rows, counted from the strip's first.
template <typename T, bool ASYNC>
__device__ __forceinline__ void load_tile(const strip_args &a, const strip &s, int block, uint32_t *tile) {
  const int lane = threadIdx.x % 32, warps = blockDim.x / 32;
  const int64_t y = a.y0 + (s.block + block) * RUN - a.before[1];
  for (int k = threadIdx.x / 32; k < RUN; k += warps) {
    tile_row r = row_of(a, s, y + k);
    if (ASYNC)
      copy_row(tile + k * a.pitch, r, lane);
    else
      load_row<T>(a, tile + k * a.pitch, r, lane);
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
__device__ __forceinline__ uint32_t bits_of(uint32_t v) {
  return v;
}

// ---- sums along x --------------------------------------------------------------

// Sixteen samples from `from` on, what is added up of them, into v[AT] .. .
template <typename V, typename K, int AT = 0, int N>
__device__ __forceinline__ void read_run(typename K::word (&v)[N], const uint32_t *from) {
#pragma unroll
  for (int k = 0; k < RUN / 4; k++) {
    const uint4 q = reinterpret_cast<const uint4 *>(from)[k];
    v[AT + 4 * k] = K::of(sample_of<V>(q.x)), v[AT + 4 * k + 1] = K::of(sample_of<V>(q.y));
    v[AT + 4 * k + 2] = K::of(sample_of<V>(q.z)), v[AT + 4 * k + 3] = K::of(sample_of<V>(q.w));
  }
}

// Totals of all segments of a tile, for windows that hold some whole: [row][channel][segment].
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

// A thread the windows of 16 columns of a row. sums[] has `held` words a row, a channel after another.
template <typename V, typename K>
__device__ __forceinline__ void sum_rows(const strip_args &a, const uint32_t *tile, typename K::word *totals,
                                         typename K::word *sums) {
  typedef typename K::word W;
  if (a.x.segments > 1) total_segments<V, K>(a, tile, totals);
  const int row = threadIdx.x % RUN, run = threadIdx.x / RUN, each = a.pixels / RUN, c = run / each;
  if (run >= a.channels * each) return;
  const int segment = run - c * each;
  const uint32_t *from = tile + row * a.pitch + c * a.plane + segment * RUN;
  W v[RUN], lead[2 * RUN], between = W(0);
  read_run<V, K>(v, from);
  const int far = a.x.segments == 0 ? RUN : a.x.segments * RUN;
  read_run<V, K>(lead, from + far), read_run<V, K, RUN>(lead, from + far + RUN);
  if (a.x.segments > 1) {
    const W *mine = totals + (row * a.channels + c) * (a.plane / RUN) + segment;
    between = mine[1];
    for (int k = 2; k < a.x.segments; k++) between = plus(between, mine[k]);
  }
  slide(v, lead, between, a.x);
  uint4 *to = reinterpret_cast<uint4 *>(sums + row * a.held + run * RUN);
#pragma unroll
  for (int k = 0; k < RUN / 4; k++)
    to[k] =
        make_uint4(bits_of(v[4 * k]), bits_of(v[4 * k + 1]), bits_of(v[4 * k + 2]), bits_of(v[4 * k + 3]));
}

// ---- sums along y, and out -------------------------------------------------------

// Sums of a thread's column in the blocks of rows that its shared memory has; block b is in slot b % slots.
template <int AT = 0, typename W, int N>
__device__ __forceinline__ void read_column(W (&v)[N], const strip_args &a, const W *sums, int block,
                                            int column) {
  const W *from = sums + (block % a.slots * RUN) * a.held + column;
#pragma unroll
  for (int k = 0; k < RUN; k++) v[AT + k] = from[k * a.held];
}

// v: of the windows that begin in block `block` of rows.
template <typename W>
__device__ __forceinline__ void sum_column(W (&v)[RUN], const strip_args &a, const W *sums, const W *totals,
                                           int block, int column) {
  read_column(v, a, sums, block, column);
  if (a.y.reach == 0) return;
  W lead[2 * RUN], between = W(0);
  const int far = block + (a.y.segments == 0 ? 1 : a.y.segments);
  read_column(lead, a, sums, far, column);
  // Not there when windows end with the block, and then of no use: any slot will do.
  read_column<RUN>(lead, a, sums, far + 1, column);
  if (a.y.segments > 1) {
    between = totals[(block + 1) % a.slots * a.held + column];
    for (int k = 2; k < a.y.segments; k++)
      between = plus(between, totals[(block + k) % a.slots * a.held + column]);
  }
  slide(v, lead, between, a.y);
}

__device__ __forceinline__ float stat_value(float sum, int which, float n) {
  return which == FC_WINSTAT_SUM || which == FC_WINSTAT_SUMSQ ? sum
         : which == FC_WINSTAT_MEAN                           ? sum / n
                                                              : root(sum / n);
}
template <typename W>
__device__ __forceinline__ double stat_exact(const strip_args &a, W sum, int which, double n) {
  const double scaled = static_cast<double>(sum) * a.scale;
  switch (which) {
  case FC_WINSTAT_SUM: return scaled;
  case FC_WINSTAT_MEAN: return scaled / n;
  case FC_WINSTAT_SUMSQ: return scaled * a.scale;
  default: return sqrt(scaled * a.scale / n);
  }
}

// One statistic of a column: those of the rows from .. to - 1.
struct column_out {
  char *at;
  int from, to, which;
};

template <typename T>
__device__ __forceinline__ void store_column(const strip_args &a, const column_out &o, const float (&v)[RUN],
                                             const int32_t (&n)[RUN]) {
#pragma unroll
  for (int k = 0; k < RUN; k++)
    if (k >= o.from && k < o.to)
      fc_dev_store<float, T>(o.at + k * a.row_out, stat_value(v[k], o.which, static_cast<float>(n[k])),
                             a.store, a.notes);
}

__device__ __forceinline__ void store_one(const strip_args &a, char *to, float v, int which, int32_t n) {
  fc_dev_store_any<float>(to, a.out.dtype, stat_value(v, which, static_cast<float>(n)), a.store, a.notes);
}
template <typename W>
__device__ __forceinline__ void store_one(const strip_args &a, char *to, W v, int which, int32_t n) {
  fc_dev_store_any<double>(to, a.out.dtype, stat_exact(a, v, which, n), a.store_exact, a.notes);
}

// Whatever is not worth a loop in registers: one after another, out of a copy in local memory.
template <typename W>
__device__ __noinline__ void store_slowly(const strip_args &a, const column_out &o, const W (&v)[RUN],
                                          const int32_t (&n)[RUN]) {
#pragma unroll 1
  for (int k = o.from; k < o.to; k++) store_one(a, o.at + k * a.row_out, v[k], o.which, n[k]);
}
template <typename W>
__device__ __forceinline__ void store_copies(const strip_args &a, const column_out &o, const W (&v)[RUN],
                                             const int32_t (&n)[RUN]) {
  W copy[RUN];
  int32_t counts[RUN];
#pragma unroll
  for (int k = 0; k < RUN; k++) copy[k] = v[k], counts[k] = n[k];
  store_slowly(a, o, copy, counts);
}

__device__ __forceinline__ void store_stat(const strip_args &a, const column_out &o, const float (&v)[RUN],
                                           const int32_t (&n)[RUN]) {
  if (a.out.dtype == FC_F32)
    store_column<float>(a, o, v, n);
  else
    store_copies(a, o, v, n);
}
// Of integers in double, unless float is known to give the same.
template <typename W>
__device__ __forceinline__ void store_stat(const strip_args &a, const column_out &o, const W (&v)[RUN],
                                           const int32_t (&n)[RUN]) {
  if (!a.exact || (o.which != FC_WINSTAT_SUM && o.which != FC_WINSTAT_MEAN)) {
    store_copies(a, o, v, n);
    return;
  }
  const float scale = static_cast<float>(a.scale);
  float scaled[RUN];
#pragma unroll
  for (int k = 0; k < RUN; k++) scaled[k] = static_cast<float>(v[k]) * scale;
  switch (a.out.dtype) {
  case FC_U8: store_column<uint8_t>(a, o, scaled, n); break;
  case FC_I16: store_column<int16_t>(a, o, scaled, n); break;
  case FC_U16: store_column<uint16_t>(a, o, scaled, n); break;
  case FC_F32: store_column<float>(a, o, scaled, n); break;
  default: store_copies(a, o, v, n); break;
  }
}

// Samples of what lies from `from` on, `window` long, within lo .. hi - 1.
__device__ __forceinline__ int64_t count_inside(int64_t from, int64_t window, int64_t lo, int64_t hi) {
  const int64_t to = from + window;
  return (to < hi ? to : hi) - (from > lo ? from : lo);
}

// The column that a thread makes: pixel x of the strip, channel c, and where its sums are.
struct column {
  int x, c, at;
  bool live;
};
__device__ __forceinline__ column column_of(const strip_args &a, const strip &s) {
  column k;
  k.x = static_cast<int>(threadIdx.x) / a.channels, k.c = static_cast<int>(threadIdx.x) - k.x * a.channels;
  k.at = k.c * a.pixels + k.x;
  k.live = k.x < a.pixels && s.x + k.x < a.width;
  return k;
}

// The statistics of one quantity in the windows that begin in block `block` of rows.
template <typename W>
__device__ __forceinline__ void write_block(const strip_args &a, const strip &s, const column &place,
                                            const W *sums, const W *totals, int block, bool squares) {
  const int64_t y = a.y0 + (s.block + block) * RUN, at = a.x0 + s.x + place.x; // of the fold's row 0
  W v[RUN];
  sum_column(v, a, sums, totals, block, place.at);
  int32_t n[RUN];
  column_out o = {nullptr, RUN, 0, 0};
#pragma unroll
  for (int k = 0; k < RUN; k++) {
    const int64_t x = at + (y + k) * a.fold;
    if (y + k >= 0 && y + k < a.rows && x >= 0 && x < a.columns) {
      o.from = o.from < k ? o.from : k, o.to = k + 1;
    }
    n[k] = a.area;
    if (a.shrink)
      n[k] = static_cast<int32_t>(
          count_inside(x - a.before[0], a.x.reach + 1, a.lo[0], a.hi[0]) *
          (a.fold ? 1 : count_inside(y + k - a.before[1], a.y.reach + 1, a.lo[1], a.hi[1])));
  }
  for (int i = 0; i < a.n_stats; i++) {
    o.which = a.stat[i];
    if ((o.which == FC_WINSTAT_SUMSQ || o.which == FC_WINSTAT_RMS) != squares) continue;
    o.at = a.out.at(s.n, 0, at, a.slot[i] * a.planes * a.channels + s.c + place.c) + y * a.row_out;
    store_stat(a, o, v, n);
  }
}

// ---- the march -------------------------------------------------------------------

// One quantity of a tile: its shared memory, and its work for block `block` of rows of the strip.
template <typename V, typename K> struct quantity {
  typedef typename K::word W;
  W *sums, *totals, *segments;

  __device__ __forceinline__ unsigned char *place(const strip_args &a, unsigned char *memory) {
    sums = reinterpret_cast<W *>(memory);
    totals = sums + a.slots * RUN * a.held;
    segments = totals + (a.y.segments > 1 ? a.slots * a.held : 0);
    return reinterpret_cast<unsigned char *>(segments +
                                             (a.x.segments > 1 ? RUN * a.channels * (a.plane / RUN) : 0));
  }

  __device__ __forceinline__ void take(const strip_args &a, const uint32_t *tile, int block) {
    sum_rows<V, K>(a, tile, segments, sums + block % a.slots * RUN * a.held);
  }

  __device__ __forceinline__ void give(const strip_args &a, const strip &s, const column &own, int block,
                                       bool squares) {
    if (!own.live) return;
    if (a.y.segments > 1) {
      W v[RUN];
      read_column(v, a, sums, block, own.at);
      totals[block % a.slots * a.held + own.at] = sum16(v);
    }
    if (block >= a.y.warm) write_block(a, s, own, sums, totals, block - a.y.warm, squares);
  }
};

// SUMS and SQUARES: which of both are wanted. V: samples in shared memory.
template <typename V, typename T, bool SUMS, bool SQUARES, bool ASYNC>
__global__ void __launch_bounds__(STRIP_THREADS, 2) march(const __grid_constant__ strip_args a) {
  extern __shared__ __align__(16) unsigned char memory[];
  uint32_t *tiles = reinterpret_cast<uint32_t *>(memory);
  const int tile = RUN * a.pitch + RUN;
  unsigned char *rest = memory + a.stages * tile * sizeof(uint32_t);
  quantity<V, plain<V>> sums;
  quantity<V, squared<V>> squares;
  if (SUMS) rest = sums.place(a, rest);
  if (SQUARES) squares.place(a, rest);
  const strip s = strip_of(a, blockIdx.x);
  const column own = column_of(a, s);
  const int end = s.blocks + a.y.warm;
  if (ASYNC) load_tile<T, ASYNC>(a, s, 0, tiles), commit_copies();
  for (int block = 0; block < end; block++) {
    uint32_t *now = tiles + (ASYNC ? block % 2 * tile : 0);
    if (ASYNC)
      await_copies();
    else
      load_tile<T, ASYNC>(a, s, block, now);
    __syncthreads();
    if (ASYNC && block + 1 < end)
      load_tile<T, ASYNC>(a, s, block + 1, tiles + (block + 1) % 2 * tile), commit_copies();
    if (SUMS) sums.take(a, now, block);
    if (SQUARES) squares.take(a, now, block);
    __syncthreads();
    if (SUMS) sums.give(a, s, own, block, false);
    if (SQUARES) squares.give(a, s, own, block, true);
  }
}

} // namespace winstat

#endif
