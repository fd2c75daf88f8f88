/* SPDX-License-Identifier: MIT */
/*
 * device.h - a device for the operator tests, and guarded memory on it.
 *
 * A block is memory on a device with a band of a known pattern on either side, and a copy of all of it on the
 * host (the mirror), which is sent before a run and fetched, or compared, after it. Simple rather than fast,
 * and independent of the engine's runners.
 */
#ifndef FC_TESTS_OPS_DEVICE_H
#define FC_TESTS_OPS_DEVICE_H

#include <stdbool.h>
#include <stddef.h>

#include "core/contract/view.h"

typedef struct test_device {
  int32_t id; /* FC_HOST or FC_CUDA_DEVICE(n) */
  const char *name;
  size_t band; /* bytes of a known pattern on either side of a block: BAND, or 0 with guard pages */
  /* Aligned to `align`; `what` names it in messages. Ends the program when there is no memory. */
  void *(*alloc)(size_t bytes, size_t align, const char *what);
  void (*free)(void *memory);
  /* These return NULL, or the device's error message. */
  const char *(*put)(void *to, const void *from, size_t bytes);
  const char *(*get)(void *to, const void *from, size_t bytes);
  void *(*stream_new)(void);
  void (*stream_free)(void *stream);
  const char *(*finish)(void *stream);
  /* Delays the work enqueued on a stream from now on, until it is released. NULL on the host, which has no
   * streams. */
  void *(*hold)(void *stream);
  void (*let_go)(void *held);
  const struct guard_pages *pages; /* for device_guarded; NULL: it has none */
} test_device;

/* Addresses that nobody may touch, with memory in their midst. */
struct guard_pages {
  size_t (*size)(void); /* of a page; 0: there are none after all */
  /* page + inner + page bytes, of which the inner ones are memory; NULL: no memory. `kept` is for unmap. */
  char *(*map)(size_t inner, size_t page, uint64_t *kept);
  void (*unmap)(char *pages, size_t inner, size_t page, uint64_t kept);
};

const test_device *device_cpu(void);
/* A device with pages on either side of every block that nobody may touch: the block ends just ahead of one
 * (`ahead` false) or begins just behind one. NULL where it has no such pages. device_guard_of tells whose
 * address that is: how far beyond which block, or false. Async-signal-safe. */
const test_device *device_guarded(const test_device *device, bool ahead);
bool device_guard_of(const void *address, char *text, size_t size);
/* The first CUDA device, or NULL with the reason. Also in a build without CUDA. */
const test_device *device_cuda(const char **reason);

/* ---- blocks ------------------------------------------------------------------ */

/* Bytes on either side: a multiple of 256, and more than a wrong row or channel would overwrite. */
#define BAND 4096

typedef struct block {
  const test_device *device;
  size_t bytes;
  unsigned char pattern;
  unsigned char *mirror; /* band + bytes + band, on the host */
  unsigned char *base;   /* the same on the device */
} block;

/* Filled with the pattern; not yet sent. Aligned to 256; sample buffers to their elements. `what` is
 * static: "the scratch". */
block block_new(const test_device *device, size_t bytes, unsigned char pattern, const char *what);
block block_new_samples(const test_device *device, size_t bytes, unsigned char pattern, const char *what);
void block_free(block *b); /* may be all zeros */

static inline void *block_data(const block *b) {
  return b->base ? b->base + b->device->band : NULL;
}
static inline unsigned char *block_mirror(const block *b) {
  return b->mirror + b->device->band;
}
/* The mirror's address of something in the block's memory on the device. */
static inline void *block_twin(const block *b, const void *at) {
  return b->mirror + ((const unsigned char *)at - b->base);
}

const char *block_send(const block *b);
const char *block_fetch(block *b);
/* Whether the device's memory, including the bands, still equals the mirror. */
bool block_unchanged(const block *b, const char **error);
/* Whether the mirror's bands still have the pattern. */
bool block_bands_intact(const block *b);

#endif
