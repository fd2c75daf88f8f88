/* SPDX-License-Identifier: MIT */
/*
 * seats.c - see seats.h. After Microsoft's WAVEFORMATEXTENSIBLE, RFC 9639 8.6.2 and 9.1.3, Vorbis I 4.3.9,
 * RFC 7845 5.1.1 and Apple's Core Audio, whose bits are WAV's. What Core Audio calls "surround" are the sides
 * in a list (a tag) of channels that ffmpeg and newer lists of Apple's know too, but "back" in its bits.
 */
#include "media/audio/seats.h"

#include <string.h>

#include "media/file/bytes.h"
#include "media/audio/channel_order.h"

enum {
  CENTRE = 0x4,
  LOW_FREQUENCIES = 0x8,
  BACK = 0x30,
  FRONT_TO_SIDE = 0x1c0, /* what stands between both */
  SIDES = 0x600,
  CORE_AUDIO_BITS = 18
};

/* Of as many channels; those of Vorbis and Opus too. */
static const guint32 usual[] = {0, 0x4, 0x3, 0x7, 0x33, 0x37, 0x3f, 0x70f, 0x63f};
/* Surround of FLAC is at the back or at the sides: so as flac and ffmpeg take it. */
static const guint32 of_flac[] = {0, 0x4, 0x3, 0x7, 0x33, 0x607, 0x60f, 0x70f, 0x63f};

static guint32 mask_in(const guint32 *masks, int channels) {
  return channels < (int)G_N_ELEMENTS(usual) ? masks[channels] : 0;
}

/* A seat for each channel, of those that Core Audio has bits for too. */
static gboolean is_complete(guint32 mask, int channels) {
  return __builtin_popcount(mask) == channels && mask < 1u << CORE_AUDIO_BITS;
}

/* One pair for the other, where that moves no channel. */
static guint32 renamed(guint32 mask) {
  guint32 pairs = mask & (BACK | SIDES);
  gboolean one = pairs == BACK || pairs == SIDES;
  return one && !(mask & FRONT_TO_SIDE) ? mask ^ (BACK | SIDES) : mask;
}

gboolean fc_seats_are_usual(const fc_seats *seats, int channels) {
  guint32 mask = mask_in(usual, channels);
  return mask && (seats->mask == mask || renamed(seats->mask) == mask);
}

/* ---- Core Audio's layouts -------------------------------------------------- */

enum {
  BY_LABELS = 0,
  BY_BITS = 1 << 16,
  NOWHERE = 147 << 16, /* with the number of channels that only follow each other */
  BITS_AT = 4,         /* behind the tag */
  LABELS_AT = 8,       /* their number */
  LAYOUT_HEAD = 12,
  LABEL_SIZE = 20,
  LABELS_MAX = 64 /* of a chunk that goes over as it is */
};

#define UNKNOWN   0xffff0000u /* with a number, too */
#define TAG(n, c) ((guint32)(n) << 16 | (c))

/* Lists of channels that stand as in WAV. Those that are not written are not known to all, or not to sit
 * there. One channel sits in the middle without a word. */
static const struct {
  guint32 tag, mask;
  gboolean written;
} layouts[] = {
    {TAG(100, 1), 0, FALSE},     /* mono */
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

/* The bit of a label, which counts from 1; 0: it has none. */
static guint32 bit_of(guint32 label) {
  enum { REAR = 33, REAR_RIGHT = 34, MONO = 42, REAR_BIT = 4 };
  if (label == MONO) return CENTRE;
  if (label == REAR || label == REAR_RIGHT) return 1u << (REAR_BIT + label - REAR);
  return label >= 1 && label <= CORE_AUDIO_BITS ? 1u << (label - 1) : 0;
}

/* 0 where a label has no bit, or they do not stand as in WAV. */
static guint32 mask_of_labels(const fc_meta_chunk *chunk, int channels) {
  guint32 count = fc_big(chunk->data + LABELS_AT, 4), mask = 0;
  if (count != (guint32)channels || (chunk->size - LAYOUT_HEAD) / LABEL_SIZE < count) return 0;
  for (guint32 i = 0; i < count; i++) {
    guint32 bit = bit_of(fc_big(chunk->data + LAYOUT_HEAD + i * LABEL_SIZE, 4));
    if (bit <= mask) return 0;
    mask |= bit;
  }
  return mask;
}

/* All labels are those of a channel that is not known, or not used. */
static gboolean has_empty_labels(const fc_meta_chunk *chunk) {
  guint32 count = fc_big(chunk->data + LABELS_AT, 4), label;
  if ((chunk->size - LAYOUT_HEAD) / LABEL_SIZE < count) return FALSE;
  for (guint32 i = 0; i < count; i++) {
    label = fc_big(chunk->data + LAYOUT_HEAD + i * LABEL_SIZE, 4);
    if (label != 0 && label != G_MAXUINT32) return FALSE;
  }
  return TRUE;
}

/* FALSE when it says nothing. */
static gboolean read_layout(const fc_meta_chunk *chunk, int channels, guint32 *mask) {
  guint32 tag = fc_big(chunk->data, 4), bits = fc_big(chunk->data + BITS_AT, 4);
  *mask = 0;
  if ((tag == BY_BITS && !bits) || (tag == BY_LABELS && has_empty_labels(chunk))) return FALSE;
  if (tag == BY_LABELS) *mask = mask_of_labels(chunk, channels);
  if (tag == BY_BITS && is_complete(bits, channels)) *mask = bits;
  for (gsize i = 0; i < G_N_ELEMENTS(layouts); i++) {
    if (layouts[i].tag != tag || (int)(tag & 0xffff) != channels) continue;
    *mask = layouts[i].mask;
    return *mask != 0;
  }
  return (tag & ~0xffffu) != NOWHERE && (tag & ~0xffffu) != UNKNOWN;
}

/* The tag to write; 0 where none can say it, or for a middle that goes without saying. */
static guint32 tag_of(guint32 mask, int channels) {
  if (!is_complete(mask, channels) || mask == CENTRE) return 0;
  for (gsize i = 0; i < G_N_ELEMENTS(layouts); i++)
    if (layouts[i].mask == mask && layouts[i].written) return layouts[i].tag;
  return BY_BITS;
}

/* ---- reading --------------------------------------------------------------- */

void fc_seats_of_wav(fc_seats *seats, fc_input *input, const fc_chunks *chunks) {
  enum { WHOLE = 40, MASK_AT = 20, EXTENSIBLE = 0xfffe };
  guint8 body[MASK_AT + 4];
  for (guint i = 0; i < chunks->items->len; i++) {
    const fc_chunk *chunk = &g_array_index(chunks->items, fc_chunk, i);
    if (memcmp(chunk->id, "fmt ", 4) != 0 || chunk->size < WHOLE) continue;
    if (fc_input_read_at(input, chunk->offset, body, sizeof body, NULL) != sizeof body) return;
    const fc_chunk_layout *layout = fc_chunk_layout_of(chunks->family);
    seats->extensible = fc_chunk_get(layout, body, 2) == EXTENSIBLE;
    if (seats->extensible) seats->mask = (guint32)fc_chunk_get(layout, body + MASK_AT, 4);
    if (seats->mask) seats->said_by = "channel mask";
    return;
  }
}

void fc_seats_of_layout(fc_seats *seats, fc_family family, const GArray *chunks, int channels) {
  const char *id = family == FC_FAMILY_CAF ? "chan" : "CHAN";
  if (family != FC_FAMILY_CAF && family != FC_FAMILY_AIFF) return;
  for (guint i = 0; i < chunks->len && !seats->layout; i++) {
    const fc_meta_chunk *chunk = &g_array_index(chunks, fc_meta_chunk, i);
    if (memcmp(chunk->id, id, 4) != 0 || chunk->size < LAYOUT_HEAD) continue;
    seats->layout = chunk;
    if (read_layout(chunk, channels, &seats->mask)) seats->said_by = id;
  }
}

void fc_seats_of_comments(fc_seats *seats, const fc_comments *comments) {
  if (fc_comments_get_mask(comments, &seats->mask)) seats->said_by = FC_COMMENTS_MASK;
}

void fc_seats_of_codec(fc_seats *seats, const fc_input *input, int format, int channels) {
  if (seats->said_by || channels <= 2) return;
  if ((format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC) seats->mask = mask_in(of_flac, channels);
  if (fc_channel_order_is_told(input, format, channels)) seats->mask = mask_in(usual, channels);
}

/* ---- writing --------------------------------------------------------------- */

/* Bytes of a chunk that goes over as it is; 0: none does. What may stand behind its labels says nothing, and
 * libsndfile reads beyond what is no multiple of four. */
static gsize size_as_it_is(const fc_seats *seats) {
  if (!seats->layout) return 0;
  guint32 labels = fc_big(seats->layout->data + LABELS_AT, 4);
  gsize size = LAYOUT_HEAD + (gsize)labels * LABEL_SIZE;
  return labels <= LABELS_MAX && size <= seats->layout->size ? size : 0;
}

/* Whether samples have the extended form of WAV: PCM and floats, u-law and A-law. */
static gboolean is_extensible(const fc_audio_spec *spec) {
  return (spec->samples.format & SF_FORMAT_SUBMASK) <= SF_FORMAT_ALAW;
}

gboolean fc_seats_fit(const fc_seats *seats, const fc_audio_spec *spec) {
  switch (spec->samples.format & SF_FORMAT_TYPEMASK) {
  case SF_FORMAT_WAV:
  case SF_FORMAT_RF64: return seats->mask != 0 && is_extensible(spec);
  case SF_FORMAT_FLAC: return seats->mask != 0;
  case SF_FORMAT_W64: return fc_seats_of_w64(seats, spec) != 0;
  case SF_FORMAT_AIFF:
  case SF_FORMAT_CAF: return size_as_it_is(seats) || tag_of(seats->mask, spec->channels) != 0;
  case SF_FORMAT_OGG: return fc_seats_are_usual(seats, spec->channels);
  default: return FALSE;
  }
}

/* As flac itself, which says it of more than two channels wherever it was said. */
guint32 fc_seats_of_flac(const fc_seats *seats, int channels) {
  gboolean told = seats->said_by && channels > 2;
  return told || seats->mask != mask_in(of_flac, channels) ? seats->mask : 0;
}

guint32 fc_seats_of_w64(const fc_seats *seats, const fc_audio_spec *spec) {
  gboolean plain = spec->channels <= 2 && seats->mask == mask_in(usual, spec->channels);
  gboolean integers = (spec->samples.format & SF_FORMAT_SUBMASK) <= SF_FORMAT_PCM_U8;
  return plain || !integers ? 0 : seats->mask;
}

/* Measured of libvorbis, which does so from 40 to 70 kHz, not at 32 and 96, and of libopus at all rates. */
gboolean fc_seats_lose_fourth(const fc_seats *seats, const fc_audio_spec *spec) {
  guint32 fourth = seats->mask;
  for (int i = 0; i < 3; i++) fourth &= fourth - 1;
  int codec = spec->samples.format & SF_FORMAT_SUBMASK;
  gboolean vorbis = codec == SF_FORMAT_VORBIS && spec->rate >= 40000 && spec->rate <= 70000;
  gboolean filters = (spec->channels == 6 && vorbis) ||
                     (spec->channels >= 6 && spec->channels <= 8 && codec == SF_FORMAT_OPUS);
  return filters && seats->said_by && (fourth & -fourth) != LOW_FREQUENCIES;
}

gboolean fc_seats_put_layout(const fc_seats *seats, SNDFILE *file, const fc_audio_spec *spec) {
  int major = spec->samples.format & SF_FORMAT_TYPEMASK;
  const fc_chunk_layout *order = fc_chunk_layout_of(FC_FAMILY_CAF);
  guint32 tag = tag_of(seats->mask, spec->channels);
  guint8 body[LAYOUT_HEAD] = {0};
  gsize as_it_is = size_as_it_is(seats);
  if ((major != SF_FORMAT_CAF && major != SF_FORMAT_AIFF) || (!as_it_is && !tag)) return TRUE;
  fc_chunk_put(order, body, tag, 4);
  fc_chunk_put(order, body + BITS_AT, tag == BY_BITS ? seats->mask : 0, 4);
  SF_CHUNK_INFO chunk = {.id_size = 4,
                         .datalen = as_it_is ? (unsigned)as_it_is : sizeof body,
                         .data = as_it_is ? seats->layout->data : body};
  memcpy(chunk.id, major == SF_FORMAT_CAF ? "chan" : "CHAN", 4);
  return sf_set_chunk(file, &chunk) == 0;
}
