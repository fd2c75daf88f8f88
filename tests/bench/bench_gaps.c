/* SPDX-License-Identifier: MIT */
/*
 * bench_gaps.c - how far apart the kernels of a chain are when it is replayed as a graph.
 *
 * Chains of 10 and of 60 operators over a signal so short that a kernel is over at once, captured from a
 * caller's stream: what 50 more take, shared among them, is a kernel and the gap before it. Wanted
 * are 2 us for both together. Exit status 77 without a device.
 */
#include "core/contract/filterchain.h"

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>

#define SAMPLES 1024
#define FEW     10
#define MANY    60
#define REPLAYS 200
#define LIMIT   2.0 /* us */

static void must(gboolean ok, const char *what) {
  if (ok) return;
  fprintf(stderr, "%s: %s\n", what, cudaGetErrorString(cudaGetLastError()));
  exit(1);
}

static fc_view view_of(void *data) {
  return (fc_view){sizeof(fc_view),
                   FC_F32,
                   FC_AUDIO,
                   FC_CUDA_DEVICE(0),
                   data,
                   {1, 1, SAMPLES, 1},
                   {4 * SAMPLES, 4 * SAMPLES, 4, 4},
                   {0},
                   {1, 1, SAMPLES, 1}};
}

static cudaGraphExec_t captured(fc_chain *chain, const fc_view *in, const fc_view *out, cudaStream_t stream) {
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  must(fc_chain_run_device(chain, in, out, stream, NULL, NULL), "a first call");
  must(cudaStreamBeginCapture(stream, cudaStreamCaptureModeThreadLocal) == cudaSuccess, "capture");
  must(fc_chain_run_device(chain, in, out, stream, NULL, NULL), "a captured call");
  must(cudaStreamEndCapture(stream, &graph) == cudaSuccess, "capture");
  must(cudaGraphInstantiate(&ready, graph, 0) == cudaSuccess, "instantiate");
  cudaGraphDestroy(graph);
  return ready;
}

/* Microseconds a replay, the least of three rounds. */
static double time_chain(fc_context *context, guint n, void *in, void *out, cudaStream_t stream) {
  const char *stages[MANY + 1] = {NULL};
  for (guint i = 0; i < n; i++) stages[i] = i % 2 ? "gain:2" : "gain:0.5";
  g_autoptr(fc_chain) chain = fc_chain_parse(context, stages, NULL);
  must(chain != NULL, "the chain");
  fc_view from = view_of(in), to = view_of(out);
  cudaGraphExec_t graph = captured(chain, &from, &to, stream);
  cudaEvent_t begin, end;
  must(cudaEventCreate(&begin) == cudaSuccess && cudaEventCreate(&end) == cudaSuccess, "events");
  double least = 1e9;
  for (int round = 0; round < 3; round++) {
    float ms = 0;
    cudaEventRecord(begin, stream);
    for (int i = 0; i < REPLAYS; i++) cudaGraphLaunch(graph, stream);
    cudaEventRecord(end, stream);
    must(cudaEventSynchronize(end) == cudaSuccess && cudaEventElapsedTime(&ms, begin, end) == cudaSuccess,
         "a replay");
    if (1e3 * ms / REPLAYS < least) least = 1e3 * ms / REPLAYS;
  }
  cudaEventDestroy(begin), cudaEventDestroy(end);
  cudaGraphExecDestroy(graph);
  return least;
}

int main(void) {
  int devices = 0;
  if (cudaGetDeviceCount(&devices) != cudaSuccess || devices == 0) {
    printf("skipped: no CUDA device\n");
    return 77;
  }
  void *in, *out;
  cudaStream_t stream;
  must(cudaMalloc(&in, 4 * SAMPLES) == cudaSuccess && cudaMalloc(&out, 4 * SAMPLES) == cudaSuccess, "memory");
  must(cudaStreamCreateWithFlags(&stream, cudaStreamNonBlocking) == cudaSuccess, "a stream");
  must(cudaMemset(in, 0, 4 * SAMPLES) == cudaSuccess, "memory");
  g_autoptr(fc_context) context = fc_context_new();
  double few = time_chain(context, FEW, in, out, stream), many = time_chain(context, MANY, in, out, stream);
  double each = (many - few) / (MANY - FEW);
  printf("%d operators %.2f us, %d %.2f us: %.2f us for a kernel and the gap before it\n", FEW, few, MANY,
         many, each);
  return each <= LIMIT ? 0 : 1;
}
