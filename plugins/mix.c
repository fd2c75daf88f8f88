/* SPDX-License-Identifier: MIT */
/*
 * mix.c - the operator mix: selects and reorders channels; the work is filters/pointwise/gather.h.
 */
#include <string.h>

#include "plugins/gather.h"
#include "plugins/single.h"

enum { CHANNELS, N_PARAMS };

typedef struct mix {
  int64_t count;
  int32_t largest;    /* counted from 1 */
  int32_t channels[]; /* counted from 0 */
} mix;

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  int64_t count = args[CHANNELS]->count;
  mix *self = malloc(sizeof *self + (size_t)count * sizeof self->channels[0]);
  if (!self) return host->fail(host, FC_NO_MEMORY, "out of memory");
  self->count = count;
  self->largest = 0;
  for (int64_t i = 0; i < count; i++) {
    int32_t channel = (int32_t)args[CHANNELS]->ints[i];
    if (channel > self->largest) self->largest = channel;
    self->channels[i] = channel - 1;
  }
  *instance = self;
  return FC_OK;
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const mix *self = instance;
  int64_t channels = terms->in[0]->extent[FC_AXIS_C];
  if (self->largest > channels)
    return host->fail(host, FC_INVALID, "there is no channel %d: the input has %lld", (int)self->largest,
                      (long long)channels);
  terms->out->extent[FC_AXIS_C] = self->count;
  /* Any output channel may look at any input channel. */
  terms->needs[0]->reach[FC_AXIS_C] = (fc_reach){FC_WHOLE, FC_WHOLE, 1, 1, 1};
  return FC_OK;
}

static fc_status prepare(const fc_host *host, void *instance, const fc_setup *setup, void **prepared) {
  const mix *self = instance;
  return gather_prepare(host, setup, (fc_gather){.channels = self->channels}, self->count, prepared);
}

GATHER_BACKENDS(prepare)

/* ---- descriptor -------------------------------------------------------------- */

static const fc_param channels_param = {
    .size = sizeof(fc_param),
    .type = FC_INT,
    .flags = FC_PARAM_MAIN | FC_PARAM_REQUIRED | FC_PARAM_LIST,
    .max_count = 1024,
    .name = "channels",
    .doc = "For each channel of the output the channel of the input that it is, counted from 1, apart by "
           "commas.",
    .limits = FC_INT_BETWEEN(1, 1024),
};
static const fc_param *const params[N_PARAMS] = {[CHANNELS] = &channels_param};

static const char *const examples[] = {"mix:2,1", "mix:1", "mix:1,1", NULL};

static const fc_operator mix_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE,
    .name = "mix",
    .summary = "select, repeat and reorder channels",
    .doc = "Makes each channel of the output a copy of a channel of the input. mix:2,1 swaps left and right, "
           "mix:1 keeps the first channel alone, mix:1,1 makes two channels of one, mix:3,2,1 turns RGB into "
           "BGR, and mix:1,2,3 drops an image's alpha.\n\n"
           "Samples are copied as they are. To add channels up, as from stereo to mono or from RGB to grey, "
           "use matrix: matrix:[0.5,0.5].",
    .examples = examples,
    .n_params = N_PARAMS,
    .kinds = FC_KINDS_ALL,
    .dtypes_in = FC_DTYPES_ALL,
    .dtypes_out = FC_DTYPES_ALL,
    .params = params,
    .create = create,
    .destroy = free,
    .negotiate = negotiate,
    .backends = BACKENDS(gather_on_cpu, gather_on_cuda),
    .reference = &gather_by_definition,
};

SINGLE_OPERATOR_PLUGIN("mix", mix_operator)
