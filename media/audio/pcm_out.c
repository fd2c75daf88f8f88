/* SPDX-License-Identifier: MIT */
/*
 * pcm_out.c - integers, floats, u-law and A-law into WAV, RF64 beyond 4 GiB, W64, AIFF, CAF and AU: after
 * Microsoft's RIFF, EBU Tech 3306, Sonic Foundry's, Apple's and Sun's descriptions.
 *
 * If the length is known, the header is final from the start and can be written to a pipe; else it is written
 * again at the end, and WAV reserves space for RF64's sizes. libsndfile's writers wrap sizes at 4 GiB, and
 * pad odd sizes wrongly in AIFF and CAF.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "media/array/item.h"
#include "media/audio/channel_layout.h"
#include "media/audio/audio_tags.h"
#include "media/file/bytes.h"

#define DS64_SIZE 28
/* libsndfile, and programs that use it, do not find the samples of a W64 file after more metadata than about
 * this. */
#define W64_AHEAD_MAX ((gsize)64 << 10)
#define BLOCK         16384 /* samples packed at a time */

typedef struct pcm_encoder {
  fc_encoder base;
  const char *name;
  fc_output *output;
  const fc_audio_spec *spec;
  int major;
  const fc_chunk_layout *layout; /* NULL: AU */
  int sample_bytes;
  gint64 frames;
  gsize header_size; /* up to the first sample */
  gboolean open;     /* WAV written to a pipe with an unknown length: sizes are placeholders */
  gboolean room;     /* space for RF64's sizes, used or reserved */
  fc_tags *chunks;   /* nothing but these */
  guint32 mask;
  gboolean extensible; /* WAVEFORMATEXTENSIBLE */
} pcm_encoder;

static int subtype_of(const pcm_encoder *pcm) {
  return pcm->spec->samples.format & SF_FORMAT_SUBMASK;
}

static gboolean is_floating(const pcm_encoder *pcm) {
  return subtype_of(pcm) == SF_FORMAT_FLOAT || subtype_of(pcm) == SF_FORMAT_DOUBLE;
}

static gboolean is_w64(const pcm_encoder *pcm) {
  return pcm->major == SF_FORMAT_W64;
}

/* All but WAV, RF64 and W64 are big-endian. */
static gboolean is_big(const pcm_encoder *pcm) {
  return !pcm->layout || pcm->layout->big_endian;
}

static guint64 data_bytes(const pcm_encoder *pcm, gint64 frames) {
  return (guint64)frames * (guint64)(pcm->sample_bytes * pcm->spec->channels);
}

/* ---- WAV, RF64, W64 ------------------------------------------------------------- */

/* More than two channels need the extensible form; fewer keep it if the input had it. */
static void put_fmt(fc_blob *to, const pcm_encoder *pcm) {
  enum { PCM = 1, FLOAT = 3, A_LAW = 6, U_LAW = 7, EXTENSIBLE = 0xfffe };
  static const guint8 guid_tail[14] = {0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x80,
                                       0x00, 0x00, 0xaa, 0x00, 0x38, 0x9b, 0x71};
  const fc_audio_spec *spec = pcm->spec;
  const int subtype = subtype_of(pcm);
  const guint tag = is_floating(pcm)            ? FLOAT
                    : subtype == SF_FORMAT_ULAW ? U_LAW
                    : subtype == SF_FORMAT_ALAW ? A_LAW
                                                : PCM;
  const guint32 frame = (guint32)(pcm->sample_bytes * spec->channels);
  fc_chunk_put_head(to, pcm->layout, "fmt ", pcm->extensible ? 40 : tag != PCM ? 18 : 16);
  fc_blob_put_little(to, pcm->extensible ? EXTENSIBLE : tag, 2);
  fc_blob_put_little(to, (guint64)spec->channels, 2);
  fc_blob_put_little(to, (guint64)spec->rate, 4);
  fc_blob_put_little(to, (guint64)spec->rate * frame, 4);
  fc_blob_put_little(to, frame, 2);
  fc_blob_put_little(to, (guint64)pcm->sample_bytes * 8, 2);
  if (pcm->extensible || tag != PCM) fc_blob_put_little(to, pcm->extensible ? 22 : 0, 2);
  if (pcm->extensible) {
    fc_blob_put_little(to, (guint64)pcm->sample_bytes * 8, 2);
    fc_blob_put_little(to, pcm->mask, 4);
    fc_blob_put_little(to, tag, 2);
    fc_blob_put(to, guid_tail, sizeof guid_tail);
  }
  fc_chunk_put_padding(to, pcm->layout);
}

/* Formats other than PCM have a count of frames. */
static void put_fact(fc_blob *to, const pcm_encoder *pcm, gint64 frames) {
  if (fc_audio_is_pcm(pcm->spec->samples.format) && !is_floating(pcm)) return;
  fc_chunk_put_head(to, pcm->layout, "fact", pcm->layout->size_bytes);
  fc_blob_put_little(to,
                     is_w64(pcm) ? (guint64)frames
                     : pcm->open ? 0xffffffff
                                 : MIN((guint64)frames, 0xffffffff),
                     pcm->layout->size_bytes);
}

/* The space for RF64's sizes: used, or reserved. */
static void put_ds64(fc_blob *to, const pcm_encoder *pcm, gboolean wide, guint64 riff, gint64 frames) {
  fc_chunk_put_head(to, pcm->layout, wide ? "ds64" : "JUNK", DS64_SIZE);
  fc_blob_put_little(to, wide ? riff : 0, 8);
  fc_blob_put_little(to, wide ? data_bytes(pcm, frames) : 0, 8);
  fc_blob_put_little(to, wide ? (guint64)frames : 0, 8);
  fc_blob_put_little(to, 0, 4);
}

/* From the format to the last chunk before the samples. */
static void put_ahead(fc_blob *to, const pcm_encoder *pcm, gint64 frames) {
  put_fmt(to, pcm);
  put_fact(to, pcm, frames);
  fc_chunk_tags_put(pcm->chunks, pcm->layout, TRUE, to);
}

static void put_w64(fc_blob *to, const pcm_encoder *pcm, gint64 frames) {
  static const guint8 riff[16] = {'r',  'i',  'f',  'f',  0x2e, 0x91, 0xcf, 0x11,
                                  0xa5, 0xd6, 0x28, 0xdb, 0x04, 0xc1, 0x00, 0x00};
  g_auto(fc_blob) wave = {0}, ahead = {0};
  fc_chunk_put_head(&wave, pcm->layout, "wave", 0);
  put_ahead(&ahead, pcm, frames);
  fc_chunk_put_head(&ahead, pcm->layout, "data", data_bytes(pcm, frames));
  fc_blob_put(to, riff, sizeof riff);
  fc_blob_put_little(to, pcm->layout->file_header + ahead.size + data_bytes(pcm, frames), 8);
  to->failed |= wave.failed;
  if (!wave.failed) fc_blob_put(to, wave.data, pcm->layout->id_bytes);
  fc_blob_join(to, &ahead);
}

/* The bytes that the size in the file's header counts. */
static guint64 riff_size(const pcm_encoder *pcm, gint64 frames, gsize ahead) {
  guint64 behind = 0;
  for (guint i = 0; i < pcm->chunks->chunks->len; i++) {
    const fc_tag_chunk *chunk = &g_array_index(pcm->chunks->chunks, fc_tag_chunk, i);
    if (!chunk->ahead) behind += 8 + chunk->size + (chunk->size & 1);
  }
  const guint64 data = data_bytes(pcm, frames);
  return 4 + (pcm->room ? 8 + DS64_SIZE : 0) + ahead + 8 + data + (data & 1) + behind;
}

/* Whether a file of a known length needs RF64. */
static gboolean is_large(const pcm_encoder *pcm) {
  g_auto(fc_blob) ahead = {0};
  put_ahead(&ahead, pcm, pcm->spec->frames);
  return riff_size(pcm, pcm->spec->frames, ahead.size) > 0xffffffff;
}

static void put_riff(fc_blob *to, const pcm_encoder *pcm, gint64 frames) {
  g_auto(fc_blob) ahead = {0};
  put_ahead(&ahead, pcm, frames);
  const guint64 riff = riff_size(pcm, frames, ahead.size);
  const gboolean wide = pcm->major == SF_FORMAT_RF64 || riff > 0xffffffff;
  fc_chunk_put_head(to, pcm->layout, wide ? "RF64" : "RIFF", wide || pcm->open ? 0xffffffff : riff);
  fc_blob_put(to, "WAVE", 4);
  if (pcm->room) put_ds64(to, pcm, wide, riff, frames);
  fc_blob_join(to, &ahead);
  fc_chunk_put_head(to, pcm->layout, "data", wide || pcm->open ? 0xffffffff : data_bytes(pcm, frames));
}

/* ---- AIFF ------------------------------------------------------------------------ */

/* 80-bit extended: sign and exponent, and a mantissa with an explicit first bit. */
static void put_extended(fc_blob *to, double value) {
  int exponent;
  const double mantissa = frexp(value, &exponent);
  fc_blob_put_big(to, (guint64)(exponent + 16382), 2);
  fc_blob_put_big(to, (guint64)ldexp(mantissa, 64), 8);
}

/* Signed big-endian integers are plain AIFF, everything else is AIFF-C. */
static const char *compression_of(const pcm_encoder *pcm) {
  switch (subtype_of(pcm)) {
  case SF_FORMAT_FLOAT: return "fl32";
  case SF_FORMAT_DOUBLE: return "fl64";
  case SF_FORMAT_PCM_U8: return "raw ";
  case SF_FORMAT_ULAW: return "ulaw";
  case SF_FORMAT_ALAW: return "alaw";
  default: return NULL;
  }
}

static void put_chan(fc_blob *to, const pcm_encoder *pcm, const char *id) {
  guint8 chan[FC_CHAN_SIZE];
  for (guint i = 0; i < pcm->chunks->chunks->len; i++)
    if (memcmp(g_array_index(pcm->chunks->chunks, fc_tag_chunk, i).id, id, 4) == 0)
      return; /* the input's own */
  if (!pcm->mask || !fc_channel_mask_put_chan(pcm->mask, pcm->spec->channels, chan)) return;
  fc_chunk_put_head(to, pcm->layout, id, sizeof chan);
  fc_blob_put(to, chan, sizeof chan);
}

static void put_aiff(fc_blob *to, const pcm_encoder *pcm, gint64 frames) {
  const char *compression = compression_of(pcm);
  const guint64 data = data_bytes(pcm, frames);
  const gboolean coded = !fc_audio_is_pcm(pcm->spec->samples.format);
  g_auto(fc_blob) ahead = {0}, behind = {0};
  fc_blob_put(&ahead, compression ? "AIFC" : "AIFF", 4);
  if (compression) {
    fc_chunk_put_head(&ahead, pcm->layout, "FVER", 4);
    fc_blob_put_big(&ahead, 0xa2805140, 4); /* the version of AIFF-C: 1990 */
  }
  fc_chunk_put_head(&ahead, pcm->layout, "COMM", compression ? 24 : 18);
  fc_blob_put_big(&ahead, (guint64)pcm->spec->channels, 2);
  fc_blob_put_big(&ahead, (guint64)frames, 4);
  fc_blob_put_big(&ahead, coded ? 16 : (guint64)pcm->sample_bytes * 8, 2);
  put_extended(&ahead, pcm->spec->rate);
  if (compression) fc_blob_put(&ahead, compression, 4);
  if (compression) fc_blob_put(&ahead, "\0", 2); /* its name: empty */
  put_chan(&ahead, pcm, "CHAN");
  fc_chunk_tags_put(pcm->chunks, pcm->layout, TRUE, &ahead);
  fc_chunk_put_head(&ahead, pcm->layout, "SSND", 8 + data);
  fc_blob_put_big(&ahead, 0, 8);
  fc_chunk_tags_put(pcm->chunks, pcm->layout, FALSE, &behind);
  fc_chunk_put_head(to, pcm->layout, "FORM", ahead.size + data + (data & 1) + behind.size);
  fc_blob_join(to, &ahead);
  to->failed |= behind.failed;
}

/* ---- CAF, AU ----------------------------------------------------------------------- */

static void put_caf(fc_blob *to, const pcm_encoder *pcm, gint64 frames) {
  const int subtype = subtype_of(pcm);
  double rate = pcm->spec->rate;
  guint64 bits;
  memcpy(&bits, &rate, sizeof bits);
  fc_blob_put(to, "caff\0\1\0\0", 8);
  fc_chunk_put_head(to, pcm->layout, "desc", 32);
  fc_blob_put_big(to, bits, 8);
  fc_blob_put(to, subtype == SF_FORMAT_ULAW ? "ulaw" : subtype == SF_FORMAT_ALAW ? "alaw" : "lpcm", 4);
  fc_blob_put_big(to, is_floating(pcm), 4);
  fc_blob_put_big(to, (guint64)(pcm->sample_bytes * pcm->spec->channels), 4);
  fc_blob_put_big(to, 1, 4); /* frames in a packet */
  fc_blob_put_big(to, (guint64)pcm->spec->channels, 4);
  fc_blob_put_big(to, (guint64)pcm->sample_bytes * 8, 4);
  put_chan(to, pcm, "chan");
  fc_chunk_tags_put(pcm->chunks, pcm->layout, TRUE, to);
  fc_chunk_put_head(to, pcm->layout, "data", 4 + data_bytes(pcm, frames));
  fc_blob_put_big(to, 0, 4); /* edits */
}

static void put_au(fc_blob *to, const pcm_encoder *pcm, gint64 frames, gboolean known) {
  enum { HEAD = 24, U_LAW = 1, INTEGERS = 1, FLOAT = 6, DOUBLE = 7, A_LAW = 27 };
  const int subtype = subtype_of(pcm);
  const guint64 data = data_bytes(pcm, frames);
  const int coding = subtype == SF_FORMAT_ULAW     ? U_LAW
                     : subtype == SF_FORMAT_ALAW   ? A_LAW
                     : subtype == SF_FORMAT_FLOAT  ? FLOAT
                     : subtype == SF_FORMAT_DOUBLE ? DOUBLE
                                                   : INTEGERS + pcm->sample_bytes;
  fc_blob_put(to, ".snd", 4);
  fc_blob_put_big(to, HEAD, 4);
  fc_blob_put_big(to, known && data < G_MAXUINT32 ? data : G_MAXUINT32, 4);
  fc_blob_put_big(to, (guint64)coding, 4);
  fc_blob_put_big(to, (guint64)pcm->spec->rate, 4);
  fc_blob_put_big(to, (guint64)pcm->spec->channels, 4);
}

/* Everything before the first sample, for a file of so many frames. */
static void put_header(fc_blob *to, const pcm_encoder *pcm, gint64 frames, gboolean known) {
  switch (pcm->major) {
  case SF_FORMAT_W64: put_w64(to, pcm, frames); break;
  case SF_FORMAT_AIFF: put_aiff(to, pcm, frames); break;
  case SF_FORMAT_CAF: put_caf(to, pcm, frames); break;
  case SF_FORMAT_AU: put_au(to, pcm, frames, known); break;
  default: put_riff(to, pcm, frames);
  }
}

/* ---- samples ----------------------------------------------------------------------- */

/* The upper bytes of left-justified integers; WAV's 8-bit samples have an offset instead of a sign. */
static void pack(const pcm_encoder *pcm, guint8 *to, const void *from, gsize count) {
  const gsize bytes = (gsize)pcm->sample_bytes, size = fc_dtype_size(pcm->spec->samples.dtype);
  const gboolean big = is_big(pcm);
  const guint8 flip = subtype_of(pcm) == SF_FORMAT_PCM_U8 ? 0x80 : 0;
  if (!fc_audio_is_pcm(pcm->spec->samples.format)) {
    guint8 (*code_of)(gint16) = subtype_of(pcm) == SF_FORMAT_ULAW ? fc_ulaw_of : fc_alaw_of;
    for (gsize i = 0; i < count; i++) to[i] = code_of(((const gint16 *)from)[i]);
    return;
  }
  if (bytes == size) {
    memcpy(to, from, count * size);
    if (big != (G_BYTE_ORDER == G_BIG_ENDIAN)) fc_items_swap(to, count, (int)size);
    return;
  }
  for (gsize i = 0; i < count; i++, to += bytes) {
    const guint32 value = size == 2 ? (guint32)((const guint16 *)from)[i] << 16 : ((const guint32 *)from)[i];
    for (gsize b = 0; b < bytes; b++) to[big ? b : bytes - 1 - b] = (guint8)(value >> (24 - 8 * b));
    to[0] ^= bytes == 1 ? flip : 0;
  }
}

static gboolean lies_as_in_file(const pcm_encoder *pcm) {
  return is_big(pcm) == (G_BYTE_ORDER == G_BIG_ENDIAN) &&
         (gsize)pcm->sample_bytes == fc_dtype_size(pcm->spec->samples.dtype);
}

static gboolean pcm_write(fc_encoder *base, const void *frames, gint64 count, GError **error) {
  pcm_encoder *pcm = (pcm_encoder *)base;
  pcm->frames += count;
  if (lies_as_in_file(pcm)) return fc_output_write(pcm->output, frames, data_bytes(pcm, count), error);
  gsize left = (gsize)count * (gsize)pcm->spec->channels, size = fc_dtype_size(pcm->spec->samples.dtype);
  guint8 packed[BLOCK * 8];
  for (const char *at = frames; left;) {
    gsize some = MIN(left, BLOCK);
    pack(pcm, packed, at, some);
    if (!fc_output_write(pcm->output, packed, some * (gsize)pcm->sample_bytes, error)) return FALSE;
    at += some * size;
    left -= some;
  }
  return TRUE;
}

/* ---- beginning and end ---------------------------------------------------------------- */

static gboolean check_size(const pcm_encoder *pcm, gint64 frames, GError **error) {
  if (pcm->major != SF_FORMAT_AIFF && pcm->major != SF_FORMAT_AU) return TRUE;
  if (pcm->major == SF_FORMAT_AU && !fc_output_seekable(pcm->output)) return TRUE;
  const guint64 most = G_MAXUINT32 - (pcm->major == SF_FORMAT_AIFF ? (guint64)pcm->header_size : 0);
  return data_bytes(pcm, frames) <= most ||
         fc_fail(error, FC_INVALID,
                 "%s: would exceed the 4 GiB that its format holds; use .rf64, .w64 or .caf", pcm->name);
}

/* After the samples: a padding byte, and metadata. */
static gboolean write_behind(pcm_encoder *pcm, GError **error) {
  g_auto(fc_blob) behind = {0};
  if (!pcm->layout || pcm->open)
    return TRUE; /* after samples of unknown length nothing can be distinguished from them */
  fc_chunk_tags_put(pcm->chunks, pcm->layout, FALSE, &behind);
  const gsize odd = !is_w64(pcm) && pcm->layout->align == 2 ? data_bytes(pcm, pcm->frames) & 1 : 0;
  return fc_blob_check(&behind, pcm->name, error) && fc_output_write(pcm->output, "", odd, error) &&
         fc_output_write(pcm->output, behind.data, behind.size, error);
}

static gboolean pcm_finish(fc_encoder *base, GError **error) {
  pcm_encoder *pcm = (pcm_encoder *)base;
  const gint64 due = pcm->spec->frames;
  if (due != FC_UNKNOWN && pcm->frames != due)
    return fc_fail(error, FC_FATAL, "%s: %" G_GINT64_FORMAT " frames arrived, expected %" G_GINT64_FORMAT,
                   pcm->name, pcm->frames, due);
  if (!write_behind(pcm, error) || !check_size(pcm, pcm->frames, error)) return FALSE;
  if (due != FC_UNKNOWN || !fc_output_seekable(pcm->output)) return TRUE;
  g_auto(fc_blob) header = {0};
  put_header(&header, pcm, pcm->frames, TRUE);
  if (!fc_blob_check(&header, pcm->name, error)) return FALSE;
  g_assert(header.size == pcm->header_size);
  return fc_output_write_at(pcm->output, 0, header.data, header.size, error);
}

static void pcm_free(fc_encoder *base) {
  pcm_encoder *pcm = (pcm_encoder *)base;
  fc_tags_unref(pcm->chunks);
  g_free(pcm);
}

/* In W64 all chunks precede the samples, else they keep their side; but libsndfile fails after a chunk of odd
 * size in RF64. */
static void place_chunks(pcm_encoder *pcm) {
  gsize ahead = 0;
  for (guint i = 0; i < pcm->chunks->chunks->len; i++) {
    fc_tag_chunk *chunk = &g_array_index(pcm->chunks->chunks, fc_tag_chunk, i);
    if (pcm->room && chunk->size % 2) chunk->ahead = FALSE;
    if (!is_w64(pcm)) continue;
    chunk->ahead = TRUE;
    if (ahead + chunk->size <= W64_AHEAD_MAX) {
      ahead += chunk->size;
      continue;
    }
    char title[5] = "";
    memcpy(title, chunk->id, 4);
    fc_media_add_word(pcm->spec->lost, g_strchomp(title));
    g_array_remove_index(pcm->chunks->chunks, i--);
  }
}

static gboolean choose_tags(pcm_encoder *pcm, GError **error) {
  const fc_audio_spec *spec = pcm->spec;
  pcm->chunks = pcm->layout ? fc_chunk_tags_choose(spec, pcm->layout->family, pcm->name, error)
                            : fc_tags_new(FC_TAGS_OTHER);
  if (!pcm->chunks) return FALSE;
  pcm->mask = fc_channel_mask_choose(spec);
  if (is_w64(pcm) && spec->channels <= 2 && pcm->mask == 3) pcm->mask = 0;
  pcm->extensible = pcm->mask || (!is_w64(pcm) && spec->channels > 2);
  return TRUE;
}

fc_encoder *fc_pcm_encoder_new(const char *name, fc_output *output, const fc_audio_spec *spec,
                               GError **error) {
  pcm_encoder *pcm = g_new0(pcm_encoder, 1);
  const gboolean known = spec->frames != FC_UNKNOWN;
  pcm->base = (fc_encoder){pcm_write, pcm_finish, pcm_free};
  pcm->name = name;
  pcm->output = output;
  pcm->spec = spec;
  pcm->major = spec->samples.format & SF_FORMAT_TYPEMASK;
  pcm->layout = fc_chunk_layout_of(pcm->major);
  pcm->sample_bytes = fc_audio_item_of(spec->samples.format)->size;
  g_auto(fc_blob) header = {0};
  if (choose_tags(pcm, error)) {
    const gboolean wav = pcm->major == SF_FORMAT_WAV || pcm->major == SF_FORMAT_RF64;
    pcm->open = !known && pcm->major == SF_FORMAT_WAV && !fc_output_seekable(output);
    pcm->room = wav && !pcm->open && (pcm->major == SF_FORMAT_RF64 || !known || is_large(pcm));
    place_chunks(pcm);
    put_header(&header, pcm, known ? spec->frames : 0, known);
    pcm->header_size = header.size;
    if (fc_blob_check(&header, name, error) && (!known || check_size(pcm, spec->frames, error)) &&
        fc_output_write(output, header.data, header.size, error))
      return &pcm->base;
  }
  pcm_free(&pcm->base);
  return NULL;
}
