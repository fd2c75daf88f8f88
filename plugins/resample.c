/* SPDX-License-Identifier: MIT */
/* resample.c - the operator resample: parameters and terms; the work is filters/polyphase/polyphase.h. */
#include <stdlib.h>

#include "filters/polyphase/polyphase.h"
#include "plugins/single.h"

enum { RATE, QUALITY, N_PARAMS };

/* The instance is the argument array. */
typedef const fc_arg *const *arguments;

static fc_status design(const fc_host *host, arguments args, const fc_format *in, fc_polyphase *r) {
  const double from = in->rate, to = args[RATE]->floats[0];
  if (from <= 0) return host->fail(host, FC_INVALID, "the sample rate of the input is not known");
  const fc_status status = fc_polyphase_design(from, to, (fc_polyphase_quality)args[QUALITY]->ints[0], r);
  if (status == FC_INVALID)
    return host->fail(host, FC_INVALID,
                      "%.10g Hz to %.10g Hz: rates must be multiples of a thousandth of a Hz", from, to);
  if (status == FC_UNSUPPORTED && to >= 8 && to < 400) /* kHz */
    return host->fail(host, FC_INVALID, "%.10g Hz to %.10g Hz is too large a ratio: did you mean %.10gk?",
                      from, to, to);
  if (status == FC_UNSUPPORTED)
    return host->fail(
        host, FC_INVALID,
        "%.10g Hz to %.10g Hz is too large a ratio for one step: use two steps, or a lower quality", from,
        to);
  return status;
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  const fc_format *in = terms->in[0];
  fc_polyphase r;
  const fc_status status = design(host, self, in, &r);
  if (status != FC_OK) return status;
  terms->out->rate = ((arguments)self)[RATE]->floats[0];
  if (in->extent[FC_AXIS_T] != FC_UNKNOWN)
    terms->out->extent[FC_AXIS_T] = fc_polyphase_length(&r, in->extent[FC_AXIS_T]);
  terms->needs[0]->reach[FC_AXIS_T] = (fc_reach){r.before, r.taps - 1 - r.before, r.down, r.up, 1};
  terms->needs[0]->border = FC_BORDER_ZERO;
  terms->work = 2.0 * (double)r.taps;
  host->remark(host, "%lld : %lld, %lld taps%s", (long long)r.up, (long long)r.down, (long long)r.taps,
               r.phases == r.up ? "" : ", interpolated");
  return FC_OK;
}

/* ---- running ------------------------------------------------------------------ */

typedef struct resample_state {
  fc_polyphase work;
  void *table, *device_table; /* from host->alloc */
  int32_t device;
} resample_state;

static void release(const fc_host *host, void *prepared) {
  resample_state *state = prepared;
  if (!state) return;
  host->free(host, FC_HOST, state->table);
  host->free(host, state->device, state->device_table);
  free(state);
}

static fc_status make_table(const fc_host *host, resample_state *state) {
  const size_t bytes = fc_polyphase_table_bytes(&state->work);
  if (!(state->table = host->alloc(host, FC_HOST, bytes))) return FC_NO_MEMORY;
  fc_polyphase_fill(&state->work, state->table);
  state->work.table = state->table;
  if (state->device == FC_HOST) return FC_OK;
  const fc_status status = state_upload(host, state->device, state->table, bytes, &state->device_table);
  state->work.device_table = state->device_table;
  return status;
}

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {
  resample_state *state = calloc(1, sizeof *state);
  if (!state) return host->fail(host, FC_NO_MEMORY, "out of memory");
  fc_status status = design(host, self, setup->in[0], &state->work);
  state->device = setup->device;
  state->work.compute = setup->compute, state->work.isa = fc_isa_best();
  if (status == FC_OK) status = make_table(host, state);
  if (status != FC_OK)
    release(host, state);
  else
    *prepared = state;
  return status;
}

static size_t scratch(const void *prepared, const fc_job *job) {
  return fc_polyphase_scratch(&((const resample_state *)prepared)->work);
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  const resample_state *state = prepared;
  return fc_polyphase_cpu(&state->work, job->in[0], job->out, job->scratch, job->notes);
}

static fc_status process_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  const resample_state *state = prepared;
  return fc_polyphase_ref(&state->work, job->in[0], job->out, job->notes);
}

#if FC_HAVE_CUDA
/* Not in a graph: the taps of an output depend on its position in the signal. */
static fc_status process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  const resample_state *state = prepared;
  return fc_polyphase_cuda(&state->work, job->in[0], job->out, job->stream, job->notes);
}
#endif

/* ---- descriptor -------------------------------------------------------------- */

static const fc_operator resample_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    .name = "resample",
    .summary = "change the sample rate of sound",
    .keywords = FC_TEXTS("aresample", "src", "speed", "upsample", "downsample", "samplerate"),
    .doc =
        "Resamples sound by a polyphase filter: a sinc in a Kaiser window, of linear phase and without "
        "delay, so that sample 0 stays where it is. Any two rates are possible; beyond the ends there is "
        "silence. "
        "Sound that has the rate already is left as it is.\n\n"
        "    resample:44100\n"
        "    resample:48k:quality=best\n\n"
        "The output has ceil(length * rate / input rate) samples: all that lie before the input's end, as "
        "scipy.signal.resample_poly has. What is below a part of the lower one of both Nyquist frequencies "
        "(half the sample rates) goes through - 0.80 of it with quality=low, 0.88, 0.91 and 0.95 with best - "
        "and what is above that frequency is stopped, so that nothing is folded back: by 60, 80, 100 and "
        "120 dB, by which the passband is even, too. In single precision rounding adds noise at -140 dB; "
        "sound of more than 24 bits, and --precision f64, go in double.\n\n"
        "Rates whose ratio needs more than 2048 sets of taps (44100 to 44101) take sets between which the "
        "taps are "
        "interpolated, with errors below the stopband.",
    .examples = FC_TEXTS("resample:44100", "resample:8k:quality=low", "resample:rate=24000:quality=best",
                         "resample:16001:quality=medium"),
    .example_docs = FC_TEXTS("to 44.1 kHz", "to 8 kHz, quickly", "to 24 kHz, best", "to an odd rate"),
    FC_SOUND_ONLY,
    FC_OPERATOR_PARAMS(
        FC_FLOAT_PARAM(FC_PARAM_MAIN | FC_PARAM_REQUIRED, "rate", "The sample rate of the output.", "Hz",
                       NULL, FC_FLOAT_BETWEEN(1, 1e9)),
        FC_ENUM_PARAM(
            0, "quality", "Width of the passband, and attenuation of aliases.", "high",
            FC_CHOICES(FC_CHOICE(FC_POLYPHASE_LOW, "low", "passband to 0.80, stopband -60 dB"),
                       FC_CHOICE(FC_POLYPHASE_MEDIUM, "medium", "0.88, -80 dB"),
                       FC_CHOICE(FC_POLYPHASE_HIGH, "high", "0.91, -100 dB: of 44.1 kHz all up to 20 kHz"),
                       FC_CHOICE(FC_POLYPHASE_BEST, "best", "0.95, -120 dB"),
                       FC_CHOICE(FC_REFUSED, "very-high", "say best")))),
    .create = fc_create_args,
    .negotiate = negotiate,
    .backends = BACKENDS(FC_ON_CPU(prepare, release, scratch, process_cpu),
                         FC_ON_CUDA(0, prepare, release, NULL, process_cuda)),
    .reference = FC_ON_CPU(prepare, release, NULL, process_reference),
};

SINGLE_OPERATOR_PLUGIN("resample", resample_operator)
