/* SPDX-License-Identifier: MIT */
/*
 * test_bmp_tga.c - BMP and TGA files of all forms that others write: versions of headers,
 * palettes that are short, late or incomplete, all directions; and that what is not
 * decoded is told by what it is.
 */
#include <string.h>

#include "tests/media/support.h"

enum { WIDTH = 5, HEIGHT = 3, PIXELS = WIDTH * HEIGHT };

static void add(GByteArray *to, const void *data, gsize size) {
  g_byte_array_append(to, data, (guint)size);
}

static void add_number(GByteArray *to, guint32 value, int size) {
  for (int i = 0; i < size; i++) add(to, (const guint8[]){(guint8)(value >> 8 * i)}, 1);
}

static void add_zeros(GByteArray *to, gsize count) {
  for (gsize i = 0; i < count; i++) add(to, "", 1);
}

static void assert_reads(const char *name, const GByteArray *file, const guint8 *pixels, gsize count,
                         gint64 channels) {
  fc_format found;
  g_autofree char *path = scratch(name);
  store(path, file->data, file->len);
  g_autoptr(GArray) values = read_file(path, NULL, &found);
  g_assert_cmpint(found.extent[FC_AXIS_C], ==, channels);
  g_assert_cmpuint(values->len, ==, count);
  for (guint i = 0; i < count; i++) g_assert_cmpfloat(g_array_index(values, double, i), ==, pixels[i]);
}

static void assert_refused(const char *name, const GByteArray *file, int code, const char *what) {
  g_autofree char *path = scratch(name), *sentence = g_strdup_printf("%s: %s", path, what);
  g_autoptr(GError) error = NULL;
  store(path, file->data, file->len);
  g_assert_false(can_read(path, NULL, &error));
  g_assert_error(error, FC_ERROR, code);
  g_assert_cmpstr(error->message, ==, sentence);
}

static guint8 colour_of(guint index, int channel) {
  return (guint8)(index * 37 + (guint)channel * 91 + 5);
}

/* ---- BMP --------------------------------------------------------------- */

typedef struct bmp_form {
  guint version, depth, coding;
  guint colours;    /* in the palette, and so said */
  guint gap;        /* bytes ahead of the pixels */
  guint32 masks[4]; /* in the header or behind it */
  int width, height;
} bmp_form;

static GByteArray *bmp_begin(const bmp_form *form) {
  gboolean old = form->version == 12, behind = form->version == 40 && form->coding == 3;
  guint palette = form->colours * (old ? 3 : 4);
  GByteArray *file = g_byte_array_new();
  add(file, "BM\0\0\0\0\0\0\0\0", 10);
  add_number(file, 14 + form->version + (behind ? 12 : 0) + palette + form->gap, 4);
  add_number(file, form->version, 4);
  add_number(file, (guint32)form->width, old ? 2 : 4);
  add_number(file, (guint32)form->height, old ? 2 : 4);
  add_number(file, 1, 2);
  add_number(file, form->depth, 2);
  if (!old) {
    add_number(file, form->coding, 4);
    add_zeros(file, 12);
    add_number(file, form->colours, 4);
    add_zeros(file, 4);
    guint masks = form->version > 52 ? 4 : form->version == 52 || behind ? 3 : 0;
    for (guint i = 0; i < masks; i++) add_number(file, form->masks[i], 4);
    if (14 + form->version > file->len) add_zeros(file, 14 + form->version - file->len);
  }
  for (guint i = 0; i < form->colours; i++) {
    for (int c = 2; c >= 0; c--) add_number(file, colour_of(i, c), 1);
    if (!old) add_zeros(file, 1);
  }
  for (guint i = 0; i < form->gap; i++) add(file, "\xee", 1);
  return file;
}

/* A row of the indexes 0 to count - 1, whose colours are black from `known` on. */
static void assert_indexes(const bmp_form *form, guint known) {
  guint count = (guint)form->width, each = 8 / form->depth;
  g_autoptr(GByteArray) file = bmp_begin(form), row = g_byte_array_new();
  g_autofree guint8 *pixels = g_new0(guint8, 3 * count);
  for (guint i = 0; i < count; i++) {
    if (i % each == 0) add_zeros(row, 1);
    row->data[i / each] |= (guint8)(i << (8 - form->depth - form->depth * (i % each)));
    for (int c = 0; c < 3 && i < known; c++) pixels[3 * i + (guint)c] = colour_of(i, c);
  }
  add(file, row->data, row->len);
  add_zeros(file, -row->len & 3);
  assert_reads("index.bmp", file, pixels, 3 * (gsize)count, 3);
}

/* Colours that there are not are black, whatever the decoder's memory holds. */
static void test_bmp_palettes(void) {
  static const guint versions[] = {40, 108, 124}, gaps[] = {0};
  for (gsize v = 0; v < G_N_ELEMENTS(versions); v++)
    for (gsize g = 0; g < G_N_ELEMENTS(gaps); g++)
      for (guint depth = 1; depth <= 8; depth *= depth > 1 ? 2 : 4) {
        bmp_form form = {
            .version = versions[v], .depth = depth, .gap = gaps[g], .width = 1 << depth, .height = 1};
        form.colours = 1u << depth;
        assert_indexes(&form, form.colours);
        form.colours = depth == 1 ? 1 : 3;
        if (form.version != 12 || !form.gap) assert_indexes(&form, form.colours);
      }
}

/* Red, green, blue and alpha of the pixel at which file and picture agree. */
static void add_bmp_pixels(GByteArray *file, const bmp_form *form, guint8 *pixels, guint channels) {
  for (int y = 0; y < HEIGHT; y++) {
    guint begin = file->len;
    for (int x = 0; x < WIDTH; x++) {
      guint8 *to = pixels + (guint)((form->height < 0 ? y : HEIGHT - 1 - y) * WIDTH + x) * channels;
      guint32 pixel = 0;
      for (guint c = 0; c < channels; c++) {
        to[c] = colour_of((guint)(y * WIDTH + x), (int)c);
        guint32 mask = form->masks[c] ? form->masks[c] : 0xff0000u >> 8 * c;
        pixel |= to[c] * (mask / 255);
      }
      add_number(file, pixel, (int)form->depth / 8);
    }
    add_zeros(file, -(file->len - begin) & 3);
  }
}

/* 24 bits, and 32 by masks, with alpha where the version has it; from the bottom up and from the top down. */
static void test_bmp_versions(void) {
  static const guint versions[] = {40, 108, 124};
  for (gsize v = 0; v < G_N_ELEMENTS(versions); v++)
    for (int down = 0; down < 2; down++)
      for (int masks = 0; masks <= 4; masks += masks ? 1 : 3) {
        bmp_form form = {
            .version = versions[v], .depth = 24, .width = WIDTH, .height = down ? -HEIGHT : HEIGHT};
        guint most = form.version == 12 || form.version == 64 ? 0 : form.version < 56 ? 3 : 4;
        if ((guint)masks > most) continue;
        const guint32 shifted[4] = {0xff00, 0xff, 0xff000000, 0xff0000};
        if (masks) form.depth = 32, form.coding = 3;
        memcpy(form.masks, shifted, (gsize)masks * 4);
        guint channels = masks == 4 ? 4 : 3;
        guint8 pixels[PIXELS * 4];
        g_autoptr(GByteArray) file = bmp_begin(&form);
        add_bmp_pixels(file, &form, pixels, channels);
        assert_reads("version.bmp", file, pixels, PIXELS * channels, channels);
      }
}

static void test_bmp_refused(void) {
  static const bmp_form forms[] = {
      {.version = 12, .depth = 24},               /* of OS/2 */
      {.version = 40, .depth = 8},                /* no palette */
      {.version = 40, .depth = 24, .gap = -1u},   /* pixels that begin within the header */
      {.version = 40, .depth = 24, .coding = 3}}; /* masks of 24 bits */
  for (gsize i = 0; i < G_N_ELEMENTS(forms); i++) {
    bmp_form form = forms[i];
    const gboolean early = form.gap == -1u;
    g_autofree char *path = scratch("refused.bmp");
    g_autoptr(GError) error = NULL;
    form.width = WIDTH, form.height = HEIGHT;
    if (early) form.gap = 0;
    g_autoptr(GByteArray) file = bmp_begin(&form);
    if (early) file->data[10]--;
    add_zeros(file, PIXELS * 4);
    store(path, file->data, file->len);
    g_assert_false(can_read(path, NULL, &error));
    g_assert_true(g_error_matches(error, FC_ERROR, FC_IO) ||
                  g_error_matches(error, FC_ERROR, FC_UNSUPPORTED));
  }
}

/* ---- TGA --------------------------------------------------------------- */

typedef struct tga_form {
  guint type, depth, first, colours, colour_bits;
  guint8 descriptor;
  gboolean mark; /* at its end */
} tga_form;

static GByteArray *tga_begin(const tga_form *form) {
  GByteArray *file = g_byte_array_new();
  add(file, "\x03", 1); /* bytes of an identification */
  add_number(file, form->colours > 0, 1);
  add_number(file, form->type, 1);
  add_number(file, form->first, 2);
  add_number(file, form->colours, 2);
  add_number(file, form->colour_bits, 1);
  add_number(file, 7 | 9 << 16, 4); /* where it stood on a screen */
  add_number(file, WIDTH | HEIGHT << 16, 4);
  add_number(file, form->depth, 1);
  add_number(file, form->descriptor, 1);
  add(file, "id.", 3);
  for (guint i = 0; i < form->colours; i++)
    for (int c = (int)form->colour_bits / 8 - 1; c >= 0; c--)
      add_number(file, colour_of(form->first + i, c), 1);
  return file;
}

static void tga_end(GByteArray *file, const tga_form *form) {
  add_zeros(file, form->mark ? 8 : 0);
  if (form->mark) add(file, "TRUEVISION-XFILE.", 18);
}

/* Pixels in the order of the file, each a value of so many bytes. */
static void add_tga_pixels(GByteArray *file, const tga_form *form, const guint32 *values) {
  int size = (int)(form->depth + 7) / 8;
  for (guint i = 0; i < PIXELS; i += form->type & 8 ? 3 : 1) {
    if (form->type & 8) add_number(file, i ? 2 : 0x82, 1); /* the first three are one */
    for (guint k = 0; k < (form->type & 8 && i ? 3 : 1); k++) add_number(file, values[i + k], size);
  }
}

/* Where the i-th pixel of the file stands. */
static guint place_of(const tga_form *form, guint i) {
  guint x = i % WIDTH, y = i / WIDTH;
  if (form->descriptor & 0x10) x = WIDTH - 1 - x;
  if (!(form->descriptor & 0x20)) y = HEIGHT - 1 - y;
  return y * WIDTH + x;
}

/* Values that go up, but for the first three. */
static void assert_tga(const tga_form *form, guint from) {
  guint channels = (form->type & 3) == 3 ? form->depth / 8 : 3;
  guint32 values[PIXELS];
  guint8 pixels[PIXELS * 3] = {0};
  g_autoptr(GByteArray) file = tga_begin(form);
  for (guint i = 0; i < PIXELS; i++) {
    guint index = from + (i < 3 ? 0 : i), known = index >= form->first && index < form->first + form->colours;
    guint8 *to = pixels + place_of(form, i) * channels;
    values[i] = 0;
    for (guint c = 0; c < channels; c++) {
      guint shift = (form->type & 3) == 3 ? 8 * c : 16 - 8 * c;
      values[i] |= (guint32)colour_of(index, (int)c) << shift;
      if ((form->type & 3) != 1 || known) to[c] = colour_of(index, (int)c);
    }
    if ((form->type & 3) == 1) values[i] = index;
  }
  add_tga_pixels(file, form, values);
  tga_end(file, form);
  assert_reads("form.tga", file, pixels, PIXELS * channels, channels);
}

/* All four directions of all kinds; a palette that is not for the pixels is no matter. */
static void test_tga_directions(void) {
  static const tga_form kinds[] = {{1, 8, 0, 20, 24}, {2, 24}, {3, 8}, {3, 16}, {1, 16, 0, 20, 24}};
  for (gsize i = 0; i < G_N_ELEMENTS(kinds); i++)
    for (guint k = 0; k < 16; k++) {
      tga_form form = kinds[i];
      form.type |= k & 1 ? 8 : 0;
      form.mark = (k & 2) != 0;
      form.descriptor = (guint8)(k >> 2 << 4);
      assert_tga(&form, 0);
    }
}

/* Of files that are cut off, what is there, and zeros: not what stood in
 * the decoder's memory. */
static void test_cut(void) {
  const tga_form tga = {2, 24};
  const bmp_form bmp = {.version = 40, .depth = 24, .width = WIDTH, .height = HEIGHT};
  const fc_media_options options = {.allow_truncated = TRUE};
  for (int is_bmp = 0; is_bmp < 2; is_bmp++)
    for (guint left = 1; left < PIXELS * 3; left++) {
      guint row = WIDTH * 3, padded = is_bmp ? (row + 3) / 4 * 4 : row,
            pixels = left / row * padded + left % row;
      g_autofree char *path = scratch(is_bmp ? "cut.bmp" : "cut.tga");
      g_autoptr(GByteArray) file = is_bmp ? bmp_begin(&bmp) : tga_begin(&tga);
      for (guint i = 0; i < pixels; i++) add_number(file, i % padded < row ? 1 + i : 0, 1);
      store(path, file->data, file->len);
      g_autoptr(GArray) values = read_file(path, &options, NULL);
      for (guint i = 0; i < PIXELS * 3; i++) {
        guint y = HEIGHT - 1 - i / row,
              at = y * padded + i % row / 3 * 3 + 2 - i % 3; /* from below, and BGR */
        const double value = g_array_index(values, double, i), expected = at < pixels ? 1 + at : 0;
        /* Of the row that the file ends in, some decoders take nothing. */
        g_assert_true(value == expected || (value == 0 && y == left / row));
      }
    }
}

#define NOT_DECODED ", which is not decoded here; convert it to PNG"

static void test_tga_refused(void) {
  static const struct {
    tga_form form;
    int code;
    const char *sentence;
  } cases[] = {{{2, 24, .descriptor = 0x40}, FC_UNSUPPORTED, "is an interleaved TGA" NOT_DECODED},
               {{1, 24, 0, 5, 24}, FC_UNSUPPORTED, "is an odd TGA" NOT_DECODED},
               {{1, 8, 3, 5, 24}, FC_UNSUPPORTED, "is an odd TGA" NOT_DECODED},
               {{1, 8, .mark = TRUE}, FC_IO, "is damaged: it has no palette"},
               {{7, 24}, FC_IO, "is not a TGA file, nor of any other known format"}};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(GByteArray) file = tga_begin(&cases[i].form);
    add_zeros(file, PIXELS * 4);
    tga_end(file, &cases[i].form);
    assert_refused("refused.tga", file, cases[i].code, cases[i].sentence);
  }
}

int main(int argc, char **argv) {
  scratch_init();
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/media/bmp-tga/bmp-palettes", test_bmp_palettes);
  g_test_add_func("/media/bmp-tga/bmp-versions", test_bmp_versions);
  g_test_add_func("/media/bmp-tga/bmp-refused", test_bmp_refused);
  g_test_add_func("/media/bmp-tga/tga-directions", test_tga_directions);
  g_test_add_func("/media/bmp-tga/tga-refused", test_tga_refused);
  g_test_add_func("/media/bmp-tga/cut", test_cut);
  int status = g_test_run();
  scratch_remove();
  return status;
}
