/* SPDX-License-Identifier: MIT */
/*
 * test_array.c - .npy and raw in and out, tables from files, and rounding on the way
 * into integers.
 */
#include <glib/gstdio.h>
#include <math.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "core/registry/table.h"
#include "media/image/decoder/child.h"
#include "media/array/quantise.h"
#include "tests/media/support.h"

/* ---- .npy files to read ------------------------------------------------- */

/* A file with this dictionary and these bytes behind it. */
static void make_npy(const char *path, int version, const char *dictionary, const void *data, gsize size) {
  g_autoptr(GByteArray) file = g_byte_array_new();
  gsize length = strlen(dictionary);
  const guint8 prefix[] = {
      0x93, 'N', 'U', 'M', 'P', 'Y', (guint8)version, 0, (guint8)length, (guint8)(length >> 8), 0, 0};
  g_byte_array_append(file, prefix, version == 1 ? 10 : 12);
  g_byte_array_append(file, (const guint8 *)dictionary, (guint)length);
  if (size) g_byte_array_append(file, data, (guint)size);
  store(path, file->data, file->len);
}

/* Numbers 0, 1, 2 ... as items of a NumPy type; returns the bytes. */
static gsize count_up(const char *descr, int count, guint8 *to) {
  int size = descr[2] - '0';
  for (int i = 0; i < count; i++) {
    guint64 bits = (guint64)i;
    if (descr[1] == 'f' && size == 8) memcpy(&bits, &(double){i}, 8);
    if (descr[1] == 'f' && size == 4) memcpy(&bits, &(float){(float)i}, 4);
    if (descr[1] == 'f' && size == 2)
      bits = i ? (guint64)(15 + (int)log2(i)) << 10 | (guint64)(ldexp(i, 10 - (int)log2(i)) - 1024) : 0;
    for (int b = 0; b < size; b++)
      to[i * size + b] = (guint8)(bits >> 8 * (descr[0] == '>' ? size - 1 - b : b));
  }
  return (gsize)(count * size);
}

static void test_types(void) {
  static const struct {
    const char *descr;
    int dtype;
  } types[] = {{"|u1", FC_U8},  {"|i1", FC_I16}, {"<u2", FC_U16}, {">u2", FC_U16}, {"<i2", FC_I16},
               {">i2", FC_I16}, {"<i4", FC_I32}, {">i4", FC_I32}, {"<u4", FC_F64}, {">u4", FC_F64},
               {"<i8", FC_F64}, {">i8", FC_F64}, {"<u8", FC_F64}, {"<f2", FC_F32}, {">f2", FC_F32},
               {"<f4", FC_F32}, {">f4", FC_F32}, {"<f8", FC_F64}, {">f8", FC_F64}, {"=f8", FC_F64},
               {"|b1", FC_U8}};
  g_autofree char *path = scratch("types.npy");
  guint8 data[8 * 24];
  for (gsize i = 0; i < G_N_ELEMENTS(types); i++)
    for (int version = 1; version <= 3; version++) {
      g_autofree char *text =
          g_strdup_printf("{'descr': '%s', 'fortran_order': False, 'shape': (4, 6), }\n", types[i].descr);
      make_npy(path, version, text, data, count_up(types[i].descr, 24, data));
      fc_format format;
      g_autoptr(GArray) values = read_file(path, NULL, &format);
      g_assert_cmpint(format.kind, ==, FC_ARRAY);
      g_assert_cmpint(format.dtype, ==, types[i].dtype);
      g_assert_cmpint(format.extent[FC_AXIS_Y], ==, 4);
      g_assert_cmpint(format.extent[FC_AXIS_X], ==, 6);
      g_assert_cmpuint(values->len, ==, 24);
      for (int k = 0; k < 24; k++)
        g_assert_cmpfloat(g_array_index(values, double, k), ==, types[i].descr[1] == 'b' ? k > 0 : k);
    }
}

/* Every number of dimensions, either order, read and written. */
static void test_shapes(void) {
  static const struct {
    const char *shape;
    int dims;
    gint64 size[4]; /* the file's */
    gint64 extent[4];
  } shapes[] = {{"()", 0, {1}, {1, 1, 1, 1}},
                {"(24,)", 1, {24}, {1, 1, 24, 1}},
                {"(4, 6)", 2, {4, 6}, {1, 4, 6, 1}},
                {"(24, 1)", 2, {24, 1}, {1, 24, 1, 1}},
                {"(2L, 3L, 4L)", 3, {2, 3, 4}, {1, 2, 3, 4}},
                {"(2,2,3,2)", 4, {2, 2, 3, 2}, {2, 2, 3, 2}},
                {"(0, 3)", 2, {0, 3}, {1, 0, 3, 1}}};
  g_autofree char *path = scratch("shape.npy"), *again = scratch("shape2.npy"),
                  *third = scratch("shape3.npy");
  guint8 data[24 * 4];
  gsize size = count_up("<f4", 24, data);
  for (gsize i = 0; i < G_N_ELEMENTS(shapes); i++)
    for (int fortran = 0; fortran < 2; fortran++) {
      g_autofree char *text = g_strdup_printf("{\"shape\":%s,'fortran_order':%s,'descr':\"<f4\"}",
                                              shapes[i].shape, fortran ? "True" : "False");
      make_npy(path, 1, text, data, size);
      fc_format format;
      g_autoptr(GArray) values = read_file(path, NULL, &format);
      g_assert_cmpmem(format.extent, sizeof format.extent, shapes[i].extent, sizeof shapes[i].extent);
      for (guint k = 0; k < values->len; k++) { /* k counts in C order; where does it lie in Fortran's? */
        gint64 rest = k, place = 0;
        for (int d = shapes[i].dims - 1; d >= 0; d--) {
          gint64 step = 1;
          for (int e = 0; e < d; e++) step *= shapes[i].size[e];
          place += rest % shapes[i].size[d] * step;
          rest /= shapes[i].size[d];
        }
        g_assert_cmpfloat(g_array_index(values, double, k), ==, fortran ? (double)place : (double)k);
      }
      assert_copies(path, again);
      assert_copies(again, third);
      assert_same_bytes(again, third);
      fc_format back;
      g_autoptr(GArray) same = read_file(again, NULL, &back);
      g_assert_cmpmem(back.extent, sizeof back.extent, format.extent, sizeof format.extent);
      g_assert_cmpmem(values->data, values->len * sizeof(double), same->data, same->len * sizeof(double));
    }
}

/* The header that we write is the one that NumPy writes, but for its padding. */
static void test_written_header(void) {
  g_autofree char *in = scratch("h.wav"), *out = scratch("h.npy"), *late = scratch("h2.npy");
  make_sound(in, 0x010006, 8000, 2, 777);
  assert_copies(in, out);
  bytes b = load(out);
  static const char text[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (777, 2), }";
  g_assert_cmpuint(b.size, ==, 128 + 777 * 8);
  g_assert_cmpmem(b.data, 10, "\x93NUMPY\x01\0\x76\0", 10);
  g_assert_cmpmem(b.data + 10, sizeof text - 1, text, sizeof text - 1);
  g_assert_cmpint(b.data[127], ==, '\n');
  copy_job job = {.in = in, .out = late, .dtype = -1, .hide_length = TRUE, .chunk = 100};
  g_assert_true(copy(&job, NULL));
  bytes c = load(late);
  g_assert_cmpmem(c.data + 10, sizeof text - 1, text, sizeof text - 1);
  g_assert_cmpmem(c.data + c.size - 777 * 8, 777 * 8, b.data + 128, 777 * 8);
  clear_bytes(&b);
  clear_bytes(&c);
}

static void assert_npy_fails(const char *path, int code, const char *message) {
  GError *error = NULL;
  g_autofree char *expected = g_strdup_printf("%s: %s", path, message);
  fc_source *source = fc_media_open(path, NULL, &error);
  if (source) {
    g_assert_null(read_all(source, 1, &error));
    source->free(source);
  }
  g_assert_error(error, FC_ERROR, code);
  g_assert_cmpstr(error->message, ==, expected);
  g_error_free(error);
}

/* Headers that NumPy would not write. */
static void test_hostile_headers(void) {
  static const char *const damaged[] = {
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), } rest",
      "{'descr': '<f4', 'fortran_order': False}",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), 'descr': '<f4'}",
      "{'descr': '<f4', 'fortran_order': Perhaps, 'shape': (2, 3), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, -3), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3, }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (99999999999999999999999999, 3), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (__import__('os').system('true'), 3), }",
      "{'descr': '<f444444444444444444444444444444444444444444', 'fortran_order': False, 'shape': (2, 3), }",
      "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3)",
      "{'descr",
      "{",
      "x",
      "{}",
      "{'a': 1}",
      "   ",
  };
  g_autofree char *path = scratch("hostile.npy");
  guint8 data[24] = {0};
  for (gsize i = 0; i < G_N_ELEMENTS(damaged); i++) {
    make_npy(path, 1, damaged[i], data, sizeof data);
    assert_npy_fails(path, FC_IO, "its header is damaged");
  }
  static const struct {
    const char *text, *message;
    int code;
  } refused[] = {
      {"{'descr': '<c8', 'fortran_order': False, 'shape': (2,), }",
       "holds elements of type <c8; supported are bool, (u)int8 to (u)int64 and float16 to float64",
       FC_UNSUPPORTED},
      {"{'descr': [('a', '<f4')], 'fortran_order': False, 'shape': (2,), }",
       "holds elements of type a structure; supported are bool, (u)int8 to (u)int64 and float16 to float64",
       FC_UNSUPPORTED},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1, 1, 1, 1, 2), }",
       "has 5 dimensions; supported are up to 4: (N, Y, X, C)", FC_UNSUPPORTED},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (4611686018427387904, 4611686018427387904), }",
       "says that it has more elements than any file holds", FC_UNSUPPORTED},
      {"{'descr': '<f8', 'fortran_order': False, 'shape': (4611686018427387904,), }",
       "says that it has more elements than any file holds", FC_UNSUPPORTED},
      {"{'descr': '<f4', 'fortran_order': False, 'shape': (1099511627776,), }",
       "is cut off: 24 of 4398046511104 bytes are there; --allow-truncated uses the readable part", FC_IO},
      {"{'descr': '<f4', 'fortran_order': True, 'shape': (3, 1099511627776), }",
       "is cut off: 24 of 13194139533312 bytes are there", FC_IO},
  };
  for (gsize i = 0; i < G_N_ELEMENTS(refused); i++) {
    make_npy(path, 1, refused[i].text, data, sizeof data);
    assert_npy_fails(path, refused[i].code, refused[i].message);
  }
  store(path, "\x93NUMPY\x04\0\x10\0\0\0                ", 28);
  assert_npy_fails(path, FC_UNSUPPORTED, "is a .npy file of version 4; supported are 1 to 3");
  store(path, "\x93NUMPY\x02\0\xff\xff\xff\xff{}", 14);
  assert_npy_fails(path, FC_IO, "its header says that it is 4294967295 bytes long; the limit is 65536");
  store(path, "\x93NUMPY\x01\0\x76\0{'descr'", 18);
  assert_npy_fails(path, FC_IO, "is cut off within its header");
  store(path, "\x93NUMPY\x01", 7);
  assert_npy_fails(path, FC_IO, "is cut off within its header");
  store(path, "\x93NUMPY\x01\0\4\0{}\0 and more", 19);
  assert_npy_fails(path, FC_IO, "its header is damaged");
}

/* A number that is no array of any dimension is an array of one. */
static void test_no_dimension(void) {
  g_autofree char *path = scratch("number.npy"), *out = scratch("number-out.npy"),
                  *flat = scratch("flat.npy");
  float number = 2.5f;
  make_npy(path, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (), }", &number, sizeof number);
  assert_copies(path, out);
  make_npy(path, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1,), }", &number, sizeof number);
  assert_copies(path, flat);
  assert_same_bytes(out, flat);
}

/* Random changes to the header: an array or an error. */
static void test_header_flips(void) {
  g_autofree char *path = scratch("flips.npy");
  guint8 data[96];
  guint32 state = 3;
  gsize size = count_up("<f4", 24, data);
  for (int k = 0; k < 3000; k++) {
    char text[] = "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 6), }    \n";
    for (int n = 0; n < 2; n++) text[noise(&state) % (sizeof text - 1)] = (char)(noise(&state) % 95 + 32);
    make_npy(path, 1, text, data, size);
    GError *error = NULL;
    fc_source *source = fc_media_open(path, NULL, &error);
    g_assert_true((source == NULL) == (error != NULL));
    if (source && source->format.extent[FC_AXIS_X] < 1000) {
      GArray *values = read_all(source, 1, &error);
      if (values) g_array_unref(values);
    }
    if (source) source->free(source);
    g_clear_error(&error);
  }
}

/* With --allow-truncated the outermost dimension is shorter. */
static void test_npy_cut(void) {
  g_autofree char *path = scratch("cut.npy"), *out = scratch("cut-out.npy");
  guint8 data[96];
  count_up("<f4", 24, data);
  make_npy(path, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (4, 6), }", data, 70);
  copy_job job = {.in = path, .out = out, .dtype = -1};
  g_autofree char *message = g_strdup_printf(
      "%s: is cut off: 70 of 96 bytes are there; --allow-truncated uses the readable part", path);
  assert_copy_fails(&job, FC_IO, message);
  job.options.allow_truncated = TRUE;
  g_assert_true(copy(&job, NULL));
  fc_format format;
  g_autoptr(GArray) values = read_file(out, NULL, &format);
  g_assert_cmpint(format.extent[FC_AXIS_Y], ==, 2);
  g_assert_cmpuint(values->len, ==, 12);
}

/* Bytes that are mapped. */
static rlim_t address_space(void) {
  g_autofree char *statm = NULL;
  g_assert_true(g_file_get_contents("/proc/self/statm", &statm, NULL, NULL));
  return g_ascii_strtoull(statm, NULL, 10) * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* Arrays of 1 GiB, all holes, that are wanted in memory where there is less: an error, and not the end. */
static void test_no_memory(void) {
  enum { ROOM = 512 << 20 };
  static const struct {
    const char *order, *shape, *said;
  } cases[] = {{"False", "1, 1, 1073741824", "no memory for 1073741824 channels"},
               {"True", "32768, 32768", "no memory for its 1073741824 bytes"}};
  if (FC_SANITIZED) {
    g_test_skip("a sanitizer takes terabytes of address space");
    return;
  }
  g_autofree char *path = scratch("holes.npy");
  struct rlimit before, less;
  g_assert_cmpint(getrlimit(RLIMIT_AS, &before), ==, 0);
  less = before;
  less.rlim_cur = address_space() + ROOM;
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *text = g_strdup_printf("{'descr': '|u1', 'fortran_order': %s, 'shape': (%s), }\n",
                                            cases[i].order, cases[i].shape);
    g_autofree char *said = g_strdup_printf("%s: %s", path, cases[i].said);
    g_autoptr(GError) error = NULL;
    make_npy(path, 1, text, NULL, 0);
    g_assert_cmpint(truncate(path, (off_t)(10 + strlen(text)) + 1073741824), ==, 0);
    g_assert_cmpint(setrlimit(RLIMIT_AS, &less), ==, 0);
    fc_source *source = fc_media_open(path, NULL, &error);
    g_assert_cmpint(setrlimit(RLIMIT_AS, &before), ==, 0);
    g_assert_null(source);
    g_assert_error(error, FC_ERROR, FC_NO_MEMORY);
    g_assert_cmpstr(error->message, ==, said);
  }
  g_remove(path);
}

static void test_wide_integers(void) {
  g_autofree char *path = scratch("wide.npy");
  gint64 data[] = {1, GINT64_TO_LE((gint64)1 << 53), GINT64_TO_LE(((gint64)1 << 53) + 1)};
  make_npy(path, 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (2,), }", data, 16);
  fc_format format;
  g_autoptr(GArray) values = read_file(path, NULL, &format);
  g_assert_cmpfloat(g_array_index(values, double, 1), ==, 9007199254740992.0);
  make_npy(path, 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (3,), }", data, 24);
  assert_npy_fails(path, FC_UNSUPPORTED, "element 2 is an integer beyond 2^53, which f64 cannot hold");
}

/* ---- raw ------------------------------------------------------------------ */

static void assert_raw(const char *layout, const double *expected, gsize count) {
  g_autofree char *path = scratch("in.raw");
  const fc_media_options options = {.in_raw = layout};
  GError *error = NULL;
  fc_source *source = fc_media_open(path, &options, &error);
  g_assert_no_error(error);
  for (gint64 chunk = 1; chunk < 8; chunk += 3) {
    source = source ? source : fc_media_open(path, &options, &error);
    g_autoptr(GArray) values = read_all(source, chunk, &error);
    g_assert_no_error(error);
    g_assert_cmpmem(values->data, values->len * sizeof(double), expected, count * sizeof(double));
    source->free(source);
    source = NULL;
  }
}

static void test_raw(void) {
  g_autofree char *path = scratch("in.raw");
  guint8 data[48];
  count_up("<i2", 12, data);
  store(path, data, 24);
  const double in_order[] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11},
               planar[] = {0, 6, 1, 7, 2, 8, 3, 9, 4, 10, 5, 11},
               images[] = {0, 3, 1, 4, 2, 5, 6, 9, 7, 10, 8, 11};
  double scaled[12], scaled_planar[12];
  for (int i = 0; i < 12; i++) {
    scaled[i] = in_order[i] / 32768;
    scaled_planar[i] = planar[i] / 32768;
  }
  assert_raw("dtype=i16,channels=2,rate=8000", scaled, 12);
  assert_raw("dtype=i16,channels=2,rate=8000,layout=planar", scaled_planar, 12);
  assert_raw("dtype=i16,channels=2,rate=8000,length=4", scaled, 8);
  assert_raw("dtype=i16, width=3, height=2, channels=2", in_order, 12);
  assert_raw("dtype=i16,width=3,height=1,channels=2,layout=planar", images, 12);
  count_up(">i2", 12, data);
  store(path, data, 24);
  assert_raw("dtype=i16,channels=2,rate=8000,endian=big", scaled, 12);
}

static void test_raw_mistakes(void) {
  static const struct {
    const char *layout, *message;
  } mistakes[] = {
      {"dtype=f16,rate=1", "raw layout: dtype: expected u8|i16|u16|i32|f32|f64, found \"f16\""},
      {"channels=2,rate=8000", "raw layout: dtype is missing, as in dtype=f32,channels=2,rate=48000"},
      {"dtype=u8",
       "raw layout: rate is missing (or width and height), as in dtype=f32,channels=2,rate=48000"},
      {"dtype=u8,width=3", "raw layout: an image needs both width and height"},
      {"dtype=u8,rate=0", "raw layout: rate: expected 1..1000000000, found \"0\""},
      {"dtype=u8,rate=8000,layout=chunky",
       "raw layout: layout: expected interleaved|planar, found \"chunky\""},
      {"dtype", "raw layout: dtype needs one of u8|i16|u16|i32|f32|f64, as in dtype=u8"},
      {"dtype=u8,depth=3",
       "raw layout: no option \"depth\" of raw: there are dtype, channels, rate, width, height, length, "
       "layout, endian (a colon in a file's name is written \\:)"},
  };
  g_autofree char *path = scratch("m.raw");
  store(path, "12345678", 7);
  for (gsize i = 0; i < G_N_ELEMENTS(mistakes); i++) {
    const fc_media_options options = {.in_raw = mistakes[i].layout};
    GError *error = NULL;
    g_assert_null(fc_media_open(path, &options, &error));
    g_assert_error(error, FC_ERROR, FC_INVALID);
    g_assert_cmpstr(error->message, ==, mistakes[i].message);
    g_error_free(error);
  }
  g_autofree char *out = scratch("m.npy");
  copy_job job = {.in = path, .out = out, .dtype = -1, .options = {.in_raw = "dtype=i16,rate=8000"}};
  g_autofree char *message = g_strdup_printf("%s: its 7 bytes are no multiple of the 2 that the layout asks "
                                             "for; --allow-truncated uses the readable part",
                                             path);
  assert_copy_fails(&job, FC_IO, message);
}

/* Sound goes out as raw and comes back. */
static void test_raw_round_trip(void) {
  g_autofree char *in = scratch("rr.wav"), *raw = scratch("rr.raw"), *out = scratch("rr2.wav");
  make_sound(in, 0x010004, 44100, 3, 4321);
  assert_copies(in, raw);
  copy_job job = {
      .in = raw, .out = out, .dtype = -1, .options = {.in_raw = "dtype=i32,channels=3,rate=44100"}};
  GError *error = NULL;
  copy(&job, &error);
  g_assert_no_error(error);
  bytes a = load(in), b = load(out);
  g_assert_cmpmem(a.data + a.size - 4321 * 12, 4321 * 12, b.data + b.size - 4321 * 12, 4321 * 12);
  clear_bytes(&a);
  clear_bytes(&b);
}

/* ---- tables ---------------------------------------------------------------- */

static void assert_table(const char *path, gint64 rows, gint64 cols, double rate, const double *values) {
  GError *error = NULL;
  g_autoptr(fc_table) table = fc_media_load_table(path, FALSE, &error);
  g_assert_no_error(error);
  g_assert_cmpint(table->rows, ==, rows);
  g_assert_cmpint(table->cols, ==, cols);
  g_assert_cmpfloat(table->rate, ==, rate);
  g_assert_cmpmem(table->data, (gsize)(rows * cols) * sizeof(double), values,
                  (gsize)(rows * cols) * sizeof(double));
}

static void assert_table_fails(const char *path, const char *message) {
  GError *error = NULL;
  g_autofree char *expected = g_strdup_printf("%s: %s", path, message);
  g_assert_null(fc_media_load_table(path, FALSE, &error));
  g_assert_nonnull(error);
  g_assert_cmpstr(error->message, ==, expected);
  g_error_free(error);
}

static void test_tables(void) {
  g_autofree char *npy = scratch("t.npy"), *text = scratch("t.txt");
  const double six[] = {0, 1, 2, 3, 4, 5};
  guint8 data[64];
  make_npy(npy, 1, "{'descr': '<i8', 'fortran_order': False, 'shape': (6,), }", data,
           count_up("<i8", 6, data));
  assert_table(npy, 1, 6, 0, six);
  make_npy(npy, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (2, 3), }", data,
           count_up("<f4", 6, data));
  assert_table(npy, 2, 3, 0, six);
  make_npy(npy, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (1, 2, 3), }", data, 24);
  assert_table_fails(npy, "a table has one or two dimensions");
  make_npy(npy, 1, "{'descr': '<f4', 'fortran_order': False, 'shape': (0,), }", data, 0);
  assert_table_fails(npy, "holds no numbers");
  store(text, "0 1 2\n3 4 5\n", 12);
  assert_table(text, 2, 3, 0, six);
  store(text, "1\n2\nx\n", 6);
  GError *error = NULL;
  g_assert_null(fc_media_load_table(text, FALSE, &error));
  g_autofree char *expected = g_strdup_printf("%s:3: expected a number, found \"x\"", text);
  g_assert_cmpstr(error->message, ==, expected);
  g_error_free(error);
}

static void test_sound_as_table(void) {
  g_autofree char *raw = scratch("imp.raw"), *wav = scratch("imp.wav");
  const gint16 samples[] = {GINT16_TO_LE(16384), GINT16_TO_LE(-8192), GINT16_TO_LE(1), GINT16_TO_LE(-32768)};
  const double values[] = {0.5, -0.25, 1.0 / 32768, -1.0};
  store(raw, samples, sizeof samples);
  for (int channels = 1; channels <= 2; channels++) {
    g_autofree char *layout = g_strdup_printf("dtype=i16,rate=48000,channels=%d", channels);
    copy_job job = {.in = raw, .out = wav, .dtype = -1, .options = {.in_raw = layout}};
    g_assert_true(copy(&job, NULL));
    assert_table(wav, channels == 1 ? 1 : 2, channels == 1 ? 4 : 2, 48000, values);
  }
}

/* ---- rounding -------------------------------------------------------------- */

static void check_rounding(int kind, int dtype, const double *values, const gint64 *expected, int count) {
  const fc_format format = {.kind = kind, .dtype = FC_F64, .extent = {1, 1, count, 1}};
  fc_view view = view_of(&format, (void *)values, kind == FC_AUDIO ? count : 1);
  guint64 to[16] = {0};
  g_assert_true(fc_quantise("test", &view, 0, to, dtype, NULL));
  for (int i = 0; i < count; i++) {
    gint64 got = dtype == FC_U8    ? ((guint8 *)to)[i]
                 : dtype == FC_I16 ? ((gint16 *)to)[i]
                 : dtype == FC_U16 ? ((guint16 *)to)[i]
                                   : ((gint32 *)to)[i];
    g_assert_cmpint(got, ==, expected[i]);
  }
}

static void test_quantise(void) {
  const double image[] = {0.5, 1.5, 2.5, 2.4999999, -0.5, -3, 254.5, 255.5, 1e30, -INFINITY, INFINITY};
  check_rounding(FC_IMAGE, FC_U8, image, (gint64[]){0, 2, 2, 2, 0, 0, 254, 255, 255, 0, 255}, 11);
  check_rounding(FC_IMAGE, FC_U16, image, (gint64[]){0, 2, 2, 2, 0, 0, 254, 256, 65535, 0, 65535}, 11);
  check_rounding(FC_IMAGE, FC_I32, image,
                 (gint64[]){0, 2, 2, 2, 0, -3, 254, 256, G_MAXINT32, G_MININT32, G_MAXINT32}, 11);
  const double sound[] = {0,  1,   -1, 0.5 / 32768, 1.5 / 32768, -0.5 / 32768, -1.5 / 32768, 32767.5 / 32768,
                          -2, 0.25};
  check_rounding(FC_AUDIO, FC_I16, sound, (gint64[]){0, 32767, -32768, 0, 2, 0, -2, 32767, -32768, 8192}, 10);
  check_rounding(FC_AUDIO, FC_U8, sound, (gint64[]){128, 255, 0, 128, 128, 128, 128, 255, 0, 160}, 10);
  check_rounding(
      FC_AUDIO, FC_I32, sound,
      (gint64[]){0, G_MAXINT32, G_MININT32, 32768, 98304, -32768, -98304, 2147450880, G_MININT32, 536870912},
      10);
}

/* A view of one element. */
static fc_view view_of_one(int dtype, void *data) {
  const gint64 size = (gint64)fc_dtype_size(dtype);
  return (fc_view){.size = sizeof(fc_view),
                   .kind = FC_AUDIO,
                   .dtype = dtype,
                   .shape = {1, 1, 1, 1},
                   .stride = {size, size, size, size},
                   .data = data};
}

/* Every code of 16 bits, to 8 and to 12: against the definition. */
static void test_round_bits(void) {
  for (int bits = 8; bits <= 16; bits += 4)
    for (int code = -32768; code < 32768; code++) {
      gint16 sample = (gint16)code, got;
      const fc_view view = view_of_one(FC_I16, &sample);
      double step = ldexp(1, 16 - bits), nearest = rint(code / step) * step;
      g_assert_true(fc_quantise_bits("test", &view, 0, &got, FC_I16, bits, NULL, NULL));
      g_assert_cmpfloat(got, ==, MIN(nearest, 32768 - step));
    }
  gint32 wide[] = {0x7fffffff, (gint32)0x80000000, 0x80, 0x180, 0x81, -0x80, -0x180, -0x81};
  const gint32 expected[] = {0x7fffff00, (gint32)0x80000000, 0, 0x200, 0x100, 0, -0x200, -0x100};
  for (gsize i = 0; i < G_N_ELEMENTS(wide); i++) {
    gint32 got;
    const fc_view view = view_of_one(FC_I32, &wide[i]);
    g_assert_true(fc_quantise_bits("test", &view, 0, &got, FC_I32, 24, NULL, NULL));
    g_assert_cmpint(got, ==, expected[i]);
  }
}

/* Floats are rounded once: next to a half of 24 bits, or of 8, what 32 or 16 bits would round to a half first
 * goes to the nearer side. */
static void test_round_once(void) {
  static const int widths[] = {24, 8};
  for (gsize i = 0; i < G_N_ELEMENTS(widths); i++) {
    const double step = ldexp(1, 1 - widths[i]);
    for (int code = -5; code < 5; code++)
      for (int side = -1; side <= 1; side++) {
        double sample = (code + 0.5) * step + side * ldexp(1, -48), nearest = rint(sample / step);
        const fc_view view = view_of_one(FC_F64, &sample);
        gint32 wide;
        gint16 narrow;
        g_assert_true(fc_quantise_bits("test", &view, 0, widths[i] == 24 ? (void *)&wide : &narrow,
                                       widths[i] == 24 ? FC_I32 : FC_I16, widths[i], NULL, NULL));
        g_assert_cmpfloat(widths[i] == 24 ? wide / 256.0 : narrow / 256.0, ==, nearest);
      }
  }
}

/* Any strides in, the same dense samples out. */
static void test_strides(void) {
  gint16 planar[2][2][6], expected[2][6][2], got[2][6][2];
  for (int y = 0; y < 2; y++)
    for (int x = 0; x < 6; x++)
      for (int c = 0; c < 2; c++) planar[c][y][x] = expected[y][x][c] = (gint16)(100 * y + 10 * x + c);
  fc_view view = {.size = sizeof view,
                  .dtype = FC_I16,
                  .kind = FC_IMAGE,
                  .device = FC_HOST,
                  .data = planar,
                  .shape = {1, 2, 6, 2},
                  .stride = {48, 12, 2, 24}};
  g_assert_true(fc_quantise("test", &view, 0, got, FC_I16, NULL));
  g_assert_cmpmem(got, sizeof got, expected, sizeof expected);
  view.data = planar[0][0] + 5; /* mirrored */
  view.stride[FC_AXIS_X] = -2;
  g_assert_true(fc_quantise("test", &view, 0, got, FC_I16, NULL));
  g_assert_cmpint(got[1][0][1], ==, 151);
  g_assert_cmpint(got[0][5][0], ==, 0);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  scratch_init();
  g_test_add_func("/media/array/no-memory", test_no_memory);
  g_test_add_func("/media/array/types", test_types);
  g_test_add_func("/media/array/shapes", test_shapes);
  g_test_add_func("/media/array/written-header", test_written_header);
  g_test_add_func("/media/array/hostile-headers", test_hostile_headers);
  g_test_add_func("/media/array/header-flips", test_header_flips);
  g_test_add_func("/media/array/no-dimension", test_no_dimension);
  g_test_add_func("/media/array/cut", test_npy_cut);
  g_test_add_func("/media/array/wide-integers", test_wide_integers);
  g_test_add_func("/media/array/raw", test_raw);
  g_test_add_func("/media/array/raw-mistakes", test_raw_mistakes);
  g_test_add_func("/media/array/raw-round-trip", test_raw_round_trip);
  g_test_add_func("/media/array/tables", test_tables);
  g_test_add_func("/media/array/sound-as-table", test_sound_as_table);
  g_test_add_func("/media/array/quantise", test_quantise);
  g_test_add_func("/media/array/round-bits", test_round_bits);
  g_test_add_func("/media/array/round-once", test_round_once);
  g_test_add_func("/media/array/strides", test_strides);
  int status = g_test_run();
  scratch_remove();
  return status;
}
