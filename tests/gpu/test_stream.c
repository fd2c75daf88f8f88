/* SPDX-License-Identifier: MIT */
/*
 * test_stream.c - a runner on a stream of the caller's: its work takes its place in the
 * order of the stream, and nothing, not even freeing the runner, waits for it. That is
 * tried on a stream that stands still until the test lets it go.
 */
#include <cuda_runtime_api.h>
#include <unistd.h>

#include "tests/gpu/gpu.h"

#define ELEMENTS 100000

static gint gate;

static void wait_at_gate(void *data) {
  while (!g_atomic_int_get(&gate)) g_usleep(100);
}

static void cuda_must(cudaError_t status) {
  if (status == cudaSuccess) return;
  fprintf(stderr, "failed: %s\n", cudaGetErrorString(status));
  exit(1);
}

static fc_view row(void *data, int dtype, int device) {
  fc_view v = bytes_view(data, ELEMENTS, device);
  gint64 size = (gint64)fc_dtype_size(dtype);
  v.dtype = dtype;
  for (int a = 0; a < FC_AXES; a++) v.stride[a] = a == FC_AXIS_X ? size : size * ELEMENTS;
  return v;
}

typedef struct caller {
  cudaStream_t stream;
  float *host, *in; /* host memory is pinned, so that its copies do not wait */
  gint16 *result;
} caller;

/* Sends floats, converts them on a runner by way of its own memory, and fetches the
 * result. With key != 0 to show that a key changes nothing. */
static void use_runner(caller *c, guint64 key) {
  GError *error = NULL;
  cuda_must(cudaMemcpyAsync(c->in, c->host, ELEMENTS * sizeof(float), cudaMemcpyHostToDevice, c->stream));
  fc_runner *r = fc_cuda_driver()->open(0, c->stream, &error);
  must(r != NULL, error);
  CHECK(r->stream == (void *)c->stream, "another stream");
  gint16 *out = must_alloc(r->alloc(r, ELEMENTS * sizeof(gint16)));
  guint32 *notes = must_alloc(r->alloc(r, FC_NOTES * sizeof(guint32)));
  void *other = must_alloc(r->alloc(r, 1000));
  fc_view from = row(c->in, FC_F32, 0), to = row(out, FC_I16, 0);
  gpu_work convert = {r, &to, &from, notes, NULL, 0, NULL};
  must(r->compute(r, 0, key, gpu_enqueue, &convert, &error), error);
  fc_view inner = to;
  inner.extent[FC_AXIS_X] = ELEMENTS - 10;
  fc_range wanted[FC_AXES] = {{0, 1}, {0, 1}, {0, ELEMENTS}, {0, 1}};
  gpu_work border = {r, &inner, NULL, NULL, wanted, FC_BORDER_REPLICATE, NULL};
  must(r->compute(r, 0, key ? key + 1 : 0, gpu_enqueue, &border, &error), error);
  r->release(r, other);
  fc_view host = row(c->result, FC_I16, FC_HOST);
  must(r->download(r, 0, &host, &to, &error) && r->wait(r, 0, &error), error);
  must(r->finish(r, &error), error);
  r->free(r);
}

static void check_result_of(const caller *c, int round) {
  gint64 wrong = 0;
  for (int i = 0; i < ELEMENTS; i++) wrong += c->result[i] != (MIN(i, ELEMENTS - 11) + round) % 30000;
  CHECK(wrong == 0, "%d elements in round %d", (int)wrong, round);
}

static void one_round(caller *c, int round, gboolean closed, guint64 key) {
  for (int i = 0; i < ELEMENTS; i++) c->host[i] = (float)((i + round) % 30000);
  memset(c->result, 0xff, ELEMENTS * sizeof(gint16));
  g_atomic_int_set(&gate, !closed);
  cuda_must(cudaLaunchHostFunc(c->stream, wait_at_gate, NULL));
  use_runner(c, key);
  if (closed) {
    CHECK(cudaStreamQuery(c->stream) == cudaErrorNotReady, "the stream had moved on");
    CHECK(c->result[0] == -1, "the result came before its input");
  }
  g_atomic_int_set(&gate, 1);
  cuda_must(cudaStreamSynchronize(c->stream));
  check_result_of(c, round);
}

/* The caller may destroy the stream while its work is under way, and before the runner goes. */
static void stream_goes_first(caller *c) {
  GError *error = NULL;
  cudaStream_t stream;
  cuda_must(cudaStreamCreate(&stream));
  fc_runner *r = fc_cuda_driver()->open(0, stream, &error);
  must(r != NULL, error);
  gint16 *out = must_alloc(r->alloc(r, ELEMENTS * sizeof(gint16)));
  guint32 *notes = must_alloc(r->alloc(r, FC_NOTES * sizeof(guint32)));
  fc_view from = row(c->in, FC_F32, 0), to = row(out, FC_I16, 0), host = row(c->result, FC_I16, FC_HOST);
  memset(c->result, 0xff, ELEMENTS * sizeof(gint16));
  gpu_work convert = {r, &to, &from, notes, NULL, 0, NULL};
  must(r->compute(r, 0, 0, gpu_enqueue, &convert, &error), error);
  must(r->download(r, 0, &host, &to, &error), error);
  cuda_must(cudaStreamDestroy(stream));
  r->free(r);
  cuda_must(cudaDeviceSynchronize());
  gint64 wrong = 0;
  for (int i = 0; i < ELEMENTS; i++) wrong += c->result[i] != (gint16)c->host[i];
  CHECK(wrong == 0, "%d elements", (int)wrong);
}

/* A stream that the caller is capturing takes the runner's work into the caller's graph. */
static void captured_by_caller(caller *c, gint16 *out, guint32 *notes) {
  GError *error = NULL;
  cudaGraph_t graph;
  cudaGraphExec_t ready;
  fc_runner *r = fc_cuda_driver()->open(0, c->stream, &error);
  must(r != NULL, error);
  fc_view from = row(c->in, FC_F32, 0), to = row(out, FC_I16, 0);
  gpu_work convert = {r, &to, &from, notes, NULL, 0, NULL};
  cuda_must(cudaStreamBeginCapture(c->stream, cudaStreamCaptureModeThreadLocal));
  for (int i = 0; i < 3; i++) must(r->compute(r, 0, 5, gpu_enqueue, &convert, &error), error);
  cuda_must(cudaStreamEndCapture(c->stream, &graph));
  cuda_must(cudaGraphInstantiateWithFlags(&ready, graph, 0));
  cuda_must(cudaMemsetAsync(out, 0xff, ELEMENTS * sizeof(gint16), c->stream));
  cuda_must(cudaGraphLaunch(ready, c->stream));
  cuda_must(cudaMemcpyAsync(c->result, out, ELEMENTS * sizeof(gint16), cudaMemcpyDeviceToHost, c->stream));
  cuda_must(cudaStreamSynchronize(c->stream));
  CHECK(c->result[1] == (gint16)c->host[1], "%d", c->result[1]);
  cuda_must(cudaGraphExecDestroy(ready));
  cuda_must(cudaGraphDestroy(graph));
  r->free(r);
}

int main(void) {
  fc_runner *probe = gpu_start();
  probe->free(probe);
  alarm(100); /* a runner that waits for the stream would wait without end */
  caller c;
  gint16 *out;
  guint32 *notes;
  cuda_must(cudaStreamCreateWithFlags(&c.stream, cudaStreamNonBlocking));
  cuda_must(cudaMallocHost((void **)&c.host, ELEMENTS * sizeof(float)));
  cuda_must(cudaMallocHost((void **)&c.result, ELEMENTS * sizeof(gint16)));
  cuda_must(cudaMalloc((void **)&c.in, ELEMENTS * sizeof(float)));
  cuda_must(cudaMalloc((void **)&out, ELEMENTS * sizeof(gint16)));
  cuda_must(cudaMalloc((void **)&notes, FC_NOTES * sizeof(guint32)));
  one_round(&c, 0, FALSE, 0); /* loads the kernels, which may wait */
  for (int round = 1; round < 20; round++) one_round(&c, round, TRUE, round % 2 ? 0 : 7);
  stream_goes_first(&c);
  captured_by_caller(&c, out, notes);
  return check_result();
}
