/* SPDX-License-Identifier: MIT */
/* ogg_headers.c - see ogg_headers.h. Pages after RFC 3533, packets after Vorbis I and RFC 7845. */
#include "media/audio/ogg_headers.h"

#include <string.h>

enum { WHAT = 0, COMMENTS = 1 };
enum { VORBIS, OPUS };

/* Of all of them, cover art included. */
#define BYTES_MAX ((gsize)64 << 20)

/* How the packets begin, and how many they are. */
static const struct {
  const char *what, *comments;
  int count;
} codecs[] = {[VORBIS] = {"\1vorbis", "\3vorbis", 3}, [OPUS] = {"OpusHead", "OpusTags", 2}};

static gboolean begins(const fc_blob *packet, const char *with) {
  return packet->size >= strlen(with) && memcmp(packet->data, with, strlen(with)) == 0;
}

static int codec_of(const fc_ogg_headers *headers) {
  for (int i = 0; i < (int)G_N_ELEMENTS(codecs); i++)
    if (begins(&headers->packets[WHAT], codecs[i].what)) return i;
  return -1;
}

void fc_ogg_headers_clear(fc_ogg_headers *headers) {
  fc_blob_clear(&headers->page);
  for (int i = 0; i < FC_OGG_HEADERS_MOST; i++) fc_blob_clear(&headers->packets[i]);
}

void fc_ogg_headers_take(fc_ogg_headers *headers, const guint8 *page) {
  guint32 serial = (guint32)fc_little(page + FC_OGG_SERIAL_AT, 4);
  const guint8 *content = page + FC_OGG_HEADER + page[FC_OGG_SIZES_AT];
  if (!headers->begun) headers->serial = serial;
  headers->begun = TRUE;
  if (serial != headers->serial) return;
  for (int i = 0; i < page[FC_OGG_SIZES_AT] && headers->whole < FC_OGG_HEADERS_MOST; i++) {
    guint8 piece = page[FC_OGG_HEADER + i];
    fc_blob *packet = &headers->packets[headers->whole];
    if (packet->size + FC_OGG_GOES_ON <= BYTES_MAX) fc_blob_put(packet, content, piece);
    content += piece;
    headers->whole += piece != FC_OGG_GOES_ON;
  }
}

/* Takes the whole pages that are there; what is left begins the next one. */
static void take_pages(fc_ogg_headers *headers) {
  fc_blob *held = &headers->page;
  gsize at = 0, size;
  while (!headers->over && fc_ogg_header_is_whole(held->data + at, held->size - at) &&
         (size = fc_ogg_page_size(held->data + at)) <= held->size - at) {
    headers->over = memcmp(held->data + at, FC_OGG_MARK, FC_OGG_MARK_SIZE) != 0;
    if (!headers->over) fc_ogg_headers_take(headers, held->data + at);
    headers->over |= headers->whole > COMMENTS;
    at += size;
  }
  held->size -= at;
  if (at) memmove(held->data, held->data + at, held->size);
  if (headers->over) fc_blob_clear(held);
}

void fc_ogg_headers_feed(fc_ogg_headers *headers, const void *from, gsize size) {
  if (headers->over) return;
  fc_blob_put(&headers->page, from, size);
  headers->over = headers->page.failed;
  headers->packets[COMMENTS].failed |= headers->page.failed;
  take_pages(headers);
}

int fc_ogg_headers_count(const fc_ogg_headers *headers) {
  int codec = codec_of(headers);
  return codec < 0 ? 0 : codecs[codec].count;
}

gboolean fc_ogg_headers_comments(const fc_ogg_headers *headers, fc_comments *comments) {
  int codec = codec_of(headers);
  const fc_blob *packet = &headers->packets[COMMENTS];
  comments->fields.failed |= packet->failed;
  if (codec < 0) return TRUE; /* of which there is no sound either */
  if (headers->whole <= COMMENTS || !begins(packet, codecs[codec].comments)) return FALSE;
  gsize head = strlen(codecs[codec].comments);
  gboolean whole = fc_comments_read(comments, packet->data + head, packet->size - head);
  if (whole && codec == OPUS) fc_comments_read_behind(comments, packet->data + head, packet->size - head);
  return whole;
}

gboolean fc_ogg_comments_read(fc_input *input, fc_comments *comments) {
  fc_ogg_headers headers = {0};
  g_autofree guint8 *block = g_malloc(FC_OGG_PAGE_MOST);
  gssize got = 1;
  for (gint64 at = 0; got > 0 && !headers.over; at += got) {
    got = fc_input_read_at(input, at, block, FC_OGG_PAGE_MOST, NULL);
    if (got > 0) fc_ogg_headers_feed(&headers, block, (gsize)got);
  }
  gboolean whole = fc_ogg_headers_comments(&headers, comments);
  fc_ogg_headers_clear(&headers);
  return whole;
}

/* In Vorbis a bit behind them says that they are all. */
void fc_ogg_headers_put(const fc_ogg_headers *headers, const fc_comments *comments, fc_blob *to) {
  const fc_blob *packet = &headers->packets[COMMENTS];
  int codec = codec_of(headers);
  gsize head = codec < 0 ? 0 : strlen(codecs[codec].comments);
  head = MIN(head, packet->size);
  to->failed |= packet->failed;
  fc_blob_put(to, packet->data, head);
  fc_comments_put(comments, packet->data + head, packet->size - head, to);
  if (codec == VORBIS) fc_blob_put_little(to, 1, 1);
  if (codec == OPUS) fc_blob_join(to, &comments->behind);
}
