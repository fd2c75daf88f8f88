/* SPDX-License-Identifier: MIT */
/*
 * loudnorm.h - normalises sound to a loudness or a peak in two passes, for normalize and loudnorm: the first
 * measures (filters/recursive/loudness.h, on the CPU), the second multiplies by the resulting factor
 * (filters/pointwise/pointwise.h). The instance of either begins with a loudnorm.
 */
#ifndef FC_PLUGINS_LOUDNORM_H
#define FC_PLUGINS_LOUDNORM_H

#include <math.h>

#include "plugins/loudness_meter.h"
#include "plugins/pointwise.h"

typedef struct loudnorm {
  const char *name; /* of the operator */
  loudness_meter meter;
  int32_t pass;             /* 0: measures */
  int by_loudness, by_peak; /* what is requested; with both, the peak is a limit */
  int true_peak;            /* peaks between samples are included */
  double loudness, peak;    /* in LUFS; as a fraction of full scale */
  double factor;            /* the factor: 1 in the first pass, and for silence */
  double level;             /* measured loudness in LUFS */
  fc_loudness_part peaks;
} loudnorm;

#define LOUDNORM_LOUDNESS_PARAM(flags)                                                                       \
  FC_FLOAT_PARAM(flags, "loudness",                                                                          \
                 "Of sound: the integrated loudness that it is brought to, after EBU R 128.", "LUFS", NULL,  \
                 FC_FLOAT_BETWEEN(-70, 20))
#define LOUDNORM_PEAK_PARAM                                                                                  \
  FC_FLOAT_PARAM(FC_PARAM_DECIBEL, "peak",                                                                   \
                 "Of sound: what its highest peak is brought to, or with loudness a limit that keeps it "    \
                 "softer. A factor of full scale, or decibels (-1dBFS).",                                    \
                 NULL, NULL, FC_FLOAT_BETWEEN(1e-6, 1e3))
#define LOUDNORM_TRUE_PEAK_PARAM                                                                             \
  FC_BOOL_PARAM(0, "true_peak", "Whether the peak is that of the sound between its samples, dBTP.", "no")

/* Whether a loudness or a peak is requested. */
static inline int loudnorm_asked(const loudnorm *n) {
  return n->by_loudness || n->by_peak;
}

static inline void loudnorm_init(loudnorm *n, const char *name, const fc_arg *loudness, const fc_arg *peak,
                                 const fc_arg *true_peak) {
  n->name = name;
  n->by_loudness = loudness->count > 0, n->by_peak = peak->count > 0;
  n->true_peak = true_peak->ints[0] != 0;
  n->loudness = n->by_loudness ? loudness->floats[0] : 0;
  n->peak = n->by_peak ? peak->floats[0] : 0;
  n->factor = 1;
}

static inline void loudnorm_destroy(void *self) {
  loudnorm *n = self;
  if (n) loudness_meter_reset(&n->meter);
  free(n);
}

static inline fc_status loudnorm_terms(const fc_host *host, loudnorm *n, fc_terms *terms) {
  terms->work = 1;
  if (n->pass == 1) return FC_OK;
  terms->on_host = 1;
  return loudness_meter_terms(host, &n->meter, !n->by_loudness, terms);
}

/* The multiplication by the factor. */
static inline fc_pointwise loudnorm_pointwise(const loudnorm *n, const fc_setup *setup) {
  return (fc_pointwise){.form = FC_POINTWISE_SCALE, .compute = setup->compute, .factor = n->factor};
}

/* ---- running ------------------------------------------------------------------ */

typedef struct loudnorm_state {
  loudness_state meter;
  void *pointwise; /* a pointwise_state */
} loudnorm_state;

static inline void loudnorm_release(const fc_host *host, void *prepared) {
  loudnorm_state *state = prepared;
  if (state) pointwise_release(host, state->pointwise);
  free(state);
}

static inline fc_status loudnorm_prepare(const fc_host *host, void *self, const fc_setup *setup,
                                         void **prepared) {
  const loudnorm *n = self;
  const double rate = loudness_meter_rate(setup->in[0]->rate);
  loudnorm_state *state = calloc(1, sizeof *state);
  if (!state) return host->fail(host, FC_NO_MEMORY, "out of memory");
  if (n->pass == 0 && loudnorm_asked(n))
    state->meter = (loudness_state){fc_loudness_of(rate), fc_loudness_block(rate)};
  const fc_status status = pointwise_prepare(host, self, setup, &state->pointwise);
  if (status != FC_OK)
    loudnorm_release(host, state);
  else
    *prepared = state;
  return status;
}

static inline size_t loudnorm_scratch(const void *prepared, const fc_job *job) {
  const size_t pointwise = pointwise_scratch(((const loudnorm_state *)prepared)->pointwise, job);
  return pointwise > fc_loudness_scratch() ? pointwise : fc_loudness_scratch();
}

static inline fc_status loudnorm_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  const loudnorm_state *state = prepared;
  if (job->measure)
    fc_loudness_cpu(&state->meter.work, job->in[0], state->meter.block, job->carry, job->scratch,
                    job->measure);
  return pointwise_cpu(host, state->pointwise, job);
}

static inline fc_status loudnorm_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  const loudnorm_state *state = prepared;
  if (job->measure)
    fc_loudness_ref(&state->meter.work, job->in[0], state->meter.block, job->carry, job->measure);
  return pointwise_reference(host, state->pointwise, job);
}

#if FC_HAVE_CUDA
static inline fc_status loudnorm_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  return pointwise_cuda(host, ((const loudnorm_state *)prepared)->pointwise, job);
}
#endif

/* ---- two passes ------------------------------------------------------------------ */

static inline void loudnorm_begin(void *self, int32_t pass) {
  loudnorm *n = self;
  n->pass = pass;
  if (pass == 0) loudness_meter_reset(&n->meter), n->factor = 1;
}

static inline int32_t loudnorm_wanted(const void *self) {
  return loudnorm_asked(self);
}

static inline const void *loudnorm_extension(const fc_operator *op, const char *name) {
  static const fc_two_passes passes = {sizeof passes, loudnorm_begin, loudnorm_wanted};
  return strcmp(name, FC_TWO_PASSES) == 0 ? &passes : pointwise_extension(op, name);
}

/* Of images, and of what is measured otherwise, the meter stays empty: to clear it would take 1 % of what a
 * JPEG of 1024 x 768 takes in a batch. */
static inline void loudnorm_reset(void *self) {
  loudnorm *n = self;
  if (n->pass == 0 && loudnorm_asked(n)) loudness_meter_reset(&n->meter);
}

static inline fc_status loudnorm_collect(const fc_host *host, void *self, const void *blocks, int64_t count) {
  return loudness_meter_collect(host, &((loudnorm *)self)->meter, blocks, count);
}

/* Computes the factor from the stored measurements. FALSE if there is no loudness or no peak: silence
 * stays silence. */
static inline int loudnorm_find(loudnorm *n) {
  n->peaks = loudness_meter_peaks(&n->meter);
  n->level = fc_loudness_integrated(&n->meter.m);
  const double highest = n->true_peak ? n->peaks.true_peak : n->peaks.peak;
  double factor = n->by_loudness ? pow(10, (n->loudness - n->level) / 20) : n->peak / highest;
  if (n->by_loudness && n->by_peak && factor * highest > n->peak) factor = n->peak / highest;
  n->factor = isfinite(factor) && highest > 0 ? factor : 1;
  return n->factor == factor;
}

static inline void loudnorm_tell(const fc_host *host, const char *name, const char *unit, double value) {
  const fc_measurement m = {sizeof m, -1, name, unit, value, NULL};
  host->measured(host, &m);
}

/* After the first pass the factor is computed; after the second everything is reported. */
static inline fc_status loudnorm_report(const fc_host *host, void *self) {
  loudnorm *n = self;
  if (!loudnorm_asked(n)) return FC_OK;
  if (n->pass == 0 && !loudnorm_find(n))
    host->log(host, FC_LEVEL_WARNING, "%s: the sound has no level that could be raised: it stays as it is",
              n->name);
  loudnorm_tell(host, "integrated", "LUFS", n->level);
  loudnorm_tell(host, "true_peak", "dBTP", 20 * log10(n->peaks.true_peak));
  loudnorm_tell(host, "peak", "dBFS", 20 * log10(n->peaks.peak));
  loudnorm_tell(host, "gain", "dB", 20 * log10(n->factor));
  return FC_OK;
}

/* Members of fc_operator. */
#define LOUDNORM_BACKENDS                                                                                    \
  .destroy = loudnorm_destroy,                                                                               \
  .backends =                                                                                                \
      BACKENDS(FC_ON_CPU(loudnorm_prepare, loudnorm_release, loudnorm_scratch, loudnorm_cpu),                \
               FC_ON_CUDA(FC_BACKEND_GRAPH, loudnorm_prepare, loudnorm_release, NULL, loudnorm_cuda)),       \
  .reset = loudnorm_reset, .collect = loudnorm_collect, .report = loudnorm_report,                           \
  .reference = FC_ON_CPU(loudnorm_prepare, loudnorm_release, NULL, loudnorm_reference),                      \
  .extension = loudnorm_extension

#endif
