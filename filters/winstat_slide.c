/* SPDX-License-Identifier: MIT */
/*
 * winstat_slide.c - see winstat_slide.h. Plain C over the joins of an instruction set: a join
 * takes hundreds of cells, so what is decided here costs nothing.
 */
#include "filters/winstat_slide.h"

#include <string.h>

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* a modulo b, never negative. */
static int64_t modulo(int64_t a, int64_t b) {
  int64_t r = a % b;
  return r < 0 ? r + b : r;
}

void fc_winstat_copy(const fc_winstat_field *f, fc_winstat_row to, fc_winstat_row from, int64_t cells) {
  for (int p = 0; p < f->planes; p++)
    memcpy(to.cells + p * to.pitch, from.cells + p * from.pitch, (size_t)(cells * f->size));
}

/* ---- along a row ------------------------------------------------------ */

/* The pieces of FAR samples that a long window goes on with. */
typedef struct far_pieces {
  fc_winstat_row row;
  int64_t length; /* positions */
  int64_t m;      /* pieces in a window, FAR apart */
  int64_t near;   /* samples of the window ahead of them, already in the output */
} far_pieces;

/*
 * Joins of the pieces from each position to the end of its block, for positions
 * lo .. end - 1; l->suffix[0] is that of position lo. Where there is no piece
 * any more at the end of the row, no output asks for that phase.
 */
static void suffixes(const fc_winstat_field *f, const fc_winstat_ladder *l, const far_pieces *pieces,
                     int64_t lo, int64_t end) {
  const int64_t P = l->lanes;
  for (int64_t k = end - FC_WINSTAT_FAR, behind = 0; k + FC_WINSTAT_FAR > lo; k -= FC_WINSTAT_FAR) {
    int64_t from = larger(k, lo), stop = smaller(k + FC_WINSTAT_FAR, pieces->length - behind);
    int64_t cells = larger(stop - from, 0) * P;
    fc_winstat_row to = fc_winstat_at(f, l->suffix, (from - lo) * P);
    fc_winstat_row own = fc_winstat_at(f, pieces->row, from * P);
    if (behind == 0)
      fc_winstat_copy(f, to, own, cells);
    else
      f->join(to, own, fc_winstat_at(f, to, FC_WINSTAT_FAR * P), cells, FC_WINSTAT_FAR, (double)behind);
    behind += FC_WINSTAT_FAR;
  }
}

/* One row of FAR positions of a block, or a part of it, on its way to the output. */
typedef struct far_part {
  fc_winstat_row to, suffix, prefix;
  int64_t cells;
  int64_t ahead, behind; /* samples in suffix and prefix; 0 is none */
} far_part;

/* Appends suffix joined with prefix to the `near` samples that `to` has already. */
static void append(const fc_winstat_field *f, const fc_winstat_ladder *l, const far_part *part,
                   int64_t near) {
  fc_winstat_row far = part->suffix;
  if (part->behind) {
    far = near ? l->far : part->to;
    f->join(far, part->suffix, part->prefix, part->cells, (double)part->ahead, (double)part->behind);
  }
  if (near)
    f->join(part->to, part->to, far, part->cells, (double)near, (double)(part->ahead + part->behind));
  else if (!part->behind)
    fc_winstat_copy(f, part->to, far, part->cells);
}

/* Takes row r of the block's successor into the prefix; `cells` of it are wanted. */
static void lengthen_prefix(const fc_winstat_field *f, const fc_winstat_ladder *l, fc_winstat_row row,
                            int64_t r, int64_t cells) {
  if (r == 0)
    fc_winstat_copy(f, l->prefix, row, cells);
  else
    f->join(l->prefix, l->prefix, row, cells, (double)(r * FC_WINSTAT_FAR), FC_WINSTAT_FAR);
}

/*
 * Outputs of one block: positions lo .. hi - 1 of the pieces, whose block ends at `end`
 * and has m rows of FAR positions. Row r joins the suffix of m - r pieces with the
 * prefix of the first r of the next block.
 */
static void slide_block(const fc_winstat_field *f, const fc_winstat_ladder *l, fc_winstat_row to,
                        const far_pieces *pieces, int64_t lo, int64_t hi, int64_t end) {
  const int64_t P = l->lanes, m = pieces->m;
  suffixes(f, l, pieces, lo, end);
  for (int64_t r = 0; r < m; r++) {
    int64_t row = end - (m - r) * FC_WINSTAT_FAR, stop = smaller(row + FC_WINSTAT_FAR, hi);
    if (row >= hi) break;
    if (r > 0) {
      int64_t next = end + (r - 1) * FC_WINSTAT_FAR;
      lengthen_prefix(f, l, fc_winstat_at(f, pieces->row, next * P), r - 1, (stop - row) * P);
    }
    int64_t from = larger(row, lo);
    if (from >= stop) continue;
    far_part part = {fc_winstat_at(f, to, (from - lo) * P),
                     fc_winstat_at(f, l->suffix, (from - lo) * P),
                     fc_winstat_at(f, l->prefix, (from - row) * P),
                     (stop - from) * P,
                     (m - r) * FC_WINSTAT_FAR,
                     r * FC_WINSTAT_FAR};
    append(f, l, &part, pieces->near);
  }
}

/* The far part of `count` windows, block by block; `first` is the position in the
 * signal of piece 0. */
static void slide_far(const fc_winstat_field *f, const fc_winstat_ladder *l, fc_winstat_row to,
                      const far_pieces *pieces, int64_t count, int64_t first) {
  int64_t length = pieces->m * FC_WINSTAT_FAR, near = pieces->near;
  for (int64_t i = 0, stop; i < count; i = stop) {
    int64_t end = near + i + length - modulo(first + near + i, length);
    stop = smaller(end - near, count);
    slide_block(f, l, fc_winstat_at(f, to, i * l->lanes), pieces, near + i, near + stop, end);
  }
}

void fc_winstat_row_slide(const fc_winstat_field *f, const fc_winstat_ladder *l, fc_winstat_row to,
                          fc_winstat_row row, int64_t count, int64_t first) {
  const int64_t w = l->window, P = l->lanes;
  fc_winstat_row pieces = row;
  int64_t near = 0;
  for (int64_t step = 1, turn = 0;; step *= 2, turn ^= 1) {
    if (step == FC_WINSTAT_FAR && w >= 2 * step) {
      far_pieces far = {pieces, count + w - step, w / step, near};
      slide_far(f, l, to, &far, count, first);
      return;
    }
    if (w & step) {
      if (near)
        f->join(to, to, fc_winstat_at(f, pieces, near * P), count * P, (double)near, (double)step);
      else if (pieces.cells != to.cells)
        fc_winstat_copy(f, to, pieces, count * P);
      near += step;
    }
    if (near == w) return;
    /* A window that is a power of two is the last doubling itself. */
    fc_winstat_row next = w == 2 * step ? to : l->level[turn];
    int64_t cells = (count + w - 2 * step) * P;
    f->join(next, pieces, fc_winstat_at(f, pieces, step * P), cells, (double)step, (double)step);
    pieces = next;
  }
}

/* ---- across rows ------------------------------------------------------ */

static fc_winstat_row ring_row(const fc_winstat_column *c, int64_t phase) {
  return (fc_winstat_row){c->ring + phase * c->row_bytes, c->pitch};
}

fc_winstat_row fc_winstat_column_slot(const fc_winstat_column *c, int64_t y) {
  return ring_row(c, modulo(y, c->window));
}

/* At the end of a block its rows become the joins from each row to that end. */
static void turn_to_suffixes(const fc_winstat_field *f, const fc_winstat_column *c, int64_t lowest) {
  for (int64_t k = c->window - 2; k >= lowest; k--)
    f->join(ring_row(c, k), ring_row(c, k), ring_row(c, k + 1), c->cells, c->samples,
            c->samples * (double)(c->window - 1 - k));
}

int fc_winstat_column_push(const fc_winstat_field *f, const fc_winstat_column *c, int64_t y, int64_t first,
                           fc_winstat_row *to) {
  const int64_t h = c->window, phase = modulo(y, h), start = y - phase;
  fc_winstat_row own = ring_row(c, phase);
  if (h == 1) {
    *to = own;
    return 1;
  }
  if (start >= first) {
    if (phase == 0)
      fc_winstat_copy(f, c->prefix, own, c->cells);
    else
      f->join(c->prefix, c->prefix, own, c->cells, c->samples * (double)phase, c->samples);
  }
  int ready = y - first + 1 >= h;
  if (phase == h - 1) {
    *to = c->prefix;
    /* The join of the whole block is the prefix: row 0 needs no suffix. */
    turn_to_suffixes(f, c, larger(1, first - start));
  } else if (ready) {
    f->join(c->joined, ring_row(c, phase + 1), c->prefix, c->cells, c->samples * (double)(h - 1 - phase),
            c->samples * (double)(phase + 1));
    *to = c->joined;
  }
  return ready;
}
