/* SPDX-License-Identifier: MIT */
/*
 * batch.h - many runs of a chain, several at a time, on tasks that are fetched one after the other: the
 * executor under fc_chain_run_files and fc_batch_run.
 */
#ifndef FC_CORE_BATCH_H
#define FC_CORE_BATCH_H

#include "core/contract/filterchain.h"

G_BEGIN_DECLS

/* One task. Its creator fills the first part, the executor the second. */
typedef struct fc_task {
  char *input, *output; /* as fc_chain_run_file takes them; g_free */
  GBytes *content;      /* the content, if the input is not a file; else NULL */
  char *format;         /* format of the output, if its name does not give one; else NULL */
  char *random_name;    /* as in fc_options; NULL: derived from the input */
  gboolean keep;        /* the output is not a file: its bytes are stored in `made` */
  gboolean pass;        /* there is nothing to run; the task is only passed to `done` */
  gint64 index, bytes;  /* for the creator's use */

  GBytes *made;
  fc_result *result;
  GError *why;
} fc_task;

void fc_task_free(fc_task *task); /* NULL is allowed */

typedef struct fc_tasks {
  /* Returns the next task, or NULL at the end. Any thread, one call at a time. */
  fc_task *(*next)(void *data);
  /* Called after each task, in the order of `next`, from the caller's thread; the task is freed
   * afterwards. FALSE: no further task is begun. */
  gboolean (*done)(fc_task *task, void *data);
  void *data;
  gint64 most; /* upper bound on the number of tasks; 0: not known */
} fc_tasks;

/* Whether a batch can have these options; fc_chain_run_tasks asks too. */
gboolean fc_tasks_check(fc_chain *chain, const fc_options *options, GError **error);

/* Returns how many tasks failed; -1 with an error when none could be begun. Inputs and results that wait
 * take at most a quarter of the context's memory, besides one of each per worker. */
gint64 fc_chain_run_tasks(fc_chain *chain, const fc_tasks *tasks, const fc_options *options, GError **error);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_task, fc_task_free)

G_END_DECLS

#endif
