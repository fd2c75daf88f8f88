/* SPDX-License-Identifier: MIT */
/*
 * probe.c - which kind of file: the signatures of supported formats, and of common formats that are not
 * supported, so that the message can say what the file is and what to do.
 */
#include "media/audio/id3.h"
#include "media/file/formats.h"

#include <sndfile.h>
#include <string.h>

/* A signature: bytes at an offset. */
typedef struct file_mark {
  const char *bytes;
  guint8 size, at;
  const char *format; /* a name in the table above, or NULL */
  const char *what;   /* of unsupported files: what it is, and what to do */
  const char *second; /* bytes that must also be there, at `second_at`; or NULL */
  guint8 second_at;
} file_mark;

static const file_mark marks[] = {
    {"RIFF", 4, 0, "wav", NULL, "WAVE", 8},
    {"RIFX", 4, 0, "wav", NULL, "WAVE", 8},
    {"RF64", 4, 0, "rf64", NULL, "WAVE", 8},
    {"riff\x2e\x91\xcf\x11", 8, 0, "w64", NULL, NULL, 0},
    {"FORM", 4, 0, "aiff", NULL, "AIFF", 8},
    {"FORM", 4, 0, "aiff", NULL, "AIFC", 8},
    {".snd", 4, 0, "au", NULL, NULL, 0},
    {"dns.", 4, 0, "au", NULL, NULL, 0},
    {"fLaC", 4, 0, "flac", NULL, NULL, 0},
    {"caff", 4, 0, "caf", NULL, NULL, 0},
    {"OggS", 4, 0, NULL, "FLAC in Ogg; convert it to FLAC", "\177FLAC", 28},
    {"OggS", 4, 0, "ogg", NULL, NULL, 0},
    {"ID3", 3, 0, "mp3", NULL, NULL, 0},
    {"\xff\xfb", 2, 0, "mp3", NULL, NULL, 0},
    {"\xff\xfa", 2, 0, "mp3", NULL, NULL, 0},
    {"\xff\xf3", 2, 0, "mp3", NULL, NULL, 0},
    {"\xff\xf2", 2, 0, "mp3", NULL, NULL, 0},
    {"\xff\xe3", 2, 0, "mp3", NULL, NULL, 0},
    {"\xff\xe2", 2, 0, "mp3", NULL, NULL, 0},
    {"\x89PNG\r\n\x1a\n", 8, 0, "png", NULL, NULL, 0},
    {"\xff\xd8\xff", 3, 0, "jpg", NULL, NULL, 0},
    {"BM", 2, 0, "bmp", NULL, NULL, 0},
    {"\x93NUMPY", 6, 0, "npy", NULL, NULL, 0},
    {"GIF8", 4, 0, NULL, "a GIF image; convert it to PNG", NULL, 0},
#ifdef FC_WITH_TIFF
    {"II*\0", 4, 0, "tiff", NULL, NULL, 0},
    {"MM\0*", 4, 0, "tiff", NULL, NULL, 0},
    {"II+\0", 4, 0, "tiff", NULL, NULL, 0}, /* BigTIFF, which its reader refuses by name */
    {"MM\0+", 4, 0, "tiff", NULL, NULL, 0},
#else
    {"II*\0", 4, 0, NULL, "a TIFF image; convert it to PNG", NULL, 0},
    {"MM\0*", 4, 0, NULL, "a TIFF image; convert it to PNG", NULL, 0},
#endif
#ifdef FC_WITH_WEBP
    {"RIFF", 4, 0, "webp", NULL, "WEBP", 8},
#else
    {"RIFF", 4, 0, NULL, "a WebP image; convert it to PNG", "WEBP", 8},
#endif
    {"RIFF", 4, 0, NULL, "an AVI film; extract its sound to WAV first", "AVI ", 8},
    {"8BPS", 4, 0, NULL, "a Photoshop image; convert it to PNG", NULL, 0},
    {"#?RADIANCE", 10, 0, NULL, "a Radiance HDR image; convert it to PNG or .npy", NULL, 0},
    {"#?RGBE", 6, 0, NULL, "a Radiance HDR image; convert it to PNG or .npy", NULL, 0},
    {"\x53\x80\xf6\x34", 4, 0, NULL, "a PIC image; convert it to PNG", NULL, 0},
    {"jP  \r\n\x87\n", 8, 4, NULL, "a JPEG 2000 image; convert it to PNG", NULL, 0},
    {"\xff\x4f\xff\x51", 4, 0, NULL, "a JPEG 2000 image; convert it to PNG", NULL, 0},
    {"JXL \r\n\x87\n", 8, 4, NULL, "a JPEG XL image; convert it to PNG", NULL, 0},
    {"ftypavif", 8, 4, NULL, "an AVIF image; convert it to PNG", NULL, 0},
    {"ftyphei", 7, 4, NULL, "a HEIC image; convert it to PNG or JPEG", NULL, 0},
    {"ftyp", 4, 4, NULL, "an MP4 or M4A file; extract its sound to WAV first", NULL, 0},
    {"\x1a\x45\xdf\xa3", 4, 0, NULL, "a Matroska or WebM file; extract its sound to WAV first", NULL, 0},
    {"PK\x03\x04", 4, 0, NULL, "a ZIP archive (.npz?); save single arrays as .npy", NULL, 0},
    {"%PDF", 4, 0, NULL, "a PDF document", NULL, 0},
    {"\x1f\x8b", 2, 0, NULL, "compressed with gzip; unpack it first", NULL, 0},
    {"wvpk", 4, 0, NULL, "a WavPack file; convert it to WAV or FLAC", NULL, 0},
    {"MAC ", 4, 0, NULL, "a Monkey's Audio file; convert it to WAV or FLAC", NULL, 0},
    {"\x7f"
     "ELF",
     4, 0, NULL, "a program", NULL, 0},
};

/* ---- inputs ------------------------------------------------------------ */

static gboolean matches(const file_mark *mark, const fc_input *input) {
  if (input->head_size < (gsize)mark->at + mark->size) return FALSE;
  if (memcmp(input->head + mark->at, mark->bytes, mark->size) != 0) return FALSE;
  if (!mark->second) return TRUE;
  gsize size = strlen(mark->second);
  return input->head_size >= mark->second_at + size &&
         memcmp(input->head + mark->second_at, mark->second, size) == 0;
}

static const file_mark *mark_of(const fc_input *input) {
  for (gsize i = 0; i < G_N_ELEMENTS(marks); i++)
    if (matches(&marks[i], input)) return &marks[i];
  return NULL;
}

/* UTF-8 without control characters; the last character may be incomplete. */
static gboolean is_text(const fc_input *input) {
  const char *head = (const char *)input->head, *end;
  for (gsize i = 0; i < input->head_size; i++)
    if ((input->head[i] < 32 && !strchr("\t\n\v\f\r", head[i])) || head[i] == 127) return FALSE;
  gsize left = g_utf8_validate_len(head, input->head_size, &end) ? 0 : (gsize)(head + input->head_size - end);
  return !left || (end > head && g_utf8_get_char_validated(end, (gssize)left) == (gunichar)-2);
}

/* P and a digit, as PGM begins; only the name distinguishes it from text. */
static gboolean is_pnm(const fc_input *input) {
  return input->head_size > 2 && input->head[0] == 'P' && input->head[1] >= '1' && input->head[1] <= '7' &&
         g_ascii_isspace(input->head[2]);
}

/* Whether the file is shorter than this signature, and begins like it. */
static gboolean is_cut(const fc_input *input, const fc_file_format *format) {
  for (gsize i = 0; i < G_N_ELEMENTS(marks); i++) {
    const file_mark *mark = &marks[i];
    gsize most = MAX((gsize)mark->at + mark->size, mark->second ? mark->second_at + strlen(mark->second) : 0);
    if (!mark->format || fc_format_by_name(mark->format) != format || mark->at || input->head_size >= most)
      continue;
    if (memcmp(input->head, mark->bytes, MIN(mark->size, input->head_size)) == 0) return TRUE;
  }
  return FALSE;
}

const char *fc_probe_describe(const fc_input *input) {
  const file_mark *mark = mark_of(input);
  if (mark && mark->what) return mark->what;
  if (is_pnm(input)) return "a PNM image; convert it to PNG";
  if (is_text(input)) return "text";
  return NULL;
}

/* By the pronunciation of the titles above: "an MP3 file", "an RF64 file". */
static const char *article_of(const fc_file_format *format) {
  return strchr("AMOR", format->title[0]) ? "an" : "a";
}

static const fc_file_format *fail_unknown(const fc_input *input, GError **error) {
  const char *what = fc_probe_describe(input);
  const fc_file_format *named = input->path ? fc_format_by_extension(input->path) : NULL;
  g_autofree char *known = fc_format_names();
  if (named && is_cut(input, named))
    fc_fail(error, FC_IO, "%s: is cut off within its first bytes", input->name);
  else if (what && named)
    fc_fail(error, FC_IO, "%s: is not %s %s file but %s", input->name, article_of(named), named->title, what);
  else if (named)
    fc_fail(error, FC_IO, "%s: is not %s %s file, nor of any other known format", input->name,
            article_of(named), named->title);
  else if (what)
    fc_fail(error, FC_UNSUPPORTED, "%s: is %s; supported are %s", input->name, what, known);
  else
    fc_fail(
        error, FC_UNSUPPORTED,
        "%s: has an unknown format; supported are %s (--in-format names one, which tga and raw need where no "
        "file name tells)",
        input->name, known);
  return NULL;
}

/* Only some formats have a signature; raw samples and TGA images are recognised by name. */
static gboolean has_mark(const fc_file_format *format) {
  for (gsize i = 0; i < G_N_ELEMENTS(marks); i++)
    if (marks[i].format && fc_format_by_name(marks[i].format) == format) return TRUE;
  return strcmp(format->name, "opus") == 0;
}

static const fc_file_format *format_named(const char *name, gboolean writing, GError **error) {
  const fc_file_format *format = fc_format_by_name(name);
  if (format) return format;
  g_autofree char *known = fc_format_names();
  fc_fail(error, FC_INVALID, "no format \"%s\" to %s: there are %s", name, writing ? "write" : "read", known);
  return NULL;
}

static const fc_file_format *format_at(const fc_input *input) {
  const file_mark *mark = mark_of(input);
  return mark && mark->format ? fc_format_by_name(mark->format) : NULL;
}

gboolean fc_probe_knows(const fc_input *input) {
  return format_at(input) != NULL;
}

/* An ID3 tag precedes MP3, and with some writers any sound. */
static const fc_file_format *format_behind_tags(fc_input *input, GError **error) {
  if (!fc_id3_pass(input, error)) return NULL;
  const fc_file_format *format = format_at(input);
  if (format && format->open == fc_audio_open) return format;
  fc_fail(error, FC_IO, "%s: begins with an ID3 tag, which no known kind of sound follows", input->name);
  return NULL;
}

/* Files that one library reads as one kind: FLAC, Ogg, sound in chunks, others. */
static int family_of(const fc_file_format *format) {
  const gboolean alone = format->sndfile == SF_FORMAT_FLAC || format->sndfile == SF_FORMAT_OGG;
  return format->open != fc_audio_open ? -1 : alone ? format->sndfile : 0;
}

/* A sound that is said to be of a format which its first bytes contradict: some readers would take it for
 * what it is, others give a false reason. MP3 has no signature: what looks like it is shown, and what is said
 * to be MP3 may begin with anything. */
static const fc_file_format *check_named(const fc_input *input, const fc_file_format *named, GError **error) {
  const fc_file_format *format = format_at(input);
  const guint8 *head = input->head;
  if (named->open != fc_audio_open || named->sndfile == FC_SF_MPEG || !format ||
      (format->sndfile != FC_SF_MPEG && family_of(named) == family_of(format)))
    return named;
  if (format->sndfile == FC_SF_MPEG && input->head_size >= 4)
    fc_fail(error, FC_IO, "%s: is not %s %s file: its first bytes are %02x %02x %02x %02x, as of MP3",
            input->name, article_of(named), named->title, head[0], head[1], head[2], head[3]);
  else
    fc_fail(error, FC_IO, "%s: is not %s %s file but %s", input->name, article_of(named), named->title,
            format->title);
  return NULL;
}

const fc_file_format *fc_probe_input(fc_input *input, const fc_media_options *options, GError **error) {
  const fc_file_format *format = format_at(input);
  gboolean tagged = format && memcmp(input->head, "ID3", 3) == 0;
  if (options->in_format) {
    format = format_named(options->in_format, FALSE, error);
    tagged = tagged && format && format->open == fc_audio_open;
    if (tagged && !fc_id3_pass(input, error)) return NULL;
    return format ? check_named(input, format, error) : NULL;
  }
  const fc_file_format *named = input->path ? fc_format_by_extension(input->path) : NULL;
  if (options->in_raw) return format_named("raw", FALSE, error);
  if (options->in_options && named && named->open == fc_raw_open) return named; /* they have the layout */
  if (format) return tagged ? format_behind_tags(input, error) : format;
  return named && !has_mark(named) && !fc_probe_describe(input) ? named : fail_unknown(input, error);
}

/* ---- outputs ----------------------------------------------------------- */

const fc_file_format *fc_probe_output(const char *path, const fc_media_options *options, GError **error) {
  if (options->out_format) return format_named(options->out_format, TRUE, error);
  const fc_file_format *format = fc_format_by_extension(path);
  if (format) return format;
  g_autofree char *name = fc_display_name(path, "standard output");
  g_autofree char *known = fc_format_names();
  const char *extension = fc_extension_of(path);
  if (strcmp(path, "-") == 0)
    fc_fail(error, FC_INVALID, "%s: has no name to tell a format by; give --format (%s)", name, known);
  else if (extension)
    fc_fail(error, FC_INVALID, "%s: no format \"%s\" to write: there are %s", name, extension, known);
  else
    fc_fail(error, FC_INVALID, "%s: has no extension to tell a format by: there are %s (or give --format)",
            name, known);
  return NULL;
}
