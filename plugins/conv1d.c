/* SPDX-License-Identifier: MIT */
/*
 * conv1d.c - the operator conv1d: parameters and terms; the work is filters/conv1d.h.
 */
#include "plugins/convolution.h"

#include "filters/polyphase/polyphase.h"
#include "plugins/border.h"

enum { MASK, AXIS, BORDER, VALUE, MODE, FLIP, NORMALIZE, METHOD, N_PARAMS };

/* The impulse response, resampled to another sample rate. */
typedef struct at_rate {
  double rate;
  convolution filter;
  struct at_rate *next;
} at_rate;

/* An instance: the mask, except for conversion to the compute type. */
typedef struct conv1d {
  convolution base;
  at_rate *others; /* made in negotiate */
  int flip, normalize;
  const fc_arg *border, *value; /* owned by the host */
  const fc_table *table;
} conv1d;

/* ---- create ----------------------------------------------------------------- */

static void destroy(void *instance) {
  conv1d *self = instance;
  if (!self) return;
  convolution_finish(&self->base);
  for (at_rate *one = self->others, *next; one; one = next) {
    next = one->next;
    convolution_finish(&one->filter);
    free(one);
  }
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
  self->flip = args[FLIP]->ints[0] != 0, self->normalize = args[NORMALIZE]->ints[0] != 0;
  status = convolution_init(host, &self->base, table->name, table->data, count / masks, masks, self->flip,
                            self->normalize);
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
    return host->fail(host, FC_INVALID,
                      "%s: a mask of %lld columns is for as many channels, but there %s %lld channel%s; one "
                      "mask for all channels is one column or one row",
                      table->name, (long long)self->base.masks, channels == 1 ? "is" : "are",
                      (long long)channels, channels == 1 ? "" : "s");
  return FC_OK;
}

/* ---- impulse responses at another rate ------------------------------------------ */

static int is_at(const conv1d *self, double rate) {
  return self->table->rate <= 0 || rate <= 0 || self->table->rate == rate;
}

static fc_view mask_view(double *data, int64_t length, int64_t channels) {
  const int64_t size = (int64_t)sizeof(double), row = size * channels;
  return (fc_view){.size = sizeof(fc_view),
                   .dtype = FC_F64,
                   .kind = FC_AUDIO,
                   .device = FC_HOST,
                   .data = data,
                   .shape = {1, 1, length, channels},
                   .stride = {row * length, row * length, row, size},
                   .extent = {1, 1, length, channels}};
}

/* Resamples with zeros beyond the ends; the number of samples per second changes, so each is scaled
 * accordingly. */
static fc_status resample(const fc_polyphase *r, const conv1d *self, double *to, int64_t length) {
  const int64_t masks = self->base.masks, taps = self->base.taps, count = taps * masks;
  fc_polyphase work = *r;
  work.compute = FC_F64, work.isa = fc_isa_best();
  double *padded = calloc((size_t)(count + 2 * r->taps * masks), sizeof *padded);
  void *table = malloc(fc_polyphase_table_bytes(&work)), *scratch = malloc(fc_polyphase_scratch(&work));
  fc_status status = FC_NO_MEMORY;
  if (padded && table && scratch) {
    fc_polyphase_fill(&work, table);
    work.table = table;
    memcpy(padded + r->taps * masks, self->table->data, (size_t)count * sizeof *padded);
    const fc_view in = mask_view(padded + r->taps * masks, taps, masks), out = mask_view(to, length, masks);
    status = fc_polyphase_cpu(&work, &in, &out, scratch, NULL);
  }
  for (int64_t i = 0; i < length * masks; i++) to[i] *= (double)r->down / (double)r->up;
  free(padded), free(table), free(scratch);
  return status;
}

static fc_status make_at(const fc_host *host, const conv1d *self, double rate, convolution *c) {
  fc_polyphase r;
  const double own = self->table->rate;
  if (fc_polyphase_design(own, rate, FC_POLYPHASE_BEST, &r) != FC_OK)
    return host->fail(host, FC_INVALID,
                      "%s: a mask at %.10g Hz for a signal at %.10g Hz; resample one of them",
                      self->table->name, own, rate);
  const int64_t length = fc_polyphase_length(&r, self->base.taps);
  double *taps = calloc((size_t)(length * self->base.masks), sizeof *taps);
  fc_status status = taps ? resample(&r, self, taps, length) : FC_NO_MEMORY;
  *c = (convolution){.axis = self->base.axis, .mode = self->base.mode, .method = self->base.method};
  if (status == FC_OK)
    status = convolution_init(host, c, self->table->name, taps, length, self->base.masks, self->flip,
                              self->normalize);
  else
    host->fail(host, status, "%s: no memory to resample it", self->table->name);
  free(taps);
  return status;
}

static const convolution *find_at(const conv1d *self, double rate) {
  if (is_at(self, rate)) return &self->base;
  for (const at_rate *one = self->others; one; one = one->next)
    if (one->rate == rate) return &one->filter;
  return NULL;
}

/* ---- terms ------------------------------------------------------------------------ */

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  conv1d *self = instance;
  const double rate = terms->in[0]->rate;
  fc_status status = check_format(host, self, terms->in[0]);
  if (status != FC_OK) return status;
  if (!find_at(self, rate)) {
    at_rate *one = calloc(1, sizeof *one);
    if (!one) return host->fail(host, FC_NO_MEMORY, "out of memory");
    status = make_at(host, self, rate, &one->filter);
    if (status != FC_OK) {
      free(one);
      return status;
    }
    one->rate = rate, one->next = self->others, self->others = one;
    host->log(host, FC_LEVEL_WARNING, "conv1d: %s is resampled from %.10g to %.10g Hz", self->table->name,
              self->table->rate, rate);
  }
  border_terms(self->border, self->value, terms);
  return convolution_terms(host, find_at(self, rate), terms);
}

static fc_status prepare(const fc_host *host, void *instance, const fc_setup *setup, void **prepared) {
  const convolution *c = find_at(instance, setup->in[0]->rate);
  if (!c) return host->fail(host, FC_FATAL, "it was not asked about this rate");
  return convolution_prepare(host, c, setup, prepared);
}

static fc_status describe(const fc_host *host, void *instance, const fc_setup *setup,
                          fc_device_function *function) {
  const convolution *c = find_at(instance, setup->in[0]->rate);
  (void)host;
  return c ? convolution_describe(c, setup, function) : FC_UNSUPPORTED;
}

static fc_status map_of(const fc_host *host, void *instance, const fc_setup *setup, fc_linear_map *map) {
  const convolution *c = find_at(instance, setup->in[0]->rate);
  (void)host;
  return c ? convolution_map(c, map) : FC_UNSUPPORTED;
}

static fc_status join(const fc_host *host, void *instance, const fc_setup *setup, const fc_linear_map *map,
                      int32_t border, double value, void **made) {
  (void)setup;
  return convolution_make(host, ((const conv1d *)instance)->base.method, map, border, value, made);
}
FC_FUSIBLE_LINEAR(extension, describe, convolution_bind, map_of, join, joined_operator)
CONVOLUTION_JOINED

/* ---- descriptor -------------------------------------------------------------- */

static const fc_param *const params[N_PARAMS] = {
    [MASK] =
        FC_TABLE_PARAM(FC_PARAM_MAIN | FC_PARAM_REQUIRED | FC_PARAM_MASK, "mask",
                       "The taps: a file of numbers (text, .npy, or a sound file as impulse response) or "
                       "written out, [1,2,1]/4. One row or one column is one mask for all channels; several "
                       "columns are one mask a channel. A sound file of another sample rate than the "
                       "signal's is resampled, with a warning."),
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
        "correlates: y[i] = sum of x[i - n/2 + j] m[j], as in OpenCV and PyTorch.",
        "yes"),
    [NORMALIZE] = FC_BOOL_PARAM(
        0, "normalize", "Divide each mask by the sum of its taps, so that a constant signal keeps its value.",
        "no"),
    [METHOD] = FC_ENUM_PARAM(
        0, "method",
        "How the sums are computed. The error of direct sums is relative to their own terms; that of Fourier "
        "transforms is about 140 dB below the loudest sample nearby (300 dB with --precision f64).",
        "auto",
        FC_CHOICES(
            FC_CHOICE(
                AUTO, "auto",
                "whichever takes less time; direct where sums of integers are exact, and with --latency"),
            FC_CHOICE(DIRECT, "direct", "tap by tap"),
            FC_CHOICE(FFT, "fft",
                      "by Fourier transforms, whose time hardly depends on the length of the mask"))),
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
    .keywords = FC_TEXTS("convolve", "convolution", "reverb", "afir", "impulse_response"),
    .doc = "Convolves the signal with a mask (an impulse response) along time, rows or columns; each channel "
           "by itself. The mask may have any length, also more taps than the signal has samples.\n\n"
           "The result is numpy.convolve(signal, mask, mode=\"same\"), and scipy.ndimage.convolve1d with the "
           "border modes that border names; for an even number of taps the centre is the earlier of the two "
           "middle ones. flip=no correlates instead.\n\n"
           "Sums are in single precision with an error that does not grow with the length of the mask, in "
           "double with --precision f64. Integer samples with integer taps give exact sums as long as these "
           "stay below 2^24 (2^53 in double precision). Long masks use Fourier transforms (overlap-save), "
           "see method: a CPU from about 115 taps on, other hardware from about 65, so that results of masks "
           "between differ in their last bits, and a sample of 16 bits now and then by 1. Results that are "
           "stored as integers are rounded half to even and clamped.",
    .examples = examples,
    .example_docs =
        FC_TEXTS("smooth over three samples", "mean of five, ends repeated", "differences of neighbours"),
    .example_commands = FC_TEXTS("", "", "-i in.wav ... -o out.npy"),
    .n_params = N_PARAMS,
    FC_EVERY_SIGNAL,
    .params = params,
    .create = create,
    .destroy = destroy,
    .negotiate = negotiate,
    CONVOLUTION_BACKENDS(prepare),
    .extension = extension,
};

SINGLE_OPERATOR_PLUGIN("conv1d", conv1d_operator)
