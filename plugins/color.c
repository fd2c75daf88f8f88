/* SPDX-License-Identifier: MIT */
/* color.c - the operator color: converts between colour spaces; by filters/color/color.h. */
#include "plugins/color_state.h"

enum { TO, FROM, LUMA, WHITE, N_PARAMS };

color_wish color_wanted(const void *instance) {
  const fc_arg *const *args = instance;
  return (color_wish){args[FROM]->ints[0], args[TO]->ints[0], args[LUMA]->ints[0], args[WHITE]};
}

#define SPACES                                                                                               \
  FC_CHOICE(FC_SPACE_GRAY, "gray", "luma, as gray makes it"),                                                \
      FC_CHOICE(FC_SPACE_RGB, "rgb", "R G B with the transfer curve of sRGB: what image files hold"),        \
      FC_CHOICE(FC_SPACE_LINEAR, "linear", "R G B in proportion to light"),                                  \
      FC_CHOICE(FC_SPACE_YCBCR, "ycbcr", "Y Cb Cr of full range, as in JPEG"),                               \
      FC_CHOICE(FC_SPACE_HSV, "hsv", "hue, saturation, value"),                                              \
      FC_CHOICE(FC_SPACE_LAB, "lab", "CIE L a b, of daylight D65"),                                          \
      FC_CHOICE(FC_REFUSED, "yuv", "say ycbcr"), FC_CHOICE(FC_REFUSED, "srgb", "say rgb")

static const fc_operator color_operator = {
    .size = sizeof(fc_operator),
    FC_PICTURES_ONLY,
    .name = "color",
    .summary = "convert between RGB, linear light, YCbCr, HSV, Lab and grey",
    .keywords = FC_TEXTS("colour", "colorspace", "colourspace", "cvtcolor", "yuv=color:ycbcr"),
    .doc =
        "Converts pixels to another colour space. The input's space is known from the operators before it, "
        "or given by from; else one channel is grey and three are R G B. Alpha is kept.\n\n"
        "All are codes from 0 to white (255 with 8 bits), so that each can be stored in a file:\n\n"
        "    ycbcr   Cb and Cr around 128 of 255; those of R G B are never beyond the range\n"
        "    hsv     a turn of hue is white, as Pillow and scikit-image have it (OpenCV's 8-bit hue is "
        "that times 180 / 255)\n"
        "    lab     L of 100 is white; a and b are CIE's plus 128, of 255: OpenCV's 8-bit codes\n"
        "    linear  sRGB's curve undone; 8 bits are too few to store it: use convert:u16 ahead, or .npy\n\n"
        "R G B computed from another space are limited to 0 .. white, except from linear and hsv. For a "
        "resize or blur in proportion to light, put color:linear before it and color:rgb behind.",
    .examples = FC_TEXTS("color:ycbcr", "color:hsv", "color:lab", "color:linear", "color:rgb:from=ycbcr",
                         "color:rgb:from=lab", "color:gray:luma=709", "color:rgb"),
    .example_docs = FC_TEXTS("RGB to YCbCr", "RGB to hue, saturation, value", "RGB to CIE L*a*b*",
                             "proportional to light", "YCbCr to RGB", "CIE L*a*b* to RGB", "luma of Rec. 709",
                             "whatever it is, to RGB"),
    .example_commands =
        FC_TEXTS("-i in.png ... -o out.npy", "-i in.png ... -o out.npy", "-i in.png ... -o out.npy",
                 "-i in.png ... -o out.npy", "-i in.png -p color:ycbcr ... -o out.png",
                 "-i in.png -p color:lab ... -o out.png", "", ""),
    FC_OPERATOR_PARAMS(FC_ENUM_PARAM(FC_PARAM_MAIN | FC_PARAM_REQUIRED, "to",
                                     "The colour space of the output.", NULL, FC_CHOICES(SPACES)),
                       FC_ENUM_PARAM(0, "from", "The colour space of the input.", "auto",
                                     FC_CHOICES(FC_CHOICE(COLOR_AUTO, "auto",
                                                          "what the operators before it made; else grey of "
                                                          "one channel, R G B of three"),
                                                SPACES)),
                       COLOR_LUMA_PARAM, WHITE_PARAM),
    .create = fc_create_args,
    COLOR_BACKENDS,
};
SINGLE_OPERATOR_PLUGIN("color", color_operator)
