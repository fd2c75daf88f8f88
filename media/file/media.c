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

fc_source *fc_media_open(const char *path, const fc_media_options *options, GError **error) {
  if (!options) options = &no_options;
  g_autoptr(fc_input) input = options->in_bytes ? fc_input_open_bytes(path, options->in_bytes, error)
                                                : fc_input_open(path, options->cancel, error);
  if (!input) return NULL;
  const fc_file_format *format = fc_probe_input(input, options, error);
  if (!format ||
      !fc_given_options_check(options->in_options, format->reading, input->name, format->title, error))
    return NULL;
  return format->open(g_steal_pointer(&input), format, options, error);
}

fc_sink *fc_media_create(const char *path, const fc_media_options *options, fc_source *like, GError **error) {
  if (!options) options = &no_options;
  const fc_file_format *format = fc_probe_output(path, options, error);
  g_autofree char *name = fc_display_name(path, "standard output");
  if (!format || !fc_given_options_check(options->out_options, format->writing, name, format->title, error) ||
      !(options->out_bytes || fc_output_check(path, fc_output_flags_of(options), error)))
    return NULL;
  return format->create(path, format, options, like, error);
}
