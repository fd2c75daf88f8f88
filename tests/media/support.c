/* SPDX-License-Identifier: MIT */
/* support.c - see support.h. */
#include "tests/media/support.h"

#include <glib/gstdio.h>
#include <sndfile.h>
#include <stdio.h>
#include <signal.h>
#include <string.h>

#include "media/array/quantise.h"
#include "media/image/decoders.h"

static char *folder;

/* What libsndfile and its codecs keep when a file turns out to be damaged. */
const char *__lsan_default_suppressions(void);
const char *__lsan_default_suppressions(void) {
  return "leak:libvorbis\nleak:libsndfile\nleak:libFLAC\nleak:libmpg123\nleak:libopus\n";
}

void scratch_init(void) {
  folder = g_dir_make_tmp("filterchain-media-XXXXXX", NULL);
  g_assert_nonnull(folder);
}

char *scratch(const char *name) {
  return g_build_filename(folder, name, NULL);
}

static void remove_tree(const char *path) {
  GDir *dir = g_file_test(path, G_FILE_TEST_IS_SYMLINK) ? NULL : g_dir_open(path, 0, NULL);
  const char *name;
  while (dir && (name = g_dir_read_name(dir))) {
    g_autofree char *child = g_build_filename(path, name, NULL);
    remove_tree(child);
  }
  if (dir) g_dir_close(dir);
  g_remove(path);
}

static fc_decoders *decoders;

fc_decoders *test_decoders(void) {
  static gsize once;
  if (g_once_init_enter(&once)) {
    decoders = fc_decoders_new(g_getenv("DECODE_PROGRAM"));
    g_once_init_leave(&once, 1);
  }
  return decoders;
}

void scratch_remove(void) {
  g_clear_pointer(&decoders, fc_decoders_free);
  remove_tree(folder);
  g_clear_pointer(&folder, g_free);
}

guint leftovers(void) {
  guint count = 0;
  const char *name;
  GDir *dir = g_dir_open(folder, 0, NULL);
  while ((name = g_dir_read_name(dir))) count += name[0] == '.';
  g_dir_close(dir);
  return count;
}

bytes load(const char *path) {
  bytes b;
  GError *error = NULL;
  g_file_get_contents(path, (char **)&b.data, &b.size, &error);
  g_assert_no_error(error);
  return b;
}

void store(const char *path, const void *data, gsize size) {
  FILE *file = fopen(path, "wb");
  g_assert_nonnull(file);
  g_assert_cmpuint(fwrite(data, 1, size, file), ==, size);
  g_assert_cmpint(fclose(file), ==, 0);
}

void clear_bytes(bytes *b) {
  g_free(b->data);
}

void assert_same_bytes(const char *path, const char *other) {
  bytes a = load(path), b = load(other);
  g_assert_cmpmem(a.data, a.size, b.data, b.size);
  clear_bytes(&a);
  clear_bytes(&b);
}

fc_view view_along(const fc_format *format, fc_axis along, void *data, gint64 count) {
  fc_view view = {
      .size = sizeof view, .dtype = format->dtype, .kind = format->kind, .device = FC_HOST, .data = data};
  gint64 step = (gint64)fc_dtype_size(format->dtype);
  for (int axis = FC_AXES - 1; axis >= 0; axis--) {
    view.extent[axis] = format->extent[axis];
    view.shape[axis] = axis == (int)along ? count : format->extent[axis];
    view.stride[axis] = step;
    step *= view.shape[axis];
  }
  return view;
}

fc_view view_of(const fc_format *format, void *data, gint64 stream_count) {
  return view_along(format, fc_stream_axis(format->kind), data, stream_count);
}

/* Elements of one step on this axis. */
static gint64 elements_of(const fc_format *format, fc_axis along) {
  gint64 elements = 1;
  for (int axis = 0; axis < FC_AXES; axis++)
    if (axis != (int)along) elements *= format->extent[axis];
  return elements;
}

static gboolean pump(fc_source *source, fc_sink *sink, const fc_format *format, gint64 chunk,
                     GError **error) {
  fc_axis axis = fc_source_axis(source);
  fc_format one = source->format, out_one = *format;
  if (source->by_rows) one.extent[FC_AXIS_N] = out_one.extent[FC_AXIS_N] = 1;
  gint64 each = elements_of(&one, axis);
  g_autofree void *in = g_malloc((gsize)(chunk * each) * 8 + 1);
  g_autofree void *out = g_malloc((gsize)(chunk * each) * 8 + 1);
  for (;;) {
    fc_view view = view_along(&one, axis, in, chunk);
    gint64 got = source->read(source, &view, error);
    if (got <= 0) return got == 0;
    view = view_along(&one, axis, in, got);
    fc_view result = view_along(&out_one, axis, out, got);
    if (!fc_quantise("test", &view, 0, out, format->dtype, error) || !sink->write(sink, &result, error))
      return FALSE;
  }
}

fc_source *open_media(const char *path, const fc_media_options *options, GError **error) {
  fc_media_options with = options ? *options : (fc_media_options){0};
  if (!with.decoders) with.decoders = test_decoders();
  return fc_media_open(path, &with, error);
}

gboolean can_read(const char *path, const fc_media_options *options, GError **error) {
  fc_source *source = open_media(path, options, error);
  GArray *values = source ? read_all(source, 1, error) : NULL;
  if (source) source->free(source);
  if (!values) return FALSE;
  g_array_free(values, TRUE);
  return TRUE;
}

gboolean copy(const copy_job *job, GError **error) {
  fc_source *source = open_media(job->in, &job->options, error);
  if (!source) return FALSE;
  fc_sink *sink = fc_media_create(job->out, &job->options, source, error);
  fc_format format = source->format;
  gboolean done = sink && sink->accept(sink, &format, error);
  gint64 chunk = format.kind == FC_AUDIO ? 1000 : 1;
  source->by_rows = job->rows && source->can_rows && sink && sink->can_rows;
  if (sink) sink->by_rows = source->by_rows;
  if (job->dtype >= 0) format.dtype = job->dtype;
  if (job->hide_length) format.extent[fc_stream_axis(format.kind)] = FC_UNKNOWN;
  done = done && sink->begin(sink, &format, error) &&
         pump(source, sink, &format, job->chunk ? job->chunk : chunk, error) && sink->commit(sink, error);
  if (sink) sink->free(sink);
  source->free(source);
  return done;
}

typedef struct pipe_feed {
  int to;
  const bytes *from;
  gsize piece;
} pipe_feed;

static gpointer feed_thread(gpointer data) {
  pipe_feed *feed = data;
  for (gsize done = 0; done < feed->from->size; done += feed->piece)
    if (write(feed->to, feed->from->data + done, MIN(feed->piece, feed->from->size - done)) < 0) break;
  close(feed->to);
  return NULL;
}

gboolean copy_through_pipe(const bytes *from, gsize piece, const copy_job *job, GError **error) {
  int between[2];
  signal(SIGPIPE, SIG_IGN);
  g_assert_cmpint(pipe(between), ==, 0);
  pipe_feed feed = {between[1], from, piece};
  GThread *thread = g_thread_new("feed", feed_thread, &feed);
  g_autofree char *path = g_strdup_printf("/dev/fd/%d", between[0]);
  copy_job piped = *job;
  piped.in = path;
  gboolean done = copy(&piped, error);
  close(between[0]);
  g_thread_join(thread);
  return done;
}

/* Some rows of an image at a time make the same file. */
static void assert_copies_rows(const char *in, const char *out) {
  g_autofree char *dir = g_path_get_dirname(out), *name = g_path_get_basename(out);
  g_autofree char *rows_name = g_strconcat("rows-", name, NULL);
  g_autofree char *rows = g_build_filename(dir, rows_name, NULL);
  const copy_job job = {.in = in, .out = rows, .dtype = -1, .rows = TRUE, .chunk = 3};
  GError *error = NULL;
  copy(&job, &error);
  g_assert_no_error(error);
  assert_same_bytes(rows, out);
  g_assert_cmpint(remove(rows), ==, 0);
}

void assert_copies(const char *in, const char *out) {
  const copy_job job = {.in = in, .out = out, .dtype = -1};
  GError *error = NULL;
  copy(&job, &error);
  g_assert_no_error(error);
  if (g_str_has_suffix(out, ".npy") || g_str_has_suffix(out, ".png")) assert_copies_rows(in, out);
}

void assert_copy_fails(const copy_job *job, int code, const char *message) {
  GError *error = NULL;
  gboolean existed = g_file_test(job->out, G_FILE_TEST_EXISTS);
  g_assert_false(copy(job, &error));
  g_assert_error(error, FC_ERROR, code);
  if (message) g_assert_cmpstr(error->message, ==, message);
  g_assert_null(strchr(error->message, '\n'));
  g_assert_cmpint(g_file_test(job->out, G_FILE_TEST_EXISTS), ==, existed);
  g_assert_cmpuint(leftovers(), ==, 0);
  g_error_free(error);
}

GArray *read_all(fc_source *source, gint64 chunk, GError **error) {
  gint64 each = elements_of(&source->format, fc_stream_axis(source->format.kind));
  GArray *values = g_array_new(FALSE, FALSE, sizeof(double));
  g_autofree void *block = g_malloc((gsize)(chunk * each) * 8 + 1);
  for (;;) {
    fc_view view = view_of(&source->format, block, chunk);
    gint64 got = source->read(source, &view, error);
    if (got == 0) return values;
    if (got < 0) break;
    view = view_of(&source->format, block, got);
    guint before = values->len;
    g_array_set_size(values, before + (guint)(got * each));
    g_assert_true(fc_quantise("test", &view, 0, &g_array_index(values, double, before), FC_F64, NULL));
  }
  g_array_free(values, TRUE);
  return NULL;
}

GArray *read_file(const char *path, const fc_media_options *options, fc_format *format) {
  GError *error = NULL;
  fc_source *source = open_media(path, options, &error);
  g_assert_no_error(error);
  if (format) *format = source->format;
  GArray *values = read_all(source, 1, &error);
  g_assert_no_error(error);
  source->free(source);
  return values;
}

guint32 noise(guint32 *state) {
  *state = *state * 1664525u + 1013904223u;
  return *state ^ *state >> 15;
}

static gboolean written_as_floats(int subtype) {
  return subtype == SF_FORMAT_FLOAT || subtype == SF_FORMAT_DOUBLE || subtype == SF_FORMAT_VORBIS ||
         subtype == SF_FORMAT_OPUS;
}

static void write_frames(SNDFILE *file, int subtype, int channels, gint64 frames) {
  guint32 state = 1;
  gint32 ints[256];
  double doubles[256];
  for (gint64 i = 0; i < frames; i++) {
    for (int c = 0; c < channels; c++) {
      ints[c] = (gint32)noise(&state);
      doubles[c] = ints[c] / 4294967296.0;
    }
    gboolean floats = written_as_floats(subtype);
    g_assert_cmpint(floats ? sf_writef_double(file, doubles, 1) : sf_writef_int(file, ints, 1), ==, 1);
  }
}

void make_sound(const char *path, int format, int rate, int channels, gint64 frames) {
  SF_INFO info = {.samplerate = rate, .channels = channels, .format = format};
  SNDFILE *file = sf_open(path, SFM_WRITE, &info);
  g_assert_nonnull(file);
  sf_command(file, SFC_SET_ADD_PEAK_CHUNK, NULL, SF_FALSE);
  write_frames(file, format & SF_FORMAT_SUBMASK, channels, frames);
  g_assert_cmpint(sf_close(file), ==, 0);
}

void keep_line(fc_log_level level, const char *message, void *data) {
  g_ptr_array_add(data, g_strdup(message));
}
