/* SPDX-License-Identifier: MIT */
/*
 * ogg_watch.h - the pages of an Ogg stream that goes by: whether they are as they were written, for
 * libsndfile leaves out without a word what is not, and how the last one ends.
 */
#ifndef FC_MEDIA_OGG_WATCH_H
#define FC_MEDIA_OGG_WATCH_H

#include "media/file/internal.h"
#include "media/audio/ogg_page.h"

G_BEGIN_DECLS

/* Empty when zeroed. */
typedef struct fc_ogg_watch {
  gint64 position; /* bytes that have gone by */
  /* The page in hand: so much of its header, and how much of its content is to come. */
  guint8 header[FC_OGG_HEADER_MOST];
  gsize held;
  gint64 left;
  guint32 sum;
  gint64 begins, ends; /* where the last page ended */
  gint64 stray;        /* bytes behind it that are no page, from the first on that is not 0 */
  gboolean any;        /* there was a page */
  gboolean ended;      /* the last whole page was the last of a stream */
  gboolean chain;      /* and another has begun behind it */
  guint32 first;       /* the serial number of the stream that began first */
  guint32 number;      /* of its last page */
  gboolean headers;    /* which was one of headers */
  gboolean over;       /* it has ended */
  gboolean beside;     /* another has begun before it has gone on */
  guint running;       /* streams that have begun and not ended */
  gboolean
      damaged; /* a page is not what its checksum is of, does not follow the one before, or not at once */
  gint64 damaged_at;
} fc_ogg_watch;

/* The next bytes. */
void fc_ogg_watch_feed(fc_ogg_watch *watch, const guint8 *data, gsize size);
/* All of a seekable file. FALSE when it cannot be read. */
gboolean fc_ogg_watch_file(fc_ogg_watch *watch, fc_input *input, GError **error);
/* Whether it ends with a whole page that is the last of a stream, and the first stream has ended. */
gboolean fc_ogg_watch_is_whole(const fc_ogg_watch *watch);
/* What is to be said of what was seen beside or behind the stream that began first, or NULL. */
const char *fc_ogg_watch_remark(const fc_ogg_watch *watch);
/* What is wrong with what has gone by, if something is; g_free. */
char *fc_ogg_watch_fault(const fc_ogg_watch *watch);

/* Of a page, or the next part of one: the sum of what was before goes in. */
guint32 fc_ogg_sum(guint32 sum, const guint8 *data, gsize size);

G_END_DECLS

#endif
