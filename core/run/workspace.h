/* SPDX-License-Identifier: MIT */
/*
 * workspace.h - where chunks are worked on: the buffers of links, scratch, and slots.
 *
 * A workspace belongs to one runner. Its slots hold what a chunk keeps to itself from reading to writing -
 * inputs, output, partial measurements; on a device also their pinned twins - while the links in between are
 * shared, as one chunk after another is computed. On the CPU each worker has a workspace of one slot, or all
 * share one; a device has one of three slots, whose chunks are uploaded, computed and downloaded at the same
 * time. State that goes from chunk to chunk (fc_carry) is the run's, whichever workspace a chunk is in.
 */
#ifndef FC_CORE_WORKSPACE_H
#define FC_CORE_WORKSPACE_H

#include "core/device/lease.h"
#include "core/run/result.h"
#include "core/run/states.h"

G_BEGIN_DECLS

/* What a stage with carried state hands from chunk to chunk. */
typedef struct fc_carry {
  void *state;    /* the operator's; NULL: the stage carries none */
  void *zeros;    /* as many, on a device: what it begins with */
  fc_buffer tail; /* the end of its output so far, which the next chunk may look back at */
  gint64 done;    /* elements of its output on the cut axis that were made */
  gint64 turn;    /* number of the chunk that is next; guarded by the run's mutex */
} fc_carry;

/* Waits until chunk `number` may run stage `stage`, or lets the next one; NULL: chunks come in order anyway.
 */
typedef gboolean (*fc_turn_fn)(void *data, guint stage, gint64 number, gboolean begin);

typedef struct fc_slot {
  guint index;       /* in its workspace and runner */
  fc_states *states; /* of the plan that its chunk was cut by */
  fc_chunk *chunk;
  gint64 number;               /* of the chunk, in the order that they were read in */
  fc_buffer in, out;           /* in the memory of the device */
  fc_buffer host_in, host_out; /* pinned twins; unused on the CPU */
  fc_buffer *sides, *host_sides;
  fc_buffer result;         /* where the chunk's last link ended up */
  void **measured;          /* a stage: partial results; NULL unless it measures */
  gint64 *measured_strides; /* bytes between batch entries */
  guint64 key;              /* of the chunk, for graphs */
} fc_slot;

typedef struct fc_workspace {
  fc_context *context;
  fc_lease *lease;
  fc_runner *runner;
  fc_lease *helper; /* the CPU, for stages that leave a device; else NULL */
  fc_trace *trace;  /* of the run in hand, or NULL */
  fc_states *states;
  GPtrArray *memory;                 /* of the lease's */
  fc_buffer *links;                  /* n + 1; first and last are pointed at a slot's */
  fc_buffer *bounce_in, *bounce_out; /* a stage: host copies of the links around one that leaves the device */
  void *scratch, *host_scratch;      /* of every thread, one after another */
  guint32 *notes;                    /* FC_COUNTED_WORDS a stage, which the device can write (notes.h) */
  gint64 *stored;                    /* a stage: so many values it has made on the CPU; atomic */
  gboolean plain;                    /* graphs are not to be used: a stage refuses capture */
  guint n_slots;
  fc_slot slots[FC_SLOTS];
  fc_carry *carries; /* the run's: a stage */
  fc_turn_fn turn;
  void *turn_data;
  gint64 bytes_up, bytes_down; /* of what is computed in it, in turn */
} fc_workspace;

/* For the states' plan; takes the lease over, also on failure. FALSE with FC_NO_MEMORY when smaller chunks
 * might help. `borrowed`: on a caller's stream, where nothing may wait; link 0 and the last are the caller's.
 */
gboolean fc_workspace_init(fc_workspace *w, fc_lease *lease, fc_states *states, gboolean borrowed,
                           GError **error);
/* `broken`: the device has failed, and its runner is not used again. */
void fc_workspace_clear(fc_workspace *w, gboolean broken);

/* The run's carried state, in the memory of this workspace; `carries` has a place for each stage. */
gboolean fc_carries_init(fc_workspace *w, fc_carry *carries, GError **error);
/* Makes it that of a new stream; on a device within enqueue. */
gboolean fc_carries_reset(fc_workspace *w, GError **error);

void *fc_workspace_alloc(fc_workspace *w, gsize bytes, gboolean host, const char *what, GError **error);
/* A buffer for the longest stretch of a link. */
gboolean fc_workspace_buffer(fc_workspace *w, const fc_format *format, const gint64 capacity[FC_AXES],
                             gboolean host, gboolean packed, fc_buffer *buffer, GError **error);

/* Points the links' buffers at the chunk's stretches. */
void fc_workspace_point(fc_workspace *w, fc_slot *slot);
/* Computes - on a device: enqueues - the chunk's stages from stage `first` on, borders included, in buffers
 * that have been pointed. */
gboolean fc_workspace_stages(fc_workspace *w, fc_slot *slot, guint first, GError **error);
/* The stages from `stage` on as one kernel, which makes its border: `stages` tells how many; 0: there is none
 * for them, or not yet, and nothing was enqueued. */
gboolean fc_workspace_run_fused(fc_workspace *w, fc_slot *slot, guint stage, guint *stages, GError **error);
/* The slot's chunk has been enqueued: asks for kernels that it went without. */
void fc_workspace_passed(const fc_slot *slot);
/* One stage between two views whose border is made. `scratch` is a device's; NULL: the workspace's own. */
gboolean fc_workspace_run(fc_workspace *w, fc_slot *slot, guint stage, const fc_view *in, const fc_view *out,
                          void *scratch, GError **error);
/* Whether the stage's operator may be asked to make its border itself, and asking it: `done` FALSE: it cannot
 * with these views, and nothing has been enqueued. */
gboolean fc_workspace_may_make_border(const fc_workspace *w, const fc_slot *slot, guint stage);
gboolean fc_workspace_run_edges(fc_workspace *w, fc_slot *slot, guint stage, const fc_view *in,
                                const fc_view *out, gboolean *done, GError **error);

/* Can every stage's work be captured in a graph? */
gboolean fc_states_capturable(const fc_states *states);

G_END_DECLS

#endif
