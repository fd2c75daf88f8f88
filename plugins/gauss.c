/* SPDX-License-Identifier: MIT */
/* gauss.c - the operator gauss: a Gaussian blur; by filters/filter2d/sepconv.h. */
#include "plugins/gauss.h"

#include "plugins/border.h"
#include "plugins/sepconv_state.h"

enum { SIGMA, TRUNCATE, BORDER, VALUE, N_PARAMS };

typedef struct gauss {
  const fc_arg *border, *value; /* owned by the host */
  gauss_mask x, y;
} gauss;

static void destroy(void *instance) {
  gauss *self = instance;
  if (!self) return;
  gauss_mask_clear(&self->x);
  gauss_mask_clear(&self->y);
  free(self);
}

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  fc_status status = border_check(host, args[BORDER], args[VALUE]);
  if (status != FC_OK) return status;
  gauss *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, FC_NO_MEMORY, "out of memory");
  self->border = args[BORDER], self->value = args[VALUE];
  status = gauss_masks_make(host, args[SIGMA], args[TRUNCATE], &self->x, &self->y);
  if (status != FC_OK)
    destroy(self);
  else
    *instance = self;
  return status;
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const gauss *self = instance;
  if (terms->in[0]->kind == FC_AUDIO)
    return host->fail(host, FC_UNSUPPORTED, "a sound has no rows and columns: use biquad or conv1d");
  mask2d_terms(terms, self->y.count, self->x.count);
  border_terms(self->border, self->value, terms);
  terms->work = 2.0 * (double)(self->x.count + self->y.count);
  return FC_OK;
}

sepconv_taps sepconv_taps_of(const void *instance, int compute) {
  const gauss *self = instance;
  const int wide = compute == FC_F64;
  return (sepconv_taps){wide ? self->x.wide : self->x.single, wide ? self->y.wide : self->y.single,
                        self->x.count, self->y.count};
}

static const fc_operator gauss_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    FC_PICTURES_ONLY,
    .name = "gauss",
    .summary = "blur images by a Gaussian",
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
    .destroy = destroy,
    .negotiate = negotiate,
    SEPCONV_BACKENDS,
};
SINGLE_OPERATOR_PLUGIN("gauss", gauss_operator)
