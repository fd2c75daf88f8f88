/* SPDX-License-Identifier: MIT */
/*
 * broken.c - plugins with one defect each, to see that `filterchain check` finds that one and no other; and
 * one without. Compiled once for each DEFECT: a mean of three neighbours along x, half the neighbours' weight
 * a parameter.
 */
#include <fc_helpers.h>

#include <malloc.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define IS(name) (DEFECT == name)

enum defect {
  none,
  load_prints,
  load_crashes,
  load_denormals,
  no_doc,
  wrong_example,
  reads_beyond,
  writes_beyond,
  halo_too_small,
  allocates,
  prints,
  exits,
  crashes,
  aborts,
  hangs,
  writes_nothing,
  writes_part,
  writes_input,
  depends_on_cut,
  shares_buffer,
  no_border,
  alternates,
  keeps_state,
  forgets_carry,
  truncates,
  forgets_notes,
  refuses_silently,
  leaks,
  leaks_host,
  shares_instances,
  two_at_most,
  function_differs,
  function_misplaced,
  function_syntax,
  function_elsewhere,
  function_ranges,
  function_grows,
  function_selects,
  function_ranks,
  function_honest,
  window_differs,
  window_misplaced,
  around_differs,
  around_misplaced,
  around_large,
  linear_differs,
  linear_misplaced,
  linear_infinite,
  writes_side,
  reads_side_beyond,
  ignores_stride,
  scratch_beyond,
  fails,
  adds_to_output,
  refuses_all,
  refuses_example,
  measures_cuts,
  carries_beyond,
  generates_cuts,
  remembers_size,
  wrong_preset
};

#define HAS_SIDE (IS(writes_side) || IS(reads_side_beyond))
#define HAS_FUNCTION                                                                                         \
  (IS(function_differs) || IS(function_misplaced) || IS(function_syntax) || IS(function_elsewhere) ||        \
   HAS_CLAIM)
#define HAS_CLAIM                                                                                            \
  (IS(function_ranges) || IS(function_grows) || IS(function_selects) || IS(function_ranks) ||                \
   IS(function_honest))
#define HAS_AROUND (IS(around_differs) || IS(around_misplaced) || IS(around_large))
#define HAS_WINDOW (IS(window_differs) || IS(window_misplaced) || HAS_AROUND)
#define HAS_LINEAR (IS(linear_differs) || IS(linear_misplaced) || IS(linear_infinite))

static float shared_weight; /* of shares_instances */
static int64_t last_size;   /* of remembers_size */

/* ---- one row -------------------------------------------------------------------------- */

/* `in` has a neighbour on either side. */
static void mean_row(const float *in, float *out, int64_t n, float weight, int64_t first, int waits) {
  static float common[FC_ROW_VALUES];
  float *made = IS(shares_buffer) ? common : out;
  for (int64_t i = 0; i < n; i++) {
    float side = weight * (in[i] + in[i + 2]), here = HAS_FUNCTION ? 0 : (1 - 2 * weight) * in[i + 1];
    if (HAS_FUNCTION) side = in[i + 1] * weight;
    if (IS(depends_on_cut)) side *= 1 + 0.01f * (float)((first + i) % 3);
    made[i] = side + here;
  }
  if (!IS(shares_buffer)) return;
  if (waits) usleep(300);
  for (int64_t i = 0; i < n; i++) out[i] = common[i];
}

static void filter_row(const fc_host *host, const fc_job *job, float weight, int64_t n, int64_t y,
                       int64_t c) {
  const fc_view *in = job->in[0], *out = job->out;
  const int64_t width = out->shape[FC_AXIS_X];
  float samples[FC_ROW_VALUES + 2], made[FC_ROW_VALUES];
  for (int64_t x = 0, count; x < width; x += count) {
    count = width - x < FC_ROW_VALUES ? width - x : FC_ROW_VALUES;
    if (HAS_FUNCTION) /* without a halo */
      host->rows->load_f32(samples + 1, fc_view_at(in, n, y, x, c), in->stride[FC_AXIS_X], count, in->kind,
                           in->dtype);
    else
      host->rows->load_f32(samples, fc_view_at(in, n, y, x - 1, c), in->stride[FC_AXIS_X], count + 2,
                           in->kind, in->dtype);
    mean_row(samples, made, count, weight, IS(depends_on_cut) ? x : in->origin[FC_AXIS_X] + x,
             n + y + x + c == 0);
    if (HAS_SIDE) {
      const fc_view *side = job->in[1];
      float other[FC_ROW_VALUES];
      host->rows->load_f32(other, fc_view_at(side, n, y, x, c), side->stride[FC_AXIS_X], count, side->kind,
                           side->dtype);
      for (int64_t i = 0; i < count; i++) made[i] += other[i];
    }
    if (IS(truncates))
      for (int64_t i = 0; i < count; i++) made[i] -= 0.4f;
    if (IS(adds_to_output)) {
      float before[FC_ROW_VALUES];
      host->rows->load_f32(before, fc_view_at(out, n, y, x, c), out->stride[FC_AXIS_X], count, out->kind,
                           out->dtype);
      for (int64_t i = 0; i < count; i++) made[i] += before[i];
    }
    if (IS(writes_part) && x + count == width) count--;
    const int64_t step = IS(ignores_stride) ? (int64_t)fc_dtype_size(out->dtype) : out->stride[FC_AXIS_X];
    host->rows->store_f32(fc_view_at(out, n, y, x, c), step, made, count, out->kind, out->dtype,
                          IS(forgets_notes) ? NULL : job->notes);
    if (IS(writes_part) && x + count == width - 1) count++;
  }
}

/* ---- process --------------------------------------------------------------------------- */

static volatile char looked_at;
static volatile int *volatile nowhere;

static void look_beyond(const fc_view *v) {
  const int64_t *s = v->shape;
  if (fc_view_count(v) == 0) return;
  looked_at = *(const char *)fc_view_at(v, s[0] - 1, s[1] - 1, s[2] - 1 + (v->extent[0] >= 0) * 8, s[3] - 1);
}

/* By the function that the test names. */
static void take_and_free(void) {
  const char *how = getenv("BROKEN_TAKES");
  void *volatile taken = NULL;
  void *aligned = NULL;
  if (!how || strcmp(how, "malloc") == 0)
    taken = malloc(100);
  else if (strcmp(how, "calloc") == 0)
    taken = calloc(10, 10);
  else if (strcmp(how, "realloc") == 0)
    taken = realloc(taken, 100);
  else if (strcmp(how, "reallocarray") == 0)
    taken = reallocarray(taken, 10, 10);
  else if (strcmp(how, "strdup") == 0)
    taken = strdup(how);
  else if (strcmp(how, "aligned_alloc") == 0)
    taken = aligned_alloc(64, 128);
  else if (strcmp(how, "memalign") == 0)
    taken = memalign(64, 100);
  else if (strcmp(how, "posix_memalign") == 0)
    taken = posix_memalign(&aligned, 64, 100) ? NULL : aligned;
  else if (strcmp(how, "valloc") == 0)
    taken = valloc(100);
  else if (strcmp(how, "pvalloc") == 0)
    taken = pvalloc(100);
  else if (strcmp(how, "mmap") == 0)
    munmap(mmap(NULL, 100, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0), 100);
  free(taken);
}

static void misbehave(const fc_job *job) {
  const fc_view *in = job->in[0], *out = job->out;
  if (IS(exits)) exit(3);
  if (IS(aborts)) abort();
  if (IS(crashes)) *nowhere = 1;
  while (IS(hangs)) usleep(1000);
  if (IS(prints)) printf("working\n");
  if (IS(allocates)) take_and_free();
  if (IS(reads_beyond)) look_beyond(in);
  if (IS(reads_side_beyond)) look_beyond(job->in[1]);
  if (IS(scratch_beyond)) ((char *)job->scratch)[job->scratch_bytes] = 1;
  if (IS(carries_beyond)) ((char *)job->carry)[8] = 1;
  if (IS(writes_input) && fc_view_count(in) > 0) ((char *)in->data)[0] ^= 1;
  if (IS(writes_side) && fc_view_count(job->in[1]) > 0) ((char *)job->in[1]->data)[0] ^= 1;
  if (IS(writes_beyond) && fc_view_count(out) > 0) {
    const int64_t *s = out->shape;
    *(char *)fc_view_at(out, s[0] - 1, s[1] - 1, s[2] - 1 + 8, s[3] - 1) = 1;
  }
}

static fc_status process(const fc_host *host, const void *state, const fc_job *job) {
  static atomic_int busy, calls;
  const int64_t *s = job->out->shape;
  float weight = *(const float *)state;
  if (IS(shares_instances)) weight = shared_weight;
  if (IS(keeps_state)) weight += 1e-3f * (float)atomic_fetch_add(&calls, 1);
  if (IS(forgets_carry)) weight = job->in[0]->origin[FC_AXIS_N] + job->in[0]->origin[FC_AXIS_X] ? weight : 0;
  if (IS(two_at_most)) {
    if (atomic_fetch_add(&busy, 1) >= 2) weight = 0;
    usleep(3000);
  }
  misbehave(job);
  for (int64_t n = 0; n < s[FC_AXIS_N] && !IS(writes_nothing); n++)
    for (int64_t y = 0; y < s[FC_AXIS_Y]; y++)
      for (int64_t c = 0; c < s[FC_AXIS_C]; c++) filter_row(host, job, weight, n, y, c);
  if (IS(two_at_most)) atomic_fetch_sub(&busy, 1);
  return IS(fails) ? FC_FATAL : FC_OK;
}

static size_t scratch(const void *state, const fc_job *job) {
  return 100;
}

/* Counts elements along an axis, by fours. */
static fc_status process_measure(const fc_host *host, const void *state, const fc_job *job) {
  const fc_view *in = job->in[0];
  const int axis = in->kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_Y;
  for (int64_t n = 0; n < in->shape[FC_AXIS_N]; n++)
    for (int64_t i = 0, left; (left = in->shape[axis] - 4 * i) > 0; i++) {
      const double count = (double)(left < 4 ? left : 4) + (in->origin[axis] > 0);
      memcpy((char *)job->measure + n * job->measure_stride + i * (int64_t)sizeof count, &count,
             sizeof count);
    }
  return FC_OK;
}

static fc_status collect(const fc_host *host, void *self, const void *blocks, int64_t count) {
  for (int64_t i = 0; i < count; i++) *(double *)self += ((const double *)blocks)[i];
  return FC_OK;
}

static fc_status report(const fc_host *host, void *self) {
  const fc_measurement m = {sizeof m, -1, "count", "", *(double *)self, NULL};
  host->measured(host, &m);
  return FC_OK;
}

static void reset(void *self) {
  *(double *)self = 0;
}

/* A ramp, which begins anew with each view. */
static fc_status process_generate(const fc_host *host, const void *state, const fc_job *job) {
  const fc_view *out = job->out;
  const int64_t *s = out->shape;
  for (int64_t n = 0; n < s[FC_AXIS_N]; n++)
    for (int64_t y = 0; y < s[FC_AXIS_Y]; y++)
      for (int64_t x = 0; x < s[FC_AXIS_X]; x++)
        for (int64_t c = 0; c < s[FC_AXIS_C]; c++) {
          const float made = (float)x;
          host->rows->store_f32(fc_view_at(out, n, y, x, c), 0, &made, 1, out->kind, out->dtype, job->notes);
        }
  return FC_OK;
}

static fc_status process_soundly(const fc_host *host, const void *state, const fc_job *job) {
  const int64_t *s = job->out->shape;
  float samples[FC_ROW_VALUES + 2], made[FC_ROW_VALUES];
  const float weight = *(const float *)state;
  for (int64_t n = 0; n < s[FC_AXIS_N]; n++)
    for (int64_t y = 0; y < s[FC_AXIS_Y]; y++)
      for (int64_t c = 0; c < s[FC_AXIS_C]; c++)
        for (int64_t x = 0, count; x < s[FC_AXIS_X]; x += count) {
          const fc_view *in = job->in[0], *out = job->out;
          count = s[FC_AXIS_X] - x < FC_ROW_VALUES ? s[FC_AXIS_X] - x : FC_ROW_VALUES;
          host->rows->load_f32(samples, fc_view_at(in, n, y, x - 1, c), in->stride[FC_AXIS_X], count + 2,
                               in->kind, in->dtype);
          for (int64_t i = 0; i < count; i++)
            made[i] = weight * (samples[i] + samples[i + 2]) + (1 - 2 * weight) * samples[i + 1];
          host->rows->store_f32(fc_view_at(out, n, y, x, c), out->stride[FC_AXIS_X], made, count, out->kind,
                                out->dtype, job->notes);
        }
  return FC_OK;
}

/* ---- all else ---------------------------------------------------------------------------- */

static fc_status create(const fc_host *host, const fc_arg *const *args, void **self) {
  *self = IS(measures_cuts) ? calloc(1, sizeof(double)) : (void *)(uintptr_t)args;
  if (IS(refuses_example) && args[0]->floats[0] == 0.125)
    return host->fail(host, FC_INVALID, "weight: an eighth is not taken");
  return FC_OK;
}

static void destroy(void *self) {
  if (IS(measures_cuts)) free(self);
}

static fc_status negotiate_specially(const fc_host *host, fc_terms *terms) {
  static const int64_t made[FC_AXES] = {1, 5, 40, 2};
  if (IS(refuses_all)) return host->fail(host, FC_UNSUPPORTED, "it takes nothing at all");
  if (IS(measures_cuts)) {
    terms->needs[0]->reach[terms->in[0]->kind == FC_AUDIO ? FC_AXIS_X : FC_AXIS_Y].align = 4;
    terms->measure_bytes = sizeof(double);
  }
  if (IS(generates_cuts)) memcpy(terms->out->extent, made, sizeof made);
  return FC_OK;
}

static fc_status negotiate(const fc_host *host, void *self, fc_terms *terms) {
  static atomic_int asked;
  fc_need *need = terms->needs[0];
  if (IS(refuses_silently) && terms->in[0]->extent[FC_AXIS_C] == 3) return FC_UNSUPPORTED;
  if (HAS_FUNCTION) return FC_OK;
  if (IS(refuses_all) || IS(measures_cuts) || IS(generates_cuts)) return negotiate_specially(host, terms);
  if (IS(remembers_size)) last_size = terms->in[0]->extent[FC_AXIS_X];
  need->reach[FC_AXIS_X].before = IS(halo_too_small) ? 0 : 1;
  need->reach[FC_AXIS_X].after = 1;
  if (IS(alternates)) need->reach[FC_AXIS_X].after += atomic_fetch_add(&asked, 1) % 2;
  if (!IS(no_border)) need->border = FC_BORDER_REPLICATE;
  if (IS(forgets_carry) || IS(carries_beyond)) terms->carry_bytes = 8;
  if (HAS_SIDE)
    for (int a = 0; a < FC_AXES; a++)
      if (terms->in[1]->extent[a] != terms->in[0]->extent[a])
        return host->fail(host, FC_INVALID, "the two signals differ in size");
  return FC_OK;
}

static fc_status prepare(const fc_host *host, void *self, const fc_setup *setup, void **state) {
  float *weight = host->alloc(host, FC_HOST, sizeof *weight);
  if (!weight) return host->fail(host, FC_NO_MEMORY, "out of memory");
  *weight = IS(measures_cuts) ? 0 : (float)((const fc_arg *const *)self)[0]->floats[0];
  if (IS(remembers_size)) *weight /= (float)(1 + last_size % 5);
  if (IS(shares_instances)) shared_weight = *weight;
  if (IS(leaks)) {
    char *volatile lost = malloc(64);
    (void)lost;
  }
  if (IS(leaks_host)) host->alloc(host, FC_HOST, 64);
  *state = weight;
  return FC_OK;
}

static void release(const fc_host *host, void *state) {
  host->free(host, FC_HOST, state);
}

/* The same three numbers, which process sums in another order; or with zeros beside them. */
static fc_status describe_window(const fc_setup *setup, fc_device_function *f, double weight) {
  const double taps[] = {0, weight, 1 - 2 * weight, weight, 0};
  return IS(window_misplaced) ? fc_describe_window(setup, f, 5, 1, taps, NULL)
                              : fc_describe_window(setup, f, 3, 1, taps + 1, NULL);
}

/* What process does, but for what it multiplies by; in a window of another size than negotiate asks for. */
static fc_status describe_around(const fc_setup *setup, fc_device_function *f, double weight) {
  static const char text[] =
      "struct mean { real weight; FC_DEVICE real operator()(const fc_around &at) const {"
      " return weight * (at(-1, 0) + at(1, 0)) + (1 - 2 * weight) * at(0, 0); } };";
  static const char wrong[] =
      "struct mean { real weight; FC_DEVICE real operator()(const fc_around &at) const {"
      " return weight * (at(-1, 0) + at(1, 0)) + (1 - weight) * at(0, 0); } };";
  fc_describe_around(f, IS(around_misplaced) ? 5 : IS(around_large) ? 99 : 3, 1);
  return fc_describe_samples(setup, f, "mean", IS(around_differs) ? wrong : text, &weight, 1);
}

/* What process does in f32; what it says of that is true, or one thing is not. */
static fc_status describe_claim(const fc_setup *setup, fc_device_function *f, double weight) {
  static const char text[] = "struct scaled { real weight; FC_DEVICE real operator()(real v) const { return "
                             "v * weight + real(0); } };";
  if (setup->compute != FC_F32) return FC_UNSUPPORTED;
  f->growth = weight < 0 ? -weight : weight, f->offset = 0;
  if (weight >= 0) f->flags |= FC_FUNCTION_NONNEGATIVE;
  if (IS(function_ranges)) f->low = 0, f->high = 1e-3;
  if (IS(function_grows)) f->growth /= 2;
  if (IS(function_selects)) f->flags |= FC_FUNCTION_SELECTS;
  if (IS(function_ranks)) f->flags |= FC_FUNCTION_RANKS;
  return fc_describe_samples(setup, f, "scaled", text, &weight, 1);
}

static fc_status describe(const fc_host *host, void *self, const fc_setup *setup, fc_device_function *f) {
  static double own[1];
  const double weight = ((const fc_arg *const *)self)[0]->floats[0];
  static const char wrong[] = "struct scaled { real weight; FC_DEVICE real operator()(real v) const { return "
                              "v * weight * real(1.001); } };";
  static const char broken[] =
      "struct scaled { real weight; FC_DEVICE real operator()(real v) const { return v * wieght; } };";
  static const char misplaced[] =
      "struct scaled { real weight; FC_DEVICE real operator()(real v, const fc_position "
      "&at) const { return at.x + 1 < at.width ? v * weight : real(0); } };";
  if (HAS_CLAIM) return describe_claim(setup, f, weight);
  if (HAS_AROUND) return describe_around(setup, f, weight);
  if (HAS_WINDOW) return describe_window(setup, f, weight);
  if (IS(function_misplaced)) f->flags |= FC_FUNCTION_POSITION;
  if (IS(function_elsewhere)) f->bytes = own;
  return fc_describe_samples(setup, f, "scaled",
                             IS(function_syntax)      ? broken
                             : IS(function_misplaced) ? misplaced
                                                      : wrong,
                             &weight, 1);
}
FC_FUSIBLE(extension, describe)

/* The weights of the neighbours as if there were one only; or in another place than negotiate says; or none
 * that is a number. */
static fc_status map_of(const fc_host *host, void *self, const fc_setup *setup, fc_linear_map *map) {
  const double weight = ((const fc_arg *const *)self)[0]->floats[0];
  map->form = FC_LINEAR_SEPARABLE, map->masks = map->ny = 1, map->nx = 3, map->count = 4;
  map->before_x = IS(linear_misplaced) ? 2 : 1;
  if (map->room < map->count) return FC_OK;
  map->numbers[0] = IS(linear_infinite) ? __builtin_inf() : weight;
  map->numbers[1] = 1 - weight, map->numbers[3] = 1;
  return FC_OK;
}
static fc_status make(const fc_host *host, void *self, const fc_setup *setup, const fc_linear_map *map,
                      int32_t border, double value, void **instance) {
  return FC_UNSUPPORTED;
}
static const fc_operator op;
static const void *linear_extension(const fc_operator *asked, const char *name) {
  static const fc_linear linear = {sizeof linear, 0, map_of, make, &op};
  return strcmp(name, FC_LINEAR) == 0 ? &linear : NULL;
}

__attribute__((constructor)) static void at_load(void) {
  if (IS(load_prints)) printf("hello\n");
  if (IS(load_crashes)) abort();
#if defined(__SSE__)
  if (IS(load_denormals)) __builtin_ia32_ldmxcsr(__builtin_ia32_stmxcsr() | 0x8040);
#endif
}

#define WEIGHT_PARAM                                                                                         \
  FC_FLOAT_PARAM(FC_PARAM_MAIN, "weight", IS(no_doc) ? "" : "Of either neighbour.", NULL,                    \
                 IS(wrong_preset) ? "7" : "0.25", FC_FLOAT_BETWEEN(0, 0.5))

static const fc_param *const params[] = {WEIGHT_PARAM, FC_INPUT_PARAM(FC_PARAM_REQUIRED, "side", "Added.")};

static const fc_operator op = {
    .size = sizeof(fc_operator),
    .flags = IS(measures_cuts)    ? FC_OP_PASSTHROUGH
             : IS(generates_cuts) ? FC_OP_GENERATOR
                                  : 0,
    .name = "mean3",
    .summary = "mean of three neighbours",
    .doc = "A mean of each sample and its two neighbours.",
    .examples = HAS_SIDE              ? FC_TEXTS("mean3:0.25:side=other.wav")
                : IS(wrong_example)   ? FC_TEXTS("mean3:0.25", "mean3:7")
                : IS(refuses_example) ? FC_TEXTS("mean3:0.25", "mean3:0.125")
                                      : FC_TEXTS("mean3:0.25"),
    .kinds = IS(generates_cuts) ? FC_KIND_BIT(FC_IMAGE) : FC_KINDS_ALL,
    .dtypes_in = IS(generates_cuts) ? 0 : FC_DTYPE_BIT(FC_U8) | FC_DTYPE_BIT(FC_F32) | FC_DTYPE_BIT(FC_F64),
    .dtypes_out = FC_DTYPE_BIT(FC_U8) | FC_DTYPE_BIT(FC_F32) | FC_DTYPE_BIT(FC_F64),
    .n_params = HAS_SIDE ? 2 : 1,
    .params = params,
    .create = create,
    .destroy = destroy,
    .negotiate = negotiate,
    .backends = FC_BACKENDS(FC_ON_CPU(prepare, release, IS(scratch_beyond) ? scratch : NULL,
                                      IS(measures_cuts)    ? process_measure
                                      : IS(generates_cuts) ? process_generate
                                                           : process)),
    .reset = IS(measures_cuts) ? reset : NULL,
    .collect = IS(measures_cuts) ? collect : NULL,
    .report = IS(measures_cuts) ? report : NULL,
    .reference = IS(truncates) ? FC_ON_CPU(prepare, release, NULL, process_soundly) : NULL,
    .extension = HAS_LINEAR                   ? linear_extension
                 : HAS_FUNCTION || HAS_WINDOW ? extension
                                              : NULL,
};
FC_PLUGIN("org.example.mean3", "1.0", "the filterchain authors", "MIT", "https://example.org", &op)
