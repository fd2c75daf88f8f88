/* SPDX-License-Identifier: MIT */
/*
 * narrow.c - integers ahead of stages that only rank samples: a step of a plan on a device.
 *
 * What is delivered as integers is often computed by one stage and then ranked by others, each of whose
 * results is the least or the largest of samples and limits, or a copy (FC_FUNCTION_RANKS). Rounding keeps
 * the order, so it may as well come ahead of them, and the links between have a half or a quarter of the
 * bytes:
 *
 *     u8 -> sepconv -> f32 -> winstat:stat=max -> f32 -> clip -> u8
 *     u8 -> sepconv -> u8  -> winstat:stat=max -> u8  -> clip -> u8
 *
 * Results are the same to the bit, and so is what is noted: only where it is proved (core/compose/ranges.h)
 * that no NaN comes, and that either nothing is clipped ahead of these stages, or nothing behind them.
 */
#include "core/plan/plan.h"

#include "core/compose/ranges.h"
#include "core/compose/vectors.h"

#include <string.h>

/* Whether each result of the stage is one of its samples or limits, by order alone. */
static gboolean ranks(const fc_plan_stage *ps) {
  return ps->op && (ps->exchanges || (ps->function && ps->function->flags & FC_FUNCTION_RANKS));
}

static gboolean is_window(const fc_plan_stage *ps) {
  return ps->function && ps->function->flags & FC_FUNCTION_WINDOW;
}

/* Whether the stage makes floats and rounds them, on whatever path it runs; statistics of integers make
 * integers without these. */
static gboolean rounds_floats(const fc_plan_stage *ps) {
  fc_statistic_text statistic;
  return ps->function && !fc_vectors_is_box(ps->function) &&
         !(fc_statistic_read(ps->function, &statistic) && statistic.codes);
}

/* The number of stages up to the one behind which there are only links of the type that is delivered. */
static guint stages_of_result(const fc_plan *plan) {
  guint n = plan->n;
  while (n > 0 && plan->links[n - 1].dtype == plan->links[plan->n].dtype) n--;
  return n;
}

/* The first window of those of n stages at the end that only rank, if floats come into it from a kernel of
 * its own; 0: there is none. */
static guint first_window(const fc_plan *plan, guint n) {
  guint first = 0, begin = 0;
  for (guint s = n; s-- > 1 && ranks(&plan->stages[s]);)
    if (is_window(&plan->stages[s])) first = s;
  for (guint s = 0; s < first; s += MAX(plan->stages[s].fused, 1)) begin = s + MAX(plan->stages[s].fused, 1);
  const fc_plan_stage *before = &plan->stages[first ? first - 1 : 0];
  return begin == first && plan->links[first].dtype == FC_F32 && rounds_floats(before) && !before->on_host &&
                 !before->made
             ? first
             : 0;
}

/* Whether it is proved that the first n stages make no NaN and, with `clips_nothing`, clip no value. */
static gboolean is_certain(const fc_plan *plan, guint n, gboolean clips_nothing) {
  fc_compose_stage stages[FC_COMPOSE_STAGES];
  fc_composition c;
  const int in = plan->links[0].dtype;
  return fc_plan_described(plan, n, stages, &c) &&
         (clips_nothing ? fc_ranges_quiet(&c, in) : fc_ranges_finite(&c, n - 1, in));
}

/* Whether what the stage makes of integers is in their range: its limits may lie outside, of which only the
 * last stage would warn, if those behind had not hidden it. */
static gboolean keeps_range(const fc_plan *plan, guint s) {
  fc_compose_stage stage;
  fc_composition c;
  if (!plan->stages[s].function) return TRUE; /* it exchanges axes */
  fc_plan_composition(plan, s, 1, &stage, &c);
  return fc_ranges_quiet(&c, plan->links[s].dtype);
}

/* Whether the border of the stage is the same in the narrow type. */
static gboolean keeps_border(const fc_plan *plan, const fc_plan *narrow, guint s) {
  const fc_plan_stage *was = &plan->stages[s], *now = &narrow->stages[s];
  const fc_format *wide = &plan->links[s], *in = &narrow->links[s];
  return now->border == was->border && (now->border != FC_BORDER_CONSTANT ||
                                        fc_value_decode(&now->border_code, in->kind, in->dtype) ==
                                            fc_value_decode(&was->border_code, wide->kind, wide->dtype));
}

/* Negotiates with the stages from `first` - 1 on, for links of the type that is delivered. */
static gboolean negotiate(fc_plan *narrow, const fc_plan *plan, guint first, guint n) {
  const int dtype = plan->links[n].dtype;
  for (guint s = first - 1; s < n; s++) {
    fc_plan_stage *ps = &narrow->stages[s];
    ps->narrow = TRUE;
    if (!fc_plan_negotiate_stage(narrow, s, dtype, NULL) || narrow->links[s + 1].dtype != dtype ||
        memcmp(ps->reach, plan->stages[s].reach, sizeof ps->reach) != 0 ||
        ps->host_only != plan->stages[s].host_only || ps->turned != plan->stages[s].turned ||
        ps->measure_bytes != plan->stages[s].measure_bytes ||
        ps->carry_bytes != plan->stages[s].carry_bytes || (s >= first && !keeps_border(plan, narrow, s)))
      return FALSE;
  }
  narrow->links[n] = plan->links[n]; /* with the bits that a sink has */
  return TRUE;
}

fc_plan *fc_plan_narrow(fc_plan *plan) {
  const guint n = stages_of_result(plan), first = first_window(plan, n);
  const int dtype = plan->links[n].dtype;
  if (first == 0 || plan->compute != FC_F32 || (dtype != FC_U8 && dtype != FC_I16 && dtype != FC_U16) ||
      !is_certain(plan, first, FALSE))
    return plan;
  g_autoptr(fc_plan) narrow = fc_plan_copy(plan);
  if (!negotiate(narrow, plan, first, n)) return plan;
  fc_plan_fuse(narrow);
  for (guint s = first - 1; s < n; s++)
    if (!ranks(&narrow->stages[s]) && !(s < first && rounds_floats(&narrow->stages[s]))) return plan;
  for (guint s = first; s + 1 < n; s++)
    if (!keeps_range(narrow, s)) return plan;
  if (!is_certain(narrow, first, TRUE)) {
    if (!is_certain(plan, n, TRUE)) return plan;
    narrow->stages[first - 1].unheard = TRUE;
  }
  fc_plan_unref(plan);
  return g_steal_pointer(&narrow);
}

void fc_plan_widen(fc_plan *plan) {
  guint n = 0;
  for (guint s = 0; s < plan->n; s++)
    if (plan->stages[s].narrow) n = s + 1;
  const fc_format result = plan->links[n];
  for (guint s = 0; s < n; s++) {
    fc_plan_stage *ps = &plan->stages[s];
    if (!ps->narrow) continue;
    ps->narrow = ps->unheard = FALSE;
    fc_plan_negotiate_stage(plan, s, result.dtype, NULL); /* as it was asked before */
  }
  plan->links[n] = result;
}
