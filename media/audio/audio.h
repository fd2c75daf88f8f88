/* SPDX-License-Identifier: MIT */
/*
 * audio.h - what the parts of media/audio share.
 *
 * A sound comes in through one of three sources: PCM and floats in WAV, RF64, W64, RIFX, AIFF, CAF and AU are
 * an offset, a type and a stride in front of the array source (pcm_in.c); MP3 goes through libmpg123
 * (mp3_in.c); all else is libsndfile's (coded_in.c). It goes out through one sink (audio_out.c) and one of
 * two encoders: pcm_out.c and sndfile_out.c.
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

/* The samples of a file: libsndfile's format, and what they are in memory. */
typedef struct fc_audio_samples {
  int format; /* SF_FORMAT_ major | subtype */
  int dtype;  /* the element type in which they are exact: i16, i32, f32, f64 */
  int bits;   /* that carry information: of an integer, or of a float's mantissa */
} fc_audio_samples;

/* For any format that libsndfile reads. */
fc_audio_samples fc_audio_samples_of(int format);
/* One of these as it lies in a file; NULL: they are not stored one by one. */
const fc_item *fc_audio_item_of(int format);
/* Are they integers or floats, stored one by one? */
gboolean fc_audio_is_pcm(int format);
/* The subtype of integers of so many bytes with a sign; and that which options call so ("i24"); 0: none. */
int fc_audio_integers(int bytes);
int fc_audio_subtype_named(const char *name);
gboolean fc_audio_is_alac(int format);

/*
 * The samples to store in a file of type `major`: those of the source they came from
 * (`like`, 0 if it was no sound file) where the container has them and the chain did
 * not change what they are, else the next that loses nothing, else the best there
 * is. `asked` is the subtype that the user asked for, or 0. FALSE with what to do instead when the container
 * cannot hold them.
 */
gboolean fc_audio_choose(const char *name, const fc_file_format *file, const fc_format *format, int like,
                         int asked, fc_audio_samples *chosen, GError **error);

/* "16-bit", "float"; static. */
const char *fc_audio_samples_name(int format);

/* ---- sources ------------------------------------------------------------- */

/* What the header of another format says of coded samples. */
typedef struct fc_audio_place {
  gint64 offset, bytes; /* of the samples; -1: to the end */
  gint64 missing;       /* bytes that are missing at the end */
  fc_tags *tags;        /* taken over; or NULL */
  gint64 frames;        /* in blocks: how many the header counts, 0: it does not */
  gint64 packet;        /* of CAF: frames in a packet */
  /* Bytes that libsndfile is to read instead: a size of the samples that is a placeholder or too large, and
   * the depth of ALAC, which some leave out of the format. `size` 0: nothing. */
  struct fc_patch {
    gint64 at;
    guint8 bytes[8];
    int size;
  } patches[2];
} fc_audio_place;

/* All take over the input, also when they fail. `place` NULL: all of the file. */
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
  GString *lost;       /* what of them the output has no place for is added */
  const fc_media_options *options;
  double quality, level; /* from 0 to 1, as libsndfile has them; NAN: its default */
} fc_audio_spec;

/* Whether a frame of the output is not the frame of the input with its number. */
gboolean fc_audio_is_moved(const fc_audio_spec *spec);
/* The text for the time of day of bext: a number of frames since midnight. */
#define FC_TIME_REFERENCE "TIME_REFERENCE"
/* Makes a text of the tags that of the output: a time reference is that of its first frame, with a value of
 * its own (g_free). FALSE for one that does not hold any more, which is named in spec->lost. */
gboolean fc_audio_move_text(const fc_audio_spec *spec, fc_tag_text *text, char **own);

/* Takes dense frames of the samples' dtype, already rounded to their bits. */
typedef struct fc_encoder fc_encoder;
struct fc_encoder {
  gboolean (*write)(fc_encoder *encoder, const void *frames, gint64 count, GError **error);
  /* Completes headers; the output is the caller's to commit. */
  gboolean (*finish)(fc_encoder *encoder, GError **error);
  void (*free)(fc_encoder *encoder);
};

/* Both borrow `name` and `output`, and what the spec points to, for their life. */
fc_encoder *fc_pcm_encoder_new(const char *name, fc_output *output, const fc_audio_spec *spec,
                               GError **error);
fc_encoder *fc_sndfile_encoder_new(const char *name, fc_output *output, const fc_audio_spec *spec,
                                   GError **error);

G_END_DECLS

#endif
