/* SPDX-License-Identifier: MIT */
/*
 * state.h - memory of instances and prepared states, and numbers in the memory of a device.
 */
#ifndef FC_PLUGINS_STATE_H
#define FC_PLUGINS_STATE_H

#include <stdlib.h>
#include <string.h>

#include "core/contract/fc_helpers.h"

/* Hands over a copy of an instance or a prepared state, which free, and state_release, give back. */
static inline fc_status state_keep(const fc_host *host, const void *state, size_t bytes, void **kept) {
  void *copy = malloc(bytes);
  if (!copy) return host->fail(host, FC_NO_MEMORY, "out of memory");
  memcpy(copy, state, bytes);
  *kept = copy;
  return FC_OK;
}

/* An instance of zeros that is too large for a stack; free gives it back. */
static inline fc_status state_new(const fc_host *host, size_t bytes, void **kept) {
  *kept = calloc(1, bytes);
  return *kept ? FC_OK : host->fail(host, FC_NO_MEMORY, "out of memory");
}

static inline void state_release(const fc_host *host, void *prepared) {
  (void)host;
  free(prepared);
}

/* Sets `to` to a copy in the memory of a device, or the host's, from host->alloc. On failure too it is to be
 * freed. */
static inline fc_status state_upload(const fc_host *host, int device, const void *from, size_t bytes,
                                     void **to) {
  *to = host->alloc(host, device, bytes);
  if (!*to) return FC_NO_MEMORY;
  if (device != FC_HOST) return host->upload(host, device, *to, from, bytes);
  memcpy(*to, from, bytes);
  return FC_OK;
}

/* Numbers in the compute type. */
static inline void state_numbers(void *to, int compute, const double *from, int64_t count) {
  for (int64_t i = 0; i < count; i++)
    if (compute == FC_F64)
      ((double *)to)[i] = from[i];
    else
      ((float *)to)[i] = (float)from[i];
}

#endif
