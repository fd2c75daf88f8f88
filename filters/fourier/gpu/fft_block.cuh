// SPDX-License-Identifier: MIT
//
// fft_block.cuh - a Fourier transform by one block of threads, of any length that fft.h plans: the same
// passes, from one buffer of complex values to another, with a barrier between them. The buffers are in
// shared memory or, for lengths that do not fit, in global memory of the block; the code is the same.
#ifndef FC_FILTERS_FFT_BLOCK_CUH
#define FC_FILTERS_FFT_BLOCK_CUH

#include "filters/fourier/gpu/complex.cuh"
#include "filters/gpu/cuda.cuh"
#include "filters/fourier/gpu/fft_choice.h"

// ---- plans as kernel arguments ------------------------------------------------

// A smooth length. 16 passes are more than 2^26 takes in radices from 4 up with what is
// left over in 2 and 3: 3^16 is 43 million, 3^16 * 2 within range too.
constexpr int FC_DEV_PASSES = 18;

template <typename F> struct fc_dev_smooth {
  int64_t n;
  int32_t passes;
  int32_t radix[FC_DEV_PASSES];
  int64_t rest[FC_DEV_PASSES], twiddles[FC_DEV_PASSES], roots[FC_DEV_PASSES];
  fc_dev_divider by_step[FC_DEV_PASSES], by_butterflies[FC_DEV_PASSES];
  const F *tables;
};

template <typename F> struct fc_dev_fft {
  int64_t n;
  bool convolved;
  fc_dev_smooth<F> smooth; // the length itself, or that of the convolution
  const fc_complex<F> *chirp, *spectrum;
};

template <typename F>
static inline fc_dev_smooth<F> fc_dev_smooth_of(const fc_fft *plan, const char *device) {
  fc_dev_smooth<F> d;
  d.n = plan->n;
  d.passes = plan->passes;
  int64_t step = 1;
  for (int i = 0; i < plan->passes && i < FC_DEV_PASSES; i++) {
    d.radix[i] = static_cast<int32_t>(plan->pass[i].radix);
    d.by_step[i] = fc_dev_divider_of(step);
    d.by_butterflies[i] = fc_dev_divider_of(plan->pass[i].rest * step);
    step *= plan->pass[i].radix;
    d.rest[i] = plan->pass[i].rest;
    d.twiddles[i] = plan->pass[i].twiddles;
    d.roots[i] = plan->pass[i].roots;
  }
  d.tables = reinterpret_cast<const F *>(device + plan->tables);
  return d;
}

// `plan` in host memory, `device` its copy on the device.
template <typename F> static inline fc_dev_fft<F> fc_dev_fft_of(const fc_fft *plan, const void *device) {
  const char *base = static_cast<const char *>(device);
  fc_dev_fft<F> d;
  d.n = plan->n;
  d.convolved = plan->convolved != 0;
  d.chirp = reinterpret_cast<const fc_complex<F> *>(base + plan->chirp);
  d.spectrum = reinterpret_cast<const fc_complex<F> *>(base + plan->spectrum);
  const fc_fft *inner = reinterpret_cast<const fc_fft *>(reinterpret_cast<const char *>(plan) + plan->inner);
  d.smooth = d.convolved ? fc_dev_smooth_of<F>(inner, base + plan->inner) : fc_dev_smooth_of<F>(plan, base);
  return d;
}

// ---- butterflies -----------------------------------------------------------------

template <typename F> __device__ __forceinline__ void fc_radix4(fc_complex<F> *x) {
  fc_complex<F> a = fc_add(x[0], x[2]), b = fc_subtract(x[0], x[2]);
  fc_complex<F> c = fc_add(x[1], x[3]), d = fc_subtract(x[1], x[3]);
  x[0] = fc_add(a, c);
  x[1] = fc_minus_i(b, d);
  x[2] = fc_subtract(a, c);
  x[3] = fc_plus_i(b, d);
}

template <typename F> __device__ __forceinline__ void fc_radix8(fc_complex<F> *x) {
  fc_complex<F> even[4] = {x[0], x[2], x[4], x[6]}, odd[4] = {x[1], x[3], x[5], x[7]};
  fc_radix4(even);
  fc_radix4(odd);
  const F half = static_cast<F>(0.70710678118654752440);
  fc_complex<F> turned1 = {(odd[1].re + odd[1].im) * half, (odd[1].im - odd[1].re) * half};
  fc_complex<F> turned3 = {(odd[3].im - odd[3].re) * half, -((odd[3].re + odd[3].im) * half)};
  x[0] = fc_add(even[0], odd[0]);
  x[1] = fc_add(even[1], turned1);
  x[2] = fc_minus_i(even[2], odd[2]);
  x[3] = fc_add(even[3], turned3);
  x[4] = fc_subtract(even[0], odd[0]);
  x[5] = fc_subtract(even[1], turned1);
  x[6] = fc_plus_i(even[2], odd[2]);
  x[7] = fc_subtract(even[3], turned3);
}

// An odd radix: sums and differences of opposite values against cosines and sines.
template <typename F, int R> __device__ __forceinline__ void fc_radix_odd(fc_complex<F> *x, const F *roots) {
  fc_complex<F> sum[R / 2 + 1], difference[R / 2 + 1], first = x[0];
#pragma unroll
  for (int j = 1; j <= R / 2; j++) {
    sum[j] = fc_add(x[j], x[R - j]);
    difference[j] = fc_subtract(x[j], x[R - j]);
    x[0] = fc_add(x[0], sum[j]);
  }
#pragma unroll
  for (int k = 1; k <= R / 2; k++) {
    fc_complex<F> a = first, b = {F(0), F(0)};
#pragma unroll
    for (int j = 1; j <= R / 2; j++) {
      const F c = roots[2 * (j * k % R)], s = roots[2 * (j * k % R) + 1];
      a.re = fc_fft_fma(c, sum[j].re, a.re), a.im = fc_fft_fma(c, sum[j].im, a.im);
      b.re = fc_fft_fma(s, difference[j].re, b.re), b.im = fc_fft_fma(s, difference[j].im, b.im);
    }
    x[k] = fc_minus_i(a, b);
    x[R - k] = fc_plus_i(a, b);
  }
}

// The same for rare radices, known only at run time: values are in local memory.
template <typename F>
__device__ __noinline__ void fc_radix_rare(fc_complex<F> *x, int radix, const F *roots) {
  fc_complex<F> sum[FC_FFT_LARGEST_PRIME / 2 + 1], difference[FC_FFT_LARGEST_PRIME / 2 + 1], first = x[0];
  const int half = radix / 2;
#pragma unroll 1
  for (int j = 1; j <= half; j++) {
    sum[j] = fc_add(x[j], x[radix - j]);
    difference[j] = fc_subtract(x[j], x[radix - j]);
    x[0] = fc_add(x[0], sum[j]);
  }
#pragma unroll 1
  for (int k = 1; k <= half; k++) {
    fc_complex<F> a = first, b = {F(0), F(0)};
#pragma unroll 1
    for (int j = 1; j <= half; j++) {
      const F *root = roots + 2 * (j * k % radix);
      a.re = fc_fft_fma(root[0], sum[j].re, a.re), a.im = fc_fft_fma(root[0], sum[j].im, a.im);
      b.re = fc_fft_fma(root[1], difference[j].re, b.re), b.im = fc_fft_fma(root[1], difference[j].im, b.im);
    }
    x[k] = fc_minus_i(a, b);
    x[radix - k] = fc_plus_i(a, b);
  }
}

template <typename F, int R> __device__ __forceinline__ void fc_butterfly(fc_complex<F> *x, const F *roots) {
  if (R == 2) {
    fc_complex<F> a = x[0], b = x[1];
    x[0] = fc_add(a, b);
    x[1] = fc_subtract(a, b);
  } else if (R == 4) {
    fc_radix4(x);
  } else if (R == 8) {
    fc_radix8(x);
  } else {
    fc_radix_odd<F, R>(x, roots);
  }
}

// ---- passes -----------------------------------------------------------------------

// Several transforms together, MANY of them: short ones would leave most threads idle. Line l is at l * pitch
// of either buffer. A line's arithmetic is the same, alone or with others.
struct fc_block_lines {
  int32_t count, pitch;
};

template <bool MANY> __device__ __forceinline__ int fc_line_of(int t, int each) {
  return MANY ? t / each : 0;
}

// A pass: `rest` groups of `step` butterflies.
struct fc_block_pass_shape {
  int rest, step;
  fc_dev_divider by_step, by_butterflies;

  template <bool MANY> __device__ __forceinline__ int line_of(int t) const {
    return MANY ? by_butterflies.quotient(t) : 0;
  }
};

template <typename F, int R, bool MANY>
__device__ __forceinline__ void fc_block_pass(const fc_complex<F> *in, fc_complex<F> *out,
                                              fc_block_pass_shape shape, const fc_complex<F> *twiddles,
                                              const F *roots, fc_block_lines lines) {
  const int step = shape.step, butterflies = shape.rest * step,
            total = MANY ? butterflies * lines.count : butterflies;
  for (int t = threadIdx.x; t < total; t += blockDim.x) {
    const int line = shape.line_of<MANY>(t), u = t - line * butterflies;
    const int p = shape.by_step.quotient(u), q = u - p * step;
    const fc_complex<F> *from = in + line * lines.pitch + u;
    fc_complex<F> x[R];
#pragma unroll
    for (int i = 0; i < R; i++) x[i] = from[butterflies * i];
    fc_butterfly<F, R>(x, roots);
    fc_complex<F> *to = out + line * lines.pitch + q + step * R * p;
    to[0] = x[0];
#pragma unroll
    for (int k = 1; k < R; k++) to[step * k] = p ? fc_times(x[k], twiddles[p * (R - 1) + k - 1]) : x[k];
  }
}

template <typename F, bool MANY>
__device__ __noinline__ void fc_block_pass_rare(const fc_complex<F> *in, fc_complex<F> *out, int radix,
                                                fc_block_pass_shape shape, const fc_complex<F> *twiddles,
                                                const F *roots, fc_block_lines lines) {
  const int step = shape.step, butterflies = shape.rest * step,
            total = MANY ? butterflies * lines.count : butterflies;
  for (int t = threadIdx.x; t < total; t += blockDim.x) {
    const int line = shape.line_of<MANY>(t), u = t - line * butterflies;
    const int p = shape.by_step.quotient(u), q = u - p * step;
    const fc_complex<F> *from = in + line * lines.pitch + u;
    fc_complex<F> x[FC_FFT_LARGEST_PRIME];
    for (int i = 0; i < radix; i++) x[i] = from[butterflies * i];
    fc_radix_rare(x, radix, roots);
    fc_complex<F> *to = out + line * lines.pitch + q + step * radix * p;
    for (int k = 0; k < radix; k++)
      to[step * k] = p && k ? fc_times(x[k], twiddles[p * (radix - 1) + k - 1]) : x[k];
  }
}

// Transforms `in`; returns which of the two buffers has the result. Begins and ends with a
// barrier.
template <typename F, bool MANY = false>
__device__ fc_complex<F> *fc_block_smooth(const fc_dev_smooth<F> &plan, fc_complex<F> *in, fc_complex<F> *out,
                                          fc_block_lines lines = {1, 0}) {
  int step = 1;
  __syncthreads();
  for (int i = 0; i < plan.passes; i++) {
    const fc_complex<F> *twiddles = reinterpret_cast<const fc_complex<F> *>(plan.tables + plan.twiddles[i]);
    const F *roots = plan.tables + plan.roots[i];
    const int radix = plan.radix[i];
    const fc_block_pass_shape shape = {static_cast<int>(plan.rest[i]), step, plan.by_step[i],
                                       plan.by_butterflies[i]};
    switch (radix) {
    case 2: fc_block_pass<F, 2, MANY>(in, out, shape, twiddles, roots, lines); break;
    case 3: fc_block_pass<F, 3, MANY>(in, out, shape, twiddles, roots, lines); break;
    case 4: fc_block_pass<F, 4, MANY>(in, out, shape, twiddles, roots, lines); break;
    case 5: fc_block_pass<F, 5, MANY>(in, out, shape, twiddles, roots, lines); break;
    case 8: fc_block_pass<F, 8, MANY>(in, out, shape, twiddles, roots, lines); break;
    default: fc_block_pass_rare<F, MANY>(in, out, radix, shape, twiddles, roots, lines); break;
    }
    step *= radix;
    fc_complex<F> *swap = in;
    in = out, out = swap;
    __syncthreads();
  }
  return in;
}

// Values that a transform needs in each of its two buffers.
template <typename F> __host__ __device__ __forceinline__ int64_t fc_block_values(const fc_dev_fft<F> &plan) {
  return plan.smooth.n;
}

// The same for any length; `in` holds n values of each line, both buffers fc_block_values.
template <typename F, bool MANY = false>
__device__ fc_complex<F> *fc_block_fft(const fc_dev_fft<F> &plan, fc_complex<F> *in, fc_complex<F> *out,
                                       fc_block_lines lines = {1, 0}) {
  if (!plan.convolved) return fc_block_smooth<F, MANY>(plan.smooth, in, out, lines);
  const int n = static_cast<int>(plan.n), m = static_cast<int>(plan.smooth.n);
  const int total = MANY ? m * lines.count : m;
  __syncthreads();
  for (int t = threadIdx.x; t < total; t += blockDim.x) {
    const int line = fc_line_of<MANY>(t, m), i = t - line * m;
    fc_complex<F> *x = in + line * lines.pitch + i;
    *x = i < n ? fc_times(*x, plan.chirp[i]) : fc_complex<F>{F(0), F(0)};
  }
  fc_complex<F> *r = fc_block_smooth<F, MANY>(plan.smooth, in, out, lines), *other = r == in ? out : in;
  // The inverse is the conjugate of the transform of the conjugate.
  for (int t = threadIdx.x; t < total; t += blockDim.x) {
    const int line = fc_line_of<MANY>(t, m), i = t - line * m;
    fc_complex<F> *x = r + line * lines.pitch + i;
    *x = fc_conjugate(fc_times(*x, plan.spectrum[i]));
  }
  r = fc_block_smooth<F, MANY>(plan.smooth, r, other, lines);
  for (int t = threadIdx.x; t < total; t += blockDim.x) {
    const int line = fc_line_of<MANY>(t, m), i = t - line * m;
    fc_complex<F> *x = r + line * lines.pitch + i;
    if (i < n) *x = fc_times(fc_conjugate(*x), plan.chirp[i]);
  }
  __syncthreads();
  return r;
}

// ---- real transforms -------------------------------------------------------------------

template <typename F> struct fc_dev_rfft {
  int32_t n, bins;
  bool even;
  const fc_complex<F> *twiddles;
  fc_dev_fft<F> complex;
};

template <typename F> static inline fc_dev_rfft<F> fc_dev_rfft_of(const fc_rfft *plan, const void *device) {
  const char *base = static_cast<const char *>(device);
  fc_dev_rfft<F> d;
  d.n = static_cast<int32_t>(plan->n);
  d.bins = static_cast<int32_t>(plan->bins);
  d.even = plan->n % 2 == 0;
  d.twiddles = reinterpret_cast<const fc_complex<F> *>(base + plan->twiddles);
  d.complex = fc_dev_fft_of<F>(fc_rfft_complex(plan), base + plan->complex);
  return d;
}

// Stores real value i of n where the transform needs it.
template <typename F>
__device__ __forceinline__ void fc_rfft_put(const fc_dev_rfft<F> &plan, fc_complex<F> *buffer, int i,
                                            F value) {
  if (!plan.even)
    buffer[i] = {value, F(0)};
  else if (i % 2 == 0)
    buffer[i / 2].re = value;
  else
    buffer[i / 2].im = value;
}

// w^k of the real length, from the stored quarter turn.
template <typename F>
__device__ __forceinline__ fc_complex<F> fc_rfft_twiddle(const fc_dev_rfft<F> &plan, int k) {
  const int m = plan.n / 2;
  if (2 * k <= m) return plan.twiddles[k];
  fc_complex<F> w = plan.twiddles[m - k]; // w^(m - k) = -conj(w^k)
  return {-w.re, w.im};
}

// Bin k <= n/2 of the real transform, from the complex one's result.
template <typename F>
__device__ __forceinline__ fc_complex<F> fc_rfft_bin(const fc_dev_rfft<F> &plan, const fc_complex<F> *z,
                                                     int k) {
  if (!plan.even) return k ? z[k] : fc_complex<F>{z[0].re, F(0)};
  const int m = plan.n / 2;
  fc_complex<F> a = z[k == m ? 0 : k], b = z[k == 0 || k == m ? 0 : m - k], w = fc_rfft_twiddle(plan, k);
  const F half = F(0.5);
  F er = half * (a.re + b.re), ei = half * (a.im - b.im), o_r = half * (a.im + b.im),
    o_i = half * (b.re - a.re);
  if (k == 0 || k == m) return {k ? er - o_r : er + o_r, F(0)};
  return {er + fc_fft_fma(w.re, o_r, -(w.im * o_i)), ei + fc_fft_fma(w.re, o_i, w.im * o_r)};
}

// The inverse: value k of the complex transform's input, conjugated for the inverse, from bins X[k] and X[m -
// k] (for odd lengths: X[k] or X[n - k]).
template <typename F>
__device__ __forceinline__ fc_complex<F> fc_rfft_unbin(const fc_dev_rfft<F> &plan, fc_complex<F> x,
                                                       fc_complex<F> y, int k) {
  const F half = F(0.5);
  fc_complex<F> w = fc_conjugate(fc_rfft_twiddle(plan, k));
  if (k == 0) x.im = y.im = F(0);
  F er = half * (x.re + y.re), ei = half * (x.im - y.im), tr = half * (x.re - y.re),
    ti = half * (x.im + y.im);
  F o_r = fc_fft_fma(w.re, tr, -(w.im * ti)), o_i = fc_fft_fma(w.re, ti, w.im * tr);
  return {er - o_i, -(ei + o_r)};
}

// Real value i of the inverse, of the conjugated result; still times the complex length.
template <typename F>
__device__ __forceinline__ F fc_rfft_get(const fc_dev_rfft<F> &plan, const fc_complex<F> *z, int i) {
  if (!plan.even) return z[i].re;
  return i % 2 ? -z[i / 2].im : z[i / 2].re;
}

// ---- how lines are launched ----------------------------------------------------------------

// As fft_choice.c says. MANY: there is a kernel for several lines.
template <bool MANY, typename F>
static inline fc_fft_choice fc_block_choose(const fc_dev_fft<F> &plan, bool across = false) {
  const fc_fft_case c = {fc_block_values(plan), sizeof(F) == sizeof(double) ? FC_F64 : FC_F32, MANY, across};
  return fc_fft_choose(&c);
}

#endif
