/* SPDX-License-Identifier: MIT */
/*
 * audio_length.c - see audio_length.h. The header's word is held against the file's
 * size; what a writer could not fill in (a pipe, a crash) is told from what is gone.
 */
#include "media/audio/audio_length.h"

#include <string.h>

#include "media/audio/mpeg_end.h"
#include "media/audio/ogg_watch.h"
#include "media/audio/sound_front.h"

/* Longer than any recording, shorter than what libsndfile says when it does not know. */
#define FRAMES_MAX ((gint64)1 << 48)

/* Of a size that was never set. */
#define TO_THE_END "the header does not say how long it is; read to the end of the file"

#define WRAPPED "its sizes were counted beyond 4 GiB from 0 again; all of it is read"

/* In the file, of samples that stand one by one. */
static gint64 frame_bytes(const SF_INFO *info) {
  fc_audio_samples samples = fc_audio_samples_of(info->format);
  int subtype = info->format & SF_FORMAT_SUBMASK;
  if (subtype == SF_FORMAT_ULAW || subtype == SF_FORMAT_ALAW) return info->channels;
  gboolean floats = fc_dtype_is_float(samples.dtype);
  return info->channels * (floats ? (gint64)fc_dtype_size(samples.dtype) : (samples.bits + 7) / 8);
}

static gboolean find_ogg_end(fc_input *input, fc_audio_length *length, GError **error) {
  fc_ogg_watch watch = {0};
  if (!fc_ogg_watch_file(&watch, input, error)) return FALSE;
  length->remark = fc_ogg_watch_remark(&watch);
  length->fault = fc_ogg_watch_fault(&watch);
  if (!length->fault && !fc_ogg_watch_is_whole(&watch)) length->fault = g_strdup(FC_OGG_CUT);
  return TRUE;
}

/* libsndfile takes what follows the samples for more of them, in W64 always and in WAV
 * when there are none. */
static void cap_frames(const SF_INFO *info, gint64 bytes, fc_audio_length *length) {
  int subtype = info->format & SF_FORMAT_SUBMASK;
  int family = info->format & SF_FORMAT_TYPEMASK;
  gboolean riff = family == SF_FORMAT_WAV || family == SF_FORMAT_WAVEX || family == SF_FORMAT_RF64 ||
                  family == SF_FORMAT_W64;
  if (bytes == 0) length->frames = 0;
  if (riff && subtype >= SF_FORMAT_PCM_S8 && subtype <= SF_FORMAT_DOUBLE)
    length->frames = MIN(length->frames, bytes / frame_bytes(info));
}

/* Of packets CAF has a table that begins with how many frames they hold; libsndfile has as many as it made of
 * the rest of it. Some writers count the last packet as if it were full. */
static gboolean count_packets(fc_input *input, const fc_chunks *chunks, const SF_INFO *info,
                              fc_audio_length *length, GError **error) {
  enum { PACKET_AT = 20 };
  guint8 head[16];
  if ((info->format & SF_FORMAT_TYPEMASK) != SF_FORMAT_CAF || !fc_audio_is_alac(info->format)) return TRUE;
  for (guint i = 0; i < chunks->items->len; i++) {
    const fc_chunk *chunk = &g_array_index(chunks->items, fc_chunk, i);
    if (memcmp(chunk->id, "pakt", 4) != 0 || chunk->size < (gint64)sizeof head) continue;
    gssize got = fc_input_read_at(input, chunk->offset, head, sizeof head, error);
    if (got < 0) return FALSE;
    gint64 frames =
        got == sizeof head ? (gint64)fc_chunk_get(fc_chunk_layout_of(FC_FAMILY_CAF), head + 8, 8) : 0;
    gint64 packet = (gint64)fc_chunks_number(input, chunks, "desc", PACKET_AT, 4);
    gboolean filled = packet && frames % packet == 0 && frames - length->frames < packet;
    if (frames <= length->frames || frames > FRAMES_MAX || filled) continue;
    length->frames = frames;
    length->certain = FALSE;
  }
  return TRUE;
}

/* AIFF counts its frames ahead of them, and libsndfile those that are there. */
static void count_aiff(fc_input *input, const fc_chunks *chunks, const SF_INFO *info,
                       fc_audio_length *length) {
  enum { FRAMES_AT = 2 };
  int subtype = info->format & SF_FORMAT_SUBMASK;
  if (chunks->family != FC_FAMILY_AIFF || subtype > SF_FORMAT_ALAW || length->frames == FC_UNKNOWN) return;
  guint64 said = fc_chunks_number(input, chunks, "COMM", FRAMES_AT, 4);
  gboolean made_up = fc_chunk_size_is_placeholder(said * (guint64)frame_bytes(info));
  if (made_up || said <= (guint64)length->frames) return;
  length->frames = (gint64)said;
  length->certain = FALSE;
}

/* Of samples in blocks libsndfile has all of the last one, and of GSM one more where the byte that makes its
 * size even could be the first of another. Writers say how many there are, in the last block; libsndfile
 * itself divides them by the channels. What else they say was not counted. */
static void leave_out_padding(fc_input *input, const fc_chunks *chunks, const SF_INFO *info, gint64 bytes,
                              fc_audio_length *length) {
  enum { BLOCK_BYTES = 12, SAMPLES_IN_BLOCK = 18 };
  int subtype = info->format & SF_FORMAT_SUBMASK;
  if (subtype != SF_FORMAT_IMA_ADPCM && subtype != SF_FORMAT_MS_ADPCM && subtype != SF_FORMAT_GSM610) return;
  gint64 block = (gint64)fc_chunks_number(input, chunks, "fmt ", SAMPLES_IN_BLOCK, 2),
         size = (gint64)fc_chunks_number(input, chunks, "fmt ", BLOCK_BYTES, 2);
  guint64 said = fc_chunks_number(input, chunks, "fact", 0, fc_chunk_layout_of(chunks->family)->size_bytes);
  if (subtype == SF_FORMAT_GSM610 && block && size)
    length->frames = MIN(length->frames, (bytes + size - 1) / size * block);
  gboolean divided = info->channels > 1 && said == (guint64)(length->frames / info->channels);
  if (said > 0 && said <= (guint64)length->frames && (gint64)said > length->frames - block && !divided)
    length->frames = (gint64)said;
}

static gboolean stands_one_by_one(int subtype) {
  gboolean plain = subtype >= SF_FORMAT_PCM_S8 && subtype <= SF_FORMAT_DOUBLE;
  return plain || subtype == SF_FORMAT_ULAW || subtype == SF_FORMAT_ALAW;
}

/* Some writers count what W64 is padded with to whole 8 bytes as samples, but not as frames. */
static void leave_out_alignment(fc_input *input, const fc_chunks *chunks, const SF_INFO *info, gint64 bytes,
                                fc_audio_length *length) {
  gint64 said = (gint64)fc_chunks_number(input, chunks, "fact", 0, 8);
  gboolean padded = chunks->family == FC_FAMILY_W64 && stands_one_by_one(info->format & SF_FORMAT_SUBMASK) &&
                    bytes % 8 == 0;
  if (padded && said > 0 && said < length->frames && bytes - said * frame_bytes(info) < 8)
    length->frames = said;
}

/* Of families whose sizes have 32 bits libsndfile is told as RF64 what does not fit, but of these two it
 * cannot be. */
static gboolean is_too_long(const fc_input *input, const fc_chunks *chunks) {
  const fc_chunk *samples = &g_array_index(chunks->items, fc_chunk, chunks->data);
  gint64 size = samples->size < 0 ? input->size - samples->offset : samples->size;
  return (chunks->family == FC_FAMILY_RIFX || chunks->family == FC_FAMILY_AIFF) && size > G_MAXUINT32;
}

static void compare_mpeg(fc_input *input, gint64 at, gint64 size, fc_audio_length *length) {
  if (fc_mpeg_goes_on(input, at, size)) length->remark = FC_AUDIO_GOES_ON;
}

static gboolean compare_chunks(fc_input *input, const fc_chunks *chunks, const SF_INFO *info,
                               fc_audio_length *length, GError **error) {
  if (chunks->data < 0) return TRUE;
  const fc_chunk *samples = &g_array_index(chunks->items, fc_chunk, chunks->data);
  length->certain = !fc_audio_is_mpeg(info->format);
  if (chunks->missing) {
    length->fault = g_strdup_printf("is cut off: %" G_GINT64_FORMAT " bytes are missing", chunks->missing);
    leave_out_padding(input, chunks, info, MIN(samples->size, input->size - samples->offset), length);
  } else if (is_too_long(input, chunks))
    length->fault = g_strdup(FC_AUDIO_TOO_LONG);
  else if (chunks->open_ended)
    length->remark = chunks->streamed ? NULL : TO_THE_END;
  else {
    cap_frames(info, samples->size, length);
    leave_out_padding(input, chunks, info, samples->size, length);
    leave_out_alignment(input, chunks, info, samples->size, length);
    count_aiff(input, chunks, info, length);
    if (fc_audio_is_mpeg(info->format)) compare_mpeg(input, samples->offset, samples->size, length);
    if (chunks->wrapped) length->remark = WRAPPED;
    if (chunks->several) length->remark = FC_AUDIO_SEVERAL;
    if (chunks->joined) length->remark = FC_AUDIO_GOES_ON;
  }
  return count_packets(input, chunks, info, length, error);
}

static void compare_au(fc_input *input, fc_audio_length *length) {
  gint64 offset, size;
  if (!fc_sound_front_au(input, &offset, &size)) return;
  length->certain = TRUE;
  gint64 missing = offset + size - input->size;
  if (size >= 0 && missing > 0)
    length->fault = g_strdup_printf("is cut off: %" G_GINT64_FORMAT " bytes are missing", missing);
  else if (size >= 0 && fc_input_goes_on(input, offset + size))
    length->remark = FC_AUDIO_GOES_ON;
}

/* A pipe has no size to compare with: the header is believed, unless what it says is
 * what writers put there who do not know. */
static void from_pipe(const fc_input *pipe, const SF_INFO *info, fc_audio_length *length) {
  fc_input front;
  fc_input_front(pipe, &front);
  g_autoptr(fc_chunks) chunks = fc_chunks_read(&front, NULL);
  gboolean made_up = chunks->open_ended;
  if (chunks->data < 0 && length->frames != FC_UNKNOWN)
    made_up = fc_chunk_size_is_placeholder((guint64)(info->frames * frame_bytes(info)));
  if (made_up) length->frames = FC_UNKNOWN;
  count_aiff(&front, chunks, info, length);
}

gboolean fc_audio_length_find(fc_input *input, const fc_chunks *chunks, const SF_INFO *info,
                              fc_audio_length *length, GError **error) {
  *length = (fc_audio_length){.frames = info->frames};
  if (info->frames < 0 || info->frames > FRAMES_MAX) length->frames = FC_UNKNOWN;
  if (!input->seekable) {
    from_pipe(input, info, length);
    return TRUE;
  }
  switch (info->format & SF_FORMAT_TYPEMASK) {
  case SF_FORMAT_OGG: return find_ogg_end(input, length, error);
  case SF_FORMAT_AU: compare_au(input, length); return TRUE;
  case SF_FORMAT_FLAC: return TRUE;
  case FC_SF_MPEG: compare_mpeg(input, 0, input->size, length); return fc_input_check(input, error);
  default: return compare_chunks(input, chunks, info, length, error);
  }
}
