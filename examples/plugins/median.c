/* SPDX-License-Identifier: MIT */
/*
 * median - the median of a square window of pixels, or of a stretch of sound: takes out single wrong samples
 * and keeps edges. On the CPU, and on a GPU where it is built with median_cuda.cu. side^4 / 4 steps a sample.
 *
 *   cc -shared -fPIC -O3 -fvisibility=hidden $(pkg-config --cflags filterchain-plugin) median.c -o median.so
 *   filterchain -i in.png --plugin-dir . -p median:3 -o out.png
 */
#include "median.h"

static int64_t side_of(const void *self) {
  return ((const fc_arg *const *)self)[0]->ints[0];
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  const int64_t half = side_of(self) / 2;
  fc_need *need = terms->needs[0];
  if (side_of(self) % 2 == 0)
    return host->fail(host, FC_INVALID, "side: %lld is even; a median has a middle",
                      (long long)side_of(self));
  need->reach[FC_AXIS_X].before = need->reach[FC_AXIS_X].after = half;
  if (terms->in[0]->kind != FC_AUDIO) need->reach[FC_AXIS_Y].before = need->reach[FC_AXIS_Y].after = half;
  need->border = FC_BORDER_REPLICATE;
  terms->work = (double)(side_of(self) * side_of(self) * 8);
  return FC_OK;
}

/* Rows of the window, loaded once for a stretch of outputs; then a median for each. */
#define STRETCH 256
#define FILTER_STRETCH(name, F, load, store, median)                                                         \
  static void name(const fc_host *host, const fc_job *job, int side, const int64_t at[FC_AXES],              \
                   int64_t count) {                                                                          \
    const fc_view *in = job->in[0], *out = job->out;                                                         \
    const int half = side / 2, rows = in->kind == FC_AUDIO ? 1 : side;                                       \
    F samples[MEDIAN_MOST][STRETCH + MEDIAN_MOST], window[MEDIAN_MOST * MEDIAN_MOST], made[STRETCH];         \
    for (int r = 0; r < rows; r++)                                                                           \
      host->rows->load(samples[r], fc_view_at(in, at[0], at[1] + r - rows / 2, at[2] - half, at[3]),         \
                       in->stride[FC_AXIS_X], count + side - 1, in->kind, in->dtype);                        \
    for (int64_t i = 0; i < count; i++) {                                                                    \
      int n = 0;                                                                                             \
      for (int r = 0; r < rows; r++)                                                                         \
        for (int k = 0; k < side; k++) window[n++] = samples[r][i + k];                                      \
      made[i] = median(window, n);                                                                           \
    }                                                                                                        \
    host->rows->store(fc_view_at(out, at[0], at[1], at[2], at[3]), out->stride[FC_AXIS_X], made, count,      \
                      out->kind, out->dtype, job->notes);                                                    \
  }
FILTER_STRETCH(filter_f32, float, load_f32, store_f32, median_f32)
FILTER_STRETCH(filter_f64, double, load_f64, store_f64, median_f64)

static fc_status process(const fc_host *host, const void *state, const fc_job *job) {
  const int side = (int)side_of(state);
  const int64_t *shape = job->out->shape;
  int64_t at[FC_AXES];
  for (at[0] = 0; at[0] < shape[0]; at[0]++)
    for (at[1] = 0; at[1] < shape[1]; at[1]++)
      for (at[3] = 0; at[3] < shape[3]; at[3]++)
        for (at[2] = 0; at[2] < shape[2]; at[2] += STRETCH) {
          const int64_t left = shape[2] - at[2], count = left < STRETCH ? left : STRETCH;
          (job->compute == FC_F64 ? filter_f64 : filter_f32)(host, job, side, at, count);
        }
  return FC_OK;
}

#ifdef HAVE_CUDA
#define BACKENDS                                                                                             \
  FC_BACKENDS(FC_ON_CPU(NULL, NULL, NULL, process),                                                          \
              FC_ON_CUDA(FC_BACKEND_GRAPH, NULL, NULL, NULL, median_cuda))
#else
#define BACKENDS FC_BACKENDS(FC_ON_CPU(NULL, NULL, NULL, process))
#endif

static const fc_operator median = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_MEANING,
    .name = "median",
    .summary = "median of a window",
    .doc = "Replaces each sample by the median of a window around it: side x side pixels of each channel, or "
           "side samples "
           "of sound. Beyond an end stands the last sample.",
    .examples = FC_TEXTS("median:3", "median:5"),
    FC_EVERY_SIGNAL,
    FC_OPERATOR_PARAMS(FC_INT_PARAM(FC_PARAM_MAIN, "side", "Of the window; odd.", "samples", "3",
                                    FC_INT_BETWEEN(1, MEDIAN_MOST))),
    .create = fc_create_args,
    .negotiate = negotiate,
    .backends = BACKENDS,
};
FC_PLUGIN("org.example.median", "1.0", "you", "MIT", "https://example.org/median", &median)
