/* SPDX-License-Identifier: MIT */
/*
 * ladder_cpu.c - the rungs that make sense on one CPU core: the plain loop, what the
 * compiler makes of a better one, and ours.
 */
#include "filters/conv1d/conv1d.h"
#include "filters/gemm/gemm.h"
#include "filters/stats/stats.h"
#include "filters/winstat/winstat.h"
#include "tests/bench/bench.h"

#include <stdlib.h>
#include <string.h>

static fc_view view_of(void *data, int dtype, int kind, int64_t y, int64_t x, int64_t c, int64_t pad) {
  int64_t size = (int64_t)fc_dtype_size(dtype);
  fc_view v = {sizeof v,     dtype, kind, FC_HOST,     (char *)data + pad * c * size,
               {1, y, x, c}, {0},   {0},  {1, y, x, c}};
  v.stride[FC_AXIS_C] = size, v.stride[FC_AXIS_X] = size * c;
  v.stride[FC_AXIS_Y] = v.stride[FC_AXIS_N] = size * c * (x + 2 * pad);
  return v;
}

/* ---- reduction -------------------------------------------------------- */

struct reduction {
  const int32_t *data;
  int64_t n;
  uint64_t sum;
  fc_view in;
  void *blocks, *scratch;
};

static void reduce_plain(void *p) {
  struct reduction *r = p;
  volatile uint64_t sum = 0; /* as a beginner's accumulator in memory */
  for (int64_t i = 0; i < r->n; i++) sum += (uint64_t)((int64_t)r->data[i] * r->data[i]);
  r->sum = sum;
}

static void reduce_register(void *p) {
  struct reduction *r = p;
  uint64_t sum = 0;
  for (int64_t i = 0; i < r->n; i++) sum += (uint64_t)((int64_t)r->data[i] * r->data[i]);
  r->sum = sum;
}

static void reduce_four(void *p) {
  struct reduction *r = p;
  uint64_t s[4] = {0, 0, 0, 0};
  int64_t i = 0;
  for (; i + 4 <= r->n; i += 4)
    for (int k = 0; k < 4; k++) s[k] += (uint64_t)((int64_t)r->data[i + k] * r->data[i + k]);
  for (; i < r->n; i++) s[0] += (uint64_t)((int64_t)r->data[i] * r->data[i]);
  r->sum = s[0] + s[1] + s[2] + s[3];
}

/* The sum of squares is what is checked, and one of what comes out. */
static void reduce_stats(void *p) {
  struct reduction *r = p;
  fc_stats_part part;
  fc_stats_cpu(&r->in, 1, r->blocks, 0, r->scratch, fc_isa_best());
  memcpy(&part, (char *)r->blocks + sizeof(fc_stats_block), sizeof part);
  r->sum = part.squares_low;
}

static void reduction(const bench_settings *s, bench_table *t) {
  static const struct {
    const char *name, *idea;
    void (*run)(void *);
  } rungs[] = {{"1", "one loop, accumulator in memory", reduce_plain},
               {"2", "accumulator in a register", reduce_register},
               {"3", "four accumulators: the additions no longer wait for each other", reduce_four},
               {"ours", "sum, sum of squares, least and most in one read, exact in 128 bits", reduce_stats}};
  static char title[80];
  int64_t n = s->size ? s->size : 1 << 20;
  snprintf(title, sizeof title, "sum of squares of %lld i32", (long long)n);
  t->title = title;
  int32_t *data = malloc((size_t)n * 4);
  bench_noise_i32(data, (size_t)n, 30000, 7);
  /* An array of one row is one block of statistics. */
  struct reduction r = {.data = data, .n = n, .in = view_of(data, FC_I32, FC_ARRAY, 1, n, 1, 0)};
  r.blocks = malloc(fc_stats_block_bytes(1));
  r.scratch = aligned_alloc(64, (fc_stats_cpu_scratch(&r.in) + 63) / 64 * 64);
  reduce_register(&r);
  uint64_t right = r.sum;
  for (size_t i = 0; i < sizeof rungs / sizeof *rungs; i++) {
    double seconds = bench_time(rungs[i].run, &r, s->repeats);
    bench_add(t, rungs[i].name, rungs[i].idea, seconds, 4.0 * (double)n, 2.0 * (double)n,
              r.sum == right ? 0 : 1, 0);
  }
  free(data), free(r.blocks), free(r.scratch);
}

/* ---- filters: reference, then each instruction set -------------------- */

struct convolution {
  fc_conv1d c;
  fc_view in, out;
  void *scratch;
};

static void conv_ref(void *p) {
  struct convolution *k = p;
  fc_conv1d_ref(&k->c, &k->in, &k->out, NULL);
}

static void conv_cpu(void *p) {
  struct convolution *k = p;
  fc_conv1d_cpu(&k->c, &k->in, &k->out, k->scratch, NULL);
}

static void conv1d(const bench_settings *s, bench_table *t) {
  static char title[80];
  int64_t n = s->size ? s->size : 1 << 20, taps = s->taps ? s->taps : 31;
  snprintf(title, sizeof title, "conv1d of %lld f32, %lld taps", (long long)n, (long long)taps);
  t->title = title;
  float *in = malloc((size_t)(n + 2 * taps) * 4), *out = malloc((size_t)n * 4),
        *right = malloc((size_t)n * 4);
  float *mask = malloc((size_t)taps * 4);
  bench_noise_f32(in, (size_t)(n + 2 * taps), 3);
  bench_noise_f32(mask, (size_t)taps, 5);
  struct convolution k = {{mask, NULL, taps, 1, taps / 2, FC_AXIS_X, FC_F32, FC_ISA_BASE},
                          view_of(in, FC_F32, FC_AUDIO, 1, n, 1, taps),
                          view_of(right, FC_F32, FC_AUDIO, 1, n, 1, 0),
                          NULL};
  k.scratch = aligned_alloc(64, (fc_conv1d_cpu_scratch(&k.c) + 63) / 64 * 64 + 64);
  double bytes = 8.0 * (double)n, flops = 2.0 * (double)n * (double)taps;
  bench_add(t, "ref", "the definition", bench_time(conv_ref, &k, 1), bytes, flops, 0, 0);
  k.out = view_of(out, FC_F32, FC_AUDIO, 1, n, 1, 0);
  for (int isa = FC_ISA_BASE; isa <= (int)fc_isa_best(); isa++) {
    k.c.isa = (fc_isa)isa;
    double seconds = bench_time(conv_cpu, &k, s->repeats);
    bench_add(t, isa == (int)fc_isa_best() ? "ours" : "ours-", fc_isa_name((fc_isa)isa), seconds, bytes,
              flops, bench_error_f32(out, right, (size_t)n), 1e-6);
  }
  free(in), free(out), free(right), free(mask), free(k.scratch);
}

struct statistics {
  fc_winstat w;
  fc_view in, out;
  void *scratch;
};

static void winstat_ref(void *p) {
  struct statistics *k = p;
  fc_winstat_ref(&k->w, &k->in, &k->out, NULL);
}

static void winstat_cpu(void *p) {
  struct statistics *k = p;
  fc_winstat_cpu(&k->w, &k->in, &k->out, k->scratch, NULL);
}

static void winstat(const bench_settings *s, bench_table *t) {
  static const int32_t both[] = {FC_WINSTAT_SUM, FC_WINSTAT_SUMSQ};
  static char title[80];
  int64_t n = s->size ? s->size : 2048, w = s->window ? s->window : 15, pad = w;
  snprintf(title, sizeof title, "sliding sum and sumsq of %lld x %lld f32, window %lld", (long long)n,
           (long long)n, (long long)w);
  t->title = title;
  size_t count = (size_t)(n * n);
  float *in = malloc((size_t)(n * (n + 2 * pad)) * 4), *out = malloc(count * 8), *right = malloc(count * 8);
  bench_noise_f32(in, (size_t)(n * (n + 2 * pad)), 11);
  struct statistics k = {.in = view_of(in, FC_F32, FC_ARRAY, n, n, 1, pad),
                         .out = view_of(right, FC_F32, FC_ARRAY, n, n, 2, 0)};
  fc_winstat_init(&k.w, both, 2, w, 1, 0, FC_F32);
  k.scratch = aligned_alloc(64, (fc_winstat_cpu_scratch(&k.w, &k.in) + 63) / 64 * 64 + 64);
  double bytes = 12.0 * (double)count, flops = 4.0 * (double)count * (double)w;
  bench_add(t, "ref", "every window afresh", bench_time(winstat_ref, &k, 1), bytes, flops, 0, 0);
  k.out = view_of(out, FC_F32, FC_ARRAY, n, n, 2, 0);
  k.w.isa = fc_isa_best();
  double seconds = bench_time(winstat_cpu, &k, s->repeats);
  bench_add(t, "ours", "cost independent of the window", seconds, bytes, flops,
            bench_error_f32(out, right, 2 * count), 1e-6);
  free(in), free(out), free(right), free(k.scratch);
}

struct product {
  fc_gemm g;
  void *scratch;
};

static void gemm_ref(void *p) {
  fc_gemm_ref(&((struct product *)p)->g);
}
static void gemm_cpu(void *p) {
  fc_gemm_cpu(&((struct product *)p)->g, ((struct product *)p)->scratch);
}

static void gemm(const bench_settings *s, bench_table *t) {
  static char title[80];
  int64_t n = s->size ? s->size : 512;
  snprintf(title, sizeof title, "gemm f64, n = %lld", (long long)n);
  t->title = title;
  size_t count = (size_t)(n * n);
  double *a = malloc(count * 8), *b = malloc(count * 8), *c = malloc(count * 8), *right = malloc(count * 8);
  bench_noise_f64(a, count, 13);
  bench_noise_f64(b, count, 17);
  struct product k = {{FC_F64, (int32_t)fc_isa_best(), n, n, n, 1, 0, a, b, right, n, 1, n, 1, n, 1}, NULL};
  k.scratch = aligned_alloc(64, (fc_gemm_scratch(&k.g) + 63) / 64 * 64 + 64);
  double flops = 2.0 * (double)n * (double)n * (double)n, bytes = 24.0 * (double)count;
  bench_add(t, "ref", "the triple loop", bench_time(gemm_ref, &k, 1), bytes, flops, 0, 0);
  k.g.c = c;
  double seconds = bench_time(gemm_cpu, &k, s->repeats);
  bench_add(t, "ours", "packed, blocked for the caches, vectorised", seconds, bytes, flops,
            bench_error_f64(c, right, count), 1e-13);
  free(a), free(b), free(c), free(right), free(k.scratch);
}

void ladder_cpu(const char *name, const bench_settings *settings, bench_table *table) {
  table->device = "one CPU core";
  table->copy = bench_copy_cpu();
  if (strcmp(name, "reduction") == 0) reduction(settings, table);
  if (strcmp(name, "conv1d") == 0) conv1d(settings, table);
  if (strcmp(name, "winstat") == 0) winstat(settings, table);
  if (strcmp(name, "gemm") == 0) gemm(settings, table);
}
