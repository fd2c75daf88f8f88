/* SPDX-License-Identifier: MIT */
/*
 * chunks.h - the chunks of RIFF, RF64, RIFX, W64, AIFF and CAF files: one table says how a family lays them
 * out, one walker finds them, in a file as in a pipe.
 *
 * What a size in a header is worth is decided by three rules. It fits into the file: it is believed. It is
 * what writers leave that cannot go back (0, 0xffffffff, ...): the samples go to the end of the file. Else
 * the file is cut off.
 */
#ifndef FC_MEDIA_CHUNKS_H
#define FC_MEDIA_CHUNKS_H

#include "media/file/blob.h"
#include "media/file/input.h"
#include "media/file/tags.h"

G_BEGIN_DECLS

/* How a family lays out its chunks. */
typedef struct fc_chunk_layout {
  const char *magic;
  int format; /* libsndfile's, as it is written */
  fc_tag_family family;
  guint8 file_header; /* bytes before the first chunk */
  guint8 id_bytes;    /* 4, or 16 in W64, whose first four tell enough */
  guint8 size_bytes;  /* 4 or 8 */
  guint8 align;       /* chunks start at multiples of this */
  gboolean big_endian;
  gboolean counts_header;  /* a size includes the chunk's own header */
  guint8 total_at;         /* where the file's own size stands; 0: nowhere */
  guint8 total_leaves_out; /* bytes of the file not counted in it */
  const char *samples;     /* id of the samples' chunk */
} fc_chunk_layout;

/* As a file's first bytes tell; NULL when it has no chunks. */
const fc_chunk_layout *fc_chunk_layout_at(const fc_input *input);
/* Of one of libsndfile's formats; NULL when it has no chunks. */
const fc_chunk_layout *fc_chunk_layout_of(int format);

guint64 fc_chunk_get(const fc_chunk_layout *layout, const guint8 *from, int bytes);
void fc_chunk_put(fc_blob *to, const fc_chunk_layout *layout, guint64 value, int bytes);
/* A chunk's own header; `size` is that of its content. */
void fc_chunk_put_head(fc_blob *to, const fc_chunk_layout *layout, const char *id, guint64 size);
/* Zeros up to where the next chunk may begin. */
void fc_chunk_put_padding(fc_blob *to, const fc_chunk_layout *layout);

/* Is it what a writer leaves in a size that it cannot fill in? */
gboolean fc_chunk_size_is_placeholder(guint64 size);

/* So many bytes at a place: 1 when they are there, 0 where the file ends sooner, -1 with an error. */
int fc_chunk_read(fc_input *input, gint64 at, void *to, gsize size, GError **error);

/* ---- the walk ---------------------------------------------------------------- */

#define FC_CHUNKS_MAX 4096 /* more chunks than any real file has */

typedef struct fc_chunk {
  guint8 id[4];
  gint64 offset; /* of the content */
  gint64 size;   /* of the content; of the samples -1: to the end of the input */
} fc_chunk;

typedef struct fc_chunk_walk {
  fc_input *input;
  const fc_chunk_layout *layout;
  gint64 at;
  gint64 total;   /* where the file ends by its own account; -1: it does not say */
  guint64 data64; /* RF64: the size of the samples */
  gboolean has_ds64;
  gint64 missing; /* bytes that the file says it has and has not */
  guint count;
} fc_chunk_walk;

/* FALSE with an error when the input cannot be read. */
gboolean fc_chunk_walk_begin(fc_chunk_walk *walk, fc_input *input, const fc_chunk_layout *layout,
                             GError **error);
/* 1 with the next chunk, 0 at the end and at what is no chunk, -1 with an error. */
int fc_chunk_walk_next(fc_chunk_walk *walk, fc_chunk *chunk, GError **error);

G_END_DECLS

#endif
