// SPDX-License-Identifier: MIT
//
// statistic.cuh - parts of the skeletons slide.cuh, running.cuh and extremes.cuh: the partial statistics of
// some samples of a window (a piece), joining two pieces, and the statistic of a whole window; as in
// winstat.h, with the bits of the precompiled kernels (filters/winstat).
//
// A policy has a type `piece` and none(), of(sample), join(a, b) with a before b, and counted(piece,
// samples), which sets a known count. SHARED: joining takes a division by counts, which each lane knows from
// where it is, and has in a table; join_by(a, b, share) uses it.
// Sums of codes are exact (running.cuh), extremes the same in any order (extremes.cuh).
#ifndef FC_FILTERS_GPU_STATISTIC_CUH
#define FC_FILTERS_GPU_STATISTIC_CUH

#include "filters/gpu/moments.cuh"

// fc_winstat_stat of winstat.h.
constexpr int FC_STATISTIC_SUM = 0, FC_STATISTIC_SUMSQ = 1, FC_STATISTIC_MEAN = 2, FC_STATISTIC_VAR = 3,
              FC_STATISTIC_STD = 4, FC_STATISTIC_RMS = 5, FC_STATISTIC_MIN = 6, FC_STATISTIC_MAX = 7;

// ---- pieces --------------------------------------------------------------------

// The part that b has of a and b, and that times a's count; 0 and 0 if there is no b, 1 and 0 if there is no
// a.
struct fc_share {
  float share, weight;
};
FC_DEVICE constexpr fc_share fc_share_of(int a, int b) {
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

// The same of packed words (extremes.cuh): a float, or two codes of 16 bits.
template <bool MOST, typename code> struct fc_extreme_words {
  static FC_DEVICE uint32_t join(uint32_t a, uint32_t b) {
    if constexpr (sizeof(code) == 4)
      return __float_as_uint(fc_piece_extreme<MOST>::join(__uint_as_float(a), __uint_as_float(b)));
    else if constexpr (std::is_signed<code>::value)
      return MOST ? __vmaxs2(a, b) : __vmins2(a, b);
    else
      return MOST ? __vmaxu2(a, b) : __vminu2(a, b);
  }
  static FC_DEVICE uint32_t join(uint32_t a, uint32_t b, uint32_t c) {
#if __CUDA_ARCH__ >= 900 // one instruction
    if constexpr (sizeof(code) < 4 && std::is_signed<code>::value)
      return MOST ? __vimax3_s16x2(a, b, c) : __vimin3_s16x2(a, b, c);
    if constexpr (sizeof(code) < 4) return MOST ? __vimax3_u16x2(a, b, c) : __vimin3_u16x2(a, b, c);
#endif
    return join(join(a, b), c);
  }
};

// Of codes: exact sums, and sums of squares, of what has entered a window and not left it, modulo 2^32, or
// 2^64 where Q has that many bits; those of a whole window fit.
template <typename Q, bool SUMS, bool SQUARES> struct fc_running_sums {
  uint32_t sum;
  Q squares;
  FC_DEVICE void change(int in, int out) {
    const int32_t more = in - out;
    if (SUMS) sum += static_cast<uint32_t>(more);
    if (SQUARES && sizeof(Q) == 4) squares += static_cast<uint32_t>(more) * static_cast<uint32_t>(in + out);
    if (SQUARES && sizeof(Q) == 8) squares += static_cast<Q>(static_cast<int64_t>(more) * (in + out));
  }
  // Those of four codes that `bytes`, all bits of each, chooses.
  template <bool SIGNED> FC_DEVICE void add_bytes(uint32_t word, uint32_t bytes) {
    static_assert(sizeof(Q) == 4 || !SQUARES, "32 bits");
    const uint32_t ones = bytes & 0x01010101u, some = word & bytes;
    const auto signed_sum = [](uint32_t a, uint32_t b, uint32_t more) {
      return static_cast<uint32_t>(
          __dp4a(static_cast<int32_t>(a), static_cast<int32_t>(b), static_cast<int32_t>(more)));
    };
    if (SUMS) sum = SIGNED ? signed_sum(word, ones, sum) : __dp4a(word, ones, sum);
    if constexpr (SQUARES) squares = SIGNED ? signed_sum(word, some, squares) : __dp4a(word, some, squares);
  }
  FC_DEVICE void add(const fc_running_sums &v) {
    if (SUMS) sum += v.sum;
    if (SQUARES) squares += v.squares;
  }
  FC_DEVICE void subtract(const fc_running_sums &v) {
    if (SUMS) sum -= v.sum;
    if (SQUARES) squares -= v.squares;
  }
  // Those of another lane of the warp.
  FC_DEVICE fc_running_sums before(int by) const {
    return {SUMS ? __shfl_up_sync(0xffffffffu, sum, by) : 0,
            SQUARES ? __shfl_up_sync(0xffffffffu, squares, by) : 0};
  }
  FC_DEVICE fc_running_sums of_lane(int lane) const {
    return {SUMS ? __shfl_sync(0xffffffffu, sum, lane) : 0,
            SQUARES ? __shfl_sync(0xffffffffu, squares, lane) : 0};
  }
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
  static FC_DEVICE float of(float v) { return v; }
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

// The root of that for any sum that is not negative.
static __device__ __noinline__ float fc_root_slowly(float sum, float n) {
  return sqrtf(sum / n);
}

// 1 / sqrt(v), for numbers that are not denormal.
FC_DEVICE float fc_root_over(float v) {
#ifdef __CUDA_ARCH__
  float r;
  asm("rsqrt.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(v));
  return r;
#else
  return rsqrtf(v);
#endif
}

// The root, of numbers from 2^-101 on that are finite: as the compiler computes it, without a branch for
// others.
FC_DEVICE float fc_root_of(float v) {
#ifdef __CUDA_ARCH__
  const float r = fc_root_over(v), s = v * r;
  return fmaf(fmaf(-s, s, v), 0.5f * r, s);
#else
  return sqrtf(v);
#endif
}

// Integers as double: the conversion takes several times as long.
FC_DEVICE double fc_double_of(int32_t v) {
  return __hiloint2double(0x43300000, static_cast<int>(static_cast<uint32_t>(v) ^ 0x80000000u)) -
         (0x1p52 + 0x1p31);
}
FC_DEVICE double fc_double_of(uint64_t v) {
  return __hiloint2double(0x45300000, static_cast<int>(v >> 32)) - (0x1p84 + 0x1p52) +
         __hiloint2double(0x43300000, static_cast<int>(v));
}

// Square root by an approximation and a Newton step: relative error 2^-44, as that of 1 / sqrt is 2^-22.9.
FC_DEVICE double fc_root_about(uint64_t v) {
  const float about = fmaf(static_cast<float>(static_cast<uint32_t>(v >> 32)), 4294967296.f,
                           static_cast<float>(static_cast<uint32_t>(v)));
  const double d = fc_double_of(v), r = fc_root_over(fmaxf(about, 1e-20f)), s = d * r;
  return fma(0.5 * r, fma(-s, s, d), s);
}

// The statistic of codes, computed in double and to be rounded once: approximately, and by its definition
// (codes_stat of filters/winstat). Sums and squares are exact, and so is n * squares - sum * sum, which 63
// bits hold.
struct fc_code_sums {
  int64_t sum;
  uint64_t squares;
};
FC_DEVICE uint64_t fc_code_deviation(const fc_code_sums &s, int64_t n) {
  return static_cast<uint64_t>(n) * s.squares + static_cast<uint64_t>(s.sum * -s.sum);
}
template <int WHICH>
FC_DEVICE double fc_code_statistic_of(int64_t sum, uint64_t sum_of_squares, int64_t count, double scale) {
  const double n = static_cast<double>(count);
  if (WHICH == FC_STATISTIC_SUM) return static_cast<double>(sum) * scale;
  if (WHICH == FC_STATISTIC_MEAN) return static_cast<double>(sum) * scale / n;
  const double squares = static_cast<double>(sum_of_squares) * scale * scale;
  if (WHICH == FC_STATISTIC_SUMSQ) return squares;
  if (WHICH == FC_STATISTIC_RMS) return sqrt(squares / n);
  const double deviation = static_cast<double>(fc_code_deviation({sum, sum_of_squares}, count)),
               variance = deviation / n * scale * scale / n;
  return WHICH == FC_STATISTIC_STD ? sqrt(variance) : variance;
}
template <int WHICH, int WINDOW>
static __device__ __noinline__ double fc_code_statistic(int64_t sum, uint64_t sum_of_squares, double scale) {
  return fc_code_statistic_of<WHICH>(sum, sum_of_squares, WINDOW, scale);
}
template <int WHICH, int WINDOW> FC_DEVICE double fc_code_about(const fc_code_sums &s, double scale) {
  const double unit = scale * (1.0 / WINDOW);
  if (WHICH == FC_STATISTIC_SUM) return fc_double_of(static_cast<int32_t>(s.sum)) * scale;
  if (WHICH == FC_STATISTIC_MEAN) return fc_double_of(static_cast<int32_t>(s.sum)) * unit;
  if (WHICH == FC_STATISTIC_SUMSQ) return fc_double_of(s.squares) * (scale * scale);
  if (WHICH == FC_STATISTIC_RMS) return fc_root_about(s.squares) * sqrt(scale * unit);
  const uint64_t deviation = fc_code_deviation(s, WINDOW);
  return WHICH == FC_STATISTIC_STD ? fc_root_about(deviation) * unit
                                   : fc_double_of(deviation) * (unit * unit);
}

// Whether an approximation of a relative error of 2^-44 is rounded to the same float as what it stands for:
// it is not too near to the middle between two floats, where it has a 1 and 28 zeros below their bits.
FC_DEVICE bool fc_code_is_sure(double v) {
  constexpr uint32_t NEAR = 1 << 11; // of the double's last bits: 2^-42 of it, or more
  return (static_cast<uint32_t>(__double2loint(v)) & 0x1fffffffu) - (0x10000000u - NEAR) > 2 * NEAR;
}

// The float that it is rounded to, and whether that is certain. A mean whose sum is a float is a quotient of
// floats: that of doubles is never between two floats, as it is further from their middle than it is rounded.
// Sums, and means and variances by a power of two, are exact but for what the definition rounds as well.
template <int WHICH, int WINDOW, int64_t MOST>
FC_DEVICE float fc_code_float(const fc_code_sums &s, double scale, bool &sure) {
  if constexpr (WHICH == FC_STATISTIC_MEAN && MOST * WINDOW <= 1 << 24)
    return fc_mean_of(static_cast<float>(static_cast<int32_t>(s.sum)), WINDOW, 1.f / WINDOW) *
           static_cast<float>(scale);
  const double v = fc_code_about<WHICH, WINDOW>(s, scale);
  constexpr bool DIVIDES = (WINDOW & (WINDOW - 1)) != 0,
                 EXACT = WHICH == FC_STATISTIC_SUM || WHICH == FC_STATISTIC_SUMSQ ||
                         (!DIVIDES && (WHICH == FC_STATISTIC_MEAN || WHICH == FC_STATISTIC_VAR));
  if (!EXACT) sure &= fc_code_is_sure(v);
  return static_cast<float>(v);
}

// The statistic of so many codes of images, a number that the compiler does not know: as a float, or CODE, as
// the nearest integer; by its definition where the approximation is not certain.
template <int WHICH>
static __device__ __noinline__ double fc_code_counted_surely(int64_t sum, uint64_t squares, int count) {
  return fc_code_statistic_of<WHICH>(sum, squares, count, 1);
}
template <int WHICH, bool CODE> FC_DEVICE float fc_code_counted(const fc_code_sums &s, int samples) {
  constexpr double NEAR_CODES = 0x1p-20; // codes below 2^16 are wrong by 2^-28
  const int count = max(samples, 1);     // there are none beyond the ends of rows
  const double n = fc_double_of(static_cast<int32_t>(count)),
               first = static_cast<double>(1.f / static_cast<float>(count)),
               over = first * fma(-n, first, 2.0); // of a relative error of 2^-47
  double v = WHICH == FC_STATISTIC_MEAN  ? fc_double_of(static_cast<int32_t>(s.sum)) * over
             : WHICH == FC_STATISTIC_RMS ? fc_root_about(s.squares * static_cast<uint64_t>(count)) * over
             : WHICH == FC_STATISTIC_STD ? fc_root_about(fc_code_deviation(s, count)) * over
                                         : fc_double_of(fc_code_deviation(s, count)) * (over * over);
  const bool sure = CODE ? fabs(fabs(v - rint(v)) - 0.5) > NEAR_CODES : fc_code_is_sure(v);
  if (!sure) v = fc_code_counted_surely<WHICH>(s.sum, s.squares, count);
  return static_cast<float>(CODE ? rint(v) : v);
}

// The nearest integer to a sum of WINDOW codes divided by WINDOW, half to even; codes are at most MOST from
// 0. The multiplication divides exactly: the quotient has 17 bits, and the factor, 2^(32 + SHIFT) / WINDOW
// rounded up, is less than WINDOW / 2^(17 + 2 log2 WINDOW) too large.
template <int N> constexpr int fc_bits = 1 + fc_bits<(N + 1) / 2>;
template <> constexpr int fc_bits<1> = 0;
template <int WINDOW, int64_t MOST> FC_DEVICE int32_t fc_code_mean(int32_t sum) {
  constexpr int SHIFT = fc_bits < WINDOW >> 7 ? 2 * fc_bits<WINDOW> - 15 : 0;
  constexpr uint64_t FACTOR = ((1ull << (32 + SHIFT)) + WINDOW - 1) / WINDOW;
  if constexpr (WINDOW == 1) return sum;
  static_assert(MOST <= 65535 && (FACTOR <= 0xffffffffu || WINDOW == 1) &&
                    (2 * MOST + 1) * WINDOW <= 0xffffffff,
                "32 bits");
  const uint32_t x = static_cast<uint32_t>(sum) + static_cast<uint32_t>(MOST * WINDOW + WINDOW / 2);
  const int32_t q = static_cast<int32_t>(__umulhi(x, static_cast<uint32_t>(FACTOR)) >> SHIFT),
                code = q - static_cast<int32_t>(MOST);
  const bool half = WINDOW % 2 == 0 && static_cast<uint32_t>(q) * WINDOW == x; // it was rounded up
  return code - (half & code & 1);
}

// The nearest integer to the root of v / N, for codes of at most MOST, 65535. R holds 4 v.
template <typename R, int64_t N_, int64_t MOST> struct fc_code_root {
  static constexpr R N = static_cast<R>(N_);
  static constexpr int bits(uint64_t v) { return v ? 1 + bits(v / 2) : 0; }
  static constexpr int LONG = bits(static_cast<uint64_t>(N_) * (MOST * MOST)),
                       SHIFT = LONG > 32 ? LONG - 32 : 0;
  // How near to a middle the root, if computed in double, could round to another integer.
  static constexpr R NEAR =
      1 + (sizeof(R) == 4 ? 0 : N * static_cast<R>(MOST * MOST) >> 44 % (8 * sizeof(R)));

  // Itself, or the integer below. From the 32 highest bits, which leave out less than 2 of v / N, the root is
  // found to 0.03 of what they say; an eighth is taken off, so that the next integer is no nearer.
  static FC_DEVICE uint32_t below(R v) {
    constexpr float unit = static_cast<float>(static_cast<double>(1ull << SHIFT) / static_cast<double>(N_));
    const float x = fmaf(static_cast<float>(static_cast<uint32_t>(v >> SHIFT)), unit, 1e-20f),
                root = fmaf(x, fc_root_over(x), -0.125f);
    return __float_as_uint(root + 12582912.f) - 0x4b400000u;
  }

  // The root is nearer to c + 1 if v > N (c + 1/2)^2. False: that is too close to say. In 32 bits it never
  // is: the definition computes the middle itself, of which no step is rounded, and rounds it half to even.
  static FC_DEVICE bool nearest(R v, uint32_t c, int32_t &code) {
    typedef typename fc_either<sizeof(R) == 4, int32_t, int64_t>::type S;
    constexpr bool LOW = MOST <= 46340; // c * (c + 1) is an int32_t: one multiplication and addition
    const R beyond =
        LOW ? v + static_cast<R>(static_cast<S>(static_cast<int32_t>(c * ~c)) * static_cast<S>(N))
            : v - N * (c * (c + 1));
    if constexpr (sizeof(R) == 4) {
      const int32_t over = static_cast<int32_t>(beyond - N / 4);
      code = static_cast<int32_t>(c) + (over > 0 || (N % 4 == 0 && over == 0 && c % 2));
      return true;
    }
    const R over = beyond - (N / 4 - NEAR);
    code = static_cast<int32_t>(c) + (static_cast<S>(over) >= 0);
    return over > 2 * NEAR + 1;
  }

  // The same without such margins. Negative if it is too close even so.
  static FC_DEVICE int32_t exactly(R v, uint32_t c) {
    const R odd = 2 * c + 1, high = N * (odd * odd), low = high - 8 * N * c, four = 4 * v;
    const R sure = sizeof(R) == 4 ? 0 : four >> 44 % (8 * sizeof(R));
    if ((four > high ? four - high : high - four) <= sure || (four > low ? four - low : low - four) <= sure)
      return -1;
    return static_cast<int32_t>(c) + (four > high) - (four < low && c > 0);
  }
};

// What a root is taken of, for codes up to MOST: squares / WINDOW, or the deviation.
template <int WHICH, int WINDOW, int64_t MOST> struct fc_code_roots {
  static constexpr bool RMS = WHICH == FC_STATISTIC_RMS;
  static constexpr int64_t N = RMS ? WINDOW : static_cast<int64_t>(WINDOW) * WINDOW, LARGEST = 2 * MOST + 3;
  static constexpr bool SHORT =
      N < 0x7fffffff && LARGEST * LARGEST < 0x7fffffff && N * LARGEST * LARGEST < 0xffffffff;
  typedef typename fc_either<SHORT, uint32_t, uint64_t>::type number;
  typedef fc_code_root<number, N, MOST> root;
  static FC_DEVICE number of(const fc_code_sums &s) {
    return static_cast<number>(RMS ? s.squares : fc_code_deviation(s, WINDOW));
  }
};

// The nearest integer to the statistic times `inverse`, computed by its definition.
template <int WHICH, int WINDOW>
FC_DEVICE int32_t fc_code_by_definition(const fc_code_sums &s, double scale, double inverse) {
  const double r = rint(fc_code_statistic<WHICH, WINDOW>(s.sum, s.squares, scale) * inverse);
  return static_cast<int32_t>(r < -1e6 ? -1e6 : r > 1e6 ? 1e6 : r);
}

// The code of U that it is rounded to, and whether that is certain; SURELY: it is. SAME: integers of one
// scale on both sides, here from LEAST on.
template <int WHICH, int WINDOW, int64_t LEAST, int64_t MOST, bool SURELY, bool SAME, typename U, int KU>
FC_DEVICE float fc_code_code(const fc_code_sums &s, double scale, fc_dev_noted &noted, bool &sure) {
  constexpr fc_dev_map<double> map = fc_map_scaling<double, U, KU>();
  constexpr int32_t LOW = fc_dev_limits<U>::low - map.bias, HIGH = fc_dev_limits<U>::high - map.bias;
  constexpr bool MEAN = SAME && WHICH == FC_STATISTIC_MEAN,
                 ROOT = SAME && (WHICH == FC_STATISTIC_RMS || WHICH == FC_STATISTIC_STD);
  int32_t code = 0;
  if constexpr (MEAN) {
    code = fc_code_mean<WINDOW, MOST>(static_cast<int32_t>(s.sum));
  } else if constexpr (ROOT) {
    typedef fc_code_roots<WHICH, WINDOW, MOST> roots;
    const typename roots::number v = roots::of(s);
    const uint32_t c = roots::root::below(v);
    sure &= roots::root::nearest(v, c, code);
    if (SURELY) code = roots::root::exactly(v, c);
    if (SURELY && code < 0) code = fc_code_by_definition<WHICH, WINDOW>(s, scale, map.inverse);
  } else {
    code = fc_code_by_definition<WHICH, WINDOW>(s, scale, map.inverse);
  }
  int32_t held = code;
  if (!ROOT && !(MEAN && LEAST >= LOW)) held = max(held, LOW);
  if (!(ROOT && MOST <= HIGH) && !(MEAN && (LEAST < 0 ? -LEAST - 1 : MOST) <= HIGH)) held = min(held, HIGH);
  noted.clipped |= held != code;
  return __uint_as_float(static_cast<uint32_t>(held + map.bias));
}

// ---- the operator -----------------------------------------------------------------------

// One statistic of each channel in windows of WINDOW samples, WINDOW / 2 of them before the output's own.
// DTYPE and KIND: of the samples that it reads.
template <int WHICH, int WINDOW, int DTYPE, int KIND> struct fc_statistic {
  static constexpr int NX = WINDOW, KIND_OF_CODES = KIND;
  static constexpr bool SPREAD = WHICH == FC_STATISTIC_VAR || WHICH == FC_STATISTIC_STD,
                        EXTREME = WHICH == FC_STATISTIC_MIN || WHICH == FC_STATISTIC_MAX,
                        CODES = DTYPE < FC_F32 && !EXTREME;
  static constexpr bool MOMENTS = SPREAD && !CODES; // moments.cuh
  static constexpr int64_t MOST = DTYPE == FC_U8    ? (KIND == FC_AUDIO ? 128 : 255)
                                  : DTYPE == FC_I16 ? 32768
                                                    : 65535;
  static_assert(!EXTREME || DTYPE == FC_U8 || DTYPE == FC_I16 || DTYPE == FC_U16 || DTYPE == FC_F32,
                "a type that extremes are kept in");
  static_assert(!CODES || MOST * WINDOW < 0x7fffffff, "a sum has 32 bits");
  typedef
      typename fc_either<(MOST * MOST * WINDOW < 0x7fffffff), uint32_t, unsigned long long>::type square_type;
  static constexpr bool ADDS = WHICH == FC_STATISTIC_SUM || WHICH == FC_STATISTIC_MEAN;
  typedef fc_running_sums<square_type, SPREAD || ADDS, !ADDS> sums; // of codes
  typedef typename fc_either<
      EXTREME, fc_piece_extreme<WHICH == FC_STATISTIC_MAX>,
      typename fc_either<MOMENTS, fc_piece_spread,
                         typename fc_either<ADDS, fc_piece_sum, fc_piece_squares>::type>::type>::type policy;

  static constexpr int64_t LEAST = DTYPE != FC_I16 && KIND != FC_AUDIO ? 0 : DTYPE == FC_U8 ? -128 : -32768;

  // Codes, as they are kept: from 0 on, or those of sound around it; of extremes as they are, or floats.
  static constexpr bool CENTRED = KIND == FC_AUDIO && !EXTREME;
  typedef typename fc_either<
      DTYPE == FC_F32, float,
      typename fc_either<DTYPE == FC_U8, typename fc_either<CENTRED, int8_t, uint8_t>::type,
                         typename fc_either<CENTRED || DTYPE == FC_I16, int16_t, uint16_t>::type>::type>::type
      code;
  typedef fc_extreme_words<WHICH == FC_STATISTIC_MAX, code> words; // of extremes
  static FC_DEVICE typename fc_either<DTYPE == FC_F32, float, int32_t>::type code_of(float v) {
    if constexpr (DTYPE == FC_F32) return v;
    constexpr float inverse = KIND == FC_AUDIO ? (DTYPE == FC_U8 ? 128.f : 32768.f) : 1.f;
    constexpr float bias = KIND != FC_AUDIO || CENTRED ? 0 : fc_map_scaling<float, code, FC_AUDIO>().bias;
    return static_cast<int32_t>(__float_as_uint(fmaf(v, inverse, 12582912.f + bias)) - 0x4b400000u);
  }

  // The statistic of codes: as a float, or the code of type U that it is rounded to, as its bits. `sure`
  // becomes false if that may be another; SURELY: it is certain, at length.
  template <bool CODE, typename U, int KU, bool SURELY>
  static FC_DEVICE float of_sums(const sums &v, fc_dev_noted &noted, bool &sure) {
    constexpr double scale = KIND == FC_AUDIO ? (DTYPE == FC_U8 ? 1. / 128 : 1. / 32768) : 1.;
    const fc_code_sums s = {static_cast<int32_t>(v.sum), v.squares};
    if constexpr (CODE)
      return fc_code_code<WHICH, WINDOW, LEAST, MOST, SURELY,
                          scale * fc_map_scaling<double, U, KU>().inverse == 1, U, KU>(s, scale, noted, sure);
    else if constexpr (SURELY)
      return static_cast<float>(fc_code_statistic<WHICH, WINDOW>(s.sum, s.squares, scale));
    else
      return fc_code_float<WHICH, WINDOW, MOST>(s, scale, sure);
  }

  // The statistics of windows of floats, of which v are sums, extremes or squared deviations. If one of four
  // sums is 0, as in silence and beyond the ends of rows, it is put right, and if it is very small or large,
  // computed once more.
  template <int N> static FC_DEVICE void of_windows(const float (&v)[N], float (&to)[N]) {
    constexpr float n = WINDOW, over = 1 / n;
    constexpr bool ROOT = WHICH == FC_STATISTIC_STD || WHICH == FC_STATISTIC_RMS;
    if constexpr (MOMENTS) {
#pragma unroll
      for (int k = 0; k < N; k++) to[k] = ROOT ? fc_moments_root(v[k] * over) : v[k] * over;
      return;
    }
    const auto is_usual = [](float sum) { // from 2^-80 to 2^100
      return __float_as_uint(sum) - 0x17800000u < 0x71800000u - 0x17800000u;
    };
#pragma unroll
    for (int begin = 0; begin < N; begin += 4) {
      bool usual = true;
#pragma unroll
      for (int k = begin; k < begin + 4; k++) {
        const float sum = v[k], about = sum * over;
        to[k] = WHICH == FC_STATISTIC_MEAN ? fc_mean_of(sum, n, over) : sum;
        if (!ROOT) continue;
        usual &= is_usual(sum);
        to[k] = fc_root_of(fmaf(fmaf(-about, n, sum), over, about));
      }
      if (usual) continue;
#pragma unroll
      for (int k = begin; k < begin + 4; k++) {
        if (v[k] == 0)
          to[k] = v[k];
        else if (!is_usual(v[k]))
          to[k] = fc_root_slowly(v[k], n);
      }
    }
  }
};

#endif
