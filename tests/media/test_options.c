/* SPDX-License-Identifier: MIT */
/* test_options.c - options behind a file's name: cutting, checking, and names with colons. */
#include <string.h>

#include "media/file/formats.h"
#include "media/file/options.h"
#include "tests/media/support.h"

static const fc_file_option table[] = {{"quality", "1..100", "90", ""},
                                       {"lossless", "yes|no", "no", ""},
                                       {"colour", "RRGGBB", "ffffff", ""},
                                       {"dtype", "u8|i16", "required", ""},
                                       {"rate", "1..1000", "required for sound", ""},
                                       {NULL, NULL, NULL, NULL}};

static fc_given_options *parse(const char *file, const char *path) {
  fc_given_options *given;
  GError *error = NULL;
  g_autofree char *found = fc_given_options_parse(file, FALSE, &given, &error);
  g_assert_no_error(error);
  g_assert_cmpstr(found, ==, path);
  return given;
}

static void test_paths(void) {
  static const char *const cases[][3] = {{"a.png", "a.png", ""},
                                         {"it's [a] \\ name.png", "it's [a] \\ name.png", ""},
                                         {"a.png:x=1:y", "a.png", ":x=1:y"},
                                         {"a\\:b.png:x=1", "a:b.png", ":x=1"},
                                         {"'a:b.png':x=1", "a:b.png", ":x=1"},
                                         {"'a:b.png'", "a:b.png", ""},
                                         {"'a:b.png", "'a", ":b.png"},
                                         {"-:x=1", "-", ":x=1"}};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autofree char *rest = NULL, *path = fc_file_split(cases[i][0], FALSE, &rest),
                    *joined = fc_file_join(path, rest);
    g_assert_cmpstr(path, ==, cases[i][1]);
    g_assert_cmpstr(rest, ==, cases[i][2]);
    g_autofree char *again = fc_file_split(joined, FALSE, NULL);
    g_assert_cmpstr(again, ==, path);
  }
}

static void test_values(void) {
  g_autoptr(fc_given_options) given = parse("a.png:quality=7:lossless:colour=a\\:b", "a.png");
  g_assert_true(fc_given_options_check(given, table, "a.png", "PNG", NULL));
  g_assert_cmpint(fc_option_number(given, table, "quality"), ==, 7);
  g_assert_true(fc_option_is_set(given, table, "lossless"));
  g_assert_cmpstr(fc_option_text(given, table, "colour"), ==, "a:b");
  g_assert_cmpint(fc_option_number(NULL, table, "quality"), ==, 90);
  g_assert_false(fc_option_is_set(NULL, table, "lossless"));
}

static void test_refused(void) {
  static const struct {
    const char *file, *sentence;
  } cases[] = {
      {"a.png:qality=7",
       "a.png: no option \"qality\" of PNG: there are quality, lossless, colour, dtype, rate (a colon "
       "in a file's name is written \\:)"},
      {"a.png:quality=7:quality=8", "a.png: quality is given twice"},
      {"a.png:quality=0", "a.png: quality: expected 1..100, found \"0\""},
      {"a.png:quality", "a.png: quality needs a number 1..100, as in quality=90"},
      {"a.png:lossless=", "a.png: lossless needs one of yes|no, as in lossless=no"},
      {"a.png:dtype", "a.png: dtype needs one of u8|i16, as in dtype=u8"},
      {"a.png:rate=", "a.png: rate needs a number 1..1000"},
      {"a.png:lossless=perhaps", "a.png: lossless: expected yes|no, found \"perhaps\""},
      {"a.png:colour=", "a.png: colour needs a value: RRGGBB"},
      {"a.png:colour", "a.png: colour needs a value: RRGGBB"}};
  for (gsize i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_autoptr(fc_given_options) given = parse(cases[i].file, "a.png");
    g_autoptr(GError) error = NULL;
    g_assert_false(fc_given_options_check(given, table, "a.png", "PNG", &error));
    g_assert_error(error, FC_ERROR, FC_INVALID);
    g_assert_cmpstr(error->message, ==, cases[i].sentence);
  }
  static const char *const nothing[] = {":x=1", "", "a.png:", "a.png::x", "a.png:=1"};
  for (gsize i = 0; i < G_N_ELEMENTS(nothing); i++) {
    fc_given_options *given;
    g_autoptr(GError) error = NULL;
    g_assert_null(fc_given_options_parse(nothing[i], FALSE, &given, &error));
    g_assert_error(error, FC_ERROR, FC_INVALID);
  }
}

/* A file that exists is read under its whole name. */
static void test_existing(void) {
  g_autofree char *path = scratch("12:30.raw");
  fc_given_options *given;
  store(path, "abcd", 4);
  g_autofree char *reading = fc_given_options_parse(path, TRUE, &given, NULL);
  g_assert_cmpstr(reading, ==, path);
  g_assert_null(given);
  g_autoptr(GError) error = NULL;
  g_assert_null(fc_given_options_parse(path, FALSE, &given, &error));
  g_assert_nonnull(
      strstr(error->message, "\"30.raw\" is not an option (a colon in a file's name is written \\:)"));
}

/* Each option of the table of formats has a standard value that it allows. */
static void test_formats(void) {
  gsize count;
  g_autofree fc_file_format_info *formats = fc_file_formats(&count);
  g_assert_cmpuint(count, >=, 15);
  for (gsize i = 0; i < count; i++) {
    const fc_file_option *const tables[] = {formats[i].reading, formats[i].writing};
    g_assert_true(formats[i].reader || formats[i].writer);
    for (int k = 0; k < 2; k++)
      for (const fc_file_option *o = tables[k]; o && o->key; o++) {
        g_autofree char *file = g_strdup_printf("x:%s=%s", o->key, o->standard);
        g_autoptr(fc_given_options) given = parse(file, "x");
        g_assert_true(fc_given_options_check(given, tables[k], "x", formats[i].title, NULL));
        g_assert_cmpuint(strlen(o->summary), >, 0);
      }
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  scratch_init();
  g_test_add_func("/media/options/paths", test_paths);
  g_test_add_func("/media/options/values", test_values);
  g_test_add_func("/media/options/refused", test_refused);
  g_test_add_func("/media/options/existing", test_existing);
  g_test_add_func("/media/options/formats", test_formats);
  int status = g_test_run();
  scratch_remove();
  return status;
}
