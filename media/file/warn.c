/* SPDX-License-Identifier: MIT */
/*
 * warn.c - warnings of media/, and the list of what an output leaves out.
 */
#include "media/file/warn.h"

#include <stdarg.h>
#include <string.h>

static void log_line(const fc_media_options *options, fc_log_level level, const char *format,
                     va_list values) {
  if (!options->log) return;
  g_autofree char *message = g_strdup_vprintf(format, values);
  options->log(level, message, options->log_data);
}

void fc_media_warn(const fc_media_options *options, const char *format, ...) {
  va_list values;
  va_start(values, format);
  log_line(options, FC_LOG_WARNING, format, values);
  va_end(values);
}

void fc_media_note(const fc_media_options *options, const char *format, ...) {
  va_list values;
  va_start(values, format);
  log_line(options, FC_LOG_INFO, format, values);
  va_end(values);
}

gboolean fc_media_judge(const fc_media_options *options, const char *name, const char *fault,
                        GError **error) {
  if (!options->allow_truncated) return fc_fail(error, FC_IO, "%s: %s" FC_MEDIA_ADVICE, name, fault);
  fc_media_warn(options, "%s: %s; the readable part is used", name, fault);
  return TRUE;
}

/* Whether the list contains the whole word: APP1 is not in a list of APP13. */
static gboolean has_word(const GString *words, const char *word) {
  gsize length = strlen(word);
  for (const char *at = words->str; (at = strstr(at, word)); at++) {
    gboolean begins = at == words->str || (at >= words->str + 2 && at[-2] == ',' && at[-1] == ' ');
    if (begins && (!at[length] || at[length] == ',')) return TRUE;
  }
  return FALSE;
}

/* Files can have millions of names, and each would be compared with all others. */
void fc_media_add_word(GString *words, const char *word) {
  enum { ENOUGH = 2000 };
  if (!*word || has_word(words, word)) return;
  if (words->len > ENOUGH) word = "and more";
  if (words->len > ENOUGH && has_word(words, word)) return;
  g_string_append_printf(words, "%s%s", words->len ? ", " : "", word);
}
