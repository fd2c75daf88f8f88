/* SPDX-License-Identifier: MIT */
/*
 * rfft.c - transforms of real signals. With an even length, two neighbours form one complex value, and half
 * the length is transformed. With an odd one, the imaginary part is 0.
 */
#include <string.h>

#include "filters/fourier/fft.h"
#include "filters/fourier/fft_kernels.h"
#include "filters/base/integers.h"
#include "filters/base/turn.h"

static int is_even(const fc_rfft *plan) {
  return plan->n % 2 == 0;
}

static void describe(fc_rfft *plan, int64_t n, int compute, int isa) {
  *plan = (fc_rfft){.n = n, .bins = n / 2 + 1, .compute = compute, .isa = isa};
  plan->twiddles = fc_align64((int64_t)sizeof *plan);
  plan->complex =
      fc_align64(plan->twiddles + (is_even(plan) ? n / 4 + 1 : 0) * 2 * (int64_t)fc_dtype_size(compute));
}

size_t fc_rfft_bytes(int64_t n, int compute) {
  fc_rfft plan;
  if (n < 1 || n > FC_FFT_LONGEST) return 0;
  describe(&plan, n, compute, FC_ISA_BASE);
  size_t complex = fc_fft_bytes(is_even(&plan) ? n / 2 : n, compute);
  return complex ? (size_t)plan.complex + complex : 0;
}

fc_status fc_rfft_init(fc_rfft *plan, int64_t n, int compute, int isa) {
  if (fc_rfft_bytes(n, compute) == 0) return FC_INVALID;
  describe(plan, n, compute, isa);
  fc_fft *complex = (fc_fft *)(void *)((char *)plan + plan->complex);
  fc_status status = fc_fft_init(complex, is_even(plan) ? n / 2 : n, compute, isa);
  plan->bytes = plan->complex + complex->bytes;
  for (int64_t k = 0; is_even(plan) && k <= n / 4; k++) {
    double c, s;
    fc_turn(k, n, &c, &s);
    void *pair = (char *)plan + plan->twiddles + 2 * k * (int64_t)fc_dtype_size(compute);
    if (compute == FC_F64)
      ((double *)pair)[0] = c, ((double *)pair)[1] = -s;
    else
      ((float *)pair)[0] = (float)c, ((float *)pair)[1] = (float)-s;
  }
  return status;
}

int64_t fc_rfft_lanes(const fc_rfft *plan) {
  return fc_fft_lanes(fc_rfft_complex(plan));
}

static int64_t plane_bytes(const fc_rfft *plan, int64_t lanes) {
  return fc_align64((plan->n + 1) * lanes * (int64_t)fc_dtype_size(plan->compute));
}

size_t fc_rfft_scratch(const fc_rfft *plan, int64_t lanes) {
  return (size_t)(2 * plane_bytes(plan, lanes)) + fc_fft_scratch(fc_rfft_complex(plan), lanes);
}

static void forward_odd(const fc_rfft *plan, const void *x, fc_planes to, int64_t lanes, void *scratch) {
  int64_t plane = plane_bytes(plan, lanes), row = lanes * (int64_t)fc_dtype_size(plan->compute);
  fc_planes z = {scratch, (char *)scratch + plane};
  memcpy(z.re, x, (size_t)(plan->n * row));
  memset(z.im, 0, (size_t)(plan->n * row));
  fc_fft_run(fc_rfft_complex(plan), z.re, z.im, lanes, (char *)scratch + 2 * plane);
  memcpy(to.re, z.re, (size_t)(plan->bins * row));
  memcpy(to.im, z.im, (size_t)(plan->bins * row));
  memset(to.im, 0, (size_t)row); /* which may not be exactly 0 because of rounding */
}

void fc_rfft_forward_pairs(const fc_rfft *plan, void *re, void *im, int64_t lanes, void *scratch) {
  fc_planes z = {re, im};
  fc_fft_run(fc_rfft_complex(plan), re, im, lanes, scratch);
  fc_fft_kernels_of(plan->isa, plan->compute)
      ->split(z, (const char *)plan + plan->twiddles, plan->n / 2, lanes);
}

void fc_rfft_inverse_pairs(const fc_rfft *plan, void *re, void *im, int64_t lanes, void *scratch) {
  fc_planes z = {re, im};
  fc_fft_kernels_of(plan->isa, plan->compute)
      ->unsplit(z, (const char *)plan + plan->twiddles, plan->n / 2, lanes, 2.0 / (double)plan->n);
  fc_fft_run(fc_rfft_complex(plan), im, re, lanes, scratch);
}

void fc_rfft_forward(const fc_rfft *plan, const void *x, void *re, void *im, int64_t lanes, void *scratch) {
  int64_t row = lanes * (int64_t)fc_dtype_size(plan->compute);
  fc_planes z = {re, im};
  if (!is_even(plan)) {
    forward_odd(plan, x, z, lanes, scratch);
    return;
  }
  for (int64_t j = 0; j < plan->n / 2; j++) {
    memcpy((char *)re + j * row, (const char *)x + 2 * j * row, (size_t)row);
    memcpy((char *)im + j * row, (const char *)x + (2 * j + 1) * row, (size_t)row);
  }
  fc_rfft_forward_pairs(plan, re, im, lanes, scratch);
}

static void inverse_odd(const fc_rfft *plan, fc_planes from, void *x, int64_t lanes, void *scratch) {
  const fc_fft_kernels *k = fc_fft_kernels_of(plan->isa, plan->compute);
  int64_t plane = plane_bytes(plan, lanes), row = lanes * (int64_t)fc_dtype_size(plan->compute);
  fc_planes z = {scratch, (char *)scratch + plane};
  memcpy(z.re, from.re, (size_t)(plan->bins * row));
  memcpy(z.im, from.im, (size_t)(plan->bins * row));
  memset(z.im, 0, (size_t)row);
  for (int64_t i = plan->bins; i < plan->n; i++) {
    memcpy((char *)z.re + i * row, (const char *)from.re + (plan->n - i) * row, (size_t)row);
    memcpy((char *)z.im + i * row, (const char *)from.im + (plan->n - i) * row, (size_t)row);
    k->scale((char *)z.im + i * row, lanes, -1);
  }
  fc_fft_run(fc_rfft_complex(plan), z.im, z.re, lanes, (char *)scratch + 2 * plane);
  memcpy(x, z.re, (size_t)(plan->n * row));
  k->scale(x, plan->n * lanes, 1.0 / (double)plan->n);
}

void fc_rfft_inverse(const fc_rfft *plan, const void *re, const void *im, void *x, int64_t lanes,
                     void *scratch) {
  int64_t plane = plane_bytes(plan, lanes), row = lanes * (int64_t)fc_dtype_size(plan->compute),
          half = plan->n / 2;
  fc_planes from = {(void *)re, (void *)im}, z = {scratch, (char *)scratch + plane};
  if (!is_even(plan)) {
    inverse_odd(plan, from, x, lanes, scratch);
    return;
  }
  memcpy(z.re, re, (size_t)((half + 1) * row));
  memcpy(z.im, im, (size_t)((half + 1) * row));
  fc_rfft_inverse_pairs(plan, z.re, z.im, lanes, (char *)scratch + 2 * plane);
  for (int64_t j = 0; j < half; j++) {
    memcpy((char *)x + 2 * j * row, (char *)z.re + j * row, (size_t)row);
    memcpy((char *)x + (2 * j + 1) * row, (char *)z.im + j * row, (size_t)row);
  }
}
