/* SPDX-License-Identifier: MIT */
/*
 * winstat_slide.c - see winstat_slide.h. Plain C that calls the joins of an instruction set: a join processes
 * dozens of cells or more, so the decisions here cost little.
 */
#include "filters/winstat/winstat_slide.h"

#include <string.h>

/* Rows of a run, used in windows of at least twice that. */
#define RUN 64

static int64_t smaller(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t larger(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* a modulo b, never negative; and floor(a / b). */
static int64_t modulo(int64_t a, int64_t b) {
  int64_t r = a % b;
  return r < 0 ? r + b : r;
}

static int64_t floored(int64_t a, int64_t b) {
  return (a - modulo(a, b)) / b;
}

void fc_winstat_copy(const fc_winstat_field *f, fc_winstat_row to, fc_winstat_row from, int64_t cells) {
  for (int p = 0; p < f->planes; p++)
    memcpy(to.cells + p * to.pitch, from.cells + p * from.pitch, (size_t)(cells * f->size));
}

/* ---- across rows ------------------------------------------------------ */

static fc_winstat_row ring_row(const fc_winstat_column *c, int64_t phase) {
  return (fc_winstat_row){c->ring + phase * c->row_bytes, c->pitch};
}

fc_winstat_row fc_winstat_column_slot(const fc_winstat_column *c, int64_t y) {
  return ring_row(c, modulo(y, c->window));
}

/* Joins `rows` rows of a with `more` rows of b. */
static void join_rows(const fc_winstat_field *f, const fc_winstat_column *c, fc_winstat_row to,
                      fc_winstat_row a, fc_winstat_row b, int64_t rows, int64_t more) {
  f->join(to, a, b, c->cells, c->samples * (double)rows, c->samples * (double)more);
}

static int64_t run_length(const fc_winstat_column *c) {
  return c->window < 2 * RUN ? c->window : RUN;
}

/* Adds row `phase` of a block to its prefix: the complete runs before it, and the row's own run. */
static fc_winstat_row lengthen_prefix(const fc_winstat_field *f, const fc_winstat_column *c, int64_t phase) {
  const int64_t in_run = phase % run_length(c), before = phase - in_run;
  if (in_run > 0)
    join_rows(f, c, c->run, c->run, ring_row(c, phase), in_run, 1);
  else {
    /* The prefix so far consists of complete runs. */
    if (before > 0) fc_winstat_copy(f, c->whole, before == run_length(c) ? c->run : c->prefix, c->cells);
    fc_winstat_copy(f, c->run, ring_row(c, phase), c->cells);
  }
  if (before == 0) return c->run;
  join_rows(f, c, c->prefix, c->whole, c->run, before, in_run + 1);
  return c->prefix;
}

/* At the end of a block its rows become the joins from each row to that end: run by run from the last,
 * first within the run and then with what follows. */
static void turn_to_suffixes(const fc_winstat_field *f, const fc_winstat_column *c, int64_t lowest) {
  const int64_t h = c->window, run = run_length(c);
  for (int64_t from = (h - 1) / run * run; from >= 0 && from + run > lowest; from -= run) {
    int64_t end = smaller(from + run, h);
    for (int64_t k = end - 2; k >= larger(from, lowest); k--)
      join_rows(f, c, ring_row(c, k), ring_row(c, k), ring_row(c, k + 1), 1, end - 1 - k);
    for (int64_t k = end - 1; end < h && k >= larger(from, lowest); k--)
      join_rows(f, c, ring_row(c, k), ring_row(c, k), ring_row(c, end), end - k, h - end);
  }
}

int fc_winstat_column_push(const fc_winstat_field *f, const fc_winstat_column *c, int64_t y, int64_t first,
                           fc_winstat_row *to) {
  const int64_t h = c->window, phase = modulo(y, h), start = y - phase;
  const int ready = y - first + 1 >= h;
  if (h == 1) {
    *to = ring_row(c, phase);
    return 1;
  }
  fc_winstat_row prefix = c->run;
  if (start >= first) prefix = lengthen_prefix(f, c, phase);
  if (phase == h - 1) {
    *to = prefix;
    /* The join of the whole block is the prefix: row 0 needs no suffix. */
    turn_to_suffixes(f, c, larger(1, first - start));
  } else if (ready) {
    join_rows(f, c, c->joined, ring_row(c, phase + 1), prefix, h - 1 - phase, phase + 1);
    *to = c->joined;
  }
  return ready;
}

/* ---- along a row ------------------------------------------------------ */

/* Positions of the signal: lo .. hi - 1. */
typedef struct span {
  int64_t lo, hi;
} span;

static span common(span a, span b) {
  return (span){larger(a.lo, b.lo), smaller(a.hi, b.hi)};
}

/* Row k of the folded pieces, which are those of positions `have`; zeros where there is none. */
static void fold_row(const fc_winstat_field *f, const fc_winstat_ladder *l, fc_winstat_row pieces, span have,
                     int64_t k) {
  fc_winstat_row slot = fc_winstat_column_slot(&l->far, k);
  span row = {k * FC_WINSTAT_FAR, (k + 1) * FC_WINSTAT_FAR}, part = common(row, have);
  if (part.hi - part.lo < FC_WINSTAT_FAR)
    for (int p = 0; p < f->planes; p++)
      memset(slot.cells + p * slot.pitch, 0, (size_t)(FC_WINSTAT_FAR * l->lanes * f->size));
  fc_winstat_copy(f, fc_winstat_at(f, slot, (part.lo - row.lo) * l->lanes),
                  fc_winstat_at(f, pieces, (part.lo - have.lo) * l->lanes), (part.hi - part.lo) * l->lanes);
}

/*
 * Extends each of the `want` outputs, which already has `near` samples, by m = window / FAR pieces of FAR.
 * Both are positions of pieces.
 */
static void slide_far(const fc_winstat_field *f, const fc_winstat_ladder *l, fc_winstat_row to,
                      fc_winstat_row pieces, span have, span want, int64_t near) {
  const int64_t m = l->far.window, P = l->lanes;
  const int64_t first = floored(want.lo, FC_WINSTAT_FAR), last = floored(want.hi - 1, FC_WINSTAT_FAR) + m - 1;
  for (int64_t k = first; k <= last; k++) {
    fc_winstat_row far;
    fold_row(f, l, pieces, have, k);
    if (!fc_winstat_column_push(f, &l->far, k, first, &far)) continue;
    int64_t start = (k - m + 1) * FC_WINSTAT_FAR;
    span part = common(want, (span){start, start + FC_WINSTAT_FAR});
    fc_winstat_row out = fc_winstat_at(f, to, (part.lo - want.lo) * P);
    far = fc_winstat_at(f, far, (part.lo - start) * P);
    if (near)
      f->join(out, out, far, (part.hi - part.lo) * P, (double)near, (double)(m * FC_WINSTAT_FAR));
    else
      fc_winstat_copy(f, out, far, (part.hi - part.lo) * P);
  }
}

void fc_winstat_row_slide(const fc_winstat_field *f, const fc_winstat_ladder *l, fc_winstat_row to,
                          fc_winstat_row row, int64_t count, int64_t first) {
  const int64_t w = l->window, P = l->lanes;
  fc_winstat_row pieces = row;
  int64_t near = 0;
  for (int64_t step = 1, turn = 0;; step *= 2, turn ^= 1) {
    if (step == FC_WINSTAT_FAR && w >= 2 * step) {
      span have = {first, first + count + w - step}, want = {first + near, first + near + count};
      slide_far(f, l, to, pieces, have, want, near);
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
    /* A window that is a power of two is the last doubling. */
    fc_winstat_row next = w == 2 * step ? to : l->level[turn];
    int64_t cells = (count + w - 2 * step) * P;
    f->join(next, pieces, fc_winstat_at(f, pieces, step * P), cells, (double)step, (double)step);
    pieces = next;
  }
}
