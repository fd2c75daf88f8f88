/* SPDX-License-Identifier: MIT */
/*
 * source.c - the source for images: one image, turned upright while it is handed over.
 *
 * It is decoded when it is opened; JPEG, whose header tells all of its format, when it is
 * first read: with scale=auto what reads it may then have it at a part of its size for less
 * (fc_source.shrink).
 */
#include <string.h>

#include "core/base/buffer.h"
#include "core/contract/filterchain.h"
#include "media/file/formats.h"
#include "media/file/options.h"
#include "media/file/warn.h"
#include "media/image/meta.h"

typedef struct image_source {
  fc_file_source head;
  fc_media_options options; /* its strings are not used */
  guint8 *file;             /* until it is decoded */
  gsize size;
  fc_image_header header;
  fc_decode_wish wish;
  fc_picture picture;                   /* without pixels until it is decoded */
  gint64 rows;                          /* delivered */
  fc_range looked_rows, looked_columns; /* of the upright picture, what is looked at */
} image_source;

#define ORIENT                                                                                               \
  { "orient", "yes|no", "yes", "turn it upright, as its EXIF orientation says; no: as it is stored" }
const fc_file_option fc_image_reading[] = {ORIENT, {NULL, NULL, NULL, NULL}};
const fc_file_option fc_jpeg_reading[] = {ORIENT,
#ifdef FC_WITH_TURBOJPEG
                                          {"scale", "1|1/2|1/4|1/8|auto", "1",
                                           "decode at reduced size, which is faster; auto: the smallest size "
                                           "that a resize as the first stage does not enlarge"},
#endif
                                          {NULL, NULL, NULL, NULL}};
#ifdef FC_WITH_TURBOJPEG
#define CAN_SHRINK TRUE
#else
#define CAN_SHRINK FALSE
#endif

/* How rows and columns of the upright image run through the stored one, in pixels. */
typedef struct pixel_way {
  gint64 start, row, column;
} pixel_way;

/* The eight orientations of EXIF: which corner comes first, and which side is the row. */
static pixel_way way_through(const fc_picture *picture, int orientation) {
  gint64 w = picture->width, h = picture->height;
  gint64 right = w - 1, bottom = (h - 1) * w;
  switch (orientation) {
  case 2: return (pixel_way){right, w, -1};
  case 3: return (pixel_way){bottom + right, -w, -1};
  case 4: return (pixel_way){bottom, -w, 1};
  case 5: return (pixel_way){0, 1, w};
  case 6: return (pixel_way){bottom, 1, -w};
  case 7: return (pixel_way){bottom + right, -1, -w};
  case 8: return (pixel_way){right, -1, w};
  default: return (pixel_way){0, w, 1};
  }
}

/* ---- decoding -------------------------------------------------------------- */

static gint64 divided(gint64 side, int divisor) {
  return (side + divisor - 1) / divisor;
}

static void set_format(image_source *source, int channels, int dtype) {
  const fc_image_header *h = &source->header;
  const gint64 width = divided(h->width, source->wish.scale), height = divided(h->height, source->wish.scale);
  const gboolean lying = h->orientation >= 5;
  source->head.base.format =
      (fc_format){.size = sizeof(fc_format),
                  .kind = FC_IMAGE,
                  .dtype = dtype,
                  .bits = dtype == FC_U16 ? 16 : 8,
                  .layout = FC_INTERLEAVED,
                  .alpha = channels % 2 == 0 ? FC_ALPHA_STRAIGHT : FC_ALPHA_NONE,
                  .extent = {1, lying ? width : height, lying ? height : width, channels}};
  source->looked_rows = (fc_range){0, lying ? width : height};
  source->looked_columns = (fc_range){0, lying ? height : width};
}

/* A range of what there is. */
static fc_range within(fc_range range, gint64 extent) {
  const gint64 lo = CLAMP(range.lo, 0, extent);
  return (fc_range){lo, CLAMP(range.hi, lo, extent)};
}

static void image_window(fc_source *base, fc_range rows, fc_range columns) {
  image_source *source = (image_source *)base;
  const gint64 *extent = base->format.extent;
  const fc_image_header *h = &source->header;
  const fc_picture stored = {.width = divided(h->width, source->wish.scale),
                             .height = divided(h->height, source->wish.scale)};
  const pixel_way way = way_through(&stored, h->orientation);
  source->looked_rows = rows = within(rows, extent[FC_AXIS_Y]);
  source->looked_columns = columns = within(columns, extent[FC_AXIS_X]);
  if (fc_range_empty(rows) || fc_range_empty(columns) || source->wish.lenient) return;
  /* Two corners of it, as they are stored. */
  const gint64 a = way.start + rows.lo * way.row + columns.lo * way.column,
               b = way.start + (rows.hi - 1) * way.row + (columns.hi - 1) * way.column,
               left = MIN(a % stored.width, b % stored.width), top = MIN(a, b) / stored.width;
  source->wish.window = (fc_decode_window){(gint32)left, (gint32)top,
                                           (gint32)(MAX(a % stored.width, b % stored.width) - left + 1),
                                           (gint32)(MAX(a, b) / stored.width - top + 1)};
}

static void image_shrink(fc_source *base, int divisor) {
  image_source *source = (image_source *)base;
  source->wish.scale = divisor;
  set_format(source, source->header.channels, FC_U8);
}

static gboolean decode(image_source *source, GError **error) {
  g_autofree char *warning = NULL;
  if (!fc_image_decode(source->head.base.name, source->file, source->size, &source->header, &source->wish,
                       source->options.decoders, &source->picture, &warning, error))
    return FALSE;
  if (source->header.cut && !warning) warning = g_strdup("is cut off: the file ends before the image");
  if (warning)
    fc_media_warn(&source->options, "%s: %s; the readable part is used", source->head.base.name, warning);
  g_clear_pointer(&source->file, g_free);
  return TRUE;
}

/* Rows that are dense on both sides. Neither is in the caches, so the next row is asked for before one is
 * copied: copies took 8 % of what a JPEG of 1024 x 768 takes in a batch, and take 6.7 %. */
static void copy_rows(const fc_view *to, const fc_view *from, gint64 bytes) {
  char *t = to->data;
  const char *f = from->data;
  for (gint64 y = 0; y < to->shape[FC_AXIS_Y]; y++) {
    for (gint64 i = 0; i < bytes; i += 64) {
      __builtin_prefetch(f + from->stride[FC_AXIS_Y] + i);
      __builtin_prefetch(t + to->stride[FC_AXIS_Y] + i, 1);
    }
    memcpy(t, f, (gsize)bytes);
    t += to->stride[FC_AXIS_Y], f += from->stride[FC_AXIS_Y];
  }
}

static gint64 image_read(fc_source *base, const fc_view *into, GError **error) {
  image_source *source = (image_source *)base;
  gint64 rows = base->format.extent[FC_AXIS_Y];
  if (source->rows == rows || into->shape[FC_AXIS_N] < 1) return 0;
  if (!source->picture.pixels && !decode(source, error)) return -1;
  if (base->by_rows) rows = MIN(rows - source->rows, into->shape[FC_AXIS_Y]);
  const fc_picture *picture = &source->picture;
  const pixel_way way = way_through(picture, source->header.orientation);
  const gint64 sample = (gint64)fc_dtype_size(picture->dtype), pixel = picture->channels * sample;
  const fc_range columns = source->looked_columns;
  const gint64 first = MAX(source->looked_rows.lo - source->rows, 0);
  const gint64 end = MIN(rows, source->looked_rows.hi - source->rows);
  fc_view to = *into, from = *into;
  to.data = fc_view_at(into, 0, first, columns.lo, 0);
  from.data = (char *)picture->pixels +
              (way.start + (source->rows + first) * way.row + columns.lo * way.column) * pixel;
  from.stride[FC_AXIS_Y] = way.row * pixel, from.stride[FC_AXIS_X] = way.column * pixel;
  from.stride[FC_AXIS_C] = sample;
  to.shape[FC_AXIS_N] = from.shape[FC_AXIS_N] = 1;
  to.shape[FC_AXIS_Y] = from.shape[FC_AXIS_Y] = MAX(end - first, 0);
  to.shape[FC_AXIS_X] = from.shape[FC_AXIS_X] = fc_range_length(columns);
  const gboolean dense = way.column == 1 && to.stride[FC_AXIS_X] == pixel && to.stride[FC_AXIS_C] == sample;
  if (dense && to.shape[FC_AXIS_Y] > 0)
    copy_rows(&to, &from, to.shape[FC_AXIS_X] * pixel);
  else
    fc_view_copy(&to, &from);
  source->rows += rows;
  return base->by_rows ? rows : 1;
}

gboolean fc_image_encoded(const fc_source *base, fc_encoded *encoded) {
  const image_source *source = (const image_source *)base;
  if (base->read != image_read || source->header.kind != FC_IMAGE_JPEG || !source->header.simple ||
      source->header.cut || source->header.orientation != 1 || source->wish.scale != 1 ||
      source->wish.lenient || source->picture.pixels || !source->file)
    return FALSE;
  *encoded = (fc_encoded){source->file, source->size};
  return TRUE;
}

static void image_close(fc_file_source *head) {
  image_source *source = (image_source *)head;
  fc_picture_clear(&source->picture);
  g_free(source->file);
}

/* ---- opening --------------------------------------------------------------- */

static fc_image_kind kind_of(const fc_file_format *format) {
  static const char *const names[] = {"png", "jpg", "webp", "tiff", "bmp", "tga"};
  guint kind = 0;
  while (strcmp(names[kind], format->name) != 0) kind++;
  return (fc_image_kind)kind;
}

static gboolean check_size(const char *name, const fc_image_header *header, gint64 max_pixels,
                           GError **error) {
  gint64 limit = max_pixels > 0 ? max_pixels : FC_PIXELS_MOST;
  if (header->width > FC_IMAGE_SIDE_MAX || header->height > FC_IMAGE_SIDE_MAX)
    return fc_fail(error, FC_UNSUPPORTED,
                   "%s: %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT " pixels: a side may have %d at most", name,
                   header->width, header->height, FC_IMAGE_SIDE_MAX);
  if (header->width < 1 || header->height < 1) return fc_fail(error, FC_IO, "%s: holds no pixels", name);
  if (header->width > limit / header->height)
    return fc_fail(error, FC_UNSUPPORTED,
                   "%s: %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT
                   " pixels are more than the limit of %" G_GINT64_FORMAT " (--max-pixels sets it)",
                   name, header->width, header->height, limit);
  return TRUE;
}

/* 0: auto. */
static int scale_of(const fc_media_options *options) {
  if (!CAN_SHRINK) return 1;
  const char *scale = fc_option_text(options->in_options, fc_jpeg_reading, "scale");
  return strcmp(scale, "auto") == 0 ? 0 : scale[1] ? scale[2] - '0' : 1;
}

/* How it is turned, for -v. */
static void orient(image_source *source, const char *name) {
  static const char *const ways[] = {"mirrored",
                                     "turned by 180 degrees",
                                     "mirrored top to bottom",
                                     "transposed",
                                     "turned by 90 degrees",
                                     "mirrored at the other diagonal",
                                     "turned by 270 degrees"};
  fc_image_header *header = &source->header;
  if (header->orientation < 2) return;
  if (strcmp(fc_option_text(source->options.in_options, fc_image_reading, "orient"), "no") == 0)
    header->orientation = 1;
  else
    fc_media_note(&source->options, "%s: is %s on reading, as its EXIF orientation %d says", name,
                  ways[header->orientation - 2], header->orientation);
}

static gboolean open_loaded(image_source *source, fc_input *input, const fc_file_format *format,
                            GError **error) {
  const fc_media_options *options = &source->options;
  fc_image_header *header = &source->header;
  source->file = fc_input_load(input, FC_IMAGE_FILE_MAX, &source->size, error);
  if (!source->file ||
      !fc_image_read_header(input->name, kind_of(format), source->file, source->size, header, error) ||
      !check_size(input->name, header, options->max_pixels, error))
    return FALSE;
  orient(source, input->name);
  if (header->inks)
    fc_media_note(options, "%s: is CMYK, and made RGB without its colour profile", input->name);
  if (header->cut && !options->allow_truncated)
    return fc_fail(error, FC_IO, "%s: is cut off: the file ends before the image" FC_MEDIA_ADVICE,
                   input->name);
  const gboolean later = header->kind == FC_IMAGE_JPEG;
  const int scale = later ? scale_of(options) : 1;
  source->wish = (fc_decode_wish){
      .scale = MAX(scale, 1), .lenient = options->allow_truncated, .cancel = options->cancel};
  source->head.tags = fc_image_tags_read(source->file, source->size, header);
  if (!fc_tags_check(source->head.tags, input->name, error)) return FALSE;
  if (!scale) source->head.base.shrink = image_shrink;
  if (later && CAN_SHRINK) source->head.base.window = image_window;
  if (!later && !decode(source, error)) return FALSE;
  set_format(source, later ? header->channels : source->picture.channels,
             later ? FC_U8 : source->picture.dtype);
  return TRUE;
}

fc_source *fc_image_open(fc_input *input, const fc_file_format *format, const fc_media_options *options,
                         GError **error) {
  image_source *source = g_new0(image_source, 1);
  source->head.base = (fc_source){
      .name = g_strdup(input->name), .can_rows = TRUE, .read = image_read, .free = fc_file_source_free};
  source->head.close = image_close;
  source->options = *options;
  gboolean opened = open_loaded(source, input, format, error);
  fc_input_free(input);
  if (opened) return &source->head.base;
  fc_file_source_free(&source->head.base);
  return NULL;
}
