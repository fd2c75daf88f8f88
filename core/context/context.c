/* SPDX-License-Identifier: MIT */
/*
 * context.c - the owner of registry, memory pool and log sink; see filterchain.h.
 */
#include "core/context/context.h"

#include "core/base/budget.h"
#include "core/base/error.h"

#include <stdarg.h>
#include <stdio.h>

/* Unused blocks kept for the next run: enough for the links of a chain over
 * photographs, little beside the memory of any machine that filters them. */
#define KEEP_BYTES ((gsize)256 << 20)

fc_context *fc_context_new_with(const fc_media *media) {
  fc_context *context = g_new0(fc_context, 1);
  context->media = media;
  context->registry = fc_registry_new();
  context->frames = fc_frame_pool_new(KEEP_BYTES);
  fc_context_set_max_memory(context, 0);
  pthread_mutex_init(&context->log_mutex, NULL);
  if (media && media->start) context->media_kept = media->start(context);
  return context;
}

void fc_context_free(fc_context *context) {
  if (!context) return;
  if (context->media && context->media->stop) context->media->stop(context->media_kept);
  fc_registry_free(context->registry);
  fc_frame_pool_unref(context->frames);
  pthread_mutex_destroy(&context->log_mutex);
  g_free(context);
}

void fc_context_set_max_memory(fc_context *context, gsize bytes) {
  context->max_memory = bytes ? bytes : fc_budget_default();
  fc_frame_pool_set_limit(context->frames, context->max_memory);
}

void fc_context_set_log(fc_context *context, fc_log_fn log, void *data) {
  context->log = log;
  context->log_data = data;
}

void fc_context_log(fc_context *context, fc_log_level level, const char *format, ...) {
  if (!context->log && level > FC_LOG_WARNING) return;
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *message = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  pthread_mutex_lock(&context->log_mutex);
  if (context->log)
    context->log(level, message, context->log_data);
  else
    fprintf(stderr, "filterchain: %s\n", message);
  pthread_mutex_unlock(&context->log_mutex);
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

const fc_plugin *fc_context_plugin_of(fc_context *context, const fc_operator *op, const char **path) {
  return fc_registry_plugin_of(context->registry, op, path);
}

const char *fc_version(void) {
  return FC_VERSION;
}
