/* SPDX-License-Identifier: MIT */
/* sharpen.c - the operator sharpen: an unsharp mask; the work is filters/local/sharpen.h. */
#include "filters/local/sharpen.h"
#include "plugins/gauss.h"

enum { SIGMA, AMOUNT, THRESHOLD, TRUNCATE, BORDER, VALUE, N_PARAMS };

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  return gauss_create_of(host, args, N_PARAMS, instance);
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  (void)host;
  gauss_terms(instance, terms);
  terms->work += 4;
  return FC_OK;
}

/* ---- running ------------------------------------------------------------------ */

static fc_sharpen sharpen_of(const void *prepared) {
  const sepconv_state *state = prepared;
  const fc_arg *const *args = ((const gauss *)state->instance)->args;
  return (fc_sharpen){state->filter, args[AMOUNT]->floats[0], args[THRESHOLD]->floats[0]};
}

static size_t scratch(const void *prepared, const fc_job *job) {
  const fc_sharpen s = sharpen_of(prepared);
  return fc_sharpen_scratch(&s, job->out);
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  const fc_sharpen s = sharpen_of(prepared);
  (void)host;
  return fc_sharpen_cpu(&s, job->in[0], job->out, job->scratch, job->notes);
}

static fc_status process_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  const fc_sharpen s = sharpen_of(prepared);
  (void)host;
  return fc_sharpen_ref(&s, job->in[0], job->out, job->scratch, job->notes);
}

#if FC_HAVE_CUDA
static size_t cuda_scratch(const void *prepared, const fc_job *job) {
  const fc_sharpen s = sharpen_of(prepared);
  return fc_sharpen_cuda_scratch(&s, job->out);
}

static fc_status process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  const fc_sharpen s = sharpen_of(prepared);
  (void)host;
  return fc_sharpen_cuda(&s, job->in[0], job->out, job->scratch, job->stream, job->notes);
}
#endif

/* The blur's window, and what is behind its taps. Alone, too: one by one, the blurred image is written and
 * read as floats. */
static fc_status describe(const fc_host *host, void *instance, const fc_setup *setup, fc_device_function *f) {
  const fc_arg *const *args = ((const gauss *)instance)->args;
  const sepconv_taps taps = sepconv_taps_of(instance, setup->compute);
  (void)host;
  const uint32_t more = 2 * sizeof(float);
  if (taps.nx + taps.ny > (FC_FUNCTION_BYTES - (int64_t)more) / (int64_t)sizeof(float)) return FC_UNSUPPORTED;
  const fc_status status = fc_describe_window(setup, f, taps.nx, taps.ny, taps.x, taps.y);
  if (status != FC_OK) return status;
  const double amount = args[AMOUNT]->floats[0], threshold = args[THRESHOLD]->floats[0];
  float *behind = (float *)f->bytes + taps.nx + taps.ny;
  behind[0] = (float)amount, behind[1] = (float)threshold;
  f->n_bytes += more, f->source = FC_FUNCTION_SHARPENED_TEXT;
  snprintf(f->entry, FC_FUNCTION_ENTRY, "fc_sharpened<%d,%d>", (int)taps.nx, (int)taps.ny);
  int positive = 1;
  const double blur = mask2d_size(taps.x, taps.nx, &positive) * mask2d_size(taps.y, taps.ny, &positive);
  f->growth = 1 + fabs(amount) * (1 + blur);
  f->flags |= FC_FUNCTION_ALONE;
  return FC_OK;
}

FC_FUSIBLE(sharpen_extension, describe)

/* ---- descriptor ---------------------------------------------------------------- */

static const fc_operator sharpen_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    FC_PICTURES_ONLY,
    .name = "sharpen",
    .summary = "sharpen images by an unsharp mask",
    .keywords = FC_TEXTS("unsharp", "unsharp_mask", "usm", "sharpness"),
    .doc = "Adds to each sample what a Gaussian blur takes from it: v + amount * (v - blurred), where the "
           "difference is larger than threshold, in values of the image; elsewhere, as in noise, the sample "
           "stays. That is scikit-image's unsharp_mask, and Pillow's UnsharpMask(radius=sigma, percent=100 * "
           "amount, threshold) but for its approximation of the Gaussian.\n\n"
           "Edges overshoot; what leaves the range is clipped where integers are stored, with a warning "
           "(clip ahead of the output says that it is meant).",
    .examples = FC_TEXTS("sharpen", "sharpen:1.5:amount=0.6:threshold=3", "sharpen:2,1:amount=-0.5"),
    .example_docs = FC_TEXTS("unsharp mask", "wider, sparing flat areas", "softer"),
    .example_commands = FC_TEXTS("-i in.png ... -p clip:min=0:max=255 -o out.png",
                                 "-i in.png ... -p clip:min=0:max=255 -o out.png", ""),
    FC_OPERATOR_PARAMS(GAUSS_SIGMA_PARAM(FC_PARAM_MAIN, "1"),
                       FC_FLOAT_PARAM(0, "amount", "How much of the difference is added; below 0 blurs.",
                                      NULL, "1", FC_FLOAT_BETWEEN(-100, 100)),
                       FC_FLOAT_PARAM(0, "threshold",
                                      "Differences up to this stay as they are, in values of the image: 0 to "
                                      "255 with 8 bits.",
                                      NULL, "0", FC_FLOAT_BETWEEN(0, 1e9)),
                       GAUSS_TRUNCATE_PARAM, BORDER_PARAM, BORDER_VALUE_PARAM),
    .create = create,
    .destroy = gauss_destroy,
    .negotiate = negotiate,
    .backends =
        BACKENDS(FC_ON_CPU(sepconv_prepare, sepconv_release, scratch, process_cpu),
                 FC_ON_CUDA(FC_BACKEND_GRAPH, sepconv_prepare, sepconv_release, cuda_scratch, process_cuda)),
    .reference = FC_ON_CPU(sepconv_prepare, sepconv_release, scratch, process_reference),
    .extension = sharpen_extension,
};
SINGLE_OPERATOR_PLUGIN("sharpen", sharpen_operator)
