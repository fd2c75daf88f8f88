/* SPDX-License-Identifier: MIT */
/*
 * test_probe.c - what a file is, by content before name; and what is said of files that
 * are none of ours.
 */
#include <glib/gstdio.h>
#include <signal.h>
#include <sndfile.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "media/file/formats.h"
#include "tests/media/support.h"

#ifdef FC_WITH_WEBP
#define WEBP "webp, "
#else
#define WEBP ""
#endif
#ifdef FC_WITH_TIFF
#define TIFF "tiff, "
#else
#define TIFF ""
#endif
#define IMAGES  "png, jpg, " WEBP TIFF "bmp, tga, npy, raw"
#define READ    "supported are wav, rf64, w64, aiff, au, flac, caf, ogg, opus, mp3, " IMAGES
#define WRITTEN "wav, rf64, w64, aiff, au, flac, caf, ogg, opus, mp3, " IMAGES

static void assert_open_fails(const char *path, const fc_media_options *options, int code,
                              const char *message) {
  GError *error = NULL;
  g_autofree char *expected = g_strdup_printf("%s: %s", path, message);
  g_assert_false(can_read(path, options, &error));
  g_assert_error(error, FC_ERROR, code);
  g_assert_cmpstr(error->message, ==, expected);
  g_error_free(error);
}

static void assert_content_fails(const char *name, const char *content, int code, const char *message) {
  g_autofree char *path = scratch(name);
  store(path, content, strlen(content));
  assert_open_fails(path, NULL, code, message);
}

/* What is loaded whole is no more than a limit: of a file that is known at once, of a pipe by a byte more. */
static void test_load_limit(void) {
  static const guint8 content[5000];
  g_autofree char *path = scratch("five-thousand");
  gsize size = 0;
  store(path, content, sizeof content);
  for (int i = 0; i < 2; i++) {
    g_autoptr(fc_input) input = fc_input_open(path, NULL, NULL);
    g_autoptr(GError) error = NULL;
    g_autofree guint8 *data = fc_input_load(input, i ? 5000 : 4999, &size, &error);
    g_assert_cmpint(data != NULL, ==, i);
    if (i) continue;
    g_autofree char *said = g_strdup_printf("%s: holds 5000 bytes; the limit is 4999", path);
    g_assert_cmpstr(error->message, ==, said);
  }
  g_assert_cmpuint(size, ==, 5000);
  int between[2];
  guint8 rest[sizeof content];
  g_assert_cmpint(pipe(between), ==, 0);
  g_assert_cmpint(write(between[1], content, sizeof content), ==, sizeof content);
  close(between[1]);
  g_autofree char *name = g_strdup_printf("/dev/fd/%d", between[0]);
  g_autofree char *said = g_strdup_printf("%s: holds more than the limit of 1000 bytes", name);
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_input) input = fc_input_open(name, NULL, &error);
  g_assert_no_error(error);
  g_assert_null(fc_input_load(input, 1000, &size, &error));
  g_assert_cmpstr(error->message, ==, said);
  g_assert_cmpint(read(between[0], rest, sizeof rest), ==, 5000 - FC_INPUT_HEAD); /* might have had no end */
  close(between[0]);
}

/* Whoever shows what the library says need not look for what upsets a terminal in it. */
static void test_upsetting_name(void) {
  g_autoptr(GError) error = NULL;
  g_assert_false(can_read("/none/two\nlines\x1b[2J\xc2\x9b\x7f\xff.wav", NULL, &error));
  g_assert_cmpstr(error->message, ==,
                  "/none/two lines [2J   \xef\xbf\xbd.wav: cannot be opened: No such file or directory");
}

static void test_wrong_inputs(void) {
  g_autofree char *folder = scratch("folder"), *missing = scratch("missing.wav");
  g_assert_cmpint(g_mkdir(folder, 0755), ==, 0);
  assert_open_fails(missing, NULL, FC_IO, "cannot be opened: No such file or directory");
  assert_open_fails(folder, NULL, FC_IO, "is a directory; name a file in it");
  assert_open_fails("/dev/zero", NULL, FC_UNSUPPORTED, "is a device; name a file or pipe one in");
  assert_open_fails("/dev/null", NULL, FC_IO, "is empty");
  assert_content_fails("empty.wav", "", FC_IO, "is empty");
  assert_content_fails("text.wav", "hello, this is text\n", FC_IO, "is not a WAV file but text");
  assert_content_fails("text.png", "hello, this is text\n", FC_IO, "is not a PNG file but text");
  assert_content_fails("text.flac", "h\xc3\xa9llo", FC_IO, "is not a FLAC file but text");
  assert_content_fails("notes.txt", "hello\n", FC_UNSUPPORTED, "is text; " READ);
  assert_content_fails("noname", "\x01\x02\x03\x04", FC_UNSUPPORTED,
                       "has an unknown format; " READ
                       " (--in-format names one, which tga and raw need where no file name tells)");
  assert_content_fails("x.aiff", "\x01\x02\x03\x04", FC_IO,
                       "is not an AIFF file, nor of any other known format");
  assert_content_fails("film.wav", "1234ftypisom____", FC_IO,
                       "is not a WAV file but an MP4 or M4A file; extract its sound to WAV first");
  assert_content_fails("a.npy", "PK\x03\x04____", FC_IO,
                       "is not a .npy file but a ZIP archive (.npz?); save single arrays as .npy");
  assert_content_fails("s.oga", "OggS________________________\177FLAC", FC_IO,
                       "is not an Ogg file but FLAC in Ogg; convert it to FLAC");
  assert_content_fails("s.raw", "\x01\x02\x03\x04", FC_INVALID,
                       "raw samples need a layout, as in --raw dtype=f32,channels=2,rate=48000");
}

static guint open_descriptors(void) {
  guint count = 0;
  GDir *dir = g_dir_open("/proc/self/fd", 0, NULL);
  while (g_dir_read_name(dir)) count++;
  g_dir_close(dir);
  return count;
}

/* Headers that stop short of everything: one line each, whatever libsndfile says, and no
 * descriptor left open. */
static void test_stubs(void) {
  static const char *const stubs[] = {"RIFF\x10___WAVE",
                                      "RIFX\x10___WAVEfmt ",
                                      "RF64\xff\xff\xff\xffWAVEds64",
                                      "FORM____AIFFCOMM",
                                      "FORM____AIFC",
                                      ".snd",
                                      "dns.____",
                                      "fLaC",
                                      "fLaC\x80",
                                      "caff",
                                      "caff\x01\x01",
                                      "OggS",
                                      "ID3\x04",
                                      "\xff\xfb\x90",
                                      "riff\x2e\x91\xcf\x11",
                                      "\x89PNG\r\n\x1a\n",
                                      "\xff\xd8\xff\xe0",
                                      "BM",
                                      "BM____"};
  for (gsize i = 0; i < G_N_ELEMENTS(stubs); i++) {
    g_autofree char *path = scratch("stub");
    GError *error = NULL;
    store(path, stubs[i], strlen(stubs[i]));
    guint before = open_descriptors();
    g_assert_false(can_read(path, NULL, &error));
    g_assert_nonnull(error);
    g_assert_true(error->domain == FC_ERROR);
    g_assert_true(g_str_has_prefix(error->message, path));
    g_assert_null(strchr(error->message, '\n'));
    g_error_free(error);
    g_assert_cmpuint(open_descriptors(), ==, before);
  }
}

/* A WAV file that is called .flac is a WAV file. */
static void test_content_before_name(void) {
  g_autofree char *liar = scratch("liar.flac"), *out = scratch("truth.wav"), *bare = scratch("bare");
  make_sound(liar, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 8000, 1, 50);
  assert_copies(liar, out);
  assert_same_bytes(liar, out);
  make_sound(bare, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 8000, 1, 50);
  assert_copies(bare, out);
  assert_same_bytes(bare, out);
}

static void test_outputs(void) {
  g_autofree char *in = scratch("in.wav"), *odd = scratch("out.xyz"), *bare = scratch("out"),
                  *named = scratch("out2");
  make_sound(in, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 8000, 1, 50);
  g_autofree char *a = g_strdup_printf("%s: no format \"xyz\" to write: there are " WRITTEN, odd);
  g_autofree char *b = g_strdup_printf(
      "%s: has no extension to tell a format by: there are " WRITTEN " (or give --format)", bare);
  assert_copy_fails(&(copy_job){.in = in, .out = odd, .dtype = -1}, FC_INVALID, a);
  assert_copy_fails(&(copy_job){.in = in, .out = bare, .dtype = -1}, FC_INVALID, b);
  assert_copy_fails(&(copy_job){.in = in, .out = "-", .dtype = -1}, FC_INVALID,
                    "standard output: has no name to tell a format by; give --format (" WRITTEN ")");
  assert_copy_fails(&(copy_job){.in = in, .out = odd, .dtype = -1, .options.out_format = "gif"}, FC_INVALID,
                    "no format \"gif\" to write: there are " WRITTEN);
  copy_job job = {.in = in, .out = named, .dtype = -1, .options.out_format = "wav"};
  g_assert_true(copy(&job, NULL));
  assert_same_bytes(in, named);
}

static void test_named_input(void) {
  g_autofree char *in = scratch("named.wav");
  make_sound(in, SF_FORMAT_WAV | SF_FORMAT_PCM_16, 8000, 1, 50);
  GError *error = NULL;
  g_assert_false(can_read(in, &(fc_media_options){.in_format = "gif"}, &error));
  g_assert_error(error, FC_ERROR, FC_INVALID);
  g_error_free(error);
}

static gpointer feed_thread(gpointer data) {
  static const char much[300000] = {1};
  int fd = GPOINTER_TO_INT(data);
  for (gsize done = 0; done < sizeof much;) {
    gssize put = write(fd, much + done, sizeof much - done);
    if (put <= 0) break; /* the reader has seen enough */
    done += (gsize)put;
  }
  close(fd);
  return NULL;
}

/* A pipe without an end must not fill the disk before it is found too long. */
static void test_long_pipe(void) {
  int between[2];
  signal(SIGPIPE, SIG_IGN);
  g_assert_cmpint(pipe(between), ==, 0);
  GThread *thread = g_thread_new("feed", feed_thread, GINT_TO_POINTER(between[1]));
  g_autofree char *path = g_strdup_printf("/dev/fd/%d", between[0]);
  g_autoptr(GError) error = NULL;
  fc_input *input = fc_input_open(path, NULL, &error);
  g_assert_no_error(error);
  close(between[0]);
  gsize size = 0;
  g_assert_null(fc_input_load(input, 1000, &size, &error));
  g_autofree char *expected = g_strdup_printf("%s: holds more than the limit of 1000 bytes", path);
  g_assert_error(error, FC_ERROR, FC_UNSUPPORTED);
  g_assert_cmpstr(error->message, ==, expected);
  fc_input_free(input);
  g_thread_join(thread);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  scratch_init();
  g_test_add_func("/media/probe/load-limit", test_load_limit);
  g_test_add_func("/media/probe/upsetting-name", test_upsetting_name);
  g_test_add_func("/media/probe/wrong-inputs", test_wrong_inputs);
  g_test_add_func("/media/probe/stubs", test_stubs);
  g_test_add_func("/media/probe/content-before-name", test_content_before_name);
  g_test_add_func("/media/probe/outputs", test_outputs);
  g_test_add_func("/media/probe/named-input", test_named_input);
  g_test_add_func("/media/probe/long-pipe", test_long_pipe);
  int status = g_test_run();
  scratch_remove();
  return status;
}
