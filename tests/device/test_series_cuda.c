/* SPDX-License-Identifier: MIT */
/*
 * test_series_cuda.c - kernels of several windows (filters/gpu/series.cuh) on a CUDA device against kernels
 * of one window each, with f32 between them, bit for bit. Skipped without a device or without NVRTC.
 *
 *     test_series_cuda [JIT]             JIT: the program that compiles, where it is not in the build folder
 *     test_series_cuda --times [JIT]     with the times of both, what series.c estimates, and of a copy, on a
 *                                        device that nobody else uses
 */
#include <cuda_runtime.h>
#include <stdio.h>
#include <string.h>

#include "core/compose/series.h"
#include "core/device/jit.h"
#include "core/device/kernel.h"
#include "tests/device/chains_of_functions.h"
#include "tests/device/some_windows.h"

enum { SKIPPED = 77, MOST = FC_SERIES_WINDOWS };

static guint processors;
static int major, minor;
static const char *compiler, *jit = FILTERCHAIN_JIT;

static void must(gboolean right, const char *what) {
  if (right) return;
  fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(cudaGetLastError()));
  exit(1);
}

/* A kernel of some of a case's windows. */
typedef struct part {
  fc_compose_stage stages[MOST];
  fc_composition what;
  fc_view in, out;
  fc_composed launch;
  GBytes *code;
  fc_kernel *kernel;
  char *complaint;
} part;

typedef struct series_case {
  const char *windows; /* as in some_windows.h */
  int kind, in, out;
  gint64 shape[FC_AXES];
  guint n;
  fc_device_function functions[MOST];
  char entries[MOST][FC_FUNCTION_ENTRY];
  double taps[FC_FUNCTION_BYTES / sizeof(double)];
  part whole, single[MOST];
} series_case;

/* ---- kernels -------------------------------------------------------------------------- */

static void make_part(series_case *c, part *p, guint from, guint n, int in, int out, char *source, char *to) {
  const gint64 *shape = c->shape;
  for (guint i = 0; i < n; i++)
    p->stages[i] = (fc_compose_stage){"window", &c->functions[from + i], i + 1 < n ? FC_F32 : out,
                                      c->kind,  FC_BORDER_REFLECT101,    0};
  p->what = (fc_composition){p->stages, n, FC_F32, 0, FC_BORDER_REFLECT101, 0, n};
  view_make(&p->in, c->kind, in, shape, DENSE, FC_CUDA_DEVICE(0), source);
  view_make(&p->out, c->kind, out, shape, DENSE, FC_CUDA_DEVICE(0), to);
}

static gsize bytes_of(const series_case *c, int dtype) {
  gsize bytes = fc_dtype_size(dtype);
  for (int a = 0; a < FC_AXES; a++) bytes *= (gsize)c->shape[a];
  return bytes + 64;
}

static void make_case(series_case *c, char *source, char *to, char *const links[2]) {
  g_auto(GStrv) names = g_strsplit(c->windows, " ", -1);
  c->n = g_strv_length(names);
  for (gsize i = 0; i < G_N_ELEMENTS(c->taps) * 2; i++) ((float *)c->taps)[i] = 0.9f / (float)(i % 7 + 9);
  for (guint i = 0; i < c->n; i++) window_describe(names[i], &c->functions[i], c->entries[i], c->taps);
  make_part(c, &c->whole, 0, c->n, c->in, c->out, source, to);
  for (guint i = 0; i < c->n; i++)
    make_part(c, &c->single[i], i, 1, i ? FC_F32 : c->in, i + 1 < c->n ? FC_F32 : c->out,
              i ? links[(i - 1) % 2] : source, i + 1 < c->n ? links[i % 2] : to);
}

static void compile(gpointer data, gpointer unused) {
  part *p = data;
  g_autoptr(GError) error = NULL;
  if (!fc_compose(&p->what, &p->in, &p->out, NULL, processors, 0, &p->launch)) {
    p->complaint = g_strdup("no kernel is composed");
    return;
  }
  g_autofree char *text = fc_compose_text(&p->what, &p->in, &p->out, p->launch.variant);
  p->code = fc_jit_compile(jit, compiler, major, minor, text, 0, NULL, &error);
  if (error) p->complaint = g_strdup(error->message);
}

static gboolean load(part *p, guint32 *notes) {
  g_autoptr(GError) error = NULL;
  if (p->complaint || !p->code) return FALSE;
  p->kernel = fc_kernel_load(p->code, &error);
  if (!p->kernel) return p->complaint = g_strdup(error->message), FALSE;
  return fc_compose(&p->what, &p->in, &p->out, notes, processors, fc_kernel_resident(p->kernel), &p->launch);
}

static void run_part(const part *p) {
  must(fc_kernel_launch(p->kernel, &p->launch, NULL) == FC_OK, "launch");
}

static void run_whole(const series_case *c) {
  run_part(&c->whole);
}

static void run_singles(const series_case *c) {
  for (guint i = 0; i < c->n; i++) run_part(&c->single[i]);
}

static void run_copy(const series_case *c) {
  cudaMemcpyAsync(c->whole.out.data, c->whole.in.data, (bytes_of(c, c->in) + bytes_of(c, c->out)) / 2 - 64,
                  cudaMemcpyDeviceToDevice, NULL);
}

static float milliseconds(void (*run)(const series_case *), const series_case *c) {
  float best = 1e9f, ms;
  cudaEvent_t begin, end;
  cudaEventCreate(&begin), cudaEventCreate(&end);
  for (int i = 0; i < 8; i++) {
    cudaEventRecord(begin, NULL), run(c), cudaEventRecord(end, NULL);
    cudaEventSynchronize(end), cudaEventElapsedTime(&ms, begin, end);
    if (i >= 2) best = MIN(best, ms);
  }
  cudaEventDestroy(begin), cudaEventDestroy(end);
  return best;
}

/* ---- cases ---------------------------------------------------------------------------- */

/* Whether both ways give the same bytes. */
static gboolean is_same(const series_case *c, char *to) {
  const gsize bytes = bytes_of(c, c->out) - 64;
  g_autofree char *a = g_malloc(bytes), *b = g_malloc(bytes);
  must(cudaMemset(to, 0xa5, bytes) == cudaSuccess, "clear");
  run_whole(c);
  must(cudaMemcpy(a, to, bytes, cudaMemcpyDeviceToHost) == cudaSuccess &&
           cudaMemset(to, 0x5a, bytes) == cudaSuccess,
       "kernel");
  run_singles(c);
  must(cudaMemcpy(b, to, bytes, cudaMemcpyDeviceToHost) == cudaSuccess, "kernels");
  return memcmp(a, b, bytes) == 0;
}

static void show_times(const series_case *c) {
  double joined = 0, apart = 0;
  const double million = (double)(bytes_of(c, FC_U8) - 64) * 1e-12; /* ns a million samples to ms */
  const gboolean pays = fc_series_pays(&c->whole.what, c->in, c->shape, &joined, &apart);
  const float whole = milliseconds(run_whole, c), singles = milliseconds(run_singles, c),
              copy = milliseconds(run_copy, c);
  printf("%-24s %-4s %-4s %5dx%-8dx%d %7.4f %7.4f %6.2f  est %7.4f %7.4f %5.2f %c  copy %6.4f %5.2f  %u "
         "blocks\n",
         c->windows, fc_dtype_name(c->in), fc_dtype_name(c->out), (int)(c->shape[0] * c->shape[1]),
         (int)c->shape[2], (int)c->shape[3], (double)whole, (double)singles, (double)(singles / whole),
         joined * million, apart * million, apart / joined, pays ? '+' : '-', (double)copy,
         (double)(copy / whole), fc_kernel_resident(c->whole.kernel));
}

#define SOUND(c)                                                                                             \
  FC_AUDIO, FC_F32, FC_F32, {                                                                                \
    1, 1, 30000000 / (c), c                                                                                  \
  }
#define SOUND_OF(t, c)                                                                                       \
  FC_AUDIO, t, t, {                                                                                          \
    1, 1, 30000000 / (c), c                                                                                  \
  }
#define IMAGE(t, c)                                                                                          \
  FC_IMAGE, t, t, {                                                                                          \
    1, 4000, 7500 / (c), c                                                                                   \
  }
#define SMALL(t, c)                                                                                          \
  FC_IMAGE, t, t, {                                                                                          \
    280 / (c), 325, 325, c                                                                                   \
  }

static series_case cases[] = {{"d3x1 d3x1", SOUND(1)},
                              {"d9x1 d9x1", SOUND(1)},
                              {"d31x1 d31x1", SOUND(1)},
                              {"d9x1 d9x1 d9x1", SOUND(1)},
                              {"d9x1 d9x1", SOUND(2)},
                              {"d31x1 d31x1", SOUND(2)},
                              {"d9x1 d9x1", SOUND(4)},
                              {"d9x1 m9", SOUND(1)},
                              {"m18 d9x1", SOUND(2)},
                              {"d3x1 d5x1", SOUND_OF(FC_U8, 1)},
                              {"d15x1 d15x1", SOUND_OF(FC_U8, 2)},
                              {"d9x1 m9", SOUND_OF(FC_U8, 2)},
                              {"d9x1 d31x1", SOUND_OF(FC_I16, 1)},
                              {"d9x1 d9x1", SOUND_OF(FC_I16, 4)},
                              {"s3x3 s3x3", IMAGE(FC_F32, 1)},
                              {"s5x5 s5x5", IMAGE(FC_F32, 1)},
                              {"s9x9 s9x9", IMAGE(FC_F32, 1)},
                              {"s15x15 s15x15", IMAGE(FC_F32, 1)},
                              {"s5x5 s5x5 s5x5", IMAGE(FC_F32, 1)},
                              {"d3x3 d3x3", IMAGE(FC_F32, 1)},
                              {"d5x5 s9x9", IMAGE(FC_F32, 1)},
                              {"d7x7 d7x7", IMAGE(FC_F32, 1)},
                              {"d5x1 d1x5", IMAGE(FC_F32, 1)},
                              {"s5x5 s5x5", IMAGE(FC_F32, 3)},
                              {"s9x9 s9x9", IMAGE(FC_F32, 4)},
                              {"s5x5 s5x5", IMAGE(FC_U8, 1)},
                              {"s9x9 s9x9", IMAGE(FC_U8, 1)},
                              {"s5x5 s5x5", IMAGE(FC_U8, 3)},
                              {"s15x15 s9x9", IMAGE(FC_U8, 3)},
                              {"d3x3 d5x5", IMAGE(FC_U16, 1)},
                              {"d5x5 s9x9", IMAGE(FC_U16, 2)},
                              {"s5x5 s5x5", SMALL(FC_F32, 1)},
                              {"s9x9 s9x9", SMALL(FC_F32, 1)},
                              {"d5x5 s5x5", SMALL(FC_U16, 3)},
                              {"s9x9 d5x5 d3x3", SMALL(FC_U8, 2)},
                              {"d3x3 m5", SMALL(FC_U8, 4)},
                              {"s7x7 s7x7", IMAGE(FC_F32, 1)},
                              {"s13x13 s5x5", IMAGE(FC_U16, 1)},
                              {"d3x3 s3x3", IMAGE(FC_U8, 3)}};

static void fill(char *source, gsize bytes) {
  g_autofree guint32 *noise = g_malloc(bytes);
  guint64 state = 7;
  for (gsize i = 0; i < bytes / 4; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    noise[i] = (guint32)(state >> 33) | 0x3e000000; /* floats of some size as well as any bytes */
    noise[i] &= 0x3fffffff;
  }
  must(cudaMemcpy(source, noise, bytes, cudaMemcpyHostToDevice) == cudaSuccess, "upload");
}

int main(int argc, char **argv) {
  enum { MEMORY = 124 << 20 };
  int devices = 0, failures = 0;
  gboolean times = FALSE;
  for (int i = 1; i < argc; i++)
    if (strcmp(argv[i], "--times") == 0)
      times = TRUE;
    else
      jit = argv[i];
  compiler = fc_jit_find_compiler();
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0 || !compiler) {
    fprintf(stderr, "no %s: skipped\n", compiler ? "CUDA device" : "libnvrtc");
    return SKIPPED;
  }
  char *source, *to, *links[2];
  guint32 *notes;
  must(fc_kernel_device(&major, &minor, &processors) == FC_OK, "device");
  must(cudaMalloc((void **)&source, MEMORY) == cudaSuccess &&
           cudaMalloc((void **)&to, MEMORY) == cudaSuccess &&
           cudaMalloc((void **)&links[0], MEMORY) == cudaSuccess &&
           cudaMalloc((void **)&links[1], MEMORY) == cudaSuccess &&
           cudaMalloc((void **)&notes, 256) == cudaSuccess && cudaMemset(notes, 0, 256) == cudaSuccess,
       "memory");
  fill(source, MEMORY);
  GThreadPool *pool = g_thread_pool_new(compile, NULL, (int)g_get_num_processors(), FALSE, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    series_case *c = &cases[i];
    make_case(c, source, to, links);
    g_thread_pool_push(pool, &c->whole, NULL);
    for (guint k = 0; k < c->n; k++) g_thread_pool_push(pool, &c->single[k], NULL);
  }
  g_thread_pool_free(pool, FALSE, TRUE);
  if (times) printf("windows, types, size, ms joined, ms apart, ratio, estimates of these, of a copy\n");
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    series_case *c = &cases[i];
    gboolean loaded = load(&c->whole, notes);
    for (guint k = 0; k < c->n; k++) loaded = loaded && load(&c->single[k], notes);
    if (!loaded) printf("%s: %s\n", c->windows, c->whole.complaint ? c->whole.complaint : "no kernel");
    if (loaded && times) show_times(c);
    const gboolean same = loaded && is_same(c, to);
    if (loaded && !same) printf("%s %s: not as its windows\n", c->windows, fc_dtype_name(c->in));
    failures += !same;
    fc_kernel_unload(c->whole.kernel);
    for (guint k = 0; k < c->n; k++) fc_kernel_unload(c->single[k].kernel);
  }
  printf("%d of %u not as their windows\n", failures, (guint)G_N_ELEMENTS(cases));
  return failures ? 1 : 0;
}
