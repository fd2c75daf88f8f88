/* SPDX-License-Identifier: MIT */
/* prefilter.c - see prefilter.h. */
#include "core/compose/prefilter.h"

#include "core/compose/around.h"
#include "core/compose/overlap.h"
#include "core/compose/ranges.h"

/* Taps at most: what costs less than a kernel. Transforms of a single channel load twice as many samples;
 * deviations of floats load everything twice, and have no registers left. Shorter extremes are windows of
 * series.cuh. */
enum { TAPS = 8, OF_LINE = 6, OF_FLOATS = 4, LONG_EXTREME = 25 };

/* Whether the stage's window may be computed ahead of another. */
static gboolean is_short(const fc_compose_stage *s) {
  const fc_device_function *f = s->function;
  fc_statistic_text statistic;
  if (s->border == FC_BORDER_NONE || s->border == FC_BORDER_UNSET || s->border == FC_BORDER_WRAP ||
      f->flags & FC_FUNCTION_AROUND || f->window_y != 1 || f->window_x < 2 || f->window_x > TAPS)
    return FALSE;
  return g_str_has_prefix(f->entry, "fc_dense<") || (fc_statistic_read(f, &statistic) && statistic.extreme);
}

/* Whether rows begin at multiples of 16 bytes, by their length. */
static gboolean is_aligned(int dtype, const gint64 extent[FC_AXES]) {
  return (extent[FC_AXIS_N] == 1 && extent[FC_AXIS_Y] == 1) || extent[FC_AXIS_X] < 0 ||
         extent[FC_AXIS_X] * extent[FC_AXIS_C] * (gint64)fc_dtype_size(dtype) % 16 == 0;
}

/* Whether it is one that another may be computed ahead of, of so many taps, where `in` is stored. Extremes of
 * bytes run faster as two kernels, which compare bytes, unless rows begin at any address: of 75 behind 3 taps
 * 49 us apart and 56 as one, but in 4662 rows of 2145 RGB pixels, of 513 behind 5 taps, 342 and 172 (H200, 30
 * M samples). */
static gboolean is_long(const fc_compose_stage *s, gint64 taps, int in, const gint64 extent[FC_AXES]) {
  fc_statistic_text statistic;
  int together = 0, length = 0;
  if (!(s->function->flags & FC_FUNCTION_AROUND) && fc_overlap_read(s->function, &together, &length))
    return extent[FC_AXIS_C] != 3 && taps <= (together > 1 ? TAPS : OF_LINE);
  if (!fc_statistic_read(s->function, &statistic)) return FALSE;
  if (statistic.extreme)
    return s->function->window_x >= LONG_EXTREME && !(in == FC_U8 && is_aligned(in, extent));
  return !statistic.variance || !fc_dtype_is_float(in) || taps <= OF_FLOATS;
}

void fc_prefilter_take(fc_composition *c, int in_dtype, const gint64 extent[FC_AXES]) {
  const guint first = c->window;
  guint second = first + 1;
  gint64 now = extent[FC_AXIS_C], seen = now;
  if (c->windows != 2 || c->compute != FC_F32 || !is_short(&c->stages[first])) return;
  while (!(c->stages[second].function->flags & FC_FUNCTION_WINDOW)) second++;
  if (!is_long(&c->stages[second], c->stages[first].function->window_x, in_dtype, extent)) return;
  /* What is rounded would be noted of samples that no output of this launch looks at. */
  for (guint i = 0; i < second; i++) {
    if (fc_ranges_rounded(c, i, in_dtype)) return;
    if (c->stages[i].function->out > 0) now = c->stages[i].function->out;
    if (i <= first) seen = now;
  }
  if (seen != now) return;
  const fc_compose_stage *s = &c->stages[second];
  c->prefilter = first + 1, c->windows = 1, c->window = second;
  c->border = s->border, c->border_value = s->border_value;
}

static const fc_compose_stage *stage_of(const fc_composition *c) {
  return &c->stages[c->prefilter - 1];
}

gboolean fc_prefilter_has_all(const fc_composition *c, const fc_view *in, const fc_view *out, gint64 taps) {
  if (!c->prefilter || in->extent[FC_AXIS_X] < 0) return !c->prefilter;
  const fc_range seen = fc_window_sees(out, FC_AXIS_X, taps, c->border, in->extent[FC_AXIS_X]);
  fc_view made = *out;
  made.origin[FC_AXIS_X] = seen.lo, made.shape[FC_AXIS_X] = fc_range_length(seen);
  return fc_window_has_all(in, &made, FC_AXIS_X, stage_of(c)->function->window_x, stage_of(c)->border);
}

float fc_prefilter_constant(const fc_composition *c) {
  return c->prefilter ? (float)stage_of(c)->border_value : 0;
}

void fc_prefilter_append(GString *text, const fc_composition *c) {
  const gboolean ahead = c->prefilter > 1, behind = c->prefilter < c->window;
  static const char *const run =
      "  template <int N, int M> FC_DEVICE void %s(const float (&v)[N], float (&to)[M], fc_dev_noted &noted) "
      "const { %s.run(v, to, noted); }\n";
  g_string_append_printf(text,
                         "struct Pre {\n  static constexpr int TAPS = %u, BORDER = %d;\n"
                         "  typedef stage%u::%s op_type;\n",
                         stage_of(c)->function->window_x, stage_of(c)->border, c->prefilter - 1,
                         stage_of(c)->function->entry);
  if (ahead) g_string_append_printf(text, "  alignas(%d) Ahead before;\n", FC_COMPOSE_ALIGN);
  g_string_append_printf(text, "  alignas(%d) op_type op;\n", FC_COMPOSE_ALIGN);
  if (behind) g_string_append_printf(text, "  alignas(%d) Behind after;\n", FC_COMPOSE_ALIGN);
  g_string_append_printf(text, run, "ahead", ahead ? "before" : "fc_none()");
  g_string_append_printf(text, run, "behind", behind ? "after" : "fc_none()");
  g_string_append(text, "};\n");
}
