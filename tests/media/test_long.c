/* SPDX-License-Identifier: MIT */
/*
 * test_long.c - sounds that turn out to be longer than the sizes of their containers can say, of a
 * length that nobody knows at the beginning. The output is defined here, so that the linker does not take the
 * real one out of the engine's archive: it counts, and keeps no more than the beginning.
 */
#include <stdlib.h>
#include <string.h>

#include "media/audio/audio.h"
#include "tests/media/support.h"

#define KEPT 4096

struct fc_output {
  gint64 size;
  guint8 front[KEPT];
};

static void keep(fc_output *output, gint64 at, const void *from, gsize size) {
  gint64 some = CLAMP(KEPT - at, 0, (gint64)size);
  if (some) memcpy(output->front + at, from, (gsize)some);
  output->size = MAX(output->size, at + (gint64)size);
}

gboolean fc_output_write(fc_output *output, const void *from, gsize size, GError **error) {
  keep(output, output->size, from, size);
  return TRUE;
}

gboolean fc_output_write_at(fc_output *output, gint64 offset, const void *from, gsize size, GError **error) {
  keep(output, offset, from, size);
  return TRUE;
}

gssize fc_output_read_at(fc_output *output, gint64 offset, void *to, gsize size) {
  gint64 some = CLAMP(KEPT - offset, 0, (gint64)size);
  if (some) memcpy(to, output->front + offset, (gsize)some);
  return (gssize)some;
}

gboolean fc_output_seekable(const fc_output *output) {
  return TRUE;
}

gint64 fc_output_size(const fc_output *output) {
  return output->size;
}

/* What the sinks of the archive call, and nobody here. */
unsigned fc_output_flags_of(const fc_media_options *options) {
  abort();
}

double fc_output_room(const char *path) {
  return -1;
}

gboolean fc_output_check(const char *path, unsigned flags, GError **error) {
  abort();
}

fc_output *fc_output_open(const char *path, unsigned flags, GError **error) {
  abort();
}

fc_output *fc_output_open_for(const char *path, unsigned flags, const fc_media_options *options,
                              GError **error) {
  return fc_output_open(path, flags, error);
}

gboolean fc_output_commit(fc_output *output, GError **error) {
  abort();
}

void fc_output_free(fc_output *output) {}

/* Writes so many frames of silence of 8 bytes each, a length that is told to nobody. */
static gboolean encode(int major, gint64 frames, fc_output *output, GError **error) {
  enum { PIECE = 1 << 17 };
  const fc_audio_spec spec = {
      .samples = {major | SF_FORMAT_DOUBLE, FC_F64, 53}, .rate = 48000, .channels = 1, .frames = FC_UNKNOWN};
  g_autofree double *silence = g_new0(double, PIECE);
  memset(output, 0, sizeof *output);
  fc_encoder *encoder = fc_pcm_encoder_new("long", output, &spec, error);
  gboolean done = encoder != NULL;
  for (gint64 left = frames; done && left > 0; left -= PIECE)
    done = encoder->write(encoder, silence, MIN(left, PIECE), error);
  done = done && encoder->finish(encoder, error);
  if (encoder) encoder->free(encoder);
  return done;
}

static guint64 little(const guint8 *at, int size) {
  guint64 value = 0;
  while (size--) value = value << 8 | at[size];
  return value;
}

/* The header that is written again at the end: RIFF as long as its size can say it, and RF64 from there on.
 */
static void test_wav(void) {
  static const struct {
    gint64 frames;
    gboolean wide;
  } cases[] = {{(gint64)536870900, FALSE}, {(gint64)536870912, TRUE}, {(gint64)700000001, TRUE}};
  fc_output output;
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    guint64 total = 8 * (guint64)cases[i].frames;
    GError *error = NULL;
    encode(SF_FORMAT_WAV, cases[i].frames, &output, &error);
    g_assert_no_error(error);
    const guint8 *front = output.front;
    g_assert_cmpmem(front, 4, cases[i].wide ? "RF64" : "RIFF", 4);
    g_assert_cmpuint(little(front + 4, 4), ==, cases[i].wide ? G_MAXUINT32 : (guint64)output.size - 8);
    g_assert_cmpmem(front + 12, 4, cases[i].wide ? "ds64" : "JUNK", 4);
    g_assert_cmpuint(little(front + 20, 8), ==, cases[i].wide ? (guint64)output.size - 8 : 0);
    g_assert_cmpuint(little(front + 28, 8), ==, cases[i].wide ? total : 0);
    g_assert_cmpuint(little(front + 36, 8), ==, cases[i].wide ? (guint64)cases[i].frames : 0);
    const guint8 *data = memmem(front, 200, "data", 4);
    g_assert_nonnull(data);
    g_assert_cmpuint(little(data + 4, 4), ==, cases[i].wide ? G_MAXUINT32 : total);
  }
}

static void test_w64(void) {
  fc_output output;
  GError *error = NULL;
  encode(SF_FORMAT_W64, 700000001, &output, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(little(output.front + 16, 8), ==, (guint64)output.size);
  const guint8 *data = memmem(output.front, 200, "data\xf3", 5);
  g_assert_nonnull(data);
  g_assert_cmpuint(little(data + 16, 8), ==, 24 + 8 * (guint64)700000001);
}

/* Containers that have no wider kind: an error, at the end since nobody knew before. */
static void test_too_long(void) {
  static const int majors[] = {SF_FORMAT_AIFF, SF_FORMAT_AU};
  fc_output output;
  for (gsize i = 0; i < G_N_ELEMENTS(majors); i++) {
    g_autoptr(GError) error = NULL;
    g_assert_false(encode(majors[i], 536870912, &output, &error));
    g_assert_error(error, FC_ERROR, FC_INVALID);
    g_assert_cmpstr(error->message, ==,
                    "long: would exceed the 4 GiB that its format holds; use .rf64, .w64 or .caf");
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/media/long/wav", test_wav);
  g_test_add_func("/media/long/w64", test_w64);
  g_test_add_func("/media/long/too-long", test_too_long);
  return g_test_run();
}
