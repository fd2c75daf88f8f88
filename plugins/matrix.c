/* SPDX-License-Identifier: MIT */
/*
 * matrix - multiplies along an axis by a matrix given by the user; see filters/matrix/matrix.h.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/contract/fc_helpers.h"
#include "filters/pointwise/functions.h"
#include "plugins/border.h"
#include "plugins/matrix_state.h"
#include "plugins/meaning.h"
#include "plugins/single.h"

enum { MATRIX, AXIS, BLOCK, OFFSET, BORDER, VALUE, TENSOR, PARAMS };

typedef struct operator{
  const fc_table *table;
  const double *offsets;
  const fc_arg *border, *value; /* owned by the host */
  int axis;
  int64_t block; /* 0: the whole axis */
  int tensor;
  fc_table own; /* of several stages joined; its numbers are behind the instance */
}
operator;

typedef struct state {
  fc_matrix m;
  int device;
} state;

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  const fc_table *table = args[MATRIX]->table;
  int64_t block = args[BLOCK]->count ? args[BLOCK]->ints[0] : 0;
  if (table->rows < 1 || table->cols < 1) return host->fail(host, FC_INVALID, "the matrix is empty");
  if (block && block != table->cols)
    return host->fail(host, FC_INVALID, "block=%lld does not fit a matrix of %lld columns: block=%lld would",
                      (long long)block, (long long)table->cols, (long long)table->cols);
  fc_status status = border_check(host, args[BORDER], args[VALUE]);
  if (status != FC_OK) return status;
  int64_t offsets = args[OFFSET]->count;
  if (offsets > 1 && offsets != table->rows)
    return host->fail(host, FC_INVALID, "%lld offsets for %lld rows: give one, or one a row",
                      (long long)offsets, (long long)table->rows);
  operator* op = calloc(1, sizeof *op);
  double *each = offsets ? malloc((size_t)table->rows * sizeof *each) : NULL;
  if (!op || (offsets && !each)) {
    free(op);
    free(each);
    return FC_NO_MEMORY;
  }
  for (int64_t r = 0; each && r < table->rows; r++) each[r] = args[OFFSET]->floats[offsets > 1 ? r : 0];
  *op = (operator){
      table, each, args[BORDER], args[VALUE], (int)args[AXIS]->ints[0], block, args[TENSOR]->ints[0] != 0,
      {0}};
  *self = op;
  return FC_OK;
}

static void destroy(void *self) {
  operator* op = self;
  if (!op) return;
  if (op->table != &op->own) free((void *)op->offsets);
  free(op);
}

static const char *axis_name(int axis, int kind) {
  if (axis == FC_AXIS_C) return "channels";
  if (axis == FC_AXIS_Y) return "rows";
  return kind == FC_AUDIO ? "samples" : "columns";
}

/* Suggests the stage that makes the number of channels fit: mix, which selects channels or repeats a
 * single one. */
static fc_status refuse_channels(const fc_host *host, int64_t cols, const fc_format *in) {
  const long long channels = in->extent[FC_AXIS_C];
  char all[64] = "0";
  for (int64_t i = 1, n = 1; i < cols && i < 16; i++)
    n += snprintf(all + n, sizeof all - (size_t)n, ",%d", channels == 1 ? 0 : (int)i);
  const int alpha = in->kind == FC_IMAGE && channels == cols + 1 && (channels == 4 || channels == 2);
  if (in->kind == FC_IMAGE && channels == 2 && cols == 3)
    return host->fail(
        host, FC_INVALID,
        "the matrix has 3 columns and the input 2 channels: put mix:0,0,0 before it, which repeats grey and "
        "leaves out alpha");
  if (cols > 16 || (channels != 1 && channels < cols))
    return host->fail(host, FC_INVALID,
                      "the matrix has %lld columns and the input %lld channels: the two must be equal",
                      (long long)cols, channels);
  return host->fail(
      host, FC_INVALID,
      "the matrix has %lld column%s and the input %lld channel%s: put mix:%s before it, which %s",
      (long long)cols, cols == 1 ? "" : "s", channels, channels == 1 ? "" : "s", all,
      channels == 1 ? "repeats the channel"
      : alpha       ? "leaves out alpha"
                    : "keeps the first ones");
}

static fc_status refuse_extent(const fc_host *host, const operator* op, const fc_format *in) {
  int64_t extent = in->extent[op->axis];
  const char *name = axis_name(op->axis, in->kind);
  if (extent < 0)
    return host->fail(host, FC_INVALID, "the number of %s is not known: give block=%lld", name,
                      (long long)op->table->cols);
  if (op->axis == FC_AXIS_C) return refuse_channels(host, op->table->cols, in);
  return host->fail(host, FC_INVALID,
                    "a matrix of %lld columns does not fit %lld %s: to cut them into blocks, give block=%lld",
                    (long long)op->table->cols, (long long)extent, name, (long long)op->table->cols);
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  const operator* op = self;
  const fc_format *in = terms->in[0];
  fc_format *out = terms->out;
  fc_reach *reach = &terms->needs[0]->reach[op->axis];
  int64_t extent = in->extent[op->axis];
  if (in->kind == FC_AUDIO && op->axis == FC_AXIS_Y)
    return host->fail(host, FC_UNSUPPORTED, "sound has no rows: axis=y is for images");
  meaning_keep_time(terms);
  reach->align = op->table->rows;
  if (op->border) border_terms(op->border, op->value, terms);
  terms->work = 2.0 * (double)op->table->cols;
  if (op->block) {
    reach->num = op->table->cols;
    reach->den = op->table->rows;
    int64_t blocks = (extent + op->block - 1) / op->block;
    out->extent[op->axis] = extent < 0 ? FC_UNKNOWN : blocks * op->table->rows;
    if (op->axis == FC_AXIS_X && in->rate > 0) out->rate = in->rate * (double)reach->den / (double)reach->num;
    return FC_OK;
  }
  if (extent != op->table->cols) return refuse_extent(host, op, in);
  reach->before = reach->after = FC_WHOLE;
  out->extent[op->axis] = op->table->rows;
  return FC_OK;
}

static void release(const fc_host *host, void *prepared) {
  state *s = prepared;
  if (!s) return;
  matrix_state_clear(host, s->device, &s->m);
  free(s);
}

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {
  const operator* op = self;
  state *s = calloc(1, sizeof *s);
  if (!s) return FC_NO_MEMORY;
  s->device = setup->device;
  fc_status status = matrix_state_make(host, setup, op->axis, op->table->rows, op->table->cols,
                                       op->table->data, op->offsets, &s->m);
  s->m.split = op->tensor && setup->compute == FC_F32;
  if (status == FC_OK)
    *prepared = s;
  else
    release(host, s);
  return status;
}

static size_t scratch(const void *prepared, const fc_job *job) {
  (void)job;
  return fc_matrix_scratch(&((const state *)prepared)->m);
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  return fc_matrix_cpu(&((const state *)prepared)->m, job->in[0], job->out, job->scratch, job->notes);
}

static fc_status process_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  return fc_matrix_ref(&((const state *)prepared)->m, job->in[0], job->out, job->notes);
}

#if FC_HAVE_CUDA
static size_t scratch_cuda(const void *prepared, const fc_job *job) {
  return fc_matrix_device_scratch(&((const state *)prepared)->m, job->out);
}

static fc_status process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  return fc_matrix_cuda(&((const state *)prepared)->m, job->in[0], job->out, job->scratch, job->notes,
                        job->stream);
}
#endif

static fc_status describe(const fc_host *host, void *self, const fc_setup *setup,
                          fc_device_function *function) {
  const operator* op = self;
  (void)host;
  if (op->axis != FC_AXIS_C || op->block) return FC_UNSUPPORTED;
  const fc_status status = fc_function_matrix(setup->compute, op->table->data, op->offsets, op->table->rows,
                                              op->table->cols, function);
  if (!fc_matrix_is_quick(setup->compute, op->table->rows, op->table->cols, setup->in[0]->dtype,
                          setup->out->dtype))
    function->flags |= FC_FUNCTION_ALONE;
  return status;
}

/* ---- joined by algebra -------------------------------------------------- */

static fc_status map_of(const fc_host *host, void *self, const fc_setup *setup, fc_linear_map *map) {
  const operator* op = self;
  const int64_t rows = op->table->rows, count = rows * op->table->cols;
  (void)host, (void)setup;
  if (op->axis != FC_AXIS_C || op->block) return FC_UNSUPPORTED;
  map->form = FC_LINEAR_PIXELS, map->rows = rows, map->columns = op->table->cols, map->count = count + rows;
  if (map->room < map->count) return FC_OK;
  memcpy(map->numbers, op->table->data, (size_t)count * sizeof *map->numbers);
  if (op->offsets) memcpy(map->numbers + count, op->offsets, (size_t)rows * sizeof *map->numbers);
  return FC_OK;
}

static fc_status join(const fc_host *host, void *self, const fc_setup *setup, const fc_linear_map *map,
                      int32_t border, double value, void **made) {
  const int64_t count = map->rows * map->columns;
  (void)host, (void)self, (void)setup, (void)border, (void)value;
  if (map->form != FC_LINEAR_PIXELS) return FC_UNSUPPORTED;
  operator* op = calloc(1, sizeof *op + (size_t)(count + map->rows) * sizeof(double));
  if (!op) return FC_NO_MEMORY;
  double *numbers = (double *)(op + 1);
  memcpy(numbers, map->numbers, (size_t)(count + map->rows) * sizeof *numbers);
  op->own = (fc_table){.size = sizeof op->own,
                       .name = "the joined matrix",
                       .rows = map->rows,
                       .cols = map->columns,
                       .data = numbers};
  op->table = &op->own, op->axis = FC_AXIS_C;
  for (int64_t r = 0; r < map->rows; r++)
    if (numbers[count + r] != 0) op->offsets = numbers + count;
  *made = op;
  return FC_OK;
}
FC_FUSIBLE_LINEAR(extension, describe, NULL, map_of, join, joined_operator)

/* ---- the descriptor ----------------------------------------------------- */

static const fc_param *const params[PARAMS] = {
    FC_TABLE_PARAM(FC_PARAM_MAIN | FC_PARAM_REQUIRED, "matrix",
                   "The matrix: a row for each output, a column for each input. From a file, a row a line, "
                   "or written out with semicolons between the rows: [1,0;0.5,0.5]."),
    FC_ENUM_PARAM(
        0, "axis", "Which axis is multiplied.", "channel",
        FC_CHOICES(FC_CHOICE(FC_AXIS_C, "channel", "mixes channels: every pixel or frame is a vector"),
                   FC_CHOICE(FC_AXIS_X, "x", "along the rows of images, or along time"),
                   FC_CHOICE(FC_AXIS_X, "time", "the same as x"),
                   FC_CHOICE(FC_AXIS_Y, "y", "along the columns of images"))),
    FC_INT_PARAM(0, "block",
                 "Cuts the axis into blocks of so many elements, each of which is multiplied by itself. It "
                 "is the number of the matrix's columns. Without it the whole axis must be as long as that.",
                 "elements", NULL, FC_INT_AT_LEAST(1)),
    FC_FLOAT_PARAM(FC_PARAM_LIST, "offset",
                   "Added to the outputs: one number, or one for each row of the matrix. Full scale is 1 for "
                   "sound and the largest code for images, as everywhere.",
                   NULL, NULL, NULL),
    BORDER_PARAM,
    BORDER_VALUE_PARAM,
    FC_BOOL_PARAM(
        0, "tensor",
        "Multiplies f32 on tensor cores where there are such (compute capability 9.0), each number split "
        "into two (3xTF32): about twice as fast if the matrix has some hundred rows and columns, and as "
        "exact, but with other last bits. Elsewhere it changes nothing.",
        "no"),
};

static const char *const examples[] = {"matrix:[0.5]:axis=time:block=1", "matrix:[1,1;1,-1]/2:axis=x:block=2",
                                       "matrix:[2]:axis=x:block=1:offset=0.1", NULL};

static const char doc[] =
    "Multiplies along one axis by a matrix M and adds an offset v: y = M x + v.\n\n"
    "Along the channels (the default) every pixel, or every moment of a sound, is a vector x. A square "
    "matrix mixes channels or changes colours; one with fewer rows than columns makes fewer channels of "
    "them, with more rows more. RGB to luma:\n\n"
    "    matrix:[0.299,0.587,0.114]\n\n"
    "Stereo to mono, mono to both sides, left and right exchanged:\n\n"
    "    matrix:[0.5,0.5]    matrix:[1;1]    matrix:[0,1;1,0]\n\n"
    "RGB to YCbCr as JPEG has it, with the offset of the colour differences:\n\n"
    "    matrix:[0.299,0.587,0.114;-0.168736,-0.331264,0.5;0.5,-0.418688,-0.081312]:offset=0,128,128\n\n"
    "Along x (time) or y the axis is cut into blocks, from its beginning on, and every block is multiplied: "
    "a block transform. A matrix that is not square changes the size of an image, or length and sample rate "
    "of a sound, by rows / columns. The last block is extended by the border, so that the result consists of "
    "whole blocks; crop removes the padding.\n\n"
    "Sums are made in the compute precision, in the order of the columns. Values beyond the range of an "
    "integer output are clamped, with a warning.";

#define RUNS                                                                                                 \
  .backends = BACKENDS(FC_ON_CPU(prepare, release, scratch, process_cpu),                                    \
                       FC_ON_CUDA(FC_BACKEND_GRAPH, prepare, release, scratch_cuda, process_cuda)),          \
  .reference = FC_ON_CPU(prepare, release, NULL, process_reference), .extension = extension

static const fc_operator matrix = {
    .size = sizeof(fc_operator),
    .name = "matrix",
    .summary = "multiply along an axis by a matrix: channel mixing, colour, block transforms",
    .keywords = FC_TEXTS("downmix=matrix:[0.5,0.5]", "mono=matrix:[0.5,0.5]", "colormatrix", "sepia"),
    .doc = doc,
    .examples = examples,
    .example_docs = FC_TEXTS("half of every sample", "sum and difference of pairs", "twice, and an offset"),
    .example_commands = FC_TEXTS("", "-i in.png ... -o out.npy", "-i in.wav ... -o out.npy"),
    .n_params = PARAMS,
    FC_EVERY_SIGNAL,
    .params = params,
    .create = create,
    .destroy = destroy,
    .negotiate = negotiate,
    RUNS,
};

JOINED_OPERATOR("matrix", "several matrices as one", FC_EVERY_SIGNAL, .destroy = destroy,
                .negotiate = negotiate, RUNS)

SINGLE_OPERATOR_PLUGIN("matrix", matrix)
