/* SPDX-License-Identifier: MIT */
/*
 * declick - an operator of one's own, out of tree: a sample that departs from the median
 * of itself and its two neighbours by more than a threshold is replaced by that median.
 * Takes clicks out of sound and single bad pixels out of rows. One pass, no state.
 *
 *   cc -shared -fPIC -O2 $(pkg-config --cflags filterchain-plugin) declick.c -o declick.so -lm
 *   filterchain -i in.wav --plugin-dir . -p declick:0.2 -o out.wav
 *
 * It declares f32 and f64 only; the host converts whatever else comes. It asks for one
 * neighbour on either side; the host makes them, at the ends of the signal too, so that
 * nothing here looks for a border.
 */
#include <fc_helpers.h>

#include <math.h>
#include <stdlib.h>

/* What an instance keeps: the parameters, ready for use. */
typedef struct declick {
  double threshold;
} declick;

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  declick *d = malloc(sizeof *d);
  if (!d) return host->fail(host, FC_NO_MEMORY, "out of memory");
  d->threshold = args[0]->floats[0]; /* in the order of `params`; already checked */
  *self = d;
  return FC_OK;
}

/* To make an output the operator must see its input from one before to one after. */
static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  terms->needs[0]->reach[FC_AXIS_X].before = 1;
  terms->needs[0]->reach[FC_AXIS_X].after = 1;
  terms->needs[0]->border = FC_BORDER_REPLICATE;
  terms->work = 6;
  return FC_OK;
}

static double load(const fc_view *v, int64_t n, int64_t y, int64_t x, int64_t c) {
  const void *at = fc_view_at(v, n, y, x, c);
  return v->dtype == FC_F32 ? (double)*(const float *)at : *(const double *)at;
}

static void store(const fc_view *v, int64_t n, int64_t y, int64_t x, int64_t c, double value) {
  void *at = fc_view_at(v, n, y, x, c);
  if (v->dtype == FC_F32)
    *(float *)at = (float)value;
  else
    *(double *)at = value;
}

static double median(double a, double b, double c) {
  return fmax(fmin(a, b), fmin(fmax(a, b), c));
}

/* A pure function of its views, which may be any part of the signal: the host calls it
 * from several threads at once. */
static fc_status process(const fc_host *host, const void *state, const fc_job *job) {
  const declick *d = state;
  const fc_view *in = job->in[0], *out = job->out;
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++)
    for (int64_t y = 0; y < out->shape[FC_AXIS_Y]; y++)
      for (int64_t x = 0; x < out->shape[FC_AXIS_X]; x++)
        for (int64_t c = 0; c < out->shape[FC_AXIS_C]; c++) {
          double here = load(in, n, y, x, c);
          double middle = median(load(in, n, y, x - 1, c), here, load(in, n, y, x + 1, c));
          store(out, n, y, x, c, fabs(here - middle) > d->threshold ? middle : here);
        }
  return FC_OK;
}

static const fc_param threshold = {
    .size = sizeof(fc_param),
    .type = FC_FLOAT,
    .flags = FC_PARAM_MAIN | FC_PARAM_DECIBEL,
    .name = "threshold",
    .doc = "How far from the median a sample may lie. Audio is full scale 1, images are code values.",
    .preset = "0.1",
    .limits = FC_FLOAT_BETWEEN(0, 65535),
};
static const fc_param *const params[] = {&threshold};
static const char *const examples[] = {"declick:0.2", "declick:-20dB", NULL};

static const fc_backend cpu = {.size = sizeof(fc_backend), .process = process};

static const fc_operator operator_declick = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE,
    .name = "declick",
    .summary = "replace single samples that stick out by the median of three",
    .doc = "Compares each sample with the median of itself and its two neighbours in time, or in its row, "
           "and replaces it by that median where it departs by more than the threshold.",
    .examples = examples,
    .n_params = 1,
    .kinds = FC_KINDS_ALL,
    .dtypes_in = FC_DTYPES_FLOAT,
    .dtypes_out = FC_DTYPES_FLOAT,
    .params = params,
    .create = create,
    .destroy = free,
    .negotiate = negotiate,
    .backends = FC_STATIC_LIST(fc_backend, &cpu, NULL),
};
static const fc_operator *const operators[] = {&operator_declick};

static const fc_plugin plugin = {
    .size = sizeof(fc_plugin),
    .abi = FC_PLUGIN_ABI,
    .id = "org.example.declick",
    .version = "1.0",
    .author = "you",
    .license = "MIT",
    .url = "https://example.org/declick",
    .n_operators = 1,
    .operators = operators,
};

const fc_plugin *fc_plugin_entry_v1(void) {
  return &plugin;
}
