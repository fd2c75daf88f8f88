/* SPDX-License-Identifier: MIT */
/*
 * graph.c - see graph.h. Graphs are kept so small, at each of their links, that a run takes milliseconds.
 */
#include "tests/engine/graph.h"

#include "check/stage.h"
#include "core/registry/table.h"
#include "tests/engine/alone.h"

#include <string.h>

#define ATTEMPTS 30

static const char *const kinds[FC_KIND_COUNT] = {"audio", "image", "array"};
static const int bits_of[FC_DTYPE_COUNT] = {8, 16, 16, 32, 24, 53};

/* ---- formats ------------------------------------------------------------------------------- */

static fc_format format_of(int kind, int dtype, const gint64 extent[FC_AXES]) {
  fc_format f = {.size = sizeof f, .kind = kind, .dtype = dtype, .bits = bits_of[dtype]};
  memcpy(f.extent, extent, sizeof f.extent);
  f.rate = kind == FC_AUDIO ? 16000 : 0;
  return f;
}

static int index_of(const char *name, const char *(*name_of)(int), int n) {
  int i = 0;
  while (i < n && strcmp(name, name_of(i)) != 0) i++;
  return i;
}

static const char *kind_name(int kind) {
  return kinds[kind];
}

gboolean format_parse(const char *text, fc_format *format) {
  g_auto(GStrv) parts = g_strsplit(text, ",", -1);
  if (g_strv_length(parts) != 3) return FALSE;
  g_auto(GStrv) sides = g_strsplit(parts[2], "x", -1);
  const int kind = index_of(parts[0], kind_name, FC_KIND_COUNT),
            dtype = index_of(parts[1], fc_dtype_name, FC_DTYPE_COUNT);
  gint64 extent[FC_AXES];
  if (kind == FC_KIND_COUNT || dtype == FC_DTYPE_COUNT || g_strv_length(sides) != FC_AXES) return FALSE;
  for (int a = 0; a < FC_AXES; a++) extent[a] = g_ascii_strtoll(sides[a], NULL, 10);
  *format = format_of(kind, dtype, extent);
  return TRUE;
}

char *format_text(const fc_format *f) {
  return g_strdup_printf(
      "%s,%s,%" G_GINT64_FORMAT "x%" G_GINT64_FORMAT "x%" G_GINT64_FORMAT "x%" G_GINT64_FORMAT,
      kinds[f->kind], fc_dtype_name(f->dtype), f->extent[0], f->extent[1], f->extent[2], f->extent[3]);
}

gsize format_bytes(const fc_format *f) {
  gsize bytes = fc_dtype_size(f->dtype);
  for (int a = 0; a < FC_AXES; a++) bytes *= (gsize)f->extent[a];
  return bytes;
}

fc_view dense_view(const fc_format *f, void *codes) {
  fc_view v = {.size = sizeof v, .dtype = f->dtype, .kind = f->kind, .device = FC_HOST, .data = codes};
  gint64 step = (gint64)fc_dtype_size(f->dtype);
  for (int a = FC_AXES - 1; a >= 0; a--) {
    v.shape[a] = v.extent[a] = f->extent[a], v.stride[a] = step;
    step *= MAX(f->extent[a], 1);
  }
  return v;
}

static fc_format random_format(int kind, dice *d) {
  static const gint64 lengths[] = {0, 1, 2, 7, 31, 64, 300, 501, 777};
  const gint64 length = dice_chance(d, 50) ? DICE_PICK(d, lengths) : dice_int(d, 1, 600);
  const gint64 sound[FC_AXES] = {1, 1, length, dice_int(d, 1, 4)};
  const gint64 picture[FC_AXES] = {dice_chance(d, 40) ? 1 : dice_int(d, 0, 9), dice_int(d, 1, 24),
                                   dice_int(d, 1, 40), dice_int(d, 1, 4)};
  const int dtype = dice_chance(d, 40) ? FC_F32 : (int)dice_int(d, 0, FC_DTYPE_COUNT - 1);
  return format_of(kind, dtype, kind == FC_AUDIO ? sound : picture);
}

/* For a further input: mostly as long as the signal, along the time, so that both fit. */
static fc_format other_format(const fc_format *in, dice *d) {
  fc_format f = random_format(in->kind, d);
  const gint64 length = f.extent[in->kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_N];
  memcpy(f.extent, in->extent, sizeof f.extent);
  if (dice_chance(d, 40)) f.extent[in->kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_N] = length;
  if (dice_chance(d, 15)) f.extent[FC_AXIS_C] = 1;
  return f;
}

/* ---- decks ------------------------------------------------------------------------------------ */

static gboolean is_synthetic(fc_context *context, const fc_operator *op) {
  const char *path;
  return strcmp(fc_context_plugin_of(context, op, &path)->id, "synthetic") == 0;
}

deck deck_of(fc_context *context) {
  gsize count;
  g_autofree const fc_operator **all = fc_context_operators(context, &count);
  GPtrArray *lists[3] = {g_ptr_array_new(), g_ptr_array_new(), g_ptr_array_new()};
  for (gsize i = 0; i < count; i++) {
    const int which = all[i]->flags & FC_OP_GENERATOR ? 2 : is_synthetic(context, all[i]) ? 1 : 0;
    g_ptr_array_add(lists[which], (gpointer)all[i]);
  }
  deck d = {.context = context};
  for (int k = 0; k < 3; k++) g_ptr_array_add(lists[k], NULL);
  d.ops = (const fc_operator **)g_ptr_array_free(lists[0], FALSE);
  d.synthetic = (const fc_operator **)g_ptr_array_free(lists[1], FALSE);
  d.generators = (const fc_operator **)g_ptr_array_free(lists[2], FALSE);
  return d;
}

void deck_clear(deck *d) {
  g_free(d->ops);
  g_free(d->synthetic);
  g_free(d->generators);
}

static const fc_operator *pick(const fc_operator **ops, dice *d) {
  const guint n = g_strv_length((char **)ops);
  return n ? ops[dice_int(d, 0, n - 1)] : NULL;
}

/* ---- graphs --------------------------------------------------------------------------------------- */

graph *graph_of(const char *stage, const fc_format *in, guint64 seed) {
  graph *g = g_new0(graph, 1);
  g->in = *in, g->wanted = -1, g->precision = FC_F32, g->seed = seed;
  g->stages = g_new0(char *, 2);
  g->stages[0] = g_strdup(stage);
  return g;
}

graph *graph_copy(const graph *g) {
  graph *copy = g_memdup2(g, sizeof *g);
  copy->stages = g_strdupv(g->stages);
  return copy;
}

void graph_free(graph *g) {
  if (!g) return;
  g_strfreev(g->stages);
  g_free(g);
}

char *graph_text(const graph *g) {
  g_autofree char *format = format_text(&g->in);
  GString *text = g_string_new(NULL);
  g_string_printf(text, "--signal %s --precision %s --seed %" G_GUINT64_FORMAT, format,
                  fc_dtype_name(g->precision), g->seed);
  if (g->wanted >= 0) g_string_append_printf(text, " --wanted %s", fc_dtype_name(g->wanted));
  for (char **s = g->stages; *s; s++) {
    g_autofree char *quoted = g_shell_quote(*s);
    g_string_append_printf(text, " -p %s", quoted);
  }
  return g_string_free(text, FALSE);
}

gboolean graph_generates(const deck *from, const graph *g) {
  g_autoptr(fc_stage_text) stage = g->stages[0] ? fc_stage_text_parse(g->stages[0], NULL) : NULL;
  const fc_operator *op = stage ? fc_context_find(from->context, stage->name, NULL) : NULL;
  return op && op->flags & FC_OP_GENERATOR;
}

/* ---- chains ----------------------------------------------------------------------------------------- */

static const fc_param *param_of(const fc_operator *op, const fc_stage_arg *arg) {
  for (guint i = 0; i < op->n_params; i++)
    if (arg->key ? strcmp(op->params[i]->name, arg->key) == 0 : (op->params[i]->flags & FC_PARAM_MAIN) != 0)
      return op->params[i];
  return NULL;
}

/* A further input: a view of a signal made up for it, or the file that holds it. */
static void add_side(const graph *g, const char *text, const char *const *paths, built *b, fc_value *value) {
  const guint k = b->n_sides++;
  dice d = dice_of(g->seed, "side", k);
  fc_format format;
  if (!format_parse(text, &format)) format = g->in; /* an operator's example names a file */
  b->sides = g_renew(source, b->sides, b->n_sides);
  b->sides[k] = source_new(&format, FILL_RANDOM, &d);
  b->views = g_renew(fc_view, b->views, b->n_sides);
  b->views[k] = dense_view(&format, b->sides[k].codes);
  value->text = paths ? paths[k] : NULL;
}

static gboolean add_stage(const graph *g, guint index, fc_context *context, const char *const *paths,
                          built *b, GError **error) {
  g_autoptr(fc_stage_text) stage = fc_stage_text_parse(g->stages[index], error);
  const fc_operator *op = stage ? fc_context_find(context, stage->name, error) : NULL;
  if (!op) return FALSE;
  dice d = dice_of(g->seed, "tables", index);
  const guint first = b->n_sides;
  g_autofree fc_value *values = g_new0(fc_value, stage->n_args + 1);
  g_autofree const fc_value **list = g_new0(const fc_value *, stage->n_args + 1);
  g_autoptr(GPtrArray) tables = g_ptr_array_new_with_free_func((GDestroyNotify)fc_table_free);
  for (guint i = 0; i < stage->n_args; i++) {
    const fc_stage_arg *arg = &stage->args[i];
    const fc_param *p = param_of(op, arg);
    values[i] = (fc_value){.size = sizeof *values, .name = arg->key, .text = arg->value};
    if (p && p->type == FC_INPUT) {
      add_side(g, arg->value, paths, b, &values[i]);
    } else if (p && p->type == FC_TABLE && (arg->quoted || arg->value[0] != '[')) {
      fc_table *table = stage_table(p, &d);
      g_ptr_array_add(tables, table);
      values[i].text = NULL, values[i].table = table;
    }
    list[i] = &values[i];
  }
  /* Views lie in an array that has grown; only now do they stay. */
  for (guint i = 0, k = first; i < stage->n_args && !paths; i++) {
    const fc_param *p = param_of(op, &stage->args[i]);
    if (p && p->type == FC_INPUT) values[i].view = &b->views[k++];
  }
  return fc_chain_add(b->chain, stage->name, list, error);
}

gboolean graph_build(const graph *g, fc_context *context, const char *const *paths, built *b,
                     GError **error) {
  *b = (built){.chain = fc_chain_new(context)};
  for (guint i = 0; g->stages[i]; i++)
    if (!add_stage(g, i, context, paths, b, error)) {
      built_clear(b);
      return FALSE;
    }
  return TRUE;
}

void built_clear(built *b) {
  fc_chain_free(b->chain);
  for (guint k = 0; k < b->n_sides; k++) source_free(&b->sides[k]);
  g_free(b->sides);
  g_free(b->views);
  *b = (built){NULL};
}

fc_options graph_options(const graph *g) {
  fc_options o = FC_OPTIONS_INIT;
  o.precision = g->precision, o.seed = g->seed, o.random_name = "signal";
  return o;
}

gboolean graph_output(const graph *g, fc_chain *chain, fc_format *out, GError **error) {
  fc_options o = graph_options(g);
  o.device = "cpu";
  memset(out, 0, sizeof *out);
  out->size = sizeof *out, out->dtype = g->wanted;
  return fc_chain_output_format(chain, &g->in, &o, out, error);
}

/* ---- drawing ------------------------------------------------------------------------------------------ */

/* Names of further inputs become formats. */
static char *with_inputs(const fc_operator *op, const char *text, const fc_format *in, dice *d) {
  g_autoptr(fc_stage_text) stage = fc_stage_text_parse(text, NULL);
  if (!stage) return g_strdup(text);
  gboolean any = FALSE;
  GString *made = g_string_new(op->name);
  for (guint i = 0; i < stage->n_args; i++) {
    const fc_stage_arg *arg = &stage->args[i];
    const fc_param *p = param_of(op, arg);
    g_autofree char *format = NULL;
    if (p && p->type == FC_INPUT) {
      const fc_format other = other_format(in, d);
      format = format_text(&other), any = TRUE;
    }
    const gboolean plain = !format && !arg->quoted;
    g_string_append_printf(made, plain ? ":%s%s%s" : ":%s%s'%s'", arg->key ? arg->key : "",
                           arg->key ? "=" : "", format ? format : arg->value);
  }
  g_autofree char *replaced = g_string_free(made, FALSE);
  return any ? g_steal_pointer(&replaced) : g_strdup(text);
}

static char *random_stage(const fc_operator *op, const fc_format *in, dice *d) {
  g_autoptr(GPtrArray) wishes = wishes_of(op);
  const wish *w = g_ptr_array_index(wishes, (guint)dice_int(d, 0, (gint64)wishes->len - 1));
  g_autofree char *text = stage_random(op, w, in->extent, d);
  return with_inputs(op, text, in, d);
}

static const fc_operator *random_operator(const deck *from, dice *d) {
  const fc_operator *op = dice_chance(d, 45) ? pick(from->synthetic, d) : pick(from->ops, d);
  return op ? op : pick(from->ops, d);
}

/* FALSE: the last stage does not take what comes, or takes too long. */
static gboolean is_fit(const graph *g, fc_context *context, fc_format *out) {
  built b;
  if (!graph_build(g, context, NULL, &b, NULL)) return FALSE;
  const gboolean ok = graph_output(g, b.chain, out, NULL) && alone_is_quick(g, &b);
  built_clear(&b);
  return ok;
}

static gboolean add_random(graph *g, guint n, const fc_operator *op, const deck *from, fc_format *link,
                           dice *d) {
  g->stages[n] = random_stage(op, link, d);
  fc_format out;
  if (is_fit(g, from->context, &out)) {
    *link = out;
    return TRUE;
  }
  g_clear_pointer(&g->stages[n], g_free);
  return FALSE;
}

static void add_if_fit(GPtrArray *stages, const deck *from, const char *text, const fc_format *in) {
  fc_format out;
  graph *g = graph_of(text, in, 1);
  if (is_fit(g, from->context, &out)) g_ptr_array_add(stages, g_strdup(text));
  graph_free(g);
}

static void add_borders(GPtrArray *stages, const deck *from, const fc_operator *op, const char *example,
                        const fc_format *in) {
  for (guint p = 0; p < op->n_params; p++) {
    const fc_param *param = op->params[p];
    if (strcmp(param->name, "border") != 0 || param->type != FC_ENUM) continue;
    for (guint c = 0; param->choices[c]; c++) {
      if (param->choices[c]->value == FC_REFUSED) continue;
      g_autofree char *text = g_strdup_printf("%s:border=%s", example, param->choices[c]->name);
      add_if_fit(stages, from, text, in);
    }
  }
}

GPtrArray *graph_examples(const deck *from, const fc_format *in) {
  GPtrArray *stages = g_ptr_array_new_with_free_func(g_free);
  const fc_operator **decks[] = {from->ops, from->synthetic, from->generators};
  for (guint k = 0; k < G_N_ELEMENTS(decks); k++)
    for (const fc_operator **op = decks[k]; *op; op++)
      for (guint e = 0; (*op)->examples[e]; e++) {
        add_if_fit(stages, from, (*op)->examples[e], in);
        add_borders(stages, from, *op, (*op)->examples[e], in);
      }
  return stages;
}

graph *graph_random(const deck *from, guint most, guint64 seed) {
  dice d = dice_of(seed, "graph", 0);
  static const int of_kinds[] = {FC_AUDIO, FC_AUDIO, FC_AUDIO, FC_IMAGE, FC_IMAGE, FC_ARRAY};
  const fc_format in = random_format(DICE_PICK(&d, of_kinds), &d);
  graph *g = graph_of("", &in, seed);
  const guint n = (guint)dice_int(&d, 1, most);
  g_strfreev(g->stages);
  g->stages = g_new0(char *, n + 1);
  g->precision = dice_chance(&d, 70) ? FC_F32 : FC_F64;
  fc_format link = in;
  guint done = 0;
  const fc_operator *first = dice_chance(&d, 8) ? pick(from->generators, &d) : NULL;
  for (int i = 0; first && done == 0 && i < ATTEMPTS; i++) done += add_random(g, 0, first, from, &link, &d);
  for (int i = 0; done < n && i < ATTEMPTS; i++)
    done += add_random(g, done, random_operator(from, &d), from, &link, &d);
  if (dice_chance(&d, 30)) g->wanted = (int)dice_int(&d, 0, FC_DTYPE_COUNT - 1);
  if (done > 0) return g;
  graph_free(g);
  return NULL;
}

/* ---- making smaller --------------------------------------------------------------------------------------
 */

typedef struct shrinker {
  gboolean (*fails)(const graph *g, void *data);
  void *data;
  guint attempts;
} shrinker;

/* Takes the candidate in place of `best` if it fails too. */
static gboolean is_smaller(shrinker *s, graph **best, graph *candidate) {
  if (s->attempts == 0 || (s->attempts--, !s->fails(candidate, s->data))) {
    graph_free(candidate);
    return FALSE;
  }
  graph_free(*best);
  *best = candidate;
  return TRUE;
}

static gboolean drop_stage(shrinker *s, graph **best) {
  const guint n = g_strv_length((*best)->stages);
  for (guint i = 0; i < n && n > 1; i++) {
    graph *less = graph_copy(*best);
    g_free(less->stages[i]);
    memmove(&less->stages[i], &less->stages[i + 1], (n - i) * sizeof *less->stages);
    if (is_smaller(s, best, less)) return TRUE;
  }
  return FALSE;
}

/* One argument of one stage less. */
static gboolean drop_argument(shrinker *s, graph **best) {
  for (guint i = 0; (*best)->stages[i]; i++) {
    g_autoptr(fc_stage_text) stage = fc_stage_text_parse((*best)->stages[i], NULL);
    for (guint leave = 0; stage && leave < stage->n_args; leave++) {
      GString *text = g_string_new(stage->name);
      for (guint k = 0; k < stage->n_args; k++) {
        const fc_stage_arg *arg = &stage->args[k];
        if (k == leave) continue;
        g_string_append_printf(text, arg->quoted ? ":%s%s'%s'" : ":%s%s%s", arg->key ? arg->key : "",
                               arg->key ? "=" : "", arg->value);
      }
      graph *less = graph_copy(*best);
      g_free(less->stages[i]);
      less->stages[i] = g_string_free(text, FALSE);
      if (is_smaller(s, best, less)) return TRUE;
    }
  }
  return FALSE;
}

static gboolean shorten(shrinker *s, graph **best) {
  for (int a = 0; a < FC_AXES; a++) {
    const gint64 was = (*best)->in.extent[a], tries[] = {1, was / 2, was - was / 8, was - 1};
    for (guint i = 0; i < G_N_ELEMENTS(tries); i++) {
      if (tries[i] >= was || tries[i] < 1) continue;
      graph *less = graph_copy(*best);
      less->in.extent[a] = tries[i];
      if (is_smaller(s, best, less)) return TRUE;
    }
  }
  return FALSE;
}

static gboolean simplify(shrinker *s, graph **best) {
  graph *plain = graph_copy(*best);
  if (plain->wanted < 0 && plain->in.dtype == FC_F32 && plain->precision == FC_F32) {
    graph_free(plain);
    return FALSE;
  }
  plain->wanted = -1, plain->in = format_of(plain->in.kind, FC_F32, plain->in.extent),
  plain->precision = FC_F32;
  return is_smaller(s, best, plain);
}

graph *graph_shrink(const graph *g, gboolean (*fails)(const graph *g, void *data), void *data) {
  shrinker s = {fails, data, 150};
  graph *best = graph_copy(g);
  while (drop_stage(&s, &best) || simplify(&s, &best) || shorten(&s, &best) || drop_argument(&s, &best))
    continue;
  return best;
}
