/* SPDX-License-Identifier: MIT */
/*
 * test_library_cuda.c - a chain on device memory and a stream of the caller's, and on
 * host memory by way of a GPU. Skips where there is no device.
 */
#include "core/contract/filterchain.h"

#include <cuda_runtime_api.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define FRAMES   300007
#define CHANNELS 2
#define BYTES    (sizeof(float) * FRAMES * CHANNELS)

static const char *const stages[] = {"conv1d:[1,2,4,3]/10", "conv1d:[0.5,0.25,-0.3]:border=reflect", NULL};

static fc_view view_of(void *data, int device) {
  return (fc_view){sizeof(fc_view),
                   FC_F32,
                   FC_AUDIO,
                   device,
                   data,
                   {1, 1, FRAMES, CHANNELS},
                   {BYTES, BYTES, 4 * CHANNELS, 4},
                   {0},
                   {1, 1, FRAMES, CHANNELS}};
}

static void compare(const float *a, const float *b, double tolerance) {
  double worst = 0;
  for (gsize i = 0; i < FRAMES * CHANNELS; i++)
    worst = MAX(worst, isnan(a[i]) ? INFINITY : fabs((double)a[i] - b[i]));
  g_assert_cmpfloat(worst, <=, tolerance);
}

static void test_device(void) {
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_context) context = fc_context_new();
  g_autoptr(fc_chain) chain = fc_chain_parse(context, stages, &error);
  g_assert_no_error(error);
  g_autofree float *in = g_malloc(BYTES), *cpu = g_malloc(BYTES), *gpu = g_malloc(BYTES),
                   *host = g_malloc(BYTES);
  for (gsize i = 0; i < FRAMES * CHANNELS; i++)
    in[i] = (float)g_test_rand_double_range(-1, 1), gpu[i] = host[i] = NAN;

  fc_options options = FC_OPTIONS_INIT;
  fc_view from = view_of(in, FC_HOST), to = view_of(cpu, FC_HOST);
  options.device = "cpu";
  g_assert_true(fc_chain_run_host(chain, &from, &to, &options, NULL, &error));
  options.device = "cuda", options.chunk = 10007;
  to = view_of(host, FC_HOST);
  g_autoptr(fc_result) result = NULL;
  g_assert_true(fc_chain_run_host(chain, &from, &to, &options, &result, &error));
  g_assert_no_error(error);
  g_assert_true(g_str_has_prefix(result->device, "cuda:0"));
  g_assert_cmpint(result->chunks, ==, (FRAMES + 10006) / 10007);
  compare(host, cpu, 1e-6);

  float *d_in, *d_out;
  cudaStream_t stream;
  g_assert_cmpint(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), ==, cudaSuccess);
  g_assert_cmpint(cudaMalloc((void **)&d_in, BYTES), ==, cudaSuccess);
  g_assert_cmpint(cudaMalloc((void **)&d_out, BYTES), ==, cudaSuccess);
  for (int i = 0; i < 3; i++) { /* the first prepares, the others reuse it */
    cudaMemsetAsync(d_out, 0xff, BYTES, stream);
    cudaMemcpyAsync(d_in, in, BYTES, cudaMemcpyHostToDevice, stream);
    fc_view a = view_of(d_in, FC_CUDA_DEVICE(0)), b = view_of(d_out, FC_CUDA_DEVICE(0));
    g_assert_true(fc_chain_run_device(chain, &a, &b, stream, NULL, &error));
    g_assert_no_error(error);
    cudaMemcpyAsync(gpu, d_out, BYTES, cudaMemcpyDeviceToHost, stream);
    g_assert_cmpint(cudaStreamSynchronize(stream), ==, cudaSuccess);
    compare(gpu, cpu, 1e-6);
    g_assert_cmpint(memcmp(gpu, host, BYTES), ==, 0); /* whole and in chunks: to the bit */
  }
  cudaFree(d_in);
  cudaFree(d_out);
  cudaStreamDestroy(stream);
}

/* One context of a test: a chain, and device memory for several signals at once. */
#define SIGNALS 4

typedef struct bed {
  fc_context *context;
  fc_chain *chain;
  cudaStream_t streams[2];
  float *in[SIGNALS], *out[SIGNALS];     /* on the device */
  float *wanted[SIGNALS], *got[SIGNALS]; /* on the host; by the CPU */
} bed;

static void bed_init(bed *b) {
  GError *error = NULL;
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cpu";
  b->context = fc_context_new();
  b->chain = fc_chain_parse(b->context, stages, &error);
  g_assert_no_error(error);
  g_autofree float *in = g_malloc(BYTES);
  for (int s = 0; s < SIGNALS; s++) {
    b->wanted[s] = g_malloc(BYTES), b->got[s] = g_malloc(BYTES);
    for (gsize i = 0; i < FRAMES * CHANNELS; i++) in[i] = (float)g_test_rand_double_range(-1, 1);
    fc_view from = view_of(in, FC_HOST), to = view_of(b->wanted[s], FC_HOST);
    g_assert_true(fc_chain_run_host(b->chain, &from, &to, &options, NULL, &error));
    g_assert_cmpint(cudaMalloc((void **)&b->in[s], BYTES), ==, cudaSuccess);
    g_assert_cmpint(cudaMalloc((void **)&b->out[s], BYTES), ==, cudaSuccess);
    g_assert_cmpint(cudaMemcpy(b->in[s], in, BYTES, cudaMemcpyHostToDevice), ==, cudaSuccess);
  }
  for (int i = 0; i < 2; i++)
    g_assert_cmpint(cudaStreamCreateWithFlags(&b->streams[i], cudaStreamNonBlocking), ==, cudaSuccess);
}

static void bed_clear(bed *b) {
  fc_chain_free(b->chain);
  fc_context_free(b->context);
  for (int s = 0; s < SIGNALS; s++) {
    cudaFree(b->in[s]), cudaFree(b->out[s]);
    g_free(b->wanted[s]), g_free(b->got[s]);
  }
  for (int i = 0; i < 2; i++) cudaStreamDestroy(b->streams[i]);
}

static void enqueue(bed *b, int signal, int stream) {
  GError *error = NULL;
  fc_view from = view_of(b->in[signal], FC_CUDA_DEVICE(0)), to = view_of(b->out[signal], FC_CUDA_DEVICE(0));
  gboolean ok = fc_chain_run_device(b->chain, &from, &to, b->streams[stream], NULL, &error);
  g_assert_no_error(error);
  g_assert_true(ok);
}

static void poison(bed *b) {
  for (int s = 0; s < SIGNALS; s++) cudaMemset(b->out[s], 0xff, BYTES);
  g_assert_cmpint(cudaDeviceSynchronize(), ==, cudaSuccess);
}

static void check(bed *b) {
  g_assert_cmpint(cudaDeviceSynchronize(), ==, cudaSuccess);
  for (int s = 0; s < SIGNALS; s++) {
    cudaMemcpy(b->got[s], b->out[s], BYTES, cudaMemcpyDeviceToHost);
    compare(b->got[s], b->wanted[s], 1e-6);
  }
}

/* What is kept between calls is not overwritten while an earlier call still needs it: several
 * in a row, on one stream and on two, with a run of another kind in between. */
static void test_calls_in_flight(void) {
  bed b;
  bed_init(&b);
  for (int round = 0; round < 20; round++) {
    poison(&b);
    for (int s = 0; s < SIGNALS; s++) enqueue(&b, s, round % 2 ? s % 2 : 0);
    check(&b);
  }
  poison(&b);
  enqueue(&b, 0, 0), enqueue(&b, 1, 0);
  GError *error = NULL;
  g_autofree float *in = g_malloc0(BYTES), *out = g_malloc(BYTES);
  fc_view from = view_of(in, FC_HOST), to = view_of(out, FC_HOST);
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cuda", options.chunk = 4096;
  g_assert_true(fc_chain_run_host(b.chain, &from, &to, &options, NULL, &error));
  enqueue(&b, 2, 0), enqueue(&b, 3, 1);
  check(&b);
  bed_clear(&b);
}

/* Captured into a graph, which is launched between other calls. */
static void test_captured(void) {
  bed b;
  cudaGraph_t graph;
  cudaGraphExec_t launchable;
  bed_init(&b);
  GError *error = NULL;
  fc_view from = view_of(b.in[1], FC_CUDA_DEVICE(0)), to = view_of(b.out[1], FC_CUDA_DEVICE(0));
  g_assert_cmpint(cudaStreamBeginCapture(b.streams[0], cudaStreamCaptureModeThreadLocal), ==, cudaSuccess);
  g_assert_false(fc_chain_run_device(b.chain, &from, &to, b.streams[0], NULL, &error));
  g_assert_error(error, FC_ERROR, FC_INVALID); /* not prepared */
  g_clear_error(&error);
  g_assert_cmpint(cudaStreamEndCapture(b.streams[0], &graph), ==, cudaSuccess);
  cudaGraphDestroy(graph);
  enqueue(&b, 0, 0);
  g_assert_cmpint(cudaStreamBeginCapture(b.streams[0], cudaStreamCaptureModeThreadLocal), ==, cudaSuccess);
  enqueue(&b, 1, 0);
  g_assert_cmpint(cudaStreamEndCapture(b.streams[0], &graph), ==, cudaSuccess);
  g_assert_cmpint(cudaGraphInstantiate(&launchable, graph, 0), ==, cudaSuccess);
  poison(&b);
  for (int round = 0; round < 5; round++) {
    cudaGraphLaunch(launchable, b.streams[0]);
    for (int s = 0; s < SIGNALS; s++)
      if (s != 1) enqueue(&b, s, 0);
  }
  check(&b);
  cudaGraphExecDestroy(launchable);
  cudaGraphDestroy(graph);
  bed_clear(&b);
}

/* Large enough that the inside is filtered where it lies and only the borders are copied, or that operators
 * make their borders themselves: what comes of it is what comes of uploading it in parts to where there is
 * room for a border, to the bit. Stages are separated by blanks. */
static void check_large(const char *text, fc_view from) {
  GError *error = NULL;
  cudaStream_t stream;
  g_auto(GStrv) parts = g_strsplit(text, " ", -1);
  g_autoptr(fc_context) context = fc_context_new();
  g_autoptr(fc_chain) chain = fc_chain_parse(context, (const char *const *)parts, &error);
  g_assert_no_error(error);
  const gsize count = (gsize)fc_view_count(&from), size = count * sizeof(float);
  g_autofree float *in = g_malloc(size), *wanted = g_malloc(size), *got = g_malloc(size);
  for (gsize i = 0; i < count; i++) in[i] = (float)((i * 2654435761u) >> 8 & 0xffff) / 65536 - 0.5f;
  fc_view to = from;
  fc_options options = FC_OPTIONS_INIT;
  options.device = "cuda", options.chunk = from.shape[from.kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_Y] / 3;
  from.data = in, to.data = wanted;
  g_assert_true(fc_chain_run_host(chain, &from, &to, &options, NULL, &error));
  g_assert_cmpint(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking), ==, cudaSuccess);
  g_assert_cmpint(cudaMalloc(&from.data, size), ==, cudaSuccess);
  g_assert_cmpint(cudaMalloc(&to.data, size), ==, cudaSuccess);
  g_assert_cmpint(cudaMemcpy(from.data, in, size, cudaMemcpyHostToDevice), ==, cudaSuccess);
  from.device = to.device = FC_CUDA_DEVICE(0);
  for (int i = 0; i < 3; i++) {
    cudaGraph_t graph;
    cudaGraphExec_t launchable;
    const int captured = i == 2;
    cudaMemsetAsync(to.data, 0xff, size, stream);
    if (captured) cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal);
    g_assert_true(fc_chain_run_device(chain, &from, &to, stream, NULL, &error));
    g_assert_no_error(error);
    if (captured) {
      g_assert_cmpint(cudaStreamEndCapture(stream, &graph), ==, cudaSuccess);
      g_assert_cmpint(cudaGraphInstantiate(&launchable, graph, 0), ==, cudaSuccess);
      g_assert_cmpint(cudaGraphLaunch(launchable, stream), ==, cudaSuccess);
      cudaGraphDestroy(graph);
      cudaGraphExecDestroy(launchable);
    }
    cudaMemcpyAsync(got, to.data, size, cudaMemcpyDeviceToHost, stream);
    g_assert_cmpint(cudaStreamSynchronize(stream), ==, cudaSuccess);
    g_assert_true(memcmp(got, wanted, size) == 0);
  }
  cudaFree(from.data);
  cudaFree(to.data);
  cudaStreamDestroy(stream);
}

static void test_large(void) {
  const gint64 y = 5101, x = 5003, n = 14000003, row = x * 4, all = y * row;
  const fc_view image = {sizeof image, FC_F32,           FC_ARRAY, FC_HOST,     NULL,
                         {1, y, x, 1}, {all, row, 4, 4}, {0},      {1, y, x, 1}};
  const fc_view sound = {sizeof sound,         FC_F32, FC_AUDIO,    FC_HOST, NULL, {1, 1, n, 1},
                         {n * 4, n * 4, 4, 4}, {0},    {1, 1, n, 1}};
  static const char *const of_images[] = {
      "sepconv:[1,2,4,2,1]/10:border=reflect",
      "conv2d:[0,1,0;1,-4,1;0,2,1]:value=3",
      "winstat:15x7:border=replicate",
      "winstat:9:stat=max:border=shrink",
      "winstat:700:border=shrink",
      "winstat:31x5:border=shrink",
      "conv1d:[1,2,3]/6:axis=y",
      "gain:2 sepconv:[1,2,4,2,1]/10 clip:0.3 winstat:15:border=wrap conv2d:[0,1,0;1,-4,1;0,2,1]:value=3",
      "winstat:9x9:border=reflect winstat:9:border=shrink conv1d:[1,2,1]/4:border=replicate "
      "winstat:5:stat=max"};
  for (guint i = 0; i < G_N_ELEMENTS(of_images); i++) check_large(of_images[i], image);
  check_large("conv1d:[1,2,3,4]/10:border=reflect", sound);
  check_large("winstat:1001:stat=std", sound);
}

int main(int argc, char **argv) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    printf("skipped: no CUDA device\n");
    return 77;
  }
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/library/device", test_device);
  g_test_add_func("/library/device/calls-in-flight", test_calls_in_flight);
  g_test_add_func("/library/device/captured", test_captured);
  g_test_add_func("/library/device/large", test_large);
  return g_test_run();
}
