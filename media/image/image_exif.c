/* SPDX-License-Identifier: MIT */
/*
 * image_exif.c - which way up EXIF says that a picture is to be held; and what it says of width and height,
 * or along and across, is exchanged when the picture has been turned on its side. Pairs of entries stand in
 * the first directory, and in one of EXIF's own.
 */
#include "media/image/image_meta.h"

#include <string.h>

#include "media/file/bytes.h"

#define ENTRY       12 /* tag, type, count, and the value or where it is */
#define ORIENTATION 0x0112
#define EXIF_DIR    0x8769 /* whose value is where that directory is */

typedef struct tiff_file {
  guint8 *data;
  gsize size;
  gboolean big;
} tiff_file;

static guint32 get(const tiff_file *tiff, gsize at, int bytes) {
  return (guint32)(tiff->big ? fc_big : fc_little)(tiff->data + at, bytes);
}

/* Where the entry of a tag is in the directory at `at`, or 0. */
static gsize find(const tiff_file *tiff, gsize at, guint tag) {
  if (at < 8 || at > tiff->size || tiff->size - at < 2) return 0;
  guint32 count = get(tiff, at, 2);
  for (at += 2; count-- && tiff->size - at >= ENTRY; at += ENTRY)
    if (get(tiff, at, 2) == tag) return at;
  return 0;
}

/* Opens it; FALSE for what has no head of such a file. */
static gboolean open_tiff(tiff_file *tiff, guint8 *data, gsize size) {
  *tiff = (tiff_file){data, size, size && data[0] == 'M'};
  return size >= 8 && (memcmp(data, "II*\0", 4) == 0 || memcmp(data, "MM\0*", 4) == 0);
}

/* ---- which way up ------------------------------------------------------ */

/* Where the orientation's value is, of how many bytes; 0 where there is none, or one of another type than
 * whole numbers. */
static gsize find_orientation(const tiff_file *tiff, int *bytes) {
  static const int sizes[] = {0, 1, 0, 2, 4};
  gsize at = find(tiff, get(tiff, 4, 4), ORIENTATION);
  guint type = at ? get(tiff, at + 2, 2) : 0;
  *bytes = type < G_N_ELEMENTS(sizes) ? sizes[type] : 0;
  return *bytes && get(tiff, at + 4, 4) == 1 ? at + 8 : 0;
}

int fc_exif_orientation(const guint8 *data, gsize size) {
  tiff_file tiff;
  int bytes;
  if (!open_tiff(&tiff, (guint8 *)data, size)) return 1;
  gsize at = find_orientation(&tiff, &bytes);
  guint32 value = at ? get(&tiff, at, bytes) : 1;
  return value >= 1 && value <= 8 ? (int)value : 1;
}

void fc_exif_set_upright(guint8 *data, gsize size) {
  tiff_file tiff;
  int bytes;
  gsize at = open_tiff(&tiff, data, size) ? find_orientation(&tiff, &bytes) : 0;
  for (int i = 0; at && i < bytes; i++) data[at + (gsize)i] = i == (tiff.big ? bytes - 1 : 0);
}

/* ---- sides ------------------------------------------------------------- */

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
  tiff_file tiff;
  if (!open_tiff(&tiff, data, size)) return;
  gsize main_at = get(&tiff, 4, 4), pointer = find(&tiff, main_at, EXIF_DIR);
  exchange(&tiff, main_at, 0x0100); /* image width and length */
  exchange(&tiff, main_at, 0x011a); /* resolution */
  gsize exif_at = pointer ? get(&tiff, pointer + 8, 4) : 0;
  exchange(&tiff, exif_at, 0xa002); /* pixels */
  exchange(&tiff, exif_at, 0xa20e); /* resolution in the focal plane */
}
