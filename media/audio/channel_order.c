/* SPDX-License-Identifier: MIT */
/* channel_order.c - see channel_order.h. After Vorbis I 4.3.9, and RFC 7845 5.1.1 for Opus. */
#include "media/audio/channel_order.h"

#include <string.h>

#include "media/audio/ogg_page.h"

#define CHANNELS_MAX 8

struct fc_channel_order {
  int channels;
  guint8 of[CHANNELS_MAX];
  gboolean is_wav; /* the order, though not by itself where the channels are */
};

static const fc_channel_order orders[] = {
    {3, {0, 2, 1}, FALSE},          {4, {0, 1, 2, 3}, TRUE},           {5, {0, 2, 1, 3, 4}, FALSE},
    {6, {0, 2, 1, 4, 5, 3}, FALSE}, {7, {0, 2, 1, 5, 6, 4, 3}, FALSE}, {8, {0, 2, 1, 6, 7, 4, 5, 3}, FALSE},
};

static gboolean is_opus(int format) {
  return (format & SF_FORMAT_SUBMASK) == SF_FORMAT_OPUS;
}

static const fc_channel_order *find(int format, int channels) {
  gboolean vorbis = (format & SF_FORMAT_SUBMASK) == SF_FORMAT_VORBIS;
  for (gsize i = 0; (vorbis || is_opus(format)) && i < G_N_ELEMENTS(orders); i++)
    if (orders[i].channels == channels) return &orders[i];
  return NULL;
}

/* Its mapping family is the one with an order; others are for sound fields, and for channels that have
 * nothing to do with each other. */
static gboolean is_surround(const fc_input *input) {
  enum { FAMILY_AT = 18, SURROUND = 1 };
  const guint8 *page = input->head;
  if (!fc_ogg_header_is_whole(page, input->head_size)) return TRUE;
  gsize at = FC_OGG_HEADER + (gsize)page[FC_OGG_SIZES_AT];
  gboolean told = input->head_size > at + FAMILY_AT && memcmp(page + at, "OpusHead", 8) == 0;
  return !told || page[at + FAMILY_AT] == SURROUND;
}

static const fc_channel_order *find_in(const fc_input *input, int format, int channels) {
  return is_opus(format) && !is_surround(input) ? NULL : find(format, channels);
}

static const fc_channel_order *unless_wav(const fc_channel_order *order) {
  return order && order->is_wav ? NULL : order;
}

const fc_channel_order *fc_channel_order_of(int format, int channels) {
  return unless_wav(find(format, channels));
}

const fc_channel_order *fc_channel_order_in(const fc_input *input, int format, int channels) {
  return unless_wav(find_in(input, format, channels));
}

gboolean fc_channel_order_is_told(const fc_input *input, int format, int channels) {
  return find_in(input, format, channels) != NULL;
}

void fc_channel_order_undo(const fc_channel_order *order, float *frames, gint64 count) {
  float frame[CHANNELS_MAX];
  for (; count > 0; count--, frames += order->channels) {
    memcpy(frame, frames, (gsize)order->channels * sizeof *frame);
    for (int c = 0; c < order->channels; c++) frames[order->of[c]] = frame[c];
  }
}

void fc_channel_order_apply(const fc_channel_order *order, float *to, const float *frames, gint64 count) {
  for (; count > 0; count--, frames += order->channels, to += order->channels)
    for (int c = 0; c < order->channels; c++) to[c] = frames[order->of[c]];
}
