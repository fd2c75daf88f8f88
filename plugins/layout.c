/* SPDX-License-Identifier: MIT */
/*
 * layout.c - the operator layout: the order of an array's dimensions; by filters/geometry/permute.h. An image
 * of height, width and channels becomes an array whose axes Y, X and C are its channels, height and width: so
 * it is written with these dimensions, and a batch too.
 */
#include "plugins/permute.h"

enum { LAYOUT_CHW, LAYOUT_HWC };

fc_permute permute_of(const void *instance) {
  static const fc_permute chw = {{FC_AXIS_N, FC_AXIS_C, FC_AXIS_Y, FC_AXIS_X}, {0, 0, 0, 0}},
                          hwc = {{FC_AXIS_N, FC_AXIS_X, FC_AXIS_C, FC_AXIS_Y}, {0, 0, 0, 0}};
  return ((const fc_arg *const *)instance)[0]->ints[0] == LAYOUT_CHW ? chw : hwc;
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const fc_permute p = permute_of(instance);
  if (terms->in[0]->kind == FC_IMAGE && ((const fc_arg *const *)instance)[0]->ints[0] == LAYOUT_HWC)
    return host->fail(host, FC_INVALID,
                      "an image is height x width x channels already: leave layout:hwc out");
  permute_terms(&p, terms);
  terms->out->kind = FC_ARRAY;
  terms->out->layout = FC_INTERLEAVED;
  return FC_OK;
}

static const fc_operator layout_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE,
    FC_PICTURES_ONLY,
    .name = "layout",
    .summary = "put channels first (chw) or last (hwc), for arrays",
    .keywords = FC_TEXTS("chw=layout:chw", "hwc=layout:hwc", "totensor", "to_tensor", "permute", "transpose"),
    .doc =
        "Changes the order of dimensions. Images are height x width x channels, as NumPy, Pillow and OpenCV "
        "have them; PyTorch wants channels x height x width.\n\n"
        "    filterchain -i photo.jpg -p resize:256 -p crop:224 -p layout:chw -o photo.npy\n\n"
        "writes a .npy of 3 x 224 x 224, and a batch of n images as n x 3 x 224 x 224. The result is an "
        "array and no longer an image, so this is the last stage that works on pixels or channels. "
        "layout:hwc is the inverse. Samples are copied as they are.",
    .examples = FC_TEXTS("layout:chw", "layout:hwc"),
    .example_docs = FC_TEXTS("planes of channels", "interleaved pixels"),
    .example_commands = FC_TEXTS("-i in.png ... -o out.npy", "-i in.png -p layout:chw ... -o out.png"),
    FC_OPERATOR_PARAMS(FC_ENUM_PARAM(
        FC_PARAM_MAIN | FC_PARAM_REQUIRED, "order", "The order of dimensions of the output.", NULL,
        FC_CHOICES(FC_CHOICE(LAYOUT_CHW, "chw", "channels, height, width; of what is hwc"),
                   FC_CHOICE(LAYOUT_HWC, "hwc", "height, width, channels; of what is chw"),
                   FC_CHOICE(LAYOUT_CHW, "nchw", "the same as chw"),
                   FC_CHOICE(LAYOUT_HWC, "nhwc", "the same as hwc"),
                   FC_CHOICE(FC_REFUSED, "planar", "say chw"),
                   FC_CHOICE(FC_REFUSED, "interleaved", "say hwc")))),
    .create = fc_create_args,
    .negotiate = negotiate,
    PERMUTE_BACKENDS,
};
SINGLE_OPERATOR_PLUGIN("layout", layout_operator)
