/* SPDX-License-Identifier: MIT */
/*
 * crop.c - the operator crop: a part of a sound, a rectangle of images; the work is
 * filters/pointwise/gather.h. The shift is a halo that is negative on one side, so the host reads nothing
 * before the part that is kept.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "filters/pointwise/functions.h"
#include "plugins/anchor.h"
#include "plugins/gather.h"
#include "plugins/meaning.h"

enum { SIZE, START, LENGTH, LEFT, TOP, WIDTH, HEIGHT, ANCHOR, N_PARAMS };

/* The part kept along one axis. */
typedef struct span {
  int64_t from, count; /* count 0: to the end */
  double percent;      /* used instead of count, unless 0 */
  int anchored, anchor;
  int given;
} span;

typedef struct crop {
  span time, x, y;
} crop;

/* ---- create ------------------------------------------------------------------- */

/* A number of pixels, or percent of the size. */
static fc_status read_count(const fc_host *host, const char *name, const fc_arg *arg, span *s) {
  char *end = NULL;
  if (!arg->given) return FC_OK;
  s->given = 1;
  const double number = strtod(arg->text, &end);
  const int percent = end != arg->text && strcmp(end, "%") == 0;
  if (percent && number > 0 && number <= 100) {
    s->percent = number;
    return FC_OK;
  }
  if (percent)
    return host->fail(host, FC_INVALID, "%s: %s is out of range: expected more than 0%% and up to 100%%",
                      name, arg->text);
  if (end == arg->text || *end || number != floor(number))
    return host->fail(host, FC_INVALID,
                      "%s: \"%s\": expected pixels, as in %s=120, or percent, as in %s=50%%", name, arg->text,
                      name, name);
  if (!(number >= 1 && number <= (double)FC_REACH_MOST))
    return host->fail(host, FC_INVALID, "%s: %s is out of range: expected 1 to %lld pixels", name, arg->text,
                      (long long)FC_REACH_MOST);
  s->count = (int64_t)number;
  return FC_OK;
}

static fc_status check_together(const fc_host *host, const fc_arg *const *args) {
  const int corner = args[LEFT]->given || args[TOP]->given, sides = args[WIDTH]->given || args[HEIGHT]->given;
  if (args[SIZE]->given && (corner || sides))
    return host->fail(host, FC_INVALID, "give a size (crop:%s) or x, y, width and height", args[SIZE]->text);
  if (args[ANCHOR]->given && corner)
    return host->fail(host, FC_INVALID, "give anchor or x and y: both say where the rectangle lies");
  if (args[ANCHOR]->given && !args[SIZE]->given && !sides)
    return host->fail(host, FC_INVALID, "anchor=%s needs a size: crop:224, or width and height",
                      args[ANCHOR]->text);
  return FC_OK;
}

static fc_status read_args(const fc_host *host, const fc_arg *const *args, crop *self) {
  const fc_arg *size = args[SIZE];
  fc_status status = check_together(host, args);
  self->time.from = args[START]->ints[0];
  self->time.count = args[LENGTH]->count ? args[LENGTH]->ints[0] : 0;
  self->time.given = args[START]->given || args[LENGTH]->given;
  self->x.from = args[LEFT]->ints[0], self->x.given = args[LEFT]->given;
  self->y.from = args[TOP]->ints[0], self->y.given = args[TOP]->given;
  if (status == FC_OK) status = read_count(host, "width", args[WIDTH], &self->x);
  if (status == FC_OK) status = read_count(host, "height", args[HEIGHT], &self->y);
  if (size->given) {
    self->x.count = size->ints[0], self->y.count = size->ints[size->count - 1];
    self->x.given = self->y.given = 1;
  }
  self->x.anchored = self->y.anchored = size->given || args[ANCHOR]->given;
  self->x.anchor = anchor_x(args[ANCHOR]), self->y.anchor = anchor_y(args[ANCHOR]);
  return status;
}

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  crop self = {0};
  const fc_status status = read_args(host, args, &self);
  return status == FC_OK ? state_keep(host, &self, sizeof self, instance) : status;
}

/* ---- negotiate -------------------------------------------------------------- */

/* Converts percent and anchors to numbers for this extent; a count that is too large is left as it is. */
static span resolved(span s, int64_t extent) {
  if (s.percent > 0) {
    s.count = (int64_t)floor((double)extent * s.percent / 100 + 0.5);
    if (s.count < 1) s.count = 1;
  }
  if (s.anchored && s.count > 0) s.from = anchor_offset(s.anchor, extent - s.count);
  return s;
}

static fc_status cut(const fc_host *host, fc_terms *terms, fc_axis axis, span s, const char *unit) {
  int64_t extent = terms->in[0]->extent[axis];
  terms->needs[0]->reach[axis].before = -s.from;
  terms->needs[0]->reach[axis].after = s.from;
  if (extent == FC_UNKNOWN && s.count > 0) terms->out->extent[axis] = s.count;
  if (extent == FC_UNKNOWN) return FC_OK; /* asked again when it is known */
  if (s.from > 0 && s.from >= extent)
    return host->fail(host, FC_INVALID, "nothing would be left: it begins at %lld, and there are %lld %s",
                      (long long)s.from, (long long)extent, unit);
  if (s.count > extent - s.from)
    return host->fail(host, FC_INVALID, "%lld %s from %lld on reach beyond the end, which is at %lld",
                      (long long)s.count, unit, (long long)s.from, (long long)extent);
  terms->out->extent[axis] = s.count ? s.count : extent - s.from;
  return FC_OK;
}

static fc_status cut_image(const fc_host *host, fc_terms *terms, span x, span y) {
  const int64_t width = terms->in[0]->extent[FC_AXIS_X], height = terms->in[0]->extent[FC_AXIS_Y];
  x = resolved(x, width), y = resolved(y, height);
  if ((x.anchored && x.count > width) || (y.anchored && y.count > height))
    return host->fail(
        host, FC_INVALID,
        "the image is %lld x %lld, smaller than the %lld x %lld that are to be kept: first make it "
        "larger (resize:%lldx%lld:mode=fill) or pad it",
        (long long)width, (long long)height, (long long)(x.count ? x.count : width),
        (long long)(y.count ? y.count : height), (long long)(x.count ? x.count : width),
        (long long)(y.count ? y.count : height));
  fc_status status = cut(host, terms, FC_AXIS_X, x, "columns");
  return status == FC_OK ? cut(host, terms, FC_AXIS_Y, y, "rows") : status;
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const crop *self = instance;
  if (terms->in[0]->kind == FC_AUDIO) {
    if (self->x.given || self->y.given)
      return host->fail(host, FC_INVALID,
                        "a size, x, y, width and height are for images; sound has start and length");
    meaning_shift_time(terms, self->time.from);
    return cut(host, terms, FC_AXIS_T, self->time, "samples");
  }
  if (self->time.given)
    return host->fail(host, FC_INVALID, "start and length are for sound; images have x, y, width and height");
  return cut_image(host, terms, self->x, self->y);
}

/* ---- running ------------------------------------------------------------------ */

/* Where the part begins depends on the extents, which are in the views. */
static fc_gather work_of(const void *prepared, const fc_job *job) {
  const crop *self = prepared;
  const fc_view *in = job->in[0];
  if (in->kind == FC_AUDIO) return (fc_gather){.shift_x = self->time.from};
  return (fc_gather){.shift_y = resolved(self->y, in->extent[FC_AXIS_Y]).from,
                     .shift_x = resolved(self->x, in->extent[FC_AXIS_X]).from};
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  const fc_gather work = work_of(prepared, job);
  return fc_gather_cpu(&work, job->in[0], job->out);
}

static fc_status process_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  const fc_gather work = work_of(prepared, job);
  return fc_gather_ref(&work, job->in[0], job->out);
}

#if FC_HAVE_CUDA
static fc_status process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  const fc_gather work = work_of(prepared, job);
  return fc_gather_cuda(&work, job->in[0], job->out, job->stream);
}
#endif

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
    [SIZE] = FC_PARAM(FC_INT, FC_PARAM_MAIN | FC_PARAM_LIST, 2, "size",
                      "Images: one number, the side of a square that is kept, or WIDTHxHEIGHT; anchor "
                      "chooses its position.",
                      "pixels", NULL, FC_INT_BETWEEN(1, INT32_MAX), NULL, NULL, NULL),
    [START] = FC_INT_PARAM(0, "start", "Sound: the first sample that is kept, counted from 0.", "samples",
                           "0", FC_INT_BETWEEN(0, FC_REACH_MOST)),
    [LENGTH] = FC_INT_PARAM(0, "length",
                            "Sound: how many samples of each channel are kept. Without it, all to the end.",
                            "samples", NULL, FC_INT_BETWEEN(1, FC_REACH_MOST)),
    [LEFT] = FC_INT_PARAM(0, "x", "Images: the first column that is kept, counted from 0 at the left.",
                          "pixels", "0", FC_INT_BETWEEN(0, FC_REACH_MOST)),
    [TOP] = FC_INT_PARAM(0, "y", "Images: the first row that is kept, counted from 0 at the top.", "pixels",
                         "0", FC_INT_BETWEEN(0, FC_REACH_MOST)),
    [WIDTH] = FC_STRING_PARAM(0, "width",
                              "Images: how many columns are kept, or how many percent of them (50%). "
                              "Without it, all to the right edge.",
                              NULL),
    [HEIGHT] = FC_STRING_PARAM(0, "height",
                               "Images: how many rows are kept, or how many percent of them (50%). Without "
                               "it, all to the bottom edge.",
                               NULL),
    [ANCHOR] = ANCHOR_PARAM("Images: where the rectangle lies, instead of x and y. Without x and y a size "
                            "lies in the centre, width and height at the top left.",
                            "centre"),
};

static const char *const examples[] = {"crop:start=8:length=16",
                                       "crop:x=1:y=2:width=5:height=4",
                                       "crop:start=3",
                                       "crop:3",
                                       "crop:5x2:anchor=bottom-right",
                                       "crop:width=50%:height=80%:anchor=centre",
                                       NULL};

static const fc_operator crop_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE | FC_OP_KEEPS_MEANING,
    .name = "crop",
    .summary = "keep a range of sound or a rectangle of images",
    .keywords = FC_TEXTS("cut", "slice", "extract", "centercrop", "center_crop"),
    .doc =
        "Keeps one part of the signal and drops the rest. For sound that is a stretch of time, in "
        "samples: at 48 kHz start=48000:length=96000 are the second and third second. For images and "
        "arrays it is a rectangle, the same of every frame.\n\n"
        "    crop:224                                   a square from the centre\n"
        "    crop:640x480:anchor=top                    from the middle of the top edge\n"
        "    crop:x=10:y=20:width=300:height=200\n"
        "    crop:width=50%:height=50%:anchor=centre    the middle quarter\n\n"
        "Samples are copied as they are. A part that reaches beyond the end is an error, so that the output "
        "is never shorter than requested; leave length, width or height out to keep all that "
        "follows.\n\n"
        "Stages before a crop compute only what it keeps. Where the margins are odd, the centre is that of "
        "torchvision's CenterCrop.",
    .examples = examples,
    .example_docs =
        FC_TEXTS("16 samples from the eighth", "a rectangle", "all but the first three",
                 "a square in the middle", "corner at the bottom right", "the middle, by percent"),
    .example_commands = FC_TEXTS("", "-i in.png ... -o out.png", "", "-i in.png ... -o out.png",
                                 "-i in.png ... -o out.png", "-i in.png ... -o out.png"),
    .n_params = N_PARAMS,
    FC_EVERY_SIGNAL,
    .params = params,
    .create = create,
    .destroy = free,
    .negotiate = negotiate,
    .backends = BACKENDS(FC_ON_CPU(NULL, NULL, NULL, process_cpu),
                         FC_ON_CUDA(FC_BACKEND_GRAPH, NULL, NULL, NULL, process_cuda)),
    .reference = FC_ON_CPU(NULL, NULL, NULL, process_reference),
    .extension = extension,
};

SINGLE_OPERATOR_PLUGIN("crop", crop_operator)
