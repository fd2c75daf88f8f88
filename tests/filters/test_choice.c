/* SPDX-License-Identifier: MIT */
/* test_choice.c - which GPU kernel takes which view, by the tables in plain C; no device is needed. The rows
 * are those of filters/README.md. */
#include "filters/conv1d/choice.h"
#include "filters/filter2d/choice.h"
#include "filters/fourier/gpu/fft_choice.h"
#include "filters/pointwise/functions.h"
#include "filters/resample/products.h"
#include "filters/stats/choice.h"
#include "filters/winstat/choice.h"
#include "filters/winstat/rows/cuts.h"
#include "tests/filters/check.h"

static char memory[64];

/* Rows of x pixels of c channels, with a gap of so many elements, begun `first` elements into memory. */
typedef struct image {
  int dtype, out_dtype;
  int64_t n, y, x, c, gap;
  int first;
} image;

static fc_view view_of(const image *i, int dtype) {
  const int64_t size = (int64_t)fc_dtype_size(dtype), row = (i->x * i->c + i->gap) * size;
  const int64_t shape[] = {i->n, i->y, i->x, i->c}, stride[] = {i->y * row, row, i->c * size, size};
  const uintptr_t aligned = ((uintptr_t)memory + 15) / 16 * 16;
  fc_view v = {.size = sizeof v, .dtype = dtype, .kind = FC_IMAGE};
  v.data = (char *)aligned + i->first * size;
  for (int a = 0; a < FC_AXES; a++) v.shape[a] = v.extent[a] = shape[a], v.stride[a] = stride[a];
  return v;
}

static const fc_edges replicate = {.size = sizeof replicate, .border = FC_BORDER_REPLICATE};

#define F32  FC_F32, FC_F32
#define U8   FC_U8, FC_U8
#define U16  FC_U16, FC_U16
#define WIDE 1, 4096, 4096

/* ---- conv1d ------------------------------------------------------------------------- */

typedef struct row1d {
  const char *what;
  int axis;
  int64_t taps;
  image of;
  fc_kernel1d kernel, edges; /* with the border made by the host, and to be made */
  int quick;                 /* beside composed kernels */
} row1d;

static const row1d rows1d[] = {
    {"long f32", FC_AXIS_X, 31, {F32, WIDE, 1, 0, 0}, FC_KERNEL1D_QUADS, FC_KERNEL1D_QUADS, 1},
    {"f32 stereo", FC_AXIS_X, 31, {F32, 1, 1, 1 << 20, 2, 0, 0}, FC_KERNEL1D_QUADS, FC_KERNEL1D_QUADS, 1},
    {"f32 stereo, unaligned",
     FC_AXIS_X,
     31,
     {F32, 1, 1, 4096, 2, 0, 1},
     FC_KERNEL1D_ANY,
     FC_KERNEL1D_HOST,
     1},
    {"long mask", FC_AXIS_X, 129, {F32, WIDE, 1, 0, 0}, FC_KERNEL1D_ANY, FC_KERNEL1D_HOST, 1},
    {"1000 wide", FC_AXIS_X, 5, {F32, 1, 4096, 1000, 1, 0, 0}, FC_KERNEL1D_ANY, FC_KERNEL1D_HOST, 0},
    {"100 wide", FC_AXIS_X, 31, {F32, 1, 4096, 100, 1, 0, 0}, FC_KERNEL1D_ANY, FC_KERNEL1D_HOST, 0},
    {"31 of 40 of u8", FC_AXIS_X, 5, {U8, 1, 4096, 31, 1, 9, 0}, FC_KERNEL1D_ANY, FC_KERNEL1D_HOST, 0},
    {"f32 RGB", FC_AXIS_X, 31, {F32, WIDE, 3, 0, 0}, FC_KERNEL1D_ANY, FC_KERNEL1D_HOST, 0},
    {"u8 RGB", FC_AXIS_X, 5, {U8, WIDE, 3, 0, 0}, FC_KERNEL1D_ANY, FC_KERNEL1D_HOST, 0},
    {"u8 to f32", FC_AXIS_X, 5, {FC_U8, FC_F32, 1, 4096, 100, 1, 0, 0}, FC_KERNEL1D_ANY, FC_KERNEL1D_HOST, 0},
    {"one wide", FC_AXIS_X, 5, {U8, 1, 4096, 1, 1, 2, 0}, FC_KERNEL1D_ANY, FC_KERNEL1D_HOST, 0},
    {"one row, down", FC_AXIS_Y, 5, {U8, 1, 1, 4096, 1, 0, 0}, FC_KERNEL1D_COLUMNS, FC_KERNEL1D_COLUMNS, 0},
    {"f32 down", FC_AXIS_Y, 31, {F32, WIDE, 1, 0, 0}, FC_KERNEL1D_COLUMNS, FC_KERNEL1D_COLUMNS, 0},
    {"long, down", FC_AXIS_Y, 32, {F32, WIDE, 1, 0, 0}, FC_KERNEL1D_COLUMNS, FC_KERNEL1D_COLUMNS, 1},
    {"one wide, down", FC_AXIS_Y, 5, {F32, 1, 4096, 1, 1, 0, 0}, FC_KERNEL1D_COLUMNS, FC_KERNEL1D_COLUMNS, 0},
    {"4 wide, down", FC_AXIS_Y, 5, {F32, 1, 4096, 4, 1, 0, 0}, FC_KERNEL1D_COLUMNS, FC_KERNEL1D_COLUMNS, 0},
    {"8 rows, few taps",
     FC_AXIS_Y,
     5,
     {F32, 1, 8, 4096, 1, 0, 0},
     FC_KERNEL1D_COLUMNS,
     FC_KERNEL1D_COLUMNS,
     0},
    {"8 rows of u8", FC_AXIS_Y, 31, {U8, 1, 8, 4096, 1, 0, 0}, FC_KERNEL1D_COLUMNS, FC_KERNEL1D_COLUMNS, 0},
    {"u8 down", FC_AXIS_Y, 31, {U8, WIDE, 1, 0, 0}, FC_KERNEL1D_COLUMNS, FC_KERNEL1D_COLUMNS, 0},
    {"u16 to u8 down", FC_AXIS_Y, 5, {FC_U16, FC_U8, WIDE, 1, 0, 0}, FC_KERNEL1D_ANY, FC_KERNEL1D_HOST, 0},
};

static void check_rows1d(void) {
  static const float mask[FC_CONV1D_BLOCK + 1] = {1};
  for (size_t i = 0; i < sizeof rows1d / sizeof *rows1d; i++) {
    const row1d *r = &rows1d[i];
    const fc_view in = view_of(&r->of, r->of.dtype), out = view_of(&r->of, r->of.out_dtype);
    const fc_conv1d c = {
        .axis = r->axis, .compute = FC_F32, .taps = r->taps, .before = r->taps / 2, .masks = 1, .mask = mask};
    const fc_case1d host = fc_conv1d_case(&c, &in, NULL, &out),
                    made = fc_conv1d_case(&c, &in, &replicate, &out);
    const int got[] = {(int)fc_case1d_choose(&host, 0), (int)fc_case1d_choose(&made, 0)};
    fc_signal1d s = {FC_IMAGE, r->of.dtype, r->of.out_dtype, r->axis, r->taps, {0}};
    memcpy(s.extent, in.extent, sizeof s.extent);
    CHECK(got[0] == (int)r->kernel && got[1] == (int)r->edges, "%s: kernels %d and %d", r->what, got[0],
          got[1]);
    CHECK(fc_conv1d_is_quick(&s) == r->quick, "%s: quick %d", r->what, !r->quick);
  }
}

/* Sound along time: floats by kernels of their own, codes composed; its length may not be known. */
static void check_sound(void) {
  fc_signal1d s = {FC_AUDIO, FC_F32, FC_F32, FC_AXIS_X, 31, {1, 1, FC_UNKNOWN, 2}};
  CHECK(fc_conv1d_is_quick(&s), "f32 is composed");
  s.extent[FC_AXIS_C] = 4;
  CHECK(!fc_conv1d_is_quick(&s), "four channels are not composed");
  s.in_dtype = s.out_dtype = FC_I16;
  CHECK(!fc_conv1d_is_quick(&s), "i16 is not composed");
}

/* ---- sepconv and conv2d ----------------------------------------------------------------- */

typedef struct row2d {
  const char *what;
  int separable;
  int64_t nx, ny;
  image of;
  fc_kernel2d kernel, edges; /* with the border made by the host, and to be made */
  int quick;                 /* beside composed kernels */
} row2d;

#define BOTH(kernel) FC_KERNEL2D_##kernel, FC_KERNEL2D_##kernel
#define HOST(kernel) FC_KERNEL2D_##kernel, FC_KERNEL2D_HOST
static const row2d rows2d[] = {
    {"f32", 1, 7, 7, {F32, WIDE, 1, 0, 0}, HOST(MARCH), 0},
    {"f32, long", 1, 25, 25, {F32, WIDE, 1, 0, 0}, BOTH(FLOATS), 1},
    {"f32 RGB, long", 1, 31, 31, {F32, WIDE, 3, 0, 0}, BOTH(FLOATS), 1},
    {"f32 RGBA, long", 1, 31, 31, {F32, WIDE, 4, 0, 0}, HOST(MARCH), 0},
    {"512 wide, long", 1, 31, 31, {F32, 1, 4096, 512, 1, 0, 0}, HOST(MARCH), 0},
    {"one row", 1, 7, 7, {F32, 1, 1, 4096, 1, 0, 0}, HOST(MARCH), 0},
    {"8 rows, long", 1, 31, 31, {F32, 1, 8, 4096, 1, 0, 0}, BOTH(FLOATS), 0},
    {"8 rows, of 9", 1, 9, 9, {F32, 1, 8, 4096, 1, 0, 0}, HOST(MARCH), 0},
    {"8 rows, of 7", 1, 7, 7, {F32, 1, 8, 4096, 1, 0, 0}, HOST(MARCH), 0},
    {"one wide", 1, 7, 7, {F32, 1, 4096, 1, 1, 0, 0}, HOST(TILES), 0},
    {"1 of 3", 1, 7, 7, {F32, 1, 4096, 1, 1, 2, 0}, HOST(TILES), 0},
    {"u8 RGB of 3", 1, 3, 3, {U8, WIDE, 3, 0, 0}, BOTH(BYTES), 1},
    {"u8 RGB of 7", 1, 7, 7, {U8, WIDE, 3, 0, 0}, BOTH(BYTES), 1},
    {"u8 of 7", 1, 7, 7, {U8, WIDE, 1, 0, 0}, BOTH(QUADS_BYTES), 1},
    {"u8 of 3, odd rows", 1, 3, 3, {U8, 1, 4096, 4095, 1, 0, 0}, BOTH(QUADS_BYTES), 1},
    {"u8, 768 wide", 1, 7, 7, {U8, 1, 4096, 256, 3, 0, 0}, HOST(MARCH), 0},
    {"u8, 769 wide", 1, 7, 7, {U8, 1, 4096, 769, 1, 0, 0}, BOTH(QUADS_BYTES), 1},
    {"u8, 8 rows", 1, 7, 7, {U8, 1, 8, 4096, 1, 0, 0}, HOST(MARCH), 0},
    {"u16", 1, 7, 7, {U16, WIDE, 1, 0, 0}, HOST(MARCH), 0},
    {"5 x 9", 1, 5, 9, {F32, WIDE, 1, 0, 0}, HOST(MARCH), 0},
    {"6 x 6", 1, 6, 6, {F32, WIDE, 1, 0, 0}, HOST(MARCH), 0},
    {"5 x 32", 1, 5, 32, {F32, WIDE, 1, 0, 0}, HOST(TILES), 0},
    {"5 channels", 1, 7, 7, {F32, WIDE, 5, 0, 0}, HOST(TILES), 0},
    {"dense f32", 0, 7, 7, {F32, WIDE, 1, 0, 0}, HOST(TILES), 0},
    {"dense u8", 0, 3, 3, {U8, WIDE, 3, 0, 0}, BOTH(BYTES), 1},
    {"dense u8, large", 0, 9, 9, {U8, WIDE, 3, 0, 0}, HOST(TILES), 0},
    {"dense u8, 5 x 5", 0, 5, 5, {U8, WIDE, 3, 0, 0}, HOST(TILES), 0},
    {"dense u8, 2 channels", 0, 3, 3, {U8, WIDE, 2, 0, 0}, HOST(TILES), 0},
    {"dense u8, 32 x 32", 0, 3, 3, {U8, 100, 32, 32, 1, 0, 0}, BOTH(BYTES), 0},
    {"dense u8, one row", 0, 3, 3, {U8, 1, 1, 4096, 1, 0, 0}, BOTH(BYTES), 0},
    {"dense u8 to f32", 0, 3, 3, {FC_U8, FC_F32, WIDE, 3, 0, 0}, HOST(TILES), 0},
    {"dense 5 x 9", 0, 9, 5, {F32, WIDE, 1, 0, 0}, HOST(TILES), 0},
    {"dense, one wide", 0, 7, 7, {F32, 1, 4096, 1, 1, 0, 0}, HOST(TILES), 0},
};

static fc_case2d case_of(const row2d *r, const fc_edges *edges) {
  static float taps[64 * 64];
  for (int k = 0; k < 64 * 64; k++) taps[k] = 1.f / 4096;
  const fc_view in = view_of(&r->of, r->of.dtype), out = view_of(&r->of, r->of.out_dtype);
  const fc_sepconv s = {.compute = FC_F32, .rank = 1, .nx = r->nx, .ny = r->ny, .x = taps, .y = taps};
  const fc_conv2d d = {.compute = FC_F32, .nx = r->nx, .ny = r->ny, .mask = taps};
  return r->separable ? fc_sepconv_case(&s, &in, edges, &out) : fc_conv2d_case(&d, &in, edges, &out);
}

static void check_rows2d(void) {
  for (size_t i = 0; i < sizeof rows2d / sizeof *rows2d; i++) {
    const row2d *r = &rows2d[i];
    const fc_case2d host = case_of(r, NULL), made = case_of(r, &replicate);
    const int got[] = {(int)fc_case2d_choose(&host, 0), (int)fc_case2d_choose(&made, 0)};
    fc_signal2d s = {r->separable, r->of.dtype, r->of.out_dtype, r->nx, r->ny, {0}};
    const fc_view v = view_of(&r->of, r->of.dtype);
    memcpy(s.extent, v.extent, sizeof s.extent);
    CHECK(got[0] == (int)r->kernel && got[1] == (int)r->edges, "%s: kernels %d and %d", r->what, got[0],
          got[1]);
    CHECK(fc_filter2d_is_quick(&s) == r->quick, "%s: quick %d", r->what, !r->quick);
  }
}

/* After a refusal the next kernel is asked, and in the end one that takes anything. */
static void check_refusals(void) {
  const fc_case2d c = case_of(&(row2d){"", 1, 7, 7, {U8, WIDE, 1, 0, 0}, 0, 0, 0}, NULL);
  int last = -1;
  for (fc_kernel2d k = fc_case2d_choose(&c, 0);; k = fc_case2d_choose(&c, k + 1)) {
    CHECK((int)k > last, "kernel %d after %d", (int)k, last);
    last = (int)k;
    if (k == FC_KERNEL2D_TILES || k == FC_KERNEL2D_HOST) break;
  }
  CHECK(last == FC_KERNEL2D_TILES, "the last kernel is %d", last);
}

/* Masks whose numbers do not suit integers. */
static void check_digits(void) {
  const float huge[3] = {1e30f, 1, 1}, bad[3] = {NAN, 1, 1};
  const image of = {U8, WIDE, 1, 0, 0};
  const fc_view v = view_of(&of, FC_U8);
  for (int i = 0; i < 2; i++) {
    const float *taps = i ? huge : bad;
    const fc_sepconv s = {.compute = FC_F32, .rank = 1, .nx = 3, .ny = 3, .x = taps, .y = taps};
    const fc_case2d c = fc_sepconv_case(&s, &v, NULL, &v);
    CHECK(fc_case2d_choose(&c, 0) == FC_KERNEL2D_MARCH, "kernel %d", (int)fc_case2d_choose(&c, 0));
  }
}

/* ---- stats -------------------------------------------------------------------------------- */

static void check_stats(void) {
  static const struct {
    const char *what;
    image of;
    fc_stats_kernel kernel;
  } rows[] = {
      {"long f32", {F32, 1, 16384, 16384, 1, 0, 0}, FC_STATS_STREAM},
      {"odd rows of f32", {F32, 1, 16384, 16383, 1, 0, 0}, FC_STATS_GATHER},
      {"f32 RGB", {F32, 1, 4096, 4096, 3, 0, 0}, FC_STATS_GATHER},
      {"short f32", {F32, 1, 64, 16384, 1, 0, 0}, FC_STATS_WARPS},
      {"2^20 i32", {FC_I32, FC_I32, 1, 64, 16384, 1, 0, 0}, FC_STATS_CLUSTERS},
      {"100 wide i32", {FC_I32, FC_I32, 1, 64, 100, 1, 0, 0}, FC_STATS_WARPS},
      {"long u8", {U8, 1, 16384, 16384, 1, 0, 0}, FC_STATS_UNITS},
      {"u8 RGB", {U8, 1, 16384, 4096, 3, 0, 0}, FC_STATS_PIXELS},
      {"u8 of 5 channels", {U8, 1, 16384, 4096, 5, 0, 0}, FC_STATS_UNITS},
      {"f64", {FC_F64, FC_F64, 1, 16384, 16384, 1, 0, 0}, FC_STATS_UNITS},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const fc_view v = view_of(&rows[i].of, rows[i].of.dtype);
    const int64_t align = fc_stats_align(v.kind, v.shape[FC_AXIS_X], v.shape[FC_AXIS_C]);
    const fc_stats_case c = fc_stats_case_of(&v, align);
    CHECK(fc_stats_choose(&c, 0) == rows[i].kernel, "%s: kernel %d", rows[i].what,
          (int)fc_stats_choose(&c, 0));
  }
}

/* ---- Fourier transforms of lines ------------------------------------------------------------ */

static void check_lines(void) {
  static const struct {
    fc_fft_case of; /* values, type, kernel for several lines, neighbours */
    fc_fft_choice choice;
  } rows[] = {
      {{16, FC_F32, 1, 0}, {FC_FFT_TOGETHER, 64, 17, 128, 64 * (16 * 17 + 32)}},
      {{16, FC_F32, 0, 0}, {FC_FFT_ALONE, 1, 0, 64, 16 * 16}}, /* stft */
      {{512, FC_F32, 1, 0}, {FC_FFT_TOGETHER, 2, 513, 128, 2 * (16 * 513 + 32)}},
      {{600, FC_F32, 1, 0}, {FC_FFT_ALONE, 1, 0, 128, 16 * 600}},
      {{600, FC_F32, 1, 1}, {FC_FFT_TOGETHER, 4, 601, 512, 4 * (16 * 601 + 32)}},
      {{600, FC_F64, 1, 1}, {FC_FFT_TOGETHER, 2, 601, 256, 2 * (32 * 601 + 32)}},
      {{4096, FC_F32, 1, 1}, {FC_FFT_ALONE, 1, 0, 512, 65536}},
      {{4097, FC_F32, 1, 1}, {FC_FFT_GLOBAL, 1, 0, 512, 16 * 4097}},
      {{4096, FC_F64, 0, 0}, {FC_FFT_GLOBAL, 1, 0, 512, 131072}},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const fc_fft_choice c = fc_fft_choose(&rows[i].of), *want = &rows[i].choice;
    CHECK(c.launch == want->launch && c.lines == want->lines && c.pitch == want->pitch &&
              c.threads == want->threads && c.bytes == want->bytes,
          "row %zu: launch %d, %d lines, %d threads, %lld bytes", i, (int)c.launch, c.lines, c.threads,
          (long long)c.bytes);
  }
}

/* ---- winstat ----------------------------------------------------------------------------- */

typedef struct rowwin {
  const char *what;
  int64_t nx, ny;
  unsigned stats; /* 1 << fc_winstat_stat, in this order */
  image of;
  fc_winstat_kernel kernel[2],
      edges[2]; /* of the first two, with the border made by the host, and to be made */
} rowwin;

#define BY(kernel) FC_WINSTAT_BY_##kernel
#define OF(stat)   (1u << FC_WINSTAT_##stat)
#define SAME(kernel)                                                                                         \
  {BY(kernel)}, {                                                                                            \
    BY(kernel)                                                                                               \
  }
#define MADE(kernel)                                                                                         \
  {BY(kernel)}, {                                                                                            \
    BY(HOST)                                                                                                 \
  }
#define TWO(a, b)                                                                                            \
  {BY(a), BY(b)}, {                                                                                          \
    BY(a), BY(b)                                                                                             \
  }
#define TWO_MADE(a, b)                                                                                       \
  {BY(a), BY(b)}, {                                                                                          \
    BY(HOST), BY(HOST)                                                                                       \
  }
#define I32 FC_I32, FC_I32
#define F64 FC_F64, FC_F64
static const rowwin rowswin[] = {
    {"boxes of f32", 15, 15, OF(MEAN), {F32, WIDE, 1, 0, 0}, SAME(SUMS)},
    {"boxes of f32, 31 of 40", 15, 15, OF(SUM), {F32, 100, 31, 31, 1, 9, 0}, SAME(SUMS)},
    {"boxes of RGB", 31, 31, OF(MEAN), {F32, WIDE, 3, 0, 0}, SAME(SUMS)},
    {"boxes of 32 rows", 15, 32, OF(MEAN), {F32, WIDE, 1, 0, 0}, MADE(STRIPS)},
    {"boxes of 32 columns", 32, 15, OF(MEAN), {F32, WIDE, 1, 0, 0}, MADE(STRIPS)},
    {"roots of f32", 15, 15, OF(RMS), {F32, WIDE, 1, 0, 0}, SAME(SUMS)},
    {"roots of f32, wider", 32, 15, OF(RMS), {F32, WIDE, 1, 0, 0}, MADE(STRIPS)},
    {"two sums of f32", 15, 15, OF(SUM) | OF(MEAN), {F32, WIDE, 1, 0, 0}, TWO(SUMS, SUMS)},
    {"two sums of f32, wider", 32, 15, OF(SUM) | OF(MEAN), {F32, WIDE, 1, 0, 0}, TWO_MADE(STRIPS, STRIPS)},
    {"mean and std of f32", 15, 15, OF(MEAN) | OF(STD), {F32, WIDE, 1, 0, 0}, TWO(SUMS, SPREAD)},
    {"too large for strips", 255, 128, OF(MEAN), {F32, WIDE, 1, 0, 0}, MADE(ANY)},
    {"boxes of one row", 15, 15, OF(MEAN), {F32, 1, 1, 1 << 20, 1, 0, 0}, SAME(SUMS)},
    {"boxes of u8", 15, 15, OF(MEAN), {U8, WIDE, 1, 0, 0}, MADE(STRIPS)},
    {"sums of u16", 15, 15, OF(SUM), {U16, WIDE, 1, 0, 0}, MADE(STRIPS)},
    {"sums of i32", 15, 15, OF(SUM), {I32, WIDE, 1, 0, 0}, MADE(ANY)},
    {"means of f64", 15, 15, OF(MEAN), {F64, WIDE, 1, 0, 0}, MADE(ANY)},
    {"std of u8", 15, 35, OF(STD), {U8, WIDE, 1, 0, 0}, SAME(DEVIATION)},
    {"roots of u8", 15, 15, OF(RMS), {U8, WIDE, 3, 0, 0}, MADE(STRIPS)},
    {"std of u8 to f32", 15, 15, OF(STD), {FC_U8, FC_F32, WIDE, 1, 0, 0}, SAME(DEVIATION)},
    {"std of u8, 65 rows", 15, 65, OF(STD), {U8, WIDE, 1, 0, 0}, MADE(ANY)},
    {"std of a row of u8", 16, 1, OF(STD), {U8, 1, 1, 1 << 20, 1, 0, 0}, MADE(ANY)},
    {"std of f32", 33, 33, OF(STD), {F32, WIDE, 1, 0, 0}, SAME(SPREAD)},
    {"std of f32, wider", 34, 33, OF(STD), {F32, WIDE, 1, 0, 0}, MADE(ANY)},
    {"std of few rows", 5, 5, OF(STD), {F32, 1, 7, 4096, 1, 0, 0}, MADE(ANY)},
    {"largest of f32", 15, 15, OF(MAX), {F32, WIDE, 1, 0, 0}, SAME(PEAK)},
    {"largest of 258", 258, 1, OF(MAX), {F32, WIDE, 1, 0, 0}, MADE(ANY)},
    {"largest of u8", 34, 15, OF(MAX), {U8, WIDE, 1, 0, 0}, SAME(PEAK)},
    {"smallest of u8, odd rows", 15, 15, OF(MIN), {U8, 1, 4096, 4095, 1, 0, 0}, SAME(PEAK)},
    {"smallest of u8 RGB", 15, 15, OF(MIN), {U8, WIDE, 3, 0, 0}, SAME(PEAK)},
    {"extremes of i16", 15, 15, OF(MIN) | OF(MAX), {FC_I16, FC_I16, WIDE, 1, 0, 0}, TWO(PEAK, PEAK)},
    {"largest of u8 to f32", 15, 15, OF(MAX), {FC_U8, FC_F32, WIDE, 1, 0, 0}, MADE(ANY)},
    {"rows of u8", 101, 1, OF(MEAN), {U8, WIDE, 3, 0, 0}, MADE(STRIPS)},
    {"rows of i16, narrow", 15, 1, OF(MEAN), {FC_I16, FC_I16, 1, 4096, 255, 1, 0, 0}, MADE(STRIPS)},
    {"rows of i16", 15, 1, OF(MEAN), {FC_I16, FC_I16, WIDE, 1, 0, 0}, MADE(STRIPS)},
    {"rows of f32", 15, 1, OF(MEAN), {F32, WIDE, 1, 0, 0}, SAME(LINES)},
    {"rows of f32, long windows", 1000, 1, OF(RMS), {F32, WIDE, 1, 0, 0}, SAME(RING)},
    {"rows of f32, both", 1000, 1, OF(MEAN) | OF(RMS), {F32, WIDE, 1, 0, 0}, TWO(RING, RING)},
    {"rows of f32, three", 15, 1, OF(SUM) | OF(MEAN) | OF(RMS), {F32, WIDE, 1, 0, 0}, TWO(RUNS, RUNS)},
    {"rows of f32 to i16", 15, 1, OF(MEAN), {FC_F32, FC_I16, WIDE, 1, 0, 0}, SAME(RUNS)},
    {"short rows of f32", 15, 1, OF(MEAN), {F32, 1, 4096, 100, 1, 0, 0}, SAME(SHORT)},
    {"rows of f32 stereo", 15, 1, OF(MEAN), {F32, 1, 1, 1 << 20, 2, 0, 0}, SAME(SHORT)},
    {"rows of one", 15, 1, OF(MEAN), {F32, 1, 4096, 1, 1, 0, 0}, {BY(SHORT)}, {BY(SINGLE)}},
    {"rows of f32, longest windows", 65537, 1, OF(MEAN), {F32, 1, 1, 1 << 20, 1, 0, 0}, MADE(ANY)},
    {"columns", 1, 15, OF(MEAN), {F32, WIDE, 1, 0, 0}, SAME(SUMS)},
    {"longer columns", 1, 32, OF(MEAN), {F32, WIDE, 1, 0, 0}, MADE(ANY)},
};

static const fc_winstat_chip sm_90 = {232448, 233472, 1024}, sm_75 = {65536, 65536, 0};

static fc_winstat window_of(const rowwin *r) {
  fc_winstat w = {.compute = FC_F32};
  w.before[0] = r->nx / 2, w.after[0] = (r->nx - 1) / 2, w.before[1] = r->ny / 2,
  w.after[1] = (r->ny - 1) / 2;
  for (int s = 0; s < FC_WINSTAT_STATS; s++)
    if (r->stats >> s & 1) w.stat[w.n_stats++] = s;
  return w;
}

/* Statistics are planes. */
static void choose(const rowwin *r, const fc_winstat *w, const fc_edges *edges, int whole,
                   fc_winstat_chip chip, fc_winstat_kernel *kernel) {
  const fc_view in = view_of(&r->of, r->of.dtype);
  fc_view out = view_of(&r->of, r->of.out_dtype);
  if (w->n_stats > 1) out.stride[FC_AXIS_C] = out.stride[FC_AXIS_N] * out.shape[FC_AXIS_N];
  out.shape[FC_AXIS_C] = out.extent[FC_AXIS_C] = w->n_stats * in.shape[FC_AXIS_C];
  const fc_winstat_case c = {w, &in, &out, edges, whole, 0, chip};
  fc_winstat_choose(&c, kernel);
}

static void check_rowswin(void) {
  unsigned seen = 0;
  for (size_t i = 0; i < sizeof rowswin / sizeof *rowswin; i++) {
    const rowwin *r = &rowswin[i];
    const fc_winstat w = window_of(r);
    fc_winstat_kernel host[FC_WINSTAT_STATS], made[FC_WINSTAT_STATS];
    choose(r, &w, NULL, 0, sm_90, host), choose(r, &w, &replicate, 1, sm_90, made);
    for (int s = 0; s < w.n_stats && s < 2; s++) {
      CHECK(host[s] == r->kernel[s] && made[s] == r->edges[s], "%s: kernels %d and %d", r->what, (int)host[s],
            (int)made[s]);
      seen |= 1u << host[s] | 1u << made[s];
    }
  }
  CHECK(seen == (2u << FC_WINSTAT_BY_HOST) - 1, "kernels without a row: %x", ~seen);
}

/* Windows that shrink have no border that anyone makes, and a part of a signal has one that no kernel knows.
 */
static void check_ends(void) {
  const rowwin r = {"", 15, 15, OF(MEAN), {F32, WIDE, 1, 0, 0}, SAME(SUMS)};
  fc_winstat w = window_of(&r);
  fc_winstat_kernel kernel[FC_WINSTAT_STATS];
  w.shrink = 1;
  choose(&r, &w, NULL, 1, sm_90, kernel);
  CHECK(kernel[0] == FC_WINSTAT_BY_SUMS, "kernel %d", (int)kernel[0]);
  w = window_of(&r);
  fc_view part = view_of(&r.of, FC_F32);
  const fc_view out = part;
  part.extent[FC_AXIS_Y]++;
  const fc_winstat_case c = {&w, &part, &out, &replicate, 1, 0, sm_90};
  fc_winstat_choose(&c, kernel);
  CHECK(kernel[0] == FC_WINSTAT_BY_HOST, "kernel %d of a part", (int)kernel[0]);
}

/* Of an image of one column, which lies as a row, sums are made in its own columns and rows. */
static void check_turned(void) {
  const rowwin r = {"", 15, 1, OF(MEAN), {F32, 1, 1, 1 << 20, 1, 0, 0}, SAME(LINES)};
  const fc_winstat w = window_of(&r);
  const fc_view in = view_of(&r.of, FC_F32);
  for (int turned = 0; turned < 2; turned++) {
    fc_winstat_kernel kernel[FC_WINSTAT_STATS];
    const fc_winstat_case c = {&w, &in, &in, NULL, 0, turned, sm_90};
    fc_winstat_choose(&c, kernel);
    CHECK(kernel[0] == (turned ? FC_WINSTAT_BY_SUMS : FC_WINSTAT_BY_LINES), "kernel %d", (int)kernel[0]);
  }
}

/* With less shared memory other kernels take over, for floats those that add in the same order. */
static void check_chips(void) {
  static const struct {
    rowwin row;
    fc_winstat_kernel small;
  } rows[] = {
      {{"", 31, 31, OF(MEAN), {F32, WIDE, 1, 0, 0}, SAME(SUMS)}, FC_WINSTAT_BY_SUMS},
      {{"", 15, 33, OF(MAX), {F32, WIDE, 1, 0, 0}, SAME(PEAK)}, FC_WINSTAT_BY_ANY},
      {{"", 15, 35, OF(STD), {U8, WIDE, 1, 0, 0}, SAME(DEVIATION)}, FC_WINSTAT_BY_ANY},
      {{"", 1000, 1, OF(MEAN), {F32, WIDE, 1, 0, 0}, SAME(RING)}, FC_WINSTAT_BY_LINES},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
    const fc_winstat w = window_of(&rows[i].row);
    fc_winstat_kernel large[FC_WINSTAT_STATS], small[FC_WINSTAT_STATS];
    choose(&rows[i].row, &w, NULL, 0, sm_90, large), choose(&rows[i].row, &w, NULL, 0, sm_75, small);
    CHECK(large[0] == rows[i].row.kernel[0] && small[0] == rows[i].small, "row %zu: kernels %d and %d", i,
          (int)large[0], (int)small[0]);
  }
}

/* ---- winstat, beside composed kernels ------------------------------------------------------- */

static void check_winstat(void) {
  static const struct {
    int kind, dtype, out_dtype, stat;
    int64_t columns, channels, samples;
    int quick;
  } rows[] = {
      {FC_IMAGE, F32, FC_WINSTAT_MEAN, 8192, 1, 1001, 1},
      {FC_IMAGE, F32, FC_WINSTAT_MEAN, 501, 1, 1001, 1},
      {FC_IMAGE, F32, FC_WINSTAT_MEAN, 224, 3, 1001, 0},
      {FC_IMAGE, F32, FC_WINSTAT_MEAN, 224, 3, 15, 1},
      {FC_IMAGE, F32, FC_WINSTAT_MEAN, 640, 1, 15, 0},
      {FC_IMAGE, F32, FC_WINSTAT_SUM, 640, 3, 15, 0},
      {FC_IMAGE, F32, FC_WINSTAT_RMS, 3333, 3, 15, 0},
      {FC_IMAGE, F32, FC_WINSTAT_MEAN, 4099, 1, 40, 0},
      {FC_IMAGE, F32, FC_WINSTAT_MEAN, 3000, 4, 1001, 0},
      {FC_AUDIO, F32, FC_WINSTAT_MEAN, 48000, 2, 15, 0},
      {FC_IMAGE, F32, FC_WINSTAT_MEAN, FC_UNKNOWN, 1, 1001, 1},
      {FC_AUDIO, F32, FC_WINSTAT_MEAN, 224, 1, 1001, 1},
      {FC_IMAGE, F32, FC_WINSTAT_STD, 8192, 1, 64, 0},
      {FC_IMAGE, F32, FC_WINSTAT_STD, 100, 1, 33, 1},
      {FC_IMAGE, F32, FC_WINSTAT_STD, 101, 1, 33, 0},
      {FC_IMAGE, F32, FC_WINSTAT_STD, 64, 1, 34, 0},
      {FC_IMAGE, F32, FC_WINSTAT_VAR, 64, 3, 15, 0},
      {FC_IMAGE, FC_F32, FC_U8, FC_WINSTAT_STD, 64, 1, 15, 0},
      {FC_AUDIO, F32, FC_WINSTAT_STD, 64, 1, 15, 0},
      {FC_AUDIO, F32, FC_WINSTAT_RMS, 48000, 1, 4800, 1},
      {FC_IMAGE, F32, FC_WINSTAT_MAX, 8192, 3, 15, 0},
      {FC_IMAGE, F32, FC_WINSTAT_MAX, 224, 3, 15, 0},
      {FC_IMAGE, F32, FC_WINSTAT_MAX, 8192, 4, 15, 0},
      {FC_IMAGE, F32, FC_WINSTAT_MAX, FC_UNKNOWN, 1, 15, 0},
      {FC_IMAGE, F32, FC_WINSTAT_MAX, 8192, 1, 64, 0},
      {FC_AUDIO, F32, FC_WINSTAT_RMS, 48000, 2, 4800, 0},
      {FC_AUDIO, FC_F32, FC_I16, FC_WINSTAT_RMS, 48000, 2, 15, 0},
      {FC_IMAGE, U8, FC_WINSTAT_MEAN, 8192, 3, 15, 0},
      {FC_IMAGE, U8, FC_WINSTAT_MEAN, 8192, 3, 1001, 0},
      {FC_IMAGE, U8, FC_WINSTAT_MEAN, 224, 3, 101, 1},
      {FC_IMAGE, U8, FC_WINSTAT_MEAN, 224, 3, 1001, 0},
      {FC_IMAGE, U16, FC_WINSTAT_SUM, 224, 1, 101, 1},
      {FC_IMAGE, U16, FC_WINSTAT_RMS, 224, 1, 101, 0},
      {FC_IMAGE, FC_U8, FC_F32, FC_WINSTAT_MEAN, 224, 1, 101, 1},
      {FC_IMAGE, U8, FC_WINSTAT_RMS, 224, 1, 101, 1},
      {FC_IMAGE, U8, FC_WINSTAT_RMS, 8192, 1, 101, 0},
      {FC_IMAGE, U8, FC_WINSTAT_STD, 8192, 3, 64, 0},
      {FC_AUDIO, U8, FC_WINSTAT_STD, 48000, 1, 16, 0},
      {FC_AUDIO, FC_I16, FC_I16, FC_WINSTAT_MEAN, 48000, 2, 15, 0},
      {FC_IMAGE, U16, FC_WINSTAT_MIN, 8192, 1, 15, 0},
      {FC_IMAGE, U16, FC_WINSTAT_MIN, 224, 1, 101, 0},
      {FC_IMAGE, U16, FC_WINSTAT_MIN, 8192, 3, 15, 0},
      {FC_IMAGE, U8, FC_WINSTAT_MIN, 8192, 1, 101, 0},
      {FC_IMAGE, U8, FC_WINSTAT_MIN, 224, 1, 101, 0},
      {FC_AUDIO, U8, FC_WINSTAT_MAX, 48000, 1, 6, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    CHECK(fc_winstat_is_quick(rows[i].kind, rows[i].dtype, rows[i].out_dtype, rows[i].columns,
                              rows[i].channels, rows[i].stat, rows[i].samples) == rows[i].quick,
          "row %zu", i);
}

/* Windows of columns and rows: whether they are composed at all. */
static void check_boxes(void) {
  static const struct {
    int stat, in, out;
    int64_t window[2];
    int some;
  } rows[] = {
      {FC_WINSTAT_MAX, U8, {15, 15}, 1},
      {FC_WINSTAT_MAX, U16, {31, 31}, 1},
      {FC_WINSTAT_MIN, F32, {15, 15}, 1},
      {FC_WINSTAT_MIN, FC_F64, FC_F64, {7, 7}, 0},
      {FC_WINSTAT_MAX, F32, {32, 3}, 0},
      {FC_WINSTAT_MAX, F32, {3, 32}, 0},
      {FC_WINSTAT_MAX, F32, {64, 1}, 1},
      {FC_WINSTAT_MAX, F32, {65, 1}, 0},
      {FC_WINSTAT_MEAN, F32, {15, 15}, 0},
      {FC_WINSTAT_MEAN, U8, {15, 15}, 1},
      {FC_WINSTAT_MEAN, FC_U8, FC_F32, {5, 5}, 1},
      {FC_WINSTAT_MEAN, FC_U8, FC_U16, {15, 15}, 0},
      {FC_WINSTAT_SUM, U16, {31, 31}, 1},
      {FC_WINSTAT_STD, U8, {15, 15}, 1},
      {FC_WINSTAT_RMS, U8, {15, 15}, 1},
      {FC_WINSTAT_RMS, U16, {15, 15}, 0},
      {FC_WINSTAT_VAR, U8, {5, 5}, 0}, /* may exceed bytes */
      {FC_WINSTAT_VAR, FC_U8, FC_F32, {5, 31}, 1},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    CHECK(fc_winstat_is_box(rows[i].stat, rows[i].in, rows[i].out, rows[i].window[0], rows[i].window[1]) ==
              rows[i].some,
          "row %zu", i);
}

/* Windows along rows that are composed as boxes of one row. */
static void check_row_boxes(void) {
  static const struct {
    int kind, stat, in, out;
    int64_t columns, channels, samples;
    int some;
  } rows[] = {
      {FC_IMAGE, FC_WINSTAT_MAX, U16, 224, 1, 64, 1},  {FC_IMAGE, FC_WINSTAT_MAX, U16, 224, 1, 65, 0},
      {FC_IMAGE, FC_WINSTAT_MAX, U16, 224, 1, 1, 0},   {FC_IMAGE, FC_WINSTAT_MAX, U16, 8192, 1, 3, 0},
      {FC_IMAGE, FC_WINSTAT_MAX, F32, 2048, 1, 15, 1}, {FC_IMAGE, FC_WINSTAT_MAX, F32, 8192, 4, 15, 0},
      {FC_IMAGE, FC_WINSTAT_MEAN, U8, 8192, 3, 9, 1},  {FC_IMAGE, FC_WINSTAT_MEAN, U8, 8192, 3, 10, 0},
      {FC_IMAGE, FC_WINSTAT_MEAN, U8, 500, 4, 31, 1},  {FC_IMAGE, FC_WINSTAT_MEAN, F32, 500, 1, 3, 0},
      {FC_IMAGE, FC_WINSTAT_STD, U8, 500, 1, 20, 1},   {FC_IMAGE, FC_WINSTAT_STD, U8, 8192, 1, 3, 0},
      {FC_AUDIO, FC_WINSTAT_MAX, U16, 224, 1, 15, 0},  {FC_IMAGE, FC_WINSTAT_MAX, U8, FC_UNKNOWN, 1, 3, 0},
  };
  for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
    CHECK(fc_winstat_is_row_box(rows[i].kind, rows[i].stat, rows[i].in, rows[i].out, rows[i].columns,
                                rows[i].channels, rows[i].samples) == rows[i].some,
          "row %zu", i);
}

/* ---- pointwise ---------------------------------------------------------------------- */

/* What core/plan/fuse.c composes alone: what says so, and single codes of 8 and 16 bits that it does not
 * copy. */
static int is_composed(int in, int out, const fc_device_function *f) {
  return f->flags & FC_FUNCTION_ALONE ||
         (!(f->flags & FC_FUNCTION_SELECTS) && f->in < 2 && fc_dtype_size(in) < 4 && fc_dtype_size(out) < 4);
}

/* No types are left to the kernel that goes element by element where a kernel can be composed, and those with
 * kernels of packs use them as before. */
static void check_pointwise(void) {
  const double factors[] = {1, 2, 3};
  char entry[FC_FUNCTION_ENTRY];
  double bytes[16];
  for (int compute = FC_F32; compute <= FC_F64; compute++)
    for (int in = 0; in < FC_DTYPE_COUNT; in++)
      for (int out = 0; out < FC_DTYPE_COUNT; out++)
        for (int form = 0; form < 3; form++) {
          const fc_pointwise p = {.form = form ? FC_POINTWISE_SCALE : FC_POINTWISE_COPY, .compute = compute};
          fc_device_function f = {.size = sizeof f, .entry = entry, .bytes = bytes, .growth = -1};
          if (form < 2)
            fc_function_pointwise(&p, &f);
          else
            fc_function_gains(compute, factors, 3, &f);
          const int composed = is_composed(in, out, &f), dense = FC_POINTWISE_IS_DENSE(compute, in, out);
          fc_function_alone(compute, in, out, &f);
          CHECK(dense || is_composed(in, out, &f), "form %d, %d to %d in %d: a kernel", form, in, out,
                compute);
          CHECK(!dense || composed == is_composed(in, out, &f), "form %d, %d to %d in %d: as before", form,
                in, out, compute);
        }
  CHECK(FC_POINTWISE_IS_DENSE(FC_F32, FC_U8, FC_U8) && FC_POINTWISE_IS_DENSE(FC_F32, FC_U8, FC_F32) &&
            FC_POINTWISE_IS_DENSE(FC_F32, FC_F32, FC_I16) && !FC_POINTWISE_IS_DENSE(FC_F32, FC_U8, FC_U16) &&
            !FC_POINTWISE_IS_DENSE(FC_F32, FC_I16, FC_I16) &&
            !FC_POINTWISE_IS_DENSE(FC_F32, FC_F32, FC_I32) &&
            !FC_POINTWISE_IS_DENSE(FC_F64, FC_F32, FC_F32) && FC_POINTWISE_IS_DENSE(FC_F64, FC_F64, FC_F64),
        "pairs");
}

/* ---- resample of bytes ------------------------------------------------------------------ */

typedef struct way_row {
  const char *what;
  int filter, antialias;
  int64_t from_y, from_x, to_y, to_x;
  fc_resample_way want;
} way_row;

static const way_row ways[] = {
    {"a third", FC_RESAMPLE_BILINEAR, 1, 768, 1024, 256, 341, FC_RESAMPLE_ALONG},
    {"a third, area", FC_RESAMPLE_AREA, 1, 768, 1024, 256, 341, FC_RESAMPLE_ALONG},
    {"a third, bicubic", FC_RESAMPLE_BICUBIC, 1, 768, 1024, 256, 341, FC_RESAMPLE_STRIPS},
    {"a tenth, lanczos3", FC_RESAMPLE_LANCZOS3, 1, 12288, 12288, 1228, 1228, FC_RESAMPLE_STRIPS},
    {"a third of so many inputs", FC_RESAMPLE_BILINEAR, 0, 768, 1024, 256, 341, FC_RESAMPLE_FEW},
    {"a third of so many, bicubic", FC_RESAMPLE_BICUBIC, 0, 768, 1024, 256, 341, FC_RESAMPLE_FEW},
    {"a third of so many, lanczos3", FC_RESAMPLE_LANCZOS3, 0, 768, 1024, 256, 341, FC_RESAMPLE_ALONG},
    {"twice", FC_RESAMPLE_BILINEAR, 1, 768, 1024, 1536, 2048, FC_RESAMPLE_STRIPS},
    {"twice, not limited", FC_RESAMPLE_BICUBIC, 0, 768, 1024, 1536, 2048, FC_RESAMPLE_STRIPS},
    {"twice, lanczos3, not limited", FC_RESAMPLE_LANCZOS3, 0, 768, 1024, 1536, 2048, FC_RESAMPLE_STRIPS},
    {"four times", FC_RESAMPLE_BILINEAR, 1, 768, 1024, 3072, 4096, FC_RESAMPLE_FEW},
    {"four times, odd rows", FC_RESAMPLE_BILINEAR, 1, 768, 1024, 3071, 4095, FC_RESAMPLE_STRIPS},
    {"four times, bicubic", FC_RESAMPLE_BICUBIC, 1, 768, 1024, 3072, 4096, FC_RESAMPLE_STRIPS},
    {"higher, half as wide", FC_RESAMPLE_BILINEAR, 0, 768, 1024, 1536, 512, FC_RESAMPLE_FEW},
    {"higher, a third as wide", FC_RESAMPLE_BILINEAR, 0, 768, 1024, 1536, 341, FC_RESAMPLE_FEW},
    {"higher, a third as wide, all inputs", FC_RESAMPLE_BILINEAR, 1, 768, 1024, 1536, 341,
     FC_RESAMPLE_STRIPS},
    {"lower, wider", FC_RESAMPLE_BILINEAR, 1, 768, 1024, 256, 2048, FC_RESAMPLE_ALONG},
};

static void check_ways(void) {
  for (size_t i = 0; i < sizeof ways / sizeof ways[0]; i++) {
    const way_row *w = &ways[i];
    const fc_resample r = {.filter = w->filter, .antialias = w->antialias, .compute = FC_F32};
    const fc_resample_axis x = fc_resample_axis_of(&r, w->from_x, w->to_x),
                           y = fc_resample_axis_of(&r, w->from_y, w->to_y);
    CHECK(fc_resample_way_of(&r, &x, &y) == w->want, "resize: %s: %d", w->what,
          (int)fc_resample_way_of(&r, &x, &y));
  }
}

int main(void) {
  check_rows1d();
  check_sound();
  check_rows2d();
  check_refusals();
  check_digits();
  check_stats();
  check_lines();
  check_rowswin();
  check_ends();
  check_turned();
  check_chips();
  check_winstat();
  check_boxes(), check_row_boxes();
  check_pointwise();
  check_ways();
  return check_result();
}
