/* SPDX-License-Identifier: MIT */
/* flip.c - the operator flip: mirrors images; by filters/geometry/permute.h. */
#include "plugins/permute.h"

enum { FLIP_X = 1, FLIP_Y = 2 };

fc_permute permute_of(const void *instance) {
  const int axis = (int)((const fc_arg *const *)instance)[0]->ints[0];
  fc_permute p = FC_PERMUTE_NONE;
  p.reversed[FC_AXIS_X] = (axis & FLIP_X) != 0, p.reversed[FC_AXIS_Y] = (axis & FLIP_Y) != 0;
  return p;
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const fc_permute p = permute_of(instance);
  permute_terms(&p, terms);
  return FC_OK;
}

static const fc_operator flip_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE | FC_OP_KEEPS_MEANING,
    FC_PICTURES_ONLY,
    .name = "flip",
    .summary = "mirror images: left and right, top and bottom, or both",
    .keywords =
        FC_TEXTS("mirror", "hflip=flip:x", "vflip=flip:y", "flop=flip:x", "fliplr=flip:x", "flipud=flip:y"),
    .doc =
        "Mirrors images. flip:x is the horizontal flip: left and right change places. flip:y is the vertical "
        "one: top and bottom do. flip:xy is both, half a turn. Samples are copied as they are.",
    .examples = FC_TEXTS("flip", "flip:y", "flip:xy"),
    .example_docs = FC_TEXTS("left to right", "upside down", "both ways"),
    FC_OPERATOR_PARAMS(FC_ENUM_PARAM(
        FC_PARAM_MAIN, "axis", "Along which axis samples change their order.", "x",
        FC_CHOICES(FC_CHOICE(FLIP_X, "x", "left and right change places"),
                   FC_CHOICE(FLIP_X, "horizontal", "the same as x"),
                   FC_CHOICE(FLIP_Y, "y", "top and bottom change places"),
                   FC_CHOICE(FLIP_Y, "vertical", "the same as y"), FC_CHOICE(FLIP_X | FLIP_Y, "xy", "both"),
                   FC_CHOICE(FC_REFUSED, "both", "say xy"), FC_CHOICE(FC_REFUSED, "h", "say x"),
                   FC_CHOICE(FC_REFUSED, "v", "say y")))),
    .create = fc_create_args,
    .negotiate = negotiate,
    PERMUTE_BACKENDS,
};
SINGLE_OPERATOR_PLUGIN("flip", flip_operator)
