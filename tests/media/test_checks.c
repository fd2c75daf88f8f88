/* SPDX-License-Identifier: MIT */
/*
 * test_checks.c - what is looked at in memory before it is believed: the structure of images ahead of the
 * decoder, their orientation, and what a decoder says of the picture that it has made.
 */
#include <string.h>
#include <zlib.h>

#include "media/image/exif.h"
#include "media/image/decoder/child.h"
#include "tests/media/support.h"

static void assert_refused(fc_image_kind kind, const guint8 *file, gsize size, const char *sentence) {
  fc_image_header found;
  g_autoptr(GError) error = NULL;
  g_assert_false(fc_image_read_header("x", kind, file, size, &found, &error));
  g_assert_cmpstr(error->message, ==, sentence);
}

static void put_big(GByteArray *to, guint32 value, int size) {
  while (size--) g_byte_array_append(to, (const guint8[]){(guint8)(value >> 8 * size)}, 1);
}

/* A chunk with the right checksum, of which `said` is the length. */
static void put_chunk(GByteArray *to, const char *type, gsize size, guint32 said) {
  static const guint8 zeros[13] = {[3] = 5, [7] = 5, [8] = 8};
  put_big(to, said, 4);
  guint start = to->len;
  g_byte_array_append(to, (const guint8 *)type, 4);
  g_byte_array_append(to, zeros, (guint)size);
  put_big(to, (guint32)crc32(0, to->data + start, to->len - start), 4);
}

static void test_png_chunks(void) {
  static const struct {
    const char *first, *second, *sentence;
    guint32 said; /* the length of the second */
  } cases[] = {
      {"gAMA", "IHDR", "x: is damaged: no header at byte 8", 13},
      {"IHDR", "IDAT", "x: is damaged: a chunk of no sensible length at byte 33", 0x80000000},
      {"CgBI", "IHDR", "x: is Apple's own (CgBI) PNG, which is not decoded here; convert it to PNG", 13},
      {"IHDR", "gAMA", "x: holds no image data", 13}};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GByteArray) png = g_byte_array_new();
    g_byte_array_append(png, (const guint8 *)"\x89PNG\r\n\x1a\n", 8);
    put_chunk(png, cases[i].first, 13, 13);
    put_chunk(png, cases[i].second, 13, cases[i].said);
    put_chunk(png, "IEND", 0, 0);
    assert_refused(FC_IMAGE_PNG, png->data, png->len, cases[i].sentence);
  }
}

/* A byte of the header changed, of a BMP file of 5 x 5 pixels that is right; and of a TGA file, which has no
 * mark. */
static void test_headers(void) {
  static const struct {
    gsize at;
    guint8 value;
    const char *sentence;
  } changes[] = {{0, 'A', "x: is not a BMP file"},
                 {14, 12, "x: is a (not of Windows) BMP, which is not decoded here; convert it to PNG"},
                 {18, 0, "x: holds no pixels"},
                 {22, 0, "x: holds no pixels"},
                 {10, 53, "x: is damaged: its pixels begin within its header"},
                 {30, 1, "x: is a run-length coded BMP, which is not decoded here; convert it to PNG"},
                 {30, 6, "x: is an oddly coded BMP, which is not decoded here; convert it to PNG"}};
  static const guint8 senseless[][2] = {{1, 2}, {2, 0}, {2, 4}, {2, 34}, {12, 0}, {16, 12}};
  enum { SIZE = 54 + 5 * 16 };
  const guint8 bmp[SIZE] = {'B', 'M', [10] = 54, [14] = 40, [18] = 5, [22] = 5, [26] = 1, [28] = 24};
  const guint8 tga[SIZE] = {[2] = 2, [12] = 5, [14] = 5, [16] = 24};
  guint8 file[SIZE];
  fc_image_header found;
  g_assert_true(fc_image_read_header("x", FC_IMAGE_BMP, bmp, SIZE, &found, NULL) && !found.cut &&
                found.width == 5);
  g_assert_true(fc_image_read_header("x", FC_IMAGE_TGA, tga, SIZE, &found, NULL) && !found.cut &&
                found.width == 5);
  for (gsize i = 0; i < G_N_ELEMENTS(changes); i++) {
    memcpy(file, bmp, SIZE);
    file[changes[i].at] = changes[i].value;
    assert_refused(FC_IMAGE_BMP, file, SIZE, changes[i].sentence);
  }
  for (gsize i = 0; i < G_N_ELEMENTS(senseless); i++) {
    memcpy(file, tga, SIZE);
    file[senseless[i][0]] = senseless[i][1];
    assert_refused(FC_IMAGE_TGA, file, SIZE, "x: is not a TGA file, nor of any other known format");
  }
}

static void test_jpeg_segments(void) {
  static const guint8 none[] = {0xff, 0xd8, 0xff, 0xe1, 0, 1, 0xff, 0xd9},
                      stray[] = {0xff, 0xd8, 0, 0, 0xff, 0xd9}, empty[] = {0xff, 0xd8, 0xff, 0xd9, 0, 0},
                      scan[] = {0xff, 0xd8, 0xff, 0xda, 0, 2, 0, 0xff, 0xd9};
  assert_refused(FC_IMAGE_JPEG, none, sizeof none, "x: is damaged: a segment of no length at byte 4");
  assert_refused(FC_IMAGE_JPEG, stray, sizeof stray, "x: is damaged: no marker at byte 2");
  assert_refused(FC_IMAGE_JPEG, empty, sizeof empty, "x: holds no image data");
  assert_refused(FC_IMAGE_JPEG, scan, sizeof scan, "x: is damaged: a scan without a frame at byte 2");
}

/* What lies behind the entries that there are is none, however many there should be. */
static void test_exif_of_too_many(void) {
  guint8 exif[10 + 2 * 12] = "MM\0*\0\0\0\x08\xff\xff\x01\x0f\0\x03\0\0\0\1\0\7\0\0\x01\x12\0\3\0\0\0\1\0\6";
  g_assert_cmpint(fc_exif_orientation(exif, sizeof exif), ==, 6);
  for (gsize size = 0; size < sizeof exif; size++) g_assert_cmpint(fc_exif_orientation(exif, size), ==, 1);
  exif[4] = 0xff; /* where they begin */
  g_assert_cmpint(fc_exif_orientation(exif, sizeof exif), ==, 1);
}

/* A decoder that was taken over says what it likes: only a picture of the size expected that lies in the
 * memory shared with it is taken. */
static void test_lies(void) {
  enum { SIZE = FC_DECODE_REPORT_SIZE + 20 * 30 * 3 };
  static const fc_decode_report truth = {
      .done = 1, .decoded = 1, .width = 20, .height = 30, .channels = 3, .bits = 8};
  const fc_image_header header = {.width = 20, .height = 30, .orientation = 1};
  const fc_decode_wish strict = {.scale = 1}, lenient = {.scale = 1, .lenient = TRUE}, half = {.scale = 2};
  static _Alignas(16) char shared[SIZE];
  fc_picture picture;
  char *warning;
  memcpy(shared, &truth, sizeof truth);
  g_assert_true(fc_image_take_report("x", shared, SIZE, &header, &strict, &picture, &warning, NULL));
  g_assert_true((const char *)picture.pixels == shared + FC_DECODE_REPORT_SIZE && !warning);
  g_assert_false(fc_image_take_report("x", shared, SIZE, &header, &half, &picture, &warning, NULL));
  fc_decode_report lies[] = {truth, truth, truth, truth, truth, truth, truth, truth};
  lies[0].width = 21;
  lies[1].height = -30;
  lies[2].channels = 4; /* a row too many */
  lies[3].channels = 0;
  lies[4].channels = 5;
  lies[5].bits = 16; /* twice as much as there is */
  lies[6].bits = 4;
  lies[7].damage = FC_CUT_OFF;
  for (gsize i = 0; i < G_N_ELEMENTS(lies); i++) {
    g_autoptr(GError) error = NULL;
    memcpy(shared, &lies[i], sizeof truth);
    g_assert_false(fc_image_take_report("x", shared, SIZE, &header, &strict, &picture, &warning, &error));
    g_assert_error(error, FC_ERROR, FC_IO);
  }
  g_assert_true(fc_image_take_report("x", shared, SIZE, &header, &lenient, &picture, &warning, NULL));
  g_assert_cmpstr(warning, ==, "is cut off: the file ends before the image");
  g_free(warning);
  fc_decode_report words = {.done = 1, .damage = FC_CORRUPTED};
  memset(words.reason, '\n', sizeof words.reason); /* and no end */
  memcpy(words.reason, "\x1b[2J \xe2\x80\xae", 8); /* what a terminal obeys */
  memcpy(shared, &words, sizeof words);
  g_autoptr(GError) error = NULL;
  g_assert_false(fc_image_take_report("x", shared, SIZE, &header, &lenient, &picture, &warning, &error));
  g_assert_true(g_str_has_prefix(error->message, "x: is damaged: ?[2J ????"));
  g_assert_null(strchr(error->message, '\n'));
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/media/checks/png-chunks", test_png_chunks);
  g_test_add_func("/media/checks/headers", test_headers);
  g_test_add_func("/media/checks/jpeg-segments", test_jpeg_segments);
  g_test_add_func("/media/checks/exif-of-too-many", test_exif_of_too_many);
  g_test_add_func("/media/checks/lies", test_lies);
  return g_test_run();
}
