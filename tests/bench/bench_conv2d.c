/* SPDX-License-Identifier: MIT */
/*
 * bench_conv2d.c - times sepconv and conv2d on the CPU, in memory, as the engine calls
 * them: the image cut into strips of rows, two threads that take the next one.
 *
 *   bench_conv2d sep|dense SIZE CHANNELS u8|f32 TAPS [ROUNDS [THREADS [ISA]]]
 *
 * prints the median and the least time of a round in milliseconds. conv2d_opencv.py
 * runs it beside OpenCV.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "filters/filter2d/conv2d.h"
#include "filters/base/samples.h"
#include "filters/filter2d/sepconv.h"

#define STRIP_ROWS  128
#define MAX_THREADS 64

typedef struct bench {
  int dense, threads, rounds;
  fc_sepconv sep;
  fc_conv2d conv;
  fc_view in, out;
  atomic_llong next; /* row */
  pthread_barrier_t start, end;
} bench;

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec * 1e3 + (double)t.tv_nsec * 1e-6;
}

static void *memory(size_t bytes) {
  void *m = aligned_alloc(64, (bytes + 63) / 64 * 64);
  if (!m) exit(1);
  memset(m, 0, bytes);
  return m;
}

static size_t scratch_bytes(const bench *b) {
  return b->dense ? fc_conv2d_scratch(&b->conv, &b->out) : fc_sepconv_scratch(&b->sep, &b->out);
}

static void strip(const bench *b, int64_t y, void *scratch) {
  fc_view in = b->in, out = b->out;
  int64_t rows = out.shape[FC_AXIS_Y] - y < STRIP_ROWS ? out.shape[FC_AXIS_Y] - y : STRIP_ROWS;
  in.data = fc_view_at(&in, 0, y, 0, 0);
  out.data = fc_view_at(&out, 0, y, 0, 0);
  in.shape[FC_AXIS_Y] = out.shape[FC_AXIS_Y] = rows;
  if (b->dense)
    fc_conv2d_cpu(&b->conv, &in, &out, scratch, NULL);
  else
    fc_sepconv_cpu(&b->sep, &in, &out, scratch, NULL);
}

static void *worker(void *self) {
  bench *b = self;
  void *scratch = memory(scratch_bytes(b));
  for (int i = 0; i < b->rounds; i++) {
    pthread_barrier_wait(&b->start);
    for (;;) {
      int64_t y = atomic_fetch_add(&b->next, STRIP_ROWS);
      if (y >= b->out.shape[FC_AXIS_Y]) break;
      strip(b, y, scratch);
    }
    pthread_barrier_wait(&b->end);
  }
  free(scratch);
  return NULL;
}

/* A view with `pad` elements around, filled with random samples. */
static fc_view image(int64_t size, int64_t channels, int dtype, int64_t pad) {
  int64_t element = (int64_t)fc_dtype_size(dtype),
          row = ((size + 2 * pad) * channels * element + 63) / 64 * 64;
  char *data = memory((size_t)(row * (size + 2 * pad)));
  for (int64_t y = 0; y < size + 2 * pad; y++)
    for (int64_t i = 0; i < (size + 2 * pad) * channels; i++)
      if (dtype == FC_U8)
        ((uint8_t *)(data + y * row))[i] = (uint8_t)rand();
      else
        ((float *)(data + y * row))[i] = (float)rand() / (float)RAND_MAX;
  fc_view v = {sizeof v,
               dtype,
               FC_IMAGE,
               FC_HOST,
               data,
               {1, size, size, channels},
               {0, row, channels * element, element},
               {0},
               {1, size, size, channels}};
  v.data = fc_view_at(&v, 0, pad, pad, 0);
  return v;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

static void run(bench *b, double *times) {
  pthread_t thread[MAX_THREADS];
  pthread_barrier_init(&b->start, NULL, (unsigned)b->threads + 1);
  pthread_barrier_init(&b->end, NULL, (unsigned)b->threads + 1);
  for (int i = 0; i < b->threads; i++) pthread_create(&thread[i], NULL, worker, b);
  for (int i = 0; i < b->rounds; i++) {
    b->next = 0;
    double t = now();
    pthread_barrier_wait(&b->start);
    pthread_barrier_wait(&b->end);
    times[i] = now() - t;
  }
  for (int i = 0; i < b->threads; i++) pthread_join(thread[i], NULL);
}

int main(int argc, char **argv) {
  if (argc < 6) return 2;
  static bench b;
  int64_t size = atol(argv[2]), channels = atol(argv[3]), taps = atol(argv[5]);
  int dtype = strcmp(argv[4], "u8") ? FC_F32 : FC_U8, isa = argc > 8 ? atoi(argv[8]) : (int)fc_isa_best();
  b.dense = !strcmp(argv[1], "dense");
  b.rounds = argc > 6 ? atoi(argv[6]) : 20;
  b.threads = argc > 7 ? atoi(argv[7]) : 2;
  if (taps < 1 || size < 1 || b.rounds < 1 || b.threads < 1 || b.threads > MAX_THREADS) return 2;
  float *mask = memory((size_t)(taps * taps) * sizeof *mask);
  for (int64_t i = 0; i < taps * taps; i++) mask[i] = (float)rand() / (float)RAND_MAX / (float)taps;
  b.sep = (fc_sepconv){FC_F32, isa, 1, taps, taps, mask, mask, NULL, NULL};
  b.conv = (fc_conv2d){FC_F32, isa, taps, taps, mask, NULL};
  b.in = image(size, channels, dtype, taps / 2);
  b.out = image(size, channels, dtype, 0);
  double *times = memory((size_t)b.rounds * sizeof *times);
  run(&b, times);
  qsort(times, (size_t)b.rounds, sizeof *times, ascending);
  printf("%.3f %.3f\n", times[b.rounds / 2], times[0]);
  return 0;
}
