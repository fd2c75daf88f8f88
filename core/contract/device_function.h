/* SPDX-License-Identifier: MIT */
/*
 * device_function.h - what an operator does to one sample or pixel, as source text that the host composes
 * with its neighbours' into kernels of its own (extension "device-function/1" of plugin.h).
 *
 * The text is one struct, put into a namespace of its own, with
 *
 *     FC_DEVICE real operator()(real v) const;                           in = out = 0: a sample
 *     FC_DEVICE void operator()(const real (&x)[IN], real (&y)[OUT]) const;       a pixel
 *
 * With FC_FUNCTION_POSITION either has one more parameter, `const fc_position &at`: where the sample or pixel
 * is.
 *
 * `real` is the type computed with, float or double, and so are the struct's numbers. There are fc_at_least,
 * fc_at_most and fc_fma; sums and products are not contracted. A comparison that chooses between two numbers
 * of the struct had better be one of these: the compiler branches around others.
 */
#ifndef FC_DEVICE_FUNCTION_H
#define FC_DEVICE_FUNCTION_H

#include <stdint.h>

#define FC_FUNCTION_SELECTS 1u /* each result is one of the arguments, as it is */
/* Of a window of each channel, in f32, of which NX / 2 columns and NY / 2 rows lie before the output: sums of
 * products, fc_separable<NX, NY>, whose members are NX taps along and NY down, or fc_dense<NX, NY>, NY rows
 * of NX, in order of reading; or statistics, fc_statistic<WHICH, NX, DTYPE, KIND>, which has no members, of
 * the samples that the operator sees (filters/winstat). The text is FC_FUNCTION_WINDOW_TEXT or
 * FC_FUNCTION_STATISTIC_TEXT. */
#define FC_FUNCTION_WINDOW         2u
#define FC_FUNCTION_WINDOW_TEXT    "using ::fc_separable;\nusing ::fc_dense;\n"
#define FC_FUNCTION_STATISTIC_TEXT "using ::fc_statistic;\n"
#define FC_FUNCTION_STATISTIC_MOST 16384 /* samples of its window */
#define FC_FUNCTION_ALONE          4u /* its kernel is worth while by itself: it is quicker than `process` */
#define FC_FUNCTION_NONNEGATIVE    8u /* of arguments that are not negative no result is */
/* It is told positions in the output. Not fused with windows. */
#define FC_FUNCTION_POSITION 16u

/* Where a sample is in the whole signal, whatever part of it is computed: its column or time, row and channel
 * (of a pixel 0), of so many columns and rows. Width is -1 of a stream whose end is not known. */
typedef struct fc_position {
  int64_t x, y, c, width, height;
} fc_position;

/* Bytes there is room for. */
#define FC_FUNCTION_ENTRY 64
#define FC_FUNCTION_BYTES 2048

/* The host makes it, zero but for the room for entry and bytes; the operator fills it in. */
typedef struct fc_device_function {
  uint32_t size;
  uint32_t flags;     /* FC_FUNCTION_* */
  const char *source; /* constant: in a subset of C++, with no #include, no globals, no asm */
  char *entry;        /* the struct's name, with the arguments of a template */
  uint32_t in, out;   /* channels of a pixel; 0: each sample by itself */
  void *bytes;        /* its members, laid out as its C twin: another value compiles nothing anew */
  uint32_t n_bytes, align;
  double low, high; /* range of the results as real values; low > high, as the host leaves it: not known */
  /* As it is computed, no result of finite arguments is further from 0 than `growth` times the furthest of
   * them, plus `offset`; growth < 0, as the host leaves it: not known. Where that shows that nothing can be
   * clipped, nobody looks.
   */
  double growth, offset;
  uint32_t window_x, window_y; /* with FC_FUNCTION_WINDOW: NX, NY */
} fc_device_function;

#endif
