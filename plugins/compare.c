/* SPDX-License-Identifier: MIT */
/*
 * compare.c - the operator compare: compares a signal with a reference; the work is filters/stats/compare.h.
 * The signal is passed on unchanged.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filters/pointwise/gather.h"
#include "filters/stats/compare.h"
#include "plugins/single.h"

enum { REFERENCE, MAX, PSNR, SSIM, PEAK, N_PARAMS };

typedef struct compare {
  const fc_arg *const *args;
  uint32_t channels;      /* number of parts */
  fc_compare_block head;  /* of the blocks so far */
  fc_compare_part *parts; /* one per channel */
} compare;

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  const compare op = {.args = args};
  return state_keep(host, &op, sizeof op, self);
}

static void destroy(void *self) {
  compare *op = self;
  if (op) free(op->parts);
  free(op);
}

/* ---- negotiate ---------------------------------------------------------------- */

static fc_status check_extents(const fc_host *host, const fc_format *in, const fc_format *reference,
                               const char *file) {
  static const char *const names[FC_AXES] = {"frames", "rows", "columns", "channels"};
  for (int a = 0; a < FC_AXES; a++) {
    const int64_t here = in->extent[a], there = reference->extent[a];
    if (here >= 0 && there >= 0 && here != there)
      return host->fail(host, FC_INVALID, "%s has %lld %s, the input %lld", file, (long long)there,
                        in->kind == FC_AUDIO && a == FC_AXIS_X ? "samples" : names[a], (long long)here);
  }
  return FC_OK;
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  const compare *op = self;
  const fc_arg *file = op->args[REFERENCE];
  const fc_format *in = terms->in[0], *reference = terms->in[file->input];
  if (in->kind != reference->kind)
    return host->fail(host, FC_INVALID, "%s is another kind of signal than the input", file->text);
  if (in->kind == FC_AUDIO && op->args[SSIM]->given)
    return host->fail(host, FC_INVALID, "ssim is for images");
  if (in->extent[FC_AXIS_C] > UINT16_MAX)
    return host->fail(host, FC_UNSUPPORTED, "compares up to %d channels", UINT16_MAX);
  fc_status status = check_extents(host, in, reference, file->text);
  if (status != FC_OK) return status;
  const int along = in->kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_Y;
  terms->needs[0]->reach[along].align = fc_compare_align(in->kind);
  terms->measure_bytes = fc_compare_block_bytes(in->extent[FC_AXIS_C]);
  terms->work = in->kind == FC_AUDIO ? 6 : 250;
  /* If the signal were longer than the reference, a run would not notice: the whole reference must have
   * been compared. */
  for (int a = 0; a < FC_AXES; a++)
    if (reference->extent[a] < 0)
      terms->needs[file->input]->reach[a].before = terms->needs[file->input]->reach[a].after = FC_WHOLE;
  for (int i = 0; i < 2 && in->kind != FC_AUDIO; i++) {
    fc_need *need = terms->needs[i ? file->input : 0];
    need->reach[FC_AXIS_Y].before = need->reach[FC_AXIS_Y].after = FC_COMPARE_HALO;
    need->border = FC_BORDER_NONE; /* windows stay inside the image */
  }
  return FC_OK;
}

/* ---- running ------------------------------------------------------------------ */

typedef struct compare_state {
  fc_compare work;
  uint32_t reference;
} compare_state;

/* The largest possible value. */
static double peak_of(const fc_arg *peak, int kind, int dtype) {
  static const double codes[FC_DTYPE_COUNT] = {255, 32767, 65535, 2147483647.0, 255, 255};
  if (peak->count) return peak->floats[0];
  return kind == FC_AUDIO ? 1 : codes[dtype];
}

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {
  const compare *op = self;
  const uint32_t which = op->args[REFERENCE]->input;
  const fc_format *reference = setup->in[which];
  const double peak = peak_of(op->args[PEAK], reference->kind, reference->dtype);
  const compare_state state = {fc_compare_of(peak), which};
  return state_keep(host, &state, sizeof state, prepared);
}

static size_t scratch(const void *prepared, const fc_job *job) {
  return fc_compare_scratch();
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  const compare_state *state = prepared;
  const fc_gather copy = {0};
  if (job->measure)
    fc_compare_cpu(&state->work, job->in[0], job->in[state->reference], job->measure, job->measure_stride,
                   job->scratch);
  return fc_gather_cpu(&copy, job->in[0], job->out);
}

static fc_status process_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  const compare_state *state = prepared;
  const fc_gather copy = {0};
  if (job->measure)
    fc_compare_ref(&state->work, job->in[0], job->in[state->reference], job->measure, job->measure_stride);
  return fc_gather_ref(&copy, job->in[0], job->out);
}

#if FC_HAVE_CUDA
static fc_status process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  const compare_state *state = prepared;
  const fc_gather copy = {0};
  fc_status status = FC_OK;
  if (job->measure)
    status = fc_compare_cuda(&state->work, job->in[0], job->in[state->reference], job->measure,
                             job->measure_stride, job->stream);
  return status == FC_OK ? fc_gather_cuda(&copy, job->in[0], job->out, job->stream) : status;
}
#endif

/* ---- collecting and reporting --------------------------------------------------- */

static void reset(void *self) {
  compare *op = self;
  free(op->parts);
  op->parts = NULL;
  op->channels = 0;
}

static fc_status collect(const fc_host *host, void *self, const void *blocks, int64_t count) {
  compare *op = self;
  const char *at = blocks;
  for (int64_t i = 0; i < count; i++) {
    memcpy(&op->head, at, sizeof op->head);
    if (op->head.channels == 0) return FC_OK; /* rows without samples: nothing was measured */
    if (!op->parts) {
      op->parts = calloc(op->head.channels, sizeof *op->parts);
      if (!op->parts) return host->fail(host, FC_NO_MEMORY, "no memory for %u channels", op->head.channels);
      op->channels = op->head.channels;
    }
    if (op->head.channels != op->channels) return host->fail(host, FC_FATAL, "blocks of different signals");
    for (uint32_t c = 0; c < op->channels; c++) {
      fc_compare_part part;
      memcpy(&part, at + sizeof op->head + c * sizeof part, sizeof part);
      fc_compare_add(&op->parts[c], &part);
    }
    at += fc_compare_block_bytes(op->channels);
  }
  return FC_OK;
}

typedef struct results {
  double mse, psnr, snr, largest, ssim;
} results;

static results results_of(const fc_compare_part *p, double peak) {
  const double count = (double)p->count, mse = p->squares / count;
  return (results){mse, 10 * log10(peak * peak / mse), 10 * log10(p->signal / p->squares), p->largest,
                   p->similarity / (double)p->windows};
}

static void tell(const fc_host *host, const char *name, const char *unit, int channel, double value) {
  const fc_measurement m = {sizeof m, channel, name, unit, value, NULL};
  host->measured(host, &m);
}

static void tell_all(const fc_host *host, const compare *op, const fc_compare_part *p, const results *r,
                     int channel) {
  tell(host, "max", "", channel, r->largest);
  tell(host, "mse", "", channel, r->mse);
  tell(host, "psnr", "dB", channel, r->psnr);
  if (op->head.kind == FC_AUDIO) tell(host, "snr", "dB", channel, r->snr);
  if (p->windows > 0) tell(host, "ssim", "", channel, r->ssim);
  if (p->bad > 0) tell(host, "nonfinite", "", channel, (double)p->bad);
}

/* Fails the run if the limits given by the user are exceeded; that is a failure of the data: exit status
 * 1. */
static fc_status judge(const fc_host *host, const compare *op, const fc_compare_part *p, const results *r) {
  const fc_arg *max = op->args[MAX], *psnr = op->args[PSNR], *ssim = op->args[SSIM];
  if (p->bad > 0 && (max->count || psnr->count || ssim->count))
    return host->fail(host, FC_IO, "%llu samples cannot be compared: a NaN or an infinity on either side",
                      (unsigned long long)p->bad);
  if (max->count && !(r->largest <= max->floats[0]))
    return host->fail(host, FC_IO, "the largest difference is %.9g, more than max=%s", r->largest, max->text);
  if (psnr->count && !(r->psnr >= psnr->floats[0]))
    return host->fail(host, FC_IO, "the PSNR is %.6g dB, less than psnr=%s", r->psnr, psnr->text);
  if (ssim->count && p->windows > 0 && !(r->ssim >= ssim->floats[0]))
    return host->fail(host, FC_IO, "the SSIM is %.6g, less than ssim=%s", r->ssim, ssim->text);
  return FC_OK;
}

static fc_status report(const fc_host *host, void *self) {
  const compare *op = self;
  const double peak = peak_of(op->args[PEAK], op->head.kind, op->head.dtype);
  fc_compare_part all = {0};
  for (uint32_t c = 0; c < op->channels; c++) {
    const results r = results_of(&op->parts[c], peak);
    fc_compare_add(&all, &op->parts[c]);
    if (op->channels > 1) tell_all(host, op, &op->parts[c], &r, (int)c);
  }
  const results r = results_of(&all, peak);
  if (all.count + all.bad == 0) return FC_OK; /* no samples */
  tell_all(host, op, &all, &r, -1);
  return judge(host, op, &all, &r);
}

/* ---- descriptor -------------------------------------------------------------- */

static const fc_param *const params[N_PARAMS] = {
    [REFERENCE] =
        FC_INPUT_PARAM(FC_PARAM_MAIN | FC_PARAM_REQUIRED, "reference", "The file of the reference."),
    [MAX] = FC_FLOAT_PARAM(0, "max", "The run fails where a difference is larger.", NULL, NULL,
                           FC_FLOAT_AT_LEAST(0)),
    [PSNR] = FC_FLOAT_PARAM(0, "psnr", "The run fails where the PSNR is less.", "dB", NULL, NULL),
    [SSIM] = FC_FLOAT_PARAM(0, "ssim", "The run fails where the SSIM of an image is less.", NULL, NULL,
                            FC_FLOAT_BETWEEN(-1, 1)),
    [PEAK] =
        FC_FLOAT_PARAM(0, "peak",
                       "The largest value, for PSNR and SSIM: full scale of sound, the largest code of the "
                       "reference's integers, and 255 for floating point, unless given.",
                       NULL, NULL, FC_FLOAT_BETWEEN(1e-300, 1e300)),
};

static const fc_operator compare_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE | FC_OP_KEEPS_MEANING,
    .name = "compare",
    .summary = "measure how far a signal is from a reference: largest difference, PSNR, SSIM",
    .keywords = FC_TEXTS("diff", "difference", "psnr", "ssim", "snr", "mse"),
    .doc =
        "Compares the input with a reference of the same size and passes it on unchanged. Measured are the "
        "largest "
        "difference (max), the mean squared one (mse), the peak signal-to-noise ratio (psnr), for sound the "
        "signal-to-noise ratio (snr) and for images of 11 x 11 pixels and more the structural similarity "
        "(ssim), "
        "of all channels together and of each.\n\n"
        "    compare:original.png:psnr=40       exit status 1 below 40 dB\n"
        "    compare:wanted.wav:max=0.0001\n\n"
        "Differences are those of values: full scale of sound is 1, images are code values, whatever "
        "integers "
        "either side holds. SSIM is that of Wang and others (2004): Gaussian windows of 11 x 11 pixels, "
        "sigma 1.5, K1 0.01, K2 0.03, the mean over all that lie within the image, channel by channel. The "
        "PSNR of "
        "signals that are equal is infinite.",
    .examples = FC_TEXTS("compare:reference.png", "compare:reference.png:peak=100",
                         "compare:reference.wav:max=1e12:psnr=-1000"),
    .example_docs = FC_TEXTS("PSNR and SSIM beside another image", "of values up to 100",
                             "beside a sound, never failing"),
    .example_commands = FC_TEXTS("-i in.png ...", "-i in.png ...", ""),
    FC_EVERY_SIGNAL,
    .n_params = N_PARAMS,
    .params = params,
    .create = create,
    .destroy = destroy,
    .negotiate = negotiate,
    .backends = BACKENDS(FC_ON_CPU(prepare, state_release, scratch, process_cpu),
                         FC_ON_CUDA(FC_BACKEND_GRAPH, prepare, state_release, NULL, process_cuda)),
    .reset = reset,
    .collect = collect,
    .report = report,
    .reference = FC_ON_CPU(prepare, state_release, NULL, process_reference),
};

SINGLE_OPERATOR_PLUGIN("compare", compare_operator)
