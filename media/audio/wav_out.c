/* SPDX-License-Identifier: MIT */
/*
 * wav_out.c - PCM and float WAV, RF64 beyond 4 GiB, and W64: after Microsoft's RIFF, EBU
 * Tech 3306 and Sonic Foundry's description.
 *
 * libsndfile's WAV writer lets the size wrap at 4 GiB, as RF64 it writes an unusual
 * header also for short files, and it takes whatever follows the samples of a W64 file
 * for more of them. Here the header is final from the start when the length is known,
 * so that it may go into a pipe; when it is not, room is left for the RF64 sizes and the
 * header is written again at the end.
 */
#include <string.h>

#include "media/file/blob.h"
#include "media/audio/metadata.h"
#include "media/file/warn.h"

#define TAG_PCM        1
#define TAG_FLOAT      3
#define TAG_EXTENSIBLE 0xfffe

#define DS64_SIZE 28
/* libsndfile, and what is built on it, does not find the samples of a W64 file behind
 * more metadata than about this. */
#define W64_AHEAD_MAX ((gsize)64 << 10)
#define BLOCK         16384 /* samples packed at a time */

typedef struct wav_encoder {
  fc_encoder base;
  const char *name;
  fc_output *output;
  fc_audio_spec spec;
  const fc_chunk_layout *layout; /* RIFF or W64 */
  int sample_bytes;
  gint64 frames;
  gsize header_size;    /* up to the first sample */
  gboolean room;        /* for the sizes of RF64, which it is or may turn out to be */
  const GArray *chunks; /* of fc_meta_chunk; or NULL */
  fc_seats seats;
} wav_encoder;

static gboolean is_w64(const wav_encoder *wav) {
  return wav->layout->family == FC_FAMILY_W64;
}

static guint64 data_bytes(const wav_encoder *wav, gint64 frames) {
  return (guint64)frames * (guint64)(wav->sample_bytes * wav->spec.channels);
}

/* ---- pieces of the header ---------------------------------------------- */

/* A chunk's own header; `size` is that of its payload. */
static void put_head(fc_blob *to, const wav_encoder *wav, const char *id, guint64 size) {
  guint8 full[FC_CHUNK_ID_MAX];
  guint64 own = wav->layout->counts_header ? (guint64)(wav->layout->id_bytes + wav->layout->size_bytes) : 0;
  fc_chunk_put_id(wav->layout, full, (const guint8 *)id);
  fc_blob_put(to, full, wav->layout->id_bytes);
  fc_blob_put_little(to, size + own, wav->layout->size_bytes);
}

static void put_padding(fc_blob *to, const wav_encoder *wav) {
  while (!to->failed && to->size % wav->layout->align) fc_blob_put_little(to, 0, 1);
}

/* More than two channels need the extensible form; fewer keep it. In W64 only a mask has need of it. */
static void put_fmt(fc_blob *to, const wav_encoder *wav) {
  static const guint8 guid_tail[14] = {0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x80,
                                       0x00, 0x00, 0xaa, 0x00, 0x38, 0x9b, 0x71};
  const fc_audio_spec *spec = &wav->spec;
  gboolean floating = fc_dtype_is_float(spec->samples.dtype);
  guint32 mask = is_w64(wav) ? fc_seats_of_w64(&wav->seats, spec) : wav->seats.mask;
  gboolean extensible = mask || (!is_w64(wav) && (wav->seats.extensible || spec->channels > 2));
  guint32 frame = (guint32)(wav->sample_bytes * spec->channels);
  put_head(to, wav, "fmt ", extensible ? 40 : floating ? 18 : 16);
  fc_blob_put_little(to, extensible ? TAG_EXTENSIBLE : floating ? TAG_FLOAT : TAG_PCM, 2);
  fc_blob_put_little(to, (guint64)spec->channels, 2);
  fc_blob_put_little(to, (guint64)spec->rate, 4);
  fc_blob_put_little(to, (guint64)spec->rate * frame, 4);
  fc_blob_put_little(to, frame, 2);
  fc_blob_put_little(to, (guint64)wav->sample_bytes * 8, 2);
  if (extensible || floating) fc_blob_put_little(to, extensible ? 22 : 0, 2);
  if (extensible) {
    fc_blob_put_little(to, (guint64)wav->sample_bytes * 8, 2);
    fc_blob_put_little(to, mask, 4);
    fc_blob_put_little(to, floating ? TAG_FLOAT : TAG_PCM, 2);
    fc_blob_put(to, guid_tail, sizeof guid_tail);
  }
  put_padding(to, wav);
}

/* What is not PCM says its frames. */
static void put_fact(fc_blob *to, const wav_encoder *wav, gint64 frames) {
  if (!fc_dtype_is_float(wav->spec.samples.dtype)) return;
  put_head(to, wav, "fact", wav->layout->size_bytes);
  fc_blob_put_little(to, is_w64(wav) ? (guint64)frames : MIN((guint64)frames, 0xffffffff),
                     wav->layout->size_bytes);
}

/* Behind so many bytes. */
static gboolean fits(const wav_encoder *wav, gsize behind, const fc_meta_chunk *chunk) {
  return !is_w64(wav) || behind + chunk->size <= W64_AHEAD_MAX;
}

/* In W64 all metadata stand ahead of the samples, else where they stood; but libsndfile
 * loses its way behind a chunk of odd size in RF64. */
static gboolean stands_ahead(const wav_encoder *wav, const fc_meta_chunk *chunk) {
  return is_w64(wav) || (chunk->before && !(wav->room && chunk->size % 2));
}

static void put_chunks(fc_blob *to, const wav_encoder *wav, gboolean ahead) {
  for (guint i = 0; wav->chunks && i < wav->chunks->len; i++) {
    const fc_meta_chunk *chunk = &g_array_index(wav->chunks, fc_meta_chunk, i);
    if (stands_ahead(wav, chunk) != ahead || !fits(wav, to->size, chunk)) continue;
    put_head(to, wav, (const char *)chunk->id, chunk->size);
    fc_blob_put(to, chunk->data, chunk->size);
    put_padding(to, wav);
  }
}

/* The room for RF64's sizes: used, or kept free. */
static void put_ds64(fc_blob *to, const wav_encoder *wav, gboolean wide, guint64 riff, gint64 frames) {
  put_head(to, wav, wide ? "ds64" : "JUNK", DS64_SIZE);
  fc_blob_put_little(to, wide ? riff : 0, 8);
  fc_blob_put_little(to, wide ? data_bytes(wav, frames) : 0, 8);
  fc_blob_put_little(to, wide ? (guint64)frames : 0, 8);
  fc_blob_put_little(to, 0, 4);
}

/* ---- the header -------------------------------------------------------- */

/* From the first chunk to the last before the samples. */
static void put_ahead(fc_blob *to, const wav_encoder *wav, gint64 frames) {
  put_fmt(to, wav);
  put_fact(to, wav, frames);
  put_chunks(to, wav, TRUE);
}

static void put_w64_header(fc_blob *to, const wav_encoder *wav, gint64 frames) {
  static const guint8 riff[16] = {'r',  'i',  'f',  'f',  0x2e, 0x91, 0xcf, 0x11,
                                  0xa5, 0xd6, 0x28, 0xdb, 0x04, 0xc1, 0x00, 0x00};
  guint8 wave[16];
  fc_chunk_put_id(wav->layout, wave, (const guint8 *)"wave");
  g_auto(fc_blob) ahead = {0};
  put_ahead(&ahead, wav, frames);
  fc_blob_put(to, riff, sizeof riff);
  fc_blob_put_little(to, wav->layout->file_header + ahead.size + 24 + data_bytes(wav, frames), 8);
  fc_blob_put(to, wave, sizeof wave);
  fc_blob_join(to, &ahead);
  put_head(to, wav, "data", data_bytes(wav, frames));
}

static gboolean asked_for_rf64(const wav_encoder *wav) {
  return (wav->spec.samples.format & SF_FORMAT_TYPEMASK) == SF_FORMAT_RF64;
}

/* What the size in the file's header counts. Not true without memory, which `to` is told of. */
static guint64 riff_size(const wav_encoder *wav, gint64 frames, fc_blob *to) {
  g_auto(fc_blob) own = {0};
  put_fmt(&own, wav);
  put_fact(&own, wav, frames);
  to->failed |= own.failed;
  guint64 data = data_bytes(wav, frames), chunks = 0;
  for (guint i = 0; wav->chunks && i < wav->chunks->len; i++) {
    gsize size = g_array_index(wav->chunks, fc_meta_chunk, i).size;
    chunks += 8 + size + (size & 1);
  }
  return 4 + (wav->room ? 8 + DS64_SIZE : 0) + own.size + 8 + data + (data & 1) + chunks;
}

static void put_riff_header(fc_blob *to, const wav_encoder *wav, gint64 frames) {
  guint64 riff = riff_size(wav, frames, to);
  gboolean wide = asked_for_rf64(wav) || riff > 0xffffffff;
  put_head(to, wav, wide ? "RF64" : "RIFF", wide ? 0xffffffff : riff);
  fc_blob_put(to, "WAVE", 4);
  if (wav->room) put_ds64(to, wav, wide, riff, frames);
  g_auto(fc_blob) ahead = {0};
  put_ahead(&ahead, wav, frames);
  fc_blob_join(to, &ahead);
  put_head(to, wav, "data", wide ? 0xffffffff : data_bytes(wav, frames));
}

/* Everything before the first sample, for a file of so many frames. */
static void put_header(fc_blob *to, const wav_encoder *wav, gint64 frames) {
  if (is_w64(wav))
    put_w64_header(to, wav, frames);
  else
    put_riff_header(to, wav, frames);
}

/* ---- samples ----------------------------------------------------------- */

/* Little-endian, and without the low bytes that carry nothing. 8 bits are unsigned. */
static void pack(guint8 *to, const void *from, gsize count, int dtype, int bytes) {
  switch (dtype) {
  case FC_I16:
    for (gsize i = 0; i < count; i++) {
      guint16 value = (guint16)((const gint16 *)from)[i];
      if (bytes == 1)
        to[i] = (guint8)((value >> 8) ^ 0x80);
      else
        to[2 * i] = (guint8)value, to[2 * i + 1] = (guint8)(value >> 8);
    }
    return;
  case FC_I32:
    for (gsize i = 0; i < count; i++) {
      guint32 value = (guint32)((const gint32 *)from)[i];
      for (int b = 0; b < bytes; b++)
        to[(gsize)bytes * i + (gsize)b] = (guint8)(value >> (8 * (4 - bytes + b)));
    }
    return;
  default: /* floats of a big-endian machine */
    for (gsize i = 0; i < count * (gsize)bytes; i++)
      to[i] = ((const guint8 *)from)[i / (gsize)bytes * (gsize)bytes + (gsize)bytes - 1 - i % (gsize)bytes];
  }
}

static gboolean lies_as_in_file(const wav_encoder *wav) {
  return G_BYTE_ORDER == G_LITTLE_ENDIAN &&
         (gsize)wav->sample_bytes == fc_dtype_size(wav->spec.samples.dtype);
}

static gboolean wav_write(fc_encoder *base, const void *frames, gint64 count, GError **error) {
  wav_encoder *wav = (wav_encoder *)base;
  wav->frames += count;
  if (lies_as_in_file(wav)) return fc_output_write(wav->output, frames, data_bytes(wav, count), error);
  gsize left = (gsize)count * (gsize)wav->spec.channels, size = fc_dtype_size(wav->spec.samples.dtype);
  guint8 packed[BLOCK * 8];
  for (const char *at = frames; left;) {
    gsize some = MIN(left, BLOCK);
    pack(packed, at, some, wav->spec.samples.dtype, wav->sample_bytes);
    if (!fc_output_write(wav->output, packed, some * (gsize)wav->sample_bytes, error)) return FALSE;
    at += some * size;
    left -= some;
  }
  return TRUE;
}

/* What follows the samples: in RIFF a byte that makes them even, and metadata. */
static gboolean write_behind(wav_encoder *wav, GError **error) {
  if (is_w64(wav)) return TRUE;
  g_auto(fc_blob) behind = {0};
  put_chunks(&behind, wav, FALSE);
  gsize odd = data_bytes(wav, wav->frames) & 1;
  return fc_blob_check(&behind, wav->name, error) && fc_output_write(wav->output, "", odd, error) &&
         fc_output_write(wav->output, behind.data, behind.size, error);
}

static gboolean wav_finish(fc_encoder *base, GError **error) {
  wav_encoder *wav = (wav_encoder *)base;
  if (wav->spec.frames != FC_UNKNOWN && wav->frames != wav->spec.frames)
    return fc_fail(error, FC_FATAL,
                   "%s: %" G_GINT64_FORMAT " frames arrived where %" G_GINT64_FORMAT " were due", wav->name,
                   wav->frames, wav->spec.frames);
  if (!write_behind(wav, error)) return FALSE;
  if (wav->spec.frames != FC_UNKNOWN) return TRUE;
  g_auto(fc_blob) header = {0};
  put_header(&header, wav, wav->frames);
  if (!fc_blob_check(&header, wav->name, error)) return FALSE;
  g_assert(header.size == wav->header_size);
  return fc_output_write_at(wav->output, 0, header.data, header.size, error);
}

static void wav_free(fc_encoder *base) {
  g_free(base);
}

static void warn_of_large(const wav_encoder *wav) {
  gsize ahead = 0;
  for (guint i = 0; is_w64(wav) && wav->chunks && i < wav->chunks->len; i++) {
    const fc_meta_chunk *chunk = &g_array_index(wav->chunks, fc_meta_chunk, i);
    if (fits(wav, ahead, chunk))
      ahead += chunk->size;
    else
      fc_media_warn(wav->spec.options,
                    "%s: the chunk %.4s of the input is too large for W64, and is left out", wav->name,
                    (const char *)chunk->id);
  }
}

fc_encoder *fc_wav_encoder_new(const char *name, fc_output *output, const fc_audio_spec *spec,
                               GError **error) {
  wav_encoder *wav = g_new0(wav_encoder, 1);
  wav->base = (fc_encoder){wav_write, wav_finish, wav_free};
  wav->name = name;
  wav->output = output;
  wav->spec = *spec;
  gboolean w64 = (spec->samples.format & SF_FORMAT_TYPEMASK) == SF_FORMAT_W64;
  wav->layout = fc_chunk_layout_of(w64 ? FC_FAMILY_W64 : FC_FAMILY_RIFF);
  wav->sample_bytes = fc_dtype_is_float(spec->samples.dtype) ? (int)fc_dtype_size(spec->samples.dtype)
                                                             : (spec->samples.bits + 7) / 8;
  GError *problem = NULL;
  wav->chunks = fc_metadata_chunks(spec->metadata, FC_FAMILY_RIFF, spec, spec->options, name, &problem);
  if (problem) {
    g_propagate_error(error, problem);
    g_free(wav);
    return NULL;
  }
  wav->seats = fc_metadata_seats(spec->metadata, spec);
  g_auto(fc_blob) header = {0};
  wav->room = !w64 && (asked_for_rf64(wav) || spec->frames == FC_UNKNOWN ||
                       riff_size(wav, spec->frames, &header) > 0xffffffff);
  warn_of_large(wav);
  put_header(&header, wav, spec->frames == FC_UNKNOWN ? 0 : spec->frames);
  wav->header_size = header.size;
  if (fc_blob_check(&header, name, error) && fc_output_write(output, header.data, header.size, error))
    return &wav->base;
  g_free(wav);
  return NULL;
}
