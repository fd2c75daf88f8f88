/* SPDX-License-Identifier: MIT */
#include "core/registry/syntax.h"

#include "tests/unit/expect.h"

/* name|key=value|value, with ~ before what was quoted; g_free. */
static char *render(const fc_stage_text *stage) {
  GString *out = g_string_new(stage->name);
  for (guint i = 0; i < stage->n_args; i++) {
    const fc_stage_arg *arg = &stage->args[i];
    g_string_append_printf(out, "|%s%s%s%s", arg->key ? arg->key : "", arg->key ? "=" : "",
                           arg->quoted ? "~" : "", arg->value);
  }
  return g_string_free(out, FALSE);
}

static void test_accepted(void) {
  static const struct {
    const char *text, *parts;
  } cases[] = {
      {"gain", "gain"},
      {"gain:0.5", "gain|0.5"},
      {"conv1d:mask.txt:flip=no", "conv1d|mask.txt|flip=no"},
      {"conv1d:[1,2,1]/4", "conv1d|[1,2,1]/4"},
      {"conv2d:[1,0;0,1]:border=wrap", "conv2d|[1,0;0,1]|border=wrap"},
      {"x:[a:b]:c", "x|[a:b]|c"},
      {"x:[[a]:b]:c", "x|[[a]:b]|c"},
      {"x:k=[a:b]", "x|k=[a:b]"},
      {"x:'a:b'", "x|~a:b"},
      {"x:a\\:b", "x|~a:b"},
      {"x:a\\\\b", "x|~a\\b"},
      {"x:it\\'s", "x|~it's"},
      {"x:'it'\\''s'", "x|~it's"},
      {"x:dir\\file", "x|dir\\file"},
      {"x:k=''", "x|k=~"},
      {"x:''", "x|~"},
      {"x:'[1,2]'", "x|~[1,2]"},
      {"x:\\[1", "x|~[1"},
      {"x:a=b.txt", "x|a=b.txt"},
      {"x:'a=b.txt'", "x|~a=b.txt"},
      {"x:a\\=b.txt", "x|~a=b.txt"},
      {"x:a='b:c'd", "x|a=~b:cd"},
      {"x:1=2", "x|1=2"},
      {"x:a.b=2", "x|a.b=2"},
      {"x:=2", "x|=2"},
      {"x:k=a=b", "x|k=a=b"},
      {"x:\xff\xfe", "x|\xff\xfe"},
      {"x: a b ", "x| a b "},
      {"x:gr\xc3\xbc\xc3\x9f"
       "e.txt",
       "x|gr\xc3\xbc\xc3\x9f"
       "e.txt"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    GError *error = NULL;
    g_autoptr(fc_stage_text) stage = fc_stage_text_parse(cases[i].text, &error);
    g_assert_no_error(error);
    g_autofree char *parts = render(stage);
    g_assert_cmpstr(parts, ==, cases[i].parts);
    g_assert_cmpstr(stage->text, ==, cases[i].text);
  }
}

static void test_refused(void) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"", "an operator's name is missing: the stage is empty"},
      {":a", ":a: column 1: an operator's name is missing"},
      {"x:", "x:: column 3: an argument is missing"},
      {"x::a", "x::a: column 3: an argument is missing"},
      {"x:a:", "x:a:: column 5: an argument is missing"},
      {"x:k=", "x:k=: column 5: a value is missing after \"=\""},
      {"x:k=:a", "x:k=:a: column 5: a value is missing after \"=\""},
      {"x:'a", "x:'a: column 3: the quote is not closed (write \\' for an apostrophe)"},
      {"x:'it\\'s'",
       "x:'it\\'s': column 6: within quotes a backslash is an ordinary character: write \\' outside of them"},
      {"x:'a\\':'b",
       "x:'a\\':'b: column 5: within quotes a backslash is an ordinary character: write \\' outside of them"},
      {"x:don't", "x:don't: column 6: the quote is not closed (write \\' for an apostrophe)"},
      {"x:[1,2", "x:[1,2: column 3: \"[\" is not closed"},
      {"x:[1,[2]", "x:[1,[2]: column 3: \"[\" is not closed"},
      {"x:1]", "x:1]: column 4: \"]\" without \"[\" before it"},
      {"x:a:[1:b=2", "x:a:[1:b=2: column 5: \"[\" is not closed"},
      {"x:a\\", "x:a\\: column 4: nothing follows the backslash"},
      {"x:\xc3\xbc\xc3\xbc]", "x:\xc3\xbc\xc3\xbc]: column 5: \"]\" without \"[\" before it"},
      {"x:\x1b[0m", "x:\xef\xbf\xbd[0m: column 4: \"[\" is not closed"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    GError *error = NULL;
    g_assert_null(fc_stage_text_parse(cases[i].text, &error));
    g_assert_cmpint(error->code, ==, FC_INVALID);
    expect_error(&error, cases[i].message);
    g_assert_null(fc_stage_text_parse(cases[i].text, NULL));
  }
}

static void test_columns(void) {
  g_autoptr(fc_stage_text) stage = fc_stage_text_parse("\xc3\xbc:ab:k=1:'x'", NULL);
  g_assert_cmpuint(stage->n_args, ==, 3);
  g_assert_cmpuint(stage->args[0].column, ==, 3);
  g_assert_cmpuint(stage->args[1].column, ==, 6);
  g_assert_cmpuint(stage->args[2].column, ==, 10);
}

/* Presets: one value, where ':' has nothing to separate. */
static void test_value(void) {
  GError *error = NULL;
  fc_stage_arg arg;
  g_assert_true(fc_stage_value_parse("", &arg, &error));
  g_assert_cmpstr(arg.value, ==, "");
  fc_stage_arg_clear(&arg);
  g_assert_true(fc_stage_value_parse("k='a:b'", &arg, &error));
  g_assert_null(arg.key);
  g_assert_cmpstr(arg.value, ==, "k=a:b");
  fc_stage_arg_clear(&arg);
  g_assert_false(fc_stage_value_parse("a:b", &arg, &error));
  expect_error(&error, "a:b: column 2: \":\" must be quoted");
  g_assert_false(fc_stage_value_parse("[1", &arg, &error));
  expect_error(&error, "[1: column 1: \"[\" is not closed");
}

/* Whatever the bytes: an error or a stage, and no byte read beyond the end. */
static void test_random(void) {
  static const char alphabet[] = "a=:[]'\\,1;\xc3";
  for (int round = 0; round < 20000; round++) {
    int length = g_test_rand_int_range(0, 12);
    char *text = g_malloc0((gsize)length + 1);
    for (int i = 0; i < length; i++) text[i] = alphabet[g_test_rand_int_range(0, sizeof alphabet - 1)];
    GError *error = NULL;
    fc_stage_text *stage = fc_stage_text_parse(text, &error);
    g_assert_true((stage == NULL) == (error != NULL));
    fc_stage_text_free(stage);
    g_clear_error(&error);
    g_free(text);
  }
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/syntax/accepted", test_accepted);
  g_test_add_func("/syntax/refused", test_refused);
  g_test_add_func("/syntax/columns", test_columns);
  g_test_add_func("/syntax/value", test_value);
  g_test_add_func("/syntax/random", test_random);
  return g_test_run();
}
