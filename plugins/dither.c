/* SPDX-License-Identifier: MIT */
/*
 * dither.c - the operator dither: adds triangular noise before rounding; the work is filters/dither.h.
 */
#include <stdio.h>
#include <stdlib.h>

#include "core/contract/fc_helpers.h"
#include "filters/pointwise/dither.h"
#include "plugins/single.h"

enum { BITS, SEED, N_PARAMS };
enum { MOST_BITS = 24 }; /* noise for more bits would be lost in single precision, and in every converter */

typedef struct dither {
  int bits; /* 0: not given */
  uint64_t seed;
} dither;

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  const dither self = {args[BITS]->given ? (int)args[BITS]->ints[0] : 0, (uint64_t)args[SEED]->ints[0]};
  return state_keep(host, &self, sizeof self, instance);
}

/* ---- the step ------------------------------------------------------------------ */

/* Bits of an integer type; 0 for floats. */
static int width_of(int dtype) {
  return fc_dtype_is_float(dtype) ? 0 : 8 * (int)fc_dtype_size(dtype);
}

/* Bits of the integers that this stage stores, or that an earlier convert has chosen, whichever is fewer;
 * 0: not known. */
static int stored_bits(const fc_format *in, const fc_format *out) {
  int stores = width_of(out->dtype), chosen = in->stored ? width_of(in->stored - 1) : 0;
  return !stores || (chosen && chosen < stores) ? chosen : stores;
}

static int sound_bits(const dither *self, const fc_format *in, const fc_format *out) {
  if (!self->bits && !in->stored && out->stored) return out->bits; /* the file rounds this stage's output */
  int bits = self->bits ? self->bits : stored_bits(in, out);
  int as_it_was = !in->stored && in->dtype == out->dtype && in->bits > 0 && in->bits < bits;
  if (!self->bits && as_it_was) bits = in->bits;
  if (!bits) bits = 16;
  return bits < MOST_BITS ? bits : MOST_BITS;
}

/* Codes are rounded to integers; to fewer bits only on request. */
static double image_step(const dither *self, const fc_format *in, const fc_format *out) {
  int codes = stored_bits(in, out) ? stored_bits(in, out) : width_of(in->dtype);
  if (!self->bits || !codes) return 1;
  return (double)((1ull << codes) - 1) / (double)((1ull << self->bits) - 1);
}

static double step_of(const dither *self, const fc_format *in, const fc_format *out) {
  if (in->kind != FC_AUDIO) return image_step(self, in, out);
  return 1.0 / (double)(1ull << (sound_bits(self, in, out) - 1));
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const dither *self = instance;
  const fc_format *in = terms->in[0], *out = terms->out;
  double step = step_of(self, in, out);
  if (in->kind == FC_AUDIO)
    host->remark(host, "noise for %d bits", sound_bits(self, in, out));
  else
    host->remark(host, "noise for steps of %.6g", step);
  terms->work = 12;
  return FC_OK;
}

/* ---- running ------------------------------------------------------------------ */

/* If steps are not much larger than a float's, the sum is computed in double. */
static int compute_of(const fc_setup *setup, double step) {
  int fine = setup->in[0]->kind == FC_AUDIO && step < 0x1p-15;
  return fine ? FC_F64 : setup->compute;
}

static fc_status prepare(const fc_host *host, void *instance, const fc_setup *setup, void **prepared) {
  const dither *self = instance;
  const double step = step_of(self, setup->in[0], setup->out);
  const fc_dither work = {compute_of(setup, step), fc_isa_best(), self->seed, step};
  return state_keep(host, &work, sizeof work, prepared);
}

static size_t scratch(const void *prepared, const fc_job *job) {
  return fc_dither_cpu_scratch(prepared);
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  return fc_dither_cpu(prepared, job->in[0], job->out, job->scratch, job->notes);
}

static fc_status process_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  return fc_dither_ref(prepared, job->in[0], job->out, job->notes);
}

#if FC_HAVE_CUDA
static fc_status process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  return fc_dither_cuda(prepared, job->in[0], job->out, job->stream, job->notes);
}
#endif

/* ---- descriptor -------------------------------------------------------------- */

static const fc_param *const params[N_PARAMS] = {
    [BITS] = FC_INT_PARAM(FC_PARAM_MAIN, "bits",
                          "Bits of the stored samples. By default those of the integer type that the output "
                          "stores or that convert chose before; 16 for sound if neither is known. For an "
                          "image the default is one step of its codes.",
                          "bits", NULL, FC_INT_BETWEEN(1, MOST_BITS)),
    [SEED] = FC_INT_PARAM(0, "seed", "The seed of the noise: the same number gives the same noise.", NULL,
                          "0", NULL),
};

static const char *const examples[] = {"dither", "dither:16", "dither:bits=8:seed=7", NULL};

static const fc_operator dither_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_NOISE | FC_OP_KEEPS_MEANING,
    .name = "dither",
    .summary = "add noise before rounding to few bits, against distortion",
    .keywords = FC_TEXTS("noise_shaping"),
    .doc =
        "Adds noise with a triangular distribution (TPDF) within one step of the samples to be stored, "
        "either way, and of mean 0. It rounds nothing itself: put it at the end of a chain, or ahead of the "
        "convert that reduces the samples to few bits (dither:16, then convert:i16). The rounding error then "
        "is a faint, steady noise instead of distortion that follows the signal, or of bands in a smooth "
        "gradient. A tone softer than one step remains audible.\n\n"
        "One step of sound of b bits is 2^-(b-1) of full scale. Images and arrays are code values, rounded "
        "to whole numbers: a step is 1, or, when their type of B bits is to be kept but b are asked for, "
        "(2^B-1)/(2^b-1), as 257 for 8 of 16 bits. Samples of 32 bits are dithered as those of 24.\n\n"
        "The noise depends on the seed and on the position of a sample alone, not on chunks or threads. "
        "Channels and frames have noise of their own. NaN and infinities stay. For more than 16 bits the "
        "sum is made in double precision.",
    .examples = examples,
    .example_docs = FC_TEXTS("for the file's bits", "for 16 bits", "8 bits, other noise"),
    .n_params = N_PARAMS,
    FC_EVERY_SIGNAL,
    .params = params,
    .create = create,
    .destroy = free,
    .negotiate = negotiate,
    .backends = BACKENDS(FC_ON_CPU(prepare, state_release, scratch, process_cpu),
                         FC_ON_CUDA(0, prepare, state_release, NULL, process_cuda)),
    .reference = FC_ON_CPU(prepare, state_release, NULL, process_reference),
};

SINGLE_OPERATOR_PLUGIN("dither", dither_operator)
