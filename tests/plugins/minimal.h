/* SPDX-License-Identifier: MIT */
/*
 * minimal.h - the least that is a plugin: one operator that copies, with one parameter.
 * Each fixture beside it is this with one thing wrong (or unusual), done by spoil().
 * An honest plugin's description is constant; here it is not, so that it can be spoilt.
 */
#ifndef FC_TESTS_PLUGINS_MINIMAL_H
#define FC_TESTS_PLUGINS_MINIMAL_H

#include "core/contract/plugin.h"

#include <string.h>

#ifndef FIXTURE
#define FIXTURE "good"
#endif

static fc_status process(const fc_host *host, const void *state, const fc_job *job) {
  const fc_view *in = job->in[0], *out = job->out;
  size_t element = fc_dtype_size(out->dtype);
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++)
    for (int64_t y = 0; y < out->shape[FC_AXIS_Y]; y++)
      for (int64_t x = 0; x < out->shape[FC_AXIS_X]; x++)
        for (int64_t c = 0; c < out->shape[FC_AXIS_C]; c++)
          memcpy(fc_view_at(out, n, y, x, c), fc_view_at(in, n, y, x, c), element);
  return FC_OK;
}

static fc_backend cpu = {.size = sizeof(fc_backend), .device_kind = FC_KIND_HOST, .process = process};
static const fc_backend *backends[] = {&cpu, 0};

static fc_limits limits = {.size = sizeof(fc_limits), .flags = FC_LIMIT_MIN | FC_LIMIT_MAX, .max = 10};

static fc_param amount = {.size = sizeof(fc_param),
                          .type = FC_FLOAT,
                          .flags = FC_PARAM_MAIN,
                          .name = "amount",
                          .doc = "Has no effect.",
                          .preset = "1",
                          .limits = &limits};
static fc_param second = {
    .size = sizeof(fc_param), .type = FC_INT, .name = "second", .doc = "Has none either."};
static const fc_param *params[] = {&amount, &second};
static const char *const examples[] = {FIXTURE ":2", 0};

static fc_operator op = {.size = sizeof(fc_operator),
                         .flags = FC_OP_KEEPS_DTYPE,
                         .name = FIXTURE,
                         .summary = "copies its input",
                         .doc = "For tests of the registry.",
                         .examples = examples,
                         .n_params = 2,
                         .kinds = FC_KINDS_ALL,
                         .dtypes_in = FC_DTYPES_ALL,
                         .dtypes_out = FC_DTYPES_ALL,
                         .params = params,
                         .backends = backends};
static const fc_operator *operators[] = {&op};

static fc_plugin plugin = {.size = sizeof(fc_plugin),
                           .abi = FC_PLUGIN_ABI,
                           .id = "fixture-" FIXTURE,
                           .version = "1.0",
                           .author = "filterchain",
                           .license = "MIT",
                           .url = "",
                           .n_operators = 1,
                           .operators = operators};

/* The one thing that is different. */
static void spoil(void);

const fc_plugin *fc_plugin_entry_v1(void) {
  spoil();
  return &plugin;
}

#endif
