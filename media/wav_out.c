/* SPDX-License-Identifier: MIT */
/*
 * wav_out.c - PCM and float WAV, and RF64 beyond 4 GiB, after Microsoft's RIFF and
 * EBU Tech 3306.
 *
 * libsndfile's writer lets the size wrap at 4 GiB, and as RF64 writes an unusual
 * header also for short files. Here the header is final from the start when the
 * length is known, so that it may go into a pipe; when it is not, room is left for
 * the RF64 sizes and the header is written again at the end.
 */
#include "media/audio.h"

#include <string.h>

#define TAG_PCM        1
#define TAG_FLOAT      3
#define TAG_EXTENSIBLE 0xfffe

#define DS64_SIZE 28
#define BLOCK     16384 /* samples packed at a time */

typedef struct wav_encoder {
  fc_encoder base;
  const char *name;
  fc_output *output;
  fc_audio_spec spec;
  int sample_bytes;
  gint64 frames;
  gsize header_size; /* up to the first sample */
} wav_encoder;

/* ---- header ------------------------------------------------------------ */

static void put(GByteArray *to, guint64 value, int bytes) {
  guint8 little[8];
  for (int i = 0; i < bytes; i++) little[i] = (guint8)(value >> 8 * i);
  g_byte_array_append(to, little, (guint)bytes);
}

static void put_id(GByteArray *to, const char *id) {
  g_byte_array_append(to, (const guint8 *)id, 4);
}

static void put_size32(GByteArray *to, guint64 size, gboolean wide) {
  put(to, wide ? 0xffffffff : size, 4);
}

/* More than two channels need the extensible form. */
static void put_fmt(GByteArray *to, const wav_encoder *wav) {
  static const guint8 guid_tail[14] = {0x00, 0x00, 0x00, 0x00, 0x10, 0x00, 0x80,
                                       0x00, 0x00, 0xaa, 0x00, 0x38, 0x9b, 0x71};
  const fc_audio_spec *spec = &wav->spec;
  gboolean floating = fc_dtype_is_float(spec->samples.dtype);
  gboolean extensible = spec->channels > 2;
  guint32 frame = (guint32)(wav->sample_bytes * spec->channels);
  put_id(to, "fmt ");
  put(to, extensible ? 40 : floating ? 18 : 16, 4);
  put(to, extensible ? TAG_EXTENSIBLE : floating ? TAG_FLOAT : TAG_PCM, 2);
  put(to, (guint64)spec->channels, 2);
  put(to, (guint64)spec->rate, 4);
  put(to, (guint64)spec->rate * frame, 4);
  put(to, frame, 2);
  put(to, (guint64)wav->sample_bytes * 8, 2);
  if (!extensible && !floating) return;
  put(to, extensible ? 22 : 0, 2);
  if (!extensible) return;
  put(to, (guint64)wav->sample_bytes * 8, 2);
  put(to, 0, 4);
  put(to, floating ? TAG_FLOAT : TAG_PCM, 2);
  g_byte_array_append(to, guid_tail, sizeof guid_tail);
}

static guint64 data_bytes(const wav_encoder *wav, gint64 frames) {
  return (guint64)frames * (guint64)(wav->sample_bytes * wav->spec.channels);
}

/* The room for RF64's sizes: used, kept free, or not there. */
static void put_ds64(GByteArray *to, gboolean wide, guint64 riff, guint64 data, gint64 frames) {
  put_id(to, wide ? "ds64" : "JUNK");
  put(to, DS64_SIZE, 4);
  put(to, wide ? riff : 0, 8);
  put(to, wide ? data : 0, 8);
  put(to, wide ? (guint64)frames : 0, 8);
  put(to, 0, 4);
}

/* Everything before the first sample, for a file of so many frames. */
static GByteArray *header_of(const wav_encoder *wav, gint64 frames) {
  guint64 data = data_bytes(wav, frames);
  gboolean floating = fc_dtype_is_float(wav->spec.samples.dtype);
  gboolean asked = (wav->spec.samples.format & SF_FORMAT_TYPEMASK) == SF_FORMAT_RF64;
  GByteArray *body = g_byte_array_new();
  put_fmt(body, wav);
  if (floating) {
    put_id(body, "fact");
    put(body, 4, 4);
    put(body, MIN((guint64)frames, 0xffffffff), 4);
  }
  guint64 riff = 4 + body->len + 8 + data + (data & 1);
  gboolean room = asked || wav->spec.frames == FC_UNKNOWN || riff > 0xffffffff;
  riff += room ? 8 + DS64_SIZE : 0;
  gboolean wide = asked || riff > 0xffffffff;

  GByteArray *header = g_byte_array_new();
  put_id(header, wide ? "RF64" : "RIFF");
  put_size32(header, riff, wide);
  put_id(header, "WAVE");
  if (room) put_ds64(header, wide, riff, data, frames);
  g_byte_array_append(header, body->data, body->len);
  g_byte_array_free(body, TRUE);
  put_id(header, "data");
  put_size32(header, data, wide);
  return header;
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
  default:
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

static gboolean wav_finish(fc_encoder *base, GError **error) {
  wav_encoder *wav = (wav_encoder *)base;
  if (wav->spec.frames != FC_UNKNOWN && wav->frames != wav->spec.frames)
    return fc_fail(error, FC_FATAL,
                   "%s: %" G_GINT64_FORMAT " frames arrived where %" G_GINT64_FORMAT " were due", wav->name,
                   wav->frames, wav->spec.frames);
  if ((data_bytes(wav, wav->frames) & 1) && !fc_output_write(wav->output, "", 1, error)) return FALSE;
  if (wav->spec.frames != FC_UNKNOWN) return TRUE;
  g_autoptr(GByteArray) header = header_of(wav, wav->frames);
  g_assert(header->len == wav->header_size);
  return fc_output_write_at(wav->output, 0, header->data, header->len, error);
}

static void wav_free(fc_encoder *base) {
  g_free(base);
}

fc_encoder *fc_wav_encoder_new(const char *name, fc_output *output, const fc_audio_spec *spec,
                               GError **error) {
  wav_encoder *wav = g_new0(wav_encoder, 1);
  wav->base = (fc_encoder){wav_write, wav_finish, wav_free};
  wav->name = name;
  wav->output = output;
  wav->spec = *spec;
  wav->sample_bytes = fc_dtype_is_float(spec->samples.dtype) ? (int)fc_dtype_size(spec->samples.dtype)
                                                             : (spec->samples.bits + 7) / 8;
  g_autoptr(GByteArray) header = header_of(wav, spec->frames == FC_UNKNOWN ? 0 : spec->frames);
  wav->header_size = header->len;
  if (fc_output_write(output, header->data, header->len, error)) return &wav->base;
  g_free(wav);
  return NULL;
}
