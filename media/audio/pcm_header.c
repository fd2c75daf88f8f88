/* SPDX-License-Identifier: MIT */
/*
 * pcm_header.c - see pcm_header.h. After Microsoft's WAVEFORMATEX and WAVEFORMATEXTENSIBLE, Apple's AIFF-C
 * and CAF, and Sun's AU.
 */
#include "media/audio/pcm_header.h"

#include <math.h>
#include <string.h>

#include "media/audio/channel_layout.h"
#include "media/audio/audio_tags.h"
#include "media/file/bytes.h"

enum { MOST_CHANNELS = 65535 };

/* For one of libsndfile's subtypes; 0 leaves it unknown. */
static void set_samples(fc_pcm_header *header, int subtype, gboolean big) {
  header->item = fc_audio_item_of(subtype);
  header->swap = big != (G_BYTE_ORDER == G_BIG_ENDIAN);
  header->sndfile = subtype;
}

static int floats_of(int bytes) {
  return bytes == 4 ? SF_FORMAT_FLOAT : bytes == 8 ? SF_FORMAT_DOUBLE : 0;
}

/* ---- WAV, RF64, RIFX, W64 -------------------------------------------------------- */

static void read_fmt(fc_pcm_header *header, const fc_chunk_layout *layout, const guint8 *fmt, gsize size) {
  enum {
    PCM = 1,
    FLOAT = 3,
    MPEG = 0x50,
    MP3 = 0x55,
    A_LAW = 6,
    U_LAW = 7,
    EXTENSIBLE = 0xfffe,
    GSM = 0x31,
    MS_ADPCM = 2,
    IMA_ADPCM = 17
  };
  static const guint8 tails[2][14] = {
      {0, 0, 0, 0, 0x10, 0, 0x80, 0, 0, 0xaa, 0, 0x38, 0x9b, 0x71},
      {0, 0, 0x21, 0x07, 0xd3, 0x11, 0x86, 0x44, 0xc8, 0xc1, 0xca, 0, 0, 0}}; /* ambisonic */
  int tag = (int)fc_chunk_get(layout, fmt, 2);
  const int bits = (int)fc_chunk_get(layout, fmt + 14, 2), frame = (int)fc_chunk_get(layout, fmt + 12, 2);
  header->channels = (int)fc_chunk_get(layout, fmt + 2, 2);
  header->rate = (double)fc_chunk_get(layout, fmt + 4, 4);
  const guint8 *tail = fmt + 26;
  if (tag == EXTENSIBLE && size >= 40 &&
      (memcmp(tail, tails[0], 14) == 0 || memcmp(tail, tails[1], 14) == 0)) {
    tag = (int)fc_chunk_get(layout, fmt + 24, 2);
    header->tags->speakers = (guint32)fc_chunk_get(layout, fmt + 20, 4);
    header->tags->speakers_stated = header->tags->speakers != 0;
  }
  if (header->channels && frame % header->channels && (tag == PCM || tag == FLOAT)) header->channels = 0;
  header->mpeg = tag == MPEG || tag == MP3;
  if (tag == GSM || tag == MS_ADPCM || tag == IMA_ADPCM) {
    header->block_bytes = frame;
    header->block_frames = size >= 20 ? (gint64)fc_chunk_get(layout, fmt + 18, 2) : 0;
  }
  if (tag == U_LAW || tag == A_LAW)
    set_samples(header, tag == U_LAW ? SF_FORMAT_ULAW : SF_FORMAT_ALAW, layout->big_endian);
  if ((tag == PCM || tag == FLOAT) && header->channels) {
    /* 12 or 20 bits are left-justified in their bytes. */
    const gboolean whole = frame % header->channels == 0 && frame / header->channels * 8 >= bits;
    const int bytes = whole && frame ? frame / header->channels : (bits + 7) / 8;
    const int integers = bytes == 1 && bits <= 8 ? SF_FORMAT_PCM_U8 : fc_audio_integers(bytes);
    set_samples(header, tag == FLOAT ? floats_of(bytes) : integers, layout->big_endian);
  }
  header->unknown = layout->counts_header && fc_chunk_get(layout, fmt, 2) == EXTENSIBLE && !header->item;
}

/* ---- AIFF ------------------------------------------------------------------------- */

static double extended(const guint8 *at) {
  const int exponent = (int)fc_big(at, 2) & 0x7fff;
  return ldexp((double)fc_big(at + 2, 8), exponent - 16383 - 63);
}

static void read_comm(fc_pcm_header *header, const guint8 *comm, gsize size, gboolean compressed) {
  static const struct {
    const char *id;
    int subtype; /* 0: by the bits */
    gboolean little;
  } kinds[] = {{"NONE", 0, FALSE},
               {"twos", 0, FALSE},
               {"sowt", 0, TRUE},
               {"raw ", SF_FORMAT_PCM_U8, FALSE},
               {"in24", SF_FORMAT_PCM_24, FALSE},
               {"in32", SF_FORMAT_PCM_32, FALSE},
               {"42ni", SF_FORMAT_PCM_24, TRUE},
               {"23ni", SF_FORMAT_PCM_32, TRUE},
               {"fl32", SF_FORMAT_FLOAT, FALSE},
               {"fl64", SF_FORMAT_DOUBLE, FALSE},
               {"ulaw", SF_FORMAT_ULAW, FALSE},
               {"alaw", SF_FORMAT_ALAW, FALSE}};
  header->channels = (int)fc_big(comm, 2);
  header->counted = (gint64)fc_big(comm + 2, 4);
  header->rate = extended(comm + 8);
  const int bits = (int)fc_big(comm + 6, 2);
  const guint8 *id = compressed && size >= 22 ? comm + 18 : (const guint8 *)"NONE";
  for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
    if (g_ascii_strncasecmp((const char *)id, kinds[i].id, 4) == 0)
      set_samples(header, kinds[i].subtype ? kinds[i].subtype : fc_audio_integers((bits + 7) / 8),
                  !kinds[i].little);
}

/* ---- CAF --------------------------------------------------------------------------- */

static void read_desc(fc_pcm_header *header, const guint8 *desc) {
  enum { FLOAT = 1, LITTLE = 2 };
  guint64 bits = fc_big(desc, 8);
  memcpy(&header->rate, &bits, sizeof bits);
  const guint32 flags = (guint32)fc_big(desc + 12, 4), packet = (guint32)fc_big(desc + 16, 4),
                channels = (guint32)fc_big(desc + 24, 4);
  header->channels = channels <= MOST_CHANNELS ? (int)channels : 0;
  const int bytes = header->channels && packet % channels == 0 ? (int)MIN(packet / channels, 9) : 0;
  if (memcmp(desc + 8, "lpcm", 4) == 0)
    set_samples(header, flags & FLOAT ? floats_of(bytes) : fc_audio_integers(bytes), !(flags & LITTLE));
  if (memcmp(desc + 8, "ulaw", 4) == 0) set_samples(header, SF_FORMAT_ULAW, TRUE);
  if (memcmp(desc + 8, "alaw", 4) == 0) set_samples(header, SF_FORMAT_ALAW, TRUE);
}

/* ALAC's own header, bare or in atoms. */
static void read_kuki(fc_pcm_header *header, const guint8 *kuki, gsize size) {
  enum { DEPTH_AT = 5, ATOMS = 24 };
  const gboolean wrapped = memcmp(kuki + 4, "frma", 4) == 0 && size > ATOMS + DEPTH_AT;
  if (!header->item) header->alac_depth = kuki[(wrapped ? ATOMS : 0) + DEPTH_AT];
}

/* ---- chunks ------------------------------------------------------------------------ */

/* A number of frames, limited so that its product with the bytes of a frame does not overflow. */
static gint64 count_of(guint64 said) {
  return (gint64)MIN(said, (guint64)1 << 40);
}

/* Reads a chunk about the samples. FALSE with an error. */
static gboolean read_known(fc_pcm_header *header, fc_input *input, const fc_chunk_layout *layout,
                           const fc_chunk *chunk, GError **error) {
  static const struct {
    const char *id;
    gsize least;
  } known[] = {{"fmt ", 16},           {"COMM", 18},           {"desc", 32}, {"fact", 4},
               {"chan", FC_CHAN_SIZE}, {"CHAN", FC_CHAN_SIZE}, {"pakt", 16}, {"kuki", 24}};
  guint8 body[512] = {0};
  gsize i = 0, size = (gsize)MIN(chunk->size, (gint64)sizeof body);
  while (i < G_N_ELEMENTS(known) && memcmp(chunk->id, known[i].id, 4) != 0) i++;
  if (i < 3 && header->channels) return TRUE; /* the first is used */
  if (i == G_N_ELEMENTS(known) || chunk->size < (gint64)known[i].least) return TRUE;
  const int there = fc_chunk_read(input, chunk->offset, body, size, error);
  if (there <= 0) return there == 0;
  switch (i) {
  case 0: read_fmt(header, layout, body, size); break;
  case 1: read_comm(header, body, size, memcmp(input->head + 8, "AIFC", 4) == 0); break;
  case 2:
    read_desc(header, body);
    header->flags_at = chunk->offset + 12;
    header->block_frames = (gint64)fc_big(body + 20, 4);
    break;
  case 7: read_kuki(header, body, size); break;
  case 3:
    header->counted = count_of(fc_chunk_get(layout, body, (int)MIN((gsize)layout->size_bytes, size)));
    break;
  case 4:
  case 5:
    if (header->tags->speakers_stated) break;
    header->tags->speakers = fc_channel_mask_of_chan(body, size, header->channels);
    header->tags->speakers_stated = header->tags->speakers != 0;
    break;
  default: header->counted = count_of(fc_big(body + 8, 8));
  }
  return TRUE;
}

/* The samples' chunk begins in AIFF with an offset and a block size, in CAF with a count of edits. */
static gboolean meet_samples(fc_pcm_header *header, fc_input *input, const fc_chunk_walk *walk,
                             const fc_chunk *chunk, GError **error) {
  const fc_chunk_layout *layout = walk->layout;
  guint8 field[8] = {0};
  gint64 skip = layout->family == FC_TAGS_CAF ? 4 : 0;
  header->found = TRUE;
  header->size_bytes = layout->size_bytes;
  header->size_at = chunk->offset - layout->size_bytes;
  if (fc_chunk_read(input, header->size_at, field, layout->size_bytes, error) <= 0) return FALSE;
  header->size_said = fc_chunk_get(layout, field, layout->size_bytes);
  if (layout->family == FC_TAGS_AIFF) {
    const int there = fc_chunk_read(input, chunk->offset, field, 4, error);
    if (there < 0) return FALSE;
    if (there > 0) skip = 8 + (gint64)fc_big(field, 4);
  }
  header->offset = chunk->offset + skip;
  header->size = chunk->size < 0 ? -1 : MAX(chunk->size - skip, 0);
  header->more = chunk->size >= 0 && walk->total > chunk->offset + chunk->size + 8 + 1 &&
                 !fc_chunk_size_is_placeholder((guint64)walk->total - layout->total_leaves_out);
  return TRUE;
}

static gboolean read_chunks(fc_pcm_header *header, fc_input *input, const fc_chunk_layout *layout,
                            GError **error) {
  fc_chunk_walk walk;
  fc_chunk chunk;
  int there;
  if (!fc_chunk_walk_begin(&walk, input, layout, error)) return FALSE;
  while ((there = fc_chunk_walk_next(&walk, &chunk, error)) > 0) {
    const gboolean samples = memcmp(chunk.id, layout->samples, 4) == 0;
    if (samples && !header->found) {
      if (!meet_samples(header, input, &walk, &chunk, error)) return FALSE;
      if (!input->seekable && header->channels) return TRUE;
    } else if (!samples &&
               (!read_known(header, input, layout, &chunk, error) ||
                !fc_chunk_tags_read(header->tags, layout, &chunk, !header->found, input, error))) {
      return FALSE;
    }
  }
  if (walk.count > FC_CHUNKS_MAX && there == 0 && !header->found)
    return fc_fail(error, FC_UNSUPPORTED, "%s: holds more than %d chunks ahead of its samples", input->name,
                   FC_CHUNKS_MAX);
  if (walk.count > FC_CHUNKS_MAX) fc_tags_lose(header->tags, "chunks beyond the first 4096");
  header->missing = walk.missing;
  return there == 0;
}

/* ---- AU ------------------------------------------------------------------------------ */

static gboolean read_au(fc_pcm_header *header, fc_input *input, GError **error) {
  enum { HEAD = 24, NOTE_MOST = 65536 };
  static const struct {
    int encoding, subtype;
  } kinds[] = {{1, SF_FORMAT_ULAW},   {2, SF_FORMAT_PCM_S8}, {3, SF_FORMAT_PCM_16}, {4, SF_FORMAT_PCM_24},
               {5, SF_FORMAT_PCM_32}, {6, SF_FORMAT_FLOAT},  {7, SF_FORMAT_DOUBLE}, {27, SF_FORMAT_ALAW}};
  guint8 head[HEAD];
  int there = fc_chunk_read(input, 0, head, HEAD, error);
  if (there <= 0) return there == 0;
  const gboolean big = head[0] == '.';
  guint64 (*get)(const guint8 *, int) = big ? fc_big : fc_little;
  header->found = TRUE;
  header->offset = MAX((gint64)get(head + 4, 4), HEAD);
  header->size_at = 8, header->size_bytes = 4, header->size_said = get(head + 8, 4);
  header->size = (gint64)header->size_said;
  header->rate = (double)get(head + 16, 4);
  header->channels = get(head + 20, 4) <= MOST_CHANNELS ? (int)get(head + 20, 4) : 0;
  for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
    if ((int)get(head + 12, 4) == kinds[i].encoding) set_samples(header, kinds[i].subtype, big);
  const gint64 left = input->seekable ? MAX(input->size - header->offset, 0) : G_MAXINT64;
  if (header->size > left || !header->size || !input->seekable) {
    if (fc_chunk_size_is_placeholder(header->size_said))
      header->size = -1;
    else if (header->size > left)
      header->missing = header->size - left;
  }
  g_autofree char *note = NULL;
  const gint64 length = header->offset - HEAD;
  if (length > 0 && length <= NOTE_MOST) note = g_malloc0((gsize)length + 1);
  if (note) there = fc_chunk_read(input, HEAD, note, (gsize)length, error);
  if (note && there > 0 && *note) fc_tags_add_text(header->tags, "COMMENT", note, -1);
  return there >= 0;
}

gboolean fc_pcm_header_read(fc_pcm_header *header, fc_input *input, GError **error) {
  const fc_chunk_layout *layout = fc_chunk_layout_at(input);
  const gboolean au = memcmp(input->head, ".snd", 4) == 0 || memcmp(input->head, "dns.", 4) == 0;
  const gboolean rifx = layout && layout->family == FC_TAGS_RIFF && layout->big_endian;
  *header = (fc_pcm_header){.tags = fc_tags_new(layout && !rifx ? layout->family : FC_TAGS_OTHER)};
  if (!layout && !au) return TRUE;
  if (!(layout ? read_chunks(header, input, layout, error) : read_au(header, input, error))) return FALSE;
  if (!(header->rate >= 0 && header->rate < 1e9)) header->rate = 0; /* in CAF it may be NaN */
  header->tags->channels = header->channels;
  header->tags->rate = (int)header->rate;
  return fc_tags_check(header->tags, input->name, error);
}

void fc_pcm_header_clear(fc_pcm_header *header) {
  g_clear_pointer(&header->tags, fc_tags_unref);
}
