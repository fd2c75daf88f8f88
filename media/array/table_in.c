/* SPDX-License-Identifier: MIT */
/*
 * table_in.c - masks and matrices from files: text, .npy, or a sound whose samples
 * are an impulse response.
 */
#include "core/registry/table.h"

#include "media/file/blob.h"
#include "media/file/formats.h"
#include "media/array/quantise.h"
#include "media/file/warn.h"

#include <string.h>

/* Limit of a table's text: FC_TABLE_MAX numbers of about twenty characters. */
#define TEXT_MAX ((gsize)1 << 31)
/* Frames, or elements of an array, read at a time. */
#define STEP 65536

/* A dense view of `count` elements of the stream axis in `block`. */
static fc_view block_view(const fc_format *format, void *block, gint64 count) {
  fc_view view = {
      .size = sizeof view, .dtype = format->dtype, .kind = format->kind, .device = FC_HOST, .data = block};
  gint64 step = (gint64)fc_dtype_size(format->dtype);
  for (int axis = FC_AXES - 1; axis >= 0; axis--) {
    view.shape[axis] = axis == (int)fc_stream_axis(format->kind) ? count : format->extent[axis];
    view.stride[axis] = step;
    step *= view.shape[axis];
  }
  return view;
}

/* Elements per position of the stream axis: channels, or a whole array. -1 if that is more than a table
 * holds. */
static gint64 elements_of(const fc_format *format) {
  gint64 elements = 1;
  for (int axis = 0; axis < FC_AXES; axis++) {
    if (axis == (int)fc_stream_axis(format->kind)) continue;
    if (format->extent[axis] > FC_TABLE_MAX / MAX(elements, 1)) return -1;
    elements *= format->extent[axis];
  }
  return elements;
}

static gboolean fail_large(const fc_source *source, GError **error) {
  return fc_fail(error, FC_IO, "%s: holds more than the %" G_GINT64_FORMAT " numbers of a table",
                 source->name, FC_TABLE_MAX);
}

static gboolean fail_memory(const fc_source *source, GError **error) {
  return fc_fail(error, FC_NO_MEMORY, "%s: no memory to read it", source->name);
}

/* Appends all samples of the source, as real values. */
static gboolean read_values(fc_source *source, fc_blob *values, GError **error) {
  gint64 each = elements_of(&source->format);
  if (each <= 0) return each == 0 || fail_large(source, error);
  gint64 step = MAX(STEP / each, 1);
  g_autofree void *block = g_try_malloc((gsize)(step * each) * fc_dtype_size(source->format.dtype));
  if (!block) return fail_memory(source, error);
  for (;;) {
    fc_view view = block_view(&source->format, block, step);
    gint64 got = source->read(source, &view, error);
    if (got <= 0) return got == 0;
    gsize count = (gsize)(got * each);
    if (values->size / sizeof(double) + count > FC_TABLE_MAX) return fail_large(source, error);
    view.shape[fc_stream_axis(source->format.kind)] = got;
    guint8 *to = fc_blob_grow(values, count * sizeof(double));
    if (!to) return fail_memory(source, error);
    if (!fc_quantise(source->name, &view, 0, to, FC_F64, error)) return FALSE;
  }
}

/* A sound: one column per channel; a single channel is one row. An array: its rows become those of the
 * table; a single column becomes one row too. */
static fc_table *table_of(const fc_source *source, const fc_blob *values, GError **error) {
  const fc_format *format = &source->format;
  gint64 cols = format->kind == FC_AUDIO ? format->extent[FC_AXIS_C] : format->extent[FC_AXIS_X];
  if (format->kind != FC_AUDIO && (format->extent[FC_AXIS_C] != 1 || format->extent[FC_AXIS_N] != 1)) {
    fc_fail(error, FC_IO, "%s: a table has one or two dimensions", source->name);
    return NULL;
  }
  gint64 rows = cols ? (gint64)(values->size / sizeof(double)) / cols : 0;
  if (rows < 1 || cols < 1) {
    fc_fail(error, FC_IO, "%s: holds no numbers", source->name);
    return NULL;
  }
  if (cols == 1 && format->kind == FC_AUDIO) cols = rows, rows = 1;
  double rate = format->kind == FC_AUDIO ? format->rate : 0;
  return fc_table_new(source->name, rows, cols, (const double *)(const void *)values->data, rate, error);
}

/* A truncated table is refused. */
static void drop_advice(GError *error) {
  if (g_str_has_suffix(error->message, FC_MEDIA_ADVICE))
    error->message[strlen(error->message) - strlen(FC_MEDIA_ADVICE)] = 0;
}

static fc_table *read_source(fc_input *input, const fc_file_format *format, GError **error) {
  const fc_media_options none = {0};
  fc_source *source = format->open(input, format, &none, error);
  if (!source) return NULL;
  g_auto(fc_blob) values = {0};
  fc_table *table = read_values(source, &values, error) ? table_of(source, &values, error) : NULL;
  source->free(source);
  return table;
}

static fc_table *read_text(fc_input *input, gboolean ragged, GError **error) {
  gsize size;
  g_autofree guint8 *text = fc_input_load(input, TEXT_MAX, &size, error);
  return text ? fc_table_parse(input->name, (const char *)text, size, ragged, error) : NULL;
}

fc_table *fc_media_load_table(const char *path, gboolean ragged, GError **error) {
  const fc_media_options none = {0};
  g_autoptr(fc_input) input = fc_input_open(path, NULL, error);
  if (!input) return NULL;
  const fc_file_format *format = fc_probe_input(input, &none, NULL);
  if (!format || !(format->sndfile || strcmp(format->name, "npy") == 0))
    return read_text(input, ragged, error);
  fc_table *table = read_source(g_steal_pointer(&input), format, error);
  if (!table && error) drop_advice(*error);
  return table;
}
