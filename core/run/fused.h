/* SPDX-License-Identifier: MIT */
/*
 * fused.h - stages that run as one kernel, once that has been compiled.
 */
#ifndef FC_CORE_FUSED_H
#define FC_CORE_FUSED_H

#include "core/plan/plan.h"

G_BEGIN_DECLS

typedef struct fc_fused fc_fused;

/* The stages of the plan from `stage` on that are one kernel, on the plan's device number `device`; NULL
 * where the device does not support such kernels. Requests the kernel for ordinary chunks. */
fc_fused *fc_fused_new(const fc_plan *plan, guint stage, guint device);
void fc_fused_free(fc_fused *fused); /* NULL is allowed */

/* Completes the function of stage i of these by the operator's prepared state (fc_fusible.bind), which must
 * outlive the kernel. FALSE: the operator has none for this device. */
gboolean fc_fused_bind(fc_fused *fused, guint i, const fc_plan_stage *stage, const void *prepared);

/* "gain+clip", for traces. */
const char *fc_fused_name(const fc_fused *fused);

/* Within enqueue: launches the kernel from one view to the other. `done` FALSE: the kernel is not
 * available (yet), and nothing was enqueued. Any thread. */
gboolean fc_fused_run(fc_fused *fused, fc_runner *runner, const fc_view *in, const fc_view *out,
                      guint32 *notes, gboolean *done, GError **error);

/* Reports that this many elements of N, Y and X have passed the stages, launched one by one or replayed:
 * if the kernel was missing, it is compiled once that is worthwhile. Any thread. */
void fc_fused_passed(fc_fused *fused, gint64 elements);

G_END_DECLS

#endif
