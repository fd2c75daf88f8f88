/* SPDX-License-Identifier: MIT */
/*
 * test_algebra.c - stages joined by algebra on a GPU against the same stages one by one there: with every
 * border, whole and in chunks, from host memory and from the device's. Skipped without a device.
 */
#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/contract/filterchain.h"
#include "tests/filters/check.h"

enum { SKIPPED = 77 };

static fc_context *context;

typedef struct signals {
  fc_view in, good, got;
  gsize in_bytes, out_bytes;
} signals;

static fc_view view_of(int kind, int dtype, const gint64 extent[FC_AXES], gsize *bytes) {
  fc_view v = {.size = sizeof v, .dtype = dtype, .kind = kind};
  gint64 stride = (gint64)fc_dtype_size(dtype);
  for (int a = FC_AXES - 1; a >= 0; a--)
    v.shape[a] = v.extent[a] = extent[a], v.stride[a] = stride, stride *= extent[a];
  *bytes = (gsize)stride;
  v.data = g_malloc0(*bytes);
  return v;
}

static double value_at(const fc_view *v, gint64 i) {
  switch (v->dtype) {
  case FC_U8: return ((const guint8 *)v->data)[i];
  case FC_I16: return ((const gint16 *)v->data)[i] / 32768.0;
  default: return (double)((const float *)v->data)[i];
  }
}

static void fill(const fc_view *v, GRand *numbers) {
  const gint64 count = fc_view_count(v);
  for (gint64 i = 0; i < count; i++) {
    const gint32 n = g_rand_int_range(numbers, -8000, 8000);
    if (v->dtype == FC_U8) ((guint8 *)v->data)[i] = (guint8)(n & 127);
    if (v->dtype == FC_I16) ((gint16 *)v->data)[i] = (gint16)n;
    if (v->dtype == FC_F32) ((float *)v->data)[i] = (float)n / 16384;
  }
}

/* Relative to the largest value; of integers a code more. */
static void must_be_near(const signals *s, const char *what) {
  const double step = s->got.dtype == FC_U8 ? 1 : s->got.dtype == FC_I16 ? 1 / 32768.0 : 0;
  double largest = s->got.kind == FC_AUDIO ? 1 : 128, worst = 0;
  gint64 at = 0;
  for (gint64 i = 0; i < fc_view_count(&s->good); i++) {
    const double difference = fabs(value_at(&s->good, i) - value_at(&s->got, i));
    largest = MAX(largest, fabs(value_at(&s->good, i)));
    if (!(difference <= worst)) worst = difference, at = i;
  }
  CHECK(worst <= 2e-5 * largest + step, "%s: element %lld of %lld differs by %g", what, (long long)at,
        (long long)fc_view_count(&s->good), worst);
}

static void run_host(fc_chain *chain, const signals *s, const fc_view *out, int fuse, gint64 chunk) {
  fc_options options = FC_OPTIONS_INIT;
  g_autoptr(GError) error = NULL;
  options.device = "cuda", options.fuse = fuse, options.chunk = chunk;
  CHECK(fc_chain_run_host(chain, &s->in, out, &options, NULL, &error), "%s", error->message);
}

static void run_device(fc_chain *chain, const signals *s) {
  fc_options options = FC_OPTIONS_INIT;
  fc_view from = s->in, to = s->got;
  cudaStream_t stream;
  g_autoptr(GError) error = NULL;
  options.fuse = FC_FUSE_ALGEBRA;
  from.device = to.device = FC_CUDA_DEVICE(0);
  CHECK(cudaMalloc(&from.data, s->in_bytes) == cudaSuccess &&
            cudaMalloc(&to.data, s->out_bytes) == cudaSuccess,
        "memory");
  cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking);
  cudaMemcpy(from.data, s->in.data, s->in_bytes, cudaMemcpyHostToDevice);
  for (int i = 0; i < 2; i++)
    CHECK(fc_chain_run_device(chain, &from, &to, stream, &options, &error), "%s", error->message);
  cudaStreamSynchronize(stream);
  cudaMemcpy(s->got.data, to.data, s->out_bytes, cudaMemcpyDeviceToHost);
  fc_chain_free(chain); /* before its stream */
  cudaFree(from.data), cudaFree(to.data), cudaStreamDestroy(stream);
}

static fc_chain *chain_of(const char *const *stages, const char *border) {
  char *texts[12] = {NULL};
  g_autoptr(GError) error = NULL;
  for (int i = 0; stages[i]; i++)
    texts[i] = g_strconcat(
        stages[i], strchr(stages[i], '[') && !g_str_has_prefix(stages[i], "matrix") ? border : "", NULL);
  fc_chain *chain = fc_chain_parse(context, (const char *const *)texts, &error);
  CHECK(chain != NULL, "%s", error ? error->message : "");
  for (int i = 0; texts[i]; i++) g_free(texts[i]);
  return chain;
}

static void check(const char *const *stages, int kind, int dtype, int out, const gint64 extent[FC_AXES]) {
  static const char *const borders[] = {"zero",    "constant:value=0.25", "replicate",
                                        "reflect", "reflect101",          "wrap"};
  GRand *numbers = g_rand_new_with_seed(7);
  signals s;
  s.in = view_of(kind, dtype, extent, &s.in_bytes);
  s.good = view_of(kind, out, extent, &s.out_bytes), s.got = view_of(kind, out, extent, &s.out_bytes);
  fill(&s.in, numbers);
  for (guint b = 0; b < G_N_ELEMENTS(borders); b++) {
    g_autofree char *border = g_strconcat(":border=", borders[b], NULL);
    g_autofree char *what =
        g_strdup_printf("%s ... with border %s to %s", stages[0], borders[b], fc_dtype_name(out));
    fc_chain *chain = chain_of(stages, border);
    if (!chain) continue;
    run_host(chain, &s, &s.good, FC_FUSE_NO, 0);
    for (gint64 chunk = 0; chunk < 2000; chunk += 1999) {
      memset(s.got.data, 0xa5, s.out_bytes);
      run_host(chain, &s, &s.got, FC_FUSE_ALGEBRA, chunk);
      must_be_near(&s, what);
    }
    memset(s.got.data, 0xa5, s.out_bytes);
    run_device(chain, &s);
    must_be_near(&s, what);
  }
  g_rand_free(numbers);
  g_free(s.in.data), g_free(s.good.data), g_free(s.got.data);
}

#define TAPS31 "[1,2,3,4,5,6,7,8,9,10,11,12,13,14,15,16,15,14,13,12,11,10,9,8,7,6,5,4,3,2,1]/256"

int main(void) {
  static const char *const sound[] = {"conv1d:" TAPS31, "gain:0.9",     "conv1d:[3,1,-2]/4",
                                      "conv1d:" TAPS31, "gain:1.1,0.8", NULL},
                           *const picture[] = {"sepconv:[1,2,1]/4", "gain:0.9",
                                               "sepconv:[1,3,1]/5:y=[1,2,4,2,1]/10", NULL},
                           *const dense[] = {"conv2d:[0,1,0;1,4,1;0,1,0]/8", "conv2d:[1,0,1;0,4,0;1,1,1]/9",
                                             NULL},
                           *const down[] = {"conv1d:[1,2,1]/4:axis=y", "conv1d:[1,2,-1]/4:axis=y", "gain:2",
                                            NULL},
                           *const pixels[] = {"matrix:[0.5,0.3,0.2;0.1,0.8,0.1;0.25,0.25,0.5]", "gain:0.9",
                                              "matrix:[1,0,0;0,0,1;0,1,0]:offset=3", NULL};
  static const gint64 seconds[] = {1, 1, 400000, 2}, photo[] = {2, 700, 901, 3}, plane[] = {1, 700, 901, 1};
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    printf("skipped: no CUDA device\n");
    return SKIPPED;
  }
  context = fc_context_new();
  check(sound, FC_AUDIO, FC_I16, FC_I16, seconds);
  check(sound, FC_AUDIO, FC_F32, FC_F32, seconds);
  check(picture, FC_IMAGE, FC_U8, FC_U8, photo);
  check(picture, FC_IMAGE, FC_F32, FC_F32, plane);
  check(dense, FC_IMAGE, FC_F32, FC_F32, plane);
  check(down, FC_IMAGE, FC_U8, FC_F32, photo);
  check(pixels, FC_IMAGE, FC_U8, FC_U8, photo);
  fc_context_free(context);
  return check_result();
}
