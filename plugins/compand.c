/* SPDX-License-Identifier: MIT */
/* compand.c - the operator compand: compressors and expanders; the work is filters/dynamics/compand.h. */
#include "plugins/dynamics.h"

enum { POINTS, ATTACK, DECAY, KNEE, GAIN, AHEAD, LINK, N_PARAMS };

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  const fc_arg *points = args[POINTS];
  if (points->count % 2)
    return host->fail(host, FC_INVALID,
                      "points=%s: levels come in pairs of input and output, and the last one has no partner",
                      points->text);
  for (int64_t i = 2; i < points->count; i += 2)
    if (points->floats[i] <= points->floats[i - 2])
      return host->fail(host, FC_INVALID, "points=%s: input levels must increase, and %g follows %g",
                        points->text, points->floats[i], points->floats[i - 2]);
  *self = (void *)(uintptr_t)args;
  return FC_OK;
}

void dynamics_of(const fc_arg *const *args, double rate, dynamics_state *state) {
  fc_compand *c = &state->p.compand;
  *c = (fc_compand){.attack = fc_dynamics_rate(args[ATTACK]->floats[0], rate),
                    .decay = fc_dynamics_rate(args[DECAY]->floats[0], rate),
                    .knee = args[KNEE]->floats[0],
                    .points = (int32_t)(args[POINTS]->count / 2),
                    .gain = args[GAIN]->floats[0]};
  for (int i = 0; i < c->points; i++)
    c->in[i] = args[POINTS]->floats[2 * i], c->out[i] = args[POINTS]->floats[2 * i + 1];
  state->work = fc_compand_dynamics(c);
  state->work.ahead = dynamics_samples(args[AHEAD]->floats[0], rate);
  state->work.linked = args[LINK]->ints[0] != 0;
}

static const fc_param *const params[N_PARAMS] = {
    [POINTS] =
        FC_PARAM(FC_FLOAT, FC_PARAM_MAIN | FC_PARAM_REQUIRED | FC_PARAM_LIST, 2 * FC_COMPAND_POINTS, "points",
                 "Points of the curve, in pairs of input and output level: in, out, in, out. Straight lines "
                 "connect them; below the first pair the gain is constant, above the last the slope.",
                 "dB", NULL, FC_FLOAT_BETWEEN(-200, 100), NULL, NULL, NULL),
    [ATTACK] = FC_FLOAT_PARAM(0, "attack",
                              "Attack time constant: the level follows louder sound to 63 % in this time.",
                              "s", "0.005", FC_FLOAT_BETWEEN(0, 100)),
    [DECAY] = FC_FLOAT_PARAM(0, "decay", "Decay time constant, for softer sound.", "s", "0.1",
                             FC_FLOAT_BETWEEN(0, 100)),
    [KNEE] = FC_FLOAT_PARAM(0, "knee", "The width over which corners of the curve are rounded (soft knee).",
                            "dB", "0", FC_FLOAT_BETWEEN(0, 100)),
    [GAIN] = FC_FLOAT_PARAM(FC_PARAM_DECIBEL, "gain", "Make-up gain: a factor, or decibels.", NULL, "1",
                            FC_FLOAT_BETWEEN(0, 1e6)),
    [AHEAD] = FC_FLOAT_PARAM(0, "ahead", "Look-ahead: how far the level is measured ahead of the sound.", "s",
                             "0", FC_FLOAT_BETWEEN(0, 10)),
    [LINK] = DYNAMICS_LINK_PARAM,
};

static const fc_operator compand_operator = {
    DYNAMICS_OPERATOR,
    .name = "compand",
    .summary = "compress or expand dynamics by a curve of levels",
    .keywords = FC_TEXTS("compressor", "compress", "acompressor", "expander", "drc"),
    .doc = "Maps the level of sound by a curve: the level is followed with an attack and a decay time, the "
           "curve gives the output level, and the gain is the difference of both.\n\n"
           "    compand:-20,-20,0,-15                  compression of 4:1 above -20 dB\n"
           "    compand:-70,-70,-60,-20,0,-5:attack=0.3s:decay=1s:gain=-20dB\n"
           "    compand:-50,-80,-40,-40:decay=0.3      softens what is softer than -40 dB\n\n"
           "The level begins at silence. With ahead the gain changes before the sound that causes it. Levels "
           "below -200 dB count as that. Attack and decay are those of sox's compand.",
    .examples =
        FC_TEXTS("compand:-20,-20,0,-15", "compand:-70,-70,-60,-20,0,-5:attack=0.3s:decay=1s:gain=-20dB",
                 "compand:points=-40,-50,-20,-20,0,-10:knee=6:ahead=0.001:link=no"),
    .example_docs =
        FC_TEXTS("loud passages softer", "quiet passages louder, slowly", "soft knee, channels apart"),
    .n_params = N_PARAMS,
    .params = params,
    .create = create,
};

SINGLE_OPERATOR_PLUGIN("compand", compand_operator)
