/* SPDX-License-Identifier: MIT */
/* Options in the syntax of getopt_long - letters may be joined, values attached, "--" ends them - but
 * parsed here, so that a repeated option, a missing value and a mistyped name each get a message that says
 * how to correct them. Long names cannot be abbreviated, so that a new option never changes the meaning of
 * a script. */
#include "cli/args.h"

#include "cli/describe.h"
#include "cli/say.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define AT(field) offsetof(arguments, field)

const option options[] = {
    {"input", 'i', OPTION_WORDS, AT(inputs), FOR_RUN, "FILE...",
     "file, folder, 'FOLDER/**/*.jpg', @LIST (one path a line) or .tar; - is standard input"},
    {"recursive", 'r', OPTION_FLAG, AT(recursive), FOR_RUN, NULL, "with a folder, also its subfolders"},
    {"concat", 0, OPTION_FLAG, AT(concat), FOR_RUN, NULL,
     "join several sounds, or those of a folder by name, one after another"},
    {"operator", 'p', OPTION_LIST, AT(stages), FOR_RUN | FOR_PLOT | FOR_DESIGN, "OP[:ARG]...",
     "a stage of the chain; stages run in the order given"},
    {"output", 'o', OPTION_TEXT, AT(output), FOR_PLOT | FOR_DESIGN, "FILE",
     "the file to write; - is standard output"},
    {"output", 'o', OPTION_TEXT, AT(output), FOR_RUN, "FILE",
     "a file, FOLDER/, 'out/{dir}/{stem}.npy', 'out-{shard}.tar'; - is standard output"},
    {"rate", 0, OPTION_NUMBER, AT(rate), FOR_PLOT | FOR_DESIGN, "HZ", "the sample rate (plot: default 48000)",
     1, 1000000000},
    {"device", 0, OPTION_TEXT, AT(device), FOR_RUN | FOR_GPU, "auto|cpu|cuda[:N,...]",
     "where to compute (default auto); cuda:all uses every GPU"},
    {"threads", 'j', OPTION_NUMBER, AT(threads), FOR_RUN, "N",
     "CPU threads (default: one for each available core)", 1, 4096},
    {"precision", 0, OPTION_CHOICE, AT(precision), FOR_RUN, "f32|f64",
     "type of floating-point arithmetic (default f32; f64 for input of more than 24 bits)"},
    {"fuse", 0, OPTION_CHOICE, AT(fuse), FOR_RUN, "auto|no|wait|algebra",
     "run neighbouring stages as one, to the same bits (default auto); algebra also multiplies out linear "
     "ones"},
    {"chunk", 0, OPTION_NUMBER, AT(chunk), FOR_RUN, "N",
     "how many samples, images, or rows of an image to process at a time", 1, G_MAXINT64},
    {"latency", 0, OPTION_TEXT, AT(latency), FOR_RUN, "TIME",
     "for live sound through a pipe: hold no sample longer than this, such as 20ms"},
    {"format", 0, OPTION_TEXT, AT(format), FOR_RUN, "FORMAT",
     "format of the output, whatever its name: wav, png, npy, raw, ...; tar:png for several"},
    {"in-format", 0, OPTION_TEXT, AT(in_format), FOR_RUN, "FORMAT",
     "format of the input, whatever its name and content"},
    {"raw", 0, OPTION_TEXT, AT(raw), FOR_RUN, "KEY=VALUE,...",
     "layout of a raw input: dtype, channels, rate; or dtype, width, height, channels"},
    {"no-clobber", 'n', OPTION_FLAG, AT(no_clobber), FOR_RUN | FOR_DESIGN, NULL, "fail if the output exists"},
    {"sync", 0, OPTION_FLAG, AT(sync), FOR_RUN, NULL, "flush outputs to the disk before exit"},
    {"allow-truncated", 0, OPTION_FLAG, AT(allow_truncated), FOR_RUN, NULL,
     "use the readable part of a truncated input, with a warning"},
    {"max-pixels", 0, OPTION_NUMBER, AT(max_pixels), FOR_RUN, "N",
     "refuse images with more pixels (default 268435456); larger: what a chain may make, too", 1, G_MAXINT64},
    {"decode", 0, OPTION_CHOICE, AT(decode), FOR_RUN | FOR_GPU, "cpu|gpu|auto",
     "where JPEG files of a batch are decoded (default cpu); gpu: by nvJPEG, unconfined"},
    {"max-memory", 0, OPTION_NUMBER, AT(max_memory), FOR_RUN, "MB",
     "limit of the memory for buffers (default 9/10 of what is available)", 1, G_MAXINT64 / 1000000},
    {"seed", 0, OPTION_NUMBER, AT(seed), FOR_RUN, "N", "seed of the random operators (default 0)", 0,
     G_MAXINT64},
    {"epoch", 0, OPTION_NUMBER, AT(epoch), FOR_RUN, "N",
     "number of the pass over the inputs, from which random operators draw anew (default 0)", 0, G_MAXINT64},
    {"resume", 0, OPTION_FLAG, AT(resume), FOR_RUN, NULL,
     "skip outputs that an interrupted run of the same batch completed"},
    {"shard", 0, OPTION_TEXT, AT(shard), FOR_RUN, "I/N",
     "process every N-th input only, beginning with number I (0 to N-1)"},
    {"shard-size", 0, OPTION_TEXT, AT(shard_size), FOR_RUN, "N|BYTES",
     "size limit of an output archive: samples (default 1000) or bytes (500MB, 2GiB)"},
    {"failed", 0, OPTION_TEXT, AT(failed), FOR_RUN, "FILE",
     "list inputs that failed, with the reason, one JSON object a line"},
    {"preview", 0, OPTION_PAIR, AT(preview), FOR_RUN, "N OUT.png",
     "draw N inputs beside their results into OUT.png, and do nothing else"},
    {"dry-run", 0, OPTION_FLAG, AT(dry_run), FOR_RUN, NULL, "print the plan; read headers, write nothing"},
    {"report", 0, OPTION_TEXT, AT(report), FOR_RUN, "FILE",
     "write measurements, totals and slowest files as JSON"},
    {"plot", 0, OPTION_TEXT, AT(plot), FOR_RUN, "FILE",
     "draw a histogram of the chain's output as SVG (with -p stats: of the input)"},
    {"trace", 0, OPTION_TEXT, AT(trace), FOR_RUN, "FILE",
     "write stages, transfers and times in Chrome's trace format"},
    {"progress", 0, OPTION_CHOICE, AT(progress), FOR_RUN, "auto|none|json",
     "progress on standard error (default auto: on a terminal)"},
    {"json", 0, OPTION_FLAG, AT(json), FOR_RUN | FOR_LIST | FOR_INSPECT, NULL, "print results as JSON"},
    {"lang", 0, OPTION_CHOICE, AT(lang), FOR_NEW, "c|c++", "language of the plugin (default c)"},
    {"cuda", 0, OPTION_FLAG, AT(cuda), FOR_NEW | FOR_GPU, NULL, "add a device function and a CUDA kernel"},
    {"quiet", 'q', OPTION_FLAG, AT(quiet), FOR_ALL, NULL, "print errors and results only"},
    {"verbose", 'v', OPTION_FLAG, AT(verbose), FOR_ALL, NULL, "print what is done, where and why"},
    {"plugin-dir", 0, OPTION_LIST, AT(plugin_dirs), FOR_ALL, "DIR",
     "search DIR for operators before all other folders"},
    {"help", 'h', OPTION_FLAG, AT(help), FOR_ALL, NULL, "print this text"},
    {"version", 'V', OPTION_FLAG, AT(version), FOR_ALL, NULL, "print the version"},
    {NULL, 0, OPTION_FLAG, 0, 0, NULL, NULL},
};

void arguments_init(arguments *a) {
  *a = (arguments){.precision = -1, .progress = -1};
  a->inputs = g_ptr_array_new();
  a->stages = g_ptr_array_new();
  a->plugin_dirs = g_ptr_array_new();
  a->rest = a->operands = g_ptr_array_new();
}

void arguments_finish(arguments *a) {
  g_ptr_array_unref(a->inputs);
  g_ptr_array_unref(a->stages);
  g_ptr_array_unref(a->plugin_dirs);
  g_ptr_array_unref(a->operands);
}

static const option *find_letter(command_set command, char letter) {
  for (const option *o = options; o->name; o++)
    if ((o->commands & command) && o->letter == letter) return o;
  return NULL;
}

static const option *find_name(command_set command, const char *name, gsize length) {
  for (const option *o = options; o->name; o++)
    if ((o->commands & command) && strlen(o->name) == length && strncmp(o->name, name, length) == 0) return o;
  return NULL;
}

/* Whether an argument is one of our options, and so probably not meant as a value. */
static gboolean is_option(command_set command, const char *arg) {
  if (arg[0] != '-' || arg[1] == '\0') return FALSE;
  if (arg[1] == '-') return find_name(command, arg + 2, strcspn(arg + 2, "=")) != NULL;
  return arg[2] == '\0' && find_letter(command, arg[1]) != NULL;
}

static gboolean refuse_unknown(command_set command, const char *name, GError **error) {
  const char *names[G_N_ELEMENTS(options)];
  gsize n = 0;
  for (const option *o = options; o->name; o++)
    if (o->commands & command) names[n++] = o->name;
  names[n] = NULL;
  g_autofree char *typed = g_strndup(name, strcspn(name, "="));
  g_autofree char *hint = fc_did_you_mean(typed, names);
  // The suggested names have no dashes yet; add them.
  const char *quote = strchr(hint, '"');
  if (!quote) return refuse(error, "no option \"--%s\" (see filterchain --help)", typed);
  return refuse(error, "no option \"--%s\"%.*s\"--%s", typed, (int)(quote - hint), hint, quote + 1);
}

static gboolean take_number(const option *o, const char *value, gint64 *to, GError **error) {
  char *end;
  errno = 0;
  gint64 number = g_ascii_strtoll(value, &end, 10);
  if (end == value || *end)
    return refuse(error, "--%s: expected a number%s%s, found \"%s\"", o->name,
                  strcmp(o->value, "N") == 0 ? "" : " of ", strcmp(o->value, "N") == 0 ? "" : o->value,
                  value);
  if (errno == ERANGE || number < o->min || number > o->max)
    return o->max == G_MAXINT64
               ? refuse(error, "--%s: %s is too %s", o->name, value,
                        value[0] == '-' || number < o->min ? "small" : "large")
               : refuse(error, "--%s: %s is not within %" G_GINT64_FORMAT " to %" G_GINT64_FORMAT, o->name,
                        value, o->min, o->max);
  *to = number;
  return TRUE;
}

static gboolean take_choice(const option *o, const char *value, int *to, GError **error) {
  g_auto(GStrv) choices = g_strsplit(o->value, "|", -1);
  for (int i = 0; choices[i]; i++) {
    if (strcmp(choices[i], value) != 0) continue;
    *to = i;
    return TRUE;
  }
  return refuse(error, "--%s: \"%s\" is not one of %s", o->name, value, o->value);
}

/* Stores the value; `given` records which options came before. */
static gboolean take(arguments *a, const option *o, const char *value, guint64 *given, GError **error) {
  guint64 bit = G_GUINT64_CONSTANT(1) << (o - options);
  char *to = (char *)a + o->at;
  gboolean may_repeat = o->kind == OPTION_FLAG || o->kind == OPTION_LIST || o->kind == OPTION_WORDS;
  a->rest = o->kind == OPTION_WORDS ? *(GPtrArray **)to : a->operands;
  if ((*given & bit) && !may_repeat) return refuse(error, "--%s is given twice", o->name);
  *given |= bit;
  if (value && !*value) return refuse(error, "--%s: an empty value", o->name);
  switch (o->kind) {
  case OPTION_FLAG: *(gboolean *)to = TRUE; return TRUE;
  case OPTION_TEXT:
  case OPTION_PAIR: *(const char **)to = value; return TRUE;
  case OPTION_LIST:
  case OPTION_WORDS: g_ptr_array_add(*(GPtrArray **)to, (gpointer)value); return TRUE;
  case OPTION_NUMBER: return take_number(o, value, (gint64 *)to, error);
  case OPTION_CHOICE: return take_choice(o, value, (int *)to, error);
  }
  return FALSE;
}

/* The second value of a pair, which cannot be attached. */
static gboolean take_second(arguments *a, command_set command, const option *o, char ***next,
                            GError **error) {
  if (o->kind != OPTION_PAIR) return TRUE;
  if (!**next || is_option(command, **next))
    return refuse(error, "--%s needs two values: %s", o->name, o->value);
  ((const char **)(void *)((char *)a + o->at))[1] = *(*next)++;
  return TRUE;
}

/* The value that an option needs: attached to it, or the next argument. */
static const char *value_of(command_set command, const option *o, const char *attached, char ***next,
                            GError **error) {
  if (attached) return attached;
  const char *value = **next;
  if (!value || is_option(command, value)) {
    refuse(error, "--%s needs a value: %s", o->name, o->value);
    return NULL;
  }
  ++*next;
  return value;
}

static gboolean take_long(arguments *a, command_set command, const char *name, char ***next, guint64 *given,
                          GError **error) {
  gsize length = strcspn(name, "=");
  const option *o = find_name(command, name, length);
  const char *attached = name[length] ? name + length + 1 : NULL;
  if (!o) return refuse_unknown(command, name, error);
  if (o->kind == OPTION_FLAG)
    return attached ? refuse(error, "--%s takes no value", o->name) : take(a, o, NULL, given, error);
  const char *value = value_of(command, o, attached, next, error);
  return value && take(a, o, value, given, error) && take_second(a, command, o, next, error);
}

static gboolean take_letters(arguments *a, command_set command, const char *letters, char ***next,
                             guint64 *given, GError **error) {
  for (const char *c = letters; *c; c++) {
    const option *o = find_letter(command, *c);
    if (!o) return refuse(error, "no option \"-%c\" (see filterchain --help)", *c);
    if (o->kind == OPTION_FLAG) {
      if (!take(a, o, NULL, given, error)) return FALSE;
      continue;
    }
    const char *value = value_of(command, o, c[1] ? c + 1 : NULL, next, error);
    return value && take(a, o, value, given, error);
  }
  return TRUE;
}

gboolean arguments_parse(arguments *a, command_set command, char **argv, GError **error) {
  guint64 given = 0;
  gboolean only_operands = FALSE;
  for (char **next = argv; *next;) {
    const char *arg = *next++;
    if (only_operands || arg[0] != '-' || !arg[1])
      g_ptr_array_add(a->rest, (gpointer)arg);
    else if (strcmp(arg, "--") == 0)
      only_operands = TRUE;
    else if (arg[1] == '-') {
      if (!take_long(a, command, arg + 2, &next, &given, error)) return FALSE;
    } else if (!take_letters(a, command, arg + 1, &next, &given, error))
      return FALSE;
  }
  if (a->quiet && a->verbose) return refuse(error, "--quiet and --verbose contradict each other");
  return TRUE;
}

gboolean option_shown(const option *o) {
  return fc_has_cuda() || !(o->commands & FOR_GPU);
}

void options_print(command_set command) {
  for (const option *o = options; o->name; o++) {
    if (!(o->commands & command) || !option_shown(o)) continue;
    char letter[] = {'-', o->letter, ',', ' ', '\0'};
    g_autofree char *left =
        g_strconcat(o->letter ? letter : "    ", "--", o->name, o->value ? " " : NULL, o->value, NULL);
    print_term(left, o->help);
  }
}
