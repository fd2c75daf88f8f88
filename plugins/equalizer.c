/* SPDX-License-Identifier: MIT */
/*
 * equalizer.c - the operator equalizer: raises or lowers bands, all in one pass; the work is
 * filters/recursive/biquad.h, one section per band.
 */
#include "plugins/biquad_state.h"
#include "plugins/decibels.h"
#include "plugins/single.h"

enum { FREQ, GAIN, Q, ENDS, N_PARAMS };
enum { ENDS_PEAK, ENDS_SHELF };

/* The instance is the argument array. */
typedef const fc_arg *const *arguments;

/* From a list with one value for all bands, or one for each. */
static double value_of(const fc_arg *list, int band) {
  return list->floats[list->count == 1 ? 0 : band];
}

static fc_status check_list(const fc_host *host, arguments args, int which) {
  const long long bands = (long long)args[FREQ]->count, values = (long long)args[which]->count;
  if (values == 1 || values == bands) return FC_OK;
  return host->fail(host, FC_INVALID, "%s has %lld values for %lld bands: give one, or one for each band",
                    which == GAIN ? "gain" : "q", values, bands);
}

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  *self = (void *)(uintptr_t)args;
  if (args[ENDS]->ints[0] == ENDS_SHELF && args[FREQ]->count < 2)
    return host->fail(host, FC_INVALID, "ends=shelf makes shelves of the first band and the last: give two");
  for (int64_t i = 1; args[ENDS]->ints[0] == ENDS_SHELF && i < args[FREQ]->count; i++)
    if (args[FREQ]->floats[i] <= args[FREQ]->floats[i - 1])
      return host->fail(host, FC_INVALID, "freq=%s: with ends=shelf the bands go from low to high",
                        args[FREQ]->text);
  decibels_hint(host, "equalizer: gain", args[GAIN]);
  fc_status status = check_list(host, args, GAIN);
  return status == FC_OK ? check_list(host, args, Q) : status;
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  arguments args = self;
  const int bands = (int)args[FREQ]->count;
  const double rate = terms->in[0]->rate, highest = args[FREQ]->floats[bands - 1];
  if (rate <= 0) return host->fail(host, FC_INVALID, "the sample rate is not known, so freq cannot be used");
  if (highest >= rate / 2)
    return host->fail(host, FC_INVALID, "freq=%g is not below half the sample rate, %g Hz", highest,
                      rate / 2);
  biquad_state_terms(terms, bands);
  return FC_OK;
}

static fc_status design(const fc_host *host, void *self, double rate, fc_section *sections, uint32_t room,
                        uint32_t *count) {
  arguments args = self;
  const int bands = (int)args[FREQ]->count, shelves = args[ENDS]->ints[0] == ENDS_SHELF;
  (void)host;
  *count = (uint32_t)bands;
  for (int i = 0; i < bands && *count <= room; i++) {
    const fc_biquad_form form = !shelves         ? FC_BIQUAD_PEAK
                                : i == 0         ? FC_BIQUAD_LOWSHELF
                                : i == bands - 1 ? FC_BIQUAD_HIGHSHELF
                                                 : FC_BIQUAD_PEAK;
    sections[i] = biquad_section_of(
        fc_biquad_design(form, args[FREQ]->floats[i] / rate, value_of(args[Q], i), value_of(args[GAIN], i)));
  }
  return FC_OK;
}

BIQUAD_PREPARE(design)

/* ---- descriptor -------------------------------------------------------------- */

static const fc_param *const params[N_PARAMS] = {
    [FREQ] = FC_PARAM(FC_FLOAT, FC_PARAM_MAIN | FC_PARAM_REQUIRED | FC_PARAM_LIST, FC_BIQUAD_MOST, "freq",
                      "The centre of each band; from low to high where the ends are shelves.", "Hz", NULL,
                      FC_FLOAT_BETWEEN(1e-6, 1e9), NULL, NULL, NULL),
    [GAIN] = FC_PARAM(FC_FLOAT, FC_PARAM_REQUIRED | FC_PARAM_LIST | FC_PARAM_DECIBEL, FC_BIQUAD_MOST, "gain",
                      "How much each band is raised or lowered: decibels (-6dB), or factors.", NULL, NULL,
                      FC_FLOAT_BETWEEN(1e-6, 1e6), NULL, NULL, NULL),
    [Q] =
        FC_PARAM(FC_FLOAT, FC_PARAM_LIST, FC_BIQUAD_MOST, "q",
                 "How narrow each band is, centre over width; of all, or of each. 0.7 is about two octaves, "
                 "1.4 one octave, 4.3 a third.",
                 NULL, "1.4142135623730951", FC_FLOAT_BETWEEN(1e-3, 1e4), NULL, NULL, NULL),
    [ENDS] = FC_ENUM_PARAM(
        0, "ends", "What the first and the last band are.", "peak",
        FC_CHOICES(FC_CHOICE(ENDS_PEAK, "peak", "bands as the others"),
                   FC_CHOICE(ENDS_SHELF, "shelf",
                             "a low shelf and a high shelf, with the middle of their slopes at freq"))),
};

static const fc_operator equalizer_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    .name = "equalizer",
    .summary = "raise and lower bands of frequencies, any number in one pass",
    .keywords = FC_TEXTS("equaliser", "eq", "superequalizer"),
    .doc =
        "Raises or lowers bands of sound around the frequencies given, each channel by itself. The lists go "
        "together: the first gain and q are those of the first frequency, and so on; one value is for "
        "all.\n\n"
        "    equalizer:100,1000,8000:gain=+3dB,-2dB,+1dB\n"
        "    equalizer:80,400,2500,10000:gain=4dB,-3dB,2dB,3dB:q=0.7,1,2,0.7:ends=shelf\n\n"
        "Each band is a peaking filter of R. Bristow-Johnson's Audio EQ Cookbook, or at the ends a shelf, as "
        "biquad:peak and biquad:lowshelf make them; their gains in decibels add up where bands overlap. "
        "State "
        "and sums are in double precision, and go on from chunk to chunk. Before the sound there is silence.",
    .examples = FC_TEXTS("equalizer:100,1000:gain=3dB,-2dB", "equalizer:freq=500:gain=-6dB:q=0.7",
                         "equalizer:80,400,1200,3000:gain=4dB,-3dB,2dB,3dB:q=0.7,1,2,0.7:ends=shelf"),
    .example_docs = FC_TEXTS("more bass, less middle", "half around 500 Hz", "four bands, shelves outside"),
    FC_SOUND_ONLY,
    .n_params = N_PARAMS,
    .params = params,
    .create = create,
    .negotiate = negotiate,
    BIQUAD_BACKENDS,
};

SINGLE_OPERATOR_PLUGIN("equalizer", equalizer_operator)
