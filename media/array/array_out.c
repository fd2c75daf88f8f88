/* SPDX-License-Identifier: MIT */
/*
 * array_out.c - plain elements as .npy or raw, in the chain's element type.
 *
 * .npy of sound is (frames, channels), or (frames) when mono; of an image (Y, X, C), or
 * (Y, X) when it has one channel; an array has the dimensions of its .npy input if these suffice, else as
 * many as are needed, at least two. If the length was not known, the header is written again at the end. Raw
 * is the elements alone, little-endian, in the order N, Y, X, C.
 */
#include <stdio.h>
#include <string.h>

#include "media/array/array.h"
#include "media/file/output.h"
#include "media/array/quantise.h"

#define ALIGN    64 /* offset of the first element, as NumPy aligns it */
#define PIECE    65536
#define DIMS_MAX 4
/* Of larger ones memory is taken as they grow: what the header of an input says of its size may be wrong. */
#define EXPECTED_MOST ((gsize)64 << 20)

typedef struct array_sink {
  fc_sink base;
  char *path;
  fc_media_options options; /* its strings are not used */
  unsigned flags;
  gboolean npy;
  int raw_like;  /* the integer type of raw sound input, or -1 */
  int like_dims; /* dimensions of the .npy input; 0 or less: none */
  fc_format format;
  int dims;
  gsize header_size;
  fc_output *output;
  gint64 position;
  void *scratch;
  gsize scratch_size;
} array_sink;

/* The axis along which pieces arrive. */
static int axis_of(const array_sink *sink) {
  return (int)fc_sink_axis(&sink->base, sink->format.kind);
}

/* ---- header ------------------------------------------------------------ */

/* The least number of dimensions that holds everything. */
static int dims_needed(const fc_format *format) {
  const gint64 *extent = format->extent;
  if (format->kind == FC_AUDIO) return extent[FC_AXIS_C] == 1 ? 1 : 2;
  if (extent[FC_AXIS_N] != 1) return 4;
  return extent[FC_AXIS_C] != 1 ? 3 : 2;
}

static int choose_dims(const array_sink *sink, const fc_format *format) {
  int needed = dims_needed(format);
  if (format->kind != FC_ARRAY || sink->like_dims <= 0) return needed;
  gboolean flat = sink->like_dims == 1 && needed == 2 && format->extent[FC_AXIS_Y] == 1;
  return flat ? 1 : MAX(needed, sink->like_dims);
}

/* Our axes, in the order of the file's dimensions. */
static void axes_of(const array_sink *sink, int axes[DIMS_MAX]) {
  static const int sound[] = {FC_AXIS_X, FC_AXIS_C, 0, 0}, flat[] = {FC_AXIS_X, 0, 0, 0},
                   whole[] = {FC_AXIS_N, FC_AXIS_Y, FC_AXIS_X, FC_AXIS_C, 0};
  const int *from = sink->format.kind == FC_AUDIO ? sound
                    : sink->dims == 1             ? flat
                                                  : whole + (sink->dims != 4);
  memcpy(axes, from, sizeof(int) * DIMS_MAX);
}

/* `length` on the stream axis. The text has the same size for any length up to `room`. */
static char *npy_header(const array_sink *sink, gint64 length, gint64 room) {
  int axes[DIMS_MAX], stream = axis_of(sink);
  const char *name = fc_dtype_name(sink->format.dtype);
  axes_of(sink, axes);
  g_autoptr(GString) text = g_string_new(NULL);
  gsize longest = 0;
  for (int pass = 0; pass < 2; pass++) {
    g_string_printf(text, "{'descr': '%c%c%d', 'fortran_order': False, 'shape': (",
                    fc_dtype_size(sink->format.dtype) == 1 ? '|' : '<', name[0],
                    (int)fc_dtype_size(sink->format.dtype));
    for (int i = 0; i < sink->dims; i++)
      g_string_append_printf(text, "%s%" G_GINT64_FORMAT "%s", i ? " " : "",
                             axes[i] == stream ? (pass ? length : room) : sink->format.extent[axes[i]],
                             i + 1 < sink->dims || sink->dims == 1 ? "," : "");
    g_string_append(text, "), }");
    if (pass == 0) longest = text->len;
  }
  gsize size = (10 + longest + 1 + ALIGN - 1) / ALIGN * ALIGN;
  while (text->len < size - 11) g_string_append_c(text, ' ');
  return g_strdup_printf("%s\n", text->str);
}

static gboolean put_header(array_sink *sink, gint64 length, GError **error) {
  gint64 extent = sink->format.extent[axis_of(sink)];
  g_autofree char *text = npy_header(sink, length, extent == FC_UNKNOWN ? G_MAXINT64 : extent);
  gsize size = strlen(text);
  guint8 prefix[10] = "\x93NUMPY\x01";
  prefix[8] = (guint8)size;
  prefix[9] = (guint8)(size >> 8);
  g_autofree guint8 *header = g_malloc(size + sizeof prefix);
  memcpy(header, prefix, sizeof prefix);
  memcpy(header + sizeof prefix, text, size);
  return sink->position ? fc_output_write_at(sink->output, 0, header, size + sizeof prefix, error)
                        : fc_output_write(sink->output, header, size + sizeof prefix, error);
}

/* ---- the sink ---------------------------------------------------------- */

/* Raw sound keeps the input's integer type, like WAV; an array keeps the computed type.
 */
static gboolean keeps_type(const array_sink *sink, const fc_format *format) {
  return sink->raw_like >= 0 && format->kind == FC_AUDIO && fc_dtype_is_float(format->dtype) &&
         !format->stored;
}

static gboolean array_accept(fc_sink *base, fc_format *format, GError **error) {
  const array_sink *sink = (const array_sink *)base;
  if (keeps_type(sink, format)) format->dtype = sink->raw_like;
  base->sample_bytes = (int)fc_dtype_size(format->dtype);
  format->bits = fc_dtype_is_float(format->dtype) ? format->bits : base->sample_bytes * 8;
  return TRUE;
}

static double array_room(const fc_sink *base) {
  const array_sink *sink = (const array_sink *)base;
  return sink->options.out_bytes ? -1 : fc_output_room(sink->path);
}

/* Negative if it is not known. */
static double elements_of(const fc_format *format) {
  double count = 1;
  for (int a = 0; a < FC_AXES; a++) {
    if (format->extent[a] < 0) return -1;
    count *= (double)format->extent[a];
  }
  return count;
}

static gboolean array_begin(fc_sink *base, const fc_format *format, GError **error) {
  array_sink *sink = (array_sink *)base;
  sink->format = *format;
  gint64 length = format->extent[axis_of(sink)];
  gboolean unknown = length == FC_UNKNOWN;
  sink->dims = choose_dims(sink, format);
  sink->output = fc_output_open_for(sink->path, sink->flags | (sink->npy && unknown ? FC_OUTPUT_SEEKS : 0),
                                    &sink->options, error);
  if (!sink->output) return FALSE;
  base->direct = !fc_output_seekable(sink->output);
  const double bytes = elements_of(format) * (double)fc_dtype_size(format->dtype);
  if (bytes > 0 && bytes < (double)EXPECTED_MOST) fc_output_expect(sink->output, (gsize)bytes + 4 * ALIGN);
  return !sink->npy || put_header(sink, unknown ? 0 : length, error);
}

/* Files are little-endian, as nearly all machines are. */
static gboolean write_elements(array_sink *sink, const void *from, gsize count, GError **error) {
  gsize size = fc_dtype_size(sink->format.dtype);
  if (G_BYTE_ORDER == G_LITTLE_ENDIAN) return fc_output_write(sink->output, from, count * size, error);
  g_autofree char *swapped = g_malloc(PIECE * size);
  for (gsize done = 0; done < count; done += PIECE) {
    gsize some = MIN(count - done, PIECE);
    memcpy(swapped, (const char *)from + done * size, some * size);
    fc_items_swap(swapped, some, (int)size);
    if (!fc_output_write(sink->output, swapped, some * size, error)) return FALSE;
  }
  return TRUE;
}

/* Rows whose elements are adjacent need no copy. */
static gboolean write_rows(array_sink *sink, const fc_view *from, GError **error) {
  gsize row = (gsize)(from->shape[FC_AXIS_X] * from->shape[FC_AXIS_C]);
  for (gint64 n = 0; n < from->shape[FC_AXIS_N]; n++)
    for (gint64 y = 0; y < from->shape[FC_AXIS_Y]; y++)
      if (!write_elements(sink, fc_view_at(from, n, y, 0, 0), row, error)) return FALSE;
  return TRUE;
}

static gboolean write_dense(array_sink *sink, const fc_view *from, GError **error) {
  gint64 first = axis_of(sink) == FC_AXIS_N ? 0 : sink->position;
  const void *dense =
      fc_dense(sink->base.name, from, first, sink->format.dtype, &sink->scratch, &sink->scratch_size, error);
  return dense && write_elements(sink, dense, (gsize)fc_view_count(from), error);
}

static gboolean array_write(fc_sink *base, const fc_view *from, GError **error) {
  array_sink *sink = (array_sink *)base;
  gboolean as_it_is = from->dtype == sink->format.dtype && !fc_is_dense(from) && fc_has_dense_rows(from);
  if (!(as_it_is ? write_rows : write_dense)(sink, from, error)) return FALSE;
  sink->position += from->shape[axis_of(sink)];
  return TRUE;
}

static gboolean array_commit(fc_sink *base, GError **error) {
  array_sink *sink = (array_sink *)base;
  gint64 extent = sink->format.extent[axis_of(sink)];
  if (base->by_rows) extent *= sink->format.extent[FC_AXIS_N];
  if (extent != FC_UNKNOWN && extent != sink->position)
    return fc_fail(error, FC_FATAL, "%s: %" G_GINT64_FORMAT " arrived, expected %" G_GINT64_FORMAT,
                   base->name, sink->position, extent);
  if (sink->npy && extent == FC_UNKNOWN && sink->position && !put_header(sink, sink->position, error))
    return FALSE;
  return fc_output_commit(sink->output, error);
}

static void array_free(fc_sink *base) {
  array_sink *sink = (array_sink *)base;
  fc_output_free(sink->output);
  g_free(sink->scratch);
  g_free(sink->path);
  g_free(base->name);
  g_free(sink);
}

fc_sink *fc_array_create(const char *path, const fc_file_format *format, const fc_media_options *options,
                         fc_source *like, GError **error) {
  array_sink *sink = g_new0(array_sink, 1);
  sink->base = (fc_sink){.name = fc_display_name(path, "standard output"),
                         .can_rows = TRUE,
                         .accept = array_accept,
                         .room = array_room,
                         .begin = array_begin,
                         .write = array_write,
                         .commit = array_commit,
                         .free = array_free};
  sink->path = g_strdup(path);
  sink->options = *options;
  sink->flags = fc_output_flags_of(options);
  sink->npy = strcmp(format->name, "npy") == 0;
  sink->like_dims = fc_array_source_dims(like);
  const gboolean raw = !sink->npy && sink->like_dims == 0 && like->format.kind == FC_AUDIO;
  sink->raw_like = raw && !fc_dtype_is_float(like->format.dtype) ? like->format.dtype : -1;
  return &sink->base;
}
