/* SPDX-License-Identifier: MIT */
/*
 * test_stats.c - statistics of whole signals against the definition in 113 bits
 * (128-bit integers for integer input): exact for integers, within the bound of pairwise summation for
 * floats; the same bits for every instruction set, cut and layout; NaN and infinity; offset;
 * merging; decimals; goldens of exact rational arithmetic.
 */
#include "tests/filters/stats_check.h"

/* ---- running ---------------------------------------------------------------- */

/* Blocks of one view, in guarded memory. */
static guarded run(const fc_view *v, int64_t align, int isa) {
  int64_t channels = v->shape[FC_AXIS_C],
          frame = block_count(v, align) * (int64_t)fc_stats_block_bytes(channels);
  guarded blocks = guarded_new((size_t)(frame * v->shape[FC_AXIS_N]));
  if (isa < 0)
    CHECK(fc_stats_ref(v, align, blocks.data, frame) == FC_OK, "ref");
  else {
    guarded scratch = guarded_new(fc_stats_cpu_scratch(v));
    CHECK(fc_stats_cpu(v, align, blocks.data, frame, scratch.data, (fc_isa)isa) == FC_OK, "cpu");
    CHECK(guarded_intact(&scratch), "the scratch was overrun");
    guarded_free(&scratch);
  }
  CHECK(guarded_intact(&blocks), "the blocks were overrun");
  return blocks;
}

static int same_bytes(const guarded *a, const guarded *b) {
  return a->bytes == b->bytes && !memcmp(a->data, b->data, a->bytes);
}

/* Cuts the view between blocks and measures the pieces from last to first. */
static guarded run_cut(const fc_view *v, int64_t align, int isa) {
  const int along = v->kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_Y;
  int64_t count = block_count(v, align), size = (int64_t)fc_stats_block_bytes(v->shape[FC_AXIS_C]);
  guarded blocks = guarded_new((size_t)(count * size * v->shape[FC_AXIS_N]));
  guarded scratch = guarded_new(fc_stats_cpu_scratch(v));
  for (int64_t hi = count, lo; hi > 0; hi = lo) {
    lo = random_int(0, hi - 1);
    int64_t end = hi * align < v->shape[along] ? hi * align : v->shape[along];
    fc_view part = view_cut(v, along, lo * align, end - lo * align);
    fc_stats_cpu(&part, align, (char *)blocks.data + lo * size, count * size, scratch.data, (fc_isa)isa);
  }
  CHECK(guarded_intact(&blocks) && guarded_intact(&scratch), "guard bands");
  guarded_free(&scratch);
  return blocks;
}

static void check_view(const fc_view *v, int64_t align) {
  int64_t channels = v->shape[FC_AXIS_C], count = block_count(v, align) * v->shape[FC_AXIS_N];
  guarded ref = run(v, align, -1), base = run(v, align, 0);
  char who[100];
  for (int64_t c = 0; c < channels; c++) {
    truth t = truth_of(v, c);
    fc_stats_part a = merge_blocks(ref.data, count, channels, c),
                  b = merge_blocks(base.data, count, channels, c);
    snprintf(who, sizeof who, "%s kind %d %dx%dx%dx%d channel %d", fc_dtype_name(v->dtype), v->kind,
             (int)v->shape[0], (int)v->shape[1], (int)v->shape[2], (int)channels, (int)c);
    check_part(&b, &t, v->kind, v->dtype, who);
    /* The reference adds in a row: its own bound is not the one promised. */
    CHECK(a.finite == b.finite && a.nan == b.nan && a.inf == b.inf && a.least == b.least &&
              a.most == b.most && a.sum_low == b.sum_low && a.sum_high == b.sum_high &&
              a.squares_low == b.squares_low && fabs(a.sum - b.sum) <= 1e-12 * (double)t.size &&
              fabs(a.squares - b.squares) <= 1e-12 * b.squares,
          "%s: reference", who);
  }
  for (int isa = 0; isa <= (int)fc_isa_best(); isa++) {
    guarded whole = run(v, align, isa), cut = run_cut(v, align, isa);
    CHECK(same_bytes(&whole, &base), "%s: %s differs from base", who, fc_isa_name((fc_isa)isa));
    CHECK(same_bytes(&cut, &base), "%s: %s cut differs", who, fc_isa_name((fc_isa)isa));
    guarded_free(&whole), guarded_free(&cut);
  }
  guarded_free(&ref), guarded_free(&base);
}

static void test_random(void) {
  static const int64_t aligns[] = {1, 3, 64, 1024, 2048, 3000, 16384};
  for (int i = 0; i < 400; i++) {
    signal s = random_signal(i % 3);
    check_view(&s.view, s.view.kind == FC_AUDIO ? PICK(aligns) : random_int(1, 20));
    signal_free(&s);
  }
}

/* The same samples give the same bits however they lie in memory. */
static void test_layouts(void) {
  for (int dtype = 0; dtype < FC_DTYPE_COUNT; dtype++) {
    const int64_t shape[4] = {1, 9, 321, 3};
    guarded first = {0};
    uint64_t seed = random_bits();
    for (int l = 0; l < LAYOUT_COUNT; l++) {
      signal s = signal_new(FC_IMAGE, dtype, shape, l, FC_AXIS_X, 0, 0);
      random_state = seed;
      fill_sort(&s, 0);
      guarded blocks = run(&s.view, 4, (int)fc_isa_best());
      if (l > 0) CHECK(same_bytes(&blocks, &first), "%s %s", fc_dtype_name(dtype), layout_name(l));
      if (l == 0)
        first = blocks;
      else
        guarded_free(&blocks);
      signal_free(&s);
    }
    guarded_free(&first);
  }
}

/* A million samples of a million plus noise: the variance of the noise, to ten digits. */
static void test_offset(void) {
  const int64_t shape[4] = {1, 1, 1000000, 1};
  signal s = signal_new(FC_AUDIO, FC_F64, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  fill_sort(&s, 1);
  truth t = truth_of(&s.view, 0);
  guarded blocks = run(&s.view, 16384, (int)fc_isa_best());
  fc_stats_part p = merge_blocks(blocks.data, block_count(&s.view, 16384), 1, 0);
  double var = fc_stats_results(&p, FC_AUDIO, FC_F64).var, want = (double)(t.spread / t.finite);
  CHECK(fabs(var - want) <= 1e-10 * want, "%.17g, want %.17g", var, want);
  check_part(&p, &t, FC_AUDIO, FC_F64, "offset");
  guarded_free(&blocks), signal_free(&s);
}

/* ---- merging ------------------------------------------------------------------ */

static fc_stats_part part_of_code(int32_t v) {
  fc_stats_part p = fc_stats_none();
  p.finite = 1, p.least = p.most = v;
  p.sum_low = (uint64_t)(int64_t)v, p.sum_high = v < 0 ? UINT64_MAX : 0;
  p.squares_low = (uint64_t)((int64_t)v * v);
  return p;
}

static void test_tree(void) {
  fc_stats_tree tree = {0};
  int64_t sum = 0;
  for (int n = 0; n < 300; n++) {
    fc_stats_part p = fc_stats_total(&tree);
    CHECK(p.finite == (uint64_t)n && (int64_t)p.sum_low == sum && p.sum_high == (sum < 0 ? UINT64_MAX : 0),
          "after %d parts", n);
    fc_stats_part next = part_of_code(n % 2 ? n : -3 * n);
    sum += n % 2 ? n : -3 * n;
    fc_stats_push(&tree, &next);
  }
}

/* Doubling a part 60 times: sums of more than 64 bits, and their decimals. */
static void test_decimals(void) {
  char text[FC_STATS_DIGITS];
  fc_stats_part p = part_of_code(INT32_MIN);
  for (int i = 0; i < 60; i++) p = fc_stats_merge(&p, &p);
  fc_stats_exact_sum(&p, text);
  CHECK(!strcmp(text, "-2475880078570760549798248448"), "-2^91 is %s", text);
  fc_stats_exact_squares(&p, text);
  CHECK(!strcmp(text, "5316911983139663491615228241121378304"), "2^122 is %s", text);
  fc_stats_result r = fc_stats_results(&p, FC_ARRAY, FC_I32);
  CHECK(r.mean == -2147483648.0 && r.var == 0, "2^60 times the same: mean %g, var %g", r.mean, r.var);
  p = fc_stats_none();
  fc_stats_exact_sum(&p, text);
  CHECK(!strcmp(text, "0"), "0 is %s", text);
}

/* Neighbouring integers: where the mean lies close to one of them, nothing cancels. */
static void test_close(void) {
  fc_stats_part p = part_of_code(2000000000), one = part_of_code(2000000001);
  for (int i = 0; i < 40; i++) p = fc_stats_merge(&p, &p);
  p = fc_stats_merge(&p, &one);
  double n = ldexp(1, 40) + 1, want = (1 - 1 / n) / n, got = fc_stats_results(&p, FC_ARRAY, FC_I32).var;
  CHECK(fabs(got - want) <= 1e-15 * want, "%.17g, want %.17g", got, want);
}

static void test_align(void) {
  CHECK(fc_stats_align(FC_AUDIO, 5, 2) == 16384 && fc_stats_align(FC_IMAGE, 100000, 3) == 1 &&
            fc_stats_align(FC_IMAGE, 0, 1) == 1 && fc_stats_align(FC_ARRAY, 1000, 1) == 16,
        "sizes of blocks");
  CHECK(fc_stats_align(FC_AUDIO, 5, 16) == 16384 && fc_stats_align(FC_AUDIO, 5, 64) == 4096 &&
            fc_stats_align(FC_AUDIO, 5, 8208) == 1024 && fc_stats_align(FC_ARRAY, 11, 8208) == 93,
        "sizes of blocks of many channels");
}

/* ---- goldens: see tests/goldens/make_stats.py --------------------------------- */

#define GOLDEN_MAX 2048

static int dtype_named(const char *name) {
  for (int d = 0; d < FC_DTYPE_COUNT; d++)
    if (!strcmp(fc_dtype_name(d), name)) return d;
  return -1;
}

static void check_golden(const fc_view *v, FILE *file, int count) {
  char sum[64], squares[64], text[FC_STATS_DIGITS];
  double mean, var, least, most;
  int fields = fscanf(file, " sum %63s squares %63s mean %lf var %lf min %lf max %lf", sum, squares, &mean,
                      &var, &least, &most);
  CHECK(fields == 6, "%d fields", fields);
  guarded blocks = run(v, 1024, (int)fc_isa_best());
  fc_stats_part p = merge_blocks(blocks.data, block_count(v, 1024), 1, 0);
  fc_stats_result r = fc_stats_results(&p, FC_ARRAY, v->dtype);
  const char *who = fc_dtype_name(v->dtype);
  if (fc_dtype_is_float(v->dtype)) {
    CHECK(fabs(r.sum - atof(sum)) <= 4e-15 * fabs(atof(sum)), "%s %d: sum", who, count);
    CHECK(fabs(r.squares - atof(squares)) <= 4e-15 * atof(squares), "%s %d: squares", who, count);
    CHECK(fabs(r.var - var) <= 1e-9 * var, "%s %d: var %.17g, want %.17g", who, count, r.var, var);
  } else {
    fc_stats_exact_sum(&p, text);
    CHECK(!strcmp(text, sum), "%s %d: sum %s, want %s", who, count, text, sum);
    fc_stats_exact_squares(&p, text);
    CHECK(!strcmp(text, squares), "%s %d: squares %s, want %s", who, count, text, squares);
    CHECK(fabs(r.var - var) <= 1e-15 * var, "%s %d: var %.17g, want %.17g", who, count, r.var, var);
  }
  CHECK(fabs(r.mean - mean) <= 4e-15 * fabs(mean), "%s %d: mean", who, count);
  CHECK(r.least == least && r.most == most, "%s %d: extremes", who, count);
  guarded_free(&blocks);
}

static void test_goldens(const char *path) {
  char name[8];
  int count, cases = 0;
  FILE *file = fopen(path, "r");
  CHECK(file && fscanf(file, "# %*[^\n]") == 0, "cannot read %s", path);
  while (file && fscanf(file, " signal %7s %d", name, &count) == 2 && count <= GOLDEN_MAX &&
         dtype_named(name) >= 0) {
    /* Down a column, so that rows are short and a chunk spans many. */
    const int64_t shape[4] = {1, count, 1, 1};
    signal s = signal_new(FC_ARRAY, dtype_named(name), shape, LAYOUT_PADDED, FC_AXIS_X, 0, 0);
    double v = 0;
    for (int64_t i = 0; i < count; i++) {
      CHECK(fscanf(file, "%lf", &v) == 1, "sample %d", (int)i);
      element_set(fc_view_at(&s.view, 0, i, 0, 0), s.view.dtype, v);
    }
    check_golden(&s.view, file, count);
    signal_free(&s);
    cases++;
  }
  CHECK(cases == 36, "%s: %d cases", path, cases);
  if (file) fclose(file);
}

int main(int argc, char **argv) {
  random_start(20261123);
  test_align();
  test_tree();
  test_decimals();
  test_close();
  test_layouts();
  test_offset();
  test_random();
  CHECK(argc == 2, "usage: test_stats stats.txt");
  if (argc == 2) test_goldens(argv[1]);
  return check_result();
}
