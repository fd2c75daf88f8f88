/* SPDX-License-Identifier: MIT */
/*
 * winstat_box.c - see winstat_box.h: which lines each block needs, and what is kept from one to the next.
 */
#include "filters/winstat/winstat_box.h"

#include "filters/base/integers.h"

static const char *lines_at(const fc_winstat_lines *l, int64_t line, int64_t count, int end) {
  return l->make ? l->make(l->self, line, count, end) : l->first + line * l->pitch;
}

static fc_winstat_row row_of(char *cells) {
  return (fc_winstat_row){cells, 0};
}

static void join(const fc_winstat_box *box, char *to, char *a, char *b) {
  box->field->join(row_of(to), row_of(a), row_of(b), box->cells, 1, 1);
}

void fc_winstat_box_init(fc_winstat_box *box, int64_t window) {
  box->window = window;
  box->block = fc_smaller(window, FC_WINSTAT_BLOCK);
  box->middle = (window - box->block) / box->block;
  box->head = (window - box->block) % box->block;
}

/* Where the total of a block must be written; enter_block then uses it. */
static char *total_of(const fc_winstat_box *box, int64_t block) {
  return box->middle > 0 ? fc_winstat_column_slot(&box->blocks, block).cells : box->total;
}

/* Block `block` is complete: computes the sum of the blocks between the next first block and the end of
 * its first window. */
static void enter_block(fc_winstat_box *box, int64_t block) {
  fc_winstat_row totals;
  if (box->middle == 0 || !fc_winstat_column_push(box->field, &box->blocks, block, box->first, &totals))
    return;
  fc_winstat_copy(box->field, row_of(box->base), totals, box->cells);
}

/* The sum of a block in the order in which windows that end in it add its lines. */
static void sum_block(fc_winstat_box *box, const fc_winstat_lines *lines, int64_t block) {
  const char *from = lines_at(lines, block * box->block - box->origin, box->block, 1);
  char *total = total_of(box, block), *head = box->head_sum[0];
  box->k->sum(head, from, lines->pitch, box->head, box->cells);
  box->k->sum(total, from + box->head * lines->pitch, lines->pitch, box->block - box->head, box->cells);
  join(box, total, head, total);
}

void fc_winstat_box_start(fc_winstat_box *box, const fc_winstat_field *field, const fc_winstat_box_kernels *k,
                          const fc_winstat_lines *lines, int64_t origin) {
  box->field = field, box->k = k, box->origin = origin;
  box->at = fc_floored(origin, box->block), box->first = box->at + 1;
  box->done = 0, box->turn = 0;
  box->blocks.cells = box->cells;
  for (int64_t b = box->first; b < box->first + box->middle; b++) {
    sum_block(box, lines, b);
    enter_block(box, b);
  }
  int64_t last = (box->first + box->middle) * box->block - origin;
  const char *from = box->head > 0 ? lines_at(lines, last, box->head, 1) : NULL;
  k->sum(box->head_sum[0], from, lines->pitch, box->head, box->cells);
}

/* The lines that enter the windows, from `line` on: of the block in which these end, and of the next. */
static void enter_lines(const fc_winstat_box *box, const fc_winstat_lines *lines, int64_t line,
                        fc_winstat_block *b) {
  const int64_t tail = box->block - box->head;
  b->end = b->end_head = b->from;
  if (b->steps > 0) b->end = lines_at(lines, line, fc_smaller(b->steps, tail), 1);
  if (b->steps > tail) b->end_head = lines_at(lines, line + tail, b->steps - tail, 1);
}

int64_t fc_winstat_box_next(fc_winstat_box *box, const fc_winstat_lines *lines, int64_t count, char *to,
                            int64_t pitch) {
  const int64_t start = box->at * box->block - box->origin; /* line 0 of the block */
  const int64_t ends_in = box->at + 1 + box->middle;
  fc_winstat_block b = {.from_pitch = lines->pitch, .end_pitch = lines->pitch, .block = box->block};
  b.head = box->head, b.cells = box->cells, b.to = to, b.to_pitch = pitch;
  b.lo = box->done - start, b.hi = fc_smaller(box->block, count - start);
  const int more = start + box->block < count;
  b.steps = more ? box->block : b.hi - 1;
  b.from = lines_at(lines, box->done, box->block - b.lo, 0);
  enter_lines(box, lines, start + box->window, &b);
  b.head_sum = box->head_sum[box->turn], b.next_head = box->head_sum[!box->turn];
  b.base = b.head_sum;
  if (box->middle > 0) {
    join(box, box->base, box->base, box->head_sum[box->turn]);
    b.base = box->base;
  }
  b.total = total_of(box, ends_in);
  box->k->slide(&b);
  box->done += b.hi - b.lo;
  if (more) {
    enter_block(box, ends_in);
    box->at++, box->turn = !box->turn;
  }
  return b.hi - b.lo;
}
