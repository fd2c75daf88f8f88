/* SPDX-License-Identifier: MIT */
/*
 * trap.c - a plugin that copies, and on a GPU breaks it in the call that FILTERCHAIN_TRAP_AT numbers from 1:
 * a kernel that ends in a trap leaves the process without its context.
 */
#define FIXTURE "trap"
#include "tests/plugins/minimal.h"

#include <stdlib.h>

#include "tests/gpu/trap.h"

static fc_status process_cuda(const fc_host *host, const void *state, const fc_job *job) {
  static int calls;
  const char *at = getenv("FILTERCHAIN_TRAP_AT");
  const fc_view *in = job->in[0], *out = job->out;
  size_t bytes = (size_t)fc_view_count(out) * fc_dtype_size(out->dtype);
  (void)host, (void)state;
  return trap_copy(out->data, in->data, bytes, at && ++calls == atoi(at), job->stream) ? FC_DEVICE : FC_OK;
}

/* Not in a graph: every chunk is a call. */
static const fc_backend cuda = {
    .size = sizeof(fc_backend), .device_kind = FC_KIND_CUDA, .process = process_cuda};

static const fc_backend *both[] = {&cpu, &cuda, 0};

static void spoil(void) {
  op.backends = both;
}
