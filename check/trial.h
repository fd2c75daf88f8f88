/* SPDX-License-Identifier: MIT */
/*
 * trial.h - one instance of an operator on one backend: create, negotiate, prepare, and process on the whole
 * output or in pieces, with every buffer guarded.
 */
#ifndef FC_CHECK_TRIAL_H
#define FC_CHECK_TRIAL_H

#include "core/registry/params.h"
#include "check/host.h"
#include "check/source.h"

/* The operator's backend for a kind of device (fc_device_kind), or NULL. */
const fc_backend *backend_of(const fc_operator *op, int kind);

#define MOST_INPUTS 4 /* the signal, and the inputs given by parameters */

typedef struct trial {
  const fc_operator *op;
  const fc_backend *backend;
  const char *who; /* "conv1d on cpu": for messages */
  host host;
  fc_args *args; /* with times in samples */
  void *self, *state;
  gboolean prepared;
  int compute;
  guint n_in; /* 0: a generator; then ins[0] is only the desired output format */
  fc_format ins[MOST_INPUTS], out;
  fc_need needs[MOST_INPUTS]; /* border FC_BORDER_UNSET: none was chosen */
  double error_gain;
  gsize measure_bytes, carry_bytes;
  gboolean shaped; /* prepared only for these extents */
} trial;

typedef enum outcome { RAN, REFUSED, FAILED } outcome;

/* Creates the instance and negotiates the formats of all inputs that the arguments name; `wanted` is the
 * desired element type. REFUSED: host.sentence has the reason. trial_finish in either case. */
outcome trial_begin(trial *t, const fc_operator *op, const fc_backend *backend, const test_device *device,
                    const char *who, const fc_args *args, const fc_format *ins, int wanted, int compute,
                    verdict *v);
/* Tells the instance the length of a signal whose extent on X was FC_UNKNOWN, as a host does at the end;
 * the prepared state is kept. */
outcome trial_learn(trial *t, gint64 extent, verdict *v);
/* The same instance for other sizes; the prepared state is kept. */
outcome trial_resize(trial *t, const fc_format *ins, int wanted, verdict *v);
/* Prepares; REFUSED if the device is not supported. */
outcome trial_prepare(trial *t, verdict *v);
void trial_finish(trial *t, verdict *v);

/* How the output is computed. */
typedef struct manner {
  int layout_in, layout_out; /* see layout.h */
  gboolean cut;              /* into random pieces, else in one */
  gboolean shared;           /* the pieces lie in one buffer, as tiles do; else each in its own, as chunks */
  gboolean threads;          /* from two threads at once */
  gboolean held;             /* the stream is held back meanwhile, in one piece; on a device */
  gboolean twice;            /* each piece once before it counts */
  gboolean open;             /* views that do not look at the end do not know it: FC_UNKNOWN on X */
  unsigned char poison;      /* what outputs, scratch and the surroundings of inputs hold before */
  guint64 seed;              /* of the cuts, strides and gaps */
} manner;

typedef struct result {
  unsigned char *codes; /* dense, N Y X C, in the output's element type */
  gint64 count;
  guint32 notes[FC_NOTES];
  GArray *measured; /* of measured; NULL if the operator does not measure */
  guint pieces;
} result;

/* Runs it on the inputs' signals; false with a verdict. Carried state starts from the beginning. */
gboolean trial_run(trial *t, const source *signals, const manner *how, result *r, verdict *v);
void result_free(result *r);

/* The axis along which state is carried, and outputs come in order. */
int trial_time(const trial *t); /* may be all zeros */

#endif
