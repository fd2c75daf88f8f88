/* SPDX-License-Identifier: MIT */
/*
 * functions.c - see functions.h.
 */
#include "filters/pointwise/functions.h"

#include <string.h>

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

static const char *const gains_entries[] = {"fc_gains<1>", "fc_gains<2>", "fc_gains<3>", "fc_gains<4>"};
static const char *const matrix_entries[][FC_FUNCTION_CHANNELS] = {
    {"fc_matrix<1, 1>", "fc_matrix<1, 2>", "fc_matrix<1, 3>", "fc_matrix<1, 4>"},
    {"fc_matrix<2, 1>", "fc_matrix<2, 2>", "fc_matrix<2, 3>", "fc_matrix<2, 4>"},
    {"fc_matrix<3, 1>", "fc_matrix<3, 2>", "fc_matrix<3, 3>", "fc_matrix<3, 4>"},
    {"fc_matrix<4, 1>", "fc_matrix<4, 2>", "fc_matrix<4, 3>", "fc_matrix<4, 4>"}};

/* Members in the type computed with. */
static void set_numbers(fc_function *f, int compute, const double *numbers, uint32_t n) {
  const uint32_t size = (uint32_t)fc_dtype_size(compute);
  f->n_bytes = n * size, f->align = size;
  for (uint32_t i = 0; i < n; i++)
    if (compute == FC_F32)
      f->numbers.f32[i] = (float)numbers[i];
    else
      f->numbers.f64[i] = numbers[i];
}

void fc_function_pointwise(const fc_pointwise *p, fc_function *f) {
  memset(f, 0, sizeof *f);
  switch (p->form) {
  case FC_POINTWISE_SCALE:
    f->source = scale_text, f->entry = "fc_scale";
    set_numbers(f, p->compute, &p->factor, 1);
    break;
  case FC_POINTWISE_MAP:
    f->source = map_text, f->entry = "fc_range";
    set_numbers(f, p->compute, (const double[]){p->from, p->factor, p->to}, 3);
    break;
  case FC_POINTWISE_CLAMP:
    f->source = clamp_text, f->entry = "fc_clamp";
    set_numbers(f, p->compute, (const double[]){p->low, p->high}, 2);
    break;
  default: f->source = copy_text, f->entry = "fc_copy"; set_numbers(f, p->compute, NULL, 0);
  }
}

fc_status fc_function_gains(int compute, const double *factors, int64_t channels, fc_function *f) {
  if (channels < 1 || channels > FC_FUNCTION_CHANNELS) return FC_UNSUPPORTED;
  memset(f, 0, sizeof *f);
  f->source = gains_text, f->entry = gains_entries[channels - 1];
  f->in = f->out = (uint32_t)channels;
  set_numbers(f, compute, factors, (uint32_t)channels);
  return FC_OK;
}

fc_status fc_function_matrix(int compute, const double *matrix, const double *offsets, int64_t rows,
                             int64_t cols, fc_function *f) {
  double numbers[FC_FUNCTION_NUMBERS] = {0};
  if (rows < 1 || cols < 1 || rows > FC_FUNCTION_CHANNELS || cols > FC_FUNCTION_CHANNELS)
    return FC_UNSUPPORTED;
  memset(f, 0, sizeof *f);
  f->source = matrix_text, f->entry = matrix_entries[rows - 1][cols - 1];
  f->in = (uint32_t)cols, f->out = (uint32_t)rows;
  memcpy(numbers, matrix, (size_t)(rows * cols) * sizeof *numbers);
  if (offsets) memcpy(numbers + rows * cols, offsets, (size_t)rows * sizeof *numbers);
  set_numbers(f, compute, numbers, (uint32_t)(rows * (cols + 1)));
  return FC_OK;
}
