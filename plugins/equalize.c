/* SPDX-License-Identifier: MIT */
/* equalize.c - the operator equalize: histogram equalisation; the work is filters/histogram/equalize.h. */
#include "plugins/equalize.h"

const fc_arg *equalize_white(const void *instance) {
  return ((const fc_arg *const *)instance)[0];
}

int32_t equalize_form(const void *instance) {
  (void)instance;
  return FC_EQUALIZE_FLAT;
}

static const fc_operator equalize_operator = {
    .size = sizeof(fc_operator),
    .name = "equalize",
    .summary = "spread the values of images so that all are about equally frequent",
    .keywords = FC_TEXTS("equalise", "histeq", "equalize_hist"),
    .doc =
        "Histogram equalisation of each channel of each frame: a sample becomes the fraction of samples "
        "below it, scaled from black to white. With 8 bits that is Pillow's ImageOps.equalize, code for "
        "code; images of fewer "
        "than 255 pixels or of one value stay as they are.\n\n"
        "The histogram counts codes of 8 or 16 bits, to which floating-point values from earlier operators "
        "are rounded. Of floats "
        "from "
        "a file convert:u16 makes codes. For colours that keep their hue, equalize the lightness alone: mix "
        "takes channels apart.",
    .examples = FC_TEXTS("equalize", "equalize:white=200"),
    .example_docs = FC_TEXTS("spread brightness evenly", "of values up to 200"),
    FC_OPERATOR_PARAMS(WHITE_PARAM),
    EQUALIZE_OPERATOR,
};
SINGLE_OPERATOR_PLUGIN("equalize", equalize_operator)
