/* SPDX-License-Identifier: MIT */
/*
 * bench_images.c - what reading and writing an image file costs in media/, the confined decoder included;
 * images.py runs it beside OpenCV and Pillow.
 *
 *   bench_images read PROGRAM FILE...         each file into memory that is reused, as 8-bit samples
 *   bench_images quarter PROGRAM FILE...      the same at 1/4 of its size
 *   bench_images write PROGRAM OUT[:OPTION]... FILE  the picture of FILE into each OUT
 *
 * PROGRAM is filterchain-decode. One line for each file: seconds, width, height, channels.
 */
#include <stdio.h>
#include <string.h>

#include "media/file/media.h"
#include "media/file/options.h"
#include "media/image/decoders.h"

typedef struct picture {
  fc_format format;
  void *pixels;
  gsize size;
} picture;

static fc_view view_of(const picture *p) {
  fc_view view = {.size = sizeof view,
                  .dtype = p->format.dtype,
                  .kind = p->format.kind,
                  .device = FC_HOST,
                  .data = p->pixels};
  gint64 step = (gint64)fc_dtype_size(p->format.dtype);
  for (int axis = FC_AXES - 1; axis >= 0; axis--) {
    view.extent[axis] = view.shape[axis] = p->format.extent[axis];
    view.stride[axis] = step;
    step *= view.shape[axis];
  }
  return view;
}

static gboolean fail(GError *error) {
  fprintf(stderr, "bench_images: %s\n", error->message);
  g_error_free(error);
  return FALSE;
}

/* Into p->pixels, which grows: as the engine reuses its frames. */
static gboolean read_picture(const char *path, const fc_media_options *options, picture *p) {
  GError *error = NULL;
  fc_source *source = fc_media_open(path, options, &error);
  if (!source) return fail(error);
  p->format = source->format;
  gsize size = fc_dtype_size(p->format.dtype);
  for (int axis = 0; axis < FC_AXES; axis++) size *= (gsize)p->format.extent[axis];
  if (size > p->size) {
    g_free(p->pixels);
    p->pixels = g_malloc(size);
    p->size = size;
  }
  const fc_view view = view_of(p);
  gint64 got = source->read(source, &view, &error);
  source->free(source);
  return got == 1 || fail(error);
}

static gboolean write_picture(const char *file, const picture *p, const fc_media_options *options) {
  GError *error = NULL;
  fc_given_options *given;
  fc_media_options how = *options;
  fc_format format = p->format;
  g_autofree char *path = fc_given_options_parse(file, FALSE, &given, &error);
  if (!path) return fail(error);
  how.out_options = given;
  fc_sink *sink = fc_media_create(path, &how, NULL, &error);
  fc_given_options_free(given);
  const fc_view view = view_of(p);
  gboolean done = sink && sink->accept(sink, &format, &error) && sink->begin(sink, &format, &error) &&
                  sink->write(sink, &view, &error) && sink->commit(sink, &error);
  if (sink) sink->free(sink);
  return done || fail(error);
}

static void print(gint64 start, const picture *p) {
  printf("%.6f %d %d %d\n", (double)(g_get_monotonic_time() - start) / G_USEC_PER_SEC,
         (int)p->format.extent[FC_AXIS_X], (int)p->format.extent[FC_AXIS_Y],
         (int)p->format.extent[FC_AXIS_C]);
}

int main(int argc, char **argv) {
  if (argc < 4) return 2;
  const gboolean writing = strcmp(argv[1], "write") == 0;
  fc_given_options *given;
  fc_decoders *decoders = fc_decoders_new(argv[2]);
  g_free(fc_given_options_parse(strcmp(argv[1], "quarter") == 0 ? "x:scale=1/4" : "x", TRUE, &given, NULL));
  const fc_media_options options = {.decoders = decoders, .in_options = given};
  picture p = {0};
  gboolean done = TRUE;
  if (writing) done = read_picture(argv[argc - 1], &options, &p);
  for (int i = 3; i < argc - writing && done; i++) {
    gint64 start = g_get_monotonic_time();
    done = writing ? write_picture(argv[i], &p, &options) : read_picture(argv[i], &options, &p);
    if (done) print(start, &p);
  }
  g_free(p.pixels);
  fc_given_options_free(given);
  fc_decoders_free(decoders);
  return !done;
}
