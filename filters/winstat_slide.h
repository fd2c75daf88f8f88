/* SPDX-License-Identifier: MIT */
/*
 * winstat_slide.h - sliding windows over rows of pieces, at a cost that does not
 * depend on the window.
 *
 * Along a row (fc_winstat_row_slide): pieces of 2, 4, ... 64 samples by doubling, each
 * a single pass over the row, and of those the ones that the binary digits of the
 * window name. Windows of 128 and more join floor(w / 64) pieces of 64 by
 * the blocks of van Herk (1992) and Gil and Werman (1993), one for each of the
 * 64 phases side by side: so every loop runs over adjacent cells, whatever the window
 * and the number of channels. At most 15 joins a cell.
 *
 * Across rows (fc_winstat_column): van Herk's blocks of `window` rows, three joins a cell.
 *
 * Blocks are anchored at position 0 of the signal, so the joins behind an output are
 * the same wherever the output is cut.
 */
#ifndef FC_FILTERS_WINSTAT_SLIDE_H
#define FC_FILTERS_WINSTAT_SLIDE_H

#include "filters/winstat_kernels.h"

/* What the pieces of a row are. */
typedef struct fc_winstat_field {
  int32_t used;
  int32_t planes;
  int64_t size; /* bytes of a cell in one plane */
  void (*join)(fc_winstat_row to, fc_winstat_row a, fc_winstat_row b, int64_t count, double na, double nb);
} fc_winstat_field;

/* The row `cells` further on. */
static inline fc_winstat_row fc_winstat_at(const fc_winstat_field *f, fc_winstat_row row, int64_t cells) {
  row.cells += cells * f->size;
  return row;
}

void fc_winstat_copy(const fc_winstat_field *f, fc_winstat_row to, fc_winstat_row from, int64_t cells);

/* Pieces of 64 samples are what long windows are made of. */
#define FC_WINSTAT_FAR 64

/* A window along rows, and the memory to slide it: rows of at least as many cells as
 * the row has (`level`), (window + FAR) * lanes (`suffix`), and FAR * lanes (`prefix`, `far`); the last
 * three only for windows of 2 * FAR and more. */
typedef struct fc_winstat_ladder {
  int64_t window;
  int64_t lanes; /* cells of one position: interleaved channels */
  fc_winstat_row level[2], suffix, prefix, far;
} fc_winstat_ladder;

/*
 * to[i] = row[i] joined with the window - 1 positions after it, for `count`
 * positions; `row` holds count + window - 1, single samples, and is left as it is. `first` is the
 * position of row[0] in the signal. `to` overlaps nothing.
 */
void fc_winstat_row_slide(const fc_winstat_field *f, const fc_winstat_ladder *l, fc_winstat_row to,
                          fc_winstat_row row, int64_t count, int64_t first);

/* A window across rows: the last `window` rows, kept in a ring. */
typedef struct fc_winstat_column {
  int64_t window;
  int64_t cells;  /* of a row */
  double samples; /* in a piece of a row that is pushed */
  char *ring;     /* window rows */
  int64_t row_bytes, pitch;
  fc_winstat_row prefix, joined; /* not needed when window is 1 */
} fc_winstat_column;

/* Where the row of signal position y is to be put before it is pushed. */
fc_winstat_row fc_winstat_column_slot(const fc_winstat_column *c, int64_t y);

/*
 * Takes row y, which follows the row pushed before; `first` is the position of the first
 * row of all. Returns 1 with the window of rows y - window + 1 .. y in *to, valid until the next push,
 * or 0 when there are not enough rows yet.
 */
int fc_winstat_column_push(const fc_winstat_field *f, const fc_winstat_column *c, int64_t y, int64_t first,
                           fc_winstat_row *to);

#endif
