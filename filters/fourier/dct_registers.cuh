// SPDX-License-Identifier: MIT
//
// dct_registers.cuh - cosine transforms of a power of two values that lie in one thread's
// registers. A type II splits into one of half the length, of the sums of opposite values, and a type
// IV of their differences; a type IV of M values is a complex Fourier transform of M/2 between two
// rotations. All steps are orthogonal but for a scale, so errors do not grow as they do with the
// secants of Lee's and related methods. Everything unrolls, and all angles are constants.
#ifndef FC_FILTERS_DCT_REGISTERS_CUH
#define FC_FILTERS_DCT_REGISTERS_CUH

#include "filters/fourier/fft_block.cuh"

// ---- constants -------------------------------------------------------------

// Sine and cosine of x from 0 to pi/4, to the last bit or so of a double.
__host__ __device__ constexpr double fc_small_sine(double x) {
  const double z = x * x;
  return x *
         (1 -
          z / 6 *
              (1 -
               z / 20 *
                   (1 -
                    z / 42 * (1 - z / 72 * (1 - z / 110 * (1 - z / 156 * (1 - z / 210 * (1 - z / 272))))))));
}
__host__ __device__ constexpr double fc_small_cosine(double x) {
  const double z = x * x;
  return 1 -
         z / 2 *
             (1 -
              z / 12 *
                  (1 - z / 30 * (1 - z / 56 * (1 - z / 90 * (1 - z / 132 * (1 - z / 182 * (1 - z / 240)))))));
}

// Cosine of 2 pi k / n for 0 <= k < n, and sine.
__host__ __device__ constexpr double fc_turn_cosine(int k, int n) {
  const double pi = 3.14159265358979323846;
  if (2 * k > n) return fc_turn_cosine(n - k, n);
  if (4 * k > n) return -fc_turn_cosine(n - 2 * k, 2 * n);
  if (8 * k > n) return fc_small_sine(pi * (n - 4 * k) / (2.0 * n));
  return fc_small_cosine(2 * pi * k / n);
}
__host__ __device__ constexpr double fc_turn_sine(int k, int n) {
  return 4 * k >= n ? fc_turn_cosine(4 * k - n, 4 * n) : fc_turn_cosine(n - 4 * k, 4 * n);
}

// The number itself, not a call: what is an argument of a template is computed by the compiler.
template <int K, int N> struct fc_turn_of {
  static constexpr double cosine = fc_turn_cosine(K % N, N), sine = fc_turn_sine(K % N, N);
};

// a times exp(-2 pi i K / N)
template <int K, int N, typename F> __device__ __forceinline__ fc_complex<F> fc_turned(fc_complex<F> a) {
  if constexpr (K % N == 0) {
    return a;
  } else {
    constexpr F c = static_cast<F>(fc_turn_of<K, N>::cosine), s = static_cast<F>(fc_turn_of<K, N>::sine);
    return {fc_fft_fma(c, a.re, s * a.im), fc_fft_fma(c, a.im, -(s * a.re))};
  }
}

// f(constant 0), f(constant 1), ... f(constant N - 1)
template <int I> struct fc_constant { static constexpr int value = I; };
template <int N, int I = 0, typename Fn> __device__ __forceinline__ void fc_each(Fn f) {
  if constexpr (I < N) {
    f(fc_constant<I>());
    fc_each<N, I + 1>(f);
  }
}

// ---- Fourier transforms ----------------------------------------------------

// H values in order, to order.
template <int H, typename F> __device__ __forceinline__ void fc_register_fft(fc_complex<F> (&z)[H]) {
  if constexpr (H == 2 || H == 4 || H == 8) {
    fc_butterfly<F, H>(z, nullptr);
  } else if constexpr (H > 8) {
    constexpr int R = H == 16 ? 4 : 8, S = H / R;
    fc_complex<F> row[R][S];
    fc_each<S>([&](auto s) {
      fc_complex<F> column[R];
#pragma unroll
      for (int r = 0; r < R; r++) column[r] = z[s.value + S * r];
      fc_butterfly<F, R>(column, nullptr);
      fc_each<R>([&](auto r) { row[r.value][s.value] = fc_turned<s.value * r.value, H>(column[r.value]); });
    });
#pragma unroll
    for (int r = 0; r < R; r++) {
      fc_register_fft<S>(row[r]);
#pragma unroll
      for (int s = 0; s < S; s++) z[r + R * s] = row[r][s];
    }
  }
}

// ---- cosine transforms -----------------------------------------------------

// Sum of x[i] cos(pi (2i + 1) (2k + 1) / 4M).
template <int M, typename F> __device__ __forceinline__ void fc_register_dct4(F (&x)[M]) {
  if constexpr (M == 1) {
    x[0] *= static_cast<F>(0.70710678118654752440);
  } else {
    constexpr int H = M / 2;
    fc_complex<F> z[H];
    fc_each<H>([&](auto i) {
      z[i.value] = fc_turned<4 * i.value + 1, 8 * M>(fc_complex<F>{x[2 * i.value], x[M - 1 - 2 * i.value]});
    });
    fc_register_fft<H>(z);
    fc_each<H>([&](auto i) {
      const fc_complex<F> y = fc_turned<i.value, 2 * M>(z[i.value]);
      x[2 * i.value] = y.re, x[M - 1 - 2 * i.value] = -y.im;
    });
  }
}

// Sum of x[i] cos(pi (2i + 1) k / 2N).
template <int N, typename F> __device__ __forceinline__ void fc_register_dct2(F (&x)[N]) {
  if constexpr (N > 1) {
    constexpr int H = N / 2;
    F sum[H], difference[H];
#pragma unroll
    for (int i = 0; i < H; i++) sum[i] = x[i] + x[N - 1 - i], difference[i] = x[i] - x[N - 1 - i];
    fc_register_dct2<H>(sum);
    fc_register_dct4<H>(difference);
#pragma unroll
    for (int i = 0; i < H; i++) x[2 * i] = sum[i], x[2 * i + 1] = difference[i];
  }
}

// Sum of x[k] cos(pi (2i + 1) k / 2N).
template <int N, typename F> __device__ __forceinline__ void fc_register_dct3(F (&x)[N]) {
  if constexpr (N > 1) {
    constexpr int H = N / 2;
    F even[H], odd[H];
#pragma unroll
    for (int i = 0; i < H; i++) even[i] = x[2 * i], odd[i] = x[2 * i + 1];
    fc_register_dct3<H>(even);
    fc_register_dct4<H>(odd);
#pragma unroll
    for (int i = 0; i < H; i++) x[i] = even[i] + odd[i], x[N - 1 - i] = even[i] - odd[i];
  }
}

#endif
