/* SPDX-License-Identifier: MIT */
/*
 * test_library_cuda.c - a chain on device memory and a stream of the caller's, and on
 * host memory by way of a GPU. Skips where there is no device.
 */
#include "core/filterchain.h"

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
    fc_view a = view_of(d_in, 0), b = view_of(d_out, 0);
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

int main(int argc, char **argv) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    printf("skipped: no CUDA device\n");
    return 77;
  }
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/library/device", test_device);
  return g_test_run();
}
