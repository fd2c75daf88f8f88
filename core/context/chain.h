/* SPDX-License-Identifier: MIT */
/*
 * chain.h - a parsed chain: operators, their arguments and instances. Internal.
 */
#ifndef FC_CORE_CHAIN_H
#define FC_CORE_CHAIN_H

#include "core/context/context.h"
#include "core/context/host.h"
#include "core/registry/params.h"

G_BEGIN_DECLS

/* What `prepare` made, kept for the next run with the same device and formats. */
typedef struct fc_prepared {
  gboolean valid;
  const fc_backend *backend;
  int device, compute;
  fc_format in, out;
  void *state;
} fc_prepared;

typedef struct fc_stage {
  const fc_operator *op;
  char *text; /* as typed */
  fc_args *args;
  void *self;
  fc_stage_host host;
  fc_prepared prepared;
} fc_stage;

struct fc_chain {
  fc_context *context;
  guint n;
  fc_stage *stages;
  /* What the last run on a caller's stream made ready, and how to be rid of it. */
  void *device_run;
  void (*free_device_run)(void *run);
};

/* The prepared state of a stage, made now unless it is there already. */
gboolean fc_stage_prepare(fc_stage *stage, const fc_backend *backend, int device, int compute,
                          const fc_format *in, const fc_format *out, const void **state, GError **error);
/* Gives up what was made ready for a caller's stream: before any state is prepared anew, which
 * it may be using. */
void fc_chain_drop_device_run(fc_chain *chain);
/* Forgets prepared states, as after a device failed. */
void fc_chain_release_prepared(fc_chain *chain);

G_END_DECLS

#endif
