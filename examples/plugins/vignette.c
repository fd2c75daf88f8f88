/* SPDX-License-Identifier: MIT */
/*
 * vignette - an image that darkens towards its corners, as a device function that is told where its sample
 * is. The expression is compiled here for the CPU; on a GPU the host makes one kernel of it and of its
 * neighbours in the chain, so no nvcc is needed and memory is read and written once. Cost: a product more
 * than a gain.
 *
 *   cc -shared -fPIC -O3 -ffp-contract=off -fvisibility=hidden $(pkg-config --cflags filterchain-plugin) \
 *     vignette.c -o vignette.so
 *   filterchain -i in.png --plugin-dir . -p vignette:0.6 -o out.png
 */
#include <fc_helpers.h>

static fc_status vignette_numbers(const fc_host *host, void *self, const fc_setup *setup, double *numbers) {
  (void)host, (void)setup;
  numbers[0] = ((const fc_arg *const *)self)[0]->floats[0] / 2;
  return FC_OK;
}

/* From -1 to 1 along an axis of n pixels, at the centre of pixel i. */
#define FROM_MIDDLE(i, n) ((real)(2 * (i) + 1 - (n)) / (real)(n))
#define SQUARE(v)         ((v) * (v))
FC_POSITION_FUNCTION(vignette, (half), v, at,
                     v *((real)1 - self->half * (SQUARE(FROM_MIDDLE(at.x, at.width)) +
                                                 SQUARE(FROM_MIDDLE(at.y, at.height)))))

static const fc_operator vignette = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    .name = "vignette",
    .summary = "darken towards the corners",
    .doc = "Multiplies pixels by 1 in the middle, and by less the further they are from it: by 1 - strength "
           "in the "
           "corners, along ellipses of the image's proportions.",
    .examples = FC_TEXTS("vignette:0.6"),
    FC_PICTURES_ONLY,
    FC_OPERATOR_PARAMS(FC_FLOAT_PARAM(FC_PARAM_MAIN, "strength", "What the corners lose.", NULL, "0.5",
                                      FC_FLOAT_BETWEEN(0, 1))),
    .create = fc_create_args,
    .backends = FC_BACKENDS(FC_ON_CPU(vignette_prepare, vignette_release, NULL, vignette_process)),
    .extension = vignette_extension,
};
FC_PLUGIN("org.example.vignette", "1.0", "you", "MIT", "https://example.org/vignette", &vignette)
