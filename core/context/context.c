/* SPDX-License-Identifier: MIT */
/*
 * context.c - the owner of registry, memory pool and log function; see filterchain.h.
 */
#include "core/context/context.h"

#include "core/base/budget.h"
#include "core/base/error.h"

#include <stdarg.h>
#include <stdio.h>

/* Unused blocks kept for the next run: enough for the links of a chain over photographs, and little
 * compared to the memory of a machine that filters them. */
#define KEEP_BYTES ((gsize)256 << 20)

static void log_of_registry(fc_log_level level, const char *message, void *context) {
  fc_context_log(context, level, "%s", message);
}

/* Idle thread pools that are kept; more, of sizes no longer used, are freed. */
#define IDLE_CREWS 8

/* Preallocated: nothing may be allocated when pools are returned after an output is in place. */
static GPtrArray *new_list(GDestroyNotify destroy) {
  return g_ptr_array_new_full(2 * IDLE_CREWS, destroy);
}

fc_context *fc_context_new_with(const fc_media *media) {
  fc_context *context = g_new0(fc_context, 1);
  context->media = media;
  context->registry = fc_registry_new();
  fc_registry_set_log(context->registry, log_of_registry, context);
  context->frames = fc_frame_pool_new(KEEP_BYTES, 0);
  context->driver = fc_cuda_driver();
  context->idle_crews = new_list((GDestroyNotify)fc_pool_free);
  context->idle_leases = new_list(NULL);
  pthread_mutex_init(&context->idle_mutex, NULL);
  fc_context_set_max_memory(context, 0);
  pthread_mutex_init(&context->log_mutex, NULL);
  if (media && media->start) context->media_kept = media->start(context);
  return context;
}

void fc_context_free(fc_context *context) {
  if (!context) return;
  if (context->media && context->media->stop) context->media->stop(context, context->media_kept);
  g_ptr_array_free(context->idle_crews, TRUE);
  if (context->free_lease) g_ptr_array_set_free_func(context->idle_leases, context->free_lease);
  g_ptr_array_free(context->idle_leases, TRUE);
  if (context->kernels) context->free_kernels(context->kernels); /* after everything that may launch them */
  pthread_mutex_destroy(&context->idle_mutex);
  fc_registry_free(context->registry);
  fc_frame_pool_free(context->frames);
  pthread_mutex_destroy(&context->log_mutex);
  g_free(context);
}

void fc_context_set_max_memory(fc_context *context, gsize bytes) {
  context->max_memory = bytes ? bytes : fc_budget_default();
  fc_frame_pool_set_limit(context->frames, context->max_memory);
}

void fc_context_set_log(fc_context *context, fc_log_fn log, void *data) {
  pthread_mutex_lock(&context->log_mutex);
  context->log = log;
  context->log_data = data;
  pthread_mutex_unlock(&context->log_mutex);
}

void fc_context_log(fc_context *context, fc_log_level level, const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  pthread_mutex_lock(&context->log_mutex);
  if (context->log)
    context->log(level, message, context->log_data);
  else if (level <= FC_LOG_WARNING)
    fprintf(stderr, "filterchain: %s\n", message);
  pthread_mutex_unlock(&context->log_mutex);
}

void fc_context_set_allocator(fc_context *context, fc_alloc_fn alloc, fc_free_fn release, void *data) {
  fc_frame_pool_set_allocator(context->frames, alloc, release, data);
}

void fc_context_release(fc_context *context) {
  pthread_mutex_lock(&context->idle_mutex);
  g_autoptr(GPtrArray) crews = g_steal_pointer(&context->idle_crews);
  g_autoptr(GPtrArray) leases = g_steal_pointer(&context->idle_leases);
  context->idle_crews = new_list((GDestroyNotify)fc_pool_free);
  context->idle_leases = new_list(NULL);
  if (context->free_lease) g_ptr_array_set_free_func(leases, context->free_lease);
  pthread_mutex_unlock(&context->idle_mutex);
  fc_frame_pool_trim(context->frames);
  if (context->media && context->media->release) context->media->release(context, context->media_kept);
}

fc_pool *fc_context_take_crew(fc_context *context, int threads) {
  fc_pool *crew = NULL;
  pthread_mutex_lock(&context->idle_mutex);
  for (guint i = 0; i < context->idle_crews->len && !crew; i++)
    if (fc_pool_threads(g_ptr_array_index(context->idle_crews, i)) == threads)
      crew = g_ptr_array_steal_index(context->idle_crews, i);
  pthread_mutex_unlock(&context->idle_mutex);
  return crew ? crew : fc_pool_new(threads);
}

void fc_context_give_crew(fc_context *context, fc_pool *crew) {
  if (!crew) return;
  pthread_mutex_lock(&context->idle_mutex);
  g_ptr_array_add(context->idle_crews, crew);
  fc_pool *most =
      context->idle_crews->len > IDLE_CREWS ? g_ptr_array_steal_index(context->idle_crews, 0) : NULL;
  pthread_mutex_unlock(&context->idle_mutex);
  fc_pool_free(most);
}

void fc_context_add_plugin_dir(fc_context *context, const char *dir) {
  fc_registry_add_dir(context->registry, dir);
}

const fc_operator **fc_context_operators(fc_context *context, gsize *count) {
  return fc_registry_operators(context->registry, count);
}

fc_plugin_info *fc_context_plugins(fc_context *context, gsize *count) {
  return fc_registry_plugins(context->registry, count);
}

const fc_operator *fc_context_find(fc_context *context, const char *name, GError **error) {
  return fc_registry_find(context->registry, name, error);
}

const fc_plugin *fc_context_open_plugin(fc_context *context, const char *path, GError **error) {
  return fc_registry_open(context->registry, path, error);
}

gboolean fc_context_add_plugin(fc_context *context, const fc_plugin *plugin, GError **error) {
  return fc_registry_add(context->registry, plugin, error);
}

const fc_plugin *fc_context_plugin_of(fc_context *context, const fc_operator *op, const char **path) {
  return fc_registry_plugin_of(context->registry, op, path);
}

const char *fc_version(void) {
  return FC_VERSION;
}

gboolean fc_has_cuda(void) {
  return fc_cuda_driver() != NULL;
}
