/* SPDX-License-Identifier: MIT */
/* `filterchain completion SHELL`: a script for the shell, made from the table of options and the
 * descriptors of the available operators. bash is here; complete_more.c has the others. */
#include "cli/complete.h"

#include "cli/codecs.h"
#include "cli/describe.h"

#include <stdio.h>
#include <string.h>

/* Words are split at blanks here: the shell also splits at ':' and '='. The part that it has split off
 * must be removed from the answers. */
static const char functions[] =
    "_filterchain_answer() { # PREFIX CANDIDATES...\n"
    "  local word=$1 keep\n"
    "  shift\n"
    "  keep=${word%\"${word##*[:=]}\"}\n"
    "  mapfile -t COMPREPLY < <(compgen -W \"$*\" -- \"$word\")\n"
    "  COMPREPLY=(\"${COMPREPLY[@]#\"$keep\"}\")\n"
    "}\n"
    "\n"
    "_filterchain_stage() { # WORD: an operator, then its parameters\n"
    "  local word=$1 name=${1%%:*} before=${1%:*} param candidates=() files=()\n"
    "  if [[ $word != *:* ]]; then\n"
    "    compopt -o nospace\n"
    "    _filterchain_answer \"$word\" \"${!_filterchain_params[*]}\"\n"
    "    return\n"
    "  fi\n"
    "  for param in ${_filterchain_params[$name]-}; do\n"
    "    if [[ $param == @* ]]; then # a bare value: of the first argument only\n"
    "      [[ $before == *:* ]] && continue\n"
    "      [[ $param == @ ]] && mapfile -t files < <(compgen -f -- \"${word##*:}\")\n"
    "      [[ $param != @ ]] && candidates+=(\"$before:${param#@}\")\n"
    "    else\n"
    "      candidates+=(\"$before:$param\")\n"
    "    fi\n"
    "  done\n"
    "  compopt -o nospace\n"
    "  _filterchain_answer \"$word\" \"${candidates[*]}\"\n"
    "  if [[ -z ${COMPREPLY[0]-} ]]; then # a table, an input, a path\n"
    "    param=${word##*:}\n"
    "    mapfile -t COMPREPLY < <(compgen -f -- \"${param#*=}\")\n"
    "  else\n"
    "    COMPREPLY+=(\"${files[@]}\")\n"
    "  fi\n"
    "}\n"
    "\n"
    "_filterchain() {\n"
    "  local line=${COMP_LINE:0:COMP_POINT} word rest previous\n"
    "  word=${line##*[[:blank:]]}\n"
    "  rest=${line%\"$word\"}\n"
    "  read -r -a previous <<<\"$rest\"\n"
    "  COMPREPLY=()\n"
    "  case ${previous[-1]-} in\n"
    "  -p | --operator) _filterchain_stage \"$word\" ;;\n"
    "  inspect | check)\n"
    "    _filterchain_answer \"$word\" \"${!_filterchain_params[*]}\"\n"
    "    mapfile -t -O ${#COMPREPLY[@]} COMPREPLY < <(compgen -f -X '!*.so' -- \"$word\"; compgen -d -- "
    "\"$word\")\n"
    "    ;;\n";

static const char ending[] =
    "  *)\n"
    "    if [[ $word == -* ]]; then _filterchain_answer \"$word\" \"$_filterchain_options\"\n"
    "    elif [[ ${#previous[@]} -eq 1 ]]; then _filterchain_answer \"$word\" \"$_filterchain_commands\"\n"
    "    else mapfile -t COMPREPLY < <(compgen -f -- \"$word\")\n"
    "    fi\n"
    "    ;;\n"
    "  esac\n"
    "}\n"
    "\n"
    "complete -o filenames -F _filterchain filterchain\n";

/* Values that may be given without their parameter's name. */
static void complete_bare(const fc_param *p, const char *ahead) {
  const fc_choice *choice;
  if (p->type == FC_TABLE || p->type == FC_INPUT || p->type == FC_PATH) printf("%s@", ahead);
  for (guint k = 0; (choice = choice_at(p, k, FALSE)); k++) printf("%s@%s", ahead, choice->name);
}

void complete_params(const fc_operator *op, const char *ahead) {
  for (guint i = 0; i < op->n_params; i++)
    if (op->params[i]->flags & FC_PARAM_MAIN) complete_bare(op->params[i], ahead);
  for (guint i = 0; i < op->n_params; i++) {
    const fc_param *p = op->params[i];
    const fc_choice *choice = choice_at(p, 0, FALSE);
    if (p->deprecated) continue;
    if (p->type == FC_BOOL)
      printf("%s%s=yes%s%s=no", ahead, p->name, ahead, p->name);
    else if (!choice)
      printf("%s%s=", ahead, p->name);
    for (guint k = 0; (choice = choice_at(p, k, FALSE)); k++) printf("%s%s=%s", ahead, p->name, choice->name);
  }
}

void complete_lists(void) {
  printf("_filterchain_options='");
  for (const option *o = options; o->name; o++) {
    if (!option_shown(o)) continue;
    printf("--%s ", o->name);
    if (o->letter) printf("-%c ", o->letter);
  }
  printf("'\n_filterchain_commands='");
  for (const command *c = commands; c->usage; c++)
    if (c->name) printf("%s ", c->name);
  printf("'\n\n");
}

/* The formats that can be read, or written. */
static char *format_names(gboolean written) {
  gsize count;
  g_autofree fc_file_format_info *formats = fc_file_formats(&count);
  GString *names = g_string_new(NULL);
  for (gsize i = 0; i < count; i++)
    if (written ? formats[i].writer : formats[i].reader)
      g_string_append_printf(names, "%s%s", names->len ? " " : "", formats[i].name);
  return g_string_free(names, FALSE);
}

char *complete_choices(const option *o) {
  if (!option_shown(o)) return NULL;
  if (strcmp(o->name, "device") == 0)
    return g_strdup(fc_has_cuda() ? "auto cpu cuda cuda:0 cuda:all" : "auto cpu");
  if (strcmp(o->name, "format") == 0 || strcmp(o->name, "in-format") == 0)
    return format_names(o->name[0] == 'f');
  return o->kind == OPTION_CHOICE ? g_strdelimit(g_strdup(o->value), "|", ' ') : NULL;
}

static void complete_bash(const fc_operator *const *operators) {
  printf("declare -A _filterchain_params=(\n");
  for (; *operators; operators++) {
    printf("  [%s]='", (*operators)->name);
    complete_params(*operators, " ");
    printf("'\n");
  }
  printf(")\n");
  complete_lists();
  fputs(functions, stdout);
  for (const option *o = options; o->name; o++) {
    g_autofree char *values = complete_choices(o);
    if (values) printf("  --%s) _filterchain_answer \"$word\" '%s' ;;\n", o->name, values);
  }
  fputs(ending, stdout);
}

static const struct shell {
  const char *name;
  void (*write)(const fc_operator *const *operators);
} shells[] = {{"bash", complete_bash}, {"zsh", complete_zsh}, {"fish", complete_fish}};

exit_status completion_command(const arguments *a) {
  const struct shell *shell = NULL;
  for (guint i = 0; i < G_N_ELEMENTS(shells) && a->operands->len == 1; i++)
    if (strcmp(g_ptr_array_index(a->operands, 0), shells[i].name) == 0) shell = &shells[i];
  if (!shell) {
    say_error("completion scripts are written for one shell: filterchain completion bash, zsh or fish");
    return EXIT_USAGE;
  }
  g_autoptr(fc_context) context = command_context(a);
  plugins_hold_stdout();
  g_autofree const fc_operator **operators = fc_context_operators(context, NULL);
  plugins_release_stdout();
  printf("# %s completion of filterchain %s; written by \"filterchain completion %s\"\n", shell->name,
         fc_version(), shell->name);
  shell->write(operators);
  return EXIT_DONE;
}
