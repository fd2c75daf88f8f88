/* SPDX-License-Identifier: MIT */
/*
 * faults.c - a plugin whose operators are at fault, each in one way, to see that the
 * operator tests notice: see test_faults.c. All of them are meant to add three
 * neighbours along x with weights that depend on the position.
 */
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "core/contract/fc_helpers.h"

typedef enum fault {
  SOUND,
  ENDS_EARLY,
  WRITES_BEYOND,
  IGNORES_STRIDE,
  DEPENDS_ON_CUT,
  READS_TOO_FAR,
  WRITES_INPUT,
  SCRATCH_BEYOND,
  SHARES_STATE,
  FORGETS_NAN,
  TRUNCATES,
  ADDS_TO_OUTPUT,
  FAILS,
  MEASURES_CUTS
} fault;

/* ---- samples ------------------------------------------------------------------ */

static double load(const void *at, int dtype) {
  return dtype == FC_U8 ? *(const uint8_t *)at : *(const float *)at;
}

static void store(void *at, double value, fault f, const fc_job *job) {
  const fc_view *out = job->out;
  if (out->dtype == FC_F64) *(double *)at = value;
  if (out->dtype == FC_F32) *(float *)at = (float)value;
  if (out->dtype != FC_U8) return;
  double code = isnan(value) ? 0 : f == TRUNCATES ? floor(value) : nearbyint(value);
  if (isnan(value) && f != FORGETS_NAN) job->notes[FC_NOTE_NAN] = 1;
  if (code < 0 || code > 255) job->notes[FC_NOTE_CLIPPED] = 1;
  *(uint8_t *)at = (uint8_t)(code < 0 ? 0 : code > 255 ? 255 : code);
}

/* ---- the work ------------------------------------------------------------------ */

static double weight(int64_t position) {
  return 0.25 + 0.125 * (double)(position % 3);
}

static double value_at(const fc_job *job, fault f, const int64_t at[FC_AXES]) {
  const fc_view *in = job->in[0];
  double sum = 0;
  for (int64_t j = -1; j <= 1; j++) sum += load(fc_view_at(in, at[0], at[1], at[2] + j, at[3]), in->dtype);
  if (f == READS_TOO_FAR) sum += 1e-3 * load(fc_view_at(in, at[0], at[1], at[2] + 2, at[3]), in->dtype);
  return sum * weight(f == DEPENDS_ON_CUT ? at[2] : in->origin[FC_AXIS_X] + at[2]);
}

static void *place(const fc_job *job, fault f, const int64_t at[FC_AXES]) {
  const fc_view *out = job->out;
  int64_t dense = (at[1] * out->shape[2] + at[2]) * out->shape[3] + at[3];
  if (f == IGNORES_STRIDE && out->shape[0] == 1)
    return (char *)out->data + dense * (int64_t)fc_dtype_size(out->dtype);
  return fc_view_at(out, at[0], at[1], at[2], at[3]);
}

static void all_elements(const fc_job *job, fault f) {
  const fc_view *out = job->out;
  int64_t at[FC_AXES], width = out->shape[2] - (f == ENDS_EARLY) + (f == WRITES_BEYOND);
  for (at[0] = 0; at[0] < out->shape[0]; at[0]++)
    for (at[1] = 0; at[1] < out->shape[1]; at[1]++)
      for (at[2] = 0; at[2] < width; at[2]++)
        for (at[3] = 0; at[3] < out->shape[3]; at[3]++) {
          double value = value_at(job, f, at);
          void *to = place(job, f, at);
          if (f == ADDS_TO_OUTPUT) value += load(to, out->dtype == FC_U8 ? FC_U8 : FC_F32);
          store(to, value, f, job);
        }
}

static fc_status process(const fc_job *job, fault f) {
  static atomic_int calls, owner;
  const fc_view *out = job->out;
  int me = atomic_fetch_add(&calls, 1);
  if (f == FAILS) return FC_FATAL;
  if (f == SHARES_STATE) {
    atomic_store(&owner, me);
    usleep(2000);
  }
  all_elements(job, f);
  if (fc_view_count(out) == 0) return FC_OK;
  if (f == SHARES_STATE && atomic_load(&owner) != me) memset(out->data, 0, 1);
  if (f == WRITES_INPUT) memset(job->in[0]->data, 1, 1);
  if (f == SCRATCH_BEYOND) memset((char *)job->scratch + job->scratch_bytes, 0, 1);
  return FC_OK;
}

static size_t scratch(const void *state, const fc_job *job) {
  return 100;
}

/* One process function a fault; the reference is always sound. */
#define PROCESS(name, f)                                                                                     \
  static fc_status name##_process(const fc_host *host, const void *state, const fc_job *job) {               \
    return process(job, f);                                                                                  \
  }                                                                                                          \
  static const fc_backend name##_cpu = {                                                                     \
      .size = sizeof(fc_backend), .scratch = scratch, .process = name##_process}

PROCESS(sound, SOUND);
PROCESS(ends_early, ENDS_EARLY);
PROCESS(writes_beyond, WRITES_BEYOND);
PROCESS(ignores_stride, IGNORES_STRIDE);
PROCESS(depends_on_cut, DEPENDS_ON_CUT);
PROCESS(reads_too_far, READS_TOO_FAR);
PROCESS(writes_input, WRITES_INPUT);
PROCESS(scratch_beyond, SCRATCH_BEYOND);
PROCESS(shares_state, SHARES_STATE);
PROCESS(forgets_nan, FORGETS_NAN);
PROCESS(truncates, TRUNCATES);
PROCESS(adds_to_output, ADDS_TO_OUTPUT);
PROCESS(fails, FAILS);

/* ---- what is wrong outside of process ------------------------------------------ */

static fc_status leaky_prepare(const fc_host *host, void *self, const fc_setup *setup, void **state) {
  *state = host->alloc(host, setup->device, 16);
  return FC_OK;
}

static const fc_backend leaks_cpu = {
    .size = sizeof(fc_backend), .prepare = leaky_prepare, .scratch = scratch, .process = sound_process};

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  terms->needs[0]->reach[FC_AXIS_X].before = terms->needs[0]->reach[FC_AXIS_X].after = 1;
  terms->needs[0]->border = FC_BORDER_REFLECT;
  return FC_OK;
}

static fc_status refuse_silently(const fc_host *host, void *self, fc_terms *terms) {
  return FC_UNSUPPORTED;
}

static fc_status refuse(const fc_host *host, void *self, fc_terms *terms) {
  return host->fail(host, FC_UNSUPPORTED, "it takes nothing at all");
}

static fc_status negotiate_anew(const fc_host *host, void *self, fc_terms *terms) {
  static atomic_int asked;
  negotiate(host, self, terms);
  terms->needs[0]->reach[FC_AXIS_X].before = 1 + atomic_fetch_add(&asked, 1) % 7;
  return FC_OK;
}

/* Takes the wrong example but any other parameter. */
static fc_status create_picky(const fc_host *host, const fc_arg *const *args, void **self) {
  if (!args[0]->given || args[0]->ints[0] != 1) return FC_OK;
  return host->fail(host, FC_INVALID, "level=1 is not taken");
}

/* ---- measuring ------------------------------------------------------------------ */

/* Blocks of four elements along the measured axis. `each` is what a cut adds of its own. */
static void measure(const fc_job *job, double each) {
  const fc_view *in = job->in[0];
  int axis = in->kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_Y;
  for (int64_t n = 0; n < in->shape[0]; n++)
    for (int64_t from = 0, i = 0; from < in->shape[axis]; from += 4, i++) {
      double sum = each;
      fc_view block = *in;
      block.shape[axis] = in->shape[axis] - from < 4 ? in->shape[axis] - from : 4;
      block.data = (char *)in->data + from * in->stride[axis];
      for (int64_t y = 0; y < block.shape[1]; y++)
        for (int64_t x = 0; x < block.shape[2]; x++)
          for (int64_t c = 0; c < block.shape[3]; c++) {
            double v = load(fc_view_at(&block, n, y, x, c), in->dtype);
            sum += isfinite(v) ? v : 0;
          }
      memcpy((char *)job->measure + n * job->measure_stride + i * (int64_t)sizeof sum, &sum, sizeof sum);
    }
}

static fc_status measure_whole(const fc_host *host, const void *state, const fc_job *job) {
  measure(job, 0);
  return FC_OK;
}

static fc_status measure_cuts(const fc_host *host, const void *state, const fc_job *job) {
  const fc_view *in = job->in[0];
  int axis = in->kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_Y;
  measure(job, in->origin[axis] > 0 ? 1 : 0);
  return FC_OK;
}

static fc_status measure_negotiate(const fc_host *host, void *self, fc_terms *terms) {
  terms->needs[0]->reach[terms->in[0]->kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_Y].align = 4;
  terms->measure_bytes = sizeof(double);
  return FC_OK;
}

static fc_status measure_create(const fc_host *host, const fc_arg *const *args, void **self) {
  *self = calloc(1, sizeof(double));
  return *self ? FC_OK : FC_NO_MEMORY;
}

static void reset(void *self) {
  *(double *)self = 0;
}

static fc_status collect(const fc_host *host, void *self, const void *blocks, int64_t count) {
  for (int64_t i = 0; i < count; i++) *(double *)self += ((const double *)blocks)[i];
  return FC_OK;
}

static fc_status report(const fc_host *host, void *self) {
  fc_measurement m = {sizeof m, -1, "sum", "", *(double *)self, NULL};
  host->measured(host, &m);
  return FC_OK;
}

static const fc_backend measures_cpu = {.size = sizeof(fc_backend), .process = measure_whole};
static const fc_backend measures_cuts_cpu = {.size = sizeof(fc_backend), .process = measure_cuts};

/* ---- state, inputs, generators -------------------------------------------------- */

/* Adds the number of the frame, counted in the carried state - or in the call, where that is forgotten. */
static fc_status count_frames(const fc_job *job, int forgets) {
  const fc_view *in = job->in[0], *out = job->out;
  double before = forgets ? 0 : *(double *)job->carry;
  int64_t at[FC_AXES];
  for (at[0] = 0; at[0] < out->shape[0]; at[0]++)
    for (at[1] = 0; at[1] < out->shape[1]; at[1]++)
      for (at[2] = 0; at[2] < out->shape[2]; at[2]++)
        for (at[3] = 0; at[3] < out->shape[3]; at[3]++) {
          double v = load(fc_view_at(in, at[0], at[1], at[2], at[3]), in->dtype);
          store(fc_view_at(out, at[0], at[1], at[2], at[3]), v + before + (double)at[0], SOUND, job);
        }
  *(double *)job->carry = before + (double)out->shape[0];
  return FC_OK;
}

static fc_status carries_process(const fc_host *host, const void *state, const fc_job *job) {
  return count_frames(job, 0);
}

static fc_status forgets_carry_process(const fc_host *host, const void *state, const fc_job *job) {
  return count_frames(job, 1);
}

static fc_status carries_beyond_process(const fc_host *host, const void *state, const fc_job *job) {
  fc_status status = count_frames(job, 0);
  ((double *)job->carry)[1] = 1;
  return status;
}

static fc_status carry_negotiate(const fc_host *host, void *self, fc_terms *terms) {
  terms->carry_bytes = sizeof(double);
  return FC_OK;
}

static const fc_backend carries_cpu = {.size = sizeof(fc_backend), .process = carries_process};
static const fc_backend forgets_carry_cpu = {.size = sizeof(fc_backend), .process = forgets_carry_process};
static const fc_backend carries_beyond_cpu = {.size = sizeof(fc_backend), .process = carries_beyond_process};

/* Adds a second input of the same size. */
static fc_status add_other(const fc_job *job, int64_t shift, int writes) {
  const fc_view *in = job->in[0], *other = job->in[1], *out = job->out;
  int64_t at[FC_AXES];
  for (at[0] = 0; at[0] < out->shape[0]; at[0]++)
    for (at[1] = 0; at[1] < out->shape[1]; at[1]++)
      for (at[2] = 0; at[2] < out->shape[2]; at[2]++)
        for (at[3] = 0; at[3] < out->shape[3]; at[3]++) {
          double v = load(fc_view_at(in, at[0], at[1], at[2], at[3]), in->dtype);
          v += load(fc_view_at(other, at[0], at[1], at[2] + shift, at[3]), other->dtype);
          store(fc_view_at(out, at[0], at[1], at[2], at[3]), v, SOUND, job);
        }
  if (writes && fc_view_count(out) > 0) memset(other->data, 1, 1);
  return FC_OK;
}

static fc_status adds_process(const fc_host *host, const void *state, const fc_job *job) {
  return add_other(job, 0, 0);
}

static fc_status reads_other_too_far_process(const fc_host *host, const void *state, const fc_job *job) {
  return add_other(job, 1, 0);
}

static fc_status writes_other_process(const fc_host *host, const void *state, const fc_job *job) {
  return add_other(job, 0, 1);
}

static fc_status other_negotiate(const fc_host *host, void *self, fc_terms *terms) {
  for (int a = 0; a < FC_AXES; a++)
    if (terms->in[0]->extent[a] != terms->in[1]->extent[a])
      return host->fail(host, FC_INVALID, "the inputs differ in size");
  return FC_OK;
}

static const fc_backend adds_cpu = {.size = sizeof(fc_backend), .process = adds_process};
static const fc_backend reads_other_too_far_cpu = {.size = sizeof(fc_backend),
                                                   .process = reads_other_too_far_process};
static const fc_backend writes_other_cpu = {.size = sizeof(fc_backend), .process = writes_other_process};

/* Makes the weights of positions, within the signal or within the view. */
static fc_status make_weights(const fc_job *job, int within_view) {
  const fc_view *out = job->out;
  int64_t at[FC_AXES];
  for (at[0] = 0; at[0] < out->shape[0]; at[0]++)
    for (at[1] = 0; at[1] < out->shape[1]; at[1]++)
      for (at[2] = 0; at[2] < out->shape[2]; at[2]++)
        for (at[3] = 0; at[3] < out->shape[3]; at[3]++)
          store(fc_view_at(out, at[0], at[1], at[2], at[3]),
                weight(within_view ? at[2] : out->origin[FC_AXIS_X] + at[2]), SOUND, job);
  return FC_OK;
}

static fc_status generates_process(const fc_host *host, const void *state, const fc_job *job) {
  return make_weights(job, 0);
}

static fc_status generates_cuts_process(const fc_host *host, const void *state, const fc_job *job) {
  return make_weights(job, 1);
}

static fc_status generate_negotiate(const fc_host *host, void *self, fc_terms *terms) {
  static const int64_t extent[FC_AXES] = {1, 5, 40, 2};
  for (int a = 0; a < FC_AXES; a++) terms->out->extent[a] = extent[a];
  return FC_OK;
}

static const fc_backend generates_cpu = {.size = sizeof(fc_backend), .process = generates_process};
static const fc_backend generates_cuts_cpu = {.size = sizeof(fc_backend), .process = generates_cuts_process};

/* Prepares for the size that it was asked about last, which need not be the one that it runs on. */
static fc_status remember_size(const fc_host *host, void *self, fc_terms *terms) {
  *(double *)self = (double)terms->in[0]->extent[FC_AXIS_X];
  return FC_OK;
}

static fc_status prepare_for_size(const fc_host *host, void *self, const fc_setup *setup, void **state) {
  double *size = malloc(sizeof *size);
  if (!size) return FC_NO_MEMORY;
  *size = *(double *)self;
  *state = size;
  return FC_OK;
}

static void release_size(const fc_host *host, void *state) {
  free(state);
}

static fc_status add_size(const fc_job *job, double size) {
  const fc_view *in = job->in[0], *out = job->out;
  int64_t at[FC_AXES];
  for (at[0] = 0; at[0] < out->shape[0]; at[0]++)
    for (at[1] = 0; at[1] < out->shape[1]; at[1]++)
      for (at[2] = 0; at[2] < out->shape[2]; at[2]++)
        for (at[3] = 0; at[3] < out->shape[3]; at[3]++)
          store(fc_view_at(out, at[0], at[1], at[2], at[3]),
                load(fc_view_at(in, at[0], at[1], at[2], at[3]), in->dtype) + size, SOUND, job);
  return FC_OK;
}

static fc_status remembers_size_process(const fc_host *host, const void *state, const fc_job *job) {
  return add_size(job, *(const double *)state);
}

static fc_status sees_size_process(const fc_host *host, const void *state, const fc_job *job) {
  return add_size(job, (double)job->in[0]->extent[FC_AXIS_X]);
}

static const fc_backend remembers_size_cpu = {.size = sizeof(fc_backend),
                                              .prepare = prepare_for_size,
                                              .release = release_size,
                                              .process = remembers_size_process};
static const fc_backend sees_size_cpu = {.size = sizeof(fc_backend), .process = sees_size_process};

static fc_status forget_border(const fc_host *host, void *self, fc_terms *terms) {
  terms->needs[0]->reach[FC_AXIS_X].before = terms->needs[0]->reach[FC_AXIS_X].after = 1;
  return FC_OK;
}

/* ---- descriptors ------------------------------------------------------------------ */

static const fc_param level_param = {.size = sizeof(fc_param),
                                     .type = FC_INT,
                                     .name = "level",
                                     .doc = "Nothing.",
                                     .preset = "0",
                                     .limits = FC_INT_BETWEEN(0, 5)};
static const fc_param *const params[] = {&level_param};
static const char *const examples[] = {NULL};
static const char *const picky_examples[] = {"refuses_example:level=1", NULL};

#define U8_AND_F32 (FC_DTYPE_BIT(FC_U8) | FC_DTYPE_BIT(FC_F32))

#define OPERATOR_FULL(id, backend, how, made, shown)                                                         \
  static const fc_operator id##_operator = {.size = sizeof(fc_operator),                                     \
                                            .name = #id,                                                     \
                                            .summary = "at fault on purpose",                                \
                                            .doc = "",                                                       \
                                            .examples = shown,                                               \
                                            .n_params = 1,                                                   \
                                            .kinds = FC_KINDS_ALL & ~FC_KIND_BIT(FC_AUDIO),                  \
                                            .dtypes_in = U8_AND_F32,                                         \
                                            .dtypes_out = U8_AND_F32 | FC_DTYPE_BIT(FC_F64),                 \
                                            .params = params,                                                \
                                            .create = made,                                                  \
                                            .negotiate = how,                                                \
                                            .backends = FC_STATIC_LIST(fc_backend, &backend, NULL),          \
                                            .reference = &sound_cpu}
#define OPERATOR(id, backend) OPERATOR_FULL(id, backend, negotiate, NULL, examples)

OPERATOR(sound, sound_cpu);
OPERATOR(ends_early, ends_early_cpu);
OPERATOR(writes_beyond, writes_beyond_cpu);
OPERATOR(ignores_stride, ignores_stride_cpu);
OPERATOR(depends_on_cut, depends_on_cut_cpu);
OPERATOR(reads_too_far, reads_too_far_cpu);
OPERATOR(writes_input, writes_input_cpu);
OPERATOR(scratch_beyond, scratch_beyond_cpu);
OPERATOR(shares_state, shares_state_cpu);
OPERATOR(forgets_nan, forgets_nan_cpu);
OPERATOR(truncates, truncates_cpu);
OPERATOR(adds_to_output, adds_to_output_cpu);
OPERATOR(fails, fails_cpu);
OPERATOR(leaks, leaks_cpu);
OPERATOR_FULL(refuses_silently, sound_cpu, refuse_silently, NULL, examples);
OPERATOR_FULL(refuses_all, sound_cpu, refuse, NULL, examples);
OPERATOR_FULL(refuses_example, sound_cpu, negotiate, create_picky, picky_examples);
OPERATOR_FULL(changes_its_mind, sound_cpu, negotiate_anew, NULL, examples);

#define MEASURING(id, backend)                                                                               \
  static const fc_operator id##_operator = {.size = sizeof(fc_operator),                                     \
                                            .flags = FC_OP_PASSTHROUGH,                                      \
                                            .name = #id,                                                     \
                                            .summary = "adds up all samples",                                \
                                            .doc = "",                                                       \
                                            .examples = examples,                                            \
                                            .n_params = 1,                                                   \
                                            .kinds = FC_KINDS_ALL,                                           \
                                            .dtypes_in = U8_AND_F32,                                         \
                                            .dtypes_out = U8_AND_F32,                                        \
                                            .params = params,                                                \
                                            .create = measure_create,                                        \
                                            .destroy = free,                                                 \
                                            .negotiate = measure_negotiate,                                  \
                                            .backends = FC_STATIC_LIST(fc_backend, &backend, NULL),          \
                                            .reset = reset,                                                  \
                                            .collect = collect,                                              \
                                            .report = report,                                                \
                                            .reference = &measures_cpu}

MEASURING(measures, measures_cpu);
MEASURING(measures_cuts, measures_cuts_cpu);

/* With a reference and parameters of their own. */
#define SPECIAL(id, bits, takes, shown, made, how, sound)                                                    \
  static const fc_operator id##_operator = {.size = sizeof(fc_operator),                                     \
                                            .flags = bits,                                                   \
                                            .name = #id,                                                     \
                                            .summary = "at fault on purpose",                                \
                                            .doc = "",                                                       \
                                            .examples = shown,                                               \
                                            .n_params = 1,                                                   \
                                            .kinds = FC_KIND_BIT(FC_IMAGE),                                  \
                                            .dtypes_in = (bits)&FC_OP_GENERATOR ? 0 : U8_AND_F32,            \
                                            .dtypes_out = U8_AND_F32 | FC_DTYPE_BIT(FC_F64),                 \
                                            .params = takes,                                                 \
                                            .create = made,                                                  \
                                            .destroy = free,                                                 \
                                            .negotiate = how,                                                \
                                            .backends = FC_STATIC_LIST(fc_backend, &id##_cpu, NULL),         \
                                            .reference = &sound##_cpu}

static const fc_param *const other_params[] = {
    FC_INPUT_PARAM(FC_PARAM_MAIN | FC_PARAM_REQUIRED, "other", "Added.")};

SPECIAL(carries, 0, params, examples, NULL, carry_negotiate, carries);
SPECIAL(forgets_carry, 0, params, examples, NULL, carry_negotiate, carries);
SPECIAL(carries_beyond, 0, params, examples, NULL, carry_negotiate, carries);
SPECIAL(adds, 0, other_params, examples, NULL, other_negotiate, adds);
SPECIAL(reads_other_too_far, 0, other_params, examples, NULL, other_negotiate, adds);
SPECIAL(writes_other, 0, other_params, examples, NULL, other_negotiate, adds);
SPECIAL(generates, FC_OP_GENERATOR, params, examples, NULL, generate_negotiate, generates);
SPECIAL(generates_cuts, FC_OP_GENERATOR, params, examples, NULL, generate_negotiate, generates);
SPECIAL(remembers_size, 0, params, examples, measure_create, remember_size, sees_size);
OPERATOR_FULL(forgets_border, sound_cpu, forget_border, NULL, examples);

static const fc_operator *const operators[] = {
    &sound_operator,
    &ends_early_operator,
    &writes_beyond_operator,
    &ignores_stride_operator,
    &depends_on_cut_operator,
    &reads_too_far_operator,
    &writes_input_operator,
    &scratch_beyond_operator,
    &shares_state_operator,
    &forgets_nan_operator,
    &truncates_operator,
    &adds_to_output_operator,
    &fails_operator,
    &leaks_operator,
    &refuses_silently_operator,
    &refuses_all_operator,
    &refuses_example_operator,
    &changes_its_mind_operator,
    &measures_operator,
    &measures_cuts_operator,
    &carries_operator,
    &forgets_carry_operator,
    &carries_beyond_operator,
    &adds_operator,
    &reads_other_too_far_operator,
    &writes_other_operator,
    &generates_operator,
    &generates_cuts_operator,
    &remembers_size_operator,
    &forgets_border_operator,
};

static const fc_plugin plugin = {
    .size = sizeof(fc_plugin),
    .abi = FC_PLUGIN_ABI,
    .id = "faults",
    .version = "1.0.0",
    .author = "the filterchain authors",
    .license = "MIT",
    .url = "",
    .n_operators = sizeof operators / sizeof *operators,
    .operators = operators,
};

const fc_plugin *fc_plugin_entry_v1(void) {
  return &plugin;
}
