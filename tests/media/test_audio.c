/* SPDX-License-Identifier: MIT */
/*
 * test_audio.c - sound in and out: samples come through bit for bit in every container
 * and sample format, whatever the chunks; a cut-off file is noticed wherever the cut is.
 */
#include <glib/gstdio.h>
#include <sndfile.h>
#include <string.h>

#include "tests/media/support.h"

typedef struct container {
  const char *extension;
  int major, s8; /* the container's 8-bit samples, or 0 */
  gboolean floats;
} container;

static const container containers[] = {
    {"wav", SF_FORMAT_WAV, SF_FORMAT_PCM_U8, TRUE},    {"rf64", SF_FORMAT_RF64, SF_FORMAT_PCM_U8, TRUE},
    {"w64", SF_FORMAT_W64, SF_FORMAT_PCM_U8, TRUE},    {"aiff", SF_FORMAT_AIFF, SF_FORMAT_PCM_S8, TRUE},
    {"au", SF_FORMAT_AU, SF_FORMAT_PCM_S8, TRUE},      {"caf", SF_FORMAT_CAF, SF_FORMAT_PCM_S8, TRUE},
    {"flac", SF_FORMAT_FLAC, SF_FORMAT_PCM_S8, FALSE},
};

static char *sound(const container *c, int subtype, int channels, gint64 frames, const char *name) {
  g_autofree char *file = g_strdup_printf("%s.%s", name, c->extension);
  char *path = scratch(file);
  make_sound(path, c->major | subtype, 44100, channels, frames);
  return path;
}

static double *samples_of(const char *path, SF_INFO *info) {
  SNDFILE *file = sf_open(path, SFM_READ, info);
  g_assert_nonnull(file);
  double *samples = g_new(double, info->frames * info->channels + 1);
  g_assert_cmpint(sf_readf_double(file, samples, info->frames), ==, info->frames);
  sf_close(file);
  return samples;
}

static void assert_same_sound(const char *path, const char *other) {
  SF_INFO a = {0}, b = {0};
  g_autofree double *p = samples_of(path, &a), *q = samples_of(other, &b);
  g_assert_cmpint(a.frames, ==, b.frames);
  g_assert_cmpint(a.channels, ==, b.channels);
  g_assert_cmpint(a.samplerate, ==, b.samplerate);
  g_assert_cmphex(a.format & SF_FORMAT_SUBMASK, ==, b.format & SF_FORMAT_SUBMASK);
  gsize size = (gsize)(a.frames * a.channels) * 8;
  g_assert_cmpmem(p, size, q, size);
}

static void round_trip(const container *c, int subtype) {
  static const int channels[] = {1, 2, 3, 8};
  static const gint64 lengths[] = {0, 1, 1001, 5000};
  for (int k = 0; k < 8; k++) {
    gint64 frames = lengths[k / 2];
    if (frames == 0 && c->major == SF_FORMAT_FLAC) continue; /* libsndfile makes a file of 0 bytes */
    g_autofree char *in = sound(c, subtype, channels[k % 4], frames, "in");
    g_autofree char *name = g_strdup_printf("out.%s", c->extension);
    g_autofree char *out = scratch(name);
    copy_job job = {.in = in, .out = out, .dtype = -1, .chunk = k % 2 ? 7 : 4096, .hide_length = k % 2};
    GError *error = NULL;
    copy(&job, &error);
    g_assert_no_error(error);
    assert_same_sound(in, out);
    g_remove(in);
    g_remove(out);
  }
}

/* Every container x sample format x channels, known and unknown length, odd chunks. */
static void test_round_trip(void) {
  for (gsize i = 0; i < G_N_ELEMENTS(containers); i++) {
    const container *c = &containers[i];
    const int subtypes[] = {c->s8,           SF_FORMAT_PCM_16, SF_FORMAT_PCM_24, SF_FORMAT_PCM_32,
                            SF_FORMAT_FLOAT, SF_FORMAT_DOUBLE};
    for (gsize s = 0; s < (c->floats ? 6 : 3); s++) round_trip(c, subtypes[s]);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  scratch_init();
  g_test_add_func("/media/audio/round-trip", test_round_trip);
  int status = g_test_run();
  scratch_remove();
  return status;
}
