/* SPDX-License-Identifier: MIT */
/*
 * collect.h - collects outputs that are kept in memory: samples in archives, divided into shards, or the rows
 * of one array. They arrive in order, so the bytes are the same for any number of workers.
 */
#ifndef FC_MEDIA_COLLECT_H
#define FC_MEDIA_COLLECT_H

#include "media/batch/record.h"
#include "media/file/output.h"

G_BEGIN_DECLS

typedef struct fc_collect fc_collect;

/* Archives named by a pattern with {shard} (or one without), numbered from `first` in steps of `step`,
 * each with at most this many samples and bytes; 0: no limit. A sample larger than that gets an archive of
 * its own. Archives in the record, which may be NULL, exist already. Several are written at a time, by
 * threads; `waiting` bytes at most wait for them. */
fc_collect *fc_collect_shards(const char *pattern, unsigned flags, gint64 first, gint64 step, gint64 items,
                              gint64 bytes, gsize waiting, fc_record *record);
/* One .npy with a new first axis; all rows must have the same shape. */
fc_collect *fc_collect_array(const char *path, unsigned flags);
void fc_collect_free(fc_collect *collect); /* NULL is allowed */

/* The next member of sample number `index`; for an array, the next row. `bytes` NULL: it has failed, and
 * the whole sample is left out. A row that does not fit is FC_UNSUPPORTED; the output is still valid then. */
gboolean fc_collect_add(fc_collect *collect, gint64 index, const char *path, GBytes *bytes, GError **error);
/* Ends the output and puts it in place; `next` is the number after the last sample. */
gboolean fc_collect_end(fc_collect *collect, gint64 next, GError **error);

G_END_DECLS

#endif
