/* SPDX-License-Identifier: MIT */
/*
 * pcm_in.c - WAV, RF64, RIFX, W64, AIFF, CAF and AU. Samples that are stored individually are read by the
 * array source: an offset, a type and a stride. Coded samples are passed to libmpg123 or libsndfile, with the
 * header's contents.
 */
#include <string.h>

#include "media/array/array.h"
#include "media/audio/pcm_header.h"
#include "media/file/bytes.h"

/* The number of frames (FC_UNKNOWN: in a pipe), and whether the file is complete. */
static gboolean count_frames(const fc_pcm_header *header, const fc_input *input,
                             const fc_media_options *options, gint64 *frames, GError **error) {
  const gint64 frame = header->item->size * header->channels;
  const gboolean aiff = header->tags->family == FC_TAGS_AIFF;
  gint64 size = header->size, missing = header->missing, there = MAX(input->size - header->offset, 0);
  *frames = size < 0 ? FC_UNKNOWN : size / frame;
  /* AIFF also counts frames. W64 may include padding in the samples' size, but not in its fact chunk. */
  const gboolean counted = header->counted > 0 && !fc_chunk_size_is_placeholder((guint64)header->counted) &&
                           !fc_chunk_size_is_placeholder((guint64)(header->counted * frame));
  if (aiff && counted && (size < 0 || header->counted < *frames)) *frames = header->counted;
  if (aiff && counted && size >= 0 && header->counted > *frames && input->seekable)
    missing = MAX(missing, (header->counted - *frames) * frame), *frames = header->counted;
  const gboolean padded = header->size_bytes == 8 && counted && header->counted < *frames;
  if (padded && size - header->counted * frame < 8) *frames = header->counted;
  if (!input->seekable) return TRUE;
  if (*frames == FC_UNKNOWN || *frames > there / frame) *frames = there / frame;
  /* 0xffffffff stands for a stream; other placeholders are those of an interrupted recording.
   */
  if (size < 0 && header->size_said != (header->size_bytes == 4 ? G_MAXUINT32 : G_MAXUINT64))
    fc_media_warn(options, "%s: the header does not say how long it is; read to the end of the file",
                  input->name);
  g_autofree char *fault = g_strdup_printf("is cut off: %" G_GINT64_FORMAT " bytes are missing", missing);
  return !missing || fc_media_judge(options, input->name, fault, error);
}

/* Takes ownership of the input, also on failure. */
static fc_source *open_samples(fc_input *input, const fc_pcm_header *header, const fc_media_options *options,
                               GError **error) {
  gint64 frames;
  if (!count_frames(header, input, options, &frames, error) ||
      !fc_input_go_to(input, header->offset, error)) {
    fc_input_free(input);
    return NULL;
  }
  if (!input->seekable && header->more)
    fc_media_warn(
        options,
        "%s: has metadata after its samples, which cannot be read from a pipe: name the file, or use <",
        input->name);
  const fc_array_file file = {.item = header->item,
                              .swap = header->swap,
                              .format = {.size = sizeof(fc_format),
                                         .kind = FC_AUDIO,
                                         .layout = FC_INTERLEAVED,
                                         .extent = {1, 1, frames, header->channels},
                                         .rate = header->rate},
                              .offset = header->offset,
                              .outermost = FC_AXIS_X,
                              .dims = -1,
                              .tags = fc_tags_ref(header->tags)};
  return fc_array_source_new(input, &file, options, error);
}

/* Corrections of the header for libsndfile. */
static fc_audio_place place_of(fc_pcm_header *header, const fc_input *input) {
  fc_audio_place place = {.missing = header->missing,
                          .offset = header->offset,
                          .bytes = header->size,
                          .tags = g_steal_pointer(&header->tags)};
  const gint64 there = MAX(input->size - header->offset, 0),
               bytes = header->size < 0 ? there : MIN(header->size, there);
  const fc_chunk_layout *layout = fc_chunk_layout_at(input);
  /* In AIFF and CAF the chunk's content begins before the samples, in W64 with the chunk's header. */
  const gint64 ahead = header->offset - header->size_at - header->size_bytes +
                       (layout && layout->counts_header ? layout->id_bytes + layout->size_bytes : 0);
  const gboolean big = layout ? layout->big_endian : input->head[0] == '.';
  const guint64 true_size = (guint64)(bytes + (layout ? ahead : 0));
  if (header->found && header->size_said != true_size &&
      true_size <= (header->size_bytes == 8 ? G_MAXINT64 : G_MAXUINT32)) {
    place.patches[0].at = header->size_at;
    place.patches[0].size = header->size_bytes;
    (big ? fc_put_big : fc_put_little)(place.patches[0].bytes, true_size, header->size_bytes);
  }
  if (header->block_bytes && header->block_frames) {
    const gint64 all = (bytes + header->block_bytes - 1) / header->block_bytes * header->block_frames;
    /* For several channels libsndfile writes the number of frames divided by the number of channels. */
    const gboolean divided = header->channels > 1 && header->counted == all / header->channels;
    const gboolean last = header->counted > all - header->block_frames && header->counted <= all;
    place.frames = last && !divided ? header->counted : all;
  }
  if (header->alac_depth) {
    const int depths[] = {0, 16, 20, 24, 32};
    place.patches[1].at = header->flags_at;
    place.patches[1].size = 4;
    for (int i = 0; i < 5; i++)
      if (depths[i] == header->alac_depth) fc_put_big(place.patches[1].bytes, (guint64)i, 4);
  }
  if (layout && layout->family == FC_TAGS_CAF) { /* of its table of packets */
    place.frames = header->counted;
    place.packet = header->block_frames;
  }
  return place;
}

static fc_source *open_coded(fc_input *input, fc_pcm_header *header, const fc_file_format *format,
                             const fc_media_options *options, GError **error) {
  fc_audio_place place = place_of(header, input);
  if (header->mpeg && header->found) return fc_mp3_open(input, &place, options, error);
  return fc_coded_open(input, format, &place, options, error);
}

/* Fails with the reason why there is no sound in it. */
static gboolean fail_header(const fc_input *input, const fc_pcm_header *header, const fc_file_format *format,
                            GError **error) {
  const char *why = header->unknown  ? "its samples are of an unknown format"
                    : !header->found ? "it has no samples"
                                     : "its header gives no sample rate, or no channels";
  return fc_fail(error, FC_IO, "%s: %scannot be read as %s: %s", input->name,
                 header->missing ? "is cut off, and " : "", format->title, why);
}

/* It has a rate and channels, and samples of a known kind. */
static gboolean is_sound(const fc_pcm_header *header) {
  return header->found && header->channels && header->rate >= 0.5 && header->rate < 1e9 && !header->unknown;
}

fc_source *fc_pcm_open(fc_input *input, const fc_file_format *format, const fc_media_options *options,
                       GError **error) {
  fc_pcm_header header = {0};
  fc_source *source = NULL;
  gboolean read = fc_pcm_header_read(&header, input, error);
  /* Coded samples, and formats that follow the samples, are copied into a temporary file. */
  if (read && !input->seekable && !(is_sound(&header) && header.item)) {
    fc_pcm_header_clear(&header);
    read = fc_input_make_seekable(input, error) && fc_pcm_header_read(&header, input, error);
  }
  if (read && !is_sound(&header)) read = fail_header(input, &header, format, error);
  if (read && header.item) {
    header.tags->sndfile = (format->sndfile & SF_FORMAT_TYPEMASK) | header.sndfile;
    source = open_samples(input, &header, options, error);
  } else if (read) {
    source = open_coded(input, &header, format, options, error);
  } else {
    fc_input_free(input);
  }
  fc_pcm_header_clear(&header);
  return source;
}
