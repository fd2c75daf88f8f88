/* SPDX-License-Identifier: MIT */
/*
 * The registry against plugins that are broken, each in its own way: every one is
 * rejected with its sentence, none takes the process with it, and the sound ones
 * work all the same. $FIXTURES is the folder of the fixtures, $SCAN_PROGRAM the scanner's.
 */
#include "core/registry/registry.h"

#include "core/registry/module.h"
#include "tests/unit/expect.h"

#include <dlfcn.h>
#include <glib/gstdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

static const char *fixtures, *scan_program;

static char *fixture(const char *name) {
  char *file = g_strconcat(name, ".so", NULL), *path = g_build_filename(fixtures, file, NULL);
  g_free(file);
  return path;
}

/* A registry that has only what the test gives it. */
static fc_registry *new_registry(const char *builtin) {
  fc_registry *r = fc_registry_new();
  fc_registry_set_home(r, builtin ? builtin : "/nonexistent", scan_program);
  fc_registry_set_cache(r, NULL);
  return r;
}

/* A folder with links to fixtures: "good" under its own name, "good>zoo" as zoo.so. */
static char *make_folder(const char *const *links) {
  char *dir = g_dir_make_tmp("fc-plugins-XXXXXX", NULL);
  g_assert_nonnull(dir);
  for (; *links; links++) {
    g_auto(GStrv) ends = g_strsplit(*links, ">", 2);
    g_autofree char *from = fixture(ends[0]);
    g_autofree char *file = g_strconcat(ends[1] ? ends[1] : ends[0], ".so", NULL);
    g_autofree char *to = g_build_filename(dir, file, NULL);
    g_assert_cmpint(symlink(from, to), ==, 0);
  }
  return dir;
}

static void remove_folder(char *dir) {
  GDir *open = g_dir_open(dir, 0, NULL);
  for (const char *name = g_dir_read_name(open); name; name = g_dir_read_name(open)) {
    g_autofree char *path = g_build_filename(dir, name, NULL);
    g_assert_cmpint(g_remove(path), ==, 0);
  }
  g_dir_close(open);
  g_assert_cmpint(g_rmdir(dir), ==, 0);
  g_free(dir);
}

static const struct {
  const char *name, *reason;
} broken[] = {
    {"abi_old", "is made for plugin ABI 0, this is 1"},
    {"alias_twice", "operator \"alias_twice\": parameter \"amount\" is defined twice"},
    {"asks_crash", "crashed while being asked what it holds (signal 11, Segmentation fault)"},
    {"backend_flags", "operator \"backend_flags\": its cpu backend: unknown flags 0x8000"},
    {"backend_foreign", "operator \"backend_foreign\": none of its backends is for a device known here"},
    {"backend_twice", "operator \"backend_twice\": it has two cpu backends"},
    {"confined", "ended the process while being opened (exit status 64)"},
    {"crash", "crashed while being opened (signal 11, Segmentation fault)"},
    {"entry_v2", "is made for plugin ABI 2, this is 1"},
    {"enum_empty", "operator \"enum_empty\": parameter \"second\": a choice without choices"},
    {"exits", "ended the process while being opened (exit status 0)"},
    {"flags_unknown", "operator \"flags_unknown\": unknown flags 0x1000"},
    {"generator_input",
     "operator \"generator_input\": a generator takes no input, but parameter \"second\" is one"},
    {"generator_keeps", "operator \"generator_keeps\": a generator has no input to keep anything of"},
    {"generator_mute",
     "operator \"generator_mute\": a generator without negotiate does not say what it makes"},
    {"hangs", "did not return within 5 seconds while being opened"},
    {"hides", "did not return within 5 seconds while being opened"},
    {"id_none", "the plugin's id is missing"},
    {"id_slash", "the plugin's id holds something other than letters, digits and _-+."},
    {"input_preset", "operator \"input_preset\": parameter \"second\": an input, and yet it has a preset"},
    {"kinds_none", "operator \"kinds_none\": it takes no kind of media"},
    {"limits_of_text",
     "operator \"limits_of_text\": parameter \"second\": limits do not go with type string"},
    {"list_of_text",
     "operator \"list_of_text\": parameter \"second\": FC_PARAM_LIST does not go with type string"},
    {"missing_function", "cannot be loaded: undefined symbol: nowhere_to_be_found"},
    {"name_bad", "operator 1: it has no valid name ([a-z][a-z0-9_]*)"},
    {"name_null", "operator 1: it has no valid name ([a-z][a-z0-9_]*)"},
    {"name_path", "operator 1: it has no valid name ([a-z][a-z0-9_]*)"},
    {"no_backend", "operator \"no_backend\": it has no backend"},
    {"no_entry", "is not a filterchain plugin: it has no symbol fc_plugin_entry_v1"},
    {"no_process", "operator \"no_process\": its cpu backend has no process"},
    {"not_elf", "cannot be loaded: invalid ELF header"},
    {"operator_null", "operator 1: fc_operator is missing (NULL)"},
    {"operators_none", "1 operators are announced, but not there"},
    {"param_null", "operator \"param_null\": parameter 2: fc_param is missing (NULL)"},
    {"param_twice", "operator \"param_twice\": parameter \"amount\" is defined twice"},
    {"param_type", "operator \"param_type\": parameter \"second\": unknown type 99"},
    {"plugin_null", "describes nothing: its entry returned NULL"},
    {"preset_range", "operator \"preset_range\": parameter \"amount\": preset: amount: 11 is out of range: "
                     "expected 0 to 10"},
    {"range_empty", "operator \"range_empty\": parameter \"amount\": its range is empty"},
    {"report_only", "operator \"report_only\": collect and report go together, one is missing"},
    {"size_wild", "has an fc_plugin of impossible size 4294967280"},
    {"summary_lines", "operator \"summary_lines\": summary holds a control character"},
    {"two_mains", "operator \"two_mains\": more than one main parameter"},
};

static void test_broken(gconstpointer data) {
  gsize i = GPOINTER_TO_SIZE(data);
  g_autoptr(fc_registry) r = new_registry(NULL);
  g_autofree char *path = fixture(broken[i].name);
  g_autofree char *message = g_strdup_printf("%s %s", path, broken[i].reason);
  GError *error = NULL;
  g_assert_null(fc_registry_open(r, path, &error));
  expect_error(&error, message);
  /* The verdict is remembered, and the next file is looked at as if nothing had been. */
  g_assert_null(fc_registry_open(r, path, &error));
  expect_error(&error, message);
  g_autofree char *good = fixture("good");
  g_assert_nonnull(fc_registry_open(r, good, &error));
  g_assert_no_error(error);
  g_assert_nonnull(fc_registry_find(r, "good", &error));
}

/* Every check of the description again without the child, as for our own folder. */
static void test_broken_trusted(void) {
  g_autoptr(fc_registry) r = new_registry(fixtures);
  for (gsize i = 0; i < G_N_ELEMENTS(broken); i++) {
    if (strstr(broken[i].reason, "while being") || g_str_equal(broken[i].name, "missing_function")) continue;
    g_autofree char *path = fixture(broken[i].name);
    g_autofree char *message = g_strdup_printf("%s %s", path, broken[i].reason);
    GError *error = NULL;
    g_assert_null(fc_registry_open(r, path, &error));
    expect_error(&error, message);
  }
}

/* What a plugin starts while it is looked at is ended with it. */
static void test_leaves_child(void) {
  g_autoptr(fc_registry) r = new_registry(NULL);
  g_autofree char *path = fixture("leaves_child"), *lock = NULL;
  g_autofree char *message = g_strdup_printf("%s ended the process while being opened (exit status 5)", path);
  int fd = g_file_open_tmp("fc-lock-XXXXXX", &lock, NULL);
  g_assert_cmpint(fd, >=, 0);
  g_assert_true(g_setenv("FIXTURE_LOCK", lock, TRUE));
  GError *error = NULL;
  g_assert_null(fc_registry_open(r, path, &error));
  expect_error(&error, message);
  int left = 1000; /* of 10 ms: a process is not gone the moment it is killed */
  while (flock(fd, LOCK_EX | LOCK_NB) != 0 && left) g_usleep(10000), left--;
  g_assert_cmpint(left, >, 0);
  close(fd);
  g_unsetenv("FIXTURE_LOCK");
  g_assert_cmpint(g_remove(lock), ==, 0);
}

static void test_working(gconstpointer name) {
  g_autoptr(fc_registry) r = new_registry(NULL);
  g_autofree char *path = fixture(name);
  if (!g_file_test(path, G_FILE_TEST_EXISTS)) {
    g_test_skip("not built: there is no C++ compiler");
    return;
  }
  GError *error = NULL;
  const fc_plugin *plugin = fc_registry_open(r, path, &error);
  g_assert_no_error(error);
  const fc_operator *op = fc_registry_find(r, name, &error);
  g_assert_no_error(error);
  g_assert_true(op == plugin->operators[0]);
  g_assert_cmpstr(op->name, ==, name);
  /* Whatever the plugin was built against, all is here and nothing more is announced. */
  g_assert_cmpuint(op->size, ==, sizeof *op);
  g_assert_cmpuint(op->params[0]->size, ==, sizeof(fc_param));
  g_assert_cmpuint(op->kinds, ==, FC_KINDS_ALL);
  g_assert_cmpuint(op->dtypes_in, ==, FC_DTYPES_ALL);
  g_assert_true(!op->reset && !op->collect && !op->report && !op->reference);
  g_assert_true(op->backends[0]->process && !op->backends[1]);
  g_assert_null(op->params[0]->choices[0]);
  gboolean older = g_str_equal(name, "older");
  g_assert_true(older ? !op->params[0]->limits : op->params[0]->limits->max == 10);
  const char *from = NULL;
  g_assert_true(fc_registry_plugin_of(r, op, &from) == plugin);
  g_assert_cmpstr(from, ==, path);
}

static const fc_plugin_info *info_of(const fc_plugin_info *infos, gsize n, const char *file) {
  for (gsize i = 0; i < n; i++)
    if (g_str_has_suffix(infos[i].path, file)) return &infos[i];
  g_assert_not_reached();
}

/* The names of all operators, separated by blanks; g_free. */
static char *names_of(fc_registry *r) {
  gsize n;
  g_autofree const fc_operator **all = fc_registry_operators(r, &n);
  GString *names = g_string_new(NULL);
  for (gsize i = 0; i < n; i++) g_string_append_printf(names, "%s%s", i ? " " : "", all[i]->name);
  g_assert_null(all[n]);
  return g_string_free(names, FALSE);
}

static void test_folder(void) {
  const char *const links[] = {"good", "pair", "crash", "two_mains", "older", NULL};
  char *dir = make_folder(links);
  g_autoptr(fc_registry) r = new_registry(NULL);
  fc_registry_add_dir(r, dir);
  g_autofree char *names = names_of(r);
  g_assert_cmpstr(names, ==, "good older pair");
  gsize n;
  g_autofree fc_plugin_info *infos = fc_registry_plugins(r, &n);
  g_assert_cmpuint(n, ==, 5);
  g_assert_true(!info_of(infos, n, "/crash.so")->id && info_of(infos, n, "/crash.so")->reason);
  g_assert_cmpstr(info_of(infos, n, "/good.so")->id, ==, "fixture-good");
  g_assert_null(info_of(infos, n, "/good.so")->reason);
  /* Accepted, but one of its operators is another's. */
  const fc_plugin_info *pair = info_of(infos, n, "/pair.so");
  g_autofree char *taken = g_strdup_printf("operator \"good\" is not used: %s/good.so defines it first", dir);
  g_assert_cmpstr(pair->id, ==, "fixture-pair");
  g_assert_cmpstr(pair->reason, ==, taken);
  remove_folder(dir);
}

/* Where an operator that is found comes from. */
static const char *source_of(fc_registry *r, const char *name) {
  GError *error = NULL;
  const char *path = NULL;
  const fc_operator *op = fc_registry_find(r, name, &error);
  g_assert_no_error(error);
  g_assert_nonnull(fc_registry_plugin_of(r, op, &path));
  return path;
}

/* The first folder counts, whatever its files are called, and whatever was asked for first. */
static void test_precedence(void) {
  const char *const one[] = {"pair>zzz", NULL}, *const two[] = {"good", "half", NULL};
  char *first = make_folder(one), *second = make_folder(two);
  for (int builtin = 0; builtin < 2; builtin++)
    for (int all_first = 0; all_first < 2; all_first++) {
      g_autoptr(fc_registry) r = new_registry(builtin ? second : NULL);
      fc_registry_add_dir(r, first);
      fc_registry_add_dir(r, second);
      if (all_first) g_free(fc_registry_operators(r, NULL));
      g_assert_true(g_str_has_suffix(source_of(r, "half"), "/half.so"));
      g_assert_true(g_str_has_suffix(source_of(r, "good"), "/zzz.so"));
      g_assert_true(g_str_has_suffix(source_of(r, "pair"), "/zzz.so"));
    }
  remove_folder(first);
  remove_folder(second);
}

/* Within a folder the file whose name comes first. */
static void test_within_folder(void) {
  const char *const links[] = {"pair>aaa", "good", NULL};
  char *dir = make_folder(links);
  g_autoptr(fc_registry) r = new_registry(NULL);
  fc_registry_add_dir(r, dir);
  g_assert_true(g_str_has_suffix(source_of(r, "good"), "/aaa.so"));
  remove_folder(dir);
}

/* A definition that does not count is reached by the id of its plugin. */
static void test_qualified(void) {
  const char *const links[] = {"pair>aaa", "good", NULL};
  char *dir = make_folder(links);
  GError *error = NULL;
  g_autoptr(fc_registry) r = new_registry(NULL);
  fc_registry_add_dir(r, dir);
  g_assert_true(g_str_has_suffix(source_of(r, "fixture-good/good"), "/good.so"));
  g_assert_true(g_str_has_suffix(source_of(r, "fixture-pair/good"), "/aaa.so"));
  g_assert_null(fc_registry_find(r, "elsewhere/good", &error));
  expect_error(&error, "no operator \"elsewhere/good\": \"good\" is defined by fixture-pair, fixture-good");
  g_assert_null(fc_registry_find(r, "fixture-good/pair", &error));
  expect_error(&error, "no operator \"fixture-good/pair\": \"pair\" is defined by fixture-pair");
  g_assert_null(fc_registry_find(r, "fixture-good/nothing", &error));
  expect_error(&error, "no operator \"fixture-good/nothing\" (filterchain list shows all)");
  remove_folder(dir);
}

static void keep_line(fc_log_level level, const char *message, void *lines) {
  g_assert_cmpint(level, ==, FC_LOG_WARNING);
  if (!strstr(message, "took long to open")) /* as any may on a busy machine */
    g_ptr_array_add(lines, g_strdup(message));
}

/* What takes the place of one of ours is said once; what does not is not. */
static void test_replacement(void) {
  const char *const foreign[] = {"pair>aaa", NULL}, *const own[] = {"good", "half", NULL};
  char *dir = make_folder(foreign), *builtin = make_folder(own);
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(fc_registry) r = new_registry(builtin);
  fc_registry_set_log(r, keep_line, lines);
  fc_registry_add_dir(r, dir);
  for (int i = 0; i < 2; i++) {
    source_of(r, "pair"), source_of(r, "half"), source_of(r, "fixture-good/good");
    g_assert_cmpuint(lines->len, ==, i == 0 ? 0 : 1);
    source_of(r, "good");
  }
  g_autofree char *said = g_strdup_printf(
      "operator \"good\" is taken from %s/aaa.so (fixture-pair) in place of the built-in one", dir);
  g_assert_cmpstr(lines->pdata[0], ==, said);
  gsize n;
  g_autofree fc_plugin_info *infos = fc_registry_plugins(r, &n);
  g_autofree char *listed = g_strdup_printf("operator \"good\" is not used: %s/aaa.so defines it first", dir);
  g_assert_cmpstr(info_of(infos, n, "/good.so")->reason, ==, listed);
  remove_folder(dir);
  remove_folder(builtin);
}

/* One operator that is not fit is left out alone, and it is known why. */
static void test_half(void) {
  const char *const links[] = {"half", "same_twice", NULL};
  char *dir = make_folder(links);
  GError *error = NULL;
  g_autoptr(fc_registry) r = new_registry(NULL);
  fc_registry_add_dir(r, dir);
  g_autofree char *names = names_of(r);
  g_assert_cmpstr(names, ==, "half same_twice");
  gsize n;
  g_autofree fc_plugin_info *infos = fc_registry_plugins(r, &n);
  g_assert_cmpstr(info_of(infos, n, "/half.so")->reason, ==,
                  "operator \"other_half\": it takes no kind of media");
  g_assert_cmpstr(info_of(infos, n, "/same_twice.so")->reason, ==,
                  "operator \"same_twice\": it is defined twice");
  g_assert_null(fc_registry_find(r, "other_half", &error));
  g_autofree char *why = g_strdup_printf(
      "no operator \"other_half\": %s/half.so operator \"other_half\": it takes no kind of media", dir);
  expect_error(&error, why);
  remove_folder(dir);
}

/* Also where the one it has is the only one, and its file is called otherwise. */
static void test_unfit_by_another_name(void) {
  const char *const links[] = {"kinds_none>other", NULL};
  char *dir = make_folder(links);
  GError *error = NULL;
  g_autoptr(fc_registry) r = new_registry(NULL);
  fc_registry_add_dir(r, dir);
  g_assert_null(fc_registry_find(r, "kinds_none", &error));
  g_autofree char *why = g_strdup_printf(
      "no operator \"kinds_none\": %s/other.so operator \"kinds_none\": it takes no kind of media", dir);
  expect_error(&error, why);
  remove_folder(dir);
}

/* A plugin is asked for extensions with its own operators, not our copies. */
static void test_extension(void) {
  g_autoptr(fc_registry) r = new_registry(NULL);
  g_autofree char *path = fixture("extends");
  const fc_plugin *plugin = fc_registry_open(r, path, NULL);
  g_assert_nonnull(plugin);
  const fc_operator *first = plugin->operators[0], *second = plugin->operators[1];
  g_assert_cmpstr(first->extension(first, "fixture/1"), ==, "first");
  g_assert_cmpstr(second->extension(second, "fixture/1"), ==, "second");
  g_assert_null(first->extension(first, "fixture/2"));
}

/* A fixture has a function of the name of one of zlib's, which is in this process. */
static void test_collision(void) {
  if (!FC_MODULE_OWN_NAMES) {
    g_test_skip("the sanitizer's functions must be found first");
    return;
  }
  g_assert_cmpuint(crc32(0, NULL, 0), ==, 0);
  g_autoptr(fc_registry) r = new_registry(NULL);
  g_autofree char *path = fixture("collides");
  const fc_plugin *plugin = fc_registry_open(r, path, NULL);
  g_assert_nonnull(plugin);
  guint8 from = 1, to = 0;
  const fc_view in = {.size = sizeof in, .dtype = FC_U8, .data = &from, .shape = {1, 1, 1, 1}},
                out = {.size = sizeof out, .dtype = FC_U8, .data = &to, .shape = {1, 1, 1, 1}};
  const fc_view *ins[] = {&in};
  const fc_job job = {.size = sizeof job, .n_in = 1, .in = ins, .out = &out};
  g_assert_cmpint(plugin->operators[0]->backends[0]->process(NULL, NULL, &job), ==, FC_OK);
  g_assert_cmpuint(to, ==, 42);
}

/* Of two folders with the same plugin the one searched first counts. */
static void test_search_order(void) {
  const char *const links[] = {"good", NULL};
  char *dirs[3];
  for (int i = 0; i < 3; i++) dirs[i] = make_folder(links);
  g_setenv("FILTERCHAIN_PLUGIN_PATH", dirs[1], TRUE);
  for (int i = 0; i < 3; i++) {
    g_autoptr(fc_registry) r = new_registry(dirs[2]);
    if (i == 0) fc_registry_add_dir(r, dirs[0]);
    if (i == 2) g_unsetenv("FILTERCHAIN_PLUGIN_PATH");
    const char *path = NULL;
    fc_registry_plugin_of(r, fc_registry_find(r, "good", NULL), &path);
    g_assert_true(g_str_has_prefix(path, dirs[i]));
  }
  for (int i = 0; i < 3; i++) remove_folder(dirs[i]);
}

/* A look-up opens no file behind the one that it finds: that the others here hang would be told. */
static void test_opens_few(void) {
  const char *const links[] = {"hangs", "crash", "good", "hides", NULL}; /* in order: crash, good */
  char *dir = make_folder(links);
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(fc_registry) r = new_registry(NULL);
  fc_registry_set_log(r, keep_line, lines);
  fc_registry_add_dir(r, dir);
  g_assert_nonnull(fc_registry_find(r, "good", NULL));
  for (guint i = 0; i < lines->len; i++) g_assert_null(strstr(lines->pdata[i], "did not return"));
  remove_folder(dir);
}

static void test_not_found(void) {
  const char *const links[] = {"good", "crash", NULL}, *const nothing[] = {NULL};
  char *dir = make_folder(links), *empty = make_folder(nothing);
  GError *error = NULL;
  g_autoptr(fc_registry) r = new_registry(NULL);
  fc_registry_add_dir(r, dir);
  fc_registry_add_dir(r, "/nonexistent/folder");
  g_assert_null(fc_registry_find(r, "goof", &error));
  g_assert_cmpint(error->code, ==, FC_UNSUPPORTED);
  expect_error(&error, "no operator \"goof\": did you mean \"good\"?");
  g_assert_null(fc_registry_find(r, "reverberate", &error));
  expect_error(
      &error,
      "no operator \"reverberate\"; a plugin file could not be loaded: filterchain list says which and why");
  g_assert_null(fc_registry_find(r, "../good", &error));
  expect_error(&error, "no operator \"../good\": \"good\" is defined by fixture-good");
  g_assert_null(fc_registry_find(r, "crash", &error));
  g_autofree char *message = g_strdup_printf(
      "no operator \"crash\": %s/crash.so crashed while being opened (signal 11, Segmentation fault)", dir);
  expect_error(&error, message);
  g_autoptr(fc_registry) none = new_registry(empty);
  g_assert_null(fc_registry_find(none, "good", &error));
  g_autofree char *nowhere = g_strdup_printf("no operator \"good\": there are no plugins in %s", empty);
  expect_error(&error, nowhere);
  g_assert_null(fc_registry_plugin_of(none, NULL, NULL));
  remove_folder(dir);
  remove_folder(empty);
}

/* What is no file, or not one that can be opened. */
static void test_not_files(void) {
  const char *const nothing[] = {NULL};
  char *dir = make_folder(nothing);
  g_autofree char *folder = g_build_filename(dir, "folder.so", NULL);
  g_autofree char *dangling = g_build_filename(dir, "dangling.so", NULL);
  g_autofree char *text = g_build_filename(dir, "readme.txt", NULL);
  g_autofree char *pipe = g_build_filename(dir, "pipe.so", NULL);
  g_assert_cmpint(g_mkdir(folder, 0700), ==, 0);
  g_assert_cmpint(symlink("/nonexistent.so", dangling), ==, 0);
  g_assert_cmpint(mkfifo(pipe, 0600), ==, 0);
  g_assert_true(g_file_set_contents(text, "hello", -1, NULL));
  g_autoptr(fc_registry) r = new_registry(NULL);
  fc_registry_add_dir(r, dir);
  gsize n;
  g_autofree fc_plugin_info *infos = fc_registry_plugins(r, &n);
  g_assert_cmpuint(n, ==, 3); /* readme.txt is nobody's plugin and no one's business */
  g_assert_cmpstr(info_of(infos, n, "folder.so")->reason, ==, "is not a regular file");
  g_assert_cmpstr(info_of(infos, n, "pipe.so")->reason, ==, "is not a regular file");
  g_assert_cmpstr(info_of(infos, n, "dangling.so")->reason, ==, "cannot be read: No such file or directory");
  GError *error = NULL;
  g_assert_null(fc_registry_open(r, text, &error));
  g_assert_true(g_str_has_suffix(error->message, "readme.txt does not end in .so"));
  g_clear_error(&error);
  remove_folder(dir);
}

static void test_no_scanner(void) {
  g_autoptr(fc_registry) r = fc_registry_new();
  fc_registry_set_home(r, "/nonexistent", "/nonexistent/scan");
  g_autofree char *path = fixture("good");
  g_autofree char *message =
      g_strdup_printf("%s cannot be looked at: /nonexistent/scan: No such file or directory", path);
  GError *error = NULL;
  g_assert_null(fc_registry_open(r, path, &error));
  expect_error(&error, message);
}

/* The same file by two paths is one plugin. */
static void test_open_again(void) {
  const char *const links[] = {"good>other", NULL};
  char *dir = make_folder(links);
  g_autoptr(fc_registry) r = new_registry(NULL);
  g_autofree char *path = fixture("good"), *link = g_build_filename(dir, "other.so", NULL);
  const fc_plugin *plugin = fc_registry_open(r, path, NULL);
  g_assert_nonnull(plugin);
  g_assert_true(fc_registry_open(r, link, NULL) == plugin);
  remove_folder(dir);
}

/* A registry whose folder is the built-in one opens it without a child; two
 * registries do not meet. */
static void test_trusted(void) {
  const char *const links[] = {"good", NULL};
  char *dir = make_folder(links);
  g_autoptr(fc_registry) a = fc_registry_new();
  fc_registry_set_home(a, dir, "/nonexistent/scan");
  g_autoptr(fc_registry) b = new_registry(NULL);
  const fc_operator *op = fc_registry_find(a, "good", NULL);
  g_assert_nonnull(op);
  g_assert_null(fc_registry_find(b, "good", NULL));
  g_assert_null(fc_registry_plugin_of(b, op, NULL));
  remove_folder(dir);
}

/* A module with kernels cannot be unloaded and loaded again: closing leaves it where it is. */
static void test_resident(void) {
  const char *const nothing[] = {NULL};
  char *dir = make_folder(nothing);
  g_autofree char *from = fixture("good"), *path = g_build_filename(dir, "resident.so", NULL), *text = NULL;
  gsize size;
  g_assert_true(g_file_get_contents(from, &text, &size, NULL));
  g_assert_true(g_file_set_contents(path, text, (gssize)size, NULL)); /* which no other test has opened */
  GError *error = NULL;
  void *module = fc_module_open(path, FALSE, &error);
  g_assert_no_error(error);
  g_assert_cmpint(dlclose(module), ==, 0);
  void *loaded = dlopen(path, RTLD_LAZY | RTLD_NOLOAD);
  g_assert_nonnull(loaded);
  dlclose(loaded);
  remove_folder(dir);
}

static gpointer find_in_thread(gpointer registry) {
  return (gpointer)fc_registry_find(registry, "good", NULL);
}

static void test_threads(void) {
  const char *const links[] = {"good", "pair", NULL};
  char *dir = make_folder(links);
  g_autoptr(fc_registry) r = new_registry(NULL);
  GThread *threads[8];
  fc_registry_add_dir(r, dir);
  for (guint i = 0; i < G_N_ELEMENTS(threads); i++) threads[i] = g_thread_new("find", find_in_thread, r);
  gpointer first = g_thread_join(threads[0]);
  g_assert_nonnull(first);
  for (guint i = 1; i < G_N_ELEMENTS(threads); i++) g_assert_true(g_thread_join(threads[i]) == first);
  remove_folder(dir);
}

typedef struct search {
  fc_registry *registry;
  gint over; /* atomic */
} search;

static gpointer find_nothing(gpointer data) {
  search *s = data;
  g_assert_null(fc_registry_find(s->registry, "nothing", NULL));
  g_atomic_int_set(&s->over, TRUE);
  return NULL;
}

/* Whether, while one thread waits for a file that hangs, another found what comes before it. */
static gboolean is_found_meanwhile(const char *dir) {
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  g_autoptr(fc_registry) r = new_registry(NULL);
  search s = {r, FALSE};
  fc_registry_set_log(r, keep_line, lines);
  fc_registry_add_dir(r, dir);
  GThread *waiting = g_thread_new("find", find_nothing, &s);
  g_usleep(G_USEC_PER_SEC);
  g_assert_nonnull(fc_registry_find(r, "good", NULL));
  g_usleep(G_USEC_PER_SEC / 2);
  const gboolean meanwhile = !g_atomic_int_get(&s.over);
  g_thread_join(waiting);
  /* What every run would wait for is told. */
  g_autofree char *said = g_strdup_printf(
      "waited for %s/hangs.so, which did not return within 5 seconds while being opened", dir);
  g_assert_cmpuint(lines->len, ==, 1);
  g_assert_cmpstr(lines->pdata[0], ==, said);
  return meanwhile;
}

/* On a machine that is busy the first thread may be ready before the other one looks. */
static void test_hang_apart(void) {
  const char *const links[] = {"good", "hangs", NULL};
  char *dir = make_folder(links);
  gboolean meanwhile = FALSE;
  for (int i = 0; i < 5 && !meanwhile; i++) meanwhile = is_found_meanwhile(dir);
  g_assert_true(meanwhile);
  remove_folder(dir);
}

int main(int argc, char **argv) {
  g_test_init(&argc, &argv, NULL);
  fixtures = g_getenv("FIXTURES");
  scan_program = g_getenv("SCAN_PROGRAM");
  g_assert_true(fixtures && scan_program);
  g_unsetenv("FILTERCHAIN_PLUGIN_PATH");
  for (gsize i = 0; i < G_N_ELEMENTS(broken); i++) {
    g_autofree char *name = g_strconcat("/registry/broken/", broken[i].name, NULL);
    g_test_add_data_func(name, GSIZE_TO_POINTER(i), test_broken);
  }
  static const char *const working[] = {"good", "older", "newer", "plusplus"};
  for (gsize i = 0; i < G_N_ELEMENTS(working); i++) {
    g_autofree char *name = g_strconcat("/registry/working/", working[i], NULL);
    g_test_add_data_func(name, working[i], test_working);
  }
  g_test_add_func("/registry/broken-trusted", test_broken_trusted);
  g_test_add_func("/registry/leaves-child", test_leaves_child);
  g_test_add_func("/registry/folder", test_folder);
  g_test_add_func("/registry/precedence", test_precedence);
  g_test_add_func("/registry/within-folder", test_within_folder);
  g_test_add_func("/registry/qualified", test_qualified);
  g_test_add_func("/registry/replacement", test_replacement);
  g_test_add_func("/registry/half", test_half);
  g_test_add_func("/registry/unfit-by-another-name", test_unfit_by_another_name);
  g_test_add_func("/registry/extension", test_extension);
  g_test_add_func("/registry/collision", test_collision);
  g_test_add_func("/registry/search-order", test_search_order);
  g_test_add_func("/registry/opens-few", test_opens_few);
  g_test_add_func("/registry/not-found", test_not_found);
  g_test_add_func("/registry/not-files", test_not_files);
  g_test_add_func("/registry/no-scanner", test_no_scanner);
  g_test_add_func("/registry/open-again", test_open_again);
  g_test_add_func("/registry/trusted", test_trusted);
  g_test_add_func("/registry/resident", test_resident);
  g_test_add_func("/registry/threads", test_threads);
  g_test_add_func("/registry/hang-apart", test_hang_apart);
  return g_test_run();
}
