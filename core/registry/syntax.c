/* SPDX-License-Identifier: MIT */
/*
 * syntax.c - see syntax.h. One pass over the bytes; every special character is
 * ASCII, so UTF-8 and any other encoding of file names pass through untouched.
 */
#include "core/registry/syntax.h"

#include "core/base/error.h"
#include "core/registry/table.h"
#include "core/registry/units.h"

#include <string.h>

typedef struct cursor {
  const char *text, *at;
  const char
      *backslash; /* one before a closing quote: probably meant to escape it, if a quote is left open */
} cursor;

/* In characters: continuation bytes of UTF-8 are not counted. */
static guint column_of(const cursor *c, const char *at) {
  guint column = 1;
  for (const char *p = c->text; p < at; p++) column += ((guchar)*p & 0xc0) != 0x80;
  return column;
}

static gboolean fail_at(const cursor *c, const char *at, const char *what, GError **error) {
  g_autofree char *shown = fc_quote_for_message(c->text, strlen(c->text));
  fc_fail(error, FC_INVALID, "%s: column %u: %s", shown, column_of(c, at), what);
  return FALSE;
}

static gboolean is_key_start(char c) {
  return g_ascii_isalpha(c) || c == '_';
}

/* At "key=": takes it and returns the key, else NULL and nothing is taken. */
static char *take_key(cursor *c) {
  const char *p = c->at;
  if (!is_key_start(*p)) return NULL;
  while (is_key_start(*p) || g_ascii_isdigit(*p) || *p == '-') p++;
  if (*p != '=') return NULL;
  char *key = g_strndup(c->at, (gsize)(p - c->at));
  c->at = p + 1;
  return key;
}

/* The character that a backslash escapes, or 0 where the backslash is literal. */
static char escaped(const char *backslash) {
  return backslash[1] && strchr(":\\',[]=", backslash[1]) ? backslash[1] : 0;
}

/* '...' as it stands. */
static gboolean take_quoted(cursor *c, GString *value, GError **error) {
  const char *close = strchr(c->at + 1, '\'');
  if (!close && c->backslash)
    return fail_at(c, c->backslash,
                   "within quotes a backslash is an ordinary character: write \\' outside of them", error);
  if (!close) return fail_at(c, c->at, "the quote is not closed (write \\' for an apostrophe)", error);
  if (close[-1] == '\\' && !c->backslash) c->backslash = close - 1;
  g_string_append_len(value, c->at + 1, close - c->at - 1);
  c->at = close + 1;
  return TRUE;
}

/* Updates the bracket depth at a character that is not quoted or escaped. */
static gboolean track_brackets(cursor *c, guint *depth, const char **open, GError **error) {
  if (*c->at == '[' && (*depth)++ == 0) *open = c->at;
  if (*c->at == ']' && (*depth)-- == 0) return fail_at(c, c->at, "\"]\" without \"[\" before it", error);
  return TRUE;
}

/* Up to the ':' that ends the argument, or the end of the text. */
static gboolean take_value(cursor *c, GString *value, gboolean *quoted, GError **error) {
  const char *open = NULL;
  guint depth = 0;
  gsize clock = fc_clock_length(c->at);
  g_string_append_len(value, c->at, (gssize)clock);
  c->at += clock;
  while (*c->at && (depth > 0 || *c->at != ':')) {
    if (*c->at == '\'') {
      *quoted = TRUE;
      if (!take_quoted(c, value, error)) return FALSE;
    } else if (*c->at == '\\' && escaped(c->at)) {
      *quoted = TRUE;
      g_string_append_c(value, escaped(c->at));
      c->at += 2;
    } else if (*c->at == '\\' && !c->at[1]) {
      return fail_at(c, c->at, "nothing follows the backslash", error);
    } else {
      if (!track_brackets(c, &depth, &open, error)) return FALSE;
      g_string_append_c(value, *c->at++);
    }
  }
  return depth == 0 || fail_at(c, open, "\"[\" is not closed", error);
}

static gboolean take_arg(cursor *c, fc_stage_arg *arg, GError **error) {
  GString *value = g_string_new(NULL);
  arg->column = column_of(c, c->at);
  arg->key = take_key(c);
  const char *start = c->at;
  gboolean ok = take_value(c, value, &arg->quoted, error);
  arg->value = g_string_free(value, FALSE);
  if (!ok) return FALSE;
  if (*arg->value || arg->quoted) return TRUE;
  return fail_at(c, start, arg->key ? "a value is missing after \"=\"" : "an argument is missing", error);
}

void fc_stage_arg_clear(fc_stage_arg *arg) {
  g_free(arg->key);
  g_free(arg->value);
  *arg = (fc_stage_arg){0};
}

static void clear_arg(gpointer arg) {
  fc_stage_arg_clear(arg);
}

static gboolean take_args(cursor *c, GArray *args, GError **error) {
  while (*c->at == ':') {
    fc_stage_arg arg = {0};
    c->at++;
    if (!take_arg(c, &arg, error)) {
      fc_stage_arg_clear(&arg);
      return FALSE;
    }
    g_array_append_val(args, arg);
  }
  return TRUE;
}

fc_stage_text *fc_stage_text_parse(const char *text, GError **error) {
  cursor c = {text, text, NULL};
  gsize length = strcspn(text, ":");
  if (length == 0) {
    if (*text)
      fail_at(&c, text, "an operator's name is missing", error);
    else
      fc_fail(error, FC_INVALID, "an operator's name is missing: the stage is empty");
    return NULL;
  }
  c.at = text + length;
  GArray *args = g_array_new(FALSE, FALSE, sizeof(fc_stage_arg));
  g_array_set_clear_func(args, clear_arg);
  if (!take_args(&c, args, error)) {
    g_array_free(args, TRUE);
    return NULL;
  }
  fc_stage_text *stage = g_new0(fc_stage_text, 1);
  stage->text = g_strdup(text);
  stage->name = g_strndup(text, length);
  stage->n_args = args->len;
  stage->args = (fc_stage_arg *)(gpointer)g_array_free(args, FALSE);
  return stage;
}

void fc_stage_text_free(fc_stage_text *stage) {
  if (!stage) return;
  for (guint i = 0; i < stage->n_args; i++) fc_stage_arg_clear(&stage->args[i]);
  g_free(stage->args);
  g_free(stage->text);
  g_free(stage->name);
  g_free(stage);
}

gboolean fc_stage_value_parse(const char *text, fc_stage_arg *arg, GError **error) {
  cursor c = {text, text, NULL};
  GString *value = g_string_new(NULL);
  *arg = (fc_stage_arg){.column = 1};
  gboolean ok = take_value(&c, value, &arg->quoted, error);
  arg->value = g_string_free(value, FALSE);
  if (ok && !*c.at) return TRUE;
  if (ok) fail_at(&c, c.at, "\":\" must be quoted", error);
  fc_stage_arg_clear(arg);
  return FALSE;
}
