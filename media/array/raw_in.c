/* SPDX-License-Identifier: MIT */
/*
 * raw_in.c - samples without a header, whose layout the user gives:
 *
 *   dtype=f32,channels=2,rate=48000           sound
 *   dtype=u8,width=640,height=480,channels=3  images, as many as the file holds
 *
 * and with either layout=planar (a channel after the other), endian=big, and length=N
 * frames or images, else the file's size tells.
 */
#include <string.h>

#include "media/array/array.h"

#define EXAMPLE "dtype=f32,channels=2,rate=48000"

typedef struct raw_layout {
  int dtype; /* -1: not given */
  gint64 channels, width, height, length;
  gint64 rate;
  gboolean planar, big;
} raw_layout;

static gboolean fail_value(const char *key, const char *value, const char *expected, GError **error) {
  return fc_fail(error, FC_INVALID, "raw layout: %s: \"%s\": expected %s", key, value, expected);
}

static gboolean set_dtype(const char *value, int *dtype, GError **error) {
  for (*dtype = 0; *dtype < FC_DTYPE_COUNT; (*dtype)++)
    if (strcmp(value, fc_dtype_name(*dtype)) == 0) return TRUE;
  return fail_value("dtype", value, "u8, i16, u16, i32, f32 or f64", error);
}

static gboolean set_choice(const char *key, const char *value, const char *no, const char *yes, gboolean *to,
                           GError **error) {
  g_autofree char *expected = g_strdup_printf("%s or %s", no, yes);
  *to = strcmp(value, yes) == 0;
  return *to || strcmp(value, no) == 0 || fail_value(key, value, expected, error);
}

static gboolean set_number(const char *key, const char *value, gint64 most, gint64 *to, GError **error) {
  guint64 number;
  if (!g_ascii_string_to_unsigned(value, 10, 1, (guint64)most, &number, NULL)) {
    g_autofree char *expected = g_strdup_printf("1 to %" G_GINT64_FORMAT, most);
    return fail_value(key, value, expected, error);
  }
  *to = (gint64)number;
  return TRUE;
}

static gboolean set(raw_layout *layout, const char *key, const char *value, GError **error) {
  if (strcmp(key, "dtype") == 0) return set_dtype(value, &layout->dtype, error);
  if (strcmp(key, "layout") == 0)
    return set_choice(key, value, "interleaved", "planar", &layout->planar, error);
  if (strcmp(key, "endian") == 0) return set_choice(key, value, "little", "big", &layout->big, error);
  const struct {
    const char *key;
    gint64 most, *to;
  } numbers[] = {{"channels", 65535, &layout->channels},
                 {"rate", 1000000000, &layout->rate},
                 {"width", G_MAXINT32, &layout->width},
                 {"height", G_MAXINT32, &layout->height},
                 {"length", (gint64)1 << 48, &layout->length}};
  for (gsize i = 0; i < G_N_ELEMENTS(numbers); i++)
    if (strcmp(key, numbers[i].key) == 0)
      return set_number(key, value, numbers[i].most, numbers[i].to, error);
  return fc_fail(
      error, FC_INVALID,
      "raw layout: unknown \"%s\": there are dtype, channels, rate, width, height, length, layout and endian",
      key);
}

static gboolean check(const raw_layout *layout, GError **error) {
  if (layout->dtype < 0) return fc_fail(error, FC_INVALID, "raw layout: dtype is missing, as in " EXAMPLE);
  if (!layout->width != !layout->height)
    return fc_fail(error, FC_INVALID, "raw layout: an image needs both width and height");
  if (layout->width && layout->rate)
    return fc_fail(error, FC_INVALID, "raw layout: rate is of a sound, width and height are of images");
  if (!layout->width && !layout->rate)
    return fc_fail(error, FC_INVALID, "raw layout: rate is missing (or width and height), as in " EXAMPLE);
  return TRUE;
}

static gboolean parse(const char *text, raw_layout *layout, GError **error) {
  g_auto(GStrv) parts = g_strsplit(text, ",", -1);
  for (char **part = parts; *part; part++) {
    char *key = g_strstrip(*part), *equals = strchr(key, '=');
    if (!equals)
      return fc_fail(error, FC_INVALID, "raw layout: \"%s\": expected key=value, as in " EXAMPLE, key);
    *equals = 0;
    for (char **other = parts; other < part; other++)
      if (strcmp(g_strstrip(*other), g_strchomp(key)) == 0)
        return fc_fail(error, FC_INVALID, "raw layout: %s is given twice", key);
    if (!set(layout, g_strchomp(key), g_strchug(equals + 1), error)) return FALSE;
  }
  return check(layout, error);
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
  raw_layout layout = {.dtype = -1, .channels = 1};
  fc_array_file file = {0};
  gboolean parsed = FALSE;
  if (!options->in_raw)
    fc_fail(error, FC_INVALID, "%s: raw samples need a layout, as in --raw " EXAMPLE, input->name);
  else
    parsed = parse(options->in_raw, &layout, error);
  if (parsed) lay_out(&layout, &file);
  if (!parsed || !find_length(input, &file, error)) {
    fc_input_free(input);
    return NULL;
  }
  fc_reader *reader = g_new0(fc_reader, 1);
  reader->input = input;
  return fc_array_source_new(input, reader, &file, options, error);
}
