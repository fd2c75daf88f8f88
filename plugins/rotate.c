/* SPDX-License-Identifier: MIT */
/* rotate.c - the operator rotate: images by quarter turns; by filters/geometry/permute.h. */
#include "plugins/permute.h"

fc_permute permute_of(const void *instance) {
  const int quarters = (int)((const fc_arg *const *)instance)[0]->ints[0];
  fc_permute p = FC_PERMUTE_NONE;
  if (quarters % 2) p.axis[FC_AXIS_Y] = FC_AXIS_X, p.axis[FC_AXIS_X] = FC_AXIS_Y;
  /* Clockwise, the top row becomes the last column: rows are read from the bottom. */
  p.reversed[FC_AXIS_X] = quarters == 1 || quarters == 2;
  p.reversed[FC_AXIS_Y] = quarters == 2 || quarters == 3;
  return p;
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const fc_permute p = permute_of(instance);
  permute_terms(&p, terms);
  return FC_OK;
}

static const fc_operator rotate_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE | FC_OP_KEEPS_MEANING,
    FC_PICTURES_ONLY,
    .name = "rotate",
    .summary = "turn images by 90, 180 or 270 degrees",
    .keywords = FC_TEXTS("turn", "rot90=rotate:90", "rot180=rotate:180", "rot270=rotate:270"),
    .doc =
        "Turns images clockwise by quarter turns. Samples are copied as they are; by 90 and 270 degrees rows "
        "become columns. Photographs rarely need it: the orientation that a camera recorded is applied when "
        "they are read.",
    .examples = FC_TEXTS("rotate:90", "rotate:180", "rotate:270"),
    .example_docs = FC_TEXTS("quarter turn clockwise", "half turn", "quarter turn back"),
    FC_OPERATOR_PARAMS(FC_ENUM_PARAM(
        FC_PARAM_MAIN | FC_PARAM_REQUIRED, "angle", "By how much, clockwise.", NULL,
        FC_CHOICES(FC_CHOICE(1, "90", "a quarter turn to the right"), FC_CHOICE(2, "180", "half a turn"),
                   FC_CHOICE(3, "270", "a quarter turn to the left"), FC_CHOICE(3, "-90", "the same as 270"),
                   FC_CHOICE(1, "right", "the same as 90"), FC_CHOICE(3, "left", "the same as 270"),
                   FC_CHOICE(FC_REFUSED, "0", "leave rotate out"),
                   FC_CHOICE(FC_REFUSED, "45", "it turns by 90, 180 or 270 degrees only")))),
    .create = fc_create_args,
    .negotiate = negotiate,
    PERMUTE_BACKENDS,
};
SINGLE_OPERATOR_PLUGIN("rotate", rotate_operator)
