/* SPDX-License-Identifier: MIT */
/*
 * test_comments.c - Vorbis comments: read whatever they say of their lengths, and written into FLAC and Ogg
 * so that libsndfile reads them, and the samples behind them.
 */
#include <math.h>
#include <sndfile.h>
#include <string.h>

#include "media/audio/audio_tags.h"
#include "media/audio/ogg_stream.h"
#include "tests/media/support.h"

/* A string with zeros in it, and its size without the last one. */
#define BYTES(text) (const guint8 *)(text), sizeof(text) - 1

/* The texts of tags, as comments have them. */
static char *words_of(const fc_tags *tags) {
  GString *words = g_string_new(NULL);
  for (guint i = 0; i < tags->texts->len; i++) {
    const fc_tag_text *text = &g_array_index(tags->texts, fc_tag_text, i);
    g_string_append_printf(words, "%s=%s;", text->name ? text->name : "?", text->value);
  }
  return g_string_free(words, FALSE);
}

static void put_body(fc_blob *body, const char *const *fields) {
  fc_blob_put_little(body, 0, 4);
  fc_blob_put_little(body, g_strv_length((char **)fields), 4);
  for (; *fields; fields++) {
    fc_blob_put_little(body, strlen(*fields), 4);
    fc_blob_put(body, *fields, strlen(*fields));
  }
}

static fc_tags *tags_of(const char *const *fields) {
  g_auto(fc_blob) body = {0};
  fc_tags *tags = fc_tags_new(FC_TAGS_FLAC);
  put_body(&body, fields);
  g_assert_true(fc_comments_read(tags, body.data, body.size));
  return tags;
}

/* ---- reading -------------------------------------------------------------- */

/* Every length can be a lie, and what is ahead of it is taken. */
static void test_lies(void) {
  static const struct {
    const guint8 *body;
    gsize size;
    gboolean whole;
    guint count;
  } bodies[] = {
      {BYTES("\0\0\0\0\0\0\0\0"), TRUE, 0},
      {BYTES("\1\0\0\0v\1\0\0\0\3\0\0\0A=b"), TRUE, 1},
      {BYTES("\1\0\0\0v\1\0\0\0\3\0\0\0A=b\1behind"), TRUE, 1},
      {BYTES("\1\0\0\0v\2\0\0\0\3\0\0\0A=b\0\0\0\0"), TRUE, 2},
      {BYTES("\1\0\0\0v\2\0\0\0\3\0\0\0A=b"), FALSE, 1},
      {BYTES("\1\0\0\0v\2\0\0\0\3\0\0\0A=b\3\0\0"), FALSE, 1},
      {BYTES("\1\0\0\0v\2\0\0\0\3\0\0\0A=b\4\0\0\0C=d"), FALSE, 1},
      {BYTES("\1\0\0\0v\2\0\0\0\3\0\0\0A=b\xff\xff\xff\xff\3=d"), FALSE, 1},
      {BYTES("\1\0\0\0v\xff\xff\xff\xff\3\0\0\0A=b"), FALSE, 1},
      {BYTES("\xff\xff\xff\xffv\1\0\0\0\3\0\0\0A=b"), FALSE, 0},
      {BYTES("\1\0\0\0v\1\0\0"), FALSE, 0},
      {BYTES("\1\0\0"), FALSE, 0},
      {BYTES(""), FALSE, 0},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(bodies); i++) {
    g_autoptr(fc_tags) tags = fc_tags_new(FC_TAGS_FLAC);
    g_autofree guint8 *exact = g_memdup2(bodies[i].body, bodies[i].size); /* so that a step too far shows */
    g_assert_cmpint(fc_comments_read(tags, exact, bodies[i].size), ==, bodies[i].whole);
    g_assert_cmpuint(tags->texts->len, ==, bodies[i].count);
    if (bodies[i].count) g_assert_cmpstr(fc_tags_text(tags, "a"), ==, "b");
  }
}

/* Of as many names as there are millions of, so many are told, and none is looked for among millions. */
static void test_many_names(void) {
  g_autoptr(GString) words = g_string_new(NULL);
  for (int i = 0; i < 1000000; i++) {
    g_autofree char *name = g_strdup_printf("N%d", i);
    fc_media_add_word(words, name);
  }
  g_assert_cmpuint(words->len, <, 2100);
  g_assert_true(g_str_has_suffix(words->str, ", and more"));
}

/* ---- what goes over -------------------------------------------------------- */

static fc_audio_spec spec_of(const fc_tags *tags, int format, GString *lost) {
  return (fc_audio_spec){.samples.format = format,
                         .rate = 48000,
                         .channels = 2,
                         .frames = 100,
                         .tags = tags,
                         .lost = lost,
                         .quality = NAN,
                         .level = NAN};
}

/* What counts time goes with the samples that it counts. */
static void test_rules(void) {
  static const char *const fields[] = {"CHAPTER001=00:00:01.000",
                                       "CHAPTERS=not a place",
                                       "CueSheet=TRACK 1",
                                       "WAVEFORMATEXTENSIBLE_CHANNEL_MASK=0x33",
                                       "REPLAYGAIN_TRACK_GAIN=-3 dB",
                                       NULL};
  g_autoptr(fc_tags) tags = tags_of(fields);
  tags->rate = 48000, tags->channels = 2, tags->frames = 100;
  g_assert_cmphex(tags->speakers, ==, 0x33);
  for (int moved = 0; moved < 2; moved++) {
    g_autoptr(GString) lost = g_string_new(NULL);
    g_auto(fc_blob) body = {0};
    fc_audio_spec spec = spec_of(tags, SF_FORMAT_FLAC | SF_FORMAT_PCM_16, lost);
    spec.lead = moved;
    fc_comments_put(&spec, NULL, 0, &body);
    g_autoptr(fc_tags) again = fc_tags_new(FC_TAGS_FLAC);
    g_assert_true(fc_comments_read(again, body.data, body.size));
    g_autofree char *words = words_of(again);
    g_autofree char *wanted = g_strdup_printf(
        "%sCHAPTERS=not a place;%sWAVEFORMATEXTENSIBLE_CHANNEL_MASK=0x33;REPLAYGAIN_TRACK_GAIN=-3 dB;",
        moved ? "" : "CHAPTER001=00:00:01.000;", moved ? "" : "CueSheet=TRACK 1;");
    g_assert_cmpstr(words, ==, wanted);
    g_assert_cmphex(again->speakers, ==, 0x33);
    g_assert_cmpstr(lost->str, ==, moved ? "CHAPTER001, CueSheet" : "");
  }
}

/* Kind 3, "image/png", "a", four numbers, five bytes. */
#define PICTURE "\0\0\0\3\0\0\0\x09image/png\0\0\0\1a\0\0\0\1\0\0\0\1\0\0\0\x18\0\0\0\0\0\0\0\5bytes"

/* Into Ogg and back, with all that base 64 may be filled up with. */
static void test_pictures(void) {
  const gsize size = sizeof PICTURE - 1;
  guint8 content[sizeof PICTURE];
  for (gsize less = 0; less < 3; less++) {
    g_autoptr(fc_tags) tags = fc_tags_new(FC_TAGS_FLAC), again = fc_tags_new(FC_TAGS_OGG);
    g_autoptr(GString) lost = g_string_new(NULL);
    g_auto(fc_blob) body = {0};
    memcpy(content, PICTURE, size);
    content[size - 6] = (guint8)(5 - less);
    fc_tags_add_picture(tags, content, size - less);
    const fc_audio_spec spec = spec_of(tags, SF_FORMAT_OGG | SF_FORMAT_VORBIS, lost);
    fc_comments_put(&spec, NULL, 0, &body);
    g_assert_true(fc_comments_read(again, body.data, body.size));
    g_assert_cmpuint(again->texts->len, ==, 0);
    g_assert_cmpuint(again->pictures->len, ==, 1);
    const fc_blob *picture = &g_array_index(again->pictures, fc_blob, 0);
    g_assert_cmpmem(picture->data, picture->size, content, size - less);
  }
}

/* Which libFLAC would read no file with: they stay texts. */
static void test_no_pictures(void) {
  const gsize size = sizeof PICTURE - 1;
  guint8 content[sizeof PICTURE];
  for (gsize at = 4; at < size; at++) {
    memcpy(content, PICTURE, size);
    const gboolean length = at < 8 || (at >= 17 && at < 21) || (at >= 38 && at < 42);
    content[at] ^= 0x83;
    g_autofree char *text = g_base64_encode(content, size), *cut = g_base64_encode(content, at);
    g_autofree char *field = g_strconcat("metadata_block_picture=", text, NULL),
                    *short_field = g_strconcat("METADATA_BLOCK_PICTURE=", cut, NULL);
    g_autoptr(fc_tags) tags = tags_of((const char *const[]){"A=b", field, short_field, "C=d", NULL});
    g_assert_cmpuint(tags->texts->len, ==, length ? 4 : 3);
    g_assert_cmpuint(tags->pictures->len, ==, length ? 0 : 1);
    g_assert_cmpstr(fc_tags_text(tags, "C"), ==, "d");
  }
}

/* ---- files -------------------------------------------------------------------- */

/* FLAC with these comments in the place of the encoder's. */
static void insert_comments(const char *path, const char *const *fields) {
  bytes b = load(path);
  g_auto(fc_blob) file = {0}, body = {0};
  g_assert_cmpint(b.data[42] & 127, ==, 4);
  const gsize own = (gsize)b.data[43] << 16 | (gsize)b.data[44] << 8 | b.data[45];
  put_body(&body, fields);
  fc_blob_put(&file, b.data, 43);
  fc_blob_put_big(&file, body.size, 3);
  fc_blob_join(&file, &body);
  fc_blob_put(&file, b.data + 46 + own, b.size - 46 - own);
  store(path, file.data, file.size);
  clear_bytes(&b);
}

/* The pages follow one another, and their sums are right; of the comments, whatever pieces they come in. */
static void assert_pages(const char *path, const char *const *fields) {
  static const gsize pieces[] = {1, 1000, 1 << 20};
  bytes b = load(path);
  g_autoptr(fc_tags) wanted = tags_of(fields);
  for (gsize i = 0; i < G_N_ELEMENTS(pieces); i++) {
    fc_ogg_verifier verifier = {0};
    g_autoptr(fc_tags) found = fc_tags_new(FC_TAGS_OGG);
    for (gsize at = 0; at < b.size; at += pieces[i])
      fc_ogg_verifier_feed(&verifier, b.data + at, MIN(pieces[i], b.size - at));
    g_assert_true(fc_ogg_verifier_is_whole(&verifier));
    g_assert_null(fc_ogg_verifier_fault(&verifier));
    g_assert_null(fc_ogg_verifier_remark(&verifier));
    g_assert_true(fc_ogg_verifier_tags(&verifier, found));
    g_autofree char *got = words_of(found), *want = words_of(wanted);
    g_assert_cmpstr(got, ==, want);
    fc_ogg_verifier_clear(&verifier);
  }
  clear_bytes(&b);
}

static float *decoded(const char *path, const char *title, gint64 *frames) {
  SF_INFO info = {0};
  SNDFILE *file = sf_open(path, SFM_READ, &info);
  g_assert_nonnull(file);
  g_assert_cmpstr(sf_get_string(file, SF_STR_TITLE), ==, title);
  float *samples = g_new0(float, info.frames *info.channels);
  g_assert_cmpint(sf_readf_float(file, samples, info.frames), ==, info.frames);
  *frames = info.frames;
  sf_close(file);
  return samples;
}

/* Packets of every size that ends with a piece, a page, or next to it: of the words at the end libsndfile
 * finds one, and behind them the samples. */
static void test_sizes(void) {
  static const gsize sizes[] = {0, 1, 100, 4000, 4335, 65000, 255 * 255, 200000, 1000000};
  static const char *const names[] = {"sizes.ogg", "sizes.opus"};
  g_autofree char *in = scratch("sizes.flac"), *back = scratch("sizes-back.flac");
  for (gsize i = 0; i < G_N_ELEMENTS(names) * G_N_ELEMENTS(sizes) * 4; i++) {
    g_autofree char *out = scratch(names[i % 2]), *plain = scratch(i % 2 ? "plain.opus" : "plain.ogg");
    /* Its own bytes are so many that a multiple of 255 is met with one of four steps. */
    g_autofree char *filler = g_strnfill(sizes[i / 8] + i / 2 % 4 * 64, 'x');
    g_autofree char *field = g_strconcat("FILLER=", filler, NULL);
    const char *const fields[] = {"ARTIST=a", field, "ARTIST=b", "TITLE=the end", NULL};
    gint64 frames, others;
    make_sound(in, SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 48000, 2, 3000);
    assert_copies(in, plain);
    insert_comments(in, fields);
    assert_copies(in, out);
    assert_pages(out, fields);
    g_autofree float *samples = decoded(out, "the end", &frames), *same = decoded(plain, NULL, &others);
    g_assert_cmpmem(samples, (gsize)frames * 8, same, (gsize)others * 8);
    assert_copies(out, back);
    g_autofree float *again = decoded(back, "the end", &others);
    g_assert_cmpint(frames, ==, others);
  }
}

/* More than a block of FLAC holds: what fits goes over, and the rest is told. */
static void test_too_large_for_flac(void) {
  g_autofree char *in = scratch("large.flac"), *ogg = scratch("large.ogg"), *out = scratch("large2.flac");
  g_autofree char *filler = g_strnfill(9000000, 'x'), *large = g_strconcat("ONE=", filler, NULL);
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  make_sound(in, SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 48000, 1, 3000);
  insert_comments(in, (const char *const[]){large, "TITLE=the end", NULL});
  bytes b = load(in);
  g_auto(fc_blob) file = {0}, body = {0};
  put_body(&body, (const char *const[]){large, NULL});
  fc_blob_put(&file, b.data, 42);
  fc_blob_put_little(&file, 4, 1); /* a second block of comments, all of which are read */
  fc_blob_put_big(&file, body.size, 3);
  fc_blob_join(&file, &body);
  fc_blob_put(&file, b.data + 42, b.size - 42);
  clear_bytes(&b);
  store(in, file.data, file.size);
  assert_copies(in, ogg);
  assert_pages(ogg, (const char *const[]){large, large, "TITLE=the end", NULL});
  copy_job job = {.in = ogg, .out = out, .dtype = -1, .options = {.log = keep_line, .log_data = lines}};
  g_assert_true(copy(&job, NULL));
  g_assert_cmpuint(lines->len, ==, 1);
  g_assert_true(g_str_has_suffix(lines->pdata[0], "that is left out: ONE"));
  gint64 frames;
  g_free(decoded(out, "the end", &frames));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  scratch_init();
  g_test_add_func("/media/comments/lies", test_lies);
  g_test_add_func("/media/comments/many-names", test_many_names);
  g_test_add_func("/media/comments/rules", test_rules);
  g_test_add_func("/media/comments/pictures", test_pictures);
  g_test_add_func("/media/comments/no-pictures", test_no_pictures);
  g_test_add_func("/media/comments/sizes", test_sizes);
  g_test_add_func("/media/comments/too-large-for-flac", test_too_large_for_flac);
  int status = g_test_run();
  scratch_remove();
  return status;
}
