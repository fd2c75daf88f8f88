/* SPDX-License-Identifier: MIT */
/* test_other_images.c - WebP and TIFF, written and read: lossless ones bit for bit, of every form. */
#include <string.h>
#include <zlib.h>

#include "media/file/bytes.h"
#include "media/file/options.h"
#include "media/image/exif.h"
#include "tests/media/images.h"

#if defined(FC_WITH_WEBP) || defined(FC_WITH_TIFF)
enum { WIDTH = 61, HEIGHT = 37 };

/* Of smooth slopes and noise, so that lossy coding is near. */
static void make_image(const char *path, int channels, gboolean wide, guint32 amount) {
  g_autoptr(GString) header = g_string_new("\x93NUMPY\x01");
  const gsize size = wide ? 2 : 1;
  g_string_append_len(header, "\0\x76\0", 3);
  g_string_append_printf(header, "{'descr':'%s','fortran_order':False,'shape':(%d, %d, %d)}",
                         wide ? "<u2" : "|u1", HEIGHT, WIDTH, channels);
  while (header->len < 127) g_string_append_c(header, ' ');
  g_string_append_c(header, '\n');
  guint32 state = 3;
  for (int i = 0; i < HEIGHT * WIDTH * channels; i++) {
    const int pixel = i / channels;
    guint32 value =
        (guint32)(pixel % WIDTH + pixel / WIDTH * 2 + 40 * (i % channels)) + noise(&state) % amount;
    if (channels % 2 == 0 && i % channels == channels - 1) value = 255 - value % 100;
    if (wide) value = value * 256 + noise(&state) % 256;
    g_string_append_len(header, (const char *)&value, (gssize)size);
  }
  store(path, header->str, header->len);
}

/* The largest difference after a copy by way of such a file. */
static double difference(const char *in, const char *middle, const char *options) {
  g_autofree char *npy = scratch("back.npy"), *text = g_strconcat("x", options, NULL);
  fc_given_options *given;
  g_free(fc_given_options_parse(text, FALSE, &given, NULL));
  GError *error = NULL;
  const copy_job job = {
      .in = in, .out = middle, .options = {.out_options = given, .in_format = "npy"}, .dtype = -1};
  copy(&job, &error);
  fc_given_options_free(given);
  g_assert_no_error(error);
  fc_format before, after;
  g_autoptr(GArray) expected = read_file(in, NULL, &before), values = read_file(middle, NULL, &after);
  if (values->len != expected->len) return 1e9;
  double worst = 0;
  for (guint i = 0; i < values->len; i++)
    worst = MAX(worst, ABS(g_array_index(values, double, i) - g_array_index(expected, double, i)));
  return worst;
}

#ifdef FC_WITH_WEBP
static void test_webp(void) {
  g_autofree char *npy = scratch("w.npy"), *webp = scratch("w.webp");
  for (int channels = 3; channels <= 4; channels++) {
    make_image(npy, channels, FALSE, 30);
    g_assert_cmpfloat(difference(npy, webp, ":lossless"), ==, 0);
    make_image(npy, channels, FALSE, 2);
    const double lossy = difference(npy, webp, ":quality=95");
    g_assert_cmpfloat(lossy, >, 0);
    g_assert_cmpfloat(lossy, <, 30);
  }
}
#endif

#ifdef FC_WITH_TIFF
static void test_tiff(void) {
  static const char *const compressions[] = {":compression=none", ":compression=lzw", ""};
  g_autofree char *npy = scratch("t.npy"), *tiff = scratch("t.tiff");
  for (int channels = 1; channels <= 4; channels++)
    for (int wide = 0; wide < 2; wide++)
      for (gsize i = 0; i < G_N_ELEMENTS(compressions); i++) {
        make_image(npy, channels, wide, 100);
        g_assert_cmpfloat(difference(npy, tiff, compressions[i]), ==, 0);
      }
}

/* A strip or a directory that the file does not have: refused, or taken with a warning. */
static void test_cut_tiff(void) {
  g_autofree char *npy = scratch("ct.npy"), *tiff = scratch("ct.tiff");
  make_image(npy, 3, FALSE, 100);
  g_assert_cmpfloat(difference(npy, tiff, ":compression=none"), ==, 0);
  bytes b = load(tiff);
  for (gsize size = 0; size < b.size; size += 97) {
    store(tiff, b.data, size);
    g_autoptr(GError) error = NULL;
    g_assert_false(can_read(tiff, NULL, &error));
    g_assert_error(error, FC_ERROR, FC_IO);
  }
  clear_bytes(&b);
}

/* What libtiff would call damage, by name; and of more pages than one, that the others are left out. */
static void test_odd_tiff(void) {
  g_autofree char *npy = scratch("ot.npy"), *tiff = scratch("ot.tiff"), *png = scratch("ot.png");
  make_image(npy, 3, FALSE, 100);
  g_assert_cmpfloat(difference(npy, tiff, ":compression=none"), ==, 0);
  bytes b = load(tiff);
  fc_tiff_field bits, planes;
  g_assert_true(fc_tiff_find(b.data, b.size, 258, &bits) && fc_tiff_find(b.data, b.size, 284, &planes));
  g_assert_false(fc_tiff_has_more(b.data, b.size));
  const gsize directory = fc_little(b.data + 4, 4),
              next = directory + 2 + 12 * fc_little(b.data + directory, 2);
  b.data[next] = 8;
  store(tiff, b.data, b.size);
  assert_copy_says(tiff, png, "metadata of the input that is left out: further pictures");
  b.data[bits.at] = 32;
  store(tiff, b.data, b.size);
  g_autoptr(GError) error = NULL;
  g_assert_false(can_read(tiff, NULL, &error));
  g_assert_error(error, FC_ERROR, FC_UNSUPPORTED);
  g_clear_error(&error);
  b.data[bits.at] = 16;
  fc_put_little(b.data + planes.at - 8, 339, 2); /* another tag in its place, out of order */
  b.data[planes.at] = 3;
  store(tiff, b.data, b.size);
  g_assert_false(can_read(tiff, NULL, &error));
  g_assert_error(error, FC_ERROR, FC_UNSUPPORTED);
  clear_bytes(&b);
}

/* 11 x 9 pixels of one channel. */
static void store_grey_tiff(const char *path, int bits, int compression, int photometric, const void *data,
                            gsize size) {
  const gsize directory = 8 + (size + 1) / 2 * 2;
  const guint fields[][2] = {
      {256, 11}, {257, 9}, {258, (guint)bits}, {259, (guint)compression}, {262, (guint)photometric},
      {273, 8},  {277, 1}, {278, 9},           {279, (guint)size}};
  guint8 file[512] = "II*";
  file[4] = (guint8)directory;
  memcpy(file + 8, data, size);
  file[directory] = G_N_ELEMENTS(fields);
  for (gsize i = 0; i < G_N_ELEMENTS(fields); i++) {
    guint8 *at = file + directory + 2 + 12 * i;
    fc_put_little(at, fields[i][0], 2);
    fc_put_little(at + 2, 3, 2); /* a short */
    fc_put_little(at + 4, 1, 4);
    fc_put_little(at + 8, fields[i][1], 4);
  }
  store(path, file, directory + 2 + 12 * G_N_ELEMENTS(fields) + 4);
}

/* Pages of black and white and of grey are read as one channel: as they are, and as a fax (CCITT group 4;
 * what Pillow makes of this picture). */
static void test_grey_tiff(void) {
  static const char *const rows[] = {"         # ", "    # # # #", "  #   # #  ",
                                     " #  # # # #", "  # # # ###", "# # ## ## #",
                                     " # # ## ###", "# ### #####", "## ########"};
  static const char fax[] = "\x09\x4d\xa0\x40\x92\x50\x82\x1f\x69\x04\x17\xab\x0b\xe3\x08\x2e\xd0\x4a\xd2\x08"
                            "\x26\x10\xd2\x4c\x21\xd8\x21\x80\x08\x00\x80";
  g_autofree char *tiff = scratch("grey.tiff");
  for (int kind = 0; kind < 5; kind++) {
    const int bits = kind < 3 ? 1 : kind < 4 ? 4 : 8, step = (11 * bits + 7) / 8;
    const gboolean white = kind % 2 == 1; /* is 0 */
    guint8 data[9 * 11] = {0};
    for (int i = 0; i < 9 * 11 && kind; i++) {
      const int y = i / 11, x = i % 11, code = (rows[y][x] == '#') != white ? (1 << bits) - 1 : 0;
      data[y * step + x * bits / 8] |= (guint8)(code << (8 - bits - x * bits % 8));
    }
    store_grey_tiff(tiff, bits, kind ? 1 : 4, !white, kind ? (const void *)data : fax,
                    kind ? (gsize)(9 * step) : sizeof fax - 1);
    fc_format format;
    g_autoptr(GArray) values = read_file(tiff, NULL, &format);
    g_assert_cmpint(format.extent[FC_AXIS_C], ==, 1);
    g_assert_cmpuint(values->len, ==, 99);
    for (int i = 0; i < 99; i++)
      g_assert_cmpfloat(g_array_index(values, double, i), ==, (rows[i / 11][i % 11] == '#' ? 255 : 0));
  }
}
#endif

/* A PNG with a profile, XMP, EXIF, a comment and a density. */
static void make_rich_png(const char *npy, const char *path) {
  static const guint8 exif[] = "MM\0*\0\0\0\x08\0\x02\x01\x0f\0\x02\0\0\0\x04us!\0"
                               "\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0";
  g_autoptr(GByteArray) png = g_byte_array_new();
  guint8 packed[64] = "p\0";
  uLongf size = sizeof packed - 3;
  g_assert_cmpint(compress(packed + 3, &size, (const guint8 *)"a profile!", 10), ==, Z_OK);
  assert_copies(npy, path);
  bytes b = load(path);
  g_byte_array_append(png, b.data, 33);
  put_chunk(png, "pHYs", "\0\0\x0b\x13\0\0\x2e\x23\1", 9);
  put_chunk(png, "iCCP", packed, 3 + size);
  put_chunk(png, "iTXt", "XML:com.adobe.xmp\0\0\0\0\0<x:xmpmeta/>", 34);
  put_chunk(png, "tEXt", "Comment\0a comment", 17);
  put_chunk(png, "eXIf", exif, sizeof exif);
  g_byte_array_append(png, b.data + 33, (guint)b.size - 33);
  store(path, png->data, png->len);
  clear_bytes(&b);
}

/* What they have a place for comes through, upright; the rest is named. */
static void test_metadata(void) {
  static const char lost[] = "metadata of the input that is left out: ";
  g_autofree char *npy = scratch("m.npy"), *png = scratch("m.png");
  make_image(npy, 3, FALSE, 20);
  make_rich_png(npy, png);
#ifdef FC_WITH_WEBP
  g_autofree char *webp = scratch("m.webp"), *from_webp = scratch("mw.png");
  g_autofree char *of_webp = g_strconcat(lost, "comment, resolution", NULL);
  assert_copy_says(png, webp, of_webp);
  assert_copy_says(webp, from_webp, "");
  g_assert_true(contains(from_webp, "<x:xmpmeta/>", 12) && contains(from_webp, "iCCP", 4));
  g_assert_true(contains(from_webp, "eXIfMM\0*", 8));
#endif
#ifdef FC_WITH_TIFF
  g_autofree char *tiff = scratch("m.tiff"), *from_tiff = scratch("mt.png");
  for (int wide = 0; wide < 2; wide++) { /* samples too are in the byte order of the EXIF data */
    make_image(npy, 3, wide, 20);
    make_rich_png(npy, png);
    assert_copy_says(png, tiff, "");
    assert_copy_says(tiff, from_tiff, "");
    fc_format before, after;
    g_autoptr(GArray) expected = read_file(png, NULL, &before), values = read_file(tiff, NULL, &after);
    g_assert_cmpint(after.dtype, ==, wide ? FC_U16 : FC_U8);
    g_assert_cmpmem(values->data, values->len * sizeof(double), expected->data,
                    expected->len * sizeof(double));
  }
  g_assert_true(contains(tiff, "MM\0*", 4) && contains(from_tiff, "\x01\x0f\0\x02\0\0\0\x04us!\0", 12));
  g_assert_true(contains(from_tiff, "<x:xmpmeta/>", 12) && contains(from_tiff, "iCCP", 4));
  g_assert_true(contains(from_tiff, "Comment\0a comment", 17));
  g_assert_true(contains(from_tiff, "pHYs\0\0\x2e\x23\0\0\x0b\x13\1", 13)); /* turned */
#endif
}

#endif

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  scratch_init();
#ifdef FC_WITH_WEBP
  g_test_add_func("/media/webp/round-trip", test_webp);
#endif
#ifdef FC_WITH_TIFF
  g_test_add_func("/media/tiff/round-trip", test_tiff);
  g_test_add_func("/media/tiff/cut", test_cut_tiff);
  g_test_add_func("/media/tiff/odd", test_odd_tiff);
  g_test_add_func("/media/tiff/grey", test_grey_tiff);
#endif
#if defined(FC_WITH_WEBP) || defined(FC_WITH_TIFF)
  g_test_add_func("/media/other-images/metadata", test_metadata);
#endif
  int status = g_test_run();
  scratch_remove();
  return status;
}
