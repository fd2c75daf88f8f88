/* SPDX-License-Identifier: MIT */
/*
 * batch.h - what the parts of a batch share: the list and its names (batch.c), tasks for the executor
 * (bring.c). Internal to media/batch.
 */
#ifndef FC_MEDIA_BATCH_H
#define FC_MEDIA_BATCH_H

#include "core/api/batch.h"
#include "core/device/runner.h"
#include "media/batch/collect.h"
#include "media/batch/names.h"
#include "media/batch/tar.h"

G_BEGIN_DECLS

/* The kind of output: none, a file each, archives, one array. */
typedef enum fc_batch_target { FC_TO_NOTHING, FC_TO_FILES, FC_TO_SHARDS, FC_TO_ARRAY } fc_batch_target;

struct fc_batch {
  fc_chain *chain;
  fc_batch_spec spec;
  fc_options options;
  fc_inputs inputs;
  gboolean archives; /* some input is one */
  fc_batch_target target;
  gboolean folder;
  char *pattern, *encoder;    /* of the output: the path, and its options */
  GHashTable *out_identities; /* the number of the input for each output file */
  fc_starting *starting;      /* the device, while files are listed; or NULL */

  /* while it runs */
  fc_batch_fn done;
  void *data;
  fc_record *record;
  fc_collect *collect;
  GHashTable *folders;   /* that exist already */
  GPtrArray *made;       /* folders that were made, in this order */
  GHashTable *written;   /* outputs of members, to find duplicates without a list */
  guint entry;           /* the next input */
  gint64 index;          /* number of the next sample */
  gint64 resumed, first; /* samples before `first` are in existing archives */
  fc_input *stream;      /* standard input, probed and not read yet; or NULL */
  fc_tar_reader *tar;    /* the current archive, */
  char *tar_name;        /* its name, */
  const fc_entry *tar_entry;
  char *key;     /* and its current sample */
  GError *error; /* that ends the batch */
};

/* The output of one input, which `named` identifies; NULL: none. g_free. */
char *fc_batch_output(const fc_batch *batch, const fc_named *named, gboolean found, gboolean pass);
/* Whether an input is an archive. */
gboolean fc_batch_is_archive(const fc_batch *batch, const char *path);

/* fc_tasks.next: the next task of this part of the batch whose output does not exist yet. */
fc_task *fc_batch_bring(void *batch);
/* Starts again with the first one. */
void fc_batch_rewind(fc_batch *batch);
/* Makes the folder of a path; FALSE with an error. */
gboolean fc_batch_need_folder(fc_batch *batch, const char *path, GError **error);

G_END_DECLS

#endif
