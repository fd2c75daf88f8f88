/* SPDX-License-Identifier: MIT */
/*
 * mpeg_end.c - see mpeg_end.h. The first frame may hold, where others have samples, "Xing" or "Info", flags
 * of what follows, the number of frames and that of bytes, its own with them. Where there are no bytes the
 * frames are counted again, one by one. At the end there may be tags after ID3v1, APE and Lyrics3, which are
 * found from behind.
 */
#include "media/audio/mpeg_end.h"

#include <string.h>

#include "media/file/bytes.h"
#include "media/audio/mpeg_front.h"
#include "media/file/window.h"

enum { FRAME_HEAD = 4, FRONT = 64 };
enum { ID3_SIZE = 128, APE_SIZE = 32, APE_BYTES_AT = 12, APE_FLAGS_AT = 20, LYRICS_SIZE = 15 };

/* That an APE tag begins with its header, and that this is the header. */
#define APE_HAS_HEADER (1u << 31)
#define APE_IS_HEADER  (1u << 29)

/* More than anybody puts behind a sound. */
#define TAGS_MAX 16

/* ---- tags ----------------------------------------------------------------- */

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
  return (gint64)fc_little(foot + APE_BYTES_AT, 4) +
         (fc_little(foot + APE_FLAGS_AT, 4) & APE_HAS_HEADER ? APE_SIZE : 0);
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
    else if (read_ape(input, at, head) && (fc_little(head + APE_FLAGS_AT, 4) & APE_IS_HEADER))
      at += APE_SIZE + (gint64)fc_little(head + APE_BYTES_AT, 4);
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

typedef struct mpeg_counts {
  guint32 frames; /* 0: they are not counted */
  gint64 bytes;   /* the same */
} mpeg_counts;

/* What the first frame counts. Without the number of frames the decoder takes none of it. */
static mpeg_counts counted(const guint8 *frame) {
  enum { FRAMES = 1, FRAMES_AND_BYTES = 3 };
  static const int side[] = {9, 17, 32}; /* bytes between header and samples, by version and channels */
  for (gsize i = 0; i < G_N_ELEMENTS(side); i++) {
    const guint8 *at = frame + FRAME_HEAD + side[i];
    if (memcmp(at, "Xing", 4) != 0 && memcmp(at, "Info", 4) != 0) continue;
    const guint64 flags = fc_big(at + 4, 4);
    mpeg_counts counts = {0};
    if (flags & FRAMES) counts.frames = (guint32)fc_big(at + 8, 4);
    if ((flags & FRAMES_AND_BYTES) == FRAMES_AND_BYTES) counts.bytes = (gint64)fc_big(at + 12, 4);
    return counts;
  }
  return (mpeg_counts){0};
}

/* Bytes of a frame of layer III; 0: that is not known. */
static gint64 frame_size(const guint8 *frame) {
  enum { MPEG_1 = 3, MPEG_2 = 2 };
  static const guint16 kilobits[2][16] = {
      {0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320, 0},
      {0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160, 0}};
  static const int rates[4] = {44100, 48000, 32000, 0};
  const int version = frame[1] >> 3 & 3, half = version != MPEG_1, quarter = version < MPEG_2;
  const int rate = rates[frame[2] >> 2 & 3] >> (half + quarter), kilo = kilobits[half][frame[2] >> 4];
  return rate && kilo ? (half ? 72000 : 144000) * kilo / rate + (frame[2] >> 1 & 1) : 0;
}

/* Frame by frame through a file. */
typedef struct frame_walk {
  fc_window window;
  const guint8 *like; /* the first one's header */
  gint64 stop;
  gint64 looked; /* bytes that were no frames */
} frame_walk;

/* The size of a frame that may begin there, of which all are like the first: the decoder passes by what is
 * not, and the kind of samples does not change. 0: none does. */
static gint64 size_at(frame_walk *walk, gint64 at) {
  enum { VERSION_AND_LAYER = 0xfe, RATE = 0x0c };
  const guint8 *like = walk->like,
               *frame = at + FRAME_HEAD > walk->stop ? NULL : fc_window_see(&walk->window, at, FRAME_HEAD);
  gboolean alike = frame && frame[0] == like[0] && !((frame[1] ^ like[1]) & VERSION_AND_LAYER) &&
                   !((frame[2] ^ like[2]) & RATE);
  return alike ? frame_size(frame) : 0;
}

/* Where the next one begins; -1: there is none, or it would be looked for too long. One that does not stand
 * where the last one ends has another behind itself. */
static gint64 find_frame(frame_walk *walk, gint64 at) {
  if (size_at(walk, at)) return at;
  for (gint64 size; ++at + FRAME_HEAD <= walk->stop && walk->looked++ < FC_INPUT_LOOK_MOST;)
    if ((size = size_at(walk, at)) && (at + size == walk->stop || size_at(walk, at + size))) return at;
  return -1;
}

/* Behind so many frames; -1: there are fewer. */
static gint64 pass_frames(frame_walk *walk, gint64 at, guint32 frames) {
  for (gint64 next; frames; frames--) {
    if ((next = find_frame(walk, at)) < 0) return -1;
    at = next + size_at(walk, next);
  }
  return at;
}

/* Some writers do not count the first frame itself: then so much less may be what is behind it. */
gboolean fc_mpeg_goes_on(fc_input *input, gint64 at, gint64 size) {
  guint8 first[FRONT];
  gint64 start = fc_mpeg_skip_tags(input, at), stop = at + size;
  if (start < 0 || fc_input_read_at(input, start, first, FRONT, NULL) != FRONT) return FALSE;
  const mpeg_counts counts = counted(first);
  const gint64 own = frame_size(first), end = start + counts.bytes;
  if (counts.bytes)
    return has_more(input, end, stop) && (end + own > stop || has_more(input, end + own, stop));
  if (!counts.frames || !own) return FALSE;
  frame_walk walk = {.window.input = input, .like = first, .stop = stop};
  gint64 behind = pass_frames(&walk, start + own, counts.frames);
  return behind >= 0 && has_more(input, behind, stop);
}
