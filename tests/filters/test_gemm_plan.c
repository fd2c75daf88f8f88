/* SPDX-License-Identifier: MIT */
/*
 * test_gemm_plan.c - what gemm.cu decides before it launches anything, without a GPU: which kernel and which
 * tile take which product on which chip; that what is asked as scratch memory for products of any strides
 * holds the copies that each makes.
 */
#include "filters/gemm/gemm_tiles.h"
#include "tests/filters/check.h"

static const fc_gemm_chip h200 = {9, 132}, a100 = {8, 108}, t4 = {7, 40}, none = {0, 1};

/* By rows, dense, at aligned addresses; `by_k`: B by columns. */
static fc_gemm product_of(int type, int64_t m, int64_t n, int64_t k, int by_k) {
  fc_gemm g = {
      .type = type, .m = m, .n = n, .k = k, .alpha = 1, .a_row = k, .a_col = 1, .c_row = n, .c_col = 1};
  g.b_row = by_k ? 1 : n, g.b_col = by_k ? k : 1;
  g.a = (void *)(uintptr_t)4096, g.b = (void *)(uintptr_t)8192, g.c = (void *)(uintptr_t)16384;
  return fc_gemm_by_rows(&g);
}

typedef struct row {
  const fc_gemm_chip *chip;
  int type;
  int64_t m, n, k;
  fc_gemm_launch want;
  int tile_rows, tile_columns, transposed; /* of FC_GEMM_TMA */
} row;

/* The table of filters/README.md, and tiles as they were measured to be best. */
static const row table[] = {
    {&h200, FC_F32, 16, 50000, 16, FC_GEMM_THIN, 0, 0, 0},
    {&h200, FC_F32, 50000, 3, 3, FC_GEMM_THIN, 0, 0, 0},
    {&h200, FC_F64, 8, 50000, 8, FC_GEMM_THIN, 0, 0, 0},
    {&h200, FC_F64, 9, 50000, 8, FC_GEMM_SHORT, 0, 0, 0},
    {&h200, FC_F32, 17, 50000, 16, FC_GEMM_SHORT, 0, 0, 0},
    {&h200, FC_F32, 20000, 20000, 16, FC_GEMM_SHORT, 0, 0, 0},
    {&h200, FC_F64, 5, 50000, 12, FC_GEMM_TMA, 16, 32, 0},
    {&h200, FC_F32, 8192, 8192, 8192, FC_GEMM_TMA, 128, 128, 0},
    {&h200, FC_F64, 8192, 8192, 8192, FC_GEMM_TMA, 128, 128, 0},
    {&h200, FC_F32, 64, 1048576, 64, FC_GEMM_TMA, 64, 128, 0},
    {&h200, FC_F64, 1024, 1024, 1024, FC_GEMM_TMA, 64, 128, 0},
    {&h200, FC_F32, 512, 4, 400, FC_GEMM_TMA, 16, 32, 1},
    {&h200, FC_F64, 4, 512, 400, FC_GEMM_TMA, 16, 32, 0},
    {&h200, FC_F32, 100, 99, 101, FC_GEMM_MMA, 0, 0, 0}, /* lines that are not aligned */
    {&h200, FC_F64, 100, 99, 101, FC_GEMM_MMA, 0, 0, 0},
    {&h200, FC_F32, 16, 99, 101, FC_GEMM_TILE, 0, 0, 0},
    {&h200, FC_F32, 100, 100, 0, FC_GEMM_TILE, 0, 0, 0},
    {&a100, FC_F64, 1024, 1024, 1024, FC_GEMM_MMA, 0, 0, 0},
    {&a100, FC_F32, 1024, 1024, 1024, FC_GEMM_TILE, 0, 0, 0},
    {&t4, FC_F64, 1024, 1024, 1024, FC_GEMM_TILE, 0, 0, 0},
    {&t4, FC_F32, 3, 1024, 3, FC_GEMM_THIN, 0, 0, 0},
    {&none, FC_F32, 1024, 1024, 1024, FC_GEMM_TILE, 0, 0, 0},
};

static void check_choices(void) {
  for (size_t i = 0; i < sizeof table / sizeof *table; i++) {
    const row *r = &table[i];
    for (int by_k = 0; by_k < 2; by_k++) {
      const fc_gemm g = product_of(r->type, r->m, r->n, r->k, by_k);
      fc_gemm_choice c = fc_gemm_choose(&g, r->chip, FC_GEMM_THIN);
      /* Operands that are both adjacent along k have the general kernel. */
      const fc_gemm_launch want = by_k && r->want >= FC_GEMM_TMA ? FC_GEMM_TILE : r->want;
      CHECK(c.launch == want, "row %d: %d, not %d", (int)i, (int)c.launch, (int)want);
      CHECK(c.us >= 0 && (c.us > 0 || r->k == 0), "row %d: %g us", (int)i, c.us);
      if (c.launch == FC_GEMM_TMA) {
        const fc_gemm_tile *t = &(r->type == FC_F64 ? fc_gemm_tiles_f64 : fc_gemm_tiles_f32)[c.tile];
        CHECK(t->rows == r->tile_rows && t->columns == r->tile_columns, "row %d: tiles of %d x %d", (int)i,
              t->rows, t->columns);
        CHECK(c.transposed == r->transposed, "row %d: transposed", (int)i);
      }
      /* Every product has a kernel, whichever are missing. */
      while (c.launch < FC_GEMM_TILE) {
        const fc_gemm_launch before = c.launch;
        c = fc_gemm_choose(&g, r->chip, (fc_gemm_launch)(before + 1));
        CHECK(c.launch > before, "row %d: the same once more", (int)i);
      }
    }
  }
}

/* Of C by columns the transpose is computed, which has the same kernel. */
static void check_by_rows(void) {
  fc_gemm g = product_of(FC_F32, 64, 4096, 64, 0);
  g.c_row = 1, g.c_col = 64, g.d = (void *)(uintptr_t)64, g.d_row = 1, g.d_col = 0;
  const fc_gemm t = fc_gemm_by_rows(&g);
  CHECK(t.m == 4096 && t.n == 64 && t.c_row == 64 && t.c_col == 1, "C");
  CHECK(t.d_row == 0 && t.d_col == 1 && t.a == g.b && t.b == g.a, "D");
  CHECK(fc_gemm_choose(&t, &h200, FC_GEMM_THIN).launch == FC_GEMM_TMA, "kernel");
}

static void check_scratch(void) {
  const int type = (int)random_int(FC_F32, FC_F64);
  const int64_t m = random_int(1, 700), n = random_int(1, 700), k = random_int(1, 700),
                size = (int64_t)fc_dtype_size(type);
  const int64_t step = random_int(0, 5) == 0 ? 2 : 1, gap = random_int(0, 5);
  fc_gemm g = product_of(type, m, n, k, 0);
  g.a_row = random_int(0, 1) ? step * k + gap : step, g.a_col = g.a_row == step ? step * m + gap : step;
  g.b_row = random_int(0, 1) ? step * n + gap : step, g.b_col = g.b_row == step ? step * k + gap : step;
  g.a = (const char *)g.a + random_int(0, 3) * size, g.b = (const char *)g.b + random_int(0, 3) * size;
  const size_t most = fc_gemm_work_most(type, m, n, k, 1);
  CHECK(fc_gemm_padded_scratch(&g) <= fc_gemm_work_most(type, m, n, k, 0), "copies");
  const fc_gemm_padding p = fc_gemm_padding_of(&g);
  CHECK(p.a.bytes % 128 == 0 && p.b.at == p.a.bytes, "the copies are adjacent and aligned");
  CHECK(fc_gemm_parts_of(&g).bytes <= fc_gemm_split_scratch(&g) && fc_gemm_split_scratch(&g) <= most,
        "parts");
  CHECK(most <=
            fc_gemm_work_most(type, m + random_int(0, 40), n + random_int(0, 40), k + random_int(0, 40), 1),
        "less for more");
  /* What is asked for before there are matrices. */
  const fc_gemm sizes = {.type = type, .m = m, .n = n, .k = k};
  CHECK(fc_gemm_split_scratch(&sizes) == fc_gemm_split_scratch(&g), "depends on more than sizes");
}

int main(void) {
  random_start(12);
  check_choices();
  check_by_rows();
  for (int trial = 0; trial < 20000; trial++) check_scratch();
  return check_result();
}
