/* SPDX-License-Identifier: MIT */
/* random_flip.c - the operator random_flip: mirrors images at random; by filters/geometry/permute.h. */
#include "filters/geometry/permute.h"
#include "plugins/random.h"

enum { FLIP_X = 1, FLIP_Y = 2 };
enum { AXIS, P, N_PARAMS };

typedef fc_status (*permute_fn)(const fc_permute *p, const fc_view *in, const fc_view *out, void *stream);

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const int axis = (int)((const fc_arg *const *)instance)[AXIS]->ints[0];
  fc_reach *reach = terms->needs[0]->reach;
  (void)host;
  if (axis & FLIP_X) reach[FC_AXIS_X].before = reach[FC_AXIS_X].after = FC_WHOLE;
  if (axis & FLIP_Y) reach[FC_AXIS_Y].before = reach[FC_AXIS_Y].after = FC_WHOLE;
  terms->work = 1;
  return FC_OK;
}

/* An axis that is read as a whole begins at 0, whether it is flipped or not. */
static fc_view aligned(const fc_view *in, const fc_view *out, const fc_permute *p) {
  fc_view seen = *in;
  for (int a = FC_AXIS_Y; a <= FC_AXIS_X; a++)
    if (!p->reversed[a])
      seen.data = (char *)seen.data + (out->origin[a] - in->origin[a]) * in->stride[a],
      seen.origin[a] = out->origin[a], seen.shape[a] = out->shape[a];
  return seen;
}

static fc_status each(const fc_host *host, const void *instance, const fc_job *job, permute_fn run) {
  const fc_arg *const *args = instance;
  const int axis = (int)args[AXIS]->ints[0];
  const double p = args[P]->floats[0];
  fc_status status = FC_OK;
  if (fc_view_count(job->out) == 0) return FC_OK;
  for (int64_t n = 0; n < job->out->shape[FC_AXIS_N] && status == FC_OK; n++) {
    const uint64_t key = random_frame_key(host, job, n);
    fc_permute flip = FC_PERMUTE_NONE;
    flip.reversed[FC_AXIS_X] = (axis & FLIP_X) && fc_random_even(key, 0) < p;
    flip.reversed[FC_AXIS_Y] = (axis & FLIP_Y) && fc_random_even(key, 1) < p;
    const fc_view out = random_frame(job->out, n), frame = random_frame(job->in[0], n);
    const fc_view in = aligned(&frame, &out, &flip);
    status = run(&flip, &in, &out, job->stream);
  }
  return status;
}

static fc_status permute_on_cpu(const fc_permute *p, const fc_view *in, const fc_view *out, void *stream) {
  (void)stream;
  return fc_permute_cpu(p, in, out);
}

static fc_status permute_by_definition(const fc_permute *p, const fc_view *in, const fc_view *out,
                                       void *stream) {
  (void)stream;
  return fc_permute_ref(p, in, out);
}

static fc_status process_cpu(const fc_host *host, const void *instance, const fc_job *job) {
  return each(host, instance, job, permute_on_cpu);
}

static fc_status process_reference(const fc_host *host, const void *instance, const fc_job *job) {
  return each(host, instance, job, permute_by_definition);
}

#if FC_HAVE_CUDA
static fc_status process_cuda(const fc_host *host, const void *instance, const fc_job *job) {
  return each(host, instance, job, fc_permute_cuda);
}
#endif

static const fc_operator random_flip_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE | FC_OP_KEEPS_MEANING,
    FC_PICTURES_ONLY,
    .name = "random_flip",
    .summary = "mirror images at random",
    .doc = "Mirrors each image with probability p: left and right (x), top and bottom (y), or either of the "
           "two by a "
           "chance of its own (xy). Samples are copied as they are." RANDOM_DOC,
    .examples = FC_TEXTS("random_flip", "random_flip:y:p=0.3", "random_flip:xy"),
    .example_docs = FC_TEXTS("every second, left to right", "three of ten upside down", "both ways"),
    FC_OPERATOR_PARAMS(FC_ENUM_PARAM(FC_PARAM_MAIN, "axis", "What may change places.", "x",
                                     FC_CHOICES(FC_CHOICE(FLIP_X, "x", "left and right"),
                                                FC_CHOICE(FLIP_X, "horizontal", "the same as x"),
                                                FC_CHOICE(FLIP_Y, "y", "top and bottom"),
                                                FC_CHOICE(FLIP_Y, "vertical", "the same as y"),
                                                FC_CHOICE(FLIP_X | FLIP_Y, "xy", "either"))),
                       RANDOM_P_PARAM("The probability of each.")),
    .create = fc_create_args,
    .negotiate = negotiate,
    RANDOM_BACKENDS(NULL, NULL, process_cpu, process_cuda, process_reference),
};
SINGLE_OPERATOR_PLUGIN("random_flip", random_flip_operator)
