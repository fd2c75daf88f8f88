/* SPDX-License-Identifier: MIT */
/*
 * ogg_headers.h - the packets with which the first stream of an Ogg file begins: what it is, the comments,
 * and what Vorbis is decoded by.
 */
#ifndef FC_MEDIA_OGG_HEADERS_H
#define FC_MEDIA_OGG_HEADERS_H

#include "media/file/blob.h"
#include "media/audio/comments.h"
#include "media/audio/ogg_page.h"

G_BEGIN_DECLS

#define FC_OGG_HEADERS_MOST 3

/* Empty when zeroed. */
typedef struct fc_ogg_headers {
  fc_blob page; /* what has come of the page that is not yet whole */
  guint32 serial;
  gboolean begun;
  gboolean over; /* no more is wanted, or it is no Ogg */
  int whole;     /* packets that are */
  fc_blob packets[FC_OGG_HEADERS_MOST];
} fc_ogg_headers;

void fc_ogg_headers_clear(fc_ogg_headers *headers);

/* The next bytes, in pieces of any size, until the comments are over. */
void fc_ogg_headers_feed(fc_ogg_headers *headers, const void *from, gsize size);
/* A whole page of any stream. */
void fc_ogg_headers_take(fc_ogg_headers *headers, const guint8 *page);

/* How many there will be, once the first one is whole. */
int fc_ogg_headers_count(const fc_ogg_headers *headers);

/* FALSE when the comments, if any, are not all there. */
gboolean fc_ogg_headers_comments(const fc_ogg_headers *headers, fc_comments *comments);
/* The same of a seekable file. */
gboolean fc_ogg_comments_read(fc_input *input, fc_comments *comments);
/* Appends a packet like theirs with other comments. */
void fc_ogg_headers_put(const fc_ogg_headers *headers, const fc_comments *comments, fc_blob *to);

G_END_DECLS

#endif
