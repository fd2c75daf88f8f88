/* SPDX-License-Identifier: MIT */
/* chunks.c - see chunks.h. After Microsoft's RIFF, EBU Tech 3306, Sonic Foundry's W64, Apple's AIFF and CAF.
 */
#include "media/audio/chunks.h"

#include <sndfile.h>
#include <string.h>

#include "media/file/bytes.h"

/* Room for the largest sample frame below a size that stands for "not known". */
#define SLACK 1024
/* Bytes of a file's header, which some writers count in. */
#define COUNTED 8
/* More than follows the end of a file whose sizes are right. */
#define TAIL_MOST (1 << 20)
/* No file is larger. */
#define SIZE_MOST ((guint64)1 << 62)

static const fc_chunk_layout layouts[] = {
    {"RIFF", SF_FORMAT_WAV, FC_TAGS_RIFF, 12, 4, 4, 2, FALSE, FALSE, 4, 8, "data"},
    {"RF64", SF_FORMAT_RF64, FC_TAGS_RIFF, 12, 4, 4, 2, FALSE, FALSE, 4, 8, "data"},
    {"RIFX", 0, FC_TAGS_RIFF, 12, 4, 4, 2, TRUE, FALSE, 4, 8, "data"},
    {"riff", SF_FORMAT_W64, FC_TAGS_RIFF, 40, 16, 8, 8, FALSE, TRUE, 16, 0, "data"},
    {"FORM", SF_FORMAT_AIFF, FC_TAGS_AIFF, 12, 4, 4, 2, TRUE, FALSE, 4, 8, "SSND"},
    {"caff", SF_FORMAT_CAF, FC_TAGS_CAF, 8, 4, 8, 1, TRUE, FALSE, 0, 0, "data"},
};

const fc_chunk_layout *fc_chunk_layout_of(int format) {
  for (gsize i = 0; i < G_N_ELEMENTS(layouts); i++)
    if (layouts[i].format == (format & SF_FORMAT_TYPEMASK)) return &layouts[i];
  return NULL;
}

const fc_chunk_layout *fc_chunk_layout_at(const fc_input *input) {
  for (gsize i = 0; i < G_N_ELEMENTS(layouts); i++)
    if (input->head_size >= layouts[i].file_header && memcmp(layouts[i].magic, input->head, 4) == 0)
      return &layouts[i];
  return NULL;
}

guint64 fc_chunk_get(const fc_chunk_layout *layout, const guint8 *from, int bytes) {
  return layout->big_endian ? fc_big(from, bytes) : fc_little(from, bytes);
}

void fc_chunk_put(fc_blob *to, const fc_chunk_layout *layout, guint64 value, int bytes) {
  (layout->big_endian ? fc_blob_put_big : fc_blob_put_little)(to, value, bytes);
}

/* W64 has GUIDs: one tail for the ids that it took from RIFF, and one for LIST. */
void fc_chunk_put_head(fc_blob *to, const fc_chunk_layout *layout, const char *id, guint64 size) {
  static const guint8 tail[12] = {0xf3, 0xac, 0xd3, 0x11, 0x8c, 0xd1, 0x00, 0xc0, 0x4f, 0x8e, 0xdb, 0x8a};
  static const guint8 list_tail[12] = {0x2f, 0x91, 0xcf, 0x11, 0xa5, 0xd6,
                                       0x28, 0xdb, 0x04, 0xc1, 0x00, 0x00};
  const gboolean wide = layout->id_bytes == 16, list = memcmp(id, "LIST", 4) == 0;
  fc_blob_put(to, wide && list ? "list" : id, 4);
  if (wide) fc_blob_put(to, list ? list_tail : tail, sizeof tail);
  const guint64 own = layout->counts_header ? (guint64)layout->id_bytes + layout->size_bytes : 0;
  fc_chunk_put(to, layout, size + own, layout->size_bytes);
}

void fc_chunk_put_padding(fc_blob *to, const fc_chunk_layout *layout) {
  while (!to->failed && to->size % layout->align) fc_blob_put_little(to, 0, 1);
}

/* 0xffffffff (ffmpeg), 0x7ffff000 and 0x7f000000 (sox), 0x7fffffff, 0x80000000 (arecord), all less the rest
 * of a frame or plus a header. */
gboolean fc_chunk_size_is_placeholder(guint64 size) {
  static const guint64 known[] = {0xffffffff, 0x80000000, 0x7fffffff, 0x7ffff000, 0x7f000000};
  for (gsize i = 0; i < G_N_ELEMENTS(known); i++)
    if (size + SLACK >= known[i] && size <= known[i] + 44) return TRUE;
  return size == 0 || size >= SIZE_MOST;
}

int fc_chunk_read(fc_input *input, gint64 at, void *to, gsize size, GError **error) {
  const gssize got = fc_input_read_at(input, at, to, size, error);
  return got < 0 ? -1 : got == (gssize)size;
}

/* ---- the walk ------------------------------------------------------------------ */

static gboolean is_file(const fc_chunk_walk *walk) {
  return walk->input->seekable;
}

gboolean fc_chunk_walk_begin(fc_chunk_walk *walk, fc_input *input, const fc_chunk_layout *layout,
                             GError **error) {
  *walk = (fc_chunk_walk){.input = input, .layout = layout, .at = layout->file_header, .total = -1};
  guint8 size[8];
  if (!layout->total_at) return TRUE;
  const int there = fc_chunk_read(input, layout->total_at, size, layout->size_bytes, error);
  if (there > 0)
    walk->total =
        (gint64)MIN(fc_chunk_get(layout, size, layout->size_bytes), SIZE_MOST) + layout->total_leaves_out;
  return there >= 0;
}

/* The true sizes of an RF64 file. */
static int read_ds64(fc_chunk_walk *walk, const fc_chunk *chunk, GError **error) {
  guint8 sizes[16];
  if (chunk->size < (gint64)sizeof sizes) return 1;
  const int there = fc_chunk_read(walk->input, chunk->offset, sizes, sizeof sizes, error);
  if (there <= 0) return there;
  walk->has_ds64 = TRUE;
  walk->total = (gint64)MIN(fc_little(sizes, 8), SIZE_MOST) + walk->layout->total_leaves_out;
  walk->data64 = fc_little(sizes + 8, 8);
  return 1;
}

/* Bytes of a chunk of samples without any: AIFF's has an offset and a block size. */
static gint64 size_of_none(const fc_chunk_walk *walk) {
  return walk->layout->family == FC_TAGS_AIFF ? 8 : 0;
}

/* A name of four characters that can be printed, and an end within the file. */
static gboolean is_chunk_at(fc_chunk_walk *walk, gint64 at) {
  guint8 header[8];
  if (fc_chunk_read(walk->input, at, header, sizeof header, NULL) <= 0) return FALSE;
  for (int i = 0; i < 4; i++)
    if (header[i] < ' ' || header[i] > '~') return FALSE;
  return fc_chunk_get(walk->layout, header + 4, 4) <= (guint64)(walk->input->size - at) - sizeof header;
}

/* The file's own size is that of the file: the header was completed, and every size in it is one. */
static gboolean is_complete(fc_chunk_walk *walk, const fc_chunk *chunk) {
  if (walk->total < 0) return FALSE;
  const gint64 end = chunk->offset + size_of_none(walk);
  const gboolean empty = chunk->offset + chunk->size <= end;
  guint8 byte;
  /* The size of the whole was set, that of the samples was not, and they follow. */
  if (empty && is_file(walk) && walk->total > end + COUNTED && !is_chunk_at(walk, end)) return FALSE;
  if (empty && !is_file(walk) && walk->total < end + SLACK &&
      fc_chunk_read(walk->input, end, &byte, 1, NULL) > 0)
    return FALSE;
  const gint64 behind = walk->input->size - walk->total, rest = walk->total - chunk->offset - chunk->size;
  if (!empty && rest > COUNTED && rest <= TAIL_MOST) return TRUE; /* which other chunks fill */
  if (is_file(walk) && rest < -COUNTED) return FALSE;
  if (is_file(walk)) return behind >= -COUNTED && behind <= (empty ? COUNTED : TAIL_MOST);
  return empty && walk->total >= chunk->offset && walk->total < chunk->offset + SLACK;
}

/* The three rules. */
static void judge_samples(fc_chunk_walk *walk, fc_chunk *chunk) {
  const gint64 left = is_file(walk) ? walk->input->size - chunk->offset : G_MAXINT64;
  if (walk->has_ds64 && chunk->size == (gint64)G_MAXUINT32)
    chunk->size = (gint64)MIN(walk->data64, SIZE_MOST);
  if (is_complete(walk, chunk)) {
    walk->missing = MAX(chunk->size - left, 0);
    return;
  }
  /* CAF, which has no size of the whole, has -1 for what is not known, so 0 is true. */
  const gboolean wide = walk->layout->size_bytes == 8 || walk->has_ds64;
  const gboolean placeholder =
      wide ? (guint64)chunk->size >= SIZE_MOST || (chunk->size == 0 && walk->layout->total_at)
           : fc_chunk_size_is_placeholder((guint64)MAX(chunk->size - size_of_none(walk), 0));
  if (placeholder)
    chunk->size = -1;
  else if (chunk->size > left)
    walk->missing = chunk->size - left;
}

/* Some writers leave out the byte that makes an odd size even. */
static gint64 place_behind(fc_chunk_walk *walk, const fc_chunk *chunk) {
  const gint64 end = chunk->offset + chunk->size, align = walk->layout->align;
  const gint64 place = chunk->offset + (chunk->size + align - 1) / align * align;
  gboolean unpadded =
      is_file(walk) && align == 2 && place > end && is_chunk_at(walk, end) && !is_chunk_at(walk, place);
  return unpadded ? end : place;
}

/* The end of the walk: what came behind the last chunk may be gone. */
static int end_walk(fc_chunk_walk *walk) {
  const gint64 behind = walk->total - (is_file(walk) ? walk->input->size : G_MAXINT64);
  const guint64 said = (guint64)walk->total - walk->layout->total_leaves_out;
  if (walk->total >= 0 && !walk->missing && behind > COUNTED && !fc_chunk_size_is_placeholder(said))
    walk->missing = behind;
  return 0;
}

int fc_chunk_walk_next(fc_chunk_walk *walk, fc_chunk *chunk, GError **error) {
  const fc_chunk_layout *layout = walk->layout;
  const gsize length = (gsize)layout->id_bytes + layout->size_bytes;
  guint8 header[24];
  if (walk->count++ >= FC_CHUNKS_MAX) return end_walk(walk);
  const int there = fc_chunk_read(walk->input, walk->at, header, length, error);
  if (there <= 0) return there < 0 ? there : end_walk(walk);
  const guint64 said = fc_chunk_get(layout, header + layout->id_bytes, layout->size_bytes);
  if ((layout->counts_header && said < length) || memcmp(header, "\0\0\0\0", 4) == 0) return end_walk(walk);
  memcpy(chunk->id, memcmp(header, "list", 4) == 0 ? (const guint8 *)"LIST" : header, 4);
  chunk->offset = walk->at + (gint64)length;
  chunk->size = (gint64)MIN(said - (layout->counts_header ? length : 0), SIZE_MOST);
  if (memcmp(chunk->id, layout->samples, 4) == 0) {
    judge_samples(walk, chunk);
  } else if (is_file(walk) && chunk->size > walk->input->size - chunk->offset) {
    /* What follows the file's own end is no chunk of it. */
    if (walk->total >= 0 && walk->at >= walk->total) return 0;
    walk->missing = chunk->size - (walk->input->size - chunk->offset);
  }
  const int sized = memcmp(chunk->id, "ds64", 4) == 0 ? read_ds64(walk, chunk, error) : 1;
  walk->at = chunk->size < 0 ? G_MAXINT64 / 2 : place_behind(walk, chunk);
  return sized;
}
