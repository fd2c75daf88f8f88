/* SPDX-License-Identifier: MIT */
/*
 * mpeg_end.c - see mpeg_end.h. The first frame may hold, where others have samples, "Xing" or "Info", flags
 * of what follows, the number of frames and that of bytes, its own with them. At the end there may be tags
 * after ID3v1, APE and Lyrics3, which are found from behind.
 */
#include "media/mpeg_end.h"

#include <string.h>

#include "media/chunks.h"
#include "media/mpeg_front.h"

enum { FRAME_HEAD = 4, FRONT = 64, COUNTS = 3 /* frames and bytes */ };
enum { ID3_SIZE = 128, APE_SIZE = 32, APE_BYTES_AT = 12, APE_FLAGS_AT = 20, LYRICS_SIZE = 15 };

/* That an APE tag begins with its header, and that this is the header. */
#define APE_HAS_HEADER (1u << 31)
#define APE_IS_HEADER  (1u << 29)

/* More than anybody puts behind a sound. */
#define TAGS_MAX 16

/* ---- tags ----------------------------------------------------------------- */

static guint32 little(const guint8 *at) {
  return (guint32)fc_chunk_get(fc_chunk_layout_of(FC_FAMILY_RIFF), at, 4);
}

static gboolean has_id3(fc_input *input, gint64 at) {
  char mark[3];
  return at >= 0 && fc_input_read_at(input, at, mark, sizeof mark, NULL) == sizeof mark &&
         memcmp(mark, "TAG", sizeof mark) == 0;
}

/* The header or footer of a tag. */
static gboolean read_ape(fc_input *input, gint64 at, guint8 *ape) {
  return at >= 0 && fc_input_read_at(input, at, ape, APE_SIZE, NULL) == APE_SIZE &&
         memcmp(ape, "APETAGEX", 8) == 0;
}

/* Bytes of the tag that ends with these; 0: none does. */
static gint64 lyrics_before(fc_input *input, gint64 end) {
  char text[LYRICS_SIZE + 1] = "";
  if (end < LYRICS_SIZE ||
      fc_input_read_at(input, end - LYRICS_SIZE, text, LYRICS_SIZE, NULL) != LYRICS_SIZE ||
      strcmp(text + 6, "LYRICS200") != 0)
    return 0;
  return LYRICS_SIZE + (gint64)g_ascii_strtoull(text, NULL, 10);
}

/* The same of any tag. */
static gint64 tag_before(fc_input *input, gint64 end, gboolean *ape) {
  guint8 foot[APE_SIZE];
  if (has_id3(input, end - ID3_SIZE)) return ID3_SIZE;
  if (!read_ape(input, end - APE_SIZE, foot)) return lyrics_before(input, end);
  *ape = TRUE;
  return (gint64)little(foot + APE_BYTES_AT) + (little(foot + APE_FLAGS_AT) & APE_HAS_HEADER ? APE_SIZE : 0);
}

/* Where the tags begin that end at a place. */
static gint64 tags_before(fc_input *input, gint64 end, gboolean *ape) {
  gint64 size;
  for (int tags = 0; tags < TAGS_MAX && (size = tag_before(input, end, ape)) > 0; tags++) end -= size;
  return end;
}

gboolean fc_mpeg_has_ape(fc_input *input) {
  gboolean ape = FALSE;
  tags_before(input, input->size, &ape);
  return ape;
}

/* Behind zeros and tags, which may be filled up behind their end. */
static gint64 pass_tags(fc_input *input, gint64 at, gint64 stop) {
  guint8 head[APE_SIZE];
  for (int tags = 0; tags < TAGS_MAX; tags++) {
    at = fc_input_skip_zeros(input, at, stop);
    if (has_id3(input, at))
      at += ID3_SIZE;
    else if (read_ape(input, at, head) && (little(head + APE_FLAGS_AT) & APE_IS_HEADER))
      at += APE_SIZE + (gint64)little(head + APE_BYTES_AT);
    else
      break;
  }
  return at;
}

static gboolean has_more(fc_input *input, gint64 at, gint64 stop) {
  gboolean ape;
  at = pass_tags(input, at, stop);
  return stop - at > FC_INPUT_FEW && tags_before(input, stop, &ape) - at > FC_INPUT_FEW;
}

/* ---- frames --------------------------------------------------------------- */

/* The bytes that the first frame counts; 0: it does not. */
static gint64 counted(const guint8 *frame) {
  static const int side[] = {9, 17, 32}; /* bytes between header and samples, by version and channels */
  const fc_chunk_layout *big = fc_chunk_layout_of(FC_FAMILY_AIFF);
  for (gsize i = 0; i < G_N_ELEMENTS(side); i++) {
    const guint8 *at = frame + FRAME_HEAD + side[i];
    if (memcmp(at, "Xing", 4) != 0 && memcmp(at, "Info", 4) != 0) continue;
    guint64 flags = fc_chunk_get(big, at + 4, 4);
    return (flags & COUNTS) == COUNTS ? (gint64)fc_chunk_get(big, at + 12, 4) : 0;
  }
  return 0;
}

/* Bytes of a frame of layer III; 0: that is not known. */
static gint64 frame_size(const guint8 *frame) {
  enum { MPEG_1 = 3, MPEG_2 = 2 };
  static const guint16 kilobits[2][16] = {
      {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0},
      {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0}};
  static const int rates[4] = {44100, 48000, 32000, 0};
  const int version = frame[1] >> 3 & 3, half = version != MPEG_1, quarter = version < MPEG_2;
  const int rate = rates[frame[2] >> 2 & 3] >> (half + quarter);
  return rate ? (half ? 72000 : 144000) * kilobits[half][frame[2] >> 4] / rate + (frame[2] >> 1 & 1) : 0;
}

/* Some writers do not count the first frame itself: then so much less may be what is behind it. */
gboolean fc_mpeg_goes_on(fc_input *input, gint64 at, gint64 size) {
  guint8 first[FRONT];
  gint64 start = fc_mpeg_skip_tags(input, at), stop = at + size;
  if (start < 0 || fc_input_read_at(input, start, first, FRONT, NULL) != FRONT) return FALSE;
  gint64 bytes = counted(first), end = start + bytes, other = end + frame_size(first);
  return bytes && has_more(input, end, stop) && (other > stop || has_more(input, other, stop));
}
