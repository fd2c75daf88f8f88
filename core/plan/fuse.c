/* SPDX-License-Identifier: MIT */
/*
 * fuse.c - which stages may run as one kernel on a device: those side by side that look at one sample or
 * pixel each and hand over a device function (extension "device-function/1").
 *
 * What such a kernel notes - a NaN, a clipped value - is told of its last stage, so a stage that rounds to
 * integers ends one. Results are the same to the bit, so whether a kernel is there yet is the run's business.
 */
#include "core/plan/plan.h"

#include "core/base/error.h"
#include "core/device/compose.h"

#include <string.h>

/* A function with the room behind it that its pointers look into. */
typedef struct function {
  fc_device_function base;
  char entry[FC_FUNCTION_ENTRY];
  double bytes[FC_FUNCTION_BYTES / sizeof(double)];
} function;

/* Does an output look at one input alone, so and so far away (a crop), along all axes but that of the
 * channels?
 */
static gboolean is_pointwise(const fc_plan_stage *ps, const fc_format *in, const fc_format *out) {
  for (int a = FC_AXIS_N; a < FC_AXIS_C; a++)
    if (ps->reach[a].before != -ps->reach[a].after || ps->reach[a].num != ps->reach[a].den) return FALSE;
  return in->kind == out->kind && !ps->n_sides && !ps->measure_bytes && !ps->carry_bytes && !ps->generator &&
         !ps->passthrough;
}

static fc_device_function *describe(const fc_plan *plan, guint s) {
  const fc_plan_stage *ps = &plan->stages[s];
  const fc_format *in = &plan->links[s], *out = &plan->links[s + 1];
  const fc_fusible *fusible =
      ps->op && ps->op->extension ? ps->op->extension(ps->op, FC_DEVICE_FUNCTION) : NULL;
  if (!fusible || ps->on_host || !is_pointwise(ps, in, out)) return NULL;
  function *f = g_atomic_rc_box_new0(function);
  f->base =
      (fc_device_function){.size = sizeof f->base, .entry = f->entry, .bytes = f->bytes, .low = 1, .high = 0};
  const fc_setup setup = {.size = sizeof setup,
                          .device = fc_plan_device(plan),
                          .compute = plan->compute,
                          .n_in = 1,
                          .in = &in,
                          .out = out};
  fc_enter_operator(ps->name);
  const fc_status status = fusible->describe(&ps->stage->host.base, ps->stage->self, &setup, &f->base);
  fc_enter_operator(NULL);
  fc_stage_host_check(&ps->stage->host, ps->name, "describing its device function", FC_OK, NULL);
  if (status == FC_OK) return &f->base;
  g_atomic_rc_box_release(f);
  return NULL;
}

/* May the stage after s be in one kernel with it? What is shifted is so on the way in. */
static gboolean may_go_on(const fc_plan *plan, guint s) {
  for (int a = FC_AXIS_N; a < FC_AXIS_C; a++)
    if (plan->stages[s + 1].reach[a].before) return FALSE;
  return fc_dtype_is_float(plan->links[s + 1].dtype) || plan->stages[s].function->flags & FC_FUNCTION_SELECTS;
}

void fc_plan_fuse(fc_plan *plan) {
  for (guint s = 0; s < plan->n; s++) {
    g_clear_pointer(&plan->stages[s].function, g_atomic_rc_box_release);
    plan->stages[s].fused = 0;
    if (plan->n_devices && plan->fuse != FC_FUSE_NO) plan->stages[s].function = describe(plan, s);
  }
  for (guint s = 0, n; s < plan->n; s += MAX(n, 1)) {
    gsize room = FC_COMPOSE_MOST - FC_COMPOSE_FIRST;
    for (n = 0; s + n < plan->n && plan->stages[s + n].function && n < FC_COMPOSE_STAGES; n++) {
      const gsize bytes = fc_compose_bytes(plan->stages[s + n].function);
      if (bytes > room || (n > 0 && !may_go_on(plan, s + n - 1))) break;
      room -= bytes;
    }
    if (n > 1) plan->stages[s].fused = n;
  }
}
