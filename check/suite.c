/* SPDX-License-Identifier: MIT */
/*
 * suite.c - see suite.h. Each test runs in a forked child, which opens the plugin and writes its findings to
 * memory shared with this process. This process opens no plugin, except with --in-process.
 */
#include "check/suite.h"

#include <errno.h>
#include <fenv.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "check/engine.h"
#include "check/exclude.h"
#include "check/probes.h"
#include "check/watch.h"
#include "core/registry/descriptor.h"
#include "core/registry/module.h"

const check_test check_tests[] = {
    {"load", "the file loads, changes nothing of the process, and its operators are fit"},
    {"descriptor", "summary, documentation, and examples that parse"},
    {"halo", "process touches nothing beyond what was asked for (guard pages)"},
    {"calls", "process allocates nothing and prints nothing"},
    {"results", "terms, values, cuts, threads, borders, notes, state, measurements; against the reference"},
    {"function", "its function as text, if it has one, gives the bits of process"},
    {"linear", "its numbers for --fuse algebra, if it has some, give the values of process"},
    {"stream", "on a device: only on the job's stream, without waiting"},
    {"instances", "two instances do not meet, one after the other or in two threads"},
    {"memory", "an instance frees all of its memory"},
    {"engine", "run by the library: threads, chunks, sessions, composed kernels"},
    {NULL, NULL}};

#define MOST_OPERATORS 128
#define TEXT           1024

/* What a child reports. */
typedef struct shared {
  gboolean ended; /* the test completed */
  check_status status;
  fault_kind fault;
  char text[TEXT], again[HARNESS_CURRENT], current[HARNESS_CURRENT];
  int doing; /* watch_phase */
  char id[128], version[64];
  guint n_operators;
  struct listed {
    char name[64];
    gboolean on_host, on_cuda, fusible, linear;
  } operators[MOST_OPERATORS];
} shared;

/* The subject of one test. */
typedef struct subject {
  const char *path, *op, *backend, *test;
  const check_options *options;
  shared *s;
} subject;

/* ---- reporting --------------------------------------------------------------------------------- */

static void fail(shared *s, fault_kind fault, const char *format, ...) G_GNUC_PRINTF(3, 4);
static void fail(shared *s, fault_kind fault, const char *format, ...) {
  va_list values;
  va_start(values, format);
  s->status = CHECK_FAILED, s->fault = fault;
  g_vsnprintf(s->text, sizeof s->text, format, values);
  va_end(values);
}

static void skip(shared *s, const char *why) {
  s->status = CHECK_SKIPPED;
  g_strlcpy(s->text, why, sizeof s->text);
}

/* ---- the file ------------------------------------------------------------------------------------ */

static unsigned float_state(void) {
#if defined(__SSE__)
  return __builtin_ia32_stmxcsr() & 0xffc0u; /* all but the flags of past exceptions */
#else
  return (unsigned)fegetround();
#endif
}

/* Opens a file's operators in this process. `apart`: with its symbols kept separate; not for tests of
 * allocations, which would not be seen. */
static const fc_plugin *open_plugin(const char *path, gboolean apart, GStrv *unfit, GError **error) {
  if (!fc_module_check_file(path, error) || !fc_module_check_sanitizer(path, error)) return NULL;
  void *module = fc_module_open(path, !apart, error);
  const fc_plugin *asked = module ? fc_module_ask(module, error) : NULL;
  return asked ? fc_descriptor_copy(asked, unfit, error) : NULL; /* it lives as long as this process */
}

static void list_operators(shared *s, const fc_plugin *plugin) {
  g_strlcpy(s->id, plugin->id, sizeof s->id);
  g_strlcpy(s->version, plugin->version, sizeof s->version);
  for (guint i = 0; i < plugin->n_operators && i < MOST_OPERATORS; i++) {
    const fc_operator *op = plugin->operators[i];
    struct listed *to = &s->operators[s->n_operators++];
    g_strlcpy(to->name, op->name, sizeof to->name);
    to->on_host = backend_of(op, FC_KIND_HOST) != NULL, to->on_cuda = backend_of(op, FC_KIND_CUDA) != NULL;
    to->fusible = op->extension && op->extension(op, FC_DEVICE_FUNCTION);
    to->linear = op->extension && op->extension(op, FC_LINEAR);
  }
}

static void test_load(const subject *t) {
  shared *s = t->s;
  g_auto(GStrv) unfit = NULL;
  g_autoptr(GError) error = NULL;
  struct sigaction before, after;
  const unsigned floats = float_state();
  sigaction(SIGINT, NULL, &before);
  const fc_plugin *plugin = open_plugin(t->path, TRUE, &unfit, &error);
  sigaction(SIGINT, NULL, &after);
  fflush(stdout);
  const gboolean printed = probes_output >= 0 && lseek(probes_output, 0, SEEK_END) > 0;
  if (!plugin) {
    fail(s, FAULT_LOAD, "%s", error->message);
    return;
  }
  list_operators(s, plugin);
  g_snprintf(s->text, sizeof s->text, "%s %s, %u operator%s", plugin->id, plugin->version,
             plugin->n_operators, plugin->n_operators == 1 ? "" : "s");
  if (float_state() != floats)
    fail(s, FAULT_LOAD,
         "loading it changes how the whole process rounds or treats denormal numbers; link without "
         "-ffast-math");
  else if (before.sa_handler != after.sa_handler)
    fail(s, FAULT_LOAD, "loading it changes what SIGINT does");
  else if (printed)
    fail(s, FAULT_PRINTS, "loading it, or its entry, prints");
  else if (unfit && unfit[0])
    fail(s, FAULT_TEXT, "%s", unfit[0]);
}

/* ---- an operator --------------------------------------------------------------------------------- */

static void test_descriptor(const subject *t, const fc_operator *op) {
  shared *s = t->s;
  guint n = 0;
  if (!op->summary[0]) fail(s, FAULT_TEXT, "it has no summary");
  if (g_str_has_suffix(op->summary, ".")) fail(s, FAULT_TEXT, "the summary ends with a full stop");
  if (!op->doc[0]) fail(s, FAULT_TEXT, "it has no doc");
  for (guint i = 0; i < op->n_params; i++)
    if (!op->params[i]->doc || !op->params[i]->doc[0])
      fail(s, FAULT_TEXT, "parameter \"%s\" has no doc", op->params[i]->name);
  for (; op->examples[n]; n++) {
    g_autoptr(GError) error = NULL;
    dice d = dice_of(t->options->harness.seed, op->name, n);
    g_autoptr(fc_stage_text) text = fc_stage_text_parse(op->examples[n], &error);
    g_autoptr(fc_args) args = text ? stage_args(op, op->examples[n], &d, &error) : NULL;
    if (!args)
      fail(s, FAULT_TEXT, "example \"%s\": %s", op->examples[n], error->message);
    else if (strcmp(text->name, op->name) != 0)
      fail(s, FAULT_TEXT, "example \"%s\" is of another operator", op->examples[n]);
  }
  if (n == 0) fail(s, FAULT_TEXT, "it has no example");
  if (s->status == CHECK_PASSED) g_snprintf(s->text, sizeof s->text, "%u example%s", n, n == 1 ? "" : "s");
}

/* ---- cases ---------------------------------------------------------------------------------------- */

typedef struct kind_of_test {
  const char *name;
  case_end (*run)(const test_case *c, char **sentence, verdict *v);
  guint cases; /* 0: as the options say, and every wish */
  gboolean on_host, on_cuda;
} kind_of_test;

/* In this order, which on a device is another: touching a page that is none leaves nothing of it. */
static const kind_of_test kinds[] = {
    {"halo", case_halo, 60, TRUE, FALSE},          {"calls", case_calls, 40, TRUE, TRUE},
    {"stream", case_stream, 8, FALSE, TRUE},       {"results", case_run, 0, TRUE, TRUE},
    {"function", case_function, 60, TRUE, FALSE},  {"linear", case_linear, 60, TRUE, FALSE},
    {"instances", case_instances, 40, TRUE, TRUE}, {"memory", case_memory, 12, TRUE, TRUE},
    {"halo", case_halo, 24, FALSE, TRUE},          {"engine", NULL, 0, TRUE, TRUE},
};

static void take_tally(shared *s, const harness_tally *tally) {
  if (tally->failures) {
    fail(s, tally->first.fault, "%s", tally->first.text);
    g_strlcpy(s->again, tally->again, sizeof s->again);
  }
}

static void run_cases(const subject *t, const fc_operator *op, const fc_backend *backend,
                      const test_device *device, const kind_of_test *kind) {
  const gboolean halves = kind->run == case_halo; /* first guarded after the block, then before it */
  harness_options options = t->options->harness;
  const guint64 exactly = options.seconds > 0 ? 0 : options.cases; /* 0: any number, within a time */
  guint64 ran = 0;
  options.run = kind->run, options.test = kind->name, options.current = t->s->current;
  options.few = kind->cases > 0;
  if (kind->cases && !exactly) {
    options.cases = MIN(options.cases ? options.cases : kind->cases, kind->cases) / (halves ? 2 : 1);
    options.seconds = options.seconds > 0 ? MIN(options.seconds, 2) : 2;
  }
  for (int half = 0; half <= halves && t->s->status == CHECK_PASSED; half++) {
    harness_tally tally;
    const test_device *on = halves ? device_guarded(device, half) : device;
    if (!on) {
      skip(t->s, "memory of the device cannot be guarded here");
      return;
    }
    if (exactly && halves) options.cases = (exactly + !half) / 2;
    if (exactly && !options.cases) break;
    harness_run(op, backend, on, &options, &tally);
    take_tally(t->s, &tally);
    ran += tally.ran;
    if (t->s->status == CHECK_PASSED && kind->cases == 0)
      g_snprintf(t->s->text, sizeof t->s->text,
                 "%" G_GUINT64_FORMAT " cases, %u of %u combinations of kind, types and layout", ran,
                 tally.covered, tally.combinations);
  }
  if (t->s->status == CHECK_PASSED && kind->cases)
    g_snprintf(t->s->text, sizeof t->s->text, "%" G_GUINT64_FORMAT " cases", ran);
}

static void run_engine(const subject *t, const fc_plugin *plugin, const fc_operator *op) {
  verdict v = {FAULT_NONE, ""};
  guint64 ran;
  if (op->flags & FC_OP_GENERATOR) {
    skip(t->s, "a generator takes no signal");
    return;
  }
  if (strcmp(t->backend, "cuda") == 0 && !fc_has_cuda()) {
    skip(t->s, "the library is built without CUDA");
    return;
  }
  if (!engine_run(t->path, plugin, op, t->backend, &t->options->harness, &ran, &v)) {
    fail(t->s, v.fault, "%s", v.text);
    g_snprintf(t->s->again, sizeof t->s->again,
               "--op %s --backend %s --test engine --seed %" G_GUINT64_FORMAT, op->name, t->backend,
               t->options->harness.seed);
  } else if (ran == 0) {
    skip(t->s, "every stage refused the signals it was given");
  } else {
    g_snprintf(t->s->text, sizeof t->s->text, "%" G_GUINT64_FORMAT " stages", ran);
  }
}

static void test_backend(const subject *t, const fc_plugin *plugin, const fc_operator *op) {
  const kind_of_test *kind = kinds;
  const gboolean cuda = strcmp(t->backend, "cuda") == 0;
  const char *reason = NULL;
  const test_device *device = cuda ? device_cuda(&reason) : device_cpu();
  while (strcmp(kind->name, t->test) != 0 || !(cuda ? kind->on_cuda : kind->on_host)) kind++;
  if (!device)
    skip(t->s, reason);
  else if (kind->run == case_memory && !watch_sees())
    skip(t->s, "allocations are not seen in this build");
  else if (kind->run == case_function && !function_compiler())
    skip(t->s, "there is no C++ compiler");
  else if (kind->run)
    run_cases(t, op, backend_of(op, cuda ? FC_KIND_CUDA : FC_KIND_HOST), device, kind);
  else
    run_engine(t, plugin, op);
}

static void run_test(const subject *t) {
  g_autoptr(GError) error = NULL;
  const fc_operator *op = NULL;
  if (!t->op) {
    test_load(t);
    return;
  }
  const fc_plugin *plugin = open_plugin(t->path, FALSE, NULL, &error);
  for (guint i = 0; plugin && i < plugin->n_operators; i++)
    if (strcmp(plugin->operators[i]->name, t->op) == 0) op = plugin->operators[i];
  if (!op)
    fail(t->s, FAULT_LOAD, "%s", error ? error->message : "the operator is gone");
  else if (!t->backend)
    test_descriptor(t, op);
  else
    test_backend(t, plugin, op);
}

/* ---- one process per test --------------------------------------------------------------------------- */

static shared *in_child;

static void on_crash(int number, siginfo_t *info, void *context) {
  char where[128];
  (void)context;
  if (device_guard_of(info->si_addr, where, sizeof where))
    fail(in_child, FAULT_HALO, "process %s", where);
  else
    fail(in_child, FAULT_CRASH, "crashed %s (signal %d, %s)", watch_doing(), number, strsignal(number));
  in_child->ended = TRUE;
  _exit(1);
}

static void guard_self(void) {
  static const int crashes[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT};
  static char stack[65536];
  const struct rlimit none = {0, 0};
  const stack_t other = {.ss_sp = stack, .ss_size = sizeof stack};
  struct sigaction on = {.sa_sigaction = on_crash, .sa_flags = SA_SIGINFO | SA_ONSTACK | SA_RESETHAND};
  sigset_t all;
  setpgid(0, 0);
  setrlimit(RLIMIT_CORE, &none);
  sigaltstack(&other, NULL);
  for (guint i = 0; i < G_N_ELEMENTS(crashes); i++) sigaction(crashes[i], &on, NULL);
  sigemptyset(&all);
  sigprocmask(SIG_SETMASK, &all, NULL);
}

/* Redirects the plugin's output to a file, which the tests of printing examine. */
static void redirect(void) {
  if (probes_output < 0) return;
  dup2(probes_output, STDOUT_FILENO);
  dup2(probes_output, STDERR_FILENO);
}

static void show_output(void) {
  char text[4096];
  lseek(probes_output, 0, SEEK_SET);
  for (ssize_t n; (n = read(probes_output, text, sizeof text)) > 0;) fwrite(text, 1, (size_t)n, stderr);
}

/* In this process, with our own output back in its place afterwards. */
static void run_here(const subject *t) {
  fflush(NULL);
  const int output = dup(STDOUT_FILENO), errors = dup(STDERR_FILENO);
  redirect();
  run_test(t);
  fflush(NULL);
  dup2(output, STDOUT_FILENO);
  dup2(errors, STDERR_FILENO);
  close(output);
  close(errors);
}

static void be_child(const subject *t) {
  in_child = t->s;
  guard_self();
  watch_share(&t->s->doing);
  redirect();
  run_test(t);
  t->s->ended = TRUE;
  fflush(stdout);
  _exit(0);
}

static void judge_end(const subject *t, int status, gboolean late) {
  shared *s = t->s;
  if (s->ended) return;
  const char *doing = watch_phase_name((watch_phase)s->doing);
  if (late)
    fail(s, FAULT_TIME, "did not return within %g s, %s", t->options->timeout, doing);
  else if (WIFSIGNALED(status))
    fail(s, FAULT_CRASH, "was killed %s (signal %d, %s)", doing, WTERMSIG(status),
         strsignal(WTERMSIG(status)));
  else
    fail(s, FAULT_EXIT, "ended the process %s (exit status %d)", doing, WEXITSTATUS(status));
}

/* SIGCHLD is blocked, and waited for. */
static void run_apart(const subject *t) {
  sigset_t children;
  int status = 0;
  sigemptyset(&children);
  sigaddset(&children, SIGCHLD);
  sigprocmask(SIG_BLOCK, &children, NULL);
  fflush(NULL);
  const pid_t pid = fork();
  if (pid == 0) be_child(t);
  if (pid < 0) {
    fail(t->s, FAULT_CRASH, "no process can be started: %s", g_strerror(errno));
    return;
  }
  const gint64 end = g_get_monotonic_time() + (gint64)(t->options->timeout * 1e6);
  pid_t done = 0;
  while ((done = waitpid(pid, &status, WNOHANG)) == 0) {
    const gint64 left = end - g_get_monotonic_time();
    if (left <= 0) break;
    const struct timespec wait = {left / G_USEC_PER_SEC, left % G_USEC_PER_SEC * 1000};
    sigtimedwait(&children, NULL, &wait);
  }
  kill(-pid, SIGKILL); /* including processes that it started */
  if (done == 0) {
    kill(pid, SIGKILL);
    waitpid(pid, &status, 0);
  }
  judge_end(t, status, done == 0);
  if (t->s->status == CHECK_FAILED && !t->s->again[0])
    g_strlcpy(t->s->again, t->s->current, sizeof t->s->again);
}

/* ---- in order ----------------------------------------------------------------------------------------- */

typedef struct walk {
  const char *path;
  const check_options *options;
  check_report report;
  void *data;
  shared *s;
  GPtrArray *exclusions;
} walk;

static gboolean is_wanted(const char *only, const char *name) {
  return !only || strcmp(only, "all") == 0 || strcmp(only, name) == 0;
}

/* TRUE: continue with the tests that depend on it. */
static gboolean tell(walk *w, const char *op, const char *backend, const char *test) {
  shared *s = w->s;
  check_outcome o = {w->path, op, backend, test, s->status, s->fault, s->text, s->again};
  const char *reason = s->status == CHECK_FAILED
                           ? exclusions_find(w->exclusions, op, backend, test, fault_name(s->fault))
                           : NULL;
  if (reason) o.status = CHECK_EXCLUDED, o.text = reason;
  w->report(&o, w->data);
  return o.status != CHECK_FAILED || w->options->keep_going;
}

static void run_test_of(walk *w, const char *op, const char *backend, const char *test) {
  const subject t = {w->path, op, backend, test, w->options, w->s};
  memset(w->s, 0, G_STRUCT_OFFSET(shared, id));
  w->s->status = CHECK_PASSED;
  probes_output = memfd_create("output", MFD_CLOEXEC);
  if (w->options->in_process)
    run_here(&t);
  else
    run_apart(&t);
  if (w->options->in_process || w->options->harness.verbose) show_output();
  close(probes_output);
}

static gboolean run_one(walk *w, const char *op, const char *backend, const char *test) {
  run_test_of(w, op, backend, test);
  return tell(w, op, backend, test);
}

static void skip_one(walk *w, const char *op, const char *backend, const char *test, const char *after) {
  memset(w->s, 0, G_STRUCT_OFFSET(shared, id));
  skip(w->s, after);
  tell(w, op, backend, test);
}

/* Tests are ordered so that the first failure is the most informative. */
static void check_backend(walk *w, const struct listed *op, const char *backend) {
  const gboolean cuda = strcmp(backend, "cuda") == 0;
  g_autofree char *after = NULL;
  if (!is_wanted(w->options->backend, backend)) return;
  for (guint i = 0; i < G_N_ELEMENTS(kinds); i++) {
    const kind_of_test *k = &kinds[i];
    if (!(cuda ? k->on_cuda : k->on_host) || !is_wanted(w->options->test, k->name)) continue;
    if ((k->run == case_function && !op->fusible) || (k->run == case_linear && !op->linear)) continue;
    if (after)
      skip_one(w, op->name, backend, k->name, after);
    else if (!run_one(w, op->name, backend, k->name))
      after = g_strdup_printf("%s failed first; --keep-going runs it all the same", k->name);
  }
}

static gboolean check_operators(walk *w) {
  gboolean met = FALSE;
  struct listed *list = g_memdup2(w->s->operators, sizeof w->s->operators);
  const guint n = w->s->n_operators;
  for (guint i = 0; i < n; i++) {
    if (!is_wanted(w->options->op, list[i].name)) continue;
    met = TRUE;
    if (is_wanted(w->options->test, "descriptor") && is_wanted(w->options->backend, "cpu"))
      run_one(w, list[i].name, NULL, "descriptor");
    if (list[i].on_host) check_backend(w, &list[i], "cpu");
    if (list[i].on_cuda) check_backend(w, &list[i], "cuda");
  }
  g_free(list);
  return met;
}

/* What an exclusion may name: an operator of the file, or a test or item. */
static gboolean names_an_operator(const char *name, const void *data) {
  const shared *s = data;
  for (guint i = 0; i < s->n_operators; i++)
    if (strcmp(s->operators[i].name, name) == 0) return TRUE;
  return FALSE;
}

gboolean check_is_test(const char *name) {
  const check_test *t = check_tests;
  while (t->name && strcmp(t->name, name) != 0) t++;
  return t->name != NULL;
}

gboolean check_file(const char *path, const check_options *options, check_report report, void *data) {
  g_autoptr(GError) error = NULL;
  gboolean met = FALSE;
  walk w = {path, options, report, data, NULL, exclusions_read(path, &error)};
  w.s = mmap(NULL, sizeof *w.s, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (w.s == MAP_FAILED) g_error("no memory to share");
  if (!w.exclusions) {
    w.exclusions = g_ptr_array_new();
    fail(w.s, FAULT_TEXT, "%s", error->message);
    tell(&w, NULL, NULL, "load");
  } else {
    run_test_of(&w, NULL, NULL, "load");
    if (w.s->status == CHECK_PASSED &&
        !exclusions_fit(w.exclusions, names_an_operator, w.s, check_is_test, &error))
      fail(w.s, FAULT_TEXT, "%s", error->message);
    tell(&w, NULL, NULL, "load");
    met = check_operators(&w);
  }
  g_ptr_array_unref(w.exclusions);
  munmap(w.s, sizeof *w.s);
  return met;
}
