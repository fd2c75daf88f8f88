/* SPDX-License-Identifier: MIT */
/* formats.c - see formats.h. */
#include "media/file/formats.h"

#include <sndfile.h>
#include <string.h>

#include "media/file/media.h"

/* The build defines the version of each library: FC_LIB_SNDFILE is "libsndfile 1.2.0". Formats without a
 * library are read by our own code. */
#define OWN "filterchain " FC_VERSION
#ifdef FC_WITH_TURBOJPEG
#define JPEG_READER FC_LIB_TURBOJPEG
#define JPEG_WRITER FC_LIB_TURBOJPEG
#else
#define JPEG_READER FC_LIB_STB
#define JPEG_WRITER FC_LIB_STB_WRITE
#endif
#ifdef FC_WITH_SPNG
#define PNG_READER FC_LIB_SPNG
#else
#define PNG_READER FC_LIB_STB
#endif

#define SOUND  fc_audio_open, fc_audio_create
#define IMAGE  fc_image_open, fc_image_create
#define CODECS FC_LIB_SNDFILE, FC_LIB_SNDFILE
/* Our own code reads PCM and floats, the library coded samples. */
#define PCM OWN " and " FC_LIB_SNDFILE, OWN " and " FC_LIB_SNDFILE

static const fc_file_format formats[] = {
    {"wav", "WAV", "wav wave bwf", SF_FORMAT_WAV, SOUND, PCM, NULL, fc_wav_writing},
    {"rf64", "RF64", "rf64", SF_FORMAT_RF64, SOUND, PCM, NULL, fc_wav_writing},
    {"w64", "W64", "w64", SF_FORMAT_W64, SOUND, PCM, NULL, fc_wav_writing},
    {"aiff", "AIFF", "aiff aif aifc", SF_FORMAT_AIFF, SOUND, PCM, NULL, fc_pcm_writing},
    {"au", "AU", "au snd", SF_FORMAT_AU, SOUND, PCM, NULL, fc_pcm_writing},
    {"flac", "FLAC", "flac", SF_FORMAT_FLAC, SOUND, CODECS, NULL, fc_flac_writing},
    {"caf", "CAF", "caf", SF_FORMAT_CAF, SOUND, PCM, NULL, fc_pcm_writing},
    {"ogg", "Ogg", "ogg oga", SF_FORMAT_OGG, SOUND, CODECS, NULL, fc_ogg_writing},
    {"opus", "Opus", "opus", SF_FORMAT_OGG, SOUND, CODECS, NULL, fc_opus_writing},
    {"mp3", "MP3", "mp3", FC_SF_MPEG, SOUND, FC_LIB_MPG123, FC_LIB_SNDFILE, NULL, fc_mp3_writing},
    {"png", "PNG", "png", 0, IMAGE, PNG_READER, OWN, fc_image_reading, fc_png_writing},
    {"jpg", "JPEG", "jpg jpeg jpe jfif", 0, IMAGE, JPEG_READER, JPEG_WRITER, fc_jpeg_reading,
     fc_jpeg_writing},
#ifdef FC_WITH_WEBP
    {"webp", "WebP", "webp", 0, IMAGE, FC_LIB_WEBP, FC_LIB_WEBP, fc_image_reading, fc_webp_writing},
#endif
#ifdef FC_WITH_TIFF
    {"tiff", "TIFF", "tiff tif", 0, IMAGE, FC_LIB_TIFF, FC_LIB_TIFF, fc_image_reading, fc_tiff_writing},
#endif
    {"bmp", "BMP", "bmp dib", 0, IMAGE, FC_LIB_STB, FC_LIB_STB_WRITE, NULL, NULL},
    {"tga", "TGA", "tga", 0, IMAGE, FC_LIB_STB, FC_LIB_STB_WRITE, NULL, NULL},
    {"npy", ".npy", "npy", 0, fc_npy_open, fc_array_create, OWN, OWN, NULL, NULL},
    {"raw", "raw", "raw pcm", 0, fc_raw_open, fc_array_create, OWN, OWN, fc_raw_reading, NULL},
};

static gboolean has_word(const char *words, const char *word) {
  gsize length = strlen(word);
  for (const char *at = words;; at++) {
    if (g_ascii_strncasecmp(at, word, length) == 0 && (at[length] == ' ' || !at[length])) return TRUE;
    at = strchr(at, ' ');
    if (!at) return FALSE;
  }
}

static const fc_file_format *find(const char *word, gboolean by_name) {
  for (gsize i = 0; i < G_N_ELEMENTS(formats); i++)
    if (has_word(formats[i].extensions, word) || (by_name && strcmp(formats[i].name, word) == 0))
      return &formats[i];
  return NULL;
}

const fc_file_format *fc_format_by_name(const char *name) {
  return *name ? find(name, TRUE) : NULL;
}

const char *fc_extension_of(const char *path) {
  const char *slash = strrchr(path, '/');
  const char *dot = strrchr(slash ? slash : path, '.');
  return dot && dot[1] ? dot + 1 : NULL;
}

const fc_file_format *fc_format_by_extension(const char *path) {
  const char *extension = fc_extension_of(path);
  return extension ? find(extension, FALSE) : NULL;
}

gboolean fc_format_is_foreign_picture(const char *path) {
  const char *extension = fc_extension_of(path);
  return extension && has_word("gif heic heif avif jp2 j2k jxl pbm pgm ppm pnm pam", extension);
}

char *fc_format_names(void) {
  GString *list = g_string_new(NULL);
  for (gsize i = 0; i < G_N_ELEMENTS(formats); i++)
    g_string_append_printf(list, "%s%s", list->len ? ", " : "", formats[i].name);
  return g_string_free(list, FALSE);
}

fc_file_format_info *fc_file_formats(gsize *count) {
  fc_file_format_info *infos = g_new0(fc_file_format_info, G_N_ELEMENTS(formats));
  for (gsize i = 0; i < G_N_ELEMENTS(formats); i++) {
    const fc_file_format *f = &formats[i];
    infos[i] =
        (fc_file_format_info){f->name, f->title, f->extensions, f->reader, f->writer, f->reading, f->writing};
  }
  *count = G_N_ELEMENTS(formats);
  return infos;
}
