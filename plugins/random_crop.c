/* SPDX-License-Identifier: MIT */
/* random_crop.c - the operator random_crop: a rectangle at a random position of each image; by
 * filters/pointwise/gather.h. */
#include "filters/pointwise/gather.h"
#include "plugins/random.h"

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const fc_arg *size = ((const fc_arg *const *)instance)[0];
  const int64_t width = size->ints[0], height = size->ints[size->count - 1];
  const int64_t *extent = terms->in[0]->extent;
  if (width > extent[FC_AXIS_X] || height > extent[FC_AXIS_Y])
    return host->fail(
        host, FC_INVALID,
        "the image is %lld x %lld, smaller than the %lld x %lld that are to be kept: first make it "
        "larger (resize:%lldx%lld:mode=fill) or pad it",
        (long long)extent[FC_AXIS_X], (long long)extent[FC_AXIS_Y], (long long)width, (long long)height,
        (long long)width, (long long)height);
  terms->out->extent[FC_AXIS_X] = width, terms->out->extent[FC_AXIS_Y] = height;
  random_see_all(terms);
  return FC_OK;
}

static fc_status crop(const fc_host *host, const void *prepared, const fc_job *job, const random_frame *f) {
  const int64_t *from = f->in.extent, *to = f->out.extent;
  const int64_t x = fc_random_below(f->key, 0, from[FC_AXIS_X] - to[FC_AXIS_X] + 1),
                y = fc_random_below(f->key, 1, from[FC_AXIS_Y] - to[FC_AXIS_Y] + 1);
  const fc_gather work = {.shift_y = y + f->out.origin[FC_AXIS_Y] - f->in.origin[FC_AXIS_Y],
                          .shift_x = x + f->out.origin[FC_AXIS_X] - f->in.origin[FC_AXIS_X]};
  (void)host, (void)prepared, (void)job;
  return RANDOM_CALL(f->version, fc_gather_cpu(&work, &f->in, &f->out), fc_gather_ref(&work, &f->in, &f->out),
                     fc_gather_cuda(&work, &f->in, &f->out, job->stream));
}

RANDOM_PROCESSES(crop)

static const fc_operator random_crop_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE | FC_OP_KEEPS_MEANING,
    FC_PICTURES_ONLY,
    .name = "random_crop",
    .summary = "crop a random rectangle of each image",
    .doc = "Keeps a rectangle of the given size of each image; every place is as likely as another. Samples "
           "are copied "
           "as they are. An image that is smaller is an error: make it larger before "
           "(resize:256x256:mode=fill), or pad "
           "it, as for small images with pad:all=4." RANDOM_DOC,
    .examples = FC_TEXTS("random_crop:3", "random_crop:5x2"),
    .example_docs = FC_TEXTS("a random square", "a random rectangle"),
    FC_OPERATOR_PARAMS(FC_PARAM(FC_INT, FC_PARAM_MAIN | FC_PARAM_REQUIRED | FC_PARAM_LIST, 2, "size",
                                "One number, the side of a square, or WIDTHxHEIGHT.", "pixels", NULL,
                                FC_INT_BETWEEN(1, INT32_MAX), NULL, NULL, NULL)),
    .create = fc_create_args,
    .negotiate = negotiate,
    RANDOM_BACKENDS(NULL, NULL, NULL, NULL),
};
SINGLE_OPERATOR_PLUGIN("random_crop", random_crop_operator)
