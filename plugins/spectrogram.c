/* SPDX-License-Identifier: MIT */
/* spectrogram.c - the operator spectrogram: draws sound by frequency; the work is
 * filters/picture/spectrogram.h. */
#include <stdlib.h>

#include "filters/fourier/window.h"
#include "filters/picture/spectrogram.h"
#include "plugins/picture.h"

enum { WIDTH, HEIGHT, AXES, SCALE, LOW, HIGH, RANGE, TOP, COLORS, FFT, WINDOW, N_PARAMS };

typedef struct spectrogram {
  const fc_arg *const *args;
  fc_spectrogram work; /* for the rate that was negotiated */
  fc_rfft *plan;
  float *window;
  int64_t channels;           /* of the sound, likewise */
  fc_spectrogram_grid grid;   /* likewise */
  fc_spectrogram_meter meter; /* of a survey */
  void *memory;               /* the meter's, once there are blocks */
} spectrogram;

/* ---- create ----------------------------------------------------------------- */

static void reset(void *instance) {
  spectrogram *self = instance;
  free(self->memory);
  self->memory = NULL;
}

static void destroy(void *instance) {
  spectrogram *self = instance;
  if (!self) return;
  reset(self);
  free(self->plan);
  free(self->window);
  free(self);
}

static fc_status fill(spectrogram *self, fc_window window, int64_t size) {
  double *exact = malloc((size_t)size * sizeof *exact);
  if (!exact) return FC_NO_MEMORY;
  fc_window_fill(window, 9, 0, size, exact);
  for (int64_t i = 0; i < size; i++) self->window[i] = (float)exact[i], self->work.window_sum += exact[i];
  free(exact);
  self->work.plan = self->plan, self->work.window = self->window;
  return fc_rfft_init(self->plan, size, FC_F32, (int)fc_isa_best());
}

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  const int64_t size = (int64_t)1 << args[FFT]->ints[0];
  spectrogram *self = calloc(1, sizeof *self);
  if (!self) return host->fail(host, FC_NO_MEMORY, "out of memory");
  const int colors = (int)args[COLORS]->ints[0];
  self->args = args;
  self->work = (fc_spectrogram){.panels = {.width = args[WIDTH]->ints[0],
                                           .height = args[HEIGHT]->ints[0],
                                           .axes = args[AXES]->ints[0] != 0,
                                           .bar = 1,
                                           .dark = colors != FC_COLORS_INK},
                                .pitch = (fc_pitch)args[SCALE]->ints[0],
                                .top = args[TOP]->floats[0],
                                .range = args[RANGE]->floats[0],
                                .colors = (fc_colors)colors};
  self->plan = aligned_alloc(64, (fc_rfft_bytes(size, FC_F32) + 63) & ~(size_t)63);
  self->window = malloc((size_t)size * sizeof *self->window);
  const fc_status status =
      self->plan && self->window ? fill(self, (fc_window)args[WINDOW]->ints[0], size) : FC_NO_MEMORY;
  if (status != FC_OK)
    destroy(self);
  else
    *instance = self;
  return status == FC_OK ? status : host->fail(host, status, "out of memory");
}

/* ---- negotiate --------------------------------------------------------------- */

static fc_status set_rate(const fc_host *host, spectrogram *self, double rate) {
  fc_spectrogram *s = &self->work;
  const fc_arg *const *args = self->args;
  s->rate = rate;
  s->low = args[LOW]->count ? args[LOW]->floats[0] : s->pitch == FC_PITCH_LOG ? rate / 2000 : 0;
  s->high = args[HIGH]->count ? args[HIGH]->floats[0] : rate / 2;
  if (rate <= 0)
    return host->fail(host, FC_INVALID, "the sample rate is not known, so there are no frequencies to draw");
  if (s->low < s->high && s->high <= rate / 2 && (s->pitch != FC_PITCH_LOG || s->low > 0)) return FC_OK;
  return host->fail(host, FC_INVALID,
                    "low=%g and high=%g do not lie in order between 0%s and half the rate, %g Hz", s->low,
                    s->high, s->pitch == FC_PITCH_LOG ? " (which log has not)" : "", rate / 2);
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  spectrogram *self = instance;
  const fc_format *in = terms->in[0];
  const int64_t length = in->extent[FC_AXIS_T] > 0 ? in->extent[FC_AXIS_T] : 0;
  const int part = picture_part(terms), gray = self->work.colors >= FC_COLORS_GRAY;
  fc_status status = set_rate(host, self, in->rate);
  if (part != FC_PART_MAKE) self->channels = in->extent[FC_AXIS_C];
  if (status == FC_OK) status = picture_check(host, &self->work.panels, self->channels);
  if (status != FC_OK) return status;
  if (part != FC_PART_MAKE) self->grid = fc_spectrogram_grid_of(&self->work, length);
  const int64_t blocks = self->grid.columns * self->grid.blocks;
  /* About the transforms of all the sound. */
  const double work = 60. * (double)self->channels * (double)self->grid.frames * (double)self->plan->n;
  if (part == FC_PART_SURVEY) {
    terms->work = work;
    return picture_survey_terms(blocks, fc_spectrogram_halo(&self->work),
                                fc_spectrogram_block_bytes(&self->work, self->channels), terms);
  }
  terms->work = 20;
  if (part == FC_PART_ALL)
    terms->work += work * (double)blocks / (double)(self->work.panels.width * self->work.panels.height);
  return picture_terms(&self->work.panels, gray ? 1 : 3, terms);
}

/* ---- running ------------------------------------------------------------------ */

enum { TOGETHER = 16 }; /* blocks, where all is done at once */

static size_t rounded(size_t bytes) {
  return (bytes + 63) & ~(size_t)63;
}

static size_t scratch(const void *instance, const fc_job *job) {
  const spectrogram *self = instance;
  const int64_t channels = self->channels;
  size_t bytes = rounded(fc_spectrogram_scratch(&self->work));
  if (picture_part_of(job) != FC_PART_ALL) return bytes;
  const fc_spectrogram_grid grid = fc_spectrogram_grid_of(&self->work, job->in[0]->shape[FC_AXIS_T]);
  bytes += rounded(TOGETHER * fc_spectrogram_block_bytes(&self->work, channels));
  return bytes + fc_spectrogram_meter_bytes(&self->work, &grid, channels);
}

static fc_status make_all(const spectrogram *self, const fc_job *job) {
  const fc_spectrogram *s = &self->work;
  const fc_view *in = job->in[0];
  const int64_t channels = self->channels;
  const fc_spectrogram_grid grid = fc_spectrogram_grid_of(s, in->shape[FC_AXIS_T]);
  char *powers = (char *)job->scratch + rounded(fc_spectrogram_scratch(s)),
       *memory = powers + rounded(TOGETHER * fc_spectrogram_block_bytes(s, channels));
  fc_spectrogram_meter meter = fc_spectrogram_meter_of(s, &grid, channels, memory);
  for (int64_t b = 0, count, all = grid.columns * grid.blocks; b < all; b += count) {
    count = all - b < TOGETHER ? all - b : TOGETHER;
    fc_spectrogram_blocks(s, &grid, in, b, count, (double *)(void *)powers, job->scratch);
    fc_spectrogram_add(s, &meter, (const double *)(const void *)powers, count);
  }
  return fc_spectrogram_draw(s, &meter, job->out);
}

static fc_status process(const fc_host *host, const void *instance, const fc_job *job) {
  const spectrogram *self = instance;
  const int part = picture_part_of(job);
  (void)host;
  if (part == FC_PART_ALL) return make_all(self, job);
  if (part == FC_PART_MAKE) return fc_spectrogram_draw(&self->work, &self->meter, job->out);
  if (job->measure)
    fc_spectrogram_blocks(&self->work, &self->grid, job->in[0], job->out->origin[FC_AXIS_T],
                          job->out->shape[FC_AXIS_T], job->measure, job->scratch);
  return FC_OK;
}

static fc_status collect(const fc_host *host, void *instance, const void *blocks, int64_t count) {
  spectrogram *self = instance;
  if (!self->memory) {
    self->memory = malloc(fc_spectrogram_meter_bytes(&self->work, &self->grid, self->channels));
    if (!self->memory) return host->fail(host, FC_NO_MEMORY, "no memory for a picture");
    self->meter = fc_spectrogram_meter_of(&self->work, &self->grid, self->channels, self->memory);
  }
  fc_spectrogram_add(&self->work, &self->meter, blocks, count);
  return FC_OK;
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
    .flags = FC_OP_SURVEYS,
    .name = "spectrogram",
    .summary = "draw a spectrogram, with labelled axes",
    .keywords = FC_TEXTS("spectrum", "showspectrumpic", "specgram"),
    .doc =
        "Makes a picture of sound: time goes to the right, frequency upwards, and colour is the level in "
        "decibels. Each channel has a panel, one below the other.\n\n"
        "    filterchain -i in.wav -p spectrogram -o out.png\n"
        "    filterchain -i in.wav -p spectrogram:mel:colors=ink:range=90 -o paper.png\n"
        "    filterchain -i in.wav -p spectrogram:log:low=50:high=8000:axes=no -o plain.png\n\n"
        "A column shows the mean power of all spectra in its stretch of time, half of whose samples are the "
        "next one's too; a row the largest of its frequencies. A sine of full scale has 0 dB. A file is read "
        "piece by piece; sound whose length is not known, as from a pipe, is held in memory first.",
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
    .create = create,
    .destroy = destroy,
    .negotiate = negotiate,
    .backends = FC_BACKENDS(FC_ON_CPU(NULL, NULL, scratch, process)),
    .reset = reset,
    .collect = collect,
};

SINGLE_OPERATOR_PLUGIN("spectrogram", spectrogram_operator)
