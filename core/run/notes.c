/* SPDX-License-Identifier: MIT */
/* notes.c - see notes.h. */
#include "core/run/notes.h"

#include "core/base/error.h"

#include <math.h>
#include <string.h>

void fc_notes_begin(fc_workspace *w) {
  const fc_plan *plan = w->states->plan;
  memset(w->notes, 0, FC_COUNTED_WORDS * sizeof(guint32) * (plan->n + 1));
  memset(w->stored, 0, sizeof *w->stored * plan->n);
  for (guint s = 0; s < plan->n; s++)
    if (fc_notes_count(plan, s)) fc_notes_of(w, s)[FC_NOTE_CLIPPED] = FC_COUNTING;
}

gboolean fc_notes_check(const fc_workspace *w, const char *name, GError **error) {
  const fc_plan *plan = w->states->plan;
  for (guint s = 0; s < plan->n; s++)
    if (g_atomic_int_get((gint *)&fc_notes_of(w, s)[FC_NOTE_NAN]))
      return fc_fail(error, FC_IO,
                     "%s: %s%sa NaN (not a number) cannot be stored as %s: repair the input, or write "
                     "floating point",
                     name, plan->stages[s].op ? plan->stages[s].name : "", plan->stages[s].op ? ": " : "",
                     fc_dtype_name(plan->links[s + 1].dtype));
  return TRUE;
}

/* ---- what was clipped --------------------------------------------------------------------- */

/* At a stage, in all workspaces. */
typedef struct amount {
  gboolean any, counted; /* counted: what follows is known */
  gint64 count, stored;  /* of `stored` values: what was made of the link, each counted once */
  double above, below;   /* in codes */
} amount;

static double excess(guint32 bits) {
  float number;
  memcpy(&number, &bits, sizeof number);
  return (double)number;
}

static amount amount_at(const fc_workspace *workspaces, guint n, guint stage) {
  amount a = {.counted = TRUE};
  for (guint i = 0; i < n; i++) {
    const guint32 *notes = fc_notes_of(&workspaces[i], stage), flag = notes[FC_NOTE_CLIPPED];
    if (flag != FC_COUNTING) {
      a.any |= flag != 0, a.counted &= flag == 0;
      continue;
    }
    a.any |= notes[FC_COUNTED] > 0, a.counted &= notes[FC_COUNTED] < G_MAXUINT32;
    a.count += notes[FC_COUNTED], a.stored += workspaces[i].stored[stage];
    a.above = fmax(a.above, excess(notes[FC_COUNTED_ABOVE]));
    a.below = fmax(a.below, excess(notes[FC_COUNTED_BELOW]));
  }
  return a;
}

/* The stage whose noise may be what was clipped at this one: itself, or the one before a conversion; or -1.
 */
static int noise_at(const fc_plan *plan, int stage) {
  for (int s = stage; s >= 0 && s >= stage - 1; s--)
    if (plan->stages[s].op && plan->stages[s].op->flags & FC_OP_NOISE) return s;
  return -1;
}

/* Integers that are stored as such cannot exceed their range by themselves; code values of more bits can. */
static gboolean only_noise(const fc_plan *plan, int stage) {
  int noise = noise_at(plan, stage);
  if (noise < 0) return FALSE;
  const fc_format *in = &plan->links[noise], *out = &plan->links[stage + 1];
  return !fc_dtype_is_float(in->dtype) && (in->dtype == out->dtype || in->kind == FC_AUDIO);
}

/* Whether stages behind this one only copy what it stores. */
static gboolean is_last(const fc_plan *plan, guint stage) {
  for (guint s = stage + 1; s < plan->n; s++)
    if (!plan->stages[s].op || !(plan->stages[s].op->flags & (FC_OP_KEEPS_DTYPE | FC_OP_PASSTHROUGH)))
      return FALSE;
  return TRUE;
}

/* The range of an integer type, in codes that are not biased. */
static void range_of(int dtype, double *low, double *high) {
  const double codes = ldexp(1, 8 * (int)fc_dtype_size(dtype));
  *low = dtype == FC_I16 || dtype == FC_I32 ? -codes / 2 : 0;
  *high = *low + codes - 1;
}

/* By how many decibels the peak of sound exceeds full scale. */
static double decibels(const amount *a, const fc_format *out) {
  const fc_scaling map = fc_scaling_of(out->kind, out->dtype);
  double low, high;
  range_of(out->dtype, &low, &high);
  const double up = a->above > 0 ? high - map.bias + a->above : 0,
               down = a->below > 0 ? map.bias - low + a->below : 0;
  return fmax(20 * log10(fmax(up, down) * map.scale), 0.01);
}

/* ", the peak by 6.4 dB"; ", down to -12 and up to 510". */
static void append_peak(GString *s, const amount *a, const fc_format *out) {
  double low, high;
  range_of(out->dtype, &low, &high);
  if (isinf(a->above) || isinf(a->below))
    g_string_append(s, ", infinite ones among them");
  else if (out->kind == FC_AUDIO)
    g_string_append_printf(s, ", the peak by %.2g dB", decibels(a, out));
  else {
    if (a->below > 0) g_string_append_printf(s, ", down to %.5g", low - a->below);
    if (a->above > 0)
      g_string_append_printf(s, "%s up to %.5g", a->below > 0 ? " and" : ",", high + a->above);
  }
}

static void append_amount(GString *s, const amount *a, const fc_format *out) {
  const double percent = 100 * (double)a->count / (double)MAX(a->stored, 1);
  const int digits = percent < 99.5 ? 2 : 3;
  if (!a->counted)
    g_string_append(s, "some values");
  else
    g_string_append_printf(s, "%" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " values (%.*g %%)", a->count,
                           a->stored, digits, percent);
  g_string_append_printf(s, " exceeded the range of %s and were clipped", fc_dtype_name(out->dtype));
  if (a->counted) append_peak(s, a, out);
}

/* The last stage up to this one with a gain of more than 1; NULL: there is none. */
static const fc_plan_stage *louder_at(const fc_plan *plan, guint stage) {
  for (guint s = stage + 1; s-- > 0;) {
    const fc_plan_stage *ps = &plan->stages[s];
    for (guint k = 0; ps->op && ps->stage && k < ps->op->n_params; k++) {
      const fc_arg *arg = ps->stage->args->argv[k];
      if (strcmp(ps->op->params[k]->name, "gain") != 0 || !arg->floats) continue;
      for (guint i = 0; i < arg->count; i++)
        if (fabs(arg->floats[i]) > 1) return ps;
    }
  }
  return NULL;
}

/* Whether the user has asked for the integers, by the stage itself. */
static gboolean is_asked_for(const fc_plan_stage *ps) {
  for (guint k = 0; ps->op && k < ps->op->n_params; k++)
    if (strcmp(ps->op->params[k]->name, "dtype") == 0) return TRUE;
  return FALSE;
}

/* What has to be done to the gain. Only what a stage multiplies everything by is sure to help: of others
 * (an equaliser's, what mixin adds) the same gain at the end of it. */
static void append_lower_gain(GString *s, const amount *a, const fc_format *out, const fc_plan_stage *louder,
                              const char *where) {
  const gboolean all = strcmp(louder->name, "gain") == 0, known = a->counted && !isinf(a->above + a->below);
  double low, high;
  range_of(out->dtype, &low, &high);
  if (out->kind == FC_AUDIO && known) {
    const double down = ceil(10 * decibels(a, out)) / 10;
    if (all)
      g_string_append_printf(s, ": lower the gain by %.1f dB", down);
    else
      g_string_append_printf(s, ": lower the gain of %s, or add gain:-%.1fdB %s", louder->name, down, where);
  } else if (all && known && a->below <= 0)
    g_string_append_printf(s, ": divide the gain by %.5g", ceil(1e3 * (high + a->above) / high) / 1e3);
  else
    g_string_append_printf(s, ": lower the gain%s%s", all ? "" : " of ", all ? "" : louder->name);
}

static void append_advice(GString *s, const amount *a, const fc_plan *plan, guint stage) {
  const fc_format *out = &plan->links[stage + 1];
  const fc_plan_stage *louder = louder_at(plan, stage);
  const gboolean last = is_last(plan, stage) && !is_asked_for(&plan->stages[stage]),
                 sound = out->kind == FC_AUDIO, finite = !isinf(a->above) && !isinf(a->below);
  const char *where = last ? "to the chain" : "before it";
  double low, high;
  range_of(out->dtype, &low, &high);
  if (louder)
    append_lower_gain(s, a, out, louder, where);
  else if (sound && a->counted && finite)
    g_string_append_printf(s, ": add gain:-%.1fdB %s", ceil(10 * decibels(a, out)) / 10, where);
  else if (sound)
    g_string_append_printf(s, ": add a gain of less than 1 %s", where);
  else
    g_string_append_printf(s, ": add clip:min=%.0f:max=%.0f %s if that is what you want", low, high, where);
  if (last)
    g_string_append_printf(s, ", or write floating point (-o %s)", sound ? "NAME.wav:dtype=f32" : "NAME.npy");
}

char *fc_notes_clipped(const fc_workspace *workspaces, guint n, const fc_plan *plan) {
  for (guint stage = 0; stage < plan->n; stage++) {
    const amount a = amount_at(workspaces, n, stage);
    if (!a.any || only_noise(plan, (int)stage)) continue;
    GString *s = g_string_new(NULL);
    if (plan->stages[stage].op) g_string_append_printf(s, "%s: ", plan->stages[stage].name);
    append_amount(s, &a, &plan->links[stage + 1]);
    append_advice(s, &a, plan, stage);
    if (noise_at(plan, (int)stage) >= 0)
      g_string_append(s, " (the noise alone may exceed it where samples touch the ends of the range)");
    return g_string_free(s, FALSE);
  }
  return NULL;
}
