/* SPDX-License-Identifier: MIT */
/*
 * sound_view.h - files as libsndfile can read them. Of a file of chunks it sees those that it makes something
 * of, each kind once and the samples last, whatever else is in it: it takes sizes for numbers with a sign,
 * goes on behind what is too short, and on such ways round and round; and chunks of an odd size or without a
 * name throw it off. Any other file it sees as it is, but for no longer than reading it can take: libsndfile
 * takes what cannot be read for the end, or for zeros, and this way the input remembers it.
 */
#ifndef FC_MEDIA_SOUND_VIEW_H
#define FC_MEDIA_SOUND_VIEW_H

#include "media/audio/audio.h"
#include "media/audio/chunks.h"

G_BEGIN_DECLS

typedef struct fc_sound_view fc_sound_view;

/* What is told of the end: where it is, that there is none, or that it is far away. */
typedef enum fc_sound_end { FC_SOUND_END, FC_SOUND_NO_END, FC_SOUND_FAR_END } fc_sound_end;

/* Of a seekable input; NULL when there is no memory. `input` is borrowed. */
fc_sound_view *fc_sound_view_new(fc_input *input, const fc_chunks *chunks, fc_sound_end end);
/* Of a pipe that stands at its beginning, and of which that much is seen that its samples stand one by one
 * (sound_front.h). Where it does not say how many they are, there is no end of them but its own. */
fc_sound_view *fc_sound_view_of_pipe(fc_input *input);
void fc_sound_view_free(fc_sound_view *view); /* NULL is allowed */

/* Whether there are other samples in a pipe of which all of the first have been read. */
gboolean fc_sound_view_has_more_samples(fc_sound_view *view);
/* Whether a pipe of which all samples have been read goes on behind what its header counts; as far as its
 * family can be told of, where the header does not say. */
gboolean fc_sound_view_goes_on(fc_sound_view *view);
/* So many bytes of a file have been read, at least. */
gint64 fc_sound_view_reached(const fc_sound_view *view);
/* Whether the samples are as many as come. */
gboolean fc_sound_view_is_open(const fc_sound_view *view);

/* For sf_open_virtual, with the view as its data. */
extern SF_VIRTUAL_IO fc_sound_view_vio;

/* Ahead of each call of libsndfile, which is asked for so many values: so many reads and moves it may make,
 * some for each of them and for each byte of the file; with more it is at the end of the file, and has
 * failed. */
void fc_sound_view_allow(fc_sound_view *view, gint64 values);
gboolean fc_sound_view_check(const fc_sound_view *view, GError **error);

G_END_DECLS

#endif
