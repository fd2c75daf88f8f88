/* SPDX-License-Identifier: MIT */
/*
 * sndfile_out.c - FLAC, Vorbis and Opus in Ogg, MP3, and the old block codecs, through libsndfile, which
 * writes into our checked output.
 */
#include "media/audio/audio.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "media/audio/channel_layout.h"
#include "media/audio/audio_tags.h"
#include "media/audio/id3.h"
#include "media/audio/ogg_stream.h"

/* libvorbis looks ahead as far as it has samples, so its result depends on the sizes of writes: it always
 * gets so many frames, whatever the chunks. The other encoders buffer by themselves. */
#define GATHERED ((gint64)1024)

typedef struct sndfile_encoder {
  fc_encoder base;
  const char *name;
  fc_output *output;
  const fc_audio_spec *spec;
  SNDFILE *file;
  gint64 position; /* as libsndfile sees it */
  gint64 size;
  gint64 ahead;        /* bytes of our tag before libsndfile's file */
  gint64 frames;       /* written */
  const guint8 *order; /* of the codec's channels; or NULL */
  float *gathered;     /* for Vorbis, and if channels are reordered: frames that wait for others; else NULL */
  gint64 waiting;      /* how many */
  fc_flac_front front; /* FLAC */
  fc_ogg_writer ogg;
  fc_tags *chunks; /* to append; or NULL */
  GError *problem; /* error of a write inside libsndfile */
} sndfile_encoder;

/* ---- libsndfile's file ------------------------------------------------- */

static gboolean is_major(const sndfile_encoder *encoder, int major) {
  return (encoder->spec->samples.format & SF_FORMAT_TYPEMASK) == major;
}

static sf_count_t vio_size(void *data) {
  return ((sndfile_encoder *)data)->size;
}

static sf_count_t vio_seek(sf_count_t offset, int whence, void *data) {
  sndfile_encoder *encoder = data;
  gint64 from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? encoder->position : vio_size(data);
  if (from + offset < 0) return -1;
  return encoder->position = from + offset;
}

static sf_count_t vio_tell(void *data) {
  return ((sndfile_encoder *)data)->position;
}

static sf_count_t vio_read(void *to, sf_count_t size, void *data) {
  sndfile_encoder *encoder = data;
  gssize got = fc_output_read_at(encoder->output, encoder->ahead + encoder->position, to, (gsize)size);
  encoder->position += MAX(got, 0);
  return MAX(got, 0);
}

/* The beginning is held back until it is complete. */
static gboolean take_flac(sndfile_encoder *encoder, const void *from, gsize size) {
  fc_flac_front *front = &encoder->front;
  if (!front->before)
    return !fc_flac_front_feed(front, from, size) ||
           (fc_blob_check(&front->held, encoder->name, &encoder->problem) &&
            fc_output_write(encoder->output, front->held.data, front->held.size, &encoder->problem));
  if (encoder->position == encoder->size)
    return fc_output_write(encoder->output, from, size, &encoder->problem);
  if (!fc_output_seekable(encoder->output)) return TRUE; /* the header again */
  gint64 at = fc_flac_front_place(front, encoder->position);
  return fc_output_write_at(encoder->output, at, from, size, &encoder->problem);
}

static gboolean take(sndfile_encoder *encoder, const void *from, gsize size) {
  if (is_major(encoder, SF_FORMAT_OGG))
    return fc_ogg_writer_feed(&encoder->ogg, from, size, &encoder->problem);
  if (is_major(encoder, SF_FORMAT_FLAC)) return take_flac(encoder, from, size);
  if (encoder->position == encoder->size)
    return fc_output_write(encoder->output, from, size, &encoder->problem);
  return fc_output_write_at(encoder->output, encoder->ahead + encoder->position, from, size,
                            &encoder->problem);
}

static sf_count_t vio_write(const void *from, sf_count_t size, void *data) {
  sndfile_encoder *encoder = data;
  if (encoder->problem || size < 0 || !take(encoder, from, (gsize)size)) return 0;
  encoder->position += size;
  encoder->size = MAX(encoder->size, encoder->position);
  return size;
}

static SF_VIRTUAL_IO vio = {vio_size, vio_seek, vio_read, vio_write, vio_tell};

/* ---- the encoder ------------------------------------------------------- */

/* The error of a failed write is more precise than libsndfile's. */
static gboolean fail_encoder(sndfile_encoder *encoder, GError **error) {
  if (encoder->problem) {
    g_propagate_error(error, g_steal_pointer(&encoder->problem));
    return FALSE;
  }
  return fc_fail(error, FC_IO, "%s: cannot be encoded: %s", encoder->name, sf_strerror(encoder->file));
}

static gint64 write_frames(sndfile_encoder *encoder, const void *frames, gint64 count) {
  switch (encoder->spec->samples.dtype) {
  case FC_I16: return sf_writef_short(encoder->file, frames, count);
  case FC_I32: return sf_writef_int(encoder->file, frames, count);
  case FC_F32: return sf_writef_float(encoder->file, frames, count);
  default: return sf_writef_double(encoder->file, frames, count);
  }
}

static gboolean write_now(sndfile_encoder *encoder, const void *frames, gint64 count, GError **error) {
  gint64 written = write_frames(encoder, frames, count);
  encoder->frames += MAX(written, 0);
  return (written == count && !encoder->problem) || fail_encoder(encoder, error);
}

static gboolean gather(sndfile_encoder *encoder, const float *frames, gint64 count, GError **error) {
  const gsize channels = (gsize)encoder->spec->channels;
  while (count > 0) {
    gint64 some = MIN(count, GATHERED - encoder->waiting);
    float *to = encoder->gathered + (gsize)encoder->waiting * channels;
    if (encoder->order)
      fc_channel_order_apply(encoder->order, encoder->spec->channels, to, frames, some);
    else
      memcpy(to, frames, (gsize)some * channels * sizeof *frames);
    encoder->waiting += some;
    if (encoder->waiting == GATHERED && !write_now(encoder, encoder->gathered, GATHERED, error)) return FALSE;
    encoder->waiting %= GATHERED;
    frames += (gsize)some * channels;
    count -= some;
  }
  return TRUE;
}

static gboolean sndfile_write(fc_encoder *base, const void *frames, gint64 count, GError **error) {
  sndfile_encoder *encoder = (sndfile_encoder *)base;
  return encoder->gathered ? gather(encoder, frames, count, error) : write_now(encoder, frames, count, error);
}

/* ---- the end ------------------------------------------------------------- */

/* A family's chunks can be appended to its files; not in W64, where libsndfile reads them as samples. */
static const fc_chunk_layout *layout_of(const sndfile_encoder *encoder) {
  return is_major(encoder, SF_FORMAT_W64) ? NULL : fc_chunk_layout_of(encoder->spec->samples.format);
}

/* Opus counts at 48 kHz, a multiple of all rates that it accepts. */
static gboolean is_whole(const sndfile_encoder *encoder) {
  gboolean opus = (encoder->spec->samples.format & SF_FORMAT_SUBMASK) == SF_FORMAT_OPUS;
  gint64 position = encoder->frames * (opus ? 48000 / encoder->spec->rate : 1);
  return !is_major(encoder, SF_FORMAT_OGG) || fc_ogg_writer_is_complete(&encoder->ogg, position);
}

static gboolean append_chunks(sndfile_encoder *encoder, GError **error) {
  const gboolean narrow = layout_of(encoder) || is_major(encoder, SF_FORMAT_AU);
  if (encoder->chunks &&
      !fc_chunk_tags_append(encoder->chunks, layout_of(encoder), encoder->name, encoder->output, error))
    return FALSE;
  return !narrow || fc_output_size(encoder->output) <= G_MAXUINT32 ||
         fc_fail(error, FC_INVALID,
                 "%s: would exceed the 4 GiB that its format holds; use .rf64, .w64 or .caf", encoder->name);
}

static gboolean sndfile_finish(fc_encoder *base, GError **error) {
  sndfile_encoder *encoder = (sndfile_encoder *)base;
  if (encoder->waiting && !write_now(encoder, encoder->gathered, encoder->waiting, error)) return FALSE;
  /* FLAC's header is written with the first samples. */
  if (encoder->size == 0 && is_major(encoder, SF_FORMAT_FLAC))
    sf_command(encoder->file, SFC_UPDATE_HEADER_NOW, NULL, 0);
  if (encoder->frames == 0 && (encoder->spec->samples.format & SF_FORMAT_SUBMASK) == SF_FORMAT_OPUS)
    return fc_fail(error, FC_INVALID, "%s: Opus cannot hold a sound without samples; use .wav or .flac",
                   encoder->name);
  int problem = sf_close(g_steal_pointer(&encoder->file));
  if (encoder->problem) return fail_encoder(encoder, error);
  if (problem || !is_whole(encoder))
    return fc_fail(error, FC_IO, "%s: cannot be completed: %s", encoder->name,
                   problem ? sf_error_number(problem) : "some of the stream is missing");
  return append_chunks(encoder, error);
}

static void sndfile_free(fc_encoder *base) {
  sndfile_encoder *encoder = (sndfile_encoder *)base;
  if (encoder->file) sf_close(encoder->file);
  fc_ogg_writer_clear(&encoder->ogg);
  fc_blob_clear(&encoder->front.held);
  fc_tags_unref(encoder->chunks);
  g_free(encoder->gathered);
  g_clear_error(&encoder->problem);
  g_free(encoder);
}

/* ---- the beginning -------------------------------------------------------- */

/* The metadata, except those in comments and blocks. */
static gboolean put_tags(sndfile_encoder *encoder, GError **error) {
  const fc_audio_spec *spec = encoder->spec;
  fc_channel_mask_choose(spec); /* names what cannot be held */
  if (layout_of(encoder)) {
    encoder->chunks = fc_chunk_tags_choose(spec, layout_of(encoder)->family, encoder->name, error);
    return encoder->chunks != NULL;
  }
  if (!is_major(encoder, FC_SF_MPEG)) return TRUE;
  g_auto(fc_blob) tag = {0};
  fc_id3_put(spec, &tag);
  encoder->ahead = (gint64)tag.size;
  return fc_blob_check(&tag, encoder->name, error) &&
         fc_output_write(encoder->output, tag.data, tag.size, error);
}

static gboolean make_room(sndfile_encoder *encoder, GError **error) {
  const fc_audio_spec *spec = encoder->spec;
  encoder->order = fc_channel_order_of(spec->samples.format, spec->channels);
  if (!encoder->order && (spec->samples.format & SF_FORMAT_SUBMASK) != SF_FORMAT_VORBIS) return TRUE;
  gsize size = (gsize)GATHERED * (gsize)spec->channels * sizeof *encoder->gathered;
  encoder->gathered = g_try_malloc(size);
  return encoder->gathered ||
         fc_fail(error, FC_NO_MEMORY, "%s: no memory for %" G_GSIZE_FORMAT " bytes of samples", encoder->name,
                 size);
}

/* The quality of Vorbis, and the compression of FLAC, Opus and MP3. */
static void set_options(sndfile_encoder *encoder) {
  double quality = encoder->spec->quality, level = encoder->spec->level;
  int mode = SF_BITRATE_MODE_CONSTANT;
  if (!isnan(quality)) sf_command(encoder->file, SFC_SET_VBR_ENCODING_QUALITY, &quality, sizeof quality);
  if (isnan(level)) return;
  if (is_major(encoder, FC_SF_MPEG)) sf_command(encoder->file, SFC_SET_BITRATE_MODE, &mode, sizeof mode);
  sf_command(encoder->file, SFC_SET_COMPRESSION_LEVEL, &level, sizeof level);
}

static gboolean open_file(sndfile_encoder *encoder, GError **error) {
  const fc_audio_spec *spec = encoder->spec;
  SF_INFO info = {.samplerate = spec->rate, .channels = spec->channels, .format = spec->samples.format};
  if (!put_tags(encoder, error) || !make_room(encoder, error)) return FALSE;
  encoder->file = sf_open_virtual(&vio, SFM_WRITE, &info, encoder);
  if (!encoder->file) return fail_encoder(encoder, error);
  /* It contains the time of day, while equal runs must give equal files. */
  sf_command(encoder->file, SFC_SET_ADD_PEAK_CHUNK, NULL, SF_FALSE);
  set_options(encoder);
  return TRUE;
}

fc_encoder *fc_sndfile_encoder_new(const char *name, fc_output *output, const fc_audio_spec *spec,
                                   GError **error) {
  sndfile_encoder *encoder = g_new0(sndfile_encoder, 1);
  encoder->base = (fc_encoder){sndfile_write, sndfile_finish, sndfile_free};
  encoder->name = name;
  encoder->output = output;
  encoder->spec = spec;
  encoder->front.spec = spec;
  encoder->ogg = (fc_ogg_writer){.name = name, .output = output, .spec = spec};
  if (open_file(encoder, error)) return &encoder->base;
  sndfile_free(&encoder->base);
  return NULL;
}
