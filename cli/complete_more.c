/* SPDX-License-Identifier: MIT */
/* Completion for zsh and fish, from the same tables as for bash (complete.c). */
#include "cli/complete.h"

#include "cli/describe.h"

#include <stdio.h>

/* ---- zsh: IPREFIX holds the part before the last colon ------------------------------ */

static const char zsh_stage[] =
    "_filterchain_stage() {\n"
    "  local name=${PREFIX%%:*}\n"
    "  if [[ $PREFIX != *:* ]]; then\n"
    "    compadd -S '' -- ${(k)_filterchain_params}\n"
    "    return\n"
    "  fi\n"
    "  compset -P '*:'\n"
    "  local -a all=(${=_filterchain_params[$name]}) bare=(${${(M)all:#@*}#@})\n"
    "  [[ $IPREFIX == *:*: ]] && bare=() # bare values are for the first argument\n"
    "  compadd -S '' -- ${all:#@*} ${bare:#} && { (( ${bare[(I)]} )) && _files; return; }\n"
    "  compset -P '*='\n"
    "  _files # a table, an input, a path\n"
    "}\n"
    "\n"
    "_filterchain() {\n"
    "  case ${words[CURRENT-1]} in\n"
    "  -p|--operator) _filterchain_stage ;;\n"
    "  inspect|check) compadd -- ${(k)_filterchain_params}; _files ;;\n";
static const char zsh_end[] = "  *)\n"
                              "    if [[ $PREFIX == -* ]]; then compadd -- ${=_filterchain_options}\n"
                              "    elif (( CURRENT == 2 )); then compadd -- ${=_filterchain_commands}\n"
                              "    else _files\n"
                              "    fi\n"
                              "    ;;\n"
                              "  esac\n"
                              "}\n"
                              "\n"
                              "compdef _filterchain filterchain\n";

void complete_zsh(const fc_operator *const *operators) {
  printf("typeset -gA _filterchain_params\n_filterchain_params=(\n");
  for (; *operators; operators++) {
    printf("  '%s' '", (*operators)->name);
    complete_params(*operators, " ");
    printf("'\n");
  }
  printf(")\n");
  complete_lists();
  fputs(zsh_stage, stdout);
  for (const option *o = options; o->name; o++) {
    g_autofree char *values = complete_choices(o);
    if (values) printf("  --%s) compadd -- %s ;;\n", o->name, values);
  }
  fputs(zsh_end, stdout);
}

/* ---- fish: candidates are whole words, including what is already typed ----------------- */

static const char fish_stage[] =
    "function __filterchain_stage\n"
    "  set -l parts (string split : -- (commandline -ct))\n"
    "  if test (count $parts) -lt 2\n"
    "    __filterchain_operators\n"
    "    return\n"
    "  end\n"
    "  set -l before (string join : -- $parts[1..-2])\n"
    "  for param in (__filterchain_params $parts[1])\n"
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
    "complete -c filterchain -s p -l operator -x -a '(__filterchain_stage)'\n"
    "complete -c filterchain -n '__fish_seen_subcommand_from inspect check' -a "
    "'(__filterchain_operators)'\n";

/* A text in single quotes. */
static void print_quoted(const char *text) {
  putchar('\'');
  for (; *text; text++) printf(*text == '\'' || *text == '\\' ? "\\%c" : "%c", *text);
  putchar('\'');
}

static void print_fish_option(const option *o) {
  g_autofree char *values = complete_choices(o);
  printf("complete -c filterchain -l %s", o->name);
  if (o->letter) printf(" -s %c", o->letter);
  if (o->kind != OPTION_FLAG) printf(values ? " -x" : " -r");
  if (values) printf(" -a '%s'", values);
  printf(" -d ");
  print_quoted(o->help);
  putchar('\n');
}

void complete_fish(const fc_operator *const *operators) {
  printf("function __filterchain_operators\n");
  for (const fc_operator *const *op = operators; *op; op++) {
    g_autofree char *line = g_strdup_printf("%s\t%s", (*op)->name, (*op)->summary);
    printf("  echo ");
    print_quoted(line);
    putchar('\n');
  }
  printf("end\nfunction __filterchain_params\n  switch $argv[1]\n");
  for (; *operators; operators++) {
    printf("  case %s\n    string split -n ' ' '", (*operators)->name);
    complete_params(*operators, " ");
    printf("'\n");
  }
  printf("  end\nend\n");
  fputs(fish_stage, stdout);
  for (const command *c = commands; c->usage; c++)
    if (c->name) {
      printf("complete -c filterchain -n __fish_use_subcommand -a %s -d ", c->name);
      print_quoted(c->summary);
      putchar('\n');
    }
  for (const option *o = options; o->name; o++)
    if (o->letter != 'p' && option_shown(o)) print_fish_option(o);
}
