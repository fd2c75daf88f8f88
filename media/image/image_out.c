/* SPDX-License-Identifier: MIT */
/*
 * image_out.c - the sink for one image. PNG is our own; JPEG, BMP and TGA come from
 * stb_image_write, piece by piece into a checked output: its own writing to files
 * reports success on a full disk.
 */
#include <string.h>

#include "media/image/image_meta.h"
#include "media/file/output.h"
#include "media/array/quantise.h"
#include "media/file/warn.h"

#include <stb_image_write.h>

/* Above 90 stb_image_write keeps colour at full resolution. */
#define JPEG_QUALITY 92
#define JPEG_FRONT   20 /* what stb_image_write begins with: SOI and APP0 */
#define JPEG_DENSITY 13 /* where in it */
#define BMP_DENSITY  38

typedef struct image_sink {
  fc_sink base;
  const fc_file_format *file;
  fc_media_options options; /* its strings are not used */
  char *path;
  unsigned flags;
  int like; /* element type of the image that came in, or -1 */
  int dtype;
  fc_image_meta *meta; /* of the image that came in, or NULL */
  fc_output *output;
  gint64 height, written; /* rows */
  fc_png_writer *png;     /* from the first of them on */
  void *scratch;
  gsize scratch_size;
  fc_blob
      pieces; /* of metadata: chunks of PNG, or segments of JPEG to stand behind the first, until they do */
  gint64 density_at;  /* JPEG and BMP: where it stands, instead of what stb_image_write has there */
  gsize density_size; /* 0: not said */
  guint8 density[8];
  GError *problem; /* of a write inside stb_image_write */
} image_sink;

static gboolean is(const image_sink *sink, const char *name) {
  return strcmp(sink->file->name, name) == 0;
}

/* ---- what it takes ----------------------------------------------------- */

/* Floats go back to the depth they came from. */
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
    return fc_fail(error, FC_INVALID, "%s: %s holds 1 to 4 channels, not %" G_GINT64_FORMAT "; use .npy",
                   name, sink->file->title, channels);
  gint64 most = is(sink, "png") ? FC_IMAGE_SIDE_MAX : 65535;
  if (rows < 1 || columns < 1 || rows > most || columns > most)
    return fc_fail(error, FC_INVALID,
                   "%s: %s holds sides of 1 to %" G_GINT64_FORMAT " pixels, not %" G_GINT64_FORMAT
                   " x %" G_GINT64_FORMAT "; use .npy",
                   name, sink->file->title, most, columns, rows);
  return TRUE;
}

/* What PNG alone holds: 16 bits, and an alpha channel beside grey, or in JPEG at all. */
static gboolean check_rich(const image_sink *sink, const fc_format *format, int dtype, GError **error) {
  gint64 channels = format->extent[FC_AXIS_C];
  if (is(sink, "png")) return TRUE;
  if (dtype == FC_U16)
    return fc_fail(error, FC_INVALID,
                   "%s: %s holds 8 bits a sample, and these have 16; use .png, or convert first",
                   sink->base.name, sink->file->title);
  gboolean no_alpha = is(sink, "jpg") && (channels == 2 || channels == 4);
  if (no_alpha || (is(sink, "bmp") && channels == 2))
    return fc_fail(error, FC_INVALID,
                   "%s: %s does not hold %" G_GINT64_FORMAT
                   " channels; use .png, or -p mix to bring them to 1 or 3",
                   sink->base.name, sink->file->title, channels);
  return TRUE;
}

static gboolean image_accept(fc_sink *base, fc_format *format, GError **error) {
  image_sink *sink = (image_sink *)base;
  int dtype = depth_of(sink, format->stored ? format->stored - 1 : format->dtype);
  if (!check_shape(sink, format, error) || !check_rich(sink, format, dtype, error)) return FALSE;
  sink->dtype = format->dtype = dtype;
  format->bits = dtype == FC_U16 ? 16 : 8;
  return TRUE;
}

static void place_density(image_sink *sink) {
  const fc_density density = fc_image_meta_density(sink->meta);
  if (is(sink, "jpg") && fc_density_for_jpeg(&density, sink->density))
    sink->density_at = JPEG_DENSITY, sink->density_size = 5;
  if (!is(sink, "bmp") || !density.metres) return;
  const guint32 both[2] = {GUINT32_TO_LE(density.x), GUINT32_TO_LE(density.y)};
  memcpy(sink->density, both, sizeof both);
  sink->density_at = BMP_DENSITY, sink->density_size = sizeof both;
}

/* What goes over of the metadata; the rest is told. */
static gboolean place_metadata(image_sink *sink, int channels, GError **error) {
  if (!sink->meta) return TRUE;
  g_autoptr(GString) lost = g_string_new(NULL);
  if (is(sink, "png"))
    fc_image_meta_for_png(sink->meta, channels, sink->dtype == FC_U16 ? 16 : 8, &sink->pieces, lost);
  else if (is(sink, "jpg"))
    fc_image_meta_for_jpeg(sink->meta, channels, &sink->pieces, lost);
  else
    fc_image_meta_for_neither(sink->meta, is(sink, "bmp"), lost);
  place_density(sink);
  fc_media_warn_lost(&sink->options, sink->base.name, sink->file->title, lost);
  return fc_blob_check(&sink->pieces, sink->base.name, error);
}

static gboolean image_begin(fc_sink *base, const fc_format *format, GError **error) {
  image_sink *sink = (image_sink *)base;
  fc_format wanted = *format;
  if (sink->dtype < 0 && !image_accept(base, &wanted, error)) return FALSE;
  sink->height = format->extent[FC_AXIS_Y];
  if (!place_metadata(sink, (int)format->extent[FC_AXIS_C], error)) return FALSE;
  sink->output = fc_output_open(sink->path, sink->flags, error);
  if (sink->output) base->direct = !fc_output_seekable(sink->output);
  return sink->output != NULL;
}

/* ---- writing ----------------------------------------------------------- */

static void write_some(image_sink *sink, const void *data, gint64 size) {
  if (!sink->problem && size > 0) fc_output_write(sink->output, data, (gsize)size, &sink->problem);
}

/* With the density of the image that came in, where that lies in this piece. */
static void write_piece(image_sink *sink, const guint8 *data, gint64 size) {
  gint64 at = fc_output_size(sink->output);
  gint64 from = CLAMP(sink->density_at - at, 0, size);
  gint64 to = CLAMP(sink->density_at + (gint64)sink->density_size - at, from, size);
  write_some(sink, data, from);
  if (to > from) write_some(sink, sink->density + (at + from - sink->density_at), to - from);
  write_some(sink, data + to, size - to);
}

/* Metadata belong behind the mark and the first segment of a JPEG file. */
static void take_piece(void *context, void *data, int size) {
  image_sink *sink = context;
  gint64 left = JPEG_FRONT - fc_output_size(sink->output);
  if (!sink->pieces.size || left < 0 || left > size) {
    write_piece(sink, data, size);
    return;
  }
  write_piece(sink, data, left);
  write_some(sink, sink->pieces.data, (gint64)sink->pieces.size);
  write_some(sink, (const guint8 *)data + left, size - left);
  fc_blob_clear(&sink->pieces);
}

static gboolean encode_with_stb(image_sink *sink, const fc_picture *p, GError **error) {
  int width = (int)p->width, height = (int)p->height, done;
  if (is(sink, "jpg"))
    done = stbi_write_jpg_to_func(take_piece, sink, width, height, p->channels, p->pixels, JPEG_QUALITY);
  else if (is(sink, "bmp"))
    done = stbi_write_bmp_to_func(take_piece, sink, width, height, p->channels, p->pixels);
  else
    done = stbi_write_tga_to_func(take_piece, sink, width, height, p->channels, p->pixels);
  if (sink->problem) {
    g_propagate_error(error, g_steal_pointer(&sink->problem));
    return FALSE;
  }
  return done || fc_fail(error, FC_IO, "%s: cannot be encoded", sink->base.name);
}

/* Some rows from the top, then those that follow. */
static gboolean write_png(image_sink *sink, const fc_picture *rows, GError **error) {
  fc_picture whole = *rows;
  whole.height = sink->height;
  if (!sink->png) sink->png = fc_png_begin(sink->base.name, sink->output, &whole, &sink->pieces, error);
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
  return is(sink, "png") ? write_png(sink, &picture, error) : encode_with_stb(sink, &picture, error);
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
  fc_image_meta_unref(sink->meta);
  fc_blob_clear(&sink->pieces);
  g_clear_error(&sink->problem);
  g_free(sink->path);
  g_free(base->name);
  g_free(sink);
}

fc_sink *fc_image_create(const char *path, const fc_file_format *format, const fc_media_options *options,
                         fc_source *like, GError **error) {
  image_sink *sink = g_new0(image_sink, 1);
  sink->base = (fc_sink){.name = fc_display_name(path, "standard output"),
                         .can_rows = strcmp(format->name, "png") == 0,
                         .accept = image_accept,
                         .begin = image_begin,
                         .write = image_write,
                         .commit = image_commit,
                         .free = image_free};
  sink->file = format;
  sink->options = *options;
  sink->path = g_strdup(path);
  sink->flags = fc_output_flags_of(options);
  sink->like = like && like->format.kind != FC_AUDIO ? like->format.dtype : -1;
  sink->dtype = -1;
  sink->meta = fc_image_source_meta(like);
  return &sink->base;
}
