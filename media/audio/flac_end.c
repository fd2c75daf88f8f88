/* SPDX-License-Identifier: MIT */
/*
 * flac_end.c - see flac_end.h. Frames after RFC 9639: none says how long it is, but the checksum at its end
 * makes that of all of it 0, where zeros keep it. So the last frame is looked for, by its number, and summed
 * up to the end of the file.
 */
#include "media/audio/flac_end.h"

#include <string.h>

#include "media/file/bytes.h"

enum { INFO_AT = 8, INFO_SIZE = 18, HEADER_MOST = 16, BLOCK = 4096 };

/* More than libFLAC reads ahead, and than frames have whose size is not said. */
#define AHEAD_MOST ((gint64)64 << 10)
#define FRAME_MOST ((gint64)1 << 20)

typedef struct flac_info {
  guint64 block, total; /* samples */
  gint64 frame;         /* bytes of the largest; 0: not said */
} flac_info;

static gboolean read_info(fc_input *input, flac_info *info) {
  guint8 data[INFO_SIZE];
  if (fc_input_read_at(input, INFO_AT, data, sizeof data, NULL) != sizeof data) return FALSE;
  info->block = fc_big(data, 2);
  info->frame = (gint64)fc_big(data + 7, 3);
  info->total = fc_big(data + 13, 5) & (((guint64)1 << 36) - 1);
  return info->total > 0;
}

/* Most significant bit first, from 0. */
static guint sum(guint from, const guint8 *data, gsize size, int bits, guint polynomial) {
  const guint top = 1u << (bits - 1), mask = 2 * top - 1;
  for (gsize i = 0; i < size; i++) {
    from ^= (guint)data[i] << (bits - 8);
    for (int k = 0; k < 8; k++) from = (from << 1 ^ (from & top ? polynomial : 0)) & mask;
  }
  return from;
}

/* A number as UTF-8 has it, of up to 36 bits; its bytes, 0: it is none. */
static int coded_number(const guint8 *at, guint64 *value) {
  int more = 0;
  while (more < 8 && *at & 0x80 >> more) more++;
  if (more == 1 || more == 8) return 0;
  *value = more ? *at & 0x7f >> more : *at;
  for (int i = 1; i < more; i++) {
    if ((at[i] & 0xc0) != 0x80) return 0;
    *value = *value << 6 | (at[i] & 0x3f);
  }
  return MAX(more, 1);
}

/* Samples in a frame; `at` is passed by what says so, and by what says the rate. */
static guint64 samples_in(const guint8 *frame, const guint8 **at) {
  const int code = frame[2] >> 4, rate = frame[2] & 15;
  guint64 samples = code == 1  ? 192
                    : code < 6 ? (guint64)576 << MAX(code - 2, 0)
                               : (guint64)256 << MAX(code - 8, 0);
  if (code == 6 || code == 7) {
    samples = fc_big(*at, code - 5) + 1;
    *at += code - 5;
  }
  *at += rate == 12 ? 1 : rate == 13 || rate == 14 ? 2 : 0;
  return samples;
}

/* Whether the last frame begins here; there are HEADER_MOST bytes. */
static gboolean is_last(const guint8 *frame, const flac_info *info) {
  if (frame[0] != 0xff || (frame[1] & 0xfe) != 0xf8 || !(frame[2] >> 4)) return FALSE;
  const gboolean fixed = !(frame[1] & 1);
  guint64 number;
  int bytes = coded_number(frame + 4, &number);
  if (!bytes) return FALSE;
  const guint8 *at = frame + 4 + bytes;
  guint64 samples = samples_in(frame, &at), first = fixed ? number * info->block : number;
  return first + samples == info->total && sum(0, frame, (gsize)(at - frame), 8, 0x07) == *at;
}

/* Where the last frame begins, of those from `at` on; -1: nowhere. */
static gint64 find_last(fc_input *input, gint64 at, const flac_info *info) {
  guint8 block[BLOCK + HEADER_MOST];
  for (gssize got; at < input->size; at += BLOCK) {
    memset(block, 0, sizeof block);
    if ((got = fc_input_read_at(input, at, block, sizeof block, NULL)) <= 0) return -1;
    for (gssize i = 0; i < MIN(got, BLOCK); i++)
      if (is_last(block + i, info)) return at + i;
  }
  return -1;
}

gboolean fc_flac_goes_on(fc_input *input, gint64 reached) {
  guint8 block[BLOCK];
  flac_info info;
  if (fc_input_goes_on(input, reached)) return TRUE;
  if (!read_info(input, &info)) return FALSE;
  gint64 from = reached - AHEAD_MOST - (info.frame ? info.frame : FRAME_MOST);
  gint64 at = find_last(input, MAX(from, INFO_AT + INFO_SIZE), &info);
  if (at < 0) return FALSE;
  guint rest = 0;
  for (gssize got; at < reached && (got = fc_input_read_at(input, at, block, BLOCK, NULL)) > 0; at += got)
    rest = sum(rest, block, (gsize)got, 16, 0x8005);
  return rest != 0;
}
