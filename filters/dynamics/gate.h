/* SPDX-License-Identifier: MIT */
/*
 * gate.h - sound that is softer than a threshold is lowered to a floor.
 *
 *     level >= threshold: the gate opens, and stays open for `hold` more samples
 *     opening += (wanted - opening) * (wanted ? attack : release)        gain = floor + (1 - floor) opening
 *
 * It begins closed. Cost: 5 operations a sample, 3 in a chain.
 */
#ifndef FC_FILTERS_GATE_H
#define FC_FILTERS_GATE_H

#include "filters/dynamics/dynamics.h"

FC_BEGIN_DECLS

typedef struct fc_gate {
  double threshold;       /* a factor of full scale */
  double floor;           /* the gain below the threshold, [0, 1] */
  double attack, release; /* fc_dynamics_rate */
  int64_t hold;           /* samples */
} fc_gate;

/* Without look-ahead, linked; fields may be changed. */
FC_FILTERS_API fc_dynamics fc_gate_dynamics(const fc_gate *g);

FC_END_DECLS

#endif
