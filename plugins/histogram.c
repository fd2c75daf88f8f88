/* SPDX-License-Identifier: MIT */
/* histogram.c - the operator histogram: parameters, terms and reporting; the work is
 * filters/histogram/histogram.h. */
#include "filters/histogram/histogram.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "plugins/single.h"
#include "plugins/white.h"

enum { BINS, LOW, HIGH, N_PARAMS };

#define MOST_CHANNELS 1024

typedef struct histogram {
  const fc_arg *const *args; /* owned by the host */
  double low, high;          /* as negotiated */
  uint32_t channels;         /* channels that there are counts for */
  uint64_t *counts;
} histogram;

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  if (args[LOW]->count > 0 && args[HIGH]->count > 0 && !(args[LOW]->floats[0] < args[HIGH]->floats[0]))
    return host->fail(host, FC_INVALID, "low=%s is not below high=%s", args[LOW]->text, args[HIGH]->text);
  const histogram self = {.args = args};
  return state_keep(host, &self, sizeof self, instance);
}

static void reset(void *instance) {
  histogram *self = instance;
  free(self->counts);
  self->counts = NULL, self->channels = 0;
}

static void destroy(void *instance) {
  if (instance) reset(instance);
  free(instance);
}

/* The range: full scale for sound; for images 0 to white, where white's whole code is in the last bin. */
static fc_histogram work_of(const histogram *self, const fc_format *in) {
  const fc_arg *low = self->args[LOW], *high = self->args[HIGH];
  const int sound = in->kind == FC_AUDIO;
  const double white = sound ? 1 : white_of(NULL, in);
  fc_histogram h = {.bins = self->args[BINS]->ints[0],
                    .align = sound ? 65536 : 64,
                    .axis = sound ? FC_AXIS_X : FC_AXIS_Y,
                    .low = low->count > 0 ? low->floats[0]
                           : sound        ? -1
                                          : 0,
                    .high = high->count > 0 ? high->floats[0]
                            : white > 1     ? white + 1
                                            : white};
  h.scale = (double)h.bins / (h.high - h.low);
  return h;
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  histogram *self = instance;
  const fc_format *in = terms->in[0];
  const fc_histogram h = work_of(self, in);
  if (in->extent[FC_AXIS_C] > MOST_CHANNELS)
    return host->fail(host, FC_UNSUPPORTED, "counts up to %d channels", MOST_CHANNELS);
  if (!(h.low < h.high))
    return host->fail(host, FC_INVALID, "low=%g is not below high, which is %g: give both", h.low, h.high);
  self->low = h.low, self->high = h.high;
  terms->needs[0]->reach[h.axis].align = h.align;
  terms->measure_bytes = fc_histogram_bytes(h.bins, in->extent[FC_AXIS_C]);
  terms->work = 6;
  return FC_OK;
}

/* ---- running ------------------------------------------------------------------ */

static fc_status prepare(const fc_host *host, void *instance, const fc_setup *setup, void **prepared) {
  const fc_histogram h = work_of(instance, setup->in[0]);
  return state_keep(host, &h, sizeof h, prepared);
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  return job->measure ? fc_histogram_cpu(prepared, job->in[0], job->measure, job->measure_stride) : FC_OK;
}

#if FC_HAVE_CUDA
static fc_status process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  if (!job->measure) return FC_OK;
  return fc_histogram_cuda(prepared, job->in[0], job->measure, job->measure_stride, job->stream);
}
#endif

/* ---- collecting and reporting -------------------------------------------------- */

static fc_status collect(const fc_host *host, void *instance, const void *blocks, int64_t count) {
  histogram *self = instance;
  const int64_t bins = self->args[BINS]->ints[0];
  const char *at = blocks;
  for (int64_t i = 0; i < count; i++) {
    fc_histogram_head head;
    memcpy(&head, at, sizeof head);
    if (head.channels == 0) return FC_OK; /* rows without samples */
    const size_t numbers = (size_t)head.channels * (size_t)(bins + FC_HISTOGRAM_EXTRA);
    if (!self->counts) {
      self->counts = calloc(numbers, sizeof *self->counts), self->channels = head.channels;
      if (!self->counts) return host->fail(host, FC_NO_MEMORY, "out of memory");
    }
    if (head.channels != self->channels) return host->fail(host, FC_FATAL, "blocks of different signals");
    for (size_t k = 0; k < numbers; k++) {
      uint64_t more;
      memcpy(&more, at + sizeof head + k * sizeof more, sizeof more);
      self->counts[k] += more;
    }
    at += fc_histogram_bytes(bins, head.channels);
  }
  return FC_OK;
}

/* Channel -1: the sum of all. */
static void report_channel(const fc_host *host, const histogram *self, int channel) {
  static const char *const extra[FC_HISTOGRAM_EXTRA] = {"below", "above", "nan"};
  const int64_t bins = self->args[BINS]->ints[0], each = bins + FC_HISTOGRAM_EXTRA;
  for (int64_t b = 0; b < each; b++) {
    char name[32], exact[32];
    uint64_t sum = 0;
    for (uint32_t c = 0; c < self->channels; c++)
      if (channel < 0 || (uint32_t)channel == c) sum += self->counts[(int64_t)c * each + b];
    if (b < bins)
      snprintf(name, sizeof name, "bin%" PRId64, b);
    else
      snprintf(name, sizeof name, "%s", extra[b - bins]);
    snprintf(exact, sizeof exact, "%" PRIu64, sum);
    const fc_measurement m = {
        .size = sizeof m, .channel = channel, .name = name, .unit = "", .value = (double)sum, .exact = exact};
    host->measured(host, &m);
  }
}

static void tell(const fc_host *host, const char *name, double value) {
  const fc_measurement m = {.size = sizeof m, .channel = -1, .name = name, .unit = "", .value = value};
  host->measured(host, &m);
}

static fc_status report(const fc_host *host, void *instance) {
  const histogram *self = instance;
  tell(host, "low", self->low);
  tell(host, "high", self->high);
  for (uint32_t c = 0; c < self->channels && self->channels > 1; c++) report_channel(host, self, (int)c);
  report_channel(host, self, -1);
  return FC_OK;
}

/* ---- descriptor -------------------------------------------------------------- */

static const fc_operator histogram_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE | FC_OP_PASSTHROUGH,
    FC_EVERY_SIGNAL,
    .name = "histogram",
    .summary = "count how many samples lie in each of equal ranges",
    .keywords = FC_TEXTS("hist"),
    .doc = "Passes the signal through unchanged and prints at the end the range that was counted, how many "
           "samples of "
           "each channel, and of all together, lie in each of its equal bins, bin0 first, and how many were "
           "below "
           "it, above it, and NaN. A bin begins with its lower end; the last one has its upper end too, as "
           "numpy.histogram counts.\n\n"
           "From 0 to white of images (0 to 256 with 8 bits, so that histogram:256 has a bin a code), full "
           "scale "
           "of sound, unless low and high say otherwise. --report writes the numbers as JSON, --plot draws "
           "them.",
    .examples = FC_TEXTS("histogram", "histogram:bins=8:low=-2:high=100", "histogram:256"),
    .example_docs = FC_TEXTS("count the values", "8 bins of a range", "256 bins"),
    FC_OPERATOR_PARAMS(
        FC_INT_PARAM(FC_PARAM_MAIN, "bins", "The number of bins.", NULL, "16", FC_INT_BETWEEN(1, 65536)),
        FC_FLOAT_PARAM(0, "low", "The lower end of the first one.", NULL, NULL,
                       FC_FLOAT_BETWEEN(-1e30, 1e30)),
        FC_FLOAT_PARAM(0, "high", "The upper end of the last one.", NULL, NULL,
                       FC_FLOAT_BETWEEN(-1e30, 1e30))),
    .create = create,
    .destroy = destroy,
    .negotiate = negotiate,
    .backends = BACKENDS(FC_ON_CPU(prepare, state_release, NULL, process_cpu),
                         FC_ON_CUDA(FC_BACKEND_GRAPH, prepare, state_release, NULL, process_cuda)),
    .reset = reset,
    .collect = collect,
    .report = report,
    .reference = FC_ON_CPU(prepare, state_release, NULL, process_cpu),
};
SINGLE_OPERATOR_PLUGIN("histogram", histogram_operator)
