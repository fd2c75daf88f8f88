/* SPDX-License-Identifier: MIT */
/*
 * explain.c - a plan in words, for --dry-run and -v.
 */
#include "core/base/error.h"
#include "core/plan/plan.h"

static const char *const border_names[] = {"zero",       "constant", "replicate", "reflect",
                                           "reflect101", "wrap",     "none",      "unset"};

static void append_extent(GString *s, const fc_format *f) {
  if (f->kind == FC_AUDIO) {
    if (f->extent[FC_AXIS_X] < 0)
      g_string_append(s, "length unknown");
    else
      g_string_append_printf(s, "%" G_GINT64_FORMAT " frames", f->extent[FC_AXIS_X]);
    g_string_append_printf(s, " x %" G_GINT64_FORMAT " ch", f->extent[FC_AXIS_C]);
    if (f->rate > 0) g_string_append_printf(s, ", %g Hz", f->rate);
    return;
  }
  if (f->kind == FC_ARRAY) { /* in the order of NumPy: rows first */
    g_string_append(s, "shape ");
    if (f->extent[FC_AXIS_N] != 1) g_string_append_printf(s, "%" G_GINT64_FORMAT " x ", f->extent[FC_AXIS_N]);
    g_string_append_printf(s, "%" G_GINT64_FORMAT " x %" G_GINT64_FORMAT, f->extent[FC_AXIS_Y],
                           f->extent[FC_AXIS_X]);
    if (f->extent[FC_AXIS_C] != 1) g_string_append_printf(s, " x %" G_GINT64_FORMAT, f->extent[FC_AXIS_C]);
    return;
  }
  if (f->extent[FC_AXIS_N] != 1) g_string_append_printf(s, "%" G_GINT64_FORMAT " of ", f->extent[FC_AXIS_N]);
  g_string_append_printf(s, "%" G_GINT64_FORMAT " x %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT " ch",
                         f->extent[FC_AXIS_X], f->extent[FC_AXIS_Y], f->extent[FC_AXIS_C]);
}

static void append_format(GString *s, const fc_format *f) {
  static const char *const kinds[] = {"audio", "image", "array"};
  g_string_append_printf(s, "%s %s, ", kinds[f->kind], fc_dtype_name(f->dtype));
  append_extent(s, f);
  if (f->layout == FC_PLANAR) g_string_append(s, ", planar");
}

static void append_length(GString *s, gint64 length) {
  if (length == FC_WHOLE)
    g_string_append(s, "all");
  else
    g_string_append_printf(s, "%" G_GINT64_FORMAT, length);
}

static void append_halo(GString *s, const fc_reach reach[FC_AXES], int border, int kind) {
  static const char letters[] = "nyxc";
  gboolean any = FALSE;
  for (int a = 0; a < FC_AXES; a++) {
    const fc_reach *r = &reach[a];
    if (r->before == 0 && r->after == 0) continue;
    g_string_append_printf(s, "%s%c ", any ? ", " : "; halo ",
                           a == FC_AXIS_X && kind == FC_AUDIO ? 't' : letters[a]);
    append_length(s, r->before);
    g_string_append_c(s, '+');
    append_length(s, r->after);
    any = TRUE;
  }
  if (any && border != FC_BORDER_NONE) g_string_append_printf(s, ", border %s", border_names[border]);
}

static const char *place(const fc_plan *plan, const fc_plan_stage *ps) {
  return plan->n_devices == 0 || (ps->on_host && !ps->composed) ? "cpu" : "cuda";
}

static void append_stage(GString *s, const fc_plan *plan, guint i) {
  const fc_plan_stage *ps = &plan->stages[i];
  g_string_append_printf(s, "\nstage %u %s on %s", i + 1,
                         ps->stage ? ps->stage->text : "conversion (inserted by the engine)",
                         place(plan, ps));
  if (ps->composed)
    g_string_append(s, " (by its device function; where that cannot be compiled, on cpu)");
  else if (ps->on_host)
    g_string_append(s, " (no CUDA version: one download and one upload a chunk)");
  if (ps->part == FC_PART_MAKE)
    g_string_append(s, "; made of what the survey has kept");
  else
    append_halo(s, ps->reach, ps->border, plan->links[i].kind);
  if (ps->part == FC_PART_SURVEY) g_string_append(s, "; a survey, piece by piece");
  if (ps->carry_bytes)
    g_string_append_printf(s, "; carries %" G_GUINT64_FORMAT " bytes from chunk to chunk", ps->carry_bytes);
  if (ps->stage && fc_stage_passes(ps->stage))
    g_string_append(s, "; measures its whole input first, so the input is read twice");
  if (ps->made) g_string_append_printf(s, "; %u stages joined by algebra: %s", ps->made->n, ps->made->text);
  if (ps->apart) g_string_append_printf(s, "; not joined to the next stage: %s", ps->apart);
  if (ps->unsound) g_string_append_printf(s, "; its map for --fuse=algebra is not used: %s", ps->unsound);
  if (ps->joined)
    g_string_append_printf(s, "; one cascade with the %u stage%s behind it", ps->joined - 1,
                           ps->joined > 2 ? "s" : "");
  if (ps->turned) g_string_append(s, "; goes through its input backwards");
  if (ps->note) g_string_append_printf(s, "; %s", ps->note);
  for (guint k = ps->side; k < ps->side + ps->n_sides; k++) {
    const fc_plan_side *side = &plan->sides[k];
    g_string_append_printf(s, "\n        <- %s: ", side->name);
    append_format(s, &side->source);
    append_halo(s, side->reach, side->border, side->format.kind);
    if (side->random) g_string_append(s, "; held in memory");
  }
  g_string_append(s, "\n        -> ");
  append_format(s, &plan->links[i + 1]);
}

static void append_devices(GString *s, const fc_plan *plan) {
  g_string_append(s, "\nruns on ");
  for (guint d = 0; d < plan->n_devices; d++)
    g_string_append_printf(s, "%s%d", d ? "," : "cuda:", fc_device_ordinal(plan->devices[d]));
  g_string_append_printf(s, "%s: %s", plan->n_devices ? "" : "cpu", plan->reason);
}

/* Explains chunks that are larger than asked because they are whole blocks of all stages; or blocks that
 * are computed in part because whole ones would be too large. */
static void append_blocks(GString *s, const fc_plan *plan) {
  if (plan->multiple <= 1 || plan->chunk >= plan->links[plan->n].extent[plan->cut]) return;
  if (plan->chunk % plan->multiple == 0 && plan->asked > 0 && plan->asked < plan->chunk)
    g_string_append_printf(s, " (%" G_GINT64_FORMAT " asked for, up to whole blocks of %" G_GINT64_FORMAT ")",
                           plan->asked, plan->multiple);
  else if (plan->chunk % plan->multiple == 0)
    g_string_append_printf(s, " (blocks of %" G_GINT64_FORMAT ")", plan->multiple);
  else {
    g_autoptr(fc_plan) blocks = fc_plan_with_chunk(plan, plan->multiple, plan->threads, plan->scratch);
    g_autofree char *takes = fc_size_for_message(fc_plan_bytes(blocks));
    g_string_append_printf(
        s, " (some blocks are computed twice; whole blocks of %" G_GINT64_FORMAT " would take %s of memory)",
        plan->multiple, takes);
  }
}

static void append_work(GString *s, const fc_plan *plan) {
  const gint64 chunk = plan->surveyed ? fc_plan_stretch(plan, 0) : plan->chunk;
  g_autofree char *rework = fc_plan_rework_text(plan);
  g_string_append_printf(s, "\ncompute %s, chunks of %" G_GINT64_FORMAT " %s", fc_dtype_name(plan->compute),
                         chunk, fc_plan_unit(plan, chunk));
  append_blocks(s, plan);
  if (plan->n_devices == 0)
    g_string_append_printf(s, ", %d at a time on %d thread%s", plan->crew, plan->threads,
                           plan->threads == 1 ? "" : "s");
  g_string_append_printf(s, ", about %.3g MB of buffers", fc_plan_bytes(plan) / 1e6);
  if (plan->live)
    g_string_append_printf(s, ", sound is held for %.3g ms",
                           (double)fc_plan_held(plan, plan->chunk) / plan->links[0].rate * 1e3);
  if (plan->chunk < plan->freely)
    g_string_append_printf(s, " (with more memory %" G_GINT64_FORMAT ")", plan->freely);
  if (plan->whole) g_string_append(s, " (a stage needs the whole signal at once)");
  if (rework) g_string_append_printf(s, "; %s", rework);
}

/* The kernel of the stages from i on, which may be one by itself. */
static void append_fused(GString *s, const fc_plan *plan, guint i) {
  const guint n = plan->stages[i].fused + (plan->stages[i].through ? 1 : 0);
  g_autofree char *why = plan->n_devices ? fc_plan_fuse_text(plan, i) : NULL;
  if (n > 1)
    g_string_append_printf(s, "\nfused   stages %u to %u, %u stages in 1 kernel", i + 1, i + n, n);
  else if (n || why)
    g_string_append_printf(s, "\n%s stage %u", n ? "fused  " : "single ", i + 1);
  if (why) g_string_append_printf(s, "; %s", why);
}

static char *explain_text(const fc_plan *plan, const char *input, const char *output) {
  GString *s = g_string_new(NULL);
  if (plan->n && plan->stages[0].generator) {
    g_string_append(s, "input   none");
  } else {
    g_string_append_printf(s, "input   %s: ", input);
    append_format(s, &plan->links[0]);
    if (plan->loaded) g_string_append(s, "; held in memory, since its length was not known");
  }
  for (guint i = 0; i < plan->n; i++) append_stage(s, plan, i);
  for (guint i = 0; i < plan->n; i += MAX(plan->stages[i].fused, 1)) append_fused(s, plan, i);
  g_string_append_printf(s, "\noutput  %s: ", output ? output : "none, measurements only");
  append_format(s, &plan->links[plan->n]);
  if (output && fc_plan_output_bytes(plan) >= 0) {
    g_autofree char *size = fc_size_for_message(fc_plan_output_bytes(plan));
    g_string_append_printf(s, ", %s of samples", size);
  }
  append_devices(s, plan);
  append_work(s, plan);
  return g_string_free(s, FALSE);
}

/* A file name may be in no known encoding, which JSON cannot represent. */
static void append_json_string(GString *s, const char *text) {
  g_autofree char *valid = g_utf8_make_valid(text, -1);
  g_string_append_c(s, '"');
  for (const char *p = valid; *p; p++) {
    if (*p == '"' || *p == '\\')
      g_string_append_printf(s, "\\%c", *p);
    else if ((guchar)*p < 0x20)
      g_string_append_printf(s, "\\u%04x", (guchar)*p);
    else
      g_string_append_c(s, *p);
  }
  g_string_append_c(s, '"');
}

static void append_json_format(GString *s, const fc_format *f) {
  static const char *const kinds[] = {"audio", "image", "array"};
  g_string_append_printf(s, "{\"kind\":\"%s\",\"dtype\":\"%s\",\"bits\":%d,\"layout\":\"%s\",\"extent\":[",
                         kinds[f->kind], fc_dtype_name(f->dtype), f->bits,
                         f->layout == FC_PLANAR ? "planar" : "interleaved");
  for (int a = 0; a < FC_AXES; a++)
    g_string_append_printf(s, "%s%" G_GINT64_FORMAT, a ? "," : "", f->extent[a]);
  char rate[G_ASCII_DTOSTR_BUF_SIZE];
  g_string_append_printf(s, "],\"rate\":%s}", g_ascii_dtostr(rate, sizeof rate, f->rate));
}

/* "joined": how many stages of the chain it stands for, 0: one; "as": what they are by algebra. */
static void append_json_stage(GString *s, const fc_plan *plan, guint i) {
  const fc_plan_stage *ps = &plan->stages[i];
  g_string_append(s, i ? ",{\"stage\":" : "{\"stage\":");
  append_json_string(s, ps->stage ? ps->stage->text : "cast");
  g_string_append_printf(s, ",\"on\":\"%s\",\"border\":\"%s\",\"note\":", place(plan, ps),
                         border_names[ps->border]);
  append_json_string(s, ps->note ? ps->note : "");
  g_string_append_printf(s, ",\"joined\":%u,\"as\":", ps->made ? ps->made->n : ps->joined);
  append_json_string(s, ps->made ? ps->made->text : "");
  g_string_append(s, ",\"apart\":");
  append_json_string(s, ps->apart ? ps->apart : "");
  g_string_append(s, ",\"unsound\":");
  append_json_string(s, ps->unsound ? ps->unsound : "");
  g_string_append_printf(s, ",\"fused\":%u,\"out\":", ps->fused + (ps->through ? 1 : 0));
  append_json_format(s, &plan->links[i + 1]);
  g_string_append_c(s, '}');
}

static char *explain_json(const fc_plan *plan, const char *input, const char *output) {
  GString *s = g_string_new("{\"input\":");
  guint passes = 1;
  for (guint i = 0; i < plan->n; i++)
    passes += plan->stages[i].stage && fc_stage_passes(plan->stages[i].stage);
  append_json_string(s, input);
  g_string_append(s, ",\"output\":");
  if (output)
    append_json_string(s, output);
  else
    g_string_append(s, "null");
  g_string_append(s, ",\"in\":");
  append_json_format(s, &plan->links[0]);
  g_string_append(s, ",\"stages\":[");
  for (guint i = 0; i < plan->n; i++) append_json_stage(s, plan, i);
  g_string_append_printf(s, "],\"device\":\"%s\",\"reason\":", plan->n_devices ? "cuda" : "cpu");
  append_json_string(s, plan->reason);
  g_string_append_printf(s,
                         ",\"compute\":\"%s\",\"passes\":%u,\"chunk\":%" G_GINT64_FORMAT
                         ",\"bytes\":%.0f,\"output_bytes\":%.0f}",
                         fc_dtype_name(plan->compute), passes, plan->chunk, fc_plan_bytes(plan),
                         fc_plan_output_bytes(plan));
  return g_string_free(s, FALSE);
}

char *fc_plan_explain(const fc_plan *plan, const char *input, const char *output, gboolean json) {
  return json ? explain_json(plan, input, output) : explain_text(plan, input, output);
}
