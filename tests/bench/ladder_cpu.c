/* SPDX-License-Identifier: MIT */
/*
 * ladder_cpu.c - the rungs that make sense on one CPU core: the plain loop, what the
 * compiler makes of a better one, and ours: the operator in a chain, from memory to memory.
 */
#include "filters/conv1d/conv1d.h"
#include "filters/gemm/gemm.h"
#include "filters/stats/stats.h"
#include "filters/winstat/winstat.h"
#include "tests/bench/bench.h"
#include "tests/bench/ours.h"

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

/* An operator's run on views. */
struct ours {
  ours_chain *chain;
  fc_view in, out;
};

static void run_ours(void *p) {
  struct ours *o = p;
  ours_chain_run_host(o->chain, &o->in, o->out.data ? &o->out : NULL);
}

/* ---- reduction -------------------------------------------------------- */

struct reduction {
  const int32_t *data;
  int64_t n;
  uint64_t sum;
  struct ours ours;
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
  run_ours(&r->ours);
  r->sum = strtoull(ours_chain_measured(r->ours.chain, "sumsq"), NULL, 10);
}

static void reduction(const bench_settings *s, bench_table *t) {
  static const struct {
    const char *name, *idea;
    void (*run)(void *);
  } rungs[] = {{"1", "one loop, accumulator in memory", reduce_plain},
               {"2", "accumulator in a register", reduce_register},
               {"3", "four accumulators: the additions no longer wait for each other", reduce_four},
               {"ours", "all statistics of the operator in one read, exact in 128 bits", reduce_stats}};
  static char title[80];
  int64_t n = s->size ? s->size : 1 << 20;
  snprintf(title, sizeof title, "sum of squares of %lld i32", (long long)n);
  t->title = title;
  int32_t *data = malloc((size_t)n * 4);
  bench_noise_i32(data, (size_t)n, 30000, 7);
  struct reduction r = {.data = data, .n = n, .ours = {.in = view_of(data, FC_I32, FC_AUDIO, 1, n, 1, 0)}};
  r.ours.chain = ours_chain_new("stats:all");
  reduce_register(&r);
  uint64_t right = r.sum;
  for (size_t i = 0; i < sizeof rungs / sizeof *rungs; i++) {
    double seconds = bench_time(rungs[i].run, &r, s->repeats);
    bench_add(t, rungs[i].name, rungs[i].idea, seconds, 4.0 * (double)n, 2.0 * (double)n,
              r.sum == right ? 0 : 1, 0);
  }
  ours_chain_free(r.ours.chain);
  free(data);
}

/* ---- filters: reference, of conv1d each instruction set, ours ---------- */

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
  memset(in, 0, (size_t)taps * 4), memset(in + n + taps, 0, (size_t)taps * 4); /* the border */
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
    bench_add(t, fc_isa_name((fc_isa)isa), "outputs in vector registers", seconds, bytes, flops,
              bench_error_f32(out, right, (size_t)n), 1e-6);
  }
  double *wide = malloc((size_t)taps * 8);
  for (int64_t j = 0; j < taps; j++) wide[j] = mask[j];
  struct ours ours = {ours_chain_of_table("conv1d:%s:flip=no:border=zero", wide, 1, taps, 0), k.in, k.out};
  double seconds = bench_time(run_ours, &ours, s->repeats);
  bench_add(t, "ours", "the operator: sums, or transforms of long masks", seconds, bytes, flops,
            bench_error_f32(out, right, (size_t)n), 1e-5);
  ours_chain_free(ours.chain);
  free(in), free(out), free(right), free(mask), free(wide), free(k.scratch);
}

struct statistics {
  fc_winstat w;
  fc_view in, out;
};

static void winstat_ref(void *p) {
  struct statistics *k = p;
  fc_winstat_ref(&k->w, &k->in, &k->out, NULL);
}

static void winstat(const bench_settings *s, bench_table *t) {
  static const int32_t both[] = {FC_WINSTAT_SUM, FC_WINSTAT_SUMSQ};
  static char title[80], stage[80];
  int64_t n = s->size ? s->size : 2048, w = s->window ? s->window : 15, pad = w;
  snprintf(title, sizeof title, "sliding sum and sumsq of %lld x %lld f32, window %lld", (long long)n,
           (long long)n, (long long)w);
  t->title = title;
  size_t count = (size_t)(n * n);
  float *in = malloc((size_t)(n * (n + 2 * pad)) * 4), *out = malloc(count * 8), *right = malloc(count * 8);
  bench_noise_f32(in, (size_t)(n * (n + 2 * pad)), 11);
  for (int64_t y = 0; y < n; y++) { /* the border */
    float *row = in + y * (n + 2 * pad);
    memset(row, 0, (size_t)pad * 4), memset(row + pad + n, 0, (size_t)pad * 4);
  }
  struct statistics k = {.in = view_of(in, FC_F32, FC_ARRAY, n, n, 1, pad),
                         .out = view_of(right, FC_F32, FC_ARRAY, n, n, 2, 0)};
  fc_winstat_init(&k.w, both, 2, w, 1, 0, FC_F32);
  double bytes = 12.0 * (double)count, flops = 4.0 * (double)count * (double)w;
  bench_add(t, "ref", "every window afresh", bench_time(winstat_ref, &k, 1), bytes, flops, 0, 0);
  snprintf(stage, sizeof stage, "winstat:window=%lld:stat=sum,sumsq:border=zero", (long long)w);
  struct ours ours = {ours_chain_new(stage), k.in, view_of(out, FC_F32, FC_ARRAY, n, n, 2, 0)};
  double seconds = bench_time(run_ours, &ours, s->repeats);
  bench_add(t, "ours", "the operator: cost independent of the window", seconds, bytes, flops,
            bench_error_f32(out, right, 2 * count), 1e-6);
  ours_chain_free(ours.chain);
  free(in), free(out), free(right);
}

static void gemm_ref(void *p) {
  fc_gemm_ref(p);
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
  fc_gemm g = {FC_F64, n, n, n, 1, 0, a, b, right, n, 1, n, 1, n, 1};
  double flops = 2.0 * (double)n * (double)n * (double)n, bytes = 24.0 * (double)count;
  bench_add(t, "ref", "the triple loop", bench_time(gemm_ref, &g, 1), bytes, flops, 0, 0);
  struct ours ours = {ours_chain_of_table("matrix:%s:axis=y", a, n, n, 0),
                      view_of(b, FC_F64, FC_ARRAY, n, n, 1, 0), view_of(c, FC_F64, FC_ARRAY, n, n, 1, 0)};
  double seconds = bench_time(run_ours, &ours, s->repeats);
  bench_add(t, "ours", "the operator: packed, blocked for the caches, vectorised", seconds, bytes, flops,
            bench_error_f64(c, right, count), 1e-13);
  ours_chain_free(ours.chain);
  free(a), free(b), free(c), free(right);
}

void ladder_cpu(const char *name, const bench_settings *settings, bench_table *table) {
  table->device = "one CPU core";
  table->copy = bench_copy_cpu();
  if (strcmp(name, "reduction") == 0) reduction(settings, table);
  if (strcmp(name, "conv1d") == 0) conv1d(settings, table);
  if (strcmp(name, "winstat") == 0) winstat(settings, table);
  if (strcmp(name, "gemm") == 0) gemm(settings, table);
}
