/* SPDX-License-Identifier: MIT */
/*
 * exif.c - fields of a TIFF structure, which EXIF data use: the orientation; and, for a picture that was
 * rotated by 90 degrees, exchanges width and height, in the first directory and in the EXIF directory.
 */
#include "media/image/meta.h"

#include <string.h>

#include "media/file/bytes.h"

#define ENTRY       12 /* tag, type, count, and the value or its offset */
#define ORIENTATION 0x0112
#define EXIF_DIR    0x8769 /* whose value is the offset of that directory */

typedef struct tiff_file {
  guint8 *data;
  gsize size;
  gboolean big;
} tiff_file;

static guint32 get(const tiff_file *tiff, gsize at, int bytes) {
  return (guint32)(tiff->big ? fc_big : fc_little)(tiff->data + at, bytes);
}

/* The offset of a tag's entry in the directory at `at`, or 0. */
static gsize find(const tiff_file *tiff, gsize at, guint tag) {
  if (at < 8 || at > tiff->size || tiff->size - at < 2) return 0;
  guint32 count = get(tiff, at, 2);
  for (at += 2; count-- && tiff->size - at >= ENTRY; at += ENTRY)
    if (get(tiff, at, 2) == tag) return at;
  return 0;
}

/* Opens it; FALSE without a valid header. */
static gboolean open_tiff(tiff_file *tiff, guint8 *data, gsize size) {
  *tiff = (tiff_file){data, size, size && data[0] == 'M'};
  return size >= 8 && (memcmp(data, "II*\0", 4) == 0 || memcmp(data, "MM\0*", 4) == 0);
}

/* ---- fields ------------------------------------------------------------ */

/* Bytes of a value of each type. */
static const guint8 type_sizes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8};

gboolean fc_tiff_find(const guint8 *data, gsize size, guint tag, fc_tiff_field *field) {
  tiff_file tiff;
  if (!open_tiff(&tiff, (guint8 *)data, size)) return FALSE;
  gsize at = find(&tiff, get(&tiff, 4, 4), tag);
  if (!at) return FALSE;
  *field = (fc_tiff_field){.type = get(&tiff, at + 2, 2), .count = get(&tiff, at + 4, 4), .at = at + 8};
  gsize each = field->type < G_N_ELEMENTS(type_sizes) ? type_sizes[field->type] : 0;
  if (!each || !field->count || field->count > size / each) return FALSE;
  field->size = field->count * each;
  if (field->size > 4) field->at = get(&tiff, at + 8, 4);
  return field->at <= size && field->size <= size - field->at;
}

gboolean fc_tiff_has_more(const guint8 *data, gsize size) {
  tiff_file tiff;
  if (!open_tiff(&tiff, (guint8 *)data, size)) return FALSE;
  const gsize at = get(&tiff, 4, 4);
  if (at < 8 || at > size || size - at < 2) return FALSE;
  const gsize next = at + 2 + (gsize)get(&tiff, at, 2) * ENTRY;
  return next <= size && size - next >= 4 && get(&tiff, next, 4);
}

guint32 fc_tiff_number(const guint8 *data, gsize size, guint tag, guint32 otherwise) {
  fc_tiff_field field;
  if (!fc_tiff_find(data, size, tag, &field)) return otherwise;
  const tiff_file tiff = {(guint8 *)data, size, data[0] == 'M'};
  return field.type == 1 || field.type == 3 || field.type == 4 ? get(&tiff, field.at, type_sizes[field.type])
                                                               : otherwise;
}

/* ---- orientation --------------------------------------------------------- */

int fc_exif_orientation(const guint8 *data, gsize size) {
  fc_tiff_field field;
  if (!fc_tiff_find(data, size, ORIENTATION, &field) || field.count != 1) return 1;
  guint32 value = fc_tiff_number(data, size, ORIENTATION, 1);
  return value >= 1 && value <= 8 ? (int)value : 1;
}

void fc_exif_set_upright(guint8 *data, gsize size) {
  fc_tiff_field field;
  if (!fc_tiff_find(data, size, ORIENTATION, &field) || field.count != 1) return;
  for (gsize i = 0; i < field.size; i++) data[field.at + i] = i == (data[0] == 'M' ? field.size - 1 : 0);
}

/* ---- sides ------------------------------------------------------------- */

/* Exchanges two entries except for their tags, which must stay in order. A single one becomes the other:
 * no tag is in between. */
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
