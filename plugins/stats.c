/* SPDX-License-Identifier: MIT */
/*
 * stats.c - the operator stats: parameters, terms and reporting; the work is filters/stats.h.
 */
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "core/contract/fc_helpers.h"
#include "filters/stats/stats.h"
#include "plugins/single.h"

enum { STAT, N_PARAMS };

/* The statistics, in the order in which they are reported. */
enum { ALL = -1, COUNT, NANS, INFS, MIN, MAX, PEAK, MEAN, RMS, STD, VAR, SUM, SUMSQ, STATS };

typedef struct stats {
  unsigned wanted;      /* bits of the above */
  int kind, dtype;      /* of the samples, as negotiated or collected */
  uint32_t channels;    /* channels that there are trees for */
  fc_stats_tree *trees; /* partial results of the blocks so far, per channel */
} stats;

/* ---- create ----------------------------------------------------------------- */

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  stats self = {0};
  for (int64_t i = 0; i < args[STAT]->count; i++) {
    int64_t which = args[STAT]->ints[i];
    self.wanted |= which == ALL ? ~0u : 1u << which;
  }
  return state_keep(host, &self, sizeof self, instance);
}

static void destroy(void *instance) {
  stats *self = instance;
  if (self) free(self->trees);
  free(self);
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  stats *self = instance;
  const fc_format *in = terms->in[0];
  const int along = in->kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_Y;
  if (in->extent[FC_AXIS_C] > UINT16_MAX)
    return host->fail(host, FC_UNSUPPORTED, "measures up to %d channels", UINT16_MAX);
  self->kind = in->kind, self->dtype = in->dtype;
  terms->needs[0]->reach[along].align =
      fc_stats_align(in->kind, in->extent[FC_AXIS_X], in->extent[FC_AXIS_C]);
  terms->measure_bytes = fc_stats_block_bytes(in->extent[FC_AXIS_C]);
  terms->work = 12;
  return FC_OK;
}

/* ---- running ----------------------------------------------------------------- */

/* The block length that negotiate gives for the same format. */
static int64_t align_of(const fc_view *in) {
  return fc_stats_align(in->kind, in->extent[FC_AXIS_X], in->extent[FC_AXIS_C]);
}

static size_t cpu_scratch(const void *state, const fc_job *job) {
  return fc_stats_cpu_scratch(job->in[0]);
}

static fc_status cpu_process(const fc_host *host, const void *state, const fc_job *job) {
  if (!job->measure) return FC_OK;
  return fc_stats_cpu(job->in[0], align_of(job->in[0]), job->measure, job->measure_stride, job->scratch,
                      fc_isa_best());
}

static fc_status reference_process(const fc_host *host, const void *state, const fc_job *job) {
  if (!job->measure) return FC_OK;
  return fc_stats_ref(job->in[0], align_of(job->in[0]), job->measure, job->measure_stride);
}

#if FC_HAVE_CUDA
static size_t cuda_scratch(const void *state, const fc_job *job) {
  return fc_stats_cuda_scratch(job->in[0], align_of(job->in[0]));
}

static fc_status cuda_process(const fc_host *host, const void *state, const fc_job *job) {
  if (!job->measure) return FC_OK;
  return fc_stats_cuda(job->in[0], align_of(job->in[0]), job->measure, job->measure_stride, job->scratch,
                       job->stream);
}
#endif

/* ---- collecting and reporting -------------------------------------------------- */

static void reset(void *instance) {
  stats *self = instance;
  free(self->trees);
  self->trees = NULL;
  self->channels = 0;
}

static fc_status collect(const fc_host *host, void *instance, const void *blocks, int64_t count) {
  stats *self = instance;
  const char *at = blocks;
  for (int64_t i = 0; i < count; i++) {
    fc_stats_block head;
    memcpy(&head, at, sizeof head);
    if (head.channels == 0) return FC_OK; /* rows without samples: nothing was measured */
    if (!self->trees) {
      self->trees = calloc(head.channels, sizeof *self->trees);
      if (!self->trees) return host->fail(host, FC_NO_MEMORY, "no memory for %u channels", head.channels);
      self->channels = head.channels, self->kind = head.kind, self->dtype = head.dtype;
    }
    if (head.channels != self->channels || head.dtype != self->dtype)
      return host->fail(host, FC_FATAL, "blocks of different signals");
    for (uint32_t c = 0; c < head.channels; c++) {
      fc_stats_part part;
      memcpy(&part, at + sizeof head + c * sizeof part, sizeof part);
      fc_stats_push(&self->trees[c], &part);
    }
    at += fc_stats_block_bytes(head.channels);
  }
  return FC_OK;
}

static const char *const names[STATS] = {"count", "nan", "inf", "min", "max", "peak",
                                         "mean",  "rms", "std", "var", "sum", "sumsq"};

/* Levels of sound are relative to full scale; its integer sums are reported in codes, where they are
 * exact. */
static fc_measurement measurement_of(const stats *self, const fc_stats_part *p, const fc_stats_result *r,
                                     int which) {
  const int audio = self->kind == FC_AUDIO, codes = audio && !fc_dtype_is_float(self->dtype);
  const double scale = fc_scaling_of(self->kind, self->dtype).scale;
  const double values[STATS] = {r->count, (double)p->nan, (double)p->inf,
                                r->least, r->most,        audio ? 20 * log10(r->peak) : r->peak,
                                r->mean,  r->rms,         r->std,
                                r->var,   r->sum / scale, r->squares / scale / scale};
  fc_measurement m = {.size = sizeof m, .name = names[which], .unit = "", .value = values[which]};
  if (which == PEAK && audio) m.unit = "dBFS";
  if (which == SUM && codes) m.unit = "codes";
  if (which == SUMSQ && codes) m.unit = "codes^2";
  return m;
}

/* Counts, and sums of integers, in full. */
static int write_exact(const stats *self, const fc_stats_part *p, int which, char text[FC_STATS_DIGITS]) {
  const uint64_t counts[] = {[COUNT] = p->finite + p->nan + p->inf, [NANS] = p->nan, [INFS] = p->inf};
  if (which <= INFS)
    snprintf(text, FC_STATS_DIGITS, "%" PRIu64, counts[which]);
  else if (which == SUM && !fc_dtype_is_float(self->dtype))
    fc_stats_exact_sum(p, text);
  else if (which == SUMSQ && !fc_dtype_is_float(self->dtype))
    fc_stats_exact_squares(p, text);
  else
    return 0;
  return 1;
}

static void report_part(const fc_host *host, const stats *self, const fc_stats_part *p, int channel) {
  const fc_stats_result r = fc_stats_results(p, self->kind, self->dtype);
  char exact[FC_STATS_DIGITS];
  for (int which = 0; which < STATS; which++) {
    if (!(self->wanted & 1u << which)) continue;
    fc_measurement m = measurement_of(self, p, &r, which);
    m.channel = channel;
    if (write_exact(self, p, which, exact)) m.exact = exact;
    host->measured(host, &m);
  }
}

static fc_status report(const fc_host *host, void *instance) {
  const stats *self = instance;
  fc_stats_part all = fc_stats_none();
  for (uint32_t c = 0; c < self->channels; c++) {
    fc_stats_part p = fc_stats_total(&self->trees[c]);
    if (self->channels > 1) report_part(host, self, &p, (int)c);
    all = c ? fc_stats_merge(&all, &p) : p;
  }
  report_part(host, self, &all, -1);
  return FC_OK;
}

/* ---- descriptor -------------------------------------------------------------- */

static const fc_param *const params[N_PARAMS] = {
    [STAT] = FC_ENUM_PARAM(
        FC_PARAM_MAIN | FC_PARAM_LIST, "stat", "The statistics to print.", "all",
        FC_CHOICES(
            FC_CHOICE(ALL, "all", "everything below"),
            FC_CHOICE(COUNT, "count", "how many samples there are, NaN and infinity included"),
            FC_CHOICE(NANS, "nan", "how many of them are NaN"),
            FC_CHOICE(INFS, "inf", "how many are infinite"), FC_CHOICE(MIN, "min", "the smallest sample"),
            FC_CHOICE(MAX, "max", "the largest sample"),
            FC_CHOICE(PEAK, "peak", "the largest magnitude; for sound in dBFS, 0 is full scale"),
            FC_CHOICE(MEAN, "mean", "the mean: for sound the DC offset"),
            FC_CHOICE(RMS, "rms", "the root of the mean square"),
            FC_CHOICE(STD, "std", "the standard deviation, root of var"),
            FC_CHOICE(VAR, "var", "the variance of the population: squared deviations over their number"),
            FC_CHOICE(SUM, "sum", "the sum; for integer sound in codes"),
            FC_CHOICE(SUMSQ, "sumsq", "the sum of squares; for integer sound in squared codes"))),
};

static const char *const examples[] = {"stats", "stats:peak,rms", "stats:stat=count,nan,inf", NULL};

static const fc_operator stats_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE | FC_OP_PASSTHROUGH,
    .name = "stats",
    .summary = "measure the whole signal: count, extremes, mean, level, spread, sums",
    .keywords = FC_TEXTS("astats", "volumedetect", "measure", "mean", "minimum", "maximum"),
    .doc =
        "Passes the signal through unchanged and prints results at the end: of each channel, when there are "
        "several, and of all together (for images, of all frames together). The output may be omitted: "
        "filterchain -i in.wav -p stats only measures. Between other operators it measures the signal there; "
        "--report writes the numbers as JSON.\n\n"
        "For sound min, max, mean, rms, std and var are relative to full scale, +-1, and the peak is in "
        "dBFS; digital silence peaks at -inf. Figures of images and arrays are code values. Sums of "
        "integers are exact, whatever the length, and given in full: for sound sum and sumsq are those of "
        "the integer codes (8-bit and unsigned sound: less the bias), so that the mean of 16-bit sound is "
        "sum / count / 32768. All other results for integers are computed from these sums.\n\n"
        "Floating-point samples are added in double, pairwise, and the variance is taken from deviations, "
        "so that a large offset does not drown it. NaN and infinite samples are counted, and ignored by all "
        "other statistics; a statistic of no samples is NaN. The result does not depend on chunks or "
        "threads, to the bit.",
    .examples = examples,
    .example_docs = FC_TEXTS("measure everything", "peak and RMS alone", "look for NaN"),
    .n_params = N_PARAMS,
    FC_EVERY_SIGNAL,
    .params = params,
    .create = create,
    .destroy = destroy,
    .negotiate = negotiate,
    .backends = BACKENDS(FC_ON_CPU(NULL, NULL, cpu_scratch, cpu_process),
                         FC_ON_CUDA(FC_BACKEND_GRAPH, NULL, NULL, cuda_scratch, cuda_process)),
    .reset = reset,
    .collect = collect,
    .report = report,
    .reference = FC_ON_CPU(NULL, NULL, NULL, reference_process),
};

SINGLE_OPERATOR_PLUGIN("stats", stats_operator)
