/* SPDX-License-Identifier: MIT */
/* gain.c - the operator gain: a factor for all channels, or one per channel; by
 * filters/pointwise/pointwise.h. */
#include "plugins/pointwise.h"

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const fc_arg *gain = ((const fc_arg *const *)instance)[0];
  const int64_t channels = terms->in[0]->extent[FC_AXIS_C];
  terms->work = 1;
  if (gain->count <= 1 || gain->count == channels) return FC_OK;
  return host->fail(host, FC_INVALID, "%s: %lld gains for %lld channel%s; give one, or one for each channel",
                    gain->text, (long long)gain->count, (long long)channels, channels == 1 ? "" : "s");
}

fc_pointwise pointwise_of(const void *instance, const fc_setup *setup, pointwise_numbers *numbers) {
  const fc_arg *gain = ((const fc_arg *const *)instance)[0];
  if (gain->count > 1) numbers->factors = gain->floats, numbers->count = gain->count, numbers->all = 1;
  return (fc_pointwise){.form = FC_POINTWISE_SCALE, .compute = setup->compute, .factor = gain->floats[0]};
}

static const fc_operator gain_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    FC_EVERY_SIGNAL,
    .name = "gain",
    .summary = "multiply by a factor, given plainly or in decibels",
    .keywords = FC_TEXTS("volume", "vol", "amplify", "amplitude", "brightness", "brighten",
                         "polarity=gain:-1", "invert=gain:-1"),
    .doc = "Multiplies every sample by a factor: sound becomes louder or softer, an image brighter or "
           "darker. Within a chain nothing is clipped; only when samples are stored as integers at last are "
           "they rounded, half to even, and limited to what the integers hold, with a warning. The product "
           "is rounded once, in single precision (double with --precision f64). Of image files alpha stays "
           "as it is, "
           "unless a gain is given for each channel.",
    .examples = FC_TEXTS("gain:0.5", "gain:-6dB", "gain:-1"),
    .example_docs = FC_TEXTS("half the amplitude", "half the amplitude, as decibels", "turn the polarity"),
    FC_OPERATOR_PARAMS(FC_FLOAT_PARAM(
        FC_PARAM_MAIN | FC_PARAM_REQUIRED | FC_PARAM_LIST | FC_PARAM_DECIBEL, "gain",
        "What samples are multiplied by: a factor, or decibels (-6dB is 10^(-6/20), about half); a negative "
        "factor inverts the phase. One for all channels, or one a channel, separated by commas.",
        NULL, NULL, NULL)),
    .create = fc_create_args,
    .negotiate = negotiate,
    POINTWISE_BACKENDS,
};
SINGLE_OPERATOR_PLUGIN("gain", gain_operator)
