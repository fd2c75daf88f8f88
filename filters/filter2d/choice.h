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

#define FC_SEPCONV_TAPS     31 /* of kernels that know the number when they are compiled */
#define FC_CONV2D_TAPS      15
#define FC_CONV2D_TAPS_FOUR 7 /* conv2d/floats.cu, of 4 channels */
#define FC_CONV2D_TAPS_LOW  7 /* conv2d/bytes.cu, narrow_bytes.cu, line_bytes.cu */

#define FC_DIGIT_TAPS    121 /* sepconv/digits.cuh, across; down FC_SEPCONV_TAPS */
#define FC_QUADS_DOWN    7   /* sepconv/quads_bytes.cu: rows of a window, */
#define FC_QUADS_WINDOW  32  /* bytes of a row of windows, */
#define FC_QUADS_OUTPUTS 16  /* of which outputs */

#define FC_NARROW_COLUMNS 256 /* narrow.cuh: 8 per lane of a warp */
#define FC_NARROW_TAPS    31
#define FC_THIN_ROWS      8   /* sepconv/thin.cuh */
#define FC_WAYS_THREADS   128 /* sepconv/ways.cu, of a block */

/* In the order in which they are asked; the first that takes the case is launched. A launcher that finds no
 * room on its device returns FC_UNSUPPORTED, then the next one is asked. */
typedef enum fc_kernel2d {
  FC_KERNEL2D_WAYS,         /* sepconv/ways.cu: several parts of an image side by side */
  FC_KERNEL2D_WAYS_BYTES,   /* sepconv/ways_bytes.cu */
  FC_KERNEL2D_NARROW_BYTES, /* conv2d/narrow_bytes.cu */
  FC_KERNEL2D_NARROW,       /* sepconv/narrow.cu, conv2d/narrow.cu: rows of few elements, all types */
  FC_KERNEL2D_LINE,         /* sepconv/line.cu, conv2d/line.cu: one row, or one dense column */
  FC_KERNEL2D_LINE_BYTES,   /* sepconv/line_bytes.cu, conv2d/line_bytes.cu */
  FC_KERNEL2D_THIN,         /* sepconv/thin.cu: few rows */
  FC_KERNEL2D_THIN_BYTES,   /* sepconv/thin_bytes.cu */
  FC_KERNEL2D_FLOATS,       /* sepconv/floats.cu, conv2d/floats.cu: bands of 512 elements */
  FC_KERNEL2D_QUADS_BYTES,  /* sepconv/quads_bytes.cu */
  FC_KERNEL2D_BYTES,        /* sepconv/bytes.cu, conv2d/bytes.cu */
  FC_KERNEL2D_MARCH,        /* sepconv_march: a warp a strip, all types, several terms */
  FC_KERNEL2D_TILES,        /* sepconv_tile, conv2d_tile: anything */
  FC_KERNEL2D_HOST          /* none that makes the border: the host does, then the case without edges */
} fc_kernel2d;

typedef struct fc_case2d {
  int32_t separable, compute, in_dtype, out_dtype;
  int32_t edges; /* the border is to be made, of a signal whose ends are the views' */
  int32_t
      adjacent;   /* rows are of adjacent elements, and 124 elements hold what a window sees beyond its own */
  int32_t step;   /* elements from tap to tap: interleaved channels, or 1 */
  int32_t dense;  /* rows follow each other without gaps */
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

/* Whether bytes can be summed by digits, but for the margin of a border that is to be made. */
int fc_case2d_digits(const fc_case2d *c);

/* Whether sepconv/thin.cu takes an image of so many rows as it is, or else its column as a row. */
int fc_case2d_is_thin(int64_t height, int64_t ny);

/* The first kernel from `from` on that takes the case. */
FC_FILTERS_API fc_kernel2d fc_case2d_choose(const fc_case2d *c, fc_kernel2d from);

/* Whether these kernels are as fast as one composed for the mask (core/compose), for a signal of this extent:
 * figures in choice.c. */
typedef struct fc_signal2d {
  int32_t separable, in_dtype, out_dtype;
  int64_t nx, ny, extent[FC_AXES];
} fc_signal2d;
FC_FILTERS_API int fc_filter2d_is_quick(const fc_signal2d *s);

/* How blocks of sepconv/ways.cu share rows of `columns` elements: bands of a row, groups of four pixels of a
 * band, and parts of the image of a block. */
typedef struct fc_ways_sharing {
  int64_t bands;
  int quads, together, threads;
  double worth; /* share of the threads that have outputs, reduced by what bands read beyond theirs */
} fc_ways_sharing;
fc_ways_sharing fc_ways_share(int64_t columns, int64_t step, int64_t margin);

FC_END_DECLS

#endif
