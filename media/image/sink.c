/* SPDX-License-Identifier: MIT */
/*
 * sink.c - the sink for one image, over the encoders (png_out.c, jpeg_out.c, webp_out.c, tiff_out.c,
 * stb_out.c). What a format cannot hold is converted, with a warning: 16 bits become 8,
 * alpha is flattened over a background.
 */
#include <string.h>

#include "media/array/quantise.h"
#include "media/file/formats.h"
#include "media/file/options.h"
#include "media/file/output.h"
#include "media/file/warn.h"
#include "media/image/meta.h"

const fc_file_option fc_png_writing[] = {{"level", "0..9", "6", "compression level of zlib"},
                                         {NULL, NULL, NULL, NULL}};

const fc_file_option fc_jpeg_writing[] = {
    {"quality", "1..100", "92", "more means fewer artefacts and larger files"},
#ifdef FC_WITH_TURBOJPEG
    {"subsampling", "auto|444|422|420", "auto", "chroma subsampling; auto: 420, or 444 above quality 90"},
    {"progressive", "yes|no", "no", "smaller, and slower to write and read"},
#endif
    {"background", "COLOUR", "FFFFFF",
     "RRGGBB, or grey of 0 to 255: what transparent pixels are flattened over"},
    {NULL, NULL, NULL, NULL}};

#define STB_HEADER      (14 + 108) /* bytes of the longest, a BMP with alpha */
#define STB_PIXELS_MOST ((INT32_MAX - STB_HEADER) / 4)

/* The capabilities of each format. */
typedef struct image_form {
  const char *name;
  fc_encode_fn *encode; /* NULL: row by row, by fc_png_writer */
  gboolean wide;        /* 16 bits too */
  gboolean grey_alpha, alpha;
  gint64 side; /* at most */
} image_form;

static const image_form forms[] = {{"png", NULL, TRUE, TRUE, TRUE, FC_IMAGE_SIDE_MAX},
#ifdef FC_WITH_TURBOJPEG
                                   {"jpg", fc_encode_jpeg, FALSE, FALSE, FALSE, 65500},
#else
                                   {"jpg", fc_encode_stb, FALSE, FALSE, FALSE, 65500},
#endif
#ifdef FC_WITH_WEBP
                                   {"webp", fc_encode_webp, FALSE, TRUE, TRUE, 16383},
#endif
#ifdef FC_WITH_TIFF
                                   {"tiff", fc_encode_tiff, TRUE, TRUE, TRUE, FC_IMAGE_SIDE_MAX},
#endif
                                   {"bmp", fc_encode_stb, FALSE, FALSE, TRUE, 65535},
                                   {"tga", fc_encode_stb, FALSE, TRUE, TRUE, 65535}};

typedef struct image_sink {
  fc_sink base;
  const fc_file_format *file;
  const image_form *form;
  fc_media_options options; /* its strings are not used */
  fc_encode_settings settings;
  char *path;
  unsigned flags;
  int like;  /* element type of the input image, or -1 */
  int dtype; /* that is asked for */
  int like_channels;
  fc_tags *tags; /* of the input image, or NULL */
  fc_encode_metadata metadata;
  fc_output *output;
  gint64 height, written; /* rows */
  fc_png_writer *png;     /* from the first of them on */
  void *scratch;
  gsize scratch_size;
} image_sink;

/* ---- what it takes ----------------------------------------------------- */

/* Floats are stored with the input's depth. */
static int depth_of(const image_sink *sink, int dtype) {
  if (dtype == FC_U8) return FC_U8;
  if (!fc_dtype_is_float(dtype)) return FC_U16;
  return sink->like == FC_U16 || sink->like == FC_I16 || sink->like == FC_I32 ? FC_U16 : FC_U8;
}

static gboolean check_shape(const image_sink *sink, const fc_format *format, GError **error) {
  const char *name = sink->base.name;
  gint64 rows = format->extent[FC_AXIS_Y], columns = format->extent[FC_AXIS_X],
         channels = format->extent[FC_AXIS_C];
  if (format->kind == FC_AUDIO)
    return fc_fail(error, FC_INVALID, "%s: sound cannot be stored as an image; use .wav or .npy", name);
  if (format->extent[FC_AXIS_N] == FC_UNKNOWN)
    return fc_fail(
        error, FC_INVALID,
        "%s: %s holds one image, and how many come is not known: say length=1 with --raw, or use .npy", name,
        sink->file->title);
  if (format->extent[FC_AXIS_N] != 1)
    return fc_fail(error, FC_INVALID, "%s: %s holds one image; use .npy for more", name, sink->file->title);
  if (channels < 1 || channels > 4)
    return fc_fail(error, FC_INVALID,
                   "%s: %s holds 1 to 4 channels, not %" G_GINT64_FORMAT
                   "; use .npy (in an archive: --format npy)",
                   name, sink->file->title, channels);
  const gint64 most = sink->form->side;
  if (rows < 1 || columns < 1 || rows > most || columns > most)
    return fc_fail(error, FC_INVALID,
                   "%s: %s holds sides of 1 to %" G_GINT64_FORMAT " pixels, not %" G_GINT64_FORMAT
                   " x %" G_GINT64_FORMAT "; use .npy",
                   name, sink->file->title, most, columns, rows);
  /* stb_image_write counts bytes in int, with the header. */
  if (sink->form->encode == fc_encode_stb && rows * columns > STB_PIXELS_MOST)
    return fc_fail(error, FC_INVALID,
                   "%s: %s holds %d pixels, not %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT "; use .npy", name,
                   sink->file->title, STB_PIXELS_MOST, columns, rows);
  return TRUE;
}

static gboolean drops_alpha(const image_sink *sink, gint64 channels) {
  return (channels == 2 && !sink->form->grey_alpha) || (channels == 4 && !sink->form->alpha);
}

/* The conversions of samples that the format cannot hold. */
static void tell_changes(const image_sink *sink, const fc_format *format, int dtype) {
  const gint64 channels = format->extent[FC_AXIS_C];
  if (dtype == FC_U16 && !sink->form->wide)
    fc_media_note(&sink->options, "%s: %s holds 8 bits a sample: 16 bits are reduced to 8", sink->base.name,
                  sink->file->title);
  if (drops_alpha(sink, channels))
    fc_media_note(&sink->options,
                  "%s: %s holds no alpha%s: it is flattened over a background of #%02X%02X%02X",
                  sink->base.name, sink->file->title, channels == 2 ? " beside grey" : "",
                  sink->settings.background[0], sink->settings.background[1], sink->settings.background[2]);
}

static gboolean image_accept(fc_sink *base, fc_format *format, GError **error) {
  image_sink *sink = (image_sink *)base;
  int dtype = depth_of(sink, format->stored ? format->stored - 1 : format->dtype);
  if (!check_shape(sink, format, error)) return FALSE;
  tell_changes(sink, format, dtype);
  sink->dtype = format->dtype = dtype;
  format->bits = dtype == FC_U16 && sink->form->wide ? 16 : 8;
  return TRUE;
}

/* Copies metadata; what is lost is named in a warning. */
static gboolean place_metadata(image_sink *sink, int channels, GError **error) {
  if (!sink->tags) return TRUE;
  g_autoptr(GString) lost = g_string_new(NULL);
  const fc_meta_form form = {.format = sink->form->name,
                             .channels = channels,
                             .dtype = sink->dtype,
                             .like_channels = sink->like_channels,
                             .like_dtype = sink->like};
  fc_image_tags_write(sink->tags, &form, &sink->metadata, lost);
  fc_tags_warn_lost(sink->tags, &sink->options, sink->base.name, lost);
  return fc_encode_metadata_check(&sink->metadata, sink->base.name, error);
}

static gboolean image_begin(fc_sink *base, const fc_format *format, GError **error) {
  image_sink *sink = (image_sink *)base;
  fc_format wanted = *format;
  if (sink->dtype < 0 && !image_accept(base, &wanted, error)) return FALSE;
  sink->height = format->extent[FC_AXIS_Y];
  if (!place_metadata(sink, (int)format->extent[FC_AXIS_C], error)) return FALSE;
  sink->output = fc_output_open_for(sink->path, sink->flags, &sink->options, error);
  if (sink->output) base->direct = !fc_output_seekable(sink->output);
  return sink->output != NULL;
}

/* ---- writing ----------------------------------------------------------- */

/* 16-bit codes as 8-bit codes, rounded. */
static void narrow(const guint16 *from, guint8 *to, gsize count) {
  for (gsize i = 0; i < count; i++) to[i] = (guint8)((from[i] + 128u) / 257u);
}

/* Removes the last channel, alpha, over a background; grey over the background's green. */
static void flatten(const guint8 *from, guint8 *to, gsize pixels, int channels, const guint8 background[3]) {
  const int colours = channels - 1;
  for (gsize i = 0; i < pixels; i++, from += channels, to += colours) {
    const guint alpha = from[colours];
    for (int c = 0; c < colours; c++)
      to[c] = (guint8)((from[c] * alpha + background[colours == 1 ? 1 : c] * (255 - alpha) + 127) / 255);
  }
}

/* The image as the format holds it; the caller frees what was allocated. */
static gboolean prepare(const image_sink *sink, fc_picture *picture, void **made, GError **error) {
  const gsize pixels = (gsize)(picture->width * picture->height);
  const gboolean wide = picture->dtype == FC_U16 && !sink->form->wide,
                 alpha = drops_alpha(sink, picture->channels);
  *made = NULL;
  if (!wide && !alpha) return TRUE;
  guint8 *bytes = *made = g_try_malloc(pixels * (gsize)picture->channels);
  if (!bytes) return fc_fail(error, FC_NO_MEMORY, "%s: no memory to encode it", sink->base.name);
  if (wide)
    narrow(picture->pixels, bytes, pixels * (gsize)picture->channels);
  else
    memcpy(bytes, picture->pixels, pixels * (gsize)picture->channels);
  if (alpha) flatten(bytes, bytes, pixels, picture->channels--, sink->settings.background);
  picture->dtype = FC_U8;
  picture->pixels = bytes;
  return TRUE;
}

static gboolean encode(image_sink *sink, fc_picture picture, GError **error) {
  g_autofree void *made = NULL;
  return prepare(sink, &picture, &made, error) &&
         sink->form->encode(sink->base.name, sink->output, &picture, &sink->settings, &sink->metadata, error);
}

/* Rows in order from the top. */
static gboolean write_png(image_sink *sink, const fc_picture *rows, GError **error) {
  fc_picture whole = *rows;
  whole.height = sink->height;
  if (!sink->png)
    sink->png = fc_png_begin(sink->base.name, sink->output, &whole, sink->settings.level,
                             &sink->metadata.pieces, error);
  return sink->png && fc_png_write(sink->png, rows->pixels, rows->height, error);
}

static gboolean image_write(fc_sink *base, const fc_view *from, GError **error) {
  image_sink *sink = (image_sink *)base;
  gint64 rows = from->shape[FC_AXIS_N] == 0 ? 0 : from->shape[FC_AXIS_Y];
  if (rows == 0) return TRUE;
  if (from->shape[FC_AXIS_N] > 1 || rows > sink->height - sink->written)
    return fc_fail(error, FC_FATAL, "%s: %s holds one image", base->name, sink->file->title);
  const void *pixels =
      fc_dense(base->name, from, sink->written, sink->dtype, &sink->scratch, &sink->scratch_size, error);
  if (!pixels) return FALSE;
  const fc_picture picture = {.width = from->shape[FC_AXIS_X],
                              .height = rows,
                              .channels = (int)from->shape[FC_AXIS_C],
                              .dtype = sink->dtype,
                              .pixels = pixels};
  sink->written += rows;
  return sink->form->encode ? encode(sink, picture, error) : write_png(sink, &picture, error);
}

static gboolean image_commit(fc_sink *base, GError **error) {
  image_sink *sink = (image_sink *)base;
  if (sink->written < sink->height) return fc_fail(error, FC_FATAL, "%s: no image arrived", base->name);
  return fc_output_commit(sink->output, error);
}

static void image_free(fc_sink *base) {
  image_sink *sink = (image_sink *)base;
  fc_png_free(sink->png);
  g_free(sink->scratch);
  fc_output_free(sink->output);
  fc_tags_unref(sink->tags);
  fc_encode_metadata_clear(&sink->metadata);
  g_free(sink->path);
  g_free(base->name);
  g_free(sink);
}

/* ---- options ----------------------------------------------------------- */

/* "FF8000", or a number for grey. */
static gboolean parse_background(const char *text, guint8 colour[3]) {
  guint64 value;
  if (strlen(text) == 6 && g_ascii_string_to_unsigned(text, 16, 0, 0xffffff, &value, NULL)) {
    for (int i = 0; i < 3; i++) colour[i] = (guint8)(value >> (16 - 8 * i));
    return TRUE;
  }
  if (!g_ascii_string_to_unsigned(text, 10, 0, 255, &value, NULL)) return FALSE;
  memset(colour, (int)value, 3);
  return TRUE;
}

/* Options that the format does not have stay 0. */
static gboolean read_settings(image_sink *sink, GError **error) {
  const fc_given_options *given = sink->options.out_options;
  const fc_file_option *table = sink->file->writing;
  const char *background = fc_option_text(given, table, "background");
  sink->settings =
      (fc_encode_settings){.format = sink->form->name,
                           .quality = (int)fc_option_number(given, table, "quality"),
                           .level = (int)fc_option_number(given, table, "level"),
                           .effort = (int)fc_option_number(given, table, "effort"),
                           .lossless = fc_option_is_set(given, table, "lossless"),
                           .progressive = fc_option_is_set(given, table, "progressive"),
                           .subsampling = g_intern_string(fc_option_text(given, table, "subsampling")),
                           .compression = g_intern_string(fc_option_text(given, table, "compression"))};
  if (!background) background = "255";
  return parse_background(background, sink->settings.background) ||
         fc_fail(error, FC_INVALID, "%s: background: expected RRGGBB or a number of 0 to 255, found \"%s\"",
                 sink->base.name, background);
}

fc_sink *fc_image_create(const char *path, const fc_file_format *format, const fc_media_options *options,
                         fc_source *like, GError **error) {
  const image_form *form = forms;
  while (strcmp(form->name, format->name) != 0) form++;
  image_sink *sink = g_new0(image_sink, 1);
  sink->base = (fc_sink){.name = fc_display_name(path, "standard output"),
                         .can_rows = !form->encode,
                         .accept = image_accept,
                         .begin = image_begin,
                         .write = image_write,
                         .commit = image_commit,
                         .free = image_free};
  sink->file = format;
  sink->form = form;
  sink->options = *options;
  sink->path = g_strdup(path);
  sink->flags = fc_output_flags_of(options);
  sink->like = like && like->format.kind != FC_AUDIO ? like->format.dtype : -1;
  sink->dtype = -1;
  sink->like_channels = like ? (int)like->format.extent[FC_AXIS_C] : 0;
  if (sink->like >= 0) sink->tags = fc_tags_ref(fc_source_tags(like));
  if (read_settings(sink, error)) return &sink->base;
  image_free(&sink->base);
  return NULL;
}
