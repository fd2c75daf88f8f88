/* SPDX-License-Identifier: MIT */
/*
 * args.h - the command line, parsed. One table of options (args.c) drives the parser,
 * the help, the suggestions and the shell completion.
 */
#ifndef FC_CLI_ARGS_H
#define FC_CLI_ARGS_H

#include "core/contract/filterchain.h"

/* The commands, as a set: each option lists the commands that take it. */
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
      /* destination of words that are not options: after -i they are further inputs, otherwise operands */
      *rest;
  const char *output, *report, *plot, *trace, *device;
  const char *format, *in_format, *raw, *latency;
  const char *shard, *shard_size, *failed; /* for a batch */
  const char *preview[2];                  /* the number of inputs, and the picture's name */
  gint64 threads, chunk, max_pixels, max_memory, rate, seed, epoch;
  int precision; /* index of the choice: -1 none, 0 f32, 1 f64 */
  int fuse;      /* fc_fuse */
  int decode;    /* fc_decoding */
  int lang;      /* for the command new: 0 or -1 C, 1 C++ */
  int progress;  /* progress_mode, -1 when not given */
  gboolean recursive, concat, resume, no_clobber, dry_run, allow_truncated, sync, json, cuda, quiet, verbose,
      help, version;
} arguments;

/* LIST: may be repeated; WORDS: further words after the value belong to it too; PAIR: two values. */
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
  const char *value; /* its name in help; for a choice: the choices, separated by '|' */
  const char *help;
  gint64 min, max; /* for a number */
} option;

/* The table; ends with a NULL name. */
extern const option options[];

void arguments_init(arguments *a);
void arguments_finish(arguments *a);

/* Reads `argv` (ends with NULL, without the command's name). Words that are not options are operands,
 * which only some commands take. */
gboolean arguments_parse(arguments *a, command_set command, char **argv, GError **error);

/* Whether help and completion show it: GPU options only if the build has CUDA. */
gboolean option_shown(const option *o);

/* Prints the options of a command for help, one per line. */
void options_print(command_set command);

#endif
