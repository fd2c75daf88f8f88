/* SPDX-License-Identifier: MIT */
/*
 * test_foreign.c - sound files as other programs write them, which libsndfile reads otherwise, or not at all:
 * by name and from a pipe they come in whole, and where they are cut off that is said.
 */
#include <glib/gstdio.h>
#include <sndfile.h>
#include <string.h>
#include <unistd.h>

#include "media/audio/audio.h"
#include "media/file/bytes.h"
#include "media/file/warn.h"
#include "tests/media/support.h"

/* ---- putting files together ----------------------------------------------- */

static void put(GByteArray *to, guint32 value, int size) {
  for (int i = 0; i < size; i++) g_byte_array_append(to, &(guint8){(guint8)(value >> 8 * i)}, 1);
}

static void put_chunk(GByteArray *to, const char *id, const void *data, gsize size) {
  g_byte_array_append(to, (const guint8 *)id, 4);
  put(to, (guint32)size, 4);
  g_byte_array_append(to, data, (guint)size);
  if (size & 1) put(to, 0, 1);
}

static void put_total(GByteArray *file) {
  guint32 total = GUINT32_TO_LE(file->len - 8);
  memcpy(file->data + 4, &total, 4);
}

/* The first place where this stands. */
static gsize place_of(const bytes *b, const char *what) {
  gsize at = 0;
  while (at + strlen(what) <= b->size && memcmp(b->data + at, what, strlen(what)) != 0) at++;
  g_assert_cmpuint(at + strlen(what), <=, b->size);
  return at;
}

/* ---- reading them ----------------------------------------------------------- */

/* The samples, as they are in both ways of reading; the copy job's warnings go to its lines. */
static bytes samples_of(const char *in, const copy_job *how) {
  g_autofree char *named = scratch("named.raw"), *piped = scratch("piped.raw");
  copy_job job = *how;
  GError *error = NULL;
  bytes b = load(in);
  job.in = in, job.out = named, job.dtype = FC_F32;
  copy(&job, &error);
  g_assert_no_error(error);
  job.out = piped;
  copy_through_pipe(&b, 3000, &job, &error);
  g_assert_no_error(error);
  assert_same_bytes(named, piped);
  clear_bytes(&b);
  return load(named);
}

/* Both ways it is an error that begins so behind the name. */
static void assert_fails(const char *in, const char *said) {
  g_autofree char *out = scratch("failed.raw"), *named = g_strdup_printf("%s: %s", in, said);
  GError *error = NULL;
  bytes b = load(in);
  assert_copy_fails(&(copy_job){.in = in, .out = out, .dtype = FC_F32}, FC_IO, named);
  g_assert_false(copy_through_pipe(&b, 3000, &(copy_job){.out = out, .dtype = FC_F32}, &error));
  g_assert_true(g_str_has_suffix(error->message, said));
  g_error_free(error);
  clear_bytes(&b);
}

/* ---- MP3 in WAV --------------------------------------------------------------- */

typedef struct mpeg_case {
  int rate, channels;
  gboolean counted; /* the first frame says how many there are */
} mpeg_case;

/* A stream, and in `path` the WAV file around it, as ffmpeg writes one: it counts what its encoder has added,
 * too. */
static bytes make_mpeg(const mpeg_case *c, const char *path) {
  g_autofree char *bare = scratch("bare.mp3");
  make_sound(bare, FC_SF_MPEG | FC_SF_MPEG_LAYER_III, c->rate, c->channels, c->rate / 2);
  bytes b = load(bare);
  gsize first = 4 + 36; /* no frame is smaller */
  while (!c->counted && (b.data[first] != b.data[0] || b.data[first + 1] != b.data[1] ||
                         (b.data[first + 2] & 0x0c) != (b.data[2] & 0x0c)))
    first++;
  if (!c->counted) memmove(b.data, b.data + first, b.size -= first);
  store(bare, b.data, b.size);
  g_autoptr(GByteArray) file = g_byte_array_new(), fmt = g_byte_array_new();
  put(fmt, 0x55, 2), put(fmt, (guint32)c->channels, 2), put(fmt, (guint32)c->rate, 4), put(fmt, 8000, 4);
  put(fmt, 1152, 2), put(fmt, 0, 2), put(fmt, 12, 2), put(fmt, 1, 2), put(fmt, 2, 4), put(fmt, 1152, 2);
  put(fmt, 1, 2), put(fmt, 1393, 2);
  g_byte_array_append(file, (const guint8 *)"RIFF\0\0\0\0WAVE", 12);
  put_chunk(file, "fmt ", fmt->data, fmt->len);
  put_chunk(file, "fact", &(guint32){GUINT32_TO_LE((guint32)c->rate / 2 + 9999)}, 4);
  put_chunk(file, "LIST",
            "INFOINAM\x10\0\0\0\xff\xfb"
            "data of a song",
            28);
  put_chunk(file, "data", b.data, b.size);
  put_chunk(file, "LIST",
            "INFOICMT\x10\0\0\0\xff\xfb"
            "behind of it..",
            28);
  put_total(file);
  store(path, file->data, file->len);
  return b;
}

/* However many places it is cut off at, and whatever else stands around it. */
static void cut_mpeg(const char *whole, const bytes *stream, const bytes *all) {
  g_autofree char *part = scratch("part.wav"), *bare = scratch("part.mp3");
  bytes b = load(whole);
  gsize data = b.size - 36 - (stream->size & 1) - stream->size;
  for (gsize k = 1; k <= 18; k++) {
    gsize missing = k < 4 ? k : stream->size * k / 25;
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
    const copy_job allow = {.options = {.allow_truncated = TRUE, .log = keep_line, .log_data = lines}};
    g_autofree char *cut = g_strdup_printf("is cut off: %" G_GSIZE_FORMAT " bytes are missing", missing),
                    *said = g_strdup_printf("%s; --allow-truncated uses the readable part", cut);
    store(part, b.data, data + stream->size - missing);
    assert_fails(part, said);
    bytes some = samples_of(part, &allow);
    g_assert_nonnull(strstr(lines->pdata[0], cut));
    store(bare, stream->data, stream->size - missing);
    bytes same = samples_of(bare, &allow);
    g_assert_cmpmem(some.data, some.size, same.data, same.size);
    g_assert_cmpmem(some.data, some.size, all->data, some.size);
    g_assert_cmpuint(some.size, >, k < 13 ? all->size / 5 : 0);
    clear_bytes(&some);
    clear_bytes(&same);
  }
  store(part, b.data, data + 9);
  assert_fails(part, "is cut off, and cannot be read as WAV: nothing in it can be decoded");
  clear_bytes(&b);
}

static void test_mp3_in_wav(void) {
  static const mpeg_case cases[] = {{44100, 1, FALSE}, {48000, 2, TRUE},  {32000, 2, FALSE},
                                    {22050, 1, TRUE},  {16000, 2, FALSE}, {8000, 1, FALSE}};
  SF_INFO info = {.samplerate = 48000, .channels = 2, .format = FC_SF_MPEG | FC_SF_MPEG_LAYER_III};
  if (!sf_format_check(&info)) {
    g_test_skip("this libsndfile writes no MP3");
    return;
  }
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *in = scratch("in.wav"), *bare = scratch("bare.mp3"), *flac = scratch("out.flac");
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
    const copy_job strict = {.options = {.log = keep_line, .log_data = lines}};
    bytes stream = make_mpeg(&cases[i], in), got = samples_of(in, &strict), want = samples_of(bare, &strict);
    g_assert_cmpuint(want.size, >=, (gsize)(cases[i].rate / 2 * cases[i].channels) * 4);
    g_assert_cmpmem(got.data, got.size, want.data, want.size);
    g_assert_cmpuint(lines->len, ==, 0);
    assert_copies(in, flac);
    bytes texts = load(flac);
    place_of(&texts, "data of a song");
    place_of(&texts, "behind of it..");
    clear_bytes(&texts);
    cut_mpeg(in, &stream, &want);
    clear_bytes(&stream);
    clear_bytes(&got);
    clear_bytes(&want);
  }
}

/* ---- samples in blocks ---------------------------------------------------------- */

static gsize frames_of(const char *path) {
  const copy_job strict = {0};
  bytes b = samples_of(path, &strict);
  gsize frames = b.size / 4;
  clear_bytes(&b);
  return frames;
}

/* The last block is filled up; how much of it is sound stands in the header. What cannot be that is not
 * believed. */
static void test_filled_blocks(void) {
  static const struct {
    int format;
    guint32 block;
  } files[] = {{SF_FORMAT_WAV | SF_FORMAT_GSM610, 320},
               {SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM, 505},
               {SF_FORMAT_WAV | SF_FORMAT_MS_ADPCM, 500},
               {SF_FORMAT_W64 | SF_FORMAT_IMA_ADPCM, 505}};
  for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
    g_autofree char *path = scratch("blocks.wav");
    guint32 block = files[i].block, blocks = 5100 / block + 1, all = blocks * block;
    make_sound(path, files[i].format, 8000, 1, 5100);
    bytes b = load(path);
    gboolean wide = (files[i].format & SF_FORMAT_TYPEMASK) == SF_FORMAT_W64;
    gsize fact = place_of(&b, "fact") + (wide ? 24 : 8);
    const struct {
      guint32 said, are;
    } cases[] = {{5100, 5100},       {all, all},       {all - block + 1, all - block + 1},
                 {all - block, all}, {all + 1, all},   {1, all},
                 {0, all},           {0xffffffff, all}};
    for (gsize k = 0; k < G_N_ELEMENTS(cases); k++) {
      for (int n = 0; n < 4; n++) b.data[fact + (gsize)n] = (guint8)(cases[k].said >> 8 * n);
      store(path, b.data, b.size);
      g_assert_cmpuint(frames_of(path), ==, cases[k].are);
    }
    clear_bytes(&b);
  }
}

/* Nine blocks of GSM are an odd number of bytes, of which the one that makes them even begins no tenth. Of
 * two channels libsndfile itself writes half of how many there are. */
static void test_blocks_that_mislead(void) {
  g_autofree char *path = scratch("mislead.wav");
  for (int fact = 0; fact < 2; fact++) {
    make_sound(path, SF_FORMAT_WAV | SF_FORMAT_GSM610, 8000, 1, 9 * 320);
    bytes b = load(path);
    if (!fact) memcpy(b.data + place_of(&b, "fact"), "JUNK", 4);
    store(path, b.data, b.size);
    g_assert_cmpuint(frames_of(path), ==, 9 * 320);
    clear_bytes(&b);
  }
  for (int blocks = 1; blocks <= 3; blocks++) {
    make_sound(path, SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM, 44100, 2, 2041 * blocks);
    g_assert_cmpuint(frames_of(path) / 2, ==, 2041 * blocks);
  }
}

/* ---- an odd number of bytes ------------------------------------------------------- */

/* Samples of an odd size with what follows them, a byte apart or not. */
static void make_odd(const char *path, gboolean aiff, gboolean padded, gboolean more) {
  g_autofree char *wav = scratch("plain.wav"), *plain = scratch(aiff ? "plain.aiff" : "plain.wav");
  g_autoptr(GByteArray) file = g_byte_array_new();
  make_sound(wav, SF_FORMAT_WAV | SF_FORMAT_PCM_U8, 8000, 1, 1001);
  if (aiff) assert_copies(wav, plain);
  bytes b = load(plain);
  gsize end = place_of(&b, aiff ? "SSND" : "data") + 8 + (aiff ? 8 : 0) + 1001;
  g_byte_array_append(file, b.data, (guint)end + (padded ? 1 : 0));
  static const char list[] = "LIST\x1a\0\0\0INFOINAM\5\0\0\0four\0\0IART\0\0\0\0cue \4\0\0\0\0\0\0",
                    names[] = "NAME\0\0\0\4fourANNO\0\0\0\3odd\0AUTH\0\0\0\2me";
  if (more)
    g_byte_array_append(file, (const guint8 *)(aiff ? names : list), aiff ? sizeof names - 1 : sizeof list);
  if (aiff)
    for (int i = 0; i < 4; i++) file->data[4 + i] = (guint8)((file->len - 8) >> 8 * (3 - i));
  else
    put_total(file);
  store(path, file->data, file->len);
  clear_bytes(&b);
}

static void test_no_padding(void) {
  g_autofree char *padded = scratch("padded"), *bare = scratch("bare"), *part = scratch("part"),
                  *out = scratch("out.wav"), *same = scratch("same.wav");
  const copy_job strict = {0};
  for (int i = 0; i < 4; i++) {
    gboolean aiff = i & 1, more = i < 2;
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
    make_odd(padded, aiff, TRUE, more);
    make_odd(bare, aiff, FALSE, more);
    bytes want = samples_of(padded, &strict), got = samples_of(bare, &strict), b = load(bare);
    g_assert_cmpuint(want.size, ==, 1001 * 4);
    g_assert_cmpmem(got.data, got.size, want.data, want.size);
    assert_copies(padded, same);
    copy_job job = {.in = bare, .out = out, .dtype = -1, .options = {.log = keep_line, .log_data = lines}};
    g_assert_true(copy(&job, NULL));
    assert_same_bytes(out, same);
    g_assert_cmpuint(lines->len, ==, 0);
    for (gsize k = 0; more && k < 12; k++) {
      store(part, b.data,
            b.size - 9 - k); /* among what follows, of which the last may be no more than a head */
      assert_copy_fails(&(copy_job){.in = part, .out = same, .dtype = -1}, FC_IO, NULL);
    }
    for (gsize k = 0; k < 10; k++) {
      store(part, b.data, 900 - k * 70);
      assert_copy_fails(&(copy_job){.in = part, .out = same, .dtype = -1}, FC_IO, NULL);
    }
    clear_bytes(&want);
    clear_bytes(&got);
    clear_bytes(&b);
  }
}

/* ---- a size that was never set -------------------------------------------------------- */

/* As ffmpeg, sox and arecord leave it in what they send into a pipe, whatever the samples. */
static void test_never_set(void) {
  static const int subtypes[] = {SF_FORMAT_PCM_U8, SF_FORMAT_PCM_16, SF_FORMAT_PCM_24, SF_FORMAT_FLOAT,
                                 SF_FORMAT_DOUBLE, SF_FORMAT_ULAW,   SF_FORMAT_ALAW};
  static const guint32 sizes[] = {0xffffffff, 0x7ffff000, 0x80000000, 0};
  g_autofree char *whole = scratch("whole.wav"), *open = scratch("open.wav");
  const copy_job strict = {0};
  for (gsize i = 0; i < 2 * G_N_ELEMENTS(subtypes); i++) {
    make_sound(whole, SF_FORMAT_WAV | subtypes[i / 2], 8000, 1 + (i & 1), 5000);
    bytes want = samples_of(whole, &strict), b = load(whole);
    gsize data = place_of(&b, "data");
    for (gsize k = 0; k < G_N_ELEMENTS(sizes); k++) {
      guint32 size = GUINT32_TO_LE(sizes[k]), total = sizes[k] ? size : 0;
      memcpy(b.data + data + 4, &size, 4);
      memcpy(b.data + 4, &total, 4);
      store(open, b.data, b.size);
      bytes got = samples_of(open, &strict);
      g_assert_cmpmem(got.data, got.size, want.data, want.size);
      clear_bytes(&got);
    }
    clear_bytes(&want);
    clear_bytes(&b);
  }
}

/* AU says it in 32 bits without a sign, in either order of bytes, or not at all; what follows its
 * samples is none of them. */
static void test_sizes_of_au(void) {
  static const int orders[] = {SF_ENDIAN_BIG, SF_ENDIAN_LITTLE};
  g_autofree char *whole = scratch("whole.au"), *other = scratch("other.au");
  const copy_job strict = {0};
  for (gsize i = 0; i < G_N_ELEMENTS(orders); i++) {
    make_sound(whole, SF_FORMAT_AU | SF_FORMAT_PCM_16 | orders[i], 8000, 1, 5000);
    bytes want = samples_of(whole, &strict), b = load(whole);
    g_autoptr(GByteArray) file = g_byte_array_new();
    g_byte_array_append(file, b.data, (guint)b.size);
    g_byte_array_append(file, (const guint8 *)"not one of them", 15);
    store(other, file->data, file->len);
    bytes got = samples_of(other, &strict);
    g_assert_cmpmem(got.data, got.size, want.data, want.size);
    clear_bytes(&got);
    for (int never = 0; never < 2; never++) {
      memset(b.data + 8, never ? 0xff : 0, 4);
      store(other, b.data, b.size);
      got = samples_of(other, &strict);
      g_assert_cmpmem(got.data, got.size, want.data, want.size);
      clear_bytes(&got);
    }
    memset(b.data + 8, 0, 4);
    store(other, b.data, 24); /* there are none */
    g_assert_cmpuint(frames_of(other), ==, 0);
    clear_bytes(&want);
    clear_bytes(&b);
  }
}

static void test_large_au(void) {
  g_autofree char *path = scratch("large.au");
  const gint64 size = (gint64)0x90000000;
  GError *error = NULL;
  guint8 head[24] = {'.', 's', 'n', 'd', 0, 0, 0,    24,   0x90, 0, 0, 0,
                     0,   0,   0,   1,   0, 0, 0x1f, 0x40, 0,    0, 0, 1};
  store(path, head, sizeof head);
  if (truncate(path, size + 24) != 0) { /* nothing but holes */
    g_test_skip("no file may be as large here");
    return;
  }
  const fc_media_options options = {0};
  fc_source *source = fc_media_open(path, &options, &error);
  g_assert_no_error(error);
  g_assert_cmpint(source->format.extent[FC_AXIS_X], ==, size);
  source->free(source);
  g_assert_cmpint(truncate(path, size - 1000), ==, 0);
  g_assert_null(fc_media_open(path, &options, &error));
  g_assert_true(g_str_has_suffix(
      error->message, "is cut off: 1024 bytes are missing; --allow-truncated uses the readable part"));
  g_error_free(error);
  g_remove(path);
}

/* ---- tags ahead --------------------------------------------------------------------- */

/* ID3 ahead of any sound is skipped, of whatever size and with a footer. */
static void test_tag_ahead(void) {
  static const int formats[] = {SF_FORMAT_WAV | SF_FORMAT_PCM_16,  SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM,
                                SF_FORMAT_RF64 | SF_FORMAT_PCM_24, SF_FORMAT_W64 | SF_FORMAT_FLOAT,
                                SF_FORMAT_AIFF | SF_FORMAT_PCM_16, SF_FORMAT_AU | SF_FORMAT_PCM_16,
                                SF_FORMAT_CAF | SF_FORMAT_PCM_16,  SF_FORMAT_FLAC | SF_FORMAT_PCM_16,
                                SF_FORMAT_OGG | SF_FORMAT_VORBIS};
  static const guint8 small[10 + 20] = {'I', 'D', '3', 3, 0, 0, 0, 0, 0, 20},
                                 footed[10 + 256 + 10] = {'I', 'D', '3', 4, 0, 0x10, 0, 0, 2, 0}, zeros[700];
  g_autofree char *plain = scratch("plain"), *tagged = scratch("tagged"), *part = scratch("part"),
                  *out = scratch("out.wav");
  const copy_job strict = {0};
  for (gsize i = 0; i < G_N_ELEMENTS(formats); i++) {
    make_sound(plain, formats[i], 48000, 1, 30000);
    bytes want = samples_of(plain, &strict), b = load(plain);
    for (int tags = 1; tags <= 15; tags++) { /* the last bit: another one behind zeros */
      if (!(tags & 3) || (tags & 12) == 8) continue;
      g_autoptr(GByteArray) file = g_byte_array_new();
      g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
      if (tags & 1) g_byte_array_append(file, small, sizeof small);
      if (tags & 2) g_byte_array_append(file, footed, sizeof footed);
      if (tags & 4) g_byte_array_append(file, zeros, sizeof zeros); /* filled up behind the tag */
      if (tags & 8) g_byte_array_append(file, small, sizeof small);
      g_byte_array_append(file, b.data, (guint)b.size);
      store(tagged, file->data, file->len);
      bytes got = samples_of(tagged, &strict);
      g_assert_cmpmem(got.data, got.size, want.data, want.size);
      clear_bytes(&got);
      g_assert_true(copy(
          &(copy_job){
              .in = tagged, .out = out, .dtype = -1, .options = {.log = keep_line, .log_data = lines}},
          NULL));
      g_assert_cmpuint(lines->len, ==, 1);
      g_assert_true(g_str_has_suffix(lines->pdata[0], "that is left out: ID3 tag"));
      for (gsize k = 1; k < 8; k++) {
        store(part, file->data, file->len * k / 8);
        assert_copy_fails(
            &(copy_job){.in = part, .out = plain, .dtype = FC_F32, .options = {.out_format = "raw"}}, FC_IO,
            NULL);
      }
    }
    clear_bytes(&want);
    clear_bytes(&b);
  }
  const copy_job as_mpeg = {
      .in = tagged, .out = out, .dtype = FC_F32, .options = {.in_format = "mp3", .out_format = "raw"}};
  g_autofree char *sentence = g_strdup_printf("%s: is not an MP3 file", tagged);
  assert_copy_fails(&as_mpeg, FC_IO, sentence);
  store(tagged, footed, sizeof footed);
  assert_fails(tagged, "holds an ID3 tag and nothing else");
  g_autofree guint8 *text = g_malloc0(sizeof small + 100);
  memcpy(text, small, sizeof small);
  memset(text + sizeof small, 'x', 100);
  store(tagged, text, sizeof small + 100);
  assert_fails(tagged, "begins with an ID3 tag, which no known kind of sound follows");
}

/* Of big-endian WAV and AIFF, too, whose sizes were never set, all is read. */
static void test_large_and_big_endian(void) {
  static const guint8 rifx[] = "RIFX\xff\xff\xff\xffWAVEfmt \0\0\0\20\0\1\0\1\0\0\37\100\0\0\76\200\0\2\0\20"
                               "data\xff\xff\xff\xff",
                      aiff[] = "FORM\xff\xff\xff\xff"
                               "AIFFCOMM\0\0\0\22\0\1\xff\xff\xff\xff\0\20\100\13\372\0\0\0\0\0\0\0"
                               "SSND\xff\xff\xff\xff\0\0\0\0\0\0\0\0";
  const struct {
    const guint8 *header;
    gsize size;
  } files[] = {{rifx, sizeof rifx - 1}, {aiff, sizeof aiff - 1}};
  g_autofree char *path = scratch("large.big");
  for (gsize i = 0; i < G_N_ELEMENTS(files); i++)
    for (gint64 more = 1; more <= 5; more += 4) { /* GiB */
      store(path, files[i].header, files[i].size);
      if (truncate(path, (gint64)files[i].size + (more << 30)) != 0) {
        g_test_skip("no file of 5 GiB can be made here");
        break;
      }
      GError *error = NULL;
      fc_source *source = fc_media_open(path, NULL, &error);
      g_assert_no_error(error);
      g_assert_cmpint(source->format.extent[FC_AXIS_X], ==, more << 29);
      source->free(source);
    }
  g_remove(path);
}

/* A chunk of CAF behind the samples that is cut off. */
static void test_end_of_caf(void) {
  g_autofree char *path = scratch("whole.caf"), *part = scratch("part.caf"), *out = scratch("failed.raw");
  static const guint8 chunk[12 + 30] = "info\0\0\0\0\0\0\0\36\0\0\0\1title\0a sound";
  make_sound(path, SF_FORMAT_CAF | SF_FORMAT_PCM_16, 8000, 1, 1000);
  bytes b = load(path);
  g_autoptr(GByteArray) file = g_byte_array_new();
  gsize size = place_of(&b, "data") + 12 + 4 + 2000;
  g_byte_array_append(file, b.data, (guint)size);
  g_byte_array_append(file, chunk, sizeof chunk);
  for (gsize k = 12; k < sizeof chunk; k++) {
    g_autofree char *said = g_strdup_printf(
        "%s: is cut off: %" G_GSIZE_FORMAT " bytes are missing" FC_MEDIA_ADVICE, part, sizeof chunk - k);
    store(part, file->data, size + k);
    assert_copy_fails(&(copy_job){.in = part, .out = out, .dtype = FC_F32}, FC_IO, said);
  }
  clear_bytes(&b);
}

/* ---- W64 -------------------------------------------------------------------- */

typedef struct extended {
  guint16 type; /* that the tag stands for */
  int bits, valid;
  const char *tail; /* of the sub-format, 14 bytes; NULL: the usual one */
  gint64 frames;    /* that are said; 0: none are */
} extended;

/* The same with an extended format, and a size that counts what the samples are padded with. */
static void extend_w64(const char *from, const char *to, const extended *how) {
  enum { HEADER = 40, CHUNK = 24, FORMAT_END = HEADER + CHUNK + 40, TAG_AT = HEADER + CHUNK };
  bytes b = load(from);
  guint8 front[FORMAT_END + CHUNK + 8] = {0}, *type = front + TAG_AT + 24;
  gsize data = place_of(&b, "data"), size = how->frames ? sizeof front : FORMAT_END;
  memcpy(front, b.data, TAG_AT + 16);
  fc_put_little(front + HEADER + 16, CHUNK + 40, 8);
  fc_put_little(front + TAG_AT, 0xfffe, 2);
  fc_put_little(front + TAG_AT + 14, (guint64)how->bits, 2);
  fc_put_little(front + TAG_AT + 16, 22, 2);
  fc_put_little(front + TAG_AT + 18, (guint64)how->valid, 2);
  fc_put_little(type, how->type, 2);
  memcpy(type + 2, how->tail ? how->tail : "\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x71", 14);
  memcpy(front + FORMAT_END, "fact\xf3\xac\xd3\x11\x8c\xd1\0\xc0\x4f\x8e\xdb\x8a", 16);
  fc_put_little(front + FORMAT_END + 16, CHUNK + 8, 8);
  fc_put_little(front + FORMAT_END + CHUNK, (guint64)how->frames, 8);
  g_autoptr(GByteArray) file = g_byte_array_new();
  g_byte_array_append(file, front, (guint)size);
  g_byte_array_append(file, b.data + data, (guint)(b.size - data));
  while ((file->len - size) % 8) put(file, 0, 1);
  fc_put_little(file->data + size + 16, file->len - size, 8);
  fc_put_little(file->data + 16, file->len, 8);
  store(to, file->data, file->len);
  clear_bytes(&b);
}

/* Of extended formats libsndfile takes all samples for integers. */
static void test_extended_w64(void) {
  static const struct {
    int format, channels;
    extended how;
  } files[] = {
      {SF_FORMAT_FLOAT, 1, {.type = 3, .bits = 32, .valid = 32}},
      {SF_FORMAT_FLOAT, 6, {.type = 3, .bits = 32, .valid = 32, .frames = 1001}},
      {SF_FORMAT_DOUBLE, 2, {.type = 3, .bits = 64, .valid = 64}},
      {SF_FORMAT_ALAW, 6, {.type = 6, .bits = 8, .valid = 8, .frames = 1001}},
      {SF_FORMAT_ULAW, 8, {.type = 7, .bits = 8, .valid = 8}},
      {SF_FORMAT_PCM_U8, 4, {.type = 1, .bits = 8, .valid = 8}},
      {SF_FORMAT_PCM_16, 4, {.type = 1, .bits = 16, .valid = 12}},
      {SF_FORMAT_PCM_24, 4, {.type = 1, .bits = 24, .valid = 20}},
      {SF_FORMAT_PCM_32, 4, {.type = 1, .bits = 32, .valid = 24}},
      {SF_FORMAT_PCM_16,
       4,
       {.type = 1, .bits = 16, .valid = 16, .tail = "\0\0\x21\x07\xd3\x11\x86\x44\xc8\xc1\xca\0\0\0"}},
  };
  g_autofree char *plain = scratch("plain.w64"), *path = scratch("extended.w64");
  for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
    const gsize values = (gsize)(1001 * files[i].channels);
    make_sound(plain, SF_FORMAT_W64 | files[i].format, 48000, files[i].channels, 1001);
    extend_w64(plain, path, &files[i].how);
    bytes want = samples_of(plain, &(copy_job){0}), got = samples_of(path, &(copy_job){0});
    g_assert_cmpuint(want.size, ==, values * sizeof(float));
    g_assert_cmpuint(got.size, >=, want.size);
    g_assert_cmpmem(got.data, want.size, want.data, want.size);
    clear_bytes(&want);
    clear_bytes(&got);
  }
}

/* What is in none of these ways is not guessed at. */
static void test_unknown_w64(void) {
  static const extended hows[] = {
      {.type = 2, .bits = 16, .valid = 16},
      {.type = 0xfffe, .bits = 16, .valid = 16},
      {.type = 1, .bits = 16, .valid = 16, .tail = "\0\0\0\0\x10\0\x80\0\0\xaa\0\x38\x9b\x70"},
  };
  g_autofree char *plain = scratch("plain.w64"), *path = scratch("unknown.w64");
  make_sound(plain, SF_FORMAT_W64 | SF_FORMAT_PCM_16, 48000, 2, 1000);
  for (gsize i = 0; i < G_N_ELEMENTS(hows); i++) {
    extend_w64(plain, path, &hows[i]);
    assert_fails(path, "cannot be read as W64: its samples are of an unknown format");
  }
}

/* What the samples are padded with is none of them, where their number is said. */
static void test_padded_w64(void) {
  static const struct {
    int format, channels;
    gint64 said, read;
  } files[] = {
      {SF_FORMAT_ULAW, 1, 1001, 1001},  {SF_FORMAT_ULAW, 1, 0, 1008},     {SF_FORMAT_ULAW, 1, 1000, 1008},
      {SF_FORMAT_ULAW, 1, 2000, 1008},  {SF_FORMAT_ALAW, 2, 1001, 1001},  {SF_FORMAT_FLOAT, 1, 1001, 1001},
      {SF_FORMAT_FLOAT, 1, 1000, 1002}, {SF_FORMAT_FLOAT, 3, 1001, 1001},
  };
  g_autofree char *plain = scratch("plain.w64"), *path = scratch("padded.w64");
  for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
    int format = files[i].format;
    guint16 type = format == SF_FORMAT_FLOAT ? 3 : format == SF_FORMAT_ALAW ? 6 : 7;
    int bits = type == 3 ? 32 : 8;
    make_sound(plain, SF_FORMAT_W64 | format, 8000, files[i].channels, 1001);
    extend_w64(plain, path, &(extended){.type = type, .bits = bits, .valid = bits, .frames = files[i].said});
    bytes got = samples_of(path, &(copy_job){0});
    g_assert_cmpuint(got.size, ==, (gsize)(files[i].read * files[i].channels) * sizeof(float));
    clear_bytes(&got);
  }
}

/* AIFF counts its frames a second time: where it counts more of them than there are it is cut off. */
static void test_counts_of_aiff(void) {
  g_autofree char *path = scratch("in.aiff"), *out = scratch("failed.raw");
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  const copy_job job = {.options = {.log = keep_line, .log_data = lines, .allow_truncated = TRUE}};
  make_sound(path, SF_FORMAT_AIFF | SF_FORMAT_PCM_16, 8000, 1, 1500);
  bytes b = load(path), got;
  memcpy(b.data + place_of(&b, "COMM") + 10, "\0\0\x7\xd0", 4);
  store(path, b.data, b.size);
  g_autofree char *said = g_strdup_printf("%s: is cut off: 1000 bytes are missing" FC_MEDIA_ADVICE, path);
  assert_copy_fails(&(copy_job){.in = path, .out = out, .dtype = FC_F32}, FC_IO, said);
  GError *error = NULL;
  g_assert_true(copy(&(copy_job){.in = path, .out = out, .dtype = FC_F32, .options = job.options}, &error));
  got = load(out);
  g_assert_cmpuint(got.size, ==, 1500 * 4);
  g_assert_cmpuint(lines->len, ==, 1);
  clear_bytes(&got);
  clear_bytes(&b);
}

/* A size of 0 was never set where samples follow, unless the file's own size is right. */
static void test_size_of_zero(void) {
  enum { TOTAL_AT = 4, SIZE_AT = 40, HEAD = 44 };
  g_autofree char *in = scratch("zero.wav"), *out = scratch("zero-out.wav"),
                  *whole = scratch("zero-whole.wav");
  make_sound(whole, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 8000, 1, 500);
  bytes b = load(whole);
  static const guint32 totals[] = {0, 36, 0x7ffff024, 0xffffffff};
  for (gsize i = 0; i < G_N_ELEMENTS(totals); i++) {
    guint32 size = 0, total = GUINT32_TO_LE(totals[i]);
    memcpy(b.data + TOTAL_AT, &total, 4);
    memcpy(b.data + SIZE_AT, &size, 4);
    memcpy(b.data + HEAD, "\x81\1\2\3", 4);
    store(in, b.data, b.size);
    g_assert_true(copy(&(copy_job){.in = in, .out = out, .dtype = -1}, NULL));
    bytes made = load(out);
    g_assert_cmpmem(made.data + HEAD, made.size - HEAD, b.data + HEAD, b.size - HEAD);
    clear_bytes(&made);
  }
  clear_bytes(&b);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  scratch_init();
  g_test_add_func("/media/foreign/mp3-in-wav", test_mp3_in_wav);
  g_test_add_func("/media/foreign/filled-blocks", test_filled_blocks);
  g_test_add_func("/media/foreign/blocks-that-mislead", test_blocks_that_mislead);
  g_test_add_func("/media/foreign/no-padding", test_no_padding);
  g_test_add_func("/media/foreign/never-set", test_never_set);
  g_test_add_func("/media/foreign/sizes-of-au", test_sizes_of_au);
  g_test_add_func("/media/foreign/large-au", test_large_au);
  g_test_add_func("/media/foreign/tag-ahead", test_tag_ahead);
  g_test_add_func("/media/foreign/large-and-big-endian", test_large_and_big_endian);
  g_test_add_func("/media/foreign/end-of-caf", test_end_of_caf);
  g_test_add_func("/media/foreign/extended-w64", test_extended_w64);
  g_test_add_func("/media/foreign/unknown-w64", test_unknown_w64);
  g_test_add_func("/media/foreign/padded-w64", test_padded_w64);
  g_test_add_func("/media/foreign/counts-of-aiff", test_counts_of_aiff);
  g_test_add_func("/media/foreign/size-of-zero", test_size_of_zero);
  int status = g_test_run();
  scratch_remove();
  return status;
}
