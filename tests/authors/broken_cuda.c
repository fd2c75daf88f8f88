/* SPDX-License-Identifier: MIT */
/*
 * broken_cuda.c - as broken.c, with the defect in what runs on a device: each sample becomes the one behind
 * it. For CUDA, or, without, for fake_cuda.
 */
#include <fc_helpers.h>

#include <cuda_runtime_api.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/authors/broken_cuda.h"
#ifdef FAKE_CUDA
#include "tests/authors/broken_cuda.cu"
#endif

#define IS(name) (DEFECT == name)

enum defect {
  none,
  allocates,
  allocates_there,
  prints,
  exits,
  crashes,
  other_stream,
  synchronises,
  writes_nothing,
  writes_input,
  other_sample,
  leaks,
  leaks_there,
  leaks_host,
  shares_instances,
  reads_beyond,
  writes_beyond
};

typedef struct state {
  int64_t ahead;
  cudaStream_t stream;
  void *spare;
} state;

static int64_t shared_ahead;
static volatile int *volatile nowhere;

static int64_t ahead_of(const void *self) {
  return ((const fc_arg *const *)self)[0]->ints[0];
}

static copying copying_of(const fc_job *job, int64_t ahead) {
  const fc_view *in = job->in[0], *out = job->out;
  copying c = {.from = in->data, .to = out->data, .size = (int64_t)fc_dtype_size(in->dtype), .ahead = ahead};
  for (int a = 0; a < FC_AXES; a++)
    c.shape[a] = out->shape[a], c.in_step[a] = in->stride[a], c.out_step[a] = out->stride[a];
  return c;
}

static fc_status process_host(const fc_host *host, const void *self, const fc_job *job) {
  const copying c = copying_of(job, ahead_of(self));
  const int64_t *n = c.shape;
  for (int64_t i = 0; i < n[0] * n[1] * n[2] * n[3]; i++) {
    const int64_t y = i / (n[2] * n[3]) % n[1], x = i / n[3] % n[2], frame = i / (n[1] * n[2] * n[3]);
    memcpy(fc_view_at(job->out, frame, y, x, i % n[3]),
           fc_view_at(job->in[0], frame, y, x + c.ahead, i % n[3]), (size_t)c.size);
  }
  return FC_OK;
}

/* What goes wrong before anything is enqueued. */
static void misbehave(state *s) {
  if (IS(exits)) exit(3);
  if (IS(crashes)) *nowhere = 1;
  if (IS(prints)) printf("working\n");
  if (IS(allocates)) {
    char *volatile taken = malloc(100);
    free(taken);
  }
  if (IS(allocates_there)) {
    cudaFree(s->spare);
    cudaMalloc(&s->spare, 100);
  }
}

static fc_status process_device(const fc_host *host, const void *prepared, const fc_job *job) {
  state *s = (state *)prepared;
  copying c = copying_of(job, IS(shares_instances) ? shared_ahead : s->ahead);
  misbehave(s);
  if (IS(other_sample)) c.ahead--;
  c.reads_beyond = IS(reads_beyond), c.writes_beyond = IS(writes_beyond);
  if (!IS(writes_nothing)) broken_launch(&c, IS(other_stream) ? s->stream : job->stream);
  if (IS(writes_input)) {
    c.to = (char *)job->in[0]->data;
    memcpy(c.out_step, c.in_step, sizeof c.out_step);
    broken_launch(&c, job->stream);
  }
  if (IS(synchronises)) cudaStreamSynchronize(job->stream);
  return FC_OK;
}

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {
  state *s = calloc(1, sizeof *s);
  if (!s) return FC_NO_MEMORY;
  s->ahead = shared_ahead = ahead_of(self);
  if (IS(other_stream)) cudaStreamCreateWithFlags(&s->stream, cudaStreamNonBlocking);
  if (IS(leaks)) {
    char *volatile lost = malloc(64);
    (void)lost;
  }
  if (IS(leaks_there)) cudaMalloc(&s->spare, 1 << 16);
  if (IS(leaks_host)) host->alloc(host, setup->device, 64);
  *prepared = s;
  return FC_OK;
}

static void release(const fc_host *host, void *prepared) {
  state *s = prepared;
  if (!s) return;
  if (s->stream) cudaStreamDestroy(s->stream);
  if (s->spare && !IS(leaks_there)) cudaFree(s->spare);
  free(s);
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  terms->needs[0]->reach[FC_AXIS_X].after = ahead_of(self);
  terms->needs[0]->border = FC_BORDER_REPLICATE;
  return FC_OK;
}

static const fc_operator next = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE,
    .name = "next",
    .summary = "the sample behind",
    .doc = "Each sample becomes one that follows.",
    .examples = FC_TEXTS("next:1"),
    FC_EVERY_SIGNAL,
    FC_OPERATOR_PARAMS(
        FC_INT_PARAM(FC_PARAM_MAIN, "ahead", "How far.", "samples", "1", FC_INT_BETWEEN(1, 3))),
    .create = fc_create_args,
    .negotiate = negotiate,
    .backends = FC_BACKENDS(FC_ON_CPU(NULL, NULL, NULL, process_host),
                            FC_ON_CUDA(0, prepare, release, NULL, process_device)),
};
FC_PLUGIN("org.example.next", "1.0", "the filterchain authors", "MIT", "https://example.org", &next)
