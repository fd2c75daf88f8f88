/* SPDX-License-Identifier: MIT */
/* `filterchain new NAME`: a plugin of one's own to start from, as a project that builds and passes its test.
 */
#include "cli/templates/new.h"

#include "cli/command.h"

#include <errno.h>
#include <glib/gstdio.h>
#include <stdio.h>
#include <string.h>

typedef struct project {
  const char *name;
  char *upper, *year;
  gboolean cxx, cuda;
} project;

/* Which file each template becomes. */
static const struct target {
  const char *name, *path, *only; /* a word of @if, or NULL */
} targets[] = {
    {"meson.build", "meson.build", NULL},
    {"options.txt", "meson_options.txt", "cuda"},
    {"operator.c", "@NAME@.c", "c"},
    {"operator.cpp", "@NAME@.cpp", "cxx"},
    {"function.h", "@NAME@_function.h", "cuda"},
    {"cuda.cu", "@NAME@_cuda.cu", "cuda"},
    {"readme.md", "README.md", NULL},
    {"license", "LICENSE", NULL},
    {"gitignore", ".gitignore", NULL},
    {"ci.yml", ".github/workflows/check.yml", NULL},
};

static gboolean is_meant(const project *p, const char *word) {
  if (word[0] == '!') return !is_meant(p, word + 1);
  if (strcmp(word, "cuda") == 0) return p->cuda;
  return strcmp(word, "cxx") == 0 ? p->cxx : !p->cxx;
}

static void replace(GString *text, const char *mark, const char *by) {
  gsize from = 0;
  for (char *at; (at = strstr(text->str + from, mark));) {
    from = (gsize)(at - text->str);
    g_string_erase(text, (gssize)from, (gssize)strlen(mark));
    g_string_insert(text, (gssize)from, by);
    from += strlen(by);
  }
}

static char *fill(const project *p, const char *template) {
  GString *text = g_string_new(NULL);
  g_auto(GStrv) lines = g_strsplit(template, "\n", -1);
  gboolean stands = TRUE;
  for (guint i = 0; lines[i]; i++) {
    if (g_str_has_prefix(lines[i], "@if "))
      stands = is_meant(p, lines[i] + strlen("@if "));
    else if (strcmp(lines[i], "@end") == 0)
      stands = TRUE;
    else if (stands)
      g_string_append_printf(text, "%s%s", lines[i], lines[i + 1] ? "\n" : "");
  }
  replace(text, "@NAME@", p->name);
  replace(text, "@UPPER@", p->upper);
  replace(text, "@LANG@", p->cxx ? "cpp" : "c");
  replace(text, "@EXT@", p->cxx ? "cpp" : "c");
  replace(text, "@YEAR@", p->year);
  return g_string_free(text, FALSE);
}

static gboolean write_target(const project *p, const struct target *t) {
  g_autoptr(GError) error = NULL;
  const new_template *from = new_templates;
  while (from->name && strcmp(from->name, t->name) != 0) from++;
  g_return_val_if_fail(from->name, FALSE);
  g_autofree char *text = fill(p, from->text), *name = fill(p, t->path);
  g_autofree char *path = g_build_filename(p->name, name, NULL), *folder = g_path_get_dirname(path);
  if (g_mkdir_with_parents(folder, 0777) != 0)
    say_error("%s: %s", folder, g_strerror(errno));
  else if (!g_file_set_contents_full(path, text, -1, G_FILE_SET_CONTENTS_NONE, 0666, &error))
    say_error("%s", error->message);
  else
    return TRUE;
  return FALSE;
}

/* As the contract requires of operators' names. */
static gboolean is_name(const char *name) {
  gsize n = strspn(name, "abcdefghijklmnopqrstuvwxyz0123456789_");
  return g_ascii_islower(name[0]) && !name[n] && n < 64;
}

/* Names used by Meson's targets, C, C++ and the templates. */
static gboolean is_taken(const char *name) {
  static const char *const taken[] = {
      "all",         "test",   "clean",    "install", "uninstall", "benchmark", "dist",     "coverage",
      "reconfigure", "scan",   "null",     "std",     "fc",        "describe",  "on_cpu",   "on_cuda",
      "auto",        "break",  "case",     "catch",   "char",      "class",     "const",    "continue",
      "default",     "delete", "do",       "double",  "else",      "enum",      "explicit", "export",
      "extern",      "false",  "float",    "for",     "friend",    "goto",      "if",       "inline",
      "int",         "long",   "main",     "mutable", "namespace", "new",       "operator", "private",
      "protected",   "public", "register", "return",  "short",     "signed",    "sizeof",   "static",
      "struct",      "switch", "template", "this",    "throw",     "true",      "try",      "typedef",
      "typename",    "union",  "unsigned", "using",   "virtual",   "void",      "volatile", "while",
      NULL};
  return g_strv_contains(taken, name);
}

static gboolean make(const project *p) {
  for (guint i = 0; i < G_N_ELEMENTS(targets); i++)
    if ((!targets[i].only || is_meant(p, targets[i].only)) && !write_target(p, &targets[i])) return FALSE;
  printf("%s: plugin project written; next:\n  cd %s && meson setup build && ninja -C build && meson test -C "
         "build\n",
         p->name, p->name);
  return TRUE;
}

exit_status new_command(const arguments *a) {
  if (a->operands->len != 1) {
    say_error("new takes one operator name: filterchain new soften");
    return EXIT_USAGE;
  }
  g_autoptr(GDateTime) now = g_date_time_new_now_local();
  project p = {.name = g_ptr_array_index(a->operands, 0), .cxx = a->lang == 1, .cuda = a->cuda};
  if (!is_name(p.name)) {
    say_error("\"%s\" is not a valid operator name: small letters, digits and _, the first a letter", p.name);
    return EXIT_USAGE;
  }
  if (is_taken(p.name)) {
    say_error("\"%s\" means something to Meson, C or C++ already: choose another name", p.name);
    return EXIT_USAGE;
  }
  if (g_file_test(p.name, G_FILE_TEST_EXISTS)) {
    say_error("%s: exists already; name a new folder", p.name);
    return EXIT_FAILED;
  }
  g_autoptr(fc_context) context = command_context(a);
  if (fc_context_find(context, p.name, NULL))
    say_note("there is an operator \"%s\" already: the first one found is used", p.name);
  p.upper = g_ascii_strup(p.name, -1), p.year = g_strdup_printf("%d", now ? g_date_time_get_year(now) : 2026);
  const gboolean made = make(&p);
  g_free(p.upper);
  g_free(p.year);
  return made ? EXIT_DONE : EXIT_FAILED;
}
