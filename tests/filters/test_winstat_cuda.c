/* SPDX-License-Identifier: MIT */
/*
 * test_winstat_cuda.c - sliding statistics on a CUDA device against the definition: exact for
 * integers, and then the same bits as on the CPU; within the bound of direct summation
 * for floats; the same bits however the output is cut, and whoever makes the border. Nothing beyond the
 * output is written. Skipped without a device.
 */
#include <cuda_runtime_api.h>

#include "core/contract/plugin.h"
#include "tests/filters/border.h"
#include "tests/filters/sum_in_order.h"
#include "tests/filters/winstat_check.h"

#define SKIPPED 77

/* A device copy of a picture's memory, guard bands and all, and the view of it. */
static picture to_device(const picture *p) {
  picture d = *p;
  size_t total = p->memory.bytes + 2 * GUARD_BYTES;
  if (cudaMalloc((void **)&d.memory.base, total) != cudaSuccess) abort();
  cudaMemcpy(d.memory.base, p->memory.base, total, cudaMemcpyHostToDevice);
  d.view.data = d.memory.base + ((unsigned char *)p->view.data - p->memory.base);
  d.view.device = FC_CUDA_DEVICE(0);
  return d;
}

static void from_device(const picture *p, picture *d) {
  cudaMemcpy(p->memory.base, d->memory.base, p->memory.bytes + 2 * GUARD_BYTES, cudaMemcpyDeviceToHost);
  cudaFree(d->memory.base);
}

static void run_cuda(const fc_winstat *w, const fc_view *in, const fc_view *out) {
  void *scratch = NULL;
  size_t bytes = fc_winstat_cuda_scratch(w, in);
  if (bytes > 0 && cudaMalloc(&scratch, bytes) != cudaSuccess) abort();
  CHECK(fc_winstat_cuda(w, in, out, scratch, NULL, NULL) == FC_OK, "launch");
  CHECK(cudaDeviceSynchronize() == cudaSuccess, "%s", cudaGetErrorString(cudaGetLastError()));
  cudaFree(scratch);
}

static void run_pieces(const fc_winstat *w, const fc_view *in, const fc_view *out) {
  int64_t y0 = random_int(0, in->shape[FC_AXIS_Y] - 1), x0 = random_int(0, in->shape[FC_AXIS_X] - 1);
  const int64_t ys[] = {0, y0, in->shape[FC_AXIS_Y]}, xs[] = {0, x0, in->shape[FC_AXIS_X]};
  for (int i = 0; i < 2; i++)
    for (int j = 0; j < 2; j++) {
      fc_view a = part_of(in, xs[j], ys[i], xs[j + 1] - xs[j], ys[i + 1] - ys[i]);
      fc_view b = part_of(out, xs[j], ys[i], xs[j + 1] - xs[j], ys[i + 1] - ys[i]);
      run_cuda(w, &a, &b);
    }
}

static void check_like_cpu(const sample_case *t, const fc_winstat *w, const picture *in, const picture *got) {
  picture cpu = output_for(t, w);
  void *scratch = aligned_alloc(64, (fc_winstat_cpu_scratch(w, &in->view) + 63) / 64 * 64);
  fc_winstat_cpu(w, &in->view, &cpu.view, scratch, NULL);
  CHECK(same_bits(&cpu, got), "%s: not as on the CPU", describe(t));
  free(scratch);
  guarded_free(&cpu.memory);
}

static void check_window(const sample_case *t, const fc_winstat *w, source_fn source, double parameter) {
  const int64_t halo[2][2] = {{w->before[0], w->after[0]}, {w->before[1], w->after[1]}};
  picture in = picture_new(t->kind, t->dtype, t->layout, t->shape, halo);
  picture out = output_for(t, w), cut = output_for(t, w);
  picture_fill(&in, source, parameter, 0);
  if (t->shrink) picture_fill(&in, source_poison, 0, 1);
  picture device_in = to_device(&in), device_out = to_device(&out), device_cut = to_device(&cut);
  run_cuda(w, &device_in.view, &device_out.view);
  run_pieces(w, &device_in.view, &device_cut.view);
  from_device(&out, &device_out), from_device(&cut, &device_cut);
  cudaFree(device_in.memory.base);
  check_picture(t, w, &in, &out, "cuda");
  CHECK(same_bits(&out, &cut), "%s: another result in pieces", describe(t));
  if (!fc_dtype_is_float(t->dtype)) check_like_cpu(t, w, &in, &out);
  CHECK(guarded_intact(&out.memory) && guarded_intact(&cut.memory), "%s: guard bands", describe(t));
  guarded_free(&in.memory), guarded_free(&out.memory), guarded_free(&cut.memory);
}

static void check_case(const sample_case *t, source_fn source, double parameter) {
  fc_winstat w;
  int32_t stats[FC_WINSTAT_STATS];
  int n = random_stats(stats);
  fc_winstat_init(&w, stats, n, t->columns, t->rows, t->shrink, t->compute);
  check_window(t, &w, source, parameter);
}

/* Windows around the sizes where kernels change: 16 rows, 32 and 256 columns and their blocks. */
static void test_random(int count) {
  static const int64_t widths[] = {1, 2, 3, 31, 33, 64, 97, 300}, heights[] = {1, 1, 2, 5, 13, 40};
  static const int64_t columns[] = {1, 2, 3, 15, 32, 33, 64, 65, 100, 256, 257, 300, 513};
  static const int64_t rows[] = {1, 2, 5, 16, 17, 32, 33, 50}, channels[] = {1, 1, 2, 3};
  for (int i = 0; i < count; i++) {
    sample_case t = {0};
    t.kind = (int)random_int(0, 2);
    t.dtype = (int)random_int(0, FC_DTYPE_COUNT - 1);
    t.out_dtype = (int)random_int(FC_F32, FC_F64);
    t.layout = (int)random_int(0, LAYOUTS - 1), t.out_layout = (int)random_int(0, LAYOUTS - 1);
    t.compute = t.dtype == FC_F64 ? FC_F64 : (int)random_int(FC_F32, FC_F64);
    t.shrink = (int)random_int(0, 1);
    t.shape[FC_AXIS_N] = random_int(1, 2), t.shape[FC_AXIS_Y] = PICK(heights);
    t.shape[FC_AXIS_X] = PICK(widths), t.shape[FC_AXIS_C] = PICK(channels);
    t.columns = i % 3 == 1 ? 1 : PICK(columns), t.rows = i % 3 == 0 ? 1 : PICK(rows);
    if (i % 3 == 2 && t.columns * t.rows > 4000) t.rows = 2; /* the definition walks it all */
    check_case(&t, source_random, 0);
  }
}

static void test_offset(void) {
  static const int64_t windows[] = {2, 15, 64, 100, 300};
  for (int i = 0; i < 10; i++) {
    sample_case t = {.kind = FC_AUDIO, .dtype = FC_F32, .out_dtype = FC_F32, .compute = FC_F32};
    t.shape[0] = t.shape[1] = t.rows = 1, t.shape[FC_AXIS_C] = 1 + i % 2;
    t.shape[FC_AXIS_X] = 500, t.columns = PICK(windows);
    t.shrink = i % 3 == 2;
    if (i % 3 == 1) t.kind = FC_IMAGE, t.rows = 17, t.shape[FC_AXIS_Y] = 9;
    check_case(&t, source_offset, 1e6);
  }
}

static void test_extreme(void) {
  for (int i = 0; i < 8; i++) {
    sample_case t = {.kind = i % 3, .dtype = i % 4, .out_dtype = FC_F64, .compute = FC_F32};
    t.shape[0] = t.shape[FC_AXIS_C] = 1;
    t.shape[FC_AXIS_Y] = i % 2 ? 30 : 1, t.shape[FC_AXIS_X] = i % 2 ? 11 : 80;
    t.columns = i % 2 ? 300 : 9000, t.rows = i % 2 ? 150 : 1;
    t.shrink = i % 5 == 4;
    if (t.kind == FC_AUDIO && i % 2) t.kind = FC_ARRAY;
    check_case(&t, source_extreme, 0);
  }
}

/* Rows of windows of several thousand, so that blocks of blocks are held whole. */
static void test_tall(void) {
  for (int i = 0; i < 4; i++) {
    sample_case t = {
        .kind = FC_ARRAY, .dtype = i % 2 ? FC_F32 : FC_U8, .out_dtype = FC_F64, .compute = FC_F32};
    t.shape[0] = t.shape[FC_AXIS_C] = 1, t.shape[FC_AXIS_Y] = 300, t.shape[FC_AXIS_X] = 5;
    t.columns = i < 2 ? 1 : 3, t.rows = 1000 + i, t.shrink = i % 2;
    check_case(&t, source_random, 0);
  }
}

/* Rows of several tiles, windows of whole groups of segments, and one beyond SLIDE_MAX. */
static void test_long(void) {
  static const int64_t windows[] = {14, 127, 700, 1029, 2500, 66000};
  for (int i = 0; i < 12; i++) {
    sample_case t = {.kind = FC_ARRAY, .out_dtype = FC_F32 + i / 3 % 2, .compute = FC_F32};
    t.dtype = i % 2 ? FC_F32 : (int)random_int(FC_U8, FC_I32);
    t.shape[0] = t.shape[FC_AXIS_Y] = t.rows = 1, t.shape[FC_AXIS_C] = 1 + i % 4 / 3;
    t.columns = windows[i % 6], t.shape[FC_AXIS_X] = t.columns > 60000 ? 300 : random_int(4000, 9000);
    t.shrink = i >= 8;
    check_case(&t, source_random, 0);
  }
}

/* Pictures of several strips of columns and blocks of rows, windows around the sizes of segments (16) and the
 * largest that is made in strips. */
static void test_strips(void) {
  static const int64_t sizes[][2] = {{3, 3},   {16, 16}, {17, 17}, {15, 1}, {1, 17}, {33, 18},
                                     {18, 33}, {7, 49},  {48, 5},  {2, 64}, {65, 2}, {256, 1},
                                     {1, 128}, {257, 3}, {3, 129}, {31, 31}};
  for (int i = 0; i < 32; i += trial_step()) {
    sample_case t = {.kind = i % 2 ? FC_IMAGE : FC_ARRAY, .compute = FC_F32, .shrink = i % 3 == 0};
    t.dtype = i < 16 ? FC_F32 : (int)random_int(FC_U8, FC_U16);
    t.out_dtype = i < 20 ? FC_F32 : FC_F64;
    t.layout = i % LAYOUTS, t.out_layout = i / 4 % LAYOUTS;
    t.columns = sizes[i % 16][0], t.rows = sizes[i % 16][1];
    t.shape[0] = 1, t.shape[FC_AXIS_C] = 1 + i % 5;
    t.shape[FC_AXIS_X] = random_int(270, 300), t.shape[FC_AXIS_Y] = random_int(30, 70);
    check_case(&t, i % 4 == 3 && i < 16 ? source_offset : source_random, 1e6);
  }
}

/* Integers that come out as integers. */
static void check_rounded(const sample_case *t, const fc_winstat *w) {
  const int64_t halo[2][2] = {{w->before[0], w->after[0]}, {w->before[1], w->after[1]}};
  picture in = picture_new(t->kind, t->dtype, t->layout, t->shape, halo), out = output_for(t, w);
  picture_fill(&in, source_random, 0, 0);
  picture device_in = to_device(&in), device_out = to_device(&out);
  run_cuda(w, &device_in.view, &device_out.view);
  from_device(&out, &device_out);
  cudaFree(device_in.memory.base);
  check_like_cpu(t, w, &in, &out);
  CHECK(guarded_intact(&out.memory), "%s: guard bands", describe(t));
  guarded_free(&in.memory), guarded_free(&out.memory);
}

/* The same, and however the output is cut. */
static void check_pieces(const sample_case *t, const fc_winstat *w, source_fn source) {
  const int64_t halo[2][2] = {{w->before[0], w->after[0]}, {w->before[1], w->after[1]}};
  picture in = picture_new(t->kind, t->dtype, t->layout, t->shape, halo);
  picture out = output_for(t, w), cut = output_for(t, w);
  picture_fill(&in, source, 0, 0);
  picture device_in = to_device(&in), device_out = to_device(&out), device_cut = to_device(&cut);
  run_cuda(w, &device_in.view, &device_out.view);
  run_pieces(w, &device_in.view, &device_cut.view);
  from_device(&out, &device_out), from_device(&cut, &device_cut);
  cudaFree(device_in.memory.base);
  check_like_cpu(t, w, &in, &out);
  CHECK(same_bits(&out, &cut), "%s: another result in pieces", describe(t));
  CHECK(guarded_intact(&out.memory) && guarded_intact(&cut.memory), "%s: guard bands", describe(t));
  guarded_free(&in.memory), guarded_free(&out.memory), guarded_free(&cut.memory);
}

/* Integers that come out as integers: the same bits as on the CPU, also where sums are divided in single
 * precision. */
static void test_rounding(void) {
  static const int64_t sizes[][2] = {{2, 1}, {3, 3}, {15, 15}, {16, 15}, {15, 17}, {128, 2}, {100, 100}};
  for (int i = 0; i < 28; i += trial_step()) {
    fc_winstat w;
    const int32_t stats[] = {FC_WINSTAT_MEAN, FC_WINSTAT_SUM, FC_WINSTAT_RMS};
    sample_case t = {.kind = i % 3, .dtype = i % 3, .out_dtype = (i + i / 3) % 4, .compute = FC_F32};
    t.columns = sizes[i % 7][0], t.rows = t.kind == FC_AUDIO ? 1 : sizes[i % 7][1], t.shrink = i % 5 == 0;
    t.shape[0] = 1, t.shape[FC_AXIS_C] = 1 + i % 3, t.shape[FC_AXIS_X] = 400;
    t.shape[FC_AXIS_Y] = t.kind == FC_AUDIO ? 1 : 40;
    fc_winstat_init(&w, stats, 3, t.columns, t.rows, t.shrink, t.compute);
    check_rounded(&t, &w);
  }
}

/* A picture of planes whose rows begin at multiples of 64 bytes, or one word beyond. */
static picture plain_picture(const fc_winstat *w, const int64_t shape[FC_AXES], int beyond) {
  int64_t halo[2][2] = {{(w->before[0] + 15) / 16 * 16 + beyond, w->after[0]}, {w->before[1], w->after[1]}};
  halo[0][1] += 16 - (halo[0][0] - beyond + shape[FC_AXIS_X] + halo[0][1]) % 16;
  return picture_new(FC_ARRAY, FC_F32, PLANAR, shape, halo);
}

/* What is written where nothing is in the way of the fastest kernels, cut or not, and what is where words
 * have to be copied one by one: the same, and as the definition has it. */
static void compare_plain(const fc_winstat *w, const sample_case *t, int defined) {
  picture in = plain_picture(w, t->shape, 0), moved = plain_picture(w, t->shape, 1);
  picture out = output_for(t, w), other = output_for(t, w);
  picture_fill(&in, source_random, 0, 0);
  picture_fill(&moved, source_poison, 0, 0);
  for (int64_t c = 0; c < t->shape[FC_AXIS_C]; c++)
    for (int64_t y = -w->before[1]; y < t->shape[FC_AXIS_Y] + w->after[1]; y++)
      memcpy(fc_view_at(&moved.view, 0, y, -w->before[0], c), fc_view_at(&in.view, 0, y, -w->before[0], c),
             (size_t)(w->before[0] + t->shape[FC_AXIS_X] + w->after[0]) * sizeof(float));
  picture device_in = to_device(&in), device_moved = to_device(&moved);
  picture device_out = to_device(&out), device_other = to_device(&other);
  run_cuda(w, &device_in.view, &device_out.view);
  run_cuda(w, &device_moved.view, &device_other.view);
  from_device(&out, &device_out), from_device(&other, &device_other);
  if (defined) check_picture(t, w, &in, &out, "plain");
  CHECK(same_bits(&out, &other), "%s: another result of words apart", describe(t));
  CHECK(guarded_intact(&out.memory) && guarded_intact(&other.memory), "%s: guard bands", describe(t));
  device_other = to_device(&other);
  run_pieces(w, &device_in.view, &device_other.view);
  from_device(&other, &device_other);
  CHECK(same_bits(&out, &other), "%s: another result in pieces", describe(t));
  cudaFree(device_in.memory.base), cudaFree(device_moved.memory.base);
  guarded_free(&in.memory), guarded_free(&moved.memory), guarded_free(&out.memory),
      guarded_free(&other.memory);
}

static void test_plain(void) {
  static const int64_t sizes[][2] = {{3, 3},    {15, 15},  {31, 31}, {2, 17},   {16, 2}, {17, 33},
                                     {32, 40},  {33, 5},   {34, 3},  {3, 1},    {16, 1}, {17, 1},
                                     {33, 1},   {127, 1},  {700, 1}, {1024, 1}, {1, 9},  {1040, 1},
                                     {1041, 1}, {1500, 1}, {5000, 1}};
  static const int32_t stats[][2] = {{FC_WINSTAT_MEAN, FC_WINSTAT_SUMSQ},
                                     {FC_WINSTAT_SUM, FC_WINSTAT_SUMSQ},
                                     {FC_WINSTAT_SUMSQ, FC_WINSTAT_MEAN},
                                     {FC_WINSTAT_RMS, FC_WINSTAT_SUM}};
  for (int i = 0; i < 84; i += trial_step()) {
    fc_winstat w;
    sample_case t = {.kind = FC_ARRAY, .dtype = FC_F32, .out_dtype = FC_F32, .compute = FC_F32};
    t.columns = sizes[i % 21][0], t.rows = sizes[i % 21][1], t.layout = t.out_layout = PLANAR;
    t.shrink = i >= 42;
    fc_winstat_init(&w, stats[i % 4], i < 21 && t.rows > 1 ? 1 : 1 + i % 3 / 2, t.columns, t.rows, t.shrink,
                    FC_F32);
    t.shape[0] = 1, t.shape[FC_AXIS_C] = 1 + i % 2, t.shape[FC_AXIS_Y] = t.rows > 1 ? random_int(30, 70) : 2;
    t.shape[FC_AXIS_X] = t.rows > 1 ? random_int(200, 600) : random_int(4000, 5000);
    compare_plain(&w, &t, 1);
  }
}

/* ---- borders made on the way -------------------------------------------------- */

static fc_status run_edges(const fc_winstat *w, const fc_view *in, const fc_edges *edges,
                           const fc_view *out) {
  void *scratch = NULL;
  const size_t bytes = fc_winstat_cuda_scratch(w, in);
  if (bytes > 0 && cudaMalloc(&scratch, bytes) != cudaSuccess) abort();
  const fc_status status = fc_winstat_cuda_edges(w, in, edges, out, scratch, NULL, NULL);
  CHECK(cudaDeviceSynchronize() == cudaSuccess, "%s", cudaGetErrorString(cudaGetLastError()));
  cudaFree(scratch);
  return status;
}

/* The halo of a picture becomes the border of its inside, which is that of `from`. */
static void fill_border(const picture *to, const picture *from, const fc_edges *edges) {
  const fc_view *v = &from->view;
  for (int64_t n = 0; n < v->shape[0]; n++)
    for (int64_t y = -to->halo[1][0]; y < v->shape[1] + to->halo[1][1]; y++)
      for (int64_t x = -to->halo[0][0]; x < v->shape[2] + to->halo[0][1]; x++)
        for (int64_t c = 0; c < v->shape[3]; c++) {
          const int64_t row = source_of(edges->border, y, v->shape[1]),
                        column = source_of(edges->border, x, v->shape[2]);
          const int inside = row >= 0 && column >= 0;
          memcpy(fc_view_at(&to->view, n, y, x, c),
                 inside ? fc_view_at(v, n, row, column, c) : (const void *)&edges->code,
                 fc_dtype_size(v->dtype));
        }
}

/* To the bit what comes of a border that was made before; or nothing, and it is said so. */
static fc_status check_edges(const sample_case *t, const fc_winstat *w, int border) {
  fc_edges edges = {sizeof edges, border, 0};
  const int64_t halo[2][2] = {{w->before[0], w->after[0]}, {w->before[1], w->after[1]}};
  if (border == FC_BORDER_CONSTANT)
    element_set(&edges.code, t->dtype, fc_dtype_is_float(t->dtype) ? 0.625 : 77);
  picture in = picture_new(t->kind, t->dtype, t->layout, t->shape, no_halo);
  picture bordered = picture_new(t->kind, t->dtype, t->layout, t->shape, halo);
  picture want = output_for(t, w), out = output_for(t, w), none = output_for(t, w);
  picture_fill(&in, source_random, 0, 0);
  fill_border(&bordered, &in, &edges);
  picture device_in = to_device(&in), device_bordered = to_device(&bordered), device_want = to_device(&want),
          device_out = to_device(&out);
  run_cuda(w, &device_bordered.view, &device_want.view);
  const fc_status status = run_edges(w, &device_in.view, &edges, &device_out.view);
  from_device(&want, &device_want), from_device(&out, &device_out);
  cudaFree(device_in.memory.base), cudaFree(device_bordered.memory.base);
  CHECK(status == FC_OK || status == FC_UNSUPPORTED, "%s: border %d: status %d", describe(t), border, status);
  CHECK(same_bits(status == FC_OK ? &want : &none, &out), "%s: another result with its own border %d",
        describe(t), border);
  CHECK(guarded_intact(&out.memory), "%s: guard bands", describe(t));
  guarded_free(&in.memory), guarded_free(&bordered.memory), guarded_free(&want.memory),
      guarded_free(&out.memory), guarded_free(&none.memory);
  return status;
}

/* Sums and their like: of rows of floats, of boxes, shrinking or not; shapes that are shorter than a border,
 * and several tiles, strips and splits long. */
static void test_edges(int rounds) {
  static const int64_t windows[][2] = {{2, 1},     {3, 1},   {15, 1},   {16, 1},   {17, 1},   {31, 1},
                                       {127, 1},   {700, 1}, {1040, 1}, {1041, 1}, {1500, 1}, {5000, 1},
                                       {10000, 1}, {3, 3},   {15, 15},  {16, 2},   {2, 17},   {31, 31},
                                       {33, 5},    {33, 40}, {100, 3},  {8, 128}};
  static const int64_t wide[] = {1, 2, 16, 100, 513, 2048, 4096, 4100, 7000},
                       narrow[] = {1, 5, 17, 301, 4, 16, 240, 256, 300, 512};
  static const int32_t stats[] = {FC_WINSTAT_SUM, FC_WINSTAT_MEAN, FC_WINSTAT_SUMSQ, FC_WINSTAT_RMS};
  int made = 0;
  for (int i = 0; i < rounds; i++) {
    sample_case t = {.kind = (int)random_int(0, 2), .compute = FC_F32, .shrink = i % 7 == 6};
    t.columns = windows[i % 22][0], t.rows = windows[i % 22][1];
    const int flat = t.rows == 1, small = !flat && t.columns * t.rows <= 64 && random_int(0, 1);
    const int plain = random_int(0, 3) > 0;
    t.dtype = small ? (int)random_int(FC_U8, FC_U16) : flat && i % 5 == 0 ? FC_F64 : FC_F32;
    t.out_dtype = random_int(0, 3) ? FC_F32 : (int)random_int(0, FC_DTYPE_COUNT - 1);
    t.layout = (int)random_int(0, LAYOUTS - 1), t.out_layout = (int)random_int(0, LAYOUTS - 1);
    if (plain) t.layout = PLANAR, t.out_layout = PLANAR, t.dtype = t.out_dtype = FC_F32;
    t.shape[FC_AXIS_N] = random_int(1, 2), t.shape[FC_AXIS_C] = random_int(1, 3);
    t.shape[FC_AXIS_Y] = flat ? random_int(1, 3) : random_int(1, 70);
    t.shape[FC_AXIS_X] = flat ? PICK(wide) : narrow[plain ? random_int(4, 9) : random_int(0, 9)];
    fc_winstat w;
    int32_t wanted[2] = {stats[random_int(0, plain && !flat ? 1 : 3)], 0};
    wanted[1] = wanted[0] == FC_WINSTAT_SUM ? FC_WINSTAT_SUMSQ : FC_WINSTAT_SUM;
    const int n = plain && !flat ? 1 : (int)random_int(1, 2);
    fc_winstat_init(&w, wanted, n, t.columns, t.rows, t.shrink, t.compute);
    const int border = t.shrink ? FC_BORDER_NONE : (int)random_int(FC_BORDER_ZERO, FC_BORDER_WRAP);
    made += check_edges(&t, &w, border) == FC_OK;
  }
  CHECK(made >= rounds * 3 / 4, "only %d of %d borders were made on the way", made, rounds);
}

/* One sum or mean as the samples' own type, of narrow images, several or one, and of rows that do not lie
 * plainly. */
static void test_cells(int rounds) {
  static const int64_t windows[][2] = {{15, 1}, {16, 1}, {32, 1}, {3, 3},  {15, 15},
                                       {31, 2}, {33, 9}, {2, 33}, {17, 1}, {5, 31}};
  static const int64_t widths[] = {1, 3, 16, 17, 31, 32, 33, 64, 100, 127, 128, 130, 224, 300},
                       heights[] = {1, 7, 8, 16, 20, 33, 50}, frames[] = {1, 1, 2, 9, 30};
  static const int32_t stats[] = {FC_WINSTAT_SUM, FC_WINSTAT_MEAN};
  static const int dtypes[] = {FC_F32, FC_U8, FC_F32, FC_I16, FC_U16};
  for (int i = 0; i < rounds; i++) {
    fc_winstat w;
    sample_case t = {.kind = i % 2 ? FC_IMAGE : FC_ARRAY, .compute = FC_F32, .shrink = i % 6 == 5};
    t.columns = windows[i % 10][0], t.rows = windows[i % 10][1];
    t.dtype = t.out_dtype = dtypes[i / 10 % 5];
    t.layout = (int)random_int(0, LAYOUTS - 1), t.out_layout = (int)random_int(0, LAYOUTS - 1);
    t.shape[FC_AXIS_C] = random_int(1, 5), t.shape[FC_AXIS_X] = PICK(widths),
    t.shape[FC_AXIS_Y] = PICK(heights);
    t.shape[FC_AXIS_N] = t.shape[FC_AXIS_X] < 128 ? PICK(frames) : 1;
    fc_winstat_init(&w, &stats[random_int(0, 1)], 1, t.columns, t.rows, t.shrink, t.compute);
    check_window(&t, &w, source_random, 0);
    check_edges(&t, &w, t.shrink ? FC_BORDER_NONE : (int)random_int(FC_BORDER_ZERO, FC_BORDER_WRAP));
  }
}

/* Results in single precision of what `want` has in double. */
static int same_values(const picture *want, const picture *got) {
  const int64_t *s = got->view.shape;
  for (int64_t n = 0; n < s[0]; n++)
    for (int64_t y = 0; y < s[1]; y++)
      for (int64_t x = 0; x < s[2]; x++)
        for (int64_t c = 0; c < s[3]; c++) {
          const float a = (float)*(const double *)fc_view_at(&want->view, n, y, x, c);
          if (memcmp(&a, fc_view_at(&got->view, n, y, x, c), sizeof a) != 0) return 0;
        }
  return 1;
}

/* To the bit what comes, as doubles, of the same picture whose border has been made before: of rows by the
 * general kernels, the only ones that write these. */
static void check_general(const sample_case *t, const fc_winstat *w, int border) {
  fc_edges edges = {sizeof edges, border, 0};
  const int64_t halo[2][2] = {{w->before[0], w->after[0]}, {w->before[1], w->after[1]}};
  if (border == FC_BORDER_CONSTANT && t->rows == 1) element_set(&edges.code, t->dtype, 0.625);
  sample_case exact = *t;
  exact.out_dtype = FC_F64;
  picture in = picture_new(t->kind, t->dtype, t->layout, t->shape, no_halo);
  picture bordered = picture_new(t->kind, t->dtype, t->layout, t->shape, halo);
  picture want = output_for(&exact, w), out = output_for(t, w);
  picture_fill(&in, source_random, 0, 0);
  fill_border(&bordered, &in, &edges);
  picture device_in = to_device(&in), device_bordered = to_device(&bordered), device_want = to_device(&want),
          device_out = to_device(&out);
  run_cuda(w, &device_bordered.view, &device_want.view);
  const fc_status status = run_edges(w, &device_in.view, &edges, &device_out.view);
  from_device(&want, &device_want), from_device(&out, &device_out);
  cudaFree(device_in.memory.base), cudaFree(device_bordered.memory.base);
  CHECK(status == FC_OK, "%s: border %d: status %d", describe(t), border, status);
  CHECK(same_values(&want, &out), "%s: another result than in general with border %d", describe(t), border);
  CHECK(guarded_intact(&out.memory), "%s: guard bands", describe(t));
  guarded_free(&in.memory), guarded_free(&bordered.memory), guarded_free(&want.memory),
      guarded_free(&out.memory);
}

/* Sums of floats in boxes: to the bit along rows first, then down. */
static void test_order(int rounds) {
  for (int i = 0; i < rounds; i++) {
    sample_case t = {.kind = FC_ARRAY, .dtype = FC_F32, .out_dtype = FC_F32, .compute = FC_F32};
    t.columns = random_int(1, 31), t.rows = random_int(2, 31);
    t.layout = (int)random_int(0, LAYOUTS - 1), t.out_layout = (int)random_int(0, LAYOUTS - 1);
    t.shape[FC_AXIS_N] = random_int(1, 2), t.shape[FC_AXIS_C] = random_int(1, 3);
    t.shape[FC_AXIS_Y] = random_int(1, 150), t.shape[FC_AXIS_X] = i % 4 ? random_int(1, 300) : 1;
    const int32_t stat = i % 2 ? FC_WINSTAT_SUM : FC_WINSTAT_SUMSQ;
    fc_winstat w;
    fc_winstat_init(&w, &stat, 1, t.columns, t.rows, 0, FC_F32);
    const int64_t halo[2][2] = {{w.before[0], w.after[0]}, {w.before[1], w.after[1]}};
    picture in = picture_new(t.kind, t.dtype, t.layout, t.shape, halo), out = output_for(&t, &w);
    picture_fill(&in, source_random, 0, 0);
    picture device_in = to_device(&in), device_out = to_device(&out);
    run_cuda(&w, &device_in.view, &device_out.view);
    from_device(&out, &device_out);
    int64_t other = 0;
    for (int64_t n = 0; n < t.shape[0]; n++)
      for (int64_t y = 0; y < t.shape[1]; y++)
        for (int64_t x = 0; x < t.shape[2]; x++)
          for (int64_t c = 0; c < t.shape[3]; c++) {
            float row[31], sums[31];
            for (int64_t k = 0; k < t.rows; k++) {
              for (int64_t j = 0; j < t.columns; j++) {
                const float v =
                    *(const float *)fc_view_at(&in.view, n, y - w.before[1] + k, x - w.before[0] + j, c);
                row[j] = i % 2 ? v : v * v;
              }
              sums[k] = sum_in_order(row, t.columns);
            }
            const float want = sum_in_order(sums, t.rows);
            other += memcmp(&want, fc_view_at(&out.view, n, y, x, c), sizeof want) != 0;
          }
    CHECK(other == 0, "%s: %lld sums in another order", describe(&t), (long long)other);
    cudaFree(device_in.memory.base);
    guarded_free(&in.memory), guarded_free(&out.memory);
  }
}

/* Rows that share blocks, channels side by side, single columns, and boxes in images of one row. */
static void test_short(int rounds) {
  static const int64_t wide[] = {1, 1, 2, 5, 16, 31, 32, 100, 224, 511, 512, 777, 1024, 2049},
                       windows[] = {2, 3, 9, 15, 16, 17, 31, 32, 33, 100, 127, 513, 1001, 1040},
                       tall[] = {2, 3, 15, 16, 17, 31};
  static const int32_t stats[] = {FC_WINSTAT_SUM, FC_WINSTAT_MEAN, FC_WINSTAT_SUMSQ, FC_WINSTAT_RMS};
  for (int i = 0; i < rounds; i++) {
    sample_case t = {.kind = FC_ARRAY, .dtype = FC_F32, .out_dtype = FC_F32, .compute = FC_F32};
    fc_winstat w;
    const int flat = i % 4 == 3;
    t.shrink = i % 5 == 4, t.layout = (int)random_int(0, LAYOUTS - 1);
    t.out_layout = (int)random_int(0, LAYOUTS - 1);
    t.columns = windows[random_int(0, flat ? 6 : 13)], t.rows = flat ? PICK(tall) : 1;
    t.shape[FC_AXIS_N] = random_int(1, 3), t.shape[FC_AXIS_C] = random_int(1, i % 11 ? 5 : 18);
    t.shape[FC_AXIS_X] = PICK(wide);
    t.shape[FC_AXIS_Y] = flat ? 1 : random_int(1, t.shape[FC_AXIS_X] > 100 ? 20 : 300);
    const int32_t first = stats[random_int(0, 3)],
                  both[2] = {
                      first,
                      stats[(first == FC_WINSTAT_SUM || first == FC_WINSTAT_MEAN) ? 2 + i % 2 : i % 2]};
    fc_winstat_init(&w, both, 1 + i / 3 % 2, t.columns, t.rows, t.shrink, t.compute);
    check_general(&t, &w, t.shrink ? FC_BORDER_NONE : FC_BORDER_ZERO + (int)random_int(0, 5));
  }
}

/* Means of bytes along rows: pieces of long ones, several short ones and channels side by side, windows that
 * end in chunks of bytes anywhere, and of halves that are rounded to even; images of one column. */
static void test_bytes(int rounds) {
  static const int64_t wide[] = {1, 2, 15, 31, 32, 33, 100, 224, 777, 2730, 8191, 8192, 20000},
                       windows[] = {1, 2, 3, 14, 15, 16, 31, 32, 33, 48, 100, 127, 700, 1001, 1023};
  static const int32_t stats[] = {FC_WINSTAT_MEAN, FC_WINSTAT_SUM};
  for (int i = 0; i < rounds; i++) {
    sample_case t = {.kind = (int)random_int(0, 2), .dtype = FC_U8, .out_dtype = FC_U8, .compute = FC_F32};
    fc_winstat w;
    t.columns = windows[i % 15], t.rows = i % 8 == 7 ? PICK(windows) % 40 : 1, t.shrink = i % 6 == 5;
    t.rows = t.kind == FC_AUDIO || t.rows < 1 ? 1 : t.rows;
    t.layout = (int)random_int(0, LAYOUTS - 1), t.out_layout = random_int(0, 3) ? t.layout : PACKED;
    t.shape[FC_AXIS_N] = random_int(1, 2), t.shape[FC_AXIS_C] = random_int(1, 5);
    t.shape[FC_AXIS_X] = t.rows > 1 ? 1 : PICK(wide);
    t.shape[FC_AXIS_Y] = t.kind == FC_AUDIO          ? 1
                         : t.shape[FC_AXIS_X] < 300  ? random_int(1, 300)
                         : t.shape[FC_AXIS_X] < 3000 ? random_int(1, 8)
                                                     : random_int(1, 2);
    fc_winstat_init(&w, &stats[i % 20 == 19], 1, t.columns, t.rows, t.shrink, t.compute);
    check_pieces(&t, &w, source_random);
    check_edges(&t, &w, t.shrink ? FC_BORDER_NONE : (int)random_int(FC_BORDER_ZERO, FC_BORDER_WRAP));
  }
}

/* The two codes that lie furthest apart, of which windows of an even number of samples have roots that lie
 * halfway between two codes; and two that lie next to each other. */
static double source_corners(int dtype, double parameter) {
  (void)dtype, (void)parameter;
  return random_int(0, 1) ? 255 : 0;
}
static double source_flat(int dtype, double parameter) {
  (void)dtype, (void)parameter;
  return (double)random_int(90, 91);
}

/* Whether codes were cut off is said where, and only where, the CPU says it. */
static void check_notes(const sample_case *t, const fc_winstat *w, source_fn source) {
  const int64_t halo[2][2] = {{w->before[0], w->after[0]}, {w->before[1], w->after[1]}};
  picture in = picture_new(t->kind, t->dtype, t->layout, t->shape, halo), out = output_for(t, w);
  uint32_t cpu[FC_NOTES] = {0}, got[FC_NOTES] = {0};
  void *notes = NULL, *device_scratch = NULL;
  picture_fill(&in, source, 0, 0);
  picture device_in = to_device(&in), device_out = to_device(&out);
  void *scratch = aligned_alloc(64, (fc_winstat_cpu_scratch(w, &in.view) + 63) / 64 * 64);
  fc_winstat_cpu(w, &in.view, &out.view, scratch, cpu);
  free(scratch);
  if (cudaMalloc(&notes, sizeof got) != cudaSuccess || cudaMemset(notes, 0, sizeof got) != cudaSuccess ||
      cudaMalloc(&device_scratch, fc_winstat_cuda_scratch(w, &in.view) + 1) != cudaSuccess)
    abort();
  CHECK(fc_winstat_cuda(w, &device_in.view, &device_out.view, device_scratch, notes, NULL) == FC_OK,
        "launch");
  cudaMemcpy(got, notes, sizeof got, cudaMemcpyDeviceToHost);
  CHECK(memcmp(cpu, got, sizeof got) == 0, "%s: notes %u %u, on the CPU %u %u", describe(t), got[0], got[1],
        cpu[0], cpu[1]);
  cudaFree(notes), cudaFree(device_scratch), cudaFree(device_in.memory.base),
      cudaFree(device_out.memory.base);
  guarded_free(&in.memory), guarded_free(&out.memory);
}

/* Variances and root mean squares of bytes: windows that end in a lane's chunk of a row anywhere, channels
 * side by side and in planes, results that begin anywhere, narrow images and those of several strips and
 * splits, and single rows and columns, some so long that they are cut into rows. */
static void test_squares(int rounds) {
  static const int64_t wide[] = {1, 2, 7, 15, 31, 32, 33, 64, 100, 224, 500, 777, 1030, 1500},
                       tall[] = {1, 2, 3, 8, 17, 33, 70, 200}, frames[] = {1, 1, 2, 9};
  static const int32_t stats[] = {FC_WINSTAT_STD, FC_WINSTAT_VAR, FC_WINSTAT_RMS, FC_WINSTAT_STD};
  static const source_fn sources[] = {source_random, source_corners, source_flat};
  for (int i = 0; i < rounds; i++) {
    sample_case t = {.kind = (int)random_int(0, 2), .dtype = FC_U8, .out_dtype = FC_U8, .compute = FC_F32};
    fc_winstat w;
    t.columns = 1 + i % 34, t.rows = t.kind == FC_AUDIO ? 1 : i % 5 == 4 ? 17 : random_int(1, 16);
    t.layout = (int)random_int(0, LAYOUTS - 1), t.out_layout = random_int(0, 3) ? t.layout : PACKED;
    t.shape[FC_AXIS_C] = random_int(1, 5), t.shape[FC_AXIS_X] = PICK(wide);
    t.shape[FC_AXIS_Y] = t.kind == FC_AUDIO ? 1 : PICK(tall);
    t.shape[FC_AXIS_N] = t.shape[FC_AXIS_X] < 200 ? PICK(frames) : 1;
    if (i % 6 == 5) { /* a single row, or column */
      const int row = t.kind == FC_AUDIO || random_int(0, 1);
      t.shape[FC_AXIS_X] = t.shape[FC_AXIS_Y] = t.shape[FC_AXIS_N] = 1, t.shape[FC_AXIS_C] = random_int(1, 3);
      const int cut = i % 24 == 23;
      t.shape[row ? FC_AXIS_X : FC_AXIS_Y] =
          cut ? random_int(430000, 470000) / t.shape[FC_AXIS_C] : random_int(1000, 9000);
      if (cut && row && t.rows > 2) t.rows = 2; /* it would be mostly halo */
      if (cut && !row && t.columns > 3) t.columns = 3;
    }
    fc_winstat_init(&w, stats + i % 3, 1 + (i % 10 == 8), t.columns, t.rows, 0, t.compute);
    check_pieces(&t, &w, sources[i / 3 % 3]);
    check_notes(&t, &w, sources[i / 3 % 3]);
    for (int border = FC_BORDER_ZERO; border <= FC_BORDER_WRAP; border++) check_edges(&t, &w, border);
  }
}

/* Variances of floats where windows see the border's constant above and below a single row, or beside a
 * single column. */
static void test_alone(int rounds) {
  static const int64_t lengths[] = {1, 3, 16, 40, 100, 700, 3000, 9001};
  static const int32_t stats[] = {FC_WINSTAT_STD, FC_WINSTAT_VAR};
  for (int i = 0; i < rounds; i++) {
    sample_case t = {.kind = FC_ARRAY, .dtype = FC_F32, .out_dtype = FC_F32, .compute = FC_F32};
    fc_winstat w;
    const int row = (int)random_int(0, 2) > 0;
    const int64_t across = random_int(2, 33), around = 2 + i % 32;
    t.columns = row ? across : around, t.rows = row ? around : across;
    t.layout = (int)random_int(0, LAYOUTS - 1), t.out_layout = (int)random_int(0, LAYOUTS - 1);
    t.shape[FC_AXIS_C] = random_int(1, 3), t.shape[FC_AXIS_N] = random_int(1, 3);
    t.shape[FC_AXIS_X] = t.shape[FC_AXIS_Y] = 1, t.shape[row ? FC_AXIS_X : FC_AXIS_Y] = PICK(lengths);
    fc_winstat_init(&w, stats + i % 2, 1, t.columns, t.rows, 0, t.compute);
    const int border = random_int(0, 1) ? FC_BORDER_ZERO : FC_BORDER_CONSTANT;
    CHECK(check_edges(&t, &w, border) == FC_OK, "%s: refused", describe(&t));
  }
}

/* Variances and extremes, and sums beside them: of all types, laid out in every way. */
static void test_edges_others(int rounds) {
  static const int64_t windows[][2] = {{3, 3},  {15, 15}, {16, 2}, {2, 17}, {31, 31}, {33, 5}, {1, 9},
                                       {17, 1}, {1, 33},  {7, 7},  {32, 4}, {5, 1},   {1, 40}};
  static const int64_t heights[] = {1, 2, 15, 16, 17, 40, 75}, widths[] = {1, 5, 17, 64, 240, 301, 600};
  static const int32_t stats[] = {FC_WINSTAT_VAR, FC_WINSTAT_STD, FC_WINSTAT_MIN, FC_WINSTAT_MAX};
  static const int dtypes[] = {FC_U8, FC_I16, FC_U16, FC_F32, FC_F32};
  int made = 0;
  for (int i = 0; i < rounds; i++) {
    sample_case t = {.kind = (int)random_int(1, 2), .compute = FC_F32, .shrink = i % 7 == 6};
    t.columns = windows[i % 13][0], t.rows = windows[i % 13][1];
    t.dtype = t.out_dtype = dtypes[i % 5];
    t.layout = (int)random_int(0, LAYOUTS - 1), t.out_layout = random_int(0, 2) ? t.layout : PLANAR;
    t.shape[FC_AXIS_N] = random_int(1, 2), t.shape[FC_AXIS_C] = random_int(1, 5);
    t.shape[FC_AXIS_Y] = PICK(heights), t.shape[FC_AXIS_X] = PICK(widths);
    fc_winstat w;
    const int first = (int)random_int(0, 3), second = (int)random_int(0, 3);
    const int32_t wanted[2] = {stats[first], stats[second]};
    fc_winstat_init(&w, wanted, first == second ? 1 : 1 + (int)random_int(0, 1), t.columns, t.rows, t.shrink,
                    t.compute);
    const int border = t.shrink ? FC_BORDER_NONE : (int)random_int(FC_BORDER_ZERO, FC_BORDER_WRAP);
    made += check_edges(&t, &w, border) == FC_OK;
  }
  CHECK(made >= rounds / 6, "only %d of %d borders were made on the way", made, rounds);
}

/* Samples of which some are not numbers. */
static double source_gaps(int dtype, double parameter) {
  (void)parameter;
  return fc_dtype_is_float(dtype) && random_int(0, 99) == 0 ? NAN : element_random(dtype);
}

/* Minima, maxima and variances of images that are narrow, several a block of threads, of a few rows, and of
 * one row or column that goes on for several strips. */
static void test_narrow(int rounds) {
  static const int64_t windows[][2] = {{3, 3}, {15, 15}, {15, 1}, {1, 15}, {33, 33}, {32, 17},
                                       {2, 2}, {16, 16}, {17, 5}, {1, 33}, {7, 7}};
  static const int64_t widths[] = {1, 1, 3, 16, 17, 31, 32, 33, 64, 100, 130, 224, 700},
                       heights[] = {1, 4, 7, 8, 16, 20, 33, 50}, frames[] = {1, 1, 2, 9, 30},
                       lengths[] = {1030, 3000, 4099, 9001};
  static const int dtypes[] = {FC_F32, FC_U8, FC_F32, FC_I16, FC_U16};
  static const int32_t stats[] = {FC_WINSTAT_MIN, FC_WINSTAT_MAX, FC_WINSTAT_STD, FC_WINSTAT_VAR};
  for (int i = 0; i < rounds; i++) {
    fc_winstat w;
    sample_case t = {.kind = i % 2 ? FC_IMAGE : FC_ARRAY, .compute = FC_F32, .shrink = i % 6 == 5};
    const int first = (int)random_int(0, 3), second = (first + 1 + (int)random_int(0, 2)) % 4;
    const int32_t wanted[2] = {stats[first], stats[second]};
    t.columns = windows[i % 11][0], t.rows = windows[i % 11][1];
    t.dtype = t.out_dtype = dtypes[i / 11 % 5];
    t.layout = (int)random_int(0, LAYOUTS - 1), t.out_layout = (int)random_int(0, LAYOUTS - 1);
    t.shape[FC_AXIS_C] = random_int(1, 4), t.shape[FC_AXIS_X] = PICK(widths);
    t.shape[FC_AXIS_Y] = PICK(heights), t.shape[FC_AXIS_N] = 1;
    if (t.shape[FC_AXIS_X] <= 33) t.shape[FC_AXIS_N] = PICK(frames);
    if (i % 5 == 4) { /* one row, or one column */
      const int row = (int)random_int(0, 1);
      t.shape[row ? FC_AXIS_Y : FC_AXIS_X] = 1, t.shape[row ? FC_AXIS_X : FC_AXIS_Y] = PICK(lengths);
      t.shape[FC_AXIS_N] = random_int(1, 2);
    }
    const int spread = first > 1 || second > 1;
    fc_winstat_init(&w, wanted, 1 + (int)random_int(0, 1), t.columns, t.rows, t.shrink, t.compute);
    if (fc_dtype_is_float(t.dtype))
      check_window(&t, &w, spread ? source_random : source_gaps, 0);
    else
      check_rounded(&t, &w);
    check_edges(&t, &w, t.shrink ? FC_BORDER_NONE : (int)random_int(FC_BORDER_ZERO, FC_BORDER_WRAP));
  }
}

/* Extremes of bytes, and means in windows that shrink, by kernels that make both axes at once: rows that
 * begin anywhere, strips and cells of warps, windows of one to several pieces. */
static void test_bytes_of_boxes(int rounds) {
  static const int64_t sides[] = {1, 2, 3, 5, 8, 9, 10, 15, 18, 19, 27, 28, 31, 33},
                       widths[] = {1, 2, 5, 16, 31, 33, 100, 224, 479, 481, 700, 1025},
                       heights[] = {1, 2, 8, 17, 40, 75}, lengths[] = {1030, 3000, 9001, 40000};
  static const int32_t stats[] = {FC_WINSTAT_MIN, FC_WINSTAT_MAX, FC_WINSTAT_MEAN};
  for (int i = 0; i < rounds; i++) {
    fc_winstat w;
    sample_case t = {.kind = i % 2 ? FC_IMAGE : FC_ARRAY, .dtype = FC_U8, .out_dtype = FC_U8};
    const int stat = (int)random_int(0, 2);
    t.compute = FC_F32, t.shrink = stat == 2 || i % 7 == 6;
    t.columns = sides[i % 14], t.rows = random_int(0, 3) ? PICK(sides) : 1;
    t.layout = (int)random_int(0, LAYOUTS - 1);
    t.out_layout = random_int(0, 3) ? t.layout : (int)random_int(0, LAYOUTS - 1);
    t.shape[FC_AXIS_N] = random_int(0, 2) ? 1 : random_int(2, 9), t.shape[FC_AXIS_C] = random_int(1, 5);
    t.shape[FC_AXIS_X] = PICK(widths), t.shape[FC_AXIS_Y] = PICK(heights);
    if (i % 9 == 8) {
      const int row = (int)random_int(0, 1);
      t.shape[row ? FC_AXIS_Y : FC_AXIS_X] = 1, t.shape[row ? FC_AXIS_X : FC_AXIS_Y] = PICK(lengths);
    }
    fc_winstat_init(&w, &stats[stat], 1, t.columns, t.rows, t.shrink, t.compute);
    check_rounded(&t, &w);
    check_edges(&t, &w, t.shrink ? FC_BORDER_NONE : (int)random_int(FC_BORDER_ZERO, FC_BORDER_WRAP));
  }
}

/* What cannot be made on the way is refused as a whole. */
static void test_edges_refused(void) {
  static const int32_t stats[][2] = {{FC_WINSTAT_SUM, FC_WINSTAT_VAR}, {FC_WINSTAT_SUM, FC_WINSTAT_MAX}};
  sample_case t = {.kind = FC_ARRAY, .dtype = FC_F32, .out_dtype = FC_F32, .compute = FC_F32};
  t.shape[0] = t.shape[FC_AXIS_C] = 1, t.shape[FC_AXIS_Y] = 20, t.shape[FC_AXIS_X] = 300;
  for (int i = 0; i < 5; i++) {
    fc_winstat w;
    t.columns = i == 1 ? 400 : i == 3 ? 1 : 40, t.rows = i == 3 ? 300 : 1;
    t.compute = i == 4 ? FC_F64 : FC_F32;
    fc_winstat_init(&w, stats[i % 2], i < 3 ? 2 : 1, t.columns, t.rows, i == 2, t.compute);
    CHECK(check_edges(&t, &w, FC_BORDER_REFLECT) == FC_UNSUPPORTED, "%s: not refused", describe(&t));
  }
}

/* All statistics of pictures of several strips, for those of one kernel for both axes: integers that come out
 * as they went in, and as others. */
static void test_extremes(void) {
  static const int64_t sizes[][2] = {{3, 3},  {15, 15}, {31, 31}, {16, 1}, {1, 16}, {33, 2}, {2, 33},
                                     {17, 1}, {1, 17},  {32, 32}, {5, 60}, {1, 90}, {9, 4},  {4, 9}};
  static const int32_t stats[] = {FC_WINSTAT_MAX, FC_WINSTAT_STD, FC_WINSTAT_MIN, FC_WINSTAT_VAR};
  for (int i = 0; i < 84; i += trial_step()) {
    sample_case t = {.kind = i % 3 == 0 ? FC_IMAGE : FC_ARRAY, .compute = FC_F32, .shrink = i % 4 == 1};
    t.dtype = t.out_dtype = (int[]){FC_U8, FC_I16, FC_U16, FC_F32, FC_I32, FC_F32}[i % 6];
    if (i % 6 == 5 || t.dtype != FC_F32) t.out_dtype = i % 2 ? FC_F64 : t.dtype;
    t.layout = i % LAYOUTS, t.out_layout = i / 4 % LAYOUTS;
    t.columns = sizes[i % 14][0], t.rows = sizes[i % 14][1];
    t.shape[0] = 1 + i % 2, t.shape[FC_AXIS_C] = 1 + i % 5;
    t.shape[FC_AXIS_X] = random_int(1, 3) == 1 ? random_int(1, 40) : random_int(200, 600);
    t.shape[FC_AXIS_Y] = random_int(1, 50);
    if (fc_dtype_is_float(t.out_dtype)) {
      check_case(&t, source_random, 0);
      continue;
    }
    fc_winstat w;
    fc_winstat_init(&w, stats + i % 3, 1 + i % 2, t.columns, t.rows, t.shrink, t.compute);
    check_rounded(&t, &w);
  }
}

/* The same pictures laid out in every way, which may be the way of another kernel: the same results. */
static void test_layouts(void) {
  static const int64_t windows[] = {1, 2, 9, 15, 16, 17, 40, 127, 480, 600, 1040, 1100};
  static const int32_t stats[][2] = {{FC_WINSTAT_MEAN, FC_WINSTAT_SUMSQ},
                                     {FC_WINSTAT_RMS, FC_WINSTAT_SUM},
                                     {FC_WINSTAT_SUM, FC_WINSTAT_SUMSQ}};
  for (int i = 0; i < 96; i += trial_step()) {
    fc_winstat w;
    sample_case t = {.kind = FC_ARRAY, .dtype = FC_F32, .out_dtype = FC_F32, .compute = FC_F32};
    t.columns = windows[i % 12], t.rows = 1, t.shrink = i / 12 % 2;
    fc_winstat_init(&w, stats[i % 3], 1 + i / 24 % 2, t.columns, 1, t.shrink, FC_F32);
    t.shape[0] = 1, t.shape[FC_AXIS_C] = 1 + i / 3 % 4, t.shape[FC_AXIS_Y] = random_int(1, 3);
    t.shape[FC_AXIS_X] = random_int(1, 3) == 1 ? random_int(1, 40) : random_int(2000, 9000);
    const int64_t halo[2][2] = {{w.before[0], w.after[0]}, {0, 0}};
    picture source = picture_new(t.kind, t.dtype, PLANAR, t.shape, halo), first = {0};
    picture_fill(&source, source_random, 0, 0);
    for (int layout = 0; layout < LAYOUTS; layout++) {
      t.layout = t.out_layout = layout;
      picture in = picture_new(t.kind, t.dtype, layout, t.shape, halo), out = output_for(&t, &w);
      for (int64_t y = 0; y < t.shape[FC_AXIS_Y]; y++)
        for (int64_t x = -w.before[0]; x < t.shape[FC_AXIS_X] + w.after[0]; x++)
          for (int64_t c = 0; c < t.shape[FC_AXIS_C]; c++)
            *(float *)fc_view_at(&in.view, 0, y, x, c) = *(float *)fc_view_at(&source.view, 0, y, x, c);
      picture device_in = to_device(&in), device_out = to_device(&out);
      run_cuda(&w, &device_in.view, &device_out.view);
      from_device(&out, &device_out);
      cudaFree(device_in.memory.base);
      CHECK(guarded_intact(&out.memory), "%s: guard bands", describe(&t));
      guarded_free(&in.memory);
      if (layout == 0) {
        first = out;
        continue;
      }
      CHECK(same_bits(&first, &out), "%s: another result than in layout 0", describe(&t));
      guarded_free(&out.memory);
    }
    guarded_free(&first.memory), guarded_free(&source.memory);
  }
}

/* Many rows, so that a block goes along a good part of one: only that words that lie plainly, words that have
 * to be copied one by one, and pieces, give the same; what that is has been looked at. */
static void test_many_rows(void) {
  static const int64_t windows[] = {100, 600, 1100, 3000, 9000};
  static const int32_t stats[] = {FC_WINSTAT_MEAN, FC_WINSTAT_SUMSQ};
  for (int i = 0; i < 5; i += trial_step()) {
    fc_winstat w;
    sample_case t = {.kind = FC_ARRAY, .dtype = FC_F32, .out_dtype = FC_F32, .compute = FC_F32};
    t.layout = t.out_layout = PLANAR, t.columns = windows[i], t.rows = 1;
    fc_winstat_init(&w, stats, 2, t.columns, t.rows, 0, FC_F32);
    t.shape[0] = t.shape[FC_AXIS_C] = 1, t.shape[FC_AXIS_Y] = 450,
    t.shape[FC_AXIS_X] = random_int(7000, 9000);
    compare_plain(&w, &t, 0);
  }
}

int main(int argc, char **argv) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    fprintf(stderr, "skipped: no CUDA device\n");
    return SKIPPED;
  }
  random_start(20261122);
  test_bytes(argc > 1 ? atoi(argv[1]) : 240 / trial_step());
  test_squares(argc > 1 ? atoi(argv[1]) : 272 / trial_step());
  test_alone(argc > 1 ? atoi(argv[1]) : 96 / trial_step());
  test_offset();
  test_extreme();
  test_tall();
  test_long();
  test_strips();
  test_plain();
  test_many_rows();
  test_layouts();
  test_rounding();
  test_extremes();
  test_edges_refused();
  test_cells(argc > 1 ? atoi(argv[1]) / 2 : 160 / trial_step());
  test_order(argc > 1 ? atoi(argv[1]) : 60 / trial_step());
  test_short(argc > 1 ? atoi(argv[1]) : 300 / trial_step());
  test_bytes_of_boxes(argc > 1 ? atoi(argv[1]) : 252 / trial_step());
  test_narrow(argc > 1 ? atoi(argv[1]) : 110 / trial_step());
  test_edges_others(argc > 1 ? atoi(argv[1]) : 260 / trial_step());
  test_edges(argc > 1 ? atoi(argv[1]) : 330 / trial_step());
  test_random(argc > 1 ? atoi(argv[1]) : 400 / trial_step());
  return check_result();
}
