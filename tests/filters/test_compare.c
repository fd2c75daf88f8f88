/* SPDX-License-Identifier: MIT */
/*
 * test_compare.c - differences and SSIM against SciPy's; on random views of every type, layout and size each
 * instruction set against the reference, and the same blocks to the bit where the view is cut at them.
 */
#include "filters/stats/compare.h"
#include "tests/filters/golden.h"
#include "tests/filters/views.h"

enum { MOST_BLOCKS = 64, MOST_CHANNELS = 4 };

static int64_t blocks_of(const fc_view *v) {
  const int64_t align = fc_compare_align(v->kind),
                along = v->shape[v->kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_Y];
  return (along + align - 1) / align;
}

static guarded blocks_new(const fc_view *v) {
  const int64_t frame = blocks_of(v) * (int64_t)fc_compare_block_bytes(v->shape[FC_AXIS_C]);
  return guarded_new((size_t)(frame * v->shape[FC_AXIS_N]));
}

static void run(const fc_compare *c, const fc_view *a, const fc_view *b, void *to, int64_t frame_bytes) {
  guarded scratch = guarded_new(fc_compare_scratch());
  CHECK(fc_compare_cpu(c, a, b, to, frame_bytes, scratch.data) == FC_OK, "it fails");
  CHECK(guarded_intact(&scratch), "wrote beyond its scratch");
  guarded_free(&scratch);
}

/* All blocks of a channel together. */
static fc_compare_part total_of(const guarded *blocks, const fc_view *v, int64_t channel) {
  const uint64_t bytes = fc_compare_block_bytes(v->shape[FC_AXIS_C]);
  fc_compare_part sum = {0};
  for (uint64_t i = 0; i < blocks->bytes / bytes; i++) {
    fc_compare_part part;
    memcpy(&part, (char *)blocks->data + i * bytes + sizeof(fc_compare_block) + (size_t)channel * sizeof part,
           sizeof part);
    fc_compare_add(&sum, &part);
  }
  return sum;
}

static void check_golden(const char *path, int k) {
  char name[32];
  snprintf(name, sizeof name, "size_%d", k);
  golden size = golden_read(path, name);
  snprintf(name, sizeof name, "a_%d", k);
  golden a = golden_read(path, name);
  snprintf(name, sizeof name, "b_%d", k);
  golden b = golden_read(path, name);
  snprintf(name, sizeof name, "result_%d", k);
  golden want = golden_read(path, name);
  const int64_t shape[FC_AXES] = {1, (int64_t)size.values[0], (int64_t)size.values[1], 1};
  signal x = signal_new(FC_IMAGE, FC_U16, shape, LAYOUT_PADDED, FC_AXIS_X, 0, 0);
  signal y = signal_new(FC_IMAGE, FC_F64, shape, LAYOUT_INTERLEAVED, FC_AXIS_X, 0, 0);
  int64_t at[FC_AXES], i = 0;
  FOR_EACH(&x.view, at) view_set(&x.view, at, a.values[i]), view_set(&y.view, at, b.values[i]), i++;
  fc_compare c = fc_compare_of(size.values[2]);
  for (int version = 0; version < 2; version++) {
    guarded blocks = blocks_new(&x.view);
    if (version == 0)
      fc_compare_ref(&c, &x.view, &y.view, blocks.data, (int64_t)blocks.bytes);
    else
      run(&c, &x.view, &y.view, blocks.data, (int64_t)blocks.bytes);
    fc_compare_part p = total_of(&blocks, &x.view, 0);
    CHECK(p.count == (uint64_t)a.count && p.bad == 0, "%s: %" PRIu64 " pairs", name, p.count);
    CHECK(p.largest == want.values[0], "%s: a largest difference of %g", name, p.largest);
    double mse = p.squares / (double)p.count, ssim = p.similarity / (double)p.windows;
    CHECK(fabs(mse - want.values[1]) <= 1e-12 * want.values[1], "%s: MSE %.15g, not %.15g", name, mse,
          want.values[1]);
    CHECK(fabs(ssim - want.values[2]) <= 1e-10, "%s: SSIM %.15g, not %.15g", name, ssim, want.values[2]);
    guarded_free(&blocks);
  }
  signal_free(&x), signal_free(&y);
  golden_free(&size), golden_free(&a), golden_free(&b), golden_free(&want);
}

static int near(double a, double b) {
  return fabs(a - b) <= 1e-9 * fmax(fabs(a), fabs(b)) + 1e-300;
}

static void check_parts(const char *who, const fc_compare_part *got, const fc_compare_part *want) {
  CHECK(got->count == want->count && got->bad == want->bad, "%s: other counts", who);
  CHECK(got->largest == want->largest, "%s: a largest difference of %g, not %g", who, got->largest,
        want->largest);
  CHECK(near(got->squares, want->squares) && near(got->signal, want->signal), "%s: other squares", who);
  CHECK(got->windows == want->windows, "%s: %" PRIu64 " windows, not %" PRIu64, who, got->windows,
        want->windows);
  CHECK(fabs(got->similarity - want->similarity) <= 1e-7 * (1 + (double)want->windows), "%s: SSIM %g, not %g",
        who, got->similarity, want->similarity);
}

/* Cut at a block, with what is above and below still there to be read. */
static void run_cut(const fc_compare *c, const fc_view *a, const fc_view *b, const guarded *blocks) {
  const int axis = a->kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_Y;
  const int64_t align = fc_compare_align(a->kind), all = blocks_of(a);
  const int64_t bytes = (int64_t)fc_compare_block_bytes(a->shape[FC_AXIS_C]);
  for (int64_t i = 0, count; i < all; i += count) {
    count = random_int(1, all - i);
    const int64_t end = (i + count) * align < a->shape[axis] ? (i + count) * align : a->shape[axis];
    fc_view x = view_cut(a, axis, i * align, end - i * align),
            y = view_cut(b, axis, i * align, end - i * align);
    run(c, &x, &y, (char *)blocks->data + i * bytes, all * bytes);
  }
}

static void check_trial(void) {
  static const int64_t lengths[] = {1, 2, 10, 11, 12, 33, 265, 300};
  int kind = (int)random_int(0, FC_KIND_COUNT - 1), sound = kind == FC_AUDIO;
  const int64_t shape[FC_AXES] = {sound ? 1 : random_int(1, 2), sound ? 1 : lengths[random_int(0, 5)],
                                  sound ? random_int(0, 9000) : lengths[random_int(0, 7)],
                                  random_int(1, MOST_CHANNELS)};
  signal a = signal_new(kind, (int)random_int(0, FC_DTYPE_COUNT - 1), shape,
                        (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  signal b = signal_new(kind, (int)random_int(0, FC_DTYPE_COUNT - 1), shape,
                        (int)random_int(0, LAYOUT_COUNT - 1), FC_AXIS_X, 0, 0);
  signal_fill(&a, 0), signal_fill(&b, 0);
  int64_t odd[FC_AXES] = {0, 0, 0, 0};
  if (fc_dtype_is_float(b.view.dtype) && fc_view_count(&b.view) > 0 && random_int(0, 1))
    view_set(&b.view, odd, random_int(0, 1) ? NAN : INFINITY);
  fc_compare c = fc_compare_of(random_int(0, 3) ? 255 : 1);
  guarded want = blocks_new(&a.view);
  const int64_t frame = (int64_t)want.bytes / shape[FC_AXIS_N];
  CHECK(fc_compare_ref(&c, &a.view, &b.view, want.data, frame) == FC_OK, "the reference fails");
  guarded first = {NULL, 0, NULL};
  for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++) {
    guarded whole = blocks_new(&a.view), cut = blocks_new(&a.view);
    c.isa = (fc_isa)isa;
    run(&c, &a.view, &b.view, whole.data, frame);
    run_cut(&c, &a.view, &b.view, &cut);
    CHECK(memcmp(whole.data, cut.data, whole.bytes) == 0, "%s: other blocks when cut", fc_isa_name(c.isa));
    for (int64_t channel = 0; channel < shape[FC_AXIS_C]; channel++) {
      fc_compare_part w = total_of(&want, &a.view, channel), g = total_of(&whole, &a.view, channel);
      check_parts(fc_isa_name(c.isa), &g, &w);
    }
    CHECK(guarded_intact(&whole) && guarded_intact(&cut), "wrote beyond the blocks");
    if (first.base)
      CHECK(memcmp(first.data, whole.data, first.bytes) == 0, "other bits by %s", fc_isa_name(c.isa));
    guarded_free(&cut);
    if (first.base)
      guarded_free(&whole);
    else
      first = whole;
  }
  guarded_free(&first), guarded_free(&want);
  signal_free(&a), signal_free(&b);
}

int main(int argc, char **argv) {
  if (argc != 2) return 2;
  random_start(20261124);
  for (int k = 0; k < 4; k++) check_golden(argv[1], k);
  for (int i = 0; i < 150; i++)
    if (!trial_skipped()) check_trial();
  return check_result();
}
