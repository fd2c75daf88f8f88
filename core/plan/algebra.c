/* SPDX-License-Identifier: MIT */
/*
 * algebra.c - linear stages side by side, multiplied out into one: a step of a plan where the user allows it
 * (FC_FUSE_ALGEBRA).
 *
 * Of stages from s on whose operators say what they do as numbers (FC_LINEAR), the first two, three, ... are
 * multiplied out. One of their operators makes an instance of the result, which is negotiated with like any
 * stage. The number of stages that saves most by the estimate below is joined; the others leave the plan,
 * with the links between them. Near the ends of the signal, where the borders of later stages matter, outputs
 * are made stage by stage from the numbers (core/base/linear.h).
 */
#include "core/plan/plan.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* The estimate, in bytes: of the links at the ends of a stage, and of its products, so many for a byte of
 * memory. For either kind of device, so that both give the same result. Products near the ends are made one
 * by one. Of sound so many elements are assumed, so that a file and a stream of it are joined alike. */
#define WORK_OF_A_BYTE 2.5
#define EDGE_COST      8.0
#define ENDLESS        ((gint64)1 << 20)

/* Products of numbers that making a plan may take, of all maps together (0.1 s); and as many as it takes to
 * look at one stage of those that may be joined. */
#define PRODUCTS_MOST ((double)(1 << 26))
#define STAGE_COST    4096.0

/* ---- what a stage does --------------------------------------------------------------- */

static const fc_linear *linear_of(const fc_plan *plan, guint s) {
  const fc_plan_stage *ps = &plan->stages[s];
  if (!ps->op || ps->n_sides || ps->measure_bytes || ps->carry_bytes || ps->generator || ps->passthrough ||
      ps->turned || ps->made || ps->part != FC_PART_ALL)
    return NULL;
  return fc_operator_extension(ps->op, FC_LINEAR);
}

/* What plugins are told: formats without extents, for which what is made is kept. */
typedef struct told {
  fc_format in, out;
  const fc_format *first;
  fc_setup setup;
} told;

static const fc_setup *tell(const fc_plan *plan, guint from, guint to, told *t) {
  t->in = fc_format_without_extents(&plan->links[from], FALSE);
  t->out = fc_format_without_extents(&plan->links[to], FALSE);
  t->first = &t->in;
  t->setup = (fc_setup){.size = sizeof(fc_setup),
                        .device = FC_HOST,
                        .compute = plan->compute,
                        .n_in = 1,
                        .in = &t->first,
                        .out = &t->out};
  return &t->setup;
}

/* Whether the reach that was negotiated is that of the map, or goes farther. */
static gboolean is_reach_of(const fc_plan_stage *ps, const fc_linear_map *m, gboolean farther) {
  const gint64 taps[FC_AXES] = {1, m->ny, m->nx, 1}, before[FC_AXES] = {0, m->before_y, m->before_x, 0};
  for (int a = FC_AXIS_N; a < FC_AXIS_C; a++) {
    const fc_reach *r = &ps->reach[a];
    const gboolean window = fc_linear_is_window(m);
    const gint64 more_before = r->before - (window ? before[a] : 0),
                 more_after = r->after - (window ? taps[a] - 1 - before[a] : 0);
    if (r->num != r->den || MIN(more_before, more_after) < 0 || (!farther && more_before + more_after > 0))
      return FALSE;
  }
  return TRUE;
}

static gboolean is_growth_of(const fc_format *in, const fc_format *out, const fc_linear_map *m) {
  const gint64 growth[FC_AXES] = {0, m->growth_y, m->growth_x, 0};
  for (int a = FC_AXIS_N; a < FC_AXIS_C; a++)
    if (in->extent[a] >= 0 && out->extent[a] != in->extent[a] + (fc_linear_is_window(m) ? growth[a] : 0))
      return FALSE;
  return in->kind == out->kind;
}

/* One call of `describe`, with room for so many numbers; FALSE: it refuses, or has broken its contract. */
static gboolean call_describe(fc_plan *plan, guint s, double *numbers, gint64 room, fc_linear_map *map) {
  fc_plan_stage *ps = &plan->stages[s];
  const fc_linear *linear = linear_of(plan, s);
  const fc_format *in = &plan->links[s], *out = in + 1;
  told t;
  const fc_setup *setup = tell(plan, s, s + 1, &t);
  *map = (fc_linear_map){.size = sizeof *map, .room = room, .numbers = numbers};
  const fc_status status = FC_CALLED(ps->name, linear->describe(&ps->stage->host.base, ps->self, setup, map));
  fc_stage_host_check(&ps->stage->host, ps->name, "describing its sums", FC_OK, NULL);
  const gboolean kept = map->numbers == numbers && (room == 0 || map->count == room);
  map->size = sizeof *map, map->numbers = numbers, map->room = room;
  if (status != FC_OK) return FALSE;
  if (kept && fc_linear_is_valid(map, in->extent[FC_AXIS_C], out->extent[FC_AXIS_C])) return TRUE;
  if (!fc_linear_is_large(map)) ps->unsound = "it is not what linear/1 allows";
  return FALSE;
}

/* The map of a stage, whose numbers are the caller's; FALSE: it is not linear with these arguments. A map
 * that breaks its contract is not used, which the plan says. */
static gboolean describe(fc_plan *plan, guint s, fc_linear_map *map) {
  fc_plan_stage *ps = &plan->stages[s];
  const fc_format *in = &plan->links[s], *out = in + 1;
  *map = (fc_linear_map){.size = sizeof *map};
  if (!linear_of(plan, s) || !call_describe(plan, s, NULL, 0, map)) return FALSE;
  const gint64 room = map->count;
  double *numbers = g_try_new0(double, (gsize)room);
  if (numbers && call_describe(plan, s, numbers, room, map)) {
    if (is_reach_of(ps, map, FALSE) && is_growth_of(in, out, map)) return TRUE;
    ps->unsound = "it is not what negotiate asks for";
  }
  map->numbers = NULL;
  g_free(numbers);
  return FALSE;
}

/* ---- joined stages -------------------------------------------------------------------- */

/* The border of the joined stage: that of the first one with a window. A constant is one of the samples that
 * this one reads, so nothing may have been multiplied before. NULL, or why there is none. */
static const char *border_of(const fc_linear_steps *steps, int *border, double *value) {
  *border = FC_BORDER_ZERO, *value = 0;
  for (guint i = 0; i < steps->n; i++) {
    if (!fc_linear_is_window(&steps->step[i].map)) continue;
    *border = steps->step[i].border;
    *value = *border == FC_BORDER_CONSTANT ? steps->step[i].border_value : 0;
    return i > 0 && *value != 0 ? "its border is a constant, of what is multiplied before" : NULL;
  }
  return NULL;
}

/* Adds stage s to the steps. FALSE: there is no memory. */
static gboolean add_stage(const fc_plan *plan, guint s, const fc_linear_map *map, fc_linear_steps *steps) {
  const fc_plan_stage *ps = &plan->stages[s];
  const fc_format *in = &plan->links[s];
  return fc_linear_steps_add(
      steps, map, ps->border,
      ps->border == FC_BORDER_CONSTANT ? fc_value_decode(&ps->border_code, in->kind, in->dtype) : 0);
}

/* Asks the operators of the stages for an instance of the map, each of them once. */
static void make(const fc_plan *plan, guint s, fc_joined *joined, int border, double value) {
  told t;
  const fc_setup *setup = tell(plan, s, s + joined->n, &t);
  for (guint i = s; i < s + joined->n && !joined->op; i++) {
    const fc_plan_stage *ps = &plan->stages[i];
    const fc_linear *linear = linear_of(plan, i);
    if (i > s && ps->op == ps[-1].op) continue;
    const fc_status status = FC_CALLED(ps->name, linear->make(&ps->stage->host.base, ps->self, setup,
                                                              &joined->map, border, value, &joined->self));
    fc_stage_host_check(&ps->stage->host, ps->name, "joining stages", FC_OK, NULL);
    if (status == FC_OK)
      joined->op = linear->made;
    else
      joined->self = NULL;
  }
}

/* Whether all numbers are finite as they are computed with. */
static gboolean fits(const fc_linear_map *map, int compute) {
  for (gint64 i = 0; compute == FC_F32 && i < map->count; i++)
    if (fabs(map->numbers[i]) > FLT_MAX) return FALSE;
  return TRUE;
}

/* The stages from s on as one, which lives with the chain; `fresh`: it has not been there before. NULL, or
 * why not. */
static const char *join(const fc_plan *plan, guint s, guint n, const fc_linear_map *map,
                        const fc_linear_map *parts, fc_joined **made, gboolean *fresh) {
  fc_stage *stage = plan->stages[s].stage;
  const fc_format *in = &plan->links[s], *out = &plan->links[s + n];
  static const char no_memory[] = "there is no memory for their numbers";
  static const char nobody[] = "none of the operators can do what they do together";
  int border;
  double value;
  *fresh = FALSE;
  *made = fc_stage_find_joined(stage, n, plan->compute, in, out);
  if (*made) return (*made)->op ? NULL : nobody;
  fc_linear_steps *steps = fc_linear_steps_new(in->extent[FC_AXIS_C]);
  fc_linear_map copy = {0};
  const char *why = NULL;
  for (guint i = 0; i < n && !why; i++)
    if (!add_stage(plan, s + i, &parts[i], steps)) why = no_memory;
  if (!why) why = fc_linear_find_edges(steps);
  if (!why) why = border_of(steps, &border, &value);
  if (!why && !fits(map, plan->compute)) why = "its numbers would be too large for single precision";
  if (!why && !fc_linear_map_copy(&copy, map)) why = no_memory;
  if (why) {
    fc_linear_steps_free(steps);
    return why;
  }
  fc_joined *joined = g_new0(fc_joined, 1);
  *joined =
      (fc_joined){.n = n, .compute = plan->compute, .in = *in, .out = *out, .map = copy, .steps = steps};
  make(plan, s, joined, border, value);
  if (joined->op) {
    g_autofree char *size = fc_linear_size(map);
    joined->text = g_strdup_printf("%s of %s", joined->op->name, size);
  } else {
    fc_linear_map_clear(&joined->map);
    g_clear_pointer(&joined->steps, fc_linear_steps_free);
  }
  fc_stage_keep_joined(stage, joined);
  *made = joined, *fresh = joined->op != NULL;
  return joined->op ? NULL : nobody;
}

/* ---- plans ------------------------------------------------------------------------------ */

static gboolean is_same_format(const fc_format *a, const fc_format *b) {
  fc_format one = *a, other = *b;
  one.size = other.size = 0;
  return memcmp(&one, &other, sizeof one) == 0;
}

/* Whether the operator may be given such an input: the stages of a plan have been asked already. */
static gboolean takes(const fc_operator *op, const fc_format *in) {
  return op->dtypes_in & FC_DTYPE_BIT(in->dtype) && op->kinds & FC_KIND_BIT(in->kind);
}

static gboolean has_version(const fc_plan_stage *ps, int kind) {
  return fc_backend_for(ps->op, kind) && (kind == FC_KIND_HOST || !ps->host_only);
}

/* Whether stage s of `with` runs where all those it stands for do. */
static gboolean runs_where(const fc_plan *with, const fc_plan *plan, guint s, guint n) {
  for (int kind = FC_KIND_HOST; kind <= FC_KIND_CUDA; kind++) {
    gboolean all = TRUE;
    for (guint i = s; i < s + n; i++) all = all && has_version(&plan->stages[i], kind);
    if (all && !has_version(&with->stages[s], kind)) return FALSE;
  }
  return TRUE;
}

/* Whether the operator has chosen the border that it was asked for. */
static gboolean has_border(const fc_plan_stage *ps, const fc_format *in, const fc_joined *joined) {
  int border;
  double value;
  if (!fc_linear_is_window(&joined->map) || border_of(joined->steps, &border, &value)) return TRUE;
  guint64 code = 0, zero = 0;
  fc_value_encode(&code, value, in->kind, in->dtype), fc_value_encode(&zero, 0, in->kind, in->dtype);
  const int asked = border == FC_BORDER_CONSTANT && code == zero ? FC_BORDER_ZERO : border,
            got = ps->border == FC_BORDER_CONSTANT && ps->border_code == zero ? FC_BORDER_ZERO : ps->border;
  return got == asked && (got != FC_BORDER_CONSTANT || ps->border_code == code);
}

/* The plan with `joined` in place of its stages; NULL: it does not make the same of its input. */
static fc_plan *plan_with(const fc_plan *plan, guint s, const fc_joined *joined) {
  if (!takes(joined->op, &plan->links[s])) return NULL;
  g_autoptr(fc_plan) with = fc_plan_copy(plan);
  fc_plan_stage *ps = &with->stages[s];
  const fc_format was = plan->links[s + joined->n];
  fc_plan_take_out(with, s, joined->n);
  ps->op = joined->op, ps->name = joined->op->name, ps->self = joined->self, ps->made = joined;
  ps->apart = NULL;
  if (!fc_plan_negotiate_stage(with, s, was.dtype, NULL) || !is_same_format(&was, &with->links[s + 1]) ||
      ps->n_sides || ps->measure_bytes || ps->carry_bytes || ps->turned ||
      !is_reach_of(ps, &joined->map, TRUE) || !has_border(ps, &plan->links[s], joined) ||
      !runs_where(with, plan, s, joined->n))
    return NULL;
  return g_steal_pointer(&with);
}

static void known_extent(const fc_format *f, gint64 extent[FC_AXES]) {
  for (int a = 0; a < FC_AXES; a++)
    extent[a] = f->extent[a] < 0 || (f->kind == FC_AUDIO && a == FC_AXIS_X) ? ENDLESS : f->extent[a];
}

static double count_of(const fc_format *f) {
  gint64 extent[FC_AXES];
  double count = 1;
  known_extent(f, extent);
  for (int a = 0; a < FC_AXES; a++) count *= (double)extent[a];
  return count;
}

/* What a stage costs, in bytes. */
static double cost_of(const fc_plan *plan, guint s) {
  const fc_plan_stage *ps = &plan->stages[s];
  const fc_format *in = &plan->links[s], *out = in + 1;
  gint64 extent[FC_AXES];
  known_extent(out, extent);
  double work = ps->work * count_of(out);
  if (ps->made) work += 2 * EDGE_COST * fc_linear_edge_work(ps->made->steps, extent);
  return count_of(in) * (double)fc_dtype_size(in->dtype) + count_of(out) * (double)fc_dtype_size(out->dtype) +
         work / WORK_OF_A_BYTE;
}

/* ---- the step ----------------------------------------------------------------------------- */

/* What has been found for the stages from s on. */
typedef struct search {
  fc_plan *best; /* the plan that saves most; NULL: none does */
  double saved, apart;
  fc_joined *made; /* of `best`, if nobody else uses it */
} search;

/* Of the stage that is as far as they are joined: why not one more is, by the first that would follow. */
static void refuse(fc_plan *plan, guint s, search *found, const char *why) {
  fc_plan_stage *ps = &(found->best ? found->best : plan)->stages[s];
  if (!ps->apart) ps->apart = why;
}

/* Takes the first n stages from s on, multiplied out, if that saves more than fewer do; else frees them. */
static void consider(fc_plan *plan, guint s, guint n, const fc_linear_map *map, const GArray *parts,
                     search *found) {
  fc_stage *stage = plan->stages[s].stage;
  fc_joined *joined;
  gboolean fresh;
  const char *why = join(plan, s, n, map, (const fc_linear_map *)(void *)parts->data, &joined, &fresh);
  fc_plan *with = why ? NULL : plan_with(plan, s, joined), *lost = with;
  if (!why && !with) why = "the operator for both takes or makes another format";
  const double saves = with ? plan->chain->context->joins_all ? n : found->apart - cost_of(with, s) : 0;
  fc_joined *unused = fresh ? joined : NULL;
  if (saves > found->saved) {
    lost = found->best, found->best = with, found->saved = saves;
    joined = found->made, found->made = unused, unused = joined;
  } else {
    refuse(plan, s, found, why ? why : "one stage would take longer");
  }
  fc_plan_unref(lost);
  if (unused) fc_stage_drop_joined(stage, unused);
}

/* The plan with as many stages from s on joined as saves most; NULL: none. */
static fc_plan *best_from(fc_plan *plan, guint s, double *budget) {
  search found = {.apart = cost_of(plan, s)};
  GArray *parts = g_array_new(FALSE, FALSE, sizeof(fc_linear_map));
  fc_linear_map all, next, both;
  if (!describe(plan, s, &next)) goto done;
  g_array_append_val(parts, next);
  if (!fc_linear_map_copy(&all, &next)) goto done;
  for (guint n = 2; s + n <= plan->n && describe(plan, s + n - 1, &next); n++) {
    g_array_append_val(parts, next);
    found.apart += cost_of(plan, s + n - 1);
    *budget -= n * STAGE_COST;
    const char *why = fc_linear_compose(&all, &next, &both, budget);
    if (why) {
      refuse(plan, s, &found, why);
      break;
    }
    fc_linear_map_clear(&all);
    all = both;
    consider(plan, s, n, &all, parts, &found);
  }
  fc_linear_map_clear(&all);
done:
  for (guint i = 0; i < parts->len; i++) fc_linear_map_clear(&g_array_index(parts, fc_linear_map, i));
  g_array_free(parts, TRUE);
  return found.best;
}

fc_plan *fc_plan_algebra(fc_plan *plan) {
  double budget = PRODUCTS_MOST;
  for (guint s = 0; s < plan->n && plan->n > 1; s++) { /* the last one only to say if its map is unsound */
    fc_plan *joined = linear_of(plan, s) ? best_from(plan, s, &budget) : NULL;
    if (!joined) continue;
    fc_plan_unref(plan);
    plan = joined;
  }
  fc_plan_summarise(plan);
  return plan;
}
