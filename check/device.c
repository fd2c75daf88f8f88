/* SPDX-License-Identifier: MIT */
/*
 * device.c - the host as a device, and blocks; see device.h.
 */
#include "check/device.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static void *need(void *memory) {
  if (memory) return memory;
  fprintf(stderr, "filterchain-check: no memory\n");
  exit(1);
}

/* ---- the host ------------------------------------------------------------------ */

static void *cpu_alloc(size_t bytes, size_t align, const char *what) {
  (void)align, (void)what;
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

/* ---- guarded by pages ------------------------------------------------------------ */

#define MOST_GUARDED 512

/* The current blocks; read by the signal handler. */
static struct guarded {
  char *pages, *begin;
  size_t inner, bytes;
  uint64_t kept;
  const char *what;
} guarded[MOST_GUARDED];
static size_t page;
static const struct guard_pages *source;

static size_t cpu_page(void) {
  return (size_t)sysconf(_SC_PAGESIZE);
}

static char *cpu_map(size_t inner, size_t side, uint64_t *kept) {
  char *pages = mmap(NULL, inner + 2 * side, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (pages == MAP_FAILED) return NULL;
  return inner && mprotect(pages + side, inner, PROT_READ | PROT_WRITE) ? NULL : pages;
}

static void cpu_unmap(char *pages, size_t inner, size_t side, uint64_t kept) {
  munmap(pages, inner + 2 * side);
}

const test_device *device_cpu(void) {
  static const struct guard_pages pages = {cpu_page, cpu_map, cpu_unmap};
  static const test_device cpu = {FC_HOST,  "cpu",    BAND,           cpu_alloc,       cpu_free,
                                  cpu_copy, cpu_copy, cpu_stream_new, cpu_stream_free, cpu_finish,
                                  NULL,     NULL,     &pages};
  return &cpu;
}

static void *guard_alloc(size_t bytes, size_t align, const char *what, bool ahead) {
  const size_t inner = (bytes + page - 1) / page * page, skip = ahead ? 0 : (inner - bytes) / align * align;
  struct guarded *g = guarded;
  while (g < guarded + MOST_GUARDED && g->pages) g++;
  if (g == guarded + MOST_GUARDED) need(NULL);
  uint64_t kept = 0;
  char *pages = need(source->map(inner, page, &kept));
  *g = (struct guarded){pages, pages + page + skip, inner, bytes, kept, what};
  return g->begin;
}

static void *guard_alloc_behind(size_t bytes, size_t align, const char *what) {
  return guard_alloc(bytes, align, what, false);
}

static void *guard_alloc_ahead(size_t bytes, size_t align, const char *what) {
  return guard_alloc(bytes, align, what, true);
}

static void guard_free(void *memory) {
  for (struct guarded *g = guarded; g < guarded + MOST_GUARDED; g++)
    if (g->pages && g->begin == memory) {
      source->unmap(g->pages, g->inner, page, g->kept);
      g->pages = NULL;
      return;
    }
}

bool device_guard_of(const void *address, char *text, size_t size) {
  const char *at = address;
  for (const struct guarded *g = guarded; g < guarded + MOST_GUARDED; g++) {
    if (!g->pages || at < g->pages || at >= g->pages + g->inner + 2 * page) continue;
    if (at < g->begin)
      snprintf(text, size, "looked at or wrote %zu bytes ahead of %s", (size_t)(g->begin - at), g->what);
    else
      snprintf(text, size, "looked at or wrote %zu bytes beyond the end of %s",
               (size_t)(at - g->begin) - g->bytes + 1, g->what);
    return true;
  }
  return false;
}

const test_device *device_guarded(const test_device *device, bool ahead) {
  static test_device made[2];
  source = device->pages;
  page = source ? source->size() : 0;
  if (!page) return NULL;
  made[ahead] = *device;
  made[ahead].band = 0;
  made[ahead].alloc = ahead ? guard_alloc_ahead : guard_alloc_behind;
  made[ahead].free = guard_free;
  return &made[ahead];
}

#if !FC_HAVE_CUDA
const test_device *device_cuda(const char **reason) {
  *reason = "this build has no CUDA backend";
  return NULL;
}
#endif

/* ---- blocks -------------------------------------------------------------------- */

static size_t total(const block *b) {
  return b->bytes + 2 * b->device->band;
}

static block new_block(const test_device *device, size_t bytes, unsigned char pattern, size_t align,
                       const char *what) {
  block b = {device, bytes, pattern, NULL, NULL};
  b.mirror = need(malloc(total(&b) + 1));
  b.base = device->alloc(total(&b), align, what);
  memset(b.mirror, pattern, total(&b));
  return b;
}

block block_new(const test_device *device, size_t bytes, unsigned char pattern, const char *what) {
  return new_block(device, bytes, pattern, 256, what);
}

block block_new_samples(const test_device *device, size_t bytes, unsigned char pattern, const char *what) {
  return new_block(device, bytes, pattern, 1, what);
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
  unsigned char *now = need(malloc(total(b) + 1));
  *error = b->device->get(now, b->base, total(b));
  bool same = memcmp(now, b->mirror, total(b)) == 0;
  free(now);
  return same;
}

bool block_bands_intact(const block *b) {
  for (size_t i = 0; i < b->device->band; i++)
    if (b->mirror[i] != b->pattern || b->mirror[b->device->band + b->bytes + i] != b->pattern) return false;
  return true;
}
