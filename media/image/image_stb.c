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
#include "media/image/bmp_tga.h"

#include <string.h>
#include <unistd.h>

typedef struct arena {
  char *base;
  gsize size, used;
  gsize touched; /* bytes that may not be zero any more */
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

/* Zeros, as memory of the kernel's is: what a decoder leaves out is the same every time, and nothing that
 * stood there before. */
static void *arena_alloc(gsize size) {
  gsize rounded = (size + 15) & ~(gsize)15;
  if (rounded < size || pool.size - pool.used < sizeof(block) ||
      pool.size - pool.used - sizeof(block) < rounded)
    return NULL;
  block *made = (block *)(pool.base + pool.used);
  *made = (block){.size = rounded, .previous = last};
  last = pool.used;
  pool.used += sizeof(block) + rounded;
  if ((char *)(made + 1) < pool.base + pool.touched)
    memset(made + 1, 0, MIN(rounded, (gsize)(pool.base + pool.touched - (char *)(made + 1))));
  pool.touched = MAX(pool.touched, pool.used);
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
  gsize rounded = (size + 15) & ~(gsize)15;
  if ((char *)old == pool.base + last && rounded >= was) { /* the last one grows where it is */
    gsize more = rounded - was;
    if (pool.size - pool.used < more) return NULL;
    if (pool.used < pool.touched) memset(pool.base + pool.used, 0, MIN(more, pool.touched - pool.used));
    pool.used += more;
    pool.touched = MAX(pool.touched, pool.used);
    old->size = rounded;
    return memory;
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
/* Coefficients of damaged JPEG files overflow there, and make wrong pixels. */
#ifdef __clang__
#pragma clang attribute push(__attribute__((no_sanitize("shift", "signed-integer-overflow"))),               \
                             apply_to = function)
#endif
#include <stb_image.h>
#ifdef __clang__
#pragma clang attribute pop
#endif

/* A JPEG file that was cut off within coded data, with an end: stb_image takes what is missing for zeros, but
 * wants the marker, and no code that ends there. */
static const guint8 *end_jpeg(const guint8 *file, gsize *size) {
  enum { ZEROS = 8 };
  guint8 *ended = *size < G_MAXINT32 - ZEROS - 2 ? arena_alloc(*size + ZEROS + 2) : NULL;
  if (!ended) return NULL;
  memcpy(ended, file, *size);
  memset(ended + *size, 0, ZEROS);
  *size += ZEROS;
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

/* Some of what is wrong with a JPEG file has no words, and those of the formats tried before stand there. */
static const char *reason_of(gboolean jpeg) {
  const char *reason = stbi_failure_reason();
  return jpeg && strcmp(reason, "bad png sig") == 0 ? "a segment is damaged" : reason;
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
    /* That says it of the last format tried, and this of the one it is. */
    (void)stbi_load_from_memory(file, length, &width, &height, &channels, 0);
    result->reason = reason_of(is_jpeg(file, size));
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
  result->reason = result->pixels ? NULL : reason_of(is_jpeg(file, size));
  if (png && !cut) check_png(file, size, result);
  result->width = width;
  result->height = height;
  result->channels = channels;
}
