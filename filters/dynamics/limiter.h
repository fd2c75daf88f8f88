/* SPDX-License-Identifier: MIT */
/*
 * limiter.h - keeps all samples below a ceiling, with a smooth gain.
 *
 * r[t] = min(1, ceiling / level[t]) is what a sample needs. The gain looks ahead by L samples: it is the mean
 * of e over t - L ... t,
 *
 *     m[t] = min r[t ... t + L]        e[t] = min(m[t], e[t-1] + (1 - e[t-1]) * release)
 *
 * Each of the L + 1 values of e that are averaged has seen r[t] and is no larger: so nothing exceeds the
 * ceiling. Depths 1 - e are whole multiples of 2^-40, rounded up, so that their running sum is exact. The
 * minimum is kept as the usual queue of rising values. Cost: about 10 operations per sample, for any L.
 */
#ifndef FC_FILTERS_LIMITER_H
#define FC_FILTERS_LIMITER_H

#include "filters/dynamics/dynamics.h"

FC_BEGIN_DECLS

#define FC_LIMITER_LONGEST 1000000 /* samples ahead */

typedef struct fc_limiter {
  double ceiling;
  double release; /* fc_dynamics_rate */
  int64_t ahead;  /* L, 0 to FC_LIMITER_LONGEST */
} fc_limiter;

/* Linked; fields may be changed. */
FC_FILTERS_API fc_dynamics fc_limiter_dynamics(const fc_limiter *l);

FC_END_DECLS

#endif
