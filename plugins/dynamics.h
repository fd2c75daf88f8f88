/* SPDX-License-Identifier: MIT */
/*
 * dynamics.h - code shared by the operators on filters/dynamics: parameters, terms, the prepared state and
 * the backends. Each includes it once and defines dynamics_of, which interprets its arguments.
 */
#ifndef FC_PLUGINS_DYNAMICS_H
#define FC_PLUGINS_DYNAMICS_H

#include <stdlib.h>

#include "filters/dynamics/compand.h"
#include "filters/dynamics/gate.h"
#include "filters/dynamics/limiter.h"
#include "plugins/single.h"

typedef struct dynamics_state {
  union {
    fc_compand compand;
    fc_gate gate;
    fc_limiter limiter;
  } p;
  fc_dynamics work; /* points to p */
} dynamics_state;

/* The processing for sound of this rate. */
void dynamics_of(const fc_arg *const *args, double rate, dynamics_state *state);

#define DYNAMICS_LINK_PARAM                                                                                  \
  FC_BOOL_PARAM(0, "link",                                                                                   \
                "Whether one gain, from the loudest channel, is used for all channels, which keeps the "     \
                "balance; else each channel has its own.",                                                   \
                "yes")

static inline int64_t dynamics_samples(double seconds, double rate) {
  return (int64_t)(seconds * rate + 0.5);
}

static inline fc_status dynamics_negotiate(const fc_host *host, void *self, fc_terms *terms) {
  const fc_format *in = terms->in[0];
  dynamics_state state;
  if (in->rate <= 0)
    return host->fail(host, FC_INVALID,
                      "the sample rate is not known, so times in seconds cannot be converted to samples");
  if (in->rate > 1e7) return host->fail(host, FC_UNSUPPORTED, "a sample rate of %g Hz is too much", in->rate);
  dynamics_of(self, in->rate, &state);
  terms->carry_bytes = fc_dynamics_state_bytes(&state.work, in->extent[FC_AXIS_C]);
  terms->needs[0]->reach[FC_AXIS_T].after = state.work.ahead;
  terms->needs[0]->border = FC_BORDER_ZERO;
  terms->work = 60;
  return FC_OK;
}

static inline fc_status dynamics_prepare(const fc_host *host, void *self, const fc_setup *setup,
                                         void **prepared) {
  dynamics_state *state = (dynamics_state *)calloc(1, sizeof *state);
  if (!state) return host->fail(host, FC_NO_MEMORY, "out of memory");
  dynamics_of(self, setup->in[0]->rate, state);
  *prepared = state;
  return FC_OK;
}

static inline size_t dynamics_scratch(const void *prepared, const fc_job *job) {
  (void)prepared, (void)job;
  return fc_dynamics_scratch();
}

static inline fc_status dynamics_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  const dynamics_state *state = (const dynamics_state *)prepared;
  (void)host;
  return fc_dynamics_cpu(&state->work, job->in[0], job->out, job->carry, job->scratch, job->notes);
}

static inline fc_status dynamics_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  const dynamics_state *state = (const dynamics_state *)prepared;
  (void)host;
  return fc_dynamics_ref(&state->work, job->in[0], job->out, job->carry, job->notes);
}

/* Members of fc_operator. Each gain depends on the previous one, which does not suit a GPU: there is no
 * CUDA version. */
#define DYNAMICS_OPERATOR                                                                                    \
  .size = sizeof(fc_operator), .flags = FC_OP_KEEPS_MEANING, FC_SOUND_ONLY, .negotiate = dynamics_negotiate, \
  .backends = FC_BACKENDS(FC_ON_CPU(dynamics_prepare, state_release, dynamics_scratch, dynamics_cpu)),       \
  .reference = FC_ON_CPU(dynamics_prepare, state_release, NULL, dynamics_reference)

#endif
