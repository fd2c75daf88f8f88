/* SPDX-License-Identifier: MIT */
/* gray.c - the operator gray: luma of R G B; by filters/color/color.h. */
#include "plugins/color_state.h"

color_wish color_wanted(const void *instance) {
  const fc_arg *const *args = instance;
  return (color_wish){.from = COLOR_AUTO, .to = FC_SPACE_GRAY, .luma = args[0]->ints[0], .white = args[1]};
}

static const fc_operator gray_operator = {
    .size = sizeof(fc_operator),
    FC_PICTURES_ONLY,
    .name = "gray",
    .summary = "convert colour images to grey",
    .keywords = FC_TEXTS("grey", "grayscale", "greyscale", "desaturate", "luma", "rgb2gray"),
    .doc = "The luma of each pixel, 0.299 R + 0.587 G + 0.114 B of the values as they are, as Pillow's "
           "convert(\"L\") and OpenCV's cvtColor do; of 8-bit images the result is the exact one, rounded "
           "half to even, where those libraries are off by one now and then. luma=709 takes the weights of "
           "HDTV.\n\n"
           "An image that is grey stays as it is. Alpha is kept (mix:0 drops it). Of an image in another "
           "colour space (color) it is the luma of its R G B.",
    .examples = FC_TEXTS("gray", "gray:luma=709"),
    .example_docs = FC_TEXTS("grey by luma", "luma of Rec. 709"),
    FC_OPERATOR_PARAMS(COLOR_LUMA_PARAM, WHITE_PARAM),
    .create = fc_create_args,
    COLOR_BACKENDS,
};
SINGLE_OPERATOR_PLUGIN("gray", gray_operator)
