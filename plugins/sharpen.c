/* SPDX-License-Identifier: MIT */
/* sharpen.c - the operator sharpen: an unsharp mask; the work is filters/local/sharpen.h. */
#include "filters/base/samples.h"
#include "filters/local/sharpen.h"
#include "plugins/border.h"
#include "plugins/gauss.h"
#include "plugins/mask2d.h"
#include "plugins/single.h"

enum { SIGMA, AMOUNT, THRESHOLD, TRUNCATE, BORDER, VALUE, N_PARAMS };

typedef struct sharpen {
  const fc_arg *const *args; /* owned by the host */
  gauss_mask x, y;
} sharpen;

static void destroy(void *instance) {
  sharpen *self = instance;
  if (!self) return;
  gauss_mask_clear(&self->x);
  gauss_mask_clear(&self->y);
  free(self);
}

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  fc_status status = border_check(host, args[BORDER], args[VALUE]);
  if (status != FC_OK) return status;
  sharpen *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, FC_NO_MEMORY, "out of memory");
  self->args = args;
  status = gauss_masks_make(host, args[SIGMA], args[TRUNCATE], &self->x, &self->y);
  if (status != FC_OK)
    destroy(self);
  else
    *instance = self;
  return status;
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const sharpen *self = instance;
  (void)host;
  mask2d_terms(terms, self->y.count, self->x.count);
  border_terms(self->args[BORDER], self->args[VALUE], terms);
  terms->work = 2.0 * (double)(self->x.count + self->y.count) + 4;
  return FC_OK;
}

/* ---- running ------------------------------------------------------------------ */

typedef struct sharpen_state {
  fc_sharpen filter;
  mask2d_taps x, y; /* from host->alloc */
  int device;
} sharpen_state;

static void release(const fc_host *host, void *prepared) {
  sharpen_state *state = prepared;
  if (!state) return;
  mask2d_taps_clear(host, state->device, &state->x);
  mask2d_taps_clear(host, state->device, &state->y);
  free(state);
}

static fc_status prepare(const fc_host *host, void *instance, const fc_setup *setup, void **prepared) {
  const sharpen *self = instance;
  const int wide = setup->compute == FC_F64;
  sharpen_state *state = calloc(1, sizeof *state);
  if (!state) return host->fail(host, FC_NO_MEMORY, "out of memory");
  state->device = setup->device;
  fc_status status =
      mask2d_taps_make(host, setup, wide ? self->x.wide : self->x.single, self->x.count, &state->x);
  if (status == FC_OK)
    status = mask2d_taps_make(host, setup, wide ? self->y.wide : self->y.single, self->y.count, &state->y);
  state->filter = (fc_sharpen){.blur = {.compute = setup->compute,
                                        .isa = fc_isa_best(),
                                        .rank = 1,
                                        .nx = self->x.count,
                                        .ny = self->y.count,
                                        .x = state->x.host,
                                        .y = state->y.host,
                                        .device_x = state->x.device,
                                        .device_y = state->y.device},
                               .amount = self->args[AMOUNT]->floats[0],
                               .threshold = self->args[THRESHOLD]->floats[0]};
  if (status != FC_OK)
    release(host, state);
  else
    *prepared = state;
  return status;
}

static size_t scratch(const void *prepared, const fc_job *job) {
  return fc_sharpen_scratch(&((const sharpen_state *)prepared)->filter, job->out);
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  const sharpen_state *state = prepared;
  (void)host;
  return fc_sharpen_cpu(&state->filter, job->in[0], job->out, job->scratch, job->notes);
}

static fc_status process_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  const sharpen_state *state = prepared;
  (void)host;
  return fc_sharpen_ref(&state->filter, job->in[0], job->out, job->scratch, job->notes);
}

#if FC_HAVE_CUDA
static size_t cuda_scratch(const void *prepared, const fc_job *job) {
  return fc_sharpen_cuda_scratch(&((const sharpen_state *)prepared)->filter, job->out);
}

static fc_status process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  const sharpen_state *state = prepared;
  (void)host;
  return fc_sharpen_cuda(&state->filter, job->in[0], job->out, job->scratch, job->stream, job->notes);
}
#endif

/* ---- descriptor ---------------------------------------------------------------- */

static const fc_operator sharpen_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    FC_PICTURES_ONLY,
    .name = "sharpen",
    .summary = "sharpen images by an unsharp mask",
    .doc = "Adds to each sample what a Gaussian blur takes from it: v + amount * (v - blurred), where the "
           "difference is larger than threshold, in values of the image; elsewhere, as in noise, the sample "
           "stays. That is scikit-image's unsharp_mask, and Pillow's UnsharpMask(radius=sigma, percent=100 * "
           "amount, threshold) but for its approximation of the Gaussian.\n\n"
           "Edges overshoot; what leaves the range is clipped where integers are stored, with a warning "
           "(clip ahead of the output says that it is meant).",
    .examples = FC_TEXTS("sharpen", "sharpen:1.5:amount=0.6:threshold=3", "sharpen:2,1:amount=-0.5"),
    .example_docs = FC_TEXTS("unsharp mask", "wider, sparing flat areas", "softer"),
    FC_OPERATOR_PARAMS(GAUSS_SIGMA_PARAM(FC_PARAM_MAIN, "1"),
                       FC_FLOAT_PARAM(0, "amount", "How much of the difference is added; below 0 blurs.",
                                      NULL, "1", FC_FLOAT_BETWEEN(-100, 100)),
                       FC_FLOAT_PARAM(0, "threshold",
                                      "Differences up to this stay as they are, in values of the image: 0 to "
                                      "255 with 8 bits.",
                                      NULL, "0", FC_FLOAT_BETWEEN(0, 1e9)),
                       GAUSS_TRUNCATE_PARAM, BORDER_PARAM, BORDER_VALUE_PARAM),
    .create = create,
    .destroy = destroy,
    .negotiate = negotiate,
    .backends = BACKENDS(FC_ON_CPU(prepare, release, scratch, process_cpu),
                         FC_ON_CUDA(FC_BACKEND_GRAPH, prepare, release, cuda_scratch, process_cuda)),
    .reference = FC_ON_CPU(prepare, release, scratch, process_reference),
};
SINGLE_OPERATOR_PLUGIN("sharpen", sharpen_operator)
