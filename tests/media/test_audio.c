/* SPDX-License-Identifier: MIT */
/*
 * test_audio.c - sound in and out: samples come through bit for bit in every container
 * and sample format, whatever the chunks; a cut-off file is noticed wherever the cut is.
 */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "media/audio/audio.h"
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
  if (!file) g_error("%s: %s", path, sf_strerror(NULL));
  /* An empty FLAC reads as one whose length is not known. */
  if (info->frames == SF_COUNT_MAX) info->frames = 0;
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

/* Sounds shorter than what their headers leave behind, and of an odd number of bytes. */
static void test_short(void) {
  for (gsize i = 0; i < G_N_ELEMENTS(containers); i++) {
    const container *c = &containers[i];
    const int subtypes[] = {c->s8, SF_FORMAT_PCM_16, SF_FORMAT_PCM_24, SF_FORMAT_FLOAT, SF_FORMAT_DOUBLE};
    for (gsize s = 0; s < (c->floats ? 5 : 3); s++)
      for (gint64 frames = 0; frames < 10; frames++) {
        /* Its own files of an odd size are wrong: they come from a WAV. */
        g_autofree char *name = g_strdup_printf("short.%s", c->extension);
        g_autofree char *in = scratch("short_in.wav"), *out = scratch(name);
        int subtype = subtypes[s] == SF_FORMAT_PCM_S8 ? SF_FORMAT_PCM_U8 : subtypes[s];
        make_sound(in, SF_FORMAT_WAV | subtype, 8000, 1, frames);
        copy_job job = {.in = in, .out = out, .dtype = -1, .chunk = 3};
        GError *error = NULL;
        copy(&job, &error);
        g_assert_no_error(error);
        SF_INFO made = {0};
        g_free(samples_of(out, &made));
        g_assert_cmpint(made.frames, ==, frames);
      }
  }
}

/* ---- sample formats ----------------------------------------------------- */

typedef struct choice {
  const char *from, *to;
  int format, expected; /* of the file that comes in; the subtype that goes out */
} choice;

/* What a container cannot hold becomes the next that loses least. */
static void test_choices(void) {
  static const choice choices[] = {
      {"c.wav", "c.flac", SF_FORMAT_WAV | SF_FORMAT_PCM_32, SF_FORMAT_PCM_24},
      {"c.wav", "c.flac", SF_FORMAT_WAV | SF_FORMAT_FLOAT, SF_FORMAT_PCM_24},
      {"c.wav", "c.flac", SF_FORMAT_WAV | SF_FORMAT_PCM_U8, SF_FORMAT_PCM_S8},
      {"c.wav", "c.aiff", SF_FORMAT_WAV | SF_FORMAT_PCM_U8, SF_FORMAT_PCM_S8},
      {"c.aif", "c.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_U8, SF_FORMAT_PCM_U8},
      {"c.aiff", "c.wav", SF_FORMAT_AIFF | SF_FORMAT_PCM_S8, SF_FORMAT_PCM_U8},
      {"c.au", "c.wav", SF_FORMAT_AU | SF_FORMAT_ULAW, SF_FORMAT_ULAW},
      {"c.wav", "c.flac", SF_FORMAT_WAV | SF_FORMAT_ALAW, SF_FORMAT_PCM_16},
      {"c.ogg", "c.wav", SF_FORMAT_OGG | SF_FORMAT_VORBIS, SF_FORMAT_PCM_16},
      {"c.wav", "c.ogg", SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_VORBIS},
      {"c.wav", "c.opus", SF_FORMAT_WAV | SF_FORMAT_PCM_16, SF_FORMAT_OPUS},
      {"c.caf", "c.wav", SF_FORMAT_CAF | SF_FORMAT_ALAC_16, SF_FORMAT_PCM_16},
      {"c.caf", "d.caf", SF_FORMAT_CAF | SF_FORMAT_ALAC_16,
       SF_FORMAT_PCM_16}, /* an encoder that is not safe */
      {"c.caf", "d.caf", SF_FORMAT_CAF | SF_FORMAT_ALAC_20, SF_FORMAT_PCM_24},
      {"c.caf", "d.caf", SF_FORMAT_CAF | SF_FORMAT_ALAC_24, SF_FORMAT_PCM_24},
      {"c.caf", "d.caf", SF_FORMAT_CAF | SF_FORMAT_ALAC_32, SF_FORMAT_PCM_32},
      {"c.w64", "c.rf64", SF_FORMAT_W64 | SF_FORMAT_DOUBLE, SF_FORMAT_DOUBLE},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(choices); i++) {
    g_autofree char *in = scratch(choices[i].from), *out = scratch(choices[i].to);
    SF_INFO a = {0}, b = {0};
    make_sound(in, choices[i].format, 48000, 2, 4000);
    assert_copies(in, out);
    g_free(samples_of(in, &a));
    g_free(samples_of(out, &b));
    g_assert_cmphex(b.format & SF_FORMAT_SUBMASK, ==, choices[i].expected);
    g_assert_cmpint(b.frames, ==, a.frames);
    g_assert_cmpint(b.samplerate, ==, 48000);
  }
}

/* Comes in and goes out as what holds 16 bits: WAV, too, though it could hold MP3. */
static void test_mp3(void) {
  static const char *const names[] = {"m.wav", "m.flac", "m.aiff"};
  g_autofree char *in = scratch("m.mp3"), *out = scratch("m-out.wav");
  SF_INFO info = {.samplerate = 48000, .channels = 2, .format = FC_SF_MPEG | FC_SF_MPEG_LAYER_III};
  if (!sf_format_check(&info)) {
    g_test_skip("this libsndfile writes no MP3");
    return;
  }
  make_sound(in, info.format, 48000, 2, 4000);
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *to = scratch(names[i]);
    SF_INFO made = {0};
    assert_copies(in, to);
    g_free(samples_of(to, &made));
    g_assert_cmphex(made.format & SF_FORMAT_SUBMASK, ==, SF_FORMAT_PCM_16);
    g_assert_cmpint(made.frames, >=, 4000);
  }
  bytes b = load(in);
  store(in, b.data, 100); /* not a whole frame */
  clear_bytes(&b);
  g_autofree char *why = g_strdup_printf("%s: cannot be read as MP3: nothing in it can be decoded", in);
  assert_copy_fails(&(copy_job){.in = in, .out = out, .dtype = -1}, FC_IO, why);
}

/* So many frames of silence, of the size that goes with a bit rate. */
static void put_mpeg(GByteArray *file, int count, guint8 rate, guint size) {
  g_autofree guint8 *frame = g_malloc0(size);
  memcpy(frame, (guint8[]){0xff, 0xfb, (guint8)(rate << 4), 0x64}, 4);
  for (int i = 0; i < count; i++) g_byte_array_append(file, frame, size);
}

/* No header says its length: that its first frames are larger, or smaller, than the rest, and that a tag
 * stands ahead or behind, makes it neither shorter nor cut off. */
static void test_mp3_of_no_length(void) {
  static const struct {
    int first, then;
    gboolean tags;
  } cases[] = {{14, 1, FALSE}, {1, 14, FALSE}, {9, 9, TRUE}, {14, 1, TRUE}};
  const guint sizes[] = {[1] = 104, [9] = 417, [14] = 1044};
  g_autofree char *in = scratch("no-length.mp3"), *out = scratch("no-length.wav");
  SF_INFO info = {.samplerate = 44100, .channels = 2, .format = FC_SF_MPEG | FC_SF_MPEG_LAYER_III};
  if (!sf_format_check(&info)) {
    g_test_skip("this libsndfile knows no MP3");
    return;
  }
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    static const guint8 tag[10 + 200] = {'I', 'D', '3', 3, 0, 0, 0, 0, 1, 72},
                                 old_tag[128] = {'T', 'A', 'G', 'x'};
    g_autoptr(GByteArray) file = g_byte_array_new();
    if (cases[i].tags) g_byte_array_append(file, tag, sizeof tag);
    put_mpeg(file, 40, (guint8)cases[i].first, sizes[cases[i].first]);
    put_mpeg(file, 160, (guint8)cases[i].then, sizes[cases[i].then]);
    if (cases[i].tags) g_byte_array_append(file, old_tag, sizeof old_tag);
    store(in, file->data, file->len);
    assert_copies(in, out);
    SF_INFO made = {0};
    g_free(samples_of(out, &made));
    g_assert_cmpint(made.frames, ==, 200 * 1152);
  }
}

/* u-law is decoded, encoded, and is what it was. */
static void test_companded(void) {
  g_autofree char *in = scratch("u.au"), *out = scratch("u2.au"), *back = scratch("u3.au");
  make_sound(in, SF_FORMAT_AU | SF_FORMAT_ULAW, 8000, 1, 3000);
  assert_copies(in, out);
  assert_same_sound(in, out);
  copy_job job = {.in = in, .out = back, .dtype = FC_F64};
  GError *error = NULL;
  g_assert_true(copy(&job, &error));
  assert_same_sound(in, back);

  /* They are given 16 bits: libsndfile looks beyond its tables for a float that is beyond full scale. */
  fc_source *like = fc_media_open(in, NULL, &error);
  fc_sink *sink = fc_media_create(out, &job.options, like, &error);
  fc_format format = like->format;
  g_assert_cmpint(format.dtype, ==, FC_F32);
  g_assert_true(sink->accept(sink, &format, &error));
  g_assert_cmpint(format.dtype, ==, FC_I16);
  sink->free(sink);
  like->free(like);
}

static void test_warns_of_loss(void) {
  g_autofree char *in = scratch("loss.wav"), *out = scratch("loss.flac");
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  make_sound(in, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 8000, 1, 100);
  copy_job job = {.in = in, .out = out, .dtype = -1, .options = {.log = keep_line, .log_data = lines}};
  g_assert_true(copy(&job, NULL));
  g_autofree char *expected =
      g_strdup_printf("%s: FLAC holds 24-bit samples at most: rounded from float", out);
  g_assert_cmpuint(lines->len, ==, 1);
  g_assert_cmpstr(lines->pdata[0], ==, expected);
  g_autofree char *ogg = scratch("loss.ogg");
  make_sound(in, SF_FORMAT_WAV | SF_FORMAT_PCM_32, 8000, 1, 100);
  job.out = ogg;
  g_assert_true(copy(&job, NULL));
  g_assert_cmpuint(lines->len, ==, 1); /* that Vorbis loses is no news */
}

/* What is asked for and is not supported; the message says what is. */
static void test_refusals(void) {
  g_autofree char *many = scratch("many.wav"), *odd = scratch("odd.wav"), *flac = scratch("r.flac"),
                  *opus = scratch("r.opus"), *png = scratch("r.png"), *pair = scratch("pair.wav"),
                  *none = scratch("none.wav");
  make_sound(many, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 48000, 12, 10);
  make_sound(odd, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 44100, 1, 10);
  make_sound(pair, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 44100, 2, 10);
  make_sound(none, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 48000, 1, 0);
  g_autofree char *a = g_strdup_printf("%s: FLAC does not hold 12 channels; use .wav or .npy", flac);
  g_autofree char *b = g_strdup_printf(
      "%s: Opus takes 8000, 12000, 16000, 24000 or 48000 Hz, not 44100; use .ogg or .flac", opus);
  g_autofree char *c = g_strdup_printf("%s: sound cannot be stored as an image; use .wav or .npy", png);
  assert_copy_fails(&(copy_job){.in = many, .out = flac, .dtype = -1}, FC_INVALID, a);
  assert_copy_fails(&(copy_job){.in = odd, .out = opus, .dtype = -1}, FC_INVALID, b);
  g_autofree char *d =
      g_strdup_printf("%s: Opus cannot hold a sound without samples; use .wav or .flac", opus);
  assert_copy_fails(&(copy_job){.in = odd, .out = png, .dtype = -1}, FC_INVALID, c);
  assert_copy_fails(&(copy_job){.in = pair, .out = opus, .dtype = -1}, FC_INVALID, b);
  assert_copy_fails(&(copy_job){.in = none, .out = opus, .dtype = -1}, FC_INVALID, d);
}

/* ---- pipes -------------------------------------------------------------- */

/* Through a pipe, in pieces: header in drops, and so that libsndfile or the spool must
 * wait. */
static void pipe_in(const char *in, const char *out, gsize piece) {
  bytes b = load(in);
  GError *error = NULL;
  copy_through_pipe(&b, piece, &(copy_job){.out = out, .dtype = -1}, &error);
  g_assert_no_error(error);
  clear_bytes(&b);
}

static void test_pipe_in(void) {
  for (gsize i = 0; i < G_N_ELEMENTS(containers); i++) {
    g_autofree char *in = sound(&containers[i], SF_FORMAT_PCM_16, 2, 5000, "p"), *out = scratch("p-out.wav");
    pipe_in(in, out, 7);
    assert_same_sound(in, out);
    pipe_in(in, out, 100000);
    assert_same_sound(in, out);
  }
}

static gpointer drain_thread(gpointer data) {
  GByteArray *all = g_byte_array_new();
  guint8 block[4096];
  gssize got;
  while ((got = read(GPOINTER_TO_INT(data), block, sizeof block)) > 0)
    g_byte_array_append(all, block, (guint)got);
  return all;
}

static void pipe_out(const char *in, const char *format, gboolean hide_length, const char *to) {
  int between[2];
  g_assert_cmpint(pipe(between), ==, 0);
  GThread *thread = g_thread_new("drain", drain_thread, GINT_TO_POINTER(between[0]));
  g_autofree char *path = g_strdup_printf("/dev/fd/%d", between[1]);
  copy_job job = {
      .in = in, .out = path, .dtype = -1, .options = {.out_format = format}, .hide_length = hide_length};
  GError *error = NULL;
  copy(&job, &error);
  g_assert_no_error(error);
  close(between[1]);
  g_autoptr(GByteArray) all = g_thread_join(thread);
  close(between[0]);
  store(to, all->data, all->len);
}

static void test_pipe_out(void) {
  g_autofree char *in = scratch("po.wav");
  make_sound(in, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 44100, 2, 30000);
  for (gsize i = 0; i < 2 * G_N_ELEMENTS(containers); i++) {
    const char *format = containers[i / 2].extension;
    g_autofree char *name = g_strdup_printf("po2.%s", format), *out = scratch(name),
                    *back = scratch("po3.wav");
    pipe_out(in, format, i & 1, out);
    assert_copies(out, back);
    assert_same_sound(in, back);
  }
}

/* ---- cut-off files ------------------------------------------------------ */

static void cut(const char *whole, const char *to, gsize size) {
  bytes b = load(whole);
  store(to, b.data, MIN(size, b.size));
  clear_bytes(&b);
}

/* `some`: there is some of the sound in it. */
static void expect_cut(const char *path, const char *out, gint64 frames, gboolean some) {
  GError *error = NULL;
  copy_job job = {.in = path, .out = out, .dtype = -1};
  assert_copy_fails(&job, FC_IO, NULL);
  job.options.allow_truncated = TRUE;
  if (!copy(&job, &error)) { /* not even a header */
    g_assert_error(error, FC_ERROR, FC_IO);
    g_error_free(error);
    g_assert_false(some);
    return;
  }
  SF_INFO info = {0};
  g_free(samples_of(out, &info));
  g_assert_cmpint(info.frames, <=, frames);
  g_assert_cmpint(info.frames, >=, some ? frames / 3 : 0);
  g_remove(out);
}

/* Every format, cut at sixty places, its last byte among them. */
static void test_cut(void) {
  static const struct {
    const char *name;
    int format;
  } files[] = {{"t.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16},   {"t.rf64", SF_FORMAT_RF64 | SF_FORMAT_PCM_24},
               {"t.w64", SF_FORMAT_W64 | SF_FORMAT_FLOAT},    {"t.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16},
               {"t.au", SF_FORMAT_AU | SF_FORMAT_PCM_16},     {"t.caf", SF_FORMAT_CAF | SF_FORMAT_PCM_16},
               {"t.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16}, {"t.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS},
               {"t.opus", SF_FORMAT_OGG | SF_FORMAT_OPUS}};
  for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
    g_autofree char *whole = scratch(files[i].name), *part_name = g_strconcat("cut-", files[i].name, NULL);
    g_autofree char *part = scratch(part_name), *out = scratch("cut-out.wav");
    make_sound(whole, files[i].format, 48000, 2, 6000);
    bytes b = load(whole);
    /* libsndfile pads CAF with a zero byte, which nobody misses. */
    gsize all = b.size - (b.data[b.size - 1] == 0 && g_str_has_suffix(whole, "caf"));
    clear_bytes(&b);
    for (gsize k = 1; k <= 60; k++) {
      cut(whole, part, k == 60 ? all - 1 : all * k / 60);
      expect_cut(part, out, 6000, k >= 40 && i < 6); /* a page of Ogg may be all */
    }
  }
}

/* Through a pipe as from a file: the same sound, and a cut is noticed. From a pipe itself libsndfile reads
 * some samples that are packed in blocks as nothing, and goes on with silence where others end too soon. */
static void test_cut_in_pipe(void) {
  static const struct {
    const char *name;
    int format, channels;
  } files[] = {{"q.wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, 2},
               {"q.aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16, 2},
               {"q.au", SF_FORMAT_AU | SF_FORMAT_PCM_16, 2},
               {"q.caf", SF_FORMAT_CAF | SF_FORMAT_PCM_16, 2},
               {"q.flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 2},
               {"q.ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 2},
               {"q.opus", SF_FORMAT_OGG | SF_FORMAT_OPUS, 2},
               {"q-ima.wav", SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM, 2},
               {"q-ms.wav", SF_FORMAT_WAV | SF_FORMAT_MS_ADPCM, 2},
               {"q-gsm.wav", SF_FORMAT_WAV | SF_FORMAT_GSM610, 1},
               {"q-g721.wav", SF_FORMAT_WAV | SF_FORMAT_G721_32, 1},
               {"q-ulaw.wav", SF_FORMAT_WAV | SF_FORMAT_ULAW, 2},
               {"q-ima.aiff", SF_FORMAT_AIFF | SF_FORMAT_IMA_ADPCM, 1},
               {"q-ulaw.aiff", SF_FORMAT_AIFF | SF_FORMAT_ULAW, 2},
               {"q-g723.au", SF_FORMAT_AU | SF_FORMAT_G723_24, 1},
               {"q-alaw.au", SF_FORMAT_AU | SF_FORMAT_ALAW, 2},
               {"q-wide.wav", SF_FORMAT_WAVEX | SF_FORMAT_FLOAT, 2}};
  for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
    g_autofree char *whole = scratch(files[i].name), *out = scratch("q-out.wav"),
                    *want = scratch("q-want.wav");
    make_sound(whole, files[i].format, 48000, files[i].channels, 30000);
    assert_copies(whole, want);
    pipe_in(whole, out, 3000);
    assert_same_sound(out, want);
    bytes b = load(whole);
    for (gsize k = 1; k <= 7; k++) {
      GError *error = NULL;
      const bytes part = {b.data, b.size * k / 8};
      g_remove(out);
      g_assert_false(copy_through_pipe(&part, 3000, &(copy_job){.out = out, .dtype = -1}, &error));
      g_assert_error(error, FC_ERROR, FC_IO);
      g_assert_false(g_file_test(out, G_FILE_TEST_EXISTS));
      g_error_free(error);
    }
    clear_bytes(&b);
  }
}

/* Headers that a writer could not complete are no cut; the length is the file's. That is told where the same
 * sizes could stand in a file that was cut off. */
static void test_unfinished_header(gconstpointer data) {
  const int format = GPOINTER_TO_INT(data);
  static const guint32 sizes[] = {0xffffffff, 0x7ffff000, 0x7fffffff, 0x80000000};
  g_autofree char *in = scratch("open.wav"), *out = scratch("open-out.wav"), *whole = scratch("whole.wav");
  make_sound(whole, SF_FORMAT_WAV | format, 8000, 1, 500);
  for (gsize i = 0; i < 3 * G_N_ELEMENTS(sizes); i++) {
    static const guint32 around[] = {0, 36, 36 + 8}; /* none, what stands ahead, and what some count in */
    bytes b = load(whole);
    guint32 size = GUINT32_TO_LE(sizes[i / 3]), total = GUINT32_TO_LE(sizes[i / 3] + around[i % 3]);
    memcpy(b.data + 4, &total, 4);
    memcpy(b.data + 40, &size, 4);
    store(in, b.data, b.size);
    clear_bytes(&b);
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
    copy_job job = {.in = in, .out = out, .dtype = -1, .options = {.log = keep_line, .log_data = lines}};
    GError *error = NULL;
    copy(&job, &error);
    g_assert_no_error(error);
    assert_same_bytes(out, whole);
    g_autofree char *said =
        g_strdup_printf("%s: the header does not say how long it is; read to the end of the file", in);
    g_assert_cmpuint(lines->len, ==, sizes[i / 3] == 0xffffffff ? 0 : 1);
    if (lines->len) g_assert_cmpstr(lines->pdata[0], ==, said);
    pipe_in(in, out, 1000);
    assert_same_sound(out, whole);
  }
}

/* Of a file whose own size has room for other chunks behind the samples theirs is one, as large as it is. */
static void test_sizes_like_unfinished(void) {
  static const guint32 sizes[] = {0xfffffe00, 0x7ffff000, 0x7fffff00, 0x80000000};
  g_autofree char *in = scratch("true.wav"), *out = scratch("true-out.wav");
  make_sound(in, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 8000, 1, 500);
  bytes b = load(in);
  for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++) {
    guint32 size = GUINT32_TO_LE(sizes[i]), total = GUINT32_TO_LE(sizes[i] + 36 + 100);
    memcpy(b.data + 4, &total, 4);
    memcpy(b.data + 40, &size, 4);
    store(in, b.data, b.size);
    g_autofree char *said =
        g_strdup_printf("%s: is cut off: %u bytes are missing; --allow-truncated uses the readable part", in,
                        sizes[i] - 1000);
    assert_copy_fails(&(copy_job){.in = in, .out = out, .dtype = -1}, FC_IO, said);
  }
  clear_bytes(&b);
}

/* A FLAC stream that was made for a pipe does not say how long it is: damaged, nevertheless. */
static void test_unknown_flac(void) {
  g_autofree char *in = scratch("uf.wav"), *whole = scratch("uf.flac"), *part = scratch("uf2.flac"),
                  *out = scratch("uf-out.wav");
  make_sound(in, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 44100, 2, 30000);
  pipe_out(in, "flac", TRUE, whole);
  bytes b = load(whole);
  g_assert_cmpmem(b.data + 22, 4, "\0\0\0\0", 4);
  for (gsize k = 1; k < 8; k++) {
    store(part, b.data, b.size * k / 8);
    assert_copy_fails(&(copy_job){.in = part, .out = out, .dtype = -1}, FC_IO, NULL);
  }
  clear_bytes(&b);
}

/* ---- headers by hand ---- */

static gsize place_of(const bytes *b, const char *id) {
  gsize at = 0;
  while (at + 4 <= b->size && memcmp(b->data + at, id, 4) != 0) at++;
  g_assert_cmpuint(at + 4, <=, b->size);
  return at;
}

static void put32(guint8 *to, gboolean big, guint32 value) {
  value = big ? GUINT32_TO_BE(value) : GUINT32_TO_LE(value);
  memcpy(to, &value, 4);
}

static void save_with_total(const char *path, GByteArray *file, gboolean big) {
  put32(file->data + 4, big, file->len - 8);
  g_assert_true(g_file_set_contents(path, (const char *)file->data, file->len, NULL));
}

/* What is behind samples whose last block is not whole is no part of it. */
static void test_text_behind_blocks(void) {
  static const int codecs[] = {SF_FORMAT_IMA_ADPCM, SF_FORMAT_MS_ADPCM, SF_FORMAT_GSM610, SF_FORMAT_G721_32,
                               SF_FORMAT_NMS_ADPCM_16};
  g_autofree char *whole = scratch("tb.wav"), *bare = scratch("tb-bare.wav"), *text = scratch("tb-text.wav"),
                  *want = scratch("tb-want.wav"), *got = scratch("tb-got.wav");
  for (gsize i = 0; i < G_N_ELEMENTS(codecs); i++) {
    make_sound(whole, SF_FORMAT_WAV | codecs[i], 8000, 1, 5000);
    bytes b = load(whole);
    gsize data = place_of(&b, "data");
    guint32 size = (guint32)(b.size - data - 8) / 2 * 2 - 24;
    g_autoptr(GByteArray) file = g_byte_array_new();
    g_byte_array_append(file, b.data, (guint)data + 8 + size);
    put32(file->data + data + 4, FALSE, size);
    save_with_total(bare, file, FALSE);
    guint8 list[8 + 4 + 8 + 200] = "LIST----INFOINAM";
    put32(list + 4, FALSE, sizeof list - 8);
    put32(list + 16, FALSE, 200);
    memset(list + 20, 'x', 199);
    g_byte_array_append(file, list, sizeof list);
    save_with_total(text, file, FALSE);
    assert_copies(bare, want);
    assert_copies(text, got);
    assert_same_sound(got, want);
    clear_bytes(&b);
  }
}

/* Headers that say where the samples are, or how many, in a way that libsndfile does not follow in a pipe. */
static void test_odd_headers_in_pipe(void) {
  g_autofree char *whole = scratch("oh.aiff"), *odd = scratch("oh-odd.aiff"), *out = scratch("oh-out.wav"),
                  *want = scratch("oh-want.wav"), *wav = scratch("oh.wav"), *never = scratch("oh-never.wav"),
                  *caf = scratch("oh.caf"), *endless = scratch("oh-endless.caf");
  static const guint8 filler[16] = "no samples yet..",
                      minus_one[8] = {0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff};
  make_sound(whole, SF_FORMAT_AIFF | SF_FORMAT_PCM_16, 48000, 2, 3000);
  assert_copies(whole, want);
  bytes b = load(whole);
  gsize ssnd = place_of(&b, "SSND");
  g_autoptr(GByteArray) file = g_byte_array_new();
  g_byte_array_append(file, b.data, (guint)ssnd + 16);
  g_byte_array_append(file, filler, sizeof filler);
  g_byte_array_append(file, b.data + ssnd + 16, (guint)(b.size - ssnd - 16));
  put32(file->data + ssnd + 4, TRUE, (guint32)(b.size - ssnd - 8 + sizeof filler));
  put32(file->data + ssnd + 8, TRUE, sizeof filler);
  save_with_total(odd, file, TRUE);
  pipe_in(odd, out, 3000);
  assert_same_sound(out, want);
  clear_bytes(&b);

  make_sound(wav, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 48000, 2, 3000);
  b = load(wav);
  put32(b.data + 4, FALSE, 0);
  put32(b.data + place_of(&b, "data") + 4, FALSE, 0);
  g_assert_true(g_file_set_contents(never, (const char *)b.data, (gssize)b.size, NULL));
  pipe_in(never, out, 3000);
  assert_same_sound(out, want);
  clear_bytes(&b);

  make_sound(caf, SF_FORMAT_CAF | SF_FORMAT_PCM_16, 48000, 2, 3000);
  b = load(caf);
  memcpy(b.data + place_of(&b, "data") + 4, minus_one, sizeof minus_one);
  g_assert_true(g_file_set_contents(endless, (const char *)b.data, (gssize)b.size, NULL));
  assert_copies(endless, out);
  assert_same_sound(out, want);
  clear_bytes(&b);
}

/* Of a sound that is whole in its samples what stood behind them may be gone: the header counts it. */
static void test_cut_behind(void) {
  g_autofree char *in = scratch("behind.wav"), *out = scratch("behind-out.wav");
  make_sound(in, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 8000, 1, 500);
  bytes b = load(in);
  guint32 total = GUINT32_TO_LE((guint32)b.size - 8 + 108);
  memcpy(b.data + 4, &total, 4);
  store(in, b.data, b.size);
  clear_bytes(&b);
  g_autofree char *said =
      g_strdup_printf("%s: is cut off: 108 bytes are missing; --allow-truncated uses the readable part", in);
  copy_job job = {.in = in, .out = out, .dtype = -1};
  assert_copy_fails(&job, FC_IO, said);
  job.options.allow_truncated = TRUE;
  g_assert_true(copy(&job, NULL));
}

/* ---- sizes -------------------------------------------------------------- */

/* What the header of a WAV file of so many frames says, without writing the samples. */
static void header_of(gint64 frames, int channels, guint8 to[128]) {
  int between[2];
  g_assert_cmpint(pipe(between), ==, 0);
  g_autofree char *path = g_strdup_printf("/dev/fd/%d", between[1]);
  GError *error = NULL;
  fc_output *output = fc_output_open(path, 0, &error);
  g_assert_no_error(error);
  fc_audio_spec spec = {.samples = {SF_FORMAT_WAV | SF_FORMAT_PCM_16, FC_I16, 16},
                        .rate = 48000,
                        .channels = channels,
                        .frames = frames};
  fc_encoder *encoder = fc_pcm_encoder_new("test", output, &spec, &error);
  g_assert_no_error(error);
  g_assert_true(fc_output_commit(output, &error));
  memset(to, 0, 128);
  g_assert_cmpint(read(between[0], to, 128), >=, 44);
  encoder->free(encoder);
  fc_output_free(output);
  close(between[0]);
  close(between[1]);
}

static guint64 little(const guint8 *at, int size) {
  guint64 value = 0;
  while (size--) value = value << 8 | at[size];
  return value;
}

/* A header that is final from the start is not left to stand over less than it says. */
static void test_less_than_was_said(void) {
  g_autofree char *path = scratch("less.wav");
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_output) output = fc_output_open(path, 0, &error);
  const fc_audio_spec spec = {
      .samples = {SF_FORMAT_WAV | SF_FORMAT_PCM_16, FC_I16, 16}, .rate = 48000, .channels = 1, .frames = 10};
  static const gint16 samples[9];
  fc_encoder *encoder = fc_pcm_encoder_new("less", output, &spec, &error);
  g_assert_true(encoder->write(encoder, samples, 9, &error));
  g_assert_false(encoder->finish(encoder, &error));
  g_assert_cmpstr(error->message, ==, "less: 9 frames arrived, expected 10");
  encoder->free(encoder);
}

/* Nobody knows yet whether it will be large: there is room for the sizes of RF64. */
static void test_room_when_unknown(void) {
  g_autofree char *in = scratch("room.wav"), *out = scratch("room-out.wav");
  make_sound(in, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 8000, 1, 100);
  copy_job job = {.in = in, .out = out, .dtype = -1, .hide_length = TRUE};
  g_assert_true(copy(&job, NULL));
  bytes b = load(out);
  g_assert_cmpmem(b.data, 4, "RIFF", 4);
  g_assert_cmpmem(b.data + 12, 8, "JUNK\x1c\0\0\0", 8);
  clear_bytes(&b);
}

/* What counts its bytes in 32 bits refuses more before anything is written. */
static void test_too_long(void) {
  static const char *const names[] = {"long.aiff", "long.au"};
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *path = scratch(names[i]);
    fc_format format = {.size = sizeof format,
                        .kind = FC_AUDIO,
                        .dtype = FC_I16,
                        .bits = 16,
                        .rate = 48000,
                        .extent = {1, 1, (gint64)1 << 30, 2}};
    g_autoptr(GError) error = NULL;
    const fc_media_options options = {0};
    fc_sink *sink = fc_media_create(path, &options, NULL, &error);
    g_assert_true(sink->accept(sink, &format, &error));
    g_assert_false(sink->begin(sink, &format, &error));
    g_assert_error(error, FC_ERROR, FC_INVALID);
    g_autofree char *said =
        g_strdup_printf("%s: would exceed the 4 GiB that its format holds; use .rf64, .w64 or .caf", path);
    g_assert_cmpstr(error->message, ==, said);
    sink->free(sink);
    g_assert_cmpuint(leftovers(), ==, 0);
  }
}

static void test_large_header(void) {
  guint8 header[128];
  header_of((gint64)1 << 30, 1, header); /* 2 GiB: plain */
  g_assert_cmpmem(header, 4, "RIFF", 4);
  g_assert_cmpuint(little(header + 4, 4), ==, ((guint64)1 << 31) + 36);
  g_assert_cmpuint(little(header + 40, 4), ==, (guint64)1 << 31);
  header_of(0x7fffffed, 1, header); /* the longest that is plain */
  g_assert_cmpmem(header, 4, "RIFF", 4);
  g_assert_cmpuint(little(header + 4, 4), ==, 0xfffffffe);
  header_of(0x7fffffee, 1, header);
  g_assert_cmpmem(header, 4, "RF64", 4);
  header_of((gint64)5 << 30, 2, header); /* 20 GiB */
  g_assert_cmpmem(header, 4, "RF64", 4);
  g_assert_cmpmem(header + 12, 4, "ds64", 4);
  g_assert_cmpuint(little(header + 4, 4), ==, 0xffffffff);
  g_assert_cmpuint(little(header + 28, 8), ==, (guint64)20 << 30);
  g_assert_cmpuint(little(header + 20, 8), ==, ((guint64)20 << 30) + 72);
  g_assert_cmpuint(little(header + 36, 8), ==, (guint64)5 << 30);
}

/* A file with holes stands for a long one. */
static void test_large_input(void) {
  static const gint64 frames[] = {((gint64)1 << 30) + 500, ((gint64)1 << 31) - 2000, (gint64)5 << 31};
  for (gsize i = 0; i < G_N_ELEMENTS(frames); i++) {
    guint8 header[128];
    g_autofree char *path = scratch("large.wav");
    header_of(frames[i], 1, header);
    gsize size = memcmp(header, "RF64", 4) == 0 ? 80 : 44;
    store(path, header, size);
    g_assert_cmpint(truncate(path, (off_t)size + frames[i] * 2), ==, 0);
    GError *error = NULL;
    fc_source *source = fc_media_open(path, NULL, &error);
    g_assert_no_error(error);
    g_assert_cmpint(source->format.extent[FC_AXIS_X], ==, frames[i]);
    source->free(source);
    g_assert_cmpint(truncate(path, (off_t)size + frames[i] * 2 - 2), ==, 0);
    g_assert_null(fc_media_open(path, NULL, &error));
    g_assert_error(error, FC_ERROR, FC_IO);
    g_clear_error(&error);
    g_remove(path);
  }
}

/* A WAV whose header says these sizes, of so many bytes. FALSE where such a file cannot be made. */
static gboolean store_large(const char *path, guint32 total, guint32 samples, gint64 size) {
  guint8 header[128];
  header_of(1000, 1, header);
  for (int i = 0; i < 4; i++)
    header[4 + i] = (guint8)(total >> 8 * i), header[40 + i] = (guint8)(samples >> 8 * i);
  store(path, header, 44);
  return truncate(path, size) == 0;
}

/* More than the sizes of WAV can say: its writer could not go back to them (ones as ffmpeg leaves, sox's 2
 * GiB, none at all); and as much as some of them say, which is valid. */
static void test_large_and_unfinished(void) {
  static const struct {
    guint32 total, samples;
    gint64 size, frames;
    const char *said;
  } files[] = {
      {0xffffffff, 0xffffffff, 44 + ((gint64)5 << 30), (gint64)5 << 29, NULL},
      {0, 0xffffffff, 44 + ((gint64)5 << 30), (gint64)5 << 29, NULL},
      {0, 0, 44 + ((gint64)5 << 30), (gint64)5 << 29, "does not say how long it is"},
      {0x7ffff024, 0x7ffff000, 44 + ((gint64)5 << 30), (gint64)5 << 29, "does not say how long it is"},
      {0x7ffff024, 0x7ffff000, 44 + 0x7ffff000, 0x7ffff000 / 2, NULL},
      {0x80000024, 0x80000000, 44 + 0x80000000ll, 0x80000000ll / 2, NULL},
      {0x7fffff24, 0x7fffff00, 44 + 0x7fffff00ll + 60000, 0x7fffff00 / 2, NULL},
      {0x7ffff088, 0x7ffff000, 44 + 0x7ffff000ll + 100, 0x7ffff000 / 2, NULL},
  };
  g_autofree char *path = scratch("large.wav");
  for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
    fc_media_options options = {.log = keep_line, .log_data = lines};
    if (!store_large(path, files[i].total, files[i].samples, files[i].size)) {
      g_test_skip("no file of 9 GiB can be made here");
      break;
    }
    GError *error = NULL;
    fc_source *source = fc_media_open(path, &options, &error);
    g_assert_no_error(error);
    g_assert_cmpint(source->format.extent[FC_AXIS_X], ==, files[i].frames);
    g_assert_cmpuint(lines->len, ==, files[i].said != NULL);
    if (files[i].said) g_assert_nonnull(strstr(lines->pdata[0], files[i].said));
    source->free(source);
  }
  g_remove(path);
}

/* ---- equal runs, numbers ------------------------------------------------ */

/* Two runs, more than a second apart, give the same bytes: no time, no random number. */
static void test_equal_runs(void) {
  static const char *const names[] = {"e.wav",  "e.aiff", "e.caf", "e.w64",
                                      "e.rf64", "e.au",   "e.ogg", "e.opus"};
  g_autofree char *in = scratch("equal.wav");
  make_sound(in, SF_FORMAT_WAV | SF_FORMAT_FLOAT, 48000, 2, 3000);
  for (int pass = 0; pass < 2; pass++) {
    for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
      g_autofree char *out = scratch(names[i]), *kept = g_strconcat(out, ".first", NULL);
      assert_copies(in, out);
      if (pass == 0)
        g_assert_cmpint(g_rename(out, kept), ==, 0);
      else
        assert_same_bytes(out, kept);
    }
    if (pass == 0) g_usleep(1100000);
  }
}

/* NaN has no place in integers and codecs; the message says where it is. */
static void test_nan(void) {
  g_autofree char *in = scratch("nan.wav"), *flac = scratch("nan.flac"), *ogg = scratch("nan.ogg"),
                  *wav = scratch("nan-out.wav");
  SF_INFO info = {.samplerate = 8000, .channels = 2, .format = SF_FORMAT_WAV | SF_FORMAT_FLOAT};
  float frames[2000] = {0};
  frames[2 * 567 + 1] = NAN;
  SNDFILE *file = sf_open(in, SFM_WRITE, &info);
  g_assert_cmpint(sf_writef_float(file, frames, 1000), ==, 1000);
  sf_close(file);
  g_autofree char *a = g_strdup_printf(
      "%s: sample 567 of channel 1 is not a number (NaN), which integers cannot hold; .npy can", flac);
  g_autofree char *b = g_strdup_printf(
      "%s: sample 567 of channel 1 is not a finite number, which Vorbis cannot hold; .npy can", ogg);
  assert_copy_fails(&(copy_job){.in = in, .out = flac, .dtype = FC_F32, .chunk = 100}, FC_IO, a);
  assert_copy_fails(&(copy_job){.in = in, .out = ogg, .dtype = FC_F32, .chunk = 100}, FC_IO, b);
  assert_copies(in, wav);
  assert_same_sound(in, wav);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  scratch_init();
  g_test_add_func("/media/audio/round-trip", test_round_trip);
  g_test_add_func("/media/audio/short", test_short);
  g_test_add_func("/media/audio/choices", test_choices);
  g_test_add_func("/media/audio/mp3", test_mp3);
  g_test_add_func("/media/audio/mp3-of-no-length", test_mp3_of_no_length);
  g_test_add_func("/media/audio/companded", test_companded);
  g_test_add_func("/media/audio/warns-of-loss", test_warns_of_loss);
  g_test_add_func("/media/audio/refusals", test_refusals);
  g_test_add_func("/media/audio/cut", test_cut);
  g_test_add_func("/media/audio/cut-in-pipe", test_cut_in_pipe);
  g_test_add_func("/media/audio/text-behind-blocks", test_text_behind_blocks);
  g_test_add_func("/media/audio/odd-headers-in-pipe", test_odd_headers_in_pipe);
  g_test_add_func("/media/audio/cut-behind", test_cut_behind);
  g_test_add_func("/media/audio/unknown-flac", test_unknown_flac);
  g_test_add_data_func("/media/audio/unfinished-header", GINT_TO_POINTER(SF_FORMAT_PCM_16),
                       test_unfinished_header);
  g_test_add_data_func("/media/audio/unfinished-header-of-bytes", GINT_TO_POINTER(SF_FORMAT_PCM_U8),
                       test_unfinished_header);
  g_test_add_func("/media/audio/sizes-like-unfinished", test_sizes_like_unfinished);
  g_test_add_func("/media/audio/less-than-was-said", test_less_than_was_said);
  g_test_add_func("/media/audio/room-when-unknown", test_room_when_unknown);
  g_test_add_func("/media/audio/too-long", test_too_long);
  g_test_add_func("/media/audio/large-header", test_large_header);
  g_test_add_func("/media/audio/large-input", test_large_input);
  g_test_add_func("/media/audio/large-and-unfinished", test_large_and_unfinished);
  g_test_add_func("/media/audio/pipe-in", test_pipe_in);
  g_test_add_func("/media/audio/pipe-out", test_pipe_out);
  g_test_add_func("/media/audio/equal-runs", test_equal_runs);
  g_test_add_func("/media/audio/nan", test_nan);
  int status = g_test_run();
  scratch_remove();
  return status;
}
