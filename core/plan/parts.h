/* SPDX-License-Identifier: MIT */
/*
 * parts.h - cuts a stage's output into an inside, for which the stage reads nothing beyond its input, and
 * borders.
 *
 * A stage that reads beyond its input needs a border, for which there is no room in a caller's memory. The
 * inside needs none: it can be filtered in place. Only the inputs of the borders must be copied to where
 * there is room. The value of an output element does not depend on how the output is cut.
 *
 * Pure arithmetic, no state.
 */
#ifndef FC_CORE_PARTS_H
#define FC_CORE_PARTS_H

#include "core/plan/plan.h"

G_BEGIN_DECLS

/* A range of a stage's output, with the input ranges of demand.h. */
typedef struct fc_part {
  fc_range out[FC_AXES];
  fc_range view[FC_AXES], virt[FC_AXES], real[FC_AXES], held[FC_AXES];
} fc_part;

/* Positions along X where a cache line begins: `first` and every `step` from there on; first < step. */
typedef struct fc_lines {
  gint64 step, first;
} fc_lines;

/* For memory with position 0 at `origin` and `stride` bytes per position. */
fc_lines fc_lines_of(const void *origin, gint64 stride);

/* The inside, and the parts above, below, left and right of it. */
#define FC_PARTS 5

/*
 * Cuts `out`, a range of the output of a stage with this input format, into parts: the inside first, then the
 * existing borders. Returns how many; 0 where nothing is inside, or it is not known. Cuts along X are where
 * `lines` says, for the sake of wide stores; a stage that works in blocks of several elements is cut between
 * blocks and at multiples of `step`.
 */
guint fc_parts_cut(const fc_plan_stage *stage, const fc_format *in, const fc_range out[FC_AXES],
                   fc_lines lines, fc_part parts[FC_PARTS]);

G_END_DECLS

#endif
