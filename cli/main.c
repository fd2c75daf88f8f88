/* SPDX-License-Identifier: MIT */
/* filterchain - the command. Finds out which command is meant, parses its options, handles --help and
 * --version, runs it, and checks that its output was written. The locale is not set, so that numbers
 * always have a decimal point. */
#include "cli/codecs.h"
#include "cli/command.h"
#include "cli/describe.h"

#include <errno.h>
#ifdef __GLIBC__
#include <malloc.h>
#endif
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static const char run_help[] =
    "An ARG is KEY=VALUE, or a bare value for the operator's main parameter.\n"
    "Arguments are separated by ':'; a colon within a value is written '\\:', or the\n"
    "value is put in single quotes. A mask or matrix is a file of numbers, or written\n"
    "out: [1,2,1]/4. Options of formats follow the name of a file in the same way.\n"
    "\n"
    "  filterchain -i in.wav -p conv1d:mask.txt -o out.wav\n"
    "  filterchain -i photo.png -p gauss:2 -p winstat:15x15:stat=std -o out.png\n"
    "  filterchain -i *.png -p gain:0.5 -o folder/\n"
    "  filterchain -i in.flac -p stats\n"
    "  filterchain -i photo.jpg:scale=1/4 -o small.jpg:quality=85\n"
    "\n"
    "Exit status: 0 complete output; 1 bad data or I/O error; 2 wrong command; 3 part\n"
    "of a batch failed; 128+N stopped by signal N. Unless the status is 0, an\n"
    "existing output file is left unchanged.\n";

static const char plot_help[] =
    "Draws the frequency response of the linear part of a chain as SVG: magnitude,\n"
    "phase and group delay. A stage that is not linear and time-invariant is left\n"
    "out, with a warning.\n"
    "\n"
    "  filterchain plot -p conv1d:mask.txt -o response.svg\n"
    "  filterchain plot -p equalizer:100,1000:gain=3dB,-2dB --rate 44100 -o eq.svg\n";

const command commands[] = {
    {NULL, "-i INPUT... -p OPERATOR[:ARG]... [-p ...] -o FILE [options]", "filter files", FOR_RUN, run_help,
     run_command, NULL},
    {"list", "list [--json]", "print the operators, and why a plugin was rejected", FOR_LIST, NULL,
     list_command, NULL},
    {"inspect", "inspect NAME|FILE.so... [--json]", "print all about an operator", FOR_INSPECT, NULL,
     inspect_command, NULL},
    {"formats", "formats [--json]", "print the file formats, their options and libraries", FOR_LIST, NULL,
     formats_command, NULL},
    {"plot", "plot -p OPERATOR... -o FILE.svg", "draw the frequency response of a chain", FOR_PLOT, plot_help,
     plot_command, NULL},
    {"design", "design -p OPERATOR[:ARG]... --rate N [-o FILE]", "print the mask that an operator designs",
     FOR_DESIGN, NULL, design_command, NULL},
    {"completion", "completion bash|zsh|fish", "print a completion script", FOR_COMPLETION, NULL,
     completion_command, NULL},
    {"bench", "bench [-p OPERATOR]... | --ladder NAME", "measure the speed of operators", FOR_ALL, NULL, NULL,
     "filterchain-bench"},
    {"new", "new NAME [options]", "write a plugin project to start from", FOR_NEW, NULL, new_command, NULL},
    {"check", "check FILE.so|FOLDER|OPERATOR... [--json]", "test plugins", FOR_ALL, NULL, NULL,
     "filterchain-check"},
    {NULL, NULL, NULL, FOR_ALL, NULL, NULL, NULL},
};

/* Folders of our other programs, relative to this one: in a build tree, and installed. */
static const char *const folders[] = {"../tests/bench", "../check", FC_PROGRAM_DIR};

/* Executes one of them with its arguments; returns only if it is missing. The benchmark is separate
 * because it contains variants of the algorithms that the command should not load. */
static exit_status program_run(const char *name, char **argv) {
  g_autofree char *self = g_file_read_link("/proc/self/exe", NULL);
  g_autofree char *here = g_path_get_dirname(self ? self : "");
  for (guint i = 0; i < G_N_ELEMENTS(folders); i++) {
    g_autofree char *path = g_build_filename(here, folders[i], name, NULL);
    execv(path, argv);
    if (errno != ENOENT && errno != ENOTDIR) break;
  }
  say_error("%s: cannot be started: %s", name, g_strerror(errno));
  return EXIT_FAILED;
}

static void on_log(fc_log_level level, const char *message, void *data) {
  const arguments *a = data;
  if (level == FC_LOG_ERROR) {
    say_error("%s", message);
  } else if (level == FC_LOG_WARNING) {
    g_autofree char *text = g_strconcat("warning: ", message, NULL);
    say_once(text);
  } else if (a->verbose) {
    say_note("%s", message);
  }
}

fc_context *command_context(const arguments *a) {
  fc_context *context = fc_context_new();
  fc_context_set_log(context, on_log, (void *)a);
  for (guint i = 0; i < a->plugin_dirs->len; i++)
    fc_context_add_plugin_dir(context, g_ptr_array_index(a->plugin_dirs, i));
  return context;
}

static void print_help(const command *c) {
  printf("usage: filterchain %s\n", c->usage);
  if (c->name)
    printf("%s\n", c->summary);
  else {
    printf("Filter audio and images through a chain of operators%s.\n\n"
           "Other commands:\n",
           fc_has_cuda() ? ", on the GPU or the CPU" : "");
    for (const command *other = commands; other->usage; other++)
      if (other->name) print_term(other->usage, other->summary);
  }
  printf("\nOptions:\n");
  options_print(c->options);
  if (c->help) printf("\n%s", c->help);
}

static const command *named(const char *name) {
  for (const command *c = commands + 1; c->usage; c++)
    if (strcmp(c->name, name) == 0) return c;
  return NULL;
}

/* Of "help", "help list" and "help gain": a command explains itself, an operator is inspected. */
static const command *find_help(char ***argv) {
  const char *of = (*argv)[1];
  const command *c = of ? named(of) : NULL;
  if (of) ++*argv;
  if (of && !c && of[0] != '-') return named("inspect");
  (*argv)[0] = "--help";
  return c ? c : &commands[0];
}

/* Which command argv names, with *argv moved to its options; NULL after an error message. */
static const command *find_command(char ***argv) {
  const char *word = (*argv)[1];
  ++*argv;
  if (!word || word[0] == '-') return &commands[0];
  if (strcmp(word, "help") == 0) return find_help(argv);
  const command *found = named(word);
  if (found) {
    ++*argv;
    return found;
  }
  const char *names[G_N_ELEMENTS(commands)];
  gsize n = 0;
  for (const command *c = commands + 1; c->usage; c++) names[n++] = c->name;
  names[n] = NULL;
  g_autofree char *hint = fc_did_you_mean(word, names);
  if (*hint)
    say_error("no command \"%s\"%s", word, hint);
  else
    say_error("no command \"%s\"; files are named with -i and -o, operators with -p (see filterchain --help)",
              word);
  return NULL;
}

/* Detects a full disk or a closed pipe on stdout. */
static exit_status close_stdout(exit_status status) {
  if (fflush(stdout) == 0 && !ferror(stdout)) return status;
  // as if the signal had ended us, which is blocked during a run
  if (errno == EPIPE) return EXIT_SIGNAL + SIGPIPE;
  say_error("standard output: %s", g_strerror(errno));
  return status == EXIT_DONE ? EXIT_FAILED : status;
}

/* Includes the JPEG decoder: its version can change the last bits of samples. */
static void print_version(void) {
  g_autofree char *jpeg = formats_reader("jpg");
  printf("filterchain %s (%s), JPEG by %s\n", fc_version(), fc_has_cuda() ? "CPU and CUDA" : "CPU only",
         jpeg);
}

static exit_status run(const command *c, char **argv, arguments *a) {
  g_autoptr(GError) error = NULL;
  if (!arguments_parse(a, c->options, argv, &error)) return say_gerror(error);
  say_set_quiet(a->quiet);
  if (!a->verbose) codecs_silence();
  for (guint i = 0; i < a->plugin_dirs->len; i++) {
    const char *folder = g_ptr_array_index(a->plugin_dirs, i);
    if (g_file_test(folder, G_FILE_TEST_IS_DIR)) continue;
    say_error("--plugin-dir %s: is not a folder", folder);
    return EXIT_USAGE;
  }
  if (a->help)
    print_help(c);
  else if (a->version)
    print_version();
  else
    return c->run(a);
  return EXIT_DONE;
}

/* Memory of one file is reused for the next one of a batch. By default malloc returns buffers of images to
 * the system each time and gets them back page by page: a quarter of the time for images of 0.5 MP. */
#define MAP_FROM   (32 << 20) /* the maximum that glibc accepts */
#define TRIM_ABOVE (128 << 20)

static void keep_memory(void) {
#ifdef __GLIBC__
  mallopt(M_MMAP_THRESHOLD, MAP_FROM);
  mallopt(M_TRIM_THRESHOLD, TRIM_ABOVE);
#endif
}

int main(int argc, char **argv) {
  keep_memory();
  const command *c = find_command(&argv);
  if (!c) return EXIT_USAGE;
  if (c->program) return (int)program_run(c->program, argv - 1);
  arguments a;
  arguments_init(&a);
  exit_status status = close_stdout(run(c, argv, &a));
  const gboolean at_once = a.device && g_str_has_prefix(a.device, "cuda"); // see free_context
  arguments_finish(&a);
  if (at_once) _exit((int)status);
  return (int)status;
}
