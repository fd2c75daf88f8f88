/* SPDX-License-Identifier: MIT */
/* lease.c - see lease.h. */
#include "core/device/lease.h"

#include "core/base/error.h"

#include <string.h>

/* Device memory, and host memory that its lanes copy from and to. */
enum { DEVICE, PINNED, KINDS };

struct fc_lease {
  fc_context *context;
  fc_runner *runner;
  fc_frame_pool *pools[KINDS]; /* on the CPU the context's; NULL on a caller's stream */
  gboolean idles;              /* it goes back to the context */
};

/* The most bytes that lie unused in one lease, of each kind of memory. */
#define KEEP_BYTES ((gsize)1 << 30)
/* Of blocks beyond this much no more is taken than an eighth too much. */
#define LARGE ((gsize)4 << 20)

/* The runner waits for what still uses its memory, and frees all of it. */
static void destroy(gpointer data) {
  fc_lease *lease = data;
  lease->runner->free(lease->runner);
  for (int kind = 0; lease->idles && kind < KINDS; kind++) {
    fc_frame_pool_forget(lease->pools[kind]);
    fc_frame_pool_free(lease->pools[kind]);
  }
  g_free(lease);
}

static void *alloc_device(gsize bytes, gsize alignment, void *runner) {
  return ((fc_runner *)runner)->alloc(runner, bytes);
}
static void *alloc_pinned(gsize bytes, gsize alignment, void *runner) {
  return ((fc_runner *)runner)->alloc_host(runner, bytes);
}
static void free_device(void *memory, gsize bytes, void *runner) {
  ((fc_runner *)runner)->release(runner, memory);
}
static void free_pinned(void *memory, gsize bytes, void *runner) {
  ((fc_runner *)runner)->release_host(runner, memory);
}

static void init_pools(fc_lease *lease) {
  for (int kind = 0; kind < KINDS; kind++) lease->pools[kind] = fc_frame_pool_new(KEEP_BYTES, LARGE);
  fc_frame_pool_set_allocator(lease->pools[DEVICE], alloc_device, free_device, lease->runner);
  fc_frame_pool_set_allocator(lease->pools[PINNED], alloc_pinned, free_pinned, lease->runner);
}

static fc_lease *take_idle(fc_context *context, gint32 device) {
  fc_lease *lease = NULL;
  pthread_mutex_lock(&context->idle_mutex);
  for (guint i = context->idle_leases->len; i-- > 0 && !lease;) {
    fc_lease *idle = g_ptr_array_index(context->idle_leases, i);
    if (idle->runner->device == device) lease = g_ptr_array_steal_index(context->idle_leases, i);
  }
  context->free_lease = destroy;
  pthread_mutex_unlock(&context->idle_mutex);
  return lease;
}

fc_lease *fc_lease_new(fc_context *context, gint32 device, void *stream, gsize pinned, GError **error) {
  const fc_driver *driver = context->driver;
  fc_lease *lease = stream ? NULL : take_idle(context, device);
  if (lease) return lease;
  if (!driver) {
    fc_fail(error, FC_DEVICE, "cuda:%d: this build has no CUDA backend", fc_device_ordinal(device));
    return NULL;
  }
  /* Pinned memory is prepared while the device starts. */
  fc_arena *arena = stream || !pinned ? NULL : fc_arena_new(pinned);
  fc_runner *runner = driver->open(device, stream, error);
  if (runner && runner->adopt_host && arena)
    runner->adopt_host(runner, arena);
  else
    fc_arena_free(arena);
  if (!runner) return NULL;
  lease = g_new0(fc_lease, 1);
  *lease = (fc_lease){.context = context, .runner = runner, .idles = !stream};
  if (!stream) init_pools(lease);
  return lease;
}

fc_lease *fc_lease_new_cpu(fc_context *context, int threads) {
  fc_lease *lease = g_new0(fc_lease, 1);
  *lease = (fc_lease){.context = context,
                      .runner = fc_cpu_runner_new(threads, context),
                      .pools = {context->frames, context->frames}};
  return lease;
}

fc_runner *fc_lease_runner(fc_lease *lease) {
  return lease->runner;
}

/* The next power of two, so that images of any sizes in any order soon find all they need; of what is large
 * the next size in steps of an eighth. */
static gsize round_up(gsize bytes) {
  gsize step = 256;
  while ((bytes > LARGE ? step * 8 : step) < bytes) step *= 2;
  return MAX((bytes + step - 1) / step * step, 256);
}

void *fc_lease_alloc(fc_lease *lease, gsize bytes, gboolean host) {
  fc_frame_pool *pool = lease->pools[host ? PINNED : DEVICE];
  if (!pool) return (host ? alloc_pinned : alloc_device)(bytes, 0, lease->runner);
  return fc_frame_new(pool, lease->idles ? round_up(bytes) : bytes);
}

/* Of a caller's stream it goes with the runner, after all work. */
void fc_lease_release(fc_lease *lease, void *memory) {
  for (int kind = 0; memory && kind < KINDS; kind++)
    if (lease->pools[kind] && fc_frame_free(lease->pools[kind], memory)) return;
}

void fc_lease_return(fc_lease *lease, gboolean broken) {
  if (!lease) return;
  if (!lease->idles || broken) {
    destroy(lease);
    return;
  }
  if (lease->runner->renew) lease->runner->renew(lease->runner);
  fc_context *context = lease->context;
  pthread_mutex_lock(&context->idle_mutex);
  g_ptr_array_add(context->idle_leases, lease);
  pthread_mutex_unlock(&context->idle_mutex);
}
