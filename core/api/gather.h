/* SPDX-License-Identifier: MIT */
/*
 * gather.h - images of a batch that share one run on a device: frames of equal format are the entries of one
 * view, so that the chain has one launch for all of them, and each output is the one of a run by itself, to
 * the bit.
 *
 *     open   tasks with equal keys (ends.h)     one source and one sink each
 *     bring  decoded on the host and uploaded   frame by frame; or decoded on the device (fc_media.decode)
 *     run    the chain on the device's stream   as fc_chain_run_device does
 *     leave  downloaded, frame by frame         a sink each, some frames while others are downloaded
 *
 * An image that cannot be read fails alone. Whatever concerns the frames together - a value that was clipped,
 * a NaN, random numbers, which depend on the input's name, no memory - is left to runs one by one, which say
 * it of each file.
 */
#ifndef FC_CORE_GATHER_H
#define FC_CORE_GATHER_H

#include <pthread.h>

#include "core/api/batch.h"

G_BEGIN_DECLS

/* The most frames of a run, and tasks of a call. */
#define FC_GATHER_MOST 64

typedef struct fc_gather fc_gather;

/* Sets what concerns this task alone in the options of all. */
void fc_task_set_options(fc_task *task, fc_options *options);

/* For one thread and one chain, which outlives it. `first`, of all workers of a batch: their first runs are
 * prepared one after the other, as the driver serves them one after the other anyway, and the first of them
 * is not to wait for the last. */
fc_gather *fc_gather_new(fc_chain *chain, pthread_mutex_t *first);
void fc_gather_free(fc_gather *gather); /* NULL is allowed */

/* Runs tasks, each of which then has a result or an error. */
void fc_gather_run(fc_gather *gather, fc_task *const *tasks, guint n, const fc_options *options);

G_END_DECLS

#endif
