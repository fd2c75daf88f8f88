/* SPDX-License-Identifier: MIT */
/*
 * ogg_pages.h - an Ogg stream on its way out gets a serial number that is always the
 * same. libsndfile draws one at random, and equal runs shall give equal files. And it gets comments of ours,
 * as libsndfile writes ten.
 */
#ifndef FC_MEDIA_OGG_PAGES_H
#define FC_MEDIA_OGG_PAGES_H

#include "media/audio/ogg_headers.h"
#include "media/file/output.h"

G_BEGIN_DECLS

typedef struct fc_ogg_pages {
  const char *name; /* for messages; borrowed, as the output */
  fc_output *output;
  GByteArray *page;            /* what has come of the page that is not yet whole */
  gint64 position;             /* that the last page ends at, in samples of the codec */
  gboolean ended;              /* it was the end of the stream */
  guint32 number;              /* of the next one */
  const fc_comments *comments; /* in the place of the encoder's; borrowed, or NULL */
  fc_ogg_headers headers;      /* where there are: what has come of them */
} fc_ogg_pages;

void fc_ogg_pages_clear(fc_ogg_pages *pages);

/* Takes the next bytes of the stream, in pieces of any size, and writes whole pages. */
gboolean fc_ogg_pages_write(fc_ogg_pages *pages, const void *from, gsize size, GError **error);
/* At the end of the stream nothing may be left over, and it ends, not before a position: codecs that had no
 * memory leave out what they like, without a word. */
gboolean fc_ogg_pages_complete(const fc_ogg_pages *pages, gint64 position);

G_END_DECLS

#endif
