/* SPDX-License-Identifier: MIT */
/*
 * stats_kernels.h - the inner loops of stats: from a chunk of samples to one part per channel.
 *
 * Channels are interleaved: cell i of a chunk is sample i / channels of channel i % channels, so that lanes
 * of all channels lie side by side.
 */
#ifndef FC_FILTERS_STATS_KERNELS_H
#define FC_FILTERS_STATS_KERNELS_H

#include "filters/base/isa.h"
#include "filters/stats/stats_math.h"

/* Memory for lanes, LANES * channels of each. */
typedef struct fc_stats_lanes {
  double *sum, *squares, *least, *most, *finite, *nan; /* floats */
  double *mean;
  int64_t *codes;         /* integers: sums, */
  uint64_t *low, *high;   /* squares, or the halves of squares, */
  int32_t *small, *large; /* extremes */
} fc_stats_lanes;

typedef struct fc_stats_kernels {
  /* `rows` (1 to ROWS) * LANES * channels cells, NaN where there is no sample; the parts count NaN
   * normally. Omitted rows would not change the result. `wide` if they are not f32. */
  void (*values)(const double *cells, int64_t rows, int64_t channels, int wide, const fc_stats_lanes *lanes,
                 fc_stats_part *parts);
  /* `samples` (1 to CHUNK) times channels cells. `wide` if squares of codes exceed 32 bits. */
  void (*codes)(const int32_t *cells, int64_t samples, int64_t channels, int wide,
                const fc_stats_lanes *lanes, fc_stats_part *parts);
} fc_stats_kernels;

FC_ISA_DECLARE(fc_stats_kernels, fc_stats_kernels);

#endif
