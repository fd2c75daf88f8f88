/* SPDX-License-Identifier: MIT */
/*
 * audio.h - what the parts of media/ that deal in sound share.
 */
#ifndef FC_MEDIA_AUDIO_H
#define FC_MEDIA_AUDIO_H

#include <sndfile.h>

#include "media/file/internal.h"
#include "media/file/output.h"

G_BEGIN_DECLS

/* ---- sample formats (audio_format.c) ----------------------------------- */

/* The samples of a file: libsndfile's format, and what they are in memory. */
typedef struct fc_audio_samples {
  int format; /* SF_FORMAT_ major | subtype */
  int dtype;  /* the element type in which they are exact: i16, i32, f32, f64 */
  int bits;   /* that carry information: of an integer, or of a float's mantissa */
} fc_audio_samples;

/* For any format that libsndfile reads. */
fc_audio_samples fc_audio_samples_of(int format);
/* Whether it is MPEG, by itself or in WAV. */
gboolean fc_audio_is_mpeg(int format);
gboolean fc_audio_is_alac(int format);

/*
 * The samples to store in a file of type `major`: those of the source they came from
 * (`like`, 0 if it was no sound file) where the container has them and the chain did
 * not change what they are, else the next that loses nothing, else the best there
 * is. FALSE with the mend when the container cannot hold the rate or channels at all.
 */
gboolean fc_audio_choose(const char *name, const fc_file_format *file, const fc_format *format, int like,
                         fc_audio_samples *chosen, GError **error);

/* "16-bit", "float"; static. */
const char *fc_audio_samples_name(int format);

/* ---- encoders ---------------------------------------------------------- */

/* What an encoder needs to know before the first frame. */
typedef struct fc_audio_spec {
  fc_audio_samples samples;
  int rate, channels;
  gint64 frames; /* FC_UNKNOWN until the end */
  gint64 lead;   /* as a sink's */
  gboolean adrift;
  struct fc_metadata *metadata; /* or NULL */
  const fc_media_options *options;
} fc_audio_spec;

/* Takes dense frames of the samples' dtype, already rounded to their bits. */
typedef struct fc_encoder fc_encoder;
struct fc_encoder {
  gboolean (*write)(fc_encoder *encoder, const void *frames, gint64 count, GError **error);
  /* Completes headers; the output is the caller's to commit. */
  gboolean (*finish)(fc_encoder *encoder, GError **error);
  void (*free)(fc_encoder *encoder);
};

/* Both borrow `name` and `output` for their life. */
fc_encoder *fc_wav_encoder_new(const char *name, fc_output *output, const fc_audio_spec *spec,
                               GError **error);
fc_encoder *fc_sndfile_encoder_new(const char *name, fc_output *output, const fc_audio_spec *spec,
                                   GError **error);

/* ---- the source, for whoever copies from it ---------------------------- */

/* NULL when `source` is no sound file. */
SNDFILE *fc_audio_source_file(fc_source *source);
/* libsndfile's format of it, or 0. */
int fc_audio_source_format(fc_source *source);
fc_input *fc_audio_source_input(fc_source *source);
/* What it is read through, see ogg_pipe.h; NULL for all but Ogg from a pipe, and of streams one after
 * another. */
struct fc_ogg_pipe *fc_audio_source_ogg(fc_source *source);
/* Its chunks, see chunks.h; NULL from a pipe. */
const struct fc_chunks *fc_audio_source_chunks(fc_source *source);

G_END_DECLS

#endif
