/* SPDX-License-Identifier: MIT */
/*
 * winstat_box_kernels.h - the inner loops of sliding sums in blocks, for one instruction
 * set; see winstat_box.h. Internal to filters/. Pitches are in bytes, counts in cells.
 */
#ifndef FC_FILTERS_WINSTAT_BOX_KERNELS_H
#define FC_FILTERS_WINSTAT_BOX_KERNELS_H

#include "filters/winstat/winstat_kernels.h"

/* Maximum of lines per block. */
#define FC_WINSTAT_BLOCK 16

/* The windows that begin in one block of `block` lines: lines `lo` .. `hi` - 1 of it. */
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

#endif
