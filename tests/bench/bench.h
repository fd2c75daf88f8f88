/* SPDX-License-Identifier: MIT */
/*
 * bench.h - what the parts of filterchain-bench share.
 *
 * A figure is the median time of at least 20 runs after a warm-up, on random data whose
 * result was checked in the same run; beside it stands the machine's own copy speed, measured
 * in the same run too.
 */
#ifndef FC_TESTS_BENCH_H
#define FC_TESTS_BENCH_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#ifdef __cplusplus
extern "C" {
#endif

/* One line of a table. */
typedef struct bench_row {
  const char *name;
  const char *idea;
  double seconds;
  double bytes; /* read and written at the least, 0: does not apply */
  double flops;
  double error; /* relative to the reference; must be <= tolerance */
  double tolerance;
} bench_row;

typedef struct bench_table {
  const char *title;  /* "conv1d: 16777216 f32, 31 taps" */
  const char *device; /* "NVIDIA H200" or "cpu (2 threads)" */
  double copy;        /* bytes a second, read + written, of the machine's own copy */
  int n;
  bench_row rows[16];
} bench_table;

typedef struct bench_settings {
  int64_t size; /* elements, or rows of a matrix; 0 is the ladder's own */
  int taps, window;
  int repeats;
} bench_settings;

void bench_add(bench_table *table, const char *name, const char *idea, double seconds, double bytes,
               double flops, double error, double tolerance);
/* Prints the table, or as JSON. Returns 0, or 1 when a row's answer was wrong. */
int bench_print(const bench_table *table, int json);

/* Deterministic noise in [-1, 1). */
void bench_noise_f32(float *to, size_t count, uint32_t seed);
void bench_noise_f64(double *to, size_t count, uint32_t seed);
void bench_noise_i32(int32_t *to, size_t count, int32_t limit, uint32_t seed);

/* Largest absolute difference over the largest absolute value of `b`. */
double bench_error_f32(const float *a, const float *b, size_t count);
double bench_error_f64(const double *a, const double *b, size_t count);

/* Median seconds of `repeats` calls on the CPU, after one that does not count. */
double bench_time(void (*run)(void *data), void *data, int repeats);
/* Copy speed of one thread's memcpy. */
double bench_copy_cpu(void);

/* Ladders on the CPU; every one fills in a table. */
void ladder_cpu(const char *name, const bench_settings *settings, bench_table *table);

/* The same on the GPU; only in a build with CUDA. */
int bench_has_device(char *name, size_t size);
double bench_copy_cuda(void);
/* Median seconds of `repeats` calls that enqueue on the default stream. */
double bench_time_cuda(void (*run)(void *data), void *data, int repeats);
/* Device memory, filled from host memory unless that is NULL; ends the program on failure. */
void *bench_device_new(const void *from, size_t bytes);
void bench_device_free(void *memory);
void ladder_cuda_reduction(const bench_settings *settings, bench_table *table);
void ladder_cuda_conv1d(const bench_settings *settings, bench_table *table);
void ladder_cuda_winstat(const bench_settings *settings, bench_table *table);
void ladder_cuda_gemm(const bench_settings *settings, bench_table *table);

/* Chains of operators, through the library; status as the command's. */
int bench_operators(int n, const char *const *stages, const bench_settings *settings, const char *device,
                    int json);

#ifdef __cplusplus
}
#endif

#endif
