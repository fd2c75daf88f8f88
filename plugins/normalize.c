/* SPDX-License-Identifier: MIT */
/*
 * normalize.c - the operator normalize: images as networks expect them, (v / white - mean) / std, with one
 * fused multiply-add per sample, by filters/pointwise/pointwise.h. Sound to a loudness or a peak: loudnorm.h.
 */
#include "plugins/loudnorm.h"
#include "plugins/meaning.h"
#include "plugins/white.h"

enum { PRESET, MEAN, STD, WHITE, LOUDNESS, PEAK, TRUE_PEAK, N_PARAMS };
enum { NONE, IMAGENET, CLIP, SIGNED };

typedef struct normalize {
  loudnorm sound; /* must be first, see loudnorm.h */
  const fc_arg *white;
  const double *mean, *std;
  int64_t n_mean, n_std;
} normalize;

/* ---- create ------------------------------------------------------------------ */

static const struct {
  int64_t count;
  double mean[3], std[3];
} presets[] = {
    [NONE] = {1, {0}, {1}},
    [IMAGENET] = {3, {0.485, 0.456, 0.406}, {0.229, 0.224, 0.225}},
    [CLIP] = {3, {0.48145466, 0.4578275, 0.40821073}, {0.26862954, 0.26130258, 0.27577711}},
    [SIGNED] = {1, {0.5}, {0.5}},
};

static fc_status check_std(const fc_host *host, const fc_arg *std) {
  for (int64_t i = 0; i < std->count; i++)
    if (!(std->floats[i] > 0))
      return host->fail(host, FC_INVALID, "std=%s: a standard deviation must be above 0", std->text);
  return FC_OK;
}

/* Parameters for images and for sound are not mixed. */
static fc_status check_subject(const fc_host *host, const fc_arg *const *args) {
  const int picture = args[PRESET]->given || args[MEAN]->given || args[STD]->given || args[WHITE]->given;
  const int sound = args[LOUDNESS]->count > 0 || args[PEAK]->count > 0;
  if (picture && sound)
    return host->fail(
        host, FC_INVALID,
        "loudness and peak are of sound, preset, mean, std and white of images: give one or the "
        "other");
  if (args[TRUE_PEAK]->given && !sound)
    return host->fail(host, FC_INVALID, "true_peak says which peak is meant: give peak, or loudness, too");
  return FC_OK;
}

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  const int preset = (int)args[PRESET]->ints[0];
  if (args[PRESET]->given && (args[MEAN]->given || args[STD]->given))
    return host->fail(host, FC_INVALID, "%s sets mean and std: give either the preset or these",
                      args[PRESET]->text);
  fc_status status = check_std(host, args[STD]);
  if (status == FC_OK) status = check_subject(host, args);
  if (status == FC_OK) status = state_new(host, sizeof(normalize), instance);
  if (status != FC_OK) return status;
  normalize *self = *instance;
  self->white = args[WHITE];
  loudnorm_init(&self->sound, "normalize", args[LOUDNESS], args[PEAK], args[TRUE_PEAK]);
  self->mean = presets[preset].mean, self->std = presets[preset].std;
  self->n_mean = self->n_std = presets[preset].count;
  if (args[MEAN]->given) self->mean = args[MEAN]->floats, self->n_mean = args[MEAN]->count;
  if (args[STD]->given) self->std = args[STD]->floats, self->n_std = args[STD]->count;
  return FC_OK;
}

/* ---- negotiate --------------------------------------------------------------- */

static fc_status check_count(const fc_host *host, const char *name, int64_t count, int64_t channels) {
  if (count == 1 || count == channels) return FC_OK;
  return host->fail(
      host, FC_INVALID,
      "%s has %lld numbers for %lld channel%s: give one, or one for each channel (mix:0,1,2 drops an "
      "alpha channel, mix:0,0,0 makes RGB of grey)",
      name, (long long)count, (long long)channels, channels == 1 ? "" : "s");
}

static fc_status negotiate_sound(const fc_host *host, normalize *self, fc_terms *terms) {
  if (!loudnorm_asked(&self->sound))
    return host->fail(host, FC_INVALID,
                      "of sound give peak, as in normalize:peak=-1dBFS, or loudness, as in "
                      "normalize:loudness=-23LUFS");
  terms->out->channels = terms->in[0]->channels;
  meaning_keep_time(terms);
  return loudnorm_terms(host, &self->sound, terms);
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  normalize *self = instance;
  if (terms->in[0]->kind == FC_AUDIO) return negotiate_sound(host, self, terms);
  if (loudnorm_asked(&self->sound))
    return host->fail(host, FC_INVALID,
                      "loudness and peak are of sound: an image has mean, std, or a preset");
  fc_format *out = terms->out;
  const int64_t channels = terms->in[0]->extent[FC_AXIS_C];
  fc_status status = check_count(host, "mean", self->n_mean, channels);
  if (status == FC_OK) status = check_count(host, "std", self->n_std, channels);
  if (!fc_dtype_is_float(out->dtype)) out->dtype = terms->compute;
  out->stored = 1 + out->dtype;
  out->bits = out->dtype == FC_F64 ? 53 : 24;
  out->white = 0;
  meaning_keep_time(terms);
  terms->work = 2;
  return status;
}

/* ---- running ----------------------------------------------------------------- */

/* v / white / std - mean / std. */
fc_pointwise pointwise_of(const void *instance, const fc_setup *setup, pointwise_numbers *numbers) {
  const normalize *self = instance;
  if (loudnorm_asked(&self->sound)) return loudnorm_pointwise(&self->sound, setup);
  double *pairs = numbers->room;
  const double white = white_of(self->white, setup->in[0]);
  const int64_t n = self->n_mean > self->n_std ? self->n_mean : self->n_std;
  numbers->all = 1; /* networks treat alpha as another channel */
  for (int64_t c = 0; c < n; c++) {
    const double mean = self->mean[self->n_mean > 1 ? c : 0], std = self->std[self->n_std > 1 ? c : 0];
    pairs[2 * c] = 1 / (white * std), pairs[2 * c + 1] = -mean / std;
  }
  if (n > 1) numbers->factors = pairs, numbers->count = n;
  return (fc_pointwise){
      .form = FC_POINTWISE_AFFINE, .compute = setup->compute, .factor = pairs[0], .to = pairs[1]};
}

/* ---- descriptor -------------------------------------------------------------- */

static const fc_param *const params[N_PARAMS] = {
    [PRESET] = FC_ENUM_PARAM(
        FC_PARAM_MAIN, "preset", "Means and standard deviations that networks were trained with.", "none",
        FC_CHOICES(FC_CHOICE(NONE, "none", "mean 0, std 1: white becomes 1, as torchvision's ToTensor"),
                   FC_CHOICE(IMAGENET, "imagenet", "mean 0.485,0.456,0.406, std 0.229,0.224,0.225 of RGB"),
                   FC_CHOICE(CLIP, "clip",
                             "mean 0.48145466,0.4578275,0.40821073, std 0.26862954,0.26130258,0.27577711"),
                   FC_CHOICE(SIGNED, "signed", "mean 0.5, std 0.5: black becomes -1 and white 1"))),
    [MEAN] =
        FC_PARAM(FC_FLOAT, FC_PARAM_LIST, POINTWISE_CHANNELS, "mean",
                 "What is subtracted when white is 1: one number, or one a channel, separated by commas.",
                 NULL, "0", NULL, NULL, NULL, NULL),
    [STD] = FC_PARAM(
        FC_FLOAT, FC_PARAM_LIST, POINTWISE_CHANNELS, "std",
        "The divisor, after mean was subtracted: one number, or one for each channel, separated by commas.",
        NULL, "1", NULL, NULL, NULL, NULL),
    [WHITE] = WHITE_PARAM,
    [LOUDNESS] = LOUDNORM_LOUDNESS_PARAM(0),
    [PEAK] = LOUDNORM_PEAK_PARAM,
    [TRUE_PEAK] = LOUDNORM_TRUE_PEAK_PARAM,
};

static const fc_operator normalize_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_TWO_PASSES,
    .name = "normalize",
    .summary = "bring images to a mean and deviation, sound to a loudness or a peak",
    .keywords = FC_TEXTS("normalise", "norm", "standardize", "standardise"),
    .doc =
        "Of images it makes floats: (v / white - mean) / std, channel by channel, as torchvision's ToTensor "
        "and Normalize do. 8-bit codes are so divided by 255 and 16-bit codes by 65535 first; also where "
        "an operator before this one has made floats of them (resize, gauss), since the signal carries its "
        "white level. Floats from a file are taken as they are, unless white says otherwise.\n\n"
        "    normalize:imagenet\n"
        "    normalize:mean=0.5:std=0.25\n\n"
        "The result is stored as 32-bit floats (64-bit with --precision f64), so the output is best a "
        ".npy. Each sample is one multiplication and addition, rounded once: 1 / (white * std) and "
        "-mean / std are rounded beforehand.\n\n"
        "Sound it multiplies by one factor, so that its integrated loudness after EBU R 128 or its highest "
        "peak becomes what is asked for. The factor follows from all of the sound: the input is read "
        "twice, and must be a file, not a pipe. Its memory does not grow with the length.\n\n"
        "    normalize:peak=-1dBFS\n"
        "    normalize:loudness=-23LUFS                          as EBU R 128 wants broadcasts\n"
        "    normalize:loudness=-16:peak=-1dBFS:true_peak=yes    with less gain where peaks would exceed "
        "it\n\n"
        "Dynamics stay as they are: nothing is compressed. Channels keep their balance. Measurements and the "
        "gain are printed at the end. Silence stays as it is, with a warning. The loudness operator "
        "says how loudness and true peak are measured.",
    .examples = FC_TEXTS("normalize:imagenet", "normalize:mean=0.4:std=0.2", "normalize:white=1000",
                         "normalize:peak=-1dBFS", "normalize:loudness=-23LUFS",
                         "normalize:loudness=-16:peak=-1dB:true_peak=yes"),
    .example_docs = FC_TEXTS("as networks expect", "given mean and deviation", "where white is 1000",
                             "peak at -1 dB", "to broadcast loudness", "louder, true peak kept"),
    .example_commands = FC_TEXTS("-i in.png ... -o out.npy", "-i in.png ... -o out.npy",
                                 "-i in.png ... -o out.npy", "", "", ""),
    .kinds = FC_KIND_BIT(FC_AUDIO) | FC_KIND_BIT(FC_IMAGE) | FC_KIND_BIT(FC_ARRAY),
    .dtypes_in = FC_DTYPES_ALL,
    .dtypes_out = FC_DTYPES_ALL,
    .n_params = N_PARAMS,
    .params = params,
    .create = create,
    .negotiate = negotiate,
    LOUDNORM_BACKENDS,
};

SINGLE_OPERATOR_PLUGIN("normalize", normalize_operator)
