/* SPDX-License-Identifier: MIT */
/*
 * loudnorm.c - the operator loudnorm: sound at a given loudness or peak, in two passes. The first measures
 * (filters/recursive/loudness.h), the second multiplies (filters/pointwise/pointwise.h).
 */
#include "plugins/loudnorm.h"

#include "filters/pointwise/pointwise.h"
#include "plugins/single.h"

enum { LOUDNESS, PEAK, TRUE_PEAK, N_PARAMS };

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  if (!args[LOUDNESS]->count && !args[PEAK]->count)
    return host->fail(host, FC_INVALID,
                      "give loudness, as in loudnorm:loudness=-23LUFS, or peak, as in loudnorm:peak=-1dBFS");
  loudnorm *op = calloc(1, sizeof *op);
  if (!op) return host->fail(host, FC_NO_MEMORY, "out of memory");
  op->by_loudness = args[LOUDNESS]->count > 0, op->by_peak = args[PEAK]->count > 0;
  op->true_peak = args[TRUE_PEAK]->ints[0] != 0;
  op->loudness = op->by_loudness ? args[LOUDNESS]->floats[0] : 0;
  op->peak = op->by_peak ? args[PEAK]->floats[0] : 0;
  op->factor = 1;
  *self = op;
  return FC_OK;
}

static void destroy(void *self) {
  loudnorm *op = self;
  if (op) loudness_meter_reset(&op->meter);
  free(op);
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  loudnorm *op = self;
  terms->work = 1;
  if (op->pass == 1) return FC_OK;
  return loudness_meter_terms(host, &op->meter, !op->by_loudness, terms);
}

/* ---- running ------------------------------------------------------------------ */

typedef struct loudnorm_state {
  loudness_state meter;
  fc_pointwise scale;
} loudnorm_state;

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {
  const loudnorm *op = self;
  const double rate = loudness_meter_rate(setup->in[0]->rate);
  loudnorm_state *state = calloc(1, sizeof *state);
  if (!state) return host->fail(host, FC_NO_MEMORY, "out of memory");
  if (op->pass == 0) state->meter = (loudness_state){fc_loudness_of(rate), fc_loudness_block(rate)};
  state->scale = (fc_pointwise){
      .form = FC_POINTWISE_SCALE, .compute = setup->compute, .isa = fc_isa_best(), .factor = op->factor};
  *prepared = state;
  return FC_OK;
}

static void release(const fc_host *host, void *prepared) {
  (void)host;
  free(prepared);
}

static size_t scratch(const void *prepared, const fc_job *job) {
  const size_t scale = fc_pointwise_cpu_scratch(&((const loudnorm_state *)prepared)->scale);
  (void)job;
  return scale > fc_loudness_scratch() ? scale : fc_loudness_scratch();
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  const loudnorm_state *state = prepared;
  (void)host;
  if (job->measure)
    fc_loudness_cpu(&state->meter.work, job->in[0], state->meter.block, job->carry, job->scratch,
                    job->measure);
  return fc_pointwise_cpu(&state->scale, job->in[0], job->out, job->scratch, job->notes);
}

static fc_status process_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  const loudnorm_state *state = prepared;
  (void)host;
  if (job->measure)
    fc_loudness_ref(&state->meter.work, job->in[0], state->meter.block, job->carry, job->measure);
  return fc_pointwise_ref(&state->scale, job->in[0], job->out, job->notes);
}

/* ---- two passes ------------------------------------------------------------------ */

static void begin(void *self, int32_t pass) {
  loudnorm *op = self;
  op->pass = pass;
  if (pass == 0) loudness_meter_reset(&op->meter), op->factor = 1;
}

static const void *extension(const fc_operator *op, const char *name) {
  static const fc_two_passes passes = {sizeof passes, begin};
  (void)op;
  return strcmp(name, FC_TWO_PASSES) == 0 ? &passes : NULL;
}

static void reset(void *self) {
  loudnorm *op = self;
  if (op->pass == 0) loudness_meter_reset(&op->meter);
}

static fc_status collect(const fc_host *host, void *self, const void *blocks, int64_t count) {
  return loudness_meter_collect(host, &((loudnorm *)self)->meter, blocks, count);
}

static void tell(const fc_host *host, const char *name, const char *unit, double value) {
  const fc_measurement m = {sizeof m, -1, name, unit, value, NULL};
  host->measured(host, &m);
}

/* At the end of the first pass the factor is found; at the end of the second all is told. */
static fc_status report(const fc_host *host, void *self) {
  loudnorm *op = self;
  if (op->pass == 0 && !loudnorm_find(op))
    host->log(host, FC_LEVEL_WARNING,
              "loudnorm: the sound has no level that could be raised: it stays as it is");
  tell(host, "integrated", "LUFS", op->level);
  tell(host, "true_peak", "dBTP", 20 * log10(op->peaks.true_peak));
  tell(host, "peak", "dBFS", 20 * log10(op->peaks.peak));
  tell(host, "gain", "dB", 20 * log10(op->factor));
  return FC_OK;
}

/* ---- descriptor -------------------------------------------------------------- */

static const fc_param *const params[N_PARAMS] = {
    [LOUDNESS] = FC_FLOAT_PARAM(FC_PARAM_MAIN, "loudness",
                                "The integrated loudness that the sound is brought to, after EBU R 128.",
                                "LUFS", NULL, FC_FLOAT_BETWEEN(-70, 20)),
    [PEAK] = FC_FLOAT_PARAM(FC_PARAM_DECIBEL, "peak",
                            "The highest peak: what the sound is brought to, or with loudness a limit that "
                            "keeps it softer. A factor of full scale, or decibels (-1dBFS).",
                            NULL, NULL, FC_FLOAT_BETWEEN(1e-6, 1e3)),
    [TRUE_PEAK] = FC_BOOL_PARAM(0, "true_peak",
                                "Whether the peak is that of the sound between its samples, dBTP.", "no"),
};

static const fc_operator loudnorm_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING | FC_OP_TWO_PASSES,
    .name = "loudnorm",
    .summary = "bring sound to a loudness or a peak, by one factor for all of it",
    .doc =
        "Multiplies sound by one factor, so that its integrated loudness after EBU R 128 or its highest "
        "peak becomes what is asked for. The factor follows from all of the sound: the input is read "
        "twice, and must be a file, not a pipe. Its memory does not grow with the length.\n\n"
        "    loudnorm:-23LUFS                               as EBU R 128 wants broadcasts\n"
        "    loudnorm:loudness=-16:peak=-1dBFS:true_peak=yes    with less gain where peaks would exceed it\n"
        "    loudnorm:peak=-1dBFS\n\n"
        "Dynamics stay as they are: nothing is compressed. Channels keep their balance. Measurements and the "
        "gain are printed at the end. Silence stays as it is, with a warning. The loudness operator "
        "says how loudness and true peak are measured. For the mean and deviation of images there is "
        "normalize.",
    .examples = FC_TEXTS("loudnorm:-23LUFS  # loudness for broadcast",
                         "loudnorm:peak=-1dBFS  # highest peak at -1 dBFS", "loudnorm:-23LUFS",
                         "loudnorm:peak=-1dBFS", "loudnorm:loudness=-16:peak=-1dB:true_peak=yes"),
    FC_SOUND_ONLY,
    .n_params = N_PARAMS,
    .params = params,
    .create = create,
    .destroy = destroy,
    .negotiate = negotiate,
    .backends = FC_BACKENDS(FC_ON_CPU(prepare, release, scratch, process_cpu)),
    .reset = reset,
    .collect = collect,
    .report = report,
    .reference = FC_ON_CPU(prepare, release, NULL, process_reference),
    .extension = extension,
};

SINGLE_OPERATOR_PLUGIN("loudnorm", loudnorm_operator)
