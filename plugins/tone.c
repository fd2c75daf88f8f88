/* SPDX-License-Identifier: MIT */
/*
 * tone.c - the operator tone, a generator: parameters and terms; the work is filters/generate/tone.h.
 */
#include "filters/generate/tone.h"
#include "plugins/single.h"

enum { FORM, FREQ, TO, LENGTH, RATE, CHANNELS, LEVEL, SEED, N_PARAMS };

/* A sweep is a sine of rising frequency. */
enum { SWEEP = 100 };

/* The instance is the argument array. */
typedef const fc_arg *const *arguments;

static int has_frequency(int64_t form) {
  return form == FC_TONE_SINE || form == FC_TONE_SQUARE || form == SWEEP;
}

static fc_status check_frequency(const fc_host *host, arguments args, int which) {
  if (args[which]->floats[0] <= args[RATE]->floats[0] / 2) return FC_OK;
  return host->fail(host, FC_INVALID, "%s Hz is above half the sample rate, %g Hz", args[which]->text,
                    args[RATE]->floats[0] / 2);
}

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  const int64_t form = args[FORM]->ints[0];
  *self = (void *)(uintptr_t)args;
  if (args[TO]->given && form != SWEEP) return host->fail(host, FC_INVALID, "to is where a sweep ends");
  if (args[FREQ]->given && !has_frequency(form))
    return host->fail(host, FC_INVALID, "%s has no frequency", args[FORM]->text);
  if (args[SEED]->given && form != FC_TONE_NOISE) return host->fail(host, FC_INVALID, "seed is for noise");
  fc_status status = has_frequency(form) ? check_frequency(host, args, FREQ) : FC_OK;
  return status == FC_OK && form == SWEEP && args[TO]->count ? check_frequency(host, args, TO) : status;
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  arguments args = self;
  fc_format *out = terms->out;
  out->kind = FC_AUDIO;
  out->extent[FC_AXIS_N] = out->extent[FC_AXIS_Y] = 1;
  out->extent[FC_AXIS_T] = args[LENGTH]->ints[0];
  out->extent[FC_AXIS_C] = args[CHANNELS]->ints[0];
  out->rate = args[RATE]->floats[0];
  out->time_num = 0, out->time_den = 1;
  terms->work = 25;
  return FC_OK;
}

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {
  arguments args = self;
  const double rate = args[RATE]->floats[0], from = args[FREQ]->floats[0] / rate;
  fc_tone tone = {
      .isa = fc_isa_best(), .seed = (uint64_t)args[SEED]->ints[0], .level = args[LEVEL]->floats[0]};
  tone.form = args[FORM]->ints[0] == SWEEP ? FC_TONE_SINE : (int32_t)args[FORM]->ints[0];
  if (args[FORM]->ints[0] == SWEEP)
    fc_tone_set_frequency(&tone, from, args[TO]->count ? args[TO]->floats[0] / rate : 0.5,
                          args[LENGTH]->ints[0]);
  else
    fc_tone_set_frequency(&tone, from, from, 0);
  return state_keep(host, &tone, sizeof tone, prepared);
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  return fc_tone_cpu(prepared, job->out, job->notes);
}

static fc_status process_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  return fc_tone_ref(prepared, job->out, job->notes);
}

#if FC_HAVE_CUDA
/* Not in a graph: the samples depend on the chunk's position in the signal. */
static fc_status process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  return fc_tone_cuda(prepared, job->out, job->stream, job->notes);
}
#endif

/* ---- descriptor -------------------------------------------------------------- */

static const fc_param *const params[N_PARAMS] = {
    [FORM] = FC_ENUM_PARAM(
        FC_PARAM_MAIN, "form", "The kind of signal.", "sine",
        FC_CHOICES(
            FC_CHOICE(FC_TONE_SINE, "sine", "a sine wave"),
            FC_CHOICE(FC_TONE_SQUARE, "square", "a square wave, +level and -level, with all its harmonics"),
            FC_CHOICE(SWEEP, "sweep", "a sine whose frequency rises evenly from freq to to"),
            FC_CHOICE(FC_TONE_NOISE, "noise", "white noise, uniform in +-level, another in each channel"),
            FC_CHOICE(FC_TONE_SILENCE, "silence", "zeros"), FC_CHOICE(FC_REFUSED, "chirp", "say sweep"))),
    [FREQ] = FC_FLOAT_PARAM(0, "freq", "The frequency, of a sweep the first.", "Hz", "440",
                            FC_FLOAT_BETWEEN(0, 1e9)),
    [TO] = FC_FLOAT_PARAM(0, "to", "The last frequency of a sweep; half the rate unless given.", "Hz", NULL,
                          FC_FLOAT_BETWEEN(0, 1e9)),
    [LENGTH] = FC_INT_PARAM(0, "length", "How many samples of each channel.", "samples", "48000",
                            FC_INT_BETWEEN(0, FC_REACH_MOST)),
    [RATE] = FC_FLOAT_PARAM(0, "rate", "The sample rate.", "Hz", "48000", FC_FLOAT_BETWEEN(1, 1e9)),
    [CHANNELS] = FC_INT_PARAM(0, "channels", "How many channels; all but those of noise are alike.", NULL,
                              "1", FC_INT_BETWEEN(1, 1024)),
    [LEVEL] = FC_FLOAT_PARAM(FC_PARAM_DECIBEL, "level",
                             "The largest magnitude: a factor of full scale, or decibels.", NULL, "-6dB",
                             FC_FLOAT_BETWEEN(0, 1e6)),
    [SEED] = FC_INT_PARAM(0, "seed", "The seed of the noise: the same number gives the same noise.", NULL,
                          "0", NULL),
};

static const fc_operator tone_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_GENERATOR,
    .name = "tone",
    .summary = "make a sine, square wave, sweep, noise or silence",
    .keywords = FC_TEXTS("synth", "sine=tone:sine", "sweep=tone:sweep", "silence=tone:silence"),
    .doc = "Generates sound, so it is the first stage of a chain, without an input:\n\n"
           "    tone:sine:freq=1000:length=480000:level=-20dB      ten seconds at 48 kHz\n"
           "    tone:sweep:freq=20:to=20000:channels=2\n"
           "    tone:noise:seed=3\n\n"
           "Every sample is a function of its position: the phase is exact however long the sound is, and so "
           "is a "
           "frequency, to 2^-64 of the rate. Noise comes from a counter-based generator, keyed by (seed, "
           "sample, "
           "channel). A square "
           "wave is not band-limited: its harmonics above half the rate fold back. At sample 0 a sine begins "
           "at 0 and "
           "rises.",
    .examples = FC_TEXTS("tone:sine:freq=1000:length=300", "tone:sweep:freq=20:to=8000:length=500:channels=2",
                         "tone:noise:length=200:seed=3:level=0.5", "tone:square:freq=100:length=400",
                         "tone:silence:length=100"),
    .example_docs =
        FC_TEXTS("sine of 1 kHz", "rising sweep, stereo", "white noise", "square wave", "silence"),
    .kinds = FC_KIND_BIT(FC_AUDIO),
    .dtypes_out = FC_DTYPES_ALL,
    .n_params = N_PARAMS,
    .params = params,
    .create = create,
    .negotiate = negotiate,
    .backends = BACKENDS(FC_ON_CPU(prepare, state_release, NULL, process_cpu),
                         FC_ON_CUDA(0, prepare, state_release, NULL, process_cuda)),
    .reference = FC_ON_CPU(prepare, state_release, NULL, process_reference),
};

SINGLE_OPERATOR_PLUGIN("tone", tone_operator)
