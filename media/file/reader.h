/* SPDX-License-Identifier: MIT */
/*
 * reader.h - bytes of an input one after the other, from pipes and files alike, with
 * one system call a block however small the pieces.
 */
#ifndef FC_MEDIA_READER_H
#define FC_MEDIA_READER_H

#include "media/file/internal.h"

G_BEGIN_DECLS

#define FC_READER_BLOCK 65536

typedef struct fc_reader {
  fc_input *input; /* borrowed; from its start on */
  gint64 position; /* bytes given out */
  gsize start, end;
  guint8 block[FC_READER_BLOCK];
} fc_reader;

/* Fewer than `size` only at the end; -1 with an error. */
gssize fc_reader_read(fc_reader *reader, void *to, gsize size, GError **error);

/* Whether bytes or the end come within so many milliseconds, so that reading does not wait. */
gboolean fc_reader_is_ready(const fc_reader *reader, int patience);

/* Keeps what is still to be read from a pipe, `most` bytes of it, in a temporary file, so that its size is
 * known: position 0 of the input is from then on where the reader stands. */
gboolean fc_reader_spool(fc_reader *reader, gint64 most, GError **error);

G_END_DECLS

#endif
