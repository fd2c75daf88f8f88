/* SPDX-License-Identifier: MIT */
/* `filterchain list`: the operators, and the rejected plugin files. */
#include "cli/codecs.h"
#include "cli/command.h"
#include "cli/describe.h"

#include <stdio.h>
#include <string.h>

static void print_text(const fc_operator **operators, gsize n, const fc_plugin_info *plugins,
                       gsize n_plugins) {
  gsize widest = 0;
  for (gsize i = 0; i < n; i++) widest = MAX(widest, strlen(operators[i]->name));
  for (gsize i = 0; i < n; i++) {
    g_autofree char *kinds = kinds_text(operators[i]->kinds);
    g_autofree char *backends = backends_text(operators[i]);
    printf("%-*s  %s [%s; %s]\n", (int)widest, operators[i]->name, operators[i]->summary, kinds, backends);
  }
  for (gsize i = 0; i < n_plugins; i++)
    if (plugins[i].reason)
      printf("%s: %s: %s\n", plugins[i].id ? "not used" : "rejected", plugins[i].path, plugins[i].reason);
}

static void write_operator(json *j, fc_context *context, const fc_operator *op) {
  const char *path = NULL;
  const fc_plugin *plugin = fc_context_plugin_of(context, op, &path);
  json_open(j, NULL, '{');
  json_string(j, "name", op->name);
  json_string(j, "summary", op->summary);
  json_kinds(j, "kinds", op->kinds);
  json_backends(j, "backends", op);
  json_string(j, "plugin", plugin ? plugin->id : NULL);
  json_string(j, "path", path);
  json_close(j, '}');
}

static void print_json(fc_context *context, const fc_operator **operators, gsize n,
                       const fc_plugin_info *plugins, gsize n_plugins) {
  json j = json_begin(FALSE);
  json_open(&j, NULL, '{');
  json_open(&j, "operators", '[');
  for (gsize i = 0; i < n; i++) write_operator(&j, context, operators[i]);
  json_close(&j, ']');
  json_open(&j, "rejected", '[');
  for (gsize i = 0; i < n_plugins; i++) {
    if (!plugins[i].reason) continue;
    json_open(&j, NULL, '{');
    json_string(&j, "path", plugins[i].path);
    json_string(&j, "plugin", plugins[i].id); /* null: none of its operators is used */
    json_string(&j, "reason", plugins[i].reason);
    json_close(&j, '}');
  }
  json_close(&j, ']');
  json_close(&j, '}');
  g_autofree char *text = json_end(&j);
  fputs(text, stdout);
}

exit_status list_command(const arguments *a) {
  if (a->operands->len) {
    say_error("list takes no operand; one operator is explained by filterchain inspect %s",
              (const char *)g_ptr_array_index(a->operands, 0));
    return EXIT_USAGE;
  }
  g_autoptr(fc_context) context = command_context(a);
  gsize n, n_plugins;
  plugins_hold_stdout();
  g_autofree const fc_operator **operators = fc_context_operators(context, &n);
  g_autofree fc_plugin_info *plugins = fc_context_plugins(context, &n_plugins);
  plugins_release_stdout();
  if (a->json)
    print_json(context, operators, n, plugins, n_plugins);
  else
    print_text(operators, n, plugins, n_plugins);
  if (n) return EXIT_DONE;
  say_error("no operator found; is FILTERCHAIN_PLUGIN_PATH or --plugin-dir set to a folder of plugins?");
  return EXIT_FAILED;
}
