/* SPDX-License-Identifier: MIT */
/*
 * dct - discrete cosine transforms of blocks: the matrices of filters/dct.h, applied by
 * filters/matrix.h along one axis and by filters/matrix_xy.h along two, or, for blocks long
 * enough, the fast transforms of filters/dct_fft.h.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "core/contract/fc_helpers.h"
#include "filters/fourier/dct_fft.h"
#include "filters/matrix/matrix_xy.h"
#include "plugins/axes.h"
#include "plugins/border.h"
#include "plugins/matrix_state.h"
#include "plugins/meaning.h"
#include "plugins/single.h"

enum { BLOCK, AXIS, TYPE, NORM, INVERSE, KEEP, BORDER, VALUE, PARAMS };

/* For larger sizes making the matrix would take longer than using it. */
#define LARGEST 4096

typedef struct instance {
  fc_dct dct;                   /* without its size */
  const fc_arg *border, *value; /* owned by the host */
  int axis;
  int64_t block[2]; /* along X (or the one axis) and Y; 0: the whole axis */
  int64_t sizes;    /* how many sizes block gives */
  int64_t keep;     /* 0: all */
} instance;

/* The transform along one axis: a matrix on the device, or a plan in host memory with a copy on the device.
 */
typedef struct line {
  fc_matrix m;
  fc_dct_fft *fast; /* or NULL */
  void *device_fast;
} line;

typedef struct state {
  line x, y; /* along one axis: x, whichever it is */
  int both, device;
} state;

/* One axis of the transform: `cols` values in, `rows` out, by a DCT of `size`. */
typedef struct shape {
  int64_t size, rows, cols;
} shape;

static fc_status check_keep(const fc_host *host, const fc_arg *const *args) {
  if (!args[KEEP]->count) return FC_OK;
  int64_t keep = args[KEEP]->ints[0];
  if (args[INVERSE]->ints[0] && !args[BLOCK]->count)
    return host->fail(host, FC_INVALID, "keep with inverse=yes needs block: how many values there were");
  for (int64_t i = 0; i < args[BLOCK]->count; i++)
    if (keep > args[BLOCK]->ints[i])
      return host->fail(host, FC_INVALID, "keep=%lld is more than a block of %lld has", (long long)keep,
                        (long long)args[BLOCK]->ints[i]);
  return FC_OK;
}

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  fc_status status = check_keep(host, args);
  if (status == FC_OK) status = border_check(host, args[BORDER], args[VALUE]);
  if (status != FC_OK) return status;
  instance *op = calloc(1, sizeof *op);
  if (!op) return FC_NO_MEMORY;
  op->axis = (int)args[AXIS]->ints[0];
  op->border = args[BORDER];
  op->value = args[VALUE];
  op->dct = (fc_dct){0, (int)args[TYPE]->ints[0], (int)args[NORM]->ints[0], (int)args[INVERSE]->ints[0]};
  op->sizes = args[BLOCK]->count;
  if (op->sizes) {
    op->block[0] = args[BLOCK]->ints[0];
    op->block[1] = args[BLOCK]->ints[op->sizes - 1];
  }
  op->keep = args[KEEP]->count ? args[KEEP]->ints[0] : 0;
  *self = op;
  return FC_OK;
}

static void destroy(void *self) {
  free(self);
}

static int axis_of(const instance *op, const fc_format *in) {
  return axes_chosen(op->axis, op->sizes, in);
}

/* `which` is 0 for X or the only axis, 1 for Y. */
static fc_status shape_of(const fc_host *host, const instance *op, const fc_format *in, int axis, int which,
                          shape *s) {
  int64_t extent = in->extent[axis];
  s->size = op->block[which] ? op->block[which] : extent;
  if (s->size < 0) return host->fail(host, FC_INVALID, "the length of the sound is not known: give block=");
  if (s->size > LARGEST)
    return host->fail(host, FC_INVALID,
                      "a transform of %lld values at once is too large: give block=, at most %d",
                      (long long)s->size, LARGEST);
  if (s->size == 0) s->size = 1; /* an empty axis has no blocks */
  int64_t keep = op->keep ? op->keep : s->size;
  if (keep > s->size)
    return host->fail(host, FC_INVALID, "keep=%lld is more than the %lld values there are", (long long)keep,
                      (long long)s->size);
  s->rows = op->dct.inverse ? s->size : keep;
  s->cols = op->dct.inverse ? keep : s->size;
  return FC_OK;
}

static fc_status negotiate_axis(const fc_host *host, const instance *op, fc_terms *terms, int axis,
                                int which) {
  shape s = {1, 1, 1};
  const fc_format *in = terms->in[0];
  fc_format *out = terms->out;
  fc_status status = shape_of(host, op, in, axis, which, &s);
  if (status != FC_OK) return status;
  terms->needs[0]->reach[axis] = (fc_reach){0, 0, s.cols, s.rows, s.rows};
  int64_t extent = in->extent[axis];
  out->extent[axis] = extent < 0 ? FC_UNKNOWN : (extent + s.cols - 1) / s.cols * s.rows;
  if (axis == FC_AXIS_X && in->rate > 0) out->rate = in->rate * (double)s.rows / (double)s.cols;
  terms->work += fc_dct_fft_pays(s.size) ? 2.5 * log2((double)s.size) + 5 : 2.0 * (double)s.cols;
  return FC_OK;
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  const instance *op = self;
  const fc_format *in = terms->in[0];
  int axis = axis_of(op, in);
  fc_status status = axes_check(host, axis, in);
  if (status != FC_OK) return status;
  meaning_keep_time(terms);
  border_terms(op->border, op->value, terms);
  terms->any_size = op->sizes > 0 && axes_are_fixed(op->axis, op->sizes, in);
  if (axis != AXIS_XY) return negotiate_axis(host, op, terms, axis, 0);
  status = negotiate_axis(host, op, terms, FC_AXIS_X, 0);
  return status == FC_OK ? negotiate_axis(host, op, terms, FC_AXIS_Y, 1) : status;
}

/* ---- running -------------------------------------------------------------- */

static fc_status make_matrix(const fc_host *host, const fc_dct *dct, const fc_setup *setup, int axis,
                             const shape *s, fc_matrix *m) {
  double *all = host->alloc(host, FC_HOST, (size_t)(s->size * s->size) * sizeof *all);
  if (!all)
    return host->fail(host, FC_NO_MEMORY, "no memory for a matrix of %lld x %lld", (long long)s->size,
                      (long long)s->size);
  fc_dct_matrix(dct, s->rows, all);
  /* The inverse takes only the first coefficients: rows have fewer columns. */
  for (int64_t r = 1; r < s->rows && s->cols < s->size; r++)
    memmove(all + r * s->cols, all + r * s->size, (size_t)s->cols * sizeof *all);
  fc_status status = matrix_state_make(host, setup, axis, s->rows, s->cols, all, NULL, m);
  host->free(host, FC_HOST, all);
  return status;
}

static fc_status make_fast(const fc_host *host, const fc_dct *dct, const fc_setup *setup, int axis,
                           const shape *s, line *l) {
  size_t bytes = fc_dct_fft_bytes(s->size, setup->compute);
  l->fast = host->alloc(host, FC_HOST, bytes);
  if (!l->fast)
    return host->fail(host, FC_NO_MEMORY, "no memory for a transform of %lld values", (long long)s->size);
  fc_status status = fc_dct_fft_init(l->fast, dct, setup->compute, fc_isa_best(), axis, s->rows, s->cols);
  if (status != FC_OK || setup->device == FC_HOST) return status;
  l->fast->device = l->device_fast = host->alloc(host, setup->device, bytes);
  status = l->device_fast ? host->upload(host, setup->device, l->device_fast, l->fast, bytes) : FC_NO_MEMORY;
  if (status == FC_OK) return FC_OK;
  return host->fail(host, status, "no device memory for a transform of %lld values", (long long)s->size);
}

static int pays(const fc_setup *setup, int64_t size, int alone) {
#if FC_HAVE_CUDA
  if (setup->device != FC_HOST)
    return fc_dct_choose(size, setup->compute, alone, fc_dct_major_of(setup->device)).launch != FC_DCT_MATRIX;
#else
  (void)setup, (void)alone;
#endif
  return fc_dct_fft_pays(size);
}

/* `plain`: by the matrix, for any size. */
static fc_status make_line(const fc_host *host, const instance *op, const fc_setup *setup, int axis,
                           int which, int plain, line *l) {
  shape s = {1, 1, 1};
  fc_status status = shape_of(host, op, setup->in[0], axis, which, &s);
  if (status != FC_OK) return status;
  fc_dct dct = op->dct;
  dct.size = s.size;
  if (plain || !pays(setup, s.size, axis_of(op, setup->in[0]) != AXIS_XY))
    return make_matrix(host, &dct, setup, axis, &s, &l->m);
  return make_fast(host, &dct, setup, axis, &s, l);
}

static void clear_line(const fc_host *host, int device, line *l) {
  matrix_state_clear(host, device, &l->m);
  host->free(host, device, l->device_fast);
  host->free(host, FC_HOST, l->fast);
}

static void release(const fc_host *host, void *prepared) {
  state *s = prepared;
  if (!s) return;
  clear_line(host, s->device, &s->x);
  clear_line(host, s->device, &s->y);
  free(s);
}

static fc_status make_state(const fc_host *host, const instance *op, const fc_setup *setup, int plain,
                            void **prepared) {
  int axis = axis_of(op, setup->in[0]);
  state *s = calloc(1, sizeof *s);
  if (!s) return FC_NO_MEMORY;
  s->device = setup->device;
  s->both = axis == AXIS_XY;
  fc_status status = make_line(host, op, setup, s->both ? FC_AXIS_X : axis, 0, plain, &s->x);
  if (status == FC_OK && s->both) status = make_line(host, op, setup, FC_AXIS_Y, 1, plain, &s->y);
  if (status == FC_OK)
    *prepared = s;
  else
    release(host, s);
  return status;
}

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {
  return make_state(host, self, setup, 0, prepared);
}

static fc_pass pass_of(const line *l) {
  return l->fast ? fc_dct_fft_pass(l->fast) : fc_matrix_pass(&l->m);
}

static fc_passes passes_of(const state *s) {
  return (fc_passes){s->x.fast ? s->x.fast->compute : s->x.m.compute, pass_of(&s->x),
                     s->both ? pass_of(&s->y) : (fc_pass){0}};
}

static size_t scratch(const void *prepared, const fc_job *job) {
  const state *s = prepared;
  fc_passes p = passes_of(s);
  return s->both ? fc_passes_scratch(&p, job->out) : p.x.scratch;
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  const state *s = prepared;
  fc_passes p = passes_of(s);
  if (s->both) return fc_passes_run(&p, job->in[0], job->out, job->scratch, job->notes);
  return p.x.run(p.x.self, job->in[0], job->out, job->scratch, job->notes);
}

/* ---- the reference ---------------------------------------------------------- */

static fc_status prepare_reference(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {
  return make_state(host, self, setup, 1, prepared);
}

static size_t scratch_reference(const void *prepared, const fc_job *job) {
  const state *s = prepared;
  fc_matrix_xy m = {s->x.m, s->y.m};
  return s->both ? fc_matrix_xy_scratch(&m, job->in[0], job->out) : 0;
}

static fc_status process_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  const state *s = prepared;
  fc_matrix_xy m = {s->x.m, s->y.m};
  if (s->both) return fc_matrix_xy_ref(&m, job->in[0], job->out, job->scratch, job->notes);
  return fc_matrix_ref(&s->x.m, job->in[0], job->out, job->notes);
}

#if FC_HAVE_CUDA
static fc_device_pass device_pass_of(const line *l) {
  return l->fast ? fc_dct_fft_device_pass(l->fast) : fc_matrix_device_pass(&l->m);
}

static fc_device_passes device_passes_of(const state *s) {
  return (fc_device_passes){s->x.fast ? s->x.fast->compute : s->x.m.compute, device_pass_of(&s->x),
                            s->both ? device_pass_of(&s->y) : (fc_device_pass){0}};
}

/* Small matrices of both axes are applied by one kernel. */
static int by_matrices(const state *s) {
  return s->both && !s->x.fast && !s->y.fast;
}

static size_t scratch_cuda(const void *prepared, const fc_job *job) {
  const state *s = prepared;
  fc_matrix_xy m = {s->x.m, s->y.m};
  if (by_matrices(s)) return fc_matrix_xy_device_scratch(&m, job->out);
  fc_device_passes p = device_passes_of(s);
  return s->both ? fc_device_passes_scratch(&p, job->out) : p.x.scratch(p.x.self, job->out);
}

static fc_status process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  const state *s = prepared;
  fc_matrix_xy m = {s->x.m, s->y.m};
  if (by_matrices(s))
    return fc_matrix_xy_cuda(&m, job->in[0], job->out, job->scratch, job->notes, job->stream);
  fc_device_passes p = device_passes_of(s);
  if (s->both) return fc_device_passes_run(&p, job->in[0], job->out, job->scratch, job->notes, job->stream);
  return p.x.run(p.x.self, job->in[0], job->out, job->scratch, job->notes, job->stream);
}
#endif

/* ---- the descriptor --------------------------------------------------------- */

static const fc_param *const params[PARAMS] = {
    FC_PARAM(FC_INT, FC_PARAM_MAIN | FC_PARAM_LIST, 2, "block",
             "Values that are transformed at once; in two dimensions one number for square blocks, or "
             "WIDTHxHEIGHT. Without it the whole axis is one block.",
             "elements", NULL, FC_INT_BETWEEN(1, LARGEST), NULL, NULL, NULL),
    FC_ENUM_PARAM(0, "axis", "Which axis is transformed.", "auto",
                  FC_CHOICES(AXES_CHOICES, FC_CHOICE(FC_AXIS_C, "channel",
                                                     "along the channels, such as the bands of a spectrum"))),
    FC_INT_PARAM(0, "type", "The transform's type: 2, \"the\" DCT, or 3, which undoes it.", NULL, "2",
                 FC_INT_BETWEEN(2, 3)),
    FC_ENUM_PARAM(
        0, "norm", "The scale of the coefficients.", "ortho",
        FC_CHOICES(FC_CHOICE(1, "ortho", "orthonormal: energy is kept, the inverse is the transpose"),
                   FC_CHOICE(0, "none", "the plain sums, twice over, as scipy.fft.dct has them by default"))),
    FC_BOOL_PARAM(0, "inverse", "Turns coefficients back into values.", "no"),
    FC_INT_PARAM(0, "keep",
                 "Makes only so many coefficients of each block, the lowest ones. With inverse=yes, only so "
                 "many are there; the others are taken for zero.",
                 "coefficients", NULL, FC_INT_BETWEEN(1, LARGEST)),
    BORDER_PARAM,
    BORDER_VALUE_PARAM,
};

static const char *const examples[] = {"dct:8", "dct:block=8:inverse=yes",
                                       "dct:block=16:axis=x:norm=none:keep=4", NULL};

static const char doc[] =
    "Discrete cosine transform, type II or III, of blocks of a sound or an image.\n\n"
    "Images are transformed in two dimensions, 8 x 8 pixels at a time with block=8, as JPEG does; sound "
    "along time. The coefficients take the place of the values: the first of a block is its mean (times the "
    "square root of its size), the last its fastest change. What an image codes as 0..255 becomes "
    "coefficients from -1024 to 2040 or so, which are kept in floating point between operators and in .npy "
    "files; a PNG would clamp them.\n\n"
    "    dct:8                        forward\n"
    "    dct:8:inverse=yes            back, to rounding\n\n"
    "The last blocks are extended by the border, so that the result consists of whole blocks; after the "
    "inverse crop removes the padding.\n\n"
    "Along the channels the transform takes the logarithms of a mel spectrum to cepstral coefficients "
    "(MFCC), of which keep=13 are usually wanted:\n\n"
    "    mel:bands=40:out=db  dct:axis=channel:keep=13\n\n"
    "Definitions are those of scipy.fft.dct: type II is X[k] = 2 sum x[i] cos(pi k (2i+1) / 2N), type III "
    "its transpose with the first term once; norm=ortho scales by sqrt(1/2N), the first coefficient by "
    "sqrt(1/4N). The transform is done as a matrix product, at a cost of 2 N flop a value, or, where that "
    "is faster (from some 40 values on), as a fast transform, at about 2.5 log2 N. A NaN "
    "or infinity leaves no finite value in its block.";

static const fc_operator dct = {
    .size = sizeof(fc_operator),
    .name = "dct",
    .summary = "discrete cosine transform of blocks, and its inverse",
    .doc = doc,
    .examples = examples,
    .example_docs = FC_TEXTS("8 x 8 blocks, as JPEG", "back from coefficients", "the 4 lowest of 16"),
    .example_commands = FC_TEXTS("-i in.png ... -o out.npy", "-i in.png -p dct:block=8 ... -o out.png",
                                 "-i in.wav ... -o out.npy"),
    .n_params = PARAMS,
    FC_EVERY_SIGNAL,
    .params = params,
    .create = create,
    .destroy = destroy,
    .negotiate = negotiate,
    .backends = BACKENDS(
        FC_BACKEND(FC_BACKEND_SHAPED, FC_KIND_HOST, prepare, release, scratch, process_cpu),
        FC_ON_CUDA(FC_BACKEND_GRAPH | FC_BACKEND_SHAPED, prepare, release, scratch_cuda, process_cuda)),
    .reference = FC_BACKEND(FC_BACKEND_SHAPED, FC_KIND_HOST, prepare_reference, release, scratch_reference,
                            process_reference),
};

SINGLE_OPERATOR_PLUGIN("dct", dct)
