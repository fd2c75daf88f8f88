/* SPDX-License-Identifier: MIT */
/*
 * test_damage.c - files of every format we read, cut off at 100 places and with bytes
 * changed 1000 times, read in this process.
 *
 * A cut file is refused, or delivers all that the whole one does (what was cut was not
 * about samples). With allow_truncated it delivers no more than the whole one, what it
 * delivers of plain samples is the same, and less than all is said in a warning. A
 * changed file delivers something or is refused. Never is there more than one line,
 * more than MEMORY, or more than SECONDS for one file.
 *
 * Under a sanitizer or valgrind (FILTERCHAIN_TRIALS=few) every seventh trial is made, but with
 * FILTERCHAIN_TRIALS=all.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "media/file/formats.h"
#include "tests/media/support.h"

#include <sndfile.h>

#define CUTS    100
#define CHANGES 1000
#define SOME    7
#define SECONDS 100 /* a hundred times what the slowest takes: machines may be busy */
#define MEMORY  ((rlim_t)2 << 30)

/* Sanitizers map terabytes. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
#define SANITIZED 1
#elif defined(__has_feature)
#if __has_feature(address_sanitizer) || __has_feature(thread_sanitizer)
#define SANITIZED 1
#endif
#endif
#ifndef SANITIZED
#define SANITIZED 0
#endif

typedef struct kind {
  const char *name;
  int sound;      /* libsndfile's format; 0: no sound */
  gboolean exact; /* a prefix of the file holds a prefix of the samples */
  /* Cutting it off cannot be told: it ends where it ends. */
  gboolean endless;
  const char *raw; /* the layout of what has no header */
  gboolean tail;   /* what tells where things are stands at the end */
} kind;

static const kind kinds[] = {
    {"wav", SF_FORMAT_WAV | SF_FORMAT_PCM_16, TRUE, FALSE},
    {"rf64", SF_FORMAT_RF64 | SF_FORMAT_PCM_24, TRUE, FALSE},
    {"w64", SF_FORMAT_W64 | SF_FORMAT_FLOAT, TRUE, FALSE},
    {"aiff", SF_FORMAT_AIFF | SF_FORMAT_PCM_16, TRUE, FALSE},
    {"au", SF_FORMAT_AU | SF_FORMAT_PCM_16, TRUE, FALSE},
    {"caf", SF_FORMAT_CAF | SF_FORMAT_PCM_16, TRUE, FALSE},
    {"flac", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, TRUE, FALSE},
    {"ogg", SF_FORMAT_OGG | SF_FORMAT_VORBIS, FALSE, FALSE},
    {"opus", SF_FORMAT_OGG | SF_FORMAT_OPUS, FALSE, FALSE},
    {"mp3", FC_SF_MPEG | FC_SF_MPEG_LAYER_III, FALSE, TRUE},
    {"ima.wav", SF_FORMAT_WAV | SF_FORMAT_IMA_ADPCM, FALSE, FALSE},
    {"ms.wav", SF_FORMAT_WAV | SF_FORMAT_MS_ADPCM, FALSE, FALSE},
    {"gsm.wav", SF_FORMAT_WAV | SF_FORMAT_GSM610, FALSE, FALSE},
    {"g721.wav", SF_FORMAT_WAV | SF_FORMAT_G721_32, FALSE, FALSE},
    {"ima.aiff", SF_FORMAT_AIFF | SF_FORMAT_IMA_ADPCM, FALSE, FALSE},
    {"dwvw.aiff", SF_FORMAT_AIFF | SF_FORMAT_DWVW_16, FALSE, FALSE},
    {"g723.au", SF_FORMAT_AU | SF_FORMAT_G723_24, FALSE, FALSE},
    {"alac.caf", SF_FORMAT_CAF | SF_FORMAT_ALAC_16, FALSE, FALSE},
    {"big.wav", SF_ENDIAN_BIG | SF_FORMAT_WAV | SF_FORMAT_PCM_24, TRUE, FALSE},
    {"wide.wav", SF_FORMAT_WAVEX | SF_FORMAT_FLOAT, TRUE, FALSE},
    {"little.aiff", SF_ENDIAN_LITTLE | SF_FORMAT_AIFF | SF_FORMAT_PCM_16, TRUE, FALSE},
    {"little.au", SF_ENDIAN_LITTLE | SF_FORMAT_AU | SF_FORMAT_PCM_16, TRUE, FALSE},
    {"raw", SF_FORMAT_RAW | SF_FORMAT_PCM_16, TRUE, FALSE, "dtype=i16,channels=2,rate=44100,length=30000"},
    {"png", 0, FALSE, FALSE},
    {"jpg", 0, FALSE, FALSE},
#ifdef FC_WITH_WEBP
    {"webp", 0, FALSE, FALSE},
#endif
#ifdef FC_WITH_TIFF
    {"tiff", 0, FALSE, FALSE, NULL, TRUE},
#endif
    {"bmp", 0, FALSE, FALSE},
    {"tga", 0, FALSE, FALSE},
    {"npy", 0, TRUE, FALSE},
};

typedef struct tally {
  guint whole, part, refused;
} tally;

typedef struct sample {
  const kind *kind;
  char *path;
  bytes file;
  GArray *values; /* of the whole file */
  guint32 state;
} sample;

static guint step;

/* ---- files ------------------------------------------------------------- */

static void make_picture(const char *path, gboolean array) {
  fc_media_options options = {0};
  g_autoptr(GError) error = NULL;
  static guint8 pixels[24 * 31 * 3];
  guint32 state = 5;
  for (gsize i = 0; i < sizeof pixels; i++) pixels[i] = (guint8)(i / 3 + noise(&state) % 40);
  fc_format format = {.size = sizeof format,
                      .kind = array ? FC_ARRAY : FC_IMAGE,
                      .dtype = FC_U8,
                      .bits = 8,
                      .extent = {1, 24, 31, 3}};
  fc_view v = view_of(&format, pixels, 1);
  fc_sink *sink = fc_media_create(path, &options, NULL, &error);
  g_assert_no_error(error);
  g_assert_true(sink->accept(sink, &format, &error) && sink->begin(sink, &format, &error) &&
                sink->write(sink, &v, &error) && sink->commit(sink, &error));
  sink->free(sink);
}

/* FALSE where this libsndfile does not write the format. */
static gboolean make_file(sample *s) {
  g_autofree char *name = g_strdup_printf("damaged.%s", s->kind->name);
  s->path = scratch(name);
  SF_INFO info = {
      .samplerate = strcmp(s->kind->name, "opus") ? 44100 : 48000, .channels = 2, .format = s->kind->sound};
  if (s->kind->sound && !sf_format_check(&info)) info.channels = 1;
  if (!s->kind->sound)
    make_picture(s->path, strcmp(s->kind->name, "npy") == 0);
  else if (sf_format_check(&info))
    make_sound(s->path, info.format, info.samplerate, info.channels, 30000);
  else
    return FALSE;
  s->file = load(s->path);
  return TRUE;
}

/* ---- one trial --------------------------------------------------------- */

static gboolean too_large(const fc_format *f) {
  double elements = 1;
  for (int a = 0; a < FC_AXES; a++)
    if (a != (int)fc_stream_axis(f->kind)) elements *= (double)MAX(f->extent[a], 1);
  return elements > 1e6;
}

/* libsndfile prints what it thinks of a packet table on standard output, which is the test's own. */
static int hold_stdout(void) {
  fflush(stdout);
  int kept = dup(STDOUT_FILENO), nowhere = open("/dev/null", O_WRONLY | O_CLOEXEC);
  g_assert_cmpint(dup2(nowhere, STDOUT_FILENO), ==, STDOUT_FILENO);
  close(nowhere);
  return kept;
}

static void release_stdout(int kept) {
  fflush(stdout);
  g_assert_cmpint(dup2(kept, STDOUT_FILENO), ==, STDOUT_FILENO);
  close(kept);
}

/* What a file delivers, or NULL. `warnings` gets how many there were. */
static GArray *deliver(const sample *s, gboolean allow_truncated, guint *warnings) {
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(GError) error = NULL;
  fc_media_options options = {.allow_truncated = allow_truncated,
                              .max_pixels = 1 << 20,
                              .log = keep_line,
                              .log_data = lines,
                              .in_raw = s->kind->raw};
  int kept = hold_stdout();
  alarm(SECONDS);
  fc_source *source = open_media(s->path, &options, &error);
  /* What a whole image or array of that size costs is the executor's to bound. */
  gboolean worth_it = source && !too_large(&source->format);
  GArray *values = worth_it ? read_all(source, source->format.kind == FC_AUDIO ? 700 : 2, &error) : NULL;
  alarm(0);
  release_stdout(kept);
  g_assert_true(source || error);
  if (error) g_assert_null(strchr(error->message, '\n'));
  for (guint i = 0; i < lines->len; i++) g_assert_null(strchr(lines->pdata[i], '\n'));
  if (error && values) g_clear_pointer(&values, g_array_unref);
  if (source) source->free(source);
  *warnings = lines->len;
  return values;
}

static gboolean same_start(const GArray *part, const GArray *whole) {
  return !part->len || memcmp(part->data, whole->data, part->len * sizeof(double)) == 0;
}

static void count(tally *t, const GArray *got, const GArray *whole) {
  *(!got ? &t->refused : got->len < whole->len ? &t->part : &t->whole) += 1;
}

static void cut_at(sample *s, gsize size, tally *t) {
  guint warnings;
  store(s->path, s->file.data, size);
  g_autoptr(GArray) strict = deliver(s, FALSE, &warnings);
  if (strict && !s->kind->endless)
    g_assert_true(strict->len == s->values->len && same_start(strict, s->values));
  g_autoptr(GArray) loose = deliver(s, TRUE, &warnings);
  count(t, loose, s->values);
  if (!loose) return;
  g_assert_cmpuint(loose->len, <=, s->values->len);
  if (s->kind->exact && s->kind->sound) g_assert_true(same_start(loose, s->values));
  if (!strict) g_assert_cmpuint(warnings, >, 0);
}

static void change(sample *s, tally *t) {
  guint warnings;
  g_autofree guint8 *copy = g_malloc(s->file.size);
  memcpy(copy, s->file.data, s->file.size);
  /* Headers are where it matters. */
  gsize most = noise(&s->state) % 2 ? MIN(s->file.size, 200) : s->file.size;
  for (guint i = 0; i < 1 + noise(&s->state) % 4; i++)
    copy[noise(&s->state) % most] ^= (guint8)(1 + noise(&s->state) % 255);
  store(s->path, copy, s->file.size);
  g_autoptr(GArray) got = deliver(s, noise(&s->state) % 2, &warnings);
  count(t, got, s->values);
}

/* ---- one format -------------------------------------------------------- */

static void damage(gconstpointer data) {
  sample s = {.kind = data, .state = 1};
  tally cuts = {0}, changes = {0};
  guint warnings;
  if (!make_file(&s)) {
    g_test_skip("not written by this libsndfile");
    return;
  }
  s.values = deliver(&s, FALSE, &warnings);
  g_assert_nonnull(s.values);
  g_assert_cmpuint(warnings, ==, 0);
  for (guint i = 0; i < CUTS; i += step) cut_at(&s, (gsize)i * s.file.size / CUTS + (i > 0), &cuts);
  for (guint i = 0; i < CHANGES; i += step) change(&s, &changes);
  /* What is there is had: not all are refused. */
  g_assert_true(s.kind->tail || cuts.part + cuts.whole > 0);
  g_test_message("%s: cut: %u whole, %u in part, %u refused; changed: %u whole, %u in part, %u refused",
                 s.kind->name, cuts.whole, cuts.part, cuts.refused, changes.whole, changes.part,
                 changes.refused);
  g_array_unref(s.values);
  clear_bytes(&s.file);
  g_free(s.path);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  const char *trials = g_getenv("FILTERCHAIN_TRIALS");
  step = g_strcmp0(trials, "all") == 0 || (!trials && !SANITIZED) ? 1 : SOME;
  struct rlimit memory = {MEMORY, MEMORY};
  if (!SANITIZED) setrlimit(RLIMIT_AS, &memory);
  scratch_init();
  for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++) {
    g_autofree char *path = g_strdup_printf("/damage/%s", kinds[i].name);
    g_test_add_data_func(path, &kinds[i], damage);
  }
  int status = g_test_run();
  scratch_remove();
  return status;
}
