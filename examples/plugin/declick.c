/* SPDX-License-Identifier: MIT */
/*
 * declick - an operator of one's own, out of tree: a sample that departs from the median
 * of itself and its two neighbours by more than a threshold is replaced by that median.
 * Takes clicks out of sound and single bad pixels out of rows. One pass, no state.
 *
 *   cc -shared -fPIC -O2 -fvisibility=hidden $(pkg-config --cflags filterchain-plugin) \
 *     declick.c -o declick.so -lm
 *   filterchain -i in.wav --plugin-dir . -p declick:0.2 -o out.wav
 *
 * It loads and stores samples of every type by the host's own conversions (host->rows). It asks for one
 * neighbour on either side; the host makes them, at the ends of the signal too, so that
 * nothing here looks for a border.
 */
#include <fc_helpers.h>

#include <math.h>

/* To make an output the operator must see its input from one before to one after. */
static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  fc_need *need = terms->needs[0];
  need->reach[FC_AXIS_X].before = 1;
  need->reach[FC_AXIS_X].after = 1;
  need->border = FC_BORDER_REPLICATE;
  terms->work = 6;
  return FC_OK;
}

static double median(double a, double b, double c) {
  return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/* A channel of a row, FC_ROW_VALUES samples at a time. */
static void filter_row(const fc_host *host, const fc_job *job, double threshold, int64_t n, int64_t y,
                       int64_t c) {
  const fc_view *in = job->in[0], *out = job->out;
  double samples[FC_ROW_VALUES + 2], made[FC_ROW_VALUES];
  for (int64_t x = 0, count; x < out->shape[FC_AXIS_X]; x += count) {
    count = out->shape[FC_AXIS_X] - x < FC_ROW_VALUES ? out->shape[FC_AXIS_X] - x : FC_ROW_VALUES;
    host->rows->load_f64(samples, fc_view_at(in, n, y, x - 1, c), in->stride[FC_AXIS_X], count + 2, in->kind,
                         in->dtype);
    for (int64_t i = 0; i < count; i++) {
      double here = samples[i + 1], middle = median(samples[i], here, samples[i + 2]);
      made[i] = fabs(here - middle) > threshold ? middle : here;
    }
    host->rows->store_f64(fc_view_at(out, n, y, x, c), out->stride[FC_AXIS_X], made, count, out->kind,
                          out->dtype, job->notes);
  }
}

/* A pure function of its views, which may be any part of the signal: the host calls it
 * from several threads at once. Without a `prepare` the state is the instance, here the arguments. */
static fc_status process(const fc_host *host, const void *state, const fc_job *job) {
  const fc_arg *const *args = state;
  const int64_t *shape = job->out->shape;
  for (int64_t n = 0; n < shape[FC_AXIS_N]; n++)
    for (int64_t y = 0; y < shape[FC_AXIS_Y]; y++)
      for (int64_t c = 0; c < shape[FC_AXIS_C]; c++) filter_row(host, job, args[0]->floats[0], n, y, c);
  return FC_OK;
}

static const fc_operator operator_declick = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    .name = "declick",
    .summary = "replace single samples that stick out by the median of three",
    .doc = "Compares each sample with the median of itself and its two neighbours in time, or in its row, "
           "and replaces it by that median where it departs by more than the threshold.",
    .examples = FC_TEXTS("declick:0.2", "declick:-20dB"),
    FC_EVERY_SIGNAL,
    FC_OPERATOR_PARAMS(FC_FLOAT_PARAM(
        FC_PARAM_MAIN | FC_PARAM_DECIBEL, "threshold",
        "How far from the median a sample may lie. Audio is full scale 1, images are code values.", NULL,
        "0.1", FC_FLOAT_BETWEEN(0, 65535))),
    .create = fc_create_args,
    .negotiate = negotiate,
    .backends = FC_BACKENDS(FC_ON_CPU(NULL, NULL, NULL, process)),
};
FC_PLUGIN("org.example.declick", "1.0", "you", "MIT", "https://example.org/declick", &operator_declick)
