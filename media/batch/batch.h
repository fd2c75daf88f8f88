/* SPDX-License-Identifier: MIT */
/*
 * batch.h - what the parts of a batch share: the list and its names (batch.c), what is brought to the
 * executor (bring.c). Internal to media/batch.
 */
#ifndef FC_MEDIA_BATCH_H
#define FC_MEDIA_BATCH_H

#include "core/api/batch.h"
#include "media/batch/collect.h"
#include "media/batch/names.h"
#include "media/batch/tar.h"

G_BEGIN_DECLS

/* Where outputs go: nowhere, to a file each, to archives, to one array. */
typedef enum fc_batch_target { FC_TO_NOTHING, FC_TO_FILES, FC_TO_SHARDS, FC_TO_ARRAY } fc_batch_target;

struct fc_batch {
  fc_chain *chain;
  fc_batch_spec spec;
  fc_options options;
  fc_inputs inputs;
  gboolean archives; /* some input is one */
  fc_batch_target target;
  gboolean folder;
  char *pattern, *encoder;    /* of the output: the path, and the options behind it */
  GHashTable *out_identities; /* of files that outputs are, or will be: the number of the input */

  /* while it runs */
  fc_batch_fn done;
  void *data;
  fc_record *record;
  fc_collect *collect;
  GHashTable *folders;   /* that are there */
  GPtrArray *made;       /* folders that were made, in this order */
  GHashTable *written;   /* outputs of members, where no list tells that two are one */
  guint entry;           /* the next input */
  gint64 index;          /* of the next sample */
  gint64 resumed, first; /* samples ahead of `first` are in archives that are there */
  fc_input *stream;      /* standard input, looked at and not read yet; or NULL */
  fc_tar_reader *tar;    /* the archive at hand, */
  char *tar_name;        /* as it is called, */
  const fc_entry *tar_entry;
  char *key;     /* and the sample at hand in it */
  GError *error; /* that ends all */
};

/* The output of one input; `named` tells which; NULL: there is none. g_free. */
char *fc_batch_output(const fc_batch *batch, const fc_named *named, gboolean found, gboolean pass);
/* Whether an input is an archive. */
gboolean fc_batch_is_archive(const fc_batch *batch, const char *path);

/* fc_tasks.next: the next task of this part of the batch that is not there yet. */
fc_task *fc_batch_bring(void *batch);
/* The first one is brought again. */
void fc_batch_rewind(fc_batch *batch);
/* A path in a folder that is to be there; FALSE with an error. */
gboolean fc_batch_need_folder(fc_batch *batch, const char *path, GError **error);

G_END_DECLS

#endif
