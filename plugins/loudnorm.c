/* SPDX-License-Identifier: MIT */
/*
 * loudnorm.c - the operator loudnorm: like normalize for sound, under ffmpeg's name and with the loudness as
 * main parameter.
 */
#include "plugins/loudnorm.h"

enum { LOUDNESS, PEAK, TRUE_PEAK, N_PARAMS };

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  if (!args[LOUDNESS]->count && !args[PEAK]->count)
    return host->fail(host, FC_INVALID,
                      "give loudness, as in loudnorm:loudness=-23LUFS, or peak, as in loudnorm:peak=-1dBFS");
  const fc_status status = state_new(host, sizeof(loudnorm), self);
  if (status == FC_OK) loudnorm_init(*self, "loudnorm", args[LOUDNESS], args[PEAK], args[TRUE_PEAK]);
  return status;
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  return loudnorm_terms(host, self, terms);
}

fc_pointwise pointwise_of(const void *self, const fc_setup *setup, pointwise_numbers *numbers) {
  (void)numbers;
  return loudnorm_pointwise(self, setup);
}

/* ---- descriptor -------------------------------------------------------------- */

static const fc_param *const params[N_PARAMS] = {
    [LOUDNESS] = LOUDNORM_LOUDNESS_PARAM(FC_PARAM_MAIN),
    [PEAK] = LOUDNORM_PEAK_PARAM,
    [TRUE_PEAK] = LOUDNORM_TRUE_PEAK_PARAM,
};

static const fc_operator loudnorm_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING | FC_OP_TWO_PASSES,
    .name = "loudnorm",
    .summary = "bring sound to a loudness or a peak: normalize by ffmpeg's name",
    .doc =
        "Multiplies sound by one factor, so that its integrated loudness after EBU R 128 or its highest "
        "peak becomes what is asked for: what normalize does with sound, under the name that users of "
        "ffmpeg look for.\n\n"
        "    loudnorm:-23LUFS                               normalize:loudness=-23LUFS\n"
        "    loudnorm:loudness=-16:peak=-1dBFS:true_peak=yes    with less gain where peaks would exceed it\n"
        "    loudnorm:peak=-1dBFS\n\n"
        "Unlike ffmpeg's filter it leaves dynamics as they are. The input is read twice.",
    .examples =
        FC_TEXTS("loudnorm:-23LUFS", "loudnorm:peak=-1dBFS", "loudnorm:loudness=-16:peak=-1dB:true_peak=yes"),
    .example_docs = FC_TEXTS("to broadcast loudness", "peak at -1 dB", "louder, true peak kept"),
    FC_SOUND_ONLY,
    .n_params = N_PARAMS,
    .params = params,
    .create = create,
    .negotiate = negotiate,
    LOUDNORM_BACKENDS,
};

SINGLE_OPERATOR_PLUGIN("loudnorm", loudnorm_operator)
