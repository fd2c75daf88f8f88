/* SPDX-License-Identifier: MIT */
/*
 * negotiate.c - the first step of a plan: from the formats of the inputs, stage by stage, the format of every
 * link, what each stage needs of its inputs, and the casts in between. Operators' answers are checked against
 * the contract.
 */
#include "core/base/error.h"
#include "core/plan/plan.h"

#include <string.h>

static const fc_reach no_reach = {0, 0, 1, 1, 1};

static const char *kind_name(int kind) {
  return kind == FC_AUDIO ? "audio" : kind == FC_IMAGE ? "images" : "arrays";
}

/* ---- checks of an operator's answers ----------------------------------- */

static gboolean broken(const char *name, GError **error, const char *format, ...) G_GNUC_PRINTF(3, 4);
static gboolean broken(const char *name, GError **error, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *what = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  return fc_fail(error, FC_FATAL, "%s: the plugin broke its contract: %s", name, what);
}

/* Stages may multiply extents, one after another: products within this limit fit 64 bits. */
static gboolean check_extents(const fc_plan_stage *ps, const fc_format *in, const fc_format *out,
                              GError **error) {
  static const char *const names[FC_AXES] = {"frames", "rows", "columns", "channels"};
  for (int a = 0; a < FC_AXES; a++) {
    gboolean time = a == FC_AXIS_N || (a == FC_AXIS_X && out->kind == FC_AUDIO);
    gint64 most = time ? (gint64)1 << 48 : G_MAXINT32;
    if (out->extent[a] > most && (ps->generator || out->extent[a] > in->extent[a]))
      return fc_fail(error, FC_INVALID,
                     "%s: makes %" G_GINT64_FORMAT " %s of %" G_GINT64_FORMAT ", at most %" G_GINT64_FORMAT
                     " are possible",
                     ps->name, out->extent[a], time ? "samples" : names[a], in->extent[a], most);
  }
  return TRUE;
}

static gboolean within(gint64 value) {
  return value == FC_WHOLE || (value <= FC_REACH_MOST && value >= -FC_REACH_MOST);
}

/* Whether an output of this extent reads beyond the ends of an input of that extent. If an extent is
 * unknown only the reach decides. */
static gboolean looks_beyond(const fc_reach *r, gint64 in, gint64 out) {
  if (fc_reach_is_whole(r) || out == 0) return FALSE;
  if (r->before > 0) return TRUE;
  if (in < 0 || out < 0) return r->after > 0 && r->before + r->after > 0; /* a shift does not read beyond */
  return fc_scale_ceil(out, r->num, r->den) + r->after > in;
}

static gboolean check_need(const char *name, const fc_format *in, const fc_format *out,
                           const fc_reach reach[FC_AXES], int *border, GError **error) {
  static const char letters[] = "NYXC";
  gboolean beyond = FALSE;
  for (int a = 0; a < FC_AXES; a++) {
    const fc_reach *r = &reach[a];
    if (r->num < 1 || r->den < 1 || r->align < 1) return broken(name, error, "a scale or alignment below 1");
    if (r->num > FC_REACH_MOST || r->den > FC_REACH_MOST || r->align > FC_REACH_MOST || !within(r->before) ||
        !within(r->after))
      return broken(name, error, "a reach, scale or alignment on axis %c beyond 2^40", letters[a]);
    beyond |= looks_beyond(r, in->extent[a], out->extent[a]);
  }
  if (*border < FC_BORDER_ZERO || *border > FC_BORDER_UNSET) return broken(name, error, "unknown border");
  if (*border == FC_BORDER_UNSET && beyond)
    return broken(name, error, "it reads beyond the ends of its input and chooses no border");
  if (*border == FC_BORDER_UNSET) *border = FC_BORDER_NONE;
  return TRUE;
}

/* A stage that makes another kind of signal needs its whole input: the axes of the two mean different
 * things. */
static gboolean check_kinds(const fc_plan_stage *ps, const fc_format *in, const fc_format *out,
                            GError **error) {
  if (out->kind < 0 || out->kind >= FC_KIND_COUNT) return broken(ps->name, error, "unknown kind of output");
  if (ps->generator || (out->kind == FC_AUDIO) == (in->kind == FC_AUDIO)) return TRUE;
  for (int a = FC_AXIS_Y; a < FC_AXES; a++)
    if (!fc_reach_is_whole(&ps->reach[a]))
      return broken(ps->name, error,
                    "audio becomes an image or array, or the reverse, only of the whole input");
  return TRUE;
}

static gboolean is_pointwise_in_time(const fc_reach *r) {
  return !r->before && !r->after && r->num == r->den && r->align == 1;
}

static gboolean check_terms(fc_plan_stage *ps, const fc_format *in, const fc_format *out, GError **error) {
  const fc_operator *op = ps->op;
  const gboolean keeps = (op->flags & (FC_OP_KEEPS_DTYPE | FC_OP_PASSTHROUGH)) != 0;
  if (out->dtype < 0 || out->dtype >= FC_DTYPE_COUNT) return broken(ps->name, error, "unknown element type");
  if (!keeps && !(op->dtypes_out & FC_DTYPE_BIT(out->dtype)))
    return broken(ps->name, error, "an element type it does not store");
  if (keeps && out->dtype != in->dtype) return broken(ps->name, error, "a change of element type");
  if (ps->measure_bytes && !(op->collect && (op->report || ps->part == FC_PART_SURVEY)))
    return broken(ps->name, error, "it measures, but has nobody to collect and report the results");
  if (ps->measure_bytes > G_MAXINT32 || ps->carry_bytes > (guint64)1 << 40)
    return broken(ps->name, error, "its partial results or carried state are too large");
  /* First what the user asked for, since the reach follows from it. */
  if (!check_extents(ps, in, out, error)) return FALSE;
  if (ps->generator) ps->border = FC_BORDER_NONE;
  if (!ps->generator && !check_need(ps->name, in, out, ps->reach, &ps->border, error)) return FALSE;
  if (!check_kinds(ps, in, out, error)) return FALSE;
  if (ps->turned && (ps->n_sides || !is_pointwise_in_time(&ps->reach[FC_AXIS_X]) ||
                     out->extent[FC_AXIS_X] != in->extent[FC_AXIS_X]))
    return broken(ps->name, error, "it reads backwards, and asks for more input than its output is made of");
  for (int a = 0; a < FC_AXES; a++) {
    const fc_reach *r = &ps->reach[a];
    if (out->extent[a] < FC_UNKNOWN) return broken(ps->name, error, "a negative extent");
    if (ps->passthrough && (r->before || r->after || r->num != r->den || out->extent[a] != in->extent[a]))
      return broken(ps->name, error, "it passes frames through but asks for a halo or changes their size");
  }
  return TRUE;
}

void fc_plan_set_white(fc_format *f) {
  static const double largest[FC_DTYPE_COUNT] = {
      [FC_U8] = 255, [FC_I16] = 32767, [FC_U16] = 65535, [FC_I32] = 2147483647.0};
  if (f->kind != FC_AUDIO && f->white == 0) f->white = largest[f->dtype];
}

/* ---- one stage ---------------------------------------------------------- */

/* Whether all following stages keep the element type. Casts are ignored, here and below: a stage is first
 * asked before any casts follow it, and must be asked the same question when they do. */
static gboolean delivers(const fc_plan *plan, guint s) {
  for (guint i = s + 1; i < plan->n; i++)
    if (plan->stages[i].op && !(plan->stages[i].op->flags & (FC_OP_KEEPS_DTYPE | FC_OP_PASSTHROUGH)))
      return FALSE;
  return TRUE;
}

/* The element type for link `s + 1`: the delivered one if all following stages keep it, or it makes no
 * difference to them (narrow.c), else the compute type; another only where the operator supports neither. */
static int desired_dtype(const fc_plan *plan, guint s, int wanted) {
  const fc_operator *op = plan->stages[s].op;
  if (op->flags & (FC_OP_KEEPS_DTYPE | FC_OP_PASSTHROUGH)) return plan->links[s].dtype;
  guint32 loads = FC_DTYPES_ALL;
  for (guint i = s + 1; i < plan->n; i++) {
    const fc_operator *next = plan->stages[i].op;
    if (!next) continue;
    loads &= next->dtypes_in;
    if (!(next->flags & (FC_OP_KEEPS_DTYPE | FC_OP_PASSTHROUGH))) break;
  }
  guint32 usable = op->dtypes_out & loads ? op->dtypes_out & loads : op->dtypes_out;
  const int first = plan->stages[s].narrow || delivers(plan, s) ? wanted : -1;
  const int order[] = {first, plan->compute, FC_F64, FC_F32, FC_I32, FC_I16, FC_U16, FC_U8};
  for (guint i = 0; i < G_N_ELEMENTS(order); i++)
    if (order[i] >= 0 && usable & FC_DTYPE_BIT(order[i])) return order[i];
  return plan->compute;
}

/* Initial output format: the input as the stage gets it. */
static void default_output(const fc_plan *plan, guint s, int wanted, fc_format *out) {
  const fc_plan_stage *ps = &plan->stages[s];
  *out = plan->links[s];
  out->dtype = desired_dtype(plan, s, wanted);
  if (out->dtype != plan->links[s].dtype) out->bits = fc_dtype_bits(out->dtype);
  if (plan->stored && !out->stored && delivers(plan, s))
    out->stored = plan->stored, out->bits = plan->stored_bits;
  if (ps->op->flags & (FC_OP_KEEPS_MEANING | FC_OP_PASSTHROUGH)) return;
  out->color = FC_COLOR_UNKNOWN, out->alpha = FC_ALPHA_UNKNOWN, out->channels = 0;
  out->time_num = out->time_den = 0, out->framed = 0;
}

/* The element type to convert an input to, if the stage cannot load its own. */
static int loadable(const fc_plan *plan, const fc_operator *op, int dtype) {
  if (op->dtypes_in & FC_DTYPE_BIT(dtype)) return dtype;
  if (op->dtypes_in & FC_DTYPE_BIT(plan->compute)) return plan->compute;
  return op->dtypes_in & FC_DTYPE_BIT(FC_F64) ? FC_F64 : g_bit_nth_lsf(op->dtypes_in, -1);
}

static guint64 code_of(int border, double value, const fc_format *in) {
  guint64 code = 0;
  fc_value_encode(&code, border == FC_BORDER_CONSTANT ? value : 0, in->kind, in->dtype);
  return code;
}

static void reset_need(fc_need *need) {
  *need = (fc_need){.size = sizeof *need, .border = FC_BORDER_UNSET};
  for (int a = 0; a < FC_AXES; a++) need->reach[a] = no_reach;
}

/* Can what comes into a stage be read from its end to its beginning? Not where it goes forwards only: through
 * state, blocks that are collected in order, further inputs, or a source that cannot seek. */
static gboolean can_turn(const fc_plan *plan, guint s) {
  const fc_format *in = &plan->links[s];
  const gboolean generated = plan->stages[0].generator;
  if (in->kind != FC_AUDIO || plan->cut != FC_AXIS_X || in->extent[FC_AXIS_X] < 0 || plan->borrowed ||
      plan->links[0].live || !(generated || plan->seeks))
    return FALSE;
  for (guint i = 0; i < s; i++) {
    const fc_plan_stage *ps = &plan->stages[i];
    if (ps->carry_bytes || ps->measure_bytes || ps->n_sides) return FALSE;
  }
  return TRUE;
}

static gboolean negotiate_operator(fc_plan *plan, guint s, GError **error) {
  fc_plan_stage *ps = &plan->stages[s];
  fc_format *out = &plan->links[s + 1];
  const guint first = 1, n = ps->generator ? 0 : first + ps->n_sides; /* a generator takes nothing */
  g_autofree const fc_format **in = g_new0(const fc_format *, n + 1);
  g_autofree fc_need *needs = g_new0(fc_need, n + 1);
  g_autofree fc_need **pointers = g_new0(fc_need *, n + 1);
  in[0] = &plan->links[s];
  for (guint i = 0; i < ps->n_sides; i++) in[first + i] = &plan->sides[ps->side + i].format;
  for (guint i = 0; i <= n; i++) reset_need(&needs[i]), pointers[i] = &needs[i];
  fc_terms terms = {
      .size = sizeof terms, .compute = plan->compute, .n_in = n, .in = in, .out = out, .needs = pointers};
  terms.part = (uint32_t)ps->part;
  if (!ps->generator && can_turn(plan, s)) terms.turn = FC_TURN_POSSIBLE;
  fc_status status = FC_CALLED(
      ps->name, ps->op->negotiate ? ps->op->negotiate(&ps->stage->host.base, ps->self, &terms) : FC_OK);
  /* Each is valid alone: the chain does not fit the input. */
  if (status == FC_UNSUPPORTED) status = FC_INVALID;
  if (!fc_stage_host_check(&ps->stage->host, ps->name, "looking at its input", status, error)) return FALSE;
  const fc_need *main = &needs[ps->generator ? n : 0]; /* a generator has none: the spare need is unchanged */
  memcpy(ps->reach, main->reach, sizeof ps->reach);
  ps->border = ps->generator ? FC_BORDER_NONE : main->border;
  ps->border_code = code_of(main->border, main->border_value, &plan->links[s]);
  ps->any_size = terms.any_size != 0, ps->host_only = terms.on_host != 0;
  ps->turned = terms.turn == (FC_TURN_POSSIBLE | FC_TURN_WANTED);
  ps->measure_bytes = terms.measure_bytes, ps->carry_bytes = terms.carry_bytes, ps->work = terms.work;
  g_free(ps->note);
  ps->note = g_steal_pointer(&ps->stage->host.remark);
  for (guint i = 0; i < ps->n_sides; i++) {
    fc_plan_side *side = &plan->sides[ps->side + i];
    const fc_need *need = &needs[first + i];
    memcpy(side->reach, need->reach, sizeof side->reach);
    side->border = need->border, side->border_code = code_of(need->border, need->border_value, &side->format);
    if (!check_need(ps->name, &side->format, out, side->reach, &side->border, error)) return FALSE;
  }
  if (!check_terms(ps, &plan->links[s], out, error)) return FALSE;
  fc_plan_set_white(out);
  return TRUE;
}

/* The rate a generator is first asked with, if its arguments have times: its answer gives the real rate. */
#define ANY_RATE 48000

/* Negotiates with the instance for this rate. */
static gboolean negotiate_at_rate(fc_plan *plan, guint s, double rate, int wanted, GError **error) {
  fc_plan_stage *ps = &plan->stages[s];
  if (!ps->made && !fc_stage_instance(ps->stage, rate, &ps->self, error)) return FALSE;
  default_output(plan, s, wanted, &plan->links[s + 1]);
  return negotiate_operator(plan, s, error);
}

gboolean fc_plan_negotiate_stage(fc_plan *plan, guint s, int wanted, GError **error) {
  fc_plan_stage *ps = &plan->stages[s];
  if (ps->op && !ps->generator) return negotiate_at_rate(plan, s, plan->links[s].rate, wanted, error);
  if (ps->op) {
    if (!negotiate_at_rate(plan, s, ANY_RATE, wanted, error)) return FALSE;
    const double rate = plan->links[s + 1].rate;
    return !fc_stage_is_timed(ps->stage) || rate == ANY_RATE ||
           negotiate_at_rate(plan, s, rate, wanted, error);
  }
  plan->links[s + 1] = plan->links[s];
  plan->links[s + 1].dtype = wanted;
  for (int a = 0; a < FC_AXES; a++) ps->reach[a] = no_reach;
  ps->border = FC_BORDER_NONE;
  return TRUE;
}

/* ---- all of them -------------------------------------------------------- */

static gboolean takes(const fc_operator *op, const fc_format *in, GError **error) {
  if (op->kinds & FC_KIND_BIT(in->kind)) return TRUE;
  GString *kinds = g_string_new(NULL);
  for (int k = 0; k < FC_KIND_COUNT; k++)
    if (op->kinds & FC_KIND_BIT(k))
      g_string_append_printf(kinds, "%s%s", kinds->len ? " and " : "", kind_name(k));
  fc_fail(error, FC_INVALID, "%s: works on %s, not on %s", op->name, kinds->str, kind_name(in->kind));
  g_string_free(kinds, TRUE);
  return FALSE;
}

/* The chain's stages, and their sides. */
static gboolean add_stages(fc_plan *plan, const fc_plan_query *query, GError **error) {
  fc_chain *chain = plan->chain;
  for (guint i = 0, side = 0; i < chain->n; i++) {
    fc_stage *stage = &chain->stages[i];
    fc_plan_stage *ps = &plan->stages[plan->n++];
    *ps = (fc_plan_stage){.stage = stage, .op = stage->op, .name = stage->op->name};
    ps->passthrough = (stage->op->flags & FC_OP_PASSTHROUGH) != 0;
    ps->generator = (stage->op->flags & FC_OP_GENERATOR) != 0;
    ps->side = side, ps->n_sides = stage->n_inputs;
    if (ps->generator && i > 0)
      return fc_fail(error, FC_INVALID, "%s: it generates a signal: it must be the first stage", ps->name);
    if (ps->generator && query->in)
      return fc_fail(error, FC_INVALID, "%s: it generates its signal: leave out the input", ps->name);
    for (guint k = 0; k < stage->n_inputs; k++, side++) {
      fc_plan_side *ss = &plan->sides[side];
      ss->stage = plan->n - 1;
      ss->name = query->side_names ? query->side_names[side] : "a further input";
      ss->source = ss->format = *query->sides[side];
      ss->format.dtype = loadable(plan, stage->op, ss->source.dtype);
      if (ss->format.dtype != ss->source.dtype) ss->format.bits = fc_dtype_bits(ss->format.dtype);
    }
  }
  if (!query->in && (plan->n == 0 || !plan->stages[0].generator))
    return fc_fail(error, FC_INVALID, "there is no input, and %s does not generate a signal",
                   plan->n ? plan->stages[0].name : "an empty chain");
  return TRUE;
}

/* Inserts a cast before stage s; sides refer to their stage by number. */
static void insert_cast(fc_plan *plan, guint s) {
  memmove(&plan->stages[s + 1], &plan->stages[s], (plan->n - s) * sizeof *plan->stages);
  plan->n++;
  plan->stages[s] = (fc_plan_stage){.name = "cast", .side = plan->stages[s + 1].side};
  for (guint k = 0; k < plan->n_sides; k++)
    if (plan->sides[k].stage >= s) plan->sides[k].stage++;
}

/* Is the stage run in two parts? Of a signal in the caller's memory nothing would be saved by that; and live
 * sound has no end. */
static gboolean surveys(const fc_plan *plan, guint s) {
  const fc_format *in = &plan->links[s];
  return plan->stages[s].op->flags & FC_OP_SURVEYS && in->kind == FC_AUDIO && in->extent[FC_AXIS_X] >= 0 &&
         plan->cut == FC_AXIS_X && !plan->borrowed && !plan->links[0].live && !plan->stages[s].n_sides;
}

/* Puts the survey of stage s ahead of it. */
static void insert_survey(fc_plan *plan, guint s) {
  const fc_plan_stage stage = plan->stages[s];
  insert_cast(plan, s);
  plan->stages[s] = stage;
  plan->stages[s].part = FC_PART_SURVEY, plan->stages[s + 1].part = FC_PART_MAKE;
}

static gboolean negotiate_all(fc_plan *plan, int wanted, GError **error) {
  for (guint s = 0; s < plan->n; s++) {
    const fc_operator *op = plan->stages[s].op;
    if (!plan->stages[s].generator) {
      if (!takes(op, &plan->links[s], error)) return FALSE;
      int to = loadable(plan, op, plan->links[s].dtype);
      if (to != plan->links[s].dtype) {
        insert_cast(plan, s);
        if (!fc_plan_negotiate_stage(plan, s, to, error)) return FALSE;
        plan->links[s + 1].bits = fc_dtype_bits(to);
        s++;
      }
    }
    if (!plan->stages[s].generator && surveys(plan, s)) {
      insert_survey(plan, s);
      if (!fc_plan_negotiate_stage(plan, s++, wanted, error)) return FALSE;
    }
    if (!fc_plan_negotiate_stage(plan, s, wanted, error)) return FALSE;
  }
  if (wanted >= 0 && plan->links[plan->n].dtype != wanted) {
    plan->stages[plan->n++] = (fc_plan_stage){.name = "cast", .side = plan->n_sides};
    if (!fc_plan_negotiate_stage(plan, plan->n - 1, wanted, error)) return FALSE;
  }
  return TRUE;
}

/* A source delivers frames packed, see stream.h: a stage that reads beyond the existing channels, or is
 * given room for more, works on a copy. */
static gboolean pack_frames(fc_plan *plan, GError **error) {
  const fc_format *in = &plan->links[0];
  gint64 capacity[FC_AXES];
  if (plan->n && plan->stages[0].generator) return TRUE;
  fc_plan_capacity(plan, 0, capacity);
  if (in->kind != FC_AUDIO || in->layout == FC_PLANAR || capacity[FC_AXIS_C] <= in->extent[FC_AXIS_C])
    return TRUE;
  memmove(&plan->links[1], &plan->links[0], (plan->n + 1) * sizeof *plan->links);
  insert_cast(plan, 0);
  return fc_plan_negotiate_stage(plan, 0, in->dtype, error);
}

gboolean fc_plan_negotiate(fc_plan *plan, const fc_plan_query *query, GError **error) {
  return add_stages(plan, query, error) && negotiate_all(plan, query->wanted, error) &&
         pack_frames(plan, error);
}

/* Buffers are allocated by now: needs may have become smaller, but not larger. */
static gboolean has_grown(const fc_reach was[FC_AXES], const fc_reach now[FC_AXES]) {
  for (int a = 0; a < FC_AXES; a++)
    if (now[a].before > was[a].before || now[a].after > was[a].after || now[a].align > was[a].align ||
        now[a].num != was[a].num || now[a].den != was[a].den)
      return TRUE;
  return FALSE;
}

/* An output element is made as soon as its inputs have come, and may have been delivered before the end of
 * the input was known: it must still exist. And past images are kept only as long as the first needs said. */
static gboolean check_end(const fc_plan_stage *ps, const fc_format *in, const fc_format *out,
                          const fc_reach *said, gint64 was_in, gint64 was_out, fc_axis cut, GError **error) {
  const fc_reach *r = &ps->reach[cut];
  const gint64 n = in->extent[cut], made = out->extent[cut];
  if (was_out >= 0 && made != was_out && (was_in == n || made > was_out))
    return broken(ps->name, error, "its output has another length than announced");
  if (ps->generator || n < 0 || made < 0 || fc_reach_is_whole(r)) return TRUE;
  gint64 next = fc_scale_ceil(made + 1, 1, r->align) * r->align;
  if (was_out >= 0) next = MIN(next, was_out);
  if (made != was_out && fc_scale_ceil(next, r->num, r->den) + said->after <= n)
    return broken(ps->name, error, "its output ends sooner than what it needs of its input says");
  const gboolean images = ps->border == FC_BORDER_REPLICATE || ps->border == FC_BORDER_REFLECT ||
                          ps->border == FC_BORDER_REFLECT101;
  if (images && fc_reach_beyond(r, n, made) > fc_reach_beyond(said, FC_UNKNOWN, FC_UNKNOWN))
    return broken(ps->name, error, "its output goes on longer than what it needs of its input says");
  return TRUE;
}

gboolean fc_plan_renegotiate(fc_plan *plan, const fc_plan *before, GError **error) {
  for (guint s = 0; s < plan->n; s++) {
    const fc_format *was = &before->links[s + 1], *now = &plan->links[s + 1];
    const fc_plan_stage *old = &before->stages[s], *ps = &plan->stages[s];
    if (!fc_plan_negotiate_stage(plan, s, was->dtype, error)) return FALSE;
    if (ps->joined) plan->stages[s].carry_bytes = old->carry_bytes, plan->stages[s].work = old->work;
    if (now->dtype != was->dtype || now->kind != was->kind || now->layout != was->layout ||
        now->extent[FC_AXIS_C] != was->extent[FC_AXIS_C] || ps->border != old->border ||
        ps->measure_bytes != old->measure_bytes || ps->carry_bytes != old->carry_bytes)
      return broken(ps->name, error, "different answers to the same question");
    gboolean grown = has_grown(old->reach, ps->reach);
    for (guint k = ps->side; k < ps->side + ps->n_sides; k++)
      grown = grown || has_grown(before->sides[k].reach, plan->sides[k].reach) ||
              before->sides[k].border != plan->sides[k].border;
    if (grown) return broken(ps->name, error, "it needs more since the end is known");
    if (!check_end(ps, now - 1, now, &old->reach[plan->cut], before->links[s].extent[plan->cut],
                   was->extent[plan->cut], plan->cut, error))
      return FALSE;
  }
  return TRUE;
}

/* ---- summary ---------------------------------------------------------- */

/* Whether the last block of a stage's output extends beyond the output: its inputs are then border,
 * although the stage asks for no halo. Yes if it is not known. */
static gboolean sticks_out(const fc_reach *r, gint64 in, gint64 out) {
  if (in < 0 || out < 0) return r->align > 1 || r->num != r->den;
  return fc_scale_ceil(out, r->num, r->den) > in;
}

/* Whether a further input is read out of order, or along another axis than the run is cut along. */
static gboolean is_random(const fc_plan *plan, const fc_plan_side *side) {
  const fc_reach *r = &side->reach[plan->cut];
  const fc_format *out = &plan->links[side->stage + 1];
  gboolean audio = side->format.kind == FC_AUDIO;
  if (audio != (plan->cut == FC_AXIS_X)) return TRUE;
  if (plan->cut == FC_AXIS_Y && side->format.extent[FC_AXIS_N] != plan->links[0].extent[FC_AXIS_N])
    return TRUE;
  gboolean outside = out->extent[plan->cut] < 0 || side->format.extent[plan->cut] < 0 ||
                     looks_beyond(r, side->format.extent[plan->cut], out->extent[plan->cut]) ||
                     sticks_out(r, side->format.extent[plan->cut], out->extent[plan->cut]);
  gboolean images =
      side->border != FC_BORDER_ZERO && side->border != FC_BORDER_CONSTANT && side->border != FC_BORDER_NONE;
  return fc_reach_is_whole(r) || (outside && images);
}

static gboolean looks_out(const fc_plan *plan, guint s) {
  const fc_reach *r = &plan->stages[s].reach[plan->cut];
  return !plan->stages[s].generator &&
         (fc_reach_is_whole(r) || r->before > 0 || r->after > 0 ||
          sticks_out(r, plan->links[s].extent[plan->cut], plan->links[s + 1].extent[plan->cut]));
}

gboolean fc_plan_is_whole(const fc_plan *plan, guint s) {
  const fc_plan_stage *ps = &plan->stages[s];
  if (ps->generator || ps->part == FC_PART_MAKE) return FALSE;
  return fc_reach_is_whole(&ps->reach[plan->cut]) || (looks_out(plan, s) && ps->border == FC_BORDER_WRAP);
}

void fc_plan_summarise(fc_plan *plan) {
  plan->whole = plan->measures = plan->carries = plan->reflects = plan->turned = FALSE;
  plan->slack = 0, plan->surveyed = 0;
  for (guint s = 0; s < plan->n; s++) {
    fc_plan_stage *ps = &plan->stages[s];
    if (ps->part == FC_PART_MAKE) {
      plan->surveyed = s;
      continue;
    }
    const fc_reach *r = &ps->reach[plan->cut];
    if (fc_plan_is_whole(plan, s)) plan->whole = TRUE;
    /* Mirrored elements may lie behind the chunk that looks at them, and so may a last
     * element that is looked at from beyond it only. */
    gboolean mirrors = ps->border == FC_BORDER_REFLECT || ps->border == FC_BORDER_REFLECT101;
    gboolean shifted = r->before < 0 || r->after < 0;
    if ((looks_out(plan, s) && mirrors) || (shifted && ps->border == FC_BORDER_REPLICATE))
      plan->reflects = TRUE;
    if (ps->turned) plan->turned = TRUE;
    if (ps->measure_bytes) plan->measures = TRUE;
    if (ps->carry_bytes) plan->carries = TRUE;
  }
  for (guint k = 0; k < plan->n_sides; k++) plan->sides[k].random = is_random(plan, &plan->sides[k]);
  if (!plan->whole && plan->reflects && !plan->borrowed && !plan->turned) plan->slack = fc_plan_span(plan, 0);
}
