/* SPDX-License-Identifier: MIT */
/*
 * equalize.h - code shared by the operators on filters/histogram/equalize.h: terms, the prepared state, and
 * the backends. Each includes it once and defines equalize_white and equalize_form, which describe its table.
 */
#ifndef FC_PLUGINS_EQUALIZE_H
#define FC_PLUGINS_EQUALIZE_H

#include "filters/histogram/equalize.h"

#include "filters/pointwise/gather.h"
#include "plugins/alpha.h"
#include "plugins/single.h"
#include "plugins/white.h"

const fc_arg *equalize_white(const void *instance);
int32_t equalize_form(const void *instance); /* fc_equalize_form */

/* Each frame is counted first, so frames are not cut. */
static inline fc_status equalize_negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const fc_format *in = terms->in[0];
  (void)instance;
  if (in->extent[FC_AXIS_Y] > 0 && in->extent[FC_AXIS_X] > UINT32_MAX / in->extent[FC_AXIS_Y])
    return host->fail(host, FC_UNSUPPORTED, "counts up to 2^32 pixels of a frame");
  for (int a = FC_AXIS_Y; a <= FC_AXIS_X; a++)
    if (in->extent[a] > 1) terms->needs[0]->reach[a].align = in->extent[a];
  terms->work = 4;
  return FC_OK;
}

typedef struct equalize_state {
  fc_equalize work;
  int64_t colors; /* channels after these are copied */
} equalize_state;

static inline fc_status equalize_prepare(const fc_host *host, void *instance, const fc_setup *setup,
                                         void **prepared) {
  const double white = white_of(equalize_white(instance), setup->in[0]),
               most = setup->in[0]->dtype == FC_U8 ? 255 : 65535;
  equalize_state e = {.colors = alpha_colors(setup->in[0])};
  e.work.white = (uint32_t)(white < 1 ? 1 : white > most ? most : white);
  e.work.form = equalize_form(instance);
  return state_keep(host, &e, sizeof e, prepared);
}

static inline size_t equalize_scratch(const void *prepared, const fc_job *job) {
  (void)prepared;
  return fc_equalize_scratch(job->out);
}

static inline fc_status equalize_process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  const equalize_state *e = prepared;
  const fc_gather same = {0};
  const fc_view in = alpha_channels(job->in[0], 0, e->colors), out = alpha_channels(job->out, 0, e->colors),
                alpha_in = alpha_channels(job->in[0], e->colors, 1),
                alpha = alpha_channels(job->out, e->colors, 1);
  const fc_status status = fc_equalize_cpu(&e->work, &in, &out, job->scratch);
  (void)host;
  return status == FC_OK && alpha.shape[FC_AXIS_C] ? fc_gather_cpu(&same, &alpha_in, &alpha) : status;
}

#if FC_HAVE_CUDA
static inline size_t equalize_cuda_scratch(const void *prepared, const fc_job *job) {
  (void)prepared;
  return fc_equalize_cuda_scratch(job->out);
}

static inline fc_status equalize_process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  const equalize_state *e = prepared;
  const fc_gather same = {0};
  const fc_view in = alpha_channels(job->in[0], 0, e->colors), out = alpha_channels(job->out, 0, e->colors),
                alpha_in = alpha_channels(job->in[0], e->colors, 1),
                alpha = alpha_channels(job->out, e->colors, 1);
  const fc_status status = fc_equalize_cuda(&e->work, &in, &out, job->scratch, job->stream);
  (void)host;
  return status == FC_OK && alpha.shape[FC_AXIS_C] ? fc_gather_cuda(&same, &alpha_in, &alpha, job->stream)
                                                   : status;
}
#endif

#define EQUALIZE_CODES (FC_DTYPE_BIT(FC_U8) | FC_DTYPE_BIT(FC_U16))

/* Members of fc_operator. */
#define EQUALIZE_OPERATOR                                                                                    \
  .flags = FC_OP_KEEPS_DTYPE | FC_OP_KEEPS_MEANING, .kinds = FC_KIND_BIT(FC_IMAGE) | FC_KIND_BIT(FC_ARRAY),  \
  .dtypes_in = EQUALIZE_CODES, .dtypes_out = EQUALIZE_CODES, .create = fc_create_args,                       \
  .negotiate = equalize_negotiate,                                                                           \
  .backends = BACKENDS(FC_ON_CPU(equalize_prepare, state_release, equalize_scratch, equalize_process_cpu),   \
                       FC_ON_CUDA(FC_BACKEND_GRAPH, equalize_prepare, state_release, equalize_cuda_scratch,  \
                                  equalize_process_cuda)),                                                   \
  .reference = FC_ON_CPU(equalize_prepare, state_release, equalize_scratch, equalize_process_cpu)

#endif
