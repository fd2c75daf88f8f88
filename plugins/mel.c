/* SPDX-License-Identifier: MIT */
/*
 * mel - mel spectra of sound, or of its spectra: the transform of filters/stft.h with the
 * filterbank of filters/mel.h, or that bank as a matrix on the bins.
 */
#include <math.h>
#include <stdlib.h>

#include "core/contract/fc_helpers.h"
#include "filters/fourier/mel.h"
#include "plugins/border.h"
#include "plugins/matrix_state.h"
#include "plugins/meaning.h"
#include "plugins/single.h"
#include "plugins/stft_state.h"

enum { BANDS = FRAMES_PARAMS, LOW, HIGH, SCALE, NORM, OUT, FROM, RATE, BORDER, VALUE, PARAMS };
enum { FROM_SOUND, FROM_SPECTRUM };

typedef struct instance {
  frames f;
  fc_mel mel; /* without the rate; high 0: half the rate */
  int out, from;
  double rate;                  /* 0: the input's */
  const fc_arg *border, *value; /* owned by the host */
} instance;

typedef struct state {
  stft_state t;
  fc_matrix m; /* from spectra */
  int from;
} state;

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  frames f;
  fc_status status = frames_read(host, args, &f);
  if (status == FC_OK) status = border_check(host, args[BORDER], args[VALUE]);
  if (status != FC_OK) return status;
  if (args[FROM]->ints[0] == FROM_SPECTRUM && args[OUT]->given)
    return host->fail(
        host, FC_INVALID,
        "out goes with from=sound: it selects what is summed of sound; of spectra, choose by stft's out");
  instance *op = malloc(sizeof *op);
  if (!op) return FC_NO_MEMORY;
  *op = (instance){.f = f, .border = args[BORDER], .value = args[VALUE]};
  op->mel = (fc_mel){.bands = args[BANDS]->ints[0],
                     .size = f.size,
                     .low = args[LOW]->floats[0],
                     .high = args[HIGH]->count ? args[HIGH]->floats[0] : 0,
                     .htk = (int)args[SCALE]->ints[0],
                     .normalised = (int)args[NORM]->ints[0]};
  op->out = (int)args[OUT]->ints[0];
  op->from = (int)args[FROM]->ints[0];
  op->rate = args[RATE]->count ? args[RATE]->floats[0] : 0;
  *self = op;
  return FC_OK;
}

static void destroy(void *self) {
  free(self);
}

/* The filterbank for an input of this format, with checked limits. */
static fc_status bank_of(const fc_host *host, const instance *op, const fc_format *in, fc_mel *mel) {
  *mel = op->mel;
  mel->rate = op->rate > 0 ? op->rate : op->from == FROM_SPECTRUM ? in->rate * (double)op->f.hop : in->rate;
  if (mel->rate <= 0) return host->fail(host, FC_INVALID, "the sample rate is not known: give rate=");
  if (mel->high <= 0) mel->high = mel->rate / 2;
  if (mel->low < mel->high && mel->high <= mel->rate / 2) return FC_OK;
  return host->fail(host, FC_INVALID,
                    "low=%g and high=%g do not lie in order between 0 and half the rate, %g Hz", mel->low,
                    mel->high, mel->rate / 2);
}

/* Bands so narrow that they contain no bin stay empty, which is remarked. */
static void remark_empty(const fc_host *host, const fc_mel *mel) {
  int64_t *first = malloc((size_t)(2 * mel->bands + 1) * sizeof *first), empty = 0;
  if (!first) return;
  fc_mel_fill(mel, first, first + mel->bands + 1, NULL);
  for (int64_t b = 0; b < mel->bands; b++) empty += first[b] == first[b + 1];
  free(first);
  if (empty)
    host->remark(host, "%lld of %lld bands have no bin: take fewer bands or a larger fft", (long long)empty,
                 (long long)mel->bands);
}

static fc_status negotiate_spectrum(const fc_host *host, const instance *op, fc_terms *terms) {
  int64_t bins = op->f.size / 2 + 1, channels = terms->in[0]->extent[FC_AXIS_C];
  fc_status status = frames_check_axes(host, terms->in[0], bins);
  if (status != FC_OK) return status;
  if (channels % bins != 0 || channels == 0)
    return host->fail(host, FC_INVALID,
                      "%lld channels are not spectra of %lld bins: frame and fft must be those of stft, and "
                      "its out one value a bin",
                      (long long)channels, (long long)bins);
  terms->out->extent[FC_AXIS_C] = channels / bins * op->mel.bands;
  terms->work = 2.0 * (double)bins;
  return FC_OK;
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  const instance *op = self;
  const fc_format *in = terms->in[0];
  fc_format *out = terms->out;
  fc_mel mel;
  fc_status status = bank_of(host, op, in, &mel);
  if (status == FC_OK && op->from == FROM_SPECTRUM) status = negotiate_spectrum(host, op, terms);
  if (status != FC_OK) return status;
  if (op->from == FROM_SOUND) {
    out->extent[FC_AXIS_X] = frames_count(&op->f, in->extent[FC_AXIS_X]);
    out->extent[FC_AXIS_C] = in->extent[FC_AXIS_C] * mel.bands;
    out->rate = in->rate / (double)op->f.hop;
    terms->needs[0]->reach[FC_AXIS_X] = frames_reach(&op->f);
    terms->work = (2.5 * log2((double)op->f.size + 1) + 10) * (double)op->f.size / (double)mel.bands;
    border_terms(op->border, op->value, terms);
  }
  meaning_keep_time(terms);
  int64_t channels = out->extent[FC_AXIS_C];
  terms->needs[0]->reach[FC_AXIS_C] = (fc_reach){FC_WHOLE, FC_WHOLE, 1, 1, channels > 0 ? channels : 1};
  remark_empty(host, &mel);
  return FC_OK;
}

/* ---- running -------------------------------------------------------------------- */

static void release(const fc_host *host, void *prepared) {
  state *s = prepared;
  if (!s) return;
  if (s->from == FROM_SPECTRUM) matrix_state_clear(host, s->t.device, &s->m);
  stft_state_clear(host, &s->t);
  free(s);
}

/* The bank without its zeros, on the host and, for a device, on the device. */
static fc_status add_bands(const fc_host *host, const fc_mel *mel, const fc_setup *setup, stft_state *t) {
  size_t size = fc_dtype_size(setup->compute), index_bytes = (size_t)(mel->bands + 1) * sizeof(int64_t);
  int64_t *first = stft_state_alloc(host, t, FC_HOST, index_bytes);
  int64_t *bin = stft_state_alloc(host, t, FC_HOST, index_bytes);
  int64_t count = first && bin ? fc_mel_fill(mel, first, bin, NULL) : 0;
  double *exact = malloc((size_t)(count + 1) * sizeof *exact);
  void *weights = stft_state_alloc(host, t, FC_HOST, (size_t)count * size);
  if (!first || !bin || !exact || !weights) {
    free(exact);
    return host->fail(host, FC_NO_MEMORY, "no memory for a filterbank of %lld bands", (long long)mel->bands);
  }
  fc_mel_fill(mel, first, bin, exact);
  for (int64_t i = 0; i < count; i++) stft_state_set(weights, setup->compute, i, exact[i]);
  free(exact);
  t->s.bands = (fc_bands){mel->bands, first, bin, weights};
  if (setup->device == FC_HOST) return FC_OK;
  t->s.device_bands = (fc_bands){mel->bands, stft_state_upload(host, t, first, index_bytes),
                                 stft_state_upload(host, t, bin, index_bytes),
                                 stft_state_upload(host, t, weights, (size_t)count * size)};
  if (t->s.device_bands.first && t->s.device_bands.bin && t->s.device_bands.weights) return FC_OK;
  return host->fail(host, FC_NO_MEMORY, "no device memory for a filterbank of %lld bands",
                    (long long)mel->bands);
}

/* The bank as a matrix, bands x bins. */
static fc_status make_matrix(const fc_host *host, const fc_mel *mel, const fc_setup *setup, fc_matrix *m) {
  int64_t bins = mel->size / 2 + 1;
  int64_t *first = malloc((size_t)(2 * mel->bands + 1) * sizeof *first);
  int64_t *bin = first ? first + mel->bands + 1 : NULL;
  double *rows = calloc((size_t)(mel->bands * bins), sizeof *rows);
  double *weights = first ? malloc((size_t)(fc_mel_fill(mel, first, bin, NULL) + 1) * sizeof *weights) : NULL;
  fc_status status = FC_NO_MEMORY;
  if (first && rows && weights) {
    fc_mel_fill(mel, first, bin, weights);
    for (int64_t b = 0; b < mel->bands; b++)
      for (int64_t i = first[b]; i < first[b + 1]; i++) rows[b * bins + bin[b] + i - first[b]] = weights[i];
    status = matrix_state_make(host, setup, FC_AXIS_C, mel->bands, bins, rows, NULL, m);
  }
  free(first), free(rows), free(weights);
  return status;
}

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {
  const instance *op = self;
  state *s = calloc(1, sizeof *s);
  if (!s) return FC_NO_MEMORY;
  fc_mel mel;
  s->from = op->from;
  s->t.device = setup->device;
  fc_status status = bank_of(host, op, setup->in[0], &mel);
  if (status == FC_OK && op->from == FROM_SPECTRUM) {
    status = make_matrix(host, &mel, setup, &s->m);
  } else if (status == FC_OK) {
    status = stft_state_make(host, setup, &op->f, 1, &s->t);
    s->t.s.components = 1;
    s->t.s.component[0] = op->out;
    if (status == FC_OK) status = add_bands(host, &mel, setup, &s->t);
  }
  if (status == FC_OK)
    *prepared = s;
  else
    release(host, s);
  return status;
}

static size_t scratch(const void *prepared, const fc_job *job) {
  const state *s = prepared;
  return s->from == FROM_SPECTRUM ? fc_matrix_scratch(&s->m) : stft_state_scratch(&s->t, job);
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  const state *s = prepared;
  if (s->from == FROM_SPECTRUM) return fc_matrix_cpu(&s->m, job->in[0], job->out, job->scratch, job->notes);
  return stft_state_process(host, &s->t, job);
}

static size_t scratch_reference(const void *prepared, const fc_job *job) {
  const state *s = prepared;
  return s->from == FROM_SPECTRUM ? 0 : stft_state_scratch_reference(&s->t, job);
}

static fc_status process_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  const state *s = prepared;
  if (s->from == FROM_SPECTRUM) return fc_matrix_ref(&s->m, job->in[0], job->out, job->notes);
  return stft_state_process_reference(host, &s->t, job);
}

#if FC_HAVE_CUDA
static size_t scratch_cuda(const void *prepared, const fc_job *job) {
  const state *s = prepared;
  return s->from == FROM_SPECTRUM ? fc_matrix_device_scratch(&s->m, job->out)
                                  : stft_state_scratch_cuda(&s->t, job);
}

static fc_status process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  const state *s = prepared;
  if (s->from == FROM_SPECTRUM)
    return fc_matrix_cuda(&s->m, job->in[0], job->out, job->scratch, job->notes, job->stream);
  return stft_state_process_cuda(host, &s->t, job);
}
#endif

/* ---- the descriptor --------------------------------------------------------------- */

static const fc_param *const params[PARAMS] = {
    FRAME_PARAMS(FC_INT_PARAM(0, "frame", "Samples that are transformed at once.", "samples", "1024",
                              FC_INT_BETWEEN(1, FRAME_LONGEST))),
    FC_INT_PARAM(FC_PARAM_MAIN, "bands", "How many bands.", NULL, "80", FC_INT_BETWEEN(1, 4096)),
    FC_FLOAT_PARAM(0, "low", "Where the lowest band begins.", "Hz", "0", FC_FLOAT_BETWEEN(0, 1e9)),
    FC_FLOAT_PARAM(0, "high", "Where the highest band ends. Half the sample rate unless given.", "Hz", NULL,
                   FC_FLOAT_BETWEEN(1e-3, 1e9)),
    FC_ENUM_PARAM(
        0, "scale", "What a mel is.", "slaney",
        FC_CHOICES(FC_CHOICE(0, "slaney", "linear below 1 kHz, logarithmic above (librosa's default)"),
                   FC_CHOICE(1, "htk", "2595 log10(1 + f / 700)"))),
    FC_ENUM_PARAM(
        0, "norm", "How high the triangles are.", "slaney",
        FC_CHOICES(FC_CHOICE(1, "slaney",
                             "each band over its width, so that white noise is even (librosa's default)"),
                   FC_CHOICE(0, "none", "triangles of height 1 (HTK, torchaudio)"))),
    FC_ENUM_PARAM(0, "out", "What is summed, and whether it becomes a level.", "power",
                  FC_CHOICES(FC_CHOICE(FC_POWER, "power", "sums of squared magnitudes"),
                             FC_CHOICE(FC_MAG, "mag", "sums of magnitudes"),
                             FC_CHOICE(FC_DB, "db", "10 log10 of the power, no lower than -100 dB"))),
    FC_ENUM_PARAM(
        0, "from", "What the input is. For spectra, frame, hop and fft say what stft was given.", "sound",
        FC_CHOICES(FC_CHOICE(FROM_SOUND, "sound", "samples"),
                   FC_CHOICE(FROM_SPECTRUM, "spectrum", "what stft makes with out=power or out=mag"))),
    FC_FLOAT_PARAM(0, "rate", "The sample rate of the sound, if the input has none or a wrong one.", "Hz",
                   NULL, FC_FLOAT_BETWEEN(1e-3, 1e9)),
    BORDER_PARAM,
    BORDER_VALUE_PARAM,
};

static const char *const examples[] = {"mel:20:frame=64:hop=16:rate=8000",
                                       "mel:bands=12:frame=100:fft=128:out=db:scale=htk:norm=none:rate=16000",
                                       "mel:bands=2:frame=6:from=spectrum:rate=8000", NULL};

static const char doc[] =
    "Mel spectra: the power of short frames of sound in bands that are equally wide on a scale of perceived "
    "pitch.\n\n"
    "The sound is cut into frames and transformed as by stft; the bins of each spectrum are summed in "
    "overlapping triangles. The bands become channels, those of the sound's first channel first; frames are "
    "hop samples apart, so that the rate becomes rate / hop.\n\n"
    "    mel:80:frame=1024:hop=256:out=db               a log-mel spectrogram\n"
    "    stft:1024:out=power mel:80:from=spectrum       the same in two steps\n"
    "    mel:40:out=db dct:axis=channel:keep=13         cepstral coefficients (MFCC)\n\n"
    "Triangles, scales and norms are those of librosa.filters.mel. Bands narrower than a bin may stay "
    "empty, which --dry-run says.";

static const fc_operator mel = {
    .size = sizeof(fc_operator),
    .name = "mel",
    .summary = "mel spectrum: power of short frames in mel bands",
    .keywords = FC_TEXTS("melspectrogram", "mel_spectrogram", "filterbank"),
    .doc = doc,
    .examples = examples,
    .example_docs = FC_TEXTS("20 mel bands", "12 bands in decibels", "from power spectra"),
    .example_commands = FC_TEXTS("-i in.wav ... -o out.npy", "-i in.wav ... -o out.npy",
                                 "-i in.wav -p stft:6:out=power ... -o out.npy"),
    .n_params = PARAMS,
    .kinds = FC_KIND_BIT(FC_AUDIO) | FC_KIND_BIT(FC_ARRAY),
    .dtypes_in = FC_DTYPES_ALL,
    .dtypes_out = FC_DTYPES_FLOAT,
    .params = params,
    .create = create,
    .destroy = destroy,
    .negotiate = negotiate,
    .backends = BACKENDS(FC_ON_CPU(prepare, release, scratch, process_cpu),
                         FC_ON_CUDA(FC_BACKEND_GRAPH, prepare, release, scratch_cuda, process_cuda)),
    .reference = FC_ON_CPU(prepare, release, scratch_reference, process_reference),
};

SINGLE_OPERATOR_PLUGIN("mel", mel)
