/* SPDX-License-Identifier: MIT */
/*
 * test_winstat_cuda.c - sliding statistics on a CUDA device against the definition: exact for
 * integers, and then the same bits as on the CPU; within the bound of direct summation
 * for floats; the same bits however the output is cut. Nothing beyond the output is
 * written. Skipped without a device.
 */
#include <cuda_runtime_api.h>

#include "tests/filters/winstat_check.h"

#define SKIPPED 77

/* A device copy of a picture's memory, guard bands and all, and the view of it. */
static picture to_device(const picture *p) {
  picture d = *p;
  size_t total = p->memory.bytes + 2 * GUARD_BYTES;
  if (cudaMalloc((void **)&d.memory.base, total) != cudaSuccess) abort();
  cudaMemcpy(d.memory.base, p->memory.base, total, cudaMemcpyHostToDevice);
  d.view.data = d.memory.base + ((unsigned char *)p->view.data - p->memory.base);
  d.view.device = 0;
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

static void check_case(const sample_case *t, source_fn source, double parameter) {
  fc_winstat w;
  int32_t stats[FC_WINSTAT_STATS];
  int n = random_stats(stats);
  fc_winstat_init(&w, stats, n, t->columns, t->rows, t->shrink, t->compute);
  const int64_t halo[2][2] = {{w.before[0], w.after[0]}, {w.before[1], w.after[1]}};
  picture in = picture_new(t->kind, t->dtype, t->layout, t->shape, halo);
  picture out = output_for(t, &w), cut = output_for(t, &w);
  picture_fill(&in, source, parameter, 0);
  if (t->shrink) picture_fill(&in, source_poison, 0, 1);
  picture device_in = to_device(&in), device_out = to_device(&out), device_cut = to_device(&cut);
  run_cuda(&w, &device_in.view, &device_out.view);
  run_pieces(&w, &device_in.view, &device_cut.view);
  from_device(&out, &device_out), from_device(&cut, &device_cut);
  cudaFree(device_in.memory.base);
  check_picture(t, &w, &in, &out, "cuda");
  CHECK(same_bits(&out, &cut), "%s: another result in pieces", describe(t));
  if (!fc_dtype_is_float(t->dtype)) check_like_cpu(t, &w, &in, &out);
  CHECK(guarded_intact(&out.memory) && guarded_intact(&cut.memory), "%s: guard bands", describe(t));
  guarded_free(&in.memory), guarded_free(&out.memory), guarded_free(&cut.memory);
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
    const int64_t halo[2][2] = {{w.before[0], w.after[0]}, {w.before[1], w.after[1]}};
    picture in = picture_new(t.kind, t.dtype, t.layout, t.shape, halo), out = output_for(&t, &w);
    picture_fill(&in, source_random, 0, 0);
    picture device_in = to_device(&in), device_out = to_device(&out);
    run_cuda(&w, &device_in.view, &device_out.view);
    from_device(&out, &device_out);
    cudaFree(device_in.memory.base);
    check_like_cpu(&t, &w, &in, &out);
    CHECK(guarded_intact(&out.memory), "%s: guard bands", describe(&t));
    guarded_free(&in.memory), guarded_free(&out.memory);
  }
}

/* A picture of planes whose rows begin at multiples of 64 bytes, or one word beyond. */
static picture plain_picture(const fc_winstat *w, const int64_t shape[FC_AXES], int beyond) {
  int64_t halo[2][2] = {{(w->before[0] + 15) / 16 * 16 + beyond, w->after[0]}, {w->before[1], w->after[1]}};
  halo[0][1] += 16 - (halo[0][0] - beyond + shape[FC_AXIS_X] + halo[0][1]) % 16;
  return picture_new(FC_ARRAY, FC_F32, PLANAR, shape, halo);
}

/* What is written where nothing is in the way of the fastest kernels, cut or not, and what is where words
 * have to be copied one by one: the same. */
static void check_plain(const fc_winstat *w, const sample_case *t) {
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
  check_picture(t, w, &in, &out, "plain");
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
  for (int i = 0; i < 42; i += trial_step()) {
    fc_winstat w;
    sample_case t = {.kind = FC_ARRAY, .dtype = FC_F32, .out_dtype = FC_F32, .compute = FC_F32};
    t.columns = sizes[i % 21][0], t.rows = sizes[i % 21][1], t.layout = t.out_layout = PLANAR;
    fc_winstat_init(&w, stats[i % 4], i < 21 && t.rows > 1 ? 1 : 1 + i % 3 / 2, t.columns, t.rows, 0, FC_F32);
    t.shape[0] = 1, t.shape[FC_AXIS_C] = 1 + i % 2, t.shape[FC_AXIS_Y] = t.rows > 1 ? random_int(30, 70) : 2;
    t.shape[FC_AXIS_X] = t.rows > 1 ? random_int(200, 600) : random_int(4000, 5000);
    check_plain(&w, &t);
  }
}

int main(int argc, char **argv) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    fprintf(stderr, "skipped: no CUDA device\n");
    return SKIPPED;
  }
  random_start(20261122);
  test_offset();
  test_extreme();
  test_tall();
  test_long();
  test_strips();
  test_plain();
  test_rounding();
  test_random(argc > 1 ? atoi(argv[1]) : 400 / trial_step());
  return check_result();
}
