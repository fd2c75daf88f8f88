// SPDX-License-Identifier: MIT
//
// complex.cuh - complex numbers of transforms, in float and double. Compiled by nvcc and NVRTC without
// contraction: a fused multiply-add is written where one is wanted.
#ifndef FC_FILTERS_COMPLEX_CUH
#define FC_FILTERS_COMPLEX_CUH

#include <cuda_runtime.h>

template <typename F> struct alignas(2 * sizeof(F)) fc_complex { F re, im; };

__device__ __forceinline__ float fc_fft_fma(float a, float b, float c) {
  return fmaf(a, b, c);
}
__device__ __forceinline__ double fc_fft_fma(double a, double b, double c) {
  return fma(a, b, c);
}

template <typename F> __device__ __forceinline__ fc_complex<F> fc_add(fc_complex<F> a, fc_complex<F> b) {
  return {a.re + b.re, a.im + b.im};
}
template <typename F> __device__ __forceinline__ fc_complex<F> fc_subtract(fc_complex<F> a, fc_complex<F> b) {
  return {a.re - b.re, a.im - b.im};
}
// a - i b and a + i b
template <typename F> __device__ __forceinline__ fc_complex<F> fc_minus_i(fc_complex<F> a, fc_complex<F> b) {
  return {a.re + b.im, a.im - b.re};
}
template <typename F> __device__ __forceinline__ fc_complex<F> fc_plus_i(fc_complex<F> a, fc_complex<F> b) {
  return {a.re - b.im, a.im + b.re};
}
template <typename F> __device__ __forceinline__ fc_complex<F> fc_times(fc_complex<F> a, fc_complex<F> w) {
  return {fc_fft_fma(w.re, a.re, -(w.im * a.im)), fc_fft_fma(w.re, a.im, w.im * a.re)};
}
template <typename F> __device__ __forceinline__ fc_complex<F> fc_conjugate(fc_complex<F> a) {
  return {a.re, -a.im};
}

#endif
