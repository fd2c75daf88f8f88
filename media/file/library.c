/* SPDX-License-Identifier: MIT */
/*
 * library.c - where media/ and core/ meet: the context of the library is one that
 * opens files through media/.
 */
#include "core/context/context.h"

#include "media/file/media.h"
#include "media/file/options.h"
#include "media/image/decoders.h"

static void log_to_context(fc_log_level level, const char *message, void *data) {
  fc_context_log(data, level, "%s", message);
}

static fc_media_options media_options_of(fc_context *context, const fc_options *options) {
  fc_media_options media = {.log = log_to_context, .log_data = context, .decoders = context->media_kept};
  if (!options) return media;
  media.in_format = options->in_format;
  media.out_format = options->out_format;
  media.in_raw = options->in_raw;
  media.allow_truncated = options->allow_truncated;
  media.no_clobber = options->no_clobber;
  media.sync = options->sync;
  media.live = options->latency > 0;
  media.max_pixels = options->max_pixels;
  media.cancel = options->cancel;
  media.in_bytes = options->in_bytes;
  media.out_bytes = options->out_bytes;
  return media;
}

static fc_source *open_source(fc_context *context, const char *file, const fc_options *options,
                              GError **error) {
  fc_media_options media = media_options_of(context, options);
  fc_given_options *given;
  g_autofree char *path = fc_given_options_parse(file, TRUE, &given, error);
  media.in_options = given;
  fc_source *source = path ? fc_media_open(path, &media, error) : NULL;
  fc_given_options_free(given);
  return source;
}

static fc_sink *open_sink(fc_context *context, const char *file, const fc_options *options, fc_source *like,
                          GError **error) {
  fc_media_options media = media_options_of(context, options);
  fc_given_options *given;
  g_autofree char *path = fc_given_options_parse(file, FALSE, &given, error);
  media.out_options = given;
  fc_sink *sink = path ? fc_media_create(path, &media, like, error) : NULL;
  fc_given_options_free(given);
  return sink;
}

static fc_table *load_table(const char *path, gboolean mask, void *data, GError **error) {
  return fc_media_load_table(path, mask, error);
}

static void *start(fc_context *context) {
  g_autofree char *program =
      fc_registry_program(context->registry, "media/image/decoder", "filterchain-decode");
  return fc_decoders_new(program);
}

static void stop(void *kept) {
  fc_decoders_free(kept);
}

fc_context *fc_context_new(void) {
  static const fc_media files = {open_source, open_sink, load_table, start, stop};
  return fc_context_new_with(&files);
}
