/* SPDX-License-Identifier: MIT */
/* delay.c - the operator delay: delays sound by a number of samples, for all channels or per channel;
 * filters/pointwise/gather.h copies, and the host makes the silence before the beginning. */
#include "plugins/gather.h"
#include "plugins/meaning.h"

/* The instance is the argument array. */
typedef const fc_arg *const *arguments;

static int64_t longest(const fc_arg *by) {
  int64_t most = 0;
  for (int64_t i = 0; i < by->count; i++)
    if (by->ints[i] > most) most = by->ints[i];
  return most;
}

static int64_t shortest(const fc_arg *by) {
  int64_t least = by->ints[0];
  for (int64_t i = 1; i < by->count; i++)
    if (by->ints[i] < least) least = by->ints[i];
  return least;
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  const fc_arg *by = ((arguments)self)[0];
  const int64_t channels = terms->in[0]->extent[FC_AXIS_C], extent = terms->in[0]->extent[FC_AXIS_T];
  if (by->count > 1 && by->count != channels)
    return host->fail(host, FC_INVALID,
                      "%s: %lld delays for %lld channel%s; give one, or one for each channel", by->text,
                      (long long)by->count, (long long)channels, channels == 1 ? "" : "s");
  terms->needs[0]->reach[FC_AXIS_T].before = longest(by);
  terms->needs[0]->reach[FC_AXIS_T].after = -shortest(by);
  terms->needs[0]->border = FC_BORDER_ZERO;
  if (extent != FC_UNKNOWN) terms->out->extent[FC_AXIS_T] = extent + longest(by);
  meaning_shift_time(terms, -longest(by));
  return FC_OK;
}

typedef struct delay_state {
  int64_t count, by[];
} delay_state;

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {
  const fc_arg *by = ((arguments)self)[0];
  delay_state *state = malloc(sizeof *state + (size_t)by->count * sizeof *state->by);
  if (!state) return host->fail(host, FC_NO_MEMORY, "out of memory");
  state->count = by->count;
  for (int64_t i = 0; i < by->count; i++) state->by[i] = by->ints[i];
  *prepared = state;
  return FC_OK;
}

typedef fc_status (*copy_fn)(const fc_gather *g, const fc_view *in, const fc_view *out, void *stream);

static fc_status copy_all(const delay_state *state, const fc_job *job, copy_fn copy) {
  fc_gather g = {.shift_x = -state->by[0]};
  if (state->count == 1) return copy(&g, job->in[0], job->out, job->stream);
  fc_status status = FC_OK;
  for (int64_t c = 0; c < job->out->shape[FC_AXIS_C] && status == FC_OK; c++) {
    const fc_view in = fc_view_channel(job->in[0], c), out = fc_view_channel(job->out, c);
    g.shift_x = -state->by[job->out->origin[FC_AXIS_C] + c];
    status = copy(&g, &in, &out, job->stream);
  }
  return status;
}

static fc_status copy_cpu(const fc_gather *g, const fc_view *in, const fc_view *out, void *stream) {
  return fc_gather_cpu(g, in, out);
}

static fc_status copy_reference(const fc_gather *g, const fc_view *in, const fc_view *out, void *stream) {
  return fc_gather_ref(g, in, out);
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  return copy_all(prepared, job, copy_cpu);
}

static fc_status process_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  return copy_all(prepared, job, copy_reference);
}

#if FC_HAVE_CUDA
static fc_status process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  return copy_all(prepared, job, fc_gather_cuda);
}
#endif

/* ---- descriptor -------------------------------------------------------------- */

static const fc_operator delay_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE | FC_OP_KEEPS_MEANING,
    .name = "delay",
    .summary = "delay sound, all channels together or each by its own time",
    .keywords = FC_TEXTS("echo", "adelay"),
    .doc = "Puts silence before the sound; the output is longer by the longest delay. "
           "Samples are copied as they are.\n\n"
           "    delay:250ms\n"
           "    delay:0,12ms                    the second of two channels only",
    .examples = FC_TEXTS("delay:5", "delay:1ms", "delay:0"),
    .example_docs = FC_TEXTS("five samples later", "a millisecond later", "unchanged"),
    FC_SOUND_ONLY,
    FC_OPERATOR_PARAMS(
        FC_PARAM(FC_INT, FC_PARAM_MAIN | FC_PARAM_REQUIRED | FC_PARAM_LIST, 0, "by",
                 "How long the delay is: one for all channels, or one for each, separated by commas.",
                 "samples", NULL, FC_INT_BETWEEN(0, FC_REACH_MOST), NULL, NULL, NULL)),
    .create = fc_create_args,
    .negotiate = negotiate,
    .backends = BACKENDS(FC_ON_CPU(prepare, state_release, NULL, process_cpu),
                         FC_ON_CUDA(FC_BACKEND_GRAPH, prepare, state_release, NULL, process_cuda)),
    .reference = FC_ON_CPU(prepare, state_release, NULL, process_reference),
};

SINGLE_OPERATOR_PLUGIN("delay", delay_operator)
