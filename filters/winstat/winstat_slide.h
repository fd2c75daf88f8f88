/* SPDX-License-Identifier: MIT */
/*
 * winstat_slide.h - sliding windows over rows of pieces, at a cost that does not
 * depend on the window.
 *
 * Across rows (fc_winstat_column): the blocks of van Herk (1992) and Gil and Werman (1993),
 * of `window` rows each. The window from a row on is the rest of the block that it lies in (a
 * suffix) joined with the beginning of the next (a prefix): three joins a cell. In windows of 128 rows and
 * more suffixes and prefixes are made of runs of 64 rows and of joins of whole runs, five joins a cell, so
 * that the error of a sum is that of adding 64 + window / 64 samples.
 *
 * Along a row (fc_winstat_row_slide): pieces of 2, 4, ... 64 samples by doubling, each
 * a single pass over the row, and of those the ones that the binary digits of the
 * window name. Windows of 128 and more go on with floor(w / 64) pieces of 64, which
 * are windows across rows once the pieces are folded into rows of 64. So every loop runs over
 * adjacent cells, whatever the window and the number of channels; at most 17 joins a cell.
 *
 * Blocks are anchored at position 0 of the signal, so the joins behind an output are
 * the same wherever the output is cut.
 */
#ifndef FC_FILTERS_WINSTAT_SLIDE_H
#define FC_FILTERS_WINSTAT_SLIDE_H

#include "filters/winstat/winstat_kernels.h"

/* Properties of the pieces in a row. */
typedef struct fc_winstat_field {
  int32_t used;
  int32_t planes;
  int64_t size; /* bytes of a cell in one plane */
  void (*join)(fc_winstat_row to, fc_winstat_row a, fc_winstat_row b, int64_t count, double na, double nb);
} fc_winstat_field;

/* The row moved by `cells`. */
static inline fc_winstat_row fc_winstat_at(const fc_winstat_field *f, fc_winstat_row row, int64_t cells) {
  row.cells += cells * f->size;
  return row;
}

void fc_winstat_copy(const fc_winstat_field *f, fc_winstat_row to, fc_winstat_row from, int64_t cells);

/* ---- across rows ------------------------------------------------------ */

/* A window across rows: the last `window` rows, kept in a ring buffer. */
typedef struct fc_winstat_column {
  int64_t window;
  int64_t cells;  /* of a row */
  double samples; /* in each piece of a row that is pushed */
  char *ring;     /* window rows */
  int64_t row_bytes, pitch;
  fc_winstat_row run, whole, prefix, joined; /* rows; not needed when window is 1 */
} fc_winstat_column;

/* The address where the row of signal position y must be written before it is pushed. */
fc_winstat_row fc_winstat_column_slot(const fc_winstat_column *c, int64_t y);

/*
 * Takes row y, which follows the row pushed before; `first` is the position of the first
 * row of all. Returns 1 with the window of rows y - window + 1 .. y in *to, valid until
 * the next push, or 0 when there are not enough rows yet.
 */
int fc_winstat_column_push(const fc_winstat_field *f, const fc_winstat_column *c, int64_t y, int64_t first,
                           fc_winstat_row *to);

/* ---- along a row ------------------------------------------------------ */

/* Size of the pieces from which long windows are combined, and positions in a row of them. */
#define FC_WINSTAT_FAR 64

/* A window along rows, and the memory to slide it. */
typedef struct fc_winstat_ladder {
  int64_t window;
  int64_t lanes;           /* cells of one position: interleaved channels */
  fc_winstat_row level[2]; /* as many cells as a row has */
  /* For windows of 2 * FAR and more: pieces in rows of FAR * lanes cells, window / FAR of them in the ring.
   */
  fc_winstat_column far;
} fc_winstat_ladder;

/*
 * to[i] = row[i] joined with the window - 1 positions after it, for `count`
 * positions; `row` holds count + window - 1, single samples, and is left as it is. `first`
 * is the position of row[0] in the signal. `to` overlaps nothing.
 */
void fc_winstat_row_slide(const fc_winstat_field *f, const fc_winstat_ladder *l, fc_winstat_row to,
                          fc_winstat_row row, int64_t count, int64_t first);

#endif
