/* SPDX-License-Identifier: MIT */
/*
 * compare.c - the reference, and the vectorised version: each block in strips of columns, loaded as doubles
 * with the rows and columns around them.
 */
#include "filters/stats/compare.h"

#include <math.h>
#include <string.h>

#include "filters/stats/compare_kernels.h"
#include "filters/stats/compare_math.h"

#define TAPS FC_COMPARE_TAPS
#define HALO FC_COMPARE_HALO
#define ROWS 16   /* of a block of an image */
#define TIME 4096 /* samples of a block of sound */

fc_compare fc_compare_of(double peak) {
  return (fc_compare){fc_isa_best(), 1e-4 * peak * peak, 9e-4 * peak * peak};
}

int64_t fc_compare_align(int kind) {
  return kind == FC_AUDIO ? TIME : ROWS;
}

void fc_compare_add(fc_compare_part *sum, const fc_compare_part *part) {
  sum->count += part->count, sum->bad += part->bad;
  sum->squares += part->squares, sum->signal += part->signal;
  sum->largest = fmax(sum->largest, part->largest);
  sum->similarity += part->similarity, sum->windows += part->windows;
}

/* ---- the walk over blocks -------------------------------------------------------- */

typedef struct walk {
  const fc_compare *c;
  const fc_view *a, *b;
  double *scratch;
} walk;

typedef void (*compare_area)(const walk *w, fc_compare_area area, int64_t n, int64_t channel,
                             fc_compare_part *part);

static fc_status walk_blocks(const walk *w, char *blocks, int64_t frame_bytes, compare_area compare) {
  const fc_view *a = w->a;
  const int64_t channels = a->shape[FC_AXIS_C], align = fc_compare_align(a->kind);
  const int64_t along = a->shape[a->kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_Y];
  for (int64_t n = 0; n < a->shape[FC_AXIS_N]; n++)
    for (int64_t i = 0; i * align < along; i++) {
      const fc_compare_area area = fc_compare_area_of(a->kind, a->shape, align, i);
      char *at = blocks + n * frame_bytes + i * (int64_t)fc_compare_block_bytes(channels);
      const fc_compare_block head = {(uint32_t)channels, w->b->kind, w->b->dtype, 0};
      memcpy(at, &head, sizeof head);
      for (int64_t c = 0; c < channels; c++) {
        fc_compare_part part = {0};
        compare(w, area, n, c, &part);
        memcpy(at + sizeof head + c * (int64_t)sizeof part, &part, sizeof part);
      }
    }
  return FC_OK;
}

/* Whether there is a complete window around row y of the view. The view has all columns. */
static int has_window(const fc_view *v, int64_t y) {
  const int64_t at = v->origin[FC_AXIS_Y] + y;
  return v->kind != FC_AUDIO && at >= HALO && at < v->extent[FC_AXIS_Y] - HALO && v->shape[FC_AXIS_X] >= TAPS;
}

/* ---- reference ------------------------------------------------------------ */

static double value_at(const fc_view *v, int64_t n, int64_t y, int64_t x, int64_t c) {
  double value;
  fc_load_f64(&value, fc_view_at(v, n, y, x, c), 0, 1, v->kind, v->dtype);
  return value;
}

static void add_window(const walk *w, int64_t n, int64_t y, int64_t x, int64_t c, fc_compare_part *part) {
  static const double weights[TAPS] = FC_COMPARE_WEIGHTS;
  fc_compare_sums s = {0, 0, 0, 0, 0};
  for (int j = 0; j < TAPS; j++)
    for (int i = 0; i < TAPS; i++) {
      const double a = value_at(w->a, n, y + j - HALO, x + i - HALO, c);
      const double b = value_at(w->b, n, y + j - HALO, x + i - HALO, c), g = weights[j] * weights[i];
      s.a += g * a, s.b += g * b, s.aa += g * a * a, s.bb += g * b * b, s.ab += g * a * b;
    }
  const double similarity = fc_compare_similarity(&s, w->c->c1, w->c->c2);
  if (!isfinite(similarity)) return;
  part->similarity += similarity, part->windows++;
}

static void compare_by_definition(const walk *w, fc_compare_area area, int64_t n, int64_t c,
                                  fc_compare_part *part) {
  for (int64_t y = area.y; y < area.y + area.rows; y++)
    for (int64_t x = area.x; x < area.x + area.columns; x++) {
      const double a = value_at(w->a, n, y, x, c), b = value_at(w->b, n, y, x, c);
      if (!isfinite(a) || !isfinite(b) || !isfinite(a - b)) {
        part->bad++;
        continue;
      }
      part->count++;
      part->squares += (a - b) * (a - b), part->signal += b * b;
      part->largest = fmax(part->largest, fabs(a - b));
    }
  for (int64_t y = area.y; y < area.y + area.rows && w->c->c1 > 0; y++)
    for (int64_t x = HALO; has_window(w->a, y) && x < w->a->shape[FC_AXIS_X] - HALO; x++)
      add_window(w, n, y, x, c, part);
}

fc_status fc_compare_ref(const fc_compare *c, const fc_view *a, const fc_view *b, void *blocks,
                         int64_t frame_bytes) {
  const walk w = {c, a, b, NULL};
  return walk_blocks(&w, blocks, frame_bytes, compare_by_definition);
}

/* ---- vectorised ------------------------------------------------------------- */

#define STRIP  256                /* columns */
#define PITCH  (STRIP + 2 * HALO) /* of a row in scratch */
#define LOADED (ROWS + 2 * HALO)

size_t fc_compare_scratch(void) {
  return (2 * LOADED + 5) * PITCH * sizeof(double);
}

/* Rows y0 to y1 and columns x0 to x1 of a view, to scratch. */
static void load_rows(const fc_view *v, int64_t n, int64_t c, int64_t y0, int64_t y1, int64_t x0, int64_t x1,
                      double *to) {
  for (int64_t y = y0; y < y1; y++, to += PITCH)
    fc_load_f64(to, fc_view_at(v, n, y, x0, c), v->stride[FC_AXIS_X], x1 - x0, v->kind, v->dtype);
}

static int64_t least(int64_t a, int64_t b) {
  return a < b ? a : b;
}

static int64_t most(int64_t a, int64_t b) {
  return a > b ? a : b;
}

/* Columns x0 to x1 of an area, and the windows around them. */
static void compare_strip(const walk *w, fc_compare_area area, int64_t n, int64_t c, int64_t x0, int64_t x1,
                          fc_compare_part *part) {
  const fc_compare_kernels *kernels = FC_ISA_PICK(fc_compare_kernels, w->c->isa);
  const int similar = w->c->c1 > 0 && w->a->kind != FC_AUDIO;
  const int64_t first = -w->a->origin[FC_AXIS_Y], columns = w->a->shape[FC_AXIS_X]; /* row 0 of the image */
  const int64_t top = similar ? most(area.y - HALO, first) : area.y;
  const int64_t bottom =
      similar ? least(area.y + area.rows + HALO, first + w->a->extent[FC_AXIS_Y]) : area.y + area.rows;
  const int64_t left = similar ? most(x0 - HALO, 0) : x0, right = similar ? least(x1 + HALO, columns) : x1;
  double *a = w->scratch, *b = a + LOADED * PITCH, *sums = b + LOADED * PITCH;
  load_rows(w->a, n, c, top, bottom, left, right, a);
  load_rows(w->b, n, c, top, bottom, left, right, b);
  for (int64_t y = area.y; y < area.y + area.rows; y++) {
    const int64_t row = (y - top) * PITCH;
    kernels->differences(a + row + x0 - left, b + row + x0 - left, x1 - x0, part);
    if (!similar || !has_window(w->a, y) || right - left < TAPS) continue;
    kernels->columns(a + row - HALO * PITCH, b + row - HALO * PITCH, PITCH, right - left, sums);
    kernels->windows(sums, right - left - (TAPS - 1), w->c->c1, w->c->c2, part);
  }
}

static void compare_in_strips(const walk *w, fc_compare_area area, int64_t n, int64_t c,
                              fc_compare_part *part) {
  for (int64_t x = area.x; x < area.x + area.columns; x += STRIP)
    compare_strip(w, area, n, c, x, least(x + STRIP, area.x + area.columns), part);
}

fc_status fc_compare_cpu(const fc_compare *c, const fc_view *a, const fc_view *b, void *blocks,
                         int64_t frame_bytes, void *scratch) {
  const walk w = {c, a, b, scratch};
  return walk_blocks(&w, blocks, frame_bytes, compare_in_strips);
}
