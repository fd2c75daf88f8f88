/* SPDX-License-Identifier: MIT */
/*
 * gain.c - the operator gain: a factor for all channels or one for each; the work is
 * filters/pointwise/pointwise.h.
 */
#include "plugins/pointwise.h"
#include "plugins/single.h"

enum { GAIN, N_PARAMS };

/* An instance is the argument itself. */
static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  *instance = (void *)args[GAIN];
  return FC_OK;
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const fc_arg *gain = instance;
  int64_t channels = terms->in[0]->extent[FC_AXIS_C];
  if (gain->count > 1 && gain->count != channels)
    return host->fail(host, FC_INVALID, "%s: %lld gains for %lld channel%s; give one, or one a channel",
                      gain->text, (long long)gain->count, (long long)channels, channels == 1 ? "" : "s");
  terms->work = 1;
  return FC_OK;
}

static fc_status prepare(const fc_host *host, void *instance, const fc_setup *setup, void **prepared) {
  const fc_arg *gain = instance;
  fc_pointwise work = {.form = FC_POINTWISE_SCALE, .compute = setup->compute, .factor = gain->floats[0]};
  return pointwise_prepare(host, setup, work, gain->floats, gain->count > 1 ? gain->count : 0, prepared);
}

POINTWISE_BACKENDS(prepare)

/* ---- descriptor -------------------------------------------------------------- */

static const fc_param gain_param = {
    .size = sizeof(fc_param),
    .type = FC_FLOAT,
    .flags = FC_PARAM_MAIN | FC_PARAM_REQUIRED | FC_PARAM_LIST | FC_PARAM_DECIBEL,
    .name = "gain",
    .doc =
        "What samples are multiplied by: a factor, or decibels (-6dB is 10^(-6/20), about half). A negative "
        "factor inverts the phase. One for all channels, or as many as there are channels, apart by commas.",
};
static const fc_param *const params[N_PARAMS] = {[GAIN] = &gain_param};

static const char *const examples[] = {"gain:0.5", "gain:-6dB", "gain:-1", NULL};

static const fc_operator gain_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    .name = "gain",
    .summary = "multiply by a factor, given plainly or in decibels",
    .doc =
        "Multiplies every sample by a factor. Sound becomes louder or softer; an image, whose samples are "
        "code values, brighter or darker.\n\n"
        "Within a chain nothing is clipped: values beyond full scale go on as they are, and a later gain "
        "brings them back. Only when samples are stored as integers at last are they rounded, half to even, "
        "and limited to what the integers hold, with a warning that says so. A gain of 1 changes nothing. "
        "The product is rounded once, in single precision (double with --precision f64 or input of more "
        "than 24 bits).",
    .examples = examples,
    .n_params = N_PARAMS,
    .kinds = FC_KINDS_ALL,
    .dtypes_in = FC_DTYPES_ALL,
    .dtypes_out = FC_DTYPES_ALL,
    .params = params,
    .create = create,
    .negotiate = negotiate,
    .backends = BACKENDS(pointwise_on_cpu, pointwise_on_cuda),
    .reference = &pointwise_by_definition,
};

SINGLE_OPERATOR_PLUGIN("gain", gain_operator)
