/* SPDX-License-Identifier: MIT */
/*
 * erase.c - the operator erase: paints over a random rectangle of each image. Images are copied by
 * filters/pointwise/gather.h; filters/geometry/place.h paints, by placing an empty signal into the rectangle.
 */
#include "filters/base/samples.h"
#include "filters/geometry/place.h"
#include "filters/pointwise/gather.h"
#include "plugins/alpha.h"
#include "plugins/random.h"

enum { P, AREA, RATIO, VALUE, N_PARAMS };

typedef struct prepared_state {
  const fc_arg *const *args;
  int64_t colors; /* channels that are painted: all but alpha */
} prepared_state;

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  fc_status status = random_check_pair(host, "area", args[AREA]);
  if (status == FC_OK) status = random_check_pair(host, "ratio", args[RATIO]);
  return status == FC_OK ? fc_create_args(host, args, self) : status;
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const fc_arg *value = ((const fc_arg *const *)instance)[VALUE];
  const fc_format *in = terms->in[0];
  const int64_t colors = alpha_colors(in);
  if (value->count > 1 && value->count != colors)
    return host->fail(host, FC_INVALID,
                      "value: %lld values for %lld channel%s; give one, or one for each channel",
                      (long long)value->count, (long long)colors, colors == 1 ? "" : "s");
  if (value->count > FC_PLACE_CODES)
    return host->fail(host, FC_INVALID, "value: of more than %d channels give one value for all",
                      FC_PLACE_CODES);
  terms->work = 1;
  return FC_OK;
}

static fc_status prepare(const fc_host *host, void *instance, const fc_setup *setup, void **prepared) {
  const prepared_state state = {instance, alpha_colors(setup->in[0])};
  return state_keep(host, &state, sizeof state, prepared);
}

/* The value as the view's elements. */
static fc_place paint_of(const fc_arg *value, const fc_view *out) {
  fc_place paint = {.n_codes = (int32_t)value->count};
  for (int64_t c = 0; c < value->count; c++)
    fc_store_f64(&paint.codes[c], 8, &value->floats[c], 1, out->kind, out->dtype, NULL);
  return paint;
}

/* Restricts the view to [lo, hi) of an axis. */
static void narrow(fc_view *v, int axis, int64_t lo, int64_t hi) {
  const int64_t begin = v->origin[axis], end = begin + v->shape[axis];
  lo = lo < begin ? begin : lo > end ? end : lo, hi = hi < lo ? lo : hi > end ? end : hi;
  v->data = (char *)v->data + (lo - begin) * v->stride[axis];
  v->origin[axis] = lo, v->shape[axis] = hi - lo;
}

static fc_status copy(const random_frame *f, void *stream) {
  const fc_gather same = {0};
  (void)stream;
  return RANDOM_CALL(f->version, fc_gather_cpu(&same, &f->in, &f->out), fc_gather_ref(&same, &f->in, &f->out),
                     fc_gather_cuda(&same, &f->in, &f->out, stream));
}

static fc_status erase(const fc_host *host, const void *prepared, const fc_job *job, const random_frame *f) {
  const prepared_state *state = prepared;
  const fc_arg *const *args = state->args;
  fc_view part = f->out, nothing = part;
  random_rectangle r;
  (void)host;
  const fc_status status = copy(f, job->stream);
  if (status != FC_OK || fc_random_even(f->key, 0) >= args[P]->floats[0] ||
      !random_rectangle_of(f->key, 1, part.extent[FC_AXIS_X], part.extent[FC_AXIS_Y], args[AREA]->floats,
                           args[RATIO]->floats, &r))
    return status;
  const fc_place paint = paint_of(args[VALUE], &part);
  narrow(&part, FC_AXIS_X, r.x, r.x + r.width);
  narrow(&part, FC_AXIS_Y, r.y, r.y + r.height);
  part = alpha_channels(&part, 0, state->colors);
  nothing.extent[FC_AXIS_X] = nothing.extent[FC_AXIS_Y] = 0;
  if (fc_view_count(&part) == 0) return FC_OK;
  return RANDOM_CALL(f->version, fc_place_cpu(&paint, &nothing, &part), fc_place_ref(&paint, &nothing, &part),
                     fc_place_cuda(&paint, &nothing, &part, job->stream));
}

RANDOM_PROCESSES(erase)

static const fc_operator erase_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE | FC_OP_KEEPS_MEANING,
    FC_PICTURES_ONLY,
    .name = "erase",
    .summary = "cover a random rectangle of images",
    .keywords = FC_TEXTS("cutout", "randomerasing", "random_erasing"),
    .doc =
        "Paints, with probability p, one rectangle of each image over: its area is a random part of the "
        "image's, its "
        "proportions and place are random (random erasing, cutout). Drawn as torchvision's RandomErasing: "
        "the area "
        "evenly, the proportions evenly by their logarithm, ten times until it fits. Alpha stays." RANDOM_DOC,
    .examples = FC_TEXTS("erase:p=1", "erase:p=1:area=0.1,0.5:value=99", "erase"),
    .example_docs = FC_TEXTS("always a rectangle", "larger, of value 99", "of every second image"),
    FC_OPERATOR_PARAMS(
        RANDOM_P_PARAM("The probability of a rectangle."),
        FC_PARAM(FC_FLOAT, FC_PARAM_LIST, 2, "area", "Its least and greatest part of the image.", NULL,
                 "0.02,0.33", FC_FLOAT_BETWEEN(0, 1), NULL, FC_TEXTS("scale"), NULL),
        FC_PARAM(FC_FLOAT, FC_PARAM_LIST, 2, "ratio", "Its least and greatest width by height.", NULL,
                 "0.3,3.3", FC_FLOAT_BETWEEN(0.001, 1000), NULL, NULL, NULL),
        FC_PARAM(FC_FLOAT, FC_PARAM_LIST, FC_PLACE_CODES, "value",
                 "What it becomes: one value, or one a channel, separated by commas.", NULL, "0", NULL, NULL,
                 NULL, NULL)),
    .create = create,
    .negotiate = negotiate,
    RANDOM_BACKENDS(prepare, state_release, NULL, NULL),
};
SINGLE_OPERATOR_PLUGIN("erase", erase_operator)
