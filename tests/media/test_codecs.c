/* SPDX-License-Identifier: MIT */
/*
 * test_codecs.c - what codecs make of sound does not show how it came to them.
 */
#include <string.h>

#include "media/audio/audio.h"
#include "tests/media/support.h"

/* An Ogg stream begins once, also where nothing comes. */
static void test_empty_ogg(void) {
  g_autofree char *in = scratch("empty.wav"), *out = scratch("empty.ogg");
  guint begins = 0;
  make_sound(in, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 8000, 1, 0);
  assert_copies(in, out);
  bytes b = load(out);
  for (gsize at = 0; at + 27 < b.size; at++) begins += memcmp(b.data + at, "OggS\0\2", 6) == 0;
  g_assert_cmpuint(begins, ==, 1);
  clear_bytes(&b);
}

/* What is written does not depend on how much comes at a time, nor what is read on how much is asked for. */
static void test_any_chunks(void) {
  static const struct {
    const char *name;
    int format;
  } kinds[] = {
      {"k.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_24},   {"k.aiff", SF_FORMAT_AIFF | SF_FORMAT_FLOAT},
      {"k.au", SF_FORMAT_AU | SF_FORMAT_ULAW},       {"k.caf", SF_FORMAT_CAF | SF_FORMAT_ALAW},
      {"k.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16}, {"k.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS},
      {"k.opus", SF_FORMAT_OGG | SF_FORMAT_OPUS},    {"k-ms.wav", SF_FORMAT_WAV | SF_FORMAT_MS_ADPCM}};
  static const gint64 chunks[] = {1, 7, 1000, 1024, 3333, 20000};
  g_autofree char *back = scratch("k-back.wav"), *back_want = scratch("k-want.wav");
  for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
    g_autofree char *in = scratch(kinds[i].name), *name = g_strconcat("out-", kinds[i].name, NULL),
                    *want_name = g_strconcat("want-", kinds[i].name, NULL);
    g_autofree char *out = scratch(name), *want = scratch(want_name);
    make_sound(in, kinds[i].format, 48000, 2, 20000);
    assert_copies(in, want);
    assert_copies(in, back_want);
    for (gsize k = 0; k < G_N_ELEMENTS(chunks); k++) {
      GError *error = NULL;
      copy(&(copy_job){.in = in, .out = out, .dtype = -1, .chunk = chunks[k]}, &error);
      g_assert_no_error(error);
      assert_same_bytes(out, want);
      copy(&(copy_job){.in = in, .out = back, .dtype = -1, .chunk = chunks[k]}, &error);
      g_assert_no_error(error);
      assert_same_bytes(back, back_want);
    }
  }
}

/* All samples to the code that libsndfile has for them, and all codes to its samples. */
static void test_g711(void) {
  static const struct {
    int subtype;
    char kind;
    guint8 (*code_of)(gint16);
  } laws[] = {{SF_FORMAT_ULAW, 'm', fc_ulaw_of}, {SF_FORMAT_ALAW, 'a', fc_alaw_of}};
  enum { SAMPLES = 65536 };
  g_autofree char *path = scratch("g711.raw");
  g_autofree gint16 *samples = g_new(gint16, SAMPLES);
  for (int i = 0; i < SAMPLES; i++) samples[i] = (gint16)(i - 32768);
  for (gsize k = 0; k < G_N_ELEMENTS(laws); k++) {
    SF_INFO info = {.samplerate = 8000, .channels = 1, .format = SF_FORMAT_RAW | laws[k].subtype};
    SNDFILE *file = sf_open(path, SFM_WRITE, &info);
    g_assert_cmpint(sf_write_short(file, samples, SAMPLES), ==, SAMPLES);
    sf_close(file);
    bytes codes = load(path);
    for (int i = 0; i < SAMPLES; i++) g_assert_cmpint(laws[k].code_of(samples[i]), ==, codes.data[i]);
    g_autofree float *want = g_new(float, SAMPLES), *got = g_new(float, SAMPLES);
    file = sf_open(path, SFM_READ, &info);
    g_assert_cmpint(sf_read_float(file, want, SAMPLES), ==, SAMPLES);
    sf_close(file);
    g_assert_cmpint(fc_items_convert(fc_item_find(laws[k].kind, 1), codes.data, SAMPLES, got), ==, -1);
    g_assert_cmpmem(got, SAMPLES * sizeof *got, want, SAMPLES * sizeof *want);
    clear_bytes(&codes);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  scratch_init();
  g_test_add_func("/media/codecs/empty-ogg", test_empty_ogg);
  g_test_add_func("/media/codecs/any-chunks", test_any_chunks);
  g_test_add_func("/media/codecs/g711", test_g711);
  int status = g_test_run();
  scratch_remove();
  return status;
}
