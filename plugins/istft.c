/* SPDX-License-Identifier: MIT */
/*
 * istft - sound from short-time Fourier transforms; see filters/fourier/stft.h.
 */
#include <math.h>
#include <stdlib.h>

#include "core/contract/fc_helpers.h"
#include "plugins/meaning.h"
#include "plugins/single.h"
#include "plugins/stft_state.h"

enum { LENGTH = FRAMES_PARAMS, PARAMS };

/* Samples covered by less than this fraction of the normal coverage would be noise. */
#define LEAST_COVERAGE 1e-8

typedef struct instance {
  frames f;
  int64_t length; /* FC_UNKNOWN: up to the end of the last frame */
} instance;

static fc_status check_coverage(const fc_host *host, const frames *f) {
  double *w = malloc((size_t)f->frame * sizeof *w);
  if (!w) return FC_NO_MEMORY;
  fc_window_fill(f->window, f->beta, 0, f->frame, w);
  double coverage = fc_stft_coverage(w, f->frame, f->hop);
  free(w);
  if (coverage >= LEAST_COVERAGE) return FC_OK;
  return host->fail(host, FC_INVALID,
                    "with frames of %lld every %lld samples this window does not cover every sample: use a "
                    "smaller hop, such as %lld",
                    (long long)f->frame, (long long)f->hop, (long long)(f->frame / 4 > 0 ? f->frame / 4 : 1));
}

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  frames f;
  fc_status status = frames_read(host, args, &f);
  if (status == FC_OK) status = check_coverage(host, &f);
  if (status != FC_OK) return status;
  instance *op = malloc(sizeof *op);
  if (!op) return FC_NO_MEMORY;
  *op = (instance){f, args[LENGTH]->count ? args[LENGTH]->ints[0] : FC_UNKNOWN};
  *self = op;
  return FC_OK;
}

static void destroy(void *self) {
  free(self);
}

/* The length recorded by stft, unless frames have been added or removed since. */
static int64_t length_of(const instance *op, const fc_format *in) {
  const int64_t count = in->extent[FC_AXIS_X];
  if (op->length >= 0) return op->length;
  if (count <= 0) return count;
  if (FC_HAS(in, framed) && in->framed > 0 && frames_count(&op->f, in->framed) == count) return in->framed;
  return (count - 1) * op->f.hop + (op->f.center ? 0 : op->f.frame);
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  const instance *op = self;
  const frames *f = &op->f;
  const fc_format *in = terms->in[0];
  fc_format *out = terms->out;
  int64_t each = 2 * (f->size / 2 + 1), channels = in->extent[FC_AXIS_C] / each;
  fc_status status = frames_check_axes(host, in, each);
  if (status != FC_OK) return status;
  if (in->extent[FC_AXIS_C] % each != 0 || channels == 0)
    return host->fail(
        host, FC_INVALID,
        "%lld channels are not the real and imaginary parts of %lld bins: frame, fft and out=re,im must "
        "be those of stft",
        (long long)in->extent[FC_AXIS_C], (long long)each / 2);
  out->extent[FC_AXIS_C] = channels;
  out->extent[FC_AXIS_X] = length_of(op, in);
  meaning_keep_time(terms);
  out->rate = in->rate * (double)f->hop;
  /* At least one further frame: for sound shorter than a frame the first frame alone does not show the
   * length. */
  const int64_t after = (f->hop - 1 + f->before) / f->hop;
  terms->needs[0]->reach[FC_AXIS_X] =
      (fc_reach){(f->frame - 1 - f->before) / f->hop, after > 0 ? after : 1, 1, f->hop, f->hop};
  terms->needs[0]->reach[FC_AXIS_C] = (fc_reach){FC_WHOLE, FC_WHOLE, 1, 1, channels};
  terms->needs[0]->border = FC_BORDER_NONE; /* frames beyond the ends do not contribute */
  terms->work = (2.5 * log2((double)f->size + 1) + 10) * (double)f->size / (double)f->hop;
  return FC_OK;
}

/* ---- running -------------------------------------------------------------------- */

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {
  const instance *op = self;
  stft_state *t = calloc(1, sizeof *t);
  if (!t) return FC_NO_MEMORY;
  fc_status status = stft_state_make(host, setup, &op->f, 1, t);
  if (status == FC_OK)
    *prepared = t;
  else
    stft_state_release(host, t);
  return status;
}

static size_t scratch(const void *prepared, const fc_job *job) {
  return fc_istft_scratch(&((const stft_state *)prepared)->s, job->out);
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  return fc_istft_cpu(&((const stft_state *)prepared)->s, job->in[0], job->out, job->scratch, job->notes);
}

static fc_status process_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  return fc_istft_ref(&((const stft_state *)prepared)->s, job->in[0], job->out, job->scratch, job->notes);
}

#if FC_HAVE_CUDA
static size_t scratch_cuda(const void *prepared, const fc_job *job) {
  return fc_istft_device_scratch(&((const stft_state *)prepared)->s, job->in[0], job->out);
}

static fc_status process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  return fc_istft_cuda(&((const stft_state *)prepared)->s, job->in[0], job->out, job->scratch,
                       job->scratch_bytes, job->notes, job->stream);
}
#endif

/* ---- the descriptor --------------------------------------------------------------- */

static const fc_param *const params[PARAMS] = {
    FRAME_PARAMS(FC_INT_PARAM(FC_PARAM_MAIN, "frame", "The frame length that was given to stft.", "samples",
                              "1024", FC_INT_BETWEEN(1, FRAME_LONGEST))),
    FC_INT_PARAM(
        0, "length",
        "Samples to make. Unless given, as many as the sound had that stft was given in the same chain; "
        "of frames from a file as many as they reach: a multiple of hop, which may be up to hop - 1 more.",
        "samples", NULL, FC_INT_AT_LEAST(0)),
};

static const char *const examples[] = {"istft:6:hop=2", NULL};

static const char doc[] =
    "Turns the output of stft with out=re,im back into sound.\n\n"
    "frame, hop, fft, window, beta and center must be those that stft was given; its scale need not be "
    "known. Each frame is transformed back, multiplied by the window again and added to its neighbours, and "
    "every sample divided by the sum of the squared windows that cover it, so that what stft made comes "
    "back to rounding, and spectra that were changed in between give the sound whose transform is nearest "
    "to them (Griffin and Lim).\n\n"
    "    stft:1024 ... istft:1024\n\n"
    "A hop that leaves samples uncovered is refused. At the very ends of the sound, with center=no, the "
    "window may be 0: these samples become 0.\n\n"
    "From an .npy file the spectra of a sound come as an array of three axes, 1 x frames x channels: one of "
    "two is rows x columns, as everywhere.";

static const fc_operator istft = {
    .size = sizeof(fc_operator),
    .name = "istft",
    .summary = "inverse short-time Fourier transform: sound from spectra",
    .doc = doc,
    .examples = examples,
    .example_docs = FC_TEXTS("frames back to sound"),
    .example_commands = FC_TEXTS("-i in.wav -p stft:6:hop=2 ... -o out.wav"),
    .n_params = PARAMS,
    .kinds = FC_KIND_BIT(FC_AUDIO) | FC_KIND_BIT(FC_ARRAY),
    .dtypes_in = FC_DTYPES_ALL,
    .dtypes_out = FC_DTYPES_ALL,
    .params = params,
    .create = create,
    .destroy = destroy,
    .negotiate = negotiate,
    .backends =
        BACKENDS(FC_ON_CPU(prepare, stft_state_release, scratch, process_cpu),
                 FC_ON_CUDA(FC_BACKEND_GRAPH, prepare, stft_state_release, scratch_cuda, process_cuda)),
    .reference = FC_ON_CPU(prepare, stft_state_release, stft_state_scratch_reference, process_reference),
};

SINGLE_OPERATOR_PLUGIN("istft", istft)
