/* SPDX-License-Identifier: MIT */
/* threshold.c - the operator threshold: separates values above a level from those below; by
 * filters/pointwise/pointwise.h. */
#include <math.h>

#include "plugins/pointwise.h"
#include "plugins/white.h"

enum { LEVEL, TYPE, HIGH, WHITE, N_PARAMS };
enum { BINARY, INVERSE, TRUNCATE, ABOVE, BELOW };

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  const int64_t type = args[TYPE]->ints[0];
  *instance = (void *)(uintptr_t)args;
  if (!args[HIGH]->given || type == BINARY || type == INVERSE) return FC_OK;
  return host->fail(host, FC_INVALID, "high is what becomes of samples with type=binary and type=inverse");
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  (void)host, (void)instance;
  terms->work = 2;
  return FC_OK;
}

fc_pointwise pointwise_of(const void *instance, const fc_setup *setup, pointwise_numbers *numbers) {
  const fc_arg *const *args = instance;
  const int64_t type = args[TYPE]->ints[0];
  const double level = args[LEVEL]->floats[0];
  const double high = args[HIGH]->count > 0 ? args[HIGH]->floats[0] : white_of(args[WHITE], setup->in[0]);
  fc_pointwise work = {.form = FC_POINTWISE_THRESHOLD, .compute = setup->compute, .from = level};
  (void)numbers;
  if (type == BINARY) work.high = high;
  if (type == INVERSE) work.low = high;
  if (type == ABOVE) work.keeps = FC_POINTWISE_KEEPS_ABOVE;
  if (type == BELOW) work.keeps = FC_POINTWISE_KEEPS_BELOW;
  if (type == TRUNCATE) work.form = FC_POINTWISE_CLAMP, work.low = -INFINITY, work.high = level;
  return work;
}

static const fc_operator threshold_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    FC_PICTURES_ONLY,
    .name = "threshold",
    .summary = "compare samples with a level: black and white images",
    .keywords = FC_TEXTS("binarize", "binarise"),
    .doc = "Compares each sample with a level, a value of the image (0 to 255 with 8 bits), as OpenCV's "
           "threshold does: equal to the level is not above it. Channels are compared one by one; gray ahead "
           "of it makes one of them.\n\n"
           "NaN is not above any level.",
    .examples = FC_TEXTS("threshold:128", "threshold:100:type=inverse:high=1", "threshold:90:type=truncate",
                         "threshold:90:type=above", "threshold:90:type=below"),
    .example_docs = FC_TEXTS("white above 128", "1 below 100, else 0", "cut off at 90", "keep what is above",
                             "keep what is below"),
    FC_OPERATOR_PARAMS(
        FC_FLOAT_PARAM(FC_PARAM_MAIN | FC_PARAM_REQUIRED, "level", "The level.", NULL, NULL,
                       FC_FLOAT_BETWEEN(-1e30, 1e30)),
        FC_ENUM_PARAM(
            0, "type", "The result for samples above and below the level.", "binary",
            FC_CHOICES(
                FC_CHOICE(BINARY, "binary", "high where above the level, else 0"),
                FC_CHOICE(INVERSE, "inverse", "0 where above the level, else high (THRESH_BINARY_INV)"),
                FC_CHOICE(TRUNCATE, "truncate", "the level where above it, else as it was"),
                FC_CHOICE(ABOVE, "above", "as it was where above the level, else 0 (THRESH_TOZERO)"),
                FC_CHOICE(BELOW, "below", "0 where above the level, else as it was (THRESH_TOZERO_INV)"))),
        FC_FLOAT_PARAM(0, "high", "What samples become; white unless given.", NULL, NULL,
                       FC_FLOAT_BETWEEN(-1e30, 1e30)),
        WHITE_PARAM),
    .create = create,
    .negotiate = negotiate,
    POINTWISE_BACKENDS,
};
SINGLE_OPERATOR_PLUGIN("threshold", threshold_operator)
