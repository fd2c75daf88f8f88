/* SPDX-License-Identifier: MIT */
#include "core/registry/table.h"

#include "tests/unit/expect.h"

#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* "2x3: 1 2 3 4 5 6"; g_free. */
static char *render(const fc_table *table) {
  GString *out = g_string_new(NULL);
  g_string_append_printf(out, "%dx%d:", (int)table->rows, (int)table->cols);
  for (gint64 i = 0; i < table->rows * table->cols; i++) {
    char number[G_ASCII_DTOSTR_BUF_SIZE];
    g_ascii_dtostr(number, sizeof number, table->data[i]);
    g_string_append_printf(out, " %s", number);
  }
  return g_string_free(out, FALSE);
}

/* The text in a block of its own size, so that the sanitizer sees what reads on. */
static fc_table *parse(const char *text, gsize length, gboolean ragged, GError **error) {
  char *exact = g_malloc(length ? length : 1);
  memcpy(exact, text, length);
  fc_table *table = fc_table_parse("m.txt", exact, length, ragged, error);
  g_free(exact);
  return table;
}

static void test_files(void) {
  static const struct {
    const char *text;
    gboolean ragged;
    const char *table;
  } cases[] = {
      {"1 2 3", FALSE, "1x3: 1 2 3"},
      {"1,2,3\n", FALSE, "1x3: 1 2 3"},
      {"1, 2 ,3\t4\n", FALSE, "1x4: 1 2 3 4"},
      {"1\n2\n3\n", FALSE, "3x1: 1 2 3"},
      {"1\n2\n3", TRUE, "3x1: 1 2 3"},
      {"7", FALSE, "1x1: 7"},
      {"1 2\n3 4\n", FALSE, "2x2: 1 2 3 4"},
      {"1 2\n3 4\n", TRUE, "2x2: 1 2 3 4"},
      {"1 2 3\n4\n", TRUE, "1x4: 1 2 3 4"},
      {"1\n2 3\n", TRUE, "1x3: 1 2 3"},
      {"1 2,\n3 4,\n", FALSE, "2x2: 1 2 3 4"},
      {"# a mask\n\n 1 2 # two\n#\n\t\n3 4", FALSE, "2x2: 1 2 3 4"},
      {"1 2\r\n3 4\r\n", FALSE, "2x2: 1 2 3 4"},
      {"1 2\r3 4\r", FALSE, "2x2: 1 2 3 4"},
      {"\xef\xbb\xbf"
       "1 2",
       FALSE, "1x2: 1 2"},
      {"1#2", FALSE, "1x1: 1"},
      {"-1 +2 .5 5. -.25 1e3 1E-2 2e+1 007", FALSE, "1x9: -1 2 0.5 5 -0.25 1000 0.01 20 7"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    GError *error = NULL;
    g_autoptr(fc_table) table = parse(cases[i].text, strlen(cases[i].text), cases[i].ragged, &error);
    g_assert_no_error(error);
    g_autofree char *text = render(table);
    g_assert_cmpstr(text, ==, cases[i].table);
    g_assert_cmpstr(table->name, ==, "m.txt");
    g_assert_cmpuint(table->size, ==, sizeof *table);
    g_assert_cmpfloat(table->rate, ==, 0);
  }
}

static void test_bad_files(void) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "m.txt: it holds no numbers"},
      {"\n # nothing\n", "m.txt: it holds no numbers"},
      {"1\n2\n\n\n\n\nx\n", "m.txt:7: expected a number, found \"x\""},
      {"1 2x 3", "m.txt:1: expected a number, found \"2x\""},
      {"1\r\n2\r\nx", "m.txt:3: expected a number, found \"x\""},
      {"0x10", "m.txt:1: expected a number, found \"0x10\""},
      {"1e", "m.txt:1: expected a number, found \"1e\""},
      {".", "m.txt:1: expected a number, found \".\""},
      {"-", "m.txt:1: expected a number, found \"-\""},
      {"--1", "m.txt:1: expected a number, found \"--1\""},
      {"1.2.3", "m.txt:1: expected a number, found \"1.2.3\""},
      {"0,5;0,5", "m.txt:1: expected a number, found \";\""},
      {",1", "m.txt:1: expected a number, found \",\""},
      {"1,,2", "m.txt:1: expected a number, found \",\""},
      {"[1,2]", "m.txt:1: expected a number, found \"[1\""},
      {"1 nan", "m.txt:1: \"nan\" is not finite"},
      {"1\n-Inf", "m.txt:2: \"-Inf\" is not finite"},
      {"infinity", "m.txt:1: \"infinity\" is not finite"},
      {"1e999", "m.txt:1: \"1e999\" is too large"},
      {"1 2\n3\n", "m.txt:2: 1 numbers in this row, 2 in the first"},
      {"\xff\xfe"
       "1",
       "m.txt: UTF-16 text: save it as UTF-8"},
      {"\x7f"
       "ELF\x02\x01",
       "m.txt:1: expected numbers, found binary data"},
      {"1 \x80\x81", "m.txt:1: expected numbers, found binary data"},
      {"gr\xc3\xbc\xc3\x9f"
       "e",
       "m.txt:1: expected a number, found \"gr\xc3\xbc\xc3\x9f"
       "e\""},
      {"aaaaaaaaaabbbbbbbbbbccccccccccddddddddddeeeeeeeeee",
       "m.txt:1: expected a number, found \"aaaaaaaaaabbbbbbbbbbccccccccccdddddddddd...\""},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    GError *error = NULL;
    g_assert_null(parse(cases[i].text, strlen(cases[i].text), FALSE, &error));
    expect_error(&error, cases[i].message);
  }
}

/* NUL bytes are neither the end of the text nor a delimiter. */
static void test_nul(void) {
  GError *error = NULL;
  g_assert_null(parse("1 2\0"
                      "3",
                      5, FALSE, &error));
  expect_error(&error, "m.txt:1: expected numbers, found binary data");
  g_assert_null(parse("1 \0", 3, FALSE, &error));
  expect_error(&error, "m.txt:1: expected numbers, found binary data");
}

static void test_inline(void) {
  static const struct {
    const char *text;
    gboolean ragged;
    const char *table, *message;
  } cases[] = {
      {"[1,2,1]/4", FALSE, "1x3: 0.25 0.5 0.25", NULL},
      {"[1,0;0,1]", FALSE, "2x2: 1 0 0 1", NULL},
      {"[ 1 2 ; 3 4 ]*2", FALSE, "2x2: 2 4 6 8", NULL},
      {"[1;2;3]", FALSE, "3x1: 1 2 3", NULL},
      {"[1,2;3]", TRUE, "1x3: 1 2 3", NULL},
      {"[5]", FALSE, "1x1: 5", NULL},
      {"[1,2;3]", FALSE, NULL, "[1,2;3]: 1 numbers in this row, 2 in the first"},
      {"[]", FALSE, NULL, "[]: expected a number before \"]\""},
      {"[1,]", FALSE, NULL, "[1,]: expected a number before \"]\""},
      {"[;1]", FALSE, NULL, "[;1]: expected a number before \";\""},
      {"[1;]", FALSE, NULL, "[1;]: expected a number before \"]\""},
      {"[1,,2]", FALSE, NULL, "[1,,2]: expected a number before \",\""},
      {"[1,x]", FALSE, NULL, "[1,x]: expected a number, found \"x\""},
      {"[1,[2]]", FALSE, NULL, "[1,[2]]: expected a number, found \"[2\""},
      {"[1", FALSE, NULL, "[1: \"[\" is not closed"},
      {"[1]/0", FALSE, NULL, "[1]/0: /0 divides by zero"},
      {"[0]/0", FALSE, NULL, "[0]/0: /0 divides by zero"},
      {"[1e30]*1e30", FALSE, NULL, "[1e30]*1e30: *1e30 makes a number larger than 3.4e38"},
      {"[1,-1e39]", FALSE, NULL,
       "[1,-1e39]: -1e+39 is too large: the largest number of a mask or matrix is 3.4e38"},
      {"[1]/x", FALSE, NULL, "[1]/x: expected a number, found \"x\""},
      {"[1]/", FALSE, NULL, "[1]/: after \"]\" only /NUMBER or *NUMBER may follow"},
      {"[1]2", FALSE, NULL, "[1]2: after \"]\" only /NUMBER or *NUMBER may follow"},
      {"1,2", FALSE, NULL, "1,2: a table that is written out begins with \"[\""},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    GError *error = NULL;
    g_autoptr(fc_table) table = fc_table_parse_inline(cases[i].text, cases[i].ragged, &error);
    g_assert_true((table != NULL) == (cases[i].table != NULL));
    g_autofree char *text = table ? render(table) : NULL;
    g_assert_cmpstr(text, ==, cases[i].table);
    if (!table) expect_error(&error, cases[i].message);
  }
}

/* Every number must be the double nearest to what is written, as strtod's is. */
static void test_rounding(void) {
  for (int i = 0; i < 100000; i++) {
    char text[64];
    double value, back = 0;
    do {
      guint64 bits = (guint64)g_test_rand_int() << 32 | (guint32)g_test_rand_int();
      memcpy(&value, &bits, sizeof value);
    } while (!isfinite(value));
    if (i & 1) value = g_test_rand_double_range(-1, 1);
    snprintf(text, sizeof text, "%.*g", 1 + i % 17, value);
    const char *end = text + strlen(text);
    double nearest = g_ascii_strtod(text, NULL);
    if (!isfinite(nearest)) continue;
    g_assert_true(fc_number_scan(text, end, &back) == end);
    g_assert_true(memcmp(&back, &nearest, sizeof back) == 0);
  }
}

/* A number of 5000 digits is still a number. */
static void test_long_number(void) {
  GString *text = g_string_new("0.");
  double value = 0;
  for (int i = 0; i < 5000; i++) g_string_append_c(text, '3');
  g_assert_true(fc_number_scan(text->str, text->str + text->len, &value) == text->str + text->len);
  g_assert_true(value == 1.0 / 3.0);
  g_string_free(text, TRUE);
}

static void test_locale(void) {
  static const char *const comma[] = {"de_DE.UTF-8", "fr_FR.UTF-8", "de_DE", "nl_NL.UTF-8"};
  gboolean found = FALSE;
  for (guint i = 0; i < G_N_ELEMENTS(comma) && !found; i++) found = setlocale(LC_ALL, comma[i]) != NULL;
  if (!found) {
    g_test_skip("no locale with a decimal comma is installed");
    return;
  }
  double value = 0;
  const char *text = "0.12345678901234567890";
  g_assert_true(fc_number_scan(text, text + strlen(text), &value) == text + strlen(text));
  g_assert_cmpfloat(value, ==, 0.12345678901234567890);
  setlocale(LC_ALL, "C");
}

static void test_new(void) {
  const double data[] = {1, 2, 3, NAN};
  GError *error = NULL;
  g_autoptr(fc_table) table = fc_table_new("ir.wav", 1, 3, data, 48000, &error);
  g_assert_no_error(error);
  g_assert_cmpfloat(table->rate, ==, 48000);
  g_assert_true(table->data != data && memcmp(table->data, data, 3 * sizeof *data) == 0);
  g_assert_null(fc_table_new("ir.wav", 2, 2, data, 0, &error));
  expect_error(&error, "ir.wav: number 4 is not finite");
  g_assert_null(fc_table_new("ir.wav", 0, 2, data, 0, &error));
  expect_error(&error, "ir.wav: it holds no numbers");
  g_assert_null(
      fc_table_new("ir.wav", G_GINT64_CONSTANT(1) << 40, G_GINT64_CONSTANT(1) << 40, data, 0, &error));
  expect_error(&error, "ir.wav: more than 67108864 numbers");
  fc_table_free(NULL);
}

/* 2^26 numbers are taken and one more is not; needs 640 MiB, so only on request. */
static void test_limit(void) {
  if (!g_test_slow()) {
    g_test_skip("needs 640 MiB (-m slow)");
    return;
  }
  gsize length = 2 * (gsize)FC_TABLE_MAX + 2;
  char *text = g_malloc(length);
  for (gsize i = 0; i < length; i += 2) text[i] = '1', text[i + 1] = ' ';
  GError *error = NULL;
  g_autoptr(fc_table) table = fc_table_parse("m.txt", text, length - 2, FALSE, &error);
  g_assert_no_error(error);
  g_assert_cmpint(table->cols, ==, FC_TABLE_MAX);
  g_assert_null(fc_table_parse("m.txt", text, length, FALSE, &error));
  expect_error(&error, "m.txt:1: more than 67108864 numbers");
  g_free(text);
}

static void test_random(void) {
  static const char alphabet[] = "1-.e+ ,\n\r#x\0\xff[];/*";
  for (int round = 0; round < 20000; round++) {
    char text[16];
    int length = g_test_rand_int_range(0, sizeof text);
    for (int i = 0; i < length; i++) text[i] = alphabet[g_test_rand_int_range(0, sizeof alphabet - 1)];
    GError *error = NULL;
    fc_table *table = parse(text, (gsize)length, round & 1, &error);
    g_assert_true((table == NULL) == (error != NULL));
    if (table) g_assert_cmpint(table->rows * table->cols, >, 0);
    fc_table_free(table);
    g_clear_error(&error);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/table/files", test_files);
  g_test_add_func("/table/bad-files", test_bad_files);
  g_test_add_func("/table/nul", test_nul);
  g_test_add_func("/table/inline", test_inline);
  g_test_add_func("/table/rounding", test_rounding);
  g_test_add_func("/table/long-number", test_long_number);
  g_test_add_func("/table/locale", test_locale);
  g_test_add_func("/table/new", test_new);
  g_test_add_func("/table/limit", test_limit);
  g_test_add_func("/table/random", test_random);
  return g_test_run();
}
