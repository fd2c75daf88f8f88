/* SPDX-License-Identifier: MIT */
/*
 * dynamics.c - processes tiles of time: levels, gains, products.
 */
#include "filters/dynamics/dynamics.h"

#include <math.h>

#include "filters/base/samples.h"

#define TILE 1024

static int64_t groups_of(const fc_dynamics *d, int64_t channels) {
  return d->linked ? 1 : channels;
}

size_t fc_dynamics_state_bytes(const fc_dynamics *d, int64_t channels) {
  return d->state_bytes * (size_t)groups_of(d, channels);
}

typedef struct work {
  double level[TILE], gain[TILE], row[TILE];
} work;

size_t fc_dynamics_scratch(void) {
  return sizeof(work);
}

typedef struct group {
  const fc_dynamics *d;
  const fc_view *in, *out;
  int64_t first, channels;
  void *state;
  work *w;
  uint32_t *notes;
} group;

static void load_row(const group *g, int64_t t, int64_t count, int64_t channel) {
  fc_load_f64(g->w->row, fc_view_at(g->in, 0, 0, t, channel), g->in->stride[FC_AXIS_T], count, g->in->kind,
              g->in->dtype);
}

static void find_levels(const group *g, int64_t t, int64_t count) {
  double *level = g->w->level;
  for (int64_t i = 0; i < count; i++) level[i] = 0;
  for (int64_t c = 0; c < g->channels; c++) {
    load_row(g, t, count, g->first + c);
    for (int64_t i = 0; i < count; i++) {
      const double size = fabs(g->w->row[i]);
      level[i] = size > level[i] ? size : level[i];
    }
  }
  for (int64_t i = 0; i < count; i++) level[i] = level[i] < FC_DYNAMICS_MOST ? level[i] : FC_DYNAMICS_MOST;
}

static void multiply(const group *g, int64_t t, int64_t count) {
  const double most = g->d->most;
  double *row = g->w->row;
  for (int64_t c = 0; c < g->channels; c++) {
    load_row(g, t, count, g->first + c);
    for (int64_t i = 0; i < count; i++) row[i] *= g->w->gain[i];
    /* A NaN is kept: both comparisons are false. */
    for (int64_t i = 0; i < count && most > 0; i++)
      row[i] = row[i] > most ? most : row[i] < -most ? -most : row[i];
    fc_store_f64(fc_view_at(g->out, 0, 0, t, g->first + c), g->out->stride[FC_AXIS_T], row, count,
                 g->out->kind, g->out->dtype, g->notes);
  }
}

static void run_group(const group *g, int64_t tile) {
  const int64_t length = g->out->shape[FC_AXIS_T], ahead = g->d->ahead;
  for (int64_t t = 0, count; g->out->origin[FC_AXIS_T] == 0 && t < ahead; t += count) {
    count = ahead - t < tile ? ahead - t : tile;
    find_levels(g, t, count);
    g->d->gains(g->d->p, g->state, g->w->level, NULL, count);
  }
  for (int64_t t = 0, count; t < length; t += count) {
    count = length - t < tile ? length - t : tile;
    find_levels(g, t + ahead, count);
    g->d->gains(g->d->p, g->state, g->w->level, g->w->gain, count);
    multiply(g, t, count);
  }
}

static fc_status run(const fc_dynamics *d, const fc_view *in, const fc_view *out, void *state, work *w,
                     uint32_t *notes, int64_t tile) {
  const int64_t channels = out->shape[FC_AXIS_C], groups = groups_of(d, channels);
  if (fc_view_count(out) == 0) return FC_OK;
  if (out->shape[FC_AXIS_N] != 1 || out->shape[FC_AXIS_Y] != 1) return FC_UNSUPPORTED;
  for (int64_t i = 0; i < groups; i++) {
    const group g = {d, in,   out, i, d->linked ? channels : 1, (char *)state + (size_t)i * d->state_bytes,
                     w, notes};
    run_group(&g, tile);
  }
  return FC_OK;
}

fc_status fc_dynamics_ref(const fc_dynamics *d, const fc_view *in, const fc_view *out, void *state,
                          uint32_t *notes) {
  work w;
  return run(d, in, out, state, &w, notes, 1);
}

fc_status fc_dynamics_cpu(const fc_dynamics *d, const fc_view *in, const fc_view *out, void *state,
                          void *scratch, uint32_t *notes) {
  return run(d, in, out, state, scratch, notes, TILE);
}
