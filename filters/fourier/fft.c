/* SPDX-License-Identifier: MIT */
/*
 * fft.c - plans, and the order of passes. Tables are computed in double with arguments
 * reduced as integers, then rounded to the plan's type.
 */
#include <math.h>
#include <string.h>

#include "filters/fourier/fft.h"
#include "filters/fourier/fft_kernels.h"
#include "filters/base/integers.h"
#include "filters/base/turn.h"

static void *in_plan(const void *plan, int64_t offset) {
  return (char *)plan + offset;
}

/* ---- factors ---------------------------------------------------------------- */

/* Factors n into radices `radix`; -1 if a prime factor is too large. Powers of two become eights, and
 * fours where a two would remain. */
static int factors(int64_t n, int64_t *radix) {
  int count = 0, twos = 0; /* of 2^26 at most: 26 factors */
  for (; n % 2 == 0; n /= 2) twos++;
  int fours = twos % 3 == 2 ? 1 : twos % 3 == 1 && twos > 1 ? 2 : 0;
  for (int i = 0; i < (twos - 2 * fours) / 3; i++) radix[count++] = 8;
  for (int i = 0; i < fours; i++) radix[count++] = 4;
  if (twos == 1) radix[count++] = 2;
  for (int64_t p = 3; p <= FC_FFT_LARGEST_PRIME && n > 1; p += 2)
    for (; n % p == 0; n /= p) radix[count++] = p;
  return n == 1 ? count : -1;
}

/* The smallest even length >= least with only the factors 2, 3 and 5. */
static int64_t smooth_length(int64_t least) {
  int64_t best = 2;
  while (best < least) best *= 2;
  for (int64_t five = 2; five < best; five *= 5)
    for (int64_t three = five; three < best; three *= 3)
      for (int64_t two = three; two < best; two *= 2)
        if (two >= least) best = two;
  return best;
}

/* ---- plans -------------------------------------------------------------------- */

static void set_pair(void *pairs, int compute, int64_t at, double c, double s) {
  if (compute == FC_F64)
    ((double *)pairs)[2 * at] = c, ((double *)pairs)[2 * at + 1] = s;
  else
    ((float *)pairs)[2 * at] = (float)c, ((float *)pairs)[2 * at + 1] = (float)s;
}

static void set_element(fc_planes z, int compute, int64_t at, double re, double im) {
  if (compute == FC_F64)
    ((double *)z.re)[at] = re, ((double *)z.im)[at] = im;
  else
    ((float *)z.re)[at] = (float)re, ((float *)z.im)[at] = (float)im;
}

static void get_element(fc_planes z, int compute, int64_t at, double *re, double *im) {
  *re = compute == FC_F64 ? ((double *)z.re)[at] : (double)((float *)z.re)[at];
  *im = compute == FC_F64 ? ((double *)z.im)[at] : (double)((float *)z.im)[at];
}

/* Sets up the passes of a smooth length; returns the number of pairs in their tables. */
static int64_t lay_out(fc_fft *plan) {
  int64_t radix[FC_FFT_PASSES], rest = plan->n, pairs = 0;
  int count = factors(plan->n, radix);
  plan->passes = count > 0 ? count : 0;
  for (int i = 0; i < count; i++) {
    rest /= radix[i];
    plan->pass[i] = (fc_fft_pass){radix[i], rest, 2 * pairs, 2 * (pairs + rest * (radix[i] - 1))};
    pairs += rest * (radix[i] - 1) + radix[i];
  }
  return pairs;
}

/* The plan without its tables: as much as fc_fft_bytes needs. */
static void describe(fc_fft *plan, int64_t n, int compute, int isa) {
  int64_t radix[FC_FFT_PASSES], pair = 2 * (int64_t)fc_dtype_size(compute);
  memset(plan, 0, sizeof *plan);
  plan->n = n;
  plan->compute = compute;
  plan->isa = isa;
  plan->convolved = factors(n, radix) < 0;
  plan->tables = fc_align64((int64_t)sizeof *plan);
  if (!plan->convolved) {
    plan->bytes = fc_align64(plan->tables + lay_out(plan) * pair);
    return;
  }
  fc_fft inner;
  describe(&inner, smooth_length(2 * n - 1), compute, isa);
  plan->chirp = plan->tables;
  plan->spectrum = fc_align64(plan->chirp + n * pair);
  plan->inner = fc_align64(plan->spectrum + inner.n * pair);
  plan->bytes = plan->inner + inner.bytes;
}

static void fill_pass(const fc_fft *plan, const fc_fft_pass *pass) {
  char *tables = in_plan(plan, plan->tables);
  void *twiddles = tables + pass->twiddles * (int64_t)fc_dtype_size(plan->compute);
  void *roots = tables + pass->roots * (int64_t)fc_dtype_size(plan->compute);
  double c, s;
  for (int64_t p = 0; p < pass->rest; p++)
    for (int64_t k = 1; k < pass->radix; k++) {
      fc_turn(p * k, pass->rest * pass->radix, &c, &s);
      set_pair(twiddles, plan->compute, p * (pass->radix - 1) + k - 1, c, -s);
    }
  for (int64_t j = 0; j < pass->radix; j++) {
    fc_turn(j, pass->radix, &c, &s);
    set_pair(roots, plan->compute, j, c, s);
  }
}

/* The chirp exp(-i pi j^2 / n), and the spectrum of its conjugate wrapped around the inner
 * length m, divided by m. `work` holds four planes of m elements. */
static void fill_chirp(const fc_fft *plan, void *work) {
  const fc_fft *inner = in_plan(plan, plan->inner);
  int64_t m = inner->n, n = plan->n, plane = fc_align64(m * (int64_t)fc_dtype_size(plan->compute));
  fc_planes z = {work, (char *)work + plane};
  double c, s;
  memset(work, 0, (size_t)(2 * plane));
  for (int64_t j = 0; j < n; j++) {
    fc_turn(j * j % (2 * n), 2 * n, &c, &s); /* no overflow: j < 2^26 */
    set_pair(in_plan(plan, plan->chirp), plan->compute, j, c, -s);
    set_element(z, plan->compute, j, c, s);
    if (j > 0) set_element(z, plan->compute, m - j, c, s);
  }
  fc_fft_run(inner, z.re, z.im, 1, (char *)work + 2 * plane);
  for (int64_t k = 0; k < m; k++) {
    get_element(z, plan->compute, k, &c, &s);
    set_pair(in_plan(plan, plan->spectrum), plan->compute, k, c / (double)m, s / (double)m);
  }
}

/* Followed by memory that is needed only during initialisation. */
static int64_t work_bytes(const fc_fft *plan) {
  return plan->convolved
             ? 4 * fc_align64(smooth_length(2 * plan->n - 1) * (int64_t)fc_dtype_size(plan->compute))
             : 0;
}

size_t fc_fft_bytes(int64_t n, int compute) {
  fc_fft plan;
  if (n < 1 || n > FC_FFT_LONGEST || (compute != FC_F32 && compute != FC_F64)) return 0;
  describe(&plan, n, compute, FC_ISA_BASE);
  return (size_t)(plan.bytes + work_bytes(&plan));
}

fc_status fc_fft_init(fc_fft *plan, int64_t n, int compute, int isa) {
  if (fc_fft_bytes(n, compute) == 0) return FC_INVALID;
  describe(plan, n, compute, isa);
  for (int i = 0; i < plan->passes; i++) fill_pass(plan, &plan->pass[i]);
  if (!plan->convolved) return FC_OK;
  fc_status status = fc_fft_init(in_plan(plan, plan->inner), smooth_length(2 * n - 1), compute, isa);
  if (status == FC_OK) fill_chirp(plan, (char *)plan + plan->bytes);
  return status;
}

/* ---- running -------------------------------------------------------------------- */

int64_t fc_fft_lanes(const fc_fft *plan) {
  return fc_fft_kernels_of(plan->isa, plan->compute)->lanes;
}

static int64_t plane_bytes(int64_t n, int compute, int64_t lanes) {
  return fc_align64(n * lanes * (int64_t)fc_dtype_size(compute));
}

size_t fc_fft_scratch(const fc_fft *plan, int64_t lanes) {
  if (!plan->convolved) return (size_t)(2 * plane_bytes(plan->n, plan->compute, lanes));
  const fc_fft *inner = in_plan(plan, plan->inner);
  return (size_t)(2 * plane_bytes(inner->n, plan->compute, lanes)) + fc_fft_scratch(inner, lanes);
}

/* From data to scratch and back, pass by pass; the last pass can work in place. */
static void run_smooth(const fc_fft *plan, fc_planes data, int64_t lanes, fc_planes other) {
  const fc_fft_kernels *k = fc_fft_kernels_of(plan->isa, plan->compute);
  const char *tables = in_plan(plan, plan->tables);
  int64_t size = (int64_t)fc_dtype_size(plan->compute), step = lanes;
  fc_planes in = data;
  for (int i = 0; i < plan->passes; i++) {
    const fc_fft_pass *pass = &plan->pass[i];
    fc_planes out = i == plan->passes - 1 || in.re == other.re ? data : other;
    k->pass(pass->radix, pass->rest, step, in, out, tables + pass->twiddles * size,
            tables + pass->roots * size);
    step *= pass->radix;
    in = out;
  }
}

static void run_convolved(const fc_fft *plan, fc_planes data, int64_t lanes, void *scratch) {
  const fc_fft_kernels *k = fc_fft_kernels_of(plan->isa, plan->compute);
  const fc_fft *inner = in_plan(plan, plan->inner);
  int64_t plane = plane_bytes(inner->n, plan->compute, lanes);
  int64_t used = plan->n * lanes * (int64_t)fc_dtype_size(plan->compute);
  fc_planes z = {scratch, (char *)scratch + plane};
  void *rest = (char *)scratch + 2 * plane;
  k->multiply(data, in_plan(plan, plan->chirp), plan->n, lanes, 0);
  memcpy(z.re, data.re, (size_t)used);
  memcpy(z.im, data.im, (size_t)used);
  memset((char *)z.re + used, 0, (size_t)(plane - used));
  memset((char *)z.im + used, 0, (size_t)(plane - used));
  fc_fft_run(inner, z.re, z.im, lanes, rest);
  k->multiply(z, in_plan(plan, plan->spectrum), inner->n, lanes, 0);
  fc_fft_run(inner, z.im, z.re, lanes, rest);
  memcpy(data.re, z.re, (size_t)used);
  memcpy(data.im, z.im, (size_t)used);
  k->multiply(data, in_plan(plan, plan->chirp), plan->n, lanes, 0);
}

void fc_fft_run(const fc_fft *plan, void *re, void *im, int64_t lanes, void *scratch) {
  fc_planes data = {re, im};
  if (lanes < 1) return;
  if (plan->convolved) {
    run_convolved(plan, data, lanes, scratch);
    return;
  }
  fc_planes other = {scratch, (char *)scratch + plane_bytes(plan->n, plan->compute, lanes)};
  run_smooth(plan, data, lanes, other);
}
