/* SPDX-License-Identifier: MIT */
/*
 * audio_out.c - the sink for sound: chooses the sample format, converts the samples to it, and passes them to
 * an encoder, which writes to a checked output.
 */
#include "media/audio/audio.h"

#include <math.h>
#include <string.h>

#include "media/array/quantise.h"
#include "media/audio/audio_tags.h"
#include "media/file/options.h"

/* ---- options ---------------------------------------------------------------- */

#define ENCODERS_OWN "the encoder's own"
#define DTYPE(values)                                                                                        \
  { "dtype", "input|" values, "input", "sample format: integers or floats, and their bits" }
#define BITRATE                                                                                              \
  { "bitrate", "bits per second, as 96k", ENCODERS_OWN, "bit rate of all channels together" }

const fc_file_option fc_wav_writing[] = {DTYPE("u8|i16|i24|i32|f32|f64"), {NULL}};
const fc_file_option fc_pcm_writing[] = {DTYPE("i8|i16|i24|i32|f32|f64"), {NULL}};
const fc_file_option fc_flac_writing[] = {
    DTYPE("i8|i16|i24"), {"level", "0..8", "5", "effort of the encoder; the samples are the same"}, {NULL}};
const fc_file_option fc_ogg_writing[] = {{"quality", "0..10", "4", "quality of Vorbis, on oggenc's scale"},
                                         {NULL}};
const fc_file_option fc_opus_writing[] = {BITRATE, {NULL}};
const fc_file_option fc_mp3_writing[] = {BITRATE, {NULL}};

/* "96k" or "96000"; 0: not a bit rate. */
static double bits_per_second(const char *text) {
  char *end;
  const double number = g_ascii_strtod(text, &end);
  const double factor = *end == 'k' ? 1000 : 1;
  return end != text && (!*end || strcmp(end, "k") == 0) && number > 0 ? number * factor : 0;
}

typedef struct audio_sink {
  fc_sink base;
  const fc_file_format *file;
  fc_media_options options;
  char *path;
  int subtype;    /* requested by the user, or 0 */
  double bitrate; /* likewise */
  fc_tags *tags;
  GString *lost;
  fc_audio_samples samples;
  gboolean chosen, like_source; /* samples keep the source's format if possible */
  fc_audio_spec spec;
  fc_output *output;
  fc_encoder *encoder;
  gint64 position;
  fc_clipping clipped;
  void *scratch;
  gsize scratch_size;
} audio_sink;

static int like_of(const audio_sink *sink) {
  return sink->tags && sink->like_source ? sink->tags->sndfile : 0;
}

/* libsndfile's compression level, 0 to 1, for the requested bit rate: by its own scales, whose ends are those
 * of the encoders. FALSE with an error beyond them. */
static gboolean take_bitrate(audio_sink *sink, const fc_format *format, GError **error) {
  const gboolean mp3 = sink->file->sndfile == FC_SF_MPEG;
  const double channels = (double)format->extent[FC_AXIS_C], rate = format->rate;
  const double most = !mp3            ? 256e3 * channels
                      : rate >= 32000 ? 320e3
                      : rate >= 16000 ? 160e3
                                      : 64e3,
               least = !mp3            ? 6e3 * channels
                       : rate >= 32000 ? 32e3
                                       : 8e3;
  sink->spec.level = (most - sink->bitrate) / (most - least);
  return (sink->bitrate >= least && sink->bitrate <= most) ||
         fc_fail(error, FC_INVALID, "%s: bitrate: %s takes %gk to %gk for this sound, not %gk",
                 sink->base.name, sink->file->title, least / 1000, most / 1000, sink->bitrate / 1000);
}

/* A type chosen by the user takes precedence over the source's. */
static gboolean choose(audio_sink *sink, const fc_format *format, GError **error) {
  fc_format wanted = *format;
  if (format->stored) {
    wanted.dtype = format->stored - 1;
    wanted.bits = 8 * (int)fc_dtype_size(wanted.dtype);
    sink->like_source = FALSE;
  }
  if (!fc_audio_choose(sink->base.name, sink->file, &wanted, like_of(sink), sink->subtype, &sink->samples,
                       error))
    return FALSE;
  sink->chosen = TRUE;
  return sink->bitrate == 0 || take_bitrate(sink, format, error);
}

/* Integers of fewer bits than their type, such as 8 and 24. Floats are rounded to them here, once: through 16
 * or 32 bits they would be rounded twice, and one of 512 samples wrongly. Integers of more bits, and floats
 * that represent them, are rounded here too. */
static gboolean is_narrow(const fc_audio_samples *samples) {
  return !fc_dtype_is_float(samples->dtype) && samples->bits < 8 * (int)fc_dtype_size(samples->dtype);
}

/* Formats that our own encoder writes. */
static gboolean is_plain(const fc_audio_samples *samples) {
  return fc_audio_item_of(samples->format) && (samples->format & SF_FORMAT_TYPEMASK) != SF_FORMAT_FLAC;
}

static gboolean audio_accept(fc_sink *base, fc_format *format, GError **error) {
  audio_sink *sink = (audio_sink *)base;
  if (!choose(sink, format, error)) return FALSE;
  const gboolean rounds =
      fc_dtype_is_float(format->dtype) || fc_dtype_size(format->dtype) > fc_dtype_size(sink->samples.dtype);
  if (is_narrow(&sink->samples) && rounds) {
    if (!fc_dtype_is_float(format->dtype)) format->dtype = FC_F64;
    format->stored = 1 + sink->samples.dtype;
  } else {
    format->dtype = sink->samples.dtype;
  }
  format->bits = sink->samples.bits;
  base->sample_bytes = is_plain(&sink->samples) ? fc_audio_item_of(sink->samples.format)->size : 0;
  return TRUE;
}

static double audio_room(const fc_sink *base) {
  const audio_sink *sink = (const audio_sink *)base;
  return sink->options.out_bytes ? -1 : fc_output_room(sink->path);
}

/* Formats that are decoded to floats without storing floats. */
static gboolean is_codec(const fc_audio_samples *samples) {
  int subtype = samples->format & SF_FORMAT_SUBMASK;
  return fc_dtype_is_float(samples->dtype) && subtype != SF_FORMAT_FLOAT && subtype != SF_FORMAT_DOUBLE;
}

/* Warns of what is lost in a container that holds less than the input. */
static void warn_of_loss(const audio_sink *sink, const fc_format *format) {
  const int like = sink->subtype ? 0 : like_of(sink);
  fc_audio_samples was = fc_audio_samples_of(like);
  gboolean exact = like && strcmp(fc_audio_samples_name(like), "compressed") != 0;
  gboolean codec = is_codec(&was);
  gboolean less = sink->samples.bits < was.bits ||
                  (fc_dtype_is_float(was.dtype) && !fc_dtype_is_float(sink->samples.dtype));
  /* No warning for lossy codecs, which are known not to keep the samples. */
  if (exact && !codec && less && !is_codec(&sink->samples))
    fc_media_warn(&sink->options, "%s: %s holds %s samples at most: rounded from %s", sink->base.name,
                  sink->file->title, fc_audio_samples_name(sink->samples.format),
                  fc_audio_samples_name(like));
  if (format->rate != rint(format->rate))
    fc_media_warn(&sink->options, "%s: the sample rate of %g Hz is rounded to whole Hertz", sink->base.name,
                  format->rate);
}

/* Others rewrite their header at the end; into a pipe they are written when complete. */
static gboolean streams(const fc_audio_samples *samples, gint64 frames, gboolean live) {
  int major = samples->format & SF_FORMAT_TYPEMASK;
  if (is_plain(samples))
    return frames != FC_UNKNOWN || major == SF_FORMAT_AU || (live && major == SF_FORMAT_WAV);
  return major == SF_FORMAT_OGG || major == SF_FORMAT_FLAC;
}

/* Pictures go into FLAC, Ogg and MP3, texts into all but AU; the input's chunks into files of the same
 * family. */
static void name_lost(const audio_sink *sink) {
  const fc_tags *tags = sink->tags;
  const int major = sink->samples.format & SF_FORMAT_TYPEMASK;
  const fc_chunk_layout *layout = fc_chunk_layout_of(major);
  const gboolean pictures = major == SF_FORMAT_FLAC || major == SF_FORMAT_OGG || major == FC_SF_MPEG;
  if (!pictures && tags->pictures->len) fc_media_add_word(sink->lost, "picture");
  for (guint i = 0; major == SF_FORMAT_AU && i < tags->texts->len; i++) {
    const fc_tag_text *text = &g_array_index(tags->texts, fc_tag_text, i);
    if (text->size && !fc_comments_is_mask(text)) fc_media_add_word(sink->lost, fc_tag_text_title(text));
  }
  if (tags->family == FC_TAGS_FLAC && major != SF_FORMAT_FLAC)
    fc_flac_blocks_name_lost(tags, sink->lost);
  else if (!layout || layout->family != tags->family)
    fc_chunk_tags_name_lost(tags, sink->lost);
}

static gboolean audio_begin(fc_sink *base, const fc_format *format, GError **error) {
  audio_sink *sink = (audio_sink *)base;
  if (!sink->chosen && !choose(sink, format, error)) return FALSE;
  fc_audio_spec *spec = &sink->spec;
  spec->samples = sink->samples;
  spec->rate = (int)lrint(format->rate);
  spec->channels = (int)format->extent[FC_AXIS_C];
  spec->frames = format->extent[FC_AXIS_X];
  spec->lead = base->lead;
  spec->unrelated = base->unrelated;
  spec->tags = sink->tags;
  spec->lost = sink->lost;
  spec->options = &sink->options;
  warn_of_loss(sink, format);
  if (sink->tags) name_lost(sink);
  unsigned flags = fc_output_flags_of(&sink->options) |
                   (streams(&sink->samples, spec->frames, sink->options.live) ? 0 : FC_OUTPUT_SEEKS);
  sink->output = fc_output_open_for(sink->path, flags, &sink->options, error);
  if (!sink->output) return FALSE;
  base->direct = !fc_output_seekable(sink->output);
  sink->encoder = is_plain(&sink->samples) ? fc_pcm_encoder_new(base->name, sink->output, spec, error)
                                           : fc_sndfile_encoder_new(base->name, sink->output, spec, error);
  return sink->encoder != NULL;
}

/* Vorbis and Opus turn NaN into noise. */
static gboolean check_finite(const audio_sink *sink, const float *samples, gsize count, GError **error) {
  if (!is_codec(&sink->samples)) return TRUE;
  gsize i = 0;
  while (i < count && isfinite(samples[i])) i++;
  return i == count ||
         fc_fail(error, FC_IO,
                 "%s: sample %" G_GINT64_FORMAT
                 " of channel %d is not a finite number, which %s cannot hold; .npy can",
                 sink->base.name, sink->position + (gint64)i / sink->spec.channels,
                 (int)(i % (gsize)sink->spec.channels), fc_audio_samples_name(sink->samples.format));
}

static gboolean audio_write(fc_sink *base, const fc_view *from, GError **error) {
  audio_sink *sink = (audio_sink *)base;
  const fc_audio_samples *samples = &sink->samples;
  /* If the last operator stores integers, the run checks for NaN. */
  fc_clipping *clipped = fc_dtype_is_float(from->dtype) && is_narrow(samples) ? &sink->clipped : NULL;
  const void *dense = fc_dense_bits(base->name, from, sink->position, samples->dtype, samples->bits,
                                    &sink->scratch, &sink->scratch_size, clipped, error);
  if (!dense || (samples->dtype == FC_F32 && !check_finite(sink, dense, (gsize)fc_view_count(from), error)) ||
      !sink->encoder->write(sink->encoder, dense, from->shape[FC_AXIS_X], error))
    return FALSE;
  sink->position += from->shape[FC_AXIS_X];
  return TRUE;
}

static void warn_clipped(const audio_sink *sink) {
  const fc_clipping *c = &sink->clipped;
  const double over = 20 * log10(c->peak); /* decibels */
  g_autofree char *less = isinf(over)
                              ? g_strdup("repair the input, which holds infinite values,")
                              : g_strdup_printf("add gain:-%.1fdB to the chain,", ceil(10 * over) / 10);
  fc_media_warn(
      &sink->options,
      "%s: %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
      " values (%.2g %%) exceeded the range of %d bits and were clipped, the peak by %.2g dB: %s or "
      "write floating point (-o NAME.wav:dtype=f32)",
      sink->base.name, c->count, c->values, 100.0 * (double)c->count / (double)c->values, sink->samples.bits,
      over, less);
}

static gboolean audio_commit(fc_sink *base, GError **error) {
  audio_sink *sink = (audio_sink *)base;
  if (!sink->encoder->finish(sink->encoder, error) || !fc_output_commit(sink->output, error)) return FALSE;
  if (sink->clipped.count) warn_clipped(sink);
  fc_tags_warn_lost(sink->tags, &sink->options, base->name, sink->lost);
  return TRUE;
}

static void audio_free(fc_sink *base) {
  audio_sink *sink = (audio_sink *)base;
  if (sink->encoder) sink->encoder->free(sink->encoder);
  fc_output_free(sink->output);
  fc_tags_unref(sink->tags);
  g_string_free(sink->lost, TRUE);
  g_free(sink->scratch);
  g_free(sink->path);
  g_free(sink->base.name);
  g_free(sink);
}

/* FALSE with an error for an invalid one. */
static gboolean take_options(audio_sink *sink, GError **error) {
  const fc_given_options *given = sink->options.out_options;
  const fc_file_option *table = sink->file->writing;
  const char *bitrate = fc_option_text(given, table, "bitrate");
  if (!given) return TRUE;
  sink->subtype = fc_audio_subtype_named(fc_option_text(given, table, "dtype"));
  if (fc_option_text(given, table, "level"))
    sink->spec.level = (double)fc_option_number(given, table, "level") / 8;
  if (fc_option_text(given, table, "quality"))
    sink->spec.quality = (double)fc_option_number(given, table, "quality") / 10;
  if (!bitrate || strcmp(bitrate, ENCODERS_OWN) == 0) return TRUE;
  sink->bitrate = bits_per_second(bitrate);
  return sink->bitrate > 0 ||
         fc_fail(error, FC_INVALID, "%s: bitrate: expected bits per second, as 96k, found \"%s\"",
                 sink->base.name, bitrate);
}

fc_sink *fc_audio_create(const char *path, const fc_file_format *format, const fc_media_options *options,
                         fc_source *like, GError **error) {
  audio_sink *sink = g_new0(audio_sink, 1);
  sink->base = (fc_sink){.name = fc_display_name(path, "standard output"),
                         .accept = audio_accept,
                         .room = audio_room,
                         .begin = audio_begin,
                         .write = audio_write,
                         .commit = audio_commit,
                         .free = audio_free};
  sink->file = format;
  sink->options = *options;
  sink->path = g_strdup(path);
  sink->tags = fc_tags_ref(fc_source_tags(like));
  sink->like_source = TRUE;
  sink->lost = g_string_new(NULL);
  sink->spec.quality = sink->spec.level = NAN;
  if (take_options(sink, error)) return &sink->base;
  audio_free(&sink->base);
  return NULL;
}
