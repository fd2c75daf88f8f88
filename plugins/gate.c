/* SPDX-License-Identifier: MIT */
/* gate.c - the operator gate: what is soft is lowered; the work is filters/dynamics/gate.h. */
#include "plugins/dynamics.h"

enum { THRESHOLD, ATTACK, HOLD, RELEASE, FLOOR, AHEAD, LINK, N_PARAMS };

void dynamics_of(const fc_arg *const *args, double rate, dynamics_state *state) {
  state->p.gate = (fc_gate){.threshold = args[THRESHOLD]->floats[0],
                            .floor = args[FLOOR]->floats[0],
                            .attack = fc_dynamics_rate(args[ATTACK]->floats[0], rate),
                            .release = fc_dynamics_rate(args[RELEASE]->floats[0], rate),
                            .hold = dynamics_samples(args[HOLD]->floats[0], rate)};
  state->work = fc_gate_dynamics(&state->p.gate);
  state->work.ahead = dynamics_samples(args[AHEAD]->floats[0], rate);
  state->work.linked = args[LINK]->ints[0] != 0;
}

static const fc_param *const params[N_PARAMS] = {
    [THRESHOLD] = FC_FLOAT_PARAM(FC_PARAM_MAIN | FC_PARAM_DECIBEL, "threshold",
                                 "What is no softer opens the gate: a factor of full scale, or decibels.",
                                 NULL, "-40dB", FC_FLOAT_BETWEEN(0, 1e6)),
    [ATTACK] = FC_FLOAT_PARAM(0, "attack", "How fast it opens: 63 % of the way in this time.", "s", "0.001",
                              FC_FLOAT_BETWEEN(0, 100)),
    [HOLD] = FC_FLOAT_PARAM(0, "hold", "How long it stays open behind the last loud sample.", "s", "0.05",
                            FC_FLOAT_BETWEEN(0, 100)),
    [RELEASE] =
        FC_FLOAT_PARAM(0, "release", "How fast it closes then.", "s", "0.1", FC_FLOAT_BETWEEN(0, 100)),
    [FLOOR] =
        FC_FLOAT_PARAM(FC_PARAM_DECIBEL, "floor", "What soft sound is multiplied by: a factor, or decibels.",
                       NULL, "0", FC_FLOAT_BETWEEN(0, 1)),
    [AHEAD] = FC_FLOAT_PARAM(0, "ahead", "How far it looks ahead, so that it is open in time.", "s", "0",
                             FC_FLOAT_BETWEEN(0, 10)),
    [LINK] = DYNAMICS_LINK_PARAM,
};

static const fc_operator gate_operator = {
    DYNAMICS_OPERATOR,
    .name = "gate",
    .summary = "lower what is softer than a threshold",
    .doc = "Lets sound through that reaches the threshold, and for a time behind that, and lowers all else "
           "to the "
           "floor: noise between words.\n\n"
           "    gate:-45dB:hold=0.2s:release=0.3s\n"
           "    gate:-45dB:floor=-20dB:ahead=0.005      not to silence, and open before it gets loud\n\n"
           "The gate begins closed.",
    .examples = FC_TEXTS("gate:-45dB", "gate:0.1:hold=0.01s:release=0.02s:floor=-20dB:ahead=0.002:link=no"),
    .example_docs = FC_TEXTS("silence below -45 dB", "gentle, each channel alone"),
    .n_params = N_PARAMS,
    .params = params,
    .create = fc_create_args,
};

SINGLE_OPERATOR_PLUGIN("gate", gate_operator)
