/* SPDX-License-Identifier: MIT */
/* lease.c - see lease.h. */
#include "core/device/lease.h"

#include "core/base/error.h"
#include "core/device/cpu.h"

#include <string.h>

typedef struct block {
  void *memory;
  gsize bytes;
  gboolean host, used;
} block;

struct fc_lease {
  fc_context *context;
  fc_runner *runner;
  GArray *blocks; /* for a device with its own lanes; else NULL */
  gboolean idles; /* it returns to the context */
};

/* Limit, in bytes, of unused blocks that a returned lease keeps, for each kind of memory. */
#define KEEP_BYTES ((gsize)1 << 30)

static void destroy(gpointer data) {
  fc_lease *lease = data;
  lease->runner->free(lease->runner);
  if (lease->blocks) g_array_free(lease->blocks, TRUE);
  g_free(lease);
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
  if (!stream) lease->blocks = g_array_new(FALSE, FALSE, sizeof(block));
  return lease;
}

fc_lease *fc_lease_new_cpu(fc_context *context, int threads) {
  fc_lease *lease = g_new0(fc_lease, 1);
  *lease = (fc_lease){.context = context, .runner = fc_cpu_runner_new(threads, context)};
  return lease;
}

fc_runner *fc_lease_runner(fc_lease *lease) {
  return lease->runner;
}

/* Blocks above this size are rounded up by an eighth at most. */
#define LARGE ((gsize)4 << 20)

/* ---- blocks ------------------------------------------------------------------- */

/* The next power of two, so that images of any sizes in any order soon find suitable blocks; for large
 * blocks the next step of an eighth. */
static gsize round_up(gsize bytes) {
  gsize step = 256;
  while ((bytes > LARGE ? step * 8 : step) < bytes) step *= 2;
  return MAX((bytes + step - 1) / step * step, 256);
}

/* The smallest unused block that is large enough; a large block must also be at least half used. */
static block *find_unused(fc_lease *lease, gsize bytes, gboolean host) {
  block *best = NULL;
  for (guint i = 0; i < lease->blocks->len; i++) {
    block *b = &g_array_index(lease->blocks, block, i);
    if (b->used || b->host != host || b->bytes < bytes || (b->bytes > LARGE && b->bytes / 2 > bytes))
      continue;
    if (!best || b->bytes < best->bytes) best = b;
  }
  return best;
}

static void give_back(fc_lease *lease, const block *b) {
  (b->host ? lease->runner->release_host : lease->runner->release)(lease->runner, b->memory);
}

/* Frees unused blocks, the oldest first, until at most `keep` bytes remain. TRUE if any were freed. */
static gboolean trim(fc_lease *lease, gboolean host, gsize keep) {
  gsize unused = 0;
  gboolean any = FALSE;
  for (guint i = 0; i < lease->blocks->len; i++) {
    const block *b = &g_array_index(lease->blocks, block, i);
    if (!b->used && b->host == host) unused += b->bytes;
  }
  for (guint i = 0; i < lease->blocks->len && unused > keep;) {
    block b = g_array_index(lease->blocks, block, i);
    if (b.used || b.host != host) {
      i++;
      continue;
    }
    unused -= b.bytes;
    any = TRUE;
    give_back(lease, &b);
    g_array_remove_index(lease->blocks, i);
  }
  return any;
}

static void *raw_alloc(fc_lease *lease, gsize bytes, gboolean host) {
  return (host ? lease->runner->alloc_host : lease->runner->alloc)(lease->runner, bytes);
}

void *fc_lease_alloc(fc_lease *lease, gsize bytes, gboolean host) {
  if (!lease->blocks) return raw_alloc(lease, bytes, host);
  block *b = find_unused(lease, round_up(bytes), host);
  if (b) {
    b->used = TRUE;
    return host ? memset(b->memory, 0, bytes) : b->memory;
  }
  block made = {NULL, round_up(bytes), host, TRUE};
  made.memory = raw_alloc(lease, made.bytes, host);
  if (!made.memory && trim(lease, host, 0)) {
    made.bytes = MAX(bytes, 1);
    made.memory = raw_alloc(lease, made.bytes, host);
  }
  if (made.memory) g_array_append_val(lease->blocks, made);
  return made.memory;
}

void fc_lease_release(fc_lease *lease, void *memory) {
  if (!memory) return;
  if (!lease->blocks) { /* on a caller's stream it is freed with the runner, after all work */
    if (lease->runner->device == FC_HOST) lease->runner->release(lease->runner, memory);
    return;
  }
  for (guint i = 0; i < lease->blocks->len; i++) {
    block *b = &g_array_index(lease->blocks, block, i);
    if (b->memory == memory) b->used = FALSE;
  }
}

void fc_lease_return(fc_lease *lease, gboolean broken) {
  if (!lease) return;
  if (!lease->idles || broken) {
    destroy(lease);
    return;
  }
  trim(lease, FALSE, KEEP_BYTES);
  trim(lease, TRUE, KEEP_BYTES);
  if (lease->runner->renew) lease->runner->renew(lease->runner);
  fc_context *context = lease->context;
  pthread_mutex_lock(&context->idle_mutex);
  g_ptr_array_add(context->idle_leases, lease);
  pthread_mutex_unlock(&context->idle_mutex);
}
