/* SPDX-License-Identifier: MIT */
/*
 * image_meta.c - see image_meta.h. Segments and chunks are found by plain bounded walks;
 * nothing in them is unpacked.
 */
#include "media/image_meta.h"

#include <string.h>
#include <zlib.h>

/* A JPEG segment's largest content. */
#define SEGMENT_MAX 65533
#define CHUNK_FRAME 12 /* length, type and checksum */

struct fc_image_meta {
  gatomicrefcount references;
  gboolean grey;
  fc_blob exif; /* a TIFF structure */
  fc_blob icc;  /* a profile from a JPEG file, put together */
  /* As they are to stand in a file of the same kind; what belongs to colour apart. */
  fc_blob chunks, colour_chunks;
  fc_blob segments, colour_segments;
};

static guint32 big(const guint8 *at, int bytes) {
  guint32 value = 0;
  while (bytes--) value = value << 8 | *at++;
  return value;
}

static void put_chunk(fc_blob *to, const char *type, const fc_blob *data) {
  fc_blob_put_big(to, data->size, 4);
  gsize start = to->size;
  fc_blob_put(to, type, 4);
  fc_blob_join(to, data);
  if (!to->failed) fc_blob_put_big(to, crc32(0, to->data + start, (uInt)(to->size - start)), 4);
}

static void put_segment(fc_blob *to, int marker, const char *name, gsize name_size, const guint8 *data,
                        gsize size) {
  fc_blob_put_big(to, (guint)marker, 2);
  fc_blob_put_big(to, 2 + name_size + size, 2);
  fc_blob_put(to, name, name_size);
  fc_blob_put(to, data, size);
}

/* ---- PNG --------------------------------------------------------------- */

static gboolean is_one_of(const guint8 *type, const char *types) {
  for (; *types; types += 4)
    if (memcmp(type, types, 4) == 0) return TRUE;
  return FALSE;
}

static void take_chunk(fc_image_meta *meta, const guint8 *chunk, gsize length) {
  const guint8 *type = chunk + 4;
  if (memcmp(type, "eXIf", 4) == 0 && !meta->exif.size) fc_blob_put(&meta->exif, chunk + 8, length);
  if (is_one_of(type, "gAMAcHRMsRGBiCCPcICP")) fc_blob_put(&meta->colour_chunks, chunk, CHUNK_FRAME + length);
  if (is_one_of(type, "pHYstEXtzTXtiTXt")) fc_blob_put(&meta->chunks, chunk, CHUNK_FRAME + length);
}

static void read_png(fc_image_meta *meta, const guint8 *file, gsize size) {
  for (gsize at = 8; size - at >= CHUNK_FRAME;) {
    gsize length = big(file + at, 4);
    if (length > size - at - CHUNK_FRAME) return;
    take_chunk(meta, file + at, length);
    at += CHUNK_FRAME + length;
  }
}

/* ---- JPEG -------------------------------------------------------------- */

static gboolean begins(const guint8 *body, gsize size, const char *with, gsize with_size) {
  return size >= with_size && memcmp(body, with, with_size) == 0;
}

#define EXIF "Exif\0\0"
#define XMP  "http://ns.adobe.com/xap/1.0/\0"
#define ICC  "ICC_PROFILE\0"

/* `body` without marker and length. Profiles come in numbered pieces. */
static void take_segment(fc_image_meta *meta, int marker, const guint8 *body, gsize size) {
  if (marker == 0xffe1 && begins(body, size, EXIF, 6)) {
    if (!meta->exif.size) fc_blob_put(&meta->exif, body + 6, size - 6);
  } else if (marker == 0xffe2 && begins(body, size, ICC, 12) && size > 14) {
    fc_blob_put(&meta->icc, body + 14, size - 14);
    put_segment(&meta->colour_segments, marker, "", 0, body, size);
  } else if ((marker == 0xffe1 && begins(body, size, XMP, 29)) || marker == 0xffed || marker == 0xfffe)
    put_segment(&meta->segments, marker, "", 0, body, size);
}

static void read_jpeg(fc_image_meta *meta, const guint8 *file, gsize size) {
  for (gsize at = 2; size - at >= 4;) {
    int marker = (int)big(file + at, 2);
    gsize length = big(file + at + 2, 2);
    if (marker == 0xffda || marker < 0xffc0 || length < 2 || length > size - at - 2) return;
    take_segment(meta, marker, file + at + 4, length - 2);
    at += 2 + length;
  }
}

/* ---- both -------------------------------------------------------------- */

fc_image_meta *fc_image_meta_read(const guint8 *file, gsize size, int channels) {
  g_autoptr(fc_image_meta) meta = g_new0(fc_image_meta, 1);
  g_atomic_ref_count_init(&meta->references);
  meta->grey = channels < 3;
  if (begins(file, size, "\x89PNG", 4)) read_png(meta, file, size);
  if (begins(file, size, "\xff\xd8", 2)) read_jpeg(meta, file, size);
  const fc_blob *const all[] = {&meta->exif,          &meta->icc,      &meta->chunks,
                                &meta->colour_chunks, &meta->segments, &meta->colour_segments};
  for (gsize i = 0; i < G_N_ELEMENTS(all); i++)
    if (all[i]->failed) return NULL;
  fc_exif_set_upright(meta->exif.data, meta->exif.size);
  return g_steal_pointer(&meta);
}

fc_image_meta *fc_image_meta_ref(fc_image_meta *meta) {
  if (meta) g_atomic_ref_count_inc(&meta->references);
  return meta;
}

void fc_image_meta_unref(fc_image_meta *meta) {
  if (!meta || !g_atomic_ref_count_dec(&meta->references)) return;
  fc_blob_clear(&meta->exif);
  fc_blob_clear(&meta->icc);
  fc_blob_clear(&meta->chunks);
  fc_blob_clear(&meta->colour_chunks);
  fc_blob_clear(&meta->segments);
  fc_blob_clear(&meta->colour_segments);
  g_free(meta);
}

/* A profile from JPEG as PNG has it: a name, a method, and compressed. */
static void put_profile(fc_blob *to, const fc_blob *icc) {
  g_auto(fc_blob) body = {0};
  uLongf size = compressBound(icc->size);
  fc_blob_put(&body, "ICC profile\0", 13);
  guint8 *packed = fc_blob_grow(&body, size);
  gboolean done = packed && compress(packed, &size, icc->data, icc->size) == Z_OK;
  body.size = 13 + (done ? size : 0);
  body.failed |= !done;
  put_chunk(to, "iCCP", &body);
}

void fc_image_meta_for_png(const fc_image_meta *meta, int channels, fc_blob *to) {
  gboolean same_kind = meta->grey == (channels < 3);
  if (same_kind) fc_blob_join(to, &meta->colour_chunks);
  if (same_kind && meta->icc.size) put_profile(to, &meta->icc);
  fc_blob_join(to, &meta->chunks);
  if (meta->exif.size) put_chunk(to, "eXIf", &meta->exif);
}

void fc_image_meta_for_jpeg(const fc_image_meta *meta, int channels, fc_blob *to) {
  gboolean fits = meta->exif.size && meta->exif.size + 6 <= SEGMENT_MAX;
  if (fits) put_segment(to, 0xffe1, EXIF, 6, meta->exif.data, meta->exif.size);
  if (meta->grey == (channels < 3)) fc_blob_join(to, &meta->colour_segments);
  fc_blob_join(to, &meta->segments);
}
