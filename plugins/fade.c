/* SPDX-License-Identifier: MIT */
/*
 * fade.c - the operator fade: parameters and terms; the work is filters/timeline/fade.h.
 *
 * It looks ahead by the length of the fade-out: while the end of a stream is not known, a sample followed by
 * that many others is not in the fade.
 */
#include "filters/timeline/fade.h"
#include "plugins/single.h"

enum { IN, OUT, SHAPE, N_PARAMS };

/* The instance is the argument array. */
typedef const fc_arg *const *arguments;

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  if (!args[IN]->given && !args[OUT]->given)
    return host->fail(host, FC_INVALID, "give in, out or both, as in fade:in=2s:out=5s");
  *self = (void *)(uintptr_t)args;
  return FC_OK;
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  arguments args = self;
  const int64_t extent = terms->in[0]->extent[FC_AXIS_T], in = args[IN]->ints[0], out = args[OUT]->ints[0];
  terms->needs[0]->reach[FC_AXIS_T].after = out;
  if (extent > 0 && (in > extent || out > extent))
    return host->fail(host, FC_INVALID, "a fade of %lld samples is longer than the sound, which has %lld",
                      (long long)(in > out ? in : out), (long long)extent);
  terms->needs[0]->border = FC_BORDER_ZERO;
  terms->work = 2;
  return FC_OK;
}

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {
  arguments args = self;
  const fc_fade fade = {args[IN]->ints[0], args[OUT]->ints[0], (int32_t)args[SHAPE]->ints[0], setup->compute};
  return state_keep(host, &fade, sizeof fade, prepared);
}

static size_t scratch(const void *prepared, const fc_job *job) {
  return fc_fade_scratch(prepared);
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  return fc_fade_cpu(prepared, job->in[0], job->out, job->scratch, job->notes);
}

static fc_status process_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  return fc_fade_ref(prepared, job->in[0], job->out, job->notes);
}

#if FC_HAVE_CUDA
/* Not in a graph: the factor depends on the chunk's position in the signal. */
static fc_status process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  return fc_fade_cuda(prepared, job->in[0], job->out, job->stream, job->notes);
}
#endif

/* ---- descriptor -------------------------------------------------------------- */

static const fc_operator fade_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    .name = "fade",
    .summary = "fade sound in at the beginning and out at the end",
    .keywords = FC_TEXTS("fadein=fade:in=1s", "fadeout=fade:out=1s", "afade"),
    .doc =
        "Multiplies the beginning of a sound by a factor that rises from 0, and the end by one that falls to "
        "0; samples in between are unchanged. The first and the last sample become 0, and a fade out is the "
        "mirror "
        "image of a fade in.\n\n"
        "    fade:in=2s:out=5s\n"
        "    fade:out=250ms:shape=log\n\n"
        "The sound is read ahead by the length of the fade out, so the length of a stream need not be known.",
    .examples = FC_TEXTS("fade:in=20:out=30", "fade:out=1ms:shape=linear", "fade:in=50:shape=log",
                         "fade:in=7:out=11:shape=power"),
    .example_docs = FC_TEXTS("in and out, in samples", "straight line at the end",
                             "slow beginning, as decibels", "equal power at both ends"),
    FC_SOUND_ONLY,
    FC_OPERATOR_PARAMS(
        FC_INT_PARAM(0, "in", "How long the fade at the beginning is.", "samples", "0",
                     FC_INT_BETWEEN(0, FC_REACH_MOST)),
        FC_INT_PARAM(0, "out", "How long the fade at the end is.", "samples", "0",
                     FC_INT_BETWEEN(0, FC_REACH_MOST)),
        FC_ENUM_PARAM(
            0, "shape", "How the factor rises, with u from 0 to 1.", "cosine",
            FC_CHOICES(FC_CHOICE(FC_FADE_LINEAR, "linear", "u"),
                       FC_CHOICE(FC_FADE_COSINE, "cosine", "(1 - cos(pi u)) / 2, without corners"),
                       FC_CHOICE(FC_FADE_POWER, "power", "sin(pi u / 2): two that cross keep the power"),
                       FC_CHOICE(FC_FADE_LOG, "log", "from -100 dB in even steps of level")))),
    .create = create,
    .negotiate = negotiate,
    .backends = BACKENDS(FC_ON_CPU(prepare, state_release, scratch, process_cpu),
                         FC_ON_CUDA(0, prepare, state_release, NULL, process_cuda)),
    .reference = FC_ON_CPU(prepare, state_release, NULL, process_reference),
};

SINGLE_OPERATOR_PLUGIN("fade", fade_operator)
