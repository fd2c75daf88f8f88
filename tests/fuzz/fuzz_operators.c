/* SPDX-License-Identifier: MIT */
/*
 * fuzz_operators.c - chains of operators on small signals: each input is text, so that
 * a finding can be read, and stays what it is when operators are added:
 *
 *     kind dtype layout N Y X C chunk threads compute fill seed
 *     conv1d:mask=[1,2,1]
 *     ...
 *
 * A further input that a stage names is made up: a signal like the first, whose element type, length and
 * content follow from the name.
 *
 * The chain is run whole by one thread, and cut by several; both must end alike, and
 * with the same bytes. Outputs have guard bytes around them. Mutations are made from the
 * operators' descriptors (check/stage.h): a stage more, a stage less, another stage,
 * another signal; and now and then of the bytes.
 */
#include "tests/fuzz/fuzz.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "core/registry/syntax.h"
#include "check/source.h"
#include "check/stage.h"

#define TEXT_MAX       4096
#define STAGES_MAX     4
#define OUTPUT_MAX     ((gint64)1 << 18)
#define INNER_MAX      ((gint64)1 << 14)
#define INNER_CHANNELS 1100
#define MARGIN         64
#define PATTERN        0xa5

enum { KIND, DTYPE, LAYOUT, N, Y, X, C, CHUNK, THREADS, COMPUTE, FILL, SEED, FIELDS };

/* ---- the text ---------------------------------------------------------- */

/* Whatever is there, as numbers in their ranges; images of three frames at most, sound of
 * one row. */
static void read_fields(const char *line, guint64 field[FIELDS]) {
  static const guint64 values[FIELDS] = {3, FC_DTYPE_COUNT, 2, 4, 40, 400, 9, 200, 4, 3, FILL_COUNT, 0};
  for (int i = 0; i < FIELDS; i++) {
    char *end;
    guint64 value = g_ascii_strtoull(line, &end, 10);
    field[i] = i == SEED ? value : value % values[i];
    line = end;
  }
  if (field[KIND] == FC_AUDIO) {
    field[X] += field[Y] * 20;
    field[N] = field[Y] = 1;
  }
}

static fc_format format_of(const guint64 field[FIELDS]) {
  static const int bits[FC_DTYPE_COUNT] = {8, 16, 16, 24, 24, 53};
  gboolean audio = field[KIND] == FC_AUDIO;
  return (fc_format){.size = sizeof(fc_format),
                     .kind = (int)field[KIND],
                     .dtype = (int)field[DTYPE],
                     .bits = bits[field[DTYPE]],
                     .layout = (int)field[LAYOUT],
                     .extent = {(gint64)field[N], (gint64)field[Y], (gint64)field[X], (gint64)field[C]},
                     .rate = audio ? 16000 : 0};
}

/* ---- signals ----------------------------------------------------------- */

typedef struct image {
  fc_view view;
  guint8 *memory;
  gsize bytes;
} image;

/* Dense, interleaved or planar, with margins of a pattern. */
static image image_new(const fc_format *f) {
  static const int orders[2][FC_AXES] = {{FC_AXIS_C, FC_AXIS_X, FC_AXIS_Y, FC_AXIS_N},
                                         {FC_AXIS_X, FC_AXIS_Y, FC_AXIS_C, FC_AXIS_N}};
  image i = {.view = {.size = sizeof(fc_view), .dtype = f->dtype, .kind = f->kind, .device = FC_HOST}};
  gint64 stride = (gint64)fc_dtype_size(f->dtype);
  for (int a = 0; a < FC_AXES; a++) {
    int axis = orders[f->layout == FC_PLANAR][a];
    i.view.shape[axis] = i.view.extent[axis] = f->extent[axis];
    i.view.stride[axis] = stride;
    stride *= MAX(f->extent[axis], 1);
  }
  i.bytes = (gsize)fc_view_count(&i.view) * fc_dtype_size(f->dtype);
  i.memory = g_malloc(i.bytes + 2 * MARGIN);
  memset(i.memory, PATTERN, i.bytes + 2 * MARGIN);
  i.view.data = i.memory + MARGIN;
  return i;
}

static void check_margins(const image *i) {
  for (gsize b = 0; b < MARGIN; b++)
    g_assert_true(i->memory[b] == PATTERN && i->memory[MARGIN + i->bytes + b] == PATTERN);
}

/* Which NaN it is is left open. */
static gboolean same_element(const void *a, const void *b, int dtype) {
  if (memcmp(a, b, fc_dtype_size(dtype)) == 0) return TRUE;
  return fc_dtype_is_float(dtype) && isnan(element_code(a, dtype)) && isnan(element_code(b, dtype));
}

static void check_same(const image *a, const image *b) {
  gsize size = fc_dtype_size(a->view.dtype);
  for (gsize at = 0; at < a->bytes; at += size)
    g_assert_true(same_element(a->memory + MARGIN + at, b->memory + MARGIN + at, a->view.dtype));
}

typedef struct job {
  fc_chain *chain;
  fc_options options;
  fc_format in, out;
  image input;
  GPtrArray *sides; /* of image *: the further inputs of all chains of this job */
} job;

/* ---- chains with further inputs ---------------------------------------- */

static void free_image(gpointer data) {
  image *i = data;
  g_free(i->memory);
  g_free(i);
}

static void fill_image(image *i, const fc_format *f, fill how, dice *d) {
  source s = source_new(f, how, d);
  range where[FC_AXES];
  for (int a = 0; a < FC_AXES; a++) where[a] = (range){0, f->extent[a]};
  *i = image_new(f);
  source_write(&s, where, FC_BORDER_NONE, 0, i->view.data, i->view.stride);
  source_free(&s);
}

static const fc_view *side_of(job *j, const char *name) {
  dice d = dice_of(g_str_hash(name), "side", 0);
  fc_format f = j->in;
  f.dtype = (int)dice_int(&d, 0, FC_DTYPE_COUNT - 1);
  f.bits = 0;
  if (dice_chance(&d, 40)) f.extent[FC_AXIS_X] = dice_int(&d, 0, 2 * f.extent[FC_AXIS_X] + 1);
  if (dice_chance(&d, 20)) f.extent[FC_AXIS_C] = dice_int(&d, 1, 3);
  image *side = g_new(image, 1);
  fill_image(side, &f, FILL_RANDOM, &d);
  g_ptr_array_add(j->sides, side);
  return &side->view;
}

static gboolean is_input(const fc_operator *op, const char *key) {
  for (guint i = 0; i < op->n_params; i++) {
    const fc_param *p = op->params[i];
    gboolean meant = key ? strcmp(p->name, key) == 0 : (p->flags & FC_PARAM_MAIN) != 0;
    if (meant) return p->type == FC_INPUT;
  }
  return FALSE;
}

static gboolean add_stage(job *j, fc_chain *chain, const fc_operator *op, const fc_stage_text *stage) {
  g_autofree fc_value *values = g_new0(fc_value, stage->n_args + 1);
  g_autofree const fc_value **list = g_new0(const fc_value *, stage->n_args + 1);
  for (guint i = 0; i < stage->n_args; i++) {
    const fc_stage_arg *arg = &stage->args[i];
    values[i] = (fc_value){.size = sizeof *values, .name = arg->key, .text = arg->value};
    if (is_input(op, arg->key)) values[i].text = NULL, values[i].view = side_of(j, arg->value);
    list[i] = &values[i];
  }
  return fc_chain_add(chain, op->name, list, NULL);
}

static gboolean add_line(job *j, fc_chain *chain, const char *line) {
  g_autoptr(fc_stage_text) stage = fc_stage_text_parse(line, NULL);
  const fc_operator *op = stage ? fc_context_find(fuzz_context(), stage->name, NULL) : NULL;
  return op && !(op->flags & FC_OP_GENERATOR) && add_stage(j, chain, op, stage);
}

static gboolean has_inputs(const char *line) {
  g_autoptr(fc_stage_text) stage = fc_stage_text_parse(line, NULL);
  const fc_operator *op = stage ? fc_context_find(fuzz_context(), stage->name, NULL) : NULL;
  gboolean found = op && (op->flags & FC_OP_GENERATOR);
  for (guint i = 0; op && i < stage->n_args; i++) found |= is_input(op, stage->args[i].key);
  return found;
}

/* As the command would, unless there is a file to be made up; NULL for what is no chain, or makes its signal.
 */
static fc_chain *chain_of(job *j, const char *const *lines) {
  gboolean plain = TRUE;
  for (const char *const *line = lines; *line; line++) plain &= !has_inputs(*line);
  if (plain) return fc_chain_parse(fuzz_context(), lines, NULL);
  fc_chain *chain = fc_chain_new(fuzz_context());
  gboolean ok = TRUE;
  for (const char *const *line = lines; *line && ok; line++) ok = add_line(j, chain, *line);
  if (ok) return chain;
  fc_chain_free(chain);
  return NULL;
}

/* ---- running ----------------------------------------------------------- */

typedef enum outcome { DONE, FAILED, NO_MEMORY } outcome;

static outcome run(job *j, gint64 chunk, int threads, image *out) {
  g_autoptr(GError) error = NULL;
  j->options.chunk = chunk, j->options.threads = threads;
  *out = image_new(&j->out);
  gboolean ran = fc_chain_run_host(j->chain, &j->input.view, &out->view, &j->options, NULL, &error);
  g_assert_true(ran != (error != NULL));
  if (error) g_assert_null(strchr(error->message, '\n'));
  if (error) g_assert_cmpint(error->code, !=, FC_FATAL);
  check_margins(out);
  return ran ? DONE : error->code == FC_NO_MEMORY ? NO_MEMORY : FAILED;
}

/* Some chunks, not hundreds: each may have to compute a whole block of an operator's again. */
static gint64 chunk_of(const job *j, const guint64 field[FIELDS]) {
  gint64 length = j->out.extent[j->out.kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_Y];
  return MAX((gint64)field[CHUNK] + 1, length / 16);
}

static void run_both(job *j, const guint64 field[FIELDS]) {
  image whole, cut;
  outcome once = run(j, G_MAXINT64 / 8, 1, &whole);
  outcome again = run(j, chunk_of(j, field), 1 + (int)field[THREADS], &cut);
  /* What does not fit in memory one way may do so the other. */
  if (once != NO_MEMORY && again != NO_MEMORY) g_assert_cmpint(once, ==, again);
  if (once == DONE && again == DONE) check_same(&whole, &cut);
  check_margins(&j->input);
  g_free(whole.memory);
  g_free(cut.memory);
}

/* -1 where there are more than that. An axis of none counts for one: memory is asked for all the same. */
static gint64 elements_of(const fc_format *f, gint64 most) {
  gint64 elements = 1;
  for (int a = 0; a < FC_AXES; a++) {
    g_assert_cmpint(f->extent[a], >=, 0); /* of a signal whose length is known */
    gint64 extent = MAX(f->extent[a], 1);
    if (elements > most / extent) return -1;
    elements *= extent;
  }
  return elements;
}

/* Whether a chain's output is not large and, for another operator to go on from, neither a multiple of its
 * input nor of thousands of channels: each element may be a whole transform there, each channel a long
 * window. */
static gboolean is_small(fc_chain *chain, const job *j, gboolean last) {
  fc_format out = {.size = sizeof out, .dtype = -1};
  gint64 most = last ? OUTPUT_MAX : MAX(INNER_MAX, 4 * elements_of(&j->in, G_MAXINT64 / 8));
  return fc_chain_output_format(chain, &j->in, &j->options, &out, NULL) && elements_of(&out, most) >= 0 &&
         (last || out.extent[FC_AXIS_C] <= INNER_CHANNELS);
}

static gboolean worth_it(job *j, char **stages) {
  for (guint n = 1; stages[n - 1]; n++) {
    g_autofree const char **first = g_new0(const char *, n + 1);
    memcpy(first, stages, n * sizeof *first);
    g_autoptr(fc_chain) chain = chain_of(j, first);
    if (!chain || !is_small(chain, j, stages[n] == NULL)) return FALSE;
  }
  return TRUE;
}

static void fill_input(job *j, const guint64 field[FIELDS]) {
  dice d = dice_of(field[SEED], "signal", 0);
  fill how = field[FILL] < FILL_NAN || fc_dtype_is_float(j->in.dtype) ? (fill)field[FILL] : FILL_RANDOM;
  fill_image(&j->input, &j->in, how, &d);
}

static void run_chain(job *j, char **stages, const guint64 field[FIELDS]) {
  g_autoptr(fc_chain) chain = chain_of(j, (const char *const *)stages);
  if (!chain) return;
  j->chain = chain;
  j->out = (fc_format){.size = sizeof j->out, .dtype = -1};
  if (!fc_chain_output_format(chain, &j->in, &j->options, &j->out, NULL) || !worth_it(j, stages)) return;
  fill_input(j, field);
  run_both(j, field);
  g_free(j->input.memory);
}

int LLVMFuzzerTestOneInput(const guint8 *data, gsize size) {
  static const int precisions[] = {-1, FC_F32, FC_F64};
  if (size > TEXT_MAX || (size && memchr(data, 0, size))) return 0;
  guint64 field[FIELDS];
  g_autofree char *text = g_strndup(data ? (const char *)data : "", size);
  g_auto(GStrv) lines = g_strsplit(text, "\n", 0);
  if (!lines[0] || g_strv_length(lines) > 1 + STAGES_MAX) return 0;
  read_fields(lines[0], field);
  job j = {.options = FC_OPTIONS_INIT, .in = format_of(field)};
  j.options.device = "cpu", j.options.precision = precisions[field[COMPUTE]];
  j.sides = g_ptr_array_new_with_free_func(free_image);
  run_chain(&j, lines + 1, field);
  g_ptr_array_free(j.sides, TRUE);
  return 0;
}

/* ---- mutations --------------------------------------------------------- */

gsize LLVMFuzzerMutate(guint8 *data, gsize size, gsize most) __attribute__((weak));
gsize LLVMFuzzerCustomMutator(guint8 *data, gsize size, gsize most, guint seed);

static char *random_header(dice *d) {
  GString *text = g_string_new(NULL);
  for (int i = 0; i < FIELDS; i++)
    g_string_append_printf(text, "%s%d", i ? " " : "", (int)dice_int(d, 0, i == Y || i == X ? 60 : 12));
  return g_string_free(text, FALSE);
}

static char *random_line(dice *d) {
  gsize count;
  g_autofree const fc_operator **ops = fc_context_operators(fuzz_context(), &count);
  const fc_operator *op = ops[dice_int(d, 0, (gint64)count - 1)];
  g_autoptr(GPtrArray) wishes = wishes_of(op);
  const wish *w = g_ptr_array_index(wishes, (guint)dice_int(d, 0, (gint64)wishes->len - 1));
  const gint64 shape[FC_AXES] = {1, 9, 16, dice_int(d, 1, 4)};
  return stage_random(op, w, shape, d);
}

static void change(GPtrArray *lines, dice *d) {
  guint at = (guint)dice_int(d, 1, MAX((gint64)lines->len - 1, 1));
  switch (dice_int(d, 0, 3)) {
  case 0:
    g_free(lines->pdata[0]);
    lines->pdata[0] = random_header(d);
    break;
  case 1:
    if (lines->len > 2) g_ptr_array_remove_index(lines, at);
    break;
  case 2:
    if (lines->len > STAGES_MAX) g_ptr_array_remove_index(lines, at);
    g_ptr_array_insert(lines, (int)MIN(at, lines->len), random_line(d));
    break;
  default:
    if (lines->len > at) g_ptr_array_remove_index(lines, at);
    g_ptr_array_insert(lines, (int)MIN(at, lines->len), random_line(d));
    break;
  }
}

gsize LLVMFuzzerCustomMutator(guint8 *data, gsize size, gsize most, guint seed) {
  dice d = dice_of(seed, "mutation", 0);
  if (dice_chance(&d, 20) && LLVMFuzzerMutate) return LLVMFuzzerMutate(data, size, most);
  g_autofree char *text = g_strndup((const char *)data, size);
  g_auto(GStrv) old = g_strsplit(text, "\n", 2 + STAGES_MAX);
  g_autoptr(GPtrArray) lines = g_ptr_array_new_with_free_func(g_free);
  for (guint i = 0; old[i]; i++) g_ptr_array_add(lines, g_strdup(old[i]));
  if (!lines->len) g_ptr_array_add(lines, random_header(&d));
  change(lines, &d);
  GString *made = g_string_new(NULL);
  for (guint i = 0; i < lines->len; i++)
    g_string_append_printf(made, "%s%s", i ? "\n" : "", (char *)lines->pdata[i]);
  gsize length = MIN(made->len, most);
  memcpy(data, made->str, length);
  g_string_free(made, TRUE);
  return length;
}
