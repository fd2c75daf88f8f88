/* SPDX-License-Identifier: MIT */
/* text.c - see text.h. */
#include "core/compose/text.h"

#include "core/compose/ranges.h"

#include <string.h>

const char *const fc_text_truth[2] = {"false", "true"}, *const fc_text_types[FC_DTYPE_COUNT] = {
                                                            "uint8_t", "int16_t", "uint16_t",
                                                            "int32_t", "float",   "double"};

int fc_text_kind(int kind, int dtype) {
  return kind == FC_AUDIO && !fc_dtype_is_float(dtype) ? FC_AUDIO : FC_IMAGE;
}

gboolean fc_text_is_placed(const fc_composition *c) {
  for (guint i = 0; i < c->n; i++)
    if (c->stages[i].function->flags & FC_FUNCTION_POSITION) return TRUE;
  return FALSE;
}

void fc_text_function(GString *text, guint i, const fc_composition *c, int in_dtype) {
  const fc_compose_stage *s = &c->stages[i];
  g_autofree char *name = g_strescape(s->name, NULL);
  g_string_append_printf(text, "namespace stage%u {\ntypedef %s real;\n", i, fc_text_types[c->compute]);
  if (fc_ranges_nan_free(c, i, in_dtype))
    g_string_append(text, "FC_DEVICE real fc_at_least(real v, real low) { return fc_larger(v, low); }\n"
                          "FC_DEVICE real fc_at_most(real v, real high) { return fc_smaller(v, high); }\n");
  g_string_append_printf(
      text, "%s#line 1 \"%s\"\n%s\n}\n",
      s->function->flags & FC_FUNCTION_AROUND ? "typedef ::fc_neighbours<real> fc_around;\n" : "", name,
      s->function->source);
  g_string_append_printf(
      text,
      "#line 1 \"parameters of %s\"\nstatic_assert(sizeof(stage%u::%s) == %u, \"the text's members "
      "are not laid out as the bytes are\");\n",
      name, i, s->function->entry, MAX(s->function->n_bytes, 1));
}

/* Rounds the values of the link behind stage i. */
static void append_rounding(GString *text, const fc_composition *c, guint i) {
  g_string_append_printf(text, "    fc_map_round<%s, %d>(v%u, noted);\n", fc_text_types[c->stages[i].dtype],
                         fc_text_kind(c->stages[i].kind, c->stages[i].dtype), i + 1);
}

void fc_text_chain(GString *text, const char *name, const fc_composition *c, guint from, guint to,
                   gint64 channels, int in_dtype) {
  const char *real = fc_text_types[c->compute];
  const gboolean placed = fc_text_is_placed(c),
                 rounded = from > 0 && fc_ranges_rounded(c, from - 1, in_dtype),
                 codes = from > 0 && !fc_dtype_is_float(c->stages[from - 1].dtype),
                 scales = from == 0 && c->window < c->n && fc_ranges_scales(c, in_dtype);
  gboolean notes = rounded;
  for (guint i = from; i < to; i++) notes |= fc_ranges_rounded(c, i, in_dtype);
  g_string_append_printf(text,
                         "#line 1 \"chain\"\nstruct %s {\n  static constexpr bool QUIET = %s, NEAR = %s, "
                         "SCALES = %s, ROUNDED = %s, NOTES = %s, PLACED = %s;\n",
                         name, fc_text_truth[to == c->n && fc_ranges_quiet(c, in_dtype)],
                         fc_text_truth[to == c->n && fc_ranges_near(c, in_dtype)], fc_text_truth[scales],
                         fc_text_truth[codes], fc_text_truth[notes], fc_text_truth[placed]);
  if (placed) g_string_append_printf(text, "  alignas(%d) fc_map_place place;\n", FC_COMPOSE_ALIGN);
  for (guint i = from; i < to; i++)
    g_string_append_printf(text, "  alignas(%d) stage%u::%s f%u;\n", FC_COMPOSE_ALIGN, i,
                           c->stages[i].function->entry, i);
  if (scales) g_string_append(text, "  FC_DEVICE float factor() const { return f0.factor; }\n");
  g_string_append_printf(text,
                         "  template <%sint N, int M> FC_DEVICE void run(const %s (&from)[N], %s (&to)[M], "
                         "fc_dev_noted &noted%s) const {\n"
                         "    constexpr int PIXELS = N / %d;\n    %s v%u[N];\n"
                         "#pragma unroll\n    for (int i = 0; i < N; i++) v%u[i] = from[i];\n",
                         scales ? "bool SCALED = false, " : "", real, real,
                         placed ? ", const fc_map_at &at" : "", (int)channels, real, from, from);
  if (rounded) append_rounding(text, c, from - 1);
  for (guint i = from; i < to; i++) {
    const fc_device_function *f = c->stages[i].function;
    const gboolean exchanges = f->in > channels;
    if (f->out > 0 && !exchanges) channels = f->out;
    g_string_append_printf(text, "    %s v%u[PIXELS * %d];\n", real, i + 1, (int)channels);
    if (f->flags & FC_FUNCTION_POSITION)
      g_string_append_printf(text, "    fc_map_apply_at<%u, %u, %d>(f%u, v%u, v%u, at, place);\n", f->in,
                             f->out, (int)(f->in ? f->in : channels), i, i, i + 1);
    else if (exchanges)
      g_string_append_printf(text, "    fc_none().run(v%u, v%u, noted);\n", i, i + 1);
    else
      g_string_append_printf(text, "    %sfc_map_apply<%u, %u>(f%u, v%u, v%u);\n",
                             i || !scales ? "" : "if constexpr (SCALED) fc_none().run(v0, v1, noted); else ",
                             f->in, f->out, i, i, i + 1);
    if (fc_ranges_rounded(c, i, in_dtype)) append_rounding(text, c, i);
  }
  g_string_append_printf(text, "#pragma unroll\n    for (int i = 0; i < M; i++) to[i] = v%u[i];\n  }\n};\n",
                         to);
}
