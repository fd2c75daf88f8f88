/* SPDX-License-Identifier: MIT */
/*
 * media.c - opening an input, preparing an output: the format is found, and its part
 * of media/ asked.
 */
#include "media/file/media.h"

#include "media/file/formats.h"
#include "media/file/options.h"
#include "media/file/output.h"

static const fc_media_options no_options;

/* Takes the input over; NULL is passed on. */
static fc_source *open_input(fc_input *opened, const fc_media_options *options, GError **error) {
  g_autoptr(fc_input) input = opened;
  if (!input) return NULL;
  const fc_file_format *format = fc_probe_input(input, options, error);
  if (!format ||
      !fc_given_options_check(options->in_options, format->reading, input->name, format->title, error))
    return NULL;
  return format->open(g_steal_pointer(&input), format, options, error);
}

fc_source *fc_media_open(const char *path, const fc_media_options *options, GError **error) {
  if (!options) options = &no_options;
  return open_input(fc_input_open(path, options->cancel, error), options, error);
}

fc_source *fc_media_open_content(GBytes *content, const fc_media_options *options, GError **error) {
  if (!options) options = &no_options;
  return open_input(fc_input_open_content(content, error), options, error);
}

fc_sink *fc_media_create(const char *path, const fc_media_options *options, fc_source *like, GError **error) {
  if (!options) options = &no_options;
  const fc_file_format *format = fc_probe_output(path, options, error);
  g_autofree char *name = fc_display_name(path, "standard output");
  if (!format || !fc_given_options_check(options->out_options, format->writing, name, format->title, error) ||
      !fc_output_check(path, fc_output_flags_of(options), error))
    return NULL;
  return format->create(path, format, options, like, error);
}
