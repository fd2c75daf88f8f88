/* SPDX-License-Identifier: MIT */
/*
 * host.c - see host.h.
 */
#include "core/context/host.h"

#include "core/base/error.h"
#include "core/context/context.h"
#include "core/contract/rows_table.h"
#include "core/device/runner.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

G_STATIC_ASSERT(offsetof(fc_stage_host, base) == 0);

static fc_status host_fail(const fc_host *host, fc_status status, const char *format, ...) {
  fc_stage_host *me = (fc_stage_host *)host;
  va_list arguments;
  va_start(arguments, format);
  pthread_mutex_lock(&me->mutex);
  if (!me->message[0]) g_vsnprintf(me->message, sizeof me->message, format, arguments);
  pthread_mutex_unlock(&me->mutex);
  va_end(arguments);
  return status;
}

static const fc_driver *driver_of(const fc_host *host) {
  return ((const fc_stage_host *)host)->context->driver;
}

static void *host_alloc(const fc_host *host, int32_t device, size_t bytes) {
  if (device != FC_HOST) return driver_of(host)->alloc(device, bytes);
  if (bytes > G_MAXSSIZE - 256) return NULL;
  return aligned_alloc(256, (MAX(bytes, 1) + 255) / 256 * 256);
}

static void host_free(const fc_host *host, int32_t device, void *memory) {
  if (!memory) return;
  if (device != FC_HOST)
    driver_of(host)->release(device, memory);
  else
    free(memory);
}

static fc_status host_upload(const fc_host *host, int32_t device, void *to, const void *from, size_t bytes) {
  if (device == FC_HOST) {
    memcpy(to, from, bytes);
    return FC_OK;
  }
  g_autoptr(GError) error = NULL;
  if (driver_of(host)->upload(device, to, from, bytes, &error)) return FC_OK;
  return host->fail(host, FC_DEVICE, "%s", error->message);
}

static void host_measured(const fc_host *host, const fc_measurement *value) {
  fc_stage_host *me = (fc_stage_host *)host;
  if (me->measured) me->measured(value, me->measured_data);
}

static const void *host_extension(const fc_host *host, const char *name) {
  fc_stage_host *me = (fc_stage_host *)host;
  if (strcmp(name, FC_RANDOM) != 0) return NULL;
  g_atomic_int_set(&me->draws, TRUE);
  return &me->random;
}

static void host_log(const fc_host *host, int level, const char *format, ...) {
  fc_stage_host *me = (fc_stage_host *)host;
  va_list arguments;
  va_start(arguments, format);
  g_autofree char *line = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  fc_context_log(me->context, (fc_log_level)CLAMP(level, FC_LOG_ERROR, FC_LOG_DEBUG), "%s", line);
}

static void host_remark(const fc_host *host, const char *format, ...) {
  fc_stage_host *me = (fc_stage_host *)host;
  va_list arguments;
  va_start(arguments, format);
  char *remark = g_strdup_vprintf(format, arguments);
  va_end(arguments);
  pthread_mutex_lock(&me->mutex);
  g_free(me->remark);
  me->remark = remark;
  pthread_mutex_unlock(&me->mutex);
}

static int host_cancelled(const fc_host *host) {
  const int *cancel = g_atomic_pointer_get(&((fc_stage_host *)host)->cancel);
  return cancel && g_atomic_int_get(cancel) != 0;
}

void fc_stage_host_init(fc_stage_host *host, fc_context *context) {
  memset(host, 0, sizeof *host);
  host->context = context;
  host->random.size = sizeof host->random;
  host->base = (fc_host){.size = sizeof(fc_host),
                         .abi = FC_PLUGIN_ABI,
                         .ctx = host,
                         .fail = host_fail,
                         .alloc = host_alloc,
                         .free = host_free,
                         .upload = host_upload,
                         .measured = host_measured,
                         .extension = host_extension,
                         .log = host_log,
                         .remark = host_remark,
                         .cancelled = host_cancelled,
                         .rows = fc_rows_table()};
  pthread_mutex_init(&host->mutex, NULL);
}

void fc_stage_host_clear(fc_stage_host *host) {
  g_free(host->remark);
  pthread_mutex_destroy(&host->mutex);
}

static _Thread_local const char *volatile running;

void fc_enter_operator(const char *name) {
  running = name;
}

const char *fc_running_operator(void) {
  return running;
}

const void *fc_operator_extension(const fc_operator *op, const char *name) {
  if (!op->extension) return NULL;
  fc_enter_operator(op->name);
  const void *extension = op->extension(op, name);
  fc_enter_operator(NULL);
  return extension;
}

static const char *plain_reason(fc_status status) {
  switch (status) {
  case FC_UNSUPPORTED: return "this is not supported";
  case FC_INVALID: return "the parameters do not fit the input";
  case FC_NO_MEMORY: return "not enough memory";
  case FC_DEVICE: return "the device failed";
  case FC_IO: return "data could not be read";
  default: return "the operator failed";
  }
}

gboolean fc_stage_host_check(fc_stage_host *host, const char *name, const char *doing, fc_status status,
                             GError **error) {
  pthread_mutex_lock(&host->mutex);
  g_autofree char *message = host->message[0] ? g_strdup(host->message) : NULL;
  host->message[0] = 0;
  pthread_mutex_unlock(&host->mutex);
  if (status != FC_OK) {
    if (message)
      fc_fail(error, status, "%s: %s", name, message);
    else
      fc_fail(error, status, "%s: failed while %s: %s", name, doing, plain_reason(status));
  }
  return status == FC_OK;
}

gboolean fc_stage_host_check_on(fc_stage_host *host, const char *name, int device, const char *doing,
                                fc_status status, GError **error) {
  if (device == FC_HOST || status == FC_OK) return fc_stage_host_check(host, name, doing, status, error);
  g_autofree char *where = g_strdup_printf("%s on cuda:%d", name, fc_device_ordinal(device));
  return fc_stage_host_check(host, where, doing, status, error);
}
