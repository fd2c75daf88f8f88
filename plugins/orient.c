/* SPDX-License-Identifier: MIT */
/* orient.c - the operator orient: turns images upright, given an EXIF orientation; by
 * filters/geometry/permute.h. */
#include "plugins/permute.h"

enum { UPRIGHT = 1, TRANSPOSED = 5 };

/* EXIF orientations say at which corner the first row and column of the stored image are. */
fc_permute permute_of(const void *instance) {
  const int orientation = (int)((const fc_arg *const *)instance)[0]->ints[0];
  fc_permute p = FC_PERMUTE_NONE;
  if (orientation >= TRANSPOSED) p.axis[FC_AXIS_Y] = FC_AXIS_X, p.axis[FC_AXIS_X] = FC_AXIS_Y;
  /* 6 and 7: the top row of the output is the left or right column of the input, read from below. */
  p.reversed[FC_AXIS_X] = orientation == 2 || orientation == 3 || orientation == 6 || orientation == 7;
  p.reversed[FC_AXIS_Y] = orientation == 3 || orientation == 4 || orientation == 7 || orientation == 8;
  return p;
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const fc_permute p = permute_of(instance);
  (void)host;
  permute_terms(&p, terms);
  return FC_OK;
}

static const fc_operator orient_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE | FC_OP_KEEPS_MEANING,
    FC_PICTURES_ONLY,
    .name = "orient",
    .summary = "turn images upright, by an EXIF orientation",
    .keywords = FC_TEXTS("autorotate", "autorot", "exif", "exif_transpose"),
    .doc =
        "Turns and mirrors images as EXIF numbers it: what is stored with that orientation becomes upright, "
        "as "
        "Pillow's exif_transpose and ImageMagick's -auto-orient make it. Samples are copied as they are.\n\n"
        "Image files are turned as their EXIF says when they are read (-v reports it), so this is for images "
        "whose "
        "orientation is known from elsewhere, or that were read as they are stored: photo.jpg:orient=no. "
        "auto is "
        "what reading has done already, so that nothing is left to do.",
    .examples = FC_TEXTS("orient:6", "orient:3", "orient:7", "orient:auto"),
    .example_docs =
        FC_TEXTS("as a phone held upright", "half turn", "mirrored and turned", "as the file says"),
    FC_OPERATOR_PARAMS(FC_ENUM_PARAM(
        FC_PARAM_MAIN, "orientation",
        "The tag of EXIF: where the first row and column of the stored image belong.", "auto",
        FC_CHOICES(
            FC_CHOICE(UPRIGHT, "auto", "as the file says, which has been done on reading"),
            FC_CHOICE(UPRIGHT, "1", "it is upright"), FC_CHOICE(2, "2", "left and right change places"),
            FC_CHOICE(3, "3", "half a turn"), FC_CHOICE(4, "4", "top and bottom change places"),
            FC_CHOICE(TRANSPOSED, "5", "rows become columns"), FC_CHOICE(6, "6", "a quarter turn clockwise"),
            FC_CHOICE(7, "7", "rows become columns, from the other corner"),
            FC_CHOICE(8, "8", "a quarter turn counter-clockwise")))),
    .create = fc_create_args,
    .negotiate = negotiate,
    PERMUTE_BACKENDS,
};
SINGLE_OPERATOR_PLUGIN("orient", orient_operator)
