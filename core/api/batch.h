/* SPDX-License-Identifier: MIT */
/*
 * batch.h - many runs of a chain, several at a time, on what is brought one after the other: the executor
 * under fc_chain_run_files and fc_batch_run.
 */
#ifndef FC_CORE_BATCH_H
#define FC_CORE_BATCH_H

#include "core/contract/filterchain.h"

G_BEGIN_DECLS

/* One of them. Whoever makes it fills the first part; the executor the second. */
typedef struct fc_task {
  char *input, *output; /* as fc_chain_run_file takes them; g_free */
  GBytes *content;      /* of the input, if it is no file; NULL */
  char *format;         /* of the output, if its name does not tell; NULL */
  char *random_name;    /* as in fc_options; NULL: by the input */
  gboolean keep;        /* the output is no file: its bytes become `made` */
  gboolean pass;        /* there is nothing to run */
  gint64 index, bytes;  /* the maker's */

  GBytes *made;
  fc_result *result;
  GError *why;
} fc_task;

void fc_task_free(fc_task *task); /* NULL is allowed */

typedef struct fc_tasks {
  /* The next one, or NULL when there are no more. From any thread, one call at a time. */
  fc_task *(*next)(void *data);
  /* After each, in the order in which they were brought, from the thread that called; the task is freed
   * afterwards. FALSE: no more are begun. */
  gboolean (*done)(fc_task *task, void *data);
  void *data;
  gint64 most; /* how many there are at most; 0: nobody knows */
} fc_tasks;

/* How many failed; -1 with an error when none could be begun. Contents and results that wait take no more
 * than a quarter of the context's memory, beside one of each worker. */
gint64 fc_chain_run_tasks(fc_chain *chain, const fc_tasks *tasks, const fc_options *options, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_task, fc_task_free)

G_END_DECLS

#endif
