/* SPDX-License-Identifier: MIT */
/*
 * ogg_pages.h - an Ogg stream on its way out gets a serial number that is always the
 * same. libsndfile draws one at random, and equal runs shall give equal files.
 */
#ifndef FC_MEDIA_OGG_PAGES_H
#define FC_MEDIA_OGG_PAGES_H

#include "media/output.h"

G_BEGIN_DECLS

typedef struct fc_ogg_pages {
  fc_output *output; /* borrowed */
  GByteArray *page;  /* what has come of the page that is not yet whole */
} fc_ogg_pages;

/* Takes the next bytes of the stream, in pieces of any size, and writes whole pages. */
gboolean fc_ogg_pages_write(fc_ogg_pages *pages, const void *from, gsize size, GError **error);
/* At the end of the stream nothing may be left over. */
gboolean fc_ogg_pages_complete(const fc_ogg_pages *pages);

G_END_DECLS

#endif
