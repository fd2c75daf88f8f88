/* SPDX-License-Identifier: MIT */
/*
 * harness.c - see harness.h. Case k uses the k'th combination of kind, element types and layout, in a random
 * order, cyclically, and the k'th wish (an example, a parameter at a value); everything else is random. Other
 * parameters and shapes are tried until the operator accepts, so that most cases run.
 */
#include "check/harness.h"

#include <string.h>

#include "check/case.h"

#define ATTEMPTS         12                            /* of a case */
#define EXAMPLE_ATTEMPTS 400                           /* of an example, in all */
#define FIRST_EXAMPLE    (G_GUINT64_CONSTANT(1) << 32) /* number of the case */
#define MOST_FAILURES    5                             /* on the host; a device may be lost with the first */
#define FEWEST           4                             /* cases, however late it is */

static const int bits_of[FC_DTYPE_COUNT] = {8, 16, 16, 32, 24, 53};

typedef struct combination {
  int kind, in, out, planar;
  gboolean covered;
} combination;

typedef struct harness {
  const fc_operator *op;
  const fc_backend *backend;
  const test_device *device;
  const harness_options *options;
  harness_tally *tally;
  GArray *combinations;
  GPtrArray *wishes;
  guint *granted;        /* per wish: how often it ran */
  GHashTable *sentences; /* of refusals: char * -> refusal */
} harness;

typedef struct refusal {
  guint64 count;
  char *example;
} refusal;

static guint most_failures(const harness *h) {
  return h->device->id == FC_HOST ? MOST_FAILURES : 1;
}

static FILE *log_of(const harness *h) {
  return h->options->log ? h->options->log : stdout;
}

/* ---- combinations ------------------------------------------------------------------- */

static gboolean keeps_dtype(const fc_operator *op) {
  return (op->flags & (FC_OP_KEEPS_DTYPE | FC_OP_PASSTHROUGH)) != 0;
}

static void add_combinations(harness *h, int kind, int in) {
  const fc_operator *op = h->op;
  for (int out = 0; out < FC_DTYPE_COUNT; out++) {
    if (keeps_dtype(op) ? out != in : !(op->dtypes_out & FC_DTYPE_BIT(out))) continue;
    for (int planar = 0; planar < 2; planar++) {
      combination c = {kind, in, out, planar, FALSE};
      g_array_append_val(h->combinations, c);
    }
  }
}

/* A generator has no input, which is tried as one type. */
static gboolean takes(const fc_operator *op, int dtype) {
  return op->flags & FC_OP_GENERATOR ? dtype == FC_F32 : (op->dtypes_in & FC_DTYPE_BIT(dtype)) != 0;
}

static void make_combinations(harness *h) {
  h->combinations = g_array_new(FALSE, FALSE, sizeof(combination));
  for (int kind = 0; kind < FC_KIND_COUNT; kind++)
    for (int in = 0; in < FC_DTYPE_COUNT; in++)
      if (h->op->kinds & FC_KIND_BIT(kind) && takes(h->op, in)) add_combinations(h, kind, in);
  dice d = dice_of(h->options->seed, h->op->name, G_MAXUINT64);
  combination *all = (combination *)(void *)h->combinations->data;
  for (guint i = h->combinations->len; i > 1; i--) {
    guint other = (guint)dice_int(&d, 0, i - 1);
    combination swapped = all[i - 1];
    all[i - 1] = all[other], all[other] = swapped;
  }
  h->tally->combinations = h->combinations->len;
}

/* ---- shapes ------------------------------------------------------------------------- */

static gint64 channels(dice *d) {
  static const gint64 counts[] = {1, 1, 2, 2, 3, 3, 3, 4, 5, 6, 8, 16};
  return dice_chance(d, 4) ? 64 : DICE_PICK(d, counts);
}

/* Lengths that are often special: zero, one, primes, near powers of two. */
static gint64 odd_length(dice *d) {
  static const gint64 lengths[] = {0, 1, 1, 2, 3, 5, 7, 8, 13, 16, 17, 31, 33, 61, 64, 67, 97, 101, 127, 128};
  return DICE_PICK(d, lengths);
}

static gint64 long_length(dice *d) {
  static const gint64 lengths[] = {257, 509, 1009, 1024, 2053, 4099, 9973};
  return dice_chance(d, 4) ? 70001 : DICE_PICK(d, lengths);
}

static void random_shape(int kind, dice *d, gint64 shape[FC_AXES]) {
  shape[0] = shape[1] = 1;
  shape[3] = channels(d);
  shape[2] = dice_chance(d, 60) ? odd_length(d) : long_length(d);
  if (kind == FC_AUDIO) return;
  if (dice_chance(d, 25)) shape[0] = dice_chance(d, 4) ? 0 : dice_int(d, 2, 3);
  switch (dice_int(d, 0, 9)) {
  case 0: break;                                    /* one row */
  case 1: shape[1] = shape[2], shape[2] = 1; break; /* one column */
  case 2: shape[1] = odd_length(d), shape[2] = long_length(d); break;
  default: shape[1] = odd_length(d), shape[2] = odd_length(d); break;
  }
}

/* ---- cases -------------------------------------------------------------------------- */

static int random_layout(int planar, dice *d) {
  static const int interleaved[] = {LAYOUT_INTERLEAVED, LAYOUT_INTERLEAVED, LAYOUT_ROWS, LAYOUT_SCATTERED,
                                    LAYOUT_ENGINE};
  static const int planes[] = {LAYOUT_PLANAR, LAYOUT_PLANES};
  return planar ? DICE_PICK(d, planes) : DICE_PICK(d, interleaved);
}

static fill random_fill(int dtype, dice *d) {
  static const fill fills[] = {FILL_RANDOM,  FILL_RANDOM,  FILL_RANDOM, FILL_RANDOM,
                               FILL_SMALL,   FILL_EXTREME, FILL_OFFSET, FILL_CONSTANT,
                               FILL_IMPULSE, FILL_NAN,     FILL_NAN,    FILL_INF};
  fill f = DICE_PICK(d, fills);
  return (f == FILL_NAN || f == FILL_INF) && !fc_dtype_is_float(dtype) ? FILL_RANDOM : f;
}

/* A further input: mostly of the same size; sometimes with one channel or frame, or of another length. */
static fc_format random_other(const fc_operator *op, const fc_format *in, dice *d) {
  fc_format other = *in;
  do other.dtype = (int)dice_int(d, 0, FC_DTYPE_COUNT - 1);
  while (!takes(op, other.dtype));
  other.bits = bits_of[other.dtype];
  if (dice_chance(d, 25)) other.extent[FC_AXIS_C] = 1;
  if (dice_chance(d, 25)) other.extent[FC_AXIS_N] = 1;
  if (dice_chance(d, 25)) other.extent[FC_AXIS_X] = odd_length(d);
  if (in->kind != FC_AUDIO && dice_chance(d, 10)) other.extent[FC_AXIS_Y] = odd_length(d);
  return other;
}

static test_case make_case(harness *h, const combination *m, const wish *w, dice *d) {
  test_case c = {.op = h->op, .backend = h->backend, .device = h->device};
  g_snprintf(c.who, sizeof c.who, "%s on %s", h->op->name, h->device->id == FC_HOST ? "cpu" : "cuda");
  c.in = (fc_format){.size = sizeof c.in, .kind = m->kind, .dtype = m->in, .bits = bits_of[m->in]};
  c.in.layout = m->planar ? FC_PLANAR : FC_INTERLEAVED;
  c.in.rate = m->kind == FC_AUDIO ? 16000 : 0;
  if (m->in == FC_I32 && dice_chance(d, 30)) c.in.bits = 24;
  random_shape(m->kind, d, c.in.extent);
  c.wanted = m->out, c.tolerance = h->options->tolerance;
  c.compute = dice_chance(d, 70) ? FC_F32 : FC_F64;
  c.fill = random_fill(m->in, d);
  c.layout_in = random_layout(m->planar, d), c.layout_out = random_layout(m->planar, d);
  c.text = stage_random(h->op, w, c.in.extent, d);
  c.seed = dice_bits(d);
  for (int k = 0; k < MOST_INPUTS - 1; k++) c.others[k] = random_other(h->op, &c.in, d);
  return c;
}

/* Skips a written-out table, a quoted word, a value or a list of numbers at `s`. */
static const char *skip_detail(const char *s) {
  const char *end = *s == '"' ? strchr(s + 1, '"') : *s == '[' ? strchr(s, ']') : NULL;
  if (*s == '=') return s + strcspn(s, " ;");
  if (end) return end + 1;
  size_t length = strspn(s, "+-.,x0123456789");
  if (!strpbrk(s, "0123456789") || strcspn(s, "0123456789") >= length) return s;
  return s + length + (g_str_has_prefix(s + length, "dB") ? 2 : 0);
}

/* Removes numbers and names, which depend on the case, so that each kind of refusal is counted once. */
static char *kind_of_refusal(const char *sentence) {
  GString *key = g_string_new(NULL);
  for (const char *s = sentence; *s;) {
    const char *end = skip_detail(s);
    if (end == s)
      g_string_append_c(key, *s++);
    else if (!key->len || key->str[key->len - 1] != '#')
      g_string_append_c(key, '#');
    s = MAX(s, end);
  }
  return g_string_free(key, FALSE);
}

static void count_refusal(harness *h, const char *sentence) {
  char *kind = kind_of_refusal(sentence);
  refusal *r = g_hash_table_lookup(h->sentences, kind);
  if (!r) {
    r = g_new0(refusal, 1);
    r->example = g_strdup(sentence);
    g_hash_table_insert(h->sentences, g_strdup(kind), r);
  }
  r->count++;
  g_free(kind);
  h->tally->refused++;
}

static void free_refusal(gpointer data) {
  g_free(((refusal *)data)->example);
  g_free(data);
}

/* The options that run a case again. */
static void how_again(const harness *h, guint64 number, char text[HARNESS_CURRENT]) {
  g_snprintf(text, HARNESS_CURRENT,
             "--op %s --backend %s%s%s --seed %" G_GUINT64_FORMAT " --case %" G_GUINT64_FORMAT, h->op->name,
             h->device->id == FC_HOST ? "cpu" : "cuda", h->options->test ? " --test " : "",
             h->options->test ? h->options->test : "", h->options->seed, number);
}

static void report_failure(harness *h, const test_case *c, guint64 number, const verdict *v) {
  char *text = case_describe(c), again[HARNESS_CURRENT];
  how_again(h, number, again);
  if (h->tally->failures++ == 0) {
    h->tally->first = *v;
    g_strlcpy(h->tally->again, again, sizeof h->tally->again);
  }
  fprintf(log_of(h), "FAILED (%s) %s\n  %s\n  again: %s\n", fault_name(v->fault), v->text, text, again);
  fflush(log_of(h));
  g_free(text);
}

/* One attempt at a case; returns whether another is needed. */
static gboolean attempt(harness *h, combination *m, guint wished, guint64 number, dice *d) {
  test_case c = make_case(h, m, g_ptr_array_index(h->wishes, wished), d);
  verdict v = {FAULT_NONE, ""};
  char *sentence = NULL;
  if (h->options->current) how_again(h, number, h->options->current);
  if (h->options->verbose) {
    char *text = case_describe(&c);
    fprintf(log_of(h), "%" G_GUINT64_FORMAT ": %s\n", number, text);
    fflush(log_of(h));
    g_free(text);
  }
  case_end end = (h->options->run ? h->options->run : case_run)(&c, &sentence, &v);
  if (end == CASE_RAN || end == CASE_FAILED) {
    h->tally->ran++, h->granted[wished]++;
    if (!m->covered) m->covered = TRUE, h->tally->covered++;
  }
  if (end == CASE_FAILED) report_failure(h, &c, number, &v);
  if (end == CASE_REFUSED) count_refusal(h, sentence);
  if (end == CASE_TOO_LARGE) h->tally->too_large++;
  if (h->options->verbose && sentence) fprintf(log_of(h), "  refused: %s\n", sentence);
  g_free(sentence);
  g_free(c.text);
  return end == CASE_REFUSED || end == CASE_TOO_LARGE;
}

static void run_case(harness *h, guint64 number) {
  dice d = dice_of(h->options->seed, h->op->name, number);
  guint n = h->combinations->len;
  combination *m = &g_array_index(h->combinations, combination, number % n);
  guint wished = (guint)((number + number / n) % h->wishes->len);
  for (int i = 0; i < ATTEMPTS && attempt(h, m, wished, number, &d); i++) {
  }
}

/* ---- an operator --------------------------------------------------------------------- */

/* An example that no case has accepted so far is tried with all combinations. */
static void insist_on_example(harness *h, guint w) {
  const wish *one = g_ptr_array_index(h->wishes, w);
  dice d = dice_of(h->options->seed, h->op->name, FIRST_EXAMPLE + w);
  for (int i = 0; i < EXAMPLE_ATTEMPTS && !h->granted[w]; i++) {
    combination *m = &g_array_index(h->combinations, combination, (guint)i % h->combinations->len);
    attempt(h, m, w, FIRST_EXAMPLE + w, &d);
  }
  if (h->granted[w]) return;
  verdict v = {FAULT_NONE, ""};
  blame(&v, FAULT_NOTHING, "the example \"%s\" was never accepted", one->text);
  if (h->tally->failures++ == 0) h->tally->first = v;
  fprintf(log_of(h), "FAILED (nothing) %s\n", v.text);
}

/* An example that does not parse is an error in the descriptor, and reported there. */
static gboolean parses(const harness *h, const char *example) {
  dice d = dice_of(h->options->seed, h->op->name, FIRST_EXAMPLE);
  fc_args *args = stage_args(h->op, example, &d, NULL);
  fc_args_free(args);
  return args != NULL;
}

static void insist_on_examples(harness *h) {
  for (guint w = 0; w < h->wishes->len; w++) {
    const char *example = ((const wish *)g_ptr_array_index(h->wishes, w))->text;
    if (example && !h->granted[w] && parses(h, example)) insist_on_example(h, w);
  }
}

static void run_only(harness *h, guint64 number) {
  if (number >= FIRST_EXAMPLE)
    insist_on_example(h, (guint)(number - FIRST_EXAMPLE) % h->wishes->len);
  else
    run_case(h, number);
}

static void run_cases(harness *h) {
  const harness_options *o = h->options;
  gint64 end = g_get_monotonic_time() + (gint64)(o->seconds * 1e6);
  if (o->only >= 0) {
    run_only(h, (guint64)o->only);
    return;
  }
  for (guint64 k = 0; h->tally->failures < most_failures(h); k++) {
    gboolean late = (o->seconds > 0 || !o->cases) && g_get_monotonic_time() > end;
    if ((o->cases && k >= o->cases) || (late && k >= (o->few ? FEWEST : h->wishes->len))) break;
    run_case(h, k);
  }
  if (h->tally->failures < most_failures(h) && !o->few) insist_on_examples(h);
}

/* A long message, which begins with a whole table, is shortened to its end. */
static void print_refusals(harness *h) {
  GHashTableIter i;
  gpointer value;
  g_hash_table_iter_init(&i, h->sentences);
  while (g_hash_table_iter_next(&i, NULL, &value)) {
    const refusal *r = value;
    const char *table = r->example[0] == '[' ? strchr(r->example, ']') : NULL;
    fprintf(log_of(h), "    refused %4" G_GUINT64_FORMAT " x: %s%s\n", r->count, table ? "[...]" : "",
            table ? table + 1 : r->example);
  }
}

/* Combinations that the descriptor does not support, and which were not tried. */
static void print_unclaimed(const harness *h) {
  static const char *const kinds[] = {"audio", "images", "arrays"};
  for (int k = 0; k < FC_KIND_COUNT; k++)
    if (!(h->op->kinds & FC_KIND_BIT(k))) fprintf(log_of(h), "    not for %s\n", kinds[k]);
  for (int d = 0; d < FC_DTYPE_COUNT; d++) {
    if (!(h->op->flags & FC_OP_GENERATOR) && !takes(h->op, d))
      fprintf(log_of(h), "    does not take %s\n", fc_dtype_name(d));
    if (!(h->op->dtypes_out & FC_DTYPE_BIT(d)))
      fprintf(log_of(h), "    does not make %s\n", fc_dtype_name(d));
  }
}

static void print_tally(harness *h) {
  const harness_tally *t = h->tally;
  fprintf(log_of(h),
          "%-4s %s on %s: %" G_GUINT64_FORMAT " cases, %u of %u combinations of kind, types and layout%s",
          t->failures ? "FAIL" : "ok", h->op->name, h->device->name, t->ran, t->covered, t->combinations,
          h->op->reference ? "" : "; it has no reference");
  fprintf(log_of(h), "; refused %" G_GUINT64_FORMAT ", too large %" G_GUINT64_FORMAT "\n", t->refused,
          t->too_large);
  print_unclaimed(h);
  print_refusals(h);
  if (h->options->only >= 0 || t->failures) return;
  for (guint w = 0; w < h->wishes->len; w++) {
    const wish *one = g_ptr_array_index(h->wishes, w);
    if (!h->granted[w] && one->param >= 0)
      fprintf(log_of(h), "    never accepted: %s=%s\n", h->op->params[one->param]->name, one->value);
  }
}

static void fail_nothing(harness *h) {
  blame(&h->tally->first, FAULT_NOTHING, "%s: not one case ran", h->op->name);
  h->tally->failures++;
  fprintf(log_of(h), "FAILED (nothing) %s\n", h->tally->first.text);
}

void harness_run(const fc_operator *op, const fc_backend *backend, const test_device *device,
                 const harness_options *options, harness_tally *tally) {
  harness h = {.op = op, .backend = backend, .device = device, .options = options, .tally = tally};
  memset(tally, 0, sizeof *tally);
  h.wishes = wishes_of(op);
  h.granted = g_new0(guint, h.wishes->len);
  h.sentences = g_hash_table_new_full(g_str_hash, g_str_equal, g_free, free_refusal);
  make_combinations(&h);
  run_cases(&h);
  if (tally->ran == 0 && options->only < 0 && !options->few) fail_nothing(&h);
  print_tally(&h);
  fflush(log_of(&h));
  g_array_free(h.combinations, TRUE);
  g_ptr_array_free(h.wishes, TRUE);
  g_hash_table_destroy(h.sentences);
  g_free(h.granted);
}

void harness_describe(const fc_operator *op) {
  static const char *const kinds[] = {"audio", "image", "array"};
  printf("%-10s", op->name);
  for (int k = 0; k < FC_KIND_COUNT; k++)
    if (op->kinds & FC_KIND_BIT(k)) printf(" %s", kinds[k]);
  printf(";");
  for (int d = 0; d < FC_DTYPE_COUNT; d++)
    if (op->dtypes_in & FC_DTYPE_BIT(d)) printf(" %s", fc_dtype_name(d));
  printf(" ->");
  for (int d = 0; d < FC_DTYPE_COUNT; d++)
    if (op->dtypes_out & FC_DTYPE_BIT(d)) printf(" %s", fc_dtype_name(d));
  printf(";%s%s%s\n", backend_of(op, FC_KIND_HOST) ? " cpu" : "", backend_of(op, FC_KIND_CUDA) ? " cuda" : "",
         op->reference ? " reference" : "");
}
