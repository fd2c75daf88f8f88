/* SPDX-License-Identifier: MIT */
/*
 * gemm_plan.c - the choice of a kernel for a product on a GPU, and the layout of its scratch memory.
 */
#include "filters/gemm/gemm_plan.h"
#include "filters/base/integers.h"
#include "filters/gemm/gemm_tiles.h"

/* ---- operands ------------------------------------------------------------------ */

static int64_t size_of(int type) {
  return (int64_t)fc_dtype_size(type);
}

static void stretch(fc_gemm_side *s, int type, int64_t k) {
  if (s->limit == 1 && s->along == 1) s->across = fc_round_up(k, 16 / size_of(type));
}

void fc_gemm_sides(const fc_gemm *g, fc_gemm_side *a, fc_gemm_side *b) {
  *a = (fc_gemm_side){g->a, g->a_row, g->a_col, g->m};
  *b = (fc_gemm_side){g->b, g->b_col, g->b_row, g->n};
  stretch(a, g->type, g->k), stretch(b, g->type, g->k);
}

int fc_gemm_is_readable(const fc_gemm_side *s, int type) {
  const int64_t line = (s->along == 1 ? s->across : s->along) * size_of(type);
  return (s->along == 1 || s->across == 1) && line > 0 && line % 16 == 0 && line < (INT64_C(1) << 40) &&
         (uintptr_t)s->data % 16 == 0;
}

fc_gemm fc_gemm_by_rows(const fc_gemm *g) {
  fc_gemm n = *g;
  if (!n.d) n.d = n.c, n.d_row = n.c_row, n.d_col = n.c_col;
  if (n.c_row != 1 || n.c_col == 1) return n;
  fc_gemm t = n;
  t.m = n.n, t.n = n.m;
  t.a = n.b, t.a_row = n.b_col, t.a_col = n.b_row;
  t.b = n.a, t.b_row = n.a_col, t.b_col = n.a_row;
  t.c_row = n.c_col, t.c_col = n.c_row;
  t.d_row = n.d_col, t.d_col = n.d_row;
  return t;
}

/* ---- which kernel ----------------------------------------------------------------- */

/* What binds on an H200: bytes and operations in a microsecond. */
#define COPIES 4.3e6
#define FLOPS  60e6

/* A row of the table: whether a kernel takes a product, and its predicted time; `c` gets the details. */
typedef struct candidate {
  int (*takes)(const fc_gemm *g, const fc_gemm_chip *chip);
  double (*cost)(const fc_gemm *g, const fc_gemm_chip *chip, fc_gemm_choice *c);
} candidate;

static double bytes_of(const fc_gemm *g) {
  const double m = (double)g->m, n = (double)g->n, k = (double)g->k;
  return (m * k + k * n + m * n * (g->beta != 0 ? 2 : 1)) * (double)size_of(g->type);
}

static double flops_of(const fc_gemm *g) {
  return 2 * (double)g->m * (double)g->n * (double)g->k;
}

static int takes_thin(const fc_gemm *g, const fc_gemm_chip *chip) {
  (void)chip;
  return g->k > 0 && fc_larger(g->k, fc_smaller(g->m, g->n)) <= fc_gemm_few(g->type);
}

static int takes_short(const fc_gemm *g, const fc_gemm_chip *chip) {
  (void)chip;
  return g->k > 0 && g->k <= fc_gemm_few(g->type);
}

static double cost_of_memory(const fc_gemm *g, const fc_gemm_chip *chip, fc_gemm_choice *c) {
  (void)chip, (void)c;
  return bytes_of(g) / (0.8 * COPIES);
}

/* Both operands adjacent along k, as those of no operator are, whose matrices lie by columns (matrix.h). */
static int are_by_k(const fc_gemm *g) {
  return g->a_col == 1 && g->b_row == 1;
}

static int takes_tma(const fc_gemm *g, const fc_gemm_chip *chip) {
  fc_gemm_side a, b;
  if (chip->major != 9 || g->k == 0 || are_by_k(g) || (g->type == FC_F32 && !fc_gemm_widens(chip, g->k)))
    return 0;
  fc_gemm_sides(g, &a, &b);
  return fc_gemm_is_readable(&a, g->type) && fc_gemm_is_readable(&b, g->type);
}

/* Up to so many columns are computed as the transpose. */
#define FEW_COLUMNS 4

/* Of the tile in which 2048 steps take least: the time of the multiprocessor with most tiles. */
static double cost_of_tma(const fc_gemm *g, const fc_gemm_chip *chip, fc_gemm_choice *c) {
  const int doubles = g->type == FC_F64;
  const fc_gemm_tile *tiles = doubles ? fc_gemm_tiles_f64 : fc_gemm_tiles_f32;
  const int count = doubles ? FC_GEMM_VECTORS_F64 : FC_GEMM_TILES_F32;
  c->transposed = g->n <= FEW_COLUMNS && g->m > g->n && (!doubles || g->k > 64);
  const int64_t m = c->transposed ? g->n : g->m, n = c->transposed ? g->m : g->n;
  const int vectors = doubles && m <= FEW_COLUMNS;
  double best = 0;
  for (int t = vectors ? FC_GEMM_VECTORS_F64 : 0; t < (vectors ? FC_GEMM_TILES_F64 : count); t++) {
    const double all = (double)((m + tiles[t].rows - 1) / tiles[t].rows) *
                       (double)((n + tiles[t].columns - 1) / tiles[t].columns);
    const int64_t most = (int64_t)((all + chip->processors - 1) / chip->processors);
    const double time = most > 1 ? tiles[t].each * (double)most : tiles[t].alone;
    if (best == 0 || time < best) best = time, c->tile = t;
  }
  const double memory = bytes_of(g) / COPIES, products = best * (double)g->k / 2048;
  return products > memory ? products : memory;
}

/* Tiles are not filled by few rows or columns; floats are in tiles of their own unless widened. */
static int takes_mma(const fc_gemm *g, const fc_gemm_chip *chip) {
  if (chip->major < 8 || g->k == 0 || are_by_k(g) || g->m <= 16 || g->n <= 16) return 0;
  return g->type == FC_F64 || fc_gemm_widens(chip, g->k);
}

static double cost_of_mma(const fc_gemm *g, const fc_gemm_chip *chip, fc_gemm_choice *c) {
  (void)chip, (void)c;
  return flops_of(g) / (0.85 * FLOPS);
}

static int takes_tile(const fc_gemm *g, const fc_gemm_chip *chip) {
  (void)g, (void)chip;
  return 1;
}

static double cost_of_tile(const fc_gemm *g, const fc_gemm_chip *chip, fc_gemm_choice *c) {
  (void)chip, (void)c;
  return flops_of(g) / (0.3 * FLOPS) + bytes_of(g) / COPIES;
}

static const candidate candidates[FC_GEMM_LAUNCHES] = {
    [FC_GEMM_THIN] = {takes_thin, cost_of_memory}, [FC_GEMM_SHORT] = {takes_short, cost_of_memory},
    [FC_GEMM_TMA] = {takes_tma, cost_of_tma},      [FC_GEMM_MMA] = {takes_mma, cost_of_mma},
    [FC_GEMM_TILE] = {takes_tile, cost_of_tile},
};

fc_gemm_choice fc_gemm_choose(const fc_gemm *by_rows, const fc_gemm_chip *chip, fc_gemm_launch first) {
  fc_gemm_choice c = {.launch = first};
  while (c.launch < FC_GEMM_TILE && !candidates[c.launch].takes(by_rows, chip)) c.launch++;
  c.us = candidates[c.launch].cost(by_rows, chip, &c);
  return c;
}

/* ---- copies of operands in scratch memory -------------------------------------------- */

#define WHOLE 32 /* elements that lines of copies are multiples of */

/* If elements are adjacent neither along k nor across, the copy is adjacent along k. */
static fc_gemm_lines lines_of(const fc_gemm_side *s, int type, int64_t k, size_t at) {
  const int by_k = s->across != 1 || s->along == 1;
  fc_gemm_lines l = {.from = s->data, .by_k = by_k, .at = at};
  l.length = by_k ? k : s->limit;
  l.pitch = by_k ? s->across : s->along, l.step = by_k ? s->along : s->across;
  l.pitch_to = fc_round_up(l.length, WHOLE);
  l.count = fc_gemm_is_readable(s, type) ? 0 : by_k ? s->limit : k;
  l.bytes = (size_t)(l.count * l.pitch_to * size_of(type));
  return l;
}

/* Whether copying pays: in small products each element is used too few times. */
#define LARGE 128

fc_gemm_padding fc_gemm_padding_of(const fc_gemm *g) {
  fc_gemm_padding p = {0};
  if (g->alpha == 0 || g->m < LARGE || g->n < LARGE || g->k < LARGE) return p;
  fc_gemm_side a, b;
  fc_gemm_sides(g, &a, &b);
  p.a = lines_of(&a, g->type, g->k, 0);
  p.b = lines_of(&b, g->type, g->k, p.a.bytes);
  return p;
}

size_t fc_gemm_padded_scratch(const fc_gemm *g) {
  const fc_gemm_padding p = fc_gemm_padding_of(g);
  return p.a.bytes + p.b.bytes;
}

fc_gemm_parts fc_gemm_parts_of(const fc_gemm *by_rows) {
  fc_gemm_parts p = {0};
  fc_gemm_sides(by_rows, &p.a, &p.b);
  p.pitch = fc_round_up(by_rows->k, FC_GEMM_PARTS_SLICE);
  p.packs_a = p.a.along != 1 || !fc_gemm_is_readable(&p.a, by_rows->type);
  const size_t row = (size_t)p.pitch * sizeof(float); /* whole lines of 128 bytes */
  p.big = p.packs_a ? row * (size_t)p.a.limit : 0;
  p.small = p.big + row * (size_t)p.b.limit;
  p.bytes = p.small + row * (size_t)p.b.limit;
  return p;
}

/* Either of the two may be split, and the other be copied. */
size_t fc_gemm_split_scratch(const fc_gemm *g) {
  return (size_t)(fc_round_up(g->k, FC_GEMM_PARTS_SLICE) * (g->m + g->n + fc_larger(g->m, g->n))) *
         sizeof(float);
}

/* Lines of a copy may run in either direction. */
size_t fc_gemm_work_most(int type, int64_t m, int64_t n, int64_t k, int split) {
  const fc_gemm g = {.type = type, .m = m, .n = n, .k = k};
  const int64_t rows = fc_round_up(m, WHOLE) + fc_round_up(n, WHOLE);
  const size_t padded =
      m < LARGE || n < LARGE || k < LARGE ? 0 : (size_t)(rows * fc_round_up(k, WHOLE) * size_of(type));
  const size_t parts = split ? fc_gemm_split_scratch(&g) : 0;
  return padded > parts ? padded : parts;
}
