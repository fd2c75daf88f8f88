/* SPDX-License-Identifier: MIT */
/*
 * winstat_walk.h - declarations shared by the parts of winstat on the CPU. Internal to filters/.
 *
 * The output is processed in strips of columns. Each input row of a strip is loaded and becomes rows of
 * single-sample pieces (a *field* for each quantity that the statistics need; winstat_pieces.c), which slide
 * along rows and across rows, in one of two ways:
 *
 *   row by row   (winstat_cpu.c, winstat_slide.h) for any field;
 *   in tiles     (winstat_tiles.c, winstat_box.h) for sums in windows of several rows.
 *
 * The joined pieces become statistics and are stored (winstat_finish.c). The way depends on the window, the
 * statistics and the element type, and so never on how an output is cut.
 */
#ifndef FC_FILTERS_WINSTAT_WALK_H
#define FC_FILTERS_WINSTAT_WALK_H

#include "filters/winstat/winstat.h"
#include "filters/winstat/winstat_box.h"
#include "filters/winstat/winstat_math.h"
#include "filters/winstat/winstat_slide.h"

enum {
  FC_WALK_SUM,
  FC_WALK_SQUARES,
  FC_WALK_SQUARES_HIGH,
  FC_WALK_SPREAD,
  FC_WALK_LEAST,
  FC_WALK_MOST,
  FC_WALK_FIELDS
};

/* Rows that are prefetched before they are loaded. */
#define FC_WINSTAT_AHEAD 3

/* Maximum of rows in a tile: two blocks of 16, or as many shorter ones as fit. */
#define FC_WINSTAT_TILE 32

/* Rows that windows slide down: whole blocks of them, each at a place of its own among `blocks`. Where that
 * is room for all that a window looks at, they are `kept` from when they enter it until they leave; elsewhere
 * they are made twice, and those that leave have the last place. */
typedef struct fc_winstat_ring {
  char *rows;
  int64_t blocks;
  int kept;
  int64_t made; /* lines of the strip made so far, if they are kept */
} fc_winstat_ring;

/* For tiles. Rows of the same kind are `pitch` bytes apart. */
typedef struct fc_winstat_tiles {
  fc_winstat_box down[FC_WALK_FIELDS], along;
  fc_winstat_ring ring[FC_WALK_FIELDS];
  char *tile[FC_WALK_FIELDS]; /* a tile's rows */
  char *lines;                /* the same transposed: a line is a column of the tile */
  int64_t pitch;
} fc_winstat_tiles;

typedef struct fc_winstat_walk {
  const fc_winstat *w;
  const fc_view *in, *out;
  uint32_t *notes;
  const fc_winstat_kernels *k;
  fc_winstat_field field[FC_WALK_FIELDS];
  fc_winstat_type type[FC_WALK_FIELDS];
  int tiled;
  int stream;             /* the output is too large for the cache */
  int codes;              /* integer input: rows are int32 codes, results are doubles */
  int result;             /* FC_F32 or FC_F64: type of finished rows */
  int64_t window[2];      /* x, y */
  int64_t lanes, columns; /* of a strip: cells per position, positions */

  void *base;                               /* a row of the input: values or codes */
  fc_winstat_row start;                     /* its pieces, unless they are the row itself */
  fc_winstat_column column[FC_WALK_FIELDS]; /* row by row */
  fc_winstat_ladder ladder;
  fc_winstat_tiles tiles;
  void *across, *counts;          /* samples of a window in x, and in all, cell by cell */
  int64_t counted;                /* number of rows that `counts` is for; 0: none */
  double *sum, *squares, *spread; /* of integers, as real values */
  void *stat, *lane, *line;       /* one statistic; one channel of it; all interleaved */

  /* The current position of the walk. */
  int64_t n, c;           /* frame, first channel */
  int64_t x, count;       /* strip: positions of the output */
  fc_winstat_span inside; /* positions of the input row in the signal, relative to its start */
} fc_winstat_walk;

/* Whether the channels of a position are adjacent, and positions too: then a row is one run of cells. */
static inline int fc_winstat_is_packed(const fc_view *v) {
  int64_t size = (int64_t)fc_dtype_size(v->dtype), channels = v->shape[FC_AXIS_C];
  return v->stride[FC_AXIS_X] == size * channels && (channels == 1 || v->stride[FC_AXIS_C] == size);
}

/* Cells in the strip's input rows. */
static inline int64_t fc_winstat_cells_in(const fc_winstat_walk *k) {
  return (k->count + k->window[0] - 1) * k->lanes;
}

/* winstat_pieces.c: loads input row y of the strip; outside the signal it is zero if the window shrinks.
 * Then the pieces of one field, valid until the next call of either. */
void fc_winstat_load_row(fc_winstat_walk *k, int64_t y);
fc_winstat_row fc_winstat_start_row(fc_winstat_walk *k, int field);

/* winstat_finish.c: begins a strip; stores output row y, for whose windows `rows` hold each field's join. */
void fc_winstat_count_across(fc_winstat_walk *k);
void fc_winstat_emit(fc_winstat_walk *k, const fc_winstat_row *rows, int64_t y);

/* winstat_tiles.c */
int fc_winstat_tiles_can(const fc_winstat_walk *k);
void fc_winstat_tiles_strip(fc_winstat_walk *k);

#endif
