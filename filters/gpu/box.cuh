// SPDX-License-Identifier: MIT
//
// box.cuh - statistics in windows of columns and rows, an operator of the skeleton march.cuh: extremes of all
// types, and what follows from sums and squares of integers. All of them are exact in any order, so the bits
// are those of the precompiled kernels (filters/winstat).
//
// Along a row neighbouring windows share what they have in common (fc_box_across). What comes of that is kept
// in shared memory for the KY rows of a window, two numbers in a word where 16 bits suffice; a thread has its
// own columns there, and waits for no other. Sums go from window to window: the new row is added, the row
// that leaves is subtracted. Extremes are those of blocks of KY rows (van Herk 1992, Gil and Werman 1993):
// from each row to the end of the block before, found once that is complete, and from this block's beginning:
//
//     rows   [ . . . . . . ][ . . . . . . ]       cost of a row, for any KY: three comparisons, four accesses
//                   |<- window ->|
//             from row on --> <-- up to row
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

// One statistic of each channel in windows of KX x KY samples of type DTYPE (fc_dtype), of images, KX / 2
// columns and KY / 2 rows of which lie before the output's own; as the type OUT, which is DTYPE or FC_F32.
template <int WHICH, int KX, int KY, int DTYPE, int OUT> struct fc_box {
  static constexpr int NX = KX, NY = KY, AREA = KX * KY;
  static constexpr bool LINE = false;
  typedef fc_statistic<WHICH, AREA, DTYPE, FC_IMAGE> statistic;
  typedef typename statistic::policy policy;
  static constexpr bool EXTREME = statistic::EXTREME, MOST = WHICH == FC_STATISTIC_MAX,
                        CODES = DTYPE < FC_F32, SQUARES = !EXTREME && !statistic::ADDS,
                        SUMS = !EXTREME && (!SQUARES || statistic::SPREAD);
  static constexpr int64_t LARGEST = statistic::MOST;
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
  }
};

template <int WHICH, int KX, int KY, int DTYPE, int OUT, int V, int THREADS>
struct fc_window_kept<fc_box<WHICH, KX, KY, DTYPE, OUT>, V, THREADS> {
  typedef typename fc_box<WHICH, KX, KY, DTYPE, OUT>::template kept<V, THREADS> type;
  static FC_DEVICE void begin(type &kept) { kept.begin(); }
};

#endif
