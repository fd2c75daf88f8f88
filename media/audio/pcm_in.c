/* SPDX-License-Identifier: MIT */
/*
 * pcm_in.c - WAV, RF64, RIFX, W64, AIFF, CAF and AU. Samples that are stored one by one are handed to the
 * array source: an offset, a type and a stride. What is coded goes on to libmpg123 or libsndfile, together
 * with what the header says.
 */
#include <string.h>

#include "media/array/array.h"
#include "media/audio/pcm_header.h"
#include "media/file/bytes.h"

typedef struct pcm_source {
  fc_file_source file;
  fc_source *array;
  fc_media_options options;  /* its strings are not used after opening */
  gint64 position, promised; /* frames; FC_UNKNOWN */
  gboolean cut_told;
} pcm_source;

gboolean fc_audio_judge(const char *name, const char *fault, const fc_media_options *options,
                        GError **error) {
  if (!options->allow_truncated) return fc_fail(error, FC_IO, "%s: %s" FC_MEDIA_ADVICE, name, fault);
  fc_media_warn(options, "%s: %s; the readable part is used", name, fault);
  return TRUE;
}

static gint64 pcm_read(fc_source *base, const fc_view *into, GError **error) {
  pcm_source *source = (pcm_source *)base;
  fc_view view = *into;
  gint64 *wanted = &view.shape[FC_AXIS_X];
  if (source->promised != FC_UNKNOWN) *wanted = MIN(*wanted, source->promised - source->position);
  if (*wanted <= 0) return 0;
  const gint64 got = source->array->read(source->array, &view, error);
  if (got < 0) return -1;
  source->position += got;
  if (got == *wanted || source->promised == FC_UNKNOWN || source->cut_told) return got;
  g_autofree char *fault =
      g_strdup_printf("is cut off: it ends after %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " frames",
                      source->position, source->promised);
  source->cut_told = TRUE; /* the end may be asked for again */
  return fc_audio_judge(base->name, fault, &source->options, error) ? got : -1;
}

static gboolean pcm_seek(fc_source *base, gint64 position, GError **error) {
  pcm_source *source = (pcm_source *)base;
  source->position = position;
  return source->array->seek(source->array, position, error);
}

static void pcm_close(fc_file_source *file) {
  pcm_source *source = (pcm_source *)file;
  if (source->array) source->array->free(source->array);
}

/* How many frames there are, and whether they are all there. */
static gboolean count_frames(pcm_source *source, const fc_pcm_header *header, const fc_input *input,
                             GError **error) {
  const gint64 frame = header->item->size * header->channels;
  const gboolean aiff = header->tags->family == FC_TAGS_AIFF;
  gint64 size = header->size, missing = header->missing, there = MAX(input->size - header->offset, 0);
  source->promised = size < 0 ? FC_UNKNOWN : size / frame;
  /* AIFF counts its frames a second time. W64 may count padding as samples, which its fact chunk does not. */
  const gboolean counted =
      header->counted > 0 && !fc_chunk_size_is_placeholder((guint64)(header->counted * frame));
  if (aiff && counted && (size < 0 || header->counted < source->promised)) source->promised = header->counted;
  if (aiff && counted && size >= 0 && header->counted > source->promised && input->seekable)
    missing = MAX(missing, (header->counted - source->promised) * frame), source->promised = header->counted;
  const gboolean padded = header->size_bytes == 8 && counted && header->counted < source->promised;
  if (padded && size - header->counted * frame < 8) source->promised = header->counted;
  if (!input->seekable) return TRUE;
  if (source->promised == FC_UNKNOWN || source->promised > there / frame) source->promised = there / frame;
  /* 0xffffffff is what streams have; other sizes that were never set are those of a recording that broke off.
   */
  if (size < 0 && header->size_said != (header->size_bytes == 4 ? G_MAXUINT32 : G_MAXUINT64))
    fc_media_warn(&source->options, "%s: the header does not say how long it is; read to the end of the file",
                  input->name);
  if (!missing) return TRUE;
  g_autofree char *fault = g_strdup_printf("is cut off: %" G_GINT64_FORMAT " bytes are missing", missing);
  return fc_audio_judge(input->name, fault, &source->options, error);
}

/* Moves the reader behind what was taken of a pipe; or opens one at the samples. FALSE with an error. */
static gboolean go_to_samples(fc_front *front, gint64 offset, GError **error) {
  if (front->input->seekable) return fc_reader_seek(front->reader, offset, error);
  gssize got = 1;
  while (got > 0 && front->reader->position < offset) {
    guint8 skipped[4096];
    const gint64 left = offset - front->reader->position;
    got = fc_reader_read(front->reader, skipped, (gsize)MIN((gint64)sizeof skipped, left), error);
  }
  return got >= 0;
}

/* Takes over input and reader, also when it fails. */
static fc_source *open_samples(fc_front *front, const fc_pcm_header *header, const fc_media_options *options,
                               GError **error) {
  fc_input *input = front->input;
  const gboolean pipe = !input->seekable;
  pcm_source *source = g_new0(pcm_source, 1);
  source->file =
      (fc_file_source){.base = {.name = g_strdup(input->name), .read = pcm_read, .free = fc_file_source_free},
                       .tags = fc_tags_ref(header->tags),
                       .close = pcm_close};
  source->options = *options;
  fc_source *base = &source->file.base;
  if (!count_frames(source, header, input, error) || !go_to_samples(front, header->offset, error)) {
    fc_file_source_free(base);
    g_free(front->reader);
    fc_input_free(input);
    return NULL;
  }
  const fc_array_file file = {
      .item = header->item,
      .swap = header->swap,
      .format = {.size = sizeof(fc_format),
                 .kind = FC_AUDIO,
                 .layout = FC_INTERLEAVED,
                 .extent = {1, 1, pipe ? FC_UNKNOWN : source->promised, header->channels},
                 .rate = header->rate},
      .offset = header->offset,
      .outermost = FC_AXIS_X};
  /* What ends too soon is judged here, by what the header says. */
  const fc_media_options quiet = {.allow_truncated = TRUE};
  if (pipe && header->more)
    fc_media_warn(
        options,
        "%s: has metadata after its samples, which cannot be read from a pipe: name the file, or use <",
        input->name);
  source->array = fc_array_source_new(input, front->reader, &file, &quiet, error);
  if (!source->array) {
    fc_file_source_free(base);
    return NULL;
  }
  base->format = source->array->format;
  if (source->array->seek) base->seek = pcm_seek;
  /* Of a pipe that may end sooner only the end tells. */
  base->format.extent[FC_AXIS_X] = pipe && options->allow_truncated ? FC_UNKNOWN : source->promised;
  source->file.tags->frames = base->format.extent[FC_AXIS_X];
  return base;
}

/* What libsndfile must be told that the header does not say. */
static fc_coded_place coded_place(fc_pcm_header *header, const fc_input *input) {
  fc_coded_place place = {.missing = header->missing,
                          .offset = header->offset,
                          .bytes = header->size,
                          .tags = g_steal_pointer(&header->tags)};
  const gint64 there = MAX(input->size - header->offset, 0),
               bytes = header->size < 0 ? there : MIN(header->size, there);
  const fc_chunk_layout *layout = fc_chunk_layout_at(input);
  /* The content of the samples' chunk begins ahead of the samples in AIFF and CAF, with W64's own header. */
  const gint64 ahead = header->offset - header->size_at - header->size_bytes +
                       (layout && layout->counts_header ? layout->id_bytes + layout->size_bytes : 0);
  const gboolean big = layout ? layout->big_endian : input->head[0] == '.';
  /* Of AU libsndfile takes the size for a number with a sign. */
  const gboolean endless = !layout && bytes > G_MAXINT32;
  const guint64 true_size = endless ? G_MAXUINT32 : (guint64)(bytes + (layout ? ahead : 0));
  if (header->found && header->size_said != true_size &&
      true_size <= (header->size_bytes == 8 ? G_MAXINT64 : G_MAXUINT32)) {
    place.patches[0].at = header->size_at;
    place.patches[0].size = header->size_bytes;
    (big ? fc_put_big : fc_put_little)(place.patches[0].bytes, true_size, header->size_bytes);
  }
  if (header->block_bytes && header->block_frames) {
    const gint64 all = (bytes + header->block_bytes - 1) / header->block_bytes * header->block_frames;
    /* Of several channels libsndfile itself writes how many frames there are, divided by them. */
    const gboolean divided = header->channels > 1 && header->counted == all / header->channels;
    const gboolean last = header->counted > all - header->block_frames && header->counted <= all;
    place.frames = last && !divided ? header->counted : all;
  }
  /* Of samples of a byte; some writers count what W64 is padded with as samples, but not as frames. */
  const gint64 padding = bytes - header->counted * header->channels;
  if (layout && layout->counts_header && !header->block_bytes && header->counted > 0 && padding >= 0 &&
      padding < 8)
    place.frames = header->counted;
  if (header->g711) { /* libsndfile takes all of that form for integers */
    place.patches[1].at = header->flags_at;
    place.patches[1].size = 2;
    fc_put_little(place.patches[1].bytes, (guint64)header->g711, 2);
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
  if (header->mpeg && header->found) {
    const gint64 there = MAX(input->size - header->offset, 0);
    const fc_mp3_place mp3 = {.offset = header->offset,
                              .size = header->size < 0 ? there : MIN(header->size, there),
                              .missing = header->missing,
                              .tags = g_steal_pointer(&header->tags)};
    return fc_mp3_open(input, &mp3, options, error);
  }
  fc_coded_place place = coded_place(header, input);
  return fc_coded_open(input, format, &place, options, error);
}

/* Why there is no sound in it; FALSE. */
static gboolean fail_header(const fc_input *input, const fc_pcm_header *header, const fc_file_format *format,
                            GError **error) {
  const char *why = header->unknown  ? "its samples are of an unknown format"
                    : !header->found ? "it has no samples"
                                     : "its header gives no sample rate, or no channels";
  return fc_fail(error, FC_IO, "%s: %scannot be read as %s: %s", input->name,
                 header->missing ? "is cut off, and " : "", format->title, why);
}

fc_source *fc_pcm_open(fc_input *input, const fc_file_format *format, const fc_media_options *options,
                       GError **error) {
  g_autofree fc_reader *reader = g_new0(fc_reader, 1);
  fc_front front = {.input = input, .reader = reader};
  fc_pcm_header header = {0};
  fc_source *source = NULL;
  reader->input = input;
  gboolean read = fc_pcm_header_read(&header, &front, error);
  gboolean sound =
      header.found && header.channels && header.rate >= 0.5 && header.rate < 1e9 && !header.unknown;
  /* What is not plain, or has its format behind the samples, is kept in a file. */
  const gboolean keep = read && !input->seekable && !(sound && header.item);
  if (keep) {
    const gsize held = reader->end - reader->start;
    fc_blob_put(&front.taken, reader->block + reader->start, held);
    fc_pcm_header_clear(&header);
    read = fc_blob_check(&front.taken, input->name, error) &&
           fc_input_spool(input, front.taken.data, front.taken.size, G_MAXINT64, error) &&
           fc_pcm_header_read(&header, &front, error);
    sound = header.found && header.channels && header.rate >= 0.5 && header.rate < 1e9 && !header.unknown;
    reader->start = reader->end = 0;
  }
  fc_blob_clear(&front.taken);
  if (read && !sound) read = fail_header(input, &header, format, error);
  if (read && header.item) {
    header.tags->sndfile = (format->sndfile & SF_FORMAT_TYPEMASK) | header.sndfile;
    front.reader = g_steal_pointer(&reader);
    source = open_samples(&front, &header, options, error);
  } else if (read) {
    source = open_coded(input, &header, format, options, error);
  } else {
    fc_input_free(input);
  }
  fc_pcm_header_clear(&header);
  return source;
}
