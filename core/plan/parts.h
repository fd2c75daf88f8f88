/* SPDX-License-Identifier: MIT */
/*
 * parts.h - cutting a stage's output into an inside, for which the stage looks at nothing beyond its
 * input, and borders.
 *
 * A stage that looks beyond its input needs a border, for which a caller's memory has no room. The inside
 * needs none: it can be filtered where it lies. Only what the borders look at must be copied to where there
 * is room. What an element of the output comes to does not depend on how the output is cut.
 *
 * Pure arithmetic, no state.
 */
#ifndef FC_CORE_PARTS_H
#define FC_CORE_PARTS_H

#include "core/plan/plan.h"

G_BEGIN_DECLS

/* A stretch of a stage's output, and of its input what demand.h says. */
typedef struct fc_part {
  fc_range out[FC_AXES];
  fc_range view[FC_AXES], virt[FC_AXES], real[FC_AXES], held[FC_AXES];
} fc_part;

/* Where positions along X begin a line of the cache: at `first` and every `step` from there on, which is
 * less. */
typedef struct fc_lines {
  gint64 step, first;
} fc_lines;

/* Of memory with position 0 at `origin`, `stride` bytes from one position to the next. */
fc_lines fc_lines_of(const void *origin, gint64 stride);

/* The inside, and what is above, below, left and right of it. */
#define FC_PARTS 5

/*
 * Cuts `out`, of the output of a stage with such an input, into parts: the inside first, then the borders
 * there are. Returns how many; 0 where nothing is inside, or it cannot be told. Cuts along X lie where
 * `lines` says, for the sake of wide stores; a stage that works in blocks of several elements is cut between
 * these and at multiples of `step`.
 */
guint fc_parts_cut(const fc_plan_stage *stage, const fc_format *in, const fc_range out[FC_AXES],
                   fc_lines lines, fc_part parts[FC_PARTS]);

G_END_DECLS

#endif
