/* SPDX-License-Identifier: MIT */
/*
 * crisp - sharper along the rows, or in time: some of both neighbours is taken away from each sample. An
 * operator on a window with a device function: it tells only the numbers, the host has the loops for a GPU.
 * For the same bits here the products are added up in the order that device_function.h says, by fma;
 * `filterchain check` compares. Cost: three multiply-adds a sample.
 *
 *   cc -shared -fPIC -O3 -march=native -fvisibility=hidden $(pkg-config --cflags filterchain-plugin) crisp.c
 * \ -o crisp.so -lm filterchain -i in.png --plugin-dir . -p crisp:0.4 -o out.png
 */
#include <fc_helpers.h>

#include <math.h>

enum { TAPS = 3 };

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  (void)host, (void)self;
  fc_need_window(terms->needs[0], TAPS, 1, FC_BORDER_REPLICATE);
  terms->work = 2 * TAPS;
  return FC_OK;
}

static void taps_of(const void *self, double taps[TAPS]) {
  const double amount = ((const fc_arg *const *)self)[0]->floats[0];
  taps[0] = taps[2] = -amount / 2, taps[1] = 1 + amount;
}

/* TAPS along X, one row. */
static fc_status describe(const fc_host *host, void *self, const fc_setup *setup, fc_device_function *f) {
  double taps[TAPS];
  (void)host;
  taps_of(self, taps);
  return fc_describe_window(setup, f, TAPS, 1, taps, NULL);
}
FC_FUSIBLE(extension, describe)

/* A stretch of one channel's row, of at most FC_ROW_VALUES. */
#define CRISP_STRETCH(name, F, multiply_add, load, store)                                                    \
  static void name(const fc_host *host, const fc_job *job, const double *numbers, int64_t n, int64_t y,      \
                   int64_t x, int64_t c, int64_t count) {                                                    \
    const fc_view *in = job->in[0], *out = job->out;                                                         \
    F v[FC_ROW_VALUES + TAPS - 1], taps[TAPS];                                                               \
    for (int k = 0; k < TAPS; k++) taps[k] = (F)numbers[k];                                                  \
    host->rows->load(v, fc_view_at(in, n, y, x - TAPS / 2, c), in->stride[FC_AXIS_X], count + TAPS - 1,      \
                     in->kind, in->dtype);                                                                   \
    for (int64_t i = 0; i < count; i++) {                                                                    \
      F sum = 0;                                                                                             \
      for (int k = 0; k < TAPS; k++) sum = multiply_add(taps[k], v[i + k], sum);                             \
      v[i] = sum;                                                                                            \
    }                                                                                                        \
    host->rows->store(fc_view_at(out, n, y, x, c), out->stride[FC_AXIS_X], v, count, out->kind, out->dtype,  \
                      job->notes);                                                                           \
  }
CRISP_STRETCH(crisp_f32, float, fmaf, load_f32, store_f32)
CRISP_STRETCH(crisp_f64, double, fma, load_f64, store_f64)

static fc_status process(const fc_host *host, const void *state, const fc_job *job) {
  const int64_t *shape = job->out->shape;
  double taps[TAPS];
  taps_of(state, taps);
  for (int64_t n = 0; n < shape[FC_AXIS_N]; n++)
    for (int64_t y = 0; y < shape[FC_AXIS_Y]; y++)
      for (int64_t c = 0; c < shape[FC_AXIS_C]; c++)
        for (int64_t x = 0, left; (left = shape[FC_AXIS_X] - x) > 0; x += FC_ROW_VALUES)
          (job->compute == FC_F64 ? crisp_f64 : crisp_f32)(host, job, taps, n, y, x, c,
                                                           left < FC_ROW_VALUES ? left : FC_ROW_VALUES);
  return FC_OK;
}

static const fc_operator crisp = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    .name = "crisp",
    .summary = "sharper along the rows",
    .doc = "Takes half the amount of both neighbours away from 1 + amount times each sample; an even area "
           "keeps its value. At the ends a sample is its own neighbour.",
    .examples = FC_TEXTS("crisp:0.4"),
    FC_EVERY_SIGNAL,
    FC_OPERATOR_PARAMS(FC_FLOAT_PARAM(FC_PARAM_MAIN, "amount", "How much sharper; 0: not at all.", NULL,
                                      "0.5", FC_FLOAT_BETWEEN(0, 100))),
    .create = fc_create_args,
    .negotiate = negotiate,
    .backends = FC_BACKENDS(FC_ON_CPU(NULL, NULL, NULL, process)),
    .extension = extension,
};
FC_PLUGIN("org.example.crisp", "1.0", "you", "MIT", "https://example.org/crisp", &crisp)
