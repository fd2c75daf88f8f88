/* SPDX-License-Identifier: MIT */
#include "cli/json.h"

#include <math.h>
#include <string.h>

json json_begin(gboolean compact) {
  json j = {g_string_new(NULL), 0, compact, TRUE};
  return j;
}

char *json_end(json *j) {
  g_string_append_c(j->text, '\n');
  return g_string_free(j->text, FALSE);
}

static void new_line(json *j) {
  if (j->compact) return;
  g_string_append_c(j->text, '\n');
  for (int i = 0; i < j->depth; i++) g_string_append(j->text, "  ");
}

static void append_escaped(GString *to, const char *text) {
  g_autofree char *valid = g_utf8_make_valid(text, -1);
  g_string_append_c(to, '"');
  for (const char *c = valid; *c; c++) {
    switch (*c) {
    case '"': g_string_append(to, "\\\""); break;
    case '\\': g_string_append(to, "\\\\"); break;
    case '\n': g_string_append(to, "\\n"); break;
    case '\t': g_string_append(to, "\\t"); break;
    default:
      if ((guchar)*c < ' ' || *c == 127)
        g_string_append_printf(to, "\\u%04x", (guchar)*c);
      else
        g_string_append_c(to, *c);
    }
  }
  g_string_append_c(to, '"');
}

/* Writes what precedes a value: a comma after the previous one, and its name. */
static void lead(json *j, const char *key) {
  if (!j->first) g_string_append_c(j->text, ',');
  if (j->depth > 0) new_line(j);
  j->first = FALSE;
  if (!key) return;
  append_escaped(j->text, key);
  g_string_append(j->text, j->compact ? ":" : ": ");
}

void json_open(json *j, const char *key, char bracket) {
  lead(j, key);
  g_string_append_c(j->text, bracket);
  j->depth++;
  j->first = TRUE;
}

void json_close(json *j, char bracket) {
  j->depth--;
  if (!j->first) new_line(j);
  g_string_append_c(j->text, bracket);
  j->first = FALSE;
}

void json_string(json *j, const char *key, const char *value) {
  if (!value) {
    json_null(j, key);
    return;
  }
  lead(j, key);
  append_escaped(j->text, value);
}

void json_path(json *j, const char *key, const char *path) {
  json_string(j, key, path);
  if (!path || g_utf8_validate(path, -1, NULL)) return;
  g_autofree char *name = g_strconcat(key, "_base64", NULL),
                  *bytes = g_base64_encode((const guchar *)path, strlen(path));
  json_string(j, name, bytes);
}

void json_int(json *j, const char *key, gint64 value) {
  lead(j, key);
  g_string_append_printf(j->text, "%" G_GINT64_FORMAT, value);
}

void json_number(json *j, const char *key, double value) {
  if (!isfinite(value)) {
    json_string(j, key, isnan(value) ? "nan" : value > 0 ? "inf" : "-inf");
    return;
  }
  char digits[G_ASCII_DTOSTR_BUF_SIZE];
  lead(j, key);
  g_string_append(j->text, g_ascii_dtostr(digits, sizeof digits, value));
}

void json_bool(json *j, const char *key, gboolean value) {
  lead(j, key);
  g_string_append(j->text, value ? "true" : "false");
}

void json_null(json *j, const char *key) {
  lead(j, key);
  g_string_append(j->text, "null");
}
