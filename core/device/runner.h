/* SPDX-License-Identifier: MIT */
/*
 * runner.h - a device as the executor sees it: memory, three lanes, a few copies.
 *
 * A run keeps FC_SLOTS chunks in flight. A chunk passes through three lanes - upload, compute, download. Each
 * lane processes its chunks in order, concurrently with the other two (three streams on a GPU; on the CPU
 * upload and download do nothing and compute runs immediately). The runner orders the lanes by events for
 * each slot, so the executor never synchronises a device:
 *
 *   upload(slot)    enqueued after the last compute of that slot has read its buffers
 *   compute(slot)   after the slot's upload, and after the last download of that slot
 *   download(slot)  after the slot's compute
 *
 * A runner belongs to one run. Only the wait functions may be called concurrently with other functions.
 * Failures set the GError (FC_DEVICE, FC_NO_MEMORY).
 */
#ifndef FC_CORE_RUNNER_H
#define FC_CORE_RUNNER_H

#include "core/device/arena.h"
#include "core/compose/compose.h"
#include "core/base/linear.h"
#include "core/contract/filterchain.h"
#include "core/base/trace.h"

G_BEGIN_DECLS

#define FC_SLOTS 3

typedef struct fc_runner fc_runner;

/* Enqueues the work of one chunk's compute lane on runner->stream. */
typedef gboolean (*fc_enqueue_fn)(void *data, GError **error);

struct fc_runner {
  int device;        /* FC_HOST or FC_CUDA_DEVICE(n) */
  void *stream;      /* the compute lane's cudaStream_t; NULL on the CPU */
  int threads;       /* CPU workers, the calling thread included; 1 on a GPU */
  char *description; /* "cpu, 8 threads" or "cuda:0 (NVIDIA H200)" */

  void (*free)(fc_runner *runner); /* waits for all enqueued work first; not NULL */

  /* Memory of the device for link buffers and scratch, 256-byte aligned; not during work. NULL when there
   * is none: the caller retries with smaller chunks. Freed with the runner, or singly. */
  void *(*alloc)(fc_runner *runner, gsize bytes);
  void (*release)(fc_runner *runner, void *memory);
  /* Host memory that the lanes copy from and to directly (pinned). Kernels can also read and write it at
   * the same address. Zeroed. */
  void *(*alloc_host)(fc_runner *runner, gsize bytes);
  void (*release_host)(fc_runner *runner, void *memory);
  /* NULL, or: alloc_host takes its memory from this arena while it lasts. Takes ownership. */
  void (*adopt_host)(fc_runner *runner, fc_arena *arena);

  /* Copies between a host view and a device view of equal shape and dtype, in the
   * slot's upload (download) lane. Device lanes only: NULL on the CPU. */
  gboolean (*upload)(fc_runner *runner, guint slot, const fc_view *to, const fc_view *from, GError **error);
  gboolean (*download)(fc_runner *runner, guint slot, const fc_view *to, const fc_view *from, GError **error);

  /*
   * Runs `enqueue` in the compute lane of the slot. The same key != 0 on the same slot means identical work,
   * which may be captured once as a graph and replayed instead of calling `enqueue` again. A capture may also
   * be abandoned and `enqueue` called once more, so it must do nothing but enqueue.
   */
  gboolean (*compute)(fc_runner *runner, guint slot, guint64 key, fc_enqueue_fn enqueue, void *data,
                      GError **error);

  /* Blocks until the slot's last compute and download are done: its buffers may then be reused. */
  gboolean (*wait)(fc_runner *runner, guint slot, GError **error);
  /* Blocks until the compute lane is idle: at the end of a stream, and around stages that have no version
   * for this device. */
  gboolean (*finish)(fc_runner *runner, GError **error);

  /* Within enqueue, on the compute lane: copy between two views in the memory of
   * this device (or either of them in alloc_host memory) with conversion of dtype
   * as DESIGN says (notes as in fc_job, may be NULL only if dtypes are equal). */
  gboolean (*copy)(fc_runner *runner, const fc_view *to, const fc_view *from, guint32 *notes, GError **error);

  /* Within enqueue: makes the border around `real` (existing positions, per axis) in the buffer that
   * `view` shows. `view` starts at view->origin; positions in `wanted` outside [0, extent) are filled from
   * the positions they map to, all of which are in `real`. `code` is the border value as an element of the
   * view's dtype. */
  gboolean (*fill_border)(fc_runner *runner, const fc_view *view, const fc_range wanted[FC_AXES], int border,
                          const void *code, GError **error);

  /* Within enqueue: sums of doubles near the ends of joined stages. */
  gboolean (*sum)(fc_runner *runner, const fc_linear_sum *sum, GError **error);

  /* Within enqueue: launches a kernel that the driver has loaded. NULL if the driver cannot load kernels. */
  gboolean (*launch)(fc_runner *runner, void *kernel, const fc_composed *composed, GError **error);

  /* NULL, or: from now on the times when the lanes worked are written to the trace; for the last chunks by
   * finish. */
  void (*watch)(fc_runner *runner, fc_trace *trace);

  /*
   * For a runner on a caller's stream; else NULL. Work enqueued from now on runs after all work it has
   * enqueued before, even if the stream was destroyed and another one has the same handle: if the runner has
   * memory on the device, which both use.
   */
  gboolean (*rejoin)(fc_runner *runner, GError **error);
  /* Lanes for concurrent work within a call, numbered from 1. `fork` opens a number of them; work enqueued
   * on runner->stream after `aside` has selected a lane runs after everything enqueued before the fork; 0
   * selects the caller's stream again. Work enqueued there after `join` runs after all lanes. The first
   * fork allocates, so it must not be captured; every fork must be joined. */
  gboolean (*fork)(fc_runner *runner, guint lanes, GError **error);
  void (*aside)(fc_runner *runner, guint lane);
  gboolean (*join)(fc_runner *runner, GError **error);

  /* NULL, or: the runner passes to another run, whose keys mean other work: captured graphs are dropped.
   * Nothing is in progress. */
  void (*renew)(fc_runner *runner);
  /* NULL, or: the runner will be idle for a while, and may return its threads. */
  void (*rest)(fc_runner *runner);

  /* Calls body(index, worker, data) for every index in [0, count) on the CPU
   * workers; `worker` < threads. NULL on a GPU. */
  void (*parallel)(fc_runner *runner, guint count, void (*body)(guint index, guint worker, void *data),
                   void *data);
};

/* Lanes besides the caller's stream, see fork. */
#define FC_LANES 4

/*
 * A kind of device: counts and opens devices. A context has one besides the CPU; a test may set its own
 * (fc_context.driver). Devices are FC_CUDA_DEVICE(n) and the like. Any thread.
 */
typedef struct fc_starting fc_starting;
typedef struct fc_driver {
  int kind; /* fc_device_kind */
  /* Whether there is a driver library: cheap, touches no device. */
  gboolean (*present)(void);
  /* Number of usable devices; 0 with the reason (g_free) when there is none. Starts the driver, which
   * costs about 100 ms the first time. */
  int (*count)(char **reason);
  /*
   * A runner with its own three lanes, or with `stream` on the caller's: everything is enqueued there
   * directly and nothing waits - wait and finish return immediately - so a chain
   * with stages on the host cannot run there. The stream may be gone before the runner is freed. NULL with
   * FC_DEVICE and a sentence.
   */
  fc_runner *(*open)(gint32 device, void *stream, GError **error);
  /* Whether work on this stream is, or may be, captured into a graph instead of run. */
  gboolean (*captures)(gint32 device, void *stream);
  /*
   * Begins to start the driver and a device's context on a thread, which takes about 0.2 s, while files are
   * opened and images decoded; code that needs the device waits for it. An error there occurs again, and is
   * reported, where the device is needed. NULL, which all functions accept, where there is no driver or no
   * thread. The process must not end before start_wait.
   */
  fc_starting *(*start)(gint32 device);
  void (*start_wait)(fc_starting *starting);
  /* Makes a device the calling thread's current one, as fc_setup.device guarantees to plugins, and returns
   * the previous one for `leave`; -1 when that fails. */
  int (*enter)(gint32 device);
  void (*leave)(int before);
  /* Memory for fc_host.alloc and upload on a device, complete on return. */
  void *(*alloc)(gint32 device, gsize bytes);
  void (*release)(gint32 device, void *memory);
  gboolean (*upload)(gint32 device, void *to, const void *from, gsize bytes, GError **error);
  /* Composed kernels; all four are NULL if not supported. Compute capability and multiprocessors of a
   * device; loading machine code for fc_runner.launch; unloading it when nothing is in progress (others
   * may be capturing); how many of the kernel's blocks a multiprocessor runs at a time, 0: not known. */
  gboolean (*chip)(gint32 device, int *major, int *minor, guint *processors, GError **error);
  void *(*load)(gint32 device, GBytes *code, GError **error);
  void (*unload)(gint32 device, void *kernel);
  guint (*resident)(const void *kernel);
} fc_driver;

/* cuda.cu; in a build without CUDA cuda_none.c, which returns NULL. */
const fc_driver *fc_cuda_driver(void);

G_END_DECLS

#endif
