/* SPDX-License-Identifier: MIT */
/*
 * clip.c - the operator clip: limits samples to a range; the work is filters/pointwise/pointwise.h.
 */
#include <math.h>

#include "plugins/pointwise.h"

enum { LEVEL, MIN, MAX, N_PARAMS };

typedef struct clip {
  double low, high;
  int given; /* any limit */
} clip;

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  int sides = args[MIN]->given + args[MAX]->given;
  clip self = {-INFINITY, INFINITY, args[LEVEL]->given || sides > 0};
  if (args[LEVEL]->given) self.low = -args[LEVEL]->floats[0], self.high = args[LEVEL]->floats[0];
  if (args[MIN]->given) self.low = args[MIN]->floats[0];
  if (args[MAX]->given) self.high = args[MAX]->floats[0];
  if (args[LEVEL]->given && sides > 0)
    return host->fail(host, FC_INVALID, "%s sets min and max: give either level or these", args[LEVEL]->text);
  if (self.low > self.high)
    return host->fail(host, FC_INVALID, "min=%s lies above max=%s", args[MIN]->text, args[MAX]->text);
  return state_keep(host, &self, sizeof self, instance);
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const clip *self = instance;
  if (!self->given && terms->in[0]->kind != FC_AUDIO)
    return host->fail(host, FC_INVALID, "give min, max or both: only sound has a full scale of its own");
  terms->work = 2;
  return FC_OK;
}

fc_pointwise pointwise_of(const void *instance, const fc_setup *setup, pointwise_numbers *numbers) {
  const clip *self = instance;
  (void)numbers;
  return (fc_pointwise){.form = FC_POINTWISE_CLAMP,
                        .compute = setup->compute,
                        .low = self->given ? self->low : -1,
                        .high = self->given ? self->high : 1};
}

/* ---- descriptor -------------------------------------------------------------- */

static const fc_param *const params[N_PARAMS] = {
    [LEVEL] = FC_FLOAT_PARAM(FC_PARAM_MAIN | FC_PARAM_DECIBEL, "level",
                             "Limits to -level .. level: a number, or decibels below full scale (-1dB).",
                             NULL, NULL, FC_FLOAT_BETWEEN(0, 4294967295.0)),
    [MIN] = FC_FLOAT_PARAM(0, "min", "Lesser values become this one. Without it there is no lower limit.",
                           NULL, NULL, NULL),
    [MAX] = FC_FLOAT_PARAM(0, "max", "Greater values become this one. Without it there is no upper limit.",
                           NULL, NULL, NULL),
};

static const char *const examples[] = {"clip:0.9", "clip:min=16:max=235", "clip:min=0", NULL};

static const fc_operator clip_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    .name = "clip",
    .summary = "limit samples to a range",
    .keywords = FC_TEXTS("clamp"),
    .doc = "Replaces values below min by min and values above max by max; the others stay as they are to the "
           "last bit. NaN stays NaN.\n\n"
           "The limits are real values: full scale of sound is 1, and images are code values, 0 to 255 or "
           "65535. Without any limit sound is limited to -1 .. 1, and images are refused. Integer samples "
           "are limited to the nearest integers.",
    .examples = examples,
    .example_docs = FC_TEXTS("full scale is 0.9", "to video range", "nothing below 0"),
    .example_commands = FC_TEXTS("", "-i in.png ... -o out.png", "-i in.png ... -o out.png"),
    .n_params = N_PARAMS,
    FC_EVERY_SIGNAL,
    .params = params,
    .create = create,
    .destroy = free,
    .negotiate = negotiate,
    POINTWISE_BACKENDS,
};

SINGLE_OPERATOR_PLUGIN("clip", clip_operator)
