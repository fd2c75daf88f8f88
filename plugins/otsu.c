/* SPDX-License-Identifier: MIT */
/* otsu.c - the operator otsu: a threshold computed from the image's histogram; the work is
 * filters/histogram/equalize.h. */
#include "plugins/equalize.h"

enum { TYPE, WHITE };

const fc_arg *equalize_white(const void *instance) {
  return ((const fc_arg *const *)instance)[WHITE];
}

int32_t equalize_form(const void *instance) {
  return (int32_t)((const fc_arg *const *)instance)[TYPE]->ints[0];
}

static const fc_operator otsu_operator = {
    .size = sizeof(fc_operator),
    .name = "otsu",
    .summary = "separate bright from dark by a level computed from each image",
    .keywords = FC_TEXTS("autothreshold"),
    .doc =
        "Threshold by Otsu's method: samples above the level become white, others 0, where the level divides "
        "the histogram into the two classes with the largest variance between them, as "
        "OpenCV's THRESH_OTSU and scikit-image's threshold_otsu find it. Each channel of each frame has its "
        "own level; gray ahead of it makes one of them. An image of one value becomes 0.\n\n"
        "    -p gray -p otsu\n"
        "    -p gray -p gauss:1 -p otsu     of a noisy image\n\n"
        "The histogram counts codes of 8 or 16 bits, to which floating-point values from earlier operators "
        "are rounded. threshold "
        "takes a level that is known.",
    .examples = FC_TEXTS("otsu", "otsu:inverse", "otsu:white=200"),
    .example_docs =
        FC_TEXTS("black and white, automatically", "white and black, automatically", "of values up to 200"),
    FC_OPERATOR_PARAMS(
        FC_ENUM_PARAM(FC_PARAM_MAIN, "type", "The result for samples above and below the level.", "binary",
                      FC_CHOICES(FC_CHOICE(FC_EQUALIZE_OTSU, "binary", "white where above the level, else 0"),
                                 FC_CHOICE(FC_EQUALIZE_OTSU_INVERSE, "inverse",
                                           "0 where above the level, else white"))),
        WHITE_PARAM),
    EQUALIZE_OPERATOR,
};
SINGLE_OPERATOR_PLUGIN("otsu", otsu_operator)
