// SPDX-License-Identifier: MIT
//
// box.cuh - statistics in windows of columns and rows, operators of the skeletons march.cuh and few.cuh, with
// the bits of the precompiled kernels (filters/winstat).
//
// fc_box: extremes of all types, and what follows from sums and squares of integers. All of them are exact in
// any order. Along a row neighbouring windows share what they have in common (fc_box_across). What comes of
// that is kept in shared memory for the KY rows of a window, two numbers in a word where 16 bits suffice; a
// thread has its own columns there, and waits for no other. Sums go from window to window: the new row is
// added, the row that leaves is subtracted. Extremes are those of blocks of KY rows (van Herk 1992, Gil and
// Werman 1993): from each row to the end of the block before, found once that is complete, and from this
// block's beginning:
//
//     rows   [ . . . . . . ][ . . . . . . ]       cost of a row, for any KY: three comparisons, four accesses
//                   |<- window ->|
//             from row on --> <-- up to row
//
// fc_box_sums: sums and squares of floats, which are rounded, in an order that is the same for all windows:
// first along each row, then down, both times by fours, which are sums of two sums of two, and which windows
// share; these and what is left are added from first to last. More than 16 are summed as the first 16 and the
// rest.
//
//     15 samples   [   4   |   4   |   4   | 2 |1]      cost of KX: about KX / 4 + 4 additions
#ifndef FC_FILTERS_GPU_BOX_CUH
#define FC_FILTERS_GPU_BOX_CUH

#include "filters/gpu/statistic.cuh"
#include "filters/gpu/window.cuh"

// to[i]: all KX elements of w from first + i on, STEP apart, joined. Up to KX windows that lie STEP apart
// share their middle; each has the rest of it on the left, summed from there on, and on the right:
//
//     window p     [ left p | middle | right p ]
template <int KX, int STEP, int V, int NW, class Join>
FC_DEVICE void fc_box_across(const float (&w)[NW], int first, float (&to)[V], Join join) {
  constexpr int ALL = (V + STEP - 1) / STEP, GROUP = ALL < KX ? ALL : KX;
#pragma unroll
  for (int begin = 0; begin < V; begin++) {
    if (begin / STEP % GROUP) continue;
    const int rest = (V - begin + STEP - 1) / STEP, count = rest < GROUP ? rest : GROUP, at = first + begin;
    float left[GROUP], right = 0;
#pragma unroll
    for (int k = 0; k < KX; k++)
      if (k >= count - 1) {
        const float v = w[at + k * STEP];
        left[GROUP - 1] = k == count - 1 ? v : join(left[GROUP - 1], v);
      }
#pragma unroll
    for (int p = GROUP - 1; p >= 0; p--) {
      if (p == count - 1) left[p] = left[GROUP - 1];
      if (p < count - 1) left[p] = join(w[at + p * STEP], left[p + 1]);
    }
#pragma unroll
    for (int p = 0; p < GROUP; p++) {
      if (p >= count) continue;
      if (p > 0) right = p == 1 ? w[at + KX * STEP] : join(right, w[at + (KX + p - 1) * STEP]);
      to[begin + p * STEP] = p > 0 ? join(left[p], right) : left[p];
    }
  }
}

// Numbers of V columns as words: their own bits, or those of 16 bits in pairs.
template <int V, bool PAIRS> struct fc_box_row {
  static constexpr int WORDS = PAIRS ? V / 2 : V;
  uint32_t word[WORDS];
  FC_DEVICE void load(const uint32_t *from) {
    constexpr int EACH = WORDS % 4 ? 2 : 4;
#pragma unroll
    for (int i = 0; i < WORDS; i += EACH) {
      uint32_t some[EACH];
      fc_words_load(some, reinterpret_cast<const char *>(from + i));
#pragma unroll
      for (int k = 0; k < EACH; k++) word[i + k] = some[k];
    }
  }
  FC_DEVICE void store(uint32_t *to) const {
    constexpr int EACH = WORDS % 4 ? 2 : 4;
#pragma unroll
    for (int i = 0; i < WORDS; i += EACH) {
      uint32_t some[EACH];
#pragma unroll
      for (int k = 0; k < EACH; k++) some[k] = word[i + k];
      fc_words_store(reinterpret_cast<char *>(to + i), some);
    }
  }
};

// How many samples of a window are in the signal, which shrinks at its ends: of those of a thread's output i.
template <int KX, int KY, int STEP> struct fc_box_counts {
  int x, width, rows;
  FC_DEVICE explicit fc_box_counts(const fc_window_place &of)
      : x(of.x), width(of.width / STEP), rows(inside<KY>(of.y, of.height)) {}
  FC_DEVICE int at(int i) const { return rows * inside<KX>((x + i) / STEP, width); }
  // Positions of a window of N around `at` that are in a signal of so many.
  template <int N> static FC_DEVICE int inside(int at, int all) {
    return min(at - N / 2 + N, all) - max(at - N / 2, 0);
  }
};

// One statistic of each channel in windows of KX x KY samples of type DTYPE (fc_dtype), of images, KX / 2
// columns and KY / 2 rows of which lie before the output's own; as the type OUT, which is DTYPE or FC_F32.
// SHRINKS: of the samples that are in the signal.
template <int WHICH, int KX, int KY, int DTYPE, int OUT, bool SHRINKS = false> struct fc_box {
  static constexpr int NX = KX, NY = KY, AREA = KX * KY;
  static constexpr bool LINE = false;
  typedef fc_statistic<WHICH, AREA, DTYPE, FC_IMAGE> statistic;
  typedef typename statistic::policy policy;
  static constexpr bool EXTREME = statistic::EXTREME, MOST = WHICH == FC_STATISTIC_MAX,
                        CODES = DTYPE < FC_F32, SQUARES = !EXTREME && !statistic::ADDS,
                        SUMS = !EXTREME && (!SQUARES || statistic::SPREAD);
  static constexpr int64_t LARGEST = statistic::MOST;
  static_assert(!EXTREME || !SHRINKS, "windows that shrink have the extremes of repeated edges");
  static_assert(EXTREME || OUT == FC_F32 || (OUT == DTYPE && WHICH != FC_STATISTIC_VAR),
                "variances are out of the samples' range");
  static_assert(EXTREME || (CODES && (!SQUARES || LARGEST * LARGEST * AREA <= 0xffffffff)), "32 bits");
  // Rows' sums are floats first, which hold them exactly.
  static_assert(EXTREME || LARGEST * LARGEST * (SQUARES ? KX : 0) < 1 << 22, "rows' squares");
  static_assert(EXTREME || LARGEST * KX < 1 << 22, "rows' sums");
  // What is kept as pairs: extremes and sums of rows, and sums of windows.
  static constexpr bool PAIRS = EXTREME ? CODES : DTYPE == FC_U8 && LARGEST * KX <= 65535,
                        SUM_PAIRS = PAIRS && LARGEST * AREA <= 65535;

  // What numbers are added to, so that the last of their bits are those of an integer, or of 16.
  static constexpr float ZERO = 12582912.f, BIAS = 8388608.f + (EXTREME && DTYPE == FC_I16 ? 32768.f : 0.f);

  static FC_DEVICE float join(float a, float b) {
    return !EXTREME ? a + b : MOST ? fc_most(a, b) : fc_least(a, b);
  }

  // What a thread keeps from row to row. Rings have a row's words of all threads, then the next row's.
  template <int V, int THREADS> struct kept {
    static constexpr int WORDS = EXTREME || SUMS ? fc_box_row<V, PAIRS>::WORDS : 0, // of sums
        MORE = SQUARES ? V : 0;                                                     // of squares
    uint32_t *room;
    int at;                                         // row of the rings where the window's first is
    fc_box_row<V, EXTREME ? PAIRS : SUM_PAIRS> sum; // or extremes of this block of rows
    uint32_t squares[V];

    FC_DEVICE uint32_t *row(int i) const {
      return room + (i * THREADS + static_cast<int>(threadIdx.x)) * WORDS;
    }
    FC_DEVICE uint32_t *row_of_squares(int i) const {
      return room + KY * THREADS * WORDS + (i * THREADS + static_cast<int>(threadIdx.x)) * MORE;
    }
    FC_DEVICE void begin() {
      __shared__ __align__(16) uint32_t all[KY * THREADS * (WORDS + MORE)];
      room = all, at = 0;
      if constexpr (!EXTREME) {
#pragma unroll
        for (int i = 0; i < sum.WORDS; i++) sum.word[i] = 0;
#pragma unroll
        for (int i = 0; i < V; i++) squares[i] = 0;
#pragma unroll 1
        for (int i = 0; i < KY; i++) {
#pragma unroll
          for (int k = 0; k < WORDS; k++) row(i)[k] = 0;
#pragma unroll
          for (int k = 0; k < MORE; k++) row_of_squares(i)[k] = 0;
        }
      }
    }

    static FC_DEVICE uint32_t join(uint32_t a, uint32_t b) {
      if constexpr (PAIRS) return MOST ? __vmaxu2(a, b) : __vminu2(a, b);
      return __float_as_uint(fc_box::join(__uint_as_float(a), __uint_as_float(b)));
    }
    // The extremes of the windows that end with row `now`.
    FC_DEVICE void extremes(const fc_box_row<V, PAIRS> &now, fc_box_row<V, PAIRS> &all) {
      const bool first = at == 0, last = at == KY - 1;
      fc_box_row<V, PAIRS> some;
      some.load(row(last ? at : at + 1));
#pragma unroll
      for (int i = 0; i < now.WORDS; i++) {
        sum.word[i] = first ? now.word[i] : join(sum.word[i], now.word[i]);
        all.word[i] = last ? sum.word[i] : join(sum.word[i], some.word[i]);
      }
      now.store(row(at));
      at = last ? 0 : at + 1;
      if (!last) return;
      fc_box_row<V, PAIRS> behind = now;
#pragma unroll 4
      for (int i = KY - 2; i > 0; i--) {
        some.load(row(i));
#pragma unroll
        for (int k = 0; k < now.WORDS; k++) behind.word[k] = join(some.word[k], behind.word[k]);
        behind.store(row(i));
      }
    }

    // The sums of the windows that end with row `now`: in pairs, or of their own.
    FC_DEVICE void add_sums(const fc_box_row<V, PAIRS> &now) {
      fc_box_row<V, PAIRS> old;
      old.load(row(at)), now.store(row(at));
#pragma unroll
      for (int i = 0; i < sum.WORDS; i++)
        if constexpr (PAIRS && !SUM_PAIRS)
          sum.word[i] += half(now.word[i / 2], i) - half(old.word[i / 2], i);
        else
          sum.word[i] += now.word[i] - old.word[i];
    }
    FC_DEVICE void add_squares(const fc_box_row<V, false> &now) {
      fc_box_row<V, false> old;
      old.load(row_of_squares(at)), now.store(row_of_squares(at));
#pragma unroll
      for (int i = 0; i < V; i++) squares[i] += now.word[i] - old.word[i];
    }
    FC_DEVICE void turn() {
      at = at == KY - 1 ? 0 : at + 1;
    }
  };

  static FC_DEVICE uint32_t half(uint32_t pair, int i) {
    return i % 2 ? pair >> 16 : pair & 0xffffu;
  }
  // Numbers of a row, and back: floats that are integers, from 0 on if they are pairs.
  template <int V, bool IN_PAIRS> static FC_DEVICE fc_box_row<V, IN_PAIRS> row_of(const float (&h)[V]) {
    fc_box_row<V, IN_PAIRS> row;
#pragma unroll
    for (int i = 0; i < row.WORDS; i++)
      if constexpr (IN_PAIRS)
        row.word[i] =
            __byte_perm(__float_as_uint(h[2 * i] + BIAS), __float_as_uint(h[2 * i + 1] + BIAS), 0x5410);
      else if constexpr (EXTREME)
        row.word[i] = __float_as_uint(h[i]);
      else
        row.word[i] = __float_as_uint(h[i] + ZERO) - 0x4b400000u;
    return row;
  }
  static FC_DEVICE float value_of(uint32_t pair, int i) {
    return __uint_as_float(__byte_perm(pair, 0x4b00u, i % 2 ? 0x5432 : 0x5410)) - BIAS;
  }

  // The statistic of a window's sum, and of its squares.
  static FC_DEVICE float mean_of(float sum) {
    constexpr float over = 1.f / AREA;
    // Of an odd number the quotient is never in the middle between two integers, nor near it.
    return OUT == FC_U8 && AREA % 2 ? sum * over : fc_mean_of(sum, AREA, over);
  }
  static FC_DEVICE float of_codes(uint32_t sum, uint32_t squares) {
    if (WHICH == FC_STATISTIC_SUM) return static_cast<float>(static_cast<int32_t>(sum));
    if (WHICH == FC_STATISTIC_SUMSQ) return static_cast<float>(squares);
    if (WHICH == FC_STATISTIC_MEAN && DTYPE == FC_U8) // a float holds it
      return mean_of(__uint_as_float(sum + 0x4b000000u) - 8388608.f);
    typedef typename fc_either<
        OUT == FC_U8, uint8_t,
        typename fc_either<OUT == FC_I16, int16_t,
                           typename fc_either<OUT == FC_U16, uint16_t, float>::type>::type>::type U;
    constexpr bool CODE = OUT != FC_F32;
    const typename statistic::sums all = {sum, squares};
    fc_dev_noted noted = {false, false}; // a mean, a root and a deviation are in the range of the samples
    bool sure = true, is = true;
    float v = statistic::template of_sums<CODE, U, FC_IMAGE, false>(all, noted, sure);
    if (!sure) v = statistic::template of_sums<CODE, U, FC_IMAGE, true>(all, noted, is);
    return CODE ? __uint_as_float(__float_as_uint(v) + 0x4b400000u) - ZERO : v;
  }

  // Of `count` samples.
  static FC_DEVICE float of_count(uint32_t sum, uint32_t squares, int count) {
    if (WHICH == FC_STATISTIC_SUM || WHICH == FC_STATISTIC_SUMSQ) return of_codes(sum, squares);
    if (WHICH == FC_STATISTIC_MEAN && DTYPE == FC_U8) {
      const float n = static_cast<float>(count);
      return fc_mean_of(static_cast<float>(sum), n, 1 / n);
    }
    return fc_code_counted<WHICH, OUT != FC_F32>({static_cast<int32_t>(sum), squares}, count);
  }

  // Outputs, given all sums.
  template <int STEP, int V>
  static FC_DEVICE void finish(fc_window_whole, const uint32_t (&sum)[V], const uint32_t (&squares)[V],
                               float (&done)[V]) {
#pragma unroll
    for (int i = 0; i < V; i++) done[i] = of_codes(sum[i], squares[i]);
  }
  template <int STEP, int V>
  static FC_DEVICE void finish(const fc_window_place &of, const uint32_t (&sum)[V],
                               const uint32_t (&squares)[V], float (&done)[V]) {
    const fc_box_counts<KX, KY, STEP> counts(of);
#pragma unroll
    for (int i = 0; i < V; i++) done[i] = of_count(sum[i], squares[i], counts.at(i));
  }

  // The same of what march.cuh has kept.
  template <int STEP, int V, int THREADS>
  FC_DEVICE void finish(const kept<V, THREADS> &k, fc_window_whole, float (&done)[V]) const {
#pragma unroll
    for (int i = 0; i < V; i++) {
      const uint32_t word = SUMS ? k.sum.word[SUM_PAIRS ? i / 2 : i] : 0;
      if constexpr (SUM_PAIRS && WHICH == FC_STATISTIC_SUM)
        done[i] = value_of(word, i);
      else if constexpr (SUM_PAIRS && WHICH == FC_STATISTIC_MEAN)
        done[i] = mean_of(value_of(word, i));
      else
        done[i] = of_codes(SUM_PAIRS ? half(word, i) : word, k.squares[i]);
    }
  }
  template <int STEP, int V, int THREADS>
  FC_DEVICE void finish(const kept<V, THREADS> &k, const fc_window_place &of, float (&done)[V]) const {
    uint32_t sum[V];
#pragma unroll
    for (int i = 0; i < V; i++) {
      const uint32_t word = SUMS ? k.sum.word[SUM_PAIRS ? i / 2 : i] : 0;
      sum[i] = SUM_PAIRS ? half(word, i) : word;
    }
    finish<STEP>(of, sum, k.squares, done);
  }

  template <int STEP, int V, int NW, int THREADS>
  FC_DEVICE void add(const float (&w)[NW], int first, kept<V, THREADS> &k, float (&done)[V]) const {
    float h[V];
    if constexpr (EXTREME || SUMS) fc_box_across<KX, STEP>(w, first, h, join);
    if constexpr (EXTREME) {
      fc_box_row<V, PAIRS> all;
      k.extremes(row_of<V, PAIRS>(h), all);
#pragma unroll
      for (int i = 0; i < V; i++)
        done[i] =
            PAIRS ? value_of(all.word[PAIRS ? i / 2 : i], i) : __uint_as_float(all.word[PAIRS ? i / 2 : i]);
    } else {
      if constexpr (SUMS) k.add_sums(row_of<V, PAIRS>(h));
      if constexpr (SQUARES) {
        float square[NW];
#pragma unroll
        for (int i = 0; i < NW; i++) square[i] = w[i] * w[i];
        fc_box_across<KX, STEP>(square, first, h, join);
        k.add_squares(row_of<V, false>(h));
      }
      k.turn();
      if constexpr (!SHRINKS) finish<STEP>(k, fc_window_whole(), done);
    }
  }
};

template <int WHICH, int KX, int KY, int DTYPE, int OUT, bool SHRINKS, int V, int THREADS>
struct fc_window_kept<fc_box<WHICH, KX, KY, DTYPE, OUT, SHRINKS>, V, THREADS> {
  typedef typename fc_box<WHICH, KX, KY, DTYPE, OUT, SHRINKS>::template kept<V, THREADS> type;
  static FC_DEVICE void begin(type &kept) { kept.begin(); }
};
template <int WHICH, int KX, int KY, int DTYPE, int OUT, bool SHRINKS>
struct fc_window_shrinks<fc_box<WHICH, KX, KY, DTYPE, OUT, SHRINKS>> {
  static constexpr bool value = SHRINKS;
};

// ---- floats --------------------------------------------------------------------------------

constexpr int FC_BOX_PART = 16; // as SUMS_PART of core/compose/vectors.c and of filters/winstat/box/sums.cu

// to[i]: the sum of N elements of w, from first + i on, STEP apart.
template <int N, int STEP, int V, int NW>
FC_DEVICE void fc_box_sum(const float (&w)[NW], int first, float (&to)[V]) {
  if constexpr (N > FC_BOX_PART) {
    float rest[V];
    fc_box_sum<FC_BOX_PART, STEP>(w, first, to);
    fc_box_sum<N - FC_BOX_PART, STEP>(w, first + FC_BOX_PART * STEP, rest);
#pragma unroll
    for (int i = 0; i < V; i++) to[i] += rest[i];
  } else {
    constexpr int FOURS = N / 4 * 4, ALL = V + (N - 1) * STEP;
    float two[ALL], four[ALL];
#pragma unroll
    for (int i = 0; i + STEP < ALL; i++) two[i] = w[first + i] + w[first + i + STEP];
#pragma unroll
    for (int i = 0; i + 3 * STEP < ALL; i++) four[i] = two[i] + two[i + 2 * STEP];
#pragma unroll
    for (int i = 0; i < V; i++) {
      if (N < 4) to[i] = N == 1 ? w[first + i] : two[N > 1 ? i : 0];
#pragma unroll
      for (int k = 0; k < FOURS; k += 4) to[i] = k ? to[i] + four[i + k * STEP] : four[i];
      if (N > 4 && N & 2) to[i] += two[N > 4 ? i + FOURS * STEP : 0];
      if (N > 1 && N & 1) to[i] += w[first + i + (N - 1) * STEP];
    }
  }
}

// One statistic of floats that follows from sums or squares. SHRINKS: of the samples that are in the signal.
template <int WHICH, int KX, int KY, bool SHRINKS = false> struct fc_box_sums {
  static constexpr int NX = KX, NY = KY;
  static constexpr bool LINE = false;
  typedef fc_statistic<WHICH, KX * KY, FC_F32, FC_IMAGE> statistic;
  static_assert(!statistic::SPREAD && !statistic::EXTREME, "sums");

  template <int STEP, int V, int NW>
  FC_DEVICE void across(const float (&w)[NW], int first, float (&h)[V]) const {
    float part[NW];
#pragma unroll
    for (int i = 0; i < NW; i++) part[i] = statistic::policy::of(w[i]);
    fc_box_sum<KX, STEP>(part, first, h);
  }
  FC_DEVICE float down(const float (&h)[KY]) const {
    float done[1];
    fc_box_sum<KY, 1>(h, 0, done);
    return done[0];
  }
  template <int STEP, int V, int NW>
  FC_DEVICE void along(const float (&h)[NW], int first, float (&done)[V]) const {
    fc_box_sum<KY, STEP>(h, first, done);
  }
  template <int STEP, int V> FC_DEVICE void finish(fc_window_whole, float (&done)[V]) const {
    float sum[V];
#pragma unroll
    for (int i = 0; i < V; i++) sum[i] = done[i];
    statistic::of_windows(sum, done);
  }

  template <int STEP, int V> FC_DEVICE void finish(const fc_window_place &of, float (&v)[V]) const {
    const fc_box_counts<KX, KY, STEP> counts(of);
#pragma unroll
    for (int i = 0; i < V; i++) v[i] = of_count(v[i], counts.at(i));
  }
  template <int STEP, class Kept, class Of, int V>
  FC_DEVICE void finish(const Kept &, const Of &of, float (&v)[V]) const {
    finish<STEP>(of, v);
  }
  static FC_DEVICE float of_count(float sum, int count) {
    const float n = static_cast<float>(count);
    return WHICH == FC_STATISTIC_MEAN  ? fc_mean_of(sum, n, 1 / n)
           : WHICH == FC_STATISTIC_RMS ? sqrtf(sum / n)
                                       : sum;
  }

  // Rows of the first part of a window, and of the rest.
  static constexpr int PART = KY < FC_BOX_PART ? KY : FC_BOX_PART, REST = KY - PART;

  // What a thread keeps from row to row: what was made of the last row (some[0]), the sums of the last two
  // and of the two that ended one row earlier, and, from some[3] on, the fours that a part has so far whose
  // first row was k rows ago; and, of a part of 4 n + 3 rows, all but its last one (rest). First parts of
  // longer windows wait in a ring until the rest is there.
  template <int V, int THREADS> struct kept {
    float some[PART > 1 ? PART - 1 : 1][V], rest[V];
    float *room;
    int at;
    FC_DEVICE void begin() {
      __shared__ __align__(16) float all[REST ? REST * THREADS * V : 4];
      room = all + static_cast<int>(threadIdx.x) * V, at = 0;
#pragma unroll
      for (int i = 0; i < V; i++) {
        rest[i] = 0;
#pragma unroll
        for (int k = 0; k + 1 < PART || k == 0; k++) some[k][i] = 0;
      }
      if (REST)
#pragma unroll 1
        for (int k = 0; k < REST; k++)
#pragma unroll
          for (int i = 0; i < V; i++) room[k * THREADS * V + i] = 0;
    }
    // The sum of N rows that ends with the one that is added; `two` and `four` end there too.
    template <int N> FC_DEVICE float ends(int i, float h, float two, float four) const {
      constexpr int FOURS = N / 4 * 4;
      return N % 4 == 0   ? (N == 4 ? four : some[N > 4 ? N - 2 : 0][i] + four)
             : N % 4 == 1 ? (N == 1 ? h : some[N > 1 ? N - 2 : 0][i] + h)
             : N % 4 == 2 ? (N == 2 ? two : some[FOURS][i] + two)
                          : (N == 3 ? some[1][i] : rest[i]) + h;
    }

    // Adds what was made of a row.
    FC_DEVICE void add(const float (&h)[V], float (&done)[V]) {
      constexpr int LAST = REST ? REST : PART, HELD = LAST % 4 == 3 && LAST > 3 ? LAST - 3 : 0;
      float *waiting = room + at * THREADS * V, first[V];
#pragma unroll
      for (int i = 0; i < V; i++) {
        const float two = some[0][i] + h[i], four = some[PART > 3 ? 2 : 0][i] + two;
        first[i] = ends<PART>(i, h[i], two, four);
        if (REST) done[i] = ends<LAST>(i, h[i], two, four);
        if (HELD) rest[i] = some[HELD][i] + two;
#pragma unroll
        for (int k = PART - 2; k > 0; k--)
          some[k][i] = k == 1 ? two : k % 4 != 3 ? some[k - 1][i] : k == 3 ? four : some[k - 1][i] + four;
        some[0][i] = h[i];
      }
#pragma unroll
      for (int i = 0; i < V; i++) done[i] = REST ? waiting[i] + done[i] : first[i];
      if (!REST) return;
      fc_window_keep(waiting, first);
      at = at + 1 < REST ? at + 1 : 0;
    }
  };

  template <int STEP, int V, int NW, int THREADS>
  FC_DEVICE void add(const float (&w)[NW], int first, kept<V, THREADS> &k, float (&done)[V]) const {
    float h[V];
    across<STEP>(w, first, h);
    k.add(h, done);
    if constexpr (!SHRINKS) finish<STEP>(fc_window_whole(), done);
  }
};

template <int WHICH, int KX, int KY, bool SHRINKS, int V, int THREADS>
struct fc_window_kept<fc_box_sums<WHICH, KX, KY, SHRINKS>, V, THREADS> {
  typedef typename fc_box_sums<WHICH, KX, KY, SHRINKS>::template kept<V, THREADS> type;
  static FC_DEVICE void begin(type &kept) { kept.begin(); }
};
template <int WHICH, int KX, int KY, bool SHRINKS>
struct fc_window_shrinks<fc_box_sums<WHICH, KX, KY, SHRINKS>> {
  static constexpr bool value = SHRINKS;
};

#endif
