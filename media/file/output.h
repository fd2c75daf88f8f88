/* SPDX-License-Identifier: MIT */
/*
 * output.h - a file that appears complete or not at all.
 *
 * Bytes go to a temporary beside the target, every write is checked, and commit
 * renames it into place; free without commit removes it. The target's mode and owner
 * are kept, a symbolic link is followed, and the file behind it replaced. Where the
 * target is no regular file (a device, a pipe, standard output) bytes go straight
 * there, or, when the writer must go back to its header, by way of an unlinked
 * temporary. Where the folder may not be written but the file may, or rename does
 * not work (a file that is a mount point), commit copies into the file, having
 * reserved the space first.
 *
 * One thread at a time. Costs one copy of what is written in small pieces.
 */
#ifndef FC_MEDIA_OUTPUT_H
#define FC_MEDIA_OUTPUT_H

#include "media/file/media.h"

G_BEGIN_DECLS

typedef struct fc_output fc_output;

#define FC_OUTPUT_NO_CLOBBER 1u /* fail when the target is a file that exists */
#define FC_OUTPUT_SYNC       2u /* have it on the disk before it is renamed */
#define FC_OUTPUT_SEEKS      4u /* fc_output_write_at must work: a pipe is given the file when it is complete */

#define FC_OUTPUT_LIVE 8u /* what goes into a pipe goes at once */

/* The flags that the user's options ask for. */
unsigned fc_output_flags_of(const fc_media_options *options);

/* Whether it could be opened, as far as that can be told without touching the disk. */
gboolean fc_output_check(const char *path, unsigned flags, GError **error);

/* `path` may be "-", /dev/stdout or /dev/fd/N. */
fc_output *fc_output_open(const char *path, unsigned flags, GError **error);
/* The same, or, where the options say so, one that is kept in memory and handed over by commit. */
fc_output *fc_output_open_for(const char *path, unsigned flags, const fc_media_options *options,
                              GError **error);

/* Bytes that are free where a new file would be written; negative where there will be none (a pipe, a
 * device), or nobody knows. */
double fc_output_room(const char *path);

gboolean fc_output_write(fc_output *output, const void *from, gsize size, GError **error);
/* Does fc_output_write_at work? Always with FC_OUTPUT_SEEKS, else unless it is a pipe. */
gboolean fc_output_seekable(const fc_output *output);
/* Writes over what was written before; the end stays where it is unless passed. */
gboolean fc_output_write_at(fc_output *output, gint64 offset, const void *from, gsize size, GError **error);
/* Bytes so far. */
gint64 fc_output_size(const fc_output *output);
/* Reads back, where it is seekable. Fewer than `size` at the end; -1 on failure. */
gssize fc_output_read_at(fc_output *output, gint64 offset, void *to, gsize size);

/* Removes temporaries from a folder that belong to no process any more, as after SIGKILL. */
void fc_output_sweep(const char *folder);

/* Puts it in place. Once; after a failure nothing has changed at the target. */
gboolean fc_output_commit(fc_output *output, GError **error);
void fc_output_free(fc_output *output); /* NULL is allowed */

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_output, fc_output_free)

G_END_DECLS

#endif
