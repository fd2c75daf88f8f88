/* SPDX-License-Identifier: MIT */
/*
 * device.c - the host as a device, and blocks; see device.h.
 */
#include "tests/ops/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *need(void *memory) {
  if (memory) return memory;
  fprintf(stderr, "test_ops: no memory\n");
  exit(1);
}

/* ---- the host ------------------------------------------------------------------ */

static void *cpu_alloc(size_t bytes) {
  return need(aligned_alloc(256, (bytes + 256) / 256 * 256));
}

static void cpu_free(void *memory) {
  free(memory);
}

static const char *cpu_copy(void *to, const void *from, size_t bytes) {
  memcpy(to, from, bytes);
  return NULL;
}

static void *cpu_stream_new(void) {
  return NULL;
}

static void cpu_stream_free(void *stream) {}

static const char *cpu_finish(void *stream) {
  return NULL;
}

const test_device *device_cpu(void) {
  static const test_device cpu = {FC_HOST,  "cpu",          cpu_alloc,       cpu_free,  cpu_copy,
                                  cpu_copy, cpu_stream_new, cpu_stream_free, cpu_finish};
  return &cpu;
}

#if !FC_HAVE_CUDA
const test_device *device_cuda(const char **reason) {
  *reason = "this build has no CUDA backend";
  return NULL;
}
#endif

/* ---- blocks -------------------------------------------------------------------- */

static size_t total(const block *b) {
  return b->bytes + 2 * BAND;
}

block block_new(const test_device *device, size_t bytes, unsigned char pattern) {
  block b = {device, bytes, pattern, NULL, NULL};
  b.mirror = need(malloc(total(&b)));
  b.base = device->alloc(total(&b));
  memset(b.mirror, pattern, total(&b));
  return b;
}

void block_free(block *b) {
  free(b->mirror);
  if (b->base) b->device->free(b->base);
  memset(b, 0, sizeof *b);
}

const char *block_send(const block *b) {
  return b->device->put(b->base, b->mirror, total(b));
}

const char *block_fetch(block *b) {
  return b->device->get(b->mirror, b->base, total(b));
}

bool block_unchanged(const block *b, const char **error) {
  unsigned char *now = need(malloc(total(b)));
  *error = b->device->get(now, b->base, total(b));
  bool same = memcmp(now, b->mirror, total(b)) == 0;
  free(now);
  return same;
}

bool block_bands_intact(const block *b) {
  for (size_t i = 0; i < BAND; i++)
    if (b->mirror[i] != b->pattern || b->mirror[BAND + b->bytes + i] != b->pattern) return false;
  return true;
}
