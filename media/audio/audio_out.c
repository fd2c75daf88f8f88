/* SPDX-License-Identifier: MIT */
/*
 * audio_out.c - the sink for sound: chooses the sample format, brings what arrives
 * into it, and hands it to an encoder that writes to a checked output.
 */
#include "media/audio/audio.h"

#include <math.h>
#include <string.h>

#include "media/audio/metadata.h"
#include "media/array/quantise.h"
#include "media/file/warn.h"

typedef struct audio_sink {
  fc_sink base;
  const fc_file_format *file;
  fc_media_options options;
  char *path;
  int like; /* libsndfile's format of the source, or 0 */
  fc_metadata *metadata;
  fc_audio_samples samples;
  gboolean chosen;
  int channels;
  fc_output *output;
  fc_encoder *encoder;
  gint64 position;
  void *scratch;
  gsize scratch_size;
} audio_sink;

/* A type that the user chose counts for more than that of the source. */
static gboolean choose(audio_sink *sink, const fc_format *format, GError **error) {
  fc_format wanted = *format;
  if (format->stored) {
    wanted.dtype = format->stored - 1;
    wanted.bits = 8 * (int)fc_dtype_size(wanted.dtype);
    sink->like = 0;
  }
  if (!fc_audio_choose(sink->base.name, sink->file, &wanted, sink->like, &sink->samples, error)) return FALSE;
  sink->chosen = TRUE;
  return TRUE;
}

static gboolean audio_accept(fc_sink *base, fc_format *format, GError **error) {
  audio_sink *sink = (audio_sink *)base;
  if (!choose(sink, format, error)) return FALSE;
  format->dtype = sink->samples.dtype;
  format->bits = sink->samples.bits;
  return TRUE;
}

/* Decodes to floats without holding such. */
static gboolean is_codec(const fc_audio_samples *samples) {
  int subtype = samples->format & SF_FORMAT_SUBMASK;
  return fc_dtype_is_float(samples->dtype) && subtype != SF_FORMAT_FLOAT && subtype != SF_FORMAT_DOUBLE;
}

/* Says what is lost on the way into a container that holds less than the input had. */
static void warn_of_loss(const audio_sink *sink, const fc_format *format) {
  fc_audio_samples was = fc_audio_samples_of(sink->like);
  gboolean exact = sink->like && strcmp(fc_audio_samples_name(sink->like), "compressed") != 0;
  gboolean codec = is_codec(&was);
  gboolean less = sink->samples.bits < was.bits ||
                  (fc_dtype_is_float(was.dtype) && !fc_dtype_is_float(sink->samples.dtype));
  /* Whoever asks for a lossy codec knows that it does not keep the samples. */
  if (exact && !codec && less && !is_codec(&sink->samples))
    fc_media_warn(&sink->options, "%s: %s holds %s samples at most: rounded from %s", sink->base.name,
                  sink->file->title, fc_audio_samples_name(sink->samples.format),
                  fc_audio_samples_name(sink->like));
  if (format->rate != rint(format->rate))
    fc_media_warn(&sink->options, "%s: the sample rate of %g Hz is rounded to whole Hertz", sink->base.name,
                  format->rate);
}

static gboolean is_wav_pcm(const fc_audio_samples *samples) {
  int major = samples->format & SF_FORMAT_TYPEMASK, subtype = samples->format & SF_FORMAT_SUBMASK;
  if (major != SF_FORMAT_WAV && major != SF_FORMAT_RF64 && major != SF_FORMAT_W64) return FALSE;
  return subtype >= SF_FORMAT_PCM_S8 && subtype <= SF_FORMAT_DOUBLE;
}

/* These go into a pipe as they come; the others want their header again at the end. */
static gboolean streams(const fc_audio_samples *samples, gint64 frames) {
  int major = samples->format & SF_FORMAT_TYPEMASK, subtype = samples->format & SF_FORMAT_SUBMASK;
  if (is_wav_pcm(samples)) return frames != FC_UNKNOWN;
  if (major == SF_FORMAT_AU) return subtype >= SF_FORMAT_PCM_S8 && subtype <= SF_FORMAT_DOUBLE;
  return major == SF_FORMAT_OGG || major == SF_FORMAT_FLAC;
}

static gboolean audio_begin(fc_sink *base, const fc_format *format, GError **error) {
  audio_sink *sink = (audio_sink *)base;
  if (!sink->chosen && !choose(sink, format, error)) return FALSE;
  fc_audio_spec spec = {.samples = sink->samples,
                        .rate = (int)lrint(format->rate),
                        .channels = (int)format->extent[FC_AXIS_C],
                        .frames = format->extent[FC_AXIS_X],
                        .lead = base->lead,
                        .adrift = base->adrift,
                        .metadata = sink->metadata,
                        .options = &sink->options};
  sink->channels = spec.channels;
  warn_of_loss(sink, format);
  fc_metadata_warn_lost(sink->metadata, &spec, sink->file->title, base->name);
  unsigned flags =
      fc_output_flags_of(&sink->options) | (streams(&sink->samples, spec.frames) ? 0 : FC_OUTPUT_SEEKS);
  sink->output = fc_output_open(sink->path, flags, error);
  if (!sink->output) return FALSE;
  base->direct = !fc_output_seekable(sink->output);
  sink->encoder = is_wav_pcm(&sink->samples) ? fc_wav_encoder_new(base->name, sink->output, &spec, error)
                                             : fc_sndfile_encoder_new(base->name, sink->output, &spec, error);
  return sink->encoder != NULL;
}

/* Vorbis and Opus make noise of what is no number. */
static gboolean check_finite(const audio_sink *sink, const float *samples, gsize count, GError **error) {
  int subtype = sink->samples.format & SF_FORMAT_SUBMASK;
  if (subtype != SF_FORMAT_VORBIS && subtype != SF_FORMAT_OPUS) return TRUE;
  gsize i = 0;
  while (i < count && isfinite(samples[i])) i++;
  return i == count || fc_fail(error, FC_IO,
                               "%s: sample %" G_GINT64_FORMAT
                               " of channel %d is not a finite number, which %s cannot hold; .npy can",
                               sink->base.name, sink->position + (gint64)i / sink->channels,
                               (int)(i % (gsize)sink->channels), fc_audio_samples_name(sink->samples.format));
}

/* Dense samples of the encoder's type, rounded to the bits that the file holds. */
static const void *prepare(audio_sink *sink, const fc_view *from, GError **error) {
  int dtype = sink->samples.dtype;
  const void *dense =
      fc_dense(sink->base.name, from, sink->position, dtype, &sink->scratch, &sink->scratch_size, error);
  gsize count = (gsize)fc_view_count(from), size = fc_dtype_size(dtype);
  if (dense && dtype == FC_F32 && !check_finite(sink, dense, count, error)) return NULL;
  if (!dense || fc_dtype_is_float(dtype) || sink->samples.bits == (int)size * 8) return dense;
  if (dense != sink->scratch) {
    if (!fc_reserve(sink->base.name, &sink->scratch, &sink->scratch_size, count * size, error)) return NULL;
    if (count) memcpy(sink->scratch, dense, count * size);
  }
  fc_round_bits(sink->scratch, dtype, count, sink->samples.bits);
  return sink->scratch;
}

static gboolean audio_write(fc_sink *base, const fc_view *from, GError **error) {
  audio_sink *sink = (audio_sink *)base;
  const void *frames = prepare(sink, from, error);
  if (!frames || !sink->encoder->write(sink->encoder, frames, from->shape[FC_AXIS_X], error)) return FALSE;
  sink->position += from->shape[FC_AXIS_X];
  return TRUE;
}

static gboolean audio_commit(fc_sink *base, GError **error) {
  audio_sink *sink = (audio_sink *)base;
  return sink->encoder->finish(sink->encoder, error) && fc_output_commit(sink->output, error);
}

static void audio_free(fc_sink *base) {
  audio_sink *sink = (audio_sink *)base;
  if (sink->encoder) sink->encoder->free(sink->encoder);
  fc_output_free(sink->output);
  fc_metadata_free(sink->metadata);
  g_free(sink->scratch);
  g_free(sink->path);
  g_free(sink->base.name);
  g_free(sink);
}

fc_sink *fc_audio_create(const char *path, const fc_file_format *format, const fc_media_options *options,
                         fc_source *like, GError **error) {
  audio_sink *sink = g_new0(audio_sink, 1);
  sink->base.name = fc_display_name(path, "standard output");
  sink->base.accept = audio_accept;
  sink->base.begin = audio_begin;
  sink->base.write = audio_write;
  sink->base.commit = audio_commit;
  sink->base.free = audio_free;
  sink->file = format;
  sink->options = *options;
  sink->path = g_strdup(path);
  sink->like = fc_audio_source_format(like);
  GError *problem = NULL;
  sink->metadata = fc_metadata_read(like, options, &problem);
  if (!problem) return &sink->base;
  g_propagate_error(error, problem);
  audio_free(&sink->base);
  return NULL;
}
