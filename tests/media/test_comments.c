/* SPDX-License-Identifier: MIT */
/*
 * test_comments.c - Vorbis comments: read whatever they say of their lengths, and written into FLAC and Ogg
 * so that libsndfile reads them, and the samples behind them.
 */
#include <sndfile.h>
#include <string.h>

#include "media/audio/comments.h"
#include "media/audio/flac_front.h"
#include "media/audio/ogg_headers.h"
#include "media/audio/ogg_watch.h"
#include "media/file/warn.h"
#include "tests/media/support.h"

/* A string with zeros in it, and its size without the last one. */
#define BYTES(text) (const guint8 *)(text), sizeof(text) - 1

static void read_body(fc_comments *comments, const char *vendor, const char *const *fields) {
  g_auto(fc_blob) body = {0};
  fc_blob_put_little(&body, strlen(vendor), 4);
  fc_blob_put(&body, vendor, strlen(vendor));
  fc_blob_put_little(&body, g_strv_length((char **)fields), 4);
  for (; *fields; fields++) {
    fc_blob_put_little(&body, strlen(*fields), 4);
    fc_blob_put(&body, *fields, strlen(*fields));
  }
  g_assert_true(fc_comments_read(comments, body.data, body.size));
}

static void name_all(const char *name, int which, const char *text, gsize size, void *data) {
  g_string_append_printf(data, "%s/%d=%.*s;", name ? name : "?", which, (int)size, text);
}

static char *words_of(const fc_comments *comments) {
  GString *words = g_string_new(NULL);
  fc_comments_find(comments, name_all, words);
  return g_string_free(words, FALSE);
}

/* ---- reading -------------------------------------------------------------- */

/* Every length can be a lie, and what is ahead of it is taken. */
static void test_lies(void) {
  static const struct {
    const guint8 *body;
    gsize size;
    gboolean whole;
    guint32 count;
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
    fc_comments comments = {0};
    g_autofree guint8 *exact = g_memdup2(bodies[i].body, bodies[i].size); /* so that a step too far shows */
    g_assert_cmpint(fc_comments_read(&comments, exact, bodies[i].size), ==, bodies[i].whole);
    g_assert_cmpuint(comments.count, ==, bodies[i].count);
    g_autofree char *words = words_of(&comments);
    g_assert_cmpstr(words, ==, bodies[i].count ? "A/0=b;" : "");
    fc_comments_clear(&comments);
  }
}

/* Small and capital letters are the same; what is no word is not printed. */
static void test_names(void) {
  static const char *const fields[] = {
      "title=one",     "TITLE=two",    "Encoder=x", "comPoser=y", "descripTION=",
      "description=z", "no name",      "=empty",    " a=blank",   "con\x1b[2J=bad",
      "com,ma=bad",    "\xc3\xa4=bad", NULL};
  fc_comments comments = {0};
  read_body(&comments, "v", fields);
  g_autofree char *words = words_of(&comments);
  g_assert_cmpstr(words, ==,
                  "TITLE/1=one;TITLE/1=two;ENCODER/3=x;COMPOSER/0=y;DESCRIPTION/5=z;?/0=no name;?/0=empty;"
                  "?/0=blank;?/0=bad;?/0=bad;?/0=bad;");
  fc_comments_clear(&comments);
  for (int length = 63; length < 67; length++) {
    g_autofree char *name = g_strnfill((gsize)length, 'n'), *field = g_strconcat(name, "=t", NULL);
    read_body(&comments, "", (const char *const[]){field, NULL});
    g_autofree char *its = words_of(&comments), *large = g_ascii_strup(name, -1);
    g_autofree char *expected = g_strdup_printf("%s/0=t;", length <= 64 ? large : "?");
    g_assert_cmpstr(its, ==, expected);
    fc_comments_clear(&comments);
  }
}

/* ---- what holds ------------------------------------------------------------- */

static void test_rules(void) {
  static const char *const fields[] = {"CHAPTER001=00:00:01.000",
                                       "chapter001name=x",
                                       "CHAPTERS=not a place",
                                       "CueSheet=TRACK 1",
                                       "WAVEFORMATEXTENSIBLE_CHANNEL_MASK=0x3",
                                       "REPLAYGAIN_TRACK_GAIN=-3 dB",
                                       "LARGE=0123456789",
                                       NULL};
  g_autoptr(GString) stale = g_string_new(NULL), large = g_string_new(NULL);
  fc_comments comments = {0}, kept = {0};
  read_body(&comments, "v", fields);
  fc_comments_rules rules = {TRUE, TRUE, comments.fields.size, comments.count, stale, large};
  fc_comments_choose(&comments, &rules, &kept);
  g_assert_cmpmem(kept.fields.data, kept.fields.size, comments.fields.data, comments.fields.size);
  g_assert_cmpuint(kept.count, ==, comments.count);
  fc_comments_clear(&kept);
  rules = (fc_comments_rules){FALSE, FALSE, 60, 9, stale, large};
  fc_comments_choose(&comments, &rules, &kept);
  g_autofree char *words = words_of(&kept);
  g_assert_cmpstr(words, ==, "CHAPTERS/0=not a place;REPLAYGAIN_TRACK_GAIN/0=-3 dB;");
  g_assert_cmpstr(stale->str, ==, "CHAPTER001, CHAPTER001NAME, CUESHEET, WAVEFORMATEXTENSIBLE_CHANNEL_MASK");
  g_assert_cmpstr(large->str, ==, "LARGE");
  g_assert_cmpuint(kept.count, ==, 2);
  fc_comments_clear(&kept);
  g_string_truncate(large, 0);
  rules = (fc_comments_rules){TRUE, TRUE, 1000, 5, stale, large};
  fc_comments_choose(&comments, &rules, &kept);
  g_assert_cmpuint(kept.count, ==, 5);
  g_assert_cmpstr(large->str, ==, "REPLAYGAIN_TRACK_GAIN, LARGE");
  fc_comments_clear(&kept);
  fc_comments_clear(&comments);
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

/* ---- pictures --------------------------------------------------------------- */

/* Kind 3, "image/png", "a", four numbers, five bytes. */
#define PICTURE "\0\0\0\3\0\0\0\x09image/png\0\0\0\1a\0\0\0\1\0\0\0\1\0\0\0\x18\0\0\0\0\0\0\0\5bytes"

static void test_pictures(void) {
  const gsize size = sizeof PICTURE - 1;
  guint8 content[sizeof PICTURE];
  for (gsize less = 0; less < 3; less++) { /* all that base 64 may be filled up with */
    g_auto(fc_blob) blocks = {0};
    fc_comments comments = {0};
    memcpy(content, PICTURE, size);
    content[size - 6] = (guint8)(5 - less);
    fc_comments_add_picture(&comments, content, size - less);
    g_assert_cmpuint(comments.count, ==, 1);
    g_autofree char *words = words_of(&comments);
    g_autofree char *text = g_base64_encode(content, size - less);
    g_autofree char *expected = g_strdup_printf("METADATA_BLOCK_PICTURE/0=%s;", text);
    g_assert_cmpstr(words, ==, expected);
    fc_comments_take_pictures(&comments, &blocks);
    g_assert_cmpuint(comments.count + comments.fields.size, ==, 0);
    g_assert_cmpint(blocks.data[0], ==, FC_FLAC_PICTURE);
    g_assert_cmpint(blocks.data[3], ==, size - less);
    g_assert_cmpmem(blocks.data + 4, blocks.size - 4, content, size - less);
    fc_comments_clear(&comments);
  }
}

/* Which libFLAC would read no file with: they stay what they are. */
static void test_no_pictures(void) {
  const gsize size = sizeof PICTURE - 1;
  guint8 content[sizeof PICTURE];
  for (gsize at = 4; at < size; at++) {
    g_auto(fc_blob) blocks = {0};
    fc_comments comments = {0};
    memcpy(content, PICTURE, size);
    gboolean length = at < 8 || (at >= 17 && at < 21) || (at >= 38 && at < 42);
    content[at] ^= 0x83;
    g_autofree char *text = g_base64_encode(content, size), *cut = g_base64_encode(content, at);
    g_autofree char *field = g_strconcat("metadata_block_picture=", text, NULL),
                    *short_field = g_strconcat("METADATA_BLOCK_PICTURE=", cut, NULL);
    read_body(&comments, "v", (const char *const[]){"A=b", field, short_field, "C=d", NULL});
    fc_comments_take_pictures(&comments, &blocks);
    g_assert_cmpuint(comments.count, ==, length ? 4 : 3);
    g_assert_cmpuint(blocks.size, ==, length ? 0 : 4 + size);
    g_autofree char *words = words_of(&comments);
    g_assert_true(g_str_has_prefix(words, "A/0=b;METADATA_BLOCK_PICTURE/0="));
    g_assert_true(g_str_has_suffix(words, ";C/0=d;"));
    fc_comments_clear(&comments);
  }
}

/* ---- files -------------------------------------------------------------------- */

static void insert_comments(const char *path, const fc_comments *comments) {
  bytes b = load(path);
  g_auto(fc_blob) file = {0};
  g_assert_cmpint(b.data[42] & 127, ==, FC_FLAC_COMMENTS);
  gsize own = (gsize)b.data[43] << 16 | (gsize)b.data[44] << 8 | b.data[45];
  fc_blob_put(&file, b.data, 42 + 4);
  fc_comments_put(comments, b.data + 46, own, &file);
  gsize size = file.size - 46;
  file.data[43] = (guint8)(size >> 16), file.data[44] = (guint8)(size >> 8), file.data[45] = (guint8)size;
  fc_blob_put(&file, b.data + 46 + own, b.size - 46 - own);
  store(path, file.data, file.size);
  clear_bytes(&b);
}

/* The pages follow one another, and their sums are right; of the comments, whatever pieces they come in. */
static void assert_pages(const char *path, const fc_comments *comments) {
  static const gsize pieces[] = {1, 1000, 1 << 20};
  bytes b = load(path);
  fc_ogg_watch watch = {0};
  fc_ogg_watch_feed(&watch, b.data, b.size);
  g_assert_true(fc_ogg_watch_is_whole(&watch));
  g_assert_null(fc_ogg_watch_fault(&watch));
  for (gsize i = 0; i < G_N_ELEMENTS(pieces); i++) {
    fc_ogg_headers headers = {0};
    fc_comments found = {0};
    for (gsize at = 0; at < b.size; at += pieces[i])
      fc_ogg_headers_feed(&headers, b.data + at, MIN(pieces[i], b.size - at));
    g_assert_true(headers.over && fc_ogg_headers_comments(&headers, &found));
    g_assert_cmpmem(found.fields.data, found.fields.size, comments->fields.data, comments->fields.size);
    g_assert_cmpuint(found.count, ==, comments->count);
    fc_comments_clear(&found);
    fc_ogg_headers_clear(&headers);
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
    fc_comments comments = {0};
    gint64 frames, others;
    read_body(&comments, "", (const char *const[]){"ARTIST=a", field, "ARTIST=b", "TITLE=the end", NULL});
    make_sound(in, SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 48000, 2, 3000);
    assert_copies(in, plain);
    insert_comments(in, &comments);
    assert_copies(in, out);
    assert_pages(out, &comments);
    g_autofree float *samples = decoded(out, "the end", &frames), *same = decoded(plain, NULL, &others);
    g_assert_cmpmem(samples, (gsize)frames * 8, same, (gsize)others * 8);
    assert_copies(out, back);
    g_autofree float *again = decoded(back, "the end", &others);
    g_assert_cmpint(frames, ==, others);
    fc_comments_clear(&comments);
  }
}

/* More than a block of FLAC holds: what fits goes over, and the rest is told. Where there are two blocks,
 * which should not be, all of both is read. */
static void test_too_large_for_flac(void) {
  g_autofree char *in = scratch("large.flac"), *ogg = scratch("large.ogg"), *out = scratch("large2.flac");
  g_autofree char *filler = g_strnfill(9000000, 'x'), *one = g_strconcat("ONE=", filler, NULL),
                  *two = g_strconcat("Two=", filler, NULL);
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  fc_comments first = {0}, second = {0}, both = {0};
  make_sound(in, SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 48000, 1, 3000);
  read_body(&first, "", (const char *const[]){one, NULL});
  read_body(&second, "", (const char *const[]){two, "TITLE=the end", NULL});
  insert_comments(in, &first);
  bytes b = load(in);
  g_auto(fc_blob) file = {0}, body = {0};
  fc_comments_put(&second, NULL, 0, &body);
  fc_blob_put(&file, b.data, 42);
  guint8 *head = fc_blob_grow(&file, FC_FLAC_BLOCK_HEAD);
  fc_flac_block_head(head, FC_FLAC_COMMENTS, body.size);
  fc_blob_join(&file, &body);
  fc_blob_put(&file, b.data + 42, b.size - 42);
  clear_bytes(&b);
  store(in, file.data, file.size);
  read_body(&both, "", (const char *const[]){two, "TITLE=the end", one, NULL});
  assert_copies(in, ogg);
  assert_pages(ogg, &both);
  copy_job job = {.in = ogg, .out = out, .dtype = -1, .options = {.log = keep_line, .log_data = lines}};
  g_assert_true(copy(&job, NULL));
  g_assert_cmpuint(lines->len, ==, 1);
  g_assert_true(g_str_has_suffix(lines->pdata[0],
                                 ": these texts of the input cannot be stored, and are left out: ONE"));
  gint64 frames;
  g_free(decoded(out, "the end", &frames));
  fc_comments_clear(&first);
  fc_comments_clear(&second);
  fc_comments_clear(&both);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  scratch_init();
  g_test_add_func("/media/comments/lies", test_lies);
  g_test_add_func("/media/comments/names", test_names);
  g_test_add_func("/media/comments/rules", test_rules);
  g_test_add_func("/media/comments/many-names", test_many_names);
  g_test_add_func("/media/comments/pictures", test_pictures);
  g_test_add_func("/media/comments/no-pictures", test_no_pictures);
  g_test_add_func("/media/comments/sizes", test_sizes);
  g_test_add_func("/media/comments/too-large-for-flac", test_too_large_for_flac);
  int status = g_test_run();
  scratch_remove();
  return status;
}
