/* SPDX-License-Identifier: MIT */
/*
 * sepconv.c - the operator sepconv: parameters and terms; the work is filters/sepconv.h.
 */
#include <stdlib.h>

#include "plugins/border.h"
#include "plugins/sepconv_state.h"

enum { MASK, Y_MASK, BORDER, VALUE, FLIP, NORMALIZE, N_PARAMS };

/* An instance: the masks in reading order. */
typedef struct sepconv {
  const fc_arg *border, *value; /* owned by the host */
  double *x, *y;
  int64_t nx, ny;
} sepconv;

/* ---- create and negotiate ---------------------------------------------------- */

static fc_status read_mask(const fc_host *host, const fc_table *table, int flip, int normalize, double **mask,
                           int64_t *count) {
  double sum = 1;
  *count = table->rows * table->cols;
  if (*count < 1) return host->fail(host, FC_INVALID, "%s: an empty mask", table->name);
  if (table->rows > 1 && table->cols > 1)
    return host->fail(
        host, FC_INVALID,
        "%s: a mask is one row or one column of numbers, and this is a matrix of %lld rows: use conv2d, "
        "which sees whether it is separable",
        table->name, (long long)table->rows);
  fc_status status = normalize ? mask2d_sum(host, table, &sum) : FC_OK;
  if (status != FC_OK) return status;
  if (!(*mask = malloc((size_t)*count * sizeof **mask)))
    return host->fail(host, FC_NO_MEMORY, "%s: no memory for %lld taps", table->name, (long long)*count);
  mask2d_read(*mask, table, flip);
  for (int64_t i = 0; normalize && i < *count; i++) (*mask)[i] /= sum;
  return FC_OK;
}

static void destroy(void *instance) {
  sepconv *self = instance;
  if (!self) return;
  free(self->x);
  free(self->y);
  free(self);
}

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  const fc_table *x = args[MASK]->table, *y = args[Y_MASK]->count > 0 ? args[Y_MASK]->table : x;
  int flip = args[FLIP]->ints[0] != 0, normalize = args[NORMALIZE]->ints[0] != 0;
  fc_status status = border_check(host, args[BORDER], args[VALUE]);
  if (status != FC_OK) return status;
  sepconv *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, FC_NO_MEMORY, "no memory for an operator");
  self->border = args[BORDER], self->value = args[VALUE];
  status = read_mask(host, x, flip, normalize, &self->x, &self->nx);
  if (status == FC_OK) status = read_mask(host, y, flip, normalize, &self->y, &self->ny);
  if (status != FC_OK)
    destroy(self);
  else
    *instance = self;
  return status;
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const sepconv *self = instance;
  if (terms->in[0]->kind == FC_AUDIO)
    return host->fail(host, FC_UNSUPPORTED, "a sound has no rows and columns: use conv1d");
  mask2d_terms(terms, self->ny, self->nx);
  border_terms(self->border, self->value, terms);
  terms->work = 2.0 * (double)(self->nx + self->ny);
  return FC_OK;
}

/* ---- running ------------------------------------------------------------------ */

sepconv_taps sepconv_taps_of(const void *instance, int compute) {
  const sepconv *self = instance;
  (void)compute;
  return (sepconv_taps){self->x, self->y, self->nx, self->ny};
}

/* ---- descriptor ---------------------------------------------------------------- */

static const fc_param *const params[N_PARAMS] = {
    [MASK] = FC_TABLE_PARAM(
        FC_PARAM_MAIN | FC_PARAM_REQUIRED | FC_PARAM_MASK, "mask",
        "The taps along the rows, and down the columns unless y says otherwise: a file of numbers (text or "
        ".npy) or written out, [1,4,6,4,1]/16. One row or one column of any length."),
    [Y_MASK] =
        FC_TABLE_PARAM(FC_PARAM_MASK, "y", "The taps down the columns, if they are not those of mask."),
    [BORDER] = BORDER_PARAM,
    [VALUE] = BORDER_VALUE_PARAM,
    [FLIP] = MASK2D_FLIP_PARAM,
    [NORMALIZE] = MASK2D_NORMALIZE_PARAM,
};

static const char *const examples[] = {
    "sepconv:[1,4,6,4,1]/16",
    "sepconv:[-1,0,1]:y=[1,2,1]:flip=no",
    "sepconv:[1,1,1,1,1,1,1]:y=[1]:normalize=yes:border=replicate",
    NULL,
};

static const char doc[] =
    "Convolves each image, and each channel of it, with the 2-D mask whose element (j, i) is the product of "
    "y[j] and mask[i]: a Gaussian, a box, a Sobel operator, and whatever else is made of a column and a "
    "row. It costs as many multiplications as the two have taps together; conv2d with the same mask costs "
    "their product, unless it finds that the mask is separable, and does the same.\n\n"
    "The result is that of scipy.ndimage.convolve1d along either axis, with the border modes that border "
    "names; of an even number of taps the centre is the earlier of the two middle ones (SciPy's is the "
    "later one: origin=-1 is ours). flip=no correlates, as cv2.sepFilter2D does.\n\n"
    "Columns and rows are summed in one go: what lies between the two passes is not rounded to the image's "
    "type, and never leaves the cache or the processor. Values are code values, 0 to 255 in an 8-bit image. "
    "Sums are in single precision, in double with --precision f64; long masks are summed in parts, so that "
    "their rounding errors stay below 1e-6 of the result. Results that are stored as integers are rounded "
    "half to even and clamped; between operators, and into .npy files, they stay as they are.\n\n"
    "Arrays (.npy) are filtered along their first two axes, or of four the second and third. A sound has no "
    "rows and columns: conv1d is for those.";

SEPCONV_EXTENSION

static const fc_operator sepconv_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    .name = "sepconv",
    .summary = "convolve images with a separable mask: Gaussian, box, Sobel",
    .keywords = FC_TEXTS("sobel", "sepfilter2d", "convsep"),
    .doc = doc,
    .examples = examples,
    .example_docs = FC_TEXTS("blur, five taps", "Sobel: vertical edges", "mean of seven along x"),
    .example_commands = FC_TEXTS("", "-i in.png ... -o out.npy", ""),
    .n_params = N_PARAMS,
    FC_PICTURES_ONLY,
    .params = params,
    .create = create,
    .destroy = destroy,
    .negotiate = negotiate,
    SEPCONV_BACKENDS,
};

SINGLE_OPERATOR_PLUGIN("sepconv", sepconv_operator)
