/* SPDX-License-Identifier: MIT */
/*
 * host.h - the function table of plugin.h that the engine gives to an operator.
 *
 * Each stage of a chain has its own host, so that a message from one of its callbacks, on whatever thread,
 * can be found by the caller. The first message since the last fc_stage_host_take is kept: later ones are
 * consequences of it.
 */
#ifndef FC_CORE_HOST_H
#define FC_CORE_HOST_H

#include "core/contract/filterchain.h"

#include <pthread.h>

G_BEGIN_DECLS

typedef void (*fc_measured_fn)(const fc_measurement *value, void *data);

typedef struct fc_stage_host {
  fc_host base; /* must be first: callbacks are given its address */
  pthread_mutex_t mutex;
  char message[512];
  char *remark; /* the remark of negotiate; g_free */
  fc_context *context;
  fc_random random;        /* of the current run */
  gint draws;              /* the operator has asked for `random`; atomic */
  const int *cancel;       /* of the current run, or NULL; atomic */
  fc_measured_fn measured; /* set during report only */
  void *measured_data;
} fc_stage_host;

void fc_stage_host_init(fc_stage_host *host, fc_context *context);
void fc_stage_host_clear(fc_stage_host *host);

/* Records which operator's callback this thread runs, from here to the end of the block, so that a crash
 * can be attributed to it (fc_running_operator). NULL: none. */
void fc_enter_operator(const char *name);
static inline fc_status fc_left_operator(fc_status status) {
  fc_enter_operator(NULL);
  return status;
}
/* The status that a callback of the operator returns: FC_CALLED(op->name, op->report(host, self)). */
#define FC_CALLED(name, call) (fc_enter_operator(name), fc_left_operator(call))

/* The operator's extension of this name, or NULL. */
const void *fc_operator_extension(const fc_operator *op, const char *name);

/* Turns the status of a callback into a GError that begins with the operator's name; TRUE for FC_OK.
 * `doing` completes "failed while ..." when the operator gave no message. */
gboolean fc_stage_host_check(fc_stage_host *host, const char *name, const char *doing, fc_status status,
                             GError **error);
/* The same for work on a device, which the message names: "conv1d on cuda:0: ...". */
gboolean fc_stage_host_check_on(fc_stage_host *host, const char *name, int device, const char *doing,
                                fc_status status, GError **error);

G_END_DECLS

#endif
