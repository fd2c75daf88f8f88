/* SPDX-License-Identifier: MIT */
/*
 * loudness.c - the operator loudness: parameters and reporting; the work is filters/recursive/loudness.h.
 */
#include <math.h>

#include "plugins/loudness_meter.h"
#include "plugins/single.h"

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  (void)args;
  return state_new(host, sizeof(loudness_meter), self);
}

static void destroy(void *self) {
  if (self) loudness_meter_reset(self);
  free(self);
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  return loudness_meter_terms(host, self, 0, terms);
}

/* ---- running ------------------------------------------------------------------ */

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {
  const loudness_state state = {fc_loudness_of(setup->in[0]->rate), fc_loudness_block(setup->in[0]->rate)};
  (void)self;
  return state_keep(host, &state, sizeof state, prepared);
}

static size_t scratch(const void *prepared, const fc_job *job) {
  (void)prepared, (void)job;
  return fc_loudness_scratch();
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  const loudness_state *state = prepared;
  (void)host;
  if (!job->measure) return FC_OK;
  return fc_loudness_cpu(&state->work, job->in[0], state->block, job->carry, job->scratch, job->measure);
}

static fc_status process_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  const loudness_state *state = prepared;
  (void)host;
  if (!job->measure) return FC_OK;
  return fc_loudness_ref(&state->work, job->in[0], state->block, job->carry, job->measure);
}

/* ---- collecting and reporting --------------------------------------------------- */

static void reset(void *self) {
  loudness_meter_reset(self);
}

static fc_status collect(const fc_host *host, void *self, const void *blocks, int64_t count) {
  return loudness_meter_collect(host, self, blocks, count);
}

static void tell(const fc_host *host, const char *name, const char *unit, int channel, double value) {
  const fc_measurement m = {sizeof m, channel, name, unit, value, NULL};
  host->measured(host, &m);
}

static void tell_peaks(const fc_host *host, const fc_loudness_part *p, int channel) {
  tell(host, "true_peak", "dBTP", channel, 20 * log10(p->true_peak));
  tell(host, "peak", "dBFS", channel, 20 * log10(p->peak));
}

static fc_status report(const fc_host *host, void *self) {
  const loudness_meter *meter = self;
  const fc_loudness_part all = loudness_meter_peaks(meter);
  for (uint32_t c = 0; c < meter->channels && meter->channels > 1; c++)
    tell_peaks(host, &meter->peaks[c], (int)c);
  tell(host, "integrated", "LUFS", -1, fc_loudness_integrated(&meter->m));
  tell(host, "range", "LU", -1, fc_loudness_range(&meter->m));
  tell(host, "momentary_max", "LUFS", -1, fc_loudness_level(meter->m.momentary));
  tell(host, "short_term_max", "LUFS", -1, fc_loudness_level(meter->m.short_term));
  tell_peaks(host, &all, -1);
  return FC_OK;
}

/* ---- descriptor -------------------------------------------------------------- */

static const fc_operator loudness_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE | FC_OP_PASSTHROUGH,
    .name = "loudness",
    .summary = "measure loudness after EBU R 128: integrated, range, true peak",
    .keywords = FC_TEXTS("ebur128", "r128", "lufs"),
    .doc =
        "Passes sound through unchanged and prints at the end how loud it is, after ITU-R BS.1770-4 and EBU "
        "R 128: the integrated loudness with its gates at -70 LUFS and 10 LU below the mean, the loudness "
        "range (EBU Tech 3342), the largest momentary (0.4 s) and short-term (3 s) loudness, and of each "
        "channel and all together the true peak and the largest sample. The output may be omitted; --report "
        "writes the numbers as JSON.\n\n"
        "    filterchain -i in.wav -p loudness\n\n"
        "Surround channels are weighted by 1.41 and the low-frequency channel by 0, by the file's channel "
        "layout; without one, 4, 5 and 6 channels are taken as quadraphonic, 5.0 and 5.1. The true "
        "peak is found at 4 times the rate, 2 times from 96 kHz on. Sound shorter than 0.4 s has no "
        "integrated loudness, -inf. Memory does not depend on the length.",
    .examples = FC_TEXTS("loudness"),
    .example_docs = FC_TEXTS("measure by EBU R 128"),
    FC_SOUND_ONLY,
    .create = create,
    .destroy = destroy,
    .negotiate = negotiate,
    .backends = FC_BACKENDS(FC_ON_CPU(prepare, state_release, scratch, process_cpu)),
    .reset = reset,
    .collect = collect,
    .report = report,
    .reference = FC_ON_CPU(prepare, state_release, NULL, process_reference),
};

SINGLE_OPERATOR_PLUGIN("loudness", loudness_operator)
