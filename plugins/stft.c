/* SPDX-License-Identifier: MIT */
/*
 * stft - short-time Fourier transforms of sound; see filters/fourier/stft.h.
 */
#include <math.h>
#include <stdlib.h>

#include "core/contract/fc_helpers.h"
#include "plugins/border.h"
#include "plugins/meaning.h"
#include "plugins/single.h"
#include "plugins/stft_state.h"

enum { OUT = FRAMES_PARAMS, SCALE, BORDER, VALUE, PARAMS };
enum { SCALE_NONE, SCALE_SPECTRUM, SCALE_PSD };

typedef struct instance {
  frames f;
  const fc_arg *out, *border, *value; /* owned by the host */
  int scale;
} instance;

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  frames f;
  fc_status status = frames_read(host, args, &f);
  if (status == FC_OK) status = border_check(host, args[BORDER], args[VALUE]);
  if (status != FC_OK) return status;
  instance *op = malloc(sizeof *op);
  if (!op) return FC_NO_MEMORY;
  *op = (instance){f, args[OUT], args[BORDER], args[VALUE], (int)args[SCALE]->ints[0]};
  *self = op;
  return FC_OK;
}

static void destroy(void *self) {
  free(self);
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  const instance *op = self;
  const fc_format *in = terms->in[0];
  fc_format *out = terms->out;
  if (op->scale == SCALE_PSD && in->rate <= 0)
    return host->fail(host, FC_INVALID, "scale=psd needs a sample rate, and this input has none");
  int64_t width = op->out->count * (op->f.size / 2 + 1);
  out->extent[FC_AXIS_X] = frames_count(&op->f, in->extent[FC_AXIS_X]);
  out->extent[FC_AXIS_C] = in->extent[FC_AXIS_C] * width;
  out->rate = in->rate / (double)op->f.hop;
  if (FC_HAS(out, framed) && in->extent[FC_AXIS_X] > 0) out->framed = in->extent[FC_AXIS_X];
  meaning_keep_time(terms);
  terms->needs[0]->reach[FC_AXIS_X] = frames_reach(&op->f);
  terms->needs[0]->reach[FC_AXIS_C] =
      (fc_reach){FC_WHOLE, FC_WHOLE, 1, 1, out->extent[FC_AXIS_C] > 0 ? out->extent[FC_AXIS_C] : 1};
  terms->work = 2.5 * log2((double)op->f.size + 1) + 10;
  border_terms(op->border, op->value, terms);
  return FC_OK;
}

/* ---- running -------------------------------------------------------------------- */

/* The factor that goes into the window. */
static double scale_of(const instance *op, double rate) {
  double sum = 0, squares = 0, *w = malloc((size_t)op->f.frame * sizeof *w);
  if (!w || op->scale == SCALE_NONE) {
    free(w);
    return w ? 1 : NAN;
  }
  fc_window_fill(op->f.window, op->f.beta, 0, op->f.frame, w);
  for (int64_t i = 0; i < op->f.frame; i++) sum += w[i], squares += w[i] * w[i];
  free(w);
  return op->scale == SCALE_PSD ? 1 / sqrt(rate * squares) : 1 / sum;
}

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {
  const instance *op = self;
  double scale = scale_of(op, setup->in[0]->rate);
  stft_state *t = calloc(1, sizeof *t);
  if (!t || isnan(scale)) {
    free(t);
    return FC_NO_MEMORY;
  }
  fc_status status = stft_state_make(host, setup, &op->f, scale, t);
  t->s.components = (int32_t)op->out->count;
  for (int i = 0; i < t->s.components; i++) t->s.component[i] = (int32_t)op->out->ints[i];
  if (status == FC_OK)
    *prepared = t;
  else
    stft_state_release(host, t);
  return status;
}

/* ---- the descriptor --------------------------------------------------------------- */

static const fc_param *const params[PARAMS] = {
    FRAME_PARAMS(FC_INT_PARAM(FC_PARAM_MAIN, "frame", "Samples that are transformed at once.", "samples",
                              "1024", FC_INT_BETWEEN(1, FRAME_LONGEST))),
    FC_PARAM(FC_ENUM, FC_PARAM_LIST, FC_COMPONENTS, "out",
             "What is made of each complex value, one or several. istft takes re,im.", NULL, "re,im", NULL,
             FC_CHOICES(FC_CHOICE(FC_RE, "re", "the real part"), FC_CHOICE(FC_IM, "im", "the imaginary part"),
                        FC_CHOICE(FC_MAG, "mag", "the magnitude"),
                        FC_CHOICE(FC_POWER, "power", "the squared magnitude"),
                        FC_CHOICE(FC_DB, "db", "the level, 10 log10 of the power, no lower than -100 dB")),
             NULL, NULL),
    FC_ENUM_PARAM(
        0, "scale", "What the spectrum is divided by. istft needs no such parameter.", "none",
        FC_CHOICES(
            FC_CHOICE(SCALE_NONE, "none", "the plain sums (librosa, PyTorch)"),
            FC_CHOICE(SCALE_SPECTRUM, "spectrum",
                      "over the sum of the window: a full-scale tone has magnitude 0.5 (SciPy's default)"),
            FC_CHOICE(SCALE_PSD, "psd",
                      "over the root of the rate times the sum of squares: power a hertz (SciPy's psd)"))),
    BORDER_PARAM,
    BORDER_VALUE_PARAM,
};

static const char *const examples[] = {"stft:64:hop=16:out=mag",
                                       "stft:frame=100:fft=128:window=kaiser:out=db,re",
                                       "stft:32:center=no:scale=spectrum", NULL};

static const char doc[] =
    "Cuts a sound into frames that overlap, multiplies each by a window and takes its Fourier transform.\n\n"
    "The frames follow each other in time where the samples did, hop samples apart, so that the rate "
    "becomes rate / hop. The spectrum of a frame stands where the channels did: for each channel of the "
    "sound, one after another, the values that out names, each of the fft/2 + 1 bins from 0 Hz to half the "
    "rate. A stereo sound with fft=1024:out=re,im so becomes 2 x 2 x 513 channels: left re, left im, right "
    "re, right im. An .npy file takes them as an array of frames x channels; istft says how it is read "
    "again.\n\n"
    "    stft:1024:hop=256:out=db        a spectrogram\n"
    "    stft:1024 ... istft:1024        forward and back, to rounding\n\n"
    "Frames are centred on multiples of hop (center=yes) and there are 1 + ceil(length / hop), as with "
    "scipy.signal.stft; librosa and PyTorch, which centre alike, leave out the last one unless length is a "
    "multiple of hop. What is beyond the ends is zero, as it is there; border=reflect101 is their "
    "'reflect'. With center=no frame f begins at sample f * hop, and the last is filled up.\n\n"
    "The window is the periodic one. Values are X[k] = sum w[i] x[i] exp(-2 pi i k / fft) with i counted "
    "from the frame's first sample, times what scale says.";

static const fc_operator stft = {
    .size = sizeof(fc_operator),
    .name = "stft",
    .summary = "short-time Fourier transform: spectra of overlapping frames",
    .doc = doc,
    .examples = examples,
    .example_docs = FC_TEXTS("magnitudes of frames", "decibels and real part", "scaled as a spectrum"),
    .example_commands =
        FC_TEXTS("-i in.wav ... -o out.npy", "-i in.wav ... -o out.npy", "-i in.wav ... -o out.npy"),
    .n_params = PARAMS,
    .kinds = FC_KIND_BIT(FC_AUDIO) | FC_KIND_BIT(FC_ARRAY),
    .dtypes_in = FC_DTYPES_ALL,
    .dtypes_out = FC_DTYPES_FLOAT,
    .params = params,
    .create = create,
    .destroy = destroy,
    .negotiate = negotiate,
    .backends = BACKENDS(FC_ON_CPU(prepare, stft_state_release, stft_state_scratch, stft_state_process),
                         FC_ON_CUDA(FC_BACKEND_GRAPH, prepare, stft_state_release, stft_state_scratch_cuda,
                                    stft_state_process_cuda)),
    .reference =
        FC_ON_CPU(prepare, stft_state_release, stft_state_scratch_reference, stft_state_process_reference),
};

SINGLE_OPERATOR_PLUGIN("stft", stft)
