/* SPDX-License-Identifier: MIT */
/* Parameters of the kinds that few operators have: an input, a path, a one-sided range beyond what a double
 * holds, other names, one that should no longer be given. */
#include "tests/plugins/minimal.h"

static const fc_limits from_beyond = {
    .size = sizeof(fc_limits), .flags = FC_LIMIT_MIN, .int_min = 9007199254740993};
static const char *const names[] = {"n", "number", 0};
static const fc_param reference = {.size = sizeof(fc_param),
                                   .type = FC_INPUT,
                                   .flags = FC_PARAM_MAIN,
                                   .name = "reference",
                                   .doc = "Is not read."};
static const fc_param count = {.size = sizeof(fc_param),
                               .type = FC_INT,
                               .name = "count",
                               .doc = "Counts nothing.",
                               .limits = &from_beyond,
                               .aliases = names};
static const fc_param hard = {.size = sizeof(fc_param),
                              .type = FC_BOOL,
                              .name = "hard",
                              .doc = "Was hard.",
                              .preset = "no",
                              .deprecated = "give count"};
static const fc_param list = {
    .size = sizeof(fc_param), .type = FC_PATH, .name = "list", .doc = "Is not opened."};
static const fc_param *const all[] = {&reference, &count, &hard, &list};

static void spoil(void) {
  op.params = all, op.n_params = 4;
}
