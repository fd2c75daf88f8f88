/* SPDX-License-Identifier: MIT */
/* sound_front.c - see sound_front.h. */
#include "media/audio/sound_front.h"

#include <string.h>

#include "media/audio/chunks.h"

/* Where in a chunk it says how the samples are packed. */
enum { WAV_TAG = 0, WAV_EXTENDED = 24, AIFF_KIND = 18 };
enum { AU_OFFSET = 4, AU_SIZE = 8, AU_ENCODING = 12, AU_HEAD = 24 };

static gboolean wav_is_plain(const fc_chunk_layout *layout, const guint8 *fmt, guint64 size) {
  enum { PCM = 1, FLOAT = 3, ALAW = 6, ULAW = 7, EXTENSIBLE = 0xfffe };
  guint64 tag = size >= WAV_TAG + 2 ? fc_chunk_get(layout, fmt + WAV_TAG, 2) : 0;
  if (tag == EXTENSIBLE && size >= WAV_EXTENDED + 2) tag = fc_chunk_get(layout, fmt + WAV_EXTENDED, 2);
  return tag == PCM || tag == FLOAT || tag == ALAW || tag == ULAW;
}

/* AIFF-C says it in a word, AIFF has no other samples. */
static gboolean aiff_is_plain(const fc_input *input, const guint8 *comm, guint64 size) {
  static const char *const words[] = {"NONE", "twos", "sowt", "in24", "in32", "23ni", "fl32", "FL32",
                                      "fl64", "FL64", "ulaw", "ULAW", "alaw", "ALAW", "raw "};
  if (memcmp(input->head + 8, "AIFF", 4) == 0) return TRUE;
  for (gsize i = 0; i < G_N_ELEMENTS(words) && size >= AIFF_KIND + 4; i++)
    if (memcmp(comm + AIFF_KIND, words[i], 4) == 0) return TRUE;
  return FALSE;
}

/* The order of its bytes; NULL: it is no AU. */
static const fc_chunk_layout *au_order(const fc_input *input) {
  gboolean big = memcmp(input->head, ".snd", 4) == 0;
  if (input->head_size < AU_HEAD || (!big && memcmp(input->head, "dns.", 4) != 0)) return NULL;
  return fc_chunk_layout_of(big ? FC_FAMILY_AIFF : FC_FAMILY_RIFF);
}

gboolean fc_sound_front_au(const fc_input *input, gint64 *offset, gint64 *size) {
  const fc_chunk_layout *order = au_order(input);
  if (!order) return FALSE;
  *offset = (gint64)fc_chunk_get(order, input->head + AU_OFFSET, 4);
  *size = (gint64)fc_chunk_get(order, input->head + AU_SIZE, 4);
  gboolean behind = input->seekable && input->size > *offset;
  if (*size == G_MAXUINT32 || (*size == 0 && behind)) *size = -1;
  return TRUE;
}

/* Libsndfile takes its size for a number with a sign. */
static gboolean au_is_plain(const fc_input *input) {
  enum { LAST_LINEAR = 7, ALAW = 27 };
  const fc_chunk_layout *order = au_order(input);
  gint64 offset, size;
  if (!order || !fc_sound_front_au(input, &offset, &size)) return FALSE;
  guint64 encoding = fc_chunk_get(order, input->head + AU_ENCODING, 4);
  return (encoding <= LAST_LINEAR || encoding == ALAW) && size != 0 && size <= G_MAXINT32 - offset;
}

/* A size of 0 was never set, unless the file's own says that it goes on. */
static gboolean samples_are_plain(const fc_input *input, const guint8 *data, guint64 size) {
  const fc_chunk_layout *layout = fc_chunk_layout_at(input);
  guint64 offset = (guint64)(data - input->head), total;
  total = fc_chunk_get(layout, input->head + layout->total_at, 4) + layout->total_leaves_out;
  return size > 0 || total > offset;
}

gboolean fc_sound_front_is_plain(const fc_input *input) {
  const fc_chunk_layout *layout = fc_chunk_layout_at(input);
  const guint8 *chunk;
  if (!layout) return au_is_plain(input);
  gboolean aiff = layout->family == FC_FAMILY_AIFF, plain = FALSE;
  for (guint64 at = 0, size; (chunk = fc_chunks_peek(input, &at, &size));) {
    guint64 left = MIN(size, (guint64)(input->head + input->head_size - (chunk + 8)));
    if (memcmp(chunk, layout->samples, 4) == 0) return plain && samples_are_plain(input, chunk + 8, size);
    if (memcmp(chunk, aiff ? "COMM" : "fmt ", 4) == 0)
      plain = aiff ? aiff_is_plain(input, chunk + 8, left) : wav_is_plain(layout, chunk + 8, left);
  }
  return FALSE;
}
