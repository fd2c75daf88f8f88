/* SPDX-License-Identifier: MIT */
/*
 * tar.h - archives in the form of WebDataset: read from a file or a pipe, one member after the other, and
 * written with the same bytes for the same members.
 *
 * Of our own rather than libarchive's: what is needed of the format (ustar, pax and GNU names and sizes) is a
 * few hundred lines without a table of formats, filters and attributes behind them that a hostile file could
 * choose from; and the writer's bytes are fixed here, not by a library's version.
 */
#ifndef FC_MEDIA_TAR_H
#define FC_MEDIA_TAR_H

#include "media/file/input.h"
#include "media/file/output.h"

G_BEGIN_DECLS

typedef struct fc_tar_reader fc_tar_reader;

/* Whether a file's first bytes are those of an archive. */
gboolean fc_tar_is(const fc_input *input);
/* Takes the input over, also when it fails. */
fc_tar_reader *fc_tar_open(fc_input *input, GError **error);
void fc_tar_free(fc_tar_reader *tar); /* NULL is allowed */

/* The next regular file: its path (g_free) and size. 1; 0 at the end; -1 with an error. What is left of the
 * member before is skipped. */
int fc_tar_next(fc_tar_reader *tar, char **path, gint64 *size, GError **error);
/* What the member holds. One of more than `most` bytes is FC_UNSUPPORTED, and reading may go on behind it. */
GBytes *fc_tar_content(fc_tar_reader *tar, gint64 most, GError **error);

/* A header with owner, time and mode fixed, the content, and what fills up the block. */
gboolean fc_tar_put(fc_output *output, const char *path, GBytes *content, GError **error);
/* What stands at the end. */
gboolean fc_tar_put_end(fc_output *output, GError **error);
/* How many bytes fc_tar_put writes. */
gint64 fc_tar_size(const char *path, gint64 size);

/* Of a member's path: as many bytes as the members of one sample have in common, which is up to the first
 * point of its last part. */
gsize fc_tar_key(const char *path);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_tar_reader, fc_tar_free)

G_END_DECLS

#endif
