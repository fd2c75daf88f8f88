/* SPDX-License-Identifier: MIT */
/*
 * cuts.h - how the GPU kernels of rows/ cut rows into pieces and put several into a block, and what shared
 * memory they need: plain C, for the table of choice.c and for the launchers. Nothing here touches a device.
 * Internal to filters/.
 */
#ifndef FC_FILTERS_WINSTAT_ROWS_CUTS_H
#define FC_FILTERS_WINSTAT_ROWS_CUTS_H

#include "filters/winstat/winstat.h"

FC_BEGIN_DECLS

/* ---- floats: groups of segments ----------------------------------------------------------- */

/* Threads of a block, and segments of a tile; segments of the largest group; those from one end of a window
 * to the other, in one piece. */
enum { FC_LINE_THREADS = 128, FC_LINE_GROUP = 32, FC_LINE_NEAR = 64 };

/* A row of a channel: outputs, the position of the first in the signal; of windows, the samples before an
 * output's own and all. */
typedef struct fc_line {
  int64_t columns, origin, before, window;
} fc_line;

/* A window spans `segments` segments of 16 samples after its first: u groups of 1 << bits, at most 32, and v.
 */
typedef struct fc_line_groups {
  int32_t segments, bits, u, v;
  int32_t pieces; /* 2: the samples at the ends of windows are copied apart */
} fc_line_groups;
fc_line_groups fc_line_groups_of(int64_t window);

/* Tiles of 2048 samples, of which a block takes several in turn where there are many. */
typedef struct fc_line_tiles {
  int64_t first, stretches; /* sample 0 of the first tile; stretches of `tiles` each */
  int32_t tiles;
} fc_line_tiles;
fc_line_tiles fc_line_tiles_of(const fc_line *l, int64_t lines);

/* Shared memory in bytes of a block of line_ring: groups of samples that windows see, and that each warp's
 * begin with; for sums, squares or both. */
enum { FC_RING_WARPS = 6, FC_RING_SLOTS = 13, FC_RING_ROOMS = 2 };
int64_t fc_line_ring_bytes(const fc_line_groups *g, int quantities);

/* ---- floats: short_lines --------------------------------------------------------------------- */

#define FC_SHORT_CHANNELS 16 /* interleaved, that blocks take together */

/* Rows are cut into pieces, or grouped into blocks. */
typedef struct fc_short_cut {
  int32_t columns, x, reach; /* of a row; that of the first window, at most 0; of the window, less one */
  int32_t segments, bits;    /* of the window */
  int32_t channels, quantities;
  int64_t lines;        /* rows of a plane */
  int32_t pieces, each; /* of a row; segments of these that windows begin in, in whole groups */
  int32_t along, lanes; /* threads go along a row, not down the rows; 1 << lanes of them share a row */
  int32_t whole, rows;  /* segments of a line; rows of a block */
  int32_t scan, totals; /* segments from which groups are made, and these */
  int32_t words;        /* of a tile */
} fc_short_cut;
fc_short_cut fc_short_cut_of(const fc_line *l, int channels, int quantities, int64_t lines);

/* Shared memory in bytes of a block. */
int64_t fc_short_bytes(const fc_short_cut *c);

FC_END_DECLS

#endif
