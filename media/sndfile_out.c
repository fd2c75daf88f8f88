/* SPDX-License-Identifier: MIT */
/*
 * sndfile_out.c - all containers but WAV, through libsndfile, which writes into our
 * output so that every write is checked.
 */
#include "media/audio.h"

#include <stdio.h>

typedef struct sndfile_encoder {
  fc_encoder base;
  const char *name;
  fc_output *output;
  fc_audio_spec spec;
  SNDFILE *file;
  gint64 position;
  GError *problem; /* of a write inside libsndfile */
} sndfile_encoder;

/* ---- libsndfile's file ------------------------------------------------- */

static sf_count_t vio_size(void *data) {
  return fc_output_size(((sndfile_encoder *)data)->output);
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
  gssize got = fc_output_read_at(encoder->output, encoder->position, to, (gsize)size);
  encoder->position += MAX(got, 0);
  return MAX(got, 0);
}

static sf_count_t vio_write(const void *from, sf_count_t size, void *data) {
  sndfile_encoder *encoder = data;
  if (encoder->problem) return 0;
  gboolean at_end = encoder->position == fc_output_size(encoder->output);
  gboolean written =
      at_end ? fc_output_write(encoder->output, from, (gsize)size, &encoder->problem)
             : fc_output_write_at(encoder->output, encoder->position, from, (gsize)size, &encoder->problem);
  if (!written) return 0;
  encoder->position += size;
  return size;
}

static SF_VIRTUAL_IO vio = {vio_size, vio_seek, vio_read, vio_write, vio_tell};

/* ---- the encoder ------------------------------------------------------- */

/* A failed write says more than libsndfile's word about it. */
static gboolean fail_encoder(sndfile_encoder *encoder, GError **error) {
  if (encoder->problem) {
    g_propagate_error(error, g_steal_pointer(&encoder->problem));
    return FALSE;
  }
  return fc_fail(error, FC_IO, "%s: cannot be encoded: %s", encoder->name, sf_strerror(encoder->file));
}

static gint64 write_frames(sndfile_encoder *encoder, const void *frames, gint64 count) {
  switch (encoder->spec.samples.dtype) {
  case FC_I16: return sf_writef_short(encoder->file, frames, count);
  case FC_I32: return sf_writef_int(encoder->file, frames, count);
  case FC_F32: return sf_writef_float(encoder->file, frames, count);
  default: return sf_writef_double(encoder->file, frames, count);
  }
}

static gboolean sndfile_write(fc_encoder *base, const void *frames, gint64 count, GError **error) {
  sndfile_encoder *encoder = (sndfile_encoder *)base;
  gint64 written = write_frames(encoder, frames, count);
  return (written == count && !encoder->problem) || fail_encoder(encoder, error);
}

static gboolean sndfile_finish(fc_encoder *base, GError **error) {
  sndfile_encoder *encoder = (sndfile_encoder *)base;
  int problem = sf_close(g_steal_pointer(&encoder->file));
  if (encoder->problem) return fail_encoder(encoder, error);
  return !problem ||
         fc_fail(error, FC_IO, "%s: cannot be completed: %s", encoder->name, sf_error_number(problem));
}

static void sndfile_free(fc_encoder *base) {
  sndfile_encoder *encoder = (sndfile_encoder *)base;
  if (encoder->file) sf_close(encoder->file);
  g_clear_error(&encoder->problem);
  g_free(encoder);
}

fc_encoder *fc_sndfile_encoder_new(const char *name, fc_output *output, const fc_audio_spec *spec,
                                   GError **error) {
  sndfile_encoder *encoder = g_new0(sndfile_encoder, 1);
  encoder->base = (fc_encoder){sndfile_write, sndfile_finish, sndfile_free};
  encoder->name = name;
  encoder->output = output;
  encoder->spec = *spec;
  SF_INFO info = {.samplerate = spec->rate, .channels = spec->channels, .format = spec->samples.format};
  encoder->file = sf_open_virtual(&vio, SFM_WRITE, &info, encoder);
  if (!encoder->file) {
    fail_encoder(encoder, error);
    sndfile_free(&encoder->base);
    return NULL;
  }
  /* It carries the time of day, and equal runs shall give equal files. */
  sf_command(encoder->file, SFC_SET_ADD_PEAK_CHUNK, NULL, SF_FALSE);
  return &encoder->base;
}
