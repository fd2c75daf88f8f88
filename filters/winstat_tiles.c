/* SPDX-License-Identifier: MIT */
/*
 * winstat_tiles.c - sums in windows of several rows, a tile of some rows at a time.
 *
 * Rows are summed down their columns first, right from the input where that lies in memory as it is
 * needed. A tile is then turned, so that a vector holds a column of it, and the same sums run along the
 * rows, all rows of a vector side by side; channels that lie next to each other go together. Either way
 * is winstat_box.h; turning costs two shuffles for each doubling of the vector, and spares the many
 * unaligned loads and stores that sliding along a row would take (see tests/bench/NOTES.md).
 */
#include <string.h>

#include "filters/integers.h"
#include "filters/winstat_walk.h"

/* Windows that are shorter both ways go faster row by row: 3 x 3 0.75 ns a sample, not 1.09, and 11 x 11
 * 0.90 either way (4096 columns of f32). */
#define WINDOW_LEAST 12

int fc_winstat_tiles_can(const fc_winstat_walk *k) {
  for (int i = FC_WALK_SPREAD; i < FC_WALK_FIELDS; i++)
    if (k->field[i].used) return 0;
  if (k->window[0] < WINDOW_LEAST && k->window[1] < WINDOW_LEAST && k->window[0] > 1) return 0;
  return k->window[1] > 1;
}

/* A field of the strip's rows as they are wanted. */
typedef struct source {
  fc_winstat_walk *k;
  int field;
} source;

/* Rows that are not pieces as they lie: loaded and made into pieces. Line 0 is the first row of
 * the first window. */
static const char *make_rows(void *self, int64_t line, int64_t count, int end) {
  const source *s = self;
  fc_winstat_walk *k = s->k;
  const fc_winstat_tiles *t = &k->tiles;
  for (int64_t i = 0; i < count; i++) {
    fc_winstat_load_row(k, line + i - k->w->before[1]);
    memcpy(t->made[end] + i * t->made_pitch, fc_winstat_start_row(k, s->field).cells,
           (size_t)(fc_winstat_cells_in(k) * k->field[s->field].size));
  }
  return t->made[end];
}

static fc_winstat_lines lines_of(source *s) {
  const fc_winstat_walk *k = s->k;
  const fc_view *in = k->in;
  const int64_t size = (int64_t)fc_dtype_size(in->dtype);
  fc_winstat_lines lines = {NULL, k->tiles.made_pitch, make_rows, s};
  int direct = s->field == FC_WALK_SUM && !k->codes && in->dtype == k->result && !k->w->shrink;
  if (!direct || (k->lanes == 1 && in->stride[FC_AXIS_X] != size)) return lines;
  lines.first = fc_view_at(in, k->n, -k->w->before[1], k->x - k->w->before[0], k->c);
  lines.pitch = in->stride[FC_AXIS_Y], lines.make = NULL;
  return lines;
}

static const fc_winstat_box_kernels *kernels_of(const fc_winstat_walk *k, int field) {
  return &(*FC_ISA_PICK(fc_winstat_box_kernels, k->w->isa))[k->type[field]];
}

/* Slides the tile's rows along x: turned, in place, and turned back. */
static void slide_along(fc_winstat_walk *k, int field, int64_t rows) {
  fc_winstat_tiles *t = &k->tiles;
  const fc_winstat_box_kernels *b = kernels_of(k, field);
  const int64_t groups = (rows + b->lanes - 1) / b->lanes, line = groups * b->lanes * b->size;
  const fc_winstat_lines lines = {t->lines, line * k->lanes, NULL, NULL};
  for (int64_t g = 0; g < groups; g++)
    b->turn(t->lines + g * b->lanes * b->size, line, t->tile[field] + g * b->lanes * t->tile_pitch,
            t->tile_pitch, fc_smaller(rows - g * b->lanes, b->lanes), fc_winstat_cells_in(k));
  t->along.cells = groups * b->lanes * k->lanes;
  fc_winstat_box_start(&t->along, &k->field[field], b, &lines,
                       k->in->origin[FC_AXIS_X] + k->x - k->w->before[0]);
  for (int64_t x = 0; x < k->count;)
    x += fc_winstat_box_next(&t->along, &lines, k->count, t->lines + x * lines.pitch, lines.pitch);
  for (int64_t g = 0; g < groups; g++)
    b->turn_back(t->tile[field] + g * b->lanes * t->tile_pitch, t->tile_pitch,
                 t->lines + g * b->lanes * b->size, line, fc_smaller(rows - g * b->lanes, b->lanes),
                 k->count * k->lanes);
}

/* The next rows of the strip, of which `done` there are; returns how many. */
static int64_t make_tile(fc_winstat_walk *k, int field, int64_t done) {
  fc_winstat_tiles *t = &k->tiles;
  fc_winstat_box *down = &t->down[field];
  source s = {k, field};
  const fc_winstat_lines lines = lines_of(&s);
  const int64_t height = k->in->shape[FC_AXIS_Y];
  int64_t rows = 0;
  while (done + rows < height && rows + down->block <= FC_WINSTAT_TILE)
    rows += fc_winstat_box_next(down, &lines, height, t->tile[field] + rows * t->tile_pitch, t->tile_pitch);
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
    fc_winstat_box_start(&k->tiles.down[i], &k->field[i], kernels_of(k, i), &lines,
                         k->in->origin[FC_AXIS_Y] - k->w->before[1]);
  }
  for (int64_t y = 0, rows = 0; y < k->in->shape[FC_AXIS_Y]; y += rows) {
    fc_winstat_row result[FC_WALK_FIELDS] = {{0}};
    for (int i = 0; i < FC_WALK_FIELDS; i++)
      if (k->field[i].used) rows = make_tile(k, i, y);
    for (int64_t r = 0; r < rows; r++) {
      for (int i = 0; i < FC_WALK_FIELDS; i++)
        if (k->field[i].used) result[i].cells = t->tile[i] + r * t->tile_pitch;
      fc_winstat_emit(k, result, y + r);
    }
  }
}
