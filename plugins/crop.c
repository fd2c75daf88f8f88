/* SPDX-License-Identifier: MIT */
/*
 * crop.c - the operator crop: a stretch of sound, a rectangle of images; the work is
 * filters/pointwise/gather.h. The shift is a halo that is negative on one side, so the
 * host reads nothing ahead of what is kept.
 */
#include "filters/pointwise/functions.h"
#include "plugins/gather.h"
#include "plugins/meaning.h"

enum { START, LENGTH, LEFT, TOP, WIDTH, HEIGHT, N_PARAMS };

/* What is kept along one axis. */
typedef struct span {
  int64_t from, count; /* count 0: to the end */
  int given;
} span;

typedef struct crop {
  span time, x, y;
} crop;

static span span_of(const fc_arg *from, const fc_arg *count) {
  span s = {from->ints[0], count->count ? count->ints[0] : 0, from->given || count->given};
  return s;
}

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  crop *self = malloc(sizeof *self);
  if (!self) return host->fail(host, FC_NO_MEMORY, "out of memory");
  self->time = span_of(args[START], args[LENGTH]);
  self->x = span_of(args[LEFT], args[WIDTH]);
  self->y = span_of(args[TOP], args[HEIGHT]);
  *instance = self;
  return FC_OK;
}

/* ---- negotiate -------------------------------------------------------------- */

static fc_status cut(const fc_host *host, fc_terms *terms, fc_axis axis, span s, const char *unit) {
  int64_t extent = terms->in[0]->extent[axis];
  terms->needs[0]->reach[axis].before = -s.from;
  terms->needs[0]->reach[axis].after = s.from;
  if (extent == FC_UNKNOWN) return FC_OK; /* asked again when it is known */
  if (s.from > 0 && s.from >= extent)
    return host->fail(host, FC_INVALID, "nothing is left: it begins at %lld, and there are %lld %s",
                      (long long)s.from, (long long)extent, unit);
  if (s.count > extent - s.from)
    return host->fail(host, FC_INVALID, "%lld %s from %lld on reach beyond the end, which is at %lld",
                      (long long)s.count, unit, (long long)s.from, (long long)extent);
  terms->out->extent[axis] = s.count ? s.count : extent - s.from;
  return FC_OK;
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const crop *self = instance;
  if (terms->in[0]->kind == FC_AUDIO) {
    if (self->x.given || self->y.given)
      return host->fail(host, FC_INVALID,
                        "x, y, width and height are for images; sound has start and length");
    meaning_shift_time(terms, self->time.from);
    return cut(host, terms, FC_AXIS_T, self->time, "samples");
  }
  if (self->time.given)
    return host->fail(host, FC_INVALID, "start and length are for sound; images have x, y, width and height");
  fc_status status = cut(host, terms, FC_AXIS_X, self->x, "columns");
  return status == FC_OK ? cut(host, terms, FC_AXIS_Y, self->y, "rows") : status;
}

/* ---- running ------------------------------------------------------------------ */

static fc_status prepare(const fc_host *host, void *instance, const fc_setup *setup, void **prepared) {
  const crop *self = instance;
  fc_gather work = {.shift_x = self->x.from, .shift_y = self->y.from};
  if (setup->in[0]->kind == FC_AUDIO) work = (fc_gather){.shift_x = self->time.from};
  return gather_prepare(host, setup, work, 0, prepared);
}

static fc_status describe(const fc_host *host, void *instance, const fc_setup *setup,
                          fc_device_function *function) {
  const fc_pointwise copy = {.form = FC_POINTWISE_COPY, .compute = setup->compute};
  (void)host, (void)instance;
  if (!gather_is_exact(setup)) return FC_UNSUPPORTED;
  fc_function_pointwise(&copy, function);
  return FC_OK;
}
FC_FUSIBLE(extension, describe)

/* ---- descriptor -------------------------------------------------------------- */

static const fc_param *const params[N_PARAMS] = {
    [START] = FC_INT_PARAM(0, "start", "Sound: the first sample that is kept, counted from 0.", "samples",
                           "0", FC_INT_BETWEEN(0, FC_REACH_MOST)),
    [LENGTH] = FC_INT_PARAM(0, "length",
                            "Sound: how many samples of each channel are kept. Without it, all to the end.",
                            "samples", NULL, FC_INT_BETWEEN(1, FC_REACH_MOST)),
    [LEFT] = FC_INT_PARAM(0, "x", "Images: the first column that is kept, counted from 0 at the left.",
                          "pixels", "0", FC_INT_BETWEEN(0, FC_REACH_MOST)),
    [TOP] = FC_INT_PARAM(0, "y", "Images: the first row that is kept, counted from 0 at the top.", "pixels",
                         "0", FC_INT_BETWEEN(0, FC_REACH_MOST)),
    [WIDTH] =
        FC_INT_PARAM(0, "width", "Images: how many columns are kept. Without it, all to the right edge.",
                     "pixels", NULL, FC_INT_BETWEEN(1, FC_REACH_MOST)),
    [HEIGHT] =
        FC_INT_PARAM(0, "height", "Images: how many rows are kept. Without it, all to the bottom edge.",
                     "pixels", NULL, FC_INT_BETWEEN(1, FC_REACH_MOST)),
};

static const char *const examples[] = {"crop:start=8:length=16", "crop:x=1:y=2:width=5:height=4",
                                       "crop:start=3", NULL};

static const fc_operator crop_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE | FC_OP_KEEPS_MEANING,
    .name = "crop",
    .summary = "keep a stretch of sound or a rectangle of images",
    .doc = "Keeps one part of the signal and drops the rest. For sound that is a stretch of time, in "
           "samples: at 48 kHz start=48000:length=96000 are the second and third second. For images and "
           "arrays it is a rectangle, the same of every frame.\n\n"
           "Samples are copied as they are. A part that reaches beyond the end is an error, so that the "
           "output is never shorter than was asked for; leave length, width or height out to keep all that "
           "follows.\n\n"
           "Stages before a crop compute only what it keeps.",
    .examples = examples,
    .n_params = N_PARAMS,
    FC_EVERY_SIGNAL,
    .params = params,
    .create = create,
    .destroy = free,
    .negotiate = negotiate,
    GATHER_BACKENDS(prepare),
    .extension = extension,
};

SINGLE_OPERATOR_PLUGIN("crop", crop_operator)
