/* SPDX-License-Identifier: MIT */
/*
 * mix.c - the operator mix: selects and reorders channels; the work is filters/pointwise/gather.h.
 */
#include "filters/pointwise/functions.h"
#include "plugins/gather.h"
#include "plugins/meaning.h"

enum { CHANNELS, N_PARAMS };

#define MOST 1024

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  *instance = (void *)args[CHANNELS];
  return FC_OK;
}

/* ---- meaning of the selected channels ----------------------------------------- */

static int is_leading(const fc_arg *channels, int64_t count) {
  if (channels->count < count) return 0;
  for (int64_t i = 0; i < count; i++)
    if (channels->ints[i] != i) return 0;
  return 1;
}

/* An image keeps its colour space if all colours are selected in order, with or without alpha. */
static void keep_color(const fc_arg *channels, const fc_format *in, fc_format *out) {
  int64_t all = in->extent[FC_AXIS_C], colors = in->alpha == FC_ALPHA_NONE ? all : all - (all % 2 == 0);
  if (!is_leading(channels, colors) || (channels->count != colors && !is_leading(channels, all))) return;
  if (channels->count > all) return;
  out->color = in->color;
  out->alpha = channels->count == all ? in->alpha : FC_ALPHA_NONE;
}

/* The speaker bit of a channel; 0 if the channel layout is unknown. */
static uint64_t speaker_of(uint64_t layout, int64_t channel) {
  for (; channel > 0 && layout; channel--) layout &= layout - 1;
  return layout & (~layout + 1);
}

/* Speaker layouts list speakers in ascending order: the selection has a layout only if it is ascending. */
static void keep_speakers(const fc_arg *channels, const fc_format *in, fc_format *out) {
  uint64_t layout = 0;
  for (int64_t i = 0; i < channels->count; i++) {
    uint64_t speaker = speaker_of(in->channels, channels->ints[i]);
    if (speaker <= layout) return;
    layout |= speaker;
  }
  out->channels = layout;
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const fc_arg *channels = instance;
  const fc_format *in = terms->in[0];
  fc_format *out = terms->out;
  for (int64_t i = 0; i < channels->count; i++)
    if (channels->ints[i] >= in->extent[FC_AXIS_C])
      return host->fail(host, FC_INVALID, "there is no channel %lld: the input has %lld, counted from 0",
                        (long long)channels->ints[i], (long long)in->extent[FC_AXIS_C]);
  out->extent[FC_AXIS_C] = channels->count;
  meaning_keep_time(terms);
  if (in->kind == FC_AUDIO)
    keep_speakers(channels, in, out);
  else
    keep_color(channels, in, out);
  /* Any output channel may read any input channel. */
  terms->needs[0]->reach[FC_AXIS_C] = (fc_reach){FC_WHOLE, FC_WHOLE, 1, 1, 1};
  return FC_OK;
}

/* All channels as they are: a copy of what lies side by side. */
static int is_all(const fc_arg *channels, int64_t all) {
  return channels->count == all && is_leading(channels, all);
}

static fc_status prepare(const fc_host *host, void *instance, const fc_setup *setup, void **prepared) {
  const fc_arg *channels = instance;
  int32_t selected[MOST];
  if (is_all(channels, setup->in[0]->extent[FC_AXIS_C]))
    return gather_prepare(host, setup, (fc_gather){.channels = NULL}, 0, prepared);
  for (int64_t i = 0; i < channels->count; i++) selected[i] = (int32_t)channels->ints[i];
  return gather_prepare(host, setup, (fc_gather){.channels = selected}, channels->count, prepared);
}

static fc_status describe(const fc_host *host, void *instance, const fc_setup *setup,
                          fc_device_function *function) {
  const fc_arg *channels = instance;
  const int64_t all = setup->in[0]->extent[FC_AXIS_C];
  int32_t selected[FC_FUNCTION_CHANNELS];
  (void)host;
  if (channels->count > FC_FUNCTION_CHANNELS || !gather_is_exact(setup)) return FC_UNSUPPORTED;
  for (int64_t i = 0; i < channels->count; i++) selected[i] = (int32_t)channels->ints[i];
  const fc_status status = fc_function_mix(selected, channels->count, all, function);
  if (setup->compute == FC_F32 && all <= 4 && channels->count <= 4 && !is_all(channels, all))
    function->flags |= FC_FUNCTION_ALONE; /* gather.cu copies a sample at a time */
  return status;
}

/* ---- joined by algebra ---------------------------------------------------------- */

/* A matrix of ones and zeros. */
static fc_status map_of(const fc_host *host, void *instance, const fc_setup *setup, fc_linear_map *map) {
  const fc_arg *channels = instance;
  const int64_t columns = setup->in[0]->extent[FC_AXIS_C];
  (void)host;
  if (columns > JOINED_CHANNELS || channels->count > JOINED_CHANNELS) return FC_UNSUPPORTED;
  map->form = FC_LINEAR_PIXELS, map->rows = channels->count, map->columns = columns;
  map->count = map->rows * (columns + 1);
  for (int64_t r = 0; map->room >= map->count && r < map->rows; r++)
    map->numbers[r * columns + channels->ints[r]] = 1;
  return FC_OK;
}

/* The argument of an instance for several stages, and its channels behind it. */
typedef struct joined_mix {
  fc_arg channels; /* first: what other instances are */
  int64_t selected[];
} joined_mix;

/* The channel that row r of the matrix selects; -1: it does something else. */
static int64_t selected_by(const fc_linear_map *map, int64_t r) {
  int64_t found = -1;
  for (int64_t c = 0; c < map->columns; c++) {
    const double v = map->numbers[r * map->columns + c];
    if (v == 0) continue;
    if (v != 1 || found >= 0) return -1;
    found = c;
  }
  return map->numbers[map->rows * map->columns + r] == 0 ? found : -1;
}

static fc_status join(const fc_host *host, void *instance, const fc_setup *setup, const fc_linear_map *map,
                      int32_t border, double value, void **made) {
  (void)host, (void)instance, (void)setup, (void)border, (void)value;
  if (map->form != FC_LINEAR_PIXELS) return FC_UNSUPPORTED;
  joined_mix *self = calloc(1, sizeof *self + (size_t)map->rows * sizeof *self->selected);
  fc_status status = self ? FC_OK : FC_NO_MEMORY;
  for (int64_t r = 0; status == FC_OK && r < map->rows; r++)
    if ((self->selected[r] = selected_by(map, r)) < 0) status = FC_UNSUPPORTED;
  if (status == FC_OK) {
    self->channels = (fc_arg){.size = sizeof self->channels, .count = map->rows, .ints = self->selected};
    *made = self;
  } else {
    free(self);
  }
  return status;
}
FC_FUSIBLE_LINEAR(extension, describe, NULL, map_of, join, joined_operator)

/* ---- descriptor -------------------------------------------------------------- */

static const fc_operator mix_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE,
    .name = "mix",
    .summary = "select, repeat and reorder channels",
    .keywords = FC_TEXTS("channels", "remix", "pan", "swap=mix:1,0", "select_channels"),
    .doc = "Each channel of the output is a copy of a channel of the input, counted from 0. mix:1,0 swaps "
           "left and right, mix:0 keeps the first channel alone, mix:0,0 makes two channels of one, "
           "mix:2,1,0 turns RGB into BGR, and mix:0,1,2 drops an image's alpha.\n\n"
           "Samples are copied as they are. To add channels up, as from stereo to mono or from RGB to grey, "
           "use matrix: matrix:[0.5,0.5].",
    .examples = FC_TEXTS("mix:0", "mix:0,0", "mix:2,1,0"),
    .example_docs = FC_TEXTS("the left channel alone", "left on both channels", "swap red and blue"),
    .example_commands = FC_TEXTS("", "", "-i in.png ... -o out.png"),
    FC_EVERY_SIGNAL,
    FC_OPERATOR_PARAMS(FC_PARAM(FC_INT, FC_PARAM_MAIN | FC_PARAM_REQUIRED | FC_PARAM_LIST, MOST, "channels",
                                "For each channel of the output the channel of the input that it is, counted "
                                "from 0, separated by commas.",
                                NULL, NULL, FC_INT_BETWEEN(0, MOST - 1), NULL, NULL, NULL)),
    .create = create,
    .negotiate = negotiate,
    GATHER_BACKENDS(prepare),
    .extension = extension,
};

JOINED_OPERATOR("mix", "several selections of channels as one", .flags = FC_OP_KEEPS_DTYPE, FC_EVERY_SIGNAL,
                .destroy = free, .negotiate = negotiate, GATHER_BACKENDS(prepare), .extension = extension)

SINGLE_OPERATOR_PLUGIN("mix", mix_operator)
