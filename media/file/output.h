/* SPDX-License-Identifier: MIT */
/*
 * output.h - a file that appears complete or not at all.
 *
 * Bytes go to a temporary beside the target, every write is checked, and commit renames it into place; free
 * without commit removes it. The target's mode and owner are kept, a symbolic link is followed, and its
 * target replaced. If the target is not a regular file (a device, a pipe, standard output) bytes are written
 * directly or, if the writer must return to its header, through an unlinked temporary file. If the file may
 * be written but not the folder, or rename does not work (a file that is a mount point), commit copies into
 * the file, after reserving the space.
 *
 * One thread at a time. Costs one copy of what is written in small pieces.
 */
#ifndef FC_MEDIA_OUTPUT_H
#define FC_MEDIA_OUTPUT_H

#include "media/file/media.h"

G_BEGIN_DECLS

typedef struct fc_output fc_output;

#define FC_OUTPUT_NO_CLOBBER 1u /* fail if the target is an existing file */
#define FC_OUTPUT_SYNC       2u /* sync it to the disk before it is renamed */
#define FC_OUTPUT_SEEKS      4u /* fc_output_write_at must work: a pipe is written when the file is complete */

#define FC_OUTPUT_LIVE 8u /* data for a pipe are written at once */

/* The flags for the user's options. */
unsigned fc_output_flags_of(const fc_media_options *options);

/* Whether it could be opened, as far as that can be determined without touching the disk. */
gboolean fc_output_check(const char *path, unsigned flags, GError **error);

/* `path` may be "-", /dev/stdout or /dev/fd/N. */
fc_output *fc_output_open(const char *path, unsigned flags, GError **error);
/* The same or, depending on the options, one that is kept in memory and returned by commit. */
fc_output *fc_output_open_for(const char *path, unsigned flags, const fc_media_options *options,
                              GError **error);

/* Free bytes where a new file would be written; negative if there is none (a pipe, a device), or if it is
 * not known. */
double fc_output_room(const char *path);

/* About so many bytes will be written in all: what is kept in memory is not moved as it grows. */
void fc_output_expect(fc_output *output, gsize size);
gboolean fc_output_write(fc_output *output, const void *from, gsize size, GError **error);
/* Whether fc_output_write_at works: always with FC_OUTPUT_SEEKS, otherwise unless it is a pipe. */
gboolean fc_output_seekable(const fc_output *output);
/* Overwrites earlier bytes; the end does not move unless it is passed. */
gboolean fc_output_write_at(fc_output *output, gint64 offset, const void *from, gsize size, GError **error);
/* Bytes so far. */
gint64 fc_output_size(const fc_output *output);
/* Reads back, if seekable. Fewer than `size` at the end; -1 on failure. */
gssize fc_output_read_at(fc_output *output, gint64 offset, void *to, gsize size);

/* Removes temporary files of ended processes from a folder, as after SIGKILL. */
void fc_output_sweep(const char *folder);

/* Puts it in place. Once only; after a failure the target is unchanged. */
gboolean fc_output_commit(fc_output *output, GError **error);
void fc_output_free(fc_output *output); /* NULL is allowed */

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_output, fc_output_free)

G_END_DECLS

#endif
