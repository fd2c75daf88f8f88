/* SPDX-License-Identifier: MIT */
/* fft_choice.c - see fft_choice.h. */
#include "filters/fourier/gpu/fft_choice.h"

#include "filters/base/integers.h"

enum {
  VALUES = 1024, /* that lines processed together should fill */
  BLOCKS = 256   /* that run concurrently with scratch */
};

/* Two buffers of each line. An odd distance of lines keeps them in different banks of shared memory. */
static int64_t bytes_of(const fc_fft_case *c, int64_t lines) {
  const int64_t both = 2 * 2 * (int64_t)fc_dtype_size(c->compute);
  return lines == 1 ? both * c->values : lines * (both * (c->values | 1) + FC_FFT_LINE);
}

static int64_t lines_of(const fc_fft_case *c) {
  int64_t lines = VALUES / c->values;
  if (c->across && lines < FC_FFT_ACROSS) lines = FC_FFT_ACROSS;
  while (lines > 1 && bytes_of(c, lines) > FC_FFT_SHARED) lines /= 2;
  return lines < 1 ? 1 : lines;
}

static int takes_together(const fc_fft_case *c) {
  return c->together && lines_of(c) > 1;
}

static int takes_alone(const fc_fft_case *c) {
  return bytes_of(c, 1) <= FC_FFT_SHARED;
}

static int takes_all(const fc_fft_case *c) {
  (void)c;
  return 1;
}

static int (*const takes[])(const fc_fft_case *c) = {
    [FC_FFT_TOGETHER] = takes_together, [FC_FFT_ALONE] = takes_alone, [FC_FFT_GLOBAL] = takes_all};

static int32_t threads_of(int64_t values) {
  const int64_t wanted = values / 8;
  return wanted <= 64 ? 64 : wanted <= 128 ? 128 : wanted <= 256 ? 256 : 512;
}

fc_fft_choice fc_fft_choose(const fc_fft_case *c) {
  fc_fft_choice f = {.launch = FC_FFT_TOGETHER, .lines = 1, .pitch = 0};
  while (!takes[f.launch](c)) f.launch++;
  if (f.launch == FC_FFT_TOGETHER) f.lines = (int32_t)lines_of(c), f.pitch = (int32_t)(c->values | 1);
  f.threads = threads_of(f.lines * c->values), f.bytes = bytes_of(c, f.lines);
  return f;
}

int64_t fc_fft_values(const fc_fft *plan) {
  return plan->convolved ? ((const fc_fft *)(const void *)((const char *)plan + plan->inner))->n : plan->n;
}

size_t fc_fft_global(const fc_fft *plan, int64_t lines) {
  const fc_fft_case c = {.values = fc_fft_values(plan), .compute = plan->compute};
  const fc_fft_choice f = fc_fft_choose(&c);
  return f.launch == FC_FFT_GLOBAL ? (size_t)(f.bytes * fc_smaller(lines, BLOCKS)) : 0;
}
