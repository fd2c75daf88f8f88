/* SPDX-License-Identifier: MIT */
/*
 * fuzz_image.c - image files in this process: the first gate (structure and metadata),
 * then, where it lets the file through, the decoder itself, which otherwise only runs in a
 * child. Behind the decoder's arena lie pages that may not be touched. Checksums of PNG are
 * corrected first, as no change would come past them.
 */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

#include "media/image/image_meta.h"

#define PIXELS ((gint64)1 << 14)
#define ARENA  ((gsize)96 << 20)
#define GUARD  ((gsize)1 << 20)

static void *arena(void) {
  static char *made;
  if (!made) {
    made =
        mmap(NULL, ARENA + GUARD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    g_assert_true(made != MAP_FAILED);
    g_assert_cmpint(mprotect(made + ARENA, GUARD, PROT_NONE), ==, 0);
  }
  /* Each image finds it empty, as a child does. */
  g_assert_cmpint(madvise(made, ARENA, MADV_DONTNEED), ==, 0);
  return made;
}

static fc_image_checker checker_of(const guint8 *file, gsize size) {
  if (size >= 4 && memcmp(file, "\x89PNG", 4) == 0) return fc_png_check;
  if (size >= 2 && memcmp(file, "\xff\xd8", 2) == 0) return fc_jpeg_check;
  if (size >= 2 && memcmp(file, "BM", 2) == 0) return fc_bmp_check;
  return size > 18 ? fc_tga_check : NULL;
}

static void put_big(guint8 *to, guint32 value) {
  for (int i = 0; i < 4; i++) to[i] = (guint8)(value >> (24 - 8 * i));
}

static guint8 *with_checksums(const guint8 *data, gsize size) {
  guint8 *file = g_malloc(MAX(size, 1));
  memcpy(file, data, size);
  gboolean png = size >= 8 && memcmp(file, "\x89PNG", 4) == 0;
  for (gsize at = 8; png && size - at >= 12;) {
    gsize length =
        (gsize)file[at] << 24 | (gsize)file[at + 1] << 16 | (gsize)file[at + 2] << 8 | file[at + 3];
    if (size - at - 12 < length) break;
    put_big(file + at + 8 + length, (guint32)crc32(0, file + at + 4, (uInt)length + 4));
    at += 12 + length;
  }
  return file;
}

static void read_meta(const guint8 *file, gsize size) {
  for (int channels = 1; channels <= 4; channels += 2) {
    g_autoptr(fc_image_meta) meta = fc_image_meta_read(file, size, channels, channels == 1 ? 1 : 6);
    g_autoptr(GString) lost = g_string_new(NULL);
    g_auto(fc_blob) chunks = {0}, segments = {0};
    fc_density density = fc_image_meta_density(meta);
    guint8 jfif[5];
    fc_density_for_jpeg(&density, jfif);
    fc_image_meta_for_png(meta, 3, 8, &chunks, lost);
    fc_image_meta_for_jpeg(meta, 3, &segments, lost);
    fc_image_meta_for_neither(meta, FALSE, lost);
  }
}

static void decode(const guint8 *file, gsize size, gboolean cut) {
  fc_stb_result result;
  char *memory = arena();
  fc_stb_decode(memory, ARENA, file, size, PIXELS, cut, &result);
  g_assert_true((result.pixels != NULL) != (result.reason != NULL));
  if (!result.pixels) return;
  gsize bytes = (gsize)result.width * (gsize)result.height * (gsize)(result.channels * result.bits / 8);
  char *pixels = result.pixels;
  g_assert_true(pixels >= memory && pixels <= memory + ARENA && bytes <= (gsize)(memory + ARENA - pixels));
}

static void try_file(const guint8 *file, gsize size, fc_image_checker checker) {
  fc_image_check check = {.orientation = 1};
  g_autoptr(GError) error = NULL;
  if (!checker("image", file, size, &check, &error)) {
    g_assert_nonnull(error);
    return;
  }
  g_assert_true(check.orientation >= 1 && check.orientation <= 8);
  read_meta(file, size);
  g_assert_cmpuint(check.end, <=, size);
  decode(file, check.end ? check.end : size, check.cut);
}

int LLVMFuzzerTestOneInput(const guint8 *data, gsize size) {
  fc_image_checker checker = checker_of(data, size);
  if (!checker) return 0;
  guint8 *file = with_checksums(data, size);
  try_file(file, size, checker);
  g_free(file);
  return 0;
}
