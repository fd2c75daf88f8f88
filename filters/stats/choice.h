/* SPDX-License-Identifier: MIT */
/*
 * choice.h - which kernel of stats measures a signal on a GPU: a table of plain C over the signal's geometry.
 * Nothing here touches a device, so tests/filters/test_choice.c checks the table without one. Internal to
 * filters/.
 */
#ifndef FC_FILTERS_STATS_CHOICE_H
#define FC_FILTERS_STATS_CHOICE_H

#include "filters/stats/stats.h"

FC_BEGIN_DECLS

#define FC_STATS_UNIT 16 /* chunks that a block of threads merges, at most */

/* In the order in which they are asked; the first that takes the signal is launched. A launcher without code
 * for its device returns FC_UNSUPPORTED, then the next one is asked. */
typedef enum fc_stats_kernel {
  FC_STATS_STREAM,   /* stream_units: long dense signals of f32 */
  FC_STATS_CLUSTERS, /* measure_clusters: short signals of integers */
  FC_STATS_WARPS,    /* measure_units by all warps of a block: short signals */
  FC_STATS_GATHER,   /* gather_units: f32 in any layout */
  FC_STATS_PIXELS,   /* measure_pixels: integers of two to four interleaved channels */
  FC_STATS_UNITS     /* measure_units: anything */
} fc_stats_kernel;

/* A signal, cut into blocks, these into units of chunks of FC_STATS_CHUNK samples. */
typedef struct fc_stats_case {
  int32_t kind, dtype, bias;
  int64_t frames, blocks, channels, chunks; /* blocks per frame, chunks per whole block */
  int64_t units;                            /* of a block */
  int64_t columns, align, length;           /* positions per block and per frame along the axis that is cut */
  int64_t block_bytes;
  int32_t unit, unit_bits;       /* chunks of a unit, a power of two */
  int32_t audio, even, adjacent; /* even: samples are equal steps apart; adjacent: without gaps */
  int32_t runs;                  /* of a chunk without gaps, but for one where a row ends */
  int32_t ragged;                /* a block's last chunk is incomplete */
  int32_t pixels;                /* channels are interleaved, without gaps */
  int32_t whole;                 /* all units are, adjacent, and begin at multiples of 16 bytes */
} fc_stats_case;

/* `align`: of fc_stats_cuda. */
FC_FILTERS_API fc_stats_case fc_stats_case_of(const fc_view *in, int64_t align);

/* Units of all frames and channels, and blocks of threads that measure them. */
FC_FILTERS_API int64_t fc_stats_units(const fc_stats_case *c);
FC_FILTERS_API int64_t fc_stats_groups(const fc_stats_case *c);

/* The first kernel from `from` on that takes the signal. */
FC_FILTERS_API fc_stats_kernel fc_stats_choose(const fc_stats_case *c, fc_stats_kernel from);

FC_END_DECLS

#endif
