/* SPDX-License-Identifier: MIT */
/*
 * test_channel_order.c - channels of Ogg stand in the file where Vorbis and Opus have them, and everywhere
 * else where WAV has them.
 */
#include <math.h>
#include <sndfile.h>
#include <string.h>

#include <ogg/ogg.h>
#include "tests/media/support.h"

#define RATE   48000
#define FRAMES 12000
/* Of which all tones have whole periods, behind the encoder's beginning. */
#define LISTEN_AT 4800
#define LISTEN    4800

/* Positions by WAV's names, as both have them: front, Back, Side, Low frequencies; m is the centre. */
static const struct {
  int channels;
  const char *wav, *ogg;
  int speakers[8]; /* of WAV */
} orders[] = {
    {3, "l r m", "l m r", {SF_CHANNEL_MAP_LEFT, SF_CHANNEL_MAP_RIGHT, SF_CHANNEL_MAP_CENTER}},
    {4,
     "l r Bl Br",
     "l r Bl Br",
     {SF_CHANNEL_MAP_LEFT, SF_CHANNEL_MAP_RIGHT, SF_CHANNEL_MAP_REAR_LEFT, SF_CHANNEL_MAP_REAR_RIGHT}},
    {5,
     "l r m Bl Br",
     "l m r Bl Br",
     {SF_CHANNEL_MAP_LEFT, SF_CHANNEL_MAP_RIGHT, SF_CHANNEL_MAP_CENTER, SF_CHANNEL_MAP_REAR_LEFT,
      SF_CHANNEL_MAP_REAR_RIGHT}},
    {6,
     "l r m L Bl Br",
     "l m r Bl Br L",
     {SF_CHANNEL_MAP_LEFT, SF_CHANNEL_MAP_RIGHT, SF_CHANNEL_MAP_CENTER, SF_CHANNEL_MAP_LFE,
      SF_CHANNEL_MAP_REAR_LEFT, SF_CHANNEL_MAP_REAR_RIGHT}},
    {7,
     "l r m L Bm Sl Sr",
     "l m r Sl Sr Bm L",
     {SF_CHANNEL_MAP_LEFT, SF_CHANNEL_MAP_RIGHT, SF_CHANNEL_MAP_CENTER, SF_CHANNEL_MAP_LFE,
      SF_CHANNEL_MAP_REAR_CENTER, SF_CHANNEL_MAP_SIDE_LEFT, SF_CHANNEL_MAP_SIDE_RIGHT}},
    {8,
     "l r m L Bl Br Sl Sr",
     "l m r Sl Sr Bl Br L",
     {SF_CHANNEL_MAP_LEFT, SF_CHANNEL_MAP_RIGHT, SF_CHANNEL_MAP_CENTER, SF_CHANNEL_MAP_LFE,
      SF_CHANNEL_MAP_REAR_LEFT, SF_CHANNEL_MAP_REAR_RIGHT, SF_CHANNEL_MAP_SIDE_LEFT,
      SF_CHANNEL_MAP_SIDE_RIGHT}},
};

/* Low enough for the one that is encoded for low frequencies alone. */
static const struct {
  const char *speaker;
  int tone;
} tones[] = {{"l", 300},  {"r", 500},   {"m", 700},   {"L", 60},   {"Bl", 1100},
             {"Br", 900}, {"Sl", 1300}, {"Sr", 1500}, {"Bm", 1700}};

/* ---- tones and places ----------------------------------------------------- */

static int tone_of(const char *speaker) {
  gsize i = 0;
  while (strcmp(tones[i].speaker, speaker) != 0) g_assert_cmpuint(++i, <, G_N_ELEMENTS(tones));
  return tones[i].tone;
}

/* Each position has its tone. */
static void make_tones(const char *path, int format, const char *order) {
  g_auto(GStrv) speakers = g_strsplit(order, " ", -1);
  int channels = (int)g_strv_length(speakers);
  SF_INFO info = {.samplerate = RATE, .channels = channels, .format = format};
  SNDFILE *file = sf_open(path, SFM_WRITE, &info);
  g_assert_nonnull(file);
  g_autofree float *frames = g_new(float, FRAMES *channels);
  for (int c = 0; c < channels; c++)
    for (int t = 0, tone = tone_of(speakers[c]); t < FRAMES; t++)
      frames[t * channels + c] = 0.2f * (float)sin(2 * G_PI * tone * t / RATE);
  g_assert_cmpint(sf_writef_float(file, frames, FRAMES), ==, FRAMES);
  g_assert_cmpint(sf_close(file), ==, 0);
}

static double strength(const float *samples, int step, int tone) {
  double real = 0, imaginary = 0;
  for (int t = 0; t < LISTEN; t++) {
    real += samples[t * step] * cos(2 * G_PI * tone * t / RATE);
    imaginary += samples[t * step] * sin(2 * G_PI * tone * t / RATE);
  }
  return hypot(real, imaginary);
}

/* The position whose tone is heard. */
static const char *speaker_of(const float *samples, int step) {
  gsize best = 0;
  for (gsize i = 1; i < G_N_ELEMENTS(tones); i++)
    if (strength(samples, step, tones[i].tone) > strength(samples, step, tones[best].tone)) best = i;
  return tones[best].speaker;
}

/* What stands where in a file, as libsndfile delivers it to everybody; the positions, if wanted, are those
 * that it knows. */
static char *order_in(const char *path, int *speakers) {
  SF_INFO info = {0};
  SNDFILE *file = sf_open(path, SFM_READ, &info);
  g_assert_nonnull(file);
  g_autofree float *frames = g_new(float, LISTEN *info.channels);
  g_assert_cmpint(sf_seek(file, LISTEN_AT, SEEK_SET), ==, LISTEN_AT);
  g_assert_cmpint(sf_readf_float(file, frames, LISTEN), ==, LISTEN);
  if (speakers)
    g_assert_true(
        sf_command(file, SFC_GET_CHANNEL_MAP_INFO, speakers, info.channels * (int)sizeof *speakers));
  sf_close(file);
  GString *order = g_string_new(NULL);
  for (int c = 0; c < info.channels; c++)
    g_string_append_printf(order, "%s%s", c ? " " : "", speaker_of(frames + c, info.channels));
  return g_string_free(order, FALSE);
}

static void assert_order(const char *path, const char *order) {
  g_autofree char *found = order_in(path, NULL);
  g_assert_cmpstr(found, ==, order);
}

/* ---- the tests ------------------------------------------------------------ */

/* From WAV into Ogg and back, by name and from a pipe; it says who sits where then. */
static void take_round(gsize i, const char *name) {
  g_autofree char *in = scratch("in.wav"), *ogg = scratch(name), *out = scratch("out.wav");
  GError *error = NULL;
  make_tones(in, SF_FORMAT_WAV | SF_FORMAT_FLOAT, orders[i].wav);
  assert_copies(in, ogg);
  assert_order(ogg, orders[i].ogg);
  assert_copies(ogg, out);
  for (int from_pipe = 0; from_pipe < 2; from_pipe++) {
    int speakers[8];
    g_autofree char *found = order_in(out, speakers);
    g_assert_cmpstr(found, ==, orders[i].wav);
    for (int c = 0; c < orders[i].channels; c++) g_assert_cmpint(speakers[c], ==, orders[i].speakers[c]);
    bytes b = load(ogg);
    copy_through_pipe(&b, 3000, &(copy_job){.out = out, .dtype = -1}, &error);
    g_assert_no_error(error);
    clear_bytes(&b);
  }
}

static void test_round(void) {
  for (gsize i = 0; i < G_N_ELEMENTS(orders); i++) {
    take_round(i, "round.ogg");
    take_round(i, "round.opus");
  }
}

/* The samples are libsndfile's own, each in another place, however many are asked for. */
static void test_exactly(void) {
  static const gint64 chunks[] = {1, 1000, FRAMES};
  static const int from[] = {0, 2, 1, 5, 3, 4}; /* of WAV's places, in the file */
  g_autofree char *in = scratch("exact.ogg"), *out = scratch("exact.raw");
  static float want[FRAMES * 6];
  make_tones(in, SF_FORMAT_OGG | SF_FORMAT_VORBIS, "l m r Bl Br L");
  SF_INFO info = {0};
  SNDFILE *file = sf_open(in, SFM_READ, &info);
  g_assert_cmpint(sf_readf_float(file, want, FRAMES), ==, FRAMES);
  sf_close(file);
  for (gsize k = 0; k < G_N_ELEMENTS(chunks); k++) {
    GError *error = NULL;
    copy(&(copy_job){.in = in, .out = out, .dtype = -1, .chunk = chunks[k]}, &error);
    g_assert_no_error(error);
    bytes b = load(out);
    const float *got = (const float *)(const void *)b.data;
    g_assert_cmpuint(b.size, ==, sizeof want);
    for (int i = 0; i < FRAMES * 6; i++) g_assert_true(got[i] == want[i - i % 6 + from[i % 6]]);
    clear_bytes(&b);
  }
}

/* What is written does not depend on how much comes at a time. */
static void test_written_in_chunks(void) {
  static const char *const names[] = {"chunks.ogg", "chunks.opus"};
  static const gint64 chunks[] = {1, 1000, 1024, FRAMES};
  g_autofree char *in = scratch("chunks.wav"), *want = scratch("want");
  make_tones(in, SF_FORMAT_WAV | SF_FORMAT_FLOAT, "l r m L Bl Br");
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *out = scratch(names[i]);
    for (gsize k = 0; k < G_N_ELEMENTS(chunks); k++) {
      GError *error = NULL;
      copy(&(copy_job){.in = in, .out = out, .dtype = -1, .chunk = chunks[k]}, &error);
      g_assert_no_error(error);
      bytes b = load(out);
      if (k == 0) store(want, b.data, b.size);
      clear_bytes(&b);
      assert_same_bytes(out, want);
    }
  }
}

/* Vorbis has none for so many. */
static void test_nine(void) {
  static const char all[] = "l r m L Bl Br Sl Sr Bm";
  g_autofree char *in = scratch("nine.wav"), *ogg = scratch("nine.ogg"), *out = scratch("nine-out.wav");
  make_tones(in, SF_FORMAT_WAV | SF_FORMAT_FLOAT, all);
  assert_copies(in, ogg);
  assert_order(ogg, all);
  assert_copies(ogg, out);
  assert_order(out, all);
}

/* The same stream with another mapping family, and the checksum of its first page set right. */
static void set_family(const char *from, const char *to, guint8 family) {
  enum { BODY_AT = 28, FAMILY_AT = BODY_AT + 18 };
  bytes b = load(from);
  ogg_page page = {.header = b.data, .header_len = BODY_AT, .body = b.data + BODY_AT, .body_len = b.data[27]};
  g_assert_cmpmem(b.data + BODY_AT, 8, "OpusHead", 8);
  g_assert_cmpint(b.data[FAMILY_AT], ==, 1);
  b.data[FAMILY_AT] = family;
  ogg_page_checksum_set(&page);
  store(to, b.data, b.size);
  clear_bytes(&b);
}

/* Channels of Opus may have nothing to do with each other. */
static void test_family(void) {
  static const char own[] = "l m r Bl Br L";
  g_autofree char *in = scratch("one.opus"), *other = scratch("other.opus"), *out = scratch("family.wav");
  make_tones(in, SF_FORMAT_OGG | SF_FORMAT_OPUS, own);
  assert_copies(in, out);
  assert_order(out, "l r m L Bl Br");
  set_family(in, other, 255);
  assert_copies(other, out);
  assert_order(out, own);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  scratch_init();
  g_test_add_func("/media/channel-order/round", test_round);
  g_test_add_func("/media/channel-order/exactly", test_exactly);
  g_test_add_func("/media/channel-order/written-in-chunks", test_written_in_chunks);
  g_test_add_func("/media/channel-order/nine", test_nine);
  g_test_add_func("/media/channel-order/family", test_family);
  int status = g_test_run();
  scratch_remove();
  return status;
}
