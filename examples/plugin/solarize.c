/* SPDX-License-Identifier: MIT */
/*
 * solarize - turns values above a level around, as over-exposed film does: the least there is to an operator
 * that treats each sample by itself. Any element type, any layout.
 *
 *   cc -shared -fPIC -O3 -fno-trapping-math -fvisibility=hidden $(pkg-config --cflags filterchain-plugin) \
 *     solarize.c -o solarize.so
 *   filterchain -i photo.png --plugin-dir . -p solarize:200 -o out.png
 */
#include <fc_helpers.h>

#define LEVEL (fc_value) args[0]->floats[0]
FC_POINTWISE(process, const fc_arg *const *, args, x, x > LEVEL ? 2 * LEVEL - x : x)

static const fc_operator solarize = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    .name = "solarize",
    .summary = "turn values above a level around",
    .doc = "Replaces a value v above the level by 2 * level - v.",
    .examples = FC_TEXTS("solarize:200"),
    FC_EVERY_SIGNAL,
    FC_OPERATOR_PARAMS(FC_FLOAT_PARAM(FC_PARAM_MAIN, "level", "Where it turns.", NULL, "128", NULL)),
    .create = fc_create_args,
    .backends = FC_BACKENDS(FC_ON_CPU(NULL, NULL, NULL, process)),
};
FC_PLUGIN("org.example.solarize", "1.0", "you", "MIT", "https://example.org/solarize", &solarize)
