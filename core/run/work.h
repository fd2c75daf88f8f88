/* SPDX-License-Identifier: MIT */
/*
 * work.h - running the stages of one chunk on a runner.
 *
 * A workspace holds what the stages need beside the slots' own buffers: prepared
 * states, the buffers of the links in between, scratch and notes. It is made once a
 * run; running a chunk allocates nothing.
 */
#ifndef FC_CORE_WORK_H
#define FC_CORE_WORK_H

#include "core/plan/chunk.h"
#include "core/base/trace.h"

G_BEGIN_DECLS

typedef struct fc_work_stage {
  const void *state;
  gint64 tile; /* the longest stretch of output one CPU worker takes at a time */
  int tile_axis;
  guint32 *notes;                  /* FC_NOTES words in host memory */
  gsize scratch;                   /* bytes a worker */
  fc_buffer bounce_in, bounce_out; /* host copies of the links around a stage that leaves the device */
} fc_work_stage;

/* Where the partial results of a chunk's measuring stages go: one for each slot. */
typedef struct fc_measures {
  void **blocks;   /* a stage: NULL unless it measures */
  gint64 *strides; /* bytes between batch entries */
} fc_measures;

typedef struct fc_work {
  fc_plan *plan;
  fc_runner *runner;
  fc_runner *helper; /* the CPU, for stages that leave the device; else NULL */
  fc_trace *trace;
  fc_work_stage *stages;
  fc_buffer *links; /* n + 1; first and last are pointed at a slot's */
  void *scratch;    /* of every worker, one after another */
  void *host_scratch;
  gint64 bytes_up, bytes_down; /* by stages that leave the device */
  gint64 chunks;
} fc_work;

/* TRUE, or FALSE with FC_NO_MEMORY when smaller chunks might help. Options give the
 * number of threads. fc_work_clear in either case. */
gboolean fc_work_init(fc_work *work, fc_plan *plan, fc_runner *runner, int threads, fc_trace *trace,
                      GError **error);
/* The same for a runner on the caller's stream, where nothing may wait: notes go to
 * device memory that nobody reads, and every stage must have a CUDA version. */
gboolean fc_work_init_borrowed(fc_work *work, fc_plan *plan, fc_runner *runner, GError **error);
void fc_work_clear(fc_work *work);

/* Lays a buffer out for the longest stretch of a link and gives it memory of the runner's, or
 * with `host` such as its lanes copy from and to. FALSE with FC_NO_MEMORY. */
gboolean fc_work_buffer(const fc_plan *plan, fc_runner *runner, guint link, gboolean host, fc_buffer *buffer,
                        GError **error);

/* The same for what is delivered to, or of, a device at one end of the chain: host memory of the runner's,
 * without borders and without gaps between the rows. */
gboolean fc_work_twin(const fc_plan *plan, fc_runner *runner, guint link, fc_buffer *buffer, GError **error);

/* Memory of the runner's for some of a chunk; NULL with FC_NO_MEMORY. */
void *fc_work_memory(const fc_plan *plan, fc_runner *runner, gsize bytes, GError **error);

gboolean fc_measures_init(fc_measures *measures, fc_work *work, GError **error);
void fc_measures_clear(fc_measures *measures, fc_work *work);

/* Enqueues border and stages from link 0 to the chunk's last, with the given buffers
 * at either end (`out` is not used when the chunk ends before the last link). On a device an operator that
 * may makes its border itself: a launch less. */
gboolean fc_work_enqueue(fc_work *work, const fc_chunk *chunk, fc_buffer *in, fc_buffer *out,
                         const fc_measures *measures, GError **error);

/* The same for the stages after the first `stages`, whose work has been enqueued: fc_work_point has been
 * called, and link `stages` holds its stretch. */
gboolean fc_work_enqueue_after(fc_work *work, const fc_chunk *chunk, guint stages,
                               const fc_measures *measures, GError **error);
/* Enqueues one stage's work between two views, its border made already. `scratch` is a device's, of
 * fc_work_scratch bytes for these views; NULL: the workspace's own. */
gboolean fc_work_run(fc_work *work, guint stage, const fc_view *in, const fc_view *out, void *scratch,
                     GError **error);
/* Whether the stage's operator, which looks beyond its signal, may be asked to make the border itself: it
 * says that it can, and the signal is there whole. */
gboolean fc_work_may_make_border(const fc_work *work, guint stage, const fc_chunk *chunk);
/* As fc_work_run, of the whole signal with its border not made, by an operator that can do without. `done`
 * FALSE: it cannot with these views, and nothing has been enqueued. */
gboolean fc_work_run_edges(fc_work *work, guint stage, const fc_view *in, const fc_view *out, gboolean *done,
                           GError **error);
gsize fc_work_scratch(fc_work *work, guint stage, const fc_view *in, const fc_view *out);
/* What the stages that run on the CPU work in with so many threads, in bytes, and the one that takes the
 * most; they are prepared for it. -1 with an error. */
double fc_work_need(fc_plan *plan, int threads, guint *widest, GError **error);

/* Points the links' buffers at the chunk's stretches; fc_work_enqueue begins with it. */
void fc_work_point(fc_work *work, const fc_chunk *chunk, fc_buffer *in, fc_buffer *out);

/* The buffer that holds link `link` once fc_work_point has been called. */
fc_buffer *fc_work_link(fc_work *work, guint link);

/* Can every stage's work be captured in a graph? */
gboolean fc_work_capturable(const fc_work *work);

/* Fails with a sentence that begins with `name`, the file, if a stage has met a NaN on its way to an
 * integer. */
gboolean fc_work_check_notes(fc_work *work, const char *name, GError **error);
/* Warns of the first stage that clamped values on their way to `name`; FALSE: none did. */
gboolean fc_work_warn_clipped(fc_work *work, const char *name);

/* Along which axis stages measure such signals. */
int fc_measured_axis(const fc_format *format);
/* Blocks along the measured axis of a chunk's stretch. */
gint64 fc_measure_blocks(const fc_plan_stage *ps, const fc_format *format, const fc_range made[FC_AXES]);

G_END_DECLS

#endif
