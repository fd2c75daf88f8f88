/* SPDX-License-Identifier: MIT */
/*
 * choice.h - which kernel of winstat makes a statistic on a GPU: a table of plain C over views, window,
 * border and a few numbers of the chip. Nothing here touches a device, so tests/filters/test_choice.c checks
 * the table without one. Internal to filters/.
 */
#ifndef FC_FILTERS_WINSTAT_CHOICE_H
#define FC_FILTERS_WINSTAT_CHOICE_H

#include "core/contract/edges.h"
#include "filters/winstat/winstat.h"

FC_BEGIN_DECLS

/* In the order in which they are asked; the first that takes a statistic makes it. */
typedef enum fc_winstat_kernel {
  FC_WINSTAT_BY_DEVIATION, /* box/spread_bytes.cu: deviations of bytes */
  FC_WINSTAT_BY_SPREAD,    /* box/spread.cu: deviations of floats */
  FC_WINSTAT_BY_PEAK,      /* box/extremes.cu: extremes in windows of up to 257 */
  FC_WINSTAT_BY_SUMS,      /* box/sums.cu: sums and squares of floats in boxes of up to 31 x 31 */
  FC_WINSTAT_BY_STRIPS,    /* box/strips.cu: others in boxes of up to 256 x 128 */
  FC_WINSTAT_BY_SINGLE,    /* rows/short.cu: rows of floats of one column */
  FC_WINSTAT_BY_SHORT,     /* rows/short.cu: short rows of floats, and interleaved channels */
  FC_WINSTAT_BY_RING,      /* rows/line_ring.cu: long windows */
  FC_WINSTAT_BY_LINES,     /* line_march of rows/runs.cu: dense rows of floats */
  FC_WINSTAT_BY_RUNS,      /* row_runs of rows/runs.cu: rows of floats */
  FC_WINSTAT_BY_ANY,       /* winstat.cu: anything */
  FC_WINSTAT_BY_HOST       /* none that makes the border: the host does, then the case without edges */
} fc_winstat_kernel;

/* Shared memory in bytes: of a block at most, of a multiprocessor, and of that what each block takes besides
 * its own. */
typedef struct fc_winstat_chip {
  int64_t block, all, reserved;
} fc_winstat_chip;

typedef struct fc_winstat_case {
  const fc_winstat *w;
  const fc_view *in, *out;
  const fc_edges *edges; /* kernels make this border; NULL: the host has, or windows shrink */
  int32_t whole;         /* the views are to be a whole signal, without a border of the host's */
  int32_t turned;        /* window and views are those of a single column, with x and y exchanged */
  fc_winstat_chip chip;
} fc_winstat_case;

/* The kernel of each statistic, in the order of w->stat; all are FC_WINSTAT_BY_HOST if one is. Views have
 * elements, and images of a single column are exchanged (fc_winstat_stands). */
FC_FILTERS_API void fc_winstat_choose(const fc_winstat_case *c, fc_winstat_kernel kernel[FC_WINSTAT_STATS]);

/* Images of a single column are processed as a row, with x and y exchanged, so that the kernels for rows
 * apply. Only windows along x alone, which have a kernel for rows already, stay as they are. This depends on
 * the whole signal, not on the part that is in view. */
int fc_winstat_stands(const fc_winstat *w, const fc_view *in);
/* x and y exchanged. */
fc_winstat fc_winstat_turned(const fc_winstat *w);
fc_view fc_winstat_turned_view(const fc_view *v);

FC_END_DECLS

#endif
