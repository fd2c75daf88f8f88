/* SPDX-License-Identifier: MIT */
/*
 * fir.c - the operator fir: a mask designed for the signal's sample rate (filters/conv1d/fir_design.h),
 * convolved as in conv1d; the extension FC_DESIGNED_MASK gives the mask alone.
 */
#include "filters/conv1d/fir_design.h"

#include "plugins/border.h"
#include "plugins/convolution.h"
#include "plugins/windows.h"

enum {
  LOWPASS,
  HIGHPASS,
  BANDPASS,
  BANDSTOP,
  TAPS,
  ATTEN,
  WIDTH,
  WINDOW,
  BETA,
  BORDER,
  VALUE,
  METHOD,
  N_PARAMS
};

#define TAPS_UNSAID 255
#define TAPS_MOST   (1 << 22)
#define DB_UNSAID   80

/* The instance is the argument array. */
typedef const fc_arg *const *arguments;

static int band_of(arguments args) {
  for (int i = LOWPASS; i <= BANDSTOP; i++)
    if (args[i]->given) return i;
  return -1;
}

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  int bands = 0;
  for (int i = LOWPASS; i <= BANDSTOP; i++) bands += args[i]->given != 0;
  if (bands != 1)
    return host->fail(host, FC_INVALID,
                      "give one of lowpass, highpass, bandpass and bandstop, as in fir:lowpass=3k");
  const fc_arg *edges = args[band_of(args)];
  if (band_of(args) >= BANDPASS && (edges->count != 2 || edges->floats[0] >= edges->floats[1]))
    return host->fail(host, FC_INVALID, "%s: a band has two edges, the lower first, as in 300,3400",
                      edges->text);
  if (args[WINDOW]->ints[0] != FC_WINDOW_KAISER &&
      (args[ATTEN]->given || args[WIDTH]->given || args[BETA]->given))
    return host->fail(host, FC_INVALID,
                      "atten, width and beta are of window=kaiser: give taps with another window");
  if (args[BETA]->given && (args[ATTEN]->given || args[WIDTH]->given))
    return host->fail(host, FC_INVALID, "give atten and width, or beta, which stands for them, with taps");
  if (args[TAPS]->given && args[ATTEN]->given && args[WIDTH]->given)
    return host->fail(host, FC_INVALID, "two of taps, atten and width determine the third");
  *self = (void *)(uintptr_t)args;
  return border_check(host, args[BORDER], args[VALUE]);
}

/* ---- the mask ----------------------------------------------------------------- */

/* Whether the band includes half the sample rate, which is impossible with an even number of taps. */
static int passes_half(int band) {
  return band == HIGHPASS || band == BANDSTOP;
}

/* Whether all of two taps would be 0, the ends of the window, so that they cannot be scaled to a gain of
 * 1. */
static int all_zero(const fc_fir_design *d) {
  return d->taps == 2 &&
         (d->window == FC_WINDOW_HANN || d->window == FC_WINDOW_BLACKMAN || d->window == FC_WINDOW_BARTLETT);
}

static fc_status count_taps(const fc_host *host, arguments args, double rate, fc_fir_design *d) {
  const double atten = args[ATTEN]->given ? args[ATTEN]->floats[0] : DB_UNSAID;
  const double width = args[WIDTH]->given ? args[WIDTH]->floats[0] / rate : 0;
  d->taps = args[TAPS]->given ? args[TAPS]->ints[0] : TAPS_UNSAID;
  d->beta = args[BETA]->given ? args[BETA]->floats[0] : fc_fir_kaiser_beta(atten);
  if (width > 0 && args[TAPS]->given)
    d->beta = fc_fir_kaiser_beta(fc_fir_kaiser_attenuation(d->taps, width));
  else if (width > 0)
    d->taps = fc_fir_kaiser_taps(atten, width) | 1;
  if (d->taps > TAPS_MOST)
    return host->fail(host, FC_INVALID,
                      "%lld taps are needed, and at most %d are possible: make width larger",
                      (long long)d->taps, TAPS_MOST);
  if (passes_half((int)d->band) && d->taps % 2 == 0)
    return host->fail(host, FC_INVALID,
                      "taps=%lld: a filter that passes half the sample rate has an odd number of taps",
                      (long long)d->taps);
  if (all_zero(d))
    return host->fail(host, FC_INVALID,
                      "taps=2: this window is 0 at both ends, so the mask would be 0: give more taps");
  return FC_OK;
}

static fc_status design(const fc_host *host, arguments args, double rate, fc_fir_design *d) {
  const fc_arg *edges = args[band_of(args)];
  const double last = edges->floats[edges->count - 1];
  if (rate <= 0)
    return host->fail(host, FC_INVALID, "the sample rate is not known, so frequencies cannot be used");
  if (last >= rate / 2)
    return host->fail(host, FC_INVALID, "%s=%s is not below half the sample rate, %g Hz",
                      edges == args[LOWPASS]    ? "lowpass"
                      : edges == args[HIGHPASS] ? "highpass"
                      : edges == args[BANDPASS] ? "bandpass"
                                                : "bandstop",
                      edges->text, rate / 2);
  *d = (fc_fir_design){.band = (fc_fir_band)band_of(args), .window = (fc_window)args[WINDOW]->ints[0]};
  d->low = edges->floats[0] / rate, d->high = last / rate;
  return count_taps(host, args, rate, d);
}

/* On failure nothing needs to be freed. */
static fc_status make(const fc_host *host, arguments args, double rate, convolution *c) {
  fc_fir_design d;
  fc_status status = design(host, args, rate, &d);
  if (status != FC_OK) return status;
  double *taps = malloc((size_t)d.taps * sizeof *taps);
  if (!taps) return host->fail(host, FC_NO_MEMORY, "no memory for %lld taps", (long long)d.taps);
  fc_fir_design_fill(&d, taps);
  *c = (convolution){.axis = FC_AXIS_X, .mode = SAME, .method = (int)args[METHOD]->ints[0]};
  status = convolution_init(host, c, "the mask", taps, d.taps, 1, 1, 0);
  free(taps);
  return status;
}

static fc_status hand_out(const fc_host *host, void *self, double rate, double *taps, int64_t room,
                          int64_t *count) {
  fc_fir_design d;
  const fc_status status = design(host, self, rate, &d);
  if (status != FC_OK) return status;
  *count = d.taps;
  if (room >= d.taps) fc_fir_design_fill(&d, taps);
  return FC_OK;
}

/* ---- running ------------------------------------------------------------------ */

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  arguments args = self;
  convolution c;
  fc_status status = make(host, args, terms->in[0]->rate, &c);
  if (status != FC_OK) return status;
  border_terms(args[BORDER], args[VALUE], terms);
  status = convolution_terms(host, &c, terms);
  convolution_finish(&c);
  return status;
}

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {
  convolution c;
  fc_status status = make(host, self, setup->in[0]->rate, &c);
  if (status != FC_OK) return status;
  status = convolution_prepare(host, &c, setup, prepared);
  convolution_finish(&c);
  return status;
}

static fc_status describe(const fc_host *host, void *self, const fc_setup *setup,
                          fc_device_function *function) {
  convolution c;
  fc_status status = make(host, self, setup->in[0]->rate, &c);
  if (status != FC_OK) return status;
  status = convolution_describe(&c, setup, function);
  convolution_finish(&c);
  return status;
}

static fc_status map_of(const fc_host *host, void *self, const fc_setup *setup, fc_linear_map *map) {
  convolution c;
  fc_status status = make(host, self, setup->in[0]->rate, &c);
  if (status != FC_OK) return status;
  status = convolution_map(&c, map);
  convolution_finish(&c);
  return status;
}

static fc_status join(const fc_host *host, void *self, const fc_setup *setup, const fc_linear_map *map,
                      int32_t border, double value, void **made) {
  (void)setup;
  return convolution_make(host, (int)((arguments)self)[METHOD]->ints[0], map, border, value, made);
}
CONVOLUTION_JOINED

static const void *extension(const fc_operator *op, const char *name) {
  static const fc_linear linear = {sizeof(fc_linear), 0, map_of, join, &joined_operator};
  static const fc_mask_designer designer = {sizeof(fc_mask_designer), hand_out};
  static const fc_fusible fusible = {sizeof(fc_fusible), describe, convolution_bind};
  (void)op;
  if (strcmp(name, FC_DESIGNED_MASK) == 0) return &designer;
  if (strcmp(name, FC_LINEAR) == 0) return &linear;
  return strcmp(name, FC_DEVICE_FUNCTION) == 0 ? &fusible : NULL;
}

/* ---- descriptor -------------------------------------------------------------- */

#define EDGES(name, count, doc)                                                                              \
  FC_PARAM(FC_FLOAT, FC_PARAM_LIST, count, name, doc, "Hz", NULL, FC_FLOAT_BETWEEN(1e-6, 1e9), NULL, NULL,   \
           NULL)

static const fc_param *const params[N_PARAMS] = {
    [LOWPASS] = EDGES("lowpass", 1, "Lets through what is below this frequency."),
    [HIGHPASS] = EDGES("highpass", 1, "Lets through what is above this frequency."),
    [BANDPASS] = EDGES("bandpass", 2, "Lets through what is between two frequencies."),
    [BANDSTOP] = EDGES("bandstop", 2, "Takes out what is between two frequencies."),
    [TAPS] =
        FC_INT_PARAM(0, "taps",
                     "How many taps the filter has. Unless given, as many as atten and width need (an odd "
                     "number), and 255 without width.",
                     NULL, NULL, FC_INT_BETWEEN(1, TAPS_MOST)),
    [ATTEN] =
        FC_FLOAT_PARAM(0, "atten",
                       "How far the stopband lies below the passband, which is as even as that; 80 dB unless "
                       "given, or what taps and width make it.",
                       "dB", NULL, FC_FLOAT_BETWEEN(10, 300)),
    [WIDTH] =
        FC_FLOAT_PARAM(0, "width", "How wide the transition from pass- to stopband is, around each edge.",
                       "Hz", NULL, FC_FLOAT_BETWEEN(1e-6, 1e9)),
    [WINDOW] =
        FC_ENUM_PARAM(0, "window", "What the ideal impulse response is multiplied by (symmetric window).",
                      "kaiser", WINDOW_CHOICES),
    [BETA] = FC_FLOAT_PARAM(0, "beta", "The shape of Kaiser's window, instead of atten.", NULL, NULL,
                            FC_FLOAT_BETWEEN(0, 100)),
    [BORDER] = BORDER_PARAM,
    [VALUE] = BORDER_VALUE_PARAM,
    [METHOD] = FC_ENUM_PARAM(0, "method", "How the sums are made, as of conv1d.", "auto",
                             FC_CHOICES(FC_CHOICE(AUTO, "auto", "whichever takes less time"),
                                        FC_CHOICE(DIRECT, "direct", "tap by tap"),
                                        FC_CHOICE(FFT, "fft", "by Fourier transforms"))),
};

static const fc_operator fir_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    .name = "fir",
    .summary = "low, high and band passes and band stops of linear phase",
    .keywords = FC_TEXTS("lowpass=fir:lowpass=3k", "highpass=fir:highpass=80", "bandpass=fir:bandpass=300,3k",
                         "sinc", "firwin"),
    .doc = "Designs a filter by the window method for the rate of the sound and convolves with it, as conv1d "
           "does: the phase is linear and the centre of the mask is its middle, so nothing is delayed. The "
           "mask is "
           "that of scipy.signal.firwin; the edges are where the gain is a half, -6 dB.\n\n"
           "    fir:lowpass=3k:taps=255\n"
           "    fir:bandpass=300,3400:atten=60dB:width=100\n"
           "    fir:highpass=80:window=hann:taps=4095\n\n"
           "With Kaiser's window two of taps, atten and width determine the third. filterchain design writes "
           "the "
           "mask to a "
           "file:\n\n"
           "    filterchain design -p fir:lowpass=3k:taps=255 --rate 48000 -o mask.txt",
    .examples =
        FC_TEXTS("fir:lowpass=3k:taps=31", "fir:bandpass=300,3400:atten=60dB:width=800",
                 "fir:highpass=1000:taps=63:window=hann", "fir:bandstop=2k,2.5kHz:taps=301:method=fft"),
    .example_docs = FC_TEXTS("low-pass with 31 taps", "telephone band, 60 dB beside it",
                             "high-pass, chosen window", "notch by transforms"),
    FC_SOUND_ONLY,
    .n_params = N_PARAMS,
    .params = params,
    .create = create,
    .negotiate = negotiate,
    CONVOLUTION_BACKENDS(prepare),
    .extension = extension,
};

SINGLE_OPERATOR_PLUGIN("fir", fir_operator)
