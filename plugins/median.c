/* SPDX-License-Identifier: MIT */
/* median.c - the operator median: parameters and terms; the work is filters/local/median.h. */
#include "filters/local/median.h"

#include <stdlib.h>

#include "plugins/border.h"
#include "plugins/single.h"

#define ROWS_WORK 20000000

enum { WINDOW, BORDER, VALUE, N_PARAMS };

typedef struct median {
  const fc_arg *window, *border, *value; /* owned by the host */
} median;

static fc_status create(const fc_host *host, const fc_arg *const *args, void **instance) {
  const fc_arg *window = args[WINDOW];
  fc_status status = border_check(host, args[BORDER], args[VALUE]);
  for (int64_t i = 0; i < window->count && status == FC_OK; i++)
    if (window->ints[i] % 2 == 0)
      status = host->fail(host, FC_INVALID, "window=%s: the sides of a window are odd: say %lld or %lld",
                          window->text, (long long)window->ints[i] - 1, (long long)window->ints[i] + 1);
  const median self = {window, args[BORDER], args[VALUE]};
  return status == FC_OK ? state_keep(host, &self, sizeof self, instance) : status;
}

/* Sound has no rows. */
static fc_median filter_of(const median *self, const fc_format *in) {
  const fc_arg *window = self->window;
  const int64_t ny = window->count > 1 ? window->ints[1] : window->ints[0];
  return (fc_median){fc_isa_best(), window->ints[0], in->kind == FC_AUDIO ? 1 : ny};
}

static fc_status negotiate(const fc_host *host, void *instance, fc_terms *terms) {
  const median *self = instance;
  const fc_median m = filter_of(self, terms->in[0]);
  fc_reach *reach = terms->needs[0]->reach;
  if (terms->in[0]->kind == FC_AUDIO && self->window->count > 1)
    return host->fail(host, FC_INVALID, "window=%s: a sound has no rows: give one number",
                      self->window->text);
  /* Samples of 8 and 16 bits are counted in a histogram that moves with the window; for others the median
   * is selected anew. */
  if (fc_dtype_size(terms->in[0]->dtype) > 2 && m.nx * m.ny > FC_MEDIAN_SELECTED)
    return host->fail(host, FC_UNSUPPORTED,
                      "window=%s: for %s a window has at most %d samples (31,31): put convert:u16 before it",
                      self->window->text, fc_dtype_name(terms->in[0]->dtype), FC_MEDIAN_SELECTED);
  reach[FC_AXIS_X].before = reach[FC_AXIS_X].after = m.nx / 2;
  reach[FC_AXIS_Y].before = reach[FC_AXIS_Y].after = m.ny / 2;
  border_terms(self->border, self->value, terms);
  terms->work = 6.0 * (double)(m.nx * m.ny);
  return FC_OK;
}

/* ---- running ------------------------------------------------------------------ */

static fc_status prepare(const fc_host *host, void *instance, const fc_setup *setup, void **prepared) {
  const fc_median m = filter_of(instance, setup->in[0]);
  return state_keep(host, &m, sizeof m, prepared);
}

static size_t scratch(const void *prepared, const fc_job *job) {
  return fc_median_scratch(prepared, job->out);
}

/* Rows that take some hundredths of a second, at about a nanosecond a step (see filters/local/median.h). */
static int64_t rows_at_once(const fc_median *m, const fc_view *out) {
  const int64_t sample = fc_dtype_size(out->dtype) > 2 ? 3 * m->nx * m->ny : 2 * m->ny,
                row = sample * out->shape[FC_AXIS_N] * out->shape[FC_AXIS_X] * out->shape[FC_AXIS_C];
  return 1 + ROWS_WORK / (row > 0 ? row : 1);
}

static fc_view rows_from(const fc_view *v, int64_t y, int64_t rows) {
  fc_view part = *v;
  part.data = (char *)v->data + y * v->stride[FC_AXIS_Y];
  part.origin[FC_AXIS_Y] += y;
  part.shape[FC_AXIS_Y] = rows;
  return part;
}

/* A large window takes long for the rows of one call; the user may stop the run between some of them. */
static fc_status process_cpu(const fc_host *host, const void *prepared, const fc_job *job) {
  const int64_t all = job->out->shape[FC_AXIS_Y], most = rows_at_once(prepared, job->out);
  fc_status status = FC_OK;
  for (int64_t y = 0; y < all && status == FC_OK; y += most) {
    const int64_t rows = all - y < most ? all - y : most;
    const fc_view in = rows_from(job->in[0], y, rows), out = rows_from(job->out, y, rows);
    status = host->cancelled(host) ? FC_INVALID : fc_median_cpu(prepared, &in, &out, job->scratch);
  }
  return status;
}

static fc_status process_reference(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  return fc_median_ref(prepared, job->in[0], job->out, job->scratch);
}

#if FC_HAVE_CUDA
static fc_status process_cuda(const fc_host *host, const void *prepared, const fc_job *job) {
  (void)host;
  return fc_median_cuda(prepared, job->in[0], job->out, job->stream);
}
#endif

/* ---- descriptor -------------------------------------------------------------- */

static const fc_operator median_operator = {
    .size = sizeof(fc_operator),
    .flags = FC_OP_KEEPS_DTYPE | FC_OP_KEEPS_MEANING,
    FC_EVERY_SIGNAL,
    .name = "median",
    .summary = "replace each sample by the median around it: removes specks and clicks",
    .keywords = FC_TEXTS("denoise", "despeckle", "declick"),
    .doc =
        "The median of a window around each sample, channel by channel, as OpenCV's medianBlur and "
        "scipy.ndimage.median_filter: specks smaller than half the window go, edges stay sharp. NaN counts "
        "as larger than any number.\n\n"
        "3 x 3 and 5 x 5 are quick on any type. Larger windows cost about their height a sample with 8 and "
        "16 "
        "bits, and about their area with floats: convert:u8 or convert:u16 ahead is worth it there.\n\n"
        "For sound the window is that many samples.",
    .examples = FC_TEXTS("median:3", "median:5", "median:7,3:border=replicate", "median:1,5"),
    .example_docs =
        FC_TEXTS("remove specks", "remove larger specks", "wide window, edges repeated", "along y only"),
    .example_commands = FC_TEXTS("", "", "-i in.png ... -o out.png", "-i in.png ... -o out.png"),
    FC_OPERATOR_PARAMS(
        FC_PARAM(FC_INT, FC_PARAM_MAIN | FC_PARAM_REQUIRED | FC_PARAM_LIST, 2, "window",
                 "The sides of the window, odd: one number, or columns and rows, separated by a comma or x.",
                 "samples", NULL, FC_INT_BETWEEN(1, FC_MEDIAN_MOST), NULL, NULL, NULL),
        BORDER_PARAM, BORDER_VALUE_PARAM),
    .create = create,
    .destroy = free,
    .negotiate = negotiate,
    .backends = BACKENDS(FC_ON_CPU(prepare, state_release, scratch, process_cpu),
                         FC_ON_CUDA(FC_BACKEND_GRAPH, prepare, state_release, NULL, process_cuda)),
    .reference = FC_ON_CPU(prepare, state_release, scratch, process_reference),
};
SINGLE_OPERATOR_PLUGIN("median", median_operator)
