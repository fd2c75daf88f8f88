/* SPDX-License-Identifier: MIT */
/* `filterchain inspect`: the content of a descriptor, as a manual page or as JSON. Knows no particular
 * operator. */
#include "cli/codecs.h"
#include "cli/command.h"
#include "cli/describe.h"

#include <stdio.h>
#include <string.h>

static void print_paragraph(const char *text, int indent) {
  print_filled(text, indent, 0);
}

/* Paragraphs are separated by blank lines; one that starts with a blank is not refilled. */
static void print_doc(const char *doc, int indent) {
  g_auto(GStrv) paragraphs = g_strsplit(doc, "\n\n", -1);
  for (char **p = paragraphs; *p; p++) {
    if (p != paragraphs) putchar('\n');
    if (**p != ' ') {
      print_paragraph(*p, indent);
      continue;
    }
    g_auto(GStrv) lines = g_strsplit(*p, "\n", -1);
    for (char **line = lines; *line; line++) printf("%*s%s\n", indent, "", *line);
  }
}

/* The values that may follow "name=": the choices, or the type. */
static char *value_text(const fc_param *param) {
  if (param->type == FC_BOOL) return g_strdup("yes|no");
  if (param->type == FC_INPUT || param->type == FC_PATH) return g_strdup("FILE");
  if (param->type != FC_ENUM) return g_ascii_strup(type_name(param->type), -1);
  g_autoptr(GString) text = g_string_new(NULL);
  const fc_choice *choice;
  for (guint i = 0; (choice = choice_at(param, i, FALSE)); i++)
    g_string_append_printf(text, "%s%s", i ? "|" : "", choice->name);
  return g_strdup(text->str);
}

/* One limit, integers in full; NULL where there is none. */
static char *bound_text(const fc_param *param, guint32 flag) {
  const fc_limits *l = param->limits;
  gboolean low = flag == FC_LIMIT_MIN;
  if (!l || !(l->flags & flag)) return NULL;
  if (param->type == FC_INT) return g_strdup_printf("%" G_GINT64_FORMAT, low ? l->int_min : l->int_max);
  return g_strdup_printf("%.15g", low ? l->min : l->max);
}

/* "1 to 100", "at least 0"; NULL where there are no limits. */
static char *range_text(const fc_param *param) {
  g_autofree char *low = bound_text(param, FC_LIMIT_MIN), *high = bound_text(param, FC_LIMIT_MAX);
  if (low && high) return g_strdup_printf("%s to %s", low, high);
  if (low) return g_strdup_printf("at least %s", low);
  return high ? g_strdup_printf("at most %s", high) : NULL;
}

/* Type, unit, range and default of a value: "int; samples; 1 to 65536; default 5". */
static char *terms_text(const fc_param *param) {
  g_autoptr(GPtrArray) terms = g_ptr_array_new_with_free_func(g_free);
  if (param->type == FC_ENUM && (param->flags & FC_PARAM_LIST))
    g_ptr_array_add(terms, g_strdup("one or several"));
  else if (param->flags & FC_PARAM_LIST)
    g_ptr_array_add(terms, g_strdup("one or several, separated by ','"));
  const gboolean samples = param->type == FC_INT && g_strcmp0(param->unit, "samples") == 0;
  if (param->unit) g_ptr_array_add(terms, g_strconcat(param->unit, samples ? ", or a time: 1.5s" : "", NULL));
  char *range = range_text(param);
  if (range) g_ptr_array_add(terms, range);
  if (param->flags & FC_PARAM_DECIBEL) g_ptr_array_add(terms, g_strdup("or decibels: -6dB"));
  if (param->flags & FC_PARAM_REQUIRED)
    g_ptr_array_add(terms, g_strdup("required"));
  else if (param->preset)
    g_ptr_array_add(terms, g_strdup_printf("default %s", param->preset));
  if (param->flags & FC_PARAM_MAIN) g_ptr_array_add(terms, g_strdup("the name may be left out"));
  if (param->aliases && param->aliases[0]) {
    g_autofree char *others = g_strjoinv(", ", (char **)param->aliases);
    g_ptr_array_add(terms, g_strdup_printf("also called %s", others));
  }
  if (param->deprecated) g_ptr_array_add(terms, g_strdup_printf("deprecated: %s", param->deprecated));
  g_ptr_array_add(terms, NULL);
  return g_strjoinv("; ", (char **)terms->pdata);
}

/* The meaning of each choice, and the names that are recognised only to be refused. */
static void print_choices(const fc_param *param) {
  const fc_choice *choice;
  for (guint i = 0; (choice = choice_at(param, i, FALSE)); i++)
    if (choice->doc && *choice->doc) print_filled(choice->doc, 23, printf("          %-12s ", choice->name));
  for (guint i = 0; (choice = choice_at(param, i, TRUE)); i++)
    print_filled(choice->doc ? choice->doc : "", 23, printf("      not %-12s ", choice->name));
}

static void print_param(const fc_param *param) {
  g_autofree char *value = value_text(param), *terms = terms_text(param);
  printf("    %s=%s\n", param->name, value);
  if (*terms) print_paragraph(terms, 8);
  if (param->doc) print_doc(param->doc, 8);
  print_choices(param);
}

static gboolean generates(const fc_operator *op) {
  return (op->flags & FC_OP_GENERATOR) != 0;
}

/* "[:MASK]", or ":MASK" if it is required; other parameters by name. */
static void print_synopsis(const fc_operator *op) {
  g_autoptr(GString) text = g_string_new(op->name);
  guint others = 0;
  for (guint i = 0; i < op->n_params; i++) {
    const fc_param *p = op->params[i];
    gboolean required = p->flags & FC_PARAM_REQUIRED;
    g_autofree char *upper = g_ascii_strup(p->name, -1);
    if (p->flags & FC_PARAM_MAIN)
      g_string_append_printf(text, required ? ":%s" : "[:%s]", upper);
    else if (required)
      g_string_append_printf(text, ":%s=%s", p->name, upper);
    else
      others++;
  }
  if (others) g_string_append(text, others > 1 ? "[:KEY=VALUE]..." : "[:KEY=VALUE]");
  printf("\nSYNOPSIS\n    filterchain %s-p %s %s\n", generates(op) ? "" : "-i INPUT ", text->str,
         operator_measures(op) ? "[-o OUTPUT]" : "-o OUTPUT");
}

static void print_formats(const fc_operator *op) {
  g_autofree char *kinds = kinds_text(op->kinds), *in = dtypes_text(op->dtypes_in);
  g_autofree char *out = dtypes_text(op->dtypes_out), *backends = backends_text(op);
  if (generates(op))
    printf("\nTAKES\n    no input\n");
  else
    printf("\nTAKES\n    %s; samples of type %s\n", kinds, in);
  if (generates(op))
    printf("\nMAKES\n    %s; samples of type %s\n", kinds, out);
  else if (op->flags & FC_OP_PASSTHROUGH)
    printf("\nMAKES\n    the unchanged input, and measurements\n");
  else if (op->flags & FC_OP_KEEPS_DTYPE)
    printf("\nMAKES\n    samples of the input's type\n");
  else
    printf("\nMAKES\n    samples of type %s\n", out);
  printf("\nRUNS ON\n    %s\n", backends);
}

/* An argument quoted for a shell. */
static char *quoted(const char *text) {
  gsize plain = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-+=:,./%@");
  return text[plain] ? g_shell_quote(text) : g_strdup(text);
}

static void print_example(const fc_operator *op, guint i) {
  const char *kind = op->kinds & FC_KIND_BIT(FC_AUDIO) ? "wav" : "png",
             *told = op->example_commands[0] ? op->example_commands[i] : "";
  g_autofree char *arg = quoted(op->examples[i]), *stage = g_strdup_printf("-p %s", arg);
  g_autoptr(GString) line = g_string_new(told);
  if (!*told && !generates(op)) g_string_append_printf(line, "-i in.%s ", kind);
  if (!*told) g_string_append(line, "...");
  if (!*told && !operator_measures(op)) g_string_append_printf(line, " -o out.%s", kind);
  g_string_replace(line, "...", stage, 1);
  if (op->example_docs[0] && *op->example_docs[i]) printf("    # %s\n", op->example_docs[i]);
  printf("    filterchain %s\n", line->str);
}

static void print_examples(const fc_operator *op) {
  if (!op->examples[0]) return;
  printf("\nEXAMPLES\n");
  for (guint i = 0; op->examples[i]; i++) print_example(op, i);
}

static void print_plugin(const fc_plugin *plugin, const char *path) {
  if (!plugin) return;
  printf("\nPLUGIN\n    %s", plugin->id);
  if (plugin->version) printf(" %s", plugin->version);
  if (plugin->author && *plugin->author) printf(", by %s", plugin->author);
  if (plugin->license && *plugin->license) printf(", licence %s", plugin->license);
  if (plugin->url && *plugin->url) printf(", %s", plugin->url);
  printf("\n    %s\n", path ? path : "");
}

static void print_operator(fc_context *context, const fc_operator *op) {
  const char *path = NULL;
  const fc_plugin *plugin = fc_context_plugin_of(context, op, &path);
  printf("NAME\n    %s - %s\n", op->name, op->summary);
  print_synopsis(op);
  if (op->doc && *op->doc) {
    printf("\nDESCRIPTION\n");
    print_doc(op->doc, 4);
  }
  if (op->n_params) printf("\nPARAMETERS\n");
  for (guint i = 0; i < op->n_params; i++) {
    if (i) putchar('\n');
    print_param(op->params[i]);
  }
  print_formats(op);
  print_examples(op);
  print_plugin(plugin, path);
}

/* ---- JSON -------------------------------------------------------------- */

static void write_choices(json *j, const char *key, const fc_param *param, gboolean refused) {
  const fc_choice *choice;
  json_open(j, key, '[');
  for (guint i = 0; (choice = choice_at(param, i, refused)); i++) {
    json_open(j, NULL, '{');
    json_string(j, "name", choice->name);
    json_string(j, "doc", choice->doc);
    json_close(j, '}');
  }
  json_close(j, ']');
}

static void write_bound(json *j, const char *key, const fc_param *param, guint32 flag) {
  const fc_limits *l = param->limits;
  gboolean low = flag == FC_LIMIT_MIN;
  if (!l || !(l->flags & flag)) return;
  if (param->type == FC_INT)
    json_int(j, key, low ? l->int_min : l->int_max);
  else
    json_number(j, key, low ? l->min : l->max);
}

static void write_param(json *j, const fc_param *param) {
  json_open(j, NULL, '{');
  json_string(j, "name", param->name);
  json_string(j, "type", type_name(param->type));
  json_string(j, "doc", param->doc);
  json_string(j, "unit", param->unit);
  json_string(j, "default", param->preset);
  json_bool(j, "main", param->flags & FC_PARAM_MAIN);
  json_bool(j, "required", param->flags & FC_PARAM_REQUIRED);
  json_bool(j, "list", param->flags & FC_PARAM_LIST);
  json_bool(j, "decibel", param->flags & FC_PARAM_DECIBEL);
  write_bound(j, "min", param, FC_LIMIT_MIN);
  write_bound(j, "max", param, FC_LIMIT_MAX);
  json_open(j, "aliases", '[');
  for (const char *const *alias = param->aliases; alias && *alias; alias++) json_string(j, NULL, *alias);
  json_close(j, ']');
  json_string(j, "deprecated", param->deprecated);
  if (param->type == FC_ENUM) {
    write_choices(j, "choices", param, FALSE);
    write_choices(j, "refused", param, TRUE);
  }
  json_close(j, '}');
}

static void write_plugin(json *j, const fc_plugin *plugin, const char *path) {
  if (!plugin) {
    json_null(j, "plugin");
    return;
  }
  json_open(j, "plugin", '{');
  json_string(j, "id", plugin->id);
  json_string(j, "version", plugin->version);
  json_string(j, "author", plugin->author);
  json_string(j, "license", plugin->license);
  json_string(j, "url", plugin->url);
  json_string(j, "path", path);
  json_int(j, "abi", plugin->abi);
  json_close(j, '}');
}

static void write_operator(json *j, fc_context *context, const fc_operator *op) {
  const char *path = NULL;
  const fc_plugin *plugin = fc_context_plugin_of(context, op, &path);
  json_open(j, NULL, '{');
  json_string(j, "name", op->name);
  json_string(j, "summary", op->summary);
  json_string(j, "doc", op->doc);
  json_open(j, "params", '[');
  for (guint i = 0; i < op->n_params; i++) write_param(j, op->params[i]);
  json_close(j, ']');
  json_kinds(j, "kinds", op->kinds);
  json_dtypes(j, "dtypes_in", op->dtypes_in);
  json_dtypes(j, "dtypes_out", op->dtypes_out);
  json_bool(j, "keeps_dtype", op->flags & (FC_OP_KEEPS_DTYPE | FC_OP_PASSTHROUGH));
  json_bool(j, "passthrough", op->flags & FC_OP_PASSTHROUGH);
  json_bool(j, "keeps_meaning", op->flags & (FC_OP_KEEPS_MEANING | FC_OP_PASSTHROUGH));
  json_bool(j, "noise", op->flags & FC_OP_NOISE);
  json_bool(j, "generator", generates(op));
  json_bool(j, "measures", operator_measures(op));
  json_backends(j, "backends", op);
  json_open(j, "examples", '[');
  for (const char *const *text = op->examples; text && *text; text++) json_string(j, NULL, *text);
  json_close(j, ']');
  json_open(j, "example_docs", '[');
  for (const char *const *e = op->example_docs; e && *e; e++) json_string(j, NULL, *e);
  json_close(j, ']');
  json_open(j, "keywords", '[');
  for (const char *const *k = op->keywords; k && *k; k++) json_string(j, NULL, *k);
  json_close(j, ']');
  write_plugin(j, plugin, path);
  json_close(j, '}');
}

/* ---- the command ------------------------------------------------------- */

/* Adds the operators that a word names: those of a plugin file, or the operator of that name, possibly
 * qualified. */
static void collect(fc_context *context, const char *word, GPtrArray *found, GError **error) {
  if (!g_str_has_suffix(word, ".so")) {
    const fc_operator *op = fc_context_find(context, word, error);
    if (op) g_ptr_array_add(found, (gpointer)op);
    return;
  }
  const fc_plugin *plugin = fc_context_open_plugin(context, word, error);
  for (guint i = 0; plugin && i < plugin->n_operators; i++)
    g_ptr_array_add(found, (gpointer)plugin->operators[i]);
}

exit_status inspect_command(const arguments *a) {
  if (!a->operands->len) {
    say_error("inspect needs the name of an operator or a plugin's file (see filterchain list)");
    return EXIT_USAGE;
  }
  g_autoptr(fc_context) context = command_context(a);
  g_autoptr(GPtrArray) found = g_ptr_array_new();
  g_autoptr(GError) error = NULL;
  plugins_hold_stdout();
  for (guint i = 0; i < a->operands->len && !error; i++)
    collect(context, g_ptr_array_index(a->operands, i), found, &error);
  plugins_release_stdout();
  if (error) return say_gerror(error);
  json j = json_begin(FALSE);
  json_open(&j, NULL, '[');
  for (guint i = 0; i < found->len; i++) {
    if (a->json)
      write_operator(&j, context, g_ptr_array_index(found, i));
    else {
      if (i) printf("\n\n");
      print_operator(context, g_ptr_array_index(found, i));
    }
  }
  json_close(&j, ']');
  g_autofree char *text = json_end(&j);
  if (a->json) fputs(text, stdout);
  return EXIT_DONE;
}
