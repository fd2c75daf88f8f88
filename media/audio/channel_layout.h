/* SPDX-License-Identifier: MIT */
/*
 * channel_layout.h - which speaker a channel is for: the mask of WAV (the bits are in the order of the
 * channels), the same in a comment of FLAC and in the "chan" chunk of CAF and AIFF; and the order of channels
 * in Vorbis and Opus, which is another one. A mask of 0 says nothing.
 */
#ifndef FC_MEDIA_CHANNEL_LAYOUT_H
#define FC_MEDIA_CHANNEL_LAYOUT_H

#include "media/audio/audio.h"

G_BEGIN_DECLS

/* ---- masks ------------------------------------------------------------------- */

/* What a codec implies of so many channels: Vorbis, Opus and FLAC; 0: nothing. */
guint32 fc_channel_mask_of_codec(int format, int channels);

/* Of a "chan" or "CHAN" chunk; 0: it says nothing that a mask can say. */
guint32 fc_channel_mask_of_chan(const guint8 *chunk, gsize size, int channels);
/* The body of one: tag, bits, number of descriptions (0). FALSE when it is not needed, or cannot say it. */
#define FC_CHAN_SIZE 12
gboolean fc_channel_mask_put_chan(guint32 mask, int channels, guint8 chan[FC_CHAN_SIZE]);

/* The mask to store in a file of these samples, of those of the input; 0: none, or none is needed. What has
 * no place is named in spec->lost. */
guint32 fc_channel_mask_choose(const fc_audio_spec *spec);

/* ---- the order of Vorbis and Opus ----------------------------------------------- */

/* For each channel of the codec the one of WAV; NULL: the order is WAV's. */
const guint8 *fc_channel_order_of(int format, int channels);
/* From WAV's order to the codec's, and back in place. */
void fc_channel_order_apply(const guint8 *order, int channels, float *to, const float *frames, gint64 count);
void fc_channel_order_undo(const guint8 *order, int channels, float *frames, gint64 count);

G_END_DECLS

#endif
