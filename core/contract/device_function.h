/* SPDX-License-Identifier: MIT */
/*
 * device_function.h - what an operator does to one sample or pixel, as source text from which the host
 * composes one kernel for several stages (extension "device-function/1" of plugin.h).
 *
 * The text is one struct, which the host puts into its own namespace, with
 *
 *     FC_DEVICE real operator()(real v) const;                           in = out = 0: a sample
 *     FC_DEVICE void operator()(const real (&x)[IN], real (&y)[OUT]) const;       a pixel
 *
 * With FC_FUNCTION_POSITION either has one more parameter, `const fc_position &at`: the position of the
 * sample or pixel. With FC_FUNCTION_AROUND it is a function of neighbours, at(dx, dy) columns and rows away:
 *
 *     FC_DEVICE real operator()(const fc_around &at) const;                       at(0, 0): the sample itself
 *
 * `real` is the compute type, float or double, and the type of the struct's members. fc_at_least, fc_at_most
 * and fc_fma are available; sums and products are not contracted. To choose between two numbers by comparing
 * them, use fc_at_least or fc_at_most: for other comparisons the compiler generates branches.
 */
#ifndef FC_DEVICE_FUNCTION_H
#define FC_DEVICE_FUNCTION_H

#include <stdint.h>

#define FC_FUNCTION_SELECTS 1u /* each result is one of the arguments, unchanged */
/* The operator reads a window of each channel; NX / 2 columns and NY / 2 rows of it lie before the output.
 * Either any function of it (FC_FUNCTION_AROUND). Or, in f32, sums of products (fc_describe_window of
 * fc_helpers.h): fc_separable<NX, NY>, whose members are NX horizontal and NY vertical taps, or
 * fc_dense<NX, NY>, whose members are NY rows of NX taps. Each sum is made from 0 on by
 * fc_fma(tap, value, sum), in the order of the members; of fc_separable first that of each row, then that of
 * the rows from the top. (A `process` that has the columns first agrees to rounding only.) Up to 31 x 31 and
 * 512 taps, or 128 in a row, or 48 in a column. A dense mask of more than FC_FUNCTION_DENSE_RUN taps is
 * summed in runs of FC_FUNCTION_DENSE_RUN / NX whole rows, the last of fewer, each from 0 on; the sums of the
 * runs are added from the top. NX is at most FC_FUNCTION_DENSE_RUN then. fc_sharpened<NX, NY>, whose members
 * are those of fc_separable and two numbers, `amount` and `threshold`, makes of the value v in the middle,
 * and the sum, v + amount * (v - sum) if the difference is larger than the threshold, else v; up to 27 x 27,
 * RGB to 21 and RGBA to 19. Or statistics: fc_statistic<WHICH, NX, DTYPE, KIND>, which has no members, of the
 * samples as the operator sees them (filters/winstat); or fc_box<WHICH, NX, NY, DTYPE, OUT> of images,
 * extremes, or of integers of up to 16 bits sums and means, and of bytes all others, as the type OUT, which
 * is f32 or, but for variances, DTYPE; or fc_box_sums<WHICH, NX, NY> of f32 of images, of up to 31 x 31,
 * sums, means and those of squares, as f32. In windows that are cut at the signal's ends both have one more
 * argument, true, and FC_FUNCTION_SHRINKS; extremes have neither. Or sums of products along X by Fourier
 * transforms of N complex values, of TOGETHER channels at a time: fc_transforms<N, TOGETHER>, whose members
 * are an fc_function_transforms. The text is FC_FUNCTION_WINDOW_TEXT, FC_FUNCTION_SHARPENED_TEXT,
 * FC_FUNCTION_STATISTIC_TEXT, FC_FUNCTION_BOX_TEXT or FC_FUNCTION_TRANSFORMS_TEXT. */
#define FC_FUNCTION_WINDOW          2u
#define FC_FUNCTION_DENSE_RUN       256
#define FC_FUNCTION_WINDOW_TEXT     "using ::fc_separable;\nusing ::fc_dense;\n"
#define FC_FUNCTION_SHARPENED_TEXT  "using ::fc_sharpened;\n"
#define FC_FUNCTION_STATISTIC_TEXT  "using ::fc_statistic;\n"
#define FC_FUNCTION_BOX_TEXT        "using ::fc_box;\nusing ::fc_box_sums;\n"
#define FC_FUNCTION_TRANSFORMS_TEXT "using ::fc_transforms;\n"
#define FC_FUNCTION_STATISTIC_MOST  16384 /* largest window, in samples */
#define FC_FUNCTION_BOX_MOST        31    /* columns, and rows; winstat has single rows of up to 64 columns */
#define FC_FUNCTION_ALONE                                                                                    \
  4u /* the composed kernel is worth using for this operator alone: it is faster than `process` */
#define FC_FUNCTION_NONNEGATIVE 8u /* for arguments >= 0 every result is >= 0 */
/* It is given positions in the output. Not fused with windows. */
#define FC_FUNCTION_POSITION 16u
/* With FC_FUNCTION_SELECTS: each argument is among the results. Integers are then rounded behind the stage.
 */
#define FC_FUNCTION_KEEPS_ALL 32u
/* With FC_FUNCTION_WINDOW: the text is the operator's own, a function of the neighbours of a sample in its
 * channel (FC_AROUND_FUNCTION of fc_helpers.h), -NX / 2 <= dx < NX - NX / 2. in = out = 0, and not
 * FC_FUNCTION_KEEPS_ALL. On a device for signals of up to 4 channels. */
#define FC_FUNCTION_AROUND      64u
#define FC_FUNCTION_AROUND_MOST 31 /* columns, and rows */

/* Each result is one of the arguments, or of limits that are members, by order alone: the least, the largest,
 * a median, or always the same one. So it makes no difference whether integers are made ahead of it or of its
 * results. */
#define FC_FUNCTION_RANKS 128u
/* With FC_FUNCTION_WINDOW, of a stage without a border: windows are cut at the ends of the signal. */
#define FC_FUNCTION_SHRINKS 256u

/* Position of a sample in the whole signal, whichever part of it is computed: column or time, row and
 * channel (0 for a pixel), with the number of columns and rows. Width is -1 for a stream whose end is not
 * known. */
typedef struct fc_position {
  int64_t x, y, c, width, height;
} fc_position;

/* Members of fc_transforms (filters/conv1d/overlap.cuh), in samples. `mask` and `tables` are in device
 * memory, known once the operator is prepared (fc_fusible.bind). */
typedef struct fc_function_transforms {
  const void *mask, *tables;
  int32_t taps, before; /* as summed: without zeros at the mask's ends */
  int32_t hop, lead;    /* outputs of a block; zeros before its inputs */
  int32_t mask_step;    /* taps from one channel's mask to the next; 0: one mask for all */
  int32_t groups, threads, resident,
      shared;   /* of a block of threads: jobs at a time; bytes of shared memory */
  int32_t room; /* bytes that a block of the device may have, once prepared: of more channels than TOGETHER
                   it takes more than `shared` where that is enough; 0: not known yet */
} fc_function_transforms;

/* Size of the field in bytes. */
#define FC_FUNCTION_ENTRY 64
#define FC_FUNCTION_BYTES 2048

/* The host creates it, zeroed except for the buffers `entry` and `bytes`; the operator fills it in. */
typedef struct fc_device_function {
  uint32_t size;
  uint32_t flags;     /* FC_FUNCTION_* */
  const char *source; /* constant: in a subset of C++, with no #include, no globals, no asm */
  char *entry;        /* the struct's name, with its template arguments */
  uint32_t in, out;   /* channels of a pixel; 0: each sample by itself */
  void *bytes; /* its members, in the layout of an equal C struct: other values need no new compilation */
  uint32_t n_bytes, align;
  double low, high; /* range of the results as real values; low > high, the host's initial value: not known */
  /* But for rounding, of 5e-5 of it, |result| <= growth * max |argument| + offset for finite arguments;
   * growth < 0, the
   * host's initial value: not known. Where that proves that nothing can be clipped, the kernel does not check
   * for it. */
  double growth, offset;
  uint32_t window_x, window_y; /* with FC_FUNCTION_WINDOW: NX, NY */
} fc_device_function;

#endif
