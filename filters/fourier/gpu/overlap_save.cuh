// SPDX-License-Identifier: MIT
//
// overlap_save.cuh - what the precompiled kernels of overlap.cu and those composed at run time (overlap.cuh)
// share of overlap-save: how the transform of each length is spread over threads, the product of spectra, and
// the way back. Both have the same bits, since all arithmetic on a block is here and in fft_registers.cuh.
//
// Two real signals form one complex signal, as re and im, since multiplication by the spectrum of a real
// mask does not mix them: two channels, or the halves of a block's inputs. For halves the transform's
// frequencies are a quarter below the integers. Such a transform continues a signal periodically as x[i + N]
// = -i x[i], so that re is followed by im, and one transform of N is a convolution of 2 N real values
// (right-angle circular convolution, Krot & Minervina 1989).
#ifndef FC_FILTERS_OVERLAP_SAVE_CUH
#define FC_FILTERS_OVERLAP_SAVE_CUH

#include <stdint.h>

#include "filters/fourier/gpu/fft_registers.cuh"

// Hops are multiples of it (conv1d_overlap.h), so a full window is less than that short of the transform.
constexpr int FC_OVERLAP_UNIT = 64;
// Offset of the frequencies from the integers, in quarters.
constexpr int FC_OVERLAP_SHIFT = -1;

template <typename F, typename S, bool HALVES>
constexpr int fc_exchange_bytes = static_cast<int>(
    (S::place(S::N, S::pairs && !HALVES && sizeof(F) == 4 ? 2 : 1) * sizeof(F) * (HALVES ? 1 : 2) + 15) / 16 *
    16);

// A transform's shape, groups of threads per block, whether exchanges go through half the shared memory, and
// resident blocks per multiprocessor (of 64 Ki registers).
template <typename F_, typename S_, int GROUPS, bool HALVES, int RESIDENT> struct fc_overlap_config {
  typedef F_ F;
  typedef S_ S;
  static constexpr int groups = GROUPS, threads = S::threads * GROUPS, resident = RESIDENT;
  static constexpr bool halves = HALVES;
  static constexpr int exchange = fc_exchange_bytes<F, S, HALVES>, bytes = exchange * GROUPS;
};

// In f32, by length. Exchanging by halves gives the same bits with less shared memory, somewhat slower.
template <int N, bool HALVES = false> struct fc_overlap_of;
template <bool HALVES>
struct fc_overlap_of<1024, HALVES>
    : fc_overlap_config<float, fc_fft_shape<1024, 32, 32, 32, 1>, 4, false, 4> {};
template <bool HALVES>
struct fc_overlap_of<4096, HALVES>
    : fc_overlap_config<float, fc_fft_shape<4096, 16, 16, 16, 16>, 1, false, 3> {};
template <bool HALVES>
struct fc_overlap_of<8192, HALVES>
    : fc_overlap_config<float, fc_fft_shape<8192, 32, 32, 16, 16>, 1, HALVES, 2> {};
template <bool HALVES>
struct fc_overlap_of<16384, HALVES>
    : fc_overlap_config<float, fc_fft_shape<16384, 32, 32, 32, 16>, 1, true, 1> {};

__device__ __forceinline__ int fc_within(int64_t count, int most) {
  return count < 0 ? 0 : count > most ? most : static_cast<int>(count);
}

// Whether the inverse transform could exceed the range of F, or its input does: no value in it is larger
// than the sum of all magnitudes. `x` holds E of the N values.
template <typename S, typename F> __device__ __forceinline__ bool fc_out_of_range(const fc_complex<F> *x) {
  const F most = (sizeof(F) == 8 ? static_cast<F>(8e307) : static_cast<F>(1.5e38)) / F(2 * S::threads);
  F re = F(0), im = F(0);
#pragma unroll
  for (int e = 0; e < S::E; e++) re += fabs(x[e].re), im += fabs(x[e].im);
  return !(re + im < most);
}

// Calls put(e, product) for all values of a thread; x[e] may then be overwritten.
template <typename S, typename F, typename Put>
__device__ __forceinline__ void fc_products(const fc_complex<F> *x, const fc_complex<F> *spectrum, int t,
                                            Put put) {
  const fc_two<F> *h = reinterpret_cast<const fc_two<F> *>(spectrum);
#pragma unroll
  for (int e = 0; e < S::E; e += 2) {
    const fc_two<F> w = h[e / 2 * S::threads + t];
    put(e, fc_times(x[e], w.v[0]));
    put(e + 1, fc_times(x[e + 1], w.v[1]));
  }
}

// LINES: re and im are N positions apart in a line, so the transform continues as above; else frequencies are
// integers.
template <typename S, bool HALVES, typename F>
__device__ __forceinline__ void fc_overlap_forward(fc_complex<F> *x, int t, const fc_complex<F> *tables,
                                                   void *shared, bool lines) {
  if (lines) fc_turn_before<S, FC_OVERLAP_SHIFT>(x);
  fc_register_fft<S, HALVES>(x, t, tables, shared);
}

template <typename S, typename F>
__device__ __forceinline__ void fc_overlap_finish(fc_complex<F> *x, int t, const fc_complex<F> *tables,
                                                  bool lines) {
  if (lines) fc_turn_after<S, FC_OVERLAP_SHIFT>(x, t, tables);
#pragma unroll
  for (int e = 0; e < S::E; e++) x[e] = {x[e].im, x[e].re};
}

// From products whose re and im are swapped to outputs, of which some are no use. True: not finite, to be
// summed tap by tap.
template <typename S, bool HALVES, typename F>
__device__ __forceinline__ bool fc_overlap_back(fc_complex<F> *x, int t, const fc_complex<F> *tables,
                                                void *shared, bool lines) {
  if (fc_register_fft_back<S, HALVES>(x, t, tables, shared, fc_out_of_range<S>(x), lines)) return true;
  fc_overlap_finish<S>(x, t, tables, lines);
  return false;
}

// All of it. SURE: inputs are known to be finite and small enough. spectrum(): the mask's.
template <typename S, bool HALVES, bool SURE = false, typename F, typename Spectrum>
__device__ __forceinline__ bool fc_overlap_block(fc_complex<F> *x, int t, const fc_complex<F> *tables,
                                                 Spectrum spectrum, void *shared, bool lines) {
  if (lines) fc_turn_before<S, FC_OVERLAP_SHIFT>(x);
  const auto between = [&](fc_complex<F> *v) {
    fc_products<S>(v, spectrum(), t, [&](int e, fc_complex<F> y) { v[e] = {y.im, y.re}; });
    return !SURE && fc_out_of_range<S>(v);
  };
  if (fc_register_there_and_back<S, HALVES, SURE>(x, t, tables, shared, lines, between)) return true;
  fc_overlap_finish<S>(x, t, tables, lines);
  return false;
}

// One output tap by tap, in the order of conv1d.h: blocks of FC_OVERLAP_SUM taps, whose sums are added.
// sample(j): the input of tap j.
constexpr int FC_OVERLAP_SUM = 128;
template <typename F, typename Sample>
__device__ __forceinline__ F fc_sum_directly(const F *mask, int64_t taps, Sample sample) {
  F sum = F(0);
  for (int64_t begin = 0; begin < taps; begin += FC_OVERLAP_SUM) {
    const int64_t end = begin + FC_OVERLAP_SUM < taps ? begin + FC_OVERLAP_SUM : taps;
    F block = F(0);
#pragma unroll 1
    for (int64_t j = begin; j < end; j++) block = fc_fft_fma(sample(j), mask[j], block);
    sum = begin == 0 ? block : sum + block;
  }
  return sum;
}

#endif
