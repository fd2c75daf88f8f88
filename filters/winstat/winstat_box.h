/* SPDX-License-Identifier: MIT */
/*
 * winstat_box.h - fast sums in a window that slides over lines of cells: blocks of lines are added in
 * registers. Internal to filters/.
 *
 * Lines are cut into blocks of 16 (of the window's length where that is less), anchored at position 0 of the
 * signal. A window is the rest of the block that it begins in (a suffix), whole blocks, and the beginning of
 * the block that it ends in (a prefix), as in van Herk (1992) and Gil and Werman (1993), whose blocks are as
 * long as the window. With short blocks all windows of a block are made together: its suffixes, kept on the
 * stack, then line by line the prefix, which is kept in a register. A line is read twice, when it enters and
 * when it leaves the window, and nothing but totals of blocks is kept in between: three additions, two loads
 * and a store a cell, whatever the window. The whole blocks are themselves a window over their totals
 * (fc_winstat_column), a sixteenth of the lines.
 *
 * Nothing is ever subtracted, and the order of additions depends on positions in the signal alone. Long sums
 * are those of at most 16 lines, 16 more, and of what fc_winstat_column adds.
 */
#ifndef FC_FILTERS_WINSTAT_BOX_H
#define FC_FILTERS_WINSTAT_BOX_H

#include "filters/winstat/winstat_slide.h"

/* ---- inner loops, for one instruction set ---------------------------------- */

/* Maximum of lines per block. */
#define FC_WINSTAT_BLOCK 16

/* Pitches are in bytes, counts in cells. The windows that begin in one block of `block` lines: lines `lo` ..
 * `hi` - 1 of it. */
typedef struct fc_winstat_block {
  const char *from; /* line `lo` of the block */
  /* The lines after the windows of lines 0 and block - head, where a block begins. */
  const char *end, *end_head;
  int64_t from_pitch, end_pitch;
  int64_t block, head;
  int64_t lo, hi;
  int64_t steps;        /* lines that may be read from `end` on: hi - 1, or the whole block */
  const char *base;     /* of the window of line 0, what comes after this block */
  const char *head_sum; /* of the block in which the windows end: its first `head` lines */
  /* output, after a whole block: `head` lines of the next, and the total of that block */
  char *next_head, *total;
  char *to; /* line `lo` */
  int64_t to_pitch, cells;
} fc_winstat_block;

typedef struct fc_winstat_box_kernels {
  int64_t size, lanes; /* bytes of a cell, cells of a vector */

  /* to[p] = (lines p .. block - 1 of `from`) + (base + what follows up to the window's end). */
  void (*slide)(const fc_winstat_block *b);

  /* to = the sum of `count` lines from the first on. */
  void (*sum)(char *to, const char *from, int64_t pitch, int64_t count, int64_t cells);

  /* Transposes `count` rows (at most `lanes`) of `cells` into columns: cell i of row r goes to cell r of
   * the vector at i * line bytes. And the inverse. Whole vectors are read and written, also beyond
   * `cells`. */
  void (*turn)(char *lines, int64_t line, const char *rows, int64_t pitch, int64_t count, int64_t cells);
  void (*turn_back)(char *rows, int64_t pitch, const char *lines, int64_t line, int64_t count, int64_t cells);
} fc_winstat_box_kernels;

/* Indexed by fc_winstat_type. */
typedef fc_winstat_box_kernels fc_winstat_box_table[FC_WINSTAT_TYPES];
FC_ISA_DECLARE(fc_winstat_box_table, fc_winstat_box_kernels);

/* ---- windows -------------------------------------------------------------- */

/* Lines of cells: in memory, `pitch` bytes apart, or made on demand. */
typedef struct fc_winstat_lines {
  const char *first;
  int64_t pitch;
  /* Unless NULL, returns `count` lines from `line` on, of one block. With `end` 1 they enter the window, in
   * order; with 0 they are those that leave it, or the first ones. */
  const char *(*make)(void *self, int64_t line, int64_t count, int end);
  void *self;
} fc_winstat_lines;

typedef struct fc_winstat_box {
  int64_t window;                   /* block + middle * block + head */
  int64_t block, middle, head;      /* lines of a block; whole blocks in between; lines of the last block */
  int64_t cells;                    /* of a line; may be set anew before a start */
  char *head_sum[2], *base, *total; /* lines */
  fc_winstat_column blocks;         /* totals of blocks, `middle` of them together */

  /* Where it is. */
  const fc_winstat_field *field;
  const fc_winstat_box_kernels *k;
  int64_t origin; /* position of line 0 */
  int64_t at;     /* the block in which the next windows begin */
  int64_t first;  /* the first block whose total is known */
  int64_t done;   /* number of windows made */
  int turn;       /* head_sum[turn] is that of the block where window 0 of block `at` ends */
} fc_winstat_box;

/* For windows of at least 2 lines; the caller sets the memory. */
void fc_winstat_box_init(fc_winstat_box *box, int64_t window);

/* Starts with the window whose first line is line 0, at `origin` in the signal. */
void fc_winstat_box_start(fc_winstat_box *box, const fc_winstat_field *field, const fc_winstat_box_kernels *k,
                          const fc_winstat_lines *lines, int64_t origin);

/* Makes the next windows, at most to the end of their block, of `count` in total, for which there are
 * count + window - 1 lines; returns how many. */
int64_t fc_winstat_box_next(fc_winstat_box *box, const fc_winstat_lines *lines, int64_t count, char *to,
                            int64_t pitch);

#endif
