/* SPDX-License-Identifier: MIT */
/*
 * oracle.c - what the filters give on a GPU, as hashes of their bits, and how long they take: to be run
 * before and after a change that is to keep either.
 *
 *     filterchain-oracle [--repeats N] [--only OPERATOR] > before
 *     filterchain-oracle ... > after && tests/bench/oracle.py before after
 *
 * A line a case: operator and parameters, types, shape, layout, border, the hash (FNV-1a of the output's
 * elements in their order, not of gaps), its notes, and the median of N launches in us. Inputs are the same
 * in every run. "refused" is an answer too. Exit status 77 without a GPU. Launchers of filters/ alone: no
 * plan, no chain.
 */
#include <cuda_runtime.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "filters/conv1d/conv1d.h"
#include "filters/filter2d/conv2d.h"
#include "filters/filter2d/sepconv.h"
#include "filters/fourier/dct_fft.h"
#include "filters/fourier/dft.h"
#include "filters/gemm/gemm.h"
#include "filters/matrix/matrix.h"
#include "filters/pointwise/dither.h"
#include "filters/pointwise/gather.h"
#include "filters/pointwise/pointwise.h"
#include "filters/stats/stats.h"
#include "filters/winstat/winstat.h"

#define SKIPPED 77
/* Of a border that has been made: what the largest windows see. */
enum { MARGIN_ROWS = 20, MARGIN_PIXELS = 160, MOST_REPEATS = 100 };

static int repeats = 5;
static const char *only;
static char *device_in, *device_out, *device_scratch, *host; /* device memory but for the last */
static size_t in_bytes, out_bytes;
enum { SCRATCH = 64 << 20 };
static uint32_t *notes;
static cudaEvent_t begin_event, end_event;

static void must(int right, const char *what) {
  if (right) return;
  fprintf(stderr, "filterchain-oracle: %s: %s\n", what, cudaGetErrorString(cudaGetLastError()));
  exit(1);
}

/* ---- signals --------------------------------------------------------------- */

typedef enum layout { INTERLEAVED, PLANAR, CUT_OUT, LAYOUTS } layout;
static const char *const layout_names[] = {"interleaved", "planar", "cut out"};

typedef struct signal {
  int64_t n, y, x, c;
} signal;

/* Dense or with a gap behind each row, begun one element off; `room`: with readable neighbours all around. */
static fc_view view_of(const signal *s, int dtype, layout l, char *memory, int room) {
  const int64_t size = (int64_t)fc_dtype_size(dtype), gap = l == CUT_OUT ? 3 : 0;
  const int64_t rows = s->y + (room ? 2 * MARGIN_ROWS : 0), columns = s->x + (room ? 2 * MARGIN_PIXELS : 0);
  fc_view v = {.size = sizeof v, .dtype = dtype, .kind = FC_ARRAY, .device = FC_CUDA_DEVICE(0)};
  const int64_t shape[] = {s->n, s->y, s->x, s->c};
  for (int a = 0; a < FC_AXES; a++) v.shape[a] = v.extent[a] = shape[a];
  if (l == PLANAR) {
    v.stride[FC_AXIS_X] = size, v.stride[FC_AXIS_Y] = columns * size;
    v.stride[FC_AXIS_C] = rows * v.stride[FC_AXIS_Y], v.stride[FC_AXIS_N] = s->c * v.stride[FC_AXIS_C];
  } else {
    v.stride[FC_AXIS_C] = size, v.stride[FC_AXIS_X] = s->c * size;
    v.stride[FC_AXIS_Y] = (columns * s->c + gap) * size, v.stride[FC_AXIS_N] = rows * v.stride[FC_AXIS_Y];
  }
  v.data = memory + (gap ? size : 0);
  if (room) v.data = fc_view_at(&v, 0, MARGIN_ROWS, MARGIN_PIXELS, 0);
  const int64_t all = (l == PLANAR ? s->c * rows : rows) * v.stride[FC_AXIS_Y] * s->n + size;
  must(memory != device_in || all <= (int64_t)in_bytes, "an input within its memory");
  return v;
}

/* Codes over their whole range, floats in [-1, 1): the same in every run. */
static void fill(int dtype) {
  uint64_t state = 12345;
  const size_t count = in_bytes / fc_dtype_size(dtype);
  for (size_t i = 0; i < count; i++) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    const uint32_t r = (uint32_t)(state >> 32);
    switch (dtype) {
    case FC_U8: ((uint8_t *)host)[i] = (uint8_t)r; break;
    case FC_I16:
    case FC_U16: ((uint16_t *)host)[i] = (uint16_t)r; break;
    case FC_I32: ((int32_t *)host)[i] = (int32_t)r; break;
    case FC_F32: ((float *)host)[i] = (float)(int32_t)r * 0x1p-31f; break;
    default: ((double *)host)[i] = (double)(int32_t)r * 0x1p-31;
    }
  }
  must(cudaMemcpy(device_in, host, in_bytes, cudaMemcpyHostToDevice) == cudaSuccess, "upload");
}

/* Bytes from the memory that a view was made in to its last element. */
static size_t span_of(const fc_view *v, const char *memory) {
  const char *last = fc_view_at(v, v->shape[0] - 1, v->shape[1] - 1, v->shape[2] - 1, v->shape[3] - 1);
  return (size_t)(last - memory) + fc_dtype_size(v->dtype);
}

static uint64_t hash_of(const fc_view *out) {
  const size_t size = fc_dtype_size(out->dtype);
  uint64_t h = 14695981039346656037u;
  fc_view v = *out;
  v.data = host + ((char *)out->data - device_out);
  for (int64_t n = 0; n < v.shape[0]; n++)
    for (int64_t y = 0; y < v.shape[1]; y++)
      for (int64_t x = 0; x < v.shape[2]; x++)
        for (int64_t c = 0; c < v.shape[3]; c++) {
          uint64_t element = 0;
          memcpy(&element, fc_view_at(&v, n, y, x, c), size);
          h = (h ^ element) * 1099511628211u;
        }
  return h;
}

/* ---- a case ------------------------------------------------------------------ */

typedef struct job job;
struct job {
  const char *name;
  fc_status (*run)(const job *j);
  const void *op;
  fc_view in, out;
  const fc_edges *edges;
  int aux;
};

static int ascending(const void *a, const void *b) {
  const float x = *(const float *)a, y = *(const float *)b;
  return (x > y) - (x < y);
}

static void measure(const job *j, const char *about) {
  float times[MOST_REPEATS];
  uint32_t noted[2] = {0, 0};
  const size_t bytes = span_of(&j->out, device_out);
  must(bytes <= out_bytes, "views within memory");
  must(cudaMemset(device_out, 0xa5, bytes) == cudaSuccess && cudaMemset(notes, 0, 8) == cudaSuccess, "fill");
  const fc_status status = j->run(j);
  printf("%s %s %s>%s %" PRId64 "x%" PRId64 "x%" PRId64 "x%" PRId64 " %s: ", j->name, about,
         fc_dtype_name(j->in.dtype), fc_dtype_name(j->out.dtype), j->in.shape[0], j->in.shape[1],
         j->in.shape[2], j->in.shape[3],
         !j->edges                                  ? "border made"
         : j->edges->border == FC_BORDER_REFLECT101 ? "reflect101"
                                                    : "zero");
  if (status != FC_OK) {
    printf("refused %d\n", (int)status);
    return;
  }
  must(cudaDeviceSynchronize() == cudaSuccess, j->name);
  must(cudaMemcpy(host, device_out, bytes, cudaMemcpyDeviceToHost) == cudaSuccess, "download");
  must(cudaMemcpy(noted, notes, 8, cudaMemcpyDeviceToHost) == cudaSuccess, "download");
  const uint64_t h = hash_of(&j->out);
  for (int i = 0; i < repeats; i++) {
    cudaEventRecord(begin_event, NULL);
    j->run(j);
    cudaEventRecord(end_event, NULL);
    cudaEventSynchronize(end_event);
    cudaEventElapsedTime(&times[i], begin_event, end_event);
  }
  qsort(times, (size_t)repeats, sizeof times[0], ascending);
  printf("%016" PRIx64 " %u%u %.1f\n", h, noted[0], noted[1], repeats ? times[repeats / 2] * 1e3 : 0.);
}

static int wanted(const char *name) {
  return !only || strcmp(only, name) == 0;
}

/* Copies host tables behind one another to the device; they stay. */
static void *to_device(const void *from, size_t bytes) {
  void *to = NULL;
  must(cudaMalloc(&to, bytes) == cudaSuccess &&
           cudaMemcpy(to, from, bytes, cudaMemcpyHostToDevice) == cudaSuccess,
       "tables");
  return to;
}

/* Numbers of a mask: not symmetric, of sum 1. */
static void *taps_of(int64_t count, int compute) {
  void *taps = calloc((size_t)count, fc_dtype_size(compute));
  double sum = 0;
  for (int64_t i = 0; i < count; i++) sum += (double)(1 + i * 7 % 11);
  for (int64_t i = 0; taps && i < count; i++)
    if (compute == FC_F32)
      ((float *)taps)[i] = (float)((double)(1 + i * 7 % 11) / sum);
    else
      ((double *)taps)[i] = (double)(1 + i * 7 % 11) / sum;
  must(taps != NULL, "memory");
  return taps;
}

/* ---- operators ------------------------------------------------------------------ */

static fc_status run_conv1d(const job *j) {
  return j->edges ? fc_conv1d_cuda_edges(j->op, &j->in, j->edges, &j->out, NULL, NULL, notes)
                  : fc_conv1d_cuda(j->op, &j->in, &j->out, NULL, notes);
}
static fc_status run_conv2d(const job *j) {
  return j->edges ? fc_conv2d_cuda_edges(j->op, &j->in, j->edges, &j->out, NULL, NULL, notes)
                  : fc_conv2d_cuda(j->op, &j->in, &j->out, NULL, notes);
}
static fc_status run_sepconv(const job *j) {
  return j->edges ? fc_sepconv_cuda_edges(j->op, &j->in, j->edges, &j->out, NULL, NULL, notes)
                  : fc_sepconv_cuda(j->op, &j->in, &j->out, NULL, NULL, notes);
}
static fc_status run_winstat(const job *j) {
  if (fc_winstat_cuda_scratch(j->op, &j->in) > SCRATCH) return FC_NO_MEMORY;
  return j->edges ? fc_winstat_cuda_edges(j->op, &j->in, j->edges, &j->out, device_scratch, notes, NULL)
                  : fc_winstat_cuda(j->op, &j->in, &j->out, device_scratch, notes, NULL);
}
static fc_status run_pointwise(const job *j) {
  return fc_pointwise_cuda(j->op, &j->in, &j->out, NULL, notes);
}
static fc_status run_dither(const job *j) {
  return fc_dither_cuda(j->op, &j->in, &j->out, NULL, notes);
}
static fc_status run_matrix(const job *j) {
  if (fc_matrix_device_scratch(j->op, &j->out) > SCRATCH) return FC_NO_MEMORY;
  return fc_matrix_cuda(j->op, &j->in, &j->out, device_scratch, notes, NULL);
}
static fc_status run_dct(const job *j) {
  return fc_dct_fft_cuda(j->op, &j->in, &j->out, device_scratch, notes, NULL);
}
static fc_status run_dft(const job *j) {
  return fc_dft_cuda(j->op, &j->in, &j->out, device_scratch, SCRATCH, notes, NULL);
}
static fc_status run_stats(const job *j) {
  if (fc_stats_cuda_scratch(&j->in, 1 << 20) > SCRATCH) return FC_NO_MEMORY;
  return fc_stats_cuda(&j->in, 1 << 20, device_out, (int64_t)fc_stats_block_bytes(j->in.shape[FC_AXIS_C]),
                       device_scratch, NULL);
}

static const signal signals[] = {{1, 1, 100003, 1}, {1, 1, 50001, 2}, {1, 512, 1024, 1}, {1, 255, 1021, 3},
                                 {8, 112, 112, 3},  {1, 200, 301, 4}, {1, 7, 4099, 1},   {1, 10000, 1, 1}};
enum { SIGNALS = sizeof signals / sizeof signals[0] };
static const fc_edges borders[] = {{sizeof(fc_edges), FC_BORDER_REFLECT101, 0},
                                   {sizeof(fc_edges), FC_BORDER_ZERO, 0}};

/* Each signal, layout and border, stored as the input is and as f32. `twice`: outputs have so many channels
 * for each. */
static void each_view(job *j, const char *about, int dtype, int neighbours, int twice) {
  char text[160];
  for (int s = 0; s < SIGNALS; s++)
    for (layout l = 0; l < LAYOUTS; l++)
      for (int border = 0; border < (neighbours ? 3 : 1); border++)
        for (int to_float = 0; to_float <= (dtype != FC_F32 && dtype != FC_F64); to_float++) {
          if (l != INTERLEAVED && (border == 2 || s == 1))
            continue; /* for speed: such a border is tried in one layout */
          signal out = signals[s];
          out.c *= twice;
          j->edges = border ? &borders[border - 1] : NULL;
          j->in = view_of(&signals[s], dtype, l, device_in, neighbours && !border);
          j->out = view_of(&out, to_float ? FC_F32 : dtype, l, device_out, 0);
          snprintf(text, sizeof text, "%s %s", about, layout_names[l]);
          measure(j, text);
        }
}

static void all_conv1d(int dtype) {
  static const int64_t lengths[] = {3, 15, 31, 127};
  for (int i = 0; i < 4; i++)
    for (int axis = FC_AXIS_Y; axis <= FC_AXIS_X; axis++) {
      char about[40];
      const int compute = dtype == FC_F64 ? FC_F64 : FC_F32;
      const int64_t taps = axis == FC_AXIS_Y && lengths[i] > 31 ? 21 : lengths[i];
      void *mask = taps_of(taps, compute);
      fc_conv1d c = {
          .mask = mask, .taps = taps, .masks = 1, .before = taps / 2, .axis = axis, .compute = compute};
      c.device_mask = to_device(mask, (size_t)taps * fc_dtype_size(compute));
      snprintf(about, sizeof about, "%s %d", axis == FC_AXIS_Y ? "y" : "x", (int)taps);
      each_view(&(job){.name = "conv1d", .run = run_conv1d, .op = &c}, about, dtype, 1, 1);
      cudaFree((void *)(uintptr_t)c.device_mask);
      free(mask);
    }
}

static void all_2d(int dtype, int separable) {
  static const int64_t sizes[][2] = {{3, 3}, {5, 9}, {7, 7}, {15, 15}, {31, 31}};
  for (int i = 0; i < (separable ? 5 : 4); i++) {
    char about[40];
    const int compute = dtype == FC_F64 ? FC_F64 : FC_F32;
    const int64_t nx = sizes[i][0], ny = sizes[i][1];
    void *mask = taps_of(nx * ny, compute), *x = taps_of(nx, compute), *y = taps_of(ny, compute);
    fc_conv2d dense = {.compute = compute, .nx = nx, .ny = ny, .mask = mask};
    fc_sepconv rank_one = {.compute = compute, .rank = 1, .nx = nx, .ny = ny, .x = x, .y = y};
    dense.device_mask = to_device(mask, (size_t)(nx * ny) * fc_dtype_size(compute));
    rank_one.device_x = to_device(x, (size_t)nx * fc_dtype_size(compute));
    rank_one.device_y = to_device(y, (size_t)ny * fc_dtype_size(compute));
    snprintf(about, sizeof about, "%dx%d", (int)nx, (int)ny);
    if (separable)
      each_view(&(job){.name = "sepconv", .run = run_sepconv, .op = &rank_one}, about, dtype, 1, 1);
    else
      each_view(&(job){.name = "conv2d", .run = run_conv2d, .op = &dense}, about, dtype, 1, 1);
    cudaFree((void *)(uintptr_t)dense.device_mask);
    cudaFree((void *)(uintptr_t)rank_one.device_x);
    cudaFree((void *)(uintptr_t)rank_one.device_y);
    free(mask), free(x), free(y);
  }
}

static void all_winstat(int dtype) {
  static const int32_t stats[] = {FC_WINSTAT_MEAN, FC_WINSTAT_SUMSQ, FC_WINSTAT_STD, FC_WINSTAT_MAX};
  static const int64_t windows[][2] = {{15, 1}, {319, 1}, {7, 7}, {31, 31}, {63, 17}};
  for (int s = 0; s < 4; s++)
    for (int i = 0; i < 5; i++) {
      char about[40];
      fc_winstat w;
      must(fc_winstat_init(&w, &stats[s], 1, windows[i][0], windows[i][1], 0,
                           dtype == FC_F64 ? FC_F64 : FC_F32) == FC_OK,
           "winstat");
      snprintf(about, sizeof about, "stat %d %dx%d", stats[s], (int)windows[i][0], (int)windows[i][1]);
      each_view(&(job){.name = "winstat", .run = run_winstat, .op = &w}, about, dtype, 1, 1);
    }
}

static void all_samplewise(int dtype) {
  const int compute = dtype == FC_F64 ? FC_F64 : FC_F32;
  static const char *const forms[] = {"copy", "scale", "map", "clamp"};
  for (int form = FC_POINTWISE_COPY; form <= FC_POINTWISE_CLAMP; form++) {
    const fc_pointwise p = {
        .form = form, .compute = compute, .from = 0.25, .factor = 0.7, .to = 0.5, .low = -0.5, .high = 0.5};
    each_view(&(job){.name = "pointwise", .run = run_pointwise, .op = &p}, forms[form], dtype, 0, 1);
  }
  const fc_dither d = {.compute = compute, .seed = 7, .step = 1};
  each_view(&(job){.name = "dither", .run = run_dither, .op = &d}, "", dtype, 0, 1);
}

/* rows x cols along an axis of whole blocks. */
static void one_matrix(int dtype, int axis, int64_t rows, int64_t cols, const signal *s) {
  char about[60];
  const int compute = dtype == FC_F64 ? FC_F64 : FC_F32;
  fc_matrix m;
  fc_matrix_init(&m, compute, 0, axis, rows, cols);
  double *numbers = malloc((size_t)(rows * cols) * sizeof *numbers);
  char *laid = calloc(1, fc_matrix_bytes(&m) + 64), *offset = calloc(1, fc_matrix_offset_bytes(&m) + 64);
  must(numbers && laid && offset, "memory");
  for (int64_t i = 0; i < rows * cols; i++)
    numbers[i] = (double)((i * 37 + 11) % 101 - 50) / (50. * (double)cols);
  fc_matrix_fill(&m, laid, NULL, numbers, NULL);
  m.matrix = to_device(laid, fc_matrix_bytes(&m));
  signal to = *s;
  int64_t *shape = axis == FC_AXIS_C ? &to.c : &to.x;
  *shape = *shape / cols * rows;
  job j = {.name = "matrix", .run = run_matrix, .op = &m};
  for (layout l = 0; l < LAYOUTS; l++) {
    j.in = view_of(s, dtype, l, device_in, 0), j.out = view_of(&to, dtype, l, device_out, 0);
    snprintf(about, sizeof about, "%dx%d axis %d %s", (int)rows, (int)cols, axis, layout_names[l]);
    measure(&j, about);
  }
  cudaFree((void *)(uintptr_t)m.matrix);
  free(numbers), free(laid), free(offset);
}

static void all_matrix(int dtype) {
  const signal rgb = {1, 255, 1021, 3}, rgba = {1, 200, 301, 4}, blocks = {1, 300, 1024, 1};
  one_matrix(dtype, FC_AXIS_C, 3, 3, &rgb);
  one_matrix(dtype, FC_AXIS_C, 1, 3, &rgb);
  one_matrix(dtype, FC_AXIS_C, 3, 4, &rgba);
  one_matrix(dtype, FC_AXIS_X, 8, 8, &blocks);
  one_matrix(dtype, FC_AXIS_X, 64, 64, &blocks);
}

static void all_transforms(int dtype) {
  static const int64_t sizes[] = {8, 32, 60, 512};
  const int compute = dtype == FC_F64 ? FC_F64 : FC_F32;
  for (int i = 0; i < 4; i++) {
    char about[40];
    const signal s = {1, 101, 4096 / sizes[i] * sizes[i], 1};
    signal bins = s;
    fc_dct_fft *plan = aligned_alloc(64, (fc_dct_fft_bytes(sizes[i], compute) + 63) / 64 * 64);
    const fc_dct dct = {sizes[i], 2, 1, 0};
    must(plan && fc_dct_fft_init(plan, &dct, compute, 0, FC_AXIS_X, sizes[i], sizes[i]) == FC_OK, "dct");
    void *device_plan = to_device(plan, fc_dct_fft_bytes(sizes[i], compute));
    plan->device = device_plan;
    job j = {.name = "dct", .run = run_dct, .op = plan};
    j.in = view_of(&s, dtype, INTERLEAVED, device_in, 0),
    j.out = view_of(&s, compute, INTERLEAVED, device_out, 0);
    snprintf(about, sizeof about, "%d", (int)sizes[i]);
    measure(&j, about);
    fc_rfft *real = aligned_alloc(64, (fc_rfft_bytes(sizes[i], compute) + 63) / 64 * 64);
    must(real && fc_rfft_init(real, sizes[i], compute, 0) == FC_OK, "rfft");
    fc_dft d = {.compute = compute,
                .nx = sizes[i],
                .half = 1,
                .components = 2,
                .component = {0, 1},
                .scale = 1,
                .real = real};
    void *device_real = to_device(real, fc_rfft_bytes(sizes[i], compute));
    d.device_real = device_real;
    bins.x = s.x / sizes[i] * (sizes[i] / 2 + 1), bins.c = 2;
    j = (job){.name = "dft", .run = run_dft, .op = &d};
    j.in = view_of(&s, dtype, INTERLEAVED, device_in, 0),
    j.out = view_of(&bins, compute, INTERLEAVED, device_out, 0);
    measure(&j, about);
    cudaFree(device_plan), cudaFree(device_real);
    free(plan), free(real);
  }
}

static void all_stats(int dtype) {
  for (int i = 0; i < SIGNALS; i++)
    for (layout l = 0; l < LAYOUTS; l++) {
      job j = {.name = "stats", .run = run_stats};
      j.in = view_of(&signals[i], dtype, l, device_in, 0);
      /* The whole block, as bytes. */
      const signal block = {1, 1, (int64_t)fc_stats_block_bytes(signals[i].c) * signals[i].n, 1};
      j.out = view_of(&block, FC_U8, INTERLEAVED, device_out, 0);
      measure(&j, layout_names[l]);
    }
}

static fc_status run_gemm(const job *j) {
  return j->aux ? fc_gemm_split_cuda(j->op, device_scratch, NULL) : fc_gemm_cuda(j->op, NULL);
}

static void all_gemm(int dtype) {
  static const int64_t sizes[][3] = {
      {512, 512, 512}, {1024, 1024, 1024}, {1001, 777, 333}, {5, 3000, 8}, {64, 4096, 64}};
  for (int i = 0; i < 5; i++)
    for (int split = 0; split <= (dtype == FC_F32); split++) {
      const int64_t m = sizes[i][0], n = sizes[i][1], k = sizes[i][2];
      const fc_gemm g = {.type = dtype,
                         .m = m,
                         .n = n,
                         .k = k,
                         .alpha = 1,
                         .a = device_in,
                         .b = device_in + (size_t)(m * k) * fc_dtype_size(dtype),
                         .c = device_out,
                         .a_row = k,
                         .a_col = 1,
                         .b_row = n,
                         .b_col = 1,
                         .c_row = n,
                         .c_col = 1};
      char about[60];
      const signal s = {1, m, n, 1};
      job j = {.name = split ? "gemm split" : "gemm", .run = run_gemm, .op = &g, .aux = split};
      j.in = j.out = view_of(&s, dtype, INTERLEAVED, device_out, 0);
      snprintf(about, sizeof about, "%dx%dx%d", (int)m, (int)n, (int)k);
      measure(&j, about);
    }
}

static void all_of(int dtype) {
  fill(dtype);
  if (wanted("conv1d")) all_conv1d(dtype);
  if (wanted("conv2d")) all_2d(dtype, 0);
  if (wanted("sepconv")) all_2d(dtype, 1);
  if (wanted("winstat")) all_winstat(dtype);
  if (wanted("pointwise")) all_samplewise(dtype);
  if (wanted("matrix")) all_matrix(dtype);
  if (wanted("transforms")) all_transforms(dtype);
  if (wanted("stats")) all_stats(dtype);
  if (wanted("gemm") && (dtype == FC_F32 || dtype == FC_F64)) all_gemm(dtype);
}

int main(int argc, char **argv) {
  int devices = 0;
  for (int i = 1; i + 1 < argc; i += 2) {
    if (strcmp(argv[i], "--repeats") == 0) repeats = atoi(argv[i + 1]);
    if (strcmp(argv[i], "--only") == 0) only = argv[i + 1];
  }
  if (repeats < 1 || repeats > MOST_REPEATS) repeats = 5;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    fprintf(stderr, "no CUDA device: skipped\n");
    return SKIPPED;
  }
  in_bytes = 40 << 20, out_bytes = 48 << 20;
  host = malloc(in_bytes > out_bytes ? in_bytes : out_bytes);
  must(host && cudaMalloc((void **)&device_in, in_bytes) == cudaSuccess &&
           cudaMalloc((void **)&device_out, out_bytes) == cudaSuccess &&
           cudaMalloc((void **)&device_scratch, SCRATCH) == cudaSuccess &&
           cudaMalloc((void **)&notes, 256) == cudaSuccess,
       "memory");
  must(cudaEventCreate(&begin_event) == cudaSuccess && cudaEventCreate(&end_event) == cudaSuccess, "events");
  for (int dtype = 0; dtype < FC_DTYPE_COUNT; dtype++) all_of(dtype);
  return 0;
}
