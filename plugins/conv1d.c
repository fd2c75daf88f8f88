/* SPDX-License-Identifier: MIT */
/*
 * conv1d.c - the operator conv1d: parameters and terms; the work is filters/conv1d.h.
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/contract/fc_helpers.h"
#include "filters/conv1d/conv1d.h"
#include "filters/conv1d/conv1d_fft.h"
#include "filters/conv1d/conv1d_overlap.h"
#include "plugins/border.h"
#include "plugins/mask2d.h"
#include "plugins/meaning.h"
#include "plugins/single.h"

enum { MASK, AXIS, BORDER, VALUE, MODE, FLIP, NORMALIZE, METHOD, N_PARAMS };
enum { SAME, FULL, VALID };
enum { AUTO, DIRECT, FFT };

/* An instance: the mask ready for use but for its element type. */
typedef struct conv1d {
  const fc_arg *border, *value; /* the host's */
  const fc_table *table;
  double *mask; /* masks x used, in the order in which they meet the input */
  int64_t taps, masks;
  int64_t skipped, used; /* taps that are 0 in all masks at the beginning; those up to the last other */
  int64_t before;        /* for mode=same */
  int axis, mode, method;
  int integers; /* so are all taps */
} conv1d;

/* ---- create ----------------------------------------------------------------- */

/* Zeros at the ends of a mask make a delay, which costs nothing. */
static void trim_mask(conv1d *self, const fc_table *table, int flip) {
  int64_t n = self->taps, columns = self->masks, first = n, last = -1;
  for (int64_t j = 0; j < n; j++)
    for (int64_t k = 0; k < columns; k++) {
      if (table->data[(flip ? n - 1 - j : j) * columns + k] == 0) continue;
      if (first > j) first = j;
      last = j;
    }
  self->skipped = last < 0 ? 0 : first;
  self->used = last < 0 ? 1 : last - first + 1;
}

/* Several columns are a mask a channel; a row or a column by itself is one mask. */
static void read_mask(conv1d *self, const fc_table *table, int flip) {
  int64_t columns = self->masks;
  for (int64_t k = 0; k < columns; k++)
    for (int64_t i = 0; i < self->used; i++) {
      int64_t j = self->skipped + i;
      self->mask[k * self->used + i] = table->data[(flip ? self->taps - 1 - j : j) * columns + k];
    }
}

/* Makes the taps of each mask add up to 1. A sum that is rounding error of its terms
 * (a differentiator's) cannot be divided by. */
static fc_status normalize_masks(const fc_host *host, conv1d *self) {
  for (int64_t k = 0; k < self->masks; k++) {
    double *mask = self->mask + k * self->used, sum = 0, size = 0;
    for (int64_t j = 0; j < self->used; j++) sum += mask[j], size += fabs(mask[j]);
    if (fabs(sum) <= 1e-9 * size)
      return host->fail(host, FC_INVALID, "%s: normalize=yes divides by the sum of the mask, which is %s",
                        self->table->name, sum == 0 ? "0" : "as good as 0");
    for (int64_t j = 0; j < self->used; j++) mask[j] /= sum;
  }
  return FC_OK;
}

static int are_integers(const conv1d *self) {
  for (int64_t i = 0; i < self->used * self->masks; i++)
    if (self->mask[i] != rint(self->mask[i])) return 0;
  return 1;
}

static void destroy(void *instance) {
  conv1d *self = instance;
  if (self) free(self->mask);
  free(self);
}

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  const fc_table *table = args[MASK]->table;
  int64_t count = table->rows * table->cols;
  fc_status status = border_check(host, args[BORDER], args[VALUE]);
  if (status != FC_OK) return status;
  if (count < 1) return host->fail(host, FC_INVALID, "%s: an empty mask", table->name);

  conv1d *self = calloc(1, sizeof *self);
  double *mask = malloc((size_t)count * sizeof *mask);
  if (!self || !mask) {
    free(self);
    free(mask);
    return host->fail(host, FC_NO_MEMORY, "%s: no memory for %lld taps", table->name, (long long)count);
  }
  int flip = args[FLIP]->ints[0] != 0;
  self->border = args[BORDER], self->value = args[VALUE], self->table = table, self->mask = mask;
  self->masks = table->rows == 1 ? 1 : table->cols;
  self->taps = count / self->masks;
  self->axis = (int)args[AXIS]->ints[0], self->mode = (int)args[MODE]->ints[0];
  self->method = (int)args[METHOD]->ints[0];
  /* Reversed, the centre (n-1)/2 of a convolution lies that far from the last tap. */
  self->before = flip ? self->taps - 1 - (self->taps - 1) / 2 : self->taps / 2;
  trim_mask(self, table, flip);
  read_mask(self, table, flip);
  if (args[NORMALIZE]->ints[0]) status = normalize_masks(host, self);
  if (status != FC_OK) {
    destroy(self);
    return status;
  }
  self->integers = are_integers(self);
  *instance = self;
  return FC_OK;
}

/* The place of the output's element within the mask. */
static int64_t before_of(const conv1d *self) {
  return self->mode == FULL ? self->taps - 1 : self->mode == VALID ? 0 : self->before;
}

/* ---- negotiate -------------------------------------------------------------- */

static fc_status check_format(const fc_host *host, const conv1d *self, const fc_format *in) {
  const fc_table *table = self->table;
  int64_t channels = in->extent[FC_AXIS_C], along = in->extent[self->axis];
  if (in->kind == FC_AUDIO && self->axis != FC_AXIS_X)
    return host->fail(host, FC_INVALID, "axis=y: sound has but one axis, axis=t");
  if (self->masks > 1 && self->masks != channels)
    return host->fail(
        host, FC_INVALID,
        "%s: %lld columns are as many masks, but there %s %lld channel%s; a mask for all channels "
        "is one column or one row",
        table->name, (long long)self->masks, channels == 1 ? "is" : "are", (long long)channels,
        channels == 1 ? "" : "s");
  if (table->rate > 0 && in->rate > 0 && table->rate != in->rate)
    return host->fail(host, FC_INVALID, "%s: a mask at %g Hz for a signal at %g Hz; resample one of them",
                      table->name, table->rate, in->rate);
  if (self->mode == VALID && along != FC_UNKNOWN && along < self->taps)
    return host->fail(host, FC_INVALID,
                      "%s: mode=valid leaves nothing: the mask has %lld taps, the signal %lld elements",
                      table->name, (long long)self->taps, (long long)along);
  return FC_OK;
}

/* How many outputs there are along the axis, for choosing by; of sound that is not asked, as
 * the same stream with and without a known end shall come out the same. */
static int64_t outputs_along(const conv1d *self, const fc_format *out) {
  return out->kind == FC_AUDIO ? FC_UNKNOWN : out->extent[self->axis];
}

/* The transforms to go by: on the CPU of length n, with blocks of hop, on a device as overlap
 * says. No length: direct sums. */
typedef struct transforms {
  int64_t n, hop;
  fc_conv1d_overlap overlap;
} transforms;

/* Sums of integers are exact, which those by way of a transform are not. Blocks of the CPU are
 * multiples of a device's, so that few cuts suit neither. */
static transforms transforms_of(const conv1d *self, const fc_format *in, const fc_format *out, int compute) {
  transforms t = {0};
  int64_t outputs = outputs_along(self, out);
  int always = self->method == FFT, exact = self->integers && in->dtype != FC_F32 && in->dtype != FC_F64;
  if (self->method == DIRECT || (self->method == AUTO && exact)) return t;
  int even = self->masks == 1 && out->extent[FC_AXIS_C] > 0 && out->extent[FC_AXIS_C] % 2 == 0;
  t.overlap = fc_conv1d_overlap_plan(self->used, before_of(self) - self->skipped, outputs, even, compute,
                                     self->axis, always);
  t.n = fc_conv1d_fft_length(self->used, outputs, compute, t.overlap.hop, always);
  if (t.n) t.hop = fc_conv1d_fft_hop(self->used, t.n, t.overlap.hop);
  return t;
}

/* Whole blocks, and as many as fill a vector - but no more than leave several threads
 * something to do. */
static int64_t grain(const conv1d *self, const fc_format *out, int64_t hop, int compute) {
  int64_t lines = out->extent[FC_AXIS_C];
  int64_t along = out->extent[self->axis],
          across = out->extent[self->axis == FC_AXIS_X ? FC_AXIS_Y : FC_AXIS_X];
  if (across > 1) lines *= across;
  int64_t blocks = (fc_conv1d_fft_lanes(compute) + lines - 1) / (lines > 0 ? lines : 1);
  if (along >= 0 && blocks > along / hop / 4) blocks = along / hop / 4;
  return hop * (blocks > 1 ? blocks : 1);
}

static int64_t common_multiple(int64_t a, int64_t b) {
  int64_t x = a, y = b;
  while (y > 0) {
    int64_t rest = x % y;
    x = y, y = rest;
  }
  return a / x * b;
}

/* Where chunks may be cut, whichever device it will be. */
static int64_t grid_of(const conv1d *self, const fc_format *out, const transforms *t, int compute) {
  int64_t align = t->n ? grain(self, out, t->hop, compute) : 1, along = out->extent[self->axis];
  if (t->overlap.n) align = common_multiple(align, fc_conv1d_overlap_grid(&t->overlap));
  return along >= 1 && align > along ? along : align;
}

static void describe(const fc_host *host, const transforms *t) {
  char cpu[40] = "tap by tap", gpu[40] = "tap by tap";
  if (t->n) snprintf(cpu, sizeof cpu, "by FFT in blocks of %lld", (long long)t->hop);
  if (t->overlap.n) snprintf(gpu, sizeof gpu, "by FFT in blocks of %lld", (long long)t->overlap.hop);
  host->remark(host, "on the CPU %s, on a GPU %s", cpu, gpu);
}

/* What a transform's error is in proportion to: no output is larger than this times the largest input. */
static double largest_gain(const conv1d *self) {
  double largest = 0;
  for (int64_t k = 0; k < self->masks; k++) {
    double sum = 0;
    for (int64_t j = 0; j < self->used; j++) sum += fabs(self->mask[k * self->used + j]);
    largest = fmax(largest, sum);
  }
  return largest;
}

/* Is a direct sum quickest however long the lines are? For none it pays more than for those without an end.
 */
static int is_always_direct(const conv1d *self, const fc_format *in, const fc_format *out, int compute) {
  fc_format endless = *out;
  endless.extent[self->axis] = FC_UNKNOWN;
  transforms t = transforms_of(self, in, &endless, compute);
  return t.n == 0 && t.overlap.n == 0;
}

static void plan_transforms(const fc_host *host, const conv1d *self, fc_terms *terms) {
  transforms t = transforms_of(self, terms->in[0], terms->out, terms->compute);
  terms->work = 2.0 * (double)self->used;
  terms->any_size =
      terms->in[0]->kind == FC_AUDIO || is_always_direct(self, terms->in[0], terms->out, terms->compute);
  if (t.n == 0 && t.overlap.n == 0) return;
  terms->needs[0]->reach[self->axis].align = grid_of(self, terms->out, &t, terms->compute);
  if (t.n) terms->work = 5.0 * (double)t.n / (double)t.hop * log2((double)t.n);
  describe(host, &t);
  if (FC_HAS(terms, error_gain)) terms->error_gain = largest_gain(self);
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  conv1d *self = instance;
  fc_status status = check_format(host, self, terms->in[0]);
  if (status != FC_OK) return status;
  fc_reach *reach = &terms->needs[0]->reach[self->axis];
  int64_t growth = self->mode == FULL ? self->taps - 1 : self->mode == VALID ? 1 - self->taps : 0;
  reach->before = before_of(self);
  reach->after = self->taps - 1 - reach->before;
  if (terms->in[0]->extent[self->axis] != FC_UNKNOWN)
    terms->out->extent[self->axis] = terms->in[0]->extent[self->axis] + growth;
  if (self->axis == FC_AXIS_X) meaning_shift_time(terms, self->before - before_of(self));
  border_terms(self->border, self->value, terms);
  plan_transforms(host, self, terms);
  return FC_OK;
}

/* ---- running ----------------------------------------------------------------- */

typedef struct conv1d_state {
  fc_conv1d filter;
  fc_conv1d_fft *fft;        /* the host's memory; NULL: direct sums */
  fc_conv1d_overlap overlap; /* on a device */
  void *device_tables;       /* of it; the host's memory; NULL: direct sums */
  void *mask, *device_mask;  /* the host's memory */
  int device;
} conv1d_state;

static void release(const fc_host *host, void *prepared) {
  conv1d_state *state = prepared;
  if (!state) return;
  host->free(host, state->device, state->device_tables);
  host->free(host, state->device, state->device_mask);
  host->free(host, FC_HOST, state->fft);
  host->free(host, FC_HOST, state->mask);
  free(state);
}

static void convert_mask(void *to, const double *from, int64_t count, int compute) {
  for (int64_t i = 0; i < count; i++) {
    if (compute == FC_F64)
      ((double *)to)[i] = from[i];
    else
      ((float *)to)[i] = (float)from[i];
  }
}

static fc_status prepare_transforms(const fc_host *host, conv1d_state *state, int64_t n) {
  size_t bytes = n ? fc_conv1d_fft_bytes(&state->filter, n) : 0;
  if (bytes == 0) return FC_OK;
  state->fft = host->alloc(host, FC_HOST, bytes);
  return state->fft ? fc_conv1d_fft_init(state->fft, &state->filter, n) : FC_NO_MEMORY;
}

#if FC_HAVE_CUDA
/* A device that lacks the shared memory for such transforms goes tap by tap. */
static fc_status prepare_overlap(const fc_host *host, conv1d_state *state, const fc_conv1d_overlap *overlap) {
  size_t bytes = overlap->n ? fc_conv1d_overlap_bytes(overlap, &state->filter) : 0;
  if (bytes == 0) return FC_OK;
  void *tables = host->alloc(host, FC_HOST, bytes);
  state->overlap = *overlap;
  state->device_tables = host->alloc(host, state->device, bytes);
  fc_status status = FC_NO_MEMORY;
  if (tables && state->device_tables)
    status = fc_conv1d_overlap_init(&state->overlap, &state->filter, tables);
  if (status == FC_OK) status = host->upload(host, state->device, state->device_tables, tables, bytes);
  host->free(host, FC_HOST, tables);
  return status;
}
#else
static fc_status prepare_overlap(const fc_host *host, conv1d_state *state, const fc_conv1d_overlap *overlap) {
  return FC_OK;
}
#endif

static fc_status prepare(const fc_host *host, void *instance, const fc_setup *setup, void **prepared) {
  conv1d *self = instance;
  int64_t count = self->masks * self->used;
  transforms t = transforms_of(self, setup->in[0], setup->out, setup->compute);
  size_t bytes = (size_t)count * fc_dtype_size(setup->compute);
  fc_status status = FC_OK;
  conv1d_state *state = calloc(1, sizeof *state);
  if (!state || !(state->mask = host->alloc(host, FC_HOST, bytes))) goto no_memory;
  state->device = setup->device;
  convert_mask(state->mask, self->mask, count, setup->compute);
  if (setup->device != FC_HOST) {
    if (!(state->device_mask = host->alloc(host, setup->device, bytes))) goto no_memory;
    status = host->upload(host, setup->device, state->device_mask, state->mask, bytes);
  }
  state->filter = (fc_conv1d){
      .mask = state->mask,
      .device_mask = state->device_mask,
      .taps = self->used,
      .masks = self->masks,
      .before = before_of(self) - self->skipped,
      .axis = self->axis,
      .compute = setup->compute,
      .isa = fc_isa_best(),
      .unit = t.overlap.hop,
  };
  if (status == FC_OK)
    status = setup->device == FC_HOST ? prepare_transforms(host, state, t.n)
                                      : prepare_overlap(host, state, &t.overlap);
  if (status == FC_NO_MEMORY) goto no_memory;
  if (status != FC_OK)
    release(host, state);
  else
    *prepared = state;
  return status;

no_memory:
  release(host, state);
  return host->fail(host, FC_NO_MEMORY, "%s: no memory for %lld taps", self->table->name, (long long)count);
}

static size_t cpu_scratch(const void *prepared, const fc_job *job) {
  const conv1d_state *state = prepared;
  return state->fft ? fc_conv1d_fft_scratch(state->fft, &state->filter)
                    : fc_conv1d_cpu_scratch(&state->filter);
}

static fc_status cpu_process(const fc_host *host, const void *prepared, const fc_job *job) {
  const conv1d_state *state = prepared;
  if (state->fft)
    return fc_conv1d_fft_cpu(state->fft, &state->filter, job->in[0], job->out, job->scratch, job->notes);
  return fc_conv1d_cpu(&state->filter, job->in[0], job->out, job->scratch, job->notes);
}

static fc_status reference_process(const fc_host *host, const void *prepared, const fc_job *job) {
  const conv1d_state *state = prepared;
  return fc_conv1d_ref(&state->filter, job->in[0], job->out, job->notes);
}

#if FC_HAVE_CUDA
static size_t cuda_scratch(const void *prepared, const fc_job *job) {
  const conv1d_state *state = prepared;
  return state->device_tables ? fc_conv1d_overlap_scratch(&state->overlap, &state->filter, job->out) : 0;
}

static fc_status cuda_process(const fc_host *host, const void *prepared, const fc_job *job) {
  const conv1d_state *state = prepared;
  if (job->edges && state->device_tables) return FC_UNSUPPORTED;
  if (job->edges)
    return fc_conv1d_cuda_edges(&state->filter, job->in[0], job->edges, job->out, job->stream, job->notes);
  if (state->device_tables)
    return fc_conv1d_overlap_cuda(&state->overlap, &state->filter, state->device_tables, job->in[0], job->out,
                                  job->scratch, job->scratch_bytes, job->stream, job->notes);
  return fc_conv1d_cuda(&state->filter, job->in[0], job->out, job->stream, job->notes);
}
#endif

/* Direct sums of one block (conv1d.h) by one mask, as long as the window that was asked for. */
static fc_status describe_function(const fc_host *host, void *instance, const fc_setup *setup,
                                   fc_device_function *function) {
  const conv1d *self = instance;
  const int along_x = self->axis == FC_AXIS_X;
  const transforms t = transforms_of(self, setup->in[0], setup->out, setup->compute);
  (void)host;
  if (self->mode != SAME || self->masks > 1 || self->used != self->taps || t.overlap.n ||
      self->taps > FC_CONV1D_BLOCK)
    return FC_UNSUPPORTED;
  const fc_status status =
      mask2d_describe(setup, "fc_dense", along_x ? 1 : self->taps, along_x ? self->taps : 1,
                      (const double *const[]){self->mask}, &self->taps, 1, function);
  function->flags &= ~FC_FUNCTION_ALONE;
  return status;
}
FC_FUSIBLE(extension, describe_function)

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
    .backends =
        BACKENDS(FC_BACKEND(FC_BACKEND_SHAPED, FC_KIND_HOST, prepare, release, cpu_scratch, cpu_process),
                 FC_ON_CUDA(FC_BACKEND_GRAPH | FC_BACKEND_EDGES | FC_BACKEND_SHAPED, prepare, release,
                            cuda_scratch, cuda_process)),
    .reference = FC_BACKEND(FC_BACKEND_SHAPED, FC_KIND_HOST, prepare, release, NULL, reference_process),
    .extension = extension,
};

SINGLE_OPERATOR_PLUGIN("conv1d", conv1d_operator)
