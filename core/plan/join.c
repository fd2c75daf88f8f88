/* SPDX-License-Identifier: MIT */
/*
 * join.c - recursive filters side by side as one stage: a step of a plan on the CPU.
 *
 * Each section waits for its own last output, so that a stage by itself leaves most of a processor idle; the
 * sections of several fill it (filters/recursive/biquad_kernels.c). Stages that are joined to another leave
 * the plan, with the links ahead of them; what these would have rounded is rounded by the sections
 * (fc_section.rounded), so the bits are those of the stages one by one.
 */
#include "core/plan/plan.h"

#include <string.h>

static const fc_cascade *cascade_of(const fc_plan_stage *ps) {
  return ps->op && ps->n_sides == 0 ? fc_operator_extension(ps->op, FC_CASCADE) : NULL;
}

/* May stage s + 1 be joined to what goes before it? Whatever stands between them is floats. */
static gboolean follows(const fc_plan *plan, guint s, guint before) {
  const fc_plan_stage *ps = &plan->stages[s];
  return s + 1 < plan->n && cascade_of(ps + 1) &&
         ps[1].stage == plan->stages[before].stage + (s + 1 - before) &&
         fc_dtype_is_float(plan->links[s + 1].dtype);
}

void fc_plan_take_out(fc_plan *plan, guint s, guint n) {
  fc_plan_stage *ps = &plan->stages[s];
  const guint gone = n - 1, behind = plan->n - s - n;
  for (guint i = 1; i < n; i++) {
    g_free(ps[i].note);
    g_clear_pointer(&ps[i].function, g_atomic_rc_box_release);
  }
  memmove(ps + 1, ps + n, behind * sizeof *ps);
  memmove(&plan->links[s + 1], &plan->links[s + n], (behind + 1) * sizeof *plan->links);
  plan->n -= gone;
  for (guint k = 0; k < plan->n_sides; k++)
    if (plan->sides[k].stage > s) plan->sides[k].stage -= gone;
}

gboolean fc_plan_join(fc_plan *plan, GError **error) {
  for (guint s = 0; s < plan->n; s++) {
    const fc_cascade *cascade = cascade_of(&plan->stages[s]);
    const double rate = plan->links[s].rate;
    guint n = 0, sections = 0;
    for (guint more = 0; cascade && (n == 0 || follows(plan, s + n - 1, s)); n++, sections += more) {
      if (!fc_stage_sections(plan->stages[s + n].stage, rate, NULL, 0, &more, error)) return FALSE;
      if (sections + more > cascade->most) break;
    }
    if (n < 2) continue;
    fc_plan_stage *ps = &plan->stages[s];
    for (guint i = 1; i < n; i++) ps->carry_bytes += ps[i].carry_bytes, ps->work += ps[i].work;
    ps->joined = n;
    fc_plan_take_out(plan, s, n);
  }
  return TRUE;
}
