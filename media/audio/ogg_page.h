/* SPDX-License-Identifier: MIT */
/*
 * ogg_page.h - the header of an Ogg page after RFC 3533: where what lies in it, and how long the page is.
 */
#ifndef FC_MEDIA_OGG_PAGE_H
#define FC_MEDIA_OGG_PAGE_H

#include "media/file/bytes.h"

G_BEGIN_DECLS

#define FC_OGG_MARK        "OggS"
#define FC_OGG_MARK_SIZE   4
#define FC_OGG_FLAGS_AT    5
#define FC_OGG_POSITION_AT 6  /* of the last sample that ends in it; 0 in the pages of headers */
#define FC_OGG_SERIAL_AT   14 /* of the logical stream that it belongs to */
#define FC_OGG_NUMBER_AT   18 /* of the page in its stream */
#define FC_OGG_SUM_AT      22
#define FC_OGG_SIZES_AT    26 /* how many sizes follow; their sum is that of the content */
#define FC_OGG_HEADER      27 /* bytes, and the sizes */
#define FC_OGG_SIZES_MOST  255
#define FC_OGG_HEADER_MOST (FC_OGG_HEADER + FC_OGG_SIZES_MOST)
#define FC_OGG_PAGE_MOST   (FC_OGG_HEADER_MOST + 255 * FC_OGG_SIZES_MOST)
#define FC_OGG_GOES_ON     255 /* the size of a piece that is not the last of its packet */

enum fc_ogg_flags { FC_OGG_CONTINUED = 1, FC_OGG_FIRST = 2, FC_OGG_LAST = 4 }; /* of its stream */

/* Of so much of a page, whether all of its header is there. */
static inline gboolean fc_ogg_header_is_whole(const guint8 *page, gsize held) {
  return held >= FC_OGG_HEADER && held >= FC_OGG_HEADER + (gsize)page[FC_OGG_SIZES_AT];
}

/* Bytes behind a whole header. */
static inline gsize fc_ogg_content(const guint8 *page) {
  gsize sum = 0;
  for (guint i = 0; i < page[FC_OGG_SIZES_AT]; i++) sum += page[FC_OGG_HEADER + i];
  return sum;
}

static inline gsize fc_ogg_page_size(const guint8 *page) {
  return FC_OGG_HEADER + page[FC_OGG_SIZES_AT] + fc_ogg_content(page);
}

G_END_DECLS

#endif
