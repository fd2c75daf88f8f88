/* SPDX-License-Identifier: MIT */
/* noise.c - the operator noise: adds random noise to images; by filters/generate/noise.h. */
#include "filters/generate/noise.h"
#include "plugins/alpha.h"
#include "plugins/random.h"

enum { SIGMA, FORM, MONO, N_PARAMS };
enum { NORMAL, UNIFORM };

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  (void)host, (void)instance;
  terms->work = 80;
  return FC_OK;
}

static fc_status prepare(const fc_host *host, void *instance, const fc_setup *setup, void **prepared) {
  const fc_arg *const *args = instance;
  const fc_noise noise = {.compute = setup->compute,
                          .isa = fc_isa_best(),
                          .even = args[FORM]->ints[0] == UNIFORM,
                          .shared = args[MONO]->ints[0] != 0,
                          .deviation = args[SIGMA]->floats[0],
                          .colors = alpha_colors(setup->in[0])};
  return state_keep(host, &noise, sizeof noise, prepared);
}

static size_t scratch(const void *prepared, const fc_job *job) {
  (void)job;
  return fc_noise_scratch(prepared);
}

static fc_status add_noise(const fc_host *host, const void *prepared, const fc_job *job,
                           const random_frame *f) {
  fc_noise noise = *(const fc_noise *)prepared;
  (void)host;
  noise.key = f->key;
  return RANDOM_CALL(f->version, fc_noise_cpu(&noise, &f->in, &f->out, job->scratch, job->notes),
                     fc_noise_ref(&noise, &f->in, &f->out, job->notes),
                     fc_noise_cuda(&noise, &f->in, &f->out, job->stream, job->notes));
}

RANDOM_PROCESSES(add_noise)

static const fc_operator noise_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING | FC_OP_NOISE,
    FC_PICTURES_ONLY,
    .name = "noise",
    .summary = "add random noise to images",
    .keywords = FC_TEXTS("grain"),
    .doc = "Adds noise to each sample: normally distributed, of standard deviation sigma, or evenly. sigma "
           "is in the "
           "image's own values, of which white is 255 in 8-bit images, and 1 after normalize and in most "
           "floats. What "
           "goes beyond black or white is clipped where integers are stored. Alpha stays as it is.\n\n"
           "Normal noise is Box and Muller's, within 6.8 sigma. For the noise that hides rounding there is "
           "dither; for "
           "noise as sound, tone." RANDOM_DOC,
    .examples = FC_TEXTS("noise:8", "noise:3:form=uniform", "noise:8:mono=yes"),
    .example_docs = FC_TEXTS("Gaussian noise, as of film", "uniform noise", "the same in all channels"),
    FC_OPERATOR_PARAMS(
        FC_FLOAT_PARAM(FC_PARAM_MAIN | FC_PARAM_REQUIRED, "sigma", "The standard deviation, of either form.",
                       NULL, NULL, FC_FLOAT_BETWEEN(0, 1e30)),
        FC_ENUM_PARAM(0, "form", "How the noise is distributed.", "normal",
                      FC_CHOICES(FC_CHOICE(NORMAL, "normal", "the normal distribution"),
                                 FC_CHOICE(NORMAL, "gaussian", "the same"),
                                 FC_CHOICE(UNIFORM, "uniform", "evenly, up to 1.73 sigma"))),
        FC_BOOL_PARAM(0, "mono", "Whether all colours get the same noise: grey grain instead of coloured.",
                      "no")),
    .create = fc_create_args,
    .negotiate = negotiate,
    RANDOM_BACKENDS(prepare, state_release, scratch, NULL),
};
SINGLE_OPERATOR_PLUGIN("noise", noise_operator)
