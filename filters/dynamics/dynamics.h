/* SPDX-License-Identifier: MIT */
/*
 * dynamics.h - sound multiplied by a gain that follows its own level: the common part of compand, gate and
 * limiter. They differ in how gains are computed from levels; each fills in an fc_dynamics.
 *
 *     level[t] = max |x[t]| of the channels        gain[t] = f(level[0 .. t + ahead])
 *
 * The level looks `ahead` samples ahead: the view is readable so far beyond its end. State goes from piece to
 * piece, so that results do not depend on how the sound is cut. All in doubles, each operation rounded once.
 * A NaN in the input does not change the level; a level is at most FC_DYNAMICS_MOST.
 *
 * Views: sound (N and Y of 1), any strides and element types, equal shapes. Cost: that of the gains, which
 * follow one after another, and a product a sample.
 */
#ifndef FC_FILTERS_DYNAMICS_H
#define FC_FILTERS_DYNAMICS_H

#include "core/contract/view.h"
#include "filters/base/api.h"

FC_BEGIN_DECLS

#define FC_DYNAMICS_MOST 1e9

typedef struct fc_dynamics {
  /* Computes the gains for `count` levels, and the state after them; gain NULL: for the levels before the
   * first output. `p` is the field p. */
  void (*gains)(const void *p, void *state, const double *level, double *gain, int64_t count);
  const void *p;
  size_t state_bytes; /* per group of channels: a multiple of 8; zero at the beginning of a stream */
  int64_t ahead;
  int32_t linked; /* all channels share one level and gain; else each has its own */
  double most;    /* limit on the magnitude of results; 0: none */
} fc_dynamics;

/* Bytes of state for this many channels. */
FC_FILTERS_API size_t fc_dynamics_state_bytes(const fc_dynamics *d, int64_t channels);

/* A sample at a time; uses no scratch. `notes` as for fc_store_f64. */
FC_FILTERS_API fc_status fc_dynamics_ref(const fc_dynamics *d, const fc_view *in, const fc_view *out,
                                         void *state, uint32_t *notes);
/* `scratch` is fc_dynamics_scratch() bytes, aligned to 64. */
FC_FILTERS_API size_t fc_dynamics_scratch(void);
FC_FILTERS_API fc_status fc_dynamics_cpu(const fc_dynamics *d, const fc_view *in, const fc_view *out,
                                         void *state, void *scratch, uint32_t *notes);

FC_END_DECLS

#endif
