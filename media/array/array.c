/* SPDX-License-Identifier: MIT */
/*
 * array.c - see array.h. Elements are fetched in pieces of some pixels, brought into
 * this machine's order and type, and laid into the view; what lies in the file as it is wanted in a
 * dense view is read straight into that. Where a file's order is not
 * ours (planar, Fortran) each piece is gathered from a whole copy in memory, but for
 * planar sound, whose channels are read where they lie.
 */
#include "media/array/array.h"

#include "media/array/quantise.h"
#include "media/file/warn.h"

#include <string.h>

/* Elements of a piece, but at least one pixel. */
#define PIECE 65536

typedef struct array_source {
  fc_source base;
  fc_input *input;
  fc_reader *reader;
  fc_array_file file;
  fc_media_options options; /* its strings are not used after opening */
  guint8 *all;              /* the whole file, when it is gathered from memory */
  gint64 position;          /* on the stream axis */
  gint64 elements;          /* handed out, for messages */
  gboolean cut_told;        /* the warning has been given */
  void *raw, *ready;        /* a piece, as in the file and converted */
} array_source;

/* ---- fetching ---------------------------------------------------------- */

/* `count` items of one channel, into every C-th place of the piece. FALSE with an error
 * where the file has become shorter since it was opened. */
static gboolean fetch_channel(array_source *source, gint64 at, gint64 count, gint64 channel, GError **error) {
  gint64 size = source->file.item->size, step = source->file.stride[FC_AXIS_X];
  gint64 channels = source->base.format.extent[FC_AXIS_C];
  char *to = (char *)source->raw + channel * size;
  const guint8 *from = source->all ? source->all + at : source->ready;
  if (!source->all) {
    gssize got = fc_input_read_at(source->input, at, source->ready, (gsize)(count * size), error);
    if (got < 0) return FALSE;
    if (got < count * size)
      return fc_fail(error, FC_IO, "%s: was truncated while it was read", source->base.name);
  }
  for (gint64 x = 0; x < count; x++) memcpy(to + x * channels * size, from + x * step, (gsize)size);
  return TRUE;
}

/* `count` pixels from (n, y, x) on into source->raw; returns how many were there. */
static gint64 fetch(array_source *source, gint64 n, gint64 y, gint64 x, gint64 count, GError **error) {
  const fc_array_file *file = &source->file;
  gint64 channels = source->base.format.extent[FC_AXIS_C], pixel = channels * file->item->size;
  if (!file->strided) {
    gssize got = fc_reader_read(source->reader, source->raw, (gsize)(count * pixel), error);
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
                 source->base.name, source->elements + bad);
}

/* One row of the view; returns how many of its pixels were there. */
static gint64 read_row(array_source *source, const fc_view *into, gint64 n, gint64 y, gint64 count,
                       GError **error) {
  gint64 channels = source->base.format.extent[FC_AXIS_C], piece = MAX(PIECE / MAX(channels, 1), 1), done = 0;
  gint64 at[FC_AXES] = {n, y, 0, 0}, rows = MAX(source->base.format.extent[FC_AXIS_Y], 1);
  int axis = (int)fc_source_axis(&source->base);
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

/* Bytes of all elements but for the outermost axis; -1: more than can be counted. */
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

/* The end has come before the first image is whole, or the first row of an only one. */
static gboolean fail_nothing(const array_source *source, gint64 there, GError **error) {
  static const char *const units[FC_AXES] = {"frame", "row", "element", "channel"};
  const fc_array_file *file = &source->file;
  gboolean image = file->format.kind == FC_IMAGE && file->outermost == FC_AXIS_N;
  return fc_fail(error, FC_IO,
                 "%s: is cut off: %" G_GINT64_FORMAT
                 " bytes are there, and the first %s has %" G_GINT64_FORMAT,
                 source->base.name, there, image ? "image" : units[file->outermost], bytes_each(file));
}

/* The end came within something, or before what was promised. */
static gboolean end_well(array_source *source, gboolean within, GError **error) {
  gint64 promised = source->base.format.extent[fc_source_axis(&source->base)];
  if (!within && promised == FC_UNKNOWN) return TRUE;
  if (!source->options.allow_truncated)
    return fc_fail(error, FC_IO,
                   "%s: is cut off: it ends after %" G_GINT64_FORMAT " elements" FC_MEDIA_ADVICE,
                   source->base.name, source->elements);
  if (!source->cut_told)
    fc_media_warn(&source->options,
                  "%s: is cut off: it ends after %" G_GINT64_FORMAT " elements; the readable part is used",
                  source->base.name, source->elements);
  source->cut_told = TRUE; /* the end may be asked for again */
  return TRUE;
}

/* Whether so many rows of the view are in memory what they are in the file. */
static gboolean lies_alike(const array_source *source, const fc_view *into, gint64 rows) {
  fc_view some = *into;
  some.shape[FC_AXIS_N] = 1, some.shape[FC_AXIS_Y] = rows;
  return !source->file.strided && !source->file.swap && fc_item_is_plain(source->file.item) &&
         fc_is_dense(&some);
}

/* Frames of sound that lie in the file as they are wanted. */
static gint64 read_frames_dense(array_source *source, const fc_view *into, GError **error) {
  const gint64 channels = into->shape[FC_AXIS_C], frame = channels * source->file.item->size;
  gssize got = fc_reader_read(source->reader, into->data, (gsize)(into->shape[FC_AXIS_X] * frame), error);
  if (got < 0) return -1;
  source->elements += got / frame * channels;
  return got / frame;
}

static gint64 read_audio(array_source *source, const fc_view *into, gint64 wanted, GError **error) {
  fc_view row = *into;
  row.shape[FC_AXIS_X] = wanted;
  gint64 got = lies_alike(source, &row, 1) ? read_frames_dense(source, &row, error)
                                           : read_row(source, into, 0, 0, wanted, error);
  if (got < 0) return -1;
  gint64 frame = source->base.format.extent[FC_AXIS_C] * source->file.item->size;
  gboolean within = source->reader && (source->reader->position - source->file.offset) % frame != 0;
  if (got < wanted && !end_well(source, within, error)) return -1;
  return got;
}

/* Some rows of the view at once; returns how many of them were there whole, and whether some of one more. */
static gint64 read_dense(array_source *source, const fc_view *into, gint64 n, gint64 rows, gboolean *within,
                         GError **error) {
  const gint64 *extent = source->base.format.extent;
  gint64 pixel = extent[FC_AXIS_C] * source->file.item->size, row = extent[FC_AXIS_X] * pixel;
  gssize got = fc_reader_read(source->reader, fc_view_at(into, n, 0, 0, 0), (gsize)(rows * row), error);
  if (got < 0) return -1;
  source->elements += got / pixel * extent[FC_AXIS_C];
  *within = got % row >= pixel;
  return got / row;
}

static gint64 read_rows(array_source *source, const fc_view *into, gint64 n, gint64 rows, gboolean *within,
                        GError **error) {
  gint64 columns = source->base.format.extent[FC_AXIS_X];
  for (gint64 y = 0; y < rows; y++) {
    gint64 got = read_row(source, into, n, y, columns, error);
    *within = got > 0;
    if (got < 0) return -1;
    if (got < columns) return y;
  }
  return rows;
}

/* Whole frames, or rows of a single one; returns how many. */
static gint64 read_frames(array_source *source, const fc_view *into, gint64 wanted, GError **error) {
  gboolean by_rows = source->base.by_rows, within = FALSE;
  gint64 rows = by_rows ? wanted : source->base.format.extent[FC_AXIS_Y];
  gboolean empty = rows == 0 || fc_view_count(into) == 0;
  gboolean alike = !empty && lies_alike(source, into, rows);
  for (gint64 n = 0; !empty && n < (by_rows ? 1 : wanted); n++) {
    gint64 got = (alike ? read_dense : read_rows)(source, into, n, rows, &within, error);
    if (got < 0) return -1;
    if (got == rows) continue;
    within |= !by_rows && got > 0;
    /* Of a list, which is one row, what is there can be taken. */
    gboolean list = source->file.outermost > FC_AXIS_Y;
    if (within && !list && source->position == 0 && n == 0 && (by_rows ? got : 0) == 0) {
      fail_nothing(source, source->reader->position - source->file.offset, error);
      return -1;
    }
    if (!end_well(source, within, error)) return -1;
    return by_rows ? got : n;
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
  if (got > 0) source->position += got;
  return got;
}

static gboolean array_seek(fc_source *base, gint64 position, GError **error) {
  array_source *source = (array_source *)base;
  const gint64 channels = base->format.extent[FC_AXIS_C];
  source->position = position, source->elements = position * channels;
  return source->file.strided ||
         fc_reader_seek(source->reader, source->file.offset + source->elements * source->file.item->size,
                        error);
}

static void array_free(fc_source *base) {
  array_source *source = (array_source *)base;
  fc_input_free(source->input);
  g_free(source->reader);
  g_free(source->all);
  g_free(source->raw);
  g_free(source->ready);
  g_free(base->name);
  g_free(source);
}

int fc_array_source_dims(const fc_source *source) {
  return source && source->read == array_read ? ((const array_source *)source)->file.dims : 0;
}

/* ---- opening ----------------------------------------------------------- */

/* What a pipe brings less than it promises is told before it is used: an extent that turns out
 * shorter would be too late for whoever goes by it. */
static gboolean spool_if_cuttable(array_source *source, gint64 bytes, GError **error) {
  if (source->input->seekable || !source->options.allow_truncated) return TRUE;
  if (!fc_reader_spool(source->reader, bytes, error)) return FALSE;
  source->file.offset = 0;
  return TRUE;
}

/* Compares what the file should have with its size, where it has one. */
static gboolean check_size(array_source *source, GError **error) {
  fc_array_file *file = &source->file;
  gint64 *extent = &source->base.format.extent[file->outermost], each = bytes_each(file);
  if (each < 0 || (each && *extent > G_MAXINT64 / 2 / each))
    return fc_fail(error, FC_UNSUPPORTED, "%s: says that it has more elements than any file holds",
                   source->base.name);
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
  if (!source->options.allow_truncated || file->strided)
    return fc_fail(error, FC_IO, "%s: %s%s", source->base.name, what, file->strided ? "" : FC_MEDIA_ADVICE);
  fc_media_warn(&source->options, "%s: %s; the readable part is used", source->base.name, what);
  *extent = whole;
  return TRUE;
}

/* Planar sound is read where it lies; what is in another order is gathered from memory. */
static gboolean prepare_strided(array_source *source, GError **error) {
  fc_array_file *file = &source->file;
  if (!file->strided || file->stride[FC_AXIS_X] == file->item->size) return TRUE;
  gint64 size = bytes_each(file) * source->base.format.extent[file->outermost];
  source->all = g_try_malloc((gsize)size + 1);
  if (!source->all)
    return fc_fail(error, FC_NO_MEMORY, "%s: no memory for its %" G_GINT64_FORMAT " bytes", source->base.name,
                   size);
  gssize got = fc_reader_read(source->reader, source->all, (gsize)size, error);
  file->offset = 0;
  return got == size ||
         (got >= 0 && fc_fail(error, FC_IO,
                              "%s: is cut off: %" G_GSSIZE_FORMAT " of %" G_GINT64_FORMAT " bytes are there",
                              source->base.name, got, size));
}

/* Memory for one piece: of an array without elements none for the channels that it says it would have. */
static gboolean reserve_piece(array_source *source, GError **error) {
  const gint64 *extent = source->base.format.extent;
  gboolean empty = extent[FC_AXIS_N] == 0 || extent[FC_AXIS_Y] == 0 || extent[FC_AXIS_X] == 0;
  gint64 channels = empty ? 0 : extent[FC_AXIS_C];
  gsize count = (gsize)MAX(PIECE, channels);
  if (channels <= (gint64)1 << 32) {
    source->raw = g_try_malloc(count * (gsize)source->file.item->size);
    source->ready =
        g_try_malloc(count * MAX(fc_dtype_size(source->file.item->dtype), (gsize)source->file.item->size));
  }
  return (source->raw && source->ready) ||
         fc_fail(error, FC_NO_MEMORY, "%s: no memory for %" G_GINT64_FORMAT " channels", source->base.name,
                 channels);
}

fc_source *fc_array_source_new(fc_input *input, fc_reader *reader, const fc_array_file *file,
                               const fc_media_options *options, GError **error) {
  array_source *source = g_new0(array_source, 1);
  source->base.name = g_strdup(input->name);
  source->base.can_rows = file->format.kind != FC_AUDIO;
  source->base.read = array_read;
  source->base.free = array_free;
  source->base.format = file->format;
  source->base.format.dtype = file->item->dtype;
  source->base.format.bits = file->item->bits;
  source->input = input;
  source->reader = reader;
  source->file = *file;
  source->options = *options;
  if (check_size(source, error) && prepare_strided(source, error) && reserve_piece(source, error)) {
    if (input->seekable && file->format.kind == FC_AUDIO) source->base.seek = array_seek;
    return &source->base;
  }
  array_free(&source->base);
  return NULL;
}
