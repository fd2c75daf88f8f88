/* SPDX-License-Identifier: MIT */
/*
 * collect.h - what becomes of outputs that are kept in memory: samples of archives, cut into shards, or the
 * rows of one array. They come in order, so the bytes are the same for any number of workers.
 */
#ifndef FC_MEDIA_COLLECT_H
#define FC_MEDIA_COLLECT_H

#include "media/batch/record.h"
#include "media/file/output.h"

G_BEGIN_DECLS

typedef struct fc_collect fc_collect;

/* Archives by a pattern with {shard} (or one without), numbered from `first` in steps of `step`, each of at
 * most so many samples and bytes, 0 is any. A sample larger than that has an archive of its own. Those that
 * the record has, which may be NULL, are there already. */
fc_collect *fc_collect_shards(const char *pattern, unsigned flags, gint64 first, gint64 step, gint64 items,
                              gint64 bytes, fc_record *record);
/* One .npy with a further axis ahead of those of each, which must be alike. */
fc_collect *fc_collect_array(const char *path, unsigned flags);
void fc_collect_free(fc_collect *collect); /* NULL is allowed */

/* The next member of sample number `index`; of an array, the next row. `bytes` NULL: it has failed, and the
 * whole sample is left out. What cannot be part of it, though nothing is wrong with the output, is
 * FC_UNSUPPORTED. */
gboolean fc_collect_add(fc_collect *collect, gint64 index, const char *path, GBytes *bytes, GError **error);
/* There are no more; `next` is the number after the last sample. Puts the output in place. */
gboolean fc_collect_end(fc_collect *collect, gint64 next, GError **error);

G_END_DECLS

#endif
