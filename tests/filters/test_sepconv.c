/* SPDX-License-Identifier: MIT */
/*
 * test_sepconv.c - the separable filter: SciPy's results, what filters2d.h says, and
 * oracles that need no reference.
 *
 *     test_sepconv tests/goldens/sepconv.txt
 */
#include "tests/filters/filters2d.h"
#include "tests/filters/golden2d.h"

#define H  9
#define W  8
#define NY 5
#define NX 4

static const float mask_x[] = {1, 2, 3, 4, -1, 0.5f, 0, 8}, mask_y[] = {1, -1, 2, 0.25f, 3, 0, 1, 0, 1, 16};

static double impulse(int64_t n, int64_t y, int64_t x, int64_t c, void *data) {
  (void)n, (void)c, (void)data;
  return y == 4 && x == 4;
}

static double constant(int64_t n, int64_t y, int64_t x, int64_t c, void *data) {
  (void)n, (void)y, (void)x, (void)c;
  return *(double *)data;
}

/* A single 1 at (4, 4) must leave the mask, turned, around it: out(y, x) is the tap that
 * lies over (4, 4). All values are exact. */
static void check_impulse(int rank) {
  static const int64_t shape[] = {1, H, W, 1};
  fc_sepconv op = {FC_F32, fc_isa_best(), rank, NX, NY, mask_x, mask_y, NULL, NULL};
  filter2d f = {.sep = op};
  image in = image_new(FC_U8, shape, INTERLEAVED, border_of(NY, NX));
  image out = image_new(FC_F32, shape, INTERLEAVED, (image_border){0});
  image_fill(&in, border_of(NY, NX), impulse, NULL);
  filter2d_run(&f, &in, &out);
  for (int64_t y = 0; y < H; y++)
    for (int64_t x = 0; x < W; x++) {
      int64_t j = 4 - y + NY / 2, i = 4 - x + NX / 2;
      double want = 0;
      for (int t = 0; t < rank && j >= 0 && j < NY && i >= 0 && i < NX; t++)
        want += (double)mask_x[t * NX + i] * mask_y[t * NY + j];
      CHECK(image_get(&out, 0, y, x, 0) == want, "impulse at %" PRId64 ",%" PRId64 ": %g, not %g", y, x,
            image_get(&out, 0, y, x, 0), want);
    }
  image_free(&in);
  image_free(&out);
}

/* A constant image becomes the constant times the sum of the mask. */
static void check_constant(void) {
  static const int64_t shape[] = {2, 33, 70, 3};
  double sum_x = 1 + 2 + 3 + 4, sum_y = 1 - 1 + 2 + 0.25 + 3, value = 12;
  fc_sepconv op = {FC_F32, fc_isa_best(), 1, NX, NY, mask_x, mask_y, NULL, NULL};
  filter2d f = {.sep = op};
  image in = image_new(FC_I16, shape, PADDED, border_of(NY, NX));
  image out = image_new(FC_I32, shape, PLANAR, (image_border){0});
  image_fill(&in, border_of(NY, NX), constant, &value);
  filter2d_run(&f, &in, &out);
  for (int64_t y = 0; y < shape[1]; y++)
    for (int64_t x = 0; x < shape[2]; x++)
      CHECK(image_get(&out, 1, y, x, 2) == nearbyint(value * sum_x * sum_y),
            "constant at %" PRId64 ",%" PRId64, y, x);
  image_free(&in);
  image_free(&out);
}

/* A NaN reaches the outputs whose window holds it, and no other. */
static void check_nan(void) {
  static const int64_t shape[] = {1, 24, 300, 1};
  double one = 1;
  fc_sepconv op = {FC_F32, fc_isa_best(), 2, NX, NY, mask_x, mask_y, NULL, NULL};
  filter2d f = {.sep = op};
  image in = image_new(FC_F32, shape, INTERLEAVED, border_of(NY, NX));
  image out = image_new(FC_F32, shape, INTERLEAVED, (image_border){0});
  image_fill(&in, border_of(NY, NX), constant, &one);
  *(float *)fc_view_at(&in.view, 0, 11, 150, 0) = NAN;
  filter2d_run(&f, &in, &out);
  for (int64_t y = 0; y < shape[1]; y++)
    for (int64_t x = 0; x < shape[2]; x++) {
      int64_t j = 11 - y + NY / 2, i = 150 - x + NX / 2;
      int under = j >= 0 && j < NY && i >= 0 && i < NX;
      CHECK(isnan(image_get(&out, 0, y, x, 0)) == under, "NaN at %" PRId64 ",%" PRId64, y, x);
    }
  image_free(&in);
  image_free(&out);
}

/* Taps for bytes: a mean, one that leaves 0 to 255 here and there, one that leaves it by far, and one that is
 * not a number.
 */
static void bytes_taps(float *taps, int64_t count, int sort) {
  for (int64_t i = 0; i < count; i++) taps[i] = 1 / (float)count;
  if (sort == 1) taps[count / 2] += 0.5f, taps[0] -= 0.5f;
  if (sort == 2) taps[count - 1] = 3e30f;
  if (sort == 3) taps[0] = NAN;
}

static void run_noted(const fc_sepconv *op, const image *in, const image *out, uint32_t notes[2]) {
  guarded scratch = guarded_new(fc_sepconv_scratch(op, &out->view));
  notes[0] = notes[1] = 0;
  CHECK(fc_sepconv_cpu(op, &in->view, &out->view, scratch.data, notes) == FC_OK, "bytes");
  CHECK(guarded_intact(&scratch) && guarded_intact(&out->memory), "wrote beyond");
  guarded_free(&scratch);
}

/* Rows of bytes are read and written as they lie; the result, and what is noted, is that of going through
 * floats. */
static void check_bytes(void) {
  static const int64_t lengths[] = {1, 2, 3, 5, 8, 16, 17, 31, 130};
  for (int round = 0; round < 160; round++) {
    const int64_t shape[] = {1, random_int(1, 9), random_int(1, 700), random_int(1, 4)};
    const int64_t nx = lengths[random_int(0, 8)], ny = lengths[random_int(0, 7)];
    float x[130], y[130];
    bytes_taps(x, nx, round % 4), bytes_taps(y, ny, round % 8 == 1);
    image in = image_random(FC_U8, shape, INTERLEAVED, border_of(ny, nx));
    image floats = image_new(FC_F32, shape, INTERLEAVED, border_of(ny, nx));
    image sums = image_new(FC_F32, shape, INTERLEAVED, (image_border){0});
    const image_layout layout = round % 3 ? INTERLEAVED : PADDED;
    image want = image_new(FC_U8, shape, layout, (image_border){0});
    for (int64_t j = -(ny / 2); j < shape[1] + (ny - 1) / 2; j++)
      for (int64_t i = -(nx / 2); i < shape[2] + (nx - 1) / 2; i++)
        for (int64_t c = 0; c < shape[3]; c++)
          *(float *)fc_view_at(&floats.view, 0, j, i, c) = *(uint8_t *)fc_view_at(&in.view, 0, j, i, c);
    for (int isa = 0; isa <= (int)fc_isa_best(); isa++) {
      fc_sepconv op = {FC_F32, isa, 1, nx, ny, x, y, NULL, NULL};
      uint32_t none[2], noted[2] = {0, 0}, notes[2];
      run_noted(&op, &floats, &sums, none);
      for (int64_t j = 0; j < shape[1]; j++)
        fc_store_f32(fc_view_at(&want.view, 0, j, 0, 0), 1, (float *)fc_view_at(&sums.view, 0, j, 0, 0),
                     shape[2] * shape[3], FC_IMAGE, FC_U8, noted);
      for (int large = 0; large < 2; large++) {
        image out = image_new(FC_U8, shape, layout, (image_border){0});
        if (large) out.view.extent[FC_AXIS_Y] = INT64_C(1) << 30;
        run_noted(&op, &in, &out, notes);
        CHECK(image_equal(&out, &want), "round %d, %s: %d x %d taps of bytes give other bits", round,
              fc_isa_name((fc_isa)isa), (int)nx, (int)ny);
        CHECK(notes[0] == noted[0] && notes[1] == noted[1], "round %d: noted %u %u, not %u %u", round,
              notes[0], notes[1], noted[0], noted[1]);
        image_free(&out);
      }
    }
    image_free(&in), image_free(&floats), image_free(&sums), image_free(&want);
  }
}

static filter2d golden_filter(const char *path, const char *mask, int compute, int flip) {
  char name[64];
  snprintf(name, sizeof name, "%s_x", mask);
  golden x = golden_read(path, name);
  snprintf(name, sizeof name, "%s_y", mask);
  golden y = golden_read(path, name);
  char *taps = (char *)malloc((size_t)(x.count + y.count) * sizeof(double));
  void *along = golden2d_taps(&x, compute, flip), *down = golden2d_taps(&y, compute, flip);
  size_t size = fc_dtype_size(compute);
  if (!taps) abort();
  memcpy(taps, along, (size_t)x.count * size);
  memcpy(taps + (size_t)x.count * size, down, (size_t)y.count * size);
  filter2d f = {.taps = taps};
  f.sep = (fc_sepconv){compute, fc_isa_best(), 1, x.count, y.count, taps, taps + (size_t)x.count * size,
                       NULL,    NULL};
  free(along);
  free(down);
  golden_free(&x);
  golden_free(&y);
  return f;
}

int main(int argc, char **argv) {
  if (argc < 2) return 2;
  golden2d_check(argv[1], "odd", golden_filter);
  golden2d_check(argv[1], "even", golden_filter);
  golden2d_check(argv[1], "long", golden_filter);
  random_start(20260);
  check_impulse(1);
  check_impulse(2);
  check_constant();
  check_nan();
  check_bytes();
  check_accuracy(0);
  check_odd_shapes(0);
  check_all_types(0, 8);
  return check_result();
}
