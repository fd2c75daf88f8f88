// SPDX-License-Identifier: MIT
//
// pieces.cuh - the partial statistics of some samples of a window (a piece), and joining two of them; see
// winstat_kernels.h for the arithmetic.
//
// A piece P has: P::real, the type of its statistics; P::sample, that of a sample; P::none(), the piece of no
// samples; P::of(sample); P::join(a, b), a ahead of b in the signal; p.stat(which, n, scale). Additions and
// products are never fused: a value must not depend on which loop of a kernel computed it.
#ifndef FC_FILTERS_WINSTAT_PIECES_CUH
#define FC_FILTERS_WINSTAT_PIECES_CUH

#include <math_constants.h>

#include "filters/gpu/cuda.cuh"
#include "filters/winstat/winstat.h"
#include "filters/winstat/winstat_math.h"

namespace winstat {

__device__ __forceinline__ float plus(float a, float b) {
  return __fadd_rn(a, b);
}
__device__ __forceinline__ double plus(double a, double b) {
  return __dadd_rn(a, b);
}
__device__ __forceinline__ float times(float a, float b) {
  return __fmul_rn(a, b);
}
__device__ __forceinline__ double times(double a, double b) {
  return __dmul_rn(a, b);
}
__device__ __forceinline__ float root(float v) {
  return sqrtf(v);
}
__device__ __forceinline__ double root(double v) {
  return sqrt(v);
}

// ---- sums of floats --------------------------------------------------------

template <typename F> struct sums {
  typedef F real;
  typedef F sample;
  F sum, squares;

  static __device__ __forceinline__ sums none() { return {F(0), F(0)}; }
  static __device__ __forceinline__ sums of(F v) { return {v, times(v, v)}; }
  static __device__ __forceinline__ sums join(const sums &a, const sums &b) {
    return {plus(a.sum, b.sum), plus(a.squares, b.squares)};
  }
  __device__ __forceinline__ F stat(int which, F n, double) const {
    switch (which) {
    case FC_WINSTAT_SUM: return sum;
    case FC_WINSTAT_SUMSQ: return squares;
    case FC_WINSTAT_MEAN: return sum / n;
    default: return root(squares / n);
    }
  }
};

// ---- sums of integers: exact -----------------------------------------------

// For 8 and 16 bits; for 32 bits, with the halves of squares separate. Their variance is that of exact sums.
struct codes {
  typedef double real;
  typedef int32_t sample;
  int64_t sum;
  uint64_t squares;

  static __device__ __forceinline__ codes none() { return {0, 0}; }
  static __device__ __forceinline__ codes of(int32_t v) {
    return {v, static_cast<uint64_t>(static_cast<int64_t>(v) * v)};
  }
  static __device__ __forceinline__ codes join(const codes &a, const codes &b) {
    return {a.sum + b.sum, a.squares + b.squares};
  }
  __device__ __forceinline__ fc_uint128 total() const { return squares; }
};

struct wide_codes {
  typedef double real;
  typedef int32_t sample;
  int64_t sum;
  uint64_t low, high;

  static __device__ __forceinline__ wide_codes none() { return {0, 0, 0}; }
  static __device__ __forceinline__ wide_codes of(int32_t v) {
    uint64_t square = static_cast<uint64_t>(static_cast<int64_t>(v) * v);
    return {v, square & 0xffffffffu, square >> 32};
  }
  static __device__ __forceinline__ wide_codes join(const wide_codes &a, const wide_codes &b) {
    return {a.sum + b.sum, a.low + b.low, a.high + b.high};
  }
  __device__ __forceinline__ fc_uint128 total() const { return (static_cast<fc_uint128>(high) << 32) + low; }
};

template <class P>
__device__ __forceinline__ double codes_stat(const P &p, int which, double n, double scale) {
  switch (which) {
  case FC_WINSTAT_SUM: return static_cast<double>(p.sum) * scale;
  case FC_WINSTAT_MEAN: return static_cast<double>(p.sum) * scale / n;
  case FC_WINSTAT_SUMSQ: return fc_winstat_double_of(p.total()) * scale * scale;
  case FC_WINSTAT_RMS: return sqrt(fc_winstat_double_of(p.total()) * scale * scale / n);
  default: break;
  }
  double spread = fc_winstat_spread(static_cast<uint64_t>(n), p.sum, p.total()) * scale * scale / n;
  return which == FC_WINSTAT_STD ? sqrt(spread) : spread;
}

// ---- variance of floats ----------------------------------------------------

// `n` samples of mean p + d, p one of them, and squared deviations m.
template <typename F> struct spread {
  typedef F real;
  typedef F sample;
  F p, d, m, n;

  static __device__ __forceinline__ spread none() { return {F(0), F(0), F(0), F(0)}; }
  static __device__ __forceinline__ spread of(F v) { return {v, F(0), v - v, F(1)}; }
  static __device__ __forceinline__ spread join(const spread &a, const spread &b) {
    if (a.n == F(0)) return b;
    if (b.n == F(0)) return a;
    F total = a.n + b.n, share = b.n / total;
    F apart = plus(plus(b.p, -a.p), plus(b.d, -a.d));
    F m = plus(plus(a.m, b.m), times(apart, times(apart, times(a.n, share))));
    return {a.p, plus(a.d, times(apart, share)), m, total};
  }
  __device__ __forceinline__ F stat(int which, F count, double) const {
    return which == FC_WINSTAT_STD ? root(m / count) : m / count;
  }
};

// ---- extremes --------------------------------------------------------------

// Minimum and maximum of two: -0 is less than 0, and NaN takes precedence over everything.
__device__ __forceinline__ float lesser(float a, float b) {
#if __CUDA_ARCH__ < 800
  if (a != a || b != b) return CUDART_NAN_F;
  return a < b || (a == b && signbit(a)) ? a : b;
#else
  float least;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(least) : "f"(a), "f"(b));
  return least;
#endif
}
__device__ __forceinline__ float greater(float a, float b) {
#if __CUDA_ARCH__ < 800
  if (a != a || b != b) return CUDART_NAN_F;
  return a > b || (a == b && signbit(b)) ? a : b;
#else
  float most;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(most) : "f"(a), "f"(b));
  return most;
#endif
}
__device__ __forceinline__ double lesser(double a, double b) {
  return a < b || a != a || (a == b && signbit(a)) ? a : b;
}
__device__ __forceinline__ double greater(double a, double b) {
  return a > b || a != a || (a == b && signbit(b)) ? a : b;
}

template <typename F> struct range {
  typedef F real;
  typedef F sample;
  F least, most;

  static __device__ __forceinline__ range none() {
    return {static_cast<F>(CUDART_INF), static_cast<F>(-CUDART_INF)};
  }
  static __device__ __forceinline__ range of(F v) { return {v, v}; }
  static __device__ __forceinline__ range join(const range &a, const range &b) {
    return {lesser(a.least, b.least), greater(a.most, b.most)};
  }
  __device__ __forceinline__ F stat(int which, F, double) const {
    return which == FC_WINSTAT_MIN ? least : most;
  }
};

struct code_range {
  typedef double real;
  typedef int32_t sample;
  int32_t least, most;

  static __device__ __forceinline__ code_range none() { return {INT32_MAX, INT32_MIN}; }
  static __device__ __forceinline__ code_range of(int32_t v) { return {v, v}; }
  static __device__ __forceinline__ code_range join(const code_range &a, const code_range &b) {
    return {min(a.least, b.least), max(a.most, b.most)};
  }
};

// ---- what kernels call -----------------------------------------------------

template <class P>
__device__ __forceinline__ typename P::real stat_of(const P &p, int which, typename P::real n, double scale) {
  return p.stat(which, n, scale);
}
__device__ __forceinline__ double stat_of(const codes &p, int which, double n, double scale) {
  return codes_stat(p, which, n, scale);
}
__device__ __forceinline__ double stat_of(const wide_codes &p, int which, double n, double scale) {
  return codes_stat(p, which, n, scale);
}
__device__ __forceinline__ double stat_of(const code_range &p, int which, double, double scale) {
  return (which == FC_WINSTAT_MIN ? p.least : p.most) * scale;
}

} // namespace winstat

#endif
