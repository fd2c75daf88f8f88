/* SPDX-License-Identifier: MIT */
/*
 * record.h - a small text file beside the outputs of a batch (".filterchain-batch-HASH"), so that a run which
 * was interrupted can be resumed, and only by the same batch:
 *
 *   filterchain batch 1
 *   id SHA-256 of the chain, its tables, the options and the form of the outputs
 *   chain -p gain:2
 *   shard 0 next 1000 failed 2 bytes 10487296      an archive that is in place, a line each
 *
 * It is written when a batch begins, and not rewritten by one that resumes it. Outputs are written whole or
 * not at all, so a file that is not older than the record is a complete output of this batch.
 */
#ifndef FC_MEDIA_RECORD_H
#define FC_MEDIA_RECORD_H

#include "media/file/media.h"

#include <sys/stat.h>

G_BEGIN_DECLS

typedef struct fc_record {
  char *path;
  struct timespec begun; /* in the time of its file system */
  gboolean resumed;      /* it existed before */
  GArray *shards;        /* of fc_record_shard, from the first one on */
} fc_record;

typedef struct fc_record_shard {
  gint64 number;
  gint64 next;   /* the first sample after this archive */
  gint64 failed; /* samples that failed in it */
  gint64 bytes;
} fc_record_shard;

/* Creates a record, or with `resume` reads the existing one; FC_INVALID if that is of another batch.
 * `chain` is for the reader of the file. */
fc_record *fc_record_open(const char *path, const char *id, const char *chain, gboolean resume,
                          GError **error);
void fc_record_free(fc_record *record); /* NULL is allowed */

/* Whether this output of the batch exists already. */
gboolean fc_record_has(const fc_record *record, const char *output);
/* Records that an archive is in place. */
gboolean fc_record_add(fc_record *record, const fc_record_shard *shard, GError **error);
/* Removes the archives from number `n` of the list on. */
gboolean fc_record_cut(fc_record *record, guint n, GError **error);

G_END_DECLS

#endif
