/* SPDX-License-Identifier: MIT */
/*
 * winstat.h - statistics over a sliding window.
 *
 * Output (y, x) describes the window of rows y - before[1] .. y + after[1] and columns x - before[0] .. x +
 * after[0] of one channel: its sum, sum of squares, mean, population variance (divided by the number of
 * samples), standard deviation, root mean square, smallest or largest sample. Several statistics become
 * channels, statistic by statistic: output channel s * C + c is statistic s of input channel c, so the first
 * C channels are a whole picture of the first statistic.
 *
 * The cost per output does not depend on the window. Integer input is summed exactly, in integers; the
 * statistic of those sums is computed in double and rounded once into the output's type. Floating-point input
 * is added in a fixed tree of disjoint pieces, never subtracted again, so the error is bounded as for direct
 * summation, and NaN and infinities touch only the windows they are in (a NaN is the minimum and the maximum
 * of its window). Variance merges the means and squared deviations of pieces (Chan, Golub, LeVeque 1983),
 * each relative to a sample of its own piece or of the window: a large common offset costs no digits.
 */
#ifndef FC_FILTERS_WINSTAT_H
#define FC_FILTERS_WINSTAT_H

#include "core/contract/edges.h"
#include "filters/base/samples.h"

FC_BEGIN_DECLS

/* Columns and rows of a window, at most, of which one kernel makes the deviations of floats, in an order of
 * its own. */
#define FC_WINSTAT_SPREAD_MOST 33
/* The same of sums of floats, and of their squares: the order is in filters/gpu/box.cuh. */
#define FC_WINSTAT_SUMS_MOST 31

/* On a device windows slide along rows in tiles anchored every SLIDE_ANCHOR columns; windows of more than
 * SLIDE_MAX columns are combined from blocks of ROW_BLOCK. */
#define FC_WINSTAT_SLIDE_MAX    65536
#define FC_WINSTAT_SLIDE_ANCHOR 512
#define FC_WINSTAT_ROW_BLOCK    256
/* Rows of a block from which windows along y are combined. */
#define FC_WINSTAT_COLUMN_BLOCK 16

typedef enum fc_winstat_stat {
  FC_WINSTAT_SUM = 0,
  FC_WINSTAT_SUMSQ = 1,
  FC_WINSTAT_MEAN = 2,
  FC_WINSTAT_VAR = 3,
  FC_WINSTAT_STD = 4,
  FC_WINSTAT_RMS = 5,
  FC_WINSTAT_MIN = 6,
  FC_WINSTAT_MAX = 7,
  FC_WINSTAT_STATS = 8
} fc_winstat_stat;

/* The maximum of samples in a window: counts and sums of squares of 16-bit samples then fit 64 bits. */
#define FC_WINSTAT_AREA_MAX 4294967295LL

/* The parameters, ready for use; copied freely. Index 0 is x, 1 is y. */
typedef struct fc_winstat {
  int32_t n_stats;
  int32_t stat[FC_WINSTAT_STATS]; /* fc_winstat_stat, in the order of the output */
  int64_t before[2], after[2];    /* samples of the window before the output's own and after it, >= 0 */
  int32_t shrink;                 /* only samples inside the signal count; else the halo is read */
  int32_t compute;                /* FC_F32 or FC_F64: sums of floating-point input */
  fc_isa isa;                     /* instruction set of fc_winstat_cpu */
} fc_winstat;

/*
 * A window of columns x rows around the output's own sample: floor(n/2) before it and
 * floor((n-1)/2) after it on each axis, as a box mask of conv1d lies (one more before
 * it when n is even). FC_INVALID when a size is below 1, the area above
 * FC_WINSTAT_AREA_MAX or a statistic unknown.
 */
FC_FILTERS_API fc_status fc_winstat_init(fc_winstat *w, const int32_t *stats, int n_stats, int64_t columns,
                                         int64_t rows, int shrink, int compute);

/*
 * For a signal of columns x rows (FC_UNKNOWN: no limit): reduces a shrinking window to what the signal can
 * fill. Does nothing to others.
 */
FC_FILTERS_API void fc_winstat_clip(fc_winstat *w, int64_t columns, int64_t rows);

/*
 * For a signal of columns x rows and a border (fc_border) that repeats it: along an axis with a single sample
 * a window contains only that sample, so for all statistics but sums a window of one sample gives the same
 * result, and needs no border.
 */
FC_FILTERS_API void fc_winstat_fold(fc_winstat *w, int border, int64_t columns, int64_t rows);

/*
 * If views start at multiples of this along x, views of the same shape and alignment give the same launches
 * on a device (so that they may be replayed as a graph).
 */
FC_FILTERS_API int64_t fc_winstat_align(const fc_winstat *w);
/* The same along y, in a signal with this many columns (FC_UNKNOWN: not one). */
FC_FILTERS_API int64_t fc_winstat_align_rows(const fc_winstat *w, int64_t columns);

/*
 * `in` starts at the position where `out` starts and, without shrink, is readable before[] and after[] beyond
 * its ends; origin and extent of `in` say where the signal ends. `out` has n_stats times its channels. Any
 * strides and dtypes; views of shape 0 are fine. The result is the same to the bit however the output is cut.
 * `notes` as in samples.h. Host views; `scratch` holds as many bytes as fc_winstat_cpu_scratch says, 64-byte
 * aligned. Several threads may work at once, each with its own scratch.
 *
 * fc_winstat_ref adds up every window afresh in long double (two passes for the variance) and needs no
 * scratch.
 */
FC_FILTERS_API fc_status fc_winstat_ref(const fc_winstat *w, const fc_view *in, const fc_view *out,
                                        uint32_t *notes);
FC_FILTERS_API size_t fc_winstat_cpu_scratch(const fc_winstat *w, const fc_view *in);
FC_FILTERS_API fc_status fc_winstat_cpu(const fc_winstat *w, const fc_view *in, const fc_view *out,
                                        void *scratch, uint32_t *notes);

/* Whether the precompiled kernels of a GPU are at least as fast as a composed one (core/compose), for one
 * statistic in windows of so many samples along rows of so many columns (FC_UNKNOWN: many), or time. */
FC_FILTERS_API int fc_winstat_is_quick(int kind, int in_dtype, int out_dtype, int64_t columns,
                                       int64_t channels, int stat, int64_t samples);

/* Whether there is a composed kernel (filters/gpu/box.cuh) for a statistic of images in windows of so many
 * columns and rows: one that is exact in any order, with sums of 32 bits. */
FC_FILTERS_API int fc_winstat_is_box(int stat, int in_dtype, int out_dtype, int64_t columns, int64_t rows);
/* The same of sums of floats, and of their squares, with an order of their own on a GPU: in windows of
 * several rows. */
FC_FILTERS_API int fc_winstat_is_box_of_floats(int stat, int in_dtype, int compute, int64_t columns,
                                               int64_t rows);
/* Whether a window along rows is best composed as such a one of one row: of short ones several lie in a
 * block.
 */
FC_FILTERS_API int fc_winstat_is_row_box(int kind, int stat, int in_dtype, int out_dtype, int64_t columns,
                                         int64_t channels, int64_t samples);

/* The same on the device of the views; enqueues on `stream` and returns. The scratch
 * is device memory, 256-byte aligned. */
FC_FILTERS_API size_t fc_winstat_cuda_scratch(const fc_winstat *w, const fc_view *in);
FC_FILTERS_API fc_status fc_winstat_cuda(const fc_winstat *w, const fc_view *in, const fc_view *out,
                                         void *scratch, uint32_t *notes, void *stream);

/* The same, to the bit, with a view that is the whole signal and has no border: the border is made by the
 * kernel. FC_UNSUPPORTED, with nothing written to `out`, except for: in single precision, sums of floats and
 * statistics derived from them, of rows and of boxes of up to 31 columns and rows; and in windows of about
 * that size variances of floats and bytes, and minima and maxima stored in the type of the samples. */
FC_FILTERS_API fc_status fc_winstat_cuda_edges(const fc_winstat *w, const fc_view *in, const fc_edges *edges,
                                               const fc_view *out, void *scratch, uint32_t *notes,
                                               void *stream);

FC_END_DECLS

#endif
