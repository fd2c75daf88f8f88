/* SPDX-License-Identifier: MIT */
/* gain.c - the operator gain: a factor for all channels, or one per channel (filters/pointwise). */
#include "plugins/pointwise.h"

/* An instance; of several stages joined, with its factors behind it. */
typedef struct gain {
  const double *factors;
  int64_t count;
  const char *text; /* as typed */
  double own[];
} gain;

static gain *gain_new(int64_t own) {
  gain *self = calloc(1, sizeof *self + (size_t)own * sizeof *self->own);
  if (self) self->factors = self->own, self->count = own, self->text = "gain";
  return self;
}

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  gain *self = gain_new(0);
  if (!self) return host->fail(host, FC_NO_MEMORY, "out of memory");
  self->factors = args[0]->floats, self->count = args[0]->count, self->text = args[0]->text;
  *instance = self;
  return FC_OK;
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const gain *self = instance;
  const int64_t channels = terms->in[0]->extent[FC_AXIS_C];
  terms->work = 1;
  if (self->count <= 1 || self->count == channels) return FC_OK;
  return host->fail(host, FC_INVALID, "%s: %lld gains for %lld channel%s; give one, or one for each channel",
                    self->text, (long long)self->count, (long long)channels, channels == 1 ? "" : "s");
}

fc_pointwise pointwise_of(const void *instance, const fc_setup *setup, pointwise_numbers *numbers) {
  const gain *self = instance;
  if (self->count > 1) numbers->factors = self->factors, numbers->count = self->count, numbers->all = 1;
  return (fc_pointwise){.form = FC_POINTWISE_SCALE, .compute = setup->compute, .factor = self->factors[0]};
}

/* ---- joined by algebra ---------------------------------------------------------- */

static fc_status map_of(const fc_host *host, void *instance, const fc_setup *setup, fc_linear_map *map) {
  const gain *self = instance;
  const int64_t channels = setup->in[0]->extent[FC_AXIS_C],
                colors = self->count > 1 ? channels : alpha_colors(setup->in[0]);
  (void)host;
  if (channels > JOINED_CHANNELS) return FC_UNSUPPORTED;
  map->form = FC_LINEAR_PIXELS, map->rows = map->columns = channels, map->count = channels * (channels + 1);
  for (int64_t c = 0; map->room >= map->count && c < channels; c++)
    map->numbers[c * (channels + 1)] = c >= colors ? 1 : self->factors[self->count > 1 ? c : 0];
  return FC_OK;
}

/* Factors for each channel, or one for all colours. */
static fc_status join(const fc_host *host, void *instance, const fc_setup *setup, const fc_linear_map *map,
                      int32_t border, double value, void **made) {
  const int64_t channels = map->columns, colors = alpha_colors(setup->in[0]);
  (void)host, (void)instance, (void)border, (void)value;
  if (map->form != FC_LINEAR_PIXELS || map->rows != channels) return FC_UNSUPPORTED;
  for (int64_t r = 0; r < channels; r++)
    for (int64_t c = 0; c <= channels; c++)
      if ((c == channels ? map->numbers[channels * channels + r]
           : c == r      ? 0
                         : map->numbers[r * channels + c]) != 0)
        return FC_UNSUPPORTED;
  int alike = 1;
  for (int64_t c = 0; c < channels; c++)
    alike &= map->numbers[c * (channels + 1)] == (c < colors ? map->numbers[0] : 1);
  gain *self = gain_new(alike ? 1 : channels);
  if (!self) return FC_NO_MEMORY;
  for (int64_t c = 0; c < self->count; c++) self->own[c] = map->numbers[c * (channels + 1)];
  *made = self;
  return FC_OK;
}

static const fc_operator joined_operator;
static const void *extension(const fc_operator *op, const char *name) {
  static const fc_linear linear = {sizeof(fc_linear), 0, map_of, join, &joined_operator};
  return strcmp(name, FC_LINEAR) == 0 ? &linear : pointwise_extension(op, name);
}

JOINED_OPERATOR("gain", "several factors as one", .flags = FC_OP_KEEPS_MEANING, FC_EVERY_SIGNAL,
                .destroy = free, .negotiate = negotiate, POINTWISE_BACKENDS_OF(extension))

/* ---- the descriptor -------------------------------------------------------------- */

static const fc_operator gain_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    FC_EVERY_SIGNAL,
    .name = "gain",
    .summary = "multiply by a factor, given plainly or in decibels",
    .keywords = FC_TEXTS("volume", "vol", "amplify", "amplitude", "brightness", "brighten",
                         "polarity=gain:-1", "invert=gain:-1"),
    .doc = "Multiplies every sample by a factor: sound becomes louder or softer, an image brighter or "
           "darker. Within a chain nothing is clipped; only when samples are stored as integers at last "
           "are they rounded, half to even, and limited to what the integers hold, with a warning. The "
           "product is rounded once, in single precision (double with --precision f64). Of image files "
           "alpha stays as it is, unless a gain is given for each channel.",
    .examples = FC_TEXTS("gain:0.5", "gain:-6dB", "gain:-1"),
    .example_docs = FC_TEXTS("half the amplitude", "half the amplitude, as decibels", "turn the polarity"),
    FC_OPERATOR_PARAMS(FC_FLOAT_PARAM(
        FC_PARAM_MAIN | FC_PARAM_REQUIRED | FC_PARAM_LIST | FC_PARAM_DECIBEL, "gain",
        "What samples are multiplied by: a factor, or decibels (-6dB is 10^(-6/20), about half); a negative "
        "factor inverts the phase. One for all channels, or one a channel, separated by commas.",
        NULL, NULL, NULL)),
    .create = create,
    .destroy = free,
    .negotiate = negotiate,
    POINTWISE_BACKENDS_OF(extension),
};
SINGLE_OPERATOR_PLUGIN("gain", gain_operator)
