/* SPDX-License-Identifier: MIT */
/*
 * support.c - see fuzz.h. Inputs lie in a memfd, which is opened anew by its path in
 * /proc, so that no disk is touched.
 */
#include "tests/fuzz/fuzz.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "core/context/context.h"
#include "core/registry/table.h"

/* Elements of one piece of an image or array; more than that is left to other tests. */
#define PIECE_MAX ((gint64)1 << 20)
/* Bytes of a chain's buffers: plenty for signals as small as those of the targets, and what asks for more, as
 * a window of millions does, is refused before it takes long. */
#define MEMORY_MAX ((gsize)8 << 20)
/* Frames of a sound at a time. */
#define FRAMES 1000

static int memory_file(const char *name) {
  int fd = memfd_create(name, 0);
  g_assert_cmpint(fd, >=, 0);
  return fd;
}

const char *fuzz_file(const guint8 *data, gsize size) {
  static int fd = -1;
  static char path[64];
  if (fd < 0) fd = memory_file("input");
  g_snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  g_assert_cmpint(ftruncate(fd, 0), ==, 0);
  g_assert_cmpint(pwrite(fd, data, size, 0), ==, (gssize)size);
  return path;
}

const char *fuzz_pipe(const guint8 *data, gsize size) {
  static int fd = -1;
  static char path[64];
  int ends[2];
  if (fd >= 0) close(fd);
  g_assert_cmpint(pipe2(ends, O_CLOEXEC | O_NONBLOCK), ==, 0);
  g_assert_cmpint(write(ends[1], data, size), ==, (gssize)size);
  close(ends[1]);
  fd = ends[0];
  g_snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return path;
}

const char *fuzz_sink(void) {
  static int fd = -1;
  static char path[64];
  if (fd < 0) fd = memory_file("output");
  g_assert_cmpint(ftruncate(fd, 0), ==, 0);
  g_assert_cmpint(lseek(fd, 0, SEEK_SET), ==, 0);
  g_snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
  return path;
}

static void ignore(fc_log_level level, const char *message, void *data) {}

fc_media_options fuzz_options(void) {
  return (fc_media_options){.max_pixels = 1 << 16, .log = ignore};
}

static void check_format(const fc_format *f) {
  g_assert_cmpuint(fc_dtype_size(f->dtype), >, 0);
  for (int a = 0; a < FC_AXES; a++) g_assert_cmpint(f->extent[a], >=, FC_UNKNOWN);
}

/* Dense, as core/context/stream.h wants it. */
static fc_view view_of(const fc_format *f, gint64 count) {
  fc_view v = {.size = sizeof v, .dtype = f->dtype, .kind = f->kind, .device = FC_HOST};
  gint64 stride = (gint64)fc_dtype_size(f->dtype);
  for (int a = FC_AXES - 1; a >= 0; a--) {
    v.shape[a] = a == (int)fc_stream_axis(f->kind) ? count : f->extent[a];
    v.extent[a] = f->extent[a];
    v.stride[a] = stride;
    stride *= v.shape[a];
  }
  return v;
}

/* Elements of so many pieces, or -1 for more than are worth it. */
static gint64 elements(const fc_format *f, gint64 count) {
  gint64 product = count;
  for (int a = 0; a < FC_AXES; a++) {
    if (a == (int)fc_stream_axis(f->kind)) continue;
    if (f->extent[a] < 0 || (f->extent[a] && product > PIECE_MAX / f->extent[a])) return -1;
    product *= f->extent[a];
  }
  return product;
}

static gboolean begin(fc_sink *sink, const fc_format *in) {
  fc_format format = *in;
  return sink && sink->accept(sink, &format, NULL) && sink->begin(sink, in, NULL);
}

static void read_pieces(fc_source *source, fc_sink *sink, gint64 count, gint64 most) {
  fc_axis axis = fc_stream_axis(source->format.kind);
  gint64 piece = elements(&source->format, count), position = 0, known = source->format.extent[axis];
  gsize bytes = (gsize)piece * fc_dtype_size(source->format.dtype);
  void *memory = g_malloc(bytes + 1);
  gboolean writing = begin(sink, &source->format);
  for (gint64 done = 0; done < most; done += MAX(piece, 1)) {
    g_autoptr(GError) error = NULL;
    fc_view into = view_of(&source->format, count);
    into.data = memory;
    into.origin[axis] = position;
    gint64 got = source->read(source, &into, &error);
    g_assert_cmpint(got, <=, count);
    g_assert_cmpint(got < 0, ==, error != NULL);
    if (got < 0) g_assert_null(strchr(error->message, '\n'));
    if (got <= 0) {
      if (got == 0 && writing) sink->commit(sink, NULL);
      break;
    }
    position += got;
    if (known >= 0) g_assert_cmpint(position, <=, known);
    into.shape[axis] = got;
    if (writing) writing = sink->write(sink, &into, NULL);
  }
  g_free(memory);
}

void fuzz_read(fc_source *source, fc_sink *sink, gint64 most) {
  if (source) {
    gint64 count = source->format.kind == FC_AUDIO ? FRAMES : 2;
    check_format(&source->format);
    if (elements(&source->format, count) >= 0) read_pieces(source, sink, count, most);
    source->free(source);
  }
  if (sink) sink->free(sink);
}

static fc_table *small_table(const char *path, gboolean mask, void *data, GError **error) {
  return fc_table_parse_inline("[1,2,1;0,1,0;-1,-2,3]/4", mask, error);
}

fc_context *fuzz_context(void) {
  static const fc_media no_files = {.load_table = small_table};
  static fc_context *made;
  if (made) return made;
  made = fc_context_new_with(&no_files);
  fc_context_set_log(made, ignore, NULL);
  fc_context_set_max_memory(made, MEMORY_MAX);
  fc_registry_set_home(made->registry, FUZZ_PLUGINS, "/nonexistent");
  gsize count;
  g_free(fc_context_operators(made, &count));
  g_assert_cmpuint(count, >, 0); /* else nothing would be tested */
  return made;
}
