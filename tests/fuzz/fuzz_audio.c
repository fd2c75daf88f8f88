/* SPDX-License-Identifier: MIT */
/*
 * fuzz_audio.c - sound files of every container: opened by their content, read to the
 * end, and copied with their metadata into a container that the first byte chooses, which also
 * says how far into the sound the copy begins, and whether it comes through a pipe.
 *
 * libsndfile itself is not ours to repair; what it hands over is checked by us.
 */
#include "tests/fuzz/fuzz.h"

#include "media/file/formats.h"

/* First bytes from here on are of pipes. */
#define PIPED    200
#define PIPE_MAX 65536

static const char *container_of(guint8 first) {
  static const char *const containers[] = {"wav", "flac", "aiff", "caf", "w64"};
  enum { EVERY = 64, OGG = 56 }; /* the last eight of so many, be they of pipes or not */
  return first % EVERY >= OGG ? "ogg" : containers[first % G_N_ELEMENTS(containers)];
}

/* Is it a sound file by its content? Images have a target of their own. */
static gboolean is_sound(const char *path, const fc_media_options *options) {
  g_autoptr(fc_input) input = fc_input_open(path, NULL, NULL);
  const fc_file_format *format = input ? fc_probe_input(input, options, NULL) : NULL;
  return format && format->sndfile;
}

int LLVMFuzzerTestOneInput(const guint8 *data, gsize size) {
  enum { LEADS = 5 };
  if (size < 1) return 0;
  gboolean piped = data[0] >= PIPED && size > 1 && size <= PIPE_MAX;
  fc_media_options options = fuzz_options();
  const char *path = fuzz_file(data + 1, size - 1);
  if (!is_sound(path, &options)) return 0;
  for (int cut = 0; cut < 2; cut++) {
    if (piped) path = fuzz_pipe(data + 1, size - 1);
    options.allow_truncated = cut;
    options.out_format = container_of(data[0]);
    fc_source *source = fc_media_open(path, &options, NULL);
    fc_sink *sink = source && cut ? fc_media_create(fuzz_sink(), &options, source, NULL) : NULL;
    if (sink) sink->lead = data[0] / LEADS; /* as behind a crop */
    fuzz_read(source, sink, 1 << 18);
  }
  return 0;
}
