/* SPDX-License-Identifier: MIT */
/*
 * channel_order.h - Vorbis and Opus have an order of channels of their own, in which libsndfile reads and
 * writes them; everywhere else it is that of WAV: front left, front right, centre, low frequencies, and the
 * rest from the back to the sides.
 */
#ifndef FC_MEDIA_CHANNEL_ORDER_H
#define FC_MEDIA_CHANNEL_ORDER_H

#include "media/audio/audio.h"

G_BEGIN_DECLS

/* An order: which of WAV's channels stands at each place. NULL: it is WAV's, or none is known. */
typedef struct fc_channel_order fc_channel_order;

/* Of what is written in a format of libsndfile's. */
const fc_channel_order *fc_channel_order_of(int format, int channels);
/* Of what is read: Opus may say that its channels are in no order. */
const fc_channel_order *fc_channel_order_in(const fc_input *input, int format, int channels);

/* Frames of these codecs, into WAV's order. */
void fc_channel_order_undo(const fc_channel_order *order, float *frames, gint64 count);
/* The other way. */
void fc_channel_order_apply(const fc_channel_order *order, float *to, const float *frames, gint64 count);

/* Of what is read: whether more than two channels are in the codec's order, be it WAV's, and so sit where it
 * says. */
gboolean fc_channel_order_is_told(const fc_input *input, int format, int channels);

G_END_DECLS

#endif
