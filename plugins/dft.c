/* SPDX-License-Identifier: MIT */
/*
 * dft - discrete Fourier transforms of blocks of a sound or an image, and back; see filters/dft.h.
 */
#include <math.h>
#include <stdlib.h>

#include "core/contract/fc_helpers.h"
#include "filters/fourier/dft.h"
#include "plugins/axes.h"
#include "plugins/border.h"
#include "plugins/meaning.h"
#include "plugins/single.h"

enum { BLOCK, AXIS, OUT, BINS, NORM, INVERSE, BORDER, VALUE, PARAMS };
enum { BINS_HALF, BINS_FULL };
enum { NORM_NONE, NORM_ORTHO, NORM_FORWARD };

typedef struct instance {
  const fc_arg *block, *out, *border, *value; /* owned by the host */
  int axis, bins, norm, inverse;
} instance;

typedef struct state {
  fc_dft d;
  int device, inverse;
  void *real, *complex, *device_real, *device_complex;
} state;

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  fc_status status = border_check(host, args[BORDER], args[VALUE]);
  if (status != FC_OK) return status;
  if (args[INVERSE]->ints[0] && args[OUT]->given)
    return host->fail(host, FC_INVALID, "out is for the forward transform: inverse=yes takes re,im");
  instance *op = malloc(sizeof *op);
  if (!op) return FC_NO_MEMORY;
  *op = (instance){args[BLOCK],
                   args[OUT],
                   args[BORDER],
                   args[VALUE],
                   (int)args[AXIS]->ints[0],
                   (int)args[BINS]->ints[0],
                   (int)args[NORM]->ints[0],
                   (int)args[INVERSE]->ints[0]};
  *self = op;
  return FC_OK;
}

static void destroy(void *self) {
  free(self);
}

/* The block length for this many bins, if it is not given. */
static int64_t values_of(const instance *op, int64_t bins, int real) {
  if (!op->inverse || op->bins == BINS_FULL || !real) return bins;
  return bins > 1 ? 2 * (bins - 1) : bins; /* 0 bins for an empty axis, 1 for 1 value */
}

/*
 * The block length along an axis, `real` where only half of the bins may be present; `which` is 0 for the
 * first length given, 1 for the second.
 */
static fc_status length_of(const fc_host *host, const instance *op, const fc_format *in, int axis, int which,
                           int real, int64_t *length) {
  int64_t given = op->block->count, extent = in->extent[axis];
  if (!given && extent < 0)
    return host->fail(host, FC_INVALID, "the length of the sound is not known: give block=");
  *length = given ? op->block->ints[which < given ? which : given - 1] : values_of(op, extent, real);
  if (*length > FC_FFT_LONGEST)
    return host->fail(host, FC_INVALID,
                      "a transform of %lld values at once is too large: give block=, at most %lld",
                      (long long)*length, (long long)FC_FFT_LONGEST);
  if (*length == 0) *length = 1; /* an empty axis has no blocks */
  return FC_OK;
}

/* The factor for the sums (for the inverse: for their mean). */
static double scale_of(const instance *op, const fc_dft *d) {
  double count = (double)(d->nx ? d->nx : 1) * (double)(d->ny ? d->ny : 1);
  double there = op->norm == NORM_NONE ? 1 : op->norm == NORM_ORTHO ? sqrt(count) : count;
  return op->inverse ? there : 1 / there;
}

/* Everything about the transform except its plans. */
static fc_status describe(const fc_host *host, const instance *op, const fc_format *in, fc_dft *d) {
  int axis = axes_chosen(op->axis, op->block->count, in);
  fc_status status = axes_check(host, axis, in);
  if (status != FC_OK) return status;
  *d = (fc_dft){.half = op->bins == BINS_HALF, .components = (int32_t)op->out->count};
  for (int i = 0; i < d->components; i++) d->component[i] = (int32_t)op->out->ints[i];
  if (axis != FC_AXIS_Y) status = length_of(host, op, in, FC_AXIS_X, 0, 1, &d->nx);
  if (axis != FC_AXIS_X && status == FC_OK)
    status = length_of(host, op, in, FC_AXIS_Y, axis == AXIS_XY, axis != AXIS_XY, &d->ny);
  d->scale = scale_of(op, d);
  return status;
}

/* Blocks of `values` become blocks of `bins`, or the inverse. */
static void negotiate_axis(const instance *op, fc_terms *terms, int axis, int64_t values, int64_t bins) {
  int64_t from = op->inverse ? bins : values, to = op->inverse ? values : bins;
  int64_t extent = terms->in[0]->extent[axis];
  terms->needs[0]->reach[axis] = (fc_reach){0, 0, from, to, to};
  terms->out->extent[axis] = extent < 0 ? FC_UNKNOWN : (extent + from - 1) / from * to;
  terms->work += 2.5 * log2((double)values + 1) + 5;
}

static fc_status negotiate_channels(const fc_host *host, const instance *op, fc_terms *terms) {
  int64_t channels = terms->in[0]->extent[FC_AXIS_C], *made = &terms->out->extent[FC_AXIS_C];
  if (op->inverse && (channels % 2 != 0 || channels == 0))
    return host->fail(host, FC_INVALID,
                      "%lld channels are not real and imaginary parts in turn, which inverse=yes takes and "
                      "out=re,im makes",
                      (long long)channels);
  *made = op->inverse ? channels / 2 : channels * op->out->count;
  terms->needs[0]->reach[FC_AXIS_C] = (fc_reach){FC_WHOLE, FC_WHOLE, 1, 1, *made > 0 ? *made : 1};
  return FC_OK;
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  const instance *op = self;
  const fc_format *in = terms->in[0];
  fc_format *out = terms->out;
  fc_dft d;
  fc_status status = describe(host, op, in, &d);
  if (status == FC_OK) status = negotiate_channels(host, op, terms);
  if (status != FC_OK) return status;
  if (d.nx) negotiate_axis(op, terms, FC_AXIS_X, d.nx, fc_dft_bins_x(&d));
  if (d.ny) negotiate_axis(op, terms, FC_AXIS_Y, d.ny, fc_dft_bins_y(&d));
  const fc_reach *x = &terms->needs[0]->reach[FC_AXIS_X];
  if (in->rate > 0) out->rate = in->rate * (double)x->den / (double)x->num;
  meaning_keep_time(terms);
  border_terms(op->border, op->value, terms);
  terms->any_size = op->block->count > 0 && axes_are_fixed(op->axis, op->block->count, in);
  return FC_OK;
}

/* ---- running -------------------------------------------------------------------- */

static void release(const fc_host *host, void *prepared) {
  state *s = prepared;
  if (!s) return;
  host->free(host, FC_HOST, s->real);
  host->free(host, FC_HOST, s->complex);
  host->free(host, s->device, s->device_real);
  host->free(host, s->device, s->device_complex);
  free(s);
}

/* A copy on the device, or NULL. */
static void *upload(const fc_host *host, int device, const void *from, size_t bytes) {
  void *to = host->alloc(host, device, bytes);
  if (to && host->upload(host, device, to, from, bytes) == FC_OK) return to;
  host->free(host, device, to);
  return NULL;
}

static fc_status make_plans(const fc_host *host, state *s) {
  fc_dft *d = &s->d;
  int64_t n = d->nx ? d->nx : d->ny;
  int both = d->nx && d->ny;
  s->real = host->alloc(host, FC_HOST, fc_rfft_bytes(n, d->compute));
  s->complex = both ? host->alloc(host, FC_HOST, fc_fft_bytes(d->ny, d->compute)) : NULL;
  if (!s->real || (both && !s->complex))
    return host->fail(host, FC_NO_MEMORY, "no memory for a transform of %lld values", (long long)n);
  fc_status status = fc_rfft_init(s->real, n, d->compute, d->isa);
  if (status == FC_OK && both) status = fc_fft_init(s->complex, d->ny, d->compute, d->isa);
  d->real = s->real;
  d->complex = s->complex;
  if (status != FC_OK || s->device == FC_HOST) return status;
  s->device_real = upload(host, s->device, s->real, (size_t)d->real->bytes);
  s->device_complex = both ? upload(host, s->device, s->complex, (size_t)d->complex->bytes) : NULL;
  d->device_real = s->device_real;
  d->device_complex = s->device_complex;
  if (s->device_real && (!both || s->device_complex)) return FC_OK;
  return host->fail(host, FC_NO_MEMORY, "no device memory for a transform of %lld values", (long long)n);
}

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {
  state *s = calloc(1, sizeof *s);
  if (!s) return FC_NO_MEMORY;
  s->device = setup->device;
  s->inverse = ((const instance *)self)->inverse;
  fc_status status = describe(host, self, setup->in[0], &s->d);
  s->d.compute = setup->compute;
  s->d.isa = fc_isa_best();
  if (status == FC_OK) status = make_plans(host, s);
  if (status == FC_OK)
    *prepared = s;
  else
    release(host, s);
  return status;
}

static size_t scratch(const void *prepared, const fc_job *job) {
  const state *s = prepared;
  return (s->inverse ? fc_idft_scratch : fc_dft_scratch)(&s->d, job->out);
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  const state *s = prepared;
  return (s->inverse ? fc_idft_cpu : fc_dft_cpu)(&s->d, job->in[0], job->out, job->scratch, job->notes);
}

static size_t scratch_reference(const void *prepared, const fc_job *job) {
  const state *s = prepared;
  return (s->inverse ? fc_idft_ref_scratch : fc_dft_ref_scratch)(&s->d, job->out);
}

static fc_status process_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  const state *s = prepared;
  return (s->inverse ? fc_idft_ref : fc_dft_ref)(&s->d, job->in[0], job->out, job->scratch, job->notes);
}

#if FC_HAVE_CUDA
static size_t scratch_cuda(const void *prepared, const fc_job *job) {
  const state *s = prepared;
  return (s->inverse ? fc_idft_device_scratch : fc_dft_device_scratch)(&s->d, job->out);
}

static fc_status process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  const state *s = prepared;
  return (s->inverse ? fc_idft_cuda : fc_dft_cuda)(&s->d, job->in[0], job->out, job->scratch,
                                                   job->scratch_bytes, job->notes, job->stream);
}
#endif

/* ---- the descriptor --------------------------------------------------------------- */

static const fc_param *const params[PARAMS] = {
    FC_PARAM(FC_INT, FC_PARAM_MAIN | FC_PARAM_LIST, 2, "block",
             "Values that are transformed at once; in two dimensions one number for square blocks, or "
             "WIDTHxHEIGHT. Without it the whole axis is one block - for inverse=yes with bins=half one of "
             "an even number of values. Any number works; those without large prime factors are fast.",
             "elements", NULL, FC_INT_BETWEEN(1, FC_FFT_LONGEST), NULL, NULL, NULL),
    FC_ENUM_PARAM(0, "axis", "Which axis is transformed.", "auto", FC_CHOICES(AXES_CHOICES)),
    FC_PARAM(FC_ENUM, FC_PARAM_LIST, FC_COMPONENTS, "out",
             "What is made of each complex value, one or several: they become channels.", NULL, "re,im", NULL,
             FC_CHOICES(FC_CHOICE(FC_RE, "re", "the real part"), FC_CHOICE(FC_IM, "im", "the imaginary part"),
                        FC_CHOICE(FC_MAG, "mag", "the magnitude"),
                        FC_CHOICE(FC_POWER, "power", "the squared magnitude"),
                        FC_CHOICE(FC_DB, "db", "the level, 10 log10 of the power, no lower than -100 dB")),
             NULL, NULL),
    FC_ENUM_PARAM(0, "bins", "How many bins of a block's N; in two dimensions half is along x.", "half",
                  FC_CHOICES(FC_CHOICE(BINS_HALF, "half",
                                       "0 to N/2; the others are their conjugates (numpy.fft.rfft, rfft2)"),
                             FC_CHOICE(BINS_FULL, "full", "all N (numpy.fft.fft, fft2)"))),
    FC_ENUM_PARAM(
        0, "norm", "What the sums are divided by.", "none",
        FC_CHOICES(FC_CHOICE(NORM_NONE, "none", "the plain sums (NumPy's backward)"),
                   FC_CHOICE(NORM_ORTHO, "ortho", "over the root of the number of values: energy is kept"),
                   FC_CHOICE(NORM_FORWARD, "forward", "over the number of values: bin 0 is the mean"))),
    FC_BOOL_PARAM(0, "inverse", "Turns re,im back into values; block, bins and norm say what was done.",
                  "no"),
    BORDER_PARAM,
    BORDER_VALUE_PARAM,
};

static const char *const examples[] = {"dft:16", "dft:block=30:axis=x:out=mag:bins=full",
                                       "dft:8:out=db,power:norm=forward", "dft:block=8:axis=x:inverse=yes",
                                       NULL};

static const char doc[] =
    "Discrete Fourier transform of blocks of a sound or an image, and back.\n\n"
    "The axis is cut into blocks, from its beginning on; the bins of a block take the place of its values, "
    "and what out names of each bin becomes channels, those of each channel together. Images are "
    "transformed in two dimensions, sound along time. bins=half keeps those from 0 to N/2, along x in two "
    "dimensions, so that a block of 512 samples becomes 257 bins; the size of the image, or length and rate "
    "of the sound, change with it.\n\n"
    "    dft:out=db                   the spectrum of a whole image or sound\n"
    "    dft:512:out=power            power spectra of blocks of 512, one after the other\n"
    "    dft:512 ... dft:512:inverse=yes    forward and back, to rounding\n\n"
    "The inverse takes the channels re and im in turn, as the forward transform makes them. Of full spectra "
    "it "
    "gives the real part; the imaginary parts that a half of real values' spectrum cannot have (of bin 0, "
    "and N/2) are not looked at, as with numpy.fft.irfft2.\n\n"
    "For overlapping frames with a window, and spectra side by side, see stft.\n\n"
    "Values are X[k] = sum x[i] exp(-2 pi i k / N), times what norm says. The last block is extended by the "
    "border; after the inverse crop removes the padding. A NaN or infinity makes all bins of "
    "its block NaN. The cost is that of a fast transform, about 2.5 log2 N flop a value.";

static const fc_operator dft = {
    .size = sizeof(fc_operator),
    .name = "dft",
    .summary = "discrete Fourier transform of blocks, and its inverse",
    .keywords = FC_TEXTS("fft", "rfft", "ifft"),
    .doc = doc,
    .examples = examples,
    .example_docs = FC_TEXTS("complex spectra of blocks", "magnitudes of blocks in rows",
                             "decibels and power", "back from spectra"),
    .example_commands =
        FC_TEXTS("-i in.wav ... -o out.npy", "-i in.png ... -o out.npy", "-i in.wav ... -o out.npy",
                 "-i in.png -p dft:block=8:axis=x ... -o out.png"),
    .n_params = PARAMS,
    FC_EVERY_SIGNAL,
    .params = params,
    .create = create,
    .destroy = destroy,
    .negotiate = negotiate,
    .backends = BACKENDS(
        FC_BACKEND(FC_BACKEND_SHAPED, FC_KIND_HOST, prepare, release, scratch, process_cpu),
        FC_ON_CUDA(FC_BACKEND_GRAPH | FC_BACKEND_SHAPED, prepare, release, scratch_cuda, process_cuda)),
    .reference =
        FC_BACKEND(FC_BACKEND_SHAPED, FC_KIND_HOST, prepare, release, scratch_reference, process_reference),
};

SINGLE_OPERATOR_PLUGIN("dft", dft)
