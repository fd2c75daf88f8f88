/* SPDX-License-Identifier: MIT */
/*
 * chunks.h - the chunks of RIFF, RF64, RIFX, W64, AIFF and CAF files: a table describes each family's
 * layout, and one walker finds chunks, in files and pipes.
 *
 * Three rules apply to a size in a header. If it fits the file, it is believed. If it is a placeholder of
 * writers that cannot seek back (0, 0xffffffff, ...), the samples go to the end of the file. Else the file is
 * truncated.
 */
#ifndef FC_MEDIA_CHUNKS_H
#define FC_MEDIA_CHUNKS_H

#include "media/file/blob.h"
#include "media/file/input.h"
#include "media/file/tags.h"

G_BEGIN_DECLS

/* The layout of a family's chunks. */
typedef struct fc_chunk_layout {
  const char *magic;
  int format; /* libsndfile's, as it is written */
  fc_tag_family family;
  guint8 file_header; /* bytes before the first chunk */
  guint8 id_bytes;    /* 4, or 16 in W64, whose first four suffice */
  guint8 size_bytes;  /* 4 or 8 */
  guint8 align;       /* chunks start at multiples of this */
  gboolean big_endian;
  gboolean counts_header;  /* a size includes the chunk's own header */
  guint8 total_at;         /* offset of the file's own size; 0: none */
  guint8 total_leaves_out; /* bytes of the file not counted in it */
  const char *samples;     /* id of the samples' chunk */
} fc_chunk_layout;

/* By a file's first bytes; NULL for formats without chunks. */
const fc_chunk_layout *fc_chunk_layout_at(const fc_input *input);
/* For one of libsndfile's formats; NULL if it has no chunks. */
const fc_chunk_layout *fc_chunk_layout_of(int format);

guint64 fc_chunk_get(const fc_chunk_layout *layout, const guint8 *from, int bytes);
void fc_chunk_put(fc_blob *to, const fc_chunk_layout *layout, guint64 value, int bytes);
/* A chunk's header; `size` is that of its content. */
void fc_chunk_put_head(fc_blob *to, const fc_chunk_layout *layout, const char *id, guint64 size);
/* Zero padding up to where the next chunk may begin. */
void fc_chunk_put_padding(fc_blob *to, const fc_chunk_layout *layout);

/* Is it a placeholder for a size that the writer could not fill in? */
gboolean fc_chunk_size_is_placeholder(guint64 size);

/* Reads so many bytes at an offset: 1 on success, 0 if the file ends before, -1 with an error. */
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
  gint64 total;   /* end of the file by its header; -1: not given */
  guint64 data64; /* RF64: the size of the samples */
  gboolean has_ds64;
  gint64 missing; /* bytes that are missing by the header's size */
  guint count;
} fc_chunk_walk;

/* FALSE with an error when the input cannot be read. */
gboolean fc_chunk_walk_begin(fc_chunk_walk *walk, fc_input *input, const fc_chunk_layout *layout,
                             GError **error);
/* 1 with the next chunk, 0 at the end or if there is no valid chunk, -1 with an error. */
int fc_chunk_walk_next(fc_chunk_walk *walk, fc_chunk *chunk, GError **error);

G_END_DECLS

#endif
