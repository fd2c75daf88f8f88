/* SPDX-License-Identifier: MIT */
/*
 * test_image.c - images in and out: pixels come through bit for bit, orientation is
 * applied, and no file, however made, gets further than an error.
 */
#include <glib/gstdio.h>
#include <string.h>
#include <zlib.h>

#include "media/file/blob.h"
#include "media/image/decoders.h"
#include "media/file/options.h"
#include "media/file/output.h"
#include "tests/media/images.h"

/* ---- files to read ------------------------------------------------------ */

/* A PNG of noise below smooth slopes, or a picture of so many colours, through fc_png_write,
 * which is held against stb_image's reader here and against other programs nowhere else. */
static void *pixels_of(gint64 width, gint64 height, int channels, int dtype) {
  gsize count = (gsize)(width * height * channels);
  guint32 state = 9;
  guint16 *wide = g_new(guint16, count + 1);
  for (gsize i = 0; i < count; i++) {
    guint32 value = (guint32)(i / (gsize)channels * 97) + (noise(&state) & 0xfff);
    if (dtype == FC_U16)
      wide[i] = (guint16)value;
    else
      ((guint8 *)wide)[i] = (guint8)(value >> 6);
  }
  return wide;
}

/* A few rows at a time: what is written does not depend on how many. */
static void write_png(const char *path, const fc_picture *picture) {
  const gint64 some = 7, row = picture->width * picture->channels * (gint64)fc_dtype_size(picture->dtype);
  GError *error = NULL;
  g_autoptr(fc_output) output = fc_output_open(path, 0, &error);
  g_assert_no_error(error);
  fc_png_writer *png = fc_png_begin(path, output, picture, 6, &(fc_blob){0}, &error);
  g_assert_no_error(error);
  for (gint64 y = 0; y < picture->height; y += some) {
    fc_png_write(png, (const char *)picture->pixels + y * row, MIN(some, picture->height - y), &error);
    g_assert_no_error(error);
  }
  fc_png_free(png);
  g_assert_true(fc_output_commit(output, &error));
}

static void make_png(const char *path, gint64 width, gint64 height, int channels, int dtype) {
  g_autofree void *pixels = pixels_of(width, height, channels, dtype);
  write_png(path,
            &(fc_picture){
                .width = width, .height = height, .channels = channels, .dtype = dtype, .pixels = pixels});
}

/* A PNG whose header says so and so, and that holds nothing else of use. */
static void make_bare_png(const char *path, guint32 width, guint32 height) {
  g_autoptr(GByteArray) png = g_byte_array_new(), header = g_byte_array_new();
  g_byte_array_append(png, (const guint8 *)"\x89PNG\r\n\x1a\n", 8);
  put_big(header, width, 4);
  put_big(header, height, 4);
  g_byte_array_append(header, (const guint8 *)"\x08\x02\0\0\0", 5);
  put_chunk(png, "IHDR", header->data, header->len);
  put_chunk(png, "IDAT", "\x78\x9c\x03\0\0\0\0\x01", 8);
  put_chunk(png, "IEND", NULL, 0);
  store(path, png->data, png->len);
}

/* ---- round trips --------------------------------------------------------- */

static void assert_pixels(const char *path, const void *pixels, const fc_picture *expected) {
  fc_format format;
  g_autoptr(GArray) values = read_file(path, NULL, &format);
  g_assert_cmpint(format.kind, ==, FC_IMAGE);
  g_assert_cmpint(format.extent[FC_AXIS_N], ==, 1);
  g_assert_cmpint(format.extent[FC_AXIS_Y], ==, expected->height);
  g_assert_cmpint(format.extent[FC_AXIS_X], ==, expected->width);
  g_assert_cmpint(format.extent[FC_AXIS_C], ==, expected->channels);
  g_assert_cmpint(format.dtype, ==, expected->dtype);
  for (guint i = 0; i < values->len; i++) {
    double pixel = expected->dtype == FC_U16 ? ((const guint16 *)pixels)[i] : ((const guint8 *)pixels)[i];
    g_assert_cmpfloat(g_array_index(values, double, i), ==, pixel);
  }
}

/* Every depth x channels x odd size, written by us and read by stb_image. */
static void test_png(void) {
  static const gint64 sizes[][2] = {{1, 1}, {1, 37}, {41, 1}, {64, 3}, {301, 127}, {1, 5000}};
  g_autofree char *path = scratch("a.png"), *again = scratch("b.png");
  for (gsize i = 0; i < G_N_ELEMENTS(sizes); i++)
    for (int channels = 1; channels <= 4; channels++)
      for (int dtype = FC_U8; dtype <= FC_U16; dtype += FC_U16 - FC_U8) {
        const fc_picture picture = {
            .width = sizes[i][0], .height = sizes[i][1], .channels = channels, .dtype = dtype};
        g_autofree void *pixels = pixels_of(picture.width, picture.height, channels, dtype);
        make_png(path, picture.width, picture.height, channels, dtype);
        assert_pixels(path, pixels, &picture);
        assert_copies(path, again);
        assert_same_bytes(path, again);
      }
}

/* A chain of floats goes back to the depth that came in. */
static void test_depth_kept(void) {
  g_autofree char *in = scratch("d.png"), *out = scratch("d-out.png");
  make_png(in, 50, 40, 3, FC_U16);
  copy_job job = {.in = in, .out = out, .dtype = FC_F32};
  GError *error = NULL;
  copy(&job, &error);
  g_assert_no_error(error);
  assert_same_bytes(in, out);
}

static void test_bmp_tga(void) {
  g_autofree char *png = scratch("c.png"), *bmp = scratch("c.bmp"), *tga = scratch("c.tga"),
                  *back = scratch("c-back.png");
  for (int channels = 1; channels <= 4; channels++) {
    make_png(png, 33, 20, channels, FC_U8);
    assert_copies(png, tga);
    assert_copies(tga, back);
    assert_same_bytes(png, back);
    if (channels < 3) continue;
    assert_copies(png, bmp);
    assert_copies(bmp, back);
    assert_same_bytes(png, back);
  }
}

static void test_jpeg(void) {
  g_autofree char *png = scratch("j.png"), *jpg = scratch("j.jpg");
  fc_format format;
  guint8 *smooth = g_new(guint8, 100 * 80 * 3);
  for (int i = 0; i < 100 * 80 * 3; i++) smooth[i] = (guint8)(i / 300 + (i / 3 % 100) + i % 3 * 20);
  write_png(png, &(fc_picture){.width = 100, .height = 80, .channels = 3, .dtype = FC_U8, .pixels = smooth});
  assert_copies(png, jpg);
  g_autoptr(GArray) values = read_file(jpg, NULL, &format);
  g_assert_cmpint(format.extent[FC_AXIS_X], ==, 100);
  double worst = 0;
  for (guint i = 0; i < values->len; i++)
    worst = MAX(worst, ABS(g_array_index(values, double, i) - smooth[i]));
  g_assert_cmpfloat(worst, <, 8);
  g_free(smooth);
}

static void test_refused_outputs(void) {
  g_autofree char *png = scratch("alpha.png"), *wav = scratch("no.wav");
  make_png(png, 10, 10, 4, FC_U8);
  g_autofree char *sentence =
      g_strdup_printf("%s: an image cannot be stored as sound; use .npy or .png", wav);
  assert_copy_fails(&(copy_job){.in = png, .out = wav, .dtype = -1}, FC_INVALID, sentence);
}

/* What a format does not hold is changed, and that is said, but not as a warning. */
static void test_narrowed_outputs(void) {
  static const char *const outs[] = {"n.jpg", "n.bmp", "n.tga"};
  g_autofree char *deep = scratch("deep.png"), *alpha = scratch("alpha.png"), *grey = scratch("grey.png");
  make_png(deep, 10, 10, 3, FC_U16);
  make_png(alpha, 10, 10, 4, FC_U8);
  make_png(grey, 10, 10, 2, FC_U8);
  for (gsize i = 0; i < G_N_ELEMENTS(outs); i++)
    for (int k = 0; k < 3; k++) {
      g_autofree char *out = scratch(outs[i]);
      g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
      const copy_job job = {.in = k == 0   ? deep
                                  : k == 1 ? alpha
                                           : grey,
                            .out = out,
                            .options = {.log = keep_line, .log_data = lines},
                            .dtype = -1};
      GError *error = NULL;
      copy(&job, &error);
      g_assert_no_error(error);
      const gboolean told = k == 0 || i == 0 || (k == 2 && i == 1);
      g_assert_cmpuint(lines->len, ==, told);
      if (told)
        g_assert_nonnull(strstr(lines->pdata[0], k ? "is flattened over a background of #FFFFFF"
                                                   : "holds 8 bits a sample: 16 bits are reduced to 8"));
    }
}

/* Half of red over blue, and all of it. */
static void test_background(void) {
  static const guint8 pixels[8] = {255, 0, 0, 128, 255, 0, 0, 255};
  g_autofree char *png = scratch("bg.png"), *bmp = scratch("bg.jpg");
  write_png(png, &(fc_picture){.width = 2, .height = 1, .channels = 4, .dtype = FC_U8, .pixels = pixels});
  fc_given_options *given;
  g_free(fc_given_options_parse("x:background=0000FF:quality=100", FALSE, &given, NULL));
  const copy_job job = {.in = png, .out = bmp, .options = {.out_options = given}, .dtype = -1};
  g_assert_true(copy(&job, NULL));
  fc_given_options_free(given);
  static const double expected[6] = {128, 0, 127, 255, 0, 0};
  g_autoptr(GArray) values = read_file(bmp, NULL, NULL);
  for (guint i = 0; i < 6; i++) g_assert_cmpfloat(ABS(g_array_index(values, double, i) - expected[i]), <=, 4);
}

/* 16 bits to 8 is a division by 257, rounded. */
static void test_narrowing(void) {
  guint16 pixels[256];
  for (int i = 0; i < 256; i++) pixels[i] = (guint16)(i * 257 + (i % 3 - 1) * 128);
  pixels[0] = 128, pixels[255] = 65535 - 128;
  g_autofree char *png = scratch("nr.png"), *tga = scratch("nr.tga");
  write_png(png, &(fc_picture){.width = 256, .height = 1, .channels = 1, .dtype = FC_U16, .pixels = pixels});
  assert_copies(png, tga);
  g_autoptr(GArray) values = read_file(tga, NULL, NULL);
  for (guint i = 0; i < 256; i++) g_assert_cmpfloat(g_array_index(values, double, i), ==, i);
}

/* ---- orientation --------------------------------------------------------- */

/* The eight pictures that EXIF distinguishes, of an upright one of 3 x 2:
 *   1 2 3
 *   4 5 6  */
static const struct {
  gint64 width;
  guint8 stored[6];
} turned[] = {{3, {1, 2, 3, 4, 5, 6}}, {3, {3, 2, 1, 6, 5, 4}}, {3, {6, 5, 4, 3, 2, 1}},
              {3, {4, 5, 6, 1, 2, 3}}, {2, {1, 4, 2, 5, 3, 6}}, {2, {3, 6, 2, 5, 1, 4}},
              {2, {6, 3, 5, 2, 4, 1}}, {2, {4, 1, 5, 2, 6, 3}}};

static gsize exif_of(int orientation, gboolean big, guint8 *to) {
  static const guint8 little_endian[] = "II*\0\x08\0\0\0\x01\0\x12\x01\x03\0\x01\0\0\0\0\0\0\0";
  static const guint8 big_endian[] = "MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\0\0\0";
  memcpy(to, big ? big_endian : little_endian, 22);
  to[big ? 19 : 18] = (guint8)orientation;
  return 22;
}

/* A PNG with an eXIf chunk behind its header. */
static void insert_exif(const char *path, int orientation, gboolean big) {
  bytes b = load(path);
  guint8 exif[32];
  gsize size = exif_of(orientation, big, exif);
  g_autoptr(GByteArray) png = g_byte_array_new();
  g_byte_array_append(png, b.data, 33);
  put_chunk(png, "eXIf", exif, size);
  g_byte_array_append(png, b.data + 33, (guint)b.size - 33);
  store(path, png->data, png->len);
  clear_bytes(&b);
}

static void test_orientation_png(void) {
  g_autofree char *path = scratch("o.png");
  for (int orientation = 1; orientation <= 8; orientation++)
    for (int big = 0; big < 2; big++) {
      fc_format format;
      gint64 width = turned[orientation - 1].width;
      write_png(path, &(fc_picture){.width = width,
                                    .height = 6 / width,
                                    .channels = 1,
                                    .dtype = FC_U8,
                                    .pixels = turned[orientation - 1].stored});
      insert_exif(path, orientation, big);
      g_autoptr(GArray) values = read_file(path, NULL, &format);
      g_assert_cmpint(format.extent[FC_AXIS_X], ==, 3);
      g_assert_cmpint(format.extent[FC_AXIS_Y], ==, 2);
      for (int i = 0; i < 6; i++) g_assert_cmpfloat(g_array_index(values, double, i), ==, i + 1);
    }
}

/* In a JPEG, in an APP1 segment: one corner is light. */
static void test_orientation_jpeg(void) {
  static const int corners[][2] = {{0, 0}, {31, 0}, {31, 15}, {0, 15}, {0, 0}, {15, 0}, {15, 31}, {0, 31}};
  g_autofree char *png = scratch("oj.png"), *jpg = scratch("oj.jpg");
  guint8 pixels[32 * 16] = {0};
  for (int y = 0; y < 8; y++) memset(pixels + y * 32, 255, 8);
  write_png(png, &(fc_picture){.width = 32, .height = 16, .channels = 1, .dtype = FC_U8, .pixels = pixels});
  assert_copies(png, jpg);
  bytes b = load(jpg);
  for (int orientation = 1; orientation <= 8; orientation++) {
    guint8 exif[32];
    gsize size = exif_of(orientation, orientation & 1, exif);
    g_autoptr(GByteArray) turned_jpg = g_byte_array_new();
    g_byte_array_append(turned_jpg, b.data, 2);
    put_big(turned_jpg, 0xffe1, 2);
    put_big(turned_jpg, (guint32)size + 8, 2);
    g_byte_array_append(turned_jpg, (const guint8 *)"Exif\0\0", 6);
    g_byte_array_append(turned_jpg, exif, (guint)size);
    g_byte_array_append(turned_jpg, b.data + 2, (guint)b.size - 2);
    store(jpg, turned_jpg->data, turned_jpg->len);
    fc_format format;
    g_autoptr(GArray) values = read_file(jpg, NULL, &format);
    gint64 width = format.extent[FC_AXIS_X];
    g_assert_cmpint(width, ==, orientation >= 5 ? 16 : 32);
    for (int k = 0; k < 4; k++) {
      gint64 x = k & 1 ? width - 1 : 0, y = k & 2 ? format.extent[FC_AXIS_Y] - 1 : 0;
      gboolean light = x == corners[orientation - 1][0] && y == corners[orientation - 1][1];
      g_assert_cmpint(
          g_array_index(values, double, (guint)(y * width + x) * (guint)format.extent[FC_AXIS_C]) > 128, ==,
          light);
    }
  }
  clear_bytes(&b);
}

/* ---- metadata ------------------------------------------------------------- */

/* Profile, texts and EXIF of a PNG are in the next PNG, EXIF also in a JPEG; its
 * orientation is upright, as the pixels now are. */
static void test_png_metadata(void) {
  static const char *const kept[] = {"zTXt", "gAMA", "cHRM", "sRGB", "cICP", "iTXt"};
  g_autofree char *in = scratch("m.png"), *out = scratch("m2.png"), *jpg = scratch("m.jpg"),
                  *grey = scratch("m3.png");
  make_png(in, 8, 6, 3, FC_U8);
  bytes b = load(in);
  g_autoptr(GByteArray) png = g_byte_array_new();
  guint8 exif[32], upright[32];
  gsize size = exif_of(6, FALSE, exif);
  exif_of(1, FALSE, upright);
  g_byte_array_append(png, b.data, 33);
  put_chunk(png, "iCCP", "name\0\0not even packed", 22);
  put_chunk(png, "tEXt", "Title\0of the image", 18);
  for (gsize i = 0; i < G_N_ELEMENTS(kept); i++) put_chunk(png, kept[i], "a chunk", i + 1);
  put_chunk(png, "eXIf", exif, size);
  put_chunk(png, "tIME", "1234567", 7);
  put_chunk(png, "pHYs", "\0\0\x16\x26\0\0\x0b\x13\1", 9);
  g_byte_array_append(png, b.data + 33, (guint)b.size - 33);
  store(in, png->data, png->len);
  clear_bytes(&b);
  assert_copies(in, out);
  g_assert_true(contains(out, "iCCPname\0\0not even packed", 26));
  g_assert_true(contains(out, "tEXtTitle\0of the image", 22));
  for (gsize i = 0; i < G_N_ELEMENTS(kept); i++) {
    g_autofree char *chunk = g_strdup_printf("%s%.*s", kept[i], (int)i + 1, "a chunk");
    g_assert_true(contains(out, chunk, strlen(chunk)));
  }
  g_assert_true(contains(out, upright, size));
  g_assert_true(contains(out, "pHYs\0\0\x0b\x13\0\0\x16\x26\1", 13)); /* turned, as the pixels */
  g_assert_false(contains(out, "tIME", 4));
  assert_copies(out, grey); /* it reads well, and is not turned again */
  assert_same_bytes(out, grey);
  assert_copies(in, jpg);
  g_assert_true(contains(jpg, upright + 10, 12) && contains(jpg, "of the image", 13)); /* a text of it too */
  g_assert_false(contains(jpg, exif + 10, 12));
}

static void test_jpeg_metadata(void) {
  g_autofree char *png = scratch("mj.png"), *jpg = scratch("mj.jpg"), *out = scratch("mj2.jpg"),
                  *back = scratch("mj2.png");
  static const guint8 segments[] = "\xff\xe1\0\x23http://ns.adobe.com/xap/1.0/\0<x/>"
                                   "\xff\xe2\0\x18ICC_PROFILE\0\x01\x01profile!"
                                   "\xff\xfe\0\x07"
                                   "hello";
  gsize size = sizeof segments - 1;
  make_png(png, 16, 16, 3, FC_U8);
  assert_copies(png, jpg);
  bytes b = load(jpg);
  g_autoptr(GByteArray) rich = g_byte_array_new();
  g_byte_array_append(rich, b.data, 20);
  g_byte_array_append(rich, segments, (guint)size);
  g_byte_array_append(rich, b.data + 20, (guint)b.size - 20);
  store(jpg, rich->data, rich->len);
  clear_bytes(&b);
  assert_copies(jpg, out);
  g_assert_true(contains(out, segments, 37));
  g_assert_true(contains(out, segments + 37, 26));
  g_assert_true(contains(out, segments + 63, 9));
  fc_format format;
  g_array_unref(read_file(out, NULL, &format));
  assert_copies(jpg, back);
  bytes c = load(back);
  const guint8 *profile = memmem(c.data, c.size, "iCCPICC profile\0", 17);
  g_assert_nonnull(profile);
  guint8 unpacked[64];
  uLongf length = sizeof unpacked;
  g_assert_cmpint(uncompress(unpacked, &length, profile + 17, profile[-1] - 13), ==, Z_OK);
  g_assert_cmpmem(unpacked, length, "profile!", 8);
  clear_bytes(&c);
  g_assert_true(contains(back, "iTXtXML:com.adobe.xmp\0\0\0\0\0<x/>", 30));
  g_assert_true(contains(back, "tEXtComment\0hello", 17));
}

/* A PNG of our making with these chunks behind its header. */
static void store_with_chunks(const char *path, int channels, const GByteArray *chunks) {
  make_png(path, 8, 6, channels, FC_U8);
  bytes b = load(path);
  g_autoptr(GByteArray) png = g_byte_array_new();
  g_byte_array_append(png, b.data, 33);
  g_byte_array_append(png, chunks->data, chunks->len);
  g_byte_array_append(png, b.data + 33, (guint)b.size - 33);
  store(path, png->data, png->len);
  clear_bytes(&b);
}

static void put_packed(GByteArray *to, const char *type, const char *head, gsize head_size, const void *data,
                       gsize size) {
  guint8 body[1024];
  uLongf packed = sizeof body - head_size;
  memcpy(body, head, head_size);
  g_assert_cmpint(compress(body + head_size, &packed, data, size), ==, Z_OK);
  put_chunk(to, type, body, head_size + packed);
}

/* A profile of many segments, XMP, EXIF, a comment and the resolution of a PNG are in the JPEG, and from
 * there in a PNG again; what one of them has no place for is told. */
static void test_png_to_jpeg(void) {
  g_autofree char *png = scratch("pj.png"), *jpg = scratch("pj.jpg"), *back = scratch("pj2.png"),
                  *again = scratch("pj3.png"), *third = scratch("pj4.png");
  g_autofree guint8 *profile = g_malloc(70000), *packed = g_malloc(80000);
  guint8 exif[32];
  guint32 state = 3;
  uLongf size = 79990;
  for (gsize i = 0; i < 70000; i++) profile[i] = (guint8)noise(&state);
  memcpy(packed, "any name\0", 10);
  g_assert_cmpint(compress(packed + 10, &size, profile, 70000), ==, Z_OK);
  g_autoptr(GByteArray) chunks = g_byte_array_new();
  put_chunk(chunks, "iCCP", packed, 10 + size);
  put_chunk(chunks, "pHYs", "\0\0\x0b\x13\0\0\x2e\x23\1", 9);
  put_chunk(chunks, "eXIf", exif, exif_of(1, TRUE, exif));
  put_packed(chunks, "iTXt", "XML:com.adobe.xmp\0\1\0en\0\0", 24, "<xmp/>", 6);
  put_packed(chunks, "zTXt", "Comment\0", 9, "a comment", 9);
  put_chunk(chunks, "tEXt", "date:create\0now", 15);
  store_with_chunks(png, 3, chunks);
  assert_copy_says(png, jpg, "");
  g_assert_true(contains(jpg, "JFIF\0\1\1\1\0\x48\1\x2c", 12)); /* 72 and 300 to the inch */
  g_assert_true(contains(jpg, "\xff\xe2\xff\xffICC_PROFILE\0\1\2", 18));
  g_assert_true(contains(jpg, "ICC_PROFILE\0\2\2", 14));
  g_assert_true(contains(jpg, "\xff\xe1\0\x25http://ns.adobe.com/xap/1.0/\0<xmp/>", 39));
  g_assert_true(contains(jpg,
                         "\xff\xfe\0\x0b"
                         "a comment",
                         13));
  assert_copy_says(jpg, back, "");
  g_assert_true(contains(back, "pHYs\0\0\x0b\x13\0\0\x2e\x23\1", 13));
  g_assert_true(contains(back, exif, 22));
  assert_copy_says(back, again, "");
  assert_same_bytes(back, again);
  assert_copies(back, jpg);
  assert_copies(jpg, third);
  bytes a = load(back), b = load(third);
  g_assert_cmpmem(a.data + 33, 70000, b.data + 33, 70000);
  clear_bytes(&a);
  clear_bytes(&b);
}

/* What has no place is named, in one warning. */
static void test_lost_metadata(void) {
  static const char lost[] = "metadata of the input that is left out: %s";
  static const char iptc[] = "\xff\xed\0\x12Photoshop 3.0\0xy";
  g_autofree char *png = scratch("l.png"), *jpg = scratch("l.jpg"), *bmp = scratch("l.bmp"),
                  *tga = scratch("l.tga"), *out = scratch("l2.png");
  g_autoptr(GByteArray) chunks = g_byte_array_new();
  put_packed(chunks, "iCCP", "\0", 2, "profile", 7);
  put_chunk(chunks, "tEXt", "Mood\0of the image", 17);
  put_chunk(chunks, "gAMA", "\0\1\x86\xa0", 4);
  put_chunk(chunks, "pHYs", "\0\0\x0b\x13\0\0\x0b\x13\1", 9);
  store_with_chunks(png, 3, chunks);
  const struct {
    const char *in, *out, *words;
  } cases[] = {{png, jpg, "texts"},
               {png, bmp, "texts, colour profile"},
               {png, tga, "texts, colour profile, resolution"}};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *expected = g_strdup_printf(lost, cases[i].words);
    assert_copy_says(cases[i].in, cases[i].out, expected);
  }
  g_assert_true(contains(bmp, "\x13\x0b\0\0\x13\x0b\0\0", 8));
  assert_copy_says(bmp, out, "");
  g_assert_true(contains(out, "pHYs\0\0\x0b\x13\0\0\x0b\x13\1", 13));
  bytes b = load(jpg);
  g_autoptr(GByteArray) rich = g_byte_array_new();
  g_byte_array_append(rich, b.data, 20);
  g_byte_array_append(rich, (const guint8 *)iptc, sizeof iptc - 1);
  g_byte_array_append(rich, (const guint8 *)"\xff\xe2\0\x06MPF", 8);
  g_byte_array_append(rich, b.data + 20, (guint)b.size - 20);
  store(jpg, rich->data, rich->len);
  clear_bytes(&b);
  g_autofree char *expected = g_strdup_printf(lost, "IPTC, further pictures");
  assert_copy_says(jpg, out, expected);
}

/* A name that is a piece of another one is a name too. */
static void test_names_of_what_is_lost(void) {
  g_autofree char *png = scratch("n.png"), *jpg = scratch("n.jpg"), *out = scratch("n2.png");
  make_png(png, 8, 6, 3, FC_U8);
  assert_copies(png, jpg);
  bytes b = load(jpg);
  g_autoptr(GByteArray) rich = g_byte_array_new();
  g_byte_array_append(rich, b.data, 20);
  g_byte_array_append(rich, (const guint8 *)"\xff\xeb\0\4xy\xff\xe1\0\4xy", 12);
  g_byte_array_append(rich, b.data + 20, (guint)b.size - 20);
  store(jpg, rich->data, rich->len);
  clear_bytes(&b);
  assert_copy_says(jpg, out, "metadata of the input that is left out: APP11, APP1");
}

/* Grey stays grey in JPEG, and keeps its profile; in colour, as by a matrix of channels, it would be wrong.
 */
static void test_profile_of_grey(void) {
  static const char grey[] = "................GRAY....";
  g_autofree char *png = scratch("pg.png"), *jpg = scratch("pg.jpg"), *back = scratch("pg2.png");
  g_autoptr(GByteArray) chunks = g_byte_array_new();
  put_packed(chunks, "iCCP", "\0", 2, grey, 24);
  store_with_chunks(png, 1, chunks);
  assert_copy_says(png, back, "");
  assert_copy_says(png, jpg, "");
  g_assert_true(contains(jpg, "ICC_PROFILE\0\1\1................GRAY", 34));
}

/* What is packed can be anything: damaged, or without an end. */
static void test_packed_metadata(void) {
  static const char lost[] = "metadata of the input that is left out: ";
  g_autofree char *png = scratch("pk.png"), *jpg = scratch("pk.jpg"), *said = NULL, *told = NULL;
  g_autofree guint8 *zeros = g_malloc0(40 << 20), *packed = g_malloc(100000);
  uLongf size = 100000 - 2;
  memset(packed, 0, 2);
  g_assert_cmpint(compress(packed + 2, &size, zeros, 40 << 20), ==, Z_OK);
  g_autoptr(GByteArray) chunks = g_byte_array_new();
  put_chunk(chunks, "iCCP", packed, size + 2);
  store_with_chunks(png, 3, chunks);
  said = copy_saying(png, jpg);
  g_assert_cmpstr(said + sizeof lost - 1, ==, "colour profile");
  g_byte_array_set_size(chunks, 0);
  put_chunk(chunks, "iCCP", "no end", 6);
  put_chunk(chunks, "zTXt", "Comment\0\0garbage", 16);
  put_chunk(chunks, "iTXt", "XML:com.adobe.xmp\0\1", 19);
  store_with_chunks(png, 3, chunks);
  told = copy_saying(png, jpg);
  g_assert_cmpstr(told + sizeof lost - 1, ==, "colour profile, comment, XMP");
}

/* ---- hostile and damaged files ------------------------------------------- */

static void test_too_large(void) {
  g_autofree char *path = scratch("large.png");
  make_bare_png(path, 30000, 30000);
  gint64 start = g_get_monotonic_time();
  assert_open_fails(path, FC_UNSUPPORTED,
                    "30000 x 30000 pixels are more than the limit of 268435456 (--max-pixels sets it)");
  make_bare_png(path, 2000000, 10);
  assert_open_fails(path, FC_UNSUPPORTED, "2000000 x 10 pixels: a side may have 1048576 at most");
  make_bare_png(path, 0xffffffff, 0xffffffff);
  assert_open_fails(path, FC_UNSUPPORTED, "4294967295 x 4294967295 pixels: a side may have 1048576 at most");
  make_bare_png(path, 5, 0);
  assert_open_fails(path, FC_IO, "holds no pixels");
  g_assert_cmpint(g_get_monotonic_time() - start, <, 60 * G_TIME_SPAN_SECOND);

  GError *error = NULL;
  make_png(path, 100, 10, 1, FC_U8);
  const fc_media_options small = {.max_pixels = 999}, enough = {.max_pixels = 1000};
  g_assert_false(can_read(path, &small, &error));
  g_assert_error(error, FC_ERROR, FC_UNSUPPORTED);
  g_clear_error(&error);
  fc_source *source = open_media(path, &enough, &error);
  g_assert_no_error(error);
  source->free(source);
}

/* Data that decompress to more, or less, than the header says. */
static void test_wrong_amount(void) {
  g_autofree char *path = scratch("bare.png");
  make_bare_png(path, 100, 100);
  GError *error = NULL;
  g_assert_false(can_read(path, NULL, &error));
  g_assert_error(error, FC_ERROR, FC_IO);
  g_assert_nonnull(strstr(error->message, "is "));
  g_error_free(error);
}

static void test_checksums(void) {
  g_autofree char *path = scratch("crc.png");
  make_png(path, 60, 50, 3, FC_U8);
  bytes b = load(path);
  for (gsize at = 16; at < b.size; at += MAX(b.size / 40, 1)) {
    b.data[at] ^= 0x10;
    store(path, b.data, b.size);
    GError *error = NULL;
    g_assert_false(can_read(path, NULL, &error));
    g_assert_nonnull(error);
    g_error_free(error);
    b.data[at] ^= 0x10;
  }
  clear_bytes(&b);
}

static void assert_told_as_cut(const copy_job *job) {
  g_autoptr(GError) error = NULL;
  g_assert_false(copy(job, &error));
  g_assert_error(error, FC_ERROR, FC_IO);
  g_assert_nonnull(strstr(error->message, ": is cut off"));
}

/* A TGA without runs, which none of ours is. */
static void make_plain_tga(const char *path, int width, int height) {
  const guint8 header[18] = {[2] = 2, [12] = (guint8)width, [14] = (guint8)height, [16] = 24};
  g_autofree guint8 *file = g_malloc0(18 + (gsize)(width * height * 3));
  memcpy(file, header, sizeof header);
  store(path, file, 18 + (gsize)(width * height * 3));
}

/* Cut at forty places: refused, or taken as far as it goes, but never whole. */
static void test_cut(void) {
  static const char *const names[] = {"cut.png", "cut.jpg", "cut.bmp", "cut.tga", "cut-plain.tga"};
  g_autofree char *png = scratch("whole.png"), *out = scratch("cut-out.npy");
  make_png(png, 72, 50, 3, FC_U8); /* rows of BMP without padding, which may be missing */
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *path = scratch(names[i]);
    if (i < 4)
      assert_copies(png, path);
    else
      make_plain_tga(path, 72, 50);
    bytes b = load(path);
    for (gsize k = 1; k <= 40; k++) {
      store(path, b.data, k == 40 ? b.size - 1 : b.size * k / 40);
      copy_job job = {.in = path, .out = out, .dtype = -1};
      assert_copy_fails(&job, FC_IO, NULL);
      assert_told_as_cut(&job);
      g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
      job.options = (fc_media_options){.allow_truncated = TRUE, .log = keep_line, .log_data = lines};
      if (copy(&job, NULL)) g_assert_cmpuint(lines->len, ==, 1);
      g_remove(out);
    }
    clear_bytes(&b);
  }
}

/* What is there of a cut PNG is the upper part of the whole one; the rest is black. */
static void test_cut_png(void) {
  g_autofree char *path = scratch("part.png");
  for (int dtype = FC_U8; dtype <= FC_U16; dtype += FC_U16 - FC_U8)
    for (int channels = 1; channels <= 4; channels++) {
      const gint64 width = 300, height = 400;
      g_autofree void *pixels = pixels_of(width, height, channels, dtype);
      make_png(path, width, height, channels, dtype);
      bytes b = load(path);
      store(path, b.data, b.size / 2);
      clear_bytes(&b);
      const fc_media_options options = {.allow_truncated = TRUE};
      GError *error = NULL;
      fc_source *source = open_media(path, &options, &error);
      g_assert_no_error(error);
      g_autoptr(GArray) values = read_all(source, 1, &error);
      source->free(source);
      guint same = 0, count = values->len;
      while (same < count && g_array_index(values, double, same) ==
                                 (dtype == FC_U8 ? ((guint8 *)pixels)[same] : ((guint16 *)pixels)[same]))
        same++;
      g_assert_cmpuint(same, >, count / 3);
      g_assert_cmpuint(same, <, count * 2 / 3);
      guint row = (guint)(width * channels);
      for (guint i = (same / row + 2) * row; i < count; i++)
        g_assert_cmpfloat(g_array_index(values, double, i), ==, 0);
    }
}

/* Random bytes changed: an error or an image, and this process goes on. */
static void test_flips(void) {
  static const char *const names[] = {"flip.png", "flip.jpg", "flip.bmp", "flip.tga"};
  g_autofree char *png = scratch("flip-whole.png");
  guint32 state = 77;
  make_png(png, 40, 30, 3, FC_U8);
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
    g_autofree char *path = scratch(names[i]);
    if (i) assert_copies(png, path);
    bytes b = load(i ? path : png);
    for (int k = 0; k < 150; k++) {
      g_autofree guint8 *copy_of = g_memdup2(b.data, b.size);
      for (int n = 0; n < 3; n++) copy_of[noise(&state) % b.size] = (guint8)noise(&state);
      store(path, copy_of, b.size);
      GError *error = NULL;
      gboolean read = can_read(path, NULL, &error);
      g_assert_true(read == (error == NULL));
      g_clear_error(&error);
    }
    clear_bytes(&b);
  }
}

/* A PNG that passes its checksums and is nonsense inside reaches the decoder. */
static void test_flips_behind_checksums(void) {
  g_autofree char *path = scratch("deep-flip.png");
  guint32 state = 78;
  for (int k = 0; k < 200; k++) {
    g_autoptr(GByteArray) png = g_byte_array_new();
    guint8 header[13] = {0, 0, 0, 20, 0, 0, 0, 20, 8, 2, 0, 0, 0}, data[400];
    for (gsize i = 0; i < sizeof data; i++) data[i] = (guint8)noise(&state);
    data[0] = 0x78, data[1] = 0x9c;
    header[8] = (guint8)(1 << noise(&state) % 5);
    header[9] = (guint8)(noise(&state) % 8);
    header[12] = (guint8)(noise(&state) % 2);
    g_byte_array_append(png, (const guint8 *)"\x89PNG\r\n\x1a\n", 8);
    put_chunk(png, "IHDR", header, sizeof header);
    if (k & 1) put_chunk(png, "PLTE", data + 50, 3 * (noise(&state) % 100));
    if (k & 2) put_chunk(png, "tRNS", data + 9, noise(&state) % 300);
    put_chunk(png, "IDAT", data, sizeof data);
    put_chunk(png, "IEND", NULL, 0);
    store(path, png->data, png->len);
    GError *error = NULL;
    gboolean read = can_read(path, NULL, &error);
    g_assert_true(read == (error == NULL));
    g_clear_error(&error);
  }
}

/* Formats whose decoders have known holes are not even tried, whatever they are called. */
static void test_refused_kinds(void) {
  static const struct {
    const char *name, *content, *message;
  } files[] = {
      {"k.png", "P5\n100 100\n65535\nxxxx", "is not a PNG file but a PNM image; convert it to PNG"},
      {"k2.png", "GIF89a\x01\0\x01\0", "is not a PNG file but a GIF image; convert it to PNG"},
      {"k.jpg", "8BPS\0\x01", "is not a JPEG file but a Photoshop image; convert it to PNG"},
      {"k.tga", "#?RADIANCE\n", "is not a TGA file but a Radiance HDR image; convert it to PNG or .npy"},
      {"k2.tga", "\xff\xfe\xfd nothing at all, but long enough",
       "is not a TGA file, nor of any other known format"},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(files); i++) {
    g_autofree char *path = scratch(files[i].name);
    store(path, files[i].content, strlen(files[i].content));
    assert_open_fails(path, FC_IO, files[i].message);
  }
}

/* Varieties of JPEG that are not decoded are called by their names. */
static void test_odd_jpeg(void) {
  static const struct {
    gsize at; /* from the frame header's marker */
    guint8 value;
    const char *message;
  } changes[] = {
      {6, 0, "is a late-height JPEG, which is not decoded here; convert it to PNG"},
      {1, 0xc3, "is a lossless JPEG, which is not decoded here; convert it to PNG"},
      {1, 0xc5, "is a hierarchical JPEG, which is not decoded here; convert it to PNG"},
      {4, 12, "is a 12-bit JPEG, which is not decoded here; convert it to PNG"},
  };
  g_autofree char *png = scratch("odd.png"), *jpg = scratch("odd.jpg");
  make_png(png, 16, 16, 3, FC_U8);
  assert_copies(png, jpg);
  bytes b = load(jpg);
  gsize frame = 2;
  while (b.data[frame + 1] != 0xc0) frame += 2 + (gsize)(b.data[frame + 2] << 8 | b.data[frame + 3]);
  for (gsize i = 0; i < G_N_ELEMENTS(changes); i++) {
    g_autofree guint8 *odd = g_memdup2(b.data, b.size);
    odd[frame + changes[i].at] = changes[i].value;
    store(jpg, odd, b.size);
    assert_open_fails(jpg, FC_UNSUPPORTED, changes[i].message);
  }
  clear_bytes(&b);
}

/* ---- the child ------------------------------------------------------------ */

static gpointer decode_thread(gpointer path) {
  for (int i = 0; i < 30; i++) {
    GError *error = NULL;
    fc_source *source = open_media(path, NULL, &error);
    g_assert_no_error(error);
    source->free(source);
  }
  return NULL;
}

static void test_from_threads(void) {
  g_autofree char *path = scratch("threads.png");
  GThread *threads[4];
  make_png(path, 60, 60, 3, FC_U8);
  for (int i = 0; i < 4; i++) threads[i] = g_thread_new("decode", decode_thread, path);
  for (int i = 0; i < 4; i++) g_thread_join(threads[i]);
}

/* The header's reader is told one size, and the file says another to the decoder. */
static void test_size_disagrees(void) {
  static const char *const names[] = {"disagree.png", "disagree.jpg", "disagree.bmp", "disagree.tga"};
  g_autofree char *png = scratch(names[0]);
  make_png(png, 30, 20, 3, FC_U8);
  for (gsize i = 0; i < G_N_ELEMENTS(names); i++) {
    static const fc_image_kind kinds[] = {FC_IMAGE_PNG, FC_IMAGE_JPEG, FC_IMAGE_BMP, FC_IMAGE_TGA};
    g_autofree char *path = scratch(names[i]), *warning = NULL;
    if (i) assert_copies(png, path);
    bytes b = load(path);
    const fc_image_header header = {
        .kind = kinds[i], .width = 20, .height = 30, .pixel_bytes = 3, .channels = 3, .orientation = 1};
    const fc_decode_wish wish = {.scale = 1};
    fc_picture picture = {0};
    GError *error = NULL;
    g_assert_false(
        fc_image_decode("x", b.data, b.size, &header, &wish, test_decoders(), &picture, &warning, &error));
    g_assert_error(error, FC_ERROR, FC_IO);
    if (i != 1) g_assert_cmpstr(error->message, ==, "x: is damaged: its header and its content differ");
    g_error_free(error);
    clear_bytes(&b);
  }
}

/* At 1/2, 1/4 and 1/8, also of odd sides and turned: each pixel is near the mean of those it stands for. */
static void test_scaled_jpeg(void) {
  g_autofree char *png = scratch("sc.png"), *jpg = scratch("sc.jpg");
  const gint64 width = 67, height = 41;
  g_autofree guint8 *smooth = g_malloc((gsize)(width * height));
  for (gint64 i = 0; i < width * height; i++) smooth[i] = (guint8)(2 * (i % width) + i / width);
  write_png(png,
            &(fc_picture){.width = width, .height = height, .channels = 1, .dtype = FC_U8, .pixels = smooth});
  assert_copies(png, jpg);
  fc_given_options *given;
  g_free(fc_given_options_parse("x:scale=auto", TRUE, &given, NULL));
  const fc_media_options options = {.in_options = given};
  for (int scale = 2; scale <= 8; scale *= 2) {
    GError *error = NULL;
    fc_source *source = open_media(jpg, &options, &error);
    g_assert_no_error(error);
    source->shrink(source, scale);
    const gint64 columns = source->format.extent[FC_AXIS_X];
    g_assert_cmpint(columns, ==, (width + scale - 1) / scale);
    g_assert_cmpint(source->format.extent[FC_AXIS_Y], ==, (height + scale - 1) / scale);
    g_autoptr(GArray) values = read_all(source, 1, &error);
    for (gint64 i = 0; i < values->len; i++) {
      const double x = ((double)(i % columns) + 0.5) * scale - 0.5,
                   y = ((double)(i / columns) + 0.5) * scale - 0.5;
      if (x < width - scale && y < height - scale)
        g_assert_cmpfloat(ABS(g_array_index(values, double, (guint)i) - (2 * x + y)), <, 4);
    }
    source->free(source);
  }
  fc_given_options_free(given);
  fc_source *other = open_media(jpg, NULL, NULL);
  g_assert_true(other->shrink == NULL); /* nobody wants it */
  other->free(other);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  scratch_init();
  g_test_add_func("/media/image/png", test_png);
  g_test_add_func("/media/image/depth-kept", test_depth_kept);
  g_test_add_func("/media/image/bmp-tga", test_bmp_tga);
  g_test_add_func("/media/image/jpeg", test_jpeg);
  g_test_add_func("/media/image/refused-outputs", test_refused_outputs);
  g_test_add_func("/media/image/narrowed-outputs", test_narrowed_outputs);
  g_test_add_func("/media/image/background", test_background);
  g_test_add_func("/media/image/narrowing", test_narrowing);
  g_test_add_func("/media/image/orientation-png", test_orientation_png);
  g_test_add_func("/media/image/orientation-jpeg", test_orientation_jpeg);
  g_test_add_func("/media/image/png-metadata", test_png_metadata);
  g_test_add_func("/media/image/jpeg-metadata", test_jpeg_metadata);
  g_test_add_func("/media/image/png-to-jpeg", test_png_to_jpeg);
  g_test_add_func("/media/image/lost-metadata", test_lost_metadata);
  g_test_add_func("/media/image/names-of-what-is-lost", test_names_of_what_is_lost);
  g_test_add_func("/media/image/profile-of-grey", test_profile_of_grey);
  g_test_add_func("/media/image/packed-metadata", test_packed_metadata);
  g_test_add_func("/media/image/too-large", test_too_large);
  g_test_add_func("/media/image/wrong-amount", test_wrong_amount);
  g_test_add_func("/media/image/checksums", test_checksums);
  g_test_add_func("/media/image/cut", test_cut);
  if (HAS_SPNG) g_test_add_func("/media/image/cut-png", test_cut_png);
  g_test_add_func("/media/image/flips", test_flips);
  g_test_add_func("/media/image/flips-behind-checksums", test_flips_behind_checksums);
  g_test_add_func("/media/image/refused-kinds", test_refused_kinds);
  g_test_add_func("/media/image/odd-jpeg", test_odd_jpeg);
  g_test_add_func("/media/image/from-threads", test_from_threads);
  if (HAS_TURBOJPEG) g_test_add_func("/media/image/scaled-jpeg", test_scaled_jpeg);
  g_test_add_func("/media/image/size-disagrees", test_size_disagrees);
  int status = g_test_run();
  scratch_remove();
  return status;
}
