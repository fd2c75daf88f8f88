/* SPDX-License-Identifier: MIT */
/*
 * frozen.c - a plugin built against the frozen contract (plugin_frozen.h), with nothing of the helpers of
 * today: it uses what there is - parameters of several types, an input, a halo, a prepared state, scratch,
 * measurements, a reference.
 */
#include "tests/authors/plugin_frozen.h"

#include <string.h>

enum { FACTOR, SHIFT, HOW, N_PARAMS };
enum { PLUS, MINUS };

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  if (!FC_HAS(host, rows)) return host->fail(host, FC_UNSUPPORTED, "the host is too old");
  *self = (void *)(uintptr_t)args;
  return FC_OK;
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  const fc_arg *const *args = self;
  (void)host;
  terms->needs[0]->reach[FC_AXIS_X].before = args[SHIFT]->ints[0];
  terms->needs[0]->border = FC_BORDER_REPLICATE;
  terms->work = 2;
  return FC_OK;
}

typedef struct prepared {
  double factor, sign;
  int64_t shift;
} prepared;

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **state) {
  const fc_arg *const *args = self;
  prepared *p = host->alloc(host, FC_HOST, sizeof *p);
  (void)setup;
  if (!p) return host->fail(host, FC_NO_MEMORY, "out of memory");
  p->factor = args[FACTOR]->floats[0], p->shift = args[SHIFT]->ints[0],
  p->sign = args[HOW]->ints[0] == PLUS ? 1 : -1;
  *state = p;
  return FC_OK;
}

static void release(const fc_host *host, void *state) {
  host->free(host, FC_HOST, state);
}

static size_t scratch(const void *state, const fc_job *job) {
  (void)state;
  return (size_t)job->out->shape[FC_AXIS_X] * 2 * sizeof(double);
}

/* x[i] + factor x[i - shift], a row of a channel at a time. */
static fc_status process(const fc_host *host, const void *state, const fc_job *job) {
  const prepared *p = state;
  const fc_view *in = job->in[0], *out = job->out;
  const int64_t count = out->shape[FC_AXIS_X], step = in->stride[FC_AXIS_X];
  double *here = job->scratch, *before = here + count;
  for (int64_t n = 0; n < out->shape[FC_AXIS_N]; n++)
    for (int64_t y = 0; y < out->shape[FC_AXIS_Y]; y++)
      for (int64_t c = 0; c < out->shape[FC_AXIS_C]; c++) {
        host->rows->load_f64(here, fc_view_at(in, n, y, 0, c), step, count, in->kind, in->dtype);
        host->rows->load_f64(before, fc_view_at(in, n, y, -p->shift, c), step, count, in->kind, in->dtype);
        for (int64_t i = 0; i < count; i++) here[i] += p->sign * p->factor * before[i];
        host->rows->store_f64(fc_view_at(out, n, y, 0, c), out->stride[FC_AXIS_X], here, count, out->kind,
                              out->dtype, job->notes);
      }
  return FC_OK;
}

static const fc_limits factors = {
    .size = sizeof(fc_limits), .flags = FC_LIMIT_MIN | FC_LIMIT_MAX, .min = -1, .max = 1};
static const fc_limits shifts = {
    .size = sizeof(fc_limits), .flags = FC_LIMIT_MIN | FC_LIMIT_MAX, .int_max = 100};
static const fc_choice plus = {sizeof(fc_choice), PLUS, "plus", "added"},
                       minus = {sizeof(fc_choice), MINUS, "minus", "taken off"};
static const fc_choice *const choices[] = {&plus, &minus, NULL};
static const fc_param factor = {.size = sizeof(fc_param),
                                .type = FC_FLOAT,
                                .flags = FC_PARAM_MAIN,
                                .name = "factor",
                                .doc = "Of the echo.",
                                .preset = "0.5",
                                .limits = &factors};
static const fc_param shift = {.size = sizeof(fc_param),
                               .type = FC_INT,
                               .name = "shift",
                               .doc = "How late it is.",
                               .unit = "samples",
                               .preset = "10",
                               .limits = &shifts};
static const fc_param how = {.size = sizeof(fc_param),
                             .type = FC_ENUM,
                             .name = "how",
                             .doc = "Its sign.",
                             .preset = "plus",
                             .choices = choices};
static const fc_param *const params[N_PARAMS] = {&factor, &shift, &how};
static const fc_backend cpu = {.size = sizeof(fc_backend),
                               .device_kind = FC_KIND_HOST,
                               .prepare = prepare,
                               .release = release,
                               .scratch = scratch,
                               .process = process};
static const fc_backend *const backends[] = {&cpu, NULL};
static const char *const examples[] = {"frozen:0.5", "frozen:0.25:shift=3:how=minus", NULL};
static const fc_operator op = {.size = sizeof(fc_operator),
                               .flags = FC_OP_KEEPS_MEANING,
                               .name = "frozen",
                               .summary = "an echo",
                               .doc = "Adds the signal to itself, later.",
                               .examples = examples,
                               .n_params = N_PARAMS,
                               .kinds = FC_KINDS_ALL,
                               .dtypes_in = FC_DTYPES_ALL,
                               .dtypes_out = FC_DTYPES_ALL,
                               .params = params,
                               .create = create,
                               .negotiate = negotiate,
                               .backends = backends,
                               .reference = &cpu};
static const fc_operator *const operators[] = {&op};

const fc_plugin *fc_plugin_entry_v1(void) {
  static const fc_plugin plugin = {.size = sizeof(fc_plugin),
                                   .abi = FC_PLUGIN_ABI,
                                   .id = "org.example.frozen",
                                   .version = "1.0",
                                   .author = "the filterchain authors",
                                   .license = "MIT",
                                   .url = "",
                                   .n_operators = 1,
                                   .operators = operators};
  return &plugin;
}
