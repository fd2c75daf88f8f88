/* SPDX-License-Identifier: MIT */
/*
 * main.c - filterchain-check, which `filterchain check` runs: tests plugin files and prints a checklist or
 * JSON.
 *
 *     filterchain-check [OPTION]... FILE.so|FOLDER|OPERATOR...
 *
 * Exit status: 0 when all tests have passed or were excluded, 1 when one has failed, 2 for a wrong command
 * line, and 77 when there was nothing to do (--backend cuda without a device).
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check/suite.h"
#include "core/registry/module.h"

#define NOTHING_DONE 77

typedef struct settings {
  check_options options;
  char *op, *backend, *test, *seed;
  gboolean json, only_failed, list;
  char **plugin_dirs;
  guint counts[CHECK_STATUSES], ran; /* ran: tests on a backend that were not skipped */
  gboolean met;                      /* a file has the operator of --op */
  const char *last_path;
  GString *lines, *errors; /* of JSON */
} settings;

static const char *const status_names[CHECK_STATUSES] = {"passed", "failed", "skipped", "excluded"};

/* ---- options ------------------------------------------------------------------------------------ */

static gboolean complain(const char *text) {
  fprintf(stderr, "filterchain: check: %s\n", text);
  return FALSE;
}

static gboolean take_settings(settings *s, gint64 only, double seconds, gint64 cases, int argc) {
  harness_options *h = &s->options.harness;
  h->only = only, h->cases = (guint64)MAX(cases, 0);
  h->seconds = seconds >= 0 ? seconds : h->cases ? 0 : 3;
  h->seed = (guint64)g_get_real_time();
  if (s->seed && !g_ascii_string_to_unsigned(s->seed, 10, 0, G_MAXUINT64, &h->seed, NULL))
    return complain("--seed: expected a whole number, 0 or larger");
  if (only < -1 || cases < 0) return complain("--case, --cases: expected a whole number, 0 or larger");
  if (!(s->options.timeout > 0) || !isfinite(s->options.timeout) || !isfinite(seconds) || seconds < -1)
    return complain("--seconds, --timeout: expected a number of seconds");
  if (!(h->tolerance >= 0) || !isfinite(h->tolerance))
    return complain("--tolerance: expected a number, 0 or larger");
  s->options.op = s->op, s->options.backend = s->backend, s->options.test = s->test;
  if (s->backend && strcmp(s->backend, "cpu") && strcmp(s->backend, "cuda") && strcmp(s->backend, "all"))
    return complain(fc_has_cuda() ? "--backend: expected cpu, cuda or all"
                                  : "--backend: expected cpu or all");
  if (s->test && !check_is_test(s->test)) return complain("--test: no test of that name; --list names them");
  if (only >= 0 && (!s->seed || !s->op))
    return complain("--case: a case is one of an operator and a seed; add --op and --seed");
  if (argc < 2 && !s->list)
    return complain("expected a plugin file, a folder of them, or an operator; see --help");
  return TRUE;
}

static gboolean read_settings(settings *s, int *argc, char ***argv) {
  gint64 only = -1, cases = 0;
  double seconds = -1;
  s->options.timeout = 60;
  const GOptionEntry entries[] = {
      {"json", 0, 0, G_OPTION_ARG_NONE, &s->json, "Results as JSON", NULL},
      {"only-failed", 0, 0, G_OPTION_ARG_NONE, &s->only_failed, "Print what has failed, and the sum", NULL},
      {"op", 0, 0, G_OPTION_ARG_STRING, &s->op, "This operator only", "NAME"},
      {"backend", 0, 0, G_OPTION_ARG_STRING, &s->backend,
       fc_has_cuda() ? "cpu, cuda or all (the default)" : "cpu or all (the default)", "NAME"},
      {"test", 0, 0, G_OPTION_ARG_STRING, &s->test, "This test only", "NAME"},
      {"seed", 0, 0, G_OPTION_ARG_STRING, &s->seed, "Repeat the run of this seed", "N"},
      {"case", 0, 0, G_OPTION_ARG_INT64, &only, "This case only", "N"},
      {"cases", 0, 0, G_OPTION_ARG_INT64, &cases, "At most N cases a test; exactly N without --seconds", "N"},
      {"seconds", 0, 0, G_OPTION_ARG_DOUBLE, &seconds, "For the results of an operator on a backend (3)",
       "T"},
      {"tolerance", 0, 0, G_OPTION_ARG_DOUBLE, &s->options.harness.tolerance,
       "Of the reference; relative (f32: 1e-5, f64: 1e-12)", "X"},
      {"timeout", 0, 0, G_OPTION_ARG_DOUBLE, &s->options.timeout, "Seconds that a test may take (60)", "T"},
      {"keep-going", 'k', 0, G_OPTION_ARG_NONE, &s->options.keep_going,
       "Also run the tests behind one that failed", NULL},
      {"in-process", 0, 0, G_OPTION_ARG_NONE, &s->options.in_process,
       "For a debugger: all in one process, without time limits", NULL},
      {"plugin-dir", 0, 0, G_OPTION_ARG_FILENAME_ARRAY, &s->plugin_dirs,
       "Look for an operator named in DIR first", "DIR"},
      {"list", 0, 0, G_OPTION_ARG_NONE, &s->list, "List the tests, and the items that fail, and run none",
       NULL},
      {"verbose", 'v', 0, G_OPTION_ARG_NONE, &s->options.harness.verbose,
       "Print cases, and what plugins print, to stderr", NULL},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  g_autoptr(GError) error = NULL;
  GOptionContext *context = g_option_context_new("FILE.so|FOLDER|OPERATOR... - tests plugins");
  g_option_context_set_description(
      context, "Tests that may fail are named in a file beside the plugin, NAME.check for\n"
               "NAME.so, a line each:\n"
               "  OPERATOR[/BACKEND] TEST-OR-ITEM: REASON\n"
               "Exit status: 0 all passed; 1 a test failed; 2 usage.\n");
  g_option_context_add_main_entries(context, entries, NULL);
  const gboolean ok = g_option_context_parse(context, argc, argv, &error);
  g_option_context_free(context);
  return ok ? take_settings(s, only, seconds, cases, *argc) : complain(error->message);
}

/* ---- reports ------------------------------------------------------------------------------------- */

static void add_value(GString *to, const char *value) {
  g_autofree char *valid = g_utf8_make_valid(value, -1);
  g_string_append_c(to, '"');
  for (const char *c = valid; *c; c++) {
    if ((unsigned char)*c < 0x20)
      g_string_append_printf(to, "\\u%04x", *c);
    else
      g_string_append_printf(to, *c == '"' || *c == '\\' ? "\\%c" : "%c", *c);
  }
  g_string_append_c(to, '"');
}

static void add_string(GString *to, const char *key, const char *value) {
  g_string_append_printf(to, "%s\"%s\": ", to->str[to->len - 1] == '{' ? "" : ", ", key);
  if (value)
    add_value(to, value);
  else
    g_string_append(to, "null");
}

/* What was asked for cannot be: the others are tested all the same. */
static gboolean refuse(settings *s, const char *format, ...) G_GNUC_PRINTF(2, 3);
static gboolean refuse(settings *s, const char *format, ...) {
  va_list values;
  va_start(values, format);
  g_autofree char *text = g_strdup_vprintf(format, values);
  va_end(values);
  if (s->errors->len) g_string_append(s->errors, ", ");
  add_value(s->errors, text);
  return complain(text);
}

static void report_json(settings *s, const check_outcome *o) {
  GString *line = s->lines;
  g_string_append(line, line->len ? ",\n  {" : "\n  {");
  add_string(line, "file", o->path);
  add_string(line, "operator", o->op);
  add_string(line, "backend", o->backend);
  add_string(line, "test", o->test);
  add_string(line, "status", status_names[o->status]);
  add_string(line, "item",
             o->status == CHECK_FAILED || o->status == CHECK_EXCLUDED ? fault_name(o->fault) : NULL);
  add_string(line, "text", o->text);
  add_string(line, "again", o->again[0] ? o->again : NULL);
  g_string_append_c(line, '}');
}

static void report_text(settings *s, const check_outcome *o) {
  static const char *const words[CHECK_STATUSES] = {"ok", "FAIL", "skip", "may"};
  if (s->only_failed && o->status != CHECK_FAILED) return;
  if (g_strcmp0(s->last_path, o->path) != 0) printf("%s\n", o->path);
  s->last_path = o->path;
  printf("  %-4s ", words[o->status]);
  if (o->op) printf("%s%s%s: ", o->op, o->backend ? " on " : "", o->backend ? o->backend : "");
  printf("%s", o->test);
  if (o->status == CHECK_FAILED || o->status == CHECK_EXCLUDED) printf(" (%s)", fault_name(o->fault));
  printf("%s%s\n", o->text[0] ? ": " : "", o->text);
  if (o->status == CHECK_FAILED && o->again[0])
    printf("       again: filterchain check %s %s\n", o->path, o->again);
  fflush(stdout);
}

static void on_outcome(const check_outcome *o, void *data) {
  settings *s = data;
  s->counts[o->status]++;
  s->ran += o->backend && o->status != CHECK_SKIPPED;
  if (s->json)
    report_json(s, o);
  else
    report_text(s, o);
}

static void print_sum(const settings *s) {
  const guint *n = s->counts;
  if (s->json)
    printf("{\"seed\": \"%" G_GUINT64_FORMAT
           "\", \"passed\": %u, \"failed\": %u, \"skipped\": %u, \"excluded\": %u, \"errors\": [%s], "
           "\"results\": [%s\n]}\n",
           s->options.harness.seed, n[CHECK_PASSED], n[CHECK_FAILED], n[CHECK_SKIPPED], n[CHECK_EXCLUDED],
           s->errors->str, s->lines->str);
  else
    printf("%u passed, %u failed, %u skipped, %u excluded; --seed %" G_GUINT64_FORMAT "\n", n[CHECK_PASSED],
           n[CHECK_FAILED], n[CHECK_SKIPPED], n[CHECK_EXCLUDED], s->options.harness.seed);
}

/* ---- files ---------------------------------------------------------------------------------------- */

static gint compare_names(gconstpointer a, gconstpointer b) {
  return strcmp(*(const char *const *)a, *(const char *const *)b);
}

static gboolean check_folder(settings *s, const char *folder) {
  GDir *open = g_dir_open(folder, 0, NULL);
  if (!open) return refuse(s, "%s: a folder that cannot be read", folder);
  g_autoptr(GPtrArray) paths = g_ptr_array_new_with_free_func(g_free);
  for (const char *name = g_dir_read_name(open); name; name = g_dir_read_name(open))
    if (g_str_has_suffix(name, ".so")) g_ptr_array_add(paths, g_build_filename(folder, name, NULL));
  g_dir_close(open);
  g_ptr_array_sort(paths, compare_names);
  for (guint i = 0; i < paths->len; i++) s->met |= check_file(paths->pdata[i], &s->options, on_outcome, s);
  s->last_path = NULL;
  return paths->len > 0 || refuse(s, "%s: a folder without a plugin (NAME.so)", folder);
}

/* An operator by name, found in the same way as by the command. */
static gboolean check_operator(settings *s, const char *name) {
  g_autoptr(fc_context) context = fc_context_new();
  g_autoptr(GError) error = NULL;
  const char *path = NULL;
  for (guint i = 0; s->plugin_dirs && s->plugin_dirs[i]; i++)
    fc_context_add_plugin_dir(context, s->plugin_dirs[i]);
  const fc_operator *op = fc_context_find(context, name, &error);
  if (!op) return refuse(s, "%s", error->message);
  fc_context_plugin_of(context, op, &path);
  check_options options = s->options;
  options.op = op->name;
  s->met |= check_file(path, &options, on_outcome, s) && g_strcmp0(s->op, op->name) == 0;
  s->last_path = NULL;
  return TRUE;
}

static gboolean check_one(settings *s, const char *what) {
  if (g_file_test(what, G_FILE_TEST_IS_DIR)) return check_folder(s, what);
  if (!strchr(what, '/') && !g_str_has_suffix(what, ".so")) return check_operator(s, what);
  g_autofree char *path = g_canonicalize_filename(what, NULL);
  s->met |= check_file(path, &s->options, on_outcome, s);
  s->last_path = NULL;
  return TRUE;
}

static void clear(settings *s) {
  g_free(s->op);
  g_free(s->backend);
  g_free(s->test);
  g_free(s->seed);
  g_strfreev(s->plugin_dirs);
  g_string_free(s->lines, TRUE);
  g_string_free(s->errors, TRUE);
}

static int run(settings *s, int argc, char **argv) {
  gboolean understood = TRUE;
  if (!read_settings(s, &argc, &argv)) return 2;
  if (s->list) {
    for (const check_test *t = check_tests; t->name; t++)
      if (fc_has_cuda() || strcmp(t->name, "stream") != 0) printf("%-10s  %s\n", t->name, t->summary);
    printf("items:");
    for (int f = FAULT_NONE + 1; f < FAULT_COUNT; f++)
      if (fc_has_cuda() || f != FAULT_DEVICE) printf(" %s", fault_name(f));
    printf("\n");
    return 0;
  }
  for (int i = 1; i < argc; i++) understood &= check_one(s, argv[i]);
  if (s->op && !s->met && understood && !s->counts[CHECK_FAILED])
    understood = refuse(s, "--op: no operator \"%s\" in what was tested", s->op);
  print_sum(s);
  if (!understood) return 2;
  const gboolean idle = s->ran == 0 && g_strcmp0(s->backend, "cuda") == 0; /* no device, or nothing for it */
  if (s->counts[CHECK_FAILED]) return 1;
  return idle ? NOTHING_DONE : 0;
}

int main(int argc, char **argv) {
  settings s = {.lines = g_string_new(NULL), .errors = g_string_new(NULL)};
  const int status = run(&s, argc, argv);
  clear(&s);
  return status;
}
