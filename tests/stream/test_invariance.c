/* SPDX-License-Identifier: MIT */
/*
 * test_invariance.c - the result of a chain is the same to the bit however it is cut and
 * by however many threads it is made: chunks of 1, 7, 4096 and everything at once, with one
 * thread and with four, for signals of no sample to a hundred thousand. Chains are each
 * operator alone with its examples and every border, and random ones. Measurements too.
 *
 *     test_invariance [--device cpu|cuda] [--part I/N] [--seed N] [--random N] [-v]
 *
 * Of N parts, which may run side by side, each has its share of the examples and random chains of its own.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/stream/chains.h"

#define SKIP   77
#define ALL    (G_MAXINT64 / 8) /* a chunk of everything */
#define MARGIN 64               /* bytes of a pattern around an output */

typedef struct settings {
  char *device, *part_text, *seed_text;
  guint part, parts, random;
  gboolean verbose;
} settings;

typedef struct tally {
  guint chains, runs, refused, failed;
} tally;

typedef struct outcome {
  unsigned char *codes; /* with margins */
  gsize bytes;
  fc_result *result;
} outcome;

typedef struct test {
  const settings *s;
  fc_context *context;
  tally *tally;
  fc_format in, out;
  fc_view view; /* of the input */
  unsigned char *input;
  fc_chain *chain;
  char *text;
} test;

/* ---- signals ---------------------------------------------------------------------- */

static gint64 count_of(const fc_format *f) {
  return f->extent[0] * f->extent[1] * f->extent[2] * f->extent[3];
}

/* Interleaved and dense, or planar and dense, as the format says. */
static fc_view view_of(const fc_format *f, void *data) {
  static const int orders[2][FC_AXES] = {{FC_AXIS_C, FC_AXIS_X, FC_AXIS_Y, FC_AXIS_N},
                                         {FC_AXIS_X, FC_AXIS_Y, FC_AXIS_C, FC_AXIS_N}};
  fc_view v = {.size = sizeof v, .dtype = f->dtype, .kind = f->kind, .device = FC_HOST, .data = data};
  gint64 stride = (gint64)fc_dtype_size(f->dtype);
  for (int i = 0; i < FC_AXES; i++) {
    int axis = orders[f->layout == FC_PLANAR][i];
    v.shape[axis] = v.extent[axis] = f->extent[axis];
    v.stride[axis] = stride;
    stride *= MAX(f->extent[axis], 1);
  }
  return v;
}

static void fill(void *data, const fc_format *f, dice *d) {
  for (gint64 i = 0; i < count_of(f); i++) switch (f->dtype) {
    case FC_U8: ((guint8 *)data)[i] = (guint8)dice_int(d, 0, 255); break;
    case FC_I16: ((gint16 *)data)[i] = (gint16)dice_int(d, -32768, 32767); break;
    default: ((float *)data)[i] = (float)dice_real(d, -1, 1); break;
    }
}

static void fill_u16(void *data, gint64 count, dice *d) {
  for (gint64 i = 0; i < count; i++) ((guint16 *)data)[i] = (guint16)dice_int(d, 0, 65535);
}

/* ---- running ---------------------------------------------------------------------- */

static gboolean run(test *t, gint64 chunk, int threads, outcome *o, GError **error) {
  fc_options options = FC_OPTIONS_INIT;
  options.device = t->s->device, options.chunk = chunk, options.threads = threads;
  o->bytes = (gsize)count_of(&t->out) * fc_dtype_size(t->out.dtype);
  o->codes = g_malloc(o->bytes + 2 * MARGIN);
  o->result = NULL;
  memset(o->codes, chunk % 2 ? 0x5a : 0xff, o->bytes + 2 * MARGIN);
  fc_view out = view_of(&t->out, o->codes + MARGIN);
  t->tally->runs++;
  return fc_chain_run_host(t->chain, &t->view, &out, &options, &o->result, error);
}

static void outcome_clear(outcome *o) {
  g_free(o->codes);
  fc_result_free(o->result);
}

static gboolean fails(test *t, const char *how, const char *what) {
  const gint64 *e = t->in.extent;
  t->tally->failed++;
  printf("FAILED %s on %s, %s %s %" G_GINT64_FORMAT "x%" G_GINT64_FORMAT "x%" G_GINT64_FORMAT
         "x%" G_GINT64_FORMAT " (N Y X C), %s: %s\n",
         t->text, t->s->device, t->in.kind == FC_AUDIO ? "audio" : "image", fc_dtype_name(t->in.dtype), e[0],
         e[1], e[2], e[3], how, what);
  fflush(stdout);
  return FALSE;
}

static gboolean same_measurements(const fc_result *a, const fc_result *b) {
  if (a->n_measured != b->n_measured) return FALSE;
  for (gsize i = 0; i < a->n_measured; i++) {
    const fc_measured *x = a->measured[i], *y = b->measured[i];
    if (strcmp(x->name, y->name) || x->channel != y->channel ||
        memcmp(&x->value, &y->value, sizeof x->value) || g_strcmp0(x->exact, y->exact))
      return FALSE;
  }
  return TRUE;
}

static gsize first_difference(const outcome *a, const outcome *b) {
  gsize i = 0;
  while (a->codes[MARGIN + i] == b->codes[MARGIN + i]) i++;
  return i;
}

static gboolean margins_intact(const outcome *o, gint64 chunk) {
  for (gsize i = 0; i < MARGIN; i++)
    if (o->codes[i] != (chunk % 2 ? 0x5a : 0xff) || o->codes[MARGIN + o->bytes + i] != o->codes[i])
      return FALSE;
  return TRUE;
}

/* One way of cutting against the whole by one thread. */
static gboolean compare(test *t, const outcome *whole, gint64 chunk, int threads) {
  outcome o;
  g_autoptr(GError) error = NULL;
  char how[80];
  g_snprintf(how, sizeof how, "chunk %" G_GINT64_FORMAT ", %d threads", chunk == ALL ? 0 : chunk, threads);
  gboolean ok = run(t, chunk, threads, &o, &error);
  if (!ok) {
    fails(t, how, error->message);
  } else if (!margins_intact(&o, chunk)) {
    ok = fails(t, how, "wrote beyond the output");
  } else if (memcmp(o.codes + MARGIN, whole->codes + MARGIN, o.bytes) != 0) {
    gsize size = fc_dtype_size(t->out.dtype), at = first_difference(&o, whole) / size;
    g_autofree char *where = g_strdup_printf(
        "element %" G_GSIZE_FORMAT " of %" G_GSIZE_FORMAT " differs from the whole", at, o.bytes / size);
    ok = fails(t, how, where);
  } else if (!same_measurements(o.result, whole->result)) {
    ok = fails(t, how, "other measurements than of the whole");
  }
  outcome_clear(&o);
  return ok;
}

/* As under valgrind and compute-sanitizer: no long signals, and on a GPU one in eight of the examples, a few
 * dozen chunks each at most, by four threads. */
static gboolean is_brief(void) {
  return g_strcmp0(g_getenv("FILTERCHAIN_TRIALS"), "few") == 0;
}

static gboolean on_gpu(const settings *s) {
  return strcmp(s->device, "cpu") != 0;
}

/* ---- one chain on one signal -------------------------------------------------------- */

/* Small chunks of long signals would take long and show nothing new; on a GPU each takes longest. */
static gint64 longest_for(gint64 chunk, gboolean gpu) {
  return chunk >= 100 ? G_MAXINT64 : chunk == 1 && gpu ? 500 : 5000;
}

static gboolean all_cuts(test *t) {
  static const gint64 chunks[] = {1, 7, 4096, ALL};
  outcome whole;
  g_autoptr(GError) error = NULL;
  gint64 length = t->in.extent[t->in.kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_N];
  const gboolean brief = on_gpu(t->s) && is_brief();
  const gint64 more = brief ? length / 24 : 0;
  gboolean ok = run(t, ALL, 1, &whole, &error);
  if (!ok) fails(t, "whole", error->message);
  for (guint i = 0; ok && i < G_N_ELEMENTS(chunks); i++)
    for (int threads = brief ? 4 : 1; ok && threads <= 4; threads += 3) {
      const gint64 chunk = chunks[i] + (chunks[i] < 100 ? more : 0);
      if (length > longest_for(chunk, on_gpu(t->s)) || (chunk == ALL && threads == 1)) continue;
      ok = compare(t, &whole, chunk, threads);
    }
  outcome_clear(&whole);
  return ok;
}

static void try_signal(test *t, const char *const *stages, const fc_format *in, dice *d) {
  g_autoptr(GError) error = NULL;
  t->in = *in;
  t->chain = fc_chain_parse(t->context, stages, &error);
  memset(&t->out, 0, sizeof t->out);
  t->out.size = sizeof t->out, t->out.dtype = -1;
  fc_options options = FC_OPTIONS_INIT;
  if (t->chain && fc_chain_output_format(t->chain, in, &options, &t->out, &error)) {
    t->input = g_malloc((gsize)count_of(in) * fc_dtype_size(in->dtype) + 1);
    if (in->dtype == FC_U16)
      fill_u16(t->input, count_of(in), d);
    else
      fill(t->input, in, d);
    t->view = view_of(in, t->input);
    all_cuts(t);
    g_free(t->input);
  } else {
    t->tally->refused++;
    if (t->s->verbose) printf("refused: %s\n", error->message);
  }
  fc_chain_free(t->chain);
}

static fc_format format_of(int kind, int dtype, gint64 n, gint64 y, gint64 x, gint64 c) {
  static const int bits[FC_DTYPE_COUNT] = {8, 16, 16, 32, 24, 53};
  return (fc_format){sizeof(fc_format), kind, dtype,        bits[dtype],
                     FC_INTERLEAVED,    0,    {n, y, x, c}, kind == FC_AUDIO ? 16000 : 0};
}

/* Lengths of nothing to a hundred thousand; one to three channels, of floats and integers in turn. */
static void try_audio(test *t, const char *const *stages, dice *d) {
  static const gint64 lengths[] = {0, 1, 7, 300, 4096, 100003};
  for (guint i = 0; i < G_N_ELEMENTS(lengths); i++) {
    if (is_brief() && lengths[i] > 5000) continue;
    fc_format in = format_of(FC_AUDIO, (t->tally->chains + i) % 2 ? FC_F32 : FC_I16, 1, 1, lengths[i],
                             1 + (t->tally->chains + i) % 3);
    in.layout = dice_chance(d, 25) ? FC_PLANAR : FC_INTERLEAVED;
    try_signal(t, stages, &in, d);
  }
}

static void try_images(test *t, const char *const *stages, dice *d) {
  static const gint64 frames[] = {0, 1, 9};
  static const int dtypes[] = {FC_U8, FC_F32, FC_U16};
  for (guint i = 0; i < G_N_ELEMENTS(frames); i++) {
    fc_format in =
        format_of(FC_IMAGE, dtypes[(t->tally->chains + i) % 3], frames[i], 33, 61, dice_int(d, 1, 4));
    try_signal(t, stages, &in, d);
  }
}

static void try_chain(test *t, const char *const *stages, int kind, dice *d) {
  t->text = g_strjoinv(" -p ", (char **)stages);
  if (t->s->verbose) printf("%s\n", t->text), fflush(stdout);
  (kind == FC_AUDIO ? try_audio : try_images)(t, stages, d);
  t->tally->chains++;
  g_free(t->text);
}

/* ---- all ---------------------------------------------------------------------------- */

static void try_kind(test *t, int kind, guint random, dice *d) {
  fc_format typical = kind == FC_AUDIO ? format_of(FC_AUDIO, FC_F32, 1, 1, 4096, 2)
                                       : format_of(FC_IMAGE, FC_U8, 9, 33, 61, 3);
  const gboolean gpu = on_gpu(t->s);
  g_autoptr(GPtrArray) stages = stages_for(t->context, &typical, gpu);
  printf("%s: %u stages alone\n", kind == FC_AUDIO ? "audio" : "images", stages->len);
  const guint step = t->s->parts * (gpu && is_brief() ? 8 : 1);
  for (guint i = t->s->part; i < stages->len; i += step) {
    const char *const alone[] = {g_ptr_array_index(stages, i), NULL};
    try_chain(t, alone, kind, d);
  }
  for (guint i = 0; i < random && t->tally->failed < 10; i++) {
    char **chain = random_chain(t->context, stages, &typical, d);
    if (!chain) break;
    try_chain(t, (const char *const *)chain, kind, d);
    g_strfreev(chain);
  }
}

static gboolean read_settings(settings *s, int *argc, char ***argv) {
  const GOptionEntry entries[] = {
      {"device", 0, 0, G_OPTION_ARG_STRING, &s->device, "cpu (the default) or cuda", "NAME"},
      {"part", 0, 0, G_OPTION_ARG_STRING, &s->part_text, "The I-th of N parts, from 0", "I/N"},
      {"seed", 0, 0, G_OPTION_ARG_STRING, &s->seed_text, "Repeat the run of this seed", "N"},
      {"random", 0, 0, G_OPTION_ARG_INT, &s->random, "Random chains, three quarters of them of sounds", "N"},
      {"verbose", 'v', 0, G_OPTION_ARG_NONE, &s->verbose, "Print every chain", NULL},
      {NULL, 0, 0, 0, NULL, NULL, NULL}};
  g_autoptr(GError) error = NULL;
  GOptionContext *context = g_option_context_new(NULL);
  g_option_context_add_main_entries(context, entries, NULL);
  gboolean ok = g_option_context_parse(context, argc, argv, &error);
  g_option_context_free(context);
  if (!ok) fprintf(stderr, "test_invariance: %s\n", error->message);
  if (s->part_text && (sscanf(s->part_text, "%u/%u", &s->part, &s->parts) != 2 || s->part >= s->parts)) {
    fprintf(stderr, "test_invariance: --part %s: not I/N with I less than N\n", s->part_text);
    ok = FALSE;
  }
  if (!s->device) s->device = g_strdup("cpu");
  return ok;
}

/* Random chains clip: that is said, and of no interest here. */
static void ignore(fc_log_level level, const char *message, void *data) {}

/* Why nothing can run on the device, or NULL. */
static char *no_device(fc_context *context, const char *device) {
  float sample[2] = {0, 0};
  const char *const nothing[] = {"gain:1", NULL};
  g_autoptr(GError) error = NULL;
  g_autoptr(fc_chain) chain = fc_chain_parse(context, nothing, &error);
  if (!chain) return NULL;
  fc_options options = FC_OPTIONS_INIT;
  fc_format f = format_of(FC_AUDIO, FC_F32, 1, 1, 1, 1);
  fc_view in = view_of(&f, &sample[0]), out = view_of(&f, &sample[1]);
  options.device = device;
  if (fc_chain_run_host(chain, &in, &out, &options, NULL, &error)) return NULL;
  return error->code == FC_DEVICE ? g_strdup(error->message) : NULL;
}

int main(int argc, char **argv) {
  settings s = {.parts = 1, .random = 240};
  tally counts = {0};
  if (!read_settings(&s, &argc, &argv)) return 2;
  guint64 seed = s.seed_text ? g_ascii_strtoull(s.seed_text, NULL, 0) : (guint64)g_get_real_time();
  g_autoptr(fc_context) context = fc_context_new();
  fc_context_set_log(context, ignore, NULL);
  g_autofree char *reason = strcmp(s.device, "cpu") ? no_device(context, s.device) : NULL;
  if (reason) {
    printf("skipped: %s\n", reason);
    return SKIP;
  }
  printf("--device %s --part %u/%u --seed %" G_GUINT64_FORMAT "\n", s.device, s.part, s.parts, seed);
  const guint random = is_brief() ? s.random / 8 : s.random;
  dice of_sounds = dice_of(seed, "sounds", s.part), of_images = dice_of(seed, "images", s.part);
  test t = {.s = &s, .context = context, .tally = &counts};
  try_kind(&t, FC_AUDIO, random - random / 4, &of_sounds);
  try_kind(&t, FC_IMAGE, random / 4, &of_images);
  printf("%u chains, %u runs, %u signals refused, %u failed\n", counts.chains, counts.runs, counts.refused,
         counts.failed);
  g_free(s.device);
  g_free(s.seed_text);
  g_free(s.part_text);
  return counts.failed || counts.runs < 100 / s.parts;
}
