/* SPDX-License-Identifier: MIT */
/*
 * sepconv_state.h - code shared by the operators on filters/filter2d/sepconv.h: the prepared state, the
 * backends and the device function. Each includes it once and defines sepconv_taps_of, which gives its taps.
 */
#ifndef FC_PLUGINS_SEPCONV_STATE_H
#define FC_PLUGINS_SEPCONV_STATE_H

#include <stdlib.h>

#include "core/contract/fc_helpers.h"
#include "filters/base/samples.h"
#include "filters/filter2d/sepconv.h"
#include "plugins/mask2d.h"
#include "plugins/single.h"

/* Horizontal and vertical taps in reading order; owned by the instance. */
typedef struct sepconv_taps {
  const double *x, *y;
  int64_t nx, ny;
} sepconv_taps;
sepconv_taps sepconv_taps_of(const void *instance, int compute);

typedef struct sepconv_state {
  const void *instance;
  fc_sepconv filter;
  mask2d_taps x, y; /* from host->alloc */
  int device;
} sepconv_state;

static inline void sepconv_release(const fc_host *host, void *prepared) {
  sepconv_state *state = prepared;
  if (!state) return;
  mask2d_taps_clear(host, state->device, &state->x);
  mask2d_taps_clear(host, state->device, &state->y);
  free(state);
}

static inline fc_status sepconv_prepare_taps(const fc_host *host, const void *instance, sepconv_taps taps,
                                             const fc_setup *setup, void **prepared) {
  sepconv_state *state = calloc(1, sizeof *state);
  if (!state) return host->fail(host, FC_NO_MEMORY, "no memory for an operator");
  state->instance = instance, state->device = setup->device;
  fc_status status = mask2d_taps_make(host, setup, taps.x, taps.nx, &state->x);
  if (status == FC_OK) status = mask2d_taps_make(host, setup, taps.y, taps.ny, &state->y);
  state->filter = (fc_sepconv){
      .compute = setup->compute,
      .isa = fc_isa_best(),
      .rank = 1,
      .nx = taps.nx,
      .ny = taps.ny,
      .x = state->x.host,
      .y = state->y.host,
      .device_x = state->x.device,
      .device_y = state->y.device,
  };
  if (status != FC_OK)
    sepconv_release(host, state);
  else
    *prepared = state;
  return status;
}

static inline fc_status sepconv_prepare(const fc_host *host, void *instance, const fc_setup *setup,
                                        void **prepared) {
  return sepconv_prepare_taps(host, instance, sepconv_taps_of(instance, setup->compute), setup, prepared);
}

static inline size_t sepconv_cpu_scratch(const void *prepared, const fc_job *job) {
  return fc_sepconv_scratch(&((const sepconv_state *)prepared)->filter, job->out);
}

static inline fc_status sepconv_cpu_process(const fc_host *host, const void *prepared, const fc_job *job) {
  const sepconv_state *state = prepared;
  return fc_sepconv_cpu(&state->filter, job->in[0], job->out, job->scratch, job->notes);
}

static inline fc_status sepconv_reference_process(const fc_host *host, const void *prepared,
                                                  const fc_job *job) {
  const sepconv_state *state = prepared;
  return fc_sepconv_ref(&state->filter, job->in[0], job->out, job->notes);
}

#if FC_HAVE_CUDA
static inline size_t sepconv_cuda_scratch(const void *prepared, const fc_job *job) {
  return fc_sepconv_cuda_scratch(&((const sepconv_state *)prepared)->filter, job->out);
}

static inline fc_status sepconv_cuda_process(const fc_host *host, const void *prepared, const fc_job *job) {
  const fc_sepconv *filter = &((const sepconv_state *)prepared)->filter;
  const fc_view *in = job->in[0], *out = job->out;
  if (job->edges) return fc_sepconv_cuda_edges(filter, in, job->edges, out, job->stream, job->notes);
  return fc_sepconv_cuda(filter, in, out, job->scratch, job->stream, job->notes);
}
#endif

static inline fc_status sepconv_describe_taps(sepconv_taps taps, const fc_setup *setup,
                                              fc_device_function *function) {
  if (mask2d_in_integers(setup, taps.nx, taps.ny)) return FC_UNSUPPORTED;
  return mask2d_describe(setup, taps.nx, taps.ny, taps.x, taps.y, function);
}

static inline fc_status sepconv_describe(const fc_host *host, void *instance, const fc_setup *setup,
                                         fc_device_function *function) {
  (void)host;
  return sepconv_describe_taps(sepconv_taps_of(instance, setup->compute), setup, function);
}

/* ---- joined by algebra ---------------------------------------------------------- */

static inline fc_status sepconv_map(const fc_host *host, void *instance, const fc_setup *setup,
                                    fc_linear_map *map) {
  const sepconv_taps taps = sepconv_taps_of(instance, setup->compute);
  (void)host;
  mask2d_map(map, FC_LINEAR_SEPARABLE, taps.ny, taps.nx, taps.nx + taps.ny);
  if (map->room < map->count) return FC_OK;
  memcpy(map->numbers, taps.x, (size_t)taps.nx * sizeof *taps.x);
  memcpy(map->numbers + taps.nx, taps.y, (size_t)taps.ny * sizeof *taps.y);
  return FC_OK;
}

/* An instance for several stages, and its taps behind it. */
typedef struct sepconv_joined {
  sepconv_taps taps;
  int32_t border;
  double value;
  double numbers[];
} sepconv_joined;

static inline fc_status sepconv_make(const fc_host *host, void *instance, const fc_setup *setup,
                                     const fc_linear_map *map, int32_t border, double value, void **made) {
  const mask2d_room y = mask2d_room_of(map->ny, map->before_y), x = mask2d_room_of(map->nx, map->before_x);
  (void)host, (void)instance, (void)setup;
  if (map->form != FC_LINEAR_SEPARABLE || map->masks > 1 || map->growth_x || map->growth_y)
    return FC_UNSUPPORTED;
  sepconv_joined *self = calloc(1, sizeof *self + (size_t)(y.taps + x.taps) * sizeof(double));
  if (!self) return FC_NO_MEMORY;
  double *to_x = self->numbers, *to_y = to_x + x.taps;
  memcpy(to_x + x.ahead, map->numbers, (size_t)map->nx * sizeof *to_x);
  memcpy(to_y + y.ahead, map->numbers + map->nx, (size_t)map->ny * sizeof *to_y);
  self->taps = (sepconv_taps){to_x, to_y, x.taps, y.taps};
  self->border = border, self->value = value;
  *made = self;
  return FC_OK;
}

static inline fc_status sepconv_joined_negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const sepconv_joined *self = instance;
  (void)host;
  mask2d_terms(terms, self->taps.ny, self->taps.nx);
  terms->needs[0]->border = self->border, terms->needs[0]->border_value = self->value;
  terms->work = 2.0 * (double)(self->taps.nx + self->taps.ny);
  return FC_OK;
}

static inline fc_status sepconv_joined_prepare(const fc_host *host, void *instance, const fc_setup *setup,
                                               void **prepared) {
  return sepconv_prepare_taps(host, instance, ((const sepconv_joined *)instance)->taps, setup, prepared);
}

static inline fc_status sepconv_joined_describe(const fc_host *host, void *instance, const fc_setup *setup,
                                                fc_device_function *function) {
  (void)host;
  return sepconv_describe_taps(((const sepconv_joined *)instance)->taps, setup, function);
}

/* Members of fc_operator. */
#define SEPCONV_BACKENDS_OF(prepare)                                                                         \
  .backends = BACKENDS(FC_ON_CPU(prepare, sepconv_release, sepconv_cpu_scratch, sepconv_cpu_process),        \
                       FC_ON_CUDA(FC_BACKEND_GRAPH | FC_BACKEND_EDGES, prepare, sepconv_release,             \
                                  sepconv_cuda_scratch, sepconv_cuda_process)),                              \
  .reference = FC_ON_CPU(prepare, sepconv_release, NULL, sepconv_reference_process)

/* Those that follow from all this; SEPCONV_EXTENSION goes ahead. */
#define SEPCONV_BACKENDS SEPCONV_BACKENDS_OF(sepconv_prepare), .extension = sepconv_extension

#define SEPCONV_EXTENSION                                                                                    \
  FC_FUSIBLE_LINEAR(sepconv_extension, sepconv_describe, NULL, sepconv_map, sepconv_make, joined_operator)   \
  FC_FUSIBLE(joined_extension, sepconv_joined_describe)                                                      \
  JOINED_OPERATOR("sepconv", "several separable convolutions as one", .flags = FC_OP_KEEPS_MEANING,          \
                  FC_PICTURES_ONLY, .destroy = free, .negotiate = sepconv_joined_negotiate,                  \
                  SEPCONV_BACKENDS_OF(sepconv_joined_prepare), .extension = joined_extension)

#endif
