/* SPDX-License-Identifier: MIT */
/* gate.c - the operator gate: lowers soft parts; the work is filters/dynamics/gate.h. */
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
    [THRESHOLD] =
        FC_FLOAT_PARAM(FC_PARAM_MAIN | FC_PARAM_DECIBEL, "threshold",
                       "The threshold at which the gate opens: a factor of full scale, or decibels.", NULL,
                       "-40dB", FC_FLOAT_BETWEEN(0, 1e6)),
    [ATTACK] = FC_FLOAT_PARAM(0, "attack", "Attack time constant: 63 % open after this time.", "s", "0.001",
                              FC_FLOAT_BETWEEN(0, 100)),
    [HOLD] = FC_FLOAT_PARAM(0, "hold",
                            "Hold time: how long it stays open after the last sample above the threshold.",
                            "s", "0.05", FC_FLOAT_BETWEEN(0, 100)),
    [RELEASE] = FC_FLOAT_PARAM(0, "release", "Release time constant.", "s", "0.1", FC_FLOAT_BETWEEN(0, 100)),
    [FLOOR] = FC_FLOAT_PARAM(FC_PARAM_DECIBEL, "floor", "The gain while it is closed: a factor, or decibels.",
                             NULL, "0", FC_FLOAT_BETWEEN(0, 1)),
    [AHEAD] = FC_FLOAT_PARAM(0, "ahead", "Look-ahead: how long before a loud sound it begins to open.", "s",
                             "0", FC_FLOAT_BETWEEN(0, 10)),
    [LINK] = DYNAMICS_LINK_PARAM,
};

static const fc_operator gate_operator = {
    DYNAMICS_OPERATOR,
    .name = "gate",
    .summary = "attenuate sound below a threshold",
    .keywords = FC_TEXTS("agate", "noisegate", "noise_gate", "denoise"),
    .doc = "Passes sound that reaches the threshold, holds for a time after it, and attenuates everything "
           "else to the floor, such as noise between words.\n\n"
           "    gate:-45dB:hold=0.2s:release=0.3s\n"
           "    gate:-45dB:floor=-20dB:ahead=0.005      attenuate by 20 dB, and open early\n\n"
           "The gate begins closed.",
    .examples = FC_TEXTS("gate:-45dB", "gate:0.1:hold=0.01s:release=0.02s:floor=-20dB:ahead=0.002:link=no"),
    .example_docs = FC_TEXTS("silence below -45 dB", "gentle, each channel alone"),
    .n_params = N_PARAMS,
    .params = params,
    .create = fc_create_args,
};

SINGLE_OPERATOR_PLUGIN("gate", gate_operator)
