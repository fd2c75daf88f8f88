/* SPDX-License-Identifier: MIT */
/*
 * audio_format.c - which samples a sound file holds, and which to store in a new one.
 */
#include "media/audio/audio.h"

#include <math.h>
#include <string.h>

/* One kind of samples. Kinds of a family stand in rising order of what they hold. */
typedef struct sample_kind {
  int subtype;
  int dtype, bits;
  const char *name;
  char item; /* of samples that are stored one by one (media/array/item.h), ... */
  int bytes;
  const char *option; /* ... and what options call them */
} sample_kind;

/* f32 and f64 carry what their mantissas do. Lossy codecs decode to f32. */
static const sample_kind kinds[] = {
    {SF_FORMAT_PCM_S8, FC_I16, 8, "8-bit", 'p', 1, "i8"},
    {SF_FORMAT_PCM_U8, FC_I16, 8, "8-bit", 'o', 1, "u8"},
    {SF_FORMAT_PCM_16, FC_I16, 16, "16-bit", 'i', 2, "i16"},
    {SF_FORMAT_PCM_24, FC_I32, 24, "24-bit", 'p', 3, "i24"},
    {SF_FORMAT_PCM_32, FC_I32, 32, "32-bit", 'i', 4, "i32"},
    {SF_FORMAT_FLOAT, FC_F32, 24, "float", 'f', 4, "f32"},
    {SF_FORMAT_DOUBLE, FC_F64, 53, "double", 'f', 8, "f64"},
    {SF_FORMAT_ULAW, FC_F32, 24, "u-law", 'm', 1, NULL},
    {SF_FORMAT_ALAW, FC_F32, 24, "A-law", 'a', 1, NULL},
    {SF_FORMAT_ALAC_16, FC_I16, 16, "16-bit ALAC", 0, 0, NULL},
    {SF_FORMAT_ALAC_20, FC_I32, 20, "20-bit ALAC", 0, 0, NULL},
    {SF_FORMAT_ALAC_24, FC_I32, 24, "24-bit ALAC", 0, 0, NULL},
    {SF_FORMAT_ALAC_32, FC_I32, 32, "32-bit ALAC", 0, 0, NULL},
    {SF_FORMAT_DWVW_12, FC_I16, 12, "12-bit DWVW", 0, 0, NULL},
    {SF_FORMAT_DWVW_16, FC_I16, 16, "16-bit DWVW", 0, 0, NULL},
    {SF_FORMAT_DWVW_24, FC_I32, 24, "24-bit DWVW", 0, 0, NULL},
    {SF_FORMAT_VORBIS, FC_F32, 24, "Vorbis", 0, 0, NULL},
    {SF_FORMAT_OPUS, FC_F32, 24, "Opus", 0, 0, NULL},
    {FC_SF_MPEG_LAYER_III, FC_F32, 24, "MP3", 0, 0, NULL},
};

static const sample_kind lossy = {0, FC_F32, 24, "compressed", 0, 0, NULL};

static const sample_kind *kind_of(int format) {
  for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
    if (kinds[i].subtype == (format & SF_FORMAT_SUBMASK)) return &kinds[i];
  return &lossy;
}

fc_audio_samples fc_audio_samples_of(int format) {
  const sample_kind *kind = kind_of(format);
  return (fc_audio_samples){format, kind->dtype, kind->bits};
}

const fc_item *fc_audio_item_of(int format) {
  const sample_kind *kind = kind_of(format);
  return kind->item ? fc_item_find(kind->item, kind->bytes) : NULL;
}

gboolean fc_audio_is_pcm(int format) {
  const fc_item *item = fc_audio_item_of(format);
  return item && item->kind != 'm' && item->kind != 'a';
}

int fc_audio_integers(int bytes) {
  static const int integers[] = {0, SF_FORMAT_PCM_S8, SF_FORMAT_PCM_16, SF_FORMAT_PCM_24, SF_FORMAT_PCM_32};
  return bytes >= 0 && bytes < (int)G_N_ELEMENTS(integers) ? integers[bytes] : 0;
}

int fc_audio_subtype_named(const char *name) {
  for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
    if (name && g_strcmp0(kinds[i].option, name) == 0) return kinds[i].subtype;
  return 0;
}

const char *fc_audio_samples_name(int format) {
  return kind_of(format)->name;
}

/* ---- choosing ---------------------------------------------------------- */

/* What to try, best first, for samples of a kind. 0 ends. */
static const int for_8[] = {SF_FORMAT_PCM_U8, SF_FORMAT_PCM_S8, SF_FORMAT_PCM_16, 0};
static const int for_16[] = {SF_FORMAT_PCM_16, SF_FORMAT_PCM_24, 0};
static const int for_24[] = {SF_FORMAT_PCM_24, SF_FORMAT_PCM_32, SF_FORMAT_PCM_16, 0};
static const int for_32[] = {SF_FORMAT_PCM_32, SF_FORMAT_PCM_24, SF_FORMAT_PCM_16, 0};
static const int for_float[] = {SF_FORMAT_FLOAT, SF_FORMAT_PCM_24, SF_FORMAT_PCM_16, 0};
static const int for_double[] = {SF_FORMAT_DOUBLE, SF_FORMAT_FLOAT, SF_FORMAT_PCM_24, SF_FORMAT_PCM_16, 0};

static const int *list_for_bits(int bits) {
  return bits <= 8 ? for_8 : bits <= 16 ? for_16 : bits <= 24 ? for_24 : for_32;
}

/* What is decoded from a lossy codec is worth 16 bits. */
static const int *list_for(int like, const fc_format *format) {
  if (like) {
    const sample_kind *kind = kind_of(like);
    if (kind->dtype == FC_F64) return for_double;
    if ((like & SF_FORMAT_SUBMASK) == SF_FORMAT_FLOAT) return for_float;
    return fc_dtype_is_float(kind->dtype) ? for_16 : list_for_bits(kind->bits);
  }
  switch (format->dtype) {
  case FC_F64: return for_double;
  case FC_F32: return for_float;
  case FC_U8: return for_8;
  case FC_I32: return list_for_bits(format->bits > 16 ? format->bits : 32);
  default: return for_16;
  }
}

/* The codec that goes with a container which holds only such; 0: any. */
static int codec_of(const fc_file_format *file, int like) {
  if (strcmp(file->name, "opus") == 0) return SF_FORMAT_OPUS;
  if (file->sndfile == FC_SF_MPEG) return FC_SF_MPEG_LAYER_III;
  if (file->sndfile != SF_FORMAT_OGG) return 0;
  return (like & SF_FORMAT_TYPEMASK) == SF_FORMAT_OGG ? like & SF_FORMAT_SUBMASK : SF_FORMAT_VORBIS;
}

static gboolean is_mpeg(int format) {
  int subtype = format & SF_FORMAT_SUBMASK;
  return subtype >= FC_SF_MPEG_LAYER_I && subtype <= FC_SF_MPEG_LAYER_III;
}

gboolean fc_audio_is_alac(int format) {
  int subtype = format & SF_FORMAT_SUBMASK;
  return subtype >= SF_FORMAT_ALAC_16 && subtype <= SF_FORMAT_ALAC_32;
}

/* ALAC is not written: of packets of 16 KB and more, as 24 bits or noise make them, libsndfile writes the
 * table beyond its memory; and the packets into a file in the folder for temporary ones, which stays there
 * when we are ended, and without which it crashes. Its samples can be made again as PCM. */
static gboolean holds(int format, const SF_INFO *wanted) {
  /* libsndfile says that WAV does, and cannot write it */
  if (is_mpeg(format) && (format & SF_FORMAT_TYPEMASK) != FC_SF_MPEG) return FALSE;
  if (fc_audio_is_alac(format)) return FALSE;
  SF_INFO info = *wanted;
  info.format = format;
  return sf_format_check(&info);
}

/* Opus and MP3 are bound to few rates, which sf_format_check does not know. */
static gboolean rate_fits(int format, int rate) {
  static const int opus[] = {8000, 12000, 16000, 24000, 48000},
                   mp3[] = {8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100, 48000};
  const gboolean is_opus = (format & SF_FORMAT_SUBMASK) == SF_FORMAT_OPUS;
  const int *rates = is_opus ? opus : mp3;
  gsize i = is_opus ? G_N_ELEMENTS(opus) : is_mpeg(format) ? G_N_ELEMENTS(mp3) : 0;
  if (!i) return TRUE;
  while (i && rates[i - 1] != rate) i--;
  return i > 0;
}

/* Why no sample format was found: the channels, or the rate. */
static gboolean fail_unfit(const char *name, const fc_file_format *file, int format, const SF_INFO *wanted,
                           GError **error) {
  SF_INFO one = *wanted;
  /* libsndfile takes no more in any format. */
  const char *other = wanted->channels > 1024 || file->sndfile == SF_FORMAT_WAV ? ".npy" : ".wav or .npy";
  one.channels = 1;
  if (!rate_fits(format, wanted->samplerate))
    return fc_fail(error, FC_INVALID, "%s: %s Hz, not %d; use .ogg or .flac", name,
                   is_mpeg(format)
                       ? "MP3 takes 8000, 11025, 12000, 16000, 22050, 24000, 32000, 44100 or 48000"
                       : "Opus takes 8000, 12000, 16000, 24000 or 48000",
                   wanted->samplerate);
  if (wanted->channels > 1 && holds(format, &one))
    return fc_fail(error, FC_INVALID, "%s: %s does not hold %d channels; use %s", name, file->title,
                   wanted->channels, other);
  return fc_fail(error, FC_INVALID, "%s: %s does not hold %d channels at %d Hz; use %s", name, file->title,
                 wanted->channels, wanted->samplerate, other);
}

/* Unsigned bytes make of AIFF a variant that few programs read. */
static int as_is_usual(int subtype, const fc_file_format *file, int like) {
  gboolean odd = subtype == SF_FORMAT_PCM_U8 && file->sndfile == SF_FORMAT_AIFF;
  return odd && (like & SF_FORMAT_TYPEMASK) != SF_FORMAT_AIFF ? SF_FORMAT_PCM_S8 : subtype;
}

static int first_held(int major, const int *list, const SF_INFO *wanted) {
  for (; *list; list++)
    if (holds(major | *list, wanted)) return *list;
  return 0;
}

static gboolean check_format(const char *name, const fc_file_format *file, const fc_format *format,
                             GError **error) {
  if (format->kind != FC_AUDIO)
    return fc_fail(error, FC_INVALID, "%s: %s cannot be stored as sound; use .npy%s", name,
                   format->kind == FC_IMAGE ? "an image" : "an array",
                   format->kind == FC_IMAGE ? " or .png" : "");
  if (format->rate >= 1e9)
    return fc_fail(error, FC_INVALID, "%s: %s does not hold a sample rate of %g Hz; use .npy or .raw", name,
                   file->title, format->rate);
  if (!(format->rate >= 0.5))
    return fc_fail(error, FC_INVALID, "%s: the sample rate is not known, which %s needs; use .npy or .raw",
                   name, file->title);
  if (format->extent[FC_AXIS_C] < 1 || format->extent[FC_AXIS_C] > 65535)
    return fc_fail(error, FC_INVALID, "%s: %s does not hold %" G_GINT64_FORMAT " channels; use .npy", name,
                   file->title, format->extent[FC_AXIS_C]);
  return TRUE;
}

/* Vorbis and Opus are encoded from floats; the older codecs from 16 bits, which is
 * what they compress, and because libsndfile reads beyond its tables when a float
 * exceeds full scale. */
static fc_audio_samples stored_as(int format) {
  fc_audio_samples samples = fc_audio_samples_of(format);
  int subtype = format & SF_FORMAT_SUBMASK;
  gboolean floats = subtype == SF_FORMAT_FLOAT || subtype == SF_FORMAT_DOUBLE ||
                    subtype == SF_FORMAT_VORBIS || subtype == SF_FORMAT_OPUS || is_mpeg(format);
  if (fc_dtype_is_float(samples.dtype) && !floats) samples.dtype = FC_I16, samples.bits = 16;
  return samples;
}

gboolean fc_audio_choose(const char *name, const fc_file_format *file, const fc_format *format, int like,
                         int asked, fc_audio_samples *chosen, GError **error) {
  if (!check_format(name, file, format, error)) return FALSE;
  SF_INFO wanted = {.samplerate = (int)lrint(format->rate), .channels = (int)format->extent[FC_AXIS_C]};
  int codec = codec_of(file, like);
  int subtype = codec ? codec : asked ? asked : like & SF_FORMAT_SUBMASK;
  if (asked && !codec && !holds(file->sndfile | asked, &wanted))
    return fc_fail(error, FC_INVALID, "%s: %s does not hold %s samples", name, file->title,
                   fc_audio_samples_name(asked));
  if (!subtype || !holds(file->sndfile | subtype, &wanted))
    subtype = codec ? 0 : first_held(file->sndfile, list_for(like, format), &wanted);
  subtype = as_is_usual(subtype, file, like);
  int format_of = file->sndfile | (subtype ? subtype : codec ? codec : SF_FORMAT_PCM_16);
  if (!subtype || !rate_fits(format_of, wanted.samplerate))
    return fail_unfit(name, file, format_of, &wanted, error);
  *chosen = stored_as(format_of);
  return TRUE;
}

gboolean fc_audio_is_moved(const fc_audio_spec *spec) {
  const fc_tags *tags = spec->tags;
  gboolean shorter = spec->frames != FC_UNKNOWN && tags->frames != FC_UNKNOWN && spec->frames < tags->frames;
  return tags->rate != spec->rate || spec->unrelated || spec->lead != 0 || shorter;
}

/* Chapters and cue sheets of comments count time, and the time reference of bext counts frames. */
gboolean fc_audio_move_text(const fc_audio_spec *spec, fc_tag_text *text, char **own) {
  const char *name = text->name ? text->name : "";
  const gboolean clock = g_ascii_strcasecmp(name, FC_TIME_REFERENCE) == 0;
  const gboolean counts = (g_ascii_strncasecmp(name, "CHAPTER", 7) == 0 && g_ascii_isdigit(name[7])) ||
                          g_ascii_strcasecmp(name, "CUESHEET") == 0;
  guint64 frames;
  *own = NULL;
  if (!(clock || counts) || !fc_audio_is_moved(spec)) return TRUE;
  if (clock && spec->tags->rate == spec->rate && !spec->unrelated &&
      g_ascii_string_to_unsigned(text->value, 10, 0, G_MAXINT64, &frames, NULL) &&
      (gint64)frames + spec->lead >= 0) {
    text->value = *own = g_strdup_printf("%" G_GINT64_FORMAT, (gint64)frames + spec->lead);
    text->size = strlen(*own);
    return TRUE;
  }
  fc_media_add_word(spec->lost, fc_tag_text_title(text));
  return FALSE;
}
