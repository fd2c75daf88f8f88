/* SPDX-License-Identifier: MIT */
/*
 * filters2d.h - what is tested of sepconv and conv2d alike, for each as a struct of
 * functions: against the reference in every type, layout and shape; cut anywhere, bit
 * for bit; one instruction set against another.
 */
#ifndef FC_TESTS_FILTERS2D_H
#define FC_TESTS_FILTERS2D_H

#include "filters/filter2d/conv2d.h"
#include "filters/base/samples.h"
#include "filters/filter2d/sepconv.h"
#include "tests/filters/images.h"

/* A filter with a random mask; one of the two, by `dense`. */
typedef struct filter2d {
  int dense;
  fc_sepconv sep;
  fc_conv2d conv;
  double magnitude; /* sum of |mask| */
  void *taps;
} filter2d;

static inline void *taps_random(int compute, int64_t count) {
  void *taps = malloc((size_t)(count + 1) * fc_dtype_size(compute));
  if (!taps) abort();
  for (int64_t i = 0; i < count; i++)
    element_set((char *)taps + i * (int64_t)fc_dtype_size(compute), compute, random_real());
  return taps;
}

static inline double taps_magnitude(const void *taps, int compute, int64_t count) {
  double sum = 0;
  for (int64_t i = 0; i < count; i++)
    sum += fabs(element_get((const char *)taps + i * (int64_t)fc_dtype_size(compute), compute));
  return sum;
}

static inline filter2d filter2d_new(int dense, int compute, int rank, int64_t ny, int64_t nx) {
  filter2d f = {.dense = dense};
  int32_t isa = fc_isa_best();
  int64_t size = (int64_t)fc_dtype_size(compute);
  if (dense) {
    f.taps = taps_random(compute, nx * ny);
    f.magnitude = taps_magnitude(f.taps, compute, nx * ny);
    f.conv = (fc_conv2d){compute, isa, nx, ny, f.taps, NULL};
    return f;
  }
  char *x = f.taps = taps_random(compute, rank * (nx + ny)), *y = x + rank * nx * size;
  for (int t = 0; t < rank; t++)
    f.magnitude +=
        taps_magnitude(x + t * nx * size, compute, nx) * taps_magnitude(y + t * ny * size, compute, ny);
  f.sep = (fc_sepconv){compute, isa, rank, nx, ny, x, y, NULL, NULL};
  return f;
}

static inline void filter2d_free(filter2d *f) {
  free(f->taps);
}

static inline void filter2d_reference(const filter2d *f, const fc_view *in, const fc_view *out) {
  CHECK((f->dense ? fc_conv2d_ref(&f->conv, in, out, NULL) : fc_sepconv_ref(&f->sep, in, out, NULL)) == FC_OK,
        "reference");
}

/* Runs the CPU version with scratch of exactly the size asked for, between guards. */
static inline void filter2d_run_cpu(const filter2d *f, const image *in, const image *out) {
  guarded scratch = guarded_new(f->dense ? fc_conv2d_scratch(&f->conv, &out->view)
                                         : fc_sepconv_scratch(&f->sep, &out->view));
  fc_status status = f->dense ? fc_conv2d_cpu(&f->conv, &in->view, &out->view, scratch.data, NULL)
                              : fc_sepconv_cpu(&f->sep, &in->view, &out->view, scratch.data, NULL);
  CHECK(status == FC_OK, "status %d", status);
  CHECK(guarded_intact(&scratch), "wrote beyond the scratch");
  guarded_free(&scratch);
}

/* The version under test: the CPU's, unless the test puts another here. */
static void (*filter2d_run)(const filter2d *f, const image *in, const image *out) = filter2d_run_cpu;

/* One input, one filter, one type of output. */
typedef struct case2d {
  filter2d filter;
  int compute;
  int64_t shape[FC_AXES], nx, ny;
  image_border border;
  image in;
  char name[160];
} case2d;

static inline int64_t random_taps(void) {
  static const int64_t taps[] = {1, 1, 2, 3, 3, 4, 5, 5, 6, 7, 7, 9, 12, 15, 21, 31, 40};
  return taps[random_int(0, (int64_t)(sizeof taps / sizeof taps[0]) - 1)];
}

static inline case2d case2d_new(int dense, int dtype, int compute) {
  static const int64_t sizes[] = {0, 1, 1, 2, 3, 4, 5, 7, 13, 17, 31, 37, 64};
  case2d k = {.compute = compute, .nx = random_taps(), .ny = random_taps()};
  if (random_int(0, 1)) k.ny = k.nx;
  int rank = (int)random_int(1, 3), layout = (int)random_int(0, LAYOUTS - 1);
  k.shape[0] = random_int(1, 2);
  k.shape[1] = sizes[random_int(0, 12)];
  k.shape[2] = random_int(0, 19) ? sizes[random_int(0, 12)] : random_int(500, 2500);
  k.shape[3] = random_int(0, 3) ? random_int(1, 4) : random_int(0, 7);
  /* The reference takes its time. */
  while (k.shape[1] * k.shape[2] * k.shape[3] * k.nx * k.ny > 1000000) k.shape[2] /= 2, k.ny = (k.ny + 1) / 2;
  k.border = border_of(k.ny, k.nx);
  k.filter = filter2d_new(dense, compute, rank, k.ny, k.nx);
  k.in = image_random(dtype, k.shape, (image_layout)layout, k.border);
  snprintf(k.name, sizeof k.name,
           "%s %s in %s, rank %d, %" PRId64 "x%" PRId64 " taps, shape %" PRId64 " %" PRId64 " %" PRId64
           " %" PRId64 ", layout %d",
           dense ? "conv2d" : "sepconv", fc_dtype_name(dtype), fc_dtype_name(compute), rank, k.ny, k.nx,
           k.shape[0], k.shape[1], k.shape[2], k.shape[3], layout);
  return k;
}

static inline void case2d_free(case2d *k) {
  filter2d_free(&k->filter);
  image_free(&k->in);
}

/* The bound of rounding errors: of each product and sum of either pass, and of the load. */
static inline double case2d_error(const case2d *k) {
  double unit = k->compute == FC_F64 ? 0x1p-53 : 0x1p-24;
  int64_t steps = k->filter.dense ? k->nx * k->ny : 3 * (k->nx + k->ny);
  return unit * (double)(steps + 3) * k->filter.magnitude * largest_of(k->in.view.dtype);
}

static inline void case2d_compare(const case2d *k, const image *got, const image *want) {
  double error = case2d_error(k), worst = -1, value = 0, code = 0;
  for (int64_t n = 0; n < k->shape[0]; n++)
    for (int64_t y = 0; y < k->shape[1]; y++)
      for (int64_t x = 0; x < k->shape[2]; x++)
        for (int64_t c = 0; c < k->shape[3]; c++) {
          double v = image_get(want, n, y, x, c), g = image_get(got, n, y, x, c);
          if (is_stored(g, v, error, got->view.dtype) || fabs(g - v) <= worst) continue;
          worst = fabs(g - v), value = v, code = g;
        }
  CHECK(worst < 0, "%s to %s: %.17g where %.17g is right to %g", k->name, fc_dtype_name(got->view.dtype),
        code, value, error);
  CHECK(guarded_intact(&got->memory), "%s to %s: wrote beyond", k->name, fc_dtype_name(got->view.dtype));
}

/* The output cut at random into 8 boxes, each filtered by itself. */
static inline void case2d_cut(const case2d *k, const image *whole) {
  image pieces = image_new(whole->view.dtype, k->shape, INTERLEAVED, (image_border){0});
  image dense = image_new(whole->view.dtype, k->shape, INTERLEAVED, (image_border){0});
  int64_t cut[FC_AXES];
  for (int a = 0; a < FC_AXES; a++) cut[a] = random_int(0, k->shape[a]);
  cut[FC_AXIS_C] = k->shape[FC_AXIS_C];
  for (int part = 0; part < 8; part++) {
    int64_t from[FC_AXES] = {0}, shape[FC_AXES];
    for (int a = 0; a < FC_AXES; a++) {
      int upper = a < FC_AXIS_C && (part >> a & 1);
      from[a] = upper ? cut[a] : 0;
      shape[a] = upper ? k->shape[a] - cut[a] : cut[a];
    }
    image in = image_part(&k->in, from, shape), out = image_part(&pieces, from, shape);
    filter2d_run(&k->filter, &in, &out);
  }
  filter2d_run(&k->filter, &k->in, &dense);
  CHECK(image_equal(&pieces, &dense), "%s: cut at %" PRId64 " %" PRId64 " %" PRId64 " gives other bits",
        k->name, cut[0], cut[1], cut[2]);
  CHECK(guarded_intact(&pieces.memory), "%s: a piece wrote beyond", k->name);
  image_free(&pieces);
  image_free(&dense);
}

/* Instruction sets with a fused multiply-add give the same bits. */
static inline void case2d_isa(const case2d *k, const image *best, image_layout layout) {
  filter2d f = k->filter;
  for (int isa = FC_ISA_BASE; isa < (int)fc_isa_best(); isa++) {
    f.sep.isa = f.conv.isa = isa;
    image out = image_new(best->view.dtype, k->shape, layout, (image_border){0});
    filter2d_run(&f, &k->in, &out);
    if (isa == FC_ISA_BASE)
      case2d_compare(k, &out, best);
    else
      CHECK(image_equal(&out, best), "%s: %s and %s differ", k->name, fc_isa_name((fc_isa)isa),
            fc_isa_name(fc_isa_best()));
    image_free(&out);
  }
}

/* A part of an image that is too large for the cache is written otherwise, but with the
 * same bits. */
static inline void case2d_stream(const case2d *k, const image *small, image_layout layout) {
  image out = image_new(small->view.dtype, k->shape, layout, (image_border){0});
  out.view.extent[FC_AXIS_Y] = INT64_C(1) << 30;
  filter2d_run(&k->filter, &k->in, &out);
  CHECK(image_equal(&out, small), "%s: other bits in a large image", k->name);
  CHECK(guarded_intact(&out.memory), "%s: wrote beyond in a large image", k->name);
  image_free(&out);
}

static inline void case2d_check(const case2d *k, int dtype) {
  image_layout layout = (image_layout)random_int(0, LAYOUTS - 1);
  image want = image_new(FC_F64, k->shape, INTERLEAVED, (image_border){0});
  image out = image_new(dtype, k->shape, layout, (image_border){0});
  filter2d_reference(&k->filter, &k->in.view, &want.view);
  filter2d_run(&k->filter, &k->in, &out);
  case2d_compare(k, &out, &want);
  if (filter2d_run == filter2d_run_cpu) case2d_stream(k, &out, layout);
  if (dtype >= FC_F32 && filter2d_run == filter2d_run_cpu) case2d_isa(k, &out, layout);
  case2d_cut(k, &out);
  image_free(&want);
  image_free(&out);
}

/* Every pair of element types and either compute type, `rounds` times. */
static inline void check_all_types(int dense, int rounds) {
  for (int round = 0; round < rounds; round++)
    for (int in = 0; in < FC_DTYPE_COUNT; in++)
      for (int out = 0; out < FC_DTYPE_COUNT; out++)
        for (int compute = FC_F32; compute <= FC_F64; compute++) {
          case2d k = case2d_new(dense, in, compute);
          case2d_check(&k, out);
          case2d_free(&k);
        }
}

/* A long mask of one sign over an image of one sign, the worst case of rounding: the whole
 * is right to 1e-6. */
static inline void check_accuracy(int dense) {
  static const int64_t shape[FC_AXES] = {1, 3, 40, 1};
  const int64_t ny = dense ? 120 : 30, nx = dense ? 90 : 20000;
  filter2d f = filter2d_new(dense, FC_F32, 1, ny, nx);
  for (int64_t i = 0; i < (dense ? nx * ny : nx + ny); i++)
    ((float *)f.taps)[i] = fabsf(((float *)f.taps)[i]);
  image in = image_random(FC_U16, shape, INTERLEAVED, border_of(ny, nx));
  image want = image_new(FC_F64, shape, INTERLEAVED, (image_border){0});
  image got = image_new(FC_F64, shape, INTERLEAVED, (image_border){0});
  filter2d_run(&f, &in, &got);
  f.sep.compute = f.conv.compute = FC_F64; /* a reference that is fast enough: the CPU in f64 */
  double *taps = (double *)malloc((size_t)(nx * ny + nx + ny) * sizeof *taps), off = 0, all = 0;
  if (!taps) abort();
  for (int64_t i = 0; i < (dense ? nx * ny : nx + ny); i++) taps[i] = ((float *)f.taps)[i];
  f.conv.mask = f.sep.x = taps;
  f.sep.y = taps + nx;
  filter2d_run_cpu(&f, &in, &want);
  for (int64_t i = 0; i < shape[1] * shape[2]; i++) {
    double w = ((double *)want.view.data)[i], d = ((double *)got.view.data)[i] - w;
    off += d * d;
    all += w * w;
  }
  CHECK(off <= 1e-12 * all, "%s: off by %g of 1", dense ? "conv2d" : "sepconv", sqrt(off / all));
  free(taps);
  image_free(&in);
  image_free(&want);
  image_free(&got);
  filter2d_free(&f);
}

/* Masks longer than the image, and images that are a line. */
static inline void check_odd_shapes(int dense) {
  static const int64_t shapes[][5] = {/* Y, X, C, ny, nx */
                                      {3, 2, 1, 101, 67}, {1, 100000, 1, 3, 5}, {100000, 1, 1, 5, 3},
                                      {1, 1, 3, 1, 1},    {5, 700, 3, 2, 601},  {2, 5000, 4, 1, 300}};
  for (int i = 0; i < (int)(sizeof shapes / sizeof shapes[0]); i++)
    for (int compute = FC_F32; compute <= FC_F64; compute++) {
      const int64_t *s = shapes[i], shape[FC_AXES] = {1, s[0], s[1], s[2]};
      case2d k = {.compute = compute, .nx = s[4], .ny = s[3]};
      memcpy(k.shape, shape, sizeof shape);
      snprintf(k.name, sizeof k.name, "odd shape %d", i);
      k.border = border_of(k.ny, k.nx);
      k.filter = filter2d_new(dense, compute, 1, k.ny, k.nx);
      k.in = image_random(FC_F32, shape, INTERLEAVED, k.border);
      case2d_check(&k, FC_F32);
      case2d_free(&k);
    }
}

#endif
