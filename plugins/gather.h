/* SPDX-License-Identifier: MIT */
/*
 * gather.h - code shared by the operators on filters/gather.h: the prepared state and the backends. Each
 * includes it once and defines only what is copied from where.
 */
#ifndef FC_PLUGINS_GATHER_H
#define FC_PLUGINS_GATHER_H

#include <stdlib.h>

#include "filters/pointwise/gather.h"
#include "plugins/single.h"

typedef struct gather_state {
  fc_gather work;
  int device;
  void *channels; /* on the device, from host->alloc; or NULL */
} gather_state;

static inline void gather_release(const fc_host *host, void *prepared) {
  gather_state *state = prepared;
  if (!state) return;
  host->free(host, state->device, state->channels);
  free(state);
}

/* A state that does `work`, with a copy of its `count` channel numbers on the device. */
static inline fc_status gather_prepare(const fc_host *host, const fc_setup *setup, fc_gather work,
                                       int64_t count, void **prepared) {
  gather_state *state = calloc(1, sizeof *state);
  if (!state) return host->fail(host, FC_NO_MEMORY, "out of memory");
  size_t bytes = (size_t)count * sizeof *work.channels;
  fc_status status = FC_OK;
  state->device = setup->device;
  state->work = work;
  if (work.channels) status = state_upload(host, setup->device, work.channels, bytes, &state->channels);
  state->work.channels = state->channels;
  if (status != FC_OK)
    gather_release(host, state);
  else
    *prepared = state;
  return status;
}

static inline fc_status gather_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  return fc_gather_cpu(&((const gather_state *)prepared)->work, job->in[0], job->out);
}

static inline fc_status gather_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  return fc_gather_ref(&((const gather_state *)prepared)->work, job->in[0], job->out);
}

#if FC_HAVE_CUDA
static inline fc_status gather_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  return fc_gather_cuda(&((const gather_state *)prepared)->work, job->in[0], job->out, job->stream);
}
#endif

/* Whether the compute type represents every copied sample exactly. */
static inline int gather_is_exact(const fc_setup *setup) {
  const int dtype = setup->in[0]->dtype;
  return setup->compute == FC_F64 || (dtype != FC_I32 && dtype != FC_F64);
}

/* Members of fc_operator for an operator that defines only its state. */
#define GATHER_BACKENDS(prepare)                                                                             \
  .backends = BACKENDS(FC_ON_CPU(prepare, gather_release, NULL, gather_cpu),                                 \
                       FC_ON_CUDA(FC_BACKEND_GRAPH, prepare, gather_release, NULL, gather_cuda)),            \
  .reference = FC_ON_CPU(prepare, gather_release, NULL, gather_reference)

#endif
