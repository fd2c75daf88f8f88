/* SPDX-License-Identifier: MIT */
/*
 * sndfile_out.c - all but the PCM and floats of WAV, RF64 and W64, through libsndfile, which writes into our
 * output so that every write is checked.
 */
#include "media/audio/audio.h"

#include <stdio.h>
#include <string.h>

#include "media/file/bytes.h"
#include "media/audio/channel_order.h"
#include "media/audio/flac_front.h"
#include "media/audio/metadata.h"
#include "media/audio/ogg_pages.h"

/* libvorbis looks ahead as far as it has been given samples, and what it makes of them shows: it always gets
 * so many frames, whatever the chunks. The others gather what they need themselves. */
#define GATHERED ((gint64)1024)

typedef struct sndfile_encoder {
  fc_encoder base;
  const char *name;
  fc_output *output;
  fc_audio_spec spec;
  SNDFILE *file;
  gint64 position; /* as libsndfile sees it */
  gint64 size;
  gint64 frames;                 /* written */
  const fc_channel_order *order; /* or NULL */
  float *gathered;      /* for Vorbis, and where there is an order: frames that wait for others; else NULL */
  gint64 waiting;       /* how many */
  int sample_bytes;     /* of PCM, float, u-law and A-law samples */
  gboolean extensible;  /* WAV and RF64 that have a place for */
  guint32 mask;         /* a mask of speakers; or 0 */
  fc_flac_front front;  /* FLAC with blocks to add: all NULL otherwise */
  fc_ogg_pages pages;   /* Ogg only: page is NULL in other containers */
  const GArray *chunks; /* to append; NULL: libsndfile has been given what it knows */
  GError *problem;      /* of a write inside libsndfile */
} sndfile_encoder;

/* ---- libsndfile's file ------------------------------------------------- */

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
  gssize got = fc_output_read_at(encoder->output, encoder->position, to, (gsize)size);
  encoder->position += MAX(got, 0);
  return MAX(got, 0);
}

static gboolean is_major(const sndfile_encoder *encoder, int major) {
  return (encoder->spec.samples.format & SF_FORMAT_TYPEMASK) == major;
}

/* Into a pipe FLAC and AU go with the header they begin with. FLAC's says that the length
 * is not known; AU's must be made to say it, or the length. */
static gboolean stream(sndfile_encoder *encoder, const void *from, gsize size) {
  if (encoder->position < encoder->size) return TRUE; /* the header again */
  if (encoder->position > 0 || !is_major(encoder, SF_FORMAT_AU) || size < 12)
    return fc_output_write(encoder->output, from, size, &encoder->problem);
  g_autofree guint8 *header = memcpy(g_malloc(size), from, size);
  const fc_audio_spec *spec = &encoder->spec;
  guint64 bytes = (guint64)spec->frames * (guint64)spec->channels * (guint64)encoder->sample_bytes;
  gboolean unknown = spec->frames == FC_UNKNOWN || bytes > G_MAXUINT32;
  fc_chunk_put(fc_chunk_layout_of(FC_FAMILY_AIFF), header + 8, unknown ? G_MAXUINT32 : bytes, 4);
  return fc_output_write(encoder->output, header, size, &encoder->problem);
}

/* Until the front is complete it is held back. */
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
  if (encoder->pages.page) return fc_ogg_pages_write(&encoder->pages, from, size, &encoder->problem);
  if (fc_flac_front_joins(&encoder->front)) return take_flac(encoder, from, size);
  if (!fc_output_seekable(encoder->output)) return stream(encoder, from, size);
  if (encoder->position == encoder->size)
    return fc_output_write(encoder->output, from, size, &encoder->problem);
  return fc_output_write_at(encoder->output, encoder->position, from, size, &encoder->problem);
}

static sf_count_t vio_write(const void *from, sf_count_t size, void *data) {
  sndfile_encoder *encoder = data;
  if (encoder->problem || !take(encoder, from, (gsize)size)) return 0;
  encoder->position += size;
  encoder->size = MAX(encoder->size, encoder->position);
  return size;
}

static SF_VIRTUAL_IO vio = {vio_size, vio_seek, vio_read, vio_write, vio_tell};

/* ---- metadata ----------------------------------------------------------- */

static fc_family family_of(int format) {
  switch (format & SF_FORMAT_TYPEMASK) {
  case SF_FORMAT_WAV: return FC_FAMILY_RIFF;
  case SF_FORMAT_AIFF: return FC_FAMILY_AIFF;
  case SF_FORMAT_CAF: return FC_FAMILY_CAF;
  default: return FC_FAMILY_NONE;
  }
}

/* Containers that count bytes in 32 bits, and would count wrongly beyond. */
static gboolean check_size(const sndfile_encoder *encoder, gint64 bytes, GError **error) {
  gboolean narrow = is_major(encoder, SF_FORMAT_WAV) || is_major(encoder, SF_FORMAT_AIFF) ||
                    is_major(encoder, SF_FORMAT_AU);
  if (!narrow || bytes <= G_MAXUINT32) return TRUE;
  return fc_fail(error, FC_INVALID,
                 "%s: would exceed the 4 GiB that its format holds; use .rf64, .w64 or .caf", encoder->name);
}

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

static gboolean write_now(sndfile_encoder *encoder, const void *frames, gint64 count, GError **error) {
  gint64 written = write_frames(encoder, frames, count);
  encoder->frames += MAX(written, 0);
  return (written == count && !encoder->problem) || fail_encoder(encoder, error);
}

static gboolean gather(sndfile_encoder *encoder, const float *frames, gint64 count, GError **error) {
  const gsize channels = (gsize)encoder->spec.channels;
  while (count > 0) {
    gint64 some = MIN(count, GATHERED - encoder->waiting);
    float *to = encoder->gathered + (gsize)encoder->waiting * channels;
    if (encoder->order)
      fc_channel_order_apply(encoder->order, to, frames, some);
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

/* ---- chunks that have been written --------------------------------------- */

/* Where one begins, behind its header; 0: there is none. */
static gint64 find_chunk(sndfile_encoder *encoder, const fc_chunk_layout *layout, const char *id,
                         gint64 *size, GError **error) {
  guint8 header[12];
  gssize head = layout->id_bytes + layout->size_bytes;
  for (gint64 at = layout->file_header;
       fc_output_read_at(encoder->output, at, header, (gsize)head) == head;) {
    *size = (gint64)fc_chunk_get(layout, header + layout->id_bytes, layout->size_bytes);
    at += head;
    if (memcmp(header, id, 4) == 0) return at;
    at += *size + *size % layout->align;
  }
  fc_fail(error, FC_IO, "%s: cannot be completed: what was written cannot be read", encoder->name);
  return 0;
}

/* ---- WAV and RF64 -------------------------------------------------------- */

/* Where nothing is said libsndfile makes up a mask, and it takes none that has not a seat for each channel.
 */
static gboolean put_mask(sndfile_encoder *encoder, GError **error) {
  enum { MASK_AT = 20 };
  if (!encoder->extensible) return TRUE;
  guint8 mask[4];
  gint64 size, at = find_chunk(encoder, fc_chunk_layout_of(FC_FAMILY_RIFF), "fmt ", &size, error);
  fc_put_little(mask, encoder->mask, sizeof mask);
  return at && fc_output_write_at(encoder->output, at + MASK_AT, mask, sizeof mask, error);
}

/* ---- AIFF ---------------------------------------------------------------- */

/* The header becomes shorter when the PEAK chunk is dropped; what is left of the longer one
 * would be taken for samples of a sound that is shorter still. */
static gboolean drop_old_header(sndfile_encoder *encoder, GError **error) {
  if (!is_major(encoder, SF_FORMAT_AIFF)) return TRUE;
  encoder->size = encoder->position;
  return fc_output_cut(encoder->output, encoder->position, error);
}

static gboolean put_be32(sndfile_encoder *encoder, gint64 at, gint64 value, GError **error) {
  guint32 be = GUINT32_TO_BE((guint32)value);
  return fc_output_write_at(encoder->output, at, &be, sizeof be, error);
}

/* libsndfile counts the byte that makes the samples even as one of them. */
static gboolean correct_odd_size(sndfile_encoder *encoder, GError **error) {
  gint64 bytes = encoder->frames * encoder->spec.channels * encoder->sample_bytes;
  if (!is_major(encoder, SF_FORMAT_AIFF) || bytes % 2 == 0) return TRUE;
  const fc_chunk_layout *layout = fc_chunk_layout_of(FC_FAMILY_AIFF);
  gint64 size, at = find_chunk(encoder, layout, "COMM", &size, error);
  if (!at || !put_be32(encoder, at + 2, encoder->frames, error)) return FALSE;
  /* The samples come after an offset and a block size. */
  at = find_chunk(encoder, layout, "SSND", &size, error);
  return at && put_be32(encoder, at - 4, bytes + 8, error);
}

/* ---- CAF ----------------------------------------------------------------- */

/* It knows of no such byte: what follows it would not be found. */
static gboolean drop_odd_byte(sndfile_encoder *encoder, GError **error) {
  if (!is_major(encoder, SF_FORMAT_CAF)) return TRUE;
  gint64 size, at = find_chunk(encoder, fc_chunk_layout_of(FC_FAMILY_CAF), "data", &size, error),
               end = at + size;
  return at && (fc_output_size(encoder->output) != end + 1 || fc_output_cut(encoder->output, end, error));
}

/* ---- the end ------------------------------------------------------------- */

/* Opus counts at 48 kHz, of which all rates that it takes are whole parts. */
static gboolean is_whole(const sndfile_encoder *encoder) {
  gboolean opus = (encoder->spec.samples.format & SF_FORMAT_SUBMASK) == SF_FORMAT_OPUS;
  gint64 position = encoder->frames * (opus ? 48000 / encoder->spec.rate : 1);
  return !encoder->pages.page || fc_ogg_pages_complete(&encoder->pages, position);
}

static gboolean sndfile_finish(fc_encoder *base, GError **error) {
  sndfile_encoder *encoder = (sndfile_encoder *)base;
  if (encoder->waiting && !write_now(encoder, encoder->gathered, encoder->waiting, error)) return FALSE;
  /* FLAC's header waits for the first samples. */
  if (encoder->size == 0 && is_major(encoder, SF_FORMAT_FLAC))
    sf_command(encoder->file, SFC_UPDATE_HEADER_NOW, NULL, 0);
  if (encoder->frames == 0 && (encoder->spec.samples.format & SF_FORMAT_SUBMASK) == SF_FORMAT_OPUS)
    return fc_fail(error, FC_INVALID, "%s: Opus cannot hold a sound without samples; use .wav or .flac",
                   encoder->name);
  int problem = sf_close(g_steal_pointer(&encoder->file));
  if (encoder->problem) return fail_encoder(encoder, error);
  if (problem || !is_whole(encoder))
    return fc_fail(error, FC_IO, "%s: cannot be completed: %s", encoder->name,
                   problem ? sf_error_number(problem) : "some of the stream is missing");
  if (!correct_odd_size(encoder, error) || !drop_odd_byte(encoder, error) || !put_mask(encoder, error))
    return FALSE;
  if (encoder->chunks &&
      !fc_metadata_append(encoder->chunks, family_of(encoder->spec.samples.format), encoder->output, error))
    return FALSE;
  return check_size(encoder, fc_output_size(encoder->output), error);
}

static void sndfile_free(fc_encoder *base) {
  sndfile_encoder *encoder = (sndfile_encoder *)base;
  if (encoder->file) sf_close(encoder->file);
  fc_ogg_pages_clear(&encoder->pages);
  fc_blob_clear(&encoder->front.held);
  g_free(encoder->gathered);
  g_clear_error(&encoder->problem);
  g_free(encoder);
}

static int sample_bytes_of(const fc_audio_samples *samples) {
  int packed = samples->format & SF_FORMAT_SUBMASK;
  if (packed == SF_FORMAT_ULAW || packed == SF_FORMAT_ALAW) return 1;
  return fc_dtype_is_float(samples->dtype) ? (int)fc_dtype_size(samples->dtype) : (samples->bits + 7) / 8;
}

static gboolean open_file(sndfile_encoder *encoder, GError **error) {
  const fc_audio_spec *spec = &encoder->spec;
  encoder->sample_bytes = sample_bytes_of(&spec->samples);
  if (spec->frames > 0 && !check_size(encoder, spec->frames * spec->channels * encoder->sample_bytes, error))
    return FALSE;
  encoder->order = fc_channel_order_of(spec->samples.format, spec->channels);
  if (encoder->order || (spec->samples.format & SF_FORMAT_SUBMASK) == SF_FORMAT_VORBIS) {
    gsize size = (gsize)GATHERED * (gsize)spec->channels * sizeof *encoder->gathered;
    encoder->gathered = g_try_malloc(size);
    if (!encoder->gathered)
      return fc_fail(error, FC_NO_MEMORY, "%s: no memory for %" G_GSIZE_FORMAT " bytes of samples",
                     encoder->name, size);
  }
  SF_INFO info = {.samplerate = spec->rate, .channels = spec->channels, .format = spec->samples.format};
  const fc_seats seats = fc_metadata_seats(spec->metadata, spec);
  gboolean wav = is_major(encoder, SF_FORMAT_WAV) && fc_seats_fit(&seats, spec);
  if (wav) info.format = SF_FORMAT_WAVEX | (info.format & SF_FORMAT_SUBMASK);
  encoder->extensible = wav || is_major(encoder, SF_FORMAT_RF64);
  encoder->mask = seats.mask;
  encoder->file = sf_open_virtual(&vio, SFM_WRITE, &info, encoder);
  if (!encoder->file) return fail_encoder(encoder, error);
  /* It carries the time of day, and equal runs shall give equal files. */
  sf_command(encoder->file, SFC_SET_ADD_PEAK_CHUNK, NULL, SF_FALSE);
  if (!drop_old_header(encoder, error)) return FALSE;
  GError *problem = NULL;
  encoder->chunks = fc_metadata_chunks(spec->metadata, family_of(spec->samples.format), spec, spec->options,
                                       encoder->name, &problem);
  if (problem) {
    g_propagate_error(error, problem);
    return FALSE;
  }
  gboolean own = encoder->chunks || encoder->front.blocks || encoder->front.comments;
  if (spec->metadata && !own) fc_metadata_apply(spec->metadata, encoder->file, spec, encoder->name);
  return TRUE;
}

fc_encoder *fc_sndfile_encoder_new(const char *name, fc_output *output, const fc_audio_spec *spec,
                                   GError **error) {
  sndfile_encoder *encoder = g_new0(sndfile_encoder, 1);
  encoder->base = (fc_encoder){sndfile_write, sndfile_finish, sndfile_free};
  encoder->name = name;
  encoder->output = output;
  encoder->spec = *spec;
  const fc_comments *comments = fc_metadata_comments(spec->metadata, spec, name);
  if (is_major(encoder, SF_FORMAT_OGG))
    encoder->pages =
        (fc_ogg_pages){.name = name, .output = output, .page = g_byte_array_new(), .comments = comments};
  if (is_major(encoder, SF_FORMAT_FLAC)) {
    encoder->front.blocks = fc_metadata_flac_blocks(spec->metadata, spec, name);
    encoder->front.comments = comments;
    encoder->front.mask = fc_metadata_flac_mask(spec->metadata, spec);
  }
  if (open_file(encoder, error)) return &encoder->base;
  sndfile_free(&encoder->base);
  return NULL;
}
