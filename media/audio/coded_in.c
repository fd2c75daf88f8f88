/* SPDX-License-Identifier: MIT */
/*
 * coded_in.c - sounds that libsndfile decodes: FLAC, Vorbis and Opus in Ogg, ADPCM, GSM, ALAC,
 * in the element type in which their samples are exact. libsndfile's conversions change values and are not
 * used. It reads through callbacks that count their calls, since some headers keep it looping for minutes.
 *
 * libsndfile does not report truncated files. The sizes of chunks have been compared with the file's before;
 * an Ogg stream is verified page by page; for FLAC a short read is an error.
 */
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "media/audio/audio.h"
#include "media/audio/channel_layout.h"
#include "media/audio/audio_tags.h"
#include "media/audio/id3.h"
#include "media/audio/ogg_stream.h"
#include "media/file/bytes.h"

/* Longer than any recording, shorter than libsndfile's value for an unknown length. */
#define FRAMES_MAX ((gint64)1 << 48)
/* Limit of reads and seeks for opening a sound, plus one for each so many bytes or samples. */
#define CALLS       ((gint64)1 << 20)
#define CALLS_EVERY 64
/* Milliseconds to wait for a pipe after everything announced has arrived. */
#define PATIENCE 1000

typedef struct coded_source {
  fc_file_source file;
  fc_input *input;
  fc_media_options options; /* its strings are not used after opening */
  fc_audio_place place;
  gint64 at;            /* libsndfile's read position */
  gint64 calls;         /* calls left */
  gboolean in_order;    /* an Ogg stream that is read in order and never sought in */
  fc_ogg_verifier *ogg; /* or NULL */
  GError *problem;      /* of sequential reading */
  SNDFILE *decoder;
  SF_INFO info;
  const guint8 *order;       /* of the channels; NULL: WAV's */
  gint64 position, promised; /* FC_UNKNOWN */
  gboolean end_told;
} coded_source;

/* ---- libsndfile's file --------------------------------------------------------- */

static gboolean may_go_on(coded_source *source) {
  if (source->calls >= 0) source->calls--;
  return source->calls >= 0 && !source->problem;
}

static void allow(coded_source *source, gint64 samples) {
  if (source->calls >= 0)
    source->calls = CALLS + MAX(source->input->size, 0) / CALLS_EVERY + samples / CALLS_EVERY;
}

static sf_count_t vio_size(void *data) {
  coded_source *source = data;
  return source->in_order ? SF_COUNT_MAX : source->input->size;
}

static sf_count_t vio_tell(void *data) {
  return ((coded_source *)data)->at;
}

/* A stream cannot seek, except to its current position. */
static sf_count_t vio_seek(sf_count_t offset, int whence, void *data) {
  coded_source *source = data;
  if (source->in_order)
    return (whence == SEEK_SET && offset == source->at) || (whence == SEEK_CUR && !offset) ? source->at : -1;
  const gint64 from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? source->at : vio_size(source);
  if (!may_go_on(source) || from + offset < 0) return -1;
  return source->at = from + offset;
}

static void patch(const coded_source *source, guint8 *to, gint64 size) {
  for (gsize k = 0; k < G_N_ELEMENTS(source->place.patches); k++)
    for (int i = 0; i < source->place.patches[k].size; i++) {
      const gint64 at = source->place.patches[k].at + i - source->at;
      if (at >= 0 && at < size) to[at] = source->place.patches[k].bytes[i];
    }
}

/* libsndfile parses lists of cues, in chunks named LIST or INFO, and with some false sizes it loops there
 * without a callback. Nothing in these lists is used, so it is given a chunk with another name. It reads a
 * name in one call. */
static void hide_lists(const coded_source *source, guint8 *bytes, gint64 size) {
  const gint64 begin = source->place.offset - source->at,
               end = source->place.bytes < 0 ? size : begin + source->place.bytes;
  for (gint64 i = 0; i + 4 <= size; i++) {
    if (i >= begin && i < end)
      i = MAX(i, end - 1);
    else if (fc_id_is_among(bytes + i, "LIST INFO"))
      memcpy(bytes + i, "JUNK", 4);
  }
}

static sf_count_t vio_read(void *to, sf_count_t size, void *data) {
  coded_source *source = data;
  if (!may_go_on(source) || size <= 0) return 0;
  gssize got;
  /* A read that begins within the samples ends with them: else an incomplete block would be filled with what
   * follows. */
  const gint64 end = source->place.offset + source->place.bytes;
  if (source->place.bytes > 0 && source->at >= source->place.offset && source->at < end)
    size = MIN(size, end - source->at);
  if (source->in_order) {
    got = fc_input_read(source->input, to, (gsize)size, &source->problem);
    if (got > 0 && source->ogg && !source->input->seekable) fc_ogg_verifier_feed(source->ogg, to, (gsize)got);
  } else {
    got = fc_input_read_at(source->input, source->at, to, (gsize)size, NULL);
    if (got > 0) patch(source, to, got);
    hide_lists(source, to, got);
  }
  source->at += MAX(got, 0);
  return MAX(got, 0);
}

static sf_count_t vio_write(const void *from, sf_count_t size, void *data) {
  return 0;
}

static SF_VIRTUAL_IO vio = {vio_size, vio_seek, vio_read, vio_write, vio_tell};

/* FALSE with an error if a failed read may have looked like the end to libsndfile. */
static gboolean check(const coded_source *source, GError **error) {
  const char *name = source->file.base.name;
  if (source->problem && error) *error = g_error_copy(source->problem);
  if (source->problem || !fc_input_check(source->input, error)) return FALSE;
  if (source->ogg && source->ogg->failed)
    return fc_fail(error, FC_NO_MEMORY, "%s: no memory for its pages", name);
  return source->calls >= 0 ||
         fc_fail(error, FC_IO, "%s: is damaged: libsndfile does not finish decoding it", name);
}

/* ---- the end --------------------------------------------------------------------- */

static gboolean judge(coded_source *source, const char *fault, GError **error) {
  return fc_media_judge(&source->options, source->file.base.name, fault, error);
}

/* The state of an Ogg stream so far. */
static gboolean judge_stream(coded_source *source, GError **error) {
  const char *remark = fc_ogg_verifier_remark(source->ogg);
  g_autofree char *damage = fc_ogg_verifier_fault(source->ogg);
  if (damage || !fc_ogg_verifier_is_whole(source->ogg))
    return judge(source, damage ? damage : FC_OGG_CUT, error);
  if (remark) fc_media_warn(&source->options, "%s: %s", source->file.base.name, remark);
  return TRUE;
}

/* Reads the pages that libsndfile has not requested: to the end of the stream, and of those chained to it. */
static gboolean end_pipe(coded_source *source, GError **error) {
  guint8 rest[4096];
  const fc_ogg_verifier *ogg = source->ogg;
  while (!ogg->over && vio_read(rest, sizeof rest, source) > 0) allow(source, 0);
  gboolean more = fc_input_is_ready(source->input, PATIENCE) && vio_read(rest, 1, source) > 0;
  for (gint64 end = source->at + FC_INPUT_LOOK_MOST; more && source->at < end; allow(source, 0))
    more = vio_read(rest, sizeof rest, source) > 0;
  return check(source, error) && judge_stream(source, error);
}

/* Decides whether this is the end or damage, and whether that is accepted. */
static gboolean end_well(coded_source *source, GError **error) {
  if (source->end_told) return TRUE; /* it may be read again */
  source->end_told = TRUE;
  const int problem = sf_error(source->decoder);
  if (source->in_order && !source->input->seekable && !end_pipe(source, error)) return FALSE;
  g_autofree char *fault = NULL;
  if (problem)
    fault = g_strdup_printf("is damaged after frame %" G_GINT64_FORMAT " (%s)", source->position,
                            sf_error_number(problem));
  else if (source->promised != FC_UNKNOWN && source->position < source->promised)
    fault = g_strdup_printf("is cut off: it ends after %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " frames",
                            source->position, source->promised);
  source->promised = source->position;
  return !fault || judge(source, fault, error);
}

/* ---- reading ----------------------------------------------------------------------- */

static gint64 read_frames(coded_source *source, void *to, gint64 count) {
  allow(source, count * source->info.channels);
  switch (source->file.base.format.dtype) {
  case FC_I16: return sf_readf_short(source->decoder, to, count);
  case FC_I32: return sf_readf_int(source->decoder, to, count);
  case FC_F32: return sf_readf_float(source->decoder, to, count);
  default: return sf_readf_double(source->decoder, to, count);
  }
}

static gint64 coded_read(fc_source *base, const fc_view *into, GError **error) {
  coded_source *source = (coded_source *)base;
  gint64 wanted = into->shape[FC_AXIS_X], got = 0;
  if (source->promised != FC_UNKNOWN) wanted = MIN(wanted, source->promised - source->position);
  if (wanted > 0) got = read_frames(source, into->data, wanted);
  got = MAX(got, 0);
  if (source->order) fc_channel_order_undo(source->order, source->info.channels, into->data, got);
  source->position += got;
  if (!check(source, error) ||
      /* After damage libsndfile returns zeros for as many frames as were requested. */
      ((got < wanted || sf_error(source->decoder)) && !end_well(source, error)))
    return -1;
  return got;
}

static gboolean coded_seek(fc_source *base, gint64 position, GError **error) {
  coded_source *source = (coded_source *)base;
  allow(source, 0);
  source->position = position;
  if (sf_seek(source->decoder, position, SEEK_SET) == position) return check(source, error);
  return check(source, error) &&
         fc_fail(error, FC_IO, "%s: is damaged before frame %" G_GINT64_FORMAT, base->name, position);
}

static void coded_close(fc_file_source *file) {
  coded_source *source = (coded_source *)file;
  if (source->decoder) sf_close(source->decoder);
  if (source->ogg) fc_ogg_verifier_clear(source->ogg);
  g_free(source->ogg);
  g_clear_error(&source->problem);
  fc_input_free(source->input);
}

/* ---- opening ------------------------------------------------------------------------ */

static gboolean fail_open(coded_source *source, const fc_file_format *format, GError **error) {
  if (!check(source, error)) return FALSE;
  g_autofree char *why = g_strdup(sf_strerror(NULL));
  g_strdelimit(why, "\r\n", ' ');
  while (*why && strchr(". ", why[strlen(why) - 1])) why[strlen(why) - 1] = 0;
  return fc_fail(error, FC_IO, "%s: %scannot be read as %s: %s", source->file.base.name,
                 source->place.missing ? "is cut off, and " : "", format->title, why);
}

/* An Ogg file is read once, in order. Where it cannot seek, libsndfile reads the first of several streams,
 * and one without an end. */
static gboolean prepare_ogg(coded_source *source, GError **error) {
  fc_ogg_verifier *ogg = source->ogg = g_new0(fc_ogg_verifier, 1);
  if (source->input->seekable &&
      (!fc_ogg_verifier_feed_file(ogg, source->input, error) || !judge_stream(source, error)))
    return FALSE;
  const gboolean alone = !ogg->chain && !ogg->beside && fc_ogg_verifier_is_whole(ogg);
  if (source->input->seekable && alone) return TRUE;
  source->in_order = TRUE;
  return TRUE;
}

static gboolean open_decoder(coded_source *source, const fc_file_format *format, GError **error) {
  const gboolean ogg = format->sndfile == SF_FORMAT_OGG;
  if (!(ogg || source->input->seekable) && !fc_input_make_seekable(source->input, error)) return FALSE;
  if (ogg && !prepare_ogg(source, error)) return FALSE;
  allow(source, 0);
  source->decoder = sf_open_virtual(&vio, SFM_READ, &source->info, source);
  return source->decoder && check(source, NULL) ? TRUE : fail_open(source, format, error);
}

static void set_format(coded_source *source) {
  const SF_INFO *info = &source->info;
  const fc_audio_samples samples = fc_audio_samples_of(info->format);
  /* Opus has ambisonic streams, whose channels have no speaker order. */
  const gboolean surround = !source->ogg || source->ogg->mapping <= 1;
  source->order = surround ? fc_channel_order_of(info->format, info->channels) : NULL;
  source->file.base.format = (fc_format){.size = sizeof(fc_format),
                                         .kind = FC_AUDIO,
                                         .dtype = samples.dtype,
                                         .bits = samples.bits,
                                         .layout = FC_INTERLEAVED,
                                         .extent = {1, 1, FC_UNKNOWN, info->channels},
                                         .rate = info->samplerate};
}

/* libsndfile counts the padding of the last block as samples. */
static gint64 count_frames(const coded_source *source) {
  gint64 frames = source->info.frames;
  if (frames < 0 || frames > FRAMES_MAX) return FC_UNKNOWN;
  const gint64 said = source->place.frames, packet = source->place.packet;
  const gboolean alac = fc_audio_is_alac(source->info.format);
  /* Some writers count the last packet as full. */
  const gboolean filled = packet && said % packet == 0 && said - frames < packet;
  if (said > 0) frames = !alac ? MIN(frames, said) : filled ? frames : MAX(frames, said);
  return frames;
}

static gboolean find_length(coded_source *source, GError **error) {
  const fc_audio_place *place = &source->place;
  source->promised = count_frames(source);
  g_autofree char *fault = NULL;
  if (place->missing)
    fault = g_strdup_printf("is cut off: %" G_GINT64_FORMAT " bytes are missing", place->missing);
  if (fault && !judge(source, fault, error)) return FALSE;
  /* The file may be shorter than announced; only a known end can be passed on. */
  source->file.base.format.extent[FC_AXIS_X] =
      source->options.allow_truncated ? FC_UNKNOWN : source->promised;
  return TRUE;
}

static gboolean take_tags(coded_source *source, GError **error) {
  const SF_INFO *info = &source->info;
  const gboolean flac = (info->format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC;
  fc_tags *tags = source->file.tags;
  if (!tags)
    tags = source->file.tags = fc_tags_new(flac ? FC_TAGS_FLAC : source->ogg ? FC_TAGS_OGG : FC_TAGS_OTHER);
  if (flac && !fc_flac_blocks_read(tags, source->input)) fc_tags_lose(tags, "damaged blocks");
  if (source->ogg && !fc_ogg_verifier_tags(source->ogg, tags)) fc_tags_lose(tags, "damaged comments");
  tags->sndfile = info->format;
  /* Other codecs seek to a block only, or must decode what precedes. */
  if (flac) source->file.base.seek = coded_seek;
  tags->channels = info->channels;
  tags->rate = info->samplerate;
  tags->frames = source->file.base.format.extent[FC_AXIS_X];
  const gboolean implied = info->channels > 2 && (!source->ogg || source->ogg->mapping <= 1);
  if (!tags->speakers && implied) tags->speakers = fc_channel_mask_of_codec(info->format, info->channels);
  return fc_tags_check(tags, source->file.base.name, error) && fc_input_check(source->input, error);
}

fc_source *fc_coded_open(fc_input *input, const fc_file_format *format, const fc_audio_place *place,
                         const fc_media_options *options, GError **error) {
  coded_source *source = g_new0(coded_source, 1);
  fc_source *base = &source->file.base;
  *base = (fc_source){.name = g_strdup(input->name), .read = coded_read, .free = fc_file_source_free};
  source->file.close = coded_close;
  source->input = input;
  source->options = *options;
  source->place = place ? *place : (fc_audio_place){.bytes = -1}; /* samples from end to end */
  source->file.tags = source->place.tags;
  if (open_decoder(source, format, error)) {
    set_format(source);
    if (find_length(source, error) && take_tags(source, error)) return base;
  }
  fc_file_source_free(base);
  return NULL;
}
