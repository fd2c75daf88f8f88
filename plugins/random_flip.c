/* SPDX-License-Identifier: MIT */
/* random_flip.c - the operator random_flip: mirrors images at random; by filters/geometry/permute.h. */
#include "filters/geometry/permute.h"
#include "plugins/random.h"

enum { FLIP_X = 1, FLIP_Y = 2 };
enum { AXIS, P, N_PARAMS };

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

static fc_status mirror(const fc_host *host, const void *instance, const fc_job *job, const random_frame *f) {
  const fc_arg *const *args = instance;
  const int axis = (int)args[AXIS]->ints[0];
  const double p = args[P]->floats[0];
  fc_permute flip = FC_PERMUTE_NONE;
  (void)host, (void)job;
  flip.reversed[FC_AXIS_X] = (axis & FLIP_X) && fc_random_even(f->key, 0) < p;
  flip.reversed[FC_AXIS_Y] = (axis & FLIP_Y) && fc_random_even(f->key, 1) < p;
  const fc_view in = aligned(&f->in, &f->out, &flip);
  return RANDOM_CALL(f->version, fc_permute_cpu(&flip, &in, &f->out), fc_permute_ref(&flip, &in, &f->out),
                     fc_permute_cuda(&flip, &in, &f->out, job->stream));
}

RANDOM_PROCESSES(mirror)

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
    RANDOM_BACKENDS(NULL, NULL, NULL, NULL),
};
SINGLE_OPERATOR_PLUGIN("random_flip", random_flip_operator)
