// SPDX-License-Identifier: MIT
//
// window.cuh - parts of the skeletons with windows: the arguments of all of them, how a thread loads and
// stores its samples, and, of march.cuh and row.cuh, the sums and the layout of a block's row in shared
// memory.
//
// Sums of products run in the order of conv1d.h, conv2d.h and sepconv.h, from 0 on, a row at a time from the
// top, so the bits are those of the precompiled kernels. Compiled by NVRTC without contraction, as map.cuh,
// in f32.
#ifndef FC_FILTERS_GPU_WINDOW_CUH
#define FC_FILTERS_GPU_WINDOW_CUH

#include "filters/gpu/border.cuh"
#include "filters/gpu/map.cuh"

// Of __launch_bounds__: a comma and how many blocks registers are to suffice for, where a kernel is compiled
// again since they do not (core/device/jit_main.c).
#ifndef FC_AT_LEAST
#define FC_AT_LEAST
#endif

// The lines of a launch, which run along X, and in march.cuh along Y. `in` and `out` are those of the first
// output; steps are in bytes. Lines are cut into pieces (rows of march.cuh, slices, tiles, blocks) from
// `first` on; positions are relative to the first output. The host's copy is in core/compose/compose.h.
struct fc_window_args {
  const char *in;
  char *out;
  int64_t in_row, out_row, in_image, in_plane, out_image, out_plane;
  int32_t across, planes;       // rows of an image (in slide.cuh sometimes of all), or elements of a row in
                                // march.cuh; planes of an image
  int32_t begin, extent, total; // positions of the signal ahead of the first output, and in all; outputs
  int32_t first, count, each;   // pieces of a line, and per block; of all lines in overlap.cuh; in
                                // march.cuh count is that of planes, of all images
  float constant;               // the value beyond the ends, between Pre and Post
  float ahead;                  // the same for a prefilter (prefilter.cuh)
  uint32_t *notes;
};

// A line at position 0; `plane` is numbered through all images.
struct fc_window_line {
  const char *in;
  char *out;
};
FC_DEVICE fc_window_line fc_window_line_of(const fc_window_args &a, int plane, int row) {
  const int image = plane / a.planes;
  plane -= image * a.planes;
  return {a.in + image * a.in_image + plane * a.in_plane + row * a.in_row,
          a.out + image * a.out_image + plane * a.out_plane + row * a.out_row};
}

// Whether outputs of so many bytes a thread are stored through shared memory (fc_window_store_together). As
// in core/compose/vectors.c.
constexpr bool fc_window_is_wide(int bytes, int size) {
  return bytes > 32 && bytes % 16 == 0 && size == 4;
}

// No functions before, or after, the window. ROUNDED: what comes out of the window is rounded to the type
// that is stored, before the functions. NOTES: they may note something themselves. QUIET: nothing that is
// stored is clipped, or NaN; NEAR: nothing far out of range, or NaN.
struct fc_none {
  static constexpr bool QUIET = false, NEAR = false, SCALES = false, ROUNDED = true, NOTES = false;
  template <int N> FC_DEVICE void run(const float (&v)[N], float (&to)[N], fc_dev_noted &) const {
#pragma unroll
    for (int i = 0; i < N; i++) to[i] = v[i];
  }
};

struct fc_none_quiet : fc_none {
  static constexpr bool QUIET = true;
};
struct fc_none_near : fc_none {
  static constexpr bool NEAR = true;
};

// How codes become values ahead of the window. SCALES: times a factor, the first of the functions there. It
// costs nothing then: 2^23 + code times the factor, minus 2^23 times that, is rounded once
// (sample_words.cuh), as is the product of both.
template <typename T, int KT, typename Pre> FC_DEVICE fc_dev_map<float> fc_window_scaling(const Pre &pre) {
  fc_dev_map<float> map = fc_map_scaling<float, T, KT>();
  static_assert(!Pre::SCALES || KT != FC_AUDIO, "codes that are values");
  if constexpr (Pre::SCALES) map.scale = pre.factor();
  return map;
}
template <typename Pre, int N, int M>
FC_DEVICE void fc_window_run(const Pre &pre, const float (&v)[N], float (&to)[M], fc_dev_noted &noted) {
  if constexpr (Pre::SCALES)
    pre.template run<true>(v, to, noted);
  else
    pre.run(v, to, noted);
}

// What is done with a window: its taps, and how a row of it is added to the sums of the outputs that it
// belongs to. KEPT: how many rows of numbers a thread keeps from row to row, NY of which are sums.
template <typename Op, int V, int THREADS> struct fc_window_kept {
  typedef float type[Op::KEPT][V];
  static FC_DEVICE void begin(type &sum) {
#pragma unroll
    for (int j = 0; j < Op::KEPT; j++)
#pragma unroll
      for (int i = 0; i < V; i++) sum[j][i] = 0;
  }
};

// Whether an operator's windows are cut at the signal's ends: op.finish(kept, of, v) makes the outputs of
// what was added, zeros there, given their place, or that none of their windows is cut.
struct fc_window_place {
  int x, y, width, height; // first output of a thread, in elements of a row, and its row; of the signal
};
struct fc_window_whole {};
template <typename Op> struct fc_window_shrinks { static constexpr bool value = false; };

// Taps in reading order: horizontal, and vertical.
template <int KX, int KY> struct fc_separable {
  static constexpr int NX = KX, NY = KY, KEPT = KY;
  static constexpr bool LINE = false;
  float x[KX], y[KY];

  // Adds one row's window, from w[first] on and `step` from tap to tap, to the sums it belongs to. The sum
  // that was started NY - 1 rows ago is complete and goes to `done`.
  template <int STEP, int V, int NW>
  FC_DEVICE void add(const float (&w)[NW], int first, float (&sum)[KY][V], float (&done)[V]) const {
#pragma unroll
    for (int i = 0; i < V; i++) {
      float h = 0;
#pragma unroll
      for (int k = 0; k < KX; k++) h = fmaf(x[k], w[first + i + k * STEP], h);
      done[i] = fmaf(y[KY - 1], h, sum[0][i]);
#pragma unroll
      for (int j = 0; j < KY - 1; j++) sum[j][i] = fmaf(y[KY - 2 - j], h, sum[j + 1][i]);
    }
  }

  // The same by itself, for few.cuh: what is made of a row, the output of what was made of all rows, and that
  // of such numbers that lie along a row.
  template <int STEP, int V, int NW>
  FC_DEVICE void across(const float (&w)[NW], int first, float (&h)[V]) const {
    products<STEP>(x, w, first, h);
  }
  FC_DEVICE float down(const float (&h)[KY]) const {
    float done[1];
    products<1>(y, h, 0, done);
    return done[0];
  }
  template <int STEP, int V, int NW>
  FC_DEVICE void along(const float (&h)[NW], int first, float (&done)[V]) const {
    products<STEP>(y, h, first, done);
  }
  template <int STEP, int V> FC_DEVICE void finish(fc_window_whole, float (&)[V]) const {}

private:
  template <int STEP, int TAPS, int V, int NW>
  static FC_DEVICE void products(const float (&taps)[TAPS], const float (&w)[NW], int first, float (&to)[V]) {
#pragma unroll
    for (int i = 0; i < V; i++) {
      to[i] = 0;
#pragma unroll
      for (int k = 0; k < TAPS; k++) to[i] = fmaf(taps[k], w[first + i + k * STEP], to[i]);
    }
  }
};

// An unsharp mask: what the sum takes from the sample in the middle of the window is added to it. Samples
// wait for their sums in the rows behind these.
template <int KX, int KY> struct fc_sharpened {
  static constexpr int NX = KX, NY = KY, WAIT = KY - 1 - KY / 2, KEPT = KY + WAIT;
  static constexpr bool LINE = false;
  float x[KX], y[KY], amount, threshold;

  template <int STEP, int V, int NW>
  FC_DEVICE void add(const float (&w)[NW], int first, float (&kept)[KEPT][V], float (&done)[V]) const {
#pragma unroll
    for (int i = 0; i < V; i++) {
      float h = 0;
#pragma unroll
      for (int k = 0; k < KX; k++) h = fmaf(x[k], w[first + i + k * STEP], h);
      const float sum = fmaf(y[KY - 1], h, kept[0][i]), now = w[first + i + KX / 2 * STEP];
#pragma unroll
      for (int j = 0; j < KY - 1; j++) kept[j][i] = fmaf(y[KY - 2 - j], h, kept[j + 1][i]);
      const float v = WAIT > 0 ? kept[WAIT > 0 ? KY : 0][i] : now, more = v - sum;
#pragma unroll
      for (int j = KY; j + 1 < KEPT; j++) kept[j][i] = kept[j + 1][i];
      if (WAIT > 0) kept[KEPT - 1][i] = now;
      done[i] = fabsf(more) > threshold ? v + amount * more : v;
    }
  }
};

// More than FC_DENSE_RUN taps, FC_FUNCTION_DENSE_RUN of device_function.h, are summed in runs of HIGH rows,
// which are added. Sums in whose second run, or a later one, a row lies have what the runs before made beside
// them.
constexpr int FC_DENSE_RUN = 256;
template <int KX, int KY> struct fc_dense {
  static constexpr int NX = KX, NY = KY, HIGH = KX * KY > FC_DENSE_RUN ? FC_DENSE_RUN / KX : KY,
                       KEPT = KY + (HIGH < KY ? KY - 1 - HIGH : 0);
  static constexpr bool LINE = KY == 1;
  static_assert(HIGH > 0, "a row is no longer than a run");
  float m[KY][KX];

  template <int STEP, int V, int NW>
  FC_DEVICE void add(const float (&w)[NW], int first, float (&sum)[KEPT][V], float (&done)[V]) const {
#pragma unroll
    for (int j = 0; j < KY; j++) { // row KY - 1 - j of the mask; sum[j] is read before it is written
      constexpr int RUNS = KEPT > KY ? KEPT - 1 : 0;    // the last place of what runs have made
      const int row = KY - 1 - j, at = KY + row - HIGH; // where this row's are, if it is in a later run
      const bool later = row > HIGH, starts = row >= HIGH && row % HIGH == 0;
      float h[V], runs[V];
#pragma unroll
      for (int i = 0; i < V; i++) {
        h[i] = starts ? 0 : sum[j][i];
        runs[i] = later ? sum[later ? at - 1 : RUNS][i] : 0;
        if (starts) runs[i] += sum[j][i];
      }
#pragma unroll
      for (int k = 0; k < KX; k++)
#pragma unroll
        for (int i = 0; i < V; i++) h[i] = fmaf(m[row][k], w[first + i + k * STEP], h[i]);
#pragma unroll
      for (int i = 0; i < V; i++) {
        if (j == 0)
          done[i] = row >= HIGH ? runs[i] + h[i] : h[i];
        else
          sum[j > 0 ? j - 1 : 0][i] = h[i];
        if (j > 0 && row >= HIGH) sum[row >= HIGH && at < KEPT ? at : RUNS][i] = runs[i];
      }
    }
  }
};

// N samples of a thread, in whole words, by accesses of MOST words if they are aligned to these. If they are
// not aligned to four bytes, they are words from there on and a remainder; nothing is accessed beyond the
// words that contain them, and nothing after their end, where memory may end.
template <typename T, int KT, int N, bool ALIGNED, int MOST = 4> struct fc_window_load;
template <typename T, int KT, int N, int MOST> struct fc_window_load<T, KT, N, true, MOST> {
  static constexpr int W = N * sizeof(T) / 4;
  uint32_t word[W];
  FC_DEVICE void fetch(const char *from) { fc_map_load_words<MOST>(word, from); }
  FC_DEVICE void words(uint32_t (&whole)[W]) const {
#pragma unroll
    for (int i = 0; i < W; i++) whole[i] = word[i];
  }
  FC_DEVICE void values(float (&v)[N], const fc_dev_map<float> &map = fc_map_scaling<float, T, KT>()) const {
    fc_map_values<float, T, KT, N>(v, word, map);
  }
};
template <typename T, int KT, int N> struct fc_window_load<T, KT, N, false, 4> {
  static constexpr int W = N * sizeof(T) / 4, EACH = 4 / sizeof(T);
  uint32_t word[W], last, askew;
  FC_DEVICE void fetch(const char *from) {
    askew = EACH > 1 ? static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from) % 4) : 0;
    const uint32_t *whole = reinterpret_cast<const uint32_t *>(from - askew);
    last = 0;
#pragma unroll
    for (int i = 0; i < W; i++) word[i] = whole[i];
    if constexpr (EACH > 1)
#pragma unroll
      for (int i = 0; i + 1 < EACH; i++)
        if (i * sizeof(T) < askew)
          last |= static_cast<uint32_t>(static_cast<typename std::make_unsigned<T>::type>(
                      reinterpret_cast<const T *>(whole + W)[i]))
                  << 8 * sizeof(T) * i;
  }
  FC_DEVICE void words(uint32_t (&whole)[W]) const {
#pragma unroll
    for (int i = 0; i < W; i++) whole[i] = word[i];
    if constexpr (EACH > 1) fc_words_shift(whole, last, askew);
  }
  FC_DEVICE void values(float (&v)[N], const fc_dev_map<float> &map = fc_map_scaling<float, T, KT>()) const {
    uint32_t whole[W];
    words(whole);
    fc_map_values<float, T, KT>(v, whole, map);
  }
};
template <typename U, int W> FC_DEVICE void fc_window_store_askew(char *to, const uint32_t (&word)[W]) {
  const uint32_t askew = sizeof(U) < 4 ? static_cast<uint32_t>(reinterpret_cast<uintptr_t>(to) % 4) : 0;
  uint32_t *words = reinterpret_cast<uint32_t *>(to - askew);
  if (sizeof(U) == 4 || askew == 0) {
#pragma unroll
    for (int i = 0; i < W; i++) words[i] = word[i];
  } else if constexpr (sizeof(U) < 4) {
#pragma unroll
    for (int i = 1; i < W; i++) words[i] = __funnelshift_r(word[i - 1], word[i], 32 - 8 * askew);
#pragma unroll
    for (uint32_t at = 0; at < 4; at += sizeof(U)) { // of the first word, and of the last one
      const U first = static_cast<U>(word[0] >> 8 * at), behind = static_cast<U>(word[W - 1] >> 8 * at);
      if (at < 4 - askew) *reinterpret_cast<U *>(to + at) = first;
      if (at >= 4 - askew) *reinterpret_cast<U *>(to + 4 * (W - 1) + at) = behind;
    }
  }
}

template <typename U, bool ALIGNED, int W>
FC_DEVICE void fc_window_store_words(char *to, const uint32_t (&word)[W]) {
  if constexpr (ALIGNED)
    fc_map_store_words(to, word);
  else
    fc_window_store_askew<U>(to, word);
}

// Of rows that begin at multiples of 8 bytes: in those at multiples of 16, often every other one, accesses of
// a warp lie side by side.
template <int W> FC_DEVICE void fc_window_store_halves(char *to, const uint32_t (&word)[W]) {
  if (reinterpret_cast<uintptr_t>(to) % 16 == 0)
    fc_map_store_words(to, word);
  else
    fc_map_store_words<2>(to, word);
}

// Elements that are not in the signal become copies of the first pixel, so that nothing is noted of them;
// `left` is at least UM.
template <int UM, int V> FC_DEVICE void fc_window_fill(float (&v)[V], int left) {
  if (left >= V) return;
#pragma unroll
  for (int i = UM; i < V; i++) v[i] = i < left ? v[i] : v[i % UM];
}

// Outputs of a thread, of which `left` elements are in the signal: as words if that are all, else they are
// stored one by one. Returns whether it was all.
template <typename U, int KU, bool QUIET, int V, int UM, bool NEAR = false, int OUT, int W>
FC_DEVICE bool fc_window_codes(uint32_t (&word)[W], char *to, float (&v)[OUT], int left,
                               fc_dev_noted &noted) {
  constexpr int UO = OUT * UM / V;
  const int count = left / UM * UO;
  if constexpr (!QUIET && fc_is_code<U>) fc_window_fill<UO>(v, left < V ? count : OUT);
  fc_map_codes<float, U, KU, QUIET, NEAR>(word, v, noted);
  if (left >= V) return true;
#pragma unroll
  for (int i = 0; i < OUT; i++)
    if (i < count) reinterpret_cast<U *>(to)[i] = fc_map_element<U>(word, i);
  return false;
}

template <typename U, int KU, bool QUIET, bool ALIGNED, int V, int UM, bool NEAR = false, int OUT>
FC_DEVICE void fc_window_store(char *to, float (&v)[OUT], int left, fc_dev_noted &noted) {
  constexpr int WO = OUT * sizeof(U) / 4;
  uint32_t word[WO > 0 ? WO : 1];
  if (fc_window_codes<U, KU, QUIET, V, UM, NEAR>(word, to, v, left, noted))
    fc_window_store_words<U, ALIGNED>(to, word);
}

// ---- rows that begin anywhere ------------------------------------------------------------
//
// A warp's vectors lie side by side in memory, but begin at no multiple of their length. Lanes move the
// aligned vectors around theirs and exchange the parts at the seams:
//
//     aligned   |        |        |        |        |
//     lanes'       | lane 0 | lane 1 | lane 2 |
//
// Word by word, and byte by byte at the ends, the second cache takes seven times as many transactions.

// Words of an access, given those of a vector.
template <int W> constexpr int fc_window_group = W % 4 == 0 ? 4 : W % 2 == 0 ? 2 : 1;

// Words [by, by + M) of `from`, where by < G.
template <int G, int N, int M>
FC_DEVICE void fc_window_slide(uint32_t (&to)[M], const uint32_t (&from)[N], uint32_t by) {
  static_assert(N >= G - 1 + M, "all there");
#pragma unroll
  for (int i = 0; i < M; i++) to[i] = from[i];
  if constexpr (G > 1) {
    uint32_t half[M + 1];
#pragma unroll
    for (int i = 0; i <= M; i++) half[i] = G > 2 && by & 2 ? from[G > 2 ? i + 2 : i] : from[i];
#pragma unroll
    for (int i = 0; i < M; i++) to[i] = by & 1 ? half[i + 1] : half[i];
  }
}

template <typename T, int KT, int N> struct fc_window_across {
  static constexpr int W = N * sizeof(T) / 4, G = W % 2 == 0 ? 2 : 1; // 4: more registers
  uint32_t word[W + G], askew; // bytes that the vector begins behind an aligned one

  // `last`: no other lane has what follows.
  FC_DEVICE void fetch(const char *from, bool last) {
    askew = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from) % (4 * G));
    uint32_t more[G];
#pragma unroll
    for (int i = 0; i < W; i += G) {
      uint32_t some[G];
      fc_words_load(some, from - askew + 4 * i);
#pragma unroll
      for (int k = 0; k < G; k++) word[i + k] = some[k];
    }
    if (!last) return;
    fc_words_load(more, from - askew + 4 * W);
#pragma unroll
    for (int i = 0; i < G; i++) word[W + i] = more[i];
  }

  // For all lanes of a warp.
  FC_DEVICE void join(bool last) {
#pragma unroll
    for (int i = 0; i < G; i++) {
      const uint32_t next = __shfl_down_sync(0xffffffffu, word[i], 1);
      word[W + i] = last ? word[W + i] : next;
    }
  }

  FC_DEVICE void values(float (&v)[N], const fc_dev_map<float> &map) const {
    constexpr bool WHOLE = sizeof(T) == 4; // words
    uint32_t some[WHOLE ? W : W + 1], whole[W];
    fc_window_slide<G>(some, word, askew / 4);
#pragma unroll
    for (int i = 0; i < W; i++)
      whole[i] = WHOLE ? some[i] : __funnelshift_r(some[i], some[WHOLE ? i : i + 1], askew % 4 * 8);
    fc_map_values<float, T, KT, N>(v, whole, map);
  }
};

// N floats that begin anywhere, in whole vectors: those of 16 bytes that contain them, which are all to be
// readable. Of three channels, where lanes' vectors are far apart, accesses word by word take the first cache
// three times as long (f32, 1739 columns, rms of 8 along rows 137 us, and 111). Of one or two they are
// faster.
template <typename T, int KT, int N> struct fc_window_load_floats {
  static constexpr int W = N;
  uint32_t word[W + 4], askew; // in words
  static_assert(sizeof(T) == 4 && W % 4 == 0, "whole vectors of words");
  FC_DEVICE void fetch(const char *from) {
    askew = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(from) % 16) / 4;
#pragma unroll
    for (int i = 0; i < W + 4; i += 4) {
      uint32_t four[4] = {0, 0, 0, 0};
      if (i < W || askew) fc_words_load(four, from - 4 * askew + 4 * i);
#pragma unroll
      for (int k = 0; k < 4; k++) word[i + k] = four[k];
    }
  }
  FC_DEVICE void values(float (&v)[N]) const {
    uint32_t whole[W];
    fc_window_slide<4>(whole, word, askew);
    fc_map_values<float, T, KT>(v, whole, fc_map_scaling<float, T, KT>());
  }
};

// Threads [lo, hi] of a block have outputs: vectors of W words, side by side in memory.
struct fc_window_lanes {
  int lo, hi;
};

// Whether codes are stored by lanes that exchange words, and not through shared memory, where that is slower:
// of 12 words u8 RGB by a rms of 40 73 us for 93, of 3 by a rms of 2 45 for 50, of one 16 + 16 taps of u8 118
// for 132; but of 2 9 + 8 taps 117 for 102, of 6 11 + 18 taps of u16 RGB 126 for 99. As in vectors.c.
template <typename U, int W>
constexpr bool fc_window_exchanges = sizeof(U) < 4 && (W > 6 || W == 3 || W == 1);

// Codes of this one's warp: lanes move the aligned vectors around theirs. The one before that of `lo` and the
// one behind that of `hi` have to do with each other: `lo` stores the ends of both.
template <typename U, int W>
FC_DEVICE void fc_window_store_across(char *to, const uint32_t (&word)[W], const fc_window_lanes &lanes) {
  constexpr int G = fc_window_group<W>;
  const int t = threadIdx.x, before = t == lanes.lo ? lanes.hi : t - 1;
  const uint32_t askew = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(to) % (4 * G)),
                 bits = askew % 4 * 8, words = askew / 4;
  uint32_t all[G + W], some[W + 1], whole[W];
#pragma unroll
  for (int i = 0; i < G; i++) all[i] = __shfl_sync(0xffffffffu, word[W - G + i], before & 31);
#pragma unroll
  for (int i = 0; i < W; i++) all[G + i] = word[i];
  fc_window_slide<G>(some, all, G - 1 - words);
#pragma unroll
  for (int i = 0; i < W; i++) whole[i] = __funnelshift_l(some[i], some[i + 1], bits);
  if (t < lanes.lo || t > lanes.hi) return;
  char *at = to - askew;
  if (t != lanes.lo || askew == 0) return fc_map_store_words(at, whole);
  char *end = at + (lanes.hi - lanes.lo + 1) * (4 * W);
  uint32_t split = 0;
#pragma unroll
  for (uint32_t i = 0; i < W; i++) {
    if (i == words) split = whole[i];
    if (i != words || bits == 0) *reinterpret_cast<uint32_t *>((i < words ? end : at) + 4 * i) = whole[i];
  }
  if (bits == 0) return;
#pragma unroll
  for (uint32_t b = 0; b < 4; b += sizeof(U))
    *reinterpret_cast<U *>((8 * b < bits ? end : at) + 4 * words + b) = static_cast<U>(split >> 8 * b);
}

// Those of a warp, or of LANES adjacent lanes, are stored through shared memory, so that each access is of
// adjacent words, whole ones wherever the vectors begin:
//
//     room      | word 0 | word 1 | word 2 | ...        lane by lane
//     aligned      |        |        |        |
//
// Lane by lane, each access of a warp would write a part of every 32 bytes, and the second cache take several
// times as many (u8 to f32 by 3 taps, 15 M stereo: 73 us of which it was busy 80 %). For all lanes of a warp;
// `room` is theirs. ALIGNED: vectors begin at multiples of 16 bytes.
template <int W> constexpr int fc_window_stride = W % 8 == 0 ? W + 4 : W; // so that lanes use all banks
template <int W> constexpr int fc_window_room = 32 * fc_window_stride<W>; // words
template <typename U, bool ALIGNED, int LANES = 32, int W>
FC_DEVICE void fc_window_store_together(char *to, const uint32_t (&word)[W], const fc_window_lanes &lanes,
                                        uint32_t *room) {
  if constexpr (!ALIGNED && LANES == 32 && fc_window_exchanges<U, W>) {
    const int t = threadIdx.x;
    return fc_window_store_across<U>(to, word, {max(lanes.lo, t & ~31), min(lanes.hi, t | 31)});
  }
  constexpr int SOME = fc_window_group<W>, STRIDE = fc_window_stride<W>, ELEMENTS = 4 / sizeof(U);
  const int lane = threadIdx.x % LANES, first = static_cast<int>(threadIdx.x) - lane,
            lo = max(lanes.lo - first, 0), count = (min(lanes.hi - first, LANES - 1) + 1 - lo) * W; // words
  uint32_t *rows = room + first % 32 * STRIDE;
#pragma unroll
  for (int i = 0; i < W; i += SOME) {
    uint32_t some[SOME];
#pragma unroll
    for (int k = 0; k < SOME; k++) some[k] = word[i + k];
    fc_words_store(rows + lane * STRIDE + i, some);
  }
  __syncwarp();
  const auto at = [&](int k) { return rows + (lo + k / W) * STRIDE + k % W; };
  char *begin = to + (lo - lane) * (4 * W);
  const uint32_t from = static_cast<uint32_t>(reinterpret_cast<uintptr_t>(begin)), askew = from % 4;
  if (W % 4 == 0 && (ALIGNED || from % 16 == 0)) {
#pragma unroll
    for (int i = 0; i < W / 4; i++) {
      const int k = 4 * (i * LANES + lane);
      uint32_t four[4];
      if (k >= count) continue;
      fc_words_load(four, reinterpret_cast<const char *>(at(k)));
      fc_words_store(begin + 4 * k, four);
    }
  } else if (sizeof(U) == 4 || ALIGNED || askew == 0) {
#pragma unroll
    for (int i = 0; i < W; i++) {
      const int k = i * LANES + lane;
      if (k < count) *reinterpret_cast<uint32_t *>(begin + 4 * k) = *at(k);
    }
  } else {
#pragma unroll
    for (int i = 0; i < W; i++) {
      const int k = i * LANES + lane;
      if (k > 0 && k < count)
        *reinterpret_cast<uint32_t *>(begin - askew + 4 * k) = __funnelshift_l(*at(k - 1), *at(k), 8 * askew);
    }
#pragma unroll
    for (int i = lane; i < 2 * ELEMENTS; i += LANES) { // of the first word, and of the last
      const int k = i < ELEMENTS ? 0 : count - 1, byte = i % ELEMENTS * static_cast<int>(sizeof(U));
      if (count > 0 && (byte < 4 - static_cast<int>(askew)) == (i < ELEMENTS))
        *reinterpret_cast<U *>(begin + 4 * k + byte) = reinterpret_cast<const U *>(at(k))[i % ELEMENTS];
    }
  }
  __syncwarp();
}

template <int V> FC_DEVICE void fc_window_keep(float *to, const float (&v)[V]) {
#pragma unroll
  for (int i = 0; i < V; i += 4)
    *reinterpret_cast<float4 *>(to + i) = make_float4(v[i], v[i + 1], v[i + 2], v[i + 3]);
}

// A block's row in shared memory, V elements a thread; those at the ends have no outputs:
//
//     |<- PL ->|<------------ WIDTH ------------>|<- PR ->|
//     at [thread 0] ...                         ... [thread T-1]
//
// Elements are those between Pre and Post: interleaved channels, UM apart from tap to tap. Where a function
// takes pixels, V elements are V / UM pixels of UI samples ahead and UO behind.
template <typename Op, int UI, int UM_, int UO, int STEP, int V_, int THREADS> struct fc_window {
  static constexpr int V = V_, UM = UM_;
  static constexpr int IN = V / UM * UI, OUT = V / UM * UO; // samples per thread
  static constexpr int L = Op::NX / 2 * STEP, R = (Op::NX - 1 - Op::NX / 2) * STEP;
  static constexpr int PL = (L + V - 1) / V * V, PR = (R + V - 1) / V * V, WIDTH = THREADS * V - PL - PR;
  static constexpr int VP = V % 8 == 0 ? V + 4 : V; // distance of threads in floats, avoiding bank conflicts
  static constexpr int AHEAD = (PL - L) / 4 * 4, FIRST = PL - L - AHEAD; // a window, read from 16 bytes on
  static constexpr int NW = (FIRST + V + L + R + 3) / 4 * 4;

  // Elements i to i + 3 of a window.
  static FC_DEVICE void read(float (&w)[NW], int i, const float *row) {
    const float4 f = *reinterpret_cast<const float4 *>(row + (AHEAD + i) / V * VP + (AHEAD + i) % V);
    w[i] = f.x, w[i + 1] = f.y, w[i + 2] = f.z, w[i + 3] = f.w;
  }

  // The window of a thread's outputs, which begins PL elements before them. A long line is read tap by tap,
  // and does not stay in registers.
  template <typename Kept>
  static FC_DEVICE void add(const Op &op, const float *row, Kept &sum, float (&done)[V]) {
    float w[NW];
    if constexpr (Op::LINE && NW > 64) {
#pragma unroll
      for (int i = 0; i < V; i++) done[i] = sum[0][i];
#pragma unroll
      for (int k = 0; k < Op::NX; k++) {
        if (k % 32 == 0) __syncwarp(); // or the compiler reads much of it ahead: 255 registers, or spills
        const int from = k == 0 ? 0 : (FIRST + V + (k - 1) * STEP + 3) / 4 * 4;
#pragma unroll
        for (int i = from; i < FIRST + V + k * STEP; i += 4) read(w, i, row);
#pragma unroll
        for (int i = 0; i < V; i++) done[i] = fmaf(op.m[0][k], w[FIRST + i + k * STEP], done[i]);
      }
    } else {
#pragma unroll
      for (int i = 0; i < NW; i += 4) read(w, i, row);
      op.template add<STEP, V, NW>(w, FIRST, sum, done);
    }
  }
};

#endif
