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
  prepared_state *state = malloc(sizeof *state);
  if (!state) return host->fail(host, FC_NO_MEMORY, "out of memory");
  *state = (prepared_state){instance, alpha_colors(setup->in[0])};
  *prepared = state;
  return FC_OK;
}

static void release(const fc_host *host, void *prepared) {
  (void)host;
  free(prepared);
}

/* The value in the view's element type. */
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

typedef fc_status (*gather_fn)(const fc_gather *g, const fc_view *in, const fc_view *out, void *stream);
typedef fc_status (*place_fn)(const fc_place *p, const fc_view *in, const fc_view *out, void *stream);

static fc_status each(const fc_host *host, const prepared_state *state, const fc_job *job, gather_fn copy,
                      place_fn fill) {
  const fc_arg *const *args = state->args;
  const fc_gather same = {0};
  if (fc_view_count(job->out) == 0) return FC_OK;
  const fc_place paint = paint_of(args[VALUE], job->out);
  fc_status status = copy(&same, job->in[0], job->out, job->stream);
  for (int64_t n = 0; n < job->out->shape[FC_AXIS_N] && status == FC_OK; n++) {
    const uint64_t key = random_frame_key(host, job, n);
    fc_view part = random_frame(job->out, n), nothing = part;
    random_rectangle r;
    if (fc_random_even(key, 0) >= args[P]->floats[0] ||
        !random_rectangle_of(key, 1, part.extent[FC_AXIS_X], part.extent[FC_AXIS_Y], args[AREA]->floats,
                             args[RATIO]->floats, &r))
      continue;
    narrow(&part, FC_AXIS_X, r.x, r.x + r.width);
    narrow(&part, FC_AXIS_Y, r.y, r.y + r.height);
    part = alpha_channels(&part, 0, state->colors);
    nothing.extent[FC_AXIS_X] = nothing.extent[FC_AXIS_Y] = 0;
    if (fc_view_count(&part) > 0) status = fill(&paint, &nothing, &part, job->stream);
  }
  return status;
}

static fc_status copy_on_cpu(const fc_gather *g, const fc_view *in, const fc_view *out, void *stream) {
  (void)stream;
  return fc_gather_cpu(g, in, out);
}

static fc_status fill_on_cpu(const fc_place *p, const fc_view *in, const fc_view *out, void *stream) {
  (void)stream;
  return fc_place_cpu(p, in, out);
}

static fc_status copy_by_definition(const fc_gather *g, const fc_view *in, const fc_view *out, void *stream) {
  (void)stream;
  return fc_gather_ref(g, in, out);
}

static fc_status fill_by_definition(const fc_place *p, const fc_view *in, const fc_view *out, void *stream) {
  (void)stream;
  return fc_place_ref(p, in, out);
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  return each(host, prepared, job, copy_on_cpu, fill_on_cpu);
}

static fc_status process_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  return each(host, prepared, job, copy_by_definition, fill_by_definition);
}

#if FC_HAVE_CUDA
static fc_status process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  return each(host, prepared, job, fc_gather_cuda, fc_place_cuda);
}
#endif

static const fc_operator erase_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE | FC_OP_KEEPS_MEANING,
    FC_PICTURES_ONLY,
    .name = "erase",
    .summary = "cover a random rectangle of images",
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
    RANDOM_BACKENDS(prepare, release, process_cpu, process_cuda, process_reference),
};
SINGLE_OPERATOR_PLUGIN("erase", erase_operator)
