/* SPDX-License-Identifier: MIT */
/* `filterchain completion SHELL`: a script for the shell, from tables that completion.h describes. */
#include "cli/completion/completion.h"

#include "cli/codecs.h"
#include "cli/describe.h"

#include <stdio.h>
#include <string.h>

/* ---- what may be given ------------------------------------------------------------------------ */

/* The values that may be given without the name of their parameter. */
static void append_bare(GString *to, const fc_param *p) {
  const fc_choice *choice;
  if (p->type == FC_TABLE || p->type == FC_INPUT || p->type == FC_PATH) g_string_append(to, " @");
  for (guint k = 0; (choice = choice_at(p, k, FALSE)); k++) g_string_append_printf(to, " @%s", choice->name);
}

static char *params_of(const fc_operator *op) {
  GString *to = g_string_new(NULL);
  for (guint i = 0; i < op->n_params; i++)
    if (op->params[i]->flags & FC_PARAM_MAIN) append_bare(to, op->params[i]);
  for (guint i = 0; i < op->n_params; i++) {
    const fc_param *p = op->params[i];
    const fc_choice *choice = choice_at(p, 0, FALSE);
    if (p->deprecated) continue;
    if (p->type == FC_BOOL)
      g_string_append_printf(to, " %s=yes %s=no", p->name, p->name);
    else if (!choice)
      g_string_append_printf(to, " %s=", p->name);
    for (guint k = 0; (choice = choice_at(p, k, FALSE)); k++)
      g_string_append_printf(to, " %s=%s", p->name, choice->name);
  }
  return g_string_free(to, FALSE);
}

/* "yes|no" are words to choose from, "1..100" is not. */
static char *file_options(const fc_file_option *o) {
  GString *to = g_string_new(NULL);
  for (; o && o->key; o++) {
    const gboolean words = strchr(o->values, '|') && !strchr(o->values, ' ');
    g_auto(GStrv) values = g_strsplit(words ? o->values : "", "|", -1);
    if (!words) g_string_append_printf(to, " %s=", o->key);
    for (char **value = values; *value; value++) g_string_append_printf(to, " %s=%s", o->key, *value);
  }
  return g_string_free(to, FALSE);
}

/* The formats that are read, or written. */
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
  if (strcmp(o->name, "device") == 0) return g_strdup("auto cpu cuda cuda:0 cuda:all");
  if (strcmp(o->name, "format") == 0 || strcmp(o->name, "in-format") == 0)
    return format_names(o->name[0] == 'f');
  return o->kind == OPTION_CHOICE ? g_strdelimit(g_strdup(o->value), "|", ' ') : NULL;
}

/* ---- of the programs beside this one ---------------------------------------------------------- */

/* All that a pattern finds in what a program of ours prints, once each, separated by blanks; g_free. */
static char *printed(const char *program, const char *word, const char *pattern) {
  char *argv[] = {"/proc/self/exe", (char *)program, (char *)word, NULL};
  g_autofree char *text = NULL;
  g_autoptr(GMatchInfo) match = NULL;
  GString *found = g_string_new(" ");
  if (!g_spawn_sync(NULL, argv, NULL, G_SPAWN_STDERR_TO_DEV_NULL, NULL, NULL, &text, NULL, NULL, NULL))
    return g_string_free(found, FALSE);
  g_autoptr(GRegex) regex = g_regex_new(pattern, G_REGEX_MULTILINE, 0, NULL);
  for (g_regex_match(regex, text, 0, &match); g_match_info_matches(match); g_match_info_next(match, NULL)) {
    g_autofree char *name = g_match_info_fetch(match, 1), *apart = g_strdup_printf(" %s ", name);
    if (!strstr(found->str, apart)) g_string_append(found, apart + 1);
  }
  return g_string_free(found, FALSE);
}

char *complete_program_options(const char *program) {
  return printed(program, "--help", "(--[a-z][a-z-]+)");
}

char *complete_check_choices(const char *name) {
  if (strcmp(name, "--test") == 0) return printed("check", "--list", "^([a-z]+) ");
  return strcmp(name, "--backend") == 0 ? g_strdup(fc_has_cuda() ? "cpu cuda all" : "cpu all") : NULL;
}

/* ---- tables ------------------------------------------------------------------------------------- */

static void print_row(const complete_form *f, const char *key, const char *words) {
  printf("%s%s%s%s%s", f->row, key, f->value, words, f->ended);
}

static void print_formats(const complete_form *f, gboolean written) {
  gsize count;
  g_autofree fc_file_format_info *formats = fc_file_formats(&count);
  printf("%s%s%s", f->open, written ? "_filterchain_out" : "_filterchain_in", f->opened);
  for (gsize i = 0; i < count; i++) {
    g_autofree char *words = file_options(written ? formats[i].writing : formats[i].reading);
    g_auto(GStrv) endings = g_strsplit(formats[i].extensions, " ", -1);
    for (char **ending = endings; *words && *ending; ending++) print_row(f, *ending, words);
  }
  fputs(f->close, stdout);
}

static void print_values(const complete_form *f) {
  static const char *const of_check[] = {"--backend", "--test"};
  printf("%s_filterchain_values%s", f->open, f->opened);
  for (const option *o = options; o->name; o++) {
    g_autofree char *values = complete_choices(o), *name = g_strconcat("--", o->name, NULL);
    if (values) print_row(f, name, values);
  }
  for (guint i = 0; i < G_N_ELEMENTS(of_check); i++) {
    g_autofree char *values = complete_check_choices(of_check[i]);
    print_row(f, of_check[i], values);
  }
  fputs(f->close, stdout);
}

void complete_tables(const complete_form *f, const fc_operator *const *operators) {
  printf("%s_filterchain_params%s", f->open, f->opened);
  for (; *operators; operators++) {
    g_autofree char *words = params_of(*operators);
    print_row(f, (*operators)->name, words);
  }
  fputs(f->close, stdout);
  print_formats(f, FALSE);
  print_formats(f, TRUE);
  print_values(f);
}

void complete_lists(void) {
  g_autofree char *check = complete_program_options("check"), *bench = complete_program_options("bench");
  printf("_filterchain_options='");
  for (const option *o = options; o->name; o++) {
    if (!option_shown(o)) continue;
    printf("--%s ", o->name);
    if (o->letter) printf("-%c ", o->letter);
  }
  printf("'\n_filterchain_commands='");
  for (const command *c = commands; c->usage; c++)
    if (c->name) printf("%s ", c->name);
  printf("'\n_filterchain_check='%s'\n_filterchain_bench='%s'\n\n", check, bench);
}

/* ---- the command ---------------------------------------------------------------------------------- */

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
