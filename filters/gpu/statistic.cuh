// SPDX-License-Identifier: MIT
//
// statistic.cuh - parts of the skeleton slide.cuh: the partial statistics of some samples of a window (a
// piece), joining two pieces, and the statistic of a whole window; as in winstat.h, with the bits of the
// precompiled kernels (filters/winstat).
//
// A policy has a type `piece` and none(), of(word), join(a, b) with a before b, and counted(piece, samples),
// which sets a known count; for codes, whose sums are exact, moved(piece, out, in), the window one sample
// on. SHARED: joining takes a division by counts, which each lane knows from where it
// is, and has in a table; join_by(a, b, share) uses it. Words are samples as floats, or codes as integers
// whose bits are stored in floats. RUN is the number of consecutive samples per thread, which determines the
// order of sums.
#ifndef FC_FILTERS_GPU_STATISTIC_CUH
#define FC_FILTERS_GPU_STATISTIC_CUH

#include "filters/gpu/map.cuh"

// fc_winstat_stat of winstat.h.
constexpr int FC_STATISTIC_SUM = 0, FC_STATISTIC_SUMSQ = 1, FC_STATISTIC_MEAN = 2, FC_STATISTIC_VAR = 3,
              FC_STATISTIC_STD = 4, FC_STATISTIC_RMS = 5, FC_STATISTIC_MIN = 6, FC_STATISTIC_MAX = 7;

// ---- pieces --------------------------------------------------------------------

// The part that b has of a and b, and that times a's count; 0 and 0 if there is no b, 1 and 0 if there is no
// a.
struct fc_share {
  float share, weight;
};
FC_DEVICE fc_share fc_share_of(int a, int b) {
  const float share = b == 0 ? 0 : static_cast<float>(b) / static_cast<float>(a + b);
  return {share, b == 0 ? 0 : static_cast<float>(a) * share};
}

struct fc_piece_sum {
  static constexpr bool SHARED = false;
  typedef float piece;
  static FC_DEVICE float none() { return 0; }
  static FC_DEVICE float of(float v) { return v; }
  static FC_DEVICE float join(float a, float b) { return a + b; }
  static FC_DEVICE float counted(float v, int) { return v; }
};
struct fc_piece_squares : fc_piece_sum {
  static FC_DEVICE float of(float v) { return v * v; }
};

// -0 is less than 0, and NaN takes precedence over everything.
FC_DEVICE float fc_least(float a, float b) {
#ifdef __CUDA_ARCH__
  float least;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(least) : "f"(a), "f"(b));
  return least;
#else
  if (a != a || b != b) return __uint_as_float(0x7fffffffu);
  return a < b || (a == b && __float_as_uint(a) >> 31) ? a : b;
#endif
}
FC_DEVICE float fc_most(float a, float b) {
#ifdef __CUDA_ARCH__
  float most;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(a), "f"(b));
  return most;
#else
  if (a != a || b != b) return __uint_as_float(0x7fffffffu);
  return a > b || (a == b && __float_as_uint(b) >> 31) ? a : b;
#endif
}
template <bool MOST> struct fc_piece_extreme {
  static constexpr bool SHARED = false;
  typedef float piece;
  static FC_DEVICE float none() { return __uint_as_float(MOST ? 0xff800000u : 0x7f800000u); }
  static FC_DEVICE float of(float v) { return v; }
  static FC_DEVICE float join(float a, float b) { return MOST ? fc_most(a, b) : fc_least(a, b); }
  static FC_DEVICE float counted(float v, int) { return v; }
};

// For codes, exactly, in types that hold the sums of a window.
template <typename R> struct fc_piece_codes {
  static constexpr bool SHARED = false;
  typedef R piece;
  static FC_DEVICE R none() { return 0; }
  static FC_DEVICE R of(float word) { return static_cast<int32_t>(__float_as_uint(word)); }
  static FC_DEVICE R join(R a, R b) { return a + b; }
  static FC_DEVICE R moved(R v, R out, R in) { return v - out + in; }
  static FC_DEVICE R counted(R v, int) { return v; }
};
template <typename R> struct fc_piece_code_squares : fc_piece_codes<R> {
  static FC_DEVICE R of(float word) {
    const int32_t v = static_cast<int32_t>(__float_as_uint(word));
    return static_cast<uint32_t>(v) * static_cast<uint32_t>(v); // to 65535 either way
  }
};
template <typename R, typename Q> struct fc_sums_of_codes {
  R sum;
  Q squares;
};
template <typename R, typename Q> struct fc_piece_moments {
  static constexpr bool SHARED = false;
  typedef fc_sums_of_codes<R, Q> piece;
  static FC_DEVICE piece none() { return {0, 0}; }
  static FC_DEVICE piece of(float word) {
    return {fc_piece_codes<R>::of(word), fc_piece_code_squares<Q>::of(word)};
  }
  static FC_DEVICE piece join(const piece &a, const piece &b) {
    return {a.sum + b.sum, a.squares + b.squares};
  }
  static FC_DEVICE piece moved(const piece &v, const piece &out, const piece &in) {
    return {v.sum - out.sum + in.sum, v.squares - out.squares + in.squares};
  }
  static FC_DEVICE piece counted(const piece &v, int) { return v; }
};

// Variances of floats: `n` samples of mean p + d, p one of them, and squared deviations m (Chan, Golub,
// LeVeque 1983).
struct fc_spread {
  float p, d, m, n;
};
struct fc_piece_spread {
  static constexpr bool SHARED = true;
  typedef fc_spread piece;
  static FC_DEVICE piece none() { return {0, 0, 0, 0}; }
  static FC_DEVICE piece of(float v) { return {v, 0, v - v, 1}; }
  static FC_DEVICE piece join(const piece &a, const piece &b) {
    if (a.n == 0 || b.n == 0) return a.n == 0 ? b : a;
    const float share = b.n / (a.n + b.n);
    return joined(a, b, {share, a.n * share});
  }
  // A: a may be missing, B: b may be.
  template <bool A, bool B>
  static FC_DEVICE piece join_by(const piece &a, const piece &b, const fc_share &s) {
    const piece both = joined(a, b, s);
    const bool some = s.weight != 0, last = B ? A && s.share != 0 : true;
    return {some   ? both.p
            : last ? b.p
                   : a.p,
            some   ? both.d
            : last ? b.d
                   : a.d,
            some   ? both.m
            : last ? b.m
                   : a.m,
            0};
  }
  static FC_DEVICE piece joined(const piece &a, const piece &b, const fc_share &s) {
    const float apart = (b.p - a.p) + (b.d - a.d);
    return {a.p, a.d + apart * s.share, (a.m + b.m) + apart * (apart * s.weight), a.n + b.n};
  }
  // If a count follows from the position, quotients of counts are the same for all tiles.
  static FC_DEVICE piece counted(const piece &v, int n) { return {v.p, v.d, v.m, static_cast<float>(n)}; }
};

// ---- lanes -----------------------------------------------------------------------

// The piece of another lane, which move(word) transfers.
template <class Move> FC_DEVICE float fc_lane(float v, Move move) {
  return move(v);
}
template <class Move> FC_DEVICE int32_t fc_lane(int32_t v, Move move) {
  return move(v);
}
template <class Move> FC_DEVICE uint32_t fc_lane(uint32_t v, Move move) {
  return move(v);
}
template <class Move> FC_DEVICE unsigned long long fc_lane(unsigned long long v, Move move) {
  return move(v);
}
template <typename R, typename Q, class Move>
FC_DEVICE fc_sums_of_codes<R, Q> fc_lane(const fc_sums_of_codes<R, Q> &v, Move move) {
  return {move(v.sum), move(v.squares)};
}
template <class Move> FC_DEVICE fc_spread fc_lane(const fc_spread &v, Move move) {
  return {move(v.p), move(v.d), move(v.m), v.n}; // to be counted
}

constexpr unsigned FC_ALL_LANES = 0xffffffffu;
template <class R> FC_DEVICE R fc_lane_before(const R &v, int by) {
  return fc_lane(v, [&](auto word) { return __shfl_up_sync(FC_ALL_LANES, word, by); });
}
template <class R> FC_DEVICE R fc_lane_behind(const R &v, int by) {
  return fc_lane(v, [&](auto word) { return __shfl_down_sync(FC_ALL_LANES, word, by); });
}
template <class R> FC_DEVICE R fc_lane_first(const R &v) {
  return fc_lane(v, [&](auto word) { return __shfl_sync(FC_ALL_LANES, word, 0); });
}

// ---- what a window's says ------------------------------------------------------------

// sum / n, correctly rounded except for the smallest numbers (Markstein 1990): from 1 / n, corrected by the
// remainder, which is not used for infinities.
FC_DEVICE float fc_mean_of(float sum, float n, float over) {
  const float q = sum * over, exact = fmaf(fmaf(-q, n, sum), over, q);
  return fabsf(q) < __uint_as_float(0x7f800000u) ? exact : q;
}

// The same for any sum that is not negative.
static __device__ __noinline__ float fc_quotient(float sum, float n) {
  return sum / n;
}
FC_DEVICE float fc_quotient_of(float sum, float n, float over) {
  const float mean = fc_mean_of(sum, n, over);
  return mean > 0x1p-100f ? mean : fc_quotient(sum, n);
}

// Square root by an approximation and a Newton step: relative error about 1e-13.
FC_DEVICE double fc_root_about(double v) {
  if (v < 1e-30) return sqrt(v);
  const double r = rsqrtf(static_cast<float>(v)), s = v * r;
  return s + 0.5 * r * (v - s * s);
}

// The statistic of codes, computed in double and to be rounded once: approximately, and by its definition
// (codes_stat of filters/winstat). Sums and squares are exact, and so is n * squares - sum * sum, which 63
// bits hold.
struct fc_code_sums {
  int64_t sum;
  uint64_t squares;
};
FC_DEVICE double fc_code_deviation(const fc_code_sums &s, int64_t n) {
  return static_cast<double>(static_cast<int64_t>(n * s.squares - static_cast<uint64_t>(s.sum * s.sum)));
}
template <int WHICH, int WINDOW>
static __device__ __noinline__ double fc_code_statistic(int64_t sum, uint64_t sum_of_squares, double scale) {
  const double n = WINDOW;
  if (WHICH == FC_STATISTIC_SUM) return static_cast<double>(sum) * scale;
  if (WHICH == FC_STATISTIC_MEAN) return static_cast<double>(sum) * scale / n;
  const double squares = static_cast<double>(sum_of_squares) * scale * scale;
  if (WHICH == FC_STATISTIC_SUMSQ) return squares;
  if (WHICH == FC_STATISTIC_RMS) return sqrt(squares / n);
  const double variance = fc_code_deviation({sum, sum_of_squares}, WINDOW) / n * scale * scale / n;
  return WHICH == FC_STATISTIC_STD ? sqrt(variance) : variance;
}
template <int WHICH, int WINDOW> FC_DEVICE double fc_code_about(const fc_code_sums &s, double scale) {
  const double unit = scale * (1.0 / WINDOW);
  if (WHICH == FC_STATISTIC_SUM) return static_cast<double>(s.sum) * scale;
  if (WHICH == FC_STATISTIC_MEAN) return static_cast<double>(s.sum) * unit;
  if (WHICH == FC_STATISTIC_SUMSQ)
    return static_cast<double>(static_cast<int64_t>(s.squares)) * scale * scale;
  if (WHICH == FC_STATISTIC_RMS)
    return fc_root_about(static_cast<double>(static_cast<int64_t>(s.squares)) * scale * unit);
  const double deviation = fc_code_deviation(s, WINDOW);
  return WHICH == FC_STATISTIC_STD ? fc_root_about(deviation) * unit : deviation * unit * unit;
}

// The float, or the code, that it is rounded to. If the approximation is not certain to be right, it is
// computed by the definition. A mean whose sum is a float is a quotient of floats: that of doubles is never
// between two floats, as it is further from their middle than it is rounded.
constexpr double FC_CODE_SURE = 1e-11;
template <int WHICH, int WINDOW, int64_t MOST>
FC_DEVICE float fc_code_float(const fc_code_sums &s, double scale) {
  if constexpr (WHICH == FC_STATISTIC_MEAN && MOST * WINDOW <= 1 << 24)
    return fc_mean_of(static_cast<float>(static_cast<int32_t>(s.sum)), WINDOW, 1.f / WINDOW) *
           static_cast<float>(scale);
  const double v = fc_code_about<WHICH, WINDOW>(s, scale), off = FC_CODE_SURE * fabs(v);
  const float low = static_cast<float>(v - off), high = static_cast<float>(v + off);
  return low == high ? low : static_cast<float>(fc_code_statistic<WHICH, WINDOW>(s.sum, s.squares, scale));
}

// The nearest integer to a sum of WINDOW codes divided by WINDOW, half to even; codes are at most MOST from
// 0. The multiplication divides exactly: the quotient has 17 bits, and the factor, 2^(32 + SHIFT) / WINDOW
// rounded up, is less than WINDOW / 2^(17 + 2 log2 WINDOW) too large.
template <int N> constexpr int fc_bits = 1 + fc_bits<(N + 1) / 2>;
template <> constexpr int fc_bits<1> = 0;
template <int WINDOW, int64_t MOST> FC_DEVICE int32_t fc_code_mean(int32_t sum) {
  constexpr int SHIFT = fc_bits < WINDOW >> 7 ? 2 * fc_bits<WINDOW> - 15 : 0;
  constexpr uint64_t FACTOR = ((1ull << (32 + SHIFT)) + WINDOW - 1) / WINDOW;
  static_assert(MOST <= 65535 && FACTOR <= 0xffffffffu && (2 * MOST + 1) * WINDOW <= 0xffffffff, "32 bits");
  const uint32_t x = static_cast<uint32_t>(sum) + static_cast<uint32_t>(MOST * WINDOW + WINDOW / 2);
  const int32_t q = static_cast<int32_t>(__umulhi(x, static_cast<uint32_t>(FACTOR)) >> SHIFT),
                code = q - static_cast<int32_t>(MOST);
  const bool half = WINDOW % 2 == 0 && static_cast<uint32_t>(q) * WINDOW == x; // it was rounded up
  return code - (half & code & 1);
}

FC_DEVICE float fc_float_about(uint64_t v) {
  return fmaf(static_cast<float>(static_cast<uint32_t>(v >> 32)), 4294967296.f,
              static_cast<float>(static_cast<uint32_t>(v)));
}
FC_DEVICE float fc_float_about(uint32_t v) {
  return static_cast<float>(v);
}

// The nearest integer to the root of v / N, for codes of at most 65535, from c, which is at most 1 from it. R
// holds 4 v. Negative if the root computed in double could round to another.
template <typename R, int64_t N_>
static __device__ __noinline__ int32_t fc_code_root_exactly(R v, uint32_t c) {
  constexpr R N = static_cast<R>(N_);
  const R odd = 2 * c + 1, high = N * (odd * odd), low = high - 8 * N * c, four = 4 * v;
  const R sure = sizeof(R) == 4 ? 0 : four >> 44 % (8 * sizeof(R));
  if ((four > high ? four - high : high - four) <= sure || (four > low ? four - low : low - four) <= sure)
    return -1;
  return static_cast<int32_t>(c) + (four > high) - (four < low && c > 0);
}

// An approximation, to 2^-22 of itself, is mostly far enough from the middle between two codes.
template <typename R, int64_t N> FC_DEVICE int32_t fc_code_root(R v) {
  const float x = fc_float_about(v) * (1.f / static_cast<float>(N)), r = rsqrtf(fmaxf(x, 1e-20f)), s = x * r;
  const float root = fmaf(fmaf(-s, s, x), 0.5f * r, s), about = root + 12582912.f;
  const uint32_t c = __float_as_uint(about) - 0x4b400000u;
  if (fabsf(root - (about - 12582912.f)) < fmaf(root, -0x1.8p-22f, 0.5f)) return static_cast<int32_t>(c);
  return fc_code_root_exactly<R, N>(v, c);
}

// The nearest integer to the mean, to the root of squares / WINDOW, or of the deviation, of codes up to MOST.
template <int WHICH, int WINDOW, int64_t MOST>
FC_DEVICE bool fc_code_nearest(const fc_code_sums &s, int32_t &code) {
  if constexpr (WHICH == FC_STATISTIC_MEAN) {
    code = fc_code_mean<WINDOW, MOST>(static_cast<int32_t>(s.sum));
    return true;
  } else {
    constexpr bool RMS = WHICH == FC_STATISTIC_RMS;
    constexpr int64_t N = RMS ? WINDOW : static_cast<int64_t>(WINDOW) * WINDOW, LARGEST = 2 * MOST + 3;
    const uint64_t v = RMS ? s.squares : WINDOW * s.squares - static_cast<uint64_t>(s.sum * s.sum);
    if constexpr (N < 0x7fffffff && LARGEST * LARGEST < 0x7fffffff && N * LARGEST * LARGEST < 0xffffffff)
      code = fc_code_root<uint32_t, N>(static_cast<uint32_t>(v));
    else
      code = fc_code_root<uint64_t, N>(v);
    return code >= 0;
  }
}

// INSIDE: it is certainly one of U's.
template <int WHICH, int WINDOW, int64_t MOST, bool INSIDE, typename U, int KU>
FC_DEVICE float fc_code_code(const fc_code_sums &s, double scale, fc_dev_noted &noted) {
  constexpr fc_dev_map<double> map = fc_map_scaling<double, U, KU>();
  int32_t code = 0;
  bool sure = false;
  if constexpr (WHICH == FC_STATISTIC_MEAN || WHICH == FC_STATISTIC_RMS || WHICH == FC_STATISTIC_STD)
    if (scale * map.inverse == 1)
      sure = fc_code_nearest<WHICH, WINDOW, MOST>(s, code); // known to the compiler
  if (!sure) {
    const double r = rint(fc_code_statistic<WHICH, WINDOW>(s.sum, s.squares, scale) * map.inverse);
    code = static_cast<int32_t>(r < -1e6 ? -1e6 : r > 1e6 ? 1e6 : r);
  }
  if (INSIDE) return __uint_as_float(static_cast<uint32_t>(code + map.bias));
  const int32_t held = min(max(code, fc_dev_limits<U>::low - map.bias), fc_dev_limits<U>::high - map.bias);
  noted.clipped |= held != code;
  return __uint_as_float(static_cast<uint32_t>(held + map.bias));
}

// ---- the operator -----------------------------------------------------------------------

// One statistic of each channel in windows of WINDOW samples, WINDOW / 2 of them before the output's own.
// DTYPE and KIND: of the samples that it reads.
template <int WHICH, int WINDOW, int DTYPE, int KIND> struct fc_statistic {
  static constexpr int NX = WINDOW;
  static constexpr bool SPREAD = WHICH == FC_STATISTIC_VAR || WHICH == FC_STATISTIC_STD,
                        EXTREME = WHICH == FC_STATISTIC_MIN || WHICH == FC_STATISTIC_MAX,
                        CODES = DTYPE < FC_F32 && !EXTREME;
  static constexpr int RUN = SPREAD && !CODES ? 4 : 16;
  static constexpr int64_t MOST = DTYPE == FC_U8    ? (KIND == FC_AUDIO ? 128 : 255)
                                  : DTYPE == FC_I16 ? 32768
                                                    : 65535;
  typedef typename fc_either<(MOST * WINDOW < 0x7fffffff), int32_t, unsigned long long>::type sum_type;
  typedef
      typename fc_either<(MOST * MOST * WINDOW < 0x7fffffff), uint32_t, unsigned long long>::type square_type;
  typedef typename fc_either<
      CODES,
      typename fc_either<
          SPREAD, fc_piece_moments<sum_type, square_type>,
          typename fc_either<WHICH == FC_STATISTIC_SUM || WHICH == FC_STATISTIC_MEAN,
                             fc_piece_codes<sum_type>, fc_piece_code_squares<square_type>>::type>::type,
      typename fc_either<
          EXTREME, fc_piece_extreme<WHICH == FC_STATISTIC_MAX>,
          typename fc_either<SPREAD, fc_piece_spread,
                             typename fc_either<WHICH == FC_STATISTIC_SUM || WHICH == FC_STATISTIC_MEAN,
                                                fc_piece_sum, fc_piece_squares>::type>::type>::type>::type
      policy;
  typedef typename policy::piece piece;

  // A sample as it is stored in shared memory.
  static FC_DEVICE float keep(float v) {
    if (!CODES) return v;
    constexpr float inverse = KIND == FC_AUDIO ? (DTYPE == FC_U8 ? 128.f : 32768.f) : 1.f;
    return __uint_as_float(__float_as_uint(fmaf(v, inverse, 12582912.f)) - 0x4b400000u);
  }

  static FC_DEVICE fc_code_sums sums_of(int32_t v) { return {v, static_cast<uint64_t>(v)}; }
  static FC_DEVICE fc_code_sums sums_of(uint32_t v) { return {v, v}; }
  static FC_DEVICE fc_code_sums sums_of(unsigned long long v) { return {static_cast<int64_t>(v), v}; }
  template <typename R, typename Q> static FC_DEVICE fc_code_sums sums_of(const fc_sums_of_codes<R, Q> &v) {
    return {static_cast<int64_t>(v.sum), v.squares};
  }

  // The statistic of a window's piece: as a float, or the code of type U that it is rounded to, as its bits.
  template <bool CODE, typename U, int KU>
  static FC_DEVICE float of_window(const piece &v, fc_dev_noted &noted) {
    constexpr float n = WINDOW, over = 1 / n;
    if constexpr (CODES) {
      constexpr double scale = KIND == FC_AUDIO ? (DTYPE == FC_U8 ? 1. / 128 : 1. / 32768) : 1.;
      if constexpr (CODE)
        return fc_code_code < WHICH, WINDOW, MOST,
               WHICH == FC_STATISTIC_MEAN && fc_map_dtype<U> == DTYPE &&
                   (KIND == FC_AUDIO) == (KU == FC_AUDIO),
               U, KU > (sums_of(v), scale, noted);
      else
        return fc_code_float<WHICH, WINDOW, MOST>(sums_of(v), scale);
    } else if constexpr (SPREAD) {
      const float variance = fc_quotient_of(v.m, n, over);
      return WHICH == FC_STATISTIC_STD ? sqrtf(variance) : variance;
    } else {
      return WHICH == FC_STATISTIC_MEAN  ? fc_mean_of(v, n, over)
             : WHICH == FC_STATISTIC_RMS ? sqrtf(fc_quotient_of(v, n, over))
                                         : v;
    }
  }
};

#endif
