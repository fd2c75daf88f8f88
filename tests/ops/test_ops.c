/* SPDX-License-Identifier: MIT */
/*
 * test_ops.c - every operator of a folder of plugins, on each backend, against its scalar
 * reference: see harness.h.
 *
 *     test_ops [OPTION]... PLUGINS
 */
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/registry/registry.h"
#include "tests/ops/harness.h"
#include "tests/ops/trial.h"

#define SKIP 77

/* The case in hand, for the handler of a crash. */
static char current[HARNESS_CURRENT];

G_GNUC_UNUSED static void say_where(int number) {
  static const char crashed[] = "FAILED: crashed in ";
  ssize_t ignored = write(STDOUT_FILENO, crashed, sizeof crashed - 1);
  ignored += write(STDOUT_FILENO, current, strlen(current));
  ignored += write(STDOUT_FILENO, "\n", 1);
  (void)ignored;
  signal(number, SIG_DFL);
  raise(number);
}

typedef struct settings {
  harness_options harness;
  char *op, *backend, *seed;
  gint64 cases;
  gboolean list;
} settings;

static gboolean read_settings(settings *s, int *argc, char ***argv) {
  gint64 only = -1;
  double seconds = -1;
  const GOptionEntry entries[] = {
      {"op", 0, 0, G_OPTION_ARG_STRING, &s->op, "This operator only", "NAME"},
      {"backend", 0, 0, G_OPTION_ARG_STRING, &s->backend, "cpu, cuda or all (the default)", "NAME"},
      {"seed", 0, 0, G_OPTION_ARG_STRING, &s->seed, "Repeat the run of this seed", "N"},
      {"case", 0, 0, G_OPTION_ARG_INT64, &only, "This case only", "N"},
      {"cases", 0, 0, G_OPTION_ARG_INT64, &s->cases,
       "At most so many an operator; without --seconds, exactly", "N"},
      {"seconds", 0, 0, G_OPTION_ARG_DOUBLE, &seconds, "For an operator on a backend (4)", "T"},
      {"list", 0, 0, G_OPTION_ARG_NONE, &s->list, "List the operators and run nothing", NULL},
      {"verbose", 'v', 0, G_OPTION_ARG_NONE, &s->harness.verbose, "Print every case", NULL},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  g_autoptr(GError) error = NULL;
  GOptionContext *context = g_option_context_new("PLUGINS");
  g_option_context_add_main_entries(context, entries, NULL);
  gboolean ok = g_option_context_parse(context, argc, argv, &error);
  g_option_context_free(context);
  s->harness.cases = (guint64)MAX(s->cases, 0);
  s->harness.only = only, s->harness.seconds = seconds >= 0 ? seconds : s->harness.cases ? 0 : 4;
  s->harness.seed = s->seed ? g_ascii_strtoull(s->seed, NULL, 0) : (guint64)g_get_real_time();
  if (!s->backend) s->backend = g_strdup("all");
  if (ok && *argc == 2 &&
      (!strcmp(s->backend, "cpu") || !strcmp(s->backend, "cuda") || !strcmp(s->backend, "all")))
    return TRUE;
  fprintf(stderr, "test_ops: %s\n", error ? error->message : "expected one folder of plugins; see --help");
  return FALSE;
}

static gboolean wanted(const settings *s, const char *backend) {
  return strcmp(s->backend, "all") == 0 || strcmp(s->backend, backend) == 0;
}

/* One operator on the backends asked for; whether all is well. */
static gboolean run_operator(const settings *s, const fc_operator *op, const test_device *cuda,
                             guint64 *ran) {
  gboolean ok = TRUE;
  harness_tally tally;
  const fc_backend *on_host = backend_of(op, FC_KIND_HOST), *on_cuda = backend_of(op, FC_KIND_CUDA);
  if (on_host && wanted(s, "cpu")) {
    harness_run(op, on_host, device_cpu(), &s->harness, &tally);
    ok &= tally.failures == 0;
    *ran += tally.ran;
  }
  if (on_cuda && cuda) {
    harness_run(op, on_cuda, cuda, &s->harness, &tally);
    ok &= tally.failures == 0;
    *ran += tally.ran;
  } else if (cuda) {
    printf("     %s has no CUDA version\n", op->name);
  }
  return ok;
}

/* What was rejected is no operator that ran: say so, and fail. */
static gboolean check_plugins(fc_registry *registry) {
  gsize count;
  gboolean ok = TRUE;
  g_autofree fc_plugin_info *plugins = fc_registry_plugins(registry, &count);
  for (gsize i = 0; i < count; i++)
    if (!plugins[i].id) ok = FALSE, printf("FAILED: %s: %s\n", plugins[i].path, plugins[i].reason);
  return ok;
}

static int run_all(const settings *s, fc_registry *registry, const test_device *cuda) {
  gsize count, failed = 0, tried = 0;
  guint64 ran = 0;
  gboolean whole = check_plugins(registry);
  g_autofree const fc_operator **ops = fc_registry_operators(registry, &count);
  for (gsize i = 0; i < count; i++) {
    if (s->op && strcmp(s->op, ops[i]->name) != 0) continue;
    tried++;
    if (s->list)
      harness_describe(ops[i]);
    else
      failed += !run_operator(s, ops[i], cuda, &ran);
  }
  if (tried == 0) fprintf(stderr, "test_ops: no operator %s\n", s->op ? s->op : "at all");
  if (s->list) return tried ? 0 : 1;
  printf("%" G_GSIZE_FORMAT " operators, %" G_GUINT64_FORMAT " cases, %" G_GSIZE_FORMAT " operators failed\n",
         tried, ran, failed);
  return failed || !ran || !whole;
}

int main(int argc, char **argv) {
  G_GNUC_UNUSED static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  settings s = {.op = NULL};
  const char *reason = NULL;
  if (!read_settings(&s, &argc, &argv)) return 2;
  const test_device *cuda = wanted(&s, "cuda") && !s.list ? device_cuda(&reason) : NULL;
  if (!cuda && strcmp(s.backend, "cuda") == 0 && !s.list) {
    printf("skipped: no CUDA device (%s)\n", reason);
    return SKIP;
  }
  s.harness.current = current;
  setvbuf(stdout, NULL, _IOLBF, 0);
#if !defined(__SANITIZE_ADDRESS__) /* which says more */
  for (guint i = 0; i < G_N_ELEMENTS(crashes); i++) signal(crashes[i], say_where);
#endif
  if (!s.list) printf("--seed %" G_GUINT64_FORMAT "\n", s.harness.seed);
  if (cuda) printf("on %s\n", cuda->name);
  fc_registry *registry = fc_registry_new();
  fc_registry_set_home(registry, argv[1], "");
  int status = run_all(&s, registry, cuda);
  fc_registry_free(registry);
  g_free(s.op);
  g_free(s.backend);
  g_free(s.seed);
  return status;
}
