/* SPDX-License-Identifier: MIT */
/*
 * tar.h - archives in the form of WebDataset: read from a file or a pipe, one member after the other, and
 * written with the same bytes for the same members.
 *
 * Our own code rather than libarchive: the needed part of the format (ustar, pax and GNU names and sizes) is
 * a few hundred lines, without the many formats, filters and attributes that a hostile file could choose
 * from; and the bytes that are written do not depend on a library's version.
 */
#ifndef FC_MEDIA_TAR_H
#define FC_MEDIA_TAR_H

#include "media/file/input.h"
#include "media/file/output.h"

G_BEGIN_DECLS

typedef struct fc_tar_reader fc_tar_reader;

/* Whether a file's first bytes are those of an archive, which may be empty. */
gboolean fc_tar_is(const fc_input *input);
/* Takes ownership of the input, also on failure. */
fc_tar_reader *fc_tar_open(fc_input *input, GError **error);
void fc_tar_free(fc_tar_reader *tar); /* NULL is allowed */

/* The next regular file: its path (g_free) and size. 1; 0 at the end; -1 with an error. The rest of the
 * previous member is skipped. */
int fc_tar_next(fc_tar_reader *tar, char **path, gint64 *size, GError **error);
/* The member's content. More than `most` bytes, and sparse members, are FC_UNSUPPORTED, after which reading
 * may continue. */
GBytes *fc_tar_content(fc_tar_reader *tar, gint64 most, GError **error);
/* So far: all members, and those of them that are links or devices. */
gint64 fc_tar_members(const fc_tar_reader *tar);
gint64 fc_tar_skipped(const fc_tar_reader *tar);

/* Writes a header with fixed owner, time and mode, the content, and padding. */
gboolean fc_tar_put(fc_output *output, const char *path, GBytes *content, GError **error);
/* Writes the end of the archive. */
gboolean fc_tar_put_end(fc_output *output, GError **error);
/* How many bytes fc_tar_put writes. */
gint64 fc_tar_size(const char *path, gint64 size);

/* The length of the part of a path that all members of a sample share: up to the first dot of its last
 * component. */
gsize fc_tar_key(const char *path);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_tar_reader, fc_tar_free)

G_END_DECLS

#endif
