/* SPDX-License-Identifier: MIT */
/*
 * runner.h - a device as the executor sees it: memory, three lanes, a few copies.
 *
 * A run keeps FC_SLOTS chunks in flight. A chunk passes through three lanes in
 * order - upload, compute, download - each of which works in order through its
 * chunks and beside the other two (three streams on a GPU; on the CPU the outer
 * lanes do nothing and compute runs at once). The runner keeps the lanes apart with
 * events by slot, so the executor never synchronises a device:
 *
 *   upload(slot)    enqueued after the last compute of that slot has read its buffers
 *   compute(slot)   after the slot's upload, and after the last download of that slot
 *   download(slot)  after the slot's compute
 *
 * A runner belongs to one run. Only the waits may be called by one thread while another calls something else.
 * Failures set the GError (FC_DEVICE, FC_NO_MEMORY).
 */
#ifndef FC_CORE_RUNNER_H
#define FC_CORE_RUNNER_H

#include "core/device/arena.h"
#include "core/device/compose.h"
#include "core/base/demand.h"
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

  void (*free)(fc_runner *runner); /* waits for everything enqueued first; takes no NULL */

  /* Memory of the device for link buffers and scratch, 256-byte aligned; plan time
   * only. NULL when there is none: the caller retries with smaller chunks. Freed
   * with the runner, or singly. */
  void *(*alloc)(fc_runner *runner, gsize bytes);
  void (*release)(fc_runner *runner, void *memory);
  /* Host memory that the lanes copy from and to without a detour (pinned). It is
   * also readable and writable by kernels at the same address. Zeroed. */
  void *(*alloc_host)(fc_runner *runner, gsize bytes);
  void (*release_host)(fc_runner *runner, void *memory);
  /* NULL, or: takes over memory for alloc_host to be served from, as long as it lasts. */
  void (*adopt_host)(fc_runner *runner, fc_arena *arena);

  /* Copies between a host view and a device view of equal shape and dtype, in the
   * slot's upload (download) lane. Device lanes only: NULL on the CPU. */
  gboolean (*upload)(fc_runner *runner, guint slot, const fc_view *to, const fc_view *from, GError **error);
  gboolean (*download)(fc_runner *runner, guint slot, const fc_view *to, const fc_view *from, GError **error);

  /*
   * Runs `enqueue` in the compute lane of the slot. With key != 0 the same key on
   * the same slot promises identical work, so that what was enqueued may be captured
   * once as a graph and replayed instead of calling `enqueue` again. A capture may
   * also be given up and `enqueue` called once more, so it does nothing but enqueue.
   */
  gboolean (*compute)(fc_runner *runner, guint slot, guint64 key, fc_enqueue_fn enqueue, void *data,
                      GError **error);

  /* Blocks until the slot's last upload, or download, is done. */
  gboolean (*wait_upload)(fc_runner *runner, guint slot, GError **error);
  gboolean (*wait_download)(fc_runner *runner, guint slot, GError **error);
  /* Blocks until the slot's last compute and download are done: its buffers may then be used again. */
  gboolean (*wait)(fc_runner *runner, guint slot, GError **error);
  /* Blocks until the compute lane is idle: end of stream, and around stages that
   * have no version for this device. */
  gboolean (*finish)(fc_runner *runner, GError **error);

  /* Within enqueue, on the compute lane: copy between two views in the memory of
   * this device (or either of them in alloc_host memory) with conversion of dtype
   * as DESIGN says (notes as in fc_job, may be NULL only if dtypes are equal). */
  gboolean (*copy)(fc_runner *runner, const fc_view *to, const fc_view *from, guint32 *notes, GError **error);

  /* Within enqueue: makes the border around `real` (positions that exist, per axis)
   * in the buffer that `view` looks into. `view` starts at view->origin; positions in
   * `wanted` that lie outside [0, extent) are filled from mapped ones, all of which
   * are in `real`. `code` is the border value as an element of the view's dtype. */
  gboolean (*fill_border)(fc_runner *runner, const fc_view *view, const fc_range wanted[FC_AXES], int border,
                          const void *code, GError **error);

  /* Within enqueue: launches a kernel that the driver has loaded. NULL where it loads none. */
  gboolean (*launch)(fc_runner *runner, void *kernel, const fc_composed *composed, GError **error);

  /* NULL, or: from now on the trace is told when the lanes worked; of the last chunks by finish. */
  void (*watch)(fc_runner *runner, fc_trace *trace);

  /*
   * Of a runner on a caller's stream; else NULL. What is enqueued from now on comes after all that it has
   * enqueued before, even if another stream has taken the handle of one that is gone. */
  gboolean (*rejoin)(fc_runner *runner, GError **error);
  /* Work that may run beside other work of the same call, in lanes numbered from 1. `fork` opens so many;
   * what is enqueued - on runner->stream - after `aside` has chosen a lane comes after all that was enqueued
   * before the fork, and 0 chooses the caller's stream again. What is enqueued there after `join` comes after
   * all lanes. The first fork prepares, so it is none that is captured; every fork must be joined. */
  gboolean (*fork)(fc_runner *runner, guint lanes, GError **error);
  void (*aside)(fc_runner *runner, guint lane);
  gboolean (*join)(fc_runner *runner, GError **error);

  /* NULL, or: it goes to another run, whose keys mean other work: what was captured is forgotten. Nothing is
   * under way. */
  void (*renew)(fc_runner *runner);
  /* NULL, or: nothing will be asked of it for a while; threads may go elsewhere. */
  void (*rest)(fc_runner *runner);

  /* Calls body(index, worker, data) for every index in [0, count) on the CPU
   * workers; `worker` < threads. NULL on a GPU. */
  void (*parallel)(fc_runner *runner, guint count, void (*body)(guint index, guint worker, void *data),
                   void *data);
};

/* Lanes beside the caller's stream, see fork. */
#define FC_LANES 4

/*
 * A kind of device: how many there are, and how to get at them. A context has one beside the CPU; a test may
 * bring its own (fc_context.driver). Devices are FC_CUDA_DEVICE(n) and the like. Any thread.
 */
typedef struct fc_starting fc_starting;
typedef struct fc_driver {
  int kind; /* fc_device_kind */
  /* Whether there is a driver library at all: cheap, touches no device. */
  gboolean (*present)(void);
  /* Number of usable devices; 0 with the reason (g_free) when there is none. Starts the driver, which
   * costs about 100 ms the first time. */
  int (*count)(char **reason);
  /*
   * A runner with three lanes of its own, or with `stream` on the caller's: everything is enqueued there
   * directly and nothing ever waits - wait, wait_upload, wait_download and finish return at once - so a chain
   * with stages for the host cannot be run there. The stream may be gone before the runner is freed. NULL
   * with FC_DEVICE and a sentence.
   */
  fc_runner *(*open)(gint32 device, void *stream, GError **error);
  /* Whether work on this stream is being captured into a graph instead of run, or may be. */
  gboolean (*captures)(gint32 device, void *stream);
  /*
   * Begins to start the driver and a device's context on a thread, which takes some 0.2 s, so that
   * files can be opened and images decoded meanwhile: whoever needs the device waits for it. What goes wrong
   * there goes wrong again, and is told, where it is needed. NULL, which is allowed everywhere, where there
   * is no driver or no thread. The process must not end before start_wait.
   */
  fc_starting *(*start)(gint32 device);
  void (*start_wait)(fc_starting *starting);
  /* Makes a device the calling thread's current one, as fc_setup.device promises to
   * plugins, and returns the one before for `leave`; -1 when that fails. */
  int (*enter)(gint32 device);
  void (*leave)(int before);
  /* Plain memory for fc_host.alloc/upload on a device, complete on return. */
  void *(*alloc)(gint32 device, gsize bytes);
  void (*release)(gint32 device, void *memory);
  gboolean (*upload)(gint32 device, void *to, const void *from, gsize bytes, GError **error);
  /* Composed kernels; NULL, all four: there are none. Compute capability and multiprocessors of a device;
   * machine code put onto it, for fc_runner.launch, and taken away when nothing is under way (others may
   * capture meanwhile); how many of the kernel's blocks a multiprocessor holds at a time, 0: not known. */
  gboolean (*chip)(gint32 device, int *major, int *minor, guint *processors, GError **error);
  void *(*load)(gint32 device, GBytes *code, GError **error);
  void (*unload)(gint32 device, void *kernel);
  guint (*resident)(const void *kernel);
} fc_driver;

/* cuda.cu; in a build without CUDA cuda_none.c, which says NULL. */
const fc_driver *fc_cuda_driver(void);

G_END_DECLS

#endif
