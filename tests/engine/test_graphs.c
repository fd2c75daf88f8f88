/* SPDX-License-Identifier: MIT */
/*
 * test_graphs.c - the property test of the engine: random graphs of random operators, drawn from the
 * descriptors of our own operators and of synthetic ones (synthetic.h), make the same bits in every way they
 * can be run (ways.h). First each of our operators alone, with its examples and every border, then random
 * chains.
 *
 *     test_graphs [--device cpu|cuda|fake] [--seed N] [--graphs N] [--first I] [--part I/N] [--seconds S]
 * [--no-examples] [-v] test_graphs --signal audio,f32,1x1x500x2 [--wanted u8] [--precision f64] [--seed N] -p
 * STAGE [-p STAGE]...
 *
 * What fails is made smaller, and printed as a command line of the second form.
 */
#include "core/base/buffer.h"
#include "core/context/context.h" /* first: its parameters have names that are types below */
#include "tests/device/fake_device.h"

#include <glib/gstdio.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "tests/engine/synthetic.h"
#include "tests/engine/ways.h"

#define SKIP          77
#define MOST_STAGES   6
#define MOST_FAILURES 5
#define PATIENCE      600 /* seconds for a graph */

typedef struct settings {
  char *device, *seed_text, *part_text, *signal, *wanted, *precision;
  char **stages;
  int graphs, first, seconds, part, parts;
  gboolean verbose, no_examples;
  guint64 seed;
} settings;

typedef struct test {
  settings s;
  deck from;
  ways w;
  tally count;
  gint64 deadline; /* microseconds; 0: none */
  guint failed;
  GHashTable *seen; /* operators that ran */
} test;

/* ---- what is being done, for whoever must report its end ----------------------------------------- */

static char current[8192];

static void say(const char *text) {
  if (write(STDOUT_FILENO, text, strlen(text)) < 0) return;
}

static void on_signal(int number) {
  say(number == SIGALRM ? "FAILED: it did not end: test_graphs " : "FAILED: it crashed: test_graphs ");
  say(current);
  say("\n");
  signal(number, SIG_DFL);
  raise(number == SIGALRM ? SIGABRT : number);
}

/* Called by AddressSanitizer before it ends the program. */
void __asan_on_error(void);
void __asan_on_error(void) {
  say("FAILED: test_graphs ");
  say(current);
  say("\n");
}

/* ---- the engine's buffers ------------------------------------------------------------------------ */

/* The linker sends all calls through this (--wrap): blocks of memory are larger than what was asked for, so
 * that a range beyond the planned capacity may well do no harm that a sanitizer would see. A caller's memory
 * has no capacity of ours. */
void __real_fc_buffer_hold(fc_buffer *b, const fc_range held[FC_AXES], gint64 aligned);
void __wrap_fc_buffer_hold(fc_buffer *b, const fc_range held[FC_AXES], gint64 aligned);

void __wrap_fc_buffer_hold(fc_buffer *b, const fc_range held[FC_AXES], gint64 aligned) {
  for (int a = 0; a < FC_AXES && b->bytes && fc_ranges_count(held); a++)
    if (fc_range_length(held[a]) > b->capacity[a])
      g_error("%" G_GINT64_FORMAT " elements on axis %c of a buffer for %" G_GINT64_FORMAT,
              fc_range_length(held[a]), "NYXC"[a], b -> capacity[a]);
  __real_fc_buffer_hold(b, held, aligned);
}

/* ---- one graph ---------------------------------------------------------------------------------------- */

typedef struct search {
  test *t;
  const char *fault; /* what is to be found again */
} search;

/* Whether it fails in the same way: what it says begins alike. */
static gboolean fails(const graph *g, void *data) {
  const search *s = data;
  g_autofree char *fault = NULL;
  alarm(PATIENCE);
  return !ways_try(&s->t->w, g, &fault) && strncmp(fault, s->fault, strcspn(s->fault, ",:")) == 0;
}

static void report(test *t, const graph *g, const char *fault) {
  g_autofree char *text = graph_text(g), *smaller_fault = NULL;
  printf("FAILED %s: test_graphs --device %s %s\n", fault, t->s.device, text);
  fflush(stdout);
  search s = {t, fault};
  graph *small = graph_shrink(g, fails, &s);
  g_autofree char *smaller = graph_text(small);
  ways_try(&t->w, small, &smaller_fault);
  printf("    smaller: %s: test_graphs --device %s %s\n", smaller_fault ? smaller_fault : "?", t->s.device,
         smaller);
  fflush(stdout);
  graph_free(small);
  t->failed++;
}

static void try_graph(test *t, const graph *g) {
  g_autofree char *text = graph_text(g), *fault = NULL;
  const guint64 refused = t->count.refused;
  g_strlcpy(current, text, sizeof current);
  if (t->s.verbose) printf("%s\n", text), fflush(stdout);
  alarm(PATIENCE);
  if (!ways_try(&t->w, g, &fault)) report(t, g, fault);
  alarm(0);
  for (char **s = g->stages; *s && t->count.refused == refused; s++) {
    char *name = g_strndup(*s, strcspn(*s, ":"));
    if (!g_hash_table_add(t->seen, name)) continue;
  }
}

static gboolean goes_on(const test *t) {
  return t->failed < MOST_FAILURES && (!t->deadline || g_get_monotonic_time() < t->deadline);
}

/* ---- each operator alone ---------------------------------------------- */

static fc_format signal_of(const char *text) {
  fc_format f;
  if (!format_parse(text, &f)) g_error("%s is not a format", text);
  return f;
}

/* Lengths of nothing to some thousand; of floats and integers in turn. Under a tool that makes it slow fewer.
 */
static void try_alone(test *t, const char *stage, guint i, int kind, gboolean few) {
  static const char *const sounds[] = {"audio,f32,1x1x1x2", "audio,i16,1x1x300x1",  "audio,f32,1x1x0x1",
                                       "audio,u8,1x1x7x3",  "audio,f32,1x1x4096x2", "audio,i32,1x1x5003x1"},
                           *const pictures[] = {"image,u8,1x33x61x3", "image,f32,3x20x31x1",
                                                "image,u16,0x9x9x4",  "array,f64,2x17x40x2",
                                                "image,u8,7x5x3x4",   "array,i16,1x1x50x1"};
  const guint n = few ? 1 : 3;
  for (guint k = 0; k < n && goes_on(t); k++) {
    const guint which = (i + k * 2 + (k == 2)) % 6;
    const fc_format in = signal_of(kind == FC_AUDIO ? sounds[which] : pictures[which]);
    graph *g = graph_of(stage, &in, t->s.seed + i);
    try_graph(t, g);
    graph_free(g);
  }
}

/* Chains whose stages get in each other's way: what is measured, or goes on from state, behind crops, mirrors
 * and other rates; halos across channels; what must have been made before. */
#define CROP "scan:before=-20:after=20:lengthen=-9"
static const char *const known[][6] = {
    {NULL},
    {"scan:before=70:after=3:border=reflect", NULL},
    {"scan:before=2:after=200:border=reflect101", NULL},
    {"scan:before=300:after=300:border=wrap", NULL},
    {"scan:before=8:lengthen=8", "scan:after=8:lengthen=-8", NULL},
    {"trim:20:to=40", "scan:before=8:lengthen=8", "scan:num=3", "scan:den=4", NULL},
    {"scan:before=5:after=1:align=16:border=reflect", "scan:before=1:after=5:align=10:border=replicate",
     NULL},
    {"tally", "scan:axis=c:before=1:after=1:border=replicate", NULL},
    {"scan:axis=c:before=1:after=1", "scan:before=4:after=3:border=reflect", "scan:axis=c:before=1:after=1",
     NULL},
    {"turn:axis=c", "tally", "turn:axis=c", NULL},
    {CROP, "tally:align=32", NULL},
    {"tally:align=32", CROP, NULL},
    {"tally", CROP, "tally", "scan:before=-7:after=7:lengthen=-9", "tally", NULL},
    {"scan:before=3:after=40:border=reflect101", "tally:align=32", "scan:before=60", "tally", NULL},
    {"tally", "scan:num=7", "tally:align=40", "scan:before=2:after=2:border=wrap", NULL},
    {"carry", "carry:after=3", "carry", NULL},
    {"scan:before=5:after=9:border=reflect", "carry", "scan:before=30:after=2:border=reflect101", NULL},
    {"carry", CROP, "scan:before=3:after=3:border=replicate", NULL},
    {"carry", "tally", CROP, "carry", "tally", NULL},
    {"scan:num=3", "carry", "scan:den=2", "scan:before=2:after=7", NULL},
    {"carry", "scan:before=2:after=2:border=wrap", NULL},
    {"join:other:before=5:after=2:border=replicate", "carry", "join:other:third=third", NULL},
    {"make:length=300", "join:'audio,f32,1x1x501x1':before=5:border=reflect", "tally", "carry", NULL},
    {"make:length=64", "join:'audio,i16,1x1x30x1':all=yes", "carry", CROP, NULL},
    {"scan:axis=n:before=1:after=1:border=replicate", "carry:after=2:border=reflect", "turn:axis=n", NULL},
    {"turn:to=image", "tally", "scan:axis=y:before=-1:after=1:lengthen=-1", NULL},
    {"turn:to=audio", "carry", "tally", CROP, NULL},
    {"stft:64:hop=16", "istft:64:hop=16", NULL},
    {"scan:before=-20:after=20:border=replicate", NULL},
    {"tally:align=1", "frames:hop=20:size=7", NULL},
    {"tally", "tally", "scan:den=3:align=2:border=reflect", NULL},
    {"join:other", "pad:multiple=16x8:border=reflect101", NULL},
    {"turn:to=array", "carry", "crop:3", NULL},
    {"mel:frame=1:border=reflect", NULL},
    {"delay:0,12", "mel:8:frame=32:hop=8:rate=16000", NULL},
    {"conv1d:[1,2,1]/4:border=reflect", "delay:40,3", "carry:after=2", "delay:1", NULL},
    {"waveform", "join:other", NULL},
    {"scan:axis=c:num=3", "join:'audio,i16,1x1x64x5':across=1", NULL},
    {"scan:axis=c:num=3", "join:'image,u8,7x12x19x4':across=1:border=replicate", NULL},
    {"join:other:across=2:before=3:border=reflect", "carry", NULL},
    {"biquad:lowpass:freq=1kHz", "stft:32:hop=8", "gain:0.5", "istft:32:hop=8", "limiter:0.5", NULL},
};

static void try_known(test *t, gboolean few) {
  static const char *const signals[] = {"audio,f32,1x1x501x2", "audio,i16,1x1x64x1",  "audio,f64,1x1x2x3",
                                        "image,u8,7x12x19x3",  "array,f32,1x30x11x1", "audio,f32,1x1x0x1",
                                        "image,u16,5x3x40x2",  "audio,u8,1x1x7x2"};
  for (guint i = 0; i < G_N_ELEMENTS(known); i++)
    for (guint k = 0; k < G_N_ELEMENTS(signals) / (few ? 4 : 1) && goes_on(t); k++) {
      const fc_format in = signal_of(signals[k]);
      graph *g = graph_of("", &in, t->s.seed + k);
      g_strfreev(g->stages);
      g->stages = g_strdupv((char **)known[i]);
      g->precision = k % 2 ? FC_F32 : FC_F64;
      try_graph(t, g);
      graph_free(g);
    }
}

static void try_examples(test *t, gboolean few) {
  for (int kind = FC_AUDIO; kind <= FC_IMAGE; kind++) {
    const fc_format typical = signal_of(kind == FC_AUDIO ? "audio,f32,1x1x1024x2" : "image,u8,5x16x24x3");
    g_autoptr(GPtrArray) stages = graph_examples(&t->from, &typical);
    for (guint i = (guint)t->s.part; i < stages->len && goes_on(t); i += (guint)t->s.parts)
      try_alone(t, g_ptr_array_index(stages, i), i, kind, few);
  }
}

/* Each of our own operators has run. */
static void check_all_seen(test *t) {
  for (int k = 0; k < 3; k++) {
    const fc_operator **ops = k == 0 ? t->from.ops : k == 1 ? t->from.synthetic : t->from.generators;
    for (; *ops; ops++)
      if (!g_hash_table_contains(t->seen, (*ops)->name)) {
        printf("FAILED: %s never ran\n", (*ops)->name);
        t->failed++;
      }
  }
}

/* ---- all ------------------------------------------------------------------------------------------ */

static int index_of_dtype(const char *name) {
  for (int i = 0; i < FC_DTYPE_COUNT; i++)
    if (g_strcmp0(name, fc_dtype_name(i)) == 0) return i;
  return -1;
}

static void try_given(test *t) {
  const fc_format in = signal_of(t->s.signal ? t->s.signal : "audio,f32,1x1x500x2");
  graph *g = graph_of("", &in, t->s.seed);
  g_strfreev(g->stages);
  g->stages = g_strdupv(t->s.stages);
  g->wanted = index_of_dtype(t->s.wanted);
  if (t->s.precision) g->precision = index_of_dtype(t->s.precision);
  try_graph(t, g);
  if (t->count.refused) printf("it is refused\n");
  graph_free(g);
}

static void try_random(test *t) {
  for (int i = t->s.first; i < t->s.first + t->s.graphs && goes_on(t); i++) {
    dice d = dice_of(t->s.seed, "graphs", (guint64)i * (guint64)t->s.parts + (guint64)t->s.part);
    graph *g = graph_random(&t->from, MOST_STAGES, dice_bits(&d));
    if (g) try_graph(t, g);
    graph_free(g);
  }
}

static gboolean read_settings(settings *s, int *argc, char ***argv) {
  const GOptionEntry entries[] = {
      {"device", 0, 0, G_OPTION_ARG_STRING, &s->device, "cpu (the default), cuda, or fake: a simulated one",
       "NAME"},
      {"seed", 0, 0, G_OPTION_ARG_STRING, &s->seed_text, "Repeat the run of this seed", "N"},
      {"graphs", 0, 0, G_OPTION_ARG_INT, &s->graphs, "Random graphs", "N"},
      {"first", 0, 0, G_OPTION_ARG_INT, &s->first, "Begin with that one", "I"},
      {"part", 0, 0, G_OPTION_ARG_STRING, &s->part_text, "The I-th of N parts, from 0", "I/N"},
      {"seconds", 0, 0, G_OPTION_ARG_INT, &s->seconds, "As many graphs as there is time for", "S"},
      {"no-examples", 0, 0, G_OPTION_ARG_NONE, &s->no_examples, "Random graphs only", NULL},
      {"signal", 0, 0, G_OPTION_ARG_STRING, &s->signal, "Kind, element type, N Y X C", "FORMAT"},
      {"wanted", 0, 0, G_OPTION_ARG_STRING, &s->wanted, "Element type to be delivered", "TYPE"},
      {"precision", 0, 0, G_OPTION_ARG_STRING, &s->precision, "f32 or f64", "TYPE"},
      {"stage", 'p', 0, G_OPTION_ARG_STRING_ARRAY, &s->stages, "A stage; may be given again", "STAGE"},
      {"verbose", 'v', 0, G_OPTION_ARG_NONE, &s->verbose, "Print every graph", NULL},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  g_autoptr(GError) error = NULL;
  GOptionContext *context = g_option_context_new(NULL);
  g_option_context_add_main_entries(context, entries, NULL);
  gboolean ok = g_option_context_parse(context, argc, argv, &error);
  g_option_context_free(context);
  if (!ok) fprintf(stderr, "test_graphs: %s\n", error->message);
  if (s->part_text &&
      (sscanf(s->part_text, "%d/%d", &s->part, &s->parts) != 2 || s->part < 0 || s->part >= s->parts)) {
    fprintf(stderr, "test_graphs: --part %s: not I/N with I less than N\n", s->part_text);
    ok = FALSE;
  }
  if (!s->device) s->device = g_strdup("cpu");
  if (s->seconds) s->graphs = G_MAXINT / 2;
  s->seed = s->seed_text ? g_ascii_strtoull(s->seed_text, NULL, 0) : (guint64)g_get_real_time();
  return ok;
}

/* Random chains clip, and chunks are short: that is said, and of no interest here. */
static void ignore(fc_log_level level, const char *message, void *data) {
  (void)level, (void)message, (void)data;
}

/* Why nothing can run on the device, or NULL. */
static char *no_device(fc_context *context, const char *device) {
  float sample[2] = {0, 0};
  const char *const nothing[] = {"gain:1", NULL};
  const fc_format f = signal_of("audio,f32,1x1x1x1");
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_chain) chain = fc_chain_parse(context, nothing, &error);
  fc_options options = FC_OPTIONS_INIT;
  options.device = device;
  fc_view in = dense_view(&f, &sample[0]), out = dense_view(&f, &sample[1]);
  if (!chain || fc_chain_run_host(chain, &in, &out, &options, NULL, &error)) return NULL;
  return error->code == FC_DEVICE ? g_strdup(error->message) : NULL;
}

/* The operators of this build and its helpers; the test lies in a folder of its own. */
static fc_context *new_context(void) {
  fc_context *context = fc_context_new();
  fc_registry_set_home(context->registry, TEST_PLUGINS, "/nonexistent");
  context->media->stop(context, context->media_kept); /* its program is found from there too */
  context->media_kept = context->media->start(context);
  fc_context_set_log(context, ignore, NULL);
  return context;
}

static int run(test *t) {
  const gboolean few = g_strcmp0(g_getenv("FILTERCHAIN_TRIALS"), "few") == 0;
  printf("--device %s --part %d/%d --seed %" G_GUINT64_FORMAT "\n", t->s.device, t->s.part, t->s.parts,
         t->s.seed);
  if (few && !t->s.seconds) t->s.graphs /= 6;
  if (t->s.seconds) t->deadline = g_get_monotonic_time() + t->s.seconds * G_TIME_SPAN_SECOND;
  if (t->s.stages) {
    try_given(t);
  } else {
    if (!t->s.no_examples) try_known(t, few), try_examples(t, few);
    try_random(t);
    if (!few && !t->s.seconds && !t->s.no_examples && t->s.parts == 1) check_all_seen(t);
  }
  const tally *c = &t->count;
  printf("%" G_GUINT64_FORMAT " graphs, %" G_GUINT64_FORMAT " refused; %" G_GUINT64_FORMAT
         " operator after operator, runs in memory %" G_GUINT64_FORMAT ", in sessions %" G_GUINT64_FORMAT
         " (%" G_GUINT64_FORMAT " have none), of files %" G_GUINT64_FORMAT ", of pipes %" G_GUINT64_FORMAT
         "; %u failed\n",
         c->graphs, c->refused, c->alone, c->memory, c->sessions, c->no_sessions, c->files, c->pipes,
         t->failed);
  return t->failed || (!t->s.stages && c->memory < 20);
}

int main(int argc, char **argv) {
  test t = {.s = {.graphs = 500, .parts = 1}};
  if (!read_settings(&t.s, &argc, &argv)) return 2;
  g_autofree char *folder = g_dir_make_tmp("graphs-XXXXXX", NULL);
  fc_context *context = new_context();
  signal(SIGPIPE, SIG_IGN);
  signal(SIGALRM, on_signal);
  signal(SIGABRT, on_signal);
  signal(SIGTRAP, on_signal); /* of g_error */
  signal(SIGSEGV, on_signal);
  g_autoptr(GError) error = NULL;
  if (!fc_context_add_plugin(context, &synthetic_plugin, &error)) g_error("%s", error->message);
  const gboolean fake = strcmp(t.s.device, "fake") == 0, gpu = !fake && strcmp(t.s.device, "cpu") != 0;
  const fake_faults small = {.limit = (gsize)2 << 30};
  if (fake) context->driver = &fake_driver, fake_device_set(&small);
  g_autofree char *reason = gpu ? no_device(context, t.s.device) : NULL;
  int status = SKIP;
  if (reason) {
    printf("skipped: %s\n", reason);
  } else {
    t.from = deck_of(context);
    t.w = (ways){.context = context,
                 .device = fake ? "cuda" : t.s.device,
                 .fake = fake,
                 .folder = folder,
                 .memory = 4,
                 .count = &t.count};
    t.seen = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, NULL);
    status = run(&t);
    g_hash_table_unref(t.seen);
    deck_clear(&t.from);
  }
  fc_context_free(context);
  GDir *dir = g_dir_open(folder, 0, NULL);
  for (const char *name; dir && (name = g_dir_read_name(dir));) {
    g_autofree char *path = g_build_filename(folder, name, NULL);
    g_unlink(path);
  }
  if (dir) g_dir_close(dir);
  g_rmdir(folder);
  g_strfreev(t.s.stages);
  char *const texts[] = {t.s.device, t.s.seed_text, t.s.part_text, t.s.signal, t.s.wanted, t.s.precision};
  for (guint i = 0; i < G_N_ELEMENTS(texts); i++) g_free(texts[i]);
  return status;
}
