/* SPDX-License-Identifier: MIT */
/*
 * array.c - see array.h. Elements are read in pieces of some pixels, converted to this machine's byte order
 * and type, and copied into the view; if the file's layout is that of a dense view, they are read directly
 * into it. If the order of axes differs (planar, Fortran), each piece is gathered from a copy of the whole
 * file in memory; planar sound is read channel by channel from the file.
 */
#include "media/array/array.h"

#include "media/array/quantise.h"
#include "media/file/warn.h"

#include <string.h>

/* Elements of a piece, but at least one pixel. */
#define PIECE 65536

typedef struct array_source {
  fc_file_source head;
  fc_input *input;
  fc_array_file file;
  fc_media_options options; /* its strings are not used after opening */
  guint8 *all;              /* the whole file, when it is gathered from memory */
  gint64 position;          /* on the stream axis */
  gint64 elements;          /* handed out, for messages */
  gboolean cut_told;        /* the warning has been given */
  void *raw, *ready;        /* a piece, as in the file and converted */
} array_source;

/* ---- fetching ---------------------------------------------------------- */

/* Reads `count` items of one channel into every C-th element of the piece. FALSE with an error if the file
 * has become shorter since it was opened. */
static gboolean fetch_channel(array_source *source, gint64 at, gint64 count, gint64 channel, GError **error) {
  gint64 size = source->file.item->size, step = source->file.stride[FC_AXIS_X];
  gint64 channels = source->head.base.format.extent[FC_AXIS_C];
  char *to = (char *)source->raw + channel * size;
  const guint8 *from = source->all ? source->all + at : source->ready;
  if (!source->all) {
    gssize got = fc_input_read_at(source->input, at, source->ready, (gsize)(count * size), error);
    if (got < 0) return FALSE;
    if (got < count * size)
      return fc_fail(error, FC_IO, "%s: was truncated while it was read", source->head.base.name);
  }
  for (gint64 x = 0; x < count; x++) memcpy(to + x * channels * size, from + x * step, (gsize)size);
  return TRUE;
}

/* Reads `count` pixels from (n, y, x) on into source->raw; returns how many the file has. */
static gint64 fetch(array_source *source, gint64 n, gint64 y, gint64 x, gint64 count, GError **error) {
  const fc_array_file *file = &source->file;
  gint64 channels = source->head.base.format.extent[FC_AXIS_C], pixel = channels * file->item->size;
  if (!file->strided) {
    gssize got = fc_input_read(source->input, source->raw, (gsize)(count * pixel), error);
    return got < 0 ? -1 : pixel ? got / pixel : count;
  }
  gint64 at =
      file->offset + n * file->stride[FC_AXIS_N] + y * file->stride[FC_AXIS_Y] + x * file->stride[FC_AXIS_X];
  for (gint64 c = 0; c < channels; c++)
    if (!fetch_channel(source, at + c * file->stride[FC_AXIS_C], count, c, error)) return -1;
  return count;
}

/* ---- handing over ------------------------------------------------------ */

static void lay(const fc_view *into, gint64 n, gint64 y, gint64 x, gint64 count, const char *from) {
  gint64 channels = into->shape[FC_AXIS_C], size = (gint64)fc_dtype_size(into->dtype);
  char *to = fc_view_at(into, n, y, x, 0);
  gint64 step = into->stride[FC_AXIS_X], next = into->stride[FC_AXIS_C];
  if (next == size && step == size * channels) {
    memcpy(to, from, (gsize)(count * channels * size));
    return;
  }
  for (gint64 i = 0; i < count; i++)
    for (gint64 c = 0; c < channels; c++, from += size) memcpy(to + i * step + c * next, from, (gsize)size);
}

static gboolean convert(array_source *source, gsize count, GError **error) {
  const fc_item *item = source->file.item;
  if (source->file.swap) fc_items_swap(source->raw, count, item->size);
  gssize bad = fc_items_convert(item, source->raw, count, source->ready);
  return bad < 0 ||
         fc_fail(error, FC_UNSUPPORTED,
                 "%s: element %" G_GINT64_FORMAT " is an integer beyond 2^53, which f64 cannot hold",
                 source->head.base.name, source->elements + bad);
}

/* One row of the view; returns how many of its pixels the file has. */
static gint64 read_row(array_source *source, const fc_view *into, gint64 n, gint64 y, gint64 count,
                       GError **error) {
  gint64 channels = source->head.base.format.extent[FC_AXIS_C], piece = MAX(PIECE / MAX(channels, 1), 1),
         done = 0;
  gint64 at[FC_AXES] = {n, y, 0, 0}, rows = MAX(source->head.base.format.extent[FC_AXIS_Y], 1);
  int axis = (int)fc_source_axis(&source->head.base);
  at[FC_AXIS_N] += axis == FC_AXIS_Y ? source->position / rows : 0;
  at[axis] += axis == FC_AXIS_Y ? source->position % rows : source->position;
  while (done < count) {
    gint64 wanted = MIN(piece, count - done);
    gint64 got = fetch(source, at[FC_AXIS_N], at[FC_AXIS_Y], at[FC_AXIS_X] + done, wanted, error);
    if (got < 0 || !convert(source, (gsize)(got * channels), error)) return -1;
    lay(into, n, y, done, got, source->ready);
    source->elements += got * channels;
    done += got;
    if (got < wanted) break;
  }
  return done;
}

/* Bytes of one element of the outermost axis; -1: overflow. */
static gint64 bytes_each(const fc_array_file *file) {
  gint64 bytes = file->item->size;
  for (int axis = 0; axis < FC_AXES; axis++) {
    gint64 extent = file->format.extent[axis];
    if (axis == file->outermost) continue;
    if (extent && bytes > G_MAXINT64 / 2 / extent) return -1;
    bytes *= extent;
  }
  return bytes;
}

/* The file ends within the first image, or within the first row of a single image. */
static gboolean fail_nothing(const array_source *source, gint64 there, GError **error) {
  static const char *const units[FC_AXES] = {"frame", "row", "element", "channel"};
  const fc_array_file *file = &source->file;
  gboolean image = file->format.kind == FC_IMAGE && file->outermost == FC_AXIS_N;
  return fc_fail(error, FC_IO,
                 "%s: is cut off: %" G_GINT64_FORMAT
                 " bytes are there, and the first %s has %" G_GINT64_FORMAT,
                 source->head.base.name, there, image ? "image" : units[file->outermost], bytes_each(file));
}

/* The file ends within an element, or before the length in its header. */
static gboolean end_well(array_source *source, gboolean within, GError **error) {
  const fc_format *format = &source->head.base.format;
  const gint64 promised = format->extent[fc_source_axis(&source->head.base)];
  if ((!within && promised == FC_UNKNOWN) || source->cut_told) return TRUE;
  g_autofree char *fault =
      format->kind == FC_AUDIO && promised != FC_UNKNOWN
          ? g_strdup_printf("is cut off: it ends after %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " frames",
                            source->position, promised)
          : g_strdup_printf("is cut off: it ends after %" G_GINT64_FORMAT " elements", source->elements);
  source->cut_told = TRUE; /* further reads find the end again */
  return fc_media_judge(&source->options, source->head.base.name, fault, error);
}

/* Whether so many rows of the view have the file's layout in memory. */
static gboolean lies_alike(const array_source *source, const fc_view *into, gint64 rows, gint64 columns) {
  fc_view some = *into;
  some.shape[FC_AXIS_N] = 1, some.shape[FC_AXIS_Y] = rows, some.shape[FC_AXIS_X] = columns;
  return !source->file.strided && !source->file.swap && fc_item_is_plain(source->file.item) &&
         fc_is_dense(&some);
}

/* Rows of so many pixels; returns how many pixels the file has. In one read if the layouts agree. */
static gint64 read_pixels(array_source *source, const fc_view *into, gint64 n, gint64 rows, gint64 columns,
                          GError **error) {
  const gint64 channels = source->head.base.format.extent[FC_AXIS_C],
               pixel = channels * source->file.item->size;
  gint64 done = 0;
  if (lies_alike(source, into, rows, columns)) {
    const gssize got =
        fc_input_read(source->input, fc_view_at(into, n, 0, 0, 0), (gsize)(rows * columns * pixel), error);
    source->elements += MAX(got, 0) / pixel * channels;
    return got < 0 ? -1 : got / pixel;
  }
  for (gint64 y = 0; y < rows && done == y * columns; y++) {
    const gint64 got = read_row(source, into, n, y, columns, error);
    if (got < 0) return -1;
    done += got;
  }
  return done;
}

static gint64 read_audio(array_source *source, const fc_view *into, gint64 wanted, GError **error) {
  const gint64 got = read_pixels(source, into, 0, 1, wanted, error);
  if (got < 0) return -1;
  const gint64 frame = source->head.base.format.extent[FC_AXIS_C] * source->file.item->size;
  /* After a header without a length the last frame may be incomplete. */
  const gboolean within = !source->head.tags && (source->input->position - source->file.offset) % frame != 0;
  source->position += got;
  return got < wanted && !end_well(source, within, error) ? -1 : got;
}

/* Whole frames, or rows of a single frame; returns how many. */
static gint64 read_frames(array_source *source, const fc_view *into, gint64 wanted, GError **error) {
  const gboolean by_rows = source->head.base.by_rows;
  const gint64 columns = source->head.base.format.extent[FC_AXIS_X],
               rows = by_rows ? wanted : source->head.base.format.extent[FC_AXIS_Y];
  const gboolean empty = rows == 0 || fc_view_count(into) == 0;
  for (gint64 n = 0; !empty && n < (by_rows ? 1 : wanted); n++) {
    const gint64 got = read_pixels(source, into, n, rows, columns, error);
    if (got < 0) return -1;
    if (got == rows * columns) continue;
    const gboolean within = by_rows ? got % columns > 0 : got > 0;
    /* A list is one row, of which the readable part can be used. */
    const gboolean list = source->file.outermost > FC_AXIS_Y;
    if (within && !list && source->position == 0 && n == 0 && (!by_rows || got < columns))
      return fail_nothing(source, source->input->position - source->file.offset, error) ? 0 : -1;
    if (!end_well(source, within, error)) return -1;
    return by_rows ? got / columns : n;
  }
  return wanted;
}

static gint64 array_read(fc_source *base, const fc_view *into, GError **error) {
  array_source *source = (array_source *)base;
  int axis = (int)fc_source_axis(base);
  gint64 wanted = into->shape[axis], extent = base->format.extent[axis];
  if (base->by_rows) { /* to the end of a frame at most */
    wanted = MIN(wanted, extent - source->position % MAX(extent, 1));
    extent *= base->format.extent[FC_AXIS_N];
  }
  if (extent != FC_UNKNOWN) wanted = MIN(wanted, extent - source->position);
  if (wanted <= 0) return 0;
  gint64 got = base->format.kind == FC_AUDIO ? read_audio(source, into, wanted, error)
                                             : read_frames(source, into, wanted, error);
  if (got > 0 && base->format.kind != FC_AUDIO) source->position += got;
  return got;
}

static gboolean array_seek(fc_source *base, gint64 position, GError **error) {
  array_source *source = (array_source *)base;
  const gint64 channels = base->format.extent[FC_AXIS_C];
  source->position = position, source->elements = position * channels;
  return source->file.strided ||
         fc_input_go_to(source->input, source->file.offset + source->elements * source->file.item->size,
                        error);
}

static void array_close(fc_file_source *head) {
  array_source *source = (array_source *)head;
  fc_input_free(source->input);
  g_free(source->all);
  g_free(source->raw);
  g_free(source->ready);
}

int fc_array_source_dims(const fc_source *source) {
  return source && source->read == array_read ? ((const array_source *)source)->file.dims : -1;
}

/* ---- opening ----------------------------------------------------------- */

/* A pipe that is shorter than its header says is an error before the samples are used: later stages rely on
 * the extent. */
static gboolean spool_if_cuttable(array_source *source, gint64 bytes, GError **error) {
  if (source->input->seekable || !source->options.allow_truncated) return TRUE;
  if (!fc_input_spool(source->input, bytes, error)) return FALSE;
  source->file.offset = 0;
  return TRUE;
}

/* Compares the length in the header with the file's size, if it has one. */
static gboolean check_size(array_source *source, GError **error) {
  fc_array_file *file = &source->file;
  gint64 *extent = &source->head.base.format.extent[file->outermost], each = bytes_each(file);
  if (each < 0 || (each && *extent > G_MAXINT64 / 2 / each))
    return fc_fail(error, FC_UNSUPPORTED, "%s: says that it has more elements than any file holds",
                   source->head.base.name);
  if (*extent != FC_UNKNOWN && each && !spool_if_cuttable(source, each * *extent, error)) return FALSE;
  if (!source->input->seekable || !each) return TRUE;
  gint64 there = MAX(source->input->size - file->offset, 0), whole = there / each;
  gboolean guessed = *extent == FC_UNKNOWN;
  if (guessed ? there % each == 0 : *extent <= whole) {
    *extent = guessed ? whole : *extent;
    return TRUE;
  }
  g_autofree char *what =
      guessed ? g_strdup_printf("its %" G_GINT64_FORMAT " bytes are no multiple of the %" G_GINT64_FORMAT
                                " that the layout asks for",
                                there, each)
              : g_strdup_printf("is cut off: %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT " bytes are there",
                                there, each * *extent);
  if (!whole && file->format.kind != FC_AUDIO && (guessed || source->options.allow_truncated))
    return fail_nothing(source, there, error);
  if (file->strided) return fc_fail(error, FC_IO, "%s: %s", source->head.base.name, what);
  if (!fc_media_judge(&source->options, source->head.base.name, what, error)) return FALSE;
  *extent = whole;
  return TRUE;
}

/* Planar sound is read channel by channel; other orders are gathered from memory. */
static gboolean prepare_strided(array_source *source, GError **error) {
  fc_array_file *file = &source->file;
  if (!file->strided || file->stride[FC_AXIS_X] == file->item->size) return TRUE;
  gint64 size = bytes_each(file) * source->head.base.format.extent[file->outermost];
  source->all = g_try_malloc((gsize)size + 1);
  if (!source->all)
    return fc_fail(error, FC_NO_MEMORY, "%s: no memory for its %" G_GINT64_FORMAT " bytes",
                   source->head.base.name, size);
  gssize got = fc_input_read(source->input, source->all, (gsize)size, error);
  file->offset = 0;
  return got == size ||
         (got >= 0 && fc_fail(error, FC_IO,
                              "%s: is cut off: %" G_GSSIZE_FORMAT " of %" G_GINT64_FORMAT " bytes are there",
                              source->head.base.name, got, size));
}

/* Memory for one piece; none for an array without elements, whatever number of channels it claims. */
static gboolean reserve_piece(array_source *source, GError **error) {
  const gint64 *extent = source->head.base.format.extent;
  gboolean empty = extent[FC_AXIS_N] == 0 || extent[FC_AXIS_Y] == 0 || extent[FC_AXIS_X] == 0;
  gint64 channels = empty ? 0 : extent[FC_AXIS_C];
  gsize count = (gsize)MAX(PIECE, channels);
  if (channels <= (gint64)1 << 32) {
    source->raw = g_try_malloc(count * (gsize)source->file.item->size);
    source->ready =
        g_try_malloc(count * MAX(fc_dtype_size(source->file.item->dtype), (gsize)source->file.item->size));
  }
  return (source->raw && source->ready) ||
         fc_fail(error, FC_NO_MEMORY, "%s: no memory for %" G_GINT64_FORMAT " channels",
                 source->head.base.name, channels);
}

fc_source *fc_array_source_new(fc_input *input, const fc_array_file *file, const fc_media_options *options,
                               GError **error) {
  array_source *source = g_new0(array_source, 1);
  source->head = (fc_file_source){.base = {.name = g_strdup(input->name),
                                           .can_rows = file->format.kind != FC_AUDIO,
                                           .read = array_read,
                                           .free = fc_file_source_free,
                                           .format = file->format},
                                  .tags = file->tags,
                                  .close = array_close};
  source->head.base.format.dtype = file->item->dtype;
  source->head.base.format.bits = file->item->bits;
  source->input = input;
  source->file = *file;
  source->options = *options;
  if (check_size(source, error) && prepare_strided(source, error) && reserve_piece(source, error)) {
    if (file->tags) file->tags->frames = source->head.base.format.extent[FC_AXIS_X];
    if (input->seekable && file->format.kind == FC_AUDIO) source->head.base.seek = array_seek;
    return &source->head.base;
  }
  fc_file_source_free(&source->head.base);
  return NULL;
}
