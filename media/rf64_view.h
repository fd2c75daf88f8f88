/* SPDX-License-Identifier: MIT */
/*
 * rf64_view.h - an RF64 file as libsndfile can read it: without the chunks that it does
 * not know, one of which throws it off when its size is odd.
 */
#ifndef FC_MEDIA_RF64_VIEW_H
#define FC_MEDIA_RF64_VIEW_H

#include "media/audio.h"

G_BEGIN_DECLS

typedef struct fc_rf64_view fc_rf64_view;

/* NULL when the file has no samples, or there is no memory; `input` is borrowed. */
fc_rf64_view *fc_rf64_view_new(fc_input *input);
void fc_rf64_view_free(fc_rf64_view *view); /* NULL is allowed */

/* For sf_open_virtual, with the view as its data. */
extern SF_VIRTUAL_IO fc_rf64_view_vio;

G_END_DECLS

#endif
