/* SPDX-License-Identifier: MIT */
/* Completion for fish. Candidates are whole words, with what is typed already. */
#include "cli/completion/completion.h"

#include <stdio.h>
#include <string.h>

static const char functions[] =
    "function __filterchain_stage\n"
    "  set -l parts (string split : -- (commandline -ct))\n"
    "  if test (count $parts) -lt 2\n"
    "    __filterchain_operators\n"
    "    return\n"
    "  end\n"
    "  set -l before (string join : -- $parts[1..-2])\n"
    "  for param in (_filterchain_params $parts[1])\n"
    "    switch $param\n"
    "      case @ # a file, as a bare value of the first argument\n"
    "        if test (count $parts) -eq 2\n"
    "          for file in $parts[2]*; echo $before:$file; end\n"
    "        end\n"
    "      case '@*'\n"
    "        test (count $parts) -eq 2; and echo $before:(string sub -s 2 -- $param)\n"
    "      case '*'\n"
    "        echo $before:$param\n"
    "    end\n"
    "  end\n"
    "end\n"
    "function __filterchain_file # in|out: options of the format, behind a file\n"
    "  set -l parts (string split : -- (commandline -ct))\n"
    "  test (count $parts) -ge 2; or return\n"
    "  set -l before (string join : -- $parts[1..-2])\n"
    "  for each in (_filterchain_$argv[1] (string split . -- $parts[1])[-1])\n"
    "    echo $before:$each\n"
    "  end\n"
    "end\n"
    "complete -c filterchain -s p -l operator -x -a '(__filterchain_stage)'\n"
    "complete -c filterchain -s i -l input -r -a '(__filterchain_file in)' -d 'a file to read'\n"
    "complete -c filterchain -s o -l output -r -a '(__filterchain_file out)' -d 'the file to write'\n"
    "complete -c filterchain -n '__fish_seen_subcommand_from inspect check' -a "
    "'(__filterchain_operators)'\n"
    "complete -c filterchain -n '__fish_seen_subcommand_from check' -l op -x -a "
    "'(__filterchain_operators)'\n";

/* A text between single quotes. */
static void print_quoted(const char *text) {
  putchar('\'');
  for (; *text; text++) printf(*text == '\'' || *text == '\\' ? "\\%c" : "%c", *text);
  putchar('\'');
}

static void print_option(const option *o) {
  g_autofree char *values = complete_choices(o);
  printf("complete -c filterchain -l %s", o->name);
  if (o->letter) printf(" -s %c", o->letter);
  if (o->kind != OPTION_FLAG) printf(values ? " -x" : " -r");
  if (values) printf(" -a '%s'", values);
  printf(" -d ");
  print_quoted(o->help);
  putchar('\n');
}

static void print_program_options(const char *program) {
  g_autofree char *all = complete_program_options(program);
  g_auto(GStrv) names = g_strsplit(all, " ", -1);
  for (char **name = names; *name; name++) {
    g_autofree char *values = complete_check_choices(*name);
    if (!**name || strcmp(*name, "--op") == 0) continue;
    printf("complete -c filterchain -n '__fish_seen_subcommand_from %s' -l %s", program, *name + 2);
    if (values) printf(" -x -a '%s'", values);
    putchar('\n');
  }
}

void complete_fish(const fc_operator *const *operators) {
  printf("function __filterchain_operators\n");
  for (const fc_operator *const *op = operators; *op; op++) {
    g_autofree char *line = g_strdup_printf("%s\t%s", (*op)->name, (*op)->summary);
    printf("  echo ");
    print_quoted(line);
    putchar('\n');
  }
  printf("end\n");
  complete_tables(&(complete_form){"function ", "\n  switch $argv[1]\n", "  case ",
                                   "\n    string split -n ' ' '", "'\n", "  end\nend\n"},
                  operators);
  fputs(functions, stdout);
  for (const command *c = commands; c->usage; c++)
    if (c->name) {
      printf("complete -c filterchain -n __fish_use_subcommand -a %s -d ", c->name);
      print_quoted(c->summary);
      putchar('\n');
    }
  for (const option *o = options; o->name; o++)
    if (!strchr("pio", o->letter ? o->letter : '-') && option_shown(o)) print_option(o);
  print_program_options("check");
  print_program_options("bench");
}
