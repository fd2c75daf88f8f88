/* SPDX-License-Identifier: MIT */
/* ogg_pages.c - see ogg_pages.h. Pages after RFC 3533. */
#include "media/ogg_pages.h"

#include <string.h>

#include "media/ogg_watch.h"

#define SERIAL    1
#define CONTINUED 1
#define GOES_ON   255 /* the size of a piece that is not the last of its packet */

/* Size of the page that begins the data, or 0 while that cannot be told. */
static gsize page_size(const guint8 *data, gsize size) {
  return fc_ogg_header_is_whole(data, size) ? fc_ogg_page_size(data) : 0;
}

/* Codecs make none: libogg does of one that it had no memory for, be it samples or what they are decoded by.
 */
static gboolean has_empty_packet(const guint8 *page) {
  guint8 before = page[FC_OGG_FLAGS_AT] & CONTINUED ? GOES_ON : 0;
  for (const guint8 *piece = page + FC_OGG_HEADER, *end = piece + page[FC_OGG_SIZES_AT]; piece < end;
       piece++) {
    if (*piece == 0 && before != GOES_ON) return TRUE;
    before = *piece;
  }
  return FALSE;
}

static gboolean write_page(fc_ogg_pages *pages, gsize size, GError **error) {
  guint8 *page = pages->page->data;
  memcpy(&pages->position, page + FC_OGG_POSITION_AT, sizeof pages->position);
  pages->position = GINT64_FROM_LE(pages->position);
  pages->ended = (page[FC_OGG_FLAGS_AT] & FC_OGG_LAST) != 0;
  fc_ogg_put(page + FC_OGG_SERIAL_AT, SERIAL);
  fc_ogg_put(page + FC_OGG_SUM_AT, 0);
  fc_ogg_put(page + FC_OGG_SUM_AT, fc_ogg_sum(0, page, size));
  if (!fc_output_write(pages->output, page, size, error)) return FALSE;
  g_byte_array_remove_range(pages->page, 0, (guint)size);
  return TRUE;
}

gboolean fc_ogg_pages_write(fc_ogg_pages *pages, const void *from, gsize size, GError **error) {
  gsize whole;
  g_byte_array_append(pages->page, from, (guint)size);
  while ((whole = page_size(pages->page->data, pages->page->len)) && whole <= pages->page->len) {
    if (memcmp(pages->page->data, FC_OGG_MARK, FC_OGG_MARK_SIZE) != 0)
      return fc_fail(error, FC_FATAL, "%s: an Ogg page begins wrongly", pages->name);
    if (has_empty_packet(pages->page->data))
      return fc_fail(error, FC_NO_MEMORY, "%s: no memory to encode it", pages->name);
    if (!write_page(pages, whole, error)) return FALSE;
  }
  return TRUE;
}

gboolean fc_ogg_pages_complete(const fc_ogg_pages *pages, gint64 position) {
  return pages->page->len == 0 && pages->ended && pages->position >= position;
}
