/* SPDX-License-Identifier: MIT */
/*
 * host.h - what the engine offers to an operator: the function table of plugin.h.
 *
 * Each stage of a chain has a host of its own, so that a sentence said by one of its
 * callbacks, on whatever thread, is found again by the caller. The first sentence
 * since the last fc_stage_host_take wins: later ones are its consequences.
 */
#ifndef FC_CORE_HOST_H
#define FC_CORE_HOST_H

#include "core/contract/filterchain.h"

#include <pthread.h>

G_BEGIN_DECLS

typedef void (*fc_measured_fn)(const fc_measurement *value, void *data);

typedef struct fc_stage_host {
  fc_host base; /* first: callbacks get its address */
  pthread_mutex_t mutex;
  char message[512];
  char *remark; /* said in negotiate; g_free */
  fc_context *context;
  fc_random random;        /* of the run in hand */
  const int *cancel;       /* of the run in hand, or NULL; atomic */
  fc_measured_fn measured; /* during report only */
  void *measured_data;
} fc_stage_host;

void fc_stage_host_init(fc_stage_host *host, fc_context *context);
void fc_stage_host_clear(fc_stage_host *host);

/* Says which operator's callback this thread is in, from now to the end of the block: for whoever must tell
 * what went wrong in it (fc_running_operator). NULL: none. */
void fc_enter_operator(const char *name);
static inline fc_status fc_left_operator(fc_status status) {
  fc_enter_operator(NULL);
  return status;
}
/* The status that a callback of the operator returns: FC_CALLED(op->name, op->report(host, self)). */
#define FC_CALLED(name, call) (fc_enter_operator(name), fc_left_operator(call))

/* What the operator offers by this name, or NULL: asks it. */
const void *fc_operator_extension(const fc_operator *op, const char *name);

/* Turns the status of a callback into a GError that begins with the operator's name;
 * TRUE for FC_OK. `doing` completes "failed while ..." when nothing was said. */
gboolean fc_stage_host_check(fc_stage_host *host, const char *name, const char *doing, fc_status status,
                             GError **error);
/* The same for what was done on a device, which the message then names: "conv1d on cuda:0: ...". */
gboolean fc_stage_host_check_on(fc_stage_host *host, const char *name, int device, const char *doing,
                                fc_status status, GError **error);

G_END_DECLS

#endif
