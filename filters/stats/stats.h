/* SPDX-License-Identifier: MIT */
/*
 * stats.h - statistics of a whole signal, block by block.
 *
 * The signal is cut along one axis into blocks of a fixed size, anchored at position 0: ranges of time, or
 * whole rows. A block gives a partial result (fc_stats_part) for each channel; these are merged in a fixed
 * tree (fc_stats_tree). So the result is the same to the bit for any chunks, threads or device.
 *
 * Integers are summed exactly, in 128 bits. Floating-point samples are summed in double: at most 8 in a row
 * in each of 128 lanes, then pairwise, so the error is at most that of pairwise summation; deviations of
 * doubles are taken from the mean of 1024 samples, those of floats from each other, and merged as Chan, Golub
 * and LeVeque (1983) do, so nothing cancels. Samples that are NaN or infinite are counted and left out of
 * everything else.
 */
#ifndef FC_FILTERS_STATS_H
#define FC_FILTERS_STATS_H

#include "filters/base/samples.h"

FC_BEGIN_DECLS

/* Statistics of some samples. Integers are codes (codes.h): their sums are exact and `sum`, `squares` and
 * `spread` are 0; for floats the exact sums are 0. */
typedef struct fc_stats_part {
  uint64_t finite, nan, inf;   /* numbers of samples */
  double least, most;          /* of the finite ones; +inf and -inf if there are none */
  double sum, squares, spread; /* spread: squared deviations from their mean */
  uint64_t sum_low, sum_high;  /* exact sum, two's complement */
  uint64_t squares_low, squares_high;
} fc_stats_part;

/* The head of a block's results: the number of channels. */
typedef struct fc_stats_block {
  uint32_t channels;
  int32_t kind, dtype; /* of the samples */
  uint32_t reserved;
} fc_stats_block;

static inline uint64_t fc_stats_block_bytes(int64_t channels) {
  return sizeof(fc_stats_block) + (uint64_t)channels * sizeof(fc_stats_part);
}

/* Size of a block: samples of time for audio, rows for images and arrays with so many columns. Depends
 * only on the format. */
FC_FILTERS_API int64_t fc_stats_align(int kind, int64_t columns, int64_t channels);

/*
 * Measures a view that starts at a multiple of `align`: block i of frame n goes to blocks + n * frame_bytes +
 * i * fc_stats_block_bytes(channels), 8-byte aligned. Any strides and dtypes. Several threads may work at
 * once, each with its own scratch, whose size the function beside it gives, 64-byte aligned. `isa` is the
 * instruction set.
 *
 * fc_stats_ref adds up each block one sample after another and needs no scratch.
 */
FC_FILTERS_API fc_status fc_stats_ref(const fc_view *in, int64_t align, void *blocks, int64_t frame_bytes);
FC_FILTERS_API size_t fc_stats_cpu_scratch(const fc_view *in);
FC_FILTERS_API fc_status fc_stats_cpu(const fc_view *in, int64_t align, void *blocks, int64_t frame_bytes,
                                      void *scratch, fc_isa isa);

/* The same on the device of the view; enqueues on `stream` and returns. `blocks` is memory
 * that the device can write, the scratch device memory, 256-byte aligned. */
FC_FILTERS_API size_t fc_stats_cuda_scratch(const fc_view *in, int64_t align);
FC_FILTERS_API fc_status fc_stats_cuda(const fc_view *in, int64_t align, void *blocks, int64_t frame_bytes,
                                       void *scratch, void *stream);

/* ---- merging ---------------------------------------------------------- */

/* `a` is before b. */
FC_FILTERS_API fc_stats_part fc_stats_merge(const fc_stats_part *a, const fc_stats_part *b);
FC_FILTERS_API fc_stats_part fc_stats_none(void);

/* Partial results waiting to be merged, neighbours first: after n parts, one for each binary digit of n.
 * Initialised with zeros. */
typedef struct fc_stats_tree {
  uint64_t count;
  fc_stats_part level[64];
} fc_stats_tree;

FC_FILTERS_API void fc_stats_push(fc_stats_tree *tree, const fc_stats_part *next);
/* All parts merged; the tree is not changed. */
FC_FILTERS_API fc_stats_part fc_stats_total(const fc_stats_tree *tree);

/* ---- results ---------------------------------------------------------- */

/* In real values: codes times the scale of their kind. NaN if there is no finite sample. Population
 * variance. */
typedef struct fc_stats_result {
  double count; /* all samples: finite, NaN and infinite */
  double sum, squares, mean, rms, var, std, least, most, peak;
} fc_stats_result;

FC_FILTERS_API fc_stats_result fc_stats_results(const fc_stats_part *part, int kind, int dtype);

/* The exact sums of integers in decimal. Enough room for any: 41 characters. */
#define FC_STATS_DIGITS 41
FC_FILTERS_API void fc_stats_exact_sum(const fc_stats_part *part, char text[FC_STATS_DIGITS]);
FC_FILTERS_API void fc_stats_exact_squares(const fc_stats_part *part, char text[FC_STATS_DIGITS]);

FC_END_DECLS

#endif
