/* SPDX-License-Identifier: MIT */
/* ogg_watch.c - see ogg_watch.h. Pages after RFC 3533. */
#include "media/audio/ogg_watch.h"

#include <string.h>

#include "media/audio/audio_length.h"

#define MARK  FC_OGG_MARK_SIZE
#define BLOCK 65536

/* Polynomial 0x04c11db7, most significant bit first, from 0, not inverted; four bits at a time. */
guint32 fc_ogg_sum(guint32 sum, const guint8 *data, gsize size) {
  static const guint32 table[16] = {0x00000000, 0x04c11db7, 0x09823b6e, 0x0d4326d9, 0x130476dc, 0x17c56b6b,
                                    0x1a864db2, 0x1e475005, 0x2608edb8, 0x22c9f00f, 0x2f8ad6d6, 0x2b4bcb61,
                                    0x350c9b64, 0x31cd86d3, 0x3c8ea00a, 0x384fbdbd};
  for (gsize i = 0; i < size; i++) {
    sum ^= (guint32)data[i] << 24;
    sum = sum << 4 ^ table[sum >> 28];
    sum = sum << 4 ^ table[sum >> 28];
  }
  return sum;
}

static void find_damage(fc_ogg_watch *watch) {
  if (!watch->damaged) watch->damaged_at = watch->begins;
  watch->damaged = TRUE;
}

/* Its checksum was made with nothing in its place. */
static void begin_page(fc_ogg_watch *watch) {
  static const guint8 nothing[4];
  if (watch->any && watch->begins != watch->ends) find_damage(watch);
  watch->stray = 0;
  watch->sum = fc_ogg_sum(0, watch->header, FC_OGG_SUM_AT);
  watch->sum = fc_ogg_sum(watch->sum, nothing, sizeof nothing);
  watch->sum = fc_ogg_sum(watch->sum, watch->header + FC_OGG_SUM_AT + 4, watch->held - FC_OGG_SUM_AT - 4);
  watch->left = (gint64)fc_ogg_content(watch->header);
}

/* Of the stream that is read: one that is missing, or there twice, has a checksum that is right. Who joins a
 * live stream is given its headers, and then what comes now. */
static void number_page(fc_ogg_watch *watch) {
  static const guint8 nowhere[8];
  guint32 number = (guint32)fc_little(watch->header + FC_OGG_NUMBER_AT, 4);
  gboolean joins = watch->headers && number > watch->number;
  if (watch->any && number != watch->number + 1 && !joins) find_damage(watch);
  watch->number = number;
  watch->headers = memcmp(watch->header + FC_OGG_POSITION_AT, nowhere, sizeof nowhere) == 0;
}

static void end_page(fc_ogg_watch *watch) {
  guint32 serial = (guint32)fc_little(watch->header + FC_OGG_SERIAL_AT, 4);
  guint8 flags = watch->header[FC_OGG_FLAGS_AT];
  if (fc_little(watch->header + FC_OGG_SUM_AT, 4) != watch->sum) find_damage(watch);
  if (!watch->any) watch->first = serial;
  gboolean of_first = serial == watch->first;
  if (of_first && !watch->over) number_page(watch);
  watch->ended = (flags & FC_OGG_LAST) != 0;
  watch->running += (flags & FC_OGG_FIRST) != 0;
  watch->running -= watch->ended && watch->running > 0;
  watch->over |= watch->ended && of_first;
  watch->beside |= !watch->over && (flags & FC_OGG_FIRST) && !of_first;
  watch->any = TRUE;
  watch->held = 0;
  watch->ends = watch->position;
}

static gboolean header_is_whole(const fc_ogg_watch *watch) {
  return fc_ogg_header_is_whole(watch->header, watch->held);
}

/* Those in hand, but for as many as may be the first of a page. */
static void pass_over(fc_ogg_watch *watch, gsize kept) {
  gboolean zero = watch->held == 1 && !watch->header[0];
  if (watch->stray || !zero) watch->stray += (gint64)(watch->held - kept);
  watch->held = kept;
}

/* One more byte of a header; what begins otherwise than one is passed over. */
static void take_header(fc_ogg_watch *watch, guint8 byte) {
  if (watch->held == 0) watch->begins = watch->position;
  watch->header[watch->held++] = byte;
  if (watch->held <= MARK && memcmp(watch->header, FC_OGG_MARK, watch->held) != 0) {
    pass_over(watch, byte == 'O');
    watch->header[0] = byte;
    watch->begins = watch->position;
  }
  watch->chain |= watch->ended && watch->held == FC_OGG_FLAGS_AT + 1 && (byte & FC_OGG_FIRST);
  if (header_is_whole(watch)) begin_page(watch);
}

void fc_ogg_watch_feed(fc_ogg_watch *watch, const guint8 *data, gsize size) {
  while (size) {
    gsize some = 1;
    if (header_is_whole(watch)) {
      some = (gsize)MIN((gint64)size, watch->left);
      watch->sum = fc_ogg_sum(watch->sum, data, some);
      watch->left -= (gint64)some;
    } else
      take_header(watch, *data);
    data += some;
    size -= some;
    watch->position += (gint64)some;
    if (header_is_whole(watch) && watch->left == 0) end_page(watch);
  }
}

gboolean fc_ogg_watch_file(fc_ogg_watch *watch, fc_input *input, GError **error) {
  g_autofree guint8 *block = g_malloc(BLOCK);
  gssize got;
  while ((got = fc_input_read_at(input, watch->position, block, BLOCK, error)) > 0)
    fc_ogg_watch_feed(watch, block, (gsize)got);
  return got == 0;
}

gboolean fc_ogg_watch_is_whole(const fc_ogg_watch *watch) {
  return watch->ended && watch->over && watch->held < MARK;
}

const char *fc_ogg_watch_remark(const fc_ogg_watch *watch) {
  if (watch->beside) return FC_OGG_BESIDE;
  if (watch->chain) return FC_OGG_CHAIN;
  gboolean goes_on = watch->stray + (gint64)watch->held > FC_INPUT_FEW;
  return goes_on && fc_ogg_watch_is_whole(watch) ? FC_AUDIO_GOES_ON : NULL;
}

char *fc_ogg_watch_fault(const fc_ogg_watch *watch) {
  if (!watch->damaged) return NULL;
  return g_strdup_printf("is damaged: what it has from byte %" G_GINT64_FORMAT " on is not what was written",
                         watch->damaged_at);
}
