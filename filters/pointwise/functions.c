/* SPDX-License-Identifier: MIT */
/*
 * functions.c - see functions.h.
 */
#include "filters/pointwise/functions.h"

#include <math.h>

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

/* Channels are in the type, not parameters: an index that is not known to the compiler puts pixels into local
 * memory. */
static const char mix_text[] =
    "template <int I, int... FROM> struct fc_mix {\n"
    "  FC_DEVICE void operator()(const real (&x)[I], real (&y)[sizeof...(FROM)]) const {\n"
    "    int at = 0;\n"
    "    ((y[at++] = x[FROM]), ...);\n"
    "  }\n"
    "};\n";

/* Text, channels and "name<a,b,...>", of numbers of one figure. */
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

/* Members in the type computed with. */
static void set_numbers(fc_device_function *f, int compute, const double *numbers, uint32_t n) {
  const uint32_t size = (uint32_t)fc_dtype_size(compute), at = f->n_bytes / size;
  f->n_bytes += n * size, f->align = size;
  for (uint32_t i = 0; i < n; i++)
    if (compute == FC_F32)
      ((float *)f->bytes)[at + i] = numbers ? (float)numbers[i] : 0;
    else
      ((double *)f->bytes)[at + i] = numbers ? numbers[i] : 0;
}

/* `flags`, less FC_FUNCTION_NONNEGATIVE where a number is negative or none. */
static uint32_t sign_of(const double *numbers, int64_t n, uint32_t flags) {
  for (int64_t i = 0; i < n; i++)
    if (!(numbers[i] >= 0)) return flags & ~FC_FUNCTION_NONNEGATIVE;
  return flags;
}

/* NaN if either is: nothing is known then. */
static double larger(double a, double b) {
  return a >= b || isnan(a) ? a : b;
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
    if (p->high >= 0) f->flags |= FC_FUNCTION_NONNEGATIVE;
    set(f, clamp_text, 0, 0, "fc_clamp", NULL, 0);
    set_numbers(f, p->compute, (const double[]){p->low, p->high}, 2);
    break;
  default: set(f, copy_text, 0, 0, "fc_copy", NULL, 0); f->flags |= FC_FUNCTION_SELECTS, f->growth = 1;
  }
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
  for (int64_t i = 0; i < out; i++) {
    if (channels[i] < 0 || channels[i] >= in) return FC_INVALID;
    numbers[i + 1] = channels[i];
  }
  set(f, mix_text, (uint32_t)in, (uint32_t)out, "fc_mix", numbers, out + 1);
  f->flags |= FC_FUNCTION_SELECTS, f->align = 1, f->growth = 1;
  return FC_OK;
}
