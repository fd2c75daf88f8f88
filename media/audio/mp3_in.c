/* SPDX-License-Identifier: MIT */
/*
 * mp3_in.c - MPEG audio through libmpg123, in its own file or in WAV. All frame headers are read when the
 * file is opened: they give the exact length, and show whether the file ends within a frame.
 */
#include <mpg123.h>
#include <stdio.h>
#include <string.h>

#include "media/audio/audio.h"
#include "media/audio/id3.h"
#include "media/file/bytes.h"

/* After tags whose size does not include their padding. */
#define RESYNC_LIMIT (1 << 20)

typedef struct mp3_source {
  fc_file_source file;
  fc_input *input;
  fc_media_options options; /* its strings are not used after opening */
  mpg123_handle *decoder;
  gint64 offset, size, at; /* the stream's offset in the file, and the decoder's position in it */
  gint64 position, frames;
  gboolean cut_told;
} mp3_source;

/* ---- libmpg123's file ----------------------------------------------------------- */

static mpg123_ssize_t read_stream(void *data, void *to, size_t size) {
  mp3_source *source = data;
  const gsize some = (gsize)CLAMP(source->size - source->at, 0, (gint64)size);
  const gssize got = some ? fc_input_read_at(source->input, source->offset + source->at, to, some, NULL) : 0;
  source->at += MAX(got, 0);
  return got;
}

static off_t seek_stream(void *data, off_t offset, int whence) {
  mp3_source *source = data;
  const gint64 from = whence == SEEK_SET ? 0 : whence == SEEK_CUR ? source->at : source->size;
  if (from + offset < 0) return -1;
  return source->at = from + offset;
}

/* ---- reading --------------------------------------------------------------------- */

static gboolean fail_read(mp3_source *source, GError **error) {
  if (!fc_input_check(source->input, error)) return FALSE;
  if (source->cut_told) return TRUE; /* further reads find the end again */
  g_autofree char *fault =
      g_strdup_printf("is cut off or damaged after frame %" G_GINT64_FORMAT, source->position);
  source->cut_told = TRUE;
  return fc_media_judge(&source->options, source->file.base.name, fault, error);
}

static gint64 mp3_read(fc_source *base, const fc_view *into, GError **error) {
  mp3_source *source = (mp3_source *)base;
  const gsize frame = (gsize)base->format.extent[FC_AXIS_C] * sizeof(float);
  const gint64 wanted = MIN(into->shape[FC_AXIS_X], source->frames - source->position);
  gsize size = (gsize)MAX(wanted, 0) * frame, done = 0;
  int status = MPG123_OK;
  while (done < size && (status == MPG123_OK || status == MPG123_NEW_FORMAT)) {
    size_t some = 0;
    status = mpg123_read(source->decoder, (guint8 *)into->data + done, size - done, &some);
    done += some;
  }
  source->position += (gint64)(done / frame);
  if (!fc_input_check(source->input, error) || (done < size && !fail_read(source, error))) return -1;
  return (gint64)(done / frame);
}

static void mp3_close(fc_file_source *file) {
  mp3_source *source = (mp3_source *)file;
  if (source->decoder) mpg123_delete(source->decoder);
  fc_input_free(source->input);
}

/* ---- opening ---------------------------------------------------------------------- */

/* The counts in the first frame, as LAME and others write them; 0: none. */
typedef struct mp3_counts {
  guint64 frames, bytes;
} mp3_counts;

static mp3_counts counts_in(const guint8 *frame, gsize size) {
  enum { FRAMES = 1, BYTES = 2 };
  static const guint8 side_info[] = {9, 17, 17, 32}; /* for MPEG 2 or 1, mono or not */
  const gboolean mono = frame[3] >> 6 == 3, first = (frame[1] >> 3 & 3) == 3;
  const guint8 *at = frame + 4 + side_info[2 * first + !mono];
  mp3_counts counts = {0};
  if (size < (gsize)(at + 16 - frame) || (memcmp(at, "Xing", 4) != 0 && memcmp(at, "Info", 4) != 0))
    return counts;
  const guint64 flags = fc_big(at + 4, 4);
  if (flags & FRAMES) counts.frames = fc_big(at + 8, 4);
  if (flags & BYTES) counts.bytes = fc_big(at + (flags & FRAMES ? 12 : 8), 4);
  return counts;
}

typedef struct mp3_walk {
  guint64 frames;   /* without the frame that has the counts */
  gint64 end;       /* of the last one */
  gint64 left_over; /* bytes after it that begin another frame */
} mp3_walk;

/* Walks through all frames without decoding them. */
static mp3_walk walk_frames(mp3_source *source) {
  mp3_walk walk = {0};
  struct mpg123_frameinfo info;
  guint8 first[4] = {0}, next[4];
  /* The first was read when the decoder was opened. */
  do {
    const off_t at = mpg123_framepos(source->decoder);
    if (mpg123_info(source->decoder, &info) != MPG123_OK || at < walk.end) break;
    if (!walk.frames) fc_input_read_at(source->input, source->offset + at, first, sizeof first, NULL);
    walk.frames++;
    walk.end = at + info.framesize;
  } while (mpg123_framebyframe_next(source->decoder) == MPG123_OK);
  const gint64 left = source->size - walk.end;
  if (left < (gint64)sizeof next || !first[0]) return walk;
  fc_input_read_at(source->input, source->offset + walk.end, next, sizeof next, NULL);
  const gboolean alike = next[0] == first[0] && next[1] == first[1] && (next[2] & 0x0c) == (first[2] & 0x0c);
  if (alike) walk.left_over = left;
  return walk;
}

/* One rate, as floats. */
static gboolean set_format(mp3_source *source) {
  long rate;
  int channels, encoding;
  mpg123_handle *decoder = source->decoder;
  if (mpg123_getformat(decoder, &rate, &channels, &encoding) != MPG123_OK || encoding != MPG123_ENC_FLOAT_32)
    return FALSE;
  mpg123_format_none(decoder);
  if (mpg123_format(decoder, rate, channels, MPG123_ENC_FLOAT_32) != MPG123_OK) return FALSE;
  source->file.base.format = (fc_format){.size = sizeof(fc_format),
                                         .kind = FC_AUDIO,
                                         .dtype = FC_F32,
                                         .bits = 24,
                                         .layout = FC_INTERLEAVED,
                                         .extent = {1, 1, FC_UNKNOWN, channels},
                                         .rate = (double)rate};
  return TRUE;
}

static gboolean open_decoder(mp3_source *source) {
  if (mpg123_init() != MPG123_OK) return FALSE;
  mpg123_handle *decoder = source->decoder = mpg123_new(NULL, NULL);
  if (!decoder) return FALSE;
  const long flags = MPG123_QUIET | MPG123_FORCE_FLOAT | MPG123_GAPLESS | MPG123_PICTURE;
  return mpg123_param(decoder, MPG123_ADD_FLAGS, flags, 0) == MPG123_OK &&
         mpg123_param(decoder, MPG123_REMOVE_FLAGS, MPG123_AUTO_RESAMPLE, 0) == MPG123_OK &&
         mpg123_param(decoder, MPG123_RESYNC_LIMIT, RESYNC_LIMIT, 0) == MPG123_OK &&
         mpg123_replace_reader_handle(decoder, read_stream, seek_stream, NULL) == MPG123_OK &&
         mpg123_open_handle(decoder, source) == MPG123_OK && set_format(source);
}

/* The counts; `bytes` becomes the offset of the stream's end. */
static mp3_counts find_counts(mp3_source *source) {
  guint8 first[64] = {0};
  const gint64 start = fc_id3_skip(source->input, source->offset);
  const gssize got = start < 0 ? 0 : fc_input_read_at(source->input, start, first, sizeof first, NULL);
  mp3_counts counts = {0};
  if (got > 4) counts = counts_in(first, (gsize)got);
  if (counts.bytes) counts.bytes += (guint64)(start - source->offset);
  return counts;
}

/* Whether the stream is complete: it has the bytes, or else the frames, that the first frame counts, and no
 * part of a further frame. Encoders differ in whether they count the first frame. */
static char *find_fault(const mp3_source *source, const fc_audio_place *place, const mp3_walk *walk,
                        const mp3_counts *counts) {
  const gint64 missing = place && place->missing ? place->missing : (gint64)counts->bytes - source->size;
  if (missing > 0) return g_strdup_printf("is cut off: %" G_GINT64_FORMAT " bytes are missing", missing);
  if (!counts->bytes && counts->frames > walk->frames + 1)
    return g_strdup_printf("is cut off: %" G_GUINT64_FORMAT " of %" G_GUINT64_FORMAT
                           " frames of MPEG are there",
                           walk->frames, counts->frames);
  return walk->left_over ? g_strdup("is cut off within its last frame of MPEG") : NULL;
}

/* If the frames are counted, libmpg123 knows the length without the encoder's padding at both ends; given
 * another number of frames it would keep the padding. */
static gboolean measure(mp3_source *source, const fc_audio_place *place, GError **error) {
  const mp3_counts counts = find_counts(source);
  const gint64 length = counts.frames ? mpg123_length(source->decoder) : 0;
  const mp3_walk walk = walk_frames(source);
  if (!walk.frames || mpg123_seek(source->decoder, 0, SEEK_SET) < 0)
    return fc_input_check(source->input, error) &&
           fc_fail(error, FC_IO, "%s: cannot be read as MP3: nothing in it can be decoded",
                   source->input->name);
  g_autofree char *fault = find_fault(source, place, &walk, &counts);
  if (fault && !fc_media_judge(&source->options, source->input->name, fault, error)) return FALSE;
  source->frames = length > 0 ? length : (gint64)walk.frames * mpg123_spf(source->decoder);
  source->cut_told = fault != NULL;
  source->file.base.format.extent[FC_AXIS_X] = fault ? FC_UNKNOWN : source->frames;
  return fc_input_check(source->input, error);
}

/* A stream in WAV has the file's tags. */
static gboolean take_tags(mp3_source *source, const fc_audio_place *place, GError **error) {
  const fc_format *format = &source->file.base.format;
  fc_tags *tags = source->file.tags = place && place->tags ? place->tags : fc_tags_new(FC_TAGS_OTHER);
  fc_id3_read(tags, source->decoder);
  fc_id3_name_others(tags, source->input);
  tags->sndfile = FC_SF_MPEG | FC_SF_MPEG_LAYER_III;
  tags->channels = (int)format->extent[FC_AXIS_C];
  tags->rate = (int)format->rate;
  tags->frames = format->extent[FC_AXIS_X];
  return fc_tags_check(tags, source->input->name, error);
}

fc_source *fc_mp3_open(fc_input *input, const fc_audio_place *place, const fc_media_options *options,
                       GError **error) {
  mp3_source *source = g_new0(mp3_source, 1);
  fc_source *base = &source->file.base;
  source->file =
      (fc_file_source){.base = {.name = g_strdup(input->name), .read = mp3_read, .free = fc_file_source_free},
                       .close = mp3_close};
  source->input = input;
  source->options = *options;
  gboolean opened = fc_input_make_seekable(input, error);
  source->offset = place ? place->offset : 0;
  source->size = MAX(input->size - source->offset, 0);
  if (place && place->bytes >= 0) source->size = MIN(source->size, place->bytes);
  if (opened && !open_decoder(source)) {
    const gboolean cut = place && place->missing;
    opened = FALSE;
    if (fc_input_check(input, error))
      fc_fail(error, FC_IO, "%s: %scannot be read as %s: nothing in it can be decoded", input->name,
              cut ? "is cut off, and " : "", place ? "WAV" : "MP3");
  }
  if (opened && measure(source, place, error) && take_tags(source, place, error)) return base;
  if (place && !source->file.tags) fc_tags_unref(place->tags);
  fc_file_source_free(base);
  return NULL;
}
