/* SPDX-License-Identifier: MIT */
/*
 * bench_report.c - tables, noise, errors and timing on the host.
 */
#include "tests/bench/bench.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

void bench_add(bench_table *table, const char *name, const char *idea, double seconds, double bytes,
               double flops, double error, double tolerance) {
  if (table->n == (int)(sizeof table->rows / sizeof *table->rows)) return;
  bench_row row = {name, idea, seconds, bytes, flops, error, tolerance};
  table->rows[table->n++] = row;
}

/* NaN is wrong too. */
static int wrong(const bench_row *r) {
  return !(r->error <= r->tolerance);
}

static void print_text(const bench_table *t) {
  printf("%s on %s; its own copy: %.0f GB/s\n", t->title, t->device, t->copy / 1e9);
  printf("%-6s %11s %9s %7s %8s %8s  %s\n", "rung", "time", "GB/s", "of copy", "TFLOP/s", "x first", "idea");
  for (int i = 0; i < t->n; i++) {
    const bench_row *r = &t->rows[i];
    printf("%-6s %8.4f ms %9.1f %7.2f %8.3f %8.1f  %s%s\n", r->name, r->seconds * 1e3,
           r->bytes / r->seconds / 1e9, r->bytes / r->seconds / t->copy, r->flops / r->seconds / 1e12,
           t->rows[0].seconds / r->seconds, r->idea, wrong(r) ? "  WRONG ANSWER" : "");
  }
}

static void print_json(const bench_table *t) {
  printf("{\"title\":\"%s\",\"device\":\"%s\",\"copy\":%.6g,\"rungs\":[", t->title, t->device, t->copy);
  for (int i = 0; i < t->n; i++) {
    const bench_row *r = &t->rows[i];
    printf("%s{\"name\":\"%s\",\"idea\":\"%s\",\"seconds\":%.6g,\"bytes\":%.6g,\"flops\":%.6g,\"error\":%.3g,"
           "\"right\":%s}",
           i ? "," : "", r->name, r->idea, r->seconds, r->bytes, r->flops, isfinite(r->error) ? r->error : -1,
           wrong(r) ? "false" : "true");
  }
  printf("]}\n");
}

int bench_print(const bench_table *table, int json) {
  if (json)
    print_json(table);
  else
    print_text(table);
  int bad = 0;
  for (int i = 0; i < table->n; i++) bad |= wrong(&table->rows[i]);
  return bad;
}

static uint32_t next(uint32_t *state) { /* xorshift32 */
  uint32_t x = *state;
  x ^= x << 13, x ^= x >> 17, x ^= x << 5;
  return *state = x;
}

void bench_noise_f32(float *to, size_t count, uint32_t seed) {
  for (size_t i = 0; i < count; i++) to[i] = (float)((int32_t)next(&seed) * (1.0 / 2147483648.0));
}

void bench_noise_f64(double *to, size_t count, uint32_t seed) {
  for (size_t i = 0; i < count; i++) to[i] = (int32_t)next(&seed) * (1.0 / 2147483648.0);
}

void bench_noise_i32(int32_t *to, size_t count, int32_t limit, uint32_t seed) {
  for (size_t i = 0; i < count; i++) to[i] = (int32_t)(next(&seed) % (uint32_t)(2 * limit)) - limit;
}

#define ERROR_BODY                                                                                           \
  double worst = 0, largest = 0;                                                                             \
  for (size_t i = 0; i < count; i++) {                                                                       \
    double difference = fabs((double)a[i] - (double)b[i]);                                                   \
    if (!(difference <= worst)) worst = difference;                                                          \
    if (fabs((double)b[i]) > largest) largest = fabs((double)b[i]);                                          \
  }                                                                                                          \
  return largest > 0 ? worst / largest : worst;

double bench_error_f32(const float *a, const float *b, size_t count) {
  ERROR_BODY
}
double bench_error_f64(const double *a, const double *b, size_t count) {
  ERROR_BODY
}

static double now(void) {
  struct timespec t;
  clock_gettime(CLOCK_MONOTONIC, &t);
  return (double)t.tv_sec + 1e-9 * (double)t.tv_nsec;
}

static int ascending(const void *a, const void *b) {
  double x = *(const double *)a, y = *(const double *)b;
  return (x > y) - (x < y);
}

double bench_time(void (*run)(void *), void *data, int repeats) {
  double times[200];
  if (repeats > 200) repeats = 200;
  run(data);
  for (int i = 0; i < repeats; i++) {
    double start = now();
    run(data);
    times[i] = now() - start;
  }
  qsort(times, (size_t)repeats, sizeof *times, ascending);
  return times[repeats / 2];
}

struct copy {
  char *to, *from;
  size_t bytes;
};

static void run_copy(void *data) {
  struct copy *c = data;
  memcpy(c->to, c->from, c->bytes);
}

double bench_copy_cpu(void) {
  struct copy c = {NULL, NULL, (size_t)256 << 20};
  c.to = malloc(c.bytes), c.from = malloc(c.bytes);
  double speed = 0;
  if (c.to && c.from) {
    memset(c.from, 1, c.bytes);
    speed = 2 * (double)c.bytes / bench_time(run_copy, &c, 5);
  }
  free(c.to);
  free(c.from);
  return speed;
}
