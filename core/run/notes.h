/* SPDX-License-Identifier: MIT */
/*
 * notes.h - what stages have noted of values that became integers: NaN, and what was clipped. On the CPU the
 * stores count that as they run (core/contract/rows_table.h); a device sets flags.
 */
#ifndef FC_CORE_NOTES_H
#define FC_CORE_NOTES_H

#include "core/contract/rows_table.h"
#include "core/run/workspace.h"

G_BEGIN_DECLS

/* What a stage has noted. */
static inline guint32 *fc_notes_of(const fc_workspace *w, guint stage) {
  return w->notes + FC_COUNTED_WORDS * stage;
}

/* Where it notes: behind all others, where nobody reads, if it is not to be heard. */
static inline guint32 *fc_notes_to(const fc_workspace *w, guint stage) {
  const fc_plan *plan = w->states->plan;
  return fc_notes_of(w, plan->stages[stage].unheard ? plan->n : stage);
}

/* Whether the stage's stores count: it runs on the CPU, in a run on a device too. A stage that may become
 * part of a composed kernel only sets flags, since fc_dev_note leaves FC_COUNTING as it is. */
static inline gboolean fc_notes_count(const fc_plan *plan, guint stage) {
  return fc_plan_on_host(plan, stage) && !plan->stages[stage].composed;
}

/* Nothing is noted yet. */
void fc_notes_begin(fc_workspace *w);

/* Fails with a sentence that begins with `name`, the file, if a stage has met a NaN on its way to an
 * integer. */
gboolean fc_notes_check(const fc_workspace *w, const char *name, GError **error);

/* "gain: 392 of 48640 values (0.81 %) exceeded the range of i16 and were clipped, the peak by 6.4 dB: ...",
 * of the first stage of a run in these workspaces that has clipped something, and what to do; `plan` knows
 * how long everything was. NULL: none has. g_free. */
char *fc_notes_clipped(const fc_workspace *workspaces, guint n, const fc_plan *plan);

G_END_DECLS

#endif
