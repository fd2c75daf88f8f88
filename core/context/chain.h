/* SPDX-License-Identifier: MIT */
/*
 * chain.h - a parsed chain: operators, their arguments and instances. Internal.
 */
#ifndef FC_CORE_CHAIN_H
#define FC_CORE_CHAIN_H

#include "core/base/linear.h"
#include "core/context/context.h"
#include "core/context/host.h"
#include "core/registry/params.h"

G_BEGIN_DECLS

/* Further inputs that one stage may have. */
#define FC_INPUTS_MOST 8

/*
 * What `prepare` made for element types, channels, layout and device - and extents, where the backend is
 * FC_BACKEND_SHAPED. Kept by its stage from run to run and from size to size; the least recently used are
 * freed.
 */
typedef struct fc_prepared {
  gint references; /* runs that use it, plus one for the stage; atomic */
  const fc_backend *backend;
  gint32 device;
  int compute;
  guint joined;                 /* stages from its own on that are one cascade; 0: itself alone */
  const struct fc_joined *made; /* joined by algebra; NULL: the operator's own instance */
  double *numbers;              /* for its edges, in the device's memory; NULL: on the CPU, or it has none */
  guint n_in;
  fc_format *in; /* n_in formats, without the extents that prepare was not given */
  fc_format out;
  void *state;
} fc_prepared;

/* A further input: a file that the command named, or a view of the library's caller. */
typedef struct fc_stage_input {
  char *path;
  fc_view view; /* used where path is NULL */
} fc_stage_input;

/* An operator's instance for one sample rate, where some of the arguments are times. */
typedef struct fc_instance {
  double rate;
  fc_args *args; /* with times in samples */
  void *self;
} fc_instance;

/* Stages of a chain that one instance does at once, multiplied out (FC_LINEAR). */
typedef struct fc_joined {
  guint n;     /* stages, from that on which keeps it */
  int compute; /* what it was made for, without extents */
  fc_format in, out;
  const fc_operator *op; /* NULL: there is none for them */
  void *self;
  fc_linear_map map;
  fc_linear_steps *steps;
  char *text; /* "conv1d of 301 taps" */
} fc_joined;

typedef struct fc_stage {
  const fc_operator *op;
  char *text; /* as typed */
  fc_args *args;
  void *self;           /* NULL where the arguments have times: then there is one per rate */
  GPtrArray *instances; /* fc_instance; NULL: none yet */
  GPtrArray *made;      /* fc_joined of this stage and those behind it; NULL: none yet */
  fc_stage_host host;
  guint n_inputs;
  fc_stage_input *inputs;
  GPtrArray *prepared; /* fc_prepared, most recently used last */
} fc_stage;

struct fc_chain {
  fc_context *context;
  guint n;
  fc_stage *stages;
  /* Runs kept ready, see api/ready.h; most recently used last. */
  GPtrArray *ready;
  GPtrArray *workers; /* instances for the workers of batches, with what they have prepared */
};

/* Whether some of the arguments are times. */
static inline gboolean fc_stage_is_timed(const fc_stage *stage) {
  return stage->args && stage->args->timed;
}

/* The two-pass interface, if the operator uses it with these arguments; else NULL. */
const fc_two_passes *fc_stage_passes(const fc_stage *stage);

/* The operator's instance for a signal of this rate (0: not known). Where the arguments have times an
 * instance is made for each rate, and lives as long as the chain. FALSE: a time is out of range, or create
 * failed. */
gboolean fc_stage_instance(fc_stage *stage, double rate, void **self, GError **error);

/* The recursive sections of a stage whose operator has FC_CASCADE, as its `design` tells them. */
gboolean fc_stage_sections(fc_stage *stage, double rate, fc_section *sections, guint room, guint *count,
                           GError **error);

/* The format without extents, except that of channels, unless the backend is shaped: as prepare is given it.
 */
fc_format fc_format_without_extents(const fc_format *f, gboolean shaped);

/* What is known of `n` stages from this one on, with these formats; NULL: nothing yet. */
fc_joined *fc_stage_find_joined(const fc_stage *stage, guint n, int compute, const fc_format *in,
                                const fc_format *out);
/* Records it, whose other members are set already; it then lives as long as the chain. */
void fc_stage_keep_joined(fc_stage *stage, fc_joined *joined);
/* Frees it, which no plan has used. */
void fc_stage_drop_joined(fc_stage *stage, fc_joined *joined);

/* The prepared state of a stage, or of `joined` from it on as one cascade, or of stages as `made` joins them;
 * made now unless it is there already; one reference. */
fc_prepared *fc_stage_prepare(fc_stage *stage, guint joined, const fc_joined *made, const fc_backend *backend,
                              gint32 device, int compute, guint n_in, gboolean any_size,
                              const fc_format *const *in, const fc_format *out, GError **error);
void fc_prepared_unref(fc_stage *stage, fc_prepared *prepared); /* NULL is allowed */
/* Instance number `i` of the chain for a batch, from 0 (the chain itself); kept from one batch to the
 * next. */
fc_chain *fc_chain_worker(fc_chain *chain, guint i, GError **error);
/* Gives the stages the seed and names that random numbers of the run depend on. */
void fc_chain_tell_random(fc_chain *chain, const fc_options *options);
/* Drops kept runs and prepared states, as after a device failed. */
void fc_chain_forget(fc_chain *chain);

G_END_DECLS

#endif
