/* SPDX-License-Identifier: MIT */
/*
 * test_jpeg.c - JPEG files that lack something - tables, scans, components, the end - or are damaged.
 *
 * A file is put together from letters: Q and q are quantisation tables 0 and 1, D and A Huffman tables of
 * means and of the rest, with one code, F a frame of 8 x 8 pixels of three components, f one of which two
 * have one name, P a progressive one, S a scan of all, 1 to 3 of one of them, d of one twice, x of a fourth,
 * m of all means, a of the rest of the first, r what refines that, and E the end.
 */
#include <string.h>

#include "media/image/exif.h"
#include "media/image/image.h"
#include "tests/media/images.h"

static void put_segment(GByteArray *to, int marker, const void *data, gsize size) {
  put_big(to, 0xff00u | (guint)marker, 2);
  put_big(to, (guint32)size + 2, 2);
  g_byte_array_append(to, data, (guint)size);
}

static void put_table(GByteArray *to, int marker, guint8 name) {
  guint8 body[65] = {name, 1};
  memset(body + 1, 1, sizeof body - 1);
  if (marker == 0xc4) memset(body + 2, 0, 16); /* one code of one bit, of which zero is the meaning */
  put_segment(to, marker, body, marker == 0xc4 ? 18 : sizeof body);
}

static void put_frame(GByteArray *to, gboolean progressive, guint8 third, guint8 size_256) {
  const guint8 body[15] = {8, size_256, 8, size_256, 8, 3, 1, 0x11, 0, 2, 0x11, 0, third, 0x11, 0};
  put_segment(to, progressive ? 0xc2 : 0xc0, body, sizeof body);
}

/* Components of these names; their blocks are without any detail. */
static void put_scan(GByteArray *to, const char *names, guint8 first, guint8 last, guint8 bits) {
  guint8 body[12] = {(guint8)strlen(names)};
  gsize size = 1;
  for (; *names; names++) body[size++] = (guint8)(*names - '0'), body[size++] = 0;
  body[size++] = first, body[size++] = last, body[size++] = bits;
  put_segment(to, 0xda, body, size);
  g_byte_array_append(to, (const guint8 *)"\0", 1);
}

static GByteArray *make_jpeg(const char *parts) {
  static const guint8 many[17 + 257] = {0, 2, 255};
  GByteArray *to = g_byte_array_new();
  put_big(to, 0xffd8, 2);
  for (; *parts; parts++) switch (*parts) {
    case 'Q': put_table(to, 0xdb, 0); break;
    case 'q': put_table(to, 0xdb, 1); break;
    case 'D': put_table(to, 0xc4, 0); break;
    case 'A': put_table(to, 0xc4, 0x10); break;
    case 'F': put_frame(to, FALSE, 3, 0); break;
    case 'f': put_frame(to, FALSE, 2, 0); break;
    case 'P': put_frame(to, TRUE, 3, 0); break;
    case 'L': put_frame(to, FALSE, 3, 3); break;
    case 'b': put_segment(to, 0xc4, many, sizeof many); break;
    case 'S': put_scan(to, "123", 0, 63, 0); break;
    case 'd': put_scan(to, "11", 0, 63, 0); break;
    case 'x': put_scan(to, "4", 0, 63, 0); break;
    case 'm': put_scan(to, "123", 0, 0, 0); break;
    case 'a': put_scan(to, "1", 1, 63, 1); break;
    case 'r': put_scan(to, "1", 1, 63, 0x10); break;
    case 'E': put_big(to, 0xffd9, 2); break;
    default: put_scan(to, (const char[]){*parts, 0}, 0, 63, 0);
    }
  return to;
}

static void assert_grey(const char *path, gboolean allow_truncated) {
  fc_media_options options = {.allow_truncated = allow_truncated};
  g_autoptr(GArray) values = read_file(path, &options, NULL);
  g_assert_cmpuint(values->len, ==, 8 * 8 * 3);
  for (guint i = 0; i < values->len; i++) g_assert_cmpfloat(g_array_index(values, double, i), ==, 128);
}

static void test_whole(void) {
  static const char *const whole[] = {"QDAFSE", "FQADSE",   "QDAF123E", "QDAF1QADSE",
                                      "QDPmE",  "QDAPmarE", "QqDAFSE"};
  g_autofree char *path = scratch("whole.jpg");
  for (gsize i = 0; i < G_N_ELEMENTS(whole); i++) {
    g_autoptr(GByteArray) file = make_jpeg(whole[i]);
    store(path, file->data, file->len);
    assert_grey(path, FALSE);
  }
}

/* What libjpeg-turbo says of it, the header's reader or both: each is an error, and never a crash. */
static void test_what_lacks(void) {
  static const char *const lacking[] = {"QDAFE", "QDAE",   "QDASFE", "DAFSE", "qDAFSE",
                                        "QAPmE", "QDPmaE", "QDAFxE", "QDAF",  "QDAFbSE"};
  g_autofree char *path = scratch("lacks.jpg");
  for (gsize i = 0; i < G_N_ELEMENTS(lacking); i++) {
    g_autoptr(GByteArray) file = make_jpeg(lacking[i]);
    g_autoptr(GError) error = NULL;
    store(path, file->data, file->len);
    g_assert_false(can_read(path, NULL, &error));
    g_assert_error(error, FC_ERROR, FC_IO);
  }
}

/* Cut behind the first scan there is a picture, but for a cut within a table; without leave there is none. */
static void test_cut(void) {
  const fc_media_options lenient = {.allow_truncated = TRUE};
  guint taken = 0;
  g_autoptr(GByteArray) start = make_jpeg("QDAPm"), whole = make_jpeg("QDAPmADarE");
  g_autofree char *path = scratch("cut.jpg");
  for (guint size = start->len; size < whole->len; size++) {
    store(path, whole->data, size);
    if (can_read(path, &lenient, NULL)) assert_grey(path, TRUE), taken++;
    assert_open_fails(path, FC_IO,
                      "is cut off: the file ends before the image; --allow-truncated uses the readable part");
  }
  g_assert_cmpuint(taken, >, 10);
}

/* Three bits flipped within the coded data of photographs: the decoder notices most, and says so. */
static void test_flipped_bits(void) {
  enum { FILES = 60 };
  static const char header[] = "{'descr':'|u1','fortran_order':False,'shape':(80, 96, 3)}";
  g_autofree char *npy = scratch("f.npy"), *jpg = scratch("f.jpg");
  guint refused = 0, warned = 0;
  guint32 state = 11;
  for (int k = 0; k < FILES; k++) {
    static guint8 pixels[128 + 96 * 80 * 3];
    memset(pixels, ' ', 128);
    memcpy(pixels, "\x93NUMPY\x01\0\x76", 10);
    memcpy(pixels + 10, header, strlen(header));
    pixels[127] = '\n';
    for (gsize i = 128; i < sizeof pixels; i++) pixels[i] = (guint8)(i / 40 + noise(&state) % 60);
    store(npy, pixels, sizeof pixels);
    assert_copies(npy, jpg);
    bytes b = load(jpg);
    for (int n = 0; n < 3; n++)
      b.data[b.size / 2 + noise(&state) % (b.size / 2 - 2)] ^= (guint8)(1 << noise(&state) % 8);
    store(jpg, b.data, b.size);
    clear_bytes(&b);
    g_autoptr(GError) error = NULL;
    if (can_read(jpg, NULL, &error)) continue;
    g_assert_error(error, FC_ERROR, FC_IO);
    refused++;
    g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
    const fc_media_options lenient = {.allow_truncated = TRUE, .log = keep_line, .log_data = lines};
    if (can_read(jpg, &lenient, NULL)) warned += lines->len == 1;
  }
  g_test_message("%u of %d were refused, %u taken with a warning", refused, FILES, warned);
  g_assert_cmpuint(refused, >=, FILES / 3);
  g_assert_cmpuint(warned, >=, refused / 2);
}

static void put_exif(GByteArray *to, guint8 orientation, guint8 type) {
  guint8 exif[6 + 8 + 2 + 12 + 4] = "Exif\0\0MM\0*\0\0\0\x08\0\1\x01\x12";
  exif[19] = type;
  exif[23] = 1;
  exif[24 + (type == 4 ? 3 : type == 3 ? 1 : 0)] = orientation;
  put_segment(to, 0xe1, exif, sizeof exif);
}

/* The first that says it counts, whatever type its number has. */
static void test_orientation(void) {
  static const guint8 types[] = {1, 3, 4};
  g_autoptr(GByteArray) rest = make_jpeg("QDAFSE");
  for (gsize i = 0; i < G_N_ELEMENTS(types); i++) {
    g_autoptr(GByteArray) file = g_byte_array_new();
    put_big(file, 0xffd8, 2);
    put_exif(file, 6, types[i]);
    gsize size = file->len - 12;
    put_exif(file, 1, 3);
    g_byte_array_append(file, rest->data + 2, rest->len - 2);
    fc_image_header header;
    g_assert_true(fc_image_read_header("x", FC_IMAGE_JPEG, file->data, file->len, &header, NULL));
    g_assert_cmpint(header.orientation, ==, 6);
    guint8 *tiff = file->data + 2 + 4 + 6;
    fc_exif_set_upright(tiff, size);
    g_assert_cmpint(fc_exif_orientation(tiff, size), ==, 1);
    tiff[13] = 2; /* two of them, or text */
    g_assert_cmpint(fc_exif_orientation(tiff, size), ==, 1);
  }
}

int main(int argc, char **argv) {
  scratch_init();
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/media/jpeg/whole", test_whole);
  if (HAS_TURBOJPEG) g_test_add_func("/media/jpeg/what-lacks", test_what_lacks);
  if (HAS_TURBOJPEG) g_test_add_func("/media/jpeg/cut", test_cut);
  if (HAS_TURBOJPEG) g_test_add_func("/media/jpeg/flipped-bits", test_flipped_bits);
  g_test_add_func("/media/jpeg/orientation", test_orientation);
  int status = g_test_run();
  scratch_remove();
  return status;
}
