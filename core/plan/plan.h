/* SPDX-License-Identifier: MIT */
/*
 * plan.h - everything decided about a run before anything is read or created.
 *
 * A plan is a value: fc_plan_new builds it in pure steps from a chain, the formats of its inputs and the
 * machine's resources, and it is not changed afterwards. What a run learns later - where a stream ends, that
 * memory is short, that a device failed - leads to another plan (fc_plan_with_extent, _with_chunk, _on_cpu).
 *
 * Stage s consumes link s and produces link s+1; link 0 is what the source delivers, the last link what the
 * sink is given. A stage without an operator is a cast that the host inserted, where an operator cannot load
 * or store its neighbour's element type. Further inputs of a stage are its sides: each has its own source. A
 * generator, which stands first, leaves link 0 empty.
 *
 *     source -> link 0 -> stage 0 -> link 1 -> stage 1 -> link 2 -> sink
 *                                    side 0 ---^
 *
 * The *cut axis* is the one along which a run is divided into chunks: X (time) for audio, N for images and
 * arrays - Y for single images, and for large ones in a batch, if source and sink can transfer rows.
 */
#ifndef FC_CORE_PLAN_H
#define FC_CORE_PLAN_H

#include "core/context/chain.h"
#include "core/base/buffer.h"
#include "core/device/runner.h"

G_BEGIN_DECLS

typedef struct fc_plan_stage {
  fc_stage *stage;       /* NULL for a cast */
  const fc_operator *op; /* NULL for a cast */
  const char *name;      /* of the operator, or "cast" */
  void *self;            /* its instance */
  fc_reach reach[FC_AXES];
  int border;
  guint64 border_code; /* the border value as an element of the stage's input, in the first bytes */
  guint64 measure_bytes, carry_bytes;
  double work; /* flop per output element */
  char *note;  /* for --dry-run; NULL: none */
  gboolean passthrough, generator;
  int part;     /* fc_survey_part */
  guint joined; /* so many stages of the chain, from its own on, are one cascade; 0: itself alone */
  const fc_joined
      *made;           /* of this stage and some behind it by algebra; its op, name and self; NULL: its own */
  const char *apart;   /* why the next stage is not joined to it; static; NULL: nothing was to be joined */
  const char *unsound; /* what is wrong with its map (FC_LINEAR), which is not used; static; or NULL */
  gboolean turned;     /* goes through its input from the end to the beginning, along the cut axis */
  gboolean any_size;   /* what prepare makes serves other extents too, whatever its backend says */
  gboolean host_only;  /* the operator says so: what is wanted of it has no version for a device */
  gboolean on_host;    /* a run on a device leaves it for this stage */
  guint side, n_sides; /* its further inputs are sides[side ...] of the plan */
  /* What it does to a sample, pixel or window, as text, on a device; NULL: it looks further, or does not say.
   * g_atomic_rc_box. */
  fc_device_function *function;
  /* number of stages, from this one on, that become one kernel once it is compiled; 0: none, or not the
   * first of them */
  guint fused;
  /* with fused: the kernel writes the output of the stage behind these, which exchanges axes */
  gboolean through;
  /* It copies samples as they are: axis a of its output is axis exchange[a] of its input. */
  gboolean exchanges;
  gint32 exchange[FC_AXES];
  /* with on_host: on the device nevertheless, in a composed kernel, if it can be compiled */
  gboolean composed;
  /* It makes integers of the type that is delivered, though other stages follow; and what it clips, which
   * these would have hidden, is not told (narrow.c). */
  gboolean narrow, unheard;
} fc_plan_stage;

/* A further input of a stage. */
typedef struct fc_plan_side {
  guint stage;
  const char *name; /* name of its source, for messages */
  fc_format source; /* the format that the source delivers */
  fc_format format; /* the format that the stage gets: another element type, if it cannot load the source's */
  fc_reach reach[FC_AXES];
  int border;
  guint64 border_code;
  gboolean random; /* not read in order: its source must be held in memory whole */
} fc_plan_side;

#define FC_DEVICES_MOST 16

typedef struct fc_plan {
  gint references; /* atomic */
  fc_chain *chain;
  guint n; /* stages, casts included */
  fc_plan_stage *stages;
  fc_format *links; /* n + 1 */
  guint n_sides;
  fc_plan_side *sides;
  int compute;             /* FC_F32 or FC_F64 */
  int fuse;                /* fc_fuse */
  int sample_bytes;        /* bytes of a sample of the output file */
  int stored, stored_bits; /* as in the query */
  fc_axis cut;
  gboolean files;    /* source and sink are files, not memory */
  gboolean borrowed; /* they are views in memory, with random access */
  gboolean whole;    /* some stage needs the whole cut axis at once */
  gboolean measures; /* some stage measures */
  gboolean carries;  /* some stage carries state from chunk to chunk */
  gboolean reflects; /* some border has images inside the signal */
  gboolean turned;   /* some stage goes backwards: the source is asked for stretches in any order */
  gboolean seeks;    /* it can be */
  gboolean loaded;   /* its length was not known, so it has been read into memory */
  guint n_devices;   /* 0: the CPU */
  gint32 devices[FC_DEVICES_MOST];
  gboolean device_auto; /* chosen by us: a failing device may be replaced by the CPU */
  char *reason;         /* for the device */
  guint surveyed;  /* this many stages are run for a survey, before the next one makes anything; 0: none */
  gint64 stretch;  /* of the last link of these so many elements at a time; `chunk` is all that is made */
  gint64 chunk;    /* elements of the last link's cut axis at a time */
  gint64 asked;    /* how many the user wants; 0: as many as suit */
  gint64 freely;   /* how many it would be if memory had no limit */
  gint64 multiple; /* of which a chunk is, so that no stage's block is computed twice */
  int threads;     /* CPU threads in all */
  int crew;        /* how many chunks are worked on at a time on the CPU, each by threads / crew */
  gboolean live;   /* chunks are as short as a latency wants them */
  double scratch;  /* bytes that stages on the CPU work in; 0 until they are prepared */
  gint64 slack;    /* elements of link 0 to keep behind a chunk, for reflecting borders */
} fc_plan;

/* What a plan is made from. */
typedef struct fc_plan_query {
  const fc_format *in;           /* of the chain's signal; NULL: the chain begins with a generator */
  const fc_format *const *sides; /* of each further input, in the order of stages and parameters */
  const char *const *side_names; /* likewise, for messages; may be NULL */
  int wanted;                    /* the element type to be delivered, -1 for the chain's own */
  int bits;                      /* of those that carry information; 0: as they come */
  int stored;                /* as fc_format has it: what the sink makes of what is delivered; 0: not said */
  int sample_bytes;          /* of the output where it goes; 0: as it is delivered */
  gboolean files;            /* for the prediction: files take time too */
  gboolean rows;             /* source, sides and sink can do images or arrays by rows */
  gboolean borrowed;         /* see fc_plan */
  gboolean seeks;            /* the source of the chain's signal can be read from any place */
  gboolean loaded;           /* it has been read into memory, since its length was not known */
  gint32 device;             /* FC_HOST: as the options say; else the caller's memory is on it */
  gboolean touch;            /* devices may be asked; FALSE for --dry-run */
  const fc_options *options; /* may be NULL */
} fc_plan_query;

/* Formats only: no device and no chunk is chosen. */
fc_plan *fc_plan_formats(fc_chain *chain, const fc_plan_query *query, GError **error);
/* A complete plan. */
fc_plan *fc_plan_new(fc_chain *chain, const fc_plan_query *query, GError **error);
fc_plan *fc_plan_ref(fc_plan *plan);
void fc_plan_unref(fc_plan *plan); /* NULL is allowed */

/* The same plan with the length of a signal, now known: of a further input, or of the chain's signal (-1).
 * An operator has broken its contract if its needs then grow, or its element types or borders change, or
 * an extent changes that it had given before. */
fc_plan *fc_plan_with_extent(const fc_plan *plan, int side, gint64 extent, GError **error);
/* The length, as far as it is known; else negative. */
gint64 fc_plan_extent(const fc_plan *plan, int side);
/* The same with another chunk size (a multiple of plan->multiple where possible) and number of threads. */
fc_plan *fc_plan_with_chunk(const fc_plan *plan, gint64 chunk, int threads, double scratch);
/* Half the plan's chunk size, in whole blocks where possible. */
gint64 fc_plan_half(const fc_plan *plan);
/* The same on the CPU, with the device's failure as the reason. */
fc_plan *fc_plan_on_cpu(const fc_plan *plan, const fc_options *options, const GError *why, GError **error);
/* Whether the CPU should take over after this failure: yes if we chose the device, not the user. */
gboolean fc_plan_may_leave_device(const fc_plan *plan, const GError *why);

/* Whether the stage runs on the CPU. */
static inline gboolean fc_plan_on_host(const fc_plan *plan, guint s) {
  return plan->n_devices == 0 || plan->stages[s].on_host;
}

static inline gboolean fc_reach_is_whole(const fc_reach *r) {
  return r->before == FC_WHOLE || r->after == FC_WHOLE;
}

/* Does the stage need all of its input along the cut axis at once? */
gboolean fc_plan_is_whole(const fc_plan *plan, guint s);

/* Is the input memory of a device, where all stages must run? */
static inline gboolean fc_plan_stays(const fc_plan *plan) {
  return plan->borrowed && plan->n_devices > 0;
}

/* The number of frames that are cut one after another: those of a batch that is cut by rows; otherwise 1. */
gint64 fc_plan_frames(const fc_plan *plan);

/* The position in the input, in frames, of the output's first sample, which may be later after a crop.
 * FALSE if output frames do not correspond to input frames one to one, as at another rate. */
gboolean fc_plan_lead(const fc_plan *plan, gint64 *lead);

/* How much of link `link` a chunk that ends there covers: as much as an ordinary chunk would make of it. */
gint64 fc_plan_stretch(const fc_plan *plan, guint link);

/* How many elements of link `link`, or of a further input, a chunk may read on the cut axis before the end
 * of what earlier chunks read: so many are kept of a source, and of the output of a stage with carried
 * state. */
gint64 fc_plan_span(const fc_plan *plan, guint link);
gint64 fc_plan_side_span(const fc_plan *plan, guint side);
/* How many of these there can be, including what a block of stage s may have made in advance. */
gint64 fc_plan_past(const fc_plan *plan, guint s);

/* Does each chunk show stage s all there is of its output on an axis? It measures, or carries state, and the
 * run is cut along another - or it measures a signal of another kind than the first, a picture of sound,
 * whose axes are others. */
gboolean fc_plan_shows_all(const fc_plan *plan, guint s, int axis);
/* Upper bound on the part of each link, and side, that one chunk can need. */
void fc_plan_capacity(const fc_plan *plan, guint link, gint64 capacity[FC_AXES]);
void fc_plan_side_capacity(const fc_plan *plan, guint side, gint64 capacity[FC_AXES]);

/* Sets the value of white: the largest value of the integer type, for integer inputs and for images that a
 * stage makes from another kind of signal. */
void fc_plan_set_white(fc_format *format);

/* How many elements of input the first output element needs after its own position, including the block it
 * belongs to. */
gint64 fc_plan_ahead(const fc_plan *plan);
/* How much input must have arrived before a chunk of this many output elements is made: the delay of its
 * first element. */
gint64 fc_plan_held(const fc_plan *plan, gint64 chunk);

/* The link whose memory the last one shares: the last one itself unless the last stages pass their input
 * through. */
guint fc_plan_output_root(const fc_plan *plan);

/* The unit in which chunks are counted: "frames", "rows" or "images", or the singular for a count of 1. */
const char *fc_plan_unit(const fc_plan *plan, gint64 count);

/* How many chunks a workspace holds at a time (run/workspace.h), FC_SLOTS at most, and how many workspaces
 * there are. */
guint fc_plan_slots(const fc_plan *plan);
guint fc_plan_workspaces(const fc_plan *plan);

/* Bytes of host and device memory for the buffers of a run, and its scratch as far as it is known. */
double fc_plan_bytes(const fc_plan *plan);
/* A chunk is halved to save memory only if that saves at least this fraction of the total. */
#define FC_LEAST_WORTH_SAVING 0.1
/* The host's part of it, without scratch. */
double fc_plan_host_bytes(const fc_plan *plan);
/* The part that a run on a device allocates as pinned host memory; parts may begin at multiples of 256. */
gsize fc_plan_pinned_bytes(const fc_plan *plan);
/* Bytes of the samples in the output file; negative: the length is not known. */
double fc_plan_output_bytes(const fc_plan *plan);
/* How many times on average a stage computes each value, because chunks are short compared with halos and
 * blocks of this stage and later ones. */
double fc_plan_rework(const fc_plan *plan, guint stage);
/* Describes the stages where that is more than twice; NULL: none. */
char *fc_plan_rework_text(const fc_plan *plan);

char *fc_plan_explain(const fc_plan *plan, const char *input, const char *output, gboolean json);

G_DEFINE_AUTOPTR_CLEANUP_FUNC(fc_plan, fc_plan_unref)

/* ---- steps of fc_plan_new, each in a file of its own ------------------------ */

/* value.c: with room for a cast ahead of every stage, which may be two, and one at the end; a copy. */
fc_plan *fc_plan_empty(fc_chain *chain);
fc_plan *fc_plan_copy(const fc_plan *plan);
/* negotiate.c: formats, needs, casts. */
gboolean fc_plan_negotiate(fc_plan *plan, const fc_plan_query *query, GError **error);
/* The same for existing stages, when the end of an input has become known. */
gboolean fc_plan_renegotiate(fc_plan *plan, const fc_plan *before, GError **error);
/* Derives from the stages' needs for this cut axis: whole, measures, carries, reflects, slack. */
void fc_plan_summarise(fc_plan *plan);
/*
 * predict.c: seconds that a plan takes. On a GPU it starts; then kernels that are neither built ahead nor in
 * the cache are compiled, during which stages run one by one unless one of them waits.
 */
typedef struct fc_prediction {
  double cpu;
  double start;         /* of the GPU */
  double apart, joined; /* on the GPU, stages one by one and in kernels of several */
  double compile;       /* of these kernels; 0: all are there, or cannot be compiled */
  guint kernels;        /* number to be compiled */
  gboolean waits;       /* the run waits for them */
} fc_prediction;
/* Without kernels; and these, by the plan as it would be on a GPU. */
void fc_plan_predict(const fc_plan *plan, int threads, fc_prediction *prediction);
void fc_plan_predict_kernels(const fc_plan *on_gpu, fc_prediction *prediction);
double fc_predicted_gpu(const fc_prediction *prediction);
/* choose.c: the device. */
gboolean fc_plan_choose_device(fc_plan *plan, const fc_plan_query *query, GError **error);
void fc_plan_set_reason(fc_plan *plan, const char *format, ...) G_GNUC_PRINTF(2, 3);
/* fuse.c: which stages may be one kernel; none if plan->fuse is FC_FUSE_NO or the run is not on a device. */
void fc_plan_fuse(fc_plan *plan);
/* A view of the output of a stage that exchanges axes, as one of its input; and ranges likewise. */
fc_view fc_plan_unexchanged(const fc_plan *plan, guint stage, const fc_view *out);
void fc_plan_unexchange(const fc_plan *plan, guint stage, const fc_range out[FC_AXES], fc_range in[FC_AXES]);
/* narrow.c: integers ahead of stages that only rank samples. Takes a plan with its kernels, and returns it or
 * another; and the same plan without. */
fc_plan *fc_plan_narrow(fc_plan *plan);
void fc_plan_widen(fc_plan *plan);
/* Why the window behind those of the kernel from `stage` on is part of it, or is not, or NULL: nothing was
 * estimated; g_free. */
char *fc_plan_fuse_text(const fc_plan *plan, guint stage);
/* Which of the stages that run as one kernel from `stage` on notes what it meets: the one that rounds. */
guint fc_plan_noting(const fc_plan *plan, guint stage);
/* The composition of the first n stages, whatever kernels they are in; `stages` has room for
 * FC_COMPOSE_STAGES. FALSE: some do not say all that they do, so that nothing is proved of what they make, as
 * stages joined by algebra with edges, which their function does not make. */
gboolean fc_plan_described(const fc_plan *plan, guint n, fc_compose_stage *stages, fc_composition *c);
/* The composition of `n` stages from `stage` on, of one kernel; `stages` has room for them. */
void fc_plan_composition(const fc_plan *plan, guint stage, guint n, fc_compose_stage *stages,
                         fc_composition *c);
/* What the kernel from `stage` on, which there is, reads and writes in chunks of ordinary length, without
 * memory. */
void fc_plan_kernel_views(const fc_plan *plan, guint stage, fc_view *in, fc_view *out);
/* Its text for such chunks, where the input begins at a multiple of 16 bytes or not; NULL: there is no such
 * kernel. g_free. */
char *fc_plan_kernel_text(const fc_plan *plan, guint stage, gboolean aligned);
/* join.c: neighbours of FC_CASCADE as one stage, on the CPU. FALSE: an operator failed. */
gboolean fc_plan_join(fc_plan *plan, GError **error);
/* algebra.c: neighbours of FC_LINEAR as one stage. Takes the plan, and returns it or another. */
fc_plan *fc_plan_algebra(fc_plan *plan);
/* Takes the n - 1 stages behind s out of the plan, which are made by it from now on. */
void fc_plan_take_out(fc_plan *plan, guint s, guint n);
/* Negotiates with one stage again. */
gboolean fc_plan_negotiate_stage(fc_plan *plan, guint s, int wanted, GError **error);
/* size.c: chunks and threads. */
gboolean fc_plan_choose_chunk(fc_plan *plan, const fc_options *options, GError **error);

G_END_DECLS

#endif
