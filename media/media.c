/* SPDX-License-Identifier: MIT */
/*
 * media.c - opening an input, preparing an output: the format is found, and its part
 * of media/ asked.
 */
#include "media/media.h"

#include "media/internal.h"
#include "media/output.h"

#include <stdarg.h>
#include <string.h>

static const fc_media_options no_options;

void fc_media_warn(const fc_media_options *options, const char *format, ...) {
  if (!options->log) return;
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  options->log(FC_LOG_WARNING, message, options->log_data);
}

/* Whether it is one of them, and not a piece of one: APP1 is none of APP13. */
static gboolean has_word(const GString *words, const char *word) {
  gsize length = strlen(word);
  for (const char *at = words->str; (at = strstr(at, word)); at++) {
    gboolean begins = at == words->str || (at >= words->str + 2 && at[-2] == ',' && at[-1] == ' ');
    if (begins && (!at[length] || at[length] == ',')) return TRUE;
  }
  return FALSE;
}

/* Files can have millions of names, and each would be looked for in all the others. */
void fc_media_add_word(GString *words, const char *word) {
  enum { ENOUGH = 2000 };
  if (!*word || has_word(words, word)) return;
  if (words->len > ENOUGH) word = "and more";
  if (words->len > ENOUGH && has_word(words, word)) return;
  g_string_append_printf(words, "%s%s", words->len ? ", " : "", word);
}

void fc_media_warn_lost(const fc_media_options *options, const char *name, const char *title,
                        const GString *lost) {
  if (lost->len)
    fc_media_warn(options, "%s: %s has no place for what else is in the input, and it is left out: %s", name,
                  title, lost->str);
}

fc_source *fc_media_open(const char *path, const fc_media_options *options, GError **error) {
  if (!options) options = &no_options;
  g_autoptr(fc_input) input = fc_input_open(path, error);
  if (!input) return NULL;
  const fc_file_format *format = fc_probe_input(input, options, error);
  if (!format) return NULL;
  return format->open(g_steal_pointer(&input), format, options, error);
}

fc_sink *fc_media_create(const char *path, const fc_media_options *options, fc_source *like, GError **error) {
  if (!options) options = &no_options;
  const fc_file_format *format = fc_probe_output(path, options, error);
  if (!format || !fc_output_check(path, fc_output_flags_of(options), error)) return NULL;
  return format->create(path, format, options, like, error);
}
