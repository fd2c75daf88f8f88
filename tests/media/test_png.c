/* SPDX-License-Identifier: MIT */
/*
 * test_png.c - PNG files that say one thing and hold another, and what stands beside the pixels of PNG and
 * JPEG files: it goes over, or is named.
 */
#include <string.h>
#include <zlib.h>

#include "media/image/exif.h"
#include "media/image/meta.h"
#include "tests/media/images.h"

/* ---- files ---------------------------------------------------------------- */

typedef struct png_kind {
  guint32 width, height;
  guint8 depth, colour;
} png_kind;

static GByteArray *begin_png(const png_kind *kind) {
  GByteArray *png = g_byte_array_new();
  g_autoptr(GByteArray) header = g_byte_array_new();
  const guint8 rest[5] = {kind->depth, kind->colour, 0, 0, 0};
  g_byte_array_append(png, (const guint8 *)"\x89PNG\r\n\x1a\n", 8);
  put_big(header, kind->width, 4);
  put_big(header, kind->height, 4);
  g_byte_array_append(header, rest, sizeof rest);
  put_chunk(png, "IHDR", header->data, header->len);
  return png;
}

static void end_png(const char *path, GByteArray *png) {
  put_chunk(png, "IEND", NULL, 0);
  store(path, png->data, png->len);
}

static GByteArray *pack(const void *rows, gsize size) {
  uLongf packed = compressBound(size);
  GByteArray *data = g_byte_array_new();
  g_byte_array_set_size(data, (guint)packed);
  g_assert_cmpint(compress(data->data, &packed, rows, size), ==, Z_OK);
  g_byte_array_set_size(data, (guint)packed);
  return data;
}

/* ---- palettes ------------------------------------------------------------- */

/* Two colours, and pixels that ask for 256: the others are black, and opaque. */
static void test_beyond_palette(void) {
  static const guint8 palette[] = {1, 2, 3, 4, 5, 6};
  g_autofree char *path = scratch("palette.png");
  guint8 row[257] = {0};
  for (guint i = 0; i < 256; i++) row[1 + i] = (guint8)i;
  g_autoptr(GByteArray) data = pack(row, sizeof row);
  for (guint channels = 3; channels <= 4; channels++) {
    g_autoptr(GByteArray) png = begin_png(&(png_kind){256, 1, 8, 3});
    put_chunk(png, "PLTE", palette, sizeof palette);
    if (channels == 4) put_chunk(png, "tRNS", "\7", 1);
    put_chunk(png, "IDAT", data->data, data->len / 2); /* all chunks of data are taken */
    put_chunk(png, "IDAT", data->data + data->len / 2, data->len - data->len / 2);
    end_png(path, png);
    g_autoptr(GArray) values = read_file(path, NULL, NULL);
    g_assert_cmpuint(values->len, ==, 256 * channels);
    for (guint i = 0; i < values->len; i++) {
      guint pixel = i / channels, channel = i % channels;
      double expected = channel == 3 ? (pixel ? 255 : 7) : pixel < 2 ? palette[pixel * 3 + channel] : 0;
      g_assert_cmpfloat(g_array_index(values, double, i), ==, expected);
    }
  }
}

static void assert_unreadable(const char *path) {
  g_autoptr(GError) error = NULL;
  g_assert_false(can_read(path, NULL, &error));
  g_assert_error(error, FC_ERROR, FC_IO);
}

/* Palettes that are missing, of the wrong size, or behind what they are for. */
static void test_odd_palettes(void) {
  static const struct {
    const char *first, *second;
    gsize first_size, second_size;
  } cases[] = {{"PLTE", NULL, 0, 0}, {"tEXt", NULL, 3, 0}, {"PLTE", NULL, 3 * 300, 0}};
  static const guint8 zeros[1000] = {0};
  g_autofree char *path = scratch("odd.png");
  g_autoptr(GByteArray) data = pack("\0\0\0", 3);
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GByteArray) png = begin_png(&(png_kind){2, 1, 8, 3});
    put_chunk(png, cases[i].first, zeros, cases[i].first_size);
    if (cases[i].second) put_chunk(png, cases[i].second, zeros, cases[i].second_size);
    put_chunk(png, "IDAT", data->data, data->len);
    end_png(path, png);
    assert_unreadable(path);
  }
}

/* ---- what there is no such PNG of --------------------------------------------- */

/* All kinds of samples, of which fifteen are PNG's. */
static void test_kinds(void) {
  g_autofree char *path = scratch("kind.png");
  g_autoptr(GByteArray) data = pack("\0\0\0\0\0\0\0\0", 9);
  guint read = 0;
  for (guint8 colour = 0; colour < 9; colour++)
    for (guint8 depth = 0; depth < 34; depth++) {
      g_autoptr(GByteArray) png = begin_png(&(png_kind){1, 1, depth, colour});
      if (colour == 3) put_chunk(png, "PLTE", "abc", 3);
      static const guint8 channels[] = {1, 0, 3, 1, 2, 0, 4};
      gboolean index = colour == 3, few = depth == 1 || depth == 2 || depth == 4;
      gboolean right = colour < 7 && channels[colour] &&
                       (depth == 8 || (depth == 16 && !index) || (few && channels[colour] == 1));
      if (!right) {
        put_chunk(png, "IDAT", data->data, data->len);
        end_png(path, png);
        assert_unreadable(path);
        continue;
      }
      g_autoptr(GByteArray) own = pack("\0\0\0\0\0\0\0\0", 1 + (channels[colour] * depth + 7u) / 8);
      put_chunk(png, "IDAT", own->data, own->len);
      end_png(path, png);
      g_array_unref(read_file(path, NULL, NULL));
      read++;
    }
  g_assert_cmpuint(read, ==, 15);
}

/* A chunk that says that it is needed; none with data; and what follows the end, which is neither
 * examined nor copied. */
static void test_structure(void) {
  g_autofree char *path = scratch("structure.png"), *out = scratch("structure-out.png");
  g_autoptr(GByteArray) data = pack("\0\7", 2);
  for (int kind = 0; kind < 3; kind++) {
    g_autoptr(GByteArray) png = begin_png(&(png_kind){1, 1, 8, 0});
    if (kind == 0) put_chunk(png, "NEED", "", 0);
    if (kind != 1) put_chunk(png, "IDAT", data->data, data->len);
    put_chunk(png, "IEND", NULL, 0);
    if (kind == 2) g_byte_array_append(png, (const guint8 *)"\0\0\0\1abCdx\0\0\0\0", 13);
    store(path, png->data, png->len);
    if (kind == 0) assert_unreadable(path);
    if (kind == 1) assert_open_fails(path, FC_IO, "holds no image data");
    if (kind != 2) continue;
    assert_copies(path, out);
    g_autoptr(GArray) values = read_file(out, NULL, NULL);
    g_assert_cmpfloat(g_array_index(values, double, 0), ==, 7);
  }
}

/* ---- image data ----------------------------------------------------------- */

static void store_with_data(const char *path, const png_kind *kind, const GByteArray *data, guint size) {
  g_autoptr(GByteArray) png = begin_png(kind);
  put_chunk(png, "IDAT", data->data, MIN(size, 1));
  put_chunk(png, "IDAT", data->data + MIN(size, 1), size - MIN(size, 1));
  end_png(path, png);
}

/* Something behind the checksum or the pixels is skipped; too little is an error. */
static void test_odd_data(void) {
  static const guint8 rows[20] = {0, 1, 2, 3, 4, 5, 6};
  const png_kind kind = {2, 1, 8, 2};
  g_autofree char *path = scratch("more.png");
  g_autoptr(GByteArray) data = pack(rows, 7), more = pack(rows, sizeof rows), less = pack(rows, 6);
  g_byte_array_append(data, (const guint8 *)"behind", 6);
  store_with_data(path, &kind, data, data->len);
  g_array_unref(read_file(path, NULL, NULL));
  store_with_data(path, &kind, more, more->len);
  g_array_unref(read_file(path, NULL, NULL));
  store_with_data(path, &kind, less, less->len);
  assert_unreadable(path);
}

/* ---- what stands beside the pixels ---------------------------------------- */

#define LOST "metadata of the input that is left out: "

typedef struct chunk {
  const char *type, *data;
  gsize size;
} chunk;

/* One pixel, of 8 or 16 bits, or one of a palette. */
static void store_beside(const char *path, guint8 depth, guint8 colour, const chunk *chunks, gsize count) {
  static const guint8 zeros[10] = {0};
  g_autoptr(GByteArray) png = begin_png(&(png_kind){1, 1, depth, colour}),
                        data = pack(zeros, 1 + (gsize)((colour == 2 ? 3 : 1) * depth + 7) / 8);
  if (colour == 3) put_chunk(png, "PLTE", "abcdef", 6);
  for (gsize i = 0; i < count; i++) put_chunk(png, chunks[i].type, chunks[i].data, chunks[i].size);
  put_chunk(png, "IDAT", data->data, data->len);
  end_png(path, png);
}

static gboolean has_chunk(const char *path, const chunk *c) {
  g_autoptr(GByteArray) whole = g_byte_array_new();
  put_chunk(whole, c->type, c->data, c->size);
  return contains(path, whole->data, whole->len);
}

/* A chunk says of itself whether it holds for other pixels; what is known to goes over too. */
static void test_chunks(void) {
  static const chunk kept[] = {{"oFFs", "12345678\0", 9},  {"vpAg", "123456789", 9},
                               {"teSt", "as it is", 8},    {"mDCV", "mastered on what", 16},
                               {"cLLI", "how bright", 10}, {"bKGD", "\0\1\0\2\0\3", 6}},
                     left[] = {{"sBIT", "\5\6\5", 3}, {"tIME", "\7\1\1\1\1\1\1", 7},
                               {"hIST", "\0\1", 2},   {"sPLT", "name\0\10abcdef", 12},
                               {"teST", "unsafe", 6}, {"te1T", "odd", 3}};
  g_autofree char *png = scratch("c.png"), *out = scratch("c2.png"), *jpg = scratch("c.jpg"),
                  *bmp = scratch("c.bmp"), *tga = scratch("c.tga");
  store_beside(png, 8, 2, kept, G_N_ELEMENTS(kept));
  assert_copy_says(png, out, "");
  for (gsize i = 0; i < G_N_ELEMENTS(kept); i++) g_assert_true(has_chunk(out, &kept[i]));
  assert_copy_says(png, jpg, LOST "oFFs, vpAg, teSt, mDCV, cLLI");
  assert_copy_says(png, bmp, LOST "oFFs, vpAg, teSt, mDCV, cLLI");
  assert_copy_says(png, tga, LOST "oFFs, vpAg, teSt, mDCV, cLLI");
  store_beside(png, 8, 2, left, G_N_ELEMENTS(left));
  assert_copy_says(png, out, LOST "sBIT, hIST, sPLT, teST, te?T");
  for (gsize i = 0; i < G_N_ELEMENTS(left); i++) g_assert_false(contains(out, left[i].type, 4));
  assert_copy_says(png, tga, LOST "sBIT, hIST, sPLT, teST, te?T");
}

/* A background has the numbers of the samples: it holds for those of the same kind. */
static void test_background(void) {
  static const chunk of_palette = {"bKGD", "\1", 1}, wide = {"bKGD", "\1\2\3\4\5\6", 6},
                     grey = {"bKGD", "\0\7", 2}, palette = {"PLTE", "abcdef", 6};
  g_autofree char *png = scratch("b.png"), *out = scratch("b2.png");
  store_beside(png, 8, 3, &of_palette, 1);
  assert_copy_says(png, out, "");
  g_assert_false(contains(out, "bKGD", 4));
  store_beside(png, 16, 2, &wide, 1);
  assert_copy_says(png, out, "");
  g_assert_true(has_chunk(out, &wide));
  store_beside(png, 8, 0, &grey, 1);
  assert_copy_says(png, out, "");
  g_assert_true(has_chunk(out, &grey));
  store_beside(png, 4, 0, &grey, 1); /* of 4 bits, which become 8 */
  assert_copy_says(png, out, "");
  g_assert_false(contains(out, "bKGD", 4));
  store_beside(png, 8, 2, &palette, 1); /* a suggestion */
  assert_copy_says(png, out, LOST "PLTE");
}

/* However many there are. */
static void test_many_chunks(void) {
  enum { COUNT = 3000 };
  g_autofree char *png = scratch("many.png"), *out = scratch("many2.png");
  g_autofree chunk *chunks = g_new(chunk, COUNT);
  char types[COUNT][5];
  for (int i = 0; i < COUNT; i++) {
    g_snprintf(types[i], 5, "a%c%cZ", 'a' + i % 26, 'A' + i / 26 % 26);
    chunks[i] = (chunk){types[i], "", 0};
  }
  store_beside(png, 8, 2, chunks, COUNT);
  g_autofree char *said = copy_saying(png, out);
  g_assert_cmpuint(strlen(said), <, 400);
  g_assert_true(g_str_has_suffix(said, ", further chunks"));
}

/* Only the ratio of a pixel's sides: BMP has no place for it. */
static void test_aspect(void) {
  static const chunk aspect = {"pHYs", "\0\0\0\2\0\0\0\1\0", 9};
  g_autofree char *png = scratch("a.png"), *bmp = scratch("a.bmp"), *jpg = scratch("a.jpg"),
                  *out = scratch("a2.png");
  store_beside(png, 8, 2, &aspect, 1);
  assert_copy_says(png, bmp, LOST "resolution");
  assert_copy_says(png, jpg, "");
  assert_copy_says(png, out, "");
  g_assert_true(has_chunk(out, &aspect));
}

/* Segments that nobody knows go from JPEG to JPEG; what does not is named, but for how it was coded. */
static void test_segments(void) {
  static const struct {
    const char *segment, *left_out;
    gsize size;
  } cases[] = {{"\xff\xe3\0\6Meta", "", 8},
               {"\xff\xeb\0\5own", "", 7},
               {"\xff\xef\0\3!", "", 5},
               {"\xff\xe1\0\6what", "", 8},
               {"\xff\xe2\0\5\0\0\0", "", 7},
               {"\xff\xec\0\7Ducky", "", 9},
               {"\xff\xee\0\5own", "", 7},
               {"\xff\xe0\0\6AVI1", "", 8},
               {"\xff\xee\0\16"
                "Adobe\0\x64\0\0\0\0\1",
                NULL, 16},
               {"\xff\xe0\0\x0cJFXX\0\x13small", "thumbnail", 14},
               {"\xff\xeb\0\6JP\0\1", "APP11", 8},
               {"\xff\xe2\0\6MPF", "further pictures", 8}};
  g_autofree char *png = scratch("s.png"), *plain = scratch("s.jpg"), *jpg = scratch("s2.jpg"),
                  *out = scratch("s3.jpg");
  store_beside(png, 8, 2, NULL, 0);
  assert_copies(png, plain);
  bytes b = load(plain);
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    gboolean kept = cases[i].left_out && !*cases[i].left_out;
    g_autofree char *said = g_strdup_printf(LOST "%s", cases[i].left_out);
    g_autoptr(GByteArray) with = g_byte_array_new();
    g_byte_array_append(with, b.data, 20);
    g_byte_array_append(with, (const guint8 *)cases[i].segment, (guint)cases[i].size);
    g_byte_array_append(with, b.data + 20, (guint)b.size - 20);
    store(jpg, with->data, with->len);
    assert_copy_says(jpg, out, kept || !cases[i].left_out ? "" : said);
    g_assert_cmpint(contains(out, cases[i].segment, cases[i].size), ==, kept);
  }
  clear_bytes(&b);
}

/* An entry of one value, which may be where it is. */
static void put_entry(GByteArray *to, guint tag, guint type, guint value) {
  put_big(to, tag, 2);
  put_big(to, type, 2);
  put_big(to, 1, 4);
  put_big(to, type == 3 ? value << 16 : value, 4);
}

/* Big-endian EXIF of a picture of 4 x 3, or of 3 x 4 once it was turned; the last entry has no other side. */
static GByteArray *exif_with(guint orientation, guint width, guint height, guint across, guint along,
                             guint alone) {
  GByteArray *exif = g_byte_array_new();
  g_byte_array_append(exif, (const guint8 *)"MM\0*\0\0\0\x08", 8);
  put_big(exif, 6, 2);
  put_entry(exif, 0x0100, 3, width);
  put_entry(exif, 0x0101, 3, height);
  put_entry(exif, 0x0112, 3, orientation);
  put_entry(exif, 0x011a, 5, across);
  put_entry(exif, 0x011b, 5, along);
  put_entry(exif, 0x8769, 4, 104);
  g_byte_array_append(exif, (const guint8 *)"\0\0\0\0", 4);
  put_big(exif, 300, 4), put_big(exif, 1, 4); /* at 86 */
  put_big(exif, 72, 4), put_big(exif, 1, 4);  /* at 94 */
  put_big(exif, 0, 2);
  put_big(exif, 3, 2);
  put_entry(exif, 0xa002, 4, width);
  put_entry(exif, 0xa003, 4, height);
  put_entry(exif, alone, 5, 86);
  g_byte_array_append(exif, (const guint8 *)"\0\0\0\0", 4);
  return exif;
}

/* What EXIF says along and across is exchanged where the picture was laid on its side, in PNG and JPEG. */
static void test_exif_sides(void) {
  g_autofree char *png = scratch("e.png"), *out = scratch("e2.png"), *jpg = scratch("e.jpg");
  for (guint orientation = 1; orientation <= 8; orientation++) {
    g_autoptr(GByteArray) before = exif_with(orientation, 4, 3, 86, 94, 0xa20f);
    g_autoptr(GByteArray) after =
        orientation < 5 ? exif_with(1, 4, 3, 86, 94, 0xa20f) : exif_with(1, 3, 4, 94, 86, 0xa20e);
    const chunk in = {"eXIf", (const char *)before->data, before->len},
                expected = {"eXIf", (const char *)after->data, after->len};
    store_beside(png, 8, 2, &in, 1);
    assert_copies(png, out);
    g_assert_true(has_chunk(out, &expected));
    assert_copies(png, jpg);
    g_assert_true(contains(jpg, after->data, after->len));
  }
}

/* Structures that are cut off, or point into nowhere. */
static void test_odd_exif(void) {
  g_autoptr(GByteArray) whole = exif_with(6, 4, 3, 86, 94, 0xa20f);
  guint32 state = 5;
  for (guint size = 0; size <= whole->len; size++) {
    g_autofree guint8 *part = g_memdup2(whole->data, size);
    fc_exif_exchange_sides(part, size);
  }
  for (guint i = 0; i < 20000; i++) {
    g_autofree guint8 *changed = g_memdup2(whole->data, whole->len);
    for (int k = 0; k < 3; k++) changed[noise(&state) % whole->len] = (guint8)noise(&state);
    fc_exif_exchange_sides(changed, whole->len);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  scratch_init();
  if (HAS_SPNG) g_test_add_func("/media/png/beyond-palette", test_beyond_palette);
  g_test_add_func("/media/png/odd-palettes", test_odd_palettes);
  g_test_add_func("/media/png/kinds", test_kinds);
  g_test_add_func("/media/png/structure", test_structure);
  g_test_add_func("/media/png/odd-data", test_odd_data);
  g_test_add_func("/media/png/chunks", test_chunks);
  g_test_add_func("/media/png/background", test_background);
  g_test_add_func("/media/png/many-chunks", test_many_chunks);
  g_test_add_func("/media/png/aspect", test_aspect);
  g_test_add_func("/media/png/segments", test_segments);
  g_test_add_func("/media/png/exif-sides", test_exif_sides);
  g_test_add_func("/media/png/odd-exif", test_odd_exif);
  int status = g_test_run();
  scratch_remove();
  return status;
}
