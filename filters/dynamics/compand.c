/* SPDX-License-Identifier: MIT */
/* compand.c - see compand.h. */
#include "filters/dynamics/compand.h"

#include <math.h>

#define DB (20 / 2.302585092994046) /* dB per unit of a natural logarithm */

double fc_dynamics_rate(double seconds, double sample_rate) {
  return seconds * sample_rate > 1e-3 ? 1 - exp(-1 / (seconds * sample_rate)) : 1;
}

/* max(u, 0), with its corner rounded over `knee`. */
static double bent(double u, double knee) {
  if (u <= -knee / 2) return 0;
  if (u >= knee / 2) return u;
  return (u + knee / 2) * (u + knee / 2) / (2 * knee);
}

/* A line of slope 1 plus the change of slope at each point. */
double fc_compand_curve(const fc_compand *c, double level) {
  double y = level + (c->out[0] - c->in[0]), slope = 1;
  for (int i = 0; i + 1 < c->points; i++) {
    const double next = (c->out[i + 1] - c->out[i]) / (c->in[i + 1] - c->in[i]);
    y += (next - slope) * bent(level - c->in[i], c->knee);
    slope = next;
  }
  return y;
}

/* The state is the envelope. */
static void gains(const void *p, void *state, const double *level, double *gain, int64_t count) {
  const fc_compand *c = p;
  double v = *(double *)state;
  for (int64_t i = 0; i < count; i++) {
    v += (level[i] - v) * (level[i] > v ? c->attack : c->decay);
    if (!gain) continue;
    const double l = v > 1e-10 ? DB * log(v) : FC_COMPAND_FLOOR;
    gain[i] = c->gain * exp((fc_compand_curve(c, l) - l) / DB);
  }
  *(double *)state = v < 1e-30 ? 0 : v;
}

fc_dynamics fc_compand_dynamics(const fc_compand *c) {
  return (fc_dynamics){.gains = gains, .p = c, .state_bytes = sizeof(double), .linked = 1};
}
