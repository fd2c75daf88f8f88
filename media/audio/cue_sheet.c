/* SPDX-License-Identifier: MIT */
/*
 * cue_sheet.c - see cue_sheet.h. After RFC 9639, section 8.7: 128 bytes of catalogue number, the frames
 * of a CD's lead-in, a flag for CDs, and tracks, the last of which is none but where the sound ends. A track
 * has its place, number, code and index points; those are counted from the track on.
 */
#include "media/audio/cue_sheet.h"

#include <string.h>

#include "media/file/bytes.h"
#include "media/audio/chunks.h"

/* In bytes: the block's header; what stands ahead of the tracks; a track ahead of its points; a point. */
enum { BLOCK = 4, HEAD = 396, TRACK = 36, POINT = 12 };
enum { LEAD_IN_AT = 128, FLAGS_AT = 136, COUNT_AT = 395, NUMBER_AT = 8, POINTS_AT = 35 };
enum { CD = 0x80, END = 255 /* the number of the last track, but on a CD */ };

typedef struct part {
  gint64 lead, frames;
} part;

/* Bytes of the track at `at`; 0: it is cut off. */
static gsize track_size(const guint8 *track, gsize left) {
  gsize size = left < TRACK ? 0 : TRACK + (gsize)track[POINTS_AT] * POINT;
  return size > left ? 0 : size;
}

/* Places that a file makes up are not to overflow. */
static gboolean is_place(gint64 value) {
  return value >= 0 && value < (gint64)1 << 60;
}

/* The place in the part of a point of a track, however far outside. */
static gint64 place_of(const part *p, const guint8 *track, int point) {
  gint64 at = (gint64)fc_big(track + TRACK + point * POINT, 8);
  return is_place(at) ? (gint64)fc_big(track, 8) + at - p->lead : G_MAXINT64;
}

/* The point at which the part begins is its first one. */
static int first_point(const part *p, const guint8 *track, int points) {
  int first = 0;
  while (first + 1 < points && place_of(p, track, first + 1) <= 0) first++;
  return first;
}

/* Appends the track with the points that are in the part; FALSE, and nothing is, when none is. */
static gboolean add_track(const part *p, const guint8 *track, fc_blob *to) {
  gint64 begins = MAX((gint64)fc_big(track, 8) - p->lead, 0);
  int points = track[POINTS_AT], first = first_point(p, track, points), last = first;
  while (last < points && place_of(p, track, last) < p->frames) last++;
  guint8 *copy = begins < p->frames && last > first ? fc_blob_grow(to, TRACK) : NULL;
  if (!copy) return FALSE;
  memcpy(copy, track, TRACK);
  fc_put_big(copy, (guint64)begins, 8);
  copy[POINTS_AT] = (guint8)(last - first);
  /* They are numbered from 0 or 1 on. */
  const guint8 *from = track + TRACK + first * POINT;
  guint8 skipped = (guint8)(from[8] - MIN(from[8], 1));
  for (int i = first; i < last; i++, from += POINT) {
    guint8 *point = fc_blob_grow(to, POINT);
    if (!point) return FALSE;
    memcpy(point, from, POINT);
    fc_put_big(point, (guint64)(MAX(place_of(p, track, i), 0) - begins), 8);
    point[8] = (guint8)(from[8] - skipped);
  }
  return TRUE;
}

/* Whether something of a track is left though another begins at `next`, and it is where it can be. */
static gboolean is_left(const part *p, const guint8 *track, gint64 next) {
  return is_place((gint64)fc_big(track, 8)) && next > p->lead;
}

/* Appends the tracks but for the last; how many, or -1. */
static int add_tracks(const part *p, const guint8 *at, gsize left, int tracks, fc_blob *to, guint *left_out) {
  int kept = 0;
  for (int i = 0; i + 1 < tracks; i++) {
    gsize size = track_size(at, left);
    if (!size || track_size(at + size, left - size) == 0) return -1;
    if (is_left(p, at, (gint64)fc_big(at + size, 8)) && add_track(p, at, to))
      kept++;
    else
      (*left_out)++;
    at += size, left -= size;
  }
  return kept;
}

static gboolean add_end(const part *p, fc_blob *to) {
  guint8 *track = fc_blob_grow(to, TRACK);
  if (!track) return FALSE;
  memset(track, 0, TRACK);
  fc_put_big(track, (guint64)p->frames, 8);
  track[NUMBER_AT] = END;
  return TRUE;
}

gboolean fc_cue_sheet_part(const guint8 *block, gsize size, gint64 lead, gint64 frames, fc_blob *to,
                           guint *left_out) {
  const part p = {lead, frames};
  gsize start = to->size;
  if (size < BLOCK + HEAD || !block[BLOCK + COUNT_AT]) return FALSE;
  fc_blob_put(to, block, BLOCK + HEAD);
  int kept = add_tracks(&p, block + BLOCK + HEAD, size - BLOCK - HEAD, block[BLOCK + COUNT_AT], to, left_out);
  if (kept < 1 || !add_end(&p, to)) {
    to->size = start;
    return FALSE;
  }
  guint8 *head = to->data + start;
  gsize length = to->size - start - BLOCK;
  head[1] = (guint8)(length >> 16), head[2] = (guint8)(length >> 8), head[3] = (guint8)length;
  fc_put_big(head + BLOCK + LEAD_IN_AT, 0, 8);
  head[BLOCK + FLAGS_AT] &= (guint8)~CD;
  head[BLOCK + COUNT_AT] = (guint8)(kept + 1);
  return TRUE;
}
