/* SPDX-License-Identifier: MIT */
/*
 * fuse.c - which stages may run as one kernel on a device: neighbours that read one sample or pixel each and
 * provide a device function (device_function.h), with one among them that reads a window, or several where
 * that is estimated to be faster (core/compose/series.h).
 *
 * An operator without a CUDA version also runs on the device in such a kernel, if need be alone. If that
 * kernel cannot be compiled it runs on the CPU, like others without a CUDA version.
 *
 * Notes of such a kernel - a NaN, a clipped value - are attributed to one stage, so behind a stage that
 * rounds to integers it has only stages that select among these. Results are the same to the bit, so whether
 * a kernel is available yet is decided during the run.
 */
#include "core/plan/plan.h"

#include <string.h>

#include "core/base/buffer.h"
#include "core/base/error.h"
#include "core/compose/prefilter.h"
#include "core/compose/ranges.h"
#include "core/compose/series.h"

/* A function followed by the memory that its pointers point to. */
typedef struct function {
  fc_device_function base;
  char entry[FC_FUNCTION_ENTRY];
  double bytes[FC_FUNCTION_BYTES / sizeof(double)];
} function;

/* Whether each output reads one input element, at a constant shift (a crop), along all axes except that of
 * the channels. */
static gboolean is_pointwise(const fc_plan_stage *ps) {
  for (int a = FC_AXIS_N; a < FC_AXIS_C; a++)
    if (ps->reach[a].before != -ps->reach[a].after || ps->reach[a].num != ps->reach[a].den) return FALSE;
  return TRUE;
}

/* Whether the window of the device function is the one that was negotiated. */
static gboolean has_window(const fc_plan_stage *ps, const fc_device_function *f, const fc_format *in,
                           const fc_format *out) {
  const gint64 taps[FC_AXES] = {1, f->window_y, f->window_x, 1};
  for (int a = 0; a < FC_AXES; a++) {
    const fc_reach *r = &ps->reach[a];
    if (r->before != taps[a] / 2 || r->after != taps[a] - 1 - taps[a] / 2 || r->num != r->den ||
        in->extent[a] != out->extent[a])
      return FALSE;
  }
  return TRUE;
}

/* Whether it only turns one signal into another of its kind: no further inputs, measurements or state. */
static gboolean is_plain(const fc_plan_stage *ps, const fc_format *in, const fc_format *out) {
  return in->kind == out->kind && !ps->n_sides && !ps->measure_bytes && !ps->carry_bytes && !ps->generator &&
         !ps->passthrough && (!ps->on_host || !fc_backend_for(ps->op, FC_KIND_CUDA));
}

/* Whether all flags are known that must be. */
static gboolean is_understood(const fc_device_function *f) {
  const guint32 known = FC_FUNCTION_SELECTS | FC_FUNCTION_WINDOW | FC_FUNCTION_AROUND | FC_FUNCTION_ALONE |
                        FC_FUNCTION_NONNEGATIVE | FC_FUNCTION_POSITION | FC_FUNCTION_KEEPS_ALL |
                        FC_FUNCTION_RANKS | FC_FUNCTION_SHRINKS;
  /* One result of several neighbours does not contain them all. */
  if (f->flags & FC_FUNCTION_AROUND && (!(f->flags & FC_FUNCTION_WINDOW) || f->flags & FC_FUNCTION_KEEPS_ALL))
    return FALSE;
  if (f->flags & FC_FUNCTION_SHRINKS &&
      (!(f->flags & FC_FUNCTION_WINDOW) || !g_str_has_prefix(f->entry, "fc_box")))
    return FALSE;
  return !(f->flags & ~known & ~FC_FLAG_IGNORABLE);
}

/* Whether the plugin has written into the buffers that it was given, and not beyond them: addresses of its
 * own would not live as long as the plan. */
static gboolean is_filled(const function *f) {
  return f->base.source && f->base.entry == f->entry && f->base.bytes == f->bytes &&
         memchr(f->entry, 0, sizeof f->entry) && f->base.n_bytes <= FC_FUNCTION_BYTES;
}

static fc_device_function *describe(const fc_plan *plan, guint s) {
  const fc_plan_stage *ps = &plan->stages[s];
  const fc_format *in = &plan->links[s], *out = &plan->links[s + 1];
  const fc_fusible *fusible = ps->op ? fc_operator_extension(ps->op, FC_DEVICE_FUNCTION) : NULL;
  if (!fusible || !is_plain(ps, in, out)) return NULL;
  function *f = g_atomic_rc_box_new0(function);
  f->base = (fc_device_function){
      .size = sizeof f->base, .entry = f->entry, .bytes = f->bytes, .low = 1, .high = 0, .growth = -1};
  const fc_setup setup = {.size = sizeof setup,
                          .device = plan->devices[0],
                          .compute = plan->compute,
                          .n_in = 1,
                          .in = &in,
                          .out = out};
  const fc_status status =
      FC_CALLED(ps->name, fusible->describe(&ps->stage->host.base, ps->self, &setup, &f->base));
  fc_stage_host_check(&ps->stage->host, ps->name, "describing its device function", FC_OK, NULL);
  if (status == FC_OK && is_filled(f) && is_understood(&f->base) &&
      (f->base.flags & FC_FUNCTION_WINDOW ? has_window(ps, &f->base, in, out) : is_pointwise(ps)))
    return &f->base;
  g_atomic_rc_box_release(f);
  return NULL;
}

static gboolean is_shifted(const fc_plan_stage *ps) {
  return !(ps->function->flags & FC_FUNCTION_WINDOW) &&
         (ps->reach[FC_AXIS_N].before || ps->reach[FC_AXIS_Y].before || ps->reach[FC_AXIS_X].before);
}

static void list_stages(const fc_plan *plan, guint stage, guint n, fc_compose_stage *stages,
                        fc_composition *c) {
  *c = (fc_composition){.stages = stages, .n = n, .compute = plan->compute, .window = n};
  for (guint i = 0; i < n; i++) {
    const fc_plan_stage *ps = &plan->stages[stage + i];
    const fc_format *in = &plan->links[stage + i], *out = in + 1;
    stages[i] = (fc_compose_stage){ps->name, ps->function, out->dtype, out->kind, FC_BORDER_NONE, 0};
    if (!(ps->function->flags & FC_FUNCTION_WINDOW)) continue;
    fc_compose_stage *window = &stages[i];
    window->border = fc_compose_border(ps->function, ps->border);
    window->border_value =
        window->border == ps->border ? fc_value_decode(&ps->border_code, in->kind, in->dtype) : 0;
    if (c->windows++ == 0) c->window = i, c->border = window->border, c->border_value = window->border_value;
  }
}

gboolean fc_plan_described(const fc_plan *plan, guint n, fc_compose_stage *stages, fc_composition *c) {
  if (n > FC_COMPOSE_STAGES) return FALSE;
  for (guint s = 0; s < n; s++)
    if (!plan->stages[s].function ||
        (plan->stages[s].made && fc_linear_has_edges(plan->stages[s].made->steps)))
      return FALSE;
  list_stages(plan, 0, n, stages, c);
  return TRUE;
}

void fc_plan_composition(const fc_plan *plan, guint stage, guint n, fc_compose_stage *stages,
                         fc_composition *c) {
  fc_compose_stage ahead[FC_COMPOSE_STAGES];
  fc_composition before;
  const int dtype = plan->links[stage].dtype;
  list_stages(plan, stage, n, stages, c);
  if (stage > 0 && fc_dtype_is_float(dtype) && fc_plan_described(plan, stage, ahead, &before))
    c->bounded = fc_ranges_stored(&before, plan->links[0].dtype, &c->low, &c->high);
  fc_prefilter_take(c, dtype, plan->links[stage].extent);
}

/* Whether the stage makes integers of something else, and so may note something. */
static gboolean is_rounding(const fc_plan *plan, guint s) {
  const int in = plan->links[s].dtype, out = plan->links[s + 1].dtype;
  return !fc_dtype_is_float(out) && (in != out || !(plan->stages[s].function->flags & FC_FUNCTION_SELECTS));
}

guint fc_plan_noting(const fc_plan *plan, guint stage) {
  guint s = stage + plan->stages[stage].fused - 1;
  while (s > stage && !is_rounding(plan, s)) s--;
  return s;
}

/* Whether these n stages, of which all but the last are known to fit, can be one kernel, whose composition
 * this is then. Only the first may shift. */
static gboolean can_be_one(const fc_plan *plan, guint stage, guint n, fc_compose_stage *stages,
                           fc_composition *c) {
  const fc_plan_stage *first = &plan->stages[stage], *last = first + n - 1;
  gsize bytes = FC_COMPOSE_FIRST;
  gboolean placed = FALSE;
  if (n > FC_COMPOSE_STAGES || !last->function) return FALSE;
  for (guint i = 0; i < n; i++) {
    bytes += fc_compose_bytes(first[i].function);
    placed |= (first[i].function->flags & FC_FUNCTION_POSITION) != 0;
  }
  if (placed) bytes += sizeof(fc_map_place);
  /* The edges of joined stages are made behind a kernel of that stage alone. */
  for (guint i = 0; i < n && n > 1; i++)
    if (first[i].made && fc_linear_has_edges(first[i].made->steps)) return FALSE;
  fc_plan_composition(plan, stage, n, stages, c);
  if (bytes > FC_COMPOSE_MOST || (c->windows && is_shifted(first)) || (n > 1 && is_shifted(last)))
    return FALSE;
  const int ahead = plan->links[stage + n - 1].dtype, behind = plan->links[stage + n].dtype;
  for (guint s = stage; s + 1 < stage + n; s++)
    if (is_rounding(plan, s) && (ahead != behind || !(last->function->flags & FC_FUNCTION_SELECTS)))
      return FALSE;
  return fc_compose_possible(c, plan->links[stage].dtype, plan->links[stage].extent[FC_AXIS_C]);
}

/* Whether they are to be one: several windows where that is faster. */
static gboolean may_be_one(const fc_plan *plan, guint stage, guint n) {
  fc_compose_stage stages[FC_COMPOSE_STAGES];
  fc_composition c;
  return can_be_one(plan, stage, n, stages, &c) &&
         (c.windows < 2 ||
          fc_series_pays(&c, plan->links[stage].dtype, plan->links[stage].extent, NULL, NULL));
}

char *fc_plan_fuse_text(const fc_plan *plan, guint stage) {
  fc_compose_stage stages[FC_COMPOSE_STAGES];
  fc_composition c;
  double joined = 0, apart = 0;
  const guint fused = MAX(plan->stages[stage].fused, 1);
  guint n = fused;
  if (!plan->stages[stage].function || !can_be_one(plan, stage, n, stages, &c) || !c.windows) return NULL;
  const gboolean together = c.windows > 1;
  while (!together && c.windows < 2)
    if (stage + ++n > plan->n || !can_be_one(plan, stage, n, stages, &c)) return NULL;
  fc_series_pays(&c, plan->links[stage].dtype, plan->links[stage].extent, &joined, &apart);
  if (!(apart > 0)) return NULL;
  return together
             ? g_strdup_printf("%u windows: an estimated %.2g us for a million samples, apart %.2g us",
                               c.windows, joined / 1e3, apart / 1e3)
             : g_strdup_printf("the window of stage %u apart: an estimated %.2g us for a million samples, "
                               "joined %.2g us",
                               stage + n, apart / 1e3, joined / 1e3);
}

/* Whether a stage by itself is worth a kernel: it says so, or it makes codes of 8 and 16 bits of such codes
 * sample by sample, which takes precompiled kernels half as long again. */
static gboolean is_worth(const fc_plan *plan, guint s) {
  const fc_plan_stage *ps = &plan->stages[s];
  const guint32 flags = ps->function->flags;
  return ps->on_host || flags & FC_FUNCTION_ALONE ||
         (!(flags & (FC_FUNCTION_WINDOW | FC_FUNCTION_SELECTS)) && ps->function->in < 2 &&
          fc_dtype_size(plan->links[s].dtype) < 4 && fc_dtype_size(plan->links[s + 1].dtype) < 4);
}

/* ---- exchanged axes ------------------------------------------------------------------ */

static void look_for_exchange(const fc_plan *plan, guint s) {
  fc_plan_stage *ps = &plan->stages[s];
  const fc_exchange *exchange = ps->op ? fc_operator_extension(ps->op, FC_EXCHANGE) : NULL;
  guint seen = 0;
  if (!exchange || ps->n_sides || plan->links[s].dtype != plan->links[s + 1].dtype) return;
  if (ps->measure_bytes || ps->carry_bytes || ps->generator || ps->passthrough) return;
  const fc_status status = FC_CALLED(ps->name, exchange->axes(&ps->stage->host.base, ps->self, ps->exchange));
  /* Why it refuses is no later failure's reason. */
  fc_stage_host_check(&ps->stage->host, ps->name, "asking for its axes", FC_OK, NULL);
  if (status != FC_OK) return;
  for (int a = 0; a < FC_AXES; a++) {
    const int from = ps->exchange[a];
    if (from < 0 || from >= FC_AXES || plan->links[s + 1].extent[a] != plan->links[s].extent[from]) return;
    seen |= 1u << from;
  }
  ps->exchanges = seen == (1u << FC_AXES) - 1 && ps->exchange[FC_AXIS_N] == FC_AXIS_N;
}

/* Whether a kernel of these stages can write what the stage behind them makes. */
static gboolean goes_through(const fc_plan *plan, guint stage, guint n) {
  if (stage + n >= plan->n || !plan->stages[stage + n].exchanges) return FALSE;
  for (guint s = stage; s < stage + n; s++)
    if (plan->stages[s].function->flags & FC_FUNCTION_WINDOW ||
        (plan->stages[s].made && fc_linear_has_edges(plan->stages[s].made->steps)))
      return FALSE;
  return TRUE;
}

void fc_plan_unexchange(const fc_plan *plan, guint stage, const fc_range out[FC_AXES], fc_range in[FC_AXES]) {
  for (int a = 0; a < FC_AXES; a++) in[plan->stages[stage].exchange[a]] = out[a];
}

fc_view fc_plan_unexchanged(const fc_plan *plan, guint stage, const fc_view *out) {
  fc_view v = *out;
  v.kind = plan->links[stage].kind;
  for (int a = 0; a < FC_AXES; a++) {
    const int to = plan->stages[stage].exchange[a];
    v.shape[to] = out->shape[a], v.stride[to] = out->stride[a];
    v.origin[to] = out->origin[a], v.extent[to] = out->extent[a];
  }
  return v;
}

void fc_plan_fuse(fc_plan *plan) {
  for (guint s = 0; s < plan->n; s++) {
    plan->stages[s].exchanges = FALSE;
    g_clear_pointer(&plan->stages[s].function, g_atomic_rc_box_release);
    plan->stages[s].fused = 0, plan->stages[s].composed = plan->stages[s].through = FALSE;
    if (!plan->n_devices || plan->fuse == FC_FUSE_NO) continue;
    look_for_exchange(plan, s);
    plan->stages[s].function = describe(plan, s);
  }
  for (guint s = 0, n; s < plan->n; s += MAX(n, 1)) {
    for (n = 0; s + n < plan->n && may_be_one(plan, s, n + 1);) n++;
    const gboolean through = n > 0 && goes_through(plan, s, n);
    if (n > 1 || (n == 1 && (through || is_worth(plan, s))))
      plan->stages[s].fused = n, plan->stages[s].through = through;
    for (guint i = s; i < s + plan->stages[s].fused; i++) plan->stages[i].composed = plan->stages[i].on_host;
  }
}

/* ---- kernels of ordinary chunks ------------------------------------------------------ */

/* A link as in chunks of ordinary length, without memory. */
static fc_view view_of_link(const fc_plan *plan, guint link) {
  gint64 capacity[FC_AXES];
  fc_plan_capacity(plan, link, capacity);
  return fc_shaped_view(&plan->links[link], capacity);
}

void fc_plan_kernel_views(const fc_plan *plan, guint stage, fc_view *in, fc_view *out) {
  const guint n = plan->stages[stage].fused;
  *in = view_of_link(plan, stage), *out = view_of_link(plan, stage + n);
  if (plan->stages[stage].through) {
    const fc_view behind = view_of_link(plan, stage + n + 1);
    *out = fc_plan_unexchanged(plan, stage + n, &behind);
  }
  for (int a = 0; a < FC_AXIS_C; a++) in->shape[a] = out->shape[a] = MIN(in->shape[a], out->shape[a]);
  /* as if the signal ended there, for a window */
  in->extent[FC_AXIS_Y] = in->shape[FC_AXIS_Y], in->extent[FC_AXIS_X] = in->shape[FC_AXIS_X];
}

char *fc_plan_kernel_text(const fc_plan *plan, guint stage, gboolean aligned) {
  const guint n = plan->stages[stage].fused;
  g_autofree fc_compose_stage *stages = g_new(fc_compose_stage, MAX(n, 1));
  fc_composition what;
  fc_composed composed;
  fc_view in, out;
  if (n == 0) return NULL;
  fc_plan_composition(plan, stage, n, stages, &what);
  fc_plan_kernel_views(plan, stage, &in, &out);
  if (!aligned) in.data = (char *)in.data + fc_dtype_size(in.dtype);
  return fc_compose(&what, &in, &out, NULL, 1, 0, &composed)
             ? fc_compose_text(&what, &in, &out, composed.variant)
             : NULL;
}
