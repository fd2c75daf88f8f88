/* SPDX-License-Identifier: MIT */
/*
 * fuzz_image.c - image files in this process: header and metadata, then the decoder itself, which
 * otherwise only runs in a child. Behind the pixels lie pages that may not be touched. Checksums of
 * PNG are corrected first, as no change would come past them.
 */
#include "tests/fuzz/fuzz.h"

#include <string.h>
#include <sys/mman.h>
#include <zlib.h>

#include "media/file/bytes.h"
#include "media/image/decoder/child.h"
#include "media/image/exif.h"
#include "media/image/meta.h"

#define PIXELS ((gint64)1 << 16)
#define ROOM   ((gsize)PIXELS * 8)
#define GUARD  ((gsize)1 << 20)

/* Pixels with pages behind them that may not be touched; zeroed, as a child finds them. */
static guint8 *room(void) {
  static guint8 *made;
  if (!made) {
    made =
        mmap(NULL, ROOM + GUARD, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    g_assert_true(made != MAP_FAILED);
    g_assert_cmpint(mprotect(made + ROOM, GUARD, PROT_NONE), ==, 0);
  }
  g_assert_cmpint(madvise(made, ROOM, MADV_DONTNEED), ==, 0);
  return made;
}

static int kind_of(const guint8 *file, gsize size) {
  if (size >= 4 && memcmp(file, "\x89PNG", 4) == 0) return FC_IMAGE_PNG;
  if (size >= 2 && memcmp(file, "\xff\xd8", 2) == 0) return FC_IMAGE_JPEG;
  if (size >= 2 && memcmp(file, "BM", 2) == 0) return FC_IMAGE_BMP;
#ifdef FC_WITH_WEBP
  if (size >= 4 && memcmp(file, "RIFF", 4) == 0) return FC_IMAGE_WEBP;
#endif
#ifdef FC_WITH_TIFF
  if (size >= 4 && (memcmp(file, "II*", 3) == 0 || memcmp(file, "MM\0", 3) == 0)) return FC_IMAGE_TIFF;
#endif
  return size > 18 ? FC_IMAGE_TGA : -1;
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

/* EXIF data as the beginning of a TIFF file, whose first directory then has their fields in order. */
static void join_exif(const fc_blob *exif) {
  g_autofree guint8 *file = g_memdup2(exif->data, exif->size);
  g_auto(fc_blob) directory = {0};
  fc_exif_into_tiff(file, exif->size, exif, &directory);
  g_assert_cmpint(directory.size != 0, ==, fc_exif_is_valid(exif->data, exif->size));
  if (!directory.size) return;
  const gboolean big = file[0] == 'M';
  const guint8 *at = directory.data + exif->size % 2;
  g_assert_cmpuint((big ? fc_big : fc_little)(file + 4, 4), ==, exif->size + exif->size % 2);
  const gsize count = (gsize)(big ? fc_big : fc_little)(at, 2);
  g_assert_cmpuint(directory.size, ==, exif->size % 2 + 2 + 12 * count + 4);
  for (gsize i = 1; i < count; i++)
    g_assert_cmpuint((big ? fc_big : fc_little)(at + 2 + 12 * i - 12, 2), <,
                     (big ? fc_big : fc_little)(at + 2 + 12 * i, 2));
}

static void read_meta(const guint8 *file, gsize size, const fc_image_header *header) {
  static const char *const formats[] = {"png", "jpg", "webp", "tiff", "bmp", "tga"};
  g_autoptr(fc_tags) tags = fc_image_tags_read(file, size, header);
  for (gsize i = 0; i < G_N_ELEMENTS(formats); i++) {
    const fc_meta_form form = {
        .format = formats[i], .channels = 3, .dtype = FC_U8, .like_channels = i % 2 ? 1 : 3};
    g_autoptr(GString) lost = g_string_new(NULL);
    fc_encode_metadata metadata = {0};
    fc_image_tags_write(tags, &form, &metadata, lost);
    if (metadata.exif.size) join_exif(&metadata.exif);
    fc_encode_metadata_clear(&metadata);
  }
}

static void decode(const guint8 *file, gsize size, const fc_image_header *header, int scale,
                   gboolean lenient) {
  fc_decode_report report = {0};
  const fc_decode_task task = {.kind = header->kind,
                               .file = file,
                               .size = size,
                               .width = header->width,
                               .height = header->height,
                               .channels = header->channels,
                               .scale = scale,
                               .lenient = lenient,
                               .pixels = room(),
                               .room = (gsize)((header->width + scale - 1) / scale) *
                                       (gsize)((header->height + scale - 1) / scale) *
                                       (gsize)header->pixel_bytes};
  g_assert_cmpuint(task.room, <=, ROOM);
  fc_decode(&task, &report);
  g_assert_true(report.decoded || *report.reason);
  g_assert_true(lenient || !report.decoded || report.damage == FC_UNDAMAGED);
  if (!report.decoded) return;
  g_assert_cmpint(report.width, ==, (header->width + scale - 1) / scale);
  g_assert_cmpint(report.height, ==, (header->height + scale - 1) / scale);
}

int LLVMFuzzerTestOneInput(const guint8 *data, gsize size) {
  int kind = kind_of(data, size);
  if (kind < 0) return 0;
  g_autofree guint8 *file = with_checksums(data, size);
  fc_image_header header;
  g_autoptr(GError) error = NULL;
  if (!fc_image_read_header("image", (fc_image_kind)kind, file, size, &header, &error)) {
    g_assert_nonnull(error);
    return 0;
  }
  g_assert_true(header.orientation >= 1 && header.orientation <= 8);
  read_meta(file, size, &header);
  if (header.width < 1 || header.height < 1 || header.width > PIXELS / header.height) return 0;
  decode(file, size, &header, 1, size % 2);
  if (kind == FC_IMAGE_JPEG) decode(file, size, &header, 1 << (1 + size % 3), size % 2);
  return 0;
}
