/* SPDX-License-Identifier: MIT */
/*
 * seats.h - where the channels of a sound sit: a mask of speakers, as WAV has it, whose bits are in the order
 * of the channels. FLAC has the same mask in a comment, CAF and AIFF have it in a chunk, beside other ways to
 * say it; what is in no comment of FLAC, Vorbis and Opus sits where they say of as many channels. A mask of 0
 * says nothing.
 */
#ifndef FC_MEDIA_SEATS_H
#define FC_MEDIA_SEATS_H

#include "media/audio/audio.h"
#include "media/audio/chunks.h"
#include "media/audio/comments.h"
#include "media/audio/places.h"

G_BEGIN_DECLS

/* Empty when zeroed. */
typedef struct fc_seats {
  const char *said_by;         /* what the file has it in, for messages; NULL: it says nothing */
  guint32 mask;                /* also what the codec says; 0: nothing, or what no mask can say */
  gboolean extensible;         /* WAV has the form that has a place for it */
  const fc_meta_chunk *layout; /* CAF's or AIFF's chunk, borrowed; or NULL */
} fc_seats;

/* ---- reading: the first that says something is believed -------------------- */

/* The format of WAV, RF64, RIFX and W64. */
void fc_seats_of_wav(fc_seats *seats, fc_input *input, const fc_chunks *chunks);
/* The chunk of CAF or AIFF among these. */
void fc_seats_of_layout(fc_seats *seats, fc_family family, const GArray *chunks, int channels);
void fc_seats_of_comments(fc_seats *seats, const fc_comments *comments);
/* What the codec says where the file says nothing. */
void fc_seats_of_codec(fc_seats *seats, const fc_input *input, int format, int channels);

/* ---- writing --------------------------------------------------------------- */

/* Whether a file has a place for them; of Vorbis and Opus, whether they sit there themselves, be it at the
 * back or at the sides. Of WAV and RF64 only PCM, floats, u-law and A-law have one. */
gboolean fc_seats_fit(const fc_seats *seats, const fc_audio_spec *spec);
/* Whether they are where so many channels are most often, so that it is no loss when nothing is said. */
gboolean fc_seats_are_usual(const fc_seats *seats, int channels);
/* The mask that a new comment of FLAC has to say; or 0. */
guint32 fc_seats_of_flac(const fc_seats *seats, int channels);
/* The mask for W64, where libsndfile takes whatever is of the form that has a place for it for integers, and
 * where two channels do without; or 0. */
guint32 fc_seats_of_w64(const fc_seats *seats, const fc_audio_spec *spec);
/* Whether Vorbis or Opus take the fourth channel for low-frequency effects, and filter it as such, where the
 * file says of another thing, or one that no mask can say. */
gboolean fc_seats_lose_fourth(const fc_seats *seats, const fc_audio_spec *spec);
/* Gives a CAF or AIFF file, opened for writing and still empty, a chunk of them, and any other nothing. FALSE
 * when there is no memory. */
gboolean fc_seats_put_layout(const fc_seats *seats, SNDFILE *file, const fc_audio_spec *spec);

G_END_DECLS

#endif
