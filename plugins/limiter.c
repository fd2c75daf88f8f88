/* SPDX-License-Identifier: MIT */
/* limiter.c - the operator limiter: keeps all samples below a ceiling; the work is
 * filters/dynamics/limiter.h. */
#include "plugins/dynamics.h"

enum { CEILING, AHEAD, RELEASE, LINK, N_PARAMS };

void dynamics_of(const fc_arg *const *args, double rate, dynamics_state *state) {
  const int64_t ahead = dynamics_samples(args[AHEAD]->floats[0], rate);
  state->p.limiter = (fc_limiter){.ceiling = args[CEILING]->floats[0],
                                  .release = fc_dynamics_rate(args[RELEASE]->floats[0], rate),
                                  .ahead = ahead < FC_LIMITER_LONGEST ? ahead : FC_LIMITER_LONGEST};
  state->work = fc_limiter_dynamics(&state->p.limiter);
  state->work.linked = args[LINK]->ints[0] != 0;
}

static const fc_param *const params[N_PARAMS] = {
    [CEILING] =
        FC_FLOAT_PARAM(FC_PARAM_MAIN | FC_PARAM_DECIBEL, "ceiling",
                       "The largest magnitude of a sample: a factor of full scale, or decibels (-1dBFS).",
                       NULL, "-1dB", FC_FLOAT_BETWEEN(1e-6, 1e6)),
    [AHEAD] = FC_FLOAT_PARAM(0, "ahead", "Look-ahead: how long before a peak the gain begins to fall.", "s",
                             "0.005", FC_FLOAT_BETWEEN(0, 1)),
    [RELEASE] = FC_FLOAT_PARAM(0, "release", "Release time constant.", "s", "0.05", FC_FLOAT_BETWEEN(0, 100)),
    [LINK] = DYNAMICS_LINK_PARAM,
};

static const fc_operator limiter_operator = {
    DYNAMICS_OPERATOR,
    .name = "limiter",
    .summary = "keep every sample below a ceiling, with look-ahead",
    .keywords = FC_TEXTS("limit", "alimiter"),
    .doc = "Reduces the gain where samples would exceed the ceiling, beginning a little before them, and "
           "restores it after them. No sample exceeds the ceiling; sound below it is unchanged.\n\n"
           "    limiter:-1dBFS\n"
           "    gain:12dB limiter:ceiling=-0.5dB:ahead=0.01s:release=0.2s\n\n"
           "The sound is not delayed: the operator looks ahead. Between samples peaks may be a little higher "
           "(loudness measures them).",
    .examples =
        FC_TEXTS("limiter:-1dBFS", "limiter:0.25:ahead=0.002s:release=0.01s:link=no", "limiter:ahead=0"),
    .example_docs = FC_TEXTS("peaks below -1 dB", "quarter scale, channels apart", "without looking ahead"),
    .n_params = N_PARAMS,
    .params = params,
    .create = fc_create_args,
};

SINGLE_OPERATOR_PLUGIN("limiter", limiter_operator)
