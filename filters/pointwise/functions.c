/* SPDX-License-Identifier: MIT */
/*
 * functions.c - see functions.h.
 */
#include "filters/pointwise/functions.h"

#include <math.h>

#include "filters/base/power.h"

static const char copy_text[] = "struct fc_copy {\n"
                                "  FC_DEVICE real operator()(real v) const { return v; }\n"
                                "};\n";
static const char scale_text[] = "struct fc_scale {\n"
                                 "  real factor;\n"
                                 "  FC_DEVICE real operator()(real v) const { return v * factor; }\n"
                                 "};\n";
static const char map_text[] =
    "struct fc_range {\n"
    "  real from, factor, to;\n"
    "  FC_DEVICE real operator()(real v) const { return (v - from) * factor + to; }\n"
    "};\n";
static const char clamp_text[] =
    "struct fc_clamp {\n"
    "  real low, high;\n"
    "  FC_DEVICE real operator()(real v) const { return fc_at_most(fc_at_least(v, low), high); }\n"
    "};\n";
static const char affine_text[] =
    "struct fc_affine {\n"
    "  real factor, to;\n"
    "  FC_DEVICE real operator()(real v) const { return fc_fma(v, factor, to); }\n"
    "};\n";
static const char affines_text[] =
    "template <int C> struct fc_affines {\n"
    "  real pairs[C][2];\n"
    "  FC_DEVICE void operator()(const real (&x)[C], real (&y)[C]) const {\n"
    "#pragma unroll\n"
    "    for (int c = 0; c < C; c++) y[c] = fc_fma(x[c], pairs[c][0], pairs[c][1]);\n"
    "  }\n"
    "};\n";
#define FC_SHARED_CODE(...) #__VA_ARGS__
static const char curve_text[] = FC_POWER_TEXT
#include "filters/base/power.inc"
#include "filters/pointwise/curve.inc"
    "\ntemplate <int POWER> struct fc_curve {\n"
    "  real from, factor, most, exponent, span, to;\n"
    "  FC_DEVICE real operator()(real v) const {\n"
    "    return fc_curve_value(v, from, factor, most, exponent, span, to, POWER);\n"
    "  }\n"
    "};\n"
    "template <int KEEPS> struct fc_threshold {\n"
    "  real level, above, below;\n"
    "  FC_DEVICE real operator()(real v) const { return fc_threshold_value(v, level, above, below, KEEPS); "
    "}\n"
    "};\n";
#undef FC_SHARED_CODE
static const char gains_text[] = "template <int C> struct fc_gains {\n"
                                 "  real factor[C];\n"
                                 "  FC_DEVICE void operator()(const real (&x)[C], real (&y)[C]) const {\n"
                                 "#pragma unroll\n"
                                 "    for (int c = 0; c < C; c++) y[c] = x[c] * factor[c];\n"
                                 "  }\n"
                                 "};\n";
static const char matrix_text[] = "template <int O, int I> struct fc_matrix {\n"
                                  "  real m[O][I], offset[O];\n"
                                  "  FC_DEVICE void operator()(const real (&x)[I], real (&y)[O]) const {\n"
                                  "#pragma unroll\n"
                                  "    for (int r = 0; r < O; r++) {\n"
                                  "      y[r] = offset[r];\n"
                                  "#pragma unroll\n"
                                  "      for (int c = 0; c < I; c++) y[r] = fc_fma(m[r][c], x[c], y[r]);\n"
                                  "    }\n"
                                  "  }\n"
                                  "};\n";

/* The number of channels is part of the type, not a parameter: an index unknown to the compiler would put
 * pixels into local memory. */
static const char mix_text[] =
    "template <int I, int... FROM> struct fc_mix {\n"
    "  FC_DEVICE void operator()(const real (&x)[I], real (&y)[sizeof...(FROM)]) const {\n"
    "    int at = 0;\n"
    "    ((y[at++] = x[FROM]), ...);\n"
    "  }\n"
    "};\n";

/* Text, channels and "name<a,b,...>" with one-digit numbers. */
static void set(fc_device_function *f, const char *source, uint32_t in, uint32_t out, const char *name,
                const int32_t *numbers, int64_t n) {
  f->source = source, f->in = in, f->out = out;
  char *to = f->entry;
  while (*name) *to++ = *name++;
  for (int64_t i = 0; i < n; i++) {
    *to++ = i ? ',' : '<';
    *to++ = (char)('0' + numbers[i]);
  }
  if (n > 0) *to++ = '>';
  *to = 0;
}

/* Members in the compute type. */
static void set_numbers(fc_device_function *f, int compute, const double *numbers, uint32_t n) {
  const uint32_t size = (uint32_t)fc_dtype_size(compute), at = f->n_bytes / size;
  f->n_bytes += n * size, f->align = size;
  for (uint32_t i = 0; i < n; i++)
    if (compute == FC_F32)
      ((float *)f->bytes)[at + i] = numbers ? (float)numbers[i] : 0;
    else
      ((double *)f->bytes)[at + i] = numbers ? numbers[i] : 0;
}

/* `flags`, without FC_FUNCTION_NONNEGATIVE if a number is negative or NaN. */
static uint32_t sign_of(const double *numbers, int64_t n, uint32_t flags) {
  for (int64_t i = 0; i < n; i++)
    if (!(numbers[i] >= 0)) return flags & ~FC_FUNCTION_NONNEGATIVE;
  return flags;
}

/* NaN if either is: then nothing is known. */
static double larger(double a, double b) {
  return a >= b || isnan(a) ? a : b;
}

/* Without an upper limit the size of a power is unknown. */
static void set_curve(const fc_pointwise *p, fc_device_function *f) {
  const int32_t power = p->exponent != 1;
  if (isfinite(p->high))
    f->growth = 1e-6, f->offset = fabs(p->span) * pow(p->high, p->exponent) + fabs(p->to);
  if (power) f->flags |= FC_FUNCTION_ALONE;
  if (p->span >= 0 && p->to >= 0) f->flags |= FC_FUNCTION_NONNEGATIVE;
  set(f, curve_text, 0, 0, "fc_curve", &power, 1);
  set_numbers(f, p->compute, (const double[]){p->from, p->factor, p->high, p->exponent, p->span, p->to}, 6);
}

void fc_function_pointwise(const fc_pointwise *p, fc_device_function *f) {
  switch (p->form) {
  case FC_POINTWISE_SCALE:
    f->growth = fabs(p->factor);
    if (p->factor >= 0) f->flags |= FC_FUNCTION_NONNEGATIVE;
    set(f, scale_text, 0, 0, "fc_scale", NULL, 0);
    set_numbers(f, p->compute, &p->factor, 1);
    break;
  case FC_POINTWISE_MAP:
    f->growth = fabs(p->factor), f->offset = fabs(p->from * p->factor) + fabs(p->to);
    if (p->from <= 0 && p->factor >= 0 && p->to >= 0) f->flags |= FC_FUNCTION_NONNEGATIVE;
    set(f, map_text, 0, 0, "fc_range", NULL, 0);
    set_numbers(f, p->compute, (const double[]){p->from, p->factor, p->to}, 3);
    break;
  case FC_POINTWISE_CLAMP: /* either limit may be infinite */
    f->growth = 1, f->offset = fmax(isinf(p->low) ? 0 : fabs(p->low), isinf(p->high) ? 0 : fabs(p->high));
    f->low = p->low, f->high = p->high;
    f->flags |= FC_FUNCTION_RANKS;
    if (p->high >= 0) f->flags |= FC_FUNCTION_NONNEGATIVE;
    set(f, clamp_text, 0, 0, "fc_clamp", NULL, 0);
    set_numbers(f, p->compute, (const double[]){p->low, p->high}, 2);
    break;
  case FC_POINTWISE_AFFINE:
    f->growth = fabs(p->factor), f->offset = fabs(p->to);
    if (p->factor >= 0 && p->to >= 0) f->flags |= FC_FUNCTION_NONNEGATIVE;
    set(f, affine_text, 0, 0, "fc_affine", NULL, 0);
    set_numbers(f, p->compute, (const double[]){p->factor, p->to}, 2);
    break;
  case FC_POINTWISE_CURVE: set_curve(p, f); break;
  case FC_POINTWISE_THRESHOLD:
    f->growth = p->keeps != 0, f->offset = p->keeps ? 0 : fmax(fabs(p->low), fabs(p->high));
    if (p->keeps || (p->low >= 0 && p->high >= 0)) f->flags |= FC_FUNCTION_NONNEGATIVE;
    set(f, curve_text, 0, 0, "fc_threshold", &p->keeps, 1);
    set_numbers(f, p->compute, (const double[]){p->from, p->high, p->low}, 3);
    break;
  default:
    set(f, copy_text, 0, 0, "fc_copy", NULL, 0);
    f->flags |= FC_FUNCTION_SELECTS | FC_FUNCTION_RANKS | FC_FUNCTION_KEEPS_ALL, f->growth = 1;
  }
}

void fc_function_alone(int compute, int in_dtype, int out_dtype, fc_device_function *f) {
  const int composed =
      in_dtype <= FC_U16 && out_dtype <= FC_U16 && f->in < 2 && !(f->flags & FC_FUNCTION_SELECTS);
  if (!composed && !FC_POINTWISE_IS_DENSE(compute, in_dtype, out_dtype)) f->flags |= FC_FUNCTION_ALONE;
}

fc_status fc_function_gains(int compute, const double *factors, int64_t channels, fc_device_function *f) {
  if (channels < 1 || channels > FC_FUNCTION_CHANNELS) return FC_UNSUPPORTED;
  const int32_t count = (int32_t)channels;
  set(f, gains_text, (uint32_t)count, (uint32_t)count, "fc_gains", &count, 1);
  set_numbers(f, compute, factors, (uint32_t)count);
  f->growth = 0;
  for (int64_t c = 0; c < channels; c++) f->growth = larger(f->growth, fabs(factors[c]));
  f->flags |= sign_of(factors, channels, FC_FUNCTION_NONNEGATIVE);
  return FC_OK;
}

fc_status fc_function_affines(int compute, const double *pairs, int64_t channels, fc_device_function *f) {
  if (channels < 1 || channels > FC_FUNCTION_CHANNELS) return FC_UNSUPPORTED;
  const int32_t count = (int32_t)channels;
  set(f, affines_text, (uint32_t)count, (uint32_t)count, "fc_affines", &count, 1);
  set_numbers(f, compute, pairs, 2 * (uint32_t)count);
  f->growth = 0;
  for (int64_t c = 0; c < channels; c++)
    f->growth = larger(f->growth, fabs(pairs[2 * c])), f->offset = larger(f->offset, fabs(pairs[2 * c + 1]));
  return FC_OK;
}

fc_status fc_function_matrix(int compute, const double *matrix, const double *offsets, int64_t rows,
                             int64_t cols, fc_device_function *f) {
  if (rows < 1 || cols < 1 || rows > FC_FUNCTION_CHANNELS || cols > FC_FUNCTION_CHANNELS)
    return FC_UNSUPPORTED;
  set(f, matrix_text, (uint32_t)cols, (uint32_t)rows, "fc_matrix",
      (const int32_t[]){(int32_t)rows, (int32_t)cols}, 2);
  set_numbers(f, compute, matrix, (uint32_t)(rows * cols));
  set_numbers(f, compute, offsets, (uint32_t)rows);
  f->growth = 0;
  for (int64_t r = 0; r < rows; r++) {
    double sum = 0;
    for (int64_t c = 0; c < cols; c++) sum += fabs(matrix[r * cols + c]);
    f->growth = larger(f->growth, sum), f->offset = larger(f->offset, offsets ? fabs(offsets[r]) : 0);
  }
  f->flags |= sign_of(offsets, offsets ? rows : 0, sign_of(matrix, rows * cols, FC_FUNCTION_NONNEGATIVE));
  return FC_OK;
}

fc_status fc_function_mix(const int32_t *channels, int64_t out, int64_t in, fc_device_function *f) {
  int32_t numbers[1 + FC_FUNCTION_CHANNELS] = {(int32_t)in};
  if (in < 1 || out < 1 || in > FC_FUNCTION_CHANNELS || out > FC_FUNCTION_CHANNELS) return FC_UNSUPPORTED;
  uint32_t taken = 0;
  for (int64_t i = 0; i < out; i++) {
    if (channels[i] < 0 || channels[i] >= in) return FC_INVALID;
    numbers[i + 1] = channels[i], taken |= 1u << channels[i];
  }
  set(f, mix_text, (uint32_t)in, (uint32_t)out, "fc_mix", numbers, out + 1);
  f->flags |= FC_FUNCTION_SELECTS | FC_FUNCTION_RANKS | (taken == (1u << in) - 1 ? FC_FUNCTION_KEEPS_ALL : 0);
  f->align = 1, f->growth = 1;
  return FC_OK;
}
