/* SPDX-License-Identifier: MIT */
/* value.c - a plan as a value: made empty, copied, counted and freed. */
#include "core/plan/plan.h"

#include <string.h>

fc_plan *fc_plan_empty(fc_chain *chain) {
  fc_plan *plan = g_new0(fc_plan, 1);
  plan->references = 1;
  plan->chain = chain;
  plan->stages = g_new0(fc_plan_stage, 3 * chain->n + 2);
  plan->links = g_new0(fc_format, 3 * chain->n + 3);
  for (guint i = 0; i < chain->n; i++) plan->n_sides += chain->stages[i].n_inputs;
  plan->sides = g_new0(fc_plan_side, MAX(plan->n_sides, 1));
  return plan;
}

fc_plan *fc_plan_copy(const fc_plan *plan) {
  fc_plan *other = fc_plan_empty(plan->chain);
  fc_plan_stage *stages = other->stages;
  fc_format *links = other->links;
  fc_plan_side *sides = other->sides;
  memcpy(stages, plan->stages, plan->n * sizeof *stages);
  memcpy(links, plan->links, (plan->n + 1) * sizeof *links);
  memcpy(sides, plan->sides, plan->n_sides * sizeof *sides);
  for (guint s = 0; s < plan->n; s++) {
    stages[s].note = g_strdup(stages[s].note);
    if (stages[s].function) g_atomic_rc_box_acquire(stages[s].function);
  }
  *other = *plan;
  other->references = 1;
  other->stages = stages, other->links = links, other->sides = sides;
  other->reason = g_strdup(plan->reason);
  return other;
}

fc_plan *fc_plan_ref(fc_plan *plan) {
  g_atomic_int_inc(&plan->references);
  return plan;
}

void fc_plan_unref(fc_plan *plan) {
  if (!plan || !g_atomic_int_dec_and_test(&plan->references)) return;
  for (guint s = 0; s < plan->n; s++) {
    g_free(plan->stages[s].note);
    g_clear_pointer(&plan->stages[s].function, g_atomic_rc_box_release);
  }
  g_free(plan->stages);
  g_free(plan->links);
  g_free(plan->sides);
  g_free(plan->reason);
  g_free(plan);
}
