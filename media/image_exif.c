/* SPDX-License-Identifier: MIT */
/*
 * image_exif.c - what EXIF says of width and height, or along and across, is exchanged when the picture has
 * been turned on its side. Pairs of entries stand in the first directory, and in one of EXIF's own.
 */
#include "media/image_meta.h"

#include <string.h>

#define ENTRY    12     /* tag, type, count, and the value or where it is */
#define EXIF_DIR 0x8769 /* whose value is where that directory is */

typedef struct tiff_file {
  guint8 *data;
  gsize size;
  gboolean big;
} tiff_file;

static guint32 get(const tiff_file *tiff, gsize at, int bytes) {
  guint32 value = 0;
  for (int i = 0; i < bytes; i++)
    value = value << 8 | tiff->data[at + (gsize)(tiff->big ? i : bytes - 1 - i)];
  return value;
}

/* Where the entry of a tag is in the directory at `at`, or 0. */
static gsize find(const tiff_file *tiff, gsize at, guint tag) {
  if (at < 8 || at > tiff->size || tiff->size - at < 2) return 0;
  guint32 count = get(tiff, at, 2);
  for (at += 2; count-- && tiff->size - at >= ENTRY; at += ENTRY)
    if (get(tiff, at, 2) == tag) return at;
  return 0;
}

/* All but the tags, which stand in their order. One that is alone becomes the other: nothing comes between.
 */
static void exchange(const tiff_file *tiff, gsize directory, guint first) {
  gsize one = find(tiff, directory, first), other = find(tiff, directory, first + 1);
  guint8 kept[ENTRY - 2];
  if (one && other) {
    memcpy(kept, tiff->data + one + 2, sizeof kept);
    memcpy(tiff->data + one + 2, tiff->data + other + 2, sizeof kept);
    memcpy(tiff->data + other + 2, kept, sizeof kept);
  } else if (one || other)
    tiff->data[(one ? one : other) + tiff->big] ^= 1; /* the first of a pair is even */
}

void fc_exif_exchange_sides(guint8 *data, gsize size) {
  if (size < 8 || (memcmp(data, "II*\0", 4) != 0 && memcmp(data, "MM\0*", 4) != 0)) return;
  const tiff_file tiff = {data, size, data[0] == 'M'};
  gsize main_at = get(&tiff, 4, 4), pointer = find(&tiff, main_at, EXIF_DIR);
  exchange(&tiff, main_at, 0x0100); /* image width and length */
  exchange(&tiff, main_at, 0x011a); /* resolution */
  gsize exif_at = pointer ? get(&tiff, pointer + 8, 4) : 0;
  exchange(&tiff, exif_at, 0xa002); /* pixels */
  exchange(&tiff, exif_at, 0xa20e); /* resolution in the focal plane */
}
