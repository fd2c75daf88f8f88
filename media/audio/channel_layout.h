/* SPDX-License-Identifier: MIT */
/*
 * channel_layout.h - the speaker of each channel: the mask of WAV (the bits are in the order of the
 * channels), the same in a comment of FLAC and in the "chan" chunk of CAF and AIFF; and the different order
 * of channels in Vorbis and Opus. A mask of 0 means unknown.
 */
#ifndef FC_MEDIA_CHANNEL_LAYOUT_H
#define FC_MEDIA_CHANNEL_LAYOUT_H

#include "media/audio/audio.h"

G_BEGIN_DECLS

/* ---- masks ------------------------------------------------------------------- */

/* The mask that a codec implies for this many channels: Vorbis, Opus and FLAC; 0: none. */
guint32 fc_channel_mask_of_codec(int format, int channels);

/* The mask of a "chan" or "CHAN" chunk; 0: it cannot be expressed as a mask. */
guint32 fc_channel_mask_of_chan(const guint8 *chunk, gsize size, int channels);
/* The body of such a chunk: tag, bits, number of descriptions (0). FALSE if it is not needed, or the mask
 * cannot be expressed. */
#define FC_CHAN_SIZE 12
gboolean fc_channel_mask_put_chan(guint32 mask, int channels, guint8 chan[FC_CHAN_SIZE]);

/* The mask to store in a file of these samples, from that of the input; 0: none, or not needed. Speakers
 * that cannot be stored are named in spec->lost. */
guint32 fc_channel_mask_choose(const fc_audio_spec *spec);

/* ---- the order of Vorbis and Opus ----------------------------------------------- */

/* For each of the codec's channels the one in WAV's order; NULL: the order is the same. */
const guint8 *fc_channel_order_of(int format, int channels);
/* From WAV's order to the codec's, and back in place. */
void fc_channel_order_apply(const guint8 *order, int channels, float *to, const float *frames, gint64 count);
void fc_channel_order_undo(const guint8 *order, int channels, float *frames, gint64 count);

G_END_DECLS

#endif
