/* SPDX-License-Identifier: MIT */
/*
 * test_metadata.c - what a sound file says beside its samples is still said in what is
 * made of it.
 */
#include <glib/gstdio.h>
#include <sndfile.h>
#include <string.h>
#include <unistd.h>

#include "media/audio/chunks.h"
#include "media/audio/audio_tags.h"
#include "tests/media/support.h"

/* ---- files to copy -------------------------------------------------------- */

static void put32(GByteArray *to, guint32 value, gboolean big) {
  value = big ? GUINT32_TO_BE(value) : GUINT32_TO_LE(value);
  g_byte_array_append(to, (const guint8 *)&value, 4);
}

static void put_chunk(GByteArray *to, const char *id, const void *data, gsize size, gboolean big) {
  g_byte_array_append(to, (const guint8 *)id, 4);
  put32(to, (guint32)size, big);
  g_byte_array_append(to, data, (guint)size);
  if (size & 1) g_byte_array_append(to, (const guint8 *)"", 1);
}

#define CUES "\x01\0\0\0\x01\0\0\0\x10\0\0\0data\0\0\0\0\0\0\0\0\x10\0\0\0"

/* Chunks ahead of the samples and behind them, known and unknown, odd and large. */
static void make_rich_wav(const char *path) {
  static const guint8 fmt[] = {1, 0, 2, 0, 0x44, 0xac, 0, 0, 0x10, 0xb1, 2, 0, 4, 0, 16, 0};
  g_autoptr(GByteArray) file = g_byte_array_new();
  g_autofree guint8 *large = g_malloc(300001);
  guint8 bext[602] = "a description", samples[4000];
  guint32 state = 4;
  for (gsize i = 0; i < 300001; i++) large[i] = (guint8)noise(&state);
  for (gsize i = 0; i < sizeof samples; i++) samples[i] = (guint8)noise(&state);
  g_byte_array_append(file, (const guint8 *)"RIFF\0\0\0\0WAVE", 12);
  put_chunk(file, "fmt ", fmt, sizeof fmt, FALSE);
  put_chunk(file, "bext", bext, sizeof bext, FALSE);
  put_chunk(file, "LIST", "INFOINAM\x08\0\0\0A title\0IXYZ\x04\0\0\0odd\0", 32, FALSE);
  put_chunk(file, "iXML", "<BWFXML/>", 9, FALSE);
  put_chunk(file, "data", samples, sizeof samples, FALSE);
  put_chunk(file, "cue ", CUES, 28, FALSE);
  put_chunk(file, "LIST", "adtllabl\x08\0\0\0\x01\0\0\0abc\0", 20, FALSE);
  put_chunk(file, "xyzw", "never heard of", 14, FALSE);
  put_chunk(file, "id3 ", large, 300001, FALSE);
  guint32 total = GUINT32_TO_LE(file->len - 8);
  memcpy(file->data + 4, &total, 4);
  store(path, file->data, file->len);
}

/* A chunk behind the samples, and a header that counts it. */
static void append_chunk(const char *path, const char *id, const void *data, gsize size) {
  bytes b = load(path);
  g_autoptr(GByteArray) file = g_byte_array_new();
  g_byte_array_append(file, b.data, (guint)b.size);
  put_chunk(file, id, data, size, FALSE);
  guint32 total = GUINT32_TO_LE(file->len - 8);
  memcpy(file->data + 4, &total, 4);
  store(path, file->data, file->len);
  clear_bytes(&b);
}

static gboolean has_chunk(const char *path, const char *id, const char *content) {
  GError *error = NULL;
  g_autoptr(fc_input) input = fc_input_open(path, NULL, &error);
  g_assert_no_error(error);
  fc_chunk_walk walk;
  fc_chunk chunk;
  g_assert_true(fc_chunk_walk_begin(&walk, input, fc_chunk_layout_at(input), &error));
  while (fc_chunk_walk_next(&walk, &chunk, &error) > 0) {
    char text[64] = "";
    if (memcmp(chunk.id, id, 4) != 0) continue;
    g_assert_cmpint(
        fc_input_read_at(input, chunk.offset, text, MIN(sizeof text - 1, (gsize)chunk.size), &error), >=, 0);
    if (memcmp(text, content, strlen(content)) == 0) return TRUE;
  }
  return FALSE;
}

static char *string_of(const char *path, int which) {
  SF_INFO info = {0};
  SNDFILE *file = sf_open(path, SFM_READ, &info);
  g_assert_nonnull(file);
  char *text = g_strdup(sf_get_string(file, which));
  sf_close(file);
  return text;
}

/* ---- same family ----------------------------------------------------------- */

/* The strongest thing there is to say: the same file. */
static void test_wav_to_wav(void) {
  g_autofree char *in = scratch("rich.wav"), *out = scratch("rich-out.wav");
  make_rich_wav(in);
  assert_copies(in, out);
  assert_same_bytes(in, out);
}

/* Twice through RF64: only the place of a chunk of odd size has changed. */
static void test_rf64(void) {
  g_autofree char *in = scratch("rich.wav"), *mid = scratch("rich.rf64"), *out = scratch("rich-back.wav"),
                  *third = scratch("rich-third.wav");
  make_rich_wav(in);
  assert_copies(in, mid);
  assert_copies(mid, out);
  bytes a = load(in), b = load(out);
  g_assert_cmpuint(a.size, ==, b.size);
  clear_bytes(&a);
  clear_bytes(&b);
  g_assert_true(has_chunk(out, "iXML", "<BWFXML/>"));
  g_assert_true(has_chunk(out, "bext", "a description"));
  assert_copies(out, third);
  assert_same_bytes(out, third);
}

/* A recorder's RF64, whose odd chunk ahead of the samples libsndfile cannot pass. */
static void test_foreign_rf64(void) {
  g_autofree char *path = scratch("recorder.rf64"), *out = scratch("recorder.wav");
  static const guint8 fmt[] = {1, 0, 2, 0, 0x44, 0xac, 0, 0, 0x10, 0xb1, 2, 0, 4, 0, 16, 0};
  g_autoptr(GByteArray) file = g_byte_array_new();
  guint8 ds64[28] = {0}, samples[4000];
  for (gsize i = 0; i < sizeof samples; i++) samples[i] = (guint8)i;
  ds64[8] = sizeof samples & 255, ds64[9] = sizeof samples >> 8;
  g_byte_array_append(file, (const guint8 *)"RF64\xff\xff\xff\xffWAVE", 12);
  put_chunk(file, "ds64", ds64, sizeof ds64, FALSE);
  put_chunk(file, "fmt ", fmt, sizeof fmt, FALSE);
  put_chunk(file, "iXML", "<BWFXML/>", 9, FALSE);
  g_byte_array_append(file, (const guint8 *)"data\xff\xff\xff\xff", 8);
  g_byte_array_append(file, samples, sizeof samples);
  file->data[20] = (guint8)(file->len - 8), file->data[21] = (guint8)((file->len - 8) >> 8);
  store(path, file->data, file->len);
  assert_copies(path, out);
  bytes b = load(out);
  g_assert_cmpmem(b.data + b.size - sizeof samples, sizeof samples, samples, sizeof samples);
  clear_bytes(&b);
  g_assert_true(has_chunk(out, "iXML", "<BWFXML/>"));
}

/* Chunks stand ahead of the samples, and what libsndfile could not get past is left out. */
static void test_wav_to_w64(void) {
  g_autofree char *in = scratch("rich.wav"), *out = scratch("rich.w64");
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  make_rich_wav(in);
  copy_job job = {.in = in, .out = out, .dtype = -1, .options = {.log = keep_line, .log_data = lines}};
  GError *error = NULL;
  copy(&job, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(lines->len, ==, 1);
  g_assert_true(g_str_has_suffix(lines->pdata[0], "is left out: id3"));
  g_assert_true(has_chunk(out, "bext", "a description"));
  g_assert_true(has_chunk(out, "LIST", "INFO"));
  g_assert_true(has_chunk(out, "xyzw", "never heard of"));
  SF_INFO info = {0};
  SNDFILE *file = sf_open(out, SFM_READ, &info); /* who would take chunks behind for samples */
  g_assert_nonnull(file);
  g_assert_cmpint(info.frames, ==, 1000);
  sf_close(file);
}

/* A length that is told late does not cost the metadata. */
static void test_unknown_length(void) {
  g_autofree char *in = scratch("rich.wav"), *out = scratch("rich-late.wav");
  make_rich_wav(in);
  copy_job job = {.in = in, .out = out, .dtype = -1, .hide_length = TRUE};
  g_assert_true(copy(&job, NULL));
  g_assert_true(has_chunk(out, "LIST", "adtl"));
  g_assert_true(has_chunk(out, "iXML", "<BWFXML/>"));
  assert_copies(out, in); /* and it reads well */
}

static void test_aiff_and_caf(void) {
  static const struct {
    const char *from, *to;
    int format;
    const char *id;
  } files[] = {{"m.aiff", "m2.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_24, "APPL"},
               {"m.caf", "m2.caf", SF_FORMAT_CAF | SF_FORMAT_PCM_16, "uuid"}};
  for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
    g_autofree char *in = scratch(files[i].from), *out = scratch(files[i].to);
    make_sound(in, files[i].format, 44100, 2, 333);
    bytes b = load(in);
    g_autoptr(GByteArray) file = g_byte_array_new();
    g_byte_array_append(file, b.data, (guint)b.size);
    if (i == 0)
      put_chunk(file, "APPL", "stoc\x05hello", 10, TRUE);
    else
      g_byte_array_append(file, (const guint8 *)"uuid\0\0\0\0\0\0\0\x10sixteen bytes ok", 29);
    if (i == 0) {
      guint32 total = GUINT32_TO_BE(file->len - 8);
      memcpy(file->data + 4, &total, 4);
    }
    store(in, file->data, file->len - (i == 1));
    clear_bytes(&b);
    assert_copies(in, out);
    g_assert_true(has_chunk(out, files[i].id, i == 0 ? "stoc\x05hello" : "sixteen bytes o"));
    assert_copies(out, in);
  }
}

/* FLAC with tags that libsndfile does not know, a picture and padding, from a file whose
 * front is taken apart here. */
static void test_flac(void) {
  g_autofree char *in = scratch("f.flac"), *out = scratch("f2.flac"), *third = scratch("f3.flac"),
                  *a = scratch("f.npy"), *b = scratch("f2.npy");
  static const guint8 tags[] = "\x04\0\0\x20\x03\0\0\0abc\x01\0\0\0\x11\0\0\0MUSICBRAINZ=12345";
  g_autofree guint8 *picture = g_malloc0(4 + 200000);
  picture[0] = 6, picture[1] = 3, picture[2] = 0x0d, picture[3] = 0x40;
  picture[33] = 3, picture[34] = 0x0d, picture[35] = 0x20; /* of which the image itself */
  make_sound(in, SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 44100, 2, 9000);
  bytes whole = load(in);
  gsize front = 4;
  gboolean last = FALSE;
  while (!last) {
    last = whole.data[front] & 0x80;
    front += 4 + (gsize)(whole.data[front + 1] << 16 | whole.data[front + 2] << 8 | whole.data[front + 3]);
  }
  g_autoptr(GByteArray) file = g_byte_array_new();
  g_byte_array_append(file, whole.data, 42);
  file->data[4] = 0;
  g_byte_array_append(file, tags, 36);
  g_byte_array_append(file, picture, 4 + 200000);
  g_byte_array_append(file, (const guint8 *)"\x81\0\0\x04\0\0\0", 8);
  g_byte_array_append(file, whole.data + front, (guint)(whole.size - front));
  store(in, file->data, file->len);

  assert_copies(in, out);
  bytes made = load(out);
  const gsize library = whole.data[46], behind = 42 + 4 + 4 + library; /* the encoder's, ahead of the tags */
  g_assert_cmpint(made.data[42], ==, 4);
  g_assert_cmpmem(made.data + 46, 4 + library, whole.data + 46, 4 + library);
  g_assert_cmpmem(made.data + behind, 25, tags + 11, 25);
  g_assert_cmpint(made.data[behind + 25], ==, 0x86); /* the picture is the last block */
  g_assert_cmpmem(made.data + behind + 26, 200003, picture + 1, 200003);
  clear_bytes(&made);
  clear_bytes(&whole);
  assert_copies(out, third);
  assert_same_bytes(out, third);
  assert_copies(in, a);
  assert_copies(out, b);
  assert_same_bytes(a, b);
  SF_INFO info = {0};
  SNDFILE *check = sf_open(out, SFM_READ, &info);
  g_assert_cmpint(info.frames, ==, 9000); /* the header was completed in its place */
  sf_close(check);
}

/* A block behind the first of a FLAC file, which is not the last. */
static void insert_block(const char *path, const guint8 *block, guint size) {
  bytes b = load(path);
  g_autoptr(GByteArray) file = g_byte_array_new();
  g_byte_array_append(file, b.data, 42);
  g_byte_array_append(file, block, size);
  g_byte_array_append(file, b.data + 42, (guint)b.size - 42);
  store(path, file->data, file->len);
  clear_bytes(&b);
}

/* ---- from one family to another -------------------------------------------- */

static void test_strings(void) {
  static const char *const names[] = {"s.flac", "s.ogg", "s.aiff", "s.caf", "s.w64", "s.opus"};
  g_autofree char *in = scratch("s.wav"), *back = scratch("s-back.wav");
  SF_INFO info = {.samplerate = 48000, .channels = 1, .format = SF_FORMAT_WAV | SF_FORMAT_PCM_16};
  SNDFILE *file = sf_open(in, SFM_WRITE, &info);
  sf_set_string(file, SF_STR_TITLE, "The title");
  sf_set_string(file, SF_STR_ARTIST, "The artist");
  short samples[2000] = {0};
  g_assert_cmpint(sf_writef_short(file, samples, 2000), ==, 2000);
  sf_close(file);
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *out = scratch(names[i]);
    assert_copies(in, out);
    assert_copies(out, back);
    g_autofree char *title = string_of(back, SF_STR_TITLE), *artist = string_of(back, SF_STR_ARTIST);
    g_assert_cmpstr(title, ==, "The title");
    g_assert_cmpstr(artist, ==, "The artist");
  }
}

/* A recorder's everything. */
static void make_known(const char *path, int format) {
  SF_INFO info = {.samplerate = 44100, .channels = 2, .format = format};
  SF_BROADCAST_INFO broadcast = {.description = "a description", .coding_history_size = 0};
  SF_CART_INFO cart = {.title = "a cart"};
  SF_CUES cues = {.cue_count = 2,
                  .cue_points = {{.indx = 1, .sample_offset = 16}, {.indx = 2, .sample_offset = 77}}};
  SF_INSTRUMENT instrument = {.gain = 1, .basenote = 61, .velocity_hi = 127, .key_hi = 127, .loop_count = 1};
  instrument.loops[0].mode = SF_LOOP_FORWARD;
  instrument.loops[0].start = 10, instrument.loops[0].end = 90;
  SNDFILE *file = sf_open(path, SFM_WRITE, &info);
  g_assert_nonnull(file);
  sf_command(file, SFC_SET_BROADCAST_INFO, &broadcast, sizeof broadcast);
  sf_command(file, SFC_SET_CART_INFO, &cart, sizeof cart);
  sf_command(file, SFC_SET_CUE, &cues, sizeof cues);
  sf_command(file, SFC_SET_INSTRUMENT, &instrument, sizeof instrument);
  short samples[400];
  for (short i = 0; i < 400; i++) samples[i] = i;
  g_assert_cmpint(sf_writef_short(file, samples, 200), ==, 200);
  sf_close(file);
}

/* Big-endian WAV: its samples and texts go over. */
static void test_big_endian(void) {
  g_autofree char *in = scratch("big.wav"), *out = scratch("little.wav");
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  SF_INFO info = {
      .samplerate = 44100, .channels = 2, .format = SF_FORMAT_WAV | SF_FORMAT_PCM_16 | SF_ENDIAN_BIG};
  SNDFILE *file = sf_open(in, SFM_WRITE, &info);
  short samples[400];
  for (short i = 0; i < 400; i++) samples[i] = i;
  sf_set_string(file, SF_STR_TITLE, "a title");
  g_assert_cmpint(sf_writef_short(file, samples, 200), ==, 200);
  sf_close(file);
  const copy_job job = {.in = in, .out = out, .dtype = -1, .options = {.log = keep_line, .log_data = lines}};
  g_assert_true(copy(&job, NULL));
  file = sf_open(out, SFM_READ, &info);
  g_assert_nonnull(file);
  memset(samples, 0, sizeof samples);
  g_assert_cmpint(sf_readf_short(file, samples, 300), ==, 200);
  for (short i = 0; i < 400; i++) g_assert_cmpint(samples[i], ==, i);
  sf_close(file);
}

/* The warnings of a copy, one a line; g_free. */
static char *warnings_of(const char *in, const char *out) {
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  const copy_job job = {.in = in, .out = out, .dtype = -1, .options = {.log = keep_line, .log_data = lines}};
  GError *error = NULL;
  copy(&job, &error);
  g_assert_no_error(error);
  g_ptr_array_add(lines, NULL);
  return g_strjoinv("\n", (char **)lines->pdata);
}

/* What a format has no place for is said, and what it has a place for is not. */
static void test_lost(void) {
  static const struct {
    const char *to, *lost; /* NULL: nothing */
  } ways[] = {{"lost.wav", NULL},
              {"lost.rf64", NULL},
              {"lost.aiff", "iXML, cue, labels, xyzw, id3, IXYZ"},
              {"lost.flac", "iXML, cue, labels, xyzw, id3"},
              {"lost.ogg", "iXML, cue, labels, xyzw, id3"},
              {"lost.caf", "iXML, cue, labels, xyzw, id3"},
              {"lost.au", "DESCRIPTION, TITLE, IXYZ, iXML, cue, labels, xyzw, id3"}};
  g_autofree char *in = scratch("rich.wav"), *flac = scratch("pictured.flac"), *wav = scratch("pictured.wav");
  make_rich_wav(in);
  for (gsize i = 0; i < G_N_ELEMENTS(ways); i++) {
    g_autofree char *out = scratch(ways[i].to), *said = warnings_of(in, out);
    g_autofree char *expected =
        g_strdup_printf("%s: metadata of the input that is left out: %s", out, ways[i].lost);
    g_assert_cmpstr(said, ==, ways[i].lost ? expected : "");
  }
  make_sound(flac, SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 44100, 2, 9000);
  g_autofree char *nothing = warnings_of(flac, wav);
  g_assert_cmpstr(nothing, ==, "");
  insert_block(flac,
               (const guint8 *)"\6\0\0\x20\0\0\0\3\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"
                               "\0\0\0\0\0\0\0\0\0\0\0\0",
               36);
  g_autofree char *picture = warnings_of(flac, wav);
  g_assert_true(g_str_has_suffix(picture, "that is left out: picture"));
}

/* The warnings of a copy of so much of a file that is small enough to wait in a pipe; g_free. */
static char *warnings_of_pipe(const void *data, gsize size, const char *out) {
  int between[2];
  g_assert_cmpint(pipe(between), ==, 0);
  g_assert_cmpint(write(between[1], data, size), ==, size);
  close(between[1]);
  g_autofree char *path = g_strdup_printf("/dev/fd/%d", between[0]), *said = warnings_of(path, out);
  close(between[0]);
  const char *what = strchr(said, ' ');
  return g_strdup(what ? what : "");
}

/* Chunks behind the samples are lost in a pipe: that is said. Those ahead of them are as in a file. */
static void test_pipe(void) {
  static const char lost[] =
      " has metadata after its samples, which cannot be read from a pipe: name the file, or use <";
  g_autofree char *known = scratch("known.wav"), *plain = scratch("short.wav"), *aiff = scratch("short.aiff"),
                  *out = scratch("piped.wav");
  make_known(known, SF_FORMAT_WAV | SF_FORMAT_PCM_16);
  make_sound(plain, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 8000, 1, 99);
  make_sound(aiff, SF_FORMAT_AIFF | SF_FORMAT_PCM_16, 8000, 1, 99);
  const char *const paths[] = {known, plain, aiff};
  for (gsize i = 0; i < G_N_ELEMENTS(paths); i++) {
    bytes b = load(paths[i]);
    g_autofree char *nothing = warnings_of_pipe(b.data, b.size, out);
    g_assert_cmpstr(nothing, ==, "");
    clear_bytes(&b);
  }
  append_chunk(plain, "LIST", "adtl", 4); /* behind them */
  bytes b = load(plain);
  g_autofree char *behind = warnings_of_pipe(b.data, b.size, out);
  g_assert_cmpstr(behind, ==, lost);
  memcpy(b.data + 4, "\xff\xff\xff\xff", 4);
  memcpy(b.data + 40, "\xff\xff\xff\xff", 4); /* whose writer did not know either */
  g_autofree char *endless = warnings_of_pipe(b.data, b.size, out);
  g_assert_cmpstr(endless, ==, "");
  clear_bytes(&b);
  static const char ahead[] = "RIFF\x36\0\0\0WAVEfmt \x10\0\0\0\1\0\1\0\x40\x1f\0\0\x80\x3e\0\0\2\0\x10\0"
                              "iXML\2\0\0\0<>data\0\0\0\0";
  g_autofree char *xml = warnings_of_pipe(ahead, sizeof ahead - 1, out);
  g_assert_cmpstr(xml, ==, "");
  g_assert_true(has_chunk(out, "iXML", "<>"));
  g_autoptr(GByteArray) far = g_byte_array_new();
  static const guint8 bext[40000];
  g_byte_array_append(far, (const guint8 *)ahead, 36);
  put_chunk(far, "bext", bext, sizeof bext, FALSE);
  g_byte_array_append(far, (const guint8 *)ahead + 36, sizeof ahead - 1 - 36);
  far->data[5] = 0xa0; /* more than that */
  g_autofree char *behind_bext = warnings_of_pipe(far->data, far->len, out);
  g_assert_cmpstr(behind_bext, ==, lost);
  g_autofree char *rich = scratch("rich.wav"), *whole = scratch("rich-out.wav");
  make_rich_wav(rich);
  bytes r = load(rich);
  static const guint8 one[2] = {1};
  memcpy(r.data + 12 + 24 + 8 + 346, one, 2); /* the version of its bext, which libsndfile makes 2 */
  store(rich, r.data, r.size);
  assert_copies(rich, whole);
  r.size = 4750; /* less than a pipe holds, and more than the samples */
  memcpy(r.data + 4, "\xff\xff\xff\xff", 4);
  g_autofree char *rest = warnings_of_pipe(r.data, r.size, out);
  bytes w = load(whole), p = load(out);
  g_assert_cmpuint(p.size, >, 4700);
  g_assert_cmpmem(w.data + 8, 4690, p.data + 8, 4690);
  clear_bytes(&w);
  clear_bytes(&p);
  clear_bytes(&r);
}

/* Speakers of a surround file. */
static void test_speakers(void) {
  g_autofree char *in = scratch("six.wav"), *out = scratch("six-out.wav");
  make_sound(in, SF_FORMAT_WAVEX | SF_FORMAT_PCM_16, 48000, 6, 100);
  bytes b = load(in);
  b.data[40] = 0x3f, b.data[41] = b.data[42] = b.data[43] = 0; /* 5.1 */
  store(in, b.data, b.size);
  assert_copies(in, out);
  bytes c = load(out);
  g_assert_cmpmem(b.data + 20, 40, c.data + 20, 40);
  clear_bytes(&b);
  clear_bytes(&c);
}

/* The same from a container to another, which each have their own way to say it. */
static void test_speakers_elsewhere(void) {
  static const int places[6] = {SF_CHANNEL_MAP_LEFT, SF_CHANNEL_MAP_RIGHT,     SF_CHANNEL_MAP_CENTER,
                                SF_CHANNEL_MAP_LFE,  SF_CHANNEL_MAP_REAR_LEFT, SF_CHANNEL_MAP_REAR_RIGHT};
  g_autofree char *in = scratch("six.caf"), *wav = scratch("six-of-caf.wav"), *back = scratch("six-back.caf");
  SF_INFO info = {.samplerate = 48000, .channels = 6, .format = SF_FORMAT_CAF | SF_FORMAT_PCM_16};
  SNDFILE *file = sf_open(in, SFM_WRITE, &info);
  g_assert_true(sf_command(file, SFC_SET_CHANNEL_MAP_INFO, (void *)places, sizeof places));
  short samples[600] = {0};
  g_assert_cmpint(sf_writef_short(file, samples, 100), ==, 100);
  sf_close(file);
  assert_copies(in, wav);
  bytes b = load(wav);
  g_assert_cmpint(b.data[40], ==, 0x0f); /* at the sides, as others than libsndfile take it */
  g_assert_cmpint(b.data[41], ==, 0x06);
  clear_bytes(&b);
  assert_copies(wav, back);
  int found[6] = {0};
  file = sf_open(back, SFM_READ, &info);
  g_assert_true(sf_command(file, SFC_GET_CHANNEL_MAP_INFO, found, sizeof found));
  g_assert_cmpmem(found, sizeof found, places, sizeof places);
  sf_close(file);
}

/* ---- what no longer fits ---------------------------------------------------- */

/* As many frames at another rate, or of other channels, go where the input's metadata would; `lines`
 * gets the warnings. */
static void write_changed(const char *in, const char *out, int rate, int channels, GPtrArray *lines) {
  const fc_media_options options = {.log = keep_line, .log_data = lines};
  GError *error = NULL;
  fc_source *source = fc_media_open(in, &options, &error);
  g_assert_no_error(error);
  fc_sink *sink = fc_media_create(out, &options, source, &error);
  fc_format format = source->format;
  format.rate = rate;
  format.extent[FC_AXIS_C] = channels;
  g_autofree gint16 *samples = g_new0(gint16, (gsize)(format.extent[FC_AXIS_X] * channels));
  fc_view view = view_of(&format, samples, format.extent[FC_AXIS_X]);
  g_assert_true(sink->accept(sink, &format, &error) && sink->begin(sink, &format, &error) &&
                sink->write(sink, &view, &error) && sink->commit(sink, &error));
  sink->free(sink);
  source->free(source);
}

/* At another rate cue points would be somewhere else: better none. */
static void test_rate_changed(void) {
  g_autofree char *in = scratch("rich.wav"), *out = scratch("slow.wav");
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  make_rich_wav(in);
  write_changed(in, out, 22050, 2, lines);
  g_assert_false(has_chunk(out, "cue ", ""));
  g_assert_false(has_chunk(out, "LIST", "adtl"));
  g_assert_true(has_chunk(out, "LIST", "INFO"));
  g_assert_cmpuint(lines->len, ==, 1);
  g_assert_true(g_str_has_suffix(lines->pdata[0], "that is left out: cue, labels"));
  SF_INFO info = {0};
  SNDFILE *file = sf_open(out, SFM_READ, &info);
  g_assert_cmpint(info.samplerate, ==, 22050);
  g_assert_cmpint(info.frames, ==, 1000);
  sf_close(file);
}

/* What says something of each channel goes with their number. */
static void test_channels_changed(void) {
  g_autofree char *in = scratch("chna.wav"), *out = scratch("chna-out.wav");
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  make_rich_wav(in);
  append_chunk(in, "chna", "\2\0\2\0tracks", 10);
  write_changed(in, out, 44100, 2, lines);
  g_assert_true(has_chunk(out, "chna", "\2"));
  g_assert_cmpuint(lines->len, ==, 0);
  write_changed(in, out, 44100, 1, lines);
  g_assert_false(has_chunk(out, "chna", ""));
  g_assert_true(has_chunk(out, "cue ", ""));
  g_assert_cmpuint(lines->len, ==, 1);
  g_autofree char *said = g_strdup_printf("%s: metadata of the input that is left out: chna", out);
  g_assert_cmpstr(lines->pdata[0], ==, said);
}

/* FLAC's cue sheet counts samples as well. */
static void test_cue_sheet(void) {
  g_autofree char *in = scratch("sheet.flac"), *out = scratch("sheet-out.flac");
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  g_autofree guint8 *sheet = g_malloc0(4 + 396);
  sheet[0] = 5, sheet[2] = 396 >> 8, sheet[3] = 396 & 255;
  strcpy((char *)sheet + 4, "1234567890123");
  make_sound(in, SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 44100, 2, 9000);
  insert_block(in, sheet, 4 + 396);
  for (int rate = 44100; rate >= 22050; rate -= 22050) {
    write_changed(in, out, rate, 2, lines);
    bytes made = load(out);
    /* A bit of the first byte says that it is the last block. */
    g_assert_cmpint(memmem(made.data, made.size, sheet + 1, 395) != NULL, ==, rate == 44100);
    clear_bytes(&made);
  }
}

/* 70 MB of a file are no metadata: left out with a word, and not taken into memory. */
static void test_too_large(void) {
  g_autofree char *in = scratch("rich.wav"), *out = scratch("rich-large.wav");
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  const guint32 size = 70 << 20;
  make_rich_wav(in);
  append_chunk(in, "blob", "x", 2);
  bytes b = load(in);
  guint32 total = GUINT32_TO_LE((guint32)b.size - 10 + size), part = GUINT32_TO_LE(size);
  memcpy(b.data + 4, &total, 4);
  memcpy(b.data + b.size - 6, &part, 4);
  store(in, b.data, b.size);
  g_assert_cmpint(truncate(in, (off_t)b.size - 2 + size), ==, 0);
  clear_bytes(&b);
  const copy_job job = {.in = in, .out = out, .dtype = -1, .options = {.log = keep_line, .log_data = lines}};
  g_assert_true(copy(&job, NULL));
  g_assert_cmpuint(lines->len, ==, 1);
  g_autofree char *said = g_strdup_printf("%s: metadata of the input that is left out: blob", out);
  g_assert_cmpstr(lines->pdata[0], ==, said);
  g_assert_false(has_chunk(out, "blob", ""));
  g_assert_true(has_chunk(out, "id3 ", ""));
}

/* Random changes to chunk headers: a sound or an error. */
static void test_chunk_flips(void) {
  g_autofree char *in = scratch("rich.wav"), *bad = scratch("rich-bad.wav"),
                  *out = scratch("rich-bad-out.wav");
  make_rich_wav(in);
  bytes b = load(in);
  guint32 state = 21;
  for (int k = 0; k < 300; k++) {
    g_autofree guint8 *flipped = g_memdup2(b.data, b.size);
    for (int n = 0; n < 2; n++) flipped[noise(&state) % 760] = (guint8)noise(&state);
    store(bad, flipped, 5000);
    copy_job job = {.in = bad, .out = out, .dtype = -1, .options.allow_truncated = TRUE};
    GError *error = NULL;
    if (!copy(&job, &error)) g_assert_cmpint(error->domain, ==, FC_ERROR);
    g_clear_error(&error);
    g_assert_cmpuint(leftovers(), ==, 0);
  }
  clear_bytes(&b);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  scratch_init();
  g_test_add_func("/media/metadata/wav-to-wav", test_wav_to_wav);
  g_test_add_func("/media/metadata/rf64", test_rf64);
  g_test_add_func("/media/metadata/foreign-rf64", test_foreign_rf64);
  g_test_add_func("/media/metadata/wav-to-w64", test_wav_to_w64);
  g_test_add_func("/media/metadata/unknown-length", test_unknown_length);
  g_test_add_func("/media/metadata/aiff-and-caf", test_aiff_and_caf);
  g_test_add_func("/media/metadata/flac", test_flac);
  g_test_add_func("/media/metadata/strings", test_strings);
  g_test_add_func("/media/metadata/big-endian", test_big_endian);
  g_test_add_func("/media/metadata/lost", test_lost);
  g_test_add_func("/media/metadata/pipe", test_pipe);
  g_test_add_func("/media/metadata/speakers", test_speakers);
  g_test_add_func("/media/metadata/speakers-elsewhere", test_speakers_elsewhere);
  g_test_add_func("/media/metadata/rate-changed", test_rate_changed);
  g_test_add_func("/media/metadata/channels-changed", test_channels_changed);
  g_test_add_func("/media/metadata/cue-sheet", test_cue_sheet);
  g_test_add_func("/media/metadata/too-large", test_too_large);
  g_test_add_func("/media/metadata/chunk-flips", test_chunk_flips);
  int status = g_test_run();
  scratch_remove();
  return status;
}
