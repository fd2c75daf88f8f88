/* SPDX-License-Identifier: MIT */
/* Filtering: one file through a chain, or several (a batch). The chain is parsed once, and all errors in
 * the command line are reported before anything is written. */
#include "cli/codecs.h"
#include "cli/command.h"
#include "cli/describe.h"
#include "cli/progress.h"
#include "cli/plot/histogram.h"
#include "cli/plot/plot.h"
#include "cli/report.h"
#include "cli/signals.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#define NO_INPUT "no input: give one with -i FILE (see filterchain --help)"

typedef struct work {
  const arguments *args;
  fc_chain *chain;
  fc_options options;
  GPtrArray *outcomes;    /* of outcome: the one file, or none of a batch */
  const char *first[2];   /* with --concat the first input, which names the output; and NULL */
  const char **followers; /* with --concat the others, and NULL; or NULL */
  GPtrArray *joined;      /* with --concat the inputs, with those of folders, or NULL */
  fc_batch_spec spec;
  fc_batch *batch;   /* NULL: it is one file */
  FILE *failures;    /* what --failed names, or NULL */
  char *folder;      /* that was made for the outputs, or NULL */
  gsize folder_made; /* so much of its path was the first level that was made */
  progress bar;
  totals totals;
  json report;   /* text NULL: no report is wanted */
  spill spilled; /* of a long one, what is ahead of that text */
  guint done, failed;
  exit_status failure; /* of a run of one file, if it failed */
  gboolean result;     /* the failed run has a result */
  guint counter;       /* the stage added for --plot, or G_MAXUINT */
  char *plot;          /* the drawing, as SVG */
} work;

static gboolean is_stream(const char *path) {
  return path && (strcmp(path, "-") == 0 || g_str_has_prefix(path, "-:"));
}

/* ---- the request -------------------------------------------------------- */

static gboolean chain_measures(const fc_chain *chain) {
  for (guint i = 0; i < fc_chain_length(chain); i++)
    if (operator_measures(fc_chain_operator(chain, i))) return TRUE;
  return FALSE;
}

/* The operator that generates the chain's signal, so that there is no input; or NULL. */
static const fc_operator *generator_of(const fc_chain *chain) {
  const fc_operator *first = fc_chain_operator(chain, 0);
  return first && (first->flags & FC_OP_GENERATOR) ? first : NULL;
}

/* A time with its unit, in seconds; 0 if not given. `to` may be NULL. */
static gboolean latency_of(const arguments *a, double *to, GError **error) {
  char *end = NULL;
  const double number = a->latency ? g_ascii_strtod(a->latency, &end) : 0;
  const double unit = !end ? 1 : strcmp(end, "ms") == 0 ? 1e-3 : strcmp(end, "s") == 0 ? 1 : 0;
  if (a->latency && !(number * unit > 0 && number * unit <= 3600))
    return refuse(error, "--latency: \"%s\" is not a time of up to an hour: write 20ms or 0.02s", a->latency);
  if (to) *to = number * unit;
  return TRUE;
}

/* Checks that do not need the chain. */
static gboolean check_arguments(const arguments *a, GError **error) {
  const char *last = a->stages->len ? g_ptr_array_index(a->stages, a->stages->len - 1) : "";
  if (a->operands->len && strchr(last, '[') && !strchr(last, ']'))
    return refuse(error, "%s: the value is cut at a blank: put the stage in quotes, -p '%s %s...'", last,
                  last, (const char *)g_ptr_array_index(a->operands, 0));
  if (a->operands->len)
    return refuse(error, "unexpected \"%s\": inputs are named with -i, operators with -p, the output with -o",
                  (const char *)g_ptr_array_index(a->operands, 0));
  if (!a->inputs->len && !a->stages->len) return refuse(error, NO_INPUT);
  for (guint i = 0; i < a->inputs->len && a->inputs->len > 1 && !a->concat; i++)
    if (is_stream(g_ptr_array_index(a->inputs, i)))
      return refuse(error, "standard input cannot be part of a batch: give -i - alone");
  if (a->plot && !plot_is_svg(a->plot, error)) return FALSE;
  if (is_stream(a->plot))
    return refuse(error, "--plot - would share standard output with what was measured: name a file");
  if (a->json && is_stream(a->output))
    return refuse(error, "--json and -o - would both write to standard output: use --report FILE");
  if (is_stream(a->report) && is_stream(a->output))
    return refuse(error, "--report - and -o - would both write to standard output");
  if (is_stream(a->trace) && (is_stream(a->output) || is_stream(a->report) || a->json))
    return refuse(error, "--trace -: standard output is used already: name a file");
  if (a->latency && a->inputs->len > 1) return refuse(error, "--latency is for a single live input");
  if (a->latency && a->chunk) return refuse(error, "--latency determines the chunk size: leave out --chunk");
  return latency_of(a, NULL, error);
}

/* Whether both name the same file, existing or not, in any spelling. A device or a pipe may be named
 * twice. */
static gboolean same_file(const char *a, const char *b) {
  struct stat first, second;
  if (!a || !b) return FALSE; /* no input, or no output */
  if (stat(a, &first) == 0 && stat(b, &second) == 0)
    return S_ISREG(first.st_mode) && first.st_dev == second.st_dev && first.st_ino == second.st_ino;
  g_autofree char *whole = g_canonicalize_filename(a, NULL), *other = g_canonicalize_filename(b, NULL);
  return strcmp(whole, other) == 0;
}

/* --report and --trace are written at the end, but checked now. They replace the files they name, which
 * must be neither an input nor the output. */
static gboolean check_side_file(const work *w, const char *flag, const char *path, GError **error) {
  if (!path || is_stream(path)) return TRUE;
  for (guint i = 0; i < w->outcomes->len; i++) {
    const outcome *o = g_ptr_array_index(w->outcomes, i);
    if ((o->in_path && same_file(path, o->in_path)) || (o->out_path && same_file(path, o->out_path)))
      return refuse(error, "%s would overwrite %s", flag, path);
  }
  for (const char **next = w->followers; next && *next; next++) {
    g_autofree char *input = fc_file_split(*next, TRUE, NULL);
    if (input && same_file(path, input)) return refuse(error, "%s would overwrite %s", flag, path);
  }
  if (w->batch && (fc_batch_has(w->batch, path, FALSE) || fc_batch_has(w->batch, path, TRUE)))
    return refuse(error, "%s would overwrite %s", flag, path);
  g_autofree char *folder = g_path_get_dirname(path);
  if (g_file_test(folder, G_FILE_TEST_IS_DIR)) return TRUE;
  g_set_error(error, FC_ERROR, FC_IO, "%s %s: there is no folder %s", flag, path, folder);
  return FALSE;
}

/* The paths written at the end. */
#define SIDE_FILES 4
static void side_files(const arguments *a, const char *flags[SIDE_FILES], const char *paths[SIDE_FILES]) {
  const char *const names[] = {"--report", "--trace", "--failed", "--plot"}, *const given[] = {
                                                                                 a->report, a->trace,
                                                                                 a->failed, a->plot};
  for (guint i = 0; i < SIDE_FILES; i++) {
    flags[i] = names[i];
    paths[i] = is_stream(given[i]) ? NULL : given[i];
  }
}

/* They must not replace a table that the chain was made from either. */
static gboolean check_tables(const work *w, GError **error) {
  const char *flags[SIDE_FILES], *sides[SIDE_FILES];
  g_autofree const char **tables = fc_chain_files(w->chain);
  side_files(w->args, flags, sides);
  for (guint t = 0; tables[t]; t++) {
    for (guint i = 0; i < SIDE_FILES; i++)
      if (sides[i] && same_file(sides[i], tables[t]))
        return refuse(error, "%s would overwrite %s", flags[i], tables[t]);
    const char *input = w->batch ? fc_batch_has(w->batch, tables[t], TRUE) : NULL;
    if (input) return refuse(error, "%s would overwrite %s, which the chain reads", input, tables[t]);
    for (guint i = 0; i < w->outcomes->len; i++) {
      const outcome *o = g_ptr_array_index(w->outcomes, i);
      if (o->output && !is_stream(o->output) && same_file(o->out_path, tables[t]))
        return refuse(error, "%s would overwrite %s, which the chain reads", o->label, o->output);
    }
  }
  return TRUE;
}

static gboolean check_side_files(const work *w, GError **error) {
  const char *flags[SIDE_FILES], *paths[SIDE_FILES];
  side_files(w->args, flags, paths);
  for (guint i = 0; i < SIDE_FILES; i++) {
    if (!check_side_file(w, flags[i], paths[i], error)) return FALSE;
    for (guint k = 0; k < i; k++)
      if (paths[i] && paths[k] && same_file(paths[i], paths[k]))
        return refuse(error, "%s and %s would both write %s", flags[k], flags[i], paths[k]);
  }
  return TRUE;
}

/* Takes ownership of the output. */
static void add_outcome(GPtrArray *outcomes, const char *label, const char *input, char *output) {
  outcome *o = g_new0(outcome, 1);
  o->label = label, o->input = input, o->output = output;
  o->in_path = input ? fc_file_split(input, TRUE, NULL) : NULL;
  o->out_path = output ? fc_file_split(output, FALSE, NULL) : NULL;
  g_ptr_array_add(outcomes, o);
}

/* The file that standard output, or another descriptor given as a path, is open on: it is written
 * directly, without a temporary file. */
static const char *opened_elsewhere(const char *output) {
  if (is_stream(output)) return "/dev/stdout";
  return g_str_has_prefix(output, "/dev/std") || g_str_has_prefix(output, "/dev/fd/") ||
                 g_str_has_prefix(output, "/proc/self/fd/")
             ? output
             : NULL;
}

/* As with `-i a.wav -o - >> a.wav`, which would be read and written at the same time. */
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

/* A chain that generates its signal runs once, without an input. */
static gboolean pair_generated(work *w, const fc_operator *generator, gboolean folder, GError **error) {
  if (w->args->inputs->len)
    return refuse(error, "%s generates its signal: leave out -i %s", generator->name,
                  (const char *)g_ptr_array_index(w->args->inputs, 0));
  if (folder)
    return refuse(error, "%s is a folder, and without an input there is no name for the file: give -o FILE",
                  w->args->output);
  add_outcome(w->outcomes, generator->name, NULL, g_strdup(w->args->output));
  return TRUE;
}

/* "3/8". */
static gboolean parse_shard(const char *text, fc_batch_spec *spec, GError **error) {
  char *slash, *end;
  if (!text) return TRUE;
  spec->part = g_ascii_strtoll(text, &slash, 10);
  spec->parts = *slash == '/' ? g_ascii_strtoll(slash + 1, &end, 10) : 0;
  return (slash > text && *slash == '/' && end > slash + 1 && !*end && spec->parts > 0) ||
         refuse(error, "--shard: expected I/N, as in 0/8, found \"%s\"", text);
}

/* "1000" samples, or "500MB", "2GiB" bytes. */
static gboolean parse_shard_size(const char *text, fc_batch_spec *spec, GError **error) {
  static const struct {
    const char *name;
    double bytes;
  } units[] = {{"B", 1},     {"kB", 1e3},      {"KB", 1e3},      {"MB", 1e6},      {"GB", 1e9},
               {"TB", 1e12}, {"KiB", 1 << 10}, {"MiB", 1 << 20}, {"GiB", 1 << 30}, {"TiB", 0x1p40}};
  char *end;
  if (!text) return TRUE;
  const double value = g_ascii_strtod(text, &end);
  const gboolean number = end > text && value >= 1 && value < 1e15;
  if (number && !*end && value == (double)(gint64)value) {
    spec->shard_items = (gint64)value;
    return TRUE;
  }
  for (guint i = 0; number && i < G_N_ELEMENTS(units); i++)
    if (strcmp(end, units[i].name) == 0) {
      spec->shard_bytes = (gint64)(value * units[i].bytes);
      return TRUE;
    }
  return refuse(
      error, "--shard-size: expected a number of samples, or bytes as in 500MB or 2GiB, found \"%s\"", text);
}

/* Options for batches are refused for one file. */
static gboolean check_alone(const arguments *a, GError **error) {
  const char *const flags[] = {a->shard_size ? "--shard-size" : NULL, a->failed ? "--failed" : NULL,
                               a->decode ? "--decode" : NULL};
  for (guint i = 0; i < G_N_ELEMENTS(flags); i++)
    if (flags[i])
      return refuse(error, "%s is for a batch: name several inputs, a folder or an archive", flags[i]);
  return TRUE;
}

/* One input; the output may be named after it. */
static gboolean pair_one(work *w, gboolean named, GError **error) {
  const char *input = w->args->inputs->pdata[0];
  char *same = NULL, *output = NULL;
  if (!check_alone(w->args, error)) return FALSE;
  g_autoptr(fc_batch) batch = named ? fc_batch_new(w->chain, &w->spec, &w->options, error) : NULL;
  if (named && !batch) return FALSE;
  if (named)
    fc_batch_names(batch, 0, &same, &output);
  else
    output = g_strdup(w->args->output);
  g_free(same);
  add_outcome(w->outcomes, input, input, output);
  return TRUE;
}

/* All that are joined are open at a time: as many as the system allows, not as many as it begins with. */
static void allow_files(void) {
  struct rlimit files;
  if (getrlimit(RLIMIT_NOFILE, &files) != 0) return;
  files.rlim_cur = files.rlim_max;
  setrlimit(RLIMIT_NOFILE, &files);
}

/* With --concat the files of folders, patterns and lists take their place among the inputs, but for the
 * output of an earlier run. */
static gboolean expand_joined(work *w, GError **error) {
  const arguments *a = w->args;
  g_autofree char *output = a->output ? fc_file_split(a->output, FALSE, NULL) : NULL;
  w->joined = g_ptr_array_new_with_free_func(g_free);
  for (guint i = 0; i < a->inputs->len; i++) {
    const char *one[] = {a->inputs->pdata[i], NULL};
    const fc_batch_spec spec = {.size = sizeof spec, .inputs = one, .recursive = a->recursive};
    g_autoptr(fc_batch) files = NULL;
    if (is_stream(one[0]) || !fc_batch_is(&spec)) {
      g_ptr_array_add(w->joined, g_strdup(one[0]));
      continue;
    }
    if (!(files = fc_batch_new(w->chain, &spec, &w->options, error))) return FALSE;
    if (fc_batch_count(files) < 0)
      return refuse(error, "%s: --concat joins files, not what archives hold", one[0]);
    for (gint64 k = 0; k < fc_batch_count(files); k++) {
      g_autofree char *name = NULL, *none = NULL;
      fc_batch_names(files, k, &name, &none);
      g_autofree char *path = fc_file_split(name, TRUE, NULL);
      if (!output || !same_file(path, output)) g_ptr_array_add(w->joined, g_steal_pointer(&name));
    }
  }
  if (!w->joined->len) return refuse(error, NO_INPUT);
  w->followers = g_new0(const char *, w->joined->len);
  for (guint i = 1; i < w->joined->len; i++) w->followers[i - 1] = w->joined->pdata[i];
  w->options.followers = w->followers;
  a->inputs->pdata[0] = w->joined->pdata[0]; /* it names the output */
  allow_files();
  return TRUE;
}

/* Which output each input goes to. */
static gboolean pair_outputs(work *w, GError **error) {
  const arguments *a = w->args;
  g_autofree char *output = a->output ? fc_file_split(a->output, FALSE, NULL) : NULL;
  gboolean folder = output && !is_stream(output) &&
                    (g_str_has_suffix(output, "/") || g_file_test(output, G_FILE_TEST_IS_DIR));
  if (!output && !a->preview[0] && !chain_measures(w->chain))
    return refuse(error,
                  "no output: give one with -o FILE (it may be left out only if an operator measures)");
  const fc_operator *generator = generator_of(w->chain);
  if (generator) return pair_generated(w, generator, folder, error);
  if (!a->inputs->len) return refuse(error, NO_INPUT);
  if (a->concat && !expand_joined(w, error)) return FALSE;
  w->first[0] = a->inputs->pdata[0];
  w->spec = (fc_batch_spec){.size = sizeof w->spec,
                            .inputs = w->joined ? w->first : (const char *const *)a->inputs->pdata,
                            .output = a->preview[0] ? NULL : a->output,
                            .stages = (const char *const *)a->stages->pdata,
                            .recursive = a->recursive,
                            .resume = a->resume && !a->preview[0],
                            .names_only = a->dry_run};
  if (!parse_shard(a->shard, &w->spec, error) || !parse_shard_size(a->shard_size, &w->spec, error))
    return FALSE;
  const gboolean batch = a->preview[0] || fc_batch_is(&w->spec) ||
                         (output && is_stream(output) && fc_batch_is_tar_format(a->format));
  if (!batch) return pair_one(w, folder || (output && strchr(output, '{')), error);
  if (a->concat) return refuse(error, "--concat joins sounds into one output: name the files and one output");
  if (a->trace) return refuse(error, "--trace records a single run: give one input");
  if (a->plot) return refuse(error, "--plot draws the output of a single run: give one input");
  w->batch = fc_batch_new(w->chain, &w->spec, &w->options, error);
  return w->batch != NULL;
}

/* The folder of the output that has to be created; NULL: none. */
static char *wanted_folder(work *w) {
  g_autofree char *output = w->args->output ? fc_file_split(w->args->output, FALSE, NULL) : NULL;
  if (!output || is_stream(output)) return NULL;
  if (g_str_has_suffix(output, "/")) return g_steal_pointer(&output);
  const outcome *one = w->batch || !w->outcomes->len ? NULL : w->outcomes->pdata[0];
  const gboolean filled = one && strchr(output, '{') && strcmp(output, one->out_path) != 0;
  return filled ? g_path_get_dirname(one->out_path) : NULL;
}

/* Whether a level of a path ends there. */
static gboolean is_level(const char *path, gsize at) {
  return at > 0 && path[at - 1] != '/' && (path[at] == '/' || !path[at]);
}

/* How much of a path its first level is that is not there. */
static gsize first_missing(const char *path) {
  gsize missing = strlen(path);
  for (gsize at = missing; at > 0; at--) {
    g_autofree char *part = g_strndup(path, at);
    if (!is_level(path, at)) continue;
    if (g_file_test(part, G_FILE_TEST_EXISTS)) break;
    missing = at;
  }
  return missing;
}

static gboolean make_folder(work *w, GError **error) {
  g_autofree char *folder = wanted_folder(w);
  if (!folder || g_file_test(folder, G_FILE_TEST_IS_DIR)) return TRUE;
  w->folder_made = first_missing(folder);
  w->folder = g_steal_pointer(&folder);
  if (g_mkdir_with_parents(w->folder, 0777) == 0) return TRUE;
  g_set_error(error, FC_ERROR, FC_IO, "%s: the folder cannot be created: %s", w->folder, g_strerror(errno));
  return FALSE;
}

/* The levels that were made; one stays if something was put into it. */
static void remove_folder(const work *w) {
  for (gsize at = w->folder ? strlen(w->folder) : 0; at >= w->folder_made && at > 0; at--) {
    if (!is_level(w->folder, at)) continue;
    w->folder[at] = '\0'; /* what is behind it is gone already */
    g_rmdir(w->folder);
  }
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
  how.decode = a->decode;
  how.seed = (guint64)a->seed, how.epoch = (guint64)a->epoch;
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

/* If the command line and the chain are valid, an unsupported file is a failure of the data; only requests
 * that make no sense are usage errors. */
static exit_status failure_of(const GError *error) {
  return g_error_matches(error, FC_ERROR, FC_INVALID) ? EXIT_USAGE : EXIT_FAILED;
}

static void describe_run(const outcome *o, const fc_result *r) {
  const double megabytes = (double)(r->bytes_up + r->bytes_down) / 1e6;
  g_autofree char *moved =
      megabytes > 0 ? g_strdup_printf(", %.1f MB to and from the device", megabytes) : g_strdup("");
  say_note("%s -> %s: %s, %.3f s, %" G_GINT64_FORMAT " chunk%s%s%s%s", o->label,
           o->output ? o->output : "nothing", r->device, r->seconds, r->chunks, r->chunks == 1 ? "" : "s",
           moved, r->decoder ? ", decoded by " : "", r->decoder ? r->decoder : "");
}

/* Whether a message begins with a name, as messages have names: in UTF-8, and spaces for what would end a
 * line or control a terminal. */
static gboolean tells_of(const char *message, const char *name) {
  if (!name) return FALSE;
  g_autofree char *valid = g_utf8_make_valid(name, -1);
  const char *c = valid;
  while (*c && (*message == *c || *message == ' ')) c++, message++;
  return !*c && g_str_has_prefix(message, ": ");
}

/* For several files, also names the file if the message comes from the chain. */
static void tell_failure(const work *w, const outcome *o, const GError *why) {
  const char *message = why->message;
  if (w->batch && !tells_of(message, o->in_path) && !tells_of(message, o->out_path))
    say_error("%s: %s", o->input, message);
  else
    say_error("%s", message);
}

/* The length of the output: samples of sound, else images. -1 if the run failed. */
static gint64 length_of(const fc_result *result, const GError *why) {
  return why || !result ? -1 : result->out->extent[result->out->kind == FC_AUDIO ? FC_AXIS_T : FC_AXIS_N];
}

/* May have both: a measurement beyond what the user allows fails the run, and is reported too. */
static void tell(work *w, outcome *o, const fc_result *result, const GError *why) {
  /* allocated before: no memory is needed once the output is in place */
  g_autofree const fc_measured **measured = NULL;
  fc_result rest;
  if (result && w->args->plot) {
    measured = g_new0(const fc_measured *, result->n_measured + 1);
    w->plot = histogram_svg(o->label, result);
    rest = histogram_rest(result, w->counter, measured), result = &rest;
  }
  if (w->report.text) report_add(&w->report, o, result, why), report_spill(&w->report, &w->spilled);
  if (result && !w->args->json)
    report_print(is_stream(o->output) ? stderr : codecs_stdout(), result, w->batch ? o->input : NULL);
  if (!why && result && w->args->verbose) describe_run(o, result);
  if (why && !signals_received()) tell_failure(w, o, why);
  *(why ? &w->failed : &w->done) += 1;
  /* a failure due to measurements is one of the data */
  if (why) w->failure = result ? EXIT_FAILED : failure_of(why);
  w->result = result != NULL;
}

static void run_one(work *w, outcome *o) {
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_result) result = NULL;
  progress_begin(&w->bar, o->label);
  if (!is_stream(w->args->trace)) codecs_hold_stdout(); /* unless a trace goes to stdout */
  fc_chain_run_file(w->chain, o->input, o->output, &w->options, &result, &error);
  codecs_release_stdout();
  progress_end(&w->bar, length_of(result, error));
  tell(w, o, result, error);
}

/* In which step a file failed: reading, an operator, or writing. */
static const char *stage_of(const work *w, const outcome *o, const char *message) {
  if (tells_of(message, o->in_path)) return "read";
  if (tells_of(message, o->out_path)) return "write";
  for (guint i = 0; i < fc_chain_length(w->chain); i++) {
    const char *name = fc_chain_operator(w->chain, i)->name;
    if (tells_of(message, name)) return name;
  }
  return "run";
}

/* Written at once, so that it can be read during the run. */
static void note_failure(work *w, const outcome *o, const GError *why) {
  json j = json_begin(TRUE);
  json_open(&j, NULL, '{');
  json_path(&j, "path", o->in_path);
  json_string(&j, "error", why->message);
  json_string(&j, "stage", stage_of(w, o, why->message));
  json_close(&j, '}');
  g_autofree char *line = json_end(&j);
  fputs(line, w->failures);
  fflush(w->failures);
}

/* An fc_batch_fn. */
static gboolean on_file(const fc_batch_file *file, void *data) {
  work *w = data;
  outcome o = {.input = file->input, .label = file->input};
  g_autofree char *in_path = fc_file_split(file->input, TRUE, NULL),
                  *out_path = file->output ? fc_file_split(file->output, FALSE, NULL) : NULL;
  o.in_path = in_path, o.out_path = out_path, o.output = (char *)file->output;
  w->bar.resumed = fc_batch_resumed(w->batch);
  progress_file(&w->bar, o.label, file->result ? file->result->seconds : 0,
                file->why      ? -1
                : file->result ? length_of(file->result, NULL)
                               : 0,
                file->bytes);
  if (file->result && !file->why) totals_add(&w->totals, file->input, file->result->seconds);
  if (file->why && w->failures && !signals_received()) note_failure(w, &o, file->why);
  tell(w, &o, file->result, file->why);
  return !signals_received();
}

/* A resumed batch appends to it. */
static gboolean open_failures(work *w, GError **error) {
  const char *path = w->args->failed;
  if (!path) return TRUE;
  w->failures =
      is_stream(path) ? fdopen(dup(STDOUT_FILENO), "w") : fopen(path, w->args->resume ? "ae" : "we");
  if (w->failures) return TRUE;
  g_set_error(error, FC_ERROR, FC_IO, "--failed %s: cannot be written: %s", path, g_strerror(errno));
  return FALSE;
}

static gboolean close_failures(work *w, GError **error) {
  FILE *file = w->failures;
  w->failures = NULL;
  if (!file || fclose(file) == 0) return TRUE;
  g_set_error(error, FC_ERROR, FC_IO, "--failed %s: cannot be written: %s", w->args->failed,
              g_strerror(errno));
  return FALSE;
}

static void describe_batch(const work *w) {
  const gint64 skipped = fc_batch_skipped(w->batch), resumed = fc_batch_resumed(w->batch);
  if (!w->args->verbose) return;
  if (skipped)
    say_note("%" G_GINT64_FORMAT " file%s skipped: not sound, image or array%s%s", skipped,
             skipped == 1 ? "" : "s", w->args->recursive ? ", or a link to a folder" : "",
             fc_batch_count(w->batch) < 0 ? ", or a link or device in an archive" : "");
  if (resumed) say_note("%" G_GINT64_FORMAT " %s there already", resumed, resumed == 1 ? "was" : "were");
}

static gboolean run_batch(work *w, GError **error) {
  if (!open_failures(w, error)) return FALSE;
  codecs_hold_stdout();
  gint64 failed = fc_batch_run(w->batch, on_file, w, error);
  codecs_release_stdout();
  describe_batch(w);
  const gint64 earlier = failed - (gint64)w->failed; /* that an earlier run recorded in archives */
  if (earlier > 0) {
    say_error("%" G_GINT64_FORMAT " input%s failed in an earlier run and %s missing in the archives that are "
              "there already (what that run wrote to --failed names %s); leave out --resume to begin anew",
              earlier, earlier == 1 ? "" : "s", earlier == 1 ? "is" : "are", earlier == 1 ? "it" : "them");
    w->failed = (guint)failed, w->totals.failed_earlier = earlier;
  }
  return close_failures(w, failed < 0 ? NULL : error) && failed >= 0;
}

static gboolean write_report(const work *w, const char *text, gsize size, GError **error) {
  const arguments *a = w->args;
  if (a->json && !report_write("-", text, size, error)) return FALSE;
  return !a->report || report_write(a->report, text, size, error);
}

/* A long one, of which `rest` is the end. */
static gboolean write_spilled(const work *w, const char *rest, GError **error) {
  const size_t begin = (size_t)ftell(w->spilled.file);
  const gboolean fits = !w->spilled.full && fputs(rest, w->spilled.file) >= 0 && fflush(w->spilled.file) == 0;
  g_autoptr(GMappedFile) file = g_mapped_file_new_from_fd(fileno(w->spilled.file), FALSE, error);
  if (!file) return FALSE;
  if (fits) return write_report(w, g_mapped_file_get_contents(file), g_mapped_file_get_length(file), error);
  GString *all = g_string_new_len(g_mapped_file_get_contents(file), (gssize)begin); /* it has no room */
  g_string_append(all, rest);
  const gboolean written = write_report(w, all->str, all->len, error);
  g_string_free(all, TRUE);
  return written;
}

static gboolean write_reports(work *w, GError **error) {
  const arguments *a = w->args;
  if (a->plot && !w->plot) return refuse(error, "--plot: nothing was counted");
  if (a->plot && !report_write(a->plot, w->plot, strlen(w->plot), error)) return FALSE;
  if (!w->report.text) return TRUE;
  w->totals.done = w->done, w->totals.failed = w->failed, w->totals.bytes = w->bar.bytes;
  w->totals.seconds = (double)(g_get_monotonic_time() - w->bar.started) / G_USEC_PER_SEC;
  if (w->batch)
    w->totals.resumed = fc_batch_resumed(w->batch), w->totals.skipped = fc_batch_skipped(w->batch);
  g_autofree char *text = report_end(&w->report, w->batch ? &w->totals : NULL);
  w->report.text = NULL;
  return w->spilled.file ? write_spilled(w, text, error) : write_report(w, text, strlen(text), error);
}

/* Whether several inputs share an output. */
static gboolean collects(const work *w) {
  g_autofree char *path = w->spec.output ? fc_file_split(w->spec.output, FALSE, NULL) : NULL;
  return path && (g_str_has_suffix(path, ".tar") || (g_str_has_suffix(path, ".npy") && !strchr(path, '{')));
}

static void tell_stopped(const work *w, const char *name) {
  const gint64 n = fc_batch_count(w->batch), done = w->done + fc_batch_resumed(w->batch);
  if (collects(w))
    say_error("stopped by %s; completed outputs are in place", name);
  else if (n < 0)
    say_error("stopped by %s; %" G_GINT64_FORMAT " outputs are in place, and the others are unchanged", name,
              done);
  else
    say_error("stopped by %s; %" G_GINT64_FORMAT " of %" G_GINT64_FORMAT
              " outputs are in place, and the others are unchanged",
              name, done, n);
}

static exit_status stopped_by_signal(const work *w) {
  int number = signals_received();
  // Not reported: the reader of a pipe closed it, which is normal in pipelines.
  if (number == SIGPIPE) return EXIT_SIGNAL + number;
  const char *name = number == SIGINT ? "SIGINT" : number == SIGTERM ? "SIGTERM" : "SIGHUP";
  if (w->batch)
    tell_stopped(w, name);
  else
    say_error("stopped by %s; %s", name,
              w->failed ? "the output is unchanged" : "completed outputs are in place");
  return EXIT_SIGNAL + number;
}

static void begin_all(work *w) {
  const arguments *a = w->args;
  signals_install();
  const gint64 n = w->batch ? fc_batch_count(w->batch) : 1;
  progress_init(&w->bar, a->progress < 0 ? PROGRESS_AUTO : (progress_mode)a->progress, w->batch != NULL,
                (guint)MAX(n, 0));
  if (a->quiet && a->progress < 0) w->bar.mode = PROGRESS_NONE;
  if (a->json || a->report) w->report = report_begin();
}

static gboolean all_done(const work *w) {
  if (!w->batch) return w->done > 0;
  return fc_batch_count(w->batch) == w->done + fc_batch_resumed(w->batch);
}

static exit_status run_all(work *w) {
  g_autoptr(GError) error = NULL;
  begin_all(w);
  if (!w->batch)
    run_one(w, g_ptr_array_index(w->outcomes, 0));
  else if (!run_batch(w, &error)) {
    if (signals_received()) return stopped_by_signal(w);
    say_error("%s", error->message);
    return failure_of(error);
  }
  // A signal that came when everything was in place changes nothing: the outputs are complete.
  if (signals_received() && !all_done(w)) return stopped_by_signal(w);
  gboolean alone = !w->batch;
  if (alone && w->failed && !w->result) return w->failure;
  if (!write_reports(w, &error)) return say_gerror(error);
  if (!w->failed) return EXIT_DONE;
  if (alone) return w->failure;
  return w->done || fc_batch_resumed(w->batch) ? EXIT_PARTIAL : EXIT_FAILED;
}

/* Of a batch, an output goes into what several share, or a run makes its folder: it is not looked at then. */
static gboolean is_later_made(const work *w, const char *output) {
  if (!w->batch || !output) return FALSE;
  g_autofree char *path = fc_file_split(output, FALSE, NULL), *folder = g_path_get_dirname(path);
  return collects(w) || !g_file_test(folder, G_FILE_TEST_EXISTS);
}

static exit_status explain_one(const work *w, const char *input, const char *output) {
  g_autoptr(GError) error = NULL;
  fc_options how = w->options;
  GBytes *none = NULL; /* a plan writes nothing */
  if (is_later_made(w, output)) how.out_bytes = &none;
  codecs_hold_stdout();
  g_autofree char *text = fc_chain_explain_file(w->chain, input, output, &how, w->args->json, &error);
  codecs_release_stdout();
  if (!text) {
    say_error("%s", error->message);
    return failure_of(error);
  }
  fputs(text, stdout);
  if (!g_str_has_suffix(text, "\n")) putchar('\n');
  return EXIT_DONE;
}

static exit_status explain_all(work *w) {
  const gint64 n = w->batch ? fc_batch_count(w->batch) : 1;
  exit_status status = EXIT_DONE;
  gint64 failed = 0;
  if (n < 0) {
    say_error("--dry-run does not read archives: give one of its files");
    return EXIT_USAGE;
  }
  for (gint64 i = 0; i < n; i++) {
    g_autofree char *input = NULL, *output = NULL;
    if (w->batch) fc_batch_names(w->batch, w->spec.part + i * MAX(w->spec.parts, 1), &input, &output);
    const outcome *o = w->batch ? NULL : w->outcomes->pdata[0];
    status = o ? explain_one(w, o->input, o->output) : explain_one(w, input, output);
    failed += status != EXIT_DONE;
  }
  return !failed ? EXIT_DONE : !w->batch ? status : failed < n ? EXIT_PARTIAL : EXIT_FAILED;
}

/* An option that promises something else than the picture; NULL: none is given. */
static const char *beside_preview(const arguments *a) {
  return a->report    ? "--report"
         : a->json    ? "--json"
         : a->failed  ? "--failed"
         : a->resume  ? "--resume"
         : a->dry_run ? "--dry-run"
                      : NULL;
}

/* Only the picture of some inputs, no outputs. */
static exit_status preview(work *w) {
  const arguments *a = w->args;
  const char *const *asked = a->preview, *beside = beside_preview(a);
  g_autoptr(GError) error = NULL;
  char *end;
  if (beside) {
    refuse(&error, "--preview draws a picture and does nothing else: leave out %s", beside);
    return say_gerror(error);
  }
  const gint64 n = g_ascii_strtoll(asked[0], &end, 10);
  if (end == asked[0] || *end) {
    refuse(&error, "--preview: expected a number and a picture, as in 16 sheet.png, found \"%s\"", asked[0]);
    return say_gerror(error);
  }
  if (fc_batch_has(w->batch, asked[1], FALSE)) {
    refuse(&error, "--preview would overwrite %s", asked[1]);
    return say_gerror(error);
  }
  codecs_hold_stdout();
  const gboolean ok = fc_batch_preview(w->batch, n, asked[1], &error);
  codecs_release_stdout();
  if (ok) return EXIT_DONE;
  say_error("%s", error->message);
  return failure_of(error);
}

static exit_status run_chain(work *w) {
  g_autoptr(GError) error = NULL;
  w->outcomes = g_ptr_array_new_with_free_func((GDestroyNotify)outcome_free);
  fill_options(w);
  exit_status status;
  if (!pair_outputs(w, &error) || (!w->args->preview[0] && !make_folder(w, &error)) ||
      !check_not_into_input(w, &error) || !check_side_files(w, &error) || !check_tables(w, &error))
    status = say_gerror(error);
  else
    status = w->args->preview[0] ? preview(w) : w->args->dry_run ? explain_all(w) : run_all(w);
  remove_folder(w);
  g_free(w->folder);
  g_free(w->followers);
  if (w->joined) g_ptr_array_unref(w->joined);
  if (w->report.text) g_string_free(w->report.text, TRUE);
  if (w->spilled.file) fclose(w->spilled.file);
  g_free(w->plot);
  g_ptr_array_unref(w->outcomes);
  fc_batch_free(w->batch);
  totals_clear(&w->totals);
  return status;
}

/* The process is about to end, and the system takes back what a GPU holds - streams, pinned memory, decoders
 * - in a fraction of the time that it takes to give them back one by one (0.4 s after a batch). Without a GPU
 * everything is freed, so that tools find leaks. */
static void free_context(fc_context *context, const arguments *a) {
  if (!a->device || !g_str_has_prefix(a->device, "cuda")) fc_context_free(context);
}

exit_status run_command(const arguments *a) {
  g_autoptr(GError) error = NULL;
  if (!check_arguments(a, &error)) return say_gerror(error);
  fc_context *context = command_context(a);
  fc_context_set_max_memory(context, (gsize)a->max_memory * 1000000);
  const guint counter = a->plot ? histogram_stage(a->stages) : G_MAXUINT;
  g_ptr_array_add(a->stages, NULL);
  g_ptr_array_add(a->inputs, NULL);
  g_ptr_array_set_size(a->inputs, (int)a->inputs->len - 1); /* the terminating NULL stays */
  signals_guard();
  plugins_hold_stdout();
  fc_chain *chain = fc_chain_parse(context, (const char *const *)a->stages->pdata, &error);
  plugins_release_stdout();
  work w = {.args = a, .chain = chain, .counter = counter};
  exit_status status = chain ? run_chain(&w) : say_gerror(error);
  fc_chain_free(chain); // operators are called until here
  signals_unguard();
  free_context(context, a);
  return status;
}
