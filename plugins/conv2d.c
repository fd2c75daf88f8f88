/* SPDX-License-Identifier: MIT */
/*
 * conv2d.c - the operator conv2d: parameters, terms, and the choice between the plain sum
 * (filters/conv2d.h) and few separable passes (filters/sepconv.h).
 */
#include <stdlib.h>
#include <string.h>

#include "core/contract/fc_helpers.h"
#include "filters/filter2d/conv2d.h"
#include "filters/matrix/lowrank.h"
#include "filters/base/samples.h"
#include "filters/filter2d/sepconv.h"
#include "plugins/border.h"
#include "plugins/mask2d.h"
#include "plugins/single.h"

enum { MASK, SEPARATE, BORDER, VALUE, FLIP, NORMALIZE, N_PARAMS };
enum { SEPARATE_AUTO, SEPARATE_NO };

#define RANKS FC_SEPCONV_RANKS

/* An instance: the mask in reading order, and its separable terms, the first ranks[c] of which add up to
 * it in compute type c (0 f32, 1 f64); 0 if there are too many. */
typedef struct conv2d {
  const fc_arg *border, *value; /* owned by the host; NULL for several stages joined */
  int joined_border;            /* theirs */
  double joined_value;
  double *mask, *column, *row;
  int64_t nx, ny;
  int ranks[2];
  int plain; /* separate=no */
} conv2d;

/* ---- create and negotiate ---------------------------------------------------- */

/* The number of separable passes; 0 for the plain sum. Between passes a row is written and read again, at
 * about the cost of 2 taps. */
static int rank_of(const conv2d *self, int compute) {
  int rank = self->ranks[compute == FC_F64];
  return rank * (self->nx + self->ny) + 2 < self->nx * self->ny ? rank : 0;
}

static void destroy(void *instance) {
  conv2d *self = instance;
  if (!self) return;
  free(self->mask);
  free(self->column);
  free(self->row);
  free(self);
}

/* Terms found for either tolerance differ only in their number. */
static fc_status find_terms(const fc_host *host, conv2d *self, const char *name) {
  double *rest = malloc((size_t)(self->nx * self->ny) * sizeof *rest);
  self->column = malloc((size_t)(self->ny * RANKS) * sizeof *self->column);
  self->row = malloc((size_t)(self->nx * RANKS) * sizeof *self->row);
  if (!rest || !self->column || !self->row) {
    free(rest);
    return host->fail(host, FC_NO_MEMORY, "%s: no memory for %lld taps", name,
                      (long long)(self->nx * self->ny));
  }
  static const double tolerance[] = {FC_LOWRANK_F32, FC_LOWRANK_F64};
  for (int c = 0; c < 2; c++)
    self->ranks[c] =
        fc_lowrank(self->mask, self->ny, self->nx, RANKS, tolerance[c], self->column, self->row, rest);
  free(rest);
  return FC_OK;
}

/* After the terms are found, since before division these are exact for integer masks. */
static void divide(conv2d *self, double sum) {
  for (int64_t i = 0; i < self->nx * self->ny; i++) self->mask[i] /= sum;
  for (int64_t i = 0; self->row && i < self->nx * RANKS; i++) self->row[i] /= sum;
}

static fc_status set_up(const fc_host *host, const fc_arg *const *args, conv2d *self) {
  const fc_table *table = args[MASK]->table;
  double sum = 1;
  self->border = args[BORDER], self->value = args[VALUE];
  self->ny = table->rows, self->nx = table->cols;
  fc_status status = args[NORMALIZE]->ints[0] ? mask2d_sum(host, table, &sum) : FC_OK;
  if (status != FC_OK) return status;
  if (!(self->mask = malloc((size_t)(self->nx * self->ny) * sizeof *self->mask)))
    return host->fail(host, FC_NO_MEMORY, "%s: no memory for %lld taps", table->name,
                      (long long)(self->nx * self->ny));
  mask2d_read(self->mask, table, args[FLIP]->ints[0] != 0);
  self->plain = args[SEPARATE]->ints[0] != SEPARATE_AUTO;
  if (!self->plain) status = find_terms(host, self, table->name);
  if (status == FC_OK && args[NORMALIZE]->ints[0]) divide(self, sum);
  return status;
}

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  const fc_table *table = args[MASK]->table;
  fc_status status = border_check(host, args[BORDER], args[VALUE]);
  if (status != FC_OK) return status;
  if (table->rows < 1 || table->cols < 1)
    return host->fail(host, FC_INVALID, "%s: an empty mask", table->name);
  conv2d *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, FC_NO_MEMORY, "no memory for an operator");
  status = set_up(host, args, self);
  if (status != FC_OK)
    destroy(self);
  else
    *instance = self;
  return status;
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const conv2d *self = instance;
  if (terms->in[0]->kind == FC_AUDIO)
    return host->fail(host, FC_UNSUPPORTED, "a sound has no rows and columns: use conv1d");
  int rank = rank_of(self, terms->compute);
  mask2d_terms(terms, self->ny, self->nx);
  if (self->border)
    border_terms(self->border, self->value, terms);
  else
    terms->needs[0]->border = self->joined_border, terms->needs[0]->border_value = self->joined_value;
  terms->work = 2.0 * (double)(rank > 0 ? rank * (self->nx + self->ny) : self->nx * self->ny);
  if (rank == 1)
    host->remark(host, "runs as sepconv: the mask is separable");
  else if (rank > 1)
    host->remark(host, "runs as the sum of %d sepconv: the mask has rank %d", rank, rank);
  return FC_OK;
}

/* ---- running ------------------------------------------------------------------ */

typedef struct conv2d_state {
  fc_conv2d plain;
  fc_sepconv separate;           /* if its rank is not 0 */
  mask2d_taps mask, row, column; /* from host->alloc */
  int device;
} conv2d_state;

static void release(const fc_host *host, void *prepared) {
  conv2d_state *state = prepared;
  if (!state) return;
  mask2d_taps_clear(host, state->device, &state->mask);
  mask2d_taps_clear(host, state->device, &state->row);
  mask2d_taps_clear(host, state->device, &state->column);
  free(state);
}

static fc_status prepare_plain(const fc_host *host, const conv2d *self, const fc_setup *setup,
                               conv2d_state *state) {
  fc_status status = mask2d_taps_make(host, setup, self->mask, self->nx * self->ny, &state->mask);
  state->plain = (fc_conv2d){
      .compute = setup->compute,
      .isa = fc_isa_best(),
      .nx = self->nx,
      .ny = self->ny,
      .mask = state->mask.host,
      .device_mask = state->mask.device,
  };
  return status;
}

static fc_status prepare_separate(const fc_host *host, const conv2d *self, const fc_setup *setup, int rank,
                                  conv2d_state *state) {
  fc_status status = mask2d_taps_make(host, setup, self->row, rank * self->nx, &state->row);
  if (status == FC_OK) status = mask2d_taps_make(host, setup, self->column, rank * self->ny, &state->column);
  state->separate = (fc_sepconv){
      .compute = setup->compute,
      .isa = fc_isa_best(),
      .rank = rank,
      .nx = self->nx,
      .ny = self->ny,
      .x = state->row.host,
      .y = state->column.host,
      .device_x = state->row.device,
      .device_y = state->column.device,
  };
  return status;
}

static fc_status prepare_rank(const fc_host *host, void *instance, const fc_setup *setup, int rank,
                              void **prepared) {
  conv2d_state *state = calloc(1, sizeof *state);
  if (!state) return host->fail(host, FC_NO_MEMORY, "no memory for an operator");
  state->device = setup->device;
  fc_status status = rank > 0 ? prepare_separate(host, instance, setup, rank, state)
                              : prepare_plain(host, instance, setup, state);
  if (status != FC_OK)
    release(host, state);
  else
    *prepared = state;
  return status;
}

static fc_status prepare(const fc_host *host, void *instance, const fc_setup *setup, void **prepared) {
  return prepare_rank(host, instance, setup, rank_of(instance, setup->compute), prepared);
}

/* The reference always uses the plain sum. */
static fc_status reference_prepare(const fc_host *host, void *instance, const fc_setup *setup,
                                   void **prepared) {
  return prepare_rank(host, instance, setup, 0, prepared);
}

static size_t cpu_scratch(const void *prepared, const fc_job *job) {
  const conv2d_state *state = prepared;
  return state->separate.rank > 0 ? fc_sepconv_scratch(&state->separate, job->out)
                                  : fc_conv2d_scratch(&state->plain, job->out);
}

static fc_status cpu_process(const fc_host *host, const void *prepared, const fc_job *job) {
  const conv2d_state *state = prepared;
  const fc_view *in = job->in[0], *out = job->out;
  return state->separate.rank > 0 ? fc_sepconv_cpu(&state->separate, in, out, job->scratch, job->notes)
                                  : fc_conv2d_cpu(&state->plain, in, out, job->scratch, job->notes);
}

static fc_status reference_process(const fc_host *host, const void *prepared, const fc_job *job) {
  const conv2d_state *state = prepared;
  return fc_conv2d_ref(&state->plain, job->in[0], job->out, job->notes);
}

#if FC_HAVE_CUDA
static size_t cuda_scratch(const void *prepared, const fc_job *job) {
  const conv2d_state *state = prepared;
  return state->separate.rank > 0 ? fc_sepconv_cuda_scratch(&state->separate, job->out) : 0;
}

static fc_status cuda_process(const fc_host *host, const void *prepared, const fc_job *job) {
  const conv2d_state *state = prepared;
  const fc_view *in = job->in[0], *out = job->out;
  const int separate = state->separate.rank > 0;
  if (job->edges)
    return separate ? fc_sepconv_cuda_edges(&state->separate, in, job->edges, out, job->stream, job->notes)
                    : fc_conv2d_cuda_edges(&state->plain, in, job->edges, out, job->stream, job->notes);
  return separate ? fc_sepconv_cuda(&state->separate, in, out, job->scratch, job->stream, job->notes)
                  : fc_conv2d_cuda(&state->plain, in, out, job->stream, job->notes);
}
#endif

_Static_assert(FC_CONV2D_RUN == FC_FUNCTION_DENSE_RUN, "the same sums");

/* As in sepconv.c for a mask that is a product; none for a sum of several, or for rows of more than a run. */
static fc_status describe(const fc_host *host, void *instance, const fc_setup *setup,
                          fc_device_function *function) {
  const conv2d *self = instance;
  const int rank = rank_of(self, setup->compute);
  (void)host;
  if (rank > 1 || (rank == 1 && mask2d_in_integers(setup, self->nx, self->ny)) ||
      (rank == 0 && self->nx > FC_CONV2D_RUN))
    return FC_UNSUPPORTED;
  return rank == 1 ? mask2d_describe(setup, self->nx, self->ny, self->row, self->column, function)
                   : mask2d_describe(setup, self->nx, self->ny, self->mask, NULL, function);
}

/* ---- joined by algebra ---------------------------------------------------------- */

static fc_status map_of(const fc_host *host, void *instance, const fc_setup *setup, fc_linear_map *map) {
  const conv2d *self = instance;
  (void)host, (void)setup;
  mask2d_map(map, FC_LINEAR_DENSE, self->ny, self->nx, self->nx * self->ny);
  if (map->room >= map->count) memcpy(map->numbers, self->mask, (size_t)map->count * sizeof *self->mask);
  return FC_OK;
}

/* Of separable windows too; summed as the stage is. */
static fc_status join(const fc_host *host, void *instance, const fc_setup *setup, const fc_linear_map *map,
                      int32_t border, double value, void **made) {
  const mask2d_room y = mask2d_room_of(map->ny, map->before_y), x = mask2d_room_of(map->nx, map->before_x);
  (void)setup;
  if (map->form == FC_LINEAR_PIXELS || map->masks > 1 || map->growth_x || map->growth_y)
    return FC_UNSUPPORTED;
  conv2d *self = calloc(1, sizeof *self);
  if (!self) return FC_NO_MEMORY;
  self->plain = ((const conv2d *)instance)->plain;
  self->nx = x.taps, self->ny = y.taps, self->joined_border = border, self->joined_value = value;
  self->mask = calloc((size_t)(x.taps * y.taps), sizeof *self->mask);
  for (int64_t j = 0; self->mask && j < map->ny; j++)
    for (int64_t i = 0; i < map->nx; i++)
      self->mask[(j + y.ahead) * x.taps + i + x.ahead] = map->form == FC_LINEAR_DENSE
                                                             ? map->numbers[j * map->nx + i]
                                                             : map->numbers[map->nx + j] * map->numbers[i];
  const fc_status status = !self->mask   ? FC_NO_MEMORY
                           : self->plain ? FC_OK
                                         : find_terms(host, self, "the joined mask");
  if (status == FC_OK)
    *made = self;
  else
    destroy(self);
  return status;
}
FC_FUSIBLE_LINEAR(extension, describe, NULL, map_of, join, joined_operator)

/* ---- descriptor ---------------------------------------------------------------- */

static const fc_param *const params[N_PARAMS] = {
    [MASK] =
        FC_TABLE_PARAM(FC_PARAM_MAIN | FC_PARAM_REQUIRED, "mask",
                       "The matrix: a file with a row a line (text or .npy), or written out with ; between "
                       "the rows, [0,1,0;1,-4,1;0,1,0]. Any number of rows and columns, odd or even."),
    [SEPARATE] = FC_ENUM_PARAM(
        0, "separate", "How the sum is computed. The results differ by rounding only.", "auto",
        FC_CHOICES(FC_CHOICE(SEPARATE_AUTO, "auto",
                             "as one to three separable passes where the mask allows and it is quicker"),
                   FC_CHOICE(SEPARATE_NO, "no", "as the plain sum over the mask"))),
    [BORDER] = BORDER_PARAM,
    [VALUE] = BORDER_VALUE_PARAM,
    [FLIP] = MASK2D_FLIP_PARAM,
    [NORMALIZE] = MASK2D_NORMALIZE_PARAM,
};

static const char *const examples[] = {
    "conv2d:[0,1,0;1,-4,1;0,1,0]",
    "conv2d:[1,2,1;2,4,2;1,2,1]/16:border=replicate",
    "conv2d:[0,1,1,0;1,1,1,1;1,1,1,1;0,1,1,0]:normalize=yes:flip=no",
    NULL,
};

static const char doc[] =
    "Convolves each image, and each channel of it, with any 2-D mask. The mask may have an even number of "
    "rows or columns, be a single row or column, and be larger than the image.\n\n"
    "The result is that of scipy.ndimage.convolve with the border modes that border names, and of "
    "scipy.signal.convolve2d(mode=\"same\"); of an even number of rows or columns the centre is the earlier "
    "of the two middle ones, as in scipy.signal (scipy.ndimage takes the later: origin=-1 is ours). flip=no "
    "correlates, as cv2.filter2D does.\n\n"
    "A mask that is the product of a column and a row, or the sum of two or three such products, is "
    "filtered by separable passes if that is quicker: a Gaussian of 15 x 15 taps then costs 30 "
    "multiplications a pixel instead of 225. --dry-run says so. The products equal the mask up to the error "
    "of rounding taps to single precision (2^-24 of the sum of their magnitudes; 2^-50 with --precision "
    "f64), which a mask written with four digits usually misses. Products of whole numbers are found "
    "exactly. separate=no "
    "switches this off.\n\n"
    "Values are code values, 0 to 255 in an 8-bit image. Sums are in single precision, in double with "
    "--precision f64; large masks are summed in parts, so that their rounding errors stay below 1e-6 of the "
    "result. Results that are stored as integers are rounded half to even and clamped; between operators, "
    "and into .npy files, they stay as they are.\n\n"
    "Arrays (.npy) are filtered along their first two axes, or of four the second and third. A sound has no "
    "rows and columns: conv1d is for those.";

#define RUNS                                                                                                 \
  .backends = BACKENDS(                                                                                      \
      FC_ON_CPU(prepare, release, cpu_scratch, cpu_process),                                                 \
      FC_ON_CUDA(FC_BACKEND_GRAPH | FC_BACKEND_EDGES, prepare, release, cuda_scratch, cuda_process)),        \
  .reference = FC_ON_CPU(reference_prepare, release, NULL, reference_process), .extension = extension

static const fc_operator conv2d_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    .name = "conv2d",
    .summary = "convolve images with any 2-D mask: sharpen, blur, edges, texture",
    .keywords = FC_TEXTS("convolve", "convolution", "filter2d", "emboss", "edges"),
    .doc = doc,
    .examples = examples,
    .example_docs = FC_TEXTS("Laplacian: edges", "smooth, edges repeated", "mean over a disc"),
    .example_commands = FC_TEXTS("-i in.png ... -o out.npy", "", ""),
    .n_params = N_PARAMS,
    FC_PICTURES_ONLY,
    .params = params,
    .create = create,
    .destroy = destroy,
    .negotiate = negotiate,
    RUNS,
};

JOINED_OPERATOR("conv2d", "several convolutions as one", .flags = FC_OP_KEEPS_MEANING, FC_PICTURES_ONLY,
                .destroy = destroy, .negotiate = negotiate, RUNS)

SINGLE_OPERATOR_PLUGIN("conv2d", conv2d_operator)
