/* SPDX-License-Identifier: MIT */
/*
 * plan.h - everything decided about a run before anything is read or created.
 *
 * Stage s consumes link s and produces link s+1; link 0 is what the source delivers,
 * the last link what the sink is given. A stage without an operator is a cast that
 * the host put in, where an operator cannot load or store what its neighbour has.
 *
 * The *cut axis* is where a run may be divided into chunks: X (time) for audio, N for
 * images and arrays - Y for single ones that lie in memory, and for those that are large, also in a batch,
 * and that source and sink can do by rows.
 */
#ifndef FC_CORE_PLAN_H
#define FC_CORE_PLAN_H

#include "core/device/buffer.h"
#include "core/context/chain.h"
#include "core/device/runner.h"

G_BEGIN_DECLS

typedef struct fc_plan_stage {
  fc_stage *stage;       /* NULL for a cast */
  const fc_operator *op; /* NULL for a cast */
  const char *name;      /* of the operator, or "cast" */
  fc_reach reach[FC_AXES];
  int border;
  guint64 border_code; /* its value as an element of the stage's input, in the first bytes */
  guint64 measure_bytes;
  double work; /* flop an output element */
  char *note;  /* for --dry-run; NULL: none */
  gboolean passthrough;
  gboolean on_host; /* a CUDA run leaves the device for this stage */
} fc_plan_stage;

typedef struct fc_plan {
  fc_chain *chain;
  guint n; /* stages, casts included */
  fc_plan_stage *stages;
  fc_format *links; /* n + 1 */
  int compute;      /* FC_F32 or FC_F64 */
  fc_axis cut;
  gboolean files;       /* source and sink are files, not memory */
  gboolean rows;        /* source and sink can do images or arrays by rows */
  gboolean whole;       /* some stage needs the whole cut axis at once */
  gboolean measures;    /* some stage measures */
  gboolean reflects;    /* some border has images inside the signal */
  int device;           /* FC_HOST or FC_CUDA_DEVICE(n) */
  gboolean device_auto; /* chosen by us: a failing device may be replaced by the CPU */
  char *reason;         /* for the device */
  gint64 chunk;         /* elements of the last link's cut axis at a time */
  gint64 freely;        /* how many it would be if memory had no limit */
  double scratch;       /* bytes that stages on the CPU work in; 0 until they are prepared, see fit.h */
  gint64 slack;         /* elements of link 0 to keep behind a chunk, for reflecting borders */
  gboolean alone;       /* a worker runs a chunk through all stages by itself */
} fc_plan;

/*
 * Makes a plan for an input format. `wanted` is the element type to be delivered, -1
 * for the chain's own. Device and chunk are not yet chosen.
 */
fc_plan *fc_plan_new(fc_chain *chain, const fc_format *in, int wanted, const fc_options *options,
                     GError **error);
void fc_plan_free(fc_plan *plan);

/* Makes it a plan for a signal that lies in memory whole, so that any part of it can be
 * had at any time: single images are cut along Y, and no past is kept. FALSE, and
 * nothing has changed, where a chunk could not be run by itself. */
gboolean fc_plan_for_memory(fc_plan *plan);

/* Takes the true extent of the cut axis once it is known; only extents change. Not
 * while a stage is processing. */
gboolean fc_plan_set_extent(fc_plan *plan, gint64 extent, GError **error);

/* Chooses the device by the options and a prediction, see fc_plan_predict, after the cut axis. `touch` FALSE
 * asks no driver: for
 * --dry-run. */
gboolean fc_plan_choose_device(fc_plan *plan, const fc_options *options, gboolean touch, GError **error);

/* Whether the CPU should take over after this failure: of a device that we chose, not the user. */
gboolean fc_plan_may_leave_device(const fc_plan *plan, const GError *why);
/* Makes it a plan for the CPU, with the failure as the reason. Not while it is run. */
void fc_plan_leave_device(fc_plan *plan, const GError *why);

/* Chooses the chunk size for the device; 1/2^halvings of it after running out of memory. */
gboolean fc_plan_choose_chunk(fc_plan *plan, const fc_options *options, guint halvings, GError **error);

/* Predicted seconds on the CPU and on a GPU, start-up included. */
void fc_plan_predict(const fc_plan *plan, int threads, double *cpu, double *gpu);

/* How many frames, one after another, are cut along the cut axis: those of a batch that goes by rows; 1. */
gint64 fc_plan_frames(const fc_plan *plan);

/* Where in the input, in frames, the output of a chain for sound begins: some way in behind a crop. FALSE
 * where its frames are not the input's, one for one, as at another rate. */
gboolean fc_plan_lead(const fc_plan *plan, gint64 *lead);

/* How much of link `link` a chunk that ends there takes: what an ordinary chunk would
 * make of it. */
gint64 fc_plan_stretch(const fc_plan *plan, guint link);

/* The longest stretch of each link that one chunk of the plan can need. */
void fc_plan_capacity(const fc_plan *plan, guint link, gint64 capacity[FC_AXES]);

/* The link whose memory the last one shares: itself unless the last stages pass their
 * input through. */
guint fc_plan_output_root(const fc_plan *plan);

/* What a chunk is counted in, for so many: "frames", "rows" or "images", or one of them. */
const char *fc_plan_unit(const fc_plan *plan, gint64 count);

/* How many chunks a run holds at a time: one where there is but one, or where each worker has its own. */
guint fc_plan_slots(const fc_plan *plan);

/* Bytes of host and device memory for the buffers of a run - of one worker, where each has its own - and what
 * is known of its scratch. */
double fc_plan_bytes(const fc_plan *plan);
/* A chunk is halved for want of memory where that saves so much of all. */
#define FC_LEAST_WORTH_SAVING 0.1
/* Those of the host, but for scratch. */
double fc_plan_host_bytes(const fc_plan *plan);
/* Of these, what a run on a device takes of pinned host memory; the parts may begin at multiples of 256. */
gsize fc_plan_pinned_bytes(const fc_plan *plan);

char *fc_plan_explain(const fc_plan *plan, const char *input, const char *output, gboolean json);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_plan, fc_plan_free)

G_END_DECLS

#endif
