/* SPDX-License-Identifier: MIT */
/*
 * sound_view.h - files as libsndfile can read them: RF64 and WAV without the chunks that it does
 * not know, which throw it off when the size of one is odd, or its id no word; and CAF that is cut
 * off as if what is there were all. Any other file as it is: libsndfile takes what cannot be read for
 * the end, or for zeros, and this way the input remembers it.
 */
#ifndef FC_MEDIA_SOUND_VIEW_H
#define FC_MEDIA_SOUND_VIEW_H

#include "media/audio.h"

G_BEGIN_DECLS

typedef struct fc_sound_view fc_sound_view;

/* Whether libsndfile must not see a seekable file as it is: WAV with a list that is endless, see chunks.h. */
gboolean fc_sound_view_is_needed(fc_input *input);

/* Of RF64, WAV or CAF; NULL when the file has no samples, nothing is to be changed, or there is no memory.
 * `input` is borrowed. */
fc_sound_view *fc_sound_view_new(fc_input *input);
/* Of a seekable input, as it is, but perhaps for what is told of its end. */
typedef enum fc_sound_end { FC_SOUND_END, FC_SOUND_NO_END, FC_SOUND_FAR_END } fc_sound_end;
fc_sound_view *fc_sound_view_plain(fc_input *input, fc_sound_end end);
void fc_sound_view_free(fc_sound_view *view); /* NULL is allowed */

/* For sf_open_virtual, with the view as its data. */
extern SF_VIRTUAL_IO fc_sound_view_vio;

G_END_DECLS

#endif
