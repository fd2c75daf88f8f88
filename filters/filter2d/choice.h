/* SPDX-License-Identifier: MIT */
/*
 * choice.h - which kernel of sepconv or conv2d takes an image on a GPU: two tables of plain C over a case,
 * which is what matters of the views and the mask. Nothing here touches a device, so
 * tests/filters/test_choice.c checks the tables without one. Internal to filters/.
 */
#ifndef FC_FILTERS_FILTER2D_CHOICE_H
#define FC_FILTERS_FILTER2D_CHOICE_H

#include "filters/filter2d/conv2d.h"
#include "filters/filter2d/sepconv.h"

FC_BEGIN_DECLS

/* Limits of kernels: taps a side, columns that are elements of a row, rows of an image. */
#define FC_BAND_WIDTH   512 /* of a band: 4 of each of 128 threads. A band is one such group, or two */
#define FC_MARCH_MARGIN 124 /* elements of a window beyond its own, and taps */
#define FC_MARCH_STEP   4   /* channels */

#define FC_SEPCONV_TAPS      31 /* of kernels that know the number when they are compiled */
#define FC_BAND_TAPS         25 /* sepconv/floats.cu, at least */
#define FC_CONV2D_TAPS_BYTES 3  /* conv2d/bytes.cu */

#define FC_DIGIT_TAPS    121 /* sepconv/digits.cuh, across; down FC_SEPCONV_TAPS */
#define FC_QUADS_DOWN    7   /* sepconv/quads_bytes.cu: rows of a window, */
#define FC_QUADS_WINDOW  32  /* bytes of a row of windows, */
#define FC_QUADS_OUTPUTS 16  /* of which outputs */

#define FC_FEW_ROWS    8   /* at most: filters/gpu/few.cuh */
#define FC_FLOATS_MOST 768 /* elements of a row of bytes whose separable sums are floats */

/* In the order in which they are asked; the first that takes the case is launched. A launcher that finds no
 * room on its device returns FC_UNSUPPORTED, then the next one is asked. */
typedef enum fc_kernel2d {
  FC_KERNEL2D_FLOATS,      /* sepconv/floats.cu: bands of 512 elements */
  FC_KERNEL2D_QUADS_BYTES, /* sepconv/quads_bytes.cu */
  FC_KERNEL2D_BYTES,       /* sepconv/bytes.cu, conv2d/bytes.cu */
  FC_KERNEL2D_MARCH,       /* sepconv_march: a warp a strip, all types, several terms */
  FC_KERNEL2D_TILES,       /* sepconv_tile, conv2d_tile: anything */
  FC_KERNEL2D_HOST         /* none that makes the border: the host does, then the case without edges */
} fc_kernel2d;

typedef struct fc_case2d {
  int32_t separable, compute, in_dtype, out_dtype;
  int32_t edges; /* the border is to be made, of a signal whose ends are the views' */
  int32_t
      adjacent;   /* rows are of adjacent elements, and 124 elements hold what a window sees beyond its own */
  int32_t step;   /* elements from tap to tap: interleaved channels, or 1 */
  int32_t digits; /* u8 to u8, and the mask's numbers suit the arithmetic of bytes */
  int32_t in_low,
      out_low; /* low bits of the addresses of the first window and output; and those that distances */
  int32_t in_apart, out_apart; /* of rows have in common: 0 means multiples of 16 */
  int64_t nx, ny, rank;
  int64_t columns, height; /* elements of a row of outputs, and rows */
  int64_t margin;          /* elements of a window beyond its own: (nx - 1) * step */
} fc_case2d;

/* `edges` NULL: the host has made the border. */
FC_FILTERS_API fc_case2d fc_sepconv_case(const fc_sepconv *op, const fc_view *in, const fc_edges *edges,
                                         const fc_view *out);
FC_FILTERS_API fc_case2d fc_conv2d_case(const fc_conv2d *op, const fc_view *in, const fc_edges *edges,
                                        const fc_view *out);

/* Whether separable sums of bytes to bytes are floats, as in composed kernels, and not integers
 * (sepconv/digits.cuh): by masks that are composed, in images too narrow for bands of these, of few rows
 * or of one column. Bits differ, so that it is decided by the whole signal's extent.
 * 224 x 224 RGB by 3, 7, 15 taps took 104, 145, 275 us, by integers that several images share 127, 163, 255;
 * 300 x 300 126, 120, 188 and 89, 105, 143; 31 wide 331, 333, 415 and 513, 622, 837 (H200, 90 to 134 MB). */
FC_FILTERS_API int fc_sepconv_in_floats(int64_t nx, int64_t ny, const int64_t extent[FC_AXES]);

/* The first kernel from `from` on that takes the case. */
FC_FILTERS_API fc_kernel2d fc_case2d_choose(const fc_case2d *c, fc_kernel2d from);

/* Whether these kernels are as fast as one composed for the mask (core/compose), for a signal of this extent:
 * figures in choice.c. */
typedef struct fc_signal2d {
  int32_t separable, in_dtype, out_dtype;
  int64_t nx, ny, extent[FC_AXES];
} fc_signal2d;
FC_FILTERS_API int fc_filter2d_is_quick(const fc_signal2d *s);

FC_END_DECLS

#endif
