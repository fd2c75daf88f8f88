/* SPDX-License-Identifier: MIT */
/*
 * audio_in.c - sound files through libsndfile, in the element type in which their
 * samples are exact: libsndfile's own conversions change values, and none is used.
 *
 * libsndfile says nothing of a file that was cut off. Chunked files are compared
 * with their headers at opening; for the others a short read is noticed; an Ogg
 * stream ends with a page that says so.
 */
#include "media/audio/audio.h"

#include <string.h>

#include "media/audio/audio_length.h"
#include "media/audio/channel_order.h"
#include "media/audio/chunks.h"
#include "media/audio/flac_end.h"
#include "media/audio/mpeg_front.h"
#include "media/audio/ogg_pipe.h"
#include "media/audio/sound_front.h"
#include "media/audio/sound_view.h"
#include "media/file/warn.h"

/* So much at most is lost of what is there of MPEG that is damaged. */
#define MPEG_PIECE 32

typedef struct audio_source {
  fc_source base;
  fc_input *input;
  fc_media_options options; /* its strings are not used after opening */
  fc_chunks *chunks;        /* of a seekable file, else NULL */
  fc_sound_view *view;      /* or NULL */
  fc_ogg_pipe *ogg;         /* or NULL */
  SNDFILE *file;
  SF_INFO info;
  const fc_channel_order *order; /* or NULL */
  gint64 position;
  gint64 promised; /* frames that the file said it has; FC_UNKNOWN */
  gboolean cut_told, damage_told, remark_told, behind_told;
} audio_source;

static gboolean is_mpeg(const audio_source *source) {
  return fc_audio_is_mpeg(source->info.format);
}

static gint64 read_some(audio_source *source, void *to, gint64 count) {
  if (source->view) fc_sound_view_allow(source->view, count * source->info.channels);
  switch (source->base.format.dtype) {
  case FC_I16: return sf_readf_short(source->file, to, count);
  case FC_I32: return sf_readf_int(source->file, to, count);
  case FC_F32: return sf_readf_float(source->file, to, count);
  default: return sf_readf_double(source->file, to, count);
  }
}

/* Of what is read at once libsndfile delivers nothing where MPEG turns out to be damaged in it: so little of
 * it is read at once. */
static gint64 read_frames(audio_source *source, void *to, gint64 count) {
  gint64 done = 0, some, got;
  gsize size = fc_dtype_size(source->base.format.dtype) * (gsize)source->info.channels;
  do {
    some = is_mpeg(source) ? MIN(MPEG_PIECE, count - done) : count;
    got = read_some(source, (char *)to + (gsize)done * size, some);
    done += MAX(got, 0);
  } while (got == some && done < count); /* what is wrong is said by the read that met it alone */
  return done;
}

/* A file that is not whole is refused, or taken with a warning. */
static gboolean judge(audio_source *source, const char *fault, GError **error) {
  if (!source->options.allow_truncated)
    return fc_fail(error, FC_IO, "%s: %s" FC_MEDIA_ADVICE, source->base.name, fault);
  fc_media_warn(&source->options, "%s: %s; what is there is taken", source->base.name, fault);
  source->behind_told = TRUE; /* where its end is nobody knows */
  return TRUE;
}

/* What libsndfile thinks of damaged MPEG is no help. */
static char *fault_of(const audio_source *source, int problem) {
  if (problem && is_mpeg(source))
    return g_strdup_printf("is cut off or damaged after frame %" G_GINT64_FORMAT, source->position);
  if (problem)
    return g_strdup_printf("is damaged after frame %" G_GINT64_FORMAT " (%s)", source->position,
                           sf_error_number(problem));
  return g_strdup_printf("is cut off: it ends after %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " frames",
                         source->position, source->promised);
}

/* The end, or a fault: which of them, and whether it will be taken. */
static gboolean end_well(audio_source *source, GError **error) {
  int problem = sf_error(source->file);
  gboolean whole = TRUE;
  if (source->ogg && !fc_ogg_pipe_check(source->ogg, &whole, error)) return FALSE;
  if (!whole && !source->cut_told) {
    source->cut_told = TRUE; /* the end may be asked for again */
    return judge(source, FC_OGG_CUT, error);
  }
  g_autofree char *damage =
      source->ogg && !source->input->seekable && !source->damage_told ? fc_ogg_pipe_fault(source->ogg) : NULL;
  if (damage) {
    source->damage_told = TRUE;
    return judge(source, damage, error);
  }
  const char *remark = source->ogg && !source->remark_told ? fc_ogg_pipe_remark(source->ogg) : NULL;
  if (remark) {
    source->remark_told = TRUE;
    fc_media_warn(&source->options, "%s: %s", source->base.name, remark);
  }
  gboolean early = source->promised != FC_UNKNOWN && source->position < source->promised;
  if (is_mpeg(source) && source->position == 0)
    return fc_fail(error, FC_IO, "%s: cannot be read as MP3: nothing in it can be decoded",
                   source->base.name);
  if (!problem && !early) return TRUE;
  g_autofree char *what = fault_of(source, problem);
  if (!judge(source, what, error)) return FALSE;
  source->promised = source->position;
  return TRUE;
}

/* Of files it is known when they are opened, but of FLAC. */
static gboolean goes_on(audio_source *source) {
  gboolean flac = (source->info.format & SF_FORMAT_TYPEMASK) == SF_FORMAT_FLAC;
  return flac ? fc_flac_goes_on(source->input, fc_sound_view_reached(source->view))
              : fc_sound_view_goes_on(source->view);
}

/* At the end of the samples: what comes behind them is not taken. */
static gboolean look_behind(audio_source *source, GError **error) {
  if (!source->view || source->behind_told) return TRUE;
  source->behind_told = TRUE;
  if (!source->input->seekable && fc_sound_view_has_more_samples(source->view))
    fc_media_warn(&source->options, "%s: " FC_AUDIO_SEVERAL, source->base.name);
  if (!goes_on(source))
    return fc_input_check(source->input, error) && fc_sound_view_check(source->view, error);
  if (fc_sound_view_is_open(source->view)) return judge(source, FC_AUDIO_TOO_LONG, error);
  fc_media_warn(&source->options, "%s: " FC_AUDIO_GOES_ON, source->base.name);
  return TRUE;
}

static gint64 audio_read(fc_source *base, const fc_view *into, GError **error) {
  audio_source *source = (audio_source *)base;
  gint64 wanted = into->shape[FC_AXIS_X], got = 0;
  if (source->promised != FC_UNKNOWN) wanted = MIN(wanted, source->promised - source->position);
  if (wanted > 0) got = read_frames(source, into->data, wanted);
  if (got < 0) got = 0;
  if (source->order) fc_channel_order_undo(source->order, into->data, got);
  source->position += got;
  if (!fc_input_check(source->input, error)) return -1;
  if (source->view && !fc_sound_view_check(source->view, error)) return -1;
  if (got < wanted && !end_well(source, error)) return -1;
  gboolean all = got < wanted || source->position == source->promised;
  return all && !look_behind(source, error) ? -1 : got;
}

static void audio_free(fc_source *base) {
  audio_source *source = (audio_source *)base;
  if (source->file) sf_close(source->file);
  fc_sound_view_free(source->view);
  fc_chunks_free(source->chunks);
  fc_ogg_pipe_free(source->ogg);
  fc_input_free(source->input);
  g_free(source->base.name);
  g_free(source);
}

SNDFILE *fc_audio_source_file(fc_source *source) {
  return source && source->read == audio_read ? ((audio_source *)source)->file : NULL;
}

int fc_audio_source_format(fc_source *source) {
  return source && source->read == audio_read ? ((audio_source *)source)->info.format : 0;
}

fc_input *fc_audio_source_input(fc_source *source) {
  return source && source->read == audio_read ? ((audio_source *)source)->input : NULL;
}

fc_ogg_pipe *fc_audio_source_ogg(fc_source *source) {
  return source && source->read == audio_read ? ((audio_source *)source)->ogg : NULL;
}

const fc_chunks *fc_audio_source_chunks(fc_source *source) {
  return source && source->read == audio_read ? ((audio_source *)source)->chunks : NULL;
}

/* libsndfile reads these from a pipe; the others seek, but for Ogg, which has a way of its own. */
static gboolean streams(const fc_file_format *format) {
  static const char *const names[] = {"wav", "aiff", "au"};
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++)
    if (strcmp(format->name, names[i]) == 0) return TRUE;
  return FALSE;
}

static gboolean fail_open(audio_source *source, const fc_file_format *format, GError **error) {
  if (!fc_input_check(source->input, error)) return FALSE;
  if (source->view && !fc_sound_view_check(source->view, error)) return FALSE;
  if (!source->view && !source->ogg)
    return fc_fail(error, FC_NO_MEMORY, "%s: no memory for what is ahead of its samples", source->base.name);
  if (source->chunks && source->chunks->data < 0 && source->chunks->more)
    return fc_fail(error, FC_UNSUPPORTED, "%s: holds more than %u chunks ahead of its samples",
                   source->base.name, source->chunks->items->len);
  g_autofree char *its = g_strdup(sf_strerror(NULL));
  g_strdelimit(its, "\r\n", ' ');
  while (*its && strchr(". ", its[strlen(its) - 1])) its[strlen(its) - 1] = 0;
  const char *why = its;
  /* Which it says of an MP3 file without a frame. */
  if (g_str_has_prefix(its, "File does not exist")) why = "nothing in it can be decoded";
  if (strstr(its, "SF_INFO struct incomplete")) why = "its header gives no sample rate, or no channels";
  gboolean cut = source->chunks && source->chunks->missing > 0;
  return fc_fail(error, FC_IO, "%s: %scannot be read as %s: %s", source->base.name,
                 cut ? "is cut off, and " : "", format->title, why);
}

static gboolean open_ogg_pipe(audio_source *source, const fc_file_format *format, GError **error) {
  source->ogg = fc_ogg_pipe_new(source->input);
  source->file = sf_open_virtual(&fc_ogg_pipe_vio, SFM_READ, &source->info, source->ogg);
  return source->file || fail_open(source, format, error);
}

static gboolean open_view(audio_source *source, fc_sound_end end) {
  gboolean pipe = !source->input->seekable;
  if (source->file) sf_close(g_steal_pointer(&source->file));
  fc_sound_view_free(source->view);
  fc_sound_view *view = source->view =
      pipe ? fc_sound_view_of_pipe(source->input) : fc_sound_view_new(source->input, source->chunks, end);
  memset(&source->info, 0, sizeof source->info);
  if (!view) return FALSE;
  fc_sound_view_allow(view, 0);
  source->file = sf_open_virtual(&fc_sound_view_vio, SFM_READ, &source->info, view);
  if (!fc_sound_view_check(view, NULL)) g_clear_pointer(&source->file, sf_close);
  return source->file != NULL;
}

/* Where no header says how long it is, libmpg123 guesses by the file's size and its first frames, and
 * libsndfile delivers no more than that: of a stream whose first frames are large, a part. To one that cannot
 * be guessed at, only the end says it; then the guess is made of so large a size that it is never too short.
 */
static gboolean open_mpeg(audio_source *source, const fc_file_format *format, GError **error) {
  gboolean opened = open_view(source, FC_SOUND_NO_END);
  gboolean told = opened && source->info.frames < SF_COUNT_MAX;
  opened = opened && open_view(source, told ? FC_SOUND_END : FC_SOUND_FAR_END);
  if (!told) source->info.frames = SF_COUNT_MAX;
  return opened ? fc_input_check(source->input, error) : fail_open(source, format, error);
}

/* A pipe is kept where not all that is ahead of the samples was seen, and where libsndfile needs more than
 * what comes next. */
static gboolean must_be_kept(const fc_input *input, const fc_file_format *format) {
  return !streams(format) || !fc_chunks_front_is_there(input) || !fc_sound_front_is_plain(input);
}

static gboolean open_file(audio_source *source, const fc_file_format *format, GError **error) {
  fc_input *input = source->input;
  gboolean pages = format->sndfile == SF_FORMAT_OGG && memcmp(input->head, "OggS", 4) == 0;
  if (pages && (!input->seekable || fc_ogg_is_chain(input))) return open_ogg_pipe(source, format, error);
  if (must_be_kept(input, format) && !fc_input_make_seekable(input, error)) return FALSE;
  if (input->seekable && !(source->chunks = fc_chunks_read(input, error))) return FALSE;
  if (format->sndfile == FC_SF_MPEG)
    return fc_mpeg_begins(input) ? open_mpeg(source, format, error)
                                 : fc_fail(error, FC_IO, "%s: is not an MP3 file", input->name);
  gboolean opened = open_view(source, FC_SOUND_END);
  if (opened && is_mpeg(source)) return open_mpeg(source, format, error);
  return opened ? fc_input_check(input, error) : fail_open(source, format, error);
}

static gboolean find_length(audio_source *source, GError **error) {
  fc_audio_length length;
  gboolean found = fc_audio_length_find(source->input, source->chunks, &source->info, &length, error);
  g_autofree char *fault = length.fault;
  if (!found) return FALSE;
  if (fault && !judge(source, fault, error)) return FALSE;
  if (length.remark) fc_media_warn(&source->options, "%s: %s", source->base.name, length.remark);
  source->remark_told = length.remark != NULL;
  if (source->view && fc_sound_view_is_open(source->view)) length.frames = FC_UNKNOWN;
  source->promised = length.frames;
  /* What the file promises may still not be there; only a known end can be announced. */
  source->base.format.extent[FC_AXIS_X] =
      source->options.allow_truncated && !length.certain ? FC_UNKNOWN : length.frames;
  return TRUE;
}

static void set_format(audio_source *source) {
  fc_audio_samples samples = fc_audio_samples_of(source->info.format);
  source->order = fc_channel_order_in(source->input, source->info.format, source->info.channels);
  source->base.format = (fc_format){.size = sizeof(fc_format),
                                    .kind = FC_AUDIO,
                                    .dtype = samples.dtype,
                                    .bits = samples.bits,
                                    .layout = FC_INTERLEAVED,
                                    .extent = {1, 1, FC_UNKNOWN, source->info.channels},
                                    .rate = source->info.samplerate};
}

fc_source *fc_audio_open(fc_input *input, const fc_file_format *format, const fc_media_options *options,
                         GError **error) {
  audio_source *source = g_new0(audio_source, 1);
  source->base.read = audio_read;
  source->base.free = audio_free;
  source->base.name = g_strdup(input->name);
  source->input = input;
  source->options = *options;
  if (!open_file(source, format, error)) goto failed;
  set_format(source);
  if (!find_length(source, error)) goto failed;
  /* Of a sound without samples nothing is read. */
  if (!input->seekable && source->promised == 0 && !look_behind(source, error)) goto failed;
  return &source->base;

failed:
  audio_free(&source->base);
  return NULL;
}
