// SPDX-License-Identifier: MIT
//
// extremes.cuh - minima of windows, and maxima, which are minima with inverted order: rows of words that hold
// up to four samples, for any number of interleaved channels.
//
// A block of threads marches down a strip. A thread copies a column of words, which no other thread reads,
// and computes the extremes along y of 16 rows, a word at a time. Words of four bytes are then transposed, so
// that they hold four rows of one column, and stored to shared memory channel by channel; a warp computes the
// extremes along x of its own rows, 16 pixels per lane, in place, and stores them as rows again. So several
// channels only change a distance in shared memory.
//
// Windows are made as those of slide16.cuh: of the rest of a block and of the beginning of the next (van Herk
// 1992, Gil and Werman 1993), about three comparisons a sample and axis.
#ifndef FC_FILTERS_WINSTAT_EXTREMES_CUH
#define FC_FILTERS_WINSTAT_EXTREMES_CUH

#include <type_traits>

#include "filters/gpu/copy_async.cuh"
#include "filters/winstat/box/cuts.h"
#include "filters/winstat/samples.cuh"
#include "filters/winstat/slide16.cuh"

namespace winstat {

// Loops over small arguments can be unrolled, and arrays stay in registers: calls
// f(std::integral_constant<int, n>) for n of 1 to 16.
template <class F> __device__ __forceinline__ void with_number(int n, F f) {
  switch (n) {
  case 1: f(std::integral_constant<int, 1>{}); break;
  case 2: f(std::integral_constant<int, 2>{}); break;
  case 3: f(std::integral_constant<int, 3>{}); break;
  case 4: f(std::integral_constant<int, 4>{}); break;
  case 5: f(std::integral_constant<int, 5>{}); break;
  case 6: f(std::integral_constant<int, 6>{}); break;
  case 7: f(std::integral_constant<int, 7>{}); break;
  case 8: f(std::integral_constant<int, 8>{}); break;
  case 9: f(std::integral_constant<int, 9>{}); break;
  case 10: f(std::integral_constant<int, 10>{}); break;
  case 11: f(std::integral_constant<int, 11>{}); break;
  case 12: f(std::integral_constant<int, 12>{}); break;
  case 13: f(std::integral_constant<int, 13>{}); break;
  case 14: f(std::integral_constant<int, 14>{}); break;
  case 15: f(std::integral_constant<int, 15>{}); break;
  default: f(std::integral_constant<int, 16>{}); break;
  }
}

constexpr int PEAK_ROWS = 16; // of a step of the march, and pixels per lane

// The type compared: words of N registers, K samples per word.
template <typename T> struct peak;

template <> struct peak<float> {
  static constexpr int K = 1, LANES = 16, HELD = 18, WORDS = 280, BLOCKS = 3, N = 1,
                       ROOMS = 1; // LANES: of a warp, per row
  uint32_t v[N];
  static __device__ __forceinline__ peak of(uint32_t w) { return {{w}}; }
  static __device__ __forceinline__ peak none() { return {{0x7f800000u}}; }
  __device__ __forceinline__ uint32_t word() const { return v[0]; }
  // All NaN are equal.
  static __device__ __forceinline__ uint32_t result(uint32_t w, uint32_t flip) {
    return (w & 0x7fffffffu) > 0x7f800000u ? 0x7fffffffu : w ^ flip;
  }
  static __device__ __forceinline__ peak least(const peak &a, const peak &b) {
    return {{__float_as_uint(lesser(__uint_as_float(a.v[0]), __uint_as_float(b.v[0])))}};
  }
};

template <> struct peak<uint16_t> {
  static constexpr int K = 2, LANES = 32, HELD = 34, WORDS = 280, BLOCKS = 3, N = 1, ROOMS = 1;
  uint32_t v[N];
  static __device__ __forceinline__ peak of(uint32_t w) { return {{w}}; }
  static __device__ __forceinline__ peak none() { return {{0xffffffffu}}; }
  __device__ __forceinline__ uint32_t word() const { return v[0]; }
  static __device__ __forceinline__ uint32_t result(uint32_t w, uint32_t flip) { return w ^ flip; }
  static __device__ __forceinline__ peak least(const peak &a, const peak &b) {
    return {{__vminu2(a.v[0], b.v[0])}};
  }
};

// Bytes are compared as the upper halves of pairs of 16 bits: the lower halves never change their order.
template <> struct peak<uint8_t> {
  static constexpr int K = 4, LANES = 32, HELD = 38, WORDS = 160, BLOCKS = 5, N = 2, ROOMS = 1;
  uint32_t v[N];
  static __device__ __forceinline__ peak of(uint32_t w) { return {{w, w << 8}}; }
  static __device__ __forceinline__ peak none() { return {{0xffffffffu, 0xffffffffu}}; }
  __device__ __forceinline__ uint32_t word() const { return __byte_perm(v[0], v[1], 0x3715); }
  static __device__ __forceinline__ uint32_t result(uint32_t w, uint32_t flip) { return w ^ flip; }
  static __device__ __forceinline__ peak least(const peak &a, const peak &b) {
    return {{__vminu2(a.v[0], b.v[0]), __vminu2(a.v[1], b.v[1])}};
  }
};

// Transposes K words of K samples, to words of one column each and back.
template <int K> __device__ __forceinline__ void turn_words(uint32_t *w) {
  if (K == 2) {
    const uint32_t a = w[0], b = w[1];
    w[0] = __byte_perm(a, b, 0x5410), w[1] = __byte_perm(a, b, 0x7632);
  }
  if (K == 4) {
    const uint32_t a = __byte_perm(w[0], w[1], 0x5140), b = __byte_perm(w[2], w[3], 0x5140);
    const uint32_t c = __byte_perm(w[0], w[1], 0x7362), d = __byte_perm(w[2], w[3], 0x7362);
    w[0] = __byte_perm(a, b, 0x5410), w[1] = __byte_perm(a, b, 0x7632);
    w[2] = __byte_perm(c, d, 0x5410), w[3] = __byte_perm(c, d, 0x7632);
  }
}

struct peak_args {
  const char *in;                                                    // row 0, pixel 0
  char *out;                                                         // the same
  int64_t row_in, row_out, plane_in, plane_out, frame_in, frame_out; // bytes
  int32_t columns, rows;                                             // of outputs, in pixels
  int32_t before[2], window[2];
  extent16 x, y;        // windows
  int32_t lo[2], hi[2]; // readable pixels and rows
  ends edges;           // the value beyond, if there is nothing to read
  uint32_t flip;        // words are compared after an exclusive or with this
  uint32_t beyond;      // the neutral value for missing samples
  int32_t step;         // channels side by side
  int32_t skew;         // elements from the start of a strip's first word to the start of its windows
  int32_t runs, held;   // of 16 pixels, per channel of a strip, and including all that its windows cover
  int32_t ragged;       // rows of samples have different alignments to a word
  int32_t words;        // results can be stored as words
  int32_t strips, splits, blocks, planes, warm, slots;
};

// Everything except strips and splits, for statistic number `which` and `step` interleaved channels.
peak_args peak_args_of(const fc_winstat *w, const fc_view *in, const fc_edges *edges, const fc_view *out,
                       int which, int step);

// Sets runs and strips, which must fit, for `frames` images. Returns the strips of all.
int64_t strips_of(peak_args *a, fc_peak_row row, int64_t frames);

// ---- shared memory: extremes along y ------------------------------------------------

// For each channel this many runs: a distance for 16 pixels such that neither lanes with 16 pixels each nor
// those with one use the same bank; 2 modulo 4 does that. TABLE: the positions of a row's elements.
template <typename T> struct peak_room {
  static constexpr int RUNS = peak<T>::HELD, GROUPS = PEAK_ROWS / peak<T>::K;
  static constexpr int GROUP = PEAK_ROWS * RUNS + peak<T>::LANES, TABLE = GROUPS * GROUP;
  static constexpr int SIZE = peak<T>::ROOMS * TABLE + PEAK_ROWS * peak<T>::LANES / 2;
  static __device__ __forceinline__ int at(int pixel, int channel, int runs) {
    return channel * runs + pixel % PEAK_ROWS * RUNS + pixel / PEAK_ROWS;
  }
};

// ---- samples into shared memory -----------------------------------------------------

// The word of a row that begins with element e, if elements must be loaded one by one.
template <typename T>
__device__ __noinline__ uint32_t peak_gather(const peak_args &a, const char *row, int e) {
  union {
    uint32_t word;
    T at[peak<T>::K];
  } u;
#pragma unroll 1
  for (int k = 0; k < peak<T>::K; k++) {
    const int pixel = static_cast<int>(floor_div(e + k, a.step)), channel = e + k - pixel * a.step;
    int source = pixel >= a.lo[0] && pixel < a.hi[0] ? pixel : INT32_MIN;
    uint32_t fill = a.beyond;
    if (source == INT32_MIN && a.edges.on) {
      source = border_source(a.edges.border, pixel, a.columns), fill = static_cast<uint32_t>(a.edges.code);
      if (source < 0) source = INT32_MIN;
    }
    u.at[k] = source == INT32_MIN
                  ? static_cast<T>(0)
                  : reinterpret_cast<const T *>(row)[static_cast<int64_t>(source) * a.step + channel];
    if (source == INT32_MIN) u.at[k] = *reinterpret_cast<const T *>(&fill);
  }
  return u.word;
}

// An element's constant in all of a word.
template <typename T> __device__ __forceinline__ uint32_t peak_constant(const peak_args &a) {
  if (!a.edges.on) return a.beyond;
  const uint32_t code = static_cast<uint32_t>(a.edges.code);
  return sizeof(T) == 1 ? code * 0x01010101u : sizeof(T) == 2 ? code * 0x00010001u : code;
}

enum peak_way { PEAK_PLAIN, PEAK_SHIFTED, PEAK_GATHERED, PEAK_UNSEEN };

// A thread's words of 16 rows from y on; e is their first element.
template <typename T, int ROWS = PEAK_ROWS>
__device__ __forceinline__ void peak_copy(const peak_args &a, const char *plane, int y, int e, peak_way way,
                                          uint32_t *to) {
  constexpr int PITCH = peak<T>::WORDS;
  if (way == PEAK_UNSEEN) return;
  const char *from = plane + static_cast<int64_t>(e) * static_cast<int64_t>(sizeof(T));
  if (way == PEAK_PLAIN && y >= a.lo[1] && y + ROWS <= a.hi[1]) {
    const char *at = from + y * a.row_in;
#pragma unroll
    for (int k = 0; k < ROWS; k++, at += a.row_in) fc_copy_word(to + k * PITCH, at);
    return;
  }
#pragma unroll 1
  for (int k = 0; k < ROWS; k++, to += PITCH) {
    int source = y + k >= a.lo[1] && y + k < a.hi[1] ? y + k : INT32_MIN;
    if (source == INT32_MIN && a.edges.on) {
      source = border_source(a.edges.border, y + k, a.rows);
      if (source < 0) source = INT32_MIN;
    }
    if (source == INT32_MIN) {
      *to = peak_constant<T>(a);
    } else if (way == PEAK_GATHERED) {
      *to = peak_gather<T>(a, plane + source * a.row_in, e);
    } else {
      const uintptr_t at = reinterpret_cast<uintptr_t>(from + source * a.row_in);
      const uint32_t *word = reinterpret_cast<const uint32_t *>(at & ~uintptr_t{3});
      const unsigned shift = static_cast<unsigned>(at & 3) * 8;
      *to = shift ? __funnelshift_r(word[0], word[1], shift) : word[0];
    }
  }
}

// Elements first .. first + K - 1 of a row: how they are loaded.
template <typename T> __device__ __forceinline__ peak_way peak_way_of(const peak_args &a, int e, int end) {
  if (e >= end) return PEAK_UNSEEN;
  const int spare = a.ragged ? peak<T>::K : 0; // of the words that it lies in
  if (e - spare < a.lo[0] * a.step || e + peak<T>::K + spare > a.hi[0] * a.step) return PEAK_GATHERED;
  return a.ragged ? PEAK_SHIFTED : PEAK_PLAIN;
}

// ---- extremes along one axis --------------------------------------------------------

// Sixteen windows of W samples, from at(0) on: put(k, extreme).
template <typename T, int W, class At, class Put> __device__ __forceinline__ void peak_short(At at, Put put) {
  typedef peak<T> P;
#pragma unroll
  for (int block = 0; block < PEAK_ROWS; block += W) {
    P suffix[W], prefix = P::none();
#pragma unroll
    for (int k = W - 1; k >= 0; k--)
      suffix[k] = k + 1 < W ? P::least(at(block + k), suffix[k + 1 < W ? k + 1 : k]) : at(block + k);
#pragma unroll
    for (int k = 0; k < W; k++) {
      if (block + k >= PEAK_ROWS) continue;
      if (k > 0) prefix = k > 1 ? P::least(prefix, at(block + W + k - 1)) : at(block + W);
      put(block + k, k > 0 ? P::least(suffix[k], prefix) : suffix[k]);
    }
  }
}

// Sixteen windows along an axis: sample k of the n-th segment of 16 after the one in which windows begin is
// block(n)[k * PITCH]. Where a longer window ends is an address: loops for each of 16 took twice as
// long to compile.
template <typename T, int PITCH, class Block, class Put>
__device__ __forceinline__ void peak_windows(const extent16 &w, uint32_t flip, Block block, Put put) {
  typedef peak<T> P;
  const uint32_t *const now = block(0), *const next = block(1);
  auto at = [&](int k) {
    return P::of((k < PEAK_ROWS ? now[k * PITCH] : next[(k - PEAK_ROWS) * PITCH]) ^ flip);
  };
  if (w.segments == 0) {
    with_number(w.reach + 1, [&](auto n) { peak_short<T, decltype(n)::value>(at, put); });
    return;
  }
  P core = P::none(), suffix[PEAK_ROWS];
#pragma unroll 1
  for (int s = 1; s < w.segments; s++) {
    const uint32_t *const between = block(s);
#pragma unroll
    for (int k = 0; k < PEAK_ROWS; k++) core = P::least(core, P::of(between[k * PITCH] ^ flip));
  }
#pragma unroll
  for (int k = PEAK_ROWS - 1; k >= 0; k--)
    suffix[k] = k + 1 < PEAK_ROWS ? P::least(at(k), suffix[k + 1 < PEAK_ROWS ? k + 1 : k]) : at(k);
  const uint32_t *const far = block(w.segments);
#pragma unroll
  for (int k = 0; k < PEAK_ROWS; k++)
    if (k <= w.rest) core = P::least(core, P::of(far[k * PITCH] ^ flip));
  const uint32_t *const here = far + (w.rest + 1) * PITCH, *const beyond = block(w.segments + 1) +
                                                                           (w.rest + 1 - PEAK_ROWS) * PITCH;
#pragma unroll
  for (int k = 0; k < PEAK_ROWS; k++) {
    put(k, P::least(suffix[k], core));
    if (k + 1 < PEAK_ROWS)
      core = P::least(core, P::of((w.rest + 1 + k < PEAK_ROWS ? here : beyond)[k * PITCH] ^ flip));
  }
}

// ---- results ------------------------------------------------------------------------

// Elements e .. e + K - 1 of a row of results.
template <typename T>
__device__ __forceinline__ void peak_store(const peak_args &a, char *row, int e, int end, uint32_t word) {
  T *to = reinterpret_cast<T *>(row) + e;
  if (a.words && e + peak<T>::K <= end) {
    *reinterpret_cast<uint32_t *>(to) = word;
    return;
  }
  union {
    uint32_t word;
    T at[peak<T>::K];
  } u = {word};
#pragma unroll
  for (int k = 0; k < peak<T>::K; k++)
    if (e + k < end) to[k] = u.at[k];
}

// ---- the march ----------------------------------------------------------------------

template <typename T>
__global__ void __launch_bounds__(peak<T>::WORDS, peak<T>::BLOCKS)
    peak_march(const __grid_constant__ peak_args a) {
  typedef peak<T> P;
  typedef peak_room<T> room;
  constexpr int K = P::K, STEP = PEAK_ROWS * P::WORDS, ROWS_OF_WARP = 32 / P::LANES;
  extern __shared__ __align__(16) uint32_t memory[];
  uint32_t *const rooms = memory + a.slots * STEP;
  uint16_t *const table = reinterpret_cast<uint16_t *>(rooms + P::ROOMS * room::TABLE);
  unsigned i = blockIdx.x;
  const int x = static_cast<int>(i % a.strips) * a.runs * PEAK_ROWS; // pixel of the first output
  i /= a.strips;
  const int first = static_cast<int>(i % a.splits) * a.blocks;
  i /= a.splits;
  const int64_t plane = i % a.planes, frame = i / a.planes;
  const char *in = a.in + frame * a.frame_in + plane * a.plane_in;
  const int all = (a.rows + PEAK_ROWS - 1) / PEAK_ROWS,
            blocks = all - first < a.blocks ? all - first : a.blocks;
  const int end = blocks + a.warm,
            pixels = a.columns - x < a.runs * PEAK_ROWS ? a.columns - x : a.runs * PEAK_ROWS;
  // The thread's column of words.
  const int thread = threadIdx.x, begin = (x - a.before[0]) * a.step, e = begin - a.skew + thread * K;
  const int seen = begin + (pixels + a.window[0] - 1) * a.step, elements = pixels * a.step;
  const peak_way way = peak_way_of<T>(a, e, seen);
  uint32_t *const column = memory + thread;
  int place[K];
#pragma unroll
  for (int k = 0; k < K; k++) {
    const int element = thread * K + k - a.skew, pixel = element / a.step;
    place[k] = element >= 0 && e + k < seen ? room::at(pixel, element - pixel * a.step, a.held) : -1;
  }
  for (int n = thread; n < PEAK_ROWS * P::LANES; n += P::WORDS)
    table[n] = n < elements ? static_cast<uint16_t>(room::at(n / a.step, n % a.step, a.held)) : uint16_t{0};
  // The lane's windows along x.
  const int lane = thread % 32, unit = lane % P::LANES, channel = unit / a.runs;
  const int group = thread / 32 * ROWS_OF_WARP + lane / P::LANES;
  const bool live = channel < a.step && group < room::GROUPS;
  const int line_at = live ? group * room::GROUP + channel * a.held + unit - channel * a.runs : 0;
  int y = first * PEAK_ROWS - a.before[1], row = first * PEAK_ROWS + thread / 32 * ROWS_OF_WARP * K;
  char *to = a.out + frame * a.frame_out + plane * a.plane_out + row * a.row_out +
             static_cast<int64_t>(x) * a.step * static_cast<int64_t>(sizeof(T));
  peak_copy<T>(a, in, y, e, way, column), fc_commit_copies();
  for (int block = 0, slot = 0; block < end; block++) {
    const int next = slot + 1 < a.slots ? slot + 1 : 0;
    y += PEAK_ROWS;
    if (block + 1 < end) peak_copy<T>(a, in, y, e, way, column + next * STEP);
    fc_commit_copies();
    fc_await_copies<1>();
    const int begun = slot >= a.warm ? slot - a.warm : slot - a.warm + a.slots;
    slot = next;
    if (block < a.warm) continue;
    uint32_t v[PEAK_ROWS];
    if (way != PEAK_UNSEEN)
      peak_windows<T, P::WORDS>(
          a.y, a.flip,
          [&](int n) { return column + (begun + n < a.slots ? begun + n : begun + n - a.slots) * STEP; },
          [&](int k, const P &p) { v[k] = p.word(); });
    if (P::ROOMS == 1) __syncthreads(); // all have stored what was there
    uint32_t *const mid = rooms + (P::ROOMS > 1 && block % 2 ? room::TABLE : 0);
    if (way != PEAK_UNSEEN) {
#pragma unroll
      for (int g = 0; g < room::GROUPS; g++) {
        turn_words<K>(v + g * K);
#pragma unroll
        for (int k = 0; k < K; k++)
          if (place[k] >= 0) mid[g * room::GROUP + place[k]] = v[g * K + k];
      }
    }
    __syncthreads();
    if (group >= room::GROUPS) continue; // the same for a warp
    uint32_t *const line = mid + line_at;
    if (live)
      peak_windows<T, room::RUNS>(
          a.x, 0, [&](int n) { return line + n; }, [&](int k, const P &p) { v[k] = p.word(); });
    __syncwarp();
    if (live) {
#pragma unroll
      for (int k = 0; k < PEAK_ROWS; k++) line[k * room::RUNS] = P::result(v[k], a.flip);
    }
    __syncwarp();
#pragma unroll
    for (int g = 0; g < ROWS_OF_WARP; g++) {
      const uint32_t *const from = mid + (thread / 32 * ROWS_OF_WARP + g) * room::GROUP;
      char *const to_row = to + g * K * a.row_out;
      const int left = a.rows - row - g * K;
#pragma unroll 4
      for (int at = lane * K; at < elements; at += 32 * K) {
        uint32_t w[K];
#pragma unroll
        for (int k = 0; k < K; k++) w[k] = from[table[at + k]];
        turn_words<K>(w);
#pragma unroll
        for (int k = 0; k < K; k++)
          if (k < left) peak_store<T>(a, to_row + k * a.row_out, at, elements, w[k]);
      }
    }
    row += PEAK_ROWS, to += PEAK_ROWS * a.row_out;
  }
}

} // namespace winstat

#endif
