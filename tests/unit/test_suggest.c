/* SPDX-License-Identifier: MIT */
#include "core/base/suggest.h"

#include <string.h>

static void test_distance(void) {
  static const struct {
    const char *a, *b;
    guint distance;
  } cases[] = {
      {"", "", 0},         {"", "abc", 3},           {"abc", "", 3},          {"flip", "flp", 1},
      {"flip", "flpi", 1}, {"kitten", "sitting", 3}, {"CONV1D", "conv1d", 0}, {"ca", "abc", 3},
      {"ab", "ba", 1},     {"abcd", "badc", 2},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    g_assert_cmpuint(fc_edit_distance(cases[i].a, cases[i].b), ==, cases[i].distance);
    g_assert_cmpuint(fc_edit_distance(cases[i].b, cases[i].a), ==, cases[i].distance);
  }
}

/* The first 64 bytes decide, and nothing is read or written beyond the rows. */
static void test_long(void) {
  char a[1000], b[1000];
  memset(a, 'a', sizeof a);
  memset(b, 'b', sizeof b);
  a[999] = b[999] = 0;
  g_assert_cmpuint(fc_edit_distance(a, b), ==, 64);
  g_assert_cmpuint(fc_edit_distance(a, a + 500), ==, 0);
}

static void test_suggest(void) {
  const char *const names[] = {"conv1d", "conv2d", "gain", "sepconv", "winstat", NULL};
  static const struct {
    const char *typed, *meant;
  } cases[] = {
      {"conv1", "conv1d"}, {"conv3d", "conv1d"},    {"Gain", "gain"},
      {"gian", "gain"},    {"sepcnov", "sepconv"},  {"win", "winstat"},
      {"g", NULL},         {"reverb", NULL},        {"", NULL},
      {"conv", "conv1d"},  {"winstats", "winstat"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++)
    g_assert_cmpstr(fc_suggest(cases[i].typed, names), ==, cases[i].meant);
  const char *const none[] = {NULL};
  g_assert_null(fc_suggest("gain", none));
  const char *const letters[] = {"x", NULL};
  g_assert_null(fc_suggest("y", letters));
}

static void test_sentence(void) {
  const char *const names[] = {"flip", NULL};
  g_autofree char *near = fc_did_you_mean("flp", names), *far = fc_did_you_mean("border", names);
  g_assert_cmpstr(near, ==, ": did you mean \"flip\"?");
  g_assert_cmpstr(far, ==, "");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/suggest/distance", test_distance);
  g_test_add_func("/suggest/long", test_long);
  g_test_add_func("/suggest/suggest", test_suggest);
  g_test_add_func("/suggest/sentence", test_sentence);
  return g_test_run();
}
