/* SPDX-License-Identifier: MIT */
/*
 * exif.c - fields of a TIFF structure, which EXIF data use: the orientation; width and height, which are
 * exchanged for a picture that was rotated by 90 degrees; EXIF data taken out of a TIFF file and put into
 * one.
 */
#include "media/image/exif.h"

#include <string.h>

#include "media/file/bytes.h"

#define ENTRY       12 /* tag, type, count, and the value or its offset */
#define ORIENTATION 0x0112
#define TEXT        2 /* a type */
/* Whose values are the offsets of directories. */
#define EXIF_DIR    0x8769
#define GPS_DIR     0x8825
#define INTEROP_DIR 0xa005 /* in the EXIF directory */

typedef struct tiff_file {
  guint8 *data;
  gsize size;
  gboolean big;
} tiff_file;

static guint32 get(const tiff_file *tiff, gsize at, int bytes) {
  return (guint32)(tiff->big ? fc_big : fc_little)(tiff->data + at, bytes);
}

#define FIELDS_MAX 4096 /* more than any real directory has */

/* Entries of the directory at `at`, as far as they are there; and the offset of one of them. */
static guint count_at(const tiff_file *tiff, gsize at) {
  if (at < 8 || at > tiff->size || tiff->size - at < 2) return 0;
  return (guint)MIN(MIN(get(tiff, at, 2), FIELDS_MAX), (tiff->size - at - 2) / ENTRY);
}

static gsize entry_at(gsize directory, guint i) {
  return directory + 2 + (gsize)i * ENTRY;
}

/* The offset of a tag's entry in the directory at `at`, or 0. */
static gsize find(const tiff_file *tiff, gsize at, guint tag) {
  for (guint i = 0, count = count_at(tiff, at); i < count; i++)
    if (get(tiff, entry_at(at, i), 2) == tag) return entry_at(at, i);
  return 0;
}

/* The first directory. */
static gsize main_of(const tiff_file *tiff) {
  return get(tiff, 4, 4);
}

/* The directory behind another one; 0: none. */
static gsize next_of(const tiff_file *tiff, gsize directory) {
  const guint count = count_at(tiff, directory);
  const gsize end = entry_at(directory, count);
  const gboolean whole = count && get(tiff, directory, 2) == count;
  return whole && tiff->size - end >= 4 ? get(tiff, end, 4) : 0;
}

/* Opens it; FALSE without a valid header. */
static gboolean open_tiff(tiff_file *tiff, guint8 *data, gsize size) {
  *tiff = (tiff_file){data, size, size && data[0] == 'M'};
  return size >= 8 && (memcmp(data, "II*\0", 4) == 0 || memcmp(data, "MM\0*", 4) == 0);
}

gboolean fc_exif_is_valid(const guint8 *data, gsize size) {
  tiff_file tiff;
  return open_tiff(&tiff, (guint8 *)data, size);
}

/* ---- fields ------------------------------------------------------------ */

/* Bytes of a value of each type. */
static const guint8 type_sizes[] = {0, 1, 1, 2, 4, 8, 1, 1, 2, 4, 8, 4, 8, 4};

/* Of the entry at `at`; FALSE when its values are not within the file. */
static gboolean read_field(const tiff_file *tiff, gsize at, fc_tiff_field *field) {
  *field = (fc_tiff_field){.type = get(tiff, at + 2, 2), .count = get(tiff, at + 4, 4), .at = at + 8};
  gsize each = field->type < G_N_ELEMENTS(type_sizes) ? type_sizes[field->type] : 0;
  if (!each || !field->count || field->count > tiff->size / each) return FALSE;
  field->size = field->count * each;
  if (field->size > 4) field->at = get(tiff, at + 8, 4);
  return field->at <= tiff->size && field->size <= tiff->size - field->at;
}

gboolean fc_tiff_find(const guint8 *data, gsize size, guint tag, fc_tiff_field *field) {
  tiff_file tiff;
  if (!open_tiff(&tiff, (guint8 *)data, size)) return FALSE;
  const gsize at = find(&tiff, main_of(&tiff), tag);
  return at && read_field(&tiff, at, field);
}

gboolean fc_tiff_has_more(const guint8 *data, gsize size) {
  tiff_file tiff;
  if (!open_tiff(&tiff, (guint8 *)data, size)) return FALSE;
  return next_of(&tiff, main_of(&tiff)) != 0;
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
  gsize main_at = main_of(&tiff), pointer = find(&tiff, main_at, EXIF_DIR);
  exchange(&tiff, main_at, 0x0100); /* image width and length */
  exchange(&tiff, main_at, 0x011a); /* resolution */
  gsize exif_at = pointer ? get(&tiff, pointer + 8, 4) : 0;
  exchange(&tiff, exif_at, 0xa002); /* pixels */
  exchange(&tiff, exif_at, 0xa20e); /* resolution in the focal plane */
}

/* ---- directories ------------------------------------------------------- */

typedef struct tiff_entry {
  guint8 raw[ENTRY];
} tiff_entry;

static void put(const tiff_file *tiff, guint8 *to, guint64 value, int bytes) {
  (tiff->big ? fc_put_big : fc_put_little)(to, value, bytes);
}

static gint by_tag(gconstpointer a, gconstpointer b, gpointer tiff) {
  const gboolean big = ((const tiff_file *)tiff)->big;
  const guint8 *one = ((const tiff_entry *)a)->raw, *other = ((const tiff_entry *)b)->raw;
  return (gint)(big ? fc_big : fc_little)(one, 2) - (gint)(big ? fc_big : fc_little)(other, 2);
}

/* To an even offset, which it returns. */
static gsize append(fc_blob *to, const void *from, gsize size) {
  if (to->size % 2) fc_blob_put(to, "", 1);
  fc_blob_put(to, from, size);
  return to->size - size;
}

/* In the order of the tags; of entries with one tag the first. `next` is the following directory. */
static gsize append_directory(const tiff_file *tiff, GArray *entries, gsize next, fc_blob *to) {
  g_array_sort_with_data(entries, by_tag, (gpointer)tiff);
  g_autoptr(GByteArray) made = g_byte_array_sized_new(2 + entries->len * ENTRY + 4);
  guint8 number[4];
  guint count = 0;
  g_byte_array_append(made, number, 2);
  for (guint i = 0; i < entries->len; i++) {
    const tiff_entry *entry = &g_array_index(entries, tiff_entry, i);
    if (i && by_tag(entry - 1, entry, (gpointer)tiff) == 0) continue;
    g_byte_array_append(made, entry->raw, ENTRY);
    count++;
  }
  put(tiff, made->data, count, 2);
  put(tiff, number, next, 4);
  g_byte_array_append(made, number, 4);
  return append(to, made->data, made->len);
}

/* Texts, and the directories of EXIF and GPS. The other fields say how the samples are stored, or have
 * their own place in the tags. */
static gboolean is_described(guint tag, guint type) {
  enum { XP_TITLE = 0x9c9b, XP_SUBJECT = 0x9c9f };
  return type == TEXT || tag == EXIF_DIR || tag == GPS_DIR || (tag >= XP_TITLE && tag <= XP_SUBJECT);
}

typedef struct tiff_copy {
  tiff_file from;
  gsize most;                  /* bytes: only values that overlap are more than the file */
  gboolean exif, gps, interop; /* that directory was copied: there is one of each */
  fc_blob *to;
} tiff_copy;

/* Has the entry's tag the offset of a directory that is to be copied, in the one whose tag is `within`? */
static gboolean is_directory(tiff_copy *copy, guint tag, guint within) {
  gboolean *done = tag == EXIF_DIR && !within                 ? &copy->exif
                   : tag == GPS_DIR && !within                ? &copy->gps
                   : tag == INTEROP_DIR && within == EXIF_DIR ? &copy->interop
                                                              : NULL;
  if (!done || *done) return FALSE;
  return *done = TRUE;
}

/* Returns its offset; 0 for one without fields. Values that are not within the file are left out. */
static gsize copy_directory(tiff_copy *copy, gsize directory, guint within) {
  const tiff_file *from = &copy->from;
  g_autoptr(GArray) entries = g_array_new(FALSE, FALSE, sizeof(tiff_entry));
  for (guint i = 0, count = count_at(from, directory); i < count && copy->to->size < copy->most; i++) {
    const gsize at = entry_at(directory, i);
    const guint tag = get(from, at, 2), type = get(from, at + 2, 2);
    tiff_entry entry;
    fc_tiff_field field;
    gsize value = 0;
    if ((!within && !is_described(tag, type)) || !read_field(from, at, &field)) continue;
    memcpy(entry.raw, from->data + at, ENTRY);
    if (tag == EXIF_DIR || tag == GPS_DIR || tag == INTEROP_DIR) {
      value = is_directory(copy, tag, within) ? copy_directory(copy, get(from, at + 8, 4), tag) : 0;
      if (!value) continue;
    } else if (field.size > 4)
      value = append(copy->to, from->data + field.at, field.size);
    if (value) put(from, entry.raw + 8, value, 4);
    g_array_append_val(entries, entry);
  }
  return entries->len ? append_directory(from, entries, 0, copy->to) : 0;
}

gboolean fc_exif_of_tiff(const guint8 *file, gsize size, fc_blob *to) {
  tiff_copy copy = {.to = to, .most = 2 * size};
  if (!open_tiff(&copy.from, (guint8 *)file, size)) return TRUE;
  fc_blob_put(to, file, 8);
  const gsize directory = copy_directory(&copy, main_of(&copy.from), 0);
  const gboolean fits = to->size < copy.most;
  if (to->failed) return TRUE;
  if (directory && fits)
    put(&copy.from, to->data + 4, directory, 4);
  else
    fc_blob_clear(to);
  return fits;
}

/* ---- fields that are added -------------------------------------------------- */

static GArray *entries_of(const tiff_file *tiff, gsize directory) {
  GArray *entries = g_array_new(FALSE, FALSE, sizeof(tiff_entry));
  const guint count = count_at(tiff, directory);
  if (count) g_array_append_vals(entries, tiff->data + entry_at(directory, 0), count);
  return entries;
}

void fc_tiff_name_others(const guint8 *file, gsize size, fc_tags *tags) {
  enum { FIRST = 32768 }; /* those below say how samples are stored, but for texts and density */
  static const struct {
    guint tag;
    const char *name;
  } known[] = {{33550, "GeoTIFF"}, {33922, "GeoTIFF"}, {34264, "GeoTIFF"},  {34735, "GeoTIFF"},
               {34736, "GeoTIFF"}, {33723, "IPTC"},    {34377, "Photoshop"}};
  tiff_file tiff;
  if (!open_tiff(&tiff, (guint8 *)file, size)) return;
  const gsize directory = main_of(&tiff);
  for (guint i = 0, count = count_at(&tiff, directory); i < count; i++) {
    const gsize at = entry_at(directory, i);
    const guint tag = get(&tiff, at, 2), type = get(&tiff, at + 2, 2);
    if (tag < FIRST || tag == FC_TIFF_ICC || is_described(tag, type)) continue;
    g_autofree char *number = g_strdup_printf("TIFF field %u", tag);
    const char *name = number;
    for (gsize k = 0; k < G_N_ELEMENTS(known); k++)
      if (known[k].tag == tag) name = known[k].name;
    fc_tags_lose(tags, name);
  }
}

void fc_exif_into_tiff(guint8 *file, gsize size, const fc_blob *exif, fc_blob *to) {
  enum { X_DENSITY = 282, Y_DENSITY, UNIT = 296 };
  tiff_file tiff, more;
  fc_tiff_field field;
  if (!open_tiff(&tiff, file, size) || !open_tiff(&more, exif->data, exif->size)) return;
  g_autoptr(GArray) entries = entries_of(&tiff, main_of(&tiff));
  const gsize directory = main_of(&more);
  for (guint i = 0, count = count_at(&more, directory); i < count; i++) {
    const gsize at = entry_at(directory, i);
    const guint tag = get(&more, at, 2);
    const gboolean density = tag == X_DENSITY || tag == Y_DENSITY || tag == UNIT;
    if ((density || is_described(tag, get(&more, at + 2, 2))) && read_field(&more, at, &field))
      g_array_append_vals(entries, exif->data + at, 1);
  }
  g_auto(fc_blob) made = {0};
  append_directory(&tiff, entries, 0, &made);
  fc_blob_put(to, "", size % 2);
  fc_blob_join(to, &made);
  put(&tiff, file + 4, size + size % 2, 4);
}

void fc_exif_add_text(fc_blob *exif, guint tag, const char *text) {
  tiff_file tiff;
  if (!exif->size) fc_blob_put(exif, "II*\0\0\0\0\0", 8);
  if (!open_tiff(&tiff, exif->data, exif->size)) return;
  const gsize at = main_of(&tiff), size = strlen(text) + 1;
  if (find(&tiff, at, tag)) return;
  g_autoptr(GArray) entries = entries_of(&tiff, at);
  const gsize next = next_of(&tiff, at);
  tiff_entry entry = {{0}};
  put(&tiff, entry.raw, tag, 2);
  put(&tiff, entry.raw + 2, TEXT, 2);
  put(&tiff, entry.raw + 4, size, 4);
  if (size > 4)
    put(&tiff, entry.raw + 8, append(exif, text, size), 4);
  else
    memcpy(entry.raw + 8, text, size);
  g_array_append_val(entries, entry);
  const gsize directory = append_directory(&tiff, entries, next, exif);
  if (!exif->failed) put(&tiff, exif->data + 4, directory, 4);
}
