/* SPDX-License-Identifier: MIT */
#include "core/registry/params.h"

#include "core/registry/table.h"
#include "tests/unit/expect.h"

#include <math.h>
#include <string.h>

#define SIZED(type) .size = sizeof(type)

static const fc_choice zero = {SIZED(fc_choice), 0, "zero", "silence"};
static const fc_choice wrap = {SIZED(fc_choice), 5, "wrap", "the other end"};
static const fc_choice mirror = {SIZED(fc_choice), FC_REFUSED, "mirror", "write reflect or reflect101"};
static const fc_choice *const borders[] = {&zero, &wrap, &mirror, NULL};

static const fc_limits to_a_million = {SIZED(fc_limits), FC_LIMIT_MIN | FC_LIMIT_MAX, 1, 1000000, 0, 0};
static const fc_limits to_hundred = {SIZED(fc_limits), FC_LIMIT_MIN | FC_LIMIT_MAX, 0, 0, 0, 100};

static const fc_param mask = {SIZED(fc_param),
                              FC_TABLE,
                              FC_PARAM_MAIN | FC_PARAM_REQUIRED | FC_PARAM_MASK,
                              0,
                              "mask",
                              "the mask",
                              NULL,
                              NULL,
                              NULL,
                              NULL};
static const fc_param window = {SIZED(fc_param), FC_INT, FC_PARAM_LIST, 2,   "window", "",
                                "samples",       "3",    &to_a_million, NULL};
static const fc_param level = {SIZED(fc_param), FC_FLOAT, FC_PARAM_DECIBEL, 0, "level", "", NULL, "0dB",
                               &to_hundred,     NULL};
static const fc_param border = {SIZED(fc_param), FC_ENUM, 0, 0, "border", "", NULL, "wrap", NULL, borders};
static const fc_param flip = {SIZED(fc_param), FC_BOOL, 0, 0, "flip", "", NULL, "no", NULL, NULL};
static const fc_param label = {SIZED(fc_param), FC_STRING, 0, 0, "label", "", NULL, "'a:b'", NULL, NULL};
static const fc_param weights = {
    SIZED(fc_param), FC_FLOAT, FC_PARAM_LIST, 0, "weights", "", NULL, NULL, NULL, NULL};
static const fc_param modes = {SIZED(fc_param), FC_ENUM, FC_PARAM_LIST, 0, "modes", "", NULL, NULL, NULL,
                               borders};
static const fc_param seed = {SIZED(fc_param), FC_INT, 0, 0, "seed", "", NULL, NULL, NULL, NULL};
static const fc_param *const params[] = {&mask,  &window,  &level, &border, &flip,
                                         &label, &weights, &modes, &seed};
enum { MASK, WINDOW, LEVEL, BORDER, FLIP, LABEL, WEIGHTS, MODES, SEED };

static const fc_operator op = {SIZED(fc_operator), .name = "conv1d", .n_params = G_N_ELEMENTS(params),
                               .params = params};
static const fc_operator bare = {SIZED(fc_operator), .name = "flat"};

static fc_table *load(const char *path, gboolean ragged, void *data, GError **error) {
  int *calls = data;
  const double one = 1;
  g_assert_true(ragged);
  if (calls) ++*calls;
  if (g_str_equal(path, "missing.txt")) {
    fc_fail(error, FC_IO, "missing.txt: No such file or directory");
    return NULL;
  }
  return fc_table_new(path, 1, 1, &one, 0, error);
}

static fc_args *resolve_as(const fc_operator *as, const char *text, fc_table_loader loader, GError **error) {
  g_autoptr(fc_stage_text) stage = fc_stage_text_parse(text, NULL);
  g_assert_nonnull(stage);
  return fc_args_resolve(as, stage, loader, NULL, error);
}

static fc_args *resolve(const char *text) {
  GError *error = NULL;
  fc_args *args = resolve_as(&op, text, load, &error);
  g_assert_no_error(error);
  return args;
}

static void test_presets(void) {
  g_autoptr(fc_args) args = resolve("conv1d:[1,2]");
  g_assert_cmpuint(args->n, ==, G_N_ELEMENTS(params));
  const fc_arg *const *v = args->argv;
  g_assert_true(v[MASK]->given && v[MASK]->count == 1 && v[MASK]->table->cols == 2);
  g_assert_true(!v[WINDOW]->given && v[WINDOW]->count == 1 && v[WINDOW]->ints[0] == 3 &&
                v[WINDOW]->floats[0] == 3);
  g_assert_true(v[LEVEL]->floats[0] == 1 && v[LEVEL]->ints == NULL);
  g_assert_true(v[BORDER]->ints[0] == 5 && v[FLIP]->ints[0] == 0);
  g_assert_cmpstr(v[LABEL]->text, ==, "a:b");
  g_assert_true(v[WEIGHTS]->count == 0 && !v[WEIGHTS]->floats && !v[WEIGHTS]->text && !v[WEIGHTS]->given);
  for (guint i = 0; i < args->n; i++) g_assert_cmpuint(v[i]->size, ==, sizeof(fc_arg));
}

static void test_values(void) {
  g_autoptr(fc_args) args =
      resolve("conv1d:window=15x7:mask=a.txt:level=-6dB:border=zero:flip=YES:label='x=y':"
              "weights=1,-2.5e1x3:modes=wrap,zero:seed=-9007199254740993");
  const fc_arg *const *v = args->argv;
  g_assert_cmpstr(v[MASK]->table->name, ==, "a.txt");
  g_assert_true(v[WINDOW]->count == 2 && v[WINDOW]->ints[0] == 15 && v[WINDOW]->ints[1] == 7);
  g_assert_cmpstr(v[WINDOW]->text, ==, "15x7");
  g_assert_cmpfloat(fabs(v[LEVEL]->floats[0] - 0.50118723362727224), <, 1e-15);
  g_assert_true(v[BORDER]->ints[0] == 0 && v[BORDER]->given && v[FLIP]->ints[0] == 1);
  g_assert_cmpstr(v[LABEL]->text, ==, "x=y");
  g_assert_true(v[WEIGHTS]->count == 3 && v[WEIGHTS]->floats[1] == -25 && v[WEIGHTS]->floats[2] == 3);
  g_assert_true(v[MODES]->count == 2 && v[MODES]->ints[0] == 5 && v[MODES]->ints[1] == 0);
  g_assert_cmpint(v[SEED]->ints[0], ==, G_GINT64_CONSTANT(-9007199254740993));
}

static void test_spellings(void) {
  static const char *const yes[] = {"yes", "true", "on", "1", "True", "ON"};
  static const char *const no[] = {"no", "false", "off", "0"};
  for (guint i = 0; i < G_N_ELEMENTS(yes) + G_N_ELEMENTS(no); i++) {
    gboolean want = i < G_N_ELEMENTS(yes);
    g_autofree char *text = g_strdup_printf("conv1d:[1]:flip=%s", want ? yes[i] : no[i - G_N_ELEMENTS(yes)]);
    g_autoptr(fc_args) args = resolve(text);
    g_assert_cmpint(args->argv[FLIP]->ints[0], ==, want);
  }
  g_autoptr(fc_args) zeros = resolve("conv1d:[1]:weights=0,-0.0,0e-999");
  g_assert_cmpuint(zeros->argv[WEIGHTS]->count, ==, 3);
  g_autoptr(fc_args) whole = resolve("conv1d:[1]:window=48e3");
  g_assert_cmpint(whole->argv[WINDOW]->ints[0], ==, 48000);
  g_autoptr(fc_args) bells = resolve("conv1d:[1]:level=+20DB");
  g_assert_cmpfloat(bells->argv[LEVEL]->floats[0], ==, 10);
}

static void test_errors(void) {
  static const struct {
    const char *text, *message;
  } cases[] = {
      {"conv1d:[1]:flp=no", "conv1d: unknown parameter \"flp\": did you mean \"flip\"?"},
      {"conv1d:[1]:zzz=1",
       "conv1d: unknown parameter \"zzz\": it takes mask, window, level, border, flip, label, "
       "weights, modes, seed (quote a value that holds \"=\")"},
      {"conv1d:[1]:window=0", "conv1d: window: 0 is out of range: expected 1 to 1000000 samples"},
      {"conv1d:[1]:window=1000001", "conv1d: window: 1000001 is out of range: expected 1 to 1000000 samples"},
      {"conv1d:[1]:window=1e30", "conv1d: window: 1e30 is out of range: expected 1 to 1000000 samples"},
      {"conv1d:[1]:window=1.5",
       "conv1d: window: 1.5 is not a whole number: expected 1 to 1000000 samples, or a time, 1.5s"},
      {"conv1d:[1]:window=abc", "conv1d: window: \"abc\" is not a number: expected 1 to 1000000 samples"},
      {"conv1d:[1]:window=3,", "conv1d: window: a value is missing in \"3,\""},
      {"conv1d:[1]:window=3xx4", "conv1d: window: a value is missing in \"3xx4\""},
      {"conv1d:[1]:window=3,4,5", "conv1d: window: at most 2 values can be given"},
      {"conv1d:[1]:level=-1", "conv1d: level: -1 is out of range: expected 0 to 100, or decibels, -1dB"},
      {"conv1d:[1]:level=nan", "conv1d: level: \"nan\" is not a finite number: expected 0 to 100"},
      {"conv1d:[1]:level=inf", "conv1d: level: \"inf\" is not a finite number: expected 0 to 100"},
      {"conv1d:[1]:level=1e999", "conv1d: level: 1e999 is not a finite number: expected 0 to 100"},
      {"conv1d:[1]:weights=1,1e39", "conv1d: weights: 1e39 is too large: the largest number is 3.4e38"},
      {"conv1d:[1]:level=6db ", "conv1d: level: 6db  is not a number: expected 0 to 100"},
      {"conv1d:[1]:level=9999dB", "conv1d: level: 9999dB is out of range: expected 0 to 100"},
      {"conv1d:[1]:weights=1,nan", "conv1d: weights: \"nan\" is not a finite number: expected a number"},
      {"conv1d:[1]:weights=3dB", "conv1d: weights: 3dB is not a number: did you mean level=3dB?"},
      {"conv1d:[1]:window=0x10",
       "conv1d: window: 0x10 has a 0, which is out of range: expected 1 to 1000000 samples"},
      {"conv1d:[1]:window=3x0x5",
       "conv1d: window: 0x5 has a 0, which is out of range: expected 1 to 1000000 samples"},
      {"conv1d:[1]:weights=1,-0x10,2", "conv1d: weights: -0x10 is not a number: expected a number"},
      {"conv1d:[1]:weights=1e-400", "conv1d: weights: 1e-400 is too small: expected a number"},
      {"conv1d:[1]:level=-9999dB", "conv1d: level: -9999dB is too small: expected 0 to 100"},
      {"conv1d:[1]:seed=-1e-400", "conv1d: seed: -1e-400 is not a whole number: expected a whole number"},
      {"conv1d:[1]:seed=99999999999999999999",
       "conv1d: seed: 99999999999999999999 is out of range: expected a whole number"},
      {"conv1d:[1]:border=zer", "conv1d: border: no such choice \"zer\": did you mean \"zero\"?"},
      {"conv1d:[1]:border=black",
       "conv1d: border: \"black\" is not one of the choices: expected zero or wrap"},
      {"conv1d:[1]:border=mirror", "conv1d: border: \"mirror\" is not accepted: write reflect or reflect101"},
      {"conv1d:[1]:flip=maybe", "conv1d: flip: \"maybe\" is neither: expected yes or no"},
      {"conv1d:[1]:flip=yes:flip=no", "conv1d: \"flip\" is given twice"},
      {"conv1d:[1]:mask=[2]", "conv1d: \"mask\" is given twice"},
      {"conv1d:[1]:flip", "conv1d: \"flip\" needs a value: flip=..."},
      {"conv1d:[1]:b.txt",
       "conv1d: \"b.txt\" belongs to no parameter: write NAME=VALUE, the names are mask, window, "
       "level, border, flip, label, weights, modes, seed (a colon in a file's name is written \\:)"},
      {"conv1d:window=3",
       "conv1d: \"mask\" is missing: write conv1d:MASK, a file of numbers, or a table such as [1,2,1]/4"},
      {"conv1d:missing.txt", "conv1d: missing.txt: No such file or directory"},
      {"conv1d:''", "conv1d: mask: the file name is empty"},
      {"conv1d:[1,x]", "conv1d: [1,x]: expected a number, found \"x\""},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    GError *error = NULL;
    g_assert_null(resolve_as(&op, cases[i].text, load, &error));
    expect_error(&error, cases[i].message);
  }
}

static void test_no_parameters(void) {
  GError *error = NULL;
  g_autoptr(fc_args) args = resolve_as(&bare, "flat", NULL, &error);
  g_assert_cmpuint(args->n, ==, 0);
  g_assert_null(resolve_as(&bare, "flat:3", NULL, &error));
  expect_error(&error, "flat: \"3\" is unexpected: it takes no parameters");
  g_assert_null(resolve_as(&bare, "flat:a=3", NULL, &error));
  expect_error(&error, "flat: unknown parameter \"a\": it takes none");
}

static void test_loader(void) {
  GError *error = NULL;
  int calls = 0;
  g_autoptr(fc_stage_text) quoted = fc_stage_text_parse("conv1d:'[1,2]'", NULL);
  g_autoptr(fc_args) args = fc_args_resolve(&op, quoted, load, &calls, &error);
  g_assert_cmpint(calls, ==, 1); /* quoted: the name of a file */
  g_assert_cmpstr(args->argv[MASK]->table->name, ==, "[1,2]");
  g_assert_null(resolve_as(&op, "conv1d:a.txt", NULL, &error));
  g_assert_cmpint(error->code, ==, FC_UNSUPPORTED);
  expect_error(&error, "conv1d: a.txt: files are not read here: write the table out");
  g_assert_null(resolve_as(&op, "conv1d:missing.txt", load, &error));
  g_assert_cmpint(error->code, ==, FC_IO);
  g_clear_error(&error);
}

/* A preset may name a file, which is not opened when only the preset is checked. */
static void test_check_preset(void) {
  static const struct {
    int type;
    guint flags;
    const char *preset;
    gboolean good;
  } cases[] = {
      {FC_INT, 0, "5", TRUE},
      {FC_INT, 0, "50", FALSE},
      {FC_INT, 0, "five", FALSE},
      {FC_INT, 0, "1,2", FALSE},
      {FC_INT, FC_PARAM_LIST, "1,2", TRUE},
      {FC_TABLE, 0, "a.txt", TRUE},
      {FC_TABLE, 0, "[1,2", FALSE},
      {FC_TABLE, 0, "[1,y]", FALSE},
      {FC_STRING, 0, "", TRUE},
      {FC_STRING, 0, "a:b", FALSE},
      {FC_ENUM, 0, "zero", TRUE},
      {FC_ENUM, 0, "mirror", FALSE},
      {FC_BOOL, 0, "", FALSE},
  };
  const fc_limits limits = {SIZED(fc_limits), FC_LIMIT_MIN | FC_LIMIT_MAX, 0, 10, 0, 10};
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    fc_param param = {SIZED(fc_param), cases[i].type, cases[i].flags, 0, "p", "", NULL,
                      cases[i].preset, &limits,       borders};
    GError *error = NULL;
    g_assert_cmpint(fc_param_check_preset(&param, &error), ==, cases[i].good);
    g_assert_true((error == NULL) == cases[i].good);
    g_clear_error(&error);
  }
}

static void test_expected(void) {
  static const struct {
    int type;
    fc_limits limits;
    const char *unit, *text;
  } cases[] = {
      {FC_FLOAT, {.flags = 0}, NULL, "a number"},
      {FC_FLOAT, {.flags = 0, .min = 1, .max = 1}, "Hz", "a number of Hz"},
      {FC_FLOAT, {.flags = FC_LIMIT_MIN | FC_LIMIT_MAX, .min = 0.5, .max = 2}, "s", "0.5 to 2 s"},
      {FC_FLOAT, {.flags = FC_LIMIT_MIN}, NULL, "at least 0"},
      {FC_FLOAT, {.flags = FC_LIMIT_MAX, .max = 1}, "s", "at most 1 s"},
      {FC_INT, {.flags = FC_LIMIT_MIN, .int_min = G_MAXINT64 - 1}, NULL, "at least 9223372036854775806"},
      {FC_INT, {.flags = FC_LIMIT_MAX, .int_max = 0}, NULL, "at most 0"},
  };
  for (guint i = 0; i < G_N_ELEMENTS(cases); i++) {
    fc_param param = {SIZED(fc_param), cases[i].type, .limits = &cases[i].limits, .unit = cases[i].unit};
    g_autofree char *text = fc_param_expected(&param);
    g_assert_cmpstr(text, ==, cases[i].text);
  }
  g_assert_cmpstr(fc_param_type_name(&window), ==, "list of int");
  g_assert_cmpstr(fc_param_type_name(&border), ==, "choice");
}

/* Beyond 2^53 a double does not tell neighbours apart. */
static void test_exact_limits(void) {
  const fc_limits limits = {SIZED(fc_limits), FC_LIMIT_MIN, .int_min = G_GINT64_CONSTANT(9007199254740993)};
  const fc_param count = {SIZED(fc_param), FC_INT,    FC_PARAM_MAIN,
                          .name = "count", .doc = "", .limits = &limits};
  const fc_param *const all[] = {&count};
  const fc_operator counts = {SIZED(fc_operator), .name = "counts", .n_params = 1, .params = all};
  GError *error = NULL;
  g_autoptr(fc_args) args = resolve_as(&counts, "counts:9007199254740993", NULL, &error);
  g_assert_no_error(error);
  g_assert_cmpint(args->argv[0]->ints[0], ==, G_GINT64_CONSTANT(9007199254740993));
  g_assert_null(resolve_as(&counts, "counts:9007199254740992", NULL, &error));
  expect_error(&error, "counts: count: 9007199254740992 is out of range: expected at least 9007199254740993");
  g_assert_null(resolve_as(&counts, "counts:9223372036854775808", NULL, &error));
  expect_error(&error,
               "counts: count: 9223372036854775808 is out of range: expected at least 9007199254740993");
}

/* Inputs count from 1 in the order of the parameters, and only those that are given. */
static void test_inputs(void) {
  const fc_param reference = {SIZED(fc_param), FC_INPUT, 0, 0, "reference", ""};
  const fc_param other = {SIZED(fc_param), FC_INPUT, FC_PARAM_MAIN, 0, "other", ""};
  const fc_param third = {SIZED(fc_param), FC_INPUT, 0, 0, "third", ""};
  const fc_param preset = {SIZED(fc_param), FC_PATH, 0, 0, "list", ""};
  const fc_param *const all[] = {&reference, &other, &third, &preset};
  const fc_operator mixes = {SIZED(fc_operator), .name = "mixes", .n_params = 4, .params = all};
  g_autoptr(GPtrArray) files = g_ptr_array_new();
  GError *error = NULL;
  g_autoptr(fc_args) args = resolve_as(&mixes, "mixes:third=c.wav:'b:1.wav':list=names", NULL, &error);
  g_assert_no_error(error);
  g_assert_cmpuint(args->n_inputs, ==, 2);
  g_assert_true(args->inputs[0] == args->argv[1] && args->inputs[1] == args->argv[2]);
  g_assert_cmpstr(args->inputs[0]->text, ==, "b:1.wav");
  g_assert_true(args->argv[0]->input == 0 && args->argv[1]->input == 1 && args->argv[2]->input == 2);
  g_assert_cmpstr(args->argv[3]->text, ==, "names");
  fc_args_add_files(args, files);
  g_assert_cmpuint(files->len, ==, 3);
  g_assert_null(resolve_as(&mixes, "mixes:''", NULL, &error));
  expect_error(&error, "mixes: other: the file name is empty");
}

static void test_aliases(void) {
  static const char *const names[] = {"wet", "mix", NULL};
  const fc_param amount = {SIZED(fc_param), FC_FLOAT, 0, 0, "amount", "", .preset = "1", .aliases = names};
  const fc_param old = {SIZED(fc_param), FC_BOOL, 0, 0, "hard", "", .deprecated = "use amount=1"};
  const fc_param *const all[] = {&amount, &old};
  const fc_operator fades = {SIZED(fc_operator), .name = "fades", .n_params = 2, .params = all};
  GError *error = NULL;
  g_autoptr(fc_args) args = resolve_as(&fades, "fades:mix=0.5", NULL, &error);
  g_assert_no_error(error);
  g_assert_cmpfloat(args->argv[0]->floats[0], ==, 0.5);
  g_assert_null(args->warnings[0]);
  g_assert_null(resolve_as(&fades, "fades:mix=0.5:wet=1", NULL, &error));
  expect_error(&error, "fades: \"amount\" is given twice");
  g_autoptr(fc_args) deprecated = resolve_as(&fades, "fades:hard=yes", NULL, &error);
  g_assert_cmpstr(deprecated->warnings[0], ==, "fades: \"hard\" is deprecated: use amount=1");
  g_assert_null(deprecated->warnings[1]);
}

/* Times where samples are counted, kHz where a parameter is in Hz. */
static void test_units(void) {
  const fc_param start = {SIZED(fc_param), FC_INT, FC_PARAM_LIST, 0, "start", "",
                          "samples",       "10ms", &to_a_million};
  const fc_param freq = {SIZED(fc_param), FC_FLOAT, 0, 0, "freq", "", "Hz", "1k"};
  const fc_param count = {SIZED(fc_param), FC_INT, 0, 0, "count", "", "pixels", "1"};
  const fc_param *const all[] = {&start, &freq, &count};
  const fc_operator cuts = {SIZED(fc_operator), .name = "cuts", .n_params = 3, .params = all};
  static const struct {
    const char *text;
    double rate;
    gint64 samples;
  } times[] = {{"cuts:start=1.5s", 44100, 66150},      {"cuts:start=250ms", 8000, 2000},
               {"cuts:start=0.1s", 44100, 4410},       {"cuts:start=00:00:30", 8000, 240000},
               {"cuts:start='1:30'", 8000, 720000},    {"cuts:start=0:01:00.25", 8000, 482000},
               {"cuts:start=20us", 48000, 1},          {"cuts", 16000, 160},
               {"cuts:start=1s:count=2", 11025, 11025}};
  static const struct {
    const char *text, *message;
    double rate;
  } refused[] = {
      {"cuts:start=1.5s",
       "cuts: start: 1.5s is a time, but the sample rate is unknown: give a number of samples", 0},
      {"cuts:start=-1s", "cuts: start: -1s is -8000 samples at 8000 Hz: expected 1 to 1000000 samples", 8000},
      {"cuts:start=1:00:00",
       "cuts: start: 1:00:00 is 28800000 samples at 8000 Hz: expected 1 to 1000000 samples", 8000}};
  GError *error = NULL;
  for (guint i = 0; i < G_N_ELEMENTS(times); i++) {
    g_autoptr(fc_args) args = resolve_as(&cuts, times[i].text, NULL, &error);
    g_assert_no_error(error);
    g_assert_true(args->timed);
    g_autoptr(fc_args) told = fc_args_at_rate(&cuts, args, times[i].rate, &error);
    g_assert_no_error(error);
    g_assert_cmpint(told->argv[0]->ints[0], ==, times[i].samples);
    g_assert_cmpfloat(told->argv[0]->floats[0], ==, (double)times[i].samples);
    g_assert_true(told->argv[1] == args->argv[1]);
  }
  g_autoptr(fc_args) mixed = resolve_as(&cuts, "cuts:start=7,1s,9:freq=3.5kHz", NULL, &error);
  g_autoptr(fc_args) told = fc_args_at_rate(&cuts, mixed, 100, &error);
  const int64_t *ints = told->argv[0]->ints;
  g_assert_true(told->argv[0]->count == 3 && ints[0] == 7 && ints[1] == 100 && ints[2] == 9);
  g_assert_cmpfloat(told->argv[1]->floats[0], ==, 3500);
  g_autoptr(fc_args) plain = resolve_as(&cuts, "cuts:start=5:freq=440Hz", NULL, &error);
  g_assert_true(!plain->timed && plain->argv[1]->floats[0] == 440);
  for (guint i = 0; i < G_N_ELEMENTS(refused); i++) {
    g_autoptr(fc_args) args = resolve_as(&cuts, refused[i].text, NULL, &error);
    g_assert_no_error(error);
    g_assert_null(fc_args_at_rate(&cuts, args, refused[i].rate, &error));
    expect_error(&error, refused[i].message);
  }
  g_assert_null(resolve_as(&cuts, "cuts:count=1s", NULL, &error));
  expect_error(&error, "cuts: count: 1s is not a number: did you mean start=1s?");
  g_assert_null(resolve_as(&cuts, "cuts:freq=1s", NULL, &error));
  expect_error(&error, "cuts: freq: 1s is not a number: did you mean start=1s?");
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  g_test_add_func("/params/presets", test_presets);
  g_test_add_func("/params/values", test_values);
  g_test_add_func("/params/spellings", test_spellings);
  g_test_add_func("/params/errors", test_errors);
  g_test_add_func("/params/no-parameters", test_no_parameters);
  g_test_add_func("/params/loader", test_loader);
  g_test_add_func("/params/check-preset", test_check_preset);
  g_test_add_func("/params/expected", test_expected);
  g_test_add_func("/params/exact-limits", test_exact_limits);
  g_test_add_func("/params/inputs", test_inputs);
  g_test_add_func("/params/aliases", test_aliases);
  g_test_add_func("/params/units", test_units);
  return g_test_run();
}
