/* SPDX-License-Identifier: MIT */
/*
 * image_stb.c - stb_image, cut down to four formats, without files, floats or the
 * process's allocator.
 *
 * The packaged version 2.27 has known holes in PNM, PSD, GIF and in the conversion of
 * channels; none of them is compiled or used. Memory comes from one arena by moving a
 * mark: decoders free in about the order in which they allocate, and the arena goes
 * away as a whole.
 */
#include "media/bmp_tga.h"

#include <string.h>
#include <unistd.h>

typedef struct arena {
  char *base;
  gsize size, used;
} arena;

/* Before each block: its size, and whether it was freed. */
typedef struct block {
  gsize size;     /* of the payload, a multiple of 16 */
  gsize previous; /* offset of the block before; its own for the first */
  gboolean freed;
  char padding[12];
} block;

/* The child decodes one image in one thread. */
static arena pool;
static gsize last; /* offset of the last block */

static void *arena_alloc(gsize size) {
  gsize rounded = (size + 15) & ~(gsize)15;
  if (rounded < size || pool.size - pool.used < sizeof(block) ||
      pool.size - pool.used - sizeof(block) < rounded)
    return NULL;
  block *made = (block *)(pool.base + pool.used);
  *made = (block){.size = rounded, .previous = last};
  last = pool.used;
  pool.used += sizeof(block) + rounded;
  return made + 1;
}

/* Gives back from the end whatever is free there. */
static void arena_free(void *memory) {
  if (!memory) return;
  ((block *)memory - 1)->freed = TRUE;
  while (pool.used > 0 && ((block *)(pool.base + last))->freed) {
    gsize previous = ((block *)(pool.base + last))->previous;
    pool.used = last;
    last = previous;
  }
}

static void *arena_realloc(void *memory, gsize size) {
  if (!memory) return arena_alloc(size);
  block *old = (block *)memory - 1;
  gsize was = old->size;
  if ((char *)old == pool.base + last) { /* the last one grows where it is */
    gsize mark = pool.used, before = last;
    pool.used = last;
    last = old->previous;
    void *moved = arena_alloc(size);
    if (!moved) pool.used = mark, last = before;
    return moved;
  }
  void *moved = arena_alloc(size);
  if (moved) memcpy(moved, memory, MIN(was, size));
  if (moved) arena_free(memory);
  return moved;
}

/* The image data of a PNG file as stb_image has unpacked them: they are freed as z->expanded, and nothing is
 * allocated after that. (Under another name they would be unpacked once more.) */
static const guint8 *unpacked;

static void release(void *memory, const char *expression) {
  if (memory && strcmp(expression, "z->expanded") == 0) unpacked = memory;
  arena_free(memory);
}

#define STBI_MALLOC(size)          arena_alloc(size)
#define STBI_REALLOC(memory, size) arena_realloc(memory, size)
#define STBI_FREE(memory)          release(memory, #memory)
/* A decoder that doubts itself ends: the parent sees a child that died. */
#define STBI_ASSERT(condition) ((condition) ? (void)0 : __builtin_trap())

#define STBI_ONLY_PNG
#define STBI_ONLY_JPEG
#define STBI_ONLY_BMP
#define STBI_ONLY_TGA
#define STBI_NO_STDIO
#define STBI_NO_LINEAR
#define STBI_NO_HDR
#define STBI_MAX_DIMENSIONS FC_IMAGE_SIDE_MAX
#define STB_IMAGE_STATIC
#define STB_IMAGE_IMPLEMENTATION
#pragma GCC diagnostic ignored "-Wunused-function" /* stb declares what is left out */
#include <stb_image.h>

/* A JPEG file that was cut off, with an end: stb_image takes what is missing for grey, but
 * wants the marker. */
static const guint8 *end_jpeg(const guint8 *file, gsize *size) {
  guint8 *ended = arena_alloc(*size + 2);
  if (!ended) return NULL;
  memcpy(ended, file, *size);
  ended[(*size)++] = 0xff;
  ended[(*size)++] = 0xd9;
  return ended;
}

static gboolean is_jpeg(const guint8 *file, gsize size) {
  return size > 2 && file[0] == 0xff && file[1] == 0xd8;
}

static gboolean is_png(const guint8 *file, gsize size) {
  return size > 8 && memcmp(file, "\x89PNG", 4) == 0;
}

/* A wrong checksum, and words for data that stb_image has none for. Costs little where all is well. */
static void check_png(const guint8 *file, gsize size, fc_stb_result *result) {
  if (result->pixels && unpacked && fc_png_sum_fits(file, size, unpacked)) return;
  const char *problem = fc_png_problem(file, size, arena_alloc);
  if (!problem) return;
  result->pixels = NULL;
  result->reason = problem;
}

static gboolean is_bmp(const guint8 *file, gsize size) {
  return size > 2 && memcmp(file, "BM", 2) == 0;
}

/* A file that stb_image reads rightly, or NULL: too little of it is left, or there is no memory. */
static const guint8 *mend(const guint8 *file, gsize *size, gboolean cut) {
  if (is_png(file, *size)) return fc_png_mend(file, size, cut, arena_alloc);
  if (is_jpeg(file, *size)) return cut ? end_jpeg(file, size) : file;
  if (is_bmp(file, *size)) return fc_bmp_mend(file, *size, arena_alloc, size);
  return fc_tga_mend(file, *size, arena_alloc, size);
}

void fc_stb_decode(void *memory, gsize memory_size, const guint8 *file, gsize size, gint64 max_pixels,
                   gboolean cut, fc_stb_result *result) {
  pool = (arena){.base = memory, .size = memory_size};
  last = 0;
  unpacked = NULL;
  memset(result, 0, sizeof *result);
  const gboolean png = is_png(file, size);
  file = mend(file, &size, cut);
  if (!file) {
    result->reason = "outofmem";
    return;
  }
  int width, height, channels, length = (int)size;
  if (!stbi_info_from_memory(file, length, &width, &height, &channels)) {
    result->reason = stbi_failure_reason();
    return;
  }
  if ((gint64)width * height > max_pixels) {
    result->reason = "more pixels than allowed";
    return;
  }
  result->bits = stbi_is_16_bit_from_memory(file, length) ? 16 : 8;
  result->pixels = result->bits == 16
                       ? (void *)stbi_load_16_from_memory(file, length, &width, &height, &channels, 0)
                       : (void *)stbi_load_from_memory(file, length, &width, &height, &channels, 0);
  result->reason = result->pixels ? NULL : stbi_failure_reason();
  if (png && !cut) check_png(file, size, result);
  result->width = width;
  result->height = height;
  result->channels = channels;
}
