/* SPDX-License-Identifier: MIT */
/*
 * cuts.h - how the GPU kernels of box/ see images, cut them into strips and cells, and what shared memory
 * they need: plain C, for the table of choice.c and for the launchers. Nothing here touches a device.
 * Internal to filters/.
 */
#ifndef FC_FILTERS_WINSTAT_BOX_CUTS_H
#define FC_FILTERS_WINSTAT_BOX_CUTS_H

#include "core/contract/edges.h"
#include "filters/winstat/winstat.h"
#include "filters/winstat/winstat_math.h"

FC_BEGIN_DECLS

#define FC_WINSTAT_RUN 16 /* rows of a step, and positions of a segment (slide16.cuh) */

static inline int64_t fc_winstat_across(const fc_winstat *w) {
  return w->before[0] + w->after[0] + 1;
}
static inline int64_t fc_winstat_tall(const fc_winstat *w) {
  return w->before[1] + w->after[1] + 1;
}
/* Segments after the first that windows of one segment cover. */
static inline int32_t fc_winstat_warm(int64_t window) {
  return (int32_t)((window - 1 + FC_WINSTAT_RUN - 1) / FC_WINSTAT_RUN);
}

/* The part of axis of_view that a kernel reads, of `edges` the signal, else what the host has filled too. */
fc_winstat_span fc_winstat_read(const fc_winstat *w, const fc_view *in, const fc_edges *edges, int axis,
                                int of_view);

/* ---- images seen otherwise ---------------------------------------------------------------- */

/* An alternative description of an image: one row or column that windows would cover repeatedly is covered
 * once, rows of many images become one image if windows cover one row, and a column becomes a row. */
typedef struct fc_winstat_seen {
  fc_winstat w;
  fc_view in, out;
  int32_t times; /* how often a window covers each sample along x */
  /* If, in windows of `alone` rows, only one is not the constant, `at` is its number (for variances); else 0.
   */
  int32_t alone, at;
} fc_winstat_seen;
fc_winstat_seen fc_winstat_see(const fc_winstat *w, const fc_view *in, const fc_edges *edges,
                               const fc_view *out);

/* Of words: the number of interleaved channels, 1 where they are processed alone, or 0 for sizes that 32 bits
 * cannot number. */
int fc_winstat_channels(const fc_winstat_seen *s);

/* For rows of adjacent elements, interleaved or planar: how many channels are interleaved, or 0. */
int fc_winstat_side_by_side(const fc_view *v);

/* ---- strips of words: peak_march, deviation_march ------------------------------------------ */

/* A row of shared memory: runs of 16 pixels in which windows begin, and that they cover, at most; samples. */
typedef struct fc_peak_row {
  int32_t lanes, held, samples;
} fc_peak_row;
#define FC_PEAK_ROW_F32                                                                                      \
  { 16, 18, 280 }
#define FC_PEAK_ROW_U16                                                                                      \
  { 32, 34, 560 }
#define FC_PEAK_ROW_U8                                                                                       \
  { 32, 38, 640 }
#define FC_DEVIATION_ROW                                                                                     \
  { 32, 38, 640 }
fc_peak_row fc_peak_row_of(int dtype);
fc_peak_row fc_deviation_row(void);

/* The largest number of runs that leaves room for the columns that windows reach beyond them; 0 if these are
 * too few. `skew`: of fc_peak_skew. */
int32_t fc_peak_runs(fc_peak_row row, int step, int64_t window, int skew);

/* Elements from the start of a strip's first word to the start of its windows. Rows that begin at different
 * places of a word are `ragged`, and copied otherwise. */
int fc_peak_ragged(const fc_view *in, int step);
int fc_peak_skew(const fc_winstat *w, const fc_view *in, int step);

/* Shared memory in bytes of a block: of peak_march, deviation_march. */
int64_t fc_peak_bytes(int dtype, int64_t tall);
int64_t fc_deviation_bytes(int64_t tall);

/* ---- cells of words: spread_march ----------------------------------------------------------- */

/* A row of shared memory: segments, lanes per row. */
typedef struct fc_cell_shape {
  int32_t segments, lanes;
} fc_cell_shape;

typedef struct fc_cell_cut {
  int32_t step, warm, x0; /* in: channels side by side, of the window, at most 0 */
  int32_t flat;           /* in: one image, windows of one row */
  int32_t columns, rows;  /* in and out: of outputs; a long row is cut into several that follow each other */
  int32_t follow;         /* pixels from one of these to the next, else 0 */
  int32_t runs, strips;   /* segments of a strip in which windows begin */
  int32_t plane, cells;   /* segments of a channel of a cell; cells of a block */
} fc_cell_cut;

/* False if nothing fits. */
int fc_cells_cut(fc_cell_cut *c, fc_cell_shape shape);

/* ---- sums in boxes: strip_march ------------------------------------------------------------------- */

#define FC_STRIPS_COLUMNS 256 /* of a window, at most */
#define FC_STRIPS_ROWS    128
#define FC_STRIPS_LISTED  4 /* statistics of a launch */

typedef struct fc_strip_cut {
  int64_t across, tall; /* in: the window */
  int32_t channels, threads, skew,
      stages;           /* in: of a strip; of a block; samples before the first window; tiles */
  int32_t runs, pixels; /* of sums; columns of a strip */
  int32_t pitch, plane, held,
      slots; /* words: row of samples, one channel of it, row of sums; blocks of rows */
} fc_strip_cut;
void fc_strips_cut(fc_strip_cut *c);

/* Shared memory of a block: of the samples and of sums, or of what several launches would need together. */
int64_t fc_strips_bytes(const fc_strip_cut *c, int quantities);

/* Whether any view of such windows can be summed, on all chips. */
int fc_strips_fit(int64_t across, int64_t tall);

/* The largest magnitude of a sample of 8 or 16 bits. */
static inline int64_t fc_winstat_magnitude(int dtype) {
  return dtype == FC_U8 ? 255 : dtype == FC_I16 ? 32768 : 65535;
}

FC_END_DECLS

#endif
