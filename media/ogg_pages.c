/* SPDX-License-Identifier: MIT */
/* ogg_pages.c - see ogg_pages.h. Pages after RFC 3533. */
#include "media/ogg_pages.h"

#include <string.h>

#include "media/ogg_watch.h"

#define SERIAL 1

/* Size of the page that begins the data, or 0 while that cannot be told. */
static gsize page_size(const guint8 *data, gsize size) {
  return fc_ogg_header_is_whole(data, size) ? fc_ogg_page_size(data) : 0;
}

static gboolean write_page(fc_ogg_pages *pages, gsize size, GError **error) {
  guint8 *page = pages->page->data;
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
      return fc_fail(error, FC_FATAL, "an Ogg page begins wrongly");
    if (!write_page(pages, whole, error)) return FALSE;
  }
  return TRUE;
}

gboolean fc_ogg_pages_complete(const fc_ogg_pages *pages) {
  return pages->page->len == 0;
}
