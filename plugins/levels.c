/* SPDX-License-Identifier: MIT */
/* levels.c - the operator levels: black and white point of images, and the curve between them; by
 * filters/pointwise/pointwise.h. */
#include "plugins/pointwise.h"
#include "plugins/white.h"

enum { IN_BLACK, IN_WHITE, GAMMA, OUT_BLACK, OUT_WHITE, WHITE, N_PARAMS };

static double level(const fc_arg *given, double otherwise) {
  return given->count > 0 ? given->floats[0] : otherwise;
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const fc_arg *const *args = instance;
  const double black = args[IN_BLACK]->floats[0];
  const double white = level(args[IN_WHITE], white_of(args[WHITE], terms->in[0]));
  terms->work = args[GAMMA]->floats[0] == 1 ? 5 : 50;
  if (white > black) return FC_OK;
  return host->fail(host, FC_INVALID,
                    "black=%g is not below white, which is %g: give both in the image's values", black,
                    white);
}

fc_pointwise pointwise_of(const void *instance, const fc_setup *setup, pointwise_numbers *numbers) {
  const fc_arg *const *args = instance;
  const double white = white_of(args[WHITE], setup->in[0]), black = args[IN_BLACK]->floats[0];
  const double low = args[OUT_BLACK]->floats[0];
  (void)numbers;
  return (fc_pointwise){.form = FC_POINTWISE_CURVE,
                        .compute = setup->compute,
                        .from = black,
                        .factor = 1 / (level(args[IN_WHITE], white) - black),
                        .high = 1,
                        .exponent = 1 / args[GAMMA]->floats[0],
                        .span = level(args[OUT_WHITE], white) - low,
                        .to = low};
}

static const fc_operator levels_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    FC_PICTURES_ONLY,
    .name = "levels",
    .summary = "set black point, white point and gamma",
    .keywords =
        FC_TEXTS("negative=levels:out_black=255:out_white=0", "negate=levels:out_black=255:out_white=0",
                 "invert=levels:out_black=255:out_white=0", "autocontrast", "contrast"),
    .doc =
        "As the levels of image editors: values from black to white are spread over out_black to "
        "out_white, and what lies beyond becomes an end; between the two t = (v - black) / (white - black) "
        "is raised to 1 / gamma, so that a gamma above 1 makes the middle lighter (as ImageMagick's "
        "-level). Levels are values of the image, 0 to 255 with 8 bits.\n\n"
        "    levels:16:white=235        the range of video to that of pictures\n"
        "    levels:out_black=255:out_white=0     a negative\n\n"
        "Powers are our own, the same bits on every processor.",
    .examples = FC_TEXTS("levels:16:white=235", "levels:black=20:white=200:gamma=1.4",
                         "levels:out_black=255:out_white=0", "levels:gamma=0.8:out_black=10:out_white=240"),
    .example_docs =
        FC_TEXTS("video range to full range", "lighter, with new ends", "negative", "less contrast, lighter"),
    FC_OPERATOR_PARAMS(
        FC_FLOAT_PARAM(FC_PARAM_MAIN, "black", "The value that becomes black.", NULL, "0", NULL),
        FC_FLOAT_PARAM(0, "white", "The value that becomes white; the image's white unless given.", NULL,
                       NULL, NULL),
        FC_FLOAT_PARAM(0, "gamma", "The reciprocal of the exponent between them.", NULL, "1",
                       FC_FLOAT_BETWEEN(0.01, 100)),
        FC_FLOAT_PARAM(0, "out_black", "What black becomes.", NULL, "0", NULL),
        FC_FLOAT_PARAM(0, "out_white", "What white becomes; the image's white unless given.", NULL, NULL,
                       NULL),
        FC_FLOAT_PARAM(0, "range",
                       "The image's white where it is not known: 255 with 8 bits, 65535 with 16, 1 of floats "
                       "in a file.",
                       NULL, NULL, FC_FLOAT_BETWEEN(1e-30, 1e30))),
    .create = fc_create_args,
    .negotiate = negotiate,
    POINTWISE_BACKENDS,
};
SINGLE_OPERATOR_PLUGIN("levels", levels_operator)
