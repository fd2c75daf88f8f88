/* SPDX-License-Identifier: MIT */
/*
 * pointwise.h - code shared by the operators on filters/pointwise.h: the prepared state, the backends and the
 * device function. Each includes it once and defines pointwise_of, which gives its numbers. The alpha of
 * image files is copied, unless numbers are given for each channel.
 */
#ifndef FC_PLUGINS_POINTWISE_H
#define FC_PLUGINS_POINTWISE_H

#include <stdlib.h>

#include "filters/pointwise/functions.h"
#include "filters/pointwise/pointwise.h"
#include "plugins/alpha.h"
#include "plugins/single.h"

typedef struct pointwise_state {
  fc_pointwise work, copy;
  int64_t colors; /* number of channels processed by `work`; channels after these are copied by `copy` */
  int device;
  void *factors; /* on the device, from host->alloc; or NULL */
  void *table;   /* likewise; only on the CPU */
} pointwise_state;

static inline void pointwise_release(const fc_host *host, void *prepared) {
  pointwise_state *state = prepared;
  if (!state) return;
  host->free(host, state->device, state->factors);
  host->free(host, FC_HOST, state->table);
  free(state);
}

/* `count` factors in the compute type, in device memory. */
static inline fc_status pointwise_factors(const fc_host *host, pointwise_state *state, const double *factors,
                                          int64_t count) {
  const int compute = state->work.compute;
  const size_t bytes = (size_t)count * fc_dtype_size(compute);
  void *numbers = host->alloc(host, FC_HOST, bytes);
  if (!numbers) return FC_NO_MEMORY;
  state_numbers(numbers, compute, factors, count);
  const fc_status status = state_upload(host, state->device, numbers, bytes, &state->factors);
  host->free(host, FC_HOST, numbers);
  state->work.factors = state->factors;
  return status;
}

/* On the CPU: a table of the results of all codes, where that is faster. */
static inline fc_status pointwise_table(const fc_host *host, const fc_setup *setup, pointwise_state *state) {
  const fc_format *in = setup->in[0];
  if (state->device != FC_HOST || !fc_pointwise_wants_table(&state->work, in->dtype)) return FC_OK;
  const size_t codes = (size_t)fc_pointwise_codes(in->dtype);
  state->table = host->alloc(host, FC_HOST, codes * fc_dtype_size(state->work.compute));
  if (!state->table) return FC_NO_MEMORY;
  fc_pointwise_table(&state->work, in->kind, in->dtype, state->table);
  state->work.table = state->table;
  return FC_OK;
}

#define POINTWISE_CHANNELS 1024 /* size of `room` */

/* A factor for each of `count` channels, for FC_POINTWISE_AFFINE two; the instance's, or computed into the
 * caller's `room`, since an instance may be prepared for several formats at once. */
typedef struct pointwise_numbers {
  const double *factors; /* NULL: one for all channels */
  int64_t count;
  int all; /* alpha is treated like other channels */
  double room[2 * POINTWISE_CHANNELS];
} pointwise_numbers;

/* The operator's function for a signal of this format, in the compute type. Called from several threads at
 * once. */
fc_pointwise pointwise_of(const void *instance, const fc_setup *setup, pointwise_numbers *numbers);

/* And the number of channels it applies to. */
static inline int64_t pointwise_colors(const void *instance, const fc_setup *setup, fc_pointwise *work,
                                       pointwise_numbers *numbers) {
  numbers->factors = NULL, numbers->count = 0, numbers->all = 0;
  *work = pointwise_of(instance, setup, numbers);
  return numbers->all ? setup->in[0]->extent[FC_AXIS_C] : alpha_colors(setup->in[0]);
}

static inline fc_status pointwise_prepare(const fc_host *host, void *instance, const fc_setup *setup,
                                          void **prepared) {
  pointwise_numbers numbers;
  pointwise_state *state = calloc(1, sizeof *state);
  fc_status status = FC_OK;
  if (!state) return host->fail(host, FC_NO_MEMORY, "out of memory");
  state->device = setup->device;
  state->colors = pointwise_colors(instance, setup, &state->work, &numbers);
  state->work.isa = fc_isa_best();
  state->copy = (fc_pointwise){.form = FC_POINTWISE_COPY, .compute = setup->compute, .isa = state->work.isa};
  const int64_t each = state->work.form == FC_POINTWISE_AFFINE ? 2 : 1;
  if (numbers.factors) status = pointwise_factors(host, state, numbers.factors, each * numbers.count);
  if (status == FC_OK) status = pointwise_table(host, setup, state);
  if (status != FC_OK)
    pointwise_release(host, state);
  else
    *prepared = state;
  return status;
}

static inline fc_status pointwise_describe(const fc_host *host, void *instance, const fc_setup *setup,
                                           fc_device_function *f) {
  pointwise_numbers numbers;
  fc_pointwise work;
  (void)host;
  if (pointwise_colors(instance, setup, &work, &numbers) < setup->in[0]->extent[FC_AXIS_C])
    return FC_UNSUPPORTED;
  fc_status status = FC_OK;
  if (!numbers.factors)
    fc_function_pointwise(&work, f);
  else
    status = work.form == FC_POINTWISE_AFFINE
                 ? fc_function_affines(work.compute, numbers.factors, numbers.count, f)
                 : fc_function_gains(work.compute, numbers.factors, numbers.count, f);
  fc_function_alone(work.compute, setup->in[0]->dtype, setup->out->dtype, f);
  return status;
}
FC_FUSIBLE(pointwise_extension, pointwise_describe)

static inline size_t pointwise_scratch(const void *prepared, const fc_job *job) {
  return fc_pointwise_cpu_scratch(&((const pointwise_state *)prepared)->work);
}

typedef fc_status (*pointwise_fn)(const fc_pointwise *work, const fc_view *in, const fc_view *out,
                                  const fc_job *job);

/* Processes the colours and copies the rest. */
static inline fc_status pointwise_run(const void *prepared, const fc_job *job, pointwise_fn run) {
  const pointwise_state *state = prepared;
  const fc_view *in = job->in[0], *out = job->out;
  const int64_t rest = out->extent[FC_AXIS_C] - state->colors;
  if (rest <= 0) return run(&state->work, in, out, job);
  const fc_view colors_in = alpha_channels(in, 0, state->colors),
                colors_out = alpha_channels(out, 0, state->colors),
                alpha_in = alpha_channels(in, state->colors, rest),
                alpha_out = alpha_channels(out, state->colors, rest);
  const fc_status status = run(&state->work, &colors_in, &colors_out, job);
  return status == FC_OK ? run(&state->copy, &alpha_in, &alpha_out, job) : status;
}

static inline fc_status pointwise_on_cpu(const fc_pointwise *work, const fc_view *in, const fc_view *out,
                                         const fc_job *job) {
  return fc_pointwise_cpu(work, in, out, job->scratch, job->notes);
}

static inline fc_status pointwise_by_definition(const fc_pointwise *work, const fc_view *in,
                                                const fc_view *out, const fc_job *job) {
  return fc_pointwise_ref(work, in, out, job->notes);
}

static inline fc_status pointwise_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  return pointwise_run(prepared, job, pointwise_on_cpu);
}

static inline fc_status pointwise_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  return pointwise_run(prepared, job, pointwise_by_definition);
}

#if FC_HAVE_CUDA
static inline fc_status pointwise_on_cuda(const fc_pointwise *work, const fc_view *in, const fc_view *out,
                                          const fc_job *job) {
  return fc_pointwise_cuda(work, in, out, job->stream, job->notes);
}

static inline fc_status pointwise_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  return pointwise_run(prepared, job, pointwise_on_cuda);
}
#endif

/* Members of fc_operator. */
#define POINTWISE_BACKENDS POINTWISE_BACKENDS_OF(pointwise_extension)
#define POINTWISE_BACKENDS_OF(its_extension)                                                                 \
  .backends =                                                                                                \
      BACKENDS(FC_ON_CPU(pointwise_prepare, pointwise_release, pointwise_scratch, pointwise_cpu),            \
               FC_ON_CUDA(FC_BACKEND_GRAPH, pointwise_prepare, pointwise_release, NULL, pointwise_cuda)),    \
  .reference = FC_ON_CPU(pointwise_prepare, pointwise_release, NULL, pointwise_reference),                   \
  .extension = its_extension

#endif
