/* SPDX-License-Identifier: MIT */
/*
 * conv1d.c - the operator conv1d: parameters and terms; the work is filters/conv1d.h.
 */
#include "plugins/convolution.h"

#include "plugins/border.h"

enum { MASK, AXIS, BORDER, VALUE, MODE, FLIP, NORMALIZE, METHOD, N_PARAMS };

/* An instance: the mask ready for use but for its element type. */
typedef struct conv1d {
  convolution base;
  const fc_arg *border, *value; /* the host's */
  const fc_table *table;
} conv1d;

/* ---- create ----------------------------------------------------------------- */

static void destroy(void *instance) {
  conv1d *self = instance;
  if (self) convolution_finish(&self->base);
  free(self);
}

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  const fc_table *table = args[MASK]->table;
  const int64_t count = table->rows * table->cols;
  fc_status status = border_check(host, args[BORDER], args[VALUE]);
  if (status != FC_OK) return status;
  if (count < 1) return host->fail(host, FC_INVALID, "%s: an empty mask", table->name);
  conv1d *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, FC_NO_MEMORY, "out of memory");
  self->border = args[BORDER], self->value = args[VALUE], self->table = table;
  self->base.axis = (int)args[AXIS]->ints[0], self->base.mode = (int)args[MODE]->ints[0];
  self->base.method = (int)args[METHOD]->ints[0];
  const int64_t masks = table->rows == 1 ? 1 : table->cols;
  status = convolution_init(host, &self->base, table->name, table->data, count / masks, masks,
                            args[FLIP]->ints[0] != 0, args[NORMALIZE]->ints[0] != 0);
  if (status != FC_OK)
    free(self);
  else
    *instance = self;
  return status;
}

/* ---- negotiate -------------------------------------------------------------- */

static fc_status check_format(const fc_host *host, const conv1d *self, const fc_format *in) {
  const fc_table *table = self->table;
  int64_t channels = in->extent[FC_AXIS_C];
  if (in->kind == FC_AUDIO && self->base.axis != FC_AXIS_X)
    return host->fail(host, FC_INVALID, "axis=y: sound has but one axis, axis=t");
  if (self->base.masks > 1 && self->base.masks != channels)
    return host->fail(
        host, FC_INVALID,
        "%s: %lld columns are as many masks, but there %s %lld channel%s; a mask for all channels "
        "is one column or one row",
        table->name, (long long)self->base.masks, channels == 1 ? "is" : "are", (long long)channels,
        channels == 1 ? "" : "s");
  if (table->rate > 0 && in->rate > 0 && table->rate != in->rate)
    return host->fail(host, FC_INVALID, "%s: a mask at %g Hz for a signal at %g Hz; resample one of them",
                      table->name, table->rate, in->rate);
  return FC_OK;
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  conv1d *self = instance;
  fc_status status = check_format(host, self, terms->in[0]);
  if (status != FC_OK) return status;
  border_terms(self->border, self->value, terms);
  return convolution_terms(host, &self->base, terms);
}

static fc_status prepare(const fc_host *host, void *instance, const fc_setup *setup, void **prepared) {
  return convolution_prepare(host, &((const conv1d *)instance)->base, setup, prepared);
}

/* ---- descriptor -------------------------------------------------------------- */

static const fc_param *const params[N_PARAMS] = {
    [MASK] =
        FC_TABLE_PARAM(FC_PARAM_MAIN | FC_PARAM_REQUIRED | FC_PARAM_MASK, "mask",
                       "The taps: a file of numbers (text, .npy, or a sound file as impulse response) or "
                       "written out, [1,2,1]/4. One row or one column is one mask for all channels; several "
                       "columns are one mask a channel. A sound file must have the signal's sample rate."),
    [AXIS] = FC_ENUM_PARAM(0, "axis", "The axis to convolve along.", "x",
                           FC_CHOICES(FC_CHOICE(FC_AXIS_X, "x", "along the rows, which is time for sound"),
                                      FC_CHOICE(FC_AXIS_Y, "y", "down the columns of an image"),
                                      FC_CHOICE(FC_AXIS_T, "t", "time: the same as x"))),
    [BORDER] = BORDER_PARAM,
    [VALUE] = BORDER_VALUE_PARAM,
    [MODE] = FC_ENUM_PARAM(
        0, "mode", "How long the output is along the axis.", "same",
        FC_CHOICES(FC_CHOICE(SAME, "same", "as long as the signal, centred"),
                   FC_CHOICE(FULL, "full", "every output that a sample touches: taps - 1 longer"),
                   FC_CHOICE(VALID, "valid", "only outputs that need no border: taps - 1 shorter"))),
    [FLIP] = FC_BOOL_PARAM(
        0, "flip",
        "yes convolves: the mask is an impulse response, its centre tap (n-1)/2, as in numpy.convolve. no "
        "correlates: y[i] = sum of x[i - n/2 + j] m[j], as in OpenCV, PyTorch and texts on CUDA.",
        "yes"),
    [NORMALIZE] = FC_BOOL_PARAM(
        0, "normalize", "Divide each mask by the sum of its taps, so that a constant signal keeps its value.",
        "no"),
    [METHOD] = FC_ENUM_PARAM(
        0, "method",
        "How the sums are made. Direct sums are as exact as their own terms allow; those by transforms as "
        "the loudest of the samples around, about 140 dB below it (300 dB with --precision f64).",
        "auto",
        FC_CHOICES(
            FC_CHOICE(AUTO, "auto", "whichever takes less time; direct where sums of integers are exact"),
            FC_CHOICE(DIRECT, "direct", "tap by tap"),
            FC_CHOICE(FFT, "fft",
                      "by Fourier transforms, in time that hardly depends on the mask's length"))),
};

static const char *const examples[] = {
    "conv1d:[1,2,1]/4",
    "conv1d:[1,1,1,1,1]:normalize=yes:border=replicate",
    "conv1d:[1,-1]:flip=no:mode=valid",
    NULL,
};

static const fc_operator conv1d_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    .name = "conv1d",
    .summary = "convolve along one axis with a mask: FIR filters, smoothing, differences",
    .doc = "Convolves the signal with a mask (an impulse response) along time, rows or columns; each channel "
           "by itself. The mask may have any length, also more taps than the signal has samples.\n\n"
           "The result is numpy.convolve(signal, mask, mode=\"same\"), and scipy.ndimage.convolve1d with the "
           "border modes that border names; for an even number of taps the centre is the earlier of the two "
           "middle ones. flip=no correlates instead.\n\n"
           "Sums are in single precision with an error that does not grow with the length of the mask, in "
           "double with --precision f64. Integer samples with integer taps give exact sums as long as these "
           "stay below 2^24 (2^53 in double precision). Long masks go by Fourier transforms (overlap-save), "
           "see method. Results that go back into integers are rounded half to even and clamped.",
    .examples = examples,
    .n_params = N_PARAMS,
    FC_EVERY_SIGNAL,
    .params = params,
    .create = create,
    .destroy = destroy,
    .negotiate = negotiate,
    CONVOLUTION_BACKENDS(prepare),
};

SINGLE_OPERATOR_PLUGIN("conv1d", conv1d_operator)
