/* SPDX-License-Identifier: MIT */
/*
 * args.h - the command line, parsed. One table of options (args.c) drives the parser,
 * the help, the suggestions and the shell completion.
 */
#ifndef FC_CLI_ARGS_H
#define FC_CLI_ARGS_H

#include "core/contract/filterchain.h"

/* The commands, as a set: which options each takes. */
typedef enum command_set {
  FOR_RUN = 1,
  FOR_LIST = 2,
  FOR_INSPECT = 4,
  FOR_COMPLETION = 8,
  FOR_PLOT = 16,
  FOR_DESIGN = 32,
  FOR_NEW = 64,
  FOR_ALL = 127,
  FOR_GPU = 128 /* help shows it only where the build has CUDA */
} command_set;

/* Texts are borrowed from argv. */
typedef struct arguments {
  GPtrArray *inputs, *stages, *plugin_dirs, *operands; /* of const char * */
  GPtrArray
      *rest; /* where a word that is not an option goes: behind -i it is a further input, else an operand */
  const char *output, *report, *plot, *trace, *device;
  const char *format, *in_format, *raw, *latency;
  const char *shard, *shard_size, *failed; /* of a batch */
  const char *preview[2];                  /* how many, and the picture */
  gint64 threads, chunk, max_pixels, max_memory, rate, seed, epoch;
  int precision; /* index of the choice: -1 none, 0 f32, 1 f64 */
  int fuse;      /* fc_fuse */
  int lang;      /* of new: 0 or -1 C, 1 C++ */
  int progress;  /* progress_mode, -1 when not given */
  gboolean recursive, concat, resume, no_clobber, dry_run, allow_truncated, sync, json, cuda, quiet, verbose,
      help, version;
} arguments;

/* LIST: given again and again; WORDS: so is what follows its value; PAIR: two values. */
typedef enum option_kind {
  OPTION_FLAG,
  OPTION_TEXT,
  OPTION_PAIR,
  OPTION_LIST,
  OPTION_WORDS,
  OPTION_NUMBER,
  OPTION_CHOICE
} option_kind;

typedef struct option {
  const char *name; /* long, without the dashes */
  char letter;      /* short, or 0 */
  option_kind kind;
  gsize at;          /* where in arguments the value goes */
  guint commands;    /* command_set */
  const char *value; /* how help calls it; of a choice: the choices, apart by '|' */
  const char *help;
  gint64 min, max; /* of a number */
} option;

/* The table; ends with a NULL name. */
extern const option options[];

void arguments_init(arguments *a);
void arguments_finish(arguments *a);

/* Reads `argv` (ends with NULL, without the command's own name). What is not an option is
 * an operand, which only some commands take. */
gboolean arguments_parse(arguments *a, command_set command, char **argv, GError **error);

/* Whether help and completion show it: options for a GPU only where the build has CUDA. */
gboolean option_shown(const option *o);

/* The options of a command as help prints them, an option a line. */
void options_print(command_set command);

#endif
