/* SPDX-License-Identifier: MIT */
/* spectrogram.c - the operator spectrogram: draws sound by frequency; the work is
 * filters/picture/spectrogram.h. */
#include <stdlib.h>

#include "filters/fourier/window.h"
#include "filters/picture/spectrogram.h"
#include "plugins/picture.h"

enum { WIDTH, HEIGHT, AXES, SCALE, LOW, HIGH, RANGE, TOP, COLORS, FFT, WINDOW, N_PARAMS };

static fc_spectrogram spectrogram_of(const fc_arg *const *args, double rate) {
  const int colors = (int)args[COLORS]->ints[0];
  fc_spectrogram s = {.panels = {.width = args[WIDTH]->ints[0],
                                 .height = args[HEIGHT]->ints[0],
                                 .axes = args[AXES]->ints[0] != 0,
                                 .bar = 1,
                                 .dark = colors != FC_COLORS_INK},
                      .rate = rate,
                      .pitch = (fc_pitch)args[SCALE]->ints[0],
                      .top = args[TOP]->floats[0],
                      .range = args[RANGE]->floats[0],
                      .colors = (fc_colors)colors};
  s.low = args[LOW]->count ? args[LOW]->floats[0] : s.pitch == FC_PITCH_LOG ? rate / 2000 : 0;
  s.high = args[HIGH]->count ? args[HIGH]->floats[0] : rate / 2;
  return s;
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  const fc_arg *const *args = self;
  const fc_format *in = terms->in[0];
  const fc_spectrogram s = spectrogram_of(args, in->rate);
  if (in->rate <= 0)
    return host->fail(host, FC_INVALID, "the sample rate is not known, so there are no frequencies to draw");
  if (!(s.low < s.high) || s.high > in->rate / 2 || (s.pitch == FC_PITCH_LOG && s.low <= 0))
    return host->fail(host, FC_INVALID,
                      "low=%g and high=%g do not lie in order between 0%s and half the rate, %g Hz", s.low,
                      s.high, s.pitch == FC_PITCH_LOG ? " (which log has not)" : "", in->rate / 2);
  const double samples = in->extent[FC_AXIS_T] > 0 ? (double)in->extent[FC_AXIS_T] : 0;
  const double area = (double)(s.panels.width * s.panels.height);
  /* the cost of all transforms of the sound, per element of the picture */
  terms->work = 20 + 60 * samples / area;
  return picture_terms(host, &s.panels, s.colors >= FC_COLORS_GRAY ? 1 : 3, terms);
}

/* ---- running ------------------------------------------------------------------ */

typedef struct state {
  fc_spectrogram work;
  fc_rfft *plan;
  float *window;
} state;

static void release(const fc_host *host, void *prepared) {
  state *s = prepared;
  if (!s) return;
  host->free(host, FC_HOST, s->plan);
  host->free(host, FC_HOST, s->window);
  free(s);
}

static fc_status fill(state *s, fc_window window, int64_t size) {
  double *exact = malloc((size_t)size * sizeof *exact);
  if (!exact) return FC_NO_MEMORY;
  fc_window_fill(window, 9, 0, size, exact);
  for (int64_t i = 0; i < size; i++) s->window[i] = (float)exact[i], s->work.window_sum += exact[i];
  free(exact);
  s->work.plan = s->plan, s->work.window = s->window;
  return fc_rfft_init(s->plan, size, FC_F32, (int)fc_isa_best());
}

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {
  const fc_arg *const *args = self;
  const int64_t size = (int64_t)1 << args[FFT]->ints[0];
  state *s = calloc(1, sizeof *s);
  if (!s) return host->fail(host, FC_NO_MEMORY, "out of memory");
  s->work = spectrogram_of(args, setup->in[0]->rate);
  s->plan = host->alloc(host, FC_HOST, fc_rfft_bytes(size, FC_F32));
  s->window = host->alloc(host, FC_HOST, (size_t)size * sizeof *s->window);
  fc_status status = s->plan && s->window ? fill(s, (fc_window)args[WINDOW]->ints[0], size) : FC_NO_MEMORY;
  if (status != FC_OK)
    release(host, s);
  else
    *prepared = s;
  return status;
}

static size_t scratch(const void *prepared, const fc_job *job) {
  (void)job;
  return fc_spectrogram_scratch(&((const state *)prepared)->work);
}

static fc_status process(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  return fc_spectrogram_cpu(&((const state *)prepared)->work, job->in[0], job->out, job->scratch);
}

/* ---- descriptor -------------------------------------------------------------- */

static const fc_param *const params[N_PARAMS] = {
    [WIDTH] = PICTURE_WIDTH_PARAM,
    [HEIGHT] = PICTURE_HEIGHT_PARAM("512"),
    [AXES] = PICTURE_AXES_PARAM,
    [SCALE] = FC_ENUM_PARAM(
        FC_PARAM_MAIN, "scale", "How frequencies go up the picture.", "linear",
        FC_CHOICES(FC_CHOICE(FC_PITCH_LINEAR, "linear", "hertz by hertz"),
                   FC_CHOICE(FC_PITCH_LOG, "log", "octave by octave"),
                   FC_CHOICE(FC_PITCH_MEL, "mel", "as pitch is heard: 2595 log10(1 + f / 700)"))),
    [LOW] = FC_FLOAT_PARAM(
        0, "low", "The lowest frequency. 0 unless given, with log a thousandth of the highest there can be.",
        "Hz", NULL, FC_FLOAT_BETWEEN(0, 1e9)),
    [HIGH] = FC_FLOAT_PARAM(0, "high", "The highest frequency. Half the sample rate unless given.", "Hz",
                            NULL, FC_FLOAT_BETWEEN(1e-3, 1e9)),
    [RANGE] = FC_FLOAT_PARAM(0, "range", "How far below the loudest level the darkest is.", "dB", "120",
                             FC_FLOAT_BETWEEN(1, 400)),
    [TOP] = FC_FLOAT_PARAM(0, "top", "The loudest level; 0 is that of a sine of full scale.", "dB", "0",
                           FC_FLOAT_BETWEEN(-300, 300)),
    [COLORS] = FC_ENUM_PARAM(0, "colors", "Colours of the levels.", "even",
                             FC_CHOICES(FC_CHOICE(FC_COLORS_EVEN, "even",
                                                  "violet, blue, green, yellow, of evenly rising lightness"),
                                        FC_CHOICE(FC_COLORS_HEAT, "heat", "black, red, yellow, white"),
                                        FC_CHOICE(FC_COLORS_GRAY, "gray", "black to white"),
                                        FC_CHOICE(FC_COLORS_INK, "ink", "white to black, for paper"),
                                        FC_CHOICE(FC_REFUSED, "viridis", "say even"))),
    [FFT] = FC_ENUM_PARAM(
        0, "fft", "Length of a spectrum: longer resolves frequency better, shorter time.", "2048",
        FC_CHOICES(FC_CHOICE(7, "128", NULL), FC_CHOICE(8, "256", NULL), FC_CHOICE(9, "512", NULL),
                   FC_CHOICE(10, "1024", NULL), FC_CHOICE(11, "2048", NULL), FC_CHOICE(12, "4096", NULL),
                   FC_CHOICE(13, "8192", NULL), FC_CHOICE(14, "16384", NULL), FC_CHOICE(15, "32768", NULL))),
    [WINDOW] = FC_ENUM_PARAM(0, "window", "What each spectrum's samples are multiplied by.", "hann",
                             FC_CHOICES(FC_CHOICE(FC_WINDOW_HANN, "hann", NULL),
                                        FC_CHOICE(FC_WINDOW_HAMMING, "hamming", NULL),
                                        FC_CHOICE(FC_WINDOW_BLACKMANHARRIS, "blackmanharris", NULL),
                                        FC_CHOICE(FC_WINDOW_KAISER, "kaiser", "with a beta of 9"),
                                        FC_CHOICE(FC_WINDOW_RECT, "rect", NULL))),
};

static const fc_operator spectrogram_operator = {
    .size = sizeof(fc_operator),
    .name = "spectrogram",
    .summary = "draw a spectrogram, with labelled axes",
    .doc =
        "Makes a picture of sound: time goes to the right, frequency upwards, and colour is the level in "
        "decibels. Each channel has a panel, one below the other.\n\n"
        "    filterchain -i in.wav -p spectrogram -o out.png\n"
        "    filterchain -i in.wav -p spectrogram:mel:colors=ink:range=90 -o paper.png\n"
        "    filterchain -i in.wav -p spectrogram:log:low=50:high=8000:axes=no -o plain.png\n\n"
        "A column shows the mean power of all spectra in its stretch of time, half of whose samples are the "
        "next one's too; a row the largest of its frequencies. A sine of full scale has 0 dB. The whole "
        "sound is read into memory.",
    .examples =
        FC_TEXTS("spectrogram:width=10:height=8:axes=no:fft=128",
                 "spectrogram:mel:width=12:height=9:axes=no:colors=ink:fft=256",
                 "spectrogram:log:width=8:height=12:axes=no:colors=heat:range=80:window=kaiser:fft=512"),
    .example_docs = FC_TEXTS("small, without axes", "mel scale, dark on light", "logarithmic, warm colours"),
    .example_commands =
        FC_TEXTS("-i in.wav ... -o out.png", "-i in.wav ... -o out.png", "-i in.wav ... -o out.png"),
    .kinds = FC_KIND_BIT(FC_AUDIO),
    .dtypes_in = FC_DTYPES_ALL,
    .dtypes_out = FC_DTYPE_BIT(FC_U8),
    .n_params = N_PARAMS,
    .params = params,
    .create = fc_create_args,
    .negotiate = negotiate,
    .backends = FC_BACKENDS(FC_ON_CPU(prepare, release, scratch, process)),
};

SINGLE_OPERATOR_PLUGIN("spectrogram", spectrogram_operator)
