/* SPDX-License-Identifier: MIT */
/*
 * cuda_none.c - in place of cuda.cu where there is no CUDA compiler: says so.
 */
#include "core/base/error.h"
#include "core/device/runner.h"

#define REASON "this build has no CUDA backend"

gboolean fc_has_cuda(void) {
  return FALSE;
}

fc_runner *fc_cuda_runner_new(int32_t device, void *stream, GError **error) {
  fc_fail(error, FC_DEVICE, "cuda:%d: " REASON, fc_device_ordinal(device));
  return NULL;
}

fc_cuda_starting *fc_cuda_start(int32_t device) {
  return NULL;
}

void fc_cuda_start_wait(fc_cuda_starting *starting) {}

gboolean fc_cuda_rejoin(fc_runner *runner, GError **error) {
  return fc_fail(error, FC_DEVICE, REASON);
}

gboolean fc_cuda_fork(fc_runner *runner, guint lanes, GError **error) {
  return fc_fail(error, FC_DEVICE, REASON);
}

void fc_cuda_aside(fc_runner *runner, guint lane) {}

gboolean fc_cuda_join(fc_runner *runner, GError **error) {
  return fc_fail(error, FC_DEVICE, REASON);
}

gboolean fc_cuda_captures(int32_t device, void *stream) {
  return FALSE;
}

int fc_cuda_device_count(char **reason) {
  if (reason) *reason = g_strdup(REASON);
  return 0;
}

char *fc_cuda_device_name(int32_t device) {
  return g_strdup_printf("cuda:%d", fc_device_ordinal(device));
}

gboolean fc_cuda_driver_present(void) {
  return FALSE;
}

int fc_cuda_enter(int32_t device) {
  return -1;
}

void fc_cuda_leave(int before) {}

void *fc_cuda_malloc(int32_t device, gsize bytes) {
  return NULL;
}

void fc_cuda_free(int32_t device, void *memory) {}

gboolean fc_cuda_copy_to(int32_t device, void *to, const void *from, gsize bytes, GError **error) {
  return fc_fail(error, FC_DEVICE, "cuda:%d: " REASON, fc_device_ordinal(device));
}
