/* SPDX-License-Identifier: MIT */
/*
 * stage.c - see stage.h. Numbers are chosen at the ends of their range, near the preset and between, but not
 * so large that a case takes too long; tables are single taps, rows, columns, squares and rectangles, with
 * integer, fractional, single non-zero and separable contents.
 */
#include "check/stage.h"

#include "core/registry/table.h"

#include <math.h>
#include <string.h>

/* ---- numbers ------------------------------------------------------------------ */

/* Larger values are not tried. */
#define MOST_INT   300
#define MOST_FLOAT 1e6

static gboolean has_limit(const fc_param *p, guint which) {
  return p->limits && p->limits->flags & which;
}

static double least(const fc_param *p, double otherwise) {
  if (!has_limit(p, FC_LIMIT_MIN)) return otherwise;
  return p->type == FC_INT ? (double)p->limits->int_min : p->limits->min;
}

static double most(const fc_param *p, double otherwise) {
  if (!has_limit(p, FC_LIMIT_MAX)) return otherwise;
  return p->type == FC_INT ? (double)p->limits->int_max : p->limits->max;
}

static double preset_number(const fc_param *p, double otherwise) {
  return p->preset && g_ascii_isdigit(p->preset[p->preset[0] == '-']) ? g_ascii_strtod(p->preset, NULL)
                                                                      : otherwise;
}

static char *random_int(const fc_param *p, const gint64 shape[FC_AXES], dice *d) {
  gint64 low = (gint64)MAX(least(p, -8), -MOST_INT);
  gint64 high = (gint64)MIN(most(p, MAX((double)low + 1, 40)), MAX((double)low + 1, MOST_INT));
  gint64 near = (gint64)preset_number(p, (double)low), value;
  switch (dice_int(d, 0, 5)) {
  case 0: value = low + dice_int(d, 0, 2); break;
  case 1: value = near + dice_int(d, -2, 2); break;
  case 2: value = shape[dice_int(d, FC_AXIS_Y, FC_AXIS_C)] + dice_int(d, -1, 1); break;
  case 3: value = (gint64)1 << dice_int(d, 0, 6); break;
  default: value = low + dice_int(d, 0, MIN(high - low, 20)); break;
  }
  return g_strdup_printf("%" G_GINT64_FORMAT, CLAMP(value, low, high));
}

static char *show_float(double value) {
  char buffer[G_ASCII_DTOSTR_BUF_SIZE];
  return g_strdup(g_ascii_formatd(buffer, sizeof buffer, "%.9g", value));
}

static char *random_float(const fc_param *p, dice *d) {
  double low = MAX(least(p, -4), -MOST_FLOAT), high = MIN(most(p, MAX(low + 1, 4)), MOST_FLOAT);
  double near = preset_number(p, (low + high) / 2), value;
  if (p->flags & FC_PARAM_DECIBEL && dice_chance(d, 30))
    return g_strdup_printf("%ddB", (int)dice_int(d, -40, 6));
  switch (dice_int(d, 0, 4)) {
  case 0: value = near * dice_real(d, 0.5, 2); break;
  case 1: value = near + dice_real(d, -1, 1); break;
  case 2: value = floor(dice_real(d, MAX(low, -9), MIN(high, 9))); break;
  default: value = dice_real(d, MAX(low, -300), MIN(high, 300)); break;
  }
  return show_float(CLAMP(value, low, high));
}

/* ---- tables ------------------------------------------------------------------- */

static gint64 table_side(const gint64 shape[FC_AXES], dice *d) {
  static const gint64 sides[] = {1, 1, 2, 3, 3, 4, 5, 5, 6, 7, 8, 9, 11, 16};
  gint64 channels = shape[FC_AXIS_C];
  if (dice_chance(d, 35) && channels >= 1 && channels <= 16) return channels;
  return DICE_PICK(d, sides);
}

static void table_shape(const gint64 shape[FC_AXES], dice *d, gint64 *rows, gint64 *cols) {
  static const gint64 lengths[] = {1, 2, 3, 3, 5, 8, 13, 31, 64, 129, 150, 300};
  *rows = table_side(shape, d), *cols = table_side(shape, d);
  switch (dice_int(d, 0, 4)) {
  case 0: *rows = 1; break;
  case 1: *rows = 1, *cols = DICE_PICK(d, lengths); break;
  case 2: *cols = *rows; break;
  case 3: *rows = DICE_PICK(d, lengths), *cols = dice_chance(d, 50) ? 1 : shape[FC_AXIS_C]; break;
  default: break;
  }
  if (*cols < 1 || *rows * *cols > 1200) *rows = *cols = 3;
}

/* Contents that are difficult: sums that cancel, a single tap, separable, all positive. */
static void table_fill(double *to, gint64 rows, gint64 cols, dice *d) {
  int how = (int)dice_int(d, 0, 5);
  double *across = g_new(double, cols), down = 1;
  gint64 only = dice_int(d, 0, rows * cols - 1);
  for (gint64 c = 0; c < cols; c++) across[c] = dice_real(d, -1, 1);
  for (gint64 i = 0; i < rows * cols; i++) {
    if (i % cols == 0) down = dice_real(d, -1, 1);
    switch (how) {
    case 0: to[i] = (double)dice_int(d, -3, 3); break;
    case 1: to[i] = (double)dice_int(d, 1, 4) / (double)(2 * rows * cols); break;
    case 2: to[i] = i == only; break;
    case 3: to[i] = across[i % cols] * down; break;
    default: to[i] = dice_real(d, -1, 1); break;
    }
  }
  g_free(across);
}

static char *random_table(const gint64 shape[FC_AXES], dice *d) {
  gint64 rows, cols;
  table_shape(shape, d, &rows, &cols);
  double *values = g_new(double, rows *cols);
  GString *text = g_string_new("[");
  table_fill(values, rows, cols, d);
  for (gint64 i = 0; i < rows * cols; i++) {
    char *number = show_float(values[i]);
    g_string_append_printf(text, "%s%s", i == 0 ? "" : i % cols ? "," : ";", number);
    g_free(number);
  }
  g_free(values);
  return g_string_free(g_string_append(text, "]"), FALSE);
}

static fc_table *load_table(const char *path, gboolean mask, void *data, GError **error) {
  static const gint64 shape[FC_AXES] = {1, 3, 3, 3};
  g_autofree char *text = random_table(shape, data);
  return fc_table_parse_inline(text, mask, error);
}

fc_table *stage_table(const fc_param *p, dice *d) {
  return load_table("", (p->flags & FC_PARAM_MASK) != 0, d, NULL);
}

/* ---- values ------------------------------------------------------------------- */

/* The accepted choices; NULL after the last. g_free. */
static const char **choices_of(const fc_param *p) {
  GPtrArray *names = g_ptr_array_new();
  for (guint i = 0; p->choices && p->choices[i]; i++)
    if (p->choices[i]->value != FC_REFUSED) g_ptr_array_add(names, (gpointer)p->choices[i]->name);
  g_ptr_array_add(names, NULL);
  return (const char **)g_ptr_array_free(names, FALSE);
}

static char *random_choice(const fc_param *p, dice *d) {
  g_autofree const char **names = choices_of(p);
  guint n = g_strv_length((char **)names);
  return n ? g_strdup(names[dice_int(d, 0, n - 1)]) : NULL;
}

static char *random_word(const fc_param *p, const gint64 shape[FC_AXES], dice *d) {
  switch (p->type) {
  case FC_BOOL: return g_strdup(dice_chance(d, 50) ? "yes" : "no");
  case FC_INT: return random_int(p, shape, d);
  case FC_FLOAT: return random_float(p, d);
  case FC_ENUM: return random_choice(p, d);
  case FC_TABLE: return random_table(shape, d);
  case FC_INPUT: return g_strdup("other"); /* its signal is generated */
  default: return p->preset ? g_strdup(p->preset) : NULL;
  }
}

/* A list often has one entry per channel, or is a size: WxH. */
static char *random_value(const fc_param *p, const gint64 shape[FC_AXES], dice *d) {
  if (!(p->flags & FC_PARAM_LIST)) return random_word(p, shape, d);
  static const gint64 counts[] = {1, 1, 2, 2, 3, 4};
  gint64 n = dice_chance(d, 40) && shape[FC_AXIS_C] <= 16 ? MAX(shape[FC_AXIS_C], 1) : DICE_PICK(d, counts);
  if (p->max_count) n = MIN(n, p->max_count);
  const char *glue = p->type != FC_ENUM && p->type != FC_BOOL && n == 2 && dice_chance(d, 50) ? "x" : ",";
  GString *text = g_string_new(NULL);
  for (gint64 i = 0; i < n; i++) {
    g_autofree char *word = random_word(p, shape, d);
    g_string_append_printf(text, "%s%s", i ? glue : "", word ? word : "");
  }
  return g_string_free(text, FALSE);
}

/* ---- wishes ------------------------------------------------------------------- */

static void free_wish(gpointer data) {
  wish *w = data;
  g_free(w->text);
  g_free(w->value);
  g_free(w);
}

static void wish_for(GPtrArray *wishes, int param, const char *value) {
  wish *w = g_new0(wish, 1);
  w->param = param;
  w->value = g_strdup(value);
  g_ptr_array_add(wishes, w);
}

static void wish_number(GPtrArray *wishes, int param, double value, double largest) {
  if (!(fabs(value) <= largest)) return;
  g_autofree char *text = show_float(value);
  wish_for(wishes, param, text);
}

static void wish_param(GPtrArray *wishes, const fc_param *p, int param) {
  g_autofree const char **names = choices_of(p);
  if (p->preset) wish_for(wishes, param, p->preset);
  for (guint i = 0; names[i]; i++) wish_for(wishes, param, names[i]);
  if (p->type == FC_BOOL) wish_for(wishes, param, "yes"), wish_for(wishes, param, "no");
  if (p->type != FC_INT && p->type != FC_FLOAT) return;
  double largest = p->type == FC_INT ? MOST_INT : MOST_FLOAT;
  wish_number(wishes, param, least(p, NAN), largest);
  wish_number(wishes, param, most(p, NAN), largest);
}

GPtrArray *wishes_of(const fc_operator *op) {
  GPtrArray *wishes = g_ptr_array_new_with_free_func(free_wish);
  for (guint i = 0; op->examples[i]; i++) {
    wish_for(wishes, -1, NULL);
    ((wish *)g_ptr_array_index(wishes, i))->text = g_strdup(op->examples[i]);
  }
  wish_for(wishes, -1, NULL);
  for (guint i = 0; i < op->n_params; i++) wish_param(wishes, op->params[i], (int)i);
  return wishes;
}

/* ---- stages ------------------------------------------------------------------- */

/* This parameter's value in one of the examples, or NULL. */
static char *example_value(const fc_operator *op, const fc_param *p, dice *d) {
  GPtrArray *values = g_ptr_array_new_with_free_func(g_free);
  for (guint i = 0; op->examples[i]; i++) {
    g_autoptr(fc_stage_text) stage = fc_stage_text_parse(op->examples[i], NULL);
    for (guint j = 0; stage && j < stage->n_args; j++) {
      const fc_stage_arg *arg = &stage->args[j];
      if (arg->key ? strcmp(arg->key, p->name) == 0 : (p->flags & FC_PARAM_MAIN) != 0)
        g_ptr_array_add(values, g_strdup(arg->value));
    }
  }
  char *one = values->len
                  ? g_strdup(g_ptr_array_index(values, (guint)dice_int(d, 0, (gint64)values->len - 1)))
                  : NULL;
  g_ptr_array_free(values, TRUE);
  return one;
}

/* Quoted, since any other value may contain special characters. */
static void append_arg(GString *text, const fc_param *p, const char *value) {
  gboolean plain = p->type == FC_TABLE && value[0] == '[';
  g_string_append_printf(text, plain ? ":%s=%s" : ":%s='%s'", p->name, value);
}

char *stage_random(const fc_operator *op, const wish *w, const gint64 shape[FC_AXES], dice *d) {
  if (w->text) return g_strdup(w->text);
  GString *text = g_string_new(op->name);
  int busy = (int)dice_int(d, 10, 70);
  for (guint i = 0; i < op->n_params; i++) {
    const fc_param *p = op->params[i];
    gboolean wished = w->param == (int)i;
    if (!wished && !(p->flags & FC_PARAM_REQUIRED) && !dice_chance(d, busy)) continue;
    char *value = wished                                       ? g_strdup(w->value)
                  : p->type == FC_STRING || dice_chance(d, 15) ? example_value(op, p, d)
                                                               : NULL;
    if (!value) value = random_value(p, shape, d);
    if (value) append_arg(text, p, value);
    g_free(value);
  }
  return g_string_free(text, FALSE);
}

fc_args *stage_args(const fc_operator *op, const char *text, dice *d, GError **error) {
  g_autoptr(fc_stage_text) stage = fc_stage_text_parse(text, error);
  return stage ? fc_args_resolve(op, stage, load_table, d, error) : NULL;
}
