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
};
SINGLE_OPERATOR_PLUGIN("sharpen", sharpen_operator)
