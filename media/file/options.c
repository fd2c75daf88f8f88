/* SPDX-License-Identifier: MIT */
/* options.c - see options.h. */
#include "media/file/options.h"

#include "core/base/error.h"

#include <string.h>
#include <sys/stat.h>

/* Pairs of key and value; NULL: only the key was given. */
struct fc_given_options {
  GPtrArray *words;
};

/* ---- cutting ------------------------------------------------------------- */

/* The colon in a pattern's {index:06} belongs to it (media/batch/names.h). */
static gboolean is_digits_of_pattern(const char *colon, const char *from) {
  return colon - from >= 6 && (strncmp(colon - 6, "{index", 6) == 0 || strncmp(colon - 6, "{shard", 6) == 0);
}

/* To the next unescaped colon, or the end. */
static char *take_part(const char **at) {
  const char *from = *at;
  GString *part = g_string_new(NULL);
  for (; **at && (**at != ':' || is_digits_of_pattern(*at, from)); (*at)++) {
    if ((*at)[0] == '\\' && (*at)[1] == ':') (*at)++;
    g_string_append_c(part, **at);
  }
  return g_string_free(part, FALSE);
}

/* A quoted value, or part of one. */
static char *take_path(const char **at) {
  const char *close = **at == '\'' ? strchr(*at + 1, '\'') : NULL;
  if (!close || (close[1] && close[1] != ':')) return take_part(at);
  char *path = g_strndup(*at + 1, (gsize)(close - *at - 1));
  *at = close + 1;
  return path;
}

/* The path, and where the options begin. */
static char *split(const char *file, gboolean reading, const char **rest) {
  struct stat status;
  *rest = file + strlen(file);
  if (!strchr(file, ':') || (reading && stat(file, &status) == 0)) return g_strdup(file);
  *rest = file;
  return take_path(rest);
}

static fc_given_options *options_new(void) {
  fc_given_options *options = g_new0(fc_given_options, 1);
  options->words = g_ptr_array_new_with_free_func(g_free);
  return options;
}

void fc_given_options_free(fc_given_options *options) {
  if (!options) return;
  g_ptr_array_unref(options->words);
  g_free(options);
}

static gboolean is_key(const char *word) {
  return *word && strspn(word, "abcdefghijklmnopqrstuvwxyz0123456789-_") == strlen(word);
}

char *fc_given_options_parse(const char *file, gboolean reading, fc_given_options **options, GError **error) {
  const char *at;
  g_autofree char *path = split(file, reading, &at);
  g_autoptr(fc_given_options) given = *at ? options_new() : NULL;
  *options = NULL;
  if (!*path) {
    fc_fail(error, FC_INVALID, "\"%s\": names no file", file);
    return NULL;
  }
  while (*at == ':') {
    at++;
    char *word = take_part(&at), *equals = strchr(word, '=');
    g_ptr_array_add(given->words, word);
    g_ptr_array_add(given->words, equals ? g_strdup(equals + 1) : NULL);
    if (equals) *equals = 0;
    if (is_key(word)) continue;
    if (strstr(file, "://"))
      fc_fail(error, FC_INVALID, "\"%s\" is an address, not a file: %s", file,
              reading ? "download it first, or pipe it in, as in curl -s URL | filterchain -i -"
                      : "pipe the output, -o -, to a program that sends it");
    else
      fc_fail(error, FC_INVALID, "\"%s\": \"%s\" is not an option (a colon in a file's name is written \\:)",
              file, word);
    return NULL;
  }
  *options = g_steal_pointer(&given);
  return g_steal_pointer(&path);
}

char *fc_file_split(const char *file, gboolean reading, char **options) {
  const char *rest;
  char *path = split(file, reading, &rest);
  if (options) *options = g_strdup(rest);
  return path;
}

char *fc_file_join(const char *path, const char *options) {
  GString *file = g_string_new(NULL);
  for (; *path; path++) {
    if (*path == ':') g_string_append_c(file, '\\');
    g_string_append_c(file, *path);
  }
  g_string_append(file, options);
  return g_string_free(file, FALSE);
}

/* ---- checking ------------------------------------------------------------ */

static const fc_file_option *find(const fc_file_option *table, const char *key) {
  for (; table && table->key; table++)
    if (strcmp(table->key, key) == 0) return table;
  return NULL;
}

static gboolean refuse_key(const char *key, const fc_file_option *table, const char *name, const char *title,
                           GError **error) {
  g_autoptr(GString) known = g_string_new(NULL);
  const char *there = !table || !table->key ? "it has none" : table[1].key ? "there are " : "there is ";
  for (; table && table->key; table++)
    g_string_append_printf(known, "%s%s", known->len ? ", " : "", table->key);
  return fc_fail(error, FC_INVALID,
                 "%s: no option \"%s\" of %s: %s%s (a colon in a file's name is written \\:)", name, key,
                 title, there, known->str);
}

static gboolean is_text(const char *values) {
  return !strstr(values, "..") && !strchr(values, '|');
}

/* "1..100" is a range, "a|b" a choice, anything else free text. */
static gboolean is_allowed(const char *values, const char *value) {
  const char *dots = strstr(values, "..");
  if (dots) {
    gint64 number, least = g_ascii_strtoll(values, NULL, 10), most = g_ascii_strtoll(dots + 2, NULL, 10);
    return g_ascii_string_to_signed(value, 10, least, most, &number, NULL);
  }
  if (is_text(values)) return *value != 0;
  g_auto(GStrv) choices = g_strsplit(values, "|", -1);
  return g_strv_contains((const char *const *)choices, value);
}

/* The standard value, or the first choice where that is told in words ("required"). NULL: of a number without
 * a standard value none is more likely than others. */
static char *example_of(const fc_file_option *option) {
  if (is_allowed(option->values, option->standard)) return g_strdup(option->standard);
  const char *end = strchr(option->values, '|');
  return end ? g_strndup(option->values, (gsize)(end - option->values)) : NULL;
}

/* What it must be, and an example if there is one. */
static gboolean refuse_value(const fc_file_option *option, const char *value, const char *name,
                             GError **error) {
  const char *key = option->key, *values = option->values;
  if (value && *value)
    return fc_fail(error, FC_INVALID, "%s: %s: expected %s, found \"%s\"", name, key, values, value);
  if (is_text(values)) return fc_fail(error, FC_INVALID, "%s: %s needs a value: %s", name, key, values);
  const char *what = strchr(values, '|') ? "one of " : "a number ";
  g_autofree char *example = example_of(option);
  return fc_fail(error, FC_INVALID, "%s: %s needs %s%s%s%s%s%s", name, key, what, values,
                 example ? ", as in " : "", example ? key : "", example ? "=" : "", example ? example : "");
}

static const char *value_at(const fc_given_options *options, guint i) {
  const char *value = options->words->pdata[i + 1];
  return value ? value : "yes";
}

gboolean fc_given_options_check(const fc_given_options *options, const fc_file_option *table,
                                const char *name, const char *title, GError **error) {
  for (guint i = 0; options && i < options->words->len; i += 2) {
    const char *key = options->words->pdata[i], *value = value_at(options, i);
    const fc_file_option *option = find(table, key);
    if (!option) return refuse_key(key, table, name, title, error);
    for (guint k = 0; k < i; k += 2)
      if (strcmp(options->words->pdata[k], key) == 0)
        return fc_fail(error, FC_INVALID, "%s: %s is given twice", name, key);
    const char *given = options->words->pdata[i + 1];
    if (!is_allowed(option->values, given                     ? given
                                    : is_text(option->values) ? ""
                                                              : "yes") &&
        strcmp(value, option->standard) != 0)
      return refuse_value(option, given, name, error);
  }
  return TRUE;
}

/* ---- asking ---------------------------------------------------------------- */

const char *fc_option_text(const fc_given_options *options, const fc_file_option *table, const char *key) {
  const fc_file_option *option = find(table, key);
  const char *value = option ? option->standard : NULL;
  for (guint i = 0; option && options && i < options->words->len; i += 2)
    if (strcmp(options->words->pdata[i], key) == 0) value = value_at(options, i);
  return value;
}

gint64 fc_option_number(const fc_given_options *options, const fc_file_option *table, const char *key) {
  const char *value = fc_option_text(options, table, key);
  return value ? g_ascii_strtoll(value, NULL, 10) : 0;
}

gboolean fc_option_is_set(const fc_given_options *options, const fc_file_option *table, const char *key) {
  return g_strcmp0(fc_option_text(options, table, key), "yes") == 0;
}
