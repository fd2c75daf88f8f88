/* SPDX-License-Identifier: MIT */
/*
 * biquad_state.h - code shared by operators that run sections in series (filters/recursive/biquad.h): the
 * prepared state, on the host and on a device, and the backends.
 */
#ifndef FC_PLUGINS_BIQUAD_STATE_H
#define FC_PLUGINS_BIQUAD_STATE_H

#include <stdlib.h>
#include <string.h>

#include "core/contract/fc_helpers.h"
#include "filters/recursive/biquad.h"

typedef struct biquad_state {
  fc_biquad work;
  fc_biquad_section *sections, *device_sections; /* from host->alloc */
  int32_t device;
} biquad_state;

static inline void biquad_state_free(const fc_host *host, void *prepared) {
  biquad_state *state = (biquad_state *)prepared;
  if (!state) return;
  host->free(host, FC_HOST, state->sections);
  host->free(host, state->device, state->device_sections);
  free(state);
}

/* With room for this many sections, to be filled in. */
static inline fc_status biquad_state_new(const fc_host *host, int32_t device, int sections,
                                         biquad_state **made) {
  biquad_state *state = (biquad_state *)calloc(1, sizeof *state);
  if (!state) return host->fail(host, FC_NO_MEMORY, "out of memory");
  state->device = device;
  state->sections =
      (fc_biquad_section *)host->alloc(host, FC_HOST, (size_t)sections * sizeof(fc_biquad_section));
  state->work = (fc_biquad){.sections = sections, .isa = fc_isa_best(), .section = state->sections};
  if (state->sections) {
    *made = state;
    return FC_OK;
  }
  biquad_state_free(host, state);
  return FC_NO_MEMORY;
}

/* Called when the sections are filled in: copies them to the device. Freed on failure. */
static inline fc_status biquad_state_ready(const fc_host *host, biquad_state *state, void **prepared) {
  const size_t bytes = (size_t)state->work.sections * sizeof(fc_biquad_section);
  fc_status status = FC_OK;
  if (state->device != FC_HOST) {
    state->device_sections = (fc_biquad_section *)host->alloc(host, state->device, bytes);
    status = state->device_sections
                 ? host->upload(host, state->device, state->device_sections, state->sections, bytes)
                 : FC_NO_MEMORY;
    state->work.device_section = state->device_sections;
  }
  if (status != FC_OK)
    biquad_state_free(host, state);
  else
    *prepared = state;
  return status;
}

/* As fc_cascade has it. */
typedef fc_status (*biquad_design)(const fc_host *host, void *self, double rate, fc_section *sections,
                                   uint32_t room, uint32_t *count);

static inline fc_status biquad_state_of(const fc_host *host, void *self, const fc_setup *setup,
                                        const fc_section *sections, uint32_t count, void **prepared) {
  biquad_state *state = NULL;
  const fc_status status = biquad_state_new(host, setup->device, (int)count, &state);
  (void)self;
  if (status != FC_OK) return status;
  for (uint32_t i = 0; i < count; i++) {
    const fc_section *s = &sections[i];
    state->sections[i] = (fc_biquad_section){s->b0, s->b1, s->b2, s->a1, s->a2};
    if (s->rounded) state->work.rounded |= (uint64_t)1 << i;
  }
  return biquad_state_ready(host, state, prepared);
}

/* An operator's own sections. */
static inline fc_status biquad_state_prepare(const fc_host *host, void *self, const fc_setup *setup,
                                             biquad_design design, void **prepared) {
  fc_section sections[FC_BIQUAD_MOST];
  uint32_t count = 0;
  const fc_status status = design(host, self, setup->in[0]->rate, sections, FC_BIQUAD_MOST, &count);
  return status == FC_OK ? biquad_state_of(host, self, setup, sections, count, prepared) : status;
}

static inline fc_section biquad_section_of(fc_biquad_section s) {
  return (fc_section){.b0 = s.b0, .b1 = s.b1, .b2 = s.b2, .a1 = s.a1, .a2 = s.a2};
}

/* What negotiate says of so many sections. */
static inline void biquad_state_terms(fc_terms *terms, int sections) {
  terms->carry_bytes = (uint64_t)terms->in[0]->extent[FC_AXIS_C] * (uint64_t)sections * 2 * sizeof(double);
  terms->work = 9.0 * sections;
}

static inline size_t biquad_state_scratch(const void *prepared, const fc_job *job) {
  (void)prepared, (void)job;
  return fc_biquad_scratch();
}

static inline fc_status biquad_state_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  const biquad_state *state = (const biquad_state *)prepared;
  (void)host;
  return fc_biquad_cpu(&state->work, job->in[0], job->out, job->carry, job->scratch, job->notes);
}

static inline fc_status biquad_state_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  const biquad_state *state = (const biquad_state *)prepared;
  (void)host;
  return fc_biquad_ref(&state->work, job->in[0], job->out, job->carry, job->notes);
}

#if FC_HAVE_CUDA
/* Not in a graph: the points where tiny states are set to 0 depend on the piece's position in the signal. */
static inline fc_status biquad_state_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  const biquad_state *state = (const biquad_state *)prepared;
  (void)host;
  return fc_biquad_cuda(&state->work, job->in[0], job->out, job->carry, job->stream, job->notes);
}
#endif

/* Defines what BIQUAD_BACKENDS refers to, from a biquad_design. */
#define BIQUAD_PREPARE(design)                                                                               \
  static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {        \
    return biquad_state_prepare(host, self, setup, design, prepared);                                        \
  }                                                                                                          \
  static const void *extension(const fc_operator *op, const char *name) {                                    \
    static const fc_cascade cascade = {sizeof cascade, FC_BIQUAD_MOST, design, biquad_state_of};             \
    (void)op;                                                                                                \
    return strcmp(name, FC_CASCADE) == 0 ? &cascade : NULL;                                                  \
  }

/* Members of an fc_operator. */
#define BIQUAD_BACKENDS                                                                                      \
  .extension = extension,                                                                                    \
  .backends = BACKENDS(FC_ON_CPU(prepare, biquad_state_free, biquad_state_scratch, biquad_state_cpu),        \
                       FC_ON_CUDA(0, prepare, biquad_state_free, NULL, biquad_state_cuda)),                  \
  .reference = FC_ON_CPU(prepare, biquad_state_free, NULL, biquad_state_reference)

#endif
