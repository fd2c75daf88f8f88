/* SPDX-License-Identifier: MIT */
/*
 * audio.h - what the parts of media/audio share.
 *
 * A sound is read by one of three sources: PCM and floats in WAV, RF64, W64, RIFX, AIFF, CAF and AU are
 * an offset, a type and a stride in front of the array source (pcm_in.c); MP3 goes through libmpg123
 * (mp3_in.c); everything else through libsndfile (coded_in.c). It is written by one sink (audio_out.c) with
 * one of two encoders: pcm_out.c and sndfile_out.c.
 */
#ifndef FC_MEDIA_AUDIO_H
#define FC_MEDIA_AUDIO_H

#include <sndfile.h>

#include "media/array/item.h"
#include "media/file/formats.h"
#include "media/file/output.h"
#include "media/file/tags.h"
#include "media/file/warn.h"

G_BEGIN_DECLS

/* ---- sample formats (audio_format.c) ----------------------------------- */

/* The samples of a file: libsndfile's format, and their type in memory. */
typedef struct fc_audio_samples {
  int format; /* SF_FORMAT_ major | subtype */
  int dtype;  /* the element type in which they are exact: i16, i32, f32, f64 */
  int bits;   /* significant bits: of an integer, or of a float's mantissa */
} fc_audio_samples;

/* For any format that libsndfile reads. */
fc_audio_samples fc_audio_samples_of(int format);
/* A sample as stored in a file; NULL: samples are not stored individually. */
const fc_item *fc_audio_item_of(int format);
/* Are they integers or floats, stored individually? */
gboolean fc_audio_is_pcm(int format);
/* The subtype of signed integers of so many bytes; the subtype that options call so ("i24"); 0: none. */
int fc_audio_integers(int bytes);
int fc_audio_subtype_named(const char *name);
gboolean fc_audio_is_alac(int format);

/*
 * The sample format for a file of type `major`: that of the source (`like`, 0 if it was not a sound file) if
 * the container supports it and the chain kept the type, else the next that loses nothing, else the best
 * available. `asked` is the subtype that the user requested, or 0. FALSE, with an error that says what to do
 * instead, if the container cannot hold them.
 */
gboolean fc_audio_choose(const char *name, const fc_file_format *file, const fc_format *format, int like,
                         int asked, fc_audio_samples *chosen, GError **error);

/* "16-bit", "float"; static. */
const char *fc_audio_samples_name(int format);

/* ---- sources ------------------------------------------------------------- */

/* What the header of a container says about coded samples. */
typedef struct fc_audio_place {
  gint64 offset, bytes; /* of the samples; -1: to the end */
  gint64 missing;       /* bytes that are missing at the end */
  fc_tags *tags;        /* owned; or NULL */
  gint64 frames;        /* samples in blocks: how many the header counts; 0: it does not */
  gint64 packet;        /* of CAF: frames in a packet */
  /* Bytes that libsndfile reads instead of the file's: a size of the samples that is a placeholder or too
   * large, and the depth of ALAC, which some writers leave out of the format. `size` 0: none. */
  struct fc_patch {
    gint64 at;
    guint8 bytes[8];
    int size;
  } patches[2];
} fc_audio_place;

/* All take ownership of the input, also on failure. `place` NULL: the whole file. */
fc_open_fn fc_pcm_open;
fc_source *fc_mp3_open(fc_input *, const fc_audio_place *place, const fc_media_options *, GError **);
fc_source *fc_coded_open(fc_input *, const fc_file_format *, const fc_audio_place *place,
                         const fc_media_options *, GError **);

/* ---- encoders ---------------------------------------------------------- */

/* What an encoder needs to know before the first frame. */
typedef struct fc_audio_spec {
  fc_audio_samples samples;
  int rate, channels;
  gint64 frames;       /* FC_UNKNOWN until the end */
  gint64 lead;         /* as a sink's */
  gboolean unrelated;  /* the sink's `unrelated` */
  const fc_tags *tags; /* or NULL */
  GString *lost;       /* names of metadata that the output cannot hold are added */
  const fc_media_options *options;
  double quality, level; /* from 0 to 1, as libsndfile has them; NAN: its default */
} fc_audio_spec;

/* Whether frames of the output correspond to frames of the input with another number. */
gboolean fc_audio_is_moved(const fc_audio_spec *spec);
/* The text for the time of day of bext: a number of frames since midnight. */
#define FC_TIME_REFERENCE "TIME_REFERENCE"
/* Makes a text of the tags that of the output: a time reference is that of its first frame, with a value of
 * its own (g_free). FALSE for one that does not hold any more, which is named in spec->lost. */
gboolean fc_audio_move_text(const fc_audio_spec *spec, fc_tag_text *text, char **own);

/* Writes dense frames of the samples' dtype, already rounded to their bits. */
typedef struct fc_encoder fc_encoder;
struct fc_encoder {
  gboolean (*write)(fc_encoder *encoder, const void *frames, gint64 count, GError **error);
  /* Completes headers; the caller commits the output. */
  gboolean (*finish)(fc_encoder *encoder, GError **error);
  void (*free)(fc_encoder *encoder);
};

/* Both borrow `name`, `output` and what the spec points to while they exist. */
fc_encoder *fc_pcm_encoder_new(const char *name, fc_output *output, const fc_audio_spec *spec,
                               GError **error);
fc_encoder *fc_sndfile_encoder_new(const char *name, fc_output *output, const fc_audio_spec *spec,
                                   GError **error);

G_END_DECLS

#endif
