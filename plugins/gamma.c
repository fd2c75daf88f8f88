/* SPDX-License-Identifier: MIT */
/* gamma.c - the operator gamma: a power of brightness; by filters/pointwise/pointwise.h. */
#include <math.h>

#include "plugins/pointwise.h"
#include "plugins/white.h"

enum { GAMMA, GAIN, WHITE, N_PARAMS };

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  (void)host, (void)instance;
  terms->work = 50;
  return FC_OK;
}

fc_pointwise pointwise_of(const void *instance, const fc_setup *setup, pointwise_numbers *numbers) {
  const fc_arg *const *args = instance;
  const double white = white_of(args[WHITE], setup->in[0]);
  (void)numbers;
  return (fc_pointwise){.form = FC_POINTWISE_CURVE,
                        .compute = setup->compute,
                        .factor = 1 / white,
                        .high = INFINITY,
                        .exponent = args[GAMMA]->floats[0],
                        .span = args[GAIN]->floats[0] * white};
}

static const fc_operator gamma_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    FC_PICTURES_ONLY,
    .name = "gamma",
    .summary = "apply a power law to brightness",
    .keywords = FC_TEXTS("pow", "power"),
    .doc = "white * gain * (v / white) ^ gamma for each sample, as adjust_gamma of torchvision and "
           "scikit-image: above 1 shadows get darker, below 1 lighter; black and white stay. 1/2.2 is "
           "0.4545. Values below 0 become 0; those above white are raised like the others, and clipped only "
           "where integers are stored. (ImageMagick's -gamma and the gamma of levels are the reciprocal.)\n\n"
           "Powers are our own, the same bits on every processor.",
    .examples = FC_TEXTS("gamma:2.2", "gamma:0.4545", "gamma:1.5:gain=0.9"),
    .example_docs = FC_TEXTS("darker shadows", "lighter shadows", "darker, then 0.9 times"),
    FC_OPERATOR_PARAMS(FC_FLOAT_PARAM(FC_PARAM_MAIN | FC_PARAM_REQUIRED, "gamma", "The exponent.", NULL, NULL,
                                      FC_FLOAT_BETWEEN(0.01, 100)),
                       FC_FLOAT_PARAM(0, "gain", "A factor that the result is multiplied by.", NULL, "1",
                                      FC_FLOAT_BETWEEN(0, 1e6)),
                       WHITE_PARAM),
    .create = fc_create_args,
    .negotiate = negotiate,
    POINTWISE_BACKENDS,
};
SINGLE_OPERATOR_PLUGIN("gamma", gamma_operator)
