/* SPDX-License-Identifier: MIT */
/* gauss.c - the operator gauss: a Gaussian blur; by filters/filter2d/sepconv.h. */
#include "plugins/gauss.h"

enum { SIGMA, TRUNCATE, BORDER, VALUE, N_PARAMS };

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  return gauss_create_of(host, args, N_PARAMS, instance);
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  if (terms->in[0]->kind == FC_AUDIO)
    return host->fail(host, FC_UNSUPPORTED, "a sound has no rows and columns: use biquad or conv1d");
  gauss_terms(instance, terms);
  return FC_OK;
}

SEPCONV_EXTENSION

static const fc_operator gauss_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    FC_PICTURES_ONLY,
    .name = "gauss",
    .summary = "blur images by a Gaussian",
    .keywords = FC_TEXTS("gaussian", "gblur", "gaussblur", "gaussianblur", "gaussian_blur", "smooth"),
    .doc =
        "Convolves each image with a Gaussian of standard deviation sigma, as scipy.ndimage.gaussian_filter "
        "does: its samples at whole pixels, as far as truncate says. Their sum is exactly 1, so that an "
        "even area keeps its value to the last bit. sigma=0 leaves the image as it is; sigma=3,0 blurs "
        "along the rows alone.\n\n"
        "Everything else is as in sepconv: see inspect sepconv. Half the width at half the "
        "height is 1.18 sigma; Pillow's radius and CSS's blur are sigma, OpenCV's ksize is a width: its "
        "sigma for one is 0.3 * ((ksize - 1) / 2 - 1) + 0.8.",
    .examples = FC_TEXTS("gauss:1.5", "gauss:2,0", "gauss:0.8:truncate=3:border=replicate"),
    .example_docs = FC_TEXTS("blur, sigma 1.5 pixels", "along x only", "small window, edges repeated"),
    FC_OPERATOR_PARAMS(GAUSS_SIGMA_PARAM(FC_PARAM_MAIN | FC_PARAM_REQUIRED, NULL), GAUSS_TRUNCATE_PARAM,
                       BORDER_PARAM, BORDER_VALUE_PARAM),
    .create = create,
    .destroy = gauss_destroy,
    .negotiate = negotiate,
    SEPCONV_BACKENDS,
};
SINGLE_OPERATOR_PLUGIN("gauss", gauss_operator)
