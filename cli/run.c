/* SPDX-License-Identifier: MIT */
/* The command proper: one file through a chain, or several (a batch). The chain is
 * parsed once and everything that can be wrong with the command line is said before
 * anything is written. */
#include "cli/codecs.h"
#include "cli/command.h"
#include "cli/describe.h"
#include "cli/progress.h"
#include "cli/report.h"
#include "cli/signals.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define LINKS_MAX 40 /* one behind another, as the system has it */
#define NO_INPUT  "no input: give one with -i FILE (see filterchain --help)"
#define STEM      "{stem}" /* in an output's name stands for the input's, without its ending */

typedef struct work {
  const arguments *args;
  fc_chain *chain;
  fc_options options;
  GPtrArray *outcomes; /* of outcome, in the order of the inputs */
  char *folder;        /* that was made for the outputs, or NULL */
  progress bar;
  json report; /* text NULL: none is asked for */
  guint done, failed;
  exit_status failure; /* of a run of its own, which has */
  gboolean result;     /* a result nevertheless */
} work;

static gboolean is_stream(const char *path) {
  return path && (strcmp(path, "-") == 0 || g_str_has_prefix(path, "-:"));
}

/* ---- what is asked ------------------------------------------------------ */

G_GNUC_PRINTF(2, 3)
static gboolean refuse(GError **error, const char *format, ...) {
  va_list values;
  va_start(values, format);
  g_autofree char *text = g_strdup_vprintf(format, values);
  va_end(values);
  g_set_error(error, FC_ERROR, FC_INVALID, "%s", text);
  return FALSE;
}

static gboolean chain_measures(const fc_chain *chain) {
  for (guint i = 0; i < fc_chain_length(chain); i++)
    if (operator_measures(fc_chain_operator(chain, i))) return TRUE;
  return FALSE;
}

/* The operator that makes the chain's signal, so that there is no input; or NULL. */
static const fc_operator *generator_of(const fc_chain *chain) {
  const fc_operator *first = fc_chain_operator(chain, 0);
  return first && (first->flags & FC_OP_GENERATOR) ? first : NULL;
}

/* A time with its unit, in seconds; 0 where none is given. `to` may be NULL. */
static gboolean latency_of(const arguments *a, double *to, GError **error) {
  char *end = NULL;
  const double number = a->latency ? g_ascii_strtod(a->latency, &end) : 0;
  const double unit = !end ? 1 : strcmp(end, "ms") == 0 ? 1e-3 : strcmp(end, "s") == 0 ? 1 : 0;
  if (a->latency && !(number * unit > 0 && number * unit <= 3600))
    return refuse(error, "--latency: \"%s\" is no time up to an hour: write 20ms or 0.02s", a->latency);
  if (to) *to = number * unit;
  return TRUE;
}

/* What needs no chain to be found wrong. */
static gboolean check_arguments(const arguments *a, GError **error) {
  if (a->operands->len)
    return refuse(error, "unexpected \"%s\": inputs are named with -i, operators with -p, the output with -o",
                  (const char *)g_ptr_array_index(a->operands, 0));
  if (!a->inputs->len && !a->stages->len) return refuse(error, NO_INPUT);
  for (guint i = 0; i < a->inputs->len && a->inputs->len > 1; i++)
    if (is_stream(g_ptr_array_index(a->inputs, i)))
      return refuse(error, "standard input cannot be part of a batch: give -i - alone");
  if (a->trace && a->inputs->len > 1) return refuse(error, "--trace follows one run: give one input");
  if (a->json && is_stream(a->output))
    return refuse(error, "--json and -o - would both write to standard output: use --report FILE");
  if (is_stream(a->report) && is_stream(a->output))
    return refuse(error, "--report - and -o - would both write to standard output");
  if (is_stream(a->trace) && (is_stream(a->output) || is_stream(a->report) || a->json))
    return refuse(error, "--trace - would share standard output with another: name a file");
  if (a->latency && a->inputs->len > 1) return refuse(error, "--latency is for one input that comes live");
  if (a->latency && a->chunk) return refuse(error, "--latency says how long chunks are: leave --chunk out");
  return latency_of(a, NULL, error);
}

/* Whether both name one file, there already or not, however they are spelt. A device or a
 * pipe may be named twice. */
static gboolean same_file(const char *a, const char *b) {
  struct stat first, second;
  if (!a || !b) return FALSE; /* no input, or no output */
  if (stat(a, &first) == 0 && stat(b, &second) == 0)
    return S_ISREG(first.st_mode) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
  g_autofree char *whole = g_canonicalize_filename(a, NULL), *other = g_canonicalize_filename(b, NULL);
  return strcmp(whole, other) == 0;
}

/* --report and --trace are written at the end: what can be found wrong is said now. They
 * replace what they name, which must be neither an input nor the output. */
static gboolean check_side_file(const work *w, const char *flag, const char *path, GError **error) {
  if (!path || is_stream(path)) return TRUE;
  for (guint i = 0; i < w->outcomes->len; i++) {
    const outcome *o = g_ptr_array_index(w->outcomes, i);
    if ((o->in_path && same_file(path, o->in_path)) || (o->out_path && same_file(path, o->out_path)))
      return refuse(error, "%s would overwrite %s", flag, path);
  }
  g_autofree char *folder = g_path_get_dirname(path);
  if (g_file_test(folder, G_FILE_TEST_IS_DIR)) return TRUE;
  g_set_error(error, FC_ERROR, FC_IO, "%s %s: there is no folder %s", flag, path, folder);
  return FALSE;
}

/* Nor may anything take the place of a table that the chain was made of. */
static gboolean check_tables(const work *w, GError **error) {
  const char *sides[] = {w->args->report, w->args->trace};
  g_autofree const char **tables = fc_chain_files(w->chain);
  for (guint t = 0; tables[t]; t++) {
    for (guint i = 0; i < G_N_ELEMENTS(sides); i++)
      if (sides[i] && !is_stream(sides[i]) && same_file(sides[i], tables[t]))
        return refuse(error, "%s would overwrite %s", i ? "--trace" : "--report", tables[t]);
    for (guint i = 0; i < w->outcomes->len; i++) {
      const outcome *o = g_ptr_array_index(w->outcomes, i);
      if (o->output && !is_stream(o->output) && same_file(o->out_path, tables[t]))
        return refuse(error, "%s would be written to %s, which the chain is made of", o->label, o->output);
    }
  }
  return TRUE;
}

static gboolean check_side_files(const work *w, GError **error) {
  const char *report = w->args->report, *trace = w->args->trace;
  if (!check_side_file(w, "--report", report, error) || !check_side_file(w, "--trace", trace, error))
    return FALSE;
  if (report && trace && !is_stream(report) && same_file(report, trace))
    return refuse(error, "--report and --trace would both write %s", report);
  return TRUE;
}

/* Where a link that leads to nothing leads to, through others; g_free. */
static char *follow(const char *path) {
  char *at = g_canonicalize_filename(path, NULL);
  for (int i = 0; i < LINKS_MAX; i++) {
    g_autofree char *link = g_file_read_link(at, NULL), *from = at;
    if (!link) return g_steal_pointer(&from);
    g_autofree char *folder = g_path_get_dirname(from);
    at = g_canonicalize_filename(link, folder);
  }
  return at;
}

/* The same for all names of one file, there already or not; NULL of what is no file, as a device, which may
 * be named twice. g_free. */
static char *identity_of(const char *path) {
  struct stat info;
  if (stat(path, &info) != 0) return follow(path);
  if (!S_ISREG(info.st_mode)) return NULL;
  return g_strdup_printf("%" G_GUINT64_FORMAT ":%" G_GUINT64_FORMAT, (guint64)info.st_dev,
                         (guint64)info.st_ino);
}

/* In a batch no result may take the place of another one, or of another one's input, by whatever name. */
static gboolean check_batch(const work *w, GError **error) {
  g_autoptr(GHashTable) inputs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  g_autoptr(GHashTable) outputs = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
  for (guint i = 0; i < w->outcomes->len; i++) {
    const outcome *o = g_ptr_array_index(w->outcomes, i);
    char *identity = o->output ? identity_of(o->in_path) : NULL;
    if (identity) g_hash_table_insert(inputs, identity, (gpointer)o->input);
  }
  for (guint i = 0; i < w->outcomes->len; i++) {
    const outcome *o = g_ptr_array_index(w->outcomes, i), *other;
    g_autofree char *identity = o->output ? identity_of(o->out_path) : NULL, *own = identity_of(o->in_path);
    if (!identity) continue;
    const char *input = g_hash_table_lookup(inputs, identity);
    if (input && g_strcmp0(identity, own) != 0)
      return refuse(error, "%s would be written to %s, which is %s", o->input, o->output, input);
    if ((other = g_hash_table_lookup(outputs, identity)))
      return refuse(error, "%s and %s would both be written to one file: %s is %s", other->input, o->input,
                    o->output, other->output);
    g_hash_table_insert(outputs, g_steal_pointer(&identity), (gpointer)o);
  }
  return TRUE;
}

/* FOLDER/NAME, with the extension that --format asks for, and the options of the output. */
static char *output_within(const arguments *a, const char *folder, const char *input, const char *rest) {
  g_autofree char *in_path = fc_file_split(input, TRUE, NULL), *name = g_path_get_basename(in_path);
  char *dot = a->format ? strrchr(name, '.') : NULL;
  if (dot && dot != name) *dot = '\0';
  g_autofree char *renamed = g_strconcat(name, a->format ? "." : "", a->format ? a->format : "", NULL);
  g_autofree char *path = g_build_filename(folder, renamed, NULL);
  return fc_file_join(path, rest);
}

static char *output_by_pattern(const char *pattern, const char *input, const char *rest) {
  g_autofree char *in_path = fc_file_split(input, TRUE, NULL), *stem = g_path_get_basename(in_path);
  char *dot = strrchr(stem, '.');
  if (dot && dot != stem) *dot = '\0';
  g_auto(GStrv) parts = g_strsplit(pattern, STEM, -1);
  g_autofree char *path = g_strjoinv(stem, parts);
  return fc_file_join(path, rest);
}

/* Takes the output over. */
static void add_outcome(GPtrArray *outcomes, const char *label, const char *input, char *output) {
  outcome *o = g_new0(outcome, 1);
  o->label = label, o->input = input, o->output = output;
  o->in_path = input ? fc_file_split(input, TRUE, NULL) : NULL;
  o->out_path = output ? fc_file_split(output, FALSE, NULL) : NULL;
  g_ptr_array_add(outcomes, o);
}

static gboolean is_first_to(GHashTable *seen, const char *input, char *output, GError **error) {
  if (!output) return TRUE;
  const char *other = g_hash_table_lookup(seen, output);
  if (other) return refuse(error, "%s and %s would both be written to %s", other, input, output);
  g_hash_table_insert(seen, output, (gpointer)input);
  return TRUE;
}

/* The file that standard output, or another descriptor that a path stands for, was opened on: bytes go
 * straight into it, there is no temporary that takes its place. */
static const char *opened_elsewhere(const char *output) {
  if (is_stream(output)) return "/dev/stdout";
  return g_str_has_prefix(output, "/dev/std") || g_str_has_prefix(output, "/dev/fd/") ||
                 g_str_has_prefix(output, "/proc/self/fd/")
             ? output
             : NULL;
}

/* As of `-i a.wav -o - >> a.wav`, which would be read and written at once. */
static gboolean check_not_into_input(const work *w, GError **error) {
  g_autofree char *path = w->args->output ? fc_file_split(w->args->output, FALSE, NULL) : NULL;
  const char *into = path ? opened_elsewhere(path) : NULL;
  for (guint i = 0; into && i < w->outcomes->len; i++) {
    const outcome *o = g_ptr_array_index(w->outcomes, i);
    if (same_file(is_stream(o->input) ? "/dev/stdin" : o->in_path, into))
      return refuse(error, "%s: is also what %s writes into: name it with -o to have it replaced",
                    is_stream(o->input) ? "standard input" : o->input, w->args->output);
  }
  return TRUE;
}

/* A chain that makes its signal runs once, without an input. */
static gboolean pair_generated(work *w, const fc_operator *generator, gboolean folder, GError **error) {
  if (w->args->inputs->len)
    return refuse(error, "%s makes its signal itself: leave out -i %s", generator->name,
                  (const char *)g_ptr_array_index(w->args->inputs, 0));
  if (folder)
    return refuse(error, "%s is a folder, and there is no input whose name to keep: give -o FILE",
                  w->args->output);
  add_outcome(w->outcomes, generator->name, NULL, g_strdup(w->args->output));
  return TRUE;
}

/* Which output each input goes to. */
static gboolean pair_outputs(work *w, GError **error) {
  const arguments *a = w->args;
  g_autofree char *rest = NULL, *output = a->output ? fc_file_split(a->output, FALSE, &rest) : NULL;
  gboolean batch = a->inputs->len > 1;
  gboolean folder = output && !is_stream(output) &&
                    (g_str_has_suffix(output, "/") || g_file_test(output, G_FILE_TEST_IS_DIR));
  gboolean pattern = output && !folder && strstr(output, STEM);
  if (!output && !chain_measures(w->chain))
    return refuse(error, "no output: give one with -o FILE (only a chain that measures does without)");
  const fc_operator *generator = generator_of(w->chain);
  if (generator) return pair_generated(w, generator, folder, error);
  if (!a->inputs->len) return refuse(error, NO_INPUT);
  if (output && batch && !folder && !pattern)
    return refuse(error, "%s: several inputs need -o to name a folder (%s/ is made), or a pattern with " STEM,
                  output, output);
  if ((folder || pattern) && is_stream(g_ptr_array_index(a->inputs, 0)))
    return refuse(error, "%s is a %s, and standard input has no name to keep: give -o FILE", output,
                  folder ? "folder" : "pattern");
  g_autoptr(GHashTable) seen = g_hash_table_new(g_str_hash, g_str_equal);
  for (guint i = 0; i < a->inputs->len; i++) {
    const char *input = g_ptr_array_index(a->inputs, i);
    char *target = folder    ? output_within(a, output, input, rest)
                   : pattern ? output_by_pattern(output, input, rest)
                             : g_strdup(a->output);
    add_outcome(w->outcomes, input, input, target);
    if (!is_first_to(seen, input, target, error)) return FALSE;
  }
  return !batch || check_batch(w, error);
}

/* The one that -o FOLDER/ names, unless it is there. */
static gboolean make_folder(work *w, GError **error) {
  g_autofree char *output = w->args->output ? fc_file_split(w->args->output, FALSE, NULL) : NULL;
  if (!output || is_stream(output) || !g_str_has_suffix(output, "/") ||
      g_file_test(output, G_FILE_TEST_IS_DIR))
    return TRUE;
  if (g_mkdir(output, 0777) == 0) {
    w->folder = g_steal_pointer(&output);
    return TRUE;
  }
  g_set_error(error, FC_ERROR, FC_IO, "%s: the folder cannot be made: %s", output, g_strerror(errno));
  return FALSE;
}

static void fill_options(work *w) {
  const arguments *a = w->args;
  fc_options how = FC_OPTIONS_INIT;
  how.device = a->device;
  how.threads = (int)a->threads;
  how.precision = a->precision < 0 ? -1 : a->precision == 0 ? FC_F32 : FC_F64;
  how.fuse = a->fuse;
  how.chunk = a->chunk;
  how.no_clobber = a->no_clobber;
  how.allow_truncated = a->allow_truncated;
  how.sync = a->sync;
  how.trace = a->trace;
  how.max_pixels = a->max_pixels;
  latency_of(a, &how.latency, NULL);
  how.in_raw = a->raw;
  how.in_format = a->in_format ? a->in_format : a->raw ? "raw" : NULL;
  how.out_format = a->format;
  how.progress = progress_update;
  how.progress_data = &w->bar;
  how.cancel = signals_cancel();
  w->options = how;
}

/* ---- doing it ------------------------------------------------------------ */

/* Once the command line and the chain stand, what is not supported is the file's doing;
 * only a request that makes no sense is still the user's. */
static exit_status failure_of(const GError *error) {
  return g_error_matches(error, FC_ERROR, FC_INVALID) ? EXIT_USAGE : EXIT_FAILED;
}

static void describe_run(const outcome *o, const fc_result *r) {
  double megabytes = (double)(r->bytes_up + r->bytes_down) / 1e6;
  say_note("%s -> %s: %s, %.3f s, %" G_GINT64_FORMAT " chunk%s, %.1f MB to and from the device", o->label,
           o->output ? o->output : "nothing", r->device, r->seconds, r->chunks, r->chunks == 1 ? "" : "s",
           megabytes);
}

static gboolean tells_of(const char *message, const char *name) {
  return name && g_str_has_prefix(message, name) && g_str_has_prefix(message + strlen(name), ": ");
}

/* Of several, also which of them it was, where it is the chain that tells. */
static void tell_failure(const work *w, const outcome *o, const GError *why) {
  const char *message = why->message;
  if (w->outcomes->len > 1 && !tells_of(message, o->in_path) && !tells_of(message, o->out_path))
    say_error("%s: %s", o->input, message);
  else
    say_error("%s", message);
}

/* How long what came out is: samples of sound, else images. -1 when the run failed. */
static gint64 length_of(const fc_result *result, const GError *why) {
  return why || !result ? -1 : result->out->extent[result->out->kind == FC_AUDIO ? FC_AXIS_T : FC_AXIS_N];
}

/* Both: a measurement that is beyond what the user allows fails the run, and is told nevertheless. */
static void tell(work *w, outcome *o, const fc_result *result, const GError *why) {
  gboolean batch = w->outcomes->len > 1;
  o->told = TRUE;
  if (w->report.text) report_add(&w->report, o, result, why);
  if (result && !w->args->json)
    report_print(is_stream(o->output) ? stderr : codecs_stdout(), result, batch ? o->input : NULL);
  if (!why && w->args->verbose) describe_run(o, result);
  if (why && !signals_received()) tell_failure(w, o, why);
  *(why ? &w->failed : &w->done) += 1;
  if (why) w->failure = result ? EXIT_FAILED : failure_of(why); /* what was measured is the data's doing */
  w->result = result != NULL;
}

static void run_one(work *w, outcome *o) {
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_result) result = NULL;
  progress_begin(&w->bar, o->label);
  if (!is_stream(w->args->trace)) codecs_hold_stdout(); /* a trace is printed on the way */
  fc_chain_run_file(w->chain, o->input, o->output, &w->options, &result, &error);
  codecs_release_stdout();
  progress_end(&w->bar, length_of(result, error));
  tell(w, o, result, error);
}

/* An fc_file_fn. */
static gboolean on_file(gsize index, const fc_result *result, const GError *why, void *data) {
  work *w = data;
  outcome *o = g_ptr_array_index(w->outcomes, index);
  progress_file(&w->bar, o->label, result ? result->seconds : 0, length_of(result, why));
  tell(w, o, result, why);
  return !signals_received();
}

static gboolean run_batch(work *w, GError **error) {
  guint n = w->outcomes->len;
  g_autofree fc_file *files = g_new0(fc_file, n);
  g_autofree const fc_file **list = g_new0(const fc_file *, n);
  for (guint i = 0; i < n; i++) {
    const outcome *o = g_ptr_array_index(w->outcomes, i);
    files[i] = (fc_file){sizeof *files, o->input, o->output};
    list[i] = &files[i];
  }
  codecs_hold_stdout();
  gint64 failed = fc_chain_run_files(w->chain, list, n, &w->options, on_file, w, error);
  codecs_release_stdout();
  return failed >= 0;
}

/* With those that were not reached. */
static gboolean write_reports(work *w, GError **error) {
  const arguments *a = w->args;
  if (!w->report.text) return TRUE;
  for (guint i = 0; i < w->outcomes->len; i++) {
    const outcome *o = g_ptr_array_index(w->outcomes, i);
    if (!o->told) report_add(&w->report, o, NULL, NULL);
  }
  g_autofree char *text = report_end(&w->report);
  w->report.text = NULL;
  if (a->json && !report_write("-", text, error)) return FALSE;
  return !a->report || report_write(a->report, text, error);
}

static exit_status stopped_by_signal(const work *w) {
  int number = signals_received();
  // Whoever closed a pipe knows, as with any other program in it.
  if (number == SIGPIPE) return EXIT_SIGNAL + number;
  const char *name = number == SIGINT ? "SIGINT" : number == SIGTERM ? "SIGTERM" : "SIGHUP";
  if (w->outcomes->len > 1)
    say_error("stopped by %s; %u of %u outputs are in place, and the others are as they were", name, w->done,
              w->outcomes->len);
  else
    say_error("stopped by %s; %s", name,
              w->failed ? "the output is as it was" : "what was complete is in place");
  return EXIT_SIGNAL + number;
}

static void begin_all(work *w) {
  const arguments *a = w->args;
  signals_install();
  progress_init(&w->bar, a->progress < 0 ? PROGRESS_AUTO : (progress_mode)a->progress, w->outcomes->len);
  if (a->quiet && a->progress < 0) w->bar.mode = PROGRESS_NONE;
  if (a->json || a->report) w->report = report_begin();
}

static exit_status run_all(work *w) {
  g_autoptr(GError) error = NULL;
  begin_all(w);
  if (w->outcomes->len == 1)
    run_one(w, g_ptr_array_index(w->outcomes, 0));
  else if (!run_batch(w, &error)) {
    say_error("%s", error->message);
    return failure_of(error);
  }
  // One that came when everything was in place has stopped nothing: the outputs are complete.
  if (signals_received() && w->done < w->outcomes->len) return stopped_by_signal(w);
  gboolean alone = w->outcomes->len == 1;
  if (alone && w->failed && !w->result) return w->failure;
  if (!write_reports(w, &error)) return say_gerror(error);
  if (!w->failed) return EXIT_DONE;
  if (alone) return w->failure;
  return w->failed == w->outcomes->len ? EXIT_FAILED : EXIT_PARTIAL;
}

static exit_status explain_all(work *w) {
  for (guint i = 0; i < w->outcomes->len; i++) {
    const outcome *o = g_ptr_array_index(w->outcomes, i);
    g_autoptr(GError) error = NULL;
    codecs_hold_stdout();
    g_autofree char *text =
        fc_chain_explain_file(w->chain, o->input, o->output, &w->options, w->args->json, &error);
    codecs_release_stdout();
    if (!text) {
      say_error("%s", error->message);
      return failure_of(error);
    }
    fputs(text, stdout);
    if (!g_str_has_suffix(text, "\n")) putchar('\n');
  }
  return EXIT_DONE;
}

static exit_status run_chain(work *w) {
  g_autoptr(GError) error = NULL;
  w->outcomes = g_ptr_array_new_with_free_func((GDestroyNotify)outcome_free);
  fill_options(w);
  exit_status status;
  if (!pair_outputs(w, &error) || !make_folder(w, &error) || !check_not_into_input(w, &error) ||
      !check_side_files(w, &error) || !check_tables(w, &error))
    status = say_gerror(error);
  else
    status = w->args->dry_run ? explain_all(w) : run_all(w);
  if (w->folder) g_rmdir(w->folder); /* stays if something was put into it */
  g_free(w->folder);
  if (w->report.text) g_string_free(w->report.text, TRUE);
  g_ptr_array_unref(w->outcomes);
  return status;
}

exit_status run_command(const arguments *a) {
  g_autoptr(GError) error = NULL;
  if (!check_arguments(a, &error)) return say_gerror(error);
  g_autoptr(fc_context) context = command_context(a);
  fc_context_set_max_memory(context, (gsize)a->max_memory * 1000000);
  g_ptr_array_add(a->stages, NULL);
  signals_guard();
  plugins_hold_stdout();
  g_autoptr(fc_chain) chain = fc_chain_parse(context, (const char *const *)a->stages->pdata, &error);
  plugins_release_stdout();
  work w = {.args = a, .chain = chain};
  exit_status status = chain ? run_chain(&w) : say_gerror(error);
  signals_unguard();
  return status;
}
