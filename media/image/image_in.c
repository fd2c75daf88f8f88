/* SPDX-License-Identifier: MIT */
/*
 * image_in.c - the source for PNG, JPEG, BMP and TGA: one image, decoded at opening,
 * turned upright while it is handed over.
 */
#include <string.h>

#include "media/image/image_meta.h"

#include "media/file/warn.h"

#define PIXELS_MAX ((gint64)1 << 28)

typedef struct image_source {
  fc_source base;
  fc_picture picture;
  fc_image_meta *meta;
  int orientation;
  gint64 rows; /* delivered */
} image_source;

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

static void copy_row(char *to, gint64 to_step, const char *from, gint64 from_step, gint64 count, gsize size) {
  if (to_step == (gint64)size && from_step == (gint64)size) {
    memcpy(to, from, (gsize)count * size);
    return;
  }
  for (gint64 x = 0; x < count; x++) memcpy(to + x * to_step, from + x * from_step, size);
}

static gint64 image_read(fc_source *base, const fc_view *into, GError **error) {
  image_source *source = (image_source *)base;
  gint64 rows = base->format.extent[FC_AXIS_Y];
  if (source->rows == rows || into->shape[FC_AXIS_N] < 1) return 0;
  if (base->by_rows) rows = MIN(rows - source->rows, into->shape[FC_AXIS_Y]);
  const fc_picture *picture = &source->picture;
  pixel_way way = way_through(picture, source->orientation);
  gint64 pixel = picture->channels * (gint64)fc_dtype_size(picture->dtype);
  const char *start = (const char *)picture->pixels + (way.start + source->rows * way.row) * pixel;
  for (gint64 y = 0; y < rows; y++)
    copy_row(fc_view_at(into, 0, y, 0, 0), into->stride[FC_AXIS_X], start + y * way.row * pixel,
             way.column * pixel, base->format.extent[FC_AXIS_X], (gsize)pixel);
  source->rows += rows;
  return base->by_rows ? rows : 1;
}

static void image_free(fc_source *base) {
  image_source *source = (image_source *)base;
  fc_picture_clear(&source->picture);
  fc_image_meta_unref(source->meta);
  g_free(base->name);
  g_free(source);
}

fc_image_meta *fc_image_source_meta(fc_source *source) {
  return source && source->read == image_read ? fc_image_meta_ref(((image_source *)source)->meta) : NULL;
}

/* Takes over picture and meta. */
static fc_source *source_new(const char *name, const fc_picture *picture, int orientation,
                             fc_image_meta *meta) {
  image_source *source = g_new0(image_source, 1);
  gboolean lying = orientation >= 5;
  source->base.name = g_strdup(name);
  source->base.can_rows = TRUE;
  source->base.read = image_read;
  source->base.free = image_free;
  source->picture = *picture;
  source->orientation = orientation;
  source->meta = meta;
  source->base.format = (fc_format){.size = sizeof(fc_format),
                                    .kind = FC_IMAGE,
                                    .dtype = picture->dtype,
                                    .bits = picture->dtype == FC_U16 ? 16 : 8,
                                    .layout = FC_INTERLEAVED,
                                    .extent = {1, lying ? picture->width : picture->height,
                                               lying ? picture->height : picture->width, picture->channels}};
  return &source->base;
}

static fc_image_checker checker_of(const fc_file_format *format) {
  static const struct {
    const char *name;
    fc_image_checker check;
  } checkers[] = {
      {"png", fc_png_check}, {"jpg", fc_jpeg_check}, {"bmp", fc_bmp_check}, {"tga", fc_tga_check}};
  for (gsize i = 0; i < G_N_ELEMENTS(checkers); i++)
    if (strcmp(checkers[i].name, format->name) == 0) return checkers[i].check;
  g_assert_not_reached();
}

static gboolean check_size(const char *name, const fc_image_check *check, gint64 max_pixels, GError **error) {
  gint64 limit = max_pixels > 0 ? max_pixels : PIXELS_MAX;
  if (check->width > FC_IMAGE_SIDE_MAX || check->height > FC_IMAGE_SIDE_MAX)
    return fc_fail(error, FC_UNSUPPORTED,
                   "%s: %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT " pixels: a side may have %d at most", name,
                   check->width, check->height, FC_IMAGE_SIDE_MAX);
  if (check->width < 1 || check->height < 1) return fc_fail(error, FC_IO, "%s: holds no pixels", name);
  if (check->width > limit / check->height)
    return fc_fail(error, FC_UNSUPPORTED,
                   "%s: %" G_GINT64_FORMAT " x %" G_GINT64_FORMAT
                   " pixels are more than the limit of %" G_GINT64_FORMAT " (--max-pixels sets it)",
                   name, check->width, check->height, limit);
  return TRUE;
}

static gboolean check_whole(const char *name, const fc_image_check *check, const fc_media_options *options,
                            GError **error) {
  return !check->cut || options->allow_truncated ||
         fc_fail(error, FC_IO, "%s: is cut off: the file ends before the image" FC_MEDIA_ADVICE, name);
}

static fc_source *open_loaded(fc_input *input, const fc_file_format *format, const fc_media_options *options,
                              GError **error) {
  gsize size;
  fc_picture picture = {0};
  fc_image_check check = {.orientation = 1};
  g_autofree guint8 *file = fc_input_load(input, FC_IMAGE_FILE_MAX, &size, error);
  if (!file || !checker_of(format)(input->name, file, size, &check, error) ||
      !check_size(input->name, &check, options->max_pixels, error) ||
      !check_whole(input->name, &check, options, error) ||
      !fc_image_decode(input->name, file, size, &check, options->decoders, &picture, error))
    return NULL;
  if (check.cut)
    fc_media_warn(options, "%s: is cut off: the file ends before the image; what is there is taken",
                  input->name);
  fc_image_meta *meta = fc_image_meta_read(file, size, picture.channels, check.orientation);
  if (meta) return source_new(input->name, &picture, check.orientation, meta);
  fc_picture_clear(&picture);
  fc_fail(error, FC_NO_MEMORY, "%s: no memory for its metadata", input->name);
  return NULL;
}

fc_source *fc_image_open(fc_input *input, const fc_file_format *format, const fc_media_options *options,
                         GError **error) {
  fc_source *source = open_loaded(input, format, options, error);
  fc_input_free(input);
  return source;
}
