/* SPDX-License-Identifier: MIT */
/* gate.c - see gate.h. */
#include "filters/dynamics/gate.h"

typedef struct state {
  double opening;
  int64_t left; /* samples for which it still stays open */
} state;

static void gains(const void *p, void *memory, const double *level, double *gain, int64_t count) {
  const fc_gate *g = p;
  state s = *(state *)memory;
  for (int64_t i = 0; i < count; i++) {
    const int loud = level[i] >= g->threshold, open = loud || s.left > 0;
    s.left = loud ? g->hold : s.left > 0 ? s.left - 1 : 0;
    s.opening += open ? (1 - s.opening) * g->attack : -s.opening * g->release;
    if (s.opening < 1e-30) s.opening = 0;
    if (gain) gain[i] = g->floor + (1 - g->floor) * s.opening;
  }
  *(state *)memory = s;
}

fc_dynamics fc_gate_dynamics(const fc_gate *g) {
  return (fc_dynamics){.gains = gains, .p = g, .state_bytes = sizeof(state), .linked = 1};
}
