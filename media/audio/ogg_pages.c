/* SPDX-License-Identifier: MIT */
/* ogg_pages.c - see ogg_pages.h. Pages after RFC 3533. */
#include "media/audio/ogg_pages.h"

#include <string.h>

#include "media/audio/ogg_watch.h"

#define SERIAL 1

/* Size of the page that begins the data, or 0 while that cannot be told. */
static gsize page_size(const guint8 *data, gsize size) {
  return fc_ogg_header_is_whole(data, size) ? fc_ogg_page_size(data) : 0;
}

/* Codecs make none: libogg does of one that it had no memory for, be it samples or what they are decoded by.
 */
static gboolean has_empty_packet(const guint8 *page) {
  guint8 before = page[FC_OGG_FLAGS_AT] & FC_OGG_CONTINUED ? FC_OGG_GOES_ON : 0;
  for (const guint8 *piece = page + FC_OGG_HEADER, *end = piece + page[FC_OGG_SIZES_AT]; piece < end;
       piece++) {
    if (*piece == 0 && before != FC_OGG_GOES_ON) return TRUE;
    before = *piece;
  }
  return FALSE;
}

static gboolean write_page(fc_ogg_pages *pages, guint8 *page, GError **error) {
  gsize size = fc_ogg_page_size(page);
  memcpy(&pages->position, page + FC_OGG_POSITION_AT, sizeof pages->position);
  pages->position = GINT64_FROM_LE(pages->position);
  pages->ended = (page[FC_OGG_FLAGS_AT] & FC_OGG_LAST) != 0;
  fc_put_little(page + FC_OGG_SERIAL_AT, SERIAL, 4);
  fc_put_little(page + FC_OGG_NUMBER_AT, pages->number++, 4);
  fc_put_little(page + FC_OGG_SUM_AT, 0, 4);
  fc_put_little(page + FC_OGG_SUM_AT, fc_ogg_sum(0, page, size), 4);
  return fc_output_write(pages->output, page, size, error);
}

/* ---- headers ------------------------------------------------------------ */

/* A page in the making: its content lies where it does behind all the sizes that there can be. */
typedef struct draft {
  guint8 bytes[FC_OGG_PAGE_MOST];
  gsize content;
  gboolean goes_on; /* its last packet does, in the next page */
} draft;

/* Of no samples yet, as far as a packet ends in it. */
static gboolean write_draft(fc_ogg_pages *pages, draft *page, GError **error) {
  guint8 *bytes = page->bytes, *sizes = bytes + FC_OGG_HEADER, count = bytes[FC_OGG_SIZES_AT];
  gboolean ends = FALSE;
  for (int i = 0; i < count; i++) ends |= sizes[i] != FC_OGG_GOES_ON;
  memset(bytes + FC_OGG_POSITION_AT, ends ? 0 : 0xff, 8);
  memmove(sizes + count, bytes + FC_OGG_HEADER_MOST, page->content);
  if (!write_page(pages, bytes, error)) return FALSE;
  bytes[FC_OGG_FLAGS_AT] = page->goes_on ? FC_OGG_CONTINUED : 0;
  bytes[FC_OGG_SIZES_AT] = 0;
  page->content = 0;
  return TRUE;
}

static gboolean put_packet(fc_ogg_pages *pages, draft *page, const fc_blob *packet, GError **error) {
  gsize at = 0, piece;
  do {
    if (page->bytes[FC_OGG_SIZES_AT] == FC_OGG_SIZES_MOST && !write_draft(pages, page, error)) return FALSE;
    piece = MIN(packet->size - at, FC_OGG_GOES_ON);
    page->bytes[FC_OGG_HEADER + page->bytes[FC_OGG_SIZES_AT]++] = (guint8)piece;
    memcpy(page->bytes + FC_OGG_HEADER_MOST + page->content, packet->data + at, piece);
    page->content += piece;
    page->goes_on = piece == FC_OGG_GOES_ON;
    at += piece;
  } while (page->goes_on);
  return TRUE;
}

/* All but the first, which has a page to itself; samples begin in a new one. */
static gboolean put_headers(fc_ogg_pages *pages, int count, GError **error) {
  g_auto(fc_blob) comments = {0};
  g_autofree draft *page = g_new0(draft, 1);
  memcpy(page->bytes, FC_OGG_MARK, FC_OGG_MARK_SIZE);
  fc_ogg_headers_put(&pages->headers, pages->comments, &comments);
  if (!fc_blob_check(&comments, pages->name, error)) return FALSE;
  for (int i = 1; i < count; i++) {
    const fc_blob *packet = i == 1 ? &comments : &pages->headers.packets[i];
    if (!fc_blob_check(packet, pages->name, error) || !put_packet(pages, page, packet, error)) return FALSE;
  }
  return write_draft(pages, page, error);
}

/* Held back until all of them are there. */
static gboolean take_header(fc_ogg_pages *pages, guint8 *page, GError **error) {
  fc_ogg_headers *headers = &pages->headers;
  gboolean first = !headers->begun;
  fc_ogg_headers_take(headers, page);
  if (!fc_blob_check(&headers->packets[0], pages->name, error)) return FALSE;
  int count = fc_ogg_headers_count(headers);
  headers->over = headers->whole >= count;
  if (first) return write_page(pages, page, error);
  return !headers->over || put_headers(pages, count, error);
}

/* ---- the stream ----------------------------------------------------------- */

gboolean fc_ogg_pages_write(fc_ogg_pages *pages, const void *from, gsize size, GError **error) {
  gsize whole;
  g_byte_array_append(pages->page, from, (guint)size);
  while ((whole = page_size(pages->page->data, pages->page->len)) && whole <= pages->page->len) {
    guint8 *page = pages->page->data;
    if (memcmp(page, FC_OGG_MARK, FC_OGG_MARK_SIZE) != 0)
      return fc_fail(error, FC_FATAL, "%s: an Ogg page begins wrongly", pages->name);
    if (has_empty_packet(page))
      return fc_fail(error, FC_NO_MEMORY, "%s: no memory to encode it", pages->name);
    gboolean header = pages->comments && !pages->headers.over;
    if (!(header ? take_header : write_page)(pages, page, error)) return FALSE;
    g_byte_array_remove_range(pages->page, 0, (guint)whole);
  }
  return TRUE;
}

void fc_ogg_pages_clear(fc_ogg_pages *pages) {
  if (pages->page) g_byte_array_unref(pages->page);
  fc_ogg_headers_clear(&pages->headers);
}

gboolean fc_ogg_pages_complete(const fc_ogg_pages *pages, gint64 position) {
  return pages->page->len == 0 && pages->ended && pages->position >= position;
}
