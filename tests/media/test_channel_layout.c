/* SPDX-License-Identifier: MIT */
/*
 * test_channel_layout.c - where channels sit goes over between WAV, FLAC, CAF, AIFF and W64 with every sample
 * in its place, or with a warning.
 */
#include <sndfile.h>
#include <string.h>

#include "tests/media/support.h"

#define FRAMES 500

/* Of WAV with the extended format, which libsndfile and we begin files with. */
enum { TAG_AT = 20, MASK_AT = 40 };

static const struct {
  int channels;
  guint32 mask;
  gboolean usual; /* for so many, so that it may be left out */
} layouts[] = {
    {1, 0x1, FALSE},   {2, 0x600, FALSE}, {3, 0x7, TRUE},    {3, 0xb, FALSE},   {3, 0x103, FALSE},
    {4, 0x33, TRUE},   {4, 0x603, TRUE},  {4, 0x107, FALSE}, {4, 0xf, FALSE},   {5, 0x37, TRUE},
    {5, 0x607, TRUE},  {6, 0x3f, TRUE},   {6, 0x60f, TRUE},  {6, 0x137, FALSE}, {7, 0x70f, TRUE},
    {7, 0x13f, FALSE}, {8, 0x63f, TRUE},  {8, 0xff, FALSE},  {8, 0x6cf, FALSE},
};

static guint32 little(const guint8 *at) {
  return at[0] | (guint32)at[1] << 8 | (guint32)at[2] << 16 | (guint32)at[3] << 24;
}

static void make(const char *path, int subtype, int channels, guint32 mask) {
  make_sound(path, SF_FORMAT_WAVEX | subtype, 48000, channels, FRAMES);
  bytes b = load(path);
  g_assert_cmpint(b.data[TAG_AT], ==, 0xfe);
  for (int i = 0; i < 4; i++) b.data[MASK_AT + i] = (guint8)(mask >> 8 * i);
  store(path, b.data, b.size);
  clear_bytes(&b);
}

/* 0 where WAV has no place for it. */
static guint32 mask_in(const char *path) {
  bytes b = load(path);
  guint32 mask = b.data[TAG_AT] == 0xfe ? little(b.data + MASK_AT) : 0;
  clear_bytes(&b);
  return mask;
}

static void assert_same_samples(const char *path, const char *other) {
  g_autoptr(GArray) a = read_file(path, NULL, NULL), b = read_file(other, NULL, NULL);
  g_assert_cmpmem(a->data, a->len * sizeof(double), b->data, b->len * sizeof(double));
}

/* What is said of a copy. */
static GPtrArray *told_of(const char *in, const char *out) {
  GPtrArray *lines = g_ptr_array_new_with_free_func(g_free);
  GError *error = NULL;
  copy(&(copy_job){.in = in, .out = out, .options = {.log = keep_line, .log_data = lines}, .dtype = -1},
       &error);
  g_assert_no_error(error);
  return lines;
}

static void assert_lost(const char *in, const char *out, const char *word) {
  g_autoptr(GPtrArray) lines = told_of(in, out);
  for (guint i = 0; i < lines->len; i++) g_test_message("%s", (char *)lines->pdata[i]);
  g_assert_cmpuint(lines->len, ==, word ? 1 : 0);
  if (!word) return;
  g_autofree char *end = g_strdup_printf("left out: %s", word);
  g_assert_true(g_str_has_suffix(lines->pdata[0], end));
}

/* There and back, without a word. */
static void test_round(void) {
  static const char *const names[] = {"out.flac", "out.caf", "out.aiff", "out.w64", "out.rf64", "out.wav"};
  g_autofree char *in = scratch("in.wav"), *back = scratch("back.wav");
  for (gsize i = 0; i < G_N_ELEMENTS(layouts); i++) {
    make(in, SF_FORMAT_PCM_16, layouts[i].channels, layouts[i].mask);
    for (gsize k = 0; k < G_N_ELEMENTS(names); k++) {
      g_autofree char *out = scratch(names[k]);
      assert_lost(in, out, NULL);
      assert_lost(out, back, NULL);
      g_assert_cmphex(mask_in(back), ==, layouts[i].mask);
      assert_same_samples(in, back);
    }
  }
}

/* From each into each of the others. */
static void test_each_way(void) {
  static const char *const names[] = {"a.flac", "a.caf", "a.aiff", "a.w64"};
  g_autofree char *in = scratch("in.wav"), *back = scratch("back.wav");
  for (gsize i = 0; i < G_N_ELEMENTS(layouts); i++) {
    make(in, SF_FORMAT_PCM_16, layouts[i].channels, layouts[i].mask);
    for (gsize k = 0; k < G_N_ELEMENTS(names) * G_N_ELEMENTS(names); k++) {
      g_autofree char *one = scratch(names[k / G_N_ELEMENTS(names)]);
      g_autofree char *end = g_strconcat("b-", names[k % G_N_ELEMENTS(names)], NULL), *two = scratch(end);
      assert_lost(in, one, NULL);
      assert_lost(one, two, NULL);
      assert_lost(two, back, NULL);
      g_assert_cmphex(mask_in(back), ==, layouts[i].mask);
      assert_same_samples(in, back);
    }
  }
}

/* Ogg and AU have a place for none of them, and W64 for none of floats: other layouts than the usual are
 * named.
 */
static void test_lost(void) {
  g_autofree char *in = scratch("in.wav"), *floats = scratch("floats.wav");
  g_autofree char *ogg = scratch("out.ogg"), *au = scratch("out.au"), *w64 = scratch("out.w64");
  for (gsize i = 0; i < G_N_ELEMENTS(layouts); i++) {
    const char *word = layouts[i].usual ? NULL : "channel mask";
    make(in, SF_FORMAT_PCM_16, layouts[i].channels, layouts[i].mask);
    make(floats, SF_FORMAT_FLOAT, layouts[i].channels, layouts[i].mask);
    assert_lost(in, ogg, word);
    assert_lost(in, au, word);
    assert_lost(floats, w64, word);
    assert_same_samples(floats, w64);
  }
}

/* Of u-law and A-law, which libsndfile writes, WAV and RF64 say it too, and make nothing up. */
static void test_of_laws(void) {
  static const int laws[] = {SF_FORMAT_ULAW, SF_FORMAT_ALAW};
  g_autofree char *in = scratch("in.wav"), *back = scratch("back.wav"), *wav = scratch("law.wav");
  g_autofree char *rf64 = scratch("law.rf64"), *w64 = scratch("law.w64");
  for (gsize i = 0; i < G_N_ELEMENTS(layouts) * G_N_ELEMENTS(laws); i++) {
    int channels = layouts[i / 2].channels;
    const guint32 masks[] = {layouts[i / 2].mask, 0, 0x80000000}, law = (guint32)laws[i % 2];
    for (gsize k = 0; k < G_N_ELEMENTS(masks); k++) {
      make(in, (int)law, channels, masks[k]);
      gboolean usual = k == 0 ? layouts[i / 2].usual : masks[k] == 0;
      assert_lost(in, wav, NULL);
      g_assert_cmphex(mask_in(wav), ==, masks[k]);
      assert_same_samples(in, wav);
      assert_lost(in, rf64, NULL);
      bytes b = load(rf64);
      const guint8 *form = memmem(b.data, b.size, "fmt ", 4);
      g_assert_cmphex(form[8] == 0xfe ? little(form + MASK_AT - TAG_AT + 8) : 0, ==, masks[k]);
      clear_bytes(&b);
      assert_lost(rf64, back, NULL);
      g_assert_cmphex(mask_in(back), ==, masks[k]);
      assert_same_samples(in, back);
      assert_lost(in, w64, usual ? NULL : "channel mask");
      assert_same_samples(in, w64);
    }
  }
}

/* A mask for fewer channels, or of more than Core Audio has bits for. */
static void test_odd_masks(void) {
  static const guint32 masks[] = {0x3, 0x7f, 0x80000003, 0x60000001};
  g_autofree char *in = scratch("in.wav"), *flac = scratch("odd.flac"), *back = scratch("back.wav");
  g_autofree char *caf = scratch("odd.caf"), *aiff = scratch("odd.aiff");
  for (gsize i = 0; i < G_N_ELEMENTS(masks); i++) {
    make(in, SF_FORMAT_PCM_16, 3, masks[i]);
    assert_lost(in, flac, NULL);
    assert_lost(flac, back, NULL);
    g_assert_cmphex(mask_in(back), ==, masks[i]);
    assert_lost(in, caf, "channel mask");
    assert_lost(in, aiff, "channel mask");
    assert_lost(flac, caf, "channel mask");
  }
}

/* What says nothing: a mask of 0, one channel in the middle and two at the sides stay as they were. */
static void test_nothing_said(void) {
  static const struct {
    int channels;
    guint32 mask, of_caf;
  } plain[] = {{1, 0, 0}, {1, 0x4, 0}, {2, 0, 0}, {2, 0x3, 0x3}, {6, 0, 0}};
  g_autofree char *in = scratch("in.wav"), *back = scratch("back.wav"), *flac = scratch("plain.flac");
  g_autofree char *caf = scratch("plain.caf"), *au = scratch("plain.au"), *ogg = scratch("plain.ogg");
  for (gsize i = 0; i < G_N_ELEMENTS(plain); i++) {
    make(in, SF_FORMAT_PCM_16, plain[i].channels, plain[i].mask);
    assert_lost(in, au, NULL);
    assert_lost(in, ogg, NULL);
    assert_lost(in, flac, NULL);
    bytes b = load(flac);
    g_assert_null(memmem(b.data, b.size, "CHANNEL_MASK", 12));
    clear_bytes(&b);
    assert_lost(in, caf, NULL);
    assert_lost(caf, back, NULL);
    g_assert_cmphex(mask_in(back), ==, plain[i].of_caf);
  }
}

/* Without a word in the file channels sit where the codec says: FLAC and Vorbis differ in where surround is.
 */
static void test_of_codecs(void) {
  static const guint32 flac[] = {0, 0, 0, 0x7, 0x33, 0x607, 0x60f, 0x70f, 0x63f};
  static const guint32 ogg[] = {0, 0, 0, 0x7, 0x33, 0x37, 0x3f, 0x70f, 0x63f};
  static const struct {
    const char *name;
    int format;
    const guint32 *masks;
  } codecs[] = {{"c.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, flac},
                {"c.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, ogg},
                {"c.opus", SF_FORMAT_OGG | SF_FORMAT_OPUS, ogg}};
  static const char *const between[] = {"d.wav", "d.flac", "d.caf", "d.aiff"};
  g_autofree char *back = scratch("back.wav");
  for (gsize i = 0; i < G_N_ELEMENTS(codecs); i++)
    for (int channels = 1; channels <= 8; channels++)
      for (gsize k = 0; k < G_N_ELEMENTS(between); k++) {
        g_autofree char *in = scratch(codecs[i].name), *out = scratch(between[k]);
        make_sound(in, codecs[i].format, 48000, channels, FRAMES);
        assert_lost(in, out, NULL);
        assert_copies(out, back); /* AIFF's word for the program is warned of */
        g_assert_cmphex(mask_in(back), ==, codecs[i].masks[channels]);
      }
}

/* A pipe says it too. */
static void test_of_pipes(void) {
  static const char *const names[] = {"p.wav", "p.aiff", "p.rf64", "p.caf", "p.flac"};
  g_autofree char *in = scratch("in.wav"), *back = scratch("back.wav");
  make(in, SF_FORMAT_PCM_16, 6, 0x137);
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *out = scratch(names[i]);
    GError *error = NULL;
    assert_lost(in, out, NULL);
    bytes b = load(out);
    copy_through_pipe(&b, 3000, &(copy_job){.out = back, .dtype = -1}, &error);
    g_assert_no_error(error);
    clear_bytes(&b);
    g_assert_cmphex(mask_in(back), ==, 0x137);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  scratch_init();
  g_test_add_func("/media/channel-layout/round", test_round);
  g_test_add_func("/media/channel-layout/each-way", test_each_way);
  g_test_add_func("/media/channel-layout/lost", test_lost);
  g_test_add_func("/media/channel-layout/of-laws", test_of_laws);
  g_test_add_func("/media/channel-layout/odd-masks", test_odd_masks);
  g_test_add_func("/media/channel-layout/nothing-said", test_nothing_said);
  g_test_add_func("/media/channel-layout/of-codecs", test_of_codecs);
  g_test_add_func("/media/channel-layout/of-pipes", test_of_pipes);
  int status = g_test_run();
  scratch_remove();
  return status;
}
