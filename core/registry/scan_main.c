/* SPDX-License-Identifier: MIT */
/*
 * scan_main.c - the program filterchain-scan: opens one plugin file, as the scanner's child (scanner.h). Not
 * to be run by users.
 *
 *   filterchain-scan PATH 3>answers
 *
 * Answers on descriptor 3, one per line: "opening" and "asking" before steps that may not return, then "fit"
 * or "unfit REASON". Output of the plugin itself is discarded.
 */
#include "core/base/child.h"
#include "core/registry/descriptor.h"
#include "core/registry/module.h"
#include "core/registry/scanner.h"

#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

static void answer(const char *line, const char *more) {
  g_autofree char *text = g_strdup_printf("%s%s\n", line, more);
  gsize length = strlen(text);
  /* Shorter than PIPE_BUF, so it is written atomically; errors are ignored, since then the parent is gone. */
  ssize_t written = write(FC_CHILD_ANSWERS, text, MIN(length, FC_SCAN_ANSWER_LONGEST));
  if (written < 0) _exit(2);
}

/* A crash here is expected and reported: no core files, and a time limit in case the parent has gone. */
static void limit_self(void) {
  struct rlimit none = {0, 0}, seconds = {FC_SCAN_TIMEOUT_MS / 1000 + 1, FC_SCAN_TIMEOUT_MS / 1000 + 1};
  setrlimit(RLIMIT_CORE, &none);
  setrlimit(RLIMIT_CPU, &seconds);
  prctl(PR_SET_PDEATHSIG, SIGKILL);
}

static gboolean look(const char *path, GError **error) {
  answer("opening", "");
  if (!fc_module_check_sanitizer(path, error)) return FALSE;
  void *module = fc_module_open(path, FALSE, error);
  if (!module) return FALSE;
  answer("asking", "");
  const fc_plugin *plugin = fc_module_ask(module, error);
  if (!plugin) return FALSE;
  fc_plugin *copy = fc_descriptor_copy(plugin, NULL, error);
  fc_descriptor_free(copy);
  return copy != NULL;
}

int main(int argc, char **argv) {
  GError *error = NULL;
  if (argc != 2) return 2;
  limit_self();
  gboolean fit = look(argv[1], &error);
  if (fit)
    answer("fit", "");
  else
    answer("unfit ", error->message);
  /* Without the plugin's exit handlers and destructors. */
  _exit(fit ? 0 : 1);
}
