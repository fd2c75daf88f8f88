/* SPDX-License-Identifier: MIT */
/*
 * permute.h - code shared by the operators on filters/geometry/permute.h: terms, prepared state and backends.
 * Each includes it once and defines permute_of, which says how the axes change.
 */
#ifndef FC_PLUGINS_PERMUTE_H
#define FC_PLUGINS_PERMUTE_H

#include <stdlib.h>
#include <string.h>

#include "filters/geometry/permute.h"
#include "plugins/single.h"

/* What the operator does, from its arguments. */
fc_permute permute_of(const void *instance);

/* Axes that change are read as a whole. */
static inline void permute_terms(const fc_permute *p, fc_terms *terms) {
  for (int a = 0; a < FC_AXES; a++) {
    terms->out->extent[a] = terms->in[0]->extent[p->axis[a]];
    if (!fc_permute_moves(p, a)) continue;
    fc_reach *reach = &terms->needs[0]->reach[p->axis[a]];
    reach->before = reach->after = FC_WHOLE;
  }
  terms->work = 1;
}

static inline fc_status permute_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  const fc_permute p = permute_of(prepared);
  return fc_permute_cpu(&p, job->in[0], job->out);
}

static inline fc_status permute_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  const fc_permute p = permute_of(prepared);
  return fc_permute_ref(&p, job->in[0], job->out);
}

/* Without reversed axes it is an exchange. */
static inline fc_status permute_axes(const fc_host *host, const void *instance, int32_t axis[FC_AXES]) {
  const fc_permute p = permute_of(instance);
  (void)host;
  for (int a = 0; a < FC_AXES; a++) {
    if (p.reversed[a]) return FC_UNSUPPORTED;
    axis[a] = p.axis[a];
  }
  return FC_OK;
}
static inline const void *permute_extension(const fc_operator *op, const char *name) {
  static const fc_exchange exchange = {sizeof exchange, permute_axes};
  (void)op;
  return strcmp(name, FC_EXCHANGE) == 0 ? &exchange : NULL;
}

#if FC_HAVE_CUDA
static inline fc_status permute_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  const fc_permute p = permute_of(prepared);
  return fc_permute_cuda(&p, job->in[0], job->out, job->stream);
}
#endif

/* Members of fc_operator. Which input an output is a copy of depends on its position in the signal: not
 * for graphs. */
#define PERMUTE_BACKENDS                                                                                     \
  .backends =                                                                                                \
      BACKENDS(FC_ON_CPU(NULL, NULL, NULL, permute_cpu), FC_ON_CUDA(0, NULL, NULL, NULL, permute_cuda)),     \
  .reference = FC_ON_CPU(NULL, NULL, NULL, permute_reference), .extension = permute_extension

#endif
