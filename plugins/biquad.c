/* SPDX-License-Identifier: MIT */
/*
 * biquad.c - the operator biquad: recursive second-order filters; the work is filters/recursive/biquad.h.
 */
#include "plugins/biquad_state.h"
#include "plugins/decibels.h"
#include "plugins/single.h"

enum { TYPE, FREQ, Q, GAIN, SECTIONS, COEFFICIENTS, N_PARAMS };

/* The instance is the argument array. */
typedef const fc_arg *const *arguments;

static int is_pass(int type) {
  return type == FC_BIQUAD_LOWPASS || type == FC_BIQUAD_HIGHPASS;
}

static int takes_gain(int type) {
  return type == FC_BIQUAD_PEAK || type == FC_BIQUAD_LOWSHELF || type == FC_BIQUAD_HIGHSHELF;
}

static int sections_of(arguments args) {
  return args[COEFFICIENTS]->count ? (int)args[COEFFICIENTS]->table->rows : (int)args[SECTIONS]->ints[0];
}

/* ---- create ----------------------------------------------------------------- */

static fc_biquad_section row_of(const fc_table *table, int64_t i) {
  const double *c = table->data + 6 * i;
  return (fc_biquad_section){c[0] / c[3], c[1] / c[3], c[2] / c[3], c[4] / c[3], c[5] / c[3]};
}

static fc_status check_coefficients(const fc_host *host, arguments args) {
  const fc_table *table = args[COEFFICIENTS]->table;
  for (int i = 0; i < COEFFICIENTS; i++)
    if (args[i]->given) return host->fail(host, FC_INVALID, "give type and freq, or coefficients, not both");
  if (table->cols != 6 || table->rows < 1 || table->rows > FC_BIQUAD_MOST)
    return host->fail(host, FC_INVALID,
                      "%s: 1 to %d rows of six numbers are wanted, b0 b1 b2 a0 a1 a2, not %lld of %lld",
                      table->name, FC_BIQUAD_MOST, (long long)table->rows, (long long)table->cols);
  for (int64_t i = 0; i < table->rows; i++) {
    if (table->data[6 * i + 3] == 0) return host->fail(host, FC_INVALID, "%s: a0 is 0", table->name);
    fc_biquad_section s = row_of(table, i);
    if (!fc_biquad_is_stable(&s))
      return host->fail(host, FC_INVALID,
                        "%s: the section of row %lld is unstable: it has a pole outside the "
                        "unit circle",
                        table->name, (long long)i + 1);
  }
  return FC_OK;
}

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  *self = (void *)(uintptr_t)args;
  if (args[COEFFICIENTS]->count) return check_coefficients(host, args);
  if (!args[TYPE]->count || !args[FREQ]->count)
    return host->fail(host, FC_INVALID,
                      "give type and freq, as in biquad:lowpass:freq=1000, or coefficients");
  if (args[GAIN]->given && !takes_gain((int)args[TYPE]->ints[0]))
    return host->fail(host, FC_INVALID, "gain goes with peak, lowshelf and highshelf, not with %s",
                      args[TYPE]->text);
  decibels_hint(host, "biquad: gain", args[GAIN]);
  return FC_OK;
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  arguments args = self;
  const fc_format *in = terms->in[0];
  if (!args[COEFFICIENTS]->count) {
    if (in->rate <= 0)
      return host->fail(host, FC_INVALID,
                        "the sample rate is not known, so freq cannot be used: give coefficients");
    if (args[FREQ]->floats[0] >= in->rate / 2)
      return host->fail(host, FC_INVALID, "freq=%s is not below half the sample rate, %g Hz",
                        args[FREQ]->text, in->rate / 2);
  }
  biquad_state_terms(terms, sections_of(args));
  return FC_OK;
}

/* ---- running ------------------------------------------------------------------ */

static fc_status design(const fc_host *host, void *self, double rate, fc_section *sections, uint32_t room,
                        uint32_t *count) {
  arguments args = self;
  const int n = sections_of(args), type = args[TYPE]->count ? (int)args[TYPE]->ints[0] : 0;
  (void)host;
  *count = (uint32_t)n;
  for (int i = 0; i < n && *count <= room; i++) {
    if (args[COEFFICIENTS]->count) {
      sections[i] = biquad_section_of(row_of(args[COEFFICIENTS]->table, i));
      continue;
    }
    double q = args[Q]->count ? args[Q]->floats[0]
                              : fc_biquad_butterworth(is_pass(type) ? i : 0, is_pass(type) ? n : 1);
    sections[i] = biquad_section_of(
        fc_biquad_design((fc_biquad_form)type, args[FREQ]->floats[0] / rate, q, args[GAIN]->floats[0]));
  }
  return FC_OK;
}

BIQUAD_PREPARE(design)

/* ---- descriptor -------------------------------------------------------------- */

static const fc_param *const params[N_PARAMS] = {
    [TYPE] = FC_ENUM_PARAM(
        FC_PARAM_MAIN, "type", "What the filter does.", NULL,
        FC_CHOICES(FC_CHOICE(FC_BIQUAD_LOWPASS, "lowpass", "lets through what is below freq"),
                   FC_CHOICE(FC_BIQUAD_HIGHPASS, "highpass", "lets through what is above freq"),
                   FC_CHOICE(FC_BIQUAD_BAND, "band", "lets through a band around freq, 0 dB at its centre"),
                   FC_CHOICE(FC_BIQUAD_BAND, "bandpass", "the same as band"),
                   FC_CHOICE(FC_BIQUAD_NOTCH, "notch", "takes out freq"),
                   FC_CHOICE(FC_BIQUAD_PEAK, "peak", "raises or lowers what is around freq by gain"),
                   FC_CHOICE(FC_BIQUAD_LOWSHELF, "lowshelf", "raises or lowers what is below freq by gain"),
                   FC_CHOICE(FC_BIQUAD_HIGHSHELF, "highshelf", "raises or lowers what is above freq by gain"),
                   FC_CHOICE(FC_REFUSED, "bandstop", "say notch"),
                   FC_CHOICE(FC_REFUSED, "bell", "say peak"))),
    [FREQ] = FC_FLOAT_PARAM(0, "freq",
                            "The cutoff of a pass filter (-3 dB with Butterworth's q), the centre of a band, "
                            "notch or peak, the middle of a shelf's slope.",
                            "Hz", NULL, FC_FLOAT_BETWEEN(1e-6, 1e9)),
    [Q] =
        FC_FLOAT_PARAM(0, "q",
                       "The quality factor: centre over width of a band, notch or peak; resonance of a pass "
                       "or shelf. By default that of a Butterworth filter: 0.7071 for a single section.",
                       NULL, NULL, FC_FLOAT_BETWEEN(1e-3, 1e4)),
    [GAIN] = FC_FLOAT_PARAM(FC_PARAM_DECIBEL, "gain", "Of a peak or a shelf: a factor, or decibels (-6dB).",
                            NULL, "1", FC_FLOAT_BETWEEN(1e-6, 1e6)),
    [SECTIONS] =
        FC_INT_PARAM(0, "sections",
                     "How many second-order sections follow each other. Those of a pass without q make a "
                     "Butterworth filter of twice that order, 12 dB an octave each; the others are the same "
                     "section several times.",
                     NULL, "1", FC_INT_BETWEEN(1, FC_BIQUAD_MOST)),
    [COEFFICIENTS] = FC_PARAM(FC_TABLE, 0, 0, "coefficients",
                              "Your own sections instead of type and freq: a row of b0, b1, b2, a0, a1, a2 "
                              "each, as in SciPy's sos.",
                              NULL, NULL, NULL, NULL, FC_TEXTS("sos"), NULL),
};

static const fc_operator biquad_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    .name = "biquad",
    .summary = "recursive second-order filters: passes, bands, peaks, shelves",
    .keywords = FC_TEXTS("allpass_filter", "bass=biquad:lowshelf:freq=100:gain=6dB",
                         "treble=biquad:highshelf:freq=3k:gain=6dB", "iir", "hum=biquad:notch:freq=50:q=30"),
    .doc =
        "Filters sound by sections of second order with feedback, each channel by itself: "
        "a0 y[n] = b0 x[n] + b1 x[n-1] + b2 x[n-2] - a1 y[n-1] - a2 y[n-2].\n\n"
        "The coefficients are those of R. Bristow-Johnson's Audio EQ Cookbook. A few sections do what takes "
        "a mask "
        "of thousands of taps for conv1d, at the price of a phase that is not linear.\n\n"
        "    biquad:highpass:freq=80:sections=2         against rumble, 24 dB an octave\n"
        "    biquad:peak:freq=3000:q=1.4:gain=-4dB\n"
        "    biquad:coefficients=sos.txt                designed by scipy.signal\n\n"
        "State and sums are in double precision whatever the samples are, and go on from chunk to chunk: the "
        "result does not depend on how the sound is cut. Before the sound there is silence. After a NaN or "
        "infinity in the input no output is finite. Sections with a pole outside the unit circle are "
        "refused.",
    .examples =
        FC_TEXTS("biquad:lowpass:freq=1000", "biquad:highpass:freq=80:sections=2",
                 "biquad:peak:freq=3000:q=1.4:gain=-4dB", "biquad:coefficients=[0.2,0.4,0.2,1,-0.5,0.3]"),
    .example_docs = FC_TEXTS("low-pass at 1 kHz", "steeper high-pass, no rumble", "4 dB less around 3 kHz",
                             "a section by its coefficients"),
    FC_SOUND_ONLY,
    .n_params = N_PARAMS,
    .params = params,
    .create = create,
    .negotiate = negotiate,
    BIQUAD_BACKENDS,
};

SINGLE_OPERATOR_PLUGIN("biquad", biquad_operator)
