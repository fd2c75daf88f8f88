/* SPDX-License-Identifier: MIT */
/*
 * winstat_tiles.c - sums in windows of several rows, processed in tiles of rows.
 *
 * Columns are summed first, directly from the input if its layout is suitable. A tile is then transposed, so
 * that a vector holds a column of it, and the same sums run along the rows, with all rows in a vector;
 * interleaved channels are processed together. Both passes use winstat_box.h; transposing costs two shuffles
 * for each doubling of the vector, and avoids the many unaligned loads and stores of sliding along a row (see
 * WHY.md).
 */
#include <string.h>

#include "filters/base/integers.h"
#include "filters/base/simd.h"
#include "filters/winstat/winstat_walk.h"

/* Windows that are small in both directions are faster row by row: 3 x 3 takes 0.75 ns per sample instead
 * of 1.09, and 11 x 11 0.90 either way (4096 columns of f32). */
#define WINDOW_LEAST 12

int fc_winstat_tiles_can(const fc_winstat_walk *k) {
  for (int i = FC_WALK_SPREAD; i < FC_WALK_FIELDS; i++)
    if (k->field[i].used) return 0;
  if (k->window[0] < WINDOW_LEAST && k->window[1] < WINDOW_LEAST && k->window[0] > 1) return 0;
  return k->window[1] > 1;
}

/* The rows of a field in the strip, in the needed form. */
typedef struct source {
  fc_winstat_walk *k;
  int field;
} source;

/* Whether the samples in the input can be used as pieces directly. */
static int lies_ready(const source *s) {
  const fc_winstat_walk *k = s->k;
  const int64_t size = (int64_t)fc_dtype_size(k->in->dtype);
  const int same = s->field == FC_WALK_SUM && !k->codes && k->in->dtype == k->result && !k->w->shrink;
  return same && (k->lanes > 1 || k->in->stride[FC_AXIS_X] == size);
}

/* The pieces of a row; line 0 is the first row of the first window. */
static void make_row(const source *s, char *to, int64_t line) {
  fc_winstat_walk *k = s->k;
  const int64_t y = line - k->w->before[1], bytes = fc_winstat_cells_in(k) * k->field[s->field].size;
  if (lies_ready(s)) {
    const void *from = fc_view_at(k->in, k->n, y, k->x - k->w->before[0], k->c);
    fc_copy_asking(to, from, bytes, FC_WINSTAT_AHEAD * k->in->stride[FC_AXIS_Y]);
    return;
  }
  fc_winstat_load_row(k, y);
  memcpy(to, fc_winstat_start_row(k, s->field).cells, (size_t)bytes);
}

/* Where a line requested with `end` is stored. */
static char *place_of(const source *s, int64_t line, int end) {
  const fc_winstat_tiles *t = &s->k->tiles;
  const fc_winstat_ring *ring = &t->ring[s->field];
  const fc_winstat_box *down = &t->down[s->field];
  const int64_t at = down->origin + line, block = fc_floored(at, down->block);
  const int64_t places = ring->blocks - !ring->kept;
  int64_t place = block - fc_floored(block, places) * places;
  if (!ring->kept && !end) place = places;
  return ring->rows + (place * down->block + at - block * down->block) * t->pitch;
}

static const char *make_rows(void *self, int64_t line, int64_t count, int end) {
  const source *s = self;
  fc_winstat_ring *ring = &s->k->tiles.ring[s->field];
  if (!ring->kept) ring->made = line;
  for (; ring->made < line + count; ring->made++) make_row(s, place_of(s, ring->made, end), ring->made);
  return place_of(s, line, end);
}

static fc_winstat_lines lines_of(source *s) {
  return (fc_winstat_lines){NULL, s->k->tiles.pitch, make_rows, s};
}

static const fc_winstat_box_kernels *kernels_of(const fc_winstat_walk *k, int field) {
  return &(*FC_ISA_PICK(fc_winstat_box_kernels, k->w->isa))[k->type[field]];
}

/* Slides the tile's rows along x: transposed, in place, and transposed back. */
static void slide_along(fc_winstat_walk *k, int field, int64_t rows) {
  fc_winstat_tiles *t = &k->tiles;
  const fc_winstat_box_kernels *b = kernels_of(k, field);
  const int64_t groups = (rows + b->lanes - 1) / b->lanes, line = groups * b->lanes * b->size;
  const fc_winstat_lines lines = {t->lines, line * k->lanes, NULL, NULL};
  for (int64_t g = 0; g < groups; g++)
    b->turn(t->lines + g * b->lanes * b->size, line, t->tile[field] + g * b->lanes * t->pitch, t->pitch,
            fc_smaller(rows - g * b->lanes, b->lanes), fc_winstat_cells_in(k));
  t->along.cells = groups * b->lanes * k->lanes;
  fc_winstat_box_start(&t->along, &k->field[field], b, &lines,
                       k->in->origin[FC_AXIS_X] + k->x - k->w->before[0]);
  for (int64_t x = 0; x < k->count;)
    x += fc_winstat_box_next(&t->along, &lines, k->count, t->lines + x * lines.pitch, lines.pitch);
  for (int64_t g = 0; g < groups; g++)
    b->turn_back(t->tile[field] + g * b->lanes * t->pitch, t->pitch, t->lines + g * b->lanes * b->size, line,
                 fc_smaller(rows - g * b->lanes, b->lanes), k->count * k->lanes);
}

/* Makes the next rows of the strip, after `done` of them; returns how many. */
static int64_t make_tile(fc_winstat_walk *k, int field, int64_t done) {
  fc_winstat_tiles *t = &k->tiles;
  fc_winstat_box *down = &t->down[field];
  source s = {k, field};
  const fc_winstat_lines lines = lines_of(&s);
  const int64_t height = k->in->shape[FC_AXIS_Y];
  int64_t rows = 0;
  while (done + rows < height && rows + down->block <= FC_WINSTAT_TILE)
    rows += fc_winstat_box_next(down, &lines, height, t->tile[field] + rows * t->pitch, t->pitch);
  if (k->window[0] > 1) slide_along(k, field, rows);
  return rows;
}

void fc_winstat_tiles_strip(fc_winstat_walk *k) {
  const fc_winstat_tiles *t = &k->tiles;
  for (int i = 0; i < FC_WALK_FIELDS; i++) {
    source s = {k, i};
    if (!k->field[i].used) continue;
    const fc_winstat_lines lines = lines_of(&s);
    k->tiles.down[i].cells = fc_winstat_cells_in(k);
    k->tiles.down[i].origin = k->in->origin[FC_AXIS_Y] - k->w->before[1];
    k->tiles.ring[i].made = 0;
    fc_winstat_box_start(&k->tiles.down[i], &k->field[i], kernels_of(k, i), &lines,
                         k->in->origin[FC_AXIS_Y] - k->w->before[1]);
  }
  for (int64_t y = 0, rows = 0; y < k->in->shape[FC_AXIS_Y]; y += rows) {
    fc_winstat_row result[FC_WALK_FIELDS] = {{0}};
    for (int i = 0; i < FC_WALK_FIELDS; i++)
      if (k->field[i].used) rows = make_tile(k, i, y);
    for (int64_t r = 0; r < rows; r++) {
      for (int i = 0; i < FC_WALK_FIELDS; i++)
        if (k->field[i].used) result[i].cells = t->tile[i] + r * t->pitch;
      fc_winstat_emit(k, result, y + r);
    }
  }
}
