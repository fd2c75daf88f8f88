/* SPDX-License-Identifier: MIT */
/*
 * gate - lets a sound through while another one, the key, is loud: music that is heard only while somebody
 * speaks, or a pad cut to the rhythm of a drum. The key is a side input. One pass, no state: a sample asks
 * whether the key was as loud as the threshold within the last `hold` samples, which is a halo on the key.
 *
 *   cc -shared -fPIC -O2 -fvisibility=hidden $(pkg-config --cflags filterchain-plugin) gate.c -o gate.so -lm
 *   filterchain -i pad.wav --plugin-dir . -p gate:drums.wav:threshold=-20dB:hold=0.1s -o out.wav
 */
#include <fc_helpers.h>

#include <math.h>

enum { KEY, THRESHOLD, HOLD, CLOSED };

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  const fc_arg *const *args = self;
  const uint32_t k = args[KEY]->input;
  const fc_format *in = terms->in[0], *key = terms->in[k];
  fc_need *need = terms->needs[k];
  if (key->kind != FC_AUDIO) return host->fail(host, FC_INVALID, "%s: is not a sound", args[KEY]->text);
  if (key->rate > 0 && in->rate > 0 && key->rate != in->rate)
    return host->fail(host, FC_INVALID, "%s: %g Hz, the sound has %g; resample one of them", args[KEY]->text,
                      key->rate, in->rate);
  if (key->extent[FC_AXIS_C] != 1 && key->extent[FC_AXIS_C] != in->extent[FC_AXIS_C])
    return host->fail(host, FC_INVALID, "%s: %lld channels, the sound has %lld; it may have 1 or as many",
                      args[KEY]->text, (long long)key->extent[FC_AXIS_C], (long long)in->extent[FC_AXIS_C]);
  need->reach[FC_AXIS_X].before = args[HOLD]->ints[0] - 1; /* beyond its ends the key is silent */
  need->border = FC_BORDER_ZERO;
  if (key->extent[FC_AXIS_C] == 1) need->reach[FC_AXIS_C].before = need->reach[FC_AXIS_C].after = FC_WHOLE;
  return FC_OK;
}

/* Walks over the key from `hold` - 1 samples ahead of the view on; `open` counts down the samples that are
 * let through still. */
static void gate_channel(const fc_host *host, const fc_job *job, const fc_arg *const *args, int64_t c) {
  const fc_view *in = job->in[0], *key = job->in[args[KEY]->input], *out = job->out;
  const int64_t hold = args[HOLD]->ints[0], length = out->shape[FC_AXIS_X],
                kc = key->shape[FC_AXIS_C] == 1 ? 0 : c;
  const double threshold = args[THRESHOLD]->floats[0], closed = args[CLOSED]->floats[0];
  double loud[FC_ROW_VALUES], samples[FC_ROW_VALUES];
  int64_t open = 0;
  for (int64_t x = 1 - hold, count; x < length; x += count) {
    const int64_t end = x < 0 ? 0 : length;
    count = end - x < FC_ROW_VALUES ? end - x : FC_ROW_VALUES;
    host->rows->load_f64(loud, fc_view_at(key, 0, 0, x, kc), key->stride[FC_AXIS_X], count, key->kind,
                         key->dtype);
    if (x >= 0)
      host->rows->load_f64(samples, fc_view_at(in, 0, 0, x, c), in->stride[FC_AXIS_X], count, in->kind,
                           in->dtype);
    for (int64_t i = 0; i < count; i++) {
      if (fabs(loud[i]) >= threshold)
        open = hold;
      else if (open > 0)
        open--;
      if (x >= 0 && open == 0) samples[i] *= closed;
    }
    if (x >= 0)
      host->rows->store_f64(fc_view_at(out, 0, 0, x, c), out->stride[FC_AXIS_X], samples, count, out->kind,
                            out->dtype, job->notes);
  }
}

static fc_status process(const fc_host *host, const void *state, const fc_job *job) {
  if (fc_view_count(job->out) == 0) return FC_OK;
  for (int64_t c = 0; c < job->out->shape[FC_AXIS_C]; c++) gate_channel(host, job, state, c);
  return FC_OK;
}

static const fc_operator gate = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    .name = "gate",
    .summary = "let a sound through while another one is loud",
    .doc = "A noise gate with a side chain. A sample passes where the key has reached the threshold within "
           "the last `hold` "
           "samples, itself included; elsewhere it is multiplied by `closed`. Where the key has ended it is "
           "silent.",
    .examples = FC_TEXTS("gate:other.wav", "gate:other.wav:threshold=-20dB:hold=100:closed=0.1"),
    FC_SOUND_ONLY,
    FC_OPERATOR_PARAMS(
        FC_INPUT_PARAM(FC_PARAM_MAIN | FC_PARAM_REQUIRED, "key", "The sound that opens the gate."),
        FC_FLOAT_PARAM(FC_PARAM_DECIBEL, "threshold", "How loud the key must be; 1 is full scale.", NULL,
                       "0.1", FC_FLOAT_BETWEEN(0, 1)),
        FC_INT_PARAM(0, "hold", "How long the gate stays open.", "samples", "1000",
                     FC_INT_BETWEEN(1, 1000000)),
        FC_FLOAT_PARAM(FC_PARAM_DECIBEL, "closed", "What is left while it is closed.", NULL, "0",
                       FC_FLOAT_BETWEEN(0, 1))),
    .create = fc_create_args,
    .negotiate = negotiate,
    .backends = FC_BACKENDS(FC_ON_CPU(NULL, NULL, NULL, process)),
};
FC_PLUGIN("org.example.gate", "1.0", "you", "MIT", "https://example.org/gate", &gate)
