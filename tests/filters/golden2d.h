/* SPDX-License-Identifier: MIT */
/*
 * golden2d.h - the goldens of tests/goldens/make_conv2d.py: an image with the border that the
 * host would make, filtered in either compute type and two layouts.
 */
#ifndef FC_TESTS_GOLDEN2D_H
#define FC_TESTS_GOLDEN2D_H

#include "tests/filters/filters2d.h"
#include "tests/filters/golden.h"

#define GOLDEN2D_H     9
#define GOLDEN2D_W     7
#define GOLDEN2D_C     2
#define GOLDEN2D_VALUE 0.625

static const char *const golden2d_borders[] = {"zero",    "constant",   "replicate",
                                               "reflect", "reflect101", "wrap"};

/* Index i of a signal of n elements beyond its ends; -1 where a constant lies. */
static inline int64_t golden2d_index(int64_t i, int64_t n, int border) {
  int64_t m;
  switch (border) {
  case 2: return i < 0 ? 0 : i >= n ? n - 1 : i;
  case 3: m = ((i % (2 * n)) + 2 * n) % (2 * n); return m < n ? m : 2 * n - 1 - m;
  case 4: m = ((i % (2 * n - 2)) + 2 * n - 2) % (2 * n - 2); return m < n ? m : 2 * n - 2 - m;
  case 5: return (i % n + n) % n;
  default: return i >= 0 && i < n ? i : -1;
  }
}

typedef struct golden2d_border {
  const golden *image;
  int border;
} golden2d_border;

static inline double golden2d_value(int64_t n, int64_t y, int64_t x, int64_t c, void *data) {
  const golden2d_border *b = (const golden2d_border *)data;
  int64_t j = golden2d_index(y, GOLDEN2D_H, b->border), i = golden2d_index(x, GOLDEN2D_W, b->border);
  (void)n;
  if (j < 0 || i < 0) return b->border == 1 ? GOLDEN2D_VALUE : 0;
  return b->image->values[(j * GOLDEN2D_W + i) * GOLDEN2D_C + c];
}

static inline void golden2d_run(const filter2d *f, int compute, image_border border, golden2d_border *b,
                                const golden *want, const char *name) {
  static const int64_t shape[FC_AXES] = {1, GOLDEN2D_H, GOLDEN2D_W, GOLDEN2D_C};
  for (int layout = INTERLEAVED; layout <= PLANAR; layout++) {
    image in = image_new(compute, shape, (image_layout)layout, border);
    image out = image_new(FC_F64, shape, INTERLEAVED, (image_border){0});
    image_fill(&in, border, golden2d_value, b);
    filter2d_run(f, &in, &out);
    double off = golden_distance((const double *)out.view.data, want);
    CHECK(want->count == GOLDEN2D_H * GOLDEN2D_W * GOLDEN2D_C && off <= (compute == FC_F64 ? 1e-14 : 1e-6),
          "%s in %s, layout %d: off by %g", name, fc_dtype_name(compute), layout, off);
    image_free(&in);
    image_free(&out);
  }
}

/* Taps of the compute type in order of reading; free. */
static inline void *golden2d_taps(const golden *mask, int compute, int flip) {
  void *taps = malloc((size_t)mask->count * sizeof(double));
  if (!taps) abort();
  for (int64_t i = 0; i < mask->count; i++)
    element_set((char *)taps + i * (int64_t)fc_dtype_size(compute), compute,
                mask->values[flip ? mask->count - 1 - i : i]);
  return taps;
}

/* Every border and, for the mask called "even", both directions: calls `make` for a
 * filter of the mask; its ny and nx are in .sep. */
static inline void golden2d_check(const char *path, const char *mask,
                                  filter2d (*make)(const char *path, const char *mask, int compute,
                                                   int flip)) {
  golden picture = golden_read(path, "image");
  for (int border = 0; border < 6; border++)
    for (int flip = 1; flip >= (strcmp(mask, "even") ? 1 : 0); flip--)
      for (int compute = FC_F32; compute <= FC_F64; compute++) {
        char name[64];
        snprintf(name, sizeof name, "%s_%s_%s", mask, golden2d_borders[border], flip ? "yes" : "no");
        golden want = golden_read(path, name);
        filter2d f = make(path, mask, compute, flip);
        golden2d_border b = {&picture, border};
        golden2d_run(&f, compute, border_of(f.sep.ny, f.sep.nx), &b, &want, name);
        filter2d_free(&f);
        golden_free(&want);
      }
  golden_free(&picture);
}

#endif
