/* SPDX-License-Identifier: MIT */
/*
 * mixin.c - the operator mixin: adds a second signal to the first; the work is filters/pointwise/add.h.
 *
 * After the end of the second signal its border follows: zeros, or the signal again.
 */
#include "filters/pointwise/add.h"
#include "plugins/single.h"

enum { OTHER, GAIN, END, N_PARAMS };
enum { END_SILENCE, END_LOOP };

/* The instance is the argument array. */
typedef const fc_arg *const *arguments;

static const char *kind_name(int kind) {
  static const char *const names[FC_KIND_COUNT] = {"a sound", "an image", "an array"};
  return names[kind];
}

static fc_status check_kinds(const fc_host *host, const fc_format *in, const fc_format *other,
                             const char *file) {
  if (in->kind != other->kind)
    return host->fail(host, FC_INVALID, "%s: %s cannot be added to %s", file, kind_name(other->kind),
                      kind_name(in->kind));
  if (in->kind == FC_AUDIO && in->rate > 0 && other->rate > 0 && in->rate != other->rate)
    return host->fail(host, FC_INVALID, "%s: %g Hz cannot be added to %g Hz; resample one of them", file,
                      other->rate, in->rate);
  const int64_t channels = other->extent[FC_AXIS_C];
  if (channels != 1 && channels != in->extent[FC_AXIS_C])
    return host->fail(host, FC_INVALID, "%s: %lld channels cannot be added to %lld; it may have 1 or as many",
                      file, (long long)channels, (long long)in->extent[FC_AXIS_C]);
  return FC_OK;
}

/* Sound may be shorter or longer than the first signal; frames and pixels must match in number, or there
 * is one for all. */
static fc_status check_extents(const fc_host *host, const fc_format *in, const fc_format *other, int loops,
                               const char *file) {
  if (loops || in->kind == FC_AUDIO) return FC_OK;
  for (int a = FC_AXIS_Y; a <= FC_AXIS_X; a++)
    if (in->extent[a] != other->extent[a])
      return host->fail(host, FC_INVALID,
                        "%s: %lld x %lld cannot be added to %lld x %lld; end=loop repeats it", file,
                        (long long)other->extent[FC_AXIS_X], (long long)other->extent[FC_AXIS_Y],
                        (long long)in->extent[FC_AXIS_X], (long long)in->extent[FC_AXIS_Y]);
  if (in->extent[FC_AXIS_N] >= 0 && other->extent[FC_AXIS_N] >= 0 && other->extent[FC_AXIS_N] != 1 &&
      other->extent[FC_AXIS_N] != in->extent[FC_AXIS_N])
    return host->fail(host, FC_INVALID, "%s: %lld frames cannot be added to %lld; it may have 1 or as many",
                      file, (long long)other->extent[FC_AXIS_N], (long long)in->extent[FC_AXIS_N]);
  return FC_OK;
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  arguments args = self;
  const uint32_t which = args[OTHER]->input;
  const fc_format *in = terms->in[0], *other = terms->in[which];
  const int loops = args[END]->ints[0] == END_LOOP;
  fc_need *need = terms->needs[which];
  fc_status status = check_kinds(host, in, other, args[OTHER]->text);
  if (status == FC_OK) status = check_extents(host, in, other, loops, args[OTHER]->text);
  if (status != FC_OK) return status;
  need->border = loops ? FC_BORDER_WRAP : FC_BORDER_ZERO;
  /* A single channel, or a single frame, is used for all. */
  if (other->extent[FC_AXIS_C] == 1) need->reach[FC_AXIS_C].before = need->reach[FC_AXIS_C].after = FC_WHOLE;
  if (other->extent[FC_AXIS_N] == 1 || other->extent[FC_AXIS_N] < 0)
    need->reach[FC_AXIS_N].before = need->reach[FC_AXIS_N].after = FC_WHOLE;
  terms->work = 2;
  return FC_OK;
}

/* ---- running ------------------------------------------------------------------ */

typedef struct mixin_state {
  fc_add add;
  uint32_t other;
} mixin_state;

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **prepared) {
  arguments args = self;
  const mixin_state state = {{setup->compute, args[GAIN]->floats[0]}, args[OTHER]->input};
  return state_keep(host, &state, sizeof state, prepared);
}

/* The second signal in the output's shape: where there is one channel or frame it is repeated. */
static fc_view spread(const fc_view *other, const fc_view *out) {
  fc_view v = *other;
  for (int a = 0; a < FC_AXES; a++) {
    if (v.shape[a] == 1 && out->shape[a] != 1) v.stride[a] = 0;
    v.shape[a] = out->shape[a];
  }
  return v;
}

static size_t scratch(const void *prepared, const fc_job *job) {
  return fc_add_scratch(&((const mixin_state *)prepared)->add);
}

static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  const mixin_state *state = prepared;
  const fc_view other = spread(job->in[state->other], job->out);
  return fc_add_cpu(&state->add, job->in[0], &other, job->out, job->scratch, job->notes);
}

static fc_status process_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  const mixin_state *state = prepared;
  const fc_view other = spread(job->in[state->other], job->out);
  return fc_add_ref(&state->add, job->in[0], &other, job->out, job->notes);
}

#if FC_HAVE_CUDA
static fc_status process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  const mixin_state *state = prepared;
  const fc_view other = spread(job->in[state->other], job->out);
  return fc_add_cuda(&state->add, job->in[0], &other, job->out, job->stream, job->notes);
}
#endif

/* ---- descriptor -------------------------------------------------------------- */

static const fc_operator mixin_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    .name = "mixin",
    .summary = "add a second sound, image or array",
    .keywords = FC_TEXTS("amix", "mixer", "overlay", "add"),
    .doc =
        "Adds a second signal, times gain: music under speech, noise to a sound, a texture or an offset to "
        "images.\n\n"
        "    mixin:music.wav:gain=-18dB:end=loop\n\n"
        "The output is as long as the first signal. After the end of a shorter second sound there is "
        "silence, or it repeats (end=loop); images are of one size, unless the second is repeated as tiles. "
        "A second signal "
        "of one "
        "channel is added to all channels, one of one frame to all frames. Rates must agree.\n\n"
        "Values are added: full scale of sound is 1, whatever integers the files hold; images have code "
        "values, 0 to 255 or 65535.",
    .examples = FC_TEXTS("mixin:other.wav", "mixin:other.wav:gain=0.5", "mixin:other.wav:gain=-6dB:end=loop"),
    .example_docs = FC_TEXTS("add another sound", "add it at half", "add it softly, repeated"),
    .example_commands =
        FC_TEXTS("-i in.wav ... -p gain:-6dB -o out.wav", "-i in.wav ... -p gain:-4dB -o out.wav",
                 "-i in.wav ... -p gain:-4dB -o out.wav"),
    FC_EVERY_SIGNAL,
    FC_OPERATOR_PARAMS(FC_INPUT_PARAM(FC_PARAM_MAIN | FC_PARAM_REQUIRED, "other", "The second signal."),
                       FC_FLOAT_PARAM(FC_PARAM_DECIBEL, "gain",
                                      "What it is multiplied by: a factor, or decibels (-6dB).", NULL, "1",
                                      NULL),
                       FC_ENUM_PARAM(0, "end", "What follows the end of the second signal.", "silence",
                                     FC_CHOICES(FC_CHOICE(END_SILENCE, "silence", "zeros"),
                                                FC_CHOICE(END_LOOP, "loop", "its beginning, again and again"),
                                                FC_CHOICE(FC_REFUSED, "repeat", "say loop"),
                                                FC_CHOICE(FC_REFUSED, "stop", "say silence")))),
    .create = fc_create_args,
    .negotiate = negotiate,
    .backends = BACKENDS(FC_ON_CPU(prepare, state_release, scratch, process_cpu),
                         FC_ON_CUDA(FC_BACKEND_GRAPH, prepare, state_release, NULL, process_cuda)),
    .reference = FC_ON_CPU(prepare, state_release, NULL, process_reference),
};

SINGLE_OPERATOR_PLUGIN("mixin", mixin_operator)
