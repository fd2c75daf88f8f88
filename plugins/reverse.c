/* SPDX-License-Identifier: MIT */
/* reverse.c - the operator reverse: reverses sound; filters/pointwise/gather.h copies from a view with a
 * negative stride. */
#include "plugins/gather.h"

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  if (FC_HAS(terms, turn) && terms->turn & FC_TURN_POSSIBLE)
    terms->turn |= FC_TURN_WANTED;
  else
    terms->needs[0]->reach[FC_AXIS_T].before = terms->needs[0]->reach[FC_AXIS_T].after = FC_WHOLE;
  terms->out->time_num = terms->out->time_den = 0;
  return FC_OK;
}

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {
  return gather_prepare(host, setup, (fc_gather){0}, 0, prepared);
}

/* What the output begins with is as far from the input's end as it is from the output's beginning; the view
 * has all of the input, or what the output is made of. */
static fc_view backwards(const fc_job *job) {
  fc_view v = *job->in[0];
  const int64_t last = v.extent[FC_AXIS_T] - 1 - job->out->origin[FC_AXIS_T] - v.origin[FC_AXIS_T];
  v.data = (char *)v.data + last * v.stride[FC_AXIS_T];
  v.stride[FC_AXIS_T] = -v.stride[FC_AXIS_T];
  v.shape[FC_AXIS_T] = job->out->shape[FC_AXIS_T];
  return v;
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  const fc_view in = backwards(job);
  return fc_gather_cpu(&((const gather_state *)prepared)->work, &in, job->out);
}

static fc_status process_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  const fc_view in = backwards(job);
  return fc_gather_ref(&((const gather_state *)prepared)->work, &in, job->out);
}

#if FC_HAVE_CUDA
/* Not in a graph: the source of a sample depends on the chunk's position in the signal. */
static fc_status process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  const fc_view in = backwards(job);
  return fc_gather_cuda(&((const gather_state *)prepared)->work, &in, job->out, job->stream);
}
#endif

static const fc_operator reverse_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE | FC_OP_KEEPS_MEANING,
    .name = "reverse",
    .summary = "reverse sound in time",
    .keywords = FC_TEXTS("areverse", "backwards"),
    .doc =
        "Reverses the order of the samples; they are copied as they are. A file is read from its end to its "
        "beginning, piece by piece. Sound that can only be read forwards is held in memory first: a pipe, "
        "an MP3 file, sound behind a stage that carries state or measures, or that has a further input.\n\n"
        "    reverse",
    .examples = FC_TEXTS("reverse"),
    .example_docs = FC_TEXTS("backwards"),
    FC_SOUND_ONLY,
    .create = fc_create_args,
    .negotiate = negotiate,
    .backends = BACKENDS(FC_ON_CPU(prepare, gather_release, NULL, process_cpu),
                         FC_ON_CUDA(0, prepare, gather_release, NULL, process_cuda)),
    .reference = FC_ON_CPU(prepare, gather_release, NULL, process_reference),
};

SINGLE_OPERATOR_PLUGIN("reverse", reverse_operator)
