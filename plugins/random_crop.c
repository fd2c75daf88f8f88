/* SPDX-License-Identifier: MIT */
/* random_crop.c - the operator random_crop: a rectangle at a random position of each image; by
 * filters/pointwise/gather.h. */
#include "filters/pointwise/gather.h"
#include "plugins/random.h"

typedef fc_status (*gather_fn)(const fc_gather *g, const fc_view *in, const fc_view *out, void *stream);

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

static fc_status each(const fc_host *host, const fc_job *job, gather_fn run) {
  const int64_t *from = job->in[0]->extent, *to = job->out->extent;
  fc_status status = FC_OK;
  if (fc_view_count(job->out) == 0) return FC_OK;
  for (int64_t n = 0; n < job->out->shape[FC_AXIS_N] && status == FC_OK; n++) {
    const uint64_t key = random_frame_key(host, job, n);
    const fc_view out = random_frame(job->out, n), in = random_frame(job->in[0], n);
    const int64_t x = fc_random_below(key, 0, from[FC_AXIS_X] - to[FC_AXIS_X] + 1),
                  y = fc_random_below(key, 1, from[FC_AXIS_Y] - to[FC_AXIS_Y] + 1);
    const fc_gather work = {.shift_y = y + out.origin[FC_AXIS_Y] - in.origin[FC_AXIS_Y],
                            .shift_x = x + out.origin[FC_AXIS_X] - in.origin[FC_AXIS_X]};
    status = run(&work, &in, &out, job->stream);
  }
  return status;
}

static fc_status gather_on_cpu(const fc_gather *g, const fc_view *in, const fc_view *out, void *stream) {
  (void)stream;
  return fc_gather_cpu(g, in, out);
}

static fc_status gather_by_definition(const fc_gather *g, const fc_view *in, const fc_view *out,
                                      void *stream) {
  (void)stream;
  return fc_gather_ref(g, in, out);
}

static fc_status process_cpu(const fc_host *host, const void *instance, const fc_job *job) {
  (void)instance;
  return each(host, job, gather_on_cpu);
}

static fc_status process_reference(const fc_host *host, const void *instance, const fc_job *job) {
  (void)instance;
  return each(host, job, gather_by_definition);
}

#if FC_HAVE_CUDA
static fc_status process_cuda(const fc_host *host, const void *instance, const fc_job *job) {
  (void)instance;
  return each(host, job, fc_gather_cuda);
}
#endif

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
    RANDOM_BACKENDS(NULL, NULL, process_cpu, process_cuda, process_reference),
};
SINGLE_OPERATOR_PLUGIN("random_crop", random_crop_operator)
