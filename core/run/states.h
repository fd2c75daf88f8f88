/* SPDX-License-Identifier: MIT */
/*
 * states.h - a plan with prepared operators: the state that each stage's process is called with, the tiles of
 * its output on the CPU, its scratch, and the kernels of fused stages. Not modified once made, except for
 * those kernels; several workers share one.
 */
#ifndef FC_CORE_STATES_H
#define FC_CORE_STATES_H

#include "core/plan/chunk.h"
#include "core/run/fused.h"

G_BEGIN_DECLS

typedef struct fc_state {
  const fc_backend *backend; /* NULL for a cast */
  fc_prepared *prepared;
  gint64 tile; /* the longest range of output that one thread processes at a time */
  int tile_axis;
  gsize scratch;   /* bytes per thread, or on a device for the stage */
  fc_fused *fused; /* the stages from here on as one kernel, or NULL */
} fc_state;

typedef struct fc_states {
  gint references; /* atomic */
  fc_plan *plan;
  fc_state *stages;
} fc_states;

/* Prepares the operators on the plan's device number `device` (0 on the CPU). `first`: those of the plan that
 * this one goes on from, for whose scratch there is memory; or NULL. */
fc_states *fc_states_new(fc_plan *plan, guint device, const fc_states *first, GError **error);
fc_states *fc_states_ref(fc_states *states);
void fc_states_unref(fc_states *states); /* NULL is allowed; in the chain's thread */

/* The plan itself, or one with smaller chunks, fewer workers or fewer threads whose buffers and scratch
 * fit into the context's memory limit; NULL with FC_NO_MEMORY where none does. */
fc_plan *fc_plan_fit(fc_plan *plan, GError **error);

/* The length of the pieces into which a stage's output is cut for this many threads. */
gint64 fc_tile_length(const gint64 shape[FC_AXES], int axis, const fc_reach *reach, double work, int threads);

/* Threads that share the tiles of one chunk. */
static inline int fc_plan_width(const fc_plan *plan) {
  return plan->n_devices ? plan->threads : MAX(plan->threads / MAX(plan->crew, 1), 1);
}

/* The axis along which stages measure such signals, and the number of blocks in a range of it. */
int fc_measured_axis(const fc_format *format);
gint64 fc_measure_blocks(const fc_plan_stage *ps, const fc_format *format, const fc_range made[FC_AXES]);

/* Scratch for one call with these views; those of sides may be NULL. */
gsize fc_state_scratch(const fc_plan *plan, guint stage, const fc_state *state, const fc_view *in,
                       const fc_view *out);

G_END_DECLS

#endif
