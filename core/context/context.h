/* SPDX-License-Identifier: MIT */
/*
 * context.h - what a context owns. Internal.
 */
#ifndef FC_CORE_CONTEXT_H
#define FC_CORE_CONTEXT_H

#include "core/base/frame.h"
#include "core/registry/params.h"
#include "core/registry/registry.h"
#include "core/base/pool.h"
#include "core/context/stream.h"
#include "core/device/runner.h"

#include <pthread.h>

G_BEGIN_DECLS

/* How files are opened: media/ sets these functions, so that core knows no format. */
typedef struct fc_media {
  fc_source *(*open_source)(fc_context *context, const char *path, const fc_options *options, GError **error);
  fc_sink *(*open_sink)(fc_context *context, const char *path, const fc_options *options, fc_source *like,
                        GError **error);
  fc_table_loader load_table;
  /* Data kept from file to file, or NULL: created with the context and freed with it. */
  void *(*start)(fc_context *context);
  void (*stop)(fc_context *context, void *kept);
  void (*release)(fc_context *context, void *kept); /* NULL, or: frees what is not in use */
  /* NULL, or: begins to start what `decode` needs, for up to `n` calls at a time, on threads of its own. */
  void (*decode_start)(fc_context *context, int mode, gint32 device, guint n);
  /* NULL, or: begins no more of it, and waits for what has begun. */
  void (*decode_settle)(fc_context *context);
  /*
   * NULL, or: decodes what the sources hold, and have not delivered yet, into frames in the memory of a
   * device, which is the thread's current one, on its stream: `done` says which; the others are to be read.
   * `mode` is an fc_decoding. Returns what it works with, for `decoded`, once the stream has passed it; NULL:
   * nothing.
   */
  struct fc_device_decoder *(*decode)(fc_context *context, int mode, void *stream, fc_source *const *sources,
                                      const fc_view *frames, guint n, gboolean *done);
  void (*decoded)(fc_context *context, struct fc_device_decoder *decoder);
  /* Its name and version; g_free. NULL with FC_UNSUPPORTED if there is none. */
  char *(*decoder)(fc_context *context, GError **error);
} fc_media;

struct fc_lease;

struct fc_context {
  fc_registry *registry;
  fc_frame_pool *frames;
  const fc_driver *driver; /* devices besides the CPU; NULL: none. Tests may set their own. */
  gsize max_memory;        /* limit of the buffers of all concurrent runs together */
  const fc_media *media;
  void *media_kept;
  pthread_mutex_t log_mutex;
  fc_log_fn log; /* guarded by log_mutex */
  void *log_data;
  /* Kept between runs, guarded by idle_mutex: idle thread pools and idle devices. */
  pthread_mutex_t idle_mutex;
  GPtrArray *idle_crews;  /* fc_pool */
  GPtrArray *idle_leases; /* fc_lease, see device/lease.h */
  GDestroyNotify free_lease;
  gboolean joins_all; /* for tests: FC_FUSE_ALGEBRA joins as many stages as can be, whatever that costs */
  gpointer kernels;   /* composed kernels, see device/kernels.h; NULL: none yet */
  GDestroyNotify free_kernels;
};

/* The constructor behind fc_context_new. */
fc_context *fc_context_new_with(const fc_media *media);

/* A pool of `threads` threads, with the caller, for a run: an idle one, or a new one. */
fc_pool *fc_context_take_crew(fc_context *context, int threads);
void fc_context_give_crew(fc_context *context, fc_pool *crew);

void fc_context_log(fc_context *context, fc_log_level level, const char *format, ...) G_GNUC_PRINTF(3, 4);

G_END_DECLS

#endif
