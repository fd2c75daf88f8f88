/* SPDX-License-Identifier: MIT */
/*
 * raw_in.c - samples without a header, whose layout the user gives:
 *
 *   dtype=f32,channels=2,rate=48000           sound
 *   dtype=u8,width=640,height=480,channels=3  images, as many as the file holds
 *
 * in --raw, or as options of the file itself: "in.raw:dtype=f32:channels=2:rate=48000".
 */
#include <string.h>

#include "media/array/array.h"
#include "media/file/options.h"

#define EXAMPLE "dtype=f32,channels=2,rate=48000"

const fc_file_option fc_raw_reading[] = {
    {"dtype", "u8|i16|u16|i32|f32|f64", "required", "type of an element"},
    {"channels", "1..65535", "1", "channels of the sound or image"},
    {"rate", "1..1000000000", "required for sound", "sample rate"},
    {"width", "1..2147483647", "required for images", "pixels of a row"},
    {"height", "1..2147483647", "required for images", "rows of an image"},
    {"length", "1..281474976710656", "by the file's size", "frames of sound, or images"},
    {"layout", "interleaved|planar", "interleaved", "planar: one channel after the other"},
    {"endian", "little|big", "little", "order of the bytes of an element"},
    {NULL, NULL, NULL, NULL}};

typedef struct raw_layout {
  int dtype;
  gint64 channels, width, height, length, rate; /* 0: not given */
  gboolean planar, big;
} raw_layout;

static gboolean check(const raw_layout *layout, GError **error) {
  if (layout->dtype == FC_DTYPE_COUNT)
    return fc_fail(error, FC_INVALID, "raw layout: dtype is missing, as in " EXAMPLE);
  if (!layout->width != !layout->height)
    return fc_fail(error, FC_INVALID, "raw layout: an image needs both width and height");
  if (layout->width && layout->rate)
    return fc_fail(error, FC_INVALID, "raw layout: rate is of a sound, width and height are of images");
  if (!layout->width && !layout->rate)
    return fc_fail(error, FC_INVALID, "raw layout: rate is missing (or width and height), as in " EXAMPLE);
  return TRUE;
}

static gboolean take(const fc_given_options *given, raw_layout *layout, GError **error) {
  const fc_file_option *const table = fc_raw_reading;
  const char *dtype = fc_option_text(given, table, "dtype");
  *layout = (raw_layout){.channels = fc_option_number(given, table, "channels"),
                         .rate = fc_option_number(given, table, "rate"),
                         .width = fc_option_number(given, table, "width"),
                         .height = fc_option_number(given, table, "height"),
                         .length = fc_option_number(given, table, "length"),
                         .planar = strcmp(fc_option_text(given, table, "layout"), "planar") == 0,
                         .big = strcmp(fc_option_text(given, table, "endian"), "big") == 0};
  while (layout->dtype < FC_DTYPE_COUNT && strcmp(dtype, fc_dtype_name(layout->dtype)) != 0) layout->dtype++;
  return check(layout, error);
}

/* "dtype=f32,rate=48000", as --raw has it: options of a file, with other signs between them. */
static gboolean parse(const char *text, raw_layout *layout, GError **error) {
  g_autoptr(fc_given_options) given = NULL;
  g_auto(GStrv) words = g_strsplit(text, " ", -1);
  g_autofree char *joined = g_strjoinv("", words), *file = g_strconcat("raw:", joined, NULL);
  g_autofree char *path = fc_given_options_parse(g_strdelimit(file, ",", ':'), FALSE, &given, error);
  return path && fc_given_options_check(given, fc_raw_reading, "raw layout", "raw", error) &&
         take(given, layout, error);
}

/* The same as .npy calls it. */
static const fc_item *item_of(int dtype) {
  const char *name = fc_dtype_name(dtype);
  return fc_item_find(name[0], (int)fc_dtype_size(dtype));
}

static void lay_out(const raw_layout *layout, fc_array_file *file) {
  gboolean sound = !layout->width;
  gint64 size = (gint64)fc_dtype_size(layout->dtype), length = layout->length ? layout->length : FC_UNKNOWN;
  file->item = item_of(layout->dtype);
  file->swap = size > 1 && layout->big == (G_BYTE_ORDER == G_LITTLE_ENDIAN);
  file->format = (fc_format){.size = sizeof(fc_format),
                             .kind = sound ? FC_AUDIO : FC_IMAGE,
                             .layout = layout->planar ? FC_PLANAR : FC_INTERLEAVED,
                             .extent = {sound ? 1 : length, sound ? 1 : layout->height,
                                        sound ? length : layout->width, layout->channels},
                             .rate = (double)layout->rate};
  file->outermost = sound ? FC_AXIS_X : FC_AXIS_N;
  file->strided = layout->planar && layout->channels > 1;
}

/* Once the length is known: a channel of sound, or of one image, is a plane. */
static void set_strides(fc_array_file *file) {
  const gint64 *extent = file->format.extent;
  gint64 size = file->item->size;
  file->stride[FC_AXIS_X] = size;
  file->stride[FC_AXIS_Y] = size * extent[FC_AXIS_X];
  file->stride[FC_AXIS_C] = file->stride[FC_AXIS_Y] * extent[FC_AXIS_Y];
  file->stride[FC_AXIS_N] = file->stride[FC_AXIS_C] * extent[FC_AXIS_C];
}

/* Each plane is as long as the sound, so that the file's size must tell it. */
static gboolean find_length(fc_input *input, fc_array_file *file, GError **error) {
  if (!file->strided) return TRUE;
  if (!fc_input_make_seekable(input, error)) return FALSE;
  gint64 frame = file->item->size * file->format.extent[FC_AXIS_C];
  if (file->format.kind == FC_AUDIO && file->format.extent[FC_AXIS_X] == FC_UNKNOWN &&
      input->size % frame == 0)
    file->format.extent[FC_AXIS_X] = input->size / frame;
  set_strides(file);
  return TRUE;
}

fc_source *fc_raw_open(fc_input *input, const fc_file_format *format, const fc_media_options *options,
                       GError **error) {
  raw_layout layout;
  fc_array_file file = {0};
  gboolean parsed = FALSE;
  if (options->in_options)
    parsed = take(options->in_options, &layout, error);
  else if (options->in_raw)
    parsed = parse(options->in_raw, &layout, error);
  else
    fc_fail(error, FC_INVALID, "%s: raw samples need a layout, as in --raw " EXAMPLE, input->name);
  if (parsed) lay_out(&layout, &file);
  if (!parsed || !find_length(input, &file, error)) {
    fc_input_free(input);
    return NULL;
  }
  return fc_array_source_new(input, &file, options, error);
}
