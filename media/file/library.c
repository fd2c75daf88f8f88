/* SPDX-License-Identifier: MIT */
/*
 * library.c - opening an input, preparing an output: finds the format and calls its part of media/. It also
 * connects media/ and core/: the library's contexts open files this way.
 */
#include "core/context/context.h"

#include "media/file/blocks.h"
#include "media/file/formats.h"
#include "media/file/options.h"
#include "media/file/output.h"
#include "media/image/decoders.h"
#include "media/image/nvjpeg.h"

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

/* ---- the context ------------------------------------------------------------- */

/* What a context keeps for media/. */
typedef struct kept {
  fc_decoders *decoders;
  fc_nvjpeg *nvjpeg;
  fc_blocks *blocks;
} kept;

/* Of outputs in memory that wait in a batch, some 800 tensors of an image, so many are unused at times; of a
 * small budget an eighth. */
#define BLOCKS_BYTES ((gsize)512 << 20)

static gsize blocks_of(const fc_context *context) {
  return MIN(BLOCKS_BYTES, context->max_memory / 8);
}

static void log_to_context(fc_log_level level, const char *message, void *data) {
  fc_context_log(data, level, "%s", message);
}

static fc_media_options media_options_of(fc_context *context, const fc_options *options) {
  const kept *k = context->media_kept;
  fc_media_options media = {
      .log = log_to_context, .log_data = context, .decoders = k->decoders, .blocks = k->blocks};
  if (!options) return media;
  if (options->out_bytes) fc_blocks_keep(k->blocks, blocks_of(context));
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
  kept *k = g_new(kept, 1);
  *k = (kept){fc_decoders_new(program), fc_nvjpeg_new(context->driver), fc_blocks_new(BLOCKS_BYTES)};
  return k;
}

static void stop(fc_context *context, void *data) {
  kept *k = data;
  fc_decoders_free(k->decoders);
  fc_nvjpeg_free(k->nvjpeg);
  fc_blocks_free(k->blocks);
  g_free(k);
}

static void release(fc_context *context, void *data) {
  fc_blocks_trim(((kept *)data)->blocks);
  fc_nvjpeg_release(((kept *)data)->nvjpeg);
}

static void decode_start(fc_context *context, int mode, gint32 device, guint n) {
  fc_nvjpeg_start(((kept *)context->media_kept)->nvjpeg, device, mode, n);
}

static void decode_settle(fc_context *context) {
  fc_nvjpeg_settle(((kept *)context->media_kept)->nvjpeg);
}

static struct fc_device_decoder *decode(fc_context *context, int mode, void *stream,
                                        fc_source *const *sources, const fc_view *frames, guint n,
                                        gboolean *done) {
  return fc_nvjpeg_decode(((kept *)context->media_kept)->nvjpeg, mode, stream, sources, frames, n, done);
}

static void decoded(fc_context *context, struct fc_device_decoder *decoder) {
  fc_nvjpeg_give(((kept *)context->media_kept)->nvjpeg, decoder);
}

static char *decoder_name(fc_context *context, GError **error) {
  return fc_nvjpeg_name(((kept *)context->media_kept)->nvjpeg, error);
}

fc_context *fc_context_new(void) {
  static const fc_media files = {open_source,  open_sink,     load_table, start,   stop,        release,
                                 decode_start, decode_settle, decode,     decoded, decoder_name};
  return fc_context_new_with(&files);
}
