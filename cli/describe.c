/* SPDX-License-Identifier: MIT */
#include "cli/describe.h"

#include <stdio.h>

/* Of a terminal; and where the texts of a list begin. */
enum { HELP_WIDTH = 80, HELP_COLUMN = 31 };

const char *kind_name(int kind) {
  static const char *const names[FC_KIND_COUNT] = {"audio", "image", "array"};
  return kind >= 0 && kind < FC_KIND_COUNT ? names[kind] : "?";
}

const char *type_name(int type) {
  static const char *const names[] = {"bool", "int", "float", "enum", "string", "table", "input", "path"};
  return type >= 0 && type < (int)G_N_ELEMENTS(names) ? names[type] : "?";
}

static const char *backend_name(guint32 device_kind) {
  return device_kind == FC_KIND_HOST ? "cpu" : device_kind == FC_KIND_CUDA ? "cuda" : "?";
}

/* The names of the bits in a set; the strings are static. */
static GPtrArray *names_of(guint32 set, int count, const char *(*name)(int)) {
  GPtrArray *names = g_ptr_array_new();
  for (int i = 0; i < count; i++)
    if (set >> i & 1u) g_ptr_array_add(names, (gpointer)name(i));
  return names;
}

static GPtrArray *backends_of(const fc_operator *op) {
  GPtrArray *names = g_ptr_array_new();
  for (const fc_backend *const *b = op->backends; *b; b++)
    g_ptr_array_add(names, (gpointer)backend_name((*b)->device_kind));
  if (fc_has_cuda() && !fc_backend_for(op, FC_KIND_CUDA) && op->extension &&
      op->extension(op, FC_DEVICE_FUNCTION))
    g_ptr_array_add(names, (gpointer) "cuda (composed)"); /* through its device function */
  return names;
}

/* These two take ownership of the array. */
static char *joined(GPtrArray *names) {
  g_ptr_array_add(names, NULL);
  char *text = g_strjoinv(", ", (char **)names->pdata);
  g_ptr_array_unref(names);
  return text;
}

static void json_names(json *j, const char *key, GPtrArray *names) {
  json_open(j, key, '[');
  for (guint i = 0; i < names->len; i++) json_string(j, NULL, g_ptr_array_index(names, i));
  json_close(j, ']');
  g_ptr_array_unref(names);
}

char *kinds_text(guint32 kinds) {
  return joined(names_of(kinds, FC_KIND_COUNT, kind_name));
}

char *dtypes_text(guint32 dtypes) {
  return joined(names_of(dtypes, FC_DTYPE_COUNT, fc_dtype_name));
}

char *backends_text(const fc_operator *op) {
  return joined(backends_of(op));
}

void json_kinds(json *j, const char *key, guint32 kinds) {
  json_names(j, key, names_of(kinds, FC_KIND_COUNT, kind_name));
}

void json_dtypes(json *j, const char *key, guint32 dtypes) {
  json_names(j, key, names_of(dtypes, FC_DTYPE_COUNT, fc_dtype_name));
}

void json_backends(json *j, const char *key, const fc_operator *op) {
  json_names(j, key, backends_of(op));
}

const fc_choice *choice_at(const fc_param *param, guint i, gboolean refused) {
  if (param->type != FC_ENUM || !param->choices) return NULL;
  for (const fc_choice *const *c = param->choices; *c; c++)
    if (((*c)->value == FC_REFUSED) == refused && i-- == 0) return *c;
  return NULL;
}

gboolean operator_measures(const fc_operator *op) {
  return op->collect && op->report;
}

void print_filled(const char *text, int indent, int column) {
  g_auto(GStrv) words = g_strsplit_set(text, " \n", -1);
  for (char **word = words; *word; word++) {
    if (!**word) continue;
    int length = (int)g_utf8_strlen(*word, -1);
    if (column > indent && column + 1 + length > HELP_WIDTH) {
      putchar('\n');
      column = 0;
    }
    if (column < indent)
      column += printf("%*s", indent - column, "");
    else if (column > indent)
      column += printf(" ");
    fputs(*word, stdout);
    column += length;
  }
  putchar('\n');
}

void print_term(const char *term, const char *text) {
  const int length = printf("  %s", term);
  if (length >= HELP_COLUMN) putchar('\n');
  print_filled(text, HELP_COLUMN, length < HELP_COLUMN ? length : 0);
}
