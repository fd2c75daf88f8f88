/* SPDX-License-Identifier: MIT */
/*
 * test_composed_cuda.c - composed kernels on a CUDA device against their stages run one by one by the kernels
 * of filters/, bit for bit with what is noted: all pairs of types, kinds, layouts, links of integers, odd
 * sizes, NaN and what is out of range; and random chains. Functions of neighbours against windows. Nothing is
 * written beside the output. Skipped without a device or without NVRTC.
 *
 *     test_composed_cuda [--seed N] [--random N]     N random chains besides
 *     test_composed_cuda --times                     beside a copy of as many bytes, on a device that nobody
 * else uses
 */
#include <cuda_runtime.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/base/private_files.h"
#include "core/device/kernel.h"
#include "core/device/kernel_cache.h"
#include "filters/matrix/matrix.h"
#include "tests/device/chains_of_functions.h"

enum { SKIPPED = 77, MOST_STAGES = 5, MEMORY = 24 << 20 };

static char *in_memory, *out_memory, *link_memory[2], *host_a, *host_b;
static guint32 *notes;
static GRand *numbers;
static guint processors;
static int major, minor, failures;
static const char *compiler;
static char *folder;

static void must(gboolean right, const char *what) {
  if (right) return;
  fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(cudaGetLastError()));
  exit(1);
}

typedef struct trial {
  stage stages[MOST_STAGES];
  guint n;
  int compute, kind, in_dtype;
  view_layout in_layout, out_layout;
  gint64 shape[4]; /* of the input */
  fc_view in, out;
  gsize out_bytes;
  launch *launch;
  GBytes *code;
  char *complaint;
} trial;

/* ---- trials --------------------------------------------------------------------- */

static int pick(int from, int to) {
  return g_rand_int_range(numbers, from, to);
}

static stage stage_of(stage_kind kind, int dtype, gint64 channels, double unit) {
  stage s = {.kind = kind, .dtype = dtype, .in = channels, .out = channels};
  s.op.factor = g_rand_double_range(numbers, -1.5, 1.5),
  s.op.from = unit * g_rand_double_range(numbers, -1, 1);
  s.op.to = unit * g_rand_double_range(numbers, -1, 1);
  s.op.low = unit * g_rand_double_range(numbers, -1, 0),
  s.op.high = unit * g_rand_double_range(numbers, 0.1, 1.2);
  for (int i = 0; i < 16; i++) s.matrix[i] = g_rand_double_range(numbers, -0.9, 0.9);
  for (int i = 0; i < 4; i++) s.offset[i] = unit * g_rand_double_range(numbers, -0.2, 0.2);
  stage_set_curve(&s, unit, g_rand_double(numbers));
  stage_set_color(&s, unit, pick(0, 100), pick(0, 100));
  if (kind == MATRIX) s.out = pick(1, 5);
  return s;
}

/* `pixels`: with at least one stage that takes pixels. */
static trial *trial_new(int in_dtype, int out_dtype, gboolean pixels, guint n, gboolean integer_links) {
  static const gint64 shapes[][3] = {{1, 61, 997}, {3, 17, 130}, {1, 1, 100003},
                                     {2, 33, 31},  {1, 5, 4096}, {1, 700, 1}};
  trial *t = g_new0(trial, 1);
  const gint64 *shape = shapes[pick(0, G_N_ELEMENTS(shapes))];
  gint64 channels = pixels ? pick(1, 5) : pick(1, 4);
  memcpy(t->shape, shape, 3 * sizeof *shape), t->shape[3] = channels;
  t->compute = in_dtype == FC_F64 || out_dtype == FC_F64 || pick(0, 8) == 0 ? FC_F64 : FC_F32;
  t->kind = pick(0, FC_KIND_COUNT), t->in_dtype = in_dtype, t->n = n;
  t->in_layout = (view_layout)pick(0, VIEW_LAYOUTS), t->out_layout = (view_layout)pick(0, VIEW_LAYOUTS);
  if (pick(0, 2)) t->out_layout = t->in_layout;
  const double unit = t->kind == FC_AUDIO ? 1 : 300;
  for (guint i = 0; i < n; i++) {
    const gboolean pixel = pixels && (i == n / 2 || pick(0, 3) == 0);
    int link = t->compute;
    if (integer_links && pick(0, 2)) link = pick(FC_U8, FC_F32 + 1);
    const stage_kind kind = pixel ? (stage_kind)pick(GAINS, COLOR + 1) : (stage_kind)pick(COPY, GAINS);
    t->stages[i] = stage_of(kind, i + 1 == n ? out_dtype : link, channels, unit);
    channels = t->stages[i].out;
  }
  return t;
}

static void trial_compose(trial *t) {
  fc_compose_stage described[MOST_STAGES];
  gint64 out[4];
  memcpy(out, t->shape, sizeof out);
  for (guint i = 0; i < t->n; i++) stage_prepare(&t->stages[i], t->compute);
  out[3] = t->stages[t->n - 1].out;
  stages_describe(t->stages, t->n, t->kind, described);
  must(view_make(&t->in, t->kind, t->in_dtype, t->shape, t->in_layout, FC_CUDA_DEVICE(0), in_memory) <=
           MEMORY,
       "memory");
  t->out_bytes = view_make(&t->out, t->kind, t->stages[t->n - 1].dtype, out, t->out_layout, FC_CUDA_DEVICE(0),
                           out_memory);
  must(t->out_bytes <= MEMORY, "memory");
  t->launch = launch_new(described, t->n, t->compute, &t->in, &t->out, notes, processors);
  if (!t->launch) t->complaint = g_strdup("no kernel is composed");
}

static void trial_compile(gpointer data, gpointer unused) {
  trial *t = data;
  g_autoptr(GError) error = NULL;
  fc_kernel_origin origin;
  if (!t->launch) return;
  t->code = fc_kernel_make(&(fc_kernel_maker){FILTERCHAIN_JIT, compiler, folder, NULL, NULL}, major, minor,
                           t->launch->text, TRUE, &origin, &error);
  if (error) t->complaint = g_strdup(error->message);
}

static void trial_free(gpointer data) {
  trial *t = data;
  launch_free(t->launch);
  if (t->code) g_bytes_unref(t->code);
  g_free(t->complaint);
  g_free(t);
}

/* ---- the stages one by one ----------------------------------------------------------- */

static void *to_device(const void *from, gsize bytes) {
  void *to = NULL;
  must(cudaMalloc(&to, bytes) == cudaSuccess &&
           cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice) == cudaSuccess,
       "table");
  return to;
}

static fc_status run_matrix(const stage *s, int compute, const fc_view *in, const fc_view *out) {
  fc_matrix m;
  fc_matrix_init(&m, compute, FC_ISA_BASE, FC_AXIS_C, s->out, s->in);
  g_autofree char *matrix = g_malloc0(fc_matrix_bytes(&m)), *offset = g_malloc0(fc_matrix_offset_bytes(&m));
  fc_matrix_fill(&m, matrix, offset, s->matrix, s->offset);
  void *device_matrix = to_device(matrix, fc_matrix_bytes(&m)),
       *device_offset = to_device(offset, fc_matrix_offset_bytes(&m));
  m.matrix = device_matrix, m.offset = device_offset;
  const fc_status status = fc_matrix_cuda(&m, in, out, NULL, notes, NULL); /* small: no scratch */
  must(cudaDeviceSynchronize() == cudaSuccess, "matrix");
  cudaFree(device_matrix), cudaFree(device_offset);
  return status;
}

static fc_status run_stage(const stage *s, int compute, const fc_view *in, const fc_view *out) {
  if (s->kind == MATRIX) return run_matrix(s, compute, in, out);
  if (s->kind == COLOR) {
    const fc_status status = fc_color_cuda(&s->color, in, out, NULL, notes);
    must(cudaDeviceSynchronize() == cudaSuccess, "color");
    return status;
  }
  fc_pointwise op = s->op;
  const gboolean each = s->kind == GAINS || s->kind == AFFINES;
  void *factors = each ? to_device(s->function.bytes, s->function.n_bytes) : NULL;
  op.factors = factors;
  const fc_status status = fc_pointwise_cuda(&op, in, out, NULL, notes);
  must(cudaDeviceSynchronize() == cudaSuccess, "pointwise");
  cudaFree(factors);
  return status;
}

static fc_status run_one_by_one(const trial *t) {
  fc_view from = t->in;
  fc_status status = FC_OK;
  for (guint i = 0; i < t->n && status == FC_OK; i++) {
    fc_view to = t->out;
    gint64 shape[4];
    memcpy(shape, t->shape, sizeof shape), shape[3] = t->stages[i].out;
    if (i + 1 < t->n)
      must(view_make(&to, t->kind, t->stages[i].dtype, shape, DENSE, FC_CUDA_DEVICE(0), link_memory[i % 2]) <=
               MEMORY,
           "link");
    status = run_stage(&t->stages[i], t->compute, &from, &to);
    from = to;
  }
  return status;
}

/* ---- both --------------------------------------------------------------------------------- */

/* Noise over the whole range of integers; floats about full scale, with what is not a number or huge now and
 * then. */
static void fill_input(int dtype, int kind) {
  const gsize count = MEMORY / fc_dtype_size(dtype);
  const double unit = kind == FC_AUDIO ? 1.2 : 300;
  guint64 state = g_rand_int(numbers);
  for (gsize i = 0; i < count; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const guint32 r = (guint32)(state >> 32);
    double v = (double)(gint32)r * 0x1p-31 * unit;
    if (r % 509 == 0) v = r & 512 ? NAN : r & 1024 ? INFINITY : -1e30;
    if (dtype == FC_F32)
      ((float *)host_a)[i] = (float)v;
    else if (dtype == FC_F64)
      ((double *)host_a)[i] = v;
    else
      memcpy(host_a + i * fc_dtype_size(dtype), &r, fc_dtype_size(dtype));
  }
  must(cudaMemcpy(in_memory, host_a, MEMORY, cudaMemcpyHostToDevice) == cudaSuccess, "upload");
}

static void fetch(const trial *t, char *to, guint32 noted[2]) {
  must(cudaDeviceSynchronize() == cudaSuccess, "kernel");
  must(cudaMemcpy(to, out_memory, t->out_bytes, cudaMemcpyDeviceToHost) == cudaSuccess, "download");
  must(cudaMemcpy(noted, notes, 8, cudaMemcpyDeviceToHost) == cudaSuccess, "download");
}

static void clear(void) {
  must(cudaMemset(out_memory, 0xa5, MEMORY) == cudaSuccess && cudaMemset(notes, 0, 8) == cudaSuccess,
       "clear");
}

static char *describe(const trial *t) {
  static const char *const kinds[] = {"copy",      "gain",   "range",   "clip",   "affine", "curve",
                                      "threshold", "gains",  "affines", "matrix", "color",  "mix",
                                      "placed",    "placed", "sum",     "sum"};
  GString *s = g_string_new(NULL);
  g_string_append_printf(s, "%s, kind %d, %s, layouts %d %d, %dx%dx%dx%d %s",
                         t->launch ? fc_compose_skeleton(t->launch->composed.variant) : "?", t->kind,
                         t->compute == FC_F64 ? "f64" : "f32", t->in_layout, t->out_layout, (int)t->shape[0],
                         (int)t->shape[1], (int)t->shape[2], (int)t->shape[3], fc_dtype_name(t->in_dtype));
  for (guint i = 0; i < t->n; i++)
    g_string_append_printf(s, " %s>%s", kinds[t->stages[i].kind], fc_dtype_name(t->stages[i].dtype));
  return g_string_free(s, FALSE);
}

static void fail(const trial *t, const char *why) {
  g_autofree char *about = describe(t);
  printf("not as its stages: %s: %s\n", about, why);
  failures++;
}

static void trial_check(const trial *t) {
  g_autoptr(GError) error = NULL;
  guint32 noted_a[2], noted_b[2];
  if (t->complaint || !t->code) return fail(t, t->complaint ? t->complaint : "no code");
  fc_kernel *kernel = fc_kernel_load(t->code, &error);
  if (!kernel) return fail(t, error->message);
  fill_input(t->in_dtype, t->kind);
  clear();
  if (fc_kernel_launch(kernel, &t->launch->composed, NULL) != FC_OK) fail(t, "launch");
  fetch(t, host_a, noted_a);
  clear();
  const fc_status status = run_one_by_one(t);
  if (status != FC_OK) fail(t, "a stage by itself failed");
  fetch(t, host_b, noted_b);
  fc_kernel_unload(kernel);
  gsize differ = 0, first = 0;
  for (gsize i = 0; i < t->out_bytes; i++)
    if (host_a[i] != host_b[i] && differ++ == 0) first = i;
  g_autofree char *why =
      g_strdup_printf("%" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " bytes differ, the first %" G_GSIZE_FORMAT
                      "; notes %u%u for %u%u",
                      differ, t->out_bytes, first, noted_a[0], noted_a[1], noted_b[0], noted_b[1]);
  if (differ || memcmp(noted_a, noted_b, sizeof noted_a) != 0) fail(t, why);
}

/* Sums of neighbours by a function and by a window's kernel, with stages on both sides. */
static void check_around(int in_dtype, int out_dtype) {
  static const gint64 shapes[][3] = {{1, 61, 997}, {3, 17, 130}, {2, 33, 311}};
  trial *t[2] = {trial_new(in_dtype, out_dtype, FALSE, 3, FALSE), NULL};
  guint32 noted[2][2];
  t[0]->compute = FC_F32, t[0]->kind = FC_IMAGE, t[0]->out_layout = t[0]->in_layout;
  t[0]->stages[0] = stage_of(GAIN, FC_F32, 1, 300), t[0]->stages[2] = stage_of(RANGE, out_dtype, 1, 300);
  t[0]->stages[1] = stage_of(AROUND_SUM, FC_F32, 1, 300);
  memcpy(t[0]->shape, shapes[pick(0, 3)], sizeof shapes[0]);
  for (int i = 0; i < 3; i++) t[0]->stages[i].in = t[0]->stages[i].out = t[0]->shape[3];
  t[1] = g_memdup2(t[0], sizeof *t[0]);
  t[1]->stages[1].kind = DENSE_SUM;
  fill_input(in_dtype, FC_IMAGE);
  for (int i = 0; i < 2; i++) {
    trial_compose(t[i]), trial_compile(t[i], NULL);
    fc_kernel *kernel = t[i]->code ? fc_kernel_load(t[i]->code, NULL) : NULL;
    clear();
    if (!kernel || fc_kernel_launch(kernel, &t[i]->launch->composed, NULL) != FC_OK)
      fail(t[i], t[i]->complaint ? t[i]->complaint : "launch");
    fetch(t[i], i ? host_b : host_a, noted[i]);
    fc_kernel_unload(kernel);
  }
  if (memcmp(host_a, host_b, t[0]->out_bytes) != 0 || memcmp(noted[0], noted[1], sizeof noted[0]) != 0)
    fail(t[0], "a function of neighbours differs from the window");
  trial_free(t[0]), trial_free(t[1]);
}

/* ---- times ------------------------------------------------------------------------------------ */

static float milliseconds(void (*run)(const void *), const void *with) {
  float best = 1e9f, ms;
  cudaEvent_t begin, end;
  cudaEventCreate(&begin), cudaEventCreate(&end);
  for (int i = 0; i < 12; i++) {
    cudaEventRecord(begin, NULL), run(with), cudaEventRecord(end, NULL);
    cudaEventSynchronize(end), cudaEventElapsedTime(&ms, begin, end);
    if (i >= 2) best = MIN(best, ms);
  }
  cudaEventDestroy(begin), cudaEventDestroy(end);
  return best;
}

typedef struct measured {
  const trial *t;
  const fc_kernel *kernel;
  void *to, *from;
  gsize bytes;
} measured;

static void run_kernel(const void *with) {
  const measured *m = with;
  (void)fc_kernel_launch(m->kernel, &m->t->launch->composed, NULL);
}
static void run_copy(const void *with) {
  const measured *m = with;
  cudaMemcpyAsync(m->to, m->from, m->bytes, cudaMemcpyDeviceToDevice, NULL);
}

/* A chain on noise of y x x x c, beside a copy of half the bytes that it moves. */
static void show_time(const char *name, trial *t, int in_dtype, int out_dtype, gint64 y, gint64 x, gint64 c) {
  gint64 shape[] = {1, y, x, c},
         out_shape[] = {1, y, x, t->stages[t->n - 1].kind == MATRIX ? t->stages[t->n - 1].out : c};
  fc_compose_stage described[MOST_STAGES * 2];
  const gsize in_bytes = (gsize)(y * x * c) * fc_dtype_size(in_dtype),
              out_bytes = (gsize)(y * x * out_shape[3]) * fc_dtype_size(out_dtype);
  g_autoptr(GError) error = NULL;
  char *from = NULL, *to = NULL;
  must(cudaMalloc((void **)&from, MAX(in_bytes, (in_bytes + out_bytes) / 2) + 64) == cudaSuccess &&
           cudaMalloc((void **)&to, MAX(out_bytes, (in_bytes + out_bytes) / 2) + 64) == cudaSuccess,
       "memory");
  for (gsize at = 0; at < in_bytes; at += MEMORY)
    must(cudaMemcpy(from + at, in_memory, MIN(in_bytes - at, (gsize)MEMORY), cudaMemcpyDeviceToDevice) ==
             cudaSuccess,
         "fill");
  t->stages[t->n - 1].dtype = out_dtype;
  for (guint i = 0; i < t->n; i++) stage_prepare(&t->stages[i], FC_F32);
  stages_describe(t->stages, t->n, FC_IMAGE, described);
  view_make(&t->in, FC_IMAGE, in_dtype, shape, DENSE, FC_CUDA_DEVICE(0), from);
  view_make(&t->out, FC_IMAGE, out_dtype, out_shape, DENSE, FC_CUDA_DEVICE(0), to);
  t->launch = launch_new(described, t->n, FC_F32, &t->in, &t->out, notes, processors);
  must(t->launch != NULL, name);
  const gint64 begin = g_get_monotonic_time();
  t->code = fc_jit_compile(FILTERCHAIN_JIT, compiler, major, minor, t->launch->text, 0, NULL, &error);
  const gint64 compiled = g_get_monotonic_time();
  fc_kernel *kernel = t->code ? fc_kernel_load(t->code, &error) : NULL;
  const gint64 loaded = g_get_monotonic_time();
  measured m = {t, kernel, to, from, (in_bytes + out_bytes) / 2};
  if (kernel) {
    const float ms = milliseconds(run_kernel, &m), copy = milliseconds(run_copy, &m);
    printf("%s: %.4f ms, copy %.4f ms, %.3f of it; compiled in %.0f ms, loaded in %.2f ms\n", name, ms, copy,
           copy / ms, (double)(compiled - begin) / 1e3, (double)(loaded - compiled) / 1e3);
  } else {
    printf("%s: %s\n", name, error->message);
  }
  fc_kernel_unload(kernel);
  cudaFree(from), cudaFree(to);
}

static void show_times(void) {
  const stage gain = {.kind = GAIN, .dtype = FC_F32, .in = 1, .out = 1, .op = {.factor = 1.1}};
  const stage clip = {.kind = CLIP, .dtype = FC_F32, .in = 1, .out = 1, .op = {.low = 2, .high = 250}};
  const stage range = {
      .kind = RANGE, .dtype = FC_F32, .in = 1, .out = 1, .op = {.from = 16, .factor = 1.164}};
  const stage mix = {.kind = MATRIX,
                     .dtype = FC_F32,
                     .in = 3,
                     .out = 3,
                     .matrix = {0.5, 0.3, 0.2, 0.1, 0.8, 0.1, 0.25, 0.25, 0.5},
                     .offset = {3, -2, 1}};
  const stage luma = {.kind = MATRIX, .dtype = FC_F32, .in = 3, .out = 1, .matrix = {0.299, 0.587, 0.114}};
  const stage around = {.kind = AROUND_SUM,
                        .dtype = FC_F32,
                        .in = 1,
                        .out = 1,
                        .matrix = {-1, 0.1, 0.1, 0.2, 2, 0.2, 0.1, 0.1, -1}};
  stage dense = around;
  dense.kind = DENSE_SUM;
  struct {
    const char *name;
    stage stages[MOST_STAGES];
    guint n;
    int in, out;
    gint64 y, x, c;
  } all[] = {
      {"5 pointwise, 12288^2 f32", {gain, clip, range, gain, clip}, 5, FC_F32, FC_F32, 12288, 12288, 1},
      {"gain, 12288^2 f32", {gain}, 1, FC_F32, FC_F32, 12288, 12288, 1},
      {"gain, 12288^2 u8", {gain}, 1, FC_U8, FC_U8, 12288, 12288, 1},
      {"3x3 matrix, gain, clip, 12288^2 u8 RGB", {mix, gain, clip}, 3, FC_U8, FC_U8, 12288, 12288, 3},
      {"3x3 matrix, 8192^2 f32 RGB", {mix}, 1, FC_F32, FC_F32, 8192, 8192, 3},
      {"luma, 12288^2 u8 RGB", {luma}, 1, FC_U8, FC_U8, 12288, 12288, 3},
      {"3x3 neighbours, 12288^2 f32", {gain, around, clip}, 3, FC_F32, FC_F32, 12288, 12288, 1},
      {"3x3 window, 12288^2 f32", {gain, dense, clip}, 3, FC_F32, FC_F32, 12288, 12288, 1},
      {"3x3 neighbours, 12288^2 u8", {gain, around, clip}, 3, FC_U8, FC_U8, 12288, 12288, 1},
      {"3x3 window, 12288^2 u8", {gain, dense, clip}, 3, FC_U8, FC_U8, 12288, 12288, 1},
      {"convert with gain, 64 x 1080p u8 RGB to f32", {gain}, 1, FC_U8, FC_F32, 64 * 1080, 1920, 3},
      {"3x3 matrix, 64 x 1080p u8 RGB to f32", {mix}, 1, FC_U8, FC_F32, 64 * 1080, 1920, 3}};
  fill_input(FC_U8, FC_IMAGE);
  for (guint i = 0; i < G_N_ELEMENTS(all); i++) {
    trial *t = g_new0(trial, 1);
    memcpy(t->stages, all[i].stages, sizeof all[i].stages), t->n = all[i].n;
    show_time(all[i].name, t, all[i].in, all[i].out, all[i].y, all[i].x, all[i].c);
    trial_free(t);
  }
}

/* ---- all ------------------------------------------------------------------------------------------ */

static GPtrArray *all_trials(int random) {
  GPtrArray *all = g_ptr_array_new_with_free_func(trial_free);
  for (int in = 0; in < FC_DTYPE_COUNT; in++)
    for (int out = 0; out < FC_DTYPE_COUNT; out++)
      for (int pixels = 0; pixels < 2; pixels++) g_ptr_array_add(all, trial_new(in, out, pixels, 2, FALSE));
  for (int i = 0; i < random; i++)
    g_ptr_array_add(all, trial_new(pick(0, FC_DTYPE_COUNT), pick(0, FC_DTYPE_COUNT), pick(0, 2),
                                   (guint)pick(1, MOST_STAGES + 1), pick(0, 2)));
  return all;
}

int main(int argc, char **argv) {
  int devices = 0, seed = 1, random = 60;
  gboolean times = FALSE;
  for (int i = 1; i < argc; i++) {
    if (strcmp(argv[i], "--times") == 0) times = TRUE;
    if (strcmp(argv[i], "--seed") == 0 && i + 1 < argc) seed = atoi(argv[i + 1]);
    if (strcmp(argv[i], "--random") == 0 && i + 1 < argc) random = atoi(argv[i + 1]);
  }
  compiler = fc_jit_find_compiler();
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0 || !compiler) {
    fprintf(stderr, "no %s: skipped\n", compiler ? "CUDA device" : "libnvrtc");
    return SKIPPED;
  }
  numbers = g_rand_new_with_seed((guint32)seed);
  host_a = g_malloc(MEMORY), host_b = g_malloc(MEMORY), folder = fc_private_folder("kernels");
  must(fc_kernel_device(&major, &minor, &processors) == FC_OK, "device");
  must(cudaMalloc((void **)&in_memory, MEMORY) == cudaSuccess &&
           cudaMalloc((void **)&out_memory, MEMORY) == cudaSuccess &&
           cudaMalloc((void **)&link_memory[0], MEMORY) == cudaSuccess &&
           cudaMalloc((void **)&link_memory[1], MEMORY) == cudaSuccess &&
           cudaMalloc((void **)&notes, 256) == cudaSuccess,
       "memory");
  if (times) {
    show_times();
    return 0;
  }
  GPtrArray *all = all_trials(random);
  GThreadPool *pool = g_thread_pool_new(trial_compile, NULL, (int)g_get_num_processors(), FALSE, NULL);
  for (guint i = 0; i < all->len; i++) trial_compose(g_ptr_array_index(all, i));
  const gint64 begin = g_get_monotonic_time();
  for (guint i = 0; i < all->len; i++) g_thread_pool_push(pool, g_ptr_array_index(all, i), NULL);
  g_thread_pool_free(pool, FALSE, TRUE);
  printf("seed %d, %s: %u kernels in %.1f s\n", seed, compiler, all->len,
         (double)(g_get_monotonic_time() - begin) / 1e6);
  for (guint i = 0; i < all->len; i++) trial_check(g_ptr_array_index(all, i));
  for (int in = 0; in < FC_F64; in++)
    for (int out = 0; out < FC_F64; out++)
      if (in != FC_I32 && out != FC_I32) check_around(in, out);
  printf("%d of %u not as their stages\n", failures, all->len);
  g_ptr_array_unref(all);
  return failures ? 1 : 0;
}
