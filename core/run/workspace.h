/* SPDX-License-Identifier: MIT */
/*
 * workspace.h - where chunks are processed: the buffers of links, scratch, and slots.
 *
 * A workspace belongs to one runner. Its slots hold what a chunk needs for itself from reading to writing -
 * inputs, output, partial measurements; on a device also pinned copies of them - while the links in between
 * are shared, since chunks are computed one after another. On the CPU each worker has a workspace of one
 * slot, or all share one; a device has one of three slots, whose chunks are uploaded, computed and downloaded
 * concurrently. State that passes from chunk to chunk (fc_carry) belongs to the run, in whichever workspace a
 * chunk is.
 */
#ifndef FC_CORE_WORKSPACE_H
#define FC_CORE_WORKSPACE_H

#include "core/device/lease.h"
#include "core/run/result.h"
#include "core/run/states.h"

G_BEGIN_DECLS

/* What a stage with carried state passes from chunk to chunk. */
typedef struct fc_carry {
  void *state;    /* the operator's; NULL: the stage carries none */
  void *zeros;    /* on a device: as many zeros, its initial value */
  fc_buffer tail; /* the end of its output so far, which the next chunk may read */
  gint64 done;    /* elements of its output made so far, on the cut axis */
  gint64 turn;    /* number of the next chunk; guarded by the run's mutex */
} fc_carry;

/* Waits until chunk `number` may run stage `stage`, or lets the next one run; NULL: chunks come in order
 * anyway. */
typedef gboolean (*fc_turn_fn)(void *data, guint stage, gint64 number, gboolean begin);

typedef struct fc_slot {
  guint index;       /* in its workspace and runner */
  fc_states *states; /* of the plan by which its chunk was cut */
  fc_chunk *chunk;
  gint64 number;               /* of the chunk, in reading order */
  fc_buffer in, out;           /* in the memory of the device */
  fc_buffer host_in, host_out; /* pinned copies; unused on the CPU */
  fc_buffer *sides, *host_sides;
  fc_buffer result;         /* where the chunk's last link is */
  void **measured;          /* per stage: partial results; NULL unless it measures */
  gint64 *measured_strides; /* bytes between batch entries */
  guint64 key;              /* of the chunk, for graphs */
} fc_slot;

typedef struct fc_workspace {
  fc_context *context;
  fc_lease *lease;
  fc_runner *runner;
  fc_lease *helper; /* runs stages on the CPU for a device; else NULL */
  fc_trace *trace;  /* of the current run, or NULL */
  fc_states *states;
  GPtrArray *memory;                 /* of the lease's */
  fc_buffer *links;                  /* n + 1; first and last are pointed at a slot's */
  fc_buffer *bounce_in, *bounce_out; /* a stage: host copies of the links around one that leaves the device */
  void *scratch, *host_scratch;      /* of every thread, one after another */
  guint32 *notes; /* FC_COUNTED_WORDS a stage and so many more, which the device can write (notes.h) */
  gint64 *stored; /* a stage: so many values it has counted on the CPU; atomic */
  gboolean plain; /* graphs are not to be used: a stage refuses capture */
  guint n_slots;
  fc_slot slots[FC_SLOTS];
  fc_carry *carries; /* the run's: one per stage */
  fc_turn_fn turn;
  void *turn_data;
  gint64 bytes_up, bytes_down; /* bytes of its transfers */
} fc_workspace;

/* For the states' plan; takes the lease over, also on failure. FALSE with FC_NO_MEMORY if smaller chunks
 * might help. `borrowed`: on a caller's stream, where nothing may wait; the first and the last link are
 * the caller's. */
gboolean fc_workspace_init(fc_workspace *w, fc_lease *lease, fc_states *states, gboolean borrowed,
                           GError **error);
/* `broken`: the device has failed, and its runner is not used again. */
void fc_workspace_clear(fc_workspace *w, gboolean broken);

/* Allocates the run's carried state in the memory of this workspace; `carries` has an entry for each
 * stage. */
gboolean fc_carries_init(fc_workspace *w, fc_carry *carries, GError **error);
/* Resets it for a new stream; on a device within enqueue. */
gboolean fc_carries_reset(fc_workspace *w, GError **error);

void *fc_workspace_alloc(fc_workspace *w, gsize bytes, gboolean host, const char *what, GError **error);

/* Sets the links' buffers to the chunk's ranges. */
void fc_workspace_point(fc_workspace *w, fc_slot *slot);
/* Computes - on a device: enqueues - the chunk's stages from stage `first` on, borders included;
 * fc_workspace_point comes first. */
gboolean fc_workspace_stages(fc_workspace *w, fc_slot *slot, guint first, GError **error);
/* Runs the stages from `stage` on as one kernel, which makes its own border: `stages` returns how many; 0:
 * there is no such kernel, or not yet, and nothing was enqueued. */
gboolean fc_workspace_run_fused(fc_workspace *w, fc_slot *slot, guint stage, guint *stages, GError **error);
/* To be called when the slot's chunk has been enqueued: requests the kernels that were missing. */
void fc_workspace_passed(const fc_slot *slot);
/* Runs one stage between two views whose border is made. `scratch` is for a device; NULL: the workspace's
 * own. */
gboolean fc_workspace_run(fc_workspace *w, fc_slot *slot, guint stage, const fc_view *in, const fc_view *out,
                          void *scratch, GError **error);
/* Whether the stage's operator can be asked to make its border itself; and asking it: `done` FALSE: it
 * cannot with these views, and nothing has been enqueued. */
gboolean fc_workspace_may_make_border(const fc_workspace *w, const fc_slot *slot, guint stage);
gboolean fc_workspace_run_edges(fc_workspace *w, fc_slot *slot, guint stage, const fc_view *in,
                                const fc_view *out, gboolean *done, GError **error);

G_END_DECLS

#endif
