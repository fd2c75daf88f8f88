/* SPDX-License-Identifier: MIT */
/*
 * trim.c - the operator trim: a part of a sound from one time to another; the work is
 * filters/pointwise/gather.h. Like crop, which counts samples from a start.
 */
#include "filters/pointwise/functions.h"
#include "plugins/gather.h"
#include "plugins/meaning.h"

enum { FROM, TO, LENGTH, N_PARAMS };

/* The instance is the argument array. */
typedef const fc_arg *const *arguments;

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  if (args[TO]->count && args[LENGTH]->count)
    return host->fail(host, FC_INVALID, "give to or length, not both");
  if (args[TO]->count && args[TO]->ints[0] <= args[FROM]->ints[0])
    return host->fail(host, FC_INVALID, "to=%s is not behind from=%s", args[TO]->text, args[FROM]->text);
  *self = (void *)(uintptr_t)args;
  return FC_OK;
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  arguments args = self;
  const int64_t extent = terms->in[0]->extent[FC_AXIS_T], from = args[FROM]->ints[0];
  const double rate = terms->in[0]->rate > 0 ? terms->in[0]->rate : 1;
  const int64_t to = args[TO]->count       ? args[TO]->ints[0]
                     : args[LENGTH]->count ? from + args[LENGTH]->ints[0]
                                           : FC_UNKNOWN;
  terms->needs[0]->reach[FC_AXIS_T].before = -from;
  terms->needs[0]->reach[FC_AXIS_T].after = from;
  meaning_shift_time(terms, from);
  if (to != FC_UNKNOWN) terms->out->extent[FC_AXIS_T] = to - from;
  if (extent == FC_UNKNOWN) return FC_OK; /* asked again when it is known */
  if (from >= extent && from > 0)
    return host->fail(host, FC_INVALID,
                      "nothing would be left: it begins at sample %lld, and the sound ends at %lld, %.3f s",
                      (long long)from, (long long)extent, (double)extent / rate);
  if (to > extent)
    return host->fail(host, FC_INVALID,
                      "sample %lld is beyond the end of the sound, which is at %lld, %.3f s", (long long)to,
                      (long long)extent, (double)extent / rate);
  terms->out->extent[FC_AXIS_T] = (to == FC_UNKNOWN ? extent : to) - from;
  return FC_OK;
}

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {
  return gather_prepare(host, setup, (fc_gather){.shift_x = ((arguments)self)[FROM]->ints[0]}, 0, prepared);
}

static fc_status describe(const fc_host *host, void *self, const fc_setup *setup,
                          fc_device_function *function) {
  const fc_pointwise copy = {.form = FC_POINTWISE_COPY, .compute = setup->compute};
  (void)host, (void)self;
  if (!gather_is_exact(setup)) return FC_UNSUPPORTED;
  fc_function_pointwise(&copy, function);
  return FC_OK;
}
FC_FUSIBLE(extension, describe)

/* ---- descriptor -------------------------------------------------------------- */

static const fc_operator trim_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE | FC_OP_KEEPS_MEANING,
    .name = "trim",
    .summary = "keep a range of time",
    .keywords = FC_TEXTS("atrim", "cut"),
    .doc = "Keeps a range of time and drops the sound before and after it.\n\n"
           "    trim:1.5s                       from there to the end\n"
           "    trim:0:01:30:to=0:02:00         half a minute\n"
           "    trim:48000:length=250ms\n\n"
           "Samples are copied as they are. A range that reaches beyond the end is an error, so that the "
           "output is never shorter than requested. Stages before it compute only what is kept.",
    .examples = FC_TEXTS("trim:5", "trim:from=3:to=20", "trim:1ms:length=8"),
    .example_docs = FC_TEXTS("without the first five", "samples 3 to 20", "8 samples after 1 ms"),
    FC_SOUND_ONLY,
    FC_OPERATOR_PARAMS(
        FC_INT_PARAM(FC_PARAM_MAIN, "from", "The first sample that is kept, counted from 0.", "samples", "0",
                     FC_INT_BETWEEN(0, FC_REACH_MOST)),
        FC_INT_PARAM(0, "to",
                     "The first sample that is not. Without it, and without length, all is kept to the end.",
                     "samples", NULL, FC_INT_BETWEEN(1, FC_REACH_MOST)),
        FC_INT_PARAM(0, "length", "How many samples are kept, instead of to.", "samples", NULL,
                     FC_INT_BETWEEN(1, FC_REACH_MOST))),
    .create = create,
    .negotiate = negotiate,
    GATHER_BACKENDS(prepare),
    .extension = extension,
};

SINGLE_OPERATOR_PLUGIN("trim", trim_operator)
