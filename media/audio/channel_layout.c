/* SPDX-License-Identifier: MIT */
/*
 * channel_layout.c - see channel_layout.h. After Microsoft's WAVEFORMATEXTENSIBLE, RFC 9639 8.6.2 and 9.1.3,
 * Vorbis I 4.3.9, RFC 7845 5.1.1 and Apple's Core Audio, whose bits are WAV's.
 */
#include "media/audio/channel_layout.h"

#include <string.h>

#include "media/file/bytes.h"

enum {
  FRONT_CENTRE = 0x4,
  BACK = 0x30,
  FRONT_TO_SIDE = 0x1c0,
  SIDES = 0x600,
  CORE_AUDIO_BITS = 18,
  MOST = 8
};

/* Default masks by number of channels, also of Vorbis and Opus. */
static const guint32 usual[MOST + 1] = {0, 0x4, 0x3, 0x7, 0x33, 0x37, 0x3f, 0x70f, 0x63f};
/* FLAC's surround channels are at the back or at the sides: as flac and ffmpeg interpret it. */
static const guint32 of_flac[MOST + 1] = {0, 0x4, 0x3, 0x7, 0x33, 0x607, 0x60f, 0x70f, 0x63f};

static gboolean is_ogg_codec(int format) {
  const int subtype = format & SF_FORMAT_SUBMASK;
  return subtype == SF_FORMAT_VORBIS || subtype == SF_FORMAT_OPUS;
}

guint32 fc_channel_mask_of_codec(int format, int channels) {
  if (channels < 1 || channels > MOST) return 0;
  if ((format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC) return of_flac[channels];
  return is_ogg_codec(format) ? usual[channels] : 0;
}

/* Exchanges back and side, if that changes no channel's position. */
static guint32 exchanged(guint32 mask) {
  const guint32 pairs = mask & (BACK | SIDES);
  const gboolean one = pairs == BACK || pairs == SIDES;
  return one && !(mask & FRONT_TO_SIDE) ? mask ^ (BACK | SIDES) : mask;
}

static gboolean is_usual(guint32 mask, int channels) {
  return channels <= MOST && (mask == usual[channels] || exchanged(mask) == usual[channels]);
}

/* ---- Core Audio's layouts ----------------------------------------------------- */

#define BY_LABELS 0u
#define BY_BITS   (1u << 16)
#define TAG(n, c) ((guint32)(n) << 16 | (c))

/* Layouts in WAV's channel order. Those that few readers know are not written. */
static const struct {
  guint32 tag, mask;
  gboolean written;
} layouts[] = {
    {TAG(100, 1), 0, FALSE},     /* mono has no position */
    {TAG(101, 2), 0x3, TRUE},    /* stereo */
    {TAG(113, 3), 0x7, TRUE},    /* MPEG 3.0 A */
    {TAG(131, 3), 0x103, TRUE},  /* ITU 2.1 */
    {TAG(133, 3), 0xb, TRUE},    /* DVD 4 */
    {TAG(108, 4), 0x33, TRUE},   /* quadraphonic */
    {TAG(185, 4), 0x33, FALSE},  /* WAVE 4.0 B */
    {TAG(115, 4), 0x107, TRUE},  /* MPEG 4.0 A */
    {TAG(132, 4), 0x603, TRUE},  /* ITU 2.2 */
    {TAG(134, 4), 0x10b, TRUE},  /* DVD 5 */
    {TAG(136, 4), 0xf, TRUE},    /* DVD 10 */
    {TAG(117, 5), 0x607, TRUE},  /* MPEG 5.0 A */
    {TAG(186, 5), 0x37, FALSE},  /* WAVE 5.0 B */
    {TAG(135, 5), 0x60b, TRUE},  /* DVD 6 */
    {TAG(137, 5), 0x10f, TRUE},  /* DVD 11 */
    {TAG(121, 6), 0x60f, TRUE},  /* MPEG 5.1 A */
    {TAG(187, 6), 0x3f, FALSE},  /* WAVE 5.1 B */
    {TAG(188, 7), 0x70f, FALSE}, /* WAVE 6.1 */
    {TAG(189, 8), 0x63f, FALSE}, /* WAVE 7.1 */
};

/* The mask bit of a label, which counts from 1; 0: none. */
static guint32 bit_of(guint32 label) {
  enum { REAR = 33, REAR_RIGHT = 34, MONO = 42, REAR_BIT = 4 };
  if (label == MONO) return FRONT_CENTRE;
  if (label == REAR || label == REAR_RIGHT) return 1u << (REAR_BIT + label - REAR);
  return label >= 1 && label <= CORE_AUDIO_BITS ? 1u << (label - 1) : 0;
}

/* 0 if a label has no bit, or the order is not WAV's. */
static guint32 mask_of_labels(const guint8 *chunk, gsize size, int channels) {
  enum { HEAD = FC_CHAN_SIZE, LABEL = 20 };
  const guint32 count = (guint32)fc_big(chunk + 8, 4);
  guint32 mask = 0;
  if (count != (guint32)channels || (size - HEAD) / LABEL < count) return 0;
  for (guint32 i = 0; i < count; i++) {
    const guint32 bit = bit_of((guint32)fc_big(chunk + HEAD + (gsize)i * LABEL, 4));
    if (bit <= mask) return 0;
    mask |= bit;
  }
  return mask;
}

guint32 fc_channel_mask_of_chan(const guint8 *chunk, gsize size, int channels) {
  if (size < FC_CHAN_SIZE) return 0;
  const guint32 tag = (guint32)fc_big(chunk, 4), bits = (guint32)fc_big(chunk + 4, 4);
  if (tag == BY_LABELS) return mask_of_labels(chunk, size, channels);
  if (tag == BY_BITS) return __builtin_popcount(bits) == channels ? bits : 0;
  for (gsize i = 0; i < G_N_ELEMENTS(layouts); i++)
    if (layouts[i].tag == tag && (int)(tag & 0xffff) == channels) return layouts[i].mask;
  return 0;
}

gboolean fc_channel_mask_put_chan(guint32 mask, int channels, guint8 chan[FC_CHAN_SIZE]) {
  if (__builtin_popcount(mask) != channels || mask >= 1u << CORE_AUDIO_BITS || mask == FRONT_CENTRE)
    return FALSE;
  guint32 tag = BY_BITS;
  for (gsize i = 0; i < G_N_ELEMENTS(layouts); i++)
    if (layouts[i].mask == mask && layouts[i].written) tag = layouts[i].tag;
  memset(chan, 0, FC_CHAN_SIZE);
  fc_put_big(chan, tag, 4);
  fc_put_big(chan + 4, tag == BY_BITS ? mask : 0, 4);
  return TRUE;
}

/* ---- writing ------------------------------------------------------------------- */

/* WAV and FLAC hold any mask, CAF and AIFF complete ones, Vorbis and Opus what they imply. */
static gboolean has_place(const fc_audio_spec *spec, guint32 mask) {
  guint8 chan[FC_CHAN_SIZE];
  const gboolean plain = fc_audio_item_of(spec->samples.format) != NULL;
  switch (spec->samples.format & SF_FORMAT_TYPEMASK) {
  case SF_FORMAT_WAV:
  case SF_FORMAT_RF64: return plain;
  /* libsndfile reads all samples of that form in W64 as integers. */
  case SF_FORMAT_W64: return fc_audio_is_pcm(spec->samples.format) && !fc_dtype_is_float(spec->samples.dtype);
  case SF_FORMAT_FLAC: return TRUE;
  case SF_FORMAT_CAF:
  case SF_FORMAT_AIFF: return plain && fc_channel_mask_put_chan(mask, spec->channels, chan);
  default: return FALSE;
  }
}

guint32 fc_channel_mask_choose(const fc_audio_spec *spec) {
  const guint32 mask = spec->tags ? spec->tags->speakers : 0;
  if (!mask) return 0;
  const gboolean same = spec->tags->channels == spec->channels;
  if (same && has_place(spec, mask)) return mask;
  const int major = spec->samples.format & SF_FORMAT_TYPEMASK;
  const fc_tag_family family = spec->tags->family;
  const gboolean comments = (family == FC_TAGS_FLAC || family == FC_TAGS_OGG) &&
                            (major == SF_FORMAT_FLAC || major == SF_FORMAT_OGG);
  /* Its own chunk or comment is copied, or named as lost, by other code. */
  if (comments || (major == SF_FORMAT_CAF && family == FC_TAGS_CAF) ||
      (major == SF_FORMAT_AIFF && family == FC_TAGS_AIFF))
    return 0;
  if (spec->tags->speakers_stated && !is_usual(mask, spec->tags->channels))
    fc_media_add_word(spec->lost, "channel mask");
  return 0;
}

/* ---- the order of Vorbis and Opus ------------------------------------------------ */

const guint8 *fc_channel_order_of(int format, int channels) {
  static const guint8 orders[MOST + 1][MOST] = {[3] = {0, 2, 1},
                                                [5] = {0, 2, 1, 3, 4},
                                                [6] = {0, 2, 1, 4, 5, 3},
                                                [7] = {0, 2, 1, 5, 6, 4, 3},
                                                [8] = {0, 2, 1, 6, 7, 4, 5, 3}};
  const gboolean other = channels == 3 || (channels >= 5 && channels <= MOST);
  return is_ogg_codec(format) && other ? orders[channels] : NULL;
}

void fc_channel_order_undo(const guint8 *order, int channels, float *frames, gint64 count) {
  float frame[MOST];
  for (; count > 0; count--, frames += channels) {
    memcpy(frame, frames, (gsize)channels * sizeof *frame);
    for (int c = 0; c < channels; c++) frames[order[c]] = frame[c];
  }
}

void fc_channel_order_apply(const guint8 *order, int channels, float *to, const float *frames, gint64 count) {
  for (; count > 0; count--, frames += channels, to += channels)
    for (int c = 0; c < channels; c++) to[c] = frames[order[c]];
}
