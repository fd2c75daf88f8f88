/* SPDX-License-Identifier: MIT */
/* names.c - see names.h. */
#include "media/batch/names.h"

#include "media/file/formats.h"

#include <string.h>

#define DIGITS_MOST 18

static const char *const words[] = {"name", "stem", "ext", "dir", "index", "shard", NULL};

/* A {word:digits} at a brace: returns its end (after the closing brace), or NULL if it is not one: then
 * braces are part of the name. */
static const char *word_at(const char *at, char **word, char **digits) {
  const char *close = *at == '{' ? strchr(at, '}') : NULL;
  const gsize letters = strspn(at + 1, "abcdefghijklmnopqrstuvwxyz");
  if (!close || !letters || (at[1 + letters] != '}' && at[1 + letters] != ':')) return NULL;
  *word = g_strndup(at + 1, letters);
  *digits = at[1 + letters] == ':' ? g_strndup(at + 2 + letters, (gsize)(close - at) - 2 - letters) : NULL;
  return close + 1;
}

static gboolean is_number(const char *word) {
  return strcmp(word, "index") == 0 || strcmp(word, "shard") == 0;
}

gboolean fc_pattern_check(const char *pattern, GError **error) {
  for (const char *at = pattern; *at; at++) {
    g_autofree char *word = NULL, *digits = NULL;
    if (!word_at(at, &word, &digits)) continue;
    if (!g_strv_contains(words, word))
      return fc_fail(error, FC_INVALID,
                     "%s: there is no {%s}: there are {name}, {stem}, {ext}, {dir}, {index} and {shard}",
                     pattern, word);
    if (!digits) continue;
    const gboolean good = strlen(digits) && strlen(digits) <= 3 &&
                          strspn(digits, "0123456789") == strlen(digits) &&
                          g_ascii_strtoll(digits, NULL, 10) <= DIGITS_MOST;
    if (!is_number(word) || !good)
      return fc_fail(error, FC_INVALID,
                     "%s: {%s:%s}: expected {index:N} or {shard:N} with N at most %d, as in {index:06}",
                     pattern, word, digits, DIGITS_MOST);
  }
  return TRUE;
}

gboolean fc_pattern_has(const char *pattern, const char *wanted) {
  for (const char *at = pattern; (at = strchr(at, '{')); at++) {
    g_autofree char *word = NULL, *digits = NULL;
    if (word_at(at, &word, &digits) && (wanted ? strcmp(word, wanted) == 0 : g_strv_contains(words, word)))
      return TRUE;
  }
  return FALSE;
}

gboolean fc_pattern_is(const char *text) {
  return fc_pattern_has(text, NULL);
}

char *fc_pattern_folder(const char *pattern) {
  const char *first = pattern, *end = pattern;
  g_autofree char *word = NULL, *digits = NULL;
  while (*first && !word_at(first, &word, &digits)) first++;
  for (const char *at = pattern; at < first; at++)
    if (*at == '/') end = at + 1;
  return g_strndup(pattern, (gsize)(end - pattern));
}

/* Removes parts that would lead out of the output folder. */
static char *folder_of(const fc_named *named) {
  const char *from = named->path + named->root, *end = strrchr(from, '/');
  g_autofree char *text = g_strndup(from, end ? (gsize)(end - from) : 0);
  g_auto(GStrv) parts = g_strsplit(text, "/", -1);
  g_autoptr(GString) kept = g_string_new(NULL);
  for (guint i = 0; parts[i]; i++)
    if (*parts[i] && strcmp(parts[i], ".") != 0 && strcmp(parts[i], "..") != 0)
      g_string_append_printf(kept, "%s%s", kept->len ? "/" : "", parts[i]);
  return g_strdup(kept->str);
}

/* A name that would lead out of its folder is replaced. */
static char *safe(char *name) {
  if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0) memset(name, '_', strlen(name));
  return name;
}

static char *value_of(const char *word, const char *digits, const fc_named *named) {
  if (is_number(word))
    return g_strdup_printf("%0*" G_GINT64_FORMAT, digits ? (int)g_ascii_strtoll(digits, NULL, 10) : 1,
                           strcmp(word, "index") == 0 ? named->index : named->shard);
  if (strcmp(word, "dir") == 0) return folder_of(named);
  const char *slash = strrchr(named->path, '/'), *name = slash ? slash + 1 : named->path;
  const char *dot = strrchr(name, '.');
  if (strcmp(word, "name") == 0) return safe(g_strdup(name));
  if (strcmp(word, "ext") == 0) return g_strdup(dot && dot != name ? dot + 1 : "");
  return safe(dot && dot != name ? g_strndup(name, (gsize)(dot - name)) : g_strdup(name));
}

char *fc_pattern_fill(const char *pattern, const fc_named *named) {
  GString *filled = g_string_new(NULL);
  for (const char *at = pattern; *at;) {
    g_autofree char *word = NULL, *digits = NULL;
    const char *end = word_at(at, &word, &digits);
    const gboolean known = end && g_strv_contains(words, word) && (named->path || strcmp(word, "shard") == 0);
    if (!known) {
      g_string_append_c(filled, *at++);
      continue;
    }
    g_autofree char *value = value_of(word, digits, named);
    g_string_append(filled, value);
    at = end;
    if (!*value && *at == '/') at++;
  }
  return g_string_free(filled, FALSE);
}
